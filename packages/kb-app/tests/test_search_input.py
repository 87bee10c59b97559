"""What is asked is met as it was meant, or refused by name: the same in every operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app._parts import Parts
from kb_app._search.filtering import filter_warnings
from kb_app.testing import SearchWorld
from kb_app.testing.parts import memory_parts
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import FILTERS
from kb_core.media import SearchMode
from kb_core.ports import never
from kb_core.records import FileState
from kb_core.search import SearchFilters, SearchQuery
from kb_core.testing.documents import file_row
from kb_search.reader import Reader
from kb_search.records import Records

MODES = list(SearchMode)
World = tuple[Config, Parts]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return the configuration and parts of a few notes in two languages, in a real index."""
    folder = tmp_path_factory.mktemp("kb")
    made = SearchWorld(folder)
    make = made.corpus.document
    made.put(
        make("notes/locks.md", "# Locks\n\nThe writer takes a lock.\n", tags=("Rust", "storage")),
        make(
            "notes/bread.md",
            "# Bread\n\nFlour and water. Not a lock.\n",
            tags=("kitchen", "rye, wheat"),
        ),
        make("ko/search.md", "# 검색\n\n한국어 문서 검색. lock\n", lang="ko"),
        make("src/lock.py", "def lock():\n    pass\n", lang=None, media="code", code_lang="python"),
        make("odd.md", "lock zzz\n", lang="und", source_id="work", repo="kebab"),
    )
    return world_of(folder, made)


def world_of(folder: Path, made: SearchWorld) -> World:
    parts = replace(memory_parts(Reader(folder), made.embedder), reader=lambda: Reader(folder))
    return Config.inside(folder / "config"), parts


@pytest.fixture(scope="module")
def kb(world: World) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(*world) as opened:
        yield opened


def globbing(pattern: str) -> dict[str, Callable[[KnowledgeBase], Any]]:
    """Return every operation that takes a path pattern, with this one."""
    filters = SearchFilters(path_glob=(pattern,))

    def asking(mode: SearchMode) -> Callable[[KnowledgeBase], Any]:
        return lambda kb: kb.search(SearchQuery(text="lock", mode=mode, filters=filters))

    return {
        **{mode.value: asking(mode) for mode in MODES},
        "list": lambda kb: kb.list_docs(filters),
        "status": lambda kb: kb.status(pattern),
        "similar": lambda kb: kb.similar(
            "notes/locks.md", SearchQuery(text="lock", filters=filters)
        ),
        "explain_miss": lambda kb: kb.explain_miss(
            "notes/locks.md", SearchQuery(text="lock", filters=filters)
        ),
    }


