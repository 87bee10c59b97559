"""Where workspaces keep what they know of folders: one cache each, used, forgotten, deleted."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb_app import paths
from kb_app._data_dir import making_private_files
from kb_app.config import Config
from kb_app.knowledge_base import KnowledgeBase
from kb_core.clock import from_epoch, to_epoch, to_rfc3339, utc_now
from kb_core.errors import InvalidInput, IoError, KbError
from kb_core.ports import Clock
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["Home", "cached_folders", "forget", "homes_in", "sweep", "workspace_list"]

_MARK = "workspace.json"
_NAME = re.compile(r"[0-9a-f]{32}")
_DAY = 86_400


def homes_in(environ: Mapping[str, str]) -> Path:
    """Return the folder of all caches of workspaces."""
    return paths.cache_dir(environ) / "workspaces"


class Mark(NamedTuple):
    """What a cache says of itself."""

    folders: tuple[str, ...] = ()
    is_whole: bool = False
    """All of the folders was read once."""
    reads_late: bool = False
    """What is read in later phases is read, too: somebody asked for it, or it is most of all."""


@dataclass(frozen=True, slots=True)
class Home:
    """The cache of one workspace, there yet or not. Its mark was last touched when it was used."""

    path: Path

    @property
    def mark(self) -> Path:
        """The file that says what it is of, and whose time when it was used."""
        return self.path / _MARK

    def read(self) -> Mark:
        """Return what is noted of it; a mark of before says nothing of later phases."""
        try:
            found = json.loads(self.mark.read_bytes())
            folders = tuple(map(str, found["folders"]))
            return Mark(folders, bool(found["whole"]), found.get("late") is True)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Mark()

    def use(self, folders: Sequence[Path], *, is_whole: bool, reads_late: bool = False) -> None:
        """Note that it is used, and what it is of."""
        wanted = Mark(tuple(map(str, folders)), is_whole, reads_late)
        if self.read() == wanted:
            os.utime(self.mark)
            return
        told = {"folders": wanted.folders, "whole": is_whole, "late": reads_late}
        with making_private_files():
            paths.make_private_folder(self.path)
            new = self.mark.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(told), "utf-8")
            new.replace(self.mark)

    def used_at(self) -> int:
        """Return when it was last used, in epoch seconds; what has no mark counts by its folder."""
        return int(self.used_ns() / 1e9)

    def used_ns(self) -> int:
        """Return the same in nanoseconds, which tell what was used first within a second."""
        for path in (self.mark, self.path):
            with suppress(OSError):
                return path.stat().st_mtime_ns
        return 0

    def size(self) -> int:
        """Return its bytes on disk."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with suppress(OSError):
                    total += Path(folder, name).lstat().st_size
        return total

    def remove(self, config: Config) -> None:
        """Delete it; ``StoreBusy`` while another process writes to it."""
        storage = replace(config.storage, data_dir=self.path / "data", lock_wait_secs=0.0)
        with KnowledgeBase.open(replace(config, storage=storage)) as kb:
            kb.reset("data-only", dry_run=False)
        self.mark.unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def unusable(self, error: OSError) -> IoError:
        """Return what is said where the disk refuses."""
        return IoError(
            f"the cache '{self.path}' cannot be used: {(error.strerror or str(error)).lower()}",
            hint="XDG_CACHE_HOME names another place for caches",
            details={"path": str(self.path)},
        )


def _all_homes(environ: Mapping[str, str]) -> list[Home]:
    """Return the caches that there are."""
    top = homes_in(environ)
    with suppress(OSError):
        return [Home(path) for path in sorted(top.iterdir()) if _NAME.fullmatch(path.name)]
    return []


def sweep(config: Config, environ: Mapping[str, str], spare: Path, clock: Clock = utc_now) -> None:
    """Forget the workspaces that were not used for long; one that is being written to stays."""
    oldest = to_epoch(clock()) - config.workspaces.keep_days * _DAY
    for home in _all_homes(environ):
        if home.path != spare and home.used_at() < oldest:
            with suppress(KbError, OSError):
                home.remove(config)


def workspace_list(environ: Mapping[str, str]) -> types.WorkspaceList:
    """Return workspace_list.v1, the one that was used last first."""
    from kb_core import wire

    homes = sorted(_all_homes(environ), key=lambda home: -home.used_ns())
    return wire.workspace_list(
        {
            "folders": list(home.read().folders),
            "cache": str(home.path),
            "used_at": to_rfc3339(from_epoch(home.used_at())),
            "bytes": home.size(),
            "complete": home.read().is_whole,
        }
        for home in homes
    )


def cached_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that there are caches of, links resolved."""
    return list(dict.fromkeys(name for home in _all_homes(environ) for name in home.read().folders))


def forget(
    config: Config, folder: str | None, environ: Mapping[str, str], *, dry_run: bool
) -> types.ResetReport:
    """Delete the cache of *folder*, there still or not, or all; return reset_report.v1."""
    from kb_core import wire

    homes = _all_homes(environ)
    if folder is not None:
        real = os.path.realpath(paths.path_given("workspace", folder, environ))
        homes = [home for home in homes if real in home.read().folders]
    if folder is not None and not homes:
        raise InvalidInput(
            f"there is no workspace of '{folder}'",
            hint="kebab list workspaces",
            details={"field": "workspace", "value": folder},
        )
    removed = [(str(home.path), home.size()) for home in homes]
    if not dry_run:
        for home in homes:
            home.remove(config)
    return wire.reset_report("data", removed, dry_run=dry_run)
