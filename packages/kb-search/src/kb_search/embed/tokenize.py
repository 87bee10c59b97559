"""Tokens: of a text for the model, and their number for the chunker.

``UnigramTokenizer`` is XLM-R's, exactly: characters take their normal form, white space
at the ends goes and is one space between words, each word with ``▁`` before it is cut on
its own. It segments by itself, and hands over to the ``tokenizers`` library, which needs
.6 s to load and is then four times as fast, once it has done about that much work.
``LibraryTokenizer`` is whatever a ``tokenizer.json`` says.

Text is brought to NFC first, as the model's original normaliser does. Since words are cut
one by one, the tokens of a text are the sum of those of its words: ``WordCounter`` lives
on that.

**The vocabulary** is one file. Loading the 250,002 pieces of XLM-R into the ``tokenizers``
library takes .6 s, longer than the whole of a cold search. This file is mapped instead:
nothing is read but the pages a query's words fall on, and a query of ten words takes well
under a millisecond. Layout, little-endian: header · slots (u32, a hash table of piece
numbers + 1, keyed by the piece's CRC-32, linear probing) · ends (u32, where each piece's
bytes end) · scores (f32) · the pieces' bytes · the normal forms of characters as JSON.

``Vocabulary.segment`` gives the ids that ``tokenizers`` gives, ties included: sums in
double precision, shorter pieces first, a later path wins only if it is strictly better,
neighbouring unknown characters are one unknown token.

**Counting** is fast enough to ask again for every line of a corpus. Where a tokenizer cuts
at white space, the count of a text is the sum over its words, and words repeat: what was
counted once is remembered, so that prose costs two dictionary look-ups a word. Counts are
the tokenizer's, without special tokens and prefix; white space at the ends counts nothing.
"""

from __future__ import annotations

import json
import re
import struct
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias
from zlib import crc32

from kb_core.errors import ModelMissing
from kb_search.embed.e5 import Words

if TYPE_CHECKING:
    import tokenizers

__all__ = [
    "Buffer",
    "EstimatingCounter",
    "LibraryTokenizer",
    "TextCounter",
    "Tokenizer",
    "UnigramTokenizer",
    "Vocabulary",
    "WordCounter",
    "counter_of",
    "pack_vocabulary",
]

Buffer: TypeAlias = bytes | memoryview

_HEADER = struct.Struct("<4s7Id")
_MAGIC = b"KBV1"
_N_SLOTS = 1 << 20
_UNKNOWN_PENALTY = 10.0
"""How far an unknown character scores below the rarest piece; sentencepiece's constant."""


def pack_vocabulary(words: Words) -> bytes:
    """Return the file for *words*."""
    slots = array("I", bytes(4 * _N_SLOTS))
    for number, piece in enumerate(words.pieces, 1):
        slot = crc32(piece) & (_N_SLOTS - 1)
        while slots[slot]:
            slot = (slot + 1) & (_N_SLOTS - 1)
        slots[slot] = number
    ends = array("I", accumulate(map(len, words.pieces)))
    scores = array("f", words.scores)
    longest = max(len(piece.decode()) for piece in words.pieces)
    header = _HEADER.pack(
        _MAGIC,
        len(words.pieces),
        _N_SLOTS,
        longest,
        ends[-1],
        words.first,
        words.last,
        words.unknown,
        min(scores),
    )
    codes, forms = "".join(map(chr, words.normal)), "\0".join(words.normal.values())
    normal = json.dumps([codes, forms], ensure_ascii=False)
    return b"".join(
        (header, slots.tobytes(), ends.tobytes(), scores.tobytes(), *words.pieces, normal.encode())
    )


