"""An answer stands on its evidence, word for word where it matters, or it does not stand."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ask.checking import FAULTS, Checked, check, settled
from kb_app._ask.facts import read
from kb_app._ask.packing import Item, pack
from kb_app._ask.statements import quotes_in, statements
from kb_core.ports import StoredChunk
from kb_core.testing.documents import Corpus, stored_chunk

NAMES = count()
HARBOUR = (
    "The harbour of Ostholm was dredged in 1904 by the engineer Ada Lindqvist. "
    "She did not ask the council for money. It is 12.5 metres deep, and 1,200 ships call there "
    "every year. The lighthouse was built by Per Nyberg in May 1911."
)


def items(*texts: str, lang: str = "en", **fields: object) -> list[Item]:
    """Return each text as one item of evidence, numbered from 1."""
    chunks: list[StoredChunk] = []
    for text in texts:
        doc = Corpus().document(f"{next(NAMES)}.md", text, lang=lang, **fields)
        chunks.append(stored_chunk(doc.chunks[0], doc, chunk_key=next(NAMES)))
    return list(pack(chunks, 1_000_000, len).items)


def faults_of(answer: str, *evidence: str, lang: str = "en") -> list[str]:
    """Return what is wrong with an answer from *evidence*, or from the harbour."""
    found = check(answer, items(*(evidence or (HARBOUR,)), lang=lang))
    return [kind for each in found.judged for kind, _ in each.faults]


@pytest.mark.parametrize(
    "answer",
    [
        "The harbour of Ostholm was dredged in 1904 by the engineer Ada Lindqvist [1].",
        "The harbour was dredged by Ada Lindqvist, an engineer, in 1904 [1].",
        "In 1904 Ada Lindqvist dredged the harbour. [1]",
        "Ada Lindqvist did not ask the council for money [1].",
        "It is 12.5 m deep [1].",
        "1200 ships call there every year [1].",
        "Per Nyberg built the lighthouse (May 1911)[1].",
        "Ostholm's harbour was dredged in 1904, and its lighthouse was built in May 1911 [1].",
    ],
)
def test_what_the_evidence_says_in_other_words_stands(answer: str) -> None:
    assert faults_of(answer) == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("The harbour of Ostholm was dredged in 1940 by the engineer Ada Lindqvist [1].", "figure"),
        ("The harbour of Ostholm was dredged in 1911 by the engineer Ada Lindqvist [1].", "figure"),
        ("The harbour of Ostholm was dredged in 1904 by the engineer Per Nyberg [1].", "name"),
        ("The harbour of Ostholm was dredged in 1904 by the engineer Eva Ekman [1].", "name"),
        ("The harbour of Ostholm was not dredged in 1904 by Ada Lindqvist [1].", "denial"),
        ("Ada Lindqvist asked the council for money [1].", "denial"),
        ("It is 12.5 feet deep [1].", "figure"),
        ("It is 125 metres deep [1].", "figure"),
        ("The lighthouse was built by Per Nyberg in March 1911 [1].", "figure"),
        ("The fishing fleet was famous for its herring and its songs [1].", "words"),
    ],
)
def test_what_the_evidence_does_not_say_falls(answer: str, kind: str) -> None:
    assert kind in faults_of(answer)


EVIDENCE = {
    "de": (
        "Der Hafen von Ostholm wurde 1904 von Ada Lindqvist ausgebaggert. "
        "Die Stadt hat 3,5 Millionen Euro bezahlt."
    ),
    "es": (
        "El puerto de Ostholm fue dragado en 1904 por Ada Lindqvist. "
        "La ciudad pagó 3,5 millones de euros."
    ),
    "zh": "奥斯特霍姆港于1904年由林德奎斯特疏浚。这座城市支付了350万欧元。",
    "ja": "オストホルム港は1904年にリンドクヴィストによって浚渫された。市は350万ユーロを支払った。",
    "ko": "오스트홀름 항구는 1904년에 린드크비스트가 준설하였다. 시는 350만 유로를 지불하였다.",
}
SAID = {
    "de": (
        "1904 wurde der Hafen von Ostholm von Ada Lindqvist ausgebaggert [1].",
        "1940 wurde der Hafen von Ostholm von Ada Lindqvist ausgebaggert [1].",
        "1904 wurde der Hafen von Ostholm von Eva Ekman ausgebaggert [1].",
        "1904 wurde der Hafen von Ostholm von Ada Lindqvist nicht ausgebaggert [1].",
        "Die Stadt hat 3,5 Millionen Dollar bezahlt und 3.600 Euro geliehen [1].",
    ),
    "es": (
        "En 1904 el puerto de Ostholm fue dragado por Ada Lindqvist [1].",
        "En 1940 el puerto de Ostholm fue dragado por Ada Lindqvist [1].",
        "En 1904 el puerto de Ostholm fue dragado por Eva Ekman [1].",
        "En 1904 el puerto de Ostholm no fue dragado por Ada Lindqvist [1].",
        "La ciudad pagó 4,5 millones de euros [1].",
    ),
    "zh": (
        "奥斯特霍姆港在1904年由林德奎斯特疏浚[1]。",
        "奥斯特霍姆港在1940年由林德奎斯特疏浚[1]。",
        "奥斯特霍姆港在1904年由埃克曼疏浚[1]。",
        "奥斯特霍姆港不是1904年由林德奎斯特疏浚[1]。",
        "这座城市支付了450万欧元[1]。",
    ),
    "ja": (
        "1904年、オストホルム港はリンドクヴィストによって浚渫されました[1]。",
        "1940年、オストホルム港はリンドクヴィストによって浚渫されました[1]。",
        "1904年、オストホルム港はエクマンによって浚渫されました[1]。",
        "1904年、オストホルム港はリンドクヴィストによって浚渫されなかった[1]。",
        "市は450万ユーロを支払いました[1]。",
    ),
    "ko": (
        "1904년에 린드크비스트가 오스트홀름 항구를 준설했습니다 [1].",
        "1940년에 린드크비스트가 오스트홀름 항구를 준설했습니다 [1].",
        "1904년에 에크만이 오스트홀름 항구를 준설했습니다 [1].",
        "1904년에 린드크비스트가 오스트홀름 항구를 준설하지 않았다 [1].",
        "시는 450만 유로를 지불했습니다 [1].",
    ),
}


@pytest.mark.parametrize("lang", EVIDENCE)
def test_figures_names_and_denials_are_compared_in_every_language(lang: str) -> None:
    right, *wrong = SAID[lang]

    assert faults_of(right, EVIDENCE[lang], lang=lang) == []
    for answer in wrong:
        assert faults_of(answer, EVIDENCE[lang], lang=lang), answer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200 ships", "1200 ships"),
        ("1.200 Schiffe", "1 200".replace(" ", "") + " Schiffe"),
        ("3.5 km", "3,5 kilometres"),
        ("12 %", "12 percent"),
        ("three ships", "3 ships"),
        ("in May 1911", "1911, May"),
        ("5月", "5월"),
        ("７月３日", "7月3日"),
    ],
)
def test_a_figure_is_one_value_however_it_is_written(one: str, other: str) -> None:
    assert read(one).figures == read(other).figures != frozenset()


def test_a_month_that_is_a_word_is_one_beside_a_number_alone() -> None:
    assert ("m5", "") in read("on 3 May").figures
    assert read("it may be, and they march").figures == frozenset()


def test_a_marker_that_names_nothing_is_a_fault() -> None:
    assert faults_of("Per Nyberg built the lighthouse [7].") == ["unknown_marker"]
    assert faults_of("Per Nyberg built the lighthouse [1][7].") == ["unknown_marker"]


def test_what_cites_nothing_gets_the_number_of_what_supports_it_or_falls() -> None:
    evidence = items("Ostholm lies on the coast of the northern sea.", HARBOUR)

    checked = check("*Per Nyberg* built the **lighthouse.** It is red. Is it?", evidence)

    assert [each.added for each in checked.judged] == [(2,), (), ()]
    assert [kind for each in checked.judged for kind, _ in each.faults] == ["uncited"]
    assert settled(checked, "auto") == "*Per Nyberg* built the **lighthouse [2].**"
    assert settled(check("Nyberg built it.", []), "auto") is None


def test_evidence_that_is_not_cited_does_not_count() -> None:
    harbour, other = HARBOUR, "Ostholm lies on the coast of the northern sea."

    assert "words" in faults_of("The lighthouse was built by Per Nyberg [2].", harbour, other)
    assert not faults_of("The lighthouse was built by Per Nyberg [1].", harbour, other)


@pytest.mark.parametrize(
    "quote",
    ['"did not ask the council"', "“did  not\nask the council”", "„dredged in 1904 by … Ada“"],
)
def test_a_quotation_stands_where_it_is_verbatim_white_space_aside(quote: str) -> None:
    kinds = faults_of(f"Ada Lindqvist {quote} [1].")

    assert "quote" not in kinds


def test_a_quotation_of_other_words_falls_even_where_their_sense_is_the_same() -> None:
    assert "quote" in faults_of('Ada Lindqvist "never asked the council for money" [1].')


def test_a_quotation_of_what_was_defused_stands() -> None:
    assert "quote" not in faults_of('It says "a[0] is <|x|>" [1].', "It says a[0] is <|x|> here.")
    assert "quote" not in faults_of('It says "a[ 0] is < |x|>" [1].', "It says a[0] is <|x|> here.")


def test_code_stands_line_by_line() -> None:
    evidence = "Run this:\n```\nkebab init\nkebab ingest\n```"
    good = "Run this [1]:\n\n```sh\nkebab ingest\n```\n"

    assert faults_of(good, evidence) == []
    assert faults_of(good.replace("ingest", "reset --all"), evidence) == ["quote"]


def test_a_pronoun_takes_its_name_from_the_sentence_before() -> None:
    assert faults_of("Ada Lindqvist did not ask the council for money [1].") == []
    assert "name" in faults_of("Per Nyberg did not ask the council for money [1].")


def test_title_and_headings_say_what_all_is_about() -> None:
    evidence = items("It was dredged twice.", title="Ostholm Harbour")

    assert check("Ostholm Harbour was dredged twice [1].", evidence).passed


def test_a_model_may_vouch_for_words_but_for_no_figure() -> None:
    asked: list[str] = []

    def near(statement: str, sentences: object) -> bool:
        asked.append(statement)
        return True

    def vouched(answer: str) -> bool:
        return check(answer, items(HARBOUR), near=near).passed

    assert vouched("That tower came from the hands of Per Nyberg [1].")
    assert not vouched("That tower came from the hands of Per Nyberg in 1912 [1].")
    assert not vouched("That tower came from the hands of Eva Ekman [1].")
    assert asked


def test_each_marker_leads_to_the_sentence_that_says_it() -> None:
    evidence = items(HARBOUR, "Per Nyberg came from Uppsala. He was a mason.")

    (judged,) = check("Per Nyberg built the lighthouse [1][2].", evidence).judged

    assert [support.item for support in judged.support] == [1, 2]
    shown = [support.chunk["text"][support.start : support.end] for support in judged.support]
    assert shown == [
        "The lighthouse was built by Per Nyberg in May 1911.",
        "Per Nyberg came from Uppsala.",
    ]


ANSWER = """\
# Harbour

