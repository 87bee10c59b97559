"""Popups: a box over the screen, closed by Esc, which gives the screen back as it was.

Apart from those that scroll it a popup takes no key, so that what is still being typed
when one opens does nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kb_app import KnowledgeBase
from kb_app.shown import bytes_text, count, visible
from kb_core import wire
from kb_core.errors import KbError
from kb_tui.widgets.bars import Field
from kb_tui.widgets.lists import ChoiceList, middle

__all__ = [
    "AddFolder",
    "CheatSheet",
    "Chooser",
    "ErrorPopup",
    "Popup",
    "QueryHistory",
    "scrolling",
]


_FOLDER_HINT = "all of a folder is indexed, but for what is ignored"
_MOST_FOLDERS = 200
_HOME = "~/"
_KINDS = 4
"""Kinds of files to name."""


def scrolling(*rows: tuple[str, str]) -> list[BindingType]:
    """Return the bindings of a popup, which nobody is told of but its frame."""
    return [Binding(keys, action, show=False) for keys, action in rows]


class Popup(ModalScreen[None]):
    """A box with a title and a text."""

    BINDINGS: ClassVar[list[BindingType]] = scrolling(
        ("escape", "dismiss"),
        ("j,down", "scroll(1)"),
        ("k,up", "scroll(-1)"),
        ("pagedown", "page(1)"),
        ("pageup", "page(-1)"),
    )
    DEFAULT_CSS = """
    Popup { align: center middle; background: $background 60%; }
    Popup > VerticalScroll {
        width: auto; min-width: 40; max-width: 76; height: auto; max-height: 90%;
        border: heavy $primary; padding: 0 2; background: $surface;
    }
    Popup Static { width: auto; max-width: 68; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = self._title
            box.border_subtitle = "Esc closes, j k scroll"
            yield Static(Content(self._text))

    def on_click(self, event: events.Click) -> None:
        """Close on a click beside the box."""
        if event.widget is self:
            self.dismiss()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_page(self, pages: int) -> None:
        box = self.query_one(VerticalScroll)
        box.scroll_relative(y=pages * max(1, box.size.height - 1), animate=False)


class CheatSheet(Popup):
    """The keys of a pane."""


class ErrorPopup(Popup):
    """What went wrong, under its stable code, and what can be done."""

    DEFAULT_CSS = "ErrorPopup > VerticalScroll { border: heavy $error; padding: 1 2; }"

    def __init__(self, error: BaseException, named: Callable[[str], str] = str) -> None:
        shown = wire.reworded(wire.error(error), named)
        told = "\n\n".join(filter(None, (shown["message"], shown["hint"])))
        super().__init__(f"Error: {shown['code']}", visible(told, keep="\n"))


class Chooser(ModalScreen[str | None]):
    """Names, of which one is taken; returns it."""

    BINDINGS: ClassVar[list[BindingType]] = scrolling(
        ("escape", "dismiss(None)"),
        ("j,down,ctrl+r", "move(1)"),
        ("k,up", "move(-1)"),
        ("enter", "take"),
    )
    DEFAULT_CSS = """
    Chooser { align: center middle; background: $background 60%; }
    Chooser > Names {
        width: 76; max-width: 100%; height: auto; max-height: 80%; min-height: 5;
        border: heavy $primary; background: $surface;
    }
    """

    def __init__(self, title: str, names: Sequence[str], note: str) -> None:
        super().__init__()
        self._title = title
        self._rows = names
        self._note = note
        """What is said where there are none."""

    def compose(self) -> ComposeResult:
        names = Names()
        names.border_title = self._title
        names.border_subtitle = "Enter takes, Esc closes, j k"
        yield names

    def on_mount(self) -> None:
        self.query_one(Names).show(self._rows, self._note)

    @on(ChoiceList.Opened)
    def action_take(self) -> None:
        self.dismiss(self.query_one(Names).name_chosen)

    def action_move(self, by: int) -> None:
        self.query_one(Names).chosen += by


class QueryHistory(Chooser):
    """Queries of before, the newest first."""

    def __init__(self, queries: Sequence[str]) -> None:
        super().__init__("Queries of before", queries, "nothing was searched for yet")

    def add(self, older: Sequence[str]) -> None:
        """Put queries below the others, but for those that are there; the choice stays."""
        names = self.query_one(Names)
        chosen = names.chosen
        self._rows = list(dict.fromkeys([*self._rows, *older]))
        names.show(self._rows, self._note)
        names.chosen = chosen


class AddFolder(ModalScreen[str | None]):
    """Asks for a folder, completing its path; Enter says what is in it, and once more takes it.

    Folders are looked at on threads: one on a slow disk holds up no key.
    """

    BINDINGS: ClassVar[list[BindingType]] = scrolling(
        ("escape", "dismiss(None)"),
        ("down", "move(1)"),
        ("up", "move(-1)"),
        ("tab", "complete"),
    )
    DEFAULT_CSS = """
    AddFolder { align: center middle; background: $background 60%; }
    AddFolder > Vertical {
        width: 76; max-width: 100%; height: 70%; min-height: 9;
        border: heavy $primary; padding: 0 1; background: $surface;
    }
    AddFolder Input { height: 1; }
    AddFolder #said { height: auto; color: $foreground 75%; }
    AddFolder Names { height: 1fr; }
    """

    class Looked(Message):
        """What there is to complete *text* by, or what is in the folder, or why it is none."""

        def __init__(
            self, text: str, folders: list[str], said: str = "", *, refused: bool = False
        ) -> None:
            super().__init__()
            self.text = text
            self.folders = folders
            self.said = said
            self.refused = refused

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self._kb = kb
        self._told_of = ""
        self._listed_for: str | None = None
        """What the list completes."""
        self._to_complete: str | None = None
        """What Tab was pressed after, before its list was there."""
        self._enters_then = False
        """Whether Enter was pressed after that."""

    @property
    def _text(self) -> str:
        """The path that is asked for."""
        return as_meant(self.query_one(Input).value)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Add a folder"
            box.border_subtitle = "Tab completes, ↓ ↑ choose, Enter adds, Esc leaves it"
            yield Field(_HOME, placeholder="~/notes", compact=True, select_on_focus=False)
            yield Static(_FOLDER_HINT, id="said")
            yield Names()

    def on_mount(self) -> None:
        self.query_one(Names).can_focus = False
        field = self.query_one(Input)
        field.cursor_position = len(field.value)

    @on(Input.Changed)
    def _look(self) -> None:
        text, self._told_of = self._text, ""
        self._write(text)
        if text != self._to_complete:
            self._to_complete, self._enters_then = None, False
        self.query_one("#said", Static).update(_FOLDER_HINT)
        work = partial(self._complete, text)
        self.run_worker(work, group="look", exclusive=True, thread=True)

    def _write(self, text: str) -> None:
        """Put *text* into the field, where it says something else, with the cursor where it is."""
        field = self.query_one(Input)
        if text != field.value:
            behind = len(field.value) - field.cursor_position
            field.value = text
            field.cursor_position = len(text) - behind

    def _complete(self, text: str) -> None:
        self.post_message(self.Looked(text, folders_below(text)))

    @on(Looked)
    def _show_looked(self, event: Looked) -> None:
        if event.text != self._text:
            return
        if event.said:
            self.query_one("#said", Static).update(Content(event.said))
            self._told_of = "" if event.refused else event.text
        else:
            self.query_one(Names).show(event.folders, "no folder begins so")
            self._listed_for = event.text
            if self._to_complete == event.text:
                self._take()
                self._enter_then()

    @on(Input.Submitted)
    def _submit(self) -> None:
        """Say what is in the folder; the second time, take it."""
        text = self._text
        if text == self._to_complete:
            self._enters_then = True
            return
        if not text.strip():
            return
        if text == self._told_of:
            self.dismiss(text.rstrip("/") or "/")
            return
        self.query_one("#said", Static).update("looking…")
        self.run_worker(partial(self._tell, text), group="tell", exclusive=True, thread=True)

    def _enter_then(self) -> None:
        if self._enters_then:
            self._enters_then = False
            self._submit()

    def _tell(self, text: str) -> None:
        folder = os.path.expanduser(text)  # noqa: PTH111 - as a shell reads it
        try:
            said = f"{contents(self._kb.preview_source(folder))} Enter adds it."
            refused = False
        except KbError as error:
            said, refused = str(error), True
        self.post_message(self.Looked(text, [], visible(said), refused=refused))

    def action_complete(self) -> None:
        """Put the chosen folder into the field, once the list is that of what stands there."""
        if self._text == self._listed_for:
            self._take()
        else:
            self._to_complete = self._text

    @on(ChoiceList.Opened)
    def _take(self) -> None:
        self._to_complete = None
        chosen = self.query_one(Names).name_chosen
        if chosen is not None:
            field = self.query_one(Input)
            field.value = chosen
            field.cursor_position = len(chosen)

    def action_move(self, by: int) -> None:
        self.query_one(Names).chosen += by


class Names(ChoiceList):
    """A list of names."""

    def __init__(self) -> None:
        super().__init__()
        self._names: Sequence[str] = ()

    @property
    def name_chosen(self) -> str | None:
        """The chosen one."""
        return self._names[self.chosen] if self._names else None

    def show(self, names: Sequence[str], note: str = "") -> None:
        """Replace the names."""
        self._names = names
        self.styles.min_height = 1
        self.replace_rows(len(names), note)

    def line(self, index: int, row: int, width: int) -> tuple[str | Content, str]:  # noqa: ARG002
        return middle(visible(self._names[index]), width), "main"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return max(1, self.count)


def as_meant(text: str) -> str:
    """Return the path that is meant where a whole one was typed after the ``~/`` that is there."""
    return text.removeprefix(_HOME) if text.startswith((f"{_HOME}/", _HOME * 2)) else text


def folders_below(text: str) -> list[str]:
    """Return the folders that *text* may become, written as it is; hidden ones when asked for."""
    base, _, begun = text.rpartition("/")
    above = f"{base}/" if "/" in text else ""
    try:
        with os.scandir(os.path.expanduser(above or ".")) as entries:  # noqa: PTH111
            names = [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []
    wanted = begun.casefold()
    fits = (n for n in names if n.casefold().startswith(wanted))
    shown = (n for n in fits if begun.startswith(".") or not n.startswith("."))
    return [f"{above}{name}/" for name in sorted(shown, key=str.casefold)][:_MOST_FOLDERS]


def contents(found: Mapping[str, Any]) -> str:
    """Say what a folder holds, of what the facade found there before anything was read."""
    kinds = Counter[str]()
    for row in found["kinds"]:
        kinds[row["code_lang"] or row["media"]] += row["files"]
    parts = [f"{n:,} {kind}" for kind, n in kinds.most_common(_KINDS)]
    parts += ["others"] if len(kinds) > _KINDS else []
    left = sum(row["files"] + row["folders"] for row in found["left_alone"])
    more = "" if found["complete"] else " and more"
    said = f"{count(found['files'], 'file')}{more}"
    said += f" ({', '.join(parts)})" if parts else ""
    said += f", {bytes_text(found['bytes'])}"
    return f"{said}; {left:,} left alone." if left else f"{said}."
