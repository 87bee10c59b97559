"""Keys: one table a pane, from which bindings, hint line, cheat sheet and palette are made.

Letters work in NORMAL only; the rest is said here. A pane's table is its own keys between
those that work on every pane. Panes without a field have NORMAL only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from textual.binding import Binding, BindingType

from kb_core.values import dataclass, replace

__all__ = [
    "ASK",
    "INSPECT",
    "JOBS",
    "LIBRARY",
    "PANES",
    "SEARCH",
    "Key",
    "Typing",
    "bindings",
    "cheat_sheet",
    "hint",
    "offered",
]

Typing: TypeAlias = Literal["INSERT", "NORMAL"]
"""Whether keys write into a field, or do something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, what it does, and in which mode.

    ``names`` are textual's, comma separated; ``shown`` is what a person reads, empty for
    the second of a pair; ``hint`` is what the hint line says, empty where it says nothing.
    A key without an action is one that something else handles. ``command`` names the
    action in the palette, for those that make sense without the key. What ``writes`` is
    not offered where the knowledge base is open for reading only.
    """

    names: str
    shown: str = ""
    does: str = ""
    action: str | None = None
    insert: bool = False
    normal: bool = True
    hint: str = ""
    command: str = ""
    writes: bool = False

    def works_in(self, mode: Typing) -> bool:
        """Say whether the key does this in *mode*."""
        return self.insert if mode == "INSERT" else self.normal


def offered(keys: Iterable[Key], *, is_readonly: bool) -> tuple[Key, ...]:
    """Return the keys that a person is told of."""
    return tuple(key for key in keys if not (is_readonly and key.writes))


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """Return the bindings of a screen."""
    return [
        Binding(key.names, key.action, key.does, show=False)
        for key in keys
        if key.action is not None
    ]


def hint(keys: Iterable[Key], mode: Typing) -> str:
    """Return the keys that work now, in one line."""
    return "  ".join(key.hint for key in keys if key.hint and key.works_in(mode))


def cheat_sheet(keys: Iterable[Key], *, has_modes: bool = True) -> str:
    """Return all keys, one a line, with the mode where it matters."""
    rows = [(key.shown, key.does, _where(key) if has_modes else "") for key in keys if key.shown]
    width = max(len(shown) for shown, _, _ in rows)
    return "\n".join(f"{shown:<{width}}  {does}{where}" for shown, does, where in rows)


def _where(key: Key) -> str:
    if key.insert and key.normal:
        return ""
    return "  (INSERT)" if key.insert else "  (NORMAL)"


PANES: Final = ("library", "search", "ask", "inspect", "jobs")
"""Names of the panes, in the order of their numbers."""

_FIRST = (
    Key(names="f1", shown="F1", does="this help", action="help", insert=True, hint="F1 help"),
    Key(names="question_mark", shown="?", does="this help", action="help"),
)
_LAST = (
    Key(
        names="tab",
        shown="Tab",
        does="next pane; Shift-Tab: previous",
        action="next_pane(1)",
        insert=True,
    ),
    Key(names="shift+tab", action="next_pane(-1)", insert=True),
    Key(names="1", shown="1-5", does="a pane by its number", action="pane('library')"),
    Key(names="2", action="pane('search')"),
    Key(names="3", action="pane('ask')"),
    Key(names="4", action="pane('inspect')"),
    Key(names="5", action="pane('jobs')"),
    Key(names="ctrl+p", shown="Ctrl-P", does="commands, themes", insert=True),
    Key(names="q", shown="q", does="quit", action="app.quit", hint="q quit"),
    Key(names="ctrl+q", shown="Ctrl-Q", does="quit", insert=True),
    Key(names="ctrl+c", shown="Ctrl-C", does="copy what is selected, else quit", insert=True),
    Key(names="ctrl+z", shown="Ctrl-Z", does="back to the shell, until 'fg' there", insert=True),
)
_INSERT = Key(names="i", shown="i", does="go on typing", action="insert", hint="i type")


def _escape(does: str) -> tuple[Key, Key]:
    return (
        Key(
            names="escape",
            shown="Esc",
            does=does,
            action="escape",
            insert=True,
            normal=False,
            hint="Esc stop typing",
        ),
        _INSERT,
    )


def _on(what: str) -> tuple[Key, ...]:
    """What can be done with a hit or a passage."""
    return (
        Key(
            names="o",
            shown="o",
            does=f"inspect the {what}",
            action="inspect",
            hint="o inspect",
            command=f"Inspect the {what}",
        ),
        Key(
            names="g",
            shown="g",
            does="open the citation in $EDITOR",
            action="open",
            hint="g open",
            command="Open the citation in $EDITOR",
        ),
        Key(
            names="y",
            shown="y",
            does="copy the citation",
            action="copy",
            hint="y copy",
            command="Copy the citation",
        ),
    )


def _ends(what: str) -> tuple[Key, ...]:
    return (
        Key(names="g,home", shown="g G", does=f"first, last {what}", action="first"),
        Key(names="G,end", action="last"),
    )


def _walk(what: str, *, typing: bool = False) -> tuple[Key, ...]:
    does = f"next, previous {what}"
    if not typing:
        return (
            Key(names="j,down", shown="j k ↓ ↑", does=does, action="move(1)"),
            Key(names="k,up", action="move(-1)"),
        )
    return (
        Key(names="j", shown="j k", does=does, action="move(1)"),
        Key(names="k", action="move(-1)"),
        Key(names="down", shown="↓ ↑", does=does, action="move(1)", insert=True),
        Key(names="up", action="move(-1)", insert=True),
    )


def _pages(what: str, *, insert: bool = False) -> tuple[Key, ...]:
    return (
        Key(
            names="pagedown",
            shown="PgDn PgUp",
            does=what,
            action="page(1)",
            insert=insert,
        ),
        Key(names="pageup", action="page(-1)", insert=insert),
    )


_ADD = Key(
    names="a",
    shown="a",
    does="add a folder",
    action="add",
    hint="a add",
    command="Add a folder",
    writes=True,
)


_INGEST = Key(
    names="r",
    shown="r",
    does="ingest in the background",
    action="ingest",
    hint="r ingest",
    command="Ingest in the background",
    writes=True,
)


def _jobs(*, cancel: str = "") -> tuple[Key, ...]:
    return (
        _ADD,
        _INGEST,
        Key(
            names="w",
            shown="w",
            does="follow the sources, or no longer",
            action="follow",
            hint="w watch" if cancel else "",
            command="Follow the sources, or no longer",
            writes=True,
        ),
        Key(
            names="escape",
            shown="Esc",
            does="cancel the ingest after its batch",
            action="escape",
            hint=cancel,
            command="Cancel the ingest",
            writes=True,
        ),
    )


LIBRARY = (
    *_FIRST,
    *_walk("row"),
    *_ends("row"),
    *_pages("a page on, back"),
    Key(names="enter", shown="Enter", does="inspect", action="inspect", hint="Enter inspect"),
    Key(
        names="f",
        shown="f",
        does="filter",
        action="filter",
        hint="f filter",
        command="Filter the documents",
    ),
    Key(
        names="slash",
        shown="/",
        does="search",
        action="pane('search')",
        hint="/ search",
    ),
    Key(
        names="l",
        shown="l",
        does="documents, or every file and what became of it",
        action="next_view",
        hint="l ledger",
        command="Documents, or the ledger of files",
    ),
    *_jobs(),
    *_LAST,
)

SEARCH = (
    *_FIRST,
    *_escape("stop typing"),
    Key(names="ctrl+u", shown="Ctrl-U", does="clear the query", insert=True, normal=False),
    Key(
        names="ctrl+r",
        shown="Ctrl-R",
        does="a query of before",
        action="history",
        insert=True,
        command="Queries of before",
    ),
    Key(
        names="enter",
        shown="Enter",
        does="search now",
        action="search",
        insert=True,
    ),
    Key(names="enter", insert=True, normal=False, hint="Enter search now"),
    Key(names="down", insert=True, normal=False, hint="↓ ↑ hits"),
    Key(
        names="m",
        shown="m",
        does="hybrid, lexical or vector",
        action="next_mode",
        hint="m mode",
        command="Search mode: hybrid, lexical, vector",
    ),
    Key(
        names="f",
        shown="f",
        does="filter by facets",
        action="filter",
        hint="f filter",
        command="Filter the search",
    ),
    Key(
        names="x",
        shown="x",
        does="exact text: the lines that match a pattern",
        action="grep",
        command="Exact text: lines that match a pattern",
    ),
    *_walk("hit", typing=True),
    Key(names="home", shown="Home End", does="first, last hit", action="first"),
    Key(names="G,end", action="last"),
    Key(names="n", shown="n", does="more hits", action="next_hits", command="More hits"),
    *_pages("scroll the preview", insert=True),
    Key(
        names="v",
        shown="v",
        does="page or picture as it looks, or what it says",
        action="view",
        command="Pages: as they look, or what they say",
    ),
    *_on("hit"),
    Key(
        names="t",
        shown="t",
        does="trace: why this hit, and how all were found",
        action="trace",
        hint="t trace",
        command="Trace the search",
    ),
    Key(
        names="plus",
        shown="+",
        does="this hit answers: kept as feedback",
        action="judge('good')",
        command="Feedback: this hit answers",
        writes=True,
    ),
    Key(
        names="minus",
        shown="-",
        does="this hit does not answer: kept as feedback",
        action="judge('bad')",
        command="Feedback: this hit does not answer",
        writes=True,
    ),
    replace(_ADD, hint=""),
    replace(_INGEST, hint=""),
    *_LAST,
)

ASK = (
    *_FIRST,
    *_escape("stop the question and typing"),
    Key(
        names="enter",
        shown="Enter",
        does="ask",
        action="submit",
        insert=True,
    ),
    Key(names="enter", insert=True, normal=False, hint="Enter ask"),
    Key(
        names="e",
        shown="e",
        does="explain: why each passage is here",
        action="explain",
        hint="e explain",
        command="Explain the evidence",
    ),
    Key(
        names="n",
        shown="n p",
        does="next, previous passage",
        action="choose(1)",
        hint="n p passage",
    ),
    Key(names="p", action="choose(-1)"),
    *_on("passage"),
    Key(
        names="Y",
        shown="Y",
        does="copy the answer with its sources",
        action="copy_answer",
        command="Copy the answer with its sources",
    ),
    Key(
        names="c",
        shown="c",
        does="conversations of before",
        action="conversations",
        command="Conversations of before",
    ),
    Key(
        names="d",
        shown="d",
        does="delete this conversation, pressed twice",
        action="delete",
        command="Delete this conversation",
        writes=True,
    ),
    Key(names="j", shown="j k", does="scroll", action="move(1)"),
    Key(names="k", action="move(-1)"),
    Key(names="down", shown="↓ ↑", does="scroll", action="move(1)", insert=True),
    Key(names="up", action="move(-1)", insert=True),
    *_pages("scroll a page", insert=True),
    Key(names="home", shown="Home", does="the beginning", action="first"),
    Key(names="G,end", shown="G", does="follow the tail", action="last", hint="G tail"),
    Key(
        names="ctrl+l",
        shown="Ctrl-L",
        does="new conversation",
        action="forget",
        insert=True,
        command="New conversation",
    ),
    Key(names="escape", shown="Esc", does="stop the question", action="escape"),
    *_LAST,
)

INSPECT = (
    *_FIRST,
    *_walk("row"),
    *_ends("row"),
    *_pages("a page on, back"),
    Key(
        names="c",
        shown="c",
        does="fold or unfold the section",
        action="fold",
        hint="c fold",
        command="Fold the section",
    ),
    Key(
        names="enter",
        shown="Enter",
        does="inspect the chunk or document of the row",
        action="follow",
        hint="Enter follow",
    ),
    Key(names="escape", shown="Esc", does="back", action="escape", hint="Esc back"),
    *_LAST,
)

JOBS = (
    *_FIRST,
    *_walk("job"),
    *_ends("job"),
    *_pages("a page on, back"),
    *_jobs(cancel="Esc cancel"),
    *_LAST,
)
