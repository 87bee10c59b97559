"""Feeds and statements of accounts are read as texts of office programs are."""

from __future__ import annotations

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Skip, detect
from kb_app._ingest.making.parsing import judge_bytes
from kb_app._media import parser_for
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile


def judged(data: bytes, name: str) -> SourceFile:
    kind = detect(name)
    assert kind is not None
    file = SourceFile(source_id="s", path=name, media=kind.media, code_lang=kind.code_lang)
    found = judge_bytes(file, data, SETTINGS.caps)
    assert not isinstance(found, Skip)
    return found


def parse(data: bytes, name: str) -> ParsedDocument:
    file = judged(data, name)
    assert file.media == "office"
    return parser_for(file.media)(FileContent(data), file)


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


RSS = b"""<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"
xmlns:content="http://purl.org/rss/1.0/modules/content/"
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>Garden &amp; more</title><description>What grows</description><language>en-GB</language>
<atom:link href="https://example.org/feed" rel="self"/>
<lastBuildDate>Tue, 07 Sep 2021 10:00:00 GMT</lastBuildDate>
<item><title>Peas &amp;amp; beans</title><link>https://example.org/1</link>
<pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate><dc:creator>Ann</dc:creator>
<category>beds</category><category>beds</category><description>In short.</description>
<content:encoded><![CDATA[<p>The <i>whole</i> text.</p><p>Its end.</p>]]></content:encoded></item>
<item><description>&lt;b&gt;No&lt;/b&gt; title.</description></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Walls</title>
<author><name>Bob</name></author><updated>2024-01-02T03:04:05Z</updated>
<entry><title type="html">Of &lt;em&gt;stone&lt;/em&gt;</title><author><name>Cy</name></author>
<link rel="edit" href="https://example.org/edit"/><link href="https://example.org/a"/>
<published>2024-01-01T00:00:00Z</published><category term="stone"/><summary>short</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Dry <b>walls</b></p><p>last</p>
</div></content></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel>
<item><title>One</title><link>https://example.org/o</link></item></rdf:RDF>"""


@pytest.mark.parametrize("name", ["a.rss", "feed.xml"])
def test_a_feed_is_a_list_of_its_entries(name: str) -> None:
    document = parse(RSS, name)

    assert kinds(document) == [
        ("heading", "Peas & beans"),
        ("paragraph", "2021-09-06 · Ann · beds · https://example.org/1"),
        ("paragraph", "The whole text."),
        ("paragraph", "Its end."),
        ("paragraph", "No title."),
    ]
    assert document.has_lines
    assert [each.target for each in document.links] == ["https://example.org/1"]
    told = document.metadata
    assert (told.title, told.lang, str(told.updated)[:10]) == ("Garden & more", "en", "2021-09-07")
    assert told.user["description"] == "What grows"


def test_entries_of_atom_and_of_the_first_rss_are_read_as_well() -> None:
    atom, rdf = parse(ATOM, "a.atom"), parse(RDF, "index.xml")

    assert kinds(atom) == [
        ("heading", "Of stone"),
        ("paragraph", "2024-01-01 · Cy · stone · https://example.org/a"),
        ("paragraph", "Dry walls"),
        ("paragraph", "last"),
    ]
    assert (atom.metadata.title, atom.metadata.user["author"]) == ("Walls", "Bob")
    assert kinds(rdf) == [("heading", "One"), ("paragraph", "https://example.org/o")]


@pytest.mark.parametrize(
    "data",
    [
        b"<?xml version='1.0'?><rss><channel>{% for post in posts %}</channel></rss>",
        b"<settings><feed/></settings>",
        b"<feed><bread/></feed>",
    ],
)
def test_templates_of_feeds_and_other_xml_stay_code(data: bytes) -> None:
    assert judged(data, "feed.xml").media == "code"


