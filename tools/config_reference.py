"""Write ``docs/reference/configuration.md`` from the declarations of the settings.

With ``check``, say whether the page is up to date, and fail if it is not.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from kb_app.config import SECTIONS, toml
from kb_app.config._files import section_doc
from kb_app.config._rules import Rule
from kb_app.config._settings import rules

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "configuration.md"

UNUSED = (
    "embedding.endpoint",
    "embedding.provider",
    "ocr.engine",
    "ocr.model",
)
"""Keys that are accepted and checked, and that no code reads yet. A check looks for readers."""

COMMAND = "tools/dev run python tools/config_reference.py"

HEAD = f"""\
<!-- Written by tools/config_reference.py: run `{COMMAND}`. -->

# Configuration reference

Every section and key of the configuration file, from the declarations that the program uses.
The [guide](../guide/configuration.md) says how file, environment and command line work together.

A key marked † is accepted and checked, but nothing reads it yet: its feature is planned.
"""


PASSWORDS = """\
## `[[passwords]]`

A password that locked files are tried with; any number of these tables.
`KEBAB_PASSWORDS_FILE` names a file of more, one a line.

| Key | Default | Value | Meaning |
|---|---|---|---|
| `value` | required | text | The password; no message, log or index ever holds it. |
"""


def _sections() -> Iterator[str]:
    source_doc = "A folder of documents; any number of these tables. They have no environment form."
    yield _section("[[sources]]", source_doc, "sources")
    yield PASSWORDS
    for name in SECTIONS:
        yield _section(f"[{name}]", section_doc(name), name)


def _section(title: str, doc: str, name: str) -> str:
    # A source needs its id and root: what the file shows for them is an example.
    rows = [_row(name, key, rule) for key, rule in rules(name).items()]
    head = ("Key", "Default", "Value", "Meaning")
    lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * 4, *rows)]
    return f"## `{title}`\n\n{doc}\n\n" + "\n".join(lines) + "\n"


def _row(section: str, key: str, rule: Rule) -> tuple[str, ...]:
    mark = " †" if is_unused(f"{section}.{key}") else ""
    is_required = section == "sources" and rule.kind in {"path", "id"}
    default = "required" if is_required else f"`{toml(rule.shown)}`"
    return f"`{key}`{mark}", default, _values(rule), _escaped(rule.doc)


def _values(rule: Rule) -> str:
    if rule.low is None or rule.choices:
        return _escaped(rule.expected)
    # In full: the error message that the phrase is made for says 1e+06.
    kind = rule.expected.partition(" from ")[0]
    return f"{kind} from {rule.low} to {rule.high}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def is_unused(name: str) -> bool:
    """Say whether nothing reads the setting *name*, such as ``search.fusion``."""
    return name in UNUSED or f"{name.partition('.')[0]}.*" in UNUSED


def read_after_all() -> list[str]:
    """Return the settings marked as unused that some code seems to read."""
    sources = [
        file.read_text("utf-8")
        for file in ROOT.glob("packages/kb-*/src/**/*.py")
        if file.parent.name != "config"
    ]
    names = [name.replace(".*", "") for name in UNUSED]
    patterns = {name: re.compile(rf"config\.{re.escape(name)}\b") for name in names}
    return [name for name, pattern in patterns.items() if any(map(pattern.search, sources))]


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_sections()])


def _check(text: str) -> int:
    if found := read_after_all():
        print(f"marked as unused, but read: {', '.join(found)}", file=sys.stderr)
        return 1
    old = PAGE.read_text("utf-8") if PAGE.is_file() else ""
    if old == text:
        print(f"{PAGE.relative_to(ROOT)} is up to date")
        return 0
    print(*difflib.unified_diff(old.splitlines(), text.splitlines(), lineterm="", n=1), sep="\n")
    print(f"{PAGE.relative_to(ROOT)} is stale: run `{COMMAND}`", file=sys.stderr)
    return 1


def main(words: list[str]) -> int:
    """Write the page, or check it."""
    text = page()
    if words == ["check"]:
        return _check(text)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
