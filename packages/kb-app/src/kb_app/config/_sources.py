"""Adding and removing sources in the file, beside whatever a person wrote there."""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from kb_app import paths
from kb_app.config._files import new_text, toml, write_text
from kb_app.config._load import (
    RESERVED_IDS,
    holder_of,
    load_config,
    parse_config,
    read_text,
)
from kb_app.config._rules import nearest
from kb_app.config._settings import Config, Source
from kb_app.config._tables import edited
from kb_core.errors import ConfigInvalid, InvalidInput
from kb_core.values import dataclass

__all__ = ["SourceEdit", "add_source", "free_name", "remove_source", "set_about"]

_LONGEST_ABOUT = 300
_ILL = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEdit:
    """A source that was added or removed, and the configuration afterwards."""

    source: Source
    config: Config
    is_new_file: bool = False


def add_source(  # noqa: PLR0913 - one argument for each key
    root: str,
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - the word that the file uses
    source_type: str | None = None,
    trust_level: str | None = None,
    about: str | None = None,
    dry_run: bool = False,
) -> SourceEdit:
    """Write the folder *root* into the configuration as a source, creating the file.

    Without *id*, the folder's own name is made into one that is valid and free. With *dry_run*,
    nothing is written.
    """
    environ = paths.environment() if environ is None else environ
    file = path or paths.config_file(environ)
    text = read_text(file)
    old = text if text is not None else new_text(path, environ)
    config = parse_config(old, file, environ)
    folder = _folder(root, environ)
    _check_free(config, folder, id)
    name = id or free_name(folder, {source.id for source in config.sources})
    given = {"id": name, "root": _written(folder)}
    given |= {"source_type": source_type} if source_type else {}
    given |= {"trust_level": trust_level} if trust_level else {}
    given |= {"about": _sentence(about)} if about is not None else {}
    new = _with_source(old, given)
    try:
        changed = parse_config(new, file, environ)
    except ConfigInvalid as error:
        # The lines that are wrong were never in the file: what was asked for is.
        raise InvalidInput(
            str(error).rpartition(f"{file}:")[2].partition(": ")[2],
            hint=error.hint,
            details=error.details,
        ) from error
    if not dry_run:
        write_text(file, new)
    return SourceEdit(source=changed.sources[-1], config=changed, is_new_file=text is None)


