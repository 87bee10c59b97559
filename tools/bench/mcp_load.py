"""One ``kebab mcp`` process for thousands of calls, while another process ingests.

Three things are measured over raw pipes, as hosts use them: how long it takes from the
start of the server to its first answer; what a search costs as a round trip, beside the
same question asked of the facade in this process; and a long load, during which ``kebab
ingest`` runs again and again over files that are edited, added and deleted. Under that load
no call may fail, every answer must be of the newest revision whose ingest had ended when the
question was sent, or of a newer one, and memory must stay flat: it is looked at ten times.
Anything else makes the exit code 1.

    python tools/bench/mcp_load.py
    python tools/bench/mcp_load.py --docs 100 --calls 500      a quick one
    python tools/bench/mcp_load.py --mode hybrid --embed       with vectors
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from machine import describe_machine, machine_line, use_private_cache
from tables import milliseconds, quantile, render_table, run_rounds, summarize
from words import Words

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core import wire
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["Server", "is_flat", "main"]

KEBAB = Path(sys.executable).with_name("kebab")
SETTINGS = """\
[storage]
data_dir = "data"

[[sources]]
id = "made-up"
root = "files"

[log]
dir = "log"
"""
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
QUESTIONS = 500
STARTS = 7
LOOKS = 10
"""How often the memory is looked at under load."""
FLAT = 1.15
"""Memory of the second half may be this much larger than that of the first."""
CHANGED = 20
"""Files that are edited, added and deleted before each ingest."""
SHOWN_ERRORS = 10


class Server:
    """A server process, and one question at a time."""

    def __init__(self, config: Path) -> None:
        self._process = subprocess.Popen(
            [str(KEBAB), "--config", str(config), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._ids = count()
        self.request("initialize", HELLO)

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its result."""
        assert self._process.stdin is not None  # noqa: S101 - narrows a type
        assert self._process.stdout is not None  # noqa: S101 - narrows a type
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        result: dict[str, Any] = answer["result"]
        return result

    def search(self, question: SearchQuery) -> dict[str, Any]:
        """Return the result of a call of ``search``."""
        arguments = {"query": question.text, "mode": question.mode.value}
        return self.request("tools/call", {"name": "search", "arguments": arguments})

    def memory_mb(self) -> float:
        """Return what the process holds of the machine's memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text("utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_seconds(self) -> float:
        """Return the processor time that the process has taken, user and system."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2]
        return sum(map(int, stat.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> int:
        """End the input; return the exit code."""
        assert self._process.stdin is not None  # noqa: S101 - narrows a type
        self._process.stdin.close()
        return self._process.wait(60)


class _Writer(threading.Thread):
    """Changes files and ingests them, again and again until it is told to stop."""

    def __init__(self, config: Path, docs: int, *, embed: bool) -> None:
        super().__init__(name="writer")
        self._config, self._docs, self._embed = config, docs, embed
        self.stop = threading.Event()
        self.published = 0
        """The revision that the last finished ingest has published."""
        self.runs = 0
        self.errors: list[str] = []

    def run(self) -> None:
        folder = self._config.parent / "files"
        for turn in count():
            if self.stop.is_set():
                return
            for number in range(CHANGED):
                edited = folder / f"{(turn * CHANGED + number) % self._docs:06}.md"
                _write(edited, seed=10_000 + turn * CHANGED + number)
                _write(folder / f"new-{turn}-{number}.md", seed=number)
                (folder / f"new-{turn - 2}-{number}.md").unlink(missing_ok=True)
            self._ingest()

    def _ingest(self) -> None:
        try:
            self.published = ingest(self._config, embed=self._embed)
            self.runs += 1
        except RuntimeError as error:
            self.errors.append(str(error))


def ingest(config: Path, *, embed: bool) -> int:
    """Ingest; return the revision, or raise ``RuntimeError`` with what the command said."""
    words = [str(KEBAB), "--config", str(config), "--json", "ingest", "--summary-only"]
    words += [] if embed else ["--no-embed"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ingest ended with {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout.splitlines()[-1])
    if report["errors"]:
        raise RuntimeError(f"ingest had {report['errors']} errors")
    revision: int = report["corpus_revision"]
    return revision


def _write(file: Path, *, seed: int) -> None:
    file.write_text(Words(seed).markdown(), "utf-8")


def starts(config: Path, question: SearchQuery) -> dict[str, float]:
    """Return milliseconds from the start of a server to its handshake and to its first answer."""
    ready, answered = [], []
    for _ in range(STARTS):
        began = time.perf_counter()
        server = Server(config)
        ready.append(time.perf_counter() - began)
        server.search(question)
        answered.append(time.perf_counter() - began)
        server.close()
    return {
        "handshake_ms": quantile(ready, 0.5) * 1000,
        "first_answer_ms": quantile(answered, 0.5) * 1000,
    }


def round_trips(
    config: Path, server: Server, questions: Sequence[SearchQuery]
) -> dict[str, dict[str, float]]:
    """Return what a search takes in this process, on the wire, and with nothing to do."""
    with KnowledgeBase.open(load_config(config), readonly=True) as kb:
        taken = run_rounds(
            {
                "in process": lambda question: wire.dumps(
                    wire.search_response(kb.search(question))
                ),
                "over pipes": server.search,
                "ping": lambda _: server.request("ping", {}),
            },
            questions,
            block=20,
        )
    return {name: summarize(found.wall) for name, found in taken.items()}


def is_flat(memory: Sequence[float]) -> bool:
    """Say whether the later half of the looks is about what the earlier half was."""
    middle = len(memory) // 2
    return max(memory[middle:]) <= FLAT * max(memory[:middle])


def load(
    config: Path, server: Server, questions: Sequence[SearchQuery], options: argparse.Namespace
) -> dict[str, Any]:
    """Ask ``options.calls`` questions while a writer works; return what was seen."""
    writer = _Writer(config, options.docs, embed=options.embed)
    writer.start()
    seconds: list[float] = []
    memory: list[float] = []
    errors: list[str] = []
    seen: set[int] = set()
    late = 0
    for number in range(options.calls):
        newest = writer.published
        began = time.perf_counter()
        result = server.search(questions[number % len(questions)])
        seconds.append(time.perf_counter() - began)
        if result["isError"]:
            errors.append(result["content"][0]["text"])
            continue
        revision = result["structuredContent"]["corpus_revision"]
        seen.add(revision)
        late += revision < newest
        if number % max(1, options.calls // LOOKS) == options.calls // LOOKS // 2:
            memory.append(server.memory_mb())
    writer.stop.set()
    writer.join()
    return {
        **summarize(seconds),
        "errors": errors + writer.errors,
        "late": late,
        "ingests": writer.runs,
        "revisions_seen": len(seen),
        "memory_mb": memory,
        "is_flat": is_flat(memory),
    }


@contextmanager
def _knowledge_base(options: argparse.Namespace) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        config = Path(folder) / "config.toml"
        config.write_text(SETTINGS, "utf-8")
        files = Path(folder) / "files"
        files.mkdir()
        for number in range(options.docs):
            _write(files / f"{number:06}.md", seed=number)
        ingest(config, embed=options.embed)
        yield config


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    words, mode = Words(0), SearchMode(options.mode)
    asked = [SearchQuery(text=words.query(1 + at % 5), mode=mode) for at in range(QUESTIONS)]
    with _knowledge_base(options) as config:
        found: dict[str, Any] = {"start": starts(config, asked[0])}
        server = Server(config)
        found["quiet"] = round_trips(config, server, asked)
        found["load"] = load(config, server, asked, options)
        found["exit_code"] = server.close()
    return found


def render(found: Mapping[str, Any]) -> str:
    """Return the tables and the verdict."""
    columns = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
    measured = {**found["quiet"], "over pipes, under load": found["load"]}
    rows = [
        (name, *(milliseconds(taken[column]) for column in columns), f"{taken['count']:.0f}")
        for name, taken in measured.items()
    ]
    load_ = found["load"]
    memory = ", ".join(f"{mb:.0f}" for mb in load_["memory_mb"])
    return "\n".join(
        [
            (
                f"start to handshake {milliseconds(found['start']['handshake_ms'])} ms, "
                f"to first answer {milliseconds(found['start']['first_answer_ms'])} ms"
            ),
            "",
            render_table(("search", "p50 ms", "p95", "p99", "max", "n"), rows),
            "",
            (
                f"{load_['ingests']} ingests meanwhile, {load_['revisions_seen']} revisions seen, "
                f"{load_['late']} answers of a revision that was not the newest"
            ),
            f"memory of the server in MB: {memory}; {'flat' if load_['is_flat'] else 'GROWING'}",
            f"{len(load_['errors'])} errors; exit code {found['exit_code']}",
            *(f"ERROR {error}" for error in load_["errors"][:SHOWN_ERRORS]),
        ]
    )


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--docs", type=int, default=1000, help="documents there before")
    parser.add_argument("--calls", type=int, default=10_000, help="searches under load")
    parser.add_argument("--mode", default="lexical", choices=[str(mode) for mode in SearchMode])
    parser.add_argument("--embed", action="store_true", help="compute embeddings, too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(words)
    use_private_cache()
    machine = describe_machine()
    found = measure(options)
    if options.json:
        print(json.dumps({"machine": machine, **found}, indent=2))
    else:
        print(f"{machine_line(machine)}\n\n{render(found)}")
    loaded = found["load"]
    is_kept = not loaded["errors"] and not loaded["late"] and loaded["is_flat"]
    return 0 if is_kept and found["exit_code"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
