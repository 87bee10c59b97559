"""Links of texts, and tags of Markdown, found in the source, each link with its offset.

Links of Markdown are ``[[target|text]]``, ``[text](target)`` and definitions of labels. Those
to the web, to mail and to places within the same document are no edges and are left out. What
stands in code is not a link. Every pattern is bounded. ``#tags`` and nested ones,
``#area/work``, are found as Obsidian finds them: after white space, of letters, digits and
``_ - /``, not of digits alone, and not in code, links or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from kb_core.documents import Link
from kb_core.text import nfc
from kb_core.values import lazy_pattern

__all__ = ["LINKS_MAX", "links_and_tags", "markup_links"]

LINKS_MAX = 10_000
"""How many links of one document are kept."""

_LINK = lazy_pattern(
    r"""
      \\.                                              # whatever it is, it is not a link
    | \[\[ (?P<wiki>[^\[\]|\n]{1,500}) (?:\|(?P<alias>[^\[\]\n]{0,500}))? \]\]
    | \[ (?P<text>[^\[\]\\]{0,300}(?:\[[^\[\]]{0,100}\][^\[\]\\]{0,300}){0,2}) \]
      \( [ \t]{0,20}
      (?P<target><[^<>\n]{0,1000}>|[^\s()<>]{1,1000}(?:\([^\s()]{0,300}\)[^\s()]{0,300})?)
      (?:\s{1,20}(?:"[^"\n]{0,300}"|'[^'\n]{0,300}'))? [ \t]{0,20} \)
    | (?m:^)[ ]{0,3}\[(?P<label>[^\[\]\n^]{1,200})\]:
      [ \t]{1,20}(?P<defined><[^<>\n]{0,1000}>|[^\s<>]{1,1000})
    """,
    re.VERBOSE,
)
_TAG = lazy_pattern(
    r"(?<!\S)#((?:[\w/-]|[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e]){1,200})"
    r"(?=[\s.,;:!?)\]}\"'*]|$)"
)
_TAGS_MAX = 200
_HTML = lazy_pattern(r"<[^<>]{0,1000}>")
_TARGET, _WORDS = r"(?P<target>[^\s\[\]|][^\[\]|\n]{0,500})", r"(?P<words>[^\[\]|\n]{0,300})"
_ORG = rf"\[\[(?:file:)?(?![*#(]){_TARGET}\](?:\[{_WORDS}\])?\]"
_ASCIIDOC = (
    rf"\b(?:xref|link):(?P<target>[^\s\[\]]{{1,1000}})\[{_WORDS}\]"
    r"|<<(?P<other>[^\s<>,]{1,500})(?:,[ ]?(?P<called>[^<>\n]{0,300}))?>>"
)
_RST = (
    r":doc:`(?:(?P<words>[^`<>\n]{1,300}?)\s{0,9}<)?(?P<target>[^`<>\s][^`<>\n]{0,500})>?`"
    r"|(?<![:`\w])`(?P<called>[^`<>]{1,300}?)\s{1,9}<(?P<other>[^`<>\s]{1,1000})>`_"
)
_MARKUP = {
    "org": ("org", lazy_pattern(_ORG)),
    **dict.fromkeys(("adoc", "asciidoc"), ("asciidoc", lazy_pattern(_ASCIIDOC))),
    "rst": ("rst", lazy_pattern(_RST)),
    "tid": ("wiki", lazy_pattern(rf"\[\[(?:{_WORDS}\|)?{_TARGET}\]\]")),
    **dict.fromkeys(
        ("mediawiki", "wiki", "txt", "text"),
        ("wiki", lazy_pattern(rf"\[\[{_TARGET}(?:\|{_WORDS})?\]\]")),
    ),
}
"""What links of a markup are called, and how they are written, by the ending of a file."""
_IN_A_FILE = lazy_pattern(r"[./#]")
_PAGES = ("txt", "text")
"""Pages of Zim and DokuWiki, in whose links colons part folders."""
_ELSEWHERE = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#|\?")
_BACKTICKS = lazy_pattern("`+")


def links_and_tags(
    text: str, code: Iterable[tuple[int, int]]
) -> tuple[tuple[Link, ...], tuple[str, ...]]:
    """Return the links and the tags of *text* outside the ranges of *code*, in order."""
    has_links = "](" in text or "[[" in text or "]:" in text
    if not has_links and "#" not in text:
        return (), ()
    visible = _blank_out(text, code)
    visible = _blank_out(visible, _code_spans(visible))
    links = tuple(islice(_links(visible, text), LINKS_MAX)) if has_links else ()
    return links, _find_tags(visible, has_links=has_links)


def markup_links(text: str, extension: str) -> tuple[Link, ...]:
    """Return the links of a text in another markup, in order; of a plain text none."""
    kind, pattern = _MARKUP.get(extension, ("", None))
    if pattern is None or not ("[" in text or "`" in text or "<<" in text):
        return ()
    return tuple(islice(_others(pattern.finditer(text), kind, extension), LINKS_MAX))


def _others(matches: Iterable[re.Match[str]], kind: str, extension: str) -> Iterator[Link]:
    for match in matches:
        said = match.groupdict()
        target = (said["target"] or said.get("other") or "").strip()
        words = " ".join((said["words"] or said.get("called") or "").split())
        if kind == "org":
            target = target.partition("::")[0]
        if extension in _PAGES and "://" not in target:
            target = target.lstrip(":+").replace(":", "/")
        # A name without a path is a place within the same text, in AsciiDoc.
        is_within = kind == "asciidoc" and not _IN_A_FILE.search(target)
        if target and not is_within and not _ELSEWHERE.match(target):
            yield Link(kind, target, words or target, match.start())


def _find_tags(visible: str, *, has_links: bool) -> tuple[str, ...]:
    if "#" not in visible:
        return ()
    if has_links:
        visible = _LINK.sub(lambda match: " " * len(match[0]), visible)
    visible = _HTML.sub(lambda match: " " * len(match[0]), visible) if "<" in visible else visible
    found = (match[1].strip("/-") for match in _TAG.finditer(visible))
    tags = (nfc(tag) for tag in found if not tag.isdecimal() and any(map(str.isalnum, tag)))
    kept: dict[str, None] = {}
    for tag in tags:
        kept[tag] = None
        if len(kept) == _TAGS_MAX:  # what follows would be held for nothing
            break
    return tuple(kept)


def _blank_out(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return *text* with the characters of *ranges*, in order, replaced by spaces."""
    pieces: list[str] = []
    at = 0
    for start, end in ranges:
        if start >= at:
            pieces += (text[at:start], " " * (end - start))
            at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _links(visible: str, text: str) -> Iterator[Link]:
    for match in _LINK.finditer(visible):
        kind = match.lastgroup
        if kind is None:
            continue
        start = match.start()
        if (wiki := match["wiki"]) is not None:
            target = wiki.strip().rstrip("\\")
            alias = (match["alias"] or "").strip()
            if target and not target.startswith("#"):
                yield Link("wiki", target, alias or target, start)
            continue
        target = (match["target"] or match["defined"] or "").strip("<>").strip()
        if target and not _ELSEWHERE.match(target):
            label = " ".join((match["text"] or match["label"] or "").split())
            yield Link("markdown", target, label, text.find("[", start))


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges between runs of backticks of one length, in linear time."""
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    partner: dict[int, int] = {}
    after: list[int | None] = [None] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        after[index] = partner.get(end - start)
        partner[end - start] = index
    index = 0
    while index < len(runs):
        closing = after[index]
        # A code span does not reach over a blank line.
        if closing is not None and "\n\n" not in text[runs[index][1] : runs[closing][0]]:
            yield runs[index][0], runs[closing][1]
            index = closing
        index += 1
