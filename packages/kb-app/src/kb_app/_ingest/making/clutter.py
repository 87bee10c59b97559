"""What of a page is beside the point: menus, footers, what is called like one, talk, teasers.

Nothing is, that holds so much of the words that it must be the page itself. ``Reading`` has the
numbers that tell: how much each element says, and how much of that is links. Sizes are
characters, of which those of wide scripts count twice. Linear in the input.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate

from kb_app._ingest.making.markup import BLOCKS, HEADINGS, Element, Markup, tags, visible

__all__ = ["LINKY", "MUCH", "OF_NOTES", "PARAGRAPHS", "Reading", "like", "names_of"]

PARAGRAPHS = tags("p li dd dt blockquote pre td th figcaption summary caption")
"""What holds prose itself, and no other prose."""
MUCH = 0.4
"""What holds this part of a page's words is not beside the point, whatever it is called."""
LINKY = 0.65
"""What is links to this part leads elsewhere."""
_BESIDE = tags("nav footer aside form dialog button menu search")
_FEET = tags("nav footer")
_BESIDE_ROLES = tags(
    "navigation banner contentinfo complementary search dialog alert alertdialog menu menubar "
    "toolbar tablist"
)
_NAMES = tags(
    "about-author ad ads advert advertisement advertising adverts author-bio author-box authorbox "
    "backtotop banner bio bottom breadcrumb breadcrumbs byline catlinks consent cookie cookies "
    "copyright crumbs disclaimer donate editsection foot footer followus gdpr hatnote lineno "
    "linenos linenumbers login masthead menu metadata modal mw-editsection nav navbar navbox "
    "navigation newsletter noprint outbrain overlay pager pagination popular popup printfooter "
    "promo promos promoted promotion rail recirc recirculation recommend recommendation "
    "recommendations recommended related share sharebar shared shares sharing shoutbox sidebar "
    "sidebars signin signup skip social socials sponsor sponsored sponsors subscribe subscription "
    "taboola tags teasers toc toolbar tooltip topbar trending widget widgets"
)
"""What is beside the point is called so."""
_BOXES, _OF_BOXES = tags("div aside"), tags("sidebar sidebars")
OF_NOTES = tags("footnote footnotes footnote-list")
_FEW = 0.3
"""What is links to this part is text."""
_COMMENTS = tags("comment comments commentlist discussion disqus livefyre replies respond")
_SMALL = tags(
    "author categories category counter credit credits date dateline details info meta posted "
    "published rating ratings time timestamp views"
)
"""What is called so is a line of who and when, where it is no longer than one."""
_LISTS = tags("ul ol div table section p dl")
_CARDS = tags("div li article section a")
_ANSWERS = frozenset({"reply", "answer", "antworten", "répondre", "responder", "rispondi",
                      "ответить", "답글", "답변", "返信", "回复", "回覆", "reageren", "svara",
                      "odpowiedz"})  # fmt: skip
_CALLS = re.compile(
    r"advertisement|sponsored(?: content)?|tweet(?: this)?|loading(?:\.\.\.|…)?|\d+ comments?"
    r"|(?:share|email|print|save)(?: this)?(?: (?:article|story|page|post))?"
    r"|share (?:on|via|to) (?:facebook|twitter|x|linkedin|whatsapp|reddit|email)\W*"
    r"|(?:follow|like) us\b.{0,60}|skip to (?:main )?(?:content|navigation)"
    r"|(?:also read|read (?:more|also|next)|related)(?: (?:articles|stories|posts|news|topics))?"
    r"(?::.{0,120})?|more (?:on this(?: story)?|from (?:this author|our .{0,40}))"
    r"|(?:sign up|subscribe)\b.{0,60}\b(?:newsletters?|channel|podcast|updates)\b.{0,60}"
    r"|log in to (?:comment|reply|continue|post)\b.{0,60}"
    r"|.{0,40}all rights reserved\W*.{0,60}|(?:copyright|©|\(c\)).{0,100}"
    r"|(?:photo|foto)s?(?: by| credit)?:.{0,80}|(?:image|picture) (?:by|credits?):.{0,80}",
    re.IGNORECASE,
)
"""Lines that only call on the reader, or say whose a picture or a page is."""
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_OF_PROGRAMS = re.compile(
    r"(?:tag|category|type|status|format|post|author|has|is|no|with|without)-|elementor|wp-block|"
    r"vc_|et_pb|js-",
    re.IGNORECASE,
)
_NO_WORD = re.compile(r"[\W_]+")
_COMMA = re.compile("[,、，،;；。]")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENOUGH, _ENOUGH_NAMED = 600, 200
"""So much prose has to stand before what readers say, for that to be said of it."""
_LONG_LIST, _HEADLINE, _FEW_LINKS = 1_500, 22, 2
_LEAST, _LEAST_LINKLESS, _MOST_SMALL, _LIKE, _LOOKS, _NEXT = 25, 20, 160, 3, 40, 6


