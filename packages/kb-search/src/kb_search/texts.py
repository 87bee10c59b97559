"""The texts of an index as they are looked through: kept in memory, and left out by their words.

What is read once is kept, as far as there is room, so that a process which answers again
reads nothing. Texts that are kept stand one after the other in batches, since a call for each
of a thousand files costs more than looking through them.

What is not kept is left out where the index says that it lacks a literal: every word of a
document is a term of one of its chunks, so a document whose terms hold no part of a literal
does not have it. That is so of documents that are marked as ``WHOLE`` when they are
published; any other is always looked through.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence, Set as AbstractSet
from heapq import nsmallest
from itertools import pairwise
from operator import attrgetter
from string import ascii_letters, digits
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kb_core.values import lazy_pattern
from kb_search.analysis import cjk_runs, fold

if TYPE_CHECKING:
    from kb_core.records import DocumentRecord
    from kb_core.stored import StoredText, TextBatch

__all__ = ["WHOLE", "Shelf", "TextId", "Word", "batch_of", "is_whole", "words_of"]

TextId: TypeAlias = tuple[int, int]
"""The key of a document, and the sequence at which its text was published."""

WHOLE = "whole"
"""The state of a text of which every word is a term, and every pair of CJK letters."""

_ROOM = 64 << 20
_AT_ONCE = 400
"""Texts that are read in advance by one call."""
_BATCH = 1 << 18
"""Bytes of a batch of texts, unless one alone has more."""
_LONGEST, _LONGEST_PLAIN = 60, 255
_LONG_WORD = lazy_pattern(rf"[^\W_](?:[^\W_]|['’]){{{_LONGEST - 1},}}")
"""Terms are cut at 255 bytes, which are fewer characters where they are not of ASCII.

What is joined by apostrophes is one word.
"""
_INSIDE = lazy_pattern(r"\w\w")
_JOINED = lazy_pattern(r"[\w'’]*")
_JOINED_BEFORE = lazy_pattern(r"[\w'’]*\Z")
# Scripts whose letters are folded one by one, whatever stands beside them.
_RUN = lazy_pattern(
    "[0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u0373"
    "\u0376\u0377\u0386\u0388-\u03ff\u0400-\u0481\u048a-\u052f]+"
)
_SHORTEST = 2
_NAME = lazy_pattern(r"\w+")
_PARTING = frozenset(map(chr, range(128))) - frozenset("'") - frozenset(ascii_letters + digits)
"""Signs that part two words; an apostrophe may be within one."""


def is_whole(doc: DocumentRecord) -> bool:
    """Say whether the index holds every word of *doc* as it stands in the text."""
    text = doc.text
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        # Letters and their marks are words all the same, but for those that are told by pairs.
        apart = any(unicodedata.combining(text[one.start]) for one in doc.chunks)
        if apart or cjk_runs(text) or cjk_runs(unicodedata.normalize("NFKC", text)):
            return False
    return not _has_long_word(text) and all(
        _holds_words(text, (a.start, a.end), (b.start, b.end)) for a, b in pairwise(doc.chunks)
    )


def _has_long_word(text: str) -> bool:
    """Say whether a word may be too long for a term."""
    # No word holds white space, and hardly any text holds so much without any.
    solids = text.split()
    if max(map(len, solids), default=0) < _LONGEST:
        return False
    long = (solid for solid in solids if len(solid) >= _LONGEST)
    words = (word for solid in long for word in _LONG_WORD.findall(solid))
    return any(len(word) > _LONGEST_PLAIN or not word.isascii() for word in words)


def _holds_words(text: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Say whether a word at the end of a chunk, or at the start of the next, is whole in one."""
    end, start = one[1], other[0]
    if 0 < end < len(text) and _INSIDE.match(text, end - 1):
        before = _JOINED_BEFORE.search(text, max(0, end - _LONGEST_PLAIN), end)
        if before is None or before.start() < start:
            return False
    if 0 < start < len(text) and _INSIDE.match(text, start - 1):
        after = _JOINED.match(text, start)
        return after is not None and after.end() <= end
    return True


class Word(NamedTuple):
    """A part of a literal that is in a word of every text that has it."""

    text: str
    is_begun: bool
    """Whether a word begins with it."""
    is_ended: bool
    """Whether a word ends with it."""


def words_of(literal: str) -> tuple[list[list[Word]], list[str]]:
    """Return what terms of a text with *literal* have in them: words, and pairs of CJK.

    Words by the names that they are parts of: what is joined by ``_`` stands in one passage.
    """
    spelled = unicodedata.normalize("NFC", literal)
    names = []
    for name in _NAME.finditer(spelled):
        words = [
            Word(
                fold(run[0]),
                is_begun=spelled[run.start() - 1 : run.start()] in _PARTING,
                is_ended=spelled[run.end() : run.end() + 1] in _PARTING,
            )
            for run in _RUN.finditer(spelled, *name.span())
            if len(run[0]) >= _SHORTEST
        ]
        names += [words] if words else []
    pairs = [
        run[at : at + 2]
        for run in cjk_runs(literal)
        if unicodedata.is_normalized("NFKC", run)
        for at in range(len(run) - 1)
    ]
    return names, list(dict.fromkeys(pairs))


