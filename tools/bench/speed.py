"""How fast a warm process answers, beside what its parts and others can do.

Knowledge bases of made-up documents (``words``) are written through the truth and the
index as an ingest writes them, but without parsing or a model: vectors are random points
of many clusters. Then, in turns on the same questions:

    lexical   ten rendered hits through the facade · raw tantivy · SQLite FTS5
    vector    ``snapshot.vector`` · numpy over float32
    hybrid    through the facade, its query embedded by the real model · the sum of its parts

and last, how fast batches are published into that store, and what a chunk costs on disk.

    python tools/bench/speed.py                      10,000 and 100,000 chunks
    python tools/bench/speed.py --chunks 1000000     a million; minutes and gigabytes
    python tools/bench/speed.py --keep DIR           build once, measure again

Raw tantivy is asked twice: for the stems of the query in one field, the least that could
be called a search; and for the very query that the product asks, so that the rest of the
way is seen alone. Both fetch ten stored documents. FTS5 holds the same texts, stemmed.

Where other programs want the cores, compare CPU times; and numpy's threads then wait for
each other: ``OPENBLAS_NUM_THREADS=1`` shows it without them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import generated
import numpy as np
import numpy.typing as npt
import peers
from machine import describe_machine, machine_line, use_private_cache
from tables import Taken, milliseconds, quantile, render_table, run_rounds, summarize
from words import Words

from kb_app import Config, KnowledgeBase
from kb_core.media import SearchMode
from kb_core.ports import Embedder
from kb_core.search import Clause, LexicalQuery, SearchQuery
from kb_search.embed import load_embedder
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot

__all__ = ["main", "measure"]

POOL = 100
ALLOWED_BYTES, ALLOWED_TEXTS = 2200, 2.5
"""What a chunk may take on disk: so many bytes, and so many times its text."""
HITS = 10
QUERY_WORDS = 5
VECTOR_BLOCK = 25
"""Both scans use threads that go on spinning for a while."""
FEWER_FOR_FTS = 4
"""SQLite is asked every so manieth question only: one takes up to half a second."""

Timings = Mapping[str, Taken]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A knowledge base with everything that is measured on it."""

    kb: KnowledgeBase
    snapshot: Snapshot
    data_dir: Path
    embedder: Embedder
    model_key: str


def measure(config: Config, n_chunks: int, n_queries: int) -> dict[str, Any]:
    """Return every figure of one knowledge base; the last of them writes into it."""
    data_dir = config.storage.data_dir
    built = generated.build(config, n_chunks)
    sizes = generated.sizes(config)
    embedder = load_embedder(
        config.embedding.model, quality=config.embedding.quality, cache_dir=generated.models_dir()
    )
    snapshot = Reader(data_dir).snapshot()
    with KnowledgeBase.open(config) as kb:
        subject = Subject(
            kb=kb,
            snapshot=snapshot,
            data_dir=data_dir,
            embedder=embedder,
            model_key=embedder.model.key,
        )
        source = Words(7)
        queries = [source.query(1 + at % QUERY_WORDS) for at in range(n_queries)]
        timings = {
            **_lexical(subject, queries),
            **_fts(subject, config, queries[::FEWER_FOR_FTS]),
            **_vector(subject, n_queries),
            **_hybrid(subject, queries),
        }
    return {
        "chunks": n_chunks,
        "documents": snapshot.control.stats["doc_count"],
        "build": built,
        "timings": {
            name: {**summarize(taken.wall), "cpu_ms": quantile(taken.cpu, 0.5) * 1000}
            for name, taken in timings.items()
        },
        "ratios": _ratios(timings),
        "bytes_per_chunk": {name: size / n_chunks for name, size in sizes.items()},
        "publication": generated.publish_more(config, n_chunks),
    }


def _lexical(subject: Subject, queries: Sequence[str]) -> Timings:
    raw = peers.RawTantivy(subject.data_dir, subject.snapshot.languages)
    return run_rounds(
        {
            "lexical, facade": _facade(subject, SearchMode.LEXICAL),
            "lexical, snapshot alone": lambda text: subject.snapshot.lexical(
                LexicalQuery((Clause(text),)), None, POOL
            ),
            "tantivy, the same query": lambda text: raw.same_query(text, POOL, HITS),
            "tantivy, stems in one field": lambda text: raw.stems(text, POOL, HITS),
        },
        queries,
    )


def _fts(subject: Subject, config: Config, queries: Sequence[str]) -> Timings:
    fts = peers.FullTextSearch(generated.fts_file(config))
    taken = run_rounds(
        {
            "FTS5, OR": lambda text: fts.search(text, HITS),
            "lexical, facade (those FTS5 was asked)": _facade(subject, SearchMode.LEXICAL),
        },
        queries,
    )
    fts.close()
    return taken


