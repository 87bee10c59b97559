"""The schema files are valid, self-consistent and complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from kb_core import schemas, wire
from kb_core.testing import closed_schema
from kb_core.testing.documents import document, stored_chunk

EMBEDDED = {
    *("bulk_search_input", "citation", "doc_summary", "eval_case", "ingest_item", "search_hit"),
    "source",
}
SOMETIMES_NESTED = {"chunk_inspection", "stats"}
REGISTRY: Registry[Any] = Registry[Any]().with_resources(
    (schemas.BASE + f"{name}.schema.json", DRAFT202012.create_resource(schemas.load(name)))
    for name in schemas.names()
)


def objects(node: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - a JSON value
    """Yield every subschema, whatever keyword it is under."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node:
        if isinstance(inner, dict | list):
            yield from objects(inner)


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_valid_and_named_after_its_file(name: str) -> None:
    schema = schemas.load(name)

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://kb.local/wire/v1/{name}.schema.json"
    assert schema["title"].endswith(" v1")
    assert schema["description"].endswith(".")


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_open_and_requires_only_what_it_describes(name: str) -> None:
    for node in objects(schemas.load(name)):
        assert node.get("additionalProperties") is not False
        if isinstance(node.get("properties"), dict) and "type" in node:
            required = node.get("required", [])
            assert set(required) <= node["properties"].keys()
            assert len(set(required)) == len(required)


@pytest.mark.parametrize("name", schemas.names())
def test_references_lead_somewhere(name: str) -> None:
    known = {f"{other}.schema.json" for other in schemas.names()}
    local = {f"#/$defs/{key}" for key in schemas.load(name).get("$defs", {})}

    for node in objects(schemas.load(name)):
        if "$ref" in node:
            assert node["$ref"] in known | local


@pytest.mark.parametrize("name", schemas.names())
def test_top_level_objects_carry_their_name(name: str) -> None:
    schema = schemas.load(name)
    version = schema["properties"].get("schema_version")

    assert version == (None if name in EMBEDDED else {"const": f"{name}.v1"})
    required = "schema_version" in schema["required"]
    assert required == (name not in EMBEDDED | SOMETIMES_NESTED)


@pytest.mark.parametrize("name", schemas.names())
@pytest.mark.parametrize("portable", [False, True])
def test_a_bundle_stands_alone(name: str, portable: bool) -> None:
    bundle = schemas.bundle(name, portable=portable)

    Draft202012Validator.check_schema(bundle)
    for node in objects(bundle):
        assert "$id" not in node
        if "$ref" in node:
            assert node["$ref"].removeprefix("#/$defs/") in bundle["$defs"]
    assert (re.search(r'"(if|then|allOf)": ', json.dumps(bundle)) is None) or not portable


def test_bundling_leaves_the_schema_as_it_was() -> None:
    text = files(schemas).joinpath("v1", "fetch_result.schema.json").read_text("utf-8")

    schemas.bundle("fetch_result", portable=True)
    closed_schema("fetch_result")

    assert schemas.load("fetch_result") == json.loads(text)


DOC = document("a.md", "t")
CHUNK = wire.chunk(stored_chunk(DOC.chunks[0], DOC), {})
FETCHED = {
    "schema_version": "fetch_result.v1",
    "doc_id": "b" * 32,
    "doc_path": "a.md",
    "indexed_at": "2026-01-02T03:04:05Z",
    "stale": False,
    "truncated": False,
}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"kind": "doc", "text": ""}, None),
        ({"kind": "doc"}, "'text' is a required property"),
        ({"kind": "span", "text": "", "line_start": 1, "line_end": 2, "effective_end": 0}, None),
        ({"kind": "span", "text": "", "line_start": 1, "line_end": 2}, "'effective_end'"),
        ({"kind": "chunk", "chunk": CHUNK, "context_before": [], "context_after": []}, None),
        ({"kind": "chunk", "chunk": CHUNK, "context_before": []}, "'context_after'"),
        ({"kind": "page", "text": ""}, "'page' is not one of"),
        ({"kind": "doc", "text": "", "indexed_at": "2026-01-02T03:04:05+00:00"}, "does not match"),
    ],
)
@pytest.mark.parametrize("form", ["referring", "bundled", "closed"])
def test_fetch_results_are_judged_by_their_kind(
    fields: dict[str, Any], complaint: str | None, form: str
) -> None:
    """The same verdict through a registry, in one piece, and closed."""
    validator = {
        "referring": Draft202012Validator(schemas.load("fetch_result"), registry=REGISTRY),
        "bundled": Draft202012Validator(schemas.bundle("fetch_result")),
        "closed": Draft202012Validator(closed_schema("fetch_result")),
    }[form]

    if complaint is None:
        validator.validate(FETCHED | fields)
    else:
        with pytest.raises(ValidationError, match=complaint):
            validator.validate(FETCHED | fields)


def test_a_closed_schema_refuses_what_an_open_one_admits() -> None:
    value = FETCHED | {"kind": "chunk", "chunk": CHUNK | {"extra": 1}}
    value |= {"context_before": [], "context_after": []}

    Draft202012Validator(schemas.bundle("fetch_result")).validate(value)
    with pytest.raises(ValidationError, match="'extra' was unexpected"):
        Draft202012Validator(closed_schema("fetch_result")).validate(value)


def test_closing_keeps_maps_open() -> None:
    value = {"schema_version": "error.v1", "code": "internal", "message": "", "hint": None}

    Draft202012Validator(closed_schema("error")).validate(value | {"details": {"any": [1]}})


def test_the_capabilities_of_the_schema_are_those_of_the_emitter() -> None:
    described = schemas.load("schema")["properties"]["capabilities"]

    assert sorted(described["required"]) == sorted(described["properties"]) == [*wire.CAPABILITIES]
