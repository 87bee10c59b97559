"""A publication that is interrupted at any write is not seen, and is repeated exactly."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kb_core.errors import IoError
from kb_core.ports import IndexSnapshot
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus, file_row
from kb_core.testing.fakes import HashEmbedder
from kb_search.milvus import Place

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_EMBEDDER = HashEmbedder(8)


def _everything(snapshot: IndexSnapshot) -> object:
    asked = LexicalQuery((Clause("apples pears nuts plums"),))
    words = snapshot.lexical(asked, None, 10)
    near = snapshot.vector(_EMBEDDER.embed_query("apples"), _EMBEDDER.model.key, None, 10)
    docs = [(doc["path"], snapshot.doc_text(doc["doc_id"])) for doc in snapshot.docs(None)]
    files = [(row["path"], row["state"]) for row in snapshot.files(None)]
    return docs, files, words, near, snapshot.count(None), snapshot.control.sequence


def test_the_next_writer_takes_back_what_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kb_search.milvus.engine import Engine
    from kb_search.milvus.reader import Reader
    from kb_search.milvus.writer import Writer

    corpus = Corpus(_EMBEDDER)
    first = corpus.publication(
        *(corpus.document(f"{n}.md", f"apples and pears {n}") for n in range(3)),
        files=[file_row("0.md"), file_row("1.md")],
    )
    second = corpus.publication(
        corpus.document("0.md", "plums\n\nand nuts"),
        removed=["1.md"],
        forgotten=[("notes", "1.md")],
    )
    write, left = Engine.upsert, [0]

    def failing(self: Engine, name: str, rows: Iterable[Any], *, partial: bool = False) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise IoError("the line is cut")
        write(self, name, rows, partial=partial)

    monkeypatch.setattr(Engine, "upsert", failing)
    whole: list[object] = []
    is_done = False
    for at in range(40):
        place = Place(uri=str(tmp_path / "milvus.db"), collection=f"t{at}")
        left[0] = 1000
        with Writer(place) as writer:
            writer.publish(first)
        before = _everything(Reader(place).snapshot())
        left[0] = at
        try:
            Writer(place).publish(second)
        except IoError:
            assert _everything(Reader(place).snapshot()) == before, at
        left[0] = 1000
        with Writer(place) as writer:
            is_done = writer.control is not None and writer.control.sequence == second.sequence
            assert is_done or _everything(Reader(place).snapshot()) == before, at
            writer.publish(second)
        whole.append(_everything(Reader(place).snapshot()))
        if is_done:
            break
    assert is_done
    assert len(whole) > 5
    assert all(found == whole[-1] for found in whole)
