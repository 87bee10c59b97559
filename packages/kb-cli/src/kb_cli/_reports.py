"""A report of runs as text: figures, then where answers stood, how long it took, what is worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb_app._evals.reporting import RANKS, TIMES_MS, shares_within
from kb_app.shown import flat, printable
from kb_cli._evals import bar, measured
from kb_cli._text import style

if TYPE_CHECKING:
    from kb_app._evals.reporting import Report, Side

__all__ = ["reported"]

_WORST = 5


def reported(found: Report) -> Iterator[str]:
    """Return the lines of a report."""
    for run in found.runs:
        yield from measured(run)
        yield ""
    for side in found.sides:
        ranks = [*map(str, RANKS), "none"]
        times = [*(f"{most:,.0f}" for most in TIMES_MS[:-1]), "more"]
        yield from _shares(side, "rank of the first that is relevant", ranks, side.rank_shares())
        yield from _shares(side, "milliseconds", times, shares_within(side.times(), TIMES_MS)[:-1])
        yield from _recall(side)
        yield from _worst(side)


def _shares(
    side: Side, title: str, labels: Sequence[str], shares: Sequence[float]
) -> Iterator[str]:
    if not any(shares):
        return
    yield style(f"{printable(side.label)}: {title}", bold=True)
    longest = max(map(len, labels))
    for label, share in zip(labels, shares, strict=True):
        if share:
            bound = label if label in {"none", "more"} else f"≤ {label}"
            yield f"  {bound:<{longest + 2}}  {bar(share)}  {share:.0%}"
    yield ""


def _recall(side: Side) -> Iterator[str]:
    found = {int(k): share for k, share in side.recall_by_rank()}
    if found:
        yield style(f"{printable(side.label)}: recall by rank", bold=True)
        yield from (f"  {k:>3}  {bar(found[k])}  {found[k]:.0%}" for k in RANKS if k in found)
        yield ""


def _worst(side: Side) -> Iterator[str]:
    scored = [(one["figures"]["ndcg@10"], one) for one in side.asked if "ndcg@10" in one["figures"]]
    worst = [row for row in sorted(scored, key=lambda row: row[0]) if row[0] < 1][:_WORST]
    if worst:
        yield style(f"{printable(side.label)}: the worst questions", bold=True)
    for score, one in worst:
        yield f"  {score:.2f}  {printable(one['case'])}: {printable(flat(one['query']))}"
        for target, rank in one["ranks"].items():
            yield f"        {printable(target)}: {f'rank {rank}' if rank else 'not found'}"
    if worst:
        yield ""
