"""Answers: what is asked, what is answered from which places, or why nothing is."""

from __future__ import annotations

from typing import Literal, TypeAlias

from kb_core.citations import Citation
from kb_core.control import EmbeddingModel
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchFilters, SearchQuery
from kb_core.values import dataclass

__all__ = ["WEAK_EVIDENCE", "Answer", "AskQuery", "Cited", "Hop", "Refusal", "Stage"]
__all__ += ["Verification"]

WEAK_EVIDENCE = "weak evidence"
"""How the warning begins that the evidence of one answer is weak."""

Refusal: TypeAlias = Literal[
    "no_chunks",
    "score_gate",
    "llm_self_judge",
    "llm_stream_aborted",
    "multi_hop_decompose_failed",
    "verification_failed",
    "verifier_unavailable",
    "no_model",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskQuery:
    """A question, checked as a query is: *k* passages are found, the best of them read."""

    text: str
    mode: SearchMode = SearchMode.HYBRID
    k: int = 10
    filters: SearchFilters = SearchFilters()
    conversation: str | None = None
    """The conversation that it goes on with, by its name; ``new`` begins one."""
    multi_hop: bool = False
    """Whether a language model may ask for more searches, where one passage answers not."""
    explain: bool = False
    """Whether the answer is to say how it came about."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", self.search().mode)  # refuses what no search takes

    def search(self) -> SearchQuery:
        """Return the search that finds its evidence."""
        return SearchQuery(text=self.text, mode=self.mode, k=self.k, filters=self.filters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """Words of a passage that an answer stands on, or that come near one."""

    hit: Hit
    """The passage."""
    citation: Citation
    """Where the words stand in it."""
    quote: str
    marker: int | None = None
    """Its number in the answer, from 1."""
    lead: str | None = None
    """What is read before the quote: a table's header, or what leads into its list."""
    span: str | None = None
    """The part of the quote that is the answer itself, where that is clear."""
    hop: int | None = None
    """The number of the search that found it, where several were joined."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the way from a question to its answer."""

    name: str
    """``rewrite``, ``search``, ``hop``, ``read``, ``gate``, ``choose``, ``pack``, or ``write``."""
    milliseconds: int
    said: str
    """What it came to, for a person."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A search, or a round of them, for a question that no single passage answers."""

    number: int
    """From 1."""
    queries: tuple[str, ...]
    found: tuple[str, ...]
    """The ids of the chunks that no round before had found, best first."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How what a model wrote stood against what it cites."""

    score: float
    """The share of its statements that stand."""
    passed: bool
    """Whether all of them do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or a refusal with its reason; read at one revision."""

    question: AskQuery
    text: str
    citations: tuple[Cited, ...]
    refusal: Refusal | None
    confidence: float | None
    """About the chance that the evidence answers; ``None`` where that cannot be told."""
    threshold: float | None
    """The confidence below which there is no answer; ``None`` without a gate."""
    writer: str
    """The language model's name, ``extractive`` without one."""
    provider: str
    rules: str
    """The version of the prompt, or of the rules by which sentences are chosen."""
    trace_id: str
    embedding: EmbeddingModel | None
    """The model whose vectors were searched."""
    hits: tuple[Hit, ...]
    """What was found, best first."""
    created_at: int
    """Epoch seconds."""
    latency_ms: int
    corpus_revision: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rewritten: str | None = None
    """What was asked in place of a question that only makes sense after the ones before it."""
    conversation: str | None = None
    hops: tuple[Hop, ...] = ()
    """The rounds of searches, where there were several."""
    verification: Verification | None = None
    """``None`` where no model wrote it, or nothing was checked."""
    stages: tuple[Stage, ...] = ()
    """In order, where the question asks for them."""
    turn: int | None = None
    """Its number in the conversation, from 1; ``None`` where it is not kept."""
