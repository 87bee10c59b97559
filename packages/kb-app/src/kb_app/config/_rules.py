"""What one setting's value may be, and how a person is told: which file, line and key."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kb_core.errors import ConfigInvalid
from kb_core.values import dataclass, field, lazy_pattern

__all__ = [
    "About",
    "ConfigText",
    "Kind",
    "Misfit",
    "Rule",
    "available_cores",
    "from_text",
    "nearest",
    "rule_of",
    "setting",
    "wrong_option",
    "wrong_variable",
]

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ConfigText:
    """A configuration file's text; knows on which line a key stands."""

    file: Path
    text: str

    def parse(self) -> dict[str, Any]:
        """Return the tables, or complain about the syntax."""
        try:
            return tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            is_deep = isinstance(error, RecursionError)
            why = "it is nested too deeply" if is_deep else str(error)
            line = _line_in(why, default=self.text.count("\n") + 1)
            raise ConfigInvalid(
                f"{self.file}:{line}: this is not TOML: {why}",
                hint='a value is a number, true, false, a "text" or a [list]',
                details={"file": str(self.file), "line": line},
            ) from error

    def wrong(
        self,
        path: KeyPath,
        complaint: str,
        *,
        hint: str | None = None,
        is_shown: bool = True,
        **details: object,
    ) -> ConfigInvalid:
        """Return the error for the value at *path*, which "is not …", and is shown or not."""
        line, value = self._line_of(path), _at(self._tables(), path)
        details = {"file": str(self.file), "line": line, "key": _dotted(path)} | details
        if is_shown and isinstance(value, (str, int, float, list)):
            details["value"] = value
            complaint = f"= {value!r} {complaint}"
        message = f"{self.file}:{line}: {_shown(path)} {complaint}"
        return ConfigInvalid(message, hint=hint, details=details)

    def unknown(
        self, path: KeyPath, known: Collection[str], kind: str = "key", hint: str | None = None
    ) -> ConfigInvalid:
        """Return the error for a section or key that does not exist.

        Without *hint*, it names the nearest that does, or all of them where none is near.
        """
        line, word = self._line_of(path), str(path[-1])
        close = None if hint else nearest(word, known)
        inside = f" in [{path[0]}]" if len(path) > 1 else ""
        return ConfigInvalid(
            f"{self.file}:{line}: unknown {kind} {word!r}{inside}",
            hint=hint
            or (f"did you mean {close!r}?" if close else f"{kind}s are {', '.join(known)}"),
            details={
                "file": str(self.file),
                "line": line,
                "key": _dotted(path),
                "nearest": close,
            },
        )

    def _line_of(self, path: KeyPath) -> int:
        """Find the statement that first makes *path* exist.

        ``tomllib`` does not say where things stand. A prefix of the text that parses
        ends between two statements, so the first such prefix that has the key ends
        with its statement. Runs only when there is something to complain about.
        """
        lines = self.text.split("\n")
        whole = 0
        for count in range(1, len(lines) + 1):
            try:
                tables = tomllib.loads("\n".join(lines[:count]) + "\n")
            except tomllib.TOMLDecodeError:
                continue
            if _exists(tables, path):
                return whole + 1
            whole = count
        return 1

    def _tables(self) -> dict[str, Any]:
        return tomllib.loads(self.text)


def wrong_variable(name: str, text: str, complaint: str) -> ConfigInvalid:
    """Return the error for an environment variable that "is not …"."""
    return ConfigInvalid(f"{name}={text!r} {complaint}", details={"variable": name, "value": text})


def wrong_option(key: str, value: object, complaint: str) -> ConfigInvalid:
    """Return the error for a value of the command line that "is not …"."""
    return ConfigInvalid(f"{key} = {value!r} {complaint}", details={"key": key, "value": value})


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that *word* is most likely meant to be."""
    from difflib import get_close_matches  # only a mistake needs it

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def _exists(tables: object, path: KeyPath) -> bool:
    missing = object()
    return _at(tables, path, missing) is not missing


def _at(node: Any, path: KeyPath, default: object = None) -> Any:  # noqa: ANN401 - any TOML value
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return default
    return node


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _shown(path: KeyPath) -> str:
    if path[0] in {"sources", "passwords"} and len(path) > 1:
        return " ".join([f"[[{path[0]}]] {int(path[1]) + 1}", *map(str, path[2:])])
    return f"[{path[0]}] {_dotted(path[1:])}" if len(path) > 1 else str(path[0])


def _line_in(message: str, default: int) -> int:
    _, found, rest = message.partition("(at line ")
    digits = rest.partition(",")[0]
    return int(digits) if found and digits.isdigit() else default


Kind: TypeAlias = Literal[
    "int",
    "float",
    "bool",
    "str",
    "path",
    "paths",
    "list",
    "switch",
    "cores",
    "id",
    "model",
    "file",
    "command",
    "abouts",
]

_ID = lazy_pattern(r"[\w.-]+")
_PATH_STARTS = ("/", "./", "../", "~", "$")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class About:
    """What a source, or what is below a *path* of it, is about, in the person's words."""

    path: str
    """Relative to the root, with ``/``; empty for the whole source."""
    text: str


