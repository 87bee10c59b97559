"""What an answer without a language model costs: warm in one process, and cold by command.

The documents are real text: the documentation strings of Python's own library and of what is
installed beside it, a file for each module and a section for each name, and the pages of the
language's reference that ``help()`` shows. Twenty questions that a person would have are asked
by turns; wall and processor time are of whole answers, and below them stands what each step of
the way took, as ``kebab ask --explain`` tells it.

    python tools/bench/asking.py                     10,000 passages; minutes, once
    python tools/bench/asking.py --keep DIR          build once, measure again
    python tools/bench/asking.py --keep DIR --show   what was answered, to be looked at

Where other programs want the cores, compare processor times: an answer reads five passages on
as many threads as there are cores, so that its wall time is less where these are free.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS, Usage, run_process
from tables import milliseconds, quantile, render_table

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.answers import Answer, AskQuery

__all__ = ["QUESTIONS", "Asked", "main", "write_documents"]

QUESTIONS = (
    "how do I remove a directory tree",
    "what does asyncio.gather return when a task raises an exception",
    "which function compresses bytes with zlib",
    "how many decimal places does statistics.mean keep",
    "what happens if a thread is joined twice",
    "when is __del__ called",
    "how are keyword arguments collected in a function definition",
    "what is the default timeout of a socket",
    "which exception is raised when a key is missing from a dictionary",
    "how can I parse an ISO 8601 date",
    "what does the walrus operator do",
    "how is a context manager written as a generator",
    "what does functools.lru_cache do when maxsize is None",
    "how do I copy a file with its metadata",
    "which signal interrupts a program from the keyboard",
    "what is the difference between is and ==",
    "how long is a UUID in bytes",
    "can a frozen dataclass be changed",
    "what is the capital of Mongolia",
    "wie lese ich eine Datei zeilenweise",
)
_BYTES = 4_500_000
"""Of all documents: about ten thousand passages."""
_LONGEST = 60_000
"""Characters of a document; long modules make several."""
_SKIPPED = frozenset({"test", "tests", "idlelib", "lib2to3"})


@dataclass(slots=True)
class Asked:
    """What answers took: seconds by question, milliseconds by step."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    steps: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def write_documents(folder: Path) -> int:
    """Write documents, the standard library's first, until there are enough; return how many."""
    count = size = 0
    for place, text in _documents():
        if size >= _BYTES:
            break
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        size += file.write_text(text, "utf-8")
        count += 1
    return count


def _documents() -> Iterator[tuple[Path, str]]:
    from pydoc_data.topics import topics

    for name, text in topics.items():
        yield Path("reference", f"{name}.md"), f"# {name}\n\n{text}\n"
    roots = sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")
    for root in map(Path, roots):
        for file in sorted(root.rglob("*.py")):
            below = file.relative_to(root)
            if _SKIPPED.isdisjoint(below.parts) and "site-packages" not in below.parts:
                text = "\n\n".join(_sections(file, ".".join(below.with_suffix("").parts)))
                for number, start in enumerate(range(0, len(text), _LONGEST)):
                    place = Path(root.name, below.with_suffix(f".{number}.md"))
                    yield place, text[start : start + _LONGEST]


def _sections(file: Path, module: str) -> Iterator[str]:
    """Yield what a module says of itself and of each name in it, under headings."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    named: list[tuple[str, ast.AST]] = [(module, tree)]
    while named:
        name, node = named.pop(0)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = ast.get_docstring(node)
            if said:
                yield f"{'#' if node is tree else '##'} {name}\n\n{said}"
            named += [
                (f"{name}.{each.name}", each)
                for each in node.body
                if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            ]


def warm(kb: KnowledgeBase, rounds: int) -> tuple[Asked, list[Answer]]:
    """Ask every question *rounds* times, after a first time that is not counted."""
    asked, answers = Asked(), []
    for number in range(rounds + 1):
        for text in QUESTIONS:
            wall, cpu = time.perf_counter(), time.process_time()
            answer = kb.answer(AskQuery(text=text, explain=True))
            taken = time.perf_counter() - wall, time.process_time() - cpu
            if not number:
                answers.append(answer)
                continue
            asked.wall.append(taken[0])
            asked.cpu.append(taken[1])
            for stage in answer.stages:
                asked.steps[stage.name].append(stage.milliseconds / 1000)
    return asked, answers


def cold(config: Path, rounds: int) -> dict[str, list[Usage]]:
    """Start a command for every question, *rounds* times, and one that only searches beside it."""
    kebab = [str(KEBAB), "--config", str(config)]
    named: Mapping[str, list[str]] = {
        "kebab ask, cold": [*kebab, "ask"],
        "kebab search, cold": [*kebab, "search"],
    }
    taken: dict[str, list[Usage]] = {name: [] for name in named}
    for _ in range(rounds):
        for question in QUESTIONS:
            for name, command in named.items():
                taken[name].append(run_process([*command, question], codes=(0, 1)))
    return taken


def _row(name: str, wall: Sequence[float], cpu: Sequence[float]) -> tuple[str, ...]:
    shares = [quantile(wall, 0.5), quantile(cpu, 0.5), quantile(cpu, 0.9)]
    return (name, *(milliseconds(1000 * each) for each in shares))


def render(asked: Asked, started: Mapping[str, Sequence[Usage]]) -> str:
    """Return the table of both, and below it the steps of a warm answer."""
    rows = [_row("facade, warm", asked.wall, asked.cpu)]
    for name, usages in started.items():
        rows.append(_row(name, [one.wall for one in usages], [one.cpu for one in usages]))
    steps = (
        f"{name} {milliseconds(1000 * quantile(taken, 0.5))}" for name, taken in asked.steps.items()
    )
    head = ("answer", "wall ms", "CPU ms", "CPU p90")
    return f"{render_table(head, rows)}\n\nsteps, wall ms of a warm answer: {', '.join(steps)}"


def _shown(answers: Sequence[Answer]) -> Iterator[str]:
    for answer in answers:
        sure = "-" if answer.confidence is None else f"{answer.confidence:.2f}"
        yield f"{answer.question.text} [{sure}] {answer.refusal or answer.text}"


def _knowledge_base(folder: Path) -> Path:
    """Return the configuration of the knowledge base in *folder*, which is made once."""
    config, documents = folder / "config.toml", folder / "documents"
    if not config.is_file():
        write_documents(documents)
        config.write_text(SETTINGS.format(root=json.dumps(str(documents))), "utf-8")
    run_process([str(KEBAB), "--config", str(config), "ingest", "--summary-only"])
    return config


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the documents are kept")
    parser.add_argument("--rounds", type=int, default=3, help="so often each question, warm")
    parser.add_argument("--starts", type=int, default=1, help="so often each question, cold")
    parser.add_argument("--show", action="store_true", help="print the answers, too")
    options = parser.parse_args(words)
    use_private_cache()
    made = tempfile.TemporaryDirectory(prefix="kebab-bench-")
    with nullcontext(options.keep) if options.keep else made as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        config = _knowledge_base(Path(folder))
        with KnowledgeBase.open(load_config(config)) as kb:
            passages = kb.stats()["chunk_count"]
            asked, answers = warm(kb, options.rounds)
        started = cold(config, options.starts)
    print(f"{machine_line(describe_machine())}; {passages:,} passages")
    print(f"\n{render(asked, started)}")
    if options.show:
        print("", *_shown(answers), sep="\n")
    refused = sum(answer.refusal is not None for answer in answers)
    print(f"\n{len(answers) - refused} of {len(answers)} questions were answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
