"""``kebab eval``: golden questions, runs over them, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kb_app.shown import count, flat, printable
from kb_cli._context import CliContext
from kb_cli._declared import OneOf, Real, Whole, argument, command, completed_by, option, subgroup
from kb_cli._evals import checked, compared, examined, listed, measured, tuned
from kb_cli._exchanging import export, import_
from kb_cli._options import cases_option, filter_options, filters_of, mode_option, only_text
from kb_cli._text import echo
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_core.evals import EvalEvent
    from kb_core.search import Hit

__all__ = ["eval_"]

_UNHEALTHY = 3
_SHOWN_BY_ADD = 10
_LONGEST = 60

_EVAL = """
kebab eval add "who takes the writer lock"
kebab eval check
kebab eval run --mode hybrid --mode lexical
kebab eval compare last~1 last
kebab eval self
"""


@subgroup("eval", example=_EVAL)
def eval_() -> None:
    """Measure how well this knowledge base answers.

    Golden questions say what a good answer has to find. They stand in a file of your own,
    golden.yaml beside the configuration unless --cases names another.
    """


_ADD = """
kebab eval add "who takes the writer lock" --hit 1
kebab eval add "wer hält die Sperre" --hit 1 --group lock
kebab eval add "what is the price of tea" --nothing
kebab eval add --from-feedback
"""


@command("add", example=_ADD)
@argument("words", metavar="QUERY", nargs=-1)
@option(
    "--hit",
    "ranks",
    metavar="N",
    type=Whole(1, 100),
    multiple=True,
    help="A hit that answers. (May be repeated.)",
)
@option("--nothing", is_flag=True, help="Nothing here answers it: the answer is a refusal.")
@option("--id", metavar="ID", help="Its name, instead of one made of the query.")
@option("--group", metavar="NAME", help="It asks for the same as others of that group.")
@option("--label", "tags", metavar="T", multiple=True, help="A tag of it. (May be repeated.)")
@option(
    "--must-contain",
    metavar="TEXT",
    multiple=True,
    help="An answer has to say this. (May be repeated.)",
)
@option("--from-feedback", is_flag=True, help="Make cases of what was said of hits, one by one.")
@option("--yes", is_flag=True, help="With --from-feedback: add all of them without asking.")
@mode_option("How its hits are found.")
@cases_option
@filter_options
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

    With --from-feedback, every query with a hit that `kebab feedback` calls good is shown with
    its passages, and becomes a case if you say so.
    """
    from kb_core.media import SearchMode
    from kb_core.search import SearchQuery

    cli.writes("eval add")
    from_feedback, yes = options.pop("from_feedback"), options.pop("yes")
    if from_feedback:
        from kb_cli._proposals import add_proposed

        add_proposed(cli, words, options["cases"], yes=yes)
        return
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
        echo(f"added {printable(case.id)}, which expects {what}")


def _chosen(cli: CliContext, hits: tuple[Hit, ...], ranks: tuple[int, ...]) -> list[Hit]:
    """Return the hits of these ranks; where none is named, a person is asked."""
    if not ranks:
        for hit in hits:
            place = printable(hit.citation.uri)
            echo(f"{hit.rank:>2}. {place}  {printable(flat(hit.snippet))[:_LONGEST]}", err=True)
        if hits and cli.can_ask():
            told = cli.prompt("which answer it, such as 1 or 1,3")
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
@cases_option
def check(cli: CliContext, /, cases: str | None) -> None:
    """Say whether golden questions still stand in what is indexed.

    What was moved or edited is found again and still counts. What is gone is told, and the
    exit code is 3.
    """
    with cli.open() as kb:
        found = kb.check_cases(cases)
    cli.show(found, lambda _: checked(found))
    if found["counts"].get("gone"):
        cli.exit(_UNHEALTHY)


_RUN = """
kebab eval run
kebab eval run --mode hybrid --mode lexical --name before
kebab eval run --variant hybrid,rerank=true --ask
"""


