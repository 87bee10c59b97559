"""A report as one HTML file: it opens offline, light and dark, and runs nothing.

There is no script in it, and its policy lets a browser load none, nor anything else. Whatever
comes of documents, questions and names is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._evals import charts
from kb_app._evals.charts import Series, safe
from kb_app._evals.reporting import MARK, RANKS, TIMES_MS, Side, shares_within

if TYPE_CHECKING:
    from kb_app._evals.stored import Asked, Kept
    from kb_core.evals import EvalCase

__all__ = ["page"]

_MOST_HITS = 10
_SECOND = 1000
_LEADING = ("ndcg@10", "refusal", "doubt")
_GOOD, _FAIR = 0.8, 0.4
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --dim: #5c636b; --paper: #fff; --line: #d9dde1;
  --s0: #1f6fb2; --s1: #c4561c; --s2: #2c8a4b; --s3: #8a4fb0; --s4: #a8324a; --s5: #7a6a1d;
  --s6: #14808a; --s7: #666e76; --good: #2c8a4b; --fair: #a06a00; --poor: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #a0a8b0; --paper: #16181b;
  --line: #34393f; --s0: #6cb2ee; --s1: #f0935c; --s2: #6fca8c; --s3: #c79be6; --s4: #ee8197;
  --s5: #d3c267; --s6: #63c8d1; --s7: #a9b1b9; --good: #6fca8c; --fair: #e3b341;
  --poor: #f28b82 } }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.charts { display: grid; gap: 1rem 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)) }
figure { margin: 0; max-width: 46rem } .key td, .key th { white-space: nowrap }
 figcaption { font-weight: 600; margin-bottom: .25rem }
svg { width: 100%; height: auto } svg text { fill: var(--dim); font: 12px system-ui, sans-serif }
.grid { stroke: var(--line) } .line { fill: none; stroke-width: 2 }
.key span { margin-right: 1.2em; white-space: nowrap }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.uri { overflow-wrap: anywhere; min-width: 12rem } tr.met td { font-weight: 600 }
details { border-top: 1px solid var(--line); padding: .35rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere }
.dim { color: var(--dim) } .good { color: var(--good) } .fair { color: var(--fair) }
.poor { color: var(--poor) } b.good, b.fair, b.poor { font-variant-numeric: tabular-nums }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(sides: Sequence[Side], cases: Sequence[EvalCase]) -> str:
    """Return the report of *sides*; *cases* say what was expected."""
    name = "Report of " + ", ".join(dict.fromkeys(_called(side) for side in sides))
    parts = (
        f"<!DOCTYPE html>\n{MARK}\n<html lang=en><head><meta charset=utf-8>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name=viewport content="width=device-width, initial-scale=1">',
        f"<title>{safe(name)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{safe(name)}</h1>",
        *_measured(sides),
        *_figures(sides),
        *_charts(sides),
        *_questions(sides, cases),
        "</body></html>\n",
    )
    return "\n".join(parts)


def _called(side: Side) -> str:
    return side.run.get("name") or side.run["run_id"]


def _measured(sides: Sequence[Side]) -> Iterator[str]:
    """Tell what was measured, and with what."""
    head = ("", "Run", "Began", "Questions", "Documents", "Passages", "Model", "kebab", "Machine")
    yield '<h2>What was measured</h2><div class="wide">'
    yield _table(
        head,
        [
            (
                _key(number, side),
                safe(_called(side)),
                safe(side.run["started_at"]),
                f"{side.told['asked']:,} of {side.run['cases']['total']:,}",
                f"{side.run['index']['documents']:,}",
                f"{side.run['index']['chunks']:,}",
                safe(side.run["index"].get("model", "none")),
                safe(side.run["kebab_version"]),
                safe(" ".join(side.run["machine"].values())),
            )
            for number, side in enumerate(sides)
        ],
    )
    yield "</div>"
    for side in sides:
        remarks = [f"{side.told[what]} {what}" for what in ("empty", "failed") if side.told[what]]
        remarks += side.told.get("degraded", [])
        if side.run["state"] != "completed":
            remarks.append("the run was stopped")
        if broken := side.run["cases"]["broken"]:
            remarks.append(f"left out, as nothing that they expect is left: {', '.join(broken)}")
        if remarks:
            yield f'<p class="poor">{safe(side.label)}: {safe("; ".join(remarks))}</p>'


def _key(number: int, side: Side) -> str:
    return f'<i style="background:var(--s{number})"></i>{safe(side.label)}'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{safe(word)}</th>" for word in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="key"><tr>{heads}</tr>{body}</table>'


def _figures(sides: Sequence[Side]) -> Iterator[str]:
    """Show every mean with its interval, each figure's variants below each other."""
    names = dict.fromkeys(figure["name"] for side in sides for figure in side.told["figures"])
    rows = [
        (name, number, one["mean"], one["low"], one["high"])
        for name in names
        for number, side in enumerate(sides)
        for one in side.told["figures"]
        if one["name"] == name
    ]
    yield "<h2>Figures</h2>"
    yield (
        '<p class="dim">A dot is the mean, the line where it would lie in 95 of 100 other sets of '
        "as many questions of the same kind.</p>"
    )
    yield _legend(sides)
    yield f"<figure>{charts.intervals('Means and their intervals', rows)}</figure>"


def _legend(sides: Sequence[Side]) -> str:
    keys = "".join(f"<span>{_key(number, side)}</span>" for number, side in enumerate(sides))
    return f'<p class="key">{keys}</p>'


