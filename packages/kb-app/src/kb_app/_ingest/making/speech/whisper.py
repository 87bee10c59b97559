"""Whisper, run by CTranslate2: what is said in a stretch of sound, word by word.

The features are those that Whisper was trained on: 80 bands of Slaney's mel scale, windows
of 25 ms every 10 ms, their logarithms cut 80 dB below the loudest. Decoding is greedy. The
time of a word comes from the attention of the model's alignment heads. Tokens are read
without a library: they are bytes in the alphabet of GPT-2.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from kb_app._ingest.making.speech.resampling import RATE, Samples
from kb_app._ingest.making.speech.weights import Weights

__all__ = ["WINDOW_SECS", "Heard", "Listener", "Word"]

WINDOW_SECS = 30
"""What the model hears at once."""

_FFT, _HOP, _BANDS = 400, 160, 80
_STEP_MS = 20
"""What one position of the encoder stands for."""
_MOST_TOKENS = 224
_SILENCE_SECS, _GRAIN_SECS = 2, 5
_SURE = -0.7
"""The mean log-probability above which what was heard in half a window is taken."""
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
"""Languages that put no spaces between words: each token that is whole is taken for one."""


class Word(NamedTuple):
    """A word as it is written, with the space before it, and its time in milliseconds."""

    text: str
    start_ms: int
    end_ms: int


class Heard(NamedTuple):
    """What the model makes of a stretch, and what it thinks of it."""

    words: Sequence[Word]
    no_speech: float
    """How likely it is that nobody speaks."""
    log_prob: float
    """The mean logarithm of the likelihood of its tokens."""
    ends_ms: int | None
    """Where it stopped listening, if it says so."""

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)

    @property
    def is_loop(self) -> bool:
        """Whether it says the same over and over, which nobody does."""
        said = self.text.encode()
        return len(said) / max(1, len(zlib.compress(said))) > 2.4  # noqa: PLR2004 - OpenAI's value


class Listener:
    """A model that is loaded: some 350 MB; not for several threads."""

    def __init__(self, weights: Weights, threads: int) -> None:
        import ctranslate2  # the extra `audio`

        self._model = ctranslate2.models.Whisper(
            str(weights.folder),
            device="cpu",
            compute_type="int8",
            intra_threads=threads,
            files=None if weights.files is None else dict(weights.files),
        )
        tokens = weights.read("vocabulary.txt").decode("utf-8").split("\n")
        self._tokens = tokens[:-1] if not tokens[-1] else tokens
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        self._text_end = self._ids["<|endoftext|>"]
        self._first_time = self._ids["<|0.00|>"]

    @property
    def is_multilingual(self) -> bool:
        return bool(self._model.is_multilingual)

    def language(self, samples: Samples, among: Sequence[str] = ()) -> str:
        """Return the language that is spoken, as ISO 639-1: of *among*, if there are any."""
        if not self.is_multilingual:
            return "en"
        found = self._model.detect_language(self._encoded(samples, WINDOW_SECS))[0]
        codes: list[str] = [token.strip("<|>") for token, _ in found]
        return next((code for code in codes if code in among), codes[0])

    def hear(self, samples: Samples, language: str) -> Heard:
        """Return what is said in *samples*, 30 seconds at the most.

        What is short is heard in half a window, in a third of the time; in a whole one, which
        is what the model was trained on, where it is not sure of that.
        """
        secs = _window(samples)
        heard = self._hear(samples, language, secs)
        if secs == WINDOW_SECS or not heard.words or heard.log_prob >= _SURE:
            return heard
        again = self._hear(samples, language, WINDOW_SECS)
        return max(heard, again, key=lambda each: (not each.is_loop, each.log_prob))

    def _hear(self, samples: Samples, language: str, secs: int) -> Heard:
        encoded = self._encoded(samples, secs)
        prompt = [self._ids["<|startoftranscript|>"]]
        if self.is_multilingual:
            prompt += [self._ids[f"<|{language}|>"], self._ids["<|transcribe|>"]]
        made = self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=_MOST_TOKENS,
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        tokens = made.sequences_ids[0]
        said = [token for token in tokens if token < self._text_end]
        times = [token - self._first_time for token in tokens[-1:] if token >= self._first_time]
        starts: dict[int, int] = {}
        if said:
            frames = min(len(samples) // _HOP, secs * RATE // _HOP)
            aligned = self._model.align(encoded, prompt, [said], max(2, frames))[0]
            for token, position in aligned.alignments:
                starts.setdefault(token, position * _STEP_MS)
        return Heard(
            list(self._words(said, starts, samples, is_spaced=language not in _UNSPACED)),
            made.no_speech_prob,
            made.scores[0],
            times[-1] * _STEP_MS if times else None,
        )

    def _encoded(self, samples: Samples, secs: int) -> object:
        import ctranslate2  # the extra `audio`

        features = _features(samples, secs)
        return self._model.encode(ctranslate2.StorageView.from_array(features[None]))

    def _words(
        self, tokens: Sequence[int], starts: dict[int, int], samples: Samples, *, is_spaced: bool
    ) -> Iterator[Word]:
        """Yield words with their times; where one has none, it is that of the word before."""
        length = len(samples) * 1000 // RATE
        pieces = list(_pieces([_bytes_of(self._tokens[token]) for token in tokens], is_spaced))
        at = 0
        for number, (first, text) in enumerate(pieces):
            at = max(at, starts.get(first, at))
            after = pieces[number + 1][0] if number + 1 < len(pieces) else len(tokens)
            end = max(at, starts.get(after, length if after == len(tokens) else at))
            yield Word(text, min(at, length), min(end, length))


def _pieces(tokens: Sequence[bytes], is_spaced: bool) -> Iterator[tuple[int, str]]:  # noqa: FBT001
    """Yield the words that *tokens* make, each with the number of its first token."""
    held, first = b"", 0
    for number, token in enumerate(tokens):
        is_new = token.startswith(b" ") if is_spaced else _is_whole(held)
        if held and is_new:
            yield first, held.decode("utf-8", "replace")
            held, first = b"", number
        held += token
    if held:
        yield first, held.decode("utf-8", "replace")


def _is_whole(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _bytes_of(token: str) -> bytes:
    alphabet = _alphabet()
    return bytes(alphabet[letter] for letter in token if letter in alphabet)


@cache
def _alphabet() -> dict[str, int]:
    """Return the byte that each letter of GPT-2's alphabet stands for.

    A byte that prints as Latin-1 stands for itself, the others are from U+0100 on.
    """
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    letters = {chr(byte): byte for byte in printing}
    return letters | {chr(0x100 + number): byte for number, byte in enumerate(others)}


def _window(samples: Samples) -> int:
    """Return the least window for *samples*, with silence behind: half a one at least."""
    secs = -(-(len(samples) // RATE + _SILENCE_SECS) // _GRAIN_SECS) * _GRAIN_SECS
    return min(WINDOW_SECS, max(WINDOW_SECS // 2, secs))


def _features(samples: Samples, secs: int) -> Samples:
    """Return 80 bands by 100 moments a second; what is missing to *secs* is silence."""
    padded = np.zeros(secs * RATE, np.float32)
    padded[: len(samples)] = samples[: len(padded)]
    padded = np.pad(padded, _FFT // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::_HOP][:-1]
    hann = np.hanning(_FFT + 1)[:-1].astype(np.float32)
    power = np.square(np.abs(np.fft.rfft(windows * hann, axis=1))).astype(np.float32)
    logs = np.log10(np.maximum(_mel_filters() @ power.T, 1e-10))
    made: Samples = ((np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0).astype(np.float32)
    return made


@cache
def _mel_filters() -> Samples:
    """Return triangles of equal area: linear below 1 kHz, logarithmic above, as Slaney's are."""
    step, knee, ratio = 200 / 3, 15, np.log(6.4) / 27
    top = knee + np.log(RATE / 2 / 1000) / ratio
    mels = np.linspace(0, top, _BANDS + 2)
    edges = np.where(mels < knee, step * mels, 1000 * np.exp(ratio * (mels - knee)))
    slopes = edges[:, None] - np.fft.rfftfreq(_FFT, 1 / RATE)[None]
    widths = np.diff(edges)[:, None]
    rising, falling = -slopes[:-2] / widths[:-1], slopes[2:] / widths[1:]
    areas = (2 / (edges[2:] - edges[:-2]))[:, None]
    filters: Samples = (np.maximum(0, np.minimum(rising, falling)) * areas).astype(np.float32)
    return filters
