"""Running the command line in a test: ``run``, over the facade with its parts in memory.

Nothing is patched: the facade and the environment come in through click's ``obj``, as
anybody's could. ``KebabHere`` is the command over a folder of its own, as ``InstalledKebab``
is, without a process of its own: one takes longer to start than most tests take.
"""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from kb_app.testing.facade import ScriptedKnowledgeBase, script
from kb_app.testing.parts import open_here
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing.installed import InstalledKebab
from kb_core.ids import text_hash
from kb_core.ingest import IngestEvent
from kb_core.records import ChunkRecord
from kb_core.testing.documents import document

__all__ = ["CHUNK_ID", "DOC_ID", "KebabHere", "knowledge_base", "run"]

CHUNK_ID, DOC_ID = "5669ef1867462f246ba69791918ea713", "1c0ffee5000000000000000000000001"
_CHUNK = ChunkRecord(
    chunk_id=CHUNK_ID,
    ordinal=0,
    start=5,
    end=9,
    text="one\n",
    line_start=3,
    line_end=3,
    token_count=1,
    heading_path=("A", "B"),
    context="A\nB",
    passage_hash=text_hash("A\nB\n\none\n"),
)
_NOTE = document(
    "notes/a.md",
    "# A\n\none\n",
    doc_id=DOC_ID,
    doc_date=None,
    tags=("x", "y"),
    parser_version="p1",
    chunker_version="c1",
    metadata={"aliases": ["Alpha"]},
    blocks=(
        {"kind": "heading", "heading_path": ["A"], "start": 0, "end": 4},
        {"kind": "paragraph", "heading_path": ["A"], "start": 5, "end": 9},
    ),
    warnings=("tags: 7 is not a text",),
    chunks=(_CHUNK,),
)


def knowledge_base(
    answers: Mapping[str, Any] | None = None,
    *,
    events: Iterable[IngestEvent | Callable[[], object]] = (),
    error: BaseException | None = None,
) -> ScriptedKnowledgeBase:
    """Return a facade over a note; *answers* and *error* as ``ScriptedKnowledgeBase`` has them.

    *events* are what a run yields.
    """
    return ScriptedKnowledgeBase(_NOTE, answers=answers, runs=script(*events), error=error)


def run(
    *words: str,
    kb: ScriptedKnowledgeBase | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Result:
    """Run ``kebab WORDS`` over *kb*; *answer* is what a person types, if there is one.

    Without *home* there is no configuration anywhere.
    """
    context = CliContext(
        open_kb=(kb or knowledge_base()).reopened,
        environ={"HOME": str(home or "/nonexistent"), **(environ or {})},
        configure_logs=lambda _: None,  # the process belongs to the test
        can_ask=lambda: answer is not None,
    )
    return CliRunner().invoke(cli, words, prog_name="kebab", obj=context, input=answer)


class KebabHere(InstalledKebab):
    """The command over a real configuration, store and index, in the process of the test."""

    def run(
        self, *words: str, code: int = 0, given: str | bytes | None = None
    ) -> subprocess.CompletedProcess[str]:
        context = CliContext(open_kb=open_here, configure_logs=lambda _: None)
        line = self.command(*words)
        done = CliRunner().invoke(cli, line[1:], prog_name="kebab", obj=context, input=given)
        if done.exception and not isinstance(done.exception, SystemExit):
            traceback.print_exception(done.exception, file=sys.stderr)
        assert done.exit_code == code, f"{words}: {done.exit_code}\n{done.stdout}\n{done.stderr}"
        return subprocess.CompletedProcess(line, code, done.stdout, done.stderr)
