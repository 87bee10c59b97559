"""What a text promises for a question before it is read: words as letters, by their rarity."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.plan import Plan, Wanted
from kb_app._ingest.settings import SourceSpec, ingest_settings
from kb_app._ingest.sought import Look, Telling, leave_unsought, wanted_words
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app.config import Config
from kb_app.testing.office_files import archive, docx
from kb_app.testing.papers import Leaf, paper, plain_page
from kb_core.clock import utc_now
from kb_core.documents import SourceFile
from kb_core.ingest import Left
from kb_core.records import FileRecord, FileState
from kb_core.search import Sampling
from kb_core.values import replace

_LETTERS = st.text("abcdefg ", max_size=40)


def promises(question: str, *texts: tuple[str, str]) -> dict[str, float]:
    look = Look(wanted_words(question))
    for path, text in texts:
        look.at(path, path, text)
    return look.promises()


def best(question: str, *texts: str) -> str:
    promised = promises(question, *((str(at), text) for at, text in enumerate(texts)))
    return texts[int(max(promised, key=lambda name: promised[name]))]


def test_a_word_is_found_in_its_forms_accents_and_pairs_of_characters() -> None:
    assert wanted_words("caching retries") == [("cach",), ("retri",)]
    assert wanted_words("Übersetzung") == [("ubersetzung", "übersetzung")]
    assert wanted_words("数据库") == [("数据",), ("据库",)]
    assert wanted_words("maxRetries") == [("maxretri",), ("max",), ("retri",)]
    assert wanted_words("go on it") == [("go",), ("on",), ("it",)]
    assert wanted_words("how does it go on") == [("go",), ("on",)]
    assert wanted_words("?!") == []


def test_a_rare_word_promises_more_than_a_common_one() -> None:
    common = ["the otter"] * 9
    assert best("otter den", *common, "a den") == "a den"


def test_words_that_stand_together_promise_more_than_apart() -> None:
    far = f"lock {'x ' * 2_000} writer"
    assert best("writer lock", far, "the writer lock", "lock", "writer") == "the writer lock"


def test_a_path_says_what_a_text_is_of() -> None:
    promised = promises("lock", ("src/lock.py", "pass"), ("src/a.py", "pass"))
    assert promised["src/lock.py"] > promised["src/a.py"] == 0


@given(_LETTERS, st.lists(_LETTERS, min_size=1, max_size=5))
def test_a_text_promises_something_exactly_where_a_word_is_in_it(
    question: str, texts: list[str]
) -> None:
    words = wanted_words(question)
    promised = promises(question, *((str(at), text) for at, text in enumerate(texts)))

    for at, text in enumerate(texts):
        holds = any(begin in text for word in words for begin in word)
        assert (promised[str(at)] > 0) == holds


def test_what_was_chosen_by_a_word_says_how_much_rarer_that_is_in_all() -> None:
    look = Look(wanted_words("otter river"))
    for at in range(8):
        look.at(str(at), str(at), "an otter" if at < 2 else "a river")
    sampling = look.sampling({"2", "3", "4", "5"})

    assert sampling.passages == 2.0
    assert sampling.held("otter", 2) == 2
    assert sampling.held("rivers", 2) == 6
    assert sampling.held("beaver", 3) == 6
    assert Sampling().held("beaver", 3) == 3


class World:
    """Files in a folder, plans that want them, and which of them a worker opened to tell."""

    def __init__(self, room: Path) -> None:
        self.root = room / "notes"
        self.root.mkdir()
        self.opened: list[str] = []
        self.telling = Telling(
            folder=room / "letters",
            settings=ingest_settings(Config.inside(room / "kb")),
            executor=self._executor,
            clock=utc_now,
        )

    def _executor(self, task: Callable[[Any], Any], _: int) -> InlineExecutor[Any, Any]:
        def noted(given: Any) -> Any:  # noqa: ANN401 - a task
            self.opened.append(given.file.path)
            return task(given)

        return InlineExecutor(noted)

    def plan(self, files: Mapping[str, tuple[str, str | bytes]], known: str = "") -> Plan:
        """Return a plan that wants *files*, each of a medium; *known* has changed."""
        plan = Plan(SourceSpec(source_id="notes", root=str(self.root)), verified=True)
        for path, (media, said) in files.items():
            data = said.encode() if isinstance(said, str) else said
            (self.root / path).write_bytes(data)
            file = SourceFile(source_id="notes", path=path, media=media, size=len(data))
            row = FileRecord(source_id="notes", path=path, state=FileState.INDEXED)
            plan.wanted.append(Wanted(file, None, row if path == known else None))
        return plan

    def leave(self, plan: Plan, question: str, most: int = 1) -> Left:
        return leave_unsought([plan], question, most, self.telling)


def wanted(plan: Plan) -> set[str]:
    return {want.file.path for want in plan.wanted}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def beavers(count: int = 40) -> dict[str, tuple[str, str | bytes]]:
    return {f"{at}.md": ("markdown", "a beaver") for at in range(count)}


def test_what_has_changed_is_read_whatever_is_asked_for(world: World) -> None:
    plan = world.plan({**beavers(), "otter.md": ("markdown", "an otter")}, known="3.md")

    left = world.leave(plan, "otter")

    assert wanted(plan) == {"3.md", "otter.md"}
    assert (left.files, left.promising, plan.verified) == (39, 0, False)


def test_of_large_texts_the_best_thirty_two_are_read(world: World) -> None:
    plan = world.plan({f"{at}.md": ("markdown", "otter " * (1 + at)) for at in range(40)})

    left = world.leave(plan, "otter")

    assert wanted(plan) == {f"{at}.md" for at in range(8, 40)}
    assert (left.files, left.promising) == (8, 8)


def test_where_there_is_room_for_all_all_is_read_and_nothing_new_where_none_is_asked_for(
    world: World,
) -> None:
    whole, few, none = (world.plan(beavers(count)) for count in (40, 32, 40))

    assert world.leave(whole, "otter", 40 * 8).files == 0
    assert world.leave(few, "otter").files == 0  # as many as would be read, whatever they say
    assert world.leave(none, "otter", 0).files == 40
    assert (len(whole.wanted), whole.verified, none.wanted) == (40, True, [])


MAIL = b"""From: a@example.org\nSubject: =?utf-8?q?Dens?=\nDate: Mon, 02 Mar 2026 10:00:00 +0000
MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64

