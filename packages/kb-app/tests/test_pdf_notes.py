"""What lies over the pages of a PDF: values of forms, and what readers wrote beside the text."""

from __future__ import annotations

from collections.abc import Sequence

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.pdf import PdfParser
from kb_app.testing.papers import Leaf, Said, paper
from kb_core.citations import PageSpan
from kb_core.documents import ParsedDocument, SourceFile


def read(said: Sequence[Said], *over: str) -> ParsedDocument:
    file = SourceFile(source_id="papers", path="a.pdf", media="pdf")
    return PdfParser()(FileContent(paper(Leaf(said, over=over))), file)


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


def field(kind: str, name: str, value: str, rect: str, more: str = "") -> str:
    return f"/Subtype /Widget /FT /{kind} /T ({name}) /V {value} /Rect [{rect}] {more}"


def test_values_of_a_form_come_with_what_their_fields_are_called() -> None:
    said = [Said(72, 700, "Family name:"), Said(72, 660, "f1 City"), Said(92, 620, "I agree.")]
    ticked = "/AS /Yes /AP << /N << /Yes null /Off null >> >>"
    document = read(
        said,
        field("Tx", "f1_01[0]", "(Quist)", "150 698 300 712"),
        field("Tx", "f1_02[0]", "(Trondheim)", "150 658 300 672", "/TU (Town)"),
        field("Btn", "f1_03[0]", "/Yes", "72 618 84 630", ticked),
        field("Btn", "f1_04[0]", "/Off", "72 598 84 610", "/AS /Off"),
        field("Tx", "phone", "(12 34)", "400 500 500 514"),
        field("Tx", "f1_05[0]", "(alone)", "400 450 500 464"),
        field("Tx", "secret", "(hidden)", "400 400 500 414", "/Ff 8192"),
        field("Tx", "empty", "()", "400 350 500 364"),
    )

    assert blocks(document)[-5:] == [
        ("paragraph", "Family name: Quist"),
        ("paragraph", "Town: Trondheim"),
        ("paragraph", "I agree: yes"),
        ("paragraph", "phone: 12 34"),
        ("paragraph", "alone"),
    ]
    at = document.text.index("Town: ")
    (place,) = [each for each in document.places if each.start == at]
    assert isinstance(place.span, PageSpan)
    assert place.span.bbox == (150, 120, 300, 134)


def test_what_readers_wrote_is_a_comment_unless_the_page_says_it() -> None:
    document = read(
        [Said(72, 700, "The walrus sleeps on the ice.")],
        "/Subtype /Text /Contents (Does it?) /T (Ann) /Rect [300 698 310 708]",
        "/Subtype /Highlight /Contents (walrus sleeps) /Rect [90 698 150 710]",
        "/Subtype /FreeText /Contents (Seen in May) /Rect [300 500 400 480]",
        "/Subtype /Popup /Contents (Does it?) /Rect [0 0 9 9]",
        "/Subtype /Link /Contents (a link) /Rect [0 0 9 9]",
    )

    assert blocks(document) == [
        ("paragraph", "The walrus sleeps on the ice."),
        ("comment", "Ann: Does it?"),
        ("comment", "Seen in May"),
    ]
