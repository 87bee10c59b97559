"""Packing: ranked chunks become evidence that a language model reads, as data.

* Chunks go in whole, in rank order, as long as they fit. Neighbours in a document become one
  **item**, which is read in one go. Items are numbered by the rank of their best chunk.
* An item stands between two lines that begin with the **fence**: its header, one line, and
  its end. The fence is a hash of all the evidence, taken again until no part of the evidence
  holds it. So evidence cannot end itself, nor begin another item, however it is written; and
  equal evidence has an equal fence.
* Signs that models take for more than text lose that power by a blank behind their bracket:
  those that turn the roles of a conversation, such as ``< |im_start|>``, and numbers that
  would be read as citations, such as ``[ 1]``. What nobody sees, such as tags and marks of
  direction, is left out. ``squeezed`` is what both forms of a text have in common.

Pure: nothing here asks a model or the time.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import count

from kb_app.shown import is_hidden
from kb_core.citations import citation_of
from kb_core.errors import InvalidInput
from kb_core.media import Media
from kb_core.ports import StoredChunk
from kb_core.values import dataclass

__all__ = ["Item", "Packed", "defused", "estimated_tokens", "pack", "squeezed"]

_ROLES = re.compile(
    r"<(?=[|｜]|</?SYS>>|/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response)>"
    r"|(?:start|end)_(?:of_turn|header_id)>|unused\d+>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
    r"|\[(?=\d+\])",
    re.IGNORECASE,
)
"""The bracket of what the templates of common models turn roles with, and of a citation."""
_FENCE_BYTES = 6
_FENCE_LIKE = f"=={'0d' * _FENCE_BYTES}=="
"""What a fence is as long as."""

_ASCII_LETTER = 0.37
_ASCII_OTHER = 1.0
_ALPHABETIC = 1.5
_HAN = 2.0
_OTHER = 2.7
"""Tokens for a character, so that a vocabulary that knows little but English has no more."""
_ASCII_END = "\x7f"
_ALPHABETIC_END = "\u0590"
"""Up to here: Latin, Greek, Cyrillic, Armenian."""
_IS_HAN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
"""Han, Kana, and the punctuation of both."""


@dataclass(frozen=True, slots=True)
class Item:
    """Neighbouring chunks of one document, in reading order: what one number cites."""

    number: int
    chunks: tuple[StoredChunk, ...]
    text: str
    """All of them, verbatim, what they share once."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The evidence of a question, as a model is to read it."""

    items: tuple[Item, ...]
    left_out: tuple[StoredChunk, ...]
    """What did not fit, in rank order."""
    fence: str
    """Begins the first and the last line of every item, and stands nowhere else."""
    text: str
    tokens: int
    """Of ``text``, as they were counted."""


def pack(chunks: Sequence[StoredChunk], budget: int, counted: Callable[[str], int]) -> Packed:
    """Return the evidence in *chunks*, best first, that takes *budget* tokens at most.

    *counted* says how many tokens a text has: the model's own count, or ``estimated_tokens``.
    Raises ``InvalidInput`` where there are chunks and none of them fits.
    """
    unique = list({chunk["chunk_key"]: chunk for chunk in chunks}.values())
    costs = [counted(_rendered(_alone(chunk, len(unique)), _FENCE_LIKE)) for chunk in unique]
    taken: list[StoredChunk] = []
    left = budget
    for chunk, cost in zip(unique, costs, strict=True):
        if cost <= left:
            taken.append(chunk)
            left -= cost
    packed = _packed(unique, taken, counted)
    while packed.tokens > budget and taken:  # one fence may take more tokens than another
        taken.pop()
        packed = _packed(unique, taken, counted)
    if unique and not taken:
        raise _too_small(budget, min(costs))
    return packed


def estimated_tokens(text: str) -> int:
    """Return a safe estimate of the tokens of *text* for a model whose vocabulary is unknown.

    Over paragraphs of xquad, korquad and jsquad it is 0.96 to 1.53 times what SmolLM2 counts,
    whose vocabulary is made for English.
    """
    total = sum(_weight(character) * times for character, times in Counter(text).items())
    return int(total) + 1


def _weight(character: str) -> float:
    if character <= _ASCII_END:
        if character.isalpha():
            return _ASCII_LETTER
        return 0.0 if character in " \t\r" else _ASCII_OTHER
    if character < _ALPHABETIC_END:
        return _ALPHABETIC
    return _HAN if _IS_HAN.match(character) else _OTHER


