"""What a fresh process loads, and what it must do without.

import-linter reads the source; only a fresh process proves that an import is deferred.
These are lists of modules, not stop-watches: they mean the same on every machine.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from kb_core.values import _Uncompiled

KEBAB = Path(sys.executable).with_name("kebab")

# `kebab WORDS`, then the names of all loaded modules as the last line of stderr.
COMMAND = """
import json, sys
from kb_cli.main import main
sys.argv[0] = "kebab"
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

# As COMMAND, with our classes that the standard library made frozen instead of the names.
SLOWLY_MADE = COMMAND.replace(
    "sorted(sys.modules)",
    """[
        f"{module}.{name}"
        for module in sorted(m for m in sys.modules if m.startswith("kb_"))
        for name, value in vars(sys.modules[module]).items()
        if getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
    ]""",
)

# As COMMAND, with how often garbage was looked for among all objects, at the end included.
COLLECTED = COMMAND.replace("import json, sys", "import gc, json, sys").replace(
    "sorted(sys.modules)",
    """[
        str(gc.get_stats()[2]["collections"]),
        str(gc.get_freeze_count() > len(gc.get_objects())),
    ]""",
)

# As COMMAND, with the numbers of our modules, of our values that were ever made, and of the
# regular expressions of our modules that were compiled.
COUNTED = COMMAND.replace(
    "sorted(sys.modules)",
    """[
        f"{sum(name.startswith('kb_') for name in sys.modules)} of ours",
        "%d values" % sum(
            value.__init__.__qualname__ == "__init__"
            for module in [m for n, m in sys.modules.items() if n.startswith("kb_")]
            for value in vars(module).values()
            if getattr(value, "__module__", None) == module.__name__
            and "__fields_in_order__" in getattr(value, "__dict__", {})
        ),
        "%d expressions" % sum(
            "search" in vars(value) if type(value).__name__ == "_Uncompiled" else
            type(value).__name__ == "Pattern"
            for module in [m for n, m in sys.modules.items() if n.startswith("kb_")]
            for value in vars(module).values()
        ),
    ]""",
)

# As COMMAND, with the threads of the process once numpy is there, too.
THREADS = COMMAND.replace("import json, sys", "import json, os, sys").replace(
    "sorted(sys.modules)", """[__import__("numpy") and str(len(os.listdir("/proc/self/task")))]"""
)

HEAVY = {
    "_duckdb",
    "duckdb",
    "mcp",
    "numpy",
    "onnxruntime",
    "pyarrow",
    "pydantic",
    "tantivy",
    "textual",
    "tokenizers",
}


def loaded_by(statement: str, *words: str, env: dict[str, str] | None = None) -> set[str]:
    """Run a statement in a fresh process and return the top-level names it loaded."""
    return {name.partition(".")[0] for name in told_by(statement, *words, env=env)}


