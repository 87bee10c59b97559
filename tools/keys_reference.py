"""Write ``docs/reference/keys.md`` from the key tables of the terminal interface.

With ``check``, say whether the page is up to date, and fail if it is not.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kb_tui._keys import ASK, INSPECT, JOBS, LIBRARY, SEARCH, Key

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "keys.md"
PANES: Mapping[str, Iterable[Key]] = {
    "Library": LIBRARY,
    "Search": SEARCH,
    "Ask": ASK,
    "Inspect": INSPECT,
    "Jobs": JOBS,
}

HEAD = """\
<!-- Written by tools/keys_reference.py: run `tools/dev run python tools/keys_reference.py`. -->

# Keys of the terminal interface

Pane by pane, from the tables that the program uses.
The [guide](../guide/terminal.md) says what the panes are.

In INSERT, keys are text; in NORMAL, letters are commands.
"""


def main(words: list[str] | None = None) -> int:
    """Write or check the page; return an exit code."""
    text = page()
    if "check" not in (sys.argv[1:] if words is None else words):
        PAGE.write_text(text, "utf-8")
        return 0
    old = PAGE.read_text("utf-8") if PAGE.is_file() else ""
    if old == text:
        print(f"{PAGE.relative_to(ROOT)} is up to date")
        return 0
    lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "committed", "wanted")
    print("\n".join(lines), file=sys.stderr)
    return 1


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(_pane(name, keys) for name, keys in PANES.items())])


def _pane(name: str, keys: Iterable[Key]) -> str:
    rows = [
        f"| {_code(key.shown)} | {key.does} | {_mode(name, key)} |" for key in keys if key.shown
    ]
    head = ["| Key | Does | Mode |", "| --- | --- | --- |"]
    return f"## {name}\n\n" + "\n".join([*head, *rows]) + "\n"


def _code(shown: str) -> str:
    return " ".join(f"`{key}`" for key in shown.split())


def _mode(pane: str, key: Key) -> str:
    if pane not in {"Search", "Ask"}:
        return "NORMAL"
    if key.insert and key.normal:
        return "both"
    return "INSERT" if key.insert else "NORMAL"


if __name__ == "__main__":
    raise SystemExit(main())
