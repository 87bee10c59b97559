"""The graphs that are shipped are those that the tool writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kb_search.embed import e5

GRAPHS = Path(e5.__file__).with_name("graphs")
TOOL = Path(__file__).resolve().parents[3] / "tools" / "build_graphs.py"


@pytest.mark.parametrize("layers", [e5.LAYERS, e5.READ_LAYERS])
@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_the_committed_graph_is_what_the_tool_writes(quality: str, layers: int) -> None:
    spec = importlib.util.spec_from_file_location("build_graphs", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    committed = (GRAPHS / e5.graph_name(quality, layers)).read_bytes()

    assert committed == tool.build_graph(quality, layers), "run python tools/build_graphs.py"


@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_tensors_lie_on_pages_of_their_own(quality: str) -> None:
    """A tensor that begins elsewhere would be copied instead of mapped."""
    end = 0
    for tensor in e5.tensors(quality):
        assert tensor.offset % e5.PAGE == 0
        assert end <= tensor.offset < end + e5.PAGE
        end = tensor.offset + tensor.size


def test_a_graph_holds_no_weights() -> None:
    assert all(graph.stat().st_size < 64_000 for graph in GRAPHS.glob("*.onnx"))
