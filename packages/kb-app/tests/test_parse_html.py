"""Web pages: the main text, what it is made of, and the lines of the file that hold it."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_core.citations import LineSpan
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WholeTextCounter

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "html"
LIMITS = ChunkLimits(target_tokens=40, overlap_tokens=4, max_tokens=60)
PROSE = (
    "The walrus sleeps on the ice, and when it wakes, it dives for mussels, of which it eats "
    "some thousands in one day; nobody knows how it finds them in the dark."
)


def parse(page: str | bytes, path: str = "page.html") -> ParsedDocument:
    data = page if isinstance(page, bytes) else page.encode("utf-8", "surrogatepass")
    file = SourceFile(source_id="notes", path=path, media="html")
    document = parser_for("html")(FileContent(data), file)
    text, end = document.text, 0
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    assert all(0 <= link.start < len(text) for link in document.links)
    text.encode()
    return document


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def article(body: str) -> str:
    paragraphs = "".join(f"<p>{PROSE}</p>\n" for _ in range(3))
    return f"<title>T</title><article><h1>Walrus</h1>\n{paragraphs}{body}{paragraphs}</article>"


def test_a_cell_stands_in_its_column_whatever_is_empty_or_wide_or_tall_beside_it() -> None:
    rows = parse(
        "<table><tr><th>Name<th>Born<th>Died<th>Place<tr><td>Tim<td>1955<td><td>Boston"
        "<tr><td>\xa0<td>1900<tr><td rowspan=2>Both<td>1<td>2<td>3<tr><td>4<td colspan=2>5 and 6"
        "<tr><td colspan=3>three<td>x<tr><td colspan=99999999>all<td rowspan=0 colspan=-1>y</table>"
    )

    assert rows.text.split("\n") == [
        *("Name\tBorn\tDied\tPlace", "Tim\t1955\t\tBoston", "\t1900", "Both\t1\t2\t3"),
        *("Both\t4\t5 and 6", "three\t\t\tx", "all\ty"),
    ]


def test_what_reaches_over_several_rows_of_a_table_is_said_in_each() -> None:
    rows = parse(
        "<table><tr><th rowspan=2>The\n <a href='/p'>port</a><th colspan=2>Ships<th rowspan=2>Open"
        "<tr><th>in<th>out"
        "<tr><td rowspan=3>Old <b>harbour</b>\n wall<td>1<td>2<td rowspan=2>all day"
        "<tr><td>3<td>"
        "\n<tr><td>5<td>6<td>never"
        "<tr><td>New<td>7<td>8<td>at night<tr></table><p>Then."
    )

    assert rows.text.split("\n") == [
        "The port\tShips\t\tOpen",
        "The port\tin\tout\tOpen",
        "Old harbour wall\t1\t2\tall day",
        "Old harbour wall\t3\t\tall day",
        "Old harbour wall\t5\t6\tnever",
        "New\t7\t8\tat night",
        "",
        "Then.",
    ]
    assert [link.text for link in rows.links] == ["port"]


def test_cells_said_again_are_no_way_to_fill_a_disk() -> None:
    tall = "".join(f"<td rowspan=9999>{'x' * 90}" for _ in range(50))
    page = f"<table><tr>{tall}<td>y{'<tr><td>z' * 3_000}</table>"

    assert len(parse(page).text) < 3 * len(page)


def test_what_a_picture_is_said_to_show_is_part_of_the_text() -> None:
    """Unless that is a name, or stands beside it."""
    pictures = (
        "<p>Here\n<img src=a.png alt='A walrus &amp;\n its &lt;calf&gt;'>it sleeps.</p>"
        '<p><img alt="logo"><img alt="IMG_0123.jpg"><img alt=""><img alt="冰上睡着的海象">.</p>'
        '<figure><img alt="A map of the bay">'
        "<figcaption>A map of the bay, 1900</figcaption></figure>"
        '<noscript><img alt="Never to be seen"></noscript><img hidden alt="Not to be seen here">'
    )

    document = parse(article(pictures))

    shown = [text for _, text in kinds(document) if PROSE not in text]
    assert shown == [
        *("Walrus", "Here [A walrus & its <calf>] it sleeps.", "[冰上睡着的海象] ."),
        "A map of the bay, 1900",
    ]


def test_items_of_a_list_that_counts_have_their_numbers() -> None:
    document = parse(
        "<ol><li>Mix <a href='/x'>flour</a><li><a href='/y'>Knead</a>"
        "<ol type=a><li>push<li>pull</ol><li value=7>Wait<li>Bake</ol>"
        "<ol start=3 style='list-style-type: upper-roman'><li>x<li>y</ol>"
        "<ol style='list-style:none'><li>none</ol><ul><li>bullet</ul><ol start=-1 type=i><li>z</ol>"
    )

    assert document.text.replace("\n\n", "\n").split("\n") == [
        *(
            "1. Mix flour",
            "2. Knead",
            "a. push",
            "b. pull",
            "7. Wait",
            "8. Bake",
            "III. x",
            "IV. y",
        ),
        *("- none", "- bullet", "i. z"),
    ]
    assert [(link.text, document.text[link.start :][:5]) for link in document.links] == [
        ("flour", "flour"),
        ("Knead", "Knead"),
    ]


def test_the_mark_of_a_note_is_no_part_of_the_word_before_it() -> None:
    document = parse(
        "<p>The tide<a href='#fn1' role='doc-noteref'><sup>1</sup></a> and ebb"
        "<sup><a href='#n2'>2</a></sup>, ice<a href='a.xhtml#_ftn3'>3</a>, wiki"
        "<sup><a href='#cite-4'>[4]</a></sup>, see part <a href='#part'>5</a> and "
        "<a href='#note6'>note six</a>.<p><a href='#sdfootnote1anc'>1</a>Low."
    )

    assert document.text == (
        "The tide[1] and ebb[2], ice[3], wiki[4], see part 5 and note six.\n\n[1]Low."
    )


def test_a_column_that_only_keeps_others_apart_is_none() -> None:
    document = parse(
        "<table><tr><td>&nbsp;<td>Hello <a href='/a'>Ann</a><td><td>Price"
        "<tr><td><td>Lamp<td> <td>30<tr><td><td><td><td>90</table>"
    )

    assert document.text == "Hello Ann\tPrice\nLamp\t30\n\t90"
    assert [(link.text, link.start) for link in document.links] == [("Ann", 6)]


def test_columns_of_a_table_take_no_more_than_a_table_has() -> None:
    wide = "<tr>" + "<td colspan=1000 rowspan=9999>x" * 500

    assert len(parse(f"<table>{wide * 20}</table>").text) < 30_000


def test_a_page_is_headings_paragraphs_lists_tables_and_code() -> None:
    document = parse(
        "<h1>Ice <a href='#ice'>¶</a></h1>A <b>line</b>&nbsp;with\n  breaks.<p>AT&amp;T"
        "<ul><li><p>one</p><li>two<ul><li>inner</ul></ul>"
        "<h2>Rows</h2><table><tr><th>Cut<th>Hours<tr><td><p>Chuck</p><td>3</table>"
        "<pre>\nfor x:\n  <b>y</b>\n\nend</pre><blockquote><p>said</blockquote>"
        "<dl><dt>term<dd>meaning</dl>"
    )

    assert kinds(document) == [
        ("heading", "Ice"),
        ("paragraph", "A line with breaks."),
        ("paragraph", "AT&T"),
        ("list_item", "- one"),
        ("list_item", "- two"),
        ("list_item", "- inner"),
        ("heading", "Rows"),
        ("table", "Cut\tHours\nChuck\t3"),
        ("code", "for x:\n  y\n\nend"),
        ("quote", "said"),
        ("list_item", "term"),
        ("list_item", "meaning"),
    ]
    assert document.blocks[-1].heading_path == ("Ice", "Rows")


def test_a_chunk_is_cited_by_the_lines_of_the_file_that_hold_it() -> None:
    words = [f"word{number}" for number in range(400)]
    lines = ["<html>", "<nav>menu", "</nav><body>"]
    for at in range(0, 400, 5):
        lines += [f"<p><b>{words[at]}</b> {words[at + 1]}", f"{words[at + 2]}&#32;{words[at + 3]}"]
        lines += ["<!-- a comment", "of two lines -->" + words[at + 4]]
    source = "\r\n".join(lines)
    document = parse(source)
    chunks = list(placed_chunks(document, chunker_for("html"), WholeTextCounter(), LIMITS))

    assert len(chunks) > 5
    for chunk in chunks:
        assert isinstance(chunk.span, LineSpan)
        said = set(document.text[chunk.start : chunk.end].split())
        inside = "\n".join(lines[chunk.span.start - 1 : chunk.span.end]).replace("&#32;", " ")
        held = {
            word for word in words if word in inside.replace("<", " ").replace(">", " ").split()
        }
        assert said <= held
        assert len(held - said) <= 4  # of the lines at both ends


def test_what_stands_around_the_main_text_is_left_out() -> None:
    document = parse(
        "<header><h2>Site</h2><ul><li><a href=/a>Home</a><li><a href=/b>News</a></ul></header>"
        "<div class='cookie-banner'><p>We use cookies, and so does everybody else here.</p></div>"
        + article("<div class='related-posts'><a href=/c>Nine more things about seals</a></div>")
        + "<aside><p>Subscribe to our paper, and read of animals every day of the year.</p></aside>"
        "<footer>All rights reserved</footer><script>var a = 'hidden';</script>"
    )

    assert document.text.count("walrus sleeps") == 6
    for beside in ("Home", "cookies", "seals", "Subscribe", "rights", "hidden"):
        assert beside not in document.text


@pytest.mark.parametrize(
    "page",
    [
        f"<form id=aspnetForm><table><tr><td><a href=/a>Menu</a><td><p>{PROSE}</table></form>",
        f"<body class='has-sidebar'><div class='sidebar-layout'>{PROSE}<br>{PROSE}</div>",
        f"<body style='display:none'><x-page><x-text>{PROSE}</x-text></x-page>",
        f"<div class=comment><p>{PROSE}</div>" * 5,
        f"<p>{PROSE[:29]}",
        f"<title>T</title><footer>{PROSE}</footer>",
        f"<table><tr><td><font>{PROSE}</table>",
    ],
)
def test_a_page_is_not_taken_for_what_stands_around_it(page: str) -> None:
    assert PROSE[:29] in parse(page).text


def test_what_readers_said_of_an_article_is_no_part_of_it() -> None:
    said = "<div class=c9><p>I have seen one, long ago, in a zoo.</p><a href=/r>Reply</a></div>"

    document = parse(f"<div><h1>Walrus</h1>{f'<p>{PROSE}</p>' * 5}<div>{said * 6}</div></div>")

    assert "zoo" not in document.text
    assert "zoo" in parse(f"<h1>Zoos</h1><div>{said * 6}</div>").text


def test_teasers_of_other_pages_are_left_out_of_an_article_and_are_a_list_page() -> None:
    card = "<div><h3><a href=/x>A headline of another story</a></h3><p>Why to read it now.</div>"

    assert "another" not in parse(article(card * 4)).text
    assert parse(f"<nav><a href=/>Home</a></nav><div>{card * 8}</div>").text.count("another") == 8


def test_of_a_book_on_one_page_every_chapter_is_read() -> None:
    chapters = "".join(
        f"<div class=chapter><div class=titlepage><h1>{number}. Part</h1></div>"
        f"{f'<div class=sect1><h2>Section</h2><p>{PROSE}</p></div>' * sections}</div>"
        for number, sections in enumerate((3, 4, 40, 3), 1)
    )
    teaser = "<div class=more><h1>Elsewhere</h1><p>Another book, in short.</p></div>"

    text = parse(f"<div class=book>{chapters}</div>{teaser}").text

    assert [f"{number}. Part" in text for number in range(1, 5)] == [True] * 4
    assert "Another book" not in text


def test_a_box_within_the_text_is_part_of_it_whatever_it_is_called() -> None:
    menu = "".join(f"<a href='/{n}'>Another page, number {n}</a> " for n in range(12))
    advert = "Buy our fish today, it is the best fish there ever was in this town."
    page = parse(
        f"<body><div class='sidebar'>{menu}</div><div class='section'><h1>Walrus</h1>"
        f"<div class='para'>Lead. {PROSE}</div>"
        "<div class='sidebar'><p>BASICS Ice is frozen water, which swims on the sea.</p></div>"
        "<div class='sidebar'><p>MORE There is ice of many ages and colours there.</p></div>"
        f"<div class='section'><h2>Ice</h2><div class='para'>{PROSE}</div><div class='para'>{PROSE}"
        f"</div><div class='promo sidebar'><p>{advert}</p></div></div>"
        "<aside class='footnote-list'><aside class='footnote'>[1] As everybody knows there."
        f"</aside></aside></div><div class='sidebar'><p>{menu}</p></div></body>"
    ).text

    for said in ("Lead.", "BASICS Ice is", "MORE There is", "[1] As everybody"):
        assert said in page
    assert "Another page" not in page
    assert advert not in page


@pytest.mark.parametrize("level", ["h1", "h2"])
def test_notes_at_the_end_of_a_page_are_those_of_its_text(level: str) -> None:
    page = parse(
        f"<body><a href='/'>Home</a><div class='sect1'><{level}>Walrus</{level}>"
        f"<p>{PROSE}</p><p>{PROSE}</p><p>{PROSE}</p></div><div class='footnotes'><hr>"
        "<div class='footnote'><p>[3] It sleeps.</p></div></div><div id='end'>Home</div></body>"
    ).text

    assert page.endswith("[3] It sleeps.")


def test_a_title_has_no_sign_that_leads_to_itself() -> None:
    headline = "<h1>License<a href='#license'>¶</a></h1>"
    page = f"<title>License — Policy</title><article>{headline}<p>{PROSE}</p></article>"

    assert parse(page).metadata.title == "License"


def test_a_section_that_is_called_like_its_heading_is_no_menu() -> None:
    sections = "".join(
        f"<{tag}><h2 id=tags>{title}<a href='#{name}'>¶</a></h2><p>{PROSE}</p></{tag.split()[0]}>"
        for title, name, tag in (
            ("File menu", "file-menu", "section id=file-menu"),
            ("Navigation", "navigation", "div id=navigation"),
            ("Related work", "x", "div id=related-work"),
        )
    )

    document = parse(f"<main><h1>Manual</h1><p>{PROSE * 4}</p>{sections}</main>")

    assert [text for kind, text in kinds(document) if kind == "heading"] == [
        "Manual", "File menu", "Navigation", "Related work"
    ]  # fmt: skip
    assert document.text.count("walrus sleeps") == 7


def test_steps_that_a_reader_shall_take_are_no_calls_of_the_page() -> None:
    steps = [
        "Save the file.",
        "Print the page twice.",
        "Log in to the server.",
        "Share it with Ann",
    ]
    listed = "".join(f"<li>{step}" for step in steps)
    calls = (
        "<p>Share this article</p><p>Sign up for our weekly newsletter!</p><p>© 2024 Example</p>"
    )

    text = parse(article(f"<ol>{listed}</ol>{calls}")).text

    assert all(step in text for step in steps)
    assert not any(word in text for word in ("Share this", "newsletter", "2024"))


def test_a_page_of_contents_is_its_contents() -> None:
    entries = "".join(f"<dt><a href=/{n}>{n}. Of seals and of the sea</a>" for n in range(30))

    assert (
        parse(f"<h1>Manual</h1><div class=toc><dl>{entries}</dl></div>").text.count("seals") == 30
    )
    assert "seals" not in parse(f"<div class=toc>{entries}</div>" + article("")).text


FOOT = "<p>© Seal Foundation. The seal is non-profit. Please donate to it. Made with Sphinx."
LINKED = [f'<li><a href="{n}.html">the walrus of the sea number {n}</a></li>' for n in range(60)]


@pytest.mark.parametrize("lead", ["", "<p>Short lead of it.</p>", f"<p>{PROSE}</p>"])
@pytest.mark.parametrize("links", [2, 5, 60])
@pytest.mark.parametrize("mark", ["<main>", '<div class="body" role="main">'])
def test_what_a_page_marks_as_its_main_text_is_that_however_little_it_says(
    lead: str, links: int, mark: str
) -> None:
    """A foot with more words than a list of links is not what the page says."""
    listed = f"<ul>{''.join(LINKED[:links])}</ul>"
    end = "</main>" if mark == "<main>" else "</div>"

    document = parse(f"{mark}<h1>Seas</h1>{lead}{listed}{end}<div class=foot-line>{FOOT}</div>")

    assert kinds(document)[0] == ("heading", "Seas")
    assert "Foundation" not in document.text
    assert lead.removeprefix("<p>").removesuffix("</p>") in document.text
    assert "number 1" in document.text or PROSE in lead


def test_pages_of_an_index_are_told_apart_by_their_headlines() -> None:
    page = "<title>Index — The Seal</title><main><h1>Index – {}</h1><p>" + PROSE + "</main>"

    titles = [parse(page.format(letter)).metadata.title for letter in "AB"]

    assert titles == ["Index – A", "Index – B"]


def test_a_title_comes_without_the_name_of_the_site() -> None:
    named = "<title>Walrus – The Daily Seal</title>"
    assert parse(named + article("").removeprefix("<title>T</title>")).metadata.title == "Walrus"
    assert parse(f"{named}<h1>The Daily</h1>").metadata.title == "The Daily"
    assert parse(f"{named}<p>x").metadata.title == "Walrus – The Daily Seal"
    assert parse("<h1>Only this</h1><p>x").metadata.title == "Only this"
    assert parse("<p>x", "a_note.html").metadata.title == "a note"


def test_a_page_says_who_wrote_it_and_when() -> None:
    metadata = parse(
        '<html lang="de-AT"><meta name=Author content="Ann  Example"><meta property="article:publi'
        'shed_time" content="2024-05-03T10:00:00+02:00"><link rel=canonical href="https://e.org/w">'
        '<meta name="description" content="Of ice."><meta name=date content="last week">'
        '<script type="application/ld+json">{"dateModified": "2024-05-04"}</script><p>Eis'
    ).metadata

    assert metadata.created is not None
    assert metadata.created.isoformat() == "2024-05-03T08:00:00+00:00"
    assert metadata.updated is not None
    assert metadata.updated.isoformat() == "2024-05-04T00:00:00+00:00"
    assert metadata.lang == "de"
    said = {"description": "Of ice.", "author": "Ann Example", "canonical": "https://e.org/w"}
    assert metadata.user == said


def test_links_of_the_main_text_are_kept_as_written() -> None:
    document = parse(article("<p>See <a href='../ice.html?a=1&amp;b=2'>the <b>ice</b></a>.</p>"))

    (link,) = document.links
    assert (link.kind, link.target, link.text) == ("html", "../ice.html?a=1&b=2", "the ice")
    assert document.text[link.start :].startswith("the ice.")


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("cp949", "euc-kr"), ("cp1252", "ISO-8859-1"), ("gb18030", "gb2312"), ("cp932", "Shift_JIS"),
     ("utf-8", "iso-8859-1"), ("utf-16", "utf-8"), ("cp949", "no-such"), ("cp949", "hex")],
)  # fmt: skip
def test_a_page_is_decoded_as_it_says_unless_it_is_plainly_something_else(
    encoding: str, declared: str
) -> None:
    said = {"cp949": "안녕하세요, 세계!", "cp1252": "Größe", "gb18030": "简体中文网页",
            "cp932": "日本語のページ", "utf-8": "Größe", "utf-16": "Größe"}[encoding]  # fmt: skip
    page = f'<meta http-equiv=Content-Type content="text/html; charset={declared}"><p>{said}</p>'

    document = parse(page.encode(encoding))

    assert document.text == said
    assert bool(document.warnings) == (declared in {"no-such", "hex"})


def test_a_page_saved_as_a_mail_has_the_lines_of_its_text() -> None:
    saved = (
        b"From: <Saved>\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=B\n\n--B\n"
        b"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"<h1>Gr=C3=B6=C3=9Fe</h1>=\n<p>of the =\nwalrus</p>\n--B\nContent-Type: image/png\n\nx"
        b"\n--B--\n"
    )

    document = parse(saved, "page.mhtml")

    assert document.text == "Größe\n\nof the walrus"
    assert document.has_lines
    assert not document.places


def test_a_page_of_five_megabytes_of_pictures_is_its_words() -> None:
    picture = f"<img src='data:image/png;base64,{'A' * 5_000_000}'>"
    assert parse(f"<p>{PROSE}{picture}<style>{'p{}' * 90_000}</style>").text == PROSE


HOSTILE = [
    "<div>", "<b><i>", "<p>x", "<li>x", "<a href=x>y", "<table><tr><td>", "<!--", "<!-- > ",
    '<a b="', "<a b='x\">", "<script>", "<title>x", "<", "&", "&#", "</", "<?", "<a ", "<pre>\n",
    "<h2><a href='#x'>x", "<ul><li><a href=/x>a headline of the usual length</a>", "<![CDATA[",
    "<u><div>x</u>", "<form><table><td>", "<p a=b c='d'>", "=",
    "<div><h3><a href=/x>a headline of the usual length</a></h3>x",
]  # fmt: skip


BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- DO NOT EDIT! -->
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><H3 ADD_DATE="1577836800">Garden</H3>
    <DD>what grows
    <DL><p>
        <DT><A HREF="https://e.org/pears" ICON="data:image/png;base64,iVBO">Pear trees
against a wall</A>
        <DD>with a ladder
        <DT><H3>Roses</H3>
        <DL><p>
            <DT><A HREF="https://e.org/roses" TAGS="winter,saws">Pruning</A>
        </DL><p>
        <DT><A HREF="https://e.org/worms">Worms</A>
    </DL><p>
    <DT><A HREF="place:sort=8">Most visited</A>
    <DT><A HREF="javascript:void(0)">Reader</A>
</DL><p>
"""


