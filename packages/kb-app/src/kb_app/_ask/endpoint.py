"""A server of language models over HTTP: what is sent, and the lines that come back.

The client of the standard library does it: no library for HTTP comes with the base
installation, and one request with one answer by lines is all that is needed. What it leaves
open is decided here:

* A thread reads, and who asked waits for what it has read: so waiting ends when ``stop``
  says so or the patience is over, wherever the server hangs, name resolution included.
* A connection whose answer was read to its end is kept for the next request. Where a server
  has let go of a kept one, the request is sent once more.
* A redirect is followed on the same server only: nothing that a person asks, and no key, is
  sent where the configuration does not say.
* 429 and 503 are asked again after what ``Retry-After`` says, if that is within the patience.
* ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` hold, but never for this machine.
"""

from __future__ import annotations

import json
import ssl
import time
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from socket import SHUT_RDWR, gaierror
from threading import Lock, Thread
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from kb_core.clock import utc_now
from kb_core.errors import ConfigInvalid, ModelUnreachable, Timeout
from kb_core.ports import never
from kb_core.text import read_json
from kb_core.values import dataclass
from kb_core.version import __version__

__all__ = ["Answer", "Endpoint", "Refused", "Stopped", "parsed_endpoint"]

_POLL_SECS = 0.05
"""How soon waiting notices that it is to stop."""
_LINGER_SECS = 0.1
"""How long the end of an answer is waited for whose last line is there already."""
_MOST_TRIES = 6
_LONGEST_LINE = 1 << 20
_LONGEST_ANSWER = 64 << 20
"""In bytes: what is longer comes from no language model."""
_SUCCESS = range(200, 300)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_SHOWN = 200

_Event: TypeAlias = "_Head | bytes | Exception | None"
"""The head, a line, why there is no more, or that there is no more."""


class Stopped(Exception):
    """Whoever asked wants no answer any more."""


