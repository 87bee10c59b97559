r"""Man pages as they are read: each line of the source as a line of text, in its place.

What only sets type is a blank line, so a line of the text has the number that it has in the file.
A page is known by how it is named in it (``.TH``, ``.Dt``), whatever it is called, or by being
another one (``.so``). Sections are headings, and so are the outermost entries of lists that tell
of options, names or values (``.TP``, ``.It``, terms before ``.RS``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb_app._ingest.making.blocks import Region
from kb_app._ingest.making.mdoc import MACROS, shown_by
from kb_app._ingest.making.roff import Row, arguments, rows, shown
from kb_core.values import dataclass, field

__all__ = ["ManPage", "as_read", "is_man_page", "man_page", "man_says"]

_HEAD = 40_000
_NAMED = re.compile(
    r"^\.(?:TH|Dt)[ \t]+(\"[^\"\n]*\"|\S+)[ \t]+(\"[^\"\n]*\"|\S+)(.*)", re.MULTILINE
)
_REMARK = r"[.']?\\[\"#][^\n]*"
_ANOTHER = re.compile(
    rf"(?:(?:{_REMARK})?\n){{0,50}}\.so[ \t]+\S+[ \t]*(?:\n[ \t]*(?:{_REMARK})?){{0,50}}\Z"
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_PARTS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_ENTRY = 3
"""The levels of sections, of parts of them, and of entries."""
_PARAGRAPHS = frozenset({"PP", "P", "LP", "HP", "sp"})
_JOINED = frozenset({"BR", "BI", "IB", "IR", "RB", "RI"})
_SILENT = frozenset({"INDENT", "UNINDENT", "IX", "PD", "DT", "UC", "AT", "TP", "TQ", "RS", "RE",
                     "EX", "EE", "TS", "TE", "EQ", "EN", "YS", "HP", "PP", "LP", "P", "Vb", "Ve",
                     "Sp"})  # fmt: skip
"""Macros whose arguments are no text, beside requests, which are short and in small letters."""
_BEGIN = frozenset({*_PARTS, "TP", "IP", "It", "El", "RS", "PP", "P", "LP"})
_ITEM = re.compile(r"[•·o*+–—-]|\(?\w{1,2}[.)]")
_BULLETS = "•·o*+–—-"
_LISTED = re.compile(r"-(?:bullet|dash|hyphen|item|enum|column)\b")
"""Lists of mdoc whose items have no terms."""
_LEADS = 6
"""Lines of terms before the ``.RS`` that sets in what is said of them, at most."""
_LONGEST_TERM, _FEW_WORDS = 120, 3
_PARTING = re.compile(r"\btab *\(\s*(\S)\s*\)", re.IGNORECASE)
_RULE = re.compile(r"[_=]+")
_BRACES = re.compile(r"T\{|^T\}")


def is_man_page(text: str) -> bool:
    """Say whether a text is the source of a man page."""
    if text[:1] not in {".", "'", "\\"}:
        return False
    return _NAMED.search(text, 0, _HEAD) is not None or _ANOTHER.match(text) is not None


def as_read(text: str) -> str:
    """Return what is read of the text of a file: of a man page what it shows, line by line."""
    return man_page(text).text if is_man_page(text) else text


def man_says(text: str) -> dict[str, str]:
    """Return what the source of a man page says of itself: its name with its section, a date."""
    match = _NAMED.search(text, 0, _HEAD)
    if match is None:
        return {}
    name, section = (" ".join(shown(each.strip('"')).split()) for each in match.group(1, 2))
    day = _DAY.search(match[3])
    return {"title": f"{name}({section})", **({"date": day[0]} if day else {})}


@dataclass(frozen=True, slots=True)
class ManPage:
    """What a page shows, and its headings with their names; a region *leave* ends some."""

    text: str
    headings: list[tuple[Region, str]]


def man_page(text: str) -> ManPage:
    """Read the source of a man page."""
    lines = text.split("\n")
    page = _Page([*rows(lines)])
    page.show()
    headings = [*page.headings()]
    told = [""] * len(lines)
    for row, said in zip(page.rows, page.said, strict=True):
        told[row.first] = said
    return ManPage("\n".join(told), headings)


@dataclass(slots=True)
class _Page:
    """The rows of a page, and what each of them shows."""

    rows: list[Row]
    said: list[str] = field(default_factory=list)
    depth: int = 0
    """How far what is read is set in, by ``.RS``."""
    lists: list[bool] = field(default_factory=list)
    """The lists of mdoc that are open: whether their items have terms."""
    entry: str = ""
    """The macro of the entry that is open."""

    def show(self) -> None:
        """Say what each row shows."""
        name, table = "", None
        for row in self.rows:
            if row.macro in {"TS", "TE"}:
                table = _Table() if row.macro == "TS" else None
            elif row.macro == "Nm" and not name:
                name = shown(" ".join(arguments(row.rest)[:1]))
            if row.macro:
                said = _shown_by(row, name).strip()
            else:
                said = table.cells(row.rest) if table else shown(row.rest).rstrip()
            self.said.append(said)

    def headings(self) -> Iterator[tuple[Region, str]]:
        """Yield the headings, and where entries end; marks of items go before what they say."""
        for at, row in enumerate(self.rows):
            if row.macro in _PARTS:
                self.depth, self.entry, self.lists = 0, "", []
                yield from self._named(row, self._names_part(at))
            elif row.macro in {"RS", "RE", "Bl", "El"}:
                yield from self._set_in(row)
            elif row.macro in {"TP", "IP", "It"}:
                yield from self._entry(at)
            elif row.macro in _PARAGRAPHS and not self.depth:
                yield from self._paragraph(at)
            elif row.rest.endswith(r"\c") and not row.macro and _ITEM.fullmatch(self.said[at]):
                self._mark(at, self.said[at])

    def _names_part(self, at: int) -> list[int]:
        """Return the row that names a section: its own, or the next, unless that begins another."""
        if self.said[at]:
            return [at]
        is_next = at + 1 < len(self.rows) and self.rows[at + 1].macro not in _BEGIN
        return [at + 1] if is_next else []

    def _set_in(self, row: Row) -> Iterator[tuple[Region, str]]:
        if row.macro in {"RS", "RE"}:
            self.depth = max(0, self.depth + (1 if row.macro == "RS" else -1))
        elif row.macro == "Bl":
            self.lists.append(_LISTED.match(row.rest) is None)
        else:
            self.lists = self.lists[:-1]
            if self.entry and not self.lists:
                self.entry = ""
                yield _left(row.end)

    def _entry(self, at: int) -> Iterator[tuple[Region, str]]:
        row = self.rows[at]
        is_listed = row.macro == "It"
        found = self._terms(at, has_terms=not is_listed or self.lists[-1:] == [True])
        if found and not self.depth and len(self.lists) == is_listed:
            self.entry = row.macro
            yield from self._named(row, found)

    def _paragraph(self, at: int) -> Iterator[tuple[Region, str]]:
        row = self.rows[at]
        if found := self._terms_before_rs(at):
            self.entry = "RS"
            yield from self._named(row, found)
        elif self.entry and (self.entry == "RS" or row.macro != "sp"):
            self.entry = ""
            yield _left(row.first)

    def _named(self, row: Row, of: Sequence[int]) -> Iterator[tuple[Region, str]]:
        """Yield the heading that begins at a row, whose name the rows *of* say."""
        names = [" ".join(self.said[at].split()) for at in of if at < len(self.rows)]
        if name := ", ".join(filter(None, names)):
            level = _PARTS.get(row.macro, _ENTRY)
            yield Region(row.first, self.rows[of[-1]].end, "heading", level), name

    def _terms(self, at: int, *, has_terms: bool) -> list[int]:
        """Return the rows of what an entry tells of, none of an item, which gets its mark."""
        macro, said = self.rows[at].macro, self.said[at]
        if macro != "TP" and (not has_terms or _ITEM.fullmatch(said)):
            self._mark(at, said if has_terms and said[-1] in ".)" else "-", is_own=not has_terms)
            return []
        found = [at] if macro != "TP" and said else []
        text = self._next_text(at + 1) if macro == "TP" else None
        while text is not None:
            found.append(text)
            is_last = self.rows[text + 1 : text + 2] == [] or self.rows[text + 1].macro != "TQ"
            text = None if is_last else self._next_text(text + 2)
        terms = [self.said[each] for each in found]
        is_fit = all(len(each) <= _LONGEST_TERM and not _ITEM.fullmatch(each) for each in terms)
        return found if is_fit else []

    def _mark(self, at: int, mark: str, *, is_own: bool = False) -> None:
        """Put the mark of an item before what it says: in its row, or in the next that does."""
        to = at if is_own and self.said[at] else self._next_text(at + 1)
        if not is_own:
            self.said[at] = ""
        if to is not None:
            self.said[to] = f"{'-' if mark in _BULLETS else mark} {self.said[to].lstrip()}"

    def _terms_before_rs(self, at: int) -> list[int]:
        """Return the rows between a paragraph's beginning and ``.RS``, if they can be terms."""
        found = list[int]()
        for number in range(at + 1, min(at + 2 + _LEADS, len(self.rows))):
            if self.rows[number].macro == "RS":
                return found
            said = self.said[number]
            is_term = said.startswith("-") or len(said.split()) <= _FEW_WORDS
            if not said or not is_term or said.endswith((":", ".")):
                break
            if self.rows[number].macro in _BEGIN:
                break
            found.append(number)
        return []

    def _next_text(self, at: int) -> int | None:
        """Return the first row from *at* on that shows something, before anything else begins."""
        for number in range(at, min(at + _LEADS, len(self.rows))):
            if self.rows[number].macro in _BEGIN:
                return None
            if self.said[number]:
                return number
        return None


