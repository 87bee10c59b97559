"""How much of the code a newcomer has to hold: figures of its structure.

    python tools/structure.py            files, lines, longest, names typed as Any, importers
    python tools/structure.py --walked   and what one search and one ingest enter

``--walked`` makes a small knowledge base in a temporary folder, and counts the files and
functions of this project that a search by words, and one file on its way from walk to
commit, go through (in this process; without a model).
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Figures", "main", "read"]

ROOT = Path(__file__).resolve().parents[1]
Figures = dict[str, dict[str, int]]


def read(root: Path = ROOT) -> Figures:
    """Return figures by package, and of all of them as ``all``."""
    figures: defaultdict[str, Counter[str]] = defaultdict(Counter)
    importers = _importers(root)
    for package, file in _sources(root):
        text = file.read_text("utf-8")
        tree = ast.parse(text)
        lengths = [
            (node.end_lineno or 0) - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        counts = {
            "files": 1,
            "lines": text.count("\n"),
            "Any": sum(isinstance(n, ast.Name) and n.id == "Any" for n in ast.walk(tree)),
            "one importer": int(len(importers.get(_module(root, file), ())) == 1),
        }
        for name in (package, "all"):
            figures[name].update(counts)
            figures[name]["longest file"] = max(figures[name]["longest file"], counts["lines"])
            longest = max([figures[name]["longest function"], *lengths])
            figures[name]["longest function"] = longest
    return {name: dict(counts) for name, counts in figures.items()}


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    for folder in sorted((root / "packages").glob("*/src/*")):
        for file in sorted(folder.rglob("*.py")):
            yield folder.name, file


def _module(root: Path, file: Path) -> str:
    parts = file.relative_to(root / "packages").with_suffix("").parts[2:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _importers(root: Path) -> Mapping[str, set[str]]:
    """Return, by module, the modules that import it, at the top or inside a function."""
    modules = {_module(root, file) for _, file in _sources(root)}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for _, file in _sources(root):
        here = _module(root, file)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names} & modules
                for module in names or ({node.module} & modules):
                    found[module].add(here)
    return found


def walked(action: Callable[[], object]) -> tuple[int, int]:
    """Return how many files and functions of this project *action* enters."""
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401 - as it is defined
        code = frame.f_code
        # What runs once to make a module or a class is no function.
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        if event == "call" and is_function and "/packages/kb-" in code.co_filename:
            entered.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len({file for file, _ in entered}), len(entered)


def _walks() -> Iterator[tuple[str, tuple[int, int]]]:
    from dataclasses import replace

    from kb_app import KnowledgeBase
    from kb_app._ingest.workers.executor import InlineExecutor
    from kb_app._wiring import parts_of
    from kb_app.config import Config, Embedding, Source
    from kb_core.ingest import IngestOptions
    from kb_core.media import SearchMode
    from kb_core.search import SearchQuery

    with tempfile.TemporaryDirectory() as name:
        notes = Path(name, "notes")
        notes.mkdir()
        (notes / "one.md").write_text("# Otters\n\nAn otter sleeps.\n", "utf-8")
        config = Config.inside(Path(name, "kb"), Source(id="notes", root=notes))
        config = replace(config, embedding=Embedding(model="none"))
        parts = replace(parts_of(config), executor=lambda task, _: InlineExecutor(task))
        with KnowledgeBase(config, parts) as kb:
            yield "one ingest", walked(lambda: list(kb.ingest(IngestOptions())))
        with KnowledgeBase.open(config) as kb:
            query = SearchQuery(text="otter", mode=SearchMode.LEXICAL)
            yield "one search", walked(lambda: kb.search(query))


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--walked", action="store_true")
    options = parser.parse_args(words)
    figures = read()
    columns = list(figures["all"])
    print("package".ljust(12), *(f"{column:>16}" for column in columns))
    for package, counts in figures.items():
        print(package.ljust(12), *(f"{counts[column]:>16,}" for column in columns))
    if options.walked:
        for what, (files, functions) in _walks():
            print(f"{what}: {files} files, {functions} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
