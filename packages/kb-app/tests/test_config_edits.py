"""Writing: the first file, and bringing an older one up to date."""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app.config import SECTIONS, Config, init_config, load_config, migrate_config
from kb_core.errors import ConfigInvalid, ConfigNotFound, InvalidInput, IoError


def uncommented(text: str) -> str:
    """Return *text* with every key set that is a comment."""
    return re.sub(r"^#(\w+ = )", r"\1", text, flags=re.MULTILINE)


def whose(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in ("file", "is_found", "origins")}


def test_the_first_file_has_every_key_its_default_and_a_line_on_it(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    defaults = load_config(None, environ)

    config = init_config(None, environ).config

    text = config.file.read_text()
    lines = text.splitlines()
    for section, cls in SECTIONS.items():
        assert tomllib.loads(text)[section] == {}
        assert getattr(config, section) == getattr(defaults, section)
        for field in dataclasses.fields(cls):
            at = next(n for n, line in enumerate(lines) if line.startswith(f"#{field.name} = "))
            assert lines[at - 1].startswith("# ")
    config.file.write_text(uncommented(text))
    every = load_config(None, environ)
    assert dataclasses.replace(every, **whose(defaults)) == defaults
    for name in ("id", "root", "include", "exclude", "trust_level", "source_type"):
        assert f"# {name} = " in text


def test_the_example_of_a_source_works_when_its_comment_marks_are_taken_away(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes").mkdir()
    text = init_config(None, {"HOME": str(tmp_path)}).config.file.read_text()
    block = text[text.index("# [[sources]]") :].split("\n\n")[0]
    example = "\n".join(line.removeprefix("# ") for line in block.splitlines())
    (tmp_path / "c.toml").write_text(example)

    (source,) = load_config(tmp_path / "c.toml", {"HOME": str(tmp_path)}).sources

    assert source.root == tmp_path / "notes"


def test_lesson_8_data_and_configuration_never_share_a_folder(tmp_path: Path) -> None:
    """They did on one platform, and ``reset`` erased the configuration with the data."""
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "d")}

    usual = init_config(None, environ).config
    named = init_config(tmp_path / "x" / "c.toml", environ).config

    for config in (usual, named):
        folders = [config.storage.data_dir, config.log.dir]
        assert all(config.file.parent != folder for folder in folders)
        assert not any(config.file.is_relative_to(folder) for folder in folders)
    assert named.storage.data_dir.is_relative_to(tmp_path / "x")
    assert usual.storage.data_dir == tmp_path / "d" / "kebab"


def test_the_data_folder_is_private(tmp_path: Path) -> None:
    config = init_config(None, {"HOME": str(tmp_path)}).config

    assert config.storage.data_dir.stat().st_mode & 0o077 == 0


