"""What somebody marked and noted in books, as a Kindle keeps it (``My Clippings.txt``).

Each is the name of the book, a line that says what it is, where and when, in the language of the
device, then the text, down to a line of ten equals signs. Those of one book are a document: an item
each, with that line behind it. A bookmark has no text. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.noted import noted
from kb_core.documents import Enclosure
from kb_core.values import lazy_pattern

__all__ = ["clippings_of", "is_clippings"]

_LOOKED_AT, _LONGEST = 65_536, 1_000
_BEGINS = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?[^\s=][^\n]{0,999}\n- [^\n]{0,200}?\d[^\n]{0,999}\n\r?\n"
)
_ENDS = lazy_pattern(r"(?:^|\n)={10}[ \t]*(?=\n|\Z)")
_BOOK = lazy_pattern(r"(?P<title>.*\S)\s*\((?P<author>[^()]*(?:\([^()]*\))?[^()]*)\)")
_LEAST_LINES = 2


def is_clippings(path: str, data: bytes) -> bool:
    """Say whether a text is such a file: by how it begins, and by the lines that part it."""
    if not path.lower().endswith(".txt") or not _BEGINS.match(data):
        return False
    return _ENDS.search(FileContent(data[:_LOOKED_AT]).text) is not None


def clippings_of(data: bytes) -> Iterator[Enclosure]:
    """Yield what there is of each book, in the order in which they were first marked."""
    books: dict[str, list[str]] = {}
    for part in _ENDS.split(FileContent(data).text):
        lines = part.strip("\ufeff\n \t").split("\n")
        if len(lines) >= _LEAST_LINES and (said := " ".join(" ".join(lines[2:]).split())):
            where = lines[1].strip("-–• \t\u200e")
            books.setdefault(lines[0].strip("\ufeff "), []).append(f"- {said} ({where})")
    for book, items in books.items():
        match = _BOOK.fullmatch(book[:_LONGEST])
        title, author = (match["title"], match["author"]) if match else (book, "")
        yield noted(title, "\n".join(dict.fromkeys(items)), more={"author": author})
