"""The one version of the seven distributions; ``tools/version.py`` keeps it in step."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
