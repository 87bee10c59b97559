"""The walk: what lies in a source, and why some of it is left alone.

Files come in the order of their paths, each with size and mtime, none of them opened. An
ignored folder is one row and is not entered. A folder that cannot be read is one row, too, and
so is one whose rules cannot be: what they keep out must not be found.

A link whose target lies inside the root is not walked a second time: the target has a
path of its own, unless that is ignored; then it is seen under the link's. A link that
leads out of the root is left alone without ``follow_links``. Whatever links do, each
target is seen once, the walk ends, and no path leads out of the root. Whether a link is
followed depends on the tree alone, not on what was walked before, so a narrowed walk and a
full one agree; only between targets that have no path of their own (ignored ones, and those
outside the root) does the first link win.

Promise to the sweep: after the walk, ``fate_of`` says whether a path that was not seen is
really gone; it never says so of what could not be listed.
"""
# A Path for every file would cost more than all the rest of the walk.
# ruff: noqa: PTH110, PTH112, PTH116, PTH118, PTH123, PTH208

from __future__ import annotations

import errno
import os
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Literal, TypeAlias

from kb_app._ingest.seeing.again import INFO_EXCLUDE, MOST_MARKS, RULES, mark_at, mark_of
from kb_app._ingest.seeing.files import relative_parts, spell
from kb_app._ingest.seeing.ignore import BUILDS, IGNORE_FILES, IncludeRules, Scope, root_scope
from kb_app.paths import cache_dir, environment, state_dir
from kb_core.clock import clamp_ns
from kb_core.ingest import Mark, SkipReason
from kb_core.text import nfc
from kb_core.values import dataclass, field, lazy_pattern

__all__ = ["LEADS_NOWHERE", "Fate", "Seen", "Walk", "walk"]

Fate: TypeAlias = Literal["gone", "ignored", "unknown"]
_Narrow: TypeAlias = "dict[str, _Narrow]"

LEADS_NOWHERE = "link leads nowhere"
"""Why a link is not readable whose target is gone, or is a link back to it; any other refusal
tells nothing of a file."""
_MOST_RULES_BYTES = 10_000_000
_NEVER = {".git", ".git/"}
_OUR_STORE = "kebab.duckdb"
"""Is in every data directory, of this knowledge base and of others."""
_OURS = "what kebab writes itself"
_MADE = frozenset({"CACHEDIR.TAG", "generated-sources", "maven-status", "test-classes"})
"""What a folder called ``target`` has in it that a build made, wherever it stands."""
_MADE_BESIDE = frozenset({"classes", "streams"})
"""What tells so beside each other, or beside ``scala-2.13``; one alone may be of a module."""
_OF_SCALA = lazy_pattern(r"scala-\d")
_ENVIRONMENT = "pyvenv.cfg"

