"""Frames that cannot be read: each gets an error of the protocol, and the next one is read.

The SDK hands on what its reader raised and drops it, so that a host would wait for an
answer until it gives up. The answer names the request, if its id can be told.
"""

from __future__ import annotations

import contextvars
import json
import re
from types import TracebackType
from typing import Any, Protocol, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from kb_core import logs

__all__ = ["Answering", "reply_to"]

logger = logs.logger(__name__)

_SHOWN = 200
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*[,}]')


class _Reader(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Writer(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class Answering:
    """What *reader* gives, but for what cannot be read: that is answered through *writer*."""

    def __init__(self, reader: _Reader, writer: _Writer) -> None:
        self._reader, self._writer = reader, writer

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context in which the last message was sent, as the SDK wants it."""
        return getattr(self._reader, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message that can be read."""
        while isinstance(item := await self._reader.receive(), Exception):
            reply = reply_to(item)
            if reply is not None:
                logger.info("a frame could not be read")
                await self._writer.send(SessionMessage(reply))
        return item

    async def aclose(self) -> None:
        """Close what is read from."""
        await self._reader.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def reply_to(error: Exception) -> types.JSONRPCError | None:
    """Return the answer to a frame of which the reader says *error*; none to an empty line."""
    found = _first(error)
    frame, said = found.get("input"), str(found.get("msg", error))
    if found.get("type") == "json_invalid" or not isinstance(frame, dict):
        if isinstance(frame, str) and not frame.strip():
            return None
        code, why = types.PARSE_ERROR, f"the frame is not JSON: {_lowered(said)}"
        if found.get("type") != "json_invalid":
            code, why = types.INVALID_REQUEST, "the frame is not an object of JSON-RPC"
    else:
        names = "jsonrpc, id, method and params"
        code, why = types.INVALID_REQUEST, f"the frame is no message of JSON-RPC 2.0: {names}"
    return types.JSONRPCError(
        jsonrpc="2.0", id=_id_of(frame), error=types.ErrorData(code=code, message=why)
    )


def _first(error: Exception) -> dict[str, Any]:
    """Return the first thing that is wrong, as pydantic tells it."""
    errors = getattr(error, "errors", None)
    told: list[dict[str, Any]] = errors() if callable(errors) else []
    whole = next((one for one in told if isinstance(one.get("input"), dict)), None)
    return whole or (told[0] if told else {})


def _id_of(frame: object) -> int | str | None:
    """Return the id of a request; of one that is no JSON, if it has just one."""
    if isinstance(frame, dict):
        known = frame.get("id")
    else:
        found = _ID.findall(frame) if isinstance(frame, str) else []
        known = json.loads(found[0]) if len(found) == 1 else None
    return known if isinstance(known, int | str) and not isinstance(known, bool) else None


def _lowered(message: str) -> str:
    text = message.removeprefix("Invalid JSON: ")[:_SHOWN]
    return text if text[:2].isupper() else text[:1].lower() + text[1:]
