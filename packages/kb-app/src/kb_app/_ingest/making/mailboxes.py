"""Mailboxes (mbox): mails one after the other, each behind a line that says who it is from.

A mail is called by its ``Message-ID``, or else by what it says. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from kb_core.documents import Enclosure
from kb_core.ids import bytes_hash

__all__ = ["ENVELOPE", "is_mailbox", "mails_of", "moment_of"]

ENVELOPE = re.compile(rb"^From \S+ +([^\n]*\d\d:\d\d[^\n]*\d{4})[^\n]*\n", re.MULTILINE)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<?([^>\s]{1,300})", re.IGNORECASE | re.MULTILINE)


def is_mailbox(data: bytes, path: str) -> bool:
    """Say whether it is more than one mail that was saved with its envelope."""
    begun = (match.start() for match in ENVELOPE.finditer(data))
    mails = sum(at == 0 or _is_after_blank(data, at) for at in islice(begun, 100))
    return mails > 1 or not path.lower().endswith(".eml")


def mails_of(data: bytes) -> Iterator[Enclosure]:
    """Yield the mails of a mailbox; one begins after a blank line, with whom it is from."""
    begun: re.Match[bytes] | None = None
    for match in ENVELOPE.finditer(data):
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
    created = moment_of(envelope[1].decode("ascii", "replace"))
    return Enclosure(
        name=f"{name}.eml", data=mail, media="mail", created=created and created.astimezone(UTC)
    )


def moment_of(written: str) -> datetime | None:
    """Return the moment that a date of a mail is; ``None`` where it is none."""
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(written)
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, LookupError):
        return None
    return date
