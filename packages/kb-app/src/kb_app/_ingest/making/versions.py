"""The versions of parsers and chunkers: where one is raised, what it made is made anew.

They stand apart from what they are of, so that saying them loads none of it.
"""

from __future__ import annotations

__all__ = ["CHUNKERS", "PARSERS"]
__all__ += [
    "BOOK",
    "CODE",
    "CODE_CHUNKS",
    "HTML",
    "IMAGE",
    "MAIL",
    "MARKDOWN",
    "MARKDOWN_CHUNKS",
    "NOTEBOOK",
    "OFFICE",
    "OUTLINE",
    "PACKED",
    "PARAGRAPHS",
    "PDF",
    "SOUND",
    "TABLE",
    "TEXT",
]

BOOK = "book-6"
CODE = "code-8"
HTML = "html-9"
IMAGE = "image-1"
MAIL = "mail-8"
MARKDOWN = "markdown-2"
NOTEBOOK = "notebook-2"
OFFICE = "office-7"
OUTLINE = "outline-6"
PACKED = "packed-1"
PDF = "pdf-4"
SOUND = "sound-2"
TABLE = "table-2"
TEXT = "text-7"

CODE_CHUNKS = "code-2"
MARKDOWN_CHUNKS = "markdown-5"
PARAGRAPHS = "paragraphs-4"

PARSERS = (
    BOOK,
    CODE,
    HTML,
    IMAGE,
    MAIL,
    MARKDOWN,
    NOTEBOOK,
    OFFICE,
    OUTLINE,
    PACKED,
    PDF,
    SOUND,
    TABLE,
    TEXT,
)
"""Of all that read a file at first."""
CHUNKERS = (CODE_CHUNKS, MARKDOWN_CHUNKS, PARAGRAPHS)
