"""What holds for every file of an office program, whatever is in it or left of it."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_app.testing.office_files import archive, docx, pptx, xlsx
from kb_core.documents import ChunkLimits, ParsedDocument, ReadingLimits, SourceFile
from kb_core.ingest import SkipReason
from kb_core.testing.fakes import WholeTextCounter

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "office"
FILES = sorted(SAMPLES.glob("*.*")) if SAMPLES.is_dir() else []
LIMITS = ChunkLimits(target_tokens=60, overlap_tokens=8, max_tokens=100)
READING = ReadingLimits(part_mb=20, unpacked_mb=50, cells=100_000)
REASONS = frozenset(SkipReason)


def parse(data: bytes, name: str) -> ParsedDocument:
    file = SourceFile(source_id="notes", path=name, media="office", limits=READING)
    document = parser_for("office")(FileContent(data), file)
    if document.refused is not None:
        reason, detail = document.refused
        assert reason in REASONS or reason.startswith("missing_extra:")
        assert detail
        assert "\n" not in detail
    return document


def check(document: ParsedDocument) -> None:
    """Check what is promised of blocks, places and chunks."""
    text, end = document.text, 0
    text.encode()
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        assert text[block.start : block.end].strip()
        end = block.end
    assert text[end:].strip() == ""
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    assert not starts or (starts[0] == 0 and starts[-1] < len(text))
    covered = [False] * len(text)
    for chunk in placed_chunks(document, chunker_for("office"), WholeTextCounter(), LIMITS):
        assert chunk.token_count <= LIMITS.max_tokens or chunk.end - chunk.start == 1
        assert (chunk.span is not None) == bool(document.places)
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert all(is_in or letter.isspace() for is_in, letter in zip(covered, text, strict=True))


def mutations(data: bytes, count: int, seed: int) -> list[bytes]:
    """Return *data* damaged: as it lies on a disk, or what is in it before it is packed."""
    chance = random.Random(seed)
    return [_repacked(data, chance) if n % 2 else _damaged(data, chance) for n in range(count)]


def _repacked(data: bytes, chance: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            small = [each for each in packed.infolist()[:60] if each.file_size < 1_000_000]
            parts = {each.filename: packed.read(each) for each in small}
    except zipfile.BadZipFile:
        return _damaged(data, chance)
    for name in chance.sample(sorted(parts), min(3, len(parts))):
        parts[name] = _damaged(parts[name], chance)
    return archive(parts)


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """Return *data* cut off, with bits flipped, and with parts of it repeated or left out."""
    one = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 30))):
        if not one:
            break
        at = chance.randrange(len(one))
        match chance.randrange(4):
            case 0:
                one[at] ^= 1 << chance.randrange(8)
            case 1:
                one[at] = chance.choice(b'<>"&0A/ \xff')
            case 2:
                del one[at : at + chance.randrange(1, 40)]
            case _:
                one[at:at] = one[at : at + chance.randrange(1, 40)]
    return bytes(one[: chance.randrange(len(one) + 1)] if chance.random() < 0.2 else one)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_laws_hold_for_every_sample(path: Path) -> None:
    check(parse(path.read_bytes(), path.name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_damaged_sample_is_a_document_or_one_reason(path: Path) -> None:
    for data in mutations(path.read_bytes(), 4, seed=len(path.name)):
        check(parse(data, path.name))


@pytest.mark.slow  # a thousand files: what the one above has a few of
@pytest.mark.skipif(not FILES, reason="the samples are not there")
def test_a_thousand_damaged_samples_are_documents_or_one_reason_each() -> None:
    for number in range(1_000):
        path = FILES[number % len(FILES)]
        data = mutations(path.read_bytes(), 1 + number // 500, seed=number)[-1]
        check(parse(data, path.name))


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12).map(
    lambda text: text.replace("&", "").replace("<", "").replace("\ufffe", "").replace("\uffff", "")
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["p", "tbl", "hdr"]), st.lists(words)), max_size=8))
def test_the_laws_hold_for_any_text(parts: list[tuple[str, list[str]]]) -> None:
    body = ""
    for kind, texts in parts:
        said = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
        cells = "".join(f"<w:tc><w:p><w:r><w:t>{t}</w:t></w:r></w:p></w:tc>" for t in texts)
        body += f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>" if kind == "tbl" else said
    check(parse(docx(body), "a.docx"))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(words, max_size=4), max_size=5))
def test_the_laws_hold_for_any_slides(slides: list[list[str]]) -> None:
    shape = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    check(parse(pptx([("".join(map(shape.format, texts)), []) for texts in slides]), "a.pptx"))


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(words.map(lambda w: w.replace('"', "")), st.lists(st.lists(words))))
def test_the_laws_hold_for_any_sheets(sheets: dict[str, list[list[str]]]) -> None:
    made = {
        name: "".join(
            "<row>" + "".join(f'<c t="str"><v>{text}</v></c>' for text in row) + "</row>"
            for row in rows
        )
        for name, rows in sheets.items()
    }
    check(parse(xlsx(made), "a.xlsx"))
