"""HTML to text, as a reader sees it: for what comes inside other formats, such as mails.

Nothing is judged to be beside the point: what is shown is kept, one block a line. Whatever
the input, there is a text; what is never shown (scripts, styles, hidden elements) is not in it.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

__all__ = ["text_of_html"]


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_BLOCKS = _tags(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol option p pre "
    "section summary table tbody tfoot thead tr ul"
)
_APART = _tags("blockquote dl h1 h2 h3 h4 h5 h6 ol p pre table ul")
"""What has a blank line around it."""
_DROPPED = _tags("head script style template noscript svg math object canvas")
_VOID = _tags("area base br col embed hr img input link meta param source track wbr")
_CELLS = frozenset({"td", "th"})
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE
)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANKS = re.compile(r"\n{3,}")
_DEEPEST = 5_000


def text_of_html(source: str) -> str:
    """Return what *source* shows."""
    reader = _Reader()
    try:
        reader.feed(source)
        reader.close()
    except AssertionError:  # what the parser of the standard library makes of some nonsense
        pass
    lines = (line.rstrip(" \t") for line in "".join(reader.out).split("\n"))
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip("\n")


class _Reader(HTMLParser):
    """Writes the text down while it is read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.out: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """Elements that are open, and whether they begin something that is not shown."""
        self._dropped = 0
        self._pre = 0
        self._owed = ""
        """A blank that is written before the next word, if there is one."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._write("\n")
        elif tag in _CELLS:
            self._cell()
        elif tag in _BLOCKS:
            self._break(tag)
            if tag == "li" and not self._dropped:
                self._write("- ")
        if tag in _VOID:
            return
        drops = tag in _DROPPED or _is_hidden(attrs)
        if len(self._open) < _DEEPEST:
            self._open.append((tag, drops))
            self._dropped += drops
            self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, _ in self._open[-100:]):
            return
        while self._open:
            name, drops = self._open.pop()
            self._dropped -= drops
            self._pre -= name == "pre"
            if name == tag:
                break
        if tag in _BLOCKS:
            self._break(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._pre:
            self._write(data.replace("\r", ""))
            return
        for number, words in enumerate(_SPACE.split(data)):
            if number:
                self._owed = " "
            if words:
                self._write(words)

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name};")

    def _reference(self, written: str) -> None:
        if not self._dropped:
            self._write(html.unescape(written).replace("\xa0", " "))

    def _write(self, text: str) -> None:
        if self._dropped:
            return
        begins = not self.out or self.out[-1].endswith(("\n", " ", "\t")) or text[:1] == "\n"
        if self._owed and not begins:
            self.out.append(self._owed)
        self._owed = ""
        self.out.append(text)

    def _break(self, tag: str) -> None:
        self._owed = ""
        if self._dropped or not self.out:
            return
        if tag in _APART:
            self.out.append("\n" if self.out[-1].endswith("\n") else "\n\n")
        elif not self.out[-1].endswith(("\n", "- ")):
            self.out.append("\n")

    def _cell(self) -> None:
        self._owed = ""
        if not self._dropped and self.out and not self.out[-1].endswith("\n"):
            self.out.append("\t")


def _is_hidden(attrs: list[tuple[str, str | None]]) -> bool:
    given = dict(attrs)
    return "hidden" in given or bool(_HIDDEN.search(given.get("style") or ""))
