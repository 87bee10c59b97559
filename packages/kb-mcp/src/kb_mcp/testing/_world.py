"""What the server serves in tests: the facade itself, over two documents in memory."""

from __future__ import annotations

from typing import Any

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.records import DocumentRecord
from kb_core.testing.documents import NOW, document

__all__ = ["CODE", "KOREAN", "knowledge_base"]

KOREAN = document(
    "노트/검색 기록.md",
    "# 검색\n\n한국어 형태소와 바이그램을 함께 찾는다. 😀\n",
    lang="ko",
    updated_at=NOW,
)
CODE = document(
    "src/parse.py", "def parse(text):\n    return text.split()\n", title="parse.py", repo="kebab"
)


def knowledge_base(
    *documents: DocumentRecord,
    **options: Any,  # noqa: ANN401 - of the facade
) -> ScriptedKnowledgeBase:
    """Return a facade over *documents*, or over a note in Korean and a piece of code."""
    return ScriptedKnowledgeBase(*(documents or (KOREAN, CODE)), **options)
