"""Hits as text: passages while the budget lasts, then a line for each that is left.

The first line says what was found and by what. Then blocks of a head and a passage (``pieces``):
lines with their numbers, what has none indented. A head without a path, ``:start-end``, goes
on with the file above it. Overlapping and neighbouring passages of a file are one; what of it
is further apart stands under the first, in its order.

With *about*, the words of the query, many passages are shown by the lines that tell
(``telling``), the first one by more of them; without, whole, and as many as there is room for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from kb_app.shown import NO_ANSWER, count, is_doubtful
from kb_core.search import CHARS_PER_TOKEN, MAX_K
from kb_core.text import cut_within
from kb_core.values import dataclass, replace
from kb_mcp.text import BUDGET, INDENT, error_text, few, numbered_head, short, weight
from kb_mcp.text.pieces import LABEL, Page, Piece, without_copies
from kb_mcp.text.telling import LookUp, Telling, values_of

__all__ = [
    "Told",
    "aggregated_text",
    "bulk_text",
    "codebase_text",
    "passages_text",
    "search_text",
]

_Json: TypeAlias = Mapping[str, Any]

_WORTH_CUTTING = 110 * CHARS_PER_TOKEN
"""What must be left of a budget for a part of a passage that does not fit into it."""
_ALONE, _OF_CODE, _EACH = 1_200, 2_000, 600
"""Characters of an answer where what tells is enough, of one about code, and of each of several
queries: what is above tells little more, by ``tools/bench/telling.py``, as decision 0055 has it."""
_LISTED = 5
"""Passages that are a line each below those whose lines tell."""
_BY = {"hybrid": "words and meaning", "lexical": "words", "vector": "meaning"}
_ALSO = "also:"
_NO_PATH = "matches no path"
_GIVEN = "shown before"
"""Said of a passage that an answer before gave."""
_NAMED, _NAMED_ALONE, _NAMES = 2, 5, 140
"""Places that are named below each of several answers and below one, and what they take: a reader
who needs one more passage knows which, and does not ask again. Those of other files go first."""
_LEAST = 400
"""Characters of each of several answers that go before names."""
_TOLD, _TOLD_EACH = 7, 5
"""Passages whose lines compete for them, of an answer and of each of several questions: lines of
later ones take more room than they are worth. Of 36 questions about two folders of code and one
of notes, each alone and then twelve at once, 27 and 22 are shown a line that answers, and 26 and
19 where all ten compete."""
_OVER = "… {} more of these: ask more precisely, or for a smaller k"
_OVER_OF_CODE = "… {} more of these: ask more precisely, or for a smaller maxResults"
_MORE_OF_CODE = "there are more: give a larger maxResults, or ask more precisely"
_OVER_EACH = "… {} more found"
_OF_VALUES = 4
"""One part in so many of an answer may be values of constants that its lines use."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer as text, and the lines of documents that are in it, as ``said_by`` has them."""

    text: str
    lines: tuple[int, ...] = ()
    rest: int = 0
    """Passages that it does not name."""
    left: float = 0.0
    """The share of its budget that is left where every passage is shown whole."""


@dataclass(frozen=True, slots=True)
class _Both:
    """What is in the one or in the other."""

    one: Container[int]
    other: Container[int]

    def __contains__(self, line: object) -> bool:
        return line in self.one or line in self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """How hits are shown: in how many tokens, after what, and whole or by what tells of a query."""

    tokens: int
    given: Container[int] = ()
    about: str | None = None
    enough: int = _ALONE
    """Characters, where what tells is enough."""
    told: int = _TOLD
    """Of so many passages then."""
    listed: int = _LISTED
    """How many of the others are a line each then."""
    over: str = _OVER
    """What is said of hits that have no room, if anything."""
    named: int = 0
    """How many of those that are not shown are named in one line, where there is room."""
    look_up: LookUp | None = None
    """What finds the values of constants, where they are told."""


# ----------------------------------------------------------------- whole answers


def search_text(
    response: _Json,
    max_tokens: int | None = None,
    given: Container[int] = (),
    about: str | None = None,
    *,
    look_up: LookUp | None = None,
) -> Told:
    """Return search_response.v1, with passages, as text; of what was *given*, a line each."""
    view = _View(
        tokens=max_tokens or BUDGET,
        given=given,
        about=about,
        named=0 if about is None else _NAMED_ALONE,
        look_up=look_up,
    )
    return _search(response, view, is_alone=True)


