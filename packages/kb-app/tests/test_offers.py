"""What may be added from outside the sources, what it is called, and what a run makes of it."""

from __future__ import annotations

import base64
import gzip
import lzma
import os
import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kb_app._ingest.added.assets import Assets
from kb_app._ingest.added.offer import HandedText, Offer, from_file, from_text
from kb_app._ingest.added.planning import (
    asset_of,
    find_added,
    plan_added,
    plan_offer,
    record_of,
    record_of_row,
    unrecorded,
    used_assets,
)
from kb_app._ingest.judging.kinds import Caps, Skip
from kb_app._ingest.plan import Plan
from kb_app._ingest.seeing.files import location
from kb_app._ingest.settings import Settings, fingerprint_of, settings_hash, unjudging
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._media import MEDIA, Medium
from kb_core.control import ADDED_SOURCE
from kb_core.documents import ChunkLimits, SourceFile
from kb_core.errors import InvalidInput, IoError
from kb_core.execution import Outcome
from kb_core.ids import bytes_hash, doc_id
from kb_core.ingest import IngestOptions, ItemKind
from kb_core.media import Media
from kb_core.records import FileRecord, FileState
from kb_core.text import nfc

LIMITS = ChunkLimits(target_tokens=256, overlap_tokens=32, max_tokens=400)


def inline(task: Callable[[Any], Any], _: int) -> InlineExecutor[Any, Any]:
    return InlineExecutor(task)


SETTINGS = Settings(
    model="none", cache_dir="", limits=LIMITS, window=500, caps=Caps(), allow_secrets=False
)
BODY = base64.b64encode(random.Random(1).randbytes(600)).decode()
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n"


def text(body: str = "A walrus.\n", **fields: Any) -> Offer:  # noqa: ANN401
    return from_text(HandedText(text=body, **{"title": "T", **fields}), SETTINGS, 0)


def indexed(offer: Offer, settings: Settings = SETTINGS) -> FileRecord:
    """Return the row that a run leaves of an offer."""
    file = offer.file
    hashed = settings_hash(file, unjudging(settings))
    return FileRecord(
        source_id=ADDED_SOURCE,
        path=file.path,
        raw_path=os.fsencode(offer.asset).hex(),
        state=FileState.INDEXED,
        media=file.media,
        size=file.size,
        mtime_ns=file.mtime_ns,
        bytes_hash=bytes_hash(offer.data),
        fingerprint=fingerprint_of(bytes_hash(offer.data), hashed, offer.title),
        doc_id=doc_id(ADDED_SOURCE, file.path),
    )


# ----------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("On Penguins!", "on-penguins"),
        ("  2026-05-10: Notes  ", "2026-05-10-notes"),
        ("Ärger mit ÖPNV", "ärger-mit-öpnv"),
        ("펭귄에 대하여", "펭귄에-대하여"),
        ("../../etc/passwd", "etc-passwd"),
        ("snake_case", "snake-case"),
    ],
)
def test_r9_a_text_without_a_uri_is_called_by_the_words_of_its_title(title: str, slug: str) -> None:
    assert text(title=title).file.path == slug


def test_titles_without_words_have_names_of_their_own() -> None:
    first, second = text(title="!!!").file.path, text(title="???").file.path

    assert first.startswith("untitled-")
    assert first != second


def test_r9_a_source_uri_goes_before_the_title() -> None:
    assert text(source_uri="https://example.org/a.md?x=1#y").file.path == (
        "https://example.org/a.md?x=1#y"
    )


def test_r9_a_file_is_called_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("A walrus.\n", "utf-8")

    assert from_file(file, SETTINGS, inline).file.path == str(file)


def test_a_name_that_is_not_utf8_gets_a_path_that_is(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))
    file.write_text("A walrus.\n", "utf-8")

    assert from_file(file, SETTINGS, inline).file.path == f"{tmp_path}/caf%E9.md"


