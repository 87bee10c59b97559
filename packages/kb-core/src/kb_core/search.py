"""Search: what is asked, what the channels propose, what is answered; of several, too."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kb_core.citations import Citation
from kb_core.errors import InvalidInput, KbError
from kb_core.media import SearchMode
from kb_core.values import as_dict, dataclass, field, lazy_pattern

if TYPE_CHECKING:
    from kb_core.dates import DateAsked

__all__ = [
    "CHARS_PER_TOKEN",
    "FULL_MATCH_WORDS",
    "MAX_GREP_CONTEXT",
    "MAX_GREP_LINES",
    "MAX_K",
    "MAX_QUERIES",
    "MAX_QUERY_CHARS",
    "MAX_QUERY_TERMS",
    "MAX_TRACED",
    "MIN_SNIPPET_CHARS",
    "AggregatedResponse",
    "Candidate",
    "CaseMode",
    "Clause",
    "ClauseKind",
    "Constant",
    "FileRole",
    "FusionInput",
    "GrepQuery",
    "Hit",
    "KnownWord",
    "KnownWords",
    "LexicalQuery",
    "Missing",
    "Outcome",
    "PartReading",
    "Passage",
    "Relaxation",
    "Retrieval",
    "SaidAbout",
    "Sampling",
    "Scored",
    "SearchFilters",
    "SearchQuery",
    "SearchResponse",
    "Timing",
    "Trace",
    "mode_of",
]

MAX_K = 100
MAX_QUERY_CHARS = 20_000
MAX_QUERY_TERMS = 1_000
"""Different words of a query, or pairs of letters of what is written without spaces: each is
looked up, and a long page of prose has fewer."""
MIN_SNIPPET_CHARS = 60
CHARS_PER_TOKEN = 4
"""What a budget in tokens is counted by: characters of the JSON as it is emitted."""
FULL_MATCH_WORDS = 10
"""How many words of a question a passage has to hold to match all of it: no answer repeats
a long question. Pairs of letters are the words of what is written without spaces."""

_MAX_TOKENS, _MAX_DEADLINE_MS = 10_000_000, 3_600_000


class FileRole(StrEnum):
    """What a file of a repository is to somebody who looks for code."""

    CODE = "code"
    DOCS = "docs"
    TESTS = "tests"
    CONFIG = "config"


_SEVERAL = ("tag", "lang", "path_glob", "media", "repo", "code_lang", "source", "source_type")


def _take_texts(made: object, *names: str) -> None:
    """Take a text in these fields for the only one of several: its letters are not meant."""
    for name in names:
        if isinstance(value := getattr(made, name), str):
            object.__setattr__(made, name, (value,))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Filters as people and agents give them: AND between keys, OR within a list.

    What each is for and how it is asked for is its row of ``kb_core.filters.FILTERS``.
    A text where several may be is the one that is meant.
    Times are RFC 3339 or ISO dates, as text; they are checked where they are compiled.
    """

    tag: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    path_glob: tuple[str, ...] = ()
    trust_min: str | None = None
    media: tuple[str, ...] = ()
    ingested_after: str | None = None
    since: str | None = None
    until: str | None = None
    doc_id: str | None = None
    repo: tuple[str, ...] = ()
    code_lang: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    source_type: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _take_texts(self, *_SEVERAL)

    def given(self) -> dict[str, Any]:
        """Return the filters that have a value, by their names, as JSON has them."""
        told = as_dict(self)
        return {n: list(v) if isinstance(v, tuple) else v for n, v in told.items() if v}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question, checked: text that is not blank, bounds that make sense, a mode that there is.

    ``max_tokens`` bounds the whole response, ``cursor`` goes on with an earlier one,
    ``rerank`` left out is as configured, ``deadline_ms`` takes what is ready by then.
    ``per_doc`` is the most hits of one document, 0 for no limit, by default as the cursor has.
    ``passages`` gives each hit its whole text beside the snippet, and where that lies.
    """

    text: str
    mode: SearchMode = SearchMode.HYBRID
    k: int = 10
    filters: SearchFilters = SearchFilters()
    snippet_chars: int = 220
    max_tokens: int | None = None
    cursor: str | None = None
    rerank: bool | None = None
    deadline_ms: int | None = None
    trace: bool = False
    per_doc: int | None = None
    passages: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidInput(
                f"query {self.text!r} is blank",
                hint="give at least one word",
                details={"field": "query", "value": self.text},
            )
        if len(self.text) > MAX_QUERY_CHARS:
            raise InvalidInput(
                f"the query has {len(self.text):,} characters, and at most "
                f"{MAX_QUERY_CHARS:,} are looked for",
                hint="ask for what is telling in it",
                details={"field": "query", "value": len(self.text), "max": MAX_QUERY_CHARS},
            )
        object.__setattr__(self, "mode", mode_of(self.mode))
        _between("k", self.k, 1, MAX_K)
        _between("snippet_chars", self.snippet_chars, MIN_SNIPPET_CHARS, 10_000)
        if self.max_tokens is not None:
            _between("max_tokens", self.max_tokens, 1, _MAX_TOKENS)
        if self.deadline_ms is not None:
            _between("deadline_ms", self.deadline_ms, 1, _MAX_DEADLINE_MS)
        if self.per_doc is not None:
            _between("per_doc", self.per_doc, 0, MAX_K)


MAX_GREP_LINES = 10_000
MAX_GREP_CONTEXT = 50
CaseMode: TypeAlias = Literal["smart", "exact", "ignore"]
"""``smart``: case counts where the pattern has a capital letter."""


class Constant(NamedTuple):
    """A line of code that gives a name its value: of which document, its number, what it says."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepQuery:
    """Which exact text is looked for, and where.

    ``fixed`` takes the pattern as it stands, ``word`` finds it as whole words, ``paths`` are
    folders and files. At most ``max_lines`` lines are shown, all are counted.
    """

    pattern: str
    fixed: bool = False
    word: bool = False
    case: CaseMode = "smart"
    multiline: bool = False
    context: int = 0
    max_lines: int = 100
    files_only: bool = False
    paths: tuple[str, ...] = ()
    filters: SearchFilters = SearchFilters()

    def __post_init__(self) -> None:
        _take_texts(self, "paths")
        _between("context", self.context, 0, MAX_GREP_CONTEXT)
        _between("max_lines", self.max_lines, 1, MAX_GREP_LINES)
        if self.case not in {"smart", "exact", "ignore"}:
            raise InvalidInput(
                f"case {self.case!r} is not smart, exact or ignore",
                details={"field": "case", "value": self.case},
            )

    @property
    def ignores_case(self) -> bool:
        """Whether case does not count."""
        if self.case == "smart":
            return not _has_capital(self.pattern, fixed=self.fixed)
        return self.case == "ignore"


