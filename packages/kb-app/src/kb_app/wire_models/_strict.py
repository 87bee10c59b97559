"""Strict inputs: closed to unknown names, and helpful about what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)

from kb_core.errors import InvalidInput

__all__ = [
    "Flag",
    "Input",
    "MaybeFlag",
    "MaybeWhole",
    "OneOrMore",
    "Text",
    "Whole",
    "choice",
    "read",
    "whole",
]

_SHOWN = 80
"""Characters of a bad value that are worth repeating."""


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _as_whole(value: object) -> object:
    """JSON does not tell 10 from 10.0; Python does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Flag = StrictBool
MaybeFlag = Annotated[StrictBool | None, WithJsonSchema({"type": "boolean"})]
Whole = Annotated[StrictInt, BeforeValidator(_as_whole)]
MaybeWhole = Annotated[
    StrictInt | None, BeforeValidator(_as_whole), WithJsonSchema({"type": "integer"})
]
Text = Annotated[str | None, WithJsonSchema({"type": "string"})]
OneOrMore = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


def choice(kind: type[StrEnum]) -> WithJsonSchema:
    """Show a closed set in place; hosts differ in how they follow references."""
    return WithJsonSchema({"type": "string", "enum": [member.value for member in kind]})


def whole(low: int, high: int) -> WithJsonSchema:
    """Show the bounds of a number that the core checks."""
    return WithJsonSchema({"type": "integer", "minimum": low, "maximum": high})


class Input(BaseModel):
    """Base of all inputs: frozen, and closed to names that it does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    synonyms: ClassVar[Mapping[str, str]] = {}
    """Names that people use elsewhere for one of ours."""


InputT = TypeVar("InputT", bound=Input)


def read(model: type[InputT], arguments: Mapping[str, Any]) -> InputT:
    """Check arguments, or raise ``InvalidInput`` that names everything wrong with them.

    An argument that is null counts as absent.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _invalid(model, error) from None


def _invalid(model: type[Input], error: ValidationError) -> InvalidInput:
    """Say all of it at once: who sees one fault at a time needs as many calls."""
    faults = error.errors(include_url=False)
    problems = [_problem(model, fault) for fault in faults]
    nearest = [problem["nearest"] for problem in problems if "nearest" in problem]
    unknown = any(fault["type"] == "extra_forbidden" for fault in faults)
    known = ", ".join(model.model_fields) or "none"
    hint = f"parameters are {known}" if unknown else None
    if nearest:
        hint = f"did you mean {', '.join(map(repr, nearest))}?"
    return InvalidInput(
        "; ".join(problem["message"] for problem in problems),
        hint=hint,
        details={"problems": problems},
    )


def _problem(model: type[Input], fault: Mapping[str, Any]) -> dict[str, str]:
    """Return one fault: its ``field``, a ``message``, perhaps the ``nearest`` valid word."""
    field = ".".join(map(str, fault["loc"]))
    nearest = None
    match fault["type"]:
        case "extra_forbidden":
            message = f"unknown parameter {_shown(field)}"
            nearest = model.synonyms.get(field) or _nearest(field, model.model_fields)
        case "missing":
            message = f"parameter {field!r} is missing"
        case "enum":
            expected = str(fault["ctx"]["expected"])
            message = f"{field} {_shown(fault['input'])} is not {expected}"
            nearest = _nearest(str(fault["input"]), re.findall(r"'([^']+)'", expected))
        case _:
            said = fault["msg"]
            message = f"{field} {_shown(fault['input'])}: {said[:1].lower()}{said[1:]}"
    problem = {"field": field, "message": message}
    return {**problem, "nearest": nearest} if nearest else problem


def _nearest(word: str, words: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(word.lower(), list(words), n=1, cutoff=0.5)), None)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
