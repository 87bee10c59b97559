"""The table that people read, the tree that code raises, the enum that programs know."""

from __future__ import annotations

import re

from kb_core import errors, schemas
from kb_core.errors import KbError


def tree(cls: type[KbError] = KbError) -> list[type[KbError]]:
    own = [sub for sub in cls.__subclasses__() if sub.__module__ == errors.__name__]
    return [cls, *(found for sub in own for found in tree(sub))]


def test_every_error_has_a_code_of_its_own_and_a_line_in_the_table() -> None:
    table = dict(re.findall(r"[*+] (\w+) +(\w+) ", errors.__doc__ or ""))

    assert {cls.__name__: cls.code for cls in tree()} == table
    assert len(set(table.values())) == len(table)


def test_every_error_is_public() -> None:
    assert sorted(cls.__name__ for cls in tree()) == errors.__all__


def test_the_schema_knows_every_code() -> None:
    known = schemas.load("error")["properties"]["code"]["enum"]

    assert sorted(known) == sorted(cls.code for cls in tree())


def test_an_error_carries_its_message_hint_and_details() -> None:
    details = {"field": "k"}
    error = errors.InvalidInput("k 0 is not between 1 and 100", hint="try 10", details=details)

    assert (str(error), error.hint, error.details) == (
        "k 0 is not between 1 and 100",
        "try 10",
        details,
    )
    assert KbError("x").details == {}
