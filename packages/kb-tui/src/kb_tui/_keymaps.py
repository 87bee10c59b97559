"""Which key does what, pane by pane. Letters work in NORMAL only; the rest is said here."""

from __future__ import annotations

from kb_tui._keys import Key

__all__ = ["SEARCH"]

SEARCH = (
    Key(names="f1", shown="F1", does="this help", action="help", insert=True, hint="F1 help"),
    Key(names="question_mark", shown="?", does="this help", action="help"),
    Key(
        names="escape",
        shown="Esc",
        does="stop typing",
        action="normal",
        insert=True,
        normal=False,
        hint="Esc stop typing",
    ),
    Key(names="i", shown="i", does="go on typing", action="insert", hint="i type"),
    Key(names="ctrl+u", shown="Ctrl-U", does="clear the query", insert=True, normal=False),
    Key(
        names="enter",
        shown="Enter",
        does="search now",
        action="search",
        insert=True,
        hint="Enter search now",
    ),
    Key(
        names="m",
        shown="m",
        does="hybrid, lexical or vector",
        action="next_mode",
        hint="m hybrid/lexical/vector",
    ),
    Key(
        names="down",
        shown="↓ ↑",
        does="next, previous hit",
        action="move(1)",
        insert=True,
        hint="↓ ↑ hits",
    ),
    Key(names="up", action="move(-1)", insert=True),
    Key(names="j", shown="j k", does="next, previous hit", action="move(1)"),
    Key(names="k", action="move(-1)"),
    Key(names="g,home", shown="g G", does="first, last hit", action="first"),
    Key(names="G,end", action="last"),
    Key(
        names="pagedown",
        shown="PgDn PgUp",
        does="scroll the preview",
        action="scroll_preview(1)",
        insert=True,
    ),
    Key(names="pageup", action="scroll_preview(-1)", insert=True),
    Key(names="ctrl+p", shown="Ctrl-P", does="commands, themes", insert=True),
    Key(names="q", shown="q", does="quit", action="app.quit", hint="q quit"),
    Key(names="ctrl+q", shown="Ctrl-Q", does="quit", insert=True),
)
