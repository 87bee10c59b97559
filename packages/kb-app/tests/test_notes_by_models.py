"""What a language model hands in: who wrote it stands in it, and no file is written over."""

from __future__ import annotations

import base64
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from kb_app._ingest.added.notes import as_note, with_provenance, write_note
from kb_app._ingest.added.offer import HandedText
from kb_app._ingest.making.formats.markdown import read_front_matter
from kb_app.config import Config, Embedding, Mcp, Source
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import open_here
from kb_core.errors import ConfigInvalid, InvalidInput, IoError, ReadonlyMode
from kb_core.ingest import IngestItem, IngestOptions
from kb_core.search import SearchFilters

TEXT = "Otters dive for three minutes.\n"
BODY = base64.b64encode(random.Random(1).randbytes(600)).decode()
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n"
TITLES = ("../../etc/passwd", "/abs", "..", "a\\b", ".hidden", "가" * 300)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return one source with a folder for notes in it that is not there yet."""
    root = tmp_path / "notes"
    root.mkdir()
    base = Config.inside(tmp_path / "kb", Source(id="notes", root=root, exclude=("/left/",)))
    mcp = Mcp(notes_dir=str(root / "from-models"))
    return replace(base, embedding=Embedding(model="none"), mcp=mcp)


def hand_in(kb: KnowledgeBase, text: str = TEXT, **fields: Any) -> tuple[IngestItem, ...]:  # noqa: ANN401
    *_, last = kb.ingest_text_by_model(text, **{"title": "How otters dive", **fields})
    assert last.report is not None
    return last.report.items or ()


def test_a_note_is_a_file_of_its_source_that_says_who_wrote_it_and_from_what(
    config: Config, tmp_path: Path
) -> None:
    with open_here(config) as kb:
        (item,) = hand_in(kb, written_by="model 1", based_on=["a.md:1-2", "b.md#L3"])
        (doc,) = kb.list_docs(SearchFilters())["items"]

    file = tmp_path / "notes/from-models/how-otters-dive.md"
    said = yaml.safe_load(file.read_text("utf-8").split("---")[1])
    written_at = said.pop("written_at")
    assert item.doc_path == doc["doc_path"] == "from-models/how-otters-dive.md"
    assert (doc["source_id"], doc["trust_level"]) == ("notes", "generated")
    assert file.read_text("utf-8").endswith(f"---\n\n{TEXT}")
    assert written_at.endswith("Z")
    assert said == {
        "title": "How otters dive",
        "written_by": "model 1",
        "based_on": ["a.md:1-2", "b.md#L3"],
        "trust_level": "generated",
    }


class _Asked(Event):
    """Tells when somebody looks whether to stop."""

    def __init__(self, told: Event) -> None:
        super().__init__()
        self._told = told

    def is_set(self) -> bool:
        self._told.set()
        return super().is_set()


def test_texts_that_are_handed_in_at_once_wait_for_one_another(config: Config) -> None:
    """Of twenty, fifteen were refused since *another kebab* was writing, and lost."""
    waits = Event()
    config = replace(config, storage=replace(config.storage, lock_wait_secs=0.0))
    with open_here(config) as kb, ThreadPoolExecutor() as pool:
        first = kb.ingest_text_by_model(TEXT, title="First")
        next(first)
        second = pool.submit(hand_in, kb, title="Second", stop=_Asked(waits))
        second.add_done_callback(lambda _: waits.set())
        assert waits.wait(120)
        assert not second.done()
        for _ in first:
            pass

        assert [item.doc_path for item in second.result(120)] == ["from-models/second.md"]


@pytest.mark.parametrize("folder", ["from-models", ""])
@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_is_no_note_whatever_is_said_of_it(
    config: Config, tmp_path: Path, text: str, folder: str
) -> None:
    """Its front matter made a file, and a document, of an empty text."""
    notes_dir = str(tmp_path / "notes" / folder) if folder else ""
    with (
        open_here(replace(config, mcp=Mcp(notes_dir=notes_dir))) as kb,
        pytest.raises(InvalidInput, match="the text is empty"),
    ):
        hand_in(kb, text, written_by="model 1")

    assert not [*(tmp_path / "notes").rglob("*.md")]


def test_a_note_of_the_same_title_is_another_file_and_no_link_is_followed(
    config: Config, tmp_path: Path
) -> None:
    folder = tmp_path / "notes/from-models"
    folder.mkdir()
    (folder / "how-otters-dive.md").symlink_to(tmp_path / "outside.md")
    (folder / "How-Otters-Dive-2.md").write_text("mine\n", "utf-8")

    with open_here(config) as kb:
        paths = [hand_in(kb, source_uri="https://x.org/")[0].doc_path for _ in range(2)]

    assert paths == ["from-models/how-otters-dive-3.md", "from-models/how-otters-dive-4.md"]
    assert not (tmp_path / "outside.md").exists()
    assert (folder / "How-Otters-Dive-2.md").read_text("utf-8") == "mine\n"
    assert 'source: "https://x.org/"' in (folder / "how-otters-dive-3.md").read_text("utf-8")


def test_a_note_of_a_title_that_was_forgotten_has_another_name_and_is_found(
    config: Config, tmp_path: Path
) -> None:
    with open_here(config) as kb:
        hand_in(kb)
        kb.forget("doc", ["from-models/how-otters-dive.md"], dry_run=False)
        (tmp_path / "notes/from-models/how-otters-dive.md").unlink()

        (item,) = hand_in(kb)

    assert (item.kind.value, item.doc_path) == ("new", "from-models/how-otters-dive-2.md")


def test_no_note_is_written_through_a_link_that_came_after_its_folder_was_judged(
    tmp_path: Path,
) -> None:
    for name in ("vault", "elsewhere"):
        (tmp_path / name / "inner" / "notes").mkdir(parents=True)
    folder = tmp_path / "vault" / "inner" / "notes"
    assert write_note(folder, "Before", b"x").read_bytes() == b"x"
    (tmp_path / "vault" / "inner").rename(tmp_path / "vault" / "old")
    (tmp_path / "vault" / "inner").symlink_to(tmp_path / "elsewhere" / "inner")

    with pytest.raises(IoError, match="the note cannot be written"):
        write_note(folder, "After", b"x")

    assert list((tmp_path / "elsewhere").rglob("*.md")) == []


def test_no_note_is_written_where_its_source_is_away(config: Config, tmp_path: Path) -> None:
    """The folder was made again for it, and the next run took all else in it for deleted."""
    root = tmp_path / "notes"
    (root / "mine.md").write_text("An otter.\n", "utf-8")
    with open_here(config) as kb:
        list(kb.ingest(IngestOptions()))
        root.rename(tmp_path / "away")
        with pytest.raises(IoError, match="is not there"):
            hand_in(kb)
        list(kb.ingest(IngestOptions()))

        assert [doc["doc_path"] for doc in kb.list_docs(SearchFilters())["items"]] == ["mine.md"]
    assert not root.exists()


@pytest.mark.parametrize("value", ["&a [*a]", f"0x{'f' * 5_000}"])
def test_front_matter_that_cannot_be_said_again_stays_text(value: str) -> None:
    text = f"---\ntag: {value}\n---\n{TEXT}"

    said = with_provenance(HandedText(text=text, title="t", written_by="model 1")).text

    assert said == f'---\nwritten_by: "model 1"\n---\n\n{text}'


def test_whatever_the_title_the_file_is_in_the_folder(config: Config, tmp_path: Path) -> None:
    with open_here(config) as kb:
        paths = [hand_in(kb, title=title)[0].doc_path for title in TITLES]

    every = [path for path in tmp_path.rglob("*.md") if "kb" not in path.parts]
    assert {path.parent for path in every} == {tmp_path / "notes/from-models"}
    assert {f"from-models/{path.name}" for path in every} == set(paths)
    assert not any(path.name.startswith(".") for path in every)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("elsewhere", "is in no source"),
        ("notes/link", "is in no source"),
        ("notes/left", "would leave the note alone"),
    ],
)
def test_a_folder_whose_files_no_source_takes_is_refused_and_nothing_is_left_there(
    config: Config, tmp_path: Path, folder: str, message: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "notes/link").symlink_to(tmp_path / "outside")
    wrong = replace(config, mcp=Mcp(notes_dir=str(tmp_path / folder)))

    with open_here(wrong) as kb, pytest.raises(ConfigInvalid, match=message) as caught:
        hand_in(kb)

    assert caught.value.details["setting"] == "mcp.notes_dir"
    assert not list(tmp_path.rglob("*otters*"))


def test_a_secret_is_not_written_and_a_reader_writes_nothing(
    config: Config, tmp_path: Path
) -> None:
    with open_here(config) as kb:
        (item,) = hand_in(kb, KEY)
    with open_here(config, readonly=True) as kb, pytest.raises(ReadonlyMode):
        hand_in(kb)

    assert item.kind == "skipped"
    assert not (tmp_path / "notes/from-models").exists()


def test_without_a_folder_it_is_kept_as_added_and_says_who_wrote_it(config: Config) -> None:
    with open_here(replace(config, mcp=Mcp())) as kb:
        hand_in(kb, f"---\ntags: [sea]\n---\n{TEXT}", written_by="model 1")
        (doc,) = kb.list_docs(SearchFilters())["items"]
        text = kb.fetch(doc["doc_id"])["text"]

    assert (doc["source_id"], doc["trust_level"], doc["tags"]) == ("_added", "generated", ["sea"])
    assert 'written_by: "model 1"' in text
    with open_here(replace(config, mcp=Mcp())) as kb, pytest.raises(InvalidInput) as caught:
        hand_in(kb, media="text", written_by="model 1")
    assert caught.value.details["field"] == "written_by"


def test_what_a_model_hands_in_does_not_pass_for_a_file_of_a_source(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "notes/sub/plan.md"
    file.parent.mkdir()
    file.write_text("In May.\n", "utf-8")
    (tmp_path / "notes/empty.md").touch()
    taken = ["sub/plan.md", "./sub/plan.md", "plan.md", str(file), file.as_uri(), "empty.md"]
    taken += ["notes/sub/plan.md", f"{tmp_path.name}/notes/sub/plan.md"]  # from a folder above
    with open_here(replace(config, mcp=Mcp())) as kb:
        list(kb.ingest(IngestOptions()))
        for uri in (*taken, kb.fetch("plan.md")["doc_id"]):
            with pytest.raises(InvalidInput, match="a file of a source is called") as caught:
                hand_in(kb, source_uri=uri)
            assert caught.value.details["value"] == uri
        hand_in(kb, source_uri="https://example.org/plan.md")
        hand_in(kb, source_uri="https://example.org/plan.md", title="Again")
        docs = kb.list_docs(SearchFilters(source=("_added",)))["items"]
        (tmp_path / "notes/plan.md").write_text("In June.\n", "utf-8")
        list(kb.ingest_text("June?\n", title="Plan", source_uri="plan.md"))
        list(kb.ingest(IngestOptions()))
        kb.forget("doc", [str(tmp_path / "notes/plan.md")], dry_run=False)
        left = [doc["source_id"] for doc in kb.list_docs(SearchFilters())["items"]]
        list(kb.ingest_text("In July.\n", title="Plan", source_uri="notes/sub/plan.md"))
        monkeypatch.chdir(tmp_path)
        named = kb.fetch("notes/sub/plan.md")["text"]
        told = kb.forget("doc", ["notes/sub/plan.md"], dry_run=True)["paths"]

    assert (named, told) == ("In May.\n", ["sub/plan.md"])
    assert [doc["doc_path"] for doc in docs] == ["https://example.org/plan.md"]
    assert sorted(left) == ["_added", "_added", "notes"]


@pytest.mark.parametrize(
    "uri",
    [
        "plan.md",
        "./plan.md",
        "notes/plan.md",
        "plan.md:3",
        "plan.md#L3",
        "plan.md, p. 2",
        "notes%2Fplan.md",
        r"notes\plan.md",
        "plan.md!/within.md",
        "file://{folder}/notes/plan.md:3",
        "~/notes/plan.md",
    ],
)
def test_a_model_does_not_bring_back_a_forgotten_file_by_its_name(
    config: Config, tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "notes/plan.md"
    file.write_text("In May.\n", "utf-8")
    uri = uri.format(folder=tmp_path)
    with open_here(replace(config, mcp=Mcp())) as kb:
        list(kb.ingest(IngestOptions()))
        kb.forget("doc", [str(file)], dry_run=False)

        with pytest.raises(InvalidInput, match="forgotten"):
            hand_in(kb, source_uri=uri)
        list(kb.ingest_text("In May.\n", title="Plan", source_uri=uri))  # a person may

        assert kb.list_docs(SearchFilters())["total"] == 1


FORGED = st.sampled_from(["trust_level", "Trust-Level", "trust level", "written_by", "title"])


@given(
    own=st.dictionaries(
        FORGED | st.text("ab: #'\"[", max_size=6), st.text(max_size=12), max_size=4
    ),
    title=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).filter(
        lambda title: title.strip() != ""
    ),
    author=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).filter(
        lambda author: author.strip() != ""
    ),
)
@settings(max_examples=60)
def test_nothing_that_a_text_says_of_itself_raises_its_trust_or_hides_who_wrote_it(
    own: dict[str, str], title: str, author: str
) -> None:
    text = f"---\n{yaml.safe_dump(own, allow_unicode=True)}---\n{TEXT}"
    handed = HandedText(text=text, title=title, trust="generated", written_by=author)

    front = read_front_matter(as_note(handed, 0).text)
    kept = read_front_matter(with_provenance(handed).text)

    assert front is not None
    assert kept is not None
    assert front.values["trust_level"] == "generated"
    assert front.values["written_by"] == kept.values["written_by"] == author
    assert front.values["title"] == title.strip()


def test_a_note_may_ask_for_less_trust_than_the_person_gives() -> None:
    modest = HandedText(
        text=f"---\ntrust_level: generated\n---\n{TEXT}", title="T", trust="primary"
    )

    front = read_front_matter(as_note(modest, 0).text)

    assert front is not None
    assert front.values["trust_level"] == "generated"
