"""Passwords: known to parsers, tried again when others are known, and never shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kb_app._ingest.settings import ingest_settings, locked_hash, settings_hash
from kb_app.config import Config, parse_config, passwords_of
from kb_app.testing.parts import SETTINGS
from kb_core.documents import SourceFile
from kb_core.errors import ConfigInvalid

SECRET = "hunter2-hunter2"
TEXT = f'[[passwords]]\nvalue = "{SECRET}"\n\n[[passwords]]\nvalue = "other"\n'


def config_of(text: str, environ: dict[str, str] | None = None) -> Config:
    return parse_config(text, Path("/x/config.toml"), {"HOME": "/home/x", **(environ or {})})


def test_those_of_the_file_and_of_the_variable_are_all_candidates(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text("third\n\nother\n with blanks \n", "utf-8")
    config = config_of(TEXT, {"KEBAB_PASSWORDS_FILE": str(file)})

    assert passwords_of(config.passwords, file) == (SECRET, "other", "third", " with blanks ")
    assert config.warnings == ()
    told = ingest_settings(config).options["pdf"]
    assert told["passwords"] == passwords_of(config.passwords, file)
    assert "passwords" not in ingest_settings(config_of("")).options["pdf"]


def test_nothing_that_is_printed_holds_one() -> None:
    config = config_of(TEXT)

    assert SECRET not in repr(config)
    assert SECRET not in repr(ingest_settings(config))
    assert SECRET not in repr(list(config.settings()))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f'passwords = "{SECRET}"', "passwords is not a list of tables"),
        (f'passwords = ["{SECRET}"]', "[[passwords]] 1 is not a table"),
        (f'[[passwords]]\npassword = "{SECRET}"', "unknown key 'password' in [passwords]"),
        ("[[passwords]]\nvalue = 12345678", "[[passwords]] 1 has no value that is text"),
        ("[[passwords]]\n", "[[passwords]] 1 has no value that is text"),
    ],
)
def test_what_is_written_wrongly_is_named_without_its_value(text: str, complaint: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        config_of(text)

    told = f"{raised.value} {raised.value.hint} {raised.value.details}"
    assert complaint in told
    assert SECRET not in told
    assert "12345678" not in told


def test_a_file_that_cannot_be_read_is_named_when_it_is_needed(tmp_path: Path) -> None:
    config = config_of("", {"KEBAB_PASSWORDS_FILE": str(tmp_path / "none")})

    with pytest.raises(ConfigInvalid, match="KEBAB_PASSWORDS_FILE"):
        ingest_settings(config)


def test_another_password_concerns_locked_files_alone() -> None:
    file = SourceFile(source_id="s", path="a.pdf", media="pdf")
    known = [
        replace(SETTINGS, options={"pdf": {"passwords": names}}) for names in (("a",), ("a", "b"))
    ]

    assert len({settings_hash(file, each) for each in [SETTINGS, *known]}) == 1
    assert len({locked_hash(file, each) for each in [SETTINGS, *known]}) == 3


def test_what_parsers_are_told_is_told_by_medium() -> None:
    told = ingest_settings(
        config_of(f"[audio]\nmax_minutes = 7\n[ocr]\nmax_megapixels = 9\n{TEXT}")
    )

    assert told.options["audio"]["max_minutes"] == told.options["video"]["max_minutes"] == 7
    assert told.options["image"]["max_megapixels"] == told.options["pdf"]["max_megapixels"] == 9
    assert told.options["pdf"]["passwords"] == (SECRET, "other")
