"""What a batch of changes means: who keeps which key, and what the index is owed.

Decided purely, before anything is written, and the same for every store. All moves of a batch
happen at once, so files that swapped their names, or moved along a chain, each keep their own
key. Where entries contend for a stored document, a move wins over a replacement, and a
replacement over a deletion.

A chunk keeps its key while its id and its passage stay the same, and a moved one while its
passage does; every other chunk gets a key that was never given before. A key therefore stands
for one passage for ever, which is what lets vector files and postings refer to it without
looking back.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from kb_core.errors import InvalidInput, KbError
from kb_core.ids import text_hash
from kb_core.records import Changes, ChunkRecord, DocumentRecord
from kb_core.values import dataclass, field

__all__ = [
    "Decided",
    "Kept",
    "Outbox",
    "Write",
    "check_changes",
    "decide",
    "keep_keys",
    "named_ids",
    "passage_hash",
]


@dataclass(frozen=True, slots=True)
class Write:
    """A document to write."""

    doc_key: int
    document: DocumentRecord
    moved_from: str | None = None
    """The id it had until now, where that was another."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Documents to write, and keys of documents that go."""

    writes: tuple[Write, ...]
    removed: tuple[int, ...]

    @property
    def touched(self) -> list[int]:
        """Return the keys of every document concerned."""
        return [write.doc_key for write in self.writes] + list(self.removed)

    @property
    def moves(self) -> dict[str, str]:
        """Return the new ids of documents that moved, by old id."""
        return {w.moved_from: w.document.doc_id for w in self.writes if w.moved_from is not None}


def decide(
    changes: Changes,
    stored: Mapping[str, int],
    mint: Callable[[], int],
    enclosed: Mapping[str, int] | None = None,
) -> Decided:
    """Decide for *changes*; *stored* has the keys of all documents they name that exist.

    *enclosed* has the keys of the documents within those: what is not written, moved or kept
    of them goes, since a file is replaced, moved and deleted whole.
    """
    kept = set(changes.kept)
    enclosed = {doc_id: key for doc_id, key in (enclosed or {}).items() if doc_id not in kept}
    free = {**enclosed, **stored}
    moved = []
    replacing = list(changes.documents)
    for move in changes.moves:
        key = free.pop(move.old_doc_id, None)
        if key is None:
            replacing.append(move.document)
        else:
            moved.append((key, move))
    # Only now is it known which documents are left to be replaced, or to make way.
    writes = []
    for document in replacing:
        key = free.pop(document.doc_id, None)
        writes.append(Write(mint() if key is None else key, document))
    removed = []
    for key, move in moved:
        doc_id = move.document.doc_id
        removed.extend([free.pop(doc_id)] if doc_id in free else [])
        writes.append(
            Write(key, move.document, move.old_doc_id if move.old_doc_id != doc_id else None)
        )
    gone = dict.fromkeys((*changes.deleted_docs, *enclosed))
    removed.extend(free.pop(doc_id) for doc_id in gone if doc_id in free)
    return Decided(tuple(writes), tuple(removed))


def check_changes(changes: Changes) -> None:
    """Refuse a batch that would make the truth contradict itself."""
    documents = [*changes.documents, *(move.document for move in changes.moves)]
    for doc_id, times in Counter(document.doc_id for document in documents).items():
        if times > 1:
            raise KbError(f"document {doc_id!r} is {times} times in one batch")
    for document in documents:
        _check_text(document)
        _check_chunks(document)


def _check_text(document: DocumentRecord) -> None:
    try:
        document.text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the text of {document.path!r} has a lone surrogate at character {error.start}",
            details={"path": document.path, "position": error.start},
        ) from error


def _check_chunks(document: DocumentRecord) -> None:
    text = document.text
    if len({chunk.chunk_id for chunk in document.chunks}) != len(document.chunks):
        raise KbError(f"two chunks of {document.path!r} have one id")
    for ordinal, chunk in enumerate(document.chunks):
        if chunk.ordinal != ordinal:
            raise KbError(f"chunk {ordinal} of {document.path!r} has ordinal {chunk.ordinal}")
        if not 0 <= chunk.start <= chunk.end or text[chunk.start : chunk.end] != chunk.text:
            raise KbError(f"chunk {ordinal} of {document.path!r} is not the text of its range")


def named_ids(changes: Changes) -> set[str]:
    """Return the ids of all documents that *changes* name."""
    return {
        *(document.doc_id for document in changes.documents),
        *(move.old_doc_id for move in changes.moves),
        *(move.document.doc_id for move in changes.moves),
        *changes.deleted_docs,
    }


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a stored chunk decides whether its key is kept."""

    chunk_key: int
    chunk_id: str
    passage_hash: str


def passage_hash(chunk: ChunkRecord) -> str:
    """Return the chunk's passage hash, computed where the record has none."""
    return chunk.passage_hash or text_hash(chunk.passage)


def keep_keys(
    old: Iterable[Kept],
    new: Sequence[ChunkRecord],
    mint: Callable[[], int],
    *,
    moved: bool,
) -> list[int]:
    """Return a key for every chunk of *new*: an old one where the chunk is the same."""
    keys: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for stored in old:
        keys["" if moved else stored.chunk_id, stored.passage_hash].append(stored.chunk_key)
    kept = []
    for chunk in new:
        same = keys.get(("" if moved else chunk.chunk_id, passage_hash(chunk)))
        kept.append(same.popleft() if same else mint())
    return kept


@dataclass(slots=True)
class Outbox:
    """What one commit touched, or many."""

    documents: set[int] = field(default_factory=set)
    dead_chunks: set[int] = field(default_factory=set)
    vectors: set[tuple[str, int]] = field(default_factory=set)
    """Model key and chunk key of vectors that the vector files lack."""
    files: set[tuple[str, str]] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    """Old document ids."""
