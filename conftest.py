"""What every test runs under: no test has a time limit of its own on a busy machine."""

from __future__ import annotations

import os

from hypothesis import settings

_BASE = "ci" if os.environ.get("CI") else "default"
settings.register_profile("kebab", settings.get_profile(_BASE), deadline=None)
settings.load_profile("kebab")
