"""Reading: file, environment and command line into one ``Config``, checked as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from kb_app import paths
from kb_app.config._passwords import PASSWORDS_FILE, read_passwords, where_passwords_are
from kb_app.config._rules import (
    ConfigText,
    Misfit,
    Rule,
    from_text,
    nearest,
    wrong_option,
    wrong_variable,
)
from kb_app.config._settings import (
    SCHEMA_VERSION,
    SECTIONS,
    Chunking,
    Config,
    Origin,
    Source,
    rules,
)
from kb_core.control import ADDED_SOURCE
from kb_core.errors import ConfigInvalid, ConfigNotFound, IoError, KbError
from kb_core.values import lazy_pattern, replace

__all__ = [
    "DEFAULT_WINDOW",
    "RESERVED_IDS",
    "check_chunking",
    "check_sources",
    "chunking_fault",
    "holder_of",
    "load_config",
    "parse_config",
    "read_text",
    "with_sources_of_now",
]

_SIZES = "16 <= target_tokens <= max_tokens <= window, overlap_tokens < target_tokens / 2"

_ESCAPED = lazy_pattern(r"\\([^^\]])")
RESERVED_IDS = frozenset({ADDED_SOURCE, ".", ".."})


def check_chunking(chunking: Chunking, *, window: int) -> None:
    """Refuse sizes that cannot work with a model that reads *window* tokens at once.

    *window* is what is left for text: the model's own, less prefix and special tokens.
    """
    if fault := chunking_fault(chunking, window):
        key, complaint = fault
        raise ConfigInvalid(
            f"[chunking] {key} = {getattr(chunking, key)} {complaint}",
            hint=_SIZES,
            details={"key": f"chunking.{key}", "window": window},
        )


def chunking_fault(chunking: Chunking, window: int) -> tuple[str, str] | None:
    """Return the key that cannot stay as it is, and why."""
    target, most = chunking.target_tokens, chunking.max_tokens
    if target > most:
        return "target_tokens", f"is more than max_tokens, which is {most}"
    if most > window:
        return "max_tokens", f"is more than the model's window, which is {window}"
    if chunking.overlap_tokens >= target / 2:
        return "overlap_tokens", f"is not less than half of target_tokens, which is {target}"
    return None


def holder_of(sources: Iterable[Source], real: Path) -> tuple[Source, str] | None:
    """Return the source that *real* is in, and where in it: empty for its folder itself.

    Of sources that nest, it is the innermost: the others leave its folder out.
    """
    tops = [(Path(os.path.realpath(source.root)), source) for source in sources]
    holding = [each for each in tops if real.is_relative_to(each[0])]
    if not holding:
        return None
    top, source = max(holding, key=lambda each: len(each[0].parts))
    inside = real.relative_to(top).as_posix()
    return source, "" if inside == "." else inside


def check_sources(sources: Sequence[Source], text: ConfigText) -> None:
    """Refuse names that clash, and folders that would be indexed twice."""
    seen: dict[str, int] = {}
    for number, source in enumerate(sources):
        path = ("sources", number, "id")
        if source.id in RESERVED_IDS:
            raise text.wrong(path, "is a reserved name")
        if source.id in seen:
            raise text.wrong(path, f"is the name of source {seen[source.id] + 1} already")
        seen[source.id] = number
    real = [PurePath(os.path.realpath(source.root)) for source in sources]
    for number, inner in enumerate(real):
        for other, outer in enumerate(real):
            if number != other and inner.is_relative_to(outer):
                _check_nested(sources, number, other, inner.relative_to(outer), text)


def _check_nested(
    sources: Sequence[Source], inner: int, outer: int, inside: PurePath, text: ConfigText
) -> None:
    if inside.parts and _excludes(sources[outer].exclude, inside):
        return
    # Of two sources with one folder, the later one is at fault.
    number, holder = (inner, outer) if inside.parts or inner > outer else (outer, inner)
    import json  # a string of JSON is one of TOML

    from kb_core.filters import literal_glob

    pattern = json.dumps(f"/{literal_glob(inside.as_posix())}/", ensure_ascii=False)
    raise text.wrong(
        ("sources", number, "root"),
        f"{'is inside' if inside.parts else 'is'} the folder of source {sources[holder].id!r}: "
        "its files would be indexed twice",
        hint=f"exclude = [{pattern}] in source {sources[holder].id!r} keeps them apart"
        if inside.parts
        else None,
    )


def _excludes(patterns: Sequence[str], folder: PurePath) -> bool:
    """Say whether a pattern names *folder*, or a folder that it is in.

    This knows less than .gitignore does: a pattern that is not understood does not
    count, and the sources are refused, which loses nothing.
    """
    from fnmatch import fnmatch  # nested sources are rare

    parents = [folder, *folder.parents][:-1]
    for pattern in patterns:
        bare = pattern.removesuffix("/**").removesuffix("/*").rstrip("/")
        bare = _ESCAPED.sub(lambda escaped: f"[{escaped[1]}]", bare)  # as fnmatch has it
        anchored = "/" in bare
        for parent in parents:
            subject = parent.as_posix() if anchored else parent.name
            if not pattern.startswith("!") and fnmatch(subject, bare.removeprefix("/")):
                return True
    return False


DEFAULT_WINDOW = 512
"""Tokens that the default embedding model reads at once."""

_PREFIX = "KEBAB_"
_RESERVED = frozenset(
    {"KEBAB_ASK_API_KEY", "KEBAB_AUDIO_API_KEY", "KEBAB_CAPTION_API_KEY"}
    | {"KEBAB_INDEX_TOKEN", "KEBAB_MCP_TOKEN"}
    | {PASSWORDS_FILE, "KEBAB_PROGRESS", "KEBAB_READONLY"}
)

Values = dict[str, dict[str, object]]
Origins = dict[str, Origin]


def load_config(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    window: int = DEFAULT_WINDOW,
) -> Config:
    """Read the configuration file, named or at its usual place, and what overrides it.

    A file that was named has to exist, else ``ConfigNotFound``; the usual one need not.
    *overrides* are the command line's, by ``section.key``.
    """
    environ = paths.environment() if environ is None else environ
    file = path or paths.config_file(environ)
    text = read_text(file)
    if text is None and path is not None:
        raise ConfigNotFound(
            f"there is no configuration at '{file}'",
            hint=f"kebab --config '{file}' init",
            details={"file": str(file)},
        )
    return parse_config(
        text or "", file, environ, overrides=overrides, window=window, is_found=text is not None
    )


def with_sources_of_now(config: Config) -> Config:
    """Return *config* with the sources that its file has by now, if that can be read."""
    try:
        return replace(config, sources=load_config(config.file).sources)
    except (KbError, OSError):
        return config


def read_text(file: Path) -> str | None:
    """Return the text of a configuration file; ``None`` if there is no such file."""
    try:
        # Bytes, because reading as text would turn CRLF into LF, and edits write it back.
        return file.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ConfigInvalid(
            f"{file} is not UTF-8: {error.reason} at byte {error.start}",
            details={"file": str(file)},
        ) from error
    except OSError as error:
        raise IoError(
            f"cannot read {file}: {error.strerror}", details={"file": str(file)}
        ) from error


def parse_config(
    text: str,
    file: Path,
    environ: Mapping[str, str],
    *,
    overrides: Mapping[str, object] | None = None,
    window: int = DEFAULT_WINDOW,
    is_found: bool = True,
) -> Config:
    """Return the configuration that *text* would be if it stood in *file*."""
    source = ConfigText(file, text)
    tables = source.parse()
    _check_top(tables, source)
    values, origins = _defaults(environ), Origins()
    for section in SECTIONS:
        _take_table(values, origins, tables.get(section, {}), section, source, environ)
    warnings = _take_environment(values, origins, environ)
    _take_overrides(values, origins, overrides or {}, environ)
    folders = _sources(tables.get("sources", []), source, environ)
    if is_found and "storage.data_dir" not in origins:
        values["storage"]["data_dir"], told = _own_data_dir(file, folders, environ)
        warnings += told
    sections = {name: cls(**values[name]) for name, cls in SECTIONS.items()}
    config = Config(
        file=file,
        is_found=is_found,
        sources=folders,
        passwords=read_passwords(tables.get("passwords", []), source),
        passwords_file=where_passwords_are(environ),
        origins=origins,
        warnings=warnings,
        **sections,
    )
    _check_chunking(config, source, window)
    return config


def _own_data_dir(
    file: Path, sources: Sequence[Source], environ: Mapping[str, str]
) -> tuple[Path, tuple[str, ...]]:
    """Return where a configuration that names no data directory keeps its data; and warnings.

    One at the usual place has the usual directory. Any other has one of its own beside it, so
    that no two share theirs unasked, unless the usual one holds its sources and no others.
    """
    usual = paths.data_dir(environ)
    if file == paths.config_file(environ):
        return usual, ()
    suffix = "" if file.stem in {"config", "kebab"} else f"-{file.stem}"
    own = file.absolute().with_name(f"kebab-data{suffix}")
    held = _held_in(usual) if sources and not own.exists() else set()
    shared = held & {(source.id, str(source.root)) for source in sources}
    if not shared:
        return own, ()
    where = usual if shared == held else own
    said = f"{file} names no data directory: its data is in '{where}'"
    if where == own:
        said += f"; '{usual}' holds sources of it, too, beside others"
    return where, (f"{said}; set storage.data_dir to say where it belongs",)


def _held_in(data_dir: Path) -> set[tuple[str, str]]:
    """Return the sources, id and folder, that a data directory holds documents of."""
    if not data_dir.is_dir():
        return set()
    from kb_search.reader import Reader  # rarely needed: where a configuration is of before

    reader = Reader(data_dir)
    try:
        held = reader.snapshot().control.sources
    except KbError:
        return set()
    finally:
        reader.close()
    return {(name, str(row.get("root"))) for name, row in held.items() if name != ADDED_SOURCE}


def _check_chunking(config: Config, text: ConfigText, window: int) -> None:
    fault = chunking_fault(config.chunking, window)
    if fault and config.origins.get(f"chunking.{fault[0]}") == Origin("file"):
        raise text.wrong(("chunking", fault[0]), fault[1], window=window)
    check_chunking(config.chunking, window=window)


def _check_top(tables: Mapping[str, Any], text: ConfigText) -> None:
    known = ["schema_version", "sources", "passwords", *SECTIONS]
    for name in tables:
        if name not in known:
            home = next((section for section in SECTIONS if name in rules(section)), None)
            hint = f"{name} is a key of [{home}]: write it below that line" if home else None
            raise text.unknown((name,), known, "section", hint)
    version = tables.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise text.wrong(("schema_version",), f"is not {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        raise text.wrong(
            ("schema_version",), f"is of a newer kebab; this one knows {SCHEMA_VERSION}"
        )


def _defaults(environ: Mapping[str, str]) -> Values:
    values: Values = {section: {} for section in SECTIONS}
    values["storage"]["data_dir"] = paths.data_dir(environ)
    values["log"]["dir"] = paths.state_dir(environ) / "log"
    return values


def _take_table(
    values: Values,
    origins: Origins,
    table: object,
    section: str,
    text: ConfigText,
    environ: Mapping[str, str],
) -> None:
    values[section] |= _checked(table, section, (section,), text, environ)
    origins.update({f"{section}.{key}": Origin("file") for key in _keys(table)})


def _keys(table: object) -> list[str]:
    return list(table) if isinstance(table, dict) else []


def _checked(
    table: object,
    section: str,
    path: tuple[str | int, ...],
    text: ConfigText,
    environ: Mapping[str, str],
) -> dict[str, object]:
    """Return the values of one table, each as its rule wants it."""
    if not isinstance(table, dict):
        raise text.wrong(path, "is not a table")
    known = rules(section)
    checked = {}
    for key, value in table.items():
        if key not in known:
            raise text.unknown((*path, key), known)
        try:
            checked[key] = _fit(known[key], value, text.file.parent, environ)
        except Misfit as misfit:
            raise text.wrong((*path, key), str(misfit), expected=known[key].expected) from None
    return checked


def _fit(rule: Rule, value: object, base: Path | None, environ: Mapping[str, str]) -> object:
    fitting = rule.check(value)
    if not rule.is_path(fitting):
        return fitting
    written = fitting if isinstance(fitting, tuple) else (fitting,)
    try:
        found = tuple(paths.resolve(str(one), base=base, environ=environ) for one in written)
    except ValueError as error:
        raise Misfit(f"is not a path: {error}") from error
    if rule.kind == "paths":
        return found
    return found[0] if rule.kind == "path" else str(found[0])


def _take_environment(
    values: Values, origins: Origins, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Put in the variables; return a warning for each that means nothing."""
    names = [n for n in sorted(environ) if n.startswith(_PREFIX) and n not in _RESERVED]
    known = _variables() if names else {}
    warnings = []
    for name in names:
        if name not in known:
            ours = (each.removeprefix(_PREFIX) for each in (*_RESERVED, *known))
            close = nearest(name.removeprefix(_PREFIX), ours)  # what all begin with says nothing
            hint = f"; did you mean {_PREFIX}{close}?" if close else ""
            warnings.append(f"the variable {name} means nothing to kebab{hint}")
        elif text := environ[name].strip():
            section, key = known[name]
            rule = rules(section)[key]
            try:
                values[section][key] = _fit(rule, from_text(rule, text), None, environ)
            except Misfit as misfit:
                raise wrong_variable(name, text, str(misfit)) from None
            origins[f"{section}.{key}"] = Origin("environment", name)
    return tuple(warnings)


