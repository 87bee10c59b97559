"""Reading tools: text as it stands in a source, what there is, what citations still say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import BeforeValidator, Field, WithJsonSchema

from kb_app.wire_models import (
    FilteredInput,
    Flag,
    Input,
    MaybeWhole,
    Text,
    Whole,
    choice,
    read,
)
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.media import Media
from kb_core.values import replace
from kb_mcp._tool import READ_ONLY, Answer, Call, Tool, at_least, input_schema, outline
from kb_mcp.text import BUDGET, error_text, tokens_of
from kb_mcp.text.reports import (
    PLACES,
    documents_text,
    fetched_lines,
    fetched_text,
    links_text,
    verified_text,
)

__all__ = [
    "CITE_VERIFY",
    "FETCH",
    "LINKS",
    "LIST_DOCS",
    "FetchInput",
    "FetchKind",
    "LinksInput",
    "ListInput",
    "VerifyInput",
]


class FetchKind(StrEnum):
    """What is fetched."""

    CHUNK = "chunk"
    DOC = "doc"
    SPAN = "span"


_NEEDED = {
    FetchKind.CHUNK: ("chunk_id",),
    FetchKind.DOC: ("doc_id",),
    FetchKind.SPAN: ("doc_id", "line_start", "line_end"),
}
_OPTIONAL = {
    FetchKind.CHUNK: ("context",),
    FetchKind.DOC: ("max_tokens",),
    FetchKind.SPAN: ("max_tokens",),
}


def _listed(value: Any) -> Any:  # noqa: ANN401 - what a model sent
    """Return one place as a list of it."""
    return [value] if isinstance(value, str | Mapping) and value else value


class FetchInput(Input):
    """Which text: by place, or by ``kind``, each of which has parameters of its own."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "document_id": "doc_id",
        "end": "line_end",
        "id": "chunk_id",
        "paths": "places",
        "start": "line_start",
        "type": "kind",
        "uri": "citation",
    }

    path: Text = Field(
        default=None,
        description="A document, as hits print it; a.py#name: what is called so in it.",
    )
    lines: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        default=None, description="Of path: 40-80, 40, 40-."
    )
    citation: Text = Field(default=None, description="A uri, or path:12-30.")
    chunk: Text = Field(default=None, description="A chunk_id.")
    places: Annotated[
        list[Any],
        BeforeValidator(_listed),
        WithJsonSchema(
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}
        ),
    ] = Field(
        default=[],
        description="Several: each path:12-30, path#name, name, uri, or an object of these names.",
    )
    outline: Flag = Field(
        default=False, description="Of path: its headings or symbols, with lines."
    )
    image: Flag = Field(
        default=False, description="Of a page or picture: how it looks, too, the passage marked."
    )
    kind: Annotated[FetchKind | None, choice(FetchKind)] = Field(
        default=None,
        description="chunk needs chunk_id; doc doc_id; span doc_id and lines.",
    )
    chunk_id: Text = Field(default=None, description="Of a hit.")
    doc_id: Text = Field(default=None, description="Of a hit.")
    line_start: MaybeWhole = Field(default=None, description="First line, from 1.")
    line_end: MaybeWhole = Field(default=None, description="Last line, included.")
    context: Annotated[MaybeWhole, at_least(0)] = Field(
        default=None, ge=0, description="Of a chunk: so many before and after it, too."
    )
    max_tokens: Annotated[MaybeWhole, at_least(1)] = Field(
        default=None, ge=1, description="Cut the text here; places share it."
    )


_DPI = 100
"""A page of text can be read at that, and costs a model no more than it must."""
_PLACE = ("path", "lines", "citation", "chunk", "context")
_LONG = 4
"""One part in so many of an answer is long for one place of several."""
_MANY_LINES = 150
"""Lines that are asked for as such, of which an outline is told where they have no room."""
_PARTS = 2
"""Headings or symbols of an outline that says more than the place itself."""


def _given(asked: FetchInput) -> set[str]:
    """Return what says something; 0 does, but for no context, which there is anyway."""
    said = {name: getattr(asked, name) for name in asked.model_fields_set}
    empty = {name for name, value in said.items() if value in (None, []) or value is False}
    return said.keys() - empty - (set() if asked.context else {"context"})


