"""The adaptive fusion: properties of any two lists, and which channel it trusts."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, strategies as st

from kb_core.search import KnownWord, KnownWords, Scored
from kb_core.values import replace
from kb_search.fusion import (
    FUSIONS,
    Basis,
    Fused,
    convex_combination,
    fuse,
    is_lookup,
    score_kind,
    weight_of_words,
)

# BM25 as it comes out of the index, and cosines of a model that puts all texts close together.
bm25 = st.integers(1, 60_000_000).map(lambda micro: micro / 1e6)
cosine = st.integers(7_000_000, 9_500_000).map(lambda tenth_micro: tenth_micro / 1e7)


def rankings(scores: st.SearchStrategy[float], size: int = 30) -> st.SearchStrategy[list[Scored]]:
    pairs = st.dictionaries(st.integers(1, 50), scores, max_size=size)
    return pairs.map(lambda found: ranked(found.items()))


def doubt(full_match: float) -> Basis:
    """Let the index know some of the question's words, and not all."""
    return Basis(known=KnownWords(share=0.5, full_match=full_match))


def ranked(pairs: object) -> list[Scored]:
    """Order as both channels do: best first, ties by key."""
    rows = [Scored(key, score) for key, score in pairs]  # type: ignore[attr-defined]
    return sorted(rows, key=lambda row: (-row.score, row.chunk_key))


def keys_of(rows: list[Fused] | list[Scored]) -> list[int]:
    return [row.chunk_key for row in rows]


both = given(rankings(bm25), rankings(cosine))
methods = pytest.mark.parametrize("method", FUSIONS)


@methods
@both
def test_the_union_once_in_order_and_within_bounds(
    method: str, lexical: list[Scored], vector: list[Scored]
) -> None:
    fused = fuse(method, lexical, vector)

    assert sorted(keys_of(fused)) == sorted({*keys_of(lexical), *keys_of(vector)})
    assert all(0 <= row.score <= 1 for row in fused)
    assert all(row.score == round(row.score, 6) for row in fused)
    assert fused == sorted(fused, key=lambda row: (-row.score, row.chunk_key))


@methods
@both
def test_each_row_says_what_each_channel_said(
    method: str, lexical: list[Scored], vector: list[Scored]
) -> None:
    by_words = {row.chunk_key: (rank, row.score) for rank, row in enumerate(lexical, 1)}
    by_meaning = {row.chunk_key: (rank, row.score) for rank, row in enumerate(vector, 1)}

    for row in fuse(method, lexical, vector):
        words, meaning = by_words.get(row.chunk_key), by_meaning.get(row.chunk_key)
        assert (row.lexical_rank, row.lexical_score) == (words or (None, None))
        assert (row.vector_rank, row.vector_score) == (meaning or (None, None))


@methods
@both
def test_first_in_both_is_first_and_one(
    method: str, lexical: list[Scored], vector: list[Scored]
) -> None:
    lexical = [Scored(0, 61.0), *lexical]
    vector = [Scored(0, 0.96), *vector]

    first = fuse(method, lexical, vector)[0]

    assert (first.chunk_key, first.score) == (0, 1.0)


@methods
@given(rankings(bm25))
def test_words_alone_keep_their_order(method: str, lexical: list[Scored]) -> None:
    check_order(fuse(method, lexical, []), lexical)


@methods
@given(rankings(cosine))
def test_meaning_alone_keeps_its_order(method: str, vector: list[Scored]) -> None:
    check_order(fuse(method, [], vector), vector)


def check_order(fused: list[Fused], alone: list[Scored]) -> None:
    """Scores follow the order of the list; those equal after rounding are ties (R14)."""
    score = {row.chunk_key: row.score for row in fused}
    scores = [score[key] for key in keys_of(alone)]
    assert scores == sorted(scores, reverse=True)
    assert all(score <= 0.5 for score in scores)


