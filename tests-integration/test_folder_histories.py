"""Histories of a folder that is asked without being a source, of which searches read a part.

Files are written, moved, swapped, emptied, ignored and put back, in several formats, between
searches, whole looks, calls of a server, calls that die, and losses of the cache. Whatever
happened, a word that one file holds is found there and nowhere else, at the lines that hold it,
what is listed is what is there, and a server answers as a new process does.

``KEBAB_TEST_HISTORIES`` sets how many histories (the suite tries a few).
"""

from __future__ import annotations

import gzip
import os
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kb_app import _looking, _meanwhile
from kb_app._ingest import sought
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app.config import load_config
from kb_app.testing.office_files import docx
from kb_app.workspaces import Workspace, place_of
from kb_core.disk import remove_folder
from kb_core.media import SearchMode
from kb_core.search import GrepQuery, Hit, SearchFilters, SearchQuery
from kb_search.writer import Writer

HISTORIES = int(os.environ.get("KEBAB_TEST_HISTORIES", "3"))
NAMES: Sequence[str] = (
    *("a.md", "src/b.md", "src/c.py", "deep/d.txt", "f.docx", "deep/g.txt.gz", "h.txt", "deep/i"),
    *("\u00fc/\u00f6.md", "deep/%FF.md"),
)
LINK, LINKED = "src/l.txt", "deep/d.txt"
RULED = ("d.txt", "c.py")
IGNORABLE = ("src/", "a.md", "*.gz", "deep/")
PATHS = st.sampled_from(NAMES)
COMMON = "otter"


class Died(BaseException):
    """Stands for the end of the process between two steps."""


def packed(path: str, word: str, lines: int) -> bytes:
    """Return a file that says *word* below some lines, in the format of its name."""
    text = (
        "".join(f"# line {at} of the {COMMON}\n" for at in range(lines)) + f"# the {word} sleeps\n"
    )
    if path.endswith(".docx"):
        each = (f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.splitlines())
        return docx("".join(each))
    if path.endswith(".gz"):
        return gzip.compress(text.encode(), mtime=0)
    return text.encode("utf-16" if path == "h.txt" else "utf-8")


