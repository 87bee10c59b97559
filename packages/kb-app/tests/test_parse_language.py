"""Languages: right where it is certain, ``und`` where it is not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_app._ingest.making import languages
from kb_app._ingest.making.languages import detect_language


@pytest.fixture(autouse=True)
def unloaded() -> Iterator[None]:
    languages._ranking.cache_clear()
    yield
    languages._ranking.cache_clear()


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
        ("புத்தகம்", "ta"),
        ("పుస్తకాలు, utf-8", "te"),
        ("ಪುಸ್ತಕ", "kn"),
        ("# പുസ്തകം", "ml"),
        ("ਕਿਤਾਬ", "pa"),
        ("પુસ્તક", "gu"),
        ("ପୁସ୍ତକ", "or"),
        ("පොත", "si"),
        ("", "und"),
        ("12 34 == 56 # * -", "und"),
        ("ok", "und"),
        ("```\nx\n```", "und"),
        ("asdf qwer zxcv " * 20, "und"),
    ],
)
def test_languages(text: str, code: str) -> None:
    assert detect_language(text) == code


PLAIN = {
    "en": "The index is made from what the store has, and it can be made again when that is lost. "
    "A search that finds nothing in one of them is not asked of the other, since they are the same "
    "in what they know of the notes.",
    "de": "Der Index wird aus dem gemacht, was im Speicher ist, und er kann auch wieder gemacht "
    "werden, wenn er nicht mehr da ist. Eine Suche, die in einem von ihnen nichts findet, wird "
    "nicht an den anderen gestellt, und sie sind sich mit der Zeit auch gleich.",
    "fr": "Les notes sont dans un dossier, et une recherche est faite avec les mots que vous avez "
    "dans la tête. Nous les gardons pour vous, et cette page est une aide pour ceux qui sont "
    "perdus dans les dossiers, avec une liste des mots.",
    "es": "Las notas están en una carpeta y el índice está en otra, pero los dos son una sola cosa "
    "para la búsqueda. Más tarde el programa lee los cambios y las palabras, porque una nota que "
    "cambia está mal en el índice hasta que se lee otra vez.",
    "it": "Il testo che è nel file è diviso in parti, e le parti sono anche più piccole di una "
    "pagina. Gli indici della raccolta sono nel disco, e il programma che li legge è più veloce "
    "delle altre cose che sono state provate nel mese.",
    "nl": "Het bestand wordt niet gelezen als het niet is veranderd, maar een kopie van het "
    "bestand wordt ook voor later bewaard. De woorden zijn van een lijst, en een zoekvraag gaat "
    "naar het register voor de woorden, niet naar het bestand.",
    "pt": "O texto não está em uma pasta só, mas em várias, e os arquivos são lidos com uma ordem "
    "dos mais novos. Você também pode ler uma nota que não foi mudada, com os nomes dos arquivos "
    "em uma lista que é feita para você, mais tarde.",
}


@pytest.mark.parametrize("code", PLAIN)
def test_what_is_full_of_common_words_needs_no_model(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)

    assert detect_language(PLAIN[code]) == code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The otter sleeps with its paws at rest."),
        ("de", "Der Otter ist müde und wird nicht wach."),
        ("fr", "La loutre dort dans une rivière, avec ses petits."),
    ],
)
def test_two_words_of_its_own_tell_of_a_short_text(
    code: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)

    assert detect_language(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "El llibre és una bona introducció a la història de Catalunya.",  # el, una: Spanish, too
        "Die boek is of op die tafel of in die kas.",  # Afrikaans
        "Der otter sleeps in the river and is a night hunter.",
        "An otter sleeps in the river.",
    ],
)
def test_a_short_text_with_less_than_that_is_left_to_the_model(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)

    with pytest.raises(ImportError):
        detect_language(text)


def test_a_text_in_two_languages_is_left_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)

    with pytest.raises(ImportError):
        detect_language(PLAIN["en"] + "\n" + PLAIN["de"])


CATALAN = "El llibre és una bona introducció a la història de Catalunya."


def test_the_model_is_unpacked_once_and_says_what_it_says_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import py3langid

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = [*PLAIN.values(), CATALAN, "Привіт, як справи?", "", "x" * 300, "ΑΒΓ abc 검색"]

    assert [languages._ranking()(text) for text in texts] == [*map(py3langid.rank, texts)]

    monkeypatch.setattr(languages, "_unpacked", None)
    languages._ranking.cache_clear()
    assert detect_language(CATALAN) == "ca"
    assert len([*tmp_path.glob("kebab/models/languages-*/next")]) == 1


def test_a_model_in_another_form_is_asked_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from py3langid import langid

    monkeypatch.delattr(langid.LanguageIdentifier, "from_model_file")
    monkeypatch.delattr(langid, "MODEL_DIR")
    monkeypatch.setattr("py3langid.rank", lambda _: [("xx", 9.0), ("yy", 0.0)])

    assert detect_language(CATALAN) == "xx"
