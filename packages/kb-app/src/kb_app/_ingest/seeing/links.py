"""Symbolic links: which are followed, so that each target is seen once.

Whether a link is followed depends on the tree alone, not on what was walked before, so
a narrowed walk and a full one agree: a target inside the root that no rule ignores is seen
under its own path and never through a link. Only between targets that have no path of
their own (ignored ones, and those outside the root) does the first link win.
"""
# Paths are strings throughout the walk.
# ruff: noqa: PTH110, PTH118, PTH123

from __future__ import annotations

import os

from kb_app._ingest.ignore import IGNORE_FILES, IncludeRules, Scope

__all__ = ["Links", "read_rules"]

_INFO_EXCLUDE = ".git/info/exclude"


class Links:
    """What one walk knows of links and their targets."""

    def __init__(
        self, root: str, include: IncludeRules, scope: Scope, *, follow_links: bool
    ) -> None:
        self._root = root
        self._include = include
        self._scope = scope
        self._follow_links = follow_links
        self._seen: set[str] = set()
        self._folders: dict[str, tuple[Scope, bool] | None] = {}

    def refusal(self, real: str, *, is_folder: bool) -> str | None:
        """Return why the link that leads to *real* is not followed, if it is not."""
        inside = self._inside(real)
        if inside is None and not self._follow_links:
            return "link leads out of the source"
        if inside is not None and (inside == "" or self._has_own_path(inside, is_folder=is_folder)):
            return f"link to {inside or 'the root'!r}, which has a path of its own"
        return None if self.first_time(real) else "link to what another link leads to"

    def first_time(self, real: str) -> bool:
        """Say whether *real*, to which links led, is seen for the first time."""
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def _inside(self, real: str) -> str | None:
        if real == self._root:
            return ""
        prefix = self._root.rstrip("/") + "/"
        return real[len(prefix) :] if real.startswith(prefix) else None

    def _has_own_path(self, path: str, *, is_folder: bool) -> bool:
        if is_folder:
            return self._folder(path + "/") is not None
        above, _, name = path.rpartition("/")
        folder = self._folder(above + "/" if above else "")
        if folder is None:
            return False
        scope, included = folder
        rule = scope.decide(name, path)
        ignored = name == ".git" or (rule is not None and rule.ignores)
        return not ignored and self._include.wanted(name, path, parent=included)

    def _folder(self, path: str) -> tuple[Scope, bool] | None:
        """Return a folder's rules and whether it is included; ``None`` if it is not entered."""
        if path not in self._folders:
            self._folders[path] = self._look_at(path)
        return self._folders[path]

    def _look_at(self, path: str) -> tuple[Scope, bool] | None:
        here = os.path.join(self._root, path)
        if not path:
            return self._scope.enter("", read_rules(here, None)), False
        above, _, name = path[:-1].rpartition("/")
        parent = self._folder(above + "/" if above else "")
        if parent is None or name == ".git":
            return None
        rule = parent[0].decide(name + "/", path)
        included = self._include.wanted(name + "/", path, parent=parent[1])
        if rule is not None and rule.ignores:
            return None
        if rule is None and os.path.exists(here + "pyvenv.cfg"):
            return None
        if not included and not self._include.may_hold(path):
            return None
        return parent[0].enter(path, read_rules(here, None)), included


def read_rules(folder: str, names: set[str] | None) -> dict[str, str]:
    """Return the texts of the files of rules in *folder*, of which *names* are known.

    A file of rules that is a link, or cannot be read, has no rules: as in git.
    """
    texts = {}
    for name in (*IGNORE_FILES, _INFO_EXCLUDE):
        if names is not None and name.partition("/")[0] not in names:
            continue
        try:
            descriptor = os.open(folder + name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                texts[name] = file.read().decode("utf-8", "surrogateescape")
        except OSError:
            continue
    return texts
