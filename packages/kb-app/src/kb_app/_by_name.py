"""Parts of documents by their names: what ``path#name`` and a name alone mean, or why nothing.

``path#name`` is what has that name in the file, a symbol or a heading with all that is inside it,
and a name alone what code defines by it, if that is one thing. A member that a class inherits is
that of the class which defines it. Who asks for what is not there has read that name somewhere:
the error says where code defines it, be it in another file or by a name that is spelled otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb_app._media import has_lines
from kb_app._outlines import (
    Entry,
    beginning_of,
    comes_from_elsewhere,
    end_of,
    entries_of,
    joined,
    symbols_of,
)
from kb_app._search.constants import beginning, naming, spelling
from kb_app._search.defining import is_constant, names_of
from kb_app._search.filtering import nearest_of
from kb_app._search.grep import grep
from kb_app._search.hits import Freshness
from kb_app._search.lookup import document_named, find, unpacked
from kb_app._search.roles import is_late, specifies
from kb_core.errors import DocNotFound, InvalidInput, KbError
from kb_core.filters import Filter, OneOf, all_of
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredDoc
from kb_core.search import GrepQuery, SearchFilters

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["part_named"]

_WORDS = re.compile(r"\w+")
_NUMBER = re.compile(r"\A(?:§ *)?\(?(?:\d+|[ivxlc]+|[a-z])(?:\.\w+)*[.)]* +", re.IGNORECASE)
"""What a heading may be counted as."""
_BRACKETS = re.compile(r"(?<=\w) *\(.*\Z")
"""What follows what a heading calls: a type, or arguments and what comes of them."""
_OWNER = re.compile(r"\A[\w$.-]*\.(?=[\w$-]+(?:\Z| ?\())|(?<=\w) ?\(.*\Z")
"""What stands around the last part of a name that is a heading: *logger.child(bindings)*."""
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::)(?:[^\W\d]|\$)[\w$]*)*[?!]?")
_AT_NAME = re.compile(rf"([^#]+\.\w+)::?({_NAME.pattern})")
"""A name behind a path as test runners and others write it: ``a.py::TestA::test_b``."""
_TERMS = re.compile(r"(?:\A|(?<=, )|(?<=[|/]))--?[\w?#][\w.-]*(?=\Z|[\s,=|/\[<(])")
"""The options that a heading tells of."""
_KEYWORDS = re.compile(r"\A(?:(?:async|class|def|fn|func|function|struct) )+(?=[\w$.:]+\Z)")
_LISTED, _FEW = 6, 3
_HEAD_LINES = 8
"""Lines from the first one of a class in which its head ends, decorators included."""
_HEAD_ENDS = re.compile(r"(?m)[:{]\s*$")
_NO_CLASS = frozenset({"extends", "implements", "public", "object", "metaclass"})
"""Words behind the name of a class that are none it inherits from."""
_FUNCTION = re.compile(r"\b(?:def|func(?:tion)?|fn|sub)\b")
_MOST_PASSAGES = 4_000
"""With a name, of which the documents are looked through, and not all code."""
_MANY_DOCUMENTS = 1_000
"""With a name: it is looked for first where passages define it."""
_MOST_CLASSES = 20
"""Names in heads of classes that are followed."""
_KEY = re.compile(r"\s*([\"'])?(\w+)(?(1)\1\s*)(?::(?!:)|\s*=>)\s*\S")
_MEMBER = re.compile(r"\s+(?:[\w<>\[\],.?]+\s+){0,4}([\w$]+)\s*\??\s*(?::|=(?![=>]))")
_CLASSES = frozenset(
    ("class", "enum", "extension", "interface", "module", "namespace", "object", "struct", "trait")
)
_TAKES = re.compile(r"\b(?:import|require|include|use|using|from)\b")
"""What a line has that takes names from elsewhere."""
_LONGEST_LINE = 100


class _Definition(NamedTuple):
    """Where code defines a name."""

    symbol: str
    """Empty of what is no symbol, such as a constant."""
    at: str
    """A place, such as ``src/a.py:12-30``."""
    doc: StoredDoc


class _Code:
    """The code that definitions are looked for in: of a source, or all."""

    def __init__(self, snapshot: IndexSnapshot, source: str | None, fresh: Freshness) -> None:
        self.snapshot, self._source, self._fresh = snapshot, source, fresh
        self._entries: dict[str, list[Entry]] = {}
        self._held: dict[str, OneOf | None] = {}
        self._defined: dict[str, list[_Definition]] = {}

    def holding(
        self, name: str, doc: StoredDoc | None = None, *, within: Filter | None = None
    ) -> Sequence[types.GrepResponseFiles]:
        """Return the lines that hold a *name*, of one document or of code that is *within*."""
        source = (self._source,) if self._source else ()
        filters = SearchFilters(
            media=(Media.CODE.value,), source=source, doc_id=doc["doc_id"] if doc else None
        )
        query = GrepQuery(pattern=name, fixed=True, word=True, case="exact", filters=filters)
        return grep(self.snapshot, query, self._fresh, within=within)["files"]

    def _wheres(self, name: str, owner: str) -> Iterator[Filter | None]:
        """Yield what passes the documents to look through for a *name* of *owner*, in turns.

        Those where all parts of it stand; of a name that much code has, first those where
        a passage is called so, and of one that very much has, then those where a word that
        defines stands before it, if there is any.
        """
        held = [*filter(None, map(self._holding, filter(None, (name, *owner.split(".")))))]
        if all(len(one.values) >= _MANY_DOCUMENTS for one in held):
            named = naming(self.snapshot, name, _MOST_PASSAGES)
            if named:
                yield all_of([named, *held])
        yield all_of(held) or beginning(self.snapshot, name, _MOST_PASSAGES)

    def _holding(self, name: str) -> OneOf | None:
        """Return what passes the documents that have *name*, unless very many have; once each."""
        if name not in self._held:
            self._held[name] = spelling(self.snapshot, name, _MOST_PASSAGES)
        return self._held[name]

    def defining(self, name: str) -> list[_Definition]:
        """Return what ``_defining`` does, which is looked for once."""
        if name not in self._defined:
            self._defined[name] = self._defining(name)
        return self._defined[name]

    def _defining(self, name: str) -> list[_Definition]:
        """Return where code defines *name*; what only tests, settings or declarations do, there.

        A test that is called so defines it least. What is defined within another of these is
        part of that: a constructor has its class's name. Values that classes give their members
        come after all else.
        """
        owner, _, last = name.rpartition(".")
        looked = (self._defining_within(where, name, last) for where in self._wheres(last, owner))
        return next(filter(None, looked), [])

    def _defining_within(self, where: Filter | None, name: str, last: str) -> list[_Definition]:
        found: dict[tuple[bool, bool, bool, bool], list[_Definition]] = {}
        files = {
            file["doc_id"]: file
            for file in self.holding(last, within=where)
            if any(line.get("is_definition") or _may_give(line, name) for line in file["lines"])
        }
        docs = {doc["doc_id"]: doc for doc in self.snapshot.docs(OneOf("doc_id", tuple(files)))}
        for doc_id, file in files.items():
            doc = docs[doc_id]
            wanted = joined(self._called(doc, name))
            here = [
                _Definition(one.symbol, _lines_of(doc, one.fields), doc) for one in wanted
            ] or self._given(doc, file, name)
            is_title = all(one.fields.get("kind") == "test" for one in wanted) and bool(wanted)
            for one in here:
                is_member = not wanted and bool(one.symbol)
                rank = (is_title, is_late(doc), specifies(doc), is_member)
                found.setdefault(rank, []).append(one)
        all_ = found[min(found)] if found else []
        around = tuple({f"{one.symbol}." for one in all_ if one.symbol})
        return [one for one in all_ if not one.symbol.startswith(around)]

    def given(self, doc: StoredDoc, name: str) -> list[_Definition]:
        """Return where a file of code gives *name* a value, or begins a function within another."""
        if doc["media"] != Media.CODE.value or not _NAME.fullmatch(name):
            return []
        wanted = name.replace("::", ".")
        files = self.holding(wanted.rpartition(".")[2], doc)
        return [one for file in files for one in self._given(doc, file, wanted)]

    def _given(self, doc: StoredDoc, file: types.GrepResponseFiles, name: str) -> list[_Definition]:
        """Return where lines give *name* a value, or begin a function of that name.

        At the margin, or else as a member of a class. That ends before the next line that is
        indented no further, unless it closes a bracket.
        """
        lines, last = self._lines(doc), name.rpartition(".")[2]
        found: list[_Definition] = []
        for line in file["lines"]:
            if comes_from_elsewhere(line["text"]):
                continue
            symbol, is_given = "", line.get("is_definition") or _is_key(line, name)
            if _gives_member(line, last) and (owner := self._class_around(doc, line["line"])):
                symbol, is_given = f"{owner}.{last}", _ends_so(f"{owner}.{last}", name)
            if not is_given or ("." in name and not symbol):
                continue
            first = beginning_of(lines, line["line"], doc["code_lang"])
            at = f"{doc['path']}:{first}-{end_of(lines, line['line'])}"
            found.append(_Definition(symbol, at, doc))
        return [one for one in found if not one.symbol] or found

    def _class_around(self, doc: StoredDoc, line: int) -> str:
        """Return the class that a line stands in, if that is the innermost unit around it."""
        around = [one for one in self.entries(doc) if one.is_around(line)]
        is_class = around and around[-1].fields.get("kind") in _CLASSES
        return around[-1].symbol if is_class else ""

    def of_module(self, name: str) -> list[_Definition]:
        """Return where the file or folder that *name* begins with defines the rest of it.

        ``http.Server`` is what ``net/http/server.go`` defines, and ``os.path.join`` is in
        ``os/path.py``.
        """
        module, _, last = name.rpartition(".")
        return [
            one
            for one in (self.defining(last) if module else ())
            if not {"", last}.isdisjoint(names_of(one.symbol))
            and module in _modules_of(one.doc["path"], module)
        ]

    def inherited(self, name: str, doc: StoredDoc | None = None) -> list[_Definition]:
        """Return where a class that another one inherits from defines the member of *name*.

        Of several classes of one name, that of *doc* is meant, if it has one.
        """
        owner, _, last = name.rpartition(".")
        members = self.defining(last) if owner else []
        owners = self.defining(owner) if members else []
        own = [one for one in owners if doc and one.doc["doc_id"] == doc["doc_id"]]
        return self._above(own or owners, name, members, {owner})

    def _above(
        self,
        owners: Sequence[_Definition],
        name: str,
        members: Sequence[_Definition],
        seen: set[str],
    ) -> list[_Definition]:
        """Return the nearest of *members* above each of *owners*, whose member has that *name*."""
        owner, _, last = name.rpartition(".")
        found: list[_Definition] = []
        for one in (one for one in owners if one.symbol):
            for base in self._bases(one, owner):
                if base in seen or len(seen) == _MOST_CLASSES:
                    continue
                seen.add(base)
                higher = f"{base}.{last}"
                here = [member for member in members if _ends_so(member.symbol, higher)]
                if here := here or self._above(self.defining(base), higher, members, seen):
                    found += here
                    break
        return found

    def _bases(self, defined: _Definition, name: str) -> Iterator[str]:
        """Yield the names behind that of a class, as far as its head goes."""
        first, last = map(int, defined.at.rpartition(":")[2].split("-"))
        lines = self._lines(defined.doc)[first - 1 : min(last, first - 1 + _HEAD_LINES)]
        head = _HEAD_ENDS.split("\n".join(lines), maxsplit=1)[0]
        before, _, behind = head.partition(name.rpartition(".")[2])
        if not _FUNCTION.search(before):
            yield from (word for word in _WORDS.findall(behind) if word not in _NO_CLASS)

    def _called(self, doc: StoredDoc, name: str) -> Iterator[Entry]:
        """Yield the symbols of a document that end with *name*."""
        if not has_lines(doc):
            return iter(())
        text, last = self.snapshot.doc_text(doc["doc_id"]) or "", name.rpartition(".")[2]
        if doc["code_lang"] == "r":  # a name has dots itself: print.otter is no part of otter
            return symbols_of(doc, text, name.__eq__)
        return symbols_of(doc, text, lambda symbol: last in symbol and _ends_so(symbol, name))

    def entries(self, doc: StoredDoc) -> Sequence[Entry]:
        """Return the headings and symbols of a document."""
        if doc["doc_id"] not in self._entries:
            text = self.snapshot.doc_text(doc["doc_id"]) or ""
            self._entries[doc["doc_id"]] = list(entries_of(self.snapshot, doc, text))
        return self._entries[doc["doc_id"]]

    def _lines(self, doc: StoredDoc) -> list[str]:
        return (self.snapshot.doc_text(doc["doc_id"]) or "").split("\n")


def part_named(
    snapshot: IndexSnapshot, text: str, source: str | None, fresh: Freshness
) -> tuple[str, str] | None:
    """Return the place, and the source, of ``path#name`` and of a name that is defined once.

    ``path::name`` is the first of these, too, and ``Owner#name`` the second.

    ``None`` for what is neither. Raises ``InvalidInput`` where several things are called so, or
    nothing is, and ``DocNotFound`` for no such path; the hint has the places that may be meant.
    """
    code = _Code(snapshot, source, fresh)
    path, _, name = text.rpartition("#")
    if not path and (found := _AT_NAME.fullmatch(text)) and _is_there(code, found[1], source):
        path, name = found[1], found[2]
    if path and name:
        path, name = _with_owner(code, path, name, source)
        text = text if path else name
    if path and name:
        return _part_of(code, path, _KEYWORDS.sub("", name), source)
    if not _NAME.fullmatch(text):
        return None
    wanted = text.replace("::", ".")
    defined = code.defining(wanted) or code.of_module(wanted) or code.inherited(wanted)
    if len(defined) > 1:
        raise InvalidInput(
            f"{len(defined)} places define {text!r}",
            hint=f"give the one that is meant: {_listed(defined, text, _LISTED)}",
            details={"field": "path", "value": text},
        )
    if not defined and (hint := _elsewhere(code, text)):
        raise DocNotFound(
            f"no document at {text!r}, and no symbol",
            hint=hint,
            details={"field": "path", "value": text, "path": text},
        )
    return (defined[0].at, defined[0].doc["source_id"]) if defined else None


def _with_owner(code: _Code, path: str, name: str, source: str | None) -> tuple[str, str]:
    """Return *path* and *name*, an owner that ends the path as part of the name.

    ``Cache#get``, as Ruby and Javadoc write it, is ``Cache.get``, and has no path, where code
    defines that; else the path is that of ``Cache``, if that is one thing.
    """
    file, _, owner = path.rpartition("#")
    called = _BRACKETS.sub("", name)
    if not (_NAME.fullmatch(owner) and _NAME.fullmatch(called)) or _is_there(code, path, source):
        return path, name
    owner = owner.replace("::", ".")
    whole = f"{owner}.{called}"
    if _is_there(code, file, source) if file else code.defining(whole):
        return file, whole
    owners = code.defining(owner)
    return (owners[0].doc["path"], whole) if len(owners) == 1 else (path, name)


def _modules_of(path: str, like: str) -> set[str]:
    """Return what the module at *path* may be called, in as many parts as *like* has."""
    parts, size = path.rpartition(".")[0].split("/"), like.count(".") + 1
    return {".".join(ending[-size:]) for ending in (parts, parts[:-1]) if ending}


def _is_there(code: _Code, path: str, source: str | None) -> bool:
    try:
        return find(code.snapshot, path, source, field="path") is not None
    except InvalidInput:  # for there are several
        return True


def _part_of(code: _Code, path: str, name: str, source: str | None) -> tuple[str, str]:
    """Return the place, and the source, of what is called *name* at *path*."""
    try:
        named = document_named(code.snapshot, path, source=source, field="path")
        doc = unpacked(code.snapshot, named)
    except (DocNotFound, InvalidInput) as error:
        return _at_no_path(code, path, name, error)
    called = [
        _Definition(one.symbol, one.fields.get("uri") or _lines_of(doc, one.fields), doc)
        for one in _called(code.entries(doc), name)
    ]
    wanted = name.replace("::", ".")
    if all(one.symbol and not _ends_so(one.symbol, wanted) for one in called):
        called = code.given(doc, name) or _as_spelled(code, doc, name, called)
    if len(called) == 1:
        return called[0].at, called[0].doc["source_id"]
    if called:
        what = f"{len(called)} parts called"
        hint = f"give the one that is meant: {_listed(called, name, _LISTED)}"
    else:
        what, hint = "no heading and no symbol", _otherwise(code, doc, name)
    raise InvalidInput(
        f"{doc['path']!r} has {what} {name!r}",
        hint=hint,
        details={"field": "path", "value": f"{doc['path']}#{name}"},
    )


def _as_spelled(
    code: _Code, doc: StoredDoc, name: str, called: list[_Definition]
) -> list[_Definition]:
    """Return what is *called* so but for its case, unless code has the name as it is spelled."""
    if doc["media"] != Media.CODE.value or not _NAME.fullmatch(name):
        return called
    wanted = name.replace("::", ".")
    return [] if code.defining(wanted) else called or code.inherited(wanted, doc)


def _at_no_path(code: _Code, path: str, name: str, error: KbError) -> tuple[str, str]:
    """Return what *name* is in the one of several documents that has it; else raise *error*."""
    if not _NAME.fullmatch(name):
        raise error
    defined = code.defining(name.replace("::", "."))
    there = [one for one in defined if one.doc["path"].endswith(f"/{path}")]
    if len(there) == 1:
        return there[0].at, there[0].doc["source_id"]
    if defined:
        hint = f"{name!r} is defined in {_listed(there or defined, name, _FEW)}"
        raise type(error)(str(error), hint=hint, details=error.details) from None
    raise error


def _otherwise(code: _Code, doc: StoredDoc, name: str) -> str:
    """Return where what a document does not have by that *name* is, as far as is known."""
    names = [entry.symbol or entry.fields["name"] for entry in code.entries(doc)]
    is_name = _NAME.fullmatch(name) is not None
    hint = _elsewhere(code, name, names) if is_name else ""
    if not hint and (close := nearest_of(name, names)):
        return f"did you mean {close!r}?"
    for file in code.holding(name, doc) if is_name else ():
        line = file["lines"][0]
        said = f"line {line['line']} has it first: {line['text'].strip()[:_LONGEST_LINE]}"
        if not hint or _TAKES.search(line["text"]):
            return "; ".join(filter(None, (hint, said)))
    return hint or "the outline of a file names them all"


def _elsewhere(code: _Code, name: str, beside: Sequence[str] = ()) -> str:
    """Return where code defines *name*, or a member of the last part of that name.

    What one of *beside* is called comes before members of what is called otherwise.
    """
    wanted = name.replace("::", ".")
    if defined := code.defining(wanted):
        return f"{name!r} is defined in {_listed(defined, name, _FEW)}"
    owner, _, last = wanted.rpartition(".")
    if not owner:
        return ""
    if close := nearest_of(name, [one for one in beside if one.rpartition(".")[2] == last]):
        return f"did you mean {close!r}?"
    if defined := code.defining(last):
        return f"{last!r} is defined in {_listed(defined, last, _FEW)}"
    return ""


def _listed(defined: Sequence[_Definition], name: str, most: int) -> str:
    """Return places, each with the symbol there where that is not what was asked for."""
    told = [
        f"{one.at} ({one.symbol})" if one.symbol not in {"", name} else one.at
        for one in defined[:most]
    ]
    more = [f"{len(defined) - most} more"] if len(defined) > most else []
    return ", ".join(told + more)


def _lines_of(doc: StoredDoc, part: types.OutlineEntries) -> str:
    return f"{doc['path']}:{part['line_start']}-{part['line_end']}"


def _called(entries: Sequence[Entry], name: str) -> list[Entry]:
    """Return the entries of an outline that are called so.

    A symbol may be without those that it stands in, a heading may be an option of several with
    what they take (``-o, --output FILE``), is read as links to it are, too, and may be without its
    number, what it has from a bracket on, or what is around the last part
    of a name; what no other begins with will do.
    """
    wanted = _slug(name)
    called = [entry for entry in entries if name in {entry.symbol, _plain(entry.symbol)}]
    called = called or [one for one in entries if name in _TERMS.findall(one.fields["name"])]
    called = called or [one for one in entries if one.symbol and _ends_so(one.symbol, name)]
    called = called or [entry for entry in entries if _slug(entry.fields["name"]) == wanted]
    for beside in (_NUMBER, _BRACKETS, _OWNER):
        called = called or [
            entry for entry in entries if _slug(beside.sub("", entry.fields["name"])) == wanted
        ]
    if not called and wanted:
        begun = [one for one in entries if _slug(one.fields["name"]).startswith(f"{wanted}-")]
        called = begun if len(begun) == 1 and not begun[0].symbol else []
    around = {entry.symbol for entry in called if entry.symbol}
    return joined(one for one in called if one.symbol.rpartition(".")[0] not in around)


def _plain(symbol: str) -> str:
    """Return a symbol as who calls it does: ``Reply.prototype.send`` is ``Reply.send``."""
    return symbol.replace(".prototype.", ".")


def _ends_so(symbol: str, name: str) -> bool:
    return any(f".{_plain(each)}".endswith(f".{name}") for each in names_of(symbol))


def _may_give(line: types.GrepResponseFilesLines, name: str) -> bool:
    return _is_key(line, name) or _gives_member(line, name.rpartition(".")[2])


def _gives_member(line: types.GrepResponseFilesLines, name: str) -> bool:
    """Say whether a line that is set in gives *name* a value or a type, as classes do."""
    given = _MEMBER.match(line["text"])
    return given is not None and given[1] == name


def _is_key(line: types.GrepResponseFilesLines, name: str) -> bool:
    """Say whether a line gives a constant of that *name* a value as a key.

    ``MOST_ROWS: 40``, ``"MOST_ROWS" : 40`` and ``MOST_ROWS => 40`` do.
    """
    key = _KEY.match(line["text"]) if is_constant(name) else None
    return key is not None and key[2] == name


def _slug(name: str) -> str:
    return "-".join(_WORDS.findall(name.casefold()))
