"""Ranking by words, over a real index: nothing comes back empty, and near words rank first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, strategies as st

from kb_core.clock import to_epoch
from kb_core.filters import And, Filter, Glob, Not, OneOf, Or, Range, Tagged, Words
from kb_core.records import DocumentRecord
from kb_core.search import Clause, ClauseKind, LexicalQuery, Scored
from kb_core.testing.documents import Corpus
from kb_search.lexical import better_of, build_ranking, requirements, satisfiable
from kb_search.narrowing import build_filter
from kb_search.opening import open_index
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot
from kb_search.weighing import Weights, inform
from kb_search.writer import Writer

if TYPE_CHECKING:
    from tantivy import Searcher

HELD = ["parseHTTPRequest", "snake_case_name", "os.path.join", "DEC-0054", "C++", "café"]
HELD += ["write-ahead", "v1.2.3", "지식베이스", "検索", "running", "Größe", "module::item"]
PARTS = ["parse", "http", "request", "snake", "case", "path", "join", "dec", "0054", "cafe"]
PARTS += ["ahead", "지식", "run", "grosse", "item", "PARSE_HTTP", "httpRequest", "path.join"]
NEVER = ["zebra", "quux-frob", "what", "the", "of", "fooBarBaz", "없는말", "9f8e7d", "?!", "«"]

KINDS: st.SearchStrategy[ClauseKind] = st.sampled_from(["should", "must", "must_not"])


def snapshot_of(folder: Path, texts: list[str]) -> Snapshot:
    corpus = Corpus()
    documents = [corpus.document(f"{n:03}.md", text, title="x") for n, text in enumerate(texts)]
    with closing(Writer(folder)) as writer:
        writer.publish(corpus.publication(*documents))
    return Reader(folder).snapshot()


def search(snapshot: Snapshot, *clauses: str | Clause, limit: int = 100) -> list[str]:
    made = LexicalQuery(tuple(Clause(c) if isinstance(c, str) else c for c in clauses))
    keys = [row.chunk_key for row in snapshot.lexical(made, None, limit)]
    chunks = snapshot.chunks(keys)
    return [chunks[key]["text"] for key in keys]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("D'Angelo", "Dangelo sings"),
        ("L’Oréal", "Loreal sells"),
        ('"L\'Oréal"', "Loreal sells"),
        ("dell'arte-nova", "dellarte-nova plays"),
        ("loreal", "chez L'Oréal"),
        ("L'Oréal", "chez L'Oréal"),
    ],
)
def test_a_name_is_found_with_its_apostrophe_and_without(
    tmp_path: Path, query: str, text: str
) -> None:
    asked = Clause(query.strip('"'), phrase=query.startswith('"'), kind="must")
    snapshot = snapshot_of(tmp_path, [text, "something else"])

    assert search(snapshot, query) == [text]
    assert search(snapshot, asked) == [text]


def test_a_word_that_is_written_with_its_article_ranks_as_without(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, ["avion passe", "l'avion passe", "rien ne passe"])
    query = LexicalQuery((Clause("l'avion"),))

    first, second = snapshot.lexical(query, None, 10)

    assert first.score == second.score


@pytest.fixture(scope="module")
def identifiers(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    texts = [f"passage {held} number {n}" for n, held in enumerate(HELD)]
    return snapshot_of(tmp_path_factory.mktemp("identifiers"), texts)


@given(
    known=st.sampled_from(HELD + PARTS),
    others=st.lists(st.sampled_from(NEVER) | st.text(max_size=12), max_size=60),
    at=st.integers(0, 60),
)
def test_18_a_question_finds_something_if_a_word_of_it_is_there(
    identifiers: Snapshot, known: str, others: list[str], at: int
) -> None:
    question = " ".join([*others[:at], known, *others[at:]])

    assert search(identifiers, question)


def test_what_a_question_asks_of_ranks_before_what_code_calls_so(tmp_path: Path) -> None:
    """Where few passages have a word that asks, it is a name, and the rarest of the question."""
    told = "timeout = DEFAULT;  /* the default connect timeout */"
    named = "what = check(socket, timeout); if(what < 0) connect();"
    texts = [named, told, *(f"connect({n}); timeout default" for n in range(40))]
    snapshot = snapshot_of(tmp_path, texts)

    assert search(snapshot, "What is the default connect timeout?")[0] == told
    assert search(snapshot, "what")[0] == named


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How does parseHTTPRequest decide what a request is?", "parseHTTPRequest"),
        ("where do we call parse_http_request", "parseHTTPRequest"),
        ("snakeCaseName", "snake_case_name"),
        ("what joins parts of a os.path", "os.path.join"),
        ("decision dec 54 or DEC-0054?", "DEC-0054"),
        ("is there C++ code", "C++"),
        ("the write ahead log of the store", "write-ahead"),
        ("since v1.2.3", "v1.2.3"),
        ("module.item", "module::item"),
    ],
)
def test_an_identifier_is_found_however_it_is_written(
    identifiers: Snapshot, question: str, found: str
) -> None:
    assert found in search(identifiers, question)[0]


@pytest.mark.parametrize("query", ["ItemCache.refresh", "where is ItemCache.refresh", "Abc::drop"])
def test_what_is_asked_for_in_another_thing_comes_before_that(tmp_path: Path, query: str) -> None:
    """A class says its own name more often than one of its methods does."""
    texts = {
        "ItemCache": "class ItemCache: ItemCache, an ItemCache",
        "ItemCache.refresh": "def refresh of it",
        "ItemCache.clear": "def clear of ItemCache",
        "Other.refresh": "def refresh: refresh, refresh",
        "Abc::drop": "to drop",
        "Abc": "struct Abc, Abc, Abc, drop, drop, drop",
    }
    found = search(called(tmp_path, texts), query)

    assert found[0] == texts[query.rsplit(maxsplit=1)[-1]]


def called(folder: Path, texts: Mapping[str, str]) -> Snapshot:
    """Return an index of passages by the names that they define."""
    corpus, documents = Corpus(), []
    for n, (symbol, text) in enumerate(texts.items()):
        made = corpus.document(f"{n}.py", text, title="x")
        chunks = tuple(replace(chunk, symbol=symbol) for chunk in made.chunks)
        documents.append(replace(made, chunks=chunks))
    with closing(Writer(folder)) as writer:
        writer.publish(corpus.publication(*documents))
    return Reader(folder).snapshot()


@pytest.mark.parametrize(("query", "first"), [("encode utf8 streams", "encode"), ("Utf8", "Utf8")])
def test_a_word_of_letters_and_digits_is_no_name_that_only_code_spells(
    tmp_path: Path, query: str, first: str
) -> None:
    """What is called so came before all that says the other words."""
    texts = {
        "Utf8": "class Utf8: of Utf8",
        "encode": "def encode: streams of Utf8, which it encodes",
        **{f"other{n}": f"other text {n}" for n in range(40)},
    }

    assert search(called(tmp_path, texts), query)[0] == texts[first]


def test_words_side_by_side_rank_above_the_same_words_apart(tmp_path: Path) -> None:
    filler = [f"other text {n}" for n in range(60)]
    snapshot = snapshot_of(
        tmp_path, ["vector lake shore index", "lake shore vector index", *filler]
    )

    assert search(snapshot, "vector index")[0] == "lake shore vector index"


def test_neighbours_are_asked_for_only_where_words_are_rare_enough(tmp_path: Path) -> None:
    """Anything but terms in the one search would cost tantivy's skipping."""
    snapshot = snapshot_of(tmp_path, ["lake shore vector index", *["other text"] * 60])
    index = open_index(tmp_path / "lexical" / "chunks")

    def searches(weights: Weights) -> int:
        query = LexicalQuery((Clause("vector index"),))
        parts = index.schema, index.searcher(), snapshot.statistics
        ranking = build_ranking(*parts, query, ("en",), weights)
        return 0 if ranking is None else len(ranking.searches(None))

    assert searches(Weights()) == 2
    assert searches(Weights(adjacent_postings=1)) == 1


