"""What became of a cited text: tables of edits, and laws that hold for every text."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings, strategies as st

from kb_app._citing.matching import (
    Lines,
    Verdict,
    find_by_hash,
    judge,
    occurrences,
    quote_by_hash,
    quoted_lines,
    quoted_part,
)
from kb_core.ids import content_hash
from kb_core.text import LineIndex

quick = settings(max_examples=150)
NAMES = ("old", "new")

RECIPE = """\
# Tea

Green tea wants water of seventy degrees.
Black tea wants boiling water.

# Coffee

Grind the beans just before brewing.

# Tea

Never reheat it.
"""


def verdict(now: str, lines: Lines, before: str = RECIPE) -> Verdict:
    """Judge whole lines of *before*."""
    quote = quoted_lines(before, lines)
    assert quote is not None
    return judge(quote, lines, before, now, NAMES)


def status(now: str, lines: Lines, before: str = RECIPE) -> tuple[str, Lines | None]:
    found = verdict(now, lines, before)
    return found.status, found.lines


@pytest.mark.parametrize(
    ("edit", "lines", "expected"),
    [
        (("", ""), (3, 4), ("unchanged", (3, 4))),
        # Above, inside, below.
        (("# Tea\n\nGreen", "New.\n\n# Tea\n\nGreen"), (3, 4), ("moved", (5, 6))),
        (("Never", "Hm.\nNever"), (3, 4), ("unchanged", (3, 4))),
        (("seventy", "eighty"), (3, 4), ("changed", (3, 4))),
        (("degrees.\nBlack", "degrees.\nOr so.\nBlack"), (3, 4), ("changed", (3, 5))),
        (("Black tea wants boiling water.\n", ""), (3, 4), ("changed", (3, 3))),
        # Taken out, or replaced by nothing but blank lines.
        (("Grind the beans just before brewing.\n", ""), (8, 8), ("gone", None)),
        (("Grind the beans just before brewing.", " "), (8, 8), ("gone", None)),
        # A heading that stands twice: the one that is left is the other one.
        (("# Tea\n\nGreen", "Green"), (1, 1), ("gone", None)),
        (("# Tea\n\nNever", "Never"), (10, 10), ("gone", None)),
        (("# Tea\n\nNever", "# Tea\n\n# Tea\n\nNever"), (1, 1), ("unchanged", (1, 1))),
        # One more than before: it is the cited one that was moved.
        (("# Coffee\n\nGrind the beans just before brewing.\n\n# Tea\n\nNever reheat it.\n",
          "# Tea\n\nNever reheat it.\n\n# Coffee\n\nGrind the beans just before brewing.\n"),
         (8, 8), ("moved", (12, 12))),
        # White space at the end of a line says nothing.
        (("brewing.", "brewing.  "), (8, 8), ("unchanged", (8, 8))),
        (("brewing.", "brewing. Fresh!"), (8, 8), ("changed", (8, 8))),
        (("\nGrind", "\n  Grind"), (8, 8), ("changed", (8, 8))),
    ],
)  # fmt: skip
def test_an_edit_and_what_it_does_to_lines(
    edit: tuple[str, str], lines: Lines, expected: tuple[str, Lines | None]
) -> None:
    assert edit[0] in RECIPE

    assert status(RECIPE.replace(*edit, 1), lines) == expected


def test_a_change_is_told_as_a_diff_with_the_lines_of_both_texts() -> None:
    found = verdict("New.\n\n" + RECIPE.replace("seventy", "eighty"), (3, 4))

    assert (found.status, found.lines, found.is_edited) == ("changed", (5, 6), True)
    assert found.diff == (
        "--- old\n"
        "+++ new\n"
        "@@ -3,2 +5,2 @@\n"
        "-Green tea wants water of seventy degrees.\n"
        "+Green tea wants water of eighty degrees.\n"
        " Black tea wants boiling water.\n"
    )


def test_what_is_not_like_the_text_replaced_it() -> None:
    now = RECIPE.replace("Grind the beans just before brewing.", "See the other page.")

    assert verdict(now, (8, 8)).status == "changed"
    assert not verdict(now, (8, 8)).is_edited


def test_a_part_of_a_line_is_judged_by_itself() -> None:
    before = "First sentence here. Second sentence there. Third one.\n"
    start, end = before.index("Second"), before.index(" Third")
    quote = quoted_part(before, start, end)

    def judged(now: str) -> str:
        return judge(quote, (1, 1), before, now, NAMES).status

    assert judged(before.replace("First", "Furst").replace("Third", "Thord")) == "unchanged"
    assert judged("\n" + before) == "moved"
    assert judged(before.replace("Second", "2nd")) == "changed"
    assert judged(before.replace("Second", "xSecond")) == "changed"


def test_blank_lines_have_nothing_to_be_found_by() -> None:
    assert status(RECIPE, (2, 2)) == ("unchanged", (2, 2))
    assert status("x\n" + RECIPE, (2, 2))[0] == "gone"


def test_lines_past_the_end_are_no_quote() -> None:
    assert quoted_lines(RECIPE, (13, 13)) is None
    assert quoted_lines("", (1, 1)) is None
    clamped = quoted_lines(RECIPE, (12, 99))
    assert clamped is not None
    assert (clamped.text, clamped.lines) == ("Never reheat it.", (12, 12))


words = st.text("abc .\té한\u2028", max_size=12)
texts = st.lists(words, min_size=1, max_size=12).map(lambda lines: "\n".join(lines) + "\n")


@st.composite
def cited(draw: st.DrawFn) -> tuple[str, Lines]:
    text = draw(texts)
    first = draw(st.integers(1, text.count("\n")))
    return text, (first, draw(st.integers(first, text.count("\n"))))


@quick
@given(cited())
def test_a_text_that_was_not_touched_is_unchanged(given_: tuple[str, Lines]) -> None:
    text, lines = given_

    assert status(text, lines, text) == ("unchanged", lines)


@quick
@given(cited(), st.lists(st.text("xyz", min_size=1, max_size=5), min_size=1, max_size=5))
def test_lines_put_in_above_move_what_is_below(given_: tuple[str, Lines], above: list[str]) -> None:
    text, lines = given_
    quote = quoted_lines(text, lines)
    assert quote is not None
    assume(quote.text.strip())
    now = "".join(f"{line}\n" for line in above) + text

    found, place = status(now, lines, text)

    # A text that stands several times may stand at the cited lines again.
    if found == "unchanged":
        assert lines in occurrences(quote, now)
    else:
        assert (found, place) == ("moved", (lines[0] + len(above), lines[1] + len(above)))


@quick
@given(cited(), cited())
def test_a_verdict_is_never_at_odds_with_the_texts(
    given_: tuple[str, Lines], other: tuple[str, Lines]
) -> None:
    """Between any two texts: what is called the same is there, what is named exists."""
    before, lines = given_
    now, _ = other
    quote = quoted_lines(before, lines)
    assert quote is not None

    found = judge(quote, lines, before, now, NAMES)

    assert (found.diff is not None) == (found.status == "changed")
    if found.lines is not None:
        assert 1 <= found.lines[0] <= found.lines[1] <= max(lines[1], now.count("\n") + 1)
    if found.status in {"unchanged", "moved"} and quote.text.strip():
        assert quote.text in now


@st.composite
def parts(draw: st.DrawFn) -> tuple[str, int, int]:
    """A text, and a range of whole words in it."""
    word = st.text("ab한é.", min_size=1, max_size=4)
    rows = draw(st.lists(st.lists(word, min_size=1, max_size=6), min_size=1, max_size=5))
    text = "\n".join(" ".join(row) for row in rows) + "\n"
    starts = [0] + [n + 1 for n, c in enumerate(text[:-1]) if c in " \n"]
    ends = [n for n, c in enumerate(text) if c in " \n"]
    start = draw(st.sampled_from(starts))
    return text, start, draw(st.sampled_from([end for end in ends if end > start]))


@quick
@given(parts())
def test_whole_words_on_the_cited_lines_are_found_by_their_hash(
    given_: tuple[str, int, int],
) -> None:
    text, start, end = given_
    cited_lines = LineIndex(text).lines_of(start, end)

    found = quote_by_hash(text, cited_lines, content_hash(text[start:end]))

    assert found is not None
    assert (found.text, found.lines) == (text[start:end], cited_lines)


@quick
@given(cited(), st.integers(0, 5))
def test_whole_lines_are_found_by_their_hash_wherever_they_are(
    given_: tuple[str, Lines], above: int
) -> None:
    text, lines = given_
    shown = quoted_lines(text, lines)
    assert shown is not None
    assume(shown.text.strip())
    digest = content_hash(shown.text.rstrip())

    found = find_by_hash("x\n" * above + text, lines, digest)

    assert found is not None
    assert content_hash(found.text) == digest
    assert find_by_hash("something else\n" * 20, lines, digest) is None
    assert quote_by_hash("something else\n" * 20, lines, digest) is None
