"""Web pages: the main text, and the lines of the file in which it stands.

The text is what a reader comes for, without menus and what else stands around it: headings,
paragraphs, lists, tables by rows, and code as it is written. A chunk is cited by the lines of
the file that hold it, as the file lies on the disk; these are not the lines of the text. Of a
page that was saved as a mail is (``.mhtml``), they are: nothing in that file can be read there.

A page is decoded as browsers do it, but for what is UTF-8 without a flaw, which is UTF-8
whatever it says of itself. Whatever the bytes, there is a document.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kb_app._ingest.judging.decode import (
    XML_ENCODING,
    FileContent,
    decode_as,
    said_encoding,
)
from kb_app._ingest.making.exported_pages import Exported, read_exported
from kb_app._ingest.making.languages import detect_language
from kb_app._ingest.making.main_text import Main, main_text
from kb_app._ingest.making.markup import Element, Markup, read_markup
from kb_app._ingest.making.markup_text import Shown, show
from kb_app._ingest.making.metadata import Hints, parse_date, text_metadata
from kb_app._ingest.making.versions import HTML as _PARSER
from kb_core.citations import LineSpan
from kb_core.documents import Metadata, ParsedDocument, Place, SourceFile
from kb_core.ports import Content
from kb_core.text import nfc
from kb_core.values import replace

__all__ = ["HtmlParser"]

_HEAD = 4_096
_CHARSET = re.compile(rb"<meta\b[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_MAILED = (".mht", ".mhtml")
_PARTED = re.compile(r"\s+[-–—|·:»]\s+")
"""What stands in a title between a page and its site."""
_TO_ITSELF = re.compile(r"\s*[¶🔗⚓∞]$|\s+[#§]$")
"""What a headline ends with that leads to itself."""
_TITLE_MAX, _VALUE_MAX, _FEW = 200, 1_000, 3
_NAMED = {
    "description": ("description", "og:description", "twitter:description", "dc.description"),
    "author": ("author", "article:author", "dc.creator", "dc.author", "byl", "parsely-author"),
    "site": ("og:site_name", "application-name"),
}
_DATES = {
    "created": ("article:published_time", "datepublished", "dc.date", "dcterms.created", "date",
                "dc.date.issued", "pubdate", "parsely-pub-date", "sailthru.date"),
    "updated": ("article:modified_time", "datemodified", "dcterms.modified", "last-modified",
                "og:updated_time"),
}  # fmt: skip
_IN_JSON = {
    "created": re.compile(r'"datePublished"\s{0,9}:\s{0,9}"([^"]{4,40})"'),
    "updated": re.compile(r'"dateModified"\s{0,9}:\s{0,9}"([^"]{4,40})"'),
}


class HtmlParser:
    """``Parser`` of web pages."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        is_mailed = file.path.lower().endswith(_MAILED)
        source, warnings = _unpacked(content.data) if is_mailed else _source(content)
        page = read_markup(source)
        if not is_mailed and (exported := read_exported(page, source)):
            return _listed(exported, page, file, warnings)
        main = main_text(page)
        shown = show(page, main.roots, main.kept)
        return ParsedDocument(
            text=shown.text,
            media=file.media,
            metadata=_metadata(page, source, main, shown, file),
            blocks=tuple(shown.blocks),
            links=tuple(shown.links),
            places=() if is_mailed else tuple(_places(shown)),
            has_lines=True if is_mailed else None,
            warnings=warnings,
            parser_version=_PARSER,
        )


def _listed(
    exported: Exported, page: Markup, file: SourceFile, warnings: tuple[str, ...]
) -> ParsedDocument:
    """Return the document of a page that a program exported."""
    draft, days = exported.draft, exported.days
    title = exported.title or _said(page).get("title", "")
    metadata, _ = text_metadata({}, Hints(path=file.path, heading=title, body=draft.text))
    if days:
        metadata = replace(metadata, created=parse_date(days[0]), updated=parse_date(days[-1]))
    return ParsedDocument(
        text=draft.text,
        media=file.media,
        metadata=metadata,
        blocks=tuple(draft.blocks),
        links=tuple(exported.links),
        places=tuple(draft.places),
        warnings=warnings,
        parser_version=_PARSER,
    )


def _source(content: Content) -> tuple[str, tuple[str, ...]]:
    """Return the page as text, with LF for line ends."""
    data = content.data
    declared = XML_ENCODING.match(data[:_HEAD]) or _CHARSET.search(data[:_HEAD])
    name = said_encoding(declared)
    if name is None or _is_unicode(data):
        return content.text, content.warnings
    try:
        decoded = decode_as(data, name)
    except (LookupError, ValueError, TypeError):
        return content.text, (*content.warnings, f"it says its encoding is {name!r}: no such one")
    return decoded.text, decoded.warnings