@pytest.mark.parametrize("pattern", ["[z-a]", "*a" * 40, "[!a]" * 20, "a\udcff", "[a", " "])
@pytest.mark.parametrize("operation", globbing(""))
def test_a_path_pattern_that_is_none_is_refused_by_name(
    kb: KnowledgeBase, operation: str, pattern: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        globbing(pattern)[operation](kb)

    assert refused.value.details["field"] == "path_glob"
    assert "regex" not in str(refused.value).lower()


@given(st.text(st.sampled_from("a-z[]!^*?/\\.{}()|+$#&~한é\n"), max_size=40))
def test_no_path_pattern_is_anything_but_a_filter_or_refused(
    kb: KnowledgeBase, pattern: str
) -> None:
    for operation in ("lexical", "status"):
        try:
            globbing(pattern)[operation](kb)
        except InvalidInput as refused:
            assert refused.details["field"] == "path_glob"  # noqa: PT017 - either is right


def test_every_filter_that_is_a_pattern_is_tried_here() -> None:
    assert [row.name for row in FILTERS if row.kind == "glob"] == ["path_glob"]


@pytest.mark.parametrize(
    ("tag", "paths"),
    [
        ("rye\\, wheat", ["notes/bread.md"]),
        ("rye\\, wheat,rust", ["notes/bread.md", "notes/locks.md"]),
        ("rye, wheat", []),
    ],
)
def test_a_comma_parts_values_and_after_a_backslash_it_belongs_to_one(
    kb: KnowledgeBase, tag: str, paths: list[str]
) -> None:
    found = kb.list_docs(SearchFilters(tag=(tag,)))

    assert sorted(doc["doc_path"] for doc in found["items"]) == paths


def asking(text: str) -> dict[str, Callable[[KnowledgeBase], Any]]:
    """Return every operation that ranks by a text, with this one."""

    def searching(mode: SearchMode) -> Callable[[KnowledgeBase], Any]:
        return lambda kb: kb.search(SearchQuery(text=text, mode=mode))

    def found(outcome: Any) -> Any:  # noqa: ANN401 - an answer
        if isinstance(outcome, KbError):
            raise outcome
        return outcome

    return {
        **{mode.value: searching(mode) for mode in MODES},
        "many": lambda kb: found(next(kb.search_many([SearchQuery(text=text)]))),
        "aggregated": lambda kb: found(kb.search_aggregated([SearchQuery(text=text)]).outcomes[0]),
        "codebase": lambda kb: kb.codebase_search({"query": text}),
        "explain_miss": lambda kb: kb.explain_miss("notes/locks.md", SearchQuery(text=text)),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-lock", "only says what not to find"),
        ('NOT bread -"two words" -title:x -tag:y', "only says what not to find"),
        ("a" * 20_001, "characters"),
        (" ".join(f"w{n}" for n in range(1001)), "different words"),
        ("".join(chr(0x4E00 + n) for n in range(1002)), "different words"),
    ],
)
@pytest.mark.parametrize("operation", asking(""))
def test_a_query_that_finds_nothing_or_takes_for_ever_is_refused(
    kb: KnowledgeBase, operation: str, text: str, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        asking(text)[operation](kb)

    assert refused.value.hint
    assert refused.value.details["field"] == "query"


def test_a_query_as_long_as_may_be_is_answered(kb: KnowledgeBase) -> None:
    words = " ".join(f"w{n}" for n in range(999))
    for text in (f"{words} lock", "lock " * 4000, "lock tag:Rust", "-nothing lock"):
        assert kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits


class Reading:
    """A reranker that is stopped while it reads."""

    name = "reading"

    def __init__(self, stop: Event) -> None:
        self.stop = stop
        self.read = 0

    def rerank(
        self,
        _: str,
        passages: Sequence[str],
        /,
        *,
        telling: Callable[[str], float],
        stop: Callable[[], bool] = never,
    ) -> list[float] | None:
        for passage in passages:
            if stop():
                return None
            self.read += len(passage) > 0
            self.stop.set()
        return [0.5] * len(passages)


def test_nothing_is_read_for_a_search_that_nobody_waits_for_any_more(world: World) -> None:
    config, parts = world
    stop = Event()
    reading = Reading(stop)
    with KnowledgeBase(config, replace(parts, reranker=lambda: reading)) as kb:
        found = kb.search(SearchQuery(text="lock bread qwertz asdfgh", rerank=True), stop=stop)

    assert reading.read == 1
    assert len(found.hits) > 1


@pytest.mark.parametrize(("text", "is_read"), [("lock bread", False), ("lock qwertz yxc", True)])
def test_nothing_is_read_where_the_first_hit_answers_nearly_for_sure(
    world: World, text: str, is_read: bool
) -> None:
    config, parts = world
    reading = Reading(Event())
    with KnowledgeBase(config, replace(parts, reranker=lambda: reading)) as kb:
        found = kb.search(SearchQuery(text=text, rerank=True))

    assert ((found.confidence or 0) < 0.6) is is_read
    assert {hit.score_kind for hit in found.hits} == {"rerank" if is_read else "fused"}
    assert (reading.read > 0) is is_read


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("파일은 어떻게 저장하나요", SearchMode.LEXICAL, "no word"),
        ("wie werden Dateien denn gespeichert", SearchMode.LEXICAL, "no word"),
        ("lock wird denn wie genau gespeichert", SearchMode.LEXICAL, "hardly a word"),
        ("파일은 어떻게 저장하나요", SearchMode.HYBRID, ""),
        ("qwertz asdfgh yxcvbn", SearchMode.LEXICAL, ""),
        ("writer takes lock bread", SearchMode.LEXICAL, ""),
    ],
)
def test_a_query_by_words_of_which_hardly_one_stands_anywhere_says_so(
    kb: KnowledgeBase, text: str, mode: SearchMode, said: str
) -> None:
    warnings = kb.search(SearchQuery(text=text, mode=mode)).warnings

    assert [f"passages hold {said} of this query" in one for one in warnings] == [True] * bool(said)


