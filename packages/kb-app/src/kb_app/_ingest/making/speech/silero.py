"""Voices told by Silero: a small graph that hears speech, where some package brings it.

It is data of ``silero-vad`` and of ``faster-whisper``; neither is required, or imported.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kb_app._ingest.making.speech.resampling import Samples
from kb_app._ingest.making.speech.voices import FRAME, Active

__all__ = ["SileroVoices", "graph_of_silero"]

_PLACES = (
    ("silero_vad", "data/silero_vad_16k_sequence.onnx"),
    ("faster_whisper", "assets/silero_vad_v6.onnx"),
)
_STEP, _CONTEXT, _STATE = 512, 64, 128
"""Samples that it hears at once, and before them; how much it keeps in mind."""
_BEGINS, _GOES_ON = 0.5, 0.35
"""How likely speech has to be where it begins, and where it goes on."""


@cache
def graph_of_silero() -> Path | None:
    """Return the graph, if an installed package has it."""
    for module, name in _PLACES:
        # find_spec of a top-level name reads the path and imports nothing.
        spec = find_spec(module)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (file := Path(folder) / name).is_file():
                return file
    return None


class SileroVoices:
    """Says where somebody speaks, of sound that it is given block by block."""

    def __init__(self, graph: Path) -> None:
        from kb_search.embed.runtime import ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = ort.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
        self._state = {name: np.zeros((1, 1, _STATE), np.float32) for name in ("h", "c")}
        self._held = np.zeros(_CONTEXT, np.float32)
        self._likely: list[Samples] = []

    def take(self, block: Samples) -> None:
        """Listen to the next block."""
        self._held = np.concatenate([self._held, block])
        steps = (len(self._held) - _CONTEXT) // _STEP
        if steps:
            windows = np.lib.stride_tricks.sliding_window_view(self._held, _CONTEXT + _STEP)
            given = {"input": np.ascontiguousarray(windows[::_STEP][:steps]), **self._state}
            likely, self._state["h"], self._state["c"] = self._session.run(None, given)
            self._likely.append(np.asarray(likely, np.float32).reshape(-1))
            self._held = self._held[steps * _STEP :]

    def voiced(self, frames: int) -> Active:
        """Say of each of *frames*, which are 20 ms, whether somebody speaks in it."""
        self.take(np.zeros(_STEP - 1, np.float32))
        is_voice, held = [False], False
        for likely in np.concatenate([*self._likely, np.zeros(1, np.float32)]).tolist():
            held = likely >= (_GOES_ON if held else _BEGINS)
            is_voice.append(held)
        middles = np.arange(frames) * FRAME + FRAME // 2
        told: Active = np.array(is_voice[1:])[np.minimum(middles // _STEP, len(is_voice) - 2)]
        return told
