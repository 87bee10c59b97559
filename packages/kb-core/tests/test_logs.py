"""Where lines of the log go is said before the first logger, and no sooner."""

from __future__ import annotations

import logging
import subprocess
import sys

from kb_core import logs

FRESH = """
import sys
from kb_core import logs

acts = []
logs.set_up(lambda: acts.append("replaced"))
logs.set_up(lambda: acts.append("done"))
assert (acts, "logging" in sys.modules) == ([], False)
logs.logger("kb_core.one")
logs.logger("kb_core.two")
assert acts == ["done"]
logs.set_up(lambda: acts.append("at once"))
assert acts == ["done", "at once"]
"""


def test_what_sets_up_waits_for_the_first_logger_and_is_done_once() -> None:
    subprocess.run([sys.executable, "-c", FRESH], check=True)


def test_a_logger_is_that_of_the_library() -> None:
    assert logs.logger("kb_core.one") is logging.getLogger("kb_core.one")
