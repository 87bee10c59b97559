"""Slides of PowerPoint before 2007 (ppt): opened and read.

Of locked ones no password is tried: what ``msoffcrypto`` makes of them cannot be read.
"""

from __future__ import annotations

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.compound import Storage
from kb_app._ingest.making.containers import LOCKED, Refused
from kb_app._ingest.making.formats.office.powerpoint97.reader import read_powerpoint97
from kb_app._ingest.making.formats.office.powerpoint97.records import Records
from kb_core.ingest import SkipReason

__all__ = ["SLIDES", "read_old_slides"]

SLIDES = "PowerPoint Document"
_USER = "Current User"


def read_old_slides(root: Storage, draft: Draft, most: int) -> tuple[dict[str, object], list[str]]:
    """Write down slides, at most *most*; return what else is known of them, and warnings.

    Raise ``Refused`` where they cannot be read.
    """
    records = Records(root.stream(SLIDES), root.stream(_USER))
    if records.is_locked:
        raise Refused(SkipReason.ENCRYPTED, f"{LOCKED}; save it as .pptx")
    known = read_powerpoint97(records, draft, most)
    return known, ["it is damaged: some of its slides are missing"] if records.is_cut else []
