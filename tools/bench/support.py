"""Whether the check of answers keeps what the evidence says and drops what it does not.

No collection holds answers with their faults, so this makes pairs of them: a sentence of a
paragraph is lightly reworded, as somebody who answers from it would (a clause dropped, its
parts in another order, other words for some, two sentences in one), and must be kept; copies of
that with another number, another name, or a negation put in or taken out must be caught. Other
numbers and names stand elsewhere in the same paragraph for every second pair, and are those of
other paragraphs for the rest. Names are the answers that people marked in the paragraph.

    python tools/bench/support.py                     six languages, 150 paragraphs each
    python tools/bench/support.py --show denial       what was judged wrongly, with its faults

Printed by language: how many sentences of each kind there were, and how many were judged rightly.
Paragraphs with an even number were looked at while the check was made; ``--half odd`` measures
the others.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ir import add_data_option
from machine import describe_machine, machine_line
from tables import render_table

from kb_app._ask.checking import Judged, check
from kb_app._ask.packing import Item
from kb_core.sentences import sentence_spans
from kb_core.testing.documents import Corpus, stored_chunk

__all__ = ["Case", "cases", "judged", "main"]

SETS = {
    "en": "xquad-en",
    "de": "xquad-de",
    "es": "xquad-es",
    "zh": "xquad-zh",
    "ko": "korquad1-dev",
    "ja": "jsquad-valid",
}
WIDE = {"zh", "ja", "ko"}
KINDS = ("kept", "figure", "name", "denial")

SYNONYMS: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("also", "in addition"), ("began", "started"), ("large", "big"), ("many", "numerous"),
        ("often", "frequently"), ("however", "though"), ("such as", "like"), ("used", "employed"),
        ("about", "roughly"), ("because", "since"), ("important", "significant"),
    ),
    "de": (
        ("auch", "ebenfalls"), ("jedoch", "aber"), ("begann", "fing an"), ("große", "bedeutende"),
        ("viele", "zahlreiche"), ("oft", "häufig"), ("etwa", "ungefähr"), ("sowie", "und"),
        ("wichtige", "bedeutsame"),
    ),
    "es": (
        ("también", "asimismo"), ("sin embargo", "pero"), ("comenzó", "empezó"),
        ("muchos", "numerosos"), ("grande", "importante"), ("como", "tal como"),
        ("aproximadamente", "alrededor de"),
    ),
    "zh": (("但是", "不过"), ("并且", "而且"), ("因此", "所以"), ("以及", "和"), ("非常", "很")),
    "ja": (("しかし", "だが"), ("及び", "と"), ("した。", "しました。"), ("である。", "です。")),
    "ko": (("그러나", "하지만"), ("했다.", "했습니다."), ("이다.", "입니다."), ("및", "와")),
}  # fmt: skip
DENIALS: dict[str, tuple[tuple[str, str], ...]] = {
    "en": tuple(
        (rf"\b{verb}\b(?! not|n't)", f"{verb} not")
        for verb in ("was", "were", "is", "are", "had", "has", "have", "can", "could", "will")
    ),
    "de": tuple(
        (rf"\b{verb}\b(?! nicht)", f"{verb} nicht")
        for verb in ("wurde", "wurden", "ist", "war", "sind", "waren", "hat", "hatte", "kann")
    ),
    "es": tuple(
        (rf"(?<!no )\b{verb}\b(?! decir)", f"no {verb}")
        for verb in ("fue", "es", "era", "son", "fueron", "tiene", "había", "están", "está")
    ),
    "zh": ((r"(?<!不)是", "不是"), (r"(?<!没)有(?!关|时|些)", "没有"), (r"(?<!不)能", "不能")),
    "ja": (
        (r"しました。", "しませんでした。"), (r"した。", "しなかった。"),
        (r"である。", "ではない。"),
        (r"された。", "されなかった。"), (r"いる。", "いない。"), (r"だった。", "ではなかった。"),
        (r"です。", "ではありません。"),
    ),
    "ko": (
        (r"하였다\.", "하지 않았다."), (r"했다\.", "하지 않았다."), (r"되었다\.", "되지 않았다."),
        (r"있다\.", "없다."), (r"했습니다\.", "하지 않았습니다."), (r"입니다\.", "이 아닙니다."),
        (r"이다\.", "이 아니다."),
    ),
}  # fmt: skip
DENIED = {"en": r" not\b", "de": r" nicht\b", "es": r"\bno (?=\w)", "zh": "不(?=[会能是])"}
WORDS, SIGNS = range(6, 46), range(15, 141)
"""How long a sentence may be."""
SENTENCES = 3
"""Of each paragraph, at most."""
FEWEST_CLAUSES = 3
HALF = 0.5
LETTERS_OF_NAME = range(4, 80)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WIDE_NAME = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff\uac00-\ud7a3·・]{2,8}")
CLAUSE = re.compile(r",\s+|[，、]|(?<=[^\d\s]),(?=[^\d\s])")
DENYING = re.compile(
    r"\b(?:not?|never|without|neither|nor|cannot|nicht|kein\w*|ohne|nie|weder|no|ni|sin|nunca"
    r"|ning[uú]n\w*|tampoco)\b|n't|不|没|未|无|ない|なかっ|ませ|ず|않|없|못|아니",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A statement about a paragraph, and what is to become of it."""

    lang: str
    kind: str
    """``kept``, or what was changed in it."""
    text: str
    item: Item
    number: int
    """Of the paragraph."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A passage with the answers that people marked in it."""

    item: Item
    text: str
    answers: tuple[str, ...]
    number: int


