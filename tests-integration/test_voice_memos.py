"""A voice memo, from the folder to the citation of what is said in it."""

from __future__ import annotations

import shutil
import wave
from pathlib import Path

import pytest

from kb_cli.testing.installed import InstalledKebab

pytest.importorskip("ctranslate2")
pytest.importorskip("soundfile")

SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "formats" / "audio"
TINY = '[audio]\nmodel = "tiny.en"\nthreads = 1\n[ingest]\nworkers = 1\n'


@pytest.fixture
def memos(kebab: InstalledKebab) -> InstalledKebab:
    """Return the command over a folder with a memo, a silence and a note."""
    if not (SAMPLES / "jfk.flac").is_file():
        pytest.skip("the samples are not here")
    kebab.configure(extra=TINY)
    kebab.write("note.md", "# Note\n\nThe walrus.\n")
    shutil.copy(SAMPLES / "jfk.flac", kebab.notes / "memo.flac")
    with wave.open(str(kebab.notes / "silence.wav"), "wb") as silence:
        silence.setnchannels(1)
        silence.setsampwidth(2)
        silence.setframerate(16000)
        silence.writeframes(bytes(2 * 16000))
    return kebab


def test_what_is_said_is_found_and_cited_by_its_time(memos: InstalledKebab) -> None:
    report = memos.ingest()
    reasons = {row["doc_path"]: row.get("reason") for row in report["items"]}
    hit = memos.json("search", "fellow Americans")["hits"][0]
    citation = hit["citation"]

    assert (report["errors"], reasons["silence.wav"]) == (0, "empty")
    assert hit["media"] == "audio"
    assert citation["kind"] == "time"
    assert citation["start_ms"] == pytest.approx(300, abs=500)
    assert citation["end_ms"] == pytest.approx(10_800, abs=500)
    cited = memos.json("cite", citation["uri"])["chunk"]["text"]
    assert cited.endswith("what you can do for your country.")
    assert memos.json("stats")["media_breakdown"]["audio"] == 1
    assert memos.run("cite", "verify", citation["uri"]).stdout.startswith("unchanged")

    again = memos.ingest("--force-reingest")
    assert (again["errors"], memos.json("stats")["index_bytes"]["costly"] > 0) == (0, True)
