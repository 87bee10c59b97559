"""Several hops: what a model asks to be searched is searched, in rounds, and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from kb_app._ask.prompts import ENOUGH
from kb_app.testing.model_server import ModelServer, Reply
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.testing import closed_schema

NOTES = {
    "team.md": "# Teams\n\nThe group Heron made the tide gauge.\n",
    "heron.md": "# Heron\n\nHeron is led by Ada Quist since 2019.\n",
    "cooking.md": "# Soup\n\nThe soup needs two onions and an hour.\n",
}
QUESTION = "who leads the group that made the tide gauge"


@pytest.fixture
def library(kebab: InstalledKebab) -> Iterator[tuple[InstalledKebab, list[Reply], ModelServer]]:
    """Return a library of a few notes, the replies that its model gives, and the model."""
    replies: list[Reply] = []
    server = ModelServer(Reply(pieces=[ENOUGH]))
    server.next_reply = lambda: replies.pop(0)  # type: ignore[method-assign]
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.configure(
        extra=f'[ask]\nprovider = "ollama"\nmodel = "{server.model}"\nendpoint = "{server.url}"'
    )
    kebab.ingest()
    with server:
        yield kebab, replies, server


def ask(kebab: InstalledKebab, *words: str, code: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = kebab.json("ask", *words, "--multi-hop", code=code)
    jsonschema.Draft202012Validator(closed_schema("answer")).validate(answer)
    return answer


def said(*lines: str) -> Reply:
    return Reply(pieces=["\n".join(lines)])


def told(server: ModelServer) -> list[str]:
    bodies = [request.body for request in server.requests if "messages" in request.body]
    return [body["messages"][-1]["content"] for body in bodies]


def test_the_second_search_uses_what_the_first_one_found(library: Any) -> None:  # noqa: ANN401
    kebab, replies, server = library
    replies += [
        said("1. which group made the tide gauge"),
        said("- who leads Heron"),
        said(ENOUGH),
        said("Heron is led by Ada Quist. The group Heron made the tide gauge."),
    ]

    answer = ask(kebab, QUESTION)

    assert "led by Ada Quist" in answer["answer"]
    assert [hop["queries"] for hop in answer["hops"]] == [
        [QUESTION, "which group made the tide gauge"],
        ["who leads Heron"],
    ]
    assert {cited["doc_path"] for cited in answer["citations"]} == {"team.md", "heron.md"}
    assert answer["prompt_template_version"] == "ask-1, hops-1"
    first, second, *_ = told(server)
    assert "(nothing)" in first
    assert "The group Heron made the tide gauge." in second


def test_no_more_than_three_rounds_of_five_searches(library: Any) -> None:  # noqa: ANN401
    kebab, replies, _ = library
    replies += [said(*(f"which group {a}{b}" for b in range(9))) for a in "abc"]
    replies += [said("The group Heron made the tide gauge [1].")]

    answer = ask(kebab, QUESTION)

    assert [len(hop["queries"]) for hop in answer["hops"]] == [5, 5, 5]
    assert replies == []
    found = [chunk for hop in answer["hops"] for chunk in hop["found"]]
    assert len(found) == len(set(found))


def test_what_is_asked_again_or_cannot_be_searched_is_not_searched(
    library: Any,  # noqa: ANN401
) -> None:
    kebab, replies, _ = library
    replies += [
        said("Here are the searches:", "* which group made it", "* which group made it", "x" * 400),
        said("which group made it"),
        said("The group Heron made the tide gauge [1]."),
    ]

    answer = ask(kebab, QUESTION)

    assert [hop["queries"] for hop in answer["hops"]] == [[QUESTION, "which group made it"]]


@pytest.mark.parametrize("reply", [said(""), said(ENOUGH), said("\n\n- \n")])
def test_a_model_that_names_no_search_is_a_refusal(library: Any, reply: Reply) -> None:  # noqa: ANN401
    kebab, replies, _ = library
    replies += [reply]

    answer = ask(kebab, QUESTION, code=1)

    assert answer["refusal_reason"] == "multi_hop_decompose_failed"
    assert "hops" not in answer
    assert answer["citations"]


def test_what_no_round_found_is_no_answer_and_no_model_writes(library: Any) -> None:  # noqa: ANN401
    kebab, replies, server = library
    replies += [said("zebra"), said(ENOUGH)]

    answer = ask(kebab, "quagga", code=1)

    assert answer["refusal_reason"] == "no_chunks"
    assert len(told(server)) == 2


def test_what_the_pool_does_not_say_is_taken_out(library: Any) -> None:  # noqa: ANN401
    kebab, replies, _ = library
    replies += [said("who leads Heron"), said(ENOUGH), said("Bo Lind leads Heron since 1899 [1].")]

    answer = ask(kebab, QUESTION, code=1)

    assert answer["refusal_reason"] == "verification_failed"
    assert answer["verification"]["passed"] is False


def test_the_rounds_are_explained(library: Any) -> None:  # noqa: ANN401
    kebab, replies, _ = library
    replies += [said("who leads Heron"), said(ENOUGH), said("Heron is led by Ada Quist.")]

    stages = {stage["name"]: stage["said"] for stage in ask(kebab, QUESTION, "--explain")["stages"]}

    assert stages["hops"] == "1 round of searches, 2 in all"


def test_without_a_language_model_it_is_one_question_and_that_is_said(
    kebab: InstalledKebab,
) -> None:
    kebab.write("team.md", NOTES["team.md"])
    kebab.ingest()

    done = kebab.run("ask", "which group made the tide gauge", "--multi-hop", "--json")

    assert "hops" not in json.loads(done.stdout)
    assert any("asked as one question" in one for one in json.loads(done.stdout)["warnings"])


CHAIN = {
    "kestrel.md": "# Kestrel\n\nThe mapping program Kestrel draws with the library Pellucid.\n",
    "pellucid.md": "# Pellucid\n\nPellucid was written by Ingrid Solheim in 1998.\n",
    "mill.md": "# Mill\n\nThe founder of Ostby Mill, Karen Tveit, was born in 1902.\n",
    "soup.md": NOTES["cooking.md"],
}


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an embedded library in which two notes answer together."""
    kebab = KebabHere(tmp_path_factory.mktemp("chained"))
    kebab.configure(model="multilingual-e5-small")
    for path, text in CHAIN.items():
        kebab.write(path, text)
    kebab.run("ingest", "--summary-only")
    return kebab