class Misfit(ValueError):
    """A value that its rule refuses; whoever knows where it stands says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a setting is for, and which values it takes.

    A ``switch`` is ``"auto"``, ``true`` or ``false``; ``cores`` is a number of workers or
    threads, where 0 means one for each core; a ``model`` is a name, or the path of a file or
    folder if it starts like one; a ``file`` is a path, or empty for none; a ``command`` opens a
    place, or is empty for none. Of a ``list``, *choices* are those of each of its texts.
    """

    doc: str
    kind: Kind
    low: float | None = None
    high: float = math.inf
    choices: tuple[str, ...] = ()
    shown: object = None
    """The default as the file shows it, where that is not the value itself."""

    @property
    def expected(self) -> str:
        """Completes the sentence "… is not …"."""
        if self.choices:
            *front, last = (f'"{choice}"' for choice in self.choices)
            each = f"{', '.join(front)} or {last}"
            return f"a list of {each}" if self.kind == "list" else each
        phrase = _FORMS[self.kind][1]
        if self.low is None:
            return phrase
        # Never 1e+06: a person is to type it.
        low, high = (f"{end:.0f}" if end == int(end) else f"{end}" for end in (self.low, self.high))
        return f"{phrase} from {low} to {high}"

    def is_path(self, value: object) -> bool:
        """Say whether *value* is to be resolved as a path."""
        if self.kind == "file":
            return bool(value)
        return self.kind in {"path", "paths"} or (
            self.kind == "model" and isinstance(value, str) and value.startswith(_PATH_STARTS)
        )

    def check(self, value: Any) -> object:  # noqa: ANN401 - whatever a person wrote
        """Return *value* in the form that the settings keep it in, or raise ``Misfit``."""
        is_good = _FORMS[self.kind][0]
        fits = is_good(value) and (not self.choices or self._is_chosen(value))
        if not fits or (self.low is not None and not self.low <= value <= self.high):
            raise Misfit(f"is not {self.expected}")
        return _settle(self.kind, value)

    def _is_chosen(self, value: Any) -> bool:  # noqa: ANN401 - of the kind
        return {*(value if self.kind == "list" else (value,))} <= {*self.choices}


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)


def _is_command(value: object) -> bool:
    if not isinstance(value, str) or not value:
        return value == ""
    from kb_app.editors import FilePlace, open_command  # only one that is set needs it

    try:
        open_command(FilePlace(str(Path.cwd()), viewer=value), {})
    except ConfigInvalid:
        return False
    return True


def _is_about(value: object) -> bool:
    """Say whether *value* is a text, or tables of ``text`` and perhaps ``path``."""
    if not isinstance(value, list):
        return _is_text(value) or value == ()
    return all(
        isinstance(each, dict)
        and each.keys() <= {"path", "text"}
        and all(map(_is_text, each.values()))
        and each.get("text", "").strip()
        and _is_inside(each.get("path", ""))
        for each in value
    )


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "~")) and ".." not in path.split("/")


_FORMS: dict[Kind, tuple[Callable[[Any], bool], str]] = {
    "int": (_is_int, "a whole number"),
    "cores": (_is_int, "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "switch": (lambda value: isinstance(value, bool) or value == "auto", '"auto", true or false'),
    "list": (_is_list, "a list of texts"),
    "path": (lambda value: _is_text(value) and bool(value), "a path"),
    "paths": (lambda value: _is_list(value) and all(value), "a list of paths"),
    "id": (
        lambda value: _is_text(value) and bool(_ID.fullmatch(value)),
        "a name of letters, digits, '.', '_' and '-'",
    ),
    "str": (_is_text, "a text"),
    "model": (_is_text, "a text"),
    "file": (_is_text, "a path"),
    "command": (
        _is_command,
        "a command, in which {path}, {url}, {page}, {line}, {seconds} or {fragment} may stand",
    ),
    "abouts": (_is_about, "a text, or tables of a text and a path below the root"),
}
"""For each kind: what is one, and what one is called."""


def setting(
    default: object,
    doc: str,
    *,
    kind: Kind | None = None,
    low: float | None = None,
    high: float = math.inf,
    choices: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401 - what field returns
    """Declare a setting: a dataclass field with its default and its rule."""
    kind = kind or _kind_of(default)
    rule = Rule(doc=doc, kind=kind, low=low, high=high, choices=choices, shown=default)
    metadata = {"rule": rule}
    if kind in {"path", "id"}:
        return field(metadata=metadata)  # what identifies a thing has no default
    if kind == "cores":
        factory: Callable[[], int] = available_cores
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def rule_of(metadata: Any) -> Rule:  # noqa: ANN401 - what metadata_of gives
    """Return the rule that ``setting`` put there."""
    rule: Rule = metadata["rule"]
    return rule


def from_text(rule: Rule, text: str) -> object:
    """Read a value as an environment variable holds it, or raise ``Misfit``."""
    word = text.strip().lower()
    if rule.kind in {"bool", "switch"} and word in _TRUE | _FALSE:
        return word in _TRUE
    if rule.kind == "switch":
        return word
    if rule.kind in {"list", "paths"}:
        return [part.strip() for part in text.split(",") if part.strip()]
    if rule.kind in {"int", "cores", "float"}:
        try:
            return int(word) if rule.kind != "float" else float(word)
        except ValueError:
            raise Misfit(f"is not {rule.expected}") from None
    return text


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _kind_of(default: object) -> Kind:
    # bool before int: a bool is an int.
    kinds: dict[type, Kind] = {bool: "bool", int: "int", float: "float", tuple: "list"}
    return kinds.get(type(default), "str")


def _settle(kind: Kind, value: Any) -> object:  # noqa: ANN401 - checked by the caller
    if kind == "cores":
        return value or available_cores()
    if kind == "float":
        return float(value)
    if kind == "abouts":
        tables = [{"text": value}] if isinstance(value, str) else value
        return tuple(
            About(
                each.get("path", "").removeprefix("./").strip("/"), " ".join(each["text"].split())
            )
            for each in tables
            if each["text"].strip()
        )
    return tuple(value) if kind in {"list", "paths"} else value
