"""The driver's side of the actors: hire them, hear them, replace those that are lost.

A node that goes takes its actors along; what they had comes back from here, for others. Where
nobody is there and nobody comes within ``SLOT_SECS``, that is an error which says so.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kb_app._ingest.workers.cluster.actor import Actor, Versions
from kb_app._ingest.workers.cluster.joining import joined
from kb_app._ingest.workers.process import Limits
from kb_app._ingest.workers.worker import Phase, Reply, error_of
from kb_core import logs
from kb_core.errors import InvalidInput, KbError
from kb_core.values import dataclass, field

__all__ = ["SLOT_SECS", "Crew", "Hand", "Lost", "Sent"]

SLOT_SECS = 45.0
"""How long to wait for a first actor; Ray itself would wait for ever."""
_LOOK_SECS = 1.0
_MOST_FAILURES = 3
"""Actors in a row that do not live to say hello."""

logger = logs.logger(__name__)


@dataclass(slots=True)
class Sent:
    """A task under way, as it goes over the wire, and how often it was lost."""

    index: int
    frame: bytes
    losses: int = 0
    is_begun: bool = False


@dataclass(slots=True)
class Hand:
    """One actor, as the driver knows it: its pending call, and what it was given."""

    actor: Any
    call: Any
    is_ready: bool = False
    has: dict[int, Sent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lost:
    """An actor is gone, and with it what it had."""

    sent: tuple[Sent, ...]


class Crew:
    """The actors of one executor; made when there is a first task."""

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        work: bytes,
        limits: Limits,
        *,
        address: str,
        actors: int,
        most: int,
        versions: Versions,
        slot_secs: float,
    ) -> None:
        self._stack = ExitStack()
        self._work, self._limits, self._versions = work, limits, versions
        self._slot_secs = slot_secs
        self._failures = 0
        self._own = dict(versions())
        here = min(actors or os.cpu_count() or 1, most)
        self._ray = self._stack.enter_context(joined(address, here))
        slots = int(self._ray.cluster_resources().get("CPU", 0))
        self.size = max(1, min(actors or slots, most))
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._actors = self._ray.remote(**options)(Actor)
        self._hands = [self._hire() for _ in range(self.size)]
        self._alone_since = time.monotonic()

    def close(self) -> None:
        """End the actors, and what they are at."""
        hands, self._hands = self._hands, []
        for hand in hands:
            self._ray.kill(hand.actor, no_restart=True)
        self._stack.close()

    def free(self) -> list[Hand]:
        """Return the actors that are there, and wait for a call."""
        return [hand for hand in self._hands if hand.is_ready and hand.call is None]

    def ask(self, hand: Hand, more: Sequence[Sent]) -> None:
        """Give *hand* tasks, and ask it what there is to say."""
        hand.has.update((sent.index, sent) for sent in more)
        hand.call = hand.actor.exchange.remote([(sent.index, sent.frame) for sent in more])

    def hear(self) -> Generator[tuple[Sent, Reply | Phase] | Lost]:
        """Wait for a while, and yield what was said, and who was lost meanwhile.

        Raises ``KbError`` where an actor cannot do this work at all, or none is to be had.
        """
        calls = {hand.call: hand for hand in self._hands if hand.call is not None}
        if not calls:
            return
        ready, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(calls), num_returns=1, timeout=_LOOK_SECS)
        for call in ready:
            hand = calls[call]
            hand.call = None
            try:
                answer = self._ray.get(call)
            except self._ray.exceptions.RayTaskError as error:
                raise _unable(error.cause) from error
            except self._ray.exceptions.RayError as error:
                yield self._replace(hand, error)
                continue
            if hand.is_ready:
                yield from _said(hand, answer)
            else:
                self._welcome(hand, *answer)
        self._mind_the_wait()

    def _hire(self) -> Hand:
        actor = self._actors.remote(self._work, self._limits)
        return Hand(actor, actor.hello.remote(self._versions))

    def _welcome(self, hand: Hand, node: str, versions: Mapping[str, str]) -> None:
        """Let an actor in that has what the driver has."""
        names = sorted({*self._own, *versions})
        for name in names:
            here, there = self._own.get(name, "none"), versions.get(name, "none")
            if here != there:
                raise InvalidInput(
                    f"node {node!r} of the Ray cluster has {name} {there!r}; this one, {here!r}",
                    hint="install the same kebab, extras and models on every node",
                    details={"node": node, "field": name, "value": there, "expected": here},
                )
        hand.is_ready, self._failures = True, 0

    def _replace(self, hand: Hand, error: Exception) -> Lost:
        """Hire another one for *hand*, which is gone."""
        first = str(error).strip().partition("\n")[0]
        logger.warning("a Ray actor was lost, and what it had is done again: %s", first)
        self._failures += not hand.is_ready
        if self._failures >= _MOST_FAILURES:
            raise KbError(
                f"Ray actors do not start: {first}",
                hint="kebab and its extra 'ray' have to be installed on every node; "
                "'ray status' and the logs of Ray tell more",
            ) from error
        self._ray.kill(hand.actor, no_restart=True)
        self._hands.remove(hand)
        if not any(each.is_ready for each in self._hands):
            self._alone_since = time.monotonic()
        self._hands.append(self._hire())
        return Lost(tuple(hand.has.values()))

    def _mind_the_wait(self) -> None:
        """Say so where no actor gets a slot."""
        if any(hand.is_ready for hand in self._hands):
            return
        if time.monotonic() - self._alone_since > self._slot_secs:
            raise KbError(
                f"no node of the Ray cluster had a free processor within {self._slot_secs:g} "
                "seconds, so nothing is being read",
                hint="'ray status' tells who has them; each actor takes one: free some, add a "
                "node, or leave --workers ray out",
                details={"actors": self.size},
            )


def _said(hand: Hand, words: Sequence[tuple[int, bytes]]) -> Generator[tuple[Sent, Reply | Phase]]:
    for index, frame in words:
        word = _unpickled(frame)
        sent = hand.has.pop(index) if isinstance(word, Reply) else hand.has[index]
        yield sent, word


def _unpickled(frame: bytes) -> Reply | Phase:
    try:
        word: Reply | Phase = pickle.loads(frame)  # noqa: S301 - our actor wrote it
    except Exception as error:  # noqa: BLE001 - whatever a value's own unpickling raises
        return Reply(error=error_of(error))
    return word


def _unable(cause: BaseException) -> KbError:
    if isinstance(cause, KbError):
        return cause
    return KbError(
        f"a node of the Ray cluster cannot do this work: {type(cause).__name__}: {cause}",
        hint="install the same kebab, extras and models on every node",
    )