def remove_source(
    id: str,  # noqa: A002 - the word that the file uses
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> SourceEdit:
    """Take the source *id* out of the configuration; what was indexed of it stays."""
    environ = paths.environment() if environ is None else environ
    config = load_config(path, environ)
    ids = [source.id for source in config.sources]
    if id not in ids:
        close = nearest(id, ids)
        known = f"the sources are {', '.join(ids)}" if ids else "there are none"
        raise InvalidInput(
            f"there is no source {id!r}",
            hint=f"did you mean {close!r}?" if close else known,
            details={"field": "id", "value": id, "known": ids, "nearest": close},
        )
    new = _without_source(read_text(config.file) or "", ids.index(id))
    changed = parse_config(new, config.file, environ)
    write_text(config.file, new)
    return SourceEdit(source=config.sources[ids.index(id)], config=changed)


def set_about(
    place: str,
    text: str | None,
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> SourceEdit:
    """Write what *place* is about, a source by its id or a folder or file of one.

    Without *text*, what was said is taken out.
    """
    environ = paths.environment() if environ is None else environ
    config = load_config(path, environ)
    number, inside = _place(config, place, environ)
    document = edited(read_text(config.file) or "")
    sources: Any = document["sources"]
    said = None if text is None else _sentence(text)
    if not _put_about(sources[number], inside, said):
        raise InvalidInput(
            f"nothing is said about {place!r}",
            hint="kebab about",
            details={"field": "place", "value": place},
        )
    new = document.as_string()
    changed = parse_config(new, config.file, environ)
    write_text(config.file, new)
    return SourceEdit(source=changed.sources[number], config=changed)


def _sentence(text: str) -> str:
    said = " ".join(text.split())
    if not said or len(said) > _LONGEST_ABOUT:
        problem = "is blank" if not said else f"has more than {_LONGEST_ABOUT} characters"
        raise InvalidInput(
            f"what is said about a folder {problem}",
            hint="write a sentence",
            details={"field": "about", "value": said[:80]},
        )
    return said


def _place(config: Config, place: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """Return the number of a source, and where in it *place* is."""
    ids = [source.id for source in config.sources]
    if place in ids:
        return ids.index(place), ""
    real = Path(os.path.realpath(paths.path_given("place", place, environ)))
    if holder := holder_of(config.sources, real):
        return ids.index(holder[0].id), holder[1]
    close = nearest(place, ids)
    known = f"the sources are {', '.join(ids)}" if ids else "there are none: kebab add FOLDER"
    raise InvalidInput(
        f"{place!r} is no source, and in none",
        hint=f"did you mean {close!r}?" if close else known,
        details={"field": "place", "value": place, "known": ids, "nearest": close},
    )


def _put_about(source: Any, inside: str, text: str | None) -> bool:  # noqa: ANN401 - TOML
    """Change what a table of the file says; say whether there was anything to change."""
    if isinstance(source.get("about", ""), str):
        if not inside:
            return _put_text(source, text)
        _make_tables(source)
    return _put_table(source, inside, text)


def _put_text(source: Any, text: str | None) -> bool:  # noqa: ANN401 - TOML
    had = bool(source.pop("about", ""))
    if text is not None:
        source["about"] = text
    return had or text is not None


def _make_tables(source: Any) -> None:  # noqa: ANN401 - TOML
    import tomlkit

    tables, whole = tomlkit.aot(), source.pop("about", "")
    if whole:
        tables.append(tomlkit.item({"text": whole}))
    source["about"] = tables


def _put_table(source: Any, inside: str, text: str | None) -> bool:  # noqa: ANN401 - TOML
    import tomlkit

    tables = source["about"]
    at = [n for n, each in enumerate(tables) if each.get("path", "").strip("/") == inside]
    if text is None:
        for number in reversed(at):
            del tables[number]
    elif at:
        tables[at[0]]["text"] = text
    else:
        said = {"path": inside, "text": text} if inside else {"text": text}
        tables.append(tomlkit.item(said))
    if not len(tables):
        source.pop("about")
    return bool(at) or text is not None


def _folder(root: str, environ: Mapping[str, str]) -> Path:
    try:
        folder = paths.from_argument(root, environ)
        str(folder).encode()
    except UnicodeEncodeError:
        problem = f"the folder {root!r} has a name that is not Unicode"
    except ValueError as error:
        problem = str(error)
    else:
        if folder.is_dir():
            return folder
        problem = f"'{folder}' is not a folder" if folder.exists() else f"no folder '{folder}'"
    raise InvalidInput(
        problem,
        hint="a source is a folder; all of it is indexed, but for what is ignored",
        details={"field": "path", "value": os.fsencode(root).decode("utf-8", "replace")},
    )


def _check_free(config: Config, folder: Path, name: str | None) -> None:
    for source in config.sources:
        if folder == source.root:
            raise InvalidInput(
                f"'{folder}' is source {source.id!r} already",
                hint="kebab ingest",
                details={"field": "path", "value": str(folder), "id": source.id},
            )
        if name == source.id:
            raise InvalidInput(
                f"source {name!r} is '{source.root}' already",
                hint="choose another --id",
                details={"field": "id", "value": name},
            )


def free_name(folder: Path, taken: Collection[str]) -> str:
    """Return a valid id for the source *folder* that is not *taken*: its name, if that will do."""
    wanted = _ILL.sub("-", unicodedata.normalize("NFC", folder.name)).strip("-.") or "source"
    name, number = wanted, 1
    while name in taken or name in RESERVED_IDS:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _written(folder: Path) -> str:
    return str(folder).replace("$", "$$")


def _with_source(text: str, fields: Mapping[str, str]) -> str:
    """Return *text* with one more source, in the form that the others have."""
    if isinstance(tomllib.loads(text).get("sources"), list) and "[[sources]]" not in text:
        return _with_inline_source(text, fields)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = ["[[sources]]", *(f"{key} = {toml(value)}" for key, value in fields.items()), ""]
    return f"{text.rstrip()}{end * 2}{end.join(lines)}"


def _with_inline_source(text: str, fields: Mapping[str, str]) -> str:
    import tomlkit

    document = edited(text)
    sources: Any = document["sources"]
    table = tomlkit.inline_table()
    table.update(fields)
    sources.append(table)
    return tomlkit.dumps(document)


def _without_source(text: str, number: int) -> str:
    import tomlkit

    document = edited(text)
    sources: Any = document["sources"]
    del sources[number]
    if not len(sources):
        document.remove("sources")
    return tomlkit.dumps(document)
