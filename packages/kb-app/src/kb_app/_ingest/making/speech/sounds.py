"""Sound out of files: decoded in blocks, as one channel at 16 kHz.

soundfile reads wav, flac, mp3, ogg and opus. Anything else, and the sound of films, needs a
decoder of films: PyAV, where somebody installed it, or the program ffmpeg. What is damaged
gives what can be read before the damage. Nothing is held but a block.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from kb_app._ingest.making.speech.resampling import RATE, Samples, resampled

if TYPE_CHECKING:
    import av
    import soundfile

__all__ = ["FilmDecoderMissing", "Unplayable", "sound_of"]

_BLOCK_SECS = 10
_MOST_SAMPLES = 4_000_000
"""What a block holds of all channels together, of which a file may claim a thousand."""
_RATES = range(1000, 1_000_001)
"""What a file may say that it has in a second; a filter for any other would fill the memory."""
_MAGIC = (
    *(b"\x1a\x45\xdf\xa3", b"\x30\x26\xb2\x75", b"\0\0\1\xba", b"\0\0\1\xb3"),
    *(b"FLV\1", b"\xff\xf1", b"\xff\xf9"),
)
"""Matroska and WebM, ASF (wma, wmv), MPEG programme streams and elementary ones, Flash, AAC."""
_FFMPEG = ("-nostdin", "-v", "error", "-protocol_whitelist", "file,pipe", "-i")
_AS_SOUND = ("-map", "0:a:0", "-vn", "-ac", "1", "-ar", str(RATE), "-f", "f32le", "pipe:1")


class Unplayable(Exception):
    """No decoder makes sound of it."""


class FilmDecoderMissing(Exception):
    """A decoder of films would; there is none here."""


def sound_of(data: bytes) -> Iterator[Samples]:
    """Yield the sound of a file in blocks; what it has no sound yields nothing.

    Raise ``FilmDecoderMissing`` or ``Unplayable`` before the first block.
    """
    import soundfile  # the extra `audio`

    try:
        file = soundfile.SoundFile(BytesIO(data))
    except soundfile.LibsndfileError as error:
        decode = _film_decoder()
        if decode is None and _is_film(data):
            raise FilmDecoderMissing from error
        if decode is None:
            raise Unplayable(f"it is no sound: {error.error_string.rstrip('.')}") from error
        yield from decode(data)
        return
    with file:
        if file.samplerate not in _RATES:
            raise Unplayable(f"it is no sound: {file.samplerate} samples a second")
        yield from resampled(_blocks(file), file.samplerate)


def _blocks(file: soundfile.SoundFile) -> Iterator[Samples]:
    import soundfile  # the extra `audio`

    frames = min(file.samplerate * _BLOCK_SECS, max(1, _MOST_SAMPLES // file.channels))
    while True:
        try:
            block = file.read(frames, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError:
            return  # as far as it goes
        if not len(block):
            return
        yield _finite(block.mean(axis=1, dtype=np.float32))


def _finite(block: Samples) -> Samples:
    """Return *block* without what is no number, which files of floats may hold."""
    return np.clip(np.nan_to_num(block, nan=0, posinf=1, neginf=-1), -1, 1)


def _is_film(data: bytes) -> bool:
    """Say whether this looks like a container that soundfile does not know."""
    is_avi = data[:4] == b"RIFF" and data[8:12] == b"AVI "
    return data[4:8] == b"ftyp" or data.startswith(_MAGIC) or is_avi


def _film_decoder() -> Callable[[bytes], Iterator[Samples]] | None:
    if find_spec("av") is not None:
        return _by_av
    return _by_ffmpeg if shutil.which("ffmpeg") else None


def _by_av(data: bytes) -> Iterator[Samples]:
    import av  # the extra `video`

    try:
        container = av.open(BytesIO(data), mode="r")
    except (av.FFmpegError, ValueError) as error:
        raise Unplayable(f"no sound can be read from it: {error}") from error
    with container:
        if not container.streams.audio:
            return
        yield from _gathered(_frames(container))


def _frames(container: av.container.InputContainer) -> Iterator[Samples]:
    import av  # the extra `video`

    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    try:
        for frame in container.decode(audio=0):
            for made in resampler.resample(frame):
                yield made.to_ndarray().reshape(-1)
        for made in resampler.resample(None):
            yield made.to_ndarray().reshape(-1)
    except av.FFmpegError:
        return  # as far as it goes


def _gathered(frames: Iterator[Samples]) -> Iterator[Samples]:
    """Yield longer blocks; a frame of a film is some thousandths of a second."""
    held: list[Samples] = []
    size = 0
    for frame in frames:
        held.append(frame)
        size += len(frame)
        if size >= RATE * _BLOCK_SECS:
            yield _finite(np.concatenate(held))
            held, size = [], 0
    if held:
        yield _finite(np.concatenate(held))


def _by_ffmpeg(data: bytes) -> Iterator[Samples]:
    """Have ffmpeg decode a copy; a pipe would not do, since a film is not read in order."""
    with tempfile.NamedTemporaryFile(prefix="kebab-") as copy, tempfile.TemporaryFile() as said:
        copy.write(data)
        copy.flush()
        words = ["ffmpeg", *_FFMPEG, f"file:{copy.name}", *_AS_SOUND]
        with subprocess.Popen(  # noqa: S603 - a fixed command, on a file of our own
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        ) as process:
            is_silent = True
            try:
                for block in _piped(process):
                    is_silent = False
                    yield block
            finally:
                process.kill()  # nothing, where it is through
        if is_silent and process.returncode:
            said.seek(0)
            _complain(said.read(10_000).decode("utf-8", "replace"))


def _piped(process: subprocess.Popen[bytes]) -> Iterator[Samples]:
    if process.stdout is not None:
        while data := process.stdout.read(4 * RATE * _BLOCK_SECS):
            yield _finite(np.frombuffer(data[: len(data) // 4 * 4], np.float32))


def _complain(said: str) -> None:
    """Raise ``Unplayable``, unless what ffmpeg *said* is that there is no sound in it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not any("matches no streams" in line for line in lines):
        why = lines[-1] if lines else "ffmpeg ended without a word"
        raise Unplayable(f"no sound can be read from it: {why}")
