"""Text that breaks programs: as a query and as the value of every filter, it is only text."""

from __future__ import annotations

import json
import os
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb_core.errors import InvalidInput
from kb_core.filters import FIELDS, Filter, Glob, Not, OneOf, Or, Tagged, Words
from kb_core.ports import IndexSnapshot
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search.milvus import Place
from kb_search.reader import Reader
from kb_search.writer import Writer

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_SHARED = Path(__file__).parents[4] / "shared" / "data" / "suites" / "naughty-strings"
_OURS = (
    *('"', "'", "\\", '\\"', '" or doc_key > 0 or path == "', "') or 1 == 1 --", "%", "_", "%%%"),
    *("a.md", "*.md", "**", "[", "[!]", "[]x]*", "?.md", "a_md", "\x00", "~", "~25~"),
    *("|", "|a|", "a|b", " ", "{}", "$x", "true", "born >= 0", "\n", "한국어", "É", "😀"),
    *("alpha", "alp", '"alpha beta"', "beta alpha"),
)
_TEXTS = [each for each, kind in FIELDS.items() if kind is str]


def _naughty() -> list[str]:
    """Return what is tried: all of a well-known list, or some of it, and ours."""
    file = _SHARED / "blns.json"
    known: list[str] = json.loads(file.read_text("utf-8")) if file.exists() else []
    if "lite" not in os.environ.get("KEBAB_TEST_MILVUS", ""):
        known = known[::30]
    return [*_OURS, *known]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexSnapshot, IndexSnapshot]:
    """The same documents in both engines; some are called and tagged with such text."""
    from kb_search.milvus.reader import Reader as MilvusReader
    from kb_search.milvus.writer import Writer as MilvusWriter

    folder = tmp_path_factory.mktemp("naughty")
    corpus = Corpus()
    names = ["a.md", "a_md", "sub/%.md", "[x].md", 'q"uote.md', "b's.md", "back\\slash.md", "~.md"]
    step = corpus.publication(
        *(
            corpus.document(name, f"alpha beta {n}", tags=(name, f"{name}/below"))
            for n, name in enumerate(names)
        )
    )
    place = Place(uri=str(folder / "milvus.db"))
    with closing(Writer(folder)) as embedded, closing(MilvusWriter(place)) as milvus:
        embedded.publish(step)
        milvus.publish(step)
    return Reader(folder).snapshot(), MilvusReader(place).snapshot()


def test_a_value_of_a_filter_is_nothing_but_a_value(
    both: tuple[IndexSnapshot, IndexSnapshot],
) -> None:
    """What passes is what passes in the embedded engine, also where the filter is turned round."""
    for value in _naughty():
        filters: list[Filter] = [
            Or(tuple(OneOf(field, (value,)) for field in _TEXTS)),
            Not(Or(tuple(OneOf(field, (value,)) for field in _TEXTS))),
            Or((Tagged((value,)), Words("body", value, phrase=True), Words("title", value))),
        ]
        filters += [Glob(value)] if value else []
        for where in filters:
            assert _count(both[0], where) == _count(both[1], where), (value, where)


def test_a_query_is_nothing_but_words(both: tuple[IndexSnapshot, IndexSnapshot]) -> None:
    for text in _naughty():
        wanted = LexicalQuery((Clause(text), Clause(text, phrase=True, kind="must_not")))
        one, other = (
            [found.chunk_key for found in snapshot.lexical(wanted, None, 10)] for snapshot in both
        )
        assert one == other, text


def _count(snapshot: IndexSnapshot, where: Filter) -> int | str:
    try:
        return snapshot.count(where)
    except InvalidInput as error:
        return str(error.details["field"])
