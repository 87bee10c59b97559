"""Questions and their answers, through the command, the server and the facade."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import jsonschema
import pytest

from kb_app._ask.prompts import NOT_ENOUGH
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_app.testing.model_server import ModelServer, Reply
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.answers import AskQuery
from kb_core.testing import closed_schema
from kb_core.testing.documents import Corpus

NOTES = {
    "tower.md": "# Tower\n\nThe tower was built in 1889 for a fair. It is made of iron.\n"
    "Every seven years it gets a new coat of paint, which takes 60 tons.\n",
    "lease.md": "---\ntitle: Lease\n---\n\nThe flat has three rooms.\n\n"
    "The landlady is Martha Keller. Rent is due on the third of each month.\n\n"
    "| item | price |\n|---|---|\n| rent | 940 € |\n| heating | 120 € |\n",
    "coffee.md": "---\ntitle: Coffee machine\ntags: [kitchen]\nserial: QX-1234\n---\n\n"
    "Descale it every month with vinegar.\n",
    "people/Bob Cod.md": "---\nbirthday: 1990-01-02\nphone: +49 170 555 0199\n---\n\n"
    "Plays the tuba. Drives a blue van.\n",
    "brot.md": "# Brot\n\nDer Teig ruht zwölf Stunden im Kühlschrank. Danach wird er geformt.\n"
    "Gebacken wird er bei 250 Grad.\n",
    "notes/sailing.md": "# Sailing\n\nReef the main before the wind reaches twenty knots.\n",
    "faq.md": "# FAQ\n\nHow high is the lighthouse?\n\nThe lighthouse is 42 metres high.\n",
    "run.md": "# Start\n\nTo start the zeppelin:\n\n```sh\nzep go\n  --up\n```\n\nThen wait.\n",
    "hook.py": 'def retry(times):\n    """Call again, at most five times."""\n    return times\n',
    "report.txt": "3\n\nOperating expenses for the three months were as follows (in millions): "
    "Three Months Ended June 25, 2022 June 26, 2021 Research and development $ 6,797 $ 5,717 "
    "Selling and administration $ 6,012 $ 5,412 Total operating expenses $ 12,809 $ 11,129\n",
    "harbour.md": "# Harbour\n\nThe old crane is painted in April by the apprentices.\n",
    "pools.rst": "Pools\n=====\n\n.. function:: take_lease(timeout)\n\n   Waits for a free lease. "
    "Whoever has one is known by name. Raises an error after the timeout.\n\n"
    ".. function:: give_back(lease)\n\n   Makes room for others. Who waits longest comes first.\n",
    "asking.md": "# Golden questions\n\nQuestions look like this:\n\n```yaml\n- id: paint\n"
    "  query: who paints the old harbour crane\n  tags: [harbour]\n```\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an embedded library of a few notes."""
    kebab = KebabHere(tmp_path_factory.mktemp("asking"))
    kebab.configure(model="multilingual-e5-small")
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.run("ingest", "--summary-only")
    return kebab


def ask(kebab: InstalledKebab, question: str, *words: str, code: int = 0) -> dict[str, Any]:
    """Return the valid answer to a question."""
    done = kebab.run("ask", question, "--json", *words, code=code)
    answer: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(closed_schema("answer")).validate(answer)
    assert answer["grounded"] is (answer["refusal_reason"] is None) is (code == 0)
    return answer


