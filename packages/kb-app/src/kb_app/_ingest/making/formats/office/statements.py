"""Statements of accounts that a bank or a program saved: OFX, QFX and QIF.

Each booking is a row of a table with its date, payee, amount and memo, under the account that it
is of; of a depot the payee is the paper, and the memo tells how many were traded. OFX is read by
its tags, which need no end: before XML it was SGML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
_BEGINNINGS, _ENDS = {"STMTTRN", "INVTRAN"}, {"STMTTRN", "INVTRANLIST"}
"""What a booking of an account or a depot begins with, and what ends one."""
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
    """Yield the bookings of accounts, and those of depots, which end where the next begins."""
    tags = [(close, tag, unescape(value).strip()) for close, tag, value in _TAG.findall(text)]
    names = dict(_securities(tags))
    account = currency = ""
    said: dict[str, str] = {}
    is_open = False
    for close, tag, told in tags:
        is_beginning = not close and tag in _BEGINNINGS
        if is_beginning or (close and tag in _ENDS):
            if said:
                yield _booking(account, currency, said, names)
            said, is_open = {}, is_beginning
        elif is_open and not close:
            said.setdefault(tag, told)
        elif tag == "CURDEF":
            currency = told or currency
        elif tag == "ACCTID":
            account = told or account


def _securities(tags: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the papers that a file tells of, each by its number, with their names."""
    number = ""
    for close, tag, told in tags:
        if tag == "UNIQUEID":
            number = told
        elif tag == "SECNAME" and not close:
            yield number, told


def _booking(
    account: str, currency: str, said: Mapping[str, str], names: Mapping[str, str]
) -> _Booking:
    amount = said.get("TRNAMT") or said.get("TOTAL", "")
    amount = f"{amount} {said.get('CURSYM', currency)}" if amount else ""
    day = _DAY.sub(r"\1-\2-\3", (said.get("DTPOSTED") or said.get("DTTRADE", ""))[:8])
    paper = said.get("UNIQUEID", "")
    traded = [f"{said['UNITS']} units"] if said.get("UNITS") else []
    traded += [f"at {said['UNITPRICE']}"] if said.get("UNITPRICE") else []
    memo = " · ".join(filter(None, (said.get("MEMO"), " ".join(traded))))
    return _Booking(account, day, said.get("NAME") or names.get(paper, paper), amount, memo)


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