def _search(response: _Json, view: _View, *, is_alone: bool) -> Told:
    response = _looked(response)
    hits = response["hits"]
    first = [_found(hits, hits[0]["rank"] if hits else 1)] if is_alone or not hits else []
    if is_alone:
        return _answer([*first, *_missing(response)], hits, _remarks(response), view)
    # Who wants more of one of several queries asks it alone.
    remarks = _remarks({**response, "next_cursor": None})
    return _answer([*first, *_unknown(response), *remarks], hits, (), view)


def codebase_text(
    response: _Json,
    max_tokens: int | None = None,
    given: Container[int] = (),
    *,
    is_whole: bool = False,
    look_up: LookUp | None = None,
) -> Told:
    """Return codebase_search_response.v1, with passages, as text."""
    queries, hits = response["queries"], response["hits"]
    tokens = max_tokens or BUDGET
    if "groups" in response:
        view = _View(tokens=tokens, given=given, look_up=look_up)
        return _apart(list(_groups(response)), view, is_whole=is_whole)
    first = [_found(hits, 1, queries=len(queries))]
    for failed in response.get("errors", ()):
        query = short(queries[failed["query"]]["query"])
        first.append(f"query {failed['query'] + 1} ({query}) failed: {_error(failed['error'])}")
    tail = list(_remarks(response))
    if response["truncated"]:
        tail.append(_MORE_OF_CODE)
    about = None if is_whole else " ".join(query["query"] for query in queries)
    view = _View(
        tokens=tokens,
        given=given,
        about=about,
        enough=_OF_CODE,
        told=MAX_K,
        over=_OVER_OF_CODE,
        look_up=look_up,
    )
    return _answer(first, hits, tail, view)


def aggregated_text(
    response: _Json,
    max_tokens: int | None = None,
    given: Container[int] = (),
    *,
    is_whole: bool = False,
    look_up: LookUp | None = None,
) -> Told:
    """Return bulk_search_response.v1 of one list for all queries as text."""
    hits, results = response["aggregated"], response["results"]
    first = [_found(hits, 1, queries=len(results))]
    remarks: dict[str, None] = {}
    for at, one in enumerate(results, start=1):
        if one["error"]:
            first.append(f"query {at} failed: {_error(one['error'])}")
        else:
            remarks |= dict.fromkeys(_remarks({**one["response"], "hits": hits}))
            first += [f"query {at}: {said}" for said in _missing(one["response"])]
    about = None if is_whole else " ".join(map(_query, results))
    view = _View(tokens=max_tokens or BUDGET, given=given, about=about, look_up=look_up)
    return _answer(first, hits, list(remarks), view)


def bulk_text(
    response: _Json,
    max_tokens: int | None = None,
    given: Container[int] = (),
    *,
    is_whole: bool = False,
    look_up: LookUp | None = None,
) -> Told:
    """Return bulk_search_response.v1 as text: a part for each query, which share the budget.

    What a query needs less of it, those after it have more; a passage is shown once.
    """
    answers = [(_query(one), one["error"] or one["response"]) for one in response["results"]]
    view = _View(tokens=max_tokens or BUDGET, given=given, look_up=look_up)
    return _apart(answers, view, is_whole=is_whole)


def _query(result: _Json) -> str:
    return str(result["query"].get("query", ""))


def _groups(response: _Json) -> Iterator[tuple[str, _Json]]:
    """Yield each query of a code search that was answered apart, with its error or its hits."""
    failed = {row["query"]: row["error"] for row in response.get("errors", ())}
    ranks = {group["query"]: group["ranks"] for group in response["groups"]}
    for at, query in enumerate(response["queries"]):
        found = [response["hits"][rank - 1] for rank in ranks.get(at, ())]
        hits = [{**hit, "rank": rank} for rank, hit in enumerate(found, start=1)]
        yield query["query"], failed.get(at) or {"hits": hits}


