"""What a tool is: how a host sees it and what it takes, and what it asks of the facade.

A tool's input is a pydantic model; its JSON Schema is what the host shows and its
validation (``kb_app.wire_models.read``) is what the server does, so the two cannot differ.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import mcp_types as types
from pydantic import Field, WithJsonSchema

from kb_app import KnowledgeBase
from kb_app.drawing import Picture
from kb_app.wire_models import Input, MaybeWhole, Text, choice, invalid, read
from kb_core import schemas, wire
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS
from kb_core.search import MAX_QUERIES, MIN_SNIPPET_CHARS, SearchQuery
from kb_core.values import dataclass, field, replace
from kb_mcp._memory import Given, Memory
from kb_mcp.text import SEEN

__all__ = [
    "ADDS",
    "READ_ONLY",
    "REPLACES",
    "SEVERAL",
    "TEXTS",
    "Answer",
    "Arguments",
    "Call",
    "Form",
    "NoInput",
    "Progress",
    "Tool",
    "as_asked",
    "as_listed",
    "at_least",
    "each_of",
    "in_names_of_text",
    "in_passages",
    "input_schema",
    "outline",
    "output_schema",
    "schema_of",
]

Arguments: TypeAlias = Mapping[str, Any]
"""What a model sent, not checked yet."""

Answer: TypeAlias = Mapping[str, Any]
"""A wire object."""

READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

REPLACES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""It writes, in place of what was there under the same name; twice is once."""

ADDS = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
"""It writes, perhaps in place of what was there, perhaps beside it: twice may be two."""

_KEEPS = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)

_SAID_AGAIN = 80
_CLOSE = 0.8
"""How like a name of text a name has to be that is meant for it, and for none of the input."""
LEAST_TOKENS = 100
"""No answer as text is asked to be shorter: a line that says what there is has to fit."""

_PROSE = frozenset({"title", "description"})
_BOUNDS = frozenset({"pattern", "format", "minimum", "maximum", "minItems", "maxItems"})
_NAMED = frozenset({"properties", "$defs"})


class Form(StrEnum):
    """What an answer is: wire objects, or text for a model to read."""

    JSON = "json"
    TEXT = "text"


@dataclass(slots=True)
class Progress:
    """How far a call is: the tool writes it, the protocol reads it."""

    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool.

    ``stop`` is set when the host cancels the call or goes away, or the server is to end; a
    tool that takes long looks at it, the others are let go.
    """

    kb: KnowledgeBase
    arguments: Arguments
    form: Form = Form.JSON
    max_tokens: int | None = None
    """As text: what the answer may cost, where that was asked for."""
    memory: Memory = field(default_factory=Memory)
    given: Given = field(default_factory=Given)
    """As text: what this conversation was given already, by ``text.said_by``."""
    shown: list[int] = field(default_factory=list)
    """As text: what it is given now; the tool adds to it, the server remembers it."""
    pictures: list[Picture] = field(default_factory=list)
    """What stands beside the answer; the tool adds to it."""
    stop: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    named: Callable[[str], str] = str
    """Names in what is said the commands as they are for this knowledge base: see ``serve``."""

    def worded(self, answer: Answer) -> Answer:
        """Return *answer* with the commands that it names as ``named`` has them."""
        return wire.reworded(answer, self.named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the server.

    ``call`` blocks, may run on any thread, returns a wire object of the definition's
    output schema, and raises ``KbError`` for whatever a model or a person can repair.
    ``render`` makes its text, where that is not the object's JSON.

    ``tell`` answers the same call as text for a model to read, within ``call.max_tokens``;
    without it, what ``call`` returns is told as it is. ``brief`` is what a model is told of
    the tool then, and ``shown`` what of the input, each with as much as has to be said of it;
    the rest may be given all the same. ``also`` is what only text takes, and none of the input
    is required beside it. ``seldom`` says that text offers the tool only where it is named.

    What ``keeps`` something of a call does so where it may: read-only it answers as well, and
    keeps nothing.
    """

    definition: types.Tool
    call: Callable[[Call], Answer]
    render: Callable[[Answer], str] | None = None
    tell: Callable[[Call], str] | None = None
    brief: str | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)
    seldom: bool = False
    keeps: bool = False

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self.definition.name

    @property
    def writes(self) -> bool:
        """Whether it changes the knowledge base; such a tool is not offered read-only."""
        hints = self.definition.annotations
        return hints is None or not hints.read_only_hint

    def takes(self, parameter: str) -> bool:
        """Say whether it has a parameter of that name."""
        return parameter in self.definition.input_schema["properties"] or parameter in self.also


class _Common(Input):
    """What every tool takes where the server answers with text."""

    format: Annotated[Form, choice(Form)] = Form.TEXT
    max_tokens: MaybeWhole = Field(default=None, ge=LEAST_TOKENS)
    seen: Text = None


_COMMON = {"seen": {"type": "string"}, "max_tokens": {"type": "integer"}}
"""What text takes, by name, where a tool shows it."""
_FILTERS = frozenset(row.name for row in FILTERS)


