"""A pane: what is the same on all of them.

Its keys come from one table; a line at the top says the mode and the pane, two at the
bottom what is the case and which keys work. Panes do not know each other: what leads
from one to another is a message to the application. The facade is asked on threads, and
only the newest answer counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import get_current_worker

from kb_app import KnowledgeBase
from kb_app.editors import FilePlace
from kb_app.preferences import Preferences
from kb_core import logs
from kb_core.errors import KbError, ReadonlyMode, StaleCursor
from kb_core.search import MAX_K, Hit, SearchQuery, SearchResponse
from kb_core.values import dataclass, replace
from kb_tui._keys import PANES, Key, Typing, cheat_sheet, hint, offered
from kb_tui._runner import IngestRunner, SourceFollower
from kb_tui._terminal import OpenPlace
from kb_tui.popups import AddFolder, CheatSheet, ErrorPopup
from kb_tui.widgets.bars import HintLine, StatusBar, TopLine

__all__ = [
    "Counted",
    "FacadeScreen",
    "Failed",
    "GoTo",
    "HitPane",
    "InspectTarget",
    "More",
    "Pane",
    "Reply",
    "Shared",
    "Target",
    "next_page",
]


@dataclass(frozen=True, slots=True)
class Shared:
    """Handed to every pane by the application."""

    kb: KnowledgeBase
    preferences: Preferences
    runner: IngestRunner
    follower: SourceFollower
    named: Callable[[str], str] = str
    """Names in what is said the commands as they are for this knowledge base."""


@dataclass(frozen=True, slots=True)
class Target:
    """A document, or with ``chunk_id`` a chunk, to inspect."""

    doc_id: str
    chunk_id: str | None = None


logger = logs.logger(__name__)

T = TypeVar("T")


class Reply(Message, Generic[T]):
    """What came of a question. Each kind of question has a subclass of its own."""

    def __init__(self, ticket: int, value: T) -> None:
        super().__init__()
        self.ticket = ticket
        self.value = value


Kind: TypeAlias = type[Reply[Any]]


class Failed(Message):
    """The facade could not answer a question of this kind."""

    def __init__(self, kind: Kind, ticket: int, error: Exception) -> None:
        super().__init__()
        self.kind = kind
        self.ticket = ticket
        self.error = error


class FacadeScreen(Screen[None]):
    """Base of the screens over a knowledge base.

    ``ask`` is the only way to the facade. Handlers of replies begin with ``is_stale``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tickets: Counter[Kind] = Counter()

    def ask(self, kind: type[Reply[T]], question: Callable[[], T]) -> None:
        """Run *question* on a thread, and post its answer as a reply of this *kind*.

        An older question of the kind is dropped if it has not begun, else its reply is
        stale.
        """
        self.forget(kind)
        work = partial(self._answer, kind, self._tickets[kind], question)
        self.run_worker(work, group=kind.__name__, exclusive=True, thread=True)

    @property
    def questions_asked(self) -> dict[Kind, int]:
        """How often each kind was asked or forgotten."""
        return dict(self._tickets)

    def forget(self, kind: Kind) -> None:
        """Make every reply of this *kind* that is under way stale."""
        self._tickets[kind] += 1

    def is_stale(self, reply: Reply[Any] | Failed) -> bool:
        """Say whether something newer was asked since."""
        kind = reply.kind if isinstance(reply, Failed) else type(reply)
        return reply.ticket != self._tickets[kind]

    def _answer(self, kind: type[Reply[T]], ticket: int, question: Callable[[], T]) -> None:
        if get_current_worker().is_cancelled:
            return
        try:
            self.post_message(kind(ticket, question()))
        except KbError as error:
            self.post_message(Failed(kind, ticket, error))
        except Exception as error:
            logger.exception("%s failed", kind.__name__)
            self.post_message(Failed(kind, ticket, error))


class GoTo(Message):
    """Show another pane, ready to be typed into if it is one for typing."""

    def __init__(self, pane: str) -> None:
        super().__init__()
        self.pane = pane


