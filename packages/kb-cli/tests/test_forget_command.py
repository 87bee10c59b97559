"""``kebab forget``: nothing goes that was not shown, or agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli.testing import knowledge_base, run
from kb_core import wire

SHOWN = """\
  notes/\\u202ea.md
  2 turns of conversation talk: stays without --mentions
  1 golden question in /g.yaml: yours to change
  not touched: documents of the same bytes: b.md
"""


def full() -> ScriptedKnowledgeBase:
    """Return a knowledge base that says it has forgotten a document."""

    def forget(kind: str, targets: Sequence[str], dry_run: bool, mentions: bool) -> Any:  # noqa: ANN401 - as the facade has it
        told = [
            {"kind": "conversation", "name": "talk", "count": 2, "goes": mentions},
            {"kind": "golden_question", "name": "/g.yaml", "count": 1, "goes": False},
        ]
        return wire.forget_report(
            kind,
            targets,
            dry_run=dry_run,
            documents=1,
            chunks=3,
            paths=["notes/\u202ea.md"],
            mentions=told,
            left=["documents of the same bytes: b.md"],
        )

    return knowledge_base({"forget": forget})


def test_on_a_terminal_it_shows_what_would_go_and_asks() -> None:
    kb = full()

    result = run("forget", "doc", "a.md", kb=kb, answer="y\n")

    assert [call[3] for call in kb.asked] == [True, False]
    assert result.stderr.startswith(f"{SHOWN}would forget 1 document, 3 chunks\nforget this")
    assert result.stdout.endswith(f"{SHOWN}forgot 1 document, 3 chunks\n")
    assert result.exit_code == 0


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_anything_but_yes_forgets_nothing(answer: str) -> None:
    kb = full()

    result = run("forget", "source", "notes", kb=kb, answer=answer)

    assert [call[3] for call in kb.asked] == [True]
    assert "nothing was forgotten" in result.stderr


def test_off_a_terminal_and_with_json_it_wants_yes() -> None:
    kb = full()

    refused = run("forget", "query", "a b", "--mentions", kb=kb)
    as_json = run("forget", "query", "a b", "--json", kb=kb, answer="y\n")
    done = run("forget", "query", "a b", "--yes", "--mentions", kb=kb)

    assert (refused.exit_code, as_json.exit_code, done.exit_code) == (2, 2, 0)
    assert "hint: kebab forget query 'a b' --mentions --yes" in refused.stderr
    assert [call[1:] for call in kb.asked] == [("query", ("a b",), False, True)]
    assert "stays without" not in done.stdout
