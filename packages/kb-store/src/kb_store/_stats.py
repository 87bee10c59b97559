"""Counts over the truth, cheap enough to be taken with every publication.

Everything is counted on documents and the ledger, never on chunks: what concerns
chunks is kept as sums beside their documents and models.
"""

from __future__ import annotations

from typing import Any

from kb_core.media import MEDIA_ALWAYS_COUNTED
from kb_store._rows import from_json
from kb_store._session import Row, Session

__all__ = ["stats"]

_TOTALS = """
SELECT count(*) AS doc_count,
       coalesce(sum(chunk_count), 0)::BIGINT AS chunk_count,
       count(*) FILTER (asset IS NOT NULL OR bytes_hash <> '') AS asset_count,
       coalesce(sum(text_chars), 0)::BIGINT AS text_chars,
       coalesce(sum(token_count), 0)::BIGINT AS token_count
FROM documents
"""
_LAST_INGEST = "SELECT epoch_us(max(finished_at)) // 1000000 FROM runs"
_RUNS_SHOWN = 30
_RUNS = f"""
SELECT kind, state, epoch_us(started_at) // 1000000, epoch_us(finished_at) // 1000000, report
FROM runs WHERE state <> 'running' ORDER BY started_at DESC, run_id DESC LIMIT {_RUNS_SHOWN}
"""  # noqa: S608 - a number of ours
_EMBEDDED = "SELECT model_key, chunk_count FROM models ORDER BY model_key"
_BREAKDOWNS = {
    "media_breakdown": "SELECT media, count(*) FROM documents GROUP BY ALL ORDER BY ALL",
    "lang_breakdown": """
        SELECT coalesce(lang, 'null'), count(*) FROM documents GROUP BY ALL ORDER BY ALL
    """,
    "code_lang_breakdown": """
        SELECT code_lang, count(*) FROM documents WHERE code_lang IS NOT NULL
        GROUP BY ALL ORDER BY ALL
    """,
    "repo_breakdown": """
        SELECT repo, count(*) FROM documents WHERE repo IS NOT NULL GROUP BY ALL ORDER BY ALL
    """,
    "source_breakdown": "SELECT source_id, count(*) FROM documents GROUP BY ALL ORDER BY ALL",
    "file_states": "SELECT state, count(*) FROM files GROUP BY ALL ORDER BY ALL",
    "tags": """
        SELECT tag, count(*) AS docs FROM (SELECT unnest(tags) AS tag FROM documents)
        GROUP BY tag ORDER BY docs DESC, tag LIMIT 50
    """,
}
_TOTAL_NAMES = ("doc_count", "chunk_count", "asset_count", "text_chars", "token_count")


def stats(session: Session) -> dict[str, Any]:
    """Return the counts that ``schema.v1`` and ``stats.v1`` are made of."""
    totals = session.row(_TOTALS) or (0,) * len(_TOTAL_NAMES)
    last = session.row(_LAST_INGEST)
    found: dict[str, Any] = dict(zip(_TOTAL_NAMES, totals, strict=True))
    found["last_ingest_at"] = last[0] if last else None
    for name, sql in _BREAKDOWNS.items():
        found[name] = session.mapping(sql)
    found["media_breakdown"] = dict.fromkeys(MEDIA_ALWAYS_COUNTED, 0) | found["media_breakdown"]
    found["embedded"] = session.mapping(_EMBEDDED)
    found["runs"] = [_run(row) for row in session.rows(_RUNS)]
    return found


def _run(row: Row) -> dict[str, Any]:
    kind, state, started, finished, report = row
    counts = (from_json(report) or {}).get("counts", {})
    return {
        "kind": kind,
        "state": state,
        "started_at": started,
        "finished_at": finished,
        "counts": {name: n for name, n in counts.items() if n},
    }