class Vocabulary:
    """A packed vocabulary, over bytes or a mapped file; immutable, hence for any thread."""

    def __init__(self, data: Buffer) -> None:
        view = memoryview(data)
        magic, count, n_slots, longest, size, *special, lowest = _HEADER.unpack_from(view)
        if magic != _MAGIC:
            raise ValueError(f"not a packed vocabulary: it begins with {magic!r}")
        self.first, self.last, self.unknown = special
        self._longest, self._unknown_score = longest, lowest - _UNKNOWN_PENALTY
        place = _HEADER.size
        self._slots = view[place : (place := place + 4 * n_slots)].cast("I")
        self._ends = view[place : (place := place + 4 * count)].cast("I")
        self._scores = view[place : (place := place + 4 * count)].cast("f")
        self._bytes = view[place : (place := place + size)]
        self.normal = _read_normal(view[place:])

    def pieces(self) -> Iterator[tuple[str, float]]:
        """Yield every piece with its score, in the order of their ids."""
        start, blob = 0, bytes(self._bytes)
        for end, score in zip(self._ends, self._scores, strict=True):
            yield blob[start:end].decode(), score
            start = end

    def segment(self, word: str) -> list[int]:
        """Return the ids of the best segmentation of *word*, which begins with ``▁``."""
        letters = [letter.encode() for letter in word]
        n = len(letters)
        scores, starts, ids = [-1e300] * (n + 1), [0] * (n + 1), [0] * (n + 1)
        scores[0] = 0.0
        for start in range(n):
            base = scores[start]
            if self._extend(letters, start, (scores, starts, ids)):
                continue
            if base + self._unknown_score > scores[start + 1]:
                scores[start + 1] = base + self._unknown_score
                starts[start + 1], ids[start + 1] = start, self.unknown
        return self._walk_back(starts, ids)

    def _extend(
        self,
        letters: list[bytes],
        start: int,
        best: tuple[list[float], list[int], list[int]],
    ) -> bool:
        """Try the pieces that begin at *start*; tell whether the first letter is one."""
        scores, starts, ids = best
        slots, ends, mask = self._slots, self._ends, len(self._slots) - 1
        base, key, code, known = scores[start], b"", 0, False
        for end in range(start + 1, min(len(letters), start + self._longest) + 1):
            letter = letters[end - 1]
            key += letter
            code = crc32(letter, code)
            slot = code & mask
            while number := slots[slot]:
                begin = ends[number - 2] if number > 1 else 0
                if self._bytes[begin : ends[number - 1]] == key:
                    score = self._scores[number - 1] + base
                    if score > scores[end]:
                        scores[end], starts[end], ids[end] = score, start, number - 1
                    known = known or end == start + 1
                    break
                slot = (slot + 1) & mask
        return known

    def _walk_back(self, starts: list[int], ids: list[int]) -> list[int]:
        path: list[int] = []
        end = len(starts) - 1
        while end:
            if not (path and path[-1] == ids[end] == self.unknown):
                path.append(ids[end])
            end = starts[end]
        return path[::-1]


def _read_normal(text: Buffer) -> dict[int, str]:
    codes, forms = json.loads(bytes(text))
    return dict(zip(map(ord, codes), forms.split("\0"), strict=True))


_SURROGATE = re.compile("[\ud800-\udfff]")
_OWN_WORK = 150_000
"""Characters segmented before the library is loaded, which takes as long."""

_LETTERS_PER_TOKEN = 64
"""No text needs more letters than this to fill a token of the window, but padding."""


