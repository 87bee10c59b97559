"""Language models behind their port: Ollama, and whatever speaks OpenAI's protocol.

Both stream. Ollama answers with a line of JSON for each piece, and says itself that it is
done; the other sends events, of which one has the reason why it ends, and ``[DONE]`` follows
the last. An answer without either was cut off. A file of weights is run by ``gguf``.

A key comes from ``KEBAB_ASK_API_KEY``, else from the file that ``[ask] api_key_file`` names,
else, for OpenAI's own address alone, from ``OPENAI_API_KEY``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kb_app._ask.endpoint import Answer, Endpoint, Refused, Stopped, parsed_endpoint
from kb_core.errors import ConfigInvalid, KbError, ModelNotPulled, Timeout
from kb_core.language import Delta, End, Message, ModelName, Usage
from kb_core.ports import LanguageModel, never
from kb_core.text import read_json
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app.config import Ask

__all__ = ["OllamaModel", "OpenAiModel", "Sampling", "language_model"]

OLLAMA = "http://127.0.0.1:11434"
OPENAI = "https://api.openai.com/v1"
_ENDS: Mapping[str, Literal["stop", "length", "filtered"]] = {
    "length": "length",
    "content_filter": "filtered",
}
_DONE = b"[DONE]"
_TRIES_WITHOUT = 4
_SHOWN_MODELS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model chooses its words, and how much it keeps in mind."""

    temperature: float = 0.0
    seed: int = 0
    context_tokens: int = 8000
    keep_alive_secs: int = 300


def language_model(
    ask: Ask, environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
) -> LanguageModel | None:
    """Return the configured model, or ``None`` where none is to write.

    Nothing is sent. Raises ``ConfigInvalid``, and ``MissingExtra`` for what is not installed.
    """
    if ask.provider in {"extractive", "none"}:
        return None
    if not ask.model:
        raise ConfigInvalid(
            f"[ask] model is empty, and provider = {ask.provider!r} has no default",
            hint="set [ask] model to the path of a GGUF file"
            if ask.provider == "gguf"
            else "set [ask] model to the name of a model that the server has",
            details={"key": "ask.model"},
        )
    sampling = Sampling(
        temperature=ask.temperature,
        seed=ask.seed,
        context_tokens=ask.context_tokens,
        keep_alive_secs=ask.keep_alive_secs,
    )
    if ask.provider == "gguf":
        from kb_app._ask.gguf import GgufModel, require_library

        require_library()
        return GgufModel(Path(ask.model).expanduser(), sampling, ask.timeout_secs)
    is_ollama = ask.provider == "ollama"
    url = parsed_endpoint(ask.endpoint or (OLLAMA if is_ollama else OPENAI), "[ask] endpoint")
    if not is_ollama and not url.path.strip("/"):
        url = url._replace(path="/v1")
    starts = "start it with `ollama serve`, or" if is_ollama else "start it, or"
    endpoint = Endpoint(
        url,
        key=_key(ask, environ, is_default=not is_ollama and url.geturl().rstrip("/") == OPENAI),
        timeout_secs=ask.timeout_secs,
        hint=f"{starts} correct [ask] endpoint; provider = 'extractive' needs no model",
        clock=clock,
    )
    return (OllamaModel if is_ollama else OpenAiModel)(ask.model, endpoint, sampling)


