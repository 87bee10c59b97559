"""The control row: which state is published, in which collections, and how it is ranked.

There is one for each term of a publisher (``lease``), and the highest is what readers take: who
lost its turn and does not know it yet replaces a row that nobody looks at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from kb_core.control import Control
from kb_core.errors import IoError, NotIndexed
from kb_core.values import dataclass, field, replace
from kb_search.analysis import ANALYSIS_VERSION
from kb_search.milvus.counts import Segment
from kb_search.milvus.engine import Engine
from kb_search.milvus.expressions import raw_listed
from kb_search.milvus.rows import Field
from kb_search.opening import control_of
from kb_search.schema import control_payload

__all__ = ["CONTROL_FIELDS", "INDEX_VERSION", "Names", "State", "Term", "read_newest"]
__all__ += ["collections_of", "generation_of", "read_state", "state_of", "write_state"]

INDEX_VERSION = f"m7-{ANALYSIS_VERSION}"
"""An index of another version is made anew from the truth by the next writer."""

CONTROL = "control"
_PAGE = "page"
_MOST_CHARS = 60_000
_TRIES = 20
CONTROL_FIELDS = (Field("payload", "text"), Field("pad", "dense", 2))


class Term(NamedTuple):
    """A turn of a publisher; it owns what was published last if its term is the highest."""

    number: int = 0
    owner: str = ""

    @classmethod
    def of(cls, key: str) -> Term:
        """Return the term that a row belongs to, by its primary key."""
        _, number, owner, *_ = [*key.split(":"), "", ""]
        return cls(int(number) if number.isdecimal() else 0, owner)

    def key(self, kind: str = CONTROL) -> str:
        """Return the primary key of the row of a *kind* that is of this term."""
        return f"{kind}:{self.number}:{self.owner}"


@dataclass(frozen=True, slots=True)
class Names:
    """What the collections of an index are called; each rebuild has a generation of its own."""

    base: str
    generation: int

    @property
    def chunks(self) -> str:
        """The passages."""
        return f"{self.base}_{self.generation}_chunks"

    @property
    def records(self) -> str:
        """Documents, texts, the ledger, aliases and counts."""
        return f"{self.base}_{self.generation}_records"

    def vectors(self, model_key: str) -> str:
        """The vectors of a model, whose name need not be one that the engine takes."""
        digest = blake2b(model_key.encode(), digest_size=5).hexdigest()
        return f"{self.base}_{self.generation}_m{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A published state."""

    control: Control
    term: Term = Term()
    generation: int = 1
    segments: tuple[Segment, ...] = ()
    pivots: Mapping[str, int] = field(default_factory=dict)
    """The length of each field that counts as average in the rows as they are."""
    weighed: int = 0
    """How many passages there were when those were last made equal to what they should be."""
    purged: int = 0
    """Rows that were replaced at or before this sequence are gone."""
    history: tuple[tuple[int, int], ...] = ()
    """Sequences that rows may still be kept for, and when each was replaced."""

    def with_control(self, **changes: Any) -> State:  # noqa: ANN401 - fields of Control
        """Return the same with another control record."""
        return replace(self, control=replace(self.control, **changes))


def generation_of(base: str, name: str) -> int:
    """Return the generation that a collection of this index belongs to, or 0."""
    number, _, rest = name.removeprefix(f"{base}_").partition("_")
    is_ours = name.startswith(f"{base}_") and number.isdecimal() and rest
    return int(number) if is_ours else 0


def collections_of(base: str, names: Iterable[str]) -> list[str]:
    """Return those of *names* that are collections of the index *base*."""
    return [name for name in names if name == base or generation_of(base, name)]


def read_newest(engine: Engine, base: str) -> tuple[Term, str]:
    """Return whose state is published, and its control row as it is; else ``NotIndexed``."""
    if not engine.has(base):
        raise NotIndexed("nothing has been indexed here yet", hint="run 'kebab ingest'")
    rows = engine.rows(base, f'pk like "{CONTROL}%"', ["payload"])
    if not rows:
        raise NotIndexed("the index is empty: no run has finished yet", hint="run 'kebab ingest'")
    return max((Term.of(row["pk"]), str(row["payload"])) for row in rows)


def read_state(engine: Engine, base: str) -> State:
    """Return the published state; raise ``NotIndexed`` where there is none, or an older one."""
    for _ in range(_TRIES):
        if (state := state_of(engine, base, *read_newest(engine, base))) is not None:
            return state
    raise IoError(f"the control row of {base!r} changes faster than it can be read")


def state_of(engine: Engine, base: str, term: Term, told: str) -> State | None:
    """Return the state that a control row tells; ``None`` where it was replaced meanwhile."""
    said = json.loads(told)
    if "pages" in said:
        pages = {row["pk"]: row["payload"] for row in engine.get(base, said["pages"], ["payload"])}
        if len(pages) < len(said["pages"]):
            return None
        said = json.loads("".join(pages[page] for page in said["pages"]))
    control = control_of(said["control"])
    if control.index_version != INDEX_VERSION:
        raise NotIndexed(
            f"the index is of version {control.index_version!r}, this is {INDEX_VERSION!r}",
            hint="run 'kebab ingest' to rebuild it; nothing is parsed or embedded again",
            details={"index_version": control.index_version},
        )
    return State(
        control=control,
        term=term,
        generation=said["generation"],
        segments=tuple(Segment(*each) for each in said["segments"]),
        pivots=said["pivots"],
        weighed=said["weighed"],
        purged=said["purged"],
        history=tuple((rev, at) for rev, at in said["history"]),
    )


def write_state(engine: Engine, base: str, state: State) -> None:
    """Publish *state*: the one write that readers see. What lower terms left goes."""
    said = {
        "control": json.loads(control_payload(state.control)),
        "generation": state.generation,
        "segments": state.segments,
        "pivots": dict(state.pivots),
        "weighed": state.weighed,
        "purged": state.purged,
        "history": state.history,
    }
    engine.make(base, CONTROL_FIELDS)
    payload = json.dumps(said, ensure_ascii=True, separators=(",", ":"))
    pages: list[str] = []
    if len(payload) > _MOST_CHARS:
        digest = blake2b(payload.encode(), digest_size=8).hexdigest()
        parts = range(0, len(payload), _MOST_CHARS)
        pages = [f"{state.term.key(_PAGE)}:{digest}:{n}" for n, _ in enumerate(parts)]
        texts = (payload[at : at + _MOST_CHARS] for at in parts)
        engine.upsert(base, (_row(page, text) for page, text in zip(pages, texts, strict=True)))
        payload = json.dumps({"pages": pages})
    engine.upsert(base, [_row(state.term.key(), payload)])
    kept = {state.term.key(), *pages}
    rows = engine.rows(base, f'pk like "{CONTROL}%" or pk like "{_PAGE}%"', ["pk"])
    old = {row["pk"] for row in rows if Term.of(row["pk"]) <= state.term} - kept
    engine.delete(base, raw_listed("pk", sorted(old)))


def _row(key: str, payload: str) -> dict[str, object]:
    return {"pk": key, "payload": payload, "pad": [0.0, 0.0]}
