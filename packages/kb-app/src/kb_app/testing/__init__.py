"""A searchable index for tests: real engine, real files, vectors made by hashing words.

Nothing outside tests imports this.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._search.engine import Engine
from kb_app._search.settings import SearchSettings
from kb_core.records import DocumentRecord, Publication
from kb_core.testing.documents import NOW, Corpus
from kb_core.testing.fakes import HashEmbedder
from kb_core.values import replace
from kb_search.reader import Reader
from kb_search.writer import Writer

if TYPE_CHECKING:
    import pytest

    from kb_core.ports import IndexSnapshot, Reranker

__all__ = ["SearchWorld", "keys_read", "random_documents"]

_WORDS = (
    *("alpha", "beta", "gamma", "delta", "search", "searching", "index", "indexes", "chunk"),
    *("parseHTTPRequest", "snake_case_name", "dotted.name", "DEC-0054", "한국어", "검색", "搜索"),
    *("résumé", "the", "of", "a", "quick", "brown", "fox", "lock", "writer", "reader"),
)


class SearchWorld:
    """An index in *folder*, a corpus that publishes into it, and engines over it."""

    def __init__(self, folder: Path) -> None:
        self.embedder = HashEmbedder(32)
        self.corpus = Corpus(self.embedder)
        self._folder = folder

    def put(self, *documents: DocumentRecord, **changes: Any) -> None:  # noqa: ANN401
        """Publish documents; *changes* as ``Corpus.publication`` takes them."""
        self.publish(self.corpus.publication(*documents, **changes))

    def publish(self, publication: Publication) -> None:
        """Publish what the corpus made, perhaps changed."""
        with closing(Writer(self._folder)) as writer:
            writer.publish(publication)

    def write(self, *texts: str, **fields: Any) -> None:  # noqa: ANN401
        """Publish one document per text: ``0.md``, ``1.md`` and on."""
        made = [self.corpus.document(f"{n}.md", text, **fields) for n, text in enumerate(texts)]
        self.put(*made)

    def snapshot(self) -> IndexSnapshot:
        """Return the newest state."""
        return Reader(self._folder).snapshot()

    def engine(self, *, now: datetime = NOW, **settings: Any) -> Engine:  # noqa: ANN401
        """Return an engine over the newest state."""
        wanted = SearchSettings(model_key=self.embedder.model.key)
        return Engine(
            self.snapshot(),
            replace(wanted, **settings),
            embed=self.embedder.embed_query,
            reranker=_no_reranker,
            now=int(now.timestamp()),
        )


def _no_reranker() -> Reranker:
    raise AssertionError("this world has no reranker")


def keys_read(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the keys of the passages that *engine* reads from now on."""
    chunks, read = engine.snapshot.chunks, set[int]()

    def noted(keys: Sequence[int]) -> Any:  # noqa: ANN401 - as it is
        read.update(keys)
        return chunks(keys)

    monkeypatch.setattr(engine.snapshot, "chunks", noted)
    return read


def random_documents(corpus: Corpus, seed: int, count: int) -> Sequence[DocumentRecord]:
    """Return *count* documents of random words that differ in all that filters see."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    folders = ("", "docs/", "docs/deep/", "src/")
    made = []
    for n in range(count):
        paragraphs = [
            " ".join(chance.choices(_WORDS, k=chance.randint(1, 30)))
            for _ in range(chance.randint(1, 4))
        ]
        suffix = chance.choice(("md", "md", "py", "txt"))
        made.append(
            corpus.document(
                f"{chance.choice(folders)}{n}.{suffix}",
                "\n\n".join(paragraphs),
                tags=tuple(chance.sample(("red", "green", "blue"), chance.randint(0, 2))),
                trust_level=chance.choice(("primary", "secondary", "generated")),
                source_id=chance.choice(("notes", "work")),
                source_type=chance.choice(("note", "mail")),
                repo=chance.choice((None, "kebab", "other")),
                doc_date=datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=chance.randint(0, 999)),
            )
        )
    return made
