"""Where a configuration keeps its data when it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kb_app import load_config
from kb_app.config import Config, parse_config
from kb_app.testing.parts import open_here
from kb_core.ingest import IngestOptions

NO_MODEL = '[embedding]\nmodel = "none"\n'


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "XDG_DATA_HOME": str(tmp_path / "share"),
    }


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    return tmp_path / "share" / "kebab"


def _source(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_text("# Otters\n\nOtters swim.\n", "utf-8")
    return f'[[sources]]\nid = "{folder.name}"\nroot = "{folder}"\n'


def _ingest(text: str, usual: Path, environ: Mapping[str, str]) -> None:
    """Index the sources of *text* into the usual folder."""
    stored = f'[storage]\ndata_dir = "{usual}"\n'
    config = parse_config(NO_MODEL + stored + text, usual.parent / "once.toml", environ)
    with open_here(config) as kb:
        for _ in kb.ingest(IngestOptions()):
            pass


def _named(file: Path, text: str, environ: Mapping[str, str]) -> Config:
    file.write_text(NO_MODEL + text, "utf-8")
    return load_config(file, environ)


@pytest.mark.parametrize(
    ("name", "folder"),
    [("config.toml", "kebab-data"), ("kebab.toml", "kebab-data"), ("work.toml", "kebab-data-work")],
)
def test_a_named_configuration_has_a_data_directory_of_its_own(
    tmp_path: Path, environ: Mapping[str, str], usual: Path, name: str, folder: str
) -> None:
    usual.mkdir(parents=True)
    config = _named(tmp_path / name, _source(tmp_path / "notes"), environ)

    assert config.storage.data_dir == tmp_path / folder
    assert config.warnings == ()


def test_the_usual_configuration_has_the_usual_one_also_if_it_is_named(
    tmp_path: Path, environ: Mapping[str, str], usual: Path
) -> None:
    file = tmp_path / "settings" / "kebab" / "config.toml"
    file.parent.mkdir(parents=True)

    assert _named(file, "", environ).storage.data_dir == usual
    assert load_config(None, environ).storage.data_dir == usual


@pytest.mark.parametrize("said", ["file", "environment", "command line"])
def test_what_is_said_counts(
    tmp_path: Path, environ: Mapping[str, str], usual: Path, said: str
) -> None:
    there = tmp_path / "there"
    text = f'[storage]\ndata_dir = "{there}"\n' if said == "file" else ""
    variables = {"KEBAB_STORAGE_DATA_DIR": str(there)} if said == "environment" else {}
    options = {"storage.data_dir": str(there)} if said == "command line" else {}
    file = tmp_path / "work.toml"
    file.write_text(text, "utf-8")

    config = load_config(file, {**environ, **variables}, overrides=options)

    assert config.storage.data_dir == there


def test_what_is_in_the_usual_one_already_is_found_there_still_and_after_another_source(
    tmp_path: Path, environ: Mapping[str, str], usual: Path
) -> None:
    one, other = _source(tmp_path / "one"), _source(tmp_path / "other")
    _ingest(one, usual, environ)

    for text in (one, one + other):
        config = _named(tmp_path / "work.toml", text, environ)
        assert config.storage.data_dir == usual
        (warning,) = config.warnings
        assert str(usual) in warning
        assert "storage.data_dir" in warning


def test_the_usual_one_of_others_is_left_alone(
    tmp_path: Path, environ: Mapping[str, str], usual: Path
) -> None:
    one, other = _source(tmp_path / "one"), _source(tmp_path / "other")
    _ingest(one + other, usual, environ)

    config = _named(tmp_path / "work.toml", one, environ)
    assert config.storage.data_dir == tmp_path / "kebab-data-work"
    assert str(usual) in config.warnings[0]

    stranger = _named(tmp_path / "work.toml", _source(tmp_path / "third"), environ)
    assert stranger.storage.data_dir == tmp_path / "kebab-data-work"
    assert stranger.warnings == ()


def test_its_own_one_is_kept_once_it_is_there(
    tmp_path: Path, environ: Mapping[str, str], usual: Path
) -> None:
    one = _source(tmp_path / "one")
    _ingest(one, usual, environ)
    (tmp_path / "kebab-data-work").mkdir()

    config = _named(tmp_path / "work.toml", one, environ)

    assert config.storage.data_dir == tmp_path / "kebab-data-work"
    assert config.warnings == ()