def test_order_beyond_the_first_hundred_is_kept() -> None:
    """A page of a hundred hits asks for pools of five hundred."""
    deep = [Scored(1000 - rank, 0.9 - rank / 5000) for rank in range(500)]

    assert keys_of(fuse("auto", [], deep)) == keys_of(deep)


def test_a_floor_that_all_share_keeps_the_order_below_it() -> None:
    alike = [Scored(key, 0.9) for key in range(100)]

    assert keys_of(fuse("auto", [], [*alike, Scored(7000, 0.8), Scored(500, 0.7)]))[100:] == [
        7000,
        500,
    ]


@methods
@both
def test_better_in_both_is_never_worse(
    method: str, lexical: list[Scored], vector: list[Scored]
) -> None:
    fused = fuse(method, lexical, vector)
    for one in fused[::7]:
        for other in fused[::5]:
            if is_better(one.lexical_rank, other.lexical_rank) and is_better(
                one.vector_rank, other.vector_rank
            ):
                assert one.score >= other.score


def is_better(rank: int | None, other: int | None) -> bool:
    return rank is not None and (other is None or rank < other)


@given(rankings(bm25), rankings(cosine), st.sampled_from([0.25, 0.5, 2.0, 1024.0]))
def test_the_scale_of_bm25_does_not_matter(
    lexical: list[Scored], vector: list[Scored], scale: float
) -> None:
    scaled = [Scored(row.chunk_key, row.score * scale) for row in lexical]

    before, after = fuse("auto", lexical, vector), fuse("auto", scaled, vector)

    assert [(row.chunk_key, row.score) for row in after] == [
        (row.chunk_key, row.score) for row in before
    ]


@given(rankings(bm25), rankings(cosine), st.floats(0.1, 10), st.floats(-2, 2))
def test_scale_and_offset_of_cosines_do_not_matter(
    lexical: list[Scored], vector: list[Scored], scale: float, offset: float
) -> None:
    """Models differ in how close together they put texts that have nothing in common."""
    assume(not vector or vector[0].score - vector[-1].score > 1e-4)
    moved = [Scored(row.chunk_key, row.score * scale + offset) for row in vector]

    before = {row.chunk_key: row.score for row in fuse("auto", lexical, vector)}
    after = {row.chunk_key: row.score for row in fuse("auto", lexical, moved)}

    assert after == pytest.approx(before, abs=3e-6)


