"""Transcripts: what is said, in segments with their times, and nothing where nobody speaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("ctranslate2")

from kb_app._costly import UnkeptResults  # noqa: E402
from kb_app._ingest.making.speech import transcribing  # noqa: E402
from kb_app._ingest.making.speech.resampling import RATE, Samples  # noqa: E402
from kb_app._ingest.making.speech.served import ServedEngine  # noqa: E402
from kb_app._ingest.making.speech.sounds import sound_of  # noqa: E402
from kb_app._ingest.making.speech.transcribing import (  # noqa: E402
    Engine,
    LocalEngine,
    TooLong,
    segments_of,
    transcribe,
)
from kb_app._ingest.making.speech.voices import Active  # noqa: E402
from kb_app._ingest.making.speech.weights import PACKAGED, identity_of, weights_of  # noqa: E402
from kb_app._ingest.making.speech.whisper import Listener, Word  # noqa: E402
from kb_app._ingest.making.transcripts import Segment, Transcript  # noqa: E402
from kb_core.errors import ModelMissing, ModelUnreachable  # noqa: E402
from kb_core.ports import Results  # noqa: E402

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "audio"
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def _by_loudness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise stands for speech here, which Silero, where it is installed, would not believe."""
    monkeypatch.setattr(transcribing, "graph_of_silero", lambda: None)


def bursts(*starts: float, secs: float = 12) -> Samples:
    """Return silence with a second of noise at each of *starts*."""
    made = np.zeros(round(secs * RATE), np.float32)
    rustle = np.random.default_rng(3).standard_normal(RATE) * 0.2
    for start in starts:
        made[round(start * RATE) : round(start * RATE) + RATE] += rustle.astype(np.float32)
    return made


class Script:
    """An engine that says how many seconds it was given, and may be interrupted."""

    def __init__(self, fails_at: int = 99) -> None:
        self.heard: list[float] = []
        self._fails_at = fails_at

    def language(self, samples: Samples) -> str:
        return "de"

    def segments(self, samples: Samples, active: Active, language: str | None) -> Iterable[Segment]:
        if len(self.heard) == self._fails_at:
            raise KeyboardInterrupt
        assert len(active) * RATE // 50 == len(samples)
        self.heard.append(round(float(np.abs(samples).sum()), 1))
        yield Segment(100, 200, f"{language} {len(self.heard)}")


def made_of(
    samples: Samples,
    engine: Engine | None,
    results: Results | None = None,
    told: Callable[[int, int], object] = lambda _done, _whole: None,
    most_ms: int = HOUR_MS,
) -> Transcript:
    def load() -> Engine:
        assert engine is not None, "nothing is to be heard, and a model is loaded"
        return engine

    def sound() -> Iterator[Samples]:
        yield from np.array_split(samples, 7)

    return transcribe(sound, load, results or UnkeptResults(), told, most_ms)


def test_each_stretch_is_heard_by_itself_and_has_the_time_of_the_whole() -> None:
    engine = Script()
    found = made_of(bursts(1, 6), engine)

    assert found.segments == [Segment(860, 960, "de 1"), Segment(5860, 5960, "de 2")]
    assert (found.language, found.duration_ms) == ("de", 12_000)
    assert engine.heard[0] == pytest.approx(engine.heard[1]) != 0


def test_an_interrupted_transcript_goes_on_where_it_stopped() -> None:
    results, first, second = UnkeptResults(), Script(fails_at=2), Script()
    samples = bursts(1, 6, 11, 16, secs=20)
    with pytest.raises(KeyboardInterrupt):
        made_of(samples, first, results)
    found = made_of(samples, second, results)

    assert (len(first.heard), len(second.heard)) == (2, 2)
    assert [segment.start_ms for segment in found.segments] == [860, 5860, 10860, 15860]
    assert made_of(samples, None, results) == found


def test_no_model_is_loaded_where_nobody_speaks() -> None:
    assert made_of(np.zeros(5 * RATE, np.float32), None) == Transcript([], None, 5000)


def test_how_far_it_is_is_told_in_time_of_the_recording() -> None:
    told: list[tuple[int, int]] = []
    made_of(bursts(1, 6), Script(), told=lambda done, whole: told.append((done, whole)))

    assert told == [(760, 12_000), (5760, 12_000), (12_000, 12_000)]


def test_what_is_too_long_is_not_listened_to() -> None:
    with pytest.raises(TooLong):
        made_of(bursts(1), None, most_ms=10_000)


def words(*told: tuple[str, int, int]) -> list[Word]:
    return [Word(f" {text}", start, end) for text, start, end in told]


def test_a_segment_ends_with_a_pause_a_sentence_or_after_30_seconds() -> None:
    assert segments_of(words(("so", 0, 100), ("what", 1000, 1100))) == [
        Segment(0, 100, "so"),
        Segment(1000, 1100, "what"),
    ]
    assert [s.text for s in segments_of(words(("Go.", 0, 1), ("Mr.", 1, 2), ("Fox", 2, 3)))] == [
        "Go.",
        "Mr. Fox",
    ]
    endless = words(*((f"w{n}", n * 500, n * 500 + 500) for n in range(200)))
    found = segments_of(endless)
    assert all(segment.end_ms - segment.start_ms <= 30_000 for segment in found)
    assert " ".join(segment.text for segment in found).split() == [w.text[1:] for w in endless]
    assert segments_of([]) == []


def test_words_without_spaces_between_them_stay_together() -> None:
    told = [Word("今日", 0, 400), Word("は", 400, 500), Word("。", 500, 600), Word("雨", 700, 900)]

    assert [segment.text for segment in segments_of(told)] == ["今日は。", "雨"]


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Listener:
    try:
        return Listener(weights_of("tiny.en", tmp_path_factory.mktemp("cache")), 1)
    except ModelMissing:
        pytest.skip("the weights of tiny.en are not installed")


