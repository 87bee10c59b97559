"""Vector files: exact against brute force, whatever was appended, killed or compacted."""

from __future__ import annotations

import mmap
import random
import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain
from mmap import PAGESIZE
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from kb_core.quantization import dequantize, quantize
from kb_core.records import VectorFiles, VectorRecord
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder
from kb_core.values import replace
from kb_search import appending, products
from kb_search.appending import append_few
from kb_search.blinders import Blinders, blinders_of
from kb_search.reader import Reader
from kb_search.small_view import _A_ROW, SmallView, _near_the_largest
from kb_search.vector_files import (
    VectorSet,
    cut_tails,
    generations,
    map_files,
    remove_other_generations,
    start,
)
from kb_search.vectors import VectorView, append, rewrite
from kb_search.writer import Writer

DIMENSIONS = 24
MODEL = "model.int8.r1"

Vectors = npt.NDArray[np.float32]


def unit(rows: int, seed: int) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((rows, DIMENSIONS)).astype(np.float32)
    scaled: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return scaled


def records(vectors: Vectors, first_key: int = 1) -> list[VectorRecord]:
    return [VectorRecord(first_key + i, quantize(v.tolist())) for i, v in enumerate(vectors)]


def opened(root: Path, files: VectorFiles) -> VectorView:
    return VectorView(map_files(root, files), files)


def filled(root: Path, vectors: Vectors) -> VectorFiles:
    return append(root, start(root, MODEL, {}, DIMENSIONS), records(vectors), [])


def nearest_by_brute_force(vectors: Vectors, query: Vectors, keys: list[int], k: int) -> list[int]:
    kept = np.array([dequantize(quantize(vector)) for vector in vectors.tolist()])
    scores = np.round(kept @ query, 7)
    return sorted(keys, key=lambda key: (-scores[key - 1], key))[:k]


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 5000])
def test_the_scan_is_exact(tmp_path: Path, rows: int) -> None:
    vectors = unit(rows, 1)
    view = opened(tmp_path, filled(tmp_path, vectors))
    every = list(range(1, rows + 1))

    for query in unit(5, 2):
        found = view.nearest(query.tobytes(), 10)
        assert [s.chunk_key for s in found] == nearest_by_brute_force(vectors, query, every, 10)


def test_without_simsimd_the_answer_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit(700, 3)
    view = opened(tmp_path, filled(tmp_path, vectors))
    query = unit(1, 4)[0].tobytes()
    fast = view.nearest(query, 20)
    monkeypatch.setitem(sys.modules, "simsimd", None)

    assert view.nearest(query, 20) == fast