@given(rankings(bm25), rankings(cosine), st.randoms(use_true_random=False))
def test_the_order_of_equals_in_a_list_does_not_matter(
    lexical: list[Scored], vector: list[Scored], random: object
) -> None:
    rough = [Scored(row.chunk_key, max(1.0, row.score // 20)) for row in lexical]
    shuffled = list(rough)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    shuffled.sort(key=lambda row: -row.score)

    before, after = fuse("auto", rough, vector), fuse("auto", shuffled, vector)

    assert [(row.chunk_key, row.score) for row in after] == [
        (row.chunk_key, row.score) for row in before
    ]


@both
def test_the_weight_is_a_share(lexical: list[Scored], vector: list[Scored]) -> None:
    assert 0 <= weight_of_words(lexical, vector) <= 1


def scores(*values: float) -> list[Scored]:
    return [Scored(key, value) for key, value in enumerate(values)]


VAGUE_COSINES = scores(*(0.85 - rank / 2000 for rank in range(100)))


def test_words_are_trusted_where_they_tell_few_chunks_from_all_others() -> None:
    decisive = scores(20.0, *[4.0] * 99)
    rare = scores(20.0, 19.0)
    common = scores(*(20.0 - rank / 20 for rank in range(100)))

    assert weight_of_words(decisive, VAGUE_COSINES) > 0.6
    assert weight_of_words(rare, VAGUE_COSINES) > 0.6
    assert weight_of_words(common, VAGUE_COSINES) < 0.4


def test_meaning_is_trusted_where_it_sets_one_chunk_apart() -> None:
    words = scores(*(20.0 - rank / 6 for rank in range(100)))
    decisive = scores(0.92, *(0.8 - rank / 10_000 for rank in range(99)))

    assert weight_of_words(words, decisive) < weight_of_words(words, VAGUE_COSINES) - 0.1


def test_an_identifier_in_one_chunk_beats_what_sounds_alike() -> None:
    """The vector channel proposes a hundred chunks for anything, even for ``ERR_0x7F31``."""
    vague = [Scored(100 + row.chunk_key, row.score) for row in VAGUE_COSINES]

    assert fuse("auto", [Scored(7, 12.5)], vague)[0].chunk_key == 7


def test_a_few_accidental_words_do_not_outweigh_meaning() -> None:
    """A question in another language: one name of ten words is held by a dozen passages."""
    accidents = scores(9.0, *[3.0] * 11)
    meaning = [Scored(100 + rank, 0.9 - rank / 800) for rank in range(100)]

    trusted = weight_of_words(accidents, meaning, basis=doubt(9.0))
    doubted = weight_of_words(accidents, meaning, basis=doubt(60.0))

    assert doubted < trusted / 3
    assert fuse("auto", accidents, meaning, basis=doubt(60.0))[0].chunk_key == 100


def test_common_words_found_everywhere_are_no_match_either() -> None:
    """In a mixed collection the question's own language has its function words."""
    function_words = scores(9.0, *(6.0 - rank / 30 for rank in range(99)))
    meaning = [Scored(200 + rank, 0.9 - rank / 800) for rank in range(100)]

    assert fuse("auto", function_words, meaning)[0].chunk_key == 0
    assert fuse("auto", function_words, meaning, basis=doubt(30.0))[0].chunk_key == 200


def test_what_a_question_asks_is_what_a_match_is_a_share_of_though_hardly_ranked_by_it() -> None:
    words = scores(9.0, *(6.0 - rank / 30 for rank in range(99)))
    meaning = [Scored(200 + rank, 0.9 - rank / 800) for rank in range(100)]
    ranked_by = KnownWords(share=0.5, full_match=9.0, words=(KnownWord(("timeout",), 9.0),))
    asks = replace(ranked_by, words=(*ranked_by.words, KnownWord(("what",), 21.0)))

    assert (ranked_by.asked, asks.asked) == (9.0, 30.0)
    firsts = [fuse("auto", words, meaning, basis=Basis(known=known)) for known in (ranked_by, asks)]
    assert [first[0].chunk_key for first in firsts] == [0, 200]


def test_where_there_are_several_languages_every_word_may_be_known_and_match_by_accident() -> None:
    function_words = scores(9.0, *(6.0 - rank / 30 for rank in range(99)))
    meaning = [Scored(200 + rank, 0.9 - rank / 800) for rank in range(100)]
    known = Basis(known=KnownWords(share=1.0, full_match=30.0))

    assert fuse("auto", function_words, meaning, basis=known)[0].chunk_key == 0
    mixed = replace(known, elsewhere=frozenset())
    assert fuse("auto", function_words, meaning, basis=mixed)[0].chunk_key == 200


def test_what_is_in_another_language_than_the_words_found_is_not_behind_for_its_words() -> None:
    words = scores(16.0, *(6.0 - rank / 30 for rank in range(99)))
    meaning = [Scored(200, 0.9), Scored(0, 0.885), *(Scored(300 + n, 0.87) for n in range(98))]
    known = KnownWords(share=1.0, full_match=16.0)
    here, there = (Basis(known=known, elsewhere=keys) for keys in (frozenset(), frozenset({200})))

    assert fuse("auto", words, meaning, basis=here)[0].chunk_key == 0
    assert fuse("auto", words, meaning, basis=there)[0].chunk_key == 200
    named = [*words[:50], Scored(200, 3.0), *words[50:]]  # a name is the same in both
    scored = [
        {row.chunk_key: row.score for row in fuse("auto", found, meaning, basis=there)}
        for found in (words, named)
    ]
    assert scored[0][200] / scored[0][0] < scored[1][200] / scored[1][0]
    looked_up = replace(there, lookup=True)
    assert fuse("auto", words, meaning, basis=looked_up)[0].chunk_key == 0


@given(rankings(bm25), rankings(cosine), st.sets(st.integers(1, 50)))
def test_scores_stay_in_bounds_wherever_passages_are(
    lexical: list[Scored], vector: list[Scored], elsewhere: set[int]
) -> None:
    fused = fuse("auto", lexical, vector, basis=Basis(elsewhere=elsewhere))

    assert all(0 <= row.score <= 1 for row in fused)


@given(rankings(bm25), rankings(cosine), st.lists(st.floats(0.1, 200), min_size=2, max_size=2))
def test_the_less_of_a_question_matches_the_less_words_count(
    lexical: list[Scored], vector: list[Scored], full: list[float]
) -> None:
    assume(lexical and vector)
    # Where nothing is clear in either list, both count alike, however much of it matches.
    assume(0 < weight_of_words(lexical, vector) < 1)
    less, more = sorted(full)

    matched = weight_of_words(lexical, vector, basis=doubt(less))
    missed = weight_of_words(lexical, vector, basis=doubt(more))

    assert missed <= matched + 1e-9


@given(rankings(bm25), rankings(cosine), st.floats(0, 1))
def test_what_matches_all_of_a_question_counts_in_full(
    lexical: list[Scored], vector: list[Scored], share: float
) -> None:
    assume(lexical)
    full = share * lexical[0].score

    assert fuse("auto", lexical, vector, basis=doubt(full)) == fuse("auto", lexical, vector)


def test_the_few_chunks_embedded_so_far_do_not_push_away_the_rest() -> None:
    """An absent vector says nothing of the chunk; an absent word does."""
    words = scores(*(20.0 - rank / 6 for rank in range(100)))

    fused = fuse("auto", words, [Scored(500, 0.83), Scored(501, 0.80)])

    assert fused[0].chunk_key == 0


def test_nothing_to_compare_is_a_half() -> None:
    alone = scores(3.0, 2.0)

    assert weight_of_words(alone, []) == weight_of_words([], alone) == 0.5
    assert weight_of_words(scores(3.0), scores(0.8)) == 0.5
    assert fuse("auto", [], []) == []


@given(rankings(bm25), rankings(cosine))
def test_a_whole_weight_is_one_channel(lexical: list[Scored], vector: list[Scored]) -> None:
    found = set(keys_of(lexical))
    words = [row for row in convex_combination(lexical, vector, 1.0) if row.chunk_key in found]
    score = {row.chunk_key: row.score for row in words}

    assert [score[key] for key in keys_of(lexical)] == sorted(score.values(), reverse=True)


def test_kinds_of_scores_are_those_of_the_wire() -> None:
    assert [score_kind(method) for method in FUSIONS] == ["fused", "rrf"]


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match=r"'best' is none of auto, rrf"):
        fuse("best", [], [])


LOOKUPS = [
    "parse_http_request",
    "`parseHTTPRequest()`",
    "std::vector::push_back",
    "kb_search.fusion",
    "ERR_0x7F31",
    "DEC-0054",
    "v2.3.1 setup.cfg",
    '"reciprocal rank fusion"',
    'KnowledgeBase.open "not indexed"',
]
QUESTIONS = [
    "how are chunks cut",
    "what does parse_http_request do",
    "authentication",
    "state-of-the-art methods and/or tools",
    "Wer gründete die Firma 1998?",
    "2010年1月に何を検討したか",
    "1986년 경기 도중 다시 찾아온 증상은?",
    'who said "never"',
    "Q1 revenue",
    '""',
    '" "',
    '"',
    "...",
    "",
]


@pytest.mark.parametrize("text", LOOKUPS)
def test_identifiers_and_quoted_phrases_are_looked_up(text: str) -> None:
    assert is_lookup(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_what_has_a_word_of_prose_is_a_question(text: str) -> None:
    """In every language: those that part no words included."""
    assert not is_lookup(text)


@given(st.text())
def test_any_text_is_one_or_the_other(text: str) -> None:
    assert is_lookup(text) in {True, False}


@given(rankings(bm25), rankings(cosine))
def test_a_lookup_is_ordered_by_words(lexical: list[Scored], vector: list[Scored]) -> None:
    """Meaning may turn round what words find almost equal, and nothing else."""
    score = {
        row.chunk_key: row.score for row in fuse("auto", lexical, vector, basis=Basis(lookup=True))
    }

    for one in lexical[::3]:
        for other in lexical[::2]:
            if one.score > 1.06 * other.score + 0.06 * lexical[0].score:
                assert score[one.chunk_key] >= score[other.chunk_key]


def test_a_lookup_that_words_cannot_answer_is_left_to_meaning() -> None:
    alone = scores(0.9, 0.8)

    assert fuse("auto", [], alone, basis=Basis(lookup=True)) == fuse("auto", [], alone)


@given(rankings(bm25))
def test_without_any_vector_the_order_is_that_of_words(lexical: list[Scored]) -> None:
    basis = Basis(coverage=0.0, without_vector={row.chunk_key for row in lexical})

    check_order(fuse("auto", lexical, [], basis=basis), lexical)


@given(rankings(bm25), rankings(cosine), st.floats(0, 1))
def test_chunks_without_a_vector_keep_the_order_of_words(
    lexical: list[Scored], vector: list[Scored], coverage: float
) -> None:
    embedded = set(keys_of(vector))
    basis = Basis(coverage=coverage, without_vector=set(keys_of(lexical)) - embedded)

    fused = fuse("auto", lexical, vector, basis=basis)

    score = {row.chunk_key: row.score for row in fused}
    waiting = [score[key] for key in keys_of(lexical) if key not in embedded]
    assert waiting == sorted(waiting, reverse=True)
    assert all(0 <= value <= 1 for value in score.values())


def test_the_best_by_words_is_not_pushed_below_the_embedded_for_want_of_a_vector() -> None:
    """Half of a code tree is embedded: the passage that the words describe is in the other."""
    words = scores(20.0, 14.0, *(8.0 - rank / 50 for rank in range(98)))
    embedded = range(1, 200, 2)
    meaning = [Scored(key, 0.9 if key == 1 else 0.8 - key / 10_000) for key in embedded]
    waiting = {row.chunk_key for row in words} - set(embedded)

    mended = fuse("auto", words, meaning, basis=Basis(coverage=0.5, without_vector=waiting))
    as_if_far = fuse("auto", words, meaning, basis=Basis(coverage=0.5))

    assert keys_of(mended)[0] == 0
    assert keys_of(as_if_far)[0] != 0


def test_a_meaning_that_words_do_not_foretell_is_not_expected_of_them() -> None:
    """What the embedded candidates show of this question decides: here words are accidents."""
    words = [Scored(key, 9.0 if key < 60 else 3.0) for key in range(100)]
    near = [Scored(1000 + rank, 0.9 - rank / 900) for rank in range(100)]
    agreeing = [Scored(key, 0.9 - rank / 900) for rank, key in enumerate(range(2, 102))]
    basis = Basis(coverage=0.9, without_vector={0, 1})

    def waiting(vector: list[Scored]) -> float:
        fused = convex_combination(words, vector, 0.2, basis.without_vector)
        return next(row.score for row in fused if row.chunk_key == 0)

    assert waiting(near) < waiting(agreeing)


def test_few_vectors_say_little() -> None:
    words = [Scored(n, 10 - n) for n in range(5)]
    meaning = [Scored(n, 0.9 - n / 100) for n in range(50, 60)]

    weights = [
        weight_of_words(words, meaning, basis=Basis(coverage=share)) for share in (1.0, 0.5, 0.01)
    ]

    assert weights == sorted(weights)
    assert weights[-1] > 0.98
    found = fuse("auto", words, meaning, basis=Basis(coverage=0.01))
    assert [row.chunk_key for row in found[:5]] == [0, 1, 2, 3, 4]
