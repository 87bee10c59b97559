"""Files that somebody put into a text, a slide or a sheet: each is a document, too."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping

from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.making.compound import read_compound
from kb_app._ingest.making.formats.office.embedded import file_within
from kb_app._ingest.making.parsing import enclosed_bytes, parse_whole
from kb_app.testing.compound_files import Tree, compound
from kb_app.testing.office_files import archive, docx, odf, relations, xlsx
from kb_app.testing.parts import SETTINGS
from kb_app.testing.word_files import doc_tree
from kb_core.documents import SourceFile

INNER = docx("<w:p><w:r><w:t>The walrus sleeps.</w:t></w:r></w:p>")


def native(name: bytes, data: bytes) -> bytes:
    """Return a file as it is packed with its name."""
    path = b"C:\\a\\" + name + b"\0"
    told = struct.pack("<HHI", 0, 3, len(path)) + path + struct.pack("<I", len(data)) + data
    packed = b"\2\0" + name + b"\0" + path + told
    return struct.pack("<I", len(packed)) + packed


def texts(data: bytes, path: str) -> tuple[dict[str | None, str], tuple[str, ...]]:
    """Return what the documents of a file say, by their paths within it, and its warnings."""
    found = parse_whole(SourceFile(source_id="s", path=path, media="office"), data, SETTINGS)
    assert not isinstance(found, Skip), found
    said = {each.within: each.parsed.text for each in found.documents}
    return said, found.documents[0].parsed.warnings


def with_parts(data: bytes, parts: Mapping[str, bytes | str]) -> bytes:
    """Return an archive with more in it."""
    with zipfile.ZipFile(io.BytesIO(data)) as held:
        before: dict[str, bytes | str] = {name: held.read(name) for name in held.namelist()}
    return archive({**before, **parts})


def test_files_in_a_docx_are_documents_but_for_those_that_charts_are_drawn_of() -> None:
    named = compound({"\x01Ole10Native": native(b"list.txt", b"One walrus.")})
    data = with_parts(
        docx("<w:p><w:r><w:t>Outside.</w:t></w:r></w:p>"),
        {
            "word/embeddings/oleObject1.bin": named,
            "word/embeddings/plan.docx": INNER,
            "word/embeddings/oleObject2.bin": compound({"Package": INNER}),
            "word/embeddings/oleObject3.bin": compound({"Equation Native": b"?"}),
            "word/embeddings/oleObject4.bin": b"",
            "word/embeddings/book.xlsx": xlsx({"S": "<row><c><v>7</v></c></row>"}),
            "word/charts/_rels/chart1.xml.rels": relations(("package", "../embeddings/book.xlsx")),
        },
    )

    said, warnings = texts(data, "a.docx")

    assert said == {
        None: "Outside.",
        "list.txt": "One walrus.",
        "oleObject2.docx": "The walrus sleeps.",
        "plan.docx": "The walrus sleeps.",
    }
    assert warnings == ()
    assert enclosed_bytes("a.docx!/list.txt", "a.docx", data) == b"One walrus."


def test_pages_that_a_program_made_a_docx_of_are_documents() -> None:
    chunk = ("aFChunk", "chunk.html")
    page = "<html><body><h1>Ice</h1><p>The walrus sleeps.</p></body></html>"
    data = with_parts(
        docx('<w:altChunk r:id="r2"/>'),
        {
            "word/_rels/document.xml.rels": relations(
                ("styles", "styles.xml"), ("hyperlink", "https://example.org/"), chunk,
                ("aFChunk", "missing.html"),
            ),
            "word/chunk.html": page,
        },
    )  # fmt: skip

    assert texts(data, "a.docx")[0] == {None: "", "chunk.html": "Ice\n\nThe walrus sleeps."}


def test_files_in_a_doc_are_documents() -> None:
    inner: Tree = dict(doc_tree(["The walrus sleeps."]))
    pool: Tree = {
        "_1": inner,
        "_2": {"\x01Ole10Native": native("Größe.txt".encode("cp1252"), b"Two.")},
        "_3": {"CONTENTS": b"%PDF-1.4 that is none"},
        "_4": {"\x01Ole": b"?"},
    }
    said, warnings = texts(compound({**doc_tree(["Outside."]), "ObjectPool": pool}), "a.doc")

    assert said == {
        None: "Outside.",
        "object 1.doc": "The walrus sleeps.",
        "Größe.txt": "Two.",
    }
    assert [each.partition(":")[0] for each in warnings] == ["object 3.pdf is not indexed"]


def test_texts_and_sheets_within_opendocument_are_read_where_they_stand() -> None:
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    ole = '<draw:frame><draw:object-ole xlink:href="./Object 2"/></draw:frame>'
    row = "<table:table-row>{}</table:table-row>".format(
        "".join(f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in "ab")
    )
    sheet = f"<office:spreadsheet><table:table>{row}</table:table></office:spreadsheet>"
    space = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{each}="{space}:{each}:1.0"' for each in ("office", "table", "text"))
    content = f"<office:document-content {names}><office:body>{sheet}</office:body>"
    held: dict[str, bytes | str] = {
        "Object 1/content.xml": f"{content}</office:document-content>",
        "Object 2": INNER,
    }
    data = with_parts(odf("text", f"<text:p>See{frame}{ole}</text:p>"), held)

    assert texts(data, "a.odt")[0] == {
        None: "See\n\na\tb",
        "Object 2.docx": "The walrus sleeps.",
    }


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_a_file_or_none(data: bytes, cut: int) -> None:
    packed = native(b"a.txt", data)
    for stream in (packed[:cut], packed[:cut] + data, data):
        file_within(compound({"\x01Ole10Native": stream}), "x.bin")
    file_within(data, "x.bin")
    assert read_compound(compound({"Package": data})).stream("Package").startswith(data)
