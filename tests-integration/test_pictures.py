"""Pictures by the command: found by what is seen in them, cited by where, and without the extra."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("tesserocr")
pytest.importorskip("pi_heif")

from PIL import Image, ImageDraw, ImageFont

from kb_app import Config, KnowledgeBase
from kb_app._media import Extra
from kb_app.config import Embedding, Source
from kb_app.testing.model_server import ModelServer, Reply
from kb_core.ingest import IngestOptions
from kb_core.search import SearchQuery

if TYPE_CHECKING:
    from kb_cli.testing.installed import InstalledKebab


def picture(*lines: str) -> bytes:
    image = Image.new("L", (800, 220), 255)
    for number, line in enumerate(lines):
        font = ImageFont.load_default(36)
        ImageDraw.Draw(image).text((40, 30 + 90 * number), line, fill=0, font=font)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def rows(kebab: InstalledKebab) -> dict[str, Any]:
    return {row["doc_path"]: row for row in kebab.json("status")["files"]}


def test_a_picture_is_found_by_what_is_seen_in_it_and_cited_by_where(
    kebab: InstalledKebab,
) -> None:
    (kebab.notes / "board.png").write_bytes(picture("Marmalade for the walrus", "Call the harbour"))
    (kebab.notes / "empty.png").write_bytes(picture())
    kebab.write("notes.md", "A heron waits.\n")
    report = kebab.ingest()

    hit = kebab.json("search", "walrus")["hits"][0]
    uri = hit["citation"]["uri"]
    assert uri.startswith("board.png#xywh=")
    assert hit["citation"]["kind"] == "region"
    assert "Marmalade for the walrus" in str(kebab.json("fetch", uri))
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    assert (report["new"], report["skipped_by_reason"]) == (2, {"empty": 1})
    left = rows(kebab)["empty.png"]
    assert (left["state"], left["detail"]) == ("skipped", "no readable text in the picture")
    assert kebab.json("stats")["media_breakdown"]["image"] == 1
    assert kebab.json("stats")["index_bytes"]["costly"] > 0
    again = kebab.ingest()
    assert (again["unchanged"], again["skipped"]) == (2, 1)
    assert kebab.json("doctor", "--deep")["ok"]


def test_without_the_extra_it_says_how_to_install_it_and_then_reads_them(
    kebab: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kebab.notes / "board.png").write_bytes(picture("Marmalade for the walrus"))
    kebab.write("plan.svg", "<svg><text>The lighthouse plan</text></svg>")
    with monkeypatch.context() as patch:
        patch.setattr(Extra, "is_installed", False)
        report = kebab.ingest()
        told = {check["name"]: check for check in kebab.json("doctor")["checks"]}

    assert report["skipped_by_reason"] == {"missing_extra:ocr": 1}
    detail = "image needs the extra 'ocr': in kebab's folder: pip install 'packages/kb-cli[ocr]'"
    assert rows(kebab)["board.png"]["detail"] == detail
    assert (
        told["text recognition"]["hint"] == "in kebab's folder: pip install 'packages/kb-cli[ocr]'"
    )
    assert kebab.json("search", "lighthouse")["hits"][0]["citation"]["uri"] == "plan.svg#L1"

    assert kebab.ingest()["new"] == 1
    assert kebab.json("search", "walrus")["hits"]
    told = {check["name"]: check for check in kebab.json("doctor")["checks"]}
    assert told["text recognition"]["detail"].startswith("reads eng")


def pages(*texts: str) -> bytes:
    """Return a TIFF with a page for each text."""
    made = [Image.open(BytesIO(picture(text))) for text in texts]
    file = BytesIO()
    made[0].save(file, "TIFF", save_all=True, append_images=made[1:])
    return file.getvalue()


@pytest.mark.parametrize("way", ["option", "setting"])
def test_reading_pictures_can_be_left_for_another_run(kebab: InstalledKebab, way: str) -> None:
    (kebab.notes / "board.png").write_bytes(picture("Marmalade for the walrus"))
    if way == "setting":
        kebab.configure(extra="[ocr]\nenabled = false\n")
    words = ["--no-ocr"] if way == "option" else []

    assert kebab.ingest(*words)["new"] == 1
    row = rows(kebab)["board.png"]
    assert (row["state"], row["reason"]) == ("pending", "ocr")
    assert kebab.ingest(*words)["unchanged"] == 1
    assert rows(kebab)["board.png"]["state"] == "pending"
    kebab.configure()
    assert kebab.ingest()["updated"] == 1
    assert kebab.json("search", "walrus")["hits"]


def test_the_quick_is_found_before_the_slow_is_read_and_the_newest_is_read_first(
    kebab: InstalledKebab,
) -> None:
    for number, name in enumerate(("older.tif", "newer.tif")):
        (kebab.notes / name).write_bytes(pages(f"Page of {name}", "Another page"))
        os.utime(kebab.notes / name, (10**9 + number, 10**9 + number))
    kebab.write("notes.md", "A heron waits.\n")

    lines = kebab.run("--json", "ingest").stdout.splitlines()
    events = [json.loads(line) for line in lines if "ingest_progress" in line]
    told = [
        (each["kind"], each["doc_path"], each.get("reached"), each.get("whole"))
        for each in events
        if each.get("phase") == "ocr"
    ]

    committed = next(n for n, each in enumerate(events) if each["kind"] == "committed")
    first = next(n for n, each in enumerate(events) if each.get("phase") == "ocr")
    assert committed < first, "words are searchable before"
    assert [one for one in told if one[1] == "newer.tif"] == [
        ("asset_phase", "newer.tif", 0, 2),
        ("asset_phase", "newer.tif", 1, 2),
        ("asset_finished", "newer.tif", None, None),
    ]
    assert told[0][1] == "newer.tif"
    report = json.loads(lines[-1])
    assert report["phases_ms"]["ocr"] > 0


def test_reading_that_is_stopped_within_a_file_goes_on_at_the_next_page(tmp_path: Path) -> None:
    folder, stop = tmp_path / "notes", Event()
    folder.mkdir()
    (folder / "book.tif").write_bytes(pages(*(f"Page number {n} here" for n in range(12))))
    base = Config.inside(tmp_path / "kb", Source(id="notes", root=folder))
    config = replace(base, embedding=Embedding(model="none"))

    with KnowledgeBase.open(config) as kb:
        for event in kb.ingest(IngestOptions(), stop=stop):
            if event.data.get("reached", 0) >= 2:
                stop.set()
        (row,) = kb.status()["files"]
    some = results_in(config)
    assert (row["state"], row["reason"]) == ("pending", "ocr")
    assert 2 <= len(some) < 12

    with KnowledgeBase.open(config) as kb:
        *_, last = kb.ingest(IngestOptions())
        assert last.report is not None
        assert last.report.counts["updated"] == 1
        assert kb.search(SearchQuery(text="number 11")).hits
    every = results_in(config)
    assert every[: len(some)] == some, "what was read before is not read again"
    assert len(set(every)) == len(every) == 12


def results_in(config: Config) -> list[str]:
    """Return which parts are kept, in the order in which they were made."""
    (file,) = config.storage.data_dir.rglob("ocr.*.jsonl")
    return [json.loads(line)[0] for line in file.read_text().splitlines()]


def test_a_picture_that_was_added_and_says_nothing_stays_as_it_is(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    (kebab.notes / "a.md").write_text("A heron.\n")
    kebab.ingest()
    file = tmp_path / "cat.png"
    file.write_bytes(picture())

    report = json.loads(kebab.run("--json", "ingest-file", str(file)).stdout.splitlines()[-1])

    assert (report["new"], report["errors"]) == (1, 0)
    row = rows(kebab)[str(file)]
    assert (row["state"], row["detail"]) == ("indexed", "no readable text in the picture")
    assert kebab.ingest()["unchanged"] == 2


def test_a_picture_is_found_by_what_a_model_says_that_it_shows_once_one_is_named(
    kebab: InstalledKebab,
) -> None:
    (kebab.notes / "barn.png").write_bytes(picture())
    assert kebab.ingest()["skipped_by_reason"] == {"empty": 1}

    said = b'{"choices": [{"message": {"content": "A red barn in the snow."}}]}'
    with ModelServer(Reply(body=said, media="application/json")) as server:
        address = f"{server.url}/v1"
        kebab.configure(extra=f'[ocr]\ncaption_endpoint = "{address}"\ncaption_model = "m"\n')
        report = kebab.ingest()
        kebab.ingest("--force-reingest")
        asked = len(server.requests)
    told = {check["name"]: check for check in kebab.json("doctor")["checks"]}

    hit = kebab.json("search", "barn in the snow")["hits"][0]
    assert (report["new"], asked) == (1, 1)
    assert hit["citation"]["uri"] == "barn.png#caption"
    assert (hit["citation"]["kind"], hit["citation"]["model"]) == ("caption", "m")
    assert kebab.json("cite", "verify", "barn.png#caption")["summary"]["unchanged"] == 1
    assert told["caption server"]["detail"] == f"pictures are sent to {address}"


def test_what_was_read_in_a_picture_stays_found_while_it_is_read_again(
    kebab: InstalledKebab,
) -> None:
    (kebab.notes / "board.png").write_bytes(picture("lighthouse keeper"))
    kebab.ingest()
    assert kebab.paths("lighthouse") == ["board.png"]

    for _ in range(2):
        kebab.ingest("--force-reingest", "--no-ocr")
        assert kebab.paths("lighthouse") == ["board.png"]
        assert rows(kebab)["board.png"]["state"] == "pending"
    kebab.ingest()
    assert rows(kebab)["board.png"]["state"] == "indexed"
    assert kebab.paths("lighthouse") == ["board.png"]

    (kebab.notes / "board.png").write_bytes(picture("walrus tusk"))
    kebab.ingest("--no-ocr")
    assert kebab.paths("lighthouse") == []
