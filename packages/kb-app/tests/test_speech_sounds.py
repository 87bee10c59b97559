"""Sound out of files, at 16 kHz, in blocks, and where in it somebody may be speaking."""

from __future__ import annotations

import shutil
import stat
import struct
import sys
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

soundfile = pytest.importorskip("soundfile")

from kb_app._ingest.making.speech.resampling import RATE, Samples, resampled  # noqa: E402
from kb_app._ingest.making.speech.silero import SileroVoices, graph_of_silero  # noqa: E402
from kb_app._ingest.making.speech.sounds import (  # noqa: E402
    FilmDecoderMissing,
    Unplayable,
    sound_of,
)
from kb_app._ingest.making.speech.voices import (  # noqa: E402
    FRAME,
    FRAME_MS,
    active_in,
    levels_of,
    stretches_of,
)

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "audio"


def tone(hz: float, secs: float, rate: int = RATE, loud: float = 0.5) -> Samples:
    moments = np.arange(round(secs * rate)) / rate
    return (loud * np.sin(2 * np.pi * hz * moments)).astype(np.float32)


def noise(secs: float, loud: float = 0.1) -> Samples:
    made = np.random.default_rng(7).standard_normal(round(secs * RATE))
    return (loud * made).astype(np.float32)


def file_of(samples: Samples, rate: int, kind: str, subtype: str | None = None) -> bytes:
    made = BytesIO()
    soundfile.write(made, samples, rate, format=kind, subtype=subtype)
    return made.getvalue()


def heard(data: bytes) -> Samples:
    blocks = list(sound_of(data))
    return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000, 96000])
def test_a_tone_is_the_same_tone_at_16_khz(rate: int) -> None:
    made = np.concatenate(list(resampled([tone(1000, 1, rate)], rate)))

    assert len(made) == RATE
    assert np.abs(made - tone(1000, 1))[500:-500].max() < 0.002


def test_what_16_khz_cannot_hold_is_silent_and_does_not_come_back_as_another_tone() -> None:
    made = np.concatenate(list(resampled([tone(9000, 1, 44100)], 44100)))

    assert np.abs(made)[500:-500].max() < 0.001