def _check(kind: FetchKind, asked: FetchInput) -> None:
    """Raise ``InvalidInput`` unless *asked* has what its kind needs, and nothing else."""
    needed, optional = _NEEDED[kind], _OPTIONAL[kind]
    given = _given(asked)
    missing = [name for name in needed if name not in given]
    foreign = sorted(given - {"kind", *needed, *optional})
    if missing or foreign:
        problems = [f"parameter {name!r} is missing" for name in missing]
        problems += [f"parameter {name!r} is not for kind {kind.value!r}" for name in foreign]
        raise InvalidInput(
            "; ".join(problems),
            hint=f"kind {kind.value!r} takes {', '.join((*needed, *optional))}",
            details={"kind": kind.value, "missing": missing, "foreign": foreign},
        )


def _fetch(call: Call) -> Answer:
    asked = read(FetchInput, call.arguments)
    if asked.kind is None:
        return _fetch_by_place(call, asked)
    _check(asked.kind, asked)
    match asked.kind:
        case FetchKind.CHUNK:
            return call.kb.fetch_chunk(asked.chunk_id or "", context=asked.context or 0)
        case FetchKind.DOC:
            return call.kb.fetch_doc(asked.doc_id or "", max_tokens=asked.max_tokens)
        case FetchKind.SPAN:
            lines = (asked.line_start or 0, asked.line_end or 0)
            return call.kb.fetch_span(asked.doc_id or "", *lines, max_tokens=asked.max_tokens)


def _fetch_by_place(call: Call, asked: FetchInput) -> Answer:
    place = _place_of(asked)
    if asked.places:
        others = {name: True for name in ("image", "outline") if getattr(asked, name)}
        _refuse_beside("places", {**place, **others})
        return call.kb.fetch_many(asked.places, max_tokens=asked.max_tokens)
    if not place:
        raise InvalidInput(
            "there is nothing to fetch",
            hint='give path (and lines), citation, chunk or places, as {"path": "a.md", '
            '"lines": "40-80"}',
            details={"field": "path"},
        )
    if asked.image:
        name = place.get("citation") or place.get("chunk") or place.get("path")
        call.pictures.append(call.kb.draw(str(name), dpi=_DPI))
    if asked.outline:
        path = place.pop("path", None)
        _refuse_beside("outline", place)
        return call.kb.outline(path or "")
    return call.kb.fetch(place, max_tokens=asked.max_tokens)


def _place_of(asked: FetchInput) -> dict[str, Any]:
    """Return the place that is asked for, ids among its names."""
    given = _given(asked)
    place = {name: getattr(asked, name) for name in _PLACE if name in given}
    for own, name in (("doc_id", "path"), ("chunk_id", "chunk")):
        if own in given:
            place.setdefault(name, getattr(asked, own))
    first, last = asked.line_start, asked.line_end
    if first is not None or last is not None:
        place.setdefault("lines", [1 if first is None else first, first if last is None else last])
    return place


def _refuse_beside(name: str, place: Mapping[str, Any]) -> None:
    if place:
        own = "path" if name == "outline" else "max_tokens"
        raise InvalidInput(
            f"{', '.join(place)} and {name} do not go together",
            hint=f"{name} takes {own} alone beside it",
            details={"field": name, "foreign": sorted(place)},
        )


def _any_of(name: str, *others: str) -> dict[str, Any]:
    """Return the outline of a wire object that may be one of *others*: a tool has one schema.

    What only the others have is not shown.
    """
    face = outline(name)
    versions = [f"{each}.v1" for each in (name, *others)]
    return {**face, "properties": {**face["properties"], "schema_version": {"enum": versions}}}


