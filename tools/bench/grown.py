"""Knowledge bases of very many short files, made by the installed program itself.

What grows with the number of documents is seen where each has a passage or two. The files are
notes with a date, a tag and a language, and plain texts among them; ``kebab ingest`` reads them
as it reads anyone's. Embedding a hundred thousand would take hours, so vectors are drawn: a
scan costs the same whatever they say. The same number gives the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from generated import Vectors
from startup import KEBAB, SETTINGS, Usage, run_process
from words import Words

from kb_app._models import model_of
from kb_app._wiring import open_session
from kb_app.config import Config, load_config
from kb_core.clock import utc_now
from kb_core.records import Changes

__all__ = ["COMMON", "TAGS", "file_of", "grow", "rare_word", "write_file"]

COMMON = "value"
"""A word that about every second file has."""
TAGS = 20
_PER_FOLDER = 500
_WORDS = 30
"""Of a passage."""
_WORDS_OF_SEVERAL = 80
"""Of a section that is not joined to its neighbour."""
_PLAIN = 10
"""Every so manieth file is plain text."""
_BATCH = 5_000


def rare_word(number: int) -> str:
    """Return the word that only the file *number* has."""
    return f"only{number:07}x"


def file_of(home: Path, number: int) -> Path:
    """Return where the file *number* is."""
    suffix = "txt" if number % _PLAIN == 0 else "md"
    return home / "files" / f"{number // _PER_FOLDER:04}" / f"{number:07}.{suffix}"


def write_file(home: Path, number: int, added: str = "", *, sections: int = 1) -> None:
    """Write the file *number*, of so many *sections*, or one more; with *added*, a version of it.

    Files of one section are short ones; of those of several, each is about a passage.
    """
    words, file = Words(number), file_of(home, number)
    length = _WORDS if sections == 1 else _WORDS_OF_SEVERAL
    passages = [words.passage(length) for _ in range(sections + number % 2)]
    passages[0] += f" {rare_word(number)}" + (f" {COMMON}" if number % 2 else "")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*_head(words, number), *_parts(words, passages), added]), "utf-8")


def _head(words: Words, number: int) -> Iterator[str]:
    if number % _PLAIN:
        date = f"20{10 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}"
        yield f"---\ntags: [tag{number % TAGS}]\ndate: {date}\n---\n\n# {words.title()}\n"


def _parts(words: Words, passages: list[str]) -> Iterator[str]:
    for number, passage in enumerate(passages):
        if number:
            yield f"\n## {words.title()}\n"
        yield passage


def grow(home: Path, documents: int, *, sections: int = 1, vectors: bool = True) -> Usage | None:
    """Make a knowledge base of so many *documents* below *home*, unless it is there.

    Return what reading all of them took, or ``None`` where nothing was to be done.
    """
    config = home / "config.toml"
    done = home / "grown.json"
    if done.exists():
        return None
    for number in range(documents):
        write_file(home, number, sections=sections)
    config.write_text(SETTINGS.format(root=json.dumps(str(home / "files"))), "utf-8")
    taken = run_process([str(KEBAB), "--config", str(config), "ingest", "--no-embed"])
    if vectors:
        _draw_vectors(load_config(config))
        # What was written beside a run leaves no seal; the next run makes it.
        run_process([str(KEBAB), "--config", str(config), "ingest", "--no-embed"])
    done.write_text(json.dumps({"documents": documents, **asdict(taken)}), "utf-8")
    return taken


def _draw_vectors(config: Config) -> None:
    model = model_of(config)
    assert model is not None  # noqa: S101 - the default configuration has one
    source, models = Vectors(model.dimensions), {model.key: asdict(model)}
    with open_session(config.storage.data_dir, lock_wait_secs=1.0, clock=utc_now) as session:
        while missing := session.store.missing_passages(model.key, _BATCH):
            hashes = [passage.passage_hash for passage in missing]
            made = dict(zip(hashes, source.draw(len(hashes)), strict=True))
            session.commit(Changes(embeddings={model.key: made}, models=models))