@pytest.mark.model
@pytest.mark.parametrize(
    ("note", "question", "code"),
    [
        ("The bins are collected on Tuesdays.", "when do they collect the bins?", 0),
        ("Wifi password: hunter2", "what is the wifi password?", 0),
        ("The walrus is in the garage.", "where is the walrus?", 0),
        ("The walrus is in the garage.", "where is the seal?", 1),
        ("The walrus is in the garage.", "what does the walrus eat?", 1),
    ],
)
def test_a_note_of_a_line_that_is_all_there_is_answers_what_it_says(
    kebab: InstalledKebab, note: str, question: str, code: int
) -> None:
    kebab.configure(model="multilingual-e5-small")
    kebab.write("note.md", note)
    kebab.ingest()

    answer = ask(kebab, question, code=code)

    assert [one["quote"] for one in answer["citations"]][:1] == [note]


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "path", "quote", "line"),
    [
        ("when was the tower built", "tower.md", "The tower was built in 1889 for a fair.", 3),
        (
            "how is the coffee machine descaled",
            "coffee.md",
            "Descale it every month with vinegar.",
            7,
        ),
        ("what is the serial of the coffee machine", "coffee.md", "serial: QX-1234", 4),
        ("what is Bob's phone number", "people/Bob Cod.md", "phone: +49 170 555 0199", 3),
        ("who is the landlady", "lease.md", "The landlady is Martha Keller.", 7),
        ("how much is the heating", "lease.md", "| heating | 120 € |", 12),
        ("how long does the dough rest", "brot.md", "Der Teig ruht zwölf Stunden", 3),
    ],
)
def test_a_fact_is_answered_by_its_sentence_and_the_line_of_that(
    library: InstalledKebab, question: str, path: str, quote: str, line: int
) -> None:
    answer = ask(library, question)

    best = [one for one in answer["citations"] if quote in one["quote"]]
    assert best, answer["citations"]
    place = best[0]["citation"]
    assert (best[0]["doc_path"], place["path"]) == (path, path)
    assert place["start"] <= line <= place["end"]
    assert answer["model"] == {"id": "extractive", "provider": "extractive"}


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "lead", "quote"),
    [
        ("what does take_lease do", ".. function:: take_lease(timeout)", "Waits for a free lease."),
        ("what is give_back for", ".. function:: give_back(lease)", "Makes room for others."),
    ],
)
def test_what_a_thing_does_is_what_is_first_said_of_it(
    library: InstalledKebab, question: str, lead: str, quote: str
) -> None:
    first = ask(library, question)["citations"][0]

    assert first["doc_path"] == "pools.rst"
    assert first["quote"].startswith(quote)
    assert first["lead"] == lead


@pytest.mark.model
def test_every_quote_stands_where_its_citation_says(library: InstalledKebab) -> None:
    answer = ask(library, "when was the tower built and what is it made of")

    assert answer["answer"].count("[") == len(answer["citations"])
    for cited in answer["citations"]:
        place = cited["citation"]
        lines = NOTES[cited["doc_path"]].splitlines()[place["start"] - 1 : place["end"]]
        assert cited["quote"] in "\n".join(lines)
        assert f"{cited['quote']} {cited['marker']}" in answer["answer"]
    checked = library.json("cite", "verify", *(c["citation"]["uri"] for c in answer["citations"]))
    assert checked["ok"] is True


@pytest.mark.model
@pytest.mark.parametrize("k", ["1", "2", "100"])
def test_the_evidence_is_what_was_found_and_nothing_else(library: InstalledKebab, k: str) -> None:
    answer = ask(library, "when was the tower built", "-k", k)

    assert "1889" in answer["answer"]
    assert answer["retrieval"]["chunks_used"] <= answer["retrieval"]["chunks_returned"] <= int(k)


@pytest.mark.model
def test_the_answer_itself_is_told_apart_and_a_row_has_its_header(
    library: InstalledKebab,
) -> None:
    tower = ask(library, "when was the tower built")["citations"]
    rent = ask(library, "how much is the rent")["citations"]

    assert "1889" in {one.get("span") for one in tower}
    assert [one["lead"] for one in rent if "940" in one["quote"]] == ["| item | price |"]
    assert "| item | price |" not in {one["quote"] for one in rent}


@pytest.mark.model
def test_of_a_table_in_one_line_the_row_answers(library: InstalledKebab) -> None:
    answer = ask(library, "how much was spent on research and development")

    quoted = {one["quote"]: one.get("lead", "") for one in answer["citations"]}
    assert "Research and development $ 6,797 $ 5,717" in quoted
    assert quoted["Research and development $ 6,797 $ 5,717"].endswith("June 26, 2021")
    assert "3" not in quoted


@pytest.mark.model
@pytest.mark.parametrize(
    "question", ["who won the world cup in 2014", "how are violins tuned", "무엇을 먹었습니까"]
)
def test_a_question_that_nothing_answers_is_refused_with_what_comes_near(
    library: InstalledKebab, question: str
) -> None:
    answer = ask(library, question, code=1)

    assert answer["refusal_reason"] == "score_gate"
    assert answer["confidence"] < answer["retrieval"]["score_gate"]
    assert 1 <= len(answer["citations"]) <= 3
    assert {one["marker"] for one in answer["citations"]} == {None}
    assert answer["answer"] == ""


@pytest.mark.model
def test_a_sentence_without_the_date_that_is_asked_for_is_no_answer(
    library: InstalledKebab,
) -> None:
    refused = ask(library, "how many apprentices paint the old crane", code=1)

    assert refused["refusal_reason"] == "score_gate"
    assert refused["citations"][0]["quote"].startswith("The old crane is painted")
    assert refused["confidence"] < refused["retrieval"]["score_gate"]
    assert any("has no number or date" in warning for warning in refused["warnings"])
    assert "April" in ask(library, "when is the crane painted")["answer"]