def _tell_fetch(call: Call) -> str:
    given = call.arguments
    places = _listed(given.get("places"))
    places = places if isinstance(places, list) else []
    many = len(places)
    if many and given.get("outline"):
        return _outlines(call, places)
    most = call.max_tokens or (PLACES if many else BUDGET)
    is_short = given.get("kind") == FetchKind.CHUNK.value or bool(given.get("outline"))
    # Each place may take all of it: which of them are shown is decided once they are known.
    asked = dict(given) if is_short else {**given, "max_tokens": most * max(1, many)}
    found = _fetch(replace(call, arguments=asked))
    if _is_in_first_line(found):
        found = _fetch(replace(call, arguments={**asked, "max_tokens": None}))
    found = _with_units(call, _with_trust(call, found), {})
    if call.max_tokens is None and many:
        found = {**found, "results": _with_outlines(call, found["results"], most)}
    elif call.max_tokens is None and _is_named(given, found) and _is_cut(found, most):
        found = _outline_of(call, found) or found
    text = fetched_text(found, most)
    call.shown.extend(fetched_lines(found, text))
    return text


def _is_in_first_line(found: Answer) -> bool:
    """Say whether a budget ended in the first line, of which an object has nothing then."""
    return bool(found.get("truncated")) and found.get("text") == ""


