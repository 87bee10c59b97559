"""Export and import from outside: the same knowledge base somewhere else, or nothing changed."""

from __future__ import annotations

import gzip
import io
import json
import random
import shlex
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kb_app._wiring import open_session
from kb_app.config import load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab, ended_in_time
from kb_core.clock import utc_now
from kb_core.errors import InvalidInput, KbError

if TYPE_CHECKING:
    from typing_extensions import Buffer

QUERIES = ("otter", "beaver dam", "weasel", "river")


def fill(kebab: InstalledKebab) -> None:
    """Index notes, a text that was handed in, and a conversation, with golden questions."""
    kebab.write("otter.md", "# Otters\n\nAn otter sleeps in the river.\n")
    kebab.write("deep/beaver.md", "# Beavers\n\nA beaver dam holds the river.\n")
    kebab.write("größe/Ω.md", "# Sizes\n\nA large otter is 1.4 m long.\n")
    kebab.ingest()
    kebab.run("ingest-stdin", "--title", "Weasels", given="A weasel runs to the river.\n")
    kebab.run("ask", "Where does an otter sleep?", "--session", "animals")
    kebab.run("eval", "add", "Where does an otter sleep?", "--hit", "1")


def answers(kebab: InstalledKebab) -> dict[str, Any]:
    """Return what a person sees: hits with their texts, conversations, documents."""
    found: dict[str, Any] = {}
    for query in QUERIES:
        hits = kebab.json("search", query)["hits"]
        found[query] = [
            (hit["doc_path"], hit["chunk_id"], hit["score"], hit["snippet"]) for hit in hits
        ]
    docs = kebab.json("list", "docs")["items"]
    found["docs"] = [(doc["doc_id"], doc["doc_path"], doc["chunk_count"]) for doc in docs]
    texts = [kebab.run("fetch", "doc", doc["doc_id"]).stdout for doc in docs]
    found["texts"] = texts
    found["conversations"] = kebab.run("session", "export", "animals").stdout
    return found


@pytest.fixture
def elsewhere(tmp_path: Path) -> InstalledKebab:
    """Return the command on a machine that has none of the files."""
    (tmp_path / "elsewhere").mkdir()
    return KebabHere(tmp_path / "elsewhere")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return a knowledge base with some of everything, which no test changes."""
    kebab = KebabHere(tmp_path_factory.mktemp("example"))
    fill(kebab)
    return kebab


@pytest.fixture
def filled(example: InstalledKebab, tmp_path: Path) -> InstalledKebab:
    """Return a copy of it that a test may do away with."""
    shutil.copytree(example.home, tmp_path, dirs_exist_ok=True)
    kebab = KebabHere(tmp_path)
    kebab.configure()
    return kebab


@pytest.mark.parametrize("options", [(), ("--with-index",)])
def test_what_was_exported_answers_the_same_elsewhere_without_the_files(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path, options: tuple[str, ...]
) -> None:
    before, archive = answers(filled), tmp_path / "kb.kebab"
    report = filled.json("export", str(archive), *options)
    shutil.rmtree(filled.notes)
    shutil.rmtree(filled.data_dir)

    imported = elsewhere.json("import", str(archive))

    assert answers(elsewhere) == before
    assert imported["index"] == ("imported" if options else "rebuilt")
    assert (imported["doc_count"], imported["chunk_count"]) == (4, report["chunk_count"])
    assert imported["golden_questions"] == "written"
    assert elsewhere.json("doctor", "--deep")["ok"]
    assert elsewhere.ingest()["deleted"] == 0
    assert archive.stat().st_mode & 0o777 == 0o600


def test_settings_come_along_where_there_are_none_and_the_data_lies_where_it_lies_here(
    filled: InstalledKebab,
    elsewhere: InstalledKebab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive = str(tmp_path / "kb.kebab")
    filled.run("export", archive, "--sources")
    home = tmp_path / "fresh"
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name))
    elsewhere.command = lambda *words: ["kebab", *words]  # type: ignore[method-assign]

    report = elsewhere.json("import", archive, "--sources-to", str(home / "files"))

    assert report["settings"] == "written"
    assert "settings_left" not in report
    assert report["data_dir"] == str(home / "DATA/kebab")
    config = load_config(home / "CONFIG/kebab/config.toml")
    assert config.storage.data_dir == home / "DATA/kebab"
    assert [(s.id, s.root) for s in config.sources] == [("notes", home / "files/notes")]
    written = elsewhere.ingest()
    assert (written["new"], written["updated"], written["deleted"]) == (0, 0, 0)
    text = (home / "files/notes/größe/Ω.md").read_text("utf-8")
    assert text == (filled.notes / "größe/Ω.md").read_text("utf-8")


def test_a_configuration_that_is_named_and_not_there_becomes_that_of_the_archive(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive, file = str(tmp_path / "kb.kebab"), tmp_path / "new/c.toml"
    filled.run("export", archive)
    elsewhere.command = lambda *words: ["kebab", "--config", str(file), *words]  # type: ignore[method-assign]

    assert elsewhere.json("import", archive, "--dry-run")["dry_run"]
    assert not file.parent.exists()
    report = elsewhere.json("import", archive)

    assert (report["settings"], report["data_dir"]) == ("written", str(tmp_path / "new/kebab-data"))
    assert [source.id for source in load_config(file).sources] == ["notes"]
    assert answers(elsewhere) == answers(filled)


def test_a_configuration_of_an_archive_runs_no_program_and_sends_no_file(
    filled: InstalledKebab,
    elsewhere: InstalledKebab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever made it would say what opens a PDF here, and which file is a key for a server."""
    filled.configure(
        extra='[viewers]\npdf = "run-this {path}"\n'
        '[ask]\nprovider = "openai"\nmodel = "m"\nendpoint = "http://192.0.2.1/v1"\n'
        'api_key_file = "~/.private-key"\n[ocr]\ncaption_api_key_file = "~/.other-key"\n'
    )
    archive, home = str(tmp_path / "kb.kebab"), tmp_path / "fresh"
    filled.run("export", archive)
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name))
    elsewhere.command = lambda *words: ["kebab", *words]  # type: ignore[method-assign]

    told = elsewhere.run("import", archive).stdout

    assert "viewers.pdf, ask.api_key_file, ocr.caption_api_key_file" in told
    config = load_config(home / "CONFIG/kebab/config.toml")
    assert (config.viewers.pdf, config.ask.api_key_file) == ("", "")
    assert config.ask.endpoint == "http://192.0.2.1/v1", "which doctor names"


