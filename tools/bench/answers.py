"""How good extractive answers are, and whether the gate knows when there is none.

Collections with known answers: how often the gold answer stands in the sentences that are
shown, how often in the first of them, and how long they are. All judged collections: each
question is asked as it is and with its relevant documents taken out, so that only their
near neighbours are left; printed are how well the gate's figure tells the two apart (AUROC,
with the middle 95 of 100 resamples of the questions; .5 is a coin), the same where a relevant
document is among those that are read, what the best single feature tells, and what the lines
cost: how many with an answer are refused, or given as weak, and how many without one are let
in, as weak or at all.

    python tools/bench/ir.py --sets all --keep DIR           ingests, once
    python tools/bench/answers.py DIR                        measures what is in the product
    python tools/bench/answers.py DIR --sets "xquad-en>xquad-zh,cosqa-dev"
    python tools/bench/answers.py DIR --words                without reading: words alone
    python tools/bench/answers.py DIR --sets "locomo-turns!"  questions with a false premise
    python tools/bench/answers.py DIR --model all-MiniLM-L6-v2
    python tools/bench/answers.py DIR --fit                  fits the constants anew

``--fit`` prints the weights of ``kb_app/_ask/extract.py`` and ``gate.py``, and what each
collection gets from weights that were fitted on all the others. The gate is fitted on prose;
how its odds are bent for another kind of passages, on questions of that kind of which a
relevant document was read, and tried on one half by what the other half gives.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from beir import Collection, load_collection, sampled
from confidence import area, opened
from ir import add_data_option
from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app._ask import extract, gate
from kb_app._ask.evidence import DEPTH, Evidence, bare, evidence_of
from kb_app._ask.narrowing import narrow
from kb_app._search.query import parse_query
from kb_core.filters import Not, OneOf
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["Case", "Unit", "cases", "main"]

_RESAMPLES = 200
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of the evidence: its features, and whether the gold answer stands in it."""

    features: tuple[float, ...]
    is_gold: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A question, with its answer there or taken out."""

    is_there: bool
    gate: tuple[float, ...]
    chance: float
    verdict: str
    """``no``, ``weak`` or ``yes``, by the shipped gate."""
    query: str
    kind: str
    """As ``gate.kind_of`` has it, or ``foreign``."""
    lacking: float
    is_read: bool
    """Whether a relevant document is among those that are read."""
    units: tuple[Unit, ...] = ()
    shown: tuple[bool, bool, float] | None = None
    """Whether the gold answer is in the first quote, in all, and how many words they have."""


@dataclass(slots=True)
class _Set:
    """An ingested collection, ready to be asked."""

    home: Path
    collection: Collection
    answers: Mapping[str, Sequence[str]]
    reads: bool
    model: str | None
    is_false: bool
    """Whether the questions presume what is not so: nothing answers them, and all is there."""


def cases(asked: _Set) -> Iterator[Case]:
    """Yield two cases per question: with what is relevant, and without."""
    engine, embedder, judged = opened(asked.home, asked.collection, asked.model)
    reader = embedder.close_reader() if asked.reads else None
    model = embedder().model.name
    for query, relevant in judged.items():
        text = asked.collection.queries[query]
        for is_there in (False,) if asked.is_false else (True, False):
            is_whole = is_there or asked.is_false
            without = None if is_whole else Not(OneOf("doc_id", tuple(sorted(relevant))))
            ranking = engine.ranking(SearchQuery(text=text, mode=SearchMode.HYBRID), without)
            narrowed = narrow(engine, ranking)
            ranking, rest = (narrowed.ranking, narrowed.named.rest) if narrowed else (ranking, None)
            known = engine.snapshot.known_words(parse_query(rest or text).lexical)
            rows = ranking.rows[:DEPTH]
            chunks = engine.snapshot.chunks([row.chunk_key for row in rows])
            evidence = evidence_of(
                text,
                [chunks[row.chunk_key] for row in rows],
                [row.score for row in rows],
                known,
                reader,
                rest=rest,
                indexed=engine.snapshot.control.stats.get("chunk_count"),
            )
            if evidence is None or not any(passage.pieces for passage in evidence.passages):
                continue
            gold = asked.answers.get(query, ()) if is_there else ()
            is_read = any(passage.chunk["doc_id"] in relevant for passage in evidence.passages)
            yield case_of(evidence, query, gold, model, is_there=is_there, is_read=is_read)


def case_of(
    evidence: Evidence,
    query: str,
    gold: Sequence[str],
    model: str,
    *,
    is_there: bool,
    is_read: bool,
) -> Case:
    """Return what *evidence* says to the gate, and of the sentences if there is a *gold* answer."""
    evidence, shipped = gate.judged(model, evidence)
    chance = gate.chance_of(evidence, shipped) if shipped else 0.0
    judged = (
        is_there,
        gate.features(evidence),
        chance,
        _verdict(chance, shipped),
        query,
        "foreign" if evidence.is_foreign else gate.kind_of(evidence),
        evidence.lacking,
        is_read,
    )
    if not gold:
        return Case(*judged)
    units = extract.ranked(evidence)
    rows = extract.features(evidence, units)
    told = tuple(
        Unit(row, _holds(unit.piece.text, gold)) for unit, row in zip(units, rows, strict=True)
    )
    parts = extract.extracts(evidence)
    text = " ".join(part.text for part in parts)
    first = _holds(parts[0].text, gold) if parts else False
    shown = (first, _holds(text, gold), extract.words_in(text))
    return Case(*judged, told, shown)


def _verdict(chance: float, shipped: gate.Gate | None) -> str:
    if shipped is None or chance >= shipped.sure:
        return "yes"
    return "weak" if chance >= shipped.threshold else "no"


def _holds(text: str, gold: Sequence[str]) -> bool:
    plain = bare(text)
    return any(bare(answer) in plain for answer in gold)


# -------------------------------------------------------------------- fitting


def _logistic(rows: Array, truth: Array, weights: Array, ridge: float = 1e-3) -> Array:
    """Return the constant and the weights of a logistic regression, for features as they are."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    table = np.c_[np.ones(len(rows)), (rows - mean) / spread]
    kept = ridge * np.diag([0.0] + [1.0] * rows.shape[1])
    found = np.zeros(table.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-table @ found))
        slope = weights * chance * (1 - chance) + 1e-9
        gradient = table.T @ (weights * (truth - chance)) - kept @ found
        found = found + np.linalg.solve(table.T @ (table * slope[:, None]) + kept, gradient)
    raw = found[1:] / spread
    weights_of: Array = np.r_[found[0] - raw @ mean, raw]
    return weights_of


