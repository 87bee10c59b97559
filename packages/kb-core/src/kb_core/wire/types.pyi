# What wire objects look like to a type checker; made by tools/schemas.py, not by hand.
# The schemas in kb_core.schemas are the contract, and say what each field means.

from typing import Any, Literal, NotRequired, TypedDict

class AnswerCited(TypedDict):
    marker: str | None
    quote: NotRequired[str]
    lead: NotRequired[str]
    span: NotRequired[str]
    hop: NotRequired[int]
    citation: Citation
    chunk_id: str
    doc_id: str
    doc_path: str
    source_id: str
    title: NotRequired[str]
    section_label: NotRequired[str | None]
    trust_level: NotRequired[str]
    indexed_at: str
    stale: bool
    flags: NotRequired[list[str]]

class AnswerHops(TypedDict):
    hop: int
    queries: list[str]
    found: list[str]

class AnswerVerification(TypedDict):
    score: float
    threshold: float
    passed: bool

class AnswerStages(TypedDict):
    name: str
    took_ms: int
    said: str

class AnswerModel(TypedDict):
    id: str
    provider: str

class AnswerEmbedding(TypedDict):
    id: str
    provider: str
    dimensions: int

class AnswerRetrieval(TypedDict):
    trace_id: str
    mode: str
    k: int
    score_gate: float | None
    top_score: float | None
    chunks_returned: int
    chunks_used: int

class AnswerUsage(TypedDict):
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: int

class Answer(TypedDict):
    schema_version: Literal["answer.v1"]
    question: str
    answer: str
    citations: list[AnswerCited]
    grounded: bool
    refusal_reason: str | None
    rewritten_question: NotRequired[str]
    conversation_id: NotRequired[str]
    turn_index: NotRequired[int]
    hops: NotRequired[list[AnswerHops]]
    verification: NotRequired[AnswerVerification]
    stages: NotRequired[list[AnswerStages]]
    confidence: NotRequired[float]
    model: AnswerModel
    embedding: AnswerEmbedding | None
    prompt_template_version: str
    retrieval: AnswerRetrieval
    usage: AnswerUsage
    created_at: str
    corpus_revision: NotRequired[int]
    degraded: NotRequired[list[str]]
    warnings: NotRequired[list[str]]

class AnswerEvent(TypedDict):
    schema_version: Literal["answer_event.v1"]
    kind: str
    hits: NotRequired[list[SearchHit]]
    delta: NotRequired[str]
    answer: NotRequired[Answer]

class ArchiveManifestMembers(TypedDict):
    name: str
    bytes: int
    sha256: str
    mtime_ns: NotRequired[int]

class ArchiveManifest(TypedDict):
    schema_version: Literal["archive_manifest.v1"]
    kebab_version: str
    created_at: str
    store_id: str
    store_schema: int
    corpus_revision: int
    doc_count: int
    chunk_count: int
    models: dict[str, int]
    sources: NotRequired[dict[str, int]]
    members: list[ArchiveManifestMembers]

class BulkSearchInput(TypedDict):
    query: str
    mode: NotRequired[str]
    k: NotRequired[int | None]
    snippet_chars: NotRequired[int | None]
    max_tokens: NotRequired[int | None]
    cursor: NotRequired[str | None]
    per_doc: NotRequired[int | None]
    rerank: NotRequired[bool | None]
    deadline_ms: NotRequired[int | None]
    trace: NotRequired[bool | None]
    tag: NotRequired[str | list[str] | None]
    lang: NotRequired[str | list[str] | None]
    path_glob: NotRequired[str | list[str] | None]
    trust_min: NotRequired[str]
    media: NotRequired[str | list[str] | None]
    ingested_after: NotRequired[str | None]
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    doc_id: NotRequired[str | None]
    repo: NotRequired[str | list[str] | None]
    code_lang: NotRequired[str | list[str] | None]
    source: NotRequired[str | list[str] | None]
    source_type: NotRequired[str | list[str] | None]

class BulkSearchItem(TypedDict):
    schema_version: Literal["bulk_search_item.v1"]
    query: dict[str, Any]
    response: SearchResponse | None
    error: Error | None

class BulkSearchResponseSummary(TypedDict):
    total: int
    succeeded: int
    failed: int

class BulkSearchResponseOmitted(TypedDict):
    hits: int
    snippets_shortened: int