def test_a_knowledge_base_that_is_there_stays_unless_it_is_to_be_set_aside(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = str(tmp_path / "kb.kebab")
    filled.run("export", archive)
    elsewhere.write("mine.md", "# Mine\n\nA marmot of my own.\n")
    elsewhere.ingest()

    refused = elsewhere.run("import", archive, code=2)
    assert "--replace" in refused.stderr
    assert elsewhere.paths("marmot") == ["mine.md"]

    report = elsewhere.json("import", archive, "--replace")
    aside, (source,) = report["kept_aside"], report["sources"]
    assert Path(source["root"]) == elsewhere.notes, "where the next run looks"
    assert (source["configured"], source["present"]) == (True, True)
    assert elsewhere.paths("marmot") == []
    assert elsewhere.paths("weasel") == ["weasels"]

    shutil.rmtree(elsewhere.data_dir)
    Path(aside).rename(elsewhere.data_dir)
    assert elsewhere.paths("marmot") == ["mine.md"]


def test_it_goes_through_pipes_that_know_no_way_back(
    filled: InstalledKebab, elsewhere: InstalledKebab
) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, data: bytes = b"") -> None:
            self.data = io.BytesIO(data)

        def writable(self) -> bool:
            return True

        def readable(self) -> bool:
            return True

        def write(self, block: Buffer) -> int:
            return self.data.write(block)

        def readinto(self, buffer: Buffer) -> int:
            view = memoryview(buffer)
            found = self.data.read(min(len(view), 977))
            view[: len(found)] = found
            return len(found)

    out = Pipe()
    with open_here(load_config(filled.config)) as kb:
        kb.export_archive(out)  # type: ignore[arg-type]
    locked = bytes(byte ^ 0x5A for byte in out.data.getvalue())  # in place of age
    with open_here(load_config(elsewhere.config)) as kb:
        with pytest.raises(InvalidInput, match="no archive"):
            kb.import_archive(io.BytesIO(locked))
        kb.import_archive(io.BufferedReader(Pipe(bytes(b ^ 0x5A for b in locked))))

    assert answers(elsewhere) == answers(filled)


