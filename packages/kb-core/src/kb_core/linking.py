"""What a link between documents means: the names and the paths by which it is looked for.

A link of Markdown or HTML gives a path, as seen from the document that has it; one of a wiki,
``[[Note]]``, gives a name, or the end of a path. An index keeps for each document what it is
called and what its links call others, both as ``spelled`` here, so that either way of a link is
one look; whether a link leads to a document is then told by paths (``kb_app``).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from kb_core.text import nfc
from kb_core.values import lazy_pattern

__all__ = ["called", "given_names", "is_by_name", "last_names", "names_meant", "paths_meant"]
__all__ += ["spelled", "target_of"]

_FRONT = ("README", "readme", "Readme", "index", "_index", "Index", "Home")
"""What the page of a folder is called, likeliest first: a link to the folder leads there."""
_FRONTS = {name.casefold() for name in _FRONT}
_MARKUP = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".org", ".txt", ".html")
"""What a link to a page may leave out, or, of what is made of it, have as ``.html``."""
_MADE = (".html", ".htm")


_ELSEWHERE = lazy_pattern(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]+:|//)")
_PARTS = lazy_pattern(r"[\s_-]+")


def spelled(name: str) -> str:
    """Return *name* as names are compared: in any case, composed, with plain spaces.

    Programs write the spaces of a page as ``_`` or ``-`` in the name of its file.
    """
    return nfc(_PARTS.sub(" ", name).strip()).casefold()


def given_names(aliases: Iterable[str], metadata: Mapping[str, Any]) -> list[str]:
    """Return what a document is called by what it says of itself: its aliases and its ``id``."""
    said = metadata.get("user")
    values = said.items() if isinstance(said, Mapping) else ()
    ids = (str(value) for key, value in values if key.lower() == "id" and _is_name(value))
    return [*aliases, *ids]


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def called(path: str, given: Iterable[str] = ()) -> list[str]:
    """Return what a document at *path* is called, spelled, each once: its file, ``given_names``.

    The page of a folder is called as the folder, too.
    """
    folder, _, name = path.rpartition("/")
    stem = _stem(name)
    names = [name, stem, *given]
    if folder and spelled(stem) in _FRONTS:
        names.append(folder.rpartition("/")[2])
    return list(dict.fromkeys(filter(None, map(spelled, names))))


def target_of(link: Mapping[str, Any]) -> str:
    """Return the path or name that a link of a document gives, without the place within it.

    Nothing where it leads to the web, to mail or to a place within the document.
    """
    target = str(link.get("target") or "")
    if link.get("kind") == "wiki":
        return "" if "://" in target else target.partition("#")[0].strip()
    if _ELSEWHERE.match(target):
        return ""
    return unquote(target.partition("#")[0].partition("?")[0]).strip()


def is_by_name(link: Mapping[str, Any]) -> bool:
    """Say whether a link may name a document that lies anywhere.

    Links of a wiki do, and paths of others that do not say where they begin: there are programs
    that write the name of a note as such a path.
    """
    return link.get("kind") == "wiki" or not target_of(link).startswith((".", "/"))


def paths_meant(path: str, link: Mapping[str, Any]) -> list[str]:
    """Return the paths that a link of the document at *path* may mean, likeliest first.

    In the same source; none where it leads out of it. What ends in ``.html`` may be made of a
    text beside it, and a name without an ending be a text, or a folder with a page of its own.
    """
    target = target_of(link)
    joined = _joined(path, target) if target else None
    if joined is None:
        return []
    stem, suffix = posixpath.splitext(joined)
    found = [] if joined == "." else [joined]
    if joined != ".":
        bare = stem if suffix.lower() in _MADE else joined
        found += (f"{bare}{each}" for each in _MARKUP)
    inside = "" if joined == "." else f"{joined}/"
    found += (f"{inside}{name}{each}" for name in _FRONT for each in _MARKUP)
    return list(dict.fromkeys(found))


def last_names(target: str) -> list[str]:
    """Return the last name of a path, spelled, with its ending and without."""
    name = target.rstrip("/").rpartition("/")[2]
    return list(filter(None, dict.fromkeys((spelled(name), spelled(_stem(name))))))


def names_meant(path: str, links: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what *links* of the document at *path* call others, spelled, each once."""
    return list(dict.fromkeys(name for link in links for name in _names(path, link)))


def _names(path: str, link: Mapping[str, Any]) -> Iterator[str]:
    target = target_of(link)
    if not target:
        return
    yield from last_names(target)
    if link.get("kind") != "wiki" and (joined := _joined(path, target)) is not None:
        yield from _FRONTS if joined == "." else last_names(joined)


def _joined(path: str, target: str) -> str | None:
    """Return the path that *target* is as seen from *path*; ``None`` for one outside."""
    base = "" if target.startswith("/") else posixpath.dirname(path)
    joined = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
    return None if joined == ".." or joined.startswith("../") else joined


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
