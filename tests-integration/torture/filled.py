"""A data directory that has a file of every kind, and what of a file is kept in it.

Beside documents there are a conversation, feedback, a run over golden questions, a result that
was costly, marks of what was forgotten, and a safety copy of all that cannot be read again.
"""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import duckdb
from world import FORGOTTEN, Operation, World, facade, perform

from kb_app import Config, KnowledgeBase
from kb_app._costly import Costly
from kb_app._data_dir import DataDir
from kb_app._sealed import unsealed
from kb_core.answers import AskQuery
from kb_core.evals import EvalOptions
from kb_core.ids import bytes_hash
from kb_core.search import SearchQuery

__all__ = ["fill", "kept_in_file", "speak"]

_GOLDEN = "- id: q1\n  query: walrus fell\n  expected_docs: added-2\n"
_ROWS = "SELECT CAST(row AS VARCHAR) FROM {} AS row ORDER BY ALL"
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"


def fill(world: World) -> None:
    """Leave a file of each kind; in a child."""
    (world.notes / FORGOTTEN).write_text("# Forgotten\n\nA text that nobody is to find.\n", "utf-8")
    world.config.file.with_name("golden.yaml").write_text(_GOLDEN, "utf-8")
    perform(world.config, Operation("ingest"))
    with facade(world.config) as kb:
        kb.forget("doc", [FORGOTTEN], dry_run=False)
    speak(world.config, "what fell down?")
    file = next(path for path in sorted(world.notes.rglob("*.md")) if path.name != FORGOTTEN)
    data = file.read_bytes()
    folder = DataDir(world.data).costly
    for part in ("p1", "p2"):
        Costly(folder, bytes_hash(data)).results(data, "ocr", {"a": 1}).put(part, "a walrus fell")


def speak(config: Config, question: str) -> None:
    """Ask, judge what was found, run the golden questions, and keep all that safe; in a child."""
    with KnowledgeBase.open(config) as kb:  # without a model
        kb.answer(AskQuery(text=question, conversation="talk"))
    with facade(config) as kb:
        query = SearchQuery(text="walrus")
        kb.judge(query, kb.search(query).hits[0], "good")
        list(kb.evaluate(EvalOptions()))
        kb.make_safety_copy()


def kept_in_file(path: Path) -> object:
    """Return what is kept in the file at *path*, apart from how; raise for what is damaged.

    Of a store every row of every table, of what has sums the rest, of gzip what is in it.
    """
    if path.name.startswith("kebab.duckdb"):
        return _rows(path.with_name("kebab.duckdb"))
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".jsonl":
        return [unsealed(line) for line in path.read_bytes().split(b"\n") if line]
    if path.suffix == ".json":
        return unsealed(path.read_bytes())
    return path.read_bytes()


def _rows(store: Path) -> list[object]:
    with closing(duckdb.connect(str(store), read_only=True)) as session:
        tables = [name for (name,) in session.execute(_TABLES).fetchall()]
        return [session.execute(_ROWS.format(f'"{name}"')).fetchall() for name in tables]
