"""The macros of mdoc: what a line of them shows.

A line is a macro and its arguments, among which further ones begin. Signs before and after
what they enclose, such as a comma, stand where a reader expects them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from kb_app._ingest.making.roff import arguments, shown

__all__ = ["MACROS", "shown_by"]

_ENCLOSED = {
    "Op": "[]", "Aq": "<>", "Bq": "[]", "Brq": "{}", "Dq": "“”", "Sq": "‘’", "Pq": "()",
    "Qq": '""', "Ql": "‘’", "In": "<>",
}  # fmt: skip
"""What stands around the rest of a line."""
_OPENING = {"Oo": "[", "Ao": "<", "Bo": "[", "Bro": "{", "Do": "“", "So": "‘", "Po": "(", "Qo": '"'}
_CLOSING = {"Oc": "]", "Ac": ">", "Bc": "]", "Brc": "}", "Dc": "”", "Sc": "’", "Pc": ")", "Qc": '"'}
_NAMES = {"Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly",
          "Ux": "UNIX", "At": "AT&T UNIX", "Bsx": "BSD/OS", "Bt": "", "Ud": ""}  # fmt: skip
_PLAIN = frozenset(
    re.findall(
        r"\S+",
        """Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Ft Ic It Lb Li Lk Ms Mt No Pa St Sx Sy Ta Tn Va Vt Rv Ex
        Dt Dd Os Sh Ss D1 Dl %A %B %C %D %I %J %N %O %P %Q %R %T %U %V""",
    )
)
"""What is shown as it stands."""
_OTHERS = frozenset({"Fl", "Fn", "Fo", "Fc", "Nm", "Nd", "Xr", "Ns", "Pf", "Ap", "Xo", "Xc"})
_SILENT = frozenset({"Bl", "El", "Bd", "Ed", "Bf", "Ef", "Bk", "Ek", "Rs", "Re", "Sm", "Pp", "Lp"})
MACROS = _PLAIN | _OTHERS | _SILENT | {*_ENCLOSED, *_OPENING, *_CLOSING, *_NAMES}
_CALLED = MACROS - _SILENT
_CLOSES = re.compile(r"[.,:;)\]?!]+")
_GLUE = "\0"
"""Between two words that no blank parts."""


def shown_by(macro: str, rest: str, name: str) -> str:
    """Return what a line shows: a macro and what follows it; *name* is that of the page."""
    if macro in _SILENT:
        return ""
    said = " ".join(filter(None, _words([macro, *arguments(rest)], name)))
    for glued in (f" {_GLUE} ", f"{_GLUE} ", f" {_GLUE}", _GLUE):
        said = said.replace(glued, "")
    return said.strip()


def _words(given: list[str], name: str) -> Iterator[str]:
    """Yield the words of a line, with what glues some together."""
    after = list[str]()
    while len(given) > 1 and _CLOSES.fullmatch(given[-1]):
        after.append(given.pop())
    at, ends = 0, list[str]()
    while at < len(given):
        word, at = given[at], at + 1
        if word not in _CALLED:
            said = shown(word)
            yield _GLUE + said if _CLOSES.fullmatch(said) else said
            continue
        if word in _ENCLOSED:
            around = _ENCLOSED[word]
            yield ("#include " if word == "In" else "") + around[0] + _GLUE
            ends.append(_GLUE + around[1])
            continue
        end = at
        while end < len(given) and given[end] not in _CALLED and not _CLOSES.fullmatch(given[end]):
            end += 1
        yield from _said(
            word, [shown(each) for each in given[at:end]], name, goes_on=end < len(given)
        )
        at = end
    yield from (*reversed(ends), *(_GLUE + each for each in reversed(after)))


def _said(word: str, own: list[str], name: str, *, goes_on: bool) -> Iterable[str]:
    """Return what one macro shows with the words that are its *own*."""
    if word == "Fl":
        return [f"-{each}" for each in own] or [f"-{_GLUE}" if goes_on else "-"]
    if not own and word in {"Nm", "Ar"}:
        return [name if word == "Nm" else "file ..."]
    if word in _BEFORE:
        return (_BEFORE[word], *own)
    return _JOINED[word](own) if own and word in _JOINED else own


_BEFORE = {
    "Nd": "–", "Ta": "|", "Ns": _GLUE, "Ap": f"{_GLUE}'{_GLUE}", "Fc": f"{_GLUE})", **_NAMES,
    **{macro: sign + _GLUE for macro, sign in _OPENING.items()},
    **{macro: _GLUE + sign for macro, sign in _CLOSING.items()},
}  # fmt: skip
"""What a macro shows before its words."""
_JOINED: Mapping[str, Callable[[list[str]], list[str]]] = {
    "Fn": lambda own: [f"{own[0]}({', '.join(own[1:])})"],
    "Fo": lambda own: [*own, f"{_GLUE}({_GLUE}"],
    "Pf": lambda own: [own[0] + _GLUE, *own[1:]],
    "Xr": lambda own: [f"{own[0]}({own[1]})", *own[2:]] if own[1:] else own,
}
"""What a macro makes of its words."""
