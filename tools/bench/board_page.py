"""The page that the board is: tables and sentences of what was measured. Pure."""

# ruff: noqa: E501 - a line of the page is a sentence of it

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from beir import BM25, PUBLISHED

__all__ = [
    "BUDGETS",
    "QUESTIONS",
    "READ_CLOSELY",
    "Figures",
    "History",
    "Row",
    "history_of",
    "interval",
    "render",
]

QUESTIONS, READ_CLOSELY = 200, 25
"""Of each collection, so many questions are asked, and so many of them read closely."""
BUDGETS = (500, 1_000, 2_000)
"""Tokens within which a right passage is to reach a model."""

_HISTORY = "## Releases"
_SURE, _LEAST = 0.05, 0.001
_HYBRID_LOSS, _WORDS_LOSS = 0.005, 0.01
Figures: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one collection; figures are nDCG@10, with 95 % bounds.

    ``gain`` is hybrid over the better of both channels, ``close`` close reading over hybrid;
    the latter is of fewer questions. ``found`` is recall@100 of hybrid, ``judged`` how many
    questions there are in all. ``delivered`` and ``read`` are the shares of the questions for
    which a right passage reaches a model, by the number of tokens: by our text, and by files
    that ``rg`` finds.
    """

    name: str
    version: str
    documents: int
    questions: int
    judged: int
    words: Figures
    meaning: Figures
    hybrid: Figures
    bm25: Figures
    gain: Figures
    close: Figures
    found: float
    empty: int
    delivered: Figures
    read: Figures


@dataclass(frozen=True, slots=True)
class History:
    """Means over all collections of one version, as the page keeps them."""

    version: str
    cells: tuple[str, ...]


def render(
    rows: Sequence[Row], history: Iterable[History], machine: Mapping[str, str], day: str
) -> str:
    """Return the whole page; *history* is oldest first, and may have this version, too."""
    parts = [_head(rows), _board(rows), _beside(rows), _gains(rows), _delivery(rows)]
    parts.append(_verdicts(rows))
    parts += [_others(), _releases(rows, history, day), _made(rows, machine)]
    return "\n\n".join(parts) + "\n"


def _head(rows: Sequence[Row]) -> str:
    asked = sum(row.questions for row in rows)
    return f"""# Quality

How well it ranks, measured on collections that others judged.
Nothing here is tuned by collection: one configuration, the default one, asks all of them.
To measure your own files, see [Measuring](guide/measuring.md).

{len(rows)} development collections, {asked:,} questions, nDCG@10: 1 is the best possible order.
In brackets stand the bounds within which the mean would lie in 95 of 100 other draws of as many questions.
A collection with more than {QUESTIONS} questions is asked a sample of {QUESTIONS}, drawn by a seed.
Each document is a file of its own, ingested as yours are, and ranks by its best passage."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _board(rows: Sequence[Row]) -> str:
    head = ("collection", "documents", "questions", "words", "meaning", "hybrid", "found in 100")
    sides = ("words", "meaning", "hybrid")
    cells = [
        (
            row.name,
            f"{row.documents:,}",
            f"{row.questions:,}",
            *(interval(getattr(row, side)) for side in sides),
            _share(row.found),
        )
        for row in rows
    ]
    means = [f"**{_share(_mean(rows, side))}**" for side in sides]
    last = ("mean", "", "", *means, _share(sum(row.found for row in rows) / len(rows)))
    return f"## The board\n\n{_table(head, [*cells, last])}"


def _beside(rows: Sequence[Row]) -> str:
    head = ("collection", "words", "BM25", "meaning", "BM25, reference", "same model, published")
    cells = [
        (
            row.name,
            _share(row.words["mean"]),
            _share(row.bm25["mean"]),
            _share(row.meaning["mean"]),
            _reference(row.name),
            _published(row.name),
        )
        for row in rows
    ]
    last = (
        "mean",
        *(_share(_mean(rows, side)) for side in ("words", "bm25", "meaning")),
        "",
        "",
    )
    return f"""## Beside others

*BM25* is of the same questions, over whole documents with the same terms, k₁ = .9 and b = .4: what ranking by words costs and gains over the textbook.
*BM25, reference* is of an independent implementation with the best analysis for each language, the better of two settings, over all questions.
*Published* is the figure of the same model, or of its larger sister where it says so, in fp32 over all questions, by the results of the MTEB project at f4cc6c8b; ours is quantised to int8.
The last two are of all questions, so on a sample they are near, not equal.

{_table(head, [*cells, last])}"""


def _reference(name: str) -> str:
    known = [figures[0] for figures in BM25.get(name, ()) if figures]
    return _share(max(known)) if known else "-"


def _published(name: str) -> str:
    if name not in PUBLISHED:
        return "-"
    figure, model = PUBLISHED[name]
    note = "" if model == "e5-small" else f" ({model.removeprefix('e5-small, ')})"
    return f"{_share(figure)}{note}"


def _gains(rows: Sequence[Row]) -> str:
    head = ("collection", "hybrid over the better channel", "p", "close reading over hybrid", "p")
    cells = [
        (
            row.name,
            _signed(row.gain),
            _chance(row.gain),
            _signed(row.close) if row.close else "-",
            _chance(row.close) if row.close else "-",
        )
        for row in rows
    ]
    return f"""## What both together gain

The change of nDCG@10 with its bounds, and by the paired randomisation test how often chance alone gives as much.
Close reading (`--rerank`) takes half a second of processor time for each question, so at most {READ_CLOSELY} of a sample are asked, and none where a dash stands; read them as a hint.

{_table(head, cells)}"""


