"""Calls: each tool on a thread of its own, with progress, cancellation and a line in the log.

While a tool works, the host that asked for progress hears every second for how long: many
hosts give up on a call that is silent for a minute. A call that the host cancels, or whose
host goes away, is let go at once; its tool is told through ``Call.stop``. One that writes
ends after the batch at hand, and the server does not end before.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext

from kb_core import logs
from kb_core.errors import InvalidInput, KbError
from kb_core.values import replace
from kb_mcp._results import failure, repaired, success, told, with_pictures
from kb_mcp._tool import Call, Form, Progress, Tool, as_asked, in_names_of_text
from kb_mcp.text import plain, said_by, tokens_of

__all__ = ["Context", "Threads", "answer"]

logger = logs.logger(__name__)

Context: TypeAlias = ServerRequestContext[Any]
_Result = TypeVar("_Result")

_NAMED = 3
"""Tools that are named for a parameter which they have."""
BEAT_S = 1.0
"""Time between two reports of progress."""


class Threads:
    """The threads on which the facade works for one server, one a call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working: dict[object, threading.Event | None] = {}
        """What runs now, and how it is told to stop if it writes."""

    async def run(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        writes_until: threading.Event | None = None,
    ) -> _Result:
        """Call *function* where it may block; cancelling lets go of it at once.

        One that writes goes on until it has seen *writes_until*.
        """
        work = partial(self._count, writes_until, function, *arguments)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def wait(self, seconds: float) -> bool:
        """Wait until all work has ended, also what was let go; say whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._working, seconds)

    def finish_writing(self, seconds: float) -> None:
        """Tell all that writes to stop, and wait for it."""
        with self._changed:
            for stop in filter(None, self._working.values()):
                stop.set()
            self._changed.wait_for(lambda: not any(self._working.values()), seconds)

    def _count(
        self,
        writes_until: threading.Event | None,
        function: Callable[..., _Result],
        *arguments: object,
    ) -> _Result:
        work = object()
        with self._changed:
            self._working[work] = writes_until
        try:
            return function(*arguments)
        finally:
            with self._changed:
                del self._working[work]
                self._changed.notify_all()


async def answer(
    context: Context, threads: Threads, tools: Mapping[str, Tool], tool: Tool, call: Call
) -> types.CallToolResult:
    """Have *tool* of *tools* answer, whatever happens to it: an error is an answer, too."""
    stop = call.stop if tool.writes else None
    work = partial(threads.run, _answer, tools, tool, call, writes_until=stop)
    try:
        if "progress_token" in (context.meta or {}):
            return await _with_beat(context, tool.name, call.progress, work)
        return await work()
    finally:
        call.stop.set()


async def _with_beat(
    context: Context, name: str, progress: Progress, work: Callable[[], Awaitable[_Result]]
) -> _Result:
    """Do *work* with a beat. It costs more than a quick answer: not for those who do not listen."""
    async with anyio.create_task_group() as group:
        group.start_soon(_beat, context, name, progress)
        result = await work()
        group.cancel_scope.cancel()
    return result


async def _beat(context: Context, name: str, progress: Progress) -> None:
    """Report progress, in seconds, for as long as the call takes and the host is there."""
    started = anyio.current_time()
    while True:
        await anyio.sleep(BEAT_S)
        seconds = round(anyio.current_time() - started)
        message = ", ".join(filter(None, (f"{name}: {seconds} s", progress.message)))
        try:
            await context.session.report_progress(seconds, message=message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


def _answer(tools: Mapping[str, Tool], tool: Tool, call: Call) -> types.CallToolResult:
    began = time.monotonic()
    said = "answered"
    try:
        return _answered(tool, call)
    except KbError as error:
        said = error.code
        if call.form is Form.TEXT and isinstance(error, InvalidInput):
            error = in_names_of_text(error, tool, call.arguments)
        return failure(_with_takers(error, tools), call.form, call.named)
    except Exception as error:
        said = "failed"
        logger.exception("tool %s failed", tool.name)
        return failure(error, call.form, call.named)
    finally:
        # What was asked is nobody's business: names, times and error codes only.
        logger.info("%s: %s in %.0f ms", tool.name, said, (time.monotonic() - began) * 1000)


def _with_takers(error: KbError, tools: Mapping[str, Tool]) -> KbError:
    """Return the error; of a parameter that only other tools have, it says which ones."""
    problems = error.details.get("problems")
    for problem in problems if isinstance(problems, list) else ():
        name, is_open = problem["field"], "nearest" not in problem
        takers = [one.name for one in tools.values() if one.takes(name)][:_NAMED]
        if is_open and takers and problem["message"].startswith("unknown"):
            error.hint = f"{name!r} is for {', '.join(takers)}; {error.hint}"
    return error


def _answered(tool: Tool, call: Call) -> types.CallToolResult:
    if call.form is Form.TEXT:
        call = as_asked(call)
    if call.max_tokens is not None:
        longer = tokens_of(call.named(_COMMAND)) - tokens_of(_COMMAND)
        call = replace(call, max_tokens=call.max_tokens - _COMMANDS * longer)
    return with_pictures(_worded(tool, call), call.pictures)


_NUMBERS = re.compile(r"[\d,]+")
_OF_THE_STATE = re.compile(
    r"degraded: vector: [\d,]+ of .* passages have a vector\b.*"
    r"|warning: .* a filter by medium reads .*"
)
"""What is the same for all answers while a folder is read for the first time, but for numbers."""


def _without_known(call: Call, text: str) -> str:
    """Return an answer without what its conversation was told of the state already."""
    lines = []
    for line in text.split("\n"):
        if _OF_THE_STATE.fullmatch(line):
            said = said_by("", [_NUMBERS.sub("", line)])
            if all(one in call.given for one in said):
                continue
            call.shown.extend(said)
        lines.append(line)
    return "\n".join(lines)


_SAID = re.compile(r"^(?:degraded|warning): .*", re.MULTILINE)
"""A line that is said of an answer: those of a document begin with their number, or are apart."""
_COMMAND, _COMMANDS = "'kebab embed'", 2
"""What is named in an answer, and how often, about."""


def _worded(tool: Tool, call: Call) -> types.CallToolResult:
    if call.form is Form.JSON:
        return success(call.worded(tool.call(call)), tool.render)
    if tool.tell is None:
        return told(plain(repaired(call.worded(tool.call(call))), call.max_tokens))
    text = _without_known(call, tool.tell(call))
    text = _SAID.sub(lambda line: call.named(line[0]), text)
    if call.shown and (name := call.memory.keep(call.given, call.shown)):
        text = f"{text}\nseen: {name}"
    return told(text)
