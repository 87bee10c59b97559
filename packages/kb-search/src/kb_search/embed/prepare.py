"""What a pack becomes before it is run: a graph to open and a tokenizer to ask.

For weights that are run by a graph of ours, preparing means converting them once into a
``weights.bin`` that is mapped and used where it lies, and the vocabulary into a file of its own,
since counting tokens needs no weights. A model with a graph of its own is run as it is;
preparing it is comparing its files with their pins, once.

What is costly to compute from a model's weights is made once. An *artefact* is a folder
``cache_dir/<key>`` of files that depend on nothing but the key, and a record of their
sizes, times and hashes, written last. Promises:

* A reader sees a whole artefact or none: every file is renamed into place, the record at
  the end. One process makes it, and others that want it wait; where a folder cannot be locked,
  each makes it, and they write the same bytes.
* Damage is noticed. A file of another size is damaged; one of another time is hashed,
  and damaged if the hash differs. A damaged artefact is made again.
* A cache that cannot be written, full or read-only, costs time, never an answer: the
  files then stay in memory.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kb_core import logs
from kb_core.control import EmbeddingModel
from kb_core.values import dataclass, field, replace
from kb_search.embed import e5
from kb_search.embed.e5 import read_source
from kb_search.embed.packs import ModelPack, check_pins, locate
from kb_search.embed.tokenize import LibraryTokenizer, Tokenizer, UnigramTokenizer
from kb_search.embed.vocabulary import Vocabulary, pack_vocabulary

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        # As kb_core.ids has its hashes: OpenSSL takes longer to load than all of this.
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # Python 3.11
        except ImportError:
            from hashlib import sha256

__all__ = ["Artefact", "PreparedModel", "load_artefact", "load_tokenizer", "prepare"]

_RECORD = "prepared.json"


@dataclass(frozen=True, slots=True)
class Artefact:
    """The files of an artefact: in *directory*, or if that is ``None``, in *files*."""

    directory: Path | None
    files: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, name: str) -> memoryview:
        """Return the contents of a file; from a directory they are mapped, not copied."""
        if self.directory is None:
            return memoryview(self.files[name])
        with (self.directory / name).open("rb") as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))

    def lent(self, name: str) -> mmap.mmap | bytes:
        """Return the same for a library that wants to be told an address; nobody writes to it."""
        if self.directory is None:
            return self.files[name]
        with (self.directory / name).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)


def load_artefact(cache_dir: Path, key: str, build: Callable[[], Mapping[str, bytes]]) -> Artefact:
    """Return the artefact of *key*; where there is no sound one, *build* its files."""
    directory = cache_dir / key
    if _is_sound(directory):
        return Artefact(directory)
    with _alone(directory):
        if _is_sound(directory):
            return Artefact(directory)  # made by whom we waited for
        files = build()
        try:
            _publish(directory, files)
        except OSError as error:
            written = "model files stay in memory, %s cannot be written: %s"
            logs.logger(__name__).warning(written, directory, error)
            return Artefact(None, files)
    return Artefact(directory)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Wait until no other process makes what is in *directory*; one that ends lets go of it."""
    descriptor = _locked(directory)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
            with suppress(OSError):
                directory.rmdir()  # nothing was made


def _locked(directory: Path) -> int | None:
    """Return what holds the lock of a folder; nothing where there can be none."""
    import fcntl  # most find it made

    try:
        _make_folder(directory)
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_sound(directory: Path) -> bool:
    try:
        record = json.loads((directory / _RECORD).read_bytes())
        return all(_is_file_sound(directory / name, *entry) for name, entry in record.items())
    except (OSError, ValueError, TypeError, AttributeError):
        return False  # absent, or damaged in whatever way


def _is_file_sound(file: Path, size: int, mtime_ns: int, sha256: str) -> bool:
    status = file.stat()
    if status.st_size != size:
        return False
    if status.st_mtime_ns == mtime_ns:
        return True
    import hashlib  # a file that was copied, or is damaged

    with file.open("rb") as stream:
        sound = hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    if sound:
        _set_time(file, mtime_ns)
    return sound


def _set_time(file: Path, mtime_ns: int) -> None:
    # A copied cache has other times; without this, it would be hashed at every start.
    try:
        os.utime(file, ns=(mtime_ns, mtime_ns))
    except OSError:
        logs.logger(__name__).debug("the time of %s cannot be set", file)


def _publish(directory: Path, files: Mapping[str, bytes]) -> None:
    import hashlib  # that of OpenSSL takes a fifth of the time

    _make_folder(directory)
    record: dict[str, tuple[int, int, str]] = {}
    for name, content in files.items():
        mtime_ns = _write(directory / name, content)
        record[name] = (len(content), mtime_ns, hashlib.sha256(content).hexdigest())
    _write(directory / _RECORD, json.dumps(record).encode())


