"""Speech: word error rate, times, speed and memory, for each packaged model.

    python tools/bench/speech.py [FOLDER]

FOLDER holds ``manifest.tsv`` (file, transcript) and the recordings; raw files are 16 bits at
16 kHz. Numbers are compared as words, since a model may write "4" for "four". Silence, noise,
a tone, beeps and, beside the folder, music have to give nothing.
"""

from __future__ import annotations

import argparse
import csv
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kb_app._costly import UnkeptResults
from kb_app._ingest.making.speech.resampling import RATE, Samples
from kb_app._ingest.making.speech.sounds import sound_of
from kb_app._ingest.making.speech.transcribing import LocalEngine, transcribe
from kb_app._ingest.making.speech.weights import weights_of
from kb_app._ingest.making.speech.whisper import Listener
from kb_app._ingest.making.transcripts import Transcript

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_ONES = f"zero one two three four five six seven eight nine {_TEENS}".split()
_SMALL = {"mr": "mister", "mrs": "missus"} | {str(n): word for n, word in enumerate(_ONES)}


def words_of(text: str) -> list[str]:
    """Return the words of *text* as they are spoken."""
    return [_SMALL.get(word, word) for word in re.findall(r"[a-z0-9']+", text.lower())]


def errors(said: list[str], heard: list[str]) -> int:
    """Return how many words have to be put in, taken out or replaced."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, 1):
        before, row = row, [number]
        for at, other in enumerate(heard, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (word != other)))
    return row[-1]


def samples_of(file: Path) -> list[Samples]:
    """Return the sound of a recording."""
    if file.suffix == ".raw":
        return [np.fromfile(file, "<i2").astype(np.float32) / np.float32(32768)]
    return list(sound_of(file.read_bytes()))


def heard_in(engine: LocalEngine, blocks: list[Samples]) -> Transcript:
    """Return what is said in *blocks*."""
    return transcribe(
        lambda: iter(blocks), lambda: engine, UnkeptResults(), lambda _a, _b: None, 36_000_000
    )


def silences() -> Iterator[tuple[str, list[Samples]]]:
    """Yield sounds in which nobody speaks, half a minute of each."""
    moments, noise = np.arange(30 * RATE) / RATE, np.random.default_rng(1)
    yield "silence", [np.zeros(30 * RATE, np.float32)]
    yield "noise", [(noise.standard_normal(30 * RATE) * 0.1).astype(np.float32)]
    yield (
        "brown noise",
        [(np.cumsum(noise.standard_normal(30 * RATE)) * 0.001).clip(-1, 1).astype(np.float32)],
    )
    yield "tone", [(np.sin(2 * np.pi * 440 * moments) * 0.5).astype(np.float32)]
    beeps = np.sin(2 * np.pi * 1000 * moments) * (moments % 1 < 1 / 3)
    yield "beeps", [(beeps * 0.5).astype(np.float32)]
    chords = sum(np.sin(2 * np.pi * hz * moments) for hz in (220, 277, 330, 440))
    yield "chords", [(chords * (1 + np.sin(4 * np.pi * moments)) * 0.05).astype(np.float32)]
    for name in ("music.flac", "silence.flac"):
        if (file := DATA / "formats" / "audio" / name).is_file():
            yield name, samples_of(file)


def measure(model: str, folder: Path) -> None:
    """Print a table for *model*."""
    with tempfile.TemporaryDirectory() as cache:
        began = time.process_time()
        weights = weights_of(model, Path(cache))
        joined = time.process_time()
        listener = Listener(weights, 1)
        loaded = time.process_time()
    print(f"\n{model}: joined or checked {joined - began:.1f}, loaded {loaded - joined:.1f} CPU-s")
    print(f"{'WER':>6} {'words':>6} {'CPU-s':>6} {'sound':>6}  what")
    engine, total, wrong = LocalEngine(listener, ()), 0, 0
    with (folder / "manifest.tsv").open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            blocks, said = samples_of(folder / row["file"]), words_of(row["transcript"])
            began = time.process_time()
            found = heard_in(engine, blocks)
            secs = time.process_time() - began
            text = " ".join(segment.text for segment in found.segments)
            bad = errors(said, words_of(text))
            total, wrong = total + len(said), wrong + bad
            clip = f"{row['file'].rpartition('/')[2][-20:]}: {text}"
            print(f"{bad / len(said):6.2f} {len(said):6} {secs:6.2f} {_secs(blocks):6.1f}  {clip}")
    print(f"{wrong / total:6.3f} {total:6}                all clips")
    for name, blocks in silences():
        found = heard_in(engine, blocks)
        print(f"{name:>14}: {' '.join(s.text for s in found.segments) or 'nothing'}")
    _times(engine)
    _speed(engine, folder)
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _secs(blocks: list[Samples]) -> float:
    return sum(map(len, blocks)) / RATE


def _times(engine: LocalEngine) -> None:
    """Print where segments begin and end that are known to by ear."""
    file = DATA / "formats" / "audio" / "jfk_gap_jfk.flac"
    if file.is_file():
        found = heard_in(engine, samples_of(file)).segments
        print("times:", ", ".join(f"{s.start_ms / 1000:.2f}-{s.end_ms / 1000:.2f}" for s in found))


def _speed(engine: LocalEngine, folder: Path) -> None:
    """Print how fast a long talk is: the clips of one reader, again and again."""
    clips = [block for file in sorted(folder.glob("librivox/*.wav")) for block in samples_of(file)]
    talk = clips * max(1, round(300 / max(1, _secs(clips))))
    began = time.process_time()
    found = heard_in(engine, talk)
    secs = time.process_time() - began
    words = sum(len(segment.text.split()) for segment in found.segments)
    print(f"talk of {_secs(talk):.0f} s: {words} words, {_secs(talk) / secs:.1f} times real time")


def main() -> None:
    """Measure every packaged model in a process of its own, or the one that is named in this."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    default = DATA / "suites" / "audio"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="of recordings")
    parser.add_argument("--model", help="measure this one alone, in this process")
    options = parser.parse_args()
    if not (options.folder / "manifest.tsv").is_file():
        parser.error(f"no manifest.tsv in {options.folder}")
    if options.model:
        measure(options.model, options.folder)
        return
    for model in ("tiny.en", "base"):
        call = [sys.executable, __file__, str(options.folder), "--model", model]
        subprocess.run(call, check=True)


if __name__ == "__main__":
    main()
