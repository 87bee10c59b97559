"""Folders that are asked without being sources: indexed at their first use, followed, forgotten.

The command line runs in this process, in an environment of its own; store and index are real.
Files are read in this process, too, and where a model is needed, a fake one stands in for it.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

from kb_app import _meanwhile
from kb_app._data_dir import DataDir
from kb_app._ingest.quiet import is_sealed
from kb_app._ingest.seeing import again
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app._write import WriteSession
from kb_app.config import Config, load_config
from kb_app.testing.office_files import docx
from kb_app.workspaces import Workspace, _words_of, place_of
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_core.answers import AskQuery
from kb_core.disk import remove_folder
from kb_core.errors import InvalidInput, KbError, ReadonlyMode, StoreBusy
from kb_core.media import SearchMode
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_core.testing.fakes import HashEmbedder
from kb_store import WriterLock

_DAY = 86_400


@dataclass
class Home:
    """A home with a folder that is no source, and the command line in it."""

    path: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.path / "clone"

    @property
    def caches(self) -> list[Path]:
        top = self.path / ".cache/kebab/workspaces"
        return sorted(top.iterdir()) if top.is_dir() else []

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def run(self, *words: str, code: int = 0, **environ: Any) -> Result:  # noqa: ANN401 - texts
        context = CliContext(
            environ={"HOME": str(self.path), **self.environ, **environ},
            configure_logs=lambda _: None,
            can_ask=lambda: False,
        )
        done = CliRunner().invoke(cli, words, prog_name="kebab", obj=context)
        assert done.exit_code == code, f"{words}: {done.exit_code}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str, **environ: str) -> Any:  # noqa: ANN401 - a wire object
        return json.loads(self.run("--json", *words, code=0, **environ).stdout.splitlines()[-1])

    def error(self, *words: str, **environ: str) -> Mapping[str, Any]:
        told: Mapping[str, Any] = json.loads(self.run("--json", *words, code=2, **environ).stderr)
        return told

    def paths(self, query: str, *words: str, folder: Path | None = None) -> list[str]:
        found = self.json("search", query, "--in", str(folder or self.folder), *words)
        return list(dict.fromkeys(hit["doc_path"] for hit in found["hits"]))


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker takes longer to start than most of these tests take; servers have theirs."""

    def inline(
        _: Config, task: Callable[[Any], Any], __: int, **___: object
    ) -> InlineExecutor[Any, Any]:
        return InlineExecutor(task)

    monkeypatch.setattr("kb_app._wiring._executor", inline)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path, {"KEBAB_EMBEDDING_MODEL": "none"})
    made.write(
        "clone/README.md", "# Otters\n\nAn otter sleeps in the river, with its paws at rest.\n"
    )
    made.write("clone/src/den.py", "def build_den():\n    return 'beaver'\n")
    return made


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in [folder, *folder.rglob("*")]
    }


def test_a_folder_is_searched_without_any_setup_and_nothing_is_written_into_it(home: Home) -> None:
    before = files_below(home.folder)

    found = home.json("search", "otter", "--in", str(home.folder))

    hit = found["hits"][0]
    assert (hit["doc_path"], hit["source_id"]) == ("README.md", "clone")
    assert hit["citation"]["uri"] == "README.md#L1-L3"
    assert files_below(home.folder) == before
    assert sorted(path.name for path in home.path.iterdir()) == [".cache", "clone"]


def test_its_cache_is_for_the_person_alone(home: Home) -> None:
    home.run("search", "otter", "--in", str(home.folder))

    (cache,) = home.caches
    open_to_others = [
        path for path in [cache, *cache.rglob("*")] if stat.S_IMODE(path.lstat().st_mode) & 0o077
    ]
    assert open_to_others == []


def test_every_call_follows_the_folder_and_reads_only_what_changed(home: Home) -> None:
    home.run("search", "otter", "--in", str(home.folder))
    (cache,) = home.caches
    store = cache / "data/kebab.duckdb"
    before = store.stat().st_mtime_ns

    assert home.paths("beaver") == ["src/den.py"]
    assert store.stat().st_mtime_ns == before
    home.write("clone/new.md", "A badger digs.\n")
    (home.folder / "src/den.py").unlink()
    done = home.run("search", "badger", "--in", str(home.folder))

    assert "read 2 new or changed files" in done.stderr
    assert home.paths("badger") == ["new.md"]
    assert home.paths("beaver") == []


def test_a_folder_that_was_emptied_holds_nothing(home: Home) -> None:
    home.run("search", "otter", "--in", str(home.folder))
    (home.folder / "README.md").unlink()
    (home.folder / "src/den.py").unlink()

    assert home.paths("otter") == []


def test_a_file_in_the_place_of_a_folder_is_not_answered_from_what_was_there(home: Home) -> None:
    environ = home_environ(home)
    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        assert kb.stats()["doc_count"] == 2
        home.folder.rename(home.path / "moved")
        for is_there in (False, True):
            if is_there:
                home.write("clone", "A file.\n")
            with pytest.raises(InvalidInput, match="no folder"):
                kb.stats()


def test_all_that_reads_can_be_asked_of_a_folder(home: Home) -> None:
    place = ("--in", str(home.folder))
    chunk = home.json("search", "otter", *place)["hits"][0]["chunk_id"]

    assert "An otter sleeps" in home.run("fetch", "chunk", chunk, *place).stdout
    assert "An otter sleeps" in home.run("fetch", "doc", "README.md", *place).stdout
    assert "build_den" in home.run("fetch", "span", "src/den.py", "1", "1", *place).stdout
    assert "An otter sleeps" in home.run("fetch", "README.md:3", *place).stdout
    assert "build_den" in home.run("fetch", "outline", "src/den.py", *place).stdout
    assert "An otter sleeps" in home.run("cite", "README.md#L1-L3", *place).stdout
    assert "unchanged" in home.run("cite", "verify", "README.md#L1-L3", *place).stdout
    assert "2 documents" in home.run("list", "docs", *place).stdout
    assert "src/den.py" in home.run("grep", "build_den", *place).stdout
    assert "README.md" in home.run("inspect", "doc", "README.md", *place).stdout
    assert "README.md" in home.run("inspect", "chunk", chunk, *place).stdout
    assert "2 indexed" in home.run("status", *place).stdout
    assert home.json("stats", *place)["doc_count"] == 2
    assert "src/den.py" in home.run("codebase-search", "beaver den", *place).stdout
    assert home.json("similar", "README.md", *place)["schema_version"] == "search_response.v1"
    assert "README.md" in home.run("explain-miss", "--doc", "README.md", "beaver", *place).stdout
    assert "An otter sleeps" in home.run("ask", "Where does the otter sleep?", *place).stdout


def test_forgetting_names_the_cache_that_may_hold_it_too(home: Home) -> None:
    home.write("notes/secret.md", "The heron hides.\n")
    home.run("search", "heron", "--in", str(home.path))
    home.run("search", "otter", "--in", str(home.folder))
    home.run("add", str(home.path / "notes"))
    home.run("ingest", "--no-embed")

    told = home.json("forget", "doc", "secret.md", "--yes")

    (left,) = told["left"]
    assert left.startswith(f"the cache of {home.path}, which was asked with --in")
    home.run("reset", "--workspace", str(home.path), "--yes")
    assert len(home.caches) == 1, "that of the other folder"


def test_a_folder_is_never_part_of_the_knowledge_base(home: Home) -> None:
    home.write("notes/a.md", "The heron waits for you.\n")
    home.run("add", str(home.path / "notes"))
    home.run("ingest")
    home.run("search", "otter", "--in", str(home.folder))

    assert home.json("search", "otter")["hits"] == []
    assert home.json("stats")["source_breakdown"] == {"notes": 1}
    assert home.paths("heron") == []


