"""The versions of parsers and chunkers: where one is raised, what it made is made anew.

They stand apart from what they are of, so that saying them loads none of it.
"""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["BY_NAME", "CHUNKERS", "PARSERS"]
__all__ += [
    "BOOK",
    "CODE",
    "CODE_CHUNKS",
    "HTML",
    "IMAGE",
    "IMAGE_READER",
    "MAIL",
    "MARKDOWN",
    "MARKDOWN_CHUNKS",
    "NOTEBOOK",
    "OFFICE",
    "OUTLINE",
    "PACKED",
    "PARAGRAPHS",
    "PDF",
    "SCANS",
    "SOUND",
    "SPEECH",
    "SPEECH_MAKER",
    "TABLE",
    "TEXT",
]

BOOK = "book-6"
CODE = "code-10"
HTML = "html-10"
IMAGE = "image-2"
MAIL = "mail-9"
MARKDOWN = "markdown-3"
NOTEBOOK = "notebook-2"
OFFICE = "office-8"
OUTLINE = "outline-8"
PACKED = "packed-2"
PDF = "pdf-4"
SOUND = "sound-2"
TABLE = "table-2"
TEXT = "text-10"

IMAGE_READER = f"{IMAGE}-read-2"
SCANS = f"{PDF}-scans-1"
SPEECH_MAKER = "speech-1"
SPEECH = f"{SOUND} {SPEECH_MAKER}"

CODE_CHUNKS = "code-2"
MARKDOWN_CHUNKS = "markdown-7"
PARAGRAPHS = "paragraphs-6"

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

_FORMATS = "kb_app._ingest.making.formats"
BY_NAME = MappingProxyType(
    {
        f"{_FORMATS}.code:CodeChunker": CODE_CHUNKS,
        f"{_FORMATS}.code:CodeParser": CODE,
        f"{_FORMATS}.epub:BookParser": BOOK,
        f"{_FORMATS}.html:HtmlParser": HTML,
        f"{_FORMATS}.image:ImageParser": IMAGE,
        f"{_FORMATS}.image:ImageReader": IMAGE_READER,
        f"{_FORMATS}.mail:MailParser": MAIL,
        f"{_FORMATS}.markdown:MarkdownChunker": MARKDOWN_CHUNKS,
        f"{_FORMATS}.markdown:MarkdownParser": MARKDOWN,
        f"{_FORMATS}.notebook:NotebookParser": NOTEBOOK,
        f"{_FORMATS}.office.parser:OfficeParser": OFFICE,
        f"{_FORMATS}.outline:OutlineParser": OUTLINE,
        f"{_FORMATS}.packed:PackedParser": PACKED,
        f"{_FORMATS}.pdf:PdfParser": PDF,
        f"{_FORMATS}.pdf:ScanParser": SCANS,
        f"{_FORMATS}.sound:SoundParser": SOUND,
        f"{_FORMATS}.sound:SpeechParser": SPEECH,
        f"{_FORMATS}.table:TableParser": TABLE,
        f"{_FORMATS}.text:ParagraphChunker": PARAGRAPHS,
        f"{_FORMATS}.text:TextParser": TEXT,
    }
)
"""Of each, as a medium names it."""