def test_bookmarks_are_items_with_their_addresses_under_their_folders() -> None:
    told = parse(BOOKMARKS)

    assert told.metadata.title == "Bookmarks"
    assert told.text.split("\n") == [
        *("Garden", "", "what grows"),
        *("- Pear trees against a wall · https://e.org/pears", "with a ladder", ""),
        *("Roses", "", "- Pruning · https://e.org/roses · winter, saws", ""),
        *("- Worms · https://e.org/worms", "", "- Reader"),
    ]
    under = {told.text[b.start : b.end].split(" ·")[0]: b.heading_path for b in told.blocks}
    assert under["- Pruning"] == ("Garden", "Roses")
    assert (under["- Worms"], under["- Reader"]) == (("Garden",), ())
    spans = {told.text[p.start :].split("\n")[0].split(" ·")[0]: p.span for p in told.places}
    assert spans["- Pear trees against a wall"] == LineSpan(9, 10)
    assert spans["- Worms"] == LineSpan(16, 16)
    assert [link.target for link in told.links][-1] == "https://e.org/worms"


def _message(inner: str, day: str = "12.03.2024", names: str = "default clearfix") -> str:
    when = f'<div class="pull_right date details" title="{day} 18:05:11 UTC+01:00">18:05</div>'
    return f'<div class="message {names}" id="m1">\n<div class="body">{when}{inner}</div></div>\n'


