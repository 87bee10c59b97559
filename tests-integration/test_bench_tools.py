"""The benchmarks' own reading and counting; what they measure is not tested."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from kb_app import KnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "tools" / "bench"


@pytest.fixture(autouse=True)
def bench_on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the benchmarks find each other, and leave none of their plain names behind."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name in set(sys.modules) - before:
        if (BENCH / f"{name}.py").exists():
            del sys.modules[name]


def tool(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection of two documents, four queries, and one judgement of each kind."""
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    docs = [
        {"_id": "a/1", "title": "Locks\nand keys", "text": "A writer waits."},
        {"_id": "b", "title": "", "text": "Readers never do."},
    ]
    queries = [{"_id": f"q{n}", "text": f"question {n}"} for n in (1, 2, 3)]
    queries.append({"_id": "q4", "text": " "})
    for name, rows in (("corpus", docs), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    judged = "query-id\tcorpus-id\tscore\nq1\ta/1\t2\nq2\tb\t0\nq4\tb\t1\nq9\tb\t1\n"
    (folder / "qrels" / "test.tsv").write_text(judged, "utf-8")
    return folder


def test_scores_are_compared_where_both_lists_have_a_passage() -> None:
    difference = tool("deletions").difference

    assert difference({"a": 2.0, "b": 1.0}, {"a": 2.0, "c": 9.0}) == 0
    assert difference({"a": 8.8, "b": 0.5}, {"a": 8.0, "b": 0.45}) == pytest.approx(0.1)
    assert difference({}, {"a": 1.0}) == 0


def test_only_queries_with_something_to_find_are_asked(collection: Path) -> None:
    """One finds nothing relevant, one is not judged, one is blank, one is missing."""
    loaded = tool("beir").load_collection(collection)

    assert loaded.queries == {"q1": "question 1"}
    assert loaded.qrels == {"q1": {"a/1": 2}}


def test_a_document_becomes_a_file_whose_name_tells_nothing(
    collection: Path, tmp_path: Path
) -> None:
    beir = tool("beir")

    names = beir.write_documents(beir.load_collection(collection).docs, tmp_path / "files")

    assert names == {"d000000.md": "a/1", "d000001.md": "b"}
    first, second = ((tmp_path / "files" / name).read_text("utf-8") for name in names)
    assert first == "# Locks and keys\n\nA writer waits.\n"
    assert second == "Readers never do.\n"


def test_pages_are_judged_as_their_file() -> None:
    beir = tool("beir")
    pages = (beir.Doc("report.pdf#page=2", "", "text"),)

    by_file = beir.Collection("pages", pages, {}, {}, by_file=True)
    by_page = beir.Collection("pages", pages, {}, {})

    assert by_file.judged_as("report.pdf#page=2") == "report.pdf"
    assert by_page.judged_as("guide.md#install") == "guide.md#install"


def test_a_sample_is_the_same_for_the_same_seed(collection: Path) -> None:
    lines = [f"q{n}\tb\t1" for n in (1, 2, 3)]
    qrels = "\n".join(["query-id\tcorpus-id\tscore", *lines, ""])
    (collection / "qrels" / "test.tsv").write_text(qrels, "utf-8")
    load = tool("beir").load_collection

    first, again = (load(collection, sample=2, seed=3).queries for _ in range(2))

    assert len(first) == 2
    assert first == again


def test_import_times_are_summed_by_top_level_name() -> None:
    report = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:       100 |        100 |   click.types\n"
        "import time:      2000 |       2100 | click\n"
        "import time:       300 |        300 | json\n"
        "a line of the program itself\n"
    )

    costs = tool("startup").read_import_times(report)

    assert [(cost.name, cost.ms) for cost in costs] == [
        ("click", 2.1),
        ("(standard library)", 0.3),
    ]


def test_a_process_that_fails_is_not_measured() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        tool("startup").run_process([sys.executable, "-c", "raise SystemExit(3)"])