@settings(max_examples=12)
@given(
    rate=st.sampled_from([8000, 22050, 44100, 48000]),
    sizes=st.lists(st.integers(0, 9000), min_size=1, max_size=8),
)
def test_block_by_block_gives_what_one_piece_gives(rate: int, sizes: list[int]) -> None:
    whole = np.random.default_rng(sum(sizes)).standard_normal(sum(sizes)).astype(np.float32)
    blocks = np.split(whole, np.cumsum(sizes)[:-1])
    made = [np.concatenate([*resampled(given, rate), whole[:0]]) for given in (blocks, [whole])]

    assert len(made[0]) == len(made[1]) == pytest.approx(len(whole) * RATE / rate, abs=1)
    assert np.allclose(made[0], made[1], atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [("WAV", None), ("FLAC", None), ("MP3", None), ("OGG", "VORBIS"), ("OGG", "OPUS")],
)
def test_two_channels_of_any_format_are_one(kind: str, subtype: str | None) -> None:
    rate = 48000
    left = tone(440, 12, rate)
    made = heard(file_of(np.stack([left, 0 * left], axis=1), rate, kind, subtype))

    assert len(made) == pytest.approx(12 * RATE, abs=RATE // 20)
    assert np.abs(made)[RATE : 2 * RATE].max() == pytest.approx(0.25, abs=0.02)


def test_what_is_no_number_is_no_sound() -> None:
    samples = tone(440, 0.1)
    samples[10:13] = (np.nan, np.inf, -np.inf)

    made = heard(file_of(samples, RATE, "WAV", "FLOAT"))

    assert np.isfinite(made).all()
    assert np.abs(made).max() <= 1


@pytest.mark.parametrize("rate", [1, 999, 1_000_001, 2**31 - 1])
def test_a_rate_that_no_sound_has_is_refused_before_a_filter_is_made(rate: int) -> None:
    with pytest.raises(Unplayable, match="samples a second"):
        heard(file_of(tone(440, 0.01), rate, "WAV"))


def test_a_thousand_channels_are_read_in_small_blocks() -> None:
    many = np.repeat(tone(440, 1)[:, None], 1000, axis=1)
    sizes = [len(block) for block in sound_of(file_of(many, RATE, "WAV"))]

    assert (sum(sizes), max(sizes) * 1000) == (RATE, 4_000_000)


def test_of_a_damaged_file_there_is_what_comes_before_the_damage() -> None:
    whole = file_of(noise(20), RATE, "FLAC")
    made = heard(whole[: len(whole) * 6 // 10])

    assert 5 * RATE < len(made) < 20 * RATE


def test_what_is_no_sound_is_unplayable() -> None:
    with pytest.raises(Unplayable, match="no sound"):
        heard(b"just a text")


FILM = struct.pack(">I", 16) + b"ftypM4A " + bytes(400)


@pytest.mark.skipif(find_spec("av") is not None, reason="PyAV is installed")
def test_a_film_without_a_decoder_says_that_one_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FilmDecoderMissing):
        heard(FILM)


@pytest.mark.skipif(find_spec("av") is not None, reason="PyAV is installed")
@pytest.mark.parametrize(("said", "secs"), [(None, 3), ("matches no streams.", 0)])
def test_the_program_ffmpeg_decodes_a_copy_of_a_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, secs: int
) -> None:
    """A program in its place looks at how it is called; nothing is fetched from a network."""
    ends = f"sys.exit('Stream map {said}')" if said else ""
    program = tmp_path / "ffmpeg"
    program.write_text(
        f"#!{sys.executable} -S\n"
        "import array, sys\n"
        f"{ends}\n"
        "words = sys.argv\n"
        "file = words[words.index('-i') + 1].removeprefix('file:')\n"
        "assert '-nostdin' in words and words[words.index('-protocol_whitelist') + 1] == "
        "'file,pipe'\n"
        "assert open(file, 'rb').read(8)[4:] == b'ftyp'\n"
        "sys.stdout.buffer.write(array.array('f', [0.5]) * 16000 * 3)\n",
        "utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert len(heard(FILM)) == secs * RATE


@pytest.mark.skipif(
    not (find_spec("av") or shutil.which("ffmpeg")), reason="there is no decoder of films"
)
@pytest.mark.parametrize("name", ["jfk.m4a", "jfk.mp4", "jfk.webm"])
def test_the_sound_of_real_films_is_read(name: str) -> None:
    if not (SAMPLES / name).is_file():
        pytest.skip("the samples are not here")

    assert len(heard((SAMPLES / name).read_bytes())) == pytest.approx(11 * RATE, abs=RATE // 10)


def stretches(samples: Samples) -> list[tuple[int, int]]:
    levels = levels_of([samples])
    return [(s.start_ms, s.end_ms) for s in stretches_of(active_in(levels), levels)]


@pytest.mark.parametrize(
    "samples",
    [np.zeros(RATE * 5, np.float32), noise(30), noise(30, 0.0001), tone(440, 30), noise(0)],
    ids=["silence", "noise", "faint noise", "a tone", "nothing"],
)
def test_nobody_speaks_in_silence_in_noise_and_in_a_tone(samples: Samples) -> None:
    assert stretches(samples) == []


def test_a_pause_of_two_seconds_ends_a_stretch_and_a_short_one_does_not() -> None:
    hum = noise(12, 0.001)
    for start, end in ((2, 3), (3.5, 4), (8, 9)):
        hum[int(start * RATE) : int(end * RATE)] += noise(end - start, 0.2)

    found = [moment for stretch in stretches(hum) for moment in stretch]
    assert found == pytest.approx([1750, 4250, 7750, 9250], abs=20)


@settings(max_examples=25)
@given(parts=st.lists(st.tuples(st.floats(0.1, 40), st.floats(0, 5)), min_size=1, max_size=6))
def test_stretches_hold_all_that_is_said_and_none_is_longer_than_30_seconds(
    parts: list[tuple[float, float]],
) -> None:
    frames = [int(secs * 1000 / FRAME_MS) + 1 for part in parts for secs in part]
    active = np.repeat([True, False] * len(parts), frames)
    levels = np.random.default_rng(1).standard_normal(len(active)).astype(np.float32)
    found = stretches_of(active, levels)
    inside = np.zeros(len(active), bool)
    for stretch in found:
        assert 0 < (stretch.end - stretch.start) * FRAME_MS <= 30_000
        inside[stretch.start : stretch.end] = True

    assert inside[active].all()
    assert all(before.end <= after.start for before, after in pairwise(found))


@given(sizes=st.lists(st.integers(0, 5 * FRAME), max_size=12))
def test_how_loud_a_frame_is_does_not_hang_on_the_blocks(sizes: list[int]) -> None:
    whole = noise(1)[: sum(sizes)]
    levels = levels_of(np.split(whole, np.cumsum(sizes)[:-1])) if sizes else levels_of([])

    assert len(levels) == -(-len(whole) // FRAME)
    assert np.allclose(levels, levels_of([whole]), atol=1.5)


@pytest.mark.skipif(graph_of_silero() is None, reason="no package has the graph of Silero")
def test_silero_hears_voices_and_no_music() -> None:
    if not (SAMPLES / "music.flac").is_file():
        pytest.skip("the samples are not here")
    for name, is_speech in (("music.flac", False), ("librivox-0870.wav", True)):
        voices, frames = SileroVoices(graph_of_silero() or Path()), 0
        for block in sound_of((SAMPLES / name).read_bytes()):
            voices.take(block)
            frames += len(block) // FRAME
        voiced = voices.voiced(frames)

        assert len(voiced) == frames
        assert (voiced.mean() > 0.6) == is_speech == bool(voiced.any())


def test_the_graph_of_silero_is_found_where_a_package_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "silero_vad" / "data" / "silero_vad_16k_sequence.onnx"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "silero_vad" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    graph_of_silero.cache_clear()

    assert graph_of_silero() == file
    graph_of_silero.cache_clear()
