"""Ignore rules: which file of rules decides about an entry of a source.

From strong to weak: the source's ``exclude``, ``.kebabignore``, ``.gitignore``,
``.git/info/exclude``, built-ins. Within one kind a deeper folder decides over one above
it, and within a file a later line over an earlier one, as in git. ``!pattern`` takes
back what weaker rules ignore, built-ins included (``!target/``). Nothing takes back
``.git``, nor anything below an ignored folder, because a walk does not enter it.

Rules above a source's root do not apply, nor does git's global file: a folder that was
named as a source is wanted. ``kb_app._ingest.patterns`` is the language of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kb_app._ingest.patterns import Rule, RuleSet, parse_rules
from kb_core.text import nfc

__all__ = ["IGNORE_FILES", "IncludeRules", "Scope", "root_scope"]

IGNORE_FILES = (".gitignore", ".kebabignore")
"""Names of the files of rules that any folder may have, weaker first."""

_BUILT_IN = """\
node_modules/
target/
__pycache__/
.venv/
.obsidian/
.svn/
.hg/
.tox/
.nox/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.DS_Store
._*
"""
# Any folder with a `pyvenv.cfg` is a virtual environment; only the walk can see that.

_Level: TypeAlias = tuple[int, RuleSet]
"""Rules, and the length of what to cut from a path to make it relative to their folder."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rules in force in one folder, strongest first."""

    exclude: tuple[_Level, ...] = ()
    kebab: tuple[_Level, ...] = ()
    git: tuple[_Level, ...] = ()
    git_local: tuple[_Level, ...] = ()
    built_in: tuple[_Level, ...] = ()
    levels: tuple[_Level, ...] = ()

    def decide(self, name: str, path: str) -> Rule | None:
        """Return the rule that decides about an entry, if there is one.

        *name* and *path*, relative to the source's root, are NFC and end in ``/`` for
        a folder. The rule may be one that takes back (``ignores`` is false).
        """
        for cut, rules in self.levels:
            rule = rules.match(name, path[cut:] if cut else path)
            if rule is not None:
                return rule
        return None

    def enter(self, folder: str, texts: dict[str, str]) -> Scope:
        """Return the scope of *folder*, which has files of rules with these texts.

        *folder* is ``""`` or ends in ``/``; the keys are names: of ``IGNORE_FILES``, or
        ``.git/info/exclude``.
        """
        level = {
            name: ((len(folder), rules),)
            for name, text in texts.items()
            if (rules := parse_rules(text, folder + name))
        }
        if not level:
            return self
        return _scope(
            exclude=self.exclude,
            kebab=level.get(".kebabignore", ()) + self.kebab,
            git=level.get(".gitignore", ()) + self.git,
            git_local=level.get(".git/info/exclude", ()) + self.git_local,
            built_in=self.built_in,
        )


def root_scope(exclude: Sequence[str]) -> Scope:
    """Return what applies before any folder is read: built-ins, and *exclude*."""
    excluded = parse_rules("\n".join(exclude), "exclude")
    return _scope(
        exclude=((0, excluded),) if excluded else (),
        built_in=((0, parse_rules(_BUILT_IN, "built-in")),),
    )


def _scope(**parts: tuple[_Level, ...]) -> Scope:
    order = ("exclude", "kebab", "git", "git_local", "built_in")
    return Scope(**parts, levels=sum((parts.get(part, ()) for part in order), ()))


class IncludeRules:
    """A source's ``include``: which files are wanted; none given means all.

    The language is that of ignore files, the sense is turned round: a folder that
    matches is wanted with all that is below it, ``!pattern`` takes out again.
    """

    __slots__ = ("_prefixes", "_rules")

    def __init__(self, include: Sequence[str]) -> None:
        self._rules = parse_rules("\n".join(include), "include") if include else None
        wanted = [line for line in include if line.strip() and not line.startswith("!")]
        prefixes = [_literal_prefix(nfc(line)) for line in wanted]
        self._prefixes = None if None in prefixes else [p for p in prefixes if p is not None]

    def wanted(self, name: str, path: str, *, parent: bool) -> bool:
        """Say whether an entry is wanted, in a folder of which *parent* says the same."""
        if self._rules is None:
            return True
        rule = self._rules.match(name, path)
        return parent if rule is None else rule.ignores

    def may_hold(self, folder: str) -> bool:
        """Say whether wanted files may lie below *folder*, which ends in ``/``."""
        if self._rules is None or self._prefixes is None:
            return True
        return any(folder.startswith(p) or p.startswith(folder) for p in self._prefixes)


def _literal_prefix(pattern: str) -> str | None:
    """Return the folders, ``a/b/``, that *pattern* is bound to; ``None`` if to none."""
    if "/" not in pattern.removesuffix("/"):
        return None
    segments = pattern.removeprefix("/").removesuffix("/").split("/")
    plain = next((at for at, s in enumerate(segments) if re.search(r"[*?\[\\]", s)), len(segments))
    return "".join(segment + "/" for segment in segments[:plain]) or None
