"""The ask pane, headless: a conversation is gone on with, copied and deleted."""

from __future__ import annotations

from threading import Event

import pytest

from kb_core.answers import AskQuery
from kb_tui.testing import TuiKnowledgeBase, app_of, idle, on_screen, until
from kb_tui.widgets.lines import Lines, Row


async def test_questions_of_one_conversation_go_on_with_it() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 40)) as pilot:
        await idle(pilot)
        for keys in (
            ["escape", "3", *"why", "enter"],
            [*"who", "enter"],
            ["ctrl+l"],
            [*"x", "enter"],
        ):
            await pilot.press(*keys)
            await idle(pilot)

    asked = [call[1] for call in kb.asked if call[0] == "answer"]
    assert asked == [
        AskQuery(text="why", conversation="new"),
        AskQuery(text="who", conversation="trip"),
        AskQuery(text="x", conversation="new"),
    ]


async def test_a_conversation_of_before_is_shown_and_gone_on_with() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(100, 60)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3", "escape", "c")
        await idle(pilot)
        chooser = on_screen(app)
        await pilot.press("enter")
        await idle(pilot)
        shown = on_screen(app)
        await pilot.press("i", *"how", "enter")
        await idle(pilot)

    assert "when was it built (2)  trip" in chooser
    assert "> and the bridge?" in shown
    assert "asked as: when was the bridge built?" in shown
    assert "2 turns" in shown
    assert ("answer", AskQuery(text="how", conversation="trip")) in kb.asked


async def test_what_is_written_is_shown_while_it_comes() -> None:
    kb = TuiKnowledgeBase()
    goes_on = Event()
    kb.pieces = ["The **tower** ", "is old.", goes_on.wait]
    app = app_of(kb)
    async with app.run_test(size=(80, 40)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3", *"why", "enter")
        await until(pilot, lambda: "The tower is old." in on_screen(app))
        meanwhile = on_screen(app)
        goes_on.set()
        await idle(pilot)
        shown = on_screen(app)

    assert "writing…" in meanwhile
    assert "Answer, word for word" not in meanwhile
    assert "The tower is old." not in shown
    assert "Answer, word for word" in shown


async def test_esc_stops_what_is_written_and_leaves_what_came() -> None:
    kb = TuiKnowledgeBase()
    goes_on = Event()
    kb.pieces = ["It is old.", goes_on.wait, " And red."]
    app = app_of(kb)
    async with app.run_test(size=(80, 40)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3", *"why", "enter")
        await until(pilot, lambda: "It is old." in on_screen(app))
        await pilot.press("escape")
        was_told = kb.given["stop"].is_set()
        goes_on.set()
        await idle(pilot)
        shown = on_screen(app)

    assert was_told
    assert "It is old." in shown
    assert "stopped" in shown
    assert "And red." not in shown
    assert "Answer, word for word" not in shown


async def test_an_answer_is_copied_with_its_sources() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 40)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3", "escape", "Y")
        await idle(pilot)
        nothing = on_screen(app)
        await pilot.press("i", *"why", "enter")
        await idle(pilot)
        await pilot.press("escape", "Y")
        await idle(pilot)
        copied = app.clipboard

    assert "no answer to copy" in nothing
    assert copied.startswith("## why\n\n")
    assert "2. `src/parse.py#L1-L2`" in copied


async def test_read_only_a_question_is_no_turn() -> None:
    kb = TuiKnowledgeBase()
    kb._readonly = True
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3", *"why", "enter")
        await idle(pilot)
        await pilot.press("escape", "d")
        await idle(pilot)
        state = on_screen(app)

    assert ("answer", AskQuery(text="why")) in kb.asked
    assert "is not kept" in state


async def test_what_is_shown_already_is_not_laid_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is written comes in hundreds of pieces, below a conversation of hours."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "3")
        await idle(pilot)
        lines = app.screen.query_one(Lines)
        rows = [Row(f"otter {n}", "quote", query="otter") for n in range(50)]
        lines.show(rows)
        looked_at: list[str] = []

        def marks(text: str, _query: str) -> list[tuple[int, int]]:
            looked_at.append(text)
            return []

        monkeypatch.setattr("kb_tui.widgets.lines.marks", marks)
        lines.show([*rows, Row("one more otter", "quote", query="otter")])
        assert looked_at == ["one more otter"]

        await pilot.resize_terminal(60, 24)
        await until(pilot, lambda: len(looked_at) > len(rows))
