"""Files that are zip archives of XML: those of office programs, and electronic books.

Nothing in such a file is believed before it is read: its directory may lie about sizes, a
few bytes may unpack to gigabytes, and XML may ask for other files or for entities that grow
without end. So all that is unpacked is counted while it is read, and a document type is
refused wherever one is declared. ``Refused`` is all that is ever raised.

Trees come without namespaces, since there are two for each vocabulary of office programs and
one name means one thing in a part: an element is called by its local name, and so is an
attribute, but for those that refer to relationships, which are ``r:id`` and the like.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from kb_core.documents import ReadingLimits
from kb_core.ingest import SkipReason

__all__ = ["LOCKED", "Element", "Events", "Flat", "Locals", "Package", "Refused", "local"]
__all__ += ["check_unpacked", "locked_out", "open_zip"]

LOCKED = "it is locked with a password"

_BLOCK = 1 << 18
_BEGINS, _ENDS = b"PK\3\4", b"PK\5\6"
_OFFSET_AT = 42
"""Where an entry of the list of files says, in four bytes, where its file is."""
_CUT = "its end is missing, as of a file that was cut off"
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Of the others, a block may unpack to anything at once; no office program uses them."""
_IS_LOCKED = 0x1
_RATIO_FROM = 50_000_000
"""What unpacks to less is no bomb, however well it was packed."""
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)
_NO_XML = (ParseError, LookupError, ValueError)
"""A text that is no XML, an encoding that nobody knows, and one that no text is in."""
_RELATIONS = "/relationships"


