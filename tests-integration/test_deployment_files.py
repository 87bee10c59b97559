"""Files to begin a deployment with: what kebab relies on is in them, and nothing is left open."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parents[1] / "docs" / "scale-out"
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+")


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((HERE / name).read_text("utf-8"))
    return found


def images(node: object) -> list[str]:
    if isinstance(node, dict):
        here = [node["image"]] if isinstance(node.get("image"), str) else []
        return here + [image for value in node.values() for image in images(value)]
    return [image for each in node for image in images(each)] if isinstance(node, list) else []


@pytest.mark.parametrize("file", sorted(HERE.glob("*.yaml")), ids=lambda file: file.name)
def test_every_image_is_of_one_version_and_no_secret_is_in_the_file(file: Path) -> None:
    text = file.read_text("utf-8")

    assert all(PINNED.fullmatch(image) for image in images(yaml.safe_load(text)))
    assert not re.search(r"(?i)(?:password|token|secret)[\"']?:\s*[\"']?(?!\$)[\w]{8,}", text)


def test_the_server_of_one_machine_listens_there_alone_and_asks_who_it_is() -> None:
    found = read("milvus-compose.yaml")

    assert found["services"]["milvus"]["ports"] == ["127.0.0.1:19530:19530"]
    (mounted,) = found["services"]["milvus"]["configs"]
    security = yaml.safe_load(found["configs"][mounted["source"]]["content"])
    assert security["common"]["security"]["authorizationEnabled"] is True
    assert security["common"]["security"]["defaultRootPassword"].startswith("${MILVUS_PASSWORD:?")


def test_the_servers_of_a_cluster_are_reached_within_it_and_ask_who_it_is() -> None:
    found = read("milvus-values.yaml")

    assert found["service"]["type"] == "ClusterIP"
    security = yaml.safe_load(found["extraConfigFiles"]["user.yaml"])
    assert security["common"]["security"]["authorizationEnabled"] is True


def test_every_node_that_reads_has_the_token_and_the_head_reads_nothing() -> None:
    spec = read("ray-cluster.yaml")["spec"]
    head, workers = spec["headGroupSpec"], spec["workerGroupSpecs"]

    assert head["serviceType"] == "ClusterIP"
    assert head["rayStartParams"] == {"num-cpus": "0", "include-dashboard": "false"}
    for group in (head, *workers):
        (container,) = group["template"]["spec"]["containers"]
        told = {each["name"]: each for each in container["env"]}
        assert told["RAY_AUTH_MODE"]["value"] == "token"
        assert "secretKeyRef" in told["RAY_AUTH_TOKEN"]["valueFrom"]


def test_ray_is_of_the_version_that_is_locked() -> None:
    constraints = (HERE.parents[1] / "tools" / "constraints.txt").read_text("utf-8")
    locked = re.search(r"^ray==(\S+)$", constraints, re.MULTILINE)

    assert locked is not None
    assert read("ray-cluster.yaml")["spec"]["rayVersion"] == locked[1]
