"""What Joplin writes behind a note that it exports raw: its id, its dates, where it is from.

Such a file is the title, a blank line, the note in Markdown, a blank line, and a line for each
field, of which ``type_`` is the last. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from kb_core.values import lazy_pattern

__all__ = ["Trailer", "read_trailer"]

_FIELDS = lazy_pattern(r"id: [0-9a-f]{32}\n(?:[a-z_]{1,60}:[^\n]*\n){1,80}type_: \d{1,2}\s*")
_LONGEST = 20_000
_KNOWN = {"created": ("user_created_time", "created_time"),
          "updated": ("user_updated_time", "updated_time"),
          "author": ("author",), "source_url": ("source_url",)}  # fmt: skip


class Trailer(NamedTuple):
    """The fields behind a note: where they start, and what they say by the keys of front matter."""

    start: int
    values: dict[str, object]


def read_trailer(text: str) -> Trailer | None:
    """Return what stands behind a note of Joplin; ``None`` where it is none."""
    at = text.rfind("\nid: ", max(0, len(text) - _LONGEST)) + 1
    if not _FIELDS.fullmatch(text, at):
        return None
    fields = dict(line.split(": ", 1) for line in text[at:].split("\n") if ": " in line)
    title = text[:at].split("\n", 1)[0].strip()
    values: dict[str, object] = {"title": title} if title else {}
    for name, keys in _KNOWN.items():
        if said := next((fields[key] for key in keys if fields.get(key, "").strip()), ""):
            values[name] = said
    return Trailer(at, values)
