"""What the installation is, holds and does, on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb_core.media import MEDIA_ALWAYS_COUNTED
from kb_core.version import __version__
from kb_core.wire._json import Json, given, timestamp_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CAPABILITIES",
    "config_migration",
    "config_report",
    "doctor",
    "init_report",
    "integration_report",
    "model_list",
    "reset_report",
    "schema_report",
    "source",
    "source_list",
    "stats",
    "stats_report",
]

CAPABILITIES = (
    "aggregated_search",
    "bulk_search",
    "codebase_search",
    "incremental_ingest",
    "ingest_cancellation",
    "ingest_progress",
    "json_mode",
    "mcp_server",
    "multi_source",
    "multilingual",
    "ocr",
    "readonly",
    "rerank",
    "search_trace",
    "single_file_ingest",
    "streaming_ask",
    "transcription",
    "verbatim_fetch",
    "watch",
)
"""What schema.v1 always answers; one that is not given is false."""

_MODELS = ("parser", "chunker", "embedding", "prompt", "index")
_PARTS = ("duckdb", "tantivy", "vectors", "assets")
_COUNTS = ("doc_count", "chunk_count", "asset_count")
_BREAKDOWNS = ("lang_breakdown", "code_lang_breakdown", "repo_breakdown", "source_breakdown")


def schema_report(
    *,
    capabilities: Mapping[str, bool],
    models: Mapping[str, str | None],
    counts: Json,
) -> Json:
    """Return schema.v1; *counts* is what ``stats`` makes."""
    # Listing package data costs more than everything else in this module.
    from kb_core import schemas

    return {
        "schema_version": "schema.v1",
        "kebab_version": __version__,
        "wire": {"schemas": [f"{name}.v1" for name in schemas.names()]},
        "capabilities": dict.fromkeys(CAPABILITIES, False) | dict(sorted(capabilities.items())),
        "models": dict.fromkeys(_MODELS) | dict(models),
        "stats": counts,
    }


def stats(
    counts: Mapping[str, Any],
    *,
    index_bytes: Mapping[str, int],
    stale_doc_count: int = 0,
    corpus_revision: int = 0,
) -> Json:
    """Return the counts of schema.v1; *counts* is ``Control.stats``, empty for nothing yet."""
    out: Json = {name: counts.get(name, 0) for name in _COUNTS}
    out["last_ingest_at"] = timestamp_or_none(counts.get("last_ingest_at"))
    media = _breakdown(counts.get("media_breakdown"))
    out["media_breakdown"] = dict.fromkeys(MEDIA_ALWAYS_COUNTED, 0) | media
    out |= {name: _breakdown(counts.get(name)) for name in _BREAKDOWNS}
    out["index_bytes"] = {part: index_bytes.get(part, 0) for part in _PARTS}
    out["stale_doc_count"] = stale_doc_count
    out["corpus_revision"] = corpus_revision
    return out


def stats_report(counts: Json) -> Json:
    """Return stats.v1; *counts* is what ``stats`` makes."""
    return {"schema_version": "stats.v1", **counts}


def _breakdown(counts: Mapping[str | None, int] | None) -> Json:
    named = {"null" if key is None else str(key): n for key, n in (counts or {}).items()}
    return dict(sorted(named.items()))


def doctor(checks: Iterable[Mapping[str, Any]]) -> Json:
    """Return doctor.v1; a check has ``name``, ``ok``, ``detail`` and perhaps ``hint``."""
    rows = [given(check) for check in checks]
    return {"schema_version": "doctor.v1", "ok": all(row["ok"] for row in rows), "checks": rows}


def model_list(models: Iterable[Mapping[str, Any]]) -> Json:
    """Return model_list.v1; fields as the schema names them, absent ones ``None``."""
    rows = [given(model) for model in models]
    return {
        "schema_version": "model_list.v1",
        "items": rows,
        "total": len(rows),
        "next_cursor": None,
    }


def source(configured: Mapping[str, Any]) -> Json:
    """Return a configured source; paths as text."""
    out: Json = {
        "id": configured["id"],
        "root": str(configured["root"]),
        "trust_level": str(configured["trust_level"]),
        "source_type": configured["source_type"],
    }
    out |= {key: list(configured[key]) for key in ("include", "exclude") if key in configured}
    return out | {key: configured[key] for key in ("follow_links",) if key in configured}


def source_list(
    sources: Iterable[Mapping[str, Any]],
    config_path: str,
    *,
    added: str | None = None,
    removed: str | None = None,
) -> Json:
    """Return source_list.v1, the result of adding or removing a source."""
    return {
        "schema_version": "source_list.v1",
        "sources": [source(configured) for configured in sources],
        **given({"added": added, "removed": removed}),
        "config_path": config_path,
    }


def config_report(
    config_path: str | None,
    settings: Iterable[Mapping[str, Any]],
    sources: Iterable[Mapping[str, Any]],
) -> Json:
    """Return config_report.v1; a setting has ``key``, ``value``, ``origin``, ``detail``.

    A value may be ``None``; a detail that is ``None`` is left out.
    """
    return {
        "schema_version": "config_report.v1",
        "config_path": config_path,
        "settings": [{"value": None, **given(setting)} for setting in settings],
        "sources": [source(configured) for configured in sources],
    }


def config_migration(
    config_path: str,
    versions: tuple[int, int],
    *,
    added: Iterable[str],
    removed: Iterable[str] = (),
    dry_run: bool = False,
    backup_path: str | None = None,
) -> Json:
    """Return config_migration.v1; *versions* are those before and after."""
    keys = {"added": list(added), "removed": list(removed)}
    changed = bool(keys["added"] or keys["removed"] or versions[0] != versions[1])
    return {
        "schema_version": "config_migration.v1",
        "config_path": config_path,
        "from_version": versions[0],
        "to_version": versions[1],
        "changed": changed,
        "dry_run": dry_run,
        **keys,
        **given({"backup_path": backup_path}),
    }


def reset_report(
    scope: str,
    removed: Iterable[tuple[str, int]],
    *,
    dry_run: bool = False,
    documents: int | None = None,
) -> Json:
    """Return reset_report.v1; *removed* are absolute paths and their bytes."""
    gone = list(removed)
    return {
        "schema_version": "reset_report.v1",
        "scope": scope,
        "dry_run": dry_run,
        "removed": [{"path": path, "bytes": size} for path, size in gone],
        "bytes": sum(size for _, size in gone),
        **given({"documents": documents}),
    }


def init_report(
    config_path: str, data_dir: str, *, created: Iterable[str], existing: Iterable[str] = ()
) -> Json:
    """Return init_report.v1."""
    return {
        "schema_version": "init_report.v1",
        "config_path": config_path,
        "data_dir": data_dir,
        "created": list(created),
        "existing": list(existing),
    }


def integration_report(
    host: str,
    entry: Mapping[str, Any],
    files: Iterable[tuple[str, str, str]],
    *,
    written: bool,
    removal: bool = False,
) -> Json:
    """Return integration_report.v1; *files* are kinds, absolute paths and actions.

    The action ``remove`` says that a file goes.
    """
    return {
        "schema_version": "integration_report.v1",
        "host": host,
        "written": written,
        **({"removal": True} if removal else {}),
        "entry": dict(entry),
        "files": [_integrated(*file) for file in files],
    }


def _integrated(kind: str, path: str, action: str) -> Json:
    if action == "remove":
        return {"kind": kind, "path": path, "action": "update", "removed": True}
    return {"kind": kind, "path": path, "action": action}
