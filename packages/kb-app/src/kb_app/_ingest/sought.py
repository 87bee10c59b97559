"""Which files are read first where somebody waits for an answer: those that hold its words.

Counting words in a file takes a hundredth of what reading it into the index takes. So a search of
a folder that nobody has read looks through all of its texts for the words of the question, and
reads the files whose best stretch of text promises most, up to a size; the others wait for
another run. A stretch promises what BM25 gives it (Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009), words being looked for as letters in a row, and a file what the best
of its stretches does (MaxP: Dai and Callan, SIGIR 2019).

What is no plain text is told by a worker (``making/letters``), once: that is kept until all of the
folder was read. What cannot be told is read.

An index of what was chosen by a question holds its words more often than all of the folder does.
So what was counted says how much rarer they are in all (``Sampling``).
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kb_app._ingest.judging.archives import is_archive
from kb_app._ingest.judging.kinds import HEAD_BYTES, detect_from_bytes
from kb_app._ingest.making.record import Task
from kb_app._ingest.plan import Plan
from kb_app._ingest.seeing.files import location, open_inside, open_regular
from kb_app._ingest.settings import UNKNOWN, Settings, SourceSpec
from kb_app._media import medium_of
from kb_core.disk import remove_folder
from kb_core.documents import SourceFile
from kb_core.execution import Executor
from kb_core.ids import text_hash
from kb_core.ingest import ItemKind, Left, Sought
from kb_core.media import Media
from kb_core.search import Sampling
from kb_core.text import WORD
from kb_core.values import dataclass, field, lazy_pattern, replace

if TYPE_CHECKING:
    from kb_core.ports import Clock

__all__ = ["Look", "Telling", "forget_told", "leave_unsought", "wanted_words"]

Word: TypeAlias = "tuple[str, ...]"
"""What a word begins with in each of its spellings, in lower case."""

_STRETCH = 1_200
"""Characters that are looked at together: about a passage."""
_LEAST_FILES = 32
"""So many files are read whatever their size: the one that answers may follow a table."""
_TIMES: dict[str, int] = {Media.PDF: 4}
_TIMES_OF_OTHERS = 2
"""How many times as long as plain text, letter for letter, what is no plain text takes to read."""
_SHORTEST = 3
"""Letters that are left of a word at least, where its ending is left out."""
_SATURATION = 2.0
"""How often a word has to be in a stretch for half of what it can add."""
_WORDS = lazy_pattern(WORD)
_LONG_S = "\u017f"
"""The one letter beside those of ASCII that is one of them in another case, and lower itself."""
_ESCAPED = lazy_pattern(r"\\u([0-9a-fA-F]{4})")


def wanted_words(question: str) -> list[Word]:
    """Return the words of *question* to look for in texts as they are, without their endings."""
    from kb_search.analysis import fold, query_terms

    accented = {fold(word): word.lower() for word in _WORDS.findall(question)}
    words: dict[Word, None] = {}
    for term in query_terms(question, ("en",)):
        if term.only_asks:
            continue
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
    """A file, and where it is; *raw* is its path where that is spelt otherwise."""

    source: SourceSpec
    path: str
    raw: str | None
    size: int
    media: str

    @property
    def name(self) -> str:
        return f"{self.source.source_id}/{self.path}"

    def text(self, settings: Settings) -> str | None:
        """Return its letters in lower case, if it is text in UTF-8; nothing of other bytes.

        ``None`` where it has to be opened to tell, as an archive where those are.
        """
        row = medium_of(self.media)
        if not (row.is_text or row.cites_file_lines or self.media == UNKNOWN):
            return None
        try:
            data = self._bytes()
        except OSError:
            return ""
        if self.media == UNKNOWN:
            kind = detect_from_bytes(data[:HEAD_BYTES], self.path)
            if kind is None:
                return None if settings.caps.archives and is_archive(self.path, data) else ""
            if not medium_of(kind.media).is_text:
                return None
        try:
            return None if b"\0" in data[:HEAD_BYTES] else self._shown(data.decode()).lower()
        except UnicodeDecodeError:
            return None

    def _bytes(self) -> bytes:
        path = location(self.source.root, self.path, self.raw)
        follows = self.source.follow_links
        with open_regular(path) if follows else open_inside(path, self.source.root) as opened:
            return opened.read(self.size)

    def _shown(self, text: str) -> str:
        """Return *text* with the letters that its medium may write as signs."""
        if self.media == Media.HTML and "&" in text:
            from html import unescape  # its table of names: not where no page is read

            return unescape(text)
        if self.media == Media.NOTEBOOK:
            return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        return text

    def key(self) -> str | None:
        """Return what tells it from any other file, and from itself before it was changed."""
        try:
            found = os.stat(location(self.source.root, self.path, self.raw))  # noqa: PTH116
        except OSError:
            return None
        state = (self.source.root, self.path, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return text_hash(repr(state))

    def task(self, settings: Settings, clock: Clock) -> Task:
        """Return what a worker is asked that tells what it says."""
        file = SourceFile(
            source_id=self.source.source_id, path=self.path, media=self.media, size=self.size
        )
        return Task(
            root=self.source.root,
            file=file,
            raw_path=self.raw,
            settings=settings,
            indexed_at=clock(),
            follow_links=self.source.follow_links,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How it is told what files say that are no plain text; what is told is kept in *folder*."""

    folder: Path
    settings: Settings
    executor: Callable[[Callable[[Task], str | None], int], Executor[Task, str | None]]
    clock: Clock

    def of(
        self, files: Sequence[_File], asked: Collection[str]
    ) -> Iterator[tuple[_File, str | None]]:
        """Yield what each of *files* says, in lower case; ``None`` where that cannot be told.

        Only those *asked* for, by their names, are opened; of others what is kept is told.
        """
        places = {key: file for file in files if (key := file.key()) is not None}
        untold: list[str] = []
        for key, file in places.items():
            try:
                said = zlib.decompress((self.folder / key).read_bytes()).decode()
            except (OSError, ValueError, zlib.error):
                untold += [key] * (file.name in asked)
            else:
                yield file, said or None
        for key, told in self._open([(key, places[key]) for key in untold]):
            data = (told or "").encode("utf-8", "replace")  # there are halves of characters
            (self.folder / key).write_bytes(zlib.compress(data, 1))
            yield places[key], told

    def _open(self, files: Sequence[tuple[str, _File]]) -> Iterator[tuple[str, str | None]]:
        if not files:
            return
        from kb_app._ingest.making.letters import letters  # knows PDFs and archives

        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(self.executor(letters, len(files))) as executor:
            for done in executor.run(file.task(self.settings, self.clock) for _, file in files):
                yield files[done.index][0], done.value