The harbour of Ostholm was dredged in 1904 [1]. It was blown up in 1999 [1].

Of the lighthouse:

- It was built by Per Nyberg [1].
- It was painted red by Eva Ekman [1].

About the fleet:

- It sailed to the moon [1].
"""


def test_what_is_not_supported_is_taken_out_with_what_led_into_it() -> None:
    checked = check(ANSWER, items(HARBOUR))

    assert not checked.passed
    assert checked.score == 2 / 5
    assert settled(checked, "auto") == (
        "# Harbour\n\nThe harbour of Ostholm was dredged in 1904 [1].\n\n"
        "Of the lighthouse:\n\n- It was built by Per Nyberg [1]."
    )


def test_the_setting_says_whether_to_take_out_or_to_refuse() -> None:
    good, mixed = "It is 12.5 metres deep [1].", "It is 12.5 metres deep [1]. It is red [1]."
    bad, uncited = "It is 13 metres deep [1].", "It is 12.5 metres deep [1]. It is red."

    def given_by(verify: bool | str) -> list[str | None]:
        return [
            settled(check(answer, items(HARBOUR)), verify)  # type: ignore[arg-type]
            for answer in (good, mixed, bad, uncited)
        ]

    assert given_by("auto") == [good, good, None, good]
    assert given_by(verify=True) == [good, None, None, None]
    assert given_by(verify=False)[:3] == [good, mixed, bad]


def test_markers_are_read_wherever_models_put_them() -> None:
    text = "One is so [1]. Two is so.[2] Three is so. [1, 3] Four [2–4] is so, `a[0]`."

    assert [each.cites for each in statements(text)] == [(1,), (2,), (1, 3), (2, 3, 4)]
    assert [each.text for each in statements(text)] == [
        "One is so.",
        "Two is so.",
        "Three is so.",
        "Four is so, `a[0]`.",
    ]


def test_a_sentence_without_a_marker_goes_with_the_next_of_its_paragraph() -> None:
    first, second, third, alone = statements("One. Two [2]. Three.\n\nFour.")

    assert (first.cites, second.cites, third.cites, alone.cites) == ((2,), (2,), (2,), ())
    assert [each.is_marked for each in (first, second, third)] == [False, True, False]


def test_quotations_of_every_style_are_found() -> None:
    text = 'He said "one two." and „drei vier“, «cinco seis», 「七八九」 and “a … b”.'

    assert quotes_in(text) == ["one two", "drei vier", "cinco seis", "七八九", "a", "b"]


PIECES = st.sampled_from(
    [
        "[1]",
        " [2]",
        ". ",
        "\n\n",
        "\n- ",
        "Ada ",
        "1904 ",
        "not ",
        '"',
        "```\n",
        "#",
        "港",
        "は。",
        "`",
    ]
)
ANSWERS = st.lists(PIECES | st.text(max_size=6), max_size=15).map("".join)
SHELF = items(HARBOUR, EVIDENCE["ja"])


@settings(max_examples=60)
@given(ANSWERS)
def test_every_text_can_be_checked_and_what_is_left_of_it_was_there(text: str) -> None:
    checked: Checked = check(text, SHELF)

    ends = [(each.statement.start, each.statement.end) for each in checked.judged]
    assert all(start < end for start, end in ends)
    assert ends == sorted(ends)
    kept = checked.only(FAULTS)
    for each in checked.judged:
        kept = kept.replace("".join(f" [{number}]" for number in each.added), "")
    rest = iter(text)
    assert all(letter in rest for letter in kept)  # in order
    assert checked.passed <= (checked.only(FAULTS) != "" or not text.strip())


@given(
    st.sampled_from([*HARBOUR.split(". "), *EVIDENCE["ja"].split("。")]), st.sampled_from([1, 2])
)
def test_every_sentence_of_the_evidence_stands_verbatim(sentence: str, number: int) -> None:
    plain = sentence.strip(".。 ")
    if not plain or (plain in HARBOUR) != (number == 1):
        return

    assert check(f"{plain} [{number}].", SHELF).passed, plain
