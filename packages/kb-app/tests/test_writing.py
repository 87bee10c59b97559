"""One end in every history: a model answers, declines, breaks off, or is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.language_models import language_model
from kb_app._ask.packing import Packed, pack
from kb_app._ask.prompts import NOT_ENOUGH, prompt, room_of
from kb_app._ask.writing import Judging, Written, write
from kb_app.config import Ask
from kb_app.testing.model_server import ModelServer, Reply
from kb_core.errors import ModelUnreachable, Timeout
from kb_core.language import Delta, End, Message, ModelName, Usage
from kb_core.ports import never
from kb_core.testing.documents import Corpus, stored_chunk
from kb_core.testing.fakes import Script, ScriptedModel

HARBOUR = "The harbour was dredged in 1904. It is 12.5 metres deep. Nobody asked the council."
QUESTION = "How deep is the harbour?"


def evidence() -> Packed:
    doc = Corpus().document("harbour.md", HARBOUR)
    return pack([stored_chunk(chunk, doc) for chunk in doc.chunks], 1000, len)


PACKED = evidence()
TOLD = prompt(QUESTION, PACKED)


def history(
    *pieces: str,
    fault: Literal["", "unreachable", "missing", "cut_off", "silent"] = "",
    stop: Callable[[], bool] = never,
    verify: bool | Literal["auto"] = "auto",
) -> tuple[list[str], Written]:
    """Return what was shown, and the one end."""
    model = ScriptedModel(Script(pieces, fault))
    *shown, end = write(
        model, TOLD, PACKED, most_tokens=99, judging=Judging(verify=verify), stop=stop
    )

    assert isinstance(end, Written)
    texts = [piece for piece in shown if isinstance(piece, str)]
    assert len(texts) == len(shown)
    return texts, end


def test_an_answer_is_shown_as_it_comes_and_ends_with_its_places() -> None:
    shown, end = history("It is 12.5 ", "metres deep", " [1].")

    assert shown == ["It is 12.5 ", "metres deep", " [1]."]
    assert (end.text, end.refusal, end.error) == ("It is 12.5 metres deep [1].", None, None)
    (place,) = end.supports
    assert place.chunk["text"][place.start : place.end] == "It is 12.5 metres deep."
    assert end.usage.completion_tokens == 6


def test_what_is_not_supported_is_shown_and_not_given() -> None:
    shown, end = history("It is 12.5 metres deep [1]. It is 90 years old [1].")

    assert "".join(shown) == end.said
    assert end.text == "It is 12.5 metres deep [1]."
    assert len(end.supports) == 1


def test_an_answer_of_which_nothing_is_supported_is_refused() -> None:
    for verify in ("auto", True):
        _, end = history("It is 13 metres deep [1].", verify=verify)
        assert (end.text, end.refusal, end.supports) == ("", "verification_failed", ())
    _, end = history("It is 13 metres deep [1].", verify=False)
    assert (end.text, end.refusal) == ("It is 13 metres deep [1].", None)


@pytest.mark.parametrize(
    "pieces",
    [
        (NOT_ENOUGH,),
        ("NOT ", "IN THE EVI", "DENCE."),
        ("**NOT IN THE EVIDENCE**",),
        ("", " \n"),
        (),
    ],
)
def test_a_model_that_declines_shows_nothing(pieces: tuple[str, ...]) -> None:
    shown, end = history(*pieces)

    assert shown == []
    assert (end.text, end.refusal, end.checked) == ("", "llm_self_judge", None)


def test_what_begins_as_declining_does_is_shown_once_it_goes_on_otherwise() -> None:
    shown, end = history("NOT", " IN", " 1905: the harbour was dredged in 1904 [1].")

    assert shown == ["NOT IN 1905: the harbour was dredged in 1904 [1]."]
    assert end.refusal != "llm_self_judge"
    assert history("Not")[0] == ["Not"]


def test_what_was_said_before_a_break_is_kept_with_its_reason() -> None:
    shown, end = history("It is 12.5", " metres", fault="cut_off")

    assert "".join(shown) == end.text == "It is 12.5 metres"
    assert end.refusal == "llm_stream_aborted"
    assert isinstance(end.error, ModelUnreachable)
    assert isinstance(history(fault="silent")[1].error, Timeout)


def test_who_is_stopped_keeps_what_was_said_and_has_no_error() -> None:
    asked = iter([False, False, False, True, True])

    shown, end = history("It ", "is ", "deep", stop=lambda: next(asked))

    assert "".join(shown) == "It is "
    assert (end.text, end.refusal, end.error) == ("It is", "llm_stream_aborted", None)


def test_a_limit_of_tokens_is_told() -> None:
    class Cut(ScriptedModel):
        def generate(
            self,
            messages: Sequence[Message],
            /,
            *,
            max_tokens: int,
            stop: Callable[[], bool] = never,
        ) -> Any:  # noqa: ANN401 - a generator
            yield Delta("It is 12.5 metres deep [1].")
            yield Delta(end=End("length", Usage(5, 9)))

    *_, end = write(Cut(Script()), TOLD, PACKED, most_tokens=9)

    assert isinstance(end, Written)
    assert (end.is_cut, end.usage, end.refusal) == (True, Usage(5, 9), None)


PIECES = st.lists(
    st.sampled_from(["NOT ", "IN THE ", "EVIDENCE", "It is 12.5 metres deep", " [1]", ". ", "\n"])
    | st.text(max_size=4),
    max_size=8,
)
FAULTS = st.sampled_from(["", "", "unreachable", "missing", "cut_off", "silent"])


@given(PIECES, FAULTS, st.integers(0, 12), st.sampled_from(["auto", True, False]))
def test_every_history_has_one_end_and_it_comes_last(
    pieces: list[str],
    fault: Literal["", "unreachable", "missing", "cut_off", "silent"],
    patience: int,
    verify: bool | Literal["auto"],
) -> None:
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > patience

    shown, end = history(*pieces, fault=fault, stop=stop, verify=verify)

    assert end.said.startswith("".join(shown))
    assert "".join(pieces).startswith(end.said)
    is_aborted = end.refusal == "llm_stream_aborted"
    assert is_aborted == (bool(fault) or asked[0] > patience)
    assert end.text == (end.said.strip() if is_aborted else end.text)
    assert (end.refusal is None) <= bool(end.text)
    assert end.error is None or is_aborted


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_the_whole_way_over_a_real_connection(provider: str) -> None:
    reply = Reply(pieces=["It is 12.5 ", "metres deep [1]."])
    with ModelServer(reply) as server:
        ask = Ask(provider=provider, endpoint=server.url, model="m")
        model = language_model(ask, {})
        assert model is not None
        room = room_of(ask.context_tokens, QUESTION, len)
        *shown, end = write(model, TOLD, PACKED, most_tokens=room.answer)

    assert shown == list(reply.pieces)
    assert isinstance(end, Written)
    assert end.text == "It is 12.5 metres deep [1]."
    (request,) = server.requests
    assert [message["content"] for message in request.body["messages"]] == [
        message.text for message in TOLD
    ]
    assert model.name == ModelName("m", provider)


def test_who_stops_listening_lets_go_of_the_connection() -> None:
    with ModelServer(Reply(pieces=["one"], falls_silent=True), Reply(pieces=["two"])) as server:
        model = language_model(Ask(provider="ollama", endpoint=server.url, model="m"), {})
        assert model is not None
        first: Iterator[str | Written] = write(model, TOLD, PACKED, most_tokens=9)
        assert next(first) == "one"
        del first

        *shown, _ = write(model, TOLD, PACKED, most_tokens=9)

    assert shown == ["two"]
