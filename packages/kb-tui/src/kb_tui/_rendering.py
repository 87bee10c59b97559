"""Markdown and code as a person reads them, line by line.

Every line of the source stays one line under its own number, so that what is shown is
still what stands there: a heading loses its signs, a link its target, a table gets its
columns. A passage may begin in the middle of a block, which then is read as text.

Styles are names, which the preview gives colours; nothing is told by colour alone, or
it is decoration. To be called on a worker: the first code loads a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from textual.content import Content

from kb_core.values import replace
from kb_tui._passage import Line, Span

__all__ = ["STYLES", "rendered"]

STYLES: Final = (
    *("heading", "strong", "emph", "code", "link", "sign"),
    *("keyword", "string", "comment", "number", "name"),
)
"""Names of the styles."""

Spans: TypeAlias = tuple[Span, ...]

_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^(\s*)[-*+]\s+(?:\[([ xX])\]\s+)?(.*)$")
_QUOTE = re.compile(r"^\s{0,3}>\s?(.*)$")
_RULE = re.compile(r"^\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_BORDER = re.compile(r"^:?-+:?$")
_INLINE = re.compile(
    r"(?P<tick>`+)(?P<code>.+?)(?P=tick)"
    r"|(?P<two>\*\*|__)(?=\S)(?P<strong>.+?)(?<=\S)(?P=two)"
    r"|(?<![\w*])(?P<one>[*_])(?=[^\s*_])(?P<emph>[^*_]+?)(?<=\S)(?P=one)(?![\w*])"
    r"|!?\[\[(?P<wiki>[^\]|]+)(?:\|(?P<alias>[^\]]+))?\]\]"
    r"|!?\[(?P<link>[^\]]*)\]\((?P<target>[^)\s]*)[^)]*\)"
)
_RULE_CELLS = 24
_KINDS = (
    ("Comment", "comment"),
    ("Literal.String", "string"),
    ("String", "string"),
    ("Literal.Number", "number"),
    ("Number", "number"),
    ("Keyword", "keyword"),
    ("Operator.Word", "keyword"),
    ("Name.Class", "name"),
    ("Name.Function", "name"),
    ("Name.Decorator", "name"),
    ("Name.Tag", "keyword"),
    ("Name.Attribute", "name"),
)
"""Names of tokens, as the highlighter has them, and how they are shown."""


def rendered(lines: Sequence[Line], media: str, code_lang: str | None) -> list[Line]:
    """Return the lines of a passage, of that medium and language, as they are read."""
    if media == "code":
        return _code(lines, code_lang or "")
    return list(_markdown(lines)) if media == "markdown" else list(lines)


# ------------------------------------------------------------------ code


def _code(lines: Sequence[Line], language: str) -> list[Line]:
    from textual.highlight import HighlightTheme, highlight

    class Names(HighlightTheme):
        STYLES = {token: _kind(str(token)) for token in HighlightTheme.STYLES}  # noqa: RUF012

    text = "\n".join(line.text for line in lines)
    spans = highlight(text, language=language or "text", theme=Names).spans
    shown, start = [], 0
    for line in lines:
        end = start + len(line.text)
        inside = tuple(
            Span(max(each.start, start) - start, min(each.end, end) - start, str(each.style))
            for each in spans
            if each.start < end and each.end > start and each.style in STYLES
        )
        shown.append(replace(line, spans=inside))
        start = end + 1
    return shown


def _kind(token: str) -> str:
    name = token.removeprefix("Token.")
    return next((kind for start, kind in _KINDS if name.startswith(start)), "")


# ------------------------------------------------------------------ markdown


def _markdown(lines: Sequence[Line]) -> Iterator[Line]:
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at].text)
        if fence is not None:
            end = _end_of(lines, at, fence[1])
            yield _sign(lines[at])
            yield from _code(lines[at + 1 : end], fence[2])
            yield from (_sign(line) for line in lines[end : end + 1])
            at = end + 1
        elif _TABLE.match(lines[at].text):
            end = next((n for n in range(at, len(lines)) if not _TABLE.match(lines[n].text)), -1)
            end = len(lines) if end < 0 else end
            yield from _table(lines[at:end])
            at = end
        else:
            yield _line(lines[at])
            at += 1


def _end_of(lines: Sequence[Line], at: int, fence: str) -> int:
    closing = (n for n in range(at + 1, len(lines)) if lines[n].text.strip().startswith(fence))
    return next(closing, len(lines))


def _sign(line: Line) -> Line:
    return replace(line, spans=(Span(0, len(line.text), "sign"),))


def _line(line: Line) -> Line:
    text = line.text
    if heading := _HEADING.match(text):
        plain, _ = _inline(heading[1])
        return replace(line, text=plain, spans=(Span(0, len(plain), "heading"),))
    if _RULE.match(text):
        return _sign(replace(line, text="─" * _RULE_CELLS))
    before, rest = "", text
    if quote := _QUOTE.match(text):
        before, rest = "▎ ", quote[1]
    elif bullet := _BULLET.match(text):
        box = {" ": "☐ ", "x": "☑ "}.get((bullet[2] or "").lower(), "• ")
        before, rest = bullet[1] + box, bullet[3]
    plain, spans = _inline(rest)
    moved = [Span(s.start + len(before), s.end + len(before), s.style) for s in spans]
    sign = [Span(0, len(before), "sign")] if before else []
    return replace(line, text=before + plain, spans=(*sign, *moved))


def _inline(text: str) -> tuple[str, list[Span]]:
    """Return *text* without the signs inside a line, and what they said of it."""
    shown, spans, at = "", list[Span](), 0
    for match in _INLINE.finditer(text):
        shown += text[at : match.start()]
        at = match.end()
        style, inner = _meant(match)
        spans.append(Span(len(shown), len(shown) + len(inner), style))
        shown += inner
    return shown + text[at:], spans


def _meant(match: re.Match[str]) -> tuple[str, str]:
    for style in ("code", "strong", "emph"):
        if match[style] is not None:
            return style, match[style]
    return "link", match["alias"] or match["wiki"] or match["link"] or match["target"] or ""


def _table(lines: Sequence[Line]) -> Iterator[Line]:
    rows = [[_inline(cell.strip()) for cell in _cells(line.text)] for line in lines]
    told = [row for row in rows if not all(_BORDER.match(text) for text, _ in row)]
    widths = [
        max((Content(row[n][0]).cell_length for row in told if n < len(row)), default=1)
        for n in range(max(len(row) for row in rows))
    ]
    for line, row in zip(lines, rows, strict=True):
        if all(_BORDER.match(text) for text, _ in row):
            yield _sign(replace(line, text="─┼─".join("─" * width for width in widths)))
            continue
        shown, spans = "", list[Span]()
        for n, (text, marked) in enumerate(row):
            if n:
                spans.append(Span(len(shown), len(shown) + 3, "sign"))
                shown += " │ "
            spans += [Span(s.start + len(shown), s.end + len(shown), s.style) for s in marked]
            shown += text + " " * (widths[n] - Content(text).cell_length)
        yield replace(line, text=shown.rstrip(), spans=tuple(spans))


def _cells(text: str) -> list[str]:
    return re.split(r"(?<!\\)\|", text.strip().strip("|"))
