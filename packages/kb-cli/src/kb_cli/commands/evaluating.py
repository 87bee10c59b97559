"""``kebab eval``: golden questions, runs over them, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from kb_app.shown import count, flat, printable
from kb_cli._command import command, completed_by, subgroup
from kb_cli._context import CliContext, pass_cli
from kb_cli._options import filter_options, filters_of, mode_option, only_text
from kb_cli._text import table
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_core.evals import EvalEvent
    from kb_core.search import Hit
    from kb_core.wire import types

__all__ = ["eval_"]

_UNHEALTHY = 3
_SHOWN_BY_ADD = 10
_LONGEST = 60
_CELLS = 10
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_NAMED = 5
_ALMOST_ONE = 0.9995

_EVAL = """
kebab eval add "who takes the writer lock"
kebab eval check
kebab eval run --mode hybrid --mode lexical
kebab eval compare last~1 last
"""


@subgroup("eval", example=_EVAL)
def eval_() -> None:
    """Measure how well this knowledge base answers.

    Golden questions say what a good answer has to find. They stand in a file of your own,
    golden.yaml beside the configuration unless --cases names another.
    """


def _cases_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--cases",
        metavar="FILE",
        shell_complete=completed_by("file"),
        help="The golden questions, YAML or JSON lines.  [default: golden.yaml]",
    )(function)


_ADD = """
kebab eval add "who takes the writer lock" --hit 1
kebab eval add "wer hält die Sperre" --hit 1 --group lock
kebab eval add "what is the price of tea" --nothing
"""


@command("add", example=_ADD)
@click.argument("words", metavar="QUERY", nargs=-1)
@click.option(
    "--hit",
    "ranks",
    metavar="N",
    type=click.IntRange(1, 100),
    multiple=True,
    help="A hit that answers. (May be repeated.)",
)
@click.option("--nothing", is_flag=True, help="Nothing here answers it: the answer is a refusal.")
@click.option("--id", metavar="ID", help="Its name, instead of one made of the query.")
@click.option("--group", metavar="NAME", help="It asks for the same as others of that group.")
@click.option("--label", "tags", metavar="T", multiple=True, help="A tag of it. (May be repeated.)")
@click.option(
    "--must-contain",
    metavar="TEXT",
    multiple=True,
    help="An answer has to say this. (May be repeated.)",
)
@mode_option("How its hits are found.")
@_cases_option
@filter_options
@pass_cli
def add(
    cli: CliContext,
    /,
    words: tuple[str, ...],
    **options: Any,  # noqa: ANN401
) -> None:
    """Add a golden question: a query, and the hits that answer it.

    Without --hit, the hits are shown, and at a terminal you are asked which of them answer.
    Each is kept by its place, its hash and its first words, so that it is found again when
    the file is edited. The case is written at the end of the file.
    """
    from kb_core.media import SearchMode
    from kb_core.search import SearchQuery

    cli.writes("eval add")
    ranks, nothing = options.pop("ranks"), options.pop("nothing")
    kept = {name: options.pop(name) for name in ("id", "group", "tags", "must_contain", "cases")}
    query = SearchQuery(
        text=only_text(words, "query", "eval add"),
        mode=SearchMode(options.pop("mode")),
        k=max((_SHOWN_BY_ADD, *ranks)),
        filters=filters_of(options),
    )
    with cli.open() as kb:
        hits = () if nothing else kb.search(query).hits
        chosen = () if nothing else _chosen(cli, hits, ranks)
        case = kb.add_case(query, chosen, **kept)
    from kb_core import wire

    if cli.as_json:
        cli.print_json(wire.eval_case(case))
    else:
        what = count(len(chosen), "place") if chosen else "nothing: a refusal is right"
        click.echo(f"added {printable(case.id)}, which expects {what}")


def _chosen(cli: CliContext, hits: tuple[Hit, ...], ranks: tuple[int, ...]) -> list[Hit]:
    """Return the hits of these ranks; where none is named, a person is asked."""
    if not ranks:
        for hit in hits:
            place = printable(hit.citation.uri)
            click.echo(
                f"{hit.rank:>2}. {place}  {printable(flat(hit.snippet))[:_LONGEST]}", err=True
            )
        if hits and cli.can_ask():
            told = click.prompt("which answer it, such as 1 or 1,3", err=True)
            ranks = tuple(int(word) for word in told.split(",") if word.strip().isdecimal())
    chosen = [hit for hit in hits if hit.rank in ranks]
    if not chosen or len(chosen) < len(set(ranks)):
        raise InvalidInput(
            f"there are {count(len(hits), 'hit')}, and none of them was chosen"
            if not ranks
            else f"there is no hit {', '.join(map(str, ranks))}",
            hint="--hit 1 for what answers, --nothing if nothing here does",
            details={"field": "hit", "value": list(ranks)},
        )
    return chosen


@command("check", example="kebab eval check\nkebab eval check --cases docs/golden.yaml")
@_cases_option
@click.pass_context
@pass_cli
def check(cli: CliContext, ctx: click.Context, /, cases: str | None) -> None:
    """Say whether golden questions still stand in what is indexed.

    What was moved or edited is found again and still counts. What is gone is told, and the
    exit code is 3.
    """
    with cli.open() as kb:
        found = kb.check_cases(cases)
    cli.show(found, lambda _: _checked(found))
    if found["counts"].get("gone"):
        ctx.exit(_UNHEALTHY)


def _checked(found: types.EvalCheck) -> Iterator[str]:
    rows = [
        (row["status"], row["case"], row["expected"], row.get("now") or row.get("detail", ""))
        for row in found["items"]
        if row["status"] != "unchanged"
    ]
    if rows:
        yield from table(("STATUS", "CASE", "EXPECTED", "NOW"), rows)
    said = ", ".join(f"{number:,} {status}" for status, number in found["counts"].items() if number)
    yield f"{count(found['cases'], 'case')}: {said or 'nothing is expected'}"
    if found["broken"]:
        names = ", ".join(map(printable, found["broken"]))
        yield f"left out of runs, as nothing that they expect is left: {names}"


_RUN = """
kebab eval run
kebab eval run --mode hybrid --mode lexical --name before
kebab eval run --variant hybrid,rerank=true --ask
"""


@command("run", example=_RUN)
@_cases_option
@click.option(
    "--mode",
    "modes",
    type=click.Choice(["hybrid", "lexical", "vector"]),
    multiple=True,
    help="What is measured; hybrid if nothing is said. (May be repeated.)",
)
@click.option(
    "--variant",
    "variants",
    metavar="V",
    multiple=True,
    help="A mode with settings: fusion, rrf_k, rerank, per_doc. (May be repeated.)",
)
@click.option(
    "--depth",
    metavar="N",
    type=click.IntRange(10, 100),
    default=20,
    show_default=True,
    help="How many hits each question asks for.",
)
@click.option("--ask", "asks", is_flag=True, help="Make answers, too, and judge them.")
@click.option("--name", metavar="NAME", help="What the run is called later.")
@click.option(
    "--into",
    metavar="FOLDER",
    shell_complete=completed_by("dir"),
    help="Keep it there, not in the data directory.",
)
@click.option("--resume", metavar="RUN", help="Go on with a run that was stopped.")
@pass_cli
def run(
    cli: CliContext,
    /,
    modes: tuple[str, ...],
    variants: tuple[str, ...],
    **options: Any,  # noqa: ANN401
) -> None:
    """Ask all golden questions, and say how good the answers are.

    Each mean comes with the interval that 95 of 100 such sets of questions would give. Every
    run is kept, with its settings and a line for each question. Ctrl-C stops after the question
    at hand; --resume goes on.
    """
    from kb_app._evals.running import read_variant
    from kb_cli._follow import stopped_by_interrupt
    from kb_core.evals import EvalOptions, EvalVariant

    wanted = tuple(map(read_variant, (*modes, *variants))) or (EvalVariant(),)
    asked = EvalOptions(variants=wanted, ask=options.pop("asks"), **options)
    with cli.open() as kb, stopped_by_interrupt(cli, "stopping after this question") as stop:
        found = _run(cli, kb.evaluate(asked, stop=stop))
    cli.show(found, lambda _: _measured(found))
    if found["state"] == "stopped" and "path" in found:
        cli.note(f"stopped: kebab eval run --resume {found['run_id']}")
    elif "path" not in found:
        cli.note("nothing was kept: this is read-only mode")


def _run(cli: CliContext, events: Iterator[EvalEvent]) -> types.EvalRun:
    """Return the run that *events* end in; on a terminal, say how far it is."""
    is_drawn = cli.has_terminal and not cli.quiet and not cli.as_json
    for event in events:
        if event.run is not None:
            if is_drawn:
                click.echo("\r\x1b[2K", nl=False, err=True)
            return event.run
        if is_drawn:
            click.echo(f"\r\x1b[2Kasked {event.done:,} of {event.total:,}", nl=False, err=True)
    raise RuntimeError("a run ended without its last event")


def _measured(found: types.EvalRun) -> Iterator[str]:
    cases, index = found["cases"], found["index"]
    left_out = f", {len(cases['broken'])} broken and left out" if cases["broken"] else ""
    yield (
        f"run {printable(found.get('name') or found['run_id'])}: {count(cases['total'], 'case')}"
        f"{left_out}, {count(index['documents'], 'document')}, {count(index['chunks'], 'chunk')}"
    )
    for variant in found["variants"]:
        yield ""
        yield click.style(_headed(variant), bold=True)
        yield from _figures(variant["figures"])
        yield from (f"  degraded: {printable(why)}" for why in variant.get("degraded", ()))


def _headed(variant: types.EvalRunVariants) -> str:
    times = (variant["p50_ms"], variant["p95_ms"])
    took = "" if None in times else " · p50 {:.0f} ms, p95 {:.0f} ms".format(*times)
    lost = [f"{variant[what]} {what}" for what in ("empty", "failed") if variant[what]]
    return " · ".join([f"{variant['name']} · {variant['asked']} asked{took}", *lost])


def _figures(figures: Sequence[types.EvalRunVariantsFigures]) -> Iterator[str]:
    longest = max((len(figure["name"]) for figure in figures), default=0)
    for figure in figures:
        drawn = click.style(_bar(figure["mean"]), fg="cyan")
        yield (
            f"  {figure['name']:<{longest}}  {_share(figure['mean'])}  {drawn}  "
            f"{_share(figure['low'])} … {_share(figure['high'])}  of {figure['count']:,}"
        )


def _bar(share: float) -> str:
    """Return a share of one as a bar of ten cells, in eighths."""
    full, rest = divmod(round(share * _CELLS * len(_EIGHTHS)), len(_EIGHTHS))
    drawn = "█" * full + _EIGHTHS[rest]
    return drawn.ljust(_CELLS)


def _share(value: float) -> str:
    """Return a figure with three digits: ``.812``, ``1.00``."""
    return f"{value:.3f}".removeprefix("0") if value < _ALMOST_ONE else f"{value:.2f}"


@command("list", example="kebab eval list")
@pass_cli
def list_(cli: CliContext) -> None:
    """List the runs that are kept, the newest first."""
    with cli.open() as kb:
        found = kb.eval_runs()
    cli.show(found, lambda _: _listed(found))


def _listed(found: types.EvalRunList) -> Iterator[str]:
    rows = []
    for run in found["items"]:
        best = {f["name"]: f["mean"] for v in run["variants"][:1] for f in v["figures"]}
        names = " ".join(variant["name"] for variant in run["variants"])
        ndcg = _share(best["ndcg@10"]) if "ndcg@10" in best else "-"
        rows.append(
            (run["run_id"], run.get("name", ""), run["state"], run["cases"]["total"], ndcg, names)
        )
    head = ("RUN", "NAME", "STATE", "CASES", "NDCG@10", "VARIANTS")
    yield from table(head, rows) if rows else ["no runs yet: kebab eval run"]


_COMPARE = """
kebab eval compare last~1 last
kebab eval compare before last:lexical
kebab eval compare eval/baseline build/eval --tolerance 0.02
"""


@command("compare", example=_COMPARE)
@click.argument("before")
@click.argument("after")
@click.option(
    "--tolerance",
    metavar="X",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="A figure may lose so much.",
)
@click.option("--strict", is_flag=True, help="A larger loss counts even where it may be luck.")
@click.pass_context
@pass_cli
def compare(
    cli: CliContext, ctx: click.Context, /, before: str, after: str, tolerance: float, strict: bool
) -> None:
    """Say what differs between two runs, whether it is more than luck, and where.

    A run is named by its id or the beginning of that, its name, last or last~1, or its folder;
    RUN:VARIANT names another than its first variant. The exit code is 3 where a figure lost
    more than the tolerance and that is more than luck.
    """
    with cli.open() as kb:
        found = kb.compare_runs(before, after, tolerance=tolerance, strict=strict)
    cli.show(found, lambda _: _compared(found))
    if found["regressed"]:
        ctx.exit(_UNHEALTHY)


def _compared(found: types.EvalCompare) -> Iterator[str]:
    sides = [found["before"], found["after"]]
    names = [f"{side.get('name') or side['run_id']}:{side['variant']}" for side in sides]
    both = count(found["paired"], "question")
    yield f"{printable(names[0])} → {printable(names[1])}, {both} in both"
    for which, cases in (("before", found["only_before"]), ("after", found["only_after"])):
        if cases:
            yield f"  only {which}: {', '.join(map(printable, cases[:_NAMED]))}"
    rows = [
        (
            row["name"],
            _share(row["before"]),
            _share(row["after"]),
            f"{row['difference']:+.3f}",
            f"{row['low']:+.3f} … {row['high']:+.3f}",
            f"{row['p_holm']:.3f}",
            row["verdict"],
        )
        for row in found["figures"]
    ]
    yield from table(("FIGURE", "BEFORE", "AFTER", "CHANGE", "95 % BETWEEN", "P", ""), rows)
    for word, queries in (("lost", found["lost"]), ("won", found["won"])):
        for query in queries:
            yield ""
            yield from _moved(word, query)
    if found["changed"]:
        yield ""
        yield from table(
            ("CHANGED", "BEFORE", "AFTER"),
            [(row["name"], row["before"], row["after"]) for row in found["changed"]],
            limit={"BEFORE": 40, "AFTER": 40},
        )
    if found["regressed"]:
        yield click.style("regressed", fg="red", bold=True)


def _moved(word: str, query: types.EvalCompareQuery) -> Iterator[str]:
    """Show a question that lost or won: where what it expects stood, and what stands first."""
    scores = f"{query['figure']} {_share(query['before'])} → {_share(query['after'])}"
    asked = f"{printable(query['case'])}: {printable(flat(query['query']))}"
    yield f"{click.style(word, bold=True)} {asked}  ({scores})"
    for target in query["targets"]:
        stood = f"{_stood(target['before'])} → {_stood(target['after'])}"
        yield f"  {printable(target['expected'])}: {stood}"
    for number, (old, new) in enumerate(zip_longest(query["hits_before"], query["hits_after"]), 1):
        same = "=" if old == new else f"→ {printable(new or '-')}"
        yield f"  {number}. {printable(old or '-')}  {same}"


def _stood(place: types.EvalCompareStanding | None) -> str:
    if place is None:
        return "not found"
    words, meaning = place["lexical_rank"] or "-", place["vector_rank"] or "-"
    return f"rank {place['rank']} (words {words}, meaning {meaning})"


for _each in (add, check, run, compare, list_):
    eval_.add_command(_each)
