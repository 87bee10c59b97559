"""A screen that asks the facade: on threads, and only the newest answer counts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from kb_core.errors import KbError

__all__ = ["FacadeScreen", "Failed", "Reply"]

logger = logging.getLogger(__name__)

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
