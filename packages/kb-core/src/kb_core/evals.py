"""Golden questions: what is asked, what a good answer has to find or say, and runs over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from kb_core.errors import InvalidInput
from kb_core.media import SearchMode
from kb_core.search import MAX_K, SearchFilters, mode_of
from kb_core.values import dataclass, field

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = [
    "EvalCase",
    "EvalEvent",
    "EvalOptions",
    "EvalVariant",
    "ExpectedPlace",
    "SelfOptions",
    "Verdict",
]

Verdict: TypeAlias = Literal["good", "bad"]
"""Whether a passage answers what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPlace:
    """A passage that answers: where it stood, and what it said, so that it can be found again.

    ``content_hash`` is that of the whole passage, as a citation has it; ``quote`` is its
    beginning, or words of it.
    """

    uri: str
    source: str | None = None
    content_hash: str | None = None
    quote: str | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A question, and what it is judged by; grades above 1 are worth more.

    Documents are named by path or id, chunks by id. ``must_contain`` and ``forbidden`` are
    texts of an answer, in any case of their letters. Cases of one ``group`` ask for the same
    in other words.
    """

    id: str
    query: str
    expected_docs: Mapping[str, int] = field(default_factory=dict)
    expected_chunks: Mapping[str, int] = field(default_factory=dict)
    expected_places: tuple[ExpectedPlace, ...] = ()
    answer: str | None = None
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    filters: SearchFilters = SearchFilters()
    group: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether it says what has to be found."""
        return bool(self.expected_docs or self.expected_chunks or self.expected_places)

    @property
    def wants_refusal(self) -> bool:
        """Whether nothing answers it, so that the right answer is none."""
        return not (self.is_judged or self.answer or self.must_contain)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalVariant:
    """One way to search that is measured; what is left out is as configured."""

    mode: SearchMode = SearchMode.HYBRID
    fusion: str | None = None
    rrf_k: int | None = None
    rerank: bool | None = None
    per_doc: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", mode_of(self.mode))

    @property
    def name(self) -> str:
        """What it is called in runs: ``hybrid``, ``lexical,per_doc=1``."""
        told = {name: getattr(self, name) for name in ("fusion", "rrf_k", "rerank", "per_doc")}
        more = [f"{name}={str(value).lower()}" for name, value in told.items() if value is not None]
        return ",".join([self.mode.value, *more])


MIN_DEPTH = 10
"""Figures look at the first ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """What a run does.

    ``cases`` is a file of golden questions, ``into`` a folder to keep the run in instead of
    the data directory, ``resume`` the run to go on with.
    """

    cases: str | None = None
    variants: tuple[EvalVariant, ...] = (EvalVariant(),)
    depth: int = 20
    ask: bool = False
    name: str | None = None
    into: str | None = None
    resume: str | None = None

    def __post_init__(self) -> None:
        if not MIN_DEPTH <= self.depth <= MAX_K:
            raise InvalidInput(
                f"depth {self.depth} is not between {MIN_DEPTH} and {MAX_K}",
                details={"field": "depth", "value": self.depth, "min": MIN_DEPTH, "max": MAX_K},
            )
        names = [variant.name for variant in self.variants]
        if not names or len(set(names)) < len(names):
            raise InvalidInput(
                f"variants {', '.join(names) or 'are missing'}: each is measured once",
                details={"field": "variants", "value": names},
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfOptions:
    """How a knowledge base is examined without golden questions: so many documents, so long."""

    documents: int = 60
    seconds: float = 120.0
    seed: int = 1
    paraphrase: bool = False
    """Ask for a sentence of each document in the words of the language model, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalEvent:
    """One step: so many of all questions or documents; the last one carries what came of it."""

    kind: Literal["asked", "completed", "stopped"]
    done: int
    total: int
    case: str | None = None
    run: types.EvalRun | None = None
    examined: types.EvalSelf | None = None