@pytest.mark.parametrize(
    ("text", "mode", "is_said"),
    [
        ("🎉", SearchMode.LEXICAL, True),
        ("🎉", SearchMode.HYBRID, True),
        ('"!!!"', SearchMode.LEXICAL, True),
        ("🎉", SearchMode.VECTOR, False),
        ("🎉 lock", SearchMode.LEXICAL, False),
        ("path:src", SearchMode.LEXICAL, False),
    ],
)
def test_a_query_of_signs_alone_is_told_where_these_are_found(
    kb: KnowledgeBase, text: str, mode: SearchMode, is_said: bool
) -> None:
    warnings = kb.search(SearchQuery(text=text, mode=mode)).warnings

    assert [one.startswith("signs alone are not looked up") for one in warnings] == [True] * is_said


class OfLength:
    """A reranker that finds a passage the better, the longer it is, and none of them perfect."""

    name = "length"

    def rerank(
        self,
        _: str,
        passages: Sequence[str],
        /,
        *,
        telling: Callable[[str], float],
        stop: Callable[[], bool] = never,
    ) -> list[float] | None:
        return None if stop() else [0.8 + len(passage) / 500 for passage in passages]


def test_what_is_read_counts_for_more_where_the_words_are_unknown(world: World) -> None:
    config, parts = world

    def first(text: str) -> tuple[str, str]:
        """Return the first hit, and the longest."""
        with KnowledgeBase(config, replace(parts, reranker=OfLength)) as kb:
            query = SearchQuery(text=text, mode=SearchMode.LEXICAL, rerank=True)
            paths = [hit.doc_path for hit in kb.search(query).hits]
        assert "notes/bread.md" in paths
        return paths[0], "notes/bread.md"

    known, longest = first("lock zzz")
    unknown, _ = first("lock zzz qwertz asdfgh yxcvbn")

    assert known != longest
    assert unknown == longest


def found(kb: KnowledgeBase, **filters: Any) -> tuple[list[str], list[str]]:  # noqa: ANN401
    """Return the paths of what a search for one word finds in the filters, and its warnings."""
    narrow = SearchFilters(**filters)
    answer = kb.search(SearchQuery(text="lock", mode=SearchMode.LEXICAL, filters=narrow))
    listed = kb.list_docs(narrow)
    paths = sorted({hit.doc_path for hit in answer.hits})
    assert set(paths) <= {doc["doc_path"] for doc in listed["items"]}
    assert listed.get("warnings", []) == list(answer.warnings)
    return paths, list(answer.warnings)


@pytest.mark.parametrize(
    ("filters", "warning"),
    [
        ({"lang": ("english",)}, "lang 'english' is unknown and gives no hits; did you mean 'en'?"),
        (
            {"lang": ("klingon",)},
            "lang 'klingon' is unknown and gives no hits; known are en, ko, null, und",
        ),
        ({"code_lang": ("pyhton",)}, "did you mean 'python'?"),
        ({"repo": ("kebap",)}, "did you mean 'kebab'?"),
        ({"tag": ("rsut",)}, "did you mean 'Rust'?"),
        ({"tag": ("quantum",)}, "known are Rust, kitchen, rye\\, wheat, storage"),
        ({"source_type": ("notes",)}, "did you mean 'note'?"),
        ({"media": ("markdwon",)}, "did you mean 'markdown'?"),
        (
            {"since": "2027-01-01", "until": "2020-12-31"},
            "since '2027-01-01' is after until '2020-12-31', which gives no hits",
        ),
        ({"path_glob": ("/*.py",)}, "'/*.py' matches no path; did you mean '**/*.py'?"),
        ({"path_glob": ("/deep/src",)}, "'/deep/src' matches no path; paths begin with ko/"),
        ({"path_glob": ("src\\lock.py",)}, "matches no path; did you mean 'src/lock.py'?"),
        ({"path_glob": ("lib/**",)}, "matches no path; paths begin with ko/, notes/, odd.md, src/"),
        ({"path_glob": ("lib/**,*.rs",)}, "'lib/**,*.rs' matches no path; paths begin with ko/"),
    ],
)
def test_a_value_that_nothing_has_is_told_with_the_nearest_that_exists(
    kb: KnowledgeBase, filters: dict[str, Any], warning: str
) -> None:
    paths, warnings = found(kb, **filters)

    assert paths == []
    assert [warning in said for said in warnings] == [True]


def test_one_of_several_patterns_for_a_place_that_is_not_there_is_told(kb: KnowledgeBase) -> None:
    for several in (("{src,lib}/**",), ("src/**,lib/**",), ("src/**", "lib/**")):
        assert found(kb, path_glob=several) == (
            ["src/lock.py"],
            ["path_glob 'lib/**' matches no path"],
        )


