"""What the format of a cell puts around its number: money, units, and zeros in front.

``12.5`` that is shown as ``$12.50`` is ``$12.5`` here, since digits are those of the value; the
number of a customer that is shown as ``K-00042`` is that, since nobody knows it by another name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kb_app._ingest.making.formats.office.drawings import number

__all__ = ["Signs", "signs_of"]

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<money>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
    r"|(?P<digits>(?:general|standard|[0#?.,])+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[[<>=]")
_LITERAL = frozenset("$€£¥₩-+/(): ")
_ZEROS = re.compile("0+")
_SCALED = re.compile(r",+(?:\.|$)")
_LONGEST, _MOST_DIGITS = 40, 30


class Signs(NamedTuple):
    """Pieces around the digits of a number; with *zeros*, so many digits are between them."""

    pieces: tuple[str, ...]
    zeros: tuple[int, ...] = ()

    def shown(self, written: str, *, is_1904: bool = False) -> str | None:  # noqa: ARG002 - as all
        """Return what the number *written* shows; ``None`` where it is just a number."""
        try:
            value = float(written)
        except ValueError:
            return None
        if self.zeros:
            return self._filled(value)
        before, behind = self.pieces
        sign = "-" if value < 0 else ""
        return f"{sign}{before}{number(written.strip()).removeprefix('-')}{behind}".strip()

    def _filled(self, value: float) -> str | None:
        width = sum(self.zeros)
        if not 0 <= value < 10**15 or value != int(value):
            return None
        digits = f"{int(value):0{width}}"
        cuts = [len(digits) - sum(self.zeros[at:]) for at in range(1, len(self.zeros))]
        parts = [digits[a:b] for a, b in zip([0, *cuts], [*cuts, len(digits)], strict=True)]
        told = zip(self.pieces, [*parts, ""], strict=True)
        return "".join(piece + part for piece, part in told).strip()


@lru_cache(maxsize=1024)
def signs_of(code: str) -> Signs | None:
    """Return what a format puts around a number; ``None`` where that is nothing to be read."""
    pieces, runs = [""], list[str]()
    if _CONDITION.search(code):
        return None
    for token in _TOKEN.finditer(code):
        if token["other"] == ";":
            break
        if token["digits"] is not None:
            runs.append(token["digits"])
            pieces.append("")
        elif token["other"] is not None and token["other"] not in _LITERAL:
            return None  # a fraction, an exponent, a text, or a moment
        else:
            told = token["quoted"], token["escaped"], token["money"], token["other"]
            pieces[-1] += next(filter(None, told), "")
    if not runs or any(len(piece) > _LONGEST for piece in pieces):
        return None
    if all(map(_ZEROS.fullmatch, runs)) and 1 < sum(map(len, runs)) <= _MOST_DIGITS:
        return Signs(tuple(pieces), tuple(map(len, runs)))
    is_plain = len(runs) > 1 or "?" in runs[0] or _SCALED.search(runs[0]) is not None
    is_said = any(c.isalnum() or c in "$€£¥₩°%‰" or c > "\x7f" for c in "".join(pieces))
    return None if is_plain or not is_said else Signs(tuple(pieces))
