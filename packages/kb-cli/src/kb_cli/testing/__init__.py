"""Running the command line in a test: ``run``, over the facade with its parts in memory.

Nothing is patched: the facade and the environment come in through click's ``obj``, as
anybody's could.
"""

from __future__ import annotations

from kb_cli.testing._run import run
from kb_cli.testing._world import CHUNK_ID, DOC_ID, knowledge_base

__all__ = ["CHUNK_ID", "DOC_ID", "knowledge_base", "run"]
