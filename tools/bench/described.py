"""Whether ``ask`` says what a thing is by what its documentation says of it first.

The documentation is a folder of reStructuredText. Of things that its directives describe, and
that nothing else is called like, a sample is asked for: *What does … do?*, *What is … for?*
Printed are how many are answered, how often the first sentence of the description is the first
quote and how often it is quoted, and how often the first hit of a search is in its file. With
``--later``, questions are three words of another of its first sentences, which has to be found.

    python tools/bench/described.py FOLDER
    python tools/bench/described.py FOLDER --keep HOME   ingest once, measure again
    python tools/bench/described.py FOLDER --show        every question
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app import KnowledgeBase
from kb_app.config import Config, load_config
from kb_core.answers import AskQuery
from kb_core.directives import DIRECTIVE, describes, name_of
from kb_core.ingest import IngestOptions
from kb_core.search import SearchQuery
from kb_core.sentences import units

__all__ = ["main", "things_in"]

_HEAD = ("asked", "answered", "first quote", "quoted", "first hit in its file")
_WORD = re.compile(r"[A-Za-z]{4,}")
_LEAST, _LATER, _OF_A_QUESTION = 25, slice(1, 4), 3
_ASKED = ("What does {} do?", "What is {} for?")


class Thing(NamedTuple):
    """What is described, and by which sentence."""

    name: str
    said: str
    path: str


def things_in(folder: Path, *, later: bool = False) -> list[Thing]:
    """Return what the files of *folder* describe, by first sentences, or those after them."""
    found = [
        thing
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".rst", ".txt"}
        for thing in _described(path, folder, later=later)
    ]
    names = Counter(name for name, _ in {(thing.name, thing.path) for thing in found})
    return [thing for thing in found if names[thing.name] == 1 and len(thing.said) >= _LEAST]


def _described(path: Path, folder: Path, *, later: bool) -> Iterator[Thing]:
    text = path.read_text("utf-8", "replace")
    said: dict[tuple[int, int], list[str]] = {}
    for unit in units(text):
        if unit.thing is not None and unit.kind == "sentence":
            words = " ".join(text[unit.start : unit.end].split())
            said.setdefault(unit.thing, []).append(words)
    for (start, end), sentences in said.items():
        directive = DIRECTIVE.match(text, start, end)
        if directive is None or not describes(directive):
            continue
        for sentence in sentences[_LATER] if later else sentences[:1]:
            yield Thing(name_of(directive), sentence, path.relative_to(folder).as_posix())


def _questions(things: Sequence[Thing], *, later: bool) -> Iterator[str]:
    """Yield a question for each: by its name, or by it and the rarest words of its sentence."""
    times = Counter(word for thing in things for word in set(_WORD.findall(thing.said.lower())))
    for number, thing in enumerate(things):
        if not later:
            yield _ASKED[number % len(_ASKED)].format(thing.name)
            continue
        words = dict.fromkeys(_WORD.findall(thing.said.lower()))
        rarest = sorted(words, key=times.__getitem__)[:_OF_A_QUESTION]
        yield f"{thing.name}: when {' '.join(word for word in words if word in rarest)}?"


def _opened(folder: Path, home: Path) -> Config:
    home.mkdir(parents=True, exist_ok=True)
    config = home / "config.toml"
    config.write_text(
        f'[storage]\ndata_dir = "{home / "data"}"\n[[sources]]\nid = "docs"\nroot = "{folder}"\n',
        "utf-8",
    )
    return load_config(config)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask for a sample of what is described, and print a table."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, metavar="HOME", help="what is ingested stays here")
    parser.add_argument("--questions", type=int, default=120, help="so many at most")
    parser.add_argument("--later", action="store_true", help="ask for sentences after the first")
    parser.add_argument("--show", action="store_true", help="print every question")
    args = parser.parse_args(argv)
    folder = args.folder.resolve()
    things = things_in(folder, later=args.later)
    random.Random(5).shuffle(things)  # noqa: S311 - the same ones each time
    del things[args.questions :]
    use_private_cache()
    with tempfile.TemporaryDirectory() as scratch:
        config = _opened(folder, args.keep.resolve() if args.keep else Path(scratch))
        with KnowledgeBase.open(config) as kb:
            for _ in kb.ingest(IngestOptions()):
                pass
            counts = Counter[str]()
            for thing, question in zip(things, _questions(things, later=args.later), strict=True):
                counts += _asked(kb, thing, question, shows=args.show)
    print(machine_line(describe_machine()), end="\n\n")
    row = (len(things), *(counts[name] for name in _HEAD[1:]))
    print(render_table(_HEAD, [tuple(map(str, row))]))
    return 0


def _asked(kb: KnowledgeBase, thing: Thing, question: str, *, shows: bool) -> Counter[str]:
    answer = kb.answer(AskQuery(text=question))
    hits = kb.search(SearchQuery(text=question, k=1)).hits
    quotes = [" ".join(cited.quote.split()) for cited in answer.citations]
    if answer.refusal is not None:
        quotes = []
    if shows:
        print(f"{question}  [{thing.said[:70]}]  {(quotes or ['refused'])[0][:100]}")
    holds = [thing.said in quote for quote in quotes]
    is_there = bool(hits) and hits[0].citation.path == thing.path
    told = (bool(quotes), holds[:1] == [True], any(holds), is_there)
    return Counter({name: 1 for name, is_so in zip(_HEAD[1:], told, strict=True) if is_so})


if __name__ == "__main__":
    sys.exit(main())
