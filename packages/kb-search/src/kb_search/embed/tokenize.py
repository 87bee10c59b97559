"""Tokens: of a text for the model, and their number for the chunker.

``UnigramTokenizer`` is XLM-R's, exactly: characters take their normal form, white space
at the ends goes and is one space between words, each word with ``▁`` before it is cut on
its own. Text is brought to NFC first, as the model's original normaliser does.
``LibraryTokenizer`` is whatever a ``tokenizer.json`` says, and needs the ``tokenizers``
library, which comes with the extra ``models``.

**The vocabulary** is one file. Loading the 250,002 pieces of XLM-R into that library takes
.6 s, longer than the whole of a cold search. This file is mapped instead: nothing is read
but the pages a query's words fall on, and a query of ten words takes well under a
millisecond. Layout, little-endian: header · slots (u32, a hash table of all beginnings of
pieces, keyed by their CRC-32, linear probing) · ends (u32, where each piece's bytes end) ·
scores (f32) · the pieces' bytes · the pairs of characters that stand side by side in pieces ·
the normal forms of characters as JSON. A slot holds the number + 1 of a piece that begins so,
and whether it is that piece.

``Vocabulary.segment`` gives the ids that ``tokenizers`` gives, ties included: sums in
double precision, shorter pieces first, a later path wins only if it is strictly better,
neighbouring unknown characters are one unknown token.

**Much text** repeats itself. Between two characters that no piece has side by side there is
always a cut, so a word falls into parts that can be cut on their own, and code and Chinese
fall into short ones: a part that came before is remembered. That is exact, in the last bit:
scores are multiples of 2⁻²² below 32, so that sums of them in double precision have no
rounding, and a segmentation cannot depend on where its sum began.

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
from functools import cached_property
from itertools import accumulate, chain
from operator import add
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias
from zlib import crc32

from kb_core.errors import ModelMissing
from kb_search.embed.e5 import Words
from kb_search.embed.packs import INSTALL_TOKENIZERS

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

_HEADER = struct.Struct("<4s8Id")
_MAGIC = b"KBV2"
_N_SLOTS = 1 << 20
_IS_PIECE = 1 << 31
_UNKNOWN_PENALTY = 10.0
"""How far an unknown character scores below the rarest piece; sentencepiece's constant."""
_MAX_NODES = 200_000
_NOWHERE = -1e300


def pack_vocabulary(words: Words) -> bytes:
    """Return the file for *words*."""
    pieces = [piece.decode() for piece in words.pieces]
    beginnings: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        for end in range(1, len(piece)):
            beginnings.setdefault(piece[:end], number)
    beginnings.update((piece, number | _IS_PIECE) for number, piece in enumerate(pieces, 1))
    slots = array("I", bytes(4 * _N_SLOTS))
    for beginning, entry in beginnings.items():
        slot = crc32(beginning.encode()) & (_N_SLOTS - 1)
        while slots[slot]:
            slot = (slot + 1) & (_N_SLOTS - 1)
        slots[slot] = entry
    ends = array("I", accumulate(map(len, words.pieces)))
    scores = array("f", words.scores)
    pairs = "".join(sorted({pair for piece in pieces for pair in map(add, piece, piece[1:])}))
    header = _HEADER.pack(
        _MAGIC,
        len(pieces),
        _N_SLOTS,
        max(map(len, pieces)),
        ends[-1],
        len(pairs.encode()),
        words.first,
        words.last,
        words.unknown,
        min(scores),
    )
    codes, forms = "".join(map(chr, words.normal)), "\0".join(words.normal.values())
    normal = json.dumps([codes, forms], ensure_ascii=False)
    parts = (slots.tobytes(), ends.tobytes(), scores.tobytes(), *words.pieces)
    return b"".join((header, *parts, pairs.encode(), normal.encode()))


