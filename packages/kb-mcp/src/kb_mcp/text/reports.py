"""What is no list of hits as text: fetched text, documents, files, counts, checks, reports.

Each says the outcome in its first line, then what differs from the usual, one line a thing.
What is the same everywhere, well, or empty is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from kb_app.shown import bytes_text, count, first_line
from kb_core.media import Media
from kb_core.search import CHARS_PER_TOKEN
from kb_mcp.text import (
    BUDGET,
    INDENT,
    SHORT,
    error_text,
    indented,
    joined,
    listing,
    marks_of,
    named,
    numbered,
    said_by,
    short,
    tokens_of,
    weight,
)
from kb_mcp.text.hits import passages_text

__all__ = [
    "PLACES",
    "doctor_text",
    "documents_text",
    "fetched_lines",
    "fetched_text",
    "files_text",
    "ingest_text",
    "miss_text",
    "outline_text",
    "schema_text",
    "verified_text",
]

_Json: TypeAlias = Mapping[str, Any]

_DIFF_LINES, _LONGEST_LINE = 30, 200
_LEAST_SHARE = 60
_ROUNDED, _ALL = 100, 10**9
_BESIDE = 50
"""Tokens of an answer beside its places: what names the conversation."""
_AGAIN = " · as above"
_GOES_ON = "… this line goes on: give max_tokens, or fetch passages by id"
PLACES = 2 * BUDGET
"""Tokens of several places of which nothing else was asked: whoever names lines wants them, and
fetches again what was cut."""
_HEADED = 400
"""Characters at least that are left for what stands above and below a list."""
_IN_FULL = 40
"""Documents that are listed with date, size and tags."""
_LINES_OF_THE_FILE = frozenset({Media.HTML.value, Media.NOTEBOOK.value})
"""Media that are cited by lines of the file, of which the text has others, if as many by chance."""
_LISTED = 15
"""Names of one kind that are worth a place in a line."""


def fetched_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return what was fetched as text: neighbours and chunk in one, code with its lines.

    That is fetch_result.v1, fetch_results.v1 of several places, or outline.v1.
    """
    if "results" in found:
        return _several(found, max_tokens or PLACES)
    if "entries" in found:
        return outline_text(found, max_tokens)
    if found["kind"] == "chunk" and "text" not in found:
        chunks = (*found["context_before"], found["chunk"], *found["context_after"])
        return passages_text([_as_hit(chunk, found) for chunk in chunks], max_tokens)
    if found.get("enclosed") and not found["text"].strip():
        return _container(found, max_tokens)
    return _unlined(found, max_tokens) if found.get("lines") is None else _lined(found, max_tokens)


def _lined(found: _Json, max_tokens: int | None) -> str:
    """Return the lines of a document, each with its number."""
    total = found["lines"]
    first = found.get("line_start", 1)
    lines = _lines(found, first)
    place = f"{named(found['doc_path'])} of {count(total, 'line')}"
    if not lines:
        return joined(place, f"nothing from line {first} on", *marks_of(found))
    asked = min(found.get("line_end", total), total)
    head = joined(
        f"{named(found['doc_path'])}:{first}-{asked} of {total}", _within(found), *marks_of(found)
    )

    def more(shown: int) -> str:
        last = first + shown - 1
        if last >= asked:
            return ""
        rest = f"lines {last + 1}-{asked} are" if last + 1 < asked else f"line {asked} is"
        return f"… cut: {rest} there, too"

    return _from_the_first(head, lines, more, found, max_tokens or BUDGET)


def _within(found: _Json) -> str:
    """Return what lines of code stand in that begins above them, where that is known."""
    unit = found.get("unit")
    return f"in {short(unit['name'])} {_span(unit['line_start'], unit['line_end'])}" if unit else ""


