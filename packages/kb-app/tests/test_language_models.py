"""Both protocols of language models, spoken to a real server that is scripted."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from kb_app._ask.language_models import language_model
from kb_app.config import Ask
from kb_app.testing.model_server import ModelServer, Reply
from kb_core.errors import (
    ConfigInvalid,
    KbError,
    MissingExtra,
    ModelNotPulled,
    ModelUnreachable,
    Timeout,
)
from kb_core.language import Delta, Message
from kb_core.ports import LanguageModel
from kb_core.testing.contracts import LanguageModelContract
from kb_core.testing.documents import NOW
from kb_core.testing.fakes import Script, ScriptedModel

QUESTION = (Message("system", "Be brief."), Message("user", "Why?"))
PROVIDERS = ("ollama", "openai")


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Return what starts servers that the test ends with."""
    servers: list[ModelServer] = []

    def started(*replies: Reply) -> ModelServer:
        servers.append(ModelServer(*replies))
        return servers[-1]

    yield started
    for server in servers:
        server.close()


def model_at(
    url: str,
    provider: str = "ollama",
    key: str = "",
    **settings: Any,  # noqa: ANN401 - as of Ask
) -> LanguageModel:
    ask = replace(Ask(provider=provider, endpoint=url, model=ModelServer.model), **settings)
    made = language_model(ask, {"KEBAB_ASK_API_KEY": key})
    assert made is not None
    return made


def told(model: LanguageModel) -> list[Delta]:
    return list(model.generate(QUESTION, max_tokens=9))


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


class ServedContract(LanguageModelContract):
    provider: str

    @pytest.fixture(autouse=True)
    def _servers(self, serve: Callable[..., ModelServer]) -> None:
        self._serve = serve

    def make_model(self, script: Script) -> LanguageModel:
        if script.fault == "unreachable":
            return model_at(f"http://127.0.0.1:{closed_port()}", self.provider)
        is_silent = script.fault == "silent"
        reply = Reply(pieces=script.pieces, ends=script.fault != "cut_off", falls_silent=is_silent)
        server = self._serve(reply)
        return model_at(
            server.url,
            self.provider,
            model="llama" if script.fault == "missing" else ModelServer.model,
            timeout_secs=0.1 if is_silent else 60,
        )


class TestOllama(ServedContract):
    provider = "ollama"


class TestOpenAi(ServedContract):
    provider = "openai"


class TestScripted(LanguageModelContract):
    def make_model(self, script: Script) -> LanguageModel:
        return ScriptedModel(script)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_ollama_is_told_what_the_configuration_says(serve: Callable[..., ModelServer]) -> None:
    server = serve(Reply(pieces=["Because."]))
    model = model_at(
        server.url + "/", context_tokens=512, temperature=0.5, seed=7, keep_alive_secs=-1
    )

    *_, last = told(model)

    (request,) = server.requests
    assert request.path == "/api/chat"
    assert request.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why?"},
        ],
        "stream": True,
        "keep_alive": -1,
        "options": {"num_ctx": 512, "num_predict": 9, "temperature": 0.5, "seed": 7},
    }
    assert last.end is not None
    assert (last.end.usage.prompt_tokens, last.end.usage.completion_tokens) == (7, 1)


def test_another_server_is_told_the_same_in_its_words(serve: Callable[..., ModelServer]) -> None:
    server = serve(Reply(pieces=["Because."]))

    *_, last = told(model_at(server.url, "openai", key="sk-1"))

    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert request.body["max_tokens"] == 9
    assert request.body["stream_options"] == {"include_usage": True}
    assert last.end is not None
    assert (last.end.usage.prompt_tokens, last.end.usage.completion_tokens) == (7, 1)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_limit_of_tokens_is_told_from_an_end(
    serve: Callable[..., ModelServer], provider: str
) -> None:
    server = serve(Reply(pieces=["Becau"], reason="length"))

    *_, last = told(model_at(server.url, provider))

    assert last.end is not None
    assert last.end.reason == "length"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_connection_serves_one_answer_after_the_other(
    serve: Callable[..., ModelServer], provider: str
) -> None:
    server = serve(Reply(pieces=["a", "b"]))
    model = model_at(server.url, provider)

    assert [text_of(told(model)) for _ in range(3)] == ["ab"] * 3
    assert server.connections == 1


