"""The control row: which state is published, in which collections, and how it is ranked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from hashlib import blake2b
from typing import Any

from kb_core.control import Control
from kb_core.errors import IoError, NotIndexed
from kb_core.values import dataclass
from kb_search.analysis import ANALYSIS_VERSION
from kb_search.milvus.counts import Segment
from kb_search.milvus.engine import Engine
from kb_search.milvus.expressions import raw_listed
from kb_search.milvus.rows import Field
from kb_search.opening import control_of
from kb_search.schema import control_payload

__all__ = ["INDEX_VERSION", "Names", "State", "read_state", "read_told", "state_of"]
__all__ += ["collections_of", "generation_of", "write_state"]

INDEX_VERSION = f"m1-{ANALYSIS_VERSION}"
"""An index of another version is made anew from the truth by the next writer."""

CONTROL = "control"
_MOST_CHARS = 60_000
_TRIES = 20
_CONTROL_FIELDS = (Field("payload", "text"), Field("pad", "dense", 2))


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


def read_told(engine: Engine, base: str) -> str:
    """Return the control row as it is; raise ``NotIndexed`` where there is none."""
    if not engine.has(base):
        raise NotIndexed("nothing has been indexed here yet", hint="run 'kebab ingest'")
    rows = engine.get(base, [CONTROL], ["payload"])
    if not rows:
        raise NotIndexed("the index is empty: no run has finished yet", hint="run 'kebab ingest'")
    return str(rows[0]["payload"])


def read_state(engine: Engine, base: str) -> State:
    """Return the published state; raise ``NotIndexed`` where there is none, or an older one."""
    for _ in range(_TRIES):
        told = read_told(engine, base)
        if (state := state_of(engine, base, told)) is not None:
            return state
    raise IoError(f"the control row of {base!r} changes faster than it can be read")


def state_of(engine: Engine, base: str, told: str) -> State | None:
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
        generation=said["generation"],
        segments=tuple(Segment(*each) for each in said["segments"]),
        pivots=said["pivots"],
        weighed=said["weighed"],
        purged=said["purged"],
        history=tuple((rev, at) for rev, at in said["history"]),
    )


def write_state(engine: Engine, base: str, state: State) -> None:
    """Publish *state*: the one write that readers see."""
    said = {
        "control": json.loads(control_payload(state.control)),
        "generation": state.generation,
        "segments": state.segments,
        "pivots": dict(state.pivots),
        "weighed": state.weighed,
        "purged": state.purged,
        "history": state.history,
    }
    engine.make(base, _CONTROL_FIELDS)
    payload = json.dumps(said, ensure_ascii=True, separators=(",", ":"))
    pages: list[str] = []
    if len(payload) > _MOST_CHARS:
        digest = blake2b(payload.encode(), digest_size=8).hexdigest()
        parts = range(0, len(payload), _MOST_CHARS)
        pages = [f"{digest}:{n}" for n, _ in enumerate(parts)]
        texts = (payload[at : at + _MOST_CHARS] for at in parts)
        engine.upsert(base, (_row(page, text) for page, text in zip(pages, texts, strict=True)))
        payload = json.dumps({"pages": pages})
    engine.upsert(base, [_row(CONTROL, payload)])
    old = {row["pk"] for row in engine.rows(base, f'pk != "{CONTROL}"', ["pk"])} - {*pages}
    engine.delete(base, raw_listed("pk", sorted(old)))


def _row(key: str, payload: str) -> dict[str, object]:
    return {"pk": key, "payload": payload, "pad": [0.0, 0.0]}
