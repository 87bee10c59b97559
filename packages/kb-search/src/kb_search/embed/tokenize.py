"""Tokens: of a text for the model, and their number for the chunker.

``UnigramTokenizer`` is XLM-R's, exactly: characters take their normal form, white space
at the ends goes and is one space between words, each word with ``▁`` before it is cut on
its own. Text is brought to NFC first, as the model's original normaliser does.
``LibraryTokenizer`` is whatever a ``tokenizer.json`` says, and needs the ``tokenizers``
library, which comes with the extra ``models``.

**Much text** repeats itself. Between two characters that no piece has side by side there is
always a cut, so a word falls into parts that can be cut on their own, and code and Chinese
fall into short ones: a part that came before is remembered. Where words are only counted, one
pattern parts plain ones into runs of letters and of other signs first, which are remembered, too.
That is exact, in the last bit:
scores are multiples of 2⁻²² below 32, so that sums of them in double precision have no
rounding, and a segmentation cannot depend on where its sum began. Of very many words that are
only counted, a list of numbers, each begins like the one before it once they are sorted.

**Counting** is fast enough to ask again for every line of a corpus. Where a tokenizer cuts
at white space, the count of a text is the sum over its words, and words repeat: what was
counted once is remembered, so that prose costs two dictionary look-ups a word. Counts are
the tokenizer's, without special tokens and prefix; white space at the ends counts nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import add
from pathlib import Path
from string import ascii_letters
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from kb_core.errors import ModelMissing
from kb_core.values import lazy_pattern
from kb_search.embed.packs import INSTALL_TOKENIZERS
from kb_search.embed.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tokenizers

__all__ = [
    "EstimatingCounter",
    "LibraryTokenizer",
    "TextCounter",
    "Tokenizer",
    "UnigramTokenizer",
    "WordCounter",
    "counter_of",
]

_SURROGATE = lazy_pattern("[\ud800-\udfff]")
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
        self._counts: dict[str, int] = {}
        """How many they are; and those of runs."""
        spaces = (chr(code) for code, form in vocabulary.normal.items() if form == " ")
        self.separators = " " + "".join(spaces)
        others = [chr(code) for code in (32, *vocabulary.normal) if code < _ASCII]
        self._changes = re.compile(f"[{re.escape(''.join(others))}]")
        """What of ASCII is written otherwise in a vocabulary, or parts words."""
        # Those that are none of these, and not all but these, which takes long to compile.
        plain = (chr(code) for code in range(_ASCII) if chr(code) not in others)
        self._is_plain = re.compile(f"[{re.escape(''.join(plain))}]+").fullmatch

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
        if not self._counts and sum(map(len, texts)) <= _FEW_LETTERS:
            words = [self._words(text) for text in texts]
            return [sum(len(self._vocabulary.segment(word)) for word in text) for text in words]
        if all(texts) and self._is_plain("".join(texts)):
            runs = [self._find(f"▁{text}") for text in texts]
        else:
            runs = [self._runs(text) for text in texts]
        counts = self._counts_of(set(chain.from_iterable(runs)))
        return [sum(map(counts.__getitem__, text)) for text in runs]

    def _runs(self, text: str) -> list[str]:
        """Return what a text falls into: a plain word its letters and signs, else its words."""
        return self._find(f"▁{text}") if self._is_plain(text) else self._words(text)

    def _counts_of(self, runs: set[str]) -> Mapping[str, int]:
        """Return how many tokens each of *runs* is, perhaps among others."""
        known = self._counts
        if not (new := runs.difference(known)):
            return known
        parts = {run: self._parts(run) for run in new}
        distinct = sorted(set(chain.from_iterable(parts.values())))
        counts = {part: known[part] for part in distinct if part in known}
        distinct = [part for part in distinct if part not in counts]
        counts |= zip(distinct, self._vocabulary.counts(distinct), strict=True)
        counts |= {run: sum(map(counts.__getitem__, its)) for run, its in parts.items()}
        short = {part: n for part, n in counts.items() if len(part) <= _MAX_LETTERS}
        every = {run: known[run] for run in runs.difference(new)} | counts
        if len(known) + len(short) > _MAX_PARTS:
            # Replaced, not cleared: another thread may be counting with the old one.
            known = self._counts = {}
        known.update(short)
        return every

    @cached_property
    def _find(self) -> Callable[[str], list[str]]:
        """Finds runs of letters and of other signs in a word that is plain.

        Where some piece has a sign and a letter side by side, or the sign may be unknown, they
        stay together; elsewhere there is always a cut, and no unknown token at either side.
        """
        pairs, holds = self._vocabulary.pairs, self._vocabulary.holds
        signs = [sign for sign in (*map(chr, range(_ASCII)), "▁") if sign not in ascii_letters]
        unknown = {sign for sign in signs if not holds(sign)}
        before = unknown.union(s for s in signs if any(s + a in pairs for a in ascii_letters))
        after = unknown.union(s for s in signs if any(a + s in pairs for a in ascii_letters))
        sign_before, sign_after = (f"[{re.escape(''.join(its))}]" for its in (before, after))
        letters, others = "[A-Za-z]++", "[^A-Za-z]++"
        joined = f"{letters}(?={sign_after})|{others}(?<={sign_before})(?=[A-Za-z])"
        return re.compile(f"(?:{joined})*+(?:{letters}|{others})").findall

    def pieces(self, ids: Sequence[int], /) -> list[str]:
        return [self._vocabulary.text(number).replace("▁", " ") for number in ids]

    def _words(self, text: str) -> list[str]:
        if text.isascii() and text and not self._changes.search(text):
            return [f"▁{text}"]
        normal = _clean(text).translate(self._vocabulary.normal)
        return [f"▁{word}" for word in normal.split(" ") if word]

    def _segment(self, words: list[str]) -> Iterable[list[int]]:
        if not self._known and sum(map(len, words)) <= _FEW_LETTERS:
            return map(self._vocabulary.segment, words)
        return map(self._by_parts, words)

    def _parts(self, word: str) -> list[str]:
        """Return what a word falls into, cut only where no unknown token can be at either side."""
        pairs = self._vocabulary.pairs
        if pairs.issuperset(map(add, word, word[1:])):
            return [word]
        holds, at = self._vocabulary.holds, 0
        parts: list[str] = []
        for end, pair in enumerate(map(add, word, word[1:]), 1):
            if pair not in pairs and holds(pair[0]) and holds(pair[1]):
                parts.append(word[at:end])
                at = end
        parts.append(word[at:])
        return parts

    def _by_parts(self, word: str) -> list[int]:
        pairs, unknown, at = self._vocabulary.pairs, self._vocabulary.unknown, 0
        ids: list[int] = []
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


_LAST_SPACE = 0x3000
_ASCII = 128
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
        odd = set(filter(str.isspace, map(chr, range(_LAST_SPACE + 1)))) - set(separators)
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
