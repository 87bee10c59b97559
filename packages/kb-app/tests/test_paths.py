"""Directories and paths: one meaning everywhere (lesson 37)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_app import paths

ENV = {"HOME": "/home/me", "NOTES": "/n", "EMPTY": "", "TILDE": "~/x"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/a/b", "/a/b"),
        ("a", "/base/a"),
        ("./a/../b", "/base/b"),
        ("~", "/home/me"),
        ("~/a", "/home/me/a"),
        ("$NOTES/a", "/n/a"),
        ("${NOTES}a", "/na"),
        ("${MISSING:-/d}/a", "/d/a"),
        ("${EMPTY:-/d}/a", "/d/a"),
        ("${MISSING:-~/d}/a", "/home/me/d/a"),
        ("${MISSING:-${NOTES}/x}", "/n/x"),
        ("${MISSING:-${NONE:-/deep}}", "/deep"),
        ("a$$b", "/base/a$b"),
        ("a~b", "/base/a~b"),
        ("cost$", "/base/cost$"),
        ("$5", "/base/$5"),
        ("한국어/$NOTES", "/base/한국어/n"),
    ],
)
def test_lesson_37_a_path_means_the_same_wherever_it_is_written(text: str, meant: str) -> None:
    assert paths.resolve(text, base=Path("/base"), environ=ENV) == Path(meant)


@pytest.mark.parametrize("text", ["", "$MISSING/a", "$EMPTY/data", "${NOTES", "${1}", "a\0b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    """An unset variable as nothing would turn ``$X/data`` into ``/data``."""
    with pytest.raises(ValueError, match=r"path|set|closed"):
        paths.resolve(text, base=Path("/base"), environ=ENV)


def test_an_argument_of_the_command_line_has_no_variables_left() -> None:
    assert paths.from_argument("~/a$b", ENV) == Path("/home/me/a$b")
    assert paths.from_argument("x", ENV) == Path.cwd() / "x"
    for name in ("~no-such-user/x", "~$letter.docx", "~~"):
        assert paths.from_argument(name, ENV) == Path.cwd() / name


def test_a_home_of_another_user_is_found_or_refused() -> None:
    """A folder called ``~no-such-user`` would be made where nobody looks."""
    assert paths.expand("~root/x", ENV) == str(Path("~root/x").expanduser())
    assert paths.expand("./~no-such-user/x", ENV) == "./~no-such-user/x"
    with pytest.raises(ValueError, match="no user 'no-such-user', as in '~no-such-user/x'"):
        paths.expand("~no-such-user/x", ENV)


def test_directories_follow_xdg_and_ignore_relative_ones() -> None:
    named = ENV | {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "rel", "XDG_STATE_HOME": ""}

    assert paths.config_file(named) == Path("/c/kebab/config.toml")
    assert paths.data_dir(named) == Path("/home/me/.local/share/kebab")
    assert paths.state_dir(named) == Path("/home/me/.local/state/kebab")
    assert paths.cache_dir(named) == Path("/home/me/.cache/kebab")
    assert paths.config_file(ENV) == Path("/home/me/.config/kebab/config.toml")
