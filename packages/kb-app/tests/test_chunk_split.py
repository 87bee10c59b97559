"""Packing pieces into groups: sizes, joints, overlaps."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, strategies as st

from kb_app._ingest.making.cutting import (
    BLOCK,
    GLUE,
    LINE,
    PART,
    SENTENCE,
    WORD,
    Piece,
    Sizes,
    pack,
    trimmed,
)
from kb_core.documents import ChunkLimits

LIMITS = ChunkLimits(target_tokens=20, overlap_tokens=5, max_tokens=40)


def pieces(*rows: tuple[int, int] | tuple[int, int, int]) -> list[Piece]:
    """Make pieces of (tokens, joint[, owner]) that follow each other."""
    made: list[Piece] = []
    for number, row in enumerate(rows):
        owner = row[2] if len(row) == 3 else number
        made.append(Piece(number, number + 1, row[0], row[1], owner))
    return made


def packed(rows: Sequence[Piece], overlap: int = 0) -> list[list[int]]:
    return [[piece.start for piece in group] for group in pack(rows, LIMITS, overlap)]


def test_neighbours_fill_up_to_the_target() -> None:
    assert packed(pieces(*[(5, BLOCK)] * 9)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_a_small_rest_goes_with_the_last_group() -> None:
    assert packed(pieces((18, BLOCK), (1, BLOCK), (2, BLOCK))) == [[0, 1, 2]]


def test_what_is_between_target_and_maximum_stays_whole() -> None:
    assert packed(pieces((35, BLOCK), (35, BLOCK))) == [[0], [1]]


def test_a_heading_does_not_stand_alone_before_a_large_block() -> None:
    assert packed(pieces((3, BLOCK), (36, BLOCK), (5, BLOCK))) == [[0, 1], [2]]


def test_a_group_ends_at_the_best_joint_of_its_second_half() -> None:
    rows = pieces((6, BLOCK), (6, WORD), (3, PART), (3, WORD), (6, LINE), (6, WORD), (6, WORD))

    assert packed(rows)[0] == [0, 1]


def test_parts_of_one_block_overlap_from_a_line_or_sentence() -> None:
    rows = pieces(*[(4, SENTENCE if number % 2 else WORD, 0) for number in range(12)])

    groups = packed(rows, overlap=5)

    assert all(two[0] == one[-1] for one, two in pairwise(groups))


def test_blocks_do_not_overlap() -> None:
    assert packed(pieces(*[(4, BLOCK)] * 10), overlap=8) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_parts_of_words_do_not_overlap() -> None:
    assert packed(pieces(*[(4, GLUE, 0)] * 10), overlap=8) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 40), st.integers(GLUE, BLOCK), st.integers(0, 3)), max_size=60
    ),
    overlap=st.integers(0, 9),
)
def test_groups_hold_every_piece_and_none_is_too_large(
    rows: list[tuple[int, int, int]], overlap: int
) -> None:
    made = pieces(*[(tokens, joint, owner) for tokens, joint, owner in rows])

    groups = pack(made, LIMITS, overlap)

    assert {piece.start for group in groups for piece in group} == set(range(len(made)))
    assert all(sum(piece.tokens for piece in group) <= LIMITS.max_tokens for group in groups)
    ends = [group[-1].start for group in groups]
    starts = [group[0].start for group in groups]
    assert ends == sorted(set(ends))
    assert starts == sorted(set(starts))


class CountingCounter:
    """A counter that keeps a record of what it was asked."""

    def __init__(self) -> None:
        self.adds_up = False
        self.characters = 0
        self.most = 0
        self.calls = 0

    def count(self, text: str, /) -> int:
        return len(text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        self.calls += 1
        self.characters += sum(map(len, texts))
        self.most = max(self.most, sum(map(len, texts)))
        return [self.count(text) for text in texts]


def test_a_text_is_counted_once_a_level_in_few_calls() -> None:
    text = "A sentence of six small words. " * 2_000
    counter = CountingCounter()
    sizes = Sizes(text, counter, LIMITS)
    block = Piece(0, len(text), 12_000, BLOCK)

    groups = sizes.checked(pack(sizes.fitted([block], lambda _: True), LIMITS, 5))

    assert len(groups) > 500
    assert counter.calls <= 4
    assert counter.characters <= 2 * len(text)


def test_no_more_of_a_text_is_counted_at_once_than_its_words_have_room() -> None:
    """Each word of it is an object for a while: of eight megabytes, three hundred of memory."""
    text = "ABC def " * 400_000
    counter = CountingCounter()

    Sizes(text, counter, LIMITS).of([(at, at + 1000) for at in range(0, len(text), 1000)])

    assert counter.characters >= len(text)
    assert counter.most < len(text) / 4


def test_of_a_long_text_no_word_is_counted_twice_where_sizes_add_up() -> None:
    text = "A sentence of six small words. " * 2_000
    counter = CountingCounter()
    counter.adds_up = True
    sizes = Sizes(text, counter, LIMITS)
    (tokens,) = sizes.of([(0, len(text))])

    groups = sizes.checked(pack(sizes.fitted([Piece(0, len(text), tokens, BLOCK)], bool), LIMITS))

    assert tokens > LIMITS.max_tokens
    assert counter.characters == len(text)
    assert {group.tokens == len(text[group.start : group.end].split()) for group in groups} == {
        True
    }


def test_trimming_keeps_the_indentation_of_a_first_line() -> None:
    text = "x\n\n  \n    indented\n  more  \n\n"

    assert trimmed(text, 2, len(text)) == (6, 25)
    assert text[6:25] == "    indented\n  more"
    assert trimmed(text, 1, 6) == (1, 1)