class InspectTarget(Message):
    """Show a document or chunk in the pane Inspect; Esc there leads back here."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target


class Counted(Reply[Mapping[str, Any]]):
    """The size of the knowledge base, as stats.v1."""


class Located(Reply[FilePlace]):
    """Where the cited file is."""


class Added(Reply[str]):
    """A folder is a source; its id."""


class Pane(FacadeScreen):
    """Base of the panes. ``NAME`` is one of ``PANES``; ``body`` yields what is between."""

    NAME: ClassVar[str]
    KEYS: ClassVar[tuple[Key, ...]]
    IS_TYPING: ClassVar[bool] = False
    """Whether the pane is for typing: it starts in INSERT."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (140, "-broad")]  # noqa: RUF012 - textual's type
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - textual's type
    AUTO_FOCUS: ClassVar[str | None] = "Input, ChoiceList"
    """Where keys go when the pane is first shown: no key is taken before that is settled."""

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self.shared = shared
        self.kb = shared.kb
        self._shown_error: tuple[str, str] | None = None
        self.revision: int | None = None
        """The revision that the counts are of."""

    def body(self) -> ComposeResult:
        """Yield the widgets between the top line and the status bar."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield TopLine(self.NAME)
        yield from self.body()
        yield StatusBar(self.NAME.title(), is_readonly=self.kb.readonly)
        yield HintLine()

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that work here, as far as a person may use them."""
        return offered(self.KEYS, is_readonly=self.kb.readonly)

    @property
    def is_ready(self) -> bool:
        """Whether all of it is there to be drawn on: not before it is shown, nor at the end."""
        return self.is_mounted and bool(self.query("StatusBar #job"))

    # ---------------------------------------------------------------- modes

    @property
    def typing(self) -> Typing:
        """INSERT while a field has the focus: a letter can never be taken for a command."""
        return "INSERT" if isinstance(self.focused, Input) else "NORMAL"

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        self._show_typing()

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        self._show_typing()

    def _show_typing(self) -> None:
        self.query_one(TopLine).show_typing(self.typing)
        self.query_one(HintLine).show(hint(self.keys, self.typing))

    def begin(self) -> None:
        """Take the mode that the pane starts in."""
        self._show_typing()
        if self.IS_TYPING:
            self.action_insert()
        else:
            self.leave_insert()

    def action_insert(self) -> None:
        self.set_focus(self.query_one(Input))

    def leave_insert(self) -> None:
        """Give the focus to what the keys of NORMAL move in."""
        raise NotImplementedError

    def action_escape(self) -> None:
        """Leave INSERT; panes with something to stop or to leave do that, too."""
        self.leave_insert()

    # ---------------------------------------------------------------- everywhere

    def action_help(self) -> None:
        has_modes = self.IS_TYPING
        sheet = cheat_sheet(self.keys, has_modes=has_modes)
        self.app.push_screen(CheatSheet(f"Keys of {self.NAME.title()}", sheet))

    def action_pane(self, name: str) -> None:
        self.post_message(GoTo(name))

    def action_next_pane(self, by: int) -> None:
        self.post_message(GoTo(PANES[(PANES.index(self.NAME) + by) % len(PANES)]))

    @on(TopLine.Picked)
    def _go(self, event: TopLine.Picked) -> None:
        self.post_message(GoTo(event.pane))

    def action_ingest(self) -> None:
        """Begin an ingest in the background."""
        if self.kb.readonly:
            hint = "run without --readonly"
            refusal = ReadonlyMode("ingest writes, and this is open for reading only", hint=hint)
            self.app.push_screen(ErrorPopup(refusal))
        elif not self.shared.runner.start():
            self.state("an ingest is running already")

    def action_follow(self) -> None:
        """Follow the sources from now on, or end that."""
        follower = self.shared.follower
        if self.kb.readonly:
            hint = "run without --readonly"
            refusal = ReadonlyMode("watch writes, and this is open for reading only", hint=hint)
            self.app.push_screen(ErrorPopup(refusal))
        elif follower.is_following:
            follower.stop()
            self.state("no longer following the sources")
        elif follower.start():
            self.state("following the sources")
        else:
            self.state("following ends after the batch; then w begins again")

    def action_add(self) -> None:
        """Ask for a folder, make it a source, and ingest."""
        if self.kb.readonly:
            hint = "run without --readonly"
            refusal = ReadonlyMode("add writes, and this is open for reading only", hint=hint)
            self.app.push_screen(ErrorPopup(refusal))
        else:
            self.app.push_screen(AddFolder(self.kb), self._add)

    def _add(self, folder: str | None) -> None:
        if folder is not None:
            self.ask(Added, lambda: self.kb.add_source(folder))

    @on(Added)
    def _show_added(self, reply: Added) -> None:
        if not self.is_stale(reply):
            self.action_ingest()
            self.state(f"added {reply.value}; ingesting")

    # ---------------------------------------------------------------- what is shown

    def state(self, state: str) -> None:
        """Say what is going on, or what the last action led to."""
        self.query_one(StatusBar).show_state(state)

    def show_job(self, job: str) -> None:
        """Say how far the ingest is; called while the pane is in sight, and once after."""
        self.query_one(StatusBar).show_job(job)

    def count(self) -> None:
        """Ask for the size of the knowledge base."""
        self.ask(Counted, self.kb.stats)

    @on(Counted)
    def _show_counted(self, reply: Counted) -> None:
        if self.is_stale(reply):
            return
        documents, chunks = reply.value["doc_count"], reply.value["chunk_count"]
        self.revision = reply.value["corpus_revision"]
        self.query_one(StatusBar).show_size(documents, chunks)
        self.counted(reply.value)

    def counted(self, stats: Mapping[str, Any]) -> None:
        """Take in new counts; nothing by default."""

    def changed(self) -> None:
        """The knowledge base may have changed: called when a run ended or the pane is shown."""
        self.count()

    @on(Failed)
    def _show_failed(self, reply: Failed) -> None:
        """Open a popup, but not again for each letter that is typed on."""
        if self.is_stale(reply):
            return
        code = getattr(reply.error, "code", "internal")
        self.state(f"error: {code}")
        self.failed(reply)
        error = (code, str(reply.error))
        if error != self._shown_error:
            self._shown_error = error
            self.app.push_screen(ErrorPopup(reply.error, self.shared.named))

    def failed(self, reply: Failed) -> None:
        """Take in that a question failed; nothing by default."""

    def forget_error(self) -> None:
        """Show the next error even if it is the last one again."""
        self._shown_error = None


