"""What the walk sees, under which names, and what it says is gone."""

from __future__ import annotations

import errno
import inspect
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from kb_app._ingest.plan import Known, plan_sources
from kb_app._ingest.seeing.again import is_as_it_was, renewed, where_it_differs
from kb_app._ingest.seeing.files import location, path_of, spell
from kb_app._ingest.seeing.repository import Repository, RepositoryFinder
from kb_app._ingest.seeing.walk import Seen, Walk, walk
from kb_app._ingest.settings import SourceSpec
from kb_app.testing.parts import SETTINGS
from kb_core.errors import InvalidInput
from kb_core.ingest import IngestOptions, Looked, SkipReason
from kb_core.records import FileRecord, FileState

NFC, NFD = "\u00e9", "e\u0301"
SEVERAL = ("\u1ec7", "\u1eb9\u0302", "e\u0302\u0323", "e\u0323\u0302")
"""One letter in four spellings."""


def make(root: Path, *paths: str) -> None:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            target.mkdir(exist_ok=True)
        else:
            target.write_text(path)


def look(root: Path, **options: Any) -> tuple[Walk, list[Seen]]:  # noqa: ANN401 - passed on
    walked = walk(os.fspath(root), source_id="s", **options)
    return walked, list(walked)


def kept(seen: Iterable[Seen]) -> list[str]:
    return [one.path for one in seen if one.reason is None]


def left(seen: Iterable[Seen]) -> dict[str, str]:
    return {one.path: f"{one.reason}: {one.detail}" for one in seen if one.reason is not None}


def test_what_is_too_many_to_be_asked_for_again_is_not_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"{number}.md" for number in range(9)))
    assert len(look(tmp_path)[0].marks) == 10

    monkeypatch.setattr("kb_app._ingest.seeing.walk.MOST_MARKS", 4)
    assert len(look(tmp_path)[0].marks) == 5


def looked(root: Path, *narrow: str) -> Looked:
    walked, _ = look(root, narrow=narrow)
    return Looked(marks=walked.marks, has_links=walked.has_links)


def differing(root: Path, before: Looked) -> list[str]:
    top = os.path.realpath(root)
    return [path.removeprefix(f"{top}/") for path in where_it_differs(before, {top})]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make(tmp_path, "a/b/c.md", "a/b/d/e.md", "a/.gitignore", "f.md", "a/g/.git/config", "a/g/h.md")
    (tmp_path / "a/.gitignore").write_text("nothing\n")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.utime(path, ns=(1, 1))  # and the clock of a file system may stand still for a while
    monkeypatch.setattr("kb_app._ingest.seeing.again._TICK_NS", 0)
    return tmp_path


def test_where_something_differs_is_told_by_marks(tree: Path) -> None:
    before = looked(tree)
    assert is_as_it_was(before.marks)

    (tree / "f.md").write_text("longer")
    os.utime(tree / "a/b/c.md", ns=(2, 2))
    assert differing(tree, before) == ["a/b/c.md", "f.md"]

    make(tree, "a/b/new.md")
    assert differing(tree, before) == ["a/b/", "f.md"]


@pytest.mark.parametrize(("rules", "folder"), [("a/.gitignore", "a/"), ("a/g/.git/config", "a/g/")])
def test_rules_that_differ_are_of_all_in_their_folder(tree: Path, rules: str, folder: str) -> None:
    before = looked(tree)
    (tree / rules).write_text("*.txt\n")
    assert differing(tree, before) == [folder]


def test_a_folder_that_differs_is_a_matter_of_all_where_there_are_links(tree: Path) -> None:
    (tree / "l.md").symlink_to("f.md")
    before = looked(tree)
    (tree / "a/b/c.md").write_text("longer")
    assert differing(tree, before) == ["a/b/c.md"]
    make(tree, "a/b/new.md")
    assert differing(tree, before) == []


