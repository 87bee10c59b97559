"""Progress of long work: one line that is drawn over, or plain lines now and then.

What a person needs to see that nothing is stuck: how far, how fast, how long still;
and, while one file takes long, which one, what is being done to it and for how many
seconds (lesson 38).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kb_cli._text import count, duration, printable, shorten, terminal_width

if TYPE_CHECKING:
    from kb_core.ingest import IngestEvent

__all__ = ["Progress"]

_ERASE = "\r\x1b[2K"
_CELLS = 12
_PATH_COLUMNS = 36
_PLAIN_EVERY_S = 5.0
_DRAW_EVERY_S = 0.1
_MINUTE = 60


@dataclass(slots=True)
class _Stage:
    """A part of the work with an end: indexing files, embedding chunks."""

    verb: str
    noun: str
    since: float
    before: int = 0
    """How many were done when it began to be watched; not part of its speed."""
    done: int = 0
    total: int = 0
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    """A file that is being worked on."""

    path: str
    phase: str
    since: float


class Progress:
    """Turns events into what ``write`` puts on stderr. Any thread may ``refresh``."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        is_live: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._is_live = is_live
        self._clock = clock
        self._lock = threading.Lock()
        self._stage: _Stage | None = None
        self._running: dict[str, _Running] = {}
        self._scanning = ""
        self._drawn_at = float("-inf")
        self._is_drawn = False

    def show(self, event: IngestEvent) -> None:
        """Take an event in; draw if there is something new and it is time to."""
        with self._lock:
            take = getattr(self, f"_on_{event.kind}", None)
            is_new = take is not None and bool(take(event.data))
            pause = _DRAW_EVERY_S if self._is_live else _PLAIN_EVERY_S
            if is_new or self._clock() - self._drawn_at >= pause:
                self._draw()

    def refresh(self) -> None:
        """Draw the line again, with the time that has passed."""
        with self._lock:
            self._draw()

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._is_live and self._is_drawn:
                self._write(_ERASE)
                self._is_drawn = False

    def _on_scan_started(self, data: Any) -> bool:  # noqa: ANN401 - an event's data
        self._scanning = str(data.get("root") or data.get("source_id") or "")
        return True

    def _on_scan_completed(self, data: Any) -> bool:  # noqa: ANN401
        self._scanning = ""
        if total := int(data.get("candidates", 0)):
            self._stage = _Stage("indexing", "file", self._clock(), total=total)
        return total > 0

    def _on_asset_started(self, data: Any) -> bool:  # noqa: ANN401
        path = str(data.get("doc_path", ""))
        self._running[path] = _Running(path, "", self._clock())
        return False

    def _on_asset_phase(self, data: Any) -> bool:  # noqa: ANN401
        path = str(data.get("doc_path", ""))
        begun = self._running.get(path)
        since = begun.since if begun else self._clock()
        self._running[path] = _Running(path, str(data.get("phase", "")), since)
        return False

    def _on_asset_finished(self, data: Any) -> bool:  # noqa: ANN401
        self._running.pop(str(data.get("doc_path", "")), None)
        return self._advance("indexing", "file", data)

    def _on_embed_batch_finished(self, data: Any) -> bool:  # noqa: ANN401
        self._running.clear()
        return self._advance("embedding", "chunk", data)

    def _advance(self, verb: str, noun: str, data: Any) -> bool:  # noqa: ANN401
        now, done = self._clock(), int(data.get("done", 0))
        is_new = self._stage is None or self._stage.verb != verb
        if self._stage is None or is_new:
            self._stage = _Stage(verb, noun, now, before=done)
        stage = self._stage
        stage.done, stage.total = done, int(data.get("total", stage.total))
        stage.left_s = data["eta_ms"] / 1000 if "eta_ms" in data else None
        return is_new

    def _draw(self) -> None:
        self._drawn_at = self._clock()
        columns = terminal_width() - 1
        line = self._line(columns)
        if line and self._is_live:
            self._write(_ERASE + shorten(line, columns))
            self._is_drawn = True
        elif line:
            self._write(line + "\n")

    def _line(self, columns: int) -> str:
        stage = self._stage
        if self._scanning:
            return f"scanning {printable(self._scanning)}"
        if stage is None or not stage.total:
            return ""
        share = min(1.0, stage.done / stage.total)
        full = round(share * _CELLS)
        bar = f"[{'#' * full}{'.' * (_CELLS - full)}]"
        amount = f"{stage.done:,}/{count(stage.total, stage.noun)}"
        parts = [stage.verb, bar, f"{share:4.0%}", amount, *self._speed(stage)]
        room = columns - len("  ".join(parts)) - 2
        if not self._is_live or (self._running and room < _PATH_COLUMNS):
            parts.remove(bar)  # it says what the percentage says; the file matters more
            room += len(bar) + 2
        return "  ".join([*parts, *self._file(room)])

    def _speed(self, stage: _Stage) -> list[str]:
        spent, fresh = self._clock() - stage.since, stage.done - stage.before
        if spent < 1 or fresh <= 0:
            return []
        rate = fresh / spent
        left = stage.left_s if stage.left_s is not None else (stage.total - stage.done) / rate
        return [f"{rate:,.1f}/s", f"{_estimate(left)} left"]

    def _file(self, room: int) -> list[str]:
        """Name the file that has been worked on the longest, within *room* columns."""
        if not self._running:
            return []
        slow = min(self._running.values(), key=lambda running: running.since)
        spent = self._clock() - slow.since
        words = [slow.phase, "", f"{spent:.0f} s" if spent >= 1 else ""]
        taken = len(" ".join(filter(None, words))) + 1
        words[1] = shorten(printable(slow.path), max(8, room - taken), front=True)
        return [" ".join(filter(None, words))]


def _estimate(seconds: float) -> str:
    """Return a time as precisely as it is known."""
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < _MINUTE else duration(whole)