@given(uri=st.text(st.characters(), max_size=40))
@example(uri="../../../../tmp/x")
@example(uri="/etc/passwd")
@example(uri="a\x00b")
@example(uri="\udc80")
def test_whatever_a_document_is_called_its_bytes_stay_below_assets(uri: str) -> None:
    if not uri.strip() or any(unicodedata.category(c) in {"Cc", "Cs"} for c in uri):
        with pytest.raises(InvalidInput, match="source_uri"):
            text(source_uri=uri)
        return

    added = text(source_uri=uri)

    assert added.file.path == nfc(uri)
    where = location("/data/assets", added.file.path, os.fsencode(added.asset).hex())
    assert where == f"/data/assets/{bytes_hash(added.data)}.md"


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": " \t"}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"source_uri": ""}, "source_uri"),
        ({"source_uri": "x" * 2001}, "source_uri"),
        ({"source_uri": "a\x1b[0m"}, "source_uri"),
        ({"media": "pdf"}, "media"),
        ({"text": ""}, "text"),
        ({"text": " \n"}, "text"),
        ({"text": "half a \ud83d pair"}, "text"),
    ],
)
def test_what_makes_no_document_is_refused_by_name(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        from_text(HandedText(**{"text": "x", "title": "T", **fields}), SETTINGS, 0)

    assert caught.value.details["field"] == field


def test_a_source_uri_may_be_as_long_as_promised() -> None:
    assert len(text(source_uri="x" * 2000).file.path) == 2000


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for name, says in (("nothing", "no file"), (".", "folder"), ("pipe", "not a regular file")):
        with pytest.raises(InvalidInput, match=says):
            from_file(tmp_path / name, SETTINGS, inline)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_io_error(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("A walrus.\n", "utf-8")
    file.chmod(0)

    with pytest.raises(IoError):
        from_file(file, SETTINGS, inline)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", b"%PDF-1.4\n", "unreadable"),
        ("paper", b"%PDF-1.4\n", "unreadable"),
        ("blob", bytes(range(256)), "binary"),
        ("a.zip", b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(99), "unsupported"),
        ("a.tar", b"a.txt" + bytes(252) + b"ustar\x0000" + bytes(248), "unsupported"),
        ("a.bin.gz", gzip.compress(bytes(99), mtime=0), "binary"),
        ("a.tar.xz", lzma.compress(bytes(99)), "unsupported"),
        ("a.md", b"", "empty"),
        ("b.md", b" \n", "empty"),
        ("id_rsa", b"x", "secret_suspected"),
        ("c.md", KEY.encode(), "secret_suspected"),
        ("a.py", b"x = 1\n" * 20_001, "too_large"),
        ("b.py", b"# generated, do not edit\nx = 1\n", "generated"),
    ],
)
def test_a_file_is_judged_as_a_walk_judges_it(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    file = tmp_path / name
    file.write_bytes(data)

    added = from_file(file, SETTINGS, inline)

    assert added.refused is not None
    assert (added.refused.reason, added.data, added.asset) == (reason, b"", "")


def test_a_file_of_one_endless_line_is_refused_with_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"short\n" + b"words " * 200_000)
    settings = replace(SETTINGS, caps=Caps(line_mb=1))

    added = from_file(file, settings, inline)

    assert added.refused is not None
    assert added.refused.reason == "too_large"
    assert added.refused.detail == "line 2 is longer than 1 MB; [limits] line_mb is 1"
    assert from_file(file, SETTINGS, inline).refused is None


def test_the_limit_of_lines_changes_a_fingerprint_only_where_it_is_set() -> None:
    """What is indexed is not made again since there is such a limit."""

    def hash_of(media: str, line_mb: int) -> str:
        told = replace(SETTINGS, caps=Caps(line_mb=line_mb))
        return settings_hash(SourceFile(source_id="a", path="a", media=media), told)

    assert hash_of("markdown", 24) != hash_of("markdown", 25)
    assert hash_of("image", 24) == hash_of("image", 25)
    added = replace(unjudging(SETTINGS), caps=replace(unjudging(SETTINGS).caps, line_mb=25))
    note = SourceFile(source_id="a", path="a", media="markdown")
    assert settings_hash(note, unjudging(SETTINGS)) == settings_hash(note, added)


