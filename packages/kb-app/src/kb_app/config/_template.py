"""The file that ``kebab init`` writes: every key, its default, a line of explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb_app.config._rules import Rule
from kb_app.config._settings import SCHEMA_VERSION, SECTIONS, rules

__all__ = ["default_text", "section_doc", "toml"]

_HEAD = f"""\
# kebab: a knowledge base on your own machine.
#
# Every key is here with its default; a key that is deleted has it, too. Paths may hold ~,
# $VAR and ${{VAR:-default}}; a relative path is relative to this file.
# KEBAB_<SECTION>_<KEY> in the environment wins over this file.
# `kebab config show` prints what is in effect, and where it comes from.
schema_version = {SCHEMA_VERSION}

# What is indexed. `kebab add PATH` and `kebab remove ID` write this for you:
#
# [[sources]]
"""


def default_text(shown: Mapping[str, object] | None = None) -> str:
    """Return the whole file; *shown* replaces defaults, by ``section.key``."""
    shown = shown or {}
    lines = [_HEAD.rstrip(), *_source_lines()]
    for section in SECTIONS:
        lines += ["", f"# {section_doc(section)}", f"[{section}]"]
        for key, rule in rules(section).items():
            value = shown.get(f"{section}.{key}", rule.shown)
            lines += [f"# {rule.doc}", f"{key} = {toml(value)}"]
    return "\n".join(lines) + "\n"


def section_doc(section: str) -> str:
    """Return what a section is about, in one line."""
    doc = SECTIONS[section].__doc__ or section  # python -OO has no docstrings
    return " ".join(doc.split())


def toml(value: object) -> str:
    """Print a value of a setting as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(toml, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _source_lines() -> Iterator[str]:
    known = rules("sources")
    width = max(len(_assignment(key, rule)) for key, rule in known.items())
    for key, rule in known.items():
        yield f"# {_assignment(key, rule):<{width}}  # {rule.doc}"


def _assignment(key: str, rule: Rule) -> str:
    return f"{key} = {toml(rule.shown)}"


def _escaped(character: str) -> str:
    if character in {'"', "\\"}:
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{ord(character):04X}"