def _from(name: str, said: str) -> str:
    return f'<div class="from_name">\n{name} </div><div class="text">\n{said}</div>'


def test_a_chat_that_telegram_exports_as_pages_says_who_wrote_what_and_when() -> None:
    told = parse(
        "<!DOCTYPE html>\n<title>Exported Data</title>\n"
        '<div class="page_header"><div class="text bold">\nTrip </div></div>\n'
        '<div class="page_body chat_page"><div class="history">\n'
        '<div class="message service"><div class="body details">12 March 2024</div></div>\n'
        + _message(_from("Ann", "The key is under<br>the <b>st</b>one"))
        + _message('<div class="text">Feed the cat</div>', names="default clearfix joined")
        + _message(_from("Bo", "Yes"), "13.03.2024")
        + _message(
            '<div class="from_name">Bo</div><div class="forwarded body">'
            + _from('Cy <span class="date details" title="x">1.1.2020</span>', "Old news")
            + '</div><div class="media"><div class="title bold">Photo</div></div>'
            '<div class="media"><div class="title bold">list.pdf</div></div>',
            "13.03.2024",
        )
        + _message('<div class="media"><div class="title bold">Sticker</div></div>')
    )

    assert told.metadata.title == "Trip"
    assert str(told.metadata.created)[:10] == "2024-03-12"
    assert str(told.metadata.updated)[:10] == "2024-03-13"
    assert told.text.split("\n") == [
        *("2024-03-12", "", "- Ann (18:05): The key is under the stone"),
        *("- Ann (18:05): Feed the cat", "", "2024-03-13", "", "- Bo (18:05): Yes"),
        "- Bo (18:05): [Cy] Old news list.pdf",
    ]
    assert [place.span.start for place in told.places if isinstance(place.span, LineSpan)] == [
        *(7, 7, 11, 13, 13, 17)
    ]


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        ("<!DOCTYPE NETSCAPE-Bookmark-file-1>", "<dl><dt><h3>x<dd>y<a href=z>"),
        ('<div class="page_body chat_page">', _message(_from("A", "x"))),
        ('<div class="page_body chat_page">', '<div class="page_header"><div class="message">x'),
        ('<div class="page_body chat_page">', '<div class="message"><div class="forwarded">x'),
    ],
)
def test_a_list_however_long_and_deep_takes_time_that_grows_with_it(head: str, piece: str) -> None:
    started = time.process_time()
    parse(head + piece * 20_000)

    assert time.process_time() - started < 20


