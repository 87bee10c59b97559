"""Files of office programs for tests, as small as they can be, made of what is in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

__all__ = ["archive", "docx", "relations"]

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": _WORD,
        "r": f"{_OFFICE}/relationships",
        "m": f"{_OFFICE}/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of *parts*, by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            made.writestr(name, part)
    return out.getvalue()


def relations(*targets: tuple[str, str]) -> str:
    """Return relationships ``r0``, ``r1`` and on: the kind of each, and where it leads."""
    each = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/relationships/{kind}" Target="{target}"'
        f"{_mode(target)}/>"
        for number, (kind, target) in enumerate(targets)
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'


def docx(
    body: str, *, styles: str = "", more: Sequence[tuple[str, str]] = (), core: str = ""
) -> bytes:
    """Return a text: *body* is its WordprocessingML, *styles* that of its styles.

    *more* are further parts, by what they are, such as ``footnotes`` or ``header``; ``r0`` is
    the styles, ``r1`` a link to ``https://example.org/``, and they come after these.
    """
    roots = {"header": "hdr", "footer": "ftr"}
    parts = {
        "_rels/.rels": relations(
            ("officeDocument", "/word/document.xml"), ("metadata/core-properties", "core.xml")
        ),
        "word/document.xml": _word("document", f"<w:body>{body}</w:body>"),
        "word/styles.xml": _word("styles", styles),
        "word/_rels/document.xml.rels": relations(
            ("styles", "styles.xml"),
            ("hyperlink", "https://example.org/"),
            *((kind, f"part{number}.xml") for number, (kind, _) in enumerate(more)),
        ),
        "core.xml": _core(core),
    }
    for number, (kind, part) in enumerate(more):
        parts[f"word/part{number}.xml"] = _word(roots.get(kind, kind), part)
    return archive(parts)


def _word(name: str, inside: str) -> str:
    return f"{_HEAD}<w:{name} {_SPACES}>{inside}</w:{name}>"


def _core(inside: str) -> str:
    return (
        f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"{inside}</cp:coreProperties>"
    )


def _mode(target: str) -> str:
    return ' TargetMode="External"' if "://" in target else ""
