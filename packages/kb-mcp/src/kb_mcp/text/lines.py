"""Lines that hold exact text, as text: by file, each with its number, and how many there are more.

The first line counts all of them. A file has a head, ``path · how many lines``, and its lines:
``12: text`` for one that matches, ``13- text`` for one beside it; where the document has no
lines that one could ask for, the place stands there. What does not fit is counted: lines of a
file under them, files at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kb_app.shown import count, printable
from kb_core.search import CHARS_PER_TOKEN
from kb_mcp.text import BUDGET, INDENT, few, joined, short, weight

__all__ = ["grep_text"]

_Json: TypeAlias = Mapping[str, Any]

_OVER = "… {} more files: give path or a filter, files_only, or max_tokens"
_MORE = "… {} more in this file"
_LARGEST_SHARE = 3
"""One file of several has at most this part of the budget."""


def grep_text(found: _Json, max_tokens: int | None = None) -> str:
    """Return grep_response.v1 as text."""
    room = (max_tokens or BUDGET) * CHARS_PER_TOKEN
    said = [_found(found), *(f"warning: {short(one, 300)}" for one in found.get("warnings", ()))]
    first = few(said, room // 3)
    room -= sum(weight(line) + 1 for line in first) + weight(_OVER) + 4
    files = found["files"]
    several = {file["doc_path"] for file in files if _times(files, file["doc_path"]) > 1}
    heads = [_head(file, several) for file in files]
    listed = _listed(heads, room if found["total_lines"] else 0)
    room -= sum(weight(head) + 1 for head in heads[:listed])
    parts = list(first)
    for at, file in enumerate(files[:listed]):
        share = max(room // (listed - at), room // _LARGEST_SHARE)
        lines = _fitting(file, share)
        parts += [heads[at], *lines]
        room -= sum(weight(line) + 1 for line in lines)
    if rest := found["total_files"] - listed:
        parts.append(_OVER.format(rest))
    return "\n".join(parts)


def _times(files: Sequence[_Json], path: str) -> int:
    return sum(file["doc_path"] == path for file in files)


def _found(found: _Json) -> str:
    lines, files = found["total_lines"], found["total_files"]
    ignored = "case ignored" if found["case"] == "ignore" else ""
    if not lines:
        looked = count(found["searched"], "document")
        return joined(f"no line matches, in {looked}", ignored)
    return joined(f"{count(lines, 'line')} in {count(files, 'file')}", ignored)


def _head(file: _Json, several: set[str]) -> str:
    defined = [line["line"] for line in file["lines"] if line.get("is_definition")]
    return joined(
        short(file["doc_path"]),
        count(file["matches"], "line"),
        f"defined at {', '.join(map(str, defined[:3]))}" if defined else "",
        f"source {short(file['source_id'])}" if file["doc_path"] in several else "",
        "stale" if file["stale"] else "",
    )


def _listed(heads: Sequence[str], room: int) -> int:
    """Return how many files have room for their head, if that takes half of it."""
    spent, at = 0, 0
    for at, head in enumerate(heads, start=1):
        spent += weight(head) + 1
        if spent > room // 2:
            return max(1, at - 1)
    return at


def _fitting(file: _Json, room: int) -> list[str]:
    """Return the lines that there is room for, and how many match besides."""
    lines, omitted = file["lines"], file["omitted"]
    if not lines:
        return []
    shown = list(_lines(lines))
    left = [omitted + sum(line["is_match"] for line in lines[at:]) for at in range(len(lines) + 1)]
    for taken in range(len(lines), 0, -1):
        kept = [*shown[:taken], *([_MORE.format(left[taken])] if left[taken] else [])]
        if sum(weight(line) + 1 for line in kept) <= room:
            return kept
    return []


def _lines(lines: Sequence[_Json]) -> Iterator[str]:
    for line in lines:
        text = printable(line["text"].rstrip(), keep="\t")
        place = line.get("uri", "").rpartition("#")[2]
        mark = ":" if line["is_match"] else "-"
        cut = "…" if line.get("cut") else ""
        if place and not place.startswith("L"):
            yield f"{INDENT}{short(place)}: {text}{cut}".rstrip()
        else:
            yield f"{line['line']}{mark} {text}{cut}".rstrip()
