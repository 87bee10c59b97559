"""``kebab explain-miss``: why a document is not among the hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import printable
from kb_cli._asking import hits_option, mode_option
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._filters import filter_options, filters_of
from kb_cli._text import pairs

__all__ = ["command"]

_EXAMPLE = """
kebab explain-miss --doc notes/storage.md "write-ahead log"
kebab explain-miss --doc 5669ef1867462f24 "write-ahead log" --media code
"""


@make("explain-miss", example=_EXAMPLE)
@click.argument("query", metavar="QUERY")
@click.option("--doc", required=True, metavar="PATH_OR_ID", help="The document that is missed.")
@hits_option("How many hits the search asked for.")
@mode_option("The mode of the search.")
@click.option("--max-tokens", type=click.IntRange(1), help="The budget of the search.")
@filter_options
@pass_cli
def command(cli: CliContext, /, query: str, doc: str, **options: Any) -> None:  # noqa: ANN401
    """Say why a document is not among the hits of a query.

    Looks at everything in the order in which a search can lose a document: the ledger,
    the filters, words and embeddings, the candidates, the number of hits, the budget.
    """
    from kb_core.media import SearchMode
    from kb_core.search import SearchQuery

    asked = SearchQuery(
        text=query,
        mode=SearchMode(options.pop("mode")),
        k=options.pop("k") or cli.config.search.default_k,
        max_tokens=options.pop("max_tokens"),
        filters=filters_of(options),
    )
    with cli.open() as kb:
        found = kb.explain_miss(doc, asked)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{printable(found['doc_path'])}: {printable(found['summary'])}"
    if "chunks" not in found:
        return
    chunks, words = found["chunks"], found["words"]
    nearest, suggestion = found["nearest"], found["suggestion"]
    yield from pairs(
        [
            ("verdict", found["verdict"]),
            ("chunks", f"{chunks['total']} ({chunks['embedded']} embedded)"),
            *(("filter", _filter(each)) for each in found["filters"]),
            ("words in it", " ".join(map(printable, words["found"])) or "none"),
            ("words not in it", " ".join(map(printable, words["missing"])) or None),
            ("by words", _standing(found["lexical"])),
            ("by meaning", _standing(found["vector"])),
            ("together", _standing(found["fused"])),
            ("nearest", printable(nearest["citation"]["uri"]) if nearest else None),
            ("try", _suggestion(suggestion)),
        ]
    )


def _filter(each: Mapping[str, Any]) -> str:
    value = each["value"]
    shown = printable(value if isinstance(value, str) else ", ".join(value))
    name = "" if each["name"] == "query" else f"{each['name']} "
    return f"{name}{shown}: {'passes' if each['passes'] else 'keeps it out'}"


def _standing(standing: Mapping[str, Any] | None) -> str:
    return f"rank {standing['rank']:,}, score {standing['score']:.4f}" if standing else "not found"


def _suggestion(suggestion: Mapping[str, Any] | None) -> str | None:
    if suggestion is None:
        return None
    return f"kebab search {printable(suggestion['query'])!r} (rank {suggestion['rank']})"