def test_a_kept_connection_that_the_server_closed_is_made_anew(
    serve: Callable[..., ModelServer],
) -> None:
    line = b'{"message":{"content":"a"},"done":true}\n'
    server = serve(Reply(body=line, media="application/x-ndjson", ends=False), Reply(pieces=["b"]))
    model = model_at(server.url)

    assert [text_of(told(model)), text_of(told(model))] == ["a", "b"]
    assert server.connections == 2


def test_the_next_question_is_answered_after_an_answer_that_broke_off(
    serve: Callable[..., ModelServer],
) -> None:
    server = serve(Reply(pieces=["a"], ends=False), Reply(pieces=["b"]))
    model = model_at(server.url)

    with pytest.raises(ModelUnreachable, match="broke off"):
        told(model)
    assert text_of(told(model)) == "b"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_pieces_come_while_the_rest_is_not_written_yet(
    serve: Callable[..., ModelServer], provider: str
) -> None:
    server = serve(Reply(pieces=["one", "two"], falls_silent=True))
    deltas = model_at(server.url, provider).generate(QUESTION, max_tokens=9)

    assert [next(deltas).text, next(deltas).text] == ["one", "two"]
    deltas.close()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_waits_for_a_silent_server_can_still_be_stopped(
    serve: Callable[..., ModelServer], provider: str
) -> None:
    server = serve(Reply(pieces=["one"], falls_silent=True))
    enough = threading.Event()
    deltas = model_at(server.url, provider, timeout_secs=0).generate(
        QUESTION, max_tokens=9, stop=enough.is_set
    )

    assert next(deltas).text == "one"
    enough.set()

    assert list(deltas) == []


def test_the_whole_answer_has_one_patience(serve: Callable[..., ModelServer]) -> None:
    """The clock is the test's: it jumps when the first piece is there."""
    server = serve(Reply(pieces=["one"], falls_silent=True))
    now = [0.0]
    ask = Ask(provider="ollama", endpoint=server.url, model="m", timeout_secs=30)
    model = language_model(ask, {}, clock=lambda: now[0])
    assert model is not None
    deltas = model.generate(QUESTION, max_tokens=9)

    assert next(deltas).text == "one"
    now[0] = 31
    with pytest.raises(Timeout, match=r"longer than \[ask\] timeout_secs = 30") as failed:
        next(deltas)
    assert "timeout_secs" in str(failed.value.hint)


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("ollama", b"<html>"),
        ("ollama", b"[1]\n"),
        ("ollama", b"[" * 100_000),
        ("ollama", b'{"unknown": 1}\n'),
        ("openai", b"data: {nope\n\n"),
        ("openai", b"data: 17\n\n"),
        ("openai", b"<html>\n"),
    ],
)
def test_what_nobody_can_read_is_shown(
    serve: Callable[..., ModelServer], provider: str, body: bytes
) -> None:
    media = "application/x-ndjson" if provider == "ollama" else "text/event-stream"
    server = serve(Reply(body=body, media=media))

    with pytest.raises(ModelUnreachable, match="nobody can read") as failed:
        told(model_at(server.url, provider))

    came = failed.value.details["came"]
    assert isinstance(came, str)
    assert came.strip() in body.decode()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_of_another_kind_names_both(
    serve: Callable[..., ModelServer], provider: str
) -> None:
    server = serve(Reply(body=b"<h1>Welcome</h1>", media="text/html; charset=utf-8"))

    with pytest.raises(ModelUnreachable, match=r"text/html, not with (application|text)/"):
        told(model_at(server.url, provider))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_in_the_middle_is_told(serve: Callable[..., ModelServer], provider: str) -> None:
    is_ollama = provider == "ollama"
    error = json.dumps({"error": "out of memory" if is_ollama else {"message": "out of memory"}})
    body = f"{error}\n" if is_ollama else f"data: {error}\n\n"
    media = "application/x-ndjson" if is_ollama else "text/event-stream"
    server = serve(Reply(body=body.encode(), media=media))

    with pytest.raises(ModelUnreachable, match="gave up: out of memory"):
        told(model_at(server.url, provider))


def test_a_busy_server_is_asked_again_when_it_says_so(
    serve: Callable[..., ModelServer],
) -> None:
    past = format_datetime(NOW, usegmt=True)
    server = serve(
        Reply(status=429, body=b"{}", headers={"Retry-After": "0"}),
        Reply(status=503, body=b"", headers={"Retry-After": past}),
        Reply(pieces=["now"]),
    )

    assert text_of(told(model_at(server.url))) == "now"
    assert len(server.requests) == 3


