"""Evidence for a language model: whole, numbered, and data whatever it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ask import packing
from kb_app._ask.packing import Packed, defused, estimated_tokens, pack, squeezed
from kb_app._ask.prompts import NOT_ENOUGH, PROMPT_VERSION, prompt, room_of, says_not_enough
from kb_app.testing.injections import INJECTIONS, Injection
from kb_core.errors import InvalidInput
from kb_core.ports import StoredChunk
from kb_core.testing.documents import Corpus, stored_chunk
from kb_core.testing.fakes import WordCounter

PLENTY = 1_000_000
KEYS = count(1)
words = WordCounter().count


def chunks_of(*texts: str, **fields: object) -> list[StoredChunk]:
    """Return the paragraphs of documents ``0.md``, ``1.md`` and on, in order."""
    corpus = Corpus()
    docs = [corpus.document(f"{n}.md", text, **fields) for n, text in enumerate(texts)]
    return [stored_chunk(chunk, doc) for doc in docs for chunk in doc.chunks]


def one_chunk(text: str, **fields: object) -> StoredChunk:
    """Return a chunk of its own that has all of *text*."""
    whole = {"text": text, "end": len(text), "chunk_key": next(KEYS)}
    return cast("StoredChunk", {**chunks_of("x")[0], **whole, **fields})


def bodies(packed: Packed) -> list[tuple[str, str]]:
    """Read the evidence as somebody who knows only the fence: headers and what they head."""
    found: list[tuple[str, str]] = []
    inside: list[str] | None = None
    for line in packed.text.split("\n") if packed.text else []:
        if not line.startswith(packed.fence):
            assert inside is not None, line
            assert packed.fence not in line
            inside.append(line)
        elif inside is None:
            inside = [line.removeprefix(packed.fence).strip()]
        else:
            assert line == f"{packed.fence} END"
            found.append((inside[0], "\n".join(inside[1:])))
            inside = None
    assert inside is None
    return found


def test_evidence_is_headed_by_number_place_heading_date_source_and_trust() -> None:
    made = datetime(2024, 2, 29, tzinfo=UTC)
    text = "# Boats\n\nThe Walrus sank in 1912.\n"
    chunks = chunks_of(text, doc_date=made, trust_level="secondary", source_id="logs")

    packed = pack(chunks[1:], PLENTY, words)

    assert packed.text == (
        f"{packed.fence} EVIDENCE [1] place: 0.md#L3; heading: Boats; date: 2024-02-29; "
        f"source: logs; trust: secondary\nThe Walrus sank in 1912.\n{packed.fence} END"
    )


def test_numbers_go_by_rank() -> None:
    first, second, third = chunks_of("one", "two", "three")

    packed = pack([third, first, second], PLENTY, words)

    assert [(item.number, item.text) for item in packed.items] == [
        (1, "three"),
        (2, "one"),
        (3, "two"),
    ]


def test_neighbours_are_read_in_one_go_under_the_number_of_the_better() -> None:
    a, b, c, d, other = chunks_of("a a\n\nb b\n\nc c\n\nd d", "other")

    packed = pack([d, other, b, a], PLENTY, words)

    assert [item.text for item in packed.items] == ["d d", "other", "a a\n\nb b"]
    assert packed.items[2].chunks == (a, b)
    assert "place: 0.md#L1, #L3;" in packed.text
    assert [item.text for item in pack([c, a, b], PLENTY, words).items] == ["a a\n\nb b\n\nc c"]


def test_what_neighbours_share_is_read_once() -> None:
    left, right = chunks_of("one two three\n\nthree four")
    left["end"], right["start"] = 13, 8

    (item,) = pack([left, right], PLENTY, words).items

    assert item.text == "one two three four"


def test_a_chunk_that_is_given_twice_counts_once() -> None:
    (only,) = chunks_of("one")

    assert pack([only, only], PLENTY, words) == pack([only], PLENTY, words)


def test_what_does_not_fit_is_left_out_whole_and_the_next_may_fit() -> None:
    short, long, last = chunks_of("a few words", "many words " * 50, "some more")
    budget = pack([short, last], PLENTY, words).tokens + 3

    packed = pack([short, long, last], budget, words)

    assert [item.text for item in packed.items] == ["a few words", "some more"]
    assert packed.left_out == (long,)
    assert packed.tokens <= budget


def test_a_budget_for_nothing_says_what_is_needed() -> None:
    chunks = chunks_of("a few words")
    least = pack(chunks, PLENTY, words).tokens

    with pytest.raises(InvalidInput, match=f"smallest takes {least}") as failed:
        pack(chunks, least - 1, words)

    assert "context_tokens" in str(failed.value.hint)
    assert pack(chunks, least, words).items


def test_nothing_found_packs_nothing() -> None:
    packed = pack([], 0, words)

    assert (packed.items, packed.text, packed.tokens) == ((), "", 0)


PIECES = st.sampled_from(
    [
        "==",
        "END",
        "EVIDENCE [1]",
        "[2]",
        "[ 3]",
        "\n",
        "\n\n",
        " ",
        "[/INST]",
        "</s>",
        "<",
        "[",
        "1]",
        "a[0]",
        "\u202e",
        "\u200b",
        "0d",
    ]
) | st.sampled_from(["<|im_start|>", "|x|>", "\ufeff", "\u2028"])
TEXTS = st.lists(PIECES | st.text(max_size=5), min_size=1, max_size=12).map("".join)


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 200))
def test_whatever_is_packed_can_be_told_apart_again(texts: list[str], budget: int) -> None:
    chunks = [one_chunk(text, title=text, doc_id=str(n)) for n, text in enumerate(texts)]
    try:
        packed = pack(chunks, budget, words)
    except InvalidInput:
        return

    assert packed.tokens <= budget
    assert pack(chunks, budget, words) == packed
    read = bodies(packed)
    for item, (header, body) in zip(packed.items, read, strict=True):
        assert re.match(rf"EVIDENCE \[{item.number}\] place: ", header)
        assert squeezed(body) == squeezed(item.text)
    kept = [chunk for item in packed.items for chunk in item.chunks]
    assert len(kept) + len(packed.left_out) == len(chunks)


@given(TEXTS)
def test_what_is_defused_has_no_power_and_all_its_letters(text: str) -> None:
    plain = defused(text)

    assert squeezed(plain) == squeezed(text)
    assert not re.search(r"\[\d+\]|<\||\[/?INST\]|</?s>", plain)
    assert defused(plain) == plain


def test_a_fence_that_stands_in_the_evidence_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one byte there are 256 fences; the text has all but one, in other letters, too."""
    monkeypatch.setattr(packing, "_FENCE_BYTES", 1)
    text = " ".join(f"= ＝{number:02X}==" for number in range(256) if number != 0x5A)

    assert pack(chunks_of(text), PLENTY, words).fence == "==5a=="


