"""What both channels propose: pools that do not depend on the page asked for.

When a channel cannot run, the other answers and ``degraded`` says why. With a deadline
the vector channel runs beside the lexical one and is waited for until the time is up; beside
it, too, where there are many vectors, which hold no lock while they are scanned.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from enum import IntFlag
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from kb_app._search.query import ParsedQuery
from kb_core.clock import to_epoch
from kb_core.dates import DateAsked, DateNamed, dates_in, without
from kb_core.errors import IndexCorrupt, InvalidInput, KbError, ModelMissing
from kb_core.filters import Filter, Range
from kb_core.media import SearchMode
from kb_core.search import LexicalQuery, Scored
from kb_core.text import WordPattern
from kb_core.values import dataclass, field, lazy_pattern, replace
from kb_search.analysis import cjk_runs, fold
from kb_search.fusion import Basis

if TYPE_CHECKING:
    from concurrent.futures import Future

    from kb_app._search.settings import SearchSettings
    from kb_core.ports import IndexSnapshot

__all__ = ["Channel", "Deadline", "Late", "Proposals", "Stopwatch", "dated", "is_working"]
__all__ += ["propose"]

_Result = TypeVar("_Result")

_WORD = WordPattern(r"[\w<signs>]+")
_LETTER = lazy_pattern(r"\w")
_SAYS_ENOUGH = 6
"""So many letters of a question are left at least without its dates, or it keeps them."""
_QUOTED_WORDS = 6
"""From so many words on a text that stands somewhere word for word is a quotation."""
_HEADED_WORDS = 2
"""From so many words on a heading is one passage's own: a title is its document's anyway."""
_COMPARED_ELSEWHERE = 20
"""So many of the nearest passages have more by words where they are in another language."""
_QUOTED_IN = 3
"""How many of the best passages by words are looked at for it."""
_ALL_BUT_WHOLE = 0.9
"""The share of a question's weight from which on a passage may have it word for word."""

_WORTH_WAITING_FOR = 50
"""So many of the best passages by words can come to the top once they have a vector."""

_MANY_VECTORS = 250_000
"""So many take some milliseconds, in which the engine looks for words beside it."""

_left_behind: set[threading.Thread] = set()


class Late(Exception):
    """The time was up before the work was done."""


class Deadline:
    """A moment after which nothing is waited for; without *millis*, there is none."""

    def __init__(self, millis: int | None) -> None:
        self.millis = millis
        self._until = None if millis is None else time.perf_counter() + millis / 1000

    def is_over(self) -> bool:
        """Say whether the time is up."""
        return self._until is not None and time.perf_counter() >= self._until

    def start(self, work: Callable[[], _Result], *, beside: bool = False) -> Callable[[], _Result]:
        """Start *work*; what is returned waits for its result, or raises ``Late``.

        Without a deadline the work is done by whoever asks for the result, unless it is to be
        done *beside* other work.
        """
        if self._until is None:
            return _beside(work) if beside else work
        from concurrent.futures import Future  # rarely needed, and not cheap to load

        future: Future[_Result] = Future()
        thread = threading.Thread(target=_fulfil, args=(future, work), daemon=True)
        thread.start()
        until = self._until

        def wait() -> _Result:
            try:
                return future.result(max(0.0, until - time.perf_counter()))
            except TimeoutError:
                if not future.done():
                    _left_behind.add(thread)
                    raise Late from None
                raise

        return wait


def is_working() -> bool:
    """Say whether work that was not waited for still runs in this process."""
    _left_behind.difference_update([t for t in _left_behind if not t.is_alive()])
    return bool(_left_behind)


def _beside(work: Callable[[], _Result]) -> Callable[[], _Result]:
    """Start *work* on a thread; what is returned waits for its result, or raises what it raised."""
    done: list[Callable[[], _Result]] = []

    def do() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            done.append(partial(_raise, error))
        else:
            done.append(lambda: result)

    thread = threading.Thread(target=do, name="kebab-nearest")
    thread.start()

    def wait() -> _Result:
        thread.join()
        return done[0]()

    return wait