_CODE_POINT = r"\\(?:x([0-9A-Fa-f]{2})|[xu]\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4}))"
_OF_ONE_CASE = (
    r"(\\[pP]\{\^?(?:(?:sc|gc|[Ss]cript|[Gg]eneral_[Cc]ategory)=)?L[ult]\}|\[:(?:upper|lower):\])"
)
_UNSPOKEN = r"\\(?:[pP]\{[^}]*\}|[pP]?.)|\(\?P?<\w*>"
_UNPLAIN = lazy_pattern(f"{_CODE_POINT}|{_OF_ONE_CASE}|{_UNSPOKEN}", re.DOTALL)
"""What stands for another character than those it is written with, or for a set, or names."""


def _has_capital(pattern: str, *, fixed: bool) -> bool:
    r"""Say whether a pattern has a capital letter that stands for itself, as \S does not.

    Or what would mean nothing if case did not count: ``\p{Lu}``, ``[[:upper:]]``.
    """
    spoken = pattern if fixed else _UNPLAIN.sub(_spoken, pattern)
    return any(letter.isupper() for letter in spoken)


def _spoken(found: re.Match[str]) -> str:
    """Return a letter of the same case, as far as there is one."""
    two, some, four, has_one_case = found.groups()
    number = int(two or some or four or "0", 16)
    return "A" if has_one_case or (number <= sys.maxunicode and chr(number).isupper()) else ""


def mode_of(value: str) -> SearchMode:
    """Return the mode that is called so; ``InvalidInput`` where none is."""
    try:
        return SearchMode(value)
    except ValueError:
        known = [mode.value for mode in SearchMode]
        raise InvalidInput(
            f"mode {value!r} is not one of {', '.join(known)}",
            details={"field": "mode", "value": value, "known": known},
        ) from None


