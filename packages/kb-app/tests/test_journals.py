"""Journals: what was answered is kept, whatever ends a process, and however many write."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kb_app._ask.journals import Journal, Journals
from kb_app._sealed import unsealed
from kb_core import wire
from kb_core.errors import InvalidInput, IoError

WRITER = """
import sys
from pathlib import Path
from kb_app._ask.journals import Journals

def turn(number):
    answer = {"question": sys.argv[2] + "é" * 3000, "answer": "", "created_at": "", "citations": []}
    return {"schema_version": "session_turn.v1", "turn_index": number, "answer": answer}

for _ in range(40):
    Journals(Path(sys.argv[1])).append("both", turn)
"""


def turn(number: int, question: str = "when") -> Any:  # noqa: ANN401 - a wire object
    return {
        "schema_version": "session_turn.v1",
        "turn_index": number,
        "kebab_version": "0",
        "evidence": [],
        "answer": {
            "question": question,
            "answer": "in 1889 [1]\nœuvre",
            "created_at": "2026-05-31T12:00:00Z",
            "citations": [],
        },
    }


@pytest.fixture
def journals(tmp_path: Path) -> Journals:
    """Return the conversations of a folder that is not there yet."""
    return Journals(tmp_path / "data" / "journal")


def numbers(journal: Journal) -> list[int]:
    return [each["turn_index"] for each in journal.turns]


def test_turns_come_back_as_they_were_written_and_in_order(journals: Journals) -> None:
    written = [journals.append("lease", turn) for _ in range(3)]

    assert list(journals.kept("lease").turns) == written
    assert numbers(journals.read("lease")) == [1, 2, 3]
    assert journals.read("another") == Journal("another")


def test_nobody_else_can_read_them(journals: Journals, tmp_path: Path) -> None:
    journals.append("lease", turn)

    folder = tmp_path / "data" / "journal"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "lease.jsonl").stat().st_mode) == 0o600


def test_a_journal_that_was_cut_anywhere_loses_its_last_turn_alone(
    journals: Journals, tmp_path: Path
) -> None:
    for _ in range(2):
        journals.append("lease", turn)
    file = tmp_path / "data" / "journal" / "lease.jsonl"
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1

    for end in range(first, len(whole) + 1):
        file.write_bytes(whole[:end])
        cut = journals.read("lease")
        is_whole = end >= len(whole) - 1  # all but the line feed is all
        assert numbers(cut) == ([1, 2] if is_whole else [1])
        assert cut.is_torn is (not is_whole and end > first)
        assert any("left out" in remark for remark in cut.remarks) is cut.is_torn
        if end % 17 == 0 or end >= len(whole) - 2:  # each is synced
            journals.append("lease", turn)
            after = journals.read("lease")
            assert numbers(after) == [*numbers(cut), cut.next_number]
            assert after.remarks == ()


@pytest.mark.parametrize(
    "line", [b"{", b"null", b'{"schema_version":"session_turn.v1"}', b"\xff\xfe", b'"a"']
)
def test_a_line_that_is_no_turn_is_left_out_and_said(
    journals: Journals, tmp_path: Path, line: bytes
) -> None:
    journals.append("lease", turn)
    file = tmp_path / "data" / "journal" / "lease.jsonl"
    file.write_bytes(line + b"\n" + file.read_bytes())

    read = journals.read("lease")

    assert numbers(read) == [1]
    assert "cannot be read: 1" in read.remarks[0]


def test_two_processes_in_one_conversation_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name]) for name in ("a", "b")
    ]

    assert [writer.wait() for writer in writers] == [0, 0]
    read = Journals(folder).read("both")
    assert numbers(read) == list(range(1, 81))
    assert sorted(each["answer"]["question"][0] for each in read.turns) == ["a"] * 40 + ["b"] * 40
    assert read.remarks == ()


def test_a_conversation_is_deleted_and_begins_anew(journals: Journals) -> None:
    journals.append("lease", turn)
    journals.append("other", turn)

    journals.delete("lease")
    journals.delete("lease")

    assert journals.names() == ["other"]
    with pytest.raises(InvalidInput, match="there is no conversation 'lease'"):
        journals.kept("lease")
    assert journals.append("lease", turn)["turn_index"] == 1


def test_a_turn_that_waits_while_its_conversation_is_deleted_begins_it_anew(
    journals: Journals, tmp_path: Path
) -> None:
    journals.append("lease", turn)
    file = tmp_path / "data" / "journal" / "lease.jsonl"
    waiting = Thread(target=journals.append, args=("lease", turn))

    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting.start()
        file.unlink()
    waiting.join()

    assert numbers(journals.read("lease")) == [1]


@pytest.mark.parametrize("name", ["", "Lease", "a b", "../a", ".a", "a.", "a" * 65, "a/b", "é"])
def test_a_name_that_could_be_anything_else_is_refused(journals: Journals, name: str) -> None:
    with pytest.raises(InvalidInput, match="no name of a conversation") as refused:
        journals.read(name)

    assert refused.value.details["field"] == "session"


def test_the_one_used_last_comes_first(journals: Journals, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no conversation yet"):
        journals.last()
    for at, name in enumerate(["b", "c", "a"]):
        journals.append(name, turn)
        os.utime(tmp_path / "data" / "journal" / f"{name}.jsonl", (at, at))
    (tmp_path / "data" / "journal" / "notes.txt").write_text("no conversation")

    assert journals.names() == ["a", "c", "b"]
    assert journals.last() == "a"


def test_a_folder_that_cannot_be_used_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file")

    with pytest.raises(IoError, match="conversation 'lease' cannot be used"):
        Journals(tmp_path / "journal").append("lease", turn)


def test_a_link_in_place_of_a_journal_is_not_followed(journals: Journals, tmp_path: Path) -> None:
    journals.append("other", turn)
    (tmp_path / "theirs").write_text("theirs\n")
    (tmp_path / "data" / "journal" / "lease.jsonl").symlink_to(tmp_path / "theirs")

    with pytest.raises(IoError):
        journals.append("lease", turn)

    assert (tmp_path / "theirs").read_text() == "theirs\n"


def test_a_turn_is_one_line_whatever_was_answered(journals: Journals) -> None:
    journals.append("lease", turn)

    (line,) = journals.lines("lease")
    assert unsealed(line) == json.loads(wire.dumps(turn(1)))
    assert journals.read("lease").size == len(line) + 1


def test_a_turn_whose_bits_were_turned_is_left_out_and_said(
    journals: Journals, tmp_path: Path
) -> None:
    journals.append("lease", turn)
    journals.append("lease", turn)
    file = tmp_path / "data" / "journal" / "lease.jsonl"
    file.write_bytes(file.read_bytes().replace(b"when", b"then", 1))

    journal = journals.read("lease")

    assert numbers(journal) == [2]
    assert journal.damaged == 1
    assert "cannot be read: 1" in journal.remarks[0]