def _key(ask: Ask, environ: Mapping[str, str], *, is_default: bool) -> str | None:
    """Return the key, without a word of it in any error."""
    key, origin = environ.get("KEBAB_ASK_API_KEY", ""), "KEBAB_ASK_API_KEY"
    if not key and ask.api_key_file:
        origin = f"[ask] api_key_file = {ask.api_key_file!r}"
        try:
            key = Path(ask.api_key_file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigInvalid(f"{origin} cannot be read: {why}") from error
        if not key.strip():
            raise ConfigInvalid(f"{origin} is empty", hint="put the key there, and nothing else")
    if not key and is_default:
        key, origin = environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY"
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigInvalid(f"{origin} holds more than a key", hint="one line, without blanks")
    return key or None


class _ServedModel:
    """What both protocols share; each knows its paths, and what its lines mean."""

    provider: str

    def __init__(self, model: str, endpoint: Endpoint, sampling: Sampling) -> None:
        self._model = model
        self._endpoint = endpoint
        self._sampling = sampling

    @property
    def name(self) -> ModelName:
        remote = self._endpoint.where if self._endpoint.is_remote else None
        return ModelName(self._model, self.provider, remote)

    def count(self, _: str, /) -> int | None:
        return None  # neither protocol has a request for it

    def check(self, *, stop: Callable[[], bool] = never) -> None:
        with suppress(Stopped), self._refusals():
            self._check(stop)

    def generate(
        self, messages: Sequence[Message], /, *, max_tokens: int, stop: Callable[[], bool] = never
    ) -> Generator[Delta]:
        told: list[dict[str, str]] = [{"role": m.role, "content": m.text} for m in messages]
        with suppress(Stopped), self._refusals():
            for delta in self._generate(told, max_tokens, stop):
                if stop():
                    return
                yield delta

    def _check(self, stop: Callable[[], bool]) -> None:
        raise NotImplementedError

    def _generate(
        self, told: list[dict[str, str]], max_tokens: int, stop: Callable[[], bool]
    ) -> Iterator[Delta]:
        raise NotImplementedError

    def _missing(self, known: Sequence[str] = (), /) -> ModelNotPulled:
        raise NotImplementedError

    @contextmanager
    def _refusals(self) -> Generator[None]:
        """Say what a status other than success means."""
        try:
            yield
        except Refused as refused:
            raise self._meaning(refused) from None  # the body may repeat what is not to be shown

    def _meaning(self, refused: Refused) -> KbError:
        said = _complaint(refused)
        if (
            refused.status == HTTPStatus.NOT_FOUND
            and refused.said is not None
            and "model" in said.lower()
        ):
            return self._missing()
        if refused.status in {401, 403}:
            error = self._endpoint.unreachable(f"it wants another key (HTTP {refused.status})")
            error.hint = "put the key into KEBAB_ASK_API_KEY or [ask] api_key_file"
            return error
        if refused.status in {408, 504}:
            return Timeout(
                f"the language model at {self._endpoint.where} gave up (HTTP {refused.status})",
                hint="ask again, or take a smaller model",
            )
        shown = f": {said}" if said else ""
        return self._endpoint.unreachable(f"HTTP {refused.status}{shown}", status=refused.status)

    def _object(self, line: bytes) -> dict[str, object]:
        """Return the object in *line*; raise what it complains of."""
        try:
            piece = read_json(line)
        except ValueError:
            piece = None
        if not isinstance(piece, dict):
            raise self._endpoint.malformed(line)
        if error := piece.get("error"):
            said = error.get("message") if isinstance(error, dict) else error
            raise self._endpoint.unreachable(f"it gave up: {said}")
        return piece


class OllamaModel(_ServedModel):
    """``LanguageModel`` of a server of Ollama (``/api/chat``)."""

    provider = "ollama"

    def _check(self, stop: Callable[[], bool]) -> None:
        with self._endpoint.answer("/api/show", {"model": self._model}, stop=stop) as answer:
            answer.json()

    def _generate(
        self, told: list[dict[str, str]], max_tokens: int, stop: Callable[[], bool]
    ) -> Iterator[Delta]:
        sampling = self._sampling
        body = {
            "model": self._model,
            "messages": told,
            "stream": True,
            "keep_alive": sampling.keep_alive_secs,
            "options": {
                "num_ctx": sampling.context_tokens,
                "num_predict": max_tokens,
                "temperature": sampling.temperature,
                "seed": sampling.seed,
            },
        }
        media = ("application/x-ndjson",)
        with self._endpoint.answer("/api/chat", body, media=media, stop=stop) as answer:
            for line in filter(None, answer.lines()):
                piece = self._object(line)
                text = _text_at(piece.get("message"), "content")
                if text:
                    yield Delta(text)
                if piece.get("done"):
                    answer.finish()
                    reason = _ENDS.get(str(piece.get("done_reason")), "stop")
                    usage = _usage(piece, "prompt_eval_count", "eval_count")
                    yield Delta(end=End(reason, usage))
                    return
                if text is None:
                    raise self._endpoint.malformed(line)
        raise self._endpoint.cut_off()

    def _missing(self, _: Sequence[str] = (), /) -> ModelNotPulled:
        return ModelNotPulled(
            f"the Ollama at {self._endpoint.where} does not have the model {self._model!r}",
            hint=f"ollama pull {self._model}",
            details={"model": self._model, "endpoint": self._endpoint.where},
        )


class OpenAiModel(_ServedModel):
    """``LanguageModel`` of any server with OpenAI's protocol (``/v1/chat/completions``)."""

    provider = "openai"

    def _check(self, stop: Callable[[], bool]) -> None:
        try:
            with self._endpoint.answer("/models", stop=stop) as answer:
                rows = answer.json().get("data")
        except Refused as refused:
            if refused.status in {404, 405, 501}:  # not every server lists its models
                return
            raise
        known = [str(_text_at(row, "id")) for row in rows] if isinstance(rows, list) else []
        if known and self._model not in known:
            raise self._missing(known)

    def _generate(
        self, told: list[dict[str, str]], max_tokens: int, stop: Callable[[], bool]
    ) -> Iterator[Delta]:
        body: dict[str, object] = {
            "model": self._model,
            "messages": told,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": self._sampling.temperature,
            "seed": self._sampling.seed,
            "max_tokens": max_tokens,
        }
        for _ in range(_TRIES_WITHOUT):
            try:
                yield from self._events(body, stop)
            except Refused as refused:
                if not _do_without(body, refused):
                    raise
            else:
                return
        yield from self._events(body, stop)

    def _events(self, body: Mapping[str, object], stop: Callable[[], bool]) -> Iterator[Delta]:
        media = ("text/event-stream",)
        with self._endpoint.answer("/chat/completions", body, media=media, stop=stop) as answer:
            yield from self._deltas(answer)

    def _deltas(self, answer: Answer) -> Iterator[Delta]:
        reason, usage = None, Usage()
        for line in answer.lines():
            if not line.startswith(b"data:"):
                self._check_event(line)
                continue
            data = line[5:].strip()
            if data == _DONE:
                reason = reason or "stop"
                break
            piece = self._object(data)
            if isinstance(piece.get("usage"), dict):
                usage = _usage(piece["usage"], "prompt_tokens", "completion_tokens")
            for choice in _list_at(piece, "choices"):
                if text := _text_at(_at(choice, "delta"), "content"):
                    yield Delta(text)
                reason = _text_at(choice, "finish_reason") or reason
        if reason is None:
            raise self._endpoint.cut_off()
        answer.finish()
        yield Delta(end=End(_ENDS.get(reason, "stop"), usage))

    def _check_event(self, line: bytes) -> None:
        """Refuse what is no line of an event: a field with a colon, a comment, or a blank."""
        if line.partition(b":")[0] not in {b"", b"event", b"id", b"retry"}:
            raise self._endpoint.malformed(line)

    def _missing(self, known: Sequence[str] = (), /) -> ModelNotPulled:
        shown = ", ".join(known[:_SHOWN_MODELS]) + (", …" if len(known) > _SHOWN_MODELS else "")
        return ModelNotPulled(
            f"the server at {self._endpoint.where} does not have the model {self._model!r}",
            hint=f"set [ask] model to one that it has{f': {shown}' if shown else ''}",
            details={"model": self._model, "endpoint": self._endpoint.where},
        )


def _do_without(body: dict[str, object], refused: Refused) -> bool:
    """Take the parameter out of *body* that the server does not know, if it can be missed."""
    param = _text_at(_at(refused.said, "error"), "param")
    if refused.status != HTTPStatus.BAD_REQUEST or param not in body:
        return False
    if param == "max_tokens":  # what models that reason call it
        body["max_completion_tokens"] = body.pop("max_tokens")
        return True
    return param in {"stream_options", "temperature", "seed"} and body.pop(param) is not None


def _complaint(refused: Refused) -> str:
    """Return what the server says itself, in one line."""
    error = _at(refused.said, "error")
    said = _text_at(error, "message") if isinstance(error, dict) else error
    return " ".join(str(said or refused.text).split())


def _usage(counts: object, prompt: str, completion: str) -> Usage:
    taken, given = _at(counts, prompt), _at(counts, completion)
    return Usage(
        taken if isinstance(taken, int) and taken >= 0 else None,
        given if isinstance(given, int) and given >= 0 else None,
    )


def _at(node: object, key: str) -> object:
    return node.get(key) if isinstance(node, dict) else None


def _text_at(node: object, key: str) -> str | None:
    value = _at(node, key)
    return value if isinstance(value, str) else None


def _list_at(node: object, key: str) -> list[object]:
    value = _at(node, key)
    return value if isinstance(value, list) else []
