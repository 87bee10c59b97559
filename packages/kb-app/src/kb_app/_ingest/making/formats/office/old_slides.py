"""Slides of PowerPoint before 2007 (ppt): opened, unlocked where a password is known, and read."""

from __future__ import annotations

from collections.abc import Sequence

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.compound import NoCompoundError, Storage, read_compound
from kb_app._ingest.making.containers import LOCKED, Refused
from kb_app._ingest.making.formats.office.locked import unlocked
from kb_app._ingest.making.formats.office.powerpoint97.reader import read_powerpoint97
from kb_app._ingest.making.formats.office.powerpoint97.records import Records
from kb_core.ingest import SkipReason

__all__ = ["SLIDES", "read_old_slides"]

SLIDES = "PowerPoint Document"
_USER = "Current User"


def read_old_slides(
    data: bytes, root: Storage, draft: Draft, most: int, passwords: Sequence[str] | None = None
) -> tuple[dict[str, object], list[str]]:
    """Write down slides, at most *most*; return what else is known of them, and warnings.

    A locked file is tried with *passwords*, which are None where it was unlocked already. Raise
    ``Refused`` where it cannot be read.
    """
    records = Records(root.stream(SLIDES), root.stream(_USER))
    if records.is_locked:
        if passwords is None:
            raise Refused(SkipReason.ENCRYPTED, LOCKED)
        plain = unlocked(data, passwords)
        try:
            return read_old_slides(plain, read_compound(plain), draft, most)
        except NoCompoundError as error:
            raise Refused(SkipReason.UNREADABLE, str(error)) from None
    known = read_powerpoint97(records, draft, most)
    return known, ["it is damaged: some of its slides are missing"] if records.is_cut else []