def as_listed(tool: Tool, form: Form, *, may_keep: bool) -> types.Tool:
    """Return the definition of a tool as a server shows it that answers in *form*.

    A tool that keeps something of its calls is no reading one where what answers *may keep* it.
    """
    shown = _in_text(tool) if form is Form.TEXT else tool.definition
    keeps = tool.keeps and may_keep
    return shown.model_copy(update={"annotations": _KEEPS}) if keeps else shown


def _in_text(tool: Tool) -> types.Tool:
    """Return the definition of a tool as a server shows it that answers with text.

    A model pays for the list of tools before it asks anything. So there are no output schemas,
    which hosts would hold the text against; no bounds, which an error names; no title; of the
    input what is mostly given, by name and type; and an input is open, so that a host lets
    through what it is not shown.
    """
    own = tool.definition.input_schema
    known = {**_COMMON, **{name: _plain(name, one) for name, one in own["properties"].items()}}
    shown: dict[str, Any] = {**tool.also}
    for name, said in tool.shown.items():
        shown[name] = {**known[name], "description": said} if said else known[name]
    schema: dict[str, Any] = {"type": "object", "properties": shown}
    if not tool.also and (required := own.get("required")):
        schema["required"] = required
    hints = tool.definition.annotations
    if not tool.writes:
        hints = types.ToolAnnotations(read_only_hint=True)
    return types.Tool(
        name=tool.name, description=tool.brief, input_schema=schema, annotations=hints
    )