@pytest.mark.model
def test_without_a_model_what_a_phrase_names_is_searched_first_and_cited(
    chained: InstalledKebab,
) -> None:
    answer = chained.json("ask", "who wrote the library that Kestrel uses", "--explain")

    jsonschema.Draft202012Validator(closed_schema("answer")).validate(answer)
    assert [hop["queries"] for hop in answer["hops"]] == [
        ["the library that Kestrel uses"],
        ["who wrote Pellucid"],
    ]
    said = [(one["hop"], one["doc_path"], one["span"]) for one in answer["citations"]]
    assert said == [(1, "kestrel.md", "Pellucid"), (2, "pellucid.md", "Ingrid Solheim")]
    assert answer["answer"].splitlines()[-1] == f"{answer['citations'][-1]['quote']} [2]"
    stages = [stage["said"] for stage in answer["stages"] if stage["name"] == "hop"]
    assert stages[-1].startswith("who wrote Pellucid: confidence")
    found = [chunk_id for hop in answer["hops"] for chunk_id in hop["found"]]
    assert {one["chunk_id"] for one in answer["citations"]} <= set(found)


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "said", "code"),
    [
        ("in which year was the founder of Ostby Mill born", "1902", 0),
        ("how many onions does the library that Kestrel uses need", "", 1),
        ("who wrote Pellucid", "Ingrid Solheim", 0),
    ],
)
def test_what_one_passage_answers_and_what_none_does_has_no_hops(
    chained: InstalledKebab, question: str, said: str, code: int
) -> None:
    done = chained.json("ask", question, code=code)

    assert "hops" not in done
    assert said in done["answer"]
