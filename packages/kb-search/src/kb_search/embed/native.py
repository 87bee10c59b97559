"""onnxruntime by its C interface: the library that its wheel has beside the Python binding.

The binding cannot be imported without numpy, and both hold the interpreter for a quarter of a
second search; the library alone needs three milliseconds of it, and opens and reads without.

``OrtGetApiBase()`` gives a table of functions that only ever grows at its end
(``onnxruntime_c_api.h``, ``struct OrtApi``): what stands where is said below, as version 18 of the
interface has it, and a library that does not serve that version is not used. Whatever is made
here is released here, what is passed lives until the call returns, and the rest is checked: each
status, and type and shape of what comes back. While a function runs, ``ctypes`` holds no lock of
the interpreter.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Array,
    Structure,
    addressof,
    byref,
    c_char,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
    cast,
    string_at,
)
from functools import cache
from importlib.util import find_spec
from math import prod
from mmap import mmap
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import Any

from kb_search.embed.sessions import WEIGHTS, Refused, inputs_of, output_of

__all__ = ["NativeSession", "NotServed", "load"]

_VERSION = 18
"""Of the interface: the first that has all of these."""
_HANDLE, _MADE, _SIZE = c_void_p, POINTER(c_void_p), POINTER(c_size_t)
_NAMES, _HANDLES, _NUMBERS = POINTER(c_char_p), POINTER(c_void_p), POINTER(c_int64)
_FUNCTIONS: dict[str, tuple[int, tuple[type, ...]]] = {
    "CreateEnv": (3, (c_int, c_char_p, _MADE)),
    "CreateSession": (7, (_HANDLE, c_char_p, _HANDLE, _MADE)),
    "CreateSessionFromArray": (8, (_HANDLE, c_char_p, c_size_t, _HANDLE, _MADE)),
    "Run": (
        9,
        (_HANDLE, _HANDLE, _NAMES, _HANDLES, c_size_t, _NAMES, c_size_t, _HANDLES),
    ),
    "CreateSessionOptions": (10, (_MADE,)),
    "SetSessionLogSeverityLevel": (22, (_HANDLE, c_int)),
    "SetSessionGraphOptimizationLevel": (23, (_HANDLE, c_int)),
    "SetIntraOpNumThreads": (24, (_HANDLE, c_int)),
    "SetInterOpNumThreads": (25, (_HANDLE, c_int)),
    "SessionGetInputCount": (30, (_HANDLE, _SIZE)),
    "SessionGetOutputCount": (31, (_HANDLE, _SIZE)),
    "SessionGetInputName": (36, (_HANDLE, c_size_t, _HANDLE, _MADE)),
    "SessionGetOutputName": (37, (_HANDLE, c_size_t, _HANDLE, _MADE)),
    "CreateTensorWithDataAsOrtValue": (
        49,
        (_HANDLE, _HANDLE, c_size_t, _NUMBERS, c_size_t, c_int, _MADE),
    ),
    "GetTensorMutableData": (51, (_HANDLE, _MADE)),
    "GetTensorElementType": (60, (_HANDLE, POINTER(c_int))),
    "GetDimensionsCount": (61, (_HANDLE, _SIZE)),
    "GetDimensions": (62, (_HANDLE, _NUMBERS, c_size_t)),
    "GetTensorTypeAndShape": (65, (_HANDLE, _MADE)),
    "CreateCpuMemoryInfo": (69, (c_int, c_int, _MADE)),
    "AllocatorFree": (76, (_HANDLE, _HANDLE)),
    "GetAllocatorWithDefaultOptions": (78, (_MADE,)),
    "AddSessionConfigEntry": (130, (_HANDLE, c_char_p, c_char_p)),
    "AddExternalInitializersFromFilesInMemory": (279, (_HANDLE, _NAMES, _HANDLES, _SIZE, c_size_t)),
}
"""Index and arguments of what returns a status: null, or an object that says what is wrong."""
_LENGTH = 1 + max(index for index, _ in _FUNCTIONS.values())
_GET_ERROR_MESSAGE = 2
_RELEASE = {
    "Status": 93,
    "Session": 95,
    "Value": 96,
    "TensorTypeAndShapeInfo": 99,
    "SessionOptions": 100,
}
"""Index of what takes an object and returns nothing."""

_ERRORS_ONLY = 3
_AS_IT_IS, _OPTIMISED = 0, 99
_OF_A_DEVICE, _DEFAULT_MEMORY = 0, 0
_FLOAT32, _INT64 = 1, 7
_FLOATS = {1: "f", 10: "e", 11: "d"}
"""Element types that a vector may come in: what ``struct`` calls them."""


_loading = Lock()


class NotServed(Exception):
    """There is no such library here, or one without this version of the interface."""


class NativeSession:
    """A model that is open; for any thread, several at once.

    *weights* are what *graph* calls so; they are used where they lie.
    """

    def __init__(
        self,
        graph: Path | bytes,
        weights: mmap | bytes | None,
        *,
        is_final: bool,
        is_packed: bool,
    ) -> None:
        self._library = library = _library()
        self._weights = weights
        options = library.made("CreateSessionOptions")
        try:
            library.call("SetSessionLogSeverityLevel", options, _ERRORS_ONLY)
            level = _AS_IT_IS if is_final else _OPTIMISED
            library.call("SetSessionGraphOptimizationLevel", options, level)
            library.call("SetIntraOpNumThreads", options, 1)
            library.call("SetInterOpNumThreads", options, 1)
            settings = [] if is_packed else ["session.disable_prepacking"]
            if weights is not None:
                settings.append("session.use_external_initializer_file_buffers_directly")
                library.call(
                    "AddExternalInitializersFromFilesInMemory",
                    options,
                    _texts([WEIGHTS]),
                    (c_void_p * 1)(_address(weights)),
                    (c_size_t * 1)(len(weights)),
                    1,
                )
            for setting in settings:
                library.call("AddSessionConfigEntry", options, setting.encode(), b"1")
            self._session = library.opened(graph, options)
        finally:
            library.release("SessionOptions", options)
        self._release = library.releasing("Session")  # nothing else may be left at the end
        self._inputs = library.names(self._session, "Input")
        self._given = _texts(self._inputs)
        self._found = _texts([output_of(library.names(self._session, "Output"))])

    def __del__(self) -> None:
        if hasattr(self, "_session"):
            self._release(self._session)

    def run(self, ids: Sequence[int], /) -> tuple[array[float], int]:
        """Return what the graph says of one text: float32, row after row, and their width."""
        library = self._library
        kept = inputs_of(self._inputs, ids)
        shape = (c_int64 * 2)(1, len(ids))
        given, found = (c_void_p * len(kept))(), (c_void_p * 1)()
        try:
            for at, numbers in enumerate(kept):
                given[at] = library.tensor(numbers, shape)
            library.call(
                "Run",
                *(self._session, None, self._given, given, len(given), self._found, 1, found),
            )
            return library.read(found[0])
        finally:
            for value in (*given, *found):
                library.release("Value", value)


class _Base(Structure):
    _fields_ = (
        ("get_api", CFUNCTYPE(c_void_p, c_uint32)),
        ("get_version", CFUNCTYPE(c_char_p)),
    )


class _Library:
    """The functions of the library, and what all sessions share; it is never unloaded."""

    def __init__(self, path: str) -> None:
        try:
            get_base = CDLL(path).OrtGetApiBase
        except (OSError, AttributeError) as error:
            raise NotServed(str(error)) from error
        get_base.restype = POINTER(_Base)
        table = get_base().contents.get_api(_VERSION)
        if not table:
            raise NotServed(f"{path!r} has no version {_VERSION} of its interface")
        self._table = (c_void_p * _LENGTH).from_address(table)
        if not all(self._table[index] for index, _ in _FUNCTIONS.values()):
            raise NotServed(f"{path!r} does not have all that is called")
        self._known: dict[str, Callable[..., Any]] = {}
        self._environment = self.made("CreateEnv", _ERRORS_ONLY, b"kebab")
        self._memory = self.made("CreateCpuMemoryInfo", _OF_A_DEVICE, _DEFAULT_MEMORY)
        self._allocator = self.made("GetAllocatorWithDefaultOptions")

    def call(self, name: str, *arguments: object) -> None:
        """Call a function; ``Refused`` with what it says if it refuses."""
        function = self._known.get(name)
        if function is None:
            index, types = _FUNCTIONS[name]
            function = self._known[name] = self._function(index, c_void_p, *types)
        status = function(*arguments)
        if status:
            said = self._function(_GET_ERROR_MESSAGE, c_char_p, c_void_p)(status) or b""
            self.release("Status", status)
            raise Refused(said.decode("utf-8", "replace"))

    def made(self, name: str, *arguments: object) -> c_void_p:
        """Return what a function makes."""
        made = c_void_p()
        self.call(name, *arguments, byref(made))
        return made

    def release(self, kind: str, made: c_void_p | int | None) -> None:
        """Give back what was made; nothing for null."""
        if made:
            self.releasing(kind)(made)

    def releasing(self, kind: str) -> Callable[[c_void_p | int | None], object]:
        """Return the function that gives such things back."""
        function = self._known.get(kind)
        if function is None:
            function = self._known[kind] = self._function(_RELEASE[kind], None, c_void_p)
        return function

    def opened(self, graph: Path | bytes, options: c_void_p) -> c_void_p:
        """Return a session of a graph."""
        if isinstance(graph, bytes):
            arguments: tuple[object, ...] = (graph, len(graph), options)
            return self.made("CreateSessionFromArray", self._environment, *arguments)
        return self.made("CreateSession", self._environment, os.fsencode(graph), options)

    def names(self, session: c_void_p, of: str) -> list[str]:
        """Return the names of what a session takes, ``Input``, or gives, ``Output``."""
        count, names = c_size_t(), []
        self.call(f"SessionGet{of}Count", session, byref(count))
        for number in range(count.value):
            name = self.made(f"SessionGet{of}Name", session, number, self._allocator)
            names.append(string_at(name.value).decode() if name.value else "")
            self.call("AllocatorFree", self._allocator, name)
        return names

    def tensor(self, numbers: array[int], shape: Array[c_int64]) -> int | None:
        """Return an object over *numbers*, which have to stay as long as it does."""
        address, count = numbers.buffer_info()
        size = count * numbers.itemsize
        given = (c_void_p(address), size, shape, len(shape), _INT64)
        return self.made("CreateTensorWithDataAsOrtValue", self._memory, *given).value

    def read(self, value: int | None) -> tuple[array[float], int]:
        """Return the numbers of a tensor in float32, and the last of its dimensions."""
        info = self.made("GetTensorTypeAndShape", value)
        try:
            kind, rank = c_int(), c_size_t()
            self.call("GetTensorElementType", info, byref(kind))
            self.call("GetDimensionsCount", info, byref(rank))
            shape = (c_int64 * rank.value)()
            self.call("GetDimensions", info, shape, rank)
        finally:
            self.release("TensorTypeAndShapeInfo", info)
        data = self.made("GetTensorMutableData", value)
        if kind.value not in _FLOATS or not data.value or min(shape, default=0) < 1:
            raise Refused(f"the model gives no vectors: type {kind.value}, shape {[*shape]}")
        form = Struct(f"{prod(shape)}{_FLOATS[kind.value]}")
        raw, values = string_at(data.value, form.size), array("f")
        if kind.value == _FLOAT32:
            values.frombytes(raw)
        else:
            values.extend(form.unpack(raw))
        return values, shape[-1]

    def _function(
        self, index: int, result: type[c_void_p | c_char_p] | None, *types: type
    ) -> Callable[..., Any]:
        return CFUNCTYPE(result, *types)(self._table[index] or 0)


def load() -> None:
    """Load the library, of which opening a model is made; ``NotServed`` where there is none.

    It takes as long as opening a model and holds no lock of the interpreter: for a thread.
    """
    _library()


def _library() -> _Library:
    with _loading:  # once, whoever asks meanwhile
        return _loaded()


@cache
def _loaded() -> _Library:
    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        with suppress(OSError):
            for file in sorted(Path(folder, "capi").iterdir()):
                if file.name.startswith("libonnxruntime."):  # .so.1.31.1, .1.31.1.dylib
                    return _Library(str(file))
    raise NotServed("onnxruntime has no library of its own here")


def _texts(texts: Sequence[str]) -> Array[c_char_p]:
    return (c_char_p * len(texts))(*map(str.encode, texts))


def _address(weights: mmap | bytes) -> int | None:
    if isinstance(weights, bytes):
        return cast(c_char_p(weights), c_void_p).value
    return addressof(c_char.from_buffer(weights))