def defused(text: str) -> str:
    """Return *text* without what nobody sees, and without signs that are more than text."""
    shown = "".join(c for c in text if c in "\n\t" or not is_hidden(c))
    return _ROLES.sub(lambda bracket: bracket.group() + " ", shown)


def squeezed(text: str) -> str:
    """Return *text* without white space and what nobody sees: what ``defused`` leaves alone."""
    return "".join(c for c in text if not (c.isspace() or is_hidden(c)))


def _too_small(budget: int, least: int) -> InvalidInput:
    return InvalidInput(
        f"no passage fits into the {max(budget, 0)} tokens that are left for evidence; "
        f"the smallest takes {least}",
        hint="raise [ask] context_tokens to what the model can keep in mind",
        details={"evidence_tokens": budget, "least_tokens": least},
    )


def _alone(chunk: StoredChunk, number: int) -> Item:
    return Item(number, (chunk,), chunk["text"])


def _packed(
    chunks: Sequence[StoredChunk], taken: Sequence[StoredChunk], counted: Callable[[str], int]
) -> Packed:
    keys = {chunk["chunk_key"] for chunk in taken}
    items = tuple(_items(taken))
    fence = _fence_of(items)
    text = "\n".join(_rendered(item, fence) for item in items)
    left_out = tuple(chunk for chunk in chunks if chunk["chunk_key"] not in keys)
    return Packed(items, left_out, fence, text, counted(text) if text else 0)


def _items(chunks: Sequence[StoredChunk]) -> Iterator[Item]:
    """Put neighbours together; number the groups by the best chunk of each."""
    ranks = {chunk["chunk_key"]: rank for rank, chunk in enumerate(chunks)}
    groups: list[list[StoredChunk]] = []
    for chunk in sorted(chunks, key=lambda chunk: (chunk["doc_id"], chunk["ordinal"])):
        if groups and _follows(groups[-1][-1], chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    groups.sort(key=lambda group: min(ranks[chunk["chunk_key"]] for chunk in group))
    for number, group in enumerate(groups, 1):
        yield Item(number, tuple(group), _joined(group))


def _follows(before: StoredChunk, chunk: StoredChunk) -> bool:
    return (before["doc_id"], before["ordinal"] + 1) == (chunk["doc_id"], chunk["ordinal"])


def _joined(chunks: Sequence[StoredChunk]) -> str:
    """Return the text of neighbours; only white space is between them that do not overlap."""
    text, end = chunks[0]["text"], chunks[0]["end"]
    for chunk in chunks[1:]:
        shared = end - chunk["start"]
        if shared >= 0:
            text += chunk["text"][shared:]
        else:
            text += "\n" * min(-shared, 2) + chunk["text"]
        end = max(end, chunk["end"])
    return text


def _fence_of(items: Sequence[Item]) -> str:
    """Return a fence that no part of the items holds."""
    parts = [part for item in items for part in (*_header(item), item.text)]
    held = "".join(_plain(part) for part in parts)
    fences = (_fence(attempt, parts) for attempt in count())
    return next(fence for fence in fences if _plain(fence) not in held)


def _fence(attempt: int, parts: Iterable[str]) -> str:
    digest = blake2b(attempt.to_bytes(8), digest_size=_FENCE_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8) + part.encode("utf-8", "surrogatepass"))
    return f"=={digest.hexdigest()}=="


def _plain(text: str) -> str:
    """Return what a fence and its likenesses have in common: width, case and blanks are off."""
    return unicodedata.normalize("NFKC", squeezed(text)).casefold()


def _rendered(item: Item, fence: str) -> str:
    header = "; ".join(_header(item))
    return f"{fence} EVIDENCE [{item.number}] {header}\n{defused(item.text)}\n{fence} END"


def _header(item: Item) -> list[str]:
    """Return what is known of an item, each in one line, a document's own words among it."""
    chunk = item.chunks[0]
    places = [citation_of(each).bare().uri for each in item.chunks]
    start = places[0].partition("#")[0]
    fragments = dict.fromkeys(place.removeprefix(start) for place in places[1:])
    parts = {
        "place": ", ".join([places[0], *(part for part in fragments if part)]),
        "heading": " > ".join(dict.fromkeys((chunk["title"], *chunk["heading_path"]))),
        "date": _day(chunk["doc_date"]),
        "source": chunk["source_id"],
        "trust": chunk["trust_level"],
        "kind": "code" if chunk["media"] == Media.CODE.value else "",
    }
    return [f"{name}: {_flat(value)}" for name, value in parts.items() if value]


def _flat(text: str) -> str:
    """Return *text* in one line that has no more parts than it had."""
    return " ".join(defused(text).replace(";", ",").split())


def _day(seconds: int | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
