"""``kebab doctor``, ``stats``, ``schema``, ``models`` and ``reset``: the installation itself."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kb_app.shown import bytes_text, count, flat, local_time, printable
from kb_cli._context import CliContext, Shown
from kb_cli._declared import Parameter, command, completed_by, option
from kb_cli._options import in_option
from kb_cli._text import pad, pairs, style, table, width
from kb_core.errors import InvalidInput

__all__ = ["doctor", "models", "reset", "schema", "stats"]

_UNHEALTHY = 3


@command("doctor", example="kebab doctor")
@option("--deep", is_flag=True, help="Open the store, too, and compare it with the index.")
@option("--repair", is_flag=True, help="Make a damaged store whole, of what can be read.")
@option("--yes", is_flag=True, help="Do not ask whether to repair.")
@option("--offline", is_flag=True, help="Ask no server: it asks none in any case.")
def doctor(cli: CliContext, deep: bool, repair: bool, yes: bool, offline: bool) -> None:  # noqa: ARG001
    """Check that everything is well, and say what to do.

    Exits 3 if something is not.

    With --repair, a damaged store is copied, and made anew of every row that can be read and of
    what the index still has; what was lost beside it comes back from the safety copies. What is
    lost is named.
    """
    if repair:
        _repair(cli, yes=yes)
        return
    with cli.open() as kb:
        found = kb.doctor(deep=deep)
    cli.show(found, lambda found: map(cli.named, _doctor_lines(found)))
    if not found["ok"]:
        cli.exit(_UNHEALTHY)


def _repair(cli: CliContext, *, yes: bool) -> None:
    """Say what is wrong and what would be done, ask, and have it done."""
    cli.writes("doctor --repair")
    with cli.open() as kb:
        found = kb.repair(dry_run=True)
        if not found["problems"]:
            cli.show(found, lambda found: map(cli.named, _repair_lines(found)))
            return
        if not yes and (cli.as_json or not cli.can_ask()):
            raise InvalidInput(
                "nobody can be asked here whether to repair",
                hint="kebab doctor --repair --yes",
                details={"field": "yes"},
            )
        if not yes:
            cli.note(*_repair_lines(found))
            if not cli.confirm("repair it?"):
                cli.note("nothing was changed")
                return
        cli.show(kb.repair(dry_run=False), lambda done: map(cli.named, _repair_lines(done)))


_MOST_NAMED = 20


_BROUGHT = {
    "added": "the document",
    "conversation": "the conversation",
    "feedback": "what was said of hits,",
    "golden_questions": "golden questions,",
    "settings": "the configuration,",
    "forgotten": "what is not to be read again,",
}


def _repair_lines(report: Shown) -> Iterator[str]:
    if not report["problems"]:
        yield "the store is whole, and nothing of the safety copy is lost: nothing to repair"
        return
    is_dry = report["dry_run"]
    yield from map(flat, report["problems"] if is_dry else report.get("unreadable", ()))
    if is_dry:
        yield f"a copy of {printable(report['store'])} is kept, if it is damaged, and a new one is"
        yield "made of every row that can be read and of what the index still has whole; what was"
        yield "lost beside it comes back from the safety copies"
        return
    if "copy" in report:
        yield f"kept as it was: {printable(report['copy'])}"
    back = report.get("brought_back", ())
    yield from _named("brought back", [f"{_BROUGHT[one['kind']]} {one['name']}" for one in back])
    if "saved" in report:
        yield from _remade_lines(report)


def _remade_lines(report: Shown) -> Iterator[str]:
    yield f"read from it: {count(report['saved'], 'document')}"
    told = {
        "restored": "restored from the index",
        "again": "to be read again, by 'kebab ingest'",
        "gone": "gone",
    }
    for name, what in told.items():
        yield f"{what}: {count(len(report[name]), 'document')}"
        yield from _named(None, report[name])


def _named(what: str | None, names: Sequence[str]) -> Iterator[str]:
    start = "  " if what is None else f"{what}: "
    yield from (f"{start}{flat(name)}" for name in names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        yield f"  and {len(names) - _MOST_NAMED:,} more: --json names all"


def _doctor_lines(doctor: Shown) -> Iterator[str]:
    checks = doctor["checks"]
    longest = max((width(check["name"]) for check in checks), default=0)
    for check in checks:
        mark = style(" ok ", fg="green") if check["ok"] else style("FAIL", fg="red")
        yield f"{mark}  {pad(check['name'], longest)}  {flat(check['detail'])}"
        if check.get("hint"):
            yield f"{' ' * (longest + 8)}hint: {flat(check['hint'])}"
    bad = sum(not check["ok"] for check in checks)
    yield f"{bad} of {len(checks)} checks failed" if bad else "everything is well"


_BREAKDOWNS = {
    "media": "media_breakdown",
    "languages": "lang_breakdown",
    "code": "code_lang_breakdown",
    "repositories": "repo_breakdown",
    "sources": "source_breakdown",
}


@command("stats", example="kebab stats")
@in_option
def stats(cli: CliContext) -> None:
    """Show counts and sizes."""
    with cli.open() as kb:
        cli.show(kb.stats(), _stats_lines)


def _stats_lines(stats: Shown) -> Iterator[str]:
    sizes = stats["index_bytes"]
    kept = ", ".join(f"{part} {bytes_text(size)}" for part, size in sizes.items() if size)
    yield from pairs(
        [
            ("documents", stats["doc_count"]),
            ("chunks", stats["chunk_count"]),
            ("stale", stats["stale_doc_count"]),
            ("last ingest", local_time(stats["last_ingest_at"])),
            ("revision", stats["corpus_revision"]),
            ("on disk", f"{bytes_text(sum(sizes.values()))}{f' ({kept})' if kept else ''}"),
            *((name, _counts(stats[key], name)) for name, key in _BREAKDOWNS.items()),
        ]
    )


def _counts(breakdown: Mapping[str, int], name: str) -> str | None:
    """Return the kinds that occur, the most frequent first, as filters take them.

    No language is a value of its filter, ``null``; of others, what has none is found by none.
    """
    present = sorted(((n, kind) for kind, n in breakdown.items() if n), key=lambda p: (-p[0], p[1]))
    spelled = {} if name == "languages" else {"null": "none"}
    return ", ".join(f"{spelled.get(kind, kind)} {n:,}" for n, kind in present) or None


@command("schema", example="kebab schema --json")
def schema(cli: CliContext) -> None:
    """Show what this installation speaks, can do and holds."""
    with cli.open() as kb:
        cli.show(kb.schema(), _schema_lines)


def _schema_lines(schema: Shown) -> Iterator[str]:
    stats = schema["stats"]
    able = sorted(name for name, can in schema["capabilities"].items() if can)
    unable = sorted(name for name, can in schema["capabilities"].items() if not can)
    yield f"kebab {schema['kebab_version']}"
    yield from pairs(
        [
            ("documents", stats["doc_count"]),
            ("chunks", stats["chunk_count"]),
            ("can", ", ".join(able) or None),
            ("cannot", ", ".join(unable) or None),
            *((f"{name} version", version) for name, version in schema["models"].items()),
            ("speaks", ", ".join(schema["wire"]["schemas"])),
        ]
    )


_HEAD = (
    "",
    "MODEL",
    "STATE",
    "DIMENSIONS",
    "TOKENS",
    "QUALITY",
    "EMBEDDED",
    "LANGUAGES",
    "LICENCE",
)


@command("models", example="kebab models")
def models(cli: CliContext) -> None:
    """List embedding models: present, selectable, active.

    `model` in the section `embedding` of the configuration chooses one.
    """
    with cli.open() as kb:
        cli.show(kb.models(), _models_lines)


def _models_lines(found: Shown) -> Iterator[str]:
    models = found["items"]
    if not models:
        yield "there are no embedding models"
        return
    rows = [
        (
            "*" if model["active"] else "",
            model["name"],
            _state(model),
            model.get("dimensions"),
            model.get("max_tokens"),
            model.get("quantization"),
            model.get("embedded"),
            model.get("languages"),
            model.get("licence"),
        )
        for model in models
    ]
    yield from table(_HEAD, rows, limit={"LANGUAGES": 24})
    for model in models:
        if model.get("hint") and not model["selectable"]:
            yield f"{model['name']}: {flat(model.get('detail', 'not selectable'))}"
            yield f"  hint: {flat(model['hint'])}"


def _state(model: Shown) -> str:
    if model["active"]:
        return "active" if model["present"] else "active, missing"
    if model["selectable"]:
        return "selectable"
    return "present" if model["present"] else "missing"


_SCOPES = {
    "all": "Everything: data, indexes, and the configuration.",
    "data-only": "Documents, indexes and vectors; not the configuration.",
    "index-only": "Indexes and vectors; they are rebuilt from the documents.",
    "vector-only": "Vector files; `kebab embed` restores them from the store.",
    "config-only": "The configuration file.",
    "orphans-only": "Documents of sources that are not configured any more.",
}


_RESET = """
kebab reset --index-only
kebab reset --workspace ~/src/some-clone
"""


@command("reset", example=_RESET)
@option(
    "--workspace",
    metavar="FOLDER",
    help="The cache of a folder that was asked with --in.",
    shell_complete=completed_by("dir"),
)
@option("--workspaces", is_flag=True, help="All caches of folders that were asked.")
@option("--yes", is_flag=True, help="Do not ask.")
def reset(
    cli: CliContext, /, yes: bool, workspace: str | None, workspaces: bool, **flags: bool
) -> None:
    """Delete what kebab keeps, or a part of it.

    Shows first what would go, and asks. Your own files are never touched.
    """
    cli.writes("reset")
    given = [name.replace("_", "-") for name, is_given in flags.items() if is_given]
    given += ["workspace"] if workspace is not None else []
    scope = _only_scope(given + (["workspaces"] if workspaces else []))
    if not yes and (cli.as_json or not cli.can_ask()):
        wanted = [f"--{scope}", *([] if workspace is None else [workspace])]
        raise InvalidInput(
            "nobody can be asked here whether to delete",
            hint=f"kebab reset {shlex.join(wanted)} --yes",
            details={"field": "yes"},
        )
    if scope.startswith("workspace"):
        from kb_app.workspaces import forget

        act = partial(forget, cli.config, workspace, cli.environ)
        _delete(cli, act, "caches of folders that were asked with --in", yes=yes)
        return
    with cli.open() as kb:
        _delete(cli, partial(kb.reset, scope), _whose(cli), yes=yes)


def _delete(cli: CliContext, act: Callable[..., Shown], whose: str, *, yes: bool) -> None:
    """Say what would go, ask, and have it go."""
    if not yes:
        cli.note(whose, *_reset_lines(act(dry_run=True)))
        if not cli.confirm("delete this?"):
            cli.note("nothing was deleted")
            return
    cli.show(act(dry_run=False), _reset_lines)


def _whose(cli: CliContext) -> str:
    config = cli.config
    sources = ", ".join(flat(source.id) for source in config.sources) or "none"
    file = f"of {printable(str(config.file))}" if config.is_found else "without a configuration"
    return f"the data {file} in {printable(str(config.storage.data_dir))}; sources: {sources}"


for _name, _help in reversed(_SCOPES.items()):
    reset.parameters.insert(0, Parameter((f"--{_name}",), {"is_flag": True, "help": _help}))


def _only_scope(given: list[str]) -> str:
    if len(given) == 1:
        return given[0]
    known = [*_SCOPES, "workspace", "workspaces"]
    scopes = ", ".join(f"--{name}" for name in known)
    raise InvalidInput(
        f"{' and '.join(f'--{name}' for name in given) or 'no scope'} given, one expected",
        hint=f"one of {scopes}",
        details={"field": "scope", "given": given, "known": known},
    )


def _reset_lines(report: Shown) -> Iterator[str]:
    gone = report["removed"]
    verb = "would delete" if report["dry_run"] else "deleted"
    for row in gone:
        yield f"{pad(bytes_text(row['bytes']), 10, right=True)}  {printable(row['path'])}"
    documents = f", {count(report['documents'], 'document')}" if "documents" in report else ""
    kept = report.get("conversations", 0)
    documents += f", {count(kept, 'conversation')}" if kept else ""
    named = report.get("collections", ())
    documents += f", collections of the engine: {', '.join(named)}" if named else ""
    total = bytes_text(sum(row["bytes"] for row in gone))
    yield f"{verb} {count(len(gone), 'file or folder', 'files and folders')}, {total}{documents}"
    for path in report.get("left", ()):
        yield f"stays, since kebab did not make it: {printable(path)}"
