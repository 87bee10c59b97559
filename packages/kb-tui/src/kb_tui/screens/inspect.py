"""The inspect pane: all that is known of a document or a chunk, in sections that fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from kb_app.shown import bytes_text, local_time, visible
from kb_core.values import dataclass
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
_LABEL = 15
"""Cells of a label."""


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A line of a section; ``target`` is what it leads to, if anything."""

    text: str
    target: T | None = None
    label: str = ""
    """What the text is of, in a column of its own."""


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
    label: int = 0
    """Characters at the beginning that are a label."""


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

    def line(self, index: int, row: int, width: int) -> tuple[Content, str]:  # noqa: ARG002
        shown = self._rows[index]
        text = Content(shown.text).stylize(self.ink("label"), 0, shown.label)
        return text, "head" if shown.entry is None else "main"

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
                    self._rows += self._wrapped(number, at, entry, room)
        self.replace_rows(len(self._rows), note, chosen=chosen)

    def _wrapped(self, section: int, at: int, entry: Entry[T], room: int) -> Iterator[_Row]:
        label = f"{visible(entry.label):<{_LABEL}} " if entry.label else ""
        text = Content(visible(entry.text, keep="\n"))
        lines = text.wrap(max(_LEAST, room - len(label))) or [Content("")]
        for number, line in enumerate(lines):
            before = _INDENT + (label if not number else " " * len(label))
            yield _Row(section, at, before + line.plain, len(before) if label else 0)


Json: TypeAlias = Mapping[str, Any]
Sections: TypeAlias = list[Section[Target]]

_METADATA = {
    "doc_path": "path",
    "title": "title",
    "source_id": "source",
    "source_type": "kind of source",
    "trust_level": "trust",
    "media": "kind",
    "lang": "language",
    "code_lang": "code in",
    "repo": "repository",
    "repo_branch": "branch",
    "repo_commit": "commit",
    "tags": "tags",
    "aliases": "also called",
    "byte_len": "size",
    "chunk_count": "chunks",
    "doc_date": "dated",
    "created_at": "created",
    "updated_at": "changed",
    "indexed_at": "indexed",
    "doc_id": "id",
    "bytes_hash": "hash of bytes",
}
_CHUNK = {
    "doc_path": "path",
    "ordinal": "number",
    "heading_path": "under",
    "symbol": "symbol",
    "part": "part",
    "token_count": "tokens",
    "chunk_id": "id",
}
_TIMES = {"doc_date", "created_at", "updated_at", "indexed_at"}
_WORDS = {
    ("lang", "und"): "not told by the text",
    ("trust_level", "primary"): "primary: your own",
    ("trust_level", "secondary"): "secondary: from elsewhere",
    ("trust_level", "generated"): "generated by a program",
}
"""Values that say more as words."""
_STEPS = {"modified": "file changed", "parsed": "read by", "chunked": "cut by"}
_FIRST_LINE = 60


def document_sections(doc: Json, chunks: Iterable[Json], out: Json, into: Json) -> Sections:
    """Return the sections of ``doc_inspection.v1``, its chunks, and its links either way."""
    rows = list(chunks)
    return [
        Section("About", tuple(_metadata(doc))),
        Section("Where it is from", tuple(_provenance(doc))),
        *_optional("Warnings", (Entry(warning) for warning in doc["warnings"])),
        Section("Chunks", tuple(_chunk_entry(chunk) for chunk in rows)),
        Section("Found by meaning with", tuple(_coverage(rows))),
        Section("Outline", tuple(_block(block) for block in doc["blocks"]), is_open=False),
        *_optional("Links", (_link(link) for link in out["items"])),
        *_optional("Linked from", (_backlink(link) for link in into["items"])),
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
        Section("Found by meaning with", tuple(_embeddings(chunk))),
        Section("Before and after", tuple(_chunk_entry(other) for other in near)),
        Section("Document", (document, *_metadata(doc)), is_open=False),
        Section("Where it is from", tuple(_provenance(doc)), is_open=False),
    ]


def _optional(title: str, entries: Iterable[Entry[Target]]) -> Iterator[Section[Target]]:
    rows = tuple(entries)
    if rows:
        yield Section(title, rows)


def _metadata(doc: Json) -> Iterator[Entry[Target]]:
    yield from _fields(doc, _METADATA)
    for key, value in _flat(doc.get("metadata") or {}):
        yield Entry(_shown(value), label=key)


def _flat(metadata: Json, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield metadata with the names of nested ones joined, as in ``dates.modified``."""
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _fields(found: Json, names: Mapping[str, str], **more: str) -> Iterator[Entry[Target]]:
    for label, text in more.items():
        yield Entry(text, label=label)
    for name, label in names.items():
        value = found.get(name)
        if value not in (None, [], ""):
            yield Entry(_field(name, value), label=label)


def _field(name: str, value: Any) -> str:  # noqa: ANN401 - of JSON
    if name in _TIMES:
        return local_time(value)
    if name == "byte_len":
        return bytes_text(value)
    if name == "heading_path":
        return " › ".join(value)
    return _WORDS.get((name, str(value))) or _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _provenance(doc: Json) -> Iterator[Entry[Target]]:
    for step in doc["provenance"]:
        detail = step.get("detail") or ""
        what = _STEPS.get(step["kind"], step["kind"])
        yield Entry(f"{local_time(step['at'])}  {what:<12} {detail}")


def _block(block: Json) -> Entry[Target]:
    what = " ".join(filter(None, (block["kind"], block.get("symbol_kind"), block.get("symbol"))))
    path = " › ".join(block["heading_path"])
    at = f"{block['char_start']:,}-{block['char_end']:,}"
    return Entry(f"{what:<12} {path}  (characters {at})".replace("   (", "  ("))


def _link(link: Json) -> Entry[Target]:
    """Return a link, which leads to its document where it leads to one."""
    leads = f"→ {link['doc_path']}" if "doc_id" in link else "leads to nothing here"
    said = "  ".join(dict.fromkeys(filter(None, (link["target"], link.get("text", "")))))
    target = Target(link["doc_id"]) if "doc_id" in link else None
    return Entry(f"{link['kind']}: {said}  {leads}", target)


def _backlink(link: Json) -> Entry[Target]:
    place = link.get("citation", {})
    line = f":{place['start']}" if place.get("kind") == "line" else ""
    return Entry(f"{link['doc_path']}{line}  {link.get('excerpt', '')}", Target(link["doc_id"]))


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


_MOST_LINKS = 10_000
"""As many as a document keeps."""


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
        self.set_focus(self._list)

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
            out, into = (
                self.kb.links(target.doc_id, backlinks=way, limit=_MOST_LINKS)
                for way in (False, True)
            )
            sections = document_sections(doc, self.kb.chunks_of(target.doc_id), out, into)
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
