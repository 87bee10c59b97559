"""A model in a directory: ``model.onnx``, ``tokenizer.json`` and what ``pack.toml`` says.

Everything in ``pack.toml`` has a default, except the number of dimensions, which is also
looked for in the ``config.json`` that comes with most models::

    name = "my-model"          # default: the directory's name
    dimensions = 384
    max_tokens = 512           # the window, special tokens included
    pooling = "mean"           # or "cls", or "none" if the graph itself pools
    query_prefix = ""
    passage_prefix = ""
    quantization = "fp32"      # a label, part of the model's identity
    model = "model.onnx"
    tokenizer = "tokenizer.json"
    licence = ""
    languages = ""
    revision = ""              # default: a digest of the files
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kb_core.errors import ConfigInvalid

__all__ = ["DirectoryRecord", "read_record"]

_POOLINGS = ("mean", "cls", "none")
_SAMPLE = 1 << 16
_MIN_WINDOW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryRecord:
    """What is known of the model in a directory, defaults filled in."""

    name: str
    dimensions: int
    max_tokens: int = 512
    pooling: str = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    quantization: str = "fp32"
    model: str = "model.onnx"
    tokenizer: str = "tokenizer.json"
    licence: str = ""
    languages: str = ""
    revision: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The graph and the tokenizer, relative to the directory."""
        return (self.model, self.tokenizer)


def read_record(directory: Path) -> DirectoryRecord:
    """Read the record of the model in *directory*; a bad or unknown key is refused."""
    file = directory / "pack.toml"
    values = _read_toml(file) if file.is_file() else {}
    values.setdefault("name", directory.name)
    if "dimensions" not in values:
        values["dimensions"] = _dimensions(directory)
    if not values.get("revision"):
        values["revision"] = _digest(directory, values)
    _check(file, values)
    return DirectoryRecord(**values)


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{str(file)!r} is not TOML: {error}") from error


def _check(file: Path, values: dict[str, Any]) -> None:
    types = {field.name: int if field.type == "int" else str for field in fields(DirectoryRecord)}
    for key, value in values.items():
        if key not in types:
            raise ConfigInvalid(f"{str(file)!r} has an unknown key {key!r}")
        if type(value) is not types[key]:
            expected = "a whole number" if types[key] is int else "a string"
            raise ConfigInvalid(f"{str(file)!r}: {key} is {value!r}, expected {expected}")
    if not re.fullmatch(r"[\w.+-]+", values["name"]):
        raise ConfigInvalid(
            f"{str(file)!r}: name is {values['name']!r}, expected letters, digits, . _ + -"
        )
    if values.get("pooling", "mean") not in _POOLINGS:
        expected = ", ".join(_POOLINGS)
        raise ConfigInvalid(f"{str(file)!r}: pooling is {values['pooling']!r}, not of {expected}")
    if values["dimensions"] < 1 or values.get("max_tokens", 512) < _MIN_WINDOW:
        raise ConfigInvalid(
            f"{str(file)!r}: dimensions must be 1, max_tokens {_MIN_WINDOW}, or more"
        )


def _dimensions(directory: Path) -> int:
    try:
        size = json.loads((directory / "config.json").read_text("utf-8"))["hidden_size"]
    except (OSError, ValueError, KeyError, TypeError):
        size = None
    if not isinstance(size, int):
        raise ConfigInvalid(
            f"the dimensions of the model in {str(directory)!r} are not known",
            hint=f"write a line such as 'dimensions = 384' into {str(directory / 'pack.toml')!r}",
        )
    return size


def _digest(directory: Path, values: dict[str, Any]) -> str:
    """Digest of each file's size and ends: another model differs there, and it is quick."""
    digest = hashlib.sha256()
    names = [values.get("model", "model.onnx"), values.get("tokenizer", "tokenizer.json")]
    graph = str(names[0])
    for name in (*names, f"{graph}_data", f"{graph}.data"):
        file = directory / str(name)
        if not file.is_file():
            continue
        size = file.stat().st_size
        with file.open("rb") as stream:
            digest.update(b"%d:" % size + stream.read(_SAMPLE))
            stream.seek(max(0, size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()[:8]
