"""Formulas as a line of text: ``1/3`` is a fraction, ``x^2`` a power, ``a_1`` an index.

Web pages, books and OpenDocument write them in MathML, the programs of Microsoft in a vocabulary
of their own. Where a formula comes with what its author typed, in TeX or as LibreOffice takes it,
that is what is read. Trees are of local names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from xml.etree.ElementTree import Element

from kb_app._ingest.making.markup import Element as Tag, Markup

__all__ = ["formula_of_field", "formula_of_page", "mathml", "office_math", "raised"]

_TYPED = re.compile(r"tex|starmath", re.IGNORECASE)
_POWER = re.compile(r"[-+−–]?\d|[-+−–]$")
_SHOWN = re.compile(r"\A\{\\displaystyle (.*)\}\Z", re.DOTALL)
_ONE = re.compile(r"[^\W_]*|.|\(.*\)", re.DOTALL)
"""What needs no brackets."""


def formula_of_page(page: Markup, math: Tag) -> str:
    """Return a formula that is an element of a page."""
    nodes: dict[int, Element] = {}
    runs = iter(page.runs[math.first : math.end])
    texts: dict[int, list[str]] = {}
    for run in runs:
        texts.setdefault(run.parent, []).extend(part for _, part in run.lines())
    for tag in [math, *page.within(math)]:
        node = nodes[tag.number] = Element(tag.tag.rpartition(":")[2], dict(tag.attributes))
        node.text = " ".join(texts.get(tag.number, ()))
        if tag.parent in nodes:
            nodes[tag.parent].append(node)
    return mathml(nodes[math.number])


def raised(before: str, text: str) -> str:
    """Return what stands raised behind something: ``^6`` behind ``10``, which is not ``106``.

    Behind letters it is as people write it elsewhere: ``m2``, ``1st``.
    """
    is_power = before[-1:].isdecimal() and _POWER.match(text) is not None
    return f"^{text}" if is_power else text


def mathml(math: Element) -> str:
    """Return a formula that is written in MathML."""
    typed = [
        each
        for each in math.iter()
        if each.tag == "annotation" and _TYPED.search(each.get("encoding", ""))
    ]
    said = (typed[0].text or "") if typed else math.get("alttext", "")
    if (shown := _SHOWN.match(said.strip())) is not None:
        said = shown[1]
    return " ".join((said or _of_mathml(math)).split())


def _of_mathml(node: Element) -> str:
    parts = [_of_mathml(child) for child in node if not child.tag.startswith("annotation")]
    write = _MATHML.get(node.tag)
    if write is None or not parts:
        said = " ".join((node.text or "").split())
        return f" {said} " if node.tag == "mtext" else said + "".join(parts)
    return write([*parts, "", ""])


_MATHML: Mapping[str, Callable[[list[str]], str]] = {
    "mfrac": lambda parts: _fraction(parts[0], parts[1]),
    "msup": lambda parts: _scripts(parts[0], "", parts[1]),
    "mover": lambda parts: _scripts(parts[0], "", parts[1]),
    "msub": lambda parts: _scripts(parts[0], parts[1], ""),
    "munder": lambda parts: _scripts(parts[0], parts[1], ""),
    "msubsup": lambda parts: _scripts(parts[0], parts[1], parts[2]),
    "munderover": lambda parts: _scripts(parts[0], parts[1], parts[2]),
    "msqrt": lambda parts: _root("".join(parts)),
    "mroot": lambda parts: _root(parts[0], parts[1]),
    "mtable": lambda parts: _joined(parts[:-2], "; "),
    "mtr": lambda parts: _joined(parts[:-2], ", "),
}
"""How an element is written, of which the parts are these, and nothing behind them."""


def office_math(math: Element) -> str:
    """Return a formula that a program of Microsoft wrote."""
    return " ".join(_of_office(math).split())


def _of_office(node: Element) -> str:
    if node.tag == "t":
        return node.text or ""
    if node.tag.endswith("Pr"):
        return ""
    if (write := _OFFICE.get(node.tag)) is not None:
        return write(node)
    return "".join(map(_of_office, node))


def _in(node: Element, name: str) -> str:
    found = node.find(name)
    return "" if found is None else _of_office(found).strip()


def _parts(node: Element, name: str, mark: str) -> str:
    return _joined([_of_office(child) for child in node if child.tag == name], mark)


def _marked(node: Element, path: str, usual: str) -> str:
    found = node.find(path)
    return usual if found is None else found.get("val", usual)


def _with_limits(node: Element) -> str:
    mark = _marked(node, "naryPr/chr", "∫")
    return f"{_scripts(mark, _in(node, 'sub'), _in(node, 'sup'))} {_in(node, 'e')}"


def _within(node: Element) -> str:
    begins, ends = _marked(node, "dPr/begChr", "("), _marked(node, "dPr/endChr", ")")
    return f"{begins}{_parts(node, 'e', _marked(node, 'dPr/sepChr', '|'))}{ends}"


def _raised(node: Element) -> str:
    return _scripts(_in(node, "e"), _in(node, "sub"), _in(node, "sup"))


_OFFICE: Mapping[str, Callable[[Element], str]] = {
    "f": lambda node: _fraction(_in(node, "num"), _in(node, "den")),
    "sSup": _raised,
    "sSub": _raised,
    "sSubSup": _raised,
    "nary": _with_limits,
    "limLow": lambda node: _scripts(_in(node, "e"), _in(node, "lim"), ""),
    "limUpp": lambda node: _scripts(_in(node, "e"), "", _in(node, "lim")),
    "rad": lambda node: _root(_in(node, "e"), _in(node, "deg")),
    "d": _within,
    "m": lambda node: _parts(node, "mr", "; "),
    "mr": lambda node: _parts(node, "e", ", "),
    "func": lambda node: f"{_in(node, 'fName')} {_in(node, 'e')}",
}


def _joined(parts: Iterable[str], mark: str) -> str:
    return mark.join(part.strip() for part in parts)


def _fraction(above: str, below: str) -> str:
    return f"{_bracketed(above)}/{_bracketed(below)}"


def _scripts(base: str, below: str, above: str) -> str:
    said = (("_", below.strip()), ("^", above.strip()))
    return base.strip() + "".join(f"{mark}{_bracketed(part)}" for mark, part in said if part)


def _root(inside: str, degree: str = "") -> str:
    return f"{f'[{degree.strip()}]' if degree.strip() else ''}√({inside.strip()})"


def _bracketed(part: str) -> str:
    part = part.strip()
    return part if _ONE.fullmatch(part) else f"({part})"


# Fields of Word, which older ones keep formulas in, and how a word is read

_FIELD = re.compile(r"\s*EQ\b(.{0,4000})", re.IGNORECASE | re.DOTALL)
_SWITCH = re.compile(r"\\\*\s*(?:\"[^\"]*\"|[^\s\\\"]+)\s*")
_TOKEN = re.compile(r"\\([A-Za-z]{1,2})\s*(?:-?\d+)?\s*|\\(.)|([(),;])|([^\\(),;]+)", re.DOTALL)
_COMMANDS = frozenset("abdfilorsx")
_RAISED, _LOWERED = "^", "_"
_DEEPEST = 20


def formula_of_field(order: str) -> str | None:
    """Return what a field of Word shows that is a formula; ``None`` where it is another.

    How a word is read, which stands above it, is left out, as it is everywhere.
    """
    field = _FIELD.match(order)
    if field is None:
        return None
    tokens = list(_TOKEN.finditer(_SWITCH.sub("", field[1])))[::-1]
    said = ""
    while tokens:
        said += ",".join(_arguments(tokens, 0))
    return " ".join(said.split())


def _arguments(tokens: list[re.Match[str]], depth: int) -> list[str]:
    """Return what is between brackets, taken from the end of *tokens* as far as they reach."""
    parts, marks = [""], list[str]()
    command, way = "", ""
    while tokens:
        token = tokens.pop()
        word, escaped, mark, text = token.groups(default="")
        if word.lower() in _COMMANDS:
            command, way = word.lower(), ""
        elif word:
            way = {"up": _RAISED, "do": _LOWERED, "su": "∑", "pr": "∏"}.get(word.lower(), way)
        elif mark == "(" and depth < _DEEPEST:
            inside = _arguments(tokens, depth + 1)
            parts[-1] += _of_field(command, way, inside) if command else f"({','.join(inside)})"
            command = ""
        elif mark == ")":
            break
        elif mark in {",", ";"} and depth:
            parts.append("")
            marks.append(mark)
        else:
            parts[-1] += escaped or text or mark
    if ";" not in marks:
        return parts
    joined = "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))
    return joined.split(";")


def _of_field(command: str, way: str, parts: list[str]) -> str:
    parts = [part.strip() for part in parts]
    match command:
        case "f" if len(parts) > 1:
            return _fraction(parts[0], parts[1])
        case "r":
            return _root(parts[-1], *parts[:-1][:1])
        case "s":
            return f"{way}{_bracketed(''.join(parts))}"
        case "i":
            below, above, inside = [*parts, "", "", ""][:3]
            return f"{_scripts(way or '∫', below, above)} {inside}"
        case "b":
            return f"({','.join(parts)})"
    seen = [part for part in parts if command != "o" or not part.startswith(_RAISED)] or parts
    return ("" if command == "o" else ", ").join(seen)
