"""What the documentation says exists: links, commands, options, codes, settings, examples.

The pages are read as they are. A command line in an ``sh`` block is parsed by the commands
themselves and never run; a Python block marked ``run`` is run in a process of its own.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from kb_app import _outlines, shown, workspaces
from kb_app._ingest import pipeline
from kb_app._ingest.making import pictures
from kb_app._ingest.making.formats import pdf
from kb_app._ingest.making.grammars import LANGUAGES
from kb_app._media import MEDIA
from kb_app.config import SECTIONS, Workspaces
from kb_app.config._settings import rules
from kb_cli._catalog import COMMANDS, EXTRAS
from kb_cli.main import cli
from kb_core import schemas, wire
from kb_core.filters import FILTERS
from kb_core.ingest import SkipReason
from kb_core.records import FileState
from kb_core.search import MAX_QUERY_TERMS
from kb_mcp import text as as_text
from kb_mcp._tool import Form
from kb_mcp.testing import client_of, knowledge_base
from kb_mcp.text import lines as text_lines, reports
from kb_mcp.tools import TOOLS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import config_reference  # noqa: E402 - a script, not a module of any distribution

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
WRITTEN = [page for page in PAGES if page.parent.name != "reference"]

FENCE = re.compile(r"^(```+)([^\n`]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
SOURCE_FILE = re.compile(r"\b(kb_\w+/[\w/]+\.\w+)\b")
DOTTED = re.compile(r"`(kb_[a-z]+(?:\.\w+)+)`")
WORKSPACES = Workspaces()
NAMES = {"cpp": "C++", "csharp": "C#", "css": "CSS", "php": "PHP", "tsx": "TSX"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    info: str
    text: str

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks() -> Iterator[Block]:
    for page in WRITTEN:
        text = page.read_text("utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page, line, match[2].strip(), match[3])


def blocks_of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.info.split()[:1] == [language]]


def guide() -> str:
    return "\n".join(page.read_text("utf-8") for page in GUIDE)


BLOCKS = list(blocks())


# ------------------------------------------------------------------- rulings


def test_every_ruling_and_lesson_that_code_and_tests_name_is_on_the_page() -> None:
    page = (ROOT / "docs" / "rulings.md").read_text("utf-8")
    rulings, _, lessons = page.partition("## Lessons")
    files = [*ROOT.glob("packages/**/*.py"), *ROOT.glob("t*/**/*.py")]
    named, learnt = set[str](), set[str]()
    for text in (file.read_text("utf-8") for file in files):
        named |= set(re.findall(r"\bR(\d{1,2})\b", text))
        named |= set(re.findall(r"def test_r(\d+)_", text))
        learnt |= set(re.findall(r"def test_(\d+)_", text))
        for several in re.findall(r"\blessons? (\d+(?:(?:,| and) \d+)*)", text):
            learnt |= set(re.findall(r"\d+", several))

    assert {number for number in named if f"**R{number}**" not in rulings} == set()
    assert {number for number in learnt if f"**{number}**" not in lessons} == set()


# --------------------------------------------------------------------- links


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made on a code forge."""
    prose = FENCE.sub("", page.read_text("utf-8"))
    titles = [re.sub(r"[`*]", "", title).lower() for title in HEADING.findall(prose)]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    prose = CODE_SPAN.sub("", FENCE.sub("", page.read_text("utf-8")))
    broken = []
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_of_the_documentation_is_linked_from_its_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    decisions = (ROOT / "docs" / "decisions" / "README.md").read_text("utf-8")
    pages = [page for page in PAGES if page.name != "README.md"]

    assert [name_of(p) for p in pages if f"{p.name})" not in index + decisions] == []


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_file_and_name_of_the_code_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    files = [file for file in SOURCE_FILE.findall(text) if not list(ROOT.glob(f"*/*/src/{file}"))]
    names = [name for name in DOTTED.findall(text) if not exists(name)]

    assert (files, names) == ([], [])


