"""Mails, notebooks, tables, papers, web pages by the installed command: found and cited."""

from __future__ import annotations

import json
from email.message import EmailMessage
from pathlib import Path

import pytest

from kb_app.testing.office_files import docx, pptx, xlsx
from kb_app.testing.papers import paper, plain_page
from kb_cli.testing.installed import InstalledKebab

LOCKED = Path(__file__).parents[2] / "shared/data/formats/pdf/issue15893_reduced.pdf"


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"] = "Voyage"
    message["From"] = "Ann <ann@example.org>"
    message["Date"] = "Sat, 21 Nov 2026 15:04:05 +0900"
    message["Message-ID"] = "<1@example.org>"
    message.set_content("The walrus sails on Tuesday.\n\n> When does it sail?\n-- \nAnn\n")
    message.add_attachment("# Cargo\n\nMarmalade and quince.\n", filename="cargo.md")
    message.add_attachment("item,price\nmarmalade,3\npersimmon,4\n", filename="prices.csv")
    return bytes(message)


def test_a_mail_is_found_by_what_it_says_and_by_what_is_attached(kebab: InstalledKebab) -> None:
    (kebab.notes / "voyage.eml").write_bytes(mail())
    (kebab.notes / "all.mbox").write_bytes(
        b"From ann@example.org Sat Nov 21 15:04:05 2026\n" + mail()
    )
    report = kebab.ingest()
    hit = kebab.json("search", "walrus Tuesday", "--path-glob", "voyage.eml")["hits"][0]

    assert (report["new"], report["errors"]) == (2, 0)
    assert hit["citation"]["uri"].startswith("voyage.eml#L1-L")
    assert "The walrus sails" in kebab.json("cite", hit["citation"]["uri"])["text"]
    assert kebab.json("cite", "verify", hit["citation"]["uri"])["summary"]["unchanged"] == 1
    assert set(kebab.paths("persimmon")) == {
        "voyage.eml!/prices.csv",
        "all.mbox!/1@example.org.eml!/prices.csv",
    }
    assert kebab.paths("quince", "--media", "markdown", "--since", "2026-11-21") == [
        "all.mbox!/1@example.org.eml!/cargo.md",
        "voyage.eml!/cargo.md",
    ]
    shown = kebab.run("inspect", "doc", "voyage.eml").stdout
    assert "within it: voyage.eml!/cargo.md" in shown
    assert "voyage.eml" in kebab.run("inspect", "doc", "voyage.eml!/cargo.md").stdout
    assert kebab.json("doctor", "--deep")["ok"]
    assert kebab.ingest()["unchanged"] == 2


def test_a_notebook_is_cited_by_lines_of_its_file(kebab: InstalledKebab) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Voyage\n", "The walrus."]},
        {"cell_type": "code", "source": ["quince = 4"], "outputs": []},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1)
    kebab.write("voyage.ipynb", text)
    kebab.ingest()
    hit = kebab.json("search", "quince")["hits"][0]
    uri, lines = hit["citation"]["uri"], text.split("\n")

    first, last = hit["citation"]["line_start"], hit["citation"]["line_end"]
    assert "quince = 4" in "\n".join(lines[first - 1 : last])
    assert hit["citation"]["symbol"].endswith("cell 2")
    assert "quince = 4" in kebab.json("cite", uri)["chunk"]["text"]
    within = kebab.json("cite", f"voyage.ipynb#L{first + 1}")
    assert within["chunk"]["chunk_id"] == hit["chunk_id"]
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    told = json.loads(kebab.run("--json", "fetch", "span", "voyage.ipynb", "1", "2", code=2).stderr)
    assert told["code"] == "span_not_supported"
    assert uri in told["hint"]


def test_a_table_is_cited_by_its_lines(kebab: InstalledKebab) -> None:
    kebab.write("prices.csv", 'item,price\nquince,"3,\n50"\npersimmon,4\n')
    kebab.ingest()
    hit = kebab.json("search", "persimmon")["hits"][0]

    assert hit["citation"]["uri"] == "prices.csv#L1-L4"
    assert hit["citation"]["section"] == "item, price"
    assert "persimmon,4" in kebab.json("fetch", "span", "prices.csv", "4", "4")["text"]


