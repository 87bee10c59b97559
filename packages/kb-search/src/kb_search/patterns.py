r"""Patterns: what a person types to find exact text, as an expression that RE2 runs.

RE2 takes time that grows with the text alone, whatever the pattern, which no engine with
look-around or back-references can promise; so these are refused. What it reads otherwise than
people expect is translated here, on a small syntax tree:

* ``\w``, ``\d``, ``\s`` and the words of *word* know the letters of every script. ``\b`` and
  ``\B`` do at either end of the pattern; between two parts of it, they know those of ASCII.
* A letter with a mark matches as one character and as two (NFC, NFD), in texts that have both.
* Nothing matches the end of a line, unless *multiline*.

The tree also says which literals every match has (``Pattern.needs``), so that an index can
leave out texts without them: a conjunction of alternatives, and never more than is certain.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias

from kb_core.errors import MissingExtra
from kb_core.text import nfc
from kb_core.values import dataclass, lazy_pattern
from kb_search.pattern_reading import (
    MARK,
    MAX_PATTERN,
    WORD,
    Node,
    Plain,
    bad_pattern,
    begins_plainly,
    branch_edges,
    inner_edges,
    is_blank,
    literal,
    no_newline,
    plain_of,
    read,
    within_text,
)

__all__ = ["MAX_PATTERN", "Needs", "Pattern", "compile_pattern", "form_of"]

_MAX_PROGRAM = 50_000
"""Instructions of the program that RE2 makes of it."""
_CASELESS = "(?"
"""What may begin a part in which case matters otherwise than in the rest."""
_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_STEP_WORK = 40_000_000
"""Instructions times bytes between two looks at the clock."""
_MOST_STEP, _LEAST_STEP = 1 << 18, 1 << 14
"""Bytes between them, at most and at least."""
_ASCII = bytes(range(128))
_PROPERTY = lazy_pattern(r"\\[^pP]|(\\[pP](?:[A-Z]|\{\^?(?P<of>\w+=)?[A-Za-z_]{1,40}\}))")
_APART = 2_500
"""Bytes from one guide to the next, from which on it is quicker to look at their lines alone."""
_ALTERNATIVES = 4
"""Literals that are looked for one by one."""
_FEW = 4
"""So many are looked at in a small text, too."""
_IN_VAIN = 4
"""Matches in one line, after which none of it is looked for that goes on over the next."""
_SOON = 2
"""Part of a long text in which there are so many of them that no other is looked through so."""

Form: TypeAlias = Literal["ascii", "nfc", "other"]
"""Of a text: ASCII alone; in normal form C; anything else, or with a letter that folds to ASCII."""
Needs: TypeAlias = tuple[tuple[str, ...], ...]
"""Of each of these, every match has one, in some case."""

_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Written without spaces: every letter can be where a word begins."""
_EDGES: dict[Form, str] = {
    "ascii": "[^0-9A-Za-z_]",
    "nfc": f"(?:[^{WORD}]|[{_SPACELESS}])",
    "other": f"(?:[^{WORD}]|[{_SPACELESS}])",
}
_WIDE_SETS = {"d": r"\p{Nd}", "w": WORD, "s": r"\t-\r \x{85}\pZ", "h": r"\t\p{Zs}"}
_SETS: dict[Form, dict[str, str]] = {
    "ascii": {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t-\r ", "h": r"\t "},
    "nfc": _WIDE_SETS,
    "other": _WIDE_SETS,
}


def form_of(text: str) -> Form:
    """Return which form *text* has."""
    if text.isascii():
        return "ascii"
    # These two have no ASCII in them, and match s and k where case does not matter.
    odd = "\u017f" in text or "\u212a" in text
    return "other" if odd or not unicodedata.is_normalized("NFC", text) else "nfc"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    fixed: bool
    word: bool
    ignore_case: bool
    multiline: bool


class Pattern:
    """A pattern, ready to be looked for."""

    def __init__(self, text: str, tree: Node, options: _Options) -> None:
        self.text = text
        self._tree = tree
        self._options = options
        self.ignore_case = options.ignore_case
        self.inner_edges = inner_edges(tree)
        """Whether there is a ``\\b`` that knows the letters of ASCII alone."""
        self.is_multiline = options.multiline
        """Whether a match may go on over several lines."""
        self._is_within_text = within_text(tree)
        self.is_of_lines = not options.multiline and not self._is_within_text
        """Whether a line matches or not whatever stands before and after it."""
        self._made: dict[tuple[Form, bool], Any] = {}
        self._quick: dict[Form, tuple[Any, Any, int]] = {}
        self._is_guided = True
        self._program("ascii")
        self._program("nfc")

    @cached_property
    def needs(self) -> Needs:
        """What every match has; nothing where that cannot be told."""
        return tuple(sorted({tuple(sorted(one)) for one in _needs(self._tree) if all(one)}))

    @cached_property
    def _has_one_case(self) -> bool:
        """Whether all parts of it are looked for in the same way, as far as case matters."""
        return self._options.fixed or _CASELESS not in self.text

    @cached_property
    def _guides(self) -> tuple[Any, ...]:
        """What finds a few literals, of which every match has one: the longest.

        Nothing where a match begins with letters: RE2 looks for these by itself.
        """
        few = (
            one for one in self.needs if len(one) <= _ALTERNATIVES and all(map(str.isascii, one))
        )
        longest = max(few, key=lambda one: (min(map(len, one)), -len(one)), default=())
        if not self._has_one_case or (begins_plainly(self._tree) and not self._options.word):
            return ()
        expressions = ("".join(_letter(each, "ascii") for each in one) for one in longest)
        return tuple(
            _compiled(self.text, each, self._options, captures=False).Match for each in expressions
        )

    @cached_property
    def _is_beyond_ascii(self) -> bool:
        """Whether every match has a character that is not of ASCII."""
        return not self.ignore_case and self._has_one_case and _is_beyond_ascii(self._tree)

    @cached_property
    def is_blank(self) -> bool:
        """Whether every match is white space, or nothing."""
        return is_blank(self._tree)

    @cached_property
    def alternatives(self) -> tuple[Pattern, ...]:
        """What ``a|b|c`` is made of, each a pattern by itself; of another, that alone."""
        parts = self._tree.parts if self._tree.kind == "alt" and not self._tree.head else []
        apart = (Node("alt", parts=[part]) for part in parts)
        every = tuple(Pattern(self.text, one, self._options) for one in apart)
        return every if len(every) > 1 else (self,)

    @cached_property
    def plain(self) -> Plain | None:
        """What a line has to have, where the pattern is letters and the ends of lines alone."""
        options = self._options
        if options.word or options.multiline:
            return None
        plain = plain_of(self._tree)
        return None if plain and self.ignore_case and _has_cases(plain.text) else plain

    @cached_property
    def letters(self) -> str | None:
        """What every match is, in whichever case where that is ignored; ``None`` if it may differ.

        Of words alone, too.
        """
        plain = plain_of(self._tree) if self._has_one_case else None
        return plain.text if plain else None

    def step(self, form: Form) -> int:
        """Return how many bytes to look through between two looks at the clock."""
        return self._quickly(form)[2]

    def is_in(self, data: bytes, form: Form) -> bool:
        """Say whether anything in UTF-8 text matches."""
        if self._is_within_text and not self.is_multiline:
            return bool(self.starts(data, form))
        match, anchor, _ = self._quickly(form)
        return bool(match(anchor, data, 0, len(data))[0][0] >= 0)

    def starts(self, data: bytes, form: Form, first: int = 0, last: int | None = None) -> list[int]:
        """Return where the lines of UTF-8 text begin that match, but of *multiline*.

        Only those between two bytes are looked at where lines begin, or the text ends; of what
        asks for the ends of a text all of it is.
        """
        stop = len(data) if last is None else last
        if first == stop or (form == "ascii" and self._is_beyond_ascii):
            return []
        if self._is_within_text:  # its end is that of its last line
            data = data.removesuffix(b"\n")
            stop = len(data)
        match, anchor, _ = self._quickly(form)
        is_plain = form != "other"  # letters of ASCII are themselves, and finding bytes is quicker
        if is_plain and self.plain is not None:
            # RE2 looks for letters alone by 32 bytes at once: nowhere quicker that they are not.
            if self.plain.is_bare and match(anchor, data, first, stop)[0][0] < 0:
                return []
            return self.plain.starts(data, first, stop)
        found: list[int] = []
        at, find, rfind = first, data.find, data.rfind
        if is_plain and self._is_guided and self._guides:
            at = self._by_guides(data, form, found, first, stop)
        stop -= data.endswith(b"\n", first, stop)
        while 0 <= at <= stop:
            start, end = match(anchor, data, at, stop)[0]
            if start < 0:
                break
            found.append(rfind(b"\n", first, start) + 1 or first)
            at = find(b"\n", end - 1 if end > start else start, stop) + 1 or -1
        return found

    @property
    def is_lockless(self) -> bool:
        """Whether ``first_starts`` is to be asked: calls of it are long, and RE2 does all of it.

        What lines are looked at alone for has short ones, and what is found as bytes holds the lock
        of the interpreter.
        """
        if not self.is_of_lines:
            return False
        return self.plain.is_bare if self.plain else not (self._is_guided and self._guides)

    def first_starts(
        self, data: bytes, form: Form, part: tuple[int, int], found: list[int], most: int
    ) -> int:
        """Add where lines of a *part* of a text begin that match to *found*, until it has *most*.

        Returns from where on ``starts`` has to look. Of letters alone it is that where the first
        ones are.
        """
        at, stop = part
        if at == stop or (form == "ascii" and self._is_beyond_ascii):
            return stop
        match, anchor, _ = self._quickly(form)
        rfind, first = data.rfind, at
        if form != "other" and self.plain is not None:
            start, _ = match(anchor, data, at, stop)[0]
            return stop if start < 0 else rfind(b"\n", at, start) + 1 or at
        last = stop - data.endswith(b"\n", at, stop)
        while at <= last and len(found) < most:
            start, end = match(anchor, data, at, last)[0]
            if start < 0:
                return stop
            found.append(rfind(b"\n", first, start) + 1 or first)
            at = data.find(b"\n", end - 1 if end > start else start, last) + 1
            if not at:
                return stop
        return at

    def _by_guides(self, data: bytes, form: Form, found: list[int], begin: int, stop: int) -> int:
        """Add where lines begin that match to *found*; only those are looked at with a guide.

        Returns from where on that is too often, or -1 where that is all of the text.
        """
        match, anchor, _ = self._quickly(form)
        plainer, *_ = self._quickly("ascii")
        places = {guide: guide(anchor, data, begin, stop)[0][0] for guide in self._guides}
        most, last = (stop - begin) // _APART, begin
        for _ in range(_FEW + most):
            at = min((place for place in places.values() if place >= 0), default=-1)
            if at < 0:
                return -1
            first = data.rfind(b"\n", begin, at) + 1 or begin
            last = data.find(b"\n", at, stop) + 1 or stop
            run = plainer if data[first:last].isascii() else match
            if run(anchor, data, first, last)[0][0] >= 0:
                found.append(first)
            for guide, place in places.items():
                if 0 <= place < last:
                    places[guide] = guide(anchor, data, last, stop)[0][0]
        is_long = stop - begin > _MOST_STEP // 2
        self._is_guided = not is_long or last - begin > (stop - begin) // _SOON
        return last

    def lines(self, data: bytes, form: Form) -> Iterator[tuple[int, int]]:
        """Yield the ends of the lines of UTF-8 text that match, each once.

        Of a match over several lines they are those of all of them, as far as they are new.
        """
        program, anchor = self._program(form, exactly=True), _anchor()
        at, size, told, in_vain = 0, len(data), 0, 0
        # A final newline ends a line and begins none.
        while at < size or (at == size and data and not data.endswith(b"\n")):
            start, end = _span(program.Match(anchor, data, at, size))
            if start < 0 or (start == size and data.endswith(b"\n")):
                return
            first = max(told, data.rfind(b"\n", 0, start) + 1)
            last = data.find(b"\n", max(start, end - 1))
            last = size if last < 0 else last
            if first <= last:
                yield first, last
                told, in_vain = last + 1, 0
            in_vain += 1
            # A line that matches may hold the beginning of one that goes on over the next.
            at = end if start < end and in_vain <= _IN_VAIN else last + 1

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where in one line the matches are, in characters."""
        data = line.encode("utf-8", "replace")
        if line.isascii():
            return list(self.matches(data, "ascii"))
        return [
            (left := len(data[:start].decode()), left + len(data[start:end].decode()))
            for start, end in self.matches(data, form_of(line))
        ]

    def matches(self, line: bytes, form: Form) -> Iterable[tuple[int, int]]:
        """Return where in one line of UTF-8 text the matches are that have any letters."""
        if self.plain is not None and form != "other":
            return self.plain.spans(line)
        return self._matches(line, form)

    def _matches(self, line: bytes, form: Form) -> Iterator[tuple[int, int]]:
        # It is made already, most often.
        program = self._program("ascii" if line.isascii() else form, exactly=True)
        at, size = 0, len(line)
        while at <= size:
            start, end = _span(program.Match(_anchor(), line, at, size))
            if start < 0:
                break
            if start < end:
                yield start, end
            at = end if end > at else _next(line, at)

    def covers(self, data: bytes, form: Form, line: tuple[int, int], part: tuple[int, int]) -> bool:
        """Say whether one match in a line, from byte to byte of UTF-8 text, holds all of a part.

        Of an empty part, whether anything in the line matches.
        """
        (at, stop), (left, right) = line, part
        form = "ascii" if data[at:stop].isascii() else form  # it is made already, most often
        program, anchor = self._program(form, exactly=True), _anchor()
        while at <= stop:
            start, end = _span(program.Match(anchor, data, at, stop))
            if start < 0 or (start > left and left < right):
                return False
            if start < end and (end >= right or left == right):
                return True
            at = end if end > at else _next(data, at)
        return False

    def _quickly(self, form: Form) -> tuple[Any, Any, int]:
        if form not in self._quick:
            program = self._program(form)
            self._quick[form] = program.Match, _anchor(), _step(program)
        return self._quick[form]

    def _program(self, form: Form, *, exactly: bool = False) -> Any:  # noqa: ANN401 - untyped
        """Return what RE2 runs over texts of *form*; *exactly*, its groups are the matches.

        Without, a match may have a character on either side of it.
        """
        if (form, exactly) not in self._made:
            expression = self._expression(form, "(" if exactly else "(?:")
            self._made[form, exactly] = _compiled(
                self.text, expression, self._options, captures=exactly
            )
        return self._made[form, exactly]

    def _expression(self, form: Form, group: str) -> str:
        if not self._options.word:
            return _text(self._tree, form, outer=group)
        edge = _EDGES[form]
        return f"(?:^|{edge}){group}{_text(self._tree, form)})(?:{edge}|$)"


def _span(found: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the group that took part, else all of the match."""
    if len(found) == 1:
        return found[0]
    return next((span for span in found[1:] if span[0] >= 0), found[0])


def _step(program: Any) -> int:  # noqa: ANN401 - untyped
    """Return how much is looked through between two looks at the clock."""
    size: int = program.ProgramSize()
    return max(_LEAST_STEP, min(_MOST_STEP, _STEP_WORK // size))


def _next(data: bytes, at: int) -> int:
    at += 1
    while at < len(data) and data[at] & 0xC0 == 0x80:  # noqa: PLR2004 - inside a character
        at += 1
    return at


def compile_pattern(
    text: str,
    *,
    fixed: bool = False,
    word: bool = False,
    ignore_case: bool = False,
    multiline: bool = False,
) -> Pattern:
    """Return *text* as a pattern; ``InvalidInput`` for what is none or costs too much."""
    if not text:
        raise bad_pattern(text, "is empty", "give the text or the expression to look for")
    if len(text) > MAX_PATTERN:
        raise bad_pattern(
            text, f"has more than {MAX_PATTERN:,} characters", "look for a part of it"
        )
    if "\0" in text or not _is_utf8(text):
        raise bad_pattern(
            text, "holds what no text has", "leave out null characters and half pairs"
        )
    if "\n" in text and not multiline:
        raise no_newline(text)
    spelled = nfc(text)
    tree = literal(spelled) if fixed else read(spelled, multiline=multiline)
    goes_on = multiline and _goes_on(tree)
    options = _Options(fixed=fixed, word=word, ignore_case=ignore_case, multiline=goes_on)
    return Pattern(text, tree, options)


def _has_cases(text: str) -> bool:
    return not text.lower() == text == text.upper()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ------------------------------------------------------------------- writing


def _text(node: Node, form: Form, *, outer: str = "") -> str:
    """Return RE2's expression for *node*, over texts of *form*.

    *outer* is what a group begins with that holds what is between the edges of words at both
    ends, where it is the whole pattern.
    """
    match node.kind:
        case "lit":
            return _letter(node.lit, form)
        case "raw" | "edge":
            return _with_sets(node.text, form)
        case "rep":
            return f"(?:{_text(node.parts[0], form)}){node.text}"
        case "alt":
            within = "" if node.head else outer
            inner = "|".join(_text(part, form, outer=within) for part in node.parts)
            return f"{node.head}{inner})" if node.head else inner
        case _ if outer and form != "ascii":
            left, right = branch_edges(node)
            middle = node.parts[left : len(node.parts) - right]
            inner = "".join(_text(part, form) for part in middle)
            before = _beside(node.parts[0], form, "^") if left else ""
            after = _beside(node.parts[-1], form, "$") if right else ""
            return f"{before}{outer}{inner}){after}" if left or right else inner
        case _:
            return "".join(_text(part, form) for part in node.parts)


def _beside(edge: Node, form: Form, end: str) -> str:
    """Return what stands beside a word at an edge of it, or at a place within it."""
    return f"[{WORD}]" if edge.text == "\\B" else f"(?:{_EDGES[form]}|{end})"


def _with_sets(text: str, form: Form) -> str:
    for letter, members in _SETS[form].items():
        text = text.replace(MARK + letter, members)
    return text


def _letter(character: str, form: Form) -> str:
    plain = f"\\{character}" if character in _SPECIAL else character
    if form == "other" and (apart := unicodedata.normalize("NFD", character)) != character:
        return f"(?:{plain}|{apart})"
    return plain


def _needs(node: Node) -> list[tuple[str, ...]]:
    """Return alternatives of literals, of each of which every match of *node* has one."""
    match node.kind:
        case "lit":
            return [(node.lit,)]
        case "rep":
            return _needs(node.parts[0]) if node.least else []
        case "alt":
            return _needs_of_any([_needs(part) for part in node.parts])
        case "cat":
            return list(_needs_of_all(node.parts))
        case _:
            return []


def _needs_of_all(parts: list[Node]) -> Iterator[tuple[str, ...]]:
    """Yield what a sequence needs: letters side by side are one literal."""
    run = ""
    for part in parts:
        if part.kind == "lit":
            run += part.lit
            continue
        if part.kind == "edge" or (part.kind == "raw" and part.text in {"^", "$", ""}):
            continue
        if run:
            yield (run,)
        run = ""
        yield from _needs(part)
    if run:
        yield (run,)


def _needs_of_any(branches: list[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Return what alternatives need: one list with the most telling need of each."""
    if len(branches) == 1:
        return branches[0]
    if not all(branches):
        return []
    best = [max(branch, key=lambda one: min(map(len, one))) for branch in branches]
    return [tuple(literal for one in best for literal in one)]


def _is_beyond_ascii(node: Node) -> bool:
    """Say whether every match of *node* surely has a character that is not of ASCII."""
    match node.kind:
        case "lit":
            return not node.lit.isascii()
        case "raw" if _is_set(node):
            return not _holds_one(node, _ASCII)
        case "rep":
            return node.least > 0 and _is_beyond_ascii(node.parts[0])
        case "alt":
            return all(map(_is_beyond_ascii, node.parts))
        case "cat":
            return any(map(_is_beyond_ascii, node.parts))
        case _:
            return False


def _goes_on(node: Node) -> bool:
    """Say whether a match of *node* may have the end of a line in it."""
    if node.kind == "raw" and _is_set(node):
        return _holds_one(node, b"\n")
    may = node.lit == "\n" or "s" in node.head or (node.text.startswith("(?") and "s" in node.text)
    return may or any(map(_goes_on, node.parts))


def _is_set(node: Node) -> bool:
    return node.text.startswith(("[", "\\p", "\\P"))


def _holds_one(node: Node, characters: bytes) -> bool:
    """Say whether a set of characters holds one of these."""
    expression = f"(?s){_with_sets(node.text, 'nfc')}".encode()
    program = _re2()._re2.RE2(expression, _re2().Options())  # noqa: SLF001 - no wrapper
    return bool(program.Match(_anchor(), characters, 0, len(characters))[0][0] >= 0)


# ------------------------------------------------------------------- running


@cache
def _re2() -> Any:  # noqa: ANN401 - of a library without types
    try:
        import re2
    except ImportError as error:
        raise MissingExtra(
            "exact text cannot be looked for: the engine for it is not installed",
            hint="install google-re2",
            details={"extra": "google-re2"},
        ) from error
    return re2


@cache
def _anchor() -> Any:  # noqa: ANN401 - of a library without types
    return _re2()._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001 - its wrapper copies every match


def _compiled(text: str, expression: str, options: _Options, *, captures: bool) -> Any:  # noqa: ANN401 - untyped
    re2 = _re2()
    wanted = re2.Options()
    wanted.case_sensitive = not options.ignore_case
    wanted.never_nl = not options.multiline
    wanted.never_capture = not captures
    wanted.log_errors = False
    program = re2._re2.RE2(f"(?m){expression}".encode(), wanted)  # noqa: SLF001
    if not program.ok():
        if unknown := _unknown_property(text, options):
            hint = "a set is a category or a script: \\p{Lu}, \\p{Nd}, \\p{Greek}, \\p{Han}"
            raise bad_pattern(text, f"has {unknown}, which names no set of characters", hint)
        raise bad_pattern(text, "is too large, or none", "make it shorter, repeat less, or use -F")
    if program.ProgramSize() > _MAX_PROGRAM:
        raise bad_pattern(
            text,
            f"makes {program.ProgramSize():,} steps, and at most {_MAX_PROGRAM:,} are run",
            "repeat less, or name fewer characters",
        )
    return program


def _unknown_property(text: str, options: _Options) -> str | None:
    """Return the set of characters in a pattern that nobody knows by its name."""
    re2 = _re2()
    quiet = re2.Options()
    quiet.log_errors = False
    for found in () if options.fixed else _PROPERTY.finditer(text):
        if not (written := found[1]):
            continue
        name = written.replace(found["of"] or "", "", 1)  # as it is read, without what it is of
        if not re2._re2.RE2(name.encode(), quiet).ok():  # noqa: SLF001
            return written
    return None
