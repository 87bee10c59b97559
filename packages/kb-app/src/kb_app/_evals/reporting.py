"""What a report says of runs over golden questions: curves, distributions, and each question.

Everything is read off the folders of runs; nothing is searched. ``report_page`` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app._data_dir import making_private_files
from kb_app._evals.stored import Asked, find_run
from kb_core.errors import InvalidInput, IoError
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.evals import EvalCase
    from kb_core.wire import types

__all__ = [
    "MARK",
    "MOST_SIDES",
    "RANKS",
    "TIMES_MS",
    "Report",
    "Side",
    "report_of",
    "shares_within",
]

MARK = "<!-- a report of kebab eval -->"
"""What a page begins with, so that nothing but a report is ever replaced by one."""
MOST_SIDES = 8
"""More cannot be told apart by colour."""
RANKS = (1, 2, 3, 5, 10, 20, 100)
"""Upper bounds of the ranks that are counted together."""
TIMES_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, math.inf)
"""Upper bounds of the times that are counted together."""


@dataclass(frozen=True, slots=True)
class Side:
    """One variant of one run, with what came of its questions."""

    label: str
    run: types.EvalRun
    told: types.EvalRunVariants
    asked: tuple[Asked, ...]

    def recall_by_rank(self) -> list[tuple[float, float]]:
        """Return, for each rank, the share of what is relevant that stands there or above."""
        judged = [one["ranks"] for one in self.asked if one.get("ranks")]
        points = []
        for k in range(1, self.run["depth"] + 1 if judged else 1):
            shares = [
                sum(rank is not None and rank <= k for rank in ranks.values()) / len(ranks)
                for ranks in judged
            ]
            points.append((float(k), math.fsum(shares) / len(shares)))
        return points

    def recall_by_tokens(self) -> list[tuple[float, float]]:
        """Return, for each budget of tokens, the share of what is relevant that was read."""
        found = {
            float(figure["name"][len("recall@") : -1]): figure["mean"]
            for figure in self.told["figures"]
            if figure["name"].startswith("recall@") and figure["name"].endswith("t")
        }
        return [(0.0, 0.0), *sorted(found.items())] if found else []

    def first_ranks(self) -> list[int | None]:
        """Return where the first relevant hit of each question stands; ``None``: nowhere."""
        judged = [one["ranks"].values() for one in self.asked if one.get("ranks")]
        return [min((r for r in ranks if r is not None), default=None) for ranks in judged]

    def rank_shares(self) -> list[float]:
        """Return the shares of those ranks within each of ``RANKS``; last, of what is nowhere."""
        return shares_within(self.first_ranks(), RANKS)

    def times(self) -> list[float]:
        """Return what each question took, in milliseconds."""
        return [one["ms"] for one in self.asked if "ms" in one]

    def refusals(self) -> list[tuple[float, float]]:
        """Return how precise refusals are if more is refused: by the confidence of answers.

        Points are the share of all questions that is refused, and the share of those that
        nothing answers. Only of runs with answers.
        """
        sure = [
            (one["answer"]["confidence"] or 0.0, _wants_refusal(one))
            for one in self.asked
            if one.get("answer") and "refusal" in one["figures"]
        ]
        points = []
        for bound in sorted({confidence for confidence, _ in sure}):
            refused = [is_right for confidence, is_right in sure if confidence <= bound]
            points.append((len(refused) / len(sure), sum(refused) / len(refused)))
        return points


def _wants_refusal(one: Asked) -> bool:
    """Return whether nothing answers a question: what its figure says of what was done."""
    return (one["answer"]["refusal"] is not None) == (one["figures"]["refusal"] == 1)


def shares_within(values: Iterable[float | None], bounds: Sequence[float]) -> list[float]:
    """Return the share of *values* up to each bound and above the one before; last, the rest."""
    found = list(values)
    counts = [0] * (len(bounds) + 1)
    for value in found:
        at = next((n for n, most in enumerate(bounds) if value is not None and value <= most), -1)
        counts[at] += 1
    return [number / max(1, len(found)) for number in counts]


@dataclass(frozen=True, slots=True)
class Report:
    """What runs show."""

    sides: tuple[Side, ...]
    cases: tuple[EvalCase, ...]
    """As they were asked, each once."""

    @property
    def runs(self) -> list[types.EvalRun]:
        """The runs, each once."""
        return list({side.run["run_id"]: side.run for side in self.sides}.values())

    def html(self) -> str:
        """Return it as a page that opens offline."""
        from kb_app._evals.report_page import page

        return page(self.sides, self.cases)

    def write(self, path: Path) -> None:
        """Write the page to *path*, where nothing is, or another report.

        ``InvalidInput`` for what is no report, and ``IoError`` for what cannot be written.
        """
        try:
            if path.exists() and MARK not in path.read_bytes()[:200].decode("utf-8", "replace"):
                raise InvalidInput(
                    f"{str(path)!r} is there, and is no report",
                    hint="name another file with --into",
                    details={"field": "into", "value": str(path)},
                )
            with making_private_files():
                path.write_text(self.html(), "utf-8")
        except OSError as error:
            raise IoError(
                f"{str(path)!r} cannot be written: {error.strerror or error}",
                details={"path": str(path)},
            ) from error


def report_of(data_dir: Path, names: Sequence[str]) -> Report:
    """Return the report of the runs that *names* name, as ``find_run`` knows them.

    ``InvalidInput`` for a name that is none, and for more variants than can be told apart.
    """
    folders = [find_run(data_dir, name) for name in dict.fromkeys(names)]
    told = [(folder.run(), folder.asked()) for folder in folders]
    label = _labels([run for run, _ in told])
    sides = tuple(
        Side(
            label(run, variant["name"]),
            run,
            variant,
            tuple(one for one in asked if one["variant"] == variant["name"]),
        )
        for run, asked in told
        for variant in run["variants"]
    )
    if len(sides) > MOST_SIDES:
        raise InvalidInput(
            f"these runs have {len(sides)} variants, and a report shows {MOST_SIDES} at most",
            hint="name fewer runs",
            details={"field": "run", "value": list(names), "max": MOST_SIDES},
        )
    cases = {case.id: case for folder in folders for case in folder.cases()}
    return Report(sides, tuple(cases.values()))


def _labels(runs: Sequence[types.EvalRun]) -> Callable[[types.EvalRun, str], str]:
    if len(runs) == 1:
        return lambda _run, variant: variant
    return lambda run, variant: f"{run.get('name') or run['run_id']}: {variant}"
