"""What of a page is its main text: an article, a thread, a reference, without what is around it.

What is beside the point goes first. What is left is scored as readability does: each paragraph
counts for what holds it, less for what holds that, and less where much of it is links; the best
element is taken, with what stands beside it and says as much, or is built as it is. A page
without such an element, as a list or a front page, is all of what is left. Where a page marks
one element as its main text, and its headline stands in that, it is that.

The method follows what is published of Arc90's readability (scores of parents), of boilerpipe
(Kohlschütter and others, WSDM 2010: link density and length of blocks) and of trafilatura
(Barbaresi, ACL 2021: ways to fall back). Linear in the input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from kb_app._ingest.making.clutter import LINKY, MUCH, OF_NOTES, PARAGRAPHS, Reading, like, names_of
from kb_app._ingest.making.markup import HEADINGS, Element, Markup, tags, visible

__all__ = ["Main", "main_text"]

_MAIN_NAMES = tags(
    "article blog body content document entry hentry main markdown page post prose story text"
)
_HOLDERS = tags("article entry post story blog news")
_BODIES = tags("body content text main")
"""What has one of each in its name is the text of an article."""
_WHOLE = tags("html body #page")
_ROWS = tags("td tr tbody li p ul ol dl dd")
_NAMED, _MARKED, _SAID, _HEADED = 0.25, 0.35, 0.5, 0.3
"""What a name, an element, both parts of a name, and the headline add to what one is worth."""
_SHORT, _SHORT_HEADED = 250, 100
"""A main text below this is none; with the headline of the page in it, it may be shorter."""
_SPREAD, _SPREAD_HEADED = 0.3, 0.15
"""What holds less than this part of the good paragraphs is no centre."""
_SAME, _WORTH, _LINE = 0.2, 4.0, 80
"""What stands beside the best belongs to it from this part of it on; so much; or one line."""
_TIMES, _UP, _STEPS = 3, 5, 3


class Main(NamedTuple):
    """Elements that hold the main text, in order, and for each element whether it is kept."""

    roots: Sequence[Element]
    kept: Sequence[bool]


def main_text(page: Markup) -> Main:
    """Return what of *page* to read."""
    reading = Reading(page, visible(page))
    reading.drop_beside()
    roots = _Choice(reading).best()
    size = sum(reading.size[root.number] for root in roots)
    short = _SHORT_HEADED if any(map(reading.has_top, roots)) else _SHORT
    is_bare = size < short and any(root.tag in _WHOLE for root in roots)
    if size < min(short, MUCH * reading.size[0]) or is_bare or not roots:
        reading.restore_contents()
        reading.drop_calls()
        roots = page.elements[:1]
    else:
        _drop_within(reading, roots, short)
    reading.measure()
    if not any(reading.size[root.number] for root in roots):
        return Main(page.elements[:1], visible(page))
    return Main(roots, reading.kept)


def _drop_within(reading: Reading, roots: Sequence[Element], short: int) -> None:
    """Drop lists of what is elsewhere from the main text, unless they are what the page says."""
    kept = [*reading.kept]
    reading.drop_within(roots)
    reading.measure()
    if sum(reading.size[root.number] for root in roots) < short:
        reading.kept[:] = kept
        reading.drop_calls()


def _marked(reading: Reading) -> Element | None:
    """Return the one element that a page marks as its main text, with its headline in it."""
    found: list[Element] = []
    for element in reading.page.elements:
        is_one = _is_main(element) and element.tag not in _WHOLE and reading.kept[element.number]
        if is_one and not (found and element.number < found[-1].last):
            found.append(element)
    return found[0] if len(found) == 1 and reading.has_top(found[0]) else None


class _Choice:
    """Finds the elements that hold most prose; ``good`` says how much of it each has."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._elements = reading.page.elements
        teasers = reading.teasers()
        paragraphs = list(reading.paragraphs())
        apart = [each for each in paragraphs if each[0] not in teasers]
        self._paragraphs = apart or paragraphs
        self._good = [0.0] * len(self._elements)
        for number, score in self._paragraphs:
            self._good[number] += score
        for element in reversed(self._elements[1:]):
            self._good[element.parent] += self._good[element.number]

    def best(self) -> list[Element]:
        """Return the elements that hold the main text, in order; none, if it has no centre."""
        if marked := _marked(self._reading):
            return [marked]
        worth = {number: self._worth(number, score) for number, score in self._scores().items()}
        if not worth:
            return []
        best = self._elements[max(worth, key=lambda number: (worth[number], -number))]
        spread = _SPREAD_HEADED if self._reading.has_top(best) else _SPREAD
        if self._good[best.number] < spread * self._good[0]:
            return []
        return self._with_siblings(self._outer(best))

    def _scores(self) -> dict[int, float]:
        """Return for elements how many good paragraphs they hold, the nearest counting most.

        What holds nothing but one of them, or nothing but what does, is no step.
        """
        above = [0] * len(self._elements)
        for element in self._elements[1:]:
            number, outer = element.number, element.parent
            above[number] = outer if self._good[outer] > self._good[number] else above[outer]
        scores: defaultdict[int, float] = defaultdict(float)
        for number, score in self._paragraphs:
            at = above[number] if self._elements[number].tag in PARAGRAPHS else number
            for step in range(1, _STEPS + 1):
                scores[at] += score / step
                if at == 0:
                    break
                at = above[at]
        return scores

    def _worth(self, number: int, score: float) -> float:
        element, reading = self._elements[number], self._reading
        density = reading.links[number] / max(1, reading.size[number])
        bonus = 1.0
        if _is_marked(element):
            bonus += _MARKED
        elif _is_said_to_be_text(element):
            bonus += _SAID
        elif names_of(element) & _MAIN_NAMES:
            bonus += _NAMED
        if reading.has_top(element) and element.tag not in _WHOLE:
            bonus += _HEADED
        return score * (1 - density) * bonus

    def _outer(self, best: Element) -> Element:
        """Return what holds *best* and is one text with it: an article of several sections."""
        element = found = best
        while element.number:
            element = self._elements[element.parent]
            if element.tag in _WHOLE or not self._is_one(element, found):
                break
            found = element
        return found

    def _is_one(self, outer: Element, inner: Element) -> bool:
        whole, part = self._good[outer.number], self._good[inner.number]
        if _is_marked(outer) or _is_said_to_be_text(outer):
            return whole < _TIMES * part
        return inner.tag in _ROWS and whole >= (1 + _SAME) * part

    def _with_siblings(self, best: Element) -> list[Element]:
        """Return *best* with what stands beside it and belongs to it, for some levels up."""
        roots, at = [best], best
        for _ in range(_UP):
            if at.tag in _WHOLE or at.tag == "main":
                break
            parent = self._elements[at.parent]
            if self._reading.has_top(at) and at.tag != "article":
                # What is outside of its headline is outside of it, but for other chapters.
                roots += [each for each in self._children(parent) if self._goes_with(each, at)]
                break
            roots += [each for each in self._children(parent) if self._belongs(each, at)]
            at = parent
        return sorted(roots, key=lambda root: root.number)

    def _children(self, parent: Element) -> list[Element]:
        found, number = [], parent.number + 1
        while number < parent.last:
            found.append(self._elements[number])
            number = self._elements[number].last
        return found

    def _belongs(self, child: Element, best: Element) -> bool:
        reading, number = self._reading, child.number
        if child is best or not reading.kept[number] or not reading.size[number]:
            return False
        if child.tag in HEADINGS:
            return number < best.number and child.tag != "h1"
        if reading.links[number] > LINKY * reading.size[number]:
            return False
        if number in reading.boxes or names_of(child) & OF_NOTES:
            return True
        name = like(best)
        if like(child) == name and (name[1] or child.tag == "article"):
            return self._good[number] > 0
        return best.tag != "article" and self._says_as_much(child, best)

    def _goes_with(self, child: Element, best: Element) -> bool:
        """Say whether these are the notes of *best*, or both chapters with their own headlines."""
        if names_of(child) & OF_NOTES:
            return self._belongs(child, best)
        name = like(best)
        is_like = child is not best and like(child) == name and bool(name[1])
        return is_like and self._reading.has_top(child) and self._belongs(child, best)

    def _says_as_much(self, child: Element, best: Element) -> bool:
        number, good = child.number, self._good[child.number]
        if number < best.number and good >= _WORTH and self._reading.has_top(child):
            return True
        if good >= max(_WORTH, _SAME * self._good[best.number]):
            return True
        reading = self._reading
        own = reading.own[number] - reading.own_links[number]  # a paragraph by any other tag
        return (child.tag in PARAGRAPHS and reading.says(number) > _LINE) or own > _LINE


def _is_main(element: Element) -> bool:
    return element.tag == "main" or element.attributes.get("role") == "main"


def _is_marked(element: Element) -> bool:
    return element.tag == "article" or _is_main(element)


def _is_said_to_be_text(element: Element) -> bool:
    names = names_of(element)
    return element.attributes.get("itemprop") == "articleBody" or bool(
        names & _HOLDERS and names & _BODIES
    )
