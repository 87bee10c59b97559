"""What a module makes when it is loaded: dataclasses and regular expressions, in little time.

The standard library compiles seven functions for each of these and describes each of its
fields, 0.4 ms in Python 3.11, and a search from the command line makes a hundred before it
reads its question. ``dataclass`` here makes the class alone: its constructor is compiled once
it has some values, and its fields are described when somebody asks for them. What it makes is to
type checkers, ``fields``, ``replace``, ``match``, ``copy`` and ``pickle`` what the standard
library makes; any other dataclass it leaves to the standard library, whose module, with all
that it imports, is loaded for that and for a description alone.

``lazy_pattern`` is a regular expression that is compiled when it is first used, and ``tuples``
makes many named tuples at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import repeat
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, AnyStr, TypeVar, cast

__all__ = ["as_dict", "dataclass", "field", "field_names", "lazy_pattern", "metadata_of", "replace"]
__all__ += ["tuples"]

T = TypeVar("T")

_MISSING: Any = object()
_WORTH_COMPILING = 16
"""Values of a class after which its constructor is compiled."""


class _Field:
    """What was said of a field, in the words of the standard library."""

    __slots__ = ("given",)

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - as the standard library has it
        self.given = given


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    """Return what makes a class a dataclass, as that of the standard library does."""
    if not slots:
        return _theirs(frozen=frozen, kw_only=kw_only)
    methods = _FROZEN if frozen else _CHANGING

    def made(cls: type[T]) -> type[T]:
        declared = {k: v for k, v in vars(cls).items() if k not in {"__dict__", "__weakref__"}}
        annotations: dict[str, object] = declared.get("__annotations__", {})
        names = [name for name, kind in annotations.items() if "ClassVar" not in str(kind)]
        if any(_SLOTTED in vars(base) for base in cls.__mro__):
            raise TypeError(f"{cls.__qualname__}: fields are not inherited")
        body = methods | {k: v for k, v in declared.items() if k not in names}
        body["__slots__"] = body[_SLOTTED] = tuple(names)
        value: Any = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
        value.__qualname__ = cls.__qualname__
        by_name = {n for n in names if _said(declared.get(n)).get("kw_only", kw_only)}
        setattr(value, "__match_args__", tuple(n for n in names if n not in by_name))  # noqa: B010 - mypy takes it for a variable of the class
        for name in _TOLD_LATER:
            setattr(value, name, _Later(name, value, declared, kw_only))
        if "__init__" not in declared:
            value.__init__ = _constructed_later(value, declared, kw_only)
        return cast("type[T]", value)

    return made


def _theirs(**asked: bool) -> Callable[[type[T]], type[T]]:
    """Return what makes a class a dataclass of the standard library's."""
    from dataclasses import dataclass

    def made(cls: type[T]) -> type[T]:
        for name, value in _described(vars(cls)).items():
            if vars(cls)[name] is not value:
                setattr(cls, name, value)
        return dataclass(**asked)(cls)

    return made


