"""PDF files made of nothing: texts at places, pictures, an outline, files within.

Points are counted from the lower left corner of a page, as PDF does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Leaf", "Said", "paper", "plain_page"]

_HEAD = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


class Said(NamedTuple):
    """A text, where it begins, and how large and bold it is; ``turn`` quarters to the left.

    What is ``is_typed`` is in type of one width.
    """

    x: float
    y: float
    text: str
    size: float = 12
    is_bold: bool = False
    turn: int = 0
    is_typed: bool = False


class Leaf(NamedTuple):
    """A page: what it says, its size, what a viewer shows of it, and how it turns that."""

    said: Sequence[Said] = ()
    size: tuple[float, float] = (612, 792)
    crop: tuple[float, float, float, float] | None = None
    turn: int = 0
    """Degrees, clockwise."""
    is_picture: bool = False
    """A grey image lies over all of it."""
    over: Sequence[str] = ()
    """What lies over it, as PDF writes it: a note, or a field of a form, which has ``/FT``."""


def plain_page(*lines: str, leading: float = 14, top: float = 720) -> Leaf:
    """Return a page of lines one below the other."""
    return Leaf([Said(72, top - number * leading, line) for number, line in enumerate(lines)])


def paper(
    *leaves: Leaf,
    outline: Sequence[tuple[str, int]] = (),
    files: Mapping[str, bytes] | None = None,
    information: Mapping[str, str] | None = None,
    labels: str = "",
    means: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> bytes:
    """Return a file; *outline* is titles and pages from 0, *labels* a style such as ``r``.

    *means* are characters that the fonts say stand for others, *names* what they call some.
    """
    made = _Objects()
    root, pages = made.reserve(), made.reserve()
    told = f"/ToUnicode {made.stream(_meanings(means))} " if means else ""
    told += f"/Encoding {made.add(_differences(names))}" if names else _ENCODING
    fonts = " ".join(f"/F{n} {made.font(font, told)}" for n, font in enumerate(_FONTS))
    kids = [made.leaf(leaf, pages, fonts) for leaf in leaves]
    held = "".join(f"({_escaped(name)}) {made.file(name, data)} " for name, data in
                   sorted((files or {}).items()))  # fmt: skip
    made.put(pages, f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>")
    extras = f"/Outlines {made.outline(outline, kids)}" if outline else ""
    extras += f" /Names << /EmbeddedFiles << /Names [{held}] >> >>" if held else ""
    if made.fields:
        extras += f" /AcroForm << /Fields [{' '.join(made.fields)}] >>"
    extras += f" /PageLabels << /Nums [0 << /S /{labels} >>] >>" if labels else ""
    made.put(root, f"<< /Type /Catalog /Pages {pages} {extras} >>")
    said = " ".join(f"/{key} ({_escaped(value)})" for key, value in (information or {}).items())
    return made.whole(root, made.add(f"<< {said} >>"))


_FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
_ENCODING = "/Encoding /WinAnsiEncoding"
_TURNS = ("1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _meanings(means: Mapping[str, str]) -> bytes:
    """Return the map of a font that tells what its characters stand for."""
    lines = [
        f"<{ord(shown):02x}> <{stands_for.encode('utf-16-be', 'surrogatepass').hex()}>"
        for shown, stands_for in means.items()
    ]
    codes = "1 begincodespacerange <00> <ff> endcodespacerange"
    mapped = f"{len(lines)} beginbfchar {' '.join(lines)} endbfchar"
    return f"/CIDInit /ProcSet findresource begin begincmap {codes} {mapped} endcmap end".encode()


def _differences(names: Mapping[str, str]) -> str:
    """Return the encoding of a font that calls some of its characters otherwise."""
    called = " ".join(f"{ord(character)} /{name}" for character, name in names.items())
    return f"<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [{called}] >>"


class _Objects:
    """The objects of a file, each by its number from 1."""

    def __init__(self) -> None:
        self._objects: list[bytes] = []
        self.fields: list[str] = []
        """Those of forms."""

    def reserve(self) -> str:
        self._objects.append(b"")
        return f"{len(self._objects)} 0 R"

    def put(self, reference: str, body: str | bytes) -> None:
        data = body.encode("cp1252", "replace") if isinstance(body, str) else body
        self._objects[int(reference.split(maxsplit=1)[0]) - 1] = data

    def add(self, body: str | bytes) -> str:
        reference = self.reserve()
        self.put(reference, body)
        return reference

    def stream(self, data: bytes, entries: str = "") -> str:
        head = f"<< /Length {len(data)} {entries} >>\nstream\n".encode()
        return self.add(head + data + b"\nendstream")

    def font(self, name: str, told: str = "") -> str:
        kind = f"/Type /Font /Subtype /Type1 /BaseFont /{name}"
        return self.add(f"<< {kind} {told} >>")

    def leaf(self, leaf: Leaf, pages: str, fonts: str) -> str:
        width, height = leaf.size
        drawn = [
            f"BT /F{2 if said.is_typed else int(said.is_bold)} {said.size} Tf "
            f"{_TURNS[said.turn]} {said.x} {said.y} Tm "
            f"({_escaped(said.text)}) Tj ET"
            for said in leaf.said
        ]
        image = ""
        if leaf.is_picture:
            entries = "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8"
            image = f"/XObject << /I {self.stream(b'@', f'{entries} /ColorSpace /DeviceGray')} >>"
            drawn.insert(0, f"q {width} 0 0 {height} 0 0 cm /I Do Q")
        content = self.stream("\n".join(drawn).encode("cp1252", "replace"))
        over = [self.add(f"<< /Type /Annot {each} >>") for each in leaf.over]
        self.fields += [at for at, each in zip(over, leaf.over, strict=True) if "/FT" in each]
        notes = f"/Annots [{' '.join(over)}]" if over else ""
        crop = f"/CropBox [{' '.join(map(str, leaf.crop))}]" if leaf.crop else ""
        return self.add(
            f"<< /Type /Page /Parent {pages} /MediaBox [0 0 {width} {height}] {crop} "
            f"/Rotate {leaf.turn} /Resources << /Font << {fonts} >> {image} >> "
            f"/Contents {content} {notes} >>"
        )

    def file(self, name: str, data: bytes) -> str:
        held = self.stream(data, "/Type /EmbeddedFile")
        told = f"/Type /Filespec /F ({_escaped(name)}) /UF ({_escaped(name)})"
        return self.add(f"<< {told} /EF << /F {held} >> >>")

    def outline(self, entries: Sequence[tuple[str, int]], pages: Sequence[str]) -> str:
        root = self.reserve()
        marks = [self.reserve() for _ in entries]
        for number, ((title, page), mark) in enumerate(zip(entries, marks, strict=True)):
            after = f"/Next {marks[number + 1]}" if marks[number + 1 :] else ""
            target = f"[{pages[page]} /Fit]"
            body = f"/Title ({_escaped(title)}) /Parent {root} /Dest {target} {after}"
            self.put(mark, f"<< {body} >>")
        self.put(root, f"<< /First {marks[0]} /Last {marks[-1]} /Count {len(marks)} >>")
        return root

    def whole(self, root: str, information: str) -> bytes:
        out, places = bytearray(_HEAD), []
        for number, body in enumerate(self._objects, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        at, count = len(out), len(self._objects) + 1
        out += f"xref\n0 {count}\n0000000000 65535 f \n".encode()
        out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
        out += f"trailer << /Size {count} /Root {root} /Info {information} >>\n".encode()
        return bytes(out + f"startxref\n{at}\n%%EOF\n".encode())
