"""Build the wheel and the sdist of every distribution into ``dist/``.

The build backend is the one of this environment: nothing is installed, so that a build
needs no network. ``hatch build --all`` makes the same files in environments of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def _build(package: Path) -> bool:
    words = [sys.executable, "-m", "hatchling", "build", "--directory", str(DIST)]
    run = subprocess.run(words, cwd=package, capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"{package.name}:\n{run.stdout}{run.stderr}", file=sys.stderr)
    return run.returncode == 0


def main() -> int:
    """Empty ``dist/``, build all, and return 1 if any failed."""
    shutil.rmtree(DIST, ignore_errors=True)
    packages = sorted(file.parent for file in (ROOT / "packages").glob("kb-*/pyproject.toml"))
    built = [_build(package) for package in packages]
    files = sorted(DIST.glob("*"))
    size = sum(file.stat().st_size for file in files)
    print(f"build: {len(files)} files of {len(packages)} distributions, {size / 1000:.0f} kB")
    return 0 if all(built) and len(files) == 2 * len(packages) else 1


if __name__ == "__main__":
    sys.exit(main())