@pytest.mark.parametrize("piece", HOSTILE)
def test_what_is_never_closed_and_never_ends_is_a_document(piece: str) -> None:
    parse(piece * 4_000)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_a_page_there_is_a_document(seed: int) -> None:
    dice = random.Random(seed)
    page = bytearray(article("<table><tr><td>a<td>b</table><pre>x\n y</pre>").encode())
    for _ in range(dice.randint(1, 30)):
        at = dice.randrange(len(page))
        match dice.randrange(3):
            case 0:
                page[at] = dice.randrange(256)
            case 1:
                del page[at : at + dice.randint(1, 40)]
            case _:
                page[at:at] = dice.choice(HOSTILE).encode()
    parse(bytes(page))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([*HOSTILE, "</div>", "</p>", "</td>", "\n", "é", ">", "-->"])))
def test_any_markup_whatever_is_a_document(pieces: list[str]) -> None:
    parse("".join(pieces))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_sample_pages_say_what_is_known_of_them() -> None:
    page = parse((SAMPLES / "article.html").read_bytes())
    for said in ("Slow cooking", "Café owners call it unbelievable.", "Chuck\t3.5", "  wait    3 h",
                 "한국식 갈비찜은"):  # fmt: skip
        assert said in page.text
    for beside in ("Home", "Related posts", "cookies", "All rights reserved"):
        assert beside not in page.text
    at = page.text.index("similar to stewing")
    before = [place for place in page.places if place.start <= at]
    assert before[-1].span == LineSpan(10, 10)
    assert "안녕하세요, 세계!" in parse((SAMPLES / "euc-kr.html").read_bytes()).text
    broken = parse((SAMPLES / "broken.html").read_bytes()).text
    for said in ("AT&T <tag> 😀 &unknown;", "cell one", "cell two", "line after tail"):
        assert said in broken
