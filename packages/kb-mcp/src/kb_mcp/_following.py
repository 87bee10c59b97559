"""Following work that writes: its events as progress, its report as the answer.

The work is told to stop by the call and then ends after the batch at hand; its events are
taken to the end whatever happens, so that nothing half done is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kb_core import wire
from kb_core.ingest import IngestEvent
from kb_mcp._tool import Call

__all__ = ["follow"]


def follow(call: Call, events: Iterator[IngestEvent]) -> Mapping[str, Any]:
    """Take all *events*, and return ingest_report.v1 from the last of them."""
    report = None
    for event in events:
        call.progress.message = _message(event) or call.progress.message
        report = event.report or report
    if report is None:
        raise RuntimeError("the last event of an ingest has its report")
    return wire.ingest_report(report)


def _message(event: IngestEvent) -> str:
    data = event.data
    match event.kind:
        case "asset_finished":
            return "read"
        case "committed":
            return "found by its words now"
        case "embed_batch_finished":
            return f"{data['done']} of {data['total']} passages embedded"
        case _:
            return ""
