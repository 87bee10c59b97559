"""Lines that hold exact text, as text: by file, each with its number, and how many there are more.

The first line counts all of them. A file has a head, its path and, unless all are shown, how
many lines match; then its lines: ``12: text`` for one that matches, ``12-40: text`` for one
alone that defines what ends there, ``12: text · in walk 3-40`` for the first of those that stand
in one function, where there is room or lines stand around it, ``13- text`` for one beside a match;
where the document has no lines that one could ask for, the place stands there. A file of one line
is that line, ``path:12: text``. Of a long line there is what stands around the match.
Lines without others around them have no margin, and those that say the same are one; others
stand around them where a file has room for all of these. Lines of code that only import or list
a name are places alone, in one line for all files, where another line tells more of it; and where
every line is known, names that are imported and that none of them defines are said. What does
not fit is counted: lines of a file in its head, files at the end. A long line that several files
have, as copies and what is made of them do, is told of the first one, with where else it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from kb_app.shown import count, printable
from kb_core.media import Media
from kb_core.search import CHARS_PER_TOKEN
from kb_core.text import in_any_language
from kb_mcp.text import INDENT, few, joined, named, short, weight
from kb_mcp.text.telling import cut

__all__ = ["grep_text"]

_Json: TypeAlias = Mapping[str, Any]

_BUDGET = 1_250
"""Tokens of an answer for which nothing else was asked: lines alone say little, each."""
_OVER = "… {}: give path or a filter, files_only, or a larger max_tokens"
_COUNTED = 15
"""Characters of how many files there are more, at most."""
_LONGEST_LINES = (400, 240)
_LONGEST_LINE = 160
"""Characters that are shown of a line: the most with which all lines take half of the room."""
_NAMING = re.compile(
    r"\s*(?:(?:from|import|use|using|export \{|#\s*include|require)\b(?!.*[=(]\s*\w+\().*"
    r"|__all__\b.*|[\"']?[\w.]+[\"']?,?\s*)$"
)
"""A line of code that imports or lists names, or has one of a list by itself."""
_GIVES = re.compile(r"\s*([\w.]+)\s*(?::[^=\n]*)?=(?!=)")
"""A line that gives a name a value."""
_NUMBER = re.compile(r"[^=!<>]=(?![=>])[^\"'(\[{]*\b\d")
"""A line that gives something a number, perhaps unless another one is given."""
_DEFINES = re.compile(
    r"\s*(?:\w+\s+){0,4}"
    r"(?:function\*?|def|class|fn|func|sub|interface|type|struct|enum|trait)\s+([\w.]+)"
    r"|\s*[\"']?([\w.]+)[\"']?\s*:\s*\S"
)
"""A line that begins what is called so, or says what a key holds."""
_LONGEST_UNIT, _LARGEST_UNIT = 40, 250
"""Characters of the name of what a line stands in, and the lines of what nobody reads whole, of
which the name alone is told."""
_NAMED = "imported or listed: "
_ALSO_IN = "also in: "
_COPIED, _COPIES_NAMED = 40, 1
"""From so many characters on, a line that another file has, too, is a copy; so many are named."""
_SEVERAL_LANGUAGES = 3
"""From so many on, a message of a program is told in one of them."""
_MESSAGE = re.compile(r"\s*(?:<\w[^>]*?\bname=\"([^\"]+)\"|[\"']?([\w.-]+)[\"']?\s*(?:=>|[:=]))")
"""What a message is called in a file of messages."""
_LONGEST_LIST, _LISTED_PART = 300, 4
"""Characters of places, or of names, at the end, and the part of the room that each list has."""
_ELSEWHERE = "not defined here: "
_NAME = re.compile(r"[^\W\d]\w*")
_CUT = "…"
_LARGEST_SHARE = 3
"""One file of several has at most this part of the budget."""


def grep_text(found: _Json, max_tokens: int | None = None, *, is_all: bool = True) -> str:
    """Return grep_response.v1 as text; *is_all* says that nothing indexed was left out."""
    room = (max_tokens or _BUDGET) * CHARS_PER_TOKEN
    heading = [_found(found), *(f"warning: {short(one, 300)}" for one in found.get("warnings", ()))]
    first = few(heading, room // 3)
    room -= sum(weight(line) + 1 for line in first) + weight(_OVER) + _COUNTED
    files, naming = _without_naming(_without_translations(_without_copies(found["files"])))
    named_alone = len(found["files"]) - len(files)
    most = min(_LONGEST_LIST, room // _LISTED_PART)
    said_at_end = [_in_a_line(_NAMED, naming, most)] if naming else []
    if is_all and (elsewhere := _from_elsewhere(found)):
        said_at_end.append(_in_a_line(_ELSEWHERE, elsewhere, most))
    room -= sum(weight(line) + 1 for line in said_at_end)
    several = {file["doc_path"] for file in files if file.get("in_several")}
    several |= {file["doc_path"] for file in files if _times(files, file["doc_path"]) > 1}
    heads = [_head(file, several) for file in files]
    listed = _listed(heads, room if found["total_lines"] else 0)
    room -= sum(weight(head) + 1 for head in heads[:listed])
    parts, narrowed = list(first), 0
    shown = _of_length(files[:listed], room)
    chosen = _by_what_matches(shown, room)
    # Where others have lines, files without any are named in one line.
    said = chosen or [file["lines"] for file in shown]
    bare = {at for at, lines in enumerate(said) if not lines and any(said)}
    for at, file in enumerate(shown):
        if at in bare:
            continue
        lines, is_whole = _laid(file["lines"], chosen[at] if chosen else None, room, listed - at)
        narrowed += _is_narrowed(file["lines"], lines)
        if file["omitted"] or not is_whole or not lines:
            parts += [heads[at], *lines]
        else:
            parts += _whole(_head(file, several, is_counted=False), lines)
        room -= sum(weight(line) + 1 for line in lines)
    if bare:
        parts.append(_in_a_line(_ALSO_IN, [heads[at] for at in sorted(bare)]))
    parts += said_at_end
    rest = found["total_files"] - named_alone - listed
    over = [count(rest, "more file")] if rest else []
    over += [f"more lines around in {count(narrowed, 'file')}"] if narrowed else []
    if over:
        ways = ["path or a filter"] if is_all else []
        ways += ["files_only"] if rest else []
        ways += ["a larger max_tokens" if max_tokens else "max_tokens"]
        parts.append(f"… {' and '.join(over)}: give {_any_of(ways)}")
    return "\n".join(parts)


def _any_of(ways: Sequence[str]) -> str:
    return ", or ".join([", ".join(ways[:-1]), ways[-1]] if len(ways) > 1 else ways)


def _laid(
    lines: Sequence[_Json], chosen: Sequence[_Json] | None, room: int, files: int
) -> tuple[list[str], bool]:
    """Return the rows of a file, of the *chosen* lines if any are; and whether these are all.

    Others have to share the *room*: so many *files* in all.
    """
    if chosen is not None:
        return list(_rows(chosen)), len(chosen) == len(lines)
    rows, room = _shown(lines, room, files), max(room // files, room // _LARGEST_SHARE)
    fitting = _fitting(rows, room)
    is_whole = len(fitting) == len(rows)
    placed = list(_rows(lines, is_placed=True)) if is_whole else []
    has_room = placed and sum(weight(row) + 1 for row in placed) <= room
    return placed if has_room else fitting, is_whole


def _is_narrowed(lines: Sequence[_Json], rows: Sequence[str]) -> bool:
    """Say whether lines around those that match are not among the rows."""
    around = [line for line in lines if not line["is_match"]]
    return bool(around) and len(rows) < len(lines)


def _of_length(files: Sequence[_Json], room: int) -> list[_Json]:
    """Return files with what is shown of each line: rows of tables whole, if these are few."""
    for most in _LONGEST_LINES:
        lines = _cut_to(files, most)
        rows = (row for file in lines for row in _rows(file["lines"]))
        if sum(weight(row) + 1 for row in rows) <= room // 2:
            return lines
    return _cut_to(files, _LONGEST_LINE)


def _cut_to(files: Sequence[_Json], most: int) -> list[_Json]:
    return [
        {
            **file,
            "lines": [
                {**line, "shown": _text(line, most) + line.get("also", "")}
                for line in file["lines"]
            ],
        }
        for file in files
    ]


def _without_copies(files: Sequence[_Json]) -> list[_Json]:
    """Return files without the long lines that one before has, which says where they stand, too.

    Not those that define something: each of these is another thing.
    """
    lines = [(file, line) for file in files for line in file["lines"]]
    if not all(line["is_match"] for _, line in lines):
        return list(files)
    places: dict[str, list[tuple[str, int]]] = {}
    for file, line in lines:
        if _is_copyable(line):
            places.setdefault(line["text"].strip(), []).append((file["doc_path"], line["line"]))
    kept = list[_Json]()
    for file in files:
        own = list[_Json]()
        for line in file["lines"]:
            at = places[line["text"].strip()] if _is_copyable(line) else []
            others = [place for place in at if place[0] != at[0][0]]
            if not at or at[0][0] == file["doc_path"]:
                own.append({**line, "also": _also(others)} if others else line)
        kept += _with_fewer(file, own)
    return kept


def _with_fewer(file: _Json, lines: Sequence[_Json]) -> Iterator[_Json]:
    """Yield a file with what is left of its lines; not where that is nothing."""
    fewer = len(file["lines"]) - len(lines)
    if lines or not fewer or file["omitted"]:
        yield {**file, "lines": lines, "matches": file["matches"] - fewer}


def _is_copyable(line: _Json) -> bool:
    is_own = line.get("is_definition") or _begins(line)
    return not is_own and len(line["text"].strip()) >= _COPIED


def _also(places: Sequence[tuple[str, int]]) -> str:
    if len(places) <= _COPIES_NAMED:
        return f" · also {', '.join(f'{named(path)}:{line}' for path, line in places)}"
    return f" · also in {count(len({path for path, _ in places}), 'file')}"


def _without_translations(files: Sequence[_Json]) -> list[_Json]:
    """Return files without messages that others have in another language, which say so, too.

    A message is known by what it is called in files whose paths differ in the language alone.
    """
    if not all(line["is_match"] for file in files for line in file["lines"]):
        return list(files)
    told, left_out = dict[int, int](), set[int]()
    for said in _messages(files).values():
        languages = len({path for *_, path, _ in said})
        if languages >= _SEVERAL_LANGUAGES:
            *_, kept, _ = min(said, key=lambda one: one[:2])
            told.update((id(line), languages - 1) for *_, path, line in said if path == kept)
            left_out.update(id(line) for *_, path, line in said if path != kept)
    if not left_out:
        return list(files)
    rest = list[_Json]()
    for file in files:
        own = [_in_others(line, told) for line in file["lines"] if id(line) not in left_out]
        rest += _with_fewer(file, own)
    return rest


def _messages(
    files: Sequence[_Json],
) -> dict[tuple[str, str, str], list[tuple[bool, int, str, _Json]]]:
    """Return lines by the file that translations share, and what they are called in it.

    With each, whether it is not the English one, how long its path is, and that.
    """
    said: dict[tuple[str, str, str], list[tuple[bool, int, str, _Json]]] = {}
    for file in files:
        shared, lang = in_any_language(path := file["doc_path"])
        for line in file["lines"] if lang is not None else ():
            if key := _MESSAGE.match(line["text"]):
                among = file["source_id"], shared, key[1] or key[2]
                said.setdefault(among, []).append((lang != "en", len(path), path, line))
    return said


def _in_others(line: _Json, told: Mapping[int, int]) -> _Json:
    if id(line) not in told:
        return line
    return {**line, "also": f"{line.get('also', '')} · also in {told[id(line)]} other languages"}


def _without_naming(files: Sequence[_Json]) -> tuple[list[_Json], list[str]]:
    """Return files without the lines that only import or list what others tell more of.

    And the places of these lines, as far as their number is that of few lines.
    """
    lines = [(file, line) for file in files for line in file["lines"]]
    if not all(line["is_match"] for _, line in lines):
        return list(files), []
    telling = {_matched(line) for file, line in lines if not _is_naming(file, line)}
    kept, places = list[_Json](), list[str]()
    for file in files:
        naming = (line for line in file["lines"] if _is_naming(file, line))
        own = [line for line in naming if _matched(line) in telling]
        at = ",".join(str(line["line"]) for line in own)
        places += [f"{named(file['doc_path'])}:{at}"] if own else []
        left = [line for line in file["lines"] if line not in own]
        if left or not own or file["omitted"]:
            kept.append({**file, "lines": left, "matches": file["matches"] - len(own)})
    return kept, places


def _in_a_line(label: str, said: Sequence[str], most: int = _LONGEST_LIST) -> str:
    """Return what is said in so many characters at *most*, and how much more there is."""
    spent = accumulate(len(one) + 2 for one in said)
    shown = [one for one, so_far in zip(said, spent, strict=True) if so_far <= most]
    more = [f"{len(said) - len(shown)} more"] if len(shown) < len(said) else []
    return label + ", ".join([*shown, *more])


def _from_elsewhere(found: _Json) -> list[str]:
    """Return the names that code imports and that no line defines, if all lines are there."""
    files = found["files"]
    if found["total_files"] > len(files) or any(file["omitted"] for file in files):
        return []
    imported, defined = dict[str, None](), set[str]()
    for file in files:
        for line in file["lines"]:
            left, right = (line.get("spans") or [[0, 0]])[0]
            name = line["text"][left:right]
            is_own = line.get("is_definition") or _gives(line) or _gives(line, _DEFINES)
            if is_own or line["text"].strip() == name:  # alone, as one of an enumeration
                defined.add(name)
            elif _is_whole_name(line["text"], left, right) and _is_naming(file, line):
                imported[name] = None
    return [name for name in imported if name not in defined]


def _is_whole_name(text: str, left: int, right: int) -> bool:
    """Say whether what matches is a name, and not a part of one, nor within quotation marks."""
    around = text[left - 1 : left] + text[right : right + 1]
    is_part = any(letter.isalnum() or letter in "_\"'" for letter in around)
    return not is_part and _NAME.fullmatch(text, left, right) is not None


def _is_naming(file: _Json, line: _Json) -> bool:
    return file["media"] == Media.CODE.value and bool(_NAMING.match(line["text"]))


def _by_what_matches(files: Sequence[_Json], room: int) -> list[list[_Json]] | None:
    """Return of each file the lines that there is room for, where not all have any.

    A pattern such as ``a|b|c`` asks for several things, of which one may be everywhere. So each
    alternative has its first line of a file before another has its second, what is rare before
    what is not, and lines that define go before all, with one of each alternative; of lines of the
    same, those that match another, too, give a value to what matches, or a number to something,
    are the first. Nothing is chosen where lines stand around others.
    """
    lines = [(at, line) for at, file in enumerate(files) for line in file["lines"]]
    if not all(line["is_match"] for _, line in lines):
        return None
    costs = [sum(weight(row) + 1 for row in _rows([line])) for _, line in lines]
    if sum(costs) <= room:
        return None
    everywhere = Counter(said for _, line in lines for said in _sought(line))
    here: Counter[tuple[int, str | int]] = Counter()
    defining = (line for _, line in lines if line.get("is_definition"))
    told = {said for line in defining for said in line.get("alternatives", ())}
    turns: list[tuple[int, int, int]] = []
    for number in sorted(range(len(lines)), key=lambda number: _tells_least(lines[number][1])):
        at, line = lines[number]
        sought = _sought(line)
        here.update((at, said) for said in sought)
        is_first = not told.issuperset(line.get("alternatives", ()))
        told.update(line.get("alternatives", ()))
        is_early = is_first or line.get("is_definition")
        turn = 0 if is_early else min(here[at, said] for said in sought)
        turns.append((turn, min(everywhere[said] for said in sought), number))
    chosen: list[list[_Json]] = [[] for _ in files]
    for *_, number in sorted(turns):
        if costs[number] <= room:
            room -= costs[number]
            at, line = lines[number]
            chosen[at].append(line)
    return [sorted(of, key=lambda line: line["line"]) for of in chosen]


def _gives(line: _Json, form: re.Pattern[str] = _GIVES) -> bool:
    """Say whether a line gives a name a value, or else has *form*, with the match in the name."""
    left, right = (line.get("spans") or [[0, 0]])[0]
    given = form.match(line["text"])
    if given is None:
        return False
    start, end = given.span(given.lastindex or 0)
    return bool(start <= left < right <= end)


def _tells_least(line: _Json) -> tuple[int, bool, bool]:
    number = _NUMBER.search(line["text"])
    return -len(line.get("alternatives", ())), not _gives(line), number is None


def _sought(line: _Json) -> Sequence[str | int]:
    """Return what a line was looked for by: its alternatives, or else the text that matches."""
    return line.get("alternatives") or [_matched(line)]


def _matched(line: _Json) -> str:
    left, right = (line.get("spans") or [[0, 0]])[0]
    return str(line["text"][left:right]).casefold()


def _whole(head: str, lines: Sequence[str]) -> list[str]:
    """Return a file of which all lines are shown: one alone on the line of its path."""
    is_one = len(lines) == 1 and lines[0][:1].isdigit() and " · " not in head
    return [f"{head}:{lines[0]}"] if is_one else [head, *lines]


def _times(files: Sequence[_Json], path: str) -> int:
    return sum(file["doc_path"] == path for file in files)


def _found(found: _Json) -> str:
    lines, files = found["total_lines"], found["total_files"]
    ignored = "case ignored" if found["case"] == "ignore" else ""
    if not lines:
        looked = count(found["searched"], "document")
        return joined(f"no line matches, in {looked}", ignored)
    return joined(f"{count(lines, 'line')} in {count(files, 'file')}", ignored)


def _head(file: _Json, several: set[str], *, is_counted: bool = True) -> str:
    return joined(
        named(file["doc_path"]),
        count(file["matches"], "match", "matches") if is_counted else "",
        f"source {short(file['source_id'])}" if file["doc_path"] in several else "",
        "stale" if file["stale"] else "",
    )


def _listed(heads: Sequence[str], room: int) -> int:
    """Return how many files have room for their head, if that takes half of it."""
    spent, at = 0, 0
    for at, head in enumerate(heads, start=1):
        spent += weight(head) + 1
        if spent > room // 2:
            return max(1, at - 1)
    return at


def _shown(lines: Sequence[_Json], room: int, files: int) -> list[str]:
    """Return the rows of a file; where there is no room for all that is around matches, with less.

    With half of it, half of that and so on, if that has room when every file takes as much.
    """
    rows = list(_rows(lines))
    spent = sum(weight(row) + 1 for row in rows)
    matching = [line["line"] for line in lines if line["is_match"]]
    around = max((_distance(line["line"], matching) for line in lines), default=0)
    most = max(room // files, room // _LARGEST_SHARE)
    while spent > most and around:
        around, most = around // 2, room // files
        near = [line for line in lines if _distance(line["line"], matching) <= around]
        rows = list(_rows(near))
        spent = sum(weight(row) + 1 for row in rows)
    return rows


def _distance(number: int, numbers: Sequence[int]) -> int:
    """Return how far it is to the nearest of some *numbers*, which ascend."""
    at = bisect_left(numbers, number)
    return min(abs(number - other) for other in numbers[max(0, at - 1) : at + 1])


def _fitting(rows: Sequence[str], room: int) -> list[str]:
    """Return the rows that there is room for, the first ones."""
    spent = accumulate(weight(row) + 1 for row in rows)
    return [row for row, so_far in zip(rows, spent, strict=True) if so_far <= room]


def _rows(lines: Sequence[_Json], *, is_placed: bool = False) -> Iterator[str]:
    """Yield the lines of a file; those that say the same as one, where none is between them.

    With *is_placed*, and where others stand around them, the first line that matches of several in
    one function has the place of that.
    """
    is_bare = all(line["is_match"] for line in lines)
    same: dict[str, list[str]] = {}
    matching = (line for line in lines if line["is_match"])
    units = _units([*matching]) if is_placed or not is_bare else {}
    numbers = {line["line"] for line in lines}
    for line in lines:
        text, place = line["shown"], line.get("uri", "").rpartition("#")[2]
        # Of a notebook or a page of the web, the line of its text is none of the file.
        by_lines = place in {"", f"L{line['line']}"}
        at = str(line["line"]) if by_lines else f"{INDENT}#{short(place)}"
        if is_bare:
            at += f"-{line['unit_end']}" if by_lines and _begins(line) else ""
            same.setdefault(text.lstrip(), []).append(at)
        else:
            unit = units.get(at, "") if line["is_match"] else ""
            if by_lines and _begins(line) and line["unit_end"] not in numbers:
                unit = f" · to {line['unit_end']}"
            yield f"{at}{':' if line['is_match'] else '-'} {text}".rstrip() + unit
    for said, places in same.items():
        margin = INDENT if places[0].startswith(INDENT) else ""
        # A passage of seconds may say a line twice, at one place.
        told = ", ".join(dict.fromkeys(map(str.strip, places)))
        unit = units.get(places[0], "") if len(places) == 1 else ""
        yield f"{margin}{told}: {said.rstrip()}{unit}"


def _begins(line: _Json) -> bool:
    """Say whether a function or the like begins with a line, and ends with another."""
    return "unit_end" in line and line.get("unit_start", line["line"]) == line["line"]


def _units(lines: Sequence[_Json]) -> dict[str, str]:
    """Return in what lines stand, by their numbers, of the first of several in one function.

    What another line defines, with its last line, is known from there.
    """
    units: dict[str, str] = {}
    told = {line["unit_end"] for line in lines if _begins(line)}
    last = None
    for line in lines:
        end = line["unit_end"] if "unit" in line else None
        is_new = end is not None and end != last and end not in told
        if is_new:
            name = short(line["unit"].rpartition(".")[2], _LONGEST_UNIT)
            is_read = end - line["unit_start"] < _LARGEST_UNIT
            place = f" {line['unit_start']}-{end}" if is_read else ""
            units[str(line["line"])] = f" · in {name}{place}"
        last = end
    return units


def _text(line: _Json, most: int) -> str:
    """Return what is shown of a line: of one above *most*, what stands around the first match."""
    spans = line.get("spans") or [[0, 0]]
    text = cut(line["text"].rstrip(), spans[0][0], most)
    if line.get("cut") and not text.endswith(_CUT):
        text += _CUT
    return printable(text, keep="\t")