def _listwise(lists: Sequence[tuple[Array, Array]], ridge: float = 1.0) -> Array:
    """Return weights under which the units with the gold answer have the most of the softmax."""
    everything = np.concatenate([rows for rows, _ in lists])
    mean, spread = everything.mean(axis=0), everything.std(axis=0) + 1e-9
    tables = [((rows - mean) / spread, gold) for rows, gold in lists if gold.any()]
    found = np.zeros(everything.shape[1])
    slow, fast = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, 401):  # Adam
        gradient = -ridge * found / len(tables)
        for table, gold in tables:
            raised = table @ found
            chance = np.exp(raised - raised.max())
            chance /= chance.sum()
            wanted = chance * gold
            gradient += table.T @ (wanted / (wanted.sum() + 1e-12) - chance) / len(tables)
        slow, fast = 0.9 * slow + 0.1 * gradient, 0.99 * fast + 0.01 * gradient**2
        up = slow / (1 - 0.9**step), fast / (1 - 0.99**step)
        found = found + 0.05 * up[0] / (np.sqrt(up[1]) + 1e-8)
    weights: Array = found / spread
    return weights


def _lists(found: Sequence[Case]) -> list[tuple[Array, Array]]:
    return [
        (
            np.array([unit.features for unit in case.units]),
            np.array([unit.is_gold for unit in case.units], float),
        )
        for case in found
        if case.units
    ]


def _gate_data(found: Mapping[str, Sequence[Case]]) -> tuple[Array, Array, Array]:
    rows = np.array([case.gate for one in found.values() for case in one])
    truth = np.array([case.is_there for one in found.values() for case in one], float)
    weights = np.concatenate([np.full(len(one), 100 / len(one)) for one in found.values()])
    return rows, truth, weights


def _pairs(found: Sequence[Case], kind: str) -> list[Case]:
    """Return the cases of one kind, of questions of which a relevant document was read."""
    read = {case.query for case in found if case.is_there and case.is_read}
    return [case for case in found if case.kind == kind and case.query in read]


