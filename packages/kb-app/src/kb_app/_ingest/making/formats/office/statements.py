"""Statements of accounts that a bank or a program saved: OFX, QFX and QIF.

Each booking is a row of a table with its date, payee, amount and memo, under the account that it
is of. OFX is read by its tags, which need no end: before XML it was SGML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import NamedTuple

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.formats.office.items import Item, write_items

__all__ = ["is_statement", "read_statement"]

_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:OFXHEADER:|(?:<\?[^>]{0,400}>\s{0,200}){0,4}<OFX>"
    rb"|!(?:Type:|Account|Option:|Clear:))",
    re.IGNORECASE,
)
_QIF = re.compile(r"\s*!")
_TAG = re.compile(r"<(/?)([A-Z0-9.]{1,40})>([^<\n]*)")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_HEAD = "Date\tPayee\tAmount\tMemo"
_QIF_MEMOS = "LMSE"
"""Of a booking of QIF: its category, its memo, and those of its parts."""


class _Booking(NamedTuple):
    account: str
    date: str
    payee: str
    amount: str
    memo: str


def is_statement(data: bytes) -> bool:
    """Say whether a file is such a statement, by how it begins."""
    return _BEGINS.match(data) is not None


def read_statement(data: bytes, draft: Draft) -> None:
    """Write down the bookings of a file."""
    text = FileContent(data).text
    write_items(draft, _items(_of_qif(text) if _QIF.match(text) else _of_ofx(text)), ())


def _items(bookings: Iterable[_Booking]) -> Iterator[Item]:
    tables: dict[str, list[str]] = {}
    for account, *cells in bookings:
        row = "\t".join(" ".join(cell.split()) for cell in cells).rstrip()
        tables.setdefault(account, [_HEAD]).append(row)
    for account, rows in tables.items():
        yield Item("heading", account, 1)
        yield Item("table", "\n".join(rows))


def _of_ofx(text: str) -> Iterator[_Booking]:
    account = currency = ""
    said: dict[str, str] | None = None
    for close, tag, value in _TAG.findall(text):
        told = unescape(value).strip()
        if tag == "STMTTRN" and not close:
            said = {}
        elif tag == "STMTTRN" and said is not None:
            amount = f"{said.get('TRNAMT', '')} {said.get('CURSYM', currency)}".strip()
            day = _DAY.sub(r"\1-\2-\3", said.get("DTPOSTED", "")[:8])
            yield _Booking(account, day, said.get("NAME", ""), amount, said.get("MEMO", ""))
            said = None
        elif said is not None and not close:
            said.setdefault(tag, told)
        elif tag == "CURDEF":
            currency = told or currency
        elif tag == "ACCTID":
            account = told or account


def _of_qif(text: str) -> Iterator[_Booking]:
    account = ""
    for record in re.split(r"^\^.*\n?", text, flags=re.MULTILINE):
        lines = [line for line in record.split("\n") if line.strip()]
        is_account = any(line.lower().startswith("!account") for line in lines)
        said: dict[str, list[str]] = {}
        for line in lines:
            if not line.startswith("!"):
                said.setdefault(line[0], []).append(line[1:].strip())
        if is_account:
            account = said.get("N", [account])[0]
        elif amount := said.get("T") or said.get("U"):
            memos = dict.fromkeys(each for key in _QIF_MEMOS for each in said.get(key, ()))
            day = said.get("D", [""])[0].replace(" ", "").replace("'", "/")
            yield _Booking(account, day, said.get("P", [""])[0], amount[0], " · ".join(memos))
