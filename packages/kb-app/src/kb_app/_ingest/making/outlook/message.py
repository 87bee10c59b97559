"""A message of Outlook: who says what to whom and when, and what is attached to it.

Storages and streams are those of [MS-OXMSG], numbers of properties those of [MS-OXPROPS]. A
message that is attached becomes a file of its own. An appointment, a task and a contact are
messages, too, with properties of their own ([MS-OXOCAL], [MS-OXOTASK], [MS-OXOCNTC]). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kb_app._ingest.making.compound import Storage, read_compound
from kb_app._ingest.making.compound_writing import Tree, tree_of, write_compound
from kb_app._ingest.making.outlook.cards import facts_of
from kb_app._ingest.making.outlook.properties import (
    NAMED,
    PROPERTIES,
    Names,
    Values,
    decoded,
)
from kb_app._ingest.making.outlook.rtf import text_of_rtf, unpacked
from kb_app._ingest.making.outlook.tnef import TNEF, message_of_tnef
from kb_app._ingest.making.sealed_mail import SEALED, signed_content
from kb_core.documents import Enclosure

__all__ = ["Message", "NoMessageError", "read_message"]

_RECEIVER, _ATTACHMENT = "__recip_version1.0_#", "__attach_version1.0_#"
_SUBJECT, _CLASS, _TRANSPORT = 0x0037, 0x001A, 0x007D
_NAME, _ADDRESS, _SMTP, _OF_KIND = 0x3001, 0x3003, 0x39FE, 0x0C15
_SENDER, _SENDER_ADDRESSES = (0x0C1A, 0x0042), (0x5D01, 0x5D02, 0x0C1F, 0x0065)
_TO, _CC = 0x0E04, 0x0E03
_KIND_TO, _KIND_CC = 1, 2
_SENT, _DELIVERED = 0x0039, 0x0E06
_BODY, _HTML, _RTF = 0x1000, 0x1013, 0x1009
_MESSAGE_ID, _IN_REPLY_TO, _REPLY_TO = 0x1035, 0x1042, 0x0050
_DATA, _LONG_NAME, _SHORT_NAME, _MIME = 0x3701, 0x3707, 0x3704, 0x370E
_INNER = "__substg1.0_3701000D"
_HEADER_OF_INNER, _HEADER_OF_WHOLE = 24, 32
_MOST_ATTACHED = 2_000
_MOST_NAMES = 20_000_000
"""So many bytes of names of properties are copied into messages that are attached."""


class NoMessageError(ValueError):
    """The bytes are no message; the message says what is wrong with them."""


@dataclass(slots=True, kw_only=True)
class Message:
    """What a message says of itself, in it, and in what is attached."""

    headers: Mapping[str, str]
    """``Subject``, ``From``, ``To``, ``Cc``; empty where it has none."""
    kept: Mapping[str, str]
    """``message-id`` and others that mails have."""
    date: datetime | None
    transport: str
    """The headers of the mail that it came as."""
    facts: Sequence[str]
    """Such as ``Where: Room 7``, of what is no mail."""
    plain: str
    marked: str
    """The text as HTML."""
    attached: Sequence[Enclosure]
    warnings: Sequence[str]


def read_message(data: bytes) -> Message:
    """Return the message in a compound file, or in what a mail has as ``winmail.dat``.

    Raise ``NoCompoundError`` where it is none, ``NoMessageError`` where no message is in it.
    """
    root = read_compound(message_of_tnef(data) if data.startswith(TNEF) else data)
    if PROPERTIES not in root:
        raise NoMessageError("it is no message of Outlook")
    values = Values(root, "message")
    kept = {"message-id": _MESSAGE_ID, "in-reply-to": _IN_REPLY_TO, "reply-to": _REPLY_TO}
    plain, marked = _texts(values)
    attached, warnings = _attached(root, values)
    kind = values.text(_CLASS).upper()
    return Message(
        headers={"Subject": values.text(_SUBJECT), **_people(root, values)},
        kept={name: values.text(number) for name, number in kept.items()},
        date=values.moment(_SENT, _DELIVERED),
        transport=values.text(_TRANSPORT),
        facts=facts_of(kind, values, Names(root.storage(NAMED))),
        plain=plain,
        marked=marked,
        attached=attached,
        warnings=warnings,
    )


def _people(root: Storage, values: Values) -> dict[str, str]:
    """Return who a message is from and to, as mails write it."""
    addresses = (values.text(number) for number in _SENDER_ADDRESSES)
    found: dict[int | None, list[str]] = {}
    for each in _parts(root, _RECEIVER):
        one = Values(each, "part", values.charset)
        told = _person(one.text(_NAME), [one.text(_SMTP), one.text(_ADDRESS)])
        found.setdefault(one.number(_OF_KIND), []).append(told)
    return {
        "From": _person(values.text(*_SENDER), addresses),
        "To": ", ".join(filter(None, found.get(_KIND_TO, ()))) or values.text(_TO),
        "Cc": ", ".join(filter(None, found.get(_KIND_CC, ()))) or values.text(_CC),
    }


def _person(name: str, addresses: Iterator[str] | Sequence[str]) -> str:
    """Return a name with the first address that mails can be sent to."""
    address = next((each.strip() for each in addresses if "@" in each and each[0] != "/"), "")
    name = " ".join(name.split()).strip("'\"")
    if not address or address.lower() in name.lower():
        return name or address
    return f"{name} <{address}>" if name else address


def _texts(values: Values) -> tuple[str, str]:
    """Return the text of a message, and what it is in HTML, as far as there is either."""
    plain = values.text(_BODY)
    charset = values.internet_charset
    marked = decoded(values.binary(_HTML), charset) or values.text(_HTML)
    if plain.strip() or marked.strip():
        return plain, marked
    told, is_html = text_of_rtf(unpacked(values.binary(_RTF)))
    return ("", told) if is_html else (told, "")


def _parts(root: Storage, name: str) -> list[Storage]:
    return [each for each in root.storages() if each.name.lower().startswith(name)]


def _attached(root: Storage, values: Values) -> tuple[list[Enclosure], list[str]]:
    found, warnings = list[Enclosure](), list[str]()
    storages = _parts(root, _ATTACHMENT)
    names = tree_of(root.storage(NAMED) or Storage())
    size = sum(len(each) for each in names.values() if isinstance(each, bytes))
    if size * len(storages) > _MOST_NAMES:
        names = {}
    if len(storages) > _MOST_ATTACHED:
        warnings.append(f"more than {_MOST_ATTACHED:,} attachments: cut off")
    for number, storage in enumerate(storages[:_MOST_ATTACHED], 1):
        one = Values(storage, "part", values.charset)
        inner = storage.storage(_INNER)
        if inner is None:
            found.append(_file(one, number))
        elif PROPERTIES in inner:
            found.append(_message(one, inner, names))
        else:
            name = one.text(_LONG_NAME, _SHORT_NAME, _NAME) or f"attachment-{number}"
            warnings.append(f"{name} is not indexed: it is an object of another program")
    return found, warnings


def _file(one: Values, number: int) -> Enclosure:
    from mimetypes import guess_extension  # hardly any attachment has no name

    mime = one.text(_MIME).strip().lower()
    name = one.text(_LONG_NAME, _SHORT_NAME, _NAME).strip()
    media = None
    data = one.binary(_DATA)
    content = signed_content(data) if mime in SEALED else None
    if mime == "multipart/signed" or content:  # what was signed is a mail as it was sent
        name, media = f"{name.rpartition('.')[0] or 'signed'}.eml", "mail"
    name = name or f"attachment-{number}{guess_extension(mime) or ''}"
    return Enclosure(name=name, data=content or data, media=media)


def _message(one: Values, inner: Storage, names: Tree) -> Enclosure:
    """Return a message that is attached as a file of its own, as Outlook would save it."""
    tree = tree_of(inner)
    head = inner.stream(PROPERTIES)
    padding = bytes(_HEADER_OF_WHOLE - _HEADER_OF_INNER)
    tree[PROPERTIES] = head[:_HEADER_OF_INNER] + padding + head[_HEADER_OF_INNER:]
    tree[NAMED] = names
    title = one.text(_NAME).strip() or Values(inner, "message").text(_SUBJECT) or "message"
    name = f"{title.removesuffix('.eml').removesuffix('.msg')}.msg"
    return Enclosure(name=name, data=write_compound(tree), media="mail")