def test_what_differs_at_the_top_or_in_many_places_is_a_matter_of_all(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = looked(tree)
    monkeypatch.setattr("kb_app._ingest.seeing.again._MOST_PATHS", 1)
    (tree / "f.md").write_text("longer")
    assert differing(tree, before) == ["f.md"]
    (tree / "a/b/c.md").write_text("longer")
    assert differing(tree, before) == []
    monkeypatch.setattr("kb_app._ingest.seeing.again._MOST_PATHS", 9)
    make(tree, "top.md")
    assert differing(tree, before) == []


def test_what_changed_just_now_may_change_again_unseen_and_differs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_app._ingest.seeing.again._TICK_NS", 10**12)
    before = looked(tree)
    monkeypatch.setattr("kb_app._ingest.seeing.again._TICK_NS", 0)
    assert "a/b/c.md" not in differing(tree, looked(tree))
    assert not is_as_it_was(before.marks)


def test_a_part_that_was_walked_again_is_marked_anew_and_nothing_above_it(tree: Path) -> None:
    before = looked(tree)
    make(tree, "a/b/new.md", "a/new.md")
    (tree / "a/b/d/e.md").unlink()

    paths = [f"{os.path.realpath(tree)}/a/b/"]
    now = renewed(before, paths, looked(tree, "a/b"))

    assert differing(tree, now) == ["a/"]  # of which nobody has seen what is new
    assert not any(path.endswith("e.md") for path in now.marks)
    assert set(renewed(now, [f"{os.path.realpath(tree)}/a/"], looked(tree, "a")).marks) == set(
        looked(tree).marks
    )


def test_files_come_in_the_order_of_their_paths_with_size_and_time(tmp_path: Path) -> None:
    make(tmp_path, "b/x.md", "a.md", "a/z.md", "a/b/c.md", "a-b.md", "B.md", "empty/")
    os.utime(tmp_path / "a.md", ns=(1, 1_700_000_000_123_456_789))

    walked, seen = look(tmp_path)

    assert kept(seen) == ["B.md", "a-b.md", "a.md", "a/b/c.md", "a/z.md", "b/x.md"]
    assert (seen[2].size, seen[2].mtime_ns) == (4, 1_700_000_000_123_456_789)
    assert seen[2].device == walked.device == tmp_path.stat().st_dev
    assert walked.listed == {"", "a", "a/b", "b", "empty"}


def test_what_is_ignored_is_one_row_and_is_not_entered(tmp_path: Path) -> None:
    make(tmp_path, ".git/config", "node_modules/a/b.js", "d/.DS_Store", "d/a.log", "d/b.md")
    make(tmp_path, "env/pyvenv.cfg", "env/lib/x.py", "d/.obsidian/x.json", "._a", "s/.git")
    (tmp_path / ".gitignore").write_text("*.log\n")

    walked, seen = look(tmp_path)

    assert kept(seen) == [".gitignore", "d/b.md"]
    assert left(seen) == {
        "._a": "ignored: built-in: ._*",
        ".git": "ignored: built-in: .git",
        "d/.DS_Store": "ignored: built-in: .DS_Store",
        "d/.obsidian": "ignored: built-in: .obsidian/",
        "d/a.log": "ignored: .gitignore:1: *.log",
        "env": "ignored: virtual environment",
        "node_modules": "ignored: built-in: node_modules/",
        "s/.git": "ignored: built-in: .git",
    }
    assert {one.path for one in seen if one.is_folder} == {
        ".git", "d/.obsidian", "env", "node_modules",
    }  # fmt: skip
    assert walked.listed == {"", "d", "s"}


@pytest.mark.parametrize("code", ["utf-16", "utf-8-sig"])
def test_rules_may_be_as_a_shell_of_windows_writes_them(tmp_path: Path, code: str) -> None:
    make(tmp_path, "a.md", "private/b.md")
    (tmp_path / ".kebabignore").write_text("private/\r\n", code)

    assert kept(look(tmp_path)[1]) == [".kebabignore", "a.md"]


def test_a_link_that_nobody_may_read_is_left_and_the_walk_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a remote disk that is away, or of another's process: the run ended with it."""
    make(tmp_path, "a.md", "z.md")
    (tmp_path / "link").symlink_to("a.md")

    def refused(path: str) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "readlink", refused)
    walked, seen = look(tmp_path)

    assert kept(seen) == ["a.md", "z.md"]
    assert left(seen) == {"link": "unreadable: Permission denied"}
    assert walked.fate_of("link/below.md") == "unknown"


def test_rules_without_measure_are_not_read_and_what_they_are_of_is_left(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "d/b.md")
    (tmp_path / "d/.gitignore").touch()
    os.truncate(tmp_path / "d/.gitignore", 2**40)

    walked, seen = look(tmp_path)

    assert kept(seen) == ["a.md"]
    assert "the rules of d/.gitignore cannot be read (File too large)" in walked.unread_rules[0]


