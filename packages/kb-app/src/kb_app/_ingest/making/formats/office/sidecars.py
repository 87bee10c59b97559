"""Files beside pictures (XMP): what people wrote about a picture that programs leave as it is."""

from __future__ import annotations

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Flat
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.picture_texts import Sources, wording_of
from kb_core.documents import ReadingLimits

__all__ = ["is_sidecar", "read_sidecar"]


def is_sidecar(path: str) -> bool:
    """Say whether a file of this name lies beside a picture."""
    return path.lower().endswith(".xmp")


_PART = "the packet"


def read_sidecar(data: bytes, path: str, limits: ReadingLimits, draft: Draft) -> Properties:
    """Write down what is said of a picture, without where it was; return title and keywords.

    ``Refused`` of one that breaks off before anything is said.
    """
    name = path.rpartition("/")[2].rpartition(".")[0]  # ``a.jpg`` of ``a.jpg.xmp``
    wording = wording_of(Sources(xmp=data), [name, name.rpartition(".")[0]])._replace(place=())
    lines = [*wording.lines()]
    if not lines:
        Flat(data.strip(b"\0 \r\n"), {_PART}, limits).tree(_PART)
    write_items(draft, [Item("paragraph", line) for line in lines], ())
    return Properties({"title": wording.title, "keywords": ";".join(wording.keywords)})