class BulkSearchResponse(TypedDict):
    schema_version: Literal["bulk_search_response.v1"]
    results: list[BulkSearchItem]
    summary: BulkSearchResponseSummary
    aggregated: NotRequired[list[SearchHit]]
    truncated: NotRequired[bool]
    omitted: NotRequired[BulkSearchResponseOmitted]

class BulkSearchSummary(TypedDict):
    schema_version: Literal["bulk_search_summary.v1"]
    total: int
    succeeded: int
    failed: int

class ChunkInspectionEmbeddings(TypedDict):
    model: str
    dimensions: int

class ChunkInspection(TypedDict):
    schema_version: NotRequired[Literal["chunk_inspection.v1"]]
    chunk_id: str
    doc_id: str
    doc_path: str
    ordinal: int
    heading_path: list[str]
    text: str
    char_start: int
    char_end: int
    source_spans: list[Citation]
    token_count: int
    chunker_version: str
    embeddings: list[ChunkInspectionEmbeddings]
    symbol: NotRequired[str]
    part: NotRequired[int]
    flags: NotRequired[list[str]]

class Citation(TypedDict):
    kind: str
    path: str
    uri: str
    start: NotRequired[int]
    end: NotRequired[int]
    section: NotRequired[str]
    line_start: NotRequired[int]
    line_end: NotRequired[int]
    symbol: NotRequired[str]
    lang: NotRequired[str]
    page: NotRequired[int]
    char_start: NotRequired[int]
    char_end: NotRequired[int]
    bbox: NotRequired[list[float]]
    boxes: NotRequired[list[list[float]]]
    label: NotRequired[str]
    sheet: NotRequired[str]
    range: NotRequired[str]
    x: NotRequired[int]
    y: NotRequired[int]
    w: NotRequired[int]
    h: NotRequired[int]
    model: NotRequired[str | None]
    start_ms: NotRequired[int]
    end_ms: NotRequired[int]
    speaker: NotRequired[str]
    content_hash: NotRequired[str]

class CitationCheckChecks(TypedDict):
    uri: str
    content_hash: NotRequired[str]
    status: str
    checked: str
    source_id: NotRequired[str]
    doc_id: NotRequired[str]
    now: NotRequired[Citation]
    now_source_id: NotRequired[str]
    diff: NotRequired[str]
    detail: NotRequired[str]

class CitationCheckSummary(TypedDict):
    total: int
    unchanged: int
    moved: int
    changed: int
    gone: int

class CitationCheck(TypedDict):
    schema_version: Literal["citation_check.v1"]
    ok: bool
    checks: list[CitationCheckChecks]
    summary: CitationCheckSummary

class CodebaseSearchResponseQueries(TypedDict):
    query: str
    path: NotRequired[str]

class CodebaseSearchResponseGroups(TypedDict):
    query: int
    ranks: list[int]

class CodebaseSearchResponseAbout(TypedDict):
    source_id: str
    path: NotRequired[str]
    text: str

class CodebaseSearchResponseErrors(TypedDict):
    query: int
    error: Error

class CodebaseSearchResponse(TypedDict):
    schema_version: Literal["codebase_search_response.v1"]
    queries: list[CodebaseSearchResponseQueries]
    hits: list[SearchHit]
    truncated: bool
    groups: NotRequired[list[CodebaseSearchResponseGroups]]
    about: NotRequired[list[CodebaseSearchResponseAbout]]
    errors: NotRequired[list[CodebaseSearchResponseErrors]]
    degraded: NotRequired[list[str]]
    warnings: NotRequired[list[str]]

class ConfigMigration(TypedDict):
    schema_version: Literal["config_migration.v1"]
    config_path: str
    from_version: int
    to_version: int
    changed: bool
    dry_run: bool
    added: list[str]
    removed: NotRequired[list[str]]
    backup_path: NotRequired[str]

class ConfigReportSettings(TypedDict):
    key: str
    value: Any
    origin: str
    detail: NotRequired[str]

class ConfigReport(TypedDict):
    schema_version: Literal["config_report.v1"]
    config_path: str | None
    settings: list[ConfigReportSettings]
    sources: list[Source]

class DocInspectionBlocks(TypedDict):
    kind: str
    heading_path: list[str]
    char_start: int
    char_end: int
    level: NotRequired[int]
    symbol: NotRequired[str]
    symbol_kind: NotRequired[str]

class DocInspectionLinks(TypedDict):
    kind: str
    target: str
    text: NotRequired[str]
    char_start: NotRequired[int]

class DocInspectionProvenance(TypedDict):
    kind: str
    at: str
    detail: NotRequired[str]

