"""Translations of one text: of those in a list, that in the question's language comes first.

They are known by their paths, which differ in the code of a language alone: ``docs/fr/a.md`` and
``docs/en/a.md``, ``a.de.adoc`` and ``a.adoc``. Names, what nobody translated and words that
languages share stand in all of them, so that it is chance which one a search by words finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb_app._search.ranking import reweighed
from kb_core.values import lazy_pattern
from kb_search.asking import asked_in

if TYPE_CHECKING:
    from kb_app._search.ranking import Row
    from kb_core.ports import StoredChunk

__all__ = ["in_its_language"]

_ANOTHER = 0.7
"""What counts of the score of a translation, beside the text in the language of the question."""
_CODE = lazy_pattern(
    r"[/._-](ar|bg|bn|ca|cs|da|de|el|en|es|et|fa|fi|fr|he|hi|hr|hu|id|it|ja|ko|lt|lv|ms|nb|nl|nn"
    r"|no|pl|pt|ro|ru|sk|sl|sr|sv|th|tr|uk|vi|zh)(?:[-_](?:[A-Z]{2}|[a-z]{2}|Han[st]))?(?=[/._-])"
)


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


def _placed(chunk: StoredChunk) -> tuple[tuple[str, str], str | None, bool]:
    """Return which text a passage is of, in which language, and whether its path says so."""
    path = f"/{chunk['path']}"
    told = _CODE.search(path)
    text = chunk["source_id"], _CODE.sub("", path)
    return text, told[1] if told else chunk["lang"], told is not None
