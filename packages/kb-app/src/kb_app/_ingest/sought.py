"""Which files are read first where somebody waits for an answer: those that hold its words.

Counting words in a file takes a hundredth of what reading it into the index takes. So a search of
a folder that nobody has read looks through all of its texts for the words of the question, and
reads the files whose best stretch of text promises most, up to a size; the others wait for
another run. A stretch promises what BM25 gives it (Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009), words being looked for as letters in a row, and a file what the best
of its stretches does (MaxP: Dai and Callan, SIGIR 2019).

What is no text says nothing of its words before it is read, and so is always read.

An index of what was chosen by a question holds its words more often than all of the folder does.
So what was counted says how much rarer they are in all (``Sampling``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kb_app._ingest.plan import Plan
from kb_app._ingest.seeing.files import location, open_inside, open_regular
from kb_app._ingest.settings import UNKNOWN, SourceSpec
from kb_app._media import medium_of
from kb_core.ingest import ItemKind, Left
from kb_core.search import Sampling
from kb_core.values import dataclass, field

__all__ = ["Look", "leave_unsought", "wanted_words"]

Word: TypeAlias = "tuple[str, ...]"
"""What a word begins with in each of its spellings, in lower case."""

_STRETCH = 1_200
"""Characters that are looked at together: about a passage."""
_LEAST_FILES = 32
"""So many files are read whatever their size: the one that answers may follow a table."""
_SHORTEST = 3
"""Letters that are left of a word at least, where its ending is left out."""
_SATURATION = 2.0
"""How often a word has to be in a stretch for half of what it can add."""
_HEAD = 4_096
"""Bytes of a file that tell whether it is letters."""
_WORDS = re.compile(r"[^\W_]+")


def wanted_words(question: str) -> list[Word]:
    """Return the words of *question* to look for in texts as they are, without their endings."""
    from kb_search.analysis import fold, query_terms

    accented = {fold(word): word.lower() for word in _WORDS.findall(question)}
    words: dict[Word, None] = {}
    for term in query_terms(question, ("en",)):
        if term.kind == "cjk":
            words.update(((pair,), None) for pair in term.forms)
        else:
            size = _shared(term.exact, term.stems)
            spellings = (term.exact, accented.get(term.exact, term.exact))
            words[tuple(dict.fromkeys(each[:size] for each in spellings))] = None
    return list(words)


def _shared(word: str, stems: Sequence[str]) -> int:
    """Return how many letters *word* and its *stems* begin with alike; all, where few are left."""
    size = len(word)
    while not all(stem.startswith(word[:size]) for stem in stems):
        size -= 1
    return size if size >= _SHORTEST else len(word)


@dataclass(slots=True)
class Look:
    """What was counted in texts, of *words*."""

    words: Sequence[Word]
    _counts: dict[str, list[list[int]]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    """Of each text by its name: how often each word is in its stretches, and how many it has."""

    def at(self, name: str, path: str, text: str) -> None:
        """Count the words in *text*, which is in lower case, and in its *path*."""
        self._counts[name] = [*_stretches(path.lower(), text, self.words)]
        self._sizes[name] = 1 + len(text) // _STRETCH

    def promises(self) -> dict[str, float]:
        """Return by name what each text promises; 0 where it has none of the words."""
        total, holding = self._sum(self._counts)
        worth = [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in holding]
        return {
            name: max((_weight(counts, worth) for counts in stretches), default=0.0)
            for name, stretches in self._counts.items()
        }

    def sampling(self, left: Collection[str]) -> Sampling:
        """Return what all texts are to those that are not *left*."""
        total, holding = self._sum(self._counts)
        part, held = self._sum([name for name in self._counts if name not in left])
        times = [n / max(1, m) for n, m in zip(holding, held, strict=True)]
        begins = ((each, n) for word, n in zip(self.words, times, strict=True) for each in word)
        return Sampling(total / max(1, part), dict(begins))

    def _sum(self, names: Iterable[str]) -> tuple[int, list[int]]:
        """Return how many stretches these texts have, and how many of them hold each word."""
        total, holding = 0, [0] * len(self.words)
        for name in names:
            total += self._sizes[name]
            for counts in self._counts[name]:
                for at, count in enumerate(counts):
                    holding[at] += count > 0
        return total, holding


def _stretches(path: str, text: str, words: Sequence[Word]) -> Iterable[list[int]]:
    """Yield how often each word is in each stretch of *text*, and once more if in the path.

    Nothing for a text which has none of them, like most.
    """
    there = [[begin for begin in word if begin in text] for word in words]
    named = [any(begin in path for begin in word) for word in words]
    if any(there) or any(named):
        for start in range(0, max(1, len(text)), _STRETCH):
            stretch = text[start : start + _STRETCH]
            counts = [sum(map(stretch.count, begins)) if begins else 0 for begins in there]
            yield [count + more for count, more in zip(counts, named, strict=True)]


def _weight(counts: Sequence[int], worth: Sequence[float]) -> float:
    pairs = zip(counts, worth, strict=True)
    return sum(each * count / (count + _SATURATION) for count, each in pairs if count)


class _File(NamedTuple):
    """A file of letters, and where it is; *raw* is its path where that is spelt otherwise."""

    source: SourceSpec
    path: str
    raw: str | None
    size: int

    @property
    def name(self) -> str:
        return f"{self.source.source_id}/{self.path}"

    def text(self) -> str:
        """Return its letters in lower case; nothing of bytes, or where it cannot be read."""
        try:
            path = location(self.source.root, self.path, self.raw)
            follows = self.source.follow_links
            opened = open_regular(path) if follows else open_inside(path, self.source.root)
            with opened:
                data = opened.read(self.size)
            return "" if b"\0" in data[:_HEAD] else data.decode("utf-8", "replace").lower()
        except OSError:
            return ""


def leave_unsought(plans: Sequence[Plan], question: str, most_bytes: int) -> Left:
    """Leave for another run what promises less for *question* than the best texts do.

    These are *most_bytes* together, with those among them that are read already; 0 leaves all
    that is new. What has changed is read anew, and what is no text is read. Return what is left;
    the plans of that saw their sources in part.
    """
    waiting = {file.name: file for plan in plans for file in _unread(plan)}
    if sum(file.size for file in waiting.values()) <= most_bytes:
        return Left()
    look = Look(wanted_words(question))
    files = {file.name: file for plan in plans for file in _read(plan)} | waiting
    if look.words:
        for name, file in files.items():
            look.at(name, file.path, file.text())
    promised = look.promises()
    room, spared = most_bytes, _LEAST_FILES if most_bytes else 0
    for name in sorted(promised, key=lambda name: (-promised[name], name)):
        room, spared = room - files[name].size, spared - 1
        if not promised[name] or (room < 0 and spared < 0):
            break
        waiting.pop(name, None)
    for plan in plans:
        later = {file.path for file in waiting.values() if file.source is plan.source}
        plan.wanted = [want for want in plan.wanted if want.file.path not in later]
        plan.verified = plan.verified and not later
    promising = sum(promised.get(name, 0) > 0 for name in waiting)
    return Left(files=len(waiting), promising=promising, sampling=look.sampling(waiting))


def _unread(plan: Plan) -> Iterator[_File]:
    for want in plan.wanted:
        if want.known is None and _has_letters(want.file.media):
            yield _File(plan.source, want.file.path, want.raw_path, want.file.size)


def _read(plan: Plan) -> Iterator[_File]:
    for item in plan.items:
        if item.kind is ItemKind.UNCHANGED and _has_letters(item.media or UNKNOWN):
            yield _File(plan.source, item.doc_path, None, item.byte_len or 0)


def _has_letters(media: str) -> bool:
    row = medium_of(media)
    return row.is_text or row.cites_file_lines or media == UNKNOWN
