"""What every test runs under: no limit of time, and long files begin first."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

_BASE = "ci" if os.environ.get("CI") else "default"
settings.register_profile("kebab", settings.get_profile(_BASE), deadline=None)
settings.load_profile("kebab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is left with one of them."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
