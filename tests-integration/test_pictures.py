"""Pictures by the command: found by what is seen in them, cited by where, and without the extra."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("tesserocr")
pytest.importorskip("pi_heif")

from PIL import Image, ImageDraw, ImageFont

from kb_app._media import Extra

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
    detail = "image needs the extra 'ocr': pip install 'kb-app[ocr]'"
    assert rows(kebab)["board.png"]["detail"] == detail
    assert told["text recognition"]["hint"] == "pip install 'kb-app[ocr]'"
    assert kebab.json("search", "lighthouse")["hits"][0]["citation"]["uri"] == "plan.svg#L1"

    assert kebab.ingest()["new"] == 1
    assert kebab.json("search", "walrus")["hits"]
    told = {check["name"]: check for check in kebab.json("doctor")["checks"]}
    assert told["text recognition"]["detail"].startswith("reads eng")