def _vector(subject: Subject, n_queries: int) -> Timings:
    rows = peers.load_vectors(subject.data_dir, subject.snapshot.control.vectors[subject.model_key])
    brute = peers.BruteForce(rows)
    return run_rounds(
        {
            "vector, snapshot": lambda asked: subject.snapshot.vector(
                asked.tobytes(), subject.model_key, None, POOL
            ),
            "numpy float32": lambda asked: brute.nearest(asked, POOL),
        },
        _near(rows, n_queries),
        block=VECTOR_BLOCK,
    )


def _near(
    rows: npt.NDArray[np.float32], count: int, *, noise: float = 0.03
) -> list[npt.NDArray[np.float32]]:
    """Return vectors that lie near some of *rows*, as questions lie near their answers."""
    generator = np.random.default_rng(11)
    picked = rows[generator.integers(0, len(rows), count)]
    moved = picked + noise * generator.standard_normal(picked.shape)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return list(moved.astype("<f4"))


def _hybrid(subject: Subject, queries: Sequence[str]) -> Timings:
    vectors = {text: subject.embedder.embed_query(text) for text in queries}
    return run_rounds(
        {
            "hybrid, facade": _facade(subject, SearchMode.HYBRID),
            "part: query embedding": subject.embedder.embed_query,
            "part: vector scan": lambda text: subject.snapshot.vector(
                vectors[text], subject.model_key, None, POOL
            ),
            "part: lexical search with hits": _facade(subject, SearchMode.LEXICAL),
        },
        queries,
    )


def _facade(subject: Subject, mode: SearchMode) -> Callable[[str], object]:
    return lambda text: subject.kb.search(SearchQuery(text=text, mode=mode, k=HITS))


def _ratios(timings: Timings) -> dict[str, tuple[float, float]]:
    """Return medians of the ratios, question by question: of wall time, and of CPU time."""
    pairs = {
        "lexical facade / tantivy, the same query": (
            ("lexical, facade",),
            ("tantivy, the same query",),
        ),
        "lexical facade / tantivy, stems": (("lexical, facade",), ("tantivy, stems in one field",)),
        "FTS5 / lexical facade": (("FTS5, OR",), ("lexical, facade (those FTS5 was asked)",)),
        "numpy float32 / vector": (("numpy float32",), ("vector, snapshot",)),
        "hybrid facade / sum of its parts": (
            ("hybrid, facade",),
            tuple(name for name in timings if name.startswith("part: ")),
        ),
    }
    return {
        name: (
            _ratio([[timings[part].wall for part in side] for side in sides]),
            _ratio([[timings[part].cpu for part in side] for side in sides]),
        )
        for name, sides in pairs.items()
    }


def _ratio(sides: Sequence[Sequence[Sequence[float]]]) -> float:
    over, under = ([sum(of_one) for of_one in zip(*side, strict=True)] for side in sides)
    return float(np.median([a / b for a, b in zip(over, under, strict=True)]))


def render(found: Mapping[str, Any]) -> str:
    """Return the figures of one knowledge base as tables."""
    rows = [
        (
            name,
            *(milliseconds(taken[column]) for column in ("p50_ms", "p95_ms", "max_ms", "cpu_ms")),
        )
        for name, taken in found["timings"].items()
    ]
    ratios = [(name, *(f"{x:.2f}" for x in both)) for name, both in found["ratios"].items()]
    parts = [
        f"\n== {found['chunks']:,} chunks in {found['documents']:,} documents; "
        + _named(found["build"]),
        render_table(
            ("one after the other, in turns", "p50 ms", "p95 ms", "max ms", "CPU p50"), rows
        ),
        render_table(("ratio, median", "wall", "CPU"), ratios),
        "bytes per chunk: " + _named(found["bytes_per_chunk"], "{:,.0f}") + _allowed(found),
        "publishing more, without vectors: " + _named(found["publication"]),
    ]
    return "\n".join(parts)


def _allowed(found: Mapping[str, Any]) -> str:
    """Say what the parts add up to, and what they may."""
    sizes = dict(found["bytes_per_chunk"])
    text = sizes.pop("text")
    limit = ALLOWED_BYTES + ALLOWED_TEXTS * text
    return f"; together {sum(sizes.values()):,.0f} of at most {limit:,.0f}"


def _named(values: Mapping[str, float], shape: str = "{:,.4g}") -> str:
    return ", ".join(f"{name} {shape.format(value)}" for name, value in values.items())


@contextmanager
def _place(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        yield Path(folder)


def main(words: Sequence[str] | None = None) -> int:
    """Build, measure and print, one size after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chunks", default="10000,100000", help="sizes, with commas")
    parser.add_argument("--queries", type=int, default=200, help="questions of each kind")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what is built there")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(words)
    use_private_cache()
    machine = describe_machine()
    if not options.json:
        print(machine_line(machine), flush=True)
    results = []
    with _place(options.keep) as place:
        for n_chunks in map(int, options.chunks.split(",")):
            config = generated.config_of(place / f"{n_chunks}")
            results.append(measure(config, n_chunks, options.queries))
            if not options.json:
                print(render(results[-1]), flush=True)
    if options.json:
        print(json.dumps({"machine": machine, "sizes": results}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
