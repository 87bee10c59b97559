"""Golden questions in a file: YAML, a list of cases, or JSON lines, one case each.

They are the person's own, so a file is only ever added to: what stands in it stays, comments
included, and nothing is written that would not be read again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from kb_app.config._files import write_text
from kb_app.wire_models import FilteredInput, Input, OneOrMore, Text, Whole, read
from kb_core import wire
from kb_core.errors import InvalidInput, IoError
from kb_core.evals import EvalCase, ExpectedPlace
from kb_core.text import read_json

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["add_case", "add_cases", "fresh_id", "read_cases", "read_text", "write_cases"]

_LINES = (".jsonl", ".ndjson", ".json")
_MOST_PROBLEMS = 5
_MOST_VALUES = 1_000_000
"""How many values a file may have where its aliases are written out."""


def _grades(value: object) -> object:
    """Return grades by name: those of a list, and of one name, are 1."""
    if isinstance(value, str):
        return {value: 1}
    if isinstance(value, list | tuple):
        return {one if isinstance(one, str) else json.dumps(one): 1 for one in value}
    return value


def _number(value: object) -> object:
    """Read a number of YAML, where every value is a text."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _places(value: object) -> object:
    """Return one place as a list of one."""
    return (value,) if isinstance(value, str | Mapping) else value


_Grade = Annotated[Whole, BeforeValidator(_number), Field(ge=0)]
_Graded = Annotated[Mapping[str, _Grade], BeforeValidator(_grades)]


class _PlaceInput(Input):
    synonyms: ClassVar[Mapping[str, str]] = {
        "place": "uri",
        "citation": "uri",
        "hash": "content_hash",
    }

    uri: str
    source: Text = None
    content_hash: Annotated[str | None, Field(pattern=r"^[0-9a-f]{16}$")] = None
    quote: Text = None
    grade: _Grade = 1


class _CaseInput(Input):
    synonyms: ClassVar[Mapping[str, str]] = {
        "question": "query",
        "expected_doc_ids": "expected_docs",
        "expected_chunk_ids": "expected_chunks",
    }

    id: Annotated[str, Field(min_length=1)]
    query: Annotated[str, Field(pattern=r"\S")]
    expected_docs: _Graded = Field(default={})
    expected_chunks: _Graded = Field(default={})
    expected_places: Annotated[tuple[str | Mapping[str, Any], ...], BeforeValidator(_places)] = ()
    answer: Text = None
    must_contain: OneOrMore = ()
    forbidden: OneOrMore = ()
    filters: Mapping[str, Any] = Field(default={})
    group: Text = None
    tags: OneOrMore = ()