class DocInspection(TypedDict):
    schema_version: Literal["doc_inspection.v1"]
    doc_id: str
    doc_path: str
    source_id: str
    title: str
    lang: str | None
    tags: list[str]
    trust_level: str
    source_type: str
    media: str
    byte_len: int
    chunk_count: int
    created_at: str | None
    updated_at: str | None
    indexed_at: str
    parser_version: str
    chunker_version: str
    doc_date: NotRequired[str]
    code_lang: NotRequired[str]
    repo: NotRequired[str]
    container: NotRequired[str]
    enclosed: NotRequired[list[str]]
    aliases: NotRequired[list[str]]
    repo_branch: NotRequired[str]
    repo_commit: NotRequired[str]
    metadata: dict[str, Any]
    blocks: list[DocInspectionBlocks]
    links: NotRequired[list[DocInspectionLinks]]
    provenance: list[DocInspectionProvenance]
    warnings: NotRequired[list[str]]
    bytes_hash: NotRequired[str]

class DocSummary(TypedDict):
    doc_id: str
    doc_path: str
    source_id: str
    title: str
    lang: str | None
    tags: list[str]
    trust_level: str
    source_type: str
    media: str
    byte_len: int
    chunk_count: int
    created_at: str | None
    updated_at: str | None
    indexed_at: str
    parser_version: str
    chunker_version: str
    doc_date: NotRequired[str]
    code_lang: NotRequired[str]
    repo: NotRequired[str]
    container: NotRequired[str]

class DocSummaryList(TypedDict):
    schema_version: Literal["doc_summary_list.v1"]
    items: list[DocSummary]
    total: int
    next_cursor: str | None
    warnings: NotRequired[list[str]]

class DoctorChecks(TypedDict):
    name: str
    ok: bool
    detail: str
    hint: NotRequired[str]

class Doctor(TypedDict):
    schema_version: Literal["doctor.v1"]
    ok: bool
    checks: list[DoctorChecks]

class EngineReportInCommon(TypedDict):
    words: NotRequired[float]
    meaning: NotRequired[float]

class EngineReport(TypedDict):
    schema_version: Literal["engine_report.v1"]
    engine: str
    made: bool
    corpus_revision: int
    sequence: int
    doc_count: int
    chunk_count: int
    vector_count: int
    asked: int
    found: int
    in_common: NotRequired[EngineReportInCommon]

class Error(TypedDict):
    schema_version: Literal["error.v1"]
    code: str
    message: str
    hint: str | None
    details: dict[str, Any]

class EvalCaseExpectedPlaces(TypedDict):
    uri: str
    source: NotRequired[str]
    content_hash: NotRequired[str]
    quote: NotRequired[str]
    grade: NotRequired[int]

class EvalCase(TypedDict):
    id: str
    query: str
    expected_docs: NotRequired[str | list[str] | dict[str, int]]
    expected_chunks: NotRequired[str | list[str] | dict[str, int]]
    expected_places: NotRequired[str | list[str | EvalCaseExpectedPlaces] | dict[str, Any]]
    answer: NotRequired[str]
    must_contain: NotRequired[str | list[str]]
    forbidden: NotRequired[str | list[str]]
    filters: NotRequired[dict[str, Any]]
    group: NotRequired[str]
    tags: NotRequired[str | list[str]]

class EvalCheckItems(TypedDict):
    case: str
    expected: str
    kind: str
    status: str
    now: NotRequired[str]
    detail: NotRequired[str]

class EvalCheck(TypedDict):
    schema_version: Literal["eval_check.v1"]
    path: str
    cases: int
    broken: list[str]
    counts: dict[str, int]
    items: list[EvalCheckItems]
    corpus_revision: int

class EvalCompareSide(TypedDict):
    run_id: str
    name: NotRequired[str]
    variant: str

class EvalCompareFigures(TypedDict):
    name: str
    count: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    verdict: str

class EvalCompareStanding(TypedDict):
    rank: int
    lexical_rank: int | None
    vector_rank: int | None

class EvalCompareQueryTargets(TypedDict):
    expected: str
    before: EvalCompareStanding | None
    after: EvalCompareStanding | None

class EvalCompareQuery(TypedDict):
    case: str
    query: str
    figure: str
    before: float
    after: float
    targets: list[EvalCompareQueryTargets]
    hits_before: list[str]
    hits_after: list[str]

class EvalCompareChanged(TypedDict):
    name: str
    before: Any
    after: Any

