"""``kebab init`` and ``kebab config``: the configuration, made, shown, completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app.shown import printable
from kb_cli._context import CliContext
from kb_cli._declared import command, option, subgroup
from kb_cli._text import echo, pad, width

if TYPE_CHECKING:
    from kb_app.config import Config, Migration

__all__ = ["config", "init"]

_NAMED = 5

_INIT = """
kebab init
kebab --config ./kb/config.toml init
"""


@command("init", example=_INIT)
@option("--force", is_flag=True, help="Start anew; the old file stays as a copy.")
def init(cli: CliContext, force: bool) -> None:
    """Write a configuration with every key explained.

    It goes to the usual place, or to the file that --config names; then everything else is
    kept beside that file.
    """
    from kb_app.config import init_config

    cli.writes("init")
    report = init_config(cli.config_path, cli.environ, force=force)
    if cli.as_json:
        from kb_core import wire

        config = report.config
        created, existing = map(str, report.created), map(str, report.existing)
        cli.print_json(
            wire.init_report(
                str(config.file), str(config.storage.data_dir), created=created, existing=existing
            )
        )
        return
    for path in report.created:
        echo(f"made {printable(str(path))}")
    if report.backup:
        echo(f"the old file is {printable(str(report.backup))}")
    cli.note("next: kebab add PATH")


@subgroup("config", example="kebab config show")
def config() -> None:
    """Show or complete the configuration."""


@command("show", example="kebab config show")
def _show(cli: CliContext) -> None:
    """Print every value in effect, and where it comes from."""
    if cli.as_json:
        cli.print_json(_report(cli.config))
    else:
        echo("\n".join(_lines(cli.config)))


@command("path", example="kebab config path")
def _path(cli: CliContext) -> None:
    """Print where the configuration file is, or would be."""
    if cli.as_json:
        cli.print_json(_report(cli.config))
        return
    from kb_app import paths

    # Also where the file is broken: that is when one looks for it.
    file = cli.config_path or paths.config_file(cli.environ)
    is_there = file.exists() or cli.config.is_found
    echo(printable(str(file)))
    if not is_there:
        cli.note("there is no such file yet: kebab init")


@command("migrate", example="kebab config migrate --dry-run")
@option("--dry-run", is_flag=True, help="Say what would be added; write nothing.")
def _migrate(cli: CliContext, dry_run: bool) -> None:
    """Add keys that the file lacks, as comments with their defaults.

    Values and comments stay as they are, what is in effect too, and a copy of the old file
    is kept.
    """
    from kb_app.config import migrate_config

    if not dry_run:
        cli.writes("config migrate")
    done = migrate_config(cli.config_path, cli.environ, dry_run=dry_run)
    if cli.as_json:
        cli.print_json(_migration(done))
        return
    for key in done.added:
        echo(f"{'would add' if dry_run else 'added'} {key}")
    if not done.added:
        echo("nothing is missing")
    if done.held:
        more = len(done.held) - _NAMED
        names = ", ".join(done.held[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        cli.note(f"set to their defaults, and not following later ones: {names}")
    if done.backup:
        cli.note(f"the old file is {printable(str(done.backup))}")


for _sub in (_show, _path, _migrate):
    config.add_command(_sub)


def _report(config: Config) -> Mapping[str, Any]:
    from kb_core import wire

    settings = [
        {"key": key, "value": _plain(value), "origin": origin.kind, "detail": origin.detail}
        for key, value, origin in config.settings()
    ]
    file = str(config.file) if config.is_found else None
    return wire.config_report(file, settings, map(asdict, config.sources))


def _migration(done: Migration) -> Mapping[str, Any]:
    from kb_core import wire

    return wire.config_migration(
        str(done.file),
        (done.from_version, done.to_version),
        added=done.added,
        dry_run=done.is_dry_run,
        backup_path=str(done.backup) if done.backup else None,
    )


def _lines(config: Config) -> Iterator[str]:
    """Yield the configuration as TOML, each value with its origin as a comment."""
    yield f"# {printable(str(config.file))}{'' if config.is_found else ' (no such file)'}"
    for source in config.sources:
        yield from ("", "[[sources]]")
        yield from (f"{key} = {_toml(value)}" for key, value in asdict(source).items())
    section = ""
    for name, value, origin in config.settings():
        table, _, key = name.partition(".")
        if table != section:
            section = table
            yield from ("", f"[{table}]")
        where = origin.detail or origin.kind.replace("_", " ")
        text = f"{key} = {_toml(value)}"
        yield f"{pad(text, max(38, width(text)))}  # {where}"


def _plain(value: object) -> object:
    """Return a setting's value as JSON has it."""
    if isinstance(value, Path):
        return str(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _toml(value: object) -> str:
    from kb_app.config import toml

    return printable(toml(_plain(value)))