def _raise(error: BaseException) -> NoReturn:
    raise error


def _fulfil(future: Future[_Result], work: Callable[[], _Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
        future.set_exception(error)


class Stopwatch:
    """Takes the time of stages that follow each other."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self._lap = self.started
        self.fusion_secs = 0.0
        self.read_secs = 0.0

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        now = time.perf_counter()
        spent, self._lap = now - self._lap, now
        return spent

    @property
    def total_secs(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.started


class Channel(IntFlag):
    """What can take part in a ranking; the numbers stand in cursors."""

    LEXICAL = 1
    VECTOR = 2
    RERANK = 4

    @property
    def label(self) -> str:
        """Its name in ``degraded`` and ``stages``."""
        return str(self.name).lower()

    @classmethod
    def of(cls, mode: SearchMode) -> Channel:
        """Return the channels of a mode."""
        return _OF_MODES[mode]


_NONE = Channel(0)
_OF_MODES = {
    SearchMode.LEXICAL: Channel.LEXICAL,
    SearchMode.VECTOR: Channel.VECTOR,
    SearchMode.HYBRID: Channel.LEXICAL | Channel.VECTOR,
}


@dataclass(slots=True)
class Proposals:
    """What the channels proposed, which of them ran, and how long that took in seconds."""

    lexical: Sequence[Scored] = ()
    vector: Sequence[Scored] = ()
    ran: Channel = _NONE
    late: Channel = _NONE
    """Those that the deadline left out."""
    basis: Basis = field(default_factory=Basis)
    """What fusion has to know beside the two lists."""
    lexical_secs: float = 0.0
    vector_secs: float = 0.0
    embed_secs: float = 0.0
    rerank_secs: float | None = None
    degraded: list[str] = field(default_factory=list)
    deeper: tuple[Sequence[Scored], Sequence[Scored]] = ((), ())
    """Both lists beyond the candidates, by words and by meaning, where they were asked for."""
    waiting: Sequence[int] = ()
    """The best chunks by words that have no vector, best first, where meaning was asked for."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the channels that ran."""
        return tuple(channel.label for channel in Channel if channel in self.ran)

    def leave_out(self, channel: Channel, deadline: Deadline) -> None:
        """Note that *channel* was not ready in time."""
        self.late |= channel
        reason = f"not ready within the deadline of {deadline.millis} ms"
        self.degraded.append(f"{channel.label}: {reason}")


def dated(
    parsed: ParsedQuery, snapshot: IndexSnapshot, now: int
) -> tuple[ParsedQuery, tuple[DateAsked, ...]]:
    """Return the dates that a query names and that some document is of, and the query for these.

    Of the periods that a date may mean it is the first that any document is of. What is
    embedded is without it then, unless hardly a word is left: in vectors all dates are alike.
    """
    named = dates_in(parsed.text, datetime.fromtimestamp(now).astimezone().date())
    if not named:
        return parsed, ()
    found = []
    with suppress(IndexCorrupt):  # whoever ranks says so
        known = [(each, _of_documents(each, parsed.text, snapshot)) for each in named]
        found = [(each, asked) for each, asked in known if asked is not None]
    if not found:
        return parsed, ()
    meant = without(parsed.text, [each for each, _ in found])
    if len(_LETTER.findall(meant)) >= _SAYS_ENOUGH:
        parsed = replace(parsed, meant=meant)
    return parsed, tuple(asked for _, asked in found)


def _of_documents(named: DateNamed, text: str, snapshot: IndexSnapshot) -> DateAsked | None:
    for first, last in named.periods:
        since, until = _midnight(first), _midnight(last + timedelta(1)) - 1
        if snapshot.count(Range("doc_date", since, until)):
            return DateAsked(text[named.start : named.end], since, until)
    return None


def _midnight(day: date) -> int:
    return to_epoch(datetime(day.year, day.month, day.day, tzinfo=UTC))


def propose(  # noqa: PLR0913 - the parts of one search
    snapshot: IndexSnapshot,
    parsed: ParsedQuery,
    where: Filter | None,
    pool: int,
    *,
    wanted: Channel,
    settings: SearchSettings,
    embed: Callable[[str], bytes],
    deadline: Deadline,
    depth: int = 0,
) -> Proposals:
    """Return at most *pool* candidates of every channel in *wanted* that can run.

    With *depth*, what comes after them down to it is kept as ``deeper``. ``ModelMissing`` where
    there is no channel but the one whose model is missing.
    """
    proposals, model_key = Proposals(), settings.model_key
    down_to = max(pool, depth)
    alone = Channel.LEXICAL not in wanted
    if alone and settings.absent is not None:
        raise settings.absent
    vectors = None
    if Channel.VECTOR in wanted and _has_vectors(snapshot, settings, proposals):
        vectors = deadline.start(
            lambda: _nearest(snapshot, parsed.meant, where, down_to, str(model_key), embed),
            beside=not alone and _are_many(snapshot, str(model_key)),
        )
    if Channel.LEXICAL in wanted:
        _add_words(proposals, snapshot, parsed, (where, down_to), alone=vectors is None)
    if vectors is not None:
        _add_vectors(proposals, vectors, deadline, alone=alone)
    if down_to > pool:
        proposals.deeper = proposals.lexical, proposals.vector
        proposals.lexical, proposals.vector = (found[:pool] for found in proposals.deeper)
    if proposals.lexical:
        proposals.basis = _basis(snapshot, parsed, proposals, model_key)
        if Channel.VECTOR in wanted and model_key is not None:
            proposals.waiting = _waiting(snapshot, proposals, model_key)
    return proposals


def _waiting(snapshot: IndexSnapshot, proposals: Proposals, model_key: str) -> list[int]:
    """Return the best chunks by words that have no vector yet, best first."""
    embedded, chunks = _embedded(snapshot, model_key)
    if embedded >= chunks:
        return []
    best = [row.chunk_key for row in proposals.lexical[:_WORTH_WAITING_FOR]]
    done = snapshot.with_vector(best, model_key)
    return [key for key in best if key not in done]


def _add_words(
    proposals: Proposals,
    snapshot: IndexSnapshot,
    parsed: ParsedQuery,
    among: tuple[Filter | None, int],
    *,
    alone: bool,
) -> None:
    started = time.perf_counter()
    try:
        proposals.lexical = snapshot.lexical(parsed.lexical, *among)
    except IndexCorrupt as error:
        if alone:
            raise
        proposals.degraded.append(f"lexical: {error} ({error.hint})")
        return
    proposals.lexical_secs = time.perf_counter() - started
    proposals.ran |= Channel.LEXICAL


def _basis(
    snapshot: IndexSnapshot, parsed: ParsedQuery, proposals: Proposals, model_key: str | None
) -> Basis:
    without: set[int] = set()
    if proposals.vector and model_key is not None and proposals.basis.coverage < 1:
        found = [row.chunk_key for row in proposals.lexical]
        without = set(found) - snapshot.with_vector(found, model_key)
    known = snapshot.known_words(parsed.lexical)
    if known.read_as:
        meant = snapshot.known_words(_as_read(parsed.lexical, dict(known.read_as)))
        known = replace(meant, read_as=known.read_as)
    best = proposals.lexical[0].score
    may_quote = bool(proposals.vector) and best >= _ALL_BUT_WHOLE * known.full_match
    elsewhere = None
    if proposals.vector and model_key is not None:
        near = [row.chunk_key for row in proposals.vector[:_COMPARED_ELSEWHERE]]
        elsewhere = snapshot.elsewhere(near, proposals.lexical[0].chunk_key, model_key)
    return replace(
        proposals.basis,
        lookup=may_quote and _is_quotation(snapshot, parsed.text, proposals.lexical),
        known=known,
        without_vector=without,
        elsewhere=elsewhere,
    )


def _as_read(query: LexicalQuery, read_as: Mapping[str, str]) -> LexicalQuery:
    """Return *query* with the words that are read in place of those that nothing holds."""
    within = [word for word in read_as if cjk_runs(word)]

    def meant(word: re.Match[str]) -> str:
        return read_as.get(fold(word[0]), word[0])

    def read(text: str) -> str:
        for word in within:  # what is written without spaces is no word of its own
            text = text.replace(word, f" {read_as[word]} ")
        return _WORD.of(text).sub(meant, text)

    return LexicalQuery(tuple(replace(clause, text=read(clause.text)) for clause in query.clauses))


def _is_quotation(snapshot: IndexSnapshot, text: str, found: Sequence[Scored]) -> bool:
    """Say whether one of the best passages by words is called *text*, or has it word for word."""
    asked = _plain(text)
    count = asked.count(" ") - 1
    for passage in snapshot.chunks([row.chunk_key for row in found[:_QUOTED_IN]]).values():
        headings = passage["heading_path"] if count >= _HEADED_WORDS else ()
        if asked in map(_plain, (passage["title"], *headings)):
            return True
        if count >= _QUOTED_WORDS and asked in _plain(passage["text"]):
            return True
    return False


def _plain(text: str) -> str:
    """Return the words of *text* with a blank around each."""
    return f" {' '.join(_WORD.of(text).findall(text.casefold()))} "


@dataclass(frozen=True, slots=True)
class _Nearest:
    found: Sequence[Scored]
    embed_secs: float
    secs: float


def _nearest(
    snapshot: IndexSnapshot,
    text: str,
    where: Filter | None,
    pool: int,
    model_key: str,
    embed: Callable[[str], bytes],
) -> _Nearest:
    from kb_search.embed.plain import without_plain  # not on the lexical path

    started = time.perf_counter()
    asked = embed(text)
    embedded = time.perf_counter()
    asked, above = without_plain(asked, model_key)
    found = snapshot.vector(asked, model_key, where, pool, above=above)
    return _Nearest(found, embedded - started, time.perf_counter() - embedded)


def _add_vectors(
    proposals: Proposals, vectors: Callable[[], _Nearest], deadline: Deadline, *, alone: bool
) -> None:
    try:
        nearest = vectors()
    except Late:
        proposals.leave_out(Channel.VECTOR, deadline)
        return
    except InvalidInput:
        raise  # what was asked is at fault, not the channel
    except KbError as error:
        if alone and isinstance(error, ModelMissing):
            raise
        proposals.degraded.append(f"vector: {error}")
        return
    proposals.vector = nearest.found
    proposals.embed_secs = nearest.embed_secs
    proposals.vector_secs = nearest.secs
    proposals.ran |= Channel.VECTOR


def _has_vectors(snapshot: IndexSnapshot, settings: SearchSettings, proposals: Proposals) -> bool:
    """Say whether there is anything to be near to, and note what is to be said of that."""
    model_key, absent = settings.model_key, settings.absent
    if absent is not None:
        proposals.degraded.append(f"vector: {absent} ({absent.hint})")
        return False
    if model_key is None:
        proposals.degraded.append("vector: switched off (embedding.model is 'none')")
        return False
    if wrong := snapshot.damage.get(model_key):
        proposals.degraded.append(f"vector: damaged: {wrong} (run 'kebab ingest', which mends it)")
        return False
    embedded, chunks = _embedded(snapshot, model_key)
    if chunks and not embedded:
        proposals.degraded.append("vector: no embeddings for this model yet (run 'kebab embed')")
    elif embedded < chunks:
        proposals.basis = Basis(coverage=embedded / chunks)
        proposals.degraded.append(
            f"vector: {embedded:,} of {chunks:,} passages have a vector, "
            "the others are found by words"
        )
    return bool(embedded)


def _are_many(snapshot: IndexSnapshot, model_key: str) -> bool:
    return _embedded(snapshot, model_key)[0] >= _MANY_VECTORS


def _embedded(snapshot: IndexSnapshot, model_key: str) -> tuple[int, int]:
    """Return how many chunks have a vector of the model, and how many there are."""
    return snapshot.control.embedded(model_key), int(snapshot.control.stats.get("chunk_count", 0))
