"""What passages are ranked by: made here, or beside other work, in another process.

Nothing of an index is looked at, and what is handed over of a document is all that counts, so
whoever makes its terms makes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from kb_core.records import ChunkRecord, DocumentRecord
from kb_search.schema import Terms, lengths_of, scored_texts, streams_of, told_again

__all__ = [
    "Asked",
    "Companion",
    "Passage",
    "Task",
    "Told",
    "terms_beside",
    "terms_of",
    "terms_of_all",
]

_PASSAGES_AT_ONCE = 200
"""A task of these takes ten milliseconds, beside which handing it over is nothing."""


class Passage(NamedTuple):
    """What of a chunk decides its terms."""

    text: str
    heading_path: Sequence[str]
    symbol: str | None


class Asked(NamedTuple):
    """What of a document decides the terms of its chunks."""

    title: str
    path: str
    media: str
    code_lang: str | None
    lang: str | None
    chunks: Sequence[Passage]


Task: TypeAlias = Sequence[Asked]
Told: TypeAlias = Sequence[Sequence[Terms]]
"""What ``terms_of_all`` makes of a task."""


class Companion(Protocol):
    """A process that does ``terms_of_all`` beside this one."""

    def __call__(self, tasks: Sequence[Task], /) -> Iterator[Told | None]:
        """Hand over *tasks*; return what waits for each of them, in their order.

        ``None`` is one that was lost. May be called while what came of the tasks before is still
        taken, in another thread; of those nothing may be taken any more once something of later
        ones was.
        """
        ...

    def close(self) -> None:
        """End the process; closing twice is harmless."""
        ...


def terms_of(doc: DocumentRecord | Asked) -> Iterator[Terms]:
    """Yield the terms of the chunks of a document, one after the other."""
    seen: set[str] = set()
    has_several = len(doc.chunks) > 1
    for chunk in doc.chunks:
        texts = scored_texts(chunk, doc, streams_of(chunk, doc))
        again = told_again(texts["stem"], seen) if has_several else ""
        yield Terms(texts, lengths_of(texts), again)


def terms_of_all(docs: Task) -> Told:
    """Return the terms of the chunks of each document."""
    return [list(terms_of(doc)) for doc in docs]


def terms_beside(
    documents: Iterable[DocumentRecord], companion: Companion
) -> Iterator[tuple[DocumentRecord, Iterable[Terms]]]:
    """Have the terms of *documents* made by *companion* from now on; return what waits for each.

    What is lost there is made where it is waited for.
    """
    batches = list(_batches(documents))
    return _told(batches, companion([list(map(_asked, batch)) for batch in batches]))


def _told(
    batches: Iterable[Sequence[DocumentRecord]], told: Iterator[Told | None]
) -> Iterator[tuple[DocumentRecord, Iterable[Terms]]]:
    for batch, found in zip(batches, told, strict=True):
        yield from zip(batch, map(terms_of, batch) if found is None else found, strict=True)


def _batches(documents: Iterable[DocumentRecord]) -> Iterator[list[DocumentRecord]]:
    batch: list[DocumentRecord] = []
    passages = 0
    for doc in documents:
        batch.append(doc)
        passages += len(doc.chunks)
        if passages >= _PASSAGES_AT_ONCE:
            yield batch
            batch, passages = [], 0
    if batch:
        yield batch


def _asked(doc: DocumentRecord) -> Asked:
    chunks = list(map(_passage, doc.chunks))
    return Asked(doc.title, doc.path, doc.media, doc.code_lang, doc.lang, chunks)


def _passage(chunk: ChunkRecord) -> Passage:
    return Passage(chunk.text, chunk.heading_path, chunk.symbol)