@command("run", example=_RUN)
@cases_option
@option(
    "--mode",
    "modes",
    type=OneOf(["hybrid", "lexical", "vector"]),
    multiple=True,
    help="What is measured; hybrid if nothing is said. (May be repeated.)",
)
@option(
    "--variant",
    "variants",
    metavar="V",
    multiple=True,
    help="A mode with settings: fusion, rrf_k, rerank, per_doc. (May be repeated.)",
)
@option(
    "--depth",
    metavar="N",
    type=Whole(10, 100),
    default=20,
    show_default=True,
    help="How many hits each question asks for.",
)
@option("--ask", "asks", is_flag=True, help="Make answers, too, and judge them.")
@option("--name", metavar="NAME", help="What the run is called later.")
@option(
    "--into",
    metavar="FOLDER",
    shell_complete=completed_by("dir"),
    help="Keep it there, not in the data directory.",
)
@option("--resume", metavar="RUN", help="Go on with a run that was stopped.")
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
        found = _last(cli, kb.evaluate(asked, stop=stop)).run
    assert found is not None  # noqa: S101 - what the last event carries
    cli.show(found, lambda _: measured(found))
    if gone := found["cases"].get("gone"):
        told = "things that cases expect are" if gone > 1 else "thing that a case expects is"
        cli.warn(f"{gone:,} {told} gone, and left out: kebab eval check")
    if found["state"] == "stopped" and "path" in found:
        cli.note(f"stopped: kebab eval run --resume {found['run_id']}")
    elif "path" not in found:
        cli.note("nothing was kept: this is read-only mode")


def _last(cli: CliContext, events: Iterator[EvalEvent]) -> EvalEvent:
    """Return the event that *events* end in; on a terminal, say how far they are."""
    is_drawn = cli.has_terminal and not cli.quiet and not cli.as_json
    last = None
    for last in events:
        if is_drawn:
            told = f"{last.done:,} of {last.total:,}" if last.kind == "asked" else ""
            echo(f"\r\x1b[2K{told}", nl=False, err=True)
    if last is None:
        raise RuntimeError("measuring ended without its last event")
    return last


@command("list", example="kebab eval list")
def list_(cli: CliContext) -> None:
    """List the runs that are kept, the newest first."""
    with cli.open() as kb:
        found = kb.eval_runs()
    cli.show(found, lambda _: listed(found))


_COMPARE = """
kebab eval compare last~1 last
kebab eval compare before last:lexical
kebab eval compare eval/baseline build/eval --tolerance 0.02
"""


@command("compare", example=_COMPARE)
@argument("before")
@argument("after")
@option(
    "--tolerance",
    metavar="X",
    type=Real(0, 1),
    default=0.01,
    show_default=True,
    help="A figure may lose so much.",
)
@option("--strict", is_flag=True, help="A larger loss counts even where it may be luck.")
def compare(cli: CliContext, /, before: str, after: str, tolerance: float, strict: bool) -> None:
    """Say what differs between two runs, whether it is more than luck, and where.

    A run is named by its id or the beginning of that, its name, last or last~1, or its folder;
    RUN:VARIANT names another than its first variant. The exit code is 3 where a figure lost
    more than the tolerance and that is more than luck.
    """
    with cli.open() as kb:
        found = kb.compare_runs(before, after, tolerance=tolerance, strict=strict)
    cli.show(found, lambda _: compared(found))
    if found["regressed"]:
        cli.exit(_UNHEALTHY)


_TUNE = """
kebab eval tune
kebab eval tune --variant hybrid,fusion=rrf,rrf_k=20 --apply
"""


