"""Mails, mailboxes, messages of Outlook; calendars, address books, notes, conversations.

A mail is its headers as a person reads them, then its body: the plain text, or else what the
HTML shows. Its attachments, and mails that it forwards, are files within it. A mailbox has no
text of its own: it is a file with mails in it, each called by its ``Message-ID``. An event or a
contact is a line with what it is called and known for, then what somebody wrote about it. Notes
and conversations of an export are files within it, as mails of a mailbox are.

Whatever the bytes, there is a document; what is wrong with one header or one part costs that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.blocks import Draft, Lines
from kb_app._ingest.making.cards import entries_of, is_cards
from kb_app._ingest.making.chats import chats_of, is_chat, may_be_chat
from kb_app._ingest.making.clippings import clippings_of, is_clippings
from kb_app._ingest.making.compound import COMPOUND, NoCompoundError
from kb_app._ingest.making.evernote import is_export, notes_of
from kb_app._ingest.making.exported_notes import (
    is_exported_notes,
    is_wiki,
    notes_in,
)
from kb_app._ingest.making.mail_texts import (
    best_text,
    cut_base64,
    decoded_text,
    mail_blocks,
    unflowed,
)
from kb_app._ingest.making.mailboxes import ENVELOPE, is_mailbox, mails_of, moment_of
from kb_app._ingest.making.markup_text import text_of_html
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.noted import NoExportError
from kb_app._ingest.making.outlook.message import NoMessageError, read_message
from kb_app._ingest.making.outlook.tnef import TNEF
from kb_app._ingest.making.sealed_mail import (
    SEALED,
    is_encrypted,
    signed_content,
    without_armour,
)
from kb_app._ingest.making.versions import MAIL as _PARSER
from kb_app._ingest.making.whatsapp import is_whatsapp
from kb_core.documents import Enclosure, Metadata, ParsedDocument, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.text import nfc

if TYPE_CHECKING:
    from email.message import Message

__all__ = ["MailParser"]

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_KEPT = ("From", "To", "Cc", "reply-to", "message-id", "in-reply-to", "list-id")
_LONGEST_HEADER = 2_000
_ENCRYPTED = "what it says is encrypted, or a part of it; save it decrypted"
_CUT = "it ends in the middle, so some of it may be missing"
_DEEPEST, _MOST_PARTS = 40, 2_000
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature",
                         "application/x-pkcs7-signature"})  # fmt: skip


_REFUSALS = (RecursionError, ValueError, LookupError, AttributeError, TypeError)


class MailParser:
    """``Parser`` of mails and mailboxes, calendars, address books, exported notes and chats."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        data = content.data
        if is_cards(file.path):
            return _cards(content, file)
        if (export := _read_export(data, file)) is not None:
            return _export(*export, file)
        if data.startswith((COMPOUND, TNEF)):
            return _of_outlook(data, file)
        if (envelope := ENVELOPE.match(data)) is not None:
            if is_mailbox(data, file.path):
                return _holding(mails_of(data), file)
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
        blocks=mail_blocks(lines, 0),
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


def _read_export(data: bytes, file: SourceFile) -> tuple[str, Iterator[Enclosure]] | None:
    """Return what an export holds, and these one by one; ``None`` where the file is none."""
    if is_export(file.path):
        return "notes", notes_of(data)
    if is_exported_notes(file.path, data) or is_wiki(data):
        return "notes", notes_in(data)
    if is_clippings(file.path, data):
        return "clippings", clippings_of(data)
    is_any = may_be_chat(file.path) or is_chat(file.path, data) or is_whatsapp(file.path, data)
    return ("conversations", chats_of(data, file.path)) if is_any else None


def _export(what: str, within: Iterator[Enclosure], file: SourceFile) -> ParsedDocument:
    """Return the document of an export, which is notes or conversations one after the other."""
    found: list[Enclosure] = []
    damage = ""
    try:
        found.extend(within)
    except NoExportError as error:
        damage = str(error)
    if not damage:
        return _holding(found, file)
    if not found:
        return _refused(file, SkipReason.UNREADABLE, damage)
    return _holding(found, file, (f"{what} are read as far as it is whole: {damage}",))


