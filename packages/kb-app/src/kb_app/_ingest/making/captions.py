"""Captions: what a vision model on a server says that a picture shows.

The picture goes to the endpoint that the configuration names, made smaller, and to nobody else;
without one, nothing is asked. A caption is cited as ``#caption`` with the model that wrote it,
so that nobody takes it for what stands in the picture, and is kept like other costly results.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping

from kb_app._ingest.making.serving import Server
from kb_core.ports import Results
from kb_core.values import dataclass

__all__ = ["Captioner", "captioner_for"]

_VERSION = "caption-1"
_MOST_TOKENS = 200
_MOST_LETTERS = 2000
_PROMPT = (
    "Describe what this picture shows in one to three plain sentences, for somebody who looks "
    "for it later by words: persons, things, place, what is done, and what kind of picture it "
    "is. No introduction, no opinion, nothing that cannot be seen."
)


@dataclass(frozen=True, slots=True)
class Captioner:
    """Asks a server for captions."""

    server: Server
    model: str

    @property
    def maker(self) -> Mapping[str, object]:
        """What decides what is written."""
        return {"version": _VERSION, "endpoint": self.server.endpoint, "model": self.model}

    def caption(self, jpeg: Callable[[], bytes], results: Results) -> str:
        """Return what the model says of a picture, in one line; asked once for each.

        ``ModelUnreachable`` where nobody answers.
        """
        known = results.get("caption")
        if isinstance(known, str):
            return known
        said = _said(self.server.post("chat/completions", self._question(jpeg()), _JSON))
        if said is None:
            raise self.server.failed("its answer has no text")
        results.put("caption", said)
        return said

    def _question(self, jpeg: bytes) -> bytes:
        shown = {"url": f"data:image/jpeg;base64,{b64encode(jpeg).decode()}"}
        content = [{"type": "text", "text": _PROMPT}, {"type": "image_url", "image_url": shown}]
        asked = {
            "model": self.model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": _MOST_TOKENS,
            "temperature": 0,
        }
        return json.dumps(asked).encode()


_JSON = "application/json"


def captioner_for(options: Mapping[str, object]) -> Captioner | None:
    """Return who writes captions, as the options of a file have it; ``None``: nobody."""
    endpoint, model, key_file = (
        str(options.get(f"caption_{name}") or "") for name in ("endpoint", "model", "api_key_file")
    )
    if not endpoint:
        return None
    server = Server(
        endpoint,
        what="caption server",
        gives="caption",
        key_name="KEBAB_CAPTION_API_KEY",
        key_file=key_file,
        setting="[ocr] caption_endpoint",
        key_setting="[ocr] caption_api_key_file",
    )
    return Captioner(server, model)


def _said(answer: Mapping[str, object]) -> str | None:
    """Return the text of an answer, as one line."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    said = " ".join(text.split())[:_MOST_LETTERS] if isinstance(text, str) else ""
    return said or None