def test_a_web_page_is_cited_by_lines_of_its_file_and_a_template_is_code(
    kebab: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (
        "<!doctype html>\n<title>Voyage – Ann's pages</title>\n<nav><a href=/>Bramble</a></nav>\n"
        "<h1>Voyage</h1>\n<p>The walrus sails\non Tuesday, <b>with</b>\na crate of quinces.</p>\n"
    )
    kebab.write("voyage.html", page)
    kebab.write(
        "templates/list.html", "{% for each in walruses %}<li>{{ each }}</li>{% endfor %}\n"
    )
    kebab.ingest()
    hit = kebab.json("search", "walrus quinces", "--media", "html")["hits"][0]
    uri = hit["citation"]["uri"]

    assert (uri, hit["title"]) == ("voyage.html#L4-L7", "Voyage")
    assert kebab.paths("Bramble") == []
    assert "sails on Tuesday, with a crate" in kebab.json("cite", uri)["chunk"]["text"]
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    assert kebab.paths("walruses", "--media", "code") == ["templates/list.html"]
    found = kebab.json("search", "walrus", "--path-glob", "**/*.html")["hits"]
    assert {each["media"] for each in found} == {"html", "code"}
    assert kebab.ingest()["unchanged"] == 2
    kebab.write("voyage.html", page.replace("quinces", "pears"))
    kebab.ingest()
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    monkeypatch.setenv("KEBAB_VIEWERS_HTML", "browse {url}{fragment}")
    opened = kebab.run("cite", uri, "--open", "--dry-run").stdout
    words = "The%20walrus%20sails%20on%20Tuesday%2C%20with%20a%20crate"
    assert opened == f"browse 'file://{kebab.notes}/voyage.html#:~:text={words}'\n"
    given = json.dumps({"uri": uri, "content_hash": hit["citation"]["content_hash"]})
    checked = kebab.json("cite", "verify", "-", given=given, code=3)
    assert checked["summary"]["changed"] == 1


def test_a_paper_is_cited_by_its_page_and_the_box_on_it(kebab: InstalledKebab) -> None:
    pages = [
        plain_page("Walnuts are shelled in autumn."),
        plain_page("Quinces are cooked, not eaten."),
    ]
    data = paper(*pages, files={"rows.csv": b"item\npersimmon\n"}, labels="r")
    kebab.notes.joinpath("fruit.pdf").write_bytes(data)
    kebab.ingest()
    hit = kebab.json("search", "quinces cooked")["hits"][0]
    uri, citation = hit["citation"]["uri"], hit["citation"]

    assert uri == "fruit.pdf#page=2"
    assert citation["label"] == "ii"
    x0, y0, x1, y1 = citation["bbox"]
    assert abs(x0 - 72) < 1
    assert 200 < x1 < 300
    assert 55 < y0 < 792 - 720 < y1 < 80
    assert "Quinces" in kebab.json("cite", uri)["chunk"]["text"]
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    assert kebab.paths("persimmon") == ["fruit.pdf!/rows.csv"]
    picture = kebab.notes.parent / "page.png"
    assert kebab.run("cite", uri, "--image", str(picture)).stderr == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    nowhere = str(kebab.notes / "none" / "page.png")
    assert "cannot write" in kebab.run("cite", uri, "--image", nowhere, code=2).stderr
    assert "one URI" in kebab.run("cite", "verify", uri, "--image", nowhere, code=2).stderr
    told = json.loads(kebab.run("--json", "fetch", "span", "fruit.pdf", "1", "2", code=2).stderr)
    assert told["code"] == "span_not_supported"
    assert "fruit.pdf#page=1" in told["hint"]


def test_a_sheet_is_cited_by_its_cells_and_asked_for_by_any_of_them(kebab: InstalledKebab) -> None:
    rows = '<row r="4"><c t="str"><v>quince</v></c><c><v>3</v></c></row>'
    kebab.notes.joinpath("plan.xlsx").write_bytes(xlsx({"Sales 2025": rows}))
    kebab.ingest()
    hit = kebab.json("search", "quince")["hits"][0]
    uri = hit["citation"]["uri"]

    assert uri == "plan.xlsx#sheet=Sales%202025&range=A4:B4"
    assert hit["citation"]["kind"] == "cells"
    assert (hit["citation"]["sheet"], hit["citation"]["range"]) == ("Sales 2025", "A4:B4")
    assert "quince\t3" in kebab.json("cite", uri)["chunk"]["text"]
    assert "quince\t3" in kebab.json("cite", uri.replace("A4:B4", "B4"))["chunk"]["text"]
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    assert "plan.xlsx, Sales 2025!A4:B4" in kebab.run("search", "quince").stdout
    told = json.loads(kebab.run("--json", "cite", f"{uri}:Z99", code=2).stderr)
    assert told["code"] == "invalid_input"


def test_a_slide_is_cited_by_its_number_and_a_text_by_its_lines(kebab: InstalledKebab) -> None:
    said = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    notes = ("notesSlide", f"<p:spTree>{said.format('Say persimmon.')}</p:spTree>")
    kebab.notes.joinpath("talk.pptx").write_bytes(
        pptx([(said.format("One"), []), ("hidden" + said.format("Two"), [notes])])
    )
    kebab.notes.joinpath("letter.docx").write_bytes(
        docx("<w:p><w:r><w:t>A quince.</w:t></w:r></w:p>")
    )
    report = kebab.ingest()
    slide = kebab.json("search", "persimmon")["hits"][0]["citation"]
    text = kebab.json("search", "quince")["hits"][0]["citation"]

    assert report["errors"] == 0
    assert (slide["uri"], slide["section"]) == ("talk.pptx#page=2", "(hidden)")
    assert text["uri"] == "letter.docx#L1"
    for each in (slide, text):
        assert kebab.json("cite", "verify", each["uri"])["summary"]["unchanged"] == 1


def test_files_that_cannot_be_read_have_one_reason_each(kebab: InstalledKebab) -> None:
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
    kebab.notes.joinpath("locked.xlsx").write_bytes(locked)
    kebab.notes.joinpath("bomb.docx").write_bytes(docx("<w:p/>" + " " * 300_000_000))
    kebab.notes.joinpath("cut.pptx").write_bytes(pptx([("", [])])[:200])
    report = kebab.ingest()

    assert (report["errors"], report["skipped"]) == (0, 3)
    assert {item["doc_path"]: item["reason"] for item in report["items"]} == {
        "locked.xlsx": "encrypted",
        "bomb.docx": "too_large",
        "cut.pptx": "unreadable",
    }


@pytest.mark.skipif(not LOCKED.is_file(), reason="no samples here")
def test_a_locked_file_is_tried_again_when_another_password_is_known(kebab: InstalledKebab) -> None:
    kebab.write("note.md", "A walrus.\n")
    (kebab.notes / "locked.pdf").write_bytes(LOCKED.read_bytes())
    before = kebab.ingest()
    skipped = next(item for item in before["items"] if item["kind"] == "skipped")
    again = kebab.ingest()
    kebab.configure(extra='[[passwords]]\nvalue = "wrong"\n[[passwords]]\nvalue = "test"\n')
    after = kebab.ingest()

    assert skipped["reason"] == "encrypted"
    assert (again["new"], again["skipped"]) == (0, 1)
    assert (after["new"] + after["updated"], after["unchanged"], after["skipped"]) == (1, 1, 0)
    assert kebab.paths("15893 password") == ["locked.pdf"]
    kebab.configure()
    assert kebab.ingest()["unchanged"] == 2


def test_a_file_that_eats_memory_is_its_own_error(installed: InstalledKebab) -> None:
    installed.configure(extra="[limits]\nmemory_mb = 250\nratio = 100_000")
    said = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    installed.notes.joinpath("greedy.docx").write_bytes(docx(said.format("ab " * 35_000_000)))
    installed.notes.joinpath("modest.docx").write_bytes(docx(said.format("quince")))
    report = installed.ingest()

    assert (report["errors"], report["new"]) == (1, 1)
    assert [item["error"]["message"] for item in report["items"] if item["kind"] == "error"] == [
        "needs more than 250 MB of memory; [limits] memory_mb is 250"
    ]
    assert installed.paths("quince") == ["modest.docx"]


def test_what_is_cut_otherwise_now_is_unchanged_where_it_stands(kebab: InstalledKebab) -> None:
    """Of a page, a web page, a transcript and a notebook, whose lines are not those of the text."""
    said = [f"The walrus of harbour {number} sleeps in the cold. " * 3 for number in range(24)]
    (kebab.notes / "paper.pdf").write_bytes(paper(*(plain_page(*said[n::3]) for n in range(3))))
    kebab.write("page.html", "<html><body>" + "\n".join(f"<p>{each}</p>" for each in said))
    cues = (f"00:00:{n:02},000 --> 00:00:{n:02},900\n{each}\n\n" for n, each in enumerate(said))
    kebab.write("talk.srt", "".join(cues))
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# It\n", *said[:5]]}]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    kebab.write("book.ipynb", json.dumps(whole, indent=1))

    def cut(target: int) -> None:
        kebab.configure(extra=f"[chunking]\ntarget_tokens = {target}\noverlap_tokens = 7\n")
        assert kebab.ingest()["errors"] == 0

    cut(100)
    found = kebab.run("--json", "search", "walrus harbour", "-k", "100").stdout
    assert {hit["doc_path"] for hit in json.loads(found)["hits"]} == {
        file.name for file in kebab.notes.iterdir()
    }
    for target in (40, 256):
        cut(target)
        checks = kebab.json("cite", "verify", "-", given=found)["checks"]
        assert {check["status"] for check in checks} == {"unchanged"}, target
