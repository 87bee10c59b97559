"""The command as a process: pipes, colour, what it imports."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

HEAVY = [
    *("kb_app.config", "kb_app.knowledge_base", "kb_core.wire", "kb_core.search", "json"),
    *("importlib.metadata", "tomllib", "tomlkit", "pydantic", "logging", "asyncio", "_duckdb"),
    *("mcp", "textual", "tantivy", "numpy", "onnxruntime", "kb_mcp", "kb_tui", "traceback"),
]


def kebab(*words: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kb_cli", *words],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(home), "PYTHONUTF8": "0"} | environ,
        check=False,
    )


def test_lesson_51_help_imports_click_and_nothing_else_of_weight(tmp_path: Path) -> None:
    """Importing a heavy library at the top of the command line cost more than the search."""
    code = (
        "import sys\nfrom kb_cli.main import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
        "print([n for n in sys.modules if n.startswith('kb_cli.commands.')], file=sys.stderr)\n"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stderr == "[]\n[]\n"
    assert "  search " in result.stdout


@pytest.mark.parametrize("words", ["--help", "config show", "config show --json"])
def test_a_closed_pipe_ends_it_quietly(words: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m kb_cli {words} | true; echo ${{PIPESTATUS[0]}}"

    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(tmp_path)},
        check=False,
    )

    assert (result.stdout, result.stderr) == ("0\n", "")


INGEST = """
import sys
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_app.testing.facade import event
from kb_cli.testing import knowledge_base
kb = knowledge_base(events=[event("scan_started", root="x" * 100)] * 100_000)
obj = CliContext(open_kb=kb.reopened, configure_logs=lambda _: None)
try:
    cli.main(["ingest", "--json"], obj=obj)
finally:
    print("ended open:", kb.ended_open, file=sys.stderr)
"""


def test_when_nobody_reads_on_the_work_ends_before_its_stores_close(tmp_path: Path) -> None:
    command = f"{sys.executable} -c '{INGEST}' | head -n 1; echo ${{PIPESTATUS[0]}}"

    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(tmp_path)},
        check=False,
    )

    first, code = result.stdout.splitlines()
    assert json.loads(first)["kind"] == "scan_started"
    assert (code, result.stderr) == ("0", "ended open: True\n")


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_full_disk_is_an_error_and_not_a_traceback(
    tmp_path: Path, buffering: dict[str, str]
) -> None:
    """Where output is buffered, the disk is full only when the command ends."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = f"{sys.executable} -m kb_cli config show > /dev/full"

    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **buffering},
        check=False,
    )

    assert result.returncode == 2
    hint = "hint: free some space and run it again; nothing committed is lost"
    assert result.stderr.split("\n") == ["error: no space left on device", f"  {hint}", ""]


def test_a_terminal_that_lacks_a_character_gets_an_escape(tmp_path: Path) -> None:
    result = kebab("config", "show", "--config", "노트", home=tmp_path, PYTHONIOENCODING="latin-1")

    assert result.returncode == 2
    assert r"\ub178\ud2b8" in result.stderr
    assert "Traceback" not in result.stderr


