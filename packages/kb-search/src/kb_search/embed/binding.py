"""Sessions by onnxruntime's Python package, where its library cannot be called by itself."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path

import numpy as np

from kb_search.embed.runtime import ort
from kb_search.embed.sessions import WEIGHTS, Refused, inputs_of, output_of

__all__ = ["BoundSession"]


class BoundSession:
    """A ``Session`` over the package."""

    def __init__(
        self,
        graph: Path | bytes,
        weights: mmap | bytes | None,
        *,
        is_final: bool,
        is_packed: bool,
    ) -> None:
        self._weights = weights  # they are used where they lie
        level = ort.GraphOptimizationLevel
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = (
            level.ORT_DISABLE_ALL if is_final else level.ORT_ENABLE_ALL
        )
        settings = [] if is_packed else ["session.disable_prepacking"]
        if weights is not None:
            settings.append("session.use_external_initializer_file_buffers_directly")
            options.add_external_initializers_from_files_in_memory(
                [WEIGHTS], [weights], [len(weights)]
            )
        for setting in settings:
            options.add_session_config_entry(setting, "1")
        name = str(graph) if isinstance(graph, Path) else graph
        try:
            session = ort.InferenceSession(name, options, providers=["CPUExecutionProvider"])
        # onnxruntime's errors have no base class of their own.
        except Exception as error:
            raise Refused(str(error)) from error
        self._session = session
        self._inputs = [node.name for node in session.get_inputs()]
        self._output = output_of([node.name for node in session.get_outputs()])

    def run(self, ids: Sequence[int], /) -> tuple[array[float], int]:
        """Return what the graph says of one text: float32, row after row, and their width."""
        given = inputs_of(self._inputs, ids)
        rows = {
            name: np.array([it], np.int64) for name, it in zip(self._inputs, given, strict=True)
        }
        try:
            (found,) = self._session.run([self._output], rows)
        except Exception as error:
            raise Refused(str(error)) from error
        values = array("f")
        values.frombytes(np.ascontiguousarray(found, np.float32).tobytes())
        return values, int(found.shape[-1])
