"""``kebab fetch`` and ``kebab cite``: text as it stands in a source."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app.shown import count, flat, moment, printable, shell_word
from kb_cli._context import CliContext, Shown
from kb_cli._declared import NewFile, Whole, argument, command, completed_by, option, subgroup
from kb_cli._options import in_option
from kb_cli._text import echo, shorten, style
from kb_core.errors import InvalidInput, IoError
from kb_core.ids import is_id_prefix

if TYPE_CHECKING:
    from kb_app import KnowledgeBase
    from kb_app.drawing import Picture
    from kb_app.editors import FilePlace

__all__ = ["cite", "fetch"]

_PNG = b"\x89PNG\r\n\x1a\n"
_TOKENS = option(
    "--max-tokens",
    metavar="N",
    type=Whole(1),
    help="Print at most about this many tokens.",
)
_ALL = option(
    "--all", "is_all", is_flag=True, help="Print it whole on a terminal, however long it is."
)
_LOOKED_AT = 20_000
"""Tokens of a document on a terminal, about two thousand lines, unless more is asked for."""


_FETCH = """
kebab fetch notes/search.md:12-34 src/app.py:40
kebab fetch 'src/app.py#Server.start' 'notes/search.md#Ranking'
kebab fetch outline src/app.py
"""
_PLACE_MARKS = frozenset("/.:#_")
"""What a place has that no command has; so have names with a capital."""


def _implied(word: str) -> str | None:
    """Say that the first word is a place, unless it is an option, a number or nearly a command."""
    is_name = word.isidentifier() and not word.islower()
    if is_name or _PLACE_MARKS.intersection(word) or is_id_prefix(word):
        return _at.name
    if word.startswith("-") or word.isdigit():
        return None
    from difflib import get_close_matches

    return None if get_close_matches(word, fetch.commands) else _at.name


@subgroup("fetch", example=_FETCH, implied=_implied)
def fetch() -> None:
    """Print text exactly as it stands in a source.

    What is printed is taken: an id or its first eight characters, a path or its end, a path
    and lines (notes/a.md:12, notes/a.md:12-34), a path and what is called so in it (a symbol
    or a heading, with all that is inside), what code defines once by its name, a citation. What
    names several lists them.
    """


@command("at", example="kebab fetch at notes/search.md:12-34 'src/app.py#L3' --max-tokens 2000")
@argument(
    "places", metavar="PLACE...", nargs=-1, required=True, shell_complete=completed_by("document")
)
@_TOKENS
@_ALL
@in_option
def _at(cli: CliContext, places: tuple[str, ...], max_tokens: int | None, is_all: bool) -> None:
    """Print the text at one place or several; the word 'at' can be left out.

    A document, lines of it, a passage. Several share the budget: what needs less than its
    part is whole. One that does not exist is told, and the others are printed; exits 2 then.
    """
    max_tokens = _bounded(cli, max_tokens, is_all=is_all)
    with cli.open() as kb:
        if len(places) == 1:
            _tell(cli, kb, kb.fetch(places[0], max_tokens=max_tokens))
            return
        found = kb.fetch_many(places, max_tokens=max_tokens)
        if cli.as_json:
            cli.print_json(found)
        for one in found["results"]:
            if not cli.as_json and one["result"] is not None:
                _tell(cli, kb, one["result"])
    failed = [one["error"] for one in found["results"] if one["error"] is not None]
    for error in failed:
        cli.warn(f"{error['message']}{' (' + error['hint'] + ')' if error['hint'] else ''}")
    if failed:
        cli.exit(_SOME_FAILED)


@command("outline", example="kebab fetch outline src/app.py")
@argument("path", metavar="DOC", shell_complete=completed_by("document"))
@in_option
def _outline(cli: CliContext, path: str) -> None:
    """Print the headings or symbols of a document, and the lines of each."""
    with cli.open() as kb:
        cli.show(kb.outline(path), _outline_lines)


def _outline_lines(found: Shown) -> Iterator[str]:
    size = count(found["lines"], "line") if "lines" in found else count(found["chars"], "character")
    yield f"[{printable(found['doc_path'])}] {size}"
    rows = [(_where(entry), entry) for entry in found["entries"]]
    wide = max((len(where) for where, _ in rows), default=0)
    for where, entry in rows:
        kind = style(f"  {flat(entry['kind'])}", dim=True) if "kind" in entry else ""
        yield f"{where:>{wide}}  {'  ' * (entry['level'] - 1)}{flat(entry['name'])}{kind}"
    if found["omitted"]:
        yield f"{found['omitted']:,} more inside these"
    elif not rows:
        yield "no headings or symbols"


def _where(entry: Shown) -> str:
    if "line_start" not in entry:
        return printable(entry.get("uri", "").rpartition("#")[2])
    first, last = entry["line_start"], entry["line_end"]
    return f"{first}" if first == last else f"{first}-{last}"


@command("chunk", example="kebab fetch chunk 5669ef18 --context 1\nkebab fetch chunk notes/a.md:12")
@argument("chunk_id", metavar="CHUNK", shell_complete=completed_by("document"))
@option(
    "--context",
    metavar="N",
    type=Whole(0),
    default=0,
    help="Also print up to N chunks before and after it.",
)
@in_option
def _chunk(cli: CliContext, chunk_id: str, context: int) -> None:
    """Print a chunk, perhaps with its neighbours."""
    with cli.open() as kb:
        result = kb.fetch_chunk(chunk_id, context=context)
    _show(cli, result)


@command("doc", example="kebab fetch doc notes/search.md --max-tokens 2000")
@argument("doc_id", metavar="DOC", shell_complete=completed_by("document"))
@_TOKENS
@_ALL
@in_option
def _doc(cli: CliContext, doc_id: str, max_tokens: int | None, is_all: bool) -> None:
    """Print the text of a document; of a very long one, on a terminal, the beginning."""
    max_tokens = _bounded(cli, max_tokens, is_all=is_all)
    with cli.open() as kb:
        _tell(cli, kb, kb.fetch_doc(doc_id, max_tokens=max_tokens))


@command("span", example="kebab fetch span notes/search.md 12 34")
@argument("doc_id", metavar="DOC", shell_complete=completed_by("document"))
@argument("start", type=Whole())
@argument("end", type=Whole())
@_TOKENS
@_ALL
@in_option
def _span(
    cli: CliContext, doc_id: str, start: int, end: int, max_tokens: int | None, is_all: bool
) -> None:
    """Print lines START to END of a document, both included, from 1."""
    max_tokens = _bounded(cli, max_tokens, is_all=is_all)
    with cli.open() as kb:
        result = kb.fetch_span(doc_id, start, end, max_tokens=max_tokens)
    _show(cli, result)


def _tell(cli: CliContext, kb: KnowledgeBase, found: Shown) -> None:
    """Show a text, and of a document without one, such as a mailbox, what is within it."""
    _show(cli, found)
    if found["kind"] == "doc" and not found["text"].strip():
        paths = kb.inspect_doc(found["doc_id"]).get("enclosed", ())
        within = f"{count(len(paths), 'document')} within it, to be fetched by path"
        for path in paths[:1]:
            cli.warn(f"{found['doc_path']} has no text of its own; {within}, such as {path}")


def _bounded(cli: CliContext, max_tokens: int | None, *, is_all: bool) -> int | None:
    """Return the budget: by default a bounded one where a person looks, none for a program."""
    if is_all and max_tokens is not None:
        raise InvalidInput(
            "--all and --max-tokens do not go together", hint="give one", details={"field": "all"}
        )
    is_looked_at = sys.stdout.isatty() and not cli.as_json
    return _LOOKED_AT if is_looked_at and not is_all and max_tokens is None else max_tokens


for _sub in (_at, _chunk, _doc, _span, _outline):
    fetch.add_command(_sub)


_EXAMPLE = """
kebab cite 'notes/search.md#L12-L34'
kebab cite 'notes/search.md#L12-L34' --open
kebab cite 'papers/rrf.pdf#page=13' --image page.png
kebab cite verify 'notes/search.md#L12-L34' 'src/app.py#L3'
kebab --json search "how are chunks cut" | kebab cite verify -
"""
_NOT_THE_SAME = 3
_SOME_FAILED = 2
_VERIFY = "verify"
_COLORS = {"unchanged": "green", "moved": "cyan", "changed": "yellow", "gone": "red"}


@command("cite", example=_EXAMPLE)
@argument("words", metavar="[verify] URI...", nargs=-1, shell_complete=completed_by("document"))
@option(
    "--open",
    "opens",
    is_flag=True,
    help="Open the file at the place: $EDITOR, a viewer, a browser.",
)
@option(
    "--dry-run", "only_says", is_flag=True, help="With --open: print the command, and run nothing."
)
@option(
    "--image",
    metavar="FILE",
    type=NewFile(),
    help="Write the page or picture, what is cited marked on it, as PNG.",
)
@option(
    "--source",
    metavar="ID",
    help="The source, where several have the same path.",
    shell_complete=completed_by("source"),
)
@in_option
def cite(
    cli: CliContext,
    words: tuple[str, ...],
    opens: bool,
    only_says: bool,
    image: Path | None,
    source: str | None,
) -> None:
    """Print what a citation points at, or verify that it still says the same.

    A URI is a path, relative to its source, and a place: notes/a.md#L12-L34, or as hits are
    printed, notes/a.md:12. What is printed is the text as it was indexed.

    'verify' compares with the files as they are now and says of each citation: unchanged,
    moved, changed or gone. With - they are read from standard input, one a line: URIs, or
    JSON with a content_hash, as citations, hits and responses of a search have it. Exits 3 if
    anything is changed or gone.
    """
    _refuse(words, opens=opens, only_says=only_says, image=image)
    if words[:1] == (_VERIFY,):
        _verify(cli, words[1:], source)
    elif opens:
        with cli.open() as kb:
            place = kb.locate(_only(words), source=source)
        _open(cli, place, only_says=only_says)
    elif image is not None:
        with cli.open() as kb:
            _refuse_over(kb.locate(_only(words), source=source).path, image)
            drawn = kb.draw(_only(words), source=source)
        _write(cli, drawn, image)
    else:
        with cli.open() as kb:
            found = kb.cite(_only(words), source=source)
        _show(cli, found)
        if "effective_end" in found and found["effective_end"] < found["line_start"]:
            cli.warn(f"{found['doc_path']} has no line {found['line_start']}")


def _only(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    raise InvalidInput(
        f"one URI is expected, not {len(words)}" if words else "the URI of a citation is missing",
        hint="kebab cite 'notes/a.md#L12-L34'",
        details={"field": "uri"},
    )


def _refuse(words: tuple[str, ...], *, opens: bool, only_says: bool, image: Path | None) -> None:
    if only_says and not opens:
        raise InvalidInput(
            "--dry-run says what --open would run",
            hint="kebab cite 'notes/a.md#L12-L34' --open --dry-run",
            details={"field": "dry_run"},
        )
    if opens and image is not None:
        raise InvalidInput(
            "--open and --image do not go together", hint="give one", details={"field": "image"}
        )
    if (opens or image is not None) and words[:1] == (_VERIFY,):
        option = "open" if opens else "image"
        raise InvalidInput(
            f"verify opens and draws nothing: --{option} goes with one URI",
            hint="kebab cite 'notes/a.md#L12-L34' --open",
            details={"field": option},
        )


def _refuse_over(cited: str, file: Path) -> None:
    """Refuse to write a picture over what is cited, or over what is no picture."""
    with suppress(OSError):
        begins = file.read_bytes()[: len(_PNG)] if file.is_file() else _PNG
        if begins != _PNG or (file.exists() and file.samefile(cited)):
            raise InvalidInput(
                f"'{file}' is there already, and no picture that kebab drew",
                hint="give another name: --image page.png",
                details={"field": "image", "value": str(file)},
            )


def _write(cli: CliContext, drawn: Picture, file: Path) -> None:
    try:
        file.write_bytes(drawn.png)
    except OSError as error:
        raise IoError(
            f"cannot write '{file}': {(error.strerror or str(error)).lower()}",
            details={"path": str(file)},
        ) from error
    if not drawn.is_as_indexed:
        cli.warn("the file has changed since it was indexed; the picture is of what it is now")
    if not drawn.marks:
        cli.warn("a whole page is cited, so nothing is marked; the id of a hit marks its passage")


def _verify(cli: CliContext, words: tuple[str, ...], source: str | None) -> None:
    if not words:
        raise InvalidInput(
            "no citation to verify",
            hint="kebab cite verify 'notes/a.md#L12-L34', or - for standard input",
            details={"field": "uri"},
        )
    items = list(_items(words))
    with cli.open() as kb:
        found = kb.verify_citations(items, source=source)
    cli.show(found, _check_lines)
    if not found["ok"]:
        cli.exit(_NOT_THE_SAME)


def _items(words: Iterable[str]) -> Iterator[str | dict[str, Any]]:
    for word in words:
        if word == "-":
            yield from map(_item, _stdin_lines())
        else:
            yield word


def _stdin_lines() -> list[str]:
    from kb_cli._stdin import binary

    try:
        lines = binary().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("standard input is not UTF-8", details={"field": "stdin"}) from error
    return [line.strip() for line in lines if line.strip()]


def _item(line: str) -> str | dict[str, Any]:
    if not line.startswith("{"):
        return line
    from kb_cli._stdin import NotJson, parsed

    try:
        found = parsed(line.encode("utf-8", "surrogateescape"))
    except NotJson as error:
        raise InvalidInput(
            f"{shorten(line, 40)!r} is not JSON in one line",
            hint="write one URI, one citation or one search response a line",
            details={"field": "stdin", "error": str(error)},
        ) from error
    return found if isinstance(found, dict) else line


def _check_lines(found: Shown) -> Iterator[str]:
    longest = max(map(len, _COLORS))
    for check in found["checks"]:
        status = check["status"]
        word = style(f"{status:<{longest}}", fg=_COLORS[status])
        now = check.get("now", {}).get("uri", check["uri"])
        moved = f" → {flat(now)}" if now != check["uri"] else ""
        detail = f"  ({flat(check['detail'])})" if check.get("detail") else ""
        yield f"{word}  {flat(check['uri'])}{moved}{detail}"
        yield from ("    " + printable(line, keep="\t") for line in _diff_lines(check))
    summary = found["summary"]
    parts = ", ".join(f"{summary[name]:,} {name}" for name in _COLORS if summary[name])
    yield f"{summary['total']:,} verified{f': {parts}' if parts else ''}"


def _diff_lines(check: Shown) -> list[str]:
    return str(check.get("diff", "")).removesuffix("\n").split("\n") if "diff" in check else []


def _open(cli: CliContext, place: FilePlace, *, only_says: bool) -> None:
    from kb_app.editors import open_command

    words = open_command(place, cli.environ)
    if only_says:
        echo(" ".join(map(shell_word, words)))
        return
    sys.stdout.flush()
    try:
        done = subprocess.run(words, check=False)  # noqa: S603 - words, no shell; the person's own
    except OSError as error:
        raise IoError(
            f"cannot run {words[0]!r}: {(error.strerror or str(error)).lower()}",
            hint="set VISUAL or EDITOR to the command of an editor",
            details={"command": words},
        ) from error
    if done.returncode:
        raise IoError(f"{words[0]!r} ended with {done.returncode}", details={"command": words})


def _show(cli: CliContext, result: Shown) -> None:
    """Print fetch_result.v1; what was cut or is stale is told on stderr."""
    if cli.as_json:
        cli.print_json(result)
        return
    for text in _parts(result):
        # Verbatim into a file or a pipe; a terminal must not obey what a document says.
        is_shown = sys.stdout.isatty()
        echo(printable(text, keep="\n\t") if is_shown else text, color=not is_shown)
    if result["truncated"]:
        cli.note(
            f"cut: {count(result.get('omitted_chars', 0), 'character')} left out; "
            "raise --max-tokens for more, or give --all"
        )
    flags = result.get("flags") or result.get("chunk", {}).get("flags")
    if flags:
        cli.note(f"flags: {', '.join(map(flat, flags))}")
    if result["stale"]:
        cli.note("stale: the file has changed since, or was not checked for long")


def _when(chunk: Shown) -> str:
    """Return when it is said, of what is said in a recording."""
    place = chunk["source_spans"][0]
    if place["kind"] != "time":
        return ""
    return f" {moment(place['start_ms'])}-{moment(place['end_ms'])}"


def _lines(result: Shown) -> str:
    """Return which lines it is, of a span: as many as there are of those that were asked for."""
    if "line_start" not in result:
        return ""
    first = result["line_start"]
    return f" § L{first}-L{max(first, result.get('effective_end', first))}"


def _parts(result: Shown) -> Iterator[str]:
    if result["kind"] != "chunk":
        yield f"[{printable(result['doc_path'])}{_lines(result)}]"
        yield result["text"].removesuffix("\n")
        return
    chunk = result["chunk"]
    heading = " › ".join(map(flat, chunk["heading_path"]))
    place = f"{_when(chunk)}{f' § {heading}' if heading else ''}"
    yield f"[{printable(result['doc_path'])}{place}]"
    before, after = result["context_before"], result["context_after"]
    if not before and not after:
        yield chunk["text"].removesuffix("\n")
        return
    for name, chunks in (("before", before), ("target", [chunk]), ("after", after)):
        if chunks:
            yield f"=== {name} ==="
        yield from (each["text"].removesuffix("\n") for each in chunks)
