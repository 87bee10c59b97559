"""What the constants are that shown lines of code use: the lines that give them their values.

Who reads ``if age > _AT_THE_LATEST`` asks next what that is, which costs another call. So of
the names in capitals that are shown and not given a value there, the line that does is looked
up: in the same file, else where one file alone defines such a name. All names of an answer are
looked up at once, since each look goes through the texts of all code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice

from kb_app import KnowledgeBase
from kb_core.errors import KbError
from kb_core.media import Media
from kb_core.search import GrepQuery, SearchFilters
from kb_mcp.text.telling import Value, constants_used

__all__ = ["Constants"]

_MOST_NAMES = 64
"""Names that are looked up at once; what is shown uses few."""
_MOST_LINES = 200
_GIVES = (
    r"^\s*(?:(?:[\w<>\[\]]+\s+){0,4}\b(?:%s)\b\s*(?::[^=]*)?=\s*(?:[^=\s(\[{]|[^=\s].*[^\s(\[{])\s*$"
    r"|#\s*define\s+(?:%s)\s+\S)"
)
"""A line that gives one of these names a value, and more of it than an opening bracket."""


class Constants:
    """Looks constants up in one knowledge base, each once."""

    def __init__(self, kb: KnowledgeBase, answer: object = None) -> None:
        """Be ready for what the passages of *answer*, a response, use."""
        self._kb = kb
        self._answer = answer
        self._known: dict[str, dict[str, Value]] = {}
        """The first line that defines a name, by name and path."""

    def __call__(self, path: str, names: Collection[str]) -> Mapping[str, Value]:
        """Return the lines that define *names* for whoever reads the document at *path*."""
        self._look_up(names)
        found = {}
        for name in names:
            places = self._known.get(name, {})
            if path in places:
                found[name] = places[path]
            elif len(places) == 1:
                found[name] = next(iter(places.values()))
        return found

    def _look_up(self, names: Collection[str]) -> None:
        asked = [name for name in names if name not in self._known]
        if not asked:
            return
        others = (name for text in _code_of(self._answer) for name in constants_used(text))
        missing = sorted(islice(dict.fromkeys((*asked, *others)), _MOST_NAMES))
        self._answer = None
        self._known |= {name: {} for name in missing}
        either = "|".join(map(re.escape, missing))
        query = GrepQuery(
            pattern=_GIVES % (either, either),
            case="exact",
            max_lines=_MOST_LINES,
            filters=SearchFilters(media=(Media.CODE.value,)),
        )
        which = re.compile(rf"\b(?:{either})\b")
        with suppress(KbError):  # the answer is whole without
            for file in self._kb.grep(query)["files"]:
                for line in file["lines"]:
                    if name := which.search(line["text"]):
                        value = Value(file["doc_path"], line["line"], line["text"].strip())
                        self._known[name[0]].setdefault(file["doc_path"], value)


def _code_of(answer: object) -> Iterator[str]:
    """Yield the passages of code of a response."""
    if isinstance(answer, Mapping):
        passage = answer.get("passage")
        if passage is not None and answer.get("media") == Media.CODE.value:
            yield passage["text"]
        for part in answer.values():
            yield from _code_of(part)
    elif isinstance(answer, list | tuple):
        for part in answer:
            yield from _code_of(part)
