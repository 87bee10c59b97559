"""``kebab search``: the best passages for a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kb_cli._asking import hits_option, mode_option, page_options
from kb_cli._command import command as make
from kb_cli._context import CliContext, leave_at_once, pass_cli
from kb_cli._filters import filter_options, filters_of
from kb_core.errors import ConfigInvalid, InvalidInput

if TYPE_CHECKING:
    from kb_core.search import SearchQuery

__all__ = ["command"]

_EXAMPLE = """
kebab search "how are chunks cut" -k 5
kebab search "parse an http date header" --media code --mode hybrid
kebab search --bulk --aggregate < queries.jsonl
"""

_ASKED = ("max_tokens", "cursor", "rerank", "deadline_ms", "trace")


@make("search", example=_EXAMPLE)
@click.argument("words", metavar="QUERY", nargs=-1)
@hits_option("How many hits.")
@mode_option("By words, by meaning, or by both.")
@page_options
@click.option("--rerank/--no-rerank", default=None, help="Read the first hits again, closely.")
@click.option("--deadline-ms", type=click.IntRange(1), help="Answer with what is ready by then.")
@click.option("--trace", is_flag=True, help="Show how the hits were found.")
@click.option("--bulk", is_flag=True, help="Read queries from stdin, one JSON object a line.")
@click.option("--aggregate", is_flag=True, help="With --bulk: one list for all queries.")
@filter_options
@pass_cli
def command(cli: CliContext, /, words: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Find the passages that match a question best.

    Hits come best first, each with a citation that names the lines it stands in. Finding
    nothing is not an error.

    With --bulk, each line has its own options, under the same names; those of the command
    line do not count, but for -k and --max-tokens, which are of the list of --aggregate.
    """
    bulk, aggregate = options.pop("bulk"), options.pop("aggregate")
    if bulk or aggregate:
        _search_bulk(cli, options, bulk=bulk, aggregate=aggregate)
        return
    from kb_cli._hits import show

    query = _query(cli, words, **options)
    with cli.open() as kb:
        response = kb.search(query)
        show(cli, query, response)
        if query.deadline_ms is not None and kb.is_working:
            leave_at_once()


def _search_bulk(cli: CliContext, options: dict[str, Any], *, bulk: bool, aggregate: bool) -> None:
    from kb_cli._bulk import search_bulk

    if not bulk:
        raise InvalidInput(
            "--aggregate makes one list of several queries",
            hint="kebab search --bulk --aggregate < queries.jsonl",
            details={"field": "aggregate"},
        )
    search_bulk(cli, aggregate=aggregate, k=options["k"], max_tokens=options["max_tokens"])


def _query(
    cli: CliContext,
    words: tuple[str, ...],
    *,
    k: int | None,
    mode: str,
    **options: Any,  # noqa: ANN401
) -> SearchQuery:
    from kb_core.media import SearchMode
    from kb_core.search import SearchQuery

    _check_time(options["ingested_after"])
    snippet_chars = options.pop("snippet_chars") or cli.config.search.snippet_chars
    asked = {name: options.pop(name) for name in _ASKED}
    return SearchQuery(
        text=_text(words),
        mode=SearchMode(mode),
        k=k or cli.config.search.default_k,
        filters=filters_of(options),
        snippet_chars=snippet_chars,
        **asked,
    )


def _text(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    example = " ".join(words) or "how are chunks cut"
    raise InvalidInput(
        f"one query is expected, not {len(words)} arguments" if words else "the query is missing",
        hint=f'kebab search "{example}"',
        details={"field": "query"},
    )


def _check_time(text: str | None) -> None:
    """Refuse a bad ``--ingested-after`` with the code that it has always had (ruling R17)."""
    from kb_core.clock import parse_rfc3339

    try:
        parse_rfc3339(text or "1970-01-01")
    except ValueError:
        raise ConfigInvalid(
            f"--ingested-after {text!r} is not a time",
            hint="write 2026-05-31 or 2026-05-31T12:00:00Z",
            details={"field": "ingested_after", "value": text},
        ) from None