class Refused(Exception):
    """A file is not read, for a ``SkipReason``, with a detail.

    What is only damaged or missing in it need not cost more than that part of it.
    """

    def __init__(self, reason: str, detail: str, *, is_partial: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.is_partial = is_partial


class Events:
    """A target that is told of elements as they are read, for parts that no tree should hold.

    Names are ``{namespace}local``, as the parser says them.
    """

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def data(self, text: str) -> None:
        """There is text; a text may come in several pieces."""

    def doctype(self, *_: object) -> None:
        _refuse_doctype()


class Package:
    """A zip archive, read with limits. Names are found whatever their case."""

    def __init__(self, data: bytes, limits: ReadingLimits) -> None:
        self._limits = limits
        self._size = len(data)
        self._unpacked = 0
        try:
            self._archive = open_zip(data)
            members = self._archive.infolist()
        except (*_BROKEN, NotImplementedError) as error:
            raise Refused(SkipReason.UNREADABLE, f"it is no archive: {error}") from error
        if len(members) > limits.members:
            raise _too_large(f"{len(members):,} files in it", "members", f"{limits.members:,}")
        self._members = {_key(member.filename): member for member in members}

    def __contains__(self, name: str) -> bool:
        return _key(name) in self._members

    @property
    def names(self) -> list[str]:
        """The names of all files in it, as they are written."""
        return [member.filename for member in self._members.values()]

    def read(self, name: str) -> bytes:
        """Return a file in it."""
        return b"".join(self._blocks(name))

    def tree(self, name: str) -> Element:
        """Return the root of a file in it that is XML."""
        return _tree(self._blocks(name), name)

    def tell(self, name: str, events: Events) -> None:
        """Tell *events* of all that is in a file that is XML, while it is read."""
        _parsed(self._blocks(name), name, events)

    def _blocks(self, name: str) -> Iterator[bytes]:
        member = self._members.get(_key(name))
        if member is None:
            raise _damaged(f"{name} in it is missing")
        if member.flag_bits & _IS_LOCKED:
            detail = f"{name} in it needs a password; save it without one"
            raise Refused(SkipReason.ENCRYPTED, detail)
        if member.compress_type not in _METHODS:
            raise _damaged(f"{name} in it is packed by method {member.compress_type}")
        packed = min(member.compress_size, self._size)
        self._check(name, member.file_size, packed)  # what is known to be too large is not begun
        size = 0
        try:
            with self._archive.open(member) as file:
                while block := file.read(_BLOCK):
                    size += len(block)
                    self._unpacked += len(block)
                    self._check(name, size, packed)
                    yield block
        except _BROKEN as error:
            raise _damaged(f"{name} in it is damaged: {error}") from error

    def _check(self, name: str, size: int, packed: int) -> None:
        limits = self._limits
        if self._unpacked > limits.unpacked_mb * 1_000_000:
            what = f"{limits.unpacked_mb} MB"
            raise _too_large("it unpacks to more", "unpacked_mb", what)
        check_unpacked(f"{name} in it", size, packed, limits)


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Open a zip archive, and none that is within it.

    Raises ``zipfile.BadZipFile`` for what is none, and where the list of its files was cut off:
    the last such list that is left may be that of an archive in it.
    """
    is_begun = data.startswith(_BEGINS)
    if is_begun and _ENDS not in data:
        raise zipfile.BadZipFile(_CUT)
    archive = zipfile.ZipFile(io.BytesIO(data))
    if is_begun and _is_displaced(archive, data):
        raise zipfile.BadZipFile(_CUT)
    return archive


def _is_displaced(archive: zipfile.ZipFile, data: bytes) -> bool:
    """Say whether the files of an archive lie further on than its list of them says."""
    at = archive.start_dir + _OFFSET_AT
    said = int.from_bytes(data[at : at + 4], "little")
    return any(first.header_offset > said for first in archive.infolist()[:1])


def check_unpacked(name: str, size: int, packed: int, limits: ReadingLimits) -> None:
    """Refuse a file of *packed* bytes that *size* bytes have been unpacked of."""
    if size > limits.part_mb * 1_000_000:
        raise _too_large(f"{name} unpacks to more", "part_mb", f"{limits.part_mb} MB")
    if size > _RATIO_FROM and size > limits.ratio * max(1, packed):
        what = f"{name} unpacks to more than {limits.ratio:,} times its size"
        raise _too_large(what, "ratio", f"{limits.ratio:,}")


class Flat:
    """A file that is all parts of a package in one, as XML."""

    def __init__(self, data: bytes, names: Collection[str], limits: ReadingLimits) -> None:
        if len(data) > limits.part_mb * 1_000_000:
            raise _too_large("its XML is larger", "part_mb", f"{limits.part_mb} MB")
        self._data = data
        self._names = names
        self._root: Element | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def read(self, name: str) -> bytes:
        """Return a part, which is all of it."""
        if name not in self:
            raise _damaged(f"{name} in it is missing")
        return self._data

    def tree(self, name: str) -> Element:
        """Return the root of the file, whichever of its parts is asked for."""
        if self._root is None:
            self._root = _tree([self.read(name)], "what is")
        return self._root


class _Tree(TreeBuilder):
    def doctype(self, *_: object) -> None:
        _refuse_doctype()


def _tree(blocks: Iterable[bytes], name: str) -> Element:
    root = _parsed(blocks, name, _Tree(element_factory=_elements()))
    assert isinstance(root, Element)  # noqa: S101 - a tree builder gives one, or there is an error
    return root


def _parsed(blocks: Iterable[bytes], name: str, target: Events | TreeBuilder) -> object:
    parser = XMLParser(target=target)  # noqa: S314 - a document type ends it
    try:
        for block in blocks:
            parser.feed(block)
        return parser.close()
    except _NO_XML as error:
        if "out of memory" in str(error):
            raise MemoryError(str(error)) from error
        raise _damaged(f"{name} in it is no XML: {error}") from error


def locked_out(tried: int) -> str:
    """Return how a locked file can be read, of which so many passwords were *tried*."""
    tail = f", and none of {tried:,} that are known opens it" if tried else ""
    return f"{LOCKED}{tail}; name it in [[passwords]] or KEBAB_PASSWORDS_FILE"


def local(tag: str) -> str:
    """Return the name of an element or attribute without its namespace."""
    return tag[tag.rfind("}") + 1 :]


class Locals(dict[str, str]):
    """Names of elements without their namespaces; each is taken apart once a file."""

    def __missing__(self, tag: str) -> str:
        self[tag] = name = local(tag)
        return name


class _Names(dict[str, str]):
    """Names of attributes as they are in trees."""

    def __missing__(self, name: str) -> str:
        namespace, _, own = name.rpartition("}")
        self[name] = short = f"r:{own}" if namespace.endswith(_RELATIONS) else own
        return short


def _elements() -> Callable[[str, Mapping[str, str]], Element]:
    """Return what makes the elements of one tree."""
    tags, names = Locals(), _Names()

    def element(tag: str, attributes: Mapping[str, str]) -> Element:
        called = tags[tag]
        if not attributes:
            return Element(called)
        found = {names[name]: value for name, value in attributes.items()}
        if len(found) < len(attributes):  # the vocabulary's own come before those of extensions
            found = {names[name]: value for name, value in [*attributes.items()][::-1]}
        return Element(called, found)

    return element


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _refuse_doctype() -> None:
    detail = "it declares a document type, which files of this kind never have"
    raise Refused(SkipReason.UNREADABLE, detail)


def _damaged(detail: str) -> Refused:
    return Refused(SkipReason.UNREADABLE, detail, is_partial=True)


def _too_large(what: str, key: str, limit: str) -> Refused:
    return Refused(SkipReason.TOO_LARGE, f"{what}; [limits] {key} is {limit}")
