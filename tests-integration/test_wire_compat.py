"""Released wire schemas are promises; the check that holds us to them works."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "packages/kb-core/src/kb_core/schemas/v1"
COPY = ROOT / "docs/wire-schema/v1"

sys.path.insert(0, str(ROOT / "tools"))
import check_wire_compat  # noqa: E402 - a script, not a module of any distribution

Schema = dict[str, Any]


def test_the_schemas_keep_what_was_released() -> None:
    assert check_wire_compat.main() == 0


def test_the_published_copy_is_the_contract() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools/schemas.py"), "check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, f"{run.stdout}\nwrite it with: tools/dev schemas"


def remove(schema: Schema) -> None:
    del schema["properties"]["corpus_revision"]


def retype(schema: Schema) -> None:
    schema["properties"]["next_cursor"]["type"] = "string"


def demand(schema: Schema) -> None:
    schema["required"].append("corpus_revision")


def release(schema: Schema) -> None:
    schema["required"].remove("hits")


def deep(schema: Schema) -> None:
    del schema["properties"]["trace"]["properties"]["timing"]["properties"]["total_ms"]


def definition(schema: Schema) -> None:
    schema["$defs"]["candidate"]["properties"]["rank"]["type"] = "number"


def item(schema: Schema) -> None:
    schema["properties"]["degraded"]["items"] = {"type": "object"}


def another(schema: Schema) -> None:
    schema["properties"]["hits"]["items"]["$ref"] = "doc_summary.schema.json"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (remove, "search_response.corpus_revision is gone"),
        (retype, 'search_response.next_cursor: type was ["string", "null"] and is "string"'),
        (demand, "search_response.corpus_revision is required now"),
        (release, "search_response.hits is no longer required"),
        (deep, "search_response.trace.timing.total_ms is gone"),
        (definition, "search_response.candidate.rank: type was"),
        (item, "search_response.degraded[]: type was"),
        (another, "search_response.hits[]: $ref was"),
    ],
)
def test_a_break_is_found(
    change: Callable[[Schema], None],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    altered = planted(tmp_path, "search_response", change)

    assert check_wire_compat.main(altered, CONTRACT) == 1
    assert complaint in capsys.readouterr().out


def test_a_lost_condition_a_lost_value_and_a_lost_object_are_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unconditional(schema: Schema) -> None:
        schema["allOf"].pop()

    def fewer(schema: Schema) -> None:
        schema["properties"]["code"]["enum"].remove("timeout")

    altered = planted(tmp_path, "fetch_result", unconditional)
    rewrite(altered / "error.schema.json", fewer)
    (altered / "doctor.schema.json").unlink()

    assert check_wire_compat.main(altered, CONTRACT) == 1
    out = capsys.readouterr().out
    assert "fetch_result: condition 2 is gone" in out
    assert "error.code: the value 'timeout' is gone" in out
    assert "doctor: the object is gone" in out


def test_what_is_added_is_no_break(tmp_path: Path) -> None:
    def grow(schema: Schema) -> None:
        schema["properties"]["code"]["enum"].append("new_code")
        schema["properties"]["since"] = {"type": "string"}
        schema["description"] = "Other words."

    altered = planted(tmp_path, "error", grow)
    (altered / "brand_new.schema.json").write_text("{}", "utf-8")

    assert check_wire_compat.main(altered, CONTRACT) == 0


def test_before_the_first_release_nothing_is_promised(tmp_path: Path) -> None:
    assert check_wire_compat.main(CONTRACT, tmp_path / "missing") == 0


def planted(tmp_path: Path, name: str, change: Callable[[Schema], None]) -> Path:
    """Return a copy of the schemas with one of them changed."""
    altered = tmp_path / "v1"
    shutil.copytree(CONTRACT, altered)
    rewrite(altered / f"{name}.schema.json", change)
    return altered


def rewrite(path: Path, change: Callable[[Schema], None]) -> None:
    schema = json.loads(path.read_text("utf-8"))
    change(schema)
    path.write_text(json.dumps(schema), "utf-8")