def _plain(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field by its type alone; a filter as one value, since commas part several."""
    if name in _FILTERS:
        return {"type": "string"}
    return {key: schema[key] for key in ("type", "enum", "items") if key in schema}


def as_asked(call: Call) -> Call:
    """Return the call in the form that its arguments ask for, without what asks for that."""
    given = {name: call.arguments[name] for name in _Common.model_fields if name in call.arguments}
    common = read(_Common, {name: given.get(name) for name in ("format",)})
    own = {name: value for name, value in call.arguments.items() if name != "format"}
    if common.format is Form.JSON:
        return replace(call, form=Form.JSON, arguments=own)
    common = read(_Common, given)
    own = {name: value for name, value in own.items() if name not in _Common.model_fields}
    if isinstance(cursor := own.get("cursor"), str):
        own["cursor"] = call.memory.cursor(cursor)
    known = call.memory.given(common.seen)
    if known is None:
        raise InvalidInput(
            f"seen {str(common.seen)[:_SAID_AGAIN]!r} is no name that this server gave, or too old",
            hint="leave it out: then nothing is left out",
            details={"field": "seen", "value": common.seen},
        )
    most = None if common.max_tokens is None else common.max_tokens - SEEN
    return replace(call, arguments=own, max_tokens=most, given=known)


def in_names_of_text(error: InvalidInput, tool: Tool, arguments: Arguments) -> InvalidInput:
    """Return what is wrong with *arguments*, by the names that text takes beside the input's own.

    ``queries`` stands for ``query`` where it is what a model is shown.
    """
    problems = error.details.get("problems")
    if not isinstance(problems, list) or arguments.get("format") == Form.JSON:
        return error
    beside = (*tool.also, *_Common.model_fields)
    names = dict.fromkeys((*beside, *tool.definition.input_schema["properties"]))
    instead = {"query": "queries"} if "queries" in tool.also and "queries" not in arguments else {}

    def named(problem: Mapping[str, str]) -> Mapping[str, str]:
        field = problem["field"]
        if field not in arguments and field in instead:
            meant = instead[field]
            return {"field": meant, "message": problem["message"].replace(field, meant)}
        nearest = problem.get("nearest", "")
        if field in arguments and field not in names:
            close = get_close_matches(field, beside, n=1, cutoff=_CLOSE)
            nearest = close[0] if close else instead.get(nearest, nearest)
        return {**problem, "nearest": nearest} if nearest else problem

    return invalid([named(problem) for problem in problems], names)


def each_of(arguments: Arguments) -> list[dict[str, Any]]:
    """Return arguments with ``queries`` as those of one question each, which share the others.

    ``InvalidInput`` where these are none, or too many.
    """
    shared = {name: value for name, value in arguments.items() if name not in {"query", "queries"}}
    given = arguments["queries"]
    queries = [*given] if isinstance(given, list) else [given]
    if "query" in arguments:
        queries.insert(0, arguments["query"])
    if not 0 < len(queries) <= MAX_QUERIES:
        raise InvalidInput(
            f"queries holds {len(queries)} questions, and takes 1 to {MAX_QUERIES}",
            details={"field": "queries"},
        )
    return [{**shared, **(one if isinstance(one, dict) else {"query": one})} for one in queries]


def in_passages(query: SearchQuery) -> SearchQuery:
    """Return a query as text asks it: whole passages, of which the text takes what fits.

    ``InvalidInput`` for what only objects show.
    """
    if query.trace:
        raise InvalidInput(
            "trace is not shown as text",
            hint='give format: "json", too',
            details={"field": "trace", "value": True},
        )
    return replace(query, passages=True, max_tokens=None, snippet_chars=MIN_SNIPPET_CHARS)


def outline(name: str, *, only: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of one wire object as hosts take it, without what is in its fields.

    With *only*, of these fields: where another tool has shown the others.

    For the tools that are called less: with all of them in full, the list of tools would
    cost a model twice as much as it does. It admits whatever the published schema admits.
    """
    fields = schemas.load(name)["properties"]
    shown = {name: _face(one) for name, one in fields.items() if not only or name in only}
    return {"type": "object", "required": ["schema_version"], "properties": shown}


def output_schema(name: str, *, brief: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of one wire object as hosts take it.

    A host reads the schemas of all tools before the first call, and models pay for them
    by the token. So it is self-contained, and without conditions, bounds and prose, which
    are in ``docs/wire-schema``; of what *brief* names, properties and definitions, only the
    type is shown. It admits whatever the published schema admits.
    """
    schema: dict[str, Any] = _terse(schemas.bundle(name, portable=True), frozenset(brief))
    definitions = schema.pop("$defs", {})
    kept = _reachable(schema, definitions)
    return {**schema, "$defs": kept} if kept else schema


def _terse(node: Any, brief: frozenset[str]) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(node, list):
        return [_terse(item, brief) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {}
    for key, value in node.items():
        if key in _BOUNDS or (key in _PROSE and isinstance(value, str)):
            continue
        if key in _NAMED and isinstance(value, dict):
            copy[key] = {
                inner: _face(schema) if inner in brief else _terse(schema, brief)
                for inner, schema in value.items()
            }
        else:
            copy[key] = _terse(value, brief)
    return _without_repetition(copy)


def _face(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a value is, without what is in it."""
    for key in ("const", "enum", "type"):
        if key in schema:
            return {key: schema[key]}
    return {"type": "object"} if schema.get("$ref", "").endswith(".json") else {}


def _without_repetition(node: dict[str, Any]) -> dict[str, Any]:
    """Leave out the properties that are like all others of a map: they say nothing."""
    others = node.get("additionalProperties")
    if not isinstance(others, dict) or not isinstance(node.get("properties"), dict):
        return node
    own = {name: inner for name, inner in node["properties"].items() if inner != others}
    rest = {key: value for key, value in node.items() if key != "properties"}
    return {**rest, "properties": own} if own else rest


def _reachable(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return the definitions that *schema* still refers to, in alphabetical order."""
    found: dict[str, Any] = {}
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            target = str(node.get("$ref", "")).removeprefix("#/$defs/")
            if target in definitions and target not in found:
                found[target] = definitions[target]
                pending.append(definitions[target])
            pending += node.values()
        elif isinstance(node, list):
            pending += node
    return dict(sorted(found.items()))


class NoInput(Input):
    """The input of a tool that needs none."""


SEVERAL: Mapping[str, Any] = {"queries": {"type": "array", "items": {"type": "string"}}}
"""What text shows for questions that are answered apart, or for one; ``query`` is taken, too."""

TEXTS = WithJsonSchema({"type": "array", "items": {"type": "string"}})
"""Shows one text or several as a list."""


def at_least(low: int) -> WithJsonSchema:
    """Show the lower bound of a whole number."""
    return WithJsonSchema({"type": "integer", "minimum": low})


def input_schema(
    model: type[Input], *, notes: Mapping[str, str] | None = None, brief: bool = False
) -> dict[str, Any]:
    """Return the JSON Schema of an input, without what says nothing to a model.

    *notes* are added to descriptions. With *brief*, fields that the model inherits have
    none, since another tool has explained them, and one value or a list is shown as a list.
    """
    made = model.model_json_schema()
    properties = {name: _shown_field(made["properties"][name]) for name in _names(model)}
    if brief:
        for name in properties.keys() - model.__annotations__.keys():
            properties[name] = _brief(properties[name])
    for name, note in (notes or {}).items():
        properties[name]["description"] += f" {note}"
    return schema_of(properties, required=made.get("required", ()))


def schema_of(properties: Mapping[str, Any], *, required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that is closed to other names."""
    needed = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "properties": dict(properties),
        **needed,
        "additionalProperties": False,
    }


def _shown_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field without titles, empty defaults, and the null that means left out."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        field = {**{key: value for key, value in field.items() if key != "anyOf"}, **kinds[0]}
    return {
        key: value
        for key, value in field.items()
        if key != "title" and not (key == "default" and value in (None, [], ()))
    }


def _brief(field: Mapping[str, Any]) -> dict[str, Any]:
    *_, widest = field.get("anyOf", (field,))
    return {key: value for key, value in widest.items() if key != "description"}


def _names(model: type[Input]) -> list[str]:
    """Return the parameters: what a tool has of its own, then what it shares with others."""
    return sorted(model.model_fields, key=lambda name: name not in model.__annotations__)
