"""Whether ``ask`` answers with the row of a table that is meant, and with no other.

Sixteen small tables in English, German, Spanish and Korean, and questions about one thing in
one of them, or about what is in none (``row_questions.jsonl``). Printed are how many are
answered with the right row, and with it first, how many lines an answer has, and how many of
the others are let in.

    python tools/bench/row_answers.py
    python tools/bench/row_answers.py --show          every answer
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.answers import Answer, AskQuery
from kb_core.ingest import IngestOptions

__all__ = ["main"]

_DATA = Path(__file__).with_name("row_questions.jsonl")
_SETTINGS = '[storage]\ndata_dir = "data"\n[[sources]]\nid = "notes"\nroot = "notes"\n'
_HEAD = ("set", "asked", "right row", "first", "lines an answer", "about nothing", "let in")

Line = Mapping[str, str | None]


def _measured(name: str, lines: Sequence[Line], home: Path, *, shows: bool) -> tuple[str, ...]:
    """Index the tables of a set below *home*, ask its questions, and return its row."""
    notes = home / name / "notes"
    notes.mkdir(parents=True)
    (notes.parent / "config.toml").write_text(_SETTINGS, "utf-8")
    for line in lines:
        if "path" in line:
            (notes / str(line["path"])).write_text(str(line["text"]), "utf-8")
    with KnowledgeBase.open(load_config(notes.parent / "config.toml")) as kb:
        for _ in kb.ingest(IngestOptions()):
            pass
        asked = [line for line in lines if "question" in line]
        told = [(line, kb.answer(AskQuery(text=str(line["question"])))) for line in asked]
    if shows:
        print(*_shown(told), sep="\n")
    known = [(str(line["answer"]), answer) for line, answer in told if line["answer"] is not None]
    none = [answer for line, answer in told if line["answer"] is None]
    given = [(wanted, _quotes(answer)) for wanted, answer in known if answer.refusal is None]
    lengths = [sum(quote.count("\n") + 1 for quote in quotes) for _, quotes in given]
    return (
        name,
        str(len(known)),
        str(sum(any(wanted in quote for quote in quotes) for wanted, quotes in given)),
        str(sum(wanted in quotes[0] for wanted, quotes in given)),
        f"{sum(lengths) / max(1, len(lengths)):.1f}",
        str(len(none)),
        str(sum(answer.refusal is None for answer in none)),
    )


def _quotes(answer: Answer) -> list[str]:
    return [cited.quote for cited in answer.citations]


def _shown(told: Sequence[tuple[Line, Answer]]) -> Iterator[str]:
    for line, answer in told:
        said = " / ".join(_quotes(answer)) if answer.refusal is None else "refused"
        yield f"{line['question']}  [{line['answer']}]  {answer.confidence}: {said}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure both sets, and print a table."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary, allow_abbrev=False)
    parser.add_argument("--show", action="store_true", help="print every answer")
    options = parser.parse_args(argv)
    lines: list[Line] = [json.loads(line) for line in _DATA.read_text("utf-8").splitlines()]
    print(machine_line(describe_machine()))
    with tempfile.TemporaryDirectory() as folder:
        use_private_cache()
        rows = [
            _measured(
                name,
                [line for line in lines if line["set"] == name],
                Path(folder),
                shows=options.show,
            )
            for name in ("first", "second")
        ]
    print(render_table(_HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
