"""What commands take, told once, and plain command lines, read by that without click.

A quarter of a cold search was click: loading it takes longer than finding the passages. So a
command is told here as data. ``kb_cli._command`` makes click's command of it, for help,
completion and whatever is wrong with a line; ``read`` reads a line that is plain: options that
the command has, each with a value that it may have, and as many arguments as it takes. Of any
other line it returns nothing, and click reads it. Both read the same, as the tests hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from kb_cli._catalog import COMMANDS
from kb_core.values import dataclass

if TYPE_CHECKING:
    import click

__all__ = [
    "GLOBAL",
    "Declared",
    "DeclaredGroup",
    "Line",
    "NewFile",
    "OneOf",
    "Parameter",
    "Real",
    "Whole",
    "argument",
    "command",
    "completed_by",
    "option",
    "read",
    "subgroup",
]

_PARAMETERS = "__parameters__"
_READ = frozenset(
    {"default", "help", "is_flag", "metavar", "multiple", "nargs", "required"}
    | {"shell_complete", "show_default", "type"}
)
"""What may be said of a parameter that is read here, in click's words."""
_MOST_DIGITS = 18

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, within bounds that belong to it."""

    least: int | None = None
    most: int | None = None

    def read(self, word: str) -> int | None:
        """Return the number that *word* is written as, if it is one of these."""
        if not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
            return None
        number = int(word)
        is_within = self.least is None or number >= self.least
        return number if is_within and (self.most is None or number <= self.most) else None


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    choices: Sequence[str]

    def read(self, word: str) -> str | None:
        """Return *word*, if it is one of these."""
        return word if word in self.choices else None


@dataclass(frozen=True, slots=True)
class Real:
    """A number with a fraction, within bounds that belong to it; click reads it."""

    least: float | None = None
    most: float | None = None

    def read(self, word: str) -> None:
        """Leave it to click."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A path that something is written to; click looks whether it can be."""

    def read(self, word: str) -> None:
        """Leave it to click."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument: its names as click takes them, and what else is said of it."""

    words: tuple[str, ...]
    given: Mapping[str, Any]
    sets: str = ""
    """The attribute of the context that it is, where the command does not get it."""

    @property
    def is_option(self) -> bool:
        """True if it is written with its name."""
        return self.words[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """True for an option without a value."""
        return bool(self.given.get("is_flag")) or "/" in self.words[0]

    @property
    def is_many(self) -> bool:
        """True if a command gets several values of it."""
        return bool(self.given.get("multiple")) or self.given.get("nargs") == -1

    @property
    def name(self) -> str:
        """How the command calls it: by its own word, else by the first of the longest names."""
        own = [word for word in self.words if word.isidentifier()]
        if own or self.sets:
            return own[0] if own else self.sets
        first = max(self.words, key=lambda word: len(word) - len(word.lstrip("-")))
        return first.partition("/")[0].lstrip("-").replace("-", "_").lower()

    @property
    def absent(self) -> object:
        """What a command gets where it is not given."""
        if self.is_many:
            return ()
        return self.given.get("default", False if self.is_flag else None)

    @property
    def is_required(self) -> bool:
        """True if a line without it is wrong."""
        usual = not self.is_option and not self.is_many and "default" not in self.given
        return bool(self.given.get("required", usual))

    def read(self, word: str) -> object | None:
        """Return the value that *word* is, or nothing where click has to look at it."""
        kind = self.given.get("type")
        if word == "" or (word[0] == "-" and len(word) > 1):
            return None
        if kind is None:
            return word
        value: object | None = kind.read(word)
        return value


class Declared:
    """A command: its name, what it takes, and the function that gets it after the context."""

    def __init__(self, name: str, function: Callable[..., None], example: str) -> None:
        self.name = name
        self.function = function
        self.example = example
        self.help = function.__doc__
        self.parameters: list[Parameter] = [*reversed(getattr(function, _PARAMETERS, ()))]


class DeclaredGroup(Declared):
    """A word with commands under it, such as ``fetch``."""

    def __init__(
        self,
        name: str,
        function: Callable[..., None],
        example: str,
        implied: Callable[[str], str | None],
    ) -> None:
        super().__init__(name, function, example)
        self.commands: dict[str, Declared] = {}
        self.implied = implied
        """Says which command is meant where the next word is none."""

    def add_command(self, command: Declared) -> None:
        """Put a command under this word."""
        self.commands[command.name] = command

    def chosen(self, word: str) -> str | None:
        """Return the command that *word* names or implies."""
        if word in self.commands:
            return word
        return None if word.startswith("-") else self.implied(word)


def option(*words: str, sets: str = "", **given: Any) -> Callable[[_Function], _Function]:  # noqa: ANN401 - in click's words
    """Have a command take an option; *sets* names the attribute of the context that it is."""
    return _taking(Parameter(words, given, sets))


def argument(name: str, **given: Any) -> Callable[[_Function], _Function]:  # noqa: ANN401 - in click's words
    """Have a command take an argument."""
    return _taking(Parameter((name,), given))


def _taking(parameter: Parameter) -> Callable[[_Function], _Function]:
    def told(function: _Function) -> _Function:
        # The last decorator comes first.
        known = vars(function).setdefault(_PARAMETERS, [])
        known.append(parameter)
        return function

    return told


def command(name: str, *, example: str) -> Callable[[Callable[..., None]], Declared]:
    """Make a command of a function, whose docstring is its help; *example* has one a line."""
    return lambda function: Declared(name, function, example)


def subgroup(
    name: str, *, example: str, implied: Callable[[str], str | None] = lambda _: None
) -> Callable[[Callable[..., None]], DeclaredGroup]:
    """Make a group of a function whose docstring is its help."""
    return lambda function: DeclaredGroup(name, function, example, implied)


def completed_by(what: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return what completes a value: ``file``, ``dir``, ``document``, or a filter's name."""

    def items(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Any:  # noqa: ANN401
        from kb_cli._completing import complete  # only a shell that asks needs it

        return complete(what, ctx, incomplete)

    return items


def _flag(word: str, sets: str, help_text: str) -> Parameter:
    return Parameter((word,), {"is_flag": True, "help": help_text}, sets)


GLOBAL = (
    Parameter(
        ("--config",),
        {
            "metavar": "PATH",
            "help": "The configuration file, instead of the usual one.",
            "shell_complete": completed_by("file"),
        },
        "config_option",
    ),
    _flag("--json", "as_json", "Print wire objects, one a line, instead of text."),
    _flag(
        "--readonly", "readonly", "Change nothing that is kept; commands that would are refused."
    ),
    _flag("--quiet", "quiet", "Print results and errors only."),
    _flag("--verbose", "verbose", "Log to stderr; show where an error came from."),
)
"""What every command takes, before its name and after it (ruling R22)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A plain command line: what is to be done, with which values."""

    function: Callable[..., None]
    values: Mapping[str, Any]
    settings: Mapping[str, Any]
    """Attributes of the context."""


def read(words: Sequence[str]) -> Line | None:
    """Return what a command line says, if it is plain."""
    at = first_word(words)
    before = _taken(words[:at], GLOBAL)
    if before is None or at >= len(words) or words[at] not in COMMANDS:
        return None
    module, _, attribute = COMMANDS[words[at]][0].partition(":")
    found: Declared = getattr(import_module(f"kb_cli.commands.{module}"), attribute)
    rest = words[at + 1 :]
    if isinstance(found, DeclaredGroup):
        chosen = found.chosen(rest[0]) if rest else None
        if chosen is None:
            return None
        found, rest = found.commands[chosen], rest[1:] if rest[0] == chosen else rest
    after = _taken(rest, (*found.parameters, *GLOBAL))
    if after is None:
        return None
    (_, set_before), (values, set_after) = before, after
    return Line(found.function, values, set_before | set_after)


def first_word(words: Sequence[str], known: Collection[str] | None = None) -> int:
    """Return where the global options end that *words* begin with; ``--`` is none.

    And what is not among *known* is none, where these are given.
    """
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        if known is not None and words[at].partition("=")[0] not in known:
            break
        at += 2 if words[at] == "--config" else 1
    return at


_Taken = tuple[dict[str, Any], dict[str, Any]]
"""Values by the names of parameters: what a command gets, and what the context is set to."""


def _taken(words: Sequence[str], parameters: Sequence[Parameter]) -> _Taken | None:
    """Return what *words* give to parameters; nothing where click has to say what is wrong."""
    if not all(_READ.issuperset(parameter.given) for parameter in parameters):
        return None
    given: dict[str, list[Any]] = {}
    arguments = list[str]()
    known = _by_word(parameters)
    rest = iter(words)
    for word in rest:
        if word[:1] != "-" or word == "-":
            arguments.append(word)
            continue
        is_long = word.startswith("--")
        name, equals, attached = word.partition("=") if is_long else (word[:2], word[2:], word[2:])
        parameter, value = known.get(name, (None, None))
        if parameter is None or (parameter.is_flag and equals):
            return None
        if not parameter.is_flag:
            value = parameter.read(attached if equals else next(rest, ""))
        if value is None or (parameter.name in given and not parameter.is_many):
            return None
        given.setdefault(parameter.name, []).append(value)
    placed = _placed(arguments, [each for each in parameters if not each.is_option])
    return None if placed is None else _settled(parameters, given | placed)


def _by_word(parameters: Sequence[Parameter]) -> dict[str, tuple[Parameter, object]]:
    """Return options by the words that they are written with, with what a flag then is."""
    return {
        part: (parameter, is_on)
        for parameter in parameters
        if parameter.is_option
        for word in parameter.words
        if word.startswith("-")
        for part, is_on in zip(word.split("/"), (True, False), strict=False)
    }


def _placed(words: Sequence[str], arguments: Sequence[Parameter]) -> dict[str, list[Any]] | None:
    """Return which argument has which of the words: the last may have none, where all have one."""
    single = sum(not each.is_many for each in arguments)
    if len(words) < single if single < len(arguments) else len(words) > single:
        return None
    placed: dict[str, list[Any]] = {}
    rest = iter(words)
    for each in arguments:
        given = [*islice(rest, len(words) - single if each.is_many else 1)]
        values = [each.read(word) for word in given]
        if None in values:
            return None
        if values:
            placed[each.name] = values
    return placed


def _settled(parameters: Sequence[Parameter], given: Mapping[str, list[Any]]) -> _Taken | None:
    """Return what each parameter is, as it was given or as it is without; all have to be there."""
    values, settings = dict[str, Any](), dict[str, Any]()
    for parameter in parameters:
        name = parameter.name
        if name not in given and parameter.is_required:
            return None
        if name not in given:
            values |= {} if parameter.sets else {name: parameter.absent}
        elif parameter.sets:
            settings[name] = given[name][0]
        else:
            values[name] = tuple(given[name]) if parameter.is_many else given[name][0]
    return values, settings