def _variables() -> dict[str, tuple[str, str]]:
    """Return every variable; where two read the same, the longer section has it."""
    by_length = sorted(SECTIONS, key=len)
    return {f"{_PREFIX}{s}_{key}".upper(): (s, key) for s in by_length for key in rules(s)}


def _take_overrides(
    values: Values, origins: Origins, overrides: Mapping[str, object], environ: Mapping[str, str]
) -> None:
    for name, value in overrides.items():
        section, _, key = name.partition(".")
        if section not in SECTIONS or key not in rules(section):
            raise wrong_option(name, value, "is not a setting")
        try:
            values[section][key] = _fit(rules(section)[key], value, None, environ)
        except Misfit as misfit:
            raise wrong_option(name, value, str(misfit)) from None
        origins[name] = Origin("command_line")


def _sources(entries: object, text: ConfigText, environ: Mapping[str, str]) -> tuple[Source, ...]:
    if not isinstance(entries, list):
        raise text.wrong(("sources",), "is not a list of tables: write [[sources]]")
    sources = []
    for number, entry in enumerate(entries):
        path = ("sources", number)
        fields: dict[str, Any] = _checked(entry, "sources", path, text, environ)
        for key in ("id", "root"):
            if key not in fields:
                raise text.wrong(path, f"has no {key}", missing=key)
        sources.append(Source(**fields))
    check_sources(sources, text)
    return tuple(sources)