class EvalCompare(TypedDict):
    schema_version: Literal["eval_compare.v1"]
    before: EvalCompareSide
    after: EvalCompareSide
    tolerance: float
    strict: bool
    regressed: bool
    paired: int
    only_before: list[str]
    only_after: list[str]
    figures: list[EvalCompareFigures]
    lost: list[EvalCompareQuery]
    won: list[EvalCompareQuery]
    changed: list[EvalCompareChanged]

class EvalRunCases(TypedDict):
    path: str
    digest: str
    total: int
    judged: int
    unanswerable: int
    broken: list[str]
    gone: NotRequired[int]

class EvalRunVariantsFigures(TypedDict):
    name: str
    mean: float
    low: float
    high: float
    count: int

class EvalRunVariants(TypedDict):
    name: str
    mode: str
    asked: int
    empty: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None
    degraded: NotRequired[list[str]]
    figures: list[EvalRunVariantsFigures]

class EvalRunIndex(TypedDict):
    store_id: str
    corpus_revision: int
    vector_revision: int
    index_version: str
    documents: int
    chunks: int
    model: NotRequired[str]

class EvalRun(TypedDict):
    schema_version: Literal["eval_run.v1"]
    run_id: str
    name: NotRequired[str]
    path: NotRequired[str]
    state: str
    started_at: str
    duration_ms: int
    depth: int
    ask: bool
    cases: EvalRunCases
    variants: list[EvalRunVariants]
    kebab_version: str
    index: EvalRunIndex
    settings: dict[str, Any]
    machine: dict[str, str]

class EvalRunList(TypedDict):
    schema_version: Literal["eval_run_list.v1"]
    items: list[EvalRun]
    total: int
    next_cursor: None

class EvalSelfFigures(TypedDict):
    difficulty: str
    mode: str
    name: str
    mean: float
    low: float
    high: float
    count: int

class EvalSelfBreakdown(TypedDict):
    by: str
    value: str
    mean: float
    low: float
    high: float
    count: int

class EvalSelfFindingsExamples(TypedDict):
    what: str
    detail: NotRequired[str]

class EvalSelfFindings(TypedDict):
    kind: str
    count: int
    of: int
    says: str
    advice: str
    examples: list[EvalSelfFindingsExamples]

class EvalSelf(TypedDict):
    schema_version: Literal["eval_self.v1"]
    documents: int
    sampled: int
    questions: int
    seed: int
    complete: bool
    duration_ms: int
    modes: list[str]
    figures: list[EvalSelfFigures]
    breakdown: list[EvalSelfBreakdown]
    findings: list[EvalSelfFindings]
    note: str
    corpus_revision: int

class EvalTuneVariants(TypedDict):
    name: str
    mean: float
    difference: NotRequired[float]
    low: NotRequired[float]
    high: NotRequired[float]
    p: NotRequired[float]
    p_holm: NotRequired[float]
    verdict: str
    settings: dict[str, Any]
    chosen: float

class EvalTuneHeldOut(TypedDict):
    mean: float
    low: float
    high: float
    p: float

class EvalTune(TypedDict):
    schema_version: Literal["eval_tune.v1"]
    run_id: str
    figure: str
    questions: int
    folds: int
    variants: list[EvalTuneVariants]
    held_out: EvalTuneHeldOut
    recommended: str | None
    applied: bool

class ExplainMissFile(TypedDict):
    state: str
    reason: NotRequired[str]
    detail: NotRequired[str]

class ExplainMissChunks(TypedDict):
    total: int
    embedded: int
    passing: int

class ExplainMissFilters(TypedDict):
    name: str
    value: str | list[str]
    passes: bool

class ExplainMissWords(TypedDict):
    found: list[str]
    missing: list[str]

class ExplainMissStanding(TypedDict):
    rank: int
    score: float
    chunk_id: str

class ExplainMissFused(TypedDict):
    rank: int
    score: float
    score_kind: str
    chunk_id: str

class ExplainMissNearest(TypedDict):
    chunk_id: str
    citation: Citation

class ExplainMissSuggestion(TypedDict):
    query: str
    rank: int

