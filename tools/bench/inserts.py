"""How fast the store takes what an ingest gives it: documents, ledger rows, embeddings.

    python tools/bench/inserts.py [--documents N] [--rounds N]

Commits batches as a run does, documents of 20 chunks of 80 words, a ledger row each, then an
embedding of 384 dimensions per chunk, into a store in a temporary folder; prints rows a second of
each, the median over rounds. To compare two checkouts, run it in pairs, PYTHONPATH on either.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from kb_core.records import Changes, DocumentRecord
from kb_core.testing.documents import document, file_row
from kb_store import Store

CHUNKS = 20
BATCH = 200
WORDS = " ".join(f"word{n}" for n in range(80))


def _documents(count: int) -> list[DocumentRecord]:
    texts = ("\n\n".join(f"{n} {part} {WORDS}" for part in range(CHUNKS)) for n in range(count))
    return [document(f"folder/{n}.md", text) for n, text in enumerate(texts)]


def measure(documents: list[DocumentRecord], folder: Path) -> dict[str, float]:
    """Return rows a second: chunks with their documents, ledger rows, embeddings."""
    batches = [documents[at : at + BATCH] for at in range(0, len(documents), BATCH)]
    rows = tuple(file_row(doc.path, doc_id=doc.doc_id) for doc in documents)
    chunks = CHUNKS * len(documents)
    with Store.open(folder / "kebab.duckdb") as store:
        writing = sum(_commit(store, documents=tuple(batch)) for batch in batches)
        listing = _commit(store, files=rows)
        embedding = 0.0
        while pending := store.missing_passages("m", 4000):
            vectors = {"m": {passage.passage_hash: bytes(388) for passage in pending}}
            embedding += _commit(store, embeddings=vectors, models={"m": {"dimensions": 384}})
    return {
        "chunks": chunks / writing,
        "ledger rows": len(rows) / listing,
        "embeddings": chunks / embedding,
    }


def _commit(store: Store, **fields: Any) -> float:  # noqa: ANN401 - of Changes
    changes = Changes(**fields)
    started = time.perf_counter()
    store.commit(changes)
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    documents = _documents(asked.documents)
    found = []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append(measure(documents, Path(folder)))
    for name in found[0]:
        speed = statistics.median(each[name] for each in found)
        print(f"{name:12} {speed:10,.0f} /s")


if __name__ == "__main__":
    main()
