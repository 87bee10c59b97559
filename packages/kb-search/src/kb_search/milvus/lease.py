"""Who may publish: one at a time, and who lost its turn changes nothing that is read.

The engine writes nothing on a condition, so this does not rest on one. A publisher claims a
row of its own, which says until when, and looks whether another's claim lives; whose claim
has ended has nothing but time against it. That keeps two from working at once, as far as
their clocks agree. What keeps readers right needs no clock: a publisher that follows another
one takes a **term** above all that were ever claimed, builds collections of its own, and
publishes in a control row of its own, the highest of which is read (``state``). Whatever one
of before still writes, after a pause of any length, lands where nobody looks any more.
See ``docs/decisions/0056-one-publisher-at-a-time.md``; the terms are those of fencing tokens
(Kleppmann, "How to do distributed locking", 2016). Of two that claim at once at least one sees
the other, and steps back.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from hashlib import blake2b

from kb_core.clock import from_epoch, to_epoch, to_rfc3339
from kb_core.errors import KbError, NotIndexed, StoreBusy
from kb_core.ports import Clock
from kb_core.values import dataclass
from kb_search.milvus.engine import Engine
from kb_search.milvus.state import CONTROL_FIELDS, Term, read_newest

__all__ = ["Claim", "Lease", "Publisher", "claims", "refuse_while_published"]

SECS = 120
"""How long a claim lives after it was renewed: twice what one question may take."""
_CLAIM = "claim"
_TAGS = 10_000
_LOOK_SECS = 0.5


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who publishes: *owner* is the same for every process over one data directory."""

    owner: str = "here"
    called: str = ""
    wait_secs: float = 0.0
    """What a person knows it by, and how long it waits for another one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a publisher said: its term, and until when it may be at work (epoch seconds)."""

    term: Term
    until: int
    called: str


def claims(engine: Engine, base: str) -> list[Claim]:
    """Return all claims on an index, that of the highest term first."""
    if not engine.has(base):
        return []
    rows = engine.rows(base, f'pk like "{_CLAIM}%"', ["payload"])
    said = ((Term.of(row["pk"]).owner, json.loads(row["payload"])) for row in rows)
    found = [Claim(Term(s["term"], owner), s["until"], s["called"]) for owner, s in said]
    return sorted(found, key=lambda claim: claim.term, reverse=True)


def refuse_while_published(engine: Engine, base: str, who: Publisher, clock: Clock) -> None:
    """Raise ``StoreBusy`` where a publisher over another data directory has its turn."""
    now = to_epoch(clock())
    for claim in claims(engine, base):
        if claim.term.owner != who.owner and claim.until > now:
            raise _busy(base, claim)


class Lease:
    """The turn of one publisher. ``term`` is what it publishes under, once it was taken."""

    def __init__(self, engine: Engine, base: str, who: Publisher, clock: Clock) -> None:
        self._engine = engine
        self._base = base
        self._who = who
        self._clock = clock
        self._renewed = 0
        self.term = Term()

    def take(self) -> None:
        """Take the turn; raise ``StoreBusy`` where another publisher has it, after waiting."""
        until = time.monotonic() + self._who.wait_secs
        while (other := self._tried()) is not None:
            if time.monotonic() >= until:
                raise _busy(self._base, other)
            time.sleep(random.uniform(_LOOK_SECS, 3 * _LOOK_SECS))  # noqa: S311 - no secret

    def hold(self) -> None:
        """See that the turn is still ours, and go on; raise ``StoreBusy`` where it is not."""
        published, _ = self._published()
        if published > self.term:
            raise self._lost()
        now = to_epoch(self._clock())
        if now - self._renewed < SECS // 2:
            return
        if (other := self._live(now)) is not None:
            raise self._lost() if now - self._renewed >= SECS else _busy(self._base, other)
        self._claim(now + SECS)

    def release(self) -> None:
        """Let another publisher have its turn at once."""
        with suppress(KbError):  # it ends by itself
            if self._engine.has(self._base):
                self._claim(0)

    def generation_after(self, newest: int) -> int:
        """Return the number of a new generation of collections, which no other would choose."""
        return (newest // _TAGS + 1) * _TAGS + self._tag

    def is_ours(self, generation: int) -> bool:
        """Say whether a generation of collections was made over this data directory."""
        return generation % _TAGS == self._tag

    # ---------------------------------------------------------------- private

    @property
    def _tag(self) -> int:
        digest = blake2b(self._who.owner.encode(), digest_size=4).digest()
        return int.from_bytes(digest) % _TAGS

    def _tried(self) -> Claim | None:
        """Claim the turn; return whose it is, if it is not ours."""
        now = to_epoch(self._clock())
        if (other := self._live(now)) is not None:
            return other
        published, _ = self._published()
        above = max([published, *(claim.term for claim in claims(self._engine, self._base))])
        is_ours = published.owner == self._who.owner
        self.term = published if is_ours else Term(above.number + 1, self._who.owner)
        self._claim(now + SECS)
        if (other := self._live(now)) is not None:  # it claimed meanwhile, and may have seen ours
            self._claim(0)
        return other

    def _published(self) -> tuple[Term, str]:
        try:
            return read_newest(self._engine, self._base)
        except NotIndexed:
            return Term(), ""

    def _live(self, now: int) -> Claim | None:
        """Return the claim of another publisher that has not ended."""
        owner = self._who.owner
        found = (c for c in claims(self._engine, self._base) if c.term.owner != owner)
        return next((claim for claim in found if claim.until > now), None)

    def _claim(self, until: int) -> None:
        said = {"term": self.term.number, "until": until, "called": self._who.called}
        self._engine.make(self._base, CONTROL_FIELDS)
        row = {"pk": f"{_CLAIM}::{self._who.owner}", "payload": json.dumps(said), "pad": [0.0, 0.0]}
        self._engine.upsert(self._base, [row])
        self._renewed = until - SECS

    def _lost(self) -> StoreBusy:
        return StoreBusy(
            f"another machine has taken over publishing to the index {self._base!r}",
            hint="what was read so far is kept here; 'kebab doctor' says who publishes",
            details={"field": "index.collection", "value": self._base},
        )


def _busy(base: str, other: Claim) -> StoreBusy:
    until = to_rfc3339(from_epoch(other.until))
    return StoreBusy(
        f"{other.called or 'another machine'} publishes to the index {base!r}, "
        f"or ended without a word; its turn ends at {until}",
        hint="let it finish, or wait until then: what was read so far is kept",
        details={"publisher": other.called, "until": until},
    )