def cases(data: Path, lang: str, most: int) -> Iterator[Case]:
    """Yield the cases of *most* paragraphs of a language."""
    paragraphs = _paragraphs(data / SETS[lang], lang)[:most]
    names = [name for each in paragraphs for name in _names(each, lang)]
    chance = random.Random(7)  # noqa: S311 - repeatable
    for each in paragraphs:
        spans = sentence_spans(each.text)
        sentences = [s for s in (each.text[a:b] for a, b in spans) if _is_plain(s, lang)]
        for at in range(min(len(sentences), SENTENCES)):
            said = _reworded(sentences, at, lang, chance)
            yield Case(lang, "kept", said, each.item, each.number)
            for kind, changed in _swapped(said, each, lang, names, chance):
                yield Case(lang, kind, changed, each.item, each.number)


def _paragraphs(folder: Path, lang: str) -> list[Paragraph]:
    answers: dict[str, list[str]] = defaultdict(list)
    gold = {row["_id"]: row["answers"] for row in _rows(folder / "answers.jsonl")}
    for file in sorted((folder / "qrels").iterdir()):
        for line in file.read_text("utf-8").splitlines()[1:]:
            query, known = line.split("\t")[:2]
            answers[known] += gold.get(query, [])
    corpus, found = Corpus(), []
    for number, row in enumerate(_rows(folder / "corpus.jsonl")):
        text = " ".join(row["text"].rpartition("[SEP]")[2].split())
        doc = corpus.document(f"{number}.md", text, title=row["title"] or "-", lang=lang)
        if doc.chunks:
            item = Item(1, (stored_chunk(doc.chunks[0], doc),), text)
            found.append(Paragraph(item, text, tuple(dict.fromkeys(answers[row["_id"]])), number))
    return found


def _rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _is_plain(sentence: str, lang: str) -> bool:
    if lang in WIDE:
        return len(sentence) in SIGNS and sentence[-1] in "。."
    return len(sentence.split()) in WORDS and sentence[-1] == "."


def _reworded(sentences: Sequence[str], at: int, lang: str, chance: random.Random) -> str:
    """Return a sentence as somebody says it who has read it."""
    said = sentences[at]
    ways: list[Callable[[], str]] = [
        lambda: _without_clause(said, lang, chance),
        lambda: _turned(said, lang),
        lambda: _with_synonyms(said, lang),
        lambda: _joined(sentences, at, lang),
    ]
    chance.shuffle(ways)
    return next((new for way in ways if (new := way()) != said), said)


def _without_clause(said: str, lang: str, chance: random.Random) -> str:
    parts = CLAUSE.split(said[:-1])
    if len(parts) < FEWEST_CLAUSES:
        return said
    parts.pop(chance.randrange(1, len(parts) - 1))
    return _comma(lang).join(parts) + said[-1]


def _turned(said: str, lang: str) -> str:
    """Put what comes before the first comma to the end, where it is short."""
    first, *rest = CLAUSE.split(said[:-1], maxsplit=1)
    if not rest or len(first) > len(rest[0]) / 3 or lang in WIDE:
        return said
    return f"{rest[0][0].upper()}{rest[0][1:]} {first[0].lower()}{first[1:]}{said[-1]}"


def _with_synonyms(said: str, lang: str) -> str:
    for word, other in SYNONYMS[lang]:
        bounds = r"(?<!\w){}(?!\w)" if lang not in WIDE else "{}"
        said = re.sub(bounds.format(re.escape(word)), other, said)
    return said