class Vocabulary:
    """A packed vocabulary, over bytes or a mapped file; for any thread."""

    def __init__(self, data: Buffer) -> None:
        view = memoryview(data)
        magic, count, n_slots, longest, size, paired, *special, lowest = _HEADER.unpack_from(view)
        if magic != _MAGIC:
            raise ValueError(f"not a packed vocabulary: it begins with {magic!r}")
        self.first, self.last, self.unknown = special
        self._longest, self._unknown_score = longest, lowest - _UNKNOWN_PENALTY
        place = _HEADER.size
        self._slots = view[place : (place := place + 4 * n_slots)].cast("I")
        self._ends = view[place : (place := place + 4 * count)].cast("I")
        self._scores = view[place : (place := place + 4 * count)].cast("f")
        self._bytes = view[place : (place := place + size)]
        self._pairs = view[place : (place := place + paired)]
        self.normal = _read_normal(view[place:])
        self._root, self._n_nodes = _Node(self, b"", 0), 0

    def pieces(self) -> Iterator[tuple[str, float]]:
        """Yield every piece with its score, in the order of their ids."""
        start, blob = 0, bytes(self._bytes)
        for end, score in zip(self._ends, self._scores, strict=True):
            yield blob[start:end].decode(), score
            start = end

    @cached_property
    def pairs(self) -> frozenset[str]:
        """The pairs of characters that stand side by side in some piece."""
        pairs = str(self._pairs, "utf-8")
        return frozenset(map(add, pairs[::2], pairs[1::2]))

    def segment(self, word: str) -> list[int]:
        """Return the ids of the best segmentation of *word*."""
        n, root, longest = len(word), self._root, self._longest
        scores, starts, ids = [_NOWHERE] * (n + 1), [0] * (n + 1), [self.unknown] * (n + 1)
        scores[0] = 0.0
        for start, letter in enumerate(word):
            base, first = scores[start], root[letter]
            if first is None or first.piece is None:
                score = base + self._unknown_score
                if score > scores[start + 1]:
                    scores[start + 1], starts[start + 1], ids[start + 1] = (
                        score,
                        start,
                        self.unknown,
                    )
            node, end = root, start
            for further in word[start : start + longest]:
                child = node[further]
                if child is None:
                    break
                node = child
                end += 1
                if node.piece is not None and (score := node.score + base) > scores[end]:
                    scores[end], starts[end], ids[end] = score, start, node.piece
        return self._walk_back(starts, ids)

    def _walk_back(self, starts: list[int], ids: list[int]) -> list[int]:
        path: list[int] = []
        end = len(starts) - 1
        while end:
            if not (path and path[-1] == ids[end] == self.unknown):
                path.append(ids[end])
            end = starts[end]
        return path[::-1]

    def child(self, key: bytes, code: int) -> _Node | None:
        """Return the node of a beginning, by its bytes and their CRC-32, if there is such."""
        self._n_nodes += 1
        if self._n_nodes > _MAX_NODES:
            # Replaced, not cleared: another thread may be walking on the old one.
            self._root, self._n_nodes = _Node(self, b"", 0), 0
        slots, ends, mask = self._slots, self._ends, len(self._slots) - 1
        slot = code & mask
        while entry := slots[slot]:
            number = (entry & ~_IS_PIECE) - 1
            begin = ends[number - 1] if number else 0
            if self._bytes[begin : min(ends[number], begin + len(key))] == key:
                return _Node(self, key, code, number if entry & _IS_PIECE else None)
            slot = (slot + 1) & mask
        return None

    def score(self, piece: int) -> float:
        """Return the score of a piece."""
        return self._scores[piece]

    def text(self, piece: int) -> str:
        """Return the letters of a piece."""
        begin = self._ends[piece - 1] if piece else 0
        return str(self._bytes[begin : self._ends[piece]], "utf-8")


class _Node(dict[str, "_Node | None"]):
    """A beginning of pieces, and what it becomes by another character, found when asked for."""

    __slots__ = ("_code", "_key", "_vocabulary", "piece", "score")

    def __init__(
        self, vocabulary: Vocabulary, key: bytes, code: int, piece: int | None = None
    ) -> None:
        super().__init__()
        self._vocabulary, self._key, self._code, self.piece = vocabulary, key, code, piece
        self.score = 0.0 if piece is None else vocabulary.score(piece)

    def __missing__(self, letter: str) -> _Node | None:
        more = letter.encode()
        child = self._vocabulary.child(self._key + more, crc32(more, self._code))
        self[letter] = child
        return child


def _read_normal(text: Buffer) -> dict[int, str]:
    codes, forms = json.loads(bytes(text))
    return dict(zip(map(ord, codes), forms.split("\0"), strict=True))


_SURROGATE = re.compile("[\ud800-\udfff]")
_FEW_LETTERS = 2_000
"""So many are cut at once: less work than reading the pairs."""

_MAX_PARTS = 100_000

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

    def pieces(self, ids: Sequence[int], /) -> list[str]:
        """Return the letters of each token, with a space before those that begin a word."""
        ...


