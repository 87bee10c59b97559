"""The index on Milvus beside the embedded one: loading, questions, memory, disk.

    python tools/bench/milvus.py --passages 20000 [--uri URI] [--only embedded|milvus]

Passages are drawn from a vocabulary whose words are as common as Zipf says, vectors from
clusters; both engines get the same publications. Times of questions are processor seconds of
the whole process, engine included where it runs in it, and wall time beside it. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from kb_core.filters import And, Filter, Glob, Range, Tagged
from kb_core.ports import IndexReader, IndexSnapshot, IndexWriter
from kb_core.records import DocumentRecord, Publication, VectorRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search.milvus import Place

__all__ = ["main"]

_WORDS = 30_000
_LENGTH = 80
_SIZE = 384
_PARTS = 10
_STEP = 200
_MODEL = "bench"
_ASKED = 20
_NARROW: dict[str, Filter | None] = {
    "": None,
    " in a folder": Glob("d1/**"),
    " with a tag, dated": And((Tagged(("t2",)), Range("trust", 1, None))),
}


class Drawn:
    """Passages and vectors, always the same."""

    def __init__(self, passages: int) -> None:
        self._chance = random.Random(7)  # noqa: S311 - draws of a bench
        self._weights = [1 / (rank + 3) for rank in range(_WORDS)]
        self._centres = [self._vector(1.0) for _ in range(50)]
        self.passages = passages

    def steps(self) -> Iterator[Publication]:
        """Yield the publications, each with the vectors of its passages."""
        corpus = Corpus()
        for first in range(0, self.passages // _PARTS, _STEP):
            numbers = range(first, min(first + _STEP, self.passages // _PARTS))
            docs = [self._document(corpus, number) for number in numbers]
            step = corpus.publication(*docs)
            keys = [chunk.chunk_key for doc in step.documents for chunk in doc.chunks]
            vectors = tuple(VectorRecord(key, self._near()) for key in keys)
            yield replace(
                step,
                vector_revision=step.sequence,
                vectors={_MODEL: vectors},
                models={_MODEL: {"name": _MODEL, "dimensions": _SIZE}},
            )

    def question(self) -> str:
        """Return three words, none of the most common."""
        return " ".join(f"w{self._chance.randint(20, 3000)}" for _ in range(3))

    def query(self) -> bytes:
        """Return a vector near one of the clusters."""
        return struct.pack(f"<{_SIZE}f", *struct.unpack(f"<{_SIZE}e", self._near()))

    def _document(self, corpus: Corpus, number: int) -> DocumentRecord:
        draw = self._chance.choices(range(_WORDS), self._weights, k=_PARTS * _LENGTH)
        cuts = sorted(self._chance.sample(range(1, len(draw)), _PARTS - 1))
        parts = (draw[a:b] for a, b in pairwise([0, *cuts, len(draw)]))
        text = "\n\n".join(" ".join(f"w{word}" for word in part) for part in parts)
        return corpus.document(f"d{number % 20}/{number}.md", text, tags=(f"t{number % 4}",))

    def _near(self) -> bytes:
        centre = self._chance.choice(self._centres)
        near = [a + b for a, b in zip(centre, self._vector(0.5), strict=True)]
        length = sum(value * value for value in near) ** 0.5
        return struct.pack(f"<{_SIZE}e", *(value / length for value in near))

    def _vector(self, size: float) -> list[float]:
        return [self._chance.gauss(0, size / _SIZE**0.5) for _ in range(_SIZE)]


def main() -> int:
    """Measure what was asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--uri", help="a server; else milvus-lite, in this process")
    parser.add_argument("--only", choices=("embedded", "milvus"), default="embedded")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        told = measured(given.only, folder, given.uri, Drawn(given.passages))
    finally:
        shutil.rmtree(folder)
    json.dump(told, sys.stdout, indent=1)
    return 0


def measured(engine: str, folder: Path, uri: str | None, drawn: Drawn) -> dict[str, Any]:
    """Load one engine, ask it, and return what that took."""
    writer, reader = parts_of(engine, folder, uri)
    loading, wall = 0.0, 0.0
    for step in drawn.steps():
        cpu, now = time.process_time(), time.perf_counter()
        writer.publish(step)
        loading += time.process_time() - cpu
        wall += time.perf_counter() - now
    cpu, now = time.process_time(), time.perf_counter()
    writer.close()
    loading += time.process_time() - cpu
    wall += time.perf_counter() - now
    told: dict[str, Any] = {
        "engine": engine,
        "passages": drawn.passages,
        "load cpu s": round(loading, 1),
        "load wall s": round(wall, 1),
        "disk MB": round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6, 1),
    }
    told |= asked(reader().snapshot(), drawn)
    told["peak memory MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    return told


def parts_of(
    engine: str, folder: Path, uri: str | None
) -> tuple[IndexWriter, Callable[[], IndexReader]]:
    """Return a writer of an empty index, and what opens a reader of it."""
    if engine == "milvus":
        from kb_search.milvus.reader import Reader as MilvusReader
        from kb_search.milvus.writer import Writer as MilvusWriter

        place = Place(uri=uri or str(folder / "milvus.db"), collection="kebabbench")
        return MilvusWriter(place), lambda: MilvusReader(place)
    from kb_search.reader import Reader
    from kb_search.writer import Writer

    return Writer(folder), lambda: Reader(folder)


def asked(snapshot: IndexSnapshot, drawn: Drawn) -> dict[str, Any]:
    """Ask by words, by meaning, and by both, with and without filters; in milliseconds."""
    told: dict[str, Any] = {}
    for called, where in _NARROW.items():
        words = [LexicalQuery((Clause(drawn.question()),)) for _ in range(_ASKED)]
        vectors = [drawn.query() for _ in range(_ASKED)]
        ways: dict[str, list[Callable[[], object]]] = {
            "words": [partial(snapshot.lexical, asked, where, 100) for asked in words],
            "meaning": [partial(snapshot.vector, near, _MODEL, where, 100) for near in vectors],
        }
        ways["both"] = [partial(each, *pair) for pair in zip(*ways.values(), strict=True)]
        for way, questions in ways.items():
            told[f"{way}{called}"] = timed(questions)
    return told


def each(*questions: Callable[[], object]) -> None:
    """Ask one after the other."""
    for ask in questions:
        ask()


def timed(questions: list[Callable[[], object]]) -> dict[str, float]:
    """Return the first time apart, then the middle and the slow end, of processor and wall."""
    spent, waited = [], []
    for ask in questions:
        cpu, now = time.process_time(), time.perf_counter()
        ask()
        spent.append((time.process_time() - cpu) * 1000)
        waited.append((time.perf_counter() - now) * 1000)
    first, rest = spent[0], sorted(spent[1:])
    return {
        "first cpu": round(first, 1),
        "p50 cpu": round(statistics.median(rest), 1),
        "p95 cpu": round(rest[int(len(rest) * 0.95)], 1),
        "p50 wall": round(statistics.median(waited[1:]), 1),
    }


if __name__ == "__main__":
    raise SystemExit(main())
