"""Does a data directory grow with what is edited and deleted, or with what it holds?

Documents with vectors are written through the truth and the index, and then lived with: in each
cycle, a session of its own, some are edited and some deleted, and as many new ones come. At
some cycles a fresh directory is made of what is there by then, and the bytes of both compared,
part by part.

    python tools/bench/disk.py                       200 cycles of 500 documents
    python tools/bench/disk.py --docs 5000

More than 1.5 times the bytes of the fresh one after any of these cycles makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from machine import describe_machine, machine_line, use_private_cache
from tables import render_table
from words import Words

from kb_app._wiring import open_session
from kb_core.clock import utc_now
from kb_core.quantization import quantize
from kb_core.records import Changes, DocumentRecord
from kb_core.testing.documents import document, file_row

__all__ = ["Weighed", "live", "main"]

MOST = 1.5
_BATCH = 250
_DIMENSIONS = 384
_PARTS = ("kebab.duckdb", "lexical", "vectors")
_MODEL, _DESCRIBED = "bench", {"dimensions": _DIMENSIONS}


@dataclass(frozen=True, slots=True)
class Weighed:
    """The bytes of both directories after some cycles, by part."""

    cycle: int
    aged: Mapping[str, int]
    fresh: Mapping[str, int]

    @property
    def factor(self) -> float:
        """How many times the bytes of the fresh one the lived-in one has."""
        return sum(self.aged.values()) / sum(self.fresh.values())


def live(home: Path, docs: int, cycles: int, share: float, seed: int) -> list[Weighed]:
    """Live through *cycles* below *home*; each edits and replaces *share* of the documents."""
    words, chance = Words(seed), random.Random(seed)  # noqa: S311 - not for secrets
    texts = {f"{number}.md": words.markdown(4) for number in range(docs)}
    _write(home / "aged", texts)
    weighed, looked_at = [], {cycles * part // 4 for part in (1, 2, 3, 4)} | {1}
    size = max(1, round(share * docs))
    for cycle in range(1, cycles + 1):
        gone = chance.sample(sorted(texts), size)
        texts = {path: text for path, text in texts.items() if path not in gone}
        changed = {path: words.markdown(4) for path in chance.sample(sorted(texts), size)}
        changed |= {f"{cycle}-{number}.md": words.markdown(4) for number in range(size)}
        texts |= changed
        _write(home / "aged", changed, gone)
        if cycle in looked_at:
            with tempfile.TemporaryDirectory(dir=home) as fresh:
                _write(Path(fresh), texts)
                weighed.append(Weighed(cycle, _bytes(home / "aged"), _bytes(Path(fresh))))
    return weighed


def _write(data_dir: Path, texts: Mapping[str, str], gone: Sequence[str] = ()) -> None:
    documents = [document(path, text) for path, text in texts.items()]
    removed = tuple(document(path, "").doc_id for path in gone)
    forgotten = tuple(("notes", path) for path in gone)
    with open_session(data_dir, lock_wait_secs=5, clock=utc_now) as session:
        for start in range(0, len(documents), _BATCH):
            batch = documents[start : start + _BATCH]
            rows = tuple(file_row(doc.path, doc_id=doc.doc_id) for doc in batch)
            session.commit(
                Changes(
                    documents=tuple(batch),
                    files=rows,
                    embeddings={_MODEL: _vectors(batch)},
                    models={_MODEL: _DESCRIBED},
                )
            )
        session.commit(Changes(deleted_docs=removed, forgotten_files=forgotten))
        session.tidy()


def _vectors(documents: Sequence[DocumentRecord]) -> dict[str, bytes]:
    """Return a vector for each passage, which nothing can compress."""
    hashes = [chunk.passage_hash for doc in documents for chunk in doc.chunks]
    return {digest: _vector(digest) for digest in hashes}


def _vector(digest: str) -> bytes:
    seed = int.from_bytes(blake2b(digest.encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(_DIMENSIONS)
    return quantize((made / np.linalg.norm(made)).tolist())


def _bytes(data_dir: Path) -> dict[str, int]:
    return {part: _size(data_dir / part) for part in _PARTS}


def _size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _row(one: Weighed) -> tuple[str, ...]:
    parts = (f"{one.aged[part] / 1e6:.1f} / {one.fresh[part] / 1e6:.1f}" for part in _PARTS)
    return (str(one.cycle), *parts, f"{one.factor:.2f}")


def main(words: Sequence[str] | None = None) -> int:
    """Live, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--docs", type=int, default=500, help="at any time")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--share", type=float, default=0.02, help="edited, and replaced, a cycle")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    use_private_cache()
    print(machine_line(describe_machine()))
    with tempfile.TemporaryDirectory() as home:
        found = live(Path(home), options.docs, options.cycles, options.share, options.seed)
    head = ("cycle", *(f"{part} MB, lived in / fresh" for part in _PARTS), "factor")
    print(render_table(head, list(map(_row, found))))
    worst = max(one.factor for one in found)
    verdict = "kept  " if worst <= MOST else "MISSED"
    print(f"{verdict} at most {MOST} times the bytes of a fresh build ({worst:.2f})")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