def test_function_words_of_any_language_cannot_outrank_a_telling_word(tmp_path: Path) -> None:
    common = [f"der die das und ist {n} mit der die das und ist" for n in range(40)]
    snapshot = snapshot_of(tmp_path, [*common, "Zeppelin " + "ganz andere Dinge stehen hier " * 9])

    assert search(snapshot, "was ist das und die der Zeppelin")[0].startswith("Zeppelin")


@pytest.mark.parametrize("query", ["daily notes", "callouts", "the Daily Note"])
def test_a_note_is_found_first_by_its_name(tmp_path: Path, query: str) -> None:
    """Among notes that speak of the same thing more often than it does itself."""
    corpus = Corpus()
    told = "## {0}\n\n{0} open faster, {0} have a template, and {0} are found by their date."
    others = [
        corpus.document(f"Releases/v1.{n}.md", told.format(what), title=f"v1.{n}")
        for n in range(12)
        for what in ("Daily notes" if n % 2 else "Callouts",)
    ]
    named = [
        corpus.document("Plugins/Daily notes.md", "With this plugin a day has a page.", title="D"),
        corpus.document("Editing/a.md", "A box that draws the eye.", title="Callouts"),
    ]
    with closing(Writer(tmp_path)) as writer:
        writer.publish(corpus.publication(*others, *named))

    assert search(Reader(tmp_path).snapshot(), query)[0] in {doc.text for doc in named}


