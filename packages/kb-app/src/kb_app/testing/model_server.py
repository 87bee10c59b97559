"""A server of language models for tests: both protocols, and all that can go wrong.

It is scripted: each request for an answer takes the next ``Reply``, and the last one stays.
It waits for conditions, never for a time. Nothing outside tests imports this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Self

from kb_core.values import dataclass, field

__all__ = ["ModelServer", "Reply", "Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How one request is answered.

    With *body* in place of *pieces*, those bytes are all of it, whatever the protocol; where
    it does not end, the connection does, unannounced, behind it.
    """

    pieces: Sequence[str] = ()
    ends: bool = True
    """Whether the answer says that it is whole; else it breaks off behind the pieces."""
    falls_silent: bool = False
    """Behind the pieces, until the server is closed."""
    reason: str = "stop"
    status: int = 200
    media: str | None = None
    """The content type, where it is not that of the protocol."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ModelServer:
    """Serves the model ``m`` on a port of this machine until it is closed."""

    model = "m"

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies) or [Reply()]
        self._lock = Lock()
        self.closing = Event()
        self.requests: list[Request] = []
        self.connections = 0
        self._server = _Listening(("127.0.0.1", 0), _handler_of(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def next_reply(self) -> Reply:
        """Return how the next request is answered."""
        with self._lock:
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def close(self) -> None:
        """Let go of everybody who waits, and of the port."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_of: ModelServer

    def setup(self) -> None:
        super().setup()
        self.server_of.connections += 1

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has
        """Say nothing."""

    def do_GET(self) -> None:
        self._remember({})
        self._send(json.dumps({"data": [{"id": self.server_of.model}]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._remember(body)
        if body.get("model") != self.server_of.model:
            self._send(_missing(self.path, body.get("model")), status=404)
        elif self.path.endswith("/show"):
            self._send(b"{}")
        else:
            with suppress(OSError):  # whoever asked may have gone
                self._answer(self.server_of.next_reply())

    def _remember(self, body: dict[str, Any]) -> None:
        self.server_of.requests.append(Request(self.path, dict(self.headers), body))

    def _answer(self, reply: Reply) -> None:
        if reply.body is not None:
            self._send(reply.body, reply.media, reply.status, reply.headers)
            self.close_connection = not reply.ends
            return
        is_ollama = self.path.startswith("/api/")
        media = "application/x-ndjson" if is_ollama else "text/event-stream; charset=utf-8"
        self._head(reply.status, reply.media or media, {"Transfer-Encoding": "chunked"})
        for line in _lines(reply, is_ollama=is_ollama):
            # In two chunks, so that a line, and a letter in it, may arrive in two pieces.
            self._chunk(line[: len(line) // 2])
            self._chunk(line[len(line) // 2 :])
        if reply.falls_silent:
            self.server_of.closing.wait()
        if reply.ends:
            self._chunk(b"")
        else:
            self.close_connection = True

    def _send(
        self,
        body: bytes,
        media: str | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        length = {"Content-Length": str(len(body))}
        self._head(status, media or "application/json", length | dict(headers or {}))
        self.wfile.write(body)

    def _head(self, status: int, media: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))


def _handler_of(server: ModelServer) -> type[_Handler]:
    return type("_Bound", (_Handler,), {"server_of": server})


def _lines(reply: Reply, *, is_ollama: bool) -> Iterator[bytes]:
    is_whole = reply.ends and not reply.falls_silent
    lines = _ollama_lines if is_ollama else _openai_lines
    for line in lines(reply, is_whole=is_whole):
        yield line.encode()


def _ollama_lines(reply: Reply, *, is_whole: bool) -> Iterator[str]:
    for piece in reply.pieces:
        yield _json({"message": {"role": "assistant", "content": piece}, "done": False}) + "\n"
    if is_whole:
        counts = {"prompt_eval_count": 7, "eval_count": len(reply.pieces)}
        message = {"role": "assistant", "content": ""}
        end = {"message": message, "done": True, "done_reason": reply.reason}
        yield _json(end | counts) + "\n"


def _openai_lines(reply: Reply, *, is_whole: bool) -> Iterator[str]:
    yield ": a comment keeps the connection alive\n\n"
    for piece in reply.pieces:
        yield _event({"choices": [{"delta": {"content": piece}, "finish_reason": None}]})
    if is_whole:
        counts = {"prompt_tokens": 7, "completion_tokens": len(reply.pieces)}
        yield _event({"choices": [{"delta": {}, "finish_reason": reply.reason}]})
        yield _event({"choices": [], "usage": counts})
        yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {_json(data)}\n\n"


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _missing(path: str, model: object) -> bytes:
    message = f"model '{model}' not found"
    is_ollama = path.startswith("/api/")
    error = message if is_ollama else {"message": message, "code": "model_not_found"}
    return _json({"error": error}).encode()
