"""The file as a whole: its text with every key, writing it, ``init`` and ``migrate``.

A file is written whole or not at all, and never one that does not load. ``init`` makes the
directories and a file with every key, its default and a line of explanation; ``migrate``
brings an older file up to date: what is missing comes in, nothing else moves.

Defaults are comments, ``#key = value``: what nobody set has the default of the version that
runs. What is set stays set, also to a value that is a default, or was one: nobody can tell
whether a person chose it.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kb_app import paths
from kb_app.config._load import load_config, parse_config, read_text
from kb_app.config._rules import Rule
from kb_app.config._settings import SCHEMA_VERSION, SECTIONS, Config, rules
from kb_app.config._tables import TomlError, edited, put_table
from kb_app.paths import make_private_folder
from kb_core.errors import ConfigNotFound, InvalidInput, IoError
from kb_core.values import dataclass

__all__ = [
    "InitReport",
    "Migration",
    "back_up",
    "change_settings",
    "default_text",
    "init_config",
    "migrate_config",
    "new_text",
    "section_doc",
    "toml",
    "write_text",
]

_FIXED = "make the disk writable, or name a file elsewhere"


def write_text(file: Path, text: str) -> None:
    """Replace *file* in one step; a link is followed, so that it stays one."""
    target = Path(os.path.realpath(file))
    try:
        make_private_folder(target.parent)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o600)
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        from kb_core.disk import disk_hint

        is_fixed = error.errno == errno.EROFS  # where the data lies is another matter
        raise IoError(
            f"cannot write {file}: {error.strerror}",
            hint=_FIXED if is_fixed else disk_hint(error.errno),
            details={"file": str(file)},
        ) from error


def back_up(file: Path) -> Path:
    """Copy *file* beside itself under a name that is free, and return that."""
    for number in range(1, 10_000):
        copy = file.with_name(f"{file.name}.bak-{number}")
        if not copy.exists():
            write_text(copy, file.read_text("utf-8"))
            return copy
    raise IoError(f"there are thousands of backups of {file}", hint="delete some")


_COMMENTED = re.compile(r"\s*#\s*(\w+)\s*=(?!=)")
_LONE_END = re.compile(r"(?<!\r)\n")

_HEAD = f"""\
# kebab: a knowledge base on your own machine.
#
# Every key is here as a comment with its default: take the # away to set it. What is not set
# follows the defaults of later versions; `kebab config show` prints what is in effect, and
# where it comes from.
# Paths may hold ~, $VAR and ${{VAR:-default}}; a relative path is relative to this file.
# KEBAB_<SECTION>_<KEY> in the environment wins over this file.
schema_version = {SCHEMA_VERSION}

