"""A question about one thing in a table is answered by its row, and by no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab

SIDES = ("north", "east", "south", "west")
STATIONS = "".join(
    f"| Station {n:03} | {n * 7 % 90} °C | {n * 13 % 100} % | {SIDES[n % 4]} |\n"
    for n in range(1, 120)
)
NOTES = {
    "engines.md": "# Engines compared\n\nWe measured four engines on the same machine in March.\n\n"
    "| Engine | Build time | Query p50 | Index size | Licence |\n|---|---|---|---|---|\n"
    "| Tantivy | 12 s | 0.7 ms | 180 MB | MIT |\n"
    "| SQLite FTS5 | 31 s | 6.1 ms | 240 MB | public domain |\n"
    "| Xapian | 95 s | 2.4 ms | 410 MB | GPL |\n",
    "people.csv": "Name,Role,Phone,Office\n"
    "Ines Okafor,plumber,0171 555 0134,Basel\n"
    "Tomas Lindqvist,electrician,0171 555 0178,Bern\n"
    "Mira Petrova,architect,0171 555 0190,Thun\n",
    "stations.md": "# Stations\n\nMeasured at noon.\n\n"
    f"| Station | Temperature | Humidity | Side |\n|---|---|---|---|\n{STATIONS}",
    "trains.md": "# Trains to the coast\n\nTickets are sold at the station only.\n\n"
    "| Train | Departs | Arrives | Platform |\n|---|---|---|---|\n"
    "| IC 214 | 07:12 | 10:05 | 3 |\n| RE 88 | 09:40 | 13:31 | 5 |\n"
    "| IC 218 | 15:12 | 18:07 | 3 |\n",
    "keys.md": "# Keys of the search\n\n| Key | Default | Meaning |\n|---|---|---|\n"
    "| `default_k` | `10` | How many hits. |\n"
    "| `rank_k` | `60` | The constant of the sum of the ranks in the lists. |\n",
    "tower.md": "# Tower\n\nThe tower was built in 1889 for a fair. It is made of iron.\n"
    "What is the height of it? The height is 300 metres, as of the survey.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an embedded library of tables: a short one, a long one that is cut, a file of one."""
    kebab = KebabHere(tmp_path_factory.mktemp("tables"))
    kebab.configure(model="multilingual-e5-small")
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.run("ingest", "--summary-only")
    return kebab


def quotes(kebab: InstalledKebab, question: str, code: int = 0) -> list[dict[str, Any]]:
    cited: list[dict[str, Any]] = json.loads(
        kebab.run("ask", question, "--json", code=code).stdout
    )["citations"]
    return cited


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "row", "line", "cell"),
    [
        ("what is the licence of Xapian", "| Xapian | 95 s | 2.4 ms | 410 MB | GPL |", 9, "GPL"),
        ("build time of Tantivy", "| Tantivy | 12 s | 0.7 ms | 180 MB | MIT |", 7, "12 s"),
        (
            "what is the phone number of the electrician",
            "Tomas Lindqvist,electrician,0171 555 0178,Bern",
            3,
            "0171 555 0178",
        ),
        ("temperature of Station 087", "| Station 087 | 69 °C | 31 % | west |", 93, "69 °C"),
        ("when does IC 218 depart", "| IC 218 | 15:12 | 18:07 | 3 |", 9, "15:12"),
        (
            "where is the office of the architect",
            "Mira Petrova,architect,0171 555 0190,Thun",
            4,
            "Thun",
        ),
    ],
)
def test_the_row_that_is_meant_answers_alone(
    library: InstalledKebab, question: str, row: str, line: int, cell: str | None
) -> None:
    found = quotes(library, question)

    assert [one["quote"] for one in found] == [row]
    place = found[0]["citation"]
    assert place["start"] <= line <= place["end"]
    assert found[0].get("span") == cell


@pytest.mark.model
def test_words_that_tell_nothing_do_not_make_a_row_the_one_that_is_meant(
    library: InstalledKebab,
) -> None:
    found = quotes(library, "what is the default of search.default_k")

    assert "| `default_k` | `10` | How many hits. |" in found[0]["quote"]


@pytest.mark.model
def test_rows_that_are_meant_alike_answer_together(library: InstalledKebab) -> None:
    found = quotes(library, "which trains leave from platform 3")

    said = "\n".join(one["quote"] for one in found)
    assert "IC 214" in said
    assert "IC 218" in said
    assert "RE 88" not in said


@pytest.mark.model
@pytest.mark.parametrize(
    "question",
    ["what is the licence of Lucene", "when does IC 999 depart", "build time of Xyzzy7"],
)
def test_a_row_for_something_else_is_no_answer(library: InstalledKebab, question: str) -> None:
    refused = json.loads(library.run("ask", question, "--json", code=1).stdout)

    assert refused["refusal_reason"] is not None
