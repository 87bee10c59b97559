"""Does an index remember what was deleted, in its scores or in its speed?

Documents are written through the truth and the index, then edited and deleted in runs of
their own, as a person does over months; beside that index stands a fresh one of the same
documents. Printed, for each history: what a run of edits takes, how many records are dead
or fillers, by how much scores differ, and what the same searches take in both, in turns.

    python tools/bench/deletions.py                     20 histories of 500 documents
    python tools/bench/deletions.py --docs 5000 --histories 1 --runs 40

Any score that differs by more than rounding makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from tables import milliseconds, quantile, render_table, run_rounds
from words import Words

from kb_app._wiring import open_session
from kb_core.clock import utc_now
from kb_core.records import Changes, DocumentRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import document, file_row
from kb_search.opening import read_segments
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot

__all__ = ["Result", "difference", "main", "measure"]

ROUNDING = 2e-6
_BATCH = 250
_SHARE = 0.02
"""Of all documents, how many a run edits, and how many it deletes."""
_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one history came to; times in seconds."""

    passages: int
    dead: int
    run_secs: Sequence[float]
    worst: float
    """The largest relative difference of a score from the fresh index's."""
    aged_secs: Sequence[float]
    fresh_secs: Sequence[float]


def difference(aged: Mapping[str, float], fresh: Mapping[str, float]) -> float:
    """Return by how much the scores of the same passages differ at most, relatively."""
    both = aged.keys() & fresh.keys()
    return max((abs(aged[key] - fresh[key]) / max(1.0, fresh[key]) for key in both), default=0.0)


def measure(home: Path, docs: int, runs: int, seed: int) -> Result:
    """Live through one history below *home* and compare."""
    words, chance = Words(seed), random.Random(seed)  # noqa: S311 - not for secrets
    texts = {f"{number}.md": words.markdown(4) for number in range(docs)}
    _write(home / "aged", [document(path, text) for path, text in texts.items()])
    taken = []
    for _ in range(runs):
        size = max(1, round(_SHARE * len(texts)))
        gone, edited = chance.sample(sorted(texts), size), chance.sample(sorted(texts), size)
        texts |= {path: words.markdown(chance.randint(1, 8)) for path in edited}
        texts = {path: text for path, text in texts.items() if path not in gone}
        changed = [document(path, texts[path]) for path in edited if path in texts]
        started = time.perf_counter()
        _write(home / "aged", changed, [document(path, "").doc_id for path in gone])
        taken.append(time.perf_counter() - started)
    _write(home / "fresh", [document(path, text) for path, text in texts.items()])
    aged, fresh = (Reader(home / name).snapshot() for name in ("aged", "fresh"))
    questions = [words.query(chance.randint(1, 6)) for _ in range(60)]
    worst = max(difference(_scores(aged, q), _scores(fresh, q)) for q in questions)
    rounds = run_rounds(
        {
            "aged": lambda question: _search(aged, question),
            "fresh": lambda question: _search(fresh, question),
        },
        questions,
    )
    records = read_segments(home / "aged/lexical/chunks").records
    return Result(
        passages=aged.count(None),
        dead=records - aged.count(None),
        run_secs=taken,
        worst=worst,
        aged_secs=rounds["aged"].wall,
        fresh_secs=rounds["fresh"].wall,
    )


def _write(data_dir: Path, documents: Sequence[DocumentRecord], gone: Sequence[str] = ()) -> None:
    with open_session(data_dir, lock_wait_secs=5, clock=utc_now) as session:
        for batch in _batches(documents):
            rows = tuple(file_row(doc.path, doc_id=doc.doc_id) for doc in batch)
            session.commit(Changes(documents=tuple(batch), files=rows))
        session.commit(Changes(deleted_docs=tuple(gone)))
        session.tidy()


def _batches(documents: Sequence[DocumentRecord]) -> Iterator[Sequence[DocumentRecord]]:
    for start in range(0, len(documents), _BATCH):
        yield documents[start : start + _BATCH]


def _search(snapshot: Snapshot, question: str) -> object:
    return snapshot.lexical(LexicalQuery((Clause(question),)), None, _LIMIT)


def _scores(snapshot: Snapshot, question: str) -> dict[str, float]:
    rows = snapshot.lexical(LexicalQuery((Clause(question),)), None, _LIMIT)
    chunks = snapshot.chunks([row.chunk_key for row in rows])
    return {chunks[row.chunk_key]["chunk_id"]: row.score for row in rows}


def _row(number: int, result: Result) -> tuple[str, ...]:
    return (
        str(number),
        f"{result.passages:,}",
        f"{result.dead:,}",
        milliseconds(quantile(result.run_secs, 0.5) * 1000),
        f"{result.worst:.1e}",
        milliseconds(quantile(result.aged_secs, 0.5) * 1000),
        milliseconds(quantile(result.fresh_secs, 0.5) * 1000),
    )


def main(words: Sequence[str] | None = None) -> int:
    """Live through every history and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--docs", type=int, default=500, help="at the beginning, of some passages")
    parser.add_argument("--runs", type=int, default=12, help="of edits and deletions")
    parser.add_argument("--histories", type=int, default=20)
    options = parser.parse_args(words)
    use_private_cache()
    print(machine_line(describe_machine()))
    results = []
    for seed in range(options.histories):
        with tempfile.TemporaryDirectory() as home:
            results.append(measure(Path(home), options.docs, options.runs, seed))
    head = ("history", "passages", "dead", "run ms", "difference", "aged ms", "fresh ms")
    print(render_table(head, [_row(number, result) for number, result in enumerate(results)]))
    worst = max(result.worst for result in results)
    verdict = "kept  " if worst <= ROUNDING else "MISSED"
    print(f"{verdict} scores are those of a fresh index, within {ROUNDING:.0e} ({worst:.1e})")
    return 0 if worst <= ROUNDING else 1


if __name__ == "__main__":
    sys.exit(main())
