"""What a text promises for a question before it is read: words as letters, by their rarity."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, strategies as st

from kb_app._ingest.plan import Plan, Wanted
from kb_app._ingest.settings import SourceSpec
from kb_app._ingest.sought import Look, leave_unsought, wanted_words
from kb_core.documents import SourceFile
from kb_core.records import FileRecord, FileState
from kb_core.search import Sampling

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
    assert wanted_words("is it go") == [("is",), ("it",), ("go",)]
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


def _planned(root: Path, files: dict[str, tuple[str, str]], known: str = "") -> Plan:
    """Return a plan that wants *files*, each with its medium and text; *known* has changed."""
    plan = Plan(SourceSpec(source_id="notes", root=str(root)), verified=True)
    for path, (media, text) in files.items():
        (root / path).write_text(text, "utf-8")
        file = SourceFile(source_id="notes", path=path, media=media, size=len(text))
        row = FileRecord(source_id="notes", path=path, state=FileState.INDEXED)
        plan.wanted.append(Wanted(file, None, row if path == known else None))
    return plan


def test_what_is_no_text_or_has_changed_is_read_whatever_is_asked_for(tmp_path: Path) -> None:
    files = {f"{at}.md": ("markdown", "a beaver") for at in range(9)}
    files |= {"otter.md": ("markdown", "an otter"), "scan.pdf": ("pdf", "no letters")}
    plan = _planned(tmp_path, files, known="3.md")

    left = leave_unsought([plan], "otter", 1)

    assert {want.file.path for want in plan.wanted} == {"3.md", "otter.md", "scan.pdf"}
    assert (left.files, left.promising, plan.verified) == (8, 0, False)


def test_of_large_texts_the_best_thirty_two_are_read(tmp_path: Path) -> None:
    files = {f"{at}.md": ("markdown", "otter " * (1 + at)) for at in range(40)}
    plan = _planned(tmp_path, files)

    left = leave_unsought([plan], "otter", 1)

    assert {want.file.path for want in plan.wanted} == {f"{at}.md" for at in range(8, 40)}
    assert (left.files, left.promising) == (8, 8)


def test_where_there_is_room_for_all_all_is_read_and_nothing_new_where_none_is_asked_for(
    tmp_path: Path,
) -> None:
    files = {f"{at}.md": ("markdown", "an otter") for at in range(4)}
    whole, none = _planned(tmp_path, files), _planned(tmp_path, files)

    assert leave_unsought([whole], "beaver", 32).files == 0
    assert leave_unsought([none], "otter", 0).files == 4
    assert (len(whole.wanted), whole.verified, none.wanted) == (4, True, [])