class ExplainMiss(TypedDict):
    schema_version: Literal["explain_miss.v1"]
    query: str
    mode: str
    k: int
    verdict: str
    summary: str
    doc_path: str
    source_id: NotRequired[str]
    doc_id: NotRequired[str]
    title: NotRequired[str]
    file: NotRequired[ExplainMissFile]
    chunks: NotRequired[ExplainMissChunks]
    filters: NotRequired[list[ExplainMissFilters]]
    words: NotRequired[ExplainMissWords]
    pool: NotRequired[int]
    lexical: NotRequired[ExplainMissStanding | None]
    vector: NotRequired[ExplainMissStanding | None]
    fused: NotRequired[ExplainMissFused | None]
    nearest: NotRequired[ExplainMissNearest | None]
    suggestion: NotRequired[ExplainMissSuggestion | None]
    corpus_revision: int

class ExportReport(TypedDict):
    schema_version: Literal["export_report.v1"]
    path: str | None
    created_at: str
    store_id: str
    corpus_revision: int
    doc_count: int
    chunk_count: int
    members: int
    bytes: int
    parts: dict[str, int]
    missing: list[str]
    missing_count: NotRequired[int]

class Feedback(TypedDict):
    schema_version: Literal["feedback.v1"]
    feedback_id: str
    verdict: str
    query: str
    mode: str
    filters: NotRequired[dict[str, Any]]
    rank: NotRequired[int]
    citation: str
    source_id: str
    doc_id: str
    chunk_id: str
    content_hash: NotRequired[str]
    quote: str
    note: NotRequired[str]
    said_by: str
    created_at: str

class FeedbackList(TypedDict):
    schema_version: Literal["feedback_list.v1"]
    items: list[Feedback]
    total: int
    next_cursor: str | None
    warnings: NotRequired[list[str]]

class FetchResult(TypedDict):
    schema_version: Literal["fetch_result.v1"]
    kind: str
    doc_id: str
    doc_path: str
    indexed_at: str
    stale: bool
    truncated: bool
    omitted_chars: NotRequired[int]
    chunk: NotRequired[ChunkInspection]
    context_before: NotRequired[list[ChunkInspection]]
    context_after: NotRequired[list[ChunkInspection]]
    text: NotRequired[str]
    line_start: NotRequired[int]
    line_end: NotRequired[int]
    effective_end: NotRequired[int]
    media: NotRequired[str]
    lines: NotRequired[int]
    flags: NotRequired[list[str]]

class FetchResultsResults(TypedDict):
    place: str | dict[str, Any]
    result: FetchResult | None
    error: Error | None

class FetchResults(TypedDict):
    schema_version: Literal["fetch_results.v1"]
    results: list[FetchResultsResults]
    truncated: bool
    corpus_revision: int

class FileStatusFiles(TypedDict):
    source_id: str
    doc_path: str
    state: str
    reason: NotRequired[str]
    detail: NotRequired[str]
    error_code: NotRequired[str]
    doc_id: NotRequired[str]
    media: NotRequired[str]
    indexed_at: NotRequired[str]
    changed_at: NotRequired[str]
    mtime: str
    size: int

class FileStatusFreshness(TypedDict):
    seen_at: NotRequired[str]
    followed: bool
    pending: NotRequired[bool]

class FileStatusCoverage(TypedDict):
    files: int
    indexed: int
    skipped: int
    failed: int
    pending: int
    deleted: int
    by_reason: NotRequired[dict[str, int]]
    chunks: NotRequired[int]
    embedded: NotRequired[int]

class FileStatus(TypedDict):
    schema_version: Literal["file_status.v1"]
    files: list[FileStatusFiles]
    total: NotRequired[int]
    as_of: NotRequired[str]
    freshness: NotRequired[FileStatusFreshness]
    coverage: FileStatusCoverage

class ForgetReportMentions(TypedDict):
    kind: str
    name: str
    count: int
    goes: bool

class ForgetReport(TypedDict):
    schema_version: Literal["forget_report.v1"]
    kind: str
    targets: list[str]
    dry_run: bool
    documents: int
    chunks: int
    paths: list[str]
    mentions: list[ForgetReportMentions]
    left: list[str]

class GrepResponseFilesLines(TypedDict):
    line: int
    text: str
    is_match: bool
    uri: NotRequired[str]
    spans: NotRequired[list[list[int]]]
    alternatives: NotRequired[list[int]]
    is_definition: NotRequired[bool]
    unit: NotRequired[str]
    unit_start: NotRequired[int]
    unit_end: NotRequired[int]
    cut: NotRequired[bool]

class GrepResponseFiles(TypedDict):
    doc_id: str
    doc_path: str
    source_id: str
    media: str
    stale: bool
    matches: int
    omitted: int
    lines: list[GrepResponseFilesLines]

