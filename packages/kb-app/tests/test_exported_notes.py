"""Notes that programs export in JSON, and wikis that are one page: each is a document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Caps, detect
from kb_app._ingest.making.exported_notes import notes_in
from kb_app._ingest.making.noted import NoExportError
from kb_app._ingest.making.parsing import enclosed_bytes, judge_bytes
from kb_app._media import parser_for
from kb_core.documents import SourceFile

KEEP = {
    "color": "DEFAULT",
    "isTrashed": True,
    "title": "",
    "textContent": "Key of the cabin\nunder the third pot",
    "listContent": [{"text": "milk", "isChecked": False}, {"text": "figs", "isChecked": True}],
    "annotations": [{"title": "Cabin", "url": "https://e.org/cabin", "source": "WEBLINK"}],
    "labels": [{"name": "home"}],
    "userEditedTimestampUsec": 1590000000000000,
    "createdTimestampUsec": 1589990000000000,
}
DAY_ONE = {
    "metadata": {"version": "1.0"},
    "entries": [
        {
            "uuid": "A",
            "creationDate": "2021-07-01T09:00:00Z",
            "text": "# Walk\n\nTwo kingfishers\\.\n\n![](dayone-moment://AB)",
            "tags": ["walks"],
            "location": {"placeName": "Weir", "localityName": "Lund"},
        }
    ],
}
SIMPLENOTE = {
    "activeNotes": [
        {"content": "Dentist\r\nnight guard", "creationDate": "2020-01-01T00:00:00.000Z"}
    ],
    "trashedNotes": [],
}
TIDDLERS = [
    {"title": "$:/core", "text": "{}", "type": "application/json"},
    {"title": "Attic", "text": "! Key\nbehind the {{clock}}", "tags": "a [[b c]]",
     "modified": "20220104120000000"},
    {"title": "Map", "text": "iVBORw0KGgo=", "type": "image/png", "created": "20220104120000000"},
    {"title": "Plain", "text": "**bold**", "type": "text/markdown",
     "created": "20220104120000000"},
]  # fmt: skip
_HEAD = '<!doctype html><html><head><meta name="application-name" content="TiddlyWiki" /></head>'
WIKI = (
    f'{_HEAD}<body><script class="tiddlywiki-tiddler-store" type="application/json">'
    f"{json.dumps(TIDDLERS)}</script><script>boot()</script></body></html>"
)
OLDER = (
    f'{_HEAD}<body><div id="storeArea" style="display:none;">'
    '<div title="$:/core"><pre>x</pre></div>'
    '<div title="Attic" tags="a [[b c]]" modified="20220104120000000">\n'
    "<pre>! Key\nbehind the {{clock}}</pre>\n</div></div></body></html>"
)


def judged(path: str, data: bytes) -> SourceFile:
    kind = detect(path)
    assert kind is not None
    file = SourceFile(source_id="s", path=path, media=kind.media, code_lang=kind.code_lang)
    found = judge_bytes(file, data, Caps())
    assert isinstance(found, SourceFile)
    return found


def read(path: str, exported: object) -> list[tuple[str, str]]:
    """Return the notes of an export, as the file of that name is read."""
    data = (exported if isinstance(exported, str) else json.dumps(exported)).encode()
    file = judged(path, data)
    parsed = parser_for(file.media, file.code_lang)(FileContent(data), file)
    assert all(enclosed_bytes(f"{path}!/{e.name}", path, data) == e.data for e in parsed.enclosures)
    return [(each.name, each.data.decode()) for each in parsed.enclosures]


NOTES = {
    "Key of the cabin.md": (
        '---\ntitle: "Key of the cabin"\ntags: ["home", "trash"]\n'
        "created: 2020-05-20T15:53:20+0000\nupdated: 2020-05-20T18:40:00+0000\n---\n\n"
        "Key of the cabin\nunder the third pot\n\n- [ ] milk\n- [x] figs\n\n"
        "- Cabin · https://e.org/cabin\n"
    ),
    "Walk.md": (
        '---\ntitle: "Walk"\ntags: ["walks"]\ncreated: 2021-07-01T09:00:00+0000\n'
        'place: "Weir, Lund"\n---\n\n# Walk\n\nTwo kingfishers.\n'
    ),
    "Dentist.md": (
        '---\ntitle: "Dentist"\ncreated: 2020-01-01T00:00:00+0000\n---\n\nDentist\nnight guard\n'
    ),
    "Attic.tid": (
        "title: Attic\ntags: a [[b c]]\nmodified: 20220104120000000\n\n"
        "! Key\nbehind the {{clock}}\n"
    ),
}


@pytest.mark.parametrize(
    ("path", "exported", "expected"),
    [
        ("Keep/2020-05-20T18_40_00.json", KEEP, "Key of the cabin.md"),
        ("Journal.json", DAY_ONE, "Walk.md"),
        ("source/notes.json", SIMPLENOTE, "Dentist.md"),
        ("tiddlers.json", TIDDLERS, "Attic.tid"),
        ("wiki.html", WIKI, "Attic.tid"),
        ("old.html", OLDER, "Attic.tid"),
    ],
)
def test_a_note_of_an_export_is_a_document(path: str, exported: object, expected: str) -> None:
    assert read(path, exported)[0] == (expected, NOTES[expected])


def test_what_is_no_text_of_somebody_in_a_wiki_is_no_document() -> None:
    assert [name for name, _ in read("wiki.html", WIKI)] == ["Attic.tid", "Plain.md"]


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("Journal.json", b'{"entries": []}'),
        ("package.json", b'{"title": "a", "text": "b", "created": "2022-01-04"}'),
        ("data.xml", b"<data><smses/></data>"),
    ],
)
def test_other_files_of_json_and_xml_stay_code(path: str, data: bytes) -> None:
    file = judged(path, data)

    assert (file.media, file.code_lang) == ("code", path.rpartition(".")[2])


def test_an_export_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    data = json.dumps(TIDDLERS)[:-40].encode()

    file = judged("tiddlers.json", data)
    parsed = parser_for(file.media)(FileContent(data), file)

    assert [each.name for each in parsed.enclosures] == ["Attic.tid"]
    assert parsed.warnings[0].startswith("notes are read as far as it is whole")


_CLIPPINGS = """\ufeffDune (Frank Herbert)
- Your Highlight on page 4 | Added on Sunday, 3 March 2024 21:14:05

