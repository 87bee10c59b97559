"""Translations of one text: of those in a list, that in the question's language comes first.

They are known by their paths, which differ in the code of a language alone: ``docs/fr/a.md`` and
``docs/en/a.md``, ``a.de.adoc`` and ``a.adoc``. Names, what nobody translated and words that
languages share stand in all of them, so that it is chance which one a search by words finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb_app._search.ranking import reweighed
from kb_app._search.roles import role_of
from kb_core.search import FileRole
from kb_core.text import in_any_language
from kb_search.asking import asked_in

if TYPE_CHECKING:
    from kb_app._search.ranking import Row
    from kb_core.ports import StoredChunk

__all__ = ["in_its_language", "of_other_languages"]

_ANOTHER = 0.7
"""What counts of the score of a translation, beside the text in the language of the question."""


def in_its_language(
    head: Sequence[Row], chunks: Mapping[int, StoredChunk], query: str
) -> Sequence[Row]:
    """Return the first rows of a list, of texts in several languages the question's first.

    Nothing moves where nothing tells which language that is.
    """
    placed = {
        at: _placed(chunks[row.chunk_key]) for at, row in enumerate(head) if row.chunk_key in chunks
    }
    if not any(is_told for *_, is_told in placed.values()):
        return head
    asked = asked_in(query)
    own = {text for text, lang, _ in placed.values() if lang in asked}
    weights = {
        at: _ANOTHER for at, (text, lang, _) in placed.items() if text in own and lang not in asked
    }
    return reweighed(head, weights)


def of_other_languages(
    head: Sequence[Row], chunks: Mapping[int, StoredChunk], query: str
) -> set[int]:
    """Return which of the first rows of a list only say in other words what one of them says.

    They are messages of a program, as ``locales/de.yml`` has them beside ``locales/en.yml``: of
    each such set one file stays: in a language of the question, or in English where nothing tells
    that, or else the first.
    """
    asked = asked_in(query) or {"en"}
    kept: dict[tuple[str, str], str] = {}
    files = dict[int, tuple[tuple[str, str], str]]()
    for at, row in enumerate(head):
        chunk = chunks.get(row.chunk_key)
        if chunk is None or role_of(chunk) is not FileRole.CONFIG:
            continue
        shared, lang = in_any_language(path := chunk["path"])
        if lang is not None:
            among = chunk["source_id"], shared
            files[at] = among, path
            first = kept.setdefault(among, path)
            if lang in asked and in_any_language(first)[1] not in asked:
                kept[among] = path
    return {at for at, (among, path) in files.items() if kept[among] != path}


def _placed(chunk: StoredChunk) -> tuple[tuple[str, str], str | None, bool]:
    """Return which text a passage is of, in which language, and whether its path says so."""
    shared, lang = in_any_language(chunk["path"])
    return (chunk["source_id"], shared), lang or chunk["lang"], lang is not None
