"""The installed command over a folder of its own: for tests from outside.

Nothing here imports the rest of the package: what is tested is the command that a person
runs, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["KEBAB", "InstalledKebab", "ended_in_time"]

KEBAB = str(Path(sys.executable).with_name("kebab"))


class InstalledKebab:
    """The installed command with a configuration, a data directory and a folder of notes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.notes = home / "notes"
        self.notes.mkdir(exist_ok=True)
        self.config = home / "config.toml"
        self.data_dir = home / "data"
        if not self.config.exists():
            self.configure()

    def configure(self, *, model: str = "none", extra: str = "") -> None:
        """Write the configuration: one source, ``notes``."""
        self.config.write_text(
            f'[storage]\ndata_dir = "{self.data_dir}"\n'
            f'[embedding]\nmodel = "{model}"\n{extra}\n'
            f'[[sources]]\nid = "notes"\nroot = "{self.notes}"\n',
            "utf-8",
        )

    def command(self, *words: str) -> list[str]:
        """Return the command line."""
        return [KEBAB, "--config", str(self.config), *words]

    def run(
        self, *words: str, code: int = 0, given: str | bytes | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, *given* on its standard input, and check its exit code."""
        data = given.encode() if isinstance(given, str) else given
        line = self.command(*words)
        done = subprocess.run(line, input=data, capture_output=True, check=False)  # noqa: S603
        stdout, stderr = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"{words}: {done.returncode}\n{stdout}\n{stderr}"
        return subprocess.CompletedProcess(line, done.returncode, stdout, stderr)

    def json(self, *words: str, given: str | bytes | None = None, code: int = 0) -> Any:  # noqa: ANN401 - a wire object
        """Run with ``--json`` and read the last line of what it printed."""
        lines = self.run("--json", *words, code=code, given=given).stdout.splitlines()
        return json.loads(lines[-1])

    def ingest(self, *words: str) -> dict[str, Any]:
        """Ingest, and return the report with its items by path."""
        report: dict[str, Any] = self.json("ingest", *words)
        return report

    def write(self, path: str, text: str) -> Path:
        """Write one note."""
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def paths(self, query: str, *words: str) -> list[str]:
        """Return the paths of a search's hits, each once, best first."""
        hits = self.json("search", query, *words)["hits"]
        return list(dict.fromkeys(hit["doc_path"] for hit in hits))


@contextmanager
def ended_in_time(process: subprocess.Popen[Any], seconds: float = 120) -> Generator[None]:
    """Kill a process that says nothing for ever: whoever waits for a line of it fails then."""
    watch = threading.Timer(seconds, process.kill)
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
