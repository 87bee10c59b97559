"""Examining without labels: the questions that are made, and what is told of what they find."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb_app import Config
from kb_app._evals.blind_spots import Examined, findings
from kb_app._evals.examining import Examining
from kb_app._evals.known_items import KnownItem, Others, known_items
from kb_app.testing.facade import ScriptedKnowledgeBase, hit
from kb_app.testing.parts import memory_parts
from kb_core.errors import InvalidInput
from kb_core.evals import SelfOptions
from kb_core.media import SearchMode
from kb_core.records import DocumentRecord
from kb_core.testing.documents import document
from kb_core.testing.fakes import HashEmbedder, Script, ScriptedModel

SENTENCE = "The walrus sleeps on the ice until the tide comes back in the evening."
NOTE = document("a.md", f"# Walrus\n\n## Where it sleeps\n\n{SENTENCE}\n")
MODEL = HashEmbedder().model
_TELLING = 3
"""Letters of a word that tells nothing here."""


def examined(*documents: DocumentRecord, mode: SearchMode = SearchMode.LEXICAL) -> Examined:
    kb = ScriptedKnowledgeBase(*documents)
    snapshot = kb.index.snapshot()
    made = Examined(snapshot, snapshot.docs(None), (mode,))
    made.sampled += snapshot.docs(None)
    return made


def told(of: Examined, kind: str, model: Any = None) -> list[str]:  # noqa: ANN401
    rows = [row for row in findings(of, model) if row["kind"] == kind]
    assert all(row["advice"] and row["count"] <= max(1, row["of"]) for row in rows)
    return [example["what"] for row in rows for example in row["examples"]]


def items(
    *documents: DocumentRecord, title: bool = True, titles: Collection[str] = ()
) -> dict[str, str]:
    of = examined(*documents)
    doc = of.docs[0]
    chunks = of.snapshot.doc_chunks(doc["doc_id"])
    spread = {"walrus": 1, "tide": 1, "evening": 3, "ice": 3, "sleeps": 2}
    others = Others(
        spread=lambda word: spread.get(word, 90 if len(word) <= _TELLING else 4),
        common=20,
        titles=titles,
    )
    made = known_items(doc, chunks, random.Random(1), others, is_title_its_own=title)
    return {item.difficulty: item.query for item in made}


def test_a_document_is_asked_for_by_its_title_a_heading_a_sentence_and_less_of_that() -> None:
    made = items(NOTE)

    assert made["title"] == "Walrus"
    assert made["heading"] == "Where it sleeps"
    assert made["sentence"].startswith("The walrus sleeps on")
    assert made["hard"] == "The on the ice until comes back in"


def test_what_is_left_of_a_hard_question_tells_something() -> None:
    """Of function words alone, no document can be said to be missed."""
    said = "If it is a walrus, then that is to be as it was, and not in any way at all."
    made = items(document("a.md", f"# Walrus\n\n{said}\n"))

    assert "sentence" in made
    assert "hard" not in made


def test_a_sentence_that_is_the_title_of_another_document_asks_for_that() -> None:
    page = document("a.md", "# Sea\n\n- walrus — How it sleeps on the ice all day\n")

    assert "sentence" in items(page)
    assert "sentence" not in items(page, titles={"walrus how it sleeps on the ice all day"})


def test_a_heading_that_any_document_may_have_asks_for_nothing() -> None:
    assert "heading" not in items(document("a.md", f"# Walrus\n\n## Context\n\n{SENTENCE}\n"))


def test_words_of_a_boilerplate_line_are_not_those_that_code_is_asked_by() -> None:
    common = "the same line at the beginning of each and every file"
    code = f"{common}\nthe walrus alone is what this line here speaks about\n"

    assert "walrus" in items(document("a.py", code, media="code"))["sentence"]


def test_a_title_that_others_have_asks_for_nothing() -> None:
    assert "title" not in items(NOTE, title=False)


def test_operators_in_a_sentence_are_words_of_the_question() -> None:
    text = 'Readers wait NOT for writers: "title:lock" AND -nothing else holds them back here.'
    made = items(document("b.md", f"# B\n\n{text}\n"))

    assert '"' not in made["sentence"]
    assert " not for " in made["sentence"]
    assert "-nothing" not in made["sentence"]


def test_a_sentence_in_a_script_without_spaces_is_a_question_too() -> None:
    assert "sentence" in items(
        document(
            "c.md", "# 잠금\n\n기록하는 사람은 하나뿐이며 읽는 사람은 아무도 기다리지 않는다.\n"
        )
    )


def test_documents_without_text_copies_and_shared_titles_are_told() -> None:
    of = examined(
        document("empty.md", "ok\n"),
        replace(document("one.md", f"# Notes\n\n{SENTENCE}\n"), bytes_hash="5", byte_len=9),
        replace(document("two.md", f"# Notes\n\n{SENTENCE}\n"), bytes_hash="5", byte_len=9),
    )

    assert told(of, "empty") == ["empty.md"]
    assert told(of, "duplicate") == ["one.md"]
    assert len(told(of, "same_title")) == 1


def test_files_of_which_the_same_text_was_read_are_told_with_how_many_there_are() -> None:
    """Pages of which only the foot was kept were found by this."""
    foot = "© The Seal. This page was made by a program.\n"
    same = [replace(document(f"{n}.html", foot), bytes_hash=str(n), byte_len=90) for n in range(5)]
    of = examined(*same, replace(NOTE, bytes_hash="9", byte_len=9))

    (row,) = [row for row in findings(of, None) if row["kind"] == "same_text"]

    assert (row["count"], row["of"]) == (5, 6)
    assert row["examples"] == [
        {"what": "0.html", "detail": "also 1.html, 2.html, 3.html and 1 more"}
    ]
    assert not told(of, "duplicate")


def test_a_copy_byte_for_byte_is_told_once() -> None:
    copy = replace(document("copy.md", f"{SENTENCE}\n"), bytes_hash="5", byte_len=9)
    of = examined(replace(NOTE, bytes_hash="5", byte_len=9), copy)
    (first, *_) = of.snapshot.doc_chunks(copy.doc_id)
    asked(of, "sentence", 0.5, hit(chunk_id=first["chunk_id"], doc_id=copy.doc_id))

    assert told(of, "duplicate") == ["a.md"]
    assert not told(of, "copied")


@pytest.mark.parametrize(
    ("text", "is_garbled"),
    [
        ("words that \ufffd\ufffd\ufffd cannot be read\n" * 3, True),
        ("(cid:12)(cid:40)(cid:7) of fonts that tell nothing\n", True),
        ("\ue000\ue001\ue002 private signs\n", True),
        ("Grüße aus Köln, 한국어, and → arrows\n" * 3, False),
    ],
)
def test_text_that_nobody_can_read_is_told(text: str, is_garbled: bool) -> None:
    assert bool(told(examined(document("a.md", text)), "garbled")) == is_garbled


def asked(of: Examined, difficulty: Any, mrr: float, *hits: Any, query: str = SENTENCE) -> None:  # noqa: ANN401
    item = KnownItem(difficulty, query, of.docs[0], query)
    of.add(item, of.modes[0], mrr, hits)


def test_documents_that_their_own_words_do_not_find_are_told() -> None:
    of = examined(NOTE)
    asked(of, "title", 0.0, query="Walrus")
    asked(of, "sentence", 0.0)

    assert told(of, "own_title") == ["a.md"]
    assert told(of, "own_words") == ["a.md"]


def test_documents_that_are_found_are_not_told() -> None:
    of = examined(NOTE)
    asked(of, "title", 0.1, query="Walrus")
    asked(of, "sentence", 1.0)

    assert not told(of, "own_title")
    assert not told(of, "own_words")


def test_words_that_another_document_has_verbatim_are_told_as_a_copy() -> None:
    copy = document("copy.md", f"{SENTENCE}\n")
    of = examined(NOTE, copy)
    (first, *_) = of.snapshot.doc_chunks(copy.doc_id)
    asked(of, "sentence", 0.5, hit(chunk_id=first["chunk_id"], doc_id=copy.doc_id))

    assert told(of, "copied") == ["a.md"]


def test_boilerplate_that_others_are_found_for_is_no_document_that_is_missed() -> None:
    other, copy = document("other.md", "An otter."), document("copy.md", f"{SENTENCE}\n")
    of = examined(NOTE, copy, other)
    chunks = [of.snapshot.doc_chunks(doc.doc_id)[0] for doc in (other, copy)]
    found = [hit(chunk_id=chunk["chunk_id"], doc_id=chunk["doc_id"]) for chunk in chunks]
    asked(of, "sentence", 0.0, *found)

    assert told(of, "copied") == ["a.md"]
    assert not told(of, "own_words")


def test_a_passage_that_comes_up_for_everything_is_a_hub() -> None:
    of = examined(*(document(f"{n}.md", f"# {n}\n\n{SENTENCE} {n}\n") for n in range(6)))
    hub = hit(chunk_id="f" * 32, doc_id="e" * 32, doc_path="list.md")
    for doc in of.docs[:5]:
        of.add(KnownItem("sentence", "x", doc, "x"), of.modes[0], 0.5, (hub,))

    assert told(of, "hub") == ["list.md#L661-L672"]


def test_a_source_that_never_comes_up_is_told() -> None:
    of = examined(NOTE, document("b.md", SENTENCE, source_id="quiet"))
    asked(of, "sentence", 1.0, hit(source_id=of.docs[0]["source_id"]))

    assert told(of, "silent_source") == ["quiet"]


def test_languages_that_the_model_does_not_read_are_told() -> None:
    korean = document("k.md", "# 잠금\n\n읽는 사람은 기다리지 않는다.\n", lang="ko")
    english = replace(MODEL, languages="English")

    assert told(examined(NOTE, korean), "unread_language", english) == ["ko"]
    assert not told(examined(NOTE, korean), "unread_language", MODEL)


def test_a_language_that_is_not_found_by_meaning_is_told_with_figures() -> None:
    of = examined(NOTE, mode=SearchMode.VECTOR)
    for _ in range(8):
        asked(of, "sentence", 0.0)

    rows = [row for row in findings(of, MODEL) if row["kind"] == "meaning_fails"]

    assert rows[0]["examples"][0]["detail"] == "0 of 8 questions find their document"


def test_questions_that_words_alone_find_better_are_told_where_that_is_more_than_luck() -> None:
    notes = [document(f"{n}.md", f"# {n}\n\n{SENTENCE} {n}\n") for n in range(12)]
    of = examined(*notes, mode=SearchMode.HYBRID)
    for doc in of.docs:
        for mode, mrr in ((SearchMode.HYBRID, 0.5), (SearchMode.LEXICAL, 1.0)):
            of.add(KnownItem("hard", "x", doc, "x"), mode, mrr, ())
            of.add(KnownItem("title", "x", doc, "x"), mode, 1.0, ())

    assert told(of, "hybrid_loses", MODEL) == ["hard"]


def examine(kb: ScriptedKnowledgeBase, **options: Any) -> Iterator[Any]:  # noqa: ANN401
    return kb.examine(SelfOptions(**options))


def test_the_same_seed_asks_the_same_and_the_time_is_kept() -> None:
    notes = [document(f"{n}.md", f"# Note {n}\n\n{SENTENCE} Number {n}.\n") for n in range(9)]
    with ScriptedKnowledgeBase(*notes) as kb:
        first, again = ([*examine(kb, documents=4)] for _ in range(2))
        other = [*examine(kb, documents=4, seed=2)]
        (late,) = examine(kb, documents=4, seconds=-1.0)

    assert [event.case for event in first] == [event.case for event in again]
    assert [event.case for event in first] != [event.case for event in other]
    found, same = ({**one[-1].examined, "duration_ms": 0} for one in (first, again))
    assert found == same
    assert found["sampled"] == 4
    assert found["modes"] == ["hybrid", "lexical", "vector"]
    assert (late.kind, late.examined["complete"], late.examined["sampled"]) == ("stopped", False, 0)


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("Where does the tusked animal rest?\nI hope that helps.", True),
        (SENTENCE, False),
        ("", False),
    ],
)
def test_a_language_model_asks_for_a_sentence_in_other_words(said: str, is_asked: bool) -> None:
    model = ScriptedModel(Script((said,)))

    last = [*examining(NOTE, model=model).events()][-1].examined

    assert last is not None
    assert ("paraphrase" in {row["difficulty"] for row in last["figures"]}) == is_asked
    assert [told[-1].text for told in model.told] == [SENTENCE]


@pytest.mark.parametrize(
    ("paths", "is_pair"),
    [
        (("en/sea.md", "de/sea.md"), True),
        (("sea.md", "sea.de.md"), True),
        (("docs/sea.md", "docs/de/sea.md"), True),
        (("sea.md", "lake.de.md"), False),
        (("dell.md", "ll.md"), False),
    ],
)
def test_a_document_in_two_languages_is_asked_for_in_the_other_one(
    paths: tuple[str, str],
    is_pair: bool,
) -> None:
    said = "Das Walross schläft auf dem Eis, bis am Abend die Flut wiederkommt."
    here = replace(document(paths[0], f"# Walrus\n\n{SENTENCE}\n"), lang="en")
    there = replace(document(paths[1], f"# Walross\n\n{said}\n"), lang="de")

    with ScriptedKnowledgeBase(here, there) as kb:
        found = [*examine(kb)][-1].examined

    asked = [row for row in found["figures"] if row["difficulty"] == "translated"]
    assert bool(asked) == is_pair
    assert all((row["count"], row["mean"]) == (2, 1.0) for row in asked if row["mode"] == "hybrid")


def test_asking_in_other_words_without_a_language_model_says_how_to_have_one() -> None:
    with pytest.raises(InvalidInput, match="no language model is configured") as refused:
        examining(NOTE, model=None)

    assert "[ask]" in str(refused.value.hint)


def examining(*documents: DocumentRecord, model: ScriptedModel | None) -> Examining:
    kb = ScriptedKnowledgeBase(*documents)
    parts = replace(memory_parts(kb.index, HashEmbedder()), language_model=lambda: model)
    config = Config.inside(Path("/nonexistent"))
    return Examining(kb.index.snapshot(), config, parts, SelfOptions(paraphrase=True))