@pytest.mark.model
def test_a_name_that_nothing_mentions_is_said_beside_the_answer(library: InstalledKebab) -> None:
    known = ask(library, "when was the tower built for a fair")
    stranger = library.run("ask", "when was the tower built for the fair of Valencia", "--json")
    answer = json.loads(stranger.stdout)

    assert not any("not mentioned" in said for said in known.get("warnings", ()))
    assert "not mentioned by the evidence: Valencia" in answer["warnings"]


@pytest.mark.model
def test_a_note_in_another_language_answers_beside_those_in_that_of_the_question(
    kebab: InstalledKebab,
) -> None:
    kebab.configure(model="multilingual-e5-small")
    kebab.write("bail.md", "# Bail, rue des Teinturiers\n\nLocataire : Mme Perrin. Loyer 860 €.\n")
    kebab.write("Nadja.md", "# Nadja\n\nNachbarin, die immer weiß, wie man Orchideen gießt.\n")
    kebab.write("Heizung.md", "# Heizung\n\nHerr Huber sagt, der Druck ist zu hoch.\n")
    kebab.write("Birne.md", "# Bäume\n\nDie Birne von Frau Rapp trägt nicht mehr.\n")
    kebab.write("cat.md", "# Minka\n\nThe vet is Dr. Pohl. Minka weighs 5.1 kg.\n")
    kebab.ingest()

    answer = ask(kebab, "Wie hoch ist die Miete von Frau Perrin?")

    assert [one["doc_path"] for one in answer["citations"]] == ["bail.md"]


@pytest.mark.model
def test_the_question_again_is_no_answer(library: InstalledKebab) -> None:
    quotes = [one["quote"] for one in ask(library, "how high is the lighthouse")["citations"]]

    assert not any("?" in quote for quote in quotes)
    assert any("42 metres" in quote for quote in quotes)

    quotes = [one["quote"] for one in ask(library, "who paints the old harbour crane")["citations"]]
    assert not any("query:" in quote for quote in quotes)
    assert any("by the apprentices" in quote for quote in quotes)


@pytest.mark.model
def test_what_a_line_leads_into_is_shown_with_it_and_code_in_its_lines(
    library: InstalledKebab,
) -> None:
    told = library.run("ask", "how do I start the zeppelin").stdout

    assert "zep go\n  --up" in told
    assert "```" not in told


@pytest.mark.model
def test_a_person_reads_the_sentence_and_its_place(library: InstalledKebab) -> None:
    told = library.run("ask", "when was the tower built").stdout
    bare = library.run("ask", "when was the tower built", "--hide-citations").stdout
    refused = library.run("ask", "who won the world cup in 2014", code=1).stdout

    assert told.startswith("The tower was built in 1889 for a fair.")
    assert "[1] tower.md:3 · Tower" in told
    assert "tower.md" not in bare
    assert refused.startswith("Nothing here answers this question.")


@pytest.mark.model
def test_events_go_to_stderr_and_the_answer_is_the_last_line_of_stdout(
    library: InstalledKebab,
) -> None:
    done = library.run("ask", "when was the tower built", "--json", "--stream")

    events = [json.loads(line) for line in done.stderr.splitlines()]
    for event in events:
        jsonschema.Draft202012Validator(closed_schema("answer_event")).validate(event)
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "retrieval_done"
    assert kinds[-1] == "final"
    assert kinds.count("final") == 1
    said = "".join(event["delta"] for event in events if event["kind"] == "token")
    last = json.loads(done.stdout.splitlines()[-1])
    assert said == last["answer"] == events[-1]["answer"]["answer"]


def test_without_a_model_words_choose_the_sentence(kebab: InstalledKebab) -> None:
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.ingest()

    answer = ask(kebab, "when was the tower built")

    assert answer["citations"][0]["quote"] == "The tower was built in 1889 for a fair."
    assert answer["embedding"] is None
    assert any("by words alone" in reason for reason in answer["degraded"])


@pytest.mark.model
def test_a_constant_is_found_that_others_say_the_words_of_more_often(kebab: InstalledKebab) -> None:
    said = "A worker for eviction from the heron cache. That is what it is for. " * 4
    for number in range(9):
        kebab.write(f"{number}.md", f"# Heron {number}\n\n{said}\n")
    long = " ".join(f"Word{n} is said." for n in range(60))
    kebab.write("limits.md", f"# Limits\n\n{long} HERON_CACHE_EVICTION_WORKER is 12. {long}\n")
    kebab.run("ingest", "--summary-only")

    found = ask(kebab, "What is HERON_CACHE_EVICTION_WORKER?")
    lost = ask(kebab, "What is HERON_CACHE_EVICTION_HEIGHT?", code=1)

    assert found["citations"][0]["quote"] == "HERON_CACHE_EVICTION_WORKER is 12."
    assert lost["warnings"] == ["not mentioned by the evidence: HERON_CACHE_EVICTION_HEIGHT"]