def test_a_rule_may_take_back_what_is_built_in(tmp_path: Path) -> None:
    make(tmp_path, "Cargo.toml", "target/CACHEDIR.TAG", "env/pyvenv.cfg", ".git/x", ".svn/a.md")
    (tmp_path / ".kebabignore").write_text("!target/\n!env/\n!.git\n!.svn/\n")

    assert kept(look(tmp_path)[1]) == [
        ".kebabignore", ".svn/a.md", "Cargo.toml", "env/pyvenv.cfg", "target/CACHEDIR.TAG",
    ]  # fmt: skip


def test_sources_in_a_folder_called_as_what_builds_make_are_seen(tmp_path: Path) -> None:
    """Of a crate with ``src/target/mod.rs`` all of that folder was left alone."""
    make(tmp_path, "Cargo.toml", "target/debug/a.d", "src/target/mod.rs", "src/target/tag/a.rs")
    make(tmp_path, "m/pom.xml", "m/target/site/a.md")
    make(tmp_path, "sub/target/classes/a.md", "sub/target/maven-status/", "x/target/CACHEDIR.TAG")
    make(tmp_path, "s/target/scala-2.13/a.md", "s/target/streams/b.md")
    make(tmp_path, "kafka/target/mod.rs", "kafka/target/streams/b.rs", "lib/target/classes/a.py")
    make(tmp_path, "t/target/classes/", "t/target/streams/", "u/target/classes.a", "u/target/scala")
    (tmp_path / "link").symlink_to("src/target")

    _, seen = look(tmp_path)

    assert kept(seen) == [
        *("Cargo.toml", "kafka/target/mod.rs", "kafka/target/streams/b.rs"),
        *("lib/target/classes/a.py", "m/pom.xml", "src/target/mod.rs", "src/target/tag/a.rs"),
        *("u/target/classes.a", "u/target/scala"),
    ]
    assert {path: why for path, why in left(seen).items() if "target" in path} == {
        "m/target": "ignored: built-in: /target/",
        "s/target": "ignored: what a build made",
        "sub/target": "ignored: what a build made",
        "t/target": "ignored: what a build made",
        "target": "ignored: built-in: /target/",
        "x/target": "ignored: what a build made",
    }


def test_a_build_that_comes_later_has_what_it_makes_left(tree: Path) -> None:
    make(tree, "a/target/a.md")
    os.utime(tree / "a", ns=(1, 1))
    before = looked(tree)
    make(tree, "a/Cargo.toml")

    _, seen = look(tree, narrow=[path.rstrip("/") for path in differing(tree, before)])

    assert "a/Cargo.toml" in kept(seen)
    assert left(seen)["a/target"] == "ignored: built-in: /target/"


