"""What a knowledge base is made of: the parts, whoever chose them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from kb_core.errors import ModelMissing
from kb_core.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from kb_app._write import WriteSession
    from kb_core.control import EmbeddingModel
    from kb_core.execution import Executors
    from kb_core.ports import (
        Clock,
        CloseReader,
        Embedder,
        IndexReader,
        LanguageModel,
        Reranker,
        Store,
    )
    from kb_core.stored import QueryResult

__all__ = ["Parts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How to get each part. Calling costs what the part costs; holding this costs nothing."""

    reader: Callable[[], IndexReader]
    """A new reader; whoever asks closes it."""
    session: Callable[[], WriteSession]
    """Become the one writer; raises ``StoreBusy`` if another process is, for too long."""
    lock: Callable[[], AbstractContextManager[object]]
    """The lock of the one writer, for what is no session: not taken yet."""
    calm: Callable[[], AbstractContextManager[object]]
    """Keep writers out, for who only looks; nothing is made."""
    session_in: Callable[[Path], WriteSession]
    """Become the one writer of another data directory, such as one that is being imported."""
    describe: Callable[[], Mapping[str, Any]]
    """Open the store for reading and return what it says of itself."""
    salvage: Callable[[Path, Path], tuple[Store, list[str]]]
    """Make a new store, the second path, of what can be read of the first; say what cannot."""
    examine: Callable[[], list[str]]
    """Open the store and return what is wrong with it."""
    is_cut_off: Callable[[], bool] = lambda: False
    """Say whether the file of the store has a size that none has; it is there, and not opened."""
    examine_index: Callable[[], list[str]]
    """Read every file of the index and return what is wrong with them."""
    keep_safe: Callable[[bool], str | None]
    """Make a safety copy where one is due, after a run with changes or without; say why not.

    For the holder of the lock."""
    engine: Callable[[], str | None] = lambda: None
    """What an engine says that is not in the data directory; raises where it is not reached."""
    collections: Callable[[], Sequence[str]] = tuple
    """Name the collections of an index that is not in the data directory; raises where another
    store made them."""
    drop_index: Callable[[], Sequence[str]] = tuple
    """Drop these, likewise. For the holder of the lock."""
    over: Callable[[str, Callable[[int], object]], Parts]
    """The same over the index of another engine; told how many passages a rebuild has taken."""
    query: Callable[[str, int, float], QueryResult]
    """Ask the store in SQL, for so many rows, for so many seconds."""
    model: Callable[[], EmbeddingModel | None]
    """The model whose vectors are searched, described; ``None`` where there is none.

    Raises ``ModelMissing`` where one is configured and its folder is not there."""
    embedder: Callable[[], Embedder]
    """The one embedder, from any thread; loaded at the first call."""
    embed_ahead: Callable[[str], None] = lambda _: None
    """Have it read a query beside what is done until its vector is needed, if it is not loaded."""
    reranker: Callable[[], Reranker]
    close_reader: Callable[[], CloseReader]
    """What reads passages for answers; raises ``InvalidInput`` where the model cannot."""
    language_model: Callable[[], LanguageModel | None]
    """What writes answers; ``None`` where they are sentences of the documents."""
    executor: Executors
    """What does tasks; nothing starts before there is something to do."""
    clock: Clock

    def model_or_absence(self) -> tuple[EmbeddingModel | None, ModelMissing | None]:
        """The model, or what says that it is not there, for who goes on without it."""
        try:
            return self.model(), None
        except ModelMissing as error:
            return None, error
