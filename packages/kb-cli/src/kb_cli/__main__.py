"""``python -m kb_cli`` is ``kebab``."""

from __future__ import annotations

from kb_cli.main import main

if __name__ == "__main__":
    main()
