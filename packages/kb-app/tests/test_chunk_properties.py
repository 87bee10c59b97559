"""Promises that every parser and chunker keep together, whatever the text."""

import json
import sysconfig
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import chunker_for, parser_for
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import TokenCounter
from kb_core.testing.fakes import WordCounter
from kb_core.text import is_grapheme_boundary

SUITES = Path(__file__).parents[4] / "shared/data/suites"
DEFAULT = ChunkLimits(target_tokens=256, overlap_tokens=32, max_tokens=480)
SMALL = ChunkLimits(target_tokens=16, overlap_tokens=6, max_tokens=24)

KINDS = [
    ("markdown", None, "notes/a.md"),
    ("text", None, "a.txt"),
    ("text", None, "a.rst"),
    ("text", None, "a.org"),
    ("text", None, "a.adoc"),
    ("code", "unheard-of", "a.xyz"),
    *(("code", name, f"a.{name}") for name in ("python", "typescript", "rust", "cpp", "yaml")),
]


class GreedyCounter:
    """A counter that is not additive inside a word: pieces of words cost one more each."""

    adds_up = False

    def count(self, text: str, /) -> int:
        return sum(1 + len(word) // 3 for word in text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


class JoiningCounter:
    """A counter that does not add up at all: white space between words counts, too."""

    adds_up = False

    def count(self, text: str, /) -> int:
        return -(-len(text.strip()) // 3)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


COUNTERS: list[TokenCounter] = [WordCounter(), GreedyCounter(), JoiningCounter()]


def chunks_of(
    text: str,
    kind: tuple[str, str | None, str],
    limits: ChunkLimits = DEFAULT,
    counter: TokenCounter | None = None,
) -> tuple[ParsedDocument, list[ChunkDraft]]:
    media, code_lang, path = kind
    file = SourceFile(source_id="s", path=path, media=media, code_lang=code_lang)
    document = parser_for(media, code_lang)(FileContent(text.encode()), file)
    drafts = chunker_for(media)(document, counter or WordCounter(), limits)
    return document, list(drafts)


def is_cut_well(text: str, at: int) -> bool:
    """Say what UAX 29 says; the core's rule is stricter next to controls and joiners."""
    if at in {0, len(text)}:
        return True
    before, after = text[at - 1], text[at]
    if {unicodedata.category(before), unicodedata.category(after)} & {"Cc", "Zl", "Zp"}:
        return (before, after) != ("\r", "\n")
    if before == "\u200d" and (after.isascii() or after.isspace()):
        return True
    return is_grapheme_boundary(text, at)


def check(
    text: str,
    kind: tuple[str, str | None, str],
    limits: ChunkLimits = DEFAULT,
    counter: TokenCounter | None = None,
) -> list[ChunkDraft]:
    counter = counter or WordCounter()
    document, drafts = chunks_of(text, kind, limits, counter)
    check_blocks(document)
    covered = bytearray(len(document.text))
    for draft in drafts:
        assert 0 <= draft.start < draft.end <= len(document.text)
        chunk = document.text[draft.start : draft.end]
        assert chunk.strip()
        assert counter.count(chunk) <= limits.max_tokens or len(chunk) == 1
        assert draft.token_count >= counter.count(chunk)
        for at in (draft.start, draft.end):
            assert is_cut_well(document.text, at) or _is_giant(document.text, at, limits)
        covered[draft.start : draft.end] = b"\1" * (draft.end - draft.start)
    assert all(mark or c.isspace() for c, mark in zip(document.text, covered, strict=True))
    for one, two in pairwise(drafts):
        assert one.start < two.start
        assert one.end < two.end
        if kind[0] == "code":
            assert one.end <= two.start
    return drafts


def check_blocks(document: ParsedDocument) -> None:
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text)
        assert block.start == 0 or document.text[block.start - 1] == "\n"
        assert not document.text[end : block.start].strip()
        end = block.end
    assert not document.text[end:].strip()


def _is_giant(text: str, at: int, limits: ChunkLimits) -> bool:
    """Say whether a cluster is so long that no chunk could hold it."""
    width = limits.max_tokens * 2
    return not any(
        is_cut_well(text, near) for near in range(max(0, at - width), min(len(text), at + width))
    )


WORDS = st.sampled_from([
    "kebab", "store", "a", "Zeile.", "End. ", "안녕하세요", "世界。", "日本語", "שלום", "مرحبا",
    "👩‍👩‍👧‍👦", "🇰🇷", "é", "e\u0301", "\u200b", "\u200d", "\0", "\r", "\u2028", "\x0c", "\x1c",
    "\xa0", "x" * 40, "한" * 60,
])  # fmt: skip
MARKS = st.sampled_from(
    ["# ", "## ", "- ", "  - ", "1. ", "> ", "```\n", "~~~", "| a | b |\n|---|---|\n", "---\n",
     "===\n", "<div>\n", "[a]: b\n", "[[x|y]]", "[t](u)", "***", "    ", "\t", "+++\n", "a: b\n",
     "def f():\n", "class A:\n", "  def g(self): pass\n", "# c\n", "@d\n", "fn f() {\n", "}\n",
     "impl A {\n", "/** d */\n", "// c\n", "export class B {\n", "kind: X\napiVersion: v\n",
     "* x\n", "= y\n", "'''", '"', "(", "{"]
)  # fmt: skip
GAPS = st.sampled_from(["", " ", "\n", "\n\n", "\n \n\n", "  "])
TEXTS = st.lists(
    st.one_of(WORDS, MARKS, GAPS, st.text(max_size=6).filter(lambda s: s.isprintable())),
    max_size=120,
).map("".join)
TEXTS |= TEXTS.map(str.upper)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1] or kind[2]}")
@settings(max_examples=40)
@given(text=TEXTS, limits=st.sampled_from([SMALL, DEFAULT]), counter=st.sampled_from(COUNTERS))
def test_chunks_cover_every_text_and_none_is_too_large(
    kind: tuple[str, str | None, str], text: str, limits: ChunkLimits, counter: TokenCounter
) -> None:
    check(text, kind, limits, counter)


