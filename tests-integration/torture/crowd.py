"""Eight processes read while a ninth writes: no answer is of two revisions, none is an error.

    python tests-integration/torture/crowd.py --minutes 30 --seed 1
    python tests-integration/torture/crowd.py --minutes 30 --each 0      the facade alone

Every document says in each passage which version of it that is, and each reader remembers by
sequence what it saw. A text or its passages that do not agree are torn; two readers that saw
something else at the same sequence, or one that saw a sequence go back, saw a mixture.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rounds import prepare
from trials import Fault, Trial, preloaded, run, threads
from world import World, facade, healed, marks_of, perform

from kb_app import KnowledgeBase
from kb_core.errors import DocNotFound
from kb_core.media import SearchMode
from kb_core.ports import IndexReader
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_search.reader import Reader

__all__ = ["ASKED", "Views", "compare", "look", "main"]

READERS = 8
OPERATIONS = {"ingest": 8, "force": 1, "add": 3, "remove": 1, "forget": 1}
_MOST_TOLD = 20

Views = dict[int, int]
"""What was seen, hashed, by the sequence it was seen at."""


def read(world: World, stop: Path, each: int, seed: int) -> tuple[Counter[str], Views, list[str]]:
    """Read until *stop* is there; return how often, what was seen, and what was wrong with it.

    Before each question to the facade it looks at *each* snapshots.
    """
    draw, counts = random.Random(seed), Counter[str]()
    views: Views = {}
    problems: list[str] = []
    reader, last = Reader(world.data), -1
    with facade(world.config, readonly=True) as kb:
        while not stop.exists():
            for _ in range(each):
                last = look(reader, last, views, counts, problems)
            draw.choice(ASKED)(kb, draw, problems)
            counts["operations of the facade"] += 1
    return counts, views, problems


def look(
    reader: IndexReader, last: int, views: Views, counts: Counter[str], problems: list[str]
) -> int:
    """Read every document of a snapshot, its text and its passages; return its sequence."""
    snapshot, seen = reader.snapshot(), {}
    sequence = snapshot.control.sequence
    for doc in snapshot.docs(None):
        text = snapshot.doc_text(doc["doc_id"]) or ""
        marks = marks_of(text)
        for chunk in snapshot.doc_chunks(doc["doc_id"]):
            marks |= marks_of(chunk["text"])
            if text[chunk["start"] : chunk["end"]] != chunk["text"]:
                problems.append(f"{doc['path']} at {sequence}: a passage is no slice of the text")
        if len(marks) != 1:
            problems.append(f"{doc['path']} at {sequence} is of versions {marks}")
        seen[doc["path"]] = tuple(marks)
        counts["reads of a snapshot"] += 1
    view = hash(tuple(sorted(seen.items())))
    if sequence < last or views.setdefault(sequence, view) != view:
        problems.append(f"sequence {sequence} after {last} is not what it was")
    return sequence


def _search(kb: KnowledgeBase, draw: random.Random, problems: list[str]) -> None:
    mode = draw.choice((SearchMode.LEXICAL, SearchMode.HYBRID, SearchMode.VECTOR))
    found = kb.search(SearchQuery(text="walrus fell", k=50, mode=mode, passages=True))
    marks: dict[str, set[str]] = {}
    for hit in found.hits:
        text = hit.passage.text if hit.passage else ""
        marks.setdefault(hit.doc_path, set()).update(marks_of(text))
    problems += [f"hits of {path} are of {seen}" for path, seen in marks.items() if len(seen) > 1]
    if not found.hits:
        problems.append(f"nothing is found ({mode})")


def _list(kb: KnowledgeBase, draw: random.Random, problems: list[str]) -> None:
    if not kb.list_docs(SearchFilters(), limit=1000)["items"]:
        problems.append("there are no documents")


def _count(kb: KnowledgeBase, draw: random.Random, problems: list[str]) -> None:
    if not kb.stats()["doc_count"]:
        problems.append("there are no documents, it is said")


def _fetch(kb: KnowledgeBase, draw: random.Random, problems: list[str]) -> None:
    row = draw.choice(kb.list_docs(SearchFilters(), limit=1000)["items"])
    try:
        text = kb.fetch(row["doc_id"])["text"]
    except DocNotFound:
        return  # it was deleted between the two
    if len(marks := marks_of(text)) != 1:
        problems.append(f"the text of {row['doc_path']} is of versions {marks}")


def _grep(kb: KnowledgeBase, draw: random.Random, problems: list[str]) -> None:
    found = kb.grep(GrepQuery(pattern="^mark ", max_lines=1000))
    for file in found["files"]:
        marks = marks_of("\n".join(line["text"] for line in file["lines"]))
        if len(marks) != 1:
            problems.append(f"the lines of {file['doc_path']} are of versions {marks}")
    if not found["files"]:
        problems.append("no line is found")


ASKED: tuple[Callable[[KnowledgeBase, random.Random, list[str]], None], ...] = (
    *(_search, _search),
    *(_list, _count),
    *(_fetch, _grep),
)


def write(world: World, stderr: Path, until: float, counts: Counter[str]) -> list[str]:
    """Edit and write until then, a child for each operation; return what went wrong."""
    problems: list[str] = []
    while time.monotonic() < until:
        world.edit_some()
        operation = world.operation(world.draw.choices([*OPERATIONS], [*OPERATIONS.values()])[0])
        outcome = run(partial(perform, world.config, operation), stderr)
        counts[f"writes: {operation.kind}"] += 1
        if outcome.ended != "done":
            return [*problems, f"{operation}: {outcome}"]
        world.acknowledge(operation)
    outcome = run(partial(healed, world.config), stderr)
    return [*problems, *(world.judge_healed(outcome.value) if outcome.value else [str(outcome)])]


def compare(told: Iterable[Views]) -> list[str]:
    """Return the sequences at which readers saw different things."""
    views: dict[int, set[int]] = {}
    for seen in told:
        for sequence, view in seen.items():
            views.setdefault(sequence, set()).add(view)
    return [f"at sequence {at} readers differ" for at, seen in views.items() if len(seen) > 1]


def main(arguments: list[str] | None = None) -> int:
    """Let eight read while one writes; print the seed first, and last what happened."""
    parser = argparse.ArgumentParser(description="Read from eight processes while one writes.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--each", type=int, default=3, help="snapshots read for each question")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(arguments)
    home = preloaded("kebab-crowd-")
    print(f"seed {given.seed}", flush=True)
    world, stop, counts = World(home), home / "stop", Counter[str]()
    prepare(world, home / "stderr")
    assert threads() == 1, "a process that forks runs one thread"
    world.begin(given.seed)
    readers = [
        Trial(partial(read, world, stop, given.each, given.seed + n), Fault(), home / f"stderr-{n}")
        for n in range(READERS)
    ]
    problems = write(world, home / "stderr", time.monotonic() + 60 * given.minutes, counts)
    stop.touch()
    views: list[Views] = []
    for outcome in [reader.wait() for reader in readers]:
        if outcome.ended != "done":
            problems.append(str(outcome))
            continue
        counts += outcome.value[0]
        views.append(outcome.value[1])
        problems += outcome.value[2][:_MOST_TOLD]
    problems += compare(views)
    counts["sequences that were seen"] = len(set().union(*views))
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}", flush=True)
    print(*problems, f"{len(problems)} problems", sep="\n", flush=True)
    shutil.rmtree(home)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
