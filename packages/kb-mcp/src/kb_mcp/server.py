"""The MCP server, over standard input and output or over HTTP: ``kebab mcp``.

One process serves one host, or over HTTP several, for hours over one open knowledge base,
which answers from the newest published revision. Every call runs on a thread of its own,
so that a slow one never delays another, or the protocol; a cancelled call is let go at once.

Standard output is the protocol and nothing else. End of input ends the server, and so
does a host that no longer reads; over HTTP, a signal does. A call that writes is told to
stop first, and ends its batch, also where SIGTERM ends the server.

**Invariant:** whatever a tool raises, the host gets a result that its model can read.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from kb_app import KnowledgeBase
from kb_core import __version__, logs
from kb_core.errors import InvalidInput, KbError
from kb_core.values import dataclass
from kb_mcp import _resources
from kb_mcp._calls import Context, Threads, answer
from kb_mcp._following import following
from kb_mcp._frames import Answering
from kb_mcp._guidance import (
    GUIDE,
    PROMPTS,
    READING,
    describe,
    describe_failure,
    describe_folder,
    describe_for_reading,
    get_prompt,
)
from kb_mcp._log import LogAside
from kb_mcp._memory import Memory
from kb_mcp._results import failure
from kb_mcp._roots import Roots
from kb_mcp._tool import Call, Form, Tool, as_listed
from kb_mcp.tools import TOOLS, allowed, offered, refusal, usual

__all__ = ["create_server", "serve"]

logger = logs.logger(__name__)

_HANDSHAKES = frozenset({"initialize", "server/discover"})
_HANDSHAKE_WAIT_S = 3.0
"""A host gives up on a server that does not shake hands soon; better a plain greeting."""

_GRACE_S = 10.0
"""How long the end of the server waits for calls that were let go."""

_NAMED = 80
"""Characters of a name that does not exist, said again."""

_Page = types.PaginatedRequestParams | None


@dataclass(frozen=True, slots=True)
class Answers:
    """What answers look like, and what is known of those given."""

    form: Form
    memory: Memory
    named: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Offering:
    """The tools that answer, by name, and those of them that a host is shown, as it sees them."""

    answering: Mapping[str, Tool]
    listed: list[types.Tool]


def create_server(  # noqa: PLR0913 - the options of a server
    kb: KnowledgeBase,
    tools: Mapping[str, Tool] = TOOLS,
    threads: Threads | None = None,
    *,
    form: Form = Form.JSON,
    offer: Collection[str] = (),
    readonly: bool = False,
    remembers: bool = False,
    roots: Roots | None = None,
    named: Callable[[str], str] = str,
) -> Server[Any]:
    """Return a server over an open knowledge base, connected to nothing yet.

    Its tools answer in *form*; as text, a call may ask for the other. Those of *offer* are
    listed, by default what ``usual`` says; another one answers, too. Those that write are
    refused if it, or the knowledge base, is read-only, or where *roots* of a host may
    answer. One that *remembers* gives no text twice, whoever asks.
    """
    threads, roots = threads or Threads(), roots or Roots(kb, is_wanted=False)
    readonly = readonly or kb.readonly or roots.is_wanted
    listed = offered(tools, offer or usual(form), readonly=readonly)
    offering = Offering(
        {tool.name: tool for tool in offered(tools, ("all",), readonly=readonly)},
        [as_listed(tool, form, may_keep=kb.keeps or roots.is_wanted) for tool in listed],
    )
    server: Server[Any] = Server(
        "kebab",
        version=__version__,
        **_tool_handlers(
            roots, tools, offering, threads, Answers(form, Memory(remembers=remembers), named)
        ),
        **_resource_handlers(roots, threads),
        **_prompt_handlers(),
    )

    async def greet(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method in _HANDSHAKES and isinstance(result, dict):
            result["instructions"] = await _instructions(kb, threads, form, named)
        return result

    if roots.is_wanted:
        method = "notifications/roots/list_changed"
        server.add_notification_handler(method, types.NotificationParams, roots.changed)
    server.middleware.append(greet)
    return server


def _tool_handlers(
    roots: Roots,
    tools: Mapping[str, Tool],
    offering: Offering,
    threads: Threads,
    answers: Answers,
) -> dict[str, Any]:
    form, named = answers.form, answers.named

    async def list_tools(_ctx: Context, _params: _Page) -> types.ListToolsResult:
        return types.ListToolsResult(tools=offering.listed)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            known = ", ".join(offering.answering)
            raise MCPError(
                types.INVALID_PARAMS, f"unknown tool {params.name[:_NAMED]!r}; tools are {known}"
            )
        if tool.name not in offering.answering:
            return failure(refusal(tool, roots.scope), form)
        try:
            kb = await roots.knowledge_base(ctx)
        except KbError as error:
            return failure(error, form, named)
        arguments, memory = params.arguments or {}, answers.memory
        call = Call(kb=kb, arguments=arguments, form=form, memory=memory, named=named)
        return await answer(ctx, threads, offering.answering, tool, call)

    return {"on_list_tools": list_tools, "on_call_tool": call_tool}


def _resource_handlers(roots: Roots, threads: Threads) -> dict[str, Any]:
    async def list_resources(ctx: Context, params: _Page) -> types.ListResourcesResult:
        kb, cursor = await roots.knowledge_base(ctx), params.cursor if params else None
        return await threads.run(_resources.list_page, kb, cursor)

    async def list_templates(_ctx: Context, _params: _Page) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=_resources.TEMPLATES)

    async def read(
        ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await threads.run(_resources.read, await roots.knowledge_base(ctx), params.uri)

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read,
    }


def _prompt_handlers() -> dict[str, Any]:
    async def list_prompts(_ctx: Context, _params: _Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=PROMPTS)

    async def get(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return get_prompt(params.name, params.arguments or {})

    return {"on_list_prompts": list_prompts, "on_get_prompt": get}


async def _instructions(
    kb: KnowledgeBase, threads: Threads, form: Form, named: Callable[[str], str]
) -> str:
    """Describe the knowledge base as it is now, or in general if that takes too long."""
    with anyio.move_on_after(_HANDSHAKE_WAIT_S):
        return await threads.run(_describe, kb, form, named)
    return describe_folder(_guide(form), kb.preferences())


def _guide(form: Form) -> str:
    return READING if form is Form.TEXT else GUIDE


def _describe(kb: KnowledgeBase, form: Form, named: Callable[[str], str]) -> str:
    wishes = None
    try:
        wishes = kb.preferences()
        if form is Form.TEXT:
            return describe_for_reading(kb)
        return describe(kb.stats(), wishes=wishes)
    except KbError as error:
        return named(describe_failure(error, _guide(form), wishes))
    except Exception:
        logger.exception("the knowledge base could not be described")
        return _guide(form)


def serve(  # noqa: PLR0913 - the options of a command
    kb: KnowledgeBase,
    tools: Mapping[str, Tool] | None = None,
    *,
    form: str = Form.JSON.value,
    http: str | None = None,
    allow_writing: bool = False,
    allow_remote: bool = False,
    remember: bool = False,
    watch: bool = False,
    offer: str | None = None,
    named: Callable[[str], str] = str,
) -> None:
    """Serve *kb* until the input ends, or with *http*, a place to listen at, until a signal.

    The arguments by name are those of ``kb_mcp.OPTIONS``, but for *named*: it returns a text with
    its commands as they are for *kb*, such as with ``--config``. Raises ``InvalidInput`` where they
    do not go together or name no tool, and ``IoError`` where the place cannot be listened at.
    """
    tools = allowed(kb.preferences()) if tools is None else tools
    offers = [name.strip() for name in (offer or "").split(",") if name.strip()]
    offers = offers or [*kb.preferences().tools]
    offered(tools, offers, readonly=False)  # before anything is served
    if remember and (http is not None or form != Form.TEXT.value):
        raise InvalidInput(
            "--remember is for a server of text over pipes, which one conversation has alone",
            hint="leave it out: models give the name under seen back themselves",
            details={"field": "--remember"},
        )
    if http is None and (allow_writing or allow_remote):
        name = "--allow-writing" if allow_writing else "--allow-remote"
        raise InvalidInput(f"{name} is for a server with --http", details={"field": name})
    kb.stay()
    server_of = partial(create_server, kb, tools, form=Form(form), offer=offers, named=named)
    with following(kb, is_wanted=watch):
        if http is not None:
            _serve_http(kb, server_of, http, (allow_writing, allow_remote))
        else:
            _serve_pipes(kb, server_of, remembers=remember)


def _serve_pipes(
    kb: KnowledgeBase, server_of: Callable[..., Server[Any]], *, remembers: bool
) -> None:
    # The thread that waits for input cannot be interrupted, so that Python's own handling of
    # Ctrl-C would wait for the next line. Nothing here needs to be put in order: let go.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threads, log = Threads(), LogAside(logging.getLogger())
    signal.signal(signal.SIGTERM, lambda *_: _terminate(threads, log))
    roots = Roots(kb, is_wanted=kb.preferences().follows_roots)
    server = server_of(threads, remembers=remembers, roots=roots)
    try:
        anyio.run(_serve, server, partial(_leave, threads, log))
    except* BrokenPipeError:
        logger.info("the host went away while it was answered")
    roots.leave()
    if not threads.wait(_GRACE_S) or roots.is_working:
        _leave(threads, log)
    roots.close()
    log.close()


def _serve_http(
    kb: KnowledgeBase, server_of: Callable[..., Server[Any]], http: str, allow: tuple[bool, bool]
) -> None:
    from kb_mcp import _http  # uvicorn and starlette: not for a server over pipes

    allow_writing, allow_remote = allow
    place = _http.Place.parse(http)
    if not (place.is_local or allow_remote):
        raise InvalidInput(
            f"--http {http}: other machines could ask there, and nothing is encrypted",
            hint="add --allow-remote if they are to, or put a tunnel or a proxy before 127.0.0.1",
            details={"field": "http", "value": http},
        )
    file, readonly = kb.preferences().token_file, kb.readonly or not allow_writing
    token, is_new = _http.token_of(file, os.environ)
    threads = Threads()

    def tell(url: str) -> None:
        mode = " read-only" if readonly else ""
        where = f"${_http.TOKEN_VARIABLE}" if os.environ.get(_http.TOKEN_VARIABLE) else str(file)
        made = ", made just now" if is_new else ""
        sys.stderr.write(f"serving {url}{mode}; token: {where}{made}\n")
        sys.stderr.flush()

    server = server_of(threads, readonly=readonly)
    _http.run(server, token, place, told=tell, at_end=partial(threads.finish_writing, _GRACE_S))
    kb.leave()
    if not threads.wait(_GRACE_S) or kb.is_working:
        _leave(threads, LogAside(logging.getLogger()))


async def _serve(server: Server[Any], leave: Callable[[], None]) -> None:
    async with stdio_server() as (reader, writer):
        try:
            await server.run(
                Answering(reader, writer), writer, server.create_initialization_options()
            )
        except anyio.get_cancelled_exc_class():
            # Only a host that does not read any more cancels this. It may still hold our
            # input open, and the thread that waits for input would keep the process.
            leave()
            raise


def _terminate(threads: Threads, log: LogAside) -> None:
    """End by SIGTERM as if nobody caught it, but after the batch that is being written."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the second one is at once

    def end() -> None:
        threads.finish_writing(_GRACE_S)
        log.close()
        os.kill(os.getpid(), signal.SIGTERM)

    # Not here: this may have come in the middle of anything, such as a lock being taken.
    threading.Thread(target=end, name="end", daemon=True).start()


def _leave(threads: Threads, log: LogAside) -> None:
    """End the process, whatever its threads wait for."""
    threads.wait(_GRACE_S)
    log.close()
    os._exit(0)