def test_a_text_is_judged_by_what_it_holds_not_by_its_name() -> None:
    assert text(title="id_rsa").refused is None
    assert text(KEY).refused is not None
    assert text("a\x00\x01\x02" * 20).refused is not None


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.md"
    with file.open("wb") as sparse:
        sparse.truncate(10**12)

    added = from_file(file, SETTINGS, inline)

    assert added.refused is not None
    assert added.refused.reason == "too_large"


# -------------------------------------------------------------------- plans


def look(
    row: FileRecord, assets: Assets, settings: Settings = SETTINGS, *, force: bool = False
) -> Plan:
    options = IngestOptions(force=force)
    records = {row.path: record_of_row(row, f"of {row.path}", 0)}
    return plan_added({row.path: row}, records, assets, settings, options)


def test_the_same_bytes_under_the_same_key_are_unchanged(tmp_path: Path) -> None:
    added = text()
    plan = plan_offer(added, indexed(added), Assets(tmp_path / "assets"), SETTINGS)

    assert [item.kind for item in plan.items] == [ItemKind.UNCHANGED]
    assert plan.wanted == []


def test_another_text_title_or_medium_under_the_same_key_replaces(tmp_path: Path) -> None:
    known = indexed(text(source_uri="u"))

    for other in (
        text("A seal.\n", source_uri="u"),
        text(source_uri="u", title="U"),
        text(source_uri="u", media="text"),
    ):
        plan = plan_offer(other, known, Assets(tmp_path / "assets"), SETTINGS)
        assert [want.known for want in plan.wanted] == [known]


def test_a_refused_addition_wants_nothing_and_says_that_the_old_one_is_kept(tmp_path: Path) -> None:
    known = indexed(text(source_uri="u"))
    plan = plan_offer(text(KEY, source_uri="u"), known, Assets(tmp_path / "assets"), SETTINGS)

    assert (plan.wanted, plan.rows, plan.gone) == ([], [], [])
    assert [item.reason for item in plan.items] == ["secret_suspected"]
    assert plan.warnings == [
        "u was not added: private key, line 1; what was added before is kept",
    ]


def test_7_no_run_finds_that_an_added_document_is_gone(tmp_path: Path) -> None:
    assets, added = Assets(tmp_path / "assets"), text()
    assets.keep(added.asset, added.data)

    plan = look(indexed(added), assets)

    assert (plan.gone, plan.rows, plan.wanted, plan.warnings) == ([], [], [], [])
    assert plan.unchanged == plan.scanned == 1


def test_what_shapes_the_output_makes_an_added_document_anew(tmp_path: Path) -> None:
    assets, added = Assets(tmp_path / "assets"), text(source_uri="https://example.org/a.html")
    row = indexed(added)
    smaller = Settings(
        model="none",
        cache_dir="",
        limits=ChunkLimits(target_tokens=64, overlap_tokens=8, max_tokens=128),
        window=500,
        caps=Caps(),
        allow_secrets=False,
    )
    assets.keep(added.asset, added.data)

    for plan in (look(row, assets, smaller), look(row, assets, force=True)):
        (want,) = plan.wanted
        assert (want.asset, want.raw_path) == (added.asset, row.raw_path)
        assert (want.file.media, want.title) == ("markdown", "of https://example.org/a.html")


