"""How long after a language model's first words they are there: by the facade and the command.

A scripted server of each protocol notes when it begins to write its answer, and this program
when the first piece of it arrives: as an event of ``KnowledgeBase.ask``, and on the standard
output of ``kebab ask --stream``. What lies between is all that is ours of a stream's start.

    python tools/bench/streaming.py
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS, run_process
from tables import milliseconds, quantile, render_table

from kb_app import KnowledgeBase
from kb_app.config import Ask, load_config
from kb_app.testing.model_server import ModelServer, Reply
from kb_core.answers import AskQuery

__all__ = ["main"]

QUESTION = "when was the tower built"
NOTES = "# Tower\n\nThe tower was built in 1889 for a fair. It is made of iron.\n"
SAID = ("The tower", " was built", " in 1889", " [1].")
PROVIDERS = ("ollama", "openai")


class Noted(Sequence[str]):
    """The pieces of an answer, and when the first of them was last asked for."""

    began = 0.0

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
        return SAID[at]

    def __len__(self) -> int:
        return len(SAID)

    def __iter__(self) -> Iterator[str]:
        self.began = time.perf_counter()
        return iter(SAID)


def by_facade(config: Path, url: str, provider: str, pieces: Noted, rounds: int) -> list[float]:
    """Return how many seconds after the model's first piece its event came, each round."""
    found = load_config(config)
    ask = Ask(provider=provider, model=ModelServer.model, endpoint=url)
    took = []
    with KnowledgeBase.open(replace(found, ask=ask)) as kb:
        for _ in range(rounds + 1):
            events = kb.ask(AskQuery(text=QUESTION))
            next(event for event in events if event["kind"] == "token")
            took.append(time.perf_counter() - pieces.began)
            list(events)
    return took[1:]


def by_command(config: Path, pieces: Noted, rounds: int) -> list[float]:
    """Return how many seconds after it the first letter was printed."""
    took = []
    for _ in range(rounds):
        words = [str(KEBAB), "--config", str(config), "ask", "--stream", QUESTION]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as asked:
            assert asked.stdout is not None  # noqa: S101 - a pipe was asked for
            asked.stdout.read(1)
            took.append(time.perf_counter() - pieces.began)
            asked.stdout.read()
    return took


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args(words).rounds
    use_private_cache()
    rows = []
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        notes, config = Path(folder, "notes"), Path(folder, "config.toml")
        notes.mkdir()
        (notes / "tower.md").write_text(NOTES, "utf-8")
        settings = SETTINGS.format(root=json.dumps(str(notes)))
        config.write_text(settings, "utf-8")
        run_process([str(KEBAB), "--config", str(config), "ingest", "--summary-only"])
        for provider in PROVIDERS:
            pieces = Noted()
            with ModelServer(Reply(pieces=pieces)) as server:
                asked = by_facade(config, server.url, provider, pieces, rounds)
                rows.append(_row(f"{provider}, facade", asked))
                section = f'[ask]\nprovider = "{provider}"\nmodel = "{ModelServer.model}"\n'
                config.write_text(f'{settings}\n{section}endpoint = "{server.url}"\n', "utf-8")
                rows.append(_row(f"{provider}, --stream", by_command(config, pieces, rounds)))
    print(machine_line(describe_machine()))
    print(render_table(("ms after the model's first words", "median", "p90", "most"), rows))
    return 0


def _row(name: str, taken: Sequence[float]) -> tuple[str, ...]:
    shares = (quantile(taken, 0.5), quantile(taken, 0.9), max(taken))
    return (name, *(milliseconds(1000 * share) for share in shares))


if __name__ == "__main__":
    sys.exit(main())
