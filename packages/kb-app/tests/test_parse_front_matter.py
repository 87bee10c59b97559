"""Front matter: every known key, every way to get one wrong, and what is left then."""

from datetime import UTC, datetime

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.markdown import read_front_matter
from kb_app._media import parser_for
from kb_core.documents import Metadata, ParsedDocument, SourceFile


def parse(front: str, fence: str = "---") -> ParsedDocument:
    text = f"{fence}\n{front}\n{fence}\n\nThe body of the note.\n"
    file = SourceFile(source_id="s", path="a.md", media="markdown")
    return parser_for("markdown")(FileContent(text.encode()), file)


def test_every_known_key_is_read() -> None:
    front = """
title: A title
aliases: [One, "Two, three"]
tags:
  - a
  - "#b/c"
  - 2026
lang: ko-KR
created: 2026-05-10
updated: 2026-05-11T12:30:00+02:00
source_type: paper
trust_level: Secondary
id: mine
status: {draft: true, since: 2026-05-01, n: 1.5}
"""

    document = parse(front)

    assert document.warnings == ()
    assert document.metadata == Metadata(
        title="A title",
        aliases=("One", "Two, three"),
        tags=("a", "b/c", "2026"),
        lang="ko",
        created=datetime(2026, 5, 10, tzinfo=UTC),
        updated=datetime(2026, 5, 11, 10, 30, tzinfo=UTC),
        source_type="paper",
        trust_level="secondary",
        user={"id": "mine", "status": {"draft": True, "since": "2026-05-01", "n": 1.5}},
    )


def test_toml_says_the_same() -> None:
    front = 'title = "T"\ntags = ["a", "b"]\ndate = 2026-05-10\n[extra]\nx = 12:30:00'

    document = parse(front, "+++")

    assert document.metadata.title == "T"
    assert document.metadata.tags == ("a", "b")
    assert document.metadata.created == datetime(2026, 5, 10, tzinfo=UTC)
    assert document.metadata.user == {"extra": {"x": "12:30:00"}}


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags: one", ("one",)),
        ("tags: one, two", ("one", "two")),
        ("tags: one two #three", ("one", "two")),
        ("tags: '#one #two'", ("one", "two")),
        ("tags: [one, two, one]", ("one", "two")),
        ("Tags: [1, 2.5]", ("1", "2.5")),
        ("tags:", ()),
        ("tags: []", ()),
        ("tags: ['', null, x]", ("x",)),
        ("keywords: a, b", ("a", "b")),
    ],
)
def test_tags_are_a_string_or_a_list(front: str, tags: tuple[str, ...]) -> None:
    document = parse(front)

    assert document.metadata.tags == tags
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("tags: {a: b}", "tags: \"{'a': 'b'}\" is not a word or a list of words"),
        ("tags: true", "tags: 'True' is not a word or a list of words"),
        ("created: 2026-13-45", "created: '2026-13-45' is not a date"),
        ("updated: yesterday", "updated: 'yesterday' is not a date"),
        ("lang: Korean", "lang: 'Korean' is not a language code"),
        ("trust_level: high", "trust_level: 'high' is not one of primary, secondary, generated"),
        ("source_type: [a]", "source_type: \"['a']\" is not text"),
        ("x: !!python/object:os.system {}", "x: could not determine a constructor for the tag"),
        ("x: [1, 2", "x: did not find expected"),
        ("x: !!int abc", "x: invalid literal for int()"),
    ],
)
def test_one_wrong_value_costs_that_value(wrong: str, complaint: str) -> None:
    """Lesson 36: ``tags: "x"`` lost the whole front matter."""
    document = parse(f"title: Kept\n{wrong}\naliases: [kept]")

    assert document.metadata.title == "Kept"
    assert document.metadata.aliases == ("kept",)
    (warning,) = document.warnings
    assert warning.startswith(f"front matter: {complaint}")


