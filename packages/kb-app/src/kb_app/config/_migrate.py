"""Bringing an older file up to date: what is missing comes in, nothing else moves."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_app import paths
from kb_app.config._edit import back_up, edited, write_text
from kb_app.config._load import load_config, parse_config, read_text
from kb_app.config._rules import Rule
from kb_app.config._settings import SCHEMA_VERSION, SECTIONS, rules
from kb_app.config._template import section_doc, toml
from kb_core.errors import ConfigNotFound

__all__ = ["Migration", "migrate_config"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What a migration changed, or would change."""

    file: Path
    from_version: int
    to_version: int
    added: tuple[str, ...]
    is_dry_run: bool
    backup: Path | None = None


def migrate_config(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    dry_run: bool = False,
) -> Migration:
    """Add every key that the file lacks, with its default; keep a copy of the old file.

    Doing it twice changes nothing the second time.
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
    new, added = _completed(old)
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
        is_dry_run=dry_run,
        backup=backup,
    )


def _completed(text: str) -> tuple[str, list[str]]:
    import tomlkit

    document, added = edited(text), []
    if "schema_version" not in document:
        text = f"schema_version = {SCHEMA_VERSION}\n{text}"
        document, added = edited(text), ["schema_version"]
    for section in SECTIONS:
        if section not in document:
            document = edited(f"{tomlkit.dumps(document).rstrip()}\n\n{_whole(section)}")
            added += [f"{section}.{key}" for key in rules(section)]
            continue
        table: Any = document[section]
        missing = {key: rule for key, rule in rules(section).items() if key not in table}
        if missing:
            _add(table, missing)
            added += [f"{section}.{key}" for key in missing]
    return tomlkit.dumps(document), added


def _whole(section: str) -> str:
    lines = [f"# {section_doc(section)}", f"[{section}]"]
    for key, rule in rules(section).items():
        lines += [f"# {rule.doc}", f"{key} = {toml(rule.shown)}"]
    return "\n".join(lines) + "\n"


def _add(table: Any, missing: Mapping[str, Rule]) -> None:  # noqa: ANN401 - or an inline one
    import tomlkit
    from tomlkit.items import Comment, InlineTable

    body, tail = table.value.body, []
    if not isinstance(table, InlineTable):
        # Blank lines and comments after the last key introduce the next section.
        end = max((at for at, (key, _) in enumerate(body) if key is not None), default=-1) + 1
        while end < len(body) and isinstance(body[end][1], Comment):
            end += 1
        tail, body[end:] = body[end:], []
    for key, rule in missing.items():
        if not isinstance(table, InlineTable):
            table.add(tomlkit.comment(rule.doc))
        table.add(key, tomlkit.value(toml(rule.shown)))
    body.extend(tail)