def test_what_documents_have_is_read_off_their_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistaken = [
        SearchFilters(tag=("rsut",)),
        SearchFilters(tag=("q",)),
        SearchFilters(lang=("enx",)),
        SearchFilters(repo=("kebap",)),
    ]
    snapshot: Any = world[1].reader().snapshot()
    docs = list(snapshot.docs(None))
    read = [filter_warnings(each, snapshot, found=False) for each in mistaken]
    counted = {
        "tags": Counter(tag for doc in docs for tag in doc["tags"]),
        "lang_breakdown": Counter(doc["lang"] or "null" for doc in docs),
        "repo_breakdown": Counter(doc["repo"] for doc in docs if doc["repo"]),
    }
    snapshot.control = replace(snapshot.control, stats=counted)
    monkeypatch.delattr(type(snapshot), "docs")

    assert [filter_warnings(each, snapshot, found=False) for each in mistaken] == read
    assert all(read)


def test_of_paths_that_begin_alike_one_document_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, read = world[1].reader().snapshot(), Counter[str]()

    def counted(records: Records, kind: str, address: Any) -> Any:  # noqa: ANN401
        read[kind] += 1
        return plainly(records, kind, address)

    plainly = Records.read
    monkeypatch.setattr(Records, "read", counted)
    (said,) = filter_warnings(SearchFilters(path_glob=("lib/**",)), snapshot, found=False)

    assert said.endswith("paths begin with ko/, notes/, odd.md, src/")
    assert read["doc"] == snapshot.count_docs(None) - 1  # there are two notes


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        ({"tag": ("rust",)}, ["notes/locks.md"]),
        ({"tag": ("RUST,Kitchen",)}, ["notes/bread.md", "notes/locks.md"]),
        ({"lang": ("EN",)}, ["notes/bread.md", "notes/locks.md"]),
        ({"lang": ("en, ko",)}, ["ko/search.md", "notes/bread.md", "notes/locks.md"]),
        ({"lang": ("null",)}, ["src/lock.py"]),
        ({"lang": ("und",)}, ["odd.md"]),
        ({"code_lang": ("Python",)}, ["src/lock.py"]),
        ({"source": ("work,_added",)}, ["odd.md"]),
        ({"path_glob": ("ko/**, /odd.md",)}, ["ko/search.md", "odd.md"]),
        ({"path_glob": ("{ko,src}/*.{md,py}",)}, ["ko/search.md", "src/lock.py"]),
        ({"path_glob": ("{ko,odd.md}/**",)}, ["ko/search.md", "odd.md"]),
        ({"path_glob": ("./src/lock.py/",)}, ["src/lock.py"]),
        ({"path_glob": ("ko",)}, ["ko/search.md"]),
        ({"path_glob": ("/ko, ./src",)}, ["ko/search.md", "src/lock.py"]),
        ({"path_glob": ("**/ko",)}, ["ko/search.md"]),
        ({"path_glob": ("{ko,src}/**/*.{md,py,rs}",)}, ["ko/search.md", "src/lock.py"]),
        ({"media": ("code,md", "pdf"), "lang": ("ko", "null")}, ["ko/search.md", "src/lock.py"]),
    ],
)
def test_what_is_printed_as_a_value_is_one_and_case_does_not_matter(
    kb: KnowledgeBase, filters: dict[str, tuple[str, ...]], paths: list[str]
) -> None:
    assert found(kb, **filters) == (paths, [])


