"""onnxruntime, with its telemetry off: the only place that imports it.

From version 1.31 on, importing onnxruntime makes a device id below the user's cache folder
and may send events to its makers over the network. Nothing of ours may do either, so that
is switched off in the environment, which is where the library looks when it is loaded.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# After that, since the library reads the variable while it is loaded.
import onnxruntime as ort

__all__ = ["ort"]
