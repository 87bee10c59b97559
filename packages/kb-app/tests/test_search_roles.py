"""A search among code and prose: code in the order of what it is, prose where it was."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._search import roles
from kb_app._search.ranking import Place, Row, page_of, parted
from kb_app._search.roles import in_their_places, is_enough, is_late
from kb_app._wiring import parts_of
from kb_app.config import Embedding, Source
from kb_app.testing import SearchWorld
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.ports import StoredChunk, StoredDoc
from kb_core.search import FileRole, SearchQuery
from kb_core.testing.fakes import HashEmbedder
from kb_search.fusion import Fused

FILES = {
    "pool/lease.py": '''def lease(pool):
    """Take a connection from the pool, and wait while all are taken.

    Whoever comes first is served first, and nobody is served twice before all were served once.
    """
    return next(one for one in pool if one.is_free())
''',
    "pool/heads.py": "from pool.lease import lease, connection, taken, wait\nimport pool\n",
    "tests/test_lease.py": """def test_lease():
    connection = lease(pool)
    assert connection.taken, "a connection of the pool is taken while others wait"
""",
    "notes/pools.md": "# Pools\n\nA connection is taken from the pool; the others wait for it.\n",
}


QUESTION = "connection taken pool wait"


TOLD = "A client of the relay is asked for {}."
"""What was not translated stands in each."""


SAID = "The relay asks each client for a word before anything else is told."


@pytest.mark.parametrize(
    ("question", "mode", "order"),
    [
        ("relay word", SearchMode.LEXICAL, ["a", "c", "b", "d"]),
        ("what the relay asks in d", SearchMode.LEXICAL, ["d", "c", "a", "b"]),
        ("relay word", SearchMode.VECTOR, ["a", "b", "d", "c"]),
    ],
)
def test_copies_come_after_what_else_is_said(
    tmp_path: Path, question: str, mode: SearchMode, order: list[str]
) -> None:
    """The best one, or the first by its path, stands where it stood; by nearness alone all do."""
    world = SearchWorld(tmp_path)
    other = "A relay has a word. " + "What it is for is told elsewhere, and at length. " * 3
    texts = {"a/x.md": SAID, "b/x.md": SAID, "d/x.md": SAID, "c/x.md": other}
    world.publish(
        world.corpus.publication(*(world.corpus.document(*each) for each in texts.items()))
    )
    found = SearchQuery(text=question, mode=mode, k=2)

    first = world.engine().search(found)
    second = world.engine().search(replace(found, cursor=first.next_cursor))

    hits = [*first.hits, *second.hits]
    assert [hit.doc_path[0] for hit in hits] == order
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("too many otters holt", "en.yml"),
        ("was eine holt sagt, wenn zu otters too many", "de.yml"),
    ],
)
def test_of_messages_in_several_languages_one_stays(
    tmp_path: Path, question: str, kept: str
) -> None:
    """Though it was never translated, and is a copy of another."""
    world = SearchWorld(tmp_path)
    filler = "    the_rest: Nothing else is said.\n" * 6
    message = "  holt_full: A holt with too many otters.\n"
    code = (
        "def holt(otters):\n    return otters  # one holt for many, and too few for the rest\n" * 4
    )
    texts = {
        "lang/ar.yml": message,
        "lang/en.yml": message,
        "lang/de.yml": f"  holt_full: A holt, too many otters.\n{filler}",
        "holt.py": code,
        "tests.py": f"{code}# Whether a holt is full.\n",
    }
    documents = [
        world.corpus.document(path, text, media="code", code_lang=path[-2:].replace("ml", "yaml"))
        for path, text in texts.items()
    ]
    world.publish(world.corpus.publication(*documents))

    hits = world.engine().search(SearchQuery(text=question, mode=SearchMode.LEXICAL)).hits

    files = [hit.doc_path.rpartition("/")[2] for hit in hits]
    assert set(files[:3]) == {"holt.py", "tests.py", kept}
    assert len(files) == len(texts)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is a client of the relay asked for?", "docs/en/user.en.md"),
        ("Was wird ein client der relay gefragt?", "docs/de/user.de.md"),
        ("qu'est-ce que la relay client asked", "docs/zh-CN/user.zh-CN.md"),
        ("client relay asked", "docs/zh-CN/user.zh-CN.md"),
    ],
)
def test_of_translations_that_in_the_language_of_the_question_comes_first(
    tmp_path: Path, question: str, first: str
) -> None:
    """Where there is one: else, and where nothing tells, they stand as words have them."""
    world = SearchWorld(tmp_path)
    texts = {
        "docs/de/user.de.md": TOLD.format("a word, ein Wort") + " Und mehr davon.",
        "docs/en/user.en.md": TOLD.format("a word") + " There is more of it, and of the rest.",
        "docs/zh-CN/user.zh-CN.md": TOLD.format("client"),
        "docs/fr/other.fr.md": "Rien.",
    }
    made = world.corpus.publication(*(world.corpus.document(*each) for each in texts.items()))
    stats = {**made.stats, "lang_breakdown": {"en": 2, "de": 1}}
    world.publish(replace(made, stats=stats))

    engine = world.engine()
    hits = engine.search(SearchQuery(text=question, mode=SearchMode.LEXICAL)).hits

    assert hits[0].doc_path == first
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    "path",
    [*(f"a/{name.replace('*', 'x')}/b.py" for name in roles._FOLDERS)]
    + [f"a/{name.replace('*', 'x')}" for name in roles._FILES],
)
def test_every_name_of_tests_is_one_of_those_that_are_looked_at(path: str) -> None:
    """Paths are looked at closely only where a word of them is in it."""
    found = cast("StoredChunk", {"path": path, "media": "code", "code_lang": "python"})

    assert roles.role_of(found) is FileRole.TESTS


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    home = tmp_path_factory.mktemp("roles")
    for path, text in FILES.items():
        (home / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (home / "root" / path).write_text(text, "utf-8")
    config = Config.inside(home / "data", Source(id="s", root=home / "root"))
    config = replace(config, embedding=Embedding(model="none"))
    with KnowledgeBase.open(config) as kb:
        for _ in kb.ingest(IngestOptions(summary_only=True)):
            pass
    return config


def code_found(config: Config, text: str) -> list[str]:
    with KnowledgeBase.open(config, readonly=True) as kb:
        hits = kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return [hit.doc_path for hit in hits if hit.media == "code"]


def test_code_comes_before_its_tests_and_what_only_imports_it(config: Config) -> None:
    by_ranks_alone = replace(config, search=replace(config.search, fusion="rrf"))

    assert code_found(by_ranks_alone, QUESTION)[0] == "tests/test_lease.py"
    assert code_found(config, QUESTION) == ["pool/lease.py", "tests/test_lease.py", "pool/heads.py"]


def test_nearness_alone_knows_no_roles(config: Config, tmp_path: Path) -> None:
    """``--mode vector`` says how near a passage is."""
    embedder = HashEmbedder()
    own = replace(config, storage=replace(config.storage, data_dir=tmp_path / "data"))
    parts = replace(
        parts_of(own),
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        executor=lambda task, _: InlineExecutor(task),
    )
    with KnowledgeBase(own, parts) as kb:
        list(kb.ingest(IngestOptions(summary_only=True)))
        found = kb.search(SearchQuery(text=QUESTION, mode=SearchMode.VECTOR))
        vector, key = embedder.embed_query(QUESTION), embedder.model.key
        nearest = [one.chunk_key for one in kb._snapshot().vector(vector, key, None, 99)]
        chunks = kb._snapshot().chunks(nearest)

    assert [hit.doc_path for hit in found.hits] == [chunks[key]["path"] for key in nearest]


def test_who_asks_for_tests_gets_them(config: Config) -> None:
    assert code_found(config, f"test {QUESTION}")[0] == "tests/test_lease.py"


PLACE = "a connection of the pools taken while the others wait"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (PLACE, "notes/pools.md"),
        (f"where is {PLACE}", "pool/lease.py"),
        (f"where did I write of {PLACE}", "notes/pools.md"),
    ],
)
def test_who_asks_for_a_place_gets_code_before_the_page_that_tells_of_it(
    config: Config, text: str, first: str
) -> None:
    with KnowledgeBase.open(config, readonly=True) as kb:
        hits = kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits

    assert next(hit.doc_path for hit in hits if "test" not in hit.doc_path) == first


@pytest.mark.parametrize("is_beside_code", [True, False])
@pytest.mark.parametrize(
    ("path", "query"),
    [("a.md", "where is the lease taken"), ("CHANGES.md", "lease"), ("version-history.rst", "x")],
)
def test_pages_tell_of_the_code_of_their_own_source(
    path: str, query: str, is_beside_code: bool
) -> None:
    head = [_row(0, 0.9), _row(1, 0.8)]
    page = {**_chunk(path), "source_id": "s" if is_beside_code else "notes"}

    placed = in_their_places(
        head, {0: cast("StoredChunk", page), 1: _chunk("b.py")}, query, mostly_code
    )

    assert [row.chunk_key for row in placed] == ([1, 0] if is_beside_code else [0, 1])


@pytest.mark.parametrize(
    ("path", "query", "first"),
    [
        ("tests/test_lease.py", "lease", 1),
        ("settings.toml", "lease", 1),
        ("lease.py", "lease", 0),
        ("tests/test_lease.py", "test of the lease", 0),
    ],
)
def test_prose_may_pass_tests_and_settings_that_nobody_asks_for(
    path: str, query: str, first: int
) -> None:
    head = [_row(0, 0.9), _row(1, 0.8)]
    note = cast("StoredChunk", {**_chunk("a.md"), "source_id": "notes"})

    lang = "toml" if path.endswith(".toml") else "python"
    code = cast("StoredChunk", {**_chunk(path), "media": "code", "code_lang": lang})

    placed = in_their_places(head, {0: code, 1: note}, query, mostly_code)

    assert placed[0].chunk_key == first


@pytest.mark.parametrize(
    "name", ["LICENSE", "COPYING.LESSER", "third_party_notices.md", "CODE_OF_CONDUCT.md"]
)
@pytest.mark.parametrize(
    ("query", "first"),
    [("altimeter", 1), ("the licence of what does altimeter", 0), ("conduct at an altimeter", 0)],
)
def test_whose_work_it_is_comes_first_for_who_asks_that(name: str, query: str, first: int) -> None:
    chunks = {0: _chunk(f"deps/{name}"), 1: _chunk("altimeter.md"), 2: _chunk("a.py")}
    head = [_row(0, 0.9), _row(1, 0.8), _row(2, 0.1)]

    assert in_their_places(head, chunks, query, mostly_code)[0].chunk_key == first
    assert in_their_places(head, chunks, query, lambda _: False)[0].chunk_key == 0


@pytest.mark.parametrize(
    "given",
    ["#define MOST_LEASES 40", "# define MOST_LEASES 40", "    MOST_LEASES = 40",
     "export const MOST_LEASES: number = 40;", "static const int MOST_LEASES = 40;"],
)  # fmt: skip
@pytest.mark.parametrize("query", ["MOST_LEASES", "What is the default of MOST_LEASES?"])
def test_what_gives_a_constant_its_value_comes_before_its_uses(given: str, query: str) -> None:
    uses = cast("StoredChunk", {**_chunk("a.py"), "text": "if (n == MOST_LEASES) wait();\n"})
    gives = cast("StoredChunk", {**_chunk("b.py"), "text": f"/* At most. */\n{given}\n"})
    head = [_row(0, 0.9), _row(1, 0.7)]

    placed = in_their_places(head, {0: uses, 1: gives}, query, mostly_code)

    assert [row.chunk_key for row in placed] == [1, 0]


@pytest.mark.parametrize(
    ("query", "is_asked"),
    [
        ("test lease is given back", True),
        ("lease given back pool_spec", True),
        ("test_lease keeps its place", True),
        ("lease latest given back", False),
    ],
)
def test_who_names_a_test_is_after_the_test(query: str, is_asked: bool) -> None:
    chunks = {0: _chunk("pool.py"), 1: _chunk("tests/test_pool.py")}
    placed = in_their_places([_row(0, 0.9), _row(1, 0.75)], chunks, query, mostly_code)

    assert (placed[0].chunk_key == 1) is is_asked


@pytest.mark.parametrize(
    ("query", "path", "is_first"),
    [
        ("lease given back in Pool.py", "src/pool.py", True),
        ("pool.toml lease given back", "pool.toml", True),
        ("lease given back in pool.md", "docs/pool.md", True),
        ("lease given back in pool.py", "tests/pool.py", False),
        ("lease given back in version 1.2", "src/pool.py", False),
        ("lease given back, e.g. in pool", "src/pool.py", False),
    ],
)
def test_what_stands_in_a_file_that_a_question_names_comes_first(
    query: str, path: str, *, is_first: bool
) -> None:
    """Settings, too, as code does; a test is not meant by the name of what it is of."""
    lang = "toml" if path.endswith(".toml") else "python"
    named = cast("StoredChunk", {**_chunk(path), "code_lang": lang})
    head = [_row(0, 0.9), _row(1, 0.7)]

    placed = in_their_places(head, {0: _chunk("lease.py"), 1: named}, query, mostly_code)

    assert (placed[0].chunk_key == 1) is is_first


def test_what_only_imports_comes_after_what_does_something() -> None:
    imports = cast("StoredChunk", {**_chunk("heads.py"), "text": "from pool import lease\n"})
    head = [_row(0, 0.9), _row(1, 0.5)]

    placed = in_their_places(head, {0: imports, 1: _chunk("pool.py")}, "lease", mostly_code)

    assert [row.chunk_key for row in placed] == [1, 0]


def test_notes_among_a_few_scripts_do_not_tell_of_them() -> None:
    head = [_row(at, 0.9 - at / 100) for at in range(20)]
    chunks = {at: _chunk("b.py" if at == 1 else "a.md") for at in range(20)}

    placed = in_their_places(head, chunks, "where is the lease", lambda _: False)

    assert [row.chunk_key for row in placed] == list(range(20))
    assert is_enough(list(chunks.values()), lambda _: False)


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("a lease that expired", "PPCCPCPPPP"),
        ("how does a lease expire", "CCPCPPPPPP"),
        ("does a lease expire", "CCPCPPPPPP"),
        ("where a lease expires", "CCPCPPPPPP"),
        ("was passiert, wenn ein lease abläuft", "CCPCPPPPPP"),
        ("how do I let a lease expire", "PPPPPPCCPC"),
        ("how to let a lease expire", "PPPPPPCCPC"),
        ("what do the docs say of a lease", "PPPPPPCCPC"),
        ("what changed for leases", "PPPPPPCCPC"),
    ],
)
def test_two_of_three_are_code_where_most_is_unless_a_page_is_asked_for(
    query: str, order: str
) -> None:
    """Where nothing tells what is asked for, the best page stays the first."""
    paths = ["a.md"] * 6 + ["b.py"] * 2 + ["c.md", "d.py"]
    head = [_row(at, 0.9 - at / 20) for at in range(10)]
    chunks = {at: _chunk(path) for at, path in enumerate(paths)}

    placed = in_their_places(head, chunks, query, mostly_code)

    assert "".join("C" if paths[row.chunk_key][2] == "p" else "P" for row in placed) == order
    assert [row.score for row in placed] == [row.score for row in head]


def test_code_that_shares_little_with_a_question_passes_no_page() -> None:
    chunks = {0: _chunk("a.md"), 1: _chunk("b.py")}

    def first(score: float) -> int:
        head = [_row(0, 0.9), _row(1, score)]
        return in_their_places(head, chunks, "how long is a lease", mostly_code)[0].chunk_key

    assert [first(0.2), first(0.3)] == [0, 1]


def test_a_list_is_looked_at_until_it_has_as_much_code_as_is_put_in_order() -> None:
    pages, code = [_chunk("a.md")] * 90, [_chunk("b.py")] * 10
    tests = [_chunk("tests/b.py")] * 10

    assert not is_enough([*pages, *code[1:], *tests], mostly_code)
    assert is_enough([*pages, *code], mostly_code)


def test_how_much_of_a_source_is_code_is_counted_once_a_state(config: Config) -> None:
    with KnowledgeBase.open(config, readonly=True) as kb:
        snapshot = kb._snapshot()
        counted = Mock(wraps=snapshot.count)
        with patch.object(snapshot, "count", counted):
            kb.search(SearchQuery(text="how is a lease taken", mode=SearchMode.LEXICAL))
            first = counted.call_count
            kb.search(SearchQuery(text="what takes a lease", mode=SearchMode.LEXICAL))

    assert counted.call_count == first > 0


def test_the_code_that_decides_is_found_behind_twenty_pages_that_say_more(tmp_path: Path) -> None:
    config = Config.inside(tmp_path / "data", Source(id="s", root=tmp_path / "root"))
    config = replace(config, embedding=Embedding(model="none"))
    (tmp_path / "root").mkdir()
    for at in range(21):
        (tmp_path / "root" / f"{at:02}.md").write_text(f"A lease expires.{' so' * at}\n", "utf-8")
        (tmp_path / "root" / f"{at:02}.py").write_text("def other():\n    return 1\n", "utf-8")
    (tmp_path / "root" / "pool.py").write_text("def end(lease):\n    expires = 1\n", "utf-8")
    with KnowledgeBase.open(config) as kb:
        for _ in kb.ingest(IngestOptions(summary_only=True)):
            pass
        text = "how does it notice that a lease expires"
        hits = kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits

    assert [hit.doc_path for hit in hits][:2] == ["pool.py", "00.md"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("which test covers takeLease", 1),
        ("tests for takeLease", 1),
        ("takeLease never waits", 0),
        ("how does takeLease work", 0),
    ],
)
def test_who_asks_which_test_does_something_gets_that_before_what_it_is_of(
    query: str, first: int
) -> None:
    named = cast("StoredChunk", {**_chunk("pool.py"), "symbol": "Pool.takeLease"})
    head = [_row(0, 0.85), _row(1, 0.8)]

    placed = in_their_places(head, {0: named, 1: _chunk("tests/test_pool.py")}, query, mostly_code)

    assert placed[0].chunk_key == first


@pytest.mark.parametrize("folder", ["vendor", "src/_vendor", "third_party", "node_modules/pools"])
def test_code_of_others_comes_after_what_is_its_own(folder: str) -> None:
    head = [_row(0, 0.85), _row(1, 0.8)]
    chunks = {0: _chunk(f"{folder}/pool.py"), 1: _chunk("src/pool.py")}

    placed = in_their_places(head, chunks, "how does the pool lease", mostly_code)

    assert [row.chunk_key for row in placed] == [1, 0]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how does the pool lease", "src/pool.py"),
        ("an example of the pool", "examples/pool.py"),
        ("how do I lease from the pool", "examples/pool.py"),
    ],
)
def test_examples_come_after_what_they_are_of_unless_they_are_asked_for(
    query: str, first: str
) -> None:
    chunks = {0: _chunk("examples/pool.py"), 1: _chunk("src/pool.py")}

    placed = in_their_places([_row(0, 0.85), _row(1, 0.8)], chunks, query, mostly_code)

    assert chunks[placed[0].chunk_key]["path"] == first
    assert is_late(cast("StoredDoc", chunks[0]))
    assert not is_late(cast("StoredDoc", _chunk("examples/pool.md")))


@pytest.mark.parametrize(
    ("query", "first"), [("where is take_lease", 1), ("how does take_lease work", 0)]
)
def test_a_place_is_where_a_function_begins(query: str, first: int) -> None:
    begins = cast("StoredChunk", {**_chunk("pool.py"), "symbol": "take_lease", "part": 1})
    goes_on = cast("StoredChunk", {**begins, "part": 2})
    head = [_row(0, 0.85), _row(1, 0.8)]

    placed = in_their_places(head, {0: goes_on, 1: begins}, query, mostly_code)

    assert placed[0].chunk_key == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("retry delay of lease_backoff", 1),
        ("retry delay of leases", 0),
        ("retry of leaseBackoff", 0),
    ],
)
def test_code_that_has_a_name_as_the_question_spells_it_comes_first(query: str, first: int) -> None:
    using = cast("StoredChunk", {**_chunk("c.py"), "text": "delay = self.lease_backoff"})
    head = [_row(0, 0.85), _row(1, 0.75)]

    placed = in_their_places(head, {0: _chunk("b.py"), 1: using}, query, mostly_code)

    assert placed[0].chunk_key == first


def test_the_name_of_what_is_defined_says_what_it_does() -> None:
    named = cast("StoredChunk", {**_chunk("c.py"), "symbol": "Pool.takeLease"})
    head = [_row(0, 0.85), _row(1, 0.8)]

    placed = in_their_places(head, {0: _chunk("b.py"), 1: named}, "take the lease", mostly_code)

    assert placed[0].chunk_key == 1


def test_equal_scores_where_the_first_rows_end_are_all_in_the_list_once(tmp_path: Path) -> None:
    """What is written later stands before, by its path; code has the first place."""
    config = Config.inside(tmp_path / "data", Source(id="s", root=tmp_path / "root"))
    config = replace(config, embedding=Embedding(model="none"))
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("def lease():\n    return lease, lease\n", "utf-8")
    with KnowledgeBase.open(config) as kb:
        for numbers in (range(12, 24), range(12)):
            for number in numbers:
                (tmp_path / "root" / f"{number:02}.md").write_text("A lease.\n", "utf-8")
            for _ in kb.ingest(IngestOptions(summary_only=True)):
                pass
        hits = kb.search(SearchQuery(text="lease", mode=SearchMode.LEXICAL, k=50)).hits

    assert [hit.doc_path for hit in hits] == ["a.py", *(f"{at:02}.md" for at in range(24))]


@given(
    scores=st.lists(st.integers(0, 9).map(float), max_size=30).map(lambda s: sorted(s)[::-1]),
    size=st.integers(0, 30),
    order=st.permutations(range(30)),
)
def test_each_row_is_on_one_side_of_the_border(
    scores: list[float], size: int, order: list[int]
) -> None:
    rows = [_row(at, score) for at, score in enumerate(scores)]

    def places(keys: Sequence[int]) -> dict[int, Place]:
        return {key: ("s", f"{order[key]:02}", 0) for key in keys}

    head, rest = parted(rows, size, places)

    assert head == page_of(rows, 0, size, places)
    assert sorted(row.chunk_key for row in (*head, *rest)) == list(range(len(rows)))
    assert [row.score for row in (*head, *rest)] == scores


def mostly_code(home: tuple[str, str | None]) -> bool:
    return home == ("s", None)


def _row(at: int, score: float) -> Row:
    return Row(Fused(at, score, None, None, None, None), score, "fused")


def _chunk(path: str) -> StoredChunk:
    media, lang = ("code", "python") if path.endswith(".py") else ("markdown", None)
    chunk: dict[str, Any] = {"path": path, "media": media, "code_lang": lang, "symbol": None}
    home = {"source_id": "s", "repo": None, "part": None}
    return cast("StoredChunk", {**chunk, **home, "text": "pool = lease()"})


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a.md", "b.py", "tests/c.py", "d.txt"]), st.floats(0.1, 1)),
        max_size=12,
    ),
    query=st.sampled_from(["lease", "lease test", "where is the lease taken"]),
    is_mostly_code=st.booleans(),
)
def test_prose_keeps_its_order_and_no_row_is_lost(
    rows: list[tuple[str, float]], query: str, is_mostly_code: bool
) -> None:
    ordered = sorted(rows, key=lambda row: -row[1])
    head = [_row(at, round(score, 6)) for at, (_, score) in enumerate(ordered)]
    chunks = {at: _chunk(path) for at, (path, _) in enumerate(ordered)}
    is_code = [path.endswith(".py") for path, _ in ordered]

    placed = in_their_places(head, chunks, query, lambda _: is_mostly_code)

    assert sorted(row.chunk_key for row in placed) == list(range(len(head)))
    scores = [row.score for row in placed]
    assert scores == pytest.approx([row.score for row in head], abs=1e-4)
    assert all(one > other for one, other in pairwise(scores)) or placed == head
    assert all(row.score == row.fused.score for row in placed)
    keys = [row.chunk_key for row in placed]
    prose = [key for key in keys if not is_code[key]]
    assert prose == sorted(prose)
    code = [key for key in keys if ordered[key][0] == "b.py"]
    assert code == sorted(code)


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ("what does src/a.b.py do?", {"a.b.py"}),
        ("why ../.eslintrc.js, and ...b-c.d.ts", {"eslintrc.js", "b-c.d.ts"}),
        ("since v1.2.3, see A.PY.", {"a.py"}),
    ],
)
def test_names_of_files_are_read_from_a_question(question: str, files: set[str]) -> None:
    assert roles.wish_of(question).files == files


@pytest.mark.parametrize("part", ["a", "a.1", "-."])
def test_a_long_word_is_read_in_time_that_grows_with_it(part: str) -> None:
    began = time.process_time()

    assert roles.wish_of(part * 30_000).files == frozenset()

    assert time.process_time() - began < 5  # what is quadratic takes ten seconds or a minute