@given(st.sets(st.integers(1, 300)), st.sets(st.integers(1, 300), min_size=1))
@settings(max_examples=30)
def test_a_filter_gives_the_exhaustive_list_restricted(dead: set[int], among: set[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = append(root, filled(root, unit(300, 5)), [], dead)
        view = opened(root, files)
        query = unit(1, 6)[0].tobytes()
        everything = view.nearest(query, 300)
        wanted = [s for s in everything if s.chunk_key in among]

        assert {s.chunk_key for s in everything} == set(range(1, 301)) - dead
        assert view.nearest(query, 300, sorted(among)) == wanted
        deepened = view.deepening(query, 7, lambda keys: set(keys) & among, 3)
        assert deepened == wanted[:7]


@given(
    st.sets(st.integers(1, 400), max_size=40),
    st.sets(st.integers(1, 450), min_size=1),
    st.sets(st.integers(1, 450)),
    st.integers(1, 300),
    st.floats(-0.1, 0.3),
)
@settings(max_examples=20)
def test_without_numpy_the_answers_are_the_same(
    dead: set[int], among: set[int], signposts: set[int], limit: int, above: float
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = append(root, filled(root, unit(400, 18)), [], dead)
        # A key that is gone may come back.
        files = append(root, files, records(unit(3, 19), min(dead, default=401)), [])
        whole, small = opened(root, files), SmallView(map_files(root, files), files)
        keys, query = sorted(among), unit(1, 20)[0].tobytes()
        farther = frozenset(signposts)

        for asked in (None, keys):
            told = [
                view.nearest(query, limit, asked, farther, above=above) for view in (whole, small)
            ]
            assert told[0] == told[1]
        told = [
            view.deepening(query, limit, lambda keys: set(keys) & among, 5, farther, above=above)
            for view in (whole, small)
        ]
        assert told[0] == told[1]
        assert len(whole) == len(small)
        assert whole.known(keys) == small.known(keys)
        assert whole.vectors_of(keys) == small.vectors_of(keys)
        assert whole.spread(7) == small.spread(7)
        if known := sorted(whole.known(keys)):
            assert whole.mean(known) == small.mean(known)


def test_few_vectors_are_looked_through_without_numpy_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, query = filled(tmp_path, unit(300, 21)), unit(1, 22)[0].tobytes()
    seen, found = [], []

    def look(vectors: VectorSet) -> None:
        seen.append(type(vectors.view))
        found.append(vectors.view.nearest(query, 5))

    look(VectorSet.open(tmp_path, files))
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr("kb_search.vector_files.IMPORT", 1_000)  # a question takes 800
    vectors = VectorSet.open(tmp_path, files)
    for _ in range(3):
        look(vectors)
    monkeypatch.setattr("kb_search.vector_files.FEW", 299)
    look(VectorSet.open(tmp_path, files))

    assert seen == [VectorView, SmallView, SmallView, VectorView, VectorView]
    assert found == found[:1] * 5


def test_vectors_of_a_document_are_looked_at_without_numpy_as_often_as_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``explain-miss`` does beside a search: those of ten passages cost next to nothing."""
    files, query = filled(tmp_path, unit(300, 23)), unit(1, 22)[0].tobytes()
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr("kb_search.vector_files.IMPORT", 1_000)
    vectors = VectorSet.open(tmp_path, files)

    vectors.view.nearest(query, 5)
    for _ in range(5):
        assert len(vectors.view.nearest(query, 10, range(31, 41))) == 10

    assert isinstance(vectors.view, SmallView)


def test_a_million_vectors_are_looked_through_without_numpy_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = replace(filled(tmp_path, unit(1, 24)), rows=1_000_000)
    monkeypatch.delitem(sys.modules, "numpy")
    vectors = VectorSet(dict.fromkeys(("i8", "scale", "keys", "dead"), b""), files)

    first = vectors.view
    assert isinstance(first, SmallView)
    first.spent += 3 * files.rows * _A_ROW
    again = vectors.view
    assert again is first
    first.spent += 5 * files.rows * _A_ROW
    monkeypatch.setattr("kb_search.vectors.VectorView.__init__", lambda *_: None)
    then = vectors.view
    assert isinstance(then, VectorView)


@pytest.mark.parametrize("turns", [16, 0])
def test_a_key_is_found_where_it_stands_and_not_across_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    monkeypatch.setattr("kb_search.small_view._MOST_TURNS", turns)
    monkeypatch.setattr("kb_search.small_view._FEWER", 0)
    monkeypatch.setattr("kb_search.small_view._FEW_KEYS", 0)

    made = zip((256, 512, 3, 1, 5), records(unit(5, 25)), strict=True)
    vectors = [replace(each, chunk_key=key) for key, each in made]
    files = append(tmp_path, start(tmp_path, MODEL, {}, DIMENSIONS), vectors, [])
    files = append(tmp_path, files, [], [3])
    small = SmallView(map_files(tmp_path, files), files)

    assert [small.rows_of([key]) for key in (256, 1, 2, 3)] == [[0], [3], [], []]
    assert small.rows_of([5, 1, 512]) == [1, 3, 4]


@settings(max_examples=30)
@given(
    st.permutations(range(40)),
    st.sets(st.integers(-3, 45)),
    st.sets(st.integers(0, 39), max_size=6),
    st.sampled_from([0, 1, 100]),
    st.sampled_from([0, 100]),
)
def test_rows_of_keys_that_follow_each_other_are_those_of_each(
    order: list[int], wanted: set[int], dead: set[int], fewer: int, few_keys: int
) -> None:
    keys = [*range(20), *(20 + key for key in order if key < 20)]  # half of them in order
    small = SmallView.__new__(SmallView)
    small.keys = memoryview(array("q", keys)).cast("B").cast("q")
    small._rows, small._dead, small.spent = len(keys), frozenset(dead), 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb_search.small_view._FEWER", fewer)
        patch.setattr("kb_search.small_view._FEW_KEYS", few_keys)
        found = small.rows_of(wanted)

    assert found == [row for row, key in enumerate(keys) if key in wanted and row not in dead]


def test_keys_that_follow_each_other_are_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = filled(tmp_path, unit(300, 29))
    small = SmallView(map_files(tmp_path, files), files)
    place, numbers = Mock(wraps=small._place), Mock(wraps=small._numbers)
    monkeypatch.setattr(small, "_place", place)

    assert small.rows_of(range(11, 139)) == [*range(10, 138)]
    assert not place.mock_calls, "nothing is looked through for a few that ascend"
    monkeypatch.setattr("kb_search.small_view._FEW_KEYS", 100)
    monkeypatch.setattr(small, "_numbers", numbers)

    assert small.rows_of(range(11, 139)) == [*range(10, 138)]
    assert len(place.mock_calls) == 1
    rows = [0, 1, 2, 9, *range(20, 40)]
    each = b"".join(map(SmallView._numbers.__get__(small), rows))
    assert bytes(small._gathered(rows)) == each
    assert numbers.call_count == 3
    assert [bytes(small._gathered(some)) for some in ([], [5])] == [b"", small._numbers(5)]


def test_many_rows_are_multiplied_in_halves_beside_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, others = bytes(range(1, 96)) * 8, bytes(range(10))  # 152 rows of 5
    whole = products.dots(rows, others, 5).tolist()
    multiply = Mock(wraps=products._products)
    monkeypatch.setattr(products, "_products", multiply)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", len(rows))

    assert products.dots(rows[:-5], others, 5).tolist() == whole[:-2]
    assert products.dots(rows, others, 5).tolist() == whole
    assert [len(each.args[0]) for each in multiply.call_args_list] == [755, 380, 380]

    multiply.side_effect = MemoryError
    with pytest.raises(MemoryError):
        products.dots(rows, others, 5)
    assert multiply.call_count in {5, 6}


def test_pages_that_were_read_are_let_go_of_as_the_scan_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    width, rows = 5, 11 * PAGESIZE + 7
    drawn = np.random.default_rng(30)
    matrix = drawn.integers(-127, 128, rows * width, np.int8).tobytes()
    other, scale = bytes(range(1, 6)), drawn.random(rows, np.float32)
    at_once = products.scaled_dots(matrix, other, array("f", scale))
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(products, "_READ_AT_ONCE", 2 * width * PAGESIZE - 1)
    read: list[tuple[int, int]] = []

    found = products.scaled_dots(
        matrix, other, array("f", scale), lambda start, size: read.append((start, size))
    )

    assert found.tobytes() == at_once.tobytes()
    assert all(start % PAGESIZE == 0 for start, _ in read)
    parts = [range(start, start + size) for start, size in sorted(read)]
    assert len(parts) == 7
    assert [*chain.from_iterable(parts)] == [*range(len(matrix))]


def test_only_who_asks_once_lets_go_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, (query, other) = filled(tmp_path, unit(300, 31)), unit(2, 32)
    told = SmallView(map_files(tmp_path, files), files).nearest(query.tobytes(), 5)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 1)

    def let_go(*limits: int) -> list[int]:
        view = SmallView(map_files(tmp_path, files), files)
        view._mapped = mapped = Mock(spec=mmap.mmap, wraps=view._mapped)
        counts = []
        for limit in limits:
            assert view.nearest(query.tobytes(), limit)[:5] == told
            counts.append(mapped.madvise.call_count)
        return counts

    assert let_go(5, 100, 5) == [1, 1, 1]
    assert let_go(2_000, 5) == [0, 0]
    view = SmallView(map_files(tmp_path, files), files)
    assert view.nearest(query.tobytes(), 5) == view.nearest(query.tobytes(), 5) == told
    assert view.nearest(other.tobytes(), 5) != told


def test_a_scan_takes_nothing_away_that_it_does_not_own(tmp_path: Path) -> None:
    """The library that multiplies gives a ``None`` away where it is told to write into a buffer."""
    files, query = filled(tmp_path, unit(300, 26)), unit(1, 27)[0].tobytes()
    small = SmallView(map_files(tmp_path, files), files)
    before = sys.getrefcount(None)

    for _ in range(100):
        small.nearest(query, 5)

    assert sys.getrefcount(None) > before - 50


def test_many_keys_that_have_no_vector_are_not_looked_for_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = filled(tmp_path, unit(300, 28))
    small = SmallView(map_files(tmp_path, files), files)
    place = Mock(wraps=small._place)
    monkeypatch.setattr(small, "_place", place)
    monkeypatch.setattr("kb_search.small_view._FEWER", 1)

    assert small.known([*range(1000, 1200), 7]) == {7}
    assert place.call_count < 40

    monkeypatch.setattr("kb_search.small_view._FEWER", 40)
    monkeypatch.setattr("kb_search.small_view._FEW_KEYS", 0)
    assert small.known(range(1, 9)) == {*range(1, 9)}
    assert place.call_count < 40


_scores = st.lists(
    st.floats(-400, 400, width=32) | st.sampled_from([0.0, 1.0, 128.0, -np.inf]), min_size=1
)


@settings(max_examples=40)
@given(_scores, st.integers(1, 90), st.integers(1, 40), st.integers(1, 50))
def test_the_largest_scores_are_found_with_all_that_are_as_large(
    scores: list[float], wanted: int, sampled: int, at_once: int
) -> None:
    least = sorted(scores)[-wanted:][0]
    told = memoryview(array("f", scores)).cast("B").cast("f")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb_search.small_view._SAMPLED", sampled)
        patch.setattr("kb_search.small_view._LOOKED_AT", at_once)
        found = SmallView._largest(Mock(), told, wanted, None)

    if wanted < len(scores):
        assert found == [at for at, score in enumerate(scores) if score >= least]
    else:
        assert found == [*range(len(scores))]


def test_few_numbers_are_looked_at_where_the_largest_are_looked_for() -> None:
    drawn = array("f", np.random.default_rng(5).normal(90, 20, 50_000).tolist())
    scores = memoryview(drawn).cast("B").cast("f")

    near = _near_the_largest(scores, 20)

    assert 20 <= len(near) < 2_000


@pytest.mark.parametrize("view", [VectorView, SmallView])
def test_what_is_no_vector_of_these_is_refused(
    tmp_path: Path, view: type[VectorView | SmallView]
) -> None:
    files = filled(tmp_path, unit(300, 23))
    maps = {**map_files(tmp_path, files)}

    with pytest.raises(ValueError, match=r"components|reshape"):
        view(maps, files).nearest(bytes(4 * DIMENSIONS + 4), 3)
    maps["scale"] = np.full(300, 0.5, "<f4").tobytes()
    with pytest.raises(ValueError, match="length 1"):
        view(maps, files).nearest(unit(1, 24)[0].tobytes(), 3)
    maps["dead"] = (300).to_bytes(4, "little")
    with pytest.raises(ValueError, match="never was"):
        view(maps, files)


def test_a_tail_that_was_not_published_is_invisible_and_cut(tmp_path: Path) -> None:
    published = filled(tmp_path, unit(10, 7))
    append(tmp_path, published, records(unit(5, 8), 100), [3])

    assert len(opened(tmp_path, published)) == 10
    cut_tails(tmp_path, published)
    again = append(tmp_path, published, records(unit(5, 8), 100), [3])
    assert len(opened(tmp_path, again)) == 14


def test_a_replayed_append_changes_nothing(tmp_path: Path) -> None:
    files = filled(tmp_path, unit(10, 9))

    assert append(tmp_path, files, records(unit(10, 9)), []) == files


@pytest.mark.parametrize("seed", range(5))
def test_the_same_bytes_are_appended_without_numpy(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    roots = {append: tmp_path / "arrays", append_few: tmp_path / "plain"}
    files = {do: start(root, MODEL, {}, DIMENSIONS) for do, root in roots.items()}
    for step in range(12):
        added = records(unit(chance.randrange(4), step), chance.randrange(1, 20))
        dead = [chance.randrange(1, 25) for _ in range(chance.randrange(6))]
        files = {do: do(root, files[do], added, dead) for do, root in roots.items()}

    assert files[append] == files[append_few]
    arrays, plain = (
        {path.name: path.read_bytes() for path in root.iterdir()} for root in roots.values()
    )
    assert arrays == plain
    assert any(name.endswith(".dead") for name in plain)


def test_what_is_mostly_dead_is_rewritten_when_it_is_appended_to(tmp_path: Path) -> None:
    files = filled(tmp_path, unit(1000, 10))

    made = appending.append(tmp_path, files, [], range(1, 401))

    assert (made.rows, made.dead, made.generation) == (600, 0, files.generation + 1)


# A vector that is written, and one that is taken back, in a process of their own.
WITHOUT_NUMPY = """
import random
import subprocess
import sys
from pathlib import Path
from kb_core.records import VectorRecord
from kb_search.appending import append
from kb_search.vector_files import start
root = Path(sys.argv[1])
files = append(root, start(root, "m", {}, 8), [VectorRecord(7, bytes(12))], [])
files = append(root, files, [], [7])
assert (files.rows, files.dead) == (1, 1)
sys.exit("numpy" if "numpy" in sys.modules else 0)
"""


def test_an_edit_of_a_base_with_vectors_loads_no_numpy(tmp_path: Path) -> None:
    """It takes as long as all else that the index is told then."""
    words = [sys.executable, "-c", WITHOUT_NUMPY, str(tmp_path)]

    assert subprocess.run(words, check=False).returncode == 0


def test_a_generation_that_is_mostly_dead_is_rewritten(tmp_path: Path) -> None:
    vectors = unit(1000, 10)
    files = append(tmp_path, filled(tmp_path, vectors), [], range(1, 401))
    before = opened(tmp_path, files)
    query = unit(1, 11)[0].tobytes()

    made = rewrite(tmp_path, files)
    assert made is not None
    assert (made.rows, made.dead, made.generation) == (600, 0, files.generation + 1)
    after = opened(tmp_path, made)
    remove_other_generations(tmp_path, made)

    assert list(generations(tmp_path, MODEL)) == [made.generation]
    assert after.nearest(query, 50) == before.nearest(query, 50)  # the old maps still serve


def test_a_file_shorter_than_published_is_refused(tmp_path: Path) -> None:
    files = filled(tmp_path, unit(10, 12))
    path = next(tmp_path.glob("*.i8"))
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(OSError, match="were published"):
        cut_tails(tmp_path, files)


def test_vectors_of_an_index_of_before_go_with_it(tmp_path: Path) -> None:
    older = start(tmp_path, MODEL, {}, DIMENSIONS)
    halves = tmp_path / f"{MODEL}.{older.generation}.f16"
    halves.write_bytes(bytes(2 * DIMENSIONS))

    made = start(tmp_path, MODEL, {}, DIMENSIONS)
    remove_other_generations(tmp_path, made)

    assert made.generation > older.generation
    assert not halves.exists()


def test_all_of_a_question_counts(tmp_path: Path) -> None:
    """Only the scan rounds it: neighbours that differ by less than that are told apart."""
    vectors = unit(300, 13)
    view = opened(tmp_path, filled(tmp_path, vectors))
    kept = np.array([dequantize(quantize(vector)) for vector in vectors.tolist()])

    for query in unit(5, 14):
        scores = {scored.chunk_key: scored.score for scored in view.nearest(query.tobytes(), 50)}
        assert all(abs(score - kept[key - 1] @ query) < 1e-6 for key, score in scores.items())


MANY = {"languages": "about 100"}
IN_LANGUAGE = {"de": range(1, 301), "en": range(301, 601)}


def blinders(view: VectorView, held: Mapping[str, Sequence[int]]) -> Blinders | None:
    def keys_in(name: str, keys: Sequence[int] | int) -> list[int]:
        return [*held[name]][:keys] if isinstance(keys, int) else sorted({*keys} & {*held[name]})

    return blinders_of(view, MANY, held, lambda name: len(held[name]), keys_in)


def test_a_question_is_as_near_to_another_language_as_to_its_own(tmp_path: Path) -> None:
    """Each vector is the sum of what a passage is about and of its language."""
    topics, (german, english) = unit(300, 15), unit(2, 16)
    spoken = np.concatenate([topics + german, topics + english])
    vectors = (spoken / np.linalg.norm(spoken, axis=1, keepdims=True)).astype(np.float32)
    view = opened(tmp_path, filled(tmp_path, vectors))
    made = blinders(view, IN_LANGUAGE)
    assert made is not None

    found = dict.fromkeys(("before", "in another", "in either"), 0)
    for at in range(0, 300, 10):
        asked, its_own, another = vectors[at].tobytes(), at + 1, at + 301
        left, above = made.of(asked)
        others = [key for key in range(1, 601) if key != its_own]
        found["before"] += view.nearest(asked, 1, others)[0].chunk_key == another
        found["in another"] += view.nearest(left, 1, others, above=above)[0].chunk_key == another
        first = view.nearest(left, 1, above=above)[0].chunk_key
        found["in either"] += first in {its_own, another}
        means = [
            np.mean([each.score for each in view.nearest(query, 300, IN_LANGUAGE["de"], above=add)])
            for query, add in ((asked, 0.0), (left, above))
        ]
        assert means[0] == pytest.approx(means[1], abs=0.01)

    assert found["before"] < 3
    assert found["in another"] > 27
    assert found["in either"] > 27


def test_languages_are_left_where_nothing_tells_them_apart(tmp_path: Path) -> None:
    view = opened(tmp_path, filled(tmp_path, unit(600, 17)))
    one, other = IN_LANGUAGE["de"], IN_LANGUAGE["en"]

    assert blinders(view, {"de": one, "en": other}) is not None
    assert blinders(view, {"de": one}) is None
    assert blinders(view, {"de": one, "en": other[:7]}) is None  # what they are about
    assert blinders(view, {"de": one, "und": other}) is None  # no language
    assert blinders(view, {"de": one, "pcm": range(900, 1000)}) is None  # without vectors
    assert blinders(view, {"de": range(1, 2001), "pcm": other[:9]}) is None  # taken for one
    assert blinders_of(view, {"languages": "English"}, (), lambda _: 0, lambda *_: []) is None


def test_where_passages_are_in_one_language_they_are_not_counted(tmp_path: Path) -> None:
    view, count = opened(tmp_path, filled(tmp_path, unit(9, 29))), Mock(return_value=9)

    assert blinders_of(view, MANY, ("en", "und"), count, lambda *_: []) is None
    count.assert_not_called()


def test_an_index_of_several_languages_says_what_is_in_another_one(tmp_path: Path) -> None:
    corpus = Corpus(HashEmbedder())
    spoken = ["de"] * 8 + ["en"] * 9 + ["fr", "und"]
    docs = [corpus.document(f"{n}.md", f"text {n}", lang=lang) for n, lang in enumerate(spoken)]
    step = corpus.publication(*docs)
    stats = {**step.stats, "lang_breakdown": Counter(spoken)}
    (model,) = step.models
    many = {model: {**step.models[model], "languages": "about 100"}}
    with closing(Writer(tmp_path)) as writer:
        writer.publish(replace(step, stats=stats))
        of_one = Reader(tmp_path).snapshot()
    with closing(Writer(tmp_path / "many")) as writer:
        writer.publish(replace(step, stats=stats, models=many))
        of_many = Reader(tmp_path / "many").snapshot()
    keys = [doc.chunks[0].chunk_key for doc in docs]

    assert of_one.elsewhere(keys, keys[0], model) is None
    assert of_many.elsewhere(keys, keys[0], model) == set(keys[8:17])
    assert of_many.elsewhere(keys, keys[9], model) == set(keys[:8])
    assert of_many.elsewhere(keys, keys[17], model) == set()  # of one text in French


def test_the_mean_of_many_is_that_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_search.blinders._LISTED", 100)
    monkeypatch.setattr("kb_search.blinders._SPREAD", 300)
    base = unit(2, 18) * 2
    spoken = unit(600, 19) + np.repeat(base, 300, axis=0)
    vectors = (spoken / np.linalg.norm(spoken, axis=1, keepdims=True)).astype(np.float32)
    view = opened(tmp_path, filled(tmp_path, vectors))
    made = blinders(view, {"de": IN_LANGUAGE["de"], "en": [*IN_LANGUAGE["en"]][:90]})
    assert made is not None

    left, above = made.of(vectors[0].tobytes())
    means = [
        np.mean([each.score for each in view.nearest(left, 300, keys, above=above)])
        for keys in IN_LANGUAGE.values()
    ]

    assert means[0] == pytest.approx(means[1], abs=0.05)
