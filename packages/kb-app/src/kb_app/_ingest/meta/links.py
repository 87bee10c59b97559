"""Links between documents, as written in Markdown: ``[[target|text]]``, ``[text](target)``.

Links to the web, to mail and to places within the same document are no edges and are left
out. What stands in code is not a link. Offsets are those of the text that was given. Every
pattern is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kb_core.documents import Link

__all__ = ["LINKS_MAX", "blank_out", "find_links"]

LINKS_MAX = 10_000
"""How many links of one document are kept."""

_LINK = re.compile(
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
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#|\?")
_BACKTICKS = re.compile("`+")


def find_links(text: str, code: Iterable[tuple[int, int]]) -> tuple[Link, ...]:
    """Return the links of *text* outside the ranges of *code*, in order."""
    if "](" not in text and "[[" not in text and "]:" not in text:
        return ()
    visible = blank_out(text, code)
    visible = blank_out(visible, _code_spans(visible))
    links = []
    for link in _links(visible, text):
        links.append(link)
        if len(links) == LINKS_MAX:
            break
    return tuple(links)


def blank_out(text: str, ranges: Iterable[tuple[int, int]]) -> str:
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