class GrepResponse(TypedDict):
    schema_version: Literal["grep_response.v1"]
    pattern: str
    case: str
    files: list[GrepResponseFiles]
    total_files: int
    total_lines: int
    searched: int
    complete: bool
    truncated: bool
    corpus_revision: int
    warnings: NotRequired[list[str]]

class ImportReportSources(TypedDict):
    id: str
    root: str
    configured: bool
    present: bool

class ImportReport(TypedDict):
    schema_version: Literal["import_report.v1"]
    data_dir: str
    dry_run: bool
    kebab_version: str
    created_at: str
    store_id: str
    doc_count: int
    chunk_count: int
    members: int
    bytes: int
    index: NotRequired[str]
    settings: str
    settings_left: NotRequired[list[str]]
    golden_questions: str
    kept_aside: NotRequired[str]
    sources: NotRequired[list[ImportReportSources]]
    source_files: NotRequired[int]
    source_files_left: NotRequired[int]

class IngestItemError(TypedDict):
    code: str
    message: str
    hint: NotRequired[str | None]
    details: NotRequired[dict[str, Any]]

class IngestItem(TypedDict):
    kind: str
    source_id: str
    doc_path: str
    doc_id: NotRequired[str]
    media: NotRequired[str]
    byte_len: NotRequired[int]
    chunk_count: NotRequired[int]
    enclosed_count: NotRequired[int]
    parser_version: NotRequired[str]
    chunker_version: NotRequired[str]
    reason: NotRequired[str]
    moved_from: NotRequired[str]
    warnings: list[str]
    error: NotRequired[IngestItemError]
    duration_ms: NotRequired[int]

class IngestProgress(TypedDict):
    schema_version: Literal["ingest_progress.v1"]
    kind: str
    at: str
    source_id: NotRequired[str]
    root: NotRequired[str]
    scanned: NotRequired[int]
    candidates: NotRequired[int]
    doc_path: NotRequired[str]
    phase: NotRequired[str]
    reached: NotRequired[float]
    whole: NotRequired[float]
    item: NotRequired[IngestItem]
    done: NotRequired[int]
    total: NotRequired[int]
    eta_ms: NotRequired[int]
    revision: NotRequired[int]
    documents: NotRequired[int]
    chunks: NotRequired[int]
    counts: NotRequired[dict[str, int]]
    duration_ms: NotRequired[int]
    message: NotRequired[str]

class IngestReportSlowest(TypedDict):
    doc_path: str
    duration_ms: int
    source_id: NotRequired[str]

class IngestReportExpected(TypedDict):
    media: str
    files: int
    bytes: int
    parser: str
    seconds: float

class IngestReport(TypedDict):
    schema_version: Literal["ingest_report.v1"]
    scope: dict[str, Any]
    scanned: int
    new: int
    updated: int
    moved: int
    unchanged: int
    skipped: int
    deleted: int
    errors: int
    duration_ms: int
    skipped_by_reason: dict[str, int]
    skipped_by_extension: dict[str, int]
    skip_examples: dict[str, list[str]]
    slowest: list[IngestReportSlowest]
    items: list[IngestItem] | None
    aborted: NotRequired[bool]
    corpus_revision: NotRequired[int]
    embedded: NotRequired[int]
    embeddings_missing: NotRequired[int]
    phases_ms: NotRequired[dict[str, int]]
    warnings: NotRequired[list[str]]
    expected: NotRequired[list[IngestReportExpected]]

class InitReport(TypedDict):
    schema_version: Literal["init_report.v1"]
    config_path: str
    data_dir: str
    created: list[str]
    existing: list[str]

class IntegrationReportEntry(TypedDict):
    command: str
    args: list[str]
    type: NotRequired[str]
    env: NotRequired[dict[str, str]]

class IntegrationReportFiles(TypedDict):
    kind: str
    path: str
    action: str
    removed: NotRequired[bool]

class IntegrationReport(TypedDict):
    schema_version: Literal["integration_report.v1"]
    host: str
    written: bool
    removal: NotRequired[bool]
    entry: IntegrationReportEntry
    files: list[IntegrationReportFiles]

class LinkListItems(TypedDict):
    kind: str
    target: str
    text: NotRequired[str]
    excerpt: NotRequired[str]
    citation: NotRequired[Citation]
    doc_id: NotRequired[str]
    doc_path: NotRequired[str]
    source_id: NotRequired[str]
    title: NotRequired[str]

class LinkList(TypedDict):
    schema_version: Literal["link_list.v1"]
    doc_id: str
    doc_path: str
    source_id: str
    title: str
    direction: str
    items: list[LinkListItems]
    total: int