def _delivery(rows: Sequence[Row]) -> str:
    sides = ("delivered", "read")
    head = ("collection", *(f"{side}, {n:,}" for side in ("kebab", "files") for n in BUDGETS))
    cells = [
        (row.name, *(_share(getattr(row, side)[str(n)]) for side in sides for n in BUDGETS))
        for row in rows
    ]
    means = (
        _share(math.fsum(getattr(row, side)[str(n)] for row in rows) / len(rows))
        for side in sides
        for n in BUDGETS
    )
    return f"""## What reaches a model

For which share of the questions the text of a right document (600 characters of a long one) stands in the answer of `search` over MCP, in text form and by hybrid, within so many tokens.
*Files* are those that `rg` finds for the question's three rarest words, read whole: those first that hold most of the words.
A reader has to guess these words, and reads the lines of `rg`, too; here both cost nothing.

{_table(head, [*cells, ("mean", *means)])}"""


def _verdicts(rows: Sequence[Row]) -> str:
    below = [row.name for row in rows if row.gain["mean"] < -_HYBRID_LOSS]
    sure = [row for row in rows if row.gain["p"] < _SURE]
    behind = [row.name for row in rows if row.words["mean"] < _bar(row) - _WORDS_LOSS]
    close = [row for row in rows if row.close]
    helped = sum(row.close["p"] < _SURE and row.close["mean"] > 0 for row in close)
    harmed = sum(row.close["p"] < _SURE and row.close["mean"] < 0 for row in close)
    mean = sum(row.close["mean"] for row in close) / len(close) if close else 0.0
    better = sum(row.gain["mean"] > 0 for row in sure)
    return f"""## What is promised, and kept

- Hybrid is not below the better channel by more than .005: {_but(below)}.
- Hybrid on the mean {_share(_mean(rows, "hybrid"))}, words {_share(_mean(rows, "words"))}, meaning {_share(_mean(rows, "meaning"))}; over the better channel by more than luck on {better} collections, below it by more than luck on {len(sure) - better}.
- Words are not below BM25 by more than .01, neither of the same questions nor, where all were asked, the reference's: {_but(behind)}.
- Questions that get nothing in one mode or another: {_but_empty(rows)}; sets with a 2 in their name ask in another language than their documents, of which words alone may know none.
- Close reading changes the mean by {_sign(mean)}; by more than luck it helps on {helped} of {len(close)} collections and harms on {harmed}."""


def _but_empty(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row.empty} of {row.name}" for row in rows if row.empty) or "none"


def _bar(row: Row) -> float:
    known = [figures[0] for figures in BM25.get(row.name, ()) if figures]
    return max(row.bm25["mean"], *(known if row.questions == row.judged else ()), 0.0)


def _but(names: Sequence[str]) -> str:
    return f"not kept on {', '.join(names)}" if names else "kept on all"


def _others() -> str:
    return """## Another program

qmd 2.8.3 brings a set of its own, 24 questions over 6 documents, and was asked it by words (`qmd search`): the right document is among the first three for 16 of the 24, and 8 get nothing, as all words have to occur.
recollq, asked for any of the words, has it for all 24.
qmd's searches by meaning need weights that it downloads, and were not measured."""


def _releases(rows: Sequence[Row], history: Iterable[History], day: str) -> str:
    head = ("version", "measured", "collections", "words", "meaning", "hybrid", "BM25")
    means = (_share(_mean(rows, side)) for side in ("words", "meaning", "hybrid", "bm25"))
    now = (rows[0].version, day, str(len(rows)), *means)
    before = [(each.version, *each.cells) for each in history if each.version != now[0]]
    return f"""{_HISTORY}

Means over the collections of each version, by this same command; the last row is the table above.

{_table(head, [*before, now])}"""


def _made(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    engines = ", ".join(
        f"{name} {machine[name]}" for name in ("tantivy", "onnxruntime") if name in machine
    )
    return f"""## How it is made

```sh
python tools/bench/board.py --keep ~/collections-indexed
```

It finds the collections as `tools/bench/ir.py` does, and takes about twelve minutes of processor time besides ingesting; a second run goes on where the first one stopped.
The collections are no part of the project.
This page is of kebab {rows[0].version} with {engines} and the default model, multilingual-e5-small in int8, whose last digits differ between processors."""


def history_of(page: str) -> list[History]:
    """Return the rows of the history that *page* has, oldest first."""
    table = page.partition(_HISTORY)[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [History(row[0], tuple(row[1:])) for row in rows[2:]]


def interval(found: Figures) -> str:
    """Return a mean with its bounds."""
    return f"{_share(found['mean'])} ({_share(found['low'])}–{_share(found['high'])})"


def _signed(found: Figures) -> str:
    return f"{_sign(found['mean'])} ({_sign(found['low'])} … {_sign(found['high'])})"


def _chance(found: Figures) -> str:
    return _share(found["p"]) if found["p"] >= _LEAST else "< .001"


def _sign(value: float) -> str:
    return re.sub(r"^([+-])0\.", r"\1.", f"{value:+.3f}").replace("-", "−")


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _mean(rows: Sequence[Row], side: str) -> float:
    return math.fsum(getattr(row, side)["mean"] for row in rows) / len(rows)