class Folders(RuleBasedStateMachine):
    """One folder, and which word each of its files holds."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.folder = self.home / "clone"
        self.folder.mkdir()
        self.words = count(1)
        self.files: dict[str, str] = {}
        """The word that each file holds."""
        self.gone: dict[str, tuple[str, bytes, os.stat_result]] = {}
        """What was taken away, and may be put back."""
        self.spoken: dict[str, None] = {}
        self.unsure: set[str] = set()
        """Words of files that were changed as nobody can see who opens none."""
        self.ignored: Sequence[str] = ()
        self.nested: set[str] = set()
        """Folders with rules of their own, which ignore what is called as in ``RULED``."""
        self.is_linked = False
        self.server: Workspace | None = None

    def teardown(self) -> None:
        self.end_the_server()
        remove_folder(self.home)

    # -------------------------------------------------------------- what befalls files

    def _word(self) -> str:
        word = "".join("bcdfghjklm"[int(digit)] for digit in f"{next(self.words):04}" * 2) + "q"
        self.spoken[word] = None
        return word

    @initialize()
    def begin(self) -> None:
        for path in NAMES:
            self.write(path, 3)

    @rule(path=PATHS, lines=st.integers(0, 6))
    def write(self, path: str, lines: int) -> None:
        file = self._at(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._clear(file)
        self.files[path] = self._word()
        file.write_bytes(packed(path, self.files[path], lines))

    @rule(path=PATHS)
    def touch(self, path: str) -> None:
        if path in self.files:
            (self._at(path)).touch()

    @rule(path=PATHS)
    def change_unseen(self, path: str) -> None:
        """Write another word of the same size, and say that nothing happened since."""
        if path in self.files and not path.endswith((".docx", ".gz")):
            file, word = self._at(path), self._word()
            found, before = file.stat(), self.files[path]
            code = "utf-16-le" if path == "h.txt" else "utf-8"
            file.write_bytes(file.read_bytes().replace(before.encode(code), word.encode(code)))
            os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
            self.files[path] = word
            self.unsure |= {before, word}

    @rule(path=PATHS)
    def take_away(self, path: str) -> None:
        if path in self.files:
            file = self._at(path)
            self.gone[path] = (self.files.pop(path), file.read_bytes(), file.stat())
            file.unlink()

    @rule(path=PATHS)
    def put_back(self, path: str) -> None:
        """Put back what was there, as it was to the nanosecond."""
        if path in self.gone and path not in self.files:
            word, data, found = self.gone[path]
            file = self._at(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            self._clear(file)
            file.write_bytes(data)
            os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
            self.files[path] = word

    @rule(paths=st.permutations(NAMES[:4]))
    def swap(self, paths: Sequence[str]) -> None:
        one, other = paths[:2]
        if one in self.files and other in self.files:
            aside = self.home / "aside"
            (self.folder / one).rename(aside)
            (self.folder / other).rename(self.folder / one)
            aside.rename(self.folder / other)
            self.files[one], self.files[other] = self.files[other], self.files[one]

    @rule(paths=st.permutations(NAMES[:4]))
    def move(self, paths: Sequence[str]) -> None:
        one, other = paths[:2]
        if one in self.files:
            (self.folder / other).parent.mkdir(parents=True, exist_ok=True)
            self._clear(self.folder / other)
            (self.folder / one).rename(self.folder / other)
            self.files[other] = self.files.pop(one)

    @rule(path=PATHS, what=st.sampled_from(["nothing", "link", "loop", "folder", "pipe", "zeros"]))
    def spoil(self, path: str, what: str) -> None:
        """Put something in the place of a file that nobody can read."""
        file = self._at(path)
        if not file.parent.is_dir():
            return
        self._clear(file)
        match what:
            case "nothing":
                file.write_bytes(b"")
            case "link":
                file.symlink_to("nowhere")
            case "loop":
                file.symlink_to(file.name)
            case "folder":
                file.mkdir()
            case "pipe":
                os.mkfifo(file)
            case "zeros":
                file.write_bytes(bytes(300))

    @rule(names=st.sets(st.sampled_from(IGNORABLE)))
    def ignore(self, names: set[str]) -> None:
        self.ignored = sorted(names)
        (self.folder / ".kebabignore").write_text("\n".join(self.ignored) + "\n", "utf-8")

    @rule(folder=st.sampled_from(["deep", "src", "src/inner"]), has_rules=st.booleans())
    def rule_a_folder(self, folder: str, has_rules: bool) -> None:
        if (self.folder / folder).is_dir():
            (self.nested.add if has_rules else self.nested.discard)(folder)
            said = "\n".join(RULED) if has_rules else "# nothing"
            (self.folder / folder / ".gitignore").write_text(f"{said}\n", "utf-8")

    @rule(path=PATHS)
    def add_to(self, path: str) -> None:
        """Change a file in its place: its folder does not tell."""
        if path in self.files and path.endswith((".md", ".py", ".txt")) and path != "h.txt":
            word = self.files[path] = self._word()
            kept = self._at(path).read_text("utf-8").splitlines()[:-1]
            self._at(path).write_text("\n".join([*kept, f"# the {word} wakes"]) + "\n", "utf-8")

    @rule()
    def move_a_folder(self) -> None:
        """Move a folder into another one, or back, with its rules."""
        old, new = (
            ("deep", "src/inner") if (self.folder / "deep").is_dir() else ("src/inner", "deep")
        )
        if (self.folder / old).is_dir() and not (self.folder / new).exists():
            (self.folder / new).parent.mkdir(exist_ok=True)
            (self.folder / old).rename(self.folder / new)
            for path in [path for path in self.files if path.startswith(f"{old}/")]:
                self.files[new + path.removeprefix(old)] = self.files.pop(path)
            if old in self.nested:
                self.nested ^= {old, new}

    @rule(is_there=st.booleans())
    def link(self, is_there: bool) -> None:
        """Have a link, which is followed where what it leads to is ignored."""
        file = self.folder / LINK
        if file.parent.is_dir() and is_there != self.is_linked:
            self.is_linked = is_there
            if is_there:
                file.symlink_to(self.folder / LINKED)
            else:
                file.unlink()

    def _at(self, path: str) -> Path:
        """Return where *path* is on disk, some of whose names are no UTF-8 or in another form."""
        return self.folder / unicodedata.normalize("NFD", path.replace("%FF", "\udcff"))

    def _clear(self, file: Path) -> None:
        called = file.relative_to(self.folder).as_posix().replace("\udcff", "%FF")
        self.files.pop(unicodedata.normalize("NFC", called), None)
        if file.is_symlink() or not file.is_dir():
            file.unlink(missing_ok=True)
        else:
            remove_folder(file)

    # ------------------------------------------------------------------- what is asked

    @rule(path=PATHS)
    def search(self, path: str) -> None:
        """Ask for what one file says; others that wait go on waiting."""
        with self._opened() as kb:
            self._check(kb, self.files.get(path) or "qqbbqqbbq")

    @rule(path=PATHS)
    def search_among_others(self, path: str) -> None:
        """Ask for what one file says, and all do: that one is among the first to be read."""
        if word := self.files.get(path):
            with self._opened() as kb:
                paths = {hit.doc_path for hit in self._hits(kb, f"{word} {COMMON}", 2)}
            assert word in self.unsure or self._holding(word) <= paths

    @rule(path=PATHS)
    def search_and_overwrite(self, path: str) -> None:
        """Have a file read, and write another one in its place: what it said is gone."""
        word = self.files.get(path)
        self.search(path)
        self.write(path, 2)
        if word is not None:
            with self._opened() as kb:
                self._check(kb, word)

    @rule()
    def search_for_what_is_gone(self) -> None:
        there = set(self.files.values())
        with self._opened() as kb:
            for word in [word for word in self.spoken if word not in there][-2:]:
                self._check(kb, word)

    @rule()
    def search_for_what_all_have(self) -> None:
        with self._opened() as kb:
            for hit in self._hits(kb, COMMON):
                self._check_place(kb, hit, COMMON)

    @rule(path=PATHS)
    def search_code(self, path: str) -> None:
        word = self.files.get(path, "qqbbqqbbq")
        with self._opened() as kb:
            found = kb.codebase_search({"query": word})
        paths = {hit["doc_path"] for hit in found["hits"]}
        is_sure = path.endswith(".py") and word not in self.unsure
        assert not is_sure or self._holding(word) <= paths

    @rule(path=PATHS)
    def grep(self, path: str) -> None:
        word = self.files.get(path, "qqbbqqbbq")
        with self._opened() as kb:
            found = kb.grep(GrepQuery(pattern=word))
        paths = {file["doc_path"] for file in found["files"]}
        assert word in self.unsure or paths == self._holding(word)

    @rule()
    def look_at_all(self) -> None:
        with self._opened() as kb:
            assert self._told(kb) == self._listed()
            for word in [*self.spoken][-12:]:
                self._check(kb, word)

    # ----------------------------------------------------------------- how calls end

    @rule(path=PATHS, step=st.integers(1, 3), is_search=st.booleans())
    def die(self, path: str, step: int, is_search: bool) -> None:
        """Let the process end before some publication, or while a file is told."""
        publish, tell, left = Writer.publish, sought.Telling._open, [step]

        def dying(writer: Writer, publication: Any) -> Any:  # noqa: ANN401 - as it is defined
            left[0] -= 1
            if left[0] <= 0:
                raise Died
            return publish(writer, publication)

        def telling(self: Any, files: Any) -> Iterator[Any]:  # noqa: ANN401 - as it is defined
            for told in tell(self, files):
                yield told
                left[0] -= 1
                if left[0] <= 0:
                    raise Died

        self.end_the_server()
        with pytest.MonkeyPatch.context() as patch, suppress(Died), self._opened() as kb:
            patch.setattr(Writer, "publish", dying)
            patch.setattr(sought.Telling, "_open", telling)
            if is_search:
                self._hits(kb, self.files.get(path) or COMMON)
            else:
                kb.stats()

    @rule(part=st.sampled_from(["", "data", "data/lexical", "data/run", "data/kebab.duckdb"]))
    def lose_the_cache(self, part: str) -> None:
        """Take away the cache or a part of it, whoever uses it."""
        for cache in (self.home / ".cache/kebab/workspaces").glob("*"):
            gone = cache / part
            if gone.is_dir():
                remove_folder(gone)
            else:
                gone.unlink(missing_ok=True)

    @precondition(lambda self: self.server is None)
    @rule()
    def start_a_server(self) -> None:
        self.server = self._open()
        self.server.stay()

    @rule()
    def end_the_server(self) -> None:
        if self.server is not None:
            self.server.close()
        self.server = None

    @invariant()
    def what_the_server_answers_is_so(self) -> None:
        if self.server is not None and self.files:
            self._check(self.server, next(reversed(self.files.values())))
            assert self._told(self.server) == self._listed()

    # --------------------------------------------------------------------- helpers

    def _open(self) -> Workspace:
        environ = {
            "HOME": str(self.home),
            "KEBAB_EMBEDDING_MODEL": "none",
            "KEBAB_WORKSPACES_SEARCH_KB": "150",
        }
        place = place_of(load_config(None, environ), str(self.folder), environ=environ)
        kb = place.open()
        assert isinstance(kb, Workspace)
        return kb

    @contextmanager
    def _opened(self) -> Iterator[Workspace]:
        kb = self._open()
        try:
            yield kb
        finally:
            kb.close()

    def _hits(self, kb: Workspace, word: str, most: int = 50) -> Sequence[Hit]:
        query = SearchQuery(text=word, mode=SearchMode.LEXICAL, k=most, passages=True)
        return kb.search(query).hits

    def _check(self, kb: Workspace, word: str) -> None:
        hits = self._hits(kb, word)
        if word in self.unsure:
            return
        assert {hit.doc_path for hit in hits} == self._holding(word), word
        for hit in hits:
            self._check_place(kb, hit, word)

    def _check_place(self, kb: Workspace, hit: Hit, word: str) -> None:
        """See that what a hit names holds what it is said to hold, and can be fetched."""
        path = hit.doc_path.split("!/")[0]
        assert path in self.files or path == LINK
        assert word in str(kb.fetch(hit.citation.uri))
        if path not in {"f.docx", "h.txt"} and not path.endswith(".gz"):
            lines = (self._at(path)).read_text("utf-8").splitlines()
            span: Any = hit.citation.span
            assert word in "\n".join(lines[span.start - 1 : span.end])

    def _told(self, kb: Workspace) -> set[str]:
        listed = {doc["doc_path"] for doc in kb.list_docs(SearchFilters(), limit=100)["items"]}
        return {path for path in listed if not path.endswith("ignore")}

    def _listed(self) -> set[str]:
        listed = {path for path in self.files if not self._hides(path)} | self._seen_by_link()
        within = {f"{path}!/g.txt" for path in listed if path.endswith(".gz")}
        return listed | within

    def _holding(self, word: str) -> set[str]:
        there = {path for path, said in self.files.items() if said == word}
        shown = {f"{path}!/g.txt" if path.endswith(".gz") else path for path in there}
        shown = {path for path in shown if not self._hides(path.split("!/")[0])}
        return shown | (self._seen_by_link() if LINKED in there else set())

    def _seen_by_link(self) -> set[str]:
        is_seen = LINKED in self.files and self._hides(LINKED) and not self._hides(LINK)
        return {LINK} if self.is_linked and is_seen else set()

    def _hides(self, path: str) -> bool:
        parts = [f"{part}/" for part in path.split("/")[:-1]]
        folders = ["/".join(path.split("/")[:at]) + "/" for at in range(1, len(parts) + 1)]
        ruled = any(path.startswith(f"{folder}/") for folder in self.nested)
        if ruled and path.rpartition("/")[2] in RULED:
            return True
        is_packed = path.endswith(".gz") and "*.gz" in self.ignored
        return is_packed or any(name in self.ignored for name in [path, *folders])


class Served(Folders):
    """The same, asked by nobody but a server from the beginning: it looks after each step."""

    search = search_among_others = search_and_overwrite = None  # type: ignore[assignment]
    search_for_what_is_gone = search_for_what_all_have = None  # type: ignore[assignment]
    search_code = grep = die = start_a_server = None  # type: ignore[assignment]

    @initialize()
    def begin(self) -> None:
        super().begin()
        self.server = self._open()
        self.server.stay()
        self.server.stats()

    def end_the_server(self) -> None:
        if self.server is not None:
            self.server.close()


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Folders, Served])
def test_after_any_history_of_a_folder_its_words_are_found_where_they_stand(
    machine: type[Folders], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_app._wiring._executor", lambda _c, task, _n, **_: InlineExecutor(task))
    monkeypatch.setattr(_looking, "_KB", 1)  # so that a search reads a file or two
    monkeypatch.setattr(_looking, "_FRESH_SECS", 0.0)
    monkeypatch.setattr(sought, "_LEAST_FILES", 2)
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.01)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=14,
            deadline=None,
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