def outcome(load: ModuleType, *steps: object, code: int = 0, stderr: str = "") -> dict[str, object]:
    """Summarize readers' steps around an ingest that ran from second 10 to second 20."""
    ran = load.Outcome(list(steps), [80.0], 10.0, 20.0, code, stderr)
    found: dict[str, object] = load.summarize_outcome(ran)
    return found


def test_steps_are_counted_by_when_they_began() -> None:
    load = tool("load")

    found = outcome(
        load,
        load.Step("search", 5.0, 0.001, 1),
        load.Step("search", 15.0, 0.003, 2),
        load.Step("search", 25.0, 0.009, 3),
    )

    assert found["alone"]["search"]["count"] == 1  # type: ignore[index]
    assert found["during"]["search"]["max_ms"] == 3.0  # type: ignore[index]
    assert found["revisions_seen"] == 3
    assert found["errors"] == []


@pytest.mark.parametrize(
    ("code", "stderr"),
    [(2, "disk full"), (0, "waiting for the lock"), (0, "store_busy: StoreBusy")],
)
def test_a_failed_or_waiting_ingest_is_an_error(code: int, stderr: str) -> None:
    load = tool("load")

    found = outcome(load, load.Step("search", 15.0, 0.1, 1), code=code, stderr=stderr)

    assert len(found["errors"]) == 1  # type: ignore[arg-type]


def test_readers_that_do_nothing_are_an_error() -> None:
    """A load test in which nobody reads would otherwise always pass."""
    assert outcome(tool("load"))["errors"] == ["no reader did anything"]


def test_words_are_the_same_for_the_same_seed() -> None:
    words = tool("words")

    assert words.Words(3).passage() == words.Words(3).passage()
    assert words.Words(3).passage() != words.Words(4).passage()
    assert len(words.Words(3).query(4).split()) == 4


def test_without_collections_nothing_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "ir.py"), "--data", str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "--data" in done.stderr


def test_errors_of_recognised_text_are_counted_as_read_and_by_line() -> None:
    pytest.importorskip("tesserocr")
    ocr = tool("ocr")

    assert ocr.errors("“One”  two\nthree", '"One" two three') == 0
    assert ocr.errors("ane", "one") == pytest.approx(1 / 3)
    assert ocr.errors("second\nfirst", "first\nsecond") > 0.5
    assert ocr.errors_by_line("second\nfirst\nelse", "first\nsecond") == 0
    assert ocr.errors_by_line("", "first") == 1


def test_the_interval_of_a_median_is_that_of_the_sign_test() -> None:
    ranks = tool("watch").median_interval_ranks

    assert [ranks(count) for count in (1, 5, 6, 8, 9, 15, 30)] == [
        (0, 0),
        (0, 4),
        (0, 5),
        (0, 7),
        (1, 7),
        (3, 11),
        (9, 20),
    ]


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, ""), (1.04, ""), (1.2, "dearer"), (0.8, "cheaper")]
)
def test_a_figure_moved_where_it_differs_by_more_than_the_same_version_from_itself(
    factor: float, verdict: str
) -> None:
    before = [1.0, 1.1, 0.9, 1.05, 1.0, 0.95, 1.0, 1.02]
    again = [a * b for a, b in zip(before, [1.05, 0.96, 1.0, 1.04, 0.95, 1, 1, 1], strict=True)]

    found = tool("watch").moved([a * factor for a in before], before, [a * factor for a in again])

    assert found.verdict == verdict
    assert found.ratio == pytest.approx(factor)


def test_the_last_release_is_the_first_heading_with_a_number() -> None:
    last_release = tool("watch").last_release

    assert last_release("# Changelog\n\n## Unreleased\n\n## 0.2.1\n\n## 0.2.0\n") == "v0.2.1"
    assert last_release("# Changelog\n\n## Unreleased\n") is None


def test_a_commit_that_is_not_there_is_named_with_the_way_out() -> None:
    with pytest.raises(SystemExit, match=r"no commit 'nothing-of-the-kind': .*--against"):
        tool("watch").main(["--against", "nothing-of-the-kind"])


