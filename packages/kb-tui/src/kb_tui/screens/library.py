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
from kb_tui.popups import Popup
from kb_tui.widgets.lists import ChoiceList, Column, PagedTable

__all__ = ["LibraryPane"]

_WIDE = 110
_NARROW = 56
_AT_ONCE = 1_000
"""Documents that are read at once where each has to be looked at for the words of a filter."""
_NOTHING = "nothing is indexed yet: a adds a folder"
_NOTHING_TO_READ = "nothing is indexed yet, and this is open for reading only"
_TO_INGEST = "nothing is indexed yet: r ingests"
_FILTERED = "nothing passes the filter: f changes it"


class Listed(Reply[Mapping[str, Any]]):
    """Documents from ``offset`` on, as doc_summary_list.v1."""


class Told(Reply[Mapping[str, Any]]):
    """The ledger from ``offset`` on, as file_status.v1; it has ``known`` files in all."""


class DocumentTable(PagedTable[Mapping[str, Any]]):
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


class LedgerTable(PagedTable[Mapping[str, Any]]):
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
        self._found: list[Mapping[str, Any]] = []
        """The documents that have the words of the filter, as far as they were looked for."""
        self._told: Mapping[str, Any] = {"known": 0, "coverage": {}}
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
            self.state("reading…" if self._table.count else "nothing to inspect")
        elif row.get("doc_id"):
            self.post_message(InspectTarget(Target(row["doc_id"])))
        else:
            self.app.push_screen(Popup("Not indexed", _told_of(row)))

    # ---------------------------------------------------------------- what is shown

    def counted(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats
        if stats["corpus_revision"] != self._listed_revision:
            self._listed_revision = stats["corpus_revision"]
            self._list()

    def _list(self) -> None:
        self.state("reading…")
        self._ask_documents(0)
        self._ask_ledger(0)

    @on(PagedTable.Wanted, "#documents")
    def _read_on(self, wanted: PagedTable.Wanted) -> None:
        self._ask_documents(wanted.start)

    @on(PagedTable.Wanted, "#ledger")
    def _tell_on(self, wanted: PagedTable.Wanted) -> None:
        self._ask_ledger(wanted.start)

    def _ask_documents(self, start: int) -> None:
        asked = self._filter
        self.ask(Listed, lambda: self._read_documents(asked, start))

    def _ask_ledger(self, start: int) -> None:
        asked = self._filter
        self.ask(Told, lambda: self._read_ledger(asked, start))

    def _read_documents(self, asked: Filtered, start: int) -> Mapping[str, Any]:
        size = _AT_ONCE if asked.words else DocumentTable.PAGE
        listed = self.kb.list_docs(asked.filters, limit=size, offset=start)
        sources = [] if listed["total"] else self.kb.sources()
        return {**listed, "offset": start, "sources": sources}

    def _read_ledger(self, asked: Filtered, start: int) -> Mapping[str, Any]:
        """Return a page of the ledger, or all of what a filter leaves of it.

        What a file is, in which language, with which tags, its document knows; paths and
        sources belong to files that became none, too.
        """
        if asked.filters == SearchFilters() and not asked.words and len(asked.states) <= 1:
            state = next(iter(asked.states), None)
            told = self.kb.status(state=state, limit=LedgerTable.PAGE, offset=start)
            known = self.kb.status(limit=0)["total"] if state else told["total"]
            return {**told, "offset": start, "known": known}
        globs = [self.kb.status(glob) for glob in asked.filters.path_glob or (None,)]
        files = {(row["source_id"], row["doc_path"]): row for one in globs for row in one["files"]}
        admitted = None if asked.filters == SearchFilters() else self._admitted(asked.filters)
        rows = [row for row in files.values() if _admits(row, asked.filters, admitted)]
        shown = [row for row in rows if _is_asked_for(row, asked)]
        return {**globs[0], "files": shown, "total": len(shown), "offset": 0, "known": len(rows)}

    def _admitted(self, filters: SearchFilters) -> Collection[str]:
        """Return the ids of the documents that *filters* let pass."""
        found: set[str] = set()
        while True:
            listed = self.kb.list_docs(filters, limit=_AT_ONCE, offset=len(found))
            found.update(doc["doc_id"] for doc in listed["items"])
            if not listed["items"] or len(found) >= listed["total"]:
                return found

    @on(Listed)
    def show_listed(self, reply: Listed) -> None:
        if self.is_stale(reply):
            return
        self._listed, start, rows = reply.value, reply.value["offset"], reply.value["items"]
        table, total = self.query_one(DocumentTable), reply.value["total"]
        note = _FILTERED if self._filter.text else self._nothing
        if self._filter.words:
            self._found = [*(self._found if start else []), *filter(self._has_words, rows)]
            table.show(self._found, note, chosen=None)
        elif start:
            table.put(start, rows)
        else:
            table.show(rows, note, chosen=None, total=total)
        if self._filter.words and rows and start + len(rows) < total:
            self.state(f"looked at {start + len(rows):,} of {total:,} documents")
            self._ask_documents(start + len(rows))
        else:
            self.state("ready")
        self._show_head()
        self._show_row()

    def _has_words(self, doc: Mapping[str, Any]) -> bool:
        return self._filter.admits(doc["title"] or "", doc["doc_path"], " ".join(doc["tags"]))

    @on(Told)
    def show_told(self, reply: Told) -> None:
        if self.is_stale(reply):
            return
        self._told = reply.value
        table, note = self.query_one(LedgerTable), _FILTERED if self._filter.text else self._nothing
        if reply.value["offset"]:
            table.put(reply.value["offset"], reply.value["files"])
        else:
            table.show(reply.value["files"], note, chosen=None, total=reply.value["total"])
        self._show_head()
        self._show_row()

    @on(ChoiceList.Chosen)
    def _show_row(self) -> None:
        row = self._table.row
        text = "" if row is None else _about(row)
        self.query_one("#about-row", Static).update(Content(visible(text)))

    def _show_head(self) -> None:
        documents, ledger = self.query_one(DocumentTable), self.query_one(LedgerTable)
        for table, title in (
            (documents, f"Documents: {_of(documents.count, self._listed['total'])}"),
            (ledger, f"Ledger: {_of(ledger.count, self._told['known'])}{self._coverage()}"),
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


def _is_asked_for(row: Mapping[str, Any], asked: Filtered) -> bool:
    """Say whether a file has the words of a filter, and is in one of its states."""
    is_in_state = not asked.states or row["state"] in asked.states
    return is_in_state and asked.admits(row["doc_path"], row.get("reason") or "")


def _of(shown: int, total: int) -> str:
    return f"{total:,}" if shown == total else f"{shown:,} of {total:,}"


def _told_of(row: Mapping[str, Any]) -> str:
    """Return all that the ledger says of a file that became no document."""
    changed = local_time(row.get("changed_at") or row.get("indexed_at"))
    lines = (
        row["doc_path"],
        "",
        f"{row['state']}: {_reason(row)}" if _reason(row) else row["state"],
        "",
        f"source {row['source_id']}, {bytes_text(row['size'])}, as of {changed}",
    )
    return visible("\n".join(lines), keep="\n")


def _about(row: Mapping[str, Any]) -> str:
    """Return what the columns have no room for."""
    if "state" in row:
        changed = local_time(row.get("changed_at") or row.get("indexed_at"))
        why = _reason(row)
        parts = [why, row["source_id"], row["doc_path"], f"{row['state']} {changed}"]
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
