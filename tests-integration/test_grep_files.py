"""Exact text over a real folder: the lines that another grep finds in the files, and edits."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app import KnowledgeBase
from kb_app.config import Config, Embedding, Source
from kb_app.testing.parts import open_here
from kb_core.ingest import IngestOptions
from kb_core.search import GrepQuery

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    "korean.md": "# 검색\n\n한국어 형태소와 바이그램을 함께 찾는다. 검색은 빠르다.\n",
    "japanese.txt": "全文検索する\n検索 end\n",
    "marks.txt": "un été à Zürich\nNAÏVE\nune \u00e9t\u00e9e\n",
    "deep/notes with space.md": "# Locks\n\nA lock_file is held.\n\tTabbed lock\n\n\nlast line",
    "long.txt": "x" * 30_000 + " otter " + "y" * 30_000 + "\n",
    "odd.txt": "a\u2028b\x0cc\nlock\r\n",
}
PATTERNS = [
    *("lock", "Lock", "검색", "検索", "été", "otter", "the", r"\d+", "^#", "^$", r"line$", "e$"),
    *(r"[가-힣]{3,}", r"\block\b", r"l\w+k", r"\tT", "(a|b)c", r"def \w+\(", r"^\s+return", "x+ o"),
    *(r"raise \w+", "[A-Z]{3,}", r"(\w+)_(\w+)", "z{2}q"),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    home = tmp_path_factory.mktemp("grep")
    notes = home / "notes"
    for name, text in FILES.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_bytes(text.encode())
    core = ROOT / "packages" / "kb-core" / "src" / "kb_core"
    for name in ("filters.py", "text.py", "errors.py"):
        shutil.copy(core / name, notes / name)
    (notes / "crlf.txt").write_bytes(b"\xef\xbb\xbfone lock\r\ntwo\r\n")
    (notes / "latin.txt").write_bytes("Käse lock\n".encode("latin-1") * 20)
    (notes / "blob.bin").write_bytes(bytes(range(256)) * 8)
    source = Source(id="notes", root=notes)
    config = replace(Config.inside(home, source), embedding=Embedding(model="none"))
    with open_here(config) as kb:
        assert list(kb.ingest(IngestOptions(embed=False)))[-1].report is not None
        yield kb


def rows(kb: KnowledgeBase, pattern: str, *paths: str) -> set[tuple[str, int]]:
    query = GrepQuery(pattern=pattern, case="exact", max_lines=10_000, paths=paths)
    found = kb.grep(query)
    assert found["complete"]
    assert not found["truncated"]
    return {(f["doc_path"], line["line"]) for f in found["files"] for line in f["lines"]}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_lines_are_those_that_another_grep_finds_in_the_files(
    kb: KnowledgeBase, pattern: str
) -> None:
    folder = Path(dict(kb.sources())["notes"])
    names = sorted([*FILES, "filters.py", "text.py", "errors.py"])
    words = ["grep", "-nHP", "--null", "--text", "-e", pattern, "--", *names]
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False, env=environment)
    if done.returncode > 1:
        pytest.skip(f"no grep with -P here: {done.stderr.decode()}")
    expected = set()
    for line in done.stdout.split(b"\n"):
        name, _, rest = line.partition(b"\0")
        if rest:
            expected.add((name.decode(), int(rest.partition(b":")[0])))

    found = {(path, line) for path, line in rows(kb, pattern) if path in names}
    assert found == expected


def test_what_is_no_utf8_is_found_as_it_was_decoded(kb: KnowledgeBase) -> None:
    assert ("crlf.txt", 1) in rows(kb, "^one lock$")
    assert ("latin.txt", 20) in rows(kb, "Käse lock$")


def test_an_edit_is_found_after_the_next_ingest_and_the_file_is_stale_until_then(
    kb: KnowledgeBase,
) -> None:
    file = Path(dict(kb.sources())["notes"]) / "edited.txt"
    file.write_text("an early walrus\n", "utf-8")
    list(kb.ingest(IngestOptions(embed=False)))
    assert rows(kb, "walrus") == {("edited.txt", 1)}
    file.write_text("\na late heron_walks()\n", "utf-8")

    (stale,) = kb.grep(GrepQuery(pattern="walrus"))["files"]
    list(kb.ingest(IngestOptions(embed=False)))
    (fresh,) = kb.grep(GrepQuery(pattern="heron_walks("[:-1]))["files"]
    file.unlink()
    list(kb.ingest(IngestOptions(embed=False)))

    assert (stale["stale"], fresh["stale"]) == (True, False)
    assert [line["line"] for line in fresh["lines"]] == [2]
    assert rows(kb, "walrus|heron") == set()


def test_paths_are_understood_from_the_current_folder_and_absolute(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(dict(kb.sources())["notes"])
    monkeypatch.chdir(folder / "deep")

    everywhere = rows(kb, "lock")
    assert rows(kb, "lock", str(folder)) == everywhere
    deep = {(path, line) for path, line in everywhere if path.startswith("deep/")}
    assert deep
    for path in (".", "notes with space.md", str(folder / "deep"), "deep", "deep/"):
        assert rows(kb, "lock", path) == deep, path