def test_equal_evidence_has_an_equal_fence_and_other_evidence_another() -> None:
    assert pack(chunks_of("a"), PLENTY, words).fence == pack(chunks_of("a"), PLENTY, words).fence
    assert pack(chunks_of("a"), PLENTY, words).fence != pack(chunks_of("b"), PLENTY, words).fence


def hostile(text: str) -> list[StoredChunk]:
    """Return chunks that say *text* wherever a document has words of its own."""
    line = " ".join(text.split())
    own = {"title": text, "heading_path": (text, line), "path": f"{line}.md", "doc_id": "0"}
    return [one_chunk(f"Before.\n{text}\nAfter.", **own), one_chunk("The harbour is deep.")]


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda each: each.canary)
def test_what_speaks_to_models_stays_evidence(injection: Injection) -> None:
    chunks = hostile(injection.text)

    packed = pack(chunks, PLENTY, words)

    (header, body), (_, honest) = bodies(packed)
    assert squeezed(body) == squeezed(chunks[0]["text"])
    assert honest == "The harbour is deep."
    assert re.findall(r"\[\d+\]", packed.text) == ["[1]", "[2]"]
    assert not re.search(r"<\||<｜|\[/?INST\]|</?s>|<(?:start|end)_of_turn>", packed.text)
    assert header.count("; trust: ") == 1
    rules, asked = prompt("Is it deep?", packed)
    assert packed.fence in rules.text
    assert asked.text.endswith("with its numbers, in the language of the question.")
    assert len(bodies(packed)) == 2
    assert not any(0xE0000 <= ord(letter) < 0xE0080 for letter in asked.text)


