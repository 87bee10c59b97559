"""The real facade over parts in memory, for tests of what uses it.

``ScriptedKnowledgeBase`` is a ``KnowledgeBase``: its operations, their parameters and what
they return are the facade's own. A test can watch it, and script what it cannot bring about
in memory: an ingest, an error, an answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from inspect import getmembers, isfunction, signature
from pathlib import Path
from typing import Any, NoReturn, Self, TypeAlias

from kb_app.config import Config
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import memory_parts
from kb_core.citations import Citation, CodeSpan, LineSpan
from kb_core.ingest import IngestEvent, IngestReport
from kb_core.records import DocumentRecord, FileRecord
from kb_core.search import Hit, Retrieval, SearchQuery, SearchResponse
from kb_core.testing import closed_schema
from kb_core.testing.documents import NOW, Corpus
from kb_core.testing.fakes import HashEmbedder, MemoryIndex
from kb_core.values import replace

__all__ = ["Script", "ScriptedKnowledgeBase", "event", "hit", "report", "response", "script"]

Script: TypeAlias = Callable[[threading.Event], Iterator[IngestEvent]]
"""What an ingest does until it is told to stop."""


class ScriptedKnowledgeBase(KnowledgeBase):
    """A knowledge base of *documents*, which is watched and can be scripted.

    ``answers`` maps an operation to what it returns instead, or to a function of its
    arguments; a wire object among them has to be valid. ``runs`` is what every operation
    does that yields events.
    """

    def __init__(
        self,
        *documents: DocumentRecord,
        answers: Mapping[str, Any] | None = None,
        runs: Script | None = None,
        error: BaseException | None = None,
        config: Config | None = None,
        readonly: bool = False,
    ) -> None:
        self.index = MemoryIndex()
        embedder = HashEmbedder()
        self.corpus = Corpus(embedder)
        """Makes further publications for ``index``."""
        self.keep(*documents)
        config = config or Config.inside(Path("/nonexistent"))
        super().__init__(config, memory_parts(self.index, embedder), readonly=readonly)
        self.answers = dict(answers or {})
        self.runs = runs or script()
        self.asked: list[tuple[Any, ...]] = []
        """Every call, the operation and its arguments in order; neither ``stop`` nor ``told``,
        and not what interfaces ask unasked, ``stats``, ``preferences``,
        ``shared_paths``, ``keep_queries`` and ``keep_search``."""
        self.given: Mapping[str, Any] = {}
        """What ``answer`` was given last, with ``stop`` and ``told``."""
        self.threads: set[int] = set()
        """Where it was called, but for ``preferences``, which reads nothing."""
        self.before: Callable[[str], object] = _raising(error) if error else _nothing
        """Called with the name of each operation as it begins; may wait or raise."""
        self.stop = threading.Event()
        """What the last run is told to stop by."""
        self.is_open = False
        self.has_ended = False
        self.ended_open = False
        """Whether the last run ended while the knowledge base was open."""

    def keep(self, *documents: DocumentRecord, files: Sequence[FileRecord] = ()) -> None:
        """Publish *documents* and rows of the ledger, too.

        They lie in no folder, so no file can make them stale.
        """
        step = self.corpus.publication(*documents, files=files)
        self.index.publish(replace(step, sources={name: {} for name in step.sources}))

    @property
    def config(self) -> Config:
        """What it was opened with."""
        return self._config

    @property
    def queries(self) -> list[SearchQuery]:
        """What was searched for."""
        return [call[1] for call in self.asked if call[0] == "search"]

    def reopened(self, config: Config, readonly: bool) -> Self:  # noqa: FBT001 - as OpenKb has it
        """Take the place of ``KnowledgeBase.open``."""
        self._config, self._readonly = config, readonly
        return self

    def __enter__(self) -> Self:
        self.is_open = True
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        self.is_open = False
        super().__exit__(*raised)

    def _enter(self, name: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an answer
        """Note the call; return what is scripted for it, else ``None``."""
        if name != "preferences":
            self.threads.add(threading.get_ident())
        if name == "answer":
            self.given = dict(given)
        unseen = {"self", "stop", "told"}
        values = {key: value for key, value in given.items() if key not in unseen}
        if name not in {"preferences", "stats", "shared_paths", "keep_queries", "keep_search"}:
            self.asked.append((name, *values.values()))
        self.before(name)
        answer = self.answers.get(name)
        return _checked(answer(**values) if callable(answer) else answer)

    def _run(self, stop: threading.Event | None) -> Iterator[IngestEvent]:
        self.stop, self.has_ended = stop or threading.Event(), False
        try:
            yield from self.runs(self.stop)
        finally:
            self.has_ended, self.ended_open = True, self.is_open


def _watched(operation: Callable[..., Any]) -> Callable[..., Any]:
    shape = signature(operation)
    is_run = "IngestEvent" in str(shape.return_annotation)

    @wraps(operation)
    def watched(self: ScriptedKnowledgeBase, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        given = shape.bind(self, *args, **options)
        given.apply_defaults()
        answer = self._enter(operation.__name__, given.arguments)
        if answer is not None:
            return answer
        answer = operation(self, *args, **options)
        # What yields events has checked what it was given, and has not begun.
        return self._run(given.arguments["stop"]) if is_run else answer

    return watched


for _name, _member in getmembers(KnowledgeBase, isfunction):
    if not _name.startswith("_") and _name not in {"close", "expect"}:
        setattr(ScriptedKnowledgeBase, _name, _watched(_member))


def _checked(answer: Any) -> Any:  # noqa: ANN401 - an answer
    if isinstance(answer, Mapping) and "schema_version" in answer:
        name = str(answer["schema_version"]).removesuffix(".v1")
        # A library that tests have, and that the application itself does without.
        jsonschema: Any = import_module("jsonschema")
        jsonschema.Draft202012Validator(closed_schema(name)).validate(answer)
    return answer


def _nothing(_: str) -> None:
    pass


def _raising(error: BaseException) -> Callable[[str], NoReturn]:
    def refuse(_: str) -> NoReturn:
        raise error

    return refuse


def script(*steps: IngestEvent | Callable[[], object], **ends: Any) -> Script:  # noqa: ANN401
    """Return a run of *steps*: events that are yielded, functions that are called.

    It stops before the next one when it is told to, and ends with a report unless the last
    step has one; *ends* are fields of that.
    """

    def run(stop: threading.Event) -> Iterator[IngestEvent]:
        for step in steps:
            if stop.is_set():
                break
            if not isinstance(step, IngestEvent):
                step()
                continue
            yield step
            if step.report is not None:
                return
        aborted = stop.is_set()
        yield event("aborted" if aborted else "completed", report=report(aborted=aborted, **ends))

    return run


def event(kind: str, *, report: IngestReport | None = None, **data: Any) -> IngestEvent:  # noqa: ANN401
    """Return an event; with *report*, the last one of a run."""
    if report is not None:
        data |= {"counts": dict(report.counts), "duration_ms": report.duration_ms}
    return IngestEvent(kind=kind, at=NOW, data=data, report=report)


def report(**fields: Any) -> IngestReport:  # noqa: ANN401 - of IngestReport
    """Return a report of a run in which nothing happened, but for *fields*."""
    nothing: dict[str, Any] = {
        "scope": {"sources": ["notes"]},
        "items": (),
        "counts": {},
        "scanned": 0,
        "duration_ms": 12,
    }
    return IngestReport(**nothing | fields)


def hit(**fields: Any) -> Hit:  # noqa: ANN401 - of Hit
    """Return a hit in a note, but for *fields*; ``lines`` are those of its citation."""
    first, last = fields.pop("lines", (661, 672))
    path = fields.setdefault("doc_path", "notes/rust/architecture.md")
    span = CodeSpan if fields.get("media") == "code" else LineSpan
    usual: dict[str, Any] = {
        "rank": 1,
        "score": 0.8234,
        "score_kind": "rrf",
        "chunk_id": "5669ef1867462f246ba69791918ea713",
        "doc_id": "1c0ffee5000000000000000000000001",
        "title": "Architecture",
        "heading_path": ("Architecture", "Chunking"),
        "section_label": "Chunking",
        "snippet": "heading boundaries first; a code block\nis never cut in two",
        "snippet_full_text": False,
        "citation": Citation(path, span(first, last)),
        "retrieval": Retrieval(method="hybrid", fusion_score=0.8234, lexical_rank=1),
        "index_version": "i1",
        "chunker_version": "c1",
        "embedding_model": None,
        "indexed_at": 1_780_000_000,
        "stale": False,
        "source_id": "notes",
        "source_type": "note",
        "trust_level": "primary",
        "lang": "en",
        "media": "markdown",
    }
    return Hit(**usual | fields)


def response(*hits: Hit, **fields: Any) -> SearchResponse:  # noqa: ANN401 - of SearchResponse
    """Return a response over 12 documents and 1,204 chunks."""
    usual: dict[str, Any] = {
        "hits": hits,
        "corpus_revision": 7,
        "elapsed_ms": 8.4,
        "index_size": {"documents": 12, "chunks": 1204},
    }
    return SearchResponse(**usual | fields)