def exists(dotted: str) -> bool:
    """Say whether a dotted name is a module, or a name in one."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


# ------------------------------------------------------------------ commands


@dataclass(frozen=True)
class Line:
    """One command line of an ``sh`` block."""

    where: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.where} {' '.join(self.words)}"


def lines(program: str) -> list[Line]:
    found = []
    for block in blocks_of("sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            for end in ("|", "&&", ">", ">>", "<"):
                words = words[: words.index(end)] if end in words else words
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                del words[0]
            if words and words[0] == program:
                found.append(Line(str(block), tuple(words[1:])))
    return found


def parse(words: list[str]) -> None:
    """Have the commands read *words*, as far as that is possible without running one."""
    command: click.Command = cli
    # The settings of the command itself: click keeps the help option that a first context makes.
    context = click.Context(cli, info_name="kebab", **cli.context_settings)
    while isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(words))
        if not rest:
            return
        name, found, words = command.resolve_command(context, rest)
        if found is None:
            raise click.UsageError(f"no such command {rest[0]!r}")
        command = found
        context = click.Context(command, info_name=name, parent=context)
    command.make_context(command.name, list(words), parent=context.parent)


@pytest.mark.parametrize("line", lines("kebab"), ids=str)
def test_every_command_line_is_one_that_the_commands_understand(line: Line) -> None:
    try:
        parse(list(line.words))
    except click.exceptions.Exit:
        pass
    except click.UsageError as error:
        pytest.fail(f"{line}: {error.format_message()}")


def test_a_command_line_that_is_wrong_is_caught() -> None:
    for words in (["serach", "x"], ["search", "x", "--limit", "3"], ["fetch", "docs", "1"]):
        with pytest.raises(click.UsageError):
            parse(words)


OURS = {
    *("NEW", "ADDED_SOURCE", "doc['doc_id'][:8]", "run['run_id']", "found['run_id']", "other"),
    *("name", "kind", "verdict"),
}
"""What commands in messages are filled with that no shell reads otherwise: words of ours, ids."""


def messages() -> Iterator[tuple[str, str]]:
    """Yield the source files, each text that goes on over lines in one piece."""
    for file in ROOT.glob("packages/*/src/**/*.py"):
        yield file.name, re.sub(r"""["']\s*\n\s*f?["']""", "", file.read_text("utf-8"))


def test_what_fills_a_command_in_a_message_is_quoted_for_a_shell() -> None:
    filled = re.compile(r"""(?:['"`]|: )kebab (?!searches)[a-z][A-Za-z -]{0,40}'?\{([^{}\n]*)\}""")
    found = {(name, match[1]) for name, text in messages() for match in filled.finditer(text)}

    unquoted = {(name, by) for name, by in found if not re.search("quote|join|shell_word", by)}
    assert {(name, by) for name, by in unquoted if by not in OURS} == set()


def test_every_command_that_a_message_names_exists() -> None:
    begins = rf"'kebab (?=[a-z])|hint=[\"']kebab (?=(?:{'|'.join(COMMANDS)})\b)"
    named = re.compile(rf"(?:{begins})([^'\"{{]*)['\"]")
    wrong = {}
    for name, text in messages():
        for match in named.finditer(text):
            words = shlex.split(match[1].replace("…", ""))
            try:
                parse([word for word in words if not word.isupper()])
            except (click.exceptions.Exit, click.MissingParameter):
                pass
            except click.UsageError as error:
                wrong[match[1]] = f"{name}: {error.format_message()}"

    assert wrong == {}


@pytest.mark.parametrize("line", lines("tools/dev"), ids=str)
def test_every_word_of_the_development_script_exists(line: Line) -> None:
    hatch = tomllib.loads((ROOT / "hatch.toml").read_text("utf-8"))
    known = {*hatch["envs"]["default"]["scripts"], "help", "install", "run", "shell", "uninstall"}

    assert line.words[0] in known


# ------------------------------------------------------------- completeness


def test_every_command_is_in_the_guide() -> None:
    text = guide()

    assert [name for name in (*COMMANDS, *EXTRAS) if f"kebab {name}" not in text] == []


def test_every_error_code_is_in_the_guide() -> None:
    codes = schemas.load("error")["properties"]["code"]["enum"]
    text = guide()

    assert [code for code in codes if f"`{code}`" not in text] == []


def test_every_filter_is_in_the_guide() -> None:
    options = (ROOT / "docs" / "guide" / "searching.md").read_text("utf-8")
    keys = (ROOT / "docs" / "guide" / "terminal.md").read_text("utf-8")

    assert [row.option for row in FILTERS if f"`{row.option} " not in options] == []
    assert [row.key for row in FILTERS if row.key and f"`{row.key}`" not in keys] == []


def test_every_tool_is_in_the_guide_with_what_it_takes_and_returns() -> None:
    page = (ROOT / "docs" / "guide" / "agents.md").read_text("utf-8")
    table = page.partition("## Tools")[2].partition("\n## ")[0]
    rows = {
        row[1]: row[2] for row in re.finditer(r"^\| `(\w+)`[^|]*\|(.+)\|$", table, re.MULTILINE)
    }
    filters = {row.name for row in FILTERS}

    missing = []
    for name, tool in TOOLS.items():
        takes, _, returns = rows.get(name, "").partition("|")
        # The options of a search are those of the command line.
        own = set(tool.definition.input_schema["properties"]) - filters
        named = own if name != "search" else {"query"}
        missing += [(name, each) for each in sorted(named) if f"`{each}`" not in takes]
        missing += [] if ".v1`" in returns else [(name, "what it returns")]
    assert missing == []


@pytest.mark.parametrize(("row", "readonly"), [("", False), (", read-only", True)])
async def test_the_list_of_tools_costs_what_the_pages_say(row: str, *, readonly: bool) -> None:
    page = (ROOT / "docs" / "guide" / "agents.md").read_text("utf-8")
    study = (ROOT / "docs" / "study.md").read_text("utf-8")
    cost = rf"^\| the list of tools{row} \| ([\d,]+) \| ([\d,]+) \|$"
    told = re.search(cost, study, re.MULTILINE)
    most = re.search(r"read-only.*less than (\d+) kB" if readonly else r"less than (\d+) kB", page)
    assert told is not None
    assert most is not None

    for form, said in zip((Form.JSON, Form.TEXT), told.groups(), strict=True):
        async with client_of(knowledge_base(readonly=readonly), form=form) as client:
            tools = (await client.list_tools()).tools
        list_ = wire.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools])
        assert len(list_) == pytest.approx(int(said.replace(",", "")), rel=0.02)
        assert len(list_.encode()) < 1000 * int(most[1])


