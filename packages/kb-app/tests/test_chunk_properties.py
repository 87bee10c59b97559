"""Promises that every parser and chunker keep together, whatever the text."""

import json
import sysconfig
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.code.languages import LANGUAGES
from kb_app._ingest.code.rules import RULES
from kb_app._ingest.registry import chunker_for, parser_for
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import TokenCounter
from kb_core.testing.fakes import WordCounter
from kb_core.text import is_grapheme_boundary

SUITES = Path("/work/shared/data/suites")
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

    def count(self, text: str, /) -> int:
        return sum(1 + len(word) // 3 for word in text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


def chunks_of(
    text: str,
    kind: tuple[str, str | None, str],
    limits: ChunkLimits = DEFAULT,
    counter: TokenCounter | None = None,
) -> tuple[ParsedDocument, list[ChunkDraft]]:
    media, code_lang, path = kind
    file = SourceFile(source_id="s", path=path, media=media, code_lang=code_lang)
    document = parser_for(media, code_lang)(text.encode(), file)
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


WORDS = st.sampled_from(
    ["kebab", "store", "a", "Zeile.", "End. ", "안녕하세요", "世界。", "日本語", "👩‍👩‍👧‍👦", "🇰🇷", "é", "e\u0301",
     "שלום", "مرحبا", "\u200b", "\u200d", "\0", "\r", "\u2028", "\x0c", "\x1c", "\xa0", "x" * 40, "한" * 60]
)  # fmt: skip
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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1] or kind[2]}")
@settings(max_examples=120, deadline=None)
@given(text=TEXTS, limits=st.sampled_from([SMALL, DEFAULT]), greedy=st.booleans())
def test_chunks_cover_every_text_and_none_is_too_large(
    kind: tuple[str, str | None, str], text: str, limits: ChunkLimits, greedy: bool
) -> None:
    check(text, kind, limits, GreedyCounter() if greedy else WordCounter())
