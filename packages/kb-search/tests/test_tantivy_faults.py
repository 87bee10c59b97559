"""Faults of tantivy 0.27 that ``kb_search.writer`` remedies (lessons 46 and 47), and a habit.

Each test shows that the remedy works and that without it the fault is still there. When
the second half fails, tantivy was mended and the remedy can go.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kb_core.records import Publication
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search.reader import Reader
from kb_search.writer import Writer, _Part

EIGHT_SMALL_COMMITS_THEN_DEATH = """
import os, sys
from pathlib import Path
from kb_core.testing.documents import Corpus
from kb_search.writer import Writer

corpus = Corpus()
writer = Writer(Path(sys.argv[1]))
for batch in range(8):
    again = [corpus.document("2-0.md", "again")] if batch == 7 else []
    fresh = [corpus.document(f"{batch}-{n}.md", f"words {batch} {n} " * 20) for n in range(20)]
    writer.publish(corpus.publication(*again, *fresh))
os.kill(os.getpid(), 9)
"""


ONE_EDIT_THEN_DEATH = """
import os, sys
from pathlib import Path
from kb_core.testing.documents import Corpus
from kb_search.writer import Writer

corpus = Corpus()
corpus.publication(*(corpus.document(f"{n}.md", "old") for n in range(9)))
Writer(Path(sys.argv[1])).publish(corpus.publication(corpus.document("4.md", "new")))
os.kill(os.getpid(), 9)
"""


def versions_after_an_edit(data_dir: Path) -> int:
    """Die with eight segments waiting for a merge; edit one document; count its versions."""
    shutil.rmtree(data_dir, ignore_errors=True)
    command = [sys.executable, "-c", EIGHT_SMALL_COMMITS_THEN_DEATH, str(data_dir)]
    died = subprocess.run(command, check=False)
    assert died.returncode == -signal.SIGKILL
    corpus = Corpus()
    for batch in range(8):  # the same documents have the same keys
        again = [corpus.document("2-0.md", "again")] if batch == 7 else []
        fresh = [corpus.document(f"{batch}-{n}.md", f"words {batch} {n} " * 20) for n in range(20)]
        corpus.publication(*again, *fresh)
    with Writer(data_dir) as writer:
        edited = corpus.document("2-5.md", "edited and short")
        writer.publish(corpus.publication(edited))
    return len(Reader(data_dir).snapshot().doc_chunks(edited.doc_id))


def test_46_a_delete_right_after_opening_is_not_lost(tmp_path: Path) -> None:
    assert [versions_after_an_edit(tmp_path) for _ in range(6)] == [1] * 6


def test_46_without_the_remedy_it_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Part, "burn_first_operation", lambda _: None)

    assert any(versions_after_an_edit(tmp_path) > 1 for _ in range(20))


def leave_a_half_finished_commit(data_dir: Path) -> Publication:
    """Undo the last commit of the chunk index, but leave its files; return what it published."""
    corpus = Corpus()
    chunks = data_dir / "lexical" / "chunks"
    with Writer(data_dir) as writer:
        writer.publish(corpus.publication(*(corpus.document(f"{n}.md", "old") for n in range(9))))
    state = {name: (chunks / name).read_bytes() for name in ("meta.json", ".managed.json")}
    edit = corpus.publication(corpus.document("4.md", "new"))
    command = [sys.executable, "-c", ONE_EDIT_THEN_DEATH, str(data_dir)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    managed = (chunks / ".managed.json").read_bytes()
    (chunks / "meta.json").write_bytes(state["meta.json"])
    (chunks / ".managed.json").write_bytes(managed)
    return edit


def test_47_files_of_a_killed_commit_do_not_stop_the_next(tmp_path: Path) -> None:
    edit = leave_a_half_finished_commit(tmp_path)

    with Writer(tmp_path) as writer:
        writer.publish(edit)

    found = Reader(tmp_path).snapshot().lexical(LexicalQuery((Clause("new"),)), None, 10)
    assert len(found) == 1


def test_47_without_the_remedy_they_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = leave_a_half_finished_commit(tmp_path)
    monkeypatch.setattr(_Part, "collect_leftovers", lambda _: None)

    with pytest.raises(Exception, match=r"FileAlreadyExists|already exist"):
        Writer(tmp_path).publish(edit)


def stored_in(data_dir: Path) -> list[str]:
    """Return the names of the files that hold what is stored, of both indexes."""
    return sorted(file.name for file in data_dir.rglob("*.store"))


def rebuild_while_segments_merge(data_dir: Path) -> tuple[list[str], list[str]]:
    """Replace eight segments whose merge has begun; return what is stored then and at the end."""
    corpus, other = Corpus(), Corpus()
    with Writer(data_dir) as writer:
        for batch in range(8):
            fresh = [corpus.document(f"{batch}-{n}.md", f"w {batch} {n} " * 60) for n in range(150)]
            writer.publish(corpus.publication(*fresh))
        writer.rebuild([other.publication(other.document("a.md", "kept"))])
        rebuilt = stored_in(data_dir)
    return rebuilt, stored_in(data_dir)


def test_of_what_a_rebuild_replaced_no_file_stays_though_it_was_being_merged(
    tmp_path: Path,
) -> None:
    for number in range(4):
        rebuilt, closed = rebuild_while_segments_merge(tmp_path / str(number))
        assert len(rebuilt) == 2, "one segment of chunks, and one of records"
        assert closed == rebuilt


def test_without_the_remedy_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Part, "renew", lambda _: None)

    tries = (rebuild_while_segments_merge(tmp_path / str(number)) for number in range(12))
    assert any(len(rebuilt) > 2 for rebuilt, _ in tries)
