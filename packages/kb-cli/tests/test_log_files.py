"""What is logged, and where."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app.config import Config
from kb_cli._logs import DailyFile, configure_logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("kb_app", "kb_core", "kb_search", "kb_store"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def logged(folder: Path) -> str:
    return "".join(file.read_text() for file in sorted(folder.glob("kebab-*.log")))


def test_warnings_go_into_a_file_and_not_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(Config.inside(tmp_path), verbose=False, readonly=False)
    assert not (tmp_path / "log").exists()

    logging.getLogger("kb_search.x").info("quiet")
    logging.getLogger("kb_search.x").warning("loud %s\udcff", "한")

    assert "WARNING kb_search.x: loud 한\\udcff\n" in logged(tmp_path / "log")
    assert "quiet" not in logged(tmp_path / "log")
    assert capsys.readouterr() == ("", "")


def test_the_level_is_the_configurations(tmp_path: Path) -> None:
    config = Config.inside(tmp_path)
    debug = replace(config, log=replace(config.log, level="debug"))
    configure_logs(debug, verbose=False, readonly=False)

    logging.getLogger("kb_app.y").debug("fine")

    assert "DEBUG kb_app.y: fine" in logged(tmp_path / "log")


def test_read_only_mode_writes_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Config.inside(tmp_path), verbose=False, readonly=True)

    logging.getLogger("kb_app.y").error("bad")

    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err == ""


def test_verbose_shows_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Config.inside(tmp_path), verbose=True, readonly=True)

    logging.getLogger("kb_store.z").debug("detail")

    assert capsys.readouterr().err == "D kb_store.z: detail\n"


def test_old_files_go_and_others_stay(tmp_path: Path) -> None:
    for name in ("kebab-2001-01-01.log", "kebab-notes.log", "other.log"):
        (tmp_path / name).touch()
    handler = DailyFile(tmp_path, keep_days=30)

    handler.handle(logging.LogRecord("n", logging.ERROR, "f", 1, "m", None, None))

    names = {file.name for file in tmp_path.iterdir()}
    assert {"kebab-notes.log", "other.log"} < names
    assert "kebab-2001-01-01.log" not in names


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    handler = DailyFile(tmp_path / "taken" / "log", keep_days=30)

    handler.handle(logging.LogRecord("n", logging.ERROR, "f", 1, "m", None, None))