def forget_told(folder: Path) -> None:
    """Remove what was told of files, none of which waits any more."""
    if folder.exists():
        with suppress(OSError):  # the next run tries again
            remove_folder(folder)


def leave_unsought(
    plans: Sequence[Plan], sought: Sought, most_bytes: int, telling: Telling
) -> Left:
    """Leave for another run what promises less for a question than the best files do.

    These are *most_bytes* together, with those among them that are read already; 0 leaves all
    that is new. What has changed is read anew, and so is what is not told. Of literals, texts are
    left that lack one. Return what is left; the plans of that saw their sources in part.
    """
    if not isinstance(sought, str):
        return _leave(
            plans, {file.name: file for file in _lacking(plans, sought, telling.settings)}
        )
    waiting = {file.name: file for plan in plans for file in _unread(plan)}
    is_little = sum(file.size * _times(file) for file in waiting.values()) <= most_bytes
    if is_little or sum(map(_times, waiting.values())) <= _LEAST_FILES * (most_bytes > 0):
        return Left()
    look = Look(wanted_words(sought))
    costs = dict[str, tuple[int, int]]()
    if look.words:  # where none of it is to be read, too: it says how rare they are
        files = {file.name: file for plan in plans for file in _read(plan)} | waiting
        untold = _look_at(look, costs, [*files.values()], telling, waiting)
        for name in untold if most_bytes else ():
            waiting.pop(name, None)
    promised = look.promises()
    room, spared = most_bytes, _LEAST_FILES if most_bytes else 0
    for name in sorted(promised, key=lambda name: (-promised[name], name)):
        size, times = costs[name]
        room, spared = room - size * times, spared - times
        if not promised[name] or (room < 0 and spared < 0):
            break
        waiting.pop(name, None)
    promising = sum(promised.get(name, 0) > 0 for name in waiting)
    return replace(_leave(plans, waiting), promising=promising, sampling=look.sampling(waiting))


def _lacking(
    plans: Sequence[Plan], needs: Sequence[Sequence[str]], settings: Settings
) -> Iterator[_File]:
    """Yield the new texts that hold, for one of *needs*, none of its literals in any case."""
    lowered = [[literal.lower() for literal in one] for one in needs]
    for file in (file for plan in plans for file in _unread(plan)):
        text = file.text(settings)
        if text is None or _LONG_S in text:
            continue
        if not all(any(literal in text for literal in one) for one in lowered):
            yield file


def _leave(plans: Sequence[Plan], waiting: Mapping[str, _File]) -> Left:
    """Take what is *waiting* out of *plans*."""
    for plan in plans:
        later = {file.path for file in waiting.values() if file.source is plan.source}
        plan.wanted = [want for want in plan.wanted if want.file.path not in later]
        plan.verified = plan.verified and not later
    return Left(files=len(waiting))


def _look_at(
    look: Look,
    costs: dict[str, tuple[int, int]],
    files: Sequence[_File],
    telling: Telling,
    waiting: Collection[str],
) -> list[str]:
    """Count words in *files*, and note their sizes, and how many times what a text takes each does.

    Return the names of those that are not told.
    """
    others, untold = [], []
    for file in files:
        text = file.text(telling.settings)
        if text is None:
            others.append(file)
        else:
            look.at(file.name, file.path, text)
            costs[file.name] = (file.size, 1)
    for file, said in telling.of(others, waiting):
        if said is None:
            untold.append(file.name)
        else:
            look.at(file.name, file.path, said)
            costs[file.name] = (len(said), _times(file))
    return untold


def _unread(plan: Plan) -> Iterator[_File]:
    for want in plan.wanted:
        if want.known is None and _may_wait(want.file.media):
            file = want.file
            yield _File(plan.source, file.path, want.raw_path, file.size, file.media)


def _read(plan: Plan) -> Iterator[_File]:
    for item in plan.items:
        media = item.media or UNKNOWN
        if item.kind is ItemKind.UNCHANGED and _may_wait(media):
            yield _File(plan.source, item.doc_path, None, item.byte_len or 0, media)


def _times(file: _File) -> int:
    """Return how many times as long as a text *file* may take to read, letter for letter."""
    return 1 if medium_of(file.media).is_text else _TIMES.get(file.media, _TIMES_OF_OTHERS)


def _may_wait(media: str) -> bool:
    """Say whether files of *media* say something before a later phase, mostly."""
    return media in _TIMES or not medium_of(media).later