def test_the_end_of_an_item_is_quoted_with_what_that_is_called(kebab: InstalledKebab) -> None:
    kebab.configure()
    note = (
        "# Pump\n\n- **maxDepth** `number` - Where it stops. By default 40 metres below the sea.\n"
    )
    kebab.write("pump.md", f"{note}- Else it rests. By default 9 metres below the sea.\n")
    kebab.ingest()

    answer = ask(kebab, "how many metres below the sea by default")

    leads = {one["quote"]: one.get("lead") for one in answer["citations"]}
    assert leads["By default 40 metres below the sea."] == "**maxDepth**"
    assert leads["By default 9 metres below the sea."] is None


def test_what_cannot_be_answered_is_said(kebab: InstalledKebab, tmp_path: Path) -> None:
    assert "not_indexed" in kebab.run("ask", "x", "--json", code=2).stderr
    kebab.ingest()
    assert ask(kebab, "when was it", code=1)["refusal_reason"] == "no_chunks"
    assert "the question is missing" in kebab.run("ask", code=2).stderr
    assert "blank" in kebab.run("ask", "  ", code=2).stderr


def test_answers_that_are_switched_off_are_refused(kebab: InstalledKebab) -> None:
    kebab.write("tower.md", NOTES["tower.md"])
    kebab.configure(extra='[ask]\nprovider = "none"')
    kebab.ingest()

    assert ask(kebab, "when was the tower built", code=1)["refusal_reason"] == "no_model"


def test_an_answer_that_nobody_waits_for_ends_in_one_final_refusal() -> None:
    corpus = Corpus()
    kb = ScriptedKnowledgeBase(corpus.document("a.md", "The tower was built in 1889."))
    stop = Event()
    stop.set()

    events = list(kb.ask(AskQuery(text="when was the tower built"), stop=stop))

    assert [event["kind"] for event in events].count("final") == 1
    assert events[-1]["kind"] == "final"


def test_it_is_explained_step_by_step_where_that_is_asked_for(kebab: InstalledKebab) -> None:
    kebab.write("tower.md", NOTES["tower.md"])
    kebab.ingest()

    told = kebab.run("ask", "when was the tower built", "--explain").stderr
    answer = ask(kebab, "when was the tower built", "--explain")
    plain = ask(kebab, "when was the tower built")
    refused = ask(kebab, "who won the world cup in 2014", "--explain", code=1)

    assert [stage["name"] for stage in answer["stages"]] == ["search", "read", "gate", "choose"]
    assert [stage["name"] for stage in refused["stages"]] == ["search", "read", "gate"]
    assert "1 passage found, no vectors" in told
    assert "1 quote out of" in told
    assert "stages" not in plain
    assert answer["retrieval"]["trace_id"] == plain["retrieval"]["trace_id"]


def test_of_reports_that_repeat_each_other_the_named_one_is_asked(kebab: InstalledKebab) -> None:
    for company in ("Zenith", "Nadirsoft"):
        for quarter in (1, 2, 3):
            name = f"2022 Q{quarter} {company[:3].upper()}"
            kebab.write(
                f"{name}.md",
                f"# {name}\n\nForm 10-Q of {company} Inc., registered in the state of Delaware, "
                "which files electronically and has no public float of any other security.\n\n"
                "## Results\n\nAmounts are in millions, and unaudited by anybody.\n"
                f"The gross margin was 4{quarter}{len(company)}.\n",
            )
    kebab.ingest()

    question = "What was the gross margin of Zenith in the third quarter of 2022?"
    latest = "What was the gross margin of Nadirsoft in the latest report?"
    answer = ask(kebab, question, "--explain", code=1)  # words alone are not sure of it
    other = ask(kebab, latest, code=1)
    plain = ask(kebab, "what was the gross margin", "--explain", code=1)

    assert [one["quote"] for one in answer["citations"]] == ["The gross margin was 436."]
    assert [one["doc_path"] for one in other["citations"]] == ["2022 Q3 NAD.md"]
    assert len(plain["citations"]) > 1
    steps = {stage["name"]: stage["said"] for stage in answer["stages"]}
    assert steps["narrow"].startswith("to 1 document by Zenith, Q3, 2022; asked of them: ")
    assert "narrow" not in {stage["name"] for stage in plain["stages"]}