class AddingCounter(GreedyCounter):
    """The same, which says that what white space parts adds up."""

    adds_up = True


@pytest.mark.parametrize("kind", KINDS[:2], ids=lambda kind: kind[2])
@settings(max_examples=25)
@given(text=TEXTS, more=st.sampled_from([1, 4]))
def test_sizes_that_are_added_up_cut_a_text_as_sizes_that_are_counted_do(
    kind: tuple[str, str | None, str], text: str, more: int
) -> None:
    _, counted = chunks_of(text * more, kind, SMALL, GreedyCounter())
    _, added = chunks_of(text * more, kind, SMALL, AddingCounter())

    assert added == counted


def _suite(name: str) -> list[str]:
    file = SUITES / name
    if not file.exists():
        return []
    if file.suffix == ".json":
        examples = json.loads(file.read_text("utf-8"))
        return [one if isinstance(one, str) else one["markdown"] for one in examples]
    return [file.read_text("utf-8")]


@pytest.mark.parametrize("name", ["commonmark/commonmark.json", "naughty-strings/blns.json"])
@pytest.mark.parametrize("limits", [SMALL, DEFAULT], ids=["small", "default"])
def test_published_examples_are_covered(name: str, limits: ChunkLimits) -> None:
    examples = _suite(name)
    if not examples:
        pytest.skip(f"{SUITES / name} is not on this machine")

    for text in examples:
        check(text, KINDS[0], limits)
    for kind in KINDS:
        check("\n\n".join(examples), kind, limits)


def test_the_specification_of_commonmark_is_covered() -> None:
    texts = _suite("commonmark/spec.txt")
    if not texts:
        pytest.skip(f"{SUITES} is not on this machine")

    check(texts[0], KINDS[0], SMALL)
    assert len(check(texts[0], KINDS[0])) > 100