# What is indexed. `kebab add PATH` and `kebab remove ID` write this for you:
#
# [[sources]]
"""


def default_text(shown: Mapping[str, object] | None = None) -> str:
    """Return the whole file; what is *shown*, by ``section.key``, is set, not a comment."""
    shown = shown or {}
    lines = [_HEAD.rstrip(), *_source_lines()]
    for section in SECTIONS:
        lines += ["", f"# {section_doc(section)}", f"[{section}]"]
        for key, rule in rules(section).items():
            name = f"{section}.{key}"
            is_set = name in shown
            value = shown[name] if is_set else rule.shown
            lines += [f"# {rule.doc}", f"{'' if is_set else '#'}{key} = {toml(value)}"]
    return "\n".join(lines) + "\n"


def section_doc(section: str) -> str:
    """Return what a section is about, in one line."""
    doc = SECTIONS[section].__doc__ or section  # python -OO has no docstrings
    return " ".join(doc.split())


def toml(value: object) -> str:
    """Print a value of a setting as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(toml, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _source_lines() -> Iterator[str]:
    known = rules("sources")
    width = max(len(_assignment(key, rule)) for key, rule in known.items())
    for key, rule in known.items():
        yield f"# {_assignment(key, rule):<{width}}  # {rule.doc}"


def _assignment(key: str, rule: Rule) -> str:
    return f"{key} = {toml(rule.shown)}"


def _escaped(character: str) -> str:
    if character in {'"', "\\"}:
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{ord(character):04X}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitReport:
    """What ``init_config`` made, and what it found made already."""

    config: Config
    created: tuple[Path, ...]
    existing: tuple[Path, ...]
    backup: Path | None = None


def init_config(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    force: bool = False,
) -> InitReport:
    """Write the default configuration, and make the directories that it names.

    Without *path*, everything is at the XDG places; with one, everything is beside it.
    A file that is there stays, unless *force*: then a copy of it stays.
    """
    environ = paths.environment() if environ is None else environ
    file = path or paths.config_file(environ)
    old = read_text(file)
    if old is not None and not force:
        raise InvalidInput(
            f"there is a configuration at '{file}' already",
            hint="`kebab config migrate` adds missing keys; `kebab init --force` starts anew",
            details={"file": str(file)},
        )
    backup = back_up(file) if old is not None else None
    text = new_text(path, environ)
    config = parse_config(text, file, environ)
    write_text(file, text)
    made, found = _make([config.storage.data_dir, config.log.dir])
    return InitReport(config=config, created=(file, *made), existing=found, backup=backup)


def new_text(path: Path | None, environ: Mapping[str, str]) -> str:
    """Return the text of a new file at *path*, or at the usual place."""
    if path is None or path == paths.config_file(environ):
        return default_text()
    # Not the name of a folder that may hold other things: `reset` deletes it.
    return default_text({"storage.data_dir": "kebab-data", "log.dir": "kebab-log"})


def config_or_new(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Return the configuration, or where the named file is not there that of ``init``.

    ``is_found`` says which; nothing is written.
    """
    if path is None or read_text(path) is not None:
        return load_config(path, environ)
    return parse_config(new_text(path, environ), path, environ, is_found=False)


def _make(folders: list[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    made: list[Path] = []
    found: list[Path] = []
    for folder in folders:
        (found if folder.is_dir() else made).append(folder)
        try:
            paths.make_private_folder(folder)
        except OSError as error:
            raise IoError(
                f"cannot make the folder '{folder}': {error.strerror}",
                details={"path": str(folder)},
            ) from error
    return tuple(made), tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What a migration changed, or would change."""

    file: Path
    from_version: int
    to_version: int
    added: tuple[str, ...]
    held: tuple[str, ...]
    """Keys that are set to what is their default anyhow: they will not follow a later one."""
    is_dry_run: bool
    backup: Path | None = None


def migrate_config(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    dry_run: bool = False,
) -> Migration:
    """Add every key that the file lacks, as a comment with its default; keep a copy of it.

    What is in effect stays as it is, and doing it twice changes nothing the second time.
    """
    environ = paths.environment() if environ is None else environ
    config = load_config(path, environ)
    old = read_text(config.file)
    if old is None:
        raise ConfigNotFound(
            f"there is no configuration at '{config.file}'",
            hint="kebab init",
            details={"file": str(config.file)},
        )
    new, added = _completed(old, _own(config, environ))
    backup = None
    if added and not dry_run:
        parse_config(new, config.file, environ)
        backup = back_up(config.file)
        write_text(config.file, new)
    return Migration(
        file=config.file,
        from_version=tomllib.loads(old).get("schema_version", 0),
        to_version=SCHEMA_VERSION,
        added=tuple(added),
        held=tuple(_held(tomllib.loads(old))),
        is_dry_run=dry_run,
        backup=backup,
    )


def change_settings(
    values: Mapping[str, object],
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Write settings by their full names, ``search.fusion``, and return the configuration.

    Comments, and what is not named, stay as they are.
    """
    environ = paths.environment() if environ is None else environ
    config = load_config(path, environ)
    old = read_text(config.file)
    text = new_text(path, environ) if old is None else old
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        try:
            text = put_table(text, section.split("."), {key: value})
        except TomlError as error:
            raise InvalidInput(
                f"{config.file}: {error}",
                hint=f"write {key} = {toml(value)} into [{section}] there",
                details={"field": name, "value": value},
            ) from error
    changed = parse_config(text, config.file, environ)
    write_text(config.file, text)
    return changed


def _held(tables: Mapping[str, Any]) -> Iterator[str]:
    for section in SECTIONS:
        for key, value in tables.get(section, {}).items():
            if toml(value) == toml(rules(section)[key].shown):
                yield f"{section}.{key}"


def _own(config: Config, environ: Mapping[str, str]) -> Mapping[str, object]:
    """Return the defaults that are this file's alone: completing it moves no data."""
    data_dir = config.storage.data_dir
    if data_dir == paths.data_dir(environ) or "storage.data_dir" in config.origins:
        return {}
    return {"storage.data_dir": data_dir.name.replace("$", "$$")}


def _completed(text: str, own: Mapping[str, object]) -> tuple[str, list[str]]:
    import tomlkit

    document, added = edited(text), []
    if "schema_version" not in document:
        text = f"schema_version = {SCHEMA_VERSION}\n{text}"
        document, added = edited(text), ["schema_version"]
    for section in SECTIONS:
        if section not in document:
            document = edited(f"{tomlkit.dumps(document).rstrip()}\n\n{_whole(section, own)}")
            added += [f"{section}.{key}" for key in rules(section)]
            continue
        table: Any = document[section]
        if getattr(table, "display_name", None) is None:
            continue  # an inline table or dotted keys: no place for comments
        known = {*table, *_commented(table)}
        missing = [key for key in rules(section) if key not in known]
        if missing:
            _add(table, [line for key in missing for line in _explained(section, key, own)])
            added += [f"{section}.{key}" for key in missing]
    made = tomlkit.dumps(document)
    return _LONE_END.sub("\r\n", made) if "\r\n" in text else made, added


def _commented(table: Any) -> Iterator[str]:  # noqa: ANN401 - as tomlkit has it
    """Yield the keys that stand in *table* as comments."""
    for _, item in table.value.body:
        match = _COMMENTED.match(item.as_string())
        if match:
            yield match[1]


def _explained(section: str, key: str, own: Mapping[str, object]) -> Iterator[str]:
    """Yield the two lines of a key that is not set."""
    rule = rules(section)[key]
    yield f"# {rule.doc}"
    yield f"#{key} = {toml(own.get(f'{section}.{key}', rule.shown))}"


def _whole(section: str, own: Mapping[str, object]) -> str:
    lines = [f"# {section_doc(section)}", f"[{section}]"]
    for key in rules(section):
        lines += _explained(section, key, own)
    return "\n".join(lines) + "\n"


def _add(table: Any, lines: Iterable[str]) -> None:  # noqa: ANN401 - as tomlkit has it
    """Add comments after the last key of *table*, and after those that belong to it."""
    from tomlkit.items import Comment, Trivia

    body = table.value.body
    # Blank lines and comments after the last key introduce the next section.
    end = max((at for at, (key, _) in enumerate(body) if key is not None), default=-1) + 1
    while end < len(body) and isinstance(body[end][1], Comment):
        end += 1
    added = [(None, Comment(Trivia(comment_ws="", comment=line))) for line in lines]
    body[end:end] = added
