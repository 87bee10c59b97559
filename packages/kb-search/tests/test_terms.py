"""Terms are the same whoever makes them, of prose, code and scripts without spaces alike."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kb_core.records import DocumentRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_core.values import replace
from kb_search.reader import Reader
from kb_search.terms import Task, Told, terms_beside, terms_of, terms_of_all
from kb_search.writer import Writer

_TEXTS = {
    "prose.md": "# Lighthouses\n\nThe keepers' lamps are lit.\n\nThe lamps are lit again, twice.",
    "links.md": "- [one](a.md)\n- [two](b.md)\n- [three](c.md)\n- [four](d.md)",
    "한국어.md": "벡터 검색은 빠르다.\n\n搜索很快。 검색 naïve résumé",
    "empty.md": "",
}
_CODE = "def takeLease(self):\n    return self.leasePool.acquire('c++')\n"


class Elsewhere:
    """A companion that has tasks pickled, as a process would, and loses every third of them."""

    def __init__(self, losing: bool = False) -> None:
        self.losing, self.is_closed, self.tasks = losing, False, 0

    def __call__(self, tasks: Sequence[Task], /) -> Iterator[Told | None]:
        frames = list(map(pickle.dumps, tasks))
        for frame in frames:
            self.tasks += 1
            is_lost = self.losing and self.tasks % 3 == 0
            yield None if is_lost else pickle.loads(pickle.dumps(terms_of_all(pickle.loads(frame))))

    def close(self) -> None:
        self.is_closed = True


def _documents(corpus: Corpus) -> list[DocumentRecord]:
    made = [corpus.document(path, text, lang="en") for path, text in _TEXTS.items()]
    code = corpus.document("lease.py", _CODE, media="code", code_lang="python")
    chunks = tuple(replace(c, symbol="LeasePool.takeLease") for c in code.chunks)
    return [*made, replace(code, chunks=chunks)]


def test_terms_that_are_made_elsewhere_are_those_that_are_made_here(tmp_path: Path) -> None:
    documents = _documents(Corpus()) * 50
    here = [list(terms_of(doc)) for doc in documents]

    for companion in (Elsewhere(), Elsewhere(losing=True)):
        told = [(doc, list(terms)) for doc, terms in terms_beside(documents, companion)]

        assert [doc for doc, _ in told] == documents
        assert [terms for _, terms in told] == here
        assert companion.tasks > 1


@pytest.mark.parametrize(
    ("code_lang", "text", "terms"),
    [
        ("json", r'{"t": "at last\nGr\u00fc\u00dfe\/\ud83d\ude00"}', "t at last grusse"),
        ("json", r'["C:\\new", "\u6771\u4eac"]', "c new"),
        ("json", r'["\ud83d lone", "\u12"]', "lone 12"),
        ("python", r'"at\new"', "at new"),
    ],
)
def test_escapes_of_json_are_what_they_stand_for(code_lang: str, text: str, terms: str) -> None:
    told = Corpus().document("notes", text, media="code", code_lang=code_lang, lang="en")

    ((texts, _, _),) = terms_of(told)

    assert texts["exact"] == terms
    assert ("東京" in texts["cjk"]) == (r"\u6771" in text)


def test_a_writer_has_many_terms_made_beside_and_lets_the_companion_go(tmp_path: Path) -> None:
    corpus, companion = Corpus(), Elsewhere(losing=True)
    many = [
        corpus.document(f"{n}.md", "\n\n".join(f"The lamp {n} of bay {m}." for m in range(100)))
        for n in range(20)
    ]
    first = corpus.publication(*_documents(corpus))
    second = corpus.publication(*many)

    with closing(Writer(tmp_path / "beside", lambda: companion)) as writer:
        writer.prepare(first)()
        assert companion.tasks == 0
        writer.prepare(second)()
        assert companion.tasks
    assert companion.is_closed
    with closing(Writer(tmp_path / "here")) as writer:
        writer.publish(first)
        writer.publish(second)

    for text in ("lamp of bay 7", "takeLease pool", "검색", "lighthouse"):
        query = LexicalQuery((Clause(text),))
        beside, here = (
            Reader(tmp_path / name).snapshot().lexical(query, None, 50)
            for name in ("beside", "here")
        )
        assert here
        assert beside == here


def test_an_index_that_is_made_anew_has_its_terms_made_beside_and_is_the_same(
    tmp_path: Path,
) -> None:
    corpus = Corpus()
    batches = [
        corpus.publication(
            *(
                corpus.document(
                    f"{at}{n}.md", "\n\n".join(f"Lamp {at}{n} of {m}" for m in range(many))
                )
                for n in range(20)
            )
        )
        for at, many in (("a", 100), ("b", 3), ("c", 101), ("d", 102))
    ]
    companion = Elsewhere(losing=True)

    for name, find in (("beside", lambda: companion), ("here", lambda: None)):
        with closing(Writer(tmp_path / name, find)) as writer:
            writer.rebuild(batches)
    assert companion.tasks > 3
    assert companion.is_closed

    query = LexicalQuery((Clause("lamp b7 of 2"),))
    beside, here = (Reader(tmp_path / name).snapshot() for name in ("beside", "here"))
    assert beside.lexical(query, None, 5000) == here.lexical(query, None, 5000)
    assert beside.control.statistics == here.control.statistics
    assert len(here.lexical(query, None, 10_000)) == 20 * (100 + 3 + 101 + 102)