class ModelListItems(TypedDict):
    name: str
    provider: str
    present: bool
    selectable: bool
    active: bool
    key: NotRequired[str]
    revision: NotRequired[str]
    dimensions: NotRequired[int]
    max_tokens: NotRequired[int]
    quantization: NotRequired[str]
    pooling: NotRequired[str]
    licence: NotRequired[str]
    languages: NotRequired[str]
    embedded: NotRequired[int]
    detail: NotRequired[str]
    hint: NotRequired[str]

class ModelList(TypedDict):
    schema_version: Literal["model_list.v1"]
    items: list[ModelListItems]
    total: int
    next_cursor: str | None

class OutlineEntries(TypedDict):
    level: int
    name: str
    kind: NotRequired[str]
    line_start: NotRequired[int]
    line_end: NotRequired[int]
    uri: NotRequired[str]

class Outline(TypedDict):
    schema_version: Literal["outline.v1"]
    doc_id: str
    doc_path: str
    media: str
    chars: int
    lines: NotRequired[int]
    entries: list[OutlineEntries]
    omitted: int
    indexed_at: str
    stale: bool

class RepairReportBroughtBack(TypedDict):
    kind: str
    name: str

class RepairReport(TypedDict):
    schema_version: Literal["repair_report.v1"]
    store: str
    dry_run: bool
    problems: list[str]
    copy: NotRequired[str]
    saved: NotRequired[int]
    unreadable: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    again: NotRequired[list[str]]
    gone: NotRequired[list[str]]
    brought_back: NotRequired[list[RepairReportBroughtBack]]

class ResetReportRemoved(TypedDict):
    path: str
    bytes: int

class ResetReport(TypedDict):
    schema_version: Literal["reset_report.v1"]
    scope: str
    dry_run: bool
    removed: list[ResetReportRemoved]
    bytes: int
    documents: NotRequired[int]
    conversations: NotRequired[int]
    collections: NotRequired[list[str]]
    left: NotRequired[list[str]]

class SafetyReport(TypedDict):
    schema_version: Literal["safety_report.v1"]
    path: str
    created_at: str
    members: int
    bytes: int
    copies: int

class SchemaWire(TypedDict):
    schemas: list[str]

class SchemaModels(TypedDict):
    parser: str | None
    chunker: str | None
    embedding: str | None
    prompt: str | None
    index: str | None

class Schema(TypedDict):
    schema_version: Literal["schema.v1"]
    kebab_version: str
    wire: SchemaWire
    capabilities: dict[str, bool]
    models: SchemaModels
    stats: Stats

class SearchHitRetrieval(TypedDict):
    method: str
    fusion_score: float | None
    lexical_score: float | None
    vector_score: float | None
    lexical_rank: int | None
    vector_rank: int | None
    rerank_score: NotRequired[float]

class SearchHitPassage(TypedDict):
    text: str
    start: int
    end: int
    lines: NotRequired[int]
    unit_start: NotRequired[int]
    unit_end: NotRequired[int]

class SearchHit(TypedDict):
    rank: int
    score: float
    score_kind: str
    chunk_id: str
    doc_id: str
    doc_path: str
    title: str
    heading_path: list[str]
    section_label: str | None
    snippet: str
    snippet_full_text: bool
    citation: Citation
    retrieval: SearchHitRetrieval
    index_version: str
    chunker_version: str
    embedding_model: str | None
    indexed_at: str
    stale: bool
    source_id: str
    source_type: str
    trust_level: str
    lang: str | None
    media: str
    repo: NotRequired[str]
    code_lang: NotRequired[str]
    flags: NotRequired[list[str]]
    matched_queries: NotRequired[list[int]]
    matched_count: NotRequired[int]
    base_score: NotRequired[float]
    more_in_doc: NotRequired[int]
    passage: NotRequired[SearchHitPassage]

class SearchResponseOmitted(TypedDict):
    hits: int
    snippets_shortened: int

class SearchResponseAbout(TypedDict):
    source_id: str
    path: NotRequired[str]
    text: str

class SearchResponseMissingWithout(TypedDict):
    word: str
    passages: int

class SearchResponseMissing(TypedDict):
    unknown: list[str]
    outside: NotRequired[list[str]]
    without: list[SearchResponseMissingWithout]

class SearchResponseCandidate(TypedDict):
    chunk_id: str
    doc_id: str
    doc_path: str
    rank: int
    score: float