def test_a_colon_without_quotes_is_read_as_it_was_meant() -> None:
    document = parse("title: Part 2: The return\ntags: [a]")

    assert document.metadata.title == "Part 2: The return"
    assert document.metadata.tags == ("a",)
    assert len(document.warnings) == 1


def test_broken_front_matter_is_still_text() -> None:
    document = parse("{{{{ not yaml")

    assert document.warnings
    assert document.blocks[0].kind == "front_matter"
    assert "The body" in document.text[document.blocks[1].start :]


@pytest.mark.parametrize(
    "text", ["---\nJust a line.\n---\n", "---\n- a\n- b\n---\n", "--- x\n", "---\na: b\n", " ---\n"]
)
def test_a_rule_at_the_top_is_not_front_matter(text: str) -> None:
    assert read_front_matter(text) is None


@pytest.mark.parametrize(
    ("text", "end"),
    [("---\n---\n", 8), ("---\na: b\n---", 12), ("---\na: b\n...\nx", 13), ("---\n# c\n---\n", 12)],
)
def test_where_a_block_ends(text: str, end: int) -> None:
    front = read_front_matter(text)

    assert front is not None
    assert front.end == end


@pytest.mark.parametrize(
    "bomb",
    [
        "a: " + "[" * 20_000,
        "a: " + "- " * 30_000 + "x",
        "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"
        + "\n".join(
            f"k{n}: &k{n} [*{'c' if n == 0 else f'k{n - 1}'},*{'c' if n == 0 else f'k{n - 1}'}]"
            for n in range(40)
        ),
        "a: &a [*a]",
        "a: " + "1" * 5_000,
        "a: \x01",
        "? [x]\n: y",
        "1: 2\ntrue: x",
        "a: .inf\nb: .nan\nc: 0x" + "f" * 100,
    ],
)
def test_hostile_values_cost_nothing_and_stay_json(bomb: str) -> None:
    import json

    document = parse(f"{bomb}\ntitle: T")

    assert json.dumps(dict(document.metadata.user), allow_nan=False)
    assert "The body" in document.text


def aliases_of_aliases(line: str) -> str:
    """Return ten lines that stand for nine values to the power of ten."""
    lines = ["a0: &a0 {k: [x, x, x, x, x, x, x, x]}"]
    return "\n".join(lines + [line.format(n=n, before=n - 1) for n in range(1, 24)])


@pytest.mark.parametrize(
    "line",
    [
        "a{n}: &a{n} [*a{before}, *a{before}, *a{before}]",
        "a{n}: &a{n} {{<<: [*a{before}, *a{before}, *a{before}]}}",
        "tags: &a{n} [*a{before}, *a{before}, *a{before}]",
    ],
)
@pytest.mark.parametrize("use", ["source_type: *a23", "tags: *a23", "created: *a23", "<<: *a23"])
def test_aliases_that_stand_for_too_much_are_not_written_out(line: str, use: str) -> None:
    """A kilobyte of them took two minutes and more than a gigabyte."""
    document = parse(f"title: Kept\n{aliases_of_aliases(line)}\n{use}")

    assert document.metadata.title == "Kept"
    assert document.warnings
    assert "The body" in document.text


def test_aliases_that_people_write_are_read() -> None:
    document = parse("base: &base {city: Bern}\nplace:\n  <<: *base\n  street: Weg 1\ntitle: T")

    assert document.metadata.user["place"] == {"city": "Bern", "street": "Weg 1"}
    assert not document.warnings


@pytest.mark.parametrize("key", ["title", "tags", "created", "lang", "a: {0x%s: 1}\nb"])
def test_numbers_of_more_digits_than_are_printed_cost_nothing(key: str) -> None:
    digits = "f" * 5_000
    document = parse(f"{key.replace('%s', digits)}: 0x{digits}\naliases: [kept]")

    assert document.metadata.aliases == ("kept",)
    assert "The body" in document.text
