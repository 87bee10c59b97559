"""Promises about words: what finds what, and what ranks above what."""

from __future__ import annotations

from kb_core.filters import Glob
from kb_core.search import FULL_MATCH_WORDS, Clause, KnownWords, Sampling
from kb_core.testing._contract import Contract, query

__all__ = ["LexicalContract"]

_NASTY = (
    *('"', "(((", "AND OR NOT", "title:", "path:[* TO *]", "a^b~2", "\\", "+ - ! *", "\x00"),
    *("\ud800", "'; DROP TABLE chunks; --", "😀" * 50, "ﷺ", "a" * 40_000, "한" * 5_000),
    *("e\u0301" * 500, "/.*/", "{}[]", "\u202e\u200b", "&&||", "NEAR(a b)", "%s%n"),
)
_NEARLY = 1e-6


class LexicalContract(Contract):
    """``lexical``."""

    def test_words_find_the_chunks_that_hold_them(self) -> None:
        world = self.filled("the quick brown fox", "lazy dogs sleep", "a fox again")

        assert sorted(world.search("fox")) == ["0.md", "2.md"]
        assert world.search("sleep") == ["1.md"]
        assert world.search("elephant") == []

    def test_a_question_needs_only_some_of_its_words(self) -> None:
        world = self.filled("brown bread and butter", "brown paper", "something else")

        assert world.search("brown butter please") == ["0.md", "1.md"]

    def test_several_clauses_are_alternatives(self) -> None:
        world = self.filled("apples", "pears", "nuts")

        assert sorted(world.search(query("apples", "nuts"))) == ["0.md", "2.md"]

    def test_the_word_itself_ranks_above_its_relatives(self) -> None:
        world = self.filled("one connections here", "one connected here", "one connection here")

        assert world.search("connection")[0] == "2.md"

    def test_rare_words_count_more_than_common_ones(self) -> None:
        texts = [f"common filler {n}" for n in range(8)]
        world = self.filled("common filler word", "special filler word", *texts)

        assert world.search("common special")[0] == "1.md"

    def test_words_are_as_rare_as_in_all_that_an_index_is_a_part_of(self) -> None:
        """What was chosen by a word holds it more often than the rest does."""
        texts = [f"common filler {n}" for n in range(8)]
        world = self.filled("common filler word", "special filler word", *texts)
        snapshot, asked = world.snapshot(), query("common special")
        sampled = snapshot.sampled(Sampling(100.0, {"common": 1.0, "speci": 90.0}))

        special, *_ = snapshot.lexical(asked, None, 10)
        *_, last = sampled.lexical(asked, None, 10)

        assert last.chunk_key == special.chunk_key
        assert last.score > 0
        assert [*snapshot.lexical(asked, None, 1)] == [special]

    def test_a_match_in_a_shorter_chunk_ranks_higher(self) -> None:
        world = self.filled("needle " + "hay " * 200, "needle in hay")

        assert world.search("needle") == ["1.md", "0.md"]

    def test_equal_scores_go_by_chunk_key(self) -> None:
        world = self.world()
        for path in ("c.md", "a.md", "b.md"):
            world.write(path, "the same text", title="Same")

        found = world.snapshot().lexical(query("same text"), None, 10)

        assert len({scored.score for scored in found}) == 1
        keys = [scored.chunk_key for scored in found]
        assert keys == sorted(keys)

    def test_scores_are_positive_and_fall(self) -> None:
        world = self.filled(*("word " * n + "filler" for n in range(1, 7)))

        scores = [s.score for s in world.snapshot().lexical(query("word"), None, 10)]

        assert min(scores) > 0
        assert scores == sorted(scores, reverse=True)

    def test_the_limit_cuts_the_same_list(self) -> None:
        world = self.filled(*(f"word {'filler ' * n}" for n in range(9)))
        snapshot = world.snapshot()

        whole = list(snapshot.lexical(query("word"), None, 100))

        assert len(whole) == 9
        for limit in (1, 2, 5, 9):
            assert list(snapshot.lexical(query("word"), None, limit)) == whole[:limit]

    def test_case_and_diacritics_fold(self) -> None:
        world = self.filled("Café Straße", "NAÏVE resume\u0301")

        for text in ("cafe", "CAFÉ", "cafe\u0301", "Café"):
            assert world.search(text) == ["0.md"], text
        for text in ("naive", "Naïve", "résumé", "RESUME"):
            assert world.search(text) == ["1.md"], text

    def test_a_short_korean_word_is_found_inside_a_longer_one(self) -> None:
        world = self.filled("한국어형태소분석기는 어렵다", "검색엔진을 만든다", "전혀 다른 글")

        assert world.search("분석") == ["0.md"]
        assert world.search("형태소") == ["0.md"]
        assert world.search("검색") == ["1.md"]
        assert world.search("번역") == []

    def test_chinese_and_japanese_words_are_found_without_spaces(self) -> None:
        world = self.filled("向量数据库的检索方法", "日本語の全文検索エンジン")

        assert world.search("检索") == ["0.md"]
        assert world.search("エンジン") == ["1.md"]

    def test_part_of_an_english_word_finds_nothing(self) -> None:
        world = self.filled("concatenate the strings")

        assert world.search("cat") == []
        assert world.search("ring") == []

    def test_mixed_scripts_are_found_by_either(self) -> None:
        world = self.filled("tantivy로 한국어검색을 한다", "nothing of the kind")

        assert world.search("tantivy") == ["0.md"]
        assert world.search("검색") == ["0.md"]

    def test_words_around_a_chunk_find_it_too(self) -> None:
        world = self.world()
        world.write("guide/setup.md", "# Installation\n\nplain text", title="Handbook")
        world.write("other.md", "unrelated")

        for word in ("installation", "handbook", "setup"):
            assert set(world.search(word)) == {"guide/setup.md"}, word

    def test_a_phrase_wants_its_words_side_by_side(self) -> None:
        world = self.filled(
            "new york is large", "york was new once", "new in york", "new, york's rival: new york"
        )

        for kind in ("should", "must"):
            wanted = query(Clause("new york", phrase=True, kind=kind))
            assert sorted(world.search(wanted)) == ["0.md", "3.md"], kind

    def test_a_korean_phrase_wants_its_letters_side_by_side(self) -> None:
        world = self.filled("형태소분석", "분석형태소")

        assert world.search(query(Clause("형태소분석", phrase=True, kind="must"))) == ["0.md"]

    def test_what_must_match_must(self) -> None:
        world = self.filled("red apples", "green apples", "red paint")

        found = world.search(query("red", Clause("apples", kind="must")))

        assert found == ["0.md", "1.md"]

    def test_every_word_that_must_match_must(self) -> None:
        world = self.filled("red apples", "green apples", "red paint")

        assert world.search(query(Clause("red apples", kind="must"))) == ["0.md"]

    def test_what_nothing_can_meet_only_ranks(self) -> None:
        world = self.filled("red apples", "green apples", "blue paint")

        for impossible in (
            Clause("red green", kind="must"),
            Clause("apples red", phrase=True, kind="must"),
            Clause("apples zebra", kind="must"),
        ):
            assert set(world.search(query(impossible))) >= {"0.md", "1.md"}, impossible
            both = query(impossible, Clause("green", kind="must"))
            assert world.search(both)[0] == "1.md"
            assert "2.md" not in world.search(both)

    def test_requirements_that_exclude_each_other_yield_to_the_first(self) -> None:
        world = self.filled("red apples", "green pears", "blue pears")

        found = world.search(query(Clause("pears", kind="must"), Clause("red", kind="must")))

        assert sorted(found) == ["1.md", "2.md"]

    def test_a_filter_never_relaxes_what_is_required(self) -> None:
        world = self.filled("red apples", "green apples", "red paint", "dry wood")
        snapshot = world.snapshot()

        for wanted in (
            query(Clause("red apples", kind="must")),
            query(Clause("red apples", phrase=True, kind="must"), "paint"),
        ):
            assert world.search(wanted) == ["0.md"]
            assert world.search(wanted, Glob("2.md")) == []
            assert snapshot.relaxation(wanted) is None

    def test_a_relaxation_says_what_was_let_go(self) -> None:
        snapshot = self.filled("red apples", "green apples", "red paint", "dry wood").snapshot()
        impossible = Clause("apples red", phrase=True, kind="must")

        found = snapshot.relaxation(query(Clause("red", kind="must"), impossible, "zebra"))

        assert found is not None
        assert found.asked == ("red", '"apples red"')
        assert found.required == ("red",)
        assert found.let_go == ('"apples red"',)
        assert found.unknown == ("zebra",)
        assert found.common == ()

    def test_words_that_most_chunks_hold_are_reported_as_common(self) -> None:
        snapshot = self.filled("the cat", "the dog", "the cow", "a pig").snapshot()

        found = snapshot.relaxation(query("the cow"))

        assert found is not None
        assert found.common == ("the",)

    def test_a_query_taken_as_it_is_has_no_relaxation(self) -> None:
        snapshot = self.filled("red apples", "green pears", "dry wood").snapshot()

        for wanted in (
            query("red pears"),
            query(),
            query("!?"),
            query(Clause("red apples", phrase=True, kind="must")),
        ):
            assert snapshot.relaxation(wanted) is None, wanted

    def test_a_full_match_is_about_what_a_chunk_with_all_words_scores(self) -> None:
        filler = [f"filler text{n} here" for n in range(12)]
        snapshot = self.filled("green apples grow", "green pears grow", *filler).snapshot()
        wanted = query("green apples grow")

        best, half = snapshot.lexical(wanted, None, 2)

        full = snapshot.known_words(wanted).full_match
        assert 0.7 * full <= best.score <= 1.5 * full
        assert half.score < 0.7 * full

    def test_words_that_no_chunk_holds_are_not_known(self) -> None:
        """To a full match they belong as if a single chunk held them."""
        snapshot = self.filled("red apples", "red pears", "red plums", "dry wood").snapshot()

        red, wood, zebras = (
            snapshot.known_words(query(text)) for text in ("red", "red wood", "red zebras")
        )

        assert (red.share, wood.share, zebras.share) == (1, 1, 0.5)
        assert 0 < red.full_match < zebras.full_match - red.full_match
        assert abs(zebras.full_match - wood.full_match) < _NEARLY

    def test_a_word_tells_the_more_the_fewer_chunks_hold_it(self) -> None:
        snapshot = self.filled("red apples", "red pears", "red plums", "dry wood").snapshot()

        known = snapshot.known_words(query("red wood zebras"))

        weights = {form: word.weight for word in known.words for form in word.forms}
        assert 0 < weights["red"] < weights["wood"]
        assert abs(sum(word.weight for word in known.words) - known.full_match) < _NEARLY

    def test_words_around_a_chunk_are_known(self) -> None:
        world = self.world()
        world.write("guide/setup.md", "# Installation\n\nplain text", title="Handbook")

        for word in ("installation", "handbook", "setup", "plain"):
            assert world.snapshot().known_words(query(word)).share == 1, word

    def test_a_full_match_of_a_long_question_is_one_of_its_most_telling_words(self) -> None:
        texts = [f"common text{n}" for n in range(2 * FULL_MATCH_WORDS)]
        snapshot = self.filled(*texts).snapshot()
        words = [f"text{n}" for n in range(2 * FULL_MATCH_WORDS)]
        half = FULL_MATCH_WORDS // 2

        few, enough, all_of_it = (
            snapshot.known_words(query(" ".join(asked))).full_match
            for asked in (words[:half], words[:FULL_MATCH_WORDS], ["common", *words])
        )

        assert few < enough
        assert abs(all_of_it - enough) < _NEARLY

    def test_letters_without_spaces_are_known_by_any_of_their_pairs(self) -> None:
        """Most pairs of a run reach from one word into the next, and stand nowhere else."""
        snapshot = self.filled("형태소분석기", "검색엔진을", "전혀 다른 글").snapshot()

        short, long, partly, none = (
            snapshot.known_words(query(text))
            for text in ("형태", "형태소분석기", "형태론", "번역 형태")
        )

        assert (short.share, long.share, partly.share, none.share) == (1, 1, 1, 0.5)
        assert 0 < short.full_match < long.full_match

    def test_a_query_without_words_lacks_none(self) -> None:
        snapshot = self.filled("red apples").snapshot()

        for nothing in (query(), query("!?"), query(Clause("apples", kind="must_not"))):
            assert snapshot.known_words(nothing) == KnownWords(share=1, full_match=0), nothing

    def test_a_word_that_is_its_own_stem_ranks_above_its_relatives(self) -> None:
        world = self.filled("they connect here", "they connected here", "they connecting here")

        assert world.search("connect")[0] == "0.md"

    def test_what_was_deleted_does_not_rank(self) -> None:
        """A word that thirty notes held, and one holds now, is a rare word again."""
        texts = {
            **{f"bread{n}.md": f"bread of kind {n}" for n in range(5)},
            **{f"other{n}.md": f"nothing of that, number {n}" for n in range(14)},
            "x.md": "alpha stands here",
        }
        world = self.world()
        gone = [world.corpus.document(f"gone{n}.md", f"alpha again {n}") for n in range(30)]
        world.put(*gone, *(world.corpus.document(path, text) for path, text in texts.items()))
        world.put(removed=[doc.path for doc in gone])

        assert world.search("alpha bread")[0] == "x.md"
        assert world.snapshot().drift() < 1e-6
        relaxed = world.snapshot().relaxation(query("alpha bread"))
        assert relaxed is None or "alpha" not in relaxed.common

    def test_a_required_phrase_still_ranks_by_the_other_words(self) -> None:
        world = self.filled("new york is old", "new york has a museum", "a museum in york")

        found = world.search(query(Clause("new york", phrase=True, kind="must"), "museum"))

        assert found == ["1.md", "0.md"]

    def test_the_limit_cuts_the_same_list_of_a_query_with_phrases(self) -> None:
        world = self.filled(*(f"old {'new ' * (n % 3)} york {'filler ' * n}" for n in range(9)))
        wanted = query("old new york", Clause("new york", phrase=True))
        snapshot = world.snapshot()

        whole = list(snapshot.lexical(wanted, None, 100))

        for limit in range(1, 10):
            assert list(snapshot.lexical(wanted, None, limit)) == whole[:limit]

    def test_what_must_not_match_does_not(self) -> None:
        world = self.filled("red apples", "green apples", "green apples in red boxes")

        assert world.search(query("apples", Clause("red", kind="must_not"))) == ["1.md"]
        phrase = Clause("green apples", phrase=True, kind="must_not")
        assert world.search(query("apples", phrase)) == ["0.md"]

    def test_a_query_without_words_finds_nothing(self) -> None:
        world = self.filled("text")

        for nothing in (query(), query(""), query(" \n\t"), query("!?, -- …"), query("", "…")):
            assert world.search(nothing) == [], nothing

    def test_no_text_can_break_a_query(self) -> None:
        world = self.filled("text with words", "other words")
        snapshot = world.snapshot()

        for text in _NASTY:
            for phrase in (False, True):
                clause = Clause(text, phrase=phrase)
                assert len(snapshot.lexical(query(clause, "words"), None, 10)) == 2, text
            required = query(Clause(text, phrase=True, kind="must"), Clause(text, kind="must"))
            snapshot.lexical(required, None, 10)
            snapshot.relaxation(required)
            assert 0 <= snapshot.known_words(required).share <= 1

    def test_any_text_can_be_indexed(self) -> None:
        world = self.world()
        texts = [text for text in _NASTY if text != "\ud800"]  # decoding leaves none of these
        docs = [world.corpus.document(f"{n}.txt", f"word {t}") for n, t in enumerate(texts)]

        world.put(*docs)

        assert len(world.search("word")) == len(docs)