def test_every_state_reason_and_medium_is_in_the_guide() -> None:
    text = guide()
    media = [media for media, row in MEDIA.items() if row.is_supported]
    words = [*FileState, *SkipReason, *media]

    assert [str(word) for word in words if f"`{word}`" not in text] == []


def test_every_language_with_a_grammar_is_in_the_guide() -> None:
    page = (ROOT / "docs" / "guide" / "sources-and-ingest.md").read_text("utf-8").lower()

    assert [name for name in LANGUAGES if NAMES.get(name, name).lower() not in page] == []


@pytest.mark.parametrize(
    ("page", "told", "figures"),
    [
        ("agents", "An answer ends at {:,} tokens, ", as_text.BUDGET + as_text.SEEN),
        ("agents", "with several places at {:,}, ", reports.PLACES + 2 * as_text.SEEN),
        ("agents", "one of `grep` at {:,}, ", text_lines._BUDGET),
        ("agents", "a report of what was done at {:,}, ", as_text.SHORT),
        ("fetching", "({:,} of a short one)", _outlines._LEAST_OUTLINE),
        ("folders", "until {:,} passages of the folder", WORKSPACES.embed_passages),
        ("folders", "after {:,} passages or half a minute", pipeline._CHUNKS_PER_LOOK),
        ("folders", "that promise most, {:.0f} MB of them", WORKSPACES.search_kb / 1000),
        (
            "folders",
            " (`codebase-search` {:.0f});",
            WORKSPACES.search_kb * workspaces._OF_CODE / 1000,
        ),
        ("folders", "at most {:,} files and ", WORKSPACES.max_files),
        ("folders", " files and {:,} MB to read", WORKSPACES.max_mb),
        ("folders", "not used for {} days", WORKSPACES.keep_days),
        ("searching", "Below {}, or ", shown.DOUBTFUL),
        ("searching", ", or {} where words alone", shown.DOUBTFUL_BY_WORDS),
        ("searching", " and {:,} different words are looked for", MAX_QUERY_TERMS),
        ("sources-and-ingest", "with at most {:,} pixels to a side", pictures._LONGEST_SENT),
        ("sources-and-ingest", "more than {} MB and five times", pdf._PAGE_MB),
        ("sources-and-ingest", "after {:,} characters and six", pdf._TEXT_CHARS),
        ("troubleshooting", "up to {:,} passages, for a few minutes", WORKSPACES.embed_passages),
    ],
)
def test_figures_of_the_guide_are_those_of_the_code(page: str, told: str, figures: float) -> None:
    assert told.format(figures) in (ROOT / f"docs/guide/{page}.md").read_text("utf-8")


