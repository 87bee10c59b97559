"""Questions in another language than the notes, through the command and a real model."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab

pytestmark = pytest.mark.model

_NOTES = {
    "garten/tomaten.md": "# Tomaten\n\nIm Mai kommen die Pflanzen ins Freie, wenn kein Frost mehr "
    "droht. Wer täglich am Morgen gießt, vermeidet geplatzte Früchte.\n",
    "garten/kompost.md": "# Kompost\n\nLaub und Küchenabfälle werden geschichtet und nach einem "
    "halben Jahr umgesetzt, damit Luft hineinkommt.\n",
    "haus/heizung.md": "# Heizung\n\nFällt der Druck unter ein Bar, wird am Ventil im Keller "
    "Wasser nachgefüllt. Danach entlüften wir alle Heizkörper.\n",
    "haus/dach.md": "# Dach\n\nNach jedem Sturm sehen wir nach losen Ziegeln und reinigen die "
    "Rinne vom Laub.\n",
    "leute/martha.md": "# Martha\n\nMartha Keller spielt Cello, wohnt am Bar und the Beatles "
    "sind ihre liebste Band.\n",
    "leute/keller.md": "# Familie Keller\n\nMarthas Bruder heißt Jonas; beide feiern im August "
    "Geburtstag.\n",
    "kueche/brot.md": "# Brot\n\nMehl, Wasser, Salz und Geduld: der Teig ruht über Nacht.\n",
    "kueche/suppe.md": "# Suppe\n\nLinsen, Möhren und Sellerie kochen eine halbe Stunde.\n",
    "notes/sailing.md": "# Sailing\n\nReef the main before the wind reaches twenty knots.\n",
    "notes/bike.md": "# Bike\n\nOil the chain every second week and check the brakes.\n",
}
_QUESTIONS = {
    "Martha asks how the radiators are freed from air": "haus/heizung.md",
    "Martha wants to know when the tomato plants may go outside": "garten/tomaten.md",
    "who checks the roof of the Keller house after bad weather": "haus/dach.md",
    "how long do the lentils of Martha have to cook": "kueche/suppe.md",
    "what has to be cleaned after every storm, asks Jonas": "haus/dach.md",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an embedded library of German notes and a few English ones."""
    kebab = KebabHere(tmp_path_factory.mktemp("languages"))
    kebab.configure(model="multilingual-e5-small")
    for path, text in _NOTES.items():
        kebab.write(path, text)
    kebab.run("ingest", "--summary-only")
    return kebab


@pytest.mark.parametrize("question", _QUESTIONS)
def test_a_question_in_another_language_finds_its_note(
    library: InstalledKebab, question: str
) -> None:
    """The names in it, and a word that both languages have, stand in other notes."""
    answer = library.json("search", question, "--mode", "hybrid")

    assert answer["hits"][0]["doc_path"] == _QUESTIONS[question]


_ENGLISH = {
    "english/tomatoes.md": "# Tomato soup\n\nTomatoes, basil and cream: our summer soup.\n",
    "english/fence.md": "# Fence\n\nThe garden fence was painted green in spring.\n",
    "english/boiler.md": "# Boiler\n\nThe boiler is from 2011 and burns gas.\n",
    "english/attic.md": "# Attic\n\nUnder the roof lie the tents and the winter clothes.\n",
    "english/violin.md": "# Violin\n\nThe violin needs new strings before the concert.\n",
    "english/rye.md": "# Rye\n\nRye flour is bought at the mill, ten kilos at a time.\n",
    "english/peas.md": "# Peas\n\nPeas are picked in June and frozen the same day.\n",
    "english/birthday.md": "# Birthdays\n\nAunt Ruth wants a book for her birthday.\n",
}
_ACROSS = {
    "When may the tomato plants go outside?": "garten/tomaten.md",
    "What is done when the pressure of the heating falls?": "haus/heizung.md",
    "Which tiles are looked after when there was a storm?": "haus/dach.md",
    "How long are the lentils cooked?": "kueche/suppe.md",
    "Wann wird das Großsegel gerefft?": "notes/sailing.md",
    "Was braucht die Geige vor dem Konzert?": "english/violin.md",
    "Wo liegen die Zelte?": "english/attic.md",
}


def test_notes_in_the_language_of_the_question_do_not_stand_before_the_one_that_answers(
    tmp_path: Path,
) -> None:
    mixed = KebabHere(tmp_path)
    mixed.configure(model="multilingual-e5-small")
    for path, text in (_NOTES | _ENGLISH).items():
        mixed.write(path, text)
    mixed.run("ingest", "--summary-only")

    found = {question: mixed.paths(question, "--mode", "vector")[0] for question in _ACROSS}

    assert found == _ACROSS


_TALK = (
    "Mara: Wow, that sounds wonderful! How did it go?",
    "Ivo: It went well, thanks for asking!",
    "Mara: What have you been up to lately?",
    "Ivo: I finally sold the old van to a plumber.",
    "Mara: Oh nice, what do you think about it?",
    "Ivo: My sister is learning to play the cello.",
    "Mara: That is great, keep going!",
    "Ivo: We are moving to Lisbon in autumn.",
    "Mara: Really? Why is that?",
    "Ivo: The rent here went up by a third.",
    "Mara: I burned my hand on the oven on Monday.",
    "Ivo: Ouch, are you okay?",
    "Mara: It is fine, I put some ointment on it.",
    "Ivo: And you, how is work?",
    "Mara: I quit, I start at the library in May.",
)


def test_what_is_near_to_every_question_does_not_stand_before_the_answer(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    kebab.configure(model="multilingual-e5-small")
    for number, line in enumerate(_TALK):
        kebab.write(f"talk/{number:02}.md", f"{line}\n")
    kebab.run("ingest", "--summary-only")

    found = kebab.json("search", "Where will Ivo live?", "--mode", "vector")["hits"]

    assert found[0]["doc_path"] == "talk/07.md"
    # Scores stay what cosines by this model are.
    assert all(0.75 < hit["retrieval"]["vector_score"] < 0.95 for hit in found)