def _described(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was declared, with fields as the standard library describes them."""
    import dataclasses

    return {
        name: dataclasses.field(**value.given) if isinstance(value, _Field) else value
        for name, value in declared.items()
    }


def _replace(value: Any, /, **changes: object) -> Any:  # noqa: ANN401 - of the type of *value*
    """Return *value* with other fields, in half the time that the standard library takes."""
    if not hasattr(type(value), _SLOTTED):
        from dataclasses import replace

        return replace(value, **changes)
    kept = {name: getattr(value, name) for name in _names(value) if name not in changes}
    return type(value)(**kept, **changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _Field, _replace


def as_dict(value: object) -> dict[str, Any]:
    """Return what the fields of a value that is made here hold, by their names, as it is."""
    return {name: getattr(value, name) for name in _names(value)}


def field_names(cls: type) -> tuple[str, ...]:
    """Return the fields of a class that is made here, in their order."""
    names: tuple[str, ...] = getattr(cls, _SLOTTED)
    return names


def metadata_of(cls: type) -> dict[str, Mapping[str, Any]]:
    """Return what is said beside each field of a dataclass, without describing it further."""
    told = vars(cls)["__dataclass_fields__"]
    if isinstance(told, _Later):
        return {name: told.said(name).get("metadata") or {} for name in field_names(cls)}
    return {name: described.metadata for name, described in told.items()}


_SLOTTED = "__fields_in_order__"
_TOLD_LATER = ("__dataclass_fields__", "__dataclass_params__")

Declared = dict[str, Any]
"""The names in the body of a class, as it was declared."""


class _Later:
    """Stands in a class for what the standard library says of it, until somebody asks."""

    __slots__ = ("_declared", "_kw_only", "_name", "_value")

    def __init__(self, name: str, value: type, declared: Declared, kw_only: bool) -> None:  # noqa: FBT001
        self._name = name
        self._value = value
        self._declared = declared
        self._kw_only = kw_only

    def __get__(self, _: object, __: type) -> Any:  # noqa: ANN401 - whichever it stands for
        import dataclasses

        cls = self._value
        # With a docstring, none is made of the signature.
        declared = _described({**self._declared, "__doc__": "as it was declared"})
        describe = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._kw_only)
        told = vars(describe(type(cls)(cls.__name__, cls.__bases__, declared)))
        for name in _TOLD_LATER:
            setattr(cls, name, told[name])
        return told[self._name]

    def said(self, name: str) -> Mapping[str, Any]:
        """Return what was said of a field beside its type and a plain default."""
        return _said(self._declared.get(name))


def _said(declared: object) -> Mapping[str, Any]:
    """Return the words that a field was declared with; a plain default has none."""
    if isinstance(declared, _Field):
        return declared.given
    theirs: Any = sys.modules.get("dataclasses")
    if theirs is None or not isinstance(declared, theirs.Field):
        return {}
    told = {name: getattr(declared, name) for name in ("default", "default_factory", "kw_only")}
    kept = {name: value for name, value in told.items() if value is not theirs.MISSING}
    return {**kept, "metadata": declared.metadata}


_Fields = tuple[list[str], list[str], dict[str, Any], dict[str, Any]]
"""Names that are given in order, names that are given by name, defaults, and what makes some."""


def _constructed_later(cls: Any, declared: Declared, kw_only: bool) -> Callable[..., None]:  # noqa: ANN401, FBT001
    """Return what fills the first values of a class, and compiles its constructor after some.

    Compiling one takes as long as filling thirty, and most classes of a short command have
    fewer values than that.
    """
    fields = list[_Fields]()
    left = _WORTH_COMPILING

    def first(self: object, *given: object, **named: object) -> None:
        nonlocal left
        left -= 1
        if not fields:
            fields.append(_fields(cls, declared, kw_only))
        if left > 0 and _is_filled(self, fields[0], given, named):
            return
        # Whatever is wrong with what was given, it is the constructor that says so.
        cls.__init__ = constructor = _constructor(cls, fields[0])
        constructor(self, *given, **named)

    return first


def _is_filled(
    value: Any,  # noqa: ANN401 - of the class
    fields: _Fields,
    given: tuple[object, ...],
    named: dict[str, object],
) -> bool:
    """Set each field as ``_constructor`` does, unless what was given does not fit."""
    ordered, by_name, defaults, made = fields
    known = dict(zip(ordered, given, strict=False))
    if len(given) > len(ordered) or not known.keys().isdisjoint(named):
        return False
    known |= named
    missing = [name for name in (*ordered, *by_name) if name not in known]
    if len(known) + len(missing) > len(ordered) + len(by_name):
        return False
    for name in missing:
        if name not in defaults:
            return False
        known[name] = made[name]() if name in made else defaults[name]
    put = object.__setattr__
    for name, one in known.items():
        put(value, name, one)
    if hasattr(value, "__post_init__"):
        value.__post_init__()
    return True


def _fields(cls: type, declared: Declared, kw_only: bool) -> _Fields:  # noqa: FBT001
    """Return what a constructor has to know of the fields of a class."""
    ordered, named = list[str](), list[str]()
    defaults: dict[str, Any] = {}
    made: dict[str, Any] = {}
    for name in field_names(cls):
        default, by_name = declared.get(name, _MISSING), kw_only
        if (said := _said(default)) or isinstance(default, _Field):
            by_name = said.get("kw_only", kw_only)
            if "default_factory" in said:
                # The factory stands for what was not given: nobody gives it as a value.
                made[name] = default = said["default_factory"]
            else:
                default = said.get("default", _MISSING)
        (named if by_name else ordered).append(name)
        if default is not _MISSING:
            defaults[name] = default
    return ordered, named, defaults, made


def _constructor(cls: Any, fields: _Fields) -> Callable[..., None]:  # noqa: ANN401
    """Return what sets each field, as given or to its default, and has the value checked."""
    ordered, named, defaults, made = fields
    names = (*ordered, *named)
    is_made = tuple(name in made for name in names)
    code = _constructor_of(is_made, hasattr(cls, "__post_init__")).replace(
        co_argcount=1 + len(ordered),
        co_kwonlyargcount=len(named),
        co_varnames=("self", *names),
    )
    known = {f"set{at}": vars(cls)[name].__set__ for at, name in enumerate(names)}
    known |= {f"made{at}": made[name] for at, name in enumerate(names) if name in made}
    constructor = FunctionType(code, known)
    constructor.__defaults__ = tuple(defaults[name] for name in ordered if name in defaults)
    constructor.__kwdefaults__ = {name: defaults[name] for name in named if name in defaults}
    return constructor


@cache
def _constructor_of(is_made: tuple[bool, ...], is_checked: bool) -> CodeType:  # noqa: FBT001
    """Compile the constructor of as many fields, some of which are made where none is given.

    It is the same for all classes that have as many: only their names differ.
    """
    parameters = ["self", *(f"field{at}" for at in range(len(is_made)))]
    body = [
        f"set{at}(self, made{at}() if field{at} is made{at} else field{at})"
        if is_made[at]
        else f"set{at}(self, field{at})"
        for at in range(len(is_made))
    ]
    body += ["self.__post_init__()"] if is_checked else ["pass"]
    known: dict[str, Any] = {}
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body), known)  # noqa: S102 - of our own names
    made: FunctionType = known["__init__"]
    return made.__code__


class _Value:
    """What all of them can do, and what they refuse."""

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in _names(self))
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, _: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> tuple[Any, ...]:
        return _values(self)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(_names(self), state, strict=True):
            object.__setattr__(self, name, value)


_FROZEN = {name: method for name, method in vars(_Value).items() if callable(method)}
_CHANGING = _FROZEN | {
    "__setattr__": object.__setattr__,
    "__delattr__": object.__delattr__,
    "__hash__": None,
}


def _values(value: object) -> tuple[Any, ...]:
    return tuple([getattr(value, name) for name in _names(value)])


def _names(value: object) -> tuple[str, ...]:
    return field_names(type(value))


_OF_A_PATTERN = [name for name in dir(re.Pattern) if not name.startswith("_")]


class _Uncompiled:
    """A regular expression that is compiled when something is first asked of it."""

    def __init__(self, expression: Any, flags: int) -> None:  # noqa: ANN401 - text or bytes
        self._given = expression, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whichever of a pattern
        if name.startswith("_"):
            raise AttributeError(name)
        made = re.compile(*self._given)
        vars(self).update((each, getattr(made, each)) for each in _OF_A_PATTERN)
        return getattr(made, name)


def lazy_pattern(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression for a module to have, compiled when it is first used.

    Compiling takes from .1 to 4 ms, and a command uses a third of those that it loads.
    """
    return cast("re.Pattern[AnyStr]", _Uncompiled(expression, flags))


def tuples(kind: type[T], rows: Iterable[tuple[object, ...]]) -> list[T]:
    """Return a named tuple of *kind* for each of *rows*, all of which have a value a field.

    To call the class for each takes twice as long. ``TypeError`` where the first is too short.
    """
    named: Any = kind
    new: Any = tuple.__new__
    made: list[Any] = list(map(new, repeat(kind), rows))
    if made and len(made[0]) != len(named._fields):
        raise TypeError(
            f"{kind.__qualname__} is ({', '.join(named._fields)}), not {tuple(made[0])}"
        )
    return made