class Reading:
    """A page with its numbers by element; ``kept`` says of each whether it is kept."""

    def __init__(self, page: Markup, kept: list[bool]) -> None:
        self.page = page
        self.kept = kept
        self.boxes: set[int] = set()
        """What looks like something beside the page, and is part of its text."""
        self.size: list[int] = []
        self.links: list[int] = []
        self.own: list[int] = []
        self.own_links: list[int] = []
        self._commas: list[int] = []
        self._contents: list[Element] = []
        leading = (each.tag == "a" and _leads(each) for each in page.elements)
        self._tops = [0, *accumulate(each.tag == "h1" for each in page.elements)]
        self._leading = [0, *accumulate(leading)]
        self._measured = [self._length(run.text) for run in page.runs]
        self.measure()

    def has_top(self, element: Element) -> bool:
        """Say whether the headline of a page is in *element*."""
        return self._tops[element.last] > self._tops[element.number]

    def says(self, number: int) -> int:
        """Return how much of an element is no link."""
        return self.size[number] - self.links[number]

    def paragraphs(self) -> Iterable[tuple[int, float]]:
        """Yield elements that hold prose themselves, with how much that is worth."""
        for element in self.page.elements:
            number = element.number
            size, linkless = self.own[number], self.own[number] - self.own_links[number]
            if size < _LEAST or linkless < _LEAST_LINKLESS or linkless * 2 < size:
                continue
            if element.tag in HEADINGS:
                continue
            most = 3.0 if element.tag in PARAGRAPHS else 20.0
            yield number, 1 + min(most, linkless / 100) + min(3, self._commas[number])

    def measure(self) -> None:
        """Add up what is kept, from the innermost elements out."""
        elements, count = self.page.elements, len(self.page.elements)
        self.size, self.links, self.own, self.own_links = ([0] * count for _ in range(4))
        self._commas = [0] * count
        block, is_link = [0] * count, [False] * count
        for element in elements[1:]:
            number, parent = element.number, element.parent
            self.kept[number] = self.kept[number] and self.kept[parent]
            block[number] = number if element.tag in BLOCKS else block[parent]
            is_link[number] = is_link[parent] or (element.tag == "a" and _leads(element))
        for run, size in zip(self.page.runs, self._measured, strict=True):
            if not size or not self.kept[run.parent]:
                continue
            self.size[run.parent] += size
            self.own[block[run.parent]] += size
            if is_link[run.parent]:
                self.links[run.parent] += size
                self.own_links[block[run.parent]] += size
            else:
                self._commas[block[run.parent]] += len(_COMMA.findall(run.text))
        for element in reversed(elements[1:]):
            self.size[element.parent] += self.size[element.number]
            self.links[element.parent] += self.links[element.number]

    @staticmethod
    def _length(text: str) -> int:
        if text.isspace():
            return 0
        words = " ".join(text.split()) if "\n" in text or "  " in text else text.strip()
        return len(words) + (0 if words.isascii() else len(_WIDE.findall(words)))

    def drop_beside(self) -> None:
        """Drop what is beside the point by its element, role or name, and talk about the page."""
        total = max(1, self.says(0))
        talk: list[Element] = []
        last = dict[int, int]()
        for element in self.page.elements[1:]:
            number = element.number
            if not self.kept[number] or element.tag in {"html", "body", "main"}:
                continue
            before = last.get(element.parent, 0)
            last[element.parent] = number if self.size[number] else before
            if self._is_of_text(element, before):
                self.boxes.add(number)
                continue
            is_small = self.says(number) < MUCH * total
            is_foot = element.tag in _FEET and self.says(number) < total - _LEAST
            if (is_small or is_foot) and _is_beside(element):
                self.kept[number] = False
            elif names := names_of(element):
                self._drop_named(element, names, talk, is_small=is_small)
        self.measure()
        self._drop_talk(talk, _ENOUGH_NAMED)
        self._drop_talk(self._answered(), _ENOUGH)

    def _is_of_text(self, element: Element, before: int) -> bool:
        """Say whether what may be beside a page is part of its text.

        Such as a box between two paragraphs, which manuals call ``sidebar``, or its notes;
        *before* is what stands before it and says something.
        """
        number = element.number
        if self.size[number] < _LEAST or self.links[number] > _FEW * self.size[number]:
            return False
        if element.tag not in _BOXES or (names := names_of(element)) & _NAMES - _OF_BOXES:
            return False
        if element.tag == "aside" and names & OF_NOTES:
            return True
        if not names & _OF_BOXES:
            return False
        after = self._next(element)
        return before in self.boxes or any(
            self.own[each] - self.own_links[each] >= _LEAST for each in (before, after)
        )

    def _next(self, element: Element) -> int:
        """Return what stands behind an element, beside it, and says something; else 0."""
        at, end = element.last, self.page.elements[element.parent].last
        for _ in range(_NEXT):
            if at >= end:
                break
            if self.size[at]:
                return at
            at = self.page.elements[at].last
        return 0

    def _drop_named(
        self, element: Element, names: frozenset[str], talk: list[Element], *, is_small: bool
    ) -> None:
        number = element.number
        if element.tag == "article" or element.tag in HEADINGS or _holds_article(element):
            return
        if self._is_called_as_headed(element):
            return
        if is_small and names & _NAMES:
            self.kept[number] = False
            self._contents += [element] if "toc" in names else []
        elif names & _COMMENTS and element.tag in BLOCKS:
            if not (talk and number < talk[-1].last):
                talk.append(element)
        elif names & _SMALL and self.size[number] < _MOST_SMALL and element.tag in BLOCKS:
            self.kept[number] = False

    def _is_called_as_headed(self, element: Element) -> bool:
        """Say whether an element has its name from its heading: that says what it is about."""
        name = element.attributes.get("id", "").lower()
        inside = self.page.elements[element.number + 1 : min(element.last, element.number + _NEXT)]
        heading = next((each for each in inside if each.tag in HEADINGS), None) if name else None
        if heading is None:
            return False
        links = (each.attributes.get("href", "").lower() for each in self.page.within(heading))
        if f"#{name}" in links:
            return True
        slug = _NO_WORD.sub("-", self.page.text_of(heading).lower()).strip("-")
        return "-" in name and slug.startswith(_NO_WORD.sub("-", name))

    def restore_contents(self) -> None:
        """Keep tables of contents after all: they are what the page says."""
        for element in self._contents:
            self.kept[element.number : element.last] = visible(self.page)[
                element.number : element.last
            ]

    def _drop_talk(self, talk: Sequence[Element], enough: int) -> None:
        """Drop what readers said, where there is enough before it that they said it of."""
        if not talk:
            return
        first = min(each.number for each in talk)
        before = (number for number, _ in self.paragraphs() if number < first)
        if sum(self.own[number] for number in before) < enough:
            return
        for element in talk:
            self.kept[element.number] = False
        self.measure()

    def _answered(self) -> list[Element]:
        """Return what stands beside each other and can each be answered."""
        groups: defaultdict[tuple[int, str, str], set[int]] = defaultdict(set)
        prose = [0] * (len(self.page.elements) + 1)
        for number, _ in self.paragraphs():
            prose[number + 1] = 1
        prose = [*accumulate(prose)]
        for element in self.page.elements[1:]:
            if element.tag not in {"a", "button"} or element.end - element.first != 1:
                continue
            if self.page.text_of(element).lower() not in _ANSWERS:
                continue
            item = self.page.elements[element.parent]
            while item.number and prose[item.last] == prose[item.number]:
                item = self.page.elements[item.parent]
            groups[(item.parent, *like(item))].add(item.number)
        found = (items for items in groups.values() if len(items) >= _LIKE)
        return [self.page.elements[number] for items in found for number in sorted(items)]

    def teasers(self) -> set[int]:
        """Return what is in teasers: built alike, three times and more, each with a headline."""
        found: set[int] = set()
        for alike in self._alike(self.page.elements[1:]):
            for each in alike:
                found.update(range(each.number, each.last))
        return found

    def drop_within(self, roots: Sequence[Element]) -> None:
        """Drop lists of links and of teasers, and calls, inside the main text."""
        whole = sum(self.size[root.number] for root in roots)
        for root in roots:
            for element in self.page.within(root):
                number = element.number
                if self.kept[number] and self._is_list_of_headlines(element):
                    self.kept[number] = False
            self._drop_teasers(root, whole)
        self.drop_calls()

    def drop_calls(self) -> None:
        """Drop short lines that only call on the reader."""
        for element in self.page.elements[1:]:
            number = element.number
            if not self.kept[number] or not 0 < self.size[number] < _MOST_SMALL:
                continue
            is_line = element.tag in BLOCKS and element.tag not in HEADINGS
            if is_line and _CALLS.fullmatch(self.page.text_of(element)):
                self.kept[number] = False

    def _is_list_of_headlines(self, element: Element) -> bool:
        number, size = element.number, self.size[element.number]
        if element.tag not in _LISTS or not 0 < size < _LONG_LIST:
            return False
        if self.links[number] <= LINKY * size:
            return False
        count = self._leading[element.last] - self._leading[number]
        is_line = count > _FEW_LINKS and size - self.links[number] < _LEAST
        is_line = is_line and element.tag in {"p", "div"} and self.own[number] > 0
        return is_line or self.links[number] >= _HEADLINE * max(1, count)

    def _drop_teasers(self, root: Element, whole: int) -> None:
        """Drop what is built alike, three times and more, and leads elsewhere by its headline."""
        for alike in self._alike(self.page.within(root)):
            if sum(self.size[each.number] for each in alike) < MUCH * whole:
                for each in alike:
                    self.kept[each.number] = False

    def _alike(self, elements: Sequence[Element]) -> Iterable[list[Element]]:
        """Yield teasers that stand beside each other and are built alike."""
        groups: defaultdict[tuple[int, str, str], list[Element]] = defaultdict(list)
        for element in elements:
            if self.kept[element.number] and element.tag in _CARDS and self._is_teaser(element):
                groups[(element.parent, *like(element))].append(element)
        return (alike for alike in groups.values() if len(alike) >= _LIKE)

    def _is_teaser(self, element: Element) -> bool:
        number = element.number
        return (
            self.says(number) < 2 * _MOST_SMALL
            and self.links[number] >= _LEAST_LINKLESS
            and any(
                each.tag in HEADINGS
                for each in self.page.elements[number + 1 : min(element.last, number + _LOOKS)]
            )
        )


