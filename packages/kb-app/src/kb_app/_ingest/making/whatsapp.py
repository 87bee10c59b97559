"""Conversations, as WhatsApp exports them: texts (``_chat.txt``, ``WhatsApp Chat with Ann.txt``).

A message begins with when it was written, in the order and signs of the telephone's language,
between brackets (iOS) or before a dash (Android), then who wrote it; lines that do not begin so
go on with it. What the program says itself, and where something was left out of the export, is no
message. Where what comes out of this changes, ``WHATSAPP`` is raised. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from kb_app._ingest.judging.decode import FileContent
from kb_core.values import lazy_pattern

__all__ = ["Message", "is_whatsapp", "messages_of"]

_LOOKED_AT, _LEAST = 65_536, 2
_STAMP = (
    r"(?P<a>\d{4}|\d\d?)(?P<sign>[./-] ?|年|년 )(?P<b>\d\d?)(?:[./-] ?|月|월 )(?P<c>\d{4}|\d\d?)"
    r"(?:\.|日|일)?(?:,|,? [a-zà-ÿ]{1,5}\.?)?\s"
    r"(?P<before>[^\W\d_]{2})?\s?(?P<hour>\d\d?)[:.](?P<minute>\d\d)"
)
_HALF = r"(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?"
_BEGINS = lazy_pattern(
    rf"(?:\u200e?\[{_STAMP}(?:[:.]\d\d)?{_HALF}\] )".replace("?P<", "?P<i_")
    + rf"|(?:{_STAMP}{_HALF}(?: - |, (?=[^:\n]{{1,60}} : )))"
)
_MAY_BEGIN = lazy_pattern(rb"(?:\xef\xbb\xbf)?[\r\n ]{0,9}(?:\xe2\x80\x8e)?\[?\d")
_SAID = lazy_pattern(r"(?P<who>[^:\n\"“„«]{1,60}?) ?: (?P<text>.*)", re.DOTALL)
_NO_SIGN = lazy_pattern("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_OMITTED = lazy_pattern(r"<[^<>\n]{3,60}>")
_EDITED = lazy_pattern(r"<[^\W\d_](?:[^<>@/: \n]{0,20} ){2,8}[^<>@/: \n]{1,20}>$")
_ATTACHED = lazy_pattern(
    r"(?:<[^<>:\n]{1,40}: )?([^<>:\n/]{1,200}\.\w{2,5})(?:>| \([^()\n]{1,40}\))"
)
_NAMELESS = lazy_pattern(r"[A-Z]{3}-\d{8}-WA\d+\.|\d{8}-[A-Z]+-")
"""What a file is called that has no name but its number."""
_LATER = frozenset({"오후", "下午", "午後"})
_NOON = _MONTHS = 12
_YEAR, _CENTURY = 4, 2000


class Message(NamedTuple):
    """What somebody wrote, and when, by the clock of the telephone."""

    who: str
    text: str
    when: datetime | None


def is_whatsapp(path: str, data: bytes) -> bool:
    """Say whether a text is such an export: by how it begins, and what is called a text."""
    if not path.lower().endswith(".txt") or not _MAY_BEGIN.match(data):
        return False
    head = FileContent(data[:_LOOKED_AT]).text
    if not (first := _BEGINS.match(head.lstrip("\ufeff\r\n "))):
        return False
    # Logs have brackets, too; only WhatsApp has marks of direction before what it says itself.
    if first[0].lstrip("\u200e").startswith("["):
        named = " ".join(path.rpartition("!/")[2].lower().split("/")[-2:])
        if "\u200e" not in head and "whatsapp" not in named and not named.endswith("_chat.txt"):
            return False
    begun = (match for line in head.split("\n") if (match := _BEGINS.match(line)))
    said = (match for match in begun if _SAID.match(match.string, match.end()))
    return sum(1 for _ in zip(said, range(_LEAST), strict=False)) == _LEAST


def messages_of(text: str) -> list[Message]:
    """Return what was said, in the order of the file."""
    begun = list(_begun(text))
    is_month_first = _is_month_first([match for match, _ in begun])
    return [
        each
        for match, said in begun
        if (each := _message(match, said, is_month_first=is_month_first))
    ]


def _begun(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield how each message begins, and all that it says."""
    last: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.lstrip("\ufeff").replace("\r\n", "\n").split("\n"):
        if match := _BEGINS.match(line):
            if last:
                yield last, "\n".join(lines)
            last, lines = match, [line[match.end() :]]
        else:
            lines.append(line)
    if last:
        yield last, "\n".join(lines)


def _message(match: re.Match[str], said: str, *, is_month_first: bool) -> Message | None:
    found = _SAID.match(said)
    if found is None:
        return None
    who = _NO_SIGN.sub("", found["who"]).strip().removeprefix("~").strip()
    text = found["text"]
    is_of_program = text.startswith("\u200e")
    text = _EDITED.sub("", _NO_SIGN.sub("", text)).strip()
    if attached := _ATTACHED.match(text):
        name = "" if _NAMELESS.match(attached[1]) else attached[1]
        text = f"{name}{text[attached.end() :]}".strip()
    elif is_of_program or _OMITTED.fullmatch(text):
        return None
    return Message(who, text, _moment(match, is_month_first=is_month_first)) if text else None


def _part(match: re.Match[str], name: str) -> str:
    return match[f"i_{name}"] or match[name] or ""


def _is_month_first(begun: Sequence[re.Match[str]]) -> bool:
    """Say whether dates have the month first, by what cannot be one, else by their order."""
    dates = [(int(_part(each, "a")), int(_part(each, "b"))) for each in begun]
    if any(first > _MONTHS for first, _ in dates):
        return False
    if any(second > _MONTHS for _, second in dates):
        return True
    years = [_part(each, "c").zfill(_YEAR) for each in begun]
    day_first = [(year, b, a) for year, (a, b) in zip(years, dates, strict=True)]
    month_first = [(year, a, b) for year, (a, b) in zip(years, dates, strict=True)]
    back = [sum(two < one for one, two in pairwise(each)) for each in (month_first, day_first)]
    if back[0] != back[1]:
        return back[0] < back[1]
    return any(_part(each, "sign") == "/" and _part(each, "half") in {"A", "P"} for each in begun)


def _moment(match: re.Match[str], *, is_month_first: bool) -> datetime | None:
    a, b, c = (_part(match, name) for name in "abc")
    year, month, day = (a, b, c) if len(a) == _YEAR else (c, a, b) if is_month_first else (c, b, a)
    hour, half = int(_part(match, "hour")), _part(match, "half").lower()
    if half or (before := _part(match, "before")) in _LATER | {"오전", "上午", "午前"}:
        is_later = half == "p" or (not half and before in _LATER)
        hour = hour % _NOON + (_NOON if is_later else 0)
    century = _CENTURY if len(year) < _YEAR else 0
    try:
        return datetime(
            int(year) + century, int(month), int(day), hour, int(_part(match, "minute")), tzinfo=UTC
        )
    except ValueError:
        return None