class Tokenizer(Protocol):
    """Cuts text into the ids of a model's pieces."""

    @property
    def separators(self) -> str:
        """Characters between which a text may be counted part by part; perhaps none."""
        ...

    @property
    def frame(self) -> tuple[int, int]:
        """How many special tokens stand before and after the tokens of a text."""
        ...

    def encode(self, texts: Sequence[str], /) -> list[list[int]]:
        """Return the ids of each text, special tokens included, cut to the window."""
        ...

    def lengths(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each text, without special tokens, uncut."""
        ...


class UnigramTokenizer:
    """XLM-R's tokenizer over a packed vocabulary; for any thread."""

    frame = (1, 1)

    def __init__(self, vocabulary: Vocabulary, window: int) -> None:
        self._vocabulary = vocabulary
        self._window = window
        self._own_work = _OWN_WORK
        self._library: tokenizers.Tokenizer | None = None
        self._lock = Lock()
        spaces = (chr(code) for code, form in vocabulary.normal.items() if form == " ")
        self.separators = " " + "".join(spaces)

    def encode(self, texts: Sequence[str], /) -> list[list[int]]:
        """Return the ids of each text between ``<s>`` and ``</s>``, cut to the window."""
        room = self._window - 2
        letters = self._window * _LETTERS_PER_TOKEN
        words = [self._words(text.strip(self.separators)[:letters]) for text in texts]
        segments = iter(self._segment([word for text in words for word in text]))
        first, last = self._vocabulary.first, self._vocabulary.last
        encoded = []
        for text in words:
            ids = [piece for _ in text for piece in next(segments)]
            encoded.append([first, *ids[:room], last])
        return encoded

    def lengths(self, texts: Sequence[str], /) -> list[int]:
        words = [self._words(text) for text in texts]
        segments = iter(self._segment([word for text in words for word in text]))
        return [sum(len(next(segments)) for _ in text) for text in words]

    def _words(self, text: str) -> list[str]:
        normal = _clean(text).translate(self._vocabulary.normal)
        return [f"▁{word}" for word in normal.split(" ") if word]

    def _segment(self, words: list[str]) -> Iterable[list[int]]:
        if self._library is None:
            work = sum(map(len, words))
            if work <= self._own_work:
                self._own_work -= work
                return map(self._vocabulary.segment, words)
        encodings = self._loaded().encode_batch_fast(words, add_special_tokens=False)
        return (encoding.ids for encoding in encodings)

    def _loaded(self) -> tokenizers.Tokenizer:
        with self._lock:
            if self._library is None:
                self._library = _load_unigram(self._vocabulary)
            return self._library


class LibraryTokenizer:
    """The tokenizer of a ``tokenizer.json``; for any thread.

    *cuts_words* promises that it never joins what a space, tab or newline parts, and makes
    nothing of these themselves, as BERT's do.
    """

    def __init__(self, file: Path, window: int, *, cuts_words: bool) -> None:
        import tokenizers  # costs 10 ms, and who only looks at packs needs none

        try:
            library = tokenizers.Tokenizer.from_file(str(file))
        # The library raises Exception itself, for a missing file as for a malformed one.
        except Exception as error:
            raise ModelMissing(f"{str(file)!r} is not a tokenizer: {error}") from error
        # Files carry the padding and the truncation of whoever saved them.
        library.no_padding()
        library.no_truncation()
        self._library = library
        self._room = window - library.num_special_tokens_to_add(is_pair=False)
        self.frame = _frame(library)
        self._letters = window * _LETTERS_PER_TOKEN
        self.separators = " \t\n\r" if cuts_words else ""

    def encode(self, texts: Sequence[str], /) -> list[list[int]]:
        """Return the ids of each text with its special tokens, cut to the window."""
        cut = [_clean(text.strip()[: self._letters]) for text in texts]
        encodings = self._library.encode_batch(cut, add_special_tokens=False)
        for encoding in encodings:
            encoding.truncate(self._room)
        return [self._library.post_process(encoding).ids for encoding in encodings]

    def lengths(self, texts: Sequence[str], /) -> list[int]:
        clean = [_clean(text) for text in texts]
        encodings = self._library.encode_batch_fast(clean, add_special_tokens=False)
        return list(map(len, encodings))


def _clean(text: str) -> str:
    """Return *text* in NFC; half of a surrogate pair, which is no character, becomes U+FFFD."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))


def _frame(library: tokenizers.Tokenizer) -> tuple[int, int]:
    """Return how many special tokens *library* puts before and after a text."""
    marks = library.encode("a").special_tokens_mask
    if all(marks):
        return (len(marks), 0)
    return (marks.index(0), marks[::-1].index(0))


def _load_unigram(vocabulary: Vocabulary) -> tokenizers.Tokenizer:
    import tokenizers
    from tokenizers import models, pre_tokenizers

    pieces = list(vocabulary.pieces())
    library = tokenizers.Tokenizer(models.Unigram(pieces, vocabulary.unknown))
    # Words come with their mark; nothing is left to be cut.
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    return library


_WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_MAX_WORDS = 200_000
_MAX_LETTERS = 64
"""A longer word, a paragraph of Chinese, hardly comes twice: not remembered. Addresses and links
do, and cost most: the work grows with the letters of a word."""


class WordCounter:
    """Counts by words, over a tokenizer that has separators; for any thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}
        separators = tokenizer.separators
        # What str.split would cut at, and the tokenizer does not.
        odd = set(_WHITE_SPACE) - set(separators)
        self._odd = re.compile(f"[{re.escape(''.join(sorted(odd)))}]")
        self._separators = re.compile(f"[{re.escape(separators)}]+")

    def count(self, text: str, /) -> int:
        """Return the number of tokens of *text*."""
        words = self._split(text)
        try:
            return sum(map(self._known.__getitem__, words))
        except KeyError:
            return self._count_new([words])[0]

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each text; faster than one by one."""
        return self._count_new([self._split(text) for text in texts])

    def _split(self, text: str) -> list[str]:
        if self._odd.search(text):
            return [word for word in self._separators.split(text) if word]
        return text.split()

    def _count_new(self, texts: list[list[str]]) -> list[int]:
        known = self._known
        found = {word: known.get(word) for word in set(chain.from_iterable(texts))}
        new = [word for word, n in found.items() if n is None]
        counts = dict(zip(new, self._tokenizer.lengths(new), strict=True))
        every = {word: n for word, n in found.items() if n is not None} | counts
        totals = [sum(map(every.__getitem__, words)) for words in texts]
        self._remember(counts)
        return totals

    def _remember(self, counts: dict[str, int]) -> None:
        short = {word: n for word, n in counts.items() if len(word) <= _MAX_LETTERS}
        if len(self._known) + len(short) > _MAX_WORDS:
            # Replaced, not cleared: another thread may be counting with the old one.
            self._known = {}
        self._known.update(short)


class TextCounter:
    """Counts whole texts, for tokenizers that may join what white space parts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str, /) -> int:
        """Return the number of tokens of *text*."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each text."""
        return self._tokenizer.lengths([text.strip() for text in texts])


class EstimatingCounter:
    """Estimates tokens where there is no model: one for three bytes of UTF-8.

    English takes a token for four letters and more, Korean, Japanese and Chinese one for
    one to two characters of three bytes, so that this is generous for prose; source code
    comes out right, and only strings of digits and signs take up to twice as many.
    """

    def count(self, text: str, /) -> int:
        """Return the estimate for *text*."""
        return -(-len(text.strip().encode("utf-8", "replace")) // 3)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the estimate for each text."""
        return list(map(self.count, texts))


def counter_of(tokenizer: Tokenizer) -> WordCounter | TextCounter:
    """Return the fastest counter that is exact for *tokenizer*."""
    return WordCounter(tokenizer) if tokenizer.separators else TextCounter(tokenizer)
