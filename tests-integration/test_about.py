"""What the person says of sources and folders: written, shown with hits, never indexed."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kb_app import KnowledgeBase, load_config
from kb_cli.testing import KebabHere
from kb_core import wire
from kb_core.search import SearchQuery
from kb_core.testing import closed_schema
from kb_mcp._guidance import describe

WORK = "Meetings and decisions at work, since 2019"
CLIENTS = "One folder a client; the newest minutes are the truth"


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> KebabHere:
    """Return the command over three indexed notes of which something is said."""
    kebab = KebabHere(tmp_path_factory.mktemp("about"))
    kebab.write("a.md", "An otter at work.\n")
    kebab.write("clients/b.md", "An otter for a client.\n")
    kebab.write("clients-too/c.md", "An otter for nobody.\n")
    kebab.ingest()
    kebab.run("about", "notes", WORK)
    kebab.run("about", str(kebab.notes / "clients"), CLIENTS)
    return kebab


def test_it_is_shown_once_with_hits_from_there(kebab: KebabHere) -> None:
    all_of_it = kebab.json("search", "otter")
    one = kebab.json("search", "otter", "--path-glob", "clients-too/**")

    assert all_of_it["about"] == [
        {"source_id": "notes", "text": WORK},
        {"source_id": "notes", "path": "clients", "text": CLIENTS},
    ]
    assert one["about"] == [{"source_id": "notes", "text": WORK}]
    assert wire.search_response(wire.read_search_response(all_of_it))["about"] == all_of_it["about"]
    jsonschema.Draft202012Validator(closed_schema("search_response")).validate(all_of_it)
    printed = kebab.run("search", "otter").stdout
    assert printed.count(f"notes: {WORK}") == 1
    assert printed.count(f"notes/clients: {CLIENTS}") == 1


def test_one_list_for_several_queries_code_and_what_is_similar_have_it_too(
    kebab: KebabHere,
) -> None:
    whole, part = {"source_id": "notes", "text": WORK}, {"source_id": "notes", "path": "clients"}
    with KnowledgeBase.open(load_config(kebab.config), readonly=True) as kb:
        code = kb.codebase_search({"query": "otter"})
        queries = [SearchQuery(text="otter client"), SearchQuery(text="-otter")]
        merged = kb.search_aggregated(queries, k=1)
        near = wire.search_response(kb.similar("a.md"))

    first, failed = wire.aggregated_search_response([{}, {}], merged)["results"]
    jsonschema.Draft202012Validator(closed_schema("codebase_search_response")).validate(code)
    assert code["about"] == [whole, {**part, "text": CLIENTS}]
    assert f"Note: notes/clients: {CLIENTS}" in wire.codebase_search_text(code)
    assert first["response"] is not None
    assert whole in first["response"]["about"]
    assert failed["response"] is None or "about" not in failed["response"]
    assert whole in near["about"]


def test_saying_something_else_indexes_nothing_again(kebab: KebabHere) -> None:
    kebab.run("about", str(kebab.notes / "clients-too"), "Nobody's")

    report = kebab.ingest()
    assert (report["unchanged"], report["scanned"]) == (3, 3)
    assert kebab.json("search", "2019")["hits"] == []

    kebab.run("about", str(kebab.notes / "clients-too"), "--remove")


def test_a_budget_has_the_last_word(kebab: KebabHere) -> None:
    full = kebab.json("search", "otter")
    without = {name: value for name, value in full.items() if name != "about"}
    tokens = len(wire.dumps(without)) // 4 + 5

    found = kebab.json("search", "otter", "--max-tokens", str(tokens))

    assert len(wire.dumps(found)) <= 4 * tokens
    assert "about" not in found


def test_it_is_listed_changed_and_taken_out_and_comments_stay(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    (kebab.notes / "x").mkdir()
    kebab.configure(extra="# kept")

    kebab.run("about", "notes", "First")
    kebab.run("about", str(kebab.notes / "x"), "Second")
    kebab.run("about", "notes", "Third")
    listed = kebab.json("about")["sources"][0]["about"]
    assert listed == [{"text": "Third"}, {"path": "x", "text": "Second"}]
    assert "# kept" in kebab.config.read_text("utf-8")

    kebab.run("about", "notes", "--remove")
    kebab.run("about", str(kebab.notes / "x"), "--remove")
    assert "about" not in kebab.json("about")["sources"][0]
    kebab.run("about", "notes", "--remove", code=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("about", "nots", "x"), "did you mean 'notes'?"),
        (("about", "notes"), 'kebab --config {config} about notes "…"'),
        (("about", "notes", "x", "--remove"), 'kebab --config {config} about notes "…"'),
        (("about", "notes", "  "), "write a sentence"),
        (("about", "notes", "x" * 301), "write a sentence"),
        (("about", "/", "x"), "the sources are notes"),
    ],
)
def test_what_cannot_be_said_is_refused(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    kebab = KebabHere(tmp_path)
    before = kebab.config.read_text("utf-8")

    error = json.loads(kebab.run("--json", *words, code=2).stderr)

    assert error["code"] == "invalid_input"
    assert told.format(config=kebab.config) in error["hint"]
    assert kebab.config.read_text("utf-8") == before


@pytest.mark.parametrize(
    "written",
    ["about = 3", 'about = [{ path = "a" }]', 'about = [{ path = "../a", text = "b" }]'],
)
def test_what_a_file_says_wrongly_is_told_with_its_line(tmp_path: Path, written: str) -> None:
    kebab = KebabHere(tmp_path)
    kebab.config.write_text(kebab.config.read_text("utf-8") + written, "utf-8")

    error = json.loads(kebab.run("--json", "search", "x", code=2).stderr)

    assert error["code"] == "config_invalid"
    assert "a text, or tables of a text and a path below the root" in error["message"]
    assert error["details"]["line"] == kebab.config.read_text("utf-8").count("\n") + 1


def test_a_source_is_added_with_it_and_models_are_told(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    (tmp_path / "more").mkdir()
    kebab.run("add", str(tmp_path / "more"), "--about", "Papers to read")

    from kb_app.config import load_config
    from kb_app.preferences import preferences_of

    config = load_config(kebab.config)
    stats = kebab.json("stats")
    assert config.sources[1].about[0].text == "Papers to read"
    assert preferences_of(config).about == (("more", "Papers to read"),)
    told = describe({**stats, "doc_count": 1}, wishes=preferences_of(config))
    assert "What the person says of it: more: Papers to read." in told