def test_a_word_is_as_rare_as_the_documents_that_hold_it(tmp_path: Path) -> None:
    """A manual has its own name in every passage, and is yet the only one that speaks of it."""
    manual = "\n\n".join(f"about rebase and point {n} of it" for n in range(30))
    others = [f"page {n} of many\n\nabout upstream and what {n} has" for n in range(20)]
    snapshot = snapshot_of(tmp_path, [manual, *others])

    assert "rebase" in search(snapshot, "rebase upstream")[0]


def test_in_a_single_document_a_word_is_as_rare_as_its_passages(tmp_path: Path) -> None:
    book = [f"about weather and chapter {n}" for n in range(30)]
    snapshot = snapshot_of(tmp_path, ["\n\n".join([*book, "about icebergs and what floats"])])

    assert "icebergs" in search(snapshot, "icebergs weather")[0]


@pytest.mark.parametrize("typed", ["license", "licence"])
def test_a_rare_spelling_of_a_common_word_tells_no_more_than_the_word(
    tmp_path: Path, typed: str
) -> None:
    told = "The license of the walrus."
    spelled = "A licence, the licence; license and licence."
    others = [f"Number {n} has {'a license' if n % 2 else 'none'} of its own." for n in range(60)]
    walrus = [f"The walrus number {n} swims." for n in range(3)]
    snapshot = snapshot_of(tmp_path, [told, spelled, *others, *walrus])

    found = search(snapshot, f"{typed} of walrus")

    assert found[0] == told
    assert found.index(spelled) > max(found.index(each) for each in walrus)


def test_a_common_word_tells_no_more_in_a_text_of_another_language(tmp_path: Path) -> None:
    """Of a manual in eight languages the untranslated parts of each came before the original."""
    corpus = Corpus()
    english = [f"The lines of number {n} are lines of their own." for n in range(60)]
    asked = "Lines that are pasted are confirmed."
    italian = "La linea è lunga, e le linee sono corte. Lines, and again lines of lines."
    documents = [corpus.document(f"en/{n}.md", text) for n, text in enumerate([*english, asked])]
    documents += [
        corpus.document(f"it/{n}.md", f"{italian} Numero {n}.", lang="it") for n in range(9)
    ]
    documents += [corpus.document(f"en/p{n}.md", f"What is pasted in {n}.") for n in range(12)]
    made = corpus.publication(*documents)
    stats = {**made.stats, "lang_breakdown": {"en": 73, "it": 9}}
    with closing(Writer(tmp_path)) as writer:
        writer.publish(replace(made, stats=stats))

    found = search(Reader(tmp_path).snapshot(), "pasted lines")

    assert asked in found[:13]
    assert not any("linea" in text for text in found[:13])


def test_a_passage_of_nothing_but_common_words_is_still_found(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, ["the end", "the beginning", "the middle"])

    assert len(search(snapshot, "the zebra")) == 3


def test_among_very_short_passages_length_tells_little(tmp_path: Path) -> None:
    """A greeting that holds one word is no better answer than a sentence that holds two."""
    greetings = [f"Mel: hey {'Caroline' if n < 8 else 'you'} {n}" for n in range(30)]
    answer = "Caroline: after years of doubt I finally went and chose to research adoption"
    snapshot = snapshot_of(tmp_path, [*greetings, answer, "Mel: nice research", "Mel: bye now"])

    assert search(snapshot, "what did Caroline research")[0] == answer


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("parse_http_request", ()),
        ("write-behind", ("behind",)),
        ("지식관리", ()),
        ("지", ()),
        ("없는말 F# zebras", ("f", "zebras", "f#", "없는말")),
        ("runs", ()),
    ],
)
def test_a_word_is_unknown_only_if_nothing_of_it_is_there(
    identifiers: Snapshot, text: str, unknown: tuple[str, ...]
) -> None:
    found = identifiers.relaxation(LexicalQuery((Clause(text),)))

    assert (found.unknown if found else ()) == unknown


def test_the_padding_of_short_passages_is_found_by_no_query(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, ["one", "two"])

    for text in ("·", "· · ·", "\u00b7\u0387"):
        assert search(snapshot, text) == search(snapshot, Clause(text, kind="must")) == []


