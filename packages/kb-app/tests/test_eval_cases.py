"""Golden questions in files: what is read, what is refused and how, what is written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from kb_app._evals.cases import add_case, fresh_id, read_cases, read_text, write_cases
from kb_core import wire
from kb_core.errors import InvalidInput, IoError
from kb_core.evals import EvalCase, ExpectedPlace
from kb_core.search import SearchFilters
from kb_core.testing import closed_schema

YAML = Path("golden.yaml")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1).filter(
    lambda text: text.strip()
)


def test_a_case_is_read_with_all_that_it_has() -> None:
    text = """
- id: lock
  query: who takes the writer lock
  expected_docs: {docs/ARCHITECTURE.md: 2, notes/a.md: 1}
  expected_chunks: 5669ef1867462f246ba69791918ea713
  expected_places:
    - notes/a.md#L3
    - {uri: "notes/b.md#L1-L2", source: notes, content_hash: 0123456789abcdef, grade: 3}
  answer: the one writer
  must_contain: [writer]
  forbidden: mutex
  filters: {lang: no, tag: [x, y]}
  group: locks
  tags: store
"""

    (case,) = read_text(text, YAML)

    assert case == EvalCase(
        id="lock",
        query="who takes the writer lock",
        expected_docs={"docs/ARCHITECTURE.md": 2, "notes/a.md": 1},
        expected_chunks={"5669ef1867462f246ba69791918ea713": 1},
        expected_places=(
            ExpectedPlace(uri="notes/a.md#L3"),
            ExpectedPlace(
                uri="notes/b.md#L1-L2", source="notes", content_hash="0123456789abcdef", grade=3
            ),
        ),
        answer="the one writer",
        must_contain=("writer",),
        forbidden=("mutex",),
        filters=SearchFilters(lang=("no",), tag=("x", "y")),
        group="locks",
        tags=("store",),
    )
    assert case.is_judged
    assert not case.wants_refusal


def test_one_place_need_not_be_a_list() -> None:
    (one,) = read_text("- {id: a, query: b, expected_places: a.md#L1}", YAML)
    (other,) = read_text("- {id: a, query: b, expected_places: {uri: a.md#L1}}", YAML)

    assert one == other
    assert one.expected_places == (ExpectedPlace(uri="a.md#L1"),)


def test_a_case_that_expects_nothing_wants_a_refusal() -> None:
    (case,) = read_text("- {id: tea, query: what is the price of tea}", YAML)

    assert case.wants_refusal
    assert not case.is_judged


ALIASES = (
    "- id: a\n  query: b\n  a0: &a0 [x]\n"
    + "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    + "  expected_docs: *a9\n"
)
"""A thousand bytes that stand for a thousand million names."""


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("- {id: a}", "case 1 (a): parameter 'query' is missing", None),
        ("- {query: a}", "case 1: parameter 'id' is missing", None),
        ("- {id: a, query: b, expected_doc: c}", "unknown parameter 'expected_doc'", "expected_d"),
        ("- {id: a, query: b, question: c}", "unknown parameter 'question'", "query"),
        ("- {id: a, query: b, filters: {tags: c}}", "unknown parameter 'tags'", "tag"),
        ("- {id: a, query: b, expected_docs: {c: much}}", "expected_docs.c 'much'", None),
        ("- {id: a, query: b, expected_places: [{at: c}]}", "'uri' is missing", None),
        ("- {id: a, query: b}\n- {id: a, query: c}", "'a' is of several cases", None),
        ("- just words", "case 1: 'just words' is not a case", None),
        ("cases: [a]", "is not a list of cases", None),
        ("- {id: a", "is not YAML", None),
        ("[" * 5000, "is not YAML", None),
        (ALIASES, "says too much by its aliases", None),
    ],
)
def test_what_is_no_case_is_told_with_its_number_field_and_value(
    text: str, said: str, hint: str | None
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_text(text, YAML)

    assert str(caught.value).startswith("golden.yaml: ")
    assert said in str(caught.value)
    assert hint is None or hint in str(caught.value.hint)


def test_a_line_that_is_not_json_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"g\.jsonl: line 3 is not JSON"):
        read_text('{"id": "a", "query": "b"}\n\n{"id": ', Path("g.jsonl"))


def test_a_file_that_is_not_there_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no golden questions") as caught:
        read_cases(tmp_path / "golden.yaml")

    assert "kebab eval add" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["golden.yaml", "golden.jsonl"])
@given(query=WORDS, quote=WORDS)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, name: str, query: str, quote: str
) -> None:
    place = ExpectedPlace(uri="a b.md#L1", quote=quote, source="notes", grade=2)
    case = EvalCase(id="1", query=query, expected_places=(place,), expected_docs={"c": 2, "d": 1})
    path = tmp_path_factory.mktemp("golden") / name

    write_cases(path, [case])

    assert read_cases(path) == [case]
    Draft202012Validator(closed_schema("eval_case")).validate(
        json.loads(wire.dumps(wire.eval_case(case)))
    )


def test_adding_a_case_leaves_what_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text("# mine\n- {id: a, query: b}  # of 2024", "utf-8")

    add_case(path, EvalCase(id="c", query="d"))

    assert path.read_text("utf-8") == (
        "# mine\n- {id: a, query: b}  # of 2024\n- id: c\n  query: d\n"
    )


def test_a_file_stays_what_it_is_a_link_with_its_mode_and_its_line_ends(tmp_path: Path) -> None:
    path, there = tmp_path / "golden.yaml", tmp_path / "elsewhere.yaml"
    there.write_bytes(b"- {id: a, query: b}\r\n")
    there.chmod(0o640)
    path.symlink_to(there)

    add_case(path, EvalCase(id="c", query="d"))

    assert there.read_bytes() == b"- {id: a, query: b}\r\n- id: c\r\n  query: d\r\n"
    assert path.is_symlink()
    assert there.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_what_the_disk_refuses_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    path = tmp_path / "golden.yaml"
    add_case(path, EvalCase(id="a", query="b"))
    before = path.read_bytes()

    def refuses(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refuses)
    with pytest.raises(IoError, match=r"cannot write .*golden\.yaml") as refused:
        add_case(path, EvalCase(id="c", query="d"))

    assert refused.value.hint
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_case_whose_id_is_taken_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    add_case(path, EvalCase(id="a", query="b"))
    before = path.read_bytes()

    with pytest.raises(InvalidInput, match="'a' is of several cases"):
        add_case(path, EvalCase(id="a", query="other"))

    assert path.read_bytes() == before


def test_an_id_is_made_of_words_and_is_no_other_cases() -> None:
    assert fresh_id("Who takes the lock?", []) == "who-takes-the-lock"
    assert fresh_id("Who takes the lock?", ["who-takes-the-lock"]) == "who-takes-the-lock-2"
    assert fresh_id("잠금은 누가", []) == "잠금은-누가"
    assert fresh_id("???", ["case"]) == "case-2"