@command("tune", example=_TUNE)
@cases_option
@option(
    "--variant",
    "variants",
    metavar="V",
    multiple=True,
    help="Settings to try instead of the usual ones: fusion, rrf_k, rerank. (May be repeated.)",
)
@option("--apply", is_flag=True, help="Write what is recommended into the configuration.")
def tune(cli: CliContext, /, cases: str | None, variants: tuple[str, ...], apply: bool) -> None:
    """Try settings of search on the golden questions, and say which are better.

    Each is compared with the settings as they are. The choice is made again without each fifth
    of the questions and judged on that fifth, since the best of several always looks better
    than it is. Nothing is changed without --apply, nor where it may be luck.
    """
    from kb_app._evals.running import read_variant
    from kb_cli._follow import stopped_by_interrupt
    from kb_core.evals import EvalOptions

    cli.writes("eval tune")
    wanted = tuple(map(read_variant, variants))
    with cli.open() as kb, stopped_by_interrupt(cli, "stopping after this question") as stop:
        options = EvalOptions(cases=cases, variants=kb.tuning(wanted, cases=cases), name="tune")
        run = _last(cli, kb.evaluate(options, stop=stop)).run
        assert run is not None  # noqa: S101 - what the last event carries
        found = kb.tune(run["run_id"], apply=apply)
    cli.show(found, lambda _: tuned(found))


_REPORT = """
kebab eval report last
kebab eval report before last --into compared.html
kebab eval report last --text
"""


@command("report", example=_REPORT)
@argument("runs", metavar="RUN...", nargs=-1, required=True)
@option(
    "--into",
    metavar="FILE",
    default="eval-report.html",
    show_default=True,
    shell_complete=completed_by("file"),
    help="Where the page is written; another report there is replaced.",
)
@option("--text", is_flag=True, help="Print it instead, as tables with small bars.")
def report(cli: CliContext, runs: tuple[str, ...], into: str, text: bool) -> None:
    """Show runs: figures, curves, ranks, times, and each question with its hits and why.

    It is one HTML file that opens offline and loads nothing. Questions and places of your
    documents stand in it.
    """
    from kb_app import paths
    from kb_core import wire

    if not text:
        cli.writes("eval report")
    with cli.open() as kb:
        found = kb.report(runs)
    file = paths.path_given("into", into, cli.environ)
    if not text:
        found.write(file)
    if cli.as_json:
        cli.print_json(wire.eval_run_list(found.runs))
    elif text:
        from kb_cli._reports import reported

        echo("\n".join(reported(found)), color=cli.color)
    else:
        echo(printable(str(file)))


_SELF = """
kebab eval self
kebab eval self --documents 200 --seconds 600
"""


@command("self", example=_SELF)
@option(
    "--documents",
    metavar="N",
    type=Whole(1, 100_000),
    default=60,
    show_default=True,
    help="Of how many, drawn at random, questions are made.",
)
@option(
    "--seconds",
    metavar="S",
    type=Real(0),
    default=120,
    show_default=True,
    help="How long it may take.",
)
@option(
    "--seed",
    metavar="N",
    type=Whole(),
    default=1,
    show_default=True,
    help="Another one draws other documents.",
)
@option(
    "--paraphrase",
    is_flag=True,
    help="Let the language model ask for a sentence of each, in other words; it is told these.",
)
def self_(cli: CliContext, documents: int, seconds: float, seed: int, *, paraphrase: bool) -> None:
    """Say how well documents are found by their own words, and what is not found.

    It needs no golden questions: they are made of titles, headings and sentences of your own
    documents, also without their rarest words. That is easier than what people ask, so the
    figures are upper bounds; what is missed even so is named, with what can be done.
    """
    from kb_cli._follow import stopped_by_interrupt
    from kb_core.evals import SelfOptions

    options = SelfOptions(documents=documents, seconds=seconds, seed=seed, paraphrase=paraphrase)
    with cli.open() as kb, stopped_by_interrupt(cli, "stopping after this document") as stop:
        found = _last(cli, kb.examine(options, stop=stop)).examined
    assert found is not None  # noqa: S101 - what the last event carries
    cli.show(found, lambda _: map(cli.named, examined(found)))
    if not found["complete"]:
        cli.note("not all documents that were drawn were asked for: --seconds for more time")


for _each in (add, check, run, compare, tune, report, list_, self_, import_, export):
    eval_.add_command(_each)
