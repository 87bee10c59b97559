"""Products of vectors, without numpy: by simsimd, which takes what lies in a buffer.

Of whole numbers they are exact. What is multiplied with vectors in whole numbers is a sum of such
vectors, *digits*, each finer than the one before: a product then depends neither on which others
are asked for, nor on the machine.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from operator import mul
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kb_core.quantization import LARGEST

__all__ = ["FINER", "Digits", "Matrix", "digits_of", "dots", "mean", "products", "scaled"]

FINER = tuple(float(2 * LARGEST) ** digit for digit in range(3))
"""By how much the ones of each digit are finer than those of the first: of three digits, of seven
bits and a sign each, nothing of a float32 is lost."""

_NUMPY_ROWS = 65536
_WORTH_A_THREAD = 100_000_000
"""So many numbers take some milliseconds, most of it for the pages of a file that is mapped."""

if TYPE_CHECKING:
    Bytes: TypeAlias = bytes | memoryview[int]
    Numbers: TypeAlias = Bytes | array[float]


class Matrix:
    """Rows of float64, made once and multiplied often."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        """*rows* are one or more, as long as each other."""
        self._rows, self._width = array("d"), len(rows[0])
        for row in rows:
            self._rows.extend(row)

    def transposed(self) -> Matrix:
        """Return the matrix whose rows are the columns of this one."""
        return Matrix([self._rows[at :: self._width] for at in range(self._width)])

    def __matmul__(self, vector: Sequence[float]) -> list[float]:
        """Return the product of each row and *vector*; ``ValueError`` if it is not as long."""
        if len(vector) != self._width:
            raise ValueError(f"{len(vector)} components, not {self._width}")
        return list(_products(self._rows, array("d", vector), self._width, "d"))


class Digits(NamedTuple):
    """A vector as a sum of some in whole numbers."""

    numbers: bytes
    """int8, one vector after the other: (digits, dimensions)."""
    places: tuple[float, ...]
    """What a one in each of them is worth."""


def digits_of(vector: Sequence[float]) -> Digits:
    """Return *vector* as digits; what is no number is a ``ValueError``."""
    step = max(map(abs, vector), default=0.0) / LARGEST or 1.0
    places = tuple(step / finer for finer in FINER)
    rest, numbers = vector, array("b")
    for place in places:
        digit = [round(component / place) for component in rest]
        numbers.extend(digit)
        rest = [component - number * place for component, number in zip(rest, digit, strict=True)]
    return Digits(numbers.tobytes(), places)


def products(matrix: Bytes, vector: Digits) -> list[float]:
    """Return the product of each row of *matrix*, int8, and a vector that is as long."""
    high, middle, low = vector.places
    sums = dots(matrix, vector.numbers, len(vector.numbers) // len(FINER))
    parts = zip(sums[::3], sums[1::3], sums[2::3], strict=True)
    return [a * high + b * middle + c * low for a, b, c in parts]


def dots(matrix: Bytes, others: bytes, width: int) -> memoryview[float]:
    """Return products of each row of *matrix* with each of *others*, int8, of *width* each.

    float32, those of one row of the matrix after the other: exact up to a thousand dimensions.
    ``ValueError`` for what is no rows of that width.
    """
    if not width or len(matrix) % width or len(others) % width:
        raise ValueError(f"rows are not of {width} components")
    if len(matrix) < _WORTH_A_THREAD:
        return _products(matrix, others, width, "b")
    return _in_two(memoryview(matrix), others, width)


def _in_two(matrix: memoryview[int], others: bytes, width: int) -> memoryview[float]:
    """Return ``dots`` of each half of a matrix by a thread of its own, which share no lock."""
    from threading import Thread

    half = len(matrix) // width // 2 * width
    beside: list[memoryview[float]] = []

    def multiply() -> None:
        with suppress(Exception):  # raised once more below, where somebody waits
            beside.append(_products(matrix[half:], others, width, "b"))

    thread = Thread(target=multiply, name="kebab-vectors")
    thread.start()
    try:
        first = _products(matrix[:half], others, width, "b")
    finally:
        thread.join()
    (second,) = beside or [_products(matrix[half:], others, width, "b")]
    return memoryview(b"".join([first, second])).cast("f")


def scaled(
    numbers: memoryview[float], scale: memoryview[float] | array[float]
) -> memoryview[float]:
    """Return each of *numbers* times that of *scale* in its place, as float32."""
    try:
        import simsimd
    except ImportError:  # as in ``_products``
        return memoryview(array("f", map(mul, numbers, scale)))
    fma: Any = simsimd.fma
    if not len(numbers):
        return numbers
    # Not into a buffer of ours: it then returns a ``None`` that it does not own.
    return memoryview(fma(numbers, scale, numbers, alpha=1.0, beta=0.0)).cast("B").cast("f")


def _products(
    matrix: Numbers, others: Numbers, width: int, kind: Literal["b", "d"]
) -> memoryview[float]:
    made: Literal["f", "d"] = "f" if kind == "b" else "d"
    if len(matrix) < width or len(others) < width:
        return memoryview(b"").cast(made)
    try:
        import simsimd
    except ImportError:  # no wheel for this platform
        return _numpy_products(matrix, others, width, made)
    left, right = (
        memoryview(part).cast("B").cast(kind, shape=[len(part) // width, width])
        for part in (matrix, others)
    )
    cdist: Any = simsimd.cdist
    found = cdist(left, right, "dot", out_dtype="float32" if made == "f" else "float64")
    return memoryview(found).cast("B").cast(made)


def _numpy_products(
    matrix: Numbers, others: Numbers, width: int, made: Literal["f", "d"]
) -> memoryview[float]:
    import numpy as np

    kind = np.int8 if made == "f" else np.float64
    left, right = (np.frombuffer(part, kind).reshape(-1, width) for part in (matrix, others))
    columns, found = right.astype(made).T, np.empty((len(left), len(right)), made)
    for first in range(0, len(left), _NUMPY_ROWS):
        block = left[first : first + _NUMPY_ROWS]
        found[first : first + len(block)] = block.astype(made) @ columns
    return memoryview(found.tobytes()).cast(made)


def mean(rows: Sequence[Bytes], scales: Sequence[float]) -> list[float]:
    """Return the mean of rows in whole numbers, each with its scale.

    Of at most a thousand, and to the sixth digit, so that it does not depend on their order.
    """
    width = len(rows[0])
    joined = b"".join(rows)
    columns = b"".join(joined[at::width] for at in range(width))
    return [round(total / len(rows), 6) for total in products(columns, digits_of(scales))]
