"""Languages: right where it is certain, ``und`` where it is not."""

import subprocess
import sys

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


ENGLISH = "You can use this with the store, and it will not be read by those that have no key."
GERMAN = "Der Index wird aus dem Speicher gemacht, und er ist nicht für die Ewigkeit, auch bei uns."


@pytest.mark.parametrize(("text", "code"), [(ENGLISH, "en"), (GERMAN, "de")])
def test_the_commonest_languages_are_told_without_statistics(text: str, code: str) -> None:
    """Loading them takes half a second, in every process."""
    program = f"""
import sys
from kb_app._ingest.making.metadata import detect_language
print(detect_language({text!r}), "py3langid" in sys.modules)
"""
    run = [sys.executable, "-c", program]
    told = subprocess.run(run, capture_output=True, text=True, check=True)

    assert told.stdout.split() == [code, "False"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "De index wordt gemaakt uit de opslag en is niet voor de eeuwigheid, ook bij ons niet.",
            "nl",
        ),
        ("Indekset lages av lageret, og det er ikke for evigheten, heller ikke hos oss her.", "no"),
        (f"{ENGLISH} {GERMAN}", None),
    ],
)
def test_their_neighbours_are_not_taken_for_them(text: str, code: str | None) -> None:
    assert detect_language(text) in ({code} if code else {"en", "de", "und"})