def test_silence_noise_and_beeps_say_nothing_even_to_a_model_that_listens(
    listener: Listener,
) -> None:
    moments = np.arange(6 * RATE) / RATE
    beeps = (np.sin(2 * np.pi * 1000 * moments) * (moments % 1 < 0.3) * 0.5).astype(np.float32)
    engine = LocalEngine(listener, ())
    for samples in (np.zeros(5 * RATE, np.float32), beeps):
        active = np.ones(len(samples) * 50 // RATE, bool)
        assert list(engine.segments(samples, active, "en")) == []


def test_a_famous_sentence_is_understood_with_its_pauses(listener: Listener) -> None:
    if not (SAMPLES / "jfk_gap_jfk.flac").is_file():
        pytest.skip("the samples are not here")
    data = (SAMPLES / "jfk_gap_jfk.flac").read_bytes()
    found = transcribe(
        lambda: sound_of(data),
        lambda: LocalEngine(listener, ()),
        UnkeptResults(),
        lambda _done, _whole: None,
        HOUR_MS,
    )
    said = " ".join(segment.text for segment in found.segments).lower().replace(",", "")
    sentence = (
        "and so my fellow americans ask not what your country can do for you "
        "ask what you can do for your country."
    )

    assert (found.language, said) == ("en", f"{sentence} {sentence}")
    assert not any(s.start_ms < 20_000 < s.end_ms for s in found.segments)
    asks = [s.start_ms for s in found.segments if s.text.startswith("ask not")]
    assert asks == pytest.approx([3_300, 29_300], abs=500)


def test_weights_that_are_not_the_pinned_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in PACKAGED["base"].modules:
        (tmp_path / module / "data").mkdir(parents=True)
        (tmp_path / module / "__init__.py").touch()
        for part in PACKAGED["base"].parts:
            (tmp_path / module / "data" / part).write_bytes(b"other")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModelMissing, match="its SHA-256 is"):
        weights_of("base", tmp_path / "cache")


def test_a_model_that_is_neither_packaged_nor_a_folder_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"none of base, tiny\.en") as told:
        identity_of(str(tmp_path / "tyni"))

    assert "[audio] model" in (told.value.hint or "")


class Server(HTTPServer):
    """Answers with what it was told to, and keeps what it was asked."""

    answer: tuple[int, bytes] = (200, b"{}")
    asked: list[tuple[str, str | None, bytes]]


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        status, answer = self.server.answer
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "http://localhost:9/elsewhere")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Answering)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def served(server: Server, *languages: str, key_file: str = "") -> ServedEngine:
    address = f"http://127.0.0.1:{server.server_port}/v1/"
    return ServedEngine(address, "whisper-1", languages, key_file)


def test_a_server_is_sent_each_stretch_and_the_key_that_is_its_own(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEBAB_AUDIO_API_KEY", "sesame")
    server.answer = 200, json.dumps(
        {"text": "Hi. You.", "segments": [
            {"start": 0.25, "end": 0.75, "text": " Hi."}, {"start": 1, "end": 99, "text": "You."},
            {"start": 1, "text": " "}, "odd"]}
    ).encode()  # fmt: skip
    found = made_of(bursts(1, 6), served(server, "de"))

    assert found.segments[:2] == [Segment(1010, 1510, "Hi."), Segment(1760, 2240, "You.")]
    assert len(found.segments) == 4
    path, key, body = server.asked[0]
    assert (path, key, len(server.asked)) == ("/v1/audio/transcriptions", "Bearer sesame", 2)
    assert b'name="model"\r\n\r\nwhisper-1\r\n' in body
    assert b'name="language"\r\n\r\nde\r\n' in body
    wav = body[body.index(b"RIFF") : body.rindex(b"\r\n--")]
    assert len(np.concatenate(list(sound_of(wav)))) == 1.48 * RATE


def test_a_server_that_tells_no_times_gives_those_of_the_stretch(server: Server) -> None:
    server.answer = 200, b'{"text": "Only words."}'

    assert made_of(bursts(1), served(server)).segments == [Segment(760, 2240, "Only words.")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, b"{}"), "it answers 401"),
        ((500, b"x"), "it answers 500"),
        ((307, b""), "it answers 307"),
        ((200, b"<html>"), "Expecting value"),
        ((200, b"[]"), "no JSON object"),
        (None, "refused"),
    ],
)
def test_a_server_that_fails_is_named_and_its_key_is_not(
    server: Server, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, bytes] | None, why: str
) -> None:
    monkeypatch.setenv("KEBAB_AUDIO_API_KEY", "sesame")
    engine = served(server)
    if answer is None:
        engine = ServedEngine("http://127.0.0.1:9/v1", "whisper-1")
    else:
        server.answer = answer

    with pytest.raises(ModelUnreachable, match=why) as told:
        made_of(bursts(1), engine)
    assert "sesame" not in f"{told.value} {told.value.details} {told.value.hint}"
    assert told.value.__cause__ is None


def test_a_key_may_stand_in_a_file(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sesame\n")
    server.answer = 200, b'{"text": ""}'
    made_of(bursts(1), served(server, key_file=str(file)))
    assert server.asked[0][1] == "Bearer sesame"

    for bad, why in ((b"two words", "more than a key"), (b"\xff", "cannot be read: no text")):
        file.write_bytes(bad)
        with pytest.raises(ModelUnreachable, match=why):
            made_of(bursts(1), served(server, key_file=str(file)))