class HitPane(Pane):
    """A pane of which one hit is chosen, which its keys inspect, copy and open."""

    def chosen_hit(self) -> Hit | None:
        """Return the chosen hit; if there is none, say so."""
        raise NotImplementedError

    def action_inspect(self) -> None:
        """Show all that is known of the hit."""
        hit = self.chosen_hit()
        if hit is not None:
            self.post_message(InspectTarget(Target(hit.doc_id, hit.chunk_id)))

    def action_copy(self) -> None:
        """Copy the hit's citation through the terminal."""
        hit = self.chosen_hit()
        if hit is not None:
            self.app.copy_to_clipboard(hit.citation.uri)
            self.state(f"copied {hit.citation.uri}")

    def action_open(self) -> None:
        """Open the hit's file where it stands now."""
        hit = self.chosen_hit()
        if hit is not None:
            self.ask(Located, lambda: self.kb.locate(hit.citation.uri, source=hit.source_id))

    @on(Located)
    def open_place(self, reply: Located) -> None:
        if not self.is_stale(reply):
            self.post_message(OpenPlace(reply.value))


# ------------------------------------------------------------------ pages of a list

_TRIES = 3

Search: TypeAlias = Callable[[SearchQuery], SearchResponse]


@dataclass(frozen=True, slots=True)
class More:
    """What comes after the hits that are shown, or instead of them."""

    found: SearchResponse
    is_anew: bool
    """Whether the hits are the list from its beginning, since it is another one now."""


def next_page(search: Search, query: SearchQuery, cursor: str, loaded: int) -> More:
    """Return the page at *cursor* of the list of *query*, of which *loaded* hits are shown.

    Where that list is no more, return as many hits of the one there is now as were shown,
    and a page besides.
    """
    try:
        return More(search(replace(query, cursor=cursor)), is_anew=False)
    except StaleCursor:
        return More(_anew(search, query, loaded + query.k), is_anew=True)


def _anew(search: Search, query: SearchQuery, count: int) -> SearchResponse:
    for _ in range(_TRIES):
        try:
            return _beginning(search, query, count)
        except StaleCursor:  # it changed between two pages
            continue
    # A single page cannot be of two lists.
    return search(replace(query, k=min(count, MAX_K)))


def _beginning(search: Search, query: SearchQuery, count: int) -> SearchResponse:
    """Return the first *count* hits: page by page, so that the list is that of *query*."""
    found = search(query)
    while found.next_cursor is not None and len(found.hits) < count:
        size = min(count - len(found.hits), MAX_K)
        page = search(replace(query, k=size, cursor=found.next_cursor))
        found = replace(page, hits=found.hits + page.hits)
    return found
