"""Reports of runs: one file that opens offline, escapes all, and says what the run came to."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._evals.charts import Series, bars, intervals, lines
from kb_app._evals.reporting import shares_within
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab

EVIL = '<script>alert("x")</script>&\x1b[31m'
VOID = {"meta", "br"}


class Seen(HTMLParser):
    """What a page has: its tags, attributes and text; fails where tags do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return two runs over three questions, of which one has a text that would be a script."""
    kebab = KebabHere(tmp_path_factory.mktemp("report"))
    for topic in ("lock", "reader"):
        kebab.write(f"{topic}.md", f"# The {topic}\n\nThis page says what a {topic} does.\n")
    kebab.ingest()
    kebab.run("eval", "add", "what does a lock do", "--hit", "1", "--id", "lock")
    kebab.run("eval", "add", f"reader {EVIL}", "--hit", "1", "--id", "reader")
    kebab.run("eval", "add", "price of tea", "--nothing", "--id", "tea")
    kebab.run("eval", "run", "--mode", "lexical", "--ask", "--name", EVIL)
    kebab.run("eval", "run", "--mode", "lexical", "--mode", "hybrid", "--name", "second")
    return kebab


def page_of(kebab: InstalledKebab, *runs: str) -> str:
    file = kebab.home / "report.html"
    assert kebab.run("eval", "report", *runs, "--into", str(file)).stdout.strip() == str(file)
    assert file.stat().st_mode & 0o777 == 0o600
    return file.read_text("utf-8")


def test_it_says_what_was_measured_and_shows_every_question_with_its_hits(
    kebab: InstalledKebab,
) -> None:
    seen = Seen(page_of(kebab, "last"))

    assert seen.tags.count("details") == 3
    assert all(told in seen.text for told in ("lexical", "hybrid", "ndcg@10", "lock.md#L", "✓"))
    assert "Recall by rank" in seen.text
    assert "Recall by tokens read" in seen.text
    assert "a refusal is right" in seen.text


def test_nothing_of_questions_names_and_places_is_markup_and_nothing_is_loaded(
    kebab: InstalledKebab,
) -> None:
    page = page_of(kebab, "last~1", "last")
    seen = Seen(page)

    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "src"]
    assert not re.search(r"https?://|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "\x1b" not in page
    assert '<script>alert("x")' in seen.text


def test_answers_show_how_precise_refusals_are(kebab: InstalledKebab) -> None:
    assert "Precision of refusals" in page_of(kebab, "last~1")
    assert "Precision of refusals" not in page_of(kebab, "last")


def test_it_is_light_and_dark_and_fits_a_narrow_window(kebab: InstalledKebab) -> None:
    page = page_of(kebab, "last")

    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def test_what_is_no_report_is_never_replaced(kebab: InstalledKebab) -> None:
    own = kebab.home / "mine.html"
    own.write_text("<p>mine")

    told = kebab.run("eval", "report", "last", "--into", str(own), code=2).stderr

    assert "is no report" in told
    assert own.read_text() == "<p>mine"
    page_of(kebab, "last")
    page_of(kebab, "last")


def test_as_text_it_shows_figures_ranks_and_the_worst_questions(kebab: InstalledKebab) -> None:
    told = kebab.run("eval", "report", "last", "--text").stdout

    assert "ndcg@10" in told
    assert "rank of the first that is relevant" in told
    assert "milliseconds" in told
    assert "█" in told
    assert "\x1b" not in told
    assert not Path("eval-report.html").exists()


def test_a_run_that_is_not_there_is_named(kebab: InstalledKebab) -> None:
    assert "names no run" in kebab.run("eval", "report", "nothing", code=2).stderr


def test_read_only_it_is_printed_and_not_written(kebab: InstalledKebab) -> None:
    file = kebab.home / "other.html"

    kebab.run("--readonly", "eval", "report", "last", "--into", str(file), code=1)
    assert "ndcg@10" in kebab.run("--readonly", "eval", "report", "last", "--text").stdout
    assert not file.exists()


@settings(max_examples=40)
@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1),
    st.lists(st.integers(1, 1000), min_size=1, unique=True).map(sorted),
)
def test_shares_are_of_all_values_whatever_the_bounds(
    values: list[float | None], bounds: list[int]
) -> None:
    shares = shares_within(values, bounds)

    assert len(shares) == len(bounds) + 1
    assert sum(shares) == pytest.approx(1)
    within = [v for v in values if v is not None and v <= bounds[-1]]
    assert sum(shares[:-1]) == pytest.approx(len(within) / len(values))


@settings(max_examples=40)
@given(st.text(), st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), max_size=5))
def test_charts_are_markup_whatever_their_words_are(
    text: str, points: list[tuple[float, float]]
) -> None:
    series = [Series(text, 0, points)]

    Seen(lines(text, text, series))
    Seen(bars(text, [text] * 6, series))
    Seen(intervals(text, [(text, 0, y, y, y) for _, y in points]))
