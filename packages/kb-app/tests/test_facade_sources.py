"""What interfaces ask of the facade beside searching: the sources there are now, and facets."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_app import KnowledgeBase, load_config
from kb_app.config import add_source
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.errors import ReadonlyMode
from kb_core.search import SearchQuery
from kb_core.testing.documents import document


def _opened(tmp_path: Path, *, readonly: bool = False) -> tuple[KnowledgeBase, Path]:
    file = tmp_path / "config.toml"
    file.write_text(f'[storage]\ndata_dir = "{tmp_path / "data"}"\n', "utf-8")
    return KnowledgeBase.open(load_config(file), readonly=readonly), file


def test_a_source_that_another_program_added_is_seen(tmp_path: Path) -> None:
    kb, file = _opened(tmp_path)
    (tmp_path / "notes").mkdir()
    before = kb.sources()
    add_source(str(tmp_path / "notes"), path=file)

    assert before == []
    assert kb.sources() == [("notes", str(tmp_path / "notes"))]


def test_a_configuration_that_broke_meanwhile_changes_nothing(tmp_path: Path) -> None:
    kb, file = _opened(tmp_path)
    (tmp_path / "notes").mkdir()
    kb.add_source(str(tmp_path / "notes"))
    file.write_text("[sources", "utf-8")

    assert kb.sources() == [("notes", str(tmp_path / "notes"))]


def test_a_folder_becomes_a_source_unless_only_reading_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    kb, file = _opened(tmp_path)

    assert kb.add_source(str(tmp_path / "notes")) == "notes"
    assert [source.id for source in load_config(file).sources] == ["notes"]
    with pytest.raises(ReadonlyMode):
        _opened(tmp_path, readonly=True)[0].add_source(str(tmp_path / "notes"))


def test_facets_are_counted_over_all_candidates_and_not_over_a_page() -> None:
    documents = [
        document(f"{name}.md", f"needle {name}\n", lang=lang)
        for name, lang in (("a", "en"), ("b", "en"), ("c", "ko"))
    ]
    kb = ScriptedKnowledgeBase(*documents)
    query = SearchQuery(text="needle", k=1)

    found = kb.facets(query)

    assert len(kb.search(query).hits) == 1
    assert found["lang"] == {"en": 2, "ko": 1}
    assert found["media"] == {"markdown": 3}