_KINDS = {
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "fifo",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A file, or a folder that was not entered; ``reason`` says why it is left alone."""

    source_id: str
    path: str
    raw_path: str | None = None
    size: int = 0
    mtime_ns: int = 0
    device: int = 0
    is_folder: bool = False
    reason: SkipReason | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to enter. ``path`` and ``disk`` are relative to the root and end in ``/``."""

    path: str
    disk: str
    scope: Scope
    included: bool = False
    kept: bool = False
    """A rule takes it back from the built-ins, so it may be a virtual environment."""
    narrow: _Narrow = field(default_factory=dict)
    real: str | None = None
    """Where it really is, if a link led here."""


def walk(
    root: str,
    *,
    source_id: str,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
    narrow: Sequence[str] = (),
) -> Walk:
    """Walk the source at *root*; of it only what is at or below the *narrow* paths, if any.

    What kebab writes itself is left alone whatever the rules say, since every run would find it
    changed, and so is the file of passwords that the environment names.

    Raises ``InvalidInput`` for a narrow path that leads out of the root.
    """
    root = os.path.realpath(root)
    wanted, scope = IncludeRules(include), root_scope(exclude)
    links = _Links(root, wanted, scope, follow_links=follow_links)
    return Walk(root, source_id, links, _Folder("", "", scope, narrow=_tree(narrow)), wanted)


class Walk:
    """One walk: iterate it once, then ask it about what it did not see."""

    def __init__(
        self, root: str, source_id: str, links: _Links, start: _Folder, include: IncludeRules
    ) -> None:
        self._root = root
        self._source_id = source_id
        self._links = links
        self._start = start
        self._include = include
        self._closed: dict[str, SkipReason] = {}
        self.listed: set[str] = set()
        """Folders, ``""`` for the root, of which every name is known."""
        self.folders: set[str] = set()
        """The same ones, as absolute paths of the disk."""
        self.marks: dict[str, Mark | None] = {}
        """How folders, files and files of rules were, by paths on disk, before they were read."""
        self.has_links = False
        """Whether it has come to any link that no rule ignores."""
        self.mounts: dict[str, int] = {}
        """Folders in there that are on a device of their own, and that device."""
        self._elsewhere: dict[str, int] = {}
        self.checkouts: dict[str, str] = {}
        """Folders that hold ``.git``, and where they are on disk."""
        self.dangling: set[str] = set()
        """Links that lead nowhere."""
        self.unread_rules: list[str] = []
        """Which files of rules cannot be read, and what was not looked at for that."""
        environ = environment()
        self._ours = {os.path.realpath(of(environ)) for of in (cache_dir, state_dir)}
        self._passwords = os.path.realpath(environ.get("KEBAB_PASSWORDS_FILE") or os.devnull)
        self.root_exists = os.path.isdir(root)
        self.device = os.stat(root).st_dev if self.root_exists else 0

    def __iter__(self) -> Iterator[Seen]:
        stack = [self._enter(self._start)] if self.root_exists else []
        while stack:
            for item in stack[-1]:
                if isinstance(item, _Folder):
                    stack.append(self._enter(item))
                    break
                if item.is_folder:
                    self._closed[item.path] = item.reason or SkipReason.IGNORED
                yield item
            else:
                stack.pop()

    def fate_of(self, path: str) -> Fate:
        """Say what became of a *path* that an earlier walk saw and this one did not."""
        narrow, parts = self._start.narrow, path.split("/")
        for part in parts:
            if not narrow:
                break
            if part not in narrow:
                return "unknown"  # this walk was not to look there
            narrow = narrow[part]
        if narrow:
            return "unknown"
        for cut in range(len(parts) - 1, -1, -1):
            above = "/".join(parts[:cut])
            if above in self._closed:
                return "ignored" if self._closed[above] is SkipReason.IGNORED else "unknown"
            if above in self.listed:
                return "gone"
        return "unknown"

    def _enter(self, folder: _Folder) -> Generator[Seen | _Folder]:
        here = os.path.join(self._root, folder.disk)
        try:
            found_here = os.stat(here)
            with os.scandir(here) as listing:
                entries = list(listing)
        except FileNotFoundError:
            return  # it went away meanwhile; the listing of its parent was of another time
        except OSError as error:
            self._note(here, mark_at(here))
            yield self._left(folder.path, folder.disk, SkipReason.UNREADABLE, _why(error))
            return
        names = [entry.name for entry in entries]
        self._mark_folder(here, found_here, names)
        is_ours = here.rstrip("/") in self._ours
        if why := _OURS if is_ours else _told_by(names, folder.path, kept=folder.kept):
            yield self._left(folder.path, folder.disk, SkipReason.IGNORED, why)
            return
        try:
            here_rules = _read_rules(here, set(names))
        except _UnreadRules as unread:
            detail = f"the rules of {folder.path}{unread} cannot be read ({_why(unread.error)})"
            self.unread_rules.append(f"{detail}; nothing in {folder.path or 'it'} was looked at")
            yield self._left(folder.path, folder.disk, SkipReason.UNREADABLE, detail)
            return
        self._note_listed(folder.path[:-1], found_here.st_dev)
        self.folders.add(here.rstrip("/") or "/")
        if ".git" in names:
            self.checkouts[folder.path[:-1]] = here
        scope = folder.scope.enter(folder.path, here_rules) if here_rules else folder.scope
        if not BUILDS.isdisjoint(names):
            scope = scope.beside_a_build(folder.path)
        found = [
            (name + "/" if _is_folder(entry) else name, entry)
            for name, entry in zip(spell(names), entries, strict=True)
        ]
        found.sort(key=itemgetter(0))
        for name, entry in found:
            yield from self._decide(name, entry, folder, scope)

    def _mark_folder(self, here: str, found: os.stat_result, names: Sequence[str]) -> None:
        self._note(here, mark_of(found))
        for name in RULES:
            if name.partition("/")[0] in names:
                self._note(here + name, mark_at(here + name))

    def _note(self, here: str, mark: Mark | None) -> None:
        if len(self.marks) <= MOST_MARKS:
            self.marks[here] = mark

    def _note_listed(self, path: str, device: int) -> None:
        self.listed.add(path)
        if device != self.device:
            self._elsewhere[path] = device
            if self._elsewhere.get(path.rpartition("/")[0]) != device:
                self.mounts[path] = device

    def _decide(
        self, name: str, entry: os.DirEntry[str], folder: _Folder, scope: Scope
    ) -> Iterable[Seen | _Folder]:
        """Return the row, the folder to enter, or nothing, for one entry of *folder*."""
        narrow = folder.narrow
        if narrow:
            bare = name.removesuffix("/")
            if bare not in narrow:
                return ()
            narrow = narrow[bare]
        is_folder = name[-1] == "/"
        path = folder.path + name
        disk = folder.disk + entry.name + "/" * is_folder
        rule = scope.decide(name, path) if path.isascii() else scope.decide(nfc(name), nfc(path))
        included = self._include.wanted(name, path, parent=folder.included)
        if (rule is not None and rule.ignores) or name in _NEVER:
            detail = str(rule) if rule else "built-in: .git"
        elif not included and not (is_folder and self._include.may_hold(path)):
            detail = "not in include"
        else:
            try:
                real, detail = self._real(entry, folder, disk, is_folder=is_folder)
            except OSError as error:  # it may lead to a folder, for all one knows
                self._note(os.path.join(self._root, disk), None)
                self._closed[path.rstrip("/")] = SkipReason.UNREADABLE
                return (self._left(path, disk, SkipReason.UNREADABLE, _why(error)),)
            if not detail:
                kept = rule is not None
                enter = _Folder(path, disk, scope, included, kept, narrow, real)
                return (enter,) if is_folder else self._file(path, disk, entry)
        return (self._left(path, disk, SkipReason.IGNORED, detail),)

    def _real(
        self, entry: os.DirEntry[str], folder: _Folder, disk: str, *, is_folder: bool
    ) -> tuple[str | None, str]:
        """Return where an entry really is, if links matter, and why it is left alone, if it is."""
        if entry.is_symlink():
            self.has_links = True
            here = os.path.join(self._root, disk)
            real = os.path.realpath(here)
            # A link that leads nowhere is not refused: to stat it says what is wrong.
            refusal = self._links.refusal(real, is_folder=is_folder) if _exists(here) else None
            return real, refusal or ""
        if folder.real is None:
            return None, ""
        real = f"{folder.real}/{entry.name}"
        return real, "" if self._links.first_time(real) else "already seen through a link"

    def _file(self, path: str, disk: str, entry: os.DirEntry[str]) -> tuple[Seen, ...]:
        here = os.path.join(self._root, disk)
        self._note(here, None)
        try:
            found = entry.stat()
        except FileNotFoundError:
            if not entry.is_symlink():
                return ()  # it went away meanwhile
            self.dangling.add(path)
            return (self._left(path, disk, SkipReason.UNREADABLE, LEADS_NOWHERE),)
        except OSError as error:
            is_loop = error.errno == errno.ELOOP
            if not is_loop:
                self._closed[path] = SkipReason.UNREADABLE  # it may be a folder, for all one knows
            why = LEADS_NOWHERE if is_loop else _why(error)
            return (self._left(path, disk, SkipReason.UNREADABLE, why),)
        self._note(here, mark_of(found))
        if not stat.S_ISREG(found.st_mode):
            kind = _KINDS.get(stat.S_IFMT(found.st_mode), "not a file")
            return (self._left(path, disk, SkipReason.UNSUPPORTED, kind),)
        if here == self._passwords:
            return (self._left(path, disk, SkipReason.SECRET_SUSPECTED, "a file of passwords"),)
        raw = None if path == disk else os.fsencode(disk).hex()
        modified = clamp_ns(found.st_mtime_ns)
        return (Seen(self._source_id, path, raw, found.st_size, modified, found.st_dev),)

    def _left(self, path: str, disk: str, reason: SkipReason, detail: str) -> Seen:
        return Seen(
            source_id=self._source_id,
            path=path.removesuffix("/") or ".",
            raw_path=None if path == disk else os.fsencode(disk.removesuffix("/")).hex(),
            is_folder=path[-1:] in {"", "/"},
            reason=reason,
            detail=detail,
        )


class _Links:
    """What one walk knows of links and their targets."""

    def __init__(
        self, root: str, include: IncludeRules, scope: Scope, *, follow_links: bool
    ) -> None:
        self._root = root
        self._include = include
        self._scope = scope
        self._follow_links = follow_links
        self._seen: set[str] = set()
        self._folders: dict[str, tuple[Scope, bool] | None] = {}

    def refusal(self, real: str, *, is_folder: bool) -> str | None:
        """Return why the link that leads to *real* is not followed, if it is not."""
        inside = self._inside(real)
        if inside is None and not self._follow_links:
            return "link leads out of the source"
        if inside is not None and (inside == "" or self._has_own_path(inside, is_folder=is_folder)):
            return f"link to {inside or 'the root'!r}, which has a path of its own"
        return None if self.first_time(real) else "link to what another link leads to"

    def first_time(self, real: str) -> bool:
        """Say whether *real*, to which links led, is seen for the first time."""
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def _inside(self, real: str) -> str | None:
        if real == self._root:
            return ""
        prefix = self._root.rstrip("/") + "/"
        return real[len(prefix) :] if real.startswith(prefix) else None

    def _has_own_path(self, path: str, *, is_folder: bool) -> bool:
        if is_folder:
            return self._folder(path + "/") is not None
        above, _, name = path.rpartition("/")
        folder = self._folder(above + "/" if above else "")
        if folder is None:
            return False
        scope, included = folder
        rule = scope.decide(name, path)
        ignored = name == ".git" or (rule is not None and rule.ignores)
        return not ignored and self._include.wanted(name, path, parent=included)

    def _folder(self, path: str) -> tuple[Scope, bool] | None:
        """Return a folder's rules and whether it is included; ``None`` if it is not entered."""
        if path not in self._folders:
            self._folders[path] = self._look_at(path)
        return self._folders[path]

    def _look_at(self, path: str) -> tuple[Scope, bool] | None:
        here = os.path.join(self._root, path)
        if not path:
            return self._scope_in(self._scope, "", here), False
        above, _, name = path[:-1].rpartition("/")
        parent = self._folder(above + "/" if above else "")
        if parent is None or name == ".git":
            return None
        rule = parent[0].decide(name + "/", path)
        included = self._include.wanted(name + "/", path, parent=parent[1])
        if rule is not None and rule.ignores:
            return None
        if _told_by(_names_in(here), path, kept=rule is not None):
            return None
        if not included and not self._include.may_hold(path):
            return None
        return self._scope_in(parent[0], path, here), included

    def _scope_in(self, above: Scope, path: str, here: str) -> Scope:
        scope = above.enter(path, _rules_if_any(here))
        is_built = any(os.path.exists(os.path.join(here, name)) for name in BUILDS)
        return scope.beside_a_build(path) if is_built else scope


def _told_by(names: Collection[str], path: str, *, kept: bool) -> str | None:
    """Return why a folder is left alone by *names* that it has; *kept* is one that a rule wants."""
    if _OUR_STORE in names:
        return _OURS
    if kept or not path:
        return None
    if _ENVIRONMENT in names:
        return "virtual environment"
    is_built = f"/{path}".endswith("/target/") and _is_made(names)
    return "what a build made" if is_built else None


def _is_made(names: Collection[str]) -> bool:
    """Say whether a build made a folder called ``target`` that has these *names*."""
    beside = len(_MADE_BESIDE.intersection(names)) + any(map(_OF_SCALA.match, names))
    return beside > 1 or not _MADE.isdisjoint(names)


class _UnreadRules(Exception):
    """A file of rules is there and cannot be read: what it keeps out is not known."""

    def __init__(self, name: str, error: OSError) -> None:
        super().__init__(name)
        self.error = error


def _read_rules(folder: str, names: set[str] | None) -> dict[str, str]:
    """Return the texts of the files of rules in *folder*, of which *names* are known.

    A file of rules that is a link has no rules: as in git. One in UTF-16, as a shell of Windows
    writes it, has: what it keeps out must not be found.
    """
    texts = {}
    for name in (*IGNORE_FILES, INFO_EXCLUDE):
        if names is not None and name.partition("/")[0] not in names:
            continue
        try:
            descriptor = os.open(folder + name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                if os.fstat(descriptor).st_size > _MOST_RULES_BYTES:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))  # noqa: TRY301 - as a disk's
                data = file.read()
            code = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
            texts[name] = data.decode(code, "surrogateescape" if code == "utf-8" else "replace")
        except OSError as error:
            if _is_regular(folder + name):
                raise _UnreadRules(name, error) from error
    return texts


def _rules_if_any(folder: str) -> dict[str, str]:
    """Return the texts of the files of rules in *folder*; none where the walk tells of them."""
    try:
        return _read_rules(folder, None)
    except _UnreadRules:
        return {}


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link in a circle, say; to stat it will say so


def _names_in(folder: str) -> Collection[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _tree(paths: Sequence[str]) -> _Narrow:
    """Return *paths* as a tree of names; the empty tree means everything below."""
    tree: _Narrow = {}
    whole: list[_Narrow] = []
    for parts in sorted(map(relative_parts, paths), key=len):
        if not parts:
            return {}
        node = tree
        for part in parts:
            if any(node is known for known in whole):
                break
            node = node.setdefault(part, {})
        else:
            whole.append(node)
    return tree