def _is_unicode(data: bytes) -> bool:
    """Say whether *data* is what nothing else looks like: marked, or UTF-8 beyond ASCII."""
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    if data.isascii():
        return b"\x1b" not in data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return b"\0" in data[:_HEAD]
    return True


def _unpacked(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the page of a saved one, which is the first part of it that is HTML."""
    from email.parser import BytesParser

    for part in BytesParser().parsebytes(data).walk():
        if part.get_content_type() in {"text/html", "application/xhtml+xml"}:
            inner = part.get_payload(decode=True)
            if isinstance(inner, bytes):
                said = part.get_content_charset()
                head = f'<meta charset="{said}">'.encode("ascii", "replace") if said else b""
                return _source(FileContent(head + inner))
    return "", ("no part of it is a page",)


def _places(shown: Shown) -> Iterator[Place]:
    for at, line in shown.lines:
        yield Place(at, LineSpan(line, line))


def _metadata(page: Markup, source: str, main: Main, shown: Shown, file: SourceFile) -> Metadata:
    said = _said(page)
    headlines = [_TO_ITSELF.sub("", page.text_of(each)) for each in _headlines(page, main)]
    title = _title(said, shown, headlines)
    metadata, _ = text_metadata({}, Hints(path=file.path, heading=title, body=shown.text))
    lang = metadata.lang
    if lang in {None, "und"} and shown.text.strip():
        lang = _declared_language(said.get("lang", "")) or detect_language(f"{title}\n{shown.text}")
    user = {
        name: value
        for name, names in _NAMED.items()
        if (value := next((said[key] for key in names if said.get(key)), ""))
    }
    if canonical := said.get("canonical") or said.get("og:url"):
        user["canonical"] = canonical
    dates = {name: _date(said, source, name) for name in _DATES}
    return replace(
        metadata,
        lang=lang,
        created=dates["created"] or metadata.created,
        updated=dates["updated"] or metadata.updated,
        user={**metadata.user, **user},
    )


def _said(page: Markup) -> Mapping[str, str]:
    """Return what the page says of itself: of names that are given twice, the first."""
    said: dict[str, str] = {}
    for element in page.elements:
        given = element.attributes
        match element.tag:
            case "meta":
                name = given.get("property") or given.get("name") or given.get("itemprop") or ""
                _note(said, name.strip().lower(), given.get("content", ""))
            case "link" if given.get("rel", "").lower() == "canonical":
                _note(said, "canonical", given.get("href", ""))
            case "html":
                _note(said, "lang", given.get("lang") or given.get("xml:lang") or "")
            case "time" if "pubdate" in given or given.get("itemprop") == "datePublished":
                _note(said, "datepublished", given.get("datetime", ""))
            case "title" if "title" not in said:
                _note(said, "title", page.text_of(element))
    return said


def _note(said: dict[str, str], name: str, value: str) -> None:
    value = nfc(" ".join(value.split())).encode("utf-8", "replace").decode()
    if name and value:
        said.setdefault(name, value[:_VALUE_MAX])


def _headlines(page: Markup, main: Main) -> Iterator[Element]:
    """Yield the headings of the first level in the main text; a site has one of its own."""
    for root in main.roots:
        inside = [root, *page.within(root)]
        yield from (each for each in inside if each.tag == "h1" and main.kept[each.number])


def _title(said: Mapping[str, str], shown: Shown, headlines: Sequence[str]) -> str:
    """Return the title: without the name of the site, where a heading says which part that is.

    That is a heading that stands in it, or one that goes on where its first part ends: pages of
    one index have the same title, and each its letter in the headline.
    """
    whole = said.get("title", "")
    shorter = [said.get("og:title", ""), *headlines[:_FEW]]
    for title in shorter:
        if title and title.casefold() in whole.casefold():
            return title[:_TITLE_MAX]
    part, *site = _PARTED.split(whole, maxsplit=1)
    for title in headlines[:_FEW] if part and site else ():
        if title.casefold().startswith(part.casefold()):
            return title[:_TITLE_MAX]
    opening = next((block for block in shown.blocks[:1] if block.kind == "heading"), None)
    heading = " ".join(shown.text[opening.start : opening.end].split()) if opening else ""
    return (whole or shorter[0] or heading)[:_TITLE_MAX]


def _declared_language(said: str) -> str:
    code = re.match(r"[A-Za-z]{2,3}(?![A-Za-z])", said)
    return code[0].lower() if code else ""


def _date(said: Mapping[str, str], source: str, name: str) -> datetime | None:
    for key in _DATES[name]:
        if key in said and (moment := parse_date(said[key])):
            return moment
    found = _IN_JSON[name].search(source)
    return parse_date(found[1]) if found else None
