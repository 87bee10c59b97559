"""The rules of git, held against git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, reject, settings, strategies as st

from kb_app._ingest.seeing.ignore import IncludeRules, parse_rules, root_scope
from kb_app._ingest.seeing.walk import walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

NAMES = [
    "a",
    "b",
    "ab",
    "ba",
    "a.txt",
    "b.txt",
    "A",
    "x y",
    "ééé",
    "-",
    "[",
    "a]",
    "\\",
    "!a",
    "#b",
]
PIECES = [
    "a", "b", "ab", "a.txt", "x y", "ééé", "*", "**", "***", "?", "??", "*.txt", "a*", "*b", "[ab]",
    "[!a]", "[^b]*", "[a-b]b", "[b-a]", "[[:alpha:]]", "[[:upper:]]*", "[]a]", "[\\]a]", "[a",
    "a]", "\\a", "\\\\", "\\*", "\\[", "a?", "*a*b*", "[-a]", "[a-]", "[[]",
    "a**", "**a", "a**b", "[[:alpha:]", "[[:no:]a]", "[a/b]", "[a-b-]", "[!]a]", "\\a**",
    "[a\\-c]", "[\\--b]", "[a-\\b]", "[!\\-]", "[]", "[!]", "a[]",
]  # fmt: skip

segments = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)
patterns = st.builds(
    lambda bang, slash, parts, end, space: bang + slash + "/".join(parts) + end + space,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    segments,
    st.sampled_from(["", "", "/", "/**", "/*", "//"]),
    st.sampled_from(["", "", "", " ", "\\ ", "\t", "\r"]),
) | st.sampled_from(["", "#a", "\\#b", "\\!a", "!", "/", "//", "*", "!*/", "/*", "!/a/", "**"])
files_of_rules = st.lists(patterns, max_size=6).map(lambda lines: "\n".join(lines) + "\n")
folders = st.lists(st.sampled_from(NAMES), max_size=3).map("/".join)
trees = st.tuples(
    st.sets(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join), max_size=25),
    st.dictionaries(folders, files_of_rules, max_size=3),
)


def build(root: Path, paths: Iterable[str], rules: Mapping[str, str]) -> None:
    """Make files at *paths*; one that would have to be a file and a folder is a folder."""
    for path in sorted(paths, key=len, reverse=True):
        target = root / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
    for folder, text in rules.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / ".gitignore").write_text(text, newline="")


def kept_by_git(root: Path) -> set[str]:
    env = {"HOME": str(root), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"]
    listing = subprocess.run(command, cwd=root, env=env, check=True, capture_output=True)
    return {os.fsdecode(name) for name in listing.stdout.split(b"\0") if name}


def kept_by_us(root: Path) -> set[str]:
    return {seen.path for seen in walk(os.fspath(root), source_id="s") if seen.reason is None}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True, capture_output=True)
    return root


@needs_git
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(trees)
def test_the_walk_keeps_what_git_keeps(
    repository: Path, tree: tuple[set[str], dict[str, str]]
) -> None:
    with tempfile.TemporaryDirectory(dir=repository) as folder:
        root = Path(folder)
        try:
            build(root, *tree)
        except (FileExistsError, NotADirectoryError):
            reject()  # a folder of rules that the tree has as a file

        assert kept_by_us(root) == kept_by_git(root)


@pytest.mark.parametrize(
    ("rules", "ignored", "kept"),
    [
        ("*.log", ["a.log", "d/a.log", "d.log/"], ["a.txt", "log"]),
        ("/a", ["a", "a/"], ["d/a"]),
        ("d/a", ["d/a"], ["x/d/a", "a"]),
        ("out/", ["out/", "d/out/"], ["out"]),
        ("d/**", ["d/a", "d/e/"], ["d/"]),
        ("**/d/x", ["d/x", "e/d/x"], ["x"]),
        ("d/**/x", ["d/x", "d/e/f/x"], ["x"]),
        ("*\n!keep", ["a"], ["keep"]),
        ("\\!a\n\\#b", ["!a", "#b"], ["a", "b"]),
        ("a\\ ", ["a "], ["a"]),
        ("[[:digit:]][!a/]", ["1b"], ["1a", "x1"]),
        ("[]\n[!]\n[^]", [], ["a", "!", "]", "[]"]),
        ("[a\\-c].md", ["a.md", "-.md", "c.md"], ["b.md", "\\.md", "].md"]),
        ("a\r\nb\r\n", ["a", "b"], []),
        ("\ufeffa", ["a"], []),
        ("e\u0301", ["é"], ["e"]),
    ],
)
def test_the_language_by_example(rules: str, ignored: list[str], kept: list[str]) -> None:
    compiled = parse_rules(rules, "x")

    def says(subject: str) -> bool:
        name = subject.rstrip("/").rpartition("/")[2] + "/" * subject.endswith("/")
        rule = compiled.match(name, subject)
        return rule is not None and rule.ignores

    assert [subject for subject in ignored if not says(subject)] == []
    assert [subject for subject in kept if says(subject)] == []


DEEP = st.lists(st.sampled_from(["a", "b", "ab", "aab"]), min_size=1, max_size=14)
LONG = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(["", "", "/"]),
    st.lists(
        st.sampled_from(
            ["**", "**", "**", "*", "a", "b", "a*", "*b", "a*b", "?b", "a**", "[ab]*b"]
        ),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(["", "", "/"]),
)


def ignored_by_git(repository: Path, rules: str, paths: Iterable[str]) -> set[str]:
    """Ask git about *paths*, none of which need be there."""
    (repository / ".gitignore").write_text(rules, newline="")
    command = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    told = subprocess.run(
        command, cwd=repository, input="\0".join(paths).encode(), check=False, capture_output=True
    )
    assert (told.returncode in {0, 1}, told.stderr) == (True, b"")
    return {name for name in told.stdout.decode().split("\0") if name}


def is_ignored(rules: str, path: str) -> bool:
    """Go down to *path* as a walk does; an ignored folder ends it."""
    scope = root_scope(()).enter("", {".gitignore": rules})
    *folders, file = path.split("/")
    here = ""
    for name in [*(folder + "/" for folder in folders), file]:
        here += name
        if (rule := scope.decide(name, here)) is not None and rule.ignores:
            return True
    return False


@needs_git
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.lists(LONG, min_size=1, max_size=3), st.lists(DEEP.map("/".join), max_size=40))
@example(["a**/*", "b**/*/a", "/ab**"], ["a", "ab", "b/a", "bb/b/a", "aab"])
@example(["**/a/**/a/**/b"], ["a/b", "a/a/b", "b/a/b/a/b/b", "a/b/a/a"])
def test_long_patterns_over_deep_paths_are_decided_as_git_decides_them(
    repository: Path, patterns: list[str], paths: list[str]
) -> None:
    rules = "\n".join(patterns) + "\n"

    assert {path for path in paths if is_ignored(rules, path)} == ignored_by_git(
        repository, rules, paths
    )


@pytest.mark.parametrize(
    ("pattern", "hit"),
    [
        ("*a" * 40 + "*b", None),
        ("d/" + "*?a" * 40 + "*b", None),
        ("**/a/" * 60 + "b", None),
        ("**/a/*/" * 40 + "b", None),
        ("a/**/" * 60 + "*b*b", None),
        ("**/*a*/" * 60 + "*a*b*", None),
        ("**/" * 5_000 + "b", None),
        ("**/a/" * 60 + "z", "a/" * 200 + "z"),
        ("[" * 100_000, None),
        ("[[:" * 30_000, None),
        ("[[:" * 30_000 + "]", None),
        ("\\a" * 30_000, None),
    ],
)
def test_no_pattern_takes_long(pattern: str, hit: str | None) -> None:
    """Tried in every way that they could match, the first of these would outlast the sun."""
    rules = parse_rules(pattern, "x")
    hostile = ["a" * 250, "d/" + "a" * 250, "a/" * 500 + "a", "aa/" * 500 + "aa"]

    assert [path for path in hostile if rules.match(path.rpartition("/")[2], path)] == []
    assert hit is None or rules.match(hit.rpartition("/")[2], hit) is not None


def test_a_rule_prints_where_it_stands() -> None:
    scope = root_scope(()).enter("docs/", {".gitignore": "# comment\n*.log\n"})

    assert str(scope.decide("a.log", "docs/a.log")) == "docs/.gitignore:2: *.log"


def test_stronger_files_take_back_what_weaker_ones_ignore() -> None:
    texts = {".gitignore": "*.log\n*.tmp\n", ".kebabignore": "!*.log\n!.svn/\n*.bak\n"}
    scope = root_scope(["*.secret", "!a.bak"]).enter("", texts)
    names = ["a.log", "a.tmp", "a.bak", "b.bak", "a.secret", ".svn/", "node_modules/", "a.md"]

    ignored = [n for n in names if (rule := scope.decide(n, n)) is not None and rule.ignores]

    assert ignored == ["a.tmp", "b.bak", "a.secret", "node_modules/"]


@pytest.mark.parametrize(
    "path",
    [
        ".trash/a.md", ".Trash/a.md", ".Trash-1000/files/a.md", ".Trashes/501/a.md",
        "$RECYCLE.BIN/a.txt", ".stversions/a~20260101-120000.md", "a.md~", ".a.md.swp", "b.swo",
        ".#a.md", "#a.md#", ".~lock.a.odt#", "~$letter.docx", "a.md.bak", "a.py.orig",
        "Thumbs.db", "desktop.ini", "photos/.thumbnails/a.txt", "photos/@eaDir/a.txt",
        "logseq/bak/pages/a.md", "x/.ipynb_checkpoints/a.md", ".obsidian/app.json",
    ],
)  # fmt: skip
def test_what_was_thrown_away_or_left_by_tools_is_ignored(path: str) -> None:
    assert is_ignored("", path)
    assert not is_ignored("!*", path)


@pytest.mark.parametrize(
    "path", ["trash.md", "#a.md", "a#.md", "~a.md", "swp", "bak/a.md", "C#/notes.md", "Trash/a.md"]
)
def test_names_that_are_only_like_them_are_kept(path: str) -> None:
    assert not is_ignored("", path)


@pytest.mark.parametrize(
    ("include", "wanted", "unwanted"),
    [
        ((), ["a", "d/x"], []),
        (("*.md",), ["a.md", "d/e/a.md"], ["a.txt"]),
        (("docs/**",), ["docs/a", "docs/d/a"], ["a", "x/docs/a"]),
        (("docs",), ["docs/a", "x/docs/d/a"], ["a"]),
        (("docs/", "!docs/private/"), ["docs/a"], ["docs/private/a"]),
    ],
)
def test_include_names_what_is_wanted(
    include: tuple[str, ...], wanted: list[str], unwanted: list[str]
) -> None:
    rules = IncludeRules(include)

    def says(path: str) -> bool:
        *parents, name = path.split("/")
        verdict, folder = False, ""
        for parent in parents:
            folder += parent + "/"
            verdict = rules.wanted(parent + "/", folder, parent=verdict)
        return rules.wanted(name, path, parent=verdict)

    assert [path for path in wanted if not says(path)] == []
    assert [path for path in unwanted if says(path)] == []


def test_include_knows_which_folders_need_not_be_entered() -> None:
    bound, free = IncludeRules(("docs/api/*.md", "/src/")), IncludeRules(("docs/**", "*.md"))

    assert [bound.may_hold(f) for f in ("docs/", "docs/api/", "src/a/", "x/", "docs/b/")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert free.may_hold("x/")