@pytest.fixture(scope="module")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    colours, kinds = ["red", "green", "blue", "dark red"], ["apples", "pears", "pears of green"]
    texts = [
        f"{colours[n % 4]} {kinds[n % 3]} in the {'box ' * (n % 7)} {colours[n % 5 % 4]}"
        for n in range(120)
    ]
    return snapshot_of(tmp_path_factory.mktemp("fruit"), texts)


@given(
    words=st.lists(
        st.sampled_from(["red", "green", "blue", "apples", "pears", "of", "the", "in"]), max_size=6
    ),
    phrase=st.lists(st.sampled_from(["red", "green", "apples", "pears"]), max_size=3),
    kind=KINDS,
    limit=st.integers(1, 40),
)
def test_a_filtered_list_is_the_whole_list_restricted(
    fruit: Snapshot, words: list[str], phrase: list[str], kind: ClauseKind, limit: int
) -> None:
    clauses = (Clause(" ".join(words)), Clause(" ".join(phrase), phrase=True, kind=kind))
    query = LexicalQuery(clauses)

    whole = fruit.lexical(query, None, 1000)
    narrowed = fruit.lexical(query, Glob("*3.md"), limit)

    paths = {
        key: chunk["path"] for key, chunk in fruit.chunks([r.chunk_key for r in whole]).items()
    }
    assert narrowed == [row for row in whole if paths[row.chunk_key].endswith("3.md")][:limit]


