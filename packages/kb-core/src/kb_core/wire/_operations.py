"""What the installation is, holds and does, on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kb_core.media import MEDIA_ALWAYS_COUNTED
from kb_core.version import __version__
from kb_core.wire._json import given, timestamp_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kb_core.control import Control
    from kb_core.stored import QueryResult
    from kb_core.wire import types

__all__ = [
    "CAPABILITIES",
    "archive_manifest",
    "config_migration",
    "config_report",
    "doctor",
    "engine_report",
    "export_report",
    "forget_report",
    "import_report",
    "init_report",
    "integration_report",
    "model_list",
    "repair_report",
    "reset_report",
    "safety_report",
    "schema_report",
    "source",
    "source_list",
    "sql_result",
    "stats",
    "stats_report",
    "workspace_list",
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

_MOST_MISSING = 10
_MODELS = ("parser", "chunker", "embedding", "prompt", "index")


def schema_report(
    *,
    capabilities: Mapping[str, bool],
    models: Mapping[str, str | None],
    counts: types.Stats,
) -> types.Schema:
    """Return schema.v1; *counts* is what ``stats`` makes."""
    # Listing package data costs more than everything else in this module.
    from kb_core import schemas

    return {
        "schema_version": "schema.v1",
        "kebab_version": __version__,
        "wire": {"schemas": [f"{name}.v1" for name in schemas.names()]},
        "capabilities": dict.fromkeys(CAPABILITIES, False) | dict(sorted(capabilities.items())),
        "models": cast("types.SchemaModels", dict.fromkeys(_MODELS) | dict(models)),
        "stats": counts,
    }


def stats(
    counts: Mapping[str, Any],
    *,
    index_bytes: Mapping[str, int],
    stale_doc_count: int = 0,
    corpus_revision: int = 0,
) -> types.Stats:
    """Return the counts of schema.v1; *counts* is ``Control.stats``, empty for nothing yet."""
    media = _breakdown(counts.get("media_breakdown"))
    return {
        "doc_count": counts.get("doc_count", 0),
        "chunk_count": counts.get("chunk_count", 0),
        "asset_count": counts.get("asset_count", 0),
        "last_ingest_at": timestamp_or_none(counts.get("last_ingest_at")),
        "media_breakdown": dict.fromkeys(MEDIA_ALWAYS_COUNTED, 0) | media,
        "lang_breakdown": _breakdown(counts.get("lang_breakdown")),
        "code_lang_breakdown": _breakdown(counts.get("code_lang_breakdown")),
        "repo_breakdown": _breakdown(counts.get("repo_breakdown")),
        "source_breakdown": _breakdown(counts.get("source_breakdown")),
        "index_bytes": {
            "duckdb": index_bytes.get("duckdb", 0),
            "tantivy": index_bytes.get("tantivy", 0),
            "vectors": index_bytes.get("vectors", 0),
            "assets": index_bytes.get("assets", 0),
            "costly": index_bytes.get("costly", 0),
        },
        "stale_doc_count": stale_doc_count,
        "corpus_revision": corpus_revision,
    }


def stats_report(counts: types.Stats) -> types.Stats:
    """Return stats.v1; *counts* is what ``stats`` makes."""
    return cast("types.Stats", {"schema_version": "stats.v1", **counts})


def _breakdown(counts: Mapping[str | None, int] | None) -> dict[str, int]:
    named = {"null" if key is None else str(key): n for key, n in (counts or {}).items()}
    return dict(sorted(named.items()))


def doctor(checks: Iterable[Mapping[str, Any]]) -> types.Doctor:
    """Return doctor.v1; a check has ``name``, ``ok``, ``detail`` and perhaps ``hint``."""
    rows = [cast("types.DoctorChecks", given(check)) for check in checks]
    return {"schema_version": "doctor.v1", "ok": all(row["ok"] for row in rows), "checks": rows}


def model_list(models: Iterable[Mapping[str, Any]]) -> types.ModelList:
    """Return model_list.v1; fields as the schema names them, absent ones ``None``."""
    rows = [cast("types.ModelListItems", given(model)) for model in models]
    return {
        "schema_version": "model_list.v1",
        "items": rows,
        "total": len(rows),
        "next_cursor": None,
    }


def workspace_list(workspaces: Iterable[Mapping[str, Any]]) -> types.WorkspaceList:
    """Return workspace_list.v1; fields as the schema names them."""
    rows = [cast("types.WorkspaceListItems", dict(workspace)) for workspace in workspaces]
    return {
        "schema_version": "workspace_list.v1",
        "items": rows,
        "total": len(rows),
        "next_cursor": None,
    }


def source(configured: Mapping[str, Any]) -> types.Source:
    """Return a configured source; paths as text."""
    out: types.Source = {
        "id": configured["id"],
        "root": str(configured["root"]),
        "trust_level": str(configured["trust_level"]),
        "source_type": configured["source_type"],
    }
    if "include" in configured:
        out["include"] = list(configured["include"])
    if "exclude" in configured:
        out["exclude"] = list(configured["exclude"])
    if "follow_links" in configured:
        out["follow_links"] = configured["follow_links"]
    if configured.get("about"):
        said = [{name: text for name, text in each.items() if text} for each in configured["about"]]
        out["about"] = cast("list[types.SourceAbout]", said)
    return out


def source_list(
    sources: Iterable[Mapping[str, Any]],
    config_path: str,
    *,
    added: str | None = None,
    removed: str | None = None,
    preview: Mapping[str, Any] | None = None,
) -> types.SourceList:
    """Return source_list.v1, the result of adding or removing a source, or a *preview* of that."""
    listed = [source(configured) for configured in sources]
    out = cast("types.SourceList", {"schema_version": "source_list.v1", "sources": listed})
    if added is not None:
        out["added"] = added
    if removed is not None:
        out["removed"] = removed
    if preview is not None:
        out["preview"] = cast("types.SourceListPreview", dict(preview))
    out["config_path"] = config_path
    return out


def config_report(
    config_path: str | None,
    settings: Iterable[Mapping[str, Any]],
    sources: Iterable[Mapping[str, Any]],
) -> types.ConfigReport:
    """Return config_report.v1; a setting has ``key``, ``value``, ``origin``, ``detail``.

    A value may be ``None``; a detail that is ``None`` is left out.
    """
    return {
        "schema_version": "config_report.v1",
        "config_path": config_path,
        "settings": [
            cast("types.ConfigReportSettings", {"value": None, **given(setting)})
            for setting in settings
        ],
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
) -> types.ConfigMigration:
    """Return config_migration.v1; *versions* are those before and after."""
    gained, lost = list(added), list(removed)
    out: types.ConfigMigration = {
        "schema_version": "config_migration.v1",
        "config_path": config_path,
        "from_version": versions[0],
        "to_version": versions[1],
        "changed": bool(gained or lost or versions[0] != versions[1]),
        "dry_run": dry_run,
        "added": gained,
        "removed": lost,
    }
    if backup_path is not None:
        out["backup_path"] = backup_path
    return out


def reset_report(  # noqa: PLR0913 - each is a part of the report
    scope: str,
    removed: Iterable[tuple[str, int]],
    *,
    dry_run: bool = False,
    documents: int | None = None,
    conversations: int | None = None,
    collections: Iterable[str] = (),
    left: Iterable[str] = (),
) -> types.ResetReport:
    """Return reset_report.v1; *removed* are absolute paths and their bytes, *left* paths."""
    gone = list(removed)
    out: types.ResetReport = {
        "schema_version": "reset_report.v1",
        "scope": scope,
        "dry_run": dry_run,
        "removed": [{"path": path, "bytes": size} for path, size in gone],
        "bytes": sum(size for _, size in gone),
    }
    if documents is not None:
        out["documents"] = documents
    if conversations is not None:
        out["conversations"] = conversations
    if named := list(collections):
        out["collections"] = named
    if stays := list(left):
        out["left"] = stays
    return out


def archive_manifest(
    described: Mapping[str, Any], members: Iterable[Mapping[str, Any]], created_at: str
) -> types.ArchiveManifest:
    """Return archive_manifest.v1; *described* is what a store says of itself."""
    counts = described["stats"]
    return {
        "schema_version": "archive_manifest.v1",
        "kebab_version": __version__,
        "created_at": created_at,
        "store_id": described["store_id"],
        "store_schema": described["schema"],
        "corpus_revision": described["corpus_revision"],
        "doc_count": counts["doc_count"],
        "chunk_count": counts["chunk_count"],
        "models": dict(counts["embedded"]),
        "sources": dict(counts["source_breakdown"]),
        "members": [cast("types.ArchiveManifestMembers", dict(member)) for member in members],
    }


def export_report(
    manifest: types.ArchiveManifest,
    *,
    path: str | None,
    parts: Mapping[str, int],
    missing: Iterable[str] = (),
) -> types.ExportReport:
    """Return export_report.v1; *parts* are bytes by part."""
    gone = list(missing)
    out: types.ExportReport = {
        "schema_version": "export_report.v1",
        "path": path,
        "created_at": manifest["created_at"],
        "store_id": manifest["store_id"],
        "corpus_revision": manifest["corpus_revision"],
        "doc_count": manifest["doc_count"],
        "chunk_count": manifest["chunk_count"],
        "members": len(manifest["members"]),
        "bytes": sum(member["bytes"] for member in manifest["members"]),
        "parts": dict(parts),
        "missing": gone[:_MOST_MISSING],
    }
    if gone:
        out["missing_count"] = len(gone)
    return out


def import_report(
    manifest: types.ArchiveManifest, data_dir: str, fields: Mapping[str, Any], *, dry_run: bool
) -> types.ImportReport:
    """Return import_report.v1; *fields* are what became of each part, absent ones ``None``."""
    out: dict[str, Any] = {
        "schema_version": "import_report.v1",
        "data_dir": data_dir,
        "dry_run": dry_run,
    }
    for name in ("kebab_version", "created_at", "store_id", "doc_count", "chunk_count"):
        out[name] = manifest[name]
    out["members"] = len(manifest["members"])
    out["bytes"] = sum(member["bytes"] for member in manifest["members"])
    return cast("types.ImportReport", out | given(fields))


def forget_report(  # noqa: PLR0913 - each is a field of it
    kind: str,
    targets: Iterable[str],
    *,
    dry_run: bool,
    documents: int,
    chunks: int,
    paths: Iterable[str],
    mentions: Iterable[Mapping[str, Any]],
    left: Iterable[str],
) -> types.ForgetReport:
    """Return forget_report.v1; *mentions* are its own."""
    out: dict[str, Any] = {
        "schema_version": "forget_report.v1",
        "kind": kind,
        "targets": list(targets),
        "dry_run": dry_run,
        "documents": documents,
        "chunks": chunks,
        "paths": list(paths),
        "mentions": [dict(mention) for mention in mentions],
        "left": list(left),
    }
    return cast("types.ForgetReport", out)


def sql_result(found: QueryResult) -> types.SqlResult:
    """Return sql_result.v1."""
    return {
        "schema_version": "sql_result.v1",
        "columns": list(found.columns),
        "rows": [list(row) for row in found.rows],
        "truncated": found.truncated,
    }


def engine_report(
    engine: str,
    *,
    control: Control,
    made: bool,
    counts: tuple[int, int, int],
    asked: tuple[int, int, Mapping[str, float] | None],
) -> types.EngineReport:
    """Return engine_report.v1; *counts* are documents, passages and vectors.

    *asked* is how many passages were asked for, found, and the shares in common by channel.
    """
    doc_count, chunk_count, vector_count = counts
    report: types.EngineReport = {
        "schema_version": "engine_report.v1",
        "engine": cast("Any", engine),
        "made": made,
        "corpus_revision": control.corpus_revision,
        "sequence": control.sequence,
        "doc_count": doc_count,
        "chunk_count": chunk_count,
        "vector_count": vector_count,
        "asked": asked[0],
        "found": asked[1],
    }
    if asked[2] is not None:
        report["in_common"] = cast("types.EngineReportInCommon", dict(asked[2]))
    return report


def safety_report(
    path: str, created_at: str, *, members: int, size: int, copies: int
) -> types.SafetyReport:
    """Return safety_report.v1; *size* is that of all *members*, compressed."""
    return {
        "schema_version": "safety_report.v1",
        "path": path,
        "created_at": created_at,
        "members": members,
        "bytes": size,
        "copies": copies,
    }


def repair_report(
    store: str,
    problems: Iterable[str],
    *,
    dry_run: bool,
    **became: Any,  # noqa: ANN401 - what became of the store and its documents
) -> types.RepairReport:
    """Return repair_report.v1; *became* has the other fields, as the schema names them."""
    out: types.RepairReport = {
        "schema_version": "repair_report.v1",
        "store": store,
        "dry_run": dry_run,
        "problems": list(problems),
    }
    return cast("types.RepairReport", {**out, **became})


def init_report(
    config_path: str, data_dir: str, *, created: Iterable[str], existing: Iterable[str] = ()
) -> types.InitReport:
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
) -> types.IntegrationReport:
    """Return integration_report.v1; *files* are kinds, absolute paths and actions.

    The action ``remove`` says that a file goes.
    """
    out: dict[str, Any] = {
        "schema_version": "integration_report.v1",
        "host": host,
        "written": written,
    }
    if removal:
        out["removal"] = True
    out["entry"] = dict(entry)
    out["files"] = [_integrated(*file) for file in files]
    return cast("types.IntegrationReport", out)


def _integrated(kind: str, path: str, action: str) -> types.IntegrationReportFiles:
    if action == "remove":
        return {"kind": kind, "path": path, "action": "update", "removed": True}
    return {"kind": kind, "path": path, "action": action}
