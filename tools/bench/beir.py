"""Test collections in BEIR layout, as documents of a person, and what others reach on them.

``corpus.jsonl`` (``_id, title, text``), ``queries.jsonl`` (``_id, text``) and
``qrels/test.tsv`` (``query-id, corpus-id, score``) in one folder per collection. Nothing of
them is part of the project, and nothing is written beside them.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from metrics import Qrels

__all__ = [
    "BM25",
    "PUBLISHED",
    "Collection",
    "Doc",
    "by_title",
    "load_collection",
    "mistyped",
    "sampled",
    "write_documents",
]

_LONGEST_NAME = 60
"""Characters of a title in a file's name; of three bytes each they are within any limit."""

Figures: TypeAlias = tuple[float, float | None]
"""nDCG@10 and recall@100; the second is not always reported."""

BM25: Mapping[str, tuple[Figures, Figures | None]] = {
    "cranfield": ((0.3515, 0.7256), (0.3692, 0.7352)),
    "cisi": ((0.3715, 0.4270), (0.3943, 0.4472)),
    "medline": ((0.6709, 0.7704), (0.6986, 0.7888)),
    "adi": ((0.4770, 0.8832), (0.4782, 0.8832)),
    "limit-small": ((0.9971, 1.0), (0.9971, 1.0)),
    "cosqa-dev": ((0.3169, 0.7520), (0.3399, 0.7740)),
    "korquad1-dev": ((0.953, None), None),
    "belebele-en": ((0.9098, 0.9922), (0.9152, 0.9922)),
    "belebele-de": ((0.8461, 0.9689), (0.8542, 0.9711)),
    "cmrc2018-trial": ((0.9864, 0.9970), (0.9874, 0.9970)),
    "jsquad-valid": ((0.9439, 0.9899), (0.9431, 0.9901)),
    "xquad-en": ((0.967, 0.997), (0.967, 0.998)),
    "xquad-es": ((0.964, 0.997), (0.963, 0.998)),
    "xquad-de": ((0.945, 0.997), (0.943, 0.998)),
    "xquad-zh": ((0.9669, 0.9950), (0.9634, 0.9950)),
    "fastapi-ja2en": ((0.239, 0.53), (0.242, None)),
    "fastapi-de2en": ((0.430, 0.82), (0.432, None)),
    "locomo-turns": ((0.459, 0.777), None),
}
"""nDCG@10 and recall@100 of a reference BM25 with k1 = 0.9, b = 0.4 and with 1.2, 0.75.

Measured over title and text with the best analysis for each language (stems; bigrams for
Chinese, Japanese, Korean), as the README of the collections reports them.
"""

PUBLISHED: Mapping[str, tuple[float, str]] = {
    "belebele-en": (0.948, "e5-small"),
    "belebele-de": (0.925, "e5-small"),
    "korquad1-dev": (0.896, "e5-small, whole dev set"),
    "xquad-en": (0.980, "e5-base"),
    "xquad-zh": (0.955, "e5-base"),
}
"""Dense nDCG@10 on the same passages, from embeddings-benchmark/results at f4cc6c8b.

``e5-small`` is the model of our default pack, in fp32; ``e5-base`` its larger sister, where
nobody published the small one.
"""


@dataclass(frozen=True, slots=True)
class Doc:
    """A document of a collection."""

    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, the queries that are judged, and the judgements.

    Where judgements name files and the documents are pages of them (``file#page=3``),
    ``judged_as`` leads from the one to the other.
    """

    name: str
    docs: tuple[Doc, ...]
    queries: Mapping[str, str]
    qrels: Qrels
    by_file: bool = False

    def judged_as(self, doc_id: str) -> str:
        """Return the id under which a document is judged."""
        return doc_id.partition("#")[0] if self.by_file else doc_id


def load_collection(folder: Path, *, sample: int = 0, seed: int = 1) -> Collection:
    """Read a collection in BEIR layout; *sample* keeps so many queries, 0 all of them.

    A query without text, or without a relevant document, is left out.
    """
    docs = tuple(
        Doc(row["_id"], row.get("title") or "", row["text"])
        for row in _json_lines(folder / "corpus.jsonl")
    )
    asked = {row["_id"]: row["text"].strip() for row in _json_lines(folder / "queries.jsonl")}
    qrels = _qrels(folder / "qrels" / "test.tsv")
    judged = sorted(query for query in qrels if asked.get(query) and max(qrels[query].values()) > 0)
    known = {doc.doc_id for doc in docs}
    whole = Collection(
        name=folder.name,
        docs=docs,
        queries={query: asked[query] for query in judged},
        qrels={query: qrels[query] for query in judged},
        by_file=all(known.isdisjoint(qrels[query]) for query in judged),
    )
    return sampled(whole, sample, seed)


def sampled(collection: Collection, size: int, seed: int = 1) -> Collection:
    """Return a collection with *size* of its queries; with all of them for 0."""
    queries = sorted(collection.queries)
    if not 0 < size < len(queries):
        return collection
    chosen = sorted(random.Random(seed).sample(queries, size))  # noqa: S311
    return replace(
        collection,
        queries={query: collection.queries[query] for query in chosen},
        qrels={query: collection.qrels[query] for query in chosen},
    )


_LONG_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{5,}")


def mistyped(collection: Collection, seed: int = 1) -> Collection:
    """Return the collection with a typing error in one of the three longest words of each query.

    Two letters change places, one is missing, doubled or another; a query without words stays.
    """
    chance = random.Random(seed)  # noqa: S311
    queries = {name: _mistyped(text, chance) for name, text in collection.queries.items()}
    return replace(collection, queries=queries)


def _mistyped(text: str, chance: random.Random) -> str:
    words = sorted(_LONG_WORD.finditer(text), key=lambda found: -len(found[0]))[:3]
    if not words:
        return text
    found = chance.choice(words)
    at = chance.randrange(found.start() + 1, found.end() - 1)
    here, following = text[at], text[at + 1]
    wrong = (following + here, following, here * 2 + following, chance.choice("etaoin") + following)
    return text[:at] + chance.choice(wrong) + text[at + 2 :]


def by_title(collection: Collection) -> Collection:
    """Return the documents with their titles as queries, where a title is of one alone."""
    times = Counter(doc.title for doc in collection.docs)
    queries = {doc.doc_id: doc.title for doc in collection.docs if times[doc.title] == 1}
    qrels = {doc: {collection.judged_as(doc): 1} for doc in queries}
    return replace(collection, queries=queries, qrels=qrels)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            query, doc, grade = line.rstrip("\n").split("\t")
            qrels.setdefault(query, {})[doc] = int(grade)
    return qrels


def write_documents(
    docs: Sequence[Doc], folder: Path, *, suffix: str = ".md", titles: str = "heading"
) -> dict[str, str]:
    """Write a file for each document; return document ids by file name.

    *titles* stand in a ``heading``, in the ``name`` of the file as in a folder of notes, or
    in ``none``. But for that, names are numbers: the product searches names too, and some
    collections put the answer into the id.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for number, doc in enumerate(docs):
        title = " ".join(doc.title.split())
        name = f"d{number:06}"
        if titles == "name" and title:
            name = re.sub(r'[/\\\0:*?"<>|#]', " ", title)[:_LONGEST_NAME].strip() or name
            name = f"{name} {number}" if f"{name}{suffix}" in names else name
        heading = f"# {title}\n\n" if title and titles == "heading" else ""
        (folder / f"{name}{suffix}").write_text(f"{heading}{doc.text}\n", "utf-8")
        names[f"{name}{suffix}"] = doc.doc_id
    return names
