"""Links between documents: where they lead, and what leads to one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._ingest.making.links import links_and_tags
from kb_app.testing.parts import memory_parts
from kb_core.errors import DocNotFound
from kb_core.filters import Glob
from kb_core.records import DocumentRecord
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder, MemoryIndex

NOTES = {
    "log.md": "# Kiln log\n\nSee [[Glaze recipes|glazes]], [[sub/Plan]] and [the guide](guide/).\n"
    "\n[gone](nope.md) `[[plan]]` [site](https://example.org)\n",
    "Glaze recipes.md": "Back to [[LOG]], [[the  kiln]] or [[Kiln log]].\n\n- [kiln](log.md#one)\n",
    "sub/Plan.md": "[up](../log.md), [[Glaze recipes#Ash]]\n",
    "deep/er/Plan.md": "[[Plan]]\n",
    "deep/b.md": "[[er/plan]] and [[Plan]]\n",
    "guide/README.md": "[log](../log) and [Plan](Plan.md)\n",
    "other/log.md": "[[log]] and [[guide]]\n",
    "log.pdf": "No note.\n",
    "zettel.md": "[[20240312]]\n",
}


def _document(corpus: Corpus, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    links = [
        {"kind": link.kind, "target": link.target, "text": link.text, "start": link.start}
        for link in links_and_tags(text, ())[0]
    ]
    web = {"kind": "html", "target": "https://example.org/log.md", "text": "log", "start": 0}
    return corpus.document(path, text, links=(*links, web), **fields)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, MemoryIndex]:
    corpus, index = Corpus(HashEmbedder()), MemoryIndex()
    own: dict[str, Any] = {
        "log.md": {"aliases": ("The kiln",), "title": "Kiln log"},
        "deep/b.md": {"metadata": {"user": {"id": "20240312", "n": True}}},
    }
    notes = [_document(corpus, path, text, **own.get(path, {})) for path, text in NOTES.items()]
    work = _document(corpus, "log.md", "[[Glaze recipes]] of [[log]]\n", source_id="work")
    step = corpus.publication(*notes, work)
    index.publish(replace(step, sources={"notes": {}, "work": {}}))
    return Config.inside(tmp_path_factory.mktemp("nowhere")), index


@pytest.fixture
def kb(parts: tuple[Config, MemoryIndex]) -> KnowledgeBase:
    return KnowledgeBase(parts[0], memory_parts(parts[1], HashEmbedder()))


def doc_id(kb: KnowledgeBase, path: str, source: str = "notes") -> str:
    index = kb._parts.reader().snapshot()
    return next(d["doc_id"] for d in index.docs(Glob(f"/{path}")) if d["source_id"] == source)


def out_of(kb: KnowledgeBase, path: str, source: str = "notes") -> list[tuple[str, str | None]]:
    found = kb.links(doc_id(kb, path, source))
    assert (found["direction"], found["total"]) == ("out", len(found["items"]))
    return [(link["target"], link.get("doc_path")) for link in found["items"]]


def into(kb: KnowledgeBase, path: str, source: str = "notes") -> list[str]:
    found = kb.links(doc_id(kb, path, source), backlinks=True)
    assert (found["direction"], found["total"]) == ("in", len(found["items"]))
    return [f"{link['source_id']} {link['citation']['uri']}" for link in found["items"]]


def test_links_lead_to_files_aliases_titles_and_pages_of_folders(kb: KnowledgeBase) -> None:
    assert out_of(kb, "log.md") == [
        ("Glaze recipes", "Glaze recipes.md"),
        ("sub/Plan", "sub/Plan.md"),
        ("guide/", "guide/README.md"),
        ("nope.md", None),
    ]
    assert {path for _, path in out_of(kb, "Glaze recipes.md")} == {"log.md"}
    assert out_of(kb, "zettel.md") == [("20240312", "deep/b.md")]
    assert into(kb, "deep/b.md") == ["notes zettel.md#L1"]


def test_of_several_of_one_name_the_nearest_is_meant(kb: KnowledgeBase) -> None:
    assert out_of(kb, "deep/b.md") == [("er/plan", "deep/er/Plan.md"), ("Plan", "sub/Plan.md")]
    assert out_of(kb, "guide/README.md") == [("../log", "log.md"), ("Plan.md", "sub/Plan.md")]
    assert out_of(kb, "other/log.md") == [("log", "other/log.md"), ("guide", "guide/README.md")]
    found = kb.links(doc_id(kb, "log.md", "work"))["items"]
    assert [link["source_id"] for link in found] == ["notes", "work"]


def test_what_leads_to_a_document_is_told_with_its_line(kb: KnowledgeBase) -> None:
    assert into(kb, "log.md") == [
        *["notes Glaze%20recipes.md#L1"] * 3,
        "notes Glaze%20recipes.md#L3",
        "notes guide/README.md#L1",
        "notes sub/Plan.md#L1",
    ]
    assert into(kb, "sub/Plan.md") == [
        "notes deep/b.md#L1",
        "notes guide/README.md#L1",
        "notes log.md#L3",
    ]
    assert into(kb, "Glaze recipes.md")[-1] == "work log.md#L1"
    assert into(kb, "log.pdf") == into(kb, "other/log.md") == []
    first = kb.links("sub/Plan.md", backlinks=True)["items"][0]
    assert first["excerpt"] == "[[er/plan]] and [[Plan]]"


def test_either_way_tells_the_same_links(kb: KnowledgeBase) -> None:
    docs = kb._parts.reader().snapshot().docs(None)
    out = {
        (doc["doc_id"], link["target"], link["doc_id"])
        for doc in docs
        for link in kb.links(doc["doc_id"])["items"]
        if link.get("doc_id") not in {None, doc["doc_id"]}
    }
    back = {
        (link["doc_id"], link["target"], doc["doc_id"])
        for doc in docs
        for link in kb.links(doc["doc_id"], backlinks=True)["items"]
    }

    assert out == back
    assert len(out) > 10


def test_links_come_by_the_page(kb: KnowledgeBase) -> None:
    whole = kb.links("Glaze recipes.md")
    page = kb.links("Glaze recipes.md", limit=2, offset=1)

    assert page["items"] == whole["items"][1:3]
    assert page["total"] == whole["total"] == 4
    with pytest.raises(DocNotFound, match=r"nothing\.md"):
        kb.links("nothing.md")


def test_a_long_line_is_cut_around_the_link(tmp_path: Path) -> None:
    corpus, index = Corpus(HashEmbedder()), MemoryIndex()
    long = "word " * 300 + "[[b]]" + " word" * 300
    index.publish(corpus.publication(_document(corpus, "a.md", long), corpus.document("b.md", "x")))
    kb = KnowledgeBase(Config.inside(tmp_path), memory_parts(index, HashEmbedder()))

    (link,) = kb.links("b.md", backlinks=True)["items"]

    assert link["excerpt"].startswith("…word word ")
    assert link["excerpt"].endswith(" word…")
    assert " [[b]] " in link["excerpt"]
    assert len(link["excerpt"]) <= 202