def _between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidInput(
            f"{name} {value} is not between {low} and {high}",
            details={"field": name, "value": value, "min": low, "max": high},
        )


ClauseKind: TypeAlias = Literal["should", "must", "must_not"]


@dataclass(frozen=True, slots=True)
class Clause:
    """Words of a query, not analysed yet; a phrase wants them side by side.

    What ``must`` match is ranked by, too. Where nothing in the whole index can meet it,
    alone or together with those before it, it only ranks (``Relaxation``).
    """

    text: str
    phrase: bool = False
    kind: ClauseKind = "should"


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What the lexical channel ranks by."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """Where the lexical channel took a query less strictly than it was written.

    Phrases are in quotes. ``asked`` and ``required`` are in the order of the query; words
    are as they are compared, in lower case and without diacritics.
    """

    asked: tuple[str, ...] = ()
    """What the query requires by quotes or AND."""
    required: tuple[str, ...] = ()
    """What of that a passage has to hold; no passage holds the rest, too."""
    common: tuple[str, ...] = ()
    """Words that more than half of all passages hold: they hardly count."""
    unknown: tuple[str, ...] = ()
    """Words that no passage holds."""

    @property
    def let_go(self) -> tuple[str, ...]:
        """What was asked for and is not required."""
        return tuple(part for part in self.asked if part not in self.required)

    def sentences(self) -> tuple[str, ...]:
        """Say it to a person."""
        said = (
            ("no passage holds all that is required; ranked by, not required", self.let_go),
            ("in more than half of all passages, hardly counts", self.common),
            ("in no passage", self.unknown),
        )
        return tuple(f"{what}: {', '.join(words)}" for what, words in said if words)


@dataclass(frozen=True, slots=True)
class Sampling:
    """What the passages of an index are to those of all texts that it stands for.

    It was made of a part of them, chosen by some words, which therefore are commoner in it.
    """

    passages: float = 1.0
    """How many times as many there are in all."""
    words: Mapping[str, float] = field(default_factory=dict)
    """How many times as many hold a word, by what it begins with, in lower case."""

    def held(self, term: str, found: int) -> int:
        """Return about how many passages hold *term* in all, where *found* of the index do."""
        begins = max((each for each in self.words if term.startswith(each)), key=len, default="")
        return round(found * max(1.0, self.words.get(begins, self.passages)))


class KnownWord(NamedTuple):
    """A word of a query: the forms that passages hold it in, and what it tells when it is held."""

    forms: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWords:
    """What the whole index knows of the words of a query."""

    share: float
    """Of the words, those that some chunk holds (without spaces: a pair of letters); 1 for none."""
    full_match: float
    """About what a chunk scores by BM25 that holds all words, each once; real scores may be
    higher, since chunks repeat words and may be short. Of more than ``FULL_MATCH_WORDS`` the
    most telling are enough, and a word that no chunk holds counts like one that a single
    chunk holds."""
    words: tuple[KnownWord, ...] = ()
    """Each, with its BM25 weight in a passage that holds it once; without spaces, pairs."""
    read_as: tuple[tuple[str, str], ...] = ()
    """Words that no passage holds, each with the one that it is ranked by in its place."""

    @property
    def asked(self) -> float:
        """What the words tell, as ``full_match``, those too that only ask and hardly rank."""
        told = sorted((word.weight for word in self.words), reverse=True)
        return max(self.full_match, math.fsum(told[:FULL_MATCH_WORDS]))


class PartReading(NamedTuple):
    """How one part of a passage stands to a query, when both are read token by token."""

    nearest: tuple[float, ...]
    """For each token of the query, the cosine of the token of the part that is nearest to it."""
    cosine: float
    """Of the query's vector with the mean of the part's."""


class Scored(NamedTuple):
    """A chunk that a channel proposes; scores compare only within one list."""

    chunk_key: int
    score: float


class Parent(NamedTuple):
    """The document that a chunk is of, how many chunks that has, and its date as an epoch."""

    doc_key: int
    chunk_count: int
    doc_date: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed chunk as the trace shows it."""

    chunk_id: str
    doc_id: str
    doc_path: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class FusionInput:
    """One row of the union of both lists, in fused order."""

    chunk_id: str
    lexical_rank: int | None
    vector_rank: int | None
    fusion_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Whole milliseconds per stage; they need not add up."""

    lexical_ms: int = 0
    vector_ms: int = 0
    fusion_ms: int = 0
    total_ms: int = 0
    embed_ms: int | None = None
    hydrate_ms: int | None = None
    rerank_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one query was answered."""

    lexical: tuple[Candidate, ...] = ()
    vector: tuple[Candidate, ...] = ()
    fused: tuple[FusionInput, ...] = ()
    timing: Timing = Timing()
    relaxation: Relaxation | None = None
    """Where words counted less than the query says; ``None`` where they did not."""
    dates: tuple[DateAsked, ...] = ()
    """The dates whose documents counted for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Where a hit came from; a channel that did not see it gives ``None``."""

    method: str
    fusion_score: float | None = None
    lexical_score: float | None = None
    vector_score: float | None = None
    lexical_rank: int | None = None
    vector_rank: int | None = None
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The whole text of a hit, and where it lies in its document."""

    text: str
    """From the beginning of the first line, where only white space was before it."""
    start: int
    end: int
    """Its half-open range of the document's text, in code points."""
    lines: int | None = None
    """How many the file has, ``None`` where it has none to be cited by."""
    unit: tuple[int, int] | None = None
    """First and last line of the unit of code that it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Words of a query of which no passage that may be shown holds all."""

    unknown: tuple[str, ...] = ()
    """What no passage holds."""
    outside: tuple[str, ...] = ()
    """What passages hold, but none that the filter of the query lets through."""
    without: tuple[tuple[str, int], ...] = ()
    """A word, and how many hold all the others, most first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that made the final list, ready to be shown."""

    rank: int
    score: float
    score_kind: str
    chunk_id: str
    doc_id: str
    doc_path: str
    title: str
    heading_path: tuple[str, ...]
    section_label: str | None
    snippet: str
    snippet_full_text: bool
    citation: Citation
    retrieval: Retrieval
    index_version: str
    chunker_version: str
    embedding_model: str | None
    indexed_at: int
    """Seconds since the epoch."""
    stale: bool
    source_id: str
    source_type: str
    trust_level: str
    lang: str | None
    media: str
    repo: str | None = None
    code_lang: str | None = None
    flags: tuple[str, ...] = ()
    matched_queries: tuple[int, ...] | None = None
    """Aggregated searches: positions, from 0, of the queries that found it."""
    matched_count: int | None = None
    base_score: float | None = None
    more_in_doc: int | None = None
    """Of a document's last hit: how many more ``per_doc`` left out up to the end of this page."""
    passage: Passage | None = None
    """Where passages were asked for."""