def _make_folder(directory: Path) -> None:
    for missing in reversed([p for p in (directory, *directory.parents) if not p.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def _write(file: Path, content: bytes) -> int:
    """Put *content* in place of *file* in one step; return the file's time (ns)."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        mtime_ns = temporary.stat().st_mtime_ns
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
    return mtime_ns


_FORMAT = "1"
"""Raised when prepared files of earlier versions must not be used any more."""
_VOCABULARY = "vocabulary-2"
"""Likewise, of the vocabulary alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """All that an embedder needs.

    *graph* is a file, or the bytes of one of ours, with *weights* to go with it. Unless
    *is_final*, onnxruntime's optimiser has still something to do.
    """

    model: EmbeddingModel
    tokenizer: Tokenizer
    graph: Path | bytes
    weights: mmap.mmap | bytes | None
    is_final: bool
    first_layers: Callable[[], PreparedModel] | None = None
    """Gives what tokens are compared by, where that is not the whole model."""


def prepare(pack: ModelPack, quality: str, cache_dir: Path) -> PreparedModel:
    """Make *pack* ready to run at *quality*; quick if *cache_dir* has what that takes."""
    tokenizer = load_tokenizer(pack, cache_dir)
    if pack.family == "onnx":
        graph: Path | bytes = _checked(pack, cache_dir) / pack.files[0].path
        return PreparedModel(
            model=pack.describe(quality),
            tokenizer=tokenizer,
            graph=graph,
            weights=None,
            is_final=False,
        )
    artefact = _load(pack, cache_dir, quality, lambda root: _e5_files(pack, root, quality))
    whole = PreparedModel(
        model=pack.describe(quality),
        tokenizer=tokenizer,
        graph=_graph(quality),
        weights=artefact.lent("weights.bin"),
        is_final=True,
    )

    def first_layers() -> PreparedModel:
        return replace(whole, graph=_graph(quality, e5.READ_LAYERS))

    return replace(whole, first_layers=first_layers)


# The vocabulary of a quarter of a million pieces is shared by counting and embedding.
@lru_cache(maxsize=4)
def load_tokenizer(pack: ModelPack, cache_dir: Path) -> Tokenizer:
    """Return the pack's tokenizer; the same object for the same arguments."""
    if pack.tokenizer == "unigram":
        artefact = _load(pack, cache_dir, _VOCABULARY, lambda root: _vocabulary(pack, root))
        return UnigramTokenizer(Vocabulary(artefact.read("vocabulary.bin")), pack.max_tokens)
    file = _checked(pack, cache_dir) / pack.files[1].path
    return LibraryTokenizer(file, pack.max_tokens, cuts_words=pack.tokenizer == "words")


def _load(
    pack: ModelPack,
    cache_dir: Path,
    part: str,
    build: Callable[[Path], Mapping[str, bytes]],
) -> Artefact:
    def build_from_checked() -> Mapping[str, bytes]:
        root = locate(pack)
        check_pins(pack, root)
        return build(root)

    pins = "".join(file.sha256 for file in pack.files)
    return load_artefact(cache_dir, _key(pack, part, pins), build_from_checked)


def _key(pack: ModelPack, part: str, identity: str) -> str:
    identity = f"{_FORMAT}:{pack.revision}:{identity}"
    return f"{pack.name}.{part}.{sha256(identity.encode()).hexdigest()[:12]}"


def _e5_files(pack: ModelPack, root: Path, quality: str) -> dict[str, bytes]:
    source = read_source(root / pack.files[0].path)
    content = bytearray()
    for tensor, values in zip(e5.tensors(quality), e5.arrays(source, quality), strict=True):
        content.extend(bytes(tensor.offset - len(content)))
        content += values.tobytes()
    # The graph is for versions that open it from there, and may share these caches.
    return {"weights.bin": bytes(content), "model.onnx": _graph(quality)}


def _graph(quality: str, layers: int = e5.LAYERS) -> bytes:
    return Path(__file__).with_name("graphs").joinpath(e5.graph_name(quality, layers)).read_bytes()


def _vocabulary(pack: ModelPack, root: Path) -> dict[str, bytes]:
    source = read_source(root / pack.files[0].path, weights=False)
    return {"vocabulary.bin": pack_vocabulary(source.words)}


def _checked(pack: ModelPack, cache_dir: Path) -> Path:
    """Return the root of a pack that is run as it is, its pins compared once per change."""
    root = locate(pack)
    if not any(file.sha256 for file in pack.files):
        return root
    stats = ((root / file.path).stat() for file in pack.files)
    state = ",".join(f"{stat.st_size}:{stat.st_mtime_ns}" for stat in stats)

    def build() -> Mapping[str, bytes]:
        check_pins(pack, root)
        return {"checked": b"the files have the pinned hashes\n"}

    load_artefact(cache_dir, _key(pack, "checked", f"{root}:{state}"), build)
    return root
