"""Metadata: what a document says of itself, in front matter, in its text and by its name.

Each known key is read by itself: a value of a wrong type or meaning costs that value and
a warning. Unknown keys are kept under ``user``, cut down to what JSON can say.

The title is that of the front matter, else a heading that opens the text, else the file's
name, as a person would write it: ``daily_notes.md`` and ``daily-notes.md`` are *daily notes*.
Only what has no name is called by its first line. Tags are those of the front matter and
those in the text.

``parse_date`` reads ISO 8601 and its common relatives, never a form in which day and
month could be confused. A date without a time is midnight, a time without a zone is UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time

from kb_app._ingest.making.languages import detect_language
from kb_core.documents import Metadata
from kb_core.media import TrustLevel
from kb_core.text import nfc
from kb_core.values import dataclass, lazy_pattern

__all__ = ["Hints", "code_metadata", "date_in_name", "parse_date"]
__all__ += ["plain_key", "text_metadata"]

_TITLE_MAX = 200
_FIRST_LINE_MAX = 80
_LIST_MAX = 200
_USER_VALUES_MAX = 2_000
_USER_DEPTH_MAX = 12
_USER_TEXT_MAX = 4_000
_LANGUAGE = lazy_pattern(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")
_FIRST_LINE = lazy_pattern(r"\S[^\n]{0,1000}")
_HYPHEN = lazy_pattern(r"(?<!\d)-|-(?!\d)")
_MARKUP = lazy_pattern(r"^[\s#>*+=|~`_-]+|[\s#*=|~`_]+$")

_LISTS = {"tags": "tags", "tag": "tags", "keywords": "tags", "aliases": "aliases",
          "alias": "aliases"}  # fmt: skip
_DATES = {"created": "created", "date": "created", "updated": "updated", "modified": "updated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Where else a title, a date or a language may come from."""

    path: str
    heading: str = ""
    """A heading that opens the text."""
    tags: tuple[str, ...] = ()
    """Those in the text."""
    body: str = ""
    """The text without its front matter."""


def code_metadata(path: str) -> Metadata:
    """Return what is known of a file of code: its name, and no language."""
    return Metadata(title=path[path.rfind("/") + 1 :], name_date=date_in_name(path))


def text_metadata(values: Mapping[str, object], hints: Hints) -> tuple[Metadata, list[str]]:
    """Return a document's metadata, and a warning for each value that was wrong."""
    reader = _Reader(values)
    title = reader.line("title")
    lang = reader.language()
    metadata = Metadata(
        title=title or _title_of(hints),
        aliases=reader.words("aliases", separators=","),
        tags=_tags(reader, hints.tags),
        lang=lang or detect_language(hints.body),
        created=reader.date("created"),
        updated=reader.date("updated"),
        name_date=date_in_name(hints.path),
        source_type=reader.line("source_type"),
        trust_level=reader.trust_level(),
        user=reader.rest(),
    )
    return metadata, reader.warnings


class _Reader:
    """Takes known keys out of the values of a front matter, whatever their case."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = {plain_key(key): value for key, value in values.items()}
        self._names = {plain_key(key): key for key in values}
        self.warnings: list[str] = []

    def line(self, key: str) -> str | None:
        value = self._values.pop(key, None)
        if isinstance(value, int | float | date | time) and not isinstance(value, bool):
            value = _as_text(value)
        if isinstance(value, str):
            return nfc(" ".join(value.split()))[:_TITLE_MAX] or None
        self._wrong(key, value, "text")
        return None

    def words(self, kind: str, *, separators: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for key in [key for key, name in _LISTS.items() if name == kind]:
            value = self._values.pop(key, None)
            parts = re.split(f"[{separators}]+", value) if isinstance(value, str) else value
            for part in parts if isinstance(parts, list) else [parts]:
                word = _word(part)
                if word:
                    found[word] = None
                elif word is None:
                    self._wrong(key, part, "a word or a list of words")
        return tuple(found)[:_LIST_MAX]

    def language(self) -> str | None:
        value = self._values.pop("lang", None) or self._values.pop("language", None)
        self._values.pop("language", None)
        if isinstance(value, str) and (match := _LANGUAGE.fullmatch(value.strip())):
            return match[1].lower()
        self._wrong("lang", value, "a language code")
        return None

    def date(self, kind: str) -> datetime | None:
        found = None
        for key in [key for key, name in _DATES.items() if name == kind]:
            value = self._values.pop(key, None)
            moment = parse_date(value)
            if moment is None:
                self._wrong(key, value, "a date")
            found = found or moment
        return found

    def trust_level(self) -> str | None:
        value = self._values.pop("trust_level", None)
        if isinstance(value, str) and value.strip().lower() in set(TrustLevel):
            return value.strip().lower()
        self._wrong("trust_level", value, f"one of {', '.join(TrustLevel)}")
        return None

    def rest(self) -> dict[str, object]:
        budget = _Budget(_USER_VALUES_MAX)
        return {
            self._names[key][:_TITLE_MAX]: _plain_json(value, budget)
            for key, value in self._values.items()
            if key in self._names
        }

    def _wrong(self, key: str, value: object, expected: str) -> None:
        if value is not None:
            name = self._names.get(key, key)
            self.warnings.append(
                f"front matter: {name}: {_as_text(value)[:60]!r} is not {expected}"
            )


def plain_key(name: str) -> str:
    """Return a key of front matter as it is compared: without case, and with ``_``."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _word(value: object) -> str | None:
    """Return *value* as one word of a list, ``None`` if it cannot be one."""
    if isinstance(value, int | float | date) and not isinstance(value, bool):
        value = _as_text(value)
    return nfc(" ".join(value.split()))[:_TITLE_MAX] if isinstance(value, str) else None