OFX = """OFXHEADER:100
DATA:OFXSGML
CHARSET:1252

<OFX><STMTRS><CURDEF>EUR<BANKACCTFROM><ACCTID>Giro 12</BANKACCTFROM><BANKTRANLIST>
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20240103120000[-5:EST]<TRNAMT>-12.50<FITID>1
<NAME>Café &amp; Kebab<MEMO>Lunch</STMTTRN>
<STMTTRN><DTPOSTED>20240104<TRNAMT>3.00<CURSYM>USD</STMTTRN>
<LEDGERBAL><BALAMT>5</LEDGERBAL></BANKTRANLIST></STMTRS></OFX>"""
OFX_XML = """<?xml version="1.0"?><?OFX OFXHEADER="200"?>
<OFX><STMTTRN><DTPOSTED>20240103</DTPOSTED><TRNAMT>1</TRNAMT><NAME>Ann</NAME></STMTTRN></OFX>"""
OFX_DEPOT = """OFXHEADER:100

<OFX><INVSTMTRS><CURDEF>USD<INVACCTFROM><BROKERID>x<ACCTID>Depot 7</INVACCTFROM>
<INVTRANLIST><DTSTART>20240101<DTEND>20240201
<BUYSTOCK><INVBUY><INVTRAN><FITID>1<DTTRADE>20240102<MEMO>Bought shares</INVTRAN>
<SECID><UNIQUEID>038<UNIQUEIDTYPE>CUSIP</SECID><UNITS>10<UNITPRICE>2.5<TOTAL>-25</INVBUY></BUYSTOCK>
<INVBANKTRAN><STMTTRN><DTPOSTED>20240103<TRNAMT>7<NAME>Ann</STMTTRN><SUBACCTFUND>CASH</INVBANKTRAN>
<INCOME><INVTRAN><FITID>2<DTTRADE>20240104</INVTRAN><SECID><UNIQUEID>039</SECID><TOTAL>1</INCOME>
</INVTRANLIST><INVPOSLIST><SECID><UNIQUEID>038</SECID><UNITS>10</INVPOSLIST></INVSTMTRS>
<SECLIST><SECINFO><SECID><UNIQUEID>038</SECID><SECNAME>Quetzal Inc</SECINFO></SECLIST></OFX>"""
QIF = """!Account
NGiro 12
TBank
^
!Type:Bank
D1/ 3'24
T-12.50
PKebab shop
MLunch
LFood
SFood
EBread
$-2.50
^
D2024-01-05
U100.00
PEmployer
^
!Type:Cat
NFood
DWhat is eaten
^
"""


@pytest.mark.parametrize(
    ("text", "name", "account", "rows"),
    [
        (
            OFX,
            "a.ofx",
            [("heading", "Giro 12")],
            ["2024-01-03\tCafé & Kebab\t-12.50 EUR\tLunch", "2024-01-04\t\t3.00 USD"],
        ),
        (
            OFX_DEPOT,
            "a.ofx",
            [("heading", "Depot 7")],
            [
                "2024-01-02\tQuetzal Inc\t-25 USD\tBought shares · 10 units at 2.5",
                "2024-01-03\tAnn\t7 USD",
                "2024-01-04\t039\t1 USD",
            ],
        ),
        (OFX_XML, "a.qfx", [], ["2024-01-03\tAnn\t1"]),
        (
            QIF,
            "a.qif",
            [("heading", "Giro 12")],
            ["1/3/24\tKebab shop\t-12.50\tFood · Lunch · Bread", "2024-01-05\tEmployer\t100.00"],
        ),
    ],
)
def test_each_booking_of_a_statement_is_a_row(
    text: str, name: str, account: list[tuple[str, str]], rows: list[str]
) -> None:
    document = parse(text.encode("cp1252"), name)

    table = "\n".join(["Date\tPayee\tAmount\tMemo", *rows])
    assert kinds(document) == [*account, ("table", table)]


@pytest.mark.parametrize(
    ("data", "name", "told"),
    [
        (b"<rss><channel><item>", "a.rss", "no XML"),
        (b"<rss/>", "a.rss", ""),
        (b"plain", "a.ofx", "no OFX file, but text"),
        (b"!Type:Bank\n^\n\n^", "a.qif", ""),
        (b"OFXHEADER:100\n<OFX><STMTTRN>" + b"<NAME>" * 10_000, "a.ofx", ""),
    ],
)
def test_what_is_damaged_is_refused_or_empty(data: bytes, name: str, told: str) -> None:
    document = parse(data, name)

    assert not document.text
    assert told in str(document.refused)
