"""Questions without what their vectors say of their language, where passages are in several.

A model of many languages holds a passage in the language of the question nearer than one in
another that answers it. Most of that is one direction a language, from the mean of one to that
of another (Roy et al., "LAReQA: Language-Agnostic Answer Retrieval from a Multilingual Pool",
EMNLP 2020; Yang et al., "A Simple and Effective Method To Eliminate the Self Language Bias in
Multilingual Representations", EMNLP 2021). Without these directions a question is as near to each
language, and nothing has to be done to any passage.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import sub
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_search.products import Matrix

if TYPE_CHECKING:
    from kb_search.vector_files import View

__all__ = ["Blinders", "blinders_of"]

_TELLING = 8
"""Of fewer passages in a language, the mean says what they are about, and not its language."""
_TELLING_SHARE = 0.005
"""Nor do so few of all: among thousands, some lists and lines of talk are taken for a language."""
_SEVERAL = 2
_NO_LANGUAGE = {"", "null", "und"}
_LANGUAGES = 16
"""So many of the most common languages are told apart."""
_LISTED, _SAMPLED, _SPREAD = 2048, 512, 4096
"""Passages of a language that are all listed, those of them that a mean is of, and those of all
languages among which is looked for one that has more."""
_SPARED = 4.0
"""Of a language of so many passages, half of what tells it apart is left, and less of one of
more: a mean of few is what these few are about, too."""

Vector: TypeAlias = Sequence[float]


class Blinders:
    """Takes out of a question what tells the languages of passages apart."""

    def __init__(
        self, means: Sequence[Vector], passages: Sequence[int], languages: Sequence[str]
    ) -> None:
        """*means* are those of two *languages* or more, of so many *passages*, the most first."""
        self.languages = tuple(languages)
        apart = [list(map(sub, mean, means[0])) for mean in means[1:]]
        self._means, rows = Matrix(means), Matrix(apart)
        within = [rows @ one for one in apart]
        for at, count in enumerate(passages[1:]):
            within[at][at] *= 1 + _SPARED / count
        self._shares = Matrix(_solved(within, apart))
        self._parts = rows.transposed()

    def of(self, query: bytes) -> tuple[bytes, float]:
        """Return a question's vector without them, and what that takes from its cosines.

        From those, on average, of passages in the language that is nearest to it.
        """
        asked = struct.unpack(f"<{len(query) // 4}f", query)
        taken = self._parts @ (self._shares @ asked)
        near, above = self._means @ asked, self._means @ taken
        left = struct.pack(f"<{len(asked)}f", *map(sub, asked, taken))
        return left, above[near.index(max(near))]


def _solved(matrix: list[list[float]], right: Sequence[Vector]) -> list[list[float]]:
    """Return what *matrix* makes *right* of; it is positive definite."""
    rows = [[*row, *known] for row, known in zip(matrix, right, strict=True)]
    for at, pivot in enumerate(rows):
        by = pivot[at] or 1.0  # none where two languages have one mean
        pivot[:] = [number / by for number in pivot]
        for row in rows:
            if row is not pivot and (times := row[at]):
                row[:] = [number - times * known for number, known in zip(row, pivot, strict=True)]
    return [row[len(rows) :] for row in rows]


def blinders_of(
    view: View,
    model: Mapping[str, Any],
    languages: Iterable[str],
    count: Callable[[str], int],
    keys_in: Callable[[str, Sequence[int] | int], list[int]],
) -> Blinders | None:
    """Return those for the vectors of a *model*, or ``None`` where there is one language.

    *languages* are those of documents, *count* says how many passages are in one, and *keys_in*
    which: those of some keys, or so many of all. Means are of samples of a few hundred.
    """
    told = str(model.get("languages", ""))
    if not any(sign.isdigit() or sign == "," for sign in told) and "and" not in told.split():
        return None  # it is of one, and not of *about 100*
    names = [name for name in languages if name not in _NO_LANGUAGE]
    if len(names) < _SEVERAL:
        return None
    held = {name: count(name) for name in names}
    least = max(_TELLING, _TELLING_SHARE * sum(held.values()))
    common = sorted((n for n in held if held[n] >= least), key=lambda n: (-held[n], n))
    if len(common) < _SEVERAL:
        return None
    spread = view.spread(_SPREAD) if held[common[0]] > _LISTED else []
    found: list[tuple[Vector, int, str]] = []
    for name in common[:_LANGUAGES]:
        keys = keys_in(name, spread) if held[name] > _LISTED else []
        if len(keys) < _TELLING:
            keys = sorted(view.known(keys_in(name, _LISTED)))
        if len(keys) >= _TELLING:
            found.append((view.mean(keys[:: -(-len(keys) // _SAMPLED)]), held[name], name))
    return Blinders(*zip(*found, strict=True)) if len(found) >= _SEVERAL else None