_LENGTH = re.compile(rb"\s{0,10}(\d{1,10})[ \t]{0,20}\r?\n")
_MARKED_UP = re.compile(r"<(?:br|p|a|div|span|b|ul|ol|li)\b[^<>]*>", re.IGNORECASE)
_SHORT = 200
"""A note so long stands in the line of what it is about, so that both are read together."""
_BLANK_LINES = re.compile(r"\n\s*\n")


def _holding(
    enclosures: Iterable[Enclosure], file: SourceFile, warnings: tuple[str, ...] = ()
) -> ParsedDocument:
    """Return the document of a file that says nothing but what the files within it say."""
    metadata, _ = text_metadata({}, Hints(path=file.path))
    return ParsedDocument(
        text="",
        media=file.media,
        metadata=metadata,
        enclosures=enclosures,
        warnings=warnings,
        parser_version=_PARSER,
    )


@dataclass(slots=True)
class _Found:
    """What a mail turns out to hold."""

    headers: Mapping[str, str]
    """As a person reads them; empty where there is none."""
    date: datetime | None
    facts: Sequence[str] = ()
    texts: list[str] = field(default_factory=list)
    enclosures: list[Enclosure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parts: int = 0
    is_cut: bool = False


def _mail(data: bytes, file: SourceFile) -> ParsedDocument:
    from email.parser import BytesParser

    message = BytesParser().parsebytes(_within_emlx(data) if _is_emlx(file.path) else data)
    headers = {name: _header(message, name) for name in (*_SHOWN, *_KEPT)}
    found = _Found(headers, moment_of(headers["Date"]))
    _take(message, found, found.date and found.date.astimezone(UTC), 0)
    return _document(found, file)


def _is_emlx(path: str) -> bool:
    return path.lower().endswith(".emlx")


def _within_emlx(data: bytes) -> bytes:
    """Return the mail in a file of Apple Mail: behind its length, before what is known of it."""
    if (told := _LENGTH.match(data)) is None:
        return data
    return data[told.end() : told.end() + int(told[1])]


def _of_outlook(data: bytes, file: SourceFile) -> ParsedDocument:
    """Return the document of a message of Outlook, which says more than the mail that it was."""
    from email.parser import HeaderParser

    try:
        told = read_message(data)
    except NoCompoundError as error:
        return _refused(file, SkipReason.UNREADABLE, str(error))
    except NoMessageError as error:
        return _refused(file, SkipReason.UNSUPPORTED, f"{error}; saved as .eml, it can be read")
    sent = HeaderParser().parsestr(told.transport)
    headers = {name: _header(sent, name) for name in (*_SHOWN, *_KEPT)}
    known = {name: _line(value) for name, value in {**told.headers, **told.kept}.items()}
    for name, value in known.items():
        # Within one company Outlook has names alone.
        if value and ("@" in value or "@" not in headers[name]):
            headers[name] = value
    date = told.date or moment_of(headers["Date"])
    created = date and date.astimezone(UTC)
    text = best_text(told.plain, text_of_html(told.marked))
    attached = [replace(each, created=created) for each in told.attached]
    return _document(_Found(headers, date, told.facts, [text], attached, [*told.warnings]), file)


def _refused(file: SourceFile, reason: str, detail: str) -> ParsedDocument:
    return ParsedDocument(text="", media=file.media, refused=(reason, detail))


def _document(found: _Found, file: SourceFile) -> ParsedDocument:
    headers = {name: found.headers[name] for name in _SHOWN}
    if found.date is not None:
        headers["Date"] = found.date.isoformat(" ", "seconds")
    headers["Attachments"] = ", ".join(each.name for each in found.enclosures)
    told = [f"{name}: {value}" for name, value in headers.items() if value]
    shown = "\n".join([*told, *found.facts])
    body = "\n\n".join(filter(None, (text.strip("\n") for text in found.texts)))
    lines = Lines("\n\n".join(filter(None, (shown, body))))
    return ParsedDocument(
        text=lines.text,
        media=file.media,
        metadata=_metadata(found, body, file),
        blocks=mail_blocks(lines, shown.count("\n") + 1 if shown else 0),
        enclosures=found.enclosures,
        warnings=tuple(dict.fromkeys(found.warnings)),
        parser_version=_PARSER,
    )


def _metadata(found: _Found, body: str, file: SourceFile) -> Metadata:
    subject, sender = found.headers["Subject"], found.headers["From"]
    title = subject or (f"Mail from {sender}" if sender else "")
    metadata, _ = text_metadata({}, Hints(path=file.path, heading=title, body=body))
    kept = {name.lower(): found.headers[name] for name in _KEPT if found.headers[name]}
    created = found.date.astimezone(UTC) if found.date is not None else metadata.created
    return replace(metadata, created=created, user={**metadata.user, **kept})


def _header(message: Message, name: str) -> str:
    """Return a header as a person reads it; what is not written as it should be, as it stands."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return _line(_readable(raw))


def _line(text: str) -> str:
    return nfc(" ".join(text.split()))[:_LONGEST_HEADER]


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
    if inner is not None:
        _take_parts(part, inner, found, date, depth)
    elif kind in SEALED:
        _take_sealed(part, kind, found, date, depth)
    else:
        _take_leaf(part, kind, found, date)


def _take_parts(
    part: Message, inner: list[Message], found: _Found, date: datetime | None, depth: int
) -> None:
    """Take in what is in a part."""
    from email.errors import CloseBoundaryNotFoundDefect

    kind = part.get_content_type()
    if any(isinstance(each, CloseBoundaryNotFoundDefect) for each in part.defects):
        found.warnings.append(_CUT)
    if kind == "multipart/encrypted":
        found.warnings.append(_ENCRYPTED)
    elif kind == "message/delivery-status":
        found.texts.append("\n".join(str(each).strip() for each in inner))
    elif kind == "message/rfc822" and inner:
        found.enclosures.append(_forwarded(part, inner[0], date))
    elif kind == "multipart/alternative":
        _take_best(inner, found, date, depth)
    else:
        for each in inner:
            _take(each, found, date, depth + 1)


def _take_sealed(
    part: Message, kind: str, found: _Found, date: datetime | None, depth: int
) -> None:
    """Take in what S/MIME signed as a whole, which is a mail without its head."""
    from email.parser import BytesParser

    data = _bytes(part)
    if (content := signed_content(data)) is not None:
        _take(BytesParser().parsebytes(content), found, date, depth + 1)
    elif is_encrypted(data):
        found.warnings.append(_ENCRYPTED)
    else:
        _take_leaf(part, kind, found, date)


def _take_leaf(part: Message, kind: str, found: _Found, date: datetime | None) -> None:
    if kind in {"text/plain", "text/html"} and not _is_attached(part):
        found.texts.append(_text(part, found))
    elif kind not in _SIGNATURES and ((data := _bytes(part)) or _is_attached(part)):
        name = _name(part, kind, len(found.enclosures))
        found.enclosures.append(Enclosure(name=name, data=data, created=date))


def _take_best(parts: list[Message], found: _Found, date: datetime | None, depth: int) -> None:
    """Take the plain text of several ways to say the same, or the one that says most."""
    texts = {each.get_content_type(): _text(each, found) for each in parts
             if not each.is_multipart()}  # fmt: skip
    best = best_text(texts.get("text/plain", ""), texts.get("text/html", ""))
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
    from email.errors import InvalidBase64LengthDefect

    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return b""
    is_broken = any(isinstance(each, InvalidBase64LengthDefect) for each in part.defects)
    return cut_base64(data) if is_broken else data


def _text(part: Message, found: _Found) -> str:
    """Return what a part of text shows."""
    data = _bytes(part)
    text = decoded_text(data, part.get_content_charset())
    if part.get_content_type() == "text/html":
        return text_of_html(text)
    text, is_locked = without_armour(text)
    if is_locked:
        found.warnings.append(_ENCRYPTED)
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    return unflowed(text, drops_blanks=str(part.get_param("delsp", "")).lower() == "yes")
