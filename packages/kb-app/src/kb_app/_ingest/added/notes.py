"""Notes: what a language model hands in, with who wrote it, perhaps as a file of a source.

Provenance is front matter of Markdown, so that whoever opens the text sees it: ``written_by``,
``based_on`` and, of a file, when and how far it is to be trusted. What the text says of itself
in front matter of its own stays, but for these.

**Invariant:** nothing that is there is ever written over, and nothing is written outside a
folder of a source.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from kb_app._ingest.added.offer import HandedText, checked_title, slug
from kb_app._ingest.making.formats.markdown import read_front_matter
from kb_app._ingest.making.metadata import Hints, plain_key, text_metadata
from kb_app._ingest.seeing.files import inside
from kb_app.config import Config
from kb_core.errors import ConfigInvalid, InvalidInput, IoError
from kb_core.media import Media, TrustLevel
from kb_core.values import replace

__all__ = ["as_note", "notes_folder", "with_provenance", "write_note"]

_NAME_BYTES = 120
"""Of a title, what becomes the name of its file; systems take 255 with what is added."""
_BREAKS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Ends of a line to YAML, and none to JSON."""


def with_provenance(given: HandedText) -> HandedText:
    """Return a text that says who wrote it and from what, as far as that was told.

    ``InvalidInput`` where it is no Markdown, which alone has a place for that.
    """
    told = _told(given)
    if not told:
        return given
    if given.media != Media.MARKDOWN:
        (name, *_) = told
        raise InvalidInput(
            f"{name} goes with Markdown, and media is {given.media!r}",
            hint="leave out media, or leave that out",
            details={"field": name, "value": told[name]},
        )
    return replace(given, text=_fronted(given.text, told))


def as_note(given: HandedText, now_ns: int) -> HandedText:
    """Return a text as it is written to a file: Markdown that says all that is known of it."""
    written = datetime.fromtimestamp(now_ns // 1_000_000_000, tz=UTC)
    told = {
        "title": checked_title(given),
        **({"source": given.source_uri} if given.source_uri else {}),
        **_told(given),
        "written_at": written.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "trust_level": min(given.trust, _own_trust(given), key=lambda it: TrustLevel(it).rank),
    }
    return replace(given, text=_fronted(given.text, told), media=Media.MARKDOWN.value)


def _own_trust(given: HandedText) -> str:
    """Return how far a text says of itself that it is to be trusted; if it does not, fully."""
    front = read_front_matter(given.text)
    metadata, _ = text_metadata(front.values if front else {}, Hints(path=""))
    return metadata.trust_level or TrustLevel.PRIMARY


def _told(given: HandedText) -> dict[str, object]:
    told = {"written_by": given.written_by, "based_on": list(given.based_on)}
    return {name: value for name, value in told.items() if value}


def _fronted(text: str, told: Mapping[str, object]) -> str:
    """Return *text* with what is *told* last in its front matter, where it counts."""
    front, own = read_front_matter(text), list[str]()
    if front is not None and not front.warnings:
        with suppress(ValueError):  # what no JSON says, such as a list in itself, stays text
            own = [
                f"{_yaml(str(key))}: {_yaml(value)}"
                for key, value in front.values.items()
                if plain_key(str(key)) not in told
            ]
            text = text[front.end :]
    lines = [*own, *(f"{key}: {_yaml(value)}" for key, value in told.items())]
    return "\n".join(["---", *lines, "---", "", text.lstrip("\n")])


def _yaml(value: object) -> str:
    """Return a value as JSON, which YAML reads, in one line."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    for character, escaped in _BREAKS.items():
        written = written.replace(character, escaped)
    return written


def notes_folder(config: Config) -> Path:
    """Return where notes go, links resolved; ``ConfigInvalid`` for what is in no source.

    ``IoError`` where the source is away: a folder in its place would say that all else is gone.
    """
    real = os.path.realpath(config.mcp.notes_dir)
    roots = [os.path.realpath(source.root) for source in config.sources]
    around = [root for root in roots if inside(real, root) is not None]
    if away := next((root for root in around if not Path(root).is_dir()), None):
        raise IoError(
            f"the note cannot be written: its source {away!r} is not there",
            hint="bring it back, such as a disk that is away, or name another [mcp] notes_dir",
            details={"path": away},
        )
    if around:
        return Path(real)
    raise ConfigInvalid(
        f"mcp.notes_dir {config.mcp.notes_dir!r} is in no source, so nothing there is found",
        hint="name a folder inside a source, or make it one: 'kebab add FOLDER'",
        details={"setting": "mcp.notes_dir", "value": config.mcp.notes_dir},
    )


def write_note(
    folder: Path, title: str, data: bytes, is_barred: Callable[[Path], bool] = lambda _: False
) -> Path:
    """Write a file that is called after *title*, and has a number where there is one already.

    So it has where a place *is_barred*.
    Raises ``IoError``; then there is no file. Another one of that name that comes meanwhile
    is such an error, too, and so is a link in the place of *folder* or of one around it.
    """
    stem = slug(title).encode()[:_NAME_BYTES].decode("utf-8", "ignore").strip("-")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = {path.name.casefold() for path in folder.iterdir()}
        free = (name for name in _names(stem) if name.casefold() not in taken)
        name = next(name for name in free if not is_barred(folder / name))
        with _entered(folder) as here:
            _fill(name, here, os.open(name, flags, 0o666, dir_fd=here), data)
    except OSError as error:
        raise IoError(
            f"the note cannot be written into {os.fspath(folder)!r}: {error.strerror or error}",
            hint="that folder is mcp.notes_dir in the configuration",
            details={"path": os.fspath(folder)},
        ) from error
    return folder / name


@contextmanager
def _entered(folder: Path) -> Iterator[int]:
    """Open *folder*, which has no links in it, one step after the other: none came meanwhile."""
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(folder.anchor, flags)
    try:
        for part in folder.parts[1:]:
            outer, here = here, os.open(part, flags, dir_fd=here)
            os.close(outer)
        yield here
    finally:
        os.close(here)


def _names(stem: str) -> Iterator[str]:
    yield f"{stem}.md"
    yield from (f"{stem}-{number}.md" for number in count(2))


def _fill(name: str, folder: int, descriptor: int, data: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise
