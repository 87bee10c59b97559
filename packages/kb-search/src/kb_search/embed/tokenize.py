"""Tokens: of a text for the model, and their number for the chunker.

``UnigramTokenizer`` is XLM-R's, exactly: characters take their normal form, white space
at the ends goes and is one space between words, each word with ``▁`` before it is cut on
its own. It segments by itself, and hands over to the ``tokenizers`` library, which needs
.6 s to load and is then four times as fast, once it has done about that much work.
``LibraryTokenizer`` is whatever a ``tokenizer.json`` says.

Text is brought to NFC first, as the model's original normaliser does. Since words are cut
one by one, the tokens of a text are the sum of those of its words: ``WordCounter`` lives
on that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from kb_core.errors import ModelMissing
from kb_search.embed.unigram import Vocabulary

if TYPE_CHECKING:
    import tokenizers

__all__ = ["LibraryTokenizer", "Tokenizer", "UnigramTokenizer"]

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
