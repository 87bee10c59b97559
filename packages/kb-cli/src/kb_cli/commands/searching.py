"""``kebab search`` and its kin: for a person, for a model, by a passage, and why one is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kb_app.shown import printable
from kb_cli._context import CliContext, Shown, leave_at_once
from kb_cli._declared import Whole, argument, command, completed_by, option
from kb_cli._options import (
    filter_options,
    filters_of,
    hits_option,
    in_option,
    mode_option,
    only_text,
    page_options,
    per_doc_option,
)
from kb_cli._text import pairs
from kb_core.errors import ConfigInvalid, InvalidInput

if TYPE_CHECKING:
    from kb_core.search import SearchQuery

__all__ = ["codebase_search", "explain_miss", "search", "similar"]

_SEARCH = """
kebab search "how are chunks cut" -k 5
kebab search "parse an http date header" --media code --mode hybrid
kebab search "where is the lock taken" --in ~/src/some-clone
kebab search --bulk --aggregate < queries.jsonl
"""

_ASKED = ("per_doc", "max_tokens", "cursor", "rerank", "deadline_ms", "trace")


@command("search", example=_SEARCH)
@argument("words", metavar="QUERY", nargs=-1)
@hits_option("How many hits.")
@per_doc_option
@mode_option("By words, by meaning, or by both.")
@page_options
@option("--rerank/--no-rerank", default=None, help="Read the first hits again, closely.")
@option("--deadline-ms", metavar="N", type=Whole(1), help="Answer with what is ready by then.")
@option("--trace", is_flag=True, help="Show how the hits were found.")
@option("--bulk", is_flag=True, help="Read queries from stdin, one JSON object a line.")
@option("--aggregate", is_flag=True, help="With --bulk: one list for all queries.")
@filter_options
@in_option
def search(cli: CliContext, /, words: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Find the passages that match a question best.

    Hits come best first, each with a citation that names the lines it stands in. Finding
    nothing is not an error.

    --in asks a folder that is no source, without any setup: what the question asks for is
    indexed at first, into a cache, and the rest as other questions come. What has changed is
    read again, and nothing is written into the folder.

    With --bulk, each line has its own options, under the same names; those of the command
    line do not count, but for -k, --per-doc and --max-tokens, which are of the list of
    --aggregate.
    """
    bulk, aggregate = options.pop("bulk"), options.pop("aggregate")
    if bulk or aggregate:
        _search_bulk(cli, options, bulk=bulk, aggregate=aggregate)
        return
    query = _query(cli, words, **options)
    with cli.open() as kb:
        kb.expect(query)
        from kb_cli._hits import answered, show  # while the model opens

        response = answered(cli, query, kb.search)
        show(cli, kb, query, response)
        kb.keep_search(cli.terminal(), query, response.hits)
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
    shape = {name: options[name] for name in ("k", "per_doc", "max_tokens")}
    search_bulk(cli, aggregate=aggregate, **shape)


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
        text=only_text(words, "query", "search"),
        mode=SearchMode(mode),
        k=k or cli.config.search.default_k,
        filters=filters_of(options),
        snippet_chars=snippet_chars,
        **asked,
    )


def _check_time(text: str | None) -> None:
    """Refuse a bad ``--ingested-after`` with the code that it has always had (ruling R17)."""
    from kb_core.clock import parse_rfc3339

    try:
        parse_rfc3339("1970-01-01" if text is None else text)
    except ValueError:
        raise ConfigInvalid(
            f"--ingested-after {text!r} is not a time",
            hint="write 2026-05-31 or 2026-05-31T12:00:00Z",
            details={"field": "ingested_after", "value": text},
        ) from None


_CODEBASE = """
kebab codebase-search "error handling" "exception handling" --path src
echo '{"queries": ["error handling", "try catch"], "maxResults": 5}' | kebab codebase-search
"""


@command("codebase-search", example=_CODEBASE)
@argument("queries", metavar="[QUERY]...", nargs=-1)
@option("--path", metavar="DIR", help="Only below this folder of its source.")
@option("--max-results", metavar="N", type=Whole(1, 100), help="How many results in all.")
@option(
    "--include",
    metavar="A,B",
    help="Only code, docs, tests or config; else all, with code before the rest.",
)
@option("--group", is_flag=True, default=None, help="Answer each QUERY apart.")
@in_option
def codebase_search(
    cli: CliContext,
    /,
    queries: tuple[str, ...],
    **options: Any,  # noqa: ANN401 - members of the request, under click's names
) -> None:
    """Search code for a language model, in one call.

    Each QUERY is searched for; what several of them find stands higher. Without any, the
    request is read from standard input, as one JSON object with query or queries; options
    then fill in what it leaves out.
    """
    request = {"path": options.pop("path"), "maxResults": options.pop("max_results")}
    request |= {name: value for name, value in options.items() if value is not None}
    if queries:
        request["queries"] = list(queries)
    else:
        given = _request()
        request |= {name: value for name, value in given.items() if value is not None}
    with cli.open() as kb:
        cli.show(kb.codebase_search(request), _codebase_lines)


