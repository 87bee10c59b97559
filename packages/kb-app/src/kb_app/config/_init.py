"""Beginning: directories and a configuration file with every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kb_app import paths
from kb_app.config._edit import back_up, write_text
from kb_app.config._load import parse_config, read_text
from kb_app.config._settings import Config
from kb_app.config._template import default_text
from kb_core.errors import InvalidInput, IoError

__all__ = ["InitReport", "init_config", "new_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InitReport:
    """What ``init_config`` made, and what it found made already."""

    config: Config
    created: tuple[Path, ...]
    existing: tuple[Path, ...]
    backup: Path | None = None


def init_config(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    force: bool = False,
) -> InitReport:
    """Write the default configuration, and make the directories that it names.

    Without *path*, everything is at the XDG places; with one, everything is beside it.
    A file that is there stays, unless *force*: then a copy of it stays.
    """
    environ = paths.environment() if environ is None else environ
    file = path or paths.config_file(environ)
    old = read_text(file)
    if old is not None and not force:
        raise InvalidInput(
            f"there is a configuration at '{file}' already",
            hint="`kebab config migrate` adds missing keys; `kebab init --force` starts anew",
            details={"file": str(file)},
        )
    backup = back_up(file) if old is not None else None
    text = new_text(path, environ)
    config = parse_config(text, file, environ)
    write_text(file, text)
    made, found = _make([config.storage.data_dir, config.log.dir])
    return InitReport(config=config, created=(file, *made), existing=found, backup=backup)


def new_text(path: Path | None, environ: Mapping[str, str]) -> str:
    """Return the text of a new file at *path*, or at the usual place."""
    if path is None or path == paths.config_file(environ):
        return default_text()
    # Not the name of a folder that may hold other things: `reset` deletes it.
    return default_text({"storage.data_dir": "kebab-data", "log.dir": "kebab-log"})


def _make(folders: list[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    made: list[Path] = []
    found: list[Path] = []
    for folder in folders:
        (found if folder.is_dir() else made).append(folder)
        try:
            paths.make_private_folder(folder)
        except OSError as error:
            raise IoError(
                f"cannot make the folder '{folder}': {error.strerror}",
                details={"path": str(folder)},
            ) from error
    return tuple(made), tuple(found)
