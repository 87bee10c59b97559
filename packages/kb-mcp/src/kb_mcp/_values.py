"""What is looked up for what is shown: the values of constants, whether a path tells a file.

Who reads ``if age > _AT_THE_LATEST`` asks next what that is, which costs another call. So of
the names in capitals that are shown and not given a value there, the line that does is looked
up. And a path that several sources have is shown with the source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kb_app import KnowledgeBase
from kb_core.errors import KbError
from kb_core.search import Constant

__all__ = ["Constants", "mark_shared"]


def mark_shared(kb: KnowledgeBase, items: Sequence[Any]) -> None:
    """Say ``in_several`` in *items*, hits or files or what is cited, whose path does not tell."""
    shared = kb.shared_paths(item["doc_path"] for item in items)
    for item in items:
        item["in_several"] = item["doc_path"] in shared


class Constants:
    """Looks constants up in one knowledge base, each once for a document that uses it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[tuple[str, str], Constant | None] = {}

    def __call__(self, path: str, names: Collection[str]) -> Mapping[str, Constant]:
        """Return the lines that define *names* for whoever reads the document at *path*."""
        missing = [name for name in names if (path, name) not in self._known]
        try:
            found = self._kb.constants(path, missing) if missing else {}
        except KbError:
            found = {}  # the answer is whole without
        self._known |= {(path, name): found.get(name) for name in missing}
        known = ((name, self._known[path, name]) for name in names)
        return {name: value for name, value in known if value is not None}
