"""Exact text: a popup that finds the lines that match a pattern, as ``kebab grep`` does.

A row is a line of a file; the line that defines what is looked for comes first. Below
stands the passage around the chosen line. The keys of a hit work on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from kb_app import KnowledgeBase
from kb_app.shown import count, visible
from kb_core.errors import KbError
from kb_core.search import GrepQuery, SearchFilters
from kb_core.values import dataclass
from kb_tui._pane import FacadeScreen, Failed, InspectTarget, Located, Reply, Target
from kb_tui._passage import Line, passage, plain
from kb_tui._rendering import rendered
from kb_tui._terminal import OpenPlace
from kb_tui.popups import scrolling
from kb_tui.widgets.bars import Field
from kb_tui.widgets.lists import ChoiceList, middle
from kb_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["ExactPopup"]

_MOST = 500
"""Lines to show; all are counted."""
_CONTEXT = 1
"""Chunks to show on either side of the one that the line stands in."""
_WIDEST = 48
"""Cells for the place of a line, where there is room for its text beside it."""
_KEYS = "Enter finds, ↓ ↑ lines, Esc closes"
_ON_A_LINE = "o inspect, g open, y copy, i pattern, Esc closes"


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line: its file, itself, and whether it is the first one of its file."""

    file: types.GrepResponseFiles
    line: types.GrepResponseFilesLines
    is_first: bool

    @property
    def place(self) -> str:
        """Where the line stands, as a person reads it."""
        return f"{self.file['doc_path']}:{self.line['line']}"

    @property
    def text(self) -> str:
        """What the first match says."""
        start, end = (self.line.get("spans") or [[0, 0]])[0]
        return self.line["text"][start:end]

    @property
    def uri(self) -> str:
        """The citation of the line."""
        return self.line.get("uri", self.place)


class Grepped(Reply["types.GrepResponse"]):
    """The lines of a pattern came."""


class Surrounded(Reply[tuple[str | None, list[Line]]]):
    """What stands around the chosen line, and the id of its chunk."""


