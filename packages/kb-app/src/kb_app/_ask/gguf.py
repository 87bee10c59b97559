"""A language model of a file, run in this process by llama.cpp (the extra ``gguf``).

The file is mapped when it is first asked something, and stays until the process ends. Nothing
leaves the machine. While a prompt is read or a word is chosen nobody else can be asked, so a
thread watches *stop* and the clock, and tells the library to give up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kb_core.errors import MissingExtra, ModelNotPulled, ModelUnreachable, Timeout
from kb_core.language import Delta, End, Message, ModelName, Usage
from kb_core.ports import never

if TYPE_CHECKING:
    from kb_app._ask.language_models import Sampling

__all__ = ["GgufModel", "require_library"]

_LOOK_SECS = 0.05
"""How often it is looked whether somebody still waits."""
_MAGIC = b"GGUF"


class _Vocabulary(Protocol):
    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]: ...


class _Library(Protocol):
    """What is used of the library's model."""

    vocab: _Vocabulary

    def chat(
        self, messages: list[dict[str, str]], *, config: object, stream: bool
    ) -> Generator[str]: ...

    def cancel(self) -> None: ...


class GgufModel:
    """The model of the file *path*; serves one question at a time, others wait."""

    def __init__(self, path: Path, sampling: Sampling, timeout_secs: float = 0) -> None:
        self._path = path
        self._sampling = sampling
        self._timeout_secs = timeout_secs
        self._loading, self._writing = threading.Lock(), threading.Lock()
        self._library: _Library | None = None

    @property
    def name(self) -> ModelName:
        """The name of the file; nothing is sent anywhere."""
        return ModelName(self._path.name, "gguf")

    def check(self, *, stop: Callable[[], bool] = never) -> None:  # noqa: ARG002 - it is quick
        """Raise if the file is missing, or is none of weights."""
        try:
            with self._path.open("rb") as file:
                is_weights = file.read(len(_MAGIC)) == _MAGIC
        except OSError as error:
            raise ModelNotPulled(
                f"[ask] model = '{self._path}' ({self.name.id}) cannot be read: {error.strerror}",
                hint="set [ask] model to the path of a GGUF file",
            ) from error
        if not is_weights:
            raise ModelNotPulled(
                f"[ask] model = '{self._path}' ({self.name.id}) is no GGUF file",
                hint="set [ask] model to the path of a GGUF file",
            )

    def count(self, text: str, /) -> int:
        """Return the tokens of *text*, by the model's own vocabulary."""
        vocabulary = self._loaded().vocab
        return len(vocabulary.tokenize(text, add_special=False, parse_special=False))

    def generate(
        self, messages: Sequence[Message], /, *, max_tokens: int, stop: Callable[[], bool] = never
    ) -> Generator[Delta]:
        """Yield what it writes; without an end where *stop* became true."""
        if stop():
            return
        library = self._loaded()
        told = [{"role": message.role, "content": message.text} for message in messages]
        with self._writing, _watched(library, stop, self._timeout_secs) as given_up:
            config = self._config(max_tokens)
            count = 0
            for piece in library.chat(told, config=config, stream=True):
                if stop() or given_up.is_set():
                    break
                count += 1
                if piece:
                    yield Delta(piece)
            if given_up.is_set() and not stop():
                raise Timeout(
                    f"{self.name.id} wrote for more than {self._timeout_secs:g} s",
                    hint="raise [ask] timeout_secs, or take a smaller model",
                )
            if not stop():
                usage = Usage(completion_tokens=count)
                yield Delta(end=End("length" if count >= max_tokens else "stop", usage))

    def _config(self, max_tokens: int) -> object:
        from cyllama import GenerationConfig

        return GenerationConfig(
            temperature=self._sampling.temperature, seed=self._sampling.seed, max_tokens=max_tokens
        )

    def _loaded(self) -> _Library:
        with self._loading:
            if self._library is None:
                self.check()
                self._library = _load(self._path, self._config(1))
            return self._library


def require_library() -> None:
    """Raise ``MissingExtra`` where no library runs such files."""
    from importlib.util import find_spec

    if find_spec("cyllama") is None:
        raise MissingExtra(
            "[ask] provider = 'gguf' needs the extra 'gguf', which is not installed",
            hint="in kebab's folder pip install 'packages/kb-cli[gguf]', or serve the file with "
            "Ollama or llama.cpp and set provider = 'ollama' or 'openai'",
        )


def _load(path: Path, config: object) -> _Library:
    from cyllama import LLM

    try:
        library: _Library = LLM(str(path), config=config)
    except (OSError, RuntimeError, ValueError) as error:
        raise ModelUnreachable(
            f"{path.name} cannot be run: {error}",
            hint="is the file whole, and is there enough memory?",
        ) from error
    return library


@contextmanager
def _watched(
    library: _Library, stop: Callable[[], bool], timeout_secs: float
) -> Iterator[threading.Event]:
    """Tell *library* to give up when *stop* is true or time is over; yield whether it was."""
    is_done, given_up = threading.Event(), threading.Event()
    until = time.monotonic() + timeout_secs if timeout_secs else float("inf")

    def watch() -> None:
        while not is_done.wait(_LOOK_SECS):
            if stop() or time.monotonic() > until:
                given_up.set()
                library.cancel()

    watcher = threading.Thread(target=watch, name="kebab-gguf", daemon=True)
    watcher.start()
    try:
        yield given_up
    finally:
        is_done.set()
        watcher.join()