def read_cases(path: Path) -> list[EvalCase]:
    """Return the golden questions of a file; ``InvalidInput`` names the case that is none."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise InvalidInput(
            f"there are no golden questions at {str(path)!r}",
            hint='kebab eval add "a question" --hit 1',
            details={"field": "cases", "value": str(path)},
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise IoError(f"{path}: {error}", details={"path": str(path)}) from error
    return read_text(text, path)


def read_text(text: str, path: Path) -> list[EvalCase]:
    """Return the cases that *text* holds; *path* tells its form, and is named in errors."""
    rows = _json_rows(text, path) if path.suffix in _LINES else _yaml_rows(text, path)
    cases, problems = [], []
    for number, row in enumerate(rows, start=1):
        try:
            cases.append(_case(row))
        except InvalidInput as error:
            known = f" ({row['id']})" if isinstance(row, Mapping) and row.get("id") else ""
            problems.append((f"case {number}{known}: {error}", error.hint))
    twice = [one for one, times in Counter(case.id for case in cases).items() if times > 1]
    problems += [(f"the id {one!r} is of several cases", "give each its own") for one in twice]
    if problems:
        shown = "; ".join(message for message, _ in problems[:_MOST_PROBLEMS])
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if problems[_MOST_PROBLEMS:] else ""
        raise InvalidInput(
            f"{path.name}: {shown}{more}",
            hint=next((hint for _, hint in problems if hint), None),
            details={"path": str(path), "problems": [message for message, _ in problems]},
        )
    return cases


def _json_rows(text: str, path: Path) -> Iterator[object]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield read_json(line)
            except ValueError as error:
                raise _unreadable(path, f"line {number} is not JSON: {error}") from error


def _yaml_rows(text: str, path: Path) -> Iterator[object]:
    """Yield what a list of YAML holds; every value is a text, so that ``no`` stays a word."""
    import yaml  # only golden questions need it here

    from kb_app._ingest.making.formats.markdown import written_out

    try:
        if "*" in text and written_out(yaml.parse(text, yaml.CBaseLoader)) > _MOST_VALUES:
            raise _unreadable(path, "says too much by its aliases")
        value = yaml.load(text, yaml.CBaseLoader)  # noqa: S506 - makes texts, lists and mappings only
    except (yaml.YAMLError, RecursionError) as error:
        raise _unreadable(path, f"is not YAML: {' '.join(str(error).split())}") from error
    if value is not None and not isinstance(value, list):
        raise _unreadable(path, "is not a list of cases, each beginning with '- id:'")
    yield from value or ()


def _unreadable(path: Path, what: str) -> InvalidInput:
    details = {"path": str(path)}
    return InvalidInput(
        f"{path.name}: {what}", hint="docs/guide/measuring.md shows one", details=details
    )


def _case(row: object) -> EvalCase:
    if not isinstance(row, Mapping):
        raise InvalidInput(f"{row!r} is not a case, which has id and query")
    given = read(_CaseInput, _present(row))
    filters = read(FilteredInput, _present(given.filters)).to_filters()
    return EvalCase(
        id=given.id,
        query=given.query,
        expected_docs=dict(given.expected_docs),
        expected_chunks=dict(given.expected_chunks),
        expected_places=tuple(map(_place, given.expected_places)),
        answer=given.answer,
        must_contain=given.must_contain,
        forbidden=given.forbidden,
        filters=filters,
        group=given.group,
        tags=given.tags,
    )


def _place(given: str | Mapping[str, Any]) -> ExpectedPlace:
    place = read(_PlaceInput, {"uri": given} if isinstance(given, str) else _present(given))
    return ExpectedPlace(**place.model_dump())


def _present(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields that have a value; YAML has an empty text where none is."""
    return {str(name): value for name, value in row.items() if value not in (None, "")}


# ------------------------------------------------------------------- writing


def add_case(path: Path, case: EvalCase) -> None:
    """Add *case* at the end of the file at *path*, which is made if need be.

    ``InvalidInput`` if that would not be read again, as with an id that is there already.
    """
    add_cases(path, [case])


def add_cases(path: Path, cases: Sequence[EvalCase]) -> None:
    """Add several, as ``add_case`` does one; the lines that are there stay as they are."""
    before = path.read_bytes().decode("utf-8") if path.exists() else ""
    write_cases(path, cases, before=before)


def write_cases(path: Path, cases: Sequence[EvalCase], *, before: str = "") -> None:
    """Write *cases* after the text *before*, in the form that the name of the file says.

    In one step, or not at all: ``IoError`` where the disk refuses.
    """
    end = "\r\n" if "\r\n" in before else "\n"
    text = before if not before or before.endswith("\n") else f"{before}{end}"
    rows = [wire.eval_case(case) for case in cases]
    added = _as_lines(rows) if path.suffix in _LINES else _as_yaml(rows)
    text += added.replace("\n", end)
    read_text(text, path)
    write_text(path, text)


def _as_lines(rows: Iterable[types.EvalCase]) -> str:
    return "".join(f"{wire.dumps(row)}\n" for row in rows)


def _as_yaml(rows: Sequence[types.EvalCase]) -> str:
    import yaml

    shape: dict[str, Any] = {"allow_unicode": True, "sort_keys": False, "width": 100}
    return "".join(yaml.safe_dump([dict(row)], **shape) for row in rows)


def fresh_id(query: str, taken: Iterable[str]) -> str:
    """Return an id made of the words of *query* that no case has."""
    known = set(taken)
    name = re.sub(r"[^\w]+", "-", query.casefold()).strip("-")[:40].strip("-") or "case"
    numbered = (f"{name}-{n}" for n in range(2, len(known) + 3))
    return name if name not in known else next(one for one in numbered if one not in known)
