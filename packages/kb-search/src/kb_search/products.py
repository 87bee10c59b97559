"""Products of vectors, without numpy: by simsimd, which takes what lies in a buffer.

Of whole numbers they are exact. What is multiplied with vectors in whole numbers is a sum of such
vectors, *digits*, each finer than the one before: a product then depends neither on which others
are asked for, nor on the machine.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import PAGESIZE
from operator import mul
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kb_core.quantization import LARGEST

__all__ = ["FINER", "Digits", "Matrix", "digits_of", "dots", "mean", "products", "scaled_dots"]

FINER = tuple(float(2 * LARGEST) ** digit for digit in range(3))
"""By how much the ones of each digit are finer than those of the first: of three digits, of seven
bits and a sign each, nothing of a float32 is lost."""

_NUMPY_ROWS = 65536
_WORTH_A_THREAD = 100_000_000
"""So many numbers take some milliseconds, most of it for the pages of a file that is mapped."""

_READ_AT_ONCE = 8_000_000
"""So many bytes are read before their pages are let go of: few are mapped at any time."""

if TYPE_CHECKING:
    Bytes: TypeAlias = bytes | memoryview[int]
    Numbers: TypeAlias = Bytes | array[float]
    Scale: TypeAlias = memoryview[float] | array[float]


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
    whole = memoryview(matrix)
    return _in_two(
        len(matrix), width, lambda start, end: _products(whole[start:end], others, width, "b")
    )


def scaled_dots(
    matrix: Bytes, other: bytes, scale: Scale, read: Callable[[int, int], object] | None = None
) -> memoryview[float]:
    """Return the products of each row of *matrix* with *other*, each times that of *scale*.

    float32. Of many rows, *read* is told from which byte on how many were read, whole pages of a
    file that is mapped, by either of two threads.
    """
    width, whole = len(other), memoryview(matrix)

    def multiplied(start: int, end: int) -> memoryview[float]:
        found = _products(whole[start:end], other, width, "b")
        found = _scaled(found, scale[start // width : end // width])
        if read is not None:
            read(start, end - start)
        return found

    if not width or len(matrix) % width:
        raise ValueError(f"rows are not of {width} components")
    if len(matrix) < _WORTH_A_THREAD:
        return _scaled(_products(matrix, other, width, "b"), scale)
    return _in_two(len(matrix), width, multiplied, _READ_AT_ONCE if read is not None else None)


def _in_two(
    size: int,
    width: int,
    multiply: Callable[[int, int], memoryview[float]],
    at_once: int | None = None,
) -> memoryview[float]:
    """Return what *multiply* makes of the bytes from one on to another, each half by a thread.

    The threads share no lock. With *at_once*, of about so many bytes at once, each of which begin
    with a row, of *width*, and with a page.
    """
    from threading import Thread

    part = width if at_once is None else width * PAGESIZE
    half = size // part // 2 * part
    step = size if at_once is None else -(-at_once // part) * part
    beside: list[memoryview[float]] = []

    def each(start: int, end: int) -> list[memoryview[float]]:
        return [multiply(at, min(at + step, end)) for at in range(start, end, step)]

    def second_half() -> None:
        with suppress(Exception):  # raised once more below, where somebody waits
            beside.extend(each(half, size))

    thread = Thread(target=second_half, name="kebab-vectors")
    thread.start()
    try:
        first = each(0, half)
    finally:
        thread.join()
    return memoryview(b"".join([*first, *(beside or each(half, size))])).cast("f")


def _scaled(numbers: memoryview[float], scale: Scale) -> memoryview[float]:
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
