"""``python -m kb_cli`` is ``kebab``."""

from __future__ import annotations

from kb_cli.main import run

if __name__ == "__main__":
    run()
