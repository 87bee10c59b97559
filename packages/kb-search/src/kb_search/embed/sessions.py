"""Models that are open, and read one text a run.

``native`` opens them by the C interface of onnxruntime, ``binding`` by its Python package where
that is not to be had; they give the same numbers.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mmap import mmap
    from pathlib import Path

__all__ = ["WEIGHTS", "Refused", "Session", "inputs_of", "load_library"]
__all__ += ["open_session", "output_of"]

# As ``kb_search.embed.runtime`` has it, before either loads the library.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

WEIGHTS = "weights.bin"
"""What graphs of ours call the file that their tensors lie in."""


class Refused(Exception):
    """What onnxruntime says that it cannot do."""


class Session(Protocol):
    """A model that is open; for any thread, several at once."""

    def run(self, ids: Sequence[int], /) -> tuple[array[float], int]:
        """Return what the graph says of one text: float32, row after row, and their width.

        A row per token, or one of the whole text. ``Refused`` for none, or too many.
        """
        ...


def load_library() -> None:
    """Load what opens models, where it is not the Python package; nothing is opened."""
    from kb_search.embed import native

    with suppress(native.NotServed, Refused):  # whoever opens a model says so
        native.load()


def open_session(
    graph: Path | bytes, weights: mmap | bytes | None, *, is_final: bool, is_packed: bool
) -> Session:
    """Open a graph, whose *weights* are used where they lie; ``Refused`` if it is none.

    Unless it *is_final*, onnxruntime's optimiser changes it. Weights that are *packed* take
    longer to open, and are multiplied faster; a float's last bit depends on it.
    """
    from kb_search.embed.native import NativeSession, NotServed

    try:
        return NativeSession(graph, weights, is_final=is_final, is_packed=is_packed)
    except NotServed:
        from kb_search.embed.binding import BoundSession

        return BoundSession(graph, weights, is_final=is_final, is_packed=is_packed)


def inputs_of(names: Sequence[str], ids: Sequence[int]) -> list[array[int]]:
    """Return what BERT-like graphs take by these names, int64: all tokens count, of one segment."""
    count = len(ids)
    known = {
        "input_ids": array("q", ids),
        "attention_mask": array("q", [1]) * count,
        "token_type_ids": array("q", [0]) * count,
    }
    if unknown := sorted(set(names) - set(known)):
        raise Refused(f"the model wants to be given {', '.join(unknown)}")
    if not count:
        raise Refused("there is nothing to read")
    return [known[name] for name in names]


def output_of(names: Sequence[str]) -> str:
    """Return which of what a graph gives is wanted: rows of tokens, or its first."""
    return "last_hidden_state" if "last_hidden_state" in names else names[0]