def test_json_of_a_path_that_is_not_utf8_is_json(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff.toml")
    odd.write_text("")

    result = kebab("config", "show", "--json", "--config", str(odd), home=tmp_path)

    assert result.stderr == ""
    assert json.loads(result.stdout)["config_path"].startswith(str(tmp_path))


@pytest.mark.parametrize("no_color", ["", "1"])
def test_no_colour_off_a_terminal_nor_where_it_is_unwanted(no_color: str, tmp_path: Path) -> None:
    result = kebab("search", home=tmp_path, NO_COLOR=no_color)

    assert result.stderr.startswith("error: the query is missing\n")


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colour_on_a_terminal_unless_it_is_unwanted(no_color: str, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environ = os.environ | {"HOME": str(tmp_path), "NO_COLOR": no_color, "TERM": "xterm"}

    subprocess.run(
        [sys.executable, "-m", "kb_cli", "search"], stderr=theirs, env=environ, check=False
    )

    os.close(theirs)
    said = os.read(ours, 1000).decode()
    os.close(ours)
    assert ("\x1b[" in said) is (no_color == "")
    assert "the query is missing" in said


SEARCH = """
from pathlib import Path
from kb_app.testing.facade import hit, response
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing import knowledge_base
root = Path.cwd()
(root / "kb.toml").write_text(f'[[sources]]\\nid = "notes"\\nroot = "{root}"\\n')
kb = knowledge_base({"search": response(hit(doc_path="a b.md", snippet="never cut in two"))})
obj = CliContext(open_kb=kb.reopened, configure_logs=lambda _: None)
cli.main(["search", "cut", "--config", "kb.toml"], obj=obj)
"""


@pytest.mark.parametrize("no_color", ["", "1"])
def test_on_a_terminal_matches_are_set_off_and_paths_lead_to_their_files(
    no_color: str, tmp_path: Path
) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environ = os.environ | {"NO_COLOR": no_color, "TERM": "xterm"}

    subprocess.run(
        [sys.executable, "-c", SEARCH], stdout=theirs, env=environ, cwd=tmp_path, check=True
    )

    os.close(theirs)
    said = os.read(ours, 3000).decode()
    os.close(ours)
    if no_color:
        assert "\x1b" not in said
        assert "a b.md:661" in said
    else:
        assert f"\x1b]8;;file://{os.uname().nodename}{tmp_path}/a%20b.md#661\x1b\\" in said
        assert "never \x1b[31m\x1b[1mcut\x1b[0m in two" in said


READ = """
import sys
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing import DOC_ID, knowledge_base
with knowledge_base() as scripted:
    doc = scripted.inspect_doc(DOC_ID)
block = {"kind": "paragraph", "char_start": 0, "char_end": 1, "heading_path": []}
kb = knowledge_base({"inspect_doc": {**doc, "blocks": [block] * 300}})
for words in (["fetch", "doc"], ["fetch", "doc", "--all"], ["--json", "fetch", "doc"],
              ["inspect", "doc"], ["inspect", "doc", "--all"]):
    obj = CliContext(open_kb=kb.reopened, configure_logs=lambda _: None)
    cli.main([*words, "1c0ffee5"], obj=obj, standalone_mode=False)
print(kb.asked, file=sys.stderr)
"""


def test_on_a_terminal_a_huge_document_is_shown_in_part_unless_all_is_asked_for() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen, ThreadPoolExecutor(1) as reading:
        shown = reading.submit(everything_on, screen)
        command = [sys.executable, "-c", READ]
        done = subprocess.run(
            command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(theirs)
        lines = shown.result().splitlines()

    assert done.returncode == 0, done.stderr
    budgets = [asked[-1] for asked in ast.literal_eval(done.stderr) if asked[0] == "fetch_doc"]
    assert budgets == [20_000, None, None]
    assert lines.count("  100 more: give --all") == 1
    assert sum(line.startswith("  paragraph") for line in lines) == 200 + 300


def everything_on(screen: io.RawIOBase) -> str:
    """Return what is written to a terminal until its other side is closed."""
    said = b""
    with suppress(OSError):
        while block := screen.read(10_000):
            said += block
    return said.decode()


def test_completion_completes_commands_and_options(tmp_path: Path) -> None:
    environ = {"_KEBAB_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'kebab'; from kb_cli.main import main; main()"

    def complete(line: str, word: int) -> str:
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=os.environ | environ | {"COMP_WORDS": line, "COMP_CWORD": str(word)},
            check=False,
        ).stdout

    assert "plain,search" in complete("kebab sea", 1)
    assert "plain,--media" in complete("kebab search --me", 2)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("kb_cli._context", ["--version"]),
        ("kb_core.values", ["status"]),
        ("kb_app.paths", ["status"]),
        ("click", ["--help"]),
    ],
)
def test_an_interruption_while_it_starts_is_130_and_no_traceback(
    tmp_path: Path, module: str, words: list[str]
) -> None:
    code = (
        "import sys\nclass Interrupted:\n    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        f"sys.meta_path.insert(0, Interrupted())\nsys.argv[1:] = {words!r}\n"
        "from kb_cli.main import run\nrun()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(tmp_path)},
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")
