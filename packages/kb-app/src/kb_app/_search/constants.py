"""Names that code spells: which documents hold one, and the lines that give constants values.

The index knows in which passages the words of a name stand side by side, so that nothing else
is looked through.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kb_app._search.grep import grep
from kb_app._search.hits import Freshness
from kb_core.filters import And, Filter, OneOf, Or, Words
from kb_core.media import Media
from kb_core.ports import IndexSnapshot
from kb_core.search import Clause, Constant, GrepQuery, LexicalQuery, SearchFilters

__all__ = ["beginning", "constants", "naming", "spelling"]

_MOST_PASSAGES = 300
"""Where more of them have a constant, its value is only looked for in the same document."""
_MOST_NAMES = 24
"""Names that are looked up at once; what is shown uses few."""
_MOST_LINES = 200
_GIVES = (
    r"^\s*(?:(?:[\w<>\[\]]+\s+){0,4}\b(?:%s)\b\s*(?::[^=]*)?=\s*(?:[^=\s(\[{]|[^=\s].*[^\s(\[{])\s*$"
    r"|#\s*define\s+(?:%s)\s+\S)"
)
"""A line that gives one of these names a value, and more of it than an opening bracket."""
_DEFINING = (
    *("class", "const", "def", "enum", "fn", "func", "function", "interface", "let", "module"),
    *("static", "struct", "sub", "trait", "type", "var", "void"),
)
"""Words that stand before a name where it is defined, in most languages."""
_CODE = SearchFilters(media=(Media.CODE.value,))


def spelling(snapshot: IndexSnapshot, name: str, most: int) -> OneOf | None:
    """Return what passes the documents of code with a passage that has the words of *name*.

    Side by side, as code spells it. ``None`` where more than *most* have, or nothing could tell.
    """
    is_word = any(map(str.isalnum, name))
    return _holding(snapshot, name, _phrases([name]), most) if is_word else None


def naming(snapshot: IndexSnapshot, name: str, most: int) -> OneOf | None:
    """Return what passes the documents of code with a passage that defines *name*.

    In whichever case. ``None`` where no passage does, or more than *most* do.
    """
    found = _holding(snapshot, name, Words("name", name), most)
    return found if found and found.values else None


def beginning(snapshot: IndexSnapshot, name: str, most: int) -> OneOf | None:
    """Return what passes the documents of code where a word that defines stands before *name*.

    ``None`` where no passage has such a word before it, or more than *most* have.
    """
    found = _holding(snapshot, name, _phrases(f"{word} {name}" for word in _DEFINING), most)
    return found if found and found.values else None


def _phrases(phrases: Iterable[str]) -> Filter:
    return Or(tuple(Words("body", phrase, phrase=True) for phrase in phrases))


def _holding(snapshot: IndexSnapshot, name: str, held: Filter, most: int) -> OneOf | None:
    where = And((OneOf("media", _CODE.media), held))
    found = snapshot.lexical(LexicalQuery((Clause(name, phrase=True),)), where, most + 1)
    if len(found) > most:
        return None
    parents = snapshot.parents([one.chunk_key for one in found])
    return OneOf("doc_key", tuple(sorted({parent.doc_key for parent in parents.values()})))


def constants(
    snapshot: IndexSnapshot, path: str, names: Collection[str], fresh: Freshness
) -> dict[str, Constant]:
    """Return the lines that give *names* their values for whoever reads the document at *path*.

    In that document, else where one document of code alone gives such a name a value.
    """
    within = {name: spelling(snapshot, name, _MOST_PASSAGES) for name in [*names][:_MOST_NAMES]}
    known: dict[str, dict[str, Constant]] = {name: {} for name in within}
    either = "|".join(map(re.escape, within))
    query = GrepQuery(
        pattern=_GIVES % (either, either), case="exact", max_lines=_MOST_LINES, filters=_CODE
    )
    places = OneOf("path", (path,)), *filter(None, within.values())
    which = re.compile(rf"\b(?:{either})\b")
    for file in grep(snapshot, query, fresh, within=Or(places))["files"] if within else ():
        for line in file["lines"]:
            if given := which.search(line["text"]):
                value = Constant(file["doc_path"], line["line"], line["text"].strip())
                known[given[0]].setdefault(file["doc_path"], value)
    found = {}
    for name, values in known.items():
        if path in values:
            found[name] = values[path]
        elif len(values) == 1 and within[name] is not None:
            found[name] = next(iter(values.values()))
    return found