@dataclass(frozen=True, slots=True)
class SaidAbout:
    """What the person says of a source, or of what is below a path of it."""

    source_id: str
    path: str
    """Empty for the whole source."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """The answer to one search, read at one revision."""

    hits: tuple[Hit, ...]
    corpus_revision: int
    next_cursor: str | None = None
    truncated: bool = False
    omitted: Mapping[str, int] | None = None
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    confidence: float | None = None
    """About the chance that the first hit answers; ``None`` where that cannot be told."""
    stages: tuple[str, ...] | None = None
    """Stages that ran before the deadline; ``None`` where there was none."""
    trace: Trace | None = None
    missing: Missing | None = None
    """Where passages were asked for, and no passage holds all words."""
    about: tuple[SaidAbout, ...] = ()
    """What the person says of where the hits are from, each once, in their order."""
    mode: SearchMode = SearchMode.HYBRID
    elapsed_ms: float = 0.0
    """For people; not on the wire outside the trace."""
    index_size: Mapping[str, Any] = field(default_factory=dict)


MAX_QUERIES = 100
"""How many queries one call may have."""

MAX_TRACED = 10
"""How many of them may ask for a trace: traces are long (ruling R29)."""

Outcome: TypeAlias = SearchResponse | KbError
"""What became of one query of several: a failure stays with its query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedResponse:
    """One list for several queries, read at one revision."""

    outcomes: tuple[Outcome, ...]
    """Of each query, in the order asked; responses have no hits of their own (ruling R19)."""
    hits: tuple[Hit, ...]
    truncated: bool = False
    omitted: Mapping[str, int] | None = None