DAY = datetime(2026, 5, 1, tzinfo=UTC)
SOME: list[Filter] = [
    OneOf("media", ("markdown",)),
    OneOf("lang", ("en", "fr")),
    OneOf("lang", ("en", "de")),
    OneOf("source_id", ("notes",)),
    Range("trust", 1),
    Range("trust", None, 1),
    Range("doc_date", to_epoch(DAY + timedelta(20)), to_epoch(DAY + timedelta(90))),
    Range("doc_date"),
    Tagged(("ripe",)),
    Not(Words("body", "box")),
    Not(Tagged(("ripe",))),
    Or((Tagged(("ripe",)), Range("trust", 2))),
    And((OneOf("media", ("markdown",)), Range("trust", 1), Not(Words("body", "blue")))),
    Glob("*3.md"),
    OneOf("lang", ("none",)),
]
"""Filters that all, most, some and none of the passages of ``crowd`` pass."""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Yield a snapshot of four segments, with passages that score the same and some deleted.

    It is taken for a large one, in which filters are asked of the best.
    """
    folder, corpus = tmp_path_factory.mktemp("crowd"), Corpus()
    with closing(Writer(folder)) as writer:
        for part in range(4):
            made = [_fruit(corpus, n) for n in range(100 * part, 100 * part + 100)]
            writer.publish(corpus.publication(*made))
        gone = [f"{n:03}.md" for n in range(0, 400, 20)]
        writer.publish(corpus.publication(_fruit(corpus, 401), removed=gone))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb_search.snapshot._WORTH", 0)
        yield Reader(folder).snapshot()


def _fruit(corpus: Corpus, n: int) -> DocumentRecord:
    colours, kinds = ["red", "green", "blue", "dark red"], ["apples", "pears", "pears of green"]
    return corpus.document(
        f"{n:03}.{'txt' if n % 20 == 9 else 'md'}",
        f"{colours[n % 4]} {kinds[n % 3]} in the {'box ' * (n % 3)} {colours[n % 5 % 4]}",
        lang="de" if n % 6 == 1 else "en",
        tags=("ripe/soft",) if n % 3 else ("ripe",) if n % 2 else (),
        trust_level=("primary", "secondary", "generated")[n % 7 % 3],
        doc_date=None if n % 9 == 4 else DAY + timedelta(n // 4),
    )


@given(
    words=st.lists(
        st.sampled_from(["red", "green", "blue", "apples", "pears", "of", "the", "in", "box"]),
        min_size=1,
        max_size=6,
    ),
    where=st.sampled_from(SOME),
    limit=st.integers(1, 120),
    excluded=st.booleans(),
)
def test_a_list_is_the_same_whether_its_filter_is_asked_of_all_or_of_the_best(
    crowd: Snapshot, words: list[str], where: Filter, limit: int, *, excluded: bool
) -> None:
    clauses = (Clause(" ".join(words)), *[Clause("dark", kind="must_not")] * excluded)
    query = LexicalQuery(clauses)
    ranking = build_ranking(crowd._schema, crowd._chunks, crowd.statistics, query, crowd.languages)
    assert ranking is not None
    asked = ranking.searches(build_filter(crowd._schema, where))
    of_all = better_of([crowd._ranked(each, limit, {}) for each in asked], limit)

    assert crowd.lexical(query, where, limit) == [Scored(key, -below) for below, key in of_all]


@pytest.mark.parametrize("where", [*SOME[:8], And((SOME[0], SOME[4], Not(SOME[1])))])
def test_about_how_many_pass_is_known_before_any_is_asked(crowd: Snapshot, where: Filter) -> None:
    counted = crowd.count(where) / crowd.count(None)

    assert crowd._sieve.share(where) == pytest.approx(counted, abs=0.1)


@pytest.mark.parametrize("where", SOME)
def test_a_filter_that_is_not_needed_is_one_that_all_pass(crowd: Snapshot, where: Filter) -> None:
    assert crowd.count(crowd._sieve.needed(where)) == crowd.count(where)


def test_a_filter_that_most_pass_is_asked_of_the_best_alone(crowd: Snapshot) -> None:
    query, most = LexicalQuery((Clause("red pears"),)), Range("trust", 1)
    ranking = build_ranking(crowd._schema, crowd._chunks, crowd.statistics, query, crowd.languages)
    assert ranking is not None

    assert crowd._sifted(ranking.free, most, 10, {}) == crowd._ranked(
        ranking.searches(build_filter(crowd._schema, most))[0], 10, {}
    )
    assert crowd._sifted(ranking.free, OneOf("lang", ("none",)), 10, {}) is None
    assert crowd._sieve.needed(OneOf("source_id", ("notes",))) is None


@given(total=st.integers(1, 10**7), data=st.data())
def test_a_rarer_word_tells_more(total: int, data: st.DataObject) -> None:
    rarer, commoner = sorted(data.draw(st.tuples(*[st.integers(0, total)] * 2)))

    assert 0 < inform(total, commoner) <= inform(total, rarer) < 1


def test_a_word_that_everything_holds_tells_next_to_nothing() -> None:
    assert inform(1000, 1000) == inform(1000, 700) < 0.1 < inform(1000, 400)


class Counting:
    """A searcher that counts what it is asked."""

    def __init__(self, searcher: Any) -> None:  # noqa: ANN401 - of tantivy
        self._searcher = searcher
        self.searches = 0

    def search(self, *asked: Any, **options: Any) -> Any:  # noqa: ANN401 - as it has it
        self.searches += 1
        return self._searcher.search(*asked, **options)


@pytest.mark.parametrize("words", [["lock"] * 2000, [f"lock{n}" for n in range(2000)]])
def test_what_a_query_requires_takes_time_that_grows_with_its_length_alone(
    tmp_path: Path, words: list[str]
) -> None:
    """Trying every requirement with all before it would take the square."""
    snapshot = snapshot_of(tmp_path, ["the lock is held"])
    searcher = Counting(snapshot._chunks)
    query = LexicalQuery(tuple(Clause(word, kind="must") for word in words))

    asked = requirements(snapshot._schema, query, ["en"])
    kept = satisfiable(cast("Searcher", searcher), asked)

    assert len(asked) == len(set(words))
    texts = [requirement.clause.text for requirement in kept]
    assert texts == (["lock"] if "lock" in words else [])
    assert searcher.searches <= 51  # all together, and each with those before it


@pytest.mark.parametrize(
    ("words", "met", "searches"),
    [("lock is held", "lock is held", 1), ("lock key held", "lock held", 4), ("none", "", 1)],
)
def test_what_is_required_is_tried_together_first(
    tmp_path: Path, words: str, met: str, searches: int
) -> None:
    snapshot = snapshot_of(tmp_path, ["the lock is held", "the key is lost"])
    searcher = Counting(snapshot._chunks)
    query = LexicalQuery(tuple(Clause(word, kind="must") for word in words.split()))

    asked = requirements(snapshot._schema, query, ["en"])
    kept = satisfiable(cast("Searcher", searcher), asked)

    assert [requirement.clause.text for requirement in kept] == met.split()
    assert searcher.searches == searches


def test_a_word_that_is_required_twice_is_required_once(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, ["the lock is held", "the key is lost"])
    twice = LexicalQuery((Clause("lock", kind="must"), Clause("lock", kind="must")))

    assert search(snapshot, *twice.clauses) == ["the lock is held"]
    assert snapshot.relaxation(LexicalQuery((*twice.clauses, Clause("none", kind="must"))))