class SearchResponseFusionInput(TypedDict):
    chunk_id: str
    lexical_rank: int | None
    vector_rank: int | None
    fusion_score: float

class SearchResponseTraceTiming(TypedDict):
    lexical_ms: int
    vector_ms: int
    fusion_ms: int
    total_ms: int
    embed_ms: NotRequired[int]
    hydrate_ms: NotRequired[int]
    rerank_ms: NotRequired[int]

class SearchResponseTraceRelaxation(TypedDict):
    asked: list[str]
    required: list[str]
    common: list[str]
    unknown: list[str]

class SearchResponseTraceDates(TypedDict):
    text: str
    since: str
    until: str

class SearchResponseTrace(TypedDict):
    lexical: list[SearchResponseCandidate]
    vector: list[SearchResponseCandidate]
    rrf_inputs: list[SearchResponseFusionInput]
    timing: SearchResponseTraceTiming
    relaxation: NotRequired[SearchResponseTraceRelaxation]
    dates: NotRequired[list[SearchResponseTraceDates]]

class SearchResponse(TypedDict):
    schema_version: Literal["search_response.v1"]
    hits: list[SearchHit]
    next_cursor: str | None
    truncated: bool
    corpus_revision: NotRequired[int]
    omitted: NotRequired[SearchResponseOmitted]
    degraded: NotRequired[list[str]]
    warnings: NotRequired[list[str]]
    confidence: NotRequired[float]
    stages: NotRequired[list[str]]
    about: NotRequired[list[SearchResponseAbout]]
    missing: NotRequired[SearchResponseMissing]
    trace: NotRequired[SearchResponseTrace]

class Session(TypedDict):
    schema_version: Literal["session.v1"]
    session_id: str
    turns: list[SessionTurn]
    warnings: NotRequired[list[str]]

class SessionListItems(TypedDict):
    session_id: str
    question: str | None
    turns: int
    started_at: str | None
    used_at: str | None
    bytes: int

class SessionList(TypedDict):
    schema_version: Literal["session_list.v1"]
    items: list[SessionListItems]
    total: int
    next_cursor: str | None

class SessionTurn(TypedDict):
    schema_version: Literal["session_turn.v1"]
    turn_index: int
    kebab_version: str
    evidence: list[str]
    answer: Answer

class SourceAbout(TypedDict):
    path: NotRequired[str]
    text: str

class Source(TypedDict):
    id: str
    root: str
    include: NotRequired[list[str]]
    exclude: NotRequired[list[str]]
    trust_level: str
    source_type: str
    follow_links: NotRequired[bool]
    about: NotRequired[list[SourceAbout]]

class SourceListPreviewKinds(TypedDict):
    media: str
    code_lang: str | None
    files: int
    bytes: int

class SourceListPreviewLargest(TypedDict):
    path: str
    bytes: int

class SourceListPreviewLeftAlone(TypedDict):
    reason: str
    detail: str | None
    files: int
    folders: int
    bytes: int
    example: str

class SourceListPreview(TypedDict):
    root: str
    files: int
    bytes: int
    kinds: list[SourceListPreviewKinds]
    largest: list[SourceListPreviewLargest]
    left_alone: list[SourceListPreviewLeftAlone]
    complete: bool

class SourceList(TypedDict):
    schema_version: Literal["source_list.v1"]
    sources: list[Source]
    added: NotRequired[str]
    removed: NotRequired[str]
    preview: NotRequired[SourceListPreview]
    config_path: str

class SqlResult(TypedDict):
    schema_version: Literal["sql_result.v1"]
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool

class StatsIndexBytes(TypedDict):
    duckdb: int
    tantivy: int
    vectors: int
    assets: int
    costly: NotRequired[int]

class Stats(TypedDict):
    schema_version: NotRequired[Literal["stats.v1"]]
    doc_count: int
    chunk_count: int
    asset_count: int
    last_ingest_at: str | None
    media_breakdown: dict[str, int]
    lang_breakdown: dict[str, int]
    code_lang_breakdown: dict[str, int]
    repo_breakdown: dict[str, int]
    source_breakdown: dict[str, int]
    index_bytes: StatsIndexBytes
    stale_doc_count: int
    corpus_revision: int

class WorkspaceListItems(TypedDict):
    folders: list[str]
    cache: str
    used_at: str
    bytes: int
    complete: bool

class WorkspaceList(TypedDict):
    schema_version: Literal["workspace_list.v1"]
    items: list[WorkspaceListItems]
    total: int
    next_cursor: str | None
