"""The one version of the seven distributions.

``check`` says everything that is out of step and fails; ``show`` prints the version;
``set X.Y.Z`` writes it, and the exact pins between siblings, everywhere.

The seven ``pyproject.toml`` and ``kb_core/version.py`` each hold the version as plain
text, so that a clone without tags, an sdist and a wheel all know it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["main", "problems"]

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "packages").glob("kb-*/pyproject.toml"))
NAMES = {file.parent.name for file in FILES}
MODULE = ROOT / "packages/kb-core/src/kb_core/version.py"

VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)
MODULE_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
# A sibling, with its extras if any, in a list on one line or on several.
PIN = re.compile(r'"(kb-[a-z]+)(\[[a-z,-]+\])?(==[^"]*)?"')
PEP440 = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?")


def _text(file: Path) -> str:
    return file.read_text("utf-8")


def current() -> str:
    """Return the version of kb-core, which the others must have too."""
    project = tomllib.loads(_text(ROOT / "packages/kb-core/pyproject.toml"))["project"]
    return str(project["version"])


def _project_problems(file: Path, version: str) -> Iterator[str]:
    name = file.parent.name
    project = tomllib.loads(_text(file))["project"]
    if project["name"] != name:
        yield f"{name}: the distribution is called {project['name']}"
    if project["version"] != version:
        yield f"{name}: version {project['version']} should be {version}"
    extras = project.get("optional-dependencies", {}).values()
    for requirement in (*project["dependencies"], *(r for extra in extras for r in extra)):
        pin = PIN.fullmatch(f'"{requirement}"')
        sibling = re.split(r"[^a-z-]", requirement)[0]
        if sibling in NAMES and (pin is None or pin[3] != f"=={version}"):
            yield f"{name}: {requirement!r} should be pinned =={version}"


def problems() -> Iterator[str]:
    """Yield a sentence for everything that is out of step."""
    version = current()
    for file in FILES:
        yield from _project_problems(file, version)
        licence = file.with_name("LICENSE")
        if not licence.is_file() or licence.read_bytes() != (ROOT / "LICENSE").read_bytes():
            yield f"{file.parent.name}: LICENSE is not a copy of the root's"
    if MODULE_VERSION.findall(_text(MODULE)) != [version]:
        yield f'{MODULE.name}: should hold __version__ = "{version}", once'
    if not re.search(rf"^## {re.escape(version)}$", _text(ROOT / "CHANGELOG.md"), re.MULTILINE):
        yield f"CHANGELOG.md: no section '## {version}'"


def set_version(version: str) -> None:
    """Write *version*, and the pins between siblings, everywhere."""
    for file in FILES:
        text = VERSION.sub(f'version = "{version}"', _text(file), count=1)
        text = PIN.sub(lambda pin: _pinned(pin, version), text)
        file.write_text(text, "utf-8")
    MODULE.write_text(MODULE_VERSION.sub(f'__version__ = "{version}"', _text(MODULE)), "utf-8")


def _pinned(pin: re.Match[str], version: str) -> str:
    # The name of a distribution itself matches too, and takes no pin.
    return f'"{pin[1]}{pin[2] or ""}=={version}"' if pin[3] else pin[0]


def _check() -> int:
    found = list(problems())
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"versions: {len(FILES)} distributions at {current()}, {len(found)} problems")
    return int(bool(found))


def main(words: list[str]) -> int:
    """Do what the words say and return the exit code."""
    match words:
        case ["check"]:
            return _check()
        case ["show"]:
            print(current())
            return 0
        case ["set", version] if PEP440.fullmatch(version):
            set_version(version)
            print("Next: a section in CHANGELOG.md, then `hatch env remove default`,")
            print("because hatch does not notice a new version of a workspace member.")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