def test_a_dry_run_verifies_and_writes_nothing(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    filled.run("export", str(archive))

    elsewhere.run("import", str(archive), "--dry-run")

    assert not elsewhere.data_dir.exists()
    archive.write_bytes(archive.read_bytes()[:-5000])
    elsewhere.run("import", str(archive), "--dry-run", code=2)


def changed(archive: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> None:
    """Write the members of an archive anew, changed, under the list that they had."""
    out = io.BytesIO()
    with (
        tarfile.open(archive) as old,
        tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as new,
    ):
        for member in old:
            file = old.extractfile(member)
            assert file is not None
            member.name, data = change(member.name, file.read())
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    archive.write_bytes(out.getvalue())


def test_a_flipped_bit_is_refused_by_the_name_of_its_member_and_nothing_is_left(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    filled.run("export", str(archive), "--sources")
    before = sorted(elsewhere.home.iterdir())

    def flip(name: str, data: bytes) -> tuple[str, bytes]:
        if name != "sources/notes/otter.md":
            return name, data
        return name, data[:5] + bytes([data[5] ^ 1]) + data[6:]

    changed(archive, flip)
    new = str(elsewhere.home / "files")
    refused = elsewhere.run("import", str(archive), "--sources-to", new, code=2)

    assert "'sources/notes/otter.md'" in refused.stderr
    left = [path for path in sorted(elsewhere.home.iterdir()) if path not in before]
    assert [path.name for path in left if path != elsewhere.data_dir] == []
    assert elsewhere.json("list", "docs")["total"] == 0


@pytest.mark.parametrize(
    "name", ["data/writer.lock", "data/run/job.json", "data/forgetting.json", "other/x", "data/x"]
)
def test_what_is_no_part_of_a_knowledge_base_is_refused(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path, name: str
) -> None:
    archive = tmp_path / "kb.kebab"
    filled.run("export", str(archive))

    def rename(old: str, data: bytes) -> tuple[str, bytes]:
        if old != "manifest.json":
            return (name if old == "settings/config.toml" else old), data
        manifest = json.loads(data)
        for row in manifest["members"]:
            row["name"] = name if row["name"] == "settings/config.toml" else row["name"]
        return old, json.dumps(manifest).encode()

    changed(archive, rename)

    assert repr(name) in elsewhere.run("import", str(archive), code=2).stderr
    assert not elsewhere.data_dir.joinpath("kebab.duckdb").exists()


@pytest.mark.parametrize(("name", "said"), [("no.kebab", "there is no"), (".", "is a folder")])
def test_what_is_no_file_is_named(
    elsewhere: InstalledKebab, tmp_path: Path, name: str, said: str
) -> None:
    wrong = elsewhere.run("import", str(tmp_path / name), code=2).stderr

    assert said in wrong
    assert "Errno" not in wrong
    assert not elsewhere.data_dir.exists()


def test_what_was_forgotten_is_not_read_again_elsewhere(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    name = next(path.name for path in sorted(filled.notes.iterdir()) if path.is_file())
    filled.run("forget", "doc", name, "--yes")
    shutil.copytree(filled.notes, elsewhere.notes, dirs_exist_ok=True)

    filled.run("export", str(archive))
    elsewhere.run("import", str(archive))
    elsewhere.ingest()

    assert (elsewhere.notes / name).is_file()
    assert name not in {doc["doc_path"] for doc in elsewhere.json("list", "docs")["items"]}


def test_an_archive_that_says_to_hold_more_than_the_disk_is_refused_at_once(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    filled.run("export", str(archive))

    def bomb(name: str, data: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            manifest = json.loads(data)
            manifest["members"][0]["bytes"] = 8**15
            data = json.dumps(manifest).encode()
        return name, data

    changed(archive, bomb)

    error = elsewhere.run("--json", "import", str(archive), code=2).stderr
    assert json.loads(error)["code"] == "io_error"


def test_nothing_is_exported_while_something_is_written_and_nothing_of_nothing(
    filled: InstalledKebab,
    elsewhere: InstalledKebab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive = str(tmp_path / "kb.kebab")
    monkeypatch.setenv("KEBAB_STORAGE_LOCK_WAIT_SECS", "0")
    with (
        open_session(filled.data_dir, lock_wait_secs=0, clock=utc_now),
        open_here(load_config(filled.config)) as kb,
        pytest.raises(KbError) as busy,
    ):
        kb.export_archive(archive)
    nothing = json.loads(elsewhere.run("--json", "export", archive, code=2).stderr)

    assert busy.value.code == "store_busy"
    assert nothing["code"] == "not_indexed"
    assert not Path(archive).exists()


def test_a_pipe_that_nobody_reads_ends_an_export_quietly(filled: InstalledKebab) -> None:
    command = f"{shlex.join(filled.command('export', '-'))} | true; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_file_that_is_there_is_written_over_only_by_force(
    filled: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    archive.write_text("mine")

    assert "--force" in filled.run("export", str(archive), code=2).stderr
    assert archive.read_text() == "mine"
    filled.run("export", str(archive), "--force")
    assert gzip.decompress(archive.read_bytes())
    assert not list(tmp_path.glob("*.exporting"))


def test_what_opens_a_machine_stays_out(filled: InstalledKebab, tmp_path: Path) -> None:
    (filled.data_dir / "mcp-token").write_text("secret")
    filled.run("export", str(tmp_path / "kb.kebab"), "--with-index", "--sources")

    with tarfile.open(tmp_path / "kb.kebab") as tar:
        tops = {"/".join(name.split("/")[:2]) for name in tar.getnames()}

    data = {"kebab.duckdb", "assets", "journal", "lexical"}
    settings = {"settings/config.toml", "settings/golden.yaml"}
    assert tops == {"manifest.json", "sources/notes", *settings, *(f"data/{n}" for n in data)}


@contextmanager
def importing(kebab: InstalledKebab) -> Iterator[subprocess.Popen[bytes]]:
    """Start an import that reads a pipe."""
    line = kebab.command("import", "-")
    quiet = subprocess.DEVNULL
    with (
        subprocess.Popen(line, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet) as process,
        ended_in_time(process),
    ):
        yield process


def test_an_import_that_is_killed_leaves_nothing_that_answers_and_the_next_one_is_whole(
    filled: InstalledKebab, elsewhere: InstalledKebab, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    filled.run("export", str(archive), "--with-index")
    whole, choose = archive.read_bytes(), random.Random(18)

    for _ in range(3):
        with importing(elsewhere) as process:
            assert process.stdin is not None
            process.stdin.write(whole[: choose.randrange(len(whole))])
            process.stdin.flush()
            while not elsewhere.data_dir.exists():  # it is at work
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        assert elsewhere.json("list", "docs")["total"] == 0

    elsewhere.run("import", str(archive))
    assert answers(elsewhere) == answers(filled)
    assert [p.name for p in elsewhere.home.iterdir() if p.name.startswith("data.")] == []


def test_an_import_that_was_killed_between_two_renames_is_told_and_finished(
    filled: InstalledKebab, tmp_path: Path
) -> None:
    archive = str(tmp_path / "kb.kebab")
    before = answers(filled)
    filled.run("export", archive)
    filled.data_dir.rename(tmp_path / "data.imported")

    told = json.loads(filled.run("--json", "doctor", code=3).stdout)
    assert any("import was interrupted" in check["detail"] for check in told["checks"])

    filled.run("import", archive, code=2)
    assert answers(filled) == before


def test_whatever_hint_of_an_interrupted_import_is_followed_it_is_finished(
    filled: InstalledKebab, tmp_path: Path
) -> None:
    """A server may have made its token, and a search have left what it found, before."""
    before = answers(filled)
    filled.data_dir.rename(tmp_path / "data.imported")
    (filled.data_dir / "run").mkdir(parents=True)
    (filled.data_dir / "run" / "searched.json").write_text("{}", "utf-8")
    (filled.data_dir / "mcp-token").write_text("of a server\n", "utf-8")

    refused = json.loads(filled.run("--json", "search", "walrus", code=2).stderr)

    assert refused["code"] == "not_indexed"
    assert "import was interrupted" in refused["message"]
    assert "ingest'" in refused["hint"]
    assert filled.ingest()["new"] == 0
    assert answers(filled) == before
    assert (filled.data_dir / "mcp-token").read_text("utf-8") == "of a server\n"
    assert filled.json("doctor", "--deep")["ok"]
