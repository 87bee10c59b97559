"""Links between documents: where those of one lead, and which of others lead to it.

A path is followed first, as a browser would. What names a note, as links of wikis do, is looked
for among the names of files, then aliases, then titles; of several the nearest is meant: in the
same source, the same folder, the fewest folders deep. That is how Obsidian finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cache
from typing import TYPE_CHECKING, Any

from kb_app._media import has_lines
from kb_app._search.lookup import document_named
from kb_core import wire
from kb_core.citations import Citation, LineSpan, citation_of
from kb_core.filters import OneOf, Words, all_of
from kb_core.linking import (
    called,
    given_names,
    is_by_name,
    last_names,
    paths_meant,
    spelled,
    target_of,
)
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_search.snippets import word_end, word_start

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["links_in", "links_out"]

_EXCERPT = 200
"""Characters of a line that are shown around a link."""
_SAME_TITLE = 50
"""So many documents with the words of a title are looked at."""

Link = Mapping[str, Any]


def links_out(snapshot: IndexSnapshot, text: str, limit: int, offset: int) -> types.LinkList:
    """Return link_list.v1: a page of the links of what *text* names, and where they lead."""
    doc = document_named(snapshot, text)
    leads, places = _Leads(snapshot), _Places(snapshot)
    links = [link for link in doc["links"] if target_of(link)]
    page = links[offset : offset + limit]
    items = [wire.link_item(link, leads.to(doc, link), *places.of(doc, link)) for link in page]
    return wire.link_list(doc, items, direction="out", total=len(links))


def links_in(snapshot: IndexSnapshot, text: str, limit: int, offset: int) -> types.LinkList:
    """Return link_list.v1: a page of the links of others that lead to what *text* names."""
    doc = document_named(snapshot, text)
    places = _Places(snapshot)
    found = list(_leading_to(snapshot, doc))
    page = found[offset : offset + limit]
    items = [wire.link_item(link, other, *places.of(other, link)) for other, link in page]
    return wire.link_list(doc, items, direction="in", total=len(found))


def _leading_to(snapshot: IndexSnapshot, doc: StoredDoc) -> Iterator[tuple[StoredDoc, Link]]:
    """Yield the documents with links that lead to *doc*, and these links, in order."""
    names = {*called(doc["path"], _given(doc)), spelled(doc["title"])} - {""}
    leads = _Leads(snapshot, doc, names)
    for other in snapshot.docs_linking(sorted(names)):
        if other["doc_id"] != doc["doc_id"]:
            for link in other["links"]:
                found = leads.to(other, link)
                if found is not None and found["doc_id"] == doc["doc_id"]:
                    yield other, link


def _given(doc: StoredDoc) -> list[str]:
    return given_names(doc["aliases"], doc["metadata"])


class _Leads:
    """Tells where links lead in one snapshot.

    With a document that is *expected*, which has *names*, nothing is looked up for a link that is
    certain to lead to it, or to another, which is told as to none.
    """

    def __init__(
        self,
        snapshot: IndexSnapshot,
        expected: StoredDoc | None = None,
        names: AbstractSet[str] = frozenset(),
    ) -> None:
        self._snapshot = snapshot
        self._expected, self._names = expected, names
        self._called = cache(self._docs_called)
        self._titled = cache(self._docs_titled)

    def to(self, doc: StoredDoc, link: Link) -> StoredDoc | None:
        """Return the document that a link of *doc* leads to, if there is one."""
        target = target_of(link)
        by_path = link.get("kind") != "wiki" or target.startswith((".", "/"))
        paths = paths_meant(doc["path"], link) if by_path else []
        if (expected := self._expected) is not None:
            if paths[:1] == [expected["path"]] and doc["source_id"] == expected["source_id"]:
                return expected
            if expected["path"] not in paths and self._names.isdisjoint(last_names(target)):
                return None
        if paths and (found := self._at(doc["source_id"], paths)):
            return found
        if not target or not is_by_name(link):
            return None
        return self._nearest(doc, target)

    def _at(self, source: str, paths: Sequence[str]) -> StoredDoc | None:
        """Return the document at the first of *paths* that has one."""
        where = all_of([OneOf("source_id", (source,)), OneOf("path", tuple(paths))])
        found = {doc["path"]: doc for doc in self._snapshot.docs(where)}
        return next((found[path] for path in paths if path in found), None)

    def _nearest(self, doc: StoredDoc, target: str) -> StoredDoc | None:
        """Return the nearest to *doc* of the documents that *target* names."""
        named = map(spelled, target.split("/"))
        parts = [name for name in named if name not in {"", ".", ".."}]
        if not parts:
            return None
        known = [(how, each) for each in self._called(parts[-1]) if (how := _way(each, parts))]
        if not known and len(parts) == 1:
            known = [(1, each) for each in self._titled(target)]
        folder = _folder(doc["path"])

        def distance(found: tuple[int, StoredDoc]) -> tuple[object, ...]:
            how, each = found
            return (
                each["source_id"] != doc["source_id"],
                how,
                each["media"] != Media.MARKDOWN,
                _folder(each["path"]) != folder,
                each["path"].count("/"),
                each["path"],
            )

        return min(known, key=distance, default=(0, None))[1]

    def _docs_called(self, name: str) -> Sequence[StoredDoc]:
        return self._snapshot.docs_called(last_names(name))

    def _docs_titled(self, title: str) -> Sequence[StoredDoc]:
        some = self._snapshot.docs(Words("title", title))[:_SAME_TITLE]
        return [doc for doc in some if spelled(doc["title"]) == spelled(title)]


def _way(doc: StoredDoc, parts: Sequence[str]) -> int:
    """Return how a document is named by the end of a path, 1 the best, and 0 if it is not.

    By its file with the ending, by its file, by an alias, or by the folder that it is the page of.
    """
    *folders, name = parts
    own = [spelled(part) for part in doc["path"].split("/")]
    if own[-1 - len(folders) : -1] == folders:
        if own[-1] == name:
            return 1
        if own[-1].rpartition(".")[0] == name:
            return 2
        if not folders and name in map(spelled, _given(doc)):
            return 3
    is_page = name in called(doc["path"]) and own[-2:-1] == [name]
    return 4 if is_page and own[-1 - len(parts) : -1] == parts else 0


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


class _Places:
    """Tells where links stand."""

    def __init__(self, snapshot: IndexSnapshot) -> None:
        self._chunks = cache(snapshot.doc_chunks)

    def of(self, doc: StoredDoc, link: Link) -> tuple[Citation | None, str]:
        """Return the place of a link of *doc*, its line where there are any, and what is there."""
        start = link.get("start")
        if start is None:
            return None, ""
        held = (c for c in self._chunks(doc["doc_id"]) if c["start"] <= start < c["end"])
        chunk = next(held, None)
        if chunk is None:
            return None, ""
        at = start - chunk["start"]
        if not has_lines(doc):
            return citation_of(chunk), _excerpt(chunk, at)
        line = chunk["line_start"] + chunk["text"].count("\n", 0, at)
        return Citation(doc["path"], LineSpan(line, line)), _excerpt(chunk, at)


def _excerpt(chunk: StoredChunk, at: int) -> str:
    """Return the line of a passage at an offset; of a long one, whole words around it."""
    text = chunk["text"]
    first = text.rfind("\n", 0, at) + 1
    line, at = text[first:].partition("\n")[0], at - first
    if len(line) <= _EXCERPT:
        return " ".join(line.split())
    begin = word_start(line, max(0, at - _EXCERPT // 2), at)
    end = word_end(line, at, begin + _EXCERPT)
    shown = " ".join(line[begin:end].split())
    return f"{'…' if begin else ''}{shown}{'…' if end < len(line) else ''}"
