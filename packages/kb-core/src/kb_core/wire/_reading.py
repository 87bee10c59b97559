"""Reading a response back into types: what a program does that has our objects as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kb_core.citations import (
    CaptionSpan,
    CellSpan,
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    TimeSpan,
    span_of,
)
from kb_core.clock import parse_rfc3339
from kb_core.errors import InvalidInput
from kb_core.values import field_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_core.search import Hit, Missing, Passage, SaidAbout, SearchResponse, Trace

__all__ = ["read_citation", "read_hit", "read_search_response"]

_T = TypeVar("_T")
_SPANS = (CaptionSpan, CellSpan, CodeSpan, LineSpan, PageSpan, RegionSpan, TimeSpan)
_PLACE = {"kind", "line_start", "line_end"} | {
    name for span in _SPANS for name in field_names(span)
}


def read_search_response(given: Mapping[str, Any]) -> SearchResponse:
    """Return the response that search_response.v1 shows; ``InvalidInput`` if it is none.

    Members that this version does not know are left out. Emitting the result gives what was
    read, but for those.
    """
    from kb_core.search import SearchResponse

    version = given.get("schema_version")
    if version != "search_response.v1":
        raise InvalidInput(
            f"schema_version {version!r} is not 'search_response.v1'",
            details={"field": "schema_version", "value": version},
        )
    try:
        values = _known(SearchResponse, given) | {"hits": tuple(map(read_hit, given["hits"]))}
        if "trace" in given:
            values["trace"] = _trace(given["trace"])
        if "missing" in given:
            values["missing"] = _missing(given["missing"])
        if "about" in given:
            values["about"] = tuple(map(_said, given["about"]))
        return SearchResponse(**_tuples(values))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"the response is not of its schema: {error}") from error


def read_hit(given: Mapping[str, Any]) -> Hit:
    """Return a hit of a response."""
    from kb_core.search import Hit, Retrieval

    values = _tuples(_known(Hit, given))
    values["citation"] = read_citation(given["citation"])
    values["retrieval"] = Retrieval(**_known(Retrieval, given["retrieval"]))
    if "passage" in given:
        values["passage"] = _passage(given["passage"])
    values["indexed_at"] = int(parse_rfc3339(given["indexed_at"]).timestamp())
    return Hit(**values)


def read_citation(given: Mapping[str, Any]) -> Citation:
    """Return a citation of a hit, with all that its URI does not carry."""
    span = span_of({name: value for name, value in given.items() if name in _PLACE})
    return Citation(given["path"], span, given.get("content_hash"))


def _passage(given: Mapping[str, Any]) -> Passage:
    from kb_core.search import Passage

    unit = (given["unit_start"], given["unit_end"]) if "unit_start" in given else None
    return Passage(**_known(Passage, given), unit=unit)


def _said(given: Mapping[str, Any]) -> SaidAbout:
    from kb_core.search import SaidAbout

    return SaidAbout(given["source_id"], given.get("path", ""), given["text"])


def _missing(given: Mapping[str, Any]) -> Missing:
    from kb_core.search import Missing

    without = tuple((row["word"], row["passages"]) for row in given["without"])
    return Missing(
        unknown=tuple(given["unknown"]), outside=tuple(given.get("outside", ())), without=without
    )


def _trace(given: Mapping[str, Any]) -> Trace:
    from kb_core.clock import parse_rfc3339, to_epoch
    from kb_core.dates import DateAsked
    from kb_core.search import Candidate, FusionInput, Relaxation, Timing, Trace

    relaxed = given.get("relaxation")
    return Trace(
        lexical=_rows(Candidate, given["lexical"]),
        vector=_rows(Candidate, given["vector"]),
        fused=_rows(FusionInput, given["rrf_inputs"]),
        timing=Timing(**_known(Timing, given["timing"])),
        relaxation=Relaxation(**_tuples(_known(Relaxation, relaxed))) if relaxed else None,
        dates=tuple(
            DateAsked(
                asked["text"], *(to_epoch(parse_rfc3339(asked[end])) for end in ("since", "until"))
            )
            for asked in given.get("dates", ())
        ),
    )


def _rows(kind: type[_T], given: Iterable[Mapping[str, Any]]) -> tuple[_T, ...]:
    return tuple(kind(**_known(kind, row)) for row in given)


def _known(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of *given* a type has a field for."""
    return {name: given[name] for name in field_names(kind) if name in given}


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}
