"""Mails, and mailboxes of them; calendars, address books and exported notes, kept as they are.

A mail is its headers as a person reads them, then its body: the plain text, or else what the
HTML shows. Its attachments, and mails that it forwards, are files within it. A mailbox has no
text of its own: it is a file with mails in it, each called by its ``Message-ID``. An event or a
contact is a line with what it is called and known for, then what somebody wrote about it. Notes
of an export are files within it, as mails of a mailbox are.

Whatever the bytes, there is a document; what is wrong with one header or one part costs that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.blocks import Draft, Lines, Region, paragraphs
from kb_app._ingest.making.cards import entries_of, is_cards
from kb_app._ingest.making.evernote import NoNotesError, is_export, notes_of
from kb_app._ingest.making.markup_text import text_of_html
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_core.documents import Block, Enclosure, Metadata, ParsedDocument, SourceFile
from kb_core.ids import bytes_hash
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.text import nfc

if TYPE_CHECKING:
    from email.message import Message

__all__ = ["MailParser"]

_PARSER = "mail-2"
_OUTLOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_KEPT = ("from", "to", "cc", "reply-to", "message-id", "in-reply-to", "list-id")
_LONGEST_HEADER = 2_000
_DEEPEST, _MOST_PARTS = 40, 2_000
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature",
                         "application/x-pkcs7-signature"})  # fmt: skip
_CHARSETS = {
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}
"""What is written is often what its superset says."""
_TELLING, _SAYS_LITTLE = 200, 5
"""A plain text is passed over where the HTML says at least so much, and so many times more."""


_REFUSALS = (RecursionError, ValueError, LookupError, AttributeError, TypeError)


class MailParser:
    """``Parser`` of mails and mailboxes, calendars, address books and exported notes."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        data = content.data
        if is_cards(file.path):
            return _cards(content, file)
        if is_export(file.path):
            return _export(data, file)
        if data.startswith(_OUTLOOK):
            detail = "a message of Outlook; saved as .eml, it can be read"
            return ParsedDocument(
                text="", media=file.media, refused=(SkipReason.UNSUPPORTED, detail)
            )
        if (envelope := _ENVELOPE.match(data)) is not None:
            if _is_mailbox(data, file):
                return _mailbox(data, file)
            data = data[envelope.end() :]
        from email.errors import MessageError  # a run that reads no mail does without

        try:
            return _mail(data, file)
        except (MessageError, *_REFUSALS) as error:
            # The parser of the standard library refuses some bytes that call themselves a mail.
            told = f"it is no mail that can be taken apart ({type(error).__name__}); its text is"
            return _plain(content, file, told)


def _plain(content: Content, file: SourceFile, warning: str) -> ParsedDocument:
    lines = Lines(content.text)
    metadata, _ = text_metadata({}, Hints(path=file.path, body=lines.text))
    return ParsedDocument(
        text=lines.text,
        media=file.media,
        metadata=metadata,
        blocks=_blocks(lines, 0),
        warnings=(*content.warnings, warning),
        parser_version=_PARSER,
    )


def _cards(content: Content, file: SourceFile) -> ParsedDocument:
    called, entries = entries_of(content.text)
    if not entries:
        return _plain(content, file, "no events or contacts are in it")
    draft = Draft()
    for entry in entries:
        about = text_of_html(entry.text) if _MARKED_UP.search(entry.text) else entry.text
        first, *others = _BLANK_LINES.split(about.strip())
        is_short = "\n" not in first and len(first) <= _SHORT
        facts = (entry.title, *entry.facts, first if is_short else "")
        draft.add("paragraph", " · ".join(filter(None, facts)))
        for paragraph in others if is_short else (first, *others):
            draft.add("paragraph", paragraph)
    only = entries[0] if len(entries) == 1 else None
    values = {"title": only.title if only else called, "tags": list(only.tags) if only else []}
    metadata, _ = text_metadata(
        {name: value for name, value in values.items() if value},
        Hints(path=file.path, body=draft.text),
    )
    if only is not None and only.start is not None:
        day = datetime(only.start.year, only.start.month, only.start.day, tzinfo=UTC)
        metadata = replace(metadata, created=day)
    return ParsedDocument(
        text=draft.text,
        media=file.media,
        metadata=metadata,
        blocks=tuple(draft.blocks),
        warnings=content.warnings,
        parser_version=_PARSER,
    )


def _export(data: bytes, file: SourceFile) -> ParsedDocument:
    notes: list[Enclosure] = []
    warnings = []
    try:
        notes.extend(notes_of(data))
    except NoNotesError as error:
        warnings.append(f"notes are read as far as it is whole: {error}")
    if warnings and not notes:
        refused = (SkipReason.UNREADABLE, warnings[0].rpartition(": ")[2])
        return ParsedDocument(text="", media=file.media, refused=refused)
    metadata, _ = text_metadata({}, Hints(path=file.path))
    return ParsedDocument(
        text="",
        media=file.media,
        metadata=metadata,
        enclosures=notes,
        warnings=tuple(warnings),
        parser_version=_PARSER,
    )


