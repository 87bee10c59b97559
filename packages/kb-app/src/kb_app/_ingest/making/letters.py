"""What a file says, without its order: the words that a search looks for before it reads.

Finding places, headings and passages takes most of the time that a file takes. So the text of a
PDF is what PDFium gives for each page, that of an archive of XML is what stands between tags, and
only what else is no text is parsed; nothing is cut, counted or stored. What is told here is part
of no answer, so it need not be what the parser of a format makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.making.containers import Package, Refused
from kb_app._ingest.making.parsing import judge_bytes, judge_text, parse_whole
from kb_app._ingest.making.pdfium import Locked, NotReadable, opened
from kb_app._ingest.making.record import Task, bytes_of
from kb_app._ingest.settings import Settings
from kb_core.documents import SourceFile
from kb_core.media import Media

__all__ = ["letters"]

_MOST_CHARS = 5_000_000
"""Of one file; what comes behind is not counted."""
_CUT = re.compile("[\x02\xad\ufffe](?:\r?\n)?|\r?\n(?=[\u2e80-\u9fff])")
"""Where a word was cut at the end of a line, or may have been: before what has no blanks."""
_TAG = re.compile(rb"<[^<>]*>")
_OF_XML = re.compile(r"\.(?:xml|x?html?)$", re.IGNORECASE)
_NO_TEXT = re.compile(r"(?:^|/)(?:theme|styles|settings|fontTable|META-INF)\b", re.IGNORECASE)
_HELD = re.compile(r"/embeddings/|(?:^|/)Object[ /]", re.IGNORECASE)


def letters(task: Task) -> str | None:
    """Return what a file and what is within it says, in lower case; ``None`` if that is not told.

    So it is of a file that is refused, or says nothing before a later phase.
    """
    data = bytes_of(task)
    file = data if isinstance(data, Skip) else judge_bytes(task.file, data, task.settings.caps)
    if isinstance(data, Skip) or isinstance(file, Skip):
        return None
    quick = _QUICK.get(file.media)
    said = quick(data, file, task.settings) if quick is not None else ""
    if not said:
        whole = parse_whole(file, data, task.settings)
        if isinstance(whole, Skip):
            return None
        said = "\n".join(f"{read.within or ''}\n{read.parsed.text}" for read in whole.documents)
    elif judge_text(file, said, task.settings):
        return None
    return said[:_MOST_CHARS].lower() if said.strip() else None


def _in_pdf(data: bytes, file: SourceFile, settings: Settings) -> str:
    told = settings.options.get(file.media, {}).get("passwords")
    pages: list[str] = []
    try:
        with opened(data, told if isinstance(told, tuple) else ()) as pdf:
            if len(pdf) > settings.reading.pages or any(pdf.files()):
                return ""
            chars = 0
            for index in range(len(pdf)):
                with pdf.page(index) as page:
                    pages.append(page.words())
                if (chars := chars + len(pages[-1])) > _MOST_CHARS:
                    break
    except (Locked, NotReadable):
        return ""
    return _CUT.sub("", "\n".join(pages))


def _in_package(data: bytes, _: SourceFile, settings: Settings) -> str:
    try:
        package = Package(data, settings.reading)
        if any(map(_HELD.search, package.names)):
            return ""
        told = [name for name in package.names if _OF_XML.search(name)]
        parts = [package.read(name) for name in told if not _NO_TEXT.search(name)]
    except Refused:
        return ""
    # What is cut by a tag may be one word, and what stands beside another is found in it, too.
    return unescape(_TAG.sub(b"", b"\n".join(parts)).decode("utf-8", "replace"))


_QUICK: Mapping[str, Callable[[bytes, SourceFile, Settings], str]] = {
    Media.PDF: _in_pdf,
    Media.OFFICE: _in_package,
    Media.BOOK: _in_package,
}
