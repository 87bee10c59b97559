"""Index this project's own ``docs/`` and search them: the quick start's first command.

Everything is done by the public command line, as a user would. The configuration,
the knowledge base, the prepared model and the logs live in ``.cache/demo`` and nothing
is written elsewhere; ``--fresh`` starts from nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".cache" / "demo"
CONFIG = HOME / "config.toml"
KEBAB = Path(sys.executable).with_name("kebab")
QUERY = "how does a search stay readable while ingest runs"

# Relative paths are relative to the file's own directory.
SETTINGS = """\
schema_version = 1

[storage]
data_dir = "data"

[[sources]]
id = "docs"
root = "../../docs"

[log]
dir = "log"
"""


def _environment() -> dict[str, str]:
    """Return the caller's environment, with every place of the user's own inside the demo."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEBAB_")}
    places = {
        f"XDG_{kind}_HOME": str(HOME / "xdg" / kind.lower())
        for kind in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    return {**kept, **places}


def _kebab(*words: str) -> int:
    """Show a command and run it."""
    config = os.path.relpath(CONFIG, ROOT)
    print(f"\n$ {shlex.join(['kebab', '--config', config, *words])}", flush=True)
    command = [str(KEBAB), "--config", config, *words]
    return subprocess.run(command, cwd=ROOT, env=_environment(), check=False).returncode


def main(words: list[str]) -> int:
    """Ingest, search, and return the first exit code that is not 0."""
    if words not in ([], ["--fresh"]):
        print(__doc__, file=sys.stderr)
        return 2
    if words:
        shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True, exist_ok=True)
    CONFIG.write_text(SETTINGS, "utf-8")
    return _kebab("ingest") or _kebab("search", "--mode", "hybrid", "-k", "5", QUERY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
