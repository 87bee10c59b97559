"""The wire: every object that ``--json`` prints and every MCP tool returns.

Plain functions from core types to dictionaries, each named after its schema in
``kb_core.schemas``, which is the contract; the standard library only, and quick to
import, since a cold search on the command line waits for it.

* A field that has no value is left out, unless its schema declares it nullable: then
  it is always there.
* Instants are RFC 3339 in UTC with ``Z``. Numbers have at most six decimals.
* ``dumps`` makes the one line; nothing else in the project turns wire objects to text, but
  for ``codebase_search_text``, the prose that language models read.
  What must stay an object takes ``json.loads(dumps(x))`` where file names are not UTF-8.

**Invariant:** what an emitter returns has no field that its schema does not name.
"""

from __future__ import annotations

from kb_core.wire._answers import (
    answer,
    answer_final,
    answer_retrieved,
    answer_token,
    session,
    session_list,
    session_turn,
)
from kb_core.wire._documents import (
    chunk,
    chunk_inspection,
    coverage,
    doc_inspection,
    doc_list,
    doc_summary,
    fetch_chunk,
    fetch_doc,
    fetch_results,
    fetch_span,
    file_status,
    grep_response,
    ingest_event,
    ingest_item,
    ingest_report,
    outline,
)
from kb_core.wire._evals import (
    eval_case,
    eval_check,
    eval_compare,
    eval_run,
    eval_run_list,
    eval_self,
    eval_tune,
    feedback,
    feedback_list,
)
from kb_core.wire._json import Json, dumps, error
from kb_core.wire._operations import (
    CAPABILITIES,
    archive_manifest,
    config_migration,
    config_report,
    doctor,
    export_report,
    forget_report,
    import_report,
    init_report,
    integration_report,
    model_list,
    repair_report,
    reset_report,
    schema_report,
    source,
    source_list,
    sql_result,
    stats,
    stats_report,
    workspace_list,
)
from kb_core.wire._reading import read_citation, read_hit, read_search_response
from kb_core.wire._search import (
    aggregated_search_response,
    bulk_search_item,
    bulk_search_response,
    bulk_search_summary,
    citation,
    citation_check,
    codebase_search_response,
    codebase_search_text,
    explain_miss,
    hit,
    search_response,
    trace,
)

__all__ = [
    "CAPABILITIES",
    "Json",
    "aggregated_search_response",
    "answer",
    "answer_final",
    "answer_retrieved",
    "answer_token",
    "archive_manifest",
    "bulk_search_item",
    "bulk_search_response",
    "bulk_search_summary",
    "chunk",
    "chunk_inspection",
    "citation",
    "citation_check",
    "codebase_search_response",
    "codebase_search_text",
    "config_migration",
    "config_report",
    "coverage",
    "doc_inspection",
    "doc_list",
    "doc_summary",
    "doctor",
    "dumps",
    "error",
    "eval_case",
    "eval_check",
    "eval_compare",
    "eval_run",
    "eval_run_list",
    "eval_self",
    "eval_tune",
    "explain_miss",
    "export_report",
    "feedback",
    "feedback_list",
    "fetch_chunk",
    "fetch_doc",
    "fetch_results",
    "fetch_span",
    "file_status",
    "forget_report",
    "grep_response",
    "hit",
    "import_report",
    "ingest_event",
    "ingest_item",
    "ingest_report",
    "init_report",
    "integration_report",
    "model_list",
    "outline",
    "read_citation",
    "read_hit",
    "read_search_response",
    "repair_report",
    "reset_report",
    "schema_report",
    "search_response",
    "session",
    "session_list",
    "session_turn",
    "source",
    "source_list",
    "sql_result",
    "stats",
    "stats_report",
    "trace",
    "workspace_list",
]