def told_by(statement: str, *words: str, env: dict[str, str] | None = None) -> set[str]:
    """Run a statement in a fresh process and return the list that is its last line on stderr."""
    process = subprocess.run(
        [sys.executable, "-c", statement, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    assert process.returncode == 0, process.stderr
    return set(json.loads(process.stderr.splitlines()[-1]))


def loaded_by_import(module: str) -> set[str]:
    """Return what importing one module adds to a bare interpreter."""
    show = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    return loaded_by(f"import {module}; {show}") - loaded_by(show)


def test_the_core_loads_only_itself_and_the_standard_library() -> None:
    others = {name for name in loaded_by_import("kb_core") if name not in sys.stdlib_module_names}

    assert others == {"kb_core"}


@pytest.mark.parametrize(
    ("module", "lower"),
    [
        ("kb_store", {"kb_core", "kb_store"}),
        ("kb_search.writer", {"kb_core", "kb_search"}),
    ],
)
def test_an_adapter_loads_only_what_is_below_it(module: str, lower: set[str]) -> None:
    loaded = loaded_by_import(module)

    assert {name for name in loaded if name.startswith("kb_")} <= lower
    assert loaded.isdisjoint({"_hashlib", "dataclasses", "socket", "tempfile"})


@pytest.mark.parametrize("module", ["kb_app", "kb_mcp", "kb_tui"])
def test_a_package_costs_little_until_it_is_used(module: str) -> None:
    assert loaded_by_import(module).isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["kb_app.shown", "kb_app.shown.progress", "kb_app.shown.trace"])
def test_what_interfaces_share_loads_nothing_but_the_standard_library(module: str) -> None:
    loaded = loaded_by_import(module)
    ours = {name for name in loaded if name not in sys.stdlib_module_names}

    assert {"kb_app"} <= ours <= {"kb_app", "kb_core"}
    assert "dataclasses" not in loaded


def test_help_loads_no_engine_and_no_other_interface() -> None:
    loaded = loaded_by(COMMAND, "--help")

    assert loaded.isdisjoint(HEAVY | {"kb_mcp", "kb_store", "kb_tui"})


@pytest.fixture(scope="module")
def small_knowledge_base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Build a knowledge base of one note by running the command; return its configuration."""
    home = tmp_path_factory.mktemp("home")
    (home / "notes").mkdir()
    note = "# Locks\n\nA search stays readable while ingest runs.\n"
    (home / "notes" / "locks.md").write_text(note, "utf-8")
    config = home / "config.toml"
    config.write_text(
        "[storage]\n"
        'data_dir = "data"\n'
        "[[sources]]\n"
        'id = "notes"\n'
        'root = "notes"\n'
        "[embedding]\n"
        'model = "none"\n',
        "utf-8",
    )
    env = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    words = [str(KEBAB), "--config", str(config), "ingest"]
    run = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    assert run.returncode == 0, run.stderr
    return config, env


def test_a_cold_lexical_search_loads_no_database_and_no_model(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """A search never opens DuckDB: the index serves it, so it never meets a lock either."""
    config, env = small_knowledge_base

    words = ("--config", str(config), "--json", "search", "--mode", "lexical", "readable")
    loaded = loaded_by(COMMAND, *words, env=env)

    assert "tantivy" in loaded
    unwanted = {"_duckdb", "numpy", "onnxruntime", "pyarrow", "pydantic", "tokenizers"}
    assert loaded.isdisjoint(unwanted | {"grpc", "milvus_lite", "pymilvus", "ray"})


def test_a_cold_search_makes_its_values_quickly(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """A frozen dataclass of the standard library costs four times one of ``kb_core.values``."""
    config, env = small_knowledge_base

    words = ("--config", str(config), "search", "--mode", "lexical", "readable")

    assert told_by(SLOWLY_MADE, *words, env=env) == set()


def test_a_cold_search_loads_and_makes_no_more_than_it_uses(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """Whoever raises a number here makes every search from a shell slower, and says why."""
    config, env = small_knowledge_base

    words = ("--config", str(config), "search", "--mode", "lexical", "readable")
    loaded = told_by(COMMAND, *words, env=env)
    counted = told_by(COUNTED, *words, env=env)

    # OpenSSL, what ports and records look like, and what finds a parser by its name.
    unwanted = {"_hashlib", "kb_core.ports", "kb_core.records", "kb_core.stored", "pkgutil"}
    assert loaded.isdisjoint(unwanted)
    numbers = {what: int(number) for number, _, what in (one.partition(" ") for one in counted)}
    # Two are parts of the facade, ``_keeping`` and ``_following``, 0.2 ms each; one keeps what a
    # terminal searched for; what words weigh is apart, since two engines rank by it, 0.2 ms, and so
    # is what narrows, since lists and grep do, too; any question may name a date, 0.8 ms, have a
    # typing error, 0.3 ms, and words that only ask, 0.2 ms. An expression is 0.1 ms and more; those
    # of a module are ``kb_core.values.lazy_pattern``.
    most = {"of ours": 77, "values": 6, "expressions": 20}
    assert numbers.keys() == most.keys()
    assert {what: n for what, n in numbers.items() if n > most[what]} == {}


@pytest.mark.parametrize(
    "words",
    [
        "search --mode lexical readable",
        "--json search --mode lexical readable --tag x",
        "grep readable",
        "list docs",
        "status",
        "fetch doc locks.md",
        "explain-miss --doc locks.md readable",
        "schema",
    ],
)
def test_a_plain_command_line_loads_neither_click_nor_what_it_needs_no_line_of(
    words: str, small_knowledge_base: tuple[Path, dict[str, str]]
) -> None:
    """They are a quarter of a search from a shell; ``inspect`` comes with dataclasses."""
    config, env = small_knowledge_base

    loaded = loaded_by(COMMAND, "--config", str(config), *words.split(), env=env)

    assert "kb_app" in loaded
    assert loaded.isdisjoint({"ast", "click", "dataclasses", "inspect", "logging", "uuid"})


def test_a_run_with_nothing_to_do_loads_no_library_that_it_needs_no_line_of(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """They are a seventh of it: compressors, OpenSSL, what dataclasses are described with."""
    config, env = small_knowledge_base

    loaded = loaded_by(COMMAND, "--config", str(config), "ingest", env=env)

    assert {"kb_app", "tantivy"} <= loaded
    assert "kb_store" not in loaded
    unneeded = {"_hashlib", "ast", "dataclasses", "inspect", "logging", "lzma", "secrets", "uuid"}
    assert loaded.isdisjoint(unneeded)


def test_a_cold_search_is_not_looked_through_for_garbage(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    config, env = small_knowledge_base

    words = ("--config", str(config), "search", "--mode", "lexical", "readable")

    assert told_by(COLLECTED, *words, env=env) == {"0", "True"}


# `kebab WORDS`, with something that is to be done when the process ends.
ENDING = """
import atexit, sys
from kb_cli.main import run
sys.argv[0] = "kebab"
atexit.register(print, "the end")
run()
"""


def test_a_search_is_away_when_it_has_answered_and_whoever_wrote_is_not(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """What a process frees at its end is a thirtieth of a search; a store closes what it opened."""
    config, env = small_knowledge_base
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    for words, ending in (("search --mode lexical readable", ""), ("doctor", "the end\n")):
        process = subprocess.run(
            [sys.executable, "-c", ENDING, "--config", str(config), *words.split()],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=unmeasured | env,
        )
        assert len(process.stdout.splitlines()) > 1
        assert process.stdout.endswith(ending)
        assert bool(ending) or "the end" not in process.stdout


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="nothing tells of threads here")
def test_numpy_starts_no_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a fourteenth of a cold search by meaning; whoever wants them says so."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    assert told_by(THREADS, "--help") == {"1"}
    if (os.cpu_count() or 1) > 1:
        assert told_by(THREADS, "--help", env={"OPENBLAS_NUM_THREADS": "2"}) == {"2"}


def test_every_regular_expression_that_waits_for_its_use_can_be_compiled() -> None:
    waiting = []
    for package in ("kb_core", "kb_search", "kb_app"):
        root = importlib.import_module(package)
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not any(part in module.name for part in ("testing", "milvus", "cluster")):
                names = vars(importlib.import_module(module.name))
                waiting += [each for each in names.values() if isinstance(each, _Uncompiled)]

    assert len(waiting) > 40
    assert {type(each.pattern) for each in waiting} == {bytes, str}


# What is loaded when the first file of a worker begins to be parsed.
FIRST_FILE = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from kb_app._ingest.making import record
from kb_app._ingest.making.record import Task, make
from kb_app._ingest.settings import ingest_settings
from kb_app._ingest.workers.worker import hearing
from kb_app.config import load_config
from kb_core.documents import SourceFile

config = load_config(Path(sys.argv[1]))
(source,) = config.sources
file = SourceFile(source_id="notes", path="locks.md", media="markdown", size=60, mtime_ns=0)
task = Task(
    root=str(source.root),
    file=file,
    raw_path=None,
    settings=ingest_settings(config),
    indexed_at=datetime(2026, 5, 31, tzinfo=UTC),
)
heard = []
record._QUICK_BYTES = 0  # else a short text does not say that it is parsed
hearing.set(lambda phase: heard.append((phase.name, sorted(sys.modules))))
assert make(task).documents
print(json.dumps(dict(heard)["parse"]), file=sys.stderr)
"""


def test_parser_and_tokenizer_are_loaded_before_the_time_of_the_first_file_begins(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    config, env = small_knowledge_base

    loaded = told_by(FIRST_FILE, str(config), env=env)

    assert loaded >= {"kb_app._ingest.making.formats.markdown", "kb_search.embed.tokenize"}


def test_what_embeds_a_question_and_compares_it_loads_no_numpy_and_no_pool_of_threads() -> None:
    """It is half of a search by meaning; passages of an ingest need them."""
    show = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    used = ("embed.native", "embed.onnx", "embed.plain", "blinders", "small_view")
    loaded = told_by(f"import {', '.join(f'kb_search.{name}' for name in used)}; {show}")

    assert "ctypes" in loaded
    assert loaded.isdisjoint({"_hashlib", "concurrent.futures", "numpy", "onnxruntime"})


def test_what_makes_documents_needs_no_configuration() -> None:
    show = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    loaded = told_by(f"import kb_app._ingest.making.record; {show}")

    assert "kb_app._ingest.settings" in loaded
    assert {name for name in loaded if name.startswith("kb_app.config")} == set()


def test_a_run_that_finds_nothing_to_do_loads_nothing_that_could_do_it(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    config, env = small_knowledge_base

    modules = told_by(COMMAND, "--config", str(config), "ingest", env=env)
    loaded = {name.partition(".")[0] for name in modules}

    assert loaded.isdisjoint(
        HEAVY - {"tantivy"} | {"kb_store", "markdown_it", "statistics", "yaml"}
    )
    ours = ("_costly", "_ingest.added.offer", "_ingest.making.parsing", "_keep")
    assert modules.isdisjoint({*(f"kb_app.{name}" for name in ours), "kb_core.ports"})


def test_an_edit_of_words_alone_loads_a_store_and_an_index_and_nothing_else(
    small_knowledge_base: tuple[Path, dict[str, str]],
) -> None:
    """Parsers and tokenizers are the worker's; numpy is for vectors."""
    config, env = small_knowledge_base
    (config.parent / "notes" / "more.md").write_text("# More\n\nWords.\n", "utf-8")

    modules = told_by(COMMAND, "--config", str(config), "ingest", env=env)
    loaded = {name.partition(".")[0] for name in modules}

    assert "_duckdb" in loaded
    unwanted = {"email", "markdown_it", "statistics", "tempfile", "yaml"}
    assert loaded.isdisjoint(HEAVY - {"_duckdb", "tantivy"} | unwanted)
    assert modules.isdisjoint({"kb_app._keep.exporting", "kb_app._ingest.making.parsing"})
