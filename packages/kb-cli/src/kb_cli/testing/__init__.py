"""Running the command line in a test: ``run`` and a facade without a knowledge base.

Nothing is patched: the facade and the environment come in through click's ``obj``, as
anybody's could.
"""

from __future__ import annotations

from kb_cli.testing._facade import FakeKnowledgeBase, event, hit, report, response
from kb_cli.testing._run import run

__all__ = ["FakeKnowledgeBase", "event", "hit", "report", "response", "run"]
