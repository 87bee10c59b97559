"""Opening a place in the program that the person likes: editor, viewer.

What is returned is a list of words to run without a shell: nothing in a path can be taken
for a command.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath

from kb_core.errors import ConfigInvalid, IoError
from kb_core.values import dataclass

__all__ = ["FilePlace", "open_command"]

_PLUS_LINE = {
    *("emacs", "emacsclient", "gedit", "gvim", "jed", "joe", "kak", "mcedit", "mg", "micro"),
    *("mvim", "nano", "ne", "nvim", "pico", "vi", "view", "vim", "vimx"),
}
"""Editors that are called with ``+LINE PATH``."""
_GOTO = {"code", "code-insiders", "code-oss", "codium", "cursor", "vscodium", "windsurf"}
"""Editors that are called with ``--goto PATH:LINE``."""
_COLON = {"helix", "hx", "subl", "sublime_text", "zed", "zeditor"}
"""Editors that are called with ``PATH:LINE``."""
_PDF_VIEWERS = {
    "zathura": "--page={page}",
    "evince": "--page-index={page}",
    "atril": "--page-index={page}",
    "xreader": "--page-index={page}",
    "okular": "--page={page}",
}
"""Viewers that open a PDF at a page, and how they are told."""
_OPENERS = ("xdg-open", "open")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file, by its absolute path, and perhaps a line or a page in it, from 1.

    ``is_text`` tells that an editor can show it.
    """

    path: str
    line: int | None = None
    page: int | None = None
    is_text: bool = True


def open_command(place: FilePlace, environ: Mapping[str, str]) -> list[str]:
    """Return the words of the command that opens *place*: first the program, then its arguments.

    Text goes to ``$VISUAL`` or ``$EDITOR``, at the line where the editor is known; without
    one, and all else, to what the desktop opens it with. A PDF goes to a viewer that takes
    a page, if there is one.
    """
    search_path = environ.get("PATH")
    if place.is_text and (editor := _editor(environ)):
        return [*editor, *_at_line(PurePath(editor[0]).name, place)]
    if place.page is not None:
        for name, option in _PDF_VIEWERS.items():
            if viewer := shutil.which(name, path=search_path):
                return [viewer, option.format(page=place.page), place.path]
    for name in _OPENERS:
        if opener := shutil.which(name, path=search_path):
            return [opener, place.path]
    raise IoError(
        f"nothing is known that opens {place.path!r}",
        hint="set VISUAL or EDITOR to the command of an editor",
        details={"path": place.path, "line": place.line, "page": place.page},
    )


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