def _charts(sides: Sequence[Side]) -> Iterator[str]:
    yield f'<h2>Curves and distributions</h2>{_legend(sides)}<div class="charts">'
    curves = (
        ("Recall by rank", "hits that are looked at", Side.recall_by_rank),
        ("Recall by tokens read", "tokens", Side.recall_by_tokens),
        ("Precision of refusals", "share of questions that is refused", Side.refusals),
    )
    for title, label, points in curves:
        series = [Series(side.label, n, points(side)) for n, side in enumerate(sides)]
        if any(one.points for one in series):
            drawn = charts.lines(title, label, series)
            yield f"<figure><figcaption>{title}</figcaption>{drawn}</figure>"
    ranks = [side.rank_shares() for side in sides]
    labels = [_between(RANKS, at) for at in range(len(RANKS))]
    yield _bars(sides, "Rank of the first that is relevant", [*labels, "none"], ranks)
    times = [shares_within(side.times(), TIMES_MS)[:-1] for side in sides]
    ends = [f"{most:,.0f}" if most < _SECOND else f"{most / _SECOND:.0f}s" for most in TIMES_MS]
    yield _bars(sides, "Time of a question, milliseconds at most", [*ends[:-1], "more"], times)
    yield "</div>"


def _between(bounds: Sequence[int], at: int) -> str:
    low, high = (bounds[at - 1] + 1 if at else 1), bounds[at]
    return str(high) if low == high else f"{low}-{high}"


def _bars(
    sides: Sequence[Side], title: str, labels: Sequence[str], shares: Sequence[Sequence[float]]
) -> str:
    series = [
        Series(side.label, n, [(float(x), share) for x, share in enumerate(shares[n])])
        for n, side in enumerate(sides)
    ]
    drawn = charts.bars(title, labels, series)
    return f"<figure><figcaption>{title}</figcaption>{drawn}</figure>"


def _questions(sides: Sequence[Side], cases: Sequence[EvalCase]) -> Iterator[str]:
    """Show each question, the worst first, with its hits under every variant and why."""
    known = {case.id: case for case in cases}
    asked: dict[str, list[tuple[int, Asked]]] = {}
    for number, side in enumerate(sides):
        for one in side.asked:
            asked.setdefault(one["case"], []).append((number, one))
    yield "<h2>Questions, the worst first</h2>"
    for case_id in sorted(asked, key=lambda one: (_worst(asked[one]), one)):
        rows = asked[case_id]
        scores = " ".join(_score(_leading(one)) for _, one in rows)
        query = safe(rows[0][1]["query"])
        yield f'<details><summary>{scores} {query} <span class="dim">{safe(case_id)}</span>'
        yield "</summary>"
        if case := known.get(case_id):
            yield _expected(case)
        for number, one in rows:
            yield f'<p class="key">{_key(number, sides[number])}</p>'
            yield _hits(one)
        yield "</details>"


def _leading(one: Asked) -> float | None:
    found = one.get("figures", {})
    return next((found[name] for name in _LEADING if name in found), None)


def _worst(rows: Sequence[tuple[int, Asked]]) -> float:
    return min((value for _, one in rows if (value := _leading(one)) is not None), default=2.0)


def _score(value: float | None) -> str:
    if value is None:
        return '<b class="dim">-</b>'
    kind = "good" if value >= _GOOD else "fair" if value >= _FAIR else "poor"
    return f'<b class="{kind}">{value:.2f}</b>'


def _expected(case: EvalCase) -> str:
    wanted = [*case.expected_docs, *case.expected_chunks]
    wanted += [place.uri for place in case.expected_places]
    told = ", ".join(map(safe, wanted)) or "nothing: a refusal is right"
    return f'<p class="dim">Expected: {told}</p>'


def _hits(one: Asked) -> str:
    if "error" in one:
        return f'<p class="poor">{safe(one["error"])}</p>'
    parts = []
    if answer := one.get("answer"):
        said = answer["text"] if answer["refusal"] is None else f"refused: {answer['refusal']}"
        parts.append(f"<p>{safe(said)}</p>")
    missed = [target for target, rank in one.get("ranks", {}).items() if rank is None]
    if missed:
        parts.append(f'<p class="poor">not found: {", ".join(map(safe, missed))}</p>')
    rows = "".join(map(_hit, one.get("hits", [])[:_MOST_HITS]))
    head = "".join(
        f'<th class="n">{name}</th>' for name in ("Score", "Words", "Meaning", "Close reading")
    )
    shown = f'<table><tr><th class="n">#</th><th>Passage</th>{head}</tr>{rows}</table>'
    parts.append(f'<div class="wide">{shown}</div>' if rows else "<p>no hits</p>")
    return "".join(parts)


def _hit(hit: Kept) -> str:
    reread = hit["rerank_score"]
    cells: list[Any] = [
        f"{hit['score']:.3f}",
        hit["lexical_rank"] or "-",
        hit["vector_rank"] or "-",
    ]
    cells.append("-" if reread is None else f"{reread:.3f}")
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    is_met = ' class="met"' if hit["met"] else ""
    mark = "✓ " if hit["met"] else ""
    place = f'<td class="uri">{mark}{safe(hit["uri"])}</td>'
    return f'<tr{is_met}><td class="n">{hit["rank"]}</td>{place}{numbers}</tr>'
