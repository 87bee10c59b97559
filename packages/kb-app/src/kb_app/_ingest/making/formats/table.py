"""Tables of values parted by commas or the like: the text is the file, cited by its lines.

Records are kept together in blocks, and none is cut, be it several lines long. Where the
first record names the columns, or the first that is as wide as most, as below the head of a
statement, every block stands under these names: they go before a passage for the models, and
are never put into the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

from kb_app._ingest.making.blocks import Lines, Region
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.sections import column_names
from kb_app._ingest.making.versions import TABLE as _PARSER
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ports import Content

__all__ = ["TableParser"]

_DELIMITERS = ",;\t|"
_LOOKED_AT = 50
_AGREE = 0.5
"""At least so many lines have as many values as most."""
_BLOCK_CHARS = 1_000
_MOST_LINES = 500
"""A record of more lines is a quotation mark that nobody closed."""
_MOST_OPEN = 200
"""After so many of those, a line is a record: each costs as much as all of its lines."""
_LONGEST_HEADER = 300
_FIELD_LIMIT = 2**31 - 1
_SOME = 4
"""From so many columns on, one in four may have the name of another."""

_Record: TypeAlias = "tuple[int, int, Sequence[str]]"
"""Its lines, from 0 up to an end, and its values."""


class TableParser:
    """``Parser`` of comma- and tab-separated values."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        records = _records(lines, _delimiter(lines.texts, file.path))
        first = list(islice(records, _LOOKED_AT))
        names = _header([values for _, _, values in first])
        path = (", ".join(names)[:_LONGEST_HEADER],) if names else ()
        body = "\n".join(lines.texts[:_LOOKED_AT])
        metadata, _ = text_metadata({}, Hints(path=file.path, body=body))
        return ParsedDocument(
            text=lines.text,
            media=file.media,
            metadata=metadata,
            blocks=tuple(
                block
                for region in _regions(lines, chain(first, records))
                if (block := lines.block(region, path))
            ),
            warnings=content.warnings,
            parser_version=_PARSER,
        )


def _delimiter(lines: Sequence[str], path: str) -> str:
    """Return what parts the values; nothing that occurs, where there is one column."""
    if path.lower().endswith((".tsv", ".tab")) and any("\t" in line for line in lines):
        return "\t"
    shown = [_unquoted(line) for line in lines[:_LOOKED_AT] if line.strip()]
    best, agreed = "\0", 0.0
    for mark in _DELIMITERS:
        counts = Counter(line.count(mark) for line in shown)
        most, times = max(counts.items(), key=lambda each: (each[1], each[0]), default=(0, 0))
        share = times / max(1, len(shown)) if most else 0.0
        if share >= _AGREE and share > agreed:
            best, agreed = mark, share
    return best


def _header(records: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the names of the columns: of the first record that is wide, else of the first."""
    rows = [_bare(values) for values in records]
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda each: (each * widths[each], each), default=0)
    wide = next((at for at, row in enumerate(rows) if len(row) >= width), 0)
    heads = (rows[at] for at in (wide, 0) if at + 1 < len(rows))
    return next(filter(None, map(_names, heads)), ())


def _bare(values: Sequence[str]) -> Sequence[str]:
    """Return the values of a record up to the last one that there is."""
    last = max((at for at, value in enumerate(values, 1) if value.strip()), default=0)
    return values[:last]


def _names(values: Sequence[str]) -> Sequence[str]:
    distinct = list(dict.fromkeys(values))
    is_one = len(distinct) == len(values)
    is_enough = is_one or (len(values) >= _SOME and len(distinct) * 4 >= len(values) * 3)
    are_names = is_enough and column_names(distinct)
    return [" ".join(value.split()) for value in values] if are_names else ()


def _unquoted(line: str) -> str:
    return re.sub(r'"[^"]*"?', "", line)


class _Rows:
    """The lines of one record after the other, as a reader of values asks for them."""

    __slots__ = ("_lines", "_values", "at", "end")

    def __init__(self, lines: Lines, delimiter: str) -> None:
        from csv import field_size_limit, reader  # a run that reads no table does without

        field_size_limit(_FIELD_LIMIT)
        self._lines, self.at, self.end = lines, 0, 0
        self._values = reader(self, delimiter=delimiter if delimiter != "\0" else "\x1f")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= self.end:
            raise StopIteration
        self.at += 1
        return f"{self._lines.texts[self.at - 1]}\n"

    def record(self, at: int, most: int) -> tuple[int, Sequence[str]] | None:
        """Return where the record that begins at a line ends, and its values.

        ``None`` where it has not ended within *most* lines.
        """
        from csv import Error

        self.at, self.end = at, min(at + most, len(self._lines))
        try:
            values = next(self._values)
        except (Error, StopIteration):
            return None
        if self.at - at >= _MOST_LINES or _is_open(self._lines, at, self.at - at):
            return None
        return self.at, values


def _records(lines: Lines, delimiter: str) -> Iterator[_Record]:
    """Yield each record: its lines, from 0 up to an end, and its values."""
    rows = _Rows(lines, delimiter)
    found: tuple[int, Sequence[str]] | None
    at = opened = 0
    while at < len(lines):
        line = lines.texts[at]
        if '"' not in line or opened >= _MOST_OPEN:
            found = at + 1, line.split(delimiter)
        else:
            found = rows.record(at, _MOST_LINES)
            opened += found is None
        end, values = found or (at + 1, [line])
        if lines.text[lines.start(at) : lines.start(end)].strip():
            yield at, end, values
        at = end


def _is_open(lines: Lines, at: int, count: int) -> bool:
    """Say whether a record only ended where the text did, in the middle of a quotation."""
    return count > 1 and lines.text.count('"', lines.start(at), lines.start(at + count)) % 2 == 1


def _regions(lines: Lines, records: Iterable[_Record]) -> Iterator[Region]:
    """Yield records that follow each other, as far as a block is not long."""
    first, end, size = 0, 0, 0
    for begin, stop, _ in records:
        length = lines.start(stop) - lines.start(begin)
        if size and size + length > _BLOCK_CHARS:
            yield Region(first, end, "table")
            first, size = begin, 0
        elif not size:
            first = begin
        end, size = stop, size + length
    if size:
        yield Region(first, end, "table")
