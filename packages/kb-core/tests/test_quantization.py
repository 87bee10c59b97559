"""Vectors as they are kept."""

from __future__ import annotations

import math
import random

from hypothesis import given, strategies as st

from kb_core.quantization import dequantize, quantize

# Nothing is so short that a float32 could not hold the scale: vectors have length 1.
components = st.lists(st.integers(-(10**6), 10**6).map(lambda n: n / 10**6), max_size=40)


def unit(chance: random.Random, dimensions: int) -> list[float]:
    drawn = [chance.gauss(0, 1) for _ in range(dimensions)]
    length = math.sqrt(math.fsum(value * value for value in drawn))
    return [value / length for value in drawn]


def dot(left: list[float], right: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


@given(components)
def test_what_was_dequantised_is_kept_as_it_was(vector: list[float]) -> None:
    kept = quantize(vector)

    assert len(kept) == 4 + len(vector)
    assert quantize(dequantize(kept))[4:] == kept[4:]


def test_a_vector_without_a_direction_is_kept() -> None:
    assert dequantize(quantize([0.0, 0.0])) == [0.0, 0.0]
    assert dequantize(quantize([])) == []


def test_what_rounding_takes_away_is_perpendicular_to_the_vector() -> None:
    chance = random.Random(1)
    vectors = [unit(chance, 384) for _ in range(20)]

    assert all(abs(dot(v, dequantize(quantize(v))) - 1) < 1e-6 for v in vectors)


def test_the_cosine_of_a_question_near_a_passage_is_off_by_less_than_is_shown() -> None:
    """Questions lie at cosines of .8 to .95 of what answers them; three decimals are shown."""
    chance = random.Random(2)
    errors = []
    for _ in range(100):
        passage, other = unit(chance, 384), unit(chance, 384)
        asked = [0.85 * a + 0.5 * b for a, b in zip(passage, other, strict=True)]
        errors.append(abs(dot(asked, passage) - dot(asked, dequantize(quantize(passage)))))

    assert max(errors) < 5e-4
