"""Opening a place in the program that the person likes: editor, viewer.

What is returned is a list of words to run without a shell: nothing in a path can be taken
for a command.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import quote

from kb_core.errors import ConfigInvalid, IoError
from kb_core.values import dataclass

__all__ = ["FilePlace", "desktop_opener", "open_command", "viewer_of", "way_out"]

_PLUS_LINE = {
    *("emacs", "emacsclient", "gedit", "gvim", "jed", "joe", "kak", "mcedit", "mg", "micro"),
    *("mvim", "nano", "ne", "nvim", "pico", "vi", "view", "vim", "vimx"),
}
"""Editors that are called with ``+LINE PATH``."""
_GOTO = {"code", "code-insiders", "code-oss", "codium", "cursor", "vscodium", "windsurf"}
"""Editors that are called with ``--goto PATH:LINE``."""
_COLON = {"helix", "hx", "subl", "sublime_text", "zed", "zeditor"}
"""Editors that are called with ``PATH:LINE``."""
_AT_PAGE = {
    "zathura": "--page={page} {path}",
    "evince": "--page-index={page} {path}",
    "atril": "--page-index={page} {path}",
    "xreader": "--page-index={page} {path}",
    "okular": "--page={page} {path}",
    "mupdf": "{path} {page}",
    "xpdf": "{path} {page}",
}
_BROWSERS = ("firefox", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
             "brave-browser", "microsoft-edge", "x-www-browser")  # fmt: skip
_AT_SECOND = {
    "mpv": "--start={seconds} {path}",
    "vlc": "--start-time={seconds} {path}",
    "mplayer": "-ss {seconds} {path}",
    "ffplay": "-ss {seconds} {path}",
}
_VIEWERS: Mapping[str, Mapping[str, str]] = {
    "pdf": {**_AT_PAGE, **dict.fromkeys(_BROWSERS, "{url}#page={page}")},
    "html": dict.fromkeys(_BROWSERS, "{url}{fragment}"),
    "audio": _AT_SECOND,
    "video": _AT_SECOND,
}
"""By medium: programs that open a file of it at a place, the likeliest first, and how."""
_OPENERS = ("xdg-open", "open")
_FEW_WORDS = 8


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file, by its absolute path, and where in it: a line or a page, from 1, or a time.

    ``is_text`` tells that an editor can show it; ``media`` is what it is, where that is not
    said by what it is in.
    """

    path: str
    line: int | None = None
    page: int | None = None
    is_text: bool = True
    media: str = ""
    start_ms: int | None = None
    words: str = ""
    """A line of the text, as a page shows it."""
    viewer: str = ""
    """The command that the configuration names for the medium."""


def open_command(place: FilePlace, environ: Mapping[str, str]) -> list[str]:
    """Return the words of the command that opens *place*: first the program, then its arguments.

    What the configuration names goes first. Text goes to ``$VISUAL`` or ``$EDITOR``, at the
    line where the editor is known; a PDF to a viewer that takes a page, a recording to a
    player that takes a time, a web page to a browser that finds words on it, if there is one;
    without one, and all else, to what the desktop opens it with.
    """
    if place.viewer:
        return _configured(place)
    if place.is_text and (editor := _editor(environ)):
        return [*editor, *_at_line(PurePath(editor[0]).name, place)]
    if _says_where(place) and (found := viewer_of(place.media, environ)):
        name, program = found
        return [program, *_filled(_VIEWERS[place.media][name], place)]
    if opener := desktop_opener(environ):
        return [opener, place.path]
    raise IoError(
        f"nothing is known that opens {place.path!r}",
        hint=way_out(place),
        details={"path": place.path, "line": place.line, "page": place.page},
    )


def viewer_of(media: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what opens files of *media* at a place: its name, and the program that is found."""
    for name in _VIEWERS.get(media, ()):
        if program := shutil.which(name, path=environ.get("PATH")):
            return name, program
    return None


def desktop_opener(environ: Mapping[str, str]) -> str | None:
    """Return the program that opens a file with what the desktop has for it, if there is one."""
    found = (shutil.which(name, path=environ.get("PATH")) for name in _OPENERS)
    return next(filter(None, found), None)


def way_out(place: FilePlace) -> str:
    """Return what a person can do where nothing opens *place*."""
    if place.is_text:
        return "set VISUAL or EDITOR to the command of an editor"
    key = place.media if place.media in _VIEWERS else "other"
    return f"name a program: [viewers] {key} = 'program {{path}}'"


def _says_where(place: FilePlace) -> bool:
    return place.page is not None or place.start_ms is not None or place.media == "html"


def _configured(place: FilePlace) -> list[str]:
    try:
        return _filled(place.viewer, place)
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        raise ConfigInvalid(
            f"[viewers] {place.media or 'other'} {place.viewer!r} is not a command",
            hint="it may hold {path}, {url}, {page}, {line}, {seconds} and {fragment}",
            details={"field": f"viewers.{place.media or 'other'}", "value": place.viewer},
        ) from error


def _filled(command: str, place: FilePlace) -> list[str]:
    """Return the words of *command* with the place put into them; each stays one word."""
    values = {
        "path": place.path,
        "url": PurePath(place.path).as_uri(),
        "page": place.page or 1,
        "line": place.line or 1,
        "seconds": f"{(place.start_ms or 0) / 1000:g}",
        "fragment": _fragment(place.words),
    }
    words = shlex.split(command)
    if not words:
        raise ValueError("no command")
    return [word.format_map(values) for word in words]


def _fragment(words: str) -> str:
    """Return what has a browser show *words* on a page, as the draft on text fragments says it."""
    few = " ".join(words.split()[:_FEW_WORDS])
    return f"#:~:text={quote(few, safe='').replace('-', '%2D')}" if few else ""


def _editor(environ: Mapping[str, str]) -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError as error:
            raise ConfigInvalid(
                f"${name} {environ[name]!r} is not a command: {str(error).lower()}",
                hint=f"for example {name}='code --wait'",
                details={"field": name, "value": environ[name]},
            ) from error
        if words:
            return words
    return []


def _at_line(editor: str, place: FilePlace) -> list[str]:
    if place.line is None:
        return [place.path]
    if editor in _PLUS_LINE:
        return [f"+{place.line}", place.path]
    if editor in _GOTO:
        return ["--goto", f"{place.path}:{place.line}"]
    if editor in _COLON:
        return [f"{place.path}:{place.line}"]
    return [place.path]
