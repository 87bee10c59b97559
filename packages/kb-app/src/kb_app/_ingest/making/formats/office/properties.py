"""What a file of an office program says of itself: title, author, dates, keywords."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb_app._ingest.making.metadata import Hints, parse_date, text_metadata
from kb_core.documents import Metadata
from kb_core.text import nfc
from kb_core.values import replace

__all__ = ["Properties"]

_NO_TITLE = re.compile(
    r"(?:untitled|document|presentation|workbook|book|slide|folie|blank)[\s_-]*\d*"
    r"|(?:microsoft )?(?:office )?(?:word|powerpoint|excel)\b.*|slide 1|powerpoint presentation"
    r"|.*\.(?:docx?|dotx?|rtf|pptx?|xlsx?|od[tsp])",
    re.IGNORECASE,
)
"""What programs write for a title where nobody gave one."""
_KEPT = {"creator": "author", "subject": "subject", "description": "description",
         "category": "category", "lastModifiedBy": "last_modified_by"}  # fmt: skip
_LONGEST = 1_000


class Properties:
    """Dublin Core and its neighbours, by the local names that these files have for them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {
            name: nfc(" ".join(value.split()))[:_LONGEST] for name, value in values.items()
        }

    def metadata(self, path: str, heading: str, body: str) -> Metadata:
        """Return the metadata of the file at *path*, whose text is *body*.

        A title is believed unless a program made it up; else it is *heading*, which opens
        the text, or the name of the file.
        """
        given = self._values.get("title", "")
        title = "" if _NO_TITLE.fullmatch(given) else given
        known = {"title": title, "language": self._values.get("language", "")}
        values = {name: value for name, value in known.items() if value}
        hints = Hints(path=path, heading=heading, tags=self._keywords(), body=body)
        metadata, _ = text_metadata(values, hints)
        kept = {name: self._values.get(own, "") for own, name in _KEPT.items()}
        return replace(
            metadata,
            created=parse_date(self._values.get("created")) or metadata.created,
            updated=parse_date(self._values.get("modified")) or metadata.updated,
            user={**metadata.user, **{name: value for name, value in kept.items() if value}},
        )

    def _keywords(self) -> tuple[str, ...]:
        words = re.split(r"[,;]", self._values.get("keywords", ""))
        return tuple(filter(None, map(str.strip, words)))