def test_a_server_that_is_busy_for_longer_than_the_patience_is_not_waited_for(
    serve: Callable[..., ModelServer],
) -> None:
    server = serve(Reply(status=429, body=b"{}", headers={"Retry-After": "3600"}))

    with pytest.raises(Timeout, match="asked again in 3600 s") as failed:
        told(model_at(server.url, timeout_secs=60))

    assert failed.value.details["retry_after_secs"] == 3600
    assert len(server.requests) == 1


def test_a_server_that_stays_busy_is_given_up(serve: Callable[..., ModelServer]) -> None:
    busy = Reply(status=429, body=b'{"error":"slow down"}', headers={"Retry-After": "0"})

    with pytest.raises(ModelUnreachable, match="HTTP 429: slow down"):
        told(model_at(serve(busy).url))


def test_a_redirect_on_the_same_server_is_followed(serve: Callable[..., ModelServer]) -> None:
    server = serve(
        Reply(status=307, body=b"", headers={"Location": "/api/chat?again"}),
        Reply(pieces=["here"]),
    )

    assert text_of(told(model_at(server.url))) == "here"
    assert [request.path for request in server.requests] == ["/api/chat", "/api/chat?again"]
    assert server.requests[1].body == server.requests[0].body


def test_a_redirect_in_a_circle_ends(serve: Callable[..., ModelServer]) -> None:
    server = serve(Reply(status=308, body=b"", headers={"Location": "/api/chat"}))

    with pytest.raises(ModelUnreachable, match="in a circle"):
        told(model_at(server.url))


def test_nothing_is_sent_to_where_a_redirect_leads(serve: Callable[..., ModelServer]) -> None:
    other = serve()
    server = serve(Reply(status=307, body=b"", headers={"Location": f"{other.url}/api/chat"}))

    with pytest.raises(ModelUnreachable, match=f"redirects to {other.url}"):
        told(model_at(server.url, key="sk-1"))

    assert other.connections == 0


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_no_error_repeats_the_key(
    serve: Callable[..., ModelServer], provider: str, status: int
) -> None:
    key = "sk-very-secret"
    server = serve(Reply(status=status, body=f'{{"error":"bad {key}"}}'.encode()))

    with pytest.raises(KbError) as failed:
        told(model_at(server.url, provider, key=key))

    error = failed.value
    assert key not in f"{error} {error.hint} {error.details} {error.__cause__}"
    assert server.requests[0].headers["Authorization"] == f"Bearer {key}"


def test_a_missing_key_is_asked_for(serve: Callable[..., ModelServer]) -> None:
    server = serve(Reply(status=401, body=b'{"error":{"message":"no"}}'))

    with pytest.raises(ModelUnreachable, match="another key") as failed:
        told(model_at(server.url, "openai"))

    assert "KEBAB_ASK_API_KEY" in str(failed.value.hint)


def test_a_server_that_gives_up_in_time_is_a_timeout(
    serve: Callable[..., ModelServer],
) -> None:
    with pytest.raises(Timeout, match="HTTP 504"):
        told(model_at(serve(Reply(status=504, body=b"")).url))


def test_a_page_that_is_not_there_is_no_missing_model(
    serve: Callable[..., ModelServer],
) -> None:
    with pytest.raises(ModelUnreachable, match="HTTP 404: page not found"):
        told(model_at(serve(Reply(status=404, body=b"page not found", media="text/plain")).url))


def test_parameters_that_a_server_does_not_know_are_left_out(
    serve: Callable[..., ModelServer],
) -> None:
    def unknown(param: str) -> Reply:
        body = json.dumps({"error": {"message": f"unsupported {param}", "param": param}})
        return Reply(status=400, body=body.encode())

    server = serve(
        unknown("max_tokens"), unknown("temperature"), unknown("seed"), Reply(pieces=["so"])
    )

    assert text_of(told(model_at(server.url, "openai"))) == "so"
    last = server.requests[-1].body
    assert last["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature", "seed"} & last.keys()


def test_a_model_that_is_missing_comes_with_those_that_are_there(
    serve: Callable[..., ModelServer],
) -> None:
    with pytest.raises(ModelNotPulled) as failed:
        model_at(serve().url, "openai", model="gpt").check()

    assert str(failed.value.hint) == "set [ask] model to one that it has: m"