class Refused(Exception):
    """The server answered with another status than success; its protocol knows why."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.said = _object(body)
        """What it said, if that is an object of JSON."""
        self.text = body[:_SHOWN].decode("utf-8", "replace").strip()


@dataclass(frozen=True, slots=True)
class _Head:
    status: int
    media: str
    location: str
    retry_after: str


def parsed_endpoint(text: str, setting: str) -> SplitResult:
    """Return the address of a server, or complain about the *setting* that has it."""
    url = SplitResult("", "", "", "", "")
    with suppress(ValueError):
        split = urlsplit(text)
        if split.scheme in {"http", "https"} and split.hostname and split.port != 0:
            url = split
    if not url.hostname or url.query or url.fragment:
        complaint = "is not an address such as http://127.0.0.1:11434"
        raise ConfigInvalid(f"{setting} = {text!r} {complaint}", details={"value": text})
    if "@" in url.netloc:  # what is in there is not repeated
        raise ConfigInvalid(
            f"{setting} holds a name or a password",
            hint="put the key into KEBAB_ASK_API_KEY or [ask] api_key_file",
        )
    return url


class Endpoint:
    """One server, and the connections to it that are kept. May be used from any thread."""

    def __init__(
        self,
        url: SplitResult,
        *,
        key: str | None = None,
        timeout_secs: float,
        hint: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the *url* that paths are appended to, and the *hint* where nobody is there.

        The *key* goes along with every request and is in no message. ``timeout_secs`` is the
        patience with one request, from its first byte to the last of its answer; 0: no end.
        """
        self._url = url
        self._key = key
        self._timeout_secs = timeout_secs
        self._hint = hint
        self._clock = clock
        self._idle: list[HTTPConnection] = []
        self._lock = Lock()
        self._proxy = _proxy_of(url)
        weakref.finalize(self, _close_all, self._idle)

    @property
    def where(self) -> str:
        """Scheme, host and port."""
        return f"{self._url.scheme}://{self._url.netloc}"

    @property
    def is_remote(self) -> bool:
        """Whether it is, or may be, another machine."""
        return not _is_this_machine(self._url)

    @contextmanager
    def answer(
        self,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        media: Collection[str] = ("application/json",),
        stop: Callable[[], bool] = never,
    ) -> Generator[Answer]:
        """Send a request, POST if it has a body, and hand out the answer while it comes.

        *media* are the content types that it may have. Raises ``Refused``, ``Stopped``,
        ``ModelUnreachable`` and ``Timeout``.
        """
        waiting = _Waiting(self, self._timeout_secs, stop, self._clock)
        payload = None if body is None else json.dumps(body).encode()
        exchange, head = self._exchange(self._url.path.rstrip("/") + path, payload, waiting)
        answer = Answer(self, exchange, waiting)
        try:
            if head.status not in _SUCCESS:
                raise Refused(head.status, answer.read())
            if head.media not in media:
                said = head.media or "nothing that says what it is"
                raise self.unreachable(f"it answers with {said}, not with {' or '.join(media)}")
            yield answer
        finally:
            exchange.abort()

    def unreachable(self, what: str, **details: object) -> ModelUnreachable:
        """Return the error that says *what* is wrong with this server."""
        message = self.without_key(f"the language model at {self.where} cannot be used: {what}")
        return ModelUnreachable(
            message, hint=self._hint, details={"endpoint": self.where} | details
        )

    def malformed(self, came: bytes | str) -> ModelUnreachable:
        """Return the error that shows what came and was not understood."""
        text = came if isinstance(came, str) else came.decode("utf-8", "replace")
        shown = self.without_key(text[:_SHOWN])
        return self.unreachable(f"it says what nobody can read: {shown!r}", came=shown)

    def cut_off(self) -> ModelUnreachable:
        """Return the error of an answer that ended before its end."""
        return self.unreachable("it broke off in the middle of its answer", reason="cut_off")

    def without_key(self, text: str) -> str:
        """Return *text*, which a server may have said, without the key."""
        return text.replace(self._key, "…") if self._key else text

    def _exchange(
        self, target: str, payload: bytes | None, waiting: _Waiting
    ) -> tuple[_Exchange, _Head]:
        """Send until there is an answer to be taken; follow redirects, wait for the busy."""
        for attempt in range(1, _MOST_TRIES + 1):
            exchange = _Exchange(self, target, payload)
            try:
                head = waiting.head(exchange)
                if head.status in _REDIRECTS:
                    target = self._elsewhere(target, head.location)
                elif head.status in _BUSY and attempt < _MOST_TRIES:
                    waiting.rest(_seconds(head.retry_after), head.status)
                else:
                    return exchange, head
            except BaseException:
                exchange.abort()
                raise
            exchange.abort()
        raise self.unreachable("it redirects in a circle")

    def _elsewhere(self, target: str, location: str) -> str:
        here = urlsplit(self.where)
        there = urlsplit(urljoin(self.where + target, location))
        if not location or (there.scheme, there.netloc) != (here.scheme, here.netloc):
            shown = f"{there.scheme}://{there.netloc.rpartition('@')[2]}"
            raise self.unreachable(
                f"it redirects to {shown}, and nothing is sent where [ask] endpoint does not say",
                redirect=shown,
            )
        return there.path + (f"?{there.query}" if there.query else "")

    # What an exchange does in its thread

    def headers(self) -> dict[str, str]:
        """Return what goes along with every request."""
        headers = {"User-Agent": f"kebab/{__version__}", "Content-Type": "application/json"}
        return headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def kept(self) -> HTTPConnection | None:
        """Return a connection that an earlier request left."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def keep(self, connection: HTTPConnection) -> None:
        """Keep a connection whose answer was read to its end."""
        with self._lock:
            self._idle.append(connection)

    def fresh(self) -> HTTPConnection:
        """Return a connection that is not open yet."""
        url, patience = self._proxy or self._url, self._timeout_secs or None
        made = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = made(str(url.hostname), url.port, timeout=patience)
        if self._proxy is not None and self._url.scheme == "https":
            connection = HTTPSConnection(str(url.hostname), url.port, timeout=patience)
            connection.set_tunnel(str(self._url.hostname), self._url.port)
        return connection

    def line_of(self, target: str) -> str:
        """Return *target* as the first line of a request has it."""
        through = self._proxy is not None and self._url.scheme == "http"
        return self.where + target if through else target or "/"


class Answer:
    """An answer while it comes."""

    def __init__(self, endpoint: Endpoint, exchange: _Exchange, waiting: _Waiting) -> None:
        self._endpoint = endpoint
        self._exchange = exchange
        self._waiting = waiting

    def lines(self) -> Iterator[bytes]:
        """Yield its lines, without their ends; what follows the last one is a break or an end."""
        length = 0
        while (line := self._waiting.line(self._exchange)) is not None:
            length += len(line)
            if len(line) > _LONGEST_LINE or length > _LONGEST_ANSWER:
                raise self._endpoint.unreachable("its answer has no end")
            yield line.rstrip(b"\r\n")

    def read(self) -> bytes:
        """Return all of it, as far as it is short."""
        body = b""
        for line in self.lines():
            body += line + b"\n"
            if len(body) > _LONGEST_LINE:
                break
        return body

    def json(self) -> dict[str, object]:
        """Return the object that it is."""
        body = self.read()
        said = _object(body)
        if said is None:
            raise self._endpoint.malformed(body)
        return said

    def finish(self) -> None:
        """Let go of it, since all has been said; a connection at its end is kept."""
        self._waiting.hurry()
        with suppress(Timeout, ModelUnreachable, Stopped):
            while self._waiting.line(self._exchange) is not None:
                pass


class _Exchange:
    """One request and its answer, done by a thread that tells what comes as it comes."""

    def __init__(self, endpoint: Endpoint, target: str, payload: bytes | None) -> None:
        self.arrived: SimpleQueue[_Event] = SimpleQueue()
        self._endpoint = endpoint
        self._target = target
        self._payload = payload
        self._connection: HTTPConnection | None = None
        self._is_over = False
        Thread(target=self._run, name="kebab-language-model", daemon=True).start()

    def abort(self) -> None:
        """Wake the thread, wherever it waits, and let it end."""
        if self._is_over:
            return
        self._is_over = True
        if self._connection is not None and self._connection.sock is not None:
            with suppress(OSError):
                self._connection.sock.shutdown(SHUT_RDWR)

    def _run(self) -> None:
        try:
            with closing(self._answered()) as response:
                self.arrived.put(_head_of(response))
                while line := response.readline(_LONGEST_LINE + 1):
                    self.arrived.put(line)
            # Who is told of the end may ask again at once.
            if not self._is_over and not response.will_close:
                self._is_over = True
                self._keep()
            self.arrived.put(None)
        except Exception as error:  # noqa: BLE001 - told to who waits, whatever it is
            self.arrived.put(error)
        finally:
            self._close()

    def _answered(self) -> HTTPResponse:
        """Send the request, over a kept connection if there is one that still holds."""
        self._connection = self._endpoint.kept()
        if self._connection is not None:
            with suppress(OSError, HTTPException):
                return self._send(self._connection)
            self._close()
        self._connection = self._endpoint.fresh()
        self._connection.connect()
        return self._send(self._connection)

    def _send(self, connection: HTTPConnection) -> HTTPResponse:
        if self._is_over:  # an end that came while nothing could be woken
            raise Stopped
        method = "GET" if self._payload is None else "POST"
        target = self._endpoint.line_of(self._target)
        connection.request(method, target, self._payload, self._endpoint.headers())
        return connection.getresponse()

    def _keep(self) -> None:
        kept, self._connection = self._connection, None
        if kept is not None:
            self._endpoint.keep(kept)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Waiting:
    """Waits for what a thread tells, for as long as the patience lasts and nobody says stop."""

    def __init__(
        self,
        endpoint: Endpoint,
        secs: float,
        stop: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._secs = secs
        self._stop = stop
        self._clock = clock
        self._until = clock() + secs if secs else float("inf")

    def hurry(self) -> None:
        """Have little patience from now on."""
        self._until = min(self._until, self._clock() + _LINGER_SECS)

    def head(self, exchange: _Exchange) -> _Head:
        """Return the head of the answer."""
        event = self._next(exchange)
        if isinstance(event, _Head):
            return event
        raise self._unreachable(event)

    def line(self, exchange: _Exchange) -> bytes | None:
        """Return the next line; ``None`` at the end, and where the server broke off."""
        event = self._next(exchange)
        if isinstance(event, TimeoutError):
            raise self._timeout()
        return event if isinstance(event, bytes) else None

    def rest(self, secs: float, status: int) -> None:
        """Wait before asking a server again that is busy."""
        if self._clock() + secs > self._until:
            raise Timeout(
                f"the language model at {self._endpoint.where} is busy (HTTP {status}) and wants "
                f"to be asked again in {secs:g} s, but [ask] timeout_secs = {self._secs:g}",
                hint="ask again later, or wait longer with [ask] timeout_secs",
                details={"endpoint": self._endpoint.where, "retry_after_secs": secs},
            )
        over = self._clock() + secs
        while (left := over - self._clock()) > 0:
            self._look_up()
            time.sleep(min(left, _POLL_SECS))

    def _next(self, exchange: _Exchange) -> _Event:
        while True:
            self._look_up()
            with suppress(Empty):
                return exchange.arrived.get(timeout=_POLL_SECS)

    def _look_up(self) -> None:
        if self._stop():
            raise Stopped
        if self._clock() > self._until:
            raise self._timeout()

    def _timeout(self) -> Timeout:
        return Timeout(
            f"the language model at {self._endpoint.where} took longer than "
            f"[ask] timeout_secs = {self._secs:g}",
            hint="wait longer with [ask] timeout_secs (0: no end), or take a smaller model",
            details={"endpoint": self._endpoint.where, "timeout_secs": self._secs},
        )

    def _unreachable(self, event: _Event) -> Exception:
        if isinstance(event, TimeoutError):
            return self._timeout()
        if isinstance(event, gaierror):
            return self._endpoint.unreachable("there is no host of that name")
        if isinstance(event, ssl.SSLCertVerificationError):
            return self._endpoint.unreachable(f"its certificate: {event.verify_message}")
        if isinstance(event, ConnectionRefusedError):
            return self._endpoint.unreachable("nobody is there (connection refused)")
        what = str(event) or type(event).__name__
        return self._endpoint.unreachable(what if event else "it said nothing")


def _head_of(response: HTTPResponse) -> _Head:
    return _Head(
        status=response.status,
        media=response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
        location=response.headers.get("Location", ""),
        retry_after=response.headers.get("Retry-After", ""),
    )


def _seconds(retry_after: str) -> float:
    """Return what ``Retry-After`` says, a number or a date, in seconds; 1 where it says nothing."""
    with suppress(ValueError):
        return max(0.0, float(int(retry_after)))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(retry_after) - utc_now()).total_seconds())
    return 1.0


def _object(body: bytes) -> dict[str, object] | None:
    try:
        said = read_json(body)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _is_this_machine(url: SplitResult) -> bool:
    host = str(url.hostname)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy_of(url: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for *url*; none for this machine."""
    from urllib.request import getproxies, proxy_bypass  # only another machine needs it

    if _is_this_machine(url) or proxy_bypass(str(url.hostname)):
        return None
    named = getproxies().get(url.scheme, "")
    return urlsplit(named if "://" in named else f"http://{named}") if named else None


def _close_all(connections: Sequence[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()