def _from_the_first(
    head: str, lines: Sequence[str], more: Callable[[int], str], found: _Json, max_tokens: int
) -> str:
    """Return the lines that there is room for; of the first one as much as there is."""
    room = max_tokens * CHARS_PER_TOKEN
    room -= sum(weight(line) + 1 for line in (head, _GOES_ON, more(1)))
    is_within = bool(found.get("truncated")) and "\n" not in found["text"]
    if lines and (is_within or weight(lines[0]) > room):
        rest = more(1) if len(lines) > 1 or not is_within else ""
        return "\n".join(filter(None, [head, *_begun(lines[0], room), rest]))
    return listing([head], lines, more, max_tokens)


def _container(found: _Json, max_tokens: int | None) -> str:
    """Return what is within a document that has no text of its own, such as a mailbox."""
    rows = [f"{INDENT}{named(path)}" for path in found["enclosed"]]
    said = f"no text of its own; {count(len(rows), 'document')} within it, to be fetched by path"

    def more(shown: int) -> str:
        return f"… {len(rows) - shown} more: give max_tokens" if shown < len(rows) else ""

    return listing([joined(named(found["doc_path"]), said)], rows, more, max_tokens)


def _begun(line: str, room: int) -> Iterator[str]:
    """Yield as much of a line as there is room for, and that it goes on."""
    end = bisect_right(range(1, len(line)), max(0, room), key=lambda size: weight(line[:size]))
    yield f"{line[: max(1, end)]}…"
    yield _GOES_ON


def fetched_lines(found: _Json, text: str) -> list[int]:
    """Return what tells the lines of documents in a fetched *text*, as ``said_by`` does."""
    if "results" in found:
        each = (one["result"] for one in found["results"] if one["result"])
        return [line for result in each for line in fetched_lines(result, text)]
    if "entries" in found:
        return []
    chunks = (found.get("chunk"), *found.get("context_before", ()), *found.get("context_after", ()))
    own = "\n".join([found.get("text", ""), *(chunk["text"] for chunk in chunks if chunk)])
    shown = set(said_by(found["doc_id"], text.split("\n")))
    return [line for line in said_by(found["doc_id"], indented(own)) if line in shown]


def _several(found: _Json, max_tokens: int) -> str:
    """Return the places in their order, whole, as there is room for them, and name the others.

    What takes more than half of it comes after what does not. What is cut is asked for again, and
    paid for twice: only where no place fits, the first one is cut.
    """
    results = found["results"]
    parts = [
        error_text(one["error"]) if one["error"] else fetched_text(one["result"], max_tokens)
        for one in results
    ]
    for at, part in enumerate(parts):
        if part in parts[:at]:  # such as a function by its name and by its lines
            parts[at] = part.partition("\n")[0] + _AGAIN
    sizes = [tokens_of(part) + 1 for part in parts]
    order = sorted(range(len(parts)), key=lambda at: (2 * sizes[at] > max_tokens, at))
    wanted = 0 if sum(sizes) <= max_tokens else _wanted(found)
    room = max_tokens
    while kept := _fitting(sizes, order, room):
        rest = [part for at, part in enumerate(parts) if at not in kept]
        said = _left_out(rest, max_tokens, wanted)
        if sum(sizes[at] for at in kept) + tokens_of(said) <= max_tokens:
            return "\n".join([*(parts[at] for at in sorted(kept)), *([said] if said else [])])
        room = min(room - 1, max_tokens - tokens_of(said))
    said = _left_out(parts[1:], max_tokens, wanted)
    room = max(_LEAST_SHARE, max_tokens - tokens_of(said) - 1)
    first = parts[0] if results[0]["error"] else fetched_text(results[0]["result"], room)
    return "\n".join([first, *([said] if said else [])])


def _fitting(sizes: Sequence[int], order: Iterable[int], room: int) -> set[int]:
    """Return which fit into the room: in this order, each that still does."""
    kept = set()
    for at in order:
        if sizes[at] <= room:
            room -= sizes[at]
            kept.add(at)
    return kept