def test_include_and_exclude_of_the_source(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md", "docs/b.txt", "docs/old/c.md", "src/x/y.md", "a.md")

    walked, seen = look(tmp_path, include=("docs/**/*.md",), exclude=("old/",))

    assert kept(seen) == ["docs/a.md"]
    assert left(seen) == {
        "a.md": "ignored: not in include",
        "docs/b.txt": "ignored: not in include",
        "docs/old": "ignored: exclude:1: old/",
        "src": "ignored: not in include",
    }
    assert "src" not in walked.listed


def test_local_rules_of_a_repository_count(tmp_path: Path) -> None:
    make(tmp_path, "r/.git/info/exclude", "r/a.md", "r/b.md", "b.md")
    (tmp_path / "r/.git/info/exclude").write_text("b.md\n")

    assert kept(look(tmp_path)[1]) == ["b.md", "r/a.md"]


def test_what_is_no_file_is_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        assert left(look(tmp_path)[1]) == {
            "pipe": "unsupported: fifo",
            "socket": "unsupported: socket",
        }


# ------------------------------------------------------------------------------- links


def test_a_target_with_a_path_of_its_own_is_not_seen_through_a_link(tmp_path: Path) -> None:
    make(tmp_path, "real/a.md", "b.md")
    (tmp_path / "a-link").symlink_to("real")
    (tmp_path / "b-link.md").symlink_to("b.md")
    (tmp_path / "real/up").symlink_to("..")
    (tmp_path / "real/self").symlink_to("self")
    (tmp_path / "dangling").symlink_to("nowhere")

    _, seen = look(tmp_path)

    assert kept(seen) == ["b.md", "real/a.md"]
    assert left(seen)["a-link"] == "ignored: link to 'real', which has a path of its own"
    assert left(seen)["real/up"] == "ignored: link to 'the root', which has a path of its own"
    assert left(seen)["dangling"] == "unreadable: link leads nowhere"
    assert left(seen)["real/self"] == "unreadable: link leads nowhere"


def test_what_has_no_path_of_its_own_is_seen_once_through_a_link(tmp_path: Path) -> None:
    make(tmp_path, "build/out/a.md", "build/b.md")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build/out/loop").symlink_to("..")
    for name in ("l1", "l2"):
        (tmp_path / name).symlink_to("build/out")
    (tmp_path / "l3.md").symlink_to("build/b.md")

    _, seen = look(tmp_path)

    assert kept(seen) == [".gitignore", "l1/a.md", "l1/loop/b.md"]
    assert left(seen)["l2"] == "ignored: link to what another link leads to"
    assert left(seen)["l1/loop/out"] == "ignored: already seen through a link"


def test_links_out_of_the_root_are_followed_only_if_wanted(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    make(tmp_path, "root/a.md", "outside/b.md", "outside/c/d.md")
    (root / "link").symlink_to(outside)
    (root / "link-c").symlink_to(outside / "c")
    (root / "link.md").symlink_to(outside / "b.md")
    (outside / "back").symlink_to(root)
    (outside / "loop").symlink_to(outside)

    assert kept(look(root)[1]) == ["a.md"]
    assert left(look(root)[1])["link"] == "ignored: link leads out of the source"
    assert kept(look(root, follow_links=True)[1]) == ["a.md", "link-c/d.md", "link.md"]


links = st.lists(
    st.tuples(
        st.sampled_from(["a", "d/b", "d/e/c", "f"]),
        st.sampled_from(["a", "d", "d/e", "f", ".", "out", "out/in", "../outside", "d/b", "gone"]),
    ),
    max_size=4,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(links, st.booleans())
def test_walks_end_see_each_target_once_and_do_not_leave_the_root(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str]], follow: bool
) -> None:
    base = tmp_path_factory.mktemp("walk")
    root = base / "root"
    make(base, "root/d/e/x.md", "root/y.md", "root/out/in/z.md", "outside/o.md", "outside/p/q.md")
    (root / ".gitignore").write_text("out/\n")
    (base / "outside/to").symlink_to(root / "out")
    for name, target in made:
        (root / name).symlink_to(root / target)

    _, seen = look(root, follow_links=follow)

    real = [os.path.realpath(root / path) for path in kept(seen)]
    assert len(real) == len(set(real))
    assert len(seen) == len({one.path for one in seen})
    if not follow:
        assert all(path.startswith(f"{root}/") for path in real)


# ------------------------------------------------------------------------------- names


def test_names_are_utf8_in_form_c_and_the_raw_name_is_kept(tmp_path: Path) -> None:
    make(tmp_path, f"{NFD}/a.md", "plain.md")
    (tmp_path / os.fsdecode(b"caf\xe9 50%.md")).write_text("latin")

    _, seen = look(tmp_path)

    assert [(one.path, one.raw_path) for one in seen] == [
        ("caf%E9 50%25.md", b"caf\xe9 50%.md".hex()),
        ("plain.md", None),
        (f"{NFC}/a.md", f"{NFD}/a.md".encode().hex()),
    ]
    found = location(os.fspath(tmp_path), seen[0].path, seen[0].raw_path)
    assert Path(found).read_text() == "latin"


def test_two_files_that_differ_by_normal_form_stay_two(tmp_path: Path) -> None:
    make(tmp_path, f"{NFC}.md", f"{NFD}.md")

    _, seen = look(tmp_path)

    assert [(one.path, one.raw_path) for one in seen] == [(f"{NFD}.md", None), (f"{NFC}.md", None)]


def test_a_path_on_disk_is_called_as_the_walk_calls_it(tmp_path: Path) -> None:
    make(tmp_path, "plain.md", f"{NFD}/{NFC}.md", f"{NFD}/{NFD}.md", f"{NFD}/a 50%.md")
    (tmp_path / NFD / os.fsdecode(b"caf\xe9 50%.md")).write_text("latin")
    root = os.fspath(tmp_path)

    _, seen = look(tmp_path)

    disk = [os.path.relpath(location(root, one.path, one.raw_path), root) for one in seen]
    assert len(seen) == 5
    assert [path_of(root, raw) for raw in disk] == [one.path for one in seen]


raw_names = st.binary(min_size=1, max_size=6).filter(
    lambda name: not {0, 0x2F} & set(name) and name not in {b".", b".."}
)
like_names = st.sampled_from(
    [b"\xe9", b"%E9", b"%E9%", b"%25", b"%", b"\xe9%"]
    + [form.encode() for form in (NFC, NFD, *SEVERAL)]
)


@given(st.sets(raw_names | like_names, max_size=8))
@example({b"\xe9", b"%E9", b"%E9%"})
@example({form.encode() for form in SEVERAL})
def test_spelling_keeps_names_apart_and_valid(names: set[bytes]) -> None:
    on_disk = sorted(map(os.fsdecode, names))

    shown = spell(on_disk)

    assert len(set(shown)) == len(shown)
    for name, called in zip(on_disk, shown, strict=True):
        called.encode()
        assert "/" not in called
        if name.isascii():
            assert called == name


def test_no_location_is_outside_the_root() -> None:
    for path in ("../x", "a/../../x", "/etc/passwd", "a\0b"):
        with pytest.raises(InvalidInput, match="leads out of its source"):
            location("/somewhere", path, None)
        with pytest.raises(InvalidInput):
            location("/somewhere", "a", path.encode().hex())


# ------------------------------------------------------------------------------- sweep


def test_a_missing_file_is_gone_only_where_its_folder_was_listed(tmp_path: Path) -> None:
    make(tmp_path, "a/x.md", "b/y.md", "out/z.md", "f")
    (tmp_path / ".gitignore").write_text("out/\n")

    walked, _ = look(tmp_path)

    assert walked.fate_of("a/gone.md") == "gone"
    assert walked.fate_of("gone/deep/down.md") == "gone"
    assert walked.fate_of("f/was/a/folder.md") == "gone"
    assert walked.fate_of("out/z.md") == walked.fate_of("out/w/z.md") == "ignored"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_folder_is_a_row_and_nothing_in_it_is_gone(tmp_path: Path) -> None:
    make(tmp_path, "locked/a.md")
    (tmp_path / "locked").chmod(0)
    try:
        walked, seen = look(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)

    assert left(seen) == {"locked": "unreadable: Permission denied"}
    assert walked.fate_of("locked/a.md") == "unknown"


@pytest.mark.parametrize("name", [".gitignore", ".kebabignore", ".git/info/exclude"])
@pytest.mark.parametrize("folder", ["", "d/"])
def test_a_folder_whose_rules_cannot_be_read_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, name: str
) -> None:
    """Root reads everything, so what is refused is made up."""
    make(tmp_path, f"{folder}{name}", f"{folder}a.md", "b.md")
    opened = os.open

    def refusing(path: str, flags: int) -> int:
        if path.endswith(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, flags)

    monkeypatch.setattr("kb_app._ingest.seeing.walk.os.open", refusing)
    walked, seen = look(tmp_path)

    detail = f"the rules of {folder}{name} cannot be read (Permission denied)"
    assert left(seen) == {folder[:-1] or ".": f"unreadable: {detail}"}
    assert kept(seen) == (["b.md"] if folder else [])
    assert walked.unread_rules == [f"{detail}; nothing in {folder or 'it'} was looked at"]
    assert walked.fate_of(f"{folder}gone.md") == "unknown"