def _left(line: int) -> tuple[Region, str]:
    return Region(line, line, "leave", _ENTRY), ""


def _shown_by(row: Row, name: str) -> str:
    """Return what a macro with its arguments shows; *name* is that of a page in mdoc."""
    macro = row.macro
    if macro in MACROS:
        return shown_by(macro, row.rest, name)
    given = [shown(each) for each in arguments(row.rest)]
    match macro:
        case "so":
            return f"See {row.rest.strip()}"
        case "IP":
            return "".join(given[:1])
        case "UR" | "MT" | "OP":
            first, last = "[]" if macro == "OP" else "<>"
            return f"{first}{' '.join(given)}{last}" if given else ""
    is_silent = macro in _SILENT or (macro.islower() and len(macro) > 1)
    return "" if is_silent else ("" if macro in _JOINED else " ").join(given)


@dataclass(slots=True)
class _Table:
    """A table of tbl: what parts its cells, and whether its columns are told yet."""

    parting: str = "\t"
    is_told: bool = False

    def cells(self, line: str) -> str:
        """Return the cells of a line, parted by strokes."""
        if not self.is_told:
            tab = _PARTING.search(line)
            self.parting = tab[1] if tab else self.parting
            self.is_told = line.rstrip().endswith(".")
            return ""
        if _RULE.fullmatch(line.strip()):
            return ""
        given = _BRACES.sub("", line).split(self.parting)
        return " | ".join(shown(each).strip() for each in given).rstrip()