def _codebase_lines(found: Shown) -> list[str]:
    from kb_core import wire

    return [printable(wire.codebase_search_text(found), keep="\n\t")]


def _request() -> dict[str, Any]:
    """Return the object on standard input; without one, nothing is asked."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    from kb_cli._stdin import NotJson, binary, parsed

    data = binary()
    if not data.strip():
        return {}
    try:
        given = parsed(data)
    except NotJson as error:
        raise _bad(str(error)) from None
    if not isinstance(given, dict):
        raise _bad("is not a JSON object")
    return given


def _bad(why: str) -> InvalidInput:
    return InvalidInput(
        f"the request on standard input {why}",
        hint='write {"query": "authentication validation", "path": "src/auth"}',
        details={"field": "stdin"},
    )


_SIMILAR = """
kebab similar notes/storage.md -k 5
kebab similar 5669ef1867462f24 --media code
"""


@command("similar", example=_SIMILAR)
@argument("origin", metavar="CHUNK_OR_DOC", shell_complete=completed_by("document"))
@hits_option("How many hits.")
@per_doc_option
@page_options
@filter_options
@in_option
def similar(cli: CliContext, /, origin: str, **options: Any) -> None:  # noqa: ANN401
    """Find passages of other documents that are like one.

    Give an id, the beginning of one, or the path of a document. By meaning where there
    are embeddings, else by the words that are special to it.
    """
    from kb_cli._hits import answered, show
    from kb_core.search import SearchQuery

    query = SearchQuery(
        text=origin or " ",
        k=options.pop("k") or cli.config.search.default_k,
        snippet_chars=options.pop("snippet_chars") or cli.config.search.snippet_chars,
        per_doc=options.pop("per_doc"),
        max_tokens=options.pop("max_tokens"),
        cursor=options.pop("cursor"),
        filters=filters_of(options),
    )
    with cli.open() as kb:
        found = answered(cli, query, lambda asked: kb.similar(origin, asked))
        show(cli, kb, query, found, about="")


_MISS = """
kebab explain-miss --doc notes/storage.md "write-ahead log"
kebab explain-miss --doc 5669ef1867462f24 "write-ahead log" --media code
"""


@command("explain-miss", example=_MISS)
@argument("query", metavar="QUERY")
@option(
    "--doc",
    required=True,
    metavar="PATH_OR_ID",
    help="The document that is missed.",
    shell_complete=completed_by("document"),
)
@hits_option("How many hits the search asked for.")
@mode_option("The mode of the search.")
@option("--max-tokens", metavar="N", type=Whole(1), help="The budget of the search.")
@filter_options
@in_option
def explain_miss(cli: CliContext, /, query: str, doc: str, **options: Any) -> None:  # noqa: ANN401
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
        cli.show(kb.explain_miss(doc, asked), lambda found: _miss_lines(found, cli))


def _miss_lines(found: Shown, cli: CliContext) -> Iterator[str]:
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
            ("nearest", _nearest(nearest["citation"]) if nearest else None),
            ("try", _again(suggestion, found, cli) if suggestion else None),
        ]
    )


def _nearest(citation: Shown) -> str:
    from kb_cli._hits import place_of
    from kb_core.wire import read_citation

    path, where, _ = place_of(read_citation(citation))
    return path + where


def _filter(each: Shown) -> str:
    value = each["value"]
    shown = printable(value if isinstance(value, str) else ", ".join(value))
    name = "" if each["name"] == "query" else f"{each['name']} "
    return f"{name}{shown}: {'passes' if each['passes'] else 'keeps it out'}"


def _standing(standing: Shown | None) -> str:
    return f"rank {standing['rank']:,}, score {standing['score']:.4f}" if standing else "not found"


def _again(suggestion: Shown, found: Shown, cli: CliContext) -> str:
    """Return the command that asks what is suggested, as it was asked here, and its rank."""
    from shlex import quote

    words = ["kebab search", quote(printable(suggestion["query"]))]
    words += [] if found["mode"] == "hybrid" else ["--mode", found["mode"]]
    is_shown = suggestion["rank"] <= cli.config.search.default_k
    words += [] if is_shown else ["-k", str(found["k"])]
    words += [] if cli.folder is None else [cli.folder_option, quote(cli.folder)]
    return f"{cli.named(' '.join(words))} (rank {suggestion['rank']})"
