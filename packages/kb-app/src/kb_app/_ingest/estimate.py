"""About how long a run would take, and what would read what: said before anything is opened.

Rates were measured on one core of a machine of today; what a file is like moves them by a
factor of a few, so the sum is an order, and is printed as one. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kb_app._ingest.plan import Wanted
from kb_app._ingest.settings import UNKNOWN
from kb_app._media import PHASES, later_of, parser_version

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["expected"]

_BYTES_A_SECOND = {"markdown": 300_000, "text": 300_000, "code": 1_000_000, "html": 2_000_000,
                   "mail": 1_000_000, "book": 1_000_000}  # fmt: skip
_USUAL_BYTES_A_SECOND = 1_000_000
_BYTES_A_PASSAGE = {"html": 2_500, "pdf": 6_000, "office": 30_000, "book": 2_000, "mail": 2_000}
_USUAL_BYTES_A_PASSAGE = 600
_PASSAGE_SECS = 0.06
_LATER_SECS = {"image": 2.0}
"""A file, in a later phase."""
_LATER_BYTES_A_SECOND = {"audio": 160_000, "video": 2_000_000}


def expected(
    wanted: Iterable[Wanted], workers: int, without: Iterable[str], *, embeds: bool
) -> tuple[types.IngestReportExpected, ...]:
    """Return a row for each medium: files, bytes, what reads them, and about how many seconds.

    *embeds* counts the vectors of their passages in; *without* are later phases left out.
    """
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for each in wanted:
        files[each.file.media] += 1
        sizes[each.file.media] += each.file.size
    left_out = set(without)
    return tuple(
        {
            "media": media,
            "files": count,
            "bytes": sizes[media],
            "parser": "what their bytes tell" if media == UNKNOWN else parser_version(media),
            "seconds": round(
                _reading_secs(media, sizes[media]) / max(1, min(workers, count))
                + _later_secs(media, count, sizes[media], left_out)
                + (_embedding_secs(media, count, sizes) if embeds else 0),
                1,
            ),
        }
        for media, count in files.most_common()
    )


def _reading_secs(media: str, size: int) -> float:
    return size / _BYTES_A_SECOND.get(media, _USUAL_BYTES_A_SECOND)


def _later_secs(media: str, count: int, size: int, left_out: set[str]) -> float:
    phases = (phase for phase in PHASES if phase not in left_out)
    if not any((later := later_of(media, phase)) and later.missing is None for phase in phases):
        return 0
    rate = _LATER_BYTES_A_SECOND.get(media)
    return size / rate if rate else count * _LATER_SECS.get(media, 0)


def _embedding_secs(media: str, count: int, sizes: Mapping[str, int]) -> float:
    if media in _LATER_SECS or media in _LATER_BYTES_A_SECOND:
        return count * _PASSAGE_SECS
    passages = max(count, sizes[media] // _BYTES_A_PASSAGE.get(media, _USUAL_BYTES_A_PASSAGE))
    return passages * _PASSAGE_SECS
