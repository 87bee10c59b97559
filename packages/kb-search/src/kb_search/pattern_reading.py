r"""Reading a pattern: an expression as a person types it, as a small syntax tree.

Everything that cannot be looked for in linear time is refused here, by name and with what to
write instead; so is what different engines read differently. Sets of characters stay open
until it is known which texts they are looked for in: ``MARK`` and a letter stand for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from kb_core.errors import InvalidInput
from kb_core.text import quoted
from kb_core.values import dataclass, field, lazy_pattern, replace

__all__ = [
    "MARK",
    "MAX_PATTERN",
    "SETS",
    "WORD",
    "Node",
    "Plain",
    "bad_pattern",
    "begins_plainly",
    "branch_edges",
    "inner_edges",
    "is_blank",
    "is_word",
    "literal",
    "no_newline",
    "plain_of",
    "read",
    "within_text",
]

MAX_PATTERN = 1_000
"""Characters of a pattern."""
_AS_IT_IS = "for the character, or look for fixed text"
_MAX_DEPTH = 50
_MAX_REPEAT = 1_000
WORD = r"\pL\pM\pN\p{Pc}"
"""Members of a set: what words are made of, in any script."""
MARK = "\0"
"""Before the letter of a set of characters, in the text of a node: no pattern has it."""
SETS = frozenset("dwsh")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_SIGNS = frozenset({"^", "$", f"[{MARK}s]", f"[{MARK}h]", f"[^{MARK}w]"})
"""Texts of nodes that match no letter of a word."""
_POSIX = {
    "alpha": r"\pL",
    "digit": r"\p{Nd}",
    "alnum": r"\pL\p{Nd}",
    "upper": r"\p{Lu}",
    "lower": r"\p{Ll}",
    "space": f"{MARK}s",
    "blank": f"{MARK}h",
    "punct": r"\pP\pS",
    "word": f"{MARK}w",
    "xdigit": "0-9A-Fa-f",
    "cntrl": r"\p{Cc}",
    "print": r"\PC",
    "graph": r"\pL\pM\pN\pP\pS",
}
_COUNTED = lazy_pattern(r"\{(\d{1,5})?(?:(,)(\d{1,5})?)?\}")
_GROUP = lazy_pattern(r"\(\?(?:P?<(?P<name>[A-Za-z_]\w*)>|(?P<flags>[imsUux-]*)(?P<end>[:)]))")
_CODE_POINT = lazy_pattern(
    r"x(?P<two>[0-9A-Fa-f]{2})|[xu]\{(?P<any>[0-9A-Fa-f]{1,6})\}|u(?P<four>[0-9A-Fa-f]{4})"
)
_PROPERTY = lazy_pattern(
    r"(?P<sign>[pP])(?:[A-Z]|\{(?P<not>\^?)(?:(?:sc|gc|[Ss]cript|[Gg]eneral_[Cc]ategory)=)?"
    r"(?P<name>[A-Za-z_]{1,40})\})"
)
_AS_SETS = lazy_pattern("&&|--|~~")
"""What takes the members of one set from another, in some engines."""


@dataclass(slots=True)
class Node:
    """A part of a pattern.

    ``lit`` is the one character it stands for; ``text`` is RE2's way to say it otherwise.
    """

    kind: Literal["lit", "raw", "edge", "cat", "alt", "rep"]
    lit: str = ""
    text: str = ""
    parts: list[Node] = field(default_factory=list)
    least: int = 1
    is_word: bool = False
    """Of ``raw``: whether all that it matches are characters of words."""
    head: str = ""
    """Of ``alt``: what the group begins with."""


class _Parser:
    """Reads an expression, from left to right, once."""

    def __init__(self, text: str, *, multiline: bool) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._multiline = multiline

    def read(self) -> Node:
        tree = self._alternatives("")
        if self._at < len(self._text):
            raise self._wrong("has a ) that nothing opened", "write \\) for the character")
        return tree

    def _alternatives(self, head: str) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        return Node("alt", parts=branches, head=head)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and self._peek() not in "|)":
            parts += self._repeated(self._atom())
        kept = [part for at, part in enumerate(parts) if not _is_parted(parts, at)]
        return Node("cat", parts=kept)

    def _repeated(self, atoms: list[Node]) -> list[Node]:
        """Return *atoms*, the last of them repeated as what follows says."""
        times, start = 0, self._at
        while atoms and (found := self._quantifier()):
            suffix, least = found
            times += 1
            if times > 1:
                raise self._wrong(
                    "repeats a repetition", "write (?:a+)* for that; a++ never gives back", start
                )
            start = self._at
            if atoms[-1].kind == "edge" or atoms[-1].text in {"^", "$"}:
                least = 0
            atoms = [*atoms[:-1], Node("rep", parts=[atoms[-1]], text=suffix, least=least)]
        return atoms

    def _quantifier(self) -> tuple[str, int] | None:
        mark = self._peek()
        if mark and mark in "*+?":
            self._at += 1
            least = int(mark == "+")
        elif mark == "{" and (found := _COUNTED.match(self._text, self._at)):
            if found[1] is None and found[3] is None:
                return None  # {} and {,} are characters
            least, most = int(found[1] or 0), int(found[3] or 0)
            if max(least, most) > _MAX_REPEAT or (found[3] and most < least):
                raise self._wrong(
                    f"repeats {found[0]}", f"at most {_MAX_REPEAT:,} times, the lower number first"
                )
            self._at = found.end()
            mark = f"{{{least}{found[2] or ''}{found[3] or ''}}}"
        else:
            return None
        if self._peek() == "?":
            self._at += 1
            mark += "?"
        return mark, least

    def _atom(self) -> list[Node]:
        mark = self._text[self._at]
        if mark == "(":
            return [self._group()]
        if mark == "[":
            return [self._set()]
        if mark == "\\":
            return self._escape()
        if mark in "*+?":
            raise self._wrong(f"repeats nothing with {mark}", f"write \\{mark} for the character")
        self._at += 1
        if mark in ".^$":
            return [Node("raw", text=mark)]
        return [Node("lit", lit=mark)]

    def _group(self) -> Node:
        start = self._at
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"has groups more than {_MAX_DEPTH} deep", "write it flatter")
        head = "(?:"
        if self._text.startswith("(?", self._at):
            found = _GROUP.match(self._text, self._at)
            if found is None:
                raise self._wrong(
                    f"has {quoted(self._text[self._at : self._at + 4])}",
                    "look-around and the like cannot be searched for in linear time: look for "
                    "the part that they stand beside",
                )
            flags = (found["flags"] or "").replace("u", "")
            if "x" in flags:
                raise self._wrong("has the flag x", "write it without spaces and remarks")
            self._at = found.end()
            if found["end"] == ")":
                self._depth -= 1
                return Node("raw", text=f"(?{flags})" if flags else "")
            head = f"(?{flags}:"
        else:
            self._at += 1
        inner = self._alternatives(head)
        if self._peek() != ")":
            raise self._wrong("has a ( that nothing closes", f"write \\( {_AS_IT_IS}", start)
        self._at += 1
        self._depth -= 1
        return inner

    def _escape(self) -> list[Node]:  # noqa: C901 - one per kind of escape
        letter = self._text[self._at + 1 : self._at + 2]
        if not letter:
            raise self._wrong("ends with a backslash", f"write \\\\ {_AS_IT_IS}")
        if letter == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at + 2 : None if end < 0 else end]
            self._at = len(self._text) if end < 0 else end + 2
            return [Node("lit", lit=c) for c in quoted]
        if found := _PROPERTY.match(self._text, self._at + 1):
            self._at = found.end()
            name = found["name"]
            inside = f"{found['sign']}{{{found['not']}{name}}}" if name else found[0]
            return [Node("raw", text=f"\\{inside}")]
        if (point := self._code_point()) is not None:
            return [Node("lit", lit=point)]
        self._at += 2
        if letter in _CONTROLS:
            return [self._character(_CONTROLS[letter])]
        if (node := _named(letter)) is not None:
            return [node]
        if letter.isalnum():
            self._at -= 2
            hint = "write it without the backslash"
            if letter in "pP":
                hint = f"a set is written like \\{letter}{{Lu}} or \\{letter}{{Greek}}"
            if letter.isdigit() or letter in "kgG":
                hint = "a part that was matched before cannot be asked for again in linear time"
            raise self._wrong(f"has \\{letter}", hint)
        return [Node("lit", lit=letter)]

    def _character(self, character: str) -> Node:
        if character == "\n" and not self._multiline:
            raise no_newline(self._text)
        return Node("lit", lit=character)

    def _code_point(self) -> str | None:
        found = _CODE_POINT.match(self._text, self._at + 1)
        if found is None:
            return None
        number = int(found["two"] or found["any"] or found["four"], 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:  # noqa: PLR2004 - Unicode's own bounds
            raise self._wrong(f"has \\{found[0]}", "no character has that number")
        self._at = found.end()
        return self._character(chr(number)).lit

    def _set(self) -> Node:
        """Read a bracket; the first of its members may be a bracket itself."""
        start = self._at
        self._at += 1
        negated = self._peek() == "^"
        self._at += negated
        members: list[str] = []
        is_word = not negated
        while True:
            if self._at >= len(self._text):
                raise self._wrong(
                    "has a [ that nothing closes", "write \\[ for the character", start
                )
            if self._peek() == "]" and members:
                self._at += 1
                break
            if members and (found := _AS_SETS.match(self._text, self._at)):
                raise self._wrong(
                    f"has {found[0]} in brackets",
                    "sets are not taken from each other: write the characters that are meant, "
                    f"and \\{found[0][0]} for that one",
                )
            member, known_word = self._member()
            members.append(member)
            is_word = is_word and known_word
        return Node("raw", text=f"[{'^' if negated else ''}{''.join(members)}]", is_word=is_word)

    def _member(self) -> tuple[str, bool]:
        if self._text.startswith("[:", self._at) and (
            found := re.compile(r"\[:(\^?)(\w+):\]").match(self._text, self._at)
        ):
            if found[2] not in _POSIX:
                raise self._wrong(f"has {found[0]}", f"there are {', '.join(_POSIX)}")
            if found[1]:
                raise self._wrong(f"has {found[0]}", "negate the whole bracket")
            self._at = found.end()
            return _POSIX[found[2]], found[2] in {"alpha", "digit", "alnum", "word"}
        start = self._at
        low = self._one()
        if isinstance(low, tuple):
            return low
        after = self._text[self._at + 1 : self._at + 2]
        if self._peek() != "-" or after in {"]", ""}:
            return _in_set(low), is_word(low)
        self._at += 1
        high = self._one()
        if isinstance(high, tuple) or high < low:
            raise self._wrong(
                f"has a range from {quoted(low)} that ends before it",
                "write the lower character first",
                start,
            )
        both = low.isascii() and high.isascii() and low.isalnum() and high.isalnum()
        same = low.isdigit() == high.isdigit() and low.isupper() == high.isupper()
        return f"{_in_set(low)}-{_in_set(high)}", both and same

    def _one(self) -> str | tuple[str, bool]:
        """Read one member: a character, or a set of them and whether all are of words."""
        if self._peek() != "\\":
            self._at += 1
            return self._text[self._at - 1]
        if self._text.startswith("\\b", self._at):
            self._at += 2
            return "\b"
        start = self._at
        nodes = self._escape() or [Node("raw")]
        if len(nodes) > 1:
            raise self._wrong("has \\Q in brackets", "write the characters one by one", start)
        (node,) = nodes
        if node.kind == "lit":
            return node.lit
        if node.kind != "raw" or not node.text.startswith(("[", "\\p", "\\P")):
            raise self._wrong("has an anchor in brackets", "take it out of the brackets", start)
        if node.text.startswith("[^"):
            raise self._wrong(
                "has \\W, \\D or \\S in brackets", "negate the bracket: [^\\w]", start
            )
        return node.text.strip("[]") if node.text[0] == "[" else node.text, node.is_word

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _wrong(self, what: str, hint: str, at: int | None = None) -> InvalidInput:
        """Return the error for what begins *at* a character, or at the one that is next."""
        place = (self._at if at is None else at) + 1
        return bad_pattern(self._text, f"{what}, at character {place}", hint)


def _named(letter: str) -> Node | None:
    """Return what a letter after a backslash names: a set of characters, or a place."""
    if letter.lower() in SETS:
        sign = "^" if letter.isupper() else ""
        inside = MARK + letter.lower()
        return Node("raw", text=f"[{sign}{inside}]", is_word=letter in "wd")
    if letter in "b<>B":
        return Node("edge", text="\\B" if letter == "B" else "\\b")
    if letter in "AzZ":
        return Node("raw", text=f"\\{letter}".replace("Z", "z"))
    return None


def _in_set(character: str) -> str:
    return f"\\x{{{ord(character):x}}}" if not character.isalnum() else character


def is_word(character: str) -> bool:
    """Say whether *character* is one of a word, as ``WORD`` has them."""
    kind = unicodedata.category(character)
    return kind[0] in "LMN" or kind == "Pc"


def bad_pattern(text: str, what: str, hint: str) -> InvalidInput:
    """Return the error that says *what* is wrong with a pattern, and the way out."""
    shown = text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - enough to know it by
    return InvalidInput(
        f"pattern {quoted(shown)} {what}", hint=hint, details={"field": "pattern", "value": shown}
    )


def no_newline(text: str) -> InvalidInput:
    """Return the error for a pattern of several lines, where lines are looked through."""
    return bad_pattern(
        text,
        "holds the end of a line, and is looked for line by line",
        "ask for multiline, or look for one of the lines",
    )


def literal(text: str) -> Node:
    """Return the tree of a text that stands for itself."""
    return Node("cat", parts=[Node("lit", lit=c) for c in text])


def read(text: str, *, multiline: bool) -> Node:
    """Return the tree of *text*; ``InvalidInput`` says what it cannot be and where."""
    return _Parser(text, multiline=multiline).read()


@dataclass(frozen=True, slots=True)
class Plain:
    """Letters that a line has, perhaps from its beginning or to its end."""

    text: str
    at_start: bool
    at_end: bool

    @property
    def is_bare(self) -> bool:
        """Whether it is letters alone."""
        return not (self.at_start or self.at_end)

    def starts(self, data: bytes, first: int, last: int) -> list[int]:
        """Return where the lines of UTF-8 text between two bytes begin that have it."""
        places = _finder(self).finditer
        if self.is_bare:
            rfind = data.rfind
            return [
                rfind(b"\n", first, found.start()) + 1 or first
                for found in places(data, first, last)
            ]
        # Every line has a newline before it and after it.
        end = b"" if data.endswith(b"\n", first, last) else b"\n"
        data = b"\n%b%b" % (data[first:last], end)
        if not self.text:  # one look finds all empty lines of a gap
            gaps = (found.span() for found in places(data))
            return [line for left, right in gaps for line in range(first + left, first + right - 1)]
        if self.at_start:
            return [first + found.start() for found in places(data)]
        rfind, shift = data.rfind, first - 1
        return [rfind(b"\n", 0, found.start()) + 1 + shift for found in places(data)]

    def spans(self, line: bytes) -> list[tuple[int, int]]:
        """Return where in a line of UTF-8 text it stands, if it has any letters."""
        wanted, size = self.text.encode(), len(line)
        if self.at_start or self.at_end:
            at = 0 if self.at_start else max(0, size - len(wanted))
            is_whole = not (self.at_start and self.at_end) or size == len(wanted)
            is_there = wanted and is_whole and line.startswith(wanted, at)
            return [(at, at + len(wanted))] if is_there else []
        found, at = [], line.find(wanted)
        while at >= 0:
            found.append((at, at + len(wanted)))
            at = line.find(wanted, at + len(wanted))
        return found


@lru_cache(maxsize=8)
def _finder(plain: Plain) -> re.Pattern[bytes]:
    """Return what finds it in text whose lines all have a newline on either side.

    What begins with letters is looked for quickest, and one place of a line will do.
    """
    letters = re.escape(plain.text.encode())
    match plain.at_start, plain.at_end:
        case True, True:
            return re.compile(b"\n%b(?=\n)" % letters if letters else b"\n\n\n*")
        case True, False:
            return re.compile(b"\n" + letters)
        case False, True:
            return re.compile(letters + b"\n")
        case _:
            return re.compile(letters + b"[^\n]*")


def plain_of(node: Node) -> Plain | None:
    """Return what a line has to have, where that is letters and the ends of lines alone."""
    while node.kind == "alt" and not node.head and len(node.parts) == 1:
        node = node.parts[0]
    parts = list(node.parts) if node.kind == "cat" else [node]
    ends = [
        bool(parts) and parts[at].kind == "raw" and parts[at].text == "^$"[at] for at in (0, -1)
    ]
    letters = parts[ends[0] : len(parts) - ends[1]]
    if any(part.kind != "lit" for part in letters) or not (letters or all(ends)):
        return None
    return Plain("".join(part.lit for part in letters), *ends)


def begins_plainly(node: Node) -> bool:
    """Say whether every match of *node* begins with the same letter."""
    if node.kind in {"alt", "cat"}:
        alone = len(node.parts) == 1 or (node.kind == "cat" and bool(node.parts))
        return alone and begins_plainly(node.parts[0])
    return node.kind == "lit"


def is_blank(node: Node) -> bool:
    """Say whether every match of *node* is white space, or nothing."""
    match node.kind:
        case "lit":
            return node.lit.isspace()
        case "raw":
            return node.text in {"^", "$", f"[{MARK}s]", f"[{MARK}h]"}
        case "edge":
            return True
        case _:
            return all(map(is_blank, node.parts))


def branch_edges(node: Node) -> tuple[bool, bool]:
    """Say whether a sequence begins and ends with an edge of a word that it has beside it."""
    parts = node.parts
    if len(parts) < 2:  # noqa: PLR2004 - an edge, and something it is of
        return False, False
    left = parts[0].kind == "edge" and _all_at(parts[1:], 0, _is_word)
    right = parts[-1].kind == "edge" and _all_at(parts[-2::-1], -1, _is_word)
    return left, right


def inner_edges(tree: Node) -> bool:
    r"""Say whether an edge stands where letters of other scripts are not seen.

    Beside a letter of ASCII it finds all that it should, so that is none; an inside of a word
    (``\B``) has to have one on either side.
    """
    branches = [tree]
    if tree.kind == "alt" and not tree.head:
        branches = [_within_edges(branch) for branch in tree.parts]
    return any(map(_has_edges, branches))


def _is_parted(parts: list[Node], at: int) -> bool:
    """Say whether a part is an edge that is one whatever matches: it says nothing."""
    if parts[at].kind != "edge" or parts[at].text == "\\B":
        return False
    before, after = parts[:at][::-1], parts[at + 1 :]
    return (_all_at(before, -1, _is_word) and _all_at(after, 0, _is_sign)) or (
        _all_at(before, -1, _is_sign) and _all_at(after, 0, _is_word)
    )


def within_text(node: Node) -> bool:
    """Say whether it matters to *node* where its text begins or ends."""
    ends = {"\\A", "\\z"}
    return (node.kind == "raw" and node.text in ends) or any(map(within_text, node.parts))


def _within_edges(branch: Node) -> Node:
    left, right = branch_edges(branch)
    return replace(branch, parts=branch.parts[left : len(branch.parts) - right])


def _has_edges(node: Node) -> bool:
    parts = node.parts
    return any(
        part.kind == "edge"
        and not (all if part.text == "\\B" else any)(
            (_all_at(parts[:at][::-1], -1, _is_ascii), _all_at(parts[at + 1 :], 0, _is_ascii))
        )
        for at, part in enumerate(parts)
    ) or any(map(_has_edges, parts))


def _all_at(parts: Sequence[Node], at: int, is_one: Callable[[Node], bool]) -> bool:
    """Say whether what a sequence matches surely begins (0) or ends (-1) with such a character.

    The nearest of *parts* comes first; what may be nothing leaves it to the next one, too.
    """
    for part in parts:
        match part.kind:
            case "edge":
                return False
            case "lit" | "raw":
                fits = is_one(part)
            case "alt":
                fits = all(_all_at([one], at, is_one) for one in part.parts)
            case _:
                fits = _all_at(part.parts[:: 1 + 2 * at], at, is_one)
        if not fits or part.least:
            return fits
    return False


def _is_word(node: Node) -> bool:
    return is_word(node.lit) if node.kind == "lit" else node.is_word


def _is_ascii(node: Node) -> bool:
    return node.lit.isascii() and _is_word(node) if node.lit else False


def _is_sign(node: Node) -> bool:
    return node.lit.isascii() and not is_word(node.lit) if node.lit else node.text in _SIGNS
