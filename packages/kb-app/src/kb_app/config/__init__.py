"""Configuration: one TOML file, read once, checked, frozen.

    defaults  <  file  <  KEBAB_<SECTION>_<KEY>  <  command line

``load_config`` gives a ``Config``; nothing below the facade sees one. A value that is
wrong names its file, line and key and says what was expected; an unknown key of the
file is an error with the nearest valid one. An unknown ``KEBAB_…`` variable is a
warning only, since an environment is shared with other programs. A variable that
is set but empty counts as not set; lists in variables are separated by commas.

The other half edits the file: ``init_config``, ``add_source``, ``remove_source``,
``migrate_config``. Comments and values that people wrote stay as they are, and no
edit is written that would not load again. ``put_table`` and ``drop_table`` do the same for
one table of another program's file.

**Invariant:** importing this and loading a file needs nothing but the standard library
and ``kb_core``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_app.config._load import (
    check_chunking,
    holder_of,
    load_config,
    parse_config,
    with_sources_of_now,
)
from kb_app.config._passwords import Passwords, passwords_of
from kb_app.config._settings import (
    SECTIONS,
    About,
    Ask,
    Audio,
    Chunking,
    Code,
    CodebaseSearch,
    Config,
    Embedding,
    Index,
    Ingest,
    Limits,
    Log,
    Mcp,
    Ocr,
    Origin,
    Search,
    Source,
    Storage,
    Ui,
    Workspaces,
)

if TYPE_CHECKING:
    from kb_app.config._files import (
        InitReport,
        Migration,
        change_settings,
        config_or_new,
        init_config,
        migrate_config,
        toml,
    )
    from kb_app.config._sources import (
        SourceEdit,
        add_source,
        free_name,
        remove_source,
        set_about,
    )
    from kb_app.config._tables import TomlError, drop_table, put_table

__all__ = [
    "SECTIONS",
    "About",
    "Ask",
    "Audio",
    "Chunking",
    "Code",
    "CodebaseSearch",
    "Config",
    "Embedding",
    "Index",
    "Ingest",
    "InitReport",
    "Limits",
    "Log",
    "Mcp",
    "Migration",
    "Ocr",
    "Origin",
    "Passwords",
    "Search",
    "Source",
    "SourceEdit",
    "Storage",
    "TomlError",
    "Ui",
    "Workspaces",
    "add_source",
    "change_settings",
    "check_chunking",
    "config_or_new",
    "drop_table",
    "free_name",
    "holder_of",
    "init_config",
    "load_config",
    "migrate_config",
    "parse_config",
    "passwords_of",
    "put_table",
    "remove_source",
    "set_about",
    "toml",
    "with_sources_of_now",
]

_EDITING = {
    "InitReport": "_files",
    "Migration": "_files",
    "SourceEdit": "_sources",
    "TomlError": "_tables",
    "add_source": "_sources",
    "change_settings": "_files",
    "config_or_new": "_files",
    "drop_table": "_tables",
    "free_name": "_sources",
    "init_config": "_files",
    "migrate_config": "_files",
    "put_table": "_tables",
    "remove_source": "_sources",
    "set_about": "_sources",
    "toml": "_files",
}
"""The half that edits loads when it is asked for: a search only reads."""


def __getattr__(name: str) -> object:
    if name not in _EDITING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_EDITING[name]}"), name)
