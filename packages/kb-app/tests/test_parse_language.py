"""Languages: right where it is certain, ``und`` where it is not."""

import pytest

from kb_app._ingest.making.metadata import detect_language


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The store keeps every chunk of a document, and the index is made from it.", "en"),
        ("Der schnelle braune Fuchs springt über den faulen Hund.", "de"),
        ("Bonjour à tous, voici le rapport de la semaine dernière.", "fr"),
        ("Los gatos duermen en la casa todo el día mientras llueve.", "es"),
        ("검색", "ko"),
        ("# 회의록\n\nkebab store 의 색인을 다시 만든다.", "ko"),
        ("検索エンジン", "ja"),
        ("これはペンです。", "ja"),
        ("搜索引擎的排序", "zh"),
        ("Η βάση γνώσεων", "el"),
        ("", "und"),
        ("12 34 == 56 # * -", "und"),
        ("ok", "und"),
        ("```\nx\n```", "und"),
        ("asdf qwer zxcv " * 20, "und"),
    ],
)
def test_languages(text: str, code: str) -> None:
    assert detect_language(text) == code