def test_a_path_with_a_comma_is_meant_before_what_the_comma_parts(tmp_path: Path) -> None:
    made = SearchWorld(tmp_path)
    paths = ("a,b.md", "b.md", "{a,b}.md", "[id]/*.md", "[id", "back\\slash.md")
    made.put(*(made.corpus.document(path, "a lock") for path in paths))

    with KnowledgeBase(*world_of(tmp_path, made)) as kb:
        assert found(kb, path_glob=("a,b.md",)) == (["a,b.md"], [])
        assert found(kb, path_glob=("{a,b}.md",)) == (["{a,b}.md"], [])
        assert found(kb, path_glob=("a\\,b.md,b.md",)) == (["a,b.md", "b.md"], [])
        assert found(kb, path_glob=("\\{a\\,b\\}.md",)) == (["{a,b}.md"], [])
        assert found(kb, path_glob=("\\[id\\]/\\*.md",)) == (["[id]/*.md"], [])
        assert found(kb, path_glob=("\\[id",)) == (["[id"], [])
        assert found(kb, path_glob=("back\\\\slash.md",)) == (["back\\slash.md"], [])
        assert found(kb, path_glob=("[id]/*.md",)) == (["[id]/*.md"], [])
        assert found(kb, path_glob=("[id",)) == (["[id"], [])


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("{a,[b]}.md", ["a.md", "b.md"]),
        ("a.md, b.md", ["a.md", "b.md"]),
        ("c,d.md", ["c,d.md"]),
        ("[id]/page.md", ["[id]/page.md"]),
        ("[ab].md", ["a.md", "b.md"]),
    ],
)
def test_the_ledger_takes_a_pattern_as_a_search_does(
    tmp_path: Path, pattern: str, paths: list[str]
) -> None:
    made = SearchWorld(tmp_path)
    names = ("a.md", "b.md", "c,d.md", "[id]/page.md")
    made.put(
        *(made.corpus.document(path, "a lock") for path in names),
        files=[file_row(path, FileState.INDEXED) for path in names],
    )

    with KnowledgeBase(*world_of(tmp_path, made)) as kb:
        assert found(kb, path_glob=(pattern,)) == (paths, [])
        assert sorted(row["doc_path"] for row in kb.status(pattern)["files"]) == paths


@pytest.mark.parametrize("tag", ["area", "#Area", "area/", "area/work", "area/work/deep"])
def test_a_tag_finds_what_is_nested_below_it_in_every_place(tmp_path: Path, tag: str) -> None:
    tags = {"area.md": "area", "deep.md": "area/Work/deep", "areas.md": "areas"}
    made = SearchWorld(tmp_path)
    made.put(*(made.corpus.document(path, "a lock", tags=(one,)) for path, one in tags.items()))
    expected = {"area.md", "deep.md"} if "work" not in tag else {"deep.md"}

    with KnowledgeBase(*world_of(tmp_path, made)) as kb:
        paths, warnings = found(kb, tag=(tag,))
        asked = (f'lock {sign}tag:"{tag}"' for sign in ("", "-"))
        inside, without = (
            {hit.doc_path for hit in kb.search(SearchQuery(text=text)).hits} for text in asked
        )

    assert (set(paths), warnings) == (expected, [])
    assert (inside, without) == (expected, tags.keys() - expected)


def test_a_tag_of_the_question_is_found_in_any_case(kb: KnowledgeBase) -> None:
    hits = kb.search(SearchQuery(text="lock tag:RUST", mode=SearchMode.LEXICAL)).hits

    assert {hit.doc_path for hit in hits} == {"notes/locks.md"}


@pytest.mark.parametrize("operation", ["search", "list", "similar", "explain_miss"])
def test_a_source_that_there_is_none_of_is_refused(kb: KnowledgeBase, operation: str) -> None:
    filters = SearchFilters(source=("note",))
    query = SearchQuery(text="lock", filters=filters)
    calls: dict[str, Callable[[], Any]] = {
        "search": lambda: kb.search(query),
        "list": lambda: kb.list_docs(filters),
        "similar": lambda: kb.similar("notes/locks.md", query),
        "explain_miss": lambda: kb.explain_miss("notes/locks.md", query),
    }

    with pytest.raises(InvalidInput) as refused:
        calls[operation]()

    assert refused.value.hint == "did you mean 'notes'?"


@pytest.mark.parametrize("name", [row.name for row in FILTERS if row.kind != "glob"])
def test_a_value_that_is_empty_is_refused_by_name(kb: KnowledgeBase, name: str) -> None:
    row = next(row for row in FILTERS if row.name == name)
    for value in ("", " ", ",") if row.many else ("", " "):
        with pytest.raises(InvalidInput) as refused:
            found(kb, **{name: (value,) if row.many else value})

        assert refused.value.details["field"] == name


def test_what_dropped_hits_leave_over_goes_to_the_snippets(kb: KnowledgeBase) -> None:
    """Fewer hits never come with shorter snippets than as many hits asked for would have."""
    text = SearchQuery(text="lock", mode=SearchMode.LEXICAL)
    sizes = range(320, 1500, 40)
    for tokens in sizes:
        many = kb.search(replace(text, k=10, max_tokens=tokens, snippet_chars=400))
        count = len(many.hits)
        few = kb.search(replace(text, k=count, max_tokens=tokens - 5, snippet_chars=400))

        assert len(few.hits) <= count
        if len(few.hits) == count:
            assert sum(len(h.snippet) for h in many.hits) >= sum(len(h.snippet) for h in few.hits)
