"""Resources: documents and chunks as hosts attach them, ``kebab://doc/…`` and ``kebab://chunk/…``.

Their text is verbatim. Listed are the documents, page by page; chunks are found by
``search``. What cannot be read is an error of the protocol that carries error.v1.
"""

from __future__ import annotations

import mimetypes
import re
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from kb_app import KnowledgeBase
from kb_core import wire
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput, KbError
from kb_core.search import SearchFilters
from kb_mcp._results import repaired

__all__ = ["PAGE", "TEMPLATES", "list_page", "read"]

PAGE = 100
"""Documents of one page."""

TEMPLATES = [
    types.ResourceTemplate(
        uri_template="kebab://doc/{doc_id}",
        name="document",
        title="A document",
        description="The whole text of a document, by doc_id of a hit or of list_docs.",
    ),
    types.ResourceTemplate(
        uri_template="kebab://chunk/{chunk_id}",
        name="passage",
        title="A passage",
        description="The text of one passage, by chunk_id of a hit.",
    ),
]

_URI = re.compile(r"kebab://(doc|chunk)/([^/?#]+)")
_MARKDOWN = (".md", ".markdown")
_MISTAKES = (ChunkNotFound, DocNotFound, InvalidInput)


def list_page(kb: KnowledgeBase, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of documents, by source and path. A *cursor* is where it starts."""
    if cursor is not None and not re.fullmatch(r"[0-9]{1,9}", cursor):
        raise _error(InvalidInput(f"cursor {cursor[:80]!r} is none of ours"))
    start = int(cursor or 0)
    try:
        page = repaired(kb.list_docs(SearchFilters(), limit=PAGE, offset=start))
    except KbError as error:
        raise _error(error) from error
    end = start + len(page["items"])
    return types.ListResourcesResult(
        resources=[_resource(doc) for doc in page["items"]],
        next_cursor=str(end) if page["items"] and end < page["total"] else None,
    )


def read(kb: KnowledgeBase, uri: str) -> types.ReadResourceResult:
    """Return the text behind *uri*, verbatim, with its place in ``_meta``."""
    match = _URI.fullmatch(uri)
    if match is None:
        forms = " and ".join(template.uri_template for template in TEMPLATES)
        raise _error(InvalidInput(f"{uri[:200]!r} is no resource", hint=f"there are {forms}"))
    kind, identifier = match.groups()
    try:
        found = kb.fetch_doc(identifier) if kind == "doc" else kb.fetch_chunk(identifier)
    except KbError as error:
        raise _error(error) from error
    return types.ReadResourceResult(contents=[_contents(uri, repaired(found))])


def _resource(doc: dict[str, Any]) -> types.Resource:
    changed = doc.get("updated_at") or doc.get("created_at")
    return types.Resource(
        uri=f"kebab://doc/{doc['doc_id']}",
        name=doc["doc_path"],
        title=doc["title"],
        mime_type=_mime_type(doc["doc_path"]),
        size=doc["byte_len"],
        annotations=types.Annotations(last_modified=changed) if changed else None,
    )


def _contents(uri: str, found: dict[str, Any]) -> types.TextResourceContents:
    meta: dict[str, Any] = {"kebab/path": found["doc_path"], "kebab/stale": found["stale"]}
    text, flags = found.get("text"), found.get("flags")
    if text is None:
        text, flags = found["chunk"]["text"], found["chunk"].get("flags")
        meta["kebab/citation"] = found["chunk"]["source_spans"][0]["uri"]
    if flags:
        meta["kebab/flags"] = flags
    mime_type = _mime_type(found["doc_path"])
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text, meta=meta)


def _mime_type(path: str) -> str:
    """Guess by the name; what we hold is text, whatever the file was."""
    if path.lower().endswith(_MARKDOWN):
        return "text/markdown"
    guessed = mimetypes.guess_type(path)[0] or ""
    return guessed if guessed.startswith("text/") else "text/plain"


def _error(error: KbError) -> MCPError:
    code = types.INVALID_PARAMS if isinstance(error, _MISTAKES) else types.INTERNAL_ERROR
    remedy = f" ({error.hint})" if error.hint else ""
    return MCPError(code, f"{error}{remedy}", repaired(wire.error(error)))
