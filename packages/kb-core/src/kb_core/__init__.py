"""The vocabulary of kebab: types, ids, citations, errors and ports.

Standard library only, no input or output, milliseconds to import. Names are
imported from their own modules (``from kb_core.citations import Citation``), so
that a program pays only for what it uses; the few below are what most callers
need first.

**Invariant:** nothing in here imports another ``kb_*`` package or a third-party
library, opens a file, reads a clock (but for ``kb_core.clock``) or starts a thread.
"""

from __future__ import annotations

from kb_core.errors import KbError
from kb_core.version import __version__

__all__ = ["KbError", "__version__"]