def test_a_cache_is_a_folder_here_whatever_the_knowledge_base_is_kept_on(home: Home) -> None:
    server = home.path / "milvus.db"
    home.environ |= {"KEBAB_INDEX_ENGINE": "milvus", "KEBAB_INDEX_URI": str(server)}

    assert home.paths("otter") == ["README.md"]
    assert not server.exists()


def test_a_folder_in_a_source_is_answered_from_the_source(home: Home) -> None:
    home.write("notes/a.md", "The heron waits for you.\n")
    home.write("notes/birds [old]/b.md", "The heron flies from you.\n")
    home.write("notes/birds-too/c.md", "The heron eats what you can.\n")
    home.run("add", str(home.path / "notes"))
    home.run("ingest")
    inner = home.path / "notes/birds [old]"

    assert home.paths("heron", folder=inner) == ["birds [old]/b.md"]
    assert home.paths("heron", folder=inner / "b.md") == ["birds [old]/b.md"]
    assert len(home.paths("heron", folder=home.path / "notes")) == 3
    assert "1 document\n" in home.run("list", "docs", "--in", str(inner)).stdout
    assert "1 file:" in home.run("status", "--in", str(inner)).stdout
    grepped = home.json("grep", "heron", "--in", str(inner))
    assert [file["doc_path"] for file in grepped["files"]] == ["birds [old]/b.md"]
    assert home.json("grep", "eats what", "--in", str(inner))["files"] == []
    for beside in ("a.md", str(home.path / "notes/a.md"), "a.md#L1"):
        assert "no document" in home.run("fetch", beside, "--in", str(inner), code=2).stderr
    said = home.run("search", "heron", "--in", str(inner)).stderr
    assert "searching source 'notes' of the knowledge base, below 'birds [old]'" in said
    assert home.caches == []


def test_a_folder_in_a_source_that_was_never_ingested_is_not_indexed_and_not_empty(
    home: Home,
) -> None:
    """What was found a minute before, as of a workspace, was nowhere after ``kebab add``."""
    home.write("notes/a.md", "The heron waits for you.\n")
    home.write("later/b.md", "A walrus sleeps.\n")
    (home.path / "empty").mkdir()
    home.run("add", str(home.path / "notes"))
    home.run("add", str(home.path / "empty"))
    home.run("ingest")
    later = home.path / "later"
    assert home.paths("walrus", folder=later) == ["b.md"]
    home.run("add", str(later))

    for asked in (["search", "walrus"], ["grep", "walrus"], ["ask", "walrus"], ["fetch", "b.md"]):
        told = home.error(*asked, "--in", str(later))
        assert (told["code"], told["details"]) == ("not_indexed", {"source": "later"})
        said = "nothing of source 'later' of the knowledge base was ever ingested"
        assert (told["message"], told["hint"]) == (said, f"run 'kebab ingest {later}'")
    home.run("ingest", str(later))
    assert home.paths("walrus", folder=later) == ["b.md"]
    assert home.paths("walrus", folder=home.path / "empty") == []


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")])
def test_of_sources_that_nest_the_innermost_answers_and_an_outer_folder_has_all(
    home: Home, order: Sequence[str]
) -> None:
    home.write("notes/o.md", "The heron waits for you.\n")
    home.write("notes/deep/p.md", "The heron waits for them.\n")
    home.write("notes/deep/in/x.md", "The heron flies from you.\n")
    home.write("notes/deep/in/b/y.md", "The heron eats what you can.\n")
    notes = home.path / "notes"
    said = {
        "outer": f"id = 'outer'\nroot = '{notes}'\nexclude = ['/deep/in/']\n",
        "inner": f"id = 'inner'\nroot = '{notes}/deep/in'\n",
    }
    home.write(".config/kebab/config.toml", "".join(f"[[sources]]\n{said[id_]}" for id_ in order))
    home.run("ingest")

    for name, found in (
        ("deep/in", ["b/y.md", "x.md"]),
        ("deep/in/b", ["b/y.md"]),
        ("deep/in/x.md", ["x.md"]),
        ("deep", ["b/y.md", "deep/p.md", "x.md"]),
        (".", ["b/y.md", "deep/p.md", "o.md", "x.md"]),
    ):
        assert sorted(home.paths("heron", folder=notes / name)) == found, name
        grepped = home.json("grep", "heron", str(notes / name))["files"]
        assert sorted(file["doc_path"] for file in grepped) == found, name
    told = home.run("search", "heron", "--in", str(notes / "deep")).stderr
    assert "source 'outer' of the knowledge base, below 'deep', and source 'inner'" in told
    assert len(home.json("grep", "heron", str(home.path))["files"]) == 4
    home.run("about", str(notes / "deep/in/b"), "Herons that eat")
    assert load_config(None, {"HOME": str(home.path)}).sources[order.index("inner")].about


def test_a_file_is_asked_alone(home: Home) -> None:
    file = home.write("clone/odd [1] #.md", "The otter swims with you.\n")

    assert home.paths("otter", folder=file) == ["odd [1] #.md"]
    assert home.json("list", "docs", "--in", str(file))["total"] == 1


def test_a_link_to_a_folder_is_that_folder(home: Home) -> None:
    (home.path / "link").symlink_to(home.folder)

    assert home.paths("otter", folder=home.path / "link") == ["README.md"]
    assert home.paths("otter") == ["README.md"]
    assert len(home.caches) == 1


def test_ignored_and_secret_files_stay_out(home: Home) -> None:
    home.write("clone/.gitignore", "build/\n")
    home.write("clone/build/out.md", "An otter compiles.\n")
    home.write("clone/.env", "OTTER=otter\n")
    body = ("MIIEpAIBAAKCAQEA7bq98fjkfkljlk3j" * 2 + "\n") * 8
    key = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{body}-----END RSA {'PRIVATE'} KEY-----\n"
    home.write("clone/key.txt", f"otter\n{key}")

    assert home.paths("otter") == ["README.md"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", "no folder '{}'"),
        ("pipe", "'{}' is no folder"),
        ("$nope\0", "is not a path"),
        ("n\udcff", "has a name that is not Unicode"),
    ],
)
def test_what_is_no_folder_is_refused(home: Home, name: str, told: str) -> None:
    os.mkfifo(home.path / "pipe")
    (home.path / "n\udcff").mkdir()

    error = home.error("search", "otter", "--in", str(home.path / name))

    assert error["code"] == "invalid_input"
    assert told.format(home.path / name) in error["message"]
    assert home.caches == []


def test_what_messages_name_is_asked_of_the_folder_too(home: Home) -> None:
    """A command without it would ask the knowledge base, which knows nothing of the folder."""
    here = ["--in", str(home.folder)]

    drawn = home.error("cite", "README.md#L1", "--image", str(home.path / "x.png"), *here)
    paged = home.error("cite", "README.md#page=3", *here)
    embedded = home.run("embed", *here)
    other = home.error("inspect", "doc", "nope", *here)

    where = f"--in {home.folder}"
    assert f"kebab cite {where} 'README.md#L1'" in drawn["hint"]
    assert f"'kebab fetch doc {where} " in paged["hint"]
    assert f'kebab search {where} "..."' in embedded.stderr
    assert other["hint"].startswith(f"'kebab list docs {where}' shows")
    (shown,) = [part for part in paged["hint"].split("'") if part.startswith("kebab ")]
    assert "An otter sleeps" in home.run(*shown.split()[1:]).stdout


