"""The inspect pane: all that is known of a document or a chunk, in sections that fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from kb_app.shown import utc_time, visible
from kb_tui._keys import INSPECT, Key, bindings
from kb_tui._pane import Pane, Reply, Shared, Target
from kb_tui.widgets.lists import ChoiceList

__all__ = [
    "Entry",
    "FoldList",
    "InspectPane",
    "LeaveInspect",
    "Section",
    "chunk_sections",
    "document_sections",
]

T = TypeVar("T")

_OPEN, _FOLDED = "▾", "▸"
_INDENT = "  "
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A line of a section; ``target`` is what it leads to, if anything."""

    text: str
    target: T | None = None


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """A titled part; ``is_open`` is how it is first shown."""

    title: str
    entries: tuple[Entry[T], ...]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class _Row:
    section: int
    entry: int | None
    text: str


class FoldList(ChoiceList, Generic[T]):
    """Shows sections. What was folded stays folded when sections of that title come again."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._sections: tuple[Section[T], ...] = ()
        self._is_open: dict[str, bool] = {}
        self._rows: list[_Row] = []

    @property
    def target(self) -> T | None:
        """What the chosen row leads to."""
        row = self._chosen_row()
        if row is None or row.entry is None:
            return None
        return self._sections[row.section].entries[row.entry].target

    def show(self, sections: Sequence[Section[T]], note: str = "") -> None:
        """Replace the sections and choose the first row."""
        self._sections = tuple(sections)
        self._lay_out(note, chosen=0)

    def fold(self) -> None:
        """Fold or unfold the section of the chosen row, and choose its header."""
        row = self._chosen_row()
        if row is None:
            return
        title = self._sections[row.section].title
        self._is_open[title] = not self._opened(self._sections[row.section])
        self._lay_out("", chosen=None)
        headers = (at for at, r in enumerate(self._rows) if r.section == row.section)
        self.chosen = next(headers)

    def on_resize(self) -> None:
        self._lay_out(self._note, chosen=None)

    def line(self, index: int, row: int, width: int) -> tuple[str, str]:  # noqa: ARG002
        shown = self._rows[index]
        return shown.text, "head" if shown.entry is None else "main"

    def _chosen_row(self) -> _Row | None:
        return self._rows[self.chosen] if self._rows else None

    def _opened(self, section: Section[T]) -> bool:
        return self._is_open.get(section.title, section.is_open)

    def _lay_out(self, note: str, *, chosen: int | None) -> None:
        room = max(_LEAST, self.scrollable_content_region.width - 1 - len(_INDENT))
        self._rows = []
        for number, section in enumerate(self._sections):
            is_open = self._opened(section)
            sign = _OPEN if is_open else _FOLDED
            title = f"{sign} {section.title} ({len(section.entries)})"
            self._rows.append(_Row(number, None, title))
            if is_open:
                for at, entry in enumerate(section.entries):
                    lines = Content(visible(entry.text, keep="\n")).wrap(room) or [Content("")]
                    self._rows += [_Row(number, at, f"{_INDENT}{line.plain}") for line in lines]
        self.replace_rows(len(self._rows), note, chosen=chosen)


Json: TypeAlias = Mapping[str, Any]
Sections: TypeAlias = list[Section[Target]]

_METADATA = (
    "doc_path",
    "title",
    "source_id",
    "source_type",
    "trust_level",
    "media",
    "lang",
    "code_lang",
    "repo",
    "repo_branch",
    "repo_commit",
    "tags",
    "aliases",
    "byte_len",
    "chunk_count",
    "doc_date",
    "created_at",
    "updated_at",
    "indexed_at",
    "doc_id",
    "bytes_hash",
)
_TIMES = {"doc_date", "created_at", "updated_at", "indexed_at"}
_CHUNK = ("doc_path", "ordinal", "heading_path", "symbol", "part", "token_count", "chunk_id")
_FIRST_LINE = 60


def document_sections(doc: Json, chunks: Iterable[Json]) -> Sections:
    """Return the sections of ``doc_inspection.v1`` and its chunks."""
    rows = list(chunks)
    return [
        Section("Metadata", tuple(_metadata(doc))),
        Section("Provenance", tuple(_provenance(doc))),
        *_optional("Warnings", (Entry(warning) for warning in doc["warnings"])),
        Section("Chunks", tuple(_chunk_entry(chunk) for chunk in rows)),
        Section("Embeddings", tuple(_coverage(rows))),
        Section("Blocks", tuple(_block(block) for block in doc["blocks"]), is_open=False),
        *_optional("Links", (_link(link) for link in doc.get("links", ()))),
    ]


def chunk_sections(fetched: Json, doc: Json) -> Sections:
    """Return the sections of a chunk: ``fetch_result.v1`` with context, and its document."""
    chunk = fetched["chunk"]
    near = [*fetched["context_before"], *fetched["context_after"]]
    document = Entry(f"{doc['title']}  {doc['doc_path']}", Target(doc["doc_id"]))
    lines = chunk["text"].removesuffix("\n").split("\n")
    return [
        Section("Chunk", tuple(_fields(chunk, _CHUNK, citation=_uri(chunk)))),
        Section("Text", tuple(Entry(line) for line in lines)),
        Section("Embeddings", tuple(_embeddings(chunk))),
        Section("Neighbours", tuple(_chunk_entry(other) for other in near)),
        Section("Document", (document, *_metadata(doc)), is_open=False),
        Section("Provenance", tuple(_provenance(doc)), is_open=False),
    ]


def _optional(title: str, entries: Iterable[Entry[Target]]) -> Iterator[Section[Target]]:
    rows = tuple(entries)
    if rows:
        yield Section(title, rows)


def _metadata(doc: Json) -> Iterator[Entry[Target]]:
    yield from _fields(doc, _METADATA)
    for key, value in _flat(doc.get("metadata") or {}):
        yield Entry(f"{'· ' + key:<14} {_shown(value)}")


def _flat(metadata: Json, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield metadata with the names of nested ones joined, as in ``dates.modified``."""
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _fields(found: Json, names: Iterable[str], **more: str) -> Iterator[Entry[Target]]:
    for name, text in more.items():
        yield Entry(f"{name:<14} {text}")
    for name in names:
        value = found.get(name)
        if value in (None, [], ""):
            continue
        yield Entry(f"{name:<14} {utc_time(value) if name in _TIMES else _shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _provenance(doc: Json) -> Iterator[Entry[Target]]:
    for step in doc["provenance"]:
        detail = step.get("detail") or ""
        yield Entry(f"{utc_time(step['at'])}  {step['kind']:<9} {detail}")


def _block(block: Json) -> Entry[Target]:
    what = " ".join(filter(None, (block["kind"], block.get("symbol_kind"), block.get("symbol"))))
    path = " › ".join(block["heading_path"])
    return Entry(f"{block['char_start']:>7}-{block['char_end']:<7} {what:<12} {path}")


def _link(link: Json) -> Entry[Target]:
    return Entry(f"{link.get('kind', 'link')}: {link.get('target', '')}  {link.get('text', '')}")


def _chunk_entry(chunk: Json) -> Entry[Target]:
    first = next((line for line in chunk["text"].split("\n") if line.strip()), "").strip()
    place = _uri(chunk).rpartition("#")[2]
    target = Target(chunk["doc_id"], chunk["chunk_id"])
    return Entry(f"{chunk['ordinal']:>4}  {place:<12} {first[:_FIRST_LINE]}", target)


def _uri(chunk: Json) -> str:
    return next((str(span["uri"]) for span in chunk["source_spans"]), str(chunk["doc_path"]))


def _embeddings(chunk: Json) -> Iterator[Entry[Target]]:
    for row in chunk["embeddings"]:
        yield Entry(f"{row['model']}, {row['dimensions']} dimensions")


def _coverage(chunks: list[Json]) -> Iterator[Entry[Target]]:
    models = sorted({row["model"] for chunk in chunks for row in chunk["embeddings"]})
    for model in models:
        having = sum(any(r["model"] == model for r in chunk["embeddings"]) for chunk in chunks)
        yield Entry(f"{model}: {having:,} of {len(chunks):,} chunks")


_NOTHING = "nothing to inspect yet: Enter on a document, or o on a hit"
_CONTEXT = 2
"""Chunks to list as neighbours, on either side."""


class LeaveInspect(Message):
    """Go back to where the target came from."""


class Inspected(Reply[tuple[str, list[Section[Target]]]]):
    """A title and the sections."""


class InspectPane(Pane):
    """Shows one target at a time; those it was reached through are gone back to with Esc."""

    NAME: ClassVar[str] = "inspect"
    KEYS: ClassVar[tuple[Key, ...]] = INSPECT
    BINDINGS: ClassVar[list[BindingType]] = bindings(INSPECT)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._trail: list[Target] = []

    def body(self) -> ComposeResult:
        yield FoldList[Target](id="sections")

    @property
    def _list(self) -> FoldList[Target]:
        return self.query_one("#sections", FoldList)

    def on_mount(self) -> None:
        self._list.border_title = "Inspect"
        self._list.show((), _NOTHING)

    def leave_insert(self) -> None:
        self._list.focus()

    def inspect(self, target: Target) -> None:
        """Show *target*, which another pane leads to."""
        self._trail = [target]
        self._ask()

    def _ask(self) -> None:
        target = self._trail[-1]
        self.state("reading…")
        self.ask(Inspected, lambda: self._inspected(target))

    def _inspected(self, target: Target) -> tuple[str, list[Section[Target]]]:
        doc = self.kb.inspect_doc(target.doc_id)
        if target.chunk_id is None:
            sections = document_sections(doc, self.kb.chunks_of(target.doc_id))
            return f"Document {doc['doc_path']}", sections
        fetched = self.kb.fetch_chunk(target.chunk_id, context=_CONTEXT)
        number = fetched["chunk"]["ordinal"]
        return f"Chunk {number} of {doc['doc_path']}", chunk_sections(fetched, doc)

    @on(Inspected)
    def show_inspected(self, reply: Inspected) -> None:
        if self.is_stale(reply):
            return
        title, sections = reply.value
        self._list.border_title = Content(visible(title))
        self._list.show(sections)
        self.state("ready")

    def action_escape(self) -> None:
        """Go back to the last target, or to the pane that led here."""
        if len(self._trail) > 1:
            self._trail.pop()
            self._ask()
        else:
            self.post_message(LeaveInspect())

    @on(ChoiceList.Opened)
    def action_follow(self) -> None:
        target = self._list.target
        if target is None:
            self.state("this row leads nowhere")
        else:
            self._trail.append(target)
            self._ask()

    def action_fold(self) -> None:
        self._list.fold()

    def action_move(self, by: int) -> None:
        self._list.chosen += by

    def action_first(self) -> None:
        self._list.chosen = 0

    def action_last(self) -> None:
        self._list.chosen = self._list.count - 1

    def action_page(self, pages: int) -> None:
        self._list.page(pages)