def _outlines(call: Call, places: Sequence[Any]) -> str:
    """Return the outline of each place's file, as many as there is room for."""
    most = call.max_tokens or BUDGET
    told = []
    for place in places:
        try:
            outline = _outline_within(call, call.kb.fetch(place))
            told.append(fetched_text(outline, most // len(places)))
        except KbError as error:
            told.append(error_text(wire.error(error)))
    return "\n".join(told)


def _with_trust(call: Call, found: Answer) -> Answer:
    """Return what was fetched with what its object lacks: how far each document is trusted.

    And of a whole document, such as a mailbox, which others are within it.
    """
    if "results" in found:
        results = [
            {**one, "result": one["result"] and _with_trust(call, one["result"])}
            for one in found["results"]
        ]
        return {**found, "results": results}
    with suppress(KbError):  # it may be gone by now
        known = call.kb.inspect_doc(found["doc_id"])
        enclosed = known.get("enclosed", []) if found.get("kind") == FetchKind.DOC.value else []
        is_code = known.get("media") == Media.CODE.value
        return {
            **found,
            "media": known.get("media"),
            "trust_level": known["trust_level"],
            "enclosed": enclosed,
            "is_code": is_code,
        }
    return found


def _with_units(call: Call, found: Answer, outlines: dict[str, Sequence[Answer]]) -> Answer:
    """Return lines of code with the name and the lines of what most of them stand in.

    Of the innermost, where there is more of it above or below: whoever took them from a list of
    lines does not know that. *outlines* has those of documents that were asked for before.
    """
    if "results" in found:
        results = [
            {**one, "result": one["result"] and _with_units(call, one["result"], outlines)}
            for one in found["results"]
        ]
        return {**found, "results": results}
    if not found.get("is_code") or found.get("kind") != FetchKind.SPAN.value:
        return found
    name, first, last = found["doc_id"], found["line_start"], found["line_end"]
    with suppress(KbError):  # it may be gone by now
        if name not in outlines:
            outlines[name] = call.kb.outline(name)["entries"]
        around = [one for one in outlines[name] if _is_about(one, first, last)]
        if around:
            return {**found, "unit": around[-1]}
    return found


def _is_about(entry: Answer, first: int, last: int) -> bool:
    """Say whether most lines stand in what an outline has, and not all of it in them."""
    begins, ends = int(entry["line_start"]), int(entry["line_end"])
    within = min(last, ends) - max(first, begins) + 1
    return 2 * within > last - first + 1 and (begins < first or last < ends)


def _is_named(place: str | Mapping[str, Any], found: Answer | None) -> bool:
    """Say whether a document or a part of it was asked for by its name, and not by lines."""
    given = place if isinstance(place, Mapping) else {"path": place}
    name = str(given.get("path") or given.get("doc_id") or "").partition("#")[0]
    if not (name and found) or "doc_path" not in found or "entries" in found:
        return False
    is_named = found["doc_path"].endswith(name) or found["doc_id"].startswith(name)
    return is_named and not given.keys() & {"lines", "line_start"}


def _is_cut(found: Answer, most: int) -> bool:
    return found.get("truncated") or tokens_of(fetched_text(found, 2 * most)) > most


def _with_outlines(call: Call, results: Sequence[Answer], most: int) -> list[Answer]:
    """Return places, the longest in outline until there is room for all.

    Only long ones: whoever asks for a few lines knows what they are about. And whoever asks for
    lines has as many of them as there is room for, where that is not too little.
    """
    told = list(results)
    if len(told) == 1 and not _is_named(told[0]["place"], told[0]["result"]):
        return told
    sizes = [
        1 + tokens_of(fetched_text(one["result"], 2 * most)) if one["result"] else 0 for one in told
    ]
    for at in sorted(range(len(told)), key=lambda at: -sizes[at]):
        if sum(sizes) <= most or sizes[at] <= most // _LONG:
            break
        place, found = told[at]["place"], told[at]["result"]
        is_short = found.get("line_end", 0) - found.get("line_start", 0) < _MANY_LINES
        is_named = _is_named(place, found)
        if is_short and not is_named:
            continue
        room = most - sum(sizes) + sizes[at]
        if not is_named and room >= most // _LONG:
            told[at] = {**told[at], "result": _beginning(found, room - 1)}
            break
        if outline := _outline_of(call, found):
            told[at] = {**told[at], "result": outline}
            sizes[at] = 1 + tokens_of(fetched_text(outline))
    return told


def _beginning(found: Answer, most: int) -> Answer:
    """Return the lines of what was fetched that there is room for."""
    shown = fetched_text(found, most).count("\n") - 1  # without its head, and that there are more
    text = "\n".join(found["text"].split("\n")[:shown])
    return {**found, "text": f"{text}\n", "truncated": True}


def _outline_of(call: Call, found: Answer) -> Answer | None:
    """Return the outline of what is too long to be shown, if its parts are most of it."""
    outline = _outline_within(call, found)
    if len(outline["entries"]) < _PARTS or ("line_start" in outline and not _tells_most(outline)):
        return None
    return {**outline, "instead": True}


def _tells_most(outline: Answer) -> bool:
    """Say whether most lines stand in what is within them, and is not all of them."""
    first, last = outline["line_start"], outline["line_end"]
    told = set[int]()
    for entry in outline["entries"]:
        lines = range(entry["line_start"], entry["line_end"] + 1)
        is_within = first <= lines[0] and lines[-1] <= last
        told.update(lines if is_within and len(lines) <= last - first else ())
    return bool(2 * len(told) > last - first)


def _outline_within(call: Call, found: Answer) -> Answer:
    """Return the outline of what was fetched: of a document, or of lines, which it names."""
    place: dict[str, Any] = {"path": found["doc_id"]}
    lines = {}
    if found["kind"] == FetchKind.SPAN.value:
        last = min(found["line_end"], found["lines"])
        lines = {"line_start": found["line_start"], "line_end": last}
        place["lines"] = list(lines.values())
    return {**_with_trust(call, call.kb.outline(place)), **lines}


FETCH = Tool(
    definition=types.Tool(
        name="fetch",
        title="Read a passage or a document",
        description=(
            "Text exactly as it stands in a source: lines of a file, what a citation points at, "
            "a chunk with its neighbours, several at once; or the outline of a file. Use it when "
            "a hit's snippet is not enough, and to check a citation. Do not use it to look for "
            "something; that is search or grep. Long documents cost: take the outline first, "
            "then lines."
        ),
        input_schema=input_schema(FetchInput),
        output_schema=_any_of("fetch_result", "fetch_results", "outline"),
        annotations=READ_ONLY,
    ),
    call=_fetch,
    tell=_tell_fetch,
    brief=(
        "Read the lines that answers left open, all places at once; outline: headings or symbols "
        "with lines."
    ),
    shown={
        "places": "a.md:12-30, a.py#Class.method, a.md#Heading, function_name",
        "path": "",
        "outline": "",
        "chunk": "",
        "context": "",
        "image": "How a page looks.",
        "max_tokens": "Of all places.",
    },
)


_MOST = 1000


class ListInput(FilteredInput):
    """Which documents, and which page of them."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "folder": "path_glob",
        "k": "limit",
        "path": "path_glob",
        "skip": "offset",
    }

    limit: Whole = Field(default=100, ge=1, le=_MOST, description="How many.")
    offset: Whole = Field(default=0, ge=0, description="How many to leave out before.")


def _list_docs(call: Call) -> Answer:
    asked = read(ListInput, call.arguments)
    return call.kb.list_docs(asked.to_filters(), limit=asked.limit, offset=asked.offset)


def _tell_list_docs(call: Call) -> str:
    offset = read(ListInput, call.arguments).offset
    return documents_text(_list_docs(call), offset, call.max_tokens)


LIST_DOCS = Tool(
    definition=types.Tool(
        name="list_docs",
        title="List documents",
        description=(
            "Documents by source and path, with title, tags, dates and size; total counts all "
            "that match. Use it to see what there is under a path, tag or date, or to count. Do "
            "not use it to find text, since it looks at no text: that is search. "
            "Narrow it with filters."
        ),
        input_schema=input_schema(ListInput, brief=True),
        output_schema=outline("doc_summary_list"),
        annotations=READ_ONLY,
    ),
    call=_list_docs,
    tell=_tell_list_docs,
    brief="What documents there are under a path, tag or date, by their names.",
    shown={"path_glob": "", "tag": "", "since": "", "limit": ""},
)


class Direction(StrEnum):
    """Which links of a document."""

    IN = "in"
    OUT = "out"


class LinksInput(Input):
    """Links of which document, which of them, and which page."""

    synonyms: ClassVar[Mapping[str, str]] = {"doc_id": "doc", "id": "doc", "path": "doc"}

    doc: str = Field(description="Path of a document, or doc_id of a hit.")
    direction: Annotated[Direction, choice(Direction)] = Field(
        default=Direction.IN,
        description="in: links of others that lead to it. out: its own, and where they lead.",
    )
    limit: Whole = Field(default=100, ge=1, le=_MOST, description="How many.")
    offset: Whole = Field(default=0, ge=0, description="How many to leave out before.")


def _links(call: Call) -> Answer:
    asked = read(LinksInput, call.arguments)
    is_in = asked.direction is Direction.IN
    return call.kb.links(asked.doc, backlinks=is_in, limit=asked.limit, offset=asked.offset)


def _tell_links(call: Call) -> str:
    offset = read(LinksInput, call.arguments).offset
    return links_text(_links(call), offset, call.max_tokens)


LINKS = Tool(
    definition=types.Tool(
        name="links",
        title="Links between documents",
        description=(
            "Which documents link to one, each with the line, or where its own links lead. Use it "
            "to go on from a note to those around it. Do not use it for notes that are only "
            "about the same; that is similar."
        ),
        input_schema=input_schema(LinksInput),
        output_schema=outline("link_list"),
        annotations=READ_ONLY,
    ),
    call=_links,
    tell=_tell_links,
    brief="Which documents link to one, or where its own links lead.",
    shown={"doc": "A path or an id.", "direction": "in or out."},
    seldom=True,
)


class VerifyInput(Input):
    """The citations; what one of them can be is said behind the facade."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "citation": "citations",
        "items": "citations",
        "uri": "citations",
        "uris": "citations",
    }

    citations: Annotated[
        list[Any],
        BeforeValidator(_listed),
        WithJsonSchema(
            {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            }
        ),
    ] = Field(description="Each a URI such as notes/a.md#L12-L34, or the citation of a hit.")
    source: Text = Field(default=None, description="Source of URIs whose path several have.")


def _cite_verify(call: Call) -> Answer:
    asked = read(VerifyInput, call.arguments)
    if not asked.citations:
        raise InvalidInput(
            "no citation to verify",
            hint="give at least one, such as notes/a.md#L12-L34",
            details={"field": "citations", "value": []},
        )
    return call.kb.verify_citations(asked.citations, source=asked.source)


CITE_VERIFY = Tool(
    definition=types.Tool(
        name="cite_verify",
        title="Verify citations",
        description=(
            "Whether citations still say the same: "
            "unchanged, moved (with the new place), changed (with a diff) or gone. Use it before "
            "relying on citations that you did not get just now, and on hits that are stale. Do "
            "not use it to read what a citation says; that is fetch."
        ),
        input_schema=input_schema(VerifyInput),
        output_schema=outline("citation_check"),
        annotations=READ_ONLY,
    ),
    call=_cite_verify,
    tell=lambda call: verified_text(call.worded(_cite_verify(call)), call.max_tokens),
    brief="Whether older citations still say the same: unchanged, moved, changed or gone.",
    shown={"citations": ""},
    seldom=True,
)