def _wanted(found: _Json) -> int:
    """Return how many tokens all places have together, rounded up; 0 where one is cut already."""
    parts = []
    for one in found["results"]:
        if one["result"] and one["result"].get("truncated"):
            return 0
        parts.append(
            error_text(one["error"]) if one["error"] else fetched_text(one["result"], _ALL)
        )
    return -(-(_BESIDE + sum(tokens_of(part) + 1 for part in parts)) // _ROUNDED) * _ROUNDED


def _left_out(parts: Sequence[str], room: int, wanted: int) -> str:
    """Return the line that names places without room, as far as a quarter of it allows.

    It says how many tokens all places are, if that is *wanted*.
    """
    if not parts:
        return ""
    names = [part.partition("\n")[0].partition(" of ")[0].partition(" · ")[0] for part in parts]
    spent = [*accumulate(weight(name) + 2 for name in names)]
    shown = names[: bisect_right(spent, room * CHARS_PER_TOKEN // 4)]
    rest = [f"{len(names) - len(shown)} more"] if len(shown) < len(names) else []
    way = f"all with max_tokens {wanted}" if wanted else "give max_tokens"
    return f"… left out: {', '.join([*shown, *rest])}: fetch them apart, or {way}"


def outline_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return outline.v1 as text: the lines of each heading or symbol, and its name."""
    size = found.get("lines")
    of = count(size, "line") if size is not None else f"{found['chars']:,} characters"
    first = joined(f"{named(found['doc_path'])} of {of}", *marks_of(found))
    if "line_start" in found:
        lines = f"{found['line_start']}-{found['line_end']}"
        first = joined(f"{named(found['doc_path'])}:{lines} of {size}", *marks_of(found))
    entries = found["entries"]
    if found.get("instead"):  # of the text, which was asked for
        part = "lines" if size is not None else f"path{_fragment(entries[0])}"
        first = joined(first, f"its outline, since it is long: fetch {part}, or give max_tokens")
    if not entries:
        first = joined(first, "no headings or symbols")
    rows = [_entry(entry) for entry in entries]
    left_out = found["omitted"]

    def more(shown: int) -> str:
        rest = len(rows) - shown + left_out
        return f"… {rest} more, deeper or further down" if rest else ""

    return listing([first], rows, more, max_tokens)


def _entry(entry: _Json) -> str:
    place = _fragment(entry)
    if "line_start" in entry:
        place = _span(entry["line_start"], entry["line_end"])
    return f"{INDENT * entry['level']}{place} {short(entry['name'], 100)}"


def _span(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else f"{first}"


def _fragment(entry: _Json) -> str:
    """Return the place of an entry without lines, as it stands behind a path."""
    return f"#{short(entry.get('uri', '').rpartition('#')[2])}"


def _unlined(found: _Json, max_tokens: int | None) -> str:
    """Return the text of a document without lines that one could ask for."""
    lines = list(indented(found["text"]))
    head = joined(f"{named(found['doc_path'])}{_place_of(found)}", *marks_of(found))

    def more(shown: int) -> str:
        if shown == len(lines) and not found["truncated"]:
            return ""
        return f"… cut after {count(shown, 'line')}: give max_tokens, or fetch passages by id"

    return _from_the_first(head, lines, more, found, max_tokens or BUDGET)


def _place_of(found: _Json) -> str:
    """Return where a chunk stands in its document, as it is cited; nothing of a document."""
    if "chunk" not in found:
        return ""
    place = found["chunk"]["source_spans"][0]
    if place["kind"] in {"line", "code"}:
        return f":{place.get('line_start', place.get('start'))}"
    return _fragment(place)


def _lines(found: _Json, first: int) -> list[str]:
    """Return one line for each line of the text."""
    text = found["text"].removesuffix("\n")
    if not found["text"]:
        return []
    return list(numbered(text, first))


def _as_hit(chunk: _Json, found: _Json) -> _Json:
    place = chunk["source_spans"][0]
    is_by_lines = found.get("media") not in _LINES_OF_THE_FILE
    has_lines = is_by_lines and first_line(place, chunk["text"]) is not None
    return {
        "passage": {
            "text": chunk["text"],
            "start": chunk["char_start"],
            **({"lines": 0} if has_lines else {}),
        },
        "citation": place,
        "media": Media.CODE.value if place["kind"] == "code" else "",
        "section_label": chunk.get("symbol"),
        "heading_path": chunk["heading_path"],
        "title": "",
        "source_id": "",
        "trust_level": found.get("trust_level", ""),
        "doc_path": found["doc_path"],
        "chunk_id": chunk["chunk_id"],
        "doc_id": found["doc_id"],
        "stale": found["stale"],
        "flags": chunk.get("flags", ()),
        "score": 0.0,
        "score_kind": "",
        "rank": 1,
    }


def documents_text(found: _Json, offset: int = 0, max_tokens: int | None = None) -> str:
    """Return doc_summary_list.v1 as text: the documents of each folder under its name."""
    items, total = found["items"], found["total"]
    rows = _by_folder(sorted(items, key=_folder), total)
    if sum(weight(row) + 1 for row in rows) > (max_tokens or SHORT) * CHARS_PER_TOKEN - _HEADED:
        rows = _by_folder(items, total)  # what is cut goes on where it stopped
    first = [count(total, "document")]
    if not items:
        first = ["no document" if not total else f"no document from {offset} on; {total} in all"]
    first += [f"warning: {short(said, 300)}" for said in found.get("warnings", ())[:3]]
    return listing(first, rows, _from(offset, total, "document"), max_tokens)


def _by_folder(items: Sequence[_Json], total: int) -> list[str]:
    """Return a row for each document, the first one of a folder with the name of that above it."""
    sources = {doc["source_id"] for doc in items}
    rows: list[str] = []
    for (source, folder), docs in groupby(items, _folder):
        head = short(f"{folder}/" if folder else "(top)")
        head = joined(head, f"source {short(source)}" if len(sources) > 1 else "")
        for doc in docs:
            line = _document(doc, in_full=total <= _IN_FULL)
            rows.append(f"{head}\n{line}" if head else line)
            head = ""
    return rows


def _folder(doc: _Json) -> tuple[str, str]:
    return doc["source_id"], doc["doc_path"].rpartition("/")[0]


def _document(doc: _Json, *, in_full: bool) -> str:
    """Return the line of a document; of many, dates and sizes are more than anybody reads."""
    path = PurePosixPath(doc["doc_path"])
    title = doc["title"] if doc["title"] not in {path.name, path.stem} else ""
    if not in_full:
        return INDENT + joined(named(path.name), short(title, 60))
    tags = " ".join(f"#{tag}" for tag in doc["tags"])
    dated = (doc.get("doc_date") or "")[:10]
    return INDENT + joined(
        named(path.name), short(title, 80), dated, bytes_text(doc["byte_len"]), short(tags, 60)
    )


def _from(offset: int, total: int, what: str) -> Any:  # noqa: ANN401 - a function
    def more(shown: int) -> str:
        rest = total - offset - shown
        return f"… {count(rest, f'more {what}')}: offset {offset + shown}" if rest > 0 else ""

    return more


def links_text(found: _Json, offset: int = 0, max_tokens: int | None = None) -> str:
    """Return link_list.v1 as text: the other documents, with the lines where links stand."""
    links, total, path = found["items"], found["total"], short(found["doc_path"])
    is_in = found["direction"] == "in"
    first = f"{count(total, 'link')} {'to' if is_in else 'of'} {path}"
    if not links:
        none = f"no link leads to {path}" if is_in else f"{path} has no links"
        first = f"{first} in all" if total else none
    rows = [_linking(link) if is_in else _linked(link) for link in links]
    return listing([first], rows, _from(offset, total, "link"), max_tokens)


def _linking(link: _Json) -> str:
    return INDENT + joined(_link_place(link, link["doc_path"]), short(link.get("excerpt", ""), 200))


def _linked(link: _Json) -> str:
    other = link.get("doc_path")
    leads = f"→ {short(other)}" if other else "leads to no document"
    return INDENT + joined(_link_place(link, ""), short(link["target"], 200), leads)


def _link_place(link: _Json, path: str) -> str:
    """Return where a link stands: its line, behind *path*, or how else its place is cited."""
    place = link.get("citation")
    if place is None:
        return named(path) if path else ""
    if place["kind"] == "line":
        return f"{named(path)}:{place['start']}" if path else f":{place['start']}"
    return short(place["uri"]) if path else short(place["uri"].rpartition("#")[2])


def files_text(found: _Json, offset: int = 0, max_tokens: int | None = None) -> str:
    """Return file_status.v1 as text: what became of all files, and those that match."""
    totals, files = found["coverage"], found["files"]
    states = ("indexed", "skipped", "failed", "pending", "deleted")
    counted = ", ".join(f"{totals[state]:,} {state}" for state in states if totals.get(state))
    first = [
        joined(
            f"{count(totals['files'], 'file')}: {counted or 'none seen'}",
            _embedded(totals),
            f"as of {found['as_of']}" if "as_of" in found else "",
        )
    ]
    if reasons := totals.get("by_reason"):
        first.append(f"skipped: {_counts(reasons)}")
    total = found.get("total", len(files))
    if total != totals["files"]:
        first.append(f"{total:,} match")
    return listing(first, [_file(row) for row in files], _from(offset, total, "file"), max_tokens)


def _embedded(totals: _Json) -> str:
    chunks, embedded = totals["chunks"], totals["embedded"]
    if chunks == embedded:
        return count(chunks, "passage")
    return f"{count(chunks, 'passage')}, {embedded:,} of them found by meaning"


def _file(row: _Json) -> str:
    state = "" if row["state"] == "indexed" else row["state"]
    return INDENT + joined(named(row["doc_path"]), state, _why(row))


def _counts(counts: Mapping[str, int]) -> str:
    ranked = sorted((pair for pair in counts.items() if pair[1]), key=lambda p: (-p[1], p[0]))
    names = [f"{short(str(name), 60)} {number:,}" for name, number in ranked[:_LISTED]]
    if len(ranked) > _LISTED:
        names.append(f"{len(ranked) - _LISTED} more")
    return ", ".join(names)


def _named(counts: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return what has a name: code has no language that people speak."""
    return {name: number for name, number in (counts or {}).items() if name != "null"}


_BREAKDOWNS = (
    ("sources", "source_breakdown"),
    ("media", "media_breakdown"),
    ("languages", "lang_breakdown"),
    ("code_lang", "code_lang_breakdown"),
    ("repos", "repo_breakdown"),
)


def schema_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return schema.v1 as text: what there is, by the values that filters take."""
    stats = found["stats"]
    size = f"{count(stats['doc_count'], 'document')} in {count(stats['chunk_count'], 'passage')}"
    last = stats["last_ingest_at"]
    first = [joined(size, f"last ingested {last}" if last else "nothing ingested yet")]
    rows = [
        f"{what}: {said}"
        for what, name in _BREAKDOWNS
        if (said := _counts(_named(stats.get(name))))
    ]
    if stats["stale_doc_count"]:
        rows.append(f"stale: {stats['stale_doc_count']:,}, not verified for too long")
    missing = [name for name, there in found["capabilities"].items() if not there]
    rows += [f"it cannot: {', '.join(missing)}"] if missing else []
    rows.append(f"embedding: {found['models']['embedding'] or 'none, so it finds by words alone'}")
    return listing(first, rows, lambda _: "", max_tokens)


def doctor_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return doctor.v1 as text: what is not well, then the names of what is."""
    bad = [check for check in found["checks"] if not check["ok"]]
    well = [check for check in found["checks"] if check["ok"]]
    first = ["all is well" if found["ok"] else f"{count(len(bad), 'check')} failed"]
    rows = []
    for check in bad:
        hint = f" → {short(check['hint'], 300)}" if check.get("hint") else ""
        rows.append(f"{short(check['name'])}: {short(check['detail'], 300)}{hint}")
    rows += [f"{INDENT}{short(check['name'])}: {short(check['detail'])}" for check in well]
    return listing(first, rows, lambda _: "", max_tokens)


def verified_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return citation_check.v1 as text: what became of each citation, changes as a diff."""
    summary = found["summary"]
    states = ("unchanged", "moved", "changed", "gone")
    said = ", ".join(f"{summary[state]} {state}" for state in states if summary[state])
    first = [f"{count(summary['total'], 'citation')}: {said}"]
    rows = ["\n".join(_verified(check)) for check in found["checks"]]
    return listing(first, rows, _unseen(len(rows), "citation"), max_tokens or BUDGET)


def _verified(check: _Json) -> Iterator[str]:
    now = f"now {short(check['now']['uri'])}" if "now" in check else ""
    yield joined(short(check["uri"]), check["status"], now, short(check.get("detail") or "", 200))
    diff = (check.get("diff") or "").rstrip("\n").split("\n")
    yield from indented("\n".join(line[:_LONGEST_LINE] for line in diff[:_DIFF_LINES]))


def ingest_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return ingest_report.v1 as text: how many of what, then each file that was looked at."""
    names = ("new", "updated", "moved", "unchanged", "skipped", "deleted", "errors")
    said = ", ".join(f"{found[name]} {name}" for name in names if found.get(name))
    missing = found.get("embeddings_missing")
    first = [
        joined(
            said or "nothing to do",
            "stopped before its end" if found.get("aborted") else "",
            f"{count(missing, 'passage')} found by words alone as yet" if missing else "",
        )
    ]
    rows = ["\n".join(_item(item)) for item in found.get("items") or ()]
    rows += [f"warning: {short(warning, 300)}" for warning in found.get("warnings", ())]
    return listing(first, rows, _unseen(len(rows), "file"), max_tokens)


def _item(item: _Json) -> Iterator[str]:
    chunks = count(item["chunk_count"], "passage") if "chunk_count" in item else ""
    yield joined(
        named(item["doc_path"]), item["kind"], short(item.get("reason") or "", 200), chunks
    )
    if error := item.get("error"):
        yield from (f"{INDENT}{line}" for line in error_text(error).split("\n"))
    yield from (f"{INDENT}{short(warning, 300)}" for warning in item.get("warnings", ()))


def _unseen(total: int, what: str) -> Any:  # noqa: ANN401 - a function
    def more(shown: int) -> str:
        rest = count(total - shown, f"more {what}")
        return f"… {rest}: give max_tokens" if shown < total else ""

    return more


def miss_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return explain_miss.v1 as text: the reason, what speaks for it, and what would help."""
    path, said = named(found["doc_path"]), short(found["summary"], 400)
    first = [said if path in said else joined(path, said)]
    return listing(first, list(_evidence(found)), lambda _: "", max_tokens)


def _evidence(found: _Json) -> Iterator[str]:
    state = found.get("file") or {"state": "indexed"}
    if state["state"] != "indexed" and _why(state) not in short(found["summary"], 400):
        yield f"file {state['state']}: {_why(state)}"
    failing = [one for one in found.get("filters", ()) if not one["passes"]]
    yield from (f"filter {one['name']} keeps it out: {short(str(one['value']))}" for one in failing)
    told = ((name, words) for name, words in (found.get("words") or {}).items() if words)
    yield from (f"words {name}: {short(', '.join(words), 200)}" for name, words in told)
    ranks = [f"{name} {found[name]['rank']}" for name in _LISTS if found.get(name)]
    if ranks:
        yield f"rank: {', '.join(ranks)}"
    if nearest := found.get("nearest"):
        yield f"nearest passage: {short(nearest['citation']['uri'])}"
    if suggestion := found.get("suggestion"):
        query = short(suggestion["query"], 300)
        yield f"the query {query} finds it at rank {suggestion['rank']}"


_LISTS = ("lexical", "vector", "fused")


def _why(row: _Json) -> str:
    return short(": ".join(filter(None, (row.get("reason"), row.get("detail")))), 120)
