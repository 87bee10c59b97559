"""Sections of a note that tell of one each: what is asked of one, and where a quote stands."""

from __future__ import annotations

from pathlib import Path

from kb_app import Config
from kb_app.config import Source
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.answers import AskQuery
from kb_core.ingest import IngestOptions

FLATS = """# Flats we saw

## Ahornallee
- rent 980, deposit 2,900
- balcony to the west

## Birkenweg
- rent 1,120
- landlord: Mrs Pohl

## Cranach Street
- rent 890
- free from 1 June
"""


def test_a_quote_is_of_the_section_that_is_asked_for_and_says_which_it_is(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "flats.md").write_text(FLATS, "utf-8")
    with open_here(Config.inside(tmp_path, Source(id="notes", root=root))) as kb:
        list(kb.ingest(IngestOptions()))

        told = wire.answer(kb.answer(AskQuery(text="When is Cranach Street free?")))
        other = kb.answer(AskQuery(text="Who is the landlord of Ahornallee?"))

    (cited,) = told["citations"]
    assert (cited["quote"], cited["section_label"]) == ("free from 1 June", "Cranach Street")
    assert cited["citation"].get("section") == "Cranach Street"
    assert not any("Pohl" in each.quote for each in other.citations)
