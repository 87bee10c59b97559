"""Texts of Word before 2007 (doc): opened, unlocked where a password is known, and read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.compound import NoCompoundError, Storage, read_compound
from kb_app._ingest.making.containers import LOCKED, Refused
from kb_app._ingest.making.formats.office.locked import unlocked
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.formats.office.summary import summary_of
from kb_app._ingest.making.formats.office.word97.before import OlderFile, read_word95
from kb_app._ingest.making.formats.office.word97.file import NoWordError, OldWordError, WordFile
from kb_app._ingest.making.formats.office.word97.reader import read_word97
from kb_core.documents import Link
from kb_core.ingest import SkipReason

__all__ = ["OldWords", "read_old_words"]

_CUT = ("it is damaged: some of its text is missing",)


class OldWords(NamedTuple):
    """What is known of a text beside what it says."""

    properties: Properties
    links: Sequence[Link]
    warnings: Sequence[str]


def read_old_words(
    data: bytes, root: Storage, draft: Draft, passwords: Sequence[str] | None = None
) -> OldWords:
    """Write down what a file says, whose *root* it is; raise ``Refused`` where it cannot be read.

    A locked one is tried with *passwords*, which are None where it was unlocked already.
    """
    word = _opened(root)
    if isinstance(word, OlderFile):
        if word.is_locked:
            raise Refused(SkipReason.ENCRYPTED, f"{LOCKED}; save it as .docx")
        links = read_word95(word, draft)
        return OldWords(summary_of(root), links, _CUT if word.is_cut else ())
    if word.is_locked:
        if passwords is None:
            raise Refused(SkipReason.ENCRYPTED, LOCKED)
        if word.is_obfuscated:
            raise Refused(SkipReason.ENCRYPTED, f"{LOCKED}; save it as .docx")
        plain = unlocked(data, passwords)
        return read_old_words(plain, _root(plain), draft)
    word.read()
    links = read_word97(word, draft)
    return OldWords(summary_of(root), links, _CUT if word.is_cut else ())


def _root(data: bytes) -> Storage:
    try:
        return read_compound(data)
    except NoCompoundError as error:
        raise Refused(SkipReason.UNREADABLE, str(error)) from None


def _opened(root: Storage) -> WordFile | OlderFile:
    try:
        with suppress(OldWordError):
            return WordFile(root)
        return OlderFile(root.stream("WordDocument"))
    except NoWordError as error:
        raise Refused(SkipReason.UNREADABLE, str(error)) from None
