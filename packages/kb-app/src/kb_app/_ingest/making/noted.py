"""A note or a conversation of an export, as the file of Markdown that it is read as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from kb_core.documents import Enclosure

__all__ = ["NoExportError", "moment_of_json", "noted"]

_UNTITLED = "Untitled"
_LATEST = 253_402_300_800
"""The seconds since 1970 at which the year 10000 begins."""


class NoExportError(ValueError):
    """The bytes are no export, or are damaged from there on; the message says why."""


def noted(
    title: str,
    text: str,
    *,
    tags: Sequence[str] = (),
    created: datetime | None = None,
    updated: datetime | None = None,
    more: Mapping[str, str] | None = None,
) -> Enclosure:
    """Return a note of a program as a file of Markdown; *more* is what else is said in front."""
    title = " ".join(title.split()) or _UNTITLED
    dates = {"created": created, "updated": updated}
    head = [f"title: {_quoted(title)}"]
    head += [f"tags: {_quoted([*tags])}"] if tags else []
    head += [f"{name}: {date:%Y-%m-%dT%H:%M:%S%z}" for name, date in dates.items() if date]
    head += [f"{name}: {_quoted(value)}" for name, value in (more or {}).items() if value]
    whole = "\n".join(["---", *head, "---", "", text, ""])
    data = whole.encode("utf-8", "replace")
    return Enclosure(name=f"{title}.md", data=data, media="markdown", created=created)


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def moment_of_json(value: object) -> datetime | None:
    """Return a date, of seconds since 1970 or as ISO 8601 has it."""
    try:
        if isinstance(value, int | float) or str(value).replace(".", "", 1).isdigit():
            seconds = float(str(value))
            return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _LATEST else None
        found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
