"""Metadata from the values of front matter, the text, and the file's name.

Each known key is read by itself: a value of a wrong type or meaning costs that value and
a warning. Unknown keys are kept under ``user``, cut down to what JSON can say. The title
is that of the front matter, else the first heading, else the first line, else the
file's stem.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from kb_app._ingest.meta.dates import date_in_name, parse_date
from kb_app._ingest.meta.language import UNDETERMINED, detect_language
from kb_core.documents import Metadata
from kb_core.media import TrustLevel
from kb_core.text import nfc

__all__ = ["Origin", "code_metadata", "text_metadata"]

_TITLE_MAX = 200
_FIRST_LINE_MAX = 80
_LIST_MAX = 200
_USER_VALUES_MAX = 2_000
_USER_DEPTH_MAX = 12
_USER_TEXT_MAX = 4_000
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")
_FIRST_LINE = re.compile(r"\S[^\n]{0,1000}")
_MARKUP = re.compile(r"^[\s#>*+=|~`_-]+|[\s#*=|~`_]+$")

_LISTS = {"tags": "tags", "tag": "tags", "keywords": "tags", "aliases": "aliases",
          "alias": "aliases"}  # fmt: skip
_DATES = {"created": "created", "date": "created", "updated": "updated", "modified": "updated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where else a title, a date or a language may come from."""

    path: str
    heading: str = ""
    body: str = ""
    """The text without its front matter."""


def code_metadata(path: str) -> Metadata:
    """Return what is known of a file of code: its name, and no language."""
    return Metadata(title=path[path.rfind("/") + 1 :], name_date=date_in_name(path))


def text_metadata(values: Mapping[str, object], origin: Origin) -> tuple[Metadata, list[str]]:
    """Return a document's metadata, and a warning for each value that was wrong."""
    reader = _Reader(values)
    title = reader.line("title")
    lang = reader.language()
    metadata = Metadata(
        title=title or _title_of(origin),
        aliases=reader.words("aliases", separators=","),
        tags=tuple(tag.lstrip("#") for tag in reader.words("tags", separators=r",\s")),
        lang=lang or (detect_language(origin.body) if origin.body else UNDETERMINED),
        created=reader.date("created"),
        updated=reader.date("updated"),
        name_date=date_in_name(origin.path),
        source_type=reader.line("source_type"),
        trust_level=reader.trust_level(),
        user=reader.rest(),
    )
    return metadata, reader.warnings


class _Reader:
    """Takes known keys out of the values of a front matter, whatever their case."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = {_key(key): value for key, value in values.items()}
        self._names = {_key(key): key for key in values}
        self.warnings: list[str] = []

    def line(self, key: str) -> str | None:
        value = self._values.pop(key, None)
        if isinstance(value, int | float | date | time) and not isinstance(value, bool):
            value = str(value)
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
            self.warnings.append(f"front matter: {name}: {str(value)[:60]!r} is not {expected}")


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _word(value: object) -> str | None:
    """Return *value* as one word of a list, ``None`` if it cannot be one."""
    if isinstance(value, int | float | date) and not isinstance(value, bool):
        value = str(value)
    return nfc(" ".join(value.split()))[:_TITLE_MAX] if isinstance(value, str) else None


def _title_of(origin: Origin) -> str:
    if origin.heading:
        return origin.heading[:_TITLE_MAX]
    if first := _FIRST_LINE.search(origin.body):
        line = _MARKUP.sub("", first[0]).strip() or first[0].strip()
        return nfc(" ".join(line.split()))[:_FIRST_LINE_MAX].rstrip()
    name = origin.path[origin.path.rfind("/") + 1 :]
    return name.rpartition(".")[0] or name


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
            str(key)[:_TITLE_MAX]: _plain_json(item, budget, depth + 1)
            for key, item in list(value.items())[:_LIST_MAX]
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain_json(item, budget, depth + 1) for item in list(value)[:_LIST_MAX]]
    return _scalar(value)


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