def test_questions_are_sentences_that_lead_to_one_other_page() -> None:
    longer = tool("longer")
    sentence = "To lock the store while it is copied, see the page about locks at once"
    html = f"""<head><title>no</title></head><body><nav><a href="c.html">skip</a></nav>
        <h2>Copying</h2><p>First words. {
        sentence.replace("about locks", '<a href="../b.html#x">about locks</a>')
    }.</p><pre>cp  a\n   b</pre><p>See <a href="b.html">b</a>.</p></body>"""
    pages = {"x/a.html": longer.read_page(html), "b.html": longer.read_page("<p>Locks</p>")}

    (found,) = longer.references(pages)

    assert found == ("b.html", "x/a.html", f"{sentence}.", "about locks")
    assert longer.chosen([found, found], 9) == [found]
    assert pages["x/a.html"].text([f"{sentence}."]) == (
        "## Copying\n\nFirst words. \n\n```\ncp  a\n   b\n```\n\nSee b."
    )


def test_passages_of_one_title_are_joined_and_judged_as_a_whole() -> None:
    beir = tool("beir")
    docs = tuple(beir.Doc(f"p{n}", title, f"text {n}") for n, title in enumerate("AAB"))
    parts = beir.Collection("c", docs, {"q": "text"}, {"q": {"p1": 1, "p2": 0}})

    whole = tool("longer").join(parts, lambda doc: doc.title)

    assert [(d.title, d.text) for d in whole.docs] == [("A", "text 0\n\ntext 1"), ("B", "text 2")]
    assert whole.qrels == {"q": {whole.docs[0].doc_id: 1}}


def test_the_boards_bm25_prefers_rare_words_and_short_documents() -> None:
    texts = ["the lock and the key", "a lock of hair, " * 9, "a key", "자물쇠와 열쇠"]
    plain = tool("peers").PlainBM25(texts, "en")

    assert plain.search("locks", 9) == [1, 0]
    assert plain.search("key", 1) == [2]
    assert plain.search("hair", 9) == [1]
    assert plain.search("열쇠", 9) == [3]
    assert plain.search("nothing of it", 9) == [1]


def test_files_are_read_in_the_order_of_how_many_rare_words_they_hold() -> None:
    texts = {
        "a.md": "the lock\nand the key",
        "b.md": "the lock\na lock",
        "c.md": "the key, the lock and the walrus",
        "d.md": "自転車の鍵",
        "e.md": "the end",
    }
    grep = tool("peers").GrepThenRead(texts)

    assert grep.files("Where is the key of the walrus lock?") == ["c.md", "a.md", "b.md"]
    assert grep.files("鍵はどこ 自転車") == ["d.md"]
    assert grep.files("nothing whatsoever") == []


def test_what_text_delivers_of_a_document_is_what_the_document_says(
    collection: Path, tmp_path: Path
) -> None:
    ir, delivered = tool("ir"), tool("delivered")
    whole = replace(
        tool("beir").load_collection(collection),
        queries={"q1": "who waits with a lock"},
    )
    config = ir.config_of(tmp_path / "kept")
    ir.prepare(whole, config, suffix=".md", embed=False, refresh=False)
    names = json.loads((tmp_path / "kept" / ir.NAMES_FILE).read_text("utf-8"))

    with (
        KnowledgeBase.open(config, readonly=True) as kb,
        delivered.as_text(kb) as text,
        delivered.as_text(kb, by_default=True) as lines,
    ):
        told = text(SearchQuery(text="who waits with a lock", mode=SearchMode.LEXICAL), 500)
        forms = {"text": text, "lines": lines}
        found = delivered.shares(whole, names, forms, mode=SearchMode.LEXICAL, budgets=(5, 500))

    assert {names[path]: said.split() for path, said in told.items()} == {
        "a/1": ["#", "Locks", "and", "keys", "A", "writer", "waits."]
    }
    assert found == {
        ("text", 5): 0,
        ("text", 500): 1,
        ("lines", 5): 0,
        ("lines", 500): 1,
    }


