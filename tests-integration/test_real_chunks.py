"""Chunks of real files, counted by the real tokenizer: slices, unique, whole, within the window."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_app._ingest.judging.kinds import check_medium, detect
from kb_app._ingest.making.record import Task, make
from kb_app._ingest.settings import ingest_settings
from kb_app.config import Config
from kb_core.clock import utc_now
from kb_core.documents import SourceFile
from kb_core.records import DocumentRecord
from kb_search.embed import describe, load_token_counter

ROOTS = [
    Path(sysconfig.get_path("stdlib")),
    Path(__file__).parents[1] / "docs",
    Path(__file__).parents[1] / "packages",
    Path(__file__).parents[2] / "shared/data/suites/commonmark",
]
FILES_PER_ROOT = 40


def real_documents(config: Config) -> Iterator[DocumentRecord]:
    """Yield what becomes of a sample of the files below every root that is there."""
    settings = ingest_settings(config)
    choose = random.Random(7)
    for root in ROOTS:
        found = [
            p for p in sorted(root.rglob("*")) if p.is_file() and "site-packages" not in p.parts
        ]
        for path in choose.sample(found, min(FILES_PER_ROOT, len(found))):
            kind = detect(path.name)
            if kind is None or check_medium(kind.media):
                continue
            file = SourceFile(
                source_id="real",
                path=str(path.relative_to(root)),
                media=kind.media,
                code_lang=kind.code_lang,
                size=path.stat().st_size,
            )
            task = Task(
                root=str(root), file=file, raw_path=None, settings=settings, indexed_at=utc_now()
            )
            yield from make(task).documents


@pytest.mark.model
def test_chunks_of_real_files_keep_every_promise(tmp_path: Path) -> None:
    config = Config.inside(tmp_path)
    model = describe("multilingual-e5-small")
    counter = load_token_counter("multilingual-e5-small", cache_dir=tmp_path / "models")
    prefix = counter.count(model.passage_prefix) + 2  # and the two special tokens
    seen = 0
    for doc in real_documents(config):
        covered = bytearray(len(doc.text))
        for chunk in doc.chunks:
            assert chunk.text == doc.text[chunk.start : chunk.end]
            assert chunk.text.strip()
            assert counter.count(chunk.text) <= config.chunking.max_tokens, (
                doc.path,
                chunk.ordinal,
            )
            assert counter.count(chunk.passage) + prefix <= model.max_tokens, (
                doc.path,
                chunk.ordinal,
            )
            covered[chunk.start : chunk.end] = b"x" * (chunk.end - chunk.start)
        assert len({chunk.chunk_id for chunk in doc.chunks}) == len(doc.chunks)
        assert [chunk.ordinal for chunk in doc.chunks] == list(range(len(doc.chunks)))
        missed = [c for c, x in zip(doc.text, covered, strict=True) if not x and not c.isspace()]
        assert missed == [], doc.path
        seen += len(doc.chunks)
    assert seen > 500
