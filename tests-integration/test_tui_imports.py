"""What ``kebab tui`` costs before the first key, as a list of modules, and its key reference."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import keys_reference  # noqa: E402 - a script, not a module of any distribution

SHOW = "import json, sys; import kb_tui.app; print(json.dumps(sorted(sys.modules)))"
LOADED = {"kb_app", "kb_core", "kb_tui", "platformdirs", "rich", "textual", "typing_extensions"}
"""Everything outside the standard library that the first screen may cost."""


def test_the_first_screen_loads_textual_and_nothing_that_searches_or_stores() -> None:
    """The index, the model and numpy are loaded by the thread of the first question."""
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    names = {name.partition(".")[0] for name in json.loads(done.stdout)}

    assert {name for name in names if name in LOADED} >= {"kb_tui", "textual", "rich"}
    strangers = {n for n in names - LOADED - sys.stdlib_module_names if not n.startswith("_")}
    assert strangers <= {"sitecustomize", "usercustomize"}


def test_the_reference_of_keys_is_up_to_date() -> None:
    assert keys_reference.main(["check"]) == 0