_MARKED_UP = re.compile(r"<(?:br|p|a|div|span|b|ul|ol|li)\b[^<>]*>", re.IGNORECASE)
_SHORT = 200
"""A note so long stands in the line of what it is about, so that both are read together."""
_BLANK_LINES = re.compile(r"\n\s*\n")


_ENVELOPE = re.compile(rb"^From \S+ +([^\n]*\d\d:\d\d[^\n]*\d{4})[^\n]*\n", re.MULTILINE)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<?([^>\s]{1,300})", re.IGNORECASE | re.MULTILINE)


def _is_mailbox(data: bytes, file: SourceFile) -> bool:
    """Say whether it is more than one mail that was saved with its envelope."""
    begun = (match.start() for match in _ENVELOPE.finditer(data))
    mails = sum(at == 0 or _is_after_blank(data, at) for at in islice(begun, 100))
    return mails > 1 or not file.path.lower().endswith(".eml")


def _mailbox(data: bytes, file: SourceFile) -> ParsedDocument:
    metadata, _ = text_metadata({}, Hints(path=file.path))
    return ParsedDocument(
        text="",
        media=file.media,
        metadata=metadata,
        enclosures=_mails(data),
        parser_version=_PARSER,
    )


def _mails(data: bytes) -> Iterator[Enclosure]:
    """Yield the mails of a mailbox; one begins after a blank line, with whom it is from."""
    begun: re.Match[bytes] | None = None
    for match in _ENVELOPE.finditer(data):
        if match.start() == 0 or _is_after_blank(data, match.start()):
            if begun is not None:
                yield _in_mailbox(begun, data[begun.end() : match.start()])
            begun = match
    if begun is not None:
        yield _in_mailbox(begun, data[begun.end() :])


def _is_after_blank(data: bytes, at: int) -> bool:
    return data[max(0, at - 4) : at].endswith((b"\n\n", b"\n\r\n"))


def _in_mailbox(envelope: re.Match[bytes], data: bytes) -> Enclosure:
    mail = _ESCAPED.sub(rb"\1", data)
    head = re.split(rb"\r?\n\r?\n", mail[:65_536], maxsplit=1)[0]
    named = _MESSAGE_ID.search(head)
    name = named[1].decode("ascii", "replace") if named else bytes_hash(mail)[:16]
    created = _moment(envelope[1].decode("ascii", "replace"))
    return Enclosure(
        name=f"{name}.eml", data=mail, media="mail", created=created and created.astimezone(UTC)
    )


@dataclass(slots=True)
class _Found:
    """What a mail turns out to hold."""

    texts: list[str] = field(default_factory=list)
    enclosures: list[Enclosure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parts: int = 0
    is_cut: bool = False


def _mail(data: bytes, file: SourceFile) -> ParsedDocument:
    from email.parser import BytesParser

    message = BytesParser().parsebytes(data)
    date = _date(message)
    found = _Found()
    _take(message, found, date and date.astimezone(UTC), 0)
    headers = {name: _header(message, name) for name in _SHOWN}
    if date is not None:
        headers["Date"] = date.isoformat(" ", "seconds")
    headers["Attachments"] = ", ".join(each.name for each in found.enclosures)
    shown = "\n".join(f"{name}: {value}" for name, value in headers.items() if value)
    body = "\n\n".join(filter(None, (text.strip("\n") for text in found.texts)))
    lines = Lines("\n\n".join(filter(None, (shown, body))))
    metadata = _metadata(message, headers, body, date, file)
    return ParsedDocument(
        text=lines.text,
        media=file.media,
        metadata=metadata,
        blocks=_blocks(lines, shown.count("\n") + 1 if shown else 0),
        enclosures=found.enclosures,
        warnings=tuple(found.warnings),
        parser_version=_PARSER,
    )


def _metadata(
    message: Message, headers: Mapping[str, str], body: str, date: datetime | None, file: SourceFile
) -> Metadata:
    title = headers["Subject"] or (f"Mail from {headers['From']}" if headers["From"] else "")
    metadata, _ = text_metadata({}, Hints(path=file.path, heading=title, body=body))
    kept = {name: _header(message, name) for name in _KEPT}
    user = {**metadata.user, **{name: value for name, value in kept.items() if value}}
    created = date.astimezone(UTC) if date is not None else metadata.created
    return replace(metadata, created=created, user=user)


def _header(message: Message, name: str) -> str:
    """Return a header as a person reads it; what is not written as it should be, as it stands."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return nfc(" ".join(_readable(raw).split()))[:_LONGEST_HEADER]


def _readable(raw: str) -> str:
    """Return a value with its encoded words decoded, and bytes that nobody declared."""
    from email.errors import MessageError
    from email.header import decode_header, make_header

    text = _undone(str(raw))
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, ValueError, LookupError, TypeError, AttributeError):
        return text


def _undone(text: str) -> str:
    """Return *text* with bytes that nobody declared decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return FileContent(text.encode("utf-8", "surrogateescape")).text
    return text


def _date(message: Message) -> datetime | None:
    return _moment(_header(message, "date"))


def _moment(written: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(written)
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, LookupError):
        return None
    return date


def _take(part: Message, found: _Found, date: datetime | None, depth: int) -> None:
    """Take in a part and what is in it: a text of the mail, or a file within it."""
    found.parts += 1
    if depth > _DEEPEST or found.parts > _MOST_PARTS:
        if not found.is_cut:
            found.warnings.append(f"more than {_MOST_PARTS:,} parts, or {_DEEPEST} deep: cut off")
        found.is_cut = True
        return
    kind, payload = part.get_content_type(), part.get_payload()
    inner = [p for p in payload if not isinstance(p, str)] if isinstance(payload, list) else None
    if inner is None:
        _take_leaf(part, kind, found, date)
    elif kind == "message/rfc822" and inner:
        found.enclosures.append(_forwarded(part, inner[0], date))
    elif kind == "multipart/alternative":
        _take_best(inner, found, date, depth)
    else:
        for each in inner:
            _take(each, found, date, depth + 1)


def _take_leaf(part: Message, kind: str, found: _Found, date: datetime | None) -> None:
    if kind in {"text/plain", "text/html"} and not _is_attached(part):
        found.texts.append(_text(part))
    elif kind not in _SIGNATURES and ((data := _bytes(part)) or _is_attached(part)):
        name = _name(part, kind, len(found.enclosures))
        found.enclosures.append(Enclosure(name=name, data=data, created=date))


def _take_best(parts: list[Message], found: _Found, date: datetime | None, depth: int) -> None:
    """Take the plain text of several ways to say the same, or the one that says most."""
    texts = {each.get_content_type(): _text(each) for each in parts if not each.is_multipart()}
    plain, marked = texts.get("text/plain", "").strip(), texts.get("text/html", "").strip()
    says_little = len(marked) > max(_TELLING, _SAYS_LITTLE * len(plain))
    best = plain if plain and not says_little else marked
    found.texts += [best] if best else []
    for each in parts:
        is_said = each.get_content_type() in {"text/plain", "text/html"}
        if each.is_multipart() and not best:
            _take(each, found, date, depth + 1)
        elif each.is_multipart():
            _take_files(each, found, date, depth + 1)
        elif not is_said:
            _take(each, found, date, depth + 1)


def _take_files(part: Message, found: _Found, date: datetime | None, depth: int) -> None:
    """Take in what is beside a text that was said already."""
    said = len(found.texts)
    _take(part, found, date, depth)
    del found.texts[said:]


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_filename(part))


