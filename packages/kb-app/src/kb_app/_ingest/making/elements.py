"""XML of builds, settings and schemas: elements as units, as far as they can be told apart.

An element of several lines is a unit where it has a name (an attribute or a child such as
``id`` or ``artifactId``) or is the only one called so among its siblings. Its symbol is the way
to it without the root: ``profiles.profile.java11``. Within a long one those in it are units,
too; all else are gaps. A comment right before an element belongs to it.

A file that breaks off, or is wrong somewhere, is read up to there. Where entities are declared
nothing is: a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.parsers import expat

from kb_app._ingest.making.blocks import Lines, Region
from kb_core.values import dataclass, field

__all__ = ["elements"]

_NAMES = ("id", "name", "key", "artifactid", "include")
"""What tells an element from others of its kind, the likeliest first."""
_LONGEST_NAME = 60
_SYMBOL_MAX = 120
_LONG = 30
"""From so many lines on, an element is cut at those within it."""
_DEEPEST = 40


@dataclass(slots=True)
class _Element:
    """An element, with its lines from 0."""

    tag: str
    first: int
    names: dict[str, str]
    last: int = -1
    children: list[_Element] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return next((self.names[each] for each in _NAMES if self.names.get(each)), "")


class _DeclaresEntities(Exception):
    """The file declares entities."""


class _Reader:
    """Builds the elements of a file while it is read."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        self.root = _Element("", 0, {})
        self.open = [self.root]
        self._lead: tuple[int, int] | None = None
        """The first line of a comment, and the one after its last."""

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        names = {_local(key).lower(): " ".join(value.split()) for key, value in attributes.items()}
        names = {key: value for key, value in names.items() if len(value) <= _LONGEST_NAME}
        first = self._line()
        if self._lead is not None and self._lead[1] == first:
            first = self._lead[0]
        self._lead = None
        element = _Element(_local(tag), first, names)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, _: str) -> None:
        element = self.open.pop()
        element.last = self._line()
        said = " ".join("".join(element.said).split())
        if not element.children and 0 < len(said) <= _LONGEST_NAME:
            self.open[-1].names.setdefault(element.tag.lower(), said)
        element.said.clear()

    def say(self, text: str) -> None:
        self.open[-1].said.append(text)

    def comment(self, text: str) -> None:
        first = self._line()
        begins = first if self._lead is None or self._lead[1] != first else self._lead[0]
        self._lead = begins, first + text.count("\n") + 1

    def refuse(self, *_: object) -> None:
        raise _DeclaresEntities

    def _line(self) -> int:
        return self._parser.CurrentLineNumber - 1


def elements(lines: Lines) -> Iterator[Region]:
    """Yield the elements of a file that are units, outer before inner, numbered."""
    # What the file says of its encoding was true before it was decoded.
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True
    reader = _Reader(parser)
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.say
    parser.CommentHandler = reader.comment
    parser.EntityDeclHandler = reader.refuse
    try:
        parser.Parse(lines.text, True)  # noqa: FBT003 - expat takes no names
    except _DeclaresEntities:
        return
    except (expat.ExpatError, ValueError):
        for element in reader.open:
            element.last = len(lines) - 1
    numbers = iter(range(len(lines) + 1))
    for root in reader.root.children:
        if root.last - root.first < _LONG:
            yield Region(root.first, root.last + 1, "unit", 1, _label(root), "element", 0)
        else:
            yield from _units(root, (), numbers)


def _units(parent: _Element, path: tuple[str, ...], numbers: Iterator[int]) -> Iterator[Region]:
    times = Counter(child.tag for child in parent.children)
    for child in parent.children:
        if child.last == child.first or child.first <= parent.first:
            continue
        inner = (*path, _label(child))
        if child.name or times[child.tag] == 1:
            symbol = ".".join(inner)[-_SYMBOL_MAX:]
            yield Region(
                child.first, child.last + 1, "unit", len(inner), symbol, "element", next(numbers)
            )
        if child.last - child.first >= _LONG and len(inner) < _DEEPEST:
            yield from _units(child, inner, numbers)


def _label(element: _Element) -> str:
    return f"{element.tag}.{element.name}" if element.name else element.tag


def _local(name: str) -> str:
    return name.rpartition(":")[2]
