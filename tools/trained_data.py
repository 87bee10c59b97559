"""Fetch the trained data of Korean for the tests that recognise it: no Python package has it.

It is an npm package, named with its version below, and goes to ``.cache/trained-data``; no
script of it is run. Without npm nothing happens, and the tests that need it are skipped. So it
is where the registry cannot be reached, unless ``--required`` is given.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mcp_tools import OPTIONS

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "trained-data"
PACKAGE = "@tesseract.js-data/kor"
VERSION = "1.0.0"
INSIDE = "4.0.0_best_int/kor.traineddata.gz"
WANTED = FOLDER / "kor.traineddata"


def main(words: Sequence[str] | None = None) -> int:
    """Fetch what is missing; say what was done."""
    is_required = "--required" in (sys.argv[1:] if words is None else words)
    if WANTED.is_file():
        print("the trained data of Korean is there")
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("the trained data of Korean is left out: there is no npm")
        return int(is_required)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "package.json").write_text('{"private": true}\n', "utf-8")
    name = f"{PACKAGE}@{VERSION}"
    done = subprocess.run([npm, "install", *OPTIONS, name], cwd=FOLDER, check=False)
    packed = FOLDER / "node_modules" / PACKAGE / INSIDE
    if done.returncode or not packed.is_file():
        print("the trained data of Korean is left out: npm could not install it")
        return int(is_required)
    new = WANTED.with_suffix(".new")
    new.write_bytes(gzip.decompress(packed.read_bytes()))
    new.replace(WANTED)
    print("the trained data of Korean was installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
