"""Milvus ranks as the embedded engine does: the same passages, the same questions."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb_core.ports import IndexSnapshot
from kb_core.records import ChunkRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder
from kb_search.milvus import Place
from kb_search.reader import Reader
from kb_search.writer import Writer

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_GUIDE = Path(__file__).parents[3] / "docs" / "guide"
_EMBEDDER = HashEmbedder(32)
_PAGES = 9
_QUESTIONS = 30


def test_the_first_ten_are_those_of_the_embedded_engine(tmp_path: Path) -> None:
    from kb_search.milvus.reader import Reader as MilvusReader
    from kb_search.milvus.writer import Writer as MilvusWriter

    corpus = Corpus(_EMBEDDER)
    pages = sorted(_GUIDE.glob("*.md"))[:_PAGES]
    docs = [corpus.document(page.name, page.read_text("utf-8")[:4000]) for page in pages]
    steps = [corpus.publication(*docs)]
    # What was counted of documents that went has to be taken back.
    docs = [corpus.document(docs[0].path, docs[0].text.upper()), *docs[2:]]
    steps.append(corpus.publication(docs[0], removed=[pages[1].name]))
    place = Place(uri=str(tmp_path / "milvus.db"))
    with closing(Writer(tmp_path)) as embedded, closing(MilvusWriter(place)) as milvus:
        for step in steps:
            embedded.publish(step)
            milvus.publish(step)
    one, other = Reader(tmp_path).snapshot(), MilvusReader(place).snapshot()
    asked = _questions([chunk for doc in docs for chunk in doc.chunks])

    assert one.count(None) > 100
    assert one.statistics.documents == other.statistics.documents == len(docs) + 1
    for channel in (_by_words, _by_meaning):
        lists = [(channel(one, text), channel(other, text)) for text, _ in asked]
        shared = [len(set(a) & set(b)) / max(1, len(a)) for a, b in lists]
        keys = [key for _, key in asked]
        ours, theirs = (
            [_ndcg(found[side], key) for found, key in zip(lists, keys, strict=True)]
            for side in (0, 1)
        )
        assert sum(shared) / len(shared) >= 0.9
        assert abs(sum(ours) - sum(theirs)) / len(asked) <= 0.01


def _questions(chunks: Sequence[ChunkRecord]) -> list[tuple[str, int]]:
    """Return some words of passages, and the key of the passage that they are of."""
    chance = random.Random(1)
    words = ((re.findall(r"[a-z]{4,}", chunk.text), chunk.chunk_key) for chunk in chunks)
    drawn = chance.sample([pair for pair in words if len(pair[0]) >= 8], _QUESTIONS)
    asked = [(chance.sample(found, 5), key) for found, key in drawn]
    # With typing errors, too: both read the same words in place of those.
    wrong = [
        ([word[:-2] + word[-1] for word in found[:2]] + found[2:], key) for found, key in asked
    ]
    return [(" ".join(found), key) for found, key in [*asked, *wrong[:10]]]


def _by_words(snapshot: IndexSnapshot, text: str) -> list[int]:
    found = snapshot.lexical(LexicalQuery((Clause(text),)), None, 10)
    return [scored.chunk_key for scored in found]


def _by_meaning(snapshot: IndexSnapshot, text: str) -> list[int]:
    found = snapshot.vector(_EMBEDDER.embed_query(text), _EMBEDDER.model.key, None, 10)
    return [scored.chunk_key for scored in found]


def _ndcg(found: Sequence[int], wanted: int) -> float:
    return sum(1 / math.log2(rank + 2) for rank, key in enumerate(found) if key == wanted)
