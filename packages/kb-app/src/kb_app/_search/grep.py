"""Exact text: the lines of all documents that match a pattern, by file.

Documents are looked through as they were indexed, whatever they were made of, so a page of a
PDF is found like a line of code. Files come in the order in which a reader wants them: where
the match names what is defined there, then where most lines match. All lines are counted; of
many, each file shows some.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from threading import Event
from typing import TYPE_CHECKING, Any

from kb_app._media import has_lines
from kb_app._search.defining import Found, MostLines, defined, end_with_members, given
from kb_app._search.filtering import compile_filters, filter_warnings, glob_of, left_out, told_of
from kb_app._search.hits import Freshness
from kb_app._search.lookup import did_you_mean, paths_named, places_of, slashed_path
from kb_app._search.roles import is_late
from kb_app._search.scanning import Scan
from kb_core import wire
from kb_core.citations import Citation, LineSpan, citation_of
from kb_core.filters import Filter, Glob, OneOf, Or, all_of, at_or_below, literal_glob
from kb_core.ids import enclosed_path
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.search import GrepQuery
from kb_core.text import nfc
from kb_search.patterns import Needs, Pattern, compile_pattern

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["grep", "needs_of"]

SECONDS = 10.0
"""What one call may take."""
_MOST_NAMES = 1_000
"""Files of which only the names are wanted, at most, unless more lines may be shown."""
_MOST_READ = 150
"""So many files at least are read to see what they define."""
_FIRST = 10
"""Files that define come before those that are the first with another alternative, so many."""
_SOUGHT = 20
"""Alternatives that no file has which is shown are looked for alone, so many at most."""
_LONGEST_LINE = 400
_BEFORE = 80
"""Characters before the first match that are shown of a longer line."""
_GLOB = frozenset("*?[{")
"""What makes a path a pattern, unless a file is called so."""
_DEEPEST = 40
"""Units that begin between a line and the one around it, at most."""


class _Match:
    """A document that matches."""

    def __init__(self, found: Found, doc: StoredDoc, pattern: Pattern) -> None:
        self.found = found
        self.doc = doc
        self.is_late = is_late(doc)
        self.is_defining = False
        """Whether that was asked, and a line does define what is looked for."""
        self.brings = 1
        """Alternatives that no file before it has: so many lines of it are shown at least."""
        self.defined: dict[int, int] = {}
        """Where lines begin that define what is looked for, as far as that was asked.

        With each, how many lines of that follow it.
        """
        self._defining = [defined(found, doc, pattern), given(found, doc, pattern)]

    def ask(self, most: int) -> None:
        """Look for the first lines that define, until so many of them are known."""
        for one in merge(*self._defining, key=itemgetter(0)):
            if len(self.defined) >= most:
                return
            self.defined.setdefault(*one)

    @property
    def order(self) -> tuple[object, ...]:
        """By what files are ordered that all define what is looked for, or all do not."""
        return self.is_late, -self.found.count, self.doc["path"], self.doc["source_id"]

    def defines(self) -> bool:
        """Say whether a line defines what is looked for."""
        for at in (1, 0):  # the quicker one first
            for one in self._defining[at]:
                self._defining[at] = chain((one,), self._defining[at])  # not lost by the look
                return True
        return False


def grep(
    snapshot: IndexSnapshot,
    query: GrepQuery,
    fresh: Freshness,
    *,
    seconds: float = SECONDS,
    stop: Event | None = None,
    within: Filter | None = None,
) -> types.GrepResponse:
    """Return grep_response.v1; what is there when time is up, or somebody says to *stop*.

    *within* says which documents are looked through, beside what *query* says.
    """
    pattern = _compiled(query)
    where, warnings = _where(snapshot, query)
    where = all_of([where, within])
    scan = Scan(pattern, query, time.monotonic() + seconds, stop)
    most = max(_MOST_NAMES * query.files_only, query.max_lines)
    matching = scan.through(snapshot.texts(where, pattern.needs))
    found = MostLines(max(most, _MOST_READ), matching, pattern)
    total = _count(snapshot, where)
    warnings = [*filter_warnings(query.filters, snapshot, found=total > 0), *warnings]
    if not scan.complete:
        warnings.append(
            f"time was up after {scan.seen:,} of {total:,} documents: "
            "narrow by path or another filter, or look for a longer word"
        )
    if pattern.inner_edges and scan.saw_more_than_ascii:
        warnings.append(
            "\\b within the pattern, at neither end of it, takes letters beyond ASCII for signs: "
            "lines that have some there may be missing"
        )
    shown = _ranked(snapshot, found.kept, pattern, most)
    if len(pattern.alternatives) > 1 and not query.files_only:

        def with_most(alternative: Pattern) -> _Match | None:
            alone = scan.of(alternative)
            texts = alone.through(snapshot.texts(where, alternative.needs))
            kept = MostLines(_MOST_READ, texts, alternative).kept
            best = _ranked(snapshot, kept, alternative, 1)
            again = scan.again(best[0].found) if best else None
            return _Match(again, best[0].doc, pattern) if again else None

        shown = _with_each(shown, pattern, with_most if found.files > len(shown) else None)
        shown = shown[: max(1, most - sum(each.brings - 1 for each in shown))]
    fresh.look_at(each.doc for each in shown)
    files = list(_files(snapshot, shown, pattern, query, fresh))
    totals = {
        "total_files": found.files,
        "total_lines": found.lines,
        "searched": total if scan.complete else scan.seen,
        "corpus_revision": snapshot.control.corpus_revision,
    }
    return wire.grep_response(query, files, totals, complete=scan.complete, warnings=warnings)


def needs_of(query: GrepQuery) -> Needs:
    """Return literals that stand in the bytes of every text that matches, in whichever case.

    A text holds one of each; nothing is returned where that cannot be told.
    """
    pattern = _compiled(query)
    if pattern.is_multiline:
        return ()
    return tuple(one for one in pattern.needs if all(map(str.isascii, one)))


def _compiled(query: GrepQuery) -> Pattern:
    return _last_compiled(
        query.pattern,
        fixed=query.fixed,
        word=query.word,
        ignore_case=query.ignores_case,
        multiline=query.multiline,
    )


_last_compiled = lru_cache(maxsize=1)(compile_pattern)
"""What a folder is read for is asked of the pattern that is looked for next."""


def _count(snapshot: IndexSnapshot, where: Filter | None) -> int:
    if where is None and (known := snapshot.control.stats.get("doc_count")) is not None:
        return int(known)
    return snapshot.count_docs(where)


# ------------------------------------------------------------------------ where


def _where(snapshot: IndexSnapshot, query: GrepQuery) -> tuple[Filter | None, list[str]]:
    """Return which documents are looked through, and which paths name none."""
    filters = compile_filters(query.filters, snapshot)
    warnings: list[str] = []
    if not query.paths:
        return filters, warnings
    below = []
    for path in query.paths:
        where = _below(snapshot, path)
        if where is None:
            named = paths_named(snapshot, path)
            file = left_out(snapshot, named)
            it = "it" if file and file["path"] in named else file and file["path"]
            why = f": {it} is {told_of(file)}" if file else did_you_mean(snapshot, path)
            warnings.append(f"path {path!r} holds nothing that is indexed{why}")
        else:
            below.append(where)
    return all_of([filters, Or(tuple(below))]), warnings


def _below(snapshot: IndexSnapshot, path: str) -> Filter | None:
    """Return what passes at a path or below it: as it is typed, the end of a longer one, a glob."""
    glob_of("path", literal_glob(path))
    for read in dict.fromkeys((path, slashed_path(path))):
        typed = tuple(places_of(snapshot, read, None, around=True))
        spelled = dict.fromkeys((typed, tuple((source, nfc(inside)) for source, inside in typed)))
        name = literal_glob(nfc(read).strip("/"))
        ends = Or(tuple(Glob(f"**/{name}{end}") for end in ("", "/**", enclosed_path("", "**"))))
        for where in (*(_at_any(places) for places in spelled), ends):
            if snapshot.count_docs(where):
                return where
    if _GLOB.isdisjoint(path):
        return None
    pattern = glob_of("path", path.removeprefix("./"))  # refuses what is neither path nor pattern
    return pattern if snapshot.count_docs(pattern) else None


def _at_any(places: Iterable[tuple[str | None, str]]) -> Filter:
    filters = (
        all_of([OneOf("source_id", (source,)) if source else None, _at(inside)])
        for source, inside in places
    )
    return Or(tuple(where for where in filters if where is not None))


def _at(path: str) -> Filter | None:
    path = path.removeprefix("./").rstrip("/")
    if path in {"", "."}:
        return None
    return at_or_below(path)


# ------------------------------------------------------------------------ order


def _ranked(
    snapshot: IndexSnapshot, found: Sequence[Found], pattern: Pattern, most: int
) -> list[_Match]:
    """Return the first files in their order: with a definition first, then by count and path.

    Tests and settings come after all others, and pages with a heading that has the match after code
    that defines it. What a file defines is asked as far as it matters.
    """
    docs = snapshot.docs_of([each.doc_key for each in found])
    matches = [_Match(each, doc, pattern) for each in found if (doc := docs.get(each.doc_key))]
    ranked: list[_Match] = []
    for _, group in groupby(sorted(matches, key=attrgetter("order")), key=attrgetter("is_late")):
        defining, others, room = list[_Match](), list[_Match](), most - len(ranked)
        for match in group if room else ():
            match.is_defining = match.defines()
            (defining if match.is_defining else others).append(match)
            if len(defining) == room:
                break
        defining.sort(key=lambda match: match.doc["media"] != Media.CODE.value)
        ranked += [*defining, *others][:room]
    return ranked


def _with_each(
    shown: Sequence[_Match],
    pattern: Pattern,
    with_most: Callable[[Pattern], _Match | None] | None,
) -> list[_Match]:
    """Return files with those before others that are the first with an alternative of the pattern.

    What defines something stays before them. Of an alternative that none of them has, the file
    that comes first for it is added, if *with_most* finds it.
    """
    missing = dict(enumerate(pattern.alternatives))
    first, rest = list[_Match](), list[_Match]()

    def take(match: _Match, *, is_first: bool) -> None:
        data, form = match.found.data, match.found.form
        had = [at for at, one in missing.items() if one.is_in(data, form)]
        for at in had:
            del missing[at]
        match.brings = max(1, len(had))
        (first if had or is_first else rest).append(match)

    for at, match in enumerate(shown):
        take(match, is_first=match.is_defining and at < _FIRST)
    if with_most is not None:
        for at in list(missing)[:_SOUGHT]:
            if at in missing and (found := with_most(missing[at])) is not None:
                take(found, is_first=True)
    return [*first, *rest]


def _shares(counts: Sequence[int], least: Sequence[int], budget: int) -> list[int]:
    """Return how many lines each file shows: the smallest all, the others equal parts.

    But each as many as its *least* number.
    """
    shares = [0] * len(counts)
    order = sorted(range(len(counts)), key=lambda at: counts[at])
    for done, at in enumerate(order):
        shares[at] = min(counts[at], max(least[at], budget // (len(counts) - done)))
        budget = max(0, budget - shares[at])
    return shares


# ---------------------------------------------------------------------- showing


def _files(
    snapshot: IndexSnapshot,
    shown: Sequence[_Match],
    pattern: Pattern,
    query: GrepQuery,
    fresh: Freshness,
) -> Iterator[types.GrepResponseFiles]:
    """Yield files as they are shown, with their shares of the lines."""
    counts = [0 if query.files_only else each.found.count for each in shown]
    least = [min(each.brings, query.max_lines) for each in shown]
    told: Counter[int] = Counter()
    for each, share in zip(shown, _shares(counts, least, query.max_lines), strict=True):
        # The lines around others are told, too, and alternatives take turns.
        are_all = len(pattern.alternatives) > 1 or query.context > 0
        each.ask(len(each.found.starts) if are_all else share)
        chosen = _chosen(each, pattern, share, told)
        file = _file(snapshot, each, pattern, query.context, chosen, fresh)
        told.update(one for line in file["lines"] for one in line.get("alternatives", ()))
        yield file


def _file(
    snapshot: IndexSnapshot,
    match: _Match,
    pattern: Pattern,
    context: int,
    chosen: Sequence[int],
    fresh: Freshness,
) -> types.GrepResponseFiles:
    found, doc = match.found, match.doc
    lines = list(_lines(snapshot, match, pattern, chosen, context))
    return {
        "doc_id": doc["doc_id"],
        "doc_path": doc["path"],
        "source_id": doc["source_id"],
        "media": doc["media"],
        "stale": fresh.is_stale(doc),
        "matches": found.count,
        "omitted": found.count - sum(line["is_match"] for line in lines),
        "lines": lines,
    }


def _chosen(match: _Match, pattern: Pattern, share: int, told: Counter[int]) -> list[int]:
    """Return where the lines begin that a file shows, as many as its *share*, in order.

    One for each alternative of the pattern that no file before has *told* comes first, then those
    that define, then one for each alternative, the less told the sooner, then another.
    """
    starts, defined = match.found.starts, match.defined
    if share >= len(starts):
        return starts
    if len(pattern.alternatives) == 1:
        first = list(islice(chain(defined, (at for at in starts if at not in defined)), share))
        return sorted(first)
    turns: Counter[int] = Counter()
    order = []
    for at in (*defined, *(at for at in starts if at not in defined)):
        which = _alternatives(match.found, pattern, at)
        turns.update(which)
        is_new = any(turns[one] == 1 and not told[one] for one in which)
        turn, often = min((turns[one], told[one]) for one in which)
        order.append((not is_new, at not in defined, turn, often, -len(which), at))
    return sorted(at for *_, at in sorted(order)[:share])


def _alternatives(found: Found, pattern: Pattern, start: int) -> list[int]:
    """Return which alternatives of the pattern match the line that begins there, from 0."""
    if len(pattern.alternatives) == 1:
        return [0]
    data = found.data
    end = data.find(b"\n", start)
    line = data[start : len(data) if end < 0 else end]
    matching = (any(one.matches(line, found.form)) for one in pattern.alternatives)
    return [at for at, matches in enumerate(matching) if matches] or [0]


def _numbered(data: bytes, starts: Sequence[int]) -> dict[int, int]:
    """Return where these lines begin, by their numbers."""
    numbered, number, before = {}, 1, 0
    for start in starts:
        number += data.count(b"\n", before, start)
        numbered[number] = before = start
    return numbered


def _around(chosen: Iterable[int], context: int) -> list[int]:
    """Return the lines and those around them, each once."""
    if not context:
        return list(chosen)
    every = (n for line in chosen for n in range(max(1, line - context), line + context + 1))
    return list(dict.fromkeys(every))


def _lines(
    snapshot: IndexSnapshot, match: _Match, pattern: Pattern, chosen: Sequence[int], context: int
) -> Iterator[types.GrepResponseFilesLines]:
    if not chosen:
        return
    found, doc = match.found, match.doc
    data = found.data
    by_lines = has_lines(doc)
    units = _Units(found, doc) if doc["media"] == Media.CODE.value else None
    chunks = [] if by_lines else snapshot.doc_chunks(doc["doc_id"])
    known, matching = _numbered(data, chosen), {*(found.starts if context else chosen)}
    at, number, before = 0, 1, 0
    for wanted in _around(known, context):
        start = at
        if wanted in known:
            at, number = known[wanted], wanted
        while number < wanted and (end := data.find(b"\n", at)) >= 0:
            at, number = end + 1, number + 1
        before += 0 if by_lines else len(data[start:at].decode("utf-8", "replace"))
        if number < wanted or at >= len(data):
            return
        end = data.find(b"\n", at)
        text = data[at : len(data) if end < 0 else end].decode("utf-8", "replace")
        line = _line(wanted, text, pattern if at in matching else None)
        if at in matching:
            place = None if by_lines else _place(chunks, before)
            line["uri"] = place or Citation(doc["path"], LineSpan(wanted, wanted)).uri
            _tell(line, match, pattern, at)
            if units is not None and "unit_end" not in line:
                units.tell(line, at)
        yield line


def _tell(line: types.GrepResponseFilesLines, match: _Match, pattern: Pattern, start: int) -> None:
    """Add what is known of a line that matches, which begins there."""
    if len(pattern.alternatives) > 1:
        line["alternatives"] = _alternatives(match.found, pattern, start)
    following = match.defined.get(start)
    if following is not None:
        line["is_definition"] = True
    if following:
        line["unit_end"] = line["line"] + following


class _Units:
    """What the lines of a file of code stand in: its functions, classes and the like."""

    def __init__(self, found: Found, doc: StoredDoc) -> None:
        self._data = found.data
        self._text = found.text
        self._blocks = doc["blocks"]  # in their order
        self._spans: dict[int, tuple[int, int]] = {}

    def tell(self, line: types.GrepResponseFilesLines, start: int) -> None:
        """Add the innermost one around a line that begins there, if it has more lines."""
        while self._data[start : start + 1] in {b" ", b"\t"}:
            start += 1
        at = len(self._data[:start].decode("utf-8", "replace")) if self._text else start
        after = bisect_right(self._blocks, at, key=lambda block: block["start"])
        before = (self._blocks[number] for number in range(after - 1, -1, -1))
        for block in islice((one for one in before if one.get("symbol")), _DEEPEST):
            if block.get("until", block["end"]) > at:
                first, last = self._lines(block)
                if last > first:
                    line["unit"] = str(block["symbol"])
                    line["unit_start"], line["unit_end"] = first, last
                return

    def _lines(self, block: Mapping[str, Any]) -> tuple[int, int]:
        start = block["start"]
        if start not in self._spans:
            end = end_with_members(self._blocks, block)
            if self._text:
                first = self._text.count("\n", 0, start) + 1
                last = first + self._text[start:end].rstrip().count("\n")
            else:
                first = self._data.count(b"\n", 0, start) + 1
                last = first + self._data[start:end].rstrip().count(b"\n")
            self._spans[start] = first, last
        return self._spans[start]


def _line(number: int, text: str, pattern: Pattern | None) -> types.GrepResponseFilesLines:
    """Return a line as it is shown: of a long one, the part around the first match."""
    spans = pattern.spans(text) if pattern is not None else []
    out: types.GrepResponseFilesLines = {
        "line": number,
        "text": text,
        "is_match": pattern is not None,
    }
    start = 0
    if len(text) > _LONGEST_LINE:
        start = max(0, min(spans[0][0] - _BEFORE if spans else 0, len(text) - _LONGEST_LINE))
        out["text"], out["cut"] = text[start : start + _LONGEST_LINE], True
    size = len(out["text"])
    inside = [(left - start, min(right - start, size)) for left, right in spans]
    if kept := [[left, right] for left, right in inside if left < size]:
        out["spans"] = kept
    return out


def _place(chunks: Sequence[StoredChunk], at: int) -> str | None:
    """Return the citation of the place that a character stands in."""
    if not chunks:
        return None
    following = bisect_right(chunks, at, key=lambda chunk: chunk["start"])
    return citation_of(chunks[max(0, following - 1)]).uri
