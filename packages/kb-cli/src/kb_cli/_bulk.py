"""``kebab search --bulk``: queries from standard input, one JSON object a line.

All lines are read before anything is run: a line that is no object, or one line too many,
fails the whole. What is wrong inside an object is the error of that query alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kb_app.shown import PER_DOC, flat
from kb_cli._context import leave_at_once
from kb_cli._errors import show as show_error
from kb_cli._hits import for_people, show, show_aggregated
from kb_cli._stdin import NotJson, parsed
from kb_cli._text import echo, shorten
from kb_core import wire
from kb_core.errors import ConfigInvalid, KbError
from kb_core.search import MAX_QUERIES, SearchQuery

if TYPE_CHECKING:
    from kb_app import KnowledgeBase
    from kb_cli._context import CliContext
    from kb_core.search import AggregatedResponse, Outcome
    from kb_core.wire import Json

__all__ = ["search_bulk"]

_QUERY_COLUMNS = 200
_EXAMPLE = 'write one object a line, such as {"query": "how are chunks cut"}'


def search_bulk(
    cli: CliContext,
    *,
    aggregate: bool,
    k: int | None,
    per_doc: int | None,
    max_tokens: int | None,
) -> None:
    """Answer every query that stands on standard input; a query's failure is not one of all.

    *k* and *per_doc* are of the one list that *aggregate* makes; *max_tokens* is of all answers.
    """
    # pydantic: not on the single search's path
    from kb_app.wire_models import read_queries, sharing

    asked = list(_objects(_lines()))
    if not asked and not (aggregate and cli.as_json):
        _sum_up(cli, [])
        return
    max_tokens = cli.budget(max_tokens, len(asked))
    search = cli.config.search
    queries = read_queries(asked, k=search.default_k, snippet_chars=search.snippet_chars)
    with cli.open() as kb:
        if aggregate:
            wanted = queries if max_tokens else _for_people(cli, queries)
            most = PER_DOC if per_doc is None and not cli.as_json else per_doc
            found = kb.search_aggregated(
                wanted, k=k, per_doc=most, max_tokens=max_tokens, asked=asked
            )
            _show_aggregated(cli, kb, asked, found)
            outcomes = list(found.outcomes)
        else:
            wanted = sharing(queries, max_tokens) if max_tokens else _for_people(cli, queries)
            with closing(kb.search_many(wanted)) as found_each:
                outcomes = list(_show_each(cli, kb, asked, queries, found_each))
        _sum_up(cli, outcomes)
        if any(isinstance(one, SearchQuery) and one.deadline_ms for one in queries):
            _leave(kb)


def _for_people(
    cli: CliContext, queries: Sequence[SearchQuery | KbError]
) -> list[SearchQuery | KbError]:
    return [for_people(cli, one) if isinstance(one, SearchQuery) else one for one in queries]


def _leave(kb: KnowledgeBase) -> None:
    if kb.is_working:
        leave_at_once()


def _show_each(
    cli: CliContext,
    kb: KnowledgeBase,
    asked: list[Json],
    queries: list[Any],
    outcomes: Iterable[Outcome],
) -> Iterator[Outcome]:
    """Print what becomes of each query as soon as it is there, and yield it."""
    shown = 0
    for number, outcome in enumerate(outcomes, start=1):
        if cli.as_json:
            cli.print_json(wire.bulk_search_item(asked[number - 1], outcome))
        else:
            _head(cli, number, asked[number - 1])
            shown += _show_one(cli, kb, queries[number - 1], outcome, is_first=not shown)
        yield outcome


def _show_one(
    cli: CliContext, kb: KnowledgeBase, query: SearchQuery, outcome: Outcome, *, is_first: bool
) -> bool:
    """Print one query's answer, or its error; say whether it was an answer."""
    if isinstance(outcome, KbError):
        show_error(outcome, cli)
        return False
    if not is_first:
        echo()
    show(cli, kb, query, outcome)
    return True


def _show_aggregated(
    cli: CliContext, kb: KnowledgeBase, asked: list[Json], found: AggregatedResponse
) -> None:
    if cli.as_json:
        cli.print_json(wire.aggregated_search_response(asked, found))
        return
    for number, (query, outcome) in enumerate(zip(asked, found.outcomes, strict=True), start=1):
        _head(cli, number, query)
        if isinstance(outcome, KbError):
            show_error(outcome, cli)
        else:
            cli.note(*(f"degraded: {reason}" for reason in outcome.degraded))
            cli.warn(*outcome.warnings)
    show_aggregated(cli, kb, (str(query.get("query", "")) for query in asked), found)


def _head(cli: CliContext, number: int, asked: Json) -> None:
    query = flat(str(asked.get("query", ""))[: _QUERY_COLUMNS + 1])  # refused, it may be endless
    cli.note(f"# Query {number}: {shorten(query, _QUERY_COLUMNS)}")


def _sum_up(cli: CliContext, outcomes: list[Outcome]) -> None:
    summary = wire.bulk_search_summary(outcomes)
    if cli.as_json:
        echo(wire.dumps(summary), err=True)
    else:
        cli.note("# {total} queries: {succeeded} succeeded, {failed} failed".format(**summary))


def _lines() -> Iterable[bytes]:
    # Without a standard input there is nothing on it.
    return () if sys.stdin is None else sys.stdin.buffer


def _objects(lines: Iterable[bytes]) -> Iterator[Json]:
    """Yield what the lines say; ``ConfigInvalid`` for the first that says nothing."""
    found = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip(b"\xef\xbb\xbf \t\r\n"):
            continue
        found += 1
        if found > MAX_QUERIES:
            raise ConfigInvalid(
                f"queries: max {MAX_QUERIES} items",
                hint="ask in several calls",
                details={"field": "queries", "max": MAX_QUERIES},
            )
        yield _object(number, line)


def _object(number: int, line: bytes) -> Json:
    try:
        value = parsed(line)
    except NotJson as error:
        raise _bad(number, str(error)) from None
    if not isinstance(value, dict):
        raise _bad(number, "is not a JSON object")
    return value


def _bad(number: int, why: str) -> ConfigInvalid:
    return ConfigInvalid(
        f"line {number} of the bulk input {why}",
        hint=_EXAMPLE,
        details={"field": "stdin", "line": number},
    )
