"""Speech by a server: anything that speaks as OpenAI's ``/v1/audio/transcriptions`` does.

Each stretch is sent by itself, as a WAV file of 16 bits, so nothing that is sent is longer
than 30 seconds, and times are right.
"""

from __future__ import annotations

import math
import wave
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO

from kb_app._ingest.making.serving import Server
from kb_app._ingest.making.speech.resampling import RATE, Samples
from kb_app._ingest.making.speech.voices import Active
from kb_app._ingest.making.transcripts import Segment
from kb_core.values import dataclass

__all__ = ["ServedEngine"]

_BOUNDARY = "kebab-5f1d3c7a9b"


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """A server at *endpoint*, such as ``http://localhost:8000/v1``, that runs *model*."""

    endpoint: str
    model: str
    languages: Sequence[str] = ()
    key_file: str = ""
    """The file that holds its key, unless ``KEBAB_AUDIO_API_KEY`` does."""

    def language(self, _samples: Samples) -> str | None:
        return self.languages[0] if len(self.languages) == 1 else None

    def segments(
        self, samples: Samples, _active: Active, language: str | None
    ) -> Iterable[Segment]:
        fields = {"model": self.model, "response_format": "verbose_json"}
        if language:
            fields["language"] = language
        answer = self._ask(_form(fields, _wav(samples)))
        return list(_segments(answer, len(samples) * 1000 // RATE))

    def _ask(self, form: bytes) -> Mapping[str, object]:
        server = Server(
            self.endpoint,
            what="speech server",
            gives="transcript",
            key_name="KEBAB_AUDIO_API_KEY",
            key_file=self.key_file,
            setting="[audio] endpoint",
            key_setting="[audio] api_key_file",
        )
        media = f"multipart/form-data; boundary={_BOUNDARY}"
        return server.post("audio/transcriptions", form, media)


def _wav(samples: Samples) -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(RATE)
        writer.writeframes((samples * 32767).astype("<i2").tobytes())
    return file.getvalue()


def _form(fields: Mapping[str, str], wav: bytes) -> bytes:
    head = "".join(
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head += (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="speech.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    )
    return head.encode() + wav + f"\r\n--{_BOUNDARY}--\r\n".encode()


def _segments(answer: Mapping[str, object], length: int) -> Iterator[Segment]:
    """Yield what a server says; where it tells no times, they are those of the stretch."""
    told = answer.get("segments")
    if not isinstance(told, list) or not told:
        text = answer.get("text")
        told = [{"start": 0, "end": length / 1000, "text": text}]
    for each in told:
        text = each.get("text") if isinstance(each, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        start, end = _ms(each.get("start"), 0, length), _ms(each.get("end"), length, length)
        yield Segment(start, max(start, end), " ".join(text.split()))


def _ms(seconds: object, otherwise: int, most: int) -> int:
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return otherwise
    return min(most, max(0, round(seconds * 1000)))