@pytest.mark.parametrize(("disk", "path"), [("n\udcff.md", "n%FF.md"), ("o\u0308.md", "\u00f6.md")])
def test_a_file_whose_name_is_spelled_otherwise_here_is_asked_and_followed(
    home: Home, disk: str, path: str
) -> None:
    file = home.write(f"clone/{disk}", "An otter sings.\n")
    environ = home_environ(home)

    assert home.paths("otter", folder=file) == [path]
    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        kb.stats()  # which reads all
        file.write_text("A walrus sings.\n", "utf-8")
        found = kb.search(SearchQuery(text="walrus", mode=SearchMode.LEXICAL))
        assert [hit.doc_path for hit in found.hits] == [path]
    home.run("add", str(home.folder))
    home.run("ingest", str(file))
    assert home.paths("walrus", folder=file) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_that_may_not_be_read_is_refused(home: Home) -> None:
    home.folder.chmod(0o000)

    error = home.error("search", "otter", "--in", str(home.folder))

    home.folder.chmod(0o700)
    assert "permission denied" in error["message"]


def test_a_large_folder_is_refused_with_what_it_would_take(home: Home) -> None:
    error = home.error("search", "otter", "--in", str(home.folder), KEBAB_WORKSPACES_MAX_FILES="1")

    assert error["details"]["files"] == 2
    assert "holds 2 files to read" in error["message"]
    assert "at most 1 files and 200 MB" in error["message"]
    assert "KEBAB_WORKSPACES_MAX_FILES" in error["hint"]
    assert home.caches == []


def test_one_that_has_grown_since_is_still_followed(home: Home) -> None:
    home.run("search", "otter", "--in", str(home.folder))
    home.write("clone/third.md", "The third otter is with you.\n")

    found = home.json("search", "third", "--in", str(home.folder), KEBAB_WORKSPACES_MAX_FILES="2")

    assert [hit["doc_path"] for hit in found["hits"]] == ["third.md"]


def test_a_damaged_cache_is_made_anew(home: Home) -> None:
    home.run("search", "otter", "--in", str(home.folder))
    (cache,) = home.caches

    def damages() -> Iterator[Path]:
        yield cache / "data/kebab.duckdb"
        yield cache / "data/lexical/chunks/meta.json"
        yield cache / "data/lexical/records/meta.json"
        yield cache / "data/run/seal.json"
        yield cache / "workspace.json"

    for file in damages():
        file.write_bytes(b"\0 no such thing")
        assert home.paths("otter") == ["README.md"], file
    for file in damages():
        file.unlink()
        assert home.paths("otter") == ["README.md"], file


@pytest.mark.parametrize("damage", ["data", "lexical", "meta.json"])
def test_a_cache_that_goes_or_is_damaged_while_it_is_used_is_made_anew(
    home: Home, damage: str
) -> None:
    environ = home_environ(home)
    place = place_of(load_config(None, environ), str(home.folder), environ=environ)
    with place.open() as kb:
        kb.stats()  # which reads all
        (cache,) = home.caches
        if damage == "meta.json":
            (cache / "data/lexical/chunks/meta.json").write_text("{")
        else:
            remove_folder(cache / "data/lexical" if damage == "lexical" else cache / "data")
        with place.open(readonly=True) as frozen, pytest.raises(ReadonlyMode):
            frozen.stats()

        assert kb.stats()["doc_count"] == 2
        found = kb.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL))
        assert [hit.doc_path for hit in found.hits] == ["README.md"]


def test_a_cache_that_cannot_be_written_is_an_error_with_a_way_out(home: Home) -> None:
    home.write(".cache/kebab", "not a folder")

    error = home.error("search", "otter", "--in", str(home.folder))

    assert error["code"] == "io_error"
    assert "XDG_CACHE_HOME" in error["hint"]