def _joined(sentences: Sequence[str], at: int, lang: str) -> str:
    if at + 1 >= len(sentences):
        return sentences[at]
    joint = {"en": ", and ", "de": ", und ", "es": ", y ", "zh": ",", "ja": "、", "ko": " 그리고 "}
    following = sentences[at + 1]
    first = re.match(r"[^\W\d_]+", following)
    if first and re.search(rf"\b{first.group().lower()}\b", " ".join(sentences)):
        following = following[0].lower() + following[1:]
    return sentences[at][:-1] + joint[lang] + following


def _comma(lang: str) -> str:
    return {"zh": ",", "ja": "、"}.get(lang, ", ")


def _swapped(
    said: str, paragraph: Paragraph, lang: str, names: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, str]]:
    numbers = NUMBER.findall(said)
    if numbers:
        old = chance.choice(numbers)
        elsewhere = [n for n in NUMBER.findall(paragraph.text) if n not in numbers]
        new = chance.choice(elsewhere) if elsewhere and chance.random() < HALF else _near(old)
        yield "figure", re.sub(rf"(?<![\d.,]){re.escape(old)}(?![\d])", new, said)
    here = [name for name in _names(paragraph, lang) if name in said]
    if here:
        old = chance.choice(here)
        near = [n for n in _names(paragraph, lang) if n not in said and n not in old]
        far = [n for n in names if n not in paragraph.text]
        new = chance.choice(near if near and chance.random() < HALF else far)
        yield "name", said.replace(old, new)
    if denied := _denied(said, lang):
        yield "denial", denied


def _near(number: str) -> str:
    """Return another number that looks the same."""
    return "".join(str((int(c) + 1 + at) % 10) if c.isdigit() else c for at, c in enumerate(number))


def _names(paragraph: Paragraph, lang: str) -> list[str]:
    """Return the answers of a paragraph that are names."""
    if lang in WIDE:
        return [answer for answer in paragraph.answers if WIDE_NAME.fullmatch(answer)]
    return [
        answer
        for answer in paragraph.answers
        if len(answer) in LETTERS_OF_NAME
        and all(word[0].isupper() for word in answer.split())
        and not re.search(r"\d", answer)
        and re.search(rf"[^.!?] {re.escape(answer)}", paragraph.text)
    ]


def _denied(said: str, lang: str) -> str:
    pattern = DENIED.get(lang)
    if pattern and len(DENYING.findall(said)) == 1 and re.search(pattern, said):
        return re.sub(pattern, "", said, count=1)
    if DENYING.search(said):  # a second one may mean the same as none
        return ""
    for old, new in DENIALS[lang]:
        if re.search(old, said):
            return re.sub(old, new, said, count=1)
    return ""


def judged(case: Case) -> Judged:
    """Return what the check makes of a case, of its worst statement if there are several."""
    body = case.text[:-1] + f" [1]{case.text[-1]}"
    found = check(body, [case.item]).judged
    return max(found, key=lambda each: (each.statement.states, len(each.faults)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pairs, judge them, print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add_data_option(parser)
    parser.add_argument("--paragraphs", type=int, default=150, help="of each language")
    parser.add_argument("--half", choices=("even", "odd", "both"), default="both")
    parser.add_argument("--show", choices=KINDS, help="cases of this kind that are judged wrongly")
    options = parser.parse_args(arguments)
    print(machine_line(describe_machine()))
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for lang in SETS:
        for case in cases(options.data, lang, options.paragraphs):
            if options.half != "both" and (case.number % 2 == 1) != (options.half == "odd"):
                continue
            found = judged(case)
            is_right = found.is_good == (case.kind == "kept")
            for who in (lang, "all"):
                right[who, case.kind].append(is_right)
            if options.show == case.kind and not is_right:
                print(f"{lang} {case.number}: {case.text}\n    {found.faults}")
    print(render_table(["", *KINDS, "caught"], [_row(who, right) for who in (*SETS, "all")]))
    return 0


def _row(who: str, right: Mapping[tuple[str, str], Sequence[bool]]) -> list[str]:
    shown = [_share(right[who, kind]) for kind in KINDS]
    swapped = [each for kind in KINDS[1:] for each in right[who, kind]]
    return [who, *shown, _share(swapped)]


def _share(found: Sequence[bool]) -> str:
    return f"{sum(found) / len(found):.3f} of {len(found)}" if found else "-"


if __name__ == "__main__":
    sys.exit(main())