def _tags(reader: _Reader, inline: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of the front matter, then those in the text that are not among them."""
    given = (tag.lstrip("#") for tag in reader.words("tags", separators=r",\s"))
    found: dict[str, str] = {}
    for tag in (*given, *inline):
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())[:_LIST_MAX]


def _title_of(hints: Hints) -> str:
    if hints.heading:
        return hints.heading[:_TITLE_MAX]
    if name := _name_of(hints.path):
        return name
    first = _FIRST_LINE.search(hints.body)
    if first is None:
        return ""
    line = _MARKUP.sub("", first[0]).strip() or first[0].strip()
    return nfc(" ".join(line.split()))[:_FIRST_LINE_MAX].rstrip()


def _name_of(path: str) -> str:
    """Return the name of a file without its extension, its words parted by spaces."""
    name = path[path.rfind("/") + 1 :]
    stem = name.rpartition(".")[0] or name
    words = stem if " " in stem else stem.replace("_", " ")
    if " " not in stem and stem == stem.lower():
        words = _HYPHEN.sub(" ", words)  # not in a date, nor in UTF-8 or Rolls-Royce
    return " ".join(words.split())[:_TITLE_MAX] or stem[:_TITLE_MAX]


class _Budget:
    """How many values may still be kept: aliases can make a small block a huge tree."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _plain_json(value: object, budget: _Budget, depth: int = 0) -> object:
    """Return *value* in the types of JSON; what is too deep or too much becomes ``None``."""
    if not budget.take() or depth > _USER_DEPTH_MAX:
        return None
    if isinstance(value, Mapping):
        return {
            _as_text(key)[:_TITLE_MAX]: _plain_json(item, budget, depth + 1)
            for key, item in list(value.items())[:_LIST_MAX]
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain_json(item, budget, depth + 1) for item in list(value)[:_LIST_MAX]]
    return _scalar(value)


def _as_text(value: object) -> str:
    """Return *value* as a text, a number of more digits than Python prints as well."""
    try:
        return str(value)
    except ValueError:
        return hex(value) if isinstance(value, int) else f"a {type(value).__name__}"


def _scalar(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else hex(value)[:_TITLE_MAX]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("latin-1")[:_USER_TEXT_MAX]
    return str(value)[:_USER_TEXT_MAX]


_ISO = lazy_pattern(
    r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?|(\d{2})(\d{2}))?"
    r"(?:[T ]+(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,]\d{1,9})?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_IN_NAME = lazy_pattern(
    r"(?<!\d)(\d{4})(?:([-_.])(\d{2})(?:\2(\d{2}))?|(\d{2})(\d{2}))(?!\d)", re.ASCII
)
_YEARS = range(1900, 2200)
_LONGEST = 64


def parse_date(value: object) -> datetime | None:
    """Return the instant that *value* names, in UTC, or ``None``."""
    if isinstance(value, datetime):
        return _in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**8:
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    match = _ISO.fullmatch(value.strip())
    if match is None:
        return None
    year, _, month, day, short_month, short_day, hour, minute, second, zone = match.groups()
    months, days = month or short_month or 1, day or short_day or 1
    clock = (int(hour or 0), int(minute or 0), int(second or 0))
    return _instant((int(year), int(months), int(days), *clock), zone)


def date_in_name(path: str) -> datetime | None:
    """Return the date that the file's name starts with: a day or a month.

    ``2026-05-10 plan.md``, ``20260510.md`` and ``2026-05.md`` have one; a bare year may
    be any number, so it counts for nothing.
    """
    match = _IN_NAME.match(path[path.rfind("/") + 1 :])
    if match is None:
        return None
    year, _, month, day, short_month, short_day = match.groups()
    if int(year) not in _YEARS:
        return None
    return _instant((int(year), int(month or short_month), int(day or short_day or 1), 0, 0, 0))


def _instant(
    fields: tuple[int, int, int, int, int, int], zone: str | None = None
) -> datetime | None:
    try:
        moment = datetime(*fields, tzinfo=UTC)
    except ValueError:
        return None
    if zone is None or zone.upper() in {"Z", "UTC"}:
        return moment
    sign = zone[0] + zone[1:].replace(":", "")
    try:
        return _in_utc(datetime.strptime(f"{moment:%Y%m%d%H%M%S}{sign}", "%Y%m%d%H%M%S%z"))
    except ValueError:
        return None


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # a zone may lead out of the calendar
        return None