def test_while_another_process_writes_the_old_state_answers(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("_looking", "workspaces"):
        monkeypatch.setattr(f"kb_app.{module}.BRIEF_SECS", 0.0)
    home.run("search", "otter", "--in", str(home.folder))
    home.write("clone/new.md", "The otter dives with you.\n")
    (cache,) = home.caches

    with WriterLock(DataDir(cache / "data").lock):
        found = home.json("search", "otter", "--in", str(home.folder))

    assert [hit["doc_path"] for hit in found["hits"]] == ["README.md"]
    assert "another process" in found["warnings"][0]
    assert sorted(home.paths("otter")) == ["README.md", "new.md"]


def test_where_there_is_no_state_yet_another_process_is_waited_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("_looking", "workspaces"):
        monkeypatch.setattr(f"kb_app.{module}.BRIEF_SECS", 0.0)
    environ = home_environ(home)
    place = place_of(load_config(None, environ), str(home.folder), environ=environ)
    lock = WriterLock(DataDir(place.config.storage.data_dir).lock).acquire()
    said: list[object] = []

    def hear(what: object) -> None:
        if isinstance(what, str):
            said.append(what)
            lock.release()

    with place.open(hear=hear) as kb:
        found = kb.search(SearchQuery(text="otter"))

    assert [hit.doc_path for hit in found.hits] == ["README.md"]
    assert said == [f"another process indexes the folder '{home.folder}'; waiting for it"]


def home_environ(home: Home) -> dict[str, str]:
    return {"HOME": str(home.path), **home.environ}


def test_a_first_look_is_published_in_one_step(home: Home) -> None:
    """Nobody sees anything before its end, and each step costs segments that have to be merged."""
    for number in range(70):
        home.write(f"clone/n{number}.md", f"This otter has the number {number}.\n")
    environ = {**home_environ(home), "KEBAB_INGEST_BATCH_DOCS": "8", "KEBAB_INGEST_BATCH_SECS": "1"}
    place = place_of(load_config(None, environ), str(home.folder), environ=environ)
    steps: list[int] = []

    def hear(what: Any) -> None:  # noqa: ANN401 - an event
        if getattr(what, "kind", "") == "committed":
            steps.append(what.data["documents"])

    with place.open(hear=hear) as kb:
        kb.search(SearchQuery(text="otter"))

    assert steps == [72]


@pytest.fixture
def large(home: Home) -> Home:
    """A folder of which a search reads a part: sixty notes, each with a name of its own."""
    home.environ["KEBAB_WORKSPACES_SEARCH_KB"] = "1"
    for number in range(60):
        home.write(f"clone/n{number}.md", f"The beaver named {named(number)} builds a dam.\n")
    return home


def named(number: int) -> str:
    return f"q{'abcdefghij'[number // 10]}z{'abcdefghij'[number % 10]}"


def left_of(told: Mapping[str, Any]) -> int:
    """Return how many files a response says are left."""
    said = [text for text in told.get("warnings", ()) if "to be read" in text]
    return int(said[0].split()[0]) if said else 0


def searched(home: Home, query: str, *words: str) -> tuple[list[str], int]:
    told = home.json("search", query, "--in", str(home.folder), *words)
    return [hit["doc_path"] for hit in told["hits"]], left_of(told)


def test_a_search_of_a_new_folder_reads_what_holds_its_words_and_says_what_it_left(
    large: Home,
) -> None:
    assert searched(large, named(7)) == (["n7.md"], 61)
    assert searched(large, named(41)) == (["n41.md"], 60)
    assert [row["complete"] for row in large.json("list", "workspaces")["items"]] == [False]

    # Ten are shown of sixty that hold the word, as of all of them.
    paths, left = searched(large, "beaver")
    assert len(paths) == 10
    assert 0 < left < 40

    assert large.json("stats", "--in", str(large.folder))["doc_count"] == 62
    assert searched(large, named(59)) == (["n59.md"], 0)
    assert large.json("list", "workspaces")["items"][0]["complete"]


def test_a_list_that_is_short_is_filled_from_what_holds_letters_of_its_words(large: Home) -> None:
    for number in range(40):
        large.write(f"clone/p{number}.md", "A potter's potter sold pots to potters.\n")
    for number in range(3):
        large.write(f"clone/o{number}.md", "An otter came by.\n")
    large.write("clone/README.md", "Beavers build dams.\n" * 200)

    paths, left = searched(large, "otter")

    assert sorted(paths) == ["o0.md", "o1.md", "o2.md"]
    assert left == 62  # in which there is nothing of it
    # What a document would fill, but for the most that it may give, is not filled by others.
    large.write("clone/m.md", "".join(f"# Martens {at}\n\nA marten.\n\n" for at in range(30)))
    for number in range(60):
        large.write(f"clone/s{number}.md", "Smartens up.\n")
    assert searched(large, "marten", "--per-doc", "1") == (["m.md"], left + 61 - 32)


def test_what_is_in_files_that_are_no_text_is_found_and_the_others_wait(large: Home) -> None:
    for number in range(9):
        body = f"<w:p><w:r><w:t>A stoat called {named(80 + number)}</w:t></w:r></w:p>"
        (large.folder / f"w{number}.docx").write_bytes(docx(body))
        packed = gzip.compress(f"A heron called {named(90 + number)}\n".encode())
        (large.folder / f"g{number}.txt.gz").write_bytes(packed)

    assert searched(large, named(84)) == (["w4.docx"], 79)
    assert searched(large, named(97)) == (["g7.txt.gz!/g7.txt"], 78)
    (letters,) = large.path.rglob("letters")
    assert len([*letters.iterdir()]) == 18
    assert large.json("stats", "--in", str(large.folder))["doc_count"] == 62 + 9 + 2 * 9
    assert not letters.exists()  # all is read: nobody looks any more


GREPPED = {
    named(7): (["n7.md"], False),
    f"The (?:Beaver|otter) {'n'}amed (?:{named(8)}|{named(9)})": ([], False),
    f"(?i)NAMED ({named(8)}|{named(9)})": (["n8.md", "n9.md"], False),
    "beaver named qa[a-z]+ builds": ([f"n{at}.md" for at in range(10)], False),
    "stoat": (["w.docx", "wide.txt"], False),
    "never written": ([], False),
    r"^\w+ was": (["was.md"], False),
    r"^[IJ]t[ ]\w+\W$": (["was.md"], True),
    "miss": (["long.md"], False),
}


@pytest.mark.parametrize("pattern", GREPPED)
def test_grep_of_a_new_folder_reads_what_may_match_and_answers_of_all(
    large: Home, pattern: str
) -> None:
    (large.folder / "w.docx").write_bytes(docx("<w:p><w:r><w:t>A stoat</w:t></w:r></w:p>"))
    (large.folder / "wide.txt").write_bytes("A stoat was".encode("utf-16"))
    large.write("clone/was.md", "It was.\n")
    large.write("clone/long.md", "A mi\u017fs.\n")
    paths, is_whole = GREPPED[pattern]

    asked = ("grep", pattern, "--in", str(large.folder), "--ignore-case")
    found = large.json(*asked[:-1] if pattern.startswith("The") else asked)

    assert sorted(file["doc_path"] for file in found["files"]) == sorted(paths)
    assert (found["searched"], found["complete"]) == (66, True)
    assert [row["complete"] for row in large.json("list", "workspaces")["items"]] == [is_whole]


def test_what_all_of_a_folder_decides_reads_all_of_it(large: Home) -> None:
    asked = ["qazb AND dam", '"named qazb"', "qazb path:n1", "beaver -dam", "title:qazb"]
    assert not any(_words_of(SearchQuery(text=text)) for text in asked)
    narrowed = SearchQuery(text="qazb", filters=SearchFilters(path_glob=("n*",)))
    assert not _words_of(narrowed)
    assert _words_of(SearchQuery(text="a beaver OR qazb"))

    assert searched(large, "qazbb") == (["n1.md"], 0)  # what is misspelt is in no file
    assert searched(large, named(2), "--path-glob", "n*") == (["n2.md"], 0)


def test_a_search_reads_all_where_that_is_wished_or_not_much(large: Home) -> None:
    assert searched(large, named(3), "--snippet-chars", "100")[1] == 61
    large.environ["KEBAB_WORKSPACES_SEARCH_KB"] = "100"
    assert searched(large, named(4)) == (["n4.md"], 0)

    large.run("reset", "--workspaces", "--yes")
    large.environ["KEBAB_WORKSPACES_SEARCH_KB"] = "0"
    assert searched(large, named(3)) == (["n3.md"], 0)


def test_a_hit_is_fetched_without_reading_the_rest_and_a_page_goes_on(large: Home) -> None:
    large.write("clone/den.py", "def dig_den():\n    pass\n")
    folder = ("--in", str(large.folder))
    told = large.json("search", named(7), *folder)
    place = large.json("fetch", told["hits"][0]["citation"]["uri"], *folder)
    assert named(7) in place["text"]
    chunk = large.json("fetch", "chunk", told["hits"][0]["chunk_id"], *folder)
    assert named(7) in chunk["chunk"]["text"]
    assert [row["complete"] for row in large.json("list", "workspaces")["items"]] == [False]

    first = large.json("search", "beaver", "-k", "5", *folder)
    more = large.json("search", "beaver", "-k", "5", "--cursor", first["next_cursor"], *folder)
    assert not {hit["chunk_id"] for hit in first["hits"]} & {h["chunk_id"] for h in more["hits"]}
    # What no search has come by is found all the same, and so is where a name is defined.
    assert named(59) in large.json("fetch", "n59.md", *folder)["text"]
    assert "den.py:1-2" in large.run("fetch", *folder, "n7.md#dig_den", code=2).stderr
    unread = large.run("fetch", *folder, "n0.txt", code=2).stderr
    assert f"'kebab list docs --in {large.folder}'" in unread


def test_a_folder_that_grew_too_large_is_refused_where_all_of_it_would_be_read(
    large: Home,
) -> None:
    searched(large, named(7))
    large.environ["KEBAB_WORKSPACES_MAX_FILES"] = "30"

    assert searched(large, named(8))[0] == ["n8.md"]
    assert "62 files" in large.error("grep", "beaver", "--in", str(large.folder))["message"]


def test_read_only_answers_from_what_was_read_in_part(large: Home) -> None:
    searched(large, named(7))

    told = large.json("--readonly", "search", named(7), "--in", str(large.folder))

    assert [hit["doc_path"] for hit in told["hits"]] == ["n7.md"]
    assert any("read in part" in text for text in told["warnings"])


def test_who_stays_reads_the_rest_while_nobody_asks(
    large: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.02)
    environ = home_environ(large)
    with place_of(load_config(None, environ), str(large.folder), environ=environ).open() as kb:
        kb.stay()
        found = kb.search(SearchQuery(text=named(7), mode=SearchMode.LEXICAL))
        assert [hit.doc_path for hit in found.hits] == ["n7.md"]
        assert "while nobody asks" in found.warnings[0]
        while not large.json("list", "workspaces")["items"][0]["complete"]:
            threading.Event().wait(0.05)
        assert not kb.search(SearchQuery(text=named(8), mode=SearchMode.LEXICAL)).warnings


def test_who_stays_keeps_a_worker_for_the_next_change(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []

    def keeping(
        _: Config, task: Callable[[Any], Any], __: int, *, spare: object = None
    ) -> InlineExecutor[Any, Any]:
        kept.append(spare)
        return InlineExecutor(task)

    monkeypatch.setattr("kb_app._wiring._executor", keeping)
    environ = home_environ(home)
    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        kb.stats()
        assert set(kept) == {None}
        kb.stay()
        kept.clear()
        for number in range(2):
            home.write(f"clone/n{number}.md", "An otter.\n")
            assert kb.stats()["doc_count"] == 3 + number

    assert len(kept) == 2
    assert kept[0] is kept[1] is not None


def test_who_stays_answers_before_a_run_has_put_in_order_what_it_wrote(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidy, may_tidy, tidied = WriteSession.tidy, threading.Event(), list[int]()

    def waiting(session: WriteSession) -> None:
        may_tidy.wait()
        tidied.append(session.control.stats["doc_count"])
        tidy(session)

    environ = home_environ(home)
    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        kb.stats()
        kb.stay()
        monkeypatch.setattr(again, "_TICK_NS", 0)  # else what is new is looked at once more
        monkeypatch.setattr(WriteSession, "tidy", waiting)
        home.write("clone/more.md", "A narwhal.\n")
        found = kb.search(SearchQuery(text="narwhal", mode=SearchMode.LEXICAL))
        assert [hit.doc_path for hit in found.hits] == ["more.md"]
        assert kb.stats()["doc_count"] == 3  # nothing has changed since: nobody waits for it
        assert (tidied, kb.is_working) == ([], True)

        home.write("clone/again.md", "A narwhal, again.\n")
        threading.Timer(0.01, may_tidy.set).start()
        assert kb.stats()["doc_count"] == 4  # what writes lets it end first
        kb.close()

    assert tidied == [3, 4]
    assert not kb.is_working
    assert is_sealed(DataDir(home.caches[0] / "data"))


def test_what_goes_wrong_behind_an_answer_is_the_next_runs_to_mend(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: WriteSession) -> NoReturn:
        raise StoreBusy("not now")

    environ = home_environ(home)
    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        kb.stats()
        kb.stay()
        with monkeypatch.context() as broken:
            broken.setattr(WriteSession, "tidy", failing)
            home.write("clone/more.md", "A narwhal.\n")
            assert kb.stats()["doc_count"] == 3
            home.write("clone/again.md", "A narwhal, again.\n")
            assert kb.stats()["doc_count"] == 4
        home.write("clone/third.md", "A third narwhal.\n")
        assert kb.stats()["doc_count"] == 5


def test_a_search_waits_for_nobody_who_reads_all_and_he_goes_on(large: Home) -> None:
    environ = home_environ(large)
    has_begun, told = threading.Event(), list[int]()

    def hear(what: Any) -> None:  # noqa: ANN401 - an event
        if getattr(what, "kind", "") == "asset_finished" and not has_begun.is_set():
            has_begun.set()
            kb._waits.cut.wait()  # type: ignore[attr-defined]  # until somebody waits for less

    with place_of(load_config(None, environ), str(large.folder), environ=environ).open(
        hear=hear
    ) as kb:
        kb.stay()
        reader = threading.Thread(target=lambda: told.append(kb.stats()["doc_count"]))
        reader.start()
        has_begun.wait()
        found = kb.search(SearchQuery(text=named(41), mode=SearchMode.LEXICAL))
        reader.join()

    assert [hit.doc_path for hit in found.hits] == ["n41.md"]
    assert "to be read while nobody asks" in found.warnings[0]
    assert told == [62]


def test_whatever_was_read_before_a_word_is_found_where_it_stands_now(large: Home) -> None:
    environ = home_environ(large)
    place = place_of(load_config(None, environ), str(large.folder), environ=environ)

    def found(number: int) -> list[str]:
        with place.open() as kb:
            query = SearchQuery(text=named(number), mode=SearchMode.LEXICAL, passages=True)
            return [hit.passage.text if hit.passage else "" for hit in kb.search(query).hits]

    assert len(found(1)) == 1
    (large.folder / "n1.md").unlink()
    (large.folder / "n2.md").unlink()
    large.write("clone/n3.md", f"An otter moved in with {named(3)}.\n")
    assert [found(1), found(2)] == [[], []]
    assert found(3)[0].startswith("An otter")
    large.write("clone/n3.md", f"A stoat moved in with {named(3)}.\n")
    large.write("clone/n61.md", f"A stoat heard of {named(3)}.\n")
    assert {text.split()[1] for text in found(3)} == {"stoat"}
    with place.open() as kb:
        assert kb.stats()["doc_count"] == 61


def picture_of(text: str, path: Path) -> None:
    """Write a picture with *text* in it."""
    pytest.importorskip("tesserocr")
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (640, 120), "white")
    draw = ImageDraw.Draw(image)
    draw.text((40, 30), text, fill="black", font=ImageFont.load_default(36))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def warnings_of(home: Home, *words: str) -> str:
    told = home.run("search", "otter", "--mode", "lexical", "--in", str(home.folder), *words)
    return told.stderr


@pytest.mark.parametrize("way", ["--media", "embed", "grep", "ask"])
def test_pictures_are_read_once_they_are_asked_for(home: Home, way: str) -> None:
    picture_of("Walrus receipt 12.50", home.folder / "img/receipt.png")
    said = "1 picture or scan waits: a filter by medium reads it, or 'kebab embed --in "
    assert said in warnings_of(home)
    assert home.paths("walrus") == []
    assert home.paths("otter") == ["README.md"]
    if way == "--media":
        assert home.paths("walrus", "--media", "image") == ["img/receipt.png"]
    elif way == "grep":
        found = home.run("grep", "Walrus", "--media", "image", "--in", str(home.folder))
        assert "img/receipt.png" in found.stdout
    elif way == "ask":
        asked = ("ask", "What does the walrus receipt say?", "--media", "image")
        told = home.run(*asked, "--in", str(home.folder))
        assert "Walrus receipt 12.50" in told.stdout
    else:
        home.run("embed", "--in", str(home.folder))
    assert home.paths("walrus") == ["img/receipt.png"]
    assert "waits" not in warnings_of(home)

    picture_of("Narwhal receipt", home.folder / "img/second.png")  # as somebody asked for them
    assert home.paths("narwhal") == ["img/second.png"]


def test_who_stays_says_once_how_many_pictures_wait_and_again_when_there_are_more(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_app._looking._FRESH_SECS", 0.0)
    home.write("clone/more.md", "An otter, again.\n")
    home.write("clone/third.md", "An otter, too.\n")
    picture_of("Walrus receipt", home.folder / "receipt.png")
    place = place_of(
        load_config(None, home_environ(home)), str(home.folder), environ=home_environ(home)
    )
    query, told = SearchQuery(text="otter"), []

    with place.open() as kb:
        kb.stay()
        for number in range(4):
            if number == 2:
                picture_of("Narwhal receipt", home.folder / "second.png")
            told.append([text.split(":")[0] for text in kb.search(query).warnings])

    assert told == [["1 picture or scan waits"], [], ["2 pictures or scans wait"], []]


def test_pictures_are_read_at_once_where_they_are_most_of_a_folder(home: Home) -> None:
    for name in ("walrus", "narwhal", "dugong"):
        picture_of(f"{name} receipt", home.folder / f"{name}.png")
    assert home.paths("dugong receipt")[0] == "dugong.png"
    assert "waits" not in warnings_of(home)


def test_pictures_that_nobody_wants_read_are_no_warning(home: Home) -> None:
    picture_of("Walrus receipt", home.folder / "receipt.png")
    home.environ["KEBAB_OCR_ENABLED"] = "false"
    assert "waits" not in warnings_of(home)
    assert home.paths("walrus", "--media", "image") == []


def test_a_call_that_leaves_pictures_opens_no_store(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture_of("Walrus receipt", home.folder / "receipt.png")
    assert home.paths("otter") == ["README.md"]

    def opened(*_: object) -> None:
        raise AssertionError("the store was opened")

    monkeypatch.setattr("kb_app._wiring.open_session", opened)
    assert home.paths("otter") == ["README.md"]


def test_what_was_interrupted_goes_on(home: Home) -> None:
    for number in range(5):
        home.write(f"clone/n{number}.md", f"This otter has the number {number}.\n")
    place = place_of(
        load_config(None, home_environ(home)), str(home.folder), environ=home_environ(home)
    )
    seen: list[object] = []

    def interrupt(what: Any) -> None:  # noqa: ANN401 - an event
        seen.append(what)
        if getattr(what, "kind", "") == "asset_finished":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), place.open(hear=interrupt) as kb:
        kb.search(SearchQuery(text="otter"))

    listed = home.json("list", "workspaces")["items"]
    assert [row["complete"] for row in listed] == [False]
    assert len(home.paths("otter")) == 6
    assert home.json("list", "workspaces")["items"][0]["complete"]


@pytest.mark.parametrize("has_own", [False, True])
def test_read_only_answers_from_what_is_there(home: Home, *, has_own: bool) -> None:
    """Whether the person has a knowledge base or not: its store is none of the folder's."""
    if has_own:
        home.write("notes/a.md", "The heron waits for you.\n")
        home.run("add", str(home.path / "notes"))
        home.run("ingest")
    for words in (("search", "otter"), ("grep", "otter"), ("status",), ("list", "docs")):
        asked = ("--json", "--readonly", *words, "--in", str(home.folder))
        refused = json.loads(home.run(*asked, code=1).stderr)
        assert refused["code"] == ReadonlyMode.code
        assert "is not indexed yet, and nothing may be written" in refused["message"]
    assert home.caches == []

    home.run("search", "otter", "--in", str(home.folder))
    home.write("clone/new.md", "The otter dives with you.\n")

    found = home.json("--readonly", "search", "otter", "--in", str(home.folder))
    assert [hit["doc_path"] for hit in found["hits"]] == ["README.md"]


def test_what_was_not_used_for_long_is_forgotten_when_another_is_used(home: Home) -> None:
    home.write("other/a.md", "A stoat.\n")
    home.write("third/a.md", "A mink.\n")
    home.run("search", "stoat", "--in", str(home.path / "other"))
    home.run("search", "mink", "--in", str(home.path / "third"))
    old = time.time() - 31 * _DAY
    for cache in home.caches:
        if str(home.path / "other") in (cache / "workspace.json").read_text("utf-8"):
            os.utime(cache / "workspace.json", (old, old))

    home.run("search", "otter", "--in", str(home.folder))

    listed = [row["folders"] for row in home.json("list", "workspaces")["items"]]
    assert listed == [[str(home.folder)], [str(home.path / "third")]]
    assert len(home.caches) == 2


def test_workspaces_are_listed_and_removed_one_or_all(home: Home) -> None:
    home.write("other/a.md", "A stoat.\n")
    home.run("search", "stoat", "--in", str(home.path / "other"))
    home.run("search", "otter", "--in", str(home.folder))
    assert "2 workspaces" in home.run("list", "workspaces").stdout

    (home.path / "other/a.md").unlink()
    (home.path / "other").rmdir()
    asked = home.error("reset", "--workspace", str(home.path / "other"))
    assert asked["hint"] == f"kebab reset --workspace {home.path / 'other'} --yes"
    home.run("reset", "--workspace", str(home.path / "other"), "--yes")
    assert [row["folders"] for row in home.json("list", "workspaces")["items"]] == [
        [str(home.folder)]
    ]

    caches = [str(path) for path in home.caches]
    report = home.json("reset", "--workspaces", "--yes")
    assert [row["path"] for row in report["removed"]] == caches
    assert home.caches == []
    assert "README.md" in files_below(home.folder)
    assert home.error("reset", "--workspace", str(home.folder), "--yes")["hint"] == (
        "kebab list workspaces"
    )


def _cannot_read() -> NoReturn:
    raise InvalidInput("a fake model reads nothing closely")


@pytest.fixture
def meaning(home: Home) -> Workspace:
    """A workspace of forty notes, with a fake model."""
    for number in range(40):
        home.write(
            f"clone/n{number}.md",
            f"# Note {number}\n\nThis otter is with {number} {'x' * number}.\n",
        )
    place = place_of(
        load_config(None, home_environ(home)), str(home.folder), environ=home_environ(home)
    )
    embedder = HashEmbedder()
    real = parts_of(place.config)
    parts = replace(
        real, model=lambda: embedder.model, embedder=lambda: embedder, close_reader=_cannot_read
    )
    made = Workspace(place.config, parts, readonly=True)
    made.settle(place, is_frozen=False, hear=None)
    return made


def test_what_words_find_gets_its_vectors_first_and_a_look_opens_no_store(
    meaning: Workspace,
) -> None:
    data = DataDir(meaning._config.storage.data_dir)

    first = meaning.search(SearchQuery(text="otter"))
    assert is_sealed(data)
    again = meaning.search(SearchQuery(text="otter"))
    other = meaning.search(SearchQuery(text="den"))

    assert first.degraded[0].startswith("vector: 16 of ")
    assert "'kebab embed --in " in first.degraded[0]
    found = [hit for hit in first.hits if hit.retrieval.vector_rank is not None]
    assert found
    assert again.degraded == first.degraded
    assert other.degraded[0].startswith("vector: 17 of ")
    assert is_sealed(data)
    meaning.close()


def test_what_explains_a_miss_names_the_command_of_the_folder(meaning: Workspace) -> None:
    told = meaning.explain_miss("n3.md", SearchQuery(text="zebra"))

    assert told["verdict"] == "no_embedding"
    assert "'kebab embed --in " in told["summary"]


@pytest.mark.parametrize("ask", ["aggregated", "codebase", "similar", "ask", "answer"])
def test_whatever_asks_by_meaning_has_what_words_find_embedded(
    meaning: Workspace, ask: str
) -> None:
    if ask == "aggregated":
        (outcome,) = meaning.search_aggregated([SearchQuery(text="otter")]).outcomes
        assert not isinstance(outcome, KbError)
        assert "'kebab embed --in " in outcome.degraded[0]
    elif ask == "codebase":
        meaning.codebase_search({"queries": ["otter", " ".join(["x"] * 9000)]})
    elif ask == "ask":
        *_, final = meaning.ask(AskQuery(text="What is the otter with?"))
        assert "'kebab embed --in " in final["answer"]["degraded"][0]
    elif ask == "answer":
        assert "'kebab embed --in " in meaning.answer(AskQuery(text="the otter")).degraded[0]
    else:
        found = meaning.similar("n3.md")
        assert found.hits
        assert not found.degraded

    (vectors,) = meaning._snapshot().control.vectors.values()
    assert 8 <= vectors.rows <= 24
    meaning.close()


def test_the_last_few_passages_are_embedded_whatever_words_find(
    meaning: Workspace, home: Home
) -> None:
    """A question in another language finds nothing by words, and a small folder is all there."""
    for number in range(30):
        (home.folder / f"n{number}.md").unlink()
    found = meaning.search(SearchQuery(text="수달"))
    rows = [files.rows for files in meaning._snapshot().control.vectors.values()]
    meaning.close()

    assert rows == [12]
    assert found.degraded == ()
    assert found.hits


@pytest.mark.parametrize("most", [5_000, 30])
def test_who_stays_embeds_the_others_while_nobody_asks(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.02)
    settings = replace(meaning._config.workspaces, embed_passages=most)
    meaning._config = replace(meaning._config, workspaces=settings)
    data = DataDir(meaning._config.storage.data_dir)

    meaning.stay()
    assert meaning.stats()["doc_count"] == 42  # it begins with the first look, whatever asks
    begun = meaning._meanwhile
    assert begun is not None
    while begun.goes_on:
        time.sleep(0.01)
    rows = [files.rows for files in meaning._snapshot().control.vectors.values()]
    told = meaning.search(SearchQuery(text="otter")).degraded
    meaning.close()

    assert rows == [min(most, 42)]
    assert most < 42 or told == ()
    assert is_sealed(data)


class _Held(HashEmbedder):
    """Ends no batch before somebody asks *workspace* something; after that it is never quiet."""

    def __init__(self, workspace: Workspace, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.begun = threading.Event()
        self._workspace, self._patch = workspace, patch

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        self.batches.append(len(texts))
        self.begun.set()
        assert self._workspace._meanwhile is not None
        assert self._workspace._meanwhile._is_asked.wait(60)
        self._patch.setattr(_meanwhile, "_QUIET_SECS", 3600.0)
        return super().embed_passages(texts)


def test_who_asks_waits_for_the_batch_at_hand_and_for_no_other(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.0)
    held = _Held(meaning, monkeypatch)
    meaning._parts = replace(meaning._parts, embedder=lambda: held)

    meaning.stay()
    meaning.stats()
    assert held.begun.wait(60)
    found = meaning.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL))
    meaning.close()

    assert found.hits
    assert held.batches == [8]


class _Told(HashEmbedder):
    """Keeps what it embeds, and sets *stop* after each batch, if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []
        self.stop: threading.Event | None = None

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        self.passages += texts
        if self.stop is not None:
            self.stop.set()
        return super().embed_passages(texts)


def test_what_a_question_found_is_embedded_before_what_is_newer_whoever_ends_a_turn(
    meaning: Workspace, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 3600.0)  # turns are those of the test
    for number in range(9):
        home.write(f"clone/new{number}.md", f"A badger digs with {number} others.\n")
    told = _Told()
    meaning._parts = replace(meaning._parts, embedder=lambda: told)

    meaning.stay()
    meaning.search(SearchQuery(text="otter"))
    assert len(told.passages) == 16
    told.stop = stop = threading.Event()
    assert meaning._embed_rest(stop)
    assert len(told.passages) == 24
    told.stop = None
    assert not meaning._embed_rest(threading.Event())
    meaning.close()

    of_otters = ["otter" in passage for passage in told.passages]
    assert of_otters == [True] * 41 + [False] * 10


def test_the_limit_is_one_of_all_turns_together(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 3600.0)
    settings = replace(meaning._config.workspaces, embed_passages=20)
    meaning._config = replace(meaning._config, workspaces=settings)
    told = _Told()
    meaning._parts = replace(meaning._parts, embedder=lambda: told)

    meaning.stay()
    meaning.stats()
    told.stop = stop = threading.Event()
    assert meaning._embed_rest(stop)
    told.stop = None
    assert not meaning._embed_rest(threading.Event())
    meaning.close()

    assert len(told.passages) == 20


def test_a_call_that_waited_for_a_turn_sees_what_changed_before_it(
    meaning: Workspace, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 3600.0)
    meaning.stay()
    meaning.stats()
    meaning._looked_at = float("-inf")  # some time ago
    home.write("clone/new.md", "A badger digs.\n")

    assert not meaning._embed_rest(threading.Event())
    found = meaning.search(SearchQuery(text="badger", mode=SearchMode.LEXICAL))
    meaning.close()

    assert [hit.doc_path for hit in found.hits] == ["new.md"]


def test_whoever_may_not_write_embeds_nothing_and_begins_nothing(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 3600.0)
    meaning.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL))
    meaning._is_frozen, meaning._looked_at = True, float("-inf")
    meaning.stay()

    found = meaning.search(SearchQuery(text="otter"))
    begun, vectors = meaning.is_working, meaning._snapshot().control.vectors
    meaning.close()

    assert found.hits
    assert (begun, vectors) == (False, {})


def test_where_another_process_has_the_store_words_answer(meaning: Workspace) -> None:
    meaning.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL))

    def busy() -> NoReturn:
        raise StoreBusy("another kebab is writing")

    meaning._parts = replace(meaning._parts, session=busy)
    found = meaning.search(SearchQuery(text="otter"))
    meaning.close()

    assert found.hits
    assert found.degraded[0].startswith("vector: ")


def test_who_stays_says_that_more_comes_and_not_what_to_run(meaning: Workspace) -> None:
    meaning.stay()
    assert meaning._meanwhile is not None
    meaning._meanwhile._thread = threading.current_thread()  # it is at it
    told = meaning.search(SearchQuery(text="otter")).degraded
    meaning._meanwhile._thread = None
    meaning.close()

    assert told[0].startswith("vector: 16 of ")
    assert told[0].endswith("the others are found by words (more have one soon, while nobody asks)")


def test_what_the_newest_question_found_is_embedded_before_the_rest(meaning: Workspace) -> None:
    meaning.stay()
    meaning._wish([1, 2])
    meaning._wish([3, 1])
    assert [*meaning._wished] == [3, 1, 2]
    meaning.close()


def test_a_turn_ends_when_somebody_asks_and_the_next_waits_until_it_is_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.02)
    turns: list[float] = []
    begun, ended = threading.Event(), threading.Event()

    def work(stop: threading.Event) -> bool:
        turns.append(time.monotonic())
        begun.set()
        if len(turns) == 1:
            assert stop.wait(60)
            return True
        ended.set()
        return False

    beside = _meanwhile.Meanwhile(work)
    beside.begin()
    assert begun.wait(60)
    beside.asked()
    asked_at = time.monotonic()
    assert ended.wait(60)
    beside.end()
    beside.begin()  # nothing: it has ended

    assert len(turns) == 2
    assert turns[1] >= asked_at + 0.02
    assert not beside.goes_on


def test_who_leaves_waits_for_no_turn_that_does_not_end(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may end then, as if it were killed: what is embedded is committed in batches."""
    monkeypatch.setattr(_meanwhile, "_QUIET_SECS", 0.0)
    monkeypatch.setattr(_meanwhile, "_GRACE_SECS", 0.01)
    begun, goes_on = threading.Event(), threading.Event()

    def work(_: threading.Event) -> bool:
        begun.set()
        return goes_on.wait(60) and False

    meaning.stay()
    told = [meaning.is_working]
    meaning._meanwhile = _meanwhile.Meanwhile(work)
    meaning._meanwhile.begin()
    assert begun.wait(60)
    meaning.leave()
    told.append(meaning.is_working)
    goes_on.set()
    while meaning.is_working:
        time.sleep(0.01)
    meaning.close()

    assert told == [False, True]


def test_a_search_by_words_embeds_nothing(meaning: Workspace) -> None:
    meaning.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL))
    stats = meaning.stats()
    meaning.close()

    assert stats["doc_count"] == 42
    with meaning:
        assert meaning._snapshot().control.vectors == {}