def test_the_board_keeps_the_rows_of_other_versions() -> None:
    page = tool("board_page")
    shares = {"mean": 0.5, "low": 0.25, "high": 0.75, "p": 0.5}
    sides = ("words", "meaning", "hybrid", "bm25", "gain", "close")
    reached = {str(budget): budget / 4_000 for budget in page.BUDGETS}
    row = page.Row(
        name="tiny", documents=2, questions=1, judged=1, found=1.0, empty=0, version="2.0",
        **dict.fromkeys(sides, shares), **dict.fromkeys(("delivered", "read"), reached),
    )  # fmt: skip
    old = replace(row, version="1.0", hybrid=shares | {"mean": 0.4})

    first = page.render([old], [], {}, "2026-01-01")
    second = page.render([row], page.history_of(first), {}, "2026-02-01")
    again = page.render([row], page.history_of(second), {}, "2026-02-01")

    assert [each.version for each in page.history_of(second)] == ["1.0", "2.0"]
    assert "| 1.0 | 2026-01-01 | 1 | .500 | .500 | .400 | .500 |" in second
    assert again == second
    assert "| tiny | 2 | 1 | .500 (.250–.750) |" in second
    assert "| mean | .125 | .250 | .500 | .125 | .250 | .500 |" in second


def test_peers_index_the_same_notes_and_find_in_them(tmp_path: Path) -> None:
    beside = tool("beside")
    vault = tmp_path / "vault"
    notes = tool("small_ingest").make_vault(vault, 8)
    (question,) = beside.questions(vault, 1)
    found, missing = beside.peers_here(None)
    libraries = [peer for peer in found if "whole files" in peer.name]

    taken = {
        peer.name: (peer, beside.measure(peer, vault, tmp_path / peer.name, [question]))
        for peer in libraries
    }
    told = beside.report(taken, 20_000, len(notes), missing)

    assert len(libraries) == 2
    assert all(measured.tokens > 20 for _, measured in taken.values())
    assert all(f"| {name} |" in told for name in taken)
    assert "- qmd: name the command that runs it." in told
    assert beside.installed_bytes("click") > 100_000
    assert beside.installed_bytes("no-such-distribution") is None


def test_a_report_goes_between_its_marks_and_nowhere_else() -> None:
    written = tool("beside").written
    page = "a\n<!-- beside: begin -->\nold\n<!-- beside: end -->\nb\n"

    once = written(page, "new")

    assert once == "a\n<!-- beside: begin -->\n\nnew\n\n<!-- beside: end -->\nb\n"
    assert written(once, "new") == once
    with pytest.raises(ValueError, match="the page has no"):
        written("a\n", "new")


def test_a_curve_is_a_picture_by_itself() -> None:
    first = tool("first_answers")
    points = [first.Point(1.0, 0.0, 0.4), first.Point(9.0, 1.0, 0.6)]

    drawn = ET.fromstring(first.draw(points, 0.4, "notes"))

    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    assert all("style" in line.attrib for line in lines)


def test_what_grows_linearly_rises_by_as_many_decades_as_it_goes_along() -> None:
    curves = {"linear": [(10, 3), (1000, 300)], "flat": [(10, 3), (1000, 3)], "near": [(10, 3.1)]}

    drawn = ET.fromstring(tool("pictures").growing("growth", "passages", "ms", curves))

    svg = "{http://www.w3.org/2000/svg}"
    lines = [line.attrib["points"].split() for line in drawn.findall(f"{svg}polyline")]
    (left, low), (right, high) = ((float(n) for n in point.split(",")) for point in lines[0])
    grid = [line.attrib for line in drawn.findall(f"{svg}line")]
    across, up = (
        sorted({float(line[name]) for line in grid if line[name] == line[f"{name[0]}2"]})
        for name in ("x1", "y1")
    )
    assert (right - left) / (across[1] - across[0]) == pytest.approx(2, abs=0.01)
    assert (low - high) / (up[1] - up[0]) == pytest.approx(2, abs=0.01)
    names = {one.text: float(one.attrib["y"]) for one in drawn.findall(f"{svg}text")}
    assert abs(names["flat"] - names["near"]) >= 15