def test_a_run_warns_of_rules_that_it_cannot_read_and_keeps_what_they_are_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "d/.gitignore", "d/a.md", "d/secret.md")
    known = FileRecord(source_id="s", path="d/gone.md", state=FileState.INDEXED, doc_id="1")

    def refusing(path: str, _: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("kb_app._ingest.seeing.walk.os.open", refusing)
    before = Known(ledger=lambda _: {known.path: known}, sources={})
    source = SourceSpec(source_id="s", root=os.fspath(tmp_path))
    (plan,) = plan_sources([source], before, SETTINGS, IngestOptions())

    assert [(row.path, row.reason) for row in plan.rows] == [("d", "unreadable")]
    assert (plan.wanted, plan.gone) == ([], [])
    refused = "the rules of d/.gitignore cannot be read (Permission denied)"
    assert plan.warnings == [f"source 's': {refused}; nothing in d/ was looked at"]


def test_rules_that_are_a_link_or_no_file_are_none(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "rules", "d/b.md", "d/.gitignore/c.md", "e/f.md")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "e/.gitignore").symlink_to("nowhere")
    walked, seen = look(tmp_path)

    assert {"a.md", "d/b.md", "e/f.md"} <= set(kept(seen))
    assert walked.unread_rules == []


def test_a_folder_that_cannot_be_listed_hides_its_files_from_the_sweep(tmp_path: Path) -> None:
    """Unlike permissions, a path that is too long stops root, too."""
    make(tmp_path, "a.md")
    here = os.getcwd()  # noqa: PTH109 - to come back from a folder that has no path
    try:
        os.chdir(tmp_path)
        for _ in range(20):
            Path("n" * 250).mkdir()
            os.chdir("n" * 250)
    finally:
        os.chdir(here)

    walked, seen = look(tmp_path)

    (row,) = [one for one in seen if one.reason is not None]
    assert (row.reason, row.is_folder) == (SkipReason.UNREADABLE, True)
    assert row.detail == "File name too long"
    assert walked.fate_of(row.path + "/x.md") == "unknown"


