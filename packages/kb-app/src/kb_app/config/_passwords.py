"""Passwords that locked files are tried with: tables of the configuration, and a file of them.

They are in memory while a program runs, and nowhere else: no message names one, and printing
what holds them says how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kb_app import paths
from kb_app.config._rules import ConfigText
from kb_core.errors import ConfigInvalid

__all__ = ["PASSWORDS_FILE", "Passwords", "passwords_of", "read_passwords", "where_passwords_are"]

PASSWORDS_FILE = "KEBAB_PASSWORDS_FILE"
"""The variable that names a file of passwords, one a line."""
_FORM = 'write [[passwords]] and, below it, value = "…"'


class Passwords(tuple[str, ...]):
    """Candidates, in the order in which they are tried."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} passwords>"


def read_passwords(entries: object, text: ConfigText) -> Passwords:
    """Return the values of ``[[passwords]]``; an error names the table, never what is in it."""
    if not isinstance(entries, list):
        raise text.wrong(("passwords",), "is not a list of tables", hint=_FORM, is_shown=False)
    found = []
    for number, entry in enumerate(entries):
        path = ("passwords", number)
        if not isinstance(entry, dict):
            raise text.wrong(path, "is not a table", hint=_FORM, is_shown=False)
        for key in entry:
            if key != "value":
                raise text.unknown((*path, key), ["value"])
        value = entry.get("value")
        if not isinstance(value, str) or not value:
            raise text.wrong(path, "has no value that is text", hint=_FORM, is_shown=False)
        found.append(value)
    return Passwords(found)


def where_passwords_are(environ: Mapping[str, str]) -> Path | None:
    """Return the file that the environment names; it is read when something has to be opened."""
    written = environ.get(PASSWORDS_FILE, "").strip()
    try:
        return paths.resolve(written, base=None, environ=environ) if written else None
    except ValueError as error:
        raise ConfigInvalid(
            f"{PASSWORDS_FILE}={written!r} is not a path: {error}",
            details={"variable": PASSWORDS_FILE, "value": written},
        ) from error


def passwords_of(passwords: Passwords, file: Path | None) -> Passwords:
    """Return all that are known, those of *file* as well; each once."""
    if file is None:
        return passwords
    try:
        lines = file.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigInvalid(
            f"{PASSWORDS_FILE}='{file}' cannot be read: {why}",
            hint="one password a line; unset the variable to go on without",
            details={"variable": PASSWORDS_FILE, "value": str(file)},
        ) from error
    return Passwords(dict.fromkeys([*passwords, *filter(None, lines)]))
