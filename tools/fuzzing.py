"""What ``fuzz`` is made of: samples, changes to them, and the promises of every parser.

Changes depend on the given chance alone. ``read`` runs in a worker process.
"""

from __future__ import annotations

import io
import traceback
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random

from kb_app._ingest.judging.kinds import Caps, detect
from kb_app._ingest.making.compound import COMPOUND, NoCompoundError, read_compound
from kb_app._ingest.making.compound_writing import tree_of, write_compound
from kb_app._ingest.making.embedded_data import without_data
from kb_app._ingest.making.parsing import Read, judge_bytes, parse_whole
from kb_app._ingest.making.places import placed_chunks
from kb_app._ingest.settings import Settings
from kb_app._media import chunker_for
from kb_app.testing.compound_files import compound
from kb_app.testing.office_files import flat_odf
from kb_app.testing.outlook_files import Values, message_tree, msg, packed_rtf, tnef
from kb_app.testing.powerpoint_files import S, ppt, shape, table, text
from kb_app.testing.word_files import P, doc_tree, row, summary
from kb_core.documents import ChunkLimits, SourceFile
from kb_core.ports import TokenCounter
from kb_core.values import dataclass

__all__ = ["Input", "mutated", "read", "samples_below"]

LIMITS = ChunkLimits(target_tokens=64, overlap_tokens=8, max_tokens=120)
SETTINGS = Settings(
    model="none", cache_dir="", limits=LIMITS, window=500, caps=Caps(), allow_secrets=True
)
MOST_CHANGES = 8
LONGEST = 2_000_000
_SELDOM = 0.2
TOKENS: tuple[bytes, ...] = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n---\n", b"\n```\n",
    b"| a |\n|---|\n", b"<", b"</", b"<!--", b"]]>", b"<![CDATA[", b"&#x110000;", b"&b;",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"{", b"[", b'"', b"\\u", b"\\ud800", b"1e999", b"NaN",
    b"-9223372036854775809", b"0x", b"%PDF-1.7\n", b"endobj", b" 0 R", b"stream\n",
    b"/Length -1", b"PK\1\2", b"PK\3\4", b"PK\5\6", b"Content-Type: a/b;\n", b"boundary=",
    b"=?utf-8?b?", b"\xe2\x80\xae", b"\xf0\x9f\x91\xa9\xe2\x80\x8d", b"\x1b]8;;", b"\xcc\x81",
)  # fmt: skip
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read: its kind, its name, its bytes, and which of all inputs it is."""

    kind: str
    name: str
    data: bytes
    number: int = 0


def samples_below(folders: Sequence[Path], only: str, largest: int) -> Mapping[str, list[Input]]:
    """Return the samples of each kind, from *folders*, and those that are made here."""
    found: defaultdict[str, list[Input]] = defaultdict(list)
    files = [file for folder in folders if folder.is_dir() for file in sorted(folder.rglob("*"))]
    for file in files:
        kind = detect(file.name)
        if kind is None or not file.is_file() or not 0 < file.stat().st_size <= largest:
            continue
        named = f"{kind.media}{file.suffix.lower() if kind.media in _SEVERAL else ''}"
        if only in {"", str(kind.media)}:
            found[named].append(Input(named, file.name, file.read_bytes()))
    for name, data in _made().items():
        kind = detect(name)
        if kind is not None and only in {"", str(kind.media)}:
            named = f"{kind.media}{Path(name).suffix}"
            found[named].append(Input(named, name, data))
    return found


def _made() -> Mapping[str, bytes]:
    """Return samples of kinds that this repository has no files of."""
    inner = message_tree({0x0037: "Within", 0x1000: "Forwarded."})
    attached: list[Values] = [{0x3701: inner}, {0x3701: b"# Notes", 0x3707: "notes.md"}]
    rtf = packed_rtf(rb"{\rtf1\ansi\fromhtml1 {\*\htmltag <p>}Gr\'f6\u223?e{\*\htmltag </p>}}")
    slide = S([shape(0), table(["a", "b"], ["c", "d"])], [text(0, "Title")], "Note.", ("A", "B"))
    beside = {"footnotes": ["Note."], "comments": ["Hm."], "headers": [""] * 6 + ["Head"] * 6}
    words: list[P | str] = [
        "One{f} two{c}.",
        *row("a", "b"),
        '\x13 HYPERLINK "https://a" \x14link\x15',
    ]
    return {
        "a.msg": msg({0x0037: "Ice", 0x1009: rtf}, attached=attached),
        "a.doc": compound({**doc_tree(words, beside=beside), **summary({2: "Ice"})}),
        "a.ppt": ppt([slide, S()]),
        "winmail.tnef": tnef({0x0037: "Ice", 0x1000: "Sea."}, attached=[("a.txt", b"ice")]),
        "a.fodt": flat_odf("text", "<text:h>Ice</text:h><text:p>a<text:s/>b</text:p>"),
        **{name: said.encode() for name, said in _WRITTEN.items()},
    }


_WRITTEN = {
    "conversations.json": (
        '[{"title": "Ice", "create_time": 1714996800.5, "current_node": "b", "mapping": {"a": '
        '{"parent": null}, "b": {"parent": "a", "message": {"author": {"role": "user"}, "content": '
        '{"content_type": "text", "parts": ["Why?"]}}}}}, {"name": "Sea", "created_at": '
        '"2024-05-06T12:00:00Z", "chat_messages": [{"sender": "human", "text": "# Why?"}]}]'
    ),
    "result.json": (
        '{"name": "Ann", "messages": [{"date": "2024-05-06T12:00:00", "from": "Ann", '
        '"from_id": "u1", "text": ["See ", {"text": "there"}]}]}'
    ),
    "WhatsApp Chat with Ann.txt": (
        "3/12/24, 6:05\u202fPM - Ann: hi\nthere\n12.3.24, 18:05 - Tom: <Media omitted>\n"
        "[2024. 3. 12. 오후 6:05:11] ~\u202fA: \u200e<attached: 00000004-PHOTO-a.jpg>\n"
    ),
    "a.fb2": (
        '<?xml version="1.0"?><FictionBook><description><title-info><book-title>Ice</book-title>'
        "<lang>en</lang></title-info></description><body><section><title><p>One</p></title><p>a"
        '<a type="note">1</a></p><poem><stanza><v>b</v></stanza></poem></section></body>'
        '<body name="notes"><section><title><p>1</p></title><p>c</p></section></body></FictionBook>'
    ),
    "a.opml": (
        '<opml><head><title>Ice</title></head><body><outline text="a" _note="b"><outline text="c" '
        'xmlUrl="https://a"/></outline></body></opml>'
    ),
    "a.canvas": (
        '{"nodes": [{"id": "a", "type": "text", "text": "# One\\n\\n- b", "x": 1, "y": 2}, {"id": '
        '"g", "type": "group", "label": "c", "x": 0, "y": 0, "width": 9, "height": 9}], '
        '"edges": [{"fromNode": "a", "toNode": "g", "label": "d"}]}'
    ),
    "a.excalidraw": (
        '{"elements": [{"type": "frame", "id": "f", "name": "Ice"}, {"type": "text", "id": "t", '
        '"text": "a", "frameId": "f", "link": "https://a"}, {"type": "text", "text": "b", '
        '"containerId": "w"}, {"type": "arrow", "id": "w", "startBinding": {"elementId": "t"}, '
        '"endBinding": {"elementId": "t"}}]}'
    ),
    "a.drawio": (
        '<mxfile><diagram name="Ice"><mxGraphModel><root><mxCell id="2" value="a&lt;br&gt;b"/>'
        '<UserObject label="c" id="4"><mxCell/></UserObject><mxCell value="d" edge="1" source="2" '
        'target="4"/></root></mxGraphModel></diagram><diagram name="Sea">s0lMSrZLAAA=</diagram>'
        "</mxfile>"
    ),
    "a.rss": (
        "<rss><channel><title>Ice</title><item><title>a</title><link>https://a</link><pubDate>Mon, "
        "06 Sep 2021 00:01:00 GMT</pubDate><description>&lt;p&gt;b&lt;/p&gt;</description></item>"
        "</channel></rss>"
    ),
    "a.atom": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Ice</title><entry><title>a</title><link '
        'href="https://a"/><author><name>b</name></author><content type="xhtml"><div><p>c</p>'
        "</div></content></entry></feed>"
    ),
    "a.ofx": (
        "OFXHEADER:100\n<OFX><CURDEF>EUR<ACCTID>1<STMTTRN><DTPOSTED>20240506<TRNAMT>-1.5<NAME>a"
        "<MEMO>b</STMTTRN></OFX>"
    ),
    "a.qif": "!Account\nNIce\n^\n!Type:Bank\nD5/6'24\nT-1.5\nPa\nMb\n^\n",
    "a.xmp": (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>'
        "Ice</dc:title><dc:subject>a</dc:subject></x:xmpmeta>"
    ),
    "a.md": (
        f"Ice\n\na ![b](data:image/png;base64,{'iVBORw0K' * 12}) c\n\n```compressed-json\n"
        f"{'N4KAkARA1LgQ' * 60}\n```\n\nid: {'0f' * 16}\ncreated_time: 2024-05-06T12:00:00Z\n"
        "type_: 1"
    ),
    "a.texi": "@settitle Ice\n@node One\n@chapter @code{One}\n@section Two\n",
    "a.pod": "=head1 C<One> X<two>\n\nIce.\n\n=head2 L<a|b>\n",
    "a.txt": '.TH ICE 7 2024-05-06\n.SH "THE NAME"\nice \\- sea\n.SS\nBelow\n',
}
"""Samples of what is text, but for the programs that read it."""