def looks_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets a word for each look at the folder of a workspace."""
    looks: list[str] = []
    follow = Workspace._follow

    def watched(self: Workspace, *given: Any) -> bool:  # noqa: ANN401
        looks.append("looked")
        return follow(self, *given)

    monkeypatch.setattr(Workspace, "_follow", watched)
    return looks


def test_calls_that_come_in_a_burst_share_one_look(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = looks_of(monkeypatch)
    monkeypatch.setattr("kb_app._looking._FRESH_SECS", 3600.0)
    threads = [threading.Thread(target=meaning.stats) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(looks) == 1
    meaning.close()


def test_questions_that_wait_for_their_turn_are_read_for_at_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[object, int]] = []
    ingest = Workspace._ingest

    def watched(self: Workspace, *given: Any, **named: Any) -> None:  # noqa: ANN401
        ingest(self, *given, **named)
        runs.append((self._waits.own.sought, self._left.files))

    monkeypatch.setattr(Workspace, "_ingest", watched)
    monkeypatch.setattr("kb_app._looking._KB", 10)
    monkeypatch.setattr("kb_app._ingest.sought._LEAST_FILES", 1)
    words, environ = ("walrus", "narwhal", "dugong"), home_environ(home)
    for at in range(40):
        said = words[at] if at < len(words) else "seal"
        home.write(f"clone/n{at}.md", f"The {said} sleeps.\n" + "and sleeps on.\n" * 200)
    found: dict[str, list[str]] = {}

    with place_of(load_config(None, environ), str(home.folder), environ=environ).open() as kb:
        assert isinstance(kb, Workspace)

        def ask(word: str) -> None:
            response = kb.search(SearchQuery(text=word, mode=SearchMode.LEXICAL, k=1))
            found[word] = [hit.doc_path for hit in response.hits]

        threads = [threading.Thread(target=ask, args=[word]) for word in words]
        with kb._turn:
            for thread in threads:
                thread.start()
            while len(kb._waits.asking()) < len(words):
                time.sleep(0.001)
        for thread in threads:
            thread.join()

    assert found == {"walrus": ["n0.md"], "narwhal": ["n1.md"], "dugong": ["n2.md"]}
    assert [sought in words and left > 0 for sought, left in runs] == [True]


def test_who_wants_all_gives_way_twice_at_most(
    meaning: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow: Callable[..., bool] = Workspace._follow
    gave_way: list[bool] = []

    def stopped(self: Workspace, *given: Any) -> bool:  # noqa: ANN401
        gave_way.append(self._waits.own.yields)
        return follow(self, *given) and not self._waits.own.yields

    monkeypatch.setattr(Workspace, "_follow", stopped)
    assert meaning.stats()["doc_count"] == 42
    meaning.close()

    assert gave_way == [True, True, False]


@pytest.mark.parametrize("stays", [True, False], ids=["one process", "a process for each call"])
def test_every_change_before_a_call_is_seen_and_nothing_is_looked_at_where_there_is_none(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    stays: bool,
) -> None:
    monkeypatch.setattr(again, "_TICK_NS", 0)  # else what is new is looked at once more
    looks = looks_of(monkeypatch)
    folder, environ = home.folder, home_environ(home)
    home.write("clone/a.md", "The walrus sleeps.\n")
    home.write("clone/deep/.gitignore", "nothing\n")
    home.write("clone/deep/b.md", "A walrus, too.\n")
    (folder / "link.md").symlink_to(home.write("elsewhere/c.md", "A walrus far away.\n"))
    config = load_config(None, environ)

    def moved(old: str, new: str) -> None:
        (folder / old).rename(folder / new)

    changes: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: home.write("clone/a.md", "A walrus sings.\n"), {"a.md", "deep/b.md"}),
        (lambda: home.write("clone/new/d.md", "walrus\n"), {"a.md", "deep/b.md", "new/d.md"}),
        (lambda: moved("new/d.md", "new/e.md"), {"a.md", "deep/b.md", "new/e.md"}),
        (lambda: moved("new", "newer"), {"a.md", "deep/b.md", "newer/e.md"}),
        ((folder / "a.md").unlink, {"deep/b.md", "newer/e.md"}),
        (lambda: home.write("clone/deep/.gitignore", "b.md\n"), {"newer/e.md"}),
        (lambda: home.write("clone/deep/.gitignore", "no\n"), {"deep/b.md", "newer/e.md"}),
        (lambda: home.write("clone/.kebabignore", "newer\n"), {"deep/b.md"}),
        ((folder / ".kebabignore").unlink, {"deep/b.md", "newer/e.md"}),
        (lambda: home.write("clone/newer/kebab.duckdb", ""), {"deep/b.md"}),
        ((folder / "newer/kebab.duckdb").unlink, {"deep/b.md", "newer/e.md"}),
        (lambda: remove_folder(folder / "newer"), {"deep/b.md"}),
    ]
    place = place_of(config, str(folder), environ=environ)
    with place.open() as one:

        @contextmanager
        def opened() -> Iterator[Any]:
            if stays:
                yield one
            else:
                with place.open() as another:
                    yield another

        def holding() -> set[str]:
            with opened() as kb:
                found = kb.grep(GrepQuery(pattern="walrus"))["files"]
            return {file["doc_path"] for file in found}

        with opened() as kb:
            kb.stats()  # which reads all
        assert holding() == {"a.md", "deep/b.md"}
        for change, expected in changes if stays else changes[:4]:
            looks.clear()
            change()
            assert holding() == expected
            assert looks == ["looked"]
            assert holding() == expected
            with opened() as kb:
                kb.search(SearchQuery(text="walrus", mode=SearchMode.LEXICAL))
                kb.fetch("README.md")
            assert looks == ["looked"]


def test_what_another_process_saw_is_believed_for_some_minutes_and_of_the_same_settings(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(again, "_TICK_NS", 0)
    looks = looks_of(monkeypatch)

    def look(**environ: str) -> int:
        looks.clear()
        found = home.json("search", "otter", "--in", str(home.folder), **environ)
        assert [hit["doc_path"] for hit in found["hits"]] == ["README.md"]
        return len(looks)

    home.run("status", "--in", str(home.folder))  # which reads all
    assert look() == 0
    kept = home.caches[0] / "data/run/looked.json"
    told = json.loads(kept.read_bytes())
    for walked, expected in ((told["walked"] - 301, 1), (told["walked"] + 301, 1)):
        kept.write_text(json.dumps({**told, "walked": walked}))
        assert (look(), look()) == (expected, 0)
    kept.write_bytes(kept.read_bytes()[:-9])
    assert (look(), look()) == (1, 0)

    others = {"KEBAB_CHUNKING_TARGET_TOKENS": "128"}
    assert (look(**others), look(**others), look(), look()) == (1, 0, 1, 0)
    segment = next((home.caches[0] / "data/lexical/chunks").glob("*.store"))
    segment.write_bytes(segment.read_bytes()[:-1])
    assert (look(), look()) == (1, 0)


def test_several_folders_are_one_workspace_with_a_source_each(home: Home) -> None:
    from kb_app.workspaces import place_of_folders

    environ = home_environ(home)
    other = home.write("elsewhere/clone/b.md", "An otter, too.\n").parent
    place = place_of_folders(load_config(None, environ), [home.folder, other], environ=environ)

    with place.open() as kb:
        found = kb.search(SearchQuery(text="otter"))

    assert {(hit.source_id, hit.doc_path) for hit in found.hits} == {
        ("clone", "README.md"),
        ("clone-2", "b.md"),
    }
    with pytest.raises(InvalidInput):
        place_of_folders(load_config(None, environ), [home.path / "nowhere"], environ=environ)


def test_queries_about_a_folder_are_kept_where_a_reset_deletes_them(home: Home) -> None:
    from kb_app.workspaces import place_of_folders

    environ = home_environ(home)
    config = load_config(None, environ)
    place = place_of_folders(config, [home.folder], environ=environ)
    config.storage.data_dir.mkdir(parents=True)

    with place.open() as kb:
        kb.keep_queries(["otter"])
    with place.open(readonly=True) as kb:
        kb.keep_queries(["none"])
        assert kb.recent_queries() == ("otter",)

    assert list(config.storage.data_dir.rglob("queries.json"))