Fear is the mind-killer.
==========
Notes (2nd ed.) (Ann Lee (ed.))
- Ihre Markierung bei Position 10-12

Two
lines
==========
\ufeffDune (Frank Herbert)
- Your Note on page 5

see above
==========
Dune (Frank Herbert)
- Your Bookmark on page 9


==========
"""


def test_what_was_marked_in_a_book_is_a_document() -> None:
    path, data = "My Clippings.txt", _CLIPPINGS.replace("\n", "\r\n").encode()
    file = judged(path, data)

    found = {
        e.name: e.data.decode() for e in parser_for(file.media)(FileContent(data), file).enclosures
    }

    assert [*found] == ["Dune.md", "Notes (2nd ed.).md"]
    assert found["Dune.md"] == (
        '---\ntitle: "Dune"\nauthor: "Frank Herbert"\n---\n\n- Fear is the mind-killer. (Your '
        "Highlight on page 4 | Added on Sunday, 3 March 2024 21:14:05)\n"
        "- see above (Your Note on page 5)\n"
    )
    assert "- Two lines (Ihre Markierung bei Position 10-12)" in found["Notes (2nd ed.).md"]


@pytest.mark.parametrize(
    "text",
    ["Title\n- item 1\n\nText\n", "Title\n==========\n\n- item 1\n", "A\n- 1\nB\n==========\n"],
)
def test_other_texts_stay_texts(text: str) -> None:
    assert judged("a.txt", text.encode()).media == "text"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["title", "text", "entries", "activeNotes", "content", "tags", "location",
                         "listContent", "userEditedTimestampUsec", "created", "type", "labels"]),
        inner), max_leaves=30,
)  # fmt: skip


@given(_json)
def test_whatever_is_in_it_there_are_notes_or_a_reason(exported: object) -> None:
    try:
        for each in notes_in(json.dumps(exported).encode()):
            each.data.decode()
    except NoExportError:
        pass
