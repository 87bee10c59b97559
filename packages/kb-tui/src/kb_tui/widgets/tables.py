"""Lists of one line a row, set in columns: documents, files, runs, facets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kb_app.jobs import PastRun
from kb_app.shown import brief_duration, bytes_text, utc_time
from kb_core.clock import from_epoch
from kb_tui._filters import Facet
from kb_tui._text import columns
from kb_tui.widgets.choice_list import ChoiceList

__all__ = ["Column", "DocumentTable", "FacetTable", "LedgerTable", "RowTable", "RunTable"]

T = TypeVar("T")

_WIDE = 110
_GAP = 2
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: its title, its cells (negative: set to the right; 0: what is left), its text."""

    title: str
    width: int
    text: Callable[[T], str]


class RowTable(ChoiceList, Generic[T]):
    """Shows rows of one type in the columns that fit the width."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._rows: Sequence[T] = ()

    @property
    def rows(self) -> Sequence[T]:
        """The rows that are shown."""
        return self._rows

    @property
    def row(self) -> T | None:
        """The chosen row."""
        return self._rows[self.chosen] if self._rows else None

    def show(self, rows: Sequence[T], note: str = "", *, chosen: int | None = 0) -> None:
        """Replace the rows."""
        self._rows = rows
        self.replace_rows(len(rows), note, chosen=chosen)

    def columns_for(self, width: int) -> list[Column[T]]:
        """Return the columns of a table of *width*."""
        raise NotImplementedError

    def head(self) -> str:
        """Return the titles of the columns, as they stand over the rows."""
        width = self.scrollable_content_region.width - 1
        wanted = self.columns_for(width)
        return " " + columns(
            zip((column.title for column in wanted), _widths(wanted, width), strict=True)
        )

    def line(self, index: int, row: int, width: int) -> tuple[str, str]:  # noqa: ARG002
        wanted, shown = self.columns_for(width), self._rows[index]
        texts = (column.text(shown) for column in wanted)
        return columns(zip(texts, _widths(wanted, width), strict=True)), "main"


def _widths(wanted: Sequence[Column[Any]], width: int) -> list[int]:
    """Share what the fixed columns leave among those of width 0."""
    left = width - sum(abs(column.width) for column in wanted) - _GAP * (len(wanted) - 1)
    open_ = sum(column.width == 0 for column in wanted)
    share = max(_LEAST, left // max(1, open_))
    return [column.width or share for column in wanted]


class DocumentTable(RowTable[dict[str, Any]]):
    """Documents as ``doc_summary_list.v1`` has them."""

    def columns_for(self, width: int) -> list[Column[dict[str, Any]]]:
        title: Column[dict[str, Any]] = Column("title", 0, lambda d: d["title"] or d["doc_path"])
        path: Column[dict[str, Any]] = Column("path", 0, lambda d: d["doc_path"])
        return [
            *([title, path] if width >= _WIDE else [title]),
            Column("tags", 14, lambda d: " ".join(d["tags"])),
            Column("updated", 10, _updated),
            Column("chunks", -6, lambda d: f"{d['chunk_count']:,}"),
        ]


def _updated(doc: dict[str, Any]) -> str:
    return utc_time(doc["updated_at"] or doc.get("doc_date") or doc["indexed_at"])[:10]


class LedgerTable(RowTable[dict[str, Any]]):
    """Files as ``file_status.v1`` has them."""

    def columns_for(self, width: int) -> list[Column[dict[str, Any]]]:
        return [
            Column("state", 8, lambda f: str(f["state"])),
            Column("reason", 36 if width >= _WIDE else 20, _reason),
            Column("size", -8, lambda f: bytes_text(f["size"], digits=0)),
            Column("path", 0, lambda f: str(f["doc_path"])),
        ]


def _reason(file: dict[str, Any]) -> str:
    known = ": ".join(filter(None, (file.get("reason"), file.get("detail"))))
    return known or file.get("error_code") or ""


class RunTable(RowTable[PastRun]):
    """Past runs: when, what, how they ended, how long they took, what came of them."""

    def columns_for(self, width: int) -> list[Column[PastRun]]:  # noqa: ARG002
        return [
            Column("began (UTC)", 16, lambda r: from_epoch(r.started_at).isoformat(" ")[:16]),
            Column("run", 6, lambda r: r.kind),
            Column("ended", 11, lambda r: r.state),
            Column("took", -9, _took),
            Column("files", 0, _counts),
        ]


def _took(run: PastRun) -> str:
    return "" if run.finished_at is None else brief_duration(run.finished_at - run.started_at)


def _counts(run: PastRun) -> str:
    nothing = "nothing to do" if run.state == "completed" else ""
    return ", ".join(f"{n:,} {kind}" for kind, n in run.counts.items()) or nothing


class FacetTable(RowTable[Facet]):
    """Values to filter by; a tick before those that are in the filter."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self.ticked: frozenset[str] = frozenset()

    def columns_for(self, width: int) -> list[Column[Facet]]:  # noqa: ARG002
        return [
            Column("", 3, lambda facet: "[x]" if facet.token in self.ticked else "[ ]"),
            Column("value", 0, lambda facet: facet.token),
            Column("documents", -9, lambda facet: f"{facet.count:,}"),
        ]
