"""What the product is measured against, over the same texts and vectors.

Each peer does the least that answers the question. They read the product's own files
where they can, so that nobody has an easier corpus.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tantivy import Occur, Query

from kb_core.records import VectorFiles
from kb_core.search import Clause, LexicalQuery
from kb_search.analysis import analyze, cjk_runs, query_terms
from kb_search.lexical import build_ranking
from kb_search.opening import open_index
from kb_search.reader import Reader
from kb_search.vector_files import Layout

__all__ = [
    "BruteForce",
    "FullTextSearch",
    "GrepThenRead",
    "PlainBM25",
    "RawTantivy",
    "load_vectors",
]

Vectors = npt.NDArray[np.float32]


class RawTantivy:
    """The chunk index, asked without the product around it."""

    def __init__(self, data_dir: Path, languages: Sequence[str]) -> None:
        index = open_index(data_dir / "lexical" / "chunks")
        self._schema = index.schema
        self._searcher = index.searcher()
        self._statistics = Reader(data_dir).snapshot().statistics
        self._languages = languages

    def stems(self, text: str, limit: int, fetched: int) -> list[bytes]:
        """Search the stems of *text*, OR-ed, in the field of stems."""
        stems = {stem: None for term in query_terms(text, self._languages) for stem in term.stems}
        terms = [Query.term_query(self._schema, "stem", stem, "freq") for stem in stems]
        return self._fetch(Query.boolean_query([(Occur.Should, t) for t in terms]), limit, fetched)

    def same_query(self, text: str, limit: int, fetched: int) -> list[bytes]:
        """Search what the product would search."""
        asked = LexicalQuery((Clause(text),))
        parts = self._schema, self._searcher, self._statistics
        ranking = build_ranking(*parts, asked, self._languages)
        lists = [self._fetch(q, limit, fetched) for q in ranking.searches(None)] if ranking else []
        return lists[0] if lists else []

    def _fetch(self, query: Query, limit: int, fetched: int) -> list[bytes]:
        hits = self._searcher.search(query, limit, count=False).hits
        documents = (self._searcher.doc(address) for _, address in hits[:fetched])
        return [bytes(document.get_first("payload") or b"") for document in documents]


class FullTextSearch:
    """SQLite FTS5 with its own stemmer and BM25, in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path)
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS chunks"
            " USING fts5(text, tokenize='porter unicode61')"
        )

    def add(self, texts: Iterable[str]) -> None:
        """Store and index *texts*."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO chunks (text) VALUES (?)", ((text,) for text in texts)
            )

    def search(self, text: str, limit: int) -> list[tuple[int, str]]:
        """Return the best rows that hold any of the words."""
        words = " OR ".join(f'"{term.exact}"' for term in query_terms(text, ()))
        return self._connection.execute(
            "SELECT rowid, text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?",
            (words, limit),
        ).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class PlainBM25:
    """BM25 over whole documents as the textbook has it (Robertson and Zaragoza 2009).

    Its terms are the product's: stems of *language*, and pairs of letters of scripts that are
    written without spaces. It knows no titles, phrases, or nearness.
    """

    def __init__(
        self, texts: Sequence[str], language: str | None, *, k1: float = 0.9, b: float = 0.4
    ) -> None:
        self._language = language
        self._rows: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        counted = [Counter(self._terms(text)) for text in texts]
        lengths = [counts.total() for counts in counted]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        for row, (counts, length) in enumerate(zip(counted, lengths, strict=True)):
            less = k1 * (1 - b + b * length / mean)
            for term, times in counts.items():
                self._rows[term].append((row, times * (k1 + 1) / (times + less)))
        self._count = len(texts)

    def search(self, text: str, limit: int) -> list[int]:
        """Return the rows of the best documents that hold any of the words."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term, times in Counter(self._terms(text)).items():
            rows = self._rows.get(term, [])
            rare = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
            for row, weight in rows:
                scores[row] += times * rare * weight
        return sorted(scores, key=lambda row: (-scores[row], row))[:limit]

    def _terms(self, text: str) -> list[str]:
        streams = analyze(text, self._language)
        stems = (stem for stem in streams.stem.split() if not cjk_runs(stem))
        return [*stems, *streams.cjk.split()]


class GrepThenRead:
    """Files in the order in which somebody reads them who has ``rg`` and no index.

    The pattern is of the question's three rarest words that stand anywhere at all, which a
    reader has to guess and is given here; of scripts without spaces, of its rarest pairs of
    letters. First come the files that hold most of the words, then those with most lines.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {path: text.casefold().splitlines() for path, text in texts.items()}
        self._texts = {path: "\n".join(lines) for path, lines in self._lines.items()}
        self._holding: dict[str, frozenset[str]] = {}

    def files(self, question: str) -> list[str]:
        """Return the paths of all files that the pattern finds, best first."""
        known = [word for word in dict.fromkeys(_guesses(question)) if self._having(word)]
        words = sorted(known, key=lambda word: (len(self._having(word)), -len(word)))[:3]
        having: Counter[str] = Counter()
        for word in words:
            having.update(self._having(word))
        return sorted(having, key=lambda path: (-having[path], -self._count(path, words), path))

    def _count(self, path: str, words: Sequence[str]) -> int:
        return sum(any(word in line for word in words) for line in self._lines[path])

    def _having(self, word: str) -> frozenset[str]:
        if word not in self._holding:
            having = (path for path, text in self._texts.items() if word in text)
            self._holding[word] = frozenset(having)
        return self._holding[word]


def _guesses(question: str) -> Iterator[str]:
    for word in re.findall(r"\w+", question.casefold()):
        runs = cjk_runs(word)
        yield from (run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))
        if not runs:
            yield word


class BruteForce:
    """Every vector in float32, multiplied with the question by numpy."""

    def __init__(self, rows: Vectors) -> None:
        self._rows = rows

    def nearest(self, asked: Vectors, limit: int) -> list[tuple[int, float]]:
        """Return rows and cosines, best first."""
        scores = self._rows @ asked
        best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
        best = best[np.argsort(-scores[best])]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def load_vectors(data_dir: Path, files: VectorFiles) -> Vectors:
    """Return all published vectors as float32."""
    layout = Layout.of(data_dir / "vectors", files)
    numbers = np.fromfile(layout.path("i8"), np.int8, files.rows * files.dimensions)
    scale = np.fromfile(layout.path("scale"), "<f4", files.rows)
    vectors: Vectors = numbers.reshape(files.rows, files.dimensions) * scale[:, None]
    return vectors
