"""Which command opens a place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kb_app.editors import FilePlace, open_command, viewer_of
from kb_core.errors import ConfigInvalid, IoError

NOTE = FilePlace("/notes/a b.md", line=12)
PAPER = FilePlace("/papers/rrf.pdf", page=13, is_text=False, media="pdf")
TALK = FilePlace("/talks/a b.mp3", start_ms=822_500, is_text=False, media="audio")
WEB = FilePlace("/web/a b.html", words="Co-op: 10% & more", is_text=False, media="html")


def program(folder: Path, name: str) -> str:
    """Put a program of that name into *folder*."""
    file = folder / name
    file.write_text("#!/bin/sh\n", "utf-8")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+12", "/notes/a b.md"]),
        ("vi", ["vi", "+12", "/notes/a b.md"]),
        ("/usr/local/bin/nvim -R", ["/usr/local/bin/nvim", "-R", "+12", "/notes/a b.md"]),
        ("nano", ["nano", "+12", "/notes/a b.md"]),
        ("emacsclient -t", ["emacsclient", "-t", "+12", "/notes/a b.md"]),
        ("micro", ["micro", "+12", "/notes/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/notes/a b.md:12"]),
        ("codium", ["codium", "--goto", "/notes/a b.md:12"]),
        ("cursor", ["cursor", "--goto", "/notes/a b.md:12"]),
        ("hx", ["hx", "/notes/a b.md:12"]),
        ("subl", ["subl", "/notes/a b.md:12"]),
        ("zed", ["zed", "/notes/a b.md:12"]),
        ("my-editor --now", ["my-editor", "--now", "/notes/a b.md"]),
        ("'/opt/my tools/vim'", ["/opt/my tools/vim", "+12", "/notes/a b.md"]),
        ("vim; rm -rf $HOME", ["vim;", "rm", "-rf", "$HOME", "/notes/a b.md"]),
    ],
)
def test_an_editor_is_called_at_the_line_as_it_wants(editor: str, words: list[str]) -> None:
    assert open_command(NOTE, {"EDITOR": editor}) == words


def test_visual_comes_before_editor_and_blank_is_none() -> None:
    assert open_command(NOTE, {"VISUAL": "hx", "EDITOR": "vim"})[0] == "hx"
    assert open_command(NOTE, {"VISUAL": " ", "EDITOR": "vim"})[0] == "vim"


def test_without_a_line_an_editor_gets_the_file() -> None:
    assert open_command(FilePlace("/a.md"), {"EDITOR": "vim"}) == ["vim", "/a.md"]


def test_a_path_is_one_word_whatever_it_holds() -> None:
    nasty = FilePlace("/notes/$(reboot) `x`; 'y' \"z\"\n.md", line=1)

    assert open_command(nasty, {"EDITOR": "vim"}) == ["vim", "+1", nasty.path]


def test_without_an_editor_the_desktop_opens_it(tmp_path: Path) -> None:
    opener = program(tmp_path, "xdg-open")

    assert open_command(NOTE, {"PATH": str(tmp_path)}) == [opener, NOTE.path]


def test_a_paper_is_opened_at_its_page_where_a_viewer_can(tmp_path: Path) -> None:
    opener = program(tmp_path, "xdg-open")
    environ = {"PATH": str(tmp_path), "EDITOR": "vim"}
    assert open_command(PAPER, environ) == [opener, PAPER.path]

    viewer = program(tmp_path, "zathura")

    assert open_command(PAPER, environ) == [viewer, "--page=13", PAPER.path]


@pytest.mark.parametrize(
    ("name", "place", "words"),
    [
        ("okular", PAPER, ["--page=13", PAPER.path]),
        ("mupdf", PAPER, [PAPER.path, "13"]),
        ("firefox", PAPER, ["file:///papers/rrf.pdf#page=13"]),
        ("mpv", TALK, ["--start=822.5", TALK.path]),
        ("vlc", TALK, ["--start-time=822.5", TALK.path]),
        (
            "chromium",
            WEB,
            ["file:///web/a%20b.html#:~:text=Co%2Dop%3A%2010%25%20%26%20more"],
        ),
        ("firefox", FilePlace("/a.html", is_text=False, media="html"), ["file:///a.html"]),
    ],
)
def test_a_viewer_is_called_at_the_place_as_it_wants(
    tmp_path: Path, name: str, place: FilePlace, words: list[str]
) -> None:
    viewer = program(tmp_path, name)
    program(tmp_path, "xdg-open")

    assert open_command(place, {"PATH": str(tmp_path), "EDITOR": "vim"}) == [viewer, *words]
    assert viewer_of(place.media, {"PATH": str(tmp_path)}) == (name, viewer)
    assert viewer_of(place.media, {"PATH": f"{tmp_path}/none"}) is None


def test_a_viewer_that_is_configured_goes_first_and_a_path_stays_one_word(tmp_path: Path) -> None:
    program(tmp_path, "mpv")
    talk = replace(TALK, viewer="play '--at {seconds}' {path}")

    found = open_command(talk, {"PATH": str(tmp_path)})

    assert found == ["play", "--at 822.5", TALK.path]


@pytest.mark.parametrize("command", ["play '", "play {nothing}", "play {0}", "{path.x}", " "])
def test_a_configured_viewer_that_is_no_command_is_named(command: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"\[viewers\] audio .* is not a command"):
        open_command(replace(TALK, viewer=command), {})


def test_an_editor_that_is_no_command_is_named() -> None:
    with pytest.raises(ConfigInvalid, match=r"\$EDITOR \"vim '\" is not a command"):
        open_command(NOTE, {"EDITOR": "vim '"})


def test_nothing_that_opens_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(IoError, match="nothing is known that opens") as caught:
        open_command(NOTE, {"PATH": str(tmp_path)})

    assert "EDITOR" in str(caught.value.hint)