def _stdlib() -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(file for file in root.rglob("*.py") if "site-packages" not in file.parts)
    return [file for file in files if file.stat().st_size < 200_000]


def check_file(file: Path) -> None:
    data = file.read_bytes()
    source = SourceFile(source_id="s", path=file.name, media="code", code_lang="python")
    text = parser_for("code", "python")(FileContent(data), source).text
    check(text, ("code", "python", file.name))


def test_real_code_is_covered() -> None:
    files = _stdlib()

    for file in files[:: max(1, len(files) // 120)]:
        check_file(file)


MIDDLING = 100_000
"""Characters: large enough that what is not linear shows, small enough to be quick."""

HARD = {
    "one word": "x" * MIDDLING,
    "one line": "lorem ipsum " * (MIDDLING // 12),
    "brackets": "[" * MIDDLING,
    "quotes": "> " * (MIDDLING // 2),
    "quoted lines": "> a\n" * (MIDDLING // 4),
    "links": "[[x][x](x)" * (MIDDLING // 10),
    "backticks": "` ``" * (MIDDLING // 4),
    "dots": "." * MIDDLING,
    "sentences": ". " * (MIDDLING // 2),
    "spaces": " " * MIDDLING,
    "newlines": "\n" * MIDDLING,
    "table": "a|b\n-|-\n" + "a|b\n" * (MIDDLING // 4),
    "han": "漢字。" * (MIDDLING // 3),
    "hangul": "가나다라" * (MIDDLING // 4),
    "jamo": "\u1100" * MIDDLING,
    "flags": "🇰🇷" * (MIDDLING // 2),
    "family": "👩\u200d" * (MIDDLING // 2),
    "accents": "a" + "\u0301" * MIDDLING,
    "spaced accents": " \u0301" * (MIDDLING // 2),
    "zero width": "\u200b" * MIDDLING,
    "nul": "\0" * MIDDLING,
    "returns": "a\r" * (MIDDLING // 2),
    "separators": "a\x1c" * (MIDDLING // 2),
    "yaml": "a: b\n" * (MIDDLING // 5),
    "front matter": "---\n" + "a: b\n" * (MIDDLING // 5) + "---\n",
}


@pytest.mark.parametrize("name", HARD)
def test_no_input_makes_a_chunk_too_large(name: str) -> None:
    """Lesson 11: a list of 76,000 tokens became one chunk, cut off or refused by the model."""
    for kind in (KINDS[0], KINDS[1], KINDS[5]):
        document, drafts = chunks_of(HARD[name], kind)
        for draft in drafts:
            text = document.text[draft.start : draft.end]
            assert WordCounter().count(text) <= DEFAULT.max_tokens
            assert len(text) <= DEFAULT.max_tokens * 32


@pytest.mark.parametrize("words", ["x", "lorem ipsum "], ids=["word", "line"])
def test_a_line_of_megabytes_is_cut(words: str) -> None:
    text = words * (5_000_000 // len(words))
    for kind in (KINDS[1], KINDS[5]):
        _, drafts = chunks_of(text, kind)
        assert max(draft.token_count for draft in drafts) <= DEFAULT.max_tokens


def test_equal_paragraphs_are_chunks_of_their_own_place() -> None:
    """Lesson 1: ids built from offsets collided where chunks were equal; ranges never do."""
    text = "\n\n".join(["The same words again. " * 30] * 40)

    drafts = check(text, KINDS[0])

    assert len({(draft.start, draft.end) for draft in drafts}) == len(drafts)


def test_ranges_point_at_the_text_and_nothing_drifts() -> None:
    """Lesson 13: splitting dropped the newline, and spans drifted by one per cut."""
    lines = [f"line {number} of a long list of words" for number in range(2_000)]

    document, drafts = chunks_of("\n".join(lines), ("code", "unheard-of", "a.log"))

    found = [line for d in drafts for line in document.text[d.start : d.end].split("\n")]
    assert found == lines