VGhlIG90dGVyIHNsZWVwcyBpbiB0aGUgcml2ZXIu
"""
"""The otter sleeps in the river."""
SAYING = {
    "a.pdf": ("pdf", paper(plain_page("The otter sleeps in the river."))),
    "noted.pdf": ("pdf", paper(Leaf(over=["/Subtype /Text /Contents (an otter)"]))),
    "within.pdf": ("pdf", paper(plain_page("See within."), files={"o.md": b"the otter"})),
    "a.docx": ("office", docx("<w:p><w:r><w:t>Ot</w:t></w:r><w:r><w:t>ter</w:t></w:r></w:p>")),
    "a.epub": ("book", archive({"OEBPS/a.xhtml": "<p>An &#111;tter</p>"})),
    "a.rtf": ("office", rb"{\rtf1 An otter}"),
    "a.1.gz": ("archive", gzip.compress(b".TH otter 1")),
    "a.eml": ("mail", MAIL),
    "1795728445.M5P6": ("unknown", MAIL),
    "wide.txt": ("text", "An otter".encode("utf-16")),
    "latin.txt": ("text", "Ein Fl\xfcsschen f\xfcr den Otter, sch\xf6n".encode("latin-1")),
}


@pytest.mark.parametrize("name", SAYING)
def test_what_is_no_plain_text_is_told_once_and_waits_where_it_does_not_hold_the_words(
    world: World, name: str
) -> None:
    files = {**beavers(), name: SAYING[name]}
    plan, again, changed = (world.plan(files) for _ in range(3))

    assert world.leave(plan, "stoat").files == 41
    assert world.opened == [name]
    assert not plan.wanted
    assert world.leave(again, "otter").files == 40
    assert wanted(again) == {name}
    assert world.opened == [name]  # what it says was kept
    (world.root / name).write_bytes(b"".join([SAYING[name][1], b"\n"]))
    world.leave(changed, "stoat")
    assert world.opened == [name, name]


@pytest.mark.parametrize("asked", ["otter", (("otter",),)])
@pytest.mark.parametrize("opens", [True, False])
def test_an_archive_is_opened_where_those_are(
    world: World, asked: str | tuple[tuple[str, ...], ...], *, opens: bool
) -> None:
    caps = replace(world.telling.settings.caps, archives=opens)
    settings = replace(world.telling.settings, caps=caps)
    held = archive({"n/x.md": "nothing", "n/o.md": "An otter"})
    plan = world.plan({**beavers(), "a.zip": ("unknown", held)})

    leave_unsought([plan], asked, 1, replace(world.telling, settings=settings))

    assert wanted(plan) == ({"a.zip"} if opens else set())
    assert world.opened == (["a.zip"] if opens and isinstance(asked, str) else [])


def test_what_looks_like_tags_that_never_end_takes_no_longer_than_text(world: World) -> None:
    sly = archive({"word/document.xml": "<" * 400_000 + "an otter"})
    plan = world.plan({**beavers(), "sly.docx": ("office", sly)})
    world.leave(plan, "otter")
    assert wanted(plan) == {"sly.docx"}


def test_what_is_not_told_is_read(world: World) -> None:
    torn = paper(plain_page("otter"))[:200]
    files: dict[str, tuple[str, str | bytes]] = {
        "scan.pdf": ("pdf", paper(Leaf(is_picture=True))),
        "torn.pdf": ("pdf", torn),
        "empty.docx": ("office", b"PK nothing"),
        "photo.png": ("image", b"no picture"),
        "voice.mp3": ("audio", b"no sound"),
    }
    plan = world.plan({**beavers(), **files})

    assert world.leave(plan, "stoat").files == 40

    assert wanted(plan) == set(files)
    assert set(world.opened) == {"scan.pdf", "torn.pdf", "empty.docx"}


def test_signs_that_stand_for_letters_are_letters(world: World) -> None:
    files: dict[str, tuple[str, str | bytes]] = {
        "a.html": ("html", "<p>Fl&uuml;sse</p>"),
        "a.ipynb": ("notebook", r'{"source": "Fl\u00fcsse"}'),
    }
    plan = world.plan({**beavers(), **files})
    world.leave(plan, "Fl\xfcsse")
    assert (wanted(plan), world.opened) == (set(files), [])


def test_a_word_without_blanks_may_go_on_in_the_next_line_of_a_page(world: World) -> None:
    page = paper(plain_page("~", "@"), means={"~": "\u6570", "@": "\u636e"})
    plan = world.plan({**beavers(), "a.pdf": ("pdf", page)})
    world.leave(plan, "\u6570\u636e")
    assert wanted(plan) == {"a.pdf"}


def test_a_secret_is_told_to_nobody(world: World) -> None:
    key = (
        "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" * 9
    )
    plan = world.plan({**beavers(), "a.pdf": ("pdf", paper(plain_page(*key.split("\n"))))})
    world.leave(plan, "otter")
    assert not [path for path in world.telling.folder.iterdir() if path.stat().st_size > 20]
