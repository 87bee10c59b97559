"""A language model of a file, run in process.

What needs real weights takes the file that ``KEBAB_TEST_GGUF`` names, and is left out without
one, or without the extra ``gguf``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb_app._ask.gguf import GgufModel
from kb_app._ask.language_models import Sampling
from kb_app.config import Ask, Config, Source
from kb_app.testing.parts import open_here
from kb_core.answers import AskQuery
from kb_core.errors import ModelNotPulled
from kb_core.ingest import IngestOptions
from kb_core.language import Delta, Message

WEIGHTS = os.environ.get("KEBAB_TEST_GGUF", "")
real = pytest.mark.skipif(not WEIGHTS or find_spec("cyllama") is None, reason="no weights to run")
ASKED = (Message("user", "The tower was built in 1889. When was the tower built?"),)


@pytest.fixture(scope="module")
def model() -> GgufModel:
    """Return the real model, which is loaded once."""
    return GgufModel(Path(WEIGHTS), Sampling())


@pytest.mark.parametrize("text", [None, b"", b"PK\x03\x04"])
def test_what_is_no_file_of_weights_is_said_before_it_is_run(
    tmp_path: Path, text: bytes | None
) -> None:
    file = tmp_path / "small.gguf"
    if text is not None:
        file.write_bytes(text)

    with pytest.raises(ModelNotPulled, match=r"small\.gguf") as failed:
        GgufModel(file, Sampling()).check()

    assert "GGUF" in str(failed.value.hint)


@real
def test_a_file_writes_the_same_each_time_and_says_that_it_ended(model: GgufModel) -> None:
    model.check()
    first, again = (list(model.generate(ASKED, max_tokens=20)) for _ in range(2))

    assert first == again
    assert "1889" in "".join(delta.text for delta in first)
    assert [delta.end is not None for delta in first] == [False] * (len(first) - 1) + [True]


@real
def test_the_limit_of_tokens_is_told_apart_from_an_end(model: GgufModel) -> None:
    *_, last = model.generate(ASKED, max_tokens=3)

    assert last.end is not None
    assert last.end.reason == "length"
    assert last.end.usage.completion_tokens == 3


@real
def test_who_is_stopped_has_no_end_and_can_ask_again(model: GgufModel) -> None:
    said: list[Delta] = []
    for delta in model.generate(ASKED, max_tokens=20, stop=lambda: len(said) == 2):
        said.append(delta)  # noqa: PERF402 - *stop* looks at what came so far

    assert len(said) == 2
    assert all(delta.end is None for delta in said)
    assert list(model.generate(ASKED, max_tokens=20, stop=lambda: True)) == []
    assert len(list(model.generate(ASKED, max_tokens=3))) > 1


@real
def test_tokens_are_those_of_the_model(model: GgufModel) -> None:
    assert model.count("") == 0
    assert 2 <= model.count("The tower was built") <= 8


@real
def test_a_question_goes_the_whole_way_to_an_answer_that_was_checked(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    text = "# Tower\n\nThe tower was built in 1889 for a fair.\n"
    (notes / "tower.md").write_text(text, "utf-8")
    config = replace(
        Config.inside(tmp_path, Source(id="notes", root=notes)),
        ask=Ask(provider="gguf", model=WEIGHTS, context_tokens=2000),
    )
    with open_here(config) as kb:
        list(kb.ingest(IngestOptions()))
        events = list(kb.ask(AskQuery(text="when was the tower built")))

    kinds = [event["kind"] for event in events]
    assert kinds == ["retrieval_done", *["token"] * (len(kinds) - 2), "final"]
    final = events[-1]["answer"]
    assert final["model"] == {"id": Path(WEIGHTS).name, "provider": "gguf"}
    assert final["refusal_reason"] in {None, "verification_failed", "llm_self_judge"}
    assert all(cited["quote"] in text for cited in final["citations"])
    assert "warnings" not in final