# ------------------------------------------------------- a language model


def served(kebab: InstalledKebab, *replies: Reply) -> ModelServer:
    """Return a server that the command asks, over one indexed note."""
    server = ModelServer(*replies)
    kebab.write("tower.md", NOTES["tower.md"])
    kebab.configure(
        extra=f'[ask]\nprovider = "ollama"\nmodel = "{server.model}"\nendpoint = "{server.url}"'
    )
    kebab.ingest()
    return server


def test_a_model_writes_the_answer_and_what_it_cites_is_found(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=["It was built ", "in 1889 [1]."])):
        done = kebab.run("ask", "when was the tower built", "--json", "--stream")

    answer = json.loads(done.stdout)
    jsonschema.Draft202012Validator(closed_schema("answer")).validate(answer)
    assert answer["answer"] == "It was built in 1889 [1]."
    assert answer["model"] == {"id": "m", "provider": "ollama"}
    (cited,) = answer["citations"]
    assert (cited["marker"], cited["citation"]["uri"]) == ("[1]", "tower.md#L3")
    kinds = [json.loads(line)["kind"] for line in done.stderr.splitlines()]
    assert kinds == ["retrieval_done", "token", "token", "final"]


def test_what_the_evidence_does_not_say_is_no_answer(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=["It was built in 1789 [1]."])):
        answer = ask(kebab, "when was the tower built", code=1)

    assert answer["refusal_reason"] == "verification_failed"


def test_a_person_reads_what_is_written_as_it_comes_and_once(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=["It was built ", "in 1889 [1]."])):
        told = kebab.run("ask", "when was the tower built", "--stream").stdout

    assert told == "It was built in 1889 [1].\n\n[1] tower.md:3 · Tower\n"


def test_what_was_read_and_does_not_stand_is_followed_by_what_does(kebab: InstalledKebab) -> None:
    pieces = ["It was built in 1889 [1]. It weighs 500 tons [1]."]
    with served(kebab, Reply(pieces=pieces)):
        told = kebab.run("ask", "when was the tower built", "--stream")

    assert told.stdout.count("It was built in 1889 [1].") == 2
    assert told.stdout.count("500 tons") == 1
    assert "taken out" in told.stderr


def test_what_is_packed_written_and_wrong_is_explained(kebab: InstalledKebab) -> None:
    reply = Reply(pieces=["It was built in 1889 [1]. It is made of 500 tons of iron [1]."])
    with served(kebab, reply):
        answer = ask(kebab, "when was the tower built", "--explain")

    assert answer["answer"] == "It was built in 1889 [1]."
    assert answer["verification"] == {"score": 0.5, "threshold": 1.0, "passed": False}
    said = {stage["name"]: stage["said"] for stage in answer["stages"]}
    assert list(said) == ["search", "read", "gate", "pack", "write"]
    assert said["pack"].startswith("1 passage as 1 item; ")
    assert "2 statements, 50% stand; wrong: figure '500" in said["write"]


def test_a_model_that_declines_refuses(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=[NOT_ENOUGH])):
        answer = ask(kebab, "when was the tower built", code=1)

    assert answer["refusal_reason"] == "llm_self_judge"
    assert answer["citations"]


def test_a_model_is_not_asked_what_nothing_answers(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=["Paris [1]."])) as server:
        answer = ask(kebab, "who won the world cup in 2014", code=1)

    assert answer["refusal_reason"] == "score_gate"
    assert server.requests == []


def test_a_model_that_is_not_there_is_an_error_with_the_way_out(kebab: InstalledKebab) -> None:
    served(kebab).close()

    done = kebab.run("ask", "when was the tower built", "--json", code=2)

    error = json.loads(done.stderr.splitlines()[-1])
    told = json.loads(kebab.run("doctor", "--json", code=3).stdout)["checks"]
    assert [check["ok"] for check in told if check["name"] == "language model"] == [False]
    assert error["code"] == "model_unreachable"
    assert "ollama serve" in error["hint"]


def test_an_answer_that_breaks_off_keeps_what_came(kebab: InstalledKebab) -> None:
    with served(kebab, Reply(pieces=["It was built in"], ends=False)):
        answer = ask(kebab, "when was the tower built", code=1)

    assert answer["refusal_reason"] == "llm_stream_aborted"
    assert answer["answer"] == "It was built in"
    assert any("broke off" in warning for warning in answer["warnings"])