def _filename(part: Message) -> str:
    try:
        given = part.get_filename()
    except (ValueError, LookupError, TypeError):
        return ""
    return _readable(given or "")


def _name(part: Message, kind: str, number: int) -> str:
    from mimetypes import guess_extension

    extension = guess_extension(kind) or ""
    return _filename(part) or f"attachment-{number + 1}{extension}"


def _forwarded(part: Message, inner: Message, date: datetime | None) -> Enclosure:
    title = _filename(part) or _header(inner, "subject") or "forwarded"
    name = title if title.lower().endswith(".eml") else f"{title}.eml"
    return Enclosure(name=name, data=inner.as_bytes(), media="mail", created=date)


def _bytes(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _text(part: Message) -> str:
    """Return what a part of text shows."""
    data = _bytes(part)
    text = _decoded(data, part.get_content_charset())
    if part.get_content_type() == "text/html":
        return text_of_html(text)
    is_flowed = str(part.get_param("format", "")).lower() == "flowed"
    return _unflowed(text) if is_flowed else text


def _decoded(data: bytes, charset: str | None) -> str:
    name = _CHARSETS.get((charset or "").lower(), charset or "")
    try:
        text = data.decode(name) if name else ""
    except (UnicodeDecodeError, LookupError, ValueError):
        text = ""
    text = text or FileContent(data).text
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _unflowed(text: str) -> str:
    """Join lines that were only broken to fit a width."""
    out: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        if goes_on and not line.startswith(">"):
            out[-1] += line
        else:
            out.append(line)
        goes_on = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(out)


def _blocks(lines: Lines, headers: int) -> tuple[Block, ...]:
    """Return headers, paragraphs, what is quoted, and the signature."""
    regions = [Region(0, headers, "paragraph")] if headers else []
    at, signed = headers, _signature(lines, headers)
    while at < signed:
        end = at
        is_quoted = lines.texts[at].startswith(">")
        while end < signed and lines.texts[end].startswith(">") == is_quoted:
            end += 1
        if is_quoted:
            regions.append(Region(at, end, "quote"))
        else:
            regions += paragraphs(lines, at, end, "paragraph")
        at = end
    regions += [Region(signed, len(lines), "signature")] if signed < len(lines) else []
    return tuple(block for region in regions if (block := lines.block(region)))


_SIGNATURE_LINES = 12


def _signature(lines: Lines, first: int) -> int:
    """Return the line at which a signature begins, as mails mark it; else the end."""
    end = len(lines)
    for number in range(end - 1, max(first, end - _SIGNATURE_LINES) - 1, -1):
        if lines.texts[number].rstrip() == "--":
            return number
    return end