class UnigramTokenizer:
    """XLM-R's tokenizer over a packed vocabulary; for any thread."""

    frame = (1, 1)

    def __init__(self, vocabulary: Vocabulary, window: int) -> None:
        self._vocabulary = vocabulary
        self._window = window
        self._known: dict[str, list[int]] = {}
        """The ids of parts that came before, once there was much text."""
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

    def pieces(self, ids: Sequence[int], /) -> list[str]:
        return [self._vocabulary.text(number).replace("▁", " ") for number in ids]

    def _words(self, text: str) -> list[str]:
        normal = _clean(text).translate(self._vocabulary.normal)
        return [f"▁{word}" for word in normal.split(" ") if word]

    def _segment(self, words: list[str]) -> Iterable[list[int]]:
        if not self._known and sum(map(len, words)) <= _FEW_LETTERS:
            return map(self._vocabulary.segment, words)
        return map(self._by_parts, words)

    def _by_parts(self, word: str) -> list[int]:
        pairs, unknown, at, ids = self._vocabulary.pairs, self._vocabulary.unknown, 0, list[int]()
        for end, pair in enumerate(map(add, word, word[1:]), 1):
            if pair not in pairs:
                ids += self._part(word[at:end])
                at = end
        ids += self._part(word[at:])
        if ids.count(unknown) > 1:
            # In neighbouring parts, they are one unknown token.
            pairwise = zip(ids, (-1, *ids[:-1]), strict=True)
            ids = [n for n, before in pairwise if not n == before == unknown]
        return ids

    def _part(self, part: str) -> list[int]:
        ids = self._known.get(part)
        if ids is None:
            ids = self._vocabulary.segment(part)
            if len(part) <= _MAX_LETTERS:
                if len(self._known) >= _MAX_PARTS:
                    self._known = {}  # replaced, not cleared: for the sake of other threads
                self._known[part] = ids
        return ids


class LibraryTokenizer:
    """The tokenizer of a ``tokenizer.json``; for any thread.

    *cuts_words* promises that it never joins what a space, tab or newline parts, and makes
    nothing of these themselves, as BERT's do.
    """

    def __init__(self, file: Path, window: int, *, cuts_words: bool) -> None:
        tokenizers = _import_tokenizers()
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

    def pieces(self, ids: Sequence[int], /) -> list[str]:
        # BERT's vocabularies mark what goes on, the others what begins.
        texts = [self._library.id_to_token(number) or "" for number in ids]
        if self.separators:
            return [text[2:] if text.startswith("##") else f" {text}" for text in texts]
        return [re.sub("[▁Ġ]", " ", text) for text in texts]


def _clean(text: str) -> str:
    """Return *text* in NFC; half of a surrogate pair, which is no character, becomes U+FFFD."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))


def _import_tokenizers() -> ModuleType:
    try:
        import tokenizers  # costs 10 ms, and who only looks at packs needs none
    except ImportError as error:
        raise ModelMissing(
            "this embedding model needs the library 'tokenizers', which is not installed",
            hint=f"{INSTALL_TOKENIZERS}, or set [embedding] model",
        ) from error
    return tokenizers


def _frame(library: tokenizers.Tokenizer) -> tuple[int, int]:
    """Return how many special tokens *library* puts before and after a text."""
    marks = library.encode("a").special_tokens_mask
    if all(marks):
        return (len(marks), 0)
    return (marks.index(0), marks[::-1].index(0))


_WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_MAX_WORDS = 200_000
_MAX_LETTERS = 64
"""A longer word, a paragraph of Chinese, hardly comes twice: not remembered. Addresses and links
do, and cost most: the work grows with the letters of a word."""


class WordCounter:
    """Counts by words, over a tokenizer that has separators; for any thread."""

    adds_up = True

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
        known, words = self._known, set(chain.from_iterable(texts))
        new = list(words.difference(known))
        counts = dict(zip(new, self._tokenizer.lengths(new), strict=True))
        short = {word: n for word, n in counts.items() if len(word) <= _MAX_LETTERS}
        if len(known) + len(short) > _MAX_WORDS:
            # Replaced, not cleared: another thread may be counting with the old one.
            known = self._known = {word: known[word] for word in words.difference(new)}
        known.update(short)
        every = known
        if len(short) < len(counts):
            every = {word: known[word] for word in words.difference(new)} | counts
        return [sum(map(every.__getitem__, text)) for text in texts]


class TextCounter:
    """Counts whole texts, for tokenizers that may join what white space parts."""

    adds_up = False

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

    adds_up = False

    def count(self, text: str, /) -> int:
        """Return the estimate for *text*."""
        return -(-len(text.strip().encode("utf-8", "replace")) // 3)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the estimate for each text."""
        return list(map(self.count, texts))


def counter_of(tokenizer: Tokenizer) -> WordCounter | TextCounter:
    """Return the fastest counter that is exact for *tokenizer*."""
    return WordCounter(tokenizer) if tokenizer.separators else TextCounter(tokenizer)