def _apart(answers: Sequence[tuple[str, _Json]], view: _View, *, is_whole: bool) -> Told:
    """Return answers, or errors, each under its query."""
    common = few(_common(answers), view.tokens * CHARS_PER_TOKEN // 3)
    left = view.tokens * CHARS_PER_TOKEN - sum(weight(line) + 1 for line in (_OVER_EACH, *common))
    parts: list[str] = []
    shown: set[int] = set()
    unnamed = 0
    for at, (query, answer) in enumerate(answers, start=1):
        head = numbered_head(at, query)
        share = left // (len(answers) - at + 1) - weight(head) - 2
        enough = _EACH
        if not is_whole:
            enough = min(_EACH, max(_LEAST, share - _NAMES))
            share = min(share, _EACH + _NAMES)
        part = "" if "hits" in answer else f"failed: {_error(answer)}"
        if not part and share > 0:
            own = _View(
                tokens=share // CHARS_PER_TOKEN,
                given=_Both(view.given, shown),
                about=None if is_whole else query,
                enough=enough,
                told=_TOLD_EACH,
                listed=0,
                over="",
                named=_NAMED,
                look_up=view.look_up,
            )
            own_of = {**_looked(answer), **dict.fromkeys(_SHARED, ())}
            told = _search(own_of, own, is_alone=False)
            shown |= set(told.lines)
            part, unnamed = told.text, unnamed + told.rest
        if weight(part) > share:
            rest = len(answers) - at + 1
            parts.append(f"… {count(rest, 'query', 'queries')} left out: ask fewer at once")
            break
        parts.append(f"{head}\n{part}")
        left -= weight(parts[-1]) + 1
    over = [_OVER_EACH.format(unnamed)] if unnamed else []
    return Told("\n".join([*parts, *over, *common]), tuple(shown))


def _common(answers: Sequence[tuple[str, _Json]]) -> list[str]:
    """Return what is said of several answers, once: what one of them is without, all mostly are."""
    said = (_of_all(answer) for _, answer in answers)
    return list(dict.fromkeys(line for lines in said for line in lines))


def passages_text(hits: Sequence[_Json], max_tokens: int | None = None) -> str:
    """Return passages of one document, in its order, as one text."""
    return _answer([], hits, [], _View(tokens=max_tokens or BUDGET)).text


def _found(hits: Sequence[_Json], rank: int, *, queries: int = 1) -> str:
    several = f" for {queries} queries" if queries > 1 else ""
    if not hits:
        return f"nothing found{several}"
    files = len({(hit["source_id"], hit["doc_path"]) for hit in hits})
    amount = count(len(hits), "passage")
    if rank > 1:
        amount = f"passages {rank} to {rank + len(hits) - 1}"
    methods = {hit["retrieval"]["method"] for hit in hits}
    by = f", by {_BY[methods.pop()]}" if len(methods) == 1 and methods <= _BY.keys() else ""
    return f"{amount} in {count(files, 'file')}{several}{by}"


def _looked(response: _Json) -> _Json:
    """Return an answer without its words where no path was looked at: they may be anywhere."""
    is_nowhere = any(_NO_PATH in said for said in response.get("warnings", ()))
    return {**response, "missing": None} if is_nowhere and not response["hits"] else response


def _unknown(response: _Json) -> list[str]:
    found = response.get("missing") or {}
    told = (("in no passage", "unknown"), ("outside the filter", "outside"))
    words = ((said, ", ".join(map(short, found.get(name, ())))) for said, name in told)
    return [f"{said}: {named}" for said, named in words if named]


def _missing(response: _Json) -> list[str]:
    found = response.get("missing")
    if found is None:
        return []
    said = _unknown(response)
    if found["without"]:
        pairs = (f"without {short(row['word'])}: {row['passages']}" for row in found["without"])
        said.append(f"no passage holds all the words; {', '.join(pairs)}")
    return said


_SHARED = ("about", "degraded", "warnings")


def _of_all(response: _Json) -> Iterator[str]:
    """Yield what is not about one query alone."""
    for about in response.get("about", ()):
        place = "/".join(filter(None, (about["source_id"], about.get("path"))))
        yield f"{short(place)}: {short(about['text'], 300)}"
    for name in ("degraded", "warnings"):
        yield from (
            f"{name.removesuffix('s')}: {short(said, 300)}" for said in response.get(name, ())
        )


def _remarks(response: _Json) -> Iterator[str]:
    yield from _of_all(response)
    if cursor := response.get("next_cursor"):
        yield f"more: cursor {cursor}"
    hits = response["hits"]
    if hits and is_doubtful(response.get("confidence"), hits[0]["score_kind"]):
        yield NO_ANSWER


def _error(body: _Json) -> str:
    return error_text(body).removeprefix("error ").replace("\n", " ")


# -------------------------------------------------------------- within a budget


@dataclass(frozen=True, slots=True)
class _Laid:
    """What of the hits is shown, which are a line each, and what is said of others."""

    shown: Sequence[Piece]
    listed: Sequence[Piece]
    briefs: Sequence[str]
    """The line of each that is listed."""
    rest: int = 0
    """How many are not named at all."""


def _answer(first: Sequence[str], hits: Sequence[_Json], tail: Iterable[str], view: _View) -> Told:
    """Return the lines of an answer within its budget, and the lines of documents in it."""
    room = view.tokens * CHARS_PER_TOKEN
    first, tail = few(first, room // 3), few(list(tail)[::-1], room // 3)[::-1]
    page = Page.of(hits)
    room -= sum(weight(line) + 1 for line in (*first, *tail, _ALSO))
    if view.about is None:
        laid = _whole(page, hits, room, view)
    else:
        laid = _telling(page, hits, room, view, view.about)
    if laid.rest and view.over:  # who is not shown all of these is not to ask for more
        tail = [line for line in tail if line != _MORE_OF_CODE]
    blocks = [line for block in _blocks(page, laid.shown) for line in block]
    also = [_ALSO, *(f"{INDENT}{line}" for line in laid.briefs)] if laid.briefs else []
    said = tuple(line for piece in laid.shown for line in piece.said())
    over = [view.over.format(laid.rest)] if view.over and laid.rest else []
    spent = sum(weight(line) + 1 for line in (*first, *blocks, *also, *over, *tail))
    names = _names(page, hits, laid, view.tokens * CHARS_PER_TOKEN - spent, view.named)
    if names:
        also.append(f"{INDENT if also else f'{_ALSO} '}{', '.join(names)}")
    rest = laid.rest - len(names)
    over = [view.over.format(rest)] if view.over and rest else []
    text = "\n".join([*first, *blocks, *also, *over, *tail])
    is_all = not (also or over or any(piece.is_cut for piece in laid.shown))
    left = max(0.0, 1 - weight(text) / (view.tokens * CHARS_PER_TOKEN)) if is_all else 0.0
    return Told(text, said, rest, left)


def _names(page: Page, hits: Sequence[_Json], laid: _Laid, room: int, most: int) -> list[str]:
    """Return the places of the best passages that are not told, each file or unit once."""
    before = (*laid.shown, *laid.listed)
    told, files = {_unit(piece) for piece in before}, {piece.file for piece in before}
    names: list[str] = []
    room = min(room, _NAMES) - weight(_ALSO)
    others = [piece for piece in without_copies(hits) if not page.is_weak(piece)]
    for piece in sorted(others, key=lambda one: one.file in files):
        if len(names) == most:
            break
        if (unit := _unit(piece)) not in told and (cost := weight(page.place(piece)) + 2) <= room:
            told.add(unit)
            names.append(page.place(piece))
            room -= cost
    return names


def _unit(piece: Piece) -> tuple[object, ...]:
    return *piece.file, *piece.hits[0]["heading_path"], piece.hits[0]["section_label"]


def _whole(page: Page, hits: Sequence[_Json], room: int, view: _View) -> _Laid:
    """Lay out whole passages while there is room, and in what no passage fits into, a line each.

    A line says where to read on; a passage may be what was asked for.
    """
    if len(hits) > 1:
        room -= weight(view.over) + 4
    whole: list[Piece] = []
    rest: list[tuple[Piece, str]] = []
    for piece in without_copies(hits):
        fitting, is_given = None, piece.is_in(view.given)
        if not is_given and not page.is_weak(piece):
            fitting = _fitting(page, piece, room, may_cut=not whole or room > _WORTH_CUTTING)
        if fitting is None:
            brief = page.head(piece, is_whole=False)
            rest.append((piece, f"{brief} · {_GIVEN}" if is_given else brief))
        else:
            whole.append(fitting)
            room -= _whole_cost(page, fitting)
    listed = bisect_right([*accumulate(_cost(brief) for _, brief in rest)], room)
    return _laid(whole, rest, listed)


def _telling(page: Page, hits: Sequence[_Json], room: int, view: _View, about: str) -> _Laid:
    """Lay out passages by the lines that tell, as many as there is room for.

    A passage that is far below the best or was given already is a line.
    """
    pieces = without_copies(hits)
    briefs = [page.head(piece, is_whole=False) for piece in pieces]
    room = min(room, view.enough) - weight(view.over) - 4
    taken, many = 0, view.told
    open_to = [at for at, piece in enumerate(pieces) if not page.is_weak(piece)]
    while True:
        telling = Telling(about, pieces[:many])
        heads = {at: weight(briefs[at]) + 1 for at in open_to if at < many}
        picked = telling.picked(heads, room - taken)
        seen = {at for at, piece in picked.items() if piece.is_in(view.given)}
        if not seen:
            break
        for at in seen:
            briefs[at] = f"{briefs[at]} · {_GIVEN}"
            taken += _cost(briefs[at])
        open_to = [at for at in open_to if at not in seen]
        many += len(seen)
    picked = _valued(telling, picked, heads, room - taken, view.look_up)
    room -= sum(_whole_cost(page, piece) for piece in picked.values())
    rest = [(pieces[at], brief) for at, brief in enumerate(briefs) if at not in picked]
    costs = accumulate((_cost(brief) for _, brief in rest), initial=0)
    listed = bisect_right([*costs][: view.listed + 1], room) - 1
    return _laid([*picked.values()], rest, listed)


def _laid(shown: Sequence[Piece], rest: Sequence[tuple[Piece, str]], listed: int) -> _Laid:
    pieces, briefs = zip(*rest[:listed], strict=True) if listed else ((), ())
    return _Laid(shown, pieces, briefs, len(rest) - listed)


def _valued(
    telling: Telling,
    picked: dict[int, Piece],
    heads: Mapping[int, int],
    room: int,
    look_up: LookUp | None,
) -> dict[int, Piece]:
    """Return the pieces with the values of the constants in them, for which other lines go."""
    shown = _shown(picked)
    known = [value for piece in picked.values() for value in values_of(piece, look_up, shown)]
    wanted = sum(weight(value) + 1 for value in dict.fromkeys(known))
    if not wanted:
        return picked
    left = min(wanted, room // _OF_VALUES)
    picked = telling.picked(heads, room - left)
    valued, told, shown = dict[int, Piece](), set[str](), _shown(picked)
    for at, piece in picked.items():
        values = []
        for value in values_of(piece, look_up, shown):
            if value not in told and (cost := weight(value) + 1) <= left:
                left -= cost
                values.append(value)
                told.add(value)
        valued[at] = replace(piece, values=tuple(values))
    return valued


def _shown(picked: Mapping[int, Piece]) -> set[tuple[str, int]]:
    """Return which lines of which documents are told, where they have numbers."""
    return {place for piece in picked.values() for place in piece.places()}


def _cost(brief: str) -> int:
    return weight(brief) + weight(f"{INDENT} · {_GIVEN}") + 1


def _whole_cost(page: Page, piece: Piece) -> int:
    return weight(page.head(piece, is_whole=piece.told is None)) + 1 + piece.cost


def _fitting(page: Page, piece: Piece, room: int, *, may_cut: bool) -> Piece | None:
    """Return a passage as it fits into the room: whole, or what is around its best place, or not.

    Code is cut after a line, unless its first is too long; prose within one, too.
    """
    if _whole_cost(page, piece) <= room:
        return piece
    most = _most(page, piece, room) if may_cut else 0
    if most < min(LABEL, len(piece.text) - 1):
        return None
    begin = 0
    while later := piece.beginning(most):  # what is further down has longer numbers
        part = piece.part(later)
        if _whole_cost(page, part) <= room:
            return part
        most = min(most, _most(page, part, room))
        if later == begin:
            piece = part
            break
        begin = later
    line = piece.text.rfind("\n", 0, most)
    end = line if piece.is_code and line > 0 else cut_within(piece.text, most)
    found = piece.part(0, end)
    return found if found.text and _whole_cost(page, found) <= room else None


def _most(page: Page, piece: Piece, room: int) -> int:
    """Return how many characters of a passage that is too long fit into the room."""
    sizes = range(1, len(piece.text))
    return bisect_right(sizes, room, key=lambda size: _whole_cost(page, piece.part(0, size)))


def _blocks(page: Page, pieces: Sequence[Piece]) -> Iterator[list[str]]:
    """Yield the passages, those of a file together and in its order, the best file first."""
    by_file: dict[tuple[str, str], list[Piece]] = {}
    for piece in pieces:
        by_file.setdefault(piece.file, []).append(piece)
    for group in by_file.values():
        for at, piece in enumerate(_merged(group)):
            head = page.head(piece, goes_on=at > 0, is_whole=piece.told is None)
            yield [head, *piece.lines()]


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: (one.start, -one.end)):
        both = found[-1].joined_with(piece) if found else None
        if both is None:
            found.append(piece)
        else:
            found[-1] = both
    return found