def test_there_are_fifty_injections_in_six_languages() -> None:
    assert len({injection.text for injection in INJECTIONS}) == 50
    assert len({injection.lang for injection in INJECTIONS}) == 6
    assert all(injection.canary in injection.text for injection in INJECTIONS)


def test_the_prompt_is_what_its_version_says() -> None:
    """Whoever changes a word of it gives it another version, and this the new text."""
    packed = pack(chunks_of("The harbour is deep."), PLENTY, words)

    told = prompt(" How deep?\n", packed)

    assert [message.role for message in told] == ["system", "user"]
    assert told[-1].text == (
        f"{packed.text}\n\nQuestion: How deep?\n\n"
        "Answer from the evidence above, with its numbers, in the language of the question."
    )
    for rule in (NOT_ENOUGH, packed.fence, "language of the question", "nothing else", "[1]"):
        assert rule in told[0].text, rule
    assert PROMPT_VERSION == "ask-1"


def test_room_is_shared_out_so_that_all_of_it_fits() -> None:
    room = room_of(8000, "How deep?", words)
    told = prompt("How deep?", pack(chunks_of("deep " * 2000), room.evidence, words))

    assert room.answer == 1024
    assert sum(words(message.text) for message in told) + room.answer <= 8000


def test_small_models_leave_a_quarter_for_the_answer() -> None:
    assert room_of(2000, "?", words).answer == 500
    assert room_of(256, "?", words).evidence < 256 - 64


@pytest.mark.parametrize(
    "answer", [NOT_ENOUGH, f"{NOT_ENOUGH}.", f"**{NOT_ENOUGH}**", "not in the evidence\n"]
)
def test_a_model_that_declines_is_understood(answer: str) -> None:
    assert says_not_enough(answer)


@pytest.mark.parametrize("answer", ["", "It is deep [1].", f"It is, but {NOT_ENOUGH}"])
def test_a_model_that_answers_does_not_decline(answer: str) -> None:
    assert not says_not_enough(answer)


PARAGRAPHS = {
    "en": "The harbour was dredged twice, in 1904 and in 1911, to a depth of 12.5 metres.",
    "de": "Der Hafen wurde zweimal ausgebaggert, zuletzt im Frühjahr 1911 auf zwölf Meter Tiefe.",
    "ru": "Гавань дважды углубляли: в 1904 и 1911 годах, до двенадцати метров.",
    "ko": "항구는 1904년과 1911년에 두 번 준설되어 깊이가 12미터가 되었다.",
    "ja": "港は1904年と1911年に二度浚渫され、深さは12メートルになった。",
    "hi": "बंदरगाह की दो बार खुदाई की गई थी।",
    "code": "def depth(self, year: int) -> float:\n    return self._depths[year] * 0.3048\n",
}


@pytest.mark.parametrize("lang", PARAGRAPHS)
def test_an_estimate_of_tokens_is_safe_and_not_wasteful(lang: str) -> None:
    """UTF-8 bytes bound what any vocabulary of bytes needs; words are the least it can be."""
    text = PARAGRAPHS[lang]

    assert len(text.split()) <= estimated_tokens(text) <= len(text.encode())
    assert estimated_tokens(text + text) <= 2 * estimated_tokens(text)
