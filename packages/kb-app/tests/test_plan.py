"""What a run takes as gone, beside what was known of the source: disks come and go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kb_app._ingest.plan import Known, Plan, plan_sources, source_row
from kb_app._ingest.settings import SourceSpec
from kb_app.testing.parts import SETTINGS
from kb_core.ingest import IngestOptions
from kb_core.records import FileRecord, FileState


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (root / path).mkdir()
        else:
            (root / path).write_text(path)


def plan(
    root: Path, documents: Iterable[str], row: Mapping[str, Any], *, allow_empty: bool = False
) -> Plan:
    """Return the plan of a source that had these *documents*, and was told of by *row*."""
    before = {
        path: FileRecord(source_id="s", path=path, state=FileState.INDEXED, doc_id=path)
        for path in documents
    }
    source = SourceSpec(source_id="s", root=os.fspath(root))
    known = Known(ledger=lambda _: before, sources={"s": row})
    (made,) = plan_sources([source], known, SETTINGS, IngestOptions(allow_empty=allow_empty))
    return made


def gone(made: Plan) -> list[str]:
    return [row.path for row in made.gone]


def test_what_lies_where_a_disk_was_is_not_taken_for_it_by_a_second_run_either(
    tmp_path: Path,
) -> None:
    make(tmp_path, "not-mounted.md")
    other, documents = {"device": tmp_path.stat().st_dev + 1}, ["a.md", "b.md"]

    first = plan(tmp_path, documents, other)
    second = plan(tmp_path, [*documents, "not-mounted.md"], source_row(first))

    assert gone(first) == gone(second) == []
    (warning,) = second.warnings
    assert "is on another device now, and 2 of 3 documents are not there; nothing" in warning
    assert f"'kebab ingest {tmp_path} --allow-empty'" in warning
    believed = plan(tmp_path, documents, source_row(second), allow_empty=True)
    assert gone(believed) == documents
    assert gone(plan(tmp_path, documents, source_row(believed))) == documents


def test_a_disk_that_is_called_otherwise_is_known_by_what_is_on_it(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.md")
    other, documents = {"device": tmp_path.stat().st_dev + 1}, ["a.md", "b.md", "c.md"]

    first = plan(tmp_path, documents, other)

    assert gone(first) == []
    assert first.warnings
    assert gone(plan(tmp_path, documents, source_row(first))) == ["c.md"]
    assert plan(tmp_path, ["a.md"], other).warnings == []


def test_a_device_is_remembered_while_its_folder_is_not_there(tmp_path: Path) -> None:
    row = source_row(plan(tmp_path / "away", ["a.md"], {"device": 7}))

    assert row["device"] == 7


def test_an_empty_folder_in_which_a_disk_was_keeps_what_was_on_it(tmp_path: Path) -> None:
    make(tmp_path, "usb/sub/", "here.md")
    device = tmp_path.stat().st_dev
    before = {"device": device, "mounts": {"usb": device + 1}}
    documents = ["here.md", "gone.md", "usb/a.md", "usb/sub/b.md"]

    first = plan(tmp_path, documents, before)
    second = plan(tmp_path, documents, source_row(first))

    assert gone(first) == gone(second) == ["gone.md"]
    (warning,) = second.warnings
    assert f"nothing is at {tmp_path}/usb, where another disk was with 2 documents" in warning
    assert f"'kebab ingest {tmp_path} --allow-empty'" in warning
    assert gone(plan(tmp_path, documents, before, allow_empty=True)) == documents[1:]
    make(tmp_path, "usb/c.md")
    assert gone(plan(tmp_path, documents, source_row(second))) == documents[1:]


def test_a_link_to_another_disk_that_leads_nowhere_keeps_what_was_on_it(tmp_path: Path) -> None:
    make(tmp_path, "here.md")
    for link in ("usb", "deleted"):
        (tmp_path / link).symlink_to(tmp_path / "nowhere")
    device = tmp_path.stat().st_dev
    before = {"device": device, "mounts": {"usb": device + 1}}

    made = plan(tmp_path, ["here.md", "usb/a.md", "deleted/b.md"], before)

    assert gone(made) == ["deleted/b.md"]
    assert source_row(made)["mounts"] == before["mounts"]


def test_what_cannot_be_asked_whether_it_is_a_folder_keeps_what_was_in_it(tmp_path: Path) -> None:
    """As a folder of a server that is away, where its parent does not tell of what kind it is."""
    make(tmp_path, "here.md")
    (tmp_path / "refused").symlink_to("x" * 300)
    (tmp_path / "circle").symlink_to("circle")

    made = plan(tmp_path, ["here.md", "refused/a.md", "circle/b.md"], {})

    assert gone(made) == ["circle/b.md"]


def test_folders_on_a_device_of_their_own_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a/b/c.md", "d/e.md")
    status = os.stat

    def elsewhere(path: str, **how: bool) -> os.stat_result:
        found = status(path, **how)
        on = found.st_dev + (os.fspath(path).startswith(f"{tmp_path}/a/b") or 0)
        times = {name: getattr(found, name) for name in ("st_mtime_ns", "st_ctime_ns")}
        return os.stat_result((*found[:2], on, *found[3:]), times)

    monkeypatch.setattr("kb_app._ingest.seeing.walk.os.stat", elsewhere)

    assert source_row(plan(tmp_path, [], {}))["mounts"] == {"a/b": status(tmp_path).st_dev + 1}


@pytest.mark.parametrize(
    ("path", "is_told"),
    [
        ("typo.md", True),
        ("folder/typo.md", True),
        ("nowhere/typo.md", True),
        ("here.md", False),
        ("folder", False),
        ("gone.md", False),
        ("was", False),
        ("forgotten.md", False),
        ("left/typo.md", False),
    ],
)
def test_a_path_that_is_nowhere_and_never_was_is_told(
    tmp_path: Path, path: str, *, is_told: bool
) -> None:
    """What another source has, within a folder that this one leaves out, is not."""
    make(tmp_path, "here.md", "folder/", "left/other.md")
    states = dict.fromkeys(("gone.md", "was/a.md"), FileState.INDEXED)
    states["forgotten.md"] = FileState.DELETED
    ledger = {p: FileRecord(source_id="s", path=p, state=state) for p, state in states.items()}
    source = SourceSpec(
        source_id="s", root=os.fspath(tmp_path), exclude=("/left/",), narrow=(path,)
    )
    known = Known(ledger=lambda _: ledger, sources={})

    (made,) = plan_sources([source], known, SETTINGS, IngestOptions())

    told = [f"source 's': there is no {path!r}, and the index knows of none"]
    assert made.warnings == (told if is_told else [])