def test_a_root_that_is_not_there_says_nothing_of_its_files(tmp_path: Path) -> None:
    walked, seen = look(tmp_path / "unmounted")

    assert (seen, walked.root_exists, walked.fate_of("a.md")) == ([], False, "unknown")


def test_a_narrow_walk_sees_and_sweeps_only_inside_its_paths(tmp_path: Path) -> None:
    make(tmp_path, "a/x.md", "a/b/y.md", "a/c/z.md", "d.md", "out/w.md", "out/v.md")
    (tmp_path / ".gitignore").write_text("out/\n")

    walked, seen = look(tmp_path, narrow=("a/b/", "a/gone.md", "out/w.md", "a/b/y.md"))

    assert kept(seen) == ["a/b/y.md"]
    assert left(seen) == {"out": "ignored: .gitignore:1: out/"}
    assert [walked.fate_of(p) for p in ("a/gone.md", "a/b/gone.md", "a/b/g/one.md")] == ["gone"] * 3
    assert [walked.fate_of(p) for p in ("a/gone-too.md", "d.md", "a")] == ["unknown"] * 3
    assert walked.fate_of("out/w.md") == "ignored"
    assert kept(look(tmp_path, narrow=(".",))[1]) == kept(look(tmp_path)[1])


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../b"])
def test_a_narrow_path_that_leaves_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidInput, match="leads out of its source"):
        walk(os.fspath(tmp_path), source_id="s", narrow=(path,))


def test_depth_does_not_matter(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(300):
        folder /= "d"
        folder.mkdir()
    (folder / "x").touch()
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 60)
        _, seen = look(tmp_path)
    finally:
        sys.setrecursionlimit(limit)

    assert len(kept(seen)) == 1


COMMIT = "0123456789" * 4


@pytest.mark.parametrize(
    ("files", "branch", "commit"),
    [
        ({"HEAD": COMMIT}, None, COMMIT),
        ({"HEAD": "ref: refs/heads/a", "refs/heads/a": COMMIT}, "a", COMMIT),
        (
            {"HEAD": "ref: refs/heads/a", "packed-refs": f"# x\n{COMMIT} refs/heads/a\n"},
            "a",
            COMMIT,
        ),
        ({"HEAD": "ref: refs/heads/a", "refs/heads/a": "a key"}, "a", None),
        ({"HEAD": "ref: refs/../../key"}, None, None),
        ({"HEAD": "ref: {root}/key"}, None, None),
        ({"HEAD": "ref: refs/heads/a", "packed-refs": None}, "a", None),
    ],
)
def test_of_files_of_git_a_branch_and_a_commit_are_told_and_no_other_text(
    tmp_path: Path, files: Mapping[str, str | None], branch: str | None, commit: str | None
) -> None:
    """What a checkout names as its branch was read wherever it led, and told as its commit."""
    (tmp_path / "key").write_text("a key")
    for name, text in files.items():
        file = tmp_path / ".git" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            os.mkfifo(file)
        else:
            file.write_text(text.replace("{root}", str(tmp_path)) + "\n")

    assert RepositoryFinder().of_folder(tmp_path) == Repository(tmp_path.name, branch, commit)
