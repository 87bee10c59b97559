"""What somebody said of hits, in a journal, and the golden questions that come of it.

Nothing here changes a ranking. What is said again of the same query and passage takes the
place of what was said before; a line goes when its id is deleted, and all go with the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._evals.binding import bind
from kb_app._evals.cases import fresh_id
from kb_app._lines import LinesFile
from kb_app.wire_models import FilteredInput, read
from kb_core import wire
from kb_core.errors import InvalidInput, IoError
from kb_core.evals import EvalCase, ExpectedPlace
from kb_core.ids import fingerprint
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._queries import SearchedHit
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["LONGEST_NOTE", "Proposal", "Said", "said_of"]

LONGEST_NOTE = 2_000
"""Characters."""

_ID_DIGITS = 8
_TEXTS = ("feedback_id", "verdict", "query", "citation", "source_id", "chunk_id", "quote")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A golden question that feedback speaks for, to be looked at by a person."""

    case: EvalCase
    """With the passages that were said to answer, as they stand."""
    bad: tuple[str, ...] = ()
    """What was said not to answer it, by URI."""
    gone: tuple[str, ...] = ()
    """What was said to answer, and is not there any more."""
    notes: tuple[str, ...] = ()


class Said:
    """What was said, in the journal at *path*, there yet or not; ``IoError`` if unreadable."""

    def __init__(self, path: Path) -> None:
        self._file: LinesFile[types.Feedback] = LinesFile(path, _row)
        self._path = path

    def add(self, said: types.Feedback) -> types.Feedback:
        """Keep one line."""
        with self._errors():
            return self._file.append(lambda _: said)

    def kept(self) -> types.FeedbackList:
        """Return feedback_list.v1: what counts, the newest first."""
        with self._errors():
            lines = self._file.read()
        rows: dict[str, types.Feedback] = {}
        for row in reversed(lines.rows):
            rows.setdefault(row["feedback_id"], row)
        torn = ["what was said last was not written to the end, and is left out"]
        damaged = [f"lines of the journal of feedback that cannot be read: {lines.damaged}"]
        warnings = [*(damaged if lines.damaged else ()), *(torn if lines.is_torn else ())]
        return wire.feedback_list(rows.values(), warnings)

    def delete(self, ids: Sequence[str] | None) -> types.FeedbackList:
        """Delete what has these ids, or all there is; return what that was.

        ``InvalidInput`` for an id that is none, and then nothing is deleted.
        """
        kept = self.kept()
        known = {row["feedback_id"]: row for row in kept["items"]}
        for one in ids or ():
            if one not in known:
                raise InvalidInput(
                    f"there is no feedback {one!r}",
                    hint="kebab feedback list",
                    details={"field": "id", "value": one},
                )
        with self._errors():
            if ids is None:
                self._file.delete()
            else:
                self._file.drop(lambda line: self.has_id(line, ids))
        return wire.feedback_list(known.values() if ids is None else [known[one] for one in ids])

    def lines(self) -> list[bytes]:
        """Return the lines as they are, damaged ones too."""
        with self._errors():
            return self._file.lines()

    def drop(self, is_one: Callable[[bytes], bool]) -> None:
        """Take out the lines that *is_one* says."""
        with self._errors():
            self._file.drop(is_one)

    def has_id(self, line: bytes, ids: Collection[str]) -> bool:
        """Say whether a line was given one of these ids."""
        row = self._file.row(line)
        return row is not None and row["feedback_id"] in ids

    def proposals(
        self, snapshot: IndexSnapshot, cases: Collection[EvalCase]
    ) -> Generator[Proposal, None, None]:
        """Yield a golden question for each query with a passage that was said to answer it.

        Of those that are among *cases* already, with that query and filters, none.
        """
        asked = {_key(case.query, case.filters.given()) for case in cases}
        rows: dict[str, list[types.Feedback]] = {}
        for row in reversed(self.kept()["items"]):
            rows.setdefault(_key(row["query"], row.get("filters", {})), []).append(row)
        taken = {case.id for case in cases}
        for key, said in rows.items():
            if key not in asked and any(row["verdict"] == "good" for row in said):
                proposal = _proposal(snapshot, said, taken)
                taken.add(proposal.case.id)
                yield proposal

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise IoError(
                f"the journal of feedback cannot be used: {error.strerror or error}",
                details={"path": str(self._path)},
            ) from error


def said_of(  # noqa: PLR0913 - what is said of a hit
    hit: SearchedHit,
    *,
    query: str,
    mode: str,
    filters: Mapping[str, Any],
    verdict: str,
    note: str | None,
    said_by: str,
    now: datetime,
) -> types.Feedback:
    """Return feedback.v1 of a hit; ``InvalidInput`` for a note that is too long."""
    if note is not None and len(note) > LONGEST_NOTE:
        raise InvalidInput(
            f"the note has {len(note):,} characters, of {LONGEST_NOTE:,}",
            details={"field": "note", "max": LONGEST_NOTE},
        )
    known = _key(query, filters)
    return wire.feedback(
        {
            "feedback_id": fingerprint([known, hit["chunk_id"]])[:_ID_DIGITS],
            "verdict": verdict,
            "query": query,
            "mode": mode,
            "filters": dict(filters) or None,
            "rank": hit["rank"] or None,
            "citation": hit["uri"],
            **{name: hit[name] for name in ("source_id", "doc_id", "chunk_id", "content_hash")},
            "quote": hit["quote"],
            "note": note or None,
            "said_by": said_by,
            "created_at": now,
        }
    )


def _key(query: str, filters: Mapping[str, Any]) -> str:
    return fingerprint([" ".join(query.split()), filters])


def _row(value: Any) -> types.Feedback | None:  # noqa: ANN401 - whatever a line holds
    is_ours = isinstance(value, dict) and value.get("schema_version") == "feedback.v1"
    return value if is_ours and all(isinstance(value.get(n), str) for n in _TEXTS) else None


def _proposal(
    snapshot: IndexSnapshot, said: Sequence[types.Feedback], taken: Collection[str]
) -> Proposal:
    good = [row for row in said if row["verdict"] == "good"]
    query, filters = good[-1]["query"], good[-1].get("filters", {})
    case = EvalCase(
        id=fresh_id(query, taken),
        query=query,
        expected_places=tuple(map(_place, good)),
        filters=read(FilteredInput, dict(filters)).to_filters(),
    )
    targets = bind(snapshot, case).targets
    places = tuple(
        place
        for place, target in zip(case.expected_places, targets, strict=True)
        if target.status != "gone"
    )
    return Proposal(
        case=EvalCase(id=case.id, query=query, expected_places=places, filters=case.filters),
        bad=tuple(row["citation"] for row in said if row["verdict"] == "bad"),
        gone=tuple(target.expected for target in targets if target.status == "gone"),
        notes=tuple(row["note"] for row in said if "note" in row),
    )


def _place(row: types.Feedback) -> ExpectedPlace:
    return ExpectedPlace(
        uri=row["citation"],
        source=row["source_id"],
        content_hash=row.get("content_hash"),
        quote=row["quote"],
    )
