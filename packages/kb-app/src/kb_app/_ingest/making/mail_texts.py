"""The text of a mail: how it is decoded, which of two is taken, and what its parts are. Pure."""

from __future__ import annotations

import re
from binascii import a2b_base64

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.blocks import Lines, Region, paragraphs
from kb_core.documents import Block

__all__ = ["best_text", "cut_base64", "decoded_text", "mail_blocks", "unflowed"]

_CHARSETS = {
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}
"""What is written is often what its superset says."""
_NO_LETTERS = re.compile(rb"[^A-Za-z0-9+/]")
_TELLING, _SAYS_LITTLE = 200, 5
"""A plain text is passed over where the HTML says at least so much, and so many times more."""
_SIGNATURE_LINES = 12


def best_text(plain: str, marked: str) -> str:
    """Return the plain text of a mail, or what its HTML shows, where that says far more."""
    plain, marked = plain.strip(), marked.strip()
    says_little = len(marked) > max(_TELLING, _SAYS_LITTLE * len(plain))
    return plain if plain and not says_little else marked


def decoded_text(data: bytes, charset: str | None) -> str:
    """Return a text in *charset*, or in what its bytes tell where that is not true."""
    name = _CHARSETS.get((charset or "").lower(), charset or "")
    try:
        text = data.decode(name) if name else ""
    except (UnicodeDecodeError, LookupError, ValueError):
        text = ""
    text = text or FileContent(data).text
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def unflowed(text: str, *, drops_blanks: bool = False) -> str:
    """Join lines that were only broken to fit a width ([RFC 3676]).

    The blank that such a line ends with may belong to the text, or not.
    """
    out: list[str] = []
    goes_on, deep = False, 0
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content[depth and content.startswith(" ") :]
        if goes_on and depth == deep and content != "-- ":
            out[-1] += content
        else:
            out.append(line)
        deep, goes_on = depth, line.endswith(" ") and content != "-- "
        if goes_on and drops_blanks:
            out[-1] = out[-1][:-1]
    return "\n".join(out)


def cut_base64(data: bytes) -> bytes:
    """Return what letters of base64 say that end in the middle of four."""
    letters = _NO_LETTERS.sub(b"", data)
    return a2b_base64(letters[: len(letters) // 4 * 4])


def mail_blocks(lines: Lines, headers: int) -> tuple[Block, ...]:
    """Return headers, paragraphs, what is quoted, and the signature."""
    regions = [Region(0, headers, "paragraph")] if headers else []
    at, signed = headers, _signature(lines, headers)
    while at < signed:
        end = at
        is_quoted = lines.texts[at].startswith(">")
        while end < signed and lines.texts[end].startswith(">") == is_quoted:
            end += 1
        if is_quoted:
            regions.append(Region(at, end, "quote"))
        else:
            regions += paragraphs(lines, at, end, "paragraph")
        at = end
    regions += [Region(signed, len(lines), "signature")] if signed < len(lines) else []
    return tuple(block for region in regions if (block := lines.block(region)))


def _signature(lines: Lines, first: int) -> int:
    """Return the line at which a signature begins, as mails mark it; else the end."""
    end = len(lines)
    for number in range(end - 1, max(first, end - _SIGNATURE_LINES) - 1, -1):
        if lines.texts[number].rstrip() == "--":
            return number
    return end
