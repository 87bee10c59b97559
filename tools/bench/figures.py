"""Whether a question about a filing is answered with the figure that it asks for.

The pages of the collection become the filings that they are pages of, and questions whose
known answer has a figure (a number of three digits and more or a percentage; no dates) are
asked. Printed are for how many of them a passage with such a figure, of a filing that is named
with the answer, is first, among the first five and the first ten of a search, and among those
that an answer was read from; for how many the figure is shown; and how many were refused.

    python tools/bench/figures.py                     ingests 1,000 pages; minutes
    python tools/bench/figures.py --keep DIR          once, and asks again
    python tools/bench/figures.py --keep DIR --show   what came of each
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from beir import Collection, load_collection
from ir import SOURCE, add_data_option, config_of, keep_in, open_snapshot
from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app import KnowledgeBase
from kb_core.answers import Answer, AskQuery
from kb_core.ingest import IngestOptions
from kb_core.ports import IndexSnapshot
from kb_core.search import Hit, SearchQuery

__all__ = ["Asked", "Outcome", "figures_in", "main"]

SET = "sec10q-pages"
_SOURCES = re.compile(r"SOURCE.*", re.DOTALL)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATES = re.compile(
    rf"(?:{_MONTHS})\s+\d+(?:,\s*\d+)?|\b(?:19|20)\d\d\b|\bQ\d|10-[QK]|\bpages? \d+"
    r"|\bitem \d\w*|\bnote \d+|^\s*\d+\.(?=\s)",
    re.IGNORECASE | re.MULTILINE,
)
_FIGURE = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s?(%|billion)?")
_LEAST_DIGITS = 3
_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the figures of its answer."""

    question: str
    figures: frozenset[str]
    files: frozenset[str]
    """Which filings the answer is from."""

    def has(self, path: str, text: str) -> bool:
        """Say whether a text of a filing has a figure."""
        return Path(path).stem in self.files and not self.figures.isdisjoint(figures_in(text))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question."""

    asked: Asked
    found: int
    """The rank of the first passage with a figure in a search, from 1; 0 for none."""
    read: int
    """The same, of the passages of the answer."""
    answer: Answer

    @property
    def is_shown(self) -> bool:
        """Whether a figure is in what is shown."""
        return self.answer.refusal is None and any(
            self.asked.has(cited.hit.doc_path, cited.quote) for cited in self.answer.citations
        )


def figures_in(text: str) -> frozenset[str]:
    """Return the figures of a text, without their commas; billions as millions, too."""
    found: set[str] = set()
    for number, unit in _FIGURE.findall(_DATES.sub(" ", text)):
        plain = number.rstrip(",.").replace(",", "")
        if unit == "%":
            found.add(f"{plain}%")
        elif len(plain.replace(".", "")) >= _LEAST_DIGITS:
            found.add(plain)
        if unit == "billion":
            found.add(f"{float(plain) * 1000:.0f}")
    return frozenset(found)


def write_filings(collection: Collection, folder: Path) -> None:
    """Write the pages, each a paragraph of flat text, as the filings that they are of."""
    pages: dict[str, list[str]] = {}
    for doc in collection.docs:
        pages.setdefault(doc.doc_id.partition("#")[0], []).append(" ".join(doc.text.split()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, texts in pages.items():
        whole = "\n\n".join((f"# {Path(name).stem}", *texts))
        (folder / f"{Path(name).stem}.md").write_text(f"{whole}\n", "utf-8")


def read_questions(collection: Collection, folder: Path) -> list[Asked]:
    """Return the questions whose answer has a figure."""
    lines = (folder / "answers.jsonl").read_text("utf-8").splitlines()
    answers = {row["_id"]: row["answer"] for row in map(json.loads, lines)}
    found = [
        Asked(
            text,
            figures_in(_SOURCES.sub("", answers[query])),
            frozenset(Path(name).stem for name in collection.qrels[query]),
        )
        for query, text in collection.queries.items()
    ]
    return [asked for asked in found if asked.figures]


def ask_all(
    kb: KnowledgeBase, snapshot: IndexSnapshot, questions: Sequence[Asked]
) -> Iterator[Outcome]:
    """Search and ask each question."""

    def rank(asked: Asked, hits: Sequence[Hit]) -> int:
        chunks = (snapshot.find_chunks(hit.chunk_id, 1)[0] for hit in hits)
        ranks = enumerate((asked.has(chunk["path"], chunk["text"]) for chunk in chunks), start=1)
        return next((at for at, has in ranks if has), 0)

    for asked in questions:
        found = kb.search(SearchQuery(text=asked.question, k=_DEPTH)).hits
        answer = kb.answer(AskQuery(text=asked.question, explain=True))
        yield Outcome(asked, rank(asked, found), rank(asked, answer.hits), answer)


def render(outcomes: Sequence[Outcome]) -> str:
    """Return the table: the search, what an answer reads, and what it shows."""
    head = ("of questions", "first", "in five", "in ten", f"in {_DEPTH}")
    rows = [
        (name, *(str(sum(0 < at <= depth for at in ranks)) for depth in (1, 5, 10, _DEPTH)))
        for name, ranks in (
            ("a search has it", [one.found for one in outcomes]),
            ("the evidence has it", [one.read for one in outcomes]),
        )
    ]
    shown = sum(one.is_shown for one in outcomes)
    refused = sum(one.answer.refusal is not None for one in outcomes)
    said = f"{shown} of {len(outcomes)} are shown a figure, {refused} are refused"
    return f"{render_table(head, rows)}\n\n{said}"


def _shown(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        text = one.answer.refusal or " / ".join(one.answer.text.splitlines())
        how = "shown" if one.is_shown else "-"
        steps = "; ".join(stage.said for stage in one.answer.stages if stage.name == "narrow")
        yield f"{one.found} {one.read} {how} {one.asked.question} {sorted(one.asked.figures)}"
        yield f"    [{steps}] {text}"


def main(words: Sequence[str] | None = None) -> int:
    """Ingest, ask and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the filings are kept")
    parser.add_argument("--show", action="store_true", help="print what came of each, too")
    add_data_option(parser)
    options = parser.parse_args(words)
    if not (options.data / SET).is_dir():
        print(
            f"no collection '{SET}' in '{options.data}': name its folder with --data",
            file=sys.stderr,
        )
        return 0
    use_private_cache()
    collection = load_collection(options.data / SET)
    with keep_in(options.keep) as place:
        config = config_of(place)
        if not (place / SOURCE).is_dir():
            write_filings(collection, place / SOURCE)
        with KnowledgeBase.open(config) as kb:
            for _ in kb.ingest(IngestOptions(summary_only=True)):
                pass
            questions = read_questions(collection, options.data / SET)
            outcomes = list(ask_all(kb, open_snapshot(config.storage.data_dir), questions))
    print(f"{machine_line(describe_machine())}\n\n{render(outcomes)}")
    if options.show:
        print("", *_shown(outcomes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
