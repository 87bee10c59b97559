"""Checks that look at more than one value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath

from kb_app.config._faults import ConfigText
from kb_app.config._settings import Chunking, Source
from kb_core.control import ADDED_SOURCE
from kb_core.errors import ConfigInvalid

__all__ = ["RESERVED_IDS", "check_chunking", "check_sources", "chunking_fault"]

_SIZES = "16 <= target_tokens <= max_tokens <= window, overlap_tokens < target_tokens / 2"

RESERVED_IDS = frozenset({ADDED_SOURCE, ".", ".."})


def check_chunking(chunking: Chunking, *, window: int) -> None:
    """Refuse sizes that cannot work with a model that reads *window* tokens at once.

    *window* is what is left for text: the model's own, less prefix and special tokens.
    """
    if fault := chunking_fault(chunking, window):
        key, complaint = fault
        raise ConfigInvalid(
            f"[chunking] {key} = {getattr(chunking, key)} {complaint}",
            hint=_SIZES,
            details={"key": f"chunking.{key}", "window": window},
        )


def chunking_fault(chunking: Chunking, window: int) -> tuple[str, str] | None:
    """Return the key that cannot stay as it is, and why."""
    target, most = chunking.target_tokens, chunking.max_tokens
    if target > most:
        return "target_tokens", f"is more than max_tokens, which is {most}"
    if most > window:
        return "max_tokens", f"is more than the model's window, which is {window}"
    if chunking.overlap_tokens >= target / 2:
        return "overlap_tokens", f"is not less than half of target_tokens, which is {target}"
    return None


def check_sources(sources: Sequence[Source], text: ConfigText) -> None:
    """Refuse names that clash, and folders that would be indexed twice."""
    seen: dict[str, int] = {}
    for number, source in enumerate(sources):
        path = ("sources", number, "id")
        if source.id in RESERVED_IDS:
            raise text.wrong(path, "is a reserved name")
        if source.id in seen:
            raise text.wrong(path, f"is the name of source {seen[source.id] + 1} already")
        seen[source.id] = number
    real = [PurePath(os.path.realpath(source.root)) for source in sources]
    for number, inner in enumerate(real):
        for other, outer in enumerate(real):
            if number != other and inner.is_relative_to(outer):
                _check_nested(sources, number, other, inner.relative_to(outer), text)


def _check_nested(
    sources: Sequence[Source], inner: int, outer: int, inside: PurePath, text: ConfigText
) -> None:
    if inside.parts and _excludes(sources[outer].exclude, inside):
        return
    # Of two sources with one folder, the later one is at fault.
    number, holder = (inner, outer) if inside.parts or inner > outer else (outer, inner)
    pattern = f"/{inside.as_posix()}/"
    raise text.wrong(
        ("sources", number, "root"),
        f"{'is inside' if inside.parts else 'is'} the folder of source {sources[holder].id!r}: "
        "its files would be indexed twice",
        hint=f"exclude = [{pattern!r}] in source {sources[holder].id!r} keeps them apart"
        if inside.parts
        else None,
    )


def _excludes(patterns: Sequence[str], folder: PurePath) -> bool:
    """Say whether a pattern names *folder*, or a folder that it is in.

    This knows less than .gitignore does: a pattern that is not understood does not
    count, and the sources are refused, which loses nothing.
    """
    from fnmatch import fnmatch  # nested sources are rare

    parents = [folder, *folder.parents][:-1]
    for pattern in patterns:
        bare = pattern.removesuffix("/**").removesuffix("/*").rstrip("/")
        anchored = "/" in bare
        for parent in parents:
            subject = parent.as_posix() if anchored else parent.name
            if not pattern.startswith("!") and fnmatch(subject, bare.removeprefix("/")):
                return True
    return False