class MatchList(ChoiceList):
    """Matching lines, each after its place, with what matches marked."""

    def __init__(self) -> None:
        super().__init__()
        self._matches: Sequence[Match] = ()

    @property
    def match(self) -> Match | None:
        """The chosen line."""
        return self._matches[self.chosen] if self._matches else None

    def show(self, matches: Sequence[Match], note: str = "") -> None:
        """Replace the lines; *note* is said where there are none."""
        self._matches = matches
        self.replace_rows(len(matches), note)

    def line(self, index: int, row: int, width: int) -> tuple[str | Content, str]:  # noqa: ARG002
        match = self._matches[index]
        room = min(_WIDEST, width // 2)
        number = f":{match.line['line']}"
        path = middle(visible(match.file["doc_path"]), max(4, room - len(number)))
        place = f"{path if match.is_first else ' ' * Content(path).cell_length}{number}"
        shown = Content.styled(f"{place}  ", self.ink("dim" if match.is_first else "faint"))
        return shown + self._said(match), "main"

    def _said(self, match: Match) -> Content:
        """The line without its indentation; a character that is not shown as itself is one."""
        text = match.line["text"]
        indent = len(text) - len(text.lstrip())
        said = Content(visible(text[indent:]))
        for start, end in match.line.get("spans", ()):
            before, upto = len(visible(text[indent:start])), len(visible(text[indent:end]))
            said = said.stylize(self.ink("match"), before, upto)
        return said


class ExactPopup(FacadeScreen, ModalScreen[None]):
    """Asks for a pattern and shows its lines; the pane's filters hold here, too."""

    BINDINGS: ClassVar[list[BindingType]] = scrolling(
        ("escape", "dismiss"),
        ("down,j", "move(1)"),
        ("up,k", "move(-1)"),
        ("home", "first"),
        ("end,G", "last"),
        ("pagedown", "page(1)"),
        ("pageup", "page(-1)"),
        ("i,slash", "pattern"),
        ("o,enter", "inspect"),
        ("g", "open"),
        ("y", "copy"),
    )
    DEFAULT_CSS = """
    ExactPopup { align: center middle; background: $background 60%; }
    ExactPopup > Vertical {
        width: 96%; height: 92%; border: heavy $primary; padding: 0 1; background: $surface;
    }
    ExactPopup Input { height: 1; }
    ExactPopup MatchList { height: 3fr; border-top: solid $foreground 40%; }
    ExactPopup Preview { height: 2fr; border-top: solid $foreground 40%; }
    """

    def __init__(self, kb: KnowledgeBase, pattern: str, filters: SearchFilters) -> None:
        super().__init__()
        self._kb = kb
        self._pattern = pattern
        self._filters = filters
        self._chunk_id: str | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Exact text"
            box.border_subtitle = _KEYS
            hint = r"words, or a regular expression: def \w+_named"
            yield Field(self._pattern, placeholder=hint, compact=True, select_on_focus=False)
            yield MatchList()
            yield Preview()

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_position = len(field.value)
        if field.value.strip():
            self.find()

    def on_descendant_focus(self) -> None:
        keys = _KEYS if isinstance(self.focused, Input) else _ON_A_LINE
        self.query_one(Vertical).border_subtitle = keys

    # ---------------------------------------------------------------- finding

    @on(Input.Submitted)
    def find(self) -> None:
        """Look for the pattern, which then is left for the lines."""
        pattern = self.query_one(Input).value
        if not pattern.strip():
            return
        self.query_one(MatchList).border_title = "looking…"
        asked = GrepQuery(pattern=pattern, max_lines=_MOST, filters=self._filters)
        self.ask(Grepped, lambda: self._kb.grep(asked))

    @on(Grepped)
    def show_lines(self, reply: Grepped) -> None:
        """Put the lines in place of those of before."""
        if self.is_stale(reply):
            return
        found, lines = reply.value, self.query_one(MatchList)
        matches = list(_matches(found))
        lines.show(matches, f"no line matches {found['pattern']}")
        lines.border_title = Content(visible(_told(found)))
        if matches:
            self.set_focus(lines)
        else:
            self._clear()

    @on(Failed)
    def show_failed(self, reply: Failed) -> None:
        """Say what is wrong with the pattern where its lines would be."""
        if self.is_stale(reply):
            return
        lines = self.query_one(MatchList)
        lines.border_title = ""
        lines.show((), "not found out")
        self._clear()
        self.query_one(Preview).show(plain(str(reply.error)))

    def _clear(self) -> None:
        self.forget(Surrounded)
        self.query_one(Preview).show(())

    # ---------------------------------------------------------------- the chosen line

    @on(ChoiceList.Chosen)
    def look_around(self) -> None:
        """Show the line at once, and what is around it when it comes."""
        match = self.query_one(MatchList).match
        if match is not None:
            self._chunk_id = None
            self.query_one(Preview).show(plain(match.line["text"]), match.text)
            self.ask(Surrounded, lambda: self._around(match))

    def _around(self, match: Match) -> tuple[str | None, list[Line]]:
        """Return the passage that the line stands in, where its place names one."""
        try:
            fetched = self._kb.fetch_chunk(match.uri, context=_CONTEXT)
        except KbError:  # between two passages, or of a path that several sources have
            return None, plain(match.line["text"])
        chunk = fetched["chunk"]
        if chunk["doc_id"] != match.file["doc_id"]:
            return None, plain(match.line["text"])
        language = next((span.get("lang") for span in chunk["source_spans"]), None)
        lines = rendered(passage(fetched), match.file["media"], language)
        return chunk["chunk_id"], lines

    @on(Surrounded)
    def show_around(self, reply: Surrounded) -> None:
        """Show the passage."""
        match = self.query_one(MatchList).match
        if match is not None and not self.is_stale(reply):
            self._chunk_id, lines = reply.value
            self.query_one(Preview).show(lines, match.text)

    def action_move(self, by: int) -> None:
        self.query_one(MatchList).chosen += by

    def action_first(self) -> None:
        self.query_one(MatchList).chosen = 0

    def action_last(self) -> None:
        lines = self.query_one(MatchList)
        lines.chosen = lines.count - 1

    def action_page(self, pages: int) -> None:
        self.query_one(MatchList).page(pages)

    def action_pattern(self) -> None:
        """Go back into the field."""
        self.set_focus(self.query_one(Input))

    @on(ChoiceList.Opened)
    def action_inspect(self) -> None:
        """Close, and show all that is known of the passage."""
        match = self.query_one(MatchList).match
        if match is not None:
            target = Target(match.file["doc_id"], self._chunk_id)
            self.app.post_message(InspectTarget(target))
            self.dismiss()

    def action_open(self) -> None:
        """Open the file at the line."""
        match = self.query_one(MatchList).match
        if match is not None:
            source = match.file["source_id"]
            self.ask(Located, lambda: self._kb.locate(match.uri, source=source))

    @on(Located)
    def open_place(self, reply: Located) -> None:
        """Give the place to the application, which has the terminal."""
        if not self.is_stale(reply):
            self.app.post_message(OpenPlace(reply.value))

    def action_copy(self) -> None:
        """Copy the citation of the line through the terminal."""
        match = self.query_one(MatchList).match
        if match is not None:
            self.app.copy_to_clipboard(match.uri)
            self.query_one(Vertical).border_subtitle = Content(visible(f"copied {match.uri}"))


def _matches(found: types.GrepResponse) -> Iterator[Match]:
    for file in found["files"]:
        matching = (line for line in file["lines"] if line["is_match"])
        for place, line in enumerate(matching):
            yield Match(file, line, is_first=place == 0)


def _told(found: types.GrepResponse) -> str:
    """Say how many lines there are, and whether these are all."""
    said = f"{count(found['total_lines'], 'line')} in {count(found['total_files'], 'file')}"
    shown = sum(line["is_match"] for file in found["files"] for line in file["lines"])
    if shown < found["total_lines"]:
        said += f", {shown:,} shown"
    return "; ".join([said, *found.get("warnings", ())])
