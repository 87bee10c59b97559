"""The server over HTTP: ``kebab mcp --http``, one warm model for several hosts.

The transport is the SDK's. What stands before it is ours: a request has to be addressed to
this server by a name of its own (a page that a browser shows cannot have a foreign name
resolve to here), must not come from a page of another origin, and has to bring the token.
Only then is its body read, at most four megabytes of it.

The token is in ``KEBAB_MCP_TOKEN``, or in a file of the data directory that is made at the
first use and that only its owner can read. There is no encryption: what other machines are
to reach goes through a tunnel or a proxy that has it.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kb_core.errors import InvalidInput, IoError
from kb_core.values import dataclass
from kb_mcp import HTTP_PLACE

__all__ = ["PATH", "TOKEN_VARIABLE", "Place", "create_app", "run", "token_of"]

PATH = "/mcp"
TOKEN_VARIABLE = "KEBAB_MCP_TOKEN"  # noqa: S105 - the name of one

_TOKEN_LENGTH = 32, 1024
"""Characters of a token: what cannot be guessed, and what a header may hold."""

_ANEW = "delete the file, and the next start makes one"

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HTTP_PORT = 80
_GRACE_S = 10
"""How long the end of the server waits for requests that are being answered."""
_ENDING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read ``HOST:PORT``, ``HOST``, ``PORT`` or ``[HOST]:PORT``; 0 is any port that is free.

        Raises ``InvalidInput``.
        """
        default = urlsplit(f"//{HTTP_PLACE}")
        given = f":{text}" if text.isdigit() else text
        with suppress(ValueError):
            asked = urlsplit(f"//{given}")
            port = default.port if asked.port is None else asked.port
            if asked.netloc == given and not asked.username and port is not None:
                return cls(asked.hostname or str(default.hostname), port)
        raise InvalidInput(
            f"--http: {text!r} is no HOST:PORT",
            hint=f"such as {HTTP_PLACE}, or [::1]:8808",
            details={"field": "http", "value": text},
        )

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can reach it."""
        if self.host in _LOOPBACK:
            return True
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return False

    def listen(self) -> socket.socket:
        """Take the port; raises ``IoError`` if it is taken, or the host is not this machine."""
        try:
            family, *_, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise self._refused(error) from error
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()  # who hears the address may ask at once
        except OSError as error:
            listener.close()
            raise self._refused(error) from error
        return listener

    def _refused(self, error: OSError) -> IoError:
        return IoError(
            f"cannot listen at {self.host}:{self.port}: {error.strerror or error}",
            hint="name another place: --http HOST:PORT, where port 0 takes any that is free",
            details={"host": self.host, "port": self.port},
        )


def token_of(file: Path, environ: Mapping[str, str]) -> tuple[str, bool]:
    """Return the token that hosts have to send, and whether it was made for that just now.

    Raises ``InvalidInput`` for one that can be guessed or not be sent, and ``IoError``.
    """
    if given := environ.get(TOKEN_VARIABLE, ""):
        return _checked(given, f"${TOKEN_VARIABLE}", "unset it, or set a longer one"), False
    try:
        with suppress(FileNotFoundError):
            return _checked(file.read_text("ascii").strip(), str(file), _ANEW), False
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = secrets.token_urlsafe(32)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{made}\n")
    except FileExistsError:  # another server was quicker, and has not written it yet, perhaps
        raise _unreadable(file, "it is being made") from None
    except UnicodeDecodeError:
        return _checked("", str(file), _ANEW), False
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    return made, True


def _checked(token: str, where: str, way_out: str) -> str:
    least, most = _TOKEN_LENGTH
    if least <= len(token) <= most and token.isascii() and token.isprintable() and " " not in token:
        return token
    raise InvalidInput(
        f"the token in {where} has to be {least} to {most} printable characters without spaces",
        hint=f"{way_out}; or: openssl rand -hex 32",
        details={"field": "token"},
    )


def _unreadable(file: Path, why: str) -> IoError:
    return IoError(
        f"the token in {file} cannot be read or made: {why}",
        hint=f"start again, or put a token of your own into {TOKEN_VARIABLE}",
        details={"path": str(file)},
    )


class _Guard:
    """Lets through to *app* what may ask: by name, origin and token, in this order."""

    def __init__(self, app: ASGIApp, token: str, names: frozenset[str], port: int) -> None:
        self._app, self._token, self._names, self._port = app, token.encode(), names, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, why = refusal
        error = {"code": -32600, "message": why}
        await JSONResponse(
            {"jsonrpc": "2.0", "id": None, "error": error},
            status,
            {"www-authenticate": "Bearer"} if status == 401 else None,  # noqa: PLR2004
        )(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        ours = self._names | {str((scope.get("server") or ("",))[0]).lower()}
        if _name_in(f"//{headers.get('host', '')}") not in ours:
            return 421, "this server has another name: the Host header says whom it is for"
        if "origin" in headers and not _is_at(headers["origin"], ours, self._port):
            return 403, "pages of another origin may not ask this server"
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # latin-1 is what headers are; as bytes, since text is compared in ASCII only
        known = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._token)
        if scheme.lower() != "bearer" or not known:
            return 401, "send 'Authorization: Bearer TOKEN'; kebab says at its start where it is"
        return None


def _name_in(address: str) -> str | None:
    with suppress(ValueError):
        return urlsplit(address).hostname
    return None


def _is_at(origin: str, names: frozenset[str], port: int) -> bool:
    """Say whether an origin is that of a server at *port*, which has no encryption."""
    with suppress(ValueError):
        parts = urlsplit(origin)
        at = _HTTP_PORT if parts.port is None else parts.port
        return parts.scheme == "http" and parts.hostname in names and at == port
    return False


def create_app(
    server: Server[Any], token: str, place: Place, at_end: Callable[[], object] = lambda: None
) -> Starlette:
    """Return the application that serves *server* under ``/mcp`` to those who have *token*.

    *at_end* is called when the last request was answered.
    """
    sessions = StreamableHTTPSessionManager(server)
    names = {*_LOOPBACK} if place.is_local else {*_LOOPBACK, *_names_of_this_machine()}
    names |= {place.host.lower()}
    guard = _Guard(sessions.handle_request, token, frozenset(names), place.port)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with sessions.run():
            yield
        at_end()

    return Starlette(routes=[Route(PATH, endpoint=guard)], lifespan=lifespan)


def _names_of_this_machine() -> set[str]:
    name = socket.gethostname().lower()
    return {name, f"{name}.local", socket.getfqdn().lower()}


def run(
    server: Server[Any],
    token: str,
    place: Place,
    *,
    told: Callable[[str], object],
    at_end: Callable[[], object],
) -> None:
    """Serve until SIGINT or SIGTERM; *told* hears the address once the port is taken.

    A signal that comes from then on, though nothing is served yet, ends it in order, too.
    """
    with place.listen() as listener:
        host, port = listener.getsockname()[:2]
        taken = Place(str(host), int(port))
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            told(f"http://{f'[{host}]' if ':' in taken.host else host}:{port}{PATH}")
            app = create_app(server, token, Place(place.host, taken.port), at_end)
            settings = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_GRACE_S,
                ws="none",
            )
            _Serving(settings).run(sockets=[listener])
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


class _Serving(uvicorn.Server):
    """Hears of signals that were held back from the moment on at which it can obey them."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        with super().capture_signals():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            yield
