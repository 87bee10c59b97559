"""Whatever ``stat`` says of a file, and whatever one document is refused for: it is one row."""

from __future__ import annotations

import os
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from kb_app._ingest import pipeline
from kb_app._wiring import open_session
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import clamp_ns, utc_now
from kb_core.errors import KbError
from kb_core.records import Changes, Publication
from kb_core.testing.documents import document
from kb_search.writer import Writer

YEAR_NS = 31_557_600 * 10**9
TIMES = {
    "before-1970": -3 * YEAR_NS - 1,
    "negative-nanoseconds": -1,
    "year-1901": -(2**31) * 10**9,
    "year-2038": 2**31 * 10**9,
    "year-2262": 2**63 - 1,
    "year-2300": 330 * YEAR_NS,
    "year-2446": 476 * YEAR_NS - YEAR_NS,
}


def test_files_with_odd_times_are_indexed_and_unchanged_the_next_time(
    kebab: InstalledKebab,
) -> None:
    """``touch -d 2300-01-01`` ended every run: the batch, and all after it, were never indexed."""
    for name, time_ns in TIMES.items():
        file = kebab.write(f"{name}.md", f"# {name}\n\nA gnu of {name}.\n")
        os.utime(file, ns=(0, time_ns))
    kebab.write("ordinary.md", "An ordinary gnu.\n")

    first, second = kebab.ingest(), kebab.ingest()

    assert (first["new"], first["errors"]) == (len(TIMES) + 1, 0)
    assert second["unchanged"] == len(TIMES) + 1
    hits = kebab.json("search", "gnu", "-k", "50")["hits"]
    assert {hit["doc_path"] for hit in hits} == {f"{n}.md" for n in [*TIMES, "ordinary"]}
    assert not any(hit["stale"] for hit in hits)
    listed = kebab.json("status")["files"]
    assert {row["state"] for row in listed} == {"indexed"}
    for hit in hits:
        assert kebab.json("inspect", "doc", hit["doc_id"])["doc_path"] == hit["doc_path"]


def test_a_file_from_outside_may_have_an_odd_time_too(kebab: InstalledKebab) -> None:
    outside = kebab.home / "outside.md"
    outside.write_text("A gnu from outside.\n", "utf-8")
    os.utime(outside, ns=(0, 330 * YEAR_NS))

    assert kebab.json("ingest-file", str(outside))["new"] == 1
    assert kebab.paths("gnu") == [str(outside)]


def test_a_sparse_file_is_too_large_and_nothing_else(kebab: InstalledKebab) -> None:
    with (kebab.notes / "sparse.md").open("wb") as sparse:
        sparse.truncate(2**43)
    kebab.write("good.md", "A good gnu.\n")

    report = kebab.ingest()

    assert (report["new"], report["skipped_by_reason"]) == (1, {"too_large": 1})


@pytest.mark.parametrize("time_ns", [-(2**80), -(2**63), 0, 2**63 - 1, 2**63, 2**80])
def test_a_time_is_clamped_to_what_can_be_stored(time_ns: int) -> None:
    assert -(2**63) <= clamp_ns(time_ns) <= 2**63 - 1
    assert clamp_ns(time_ns) == time_ns or abs(time_ns) >= 2**63


REFUSED = "the document that nobody wants"


def _refusing_store(original: Any) -> Any:  # noqa: ANN401 - a method
    def commit(self: Any, changes: Changes) -> int:  # noqa: ANN401
        if any(REFUSED in doc.text for doc in changes.documents):
            raise KbError("Python int too large to convert to C long")
        result: int = original(self, changes)
        return result

    return commit


def _refusing_index(original: Any) -> Any:  # noqa: ANN401 - a method
    def publish(self: Any, publication: Publication, made: Any) -> Any:  # noqa: ANN401
        if any(REFUSED in doc.text for doc in publication.documents):
            raise OverflowError("int too big to convert")
        return original(self, publication, made)

    return publish


@pytest.mark.parametrize("odd", ["3.md", "3.eml"])
@pytest.mark.parametrize(("where", "batch_docs"), [("store", 2), ("index", 2), ("index", 99)])
def test_what_one_document_is_refused_for_costs_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, odd: str, batch_docs: int
) -> None:
    """In small batches the index refuses one when the next is in the truth already."""
    from kb_app import KnowledgeBase
    from kb_app.config import Config, Embedding, Ingest, Source
    from kb_core.ingest import IngestOptions
    from kb_store import Store

    notes = tmp_path / "notes"
    notes.mkdir()
    names = [odd if number == 3 else f"{number}.md" for number in range(6)]
    for number, name in enumerate(names):
        (notes / name).write_text(f"A gnu, number {number}.\n", "utf-8")
    mail = EmailMessage()
    mail.set_content("A gnu in a mail.\n")
    mail.add_attachment("Before it.\n", filename="a.md")
    mail.add_attachment(f"{REFUSED}\n", filename="b.md")
    (notes / odd).write_bytes(bytes(mail) if odd.endswith(".eml") else REFUSED.encode())
    config = Config.inside(tmp_path / "kb", Source(id="notes", root=notes))
    object.__setattr__(config, "embedding", Embedding(model="none"))
    limits = Ingest(batch_docs=batch_docs, batch_secs=99, workers=1)
    object.__setattr__(config, "ingest", limits)
    monkeypatch.setattr(pipeline, "_PUBLISHING_SHARE", 0)
    if where == "store":
        monkeypatch.setattr(Store, "commit", _refusing_store(Store.commit))
    else:
        monkeypatch.setattr(Writer, "_publish", _refusing_index(Writer._publish))

    with KnowledgeBase.open(config) as kb:
        *_, last = kb.ingest(IngestOptions())
        states = {row["doc_path"]: row["state"] for row in kb.status()["files"]}
        checks = {check["name"]: check["ok"] for check in kb.doctor(deep=True)["checks"]}
        (run,) = kb.jobs().past

    assert (run.state, run.counts["new"], run.counts["error"]) == ("completed", 5, 1)
    assert last.report is not None
    assert (last.report.counts["new"], last.report.counts["error"]) == (5, 1)
    assert states == {name: "failed" if name == odd else "indexed" for name in names}
    assert checks["store"]
    with open_session(config.storage.data_dir, lock_wait_secs=1, clock=utc_now) as session:
        assert session.healed is None
        assert session.store.unaccounted_docs() == []


def test_a_document_that_no_row_accounts_for_is_removed_by_the_next_run(
    kebab: InstalledKebab,
) -> None:
    """A run that an older version stopped between two steps left such documents behind."""
    kebab.write("good.md", "A good gnu.\n")
    kebab.ingest()
    with open_session(kebab.data_dir, lock_wait_secs=1, clock=utc_now) as session:
        session.commit(Changes(documents=(document("private.md", "The password is gnu."),)))
    assert "private.md" in kebab.paths("password")
    told = kebab.json("doctor", "--deep", code=3)
    assert "no row of the ledger" in str(told["checks"])

    kebab.ingest()

    assert kebab.paths("password") == []
    assert kebab.paths("gnu") == ["good.md"]
