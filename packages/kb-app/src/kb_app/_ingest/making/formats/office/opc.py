"""What docx, pptx and xlsx have in common: parts, how they refer to each other, and properties.

A part is found by the relationship that leads to it, never by its name, and the main one by
the only name that is fixed, that of the first relationships; where that is missing, by the
names that programs give. A part that is missing or broken costs itself and a warning.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from kb_app._ingest.making.containers import Element, Events, Package, Refused
from kb_app._ingest.making.formats.office.properties import Properties

__all__ = ["Parts", "Relation"]

_USUAL = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "xl/workbook.bin")


_FAMILIES = (("word", "word"), ("presentation", "ppt"), ("powerpoint", "ppt"), ("slideshow", "ppt"),
             ("spreadsheet", "xl"), ("excel", "xl"))  # fmt: skip


class Relation(NamedTuple):
    """Where a part leads: to another part of that kind, or out of the file."""

    kind: str
    target: str
    is_external: bool = False


class Parts:
    """The parts of a package, and what was missing or broken so far."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.warnings: list[str] = []

    @cached_property
    def main(self) -> str:
        """The name of the part that all others are reached from; empty where there is none."""
        relations = self.relations("").values()
        found = [each.target for each in relations if each.kind == "officeDocument"]
        return next((name for name in (*found, *_USUAL) if name in self._package), "")

    @cached_property
    def family(self) -> str:
        """``word``, ``ppt`` or ``xl``, as the main part says of itself, or its folder."""
        types = self.tree("[Content_Types].xml", is_expected=False)
        for each in types if types is not None else ():
            if each.get("PartName", "").lstrip("/").lower() == self.main.lower():
                said = each.get("ContentType", "")
                return next((name for mark, name in _FAMILIES if mark in said), "")
        return self.main.partition("/")[0].lower()

    @property
    def root(self) -> Element:
        """The main part as a tree; without it there is nothing to be read."""
        return self._package.tree(self.main)

    def relations(self, part: str) -> Mapping[str, Relation]:
        """Return where *part* leads, by id; of the package itself for the empty name."""
        folder, name = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", f"{name}.rels"), is_expected=not part)
        return {each.get("Id", ""): _relation(each, folder) for each in root or ()}

    def of_kind(self, part: str, *kinds: str) -> Iterator[tuple[str, Element]]:
        """Yield the kind and the tree of what *part* leads to that is one of *kinds*, in order."""
        for relation in self.relations(part).values():
            if relation.kind in kinds and not relation.is_external:
                tree = self.tree(relation.target)
                if tree is not None:
                    yield relation.kind, tree

    def targets(self, kind: str) -> list[str]:
        """Return the names of the parts of a kind that the main part leads to."""
        found = self.relations(self.main).values()
        return [each.target for each in found if each.kind == kind and each.target in self._package]

    def tree(self, name: str, *, is_expected: bool = True) -> Element | None:
        """Return a part as a tree; ``None``, and a warning, where it cannot be read."""
        if not is_expected and name not in self._package:
            return None
        try:
            return self._package.tree(name)
        except Refused as refused:
            self.forgive(refused)
            return None

    def forgive(self, refused: Refused) -> None:
        """Take the loss of a part for a warning, unless the whole file is to be left alone."""
        if not refused.is_partial:
            raise refused
        self.warnings.append(refused.detail)

    def read(self, name: str) -> bytes:
        """Return a part as it is."""
        return self._package.read(name)

    def tell(self, name: str, events: Events) -> None:
        """Tell *events* of all that is in a part; a damaged one ends early, with a warning."""
        try:
            self._package.tell(name, events)
        except Refused as refused:
            self.forgive(refused)

    def properties(self) -> Properties:
        """Return what the file says of itself."""
        values: dict[str, str] = {}
        for _, root in self.of_kind("", "core-properties"):
            values |= {each.tag: each.text or "" for each in root}
        return Properties(values)


def _relation(element: Element, folder: str) -> Relation:
    kind = element.get("Type", "").rpartition("/")[2]
    target = element.get("Target", "")
    if element.get("TargetMode") == "External":
        return Relation(kind, target, is_external=True)
    path = posixpath.normpath(posixpath.join("/", folder, target))
    return Relation(kind, path.lstrip("/"))