_TOLD = (".xml", ".rels", ".xhtml", ".html", ".opf")
_SEVERAL = {"office", "code", "csv", "mail", "text", "image"}
"""Media whose files are of several forms, each of which is a kind here."""


def mutated(samples: Sequence[Input], chance: Random, number: int) -> Input:
    """Return one of *samples*, changed."""
    sample = chance.choice(samples)
    other = chance.choice(samples)
    data = None
    if sample.data[:4] == b"PK\3\4" and chance.random() > _SELDOM:
        with suppress(Exception):  # what cannot be unpacked is changed as it is
            data = _repacked(sample.data, chance)
    elif sample.data.startswith(COMPOUND) and chance.random() > _SELDOM:
        with suppress(NoCompoundError):
            data = _rewritten(sample.data, chance)
    if data is None:
        data = _changed(sample.data, other.data, chance)
    return Input(sample.kind, sample.name, data[:LONGEST], number)


def _repacked(data: bytes, chance: Random) -> bytes:
    """Return an archive with one of its members changed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        names = old.namelist()
        told = [
            name for name in names if name.endswith((".xml", ".rels", ".xhtml", ".html", ".opf"))
        ]
        chosen = chance.choice(told or names)
        for name in names:
            content = old.read(name)
            if name == chosen:
                content = _changed(content, old.read(chance.choice(names)), chance)
            new.writestr(name, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _rewritten(data: bytes, chance: Random) -> bytes:
    """Return a compound file with one of its streams changed."""
    tree = tree_of(read_compound(data))
    streams = {name: content for name, content in tree.items() if isinstance(content, bytes)}
    if streams:
        name = chance.choice(sorted(streams))
        tree[name] = _changed(streams[name], streams[chance.choice(sorted(streams))], chance)
    return write_compound(tree)


def _changed(data: bytes, other: bytes, chance: Random) -> bytes:
    """Return *data* after a few changes; *other* is of the same kind."""
    made = bytearray(data)
    for _ in range(chance.randint(1, MOST_CHANGES)):
        at = chance.randrange(len(made) + 1)
        end = min(len(made), at + int(chance.expovariate(1 / 40)) + 1)
        match chance.randrange(7):
            case 0 if made:
                made[at % len(made)] ^= 1 << chance.randrange(8)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end] * chance.randint(1, 50)
            case 3:
                made[at:] = other[chance.randrange(len(other) + 1) :]
            case 4 if chance.random() < _SELDOM:
                del made[at:]
            case _:
                new = _put_in(chance)
                made[at : at + chance.choice((0, len(new)))] = new
    return bytes(made)


def _put_in(chance: Random) -> bytes:
    """Return bytes that readers may stumble over."""
    match chance.randrange(3):
        case 0:
            return chance.choice(TOKENS) * chance.choice((1, 1, 1, 3, 300))
        case 1:
            size = chance.choice((1, 2, 4))
            number = chance.choice(NUMBERS) & (1 << 8 * size) - 1
            return number.to_bytes(size, chance.choice(("little", "big")))
        case _:
            return chance.randbytes(chance.randint(1, 40))


class _Counter:
    """Counts words, and long ones as several."""

    adds_up = True

    def count(self, text: str, /) -> int:
        return sum(1 + len(word) // 8 for word in text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


@cache
def _counter() -> TokenCounter:
    return _Counter()


def read(given: Input) -> str:
    """Read an input as an ingest does; return what was wrong with that, or nothing."""
    kind = detect(given.name)
    assert kind is not None  # noqa: S101 - samples are those that have one
    file = SourceFile(
        source_id="s", path=given.name, media=kind.media, code_lang=kind.code_lang,
        size=len(given.data),
    )  # fmt: skip
    try:
        judged = judge_bytes(file, given.data, SETTINGS.caps)
        if not isinstance(judged, SourceFile):
            return ""
        whole = parse_whole(judged, given.data, SETTINGS)
        documents = getattr(whole, "documents", ())
        return next(filter(None, map(_broken, documents)), "")
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {type(error).__name__}"
        return f"{place}\n{traceback.format_exc()}"


def _broken(found: Read) -> str:
    """Return which promise a document breaks, if it does."""
    parsed, counter = found.parsed, _counter()
    end = 0
    for block in parsed.blocks:
        if not end <= block.start < block.end <= len(parsed.text):
            return f"blocks of {found.file.media} are not in order\n{block}"
        end = block.end
    covered, data = bytearray(len(parsed.text)), bytearray(len(parsed.text))
    chunker = chunker_for(found.file.media)
    for draft in placed_chunks(parsed, chunker, counter, LIMITS):
        text = parsed.text[draft.start : draft.end]
        if not text.strip() or (counter.count(text) > LIMITS.max_tokens and len(text) > 1):
            return f"a chunk of {found.file.media} is empty or too large\n{draft}"
        covered[draft.start : draft.end] = b"\1" * len(text)
    told = chain.from_iterable(without_data(parsed.text, parsed.blocks))
    for blocks, mark in ((parsed.blocks, b"\1"), (told, b"\0")):
        for block in blocks:
            data[block.start : block.end] = mark * (block.end - block.start)
    marks = zip(parsed.text, covered, data, strict=True)
    if any(not (c.isspace() or is_covered or is_data) for c, is_covered, is_data in marks):
        return f"chunks of {found.file.media} leave something out"
    return ""