def test_every_setting_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8")
    keys = [(section, key) for section in (*SECTIONS, "sources") for key in rules(section)]

    assert [pair for pair in keys if f"| `{pair[1]}`" not in section_of(page, pair[0])] == []


def section_of(page: str, section: str) -> str:
    """Return the part of the reference page that is about *section*."""
    title = "[[sources]]" if section == "sources" else f"[{section}]"
    return page.partition(f"## `{title}`\n")[2].partition("\n## ")[0]


def test_every_setting_that_a_page_names_exists() -> None:
    known = {f"{section}.{key}" for section in SECTIONS for key in rules(section)}
    pattern = re.compile(rf"`((?:{'|'.join(SECTIONS)})\.[a-z_]+)\b[^`]*`")
    named = {(name_of(p), m) for p in WRITTEN for m in pattern.findall(p.read_text("utf-8"))}

    assert {pair for pair in named if pair[1] not in known and not pair[1].endswith(".py")} == set()


def test_the_configuration_reference_is_up_to_date() -> None:
    assert config_reference.main(["check"]) == 0


def test_the_architecture_can_be_read_in_one_sitting() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")

    assert page.count("\n") <= 400
    assert page.count("**Invariant:**") >= 20


# ------------------------------------------------------------------ examples


@pytest.mark.parametrize("block", blocks_of("python"), ids=str)
def test_python_compiles_and_runs_where_it_says_so(block: Block, tmp_path: Path) -> None:
    compile(block.text, str(block), "exec")
    if "run" not in block.info.split():
        return
    command = [sys.executable, "-W", "error", "-c", block.text]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("block", [*blocks_of("toml"), *blocks_of("json")], ids=str)
def test_data_can_be_read(block: Block) -> None:
    read = tomllib.loads if block.info == "toml" else json.loads

    assert read(block.text)


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_a_line_is_a_sentence_or_less(page: Path) -> None:
    """Semantic newlines: prose outside tables and lists does not run on after a full stop."""
    prose = FENCE.sub("", page.read_text("utf-8"))
    long = [
        line
        for line in prose.splitlines()
        if not re.match(r"\s*([-|*>]|\d+\.)", line) and re.search(r"[a-z`)*]\. [A-Z`*\[]", line)
    ]

    assert long == []
