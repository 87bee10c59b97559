"""The search of code for language models: what may be asked, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from kb_app._search.codebase import (
    CodebaseQuery,
    CodebaseRequest,
    codebase_search,
    normal_path,
    read_request,
)
from kb_app._search.engine import Engine
from kb_app._search.roles import role_filter, role_of
from kb_app.testing import SearchWorld
from kb_app.testing.facade import hit as made_hit
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.records import DocumentRecord
from kb_core.search import FileRole
from kb_core.testing import closed_schema

FILES = {
    "src/utils/errors.py": "class ErrorHandler:\n    error = 'handling'\n\n\ndef retry(): ...",
    "src/auth/validator.py": "def validate_token(token):\n    return 'authentication' in token",
    "src/auth/[id]/page.py": "def page(token): return token",
    "lib/errors.py": "def error_handling(): raise exception",
    "docs/errors.md": "Error handling and exception handling and try catch.",
}
ESCAPES = ["..", "../x", "src/../../x", "/etc", "/", "C:/x", "..\\x"]


def test_a_request_has_three_forms_that_mean_the_same() -> None:
    forms: list[dict[str, Any]] = [
        {"queries": [{"query": "error handling", "path": "src"}]},
        {"queries": ["error handling"], "path": "src"},
        {"query": "error handling", "path": "src"},
        {"queries": "error handling", "path": "src"},
        {"queries": [{"query": " error  handling "}], "path": "src", "maxResults": None},
        {"queries": [], "query": "error handling", "path": "src"},
        {"queries": ["error handling", {"query": "error handling", "path": "src"}], "path": "src"},
        {"queries": ["error handling", "", " ", None, {"query": ""}, {}], "path": "src"},
    ]

    wanted = CodebaseRequest((CodebaseQuery("error handling", "src"),), 20)

    assert [read_request(form, max_results=20) for form in forms] == [wanted] * len(forms)


def test_seed_codebase_forms_of_the_tool_description() -> None:
    """The examples that models are shown, one to one."""
    batch = {"queries": ["error handling", "exception handling", "try catch"]}
    paths = {
        "queries": [
            {"query": "error handling", "path": "src/utils"},
            {"query": "exception handling", "path": "src/api"},
        ]
    }
    own = {"queries": ["database connection", "connection pool"], "maxResults": 10}

    assert read_request(batch, max_results=7) == CodebaseRequest(
        tuple(map(CodebaseQuery, batch["queries"])), 7
    )
    assert read_request(paths, max_results=7).queries == (
        CodebaseQuery("error handling", "src/utils"),
        CodebaseQuery("exception handling", "src/api"),
    )
    assert read_request(own, max_results=7).max_results == 10


def test_a_number_may_be_written_as_a_text() -> None:
    for three in (3, 3.0, "3", " 3 "):
        assert read_request({"query": "a", "maxResults": three}, max_results=20).max_results == 3


def test_of_query_and_queries_it_is_said_which_was_taken() -> None:
    both = read_request({"queries": ["error handling"], "query": "other"}, max_results=20)
    one = read_request({"queries": [], "query": "other"}, max_results=20)

    assert [query.text for query in both.queries] == ["error handling"]
    assert both.remarks == ('"queries" was taken, and "query" was not: a request has one of them',)
    assert ([query.text for query in one.queries], one.remarks) == (["other"], ())
    both = read_request({"query": ["a", {"b": 1}], "queries": "c"}, max_results=9)
    assert [query.text for query in both.queries] == ["c"]
    assert both.remarks


def test_forms_may_be_mixed_and_an_own_path_wins() -> None:
    mixed = {"queries": ["a", {"query": "b"}, {"query": "c", "path": "lib"}], "path": "src"}

    assert read_request(mixed, max_results=5).queries == (
        CodebaseQuery("a", "src"),
        CodebaseQuery("b", "src"),
        CodebaseQuery("c", "lib"),
    )


@pytest.mark.parametrize(
    "given",
    [{}, {"queries": []}, {"query": " "}, {"queries": ["", {"query": None}]}, {"path": "a"}],
)
def test_seed_codebase_nothing_to_search_for(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r'^must provide "query" or "queries"$'):
        read_request(given, max_results=20)


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        ({"query": "a", "max_results": 3}, "'max_results'", "did you mean 'maxResults'?"),
        ({"queries": [{"query": "a", "folder": "x"}]}, "'queries.0.folder'", "query, path"),
        ({"query": 5}, "query 5 is not a text", None),
        ({"queries": ["a", 5]}, "queries.1 5 is not a text", None),
        ({"query": "a", "path": ["x"]}, 'path ["x"] is not a folder', None),
        ({"query": "a", "quary": "b"}, "unknown parameter 'quary'", "did you mean 'query'?"),
        ({"query": "a", "maxResults": -1}, "maxResults -1 is not", None),
        ({"query": "a", "maxResults": 0}, "from 1 to 100", None),
        ({"query": "a", "maxResults": "0"}, "from 1 to 100", None),
        ({"query": "a", "maxResults": "many"}, "maxResults 'many' is not", None),
        ({"query": "a", "maxResults": "9" * 5000}, "is not a whole number", None),
        ({"queries": 5}, "queries 5 is not a list of queries", None),
        ({"query": "a", "maxResults": 101}, "from 1 to 100", None),
        ({"query": "a", "maxResults": True}, "maxResults true", None),
        ({"query": "a", "include": "test"}, "include 'test' is none of", "did you mean 'tests'?"),
        ({"query": "a", "include": ["code", 5]}, "include 5 is none of code, docs", None),
        ({"query": "a", "include": 5}, "include 5 is not a list of code, docs", None),
        ({"query": "a", "group": "perhaps"}, "group 'perhaps' is not true or false", None),
        ({"query": "a", "group": 1}, "group 1 is not true or false", None),
        ({"queries": [f"q{n}" for n in range(101)]}, "queries: max 100 items", "several calls"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    given: dict[str, Any], said: str, hint: str | None
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_request(given, max_results=20)

    assert said in str(caught.value)
    assert hint is None or hint in str(caught.value.hint)


@pytest.mark.parametrize("path", ["", ".", "./", "./.", ".\\", " ", "src/.."])
def test_a_path_that_is_the_root_limits_nothing(path: str) -> None:
    assert normal_path(path) == ""


@pytest.mark.parametrize(
    ("path", "normal"),
    [("./src", "src"), ("src/", "src"), ("src//a/../b", "src/b"), ("src\\utils", "src/utils")],
)
def test_a_path_has_one_normal_form(path: str, normal: str) -> None:
    assert normal_path(path) == normal


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_outside_the_root_is_an_error(path: str) -> None:
    with pytest.raises(InvalidInput, match="path"):
        normal_path(path)


@given(st.text(alphabet="./\\ab ~*[", max_size=12))
@settings(max_examples=300)
def test_a_path_is_inside_the_root_or_refused(path: str) -> None:
    try:
        normal = normal_path(path)
    except InvalidInput:
        return
    assert not normal.startswith("/")
    assert {".", "..", ""}.isdisjoint(normal.split("/")) or not normal
    assert normal_path(normal) == normal


# ----------------------------------------------------------------- over an index


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    made = SearchWorld(tmp_path_factory.mktemp("world"))
    made.put(
        *(made.corpus.document(path, text) for path, text in FILES.items()),
        made.corpus.document("auth/token.py", "def token(): ...", source_id="kebab", repo="kebab"),
    )
    return made


@pytest.fixture(scope="module")
def engine(world: SearchWorld) -> Engine:
    return world.engine()


def search(engine: Engine, max_results: int = 20, **given: Any) -> Mapping[str, Any]:  # noqa: ANN401
    response = codebase_search(engine, given, max_results=max_results)
    Draft202012Validator(closed_schema("codebase_search_response")).validate(
        json.loads(wire.dumps(response))
    )
    return response


def paths(response: Mapping[str, Any]) -> set[str]:
    return {hit["doc_path"] for hit in response["hits"]}


def test_code_comes_first_and_whole_chunks_are_shown(engine: Engine) -> None:
    response = search(engine, query="error handling")

    assert "docs/errors.md" in paths(response)
    assert response["hits"][0]["doc_path"] in {"src/utils/errors.py", "lib/errors.py"}
    assert all(hit["snippet_full_text"] for hit in response["hits"])
    assert {hit["citation"]["kind"] for hit in response["hits"]} == {"code", "line"}


def test_several_queries_make_one_list_that_says_who_found_what(engine: Engine) -> None:
    response = search(engine, queries=["error handling", "exception", "authentication"])

    assert response["queries"] == [
        {"query": "error handling"},
        {"query": "exception"},
        {"query": "authentication"},
    ]
    scores = [hit["score"] for hit in response["hits"]]
    assert scores == sorted(scores, reverse=True)
    for rank, hit in enumerate(response["hits"], start=1):
        bonus = 1 + 0.05 * (len(hit["matched_queries"]) - 1)
        assert hit["rank"] == rank
        assert hit["score"] == pytest.approx(hit["base_score"] * bonus, abs=1e-5)
        assert 0 <= hit["base_score"] <= 1


def test_maxresults_bounds_the_whole_list_and_the_rest_is_admitted(engine: Engine) -> None:
    whole, few = (
        search(engine, queries=["token", "error"]),
        search(engine, queries=["token", "error"], maxResults=2),
    )

    assert (len(few["hits"]), few["truncated"], whole["truncated"]) == (2, True, False)
    assert few["hits"] == whole["hits"][:2]
    assert len(search(engine, max_results=1, query="token")["hits"]) == 1


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src", {"src/utils/errors.py", "src/auth/validator.py", "src/auth/[id]/page.py"}),
        ("src/auth", {"src/auth/validator.py", "src/auth/[id]/page.py"}),
        ("./src/auth/", {"src/auth/validator.py", "src/auth/[id]/page.py"}),
        ("src/auth/[id]", {"src/auth/[id]/page.py"}),
        ("src/auth/validator.py", {"src/auth/validator.py"}),
        ("auth", {"auth/token.py"}),
        ("kebab", {"auth/token.py"}),
        ("kebab/auth", {"auth/token.py"}),
        ("src/aut", set()),
        ("lib/validator.py", set()),
        ("*", set()),
    ],
)
def test_a_path_limits_to_a_folder_or_file_of_a_source_or_repository(
    engine: Engine, path: str, found: set[str]
) -> None:
    response = search(engine, query="token error authentication page", path=path)

    assert paths(response) == found
    meant = {"src/aut": "src/auth", "lib/validator.py": "src/auth/validator.py"}.get(path)
    also = f"; did you mean {meant!r}?" if meant else ""
    assert response.get("warnings", []) == (
        [] if found else [f"path {path!r} holds nothing that is indexed{also}"]
    )


@pytest.mark.parametrize("path", ["", ".", "./"])
def test_no_limit_is_the_same_as_no_path(engine: Engine, path: str) -> None:
    assert search(engine, query="token", path=path) == search(engine, query="token")


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_outside_fails_its_query_and_no_other(engine: Engine, path: str) -> None:
    response = search(engine, queries=[{"query": "error", "path": path}, "token"])

    (error,) = response["errors"]
    assert (error["query"], error["error"]["code"]) == (0, "invalid_input")
    assert response["queries"][0] == {"query": "error", "path": path}
    assert {tuple(hit["matched_queries"]) for hit in response["hits"]} == {(1,)}
    with pytest.raises(InvalidInput):
        search(engine, query="error", path=path)


def test_one_path_spelled_twice_is_one_query(engine: Engine) -> None:
    response = search(engine, queries=[{"query": "token", "path": p} for p in ("src", "./src/")])

    assert response["queries"] == [{"query": "token", "path": "src"}]
    assert {tuple(hit["matched_queries"]) for hit in response["hits"]} == {(0,)}


def test_the_same_words_in_another_folder_are_another_query(engine: Engine) -> None:
    response = search(
        engine,
        queries=["validate token", {"query": "validate token", "path": "src/auth"}],
    )

    matches = {hit["doc_path"]: len(hit["matched_queries"]) for hit in response["hits"]}
    assert matches["src/auth/validator.py"] == 2
    assert matches["auth/token.py"] == 1


def test_the_order_of_the_queries_does_not_matter(engine: Engine) -> None:
    there = search(engine, queries=["token", "error handling"])
    back = search(engine, queries=["error handling", "token"])

    def ranking(response: Mapping[str, Any]) -> list[tuple[str, float]]:
        return [(hit["chunk_id"], hit["score"]) for hit in response["hits"]]

    assert ranking(there) == ranking(back)


def test_code_without_lines_is_dropped_and_not_merged(tmp_path: Path) -> None:
    """Results without a place once fell together as one that many queries had found."""
    from kb_core.citations import PageSpan, stored_span

    world = SearchWorld(tmp_path)
    odd = world.corpus.document("odd.py", "token one\n\ntoken two")
    pages = tuple(replace(c, span=stored_span(PageSpan(1))) for c in odd.chunks)
    world.put(replace(odd, chunks=pages), world.corpus.document("a.py", "token three"))

    response = search(world.engine(), queries=["token", "two"])

    assert paths(response) == {"a.py"}


def test_nothing_found_is_an_answer(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write("only prose here")

    response = search(world.engine(), query="anything", include=["code"])

    assert (response["hits"], response["truncated"]) == ([], False)


def test_what_did_not_run_is_said_once(world: SearchWorld) -> None:
    engine = world.engine(model_key=None)

    response = search(engine, queries=["token", "error"])

    assert response["degraded"] == ["vector: switched off (embedding.model is 'none')"]


# ------------------------------------------------------------- roles and groups

PARSE = "def parse_token(text):\n    return text.split('token')\n"
REPOSITORY = {
    "src/parse.py": PARSE,
    "src/app.py": "def main(text):\n    token = parse_token(text)\n    return token\n",
    "src/testing/fakes.py": PARSE,
    "tests/test_parse.py": "def test_parse_token():\n    assert parse_token('a token')\n",
    "web/parse.test.ts": "it('parse_token', () => parse_token('token'))",
    "docs/parse.md": "# Parsing\n\nparse_token makes a token of text.",
    "CHANGELOG.md": "# Changes\n\n- parse_token makes a token of text.",
    "parse.toml": "parse_token = 'token'",
}
ROLES = {
    "code": {"src/parse.py", "src/app.py"},
    "docs": {"docs/parse.md", "CHANGELOG.md"},
    "tests": {"src/testing/fakes.py", "tests/test_parse.py", "web/parse.test.ts"},
    "config": {"parse.toml"},
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    made = SearchWorld(tmp_path_factory.mktemp("repository"))
    made.put(*(document(made, path, text) for path, text in REPOSITORY.items()))
    return made.engine(model_key=None)


def document(world: SearchWorld, path: str, text: str = "token") -> DocumentRecord:
    languages = {
        "py": "python",
        "pyi": "python",
        "ts": "typescript",
        "toml": "toml",
        "json": "json",
    }
    lang = languages.get(path.rpartition(".")[2])
    kind = {"media": "code", "code_lang": lang, "lang": None} if lang else {}
    return world.corpus.document(path, text, **kind)


@pytest.mark.parametrize("roles", [[role] for role in ROLES] + [["tests", "docs"], [*ROLES]])
def test_include_narrows_to_what_a_file_is(repository: Engine, roles: list[str]) -> None:
    wanted = set().union(*(ROLES[role] for role in roles))

    for form in (roles, ", ".join(roles)):
        assert paths(search(repository, query="parse_token", include=form)) == wanted


def test_what_is_done_comes_before_what_is_tried_imitated_configured_and_told(
    repository: Engine,
) -> None:
    response = search(repository, query="parse_token")
    order = [hit["doc_path"] for hit in response["hits"]]

    assert order[0] in ROLES["code"]
    assert set(order) == set().union(*ROLES.values())
    assert order.index("src/testing/fakes.py") > order.index("src/parse.py")
    assert order.index("CHANGELOG.md") > order.index("docs/parse.md")


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ("from parse import parse_token", "size = 3"),
        ("# Copyright: the authors of parse_token\nimport re", "size = 3"),
        ("use parse::parse_token;", "fn f() {}"),
        ("#include <parse_token.h>", "int size = 3;"),
        ("import { parse_token } from 'parse'", "start()"),
        ("import parse", '"""parse_token."""'),
    ],
)
def test_what_only_imports_or_licenses_comes_after_what_is_done(
    tmp_path: Path, head: str, code: str
) -> None:
    world = SearchWorld(tmp_path)
    world.put(document(world, "a.py", head), document(world, "b.py", f"{head}\n{code}"))

    response = search(world.engine(model_key=None), query="parse_token")

    assert [hit["doc_path"] for hit in response["hits"]] == ["b.py", "a.py"]


@pytest.mark.parametrize(
    ("query", "first"),
    [("test of parse_token", ROLES["tests"]), ("parse_token changelog", {"CHANGELOG.md"})],
)
def test_a_question_for_tests_or_changes_gets_them(
    repository: Engine, query: str, first: set[str]
) -> None:
    assert search(repository, query=query)["hits"][0]["doc_path"] in first


@pytest.mark.parametrize("asked", ["where is {}", "wo ist {}", "{} 어디에 있나"])
def test_a_question_for_the_place_gets_it_before_what_tells_of_it(
    tmp_path: Path, asked: str
) -> None:
    world = SearchWorld(tmp_path)
    world.put(
        document(world, "docs/read.md", "parse token, parse token, parse it"),
        document(world, "src/read.py", "read(parse, token, parse + 3)"),
        document(world, "tests/test_read.py", "assert 'parse token, parse token, parse token'"),
        *(document(world, f"src/other{n}.py", f"size = {n}") for n in range(9)),
    )
    engine = world.engine(model_key=None)

    def found(query: str) -> list[str]:
        return [hit["doc_path"] for hit in search(engine, query=query)["hits"]]

    assert found("parse token")[0] == "docs/read.md"
    assert found(asked.format("parse token"))[0] == "src/read.py"


@pytest.mark.parametrize(
    "said",
    [
        'def f():\n    """Split the token."""\n    size()',
        "# Split the token.\nsize()",
        "// Split the token.\nsize();",
        "/**\n * Split the token.\n */\nsize();",
        "-- Split the token.\nsize()",
        'size("This token can never be split.")',
        "SPLIT_TOKEN = size()",
    ],
)
@pytest.mark.parametrize("asked", ["split the token", "where is the token split"])
def test_what_code_says_in_prose_comes_before_what_it_does(
    tmp_path: Path, said: str, asked: str
) -> None:
    world = SearchWorld(tmp_path)
    does = "split(token)\nsize()"
    world.put(
        document(world, "a.py", does),
        document(world, "b.py", said),
        *(document(world, f"c{n}.py", f"size = {n}") for n in range(9)),
    )

    response = search(world.engine(model_key=None), query=asked)

    assert response["hits"][0]["doc_path"] == "b.py"


def test_a_benchmark_tries_and_does_not_do(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.put(document(world, "bench/a.py", PARSE), document(world, "src/b.py", PARSE))
    engine = world.engine(model_key=None)

    assert search(engine, query="parse_token")["hits"][0]["doc_path"] == "src/b.py"
    assert paths(search(engine, query="parse_token", include="tests")) == {"bench/a.py"}


def test_what_is_defined_under_the_name_comes_before_where_it_is_used(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    used, defined = (document(world, f"{name}.py", PARSE) for name in ("a", "b"))
    named = tuple(replace(chunk, symbol="Parser.parse_token") for chunk in defined.chunks)
    world.put(used, replace(defined, chunks=named))

    response = search(world.engine(model_key=None), query="where is parse_token")

    assert [hit["doc_path"] for hit in response["hits"]] == ["b.py", "a.py"]


def test_a_file_that_says_much_comes_before_one_that_says_it_once(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    one = "def lock():\n    return 'lock of the writer'\n"
    several = "\n\n".join(f"def lock_{n}():\n    return 'lock of a writer {n}'" for n in range(4))
    world.put(
        world.corpus.document("src/once.py", one), world.corpus.document("src/much.py", several)
    )

    response = search(world.engine(model_key=None), query="lock writer")

    assert response["hits"][0]["doc_path"] == "src/much.py"


@pytest.mark.parametrize(
    ("folder", "ending", "question", "by_words", "by_both"),
    [
        ("src", "py", "what is the lock of the writer", "src/once.py", "src/much.py"),
        ("docs", "md", "lock of the writer", "docs/much.md", "docs/much.md"),
        ("docs", "md", "what is the lock of the writer", "docs/once.md", "docs/much.md"),
    ],
)
def test_further_passages_of_a_file_count_by_words_of_pages_where_code_is_not_asked_for(
    tmp_path: Path, folder: str, ending: str, question: str, by_words: str, by_both: str
) -> None:
    world = SearchWorld(tmp_path)
    opens = "def held{}():\n    return '{}'" if ending == "py" else "# Held {}\n\n{}"
    best = opens.format("", "the lock of the writer: a lock of one writer, whose lock it is")
    more = {
        "py": "the lock of the writer, one lock of a writer, number",
        "md": "the lock of a writer, that is held by whoever came before some others did, number",
    }[ending]
    several = "\n\n".join(opens.format(f"_{n}", f"{more} {n}") for n in range(4))
    world.put(
        world.corpus.document(f"{folder}/once.{ending}", best + "\n"),
        world.corpus.document(f"{folder}/much.{ending}", several + "\n"),
    )

    for engine, first in ((world.engine(model_key=None), by_words), (world.engine(), by_both)):
        assert search(engine, query=question)["hits"][0]["doc_path"] == first


def test_the_filter_of_a_role_passes_the_files_that_have_it(tmp_path: Path) -> None:
    odd = (
        *("a/conftest.py", "x-tests/y.go", "FooTest.java", "spec/a_spec.rb", "contest.py"),
        *("src/latest.py", "attest/a.py", "Dockerfile", "a.yaml", "tests.md", "test.py", "mock.py"),
        *("mocks/a.json", "TEST_a.py", "protest/test_.md", "a/tests/b/c.txt", "testing.py"),
    )
    world = SearchWorld(tmp_path)
    world.put(*(document(world, path) for path in (*REPOSITORY, *odd)))
    snapshot = world.snapshot()
    chunks = [chunk for doc in snapshot.docs(None) for chunk in snapshot.doc_chunks(doc["doc_id"])]

    for role in FileRole:
        passing = {doc["path"] for doc in snapshot.docs(role_filter([role]))}
        assert passing == {chunk["path"] for chunk in chunks if role_of(chunk) is role}, role
    assert snapshot.count_docs(role_filter([])) == len(chunks) == len(REPOSITORY) + len(odd)


@pytest.mark.parametrize("ending", ["d.ts", "pyi"])
def test_what_is_done_comes_before_what_declares_it(tmp_path: Path, ending: str) -> None:
    world = SearchWorld(tmp_path)
    declared = "token limit of the parser"
    done = f"{declared}, and more of what is done there by it"
    world.put(document(world, f"a.{ending}", declared), document(world, "b.ts", done))

    found = search(world.engine(model_key=None), query=declared)

    assert [hit["doc_path"] for hit in found["hits"]] == ["b.ts", f"a.{ending}"]


def test_grouped_queries_are_answered_apart_and_share_the_list(repository: Engine) -> None:
    queries = ["parse_token", "changelog", "parse_token text"]
    response = search(repository, queries=queries, group=True, maxResults=6)

    hits = response["hits"]
    assert [group["query"] for group in response["groups"]] == [0, 1, 2]
    assert all(0 < len(group["ranks"]) <= 2 for group in response["groups"])
    assert len(hits) <= 6
    assert len({hit["chunk_id"] for hit in hits}) == len(hits)
    assert response["truncated"] is True
    for group in response["groups"]:
        assert set(group["ranks"]) <= {hit["rank"] for hit in hits}
    alone = search(repository, query="changelog", maxResults=1)
    assert hits[response["groups"][1]["ranks"][0] - 1]["doc_path"] == (alone["hits"][0]["doc_path"])
    assert "groups" not in search(repository, queries=queries)
    few = search(repository, queries=queries, group=True, maxResults=1)
    assert all(group["ranks"] for group in few["groups"])


def test_the_last_of_grouped_queries_is_answered_too(tmp_path: Path) -> None:
    """Of parts that are rounded up nothing was left for it."""
    world, folders = SearchWorld(tmp_path), ("a", "b", "c")
    world.put(*(document(world, f"{at}/{n}.py", f"token_{n}") for at in folders for n in range(3)))
    queries = [{"query": "token", "path": path} for path in folders]

    engine = world.engine(model_key=None)
    for most in range(1, 10):
        response = search(engine, queries=queries, group=True, maxResults=most)
        sizes = [len(group["ranks"]) for group in response["groups"]]
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) == len(response["hits"]) == max(most, 3)


NASTY = [
    "(" * 300,
    "\0",
    "a\nb",
    "[",
    "[a",
    "{1,2}",
    "\\",
    "a|b",
    "^$",
    "\ud800",
    "é" * 200,
    "한/국",
]


@given(
    text=st.one_of(st.sampled_from(NASTY), st.text(max_size=8)),
    path=st.one_of(st.sampled_from(NASTY), st.text(max_size=8)),
)
@settings(max_examples=150)
def test_no_text_and_no_path_can_break_it(engine: Engine, text: str, path: str) -> None:
    try:
        response = search(engine, query=text, path=path)
    except InvalidInput:
        return
    assert wire.codebase_search_text(response).startswith("Query: ")


def test_more_results_than_were_asked_for_are_told_at_any_number(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    texts = [f"def token_{n}():\n    return {n}\n" for n in range(120)]
    world.put(
        *(
            world.corpus.document(f"src/t{n}.py", text, media="code", code_lang="python", lang=None)
            for n, text in enumerate(texts)
        )
    )
    engine = world.engine()

    for most in (10, 49, 50, 100):
        response = codebase_search(engine, {"query": "token"}, max_results=most)
        assert (len(response["hits"]), response["truncated"]) == (most, True)


def test_a_path_in_two_sources_names_its_source() -> None:
    def shown(*sources: str) -> list[str]:
        fields: dict[str, Any] = {"doc_path": "a.py", "media": "code", "matched_queries": (0,)}
        hits = [wire.hit(made_hit(**fields, source_id=one)) for one in sources]
        text = wire.codebase_search_text({"queries": [{"query": "x"}], "hits": hits})
        return [line for line in text.split("\n") if line.startswith("File path")]

    both = ["File path: a.py (source: notes)", "File path: a.py (source: work)"]
    assert shown("notes", "work") == both
    assert shown("notes", "notes") == ["File path: a.py"] * 2


def test_groups_read_as_one_text(repository: Engine) -> None:
    again = {"query": "parse_token", "path": "src"}
    response = search(repository, queries=["parse_token", again], group=True, maxResults=2)
    text = wire.codebase_search_text(response)

    assert text.startswith("Batch Query Results (2 queries):")
    assert [line for line in text.splitlines() if line.startswith(("Query: ", "See above: "))] == [
        "Query: parse_token",
        "Query: parse_token",
        f"See above: {response['hits'][0]['citation']['uri']}",
    ]