def _bend(found: Sequence[Case], gates: Array, kind: str) -> Array:
    """Return how the odds of *gates* are bent for *found*, each side weighing the same.

    Pieces of code lack no names that tell anything, and nearness tells nothing in a series:
    for those, one of both is fitted.
    """
    odds = gates[0] + np.array([case.gate for case in found]) @ gates[1:]
    lacking = np.array([case.lacking for case in found])
    used = np.array([kind != "series", kind != "code"])
    truth = np.array([case.is_there for case in found], float)
    sides = np.where(truth > 0, 0.5 / max(truth.mean(), 1e-9), 0.5 / max(1 - truth.mean(), 1e-9))
    bend = np.zeros(3)
    bend[np.r_[True, used]] = _logistic(np.c_[odds, lacking][:, used], truth, sides, ridge=1.0)
    return bend


def _bends(found: Mapping[str, Sequence[Case]], gates: Array) -> Iterator[str]:
    """Yield how each kind but prose is bent, and how well either half does by the other."""
    everything = [
        replace(case, query=f"{name} {case.query}") for name, one in found.items() for case in one
    ]
    for kind in sorted({case.kind for case in everything} - {"prose", "foreign"}):
        cases_ = _pairs(everything, kind)
        if len({case.is_there for case in cases_}) < 2:  # noqa: PLR2004 - both sides
            continue
        yield f"bend {kind} {_listed(_bend(cases_, gates, kind))} of {len(cases_)} cases"
        queries = sorted({case.query for case in cases_})
        random.Random(1).shuffle(queries)  # noqa: S311 - no secret
        halves = set(queries[::2]), set(queries[1::2])
        told: list[tuple[bool, float]] = []
        for half, other in (halves, halves[::-1]):
            bend = _bend([case for case in cases_ if case.query in other], gates, kind)
            for case in cases_:
                if case.query in half:
                    odds = gates[0] + np.array(case.gate) @ gates[1:]
                    told.append((case.is_there, float(bend @ (1.0, odds, case.lacking))))
        high, low = ([x for there, x in told if there is side] for side in (True, False))
        yield f"  {kind}: AUROC {area(high, low):.3f}, each half by the other"


def _best_threshold(chance: Array, truth: Array, weights: Array) -> float:
    marks = np.linspace(0.2, 0.8, 61)
    right = [float((weights * ((chance >= mark) == (truth > 0))).sum()) for mark in marks]
    return round(float(marks[int(np.argmax(right))]), 2)


def _fit(found: Mapping[str, Sequence[Case]]) -> str:
    lines = []
    prose = {
        name: kept
        for name, one in found.items()
        if len(kept := [case for case in one if case.kind == "prose"]) * 2 > len(one)
    } or found
    rows, truth, weights = _gate_data(prose)
    gates = _logistic(rows, truth, weights)
    chance = 1 / (1 + np.exp(-(gates[0] + rows @ gates[1:])))
    lines.append(f"gate {_listed(gates)}, threshold {_best_threshold(chance, truth, weights)}")
    for name, one in prose.items():
        others = {other: cases_ for other, cases_ in prose.items() if other != name} or prose
        left = _logistic(*_gate_data(others))
        told = [(case.is_there, left[0] + np.array(case.gate) @ left[1:]) for case in one]
        high, low = ([float(x) for there, x in told if there is side] for side in (True, False))
        lines.append(f"  {name}: AUROC {area(high, low):.3f} by weights of the others")
    lines += _bends(found, gates)
    lists = [pair for one in found.values() for pair in _lists(one)]
    if lists:
        lines.append(f"units {_listed(_listwise(lists))}")
    for name, one in found.items():
        rest = [pair for other, c in found.items() if other != name for pair in _lists(c)]
        if rest and (own := _lists(one)):
            of_others = _listwise(rest)
            first = np.mean([gold[int(np.argmax(table @ of_others))] for table, gold in own])
            lines.append(f"  {name}: first sentence {first:.3f} by weights of the others")
    return "\n".join(lines)


def _listed(values: Array) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


# ------------------------------------------------------------------- printing


def _told(found: Sequence[Case]) -> float:
    """Return how often a case with an answer has the higher chance than one without."""
    there = [case.chance for case in found if case.is_there]
    return area(there, [case.chance for case in found if not case.is_there])


