"""The named points at which a writer can be killed: steps of the protocol, and system calls.

A step is ``before`` or ``after`` a function of ours, which a child replaces in itself. One of
them that has been renamed is an error, in the short form too.
"""

from __future__ import annotations

__all__ = ["CALLS", "FUNCTIONS", "PLACES", "STEPS"]

_WRITER = "kb_search.writer:Writer"
_STORE = "kb_store.store:Store"

FUNCTIONS: dict[str, tuple[str, ...]] = {
    f"{_STORE}.open": ("ingest", "add", "forget"),
    f"{_STORE}.commit": ("ingest", "add", "remove", "force"),
    f"{_STORE}.publication": ("ingest", "force"),
    f"{_STORE}.prune_outbox": ("ingest", "force"),
    f"{_STORE}.complete_sums": ("ingest",),
    f"{_STORE}.compact": ("forget",),
    f"{_STORE}.erase": ("forget",),
    f"{_STORE}.close": ("ingest", "forget"),
    f"{_STORE}.start_run": ("ingest",),
    f"{_STORE}.finish_run": ("ingest",),
    f"{_WRITER}.publish": ("ingest", "force"),
    f"{_WRITER}.prepare": ("ingest", "force"),
    f"{_WRITER}._publish": ("ingest", "force"),
    f"{_WRITER}.rebuild": ("rebuild", "forget"),
    f"{_WRITER}.close": ("ingest", "rebuild", "forget"),
    f"{_WRITER}._append_to": ("ingest", "force"),
    f"{_WRITER}._write_records": ("ingest", "force"),
    f"{_WRITER}._delete_superseded": ("ingest", "force"),
    f"{_WRITER}._write_chunks": ("ingest", "force"),
    f"{_WRITER}._commit_chunks": ("ingest", "rebuild"),
    f"{_WRITER}._published": ("ingest", "rebuild"),
    f"{_WRITER}._fill_up": ("ingest", "force"),
    "kb_search.writer:_Part.collect_leftovers": ("ingest", "forget"),
    "kb_search.writer:_Part.burn_first_operation": ("ingest", "forget"),
    "kb_search.writer:_Part.close": ("ingest", "force"),
    "kb_search.writer:cut_tails": ("ingest", "force"),
    "kb_search.writer:remove_other_generations": ("ingest", "rebuild"),
    "kb_search.sums:begin": ("ingest", "rebuild"),
    "kb_search.sums:leave": ("ingest", "rebuild", "forget"),
    "kb_search.appending:append": ("ingest", "force"),
    "kb_app._write:WriteSession._recover": ("ingest", "rebuild"),
    "kb_app._write:WriteSession.commit_ahead": ("ingest", "force"),
    "kb_app._write:WriteSession.settle": ("ingest", "force"),
    "kb_app._write:WriteSession.tidy": ("ingest",),
    "kb_app._ingest.run:seal": ("ingest",),
    "kb_app._ingest.run:sweep_assets": ("ingest",),
    "kb_app._ingest.added.assets:Assets.keep": ("add",),
    "kb_app._ingest.added.assets:Assets.record": ("add",),
    "kb_app._ingest.added.assets:Assets.erase": ("forget",),
    "kb_app._forgetting.forgetting:_note": ("forget",),
    "kb_app._forgetting.forgetting:_remove_documents": ("forget",),
    "kb_app._forgetting.forgetting:_remove_traces": ("forget",),
    "kb_app._reset:_delete": ("rebuild",),
    "kb_app._safety:SafetyCopies.make": ("safe",),
    "kb_app._safety:SafetyCopies.sweep": ("safe", "forget"),
    "kb_app._safety:SafetyCopy.drop": ("forget",),
    "kb_app._safety:_fill": ("safe",),
    "kb_app._safety:_link": ("safe",),
    "kb_app._safety:_pack": ("safe",),
    "kb_app._keep.safety:_follow_deletions": ("safe",),
    "kb_app._forgetting.forgetting:remove_from_copies": ("forget",),
}
"""Each function, and the operations that call it."""

STEPS = tuple(f"{when} {name}" for name in FUNCTIONS for when in ("before", "after"))

CALLS = ("write", "fsync", "rename", "create", "unlink", "read", "truncate")

PLACES = (
    "kebab.duckdb",
    "kebab.duckdb.*",
    "lexical/chunks/*",
    "lexical/records/*",
    "vectors/*",
    "assets/*",
    "run/*",
    "safety/*",
)
"""Patterns of what lies below a data directory."""
