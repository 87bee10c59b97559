"""Whether questions that join two facts are answered, and what that costs questions of one.

Notes of made-up facts in six languages (``hop_facts``) are ingested; every question is asked
through the facade. Printed by language, and by how many notes a question joins: how many were
answered rightly (the words of the answer are shown), refused, and answered wrongly; of those
that no note answers, to refuse is right. ``searched again`` is how many had a second search.

    python tools/bench/hops.py                   all of it
    python tools/bench/hops.py --langs ja,zh --show
    python tools/bench/hops.py --keep DIR        build once, ask again
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from hop_facts import Question, read_facts
from machine import describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS, run_process
from tables import render_table

from kb_app import KnowledgeBase
from kb_app._ask.evidence import bare
from kb_app.config import load_config
from kb_core.answers import Answer, AskQuery

__all__ = ["Outcome", "main"]

_NAMES = {2: "two notes", 1: "one note", 0: "no note, of two", -1: "no note, of one"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question."""

    question: Question
    answer: Answer

    @property
    def verdict(self) -> str:
        """``right``, ``refused`` or ``wrong``."""
        if self.answer.refusal is not None:
            return "refused" if self.question.facts > 0 else "right"
        wanted = bare(self.question.answer)
        return "right" if wanted and wanted in bare(self.answer.text) else "wrong"


def ask_all(folder: Path, langs: Sequence[str]) -> list[Outcome]:
    """Ingest the notes into *folder*, where they are not there yet, and ask everything."""
    notes, questions = read_facts()
    config, documents = folder / "config.toml", folder / "notes"
    for note in notes:
        place = documents / note.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(note.text, "utf-8")
    config.write_text(SETTINGS.format(root=json.dumps(str(documents))), "utf-8")
    run_process([str(KEBAB), "--config", str(config), "ingest", "--summary-only"])
    with KnowledgeBase.open(load_config(config)) as kb:
        return [
            Outcome(question, kb.answer(AskQuery(text=question.text, explain=True)))
            for question in questions
            if not langs or question.lang in langs
        ]


def render(outcomes: Sequence[Outcome]) -> str:
    """Return the table: languages within kinds of questions, and each kind as a whole."""
    groups: defaultdict[tuple[int, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        for lang in (one.question.lang, "all"):
            groups[one.question.facts, lang].append(one)
    rows = []
    for (facts, lang), found in sorted(groups.items(), key=lambda item: (-item[0][0], item[0][1])):
        verdicts = [one.verdict for one in found]
        counts = [verdicts.count(verdict) for verdict in ("right", "refused", "wrong")]
        again = sum(bool(one.answer.hops) for one in found)
        rows.append((f"{_NAMES[facts]}, {lang}", str(len(found)), *map(str, counts), str(again)))
    return render_table(("joins", "asked", "right", "refused", "wrong", "searched again"), rows)


def _shown(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        sure = one.answer.confidence
        said = one.answer.refusal or " / ".join(one.answer.text.splitlines())
        hops = "; ".join(query for hop in one.answer.hops for query in hop.queries)
        yield (
            f"{one.question.facts} {one.verdict:7} {sure if sure is None else f'{sure:.2f}'} "
            f"{one.question.text} [{hops}] {said}"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the notes are kept")
    parser.add_argument("--langs", default="", help="codes with commas; all of them")
    parser.add_argument("--show", action="store_true", help="print what came of each, too")
    options = parser.parse_args(words)
    use_private_cache()
    made = tempfile.TemporaryDirectory(prefix="kebab-bench-")
    with nullcontext(options.keep) if options.keep else made as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        outcomes = ask_all(Path(folder), [lang for lang in options.langs.split(",") if lang])
    print(f"{machine_line(describe_machine())}\n\n{render(outcomes)}")
    if options.show:
        print("", *_shown(outcomes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