def test_a_proxy_of_the_environment_is_gone_through_but_not_to_this_machine(
    serve: Callable[..., ModelServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, server = serve(Reply(pieces=["through"])), serve(Reply(pieces=["straight"]))
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "inside.invalid")

    assert text_of(told(model_at("http://models.invalid:8080", "openai"))) == "through"
    assert proxy.requests[0].path == "http://models.invalid:8080/v1/chat/completions"
    assert text_of(told(model_at(server.url))) == "straight"
    with pytest.raises(ModelUnreachable):
        told(model_at("http://inside.invalid"))
    assert len(proxy.requests) == 1


def test_an_unknown_host_is_told_as_one() -> None:
    with pytest.raises(ModelUnreachable, match="no host of that name") as failed:
        told(model_at("http://nowhere.invalid"))

    assert "ollama serve" in str(failed.value.hint)


def test_where_evidence_is_sent_to_is_said() -> None:
    for url in ("http://localhost:1", "http://127.0.0.1", "http://[::1]:8", "http://a.localhost"):
        assert model_at(url).name.remote is None, url
    for url in ("https://api.example.com/v1", "http://10.0.0.5:8000", "http://local"):
        assert model_at(url, "openai").name.remote == url.removesuffix("/v1"), url


@pytest.mark.parametrize(
    "endpoint",
    ["localhost:11434", "ftp://a", "http://", "http://a:x", "http://a?key=b", "file:///etc"],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(endpoint: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"\[ask\] endpoint") as failed:
        model_at(endpoint)

    assert failed.value.details["value"] == endpoint


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigInvalid) as failed:
        model_at("http://me:hunter2@models.example.com")

    assert "hunter2" not in f"{failed.value} {failed.value.details}"


def key_sent(
    serve: Callable[..., ModelServer], environ: dict[str, str], api_key_file: str = ""
) -> str:
    server = serve(Reply(pieces=["x"]))
    ask = Ask(provider="openai", endpoint=server.url, model="m", api_key_file=api_key_file)
    model = language_model(ask, environ)
    assert model is not None
    told(model)
    return server.requests[0].headers.get("Authorization", "")


def test_the_key_comes_from_the_variable_then_from_the_file(
    serve: Callable[..., ModelServer], tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n", "utf-8")

    both = {"KEBAB_ASK_API_KEY": "from-variable"}
    assert key_sent(serve, both, api_key_file=str(file)) == "Bearer from-variable"
    assert key_sent(serve, {}, api_key_file=str(file)) == "Bearer from-file"


def test_a_key_of_openai_goes_to_openai_alone(serve: Callable[..., ModelServer]) -> None:
    assert key_sent(serve, {"OPENAI_API_KEY": "sk-openai"}) == ""


@pytest.mark.parametrize("text", ["", "  \n", "two words", "two\nlines", "schlüssel"])
def test_a_file_that_holds_no_key_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text, "utf-8")

    with pytest.raises(ConfigInvalid, match="api_key_file") as failed:
        language_model(Ask(provider="openai", model="m", api_key_file=str(file)), {})

    assert not text.strip() or text not in str(failed.value)


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    ask = Ask(provider="openai", model="m", api_key_file=str(tmp_path / "none"))

    with pytest.raises(ConfigInvalid, match="none' cannot be read: No such file"):
        language_model(ask, {})


def test_who_writes_nothing_needs_no_model() -> None:
    assert language_model(Ask(), {}) is None
    assert language_model(Ask(provider="none"), {}) is None


def test_a_provider_without_a_model_says_which_key_is_missing() -> None:
    with pytest.raises(ConfigInvalid, match=r"\[ask\] model is empty"):
        language_model(Ask(provider="ollama"), {})


def test_a_file_of_weights_says_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="gguf") as failed:
        language_model(Ask(provider="gguf", model="/m.gguf"), {})

    assert "ollama" in str(failed.value.hint)


def test_two_modules_alone_open_connections() -> None:
    """What leaves the machine leaves it there, to servers that the configuration names."""
    root = Path(__file__).parents[3]
    opens = re.compile(r"^\s*(?:import|from) (?:http\.client|urllib\.request|ssl)\b", re.MULTILINE)
    found = [
        file.name
        for file in root.glob("packages/*/src/**/*.py")
        if opens.search(file.read_text("utf-8"))
    ]

    assert sorted(found) == ["endpoint.py", "serving.py"]
