"""Nothing of a document reaches a terminal that it would obey: in JSON, in text, in hyperlinks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb_app.shown import is_hidden
from kb_cli._hits import _link
from kb_cli.testing.installed import InstalledKebab, ended_in_time
from kb_core import wire

pty = pytest.importorskip("pty")

HOSTILE = "\x9b31m\x9d0;owned\x9c\x90\u202e\u2066\x7f\x1b[2J\u200b\ue000\U000e0041"
EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def test_json_shows_nothing_raw_that_a_terminal_obeys_over_all_of_unicode() -> None:
    line = wire.dumps(EVERYTHING)
    raw = {c for c in line if is_hidden(c)}
    read = json.loads(line)

    assert not raw
    assert line.isprintable() or not {c for c in line if ord(c) < ord(" ")}
    assert [a for a, b in zip(read, EVERYTHING, strict=True) if a != b] == ["\ufffd"] * 2048
    assert wire.dumps("\x9b\x7f\u202e") == r'"\u009b\u007f\u202e"'


def test_letters_of_every_script_and_joined_ones_stay_as_they_are() -> None:
    for text in ("Größe", "지식", "検索", "👩‍👩‍👧", "می‌خواهم", "ß\n\t"):
        assert json.loads(wire.dumps(text)) == text
        assert wire.dumps(text) == json.dumps(text, ensure_ascii=False)


def test_the_target_of_a_hyperlink_is_escaped() -> None:
    shown = _link("name", Path("/notes") / f"a{HOSTILE}\x07b.md", 3)
    target = shown.removeprefix("\x1b]8;;").partition("\x1b\\")[0]

    assert target.isascii()
    assert target.isprintable()
    assert shown.count("\x1b") == 4


def test_a_hostile_document_in_a_real_terminal(installed: InstalledKebab) -> None:
    name = HOSTILE.replace("\x9c", "") + ".md"
    installed.write(name, f'---\ntitle: "walrus {HOSTILE[:4]}"\n---\n\nA walrus {HOSTILE} text.\n')
    installed.ingest()
    found = installed.json("search", "walrus")["hits"][0]["chunk_id"]
    for words in (
        ["--json", "search", "walrus"],
        ["search", "walrus"],
        ["status"],
        ["grep", "walrus"],
        ["fetch", found],
    ):
        shown = _in_a_terminal(installed.command(*words))
        text = shown.decode("utf-8")

        assert "\ufffd" not in text
        assert not {hex(ord(c)) for c in text if is_hidden(c)} - {"0xa", "0xd", "0x1b", "0x9"}
        assert "\x1b[2J" not in text


SHOWING = (
    ("search", "walrus"), ("search", "walrus", "--trace"), ("status",),
    ("list", "docs"), ("ask", "what does a walrus count?"), ("schema",),
    ("stats",), ("list", "docs", "--tag", "walrus"), ("--json", "list", "docs"),
    ("--json", "status"), ("ingest", "--force-reingest"),
)  # fmt: skip
"""Commands that show titles, tags, paths and texts of documents, wherever it is shown.

``grep`` and ``fetch`` give other programs a text as it stands, and a terminal what it may have.
"""
OF_DOCUMENT = (("inspect", "doc"), ("similar",), ("explain-miss", "oysters", "--doc"))


def test_no_command_shows_a_hidden_character_of_any_document(kebab: InstalledKebab) -> None:
    hidden = [c for c in EVERYTHING if is_hidden(c) and c not in "\n\t" and not c.isspace()]
    chosen = [c for c in hidden if not "\ud800" <= c <= "\udfff" and c != "\0"]
    step = len(chosen) // 400 + 1
    for number, at in enumerate(range(0, 80, 20)):
        part = "".join([*chosen[at : at + 20], *chosen[80 + at :: step][:40]])
        quoted = json.dumps(f"walrus {part}")
        kebab.write(
            f"{number} {part[:9]}.md".replace("/", ""),
            f"---\ntitle: {quoted}\ntags: [walrus, {quoted}]\n---\n\n"
            f"# On {part}\n\nA walrus {part} counts oysters.\n",
        )
    kebab.ingest()
    hit = kebab.json("search", "walrus")["hits"][0]
    commands = [*SHOWING, *((*words, hit["doc_id"]) for words in OF_DOCUMENT)]
    raw: dict[tuple[str, ...], set[str]] = {}
    for words in commands:
        said = kebab.run(*words)
        shown = said.stdout + said.stderr
        raw[words] = {hex(ord(c)) for c in shown if is_hidden(c)} - {"0xa", "0x9"}

    assert {words: found for words, found in raw.items() if found} == {}


def _in_a_terminal(command: list[str]) -> bytes:
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=environ)
    os.close(theirs)
    shown = bytearray()
    with ended_in_time(process):
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            shown += block
        process.wait()
    os.close(ours)
    return bytes(shown)
