"""Which folder takes a file, and what a narrowed run is narrowed to."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app._ingest.added.placing import allowed_folders, place_in
from kb_app._ingest.settings import source_specs
from kb_app._wiring import open_session
from kb_app.config import Config, Embedding, Mcp, Source
from kb_app.testing.parts import open_here
from kb_core.clock import utc_now
from kb_core.errors import InvalidInput
from kb_core.ingest import IngestOptions
from kb_core.records import Changes, FileState

NFD = unicodedata.normalize("NFD", "café")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return two sources, one inside the other, which leaves it to the other."""
    (tmp_path / "notes/inner").mkdir(parents=True)
    for path in ("notes/a.md", "notes/inner/b.md", f"notes/{NFD}.md"):
        (tmp_path / path).write_text("A walrus.\n", "utf-8")
    outer = Source(id="outer", root=tmp_path / "notes", exclude=("/inner/",))
    inner = Source(id="inner", root=tmp_path / "notes/inner")
    return replace(Config.inside(tmp_path / "kb", outer, inner), embedding=Embedding(model="none"))


def test_of_nested_sources_the_one_that_takes_a_file_has_it(config: Config, tmp_path: Path) -> None:
    specs, notes = source_specs(config, ()), os.path.realpath(tmp_path / "notes")

    taken = {name: place_in(specs, f"{notes}/{name}") for name in ("a.md", "inner/b.md")}

    assert {name: place.spec.source_id for name, place in taken.items() if place} == {
        "a.md": "outer",
        "inner/b.md": "inner",
    }
    assert place_in(specs, f"{notes}-not/a.md") is place_in(specs, notes) is None


def test_a_file_that_no_source_takes_has_the_reason(config: Config, tmp_path: Path) -> None:
    (tmp_path / "notes/.gitignore").write_text("a.md\n", "utf-8")

    place = place_in(source_specs(config, ()), os.path.realpath(tmp_path / "notes/a.md"))

    assert place is not None
    assert place.refused is not None
    assert place.refused.reason == "ignored"
    assert ".gitignore" in place.refused.detail


def test_of_nested_sources_that_both_leave_a_file_alone_the_inner_one_says_why(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "notes/inner/.kebabignore").write_text("b.md\n", "utf-8")

    place = place_in(source_specs(config, ()), os.path.realpath(tmp_path / "notes/inner/b.md"))

    assert place is not None
    assert place.spec.source_id == "inner"
    assert place.refused is not None
    assert ".kebabignore" in place.refused.detail


def test_a_run_is_narrowed_to_what_the_walk_calls_a_file(config: Config, tmp_path: Path) -> None:
    (spec,) = source_specs(config, (str(tmp_path / f"notes/{NFD}.md"),))

    assert spec.narrow == ("café.md",)


@pytest.mark.parametrize("within", ["x.md", "b.zip!/x.md", "x" * 300])
def test_a_run_of_what_is_in_a_file_is_of_the_file(
    config: Config, tmp_path: Path, within: str
) -> None:
    (spec,) = source_specs(config, (str(tmp_path / f"notes/a.md!/{within}"),))

    assert spec.narrow == ("a.md",)


def test_a_run_of_a_source_and_a_part_of_it_is_of_all_of_it(config: Config, tmp_path: Path) -> None:
    top, part = str(tmp_path / "notes"), str(tmp_path / "notes/a.md")

    for paths in ((top, part), (part, top)):
        assert [spec.narrow for spec in source_specs(config, paths)] == [()]


def test_a_folder_that_is_reached_through_a_link_is_the_folder(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("notes")
    linked = replace(config, mcp=Mcp(ingest_roots=(tmp_path / "link",)))
    real = os.path.realpath(tmp_path)

    assert len(allowed_folders(linked, f"{real}/notes/a.md", "shown")) == 1
    with pytest.raises(InvalidInput, match="'shown' is in no folder") as caught:
        allowed_folders(linked, f"{real}/kb/a.md", "shown")
    assert caught.value.details == {
        "field": "path",
        "value": "shown",
        "setting": "mcp.ingest_roots",
    }


def test_a_file_that_failed_is_tried_again_when_somebody_names_it(
    config: Config, tmp_path: Path
) -> None:
    with open_here(config) as kb:
        list(kb.ingest(IngestOptions()))
        with open_session(config.storage.data_dir, lock_wait_secs=0, clock=utc_now) as session:
            row = session.store.ledger("outer")["a.md"]
            failed = replace(row, state=FileState.FAILED, error_code="internal")
            session.commit(Changes(files=(failed,)))

        *_, last = kb.ingest_file(str(tmp_path / "notes/a.md"))

    assert last.report is not None
    assert last.report.counts["error"] == 0
    assert last.report.counts["updated"] == 1