def _interval(found: Sequence[Case]) -> str:
    """Return the AUROC, and between what it lies in 95 of 100 resamples of the questions."""
    by_query: dict[str, list[Case]] = {}
    for case in found:
        by_query.setdefault(case.query, []).append(case)
    draws = random.Random(1)  # noqa: S311 - no secret
    told = sorted(
        _told(
            [
                case
                for one in draws.choices(list(by_query.values()), k=len(by_query))
                for case in one
            ]
        )
        for _ in range(_RESAMPLES)
    )
    low, high = told[_RESAMPLES // 40], told[-_RESAMPLES // 40 - 1]
    return f"{_told(found):.3f} ({low:.2f}-{high:.2f})"


def _single(found: Sequence[Case]) -> str:
    """Return the feature that tells best by itself, and how well."""
    table = np.c_[np.array([case.gate for case in found]), [-case.lacking for case in found]]
    truth = np.array([case.is_there for case in found])
    told = [
        area(table[truth, i].tolist(), table[~truth, i].tolist()) for i in range(table.shape[1])
    ]
    best = int(np.argmax(told))
    names = (*gate.FEATURES, "names and figures that lack")
    return f"{told[best]:.3f} {names[best]}"


def _row(name: str, found: Sequence[Case]) -> tuple[str, ...]:
    there = [case for case in found if case.is_there]
    gone = [case for case in found if not case.is_there]
    read = {case.query for case in there if case.is_read}
    shown = [case.shown for case in found if case.shown is not None]

    def share(cases_: Sequence[Case], *verdicts: str) -> str:
        return f"{np.mean([case.verdict in verdicts for case in cases_]):.2f}" if cases_ else "-"

    answers = (
        ["-"] * 3
        if not shown
        else [f"{np.mean([one[i] for one in shown]):.3f}" for i in (0, 1)]
        + [f"{np.mean([one[2] for one in shown]):.0f}"]
    )
    told = (
        (
            f"{len(read) / len(there):.2f}",
            _interval(found),
            f"{_told([case for case in found if case.query in read]):.3f}",
            _single(found),
        )
        if there
        else ("-",) * 4
    )
    return (
        name,
        str(len(there) or len(gone)),
        *answers,
        *told,
        share(there, "no"),
        share(there, "weak"),
        share(gone, "weak", "yes"),
        share(gone, "yes"),
    )


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("keep", type=Path, metavar="DIR", help="where ir.py has ingested")
    parser.add_argument(
        "--sets",
        default="",
        help="names with commas, A>B for questions of A in B; all that are in DIR",
    )
    parser.add_argument("--queries", type=int, default=150, help="a sample of so many per set")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--words", action="store_true", help="without reading")
    parser.add_argument("--model", help="another model, as DIR was made with")
    parser.add_argument("--fit", action="store_true", help="print constants, fitted anew")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="keep the cases, or take them")
    add_data_option(parser)
    return parser.parse_args(words)


def _collect(options: argparse.Namespace) -> dict[str, list[Case]]:
    names = (
        options.sets.split(",") if options.sets else sorted(p.name for p in options.keep.iterdir())
    )
    found: dict[str, list[Case]] = {}
    for name in names:
        asked_in, _, name_of = name.removesuffix("!").rpartition(">")
        collection = load_collection(options.data / name_of)
        if asked_in:  # the same questions in another language, by the same ids
            other = load_collection(options.data / asked_in)
            collection = replace(collection, queries=other.queries)
        file = options.data / name_of / "answers.jsonl"
        lines = file.read_text("utf-8").splitlines() if file.is_file() else []
        rows = [json.loads(line) for line in lines]
        is_false, false = name.endswith("!"), {r["_id"] for r in rows if r.get("adversarial")}
        queries = {q: text for q, text in collection.queries.items() if (q in false) is is_false}
        collection = sampled(replace(collection, queries=queries), options.queries, options.seed)
        answers = {row["_id"]: row.get("answers", ()) for row in rows if not row.get("impossible")}
        asked = _Set(
            home=options.keep / name_of,
            collection=collection,
            answers=answers,
            reads=not options.words,
            model=options.model,
            is_false=is_false,
        )
        found[name] = list(cases(asked))
        print(f"{name}: {len(found[name])} cases", file=sys.stderr, flush=True)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure every wanted collection and print the figures."""
    options = _parse(words)
    if not options.keep.is_dir():
        print(f"no folder '{options.keep}': make it with ir.py --keep", file=sys.stderr)
        return 0
    use_private_cache()
    random.seed(options.seed)
    if options.cases and options.cases.is_file():
        found = pickle.loads(options.cases.read_bytes())  # noqa: S301 - our own
    else:
        found = _collect(options)
        if options.cases:
            options.cases.write_bytes(pickle.dumps(found))
    if options.fit:
        print(_fit(found))
        return 0
    head = (
        "set",
        "asked",
        "first",
        "shown",
        "words",
        "read",
        "AUROC",
        "where read",
        "best single feature",
        "refused",
        "weak",
        "let in",
        "not as weak",
    )
    print(machine_line(describe_machine()))
    print(render_table(head, [_row(name, one) for name, one in found.items()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
