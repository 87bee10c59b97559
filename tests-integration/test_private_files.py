"""What kebab makes is readable by the person alone, whoever makes it and under any mask."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kb_app._data_dir import DataDir, making_private_files
from kb_app._wiring import open_session
from kb_app.testing.parts import open_here
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing.installed import KEBAB
from kb_core.clock import utc_now
from kb_core.records import Changes
from kb_core.testing.documents import document, file_row


def modes(folder: Path) -> dict[str, str]:
    """Return, by path, the rights of others to what lies in *folder*."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077 and not path.is_symlink():
            found[str(path.relative_to(folder.parent))] = oct(mode)
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty home with a folder of notes."""
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (home / "notes/a.md").write_text("# Otters\n\nAn otter sleeps.\n", "utf-8")
    (home / "outside.txt").write_text("A beaver builds.\n", "utf-8")
    return home


def environ_of(home: Path) -> dict[str, str]:
    places = {
        f"XDG_{name}_HOME": str(home / f".{name.lower()}")
        for name in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "KEBAB_EMBEDDING_MODEL": "none",
        **places,
    }


def run(home: Path, *words: str, text: str = "") -> str:
    """Run the command in this process, under the mask of the test."""
    context = CliContext(open_kb=open_here, environ=environ_of(home), configure_logs=lambda _: None)
    done = CliRunner().invoke(cli, words, prog_name="kebab", obj=context, input=text)
    assert done.exit_code == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def run_installed(home: Path, *words: str) -> None:
    """Run the installed command, with its log, under a mask that hides nothing."""
    line = [KEBAB, *words]
    done = subprocess.run(line, env=environ_of(home), umask=0, capture_output=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout!r}\n{done.stderr!r}"


def made(home: Path) -> dict[str, str]:
    """Return what kebab made that others may read."""
    return {
        path: mode
        for name in (".config", ".data", ".state", ".cache")
        if (home / name).exists()
        for kebab in (home / name).glob("*")
        for path, mode in modes(kebab).items()
    }


@pytest.mark.usefixtures("mask")
def test_every_file_that_a_command_makes_is_private(home: Path) -> None:
    run(home, "add", str(home / "notes"))

    run_installed(home, "ingest")
    run(home, "ingest-file", str(home / "outside.txt"))
    run(home, "ingest-stdin", "--title", "Weasels", text="A weasel runs.\n")
    run(home, "ingest-file", "--remove", "weasels")
    assert json.loads(run(home, "--json", "search", "otter"))["hits"]
    run_installed(home, "--verbose", "doctor", "--deep")
    run(home, "status")
    assert made(home) == {}
    for scope in ("--index-only", "--data-only"):
        run(home, "reset", scope, "--yes")
        run(home, "ingest")
        run(home, "ingest-file", str(home / "outside.txt"))
        assert made(home) == {}


@pytest.mark.usefixtures("mask")
def test_a_folder_that_was_made_otherwise_becomes_private(home: Path) -> None:
    data = home / "data"
    data.mkdir(mode=0o755)
    (home / "kebab.toml").write_text(
        f'[storage]\ndata_dir = "{data}"\n[embedding]\nmodel = "none"\n'
        f'[[sources]]\nid = "notes"\nroot = "{home / "notes"}"\n',
        "utf-8",
    )
    run(home, "--config", str(home / "kebab.toml"), "ingest")
    assert modes(data) == {}

    for path in data.rglob("*"):
        path.chmod(0o777)
    data.chmod(0o755)
    run(home, "--config", str(home / "kebab.toml"), "ingest")

    assert modes(data) == {}


def test_a_folder_with_other_things_in_it_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "letter.txt").write_text("Dear all", "utf-8")
    (shared / "letter.txt").chmod(0o644)

    with open_session(shared, lock_wait_secs=1, clock=utc_now):
        pass

    assert modes(shared) == {"shared": "0o755", "shared/letter.txt": "0o644"}


@pytest.fixture
def mask() -> Iterator[None]:
    """Run a test under a mask that hides nothing, in this process."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("mask")
def test_a_library_call_makes_private_files_and_gives_the_mask_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with open_session(data, lock_wait_secs=1, clock=utc_now) as session:
        session.commit(
            Changes(documents=(document("a.md", "An otter"),), files=(file_row("a.md"),))
        )
        assert modes(data) == {}  # while it writes, too
    assert modes(data) == {}
    (tmp_path / "after").touch()
    assert stat.S_IMODE((tmp_path / "after").stat().st_mode) == 0o666


@pytest.mark.usefixtures("mask")
def test_masks_of_two_writers_are_given_back_in_any_order() -> None:
    first, second = making_private_files(), making_private_files()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert os.umask(0o077) == 0o077
    second.__exit__(None, None, None)
    assert os.umask(0) == 0


def test_parts_are_named_once(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    for path in (data.store, data.assets, data.job):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    assert data.parts("kebab.duckdb", "assets", "run", "lexical") == [
        data.store,
        data.assets,
        data.root / "run",
    ]
