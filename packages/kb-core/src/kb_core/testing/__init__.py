"""What tests of every distribution share: fakes, contracts, builders, closed schemas.

Standard library only; pytest is not imported. Nothing outside tests imports this.

* ``kb_core.testing.fakes``      an index in memory, a hashing embedder, a fixed clock
* ``kb_core.testing.documents``  documents, chunks and publications with real ids
* ``kb_core.testing.contracts``  the promises of the ports, run on fakes and real engines
"""

from __future__ import annotations

from kb_core.testing.schemas import closed_schema

__all__ = ["closed_schema"]