def test_a_cap_that_is_lowered_later_takes_no_added_document_away(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\n" * 1000)
    assets, added = Assets(tmp_path / "assets"), from_file(file, SETTINGS, inline)
    assets.keep(added.asset, added.data)
    strict = Settings(
        model="none",
        cache_dir="",
        limits=LIMITS,
        window=500,
        caps=Caps(max_file_mb=1, max_code_kb=1, max_code_lines=10),
        allow_secrets=True,
    )

    assert look(indexed(added), assets, strict).unchanged == 1


def test_a_title_is_that_of_the_parser_unless_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("A walrus.\n", "utf-8")

    (want,) = look(
        indexed(from_file(file, SETTINGS, inline)), Assets(tmp_path / "assets"), force=True
    ).wanted

    assert want.title is None


def test_what_the_ledger_lost_is_built_again_from_its_record(tmp_path: Path) -> None:
    assets, added = Assets(tmp_path / "assets"), text(source_uri="u", media="text")
    assets.keep(added.asset, added.data)

    plan = plan_added({}, {"u": record_of(added, 0)}, assets, SETTINGS, IngestOptions())

    (want,) = plan.wanted
    assert (want.file, want.asset, want.title) == (added.file, added.asset, "T")
    assert plan.warnings == ["u is built again from its asset"]


def test_what_is_lost_altogether_is_told(tmp_path: Path) -> None:
    records = {"u": record_of(text(source_uri="u"), 0)}

    plan = plan_added({}, records, Assets(tmp_path / "assets"), SETTINGS, IngestOptions())

    assert plan.wanted == []
    assert "u cannot be built" in plan.warnings[0]


def test_a_removal_that_was_cut_short_is_finished_and_nothing_removed_comes_back(
    tmp_path: Path,
) -> None:
    assets, added = Assets(tmp_path / "assets"), text(source_uri="u")
    assets.keep(added.asset, added.data)
    records = {"u": replace(record_of(added, 0), is_removed=True)}
    row = indexed(added)

    plan = plan_added({"u": row}, records, assets, SETTINGS, IngestOptions())

    assert [gone.path for gone in plan.gone] == ["u"]
    assert plan_added({}, records, assets, SETTINGS, IngestOptions()).wanted == []


def test_a_replacement_that_was_cut_short_is_finished_if_its_bytes_are_there(
    tmp_path: Path,
) -> None:
    assets = Assets(tmp_path / "assets")
    old, new = text(source_uri="u"), text("A seal.\n", source_uri="u")
    assets.keep(old.asset, old.data)
    row, records = indexed(old), {"u": record_of(new, 0)}

    assert unrecorded({"u": row}, records, assets) == [row]
    assert plan_added({"u": row}, records, assets, SETTINGS, IngestOptions()).wanted == []

    assets.keep(new.asset, new.data)

    assert unrecorded({"u": row}, records, assets) == []
    (want,) = plan_added({"u": row}, records, assets, SETTINGS, IngestOptions()).wanted
    assert (want.asset, want.known) == (new.asset, row)


def test_bytes_that_are_lost_are_told_and_nothing_is_taken_away(tmp_path: Path) -> None:
    plan = look(indexed(text()), Assets(tmp_path / "assets"))

    assert (plan.unchanged, plan.gone) == (1, [])
    assert "the bytes of t are not in" in plan.warnings[0]


def test_a_document_is_found_by_path_and_by_id_and_not_after_its_removal() -> None:
    row = indexed(text())
    deleted = FileRecord(source_id=ADDED_SOURCE, path="u", state=FileState.DELETED)
    ledger = {"t": row, "u": deleted}

    assert find_added(ledger, "t") is find_added(ledger, row.doc_id or "") is row
    assert find_added(ledger, "nothing", "t") is row
    assert find_added(ledger, "u") is None
    assert used_assets(ledger) == {asset_of(row)}


class Dying(InlineExecutor[Any, Any]):
    """Says of every task that it ended its process."""

    def run(self, tasks: Iterable[Any], /) -> Iterator[Outcome[Any, Any]]:
        for at, task in enumerate(tasks):
            yield Outcome(at, task, error={"message": "the worker process was ended by SIGSEGV"})


def test_what_ends_its_parser_is_refused_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        MEDIA, Media.BOOK, Medium(parser="kb_app._ingest.making.formats.text:TextParser")
    )
    book = tmp_path / "shelf.mobi"
    book.write_bytes(b"BOOK\0\xff\xfe\0\1The walrus sleeps on the ice.")

    refused = from_file(book, SETTINGS, lambda task, _: Dying(task)).refused

    assert refused == Skip("unreadable", "the worker process was ended by SIGSEGV")
    assert from_file(book, SETTINGS, inline).refused is None
