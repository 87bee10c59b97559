"""The library pane: the documents, or every file and what became of it, with a filter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import ContentSwitcher, Static

from kb_app.shown import bytes_text, local_time, visible
from kb_core.search import SearchFilters
from kb_tui._filters import Filtered, FilterPopup, facets_of, parse_filter
from kb_tui._keys import LIBRARY, Key, bindings
from kb_tui._pane import InspectTarget, Pane, Reply, Shared, Target
from kb_tui.widgets.lists import ChoiceList, Column, RowTable

__all__ = ["LibraryPane"]

_WIDE = 110
_NARROW = 56
_MOST = 10_000
"""Documents to list; a filter shows others."""
_NOTHING = "nothing is indexed yet: a adds a folder"
_NOTHING_TO_READ = "nothing is indexed yet, and this is open for reading only"
_TO_INGEST = "nothing is indexed yet: r ingests"
_FILTERED = "nothing passes the filter: f changes it"


class Listed(Reply[Mapping[str, Any]]):
    """The documents, as doc_summary_list.v1."""


class Told(Reply[Mapping[str, Any]]):
    """The ledger, as file_status.v1."""


class DocumentTable(RowTable[Mapping[str, Any]]):
    """Documents as ``doc_summary_list.v1`` has them."""

    def columns_for(self, width: int) -> list[Column[Mapping[str, Any]]]:
        title: Column[Mapping[str, Any]] = Column("title", 0, lambda d: d["title"] or d["doc_path"])
        path: Column[Mapping[str, Any]] = Column("path", 0, lambda d: d["doc_path"])
        if width < _NARROW:
            return [title, Column("chunks", -6, lambda d: f"{d['chunk_count']:,}")]
        return [
            *([title, path] if width >= _WIDE else [title]),
            Column("tags", 14, lambda d: " ".join(d["tags"])),
            Column("updated", 10, _updated),
            Column("chunks", -6, lambda d: f"{d['chunk_count']:,}"),
        ]


def _updated(doc: Mapping[str, Any]) -> str:
    return local_time(doc["updated_at"] or doc.get("doc_date") or doc["indexed_at"])[:10]


class LedgerTable(RowTable[Mapping[str, Any]]):
    """Files as ``file_status.v1`` has them."""

    def columns_for(self, width: int) -> list[Column[Mapping[str, Any]]]:
        if width < _NARROW:
            return [
                Column("state", 8, lambda f: str(f["state"])),
                Column("path", 0, lambda f: str(f["doc_path"])),
            ]
        return [
            Column("state", 8, lambda f: str(f["state"])),
            Column("reason", 36 if width >= _WIDE else 20, _reason),
            Column("size", -8, lambda f: bytes_text(f["size"], digits=0)),
            Column("path", 0, lambda f: str(f["doc_path"])),
        ]


def _reason(file: Mapping[str, Any]) -> str:
    known = ": ".join(filter(None, (file.get("reason"), file.get("detail"))))
    return known or file.get("error_code") or ""


class LibraryPane(Pane):
    """What is in the knowledge base, and what is not, and why."""

    NAME: ClassVar[str] = "library"
    KEYS: ClassVar[tuple[Key, ...]] = LIBRARY
    BINDINGS: ClassVar[list[BindingType]] = bindings(LIBRARY)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._filter = Filtered()
        self._stats: Mapping[str, Any] = {}
        self._listed: Mapping[str, Any] = {"items": [], "total": 0}
        self._told: Mapping[str, Any] = {"files": [], "coverage": {}}
        self._listed_revision: int | None = None

    @property
    def _nothing(self) -> str:
        """What an empty list says."""
        if self.kb.readonly:
            return _NOTHING_TO_READ
        return _TO_INGEST if self._listed.get("sources") else _NOTHING

    def body(self) -> ComposeResult:
        with ContentSwitcher(initial="documents"):
            yield DocumentTable(id="documents")
            yield LedgerTable(id="ledger")
        yield Static("", id="about-row")

    @property
    def _table(self) -> DocumentTable | LedgerTable:
        current = self.query_one(ContentSwitcher).current
        if current == "ledger":
            return self.query_one(LedgerTable)
        return self.query_one(DocumentTable)

    def leave_insert(self) -> None:
        self.set_focus(self._table)

    def on_mount(self) -> None:
        self._show_head()

    # ---------------------------------------------------------------- keys

    def action_escape(self) -> None:
        """Cancel the ingest after its batch."""
        if self.shared.runner.stop():
            self.state("cancelling the ingest after its batch")
        else:
            self.shared.runner.told = ""
            self.show_job("")

    def action_move(self, by: int) -> None:
        self._table.chosen += by

    def action_first(self) -> None:
        self._table.chosen = 0

    def action_last(self) -> None:
        self._table.chosen = self._table.count - 1

    def action_page(self, pages: int) -> None:
        self._table.page(pages)

    def action_filter(self) -> None:
        words = "parts of titles, paths and tags; state: belongs to the ledger"
        popup = FilterPopup(self._filter.text, facets_of(self._stats), words)
        self.app.push_screen(popup, self._apply_filter)

    def _apply_filter(self, text: str | None) -> None:
        if text is None or text == self._filter.text:
            return
        self._filter = parse_filter(text)
        self.forget_error()
        self._list()

    def action_next_view(self) -> None:
        """Show the ledger instead of the documents, or the other way round."""
        switcher = self.query_one(ContentSwitcher)
        switcher.current = "documents" if switcher.current == "ledger" else "ledger"
        self.set_focus(self._table)
        self._show_head()
        self._show_row()

    @on(ChoiceList.Opened)
    def action_inspect(self) -> None:
        row = self._table.row
        if row is None:
            self.state("nothing to inspect")
        elif row.get("doc_id"):
            self.post_message(InspectTarget(Target(row["doc_id"])))
        else:
            self.state(f"not indexed: {row.get('reason') or row['state']}")

    # ---------------------------------------------------------------- what is shown

    def counted(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats
        if stats["corpus_revision"] != self._listed_revision:
            self._listed_revision = stats["corpus_revision"]
            self._list()

    def _list(self) -> None:
        filters = self._filter.filters
        self.state("reading…")
        self.ask(Listed, lambda: self._read_documents(filters))
        self.ask(Told, lambda: self._read_ledger(filters))

    def _read_documents(self, filters: SearchFilters) -> Mapping[str, Any]:
        listed = self.kb.list_docs(filters, limit=_MOST)
        return {**listed, "sources": [] if listed["total"] else self.kb.sources()}

    def _read_ledger(self, filters: SearchFilters) -> Mapping[str, Any]:
        """Return file_status.v1, and the ids of the documents that *filters* let pass.

        What a file is, in which language, with which tags, its document knows; paths and
        sources belong to files that became none, too.
        """
        told = [self.kb.status(glob) for glob in filters.path_glob or (None,)]
        files = {(row["source_id"], row["doc_path"]): row for one in told for row in one["files"]}
        admitted = None
        if filters != SearchFilters():
            found = self.kb.list_docs(filters, limit=_MOST)
            admitted = {doc["doc_id"] for doc in found["items"]}
        rows = [row for row in files.values() if _admits(row, filters, admitted)]
        return {**told[0], "files": rows}

    @on(Listed)
    def show_listed(self, reply: Listed) -> None:
        if self.is_stale(reply):
            return
        self._listed = reply.value
        admits = self._filter.admits
        rows = [
            doc
            for doc in reply.value["items"]
            if admits(doc["title"] or "", doc["doc_path"], " ".join(doc["tags"]))
        ]
        note = _FILTERED if self._filter.text else self._nothing
        self.query_one(DocumentTable).show(rows, note, chosen=None)
        self.state("ready")
        self._show_head()

    @on(Told)
    def show_told(self, reply: Told) -> None:
        if self.is_stale(reply):
            return
        self._told = reply.value
        filtered = self._filter
        rows = [
            row
            for row in reply.value["files"]
            if (not filtered.states or row["state"] in filtered.states)
            and filtered.admits(row["doc_path"], row.get("reason") or "")
        ]
        note = _FILTERED if self._filter.text else self._nothing
        self.query_one(LedgerTable).show(rows, note, chosen=None)
        self._show_head()

    @on(ChoiceList.Chosen)
    def _show_row(self) -> None:
        row = self._table.row
        text = "" if row is None else _about(row)
        self.query_one("#about-row", Static).update(Content(visible(text)))

    def _show_head(self) -> None:
        documents, ledger = self.query_one(DocumentTable), self.query_one(LedgerTable)
        for table, title in (
            (documents, f"Documents: {_of(documents.count, self._listed['total'])}"),
            (ledger, f"Ledger: {_of(ledger.count, len(self._told['files']))}{self._coverage()}"),
        ):
            narrowed = f", filter {self._filter.text}" if self._filter.text else ""
            table.border_title = Content(visible(f"{title}{narrowed}"))

    def _coverage(self) -> str:
        counts = self._told["coverage"]
        states = ("indexed", "pending", "skipped", "failed")
        parts = [f"{counts[s]:,} {s}" for s in states if counts.get(s)]
        return f" ({', '.join(parts)})" if parts else ""


def _admits(
    row: Mapping[str, Any], filters: SearchFilters, documents: Collection[str] | None
) -> bool:
    """Say whether a file passes: its document does, or what is known without one."""
    if documents is None or row.get("doc_id") in documents:
        return True
    if row.get("doc_id"):
        return False
    known = SearchFilters(path_glob=filters.path_glob, source=filters.source)
    return known == filters and (not filters.source or row["source_id"] in filters.source)


def _of(shown: int, total: int) -> str:
    return f"{total:,}" if shown == total else f"{shown:,} of {total:,}"


def _about(row: Mapping[str, Any]) -> str:
    """Return what the columns have no room for."""
    if "state" in row:
        changed = local_time(row.get("changed_at") or row.get("indexed_at"))
        why = " ".join(filter(None, (row.get("reason"), row.get("detail"), row.get("error_code"))))
        parts = [row["source_id"], row["doc_path"], f"{row['state']} {changed}", why]
    else:
        kind = " ".join(filter(None, (row["media"], row.get("code_lang") or row["lang"])))
        size = f"{row['byte_len']:,} bytes"
        parts = [
            row["source_id"],
            row["doc_path"],
            kind,
            size,
            f"indexed {local_time(row['indexed_at'])}",
        ]
    return "  │  ".join(part for part in parts if part)
