"""What ``doctor --deep`` reads: every byte of what is kept, each by its own sums.

A part that cannot be examined is a check that failed, and the others are made all the same.
Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._costly import damaged_in
from kb_app._data_dir import DataDir
from kb_app._evals.stored import RunFolder
from kb_app._forgotten import read_forgotten
from kb_app._ingest.added.assets import Assets
from kb_app._lines import LinesFile
from kb_core.control import OLDER_STORE
from kb_core.disk import disk_errors
from kb_core.errors import KbError

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config

__all__ = ["check_deep"]

Check = dict[str, Any]

_REMADE = "'kebab doctor --repair' saves what can be read, and keeps a copy"
_UPDATED = "run 'kebab ingest': all that is kept stays"
_FOLLOWED = (
    "put the newer one back; or run 'kebab ingest', which keeps what only the index has, and "
    "reads again what differs"
)
_REBUILT = "run 'kebab reset --index-only' and 'kebab ingest': nothing is parsed or embedded"
_ADDED = "'kebab ingest-file FILE', or the same text again, puts it back"
_JOURNALS = (
    "what can be read is shown, and the next line takes the place of one that was not finished; "
    "'kebab doctor --repair' brings back what a safety copy has"
)
_RUNS = "delete that folder; 'kebab eval run' makes a run again"
_COSTLY = "delete that file: what is in it is made again when it is needed"


def check_deep(config: Config, parts: Parts) -> Iterator[Check]:
    """Read everything: store, index, assets, journals, runs, costly results, marks."""
    data = DataDir(config.storage.data_dir)
    store = _examined("store", parts.examine, "every check of the store passes", _REMADE)
    yield {**store, "hint": _UPDATED} if store["detail"] == OLDER_STORE else store
    yield from _older_store(parts)
    yield _examined(
        "files of the index", parts.examine_index, "each is as it was written", _REBUILT
    )
    if data.assets.is_dir():
        assets = Assets(data.assets)
        yield _examined("assets", assets.damaged, "each is what its name says", _ADDED)
    if data.journal.is_dir():
        yield _examined(
            "journals", lambda: _damaged_journals(data.journal), "each line is whole", _JOURNALS
        )
    if data.evals.is_dir():
        yield _examined(
            "runs over questions", lambda: _damaged_runs(data.evals), "each can be read", _RUNS
        )
    if data.costly.is_dir():
        yield _examined(
            "costly results", lambda: damaged_in(data.costly), "each line is whole", _COSTLY
        )
    if data.forgotten.exists():
        yield _examined("marks of what was forgotten", lambda: _marks(data), "all are there", "")


def _older_store(parts: Parts) -> Iterator[Check]:
    """Say where the store lacks what was indexed: a copy of before, or its log is gone.

    The index is read first: a store that is written meanwhile is ahead of it.
    """
    try:
        with closing(parts.reader()) as reader:
            control = reader.snapshot().control
        store = parts.describe()
    except KbError:  # which of them cannot be read, other checks say
        return
    if control.store_id != store["store_id"]:
        detail = "the index is of another store than the one that is there"
    elif control.sequence > store["sequence"]:
        detail = "the store is older than what was indexed: a copy of before, or without its log"
    else:
        return
    yield {"name": "store", "ok": False, "detail": detail, "hint": _FOLLOWED}


def _damaged_journals(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.jsonl")):
        lines = LinesFile(path, lambda row: row).read()
        if lines.damaged:
            yield f"{path.name} has lines that are not what was written: {lines.damaged}"
        if lines.is_torn:
            yield f"the last line of {path.name} is not whole"


def _damaged_runs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        try:
            RunFolder(path).examine()
        except KbError as error:
            yield str(error)


def _marks(data: DataDir) -> Sequence[str]:
    read_forgotten(data)
    return ()


def _examined(
    name: str, examine: Callable[[], Iterator[str] | Sequence[str]], well: str, hint: str
) -> Check:
    try:
        with disk_errors(f"examine the {name}"):
            problems = list(examine())
    except KbError as error:
        return {"name": name, "ok": False, "detail": str(error), "hint": error.hint}
    return {
        "name": name,
        "ok": not problems,
        "detail": "; ".join(problems) or well,
        "hint": hint if problems else None,
    }
