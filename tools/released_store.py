"""Write what this state keeps, as later states will have to read it: a small archive.

``tools/released_store.py NAME`` makes a knowledge base of a few of our own decision pages, a text
that was handed in, a conversation and a golden question, and exports it to
``tests-integration/released/NAME.kebab``. Beside it, ``NAME.json`` says what has to be found in
it. It is run once for a release, and what it wrote is never written again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ROOT / "tests-integration" / "released"
HOME = Path("/tmp/kebab-released")  # noqa: S108 - the store keeps it, so it is always the same
KEBAB = Path(sys.executable).with_name("kebab")
PAGES = (
    "0001-duckdb-is-the-truth.md",
    "0003-exact-int8-scan.md",
    "0007-operations-that-are-their-wire-object.md",
    "0017-signposts.md",
)
QUERIES = ("DuckDB is the truth", "tombstones of vectors", "signposts rank lower", "otters")
SETTINGS = """\
schema_version = 1

[storage]
data_dir = "data"

[log]
dir = "log"

[[sources]]
id = "pages"
root = "pages"
"""


def _kebab(*words: str, given: str = "") -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("KEBAB_")}
    command = [str(KEBAB), "--config", str(HOME / "config.toml"), *words]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=True, env=plain
    )
    return done.stdout


def _told(*words: str) -> Any:  # noqa: ANN401 - a wire object
    return json.loads(_kebab("--json", *words).splitlines()[-1])


def _fill() -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "pages").mkdir(parents=True)
    (HOME / "config.toml").write_text(SETTINGS, "utf-8")
    for page in PAGES:
        shutil.copy(ROOT / "docs" / "decisions" / page, HOME / "pages")
    _kebab("ingest")
    _kebab("ingest-stdin", "--title", "Otters", given="# Otters\n\nOtters sleep in the river.\n")
    _kebab("ask", "Where do otters sleep?", "--session", "animals")
    _kebab("eval", "add", "Where do otters sleep?", "--hit", "1")


def _facts() -> dict[str, object]:
    docs = _told("list", "docs")["items"]
    return {
        "docs": {
            doc["doc_path"]: {
                "doc_id": doc["doc_id"],
                "chunks": doc["chunk_count"],
                "text": sha256(_kebab("fetch", "doc", doc["doc_id"]).encode()).hexdigest(),
            }
            for doc in docs
        },
        "first_hits": {
            query: _told("search", query, "--mode", "lexical")["hits"][0]["doc_path"]
            for query in QUERIES
        },
        "embedded": sum(model["embedded"] for model in _told("models")["items"]),
        "conversation": _told("session", "show", "animals")["turns"][0]["answer"]["answer"],
    }


def main(words: list[str]) -> int:
    """Write the archive and its facts under the name that is given."""
    (name,) = words
    archive, facts = RELEASED / f"{name}.kebab", RELEASED / f"{name}.json"
    if archive.exists():
        print(f"{archive} is released: it is never written again")
        return 1
    RELEASED.mkdir(exist_ok=True)
    _fill()
    _kebab("export", str(archive))
    told = json.dumps(_facts(), ensure_ascii=False, indent=2)
    facts.write_text(f"{told}\n", "utf-8")
    print(f"{archive}: {archive.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