def like(element: Element) -> tuple[str, str]:
    """Return how an element is built, as far as its tag and its first name tell."""
    return element.tag, (element.attributes.get("class", "").split() or [""])[0]


def names_of(element: Element) -> frozenset[str]:
    """Return the words of which an element's class and id are made."""
    given = element.attributes
    if "class" not in given and "id" not in given:
        return frozenset()
    return _words_of(f"{given.get('class', '')} {given.get('id', '')}")


@lru_cache(maxsize=4096)
def _words_of(names: str) -> frozenset[str]:
    """Return the words of *names*: those that hyphens part, and each alone.

    What programs write down of a text or of their own parts is no name of what it is for.
    """
    written = " ".join(name for name in names[:500].split() if not _OF_PROGRAMS.match(name))
    found = set(_WORD.findall(_CAMEL.sub(r"\1-\2", written).lower()))
    return frozenset(found | {part for name in found for part in name.split("-")})


def _leads(element: Element) -> bool:
    return "href" in element.attributes and not element.attributes["href"].startswith("#")


def _is_beside(element: Element) -> bool:
    given = element.attributes
    return (
        element.tag in _BESIDE
        or given.get("role", "") in _BESIDE_ROLES
        or given.get("aria-hidden") == "true"
    )


def _holds_article(element: Element) -> bool:
    return element.attributes.get("itemprop") == "articleBody"
