"""Feed damaged files to every parser, and say which one did what none may do.

Samples are changed at random: bytes are flipped, cut, repeated and put in, two samples of a
kind are spliced, and of archives the members are changed and packed again. What comes of it is
read in a worker process with limits of time and memory, as an ingest reads files, and held
against what every parser promises: a document or a reason, blocks in order, chunks that hold
everything but white space, none above the maximum, no exception, no crash.

    python tools/fuzz.py --minutes 10 --seed 7
    python tools/fuzz.py --only pdf --samples ~/pdfs --keep findings

With ``--tools``, the tools of the server are called with values that hurt, over a knowledge base
of the guide, as JSON and as text in turns: none may answer with a traceback or a bug of ours,
take longer than ten seconds of processor time, or keep a gigabyte.

    python tools/fuzz.py --tools --minutes 10 --only grep

Samples are this repository's documents and sources, those that are made here, those under
``../shared/data`` where there are any, and those of ``--samples``. Findings are told once for each
place that they come from, with the seed and the number of the input; ``--keep`` writes them.
The command exits 1 if there were any. The same seed and samples give the same inputs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path

import anyio

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzzing import Input, mutated, read, samples_below  # noqa: E402 - found once that is done

from kb_app._ingest.workers.executor import ProcessExecutor  # noqa: E402
from kb_core.execution import Outcome  # noqa: E402

LARGEST = 200_000
CPU_SECS, WALL_SECS, MEMORY_MB = 30, 120, 2000


def inputs(samples: Mapping[str, Sequence[Input]], seed: int, until: float) -> Iterator[Input]:
    """Yield changed samples, every kind as often as any other, until the time is over."""
    kinds = sorted(samples)
    number = 0
    while time.monotonic() < until:
        for kind in kinds:
            chance = random.Random(f"{seed} {number}")  # noqa: S311 - repeatable, nothing secret
            number += 1
            yield mutated(samples[kind], chance, number)


def run(
    samples: Mapping[str, Sequence[Input]], seed: int, minutes: float
) -> Iterator[Outcome[Input, str]]:
    """Yield what came of each input."""
    until = time.monotonic() + minutes * 60
    with ProcessExecutor[Input, str](
        read, workers=1, timeout_secs=WALL_SECS, cpu_secs=CPU_SECS, memory_mb=MEMORY_MB
    ) as executor:
        yield from executor.run(inputs(samples, seed, until))


def _finding(outcome: Outcome[Input, str]) -> str:
    """Return where a finding comes from, on its first line; empty where it is none."""
    if outcome.error is not None:
        return f"{outcome.error['code']}: {outcome.error['message']}"
    return outcome.value or ""


async def _call_tools(seed: int, minutes: float, only: str) -> int:
    """Call tools until the time is over; print the findings, and return how many there were."""
    from fuzzing_tools import calls, make_knowledge_base

    until = time.monotonic() + minutes * 60
    numbers = takewhile(lambda _: time.monotonic() < until, count())
    done, findings = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kebab-fuzz-") as folder:
        kb = make_knowledge_base(Path(folder), ROOT / "docs" / "guide")
        async for called in calls(kb, numbers, seed, only):
            done[called.tool] += 1
            place = f"{called.tool}: {called.wrong[:60]}"
            findings[place] += bool(called.wrong)
            if findings[place] == 1:
                print(f"\ncall {called.number}, {str(called.given)[:500]!r}\n{called.tool}: "
                      f"{called.wrong}", flush=True)  # fmt: skip
    found = sum(map(bool, findings.values()))
    told = ", ".join(f"{name} {number:,}" for name, number in sorted(done.items()))
    print(f"\n{done.total():,} calls ({told}); {found} findings, seed {seed}")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Run, print and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", help="a medium or tool, such as pdf; empty: all", default="")
    parser.add_argument("--tools", action="store_true", help="call the tools of the server")
    parser.add_argument("--samples", type=Path, action="append", default=[])
    parser.add_argument("--keep", type=Path, help="a folder for the inputs of findings")
    options = parser.parse_args(words)
    if options.tools:
        return int(anyio.run(_call_tools, options.seed, options.minutes, options.only) > 0)
    shared = ROOT.parent / "shared" / "data"
    folders = [ROOT / "docs", ROOT / "packages/kb-app/src", shared, *options.samples]
    samples = samples_below(folders, options.only, LARGEST)
    if not samples:
        parser.error(f"there are no samples of {options.only!r}")
    kinds = ", ".join(f"{kind} {len(found)}" for kind, found in sorted(samples.items()))
    print(f"seed {options.seed}; samples: {kinds}", flush=True)
    done, findings = Counter[str](), Counter[str]()
    for outcome in run(samples, options.seed, options.minutes):
        done[outcome.task.kind] += 1
        if not (said := _finding(outcome)):
            continue
        place = said.partition("\n")[0]
        findings[place] += 1
        if findings[place] == 1:
            print(f"\n{outcome.task.name}, input {outcome.task.number}: {said}", flush=True)
        if options.keep is not None and findings[place] == 1:
            options.keep.mkdir(parents=True, exist_ok=True)
            name = f"{outcome.task.number}-{outcome.task.name}"
            (options.keep / name).write_bytes(outcome.task.data)
    told = ", ".join(f"{kind} {count:,}" for kind, count in sorted(done.items()))
    print(f"\n{done.total():,} inputs ({told}); {len(findings)} findings, seed {options.seed}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
