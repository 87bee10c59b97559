"""Analysis: which words find which texts. All four kinds of query must work at once."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kb_core.records import ChunkRecord
from kb_core.testing.documents import document
from kb_search import analysis
from kb_search.analysis import analyze, fold, query_terms, spelled_otherwise
from kb_search.asking import asked_in, asking_words
from kb_search.schema import lengths_of, scored_texts


def finds(query: str, text: str, lang: str = "en") -> bool:
    """Say whether any term of *query* stands in a stream of *text*."""
    streams = analyze(text, lang)
    exact, stem = set(streams.exact.split()), set(streams.stem.split())
    ident, cjk = set(streams.ident.split()), set(streams.cjk.split())
    for term in query_terms(query, ("en", "de")):
        if term.kind == "cjk":
            hit = cjk.issuperset(term.forms)
        else:
            hit = term.exact in exact | ident or not stem.isdisjoint(term.stems)
        if hit:
            return True
    return False


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("parsing", "it parses dates"),
        ("PARSES", "parsing"),
        ("cafe", "Café au lait"),
        ("café", "cafe"),
        ("strasse", "Straße"),
        ("Häuser", "das Haus am Markt"),
        ("request", "def parseHTTPRequest(raw):"),
        ("http", "def parseHTTPRequest(raw):"),
        ("parseHTTPRequest", "the parse_http_request function"),
        ("parse_http_request", "calls parseHTTPRequest"),
        ("snake_case", "a snake_case name"),
        ("os.path.join", "use os.path.join here"),
        ("DEC-0054", "see DEC-0054."),
        ("dec 0054", "see DEC-0054."),
        ("c++", "modern C++ code"),
        ("C#", "in C# and F#"),
        ("don't", "we dont know"),
        ("parser", "the parser's output"),
        ("v1.2.3", "released as v1.2.3"),
        ("한국", "한국어는 어렵다"),
        ("헌법", "대한민국헌법은"),
        ("テスト", "日本語テストです"),
        ("数据库", "关系数据库管理系统"),
        ("ﬁle", "a file"),
        ("ｆｕｌｌ", "full width"),
        ("colour", "a color of its own"),
        ("behaviors", "how it behaves: its behaviour"),
        ("normalise", "scores are normalized"),
        ("normalization", "normalisation of scores"),
        ("analyser", "an analyzer"),
        ("centre", "the center"),
        ("centred", "a centered line"),
        ("catalog", "catalogues"),
        ("cancelled", "a canceled call"),
        ("modeling", "modelling"),
        ("licence", "license"),
        ("grey", "gray"),
        ("judgment", "judgement"),
    ],
)
def test_17_a_word_finds_its_other_forms(query: str, text: str) -> None:
    lang = "de" if "Haus" in text else "en"

    assert finds(query, text, lang)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("art", "cartoon"),
        ("한국", "한 국가"),
        ("cat", "concatenate"),
        ("filled", "it was filed"),
        ("four", "for"),
        ("size", "sise"),
    ],
)
def test_17_a_word_does_not_find_what_only_looks_alike(query: str, text: str) -> None:
    assert not finds(query, text)


@given(st.text())
def test_20_normal_forms_are_one(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)

    assert analyze(composed) == analyze(decomposed)


@given(st.text())
def test_no_text_raises_and_no_term_is_too_long(text: str) -> None:
    streams = analyze(text * 3)

    for stream in (streams.exact, streams.stem, streams.ident, streams.cjk):
        assert all(0 < len(term.encode()) <= 255 for term in stream.split(" ") if stream)
    for term in query_terms(text, ("en",)):
        assert term.exact


@given(st.text(alphabet="abcdefgh ", min_size=1))
def test_a_plain_text_finds_itself(text: str) -> None:
    words = text.split()

    assert analyze(text).exact.split() == [fold(word) for word in words]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("العربية", "في العَرَبِيَّة، نعم"),
        ("العَرَبِيَّة", "العربية"),
        ("عربية", "عـــربية"),
        ("שלום", "שָׁלוֹם עולם"),
        ("ज़रूर", "जरूर"),
        ("हिंदी", "हिन्दी"),
        ("सम्पादक", "संपादक"),
        ("गांव", "गाँव"),
        ("3500", "किराया ३५०० रुपये"),
        ("۱۴۰۳", "سال 1403"),
        ("٢٠٢٦", "2026"),
        ("کتابی", "كتابي"),
        ("على", "علي"),
        ("القاهره", "القاهرة"),
        ("کتاب", "کتاب\u200cهای"),
        ("کتابهای", "کتاب\u200cهای"),
        ("ಸಾಫ್ಟ್ವೇರ್", "ಸಾಫ್ಟ್\u200cವೇರ್"),
        ("ہماری", "هماري"),
        ("ılgın", "Ilgın"),
        ("isik", "ışık"),
        ("lodz", "Łódź"),
        ("Oresund", "Øresund"),
        ("coeur", "le cœur"),
        ("Silbentrennung", "Silben\u00adtrennung"),
        ("avion", "l'avion"),
        ("œuvre", "le cœur de l’œuvre."),
        ("l'avion", "un avion"),
        ("loreal", "chez L'Oréal"),
        ("arte", "dell'arte"),
        ("école", "QU’ÉCOLE"),
    ],
)
def test_what_may_be_left_out_in_writing_is_found_without_and_with_it(
    query: str, text: str
) -> None:
    streams = analyze(text)
    held = {*streams.exact.split(), *streams.ident.split()}

    assert {each.exact for each in query_terms(query, ("en",)) if each.kind != "whole"} <= held


@pytest.mark.parametrize(
    "text",
    [
        "पुस्तकालय में किताबें",
        "বাংলা ভাষায় বইগুলো",
        "ਪੰਜਾਬੀ ਵਿੱਚ ਕਿਤਾਬਾਂ",
        "ગુજરાતીમાં પુસ્તકો",
        "ଓଡ଼ିଆ ଭାଷା",
        "தமிழ் புத்தகங்கள்",
        "తెలుగు పుస్తకాలు",
        "ಕನ್ನಡ ಪುಸ್ತಕಗಳು",
        "മലയാളം പുസ്തകങ്ങൾ",
        "සිංහල පොත්",
        "ދިވެހި ފޮތް",
        "ꦗꦮ ꦧꦱ",
    ],
)
def test_vowels_that_stand_as_signs_tear_no_word(text: str) -> None:
    words = [fold(word) for word in text.split()]

    assert analyze(f"({text}।)").exact.split() == words
    assert [term.exact for term in query_terms(f"{text}?", ("en",))] == words
    assert not any(term.has_parts for term in query_terms(text, ("en",)))


def test_names_of_two_words_in_scripts_with_signs_are_whole_and_parts() -> None:
    kinds = {term.exact: term.kind for term in query_terms("गाँव-शहर", ("en",))}

    assert kinds["गांव-शहर"] == "whole"
    assert kinds["गांव"] == kinds["शहर"] == "word"
    assert analyze("हिंदी2").ident.split() == ["हिंदी", "2"]


@pytest.mark.parametrize(
    ("lang", "forms"),
    [
        ("hi", "किताब किताबें किताबों"),
        ("hi", "लड़की लड़कियाँ"),
        ("hi", "बोलना बोलेंगे"),
        ("bn", "বই বইয়ের বইগুলো বইগুলোতে"),
        ("bn", "ভাষা ভাষায় ভাষার ভাষাগুলো"),
        ("bn", "ডাক্তার ডাক্তারের ডাক্তারকে ডাক্তারদের"),
        ("bn", "শহর শহরে শহরের"),
        ("mr", "घर घरात घरांमध्ये घराला घरातील"),
        ("mr", "मुंबई मुंबईत मुंबईला"),
        ("ne", "घर घरमा घरहरू घरहरूमा घरको"),
        ("gu", "ભાષા ભાષાઓ ભાષામાં ભાષાની"),
        ("te", "పుస్తకం పుస్తకాలు పుస్తకంలో పుస్తకాన్ని పుస్తకాలను"),
        ("kn", "ಪುಸ್ತಕ ಪುಸ್ತಕಗಳು ಪುಸ್ತಕದಲ್ಲಿ ಪುಸ್ತಕವನ್ನು ಪುಸ್ತಕಗಳನ್ನು"),
        ("ml", "പുസ്തകം പുസ്തകങ്ങൾ പുസ്തകങ്ങള്‍ പുസ്തകത്തിൽ പുസ്തകത്തിന്റെ"),
        ("ta", "புத்தகம் புத்தகங்கள் புத்தகங்களை"),
    ],
)
def test_endings_of_languages_of_india_do_not_matter(lang: str, forms: str) -> None:
    (asked, *others) = (query_terms(form, ("en", lang)) for form in forms.split())
    stems = set(analyze(forms, lang).stem.split())

    assert len(stems) == 1
    assert all(stems <= set(term.stems) for (term,) in (asked, *others))


@pytest.mark.parametrize(
    ("lang", "words"),
    [("hi", "ने की दो मां"), ("bn", "কে সে"), ("mr", "रात तो"), ("ne", "को मा"), ("te", "లో")],
)
def test_a_short_word_keeps_two_characters(lang: str, words: str) -> None:
    assert analyze(words, lang).stem == words


@pytest.mark.parametrize(
    "text", ["don't", "O'Brien's", "aujourd'hui", "d'you", "it's", "n't", "l'"]
)
def test_an_apostrophe_within_a_word_parts_nothing(text: str) -> None:
    bare = text.replace("'s", "").replace("'", "").lower()

    assert bare in {*analyze(text).exact.split(), *analyze(text).ident.split()}


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("l'avion, l'avion", [("avion", 2), ("lavion", 2)]),
        ("l'une", [("une", 1)]),
        ("D'Angelo's", [("angelo", 1), ("dangelo", 1)]),
        ("don't", [("dont", 1)]),
    ],
)
def test_a_word_is_asked_for_with_its_article_where_it_may_be_a_name(
    query: str, terms: list[tuple[str, int]]
) -> None:
    assert [(term.exact, term.count) for term in query_terms(query, ("en",))] == terms


def test_query_terms_come_once_and_in_order() -> None:
    terms = query_terms("date parse date HTTPDate", ("en",))

    assert [term.exact for term in terms] == ["date", "parse", "httpdate", "http", "date"]
    assert len({(term.kind, term.exact) for term in terms}) == len(terms)


@given(st.text(), st.text(), st.text(), st.sampled_from([None, "f", "a.b, c", "operator  +\t="]))
def test_the_length_of_a_field_is_the_number_of_its_terms(
    text: str, title: str, heading: str, symbol: str | None
) -> None:
    doc = document("a b/c.md", text, title=title)
    doc = replace(doc, chunks=())
    chunk = ChunkRecord(
        chunk_id="0" * 32,
        ordinal=0,
        start=0,
        end=len(text),
        text=text,
        line_start=1,
        line_end=1,
        token_count=1,
        heading_path=(title, heading),
        context="",
        passage_hash="",
        symbol=symbol,
    )
    texts = scored_texts(chunk, doc, analyze(text))

    assert lengths_of(texts) == {field: len(text.split()) for field, text in texts.items()}


@pytest.mark.parametrize(
    ("media", "text", "held"),
    [
        ("code", "function sendTrailers (res) {}", {"send", "trailer"}),
        ("code", "res.getLastEntry(parseHTTP2Address)", {"last", "entri", "address"}),
        ("code", "class SessionPool: ...", set()),
        ("markdown", "Call sendTrailers.", set()),
    ],
)
def test_parts_of_camel_case_rank_in_code_as_those_of_snake_case_do(
    media: str, text: str, held: set[str]
) -> None:
    doc = document("a", text, media=media)

    stems = scored_texts(doc.chunks[0], doc, analyze(text))["stem"].split()

    assert {"session", "pool", "send", "trailer", "last", "entri", "address"} & {*stems} == held


@given(st.lists(st.text(max_size=20), max_size=5), st.sampled_from(["en", "de", "tr"]))
def test_a_text_is_analysed_as_what_stands_between_its_spaces(parts: list[str], lang: str) -> None:
    whole = analyze(" ".join(parts), lang)
    each = [analyze(part, lang) for part in parts]

    assert whole.exact.split() == [term for part in each for term in part.exact.split()]
    assert whole.stem.split() == [term for part in each for term in part.stem.split()]
    assert whole.cjk.split() == [term for part in each for term in part.cjk.split()]
    names = [name for part in each for name in part.ident.split()]
    assert sorted(whole.ident.split()) == sorted(names)


@given(st.lists(st.text(max_size=8), max_size=5), st.sampled_from('!"$%&()*,/;<=>?@[]^`{|}~\\\0\n'))
def test_a_sign_that_no_token_holds_parts_as_a_space_does(parts: list[str], sign: str) -> None:
    assert analyze(sign.join(parts)) == analyze(" ".join(parts))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("def f(x: int, y:str): ...", []),
        ("std::vector<int> v: a", ["std::vector"]),
        ("self.size_of(a['b'], -1) # c", ["self.size_of"]),
        ("x++; C++ and C# or F#.", ["x++", "c++", "c#", "f#"]),
        ("a#b # d", ["a#"]),
    ],
)
def test_code_keeps_its_compounds_whole(text: str, whole: list[str]) -> None:
    assert analyze(text).ident.split() == whole


@pytest.mark.parametrize("row", range(len(analysis._SPELLINGS)))
@given(data=st.data())
def test_a_word_that_is_spelled_otherwise_has_what_is_looked_for_first(
    row: int, data: st.DataObject
) -> None:
    """The pattern is tried only on words that have it in them."""
    needed, found, _ = analysis._SPELLINGS[row]
    ending = data.draw(st.from_regex(found.pattern.replace("(?<=...)", "").replace("(?<=..)", "")))
    word = data.draw(st.sampled_from(["", "org", "neighb"])) + ending

    assert found.search(word) is None or needed in word


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("organise", "organize"), ("analysed", "analyzed"), ("colours", "colors")),
        *(("centre", "center"), ("catalogue", "catalog"), ("cancelled", "canceled")),
        *(("defence", "defense"), ("grey", "gray"), ("artefact", "artifact")),
        *(("judgement", "judgment"), ("acknowledgements", "acknowledgments")),
    ],
)
def test_a_word_has_its_other_spelling(one: str, other: str) -> None:
    assert (spelled_otherwise(one), spelled_otherwise(other)) == (other, one)


@pytest.mark.parametrize(
    ("question", "only_asks"),
    [
        ("What is the default timeout?", "what is the"),
        ("How long may an open connection stay unused", "how long may an"),
        ("python how to get the name of an index", "how to the an"),
        ("In which file is the port decided", "which is the"),
        ("how do I set a timeout", "how do a"),
        ("Does curl follow redirects?", "does"),
        ("was ist der Standardwert für timeout", "was ist der"),
        ("¿Qué es el tiempo de espera?", "qué es el"),
        ("quelle est la valeur par défaut", "quelle est la"),
        ("where clause", ""),
        ("do while loop", ""),
        ("is null check", ""),
        ("what", ""),
        ("what is that?", ""),
        ("long running task", ""),
    ],
)
def test_words_that_only_ask_are_told_where_something_is_asked(
    question: str, only_asks: str
) -> None:
    assert asking_words(question) == {*only_asks.split()}
    asked = query_terms(question, ("en", "de"))
    assert {term.exact for term in asked if term.only_asks} == {*fold(only_asks).split()}


@pytest.mark.parametrize(
    ("question", "langs"),
    [
        ("what is the default", "en"),
        ("wie lange ist das Passwort gültig", "de"),
        ("où est la valeur par défaut", "fr"),
        ("how to turn on", "en fr"),
        ("paste_max_lines", ""),
        ("", ""),
        ("既定値は何ですか", "ja"),
        ("默认值", "zh ja"),
        ("기본값은 무엇입니까", "ko"),
    ],
)
def test_small_words_and_scripts_tell_the_languages_that_a_question_may_be_in(
    question: str, langs: str
) -> None:
    assert asked_in(question) == {*langs.split()}


_ASKED = [*("how", "what", "is", "the", "long", "to"), *("otter", "lock", "?", "ein", "was")]


@given(st.lists(st.sampled_from(_ASKED), max_size=9))
def test_some_word_of_a_query_does_more_than_ask(words: list[str]) -> None:
    text = " ".join(words)
    asked = query_terms(text, ("en",))

    assert not asked or not all(term.only_asks for term in asked)
