"""A voice memo, from the folder to the citation of what is said in it."""

from __future__ import annotations

import random
import shutil
import threading
import wave
from array import array
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kb_app._ingest.making.speech.silero import graph_of_silero
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


class Answering(BaseHTTPRequestHandler):
    """Refuses whoever has no key; else it hears the same in everything."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        knows = self.headers["Authorization"] == "Bearer sesame"
        answer = b'{"text": "The walrus hums."}'
        self.send_response(200 if knows else 401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_that_refuses_costs_that_recording_alone_until_it_is_tried_again(
    kebab: InstalledKebab, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if graph_of_silero() is not None:
        pytest.skip("Silero takes no noise for speech")
    kebab.configure(extra=f'[audio]\nendpoint = "{address}"\n[ingest]\nworkers = 1\n')
    kebab.write("note.md", "# Note\n\nThe narwhal.\n")
    loud = random.Random(1)
    rustle = array("h", (loud.randrange(-9000, 9000) for _ in range(16000)))
    with wave.open(str(kebab.notes / "hum.wav"), "wb") as hum:
        hum.setparams((1, 2, 16000, 0, "NONE", ""))
        hum.writeframes(bytes(32000) + rustle.tobytes() + bytes(32000))

    monkeypatch.setenv("KEBAB_AUDIO_API_KEY", "wrong")
    refused = kebab.ingest()
    told = next(row for row in refused["items"] if row["doc_path"] == "hum.wav")
    assert (refused["errors"], told["error"]["code"]) == (1, "model_unreachable")
    assert "it answers 401" in told["error"]["message"]
    assert "wrong" not in str(refused)
    assert kebab.paths("narwhal") == ["note.md"]

    monkeypatch.setenv("KEBAB_AUDIO_API_KEY", "sesame")
    assert kebab.ingest("--retry-failed")["errors"] == 0
    hit = kebab.json("search", "walrus")["hits"][0]
    assert hit["citation"]["start_ms"] == pytest.approx(1_000, abs=300)
    assert hit["citation"]["end_ms"] == pytest.approx(2_000, abs=300)