def test_a_second_init_is_refused_and_a_forced_one_keeps_a_copy(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    file = init_config(None, environ).config.file
    file.write_text("# mine\n")

    with pytest.raises(InvalidInput, match="already"):
        init_config(None, environ)
    forced = init_config(None, environ, force=True)

    assert forced.backup == file.with_name("config.toml.bak-1")
    assert forced.backup.read_text() == "# mine\n"
    assert forced.existing == (forced.config.storage.data_dir, forced.config.log.dir)


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    with pytest.raises(IoError, match="cannot write"):
        init_config(tmp_path / "taken" / "c.toml", {"HOME": str(tmp_path)})


OLD = """\
# My configuration.

[search]            # how I search
default_k = 7       # lucky
# fusion = "rrf"

# How it looks.
[ui]
theme = 'light'
[[sources]]
id = "n"            # notes
root = "~/n"

[log]
"""


def test_migration_adds_what_is_missing_and_moves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(OLD)
    environ = {"HOME": str(tmp_path)}
    before = load_config(file, environ)

    done = migrate_config(file, environ)

    new = file.read_text()
    after = load_config(file, environ)
    assert set(OLD.splitlines()) <= set(new.splitlines())
    assert 'default_k = 7       # lucky\n# fusion = "rrf"\n# Length of a snippet.\n' in new
    assert "# How it looks.\n[ui]\ntheme = 'light'\n# Queries" in new
    assert "#query_history = 100\n[[sources]]\n" in new
    assert (after.search, after.ui, after.sources) == (before.search, before.ui, before.sources)
    assert (after.storage, after.log) == (before.storage, before.log)
    assert done.backup is not None
    assert done.backup.read_text() == OLD
    assert (done.from_version, done.to_version) == (0, 1)
    assert "search.rrf_k" in done.added
    assert "search.default_k" not in done.added


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(OLD)
    migrate_config(file, {})
    once = file.read_bytes()

    again = migrate_config(file, {})

    assert (again.added, again.backup) == ((), None)
    assert file.read_bytes() == once
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.toml", "c.toml.bak-1"]


def test_migration_ends_lines_as_the_file_does(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.toml", tmp_path / "theirs.toml"
    ours.write_bytes(OLD.encode())
    theirs.write_bytes(OLD.replace("\n", "\r\n").encode())

    added = [migrate_config(file, {}).added for file in (ours, theirs)]

    expected = ours.read_bytes().replace(b"kebab-data-ours", b"kebab-data-theirs")
    assert added[0] == added[1]
    assert theirs.read_bytes() == expected.replace(b"\n", b"\r\n")
    assert migrate_config(theirs, {}).added == ()


def test_a_fresh_file_lacks_nothing(tmp_path: Path) -> None:
    file = init_config(tmp_path / "c.toml", {"HOME": str(tmp_path)}).config.file

    assert migrate_config(file, {}).added == ()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(OLD)

    done = migrate_config(file, {}, dry_run=True)

    assert done.is_dry_run
    assert done.added
    assert file.read_text() == OLD
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_wrong_or_missing_is_not_migrated(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[search]\nk = 1\n")

    with pytest.raises(ConfigInvalid):
        migrate_config(tmp_path / "c.toml", {})
    with pytest.raises(ConfigNotFound):
        migrate_config(tmp_path / "no.toml", {})
    with pytest.raises(ConfigNotFound):
        migrate_config(None, {"HOME": str(tmp_path)})


KEYS = [(section, f.name) for section, cls in SECTIONS.items() for f in dataclasses.fields(cls)]


@settings(max_examples=25)
@given(dropped=st.sets(st.sampled_from(KEYS)), inline=st.booleans())
def test_whatever_is_missing_migration_completes_it(
    tmp_path_factory: pytest.TempPathFactory, dropped: set[tuple[str, str]], inline: bool
) -> None:
    folder = tmp_path_factory.mktemp("kb")
    environ = {"HOME": str(folder)}
    file = init_config(None, environ).config.file
    whole = load_config(file, environ)
    text = _written(tomllib.loads(uncommented(file.read_text())), dropped, inline=inline)
    file.write_text(text)

    done = migrate_config(file, environ)

    now = load_config(file, environ)
    assert dataclasses.replace(now, **whose(whole)) == whole
    assert migrate_config(file, environ).added == ()
    assert set(done.held) == {f"{s}.{k}" for s, k in set(KEYS) - dropped}
    if not inline:
        assert set(done.added) == {f"{s}.{k}" for s, k in dropped} | {"schema_version"}
        completed = tomllib.loads(uncommented(file.read_text()))
        assert {(s, k) for s in SECTIONS for k in completed[s]} == set(KEYS)


def test_what_nobody_set_follows_a_default_that_changes(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    file = init_config(None, environ).config.file
    old = tmp_path / "old.toml"
    old.write_text("[search]\ndefault_k = 7\n")
    migrate_config(old, environ)

    for written in (file, old):
        set_by = {key: origin.kind for key, _, origin in load_config(written, environ).settings()}
        known = {key for key, kind in set_by.items() if kind == "file"}
        assert known == ({"search.default_k"} if written == old else set())


def test_a_file_of_inline_tables_and_dotted_keys_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    sections = [s for s in SECTIONS if s not in {"search", "ui"}]
    text = "schema_version = 1\nui = { theme = 'light' }\nsearch.default_k = 7\n"
    file.write_text(text + "".join(f"[{section}]\n" for section in sections))

    migrate_config(file, {"HOME": str(tmp_path)})

    assert file.read_text().startswith(text)
    assert load_config(file, {"HOME": str(tmp_path)}).search.default_k == 7


def _written(
    tables: dict[str, dict[str, object]], dropped: set[tuple[str, str]], *, inline: bool
) -> str:
    from kb_app.config import toml

    lines = []
    for section in SECTIONS:
        kept = {k: v for k, v in tables[section].items() if (section, k) not in dropped}
        pairs = [f"{key} = {toml(value)}" for key, value in kept.items()]
        if inline:
            lines.append(f"{section} = {{ {', '.join(pairs)} }}")
        elif kept:
            lines += [f"[{section}]", *pairs, ""]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("number", "way_out"),
    [(errno.ENOSPC, "free some space"), (errno.EROFS, "elsewhere"), (errno.EACCES, "the right")],
)
def test_a_file_that_the_disk_refuses_stays_as_it_was_and_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, way_out: str
) -> None:
    config = init_config(None, {"HOME": str(tmp_path)}).config
    before = config.file.read_text()
    lines = [line for line in before.splitlines(keepends=True) if "default_k" not in line]
    config.file.write_text("".join(lines))

    def refuses(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuses)
    with pytest.raises(IoError, match=r"cannot write .*config\.toml") as refused:
        migrate_config(config.file, {"HOME": str(tmp_path)})

    assert way_out in (refused.value.hint or "")
    assert config.file.read_text() == "".join(lines)
