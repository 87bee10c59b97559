"""``kebab grep``: the lines that hold exact text, in whatever is indexed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from kb_app.shown import count, flat, printable
from kb_cli._context import CliContext, Shown
from kb_cli._declared import Whole, argument, command, completed_by, option
from kb_cli._options import filter_options, filters_of, in_option
from kb_cli._text import echo, style

__all__ = ["grep"]

_GREP = """
kebab grep fetch_span
kebab grep -w walk packages/kb-app -C 2
kebab grep 'def \\w+_named\\(' --code-lang python -l
kebab grep -F 'a[0].b' --media pdf,office
kebab grep main --in ~/src/some-project
"""


@command("grep", example=_GREP)
@argument("pattern", metavar="PATTERN")
@argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=completed_by("document"))
@option("-F", "--fixed-strings", "fixed", is_flag=True, help="Take the pattern as it stands.")
@option("-w", "--word-regexp", "word", is_flag=True, help="Only where it is whole words.")
@option("-i", "--ignore-case", is_flag=True, help="Never tell upper and lower case apart.")
@option("-s", "--case-sensitive", is_flag=True, help="Always tell them apart.")
@option("-U", "--multiline", is_flag=True, help="A match may go on over several lines.")
@option(
    "-C",
    "--context",
    metavar="N",
    type=Whole(0, 50),
    default=0,
    help="Also print up to N lines around each.",
)
@option("-l", "--files-with-matches", "names", is_flag=True, help="Print paths only.")
@option("-c", "--count", "counts", is_flag=True, help="Print paths and how many lines match.")
@option(
    "-m",
    "--max",
    "max_lines",
    metavar="N",
    type=Whole(1, 10_000),
    help="Print at most N lines.  [default: 100 on a terminal, else 10,000]",
)
@filter_options
@in_option
def grep(cli: CliContext, /, pattern: str, paths: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Find the lines that hold exact text.

    A pattern is a regular expression, without look-around and back-references. Case counts
    where it has a capital letter. What is looked through is the text as it was indexed, of
    pages and office files, too; PATHs narrow it to folders and files, filters further.

    The file that defines what is looked for comes first, then those with most lines; tests
    and settings come last. Off a terminal each line has its path and number before it.
    Finding nothing is not an error.
    """
    from kb_core.search import MAX_GREP_LINES, GrepQuery

    names, counts = options.pop("names"), options.pop("counts")
    asked = {name: options.pop(name) for name in ("fixed", "word", "multiline", "context")}
    exact, ignore = options.pop("case_sensitive"), options.pop("ignore_case")
    most = options.pop("max_lines") or (100 if cli.has_terminal else MAX_GREP_LINES)
    query = GrepQuery(
        pattern=pattern,
        case="ignore" if ignore else "exact" if exact else "smart",
        max_lines=most,
        files_only=names or counts,
        paths=paths,
        filters=filters_of(options),
        **asked,
    )
    with cli.open() as kb:
        found = kb.grep(query)
        if cli.as_json:
            cli.print_json(found)
            return
        shared = kb.shared_paths(file["doc_path"] for file in found["files"])
        roots = dict(kb.sources()) if shared else {}
    files: Sequence[Shown] = found["files"]
    color = cli.color
    if not cli.has_terminal:
        files = [_located(file, roots) if file["doc_path"] in shared else file for file in files]
    if query.files_only:
        lines = [printable(f["doc_path"]) + (f":{f['matches']}" if counts else "") for f in files]
    elif cli.has_terminal:
        lines = list(_grouped(files, shared))
    else:
        lines = list(_plain(files, apart=bool(query.context)))
        color = True  # nothing of it is ours, so nothing is taken out of what a text says
    if lines:
        echo("\n".join(lines), color=color)
    _tell(cli, found, "--max for more, " if most < MAX_GREP_LINES else "")


def _plain(files: Sequence[Shown], *, apart: bool) -> Iterator[str]:
    """Yield ``path:line:text``, with dashes where a line is around a match."""
    is_first, shows = True, sys.stdout.isatty()
    for file in files:
        path = flat(file["doc_path"])
        for block in _blocks(file["lines"]):
            if apart and not is_first:
                yield "--"
            is_first = False
            for line in block:
                mark = ":" if line["is_match"] else "-"
                # Verbatim into a file or a pipe; a terminal must not obey what a text says.
                text = printable(line["text"], keep="\t") if shows else line["text"]
                yield f"{path}{mark}{line['line']}{mark}{text}"


def _located(file: Shown, roots: Mapping[str, str]) -> Shown:
    """Return *file* with its whole path, for one that several sources have."""
    root = roots.get(file["source_id"], "")
    return {**file, "doc_path": str(PurePath(root, file["doc_path"]))}


def _grouped(files: Sequence[Shown], shared: Collection[str]) -> Iterator[str]:
    """Yield the lines of each file under its path; *shared* are those of several sources."""
    for at, file in enumerate(files):
        if at:
            yield ""
        source = f"  [{flat(file['source_id'])}]" if file["doc_path"] in shared else ""
        stale = "  [stale]" if file["stale"] else ""
        yield style(flat(file["doc_path"]), fg="cyan") + source + stale
        wide = max(len(str(line["line"])) for line in file["lines"])
        for turn, block in enumerate(_blocks(file["lines"])):
            if turn and len(block) > 1:
                yield " " * wide + " …"
            for line in block:
                number = style(f"{line['line']:>{wide}}", fg="green")
                yield f"{number}{':' if line['is_match'] else ' '} {_marked(line)}"
        if file["omitted"]:
            yield style(f"{file['omitted']:,} more in this file", dim=True)


def _blocks(lines: Sequence[Shown]) -> Iterator[list[Shown]]:
    """Yield runs of lines that follow each other."""
    block = list(lines[:1])
    for before, line in pairwise(lines):
        if line["line"] != before["line"] + 1:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _marked(line: Shown) -> str:
    text, parts, at = line["text"], [], 0
    for start, end in line.get("spans", ()):
        parts += [printable(text[at:start], keep="\t")]
        parts += [style(printable(text[start:end], keep="\t"), fg="red", bold=True)]
        at = end
    return "".join([*parts, printable(text[at:], keep="\t")]) + ("…" if line.get("cut") else "")


def _tell(cli: CliContext, found: Shown, for_more: str) -> None:
    lines, files = found["total_lines"], found["total_files"]
    said = f"{count(lines, 'line')} in {count(files, 'file')}" if lines else "no lines"
    shown = sum(line["is_match"] for file in found["files"] for line in file["lines"])
    if found["truncated"] and shown:
        said += f", {shown:,} shown: {for_more}a path or a filter for fewer"
    elif found["truncated"]:
        said += f", {len(found['files']):,} files shown: a path or a filter for fewer"
    if not lines or found["truncated"] or cli.has_terminal:
        cli.note(f"{said} ({count(found['searched'], 'document')} looked through)")
    cli.warn(*found.get("warnings", ()))
