"""What measuring tells, as text: tables with small bars, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from kb_app.shown import count, flat, printable
from kb_cli._text import style, table, terminal_width, wrap

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["bar", "checked", "compared", "examined", "listed", "measured", "tuned"]

_CELLS = 10
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_NAMED = 5
_ALMOST_ONE = 0.9995
_AMONG = "hit@10"
_BY = {"hybrid": "words and meaning", "lexical": "words", "vector": "meaning"}
_MADE_OF = {
    "title": "their title",
    "heading": "a heading",
    "sentence": "a sentence",
    "hard": "a sentence without its rarest words",
    "paraphrase": "a sentence in a language model's words",
    "translated": "a sentence of its translation",
}


def checked(found: types.EvalCheck) -> Iterator[str]:
    """Return what became of what golden questions expect, as text."""
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


def measured(found: types.EvalRun) -> Iterator[str]:
    """Return what a run came to, as text: a bar for each figure."""
    cases, index = found["cases"], found["index"]
    left_out = f", {len(cases['broken'])} broken and left out" if cases["broken"] else ""
    yield (
        f"run {printable(found.get('name') or found['run_id'])}: {count(cases['total'], 'case')}"
        f"{left_out}, {count(index['documents'], 'document')}, {count(index['chunks'], 'chunk')}"
    )
    for variant in found["variants"]:
        yield ""
        yield style(_headed(variant), bold=True)
        yield from _figures(variant["figures"])
        yield from (f"  degraded: {printable(why)}" for why in variant.get("degraded", ()))


def _headed(variant: types.EvalRunVariants) -> str:
    times = (variant["p50_ms"], variant["p95_ms"])
    took = "" if None in times else " · p50 {:.0f} ms, p95 {:.0f} ms".format(*times)
    lost = [f"{variant[what]} {what}" for what in ("empty", "failed") if variant[what]]
    return " · ".join([f"{variant['name']} · {variant['asked']} asked{took}", *lost])


def _figures(figures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    longest = max((len(figure["name"]) for figure in figures), default=0)
    for figure in figures:
        drawn = style(bar(figure["mean"]), fg="cyan")
        yield (
            f"  {figure['name']:<{longest}}  {_share(figure['mean'])}  {drawn}  "
            f"{_share(figure['low'])} … {_share(figure['high'])}  of {figure['count']:,}"
        )


def listed(found: types.EvalRunList) -> Iterator[str]:
    """Return a table of runs."""
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


def compared(found: types.EvalCompare) -> Iterator[str]:
    """Return what differs between two runs, as text."""
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
        yield style("regressed", fg="red", bold=True)


def _moved(word: str, query: types.EvalCompareQuery) -> Iterator[str]:
    """Show a question that lost or won: where what it expects stood, and what stands first."""
    scores = f"{query['figure']} {_share(query['before'])} → {_share(query['after'])}"
    asked = f"{printable(query['case'])}: {printable(flat(query['query']))}"
    yield f"{style(word, bold=True)} {asked}  ({scores})"
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


def tuned(found: types.EvalTune) -> Iterator[str]:
    """Return which settings are better, as text."""
    yield f"{found['figure']} of {count(found['questions'], 'question')}"
    rows = [
        (
            row["name"] if row["verdict"] != "now" else f"{row['name']}, as it is",
            _share(row["mean"]),
            *_change(row),
            f"{row['chosen']:.0%}",
            row["verdict"] if row["verdict"] != "now" else "",
        )
        for row in found["variants"]
    ]
    yield from table(("SETTINGS", "MEAN", "CHANGE", "95 % BETWEEN", "P", "CHOSEN", ""), rows)
    held = found["held_out"]
    yield (
        f"choosing by the others changes a question by {held['mean']:+.3f}"
        f" ({held['low']:+.3f} … {held['high']:+.3f}, p {held['p']:.3f})"
    )
    best = next((r for r in found["variants"] if r["name"] == found["recommended"]), None)
    if best is None:
        yield "nothing is better by more than luck: the settings stay as they are"
        return
    settings = ", ".join(f"{name} = {str(v).lower()}" for name, v in best["settings"].items())
    done = "written" if found["applied"] else "kebab eval tune --apply writes it"
    yield f"{best['name']} is better: {settings} ({done})"


def _change(row: types.EvalTuneVariants) -> tuple[str, str, str]:
    if "difference" not in row:
        return "", "", ""
    bounds = f"{row['low']:+.3f} … {row['high']:+.3f}"
    return f"{row['difference']:+.3f}", bounds, f"{row['p_holm']:.3f}"


def examined(found: types.EvalSelf) -> Iterator[str]:
    """Return how well documents are found by their own words, and what is not, as text."""
    drawn = f"{found['sampled']:,} of {count(found['documents'], 'document')}"
    asked = count(found["questions"], "question")
    yield f"{drawn}, {asked} of their own words, seed {found['seed']}"
    yield from wrap(_verdict(found), terminal_width())
    yield from _difficulties(found)
    for by in dict.fromkeys(row["by"] for row in found["breakdown"]):
        rows = [row for row in found["breakdown"] if row["by"] == by]
        if len(rows) > 1:
            yield ""
            yield style(f"by {by} ({found['modes'][0]}, among the first ten)", bold=True)
            yield from _figures([{**row, "name": printable(row["value"])} for row in rows])
    for finding in found["findings"]:
        yield ""
        yield from _finding(finding)
    yield ""
    yield from wrap(found["note"], terminal_width())


def _verdict(found: types.EvalSelf) -> str:
    """Return in a sentence how many questions find their document, and what is to be done."""
    mode, things = found["modes"][0], len(found["findings"])
    rows = [row for row in found["figures"] if row["mode"] == mode and row["name"] == _AMONG]
    asked = sum(row["count"] for row in rows)
    among = round(sum(row["mean"] * row["count"] for row in rows))
    share = f"{among:,} of {asked:,}" if asked else "none was asked, so none"
    look = f"{count(things, 'thing')} below to look at" if things else "nothing to look at"
    return f"by {_BY[mode]}, {share} find their document among the first ten; {look}"


def _difficulties(found: types.EvalSelf) -> Iterator[str]:
    """Yield for each kind of question and mode how many are found, and how far up."""
    for difficulty in dict.fromkeys(row["difficulty"] for row in found["figures"]):
        rows = [row for row in found["figures"] if row["difficulty"] == difficulty]
        up = {row["mode"]: row["mean"] for row in rows if row["name"] != _AMONG}
        among = [{**row, "name": row["mode"]} for row in rows if row["name"] == _AMONG]
        yield ""
        yield style(f"by {_MADE_OF[difficulty]}, among the first ten", bold=True)
        for row, line in zip(among, _figures(among), strict=True):
            yield f"{line} · mrr@10 {_share(up[row['mode']])}" if row["mode"] in up else line


def _finding(finding: types.EvalSelfFindings) -> Iterator[str]:
    head = f"{finding['count']:,} of {finding['of']:,}: {finding['says']}"
    yield from (style(line, fg="yellow") for line in wrap(head, terminal_width()))
    for example in finding["examples"]:
        detail = f"  ({printable(flat(example['detail']))})" if "detail" in example else ""
        yield f"  {printable(example['what'])}{detail}"
    yield from ("  " + line for line in wrap(f"→ {finding['advice']}", terminal_width() - 2))


def bar(share: float) -> str:
    """Return a share of one as a bar of ten cells, in eighths."""
    full, rest = divmod(round(share * _CELLS * len(_EIGHTHS)), len(_EIGHTHS))
    drawn = "█" * full + _EIGHTHS[rest]
    return drawn.ljust(_CELLS)


def _share(value: float) -> str:
    """Return a figure with three digits: ``.812``, ``1.00``."""
    return f"{value:.3f}".removeprefix("0") if value < _ALMOST_ONE else f"{value:.2f}"