class _Packed(NamedTuple):
    """A batch, and which texts are in it, in its order."""

    batch: TextBatch
    ids: tuple[TextId, ...]
    turn: int
    """Those that were packed before have lower ones."""


class Shelf:
    """Texts by id, as far as there is room; may be shared by snapshots and threads."""

    def __init__(self, room: int = _ROOM, filled: int = _BATCH) -> None:
        self.room = room
        """Bytes of all texts, at most."""
        self._filled = filled
        self._lock = threading.Lock()
        self._loose: dict[TextId, StoredText] = {}
        self._packed: list[_Packed] = []
        self._here: set[TextId] = set()
        self._size = 0
        self._asked = self._turn = 0
        self._is_full = False

    def put(self, key: TextId, text: StoredText, *, instead: bool = False) -> None:
        """Keep a text, if there is room; *instead* of those that were put first, if there is none.

        Not of more than there is room for: nothing of what is there would be left.
        """
        with self._lock:
            instead = instead and len(text.data) <= self.room
            while instead and self._packed and self._size + len(text.data) > self.room:
                oldest = min(self._packed, key=attrgetter("turn"))
                self._packed.remove(oldest)
                self._here -= {*oldest.ids}
                self._size -= sum(end - start for _, start, end in oldest.batch.spans)
            self._is_full = self._size + len(text.data) > self.room
            if key not in self._here and not self._is_full:
                self._loose[key] = text
                self._here.add(key)
                self._size += len(text.data)

    def keep_only(self, keys: Iterable[TextId]) -> None:
        """Let go of every text but these."""
        with self._lock:
            if not self._here or not (gone := self._here - set(keys)):
                return  # nothing is here at first, and to go through all keys takes a while
            self._unpack([each for each in self._packed if not gone.isdisjoint(each.ids)])
            for key in gone:
                self._size -= len(self._loose.pop(key).data)
            self._here -= gone
            self._is_full = False

    def lacks(self, keys: AbstractSet[TextId]) -> AbstractSet[TextId]:
        """Return those of *keys* that have to be read."""
        return keys - self._here

    def worth_reading(self, missing: Collection[TextId], mean: float) -> Sequence[TextId]:
        """Return what of that to read in advance: from the second time on a part of it.

        A process that asks once reads nothing in vain, and none waits long for it. Nothing
        where there is no room for all, by the *mean* size of a text.
        """
        self._asked += 1
        wanted = len(missing) * mean
        if self._asked == 1 or self._is_full or wanted > self.room - self._size:
            return ()
        return nsmallest(_AT_ONCE, missing)

    def batches(self, keys: AbstractSet[TextId]) -> list[TextBatch]:
        """Return those of *keys* that are here, by form and document."""
        with self._lock:
            self._pack()
            packed = list(self._packed)
        return [batch for each in packed for batch in _of(each, keys)]

    def _pack(self) -> None:
        """Put what is loose into batches, with what stands in those that are hardly filled."""
        if not self._loose:
            return
        self._unpack([each for each in self._packed if len(each.batch.data) < self._filled // 2])
        by_form: dict[str, list[TextId]] = {}
        self._turn += 1
        for key in sorted(self._loose):
            by_form.setdefault(self._loose[key].form, []).append(key)
        for keys in by_form.values():
            for part in self._parts(keys):
                texts = [self._loose[key] for key in part]
                self._packed.append(_Packed(batch_of(texts), tuple(part), self._turn))
        self._packed.sort(key=lambda each: (each.batch.form, each.ids))
        self._loose = {}

    def _parts(self, keys: Sequence[TextId]) -> Iterator[list[TextId]]:
        part: list[TextId] = []
        size = 0
        for key in keys:
            more = len(self._loose[key].data)
            if part and size + more > self._filled:
                yield part
                part, size = [], 0
            part.append(key)
            size += more
        yield part

    def _unpack(self, which: Sequence[_Packed]) -> None:
        for each in which:
            self._packed.remove(each)
            self._loose.update(zip(each.ids, each.batch.texts(), strict=True))


def batch_of(texts: Sequence[StoredText]) -> TextBatch:
    """Return *texts*, all of one form, one after the other."""
    from kb_core.stored import TextBatch  # a search by words does not need it

    pieces, spans, at = [], [], 0
    for key, data, _ in texts:
        is_open = len(texts) > 1 and data and not data.endswith(b"\n")
        pieces.append(data + b"\n" if is_open else data)
        spans.append((key, at, at + len(data)))
        at += len(pieces[-1])
    return TextBatch(b"".join(pieces), texts[0].form, spans)


def _of(packed: _Packed, keys: AbstractSet[TextId]) -> Iterator[TextBatch]:
    """Yield the texts of a batch that are asked for: together, if they are half of it."""
    batch, ids, _ = packed
    if all(key in keys for key in ids):
        yield batch
        return
    spans = [span for key, span in zip(ids, batch.spans, strict=True) if key in keys]
    part = batch._replace(spans=spans)
    if 2 * sum(end - start for _, start, end in spans) >= len(batch.data):
        yield part
    else:
        yield from (batch_of([text]) for text in part.texts())
