"""What every implementation of a port must do, written once.

A distribution that implements the index subclasses the contract and says how to open
one; pytest collects the promises from here::

    class TestTantivyIndex(IndexContract):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path: Path) -> None:
            self.folder = tmp_path

        def make_writer(self) -> IndexWriter:
            return open_writer(self.folder)

        def make_reader(self) -> IndexReader:
            return open_reader(self.folder)

Every test opens its own index or store, empty at first. Scores of different implementations are
never compared; only order, membership and the laws that bind them are.
"""

from __future__ import annotations

from datetime import UTC, datetime

from kb_core.clock import to_epoch
from kb_core.filters import FIELDS, And, Filter, Glob, Not, OneOf, Or, Range, Tagged, Words
from kb_core.testing._contract import (
    EMBEDDER,
    MODEL,
    Contract,
    PublishingContract,
    World,
    near,
    query,
)
from kb_core.testing._contract_enclosures import EnclosureContract
from kb_core.testing._contract_language import LanguageModelContract
from kb_core.testing._contract_lexical import LexicalContract
from kb_core.testing._contract_outbox import OutboxContract
from kb_core.testing._contract_records import RecordsContract, VectorContract
from kb_core.testing._contract_store import CommitContract
from kb_core.testing.documents import file_row

__all__ = ["FilterContract", "IndexContract", "LanguageModelContract", "StoreContract"]

_OLD = datetime(1969, 7, 20, tzinfo=UTC)
_MID = datetime(2020, 1, 1, tzinfo=UTC)
_NEW = datetime(2025, 6, 1, tzinfo=UTC)


class FilterContract(Contract):
    """``where`` in every method that takes one."""

    def test_every_field_can_be_filtered_by(self) -> None:
        world = self._library()
        essay = next(d for d in world.corpus.docs.values() if d.path == "essay.md")
        expected: dict[str, tuple[tuple[str | int, ...], list[str]]] = {
            "chunk_id": ((essay.chunks[0].chunk_id,), ["essay.md"]),
            "code_lang": (("python",), ["src/a.py"]),
            "doc_date": ((to_epoch(_OLD),), ["essay.md"]),
            "doc_id": ((essay.doc_id,), ["essay.md"]),
            "doc_key": ((essay.doc_key,), ["essay.md"]),
            "indexed_at": ((to_epoch(_NEW),), ["src/a.py"]),
            "lang": (("ko",), ["notes/한국.md"]),
            "media": (("code", "pdf"), ["src/a.py"]),
            "path": (("notes/한국.md", "nowhere"), ["notes/한국.md"]),
            "repo": (("kebab",), ["src/a.py"]),
            "source_id": (("papers",), ["essay.md"]),
            "source_type": (("paper",), ["essay.md"]),
            "tag": (("b", "z"), ["essay.md", "notes/한국.md"]),
            "trust": ((0,), ["notes/한국.md"]),
        }
        assert expected.keys() == FIELDS.keys()

        for field, (values, paths) in expected.items():
            assert _passing(world, OneOf(field, values)) == paths, field

    def test_the_language_of_code_is_the_empty_string(self) -> None:
        assert _passing(self._library(), OneOf("lang", ("",))) == ["src/a.py"]

    def test_values_are_compared_whole_and_as_they_are(self) -> None:
        world = self._library()

        for value in ("Python", "pyth", "python ", ""):
            assert _passing(world, OneOf("code_lang", (value,))) == [], value
        assert _passing(world, OneOf("tag", ())) == []

    def test_a_range_includes_both_ends_and_reaches_before_the_epoch(self) -> None:
        world = self._library()
        old, mid, new = (to_epoch(moment) for moment in (_OLD, _MID, _NEW))
        everything = ["essay.md", "notes/한국.md", "src/a.py"]

        for low, high, paths in (
            (old, mid, everything[:2]),
            (old + 1, mid, ["notes/한국.md"]),
            (None, mid - 1, ["essay.md"]),
            (mid, None, everything[1:]),
            (None, None, everything),
            (new + 1, None, []),
            (mid, old, []),
        ):
            assert _passing(world, Range("doc_date", low, high)) == paths, (low, high)
        assert _passing(world, Range("trust", 1, None)) == ["essay.md", "src/a.py"]

    def test_globs_match_paths_as_gitignore_does(self) -> None:
        world = self.world()
        paths = ["a.md", "a/b.py", "a/b/c.py", "docs/x.md", "docs/y/z.md", "lib/docs/q.md"]
        paths += ["a+b (1).md", "한국/글.md", "axmd"]
        world.put(*(world.corpus.document(path, "text", lang="en") for path in paths))

        for pattern, expected in (
            ("*.md", [p for p in paths if p.endswith(".md")]),
            ("docs/**", ["docs/x.md", "docs/y/z.md"]),
            ("docs/*.md", ["docs/x.md"]),
            ("a/*.py", ["a/b.py"]),
            ("a/**/*.py", ["a/b.py", "a/b/c.py"]),
            ("**/docs/*.md", ["docs/x.md", "lib/docs/q.md"]),
            ("c.py", ["a/b/c.py"]),
            ("a.md", ["a.md"]),
            ("/*.md", ["a.md", "a+b (1).md"]),
            ("?.md", ["a.md", "docs/x.md", "docs/y/z.md", "lib/docs/q.md", "한국/글.md"]),
            ("[xz].md", ["docs/x.md", "docs/y/z.md"]),
            ("[!xz].md", ["a.md", "lib/docs/q.md", "한국/글.md"]),
            ("a+b (1).md", ["a+b (1).md"]),
            ("한국/*", ["한국/글.md"]),
            ("docs/", ["docs/x.md", "docs/y/z.md", "lib/docs/q.md"]),
            ("*", paths),
            ("**", paths),
            ("nothing/**", []),
            ("A.MD", []),
        ):
            assert _passing(world, Glob(pattern)) == sorted(expected), pattern

    def test_a_tag_is_found_in_any_case_with_what_is_nested_below_it(self) -> None:
        world = self.world()
        for path, tag in (
            ("a.md", "Rust"),
            ("b.md", "c++"),
            ("c.md", "Äpfel"),
            ("d.md", "독"),
            ("e.md", "rust/Async/io"),
            ("f.md", "rusty"),
            ("g.md", "독/서"),
        ):
            world.put(world.corpus.document(path, "text", tags=(tag,)))

        for tags, paths in (
            (("rust",), ["a.md", "e.md"]),
            (("RUST/async",), ["e.md"]),
            (("C++", "äPFEL"), ["b.md", "c.md"]),
            (("독",), ["d.md", "g.md"]),
            (("rus", ".*", "async", "rust/", "x" * 3000), []),
        ):
            assert _passing(world, Tagged(tags)) == paths, tags
        assert _passing(world, OneOf("tag", ("rust",))) == []

    def test_words_of_a_field_all_have_to_occur(self) -> None:
        world = self.world()
        world.write("plans/roadmap.md", "the road ahead is long", title="Roadmap 2026")
        world.write("other.md", "ahead of the road", title="Other")

        for where, paths in (
            (Words("body", "road ahead"), ["other.md", "plans/roadmap.md"]),
            (Words("body", "Road ahead", phrase=True), ["plans/roadmap.md"]),
            (Words("body", "road elsewhere"), []),
            (Words("title", "ROADMAP"), ["plans/roadmap.md"]),
            (Words("title", "ahead"), []),
            (Words("path", "plans"), ["plans/roadmap.md"]),
        ):
            assert _passing(world, where) == paths, where

    def test_filters_combine(self) -> None:
        world = self._library()
        code, korean = OneOf("media", ("code",)), OneOf("lang", ("ko",))
        everything = ["essay.md", "notes/한국.md", "src/a.py"]

        for where, paths in (
            (And((code, korean)), []),
            (And((code, Glob("*.py"))), ["src/a.py"]),
            (And(()), everything),
            (Or((code, korean)), ["notes/한국.md", "src/a.py"]),
            (Or(()), []),
            (Not(code), ["essay.md", "notes/한국.md"]),
            (Not(Or(())), everything),
            (Not(And(())), []),
            (Not(Not(korean)), ["notes/한국.md"]),
            (And((Not(code), Not(korean))), ["essay.md"]),
            (Not(And((Not(code), Not(korean)))), ["notes/한국.md", "src/a.py"]),
            (Or((And((code, Glob("src/**"))), Range("trust", None, 0))), everything[1:]),
            (And((Not(Glob("*.md")),)), ["src/a.py"]),
        ):
            assert _passing(world, where) == paths, where

    def test_a_filter_only_restricts_the_list_never_the_scores(self) -> None:
        """The law that makes filters cheap to think about, in both channels."""
        world = self._many()
        snapshot = world.snapshot()
        wanted, vector = query("common rare3 rare5"), EMBEDDER.embed_query("common rare3")
        lexical = list(snapshot.lexical(wanted, None, 1000))
        nearest = list(snapshot.vector(vector, MODEL, None, 1000))
        assert len(lexical) == len(nearest) == snapshot.count(None)

        for where in _FILTERS:
            inside = {c["chunk_key"] for c in _chunks(world, where)}
            assert snapshot.count(where) == len(inside), where
            for limit in (3, 1000):
                some = [s for s in lexical if s.chunk_key in inside][:limit]
                assert near(snapshot.lexical(wanted, where, limit), some), where
                some = [s for s in nearest if s.chunk_key in inside][:limit]
                assert near(snapshot.vector(vector, MODEL, where, limit), some), where

    def test_documents_are_filtered_by_the_same_fields(self) -> None:
        world = self._library()

        for where, paths in (
            (OneOf("media", ("code",)), ["src/a.py"]),
            (OneOf("tag", ("z",)), ["essay.md"]),
            (And((Glob("*.md"), Range("doc_date", to_epoch(_MID)))), ["notes/한국.md"]),
            (Not(OneOf("source_id", ("notes",))), ["essay.md"]),
            (Or(()), []),
        ):
            shown = [doc["path"] for doc in world.snapshot().docs(where)]
            assert shown == paths, where
            assert world.snapshot().count_docs(where) == len(paths), where

    def test_files_are_filtered_by_path_and_source(self) -> None:
        world = self.world()
        rows = [file_row("a.md"), file_row("b/c.py"), file_row("a.md", source_id="x")]
        world.put(files=rows)

        for where, places in (
            (Glob("*.md"), [("notes", "a.md"), ("x", "a.md")]),
            (OneOf("source_id", ("notes",)), [("notes", "a.md"), ("notes", "b/c.py")]),
            (And((Glob("b/**"), OneOf("source_id", ("notes",)))), [("notes", "b/c.py")]),
            (OneOf("state", ("failed",)), []),
        ):
            shown = [(row["source_id"], row["path"]) for row in world.snapshot().files(where)]
            assert shown == places, where

    def _library(self) -> World:
        """Return three documents that differ in every field."""
        world = self.world()
        make = world.corpus.document
        world.put(
            make(
                "essay.md",
                "text",
                source_id="papers",
                source_type="paper",
                tags=("a", "z"),
                doc_date=_OLD,
            ),
            make(
                "notes/한국.md",
                "text",
                lang="ko",
                tags=("b",),
                doc_date=_MID,
                trust_level="generated",
            ),
            make(
                "src/a.py",
                "text",
                repo="kebab",
                doc_date=_NEW,
                indexed_at=_NEW,
                trust_level="secondary",
            ),
        )
        return world

    def _many(self) -> World:
        """Return forty documents of two steps, with chunks of all lengths."""
        world = self.world()
        for half in (0, 20):
            docs = [
                world.corpus.document(
                    f"{'docs' if n % 3 else 'src'}/{n}.{'md' if n % 2 else 'py'}",
                    f"common rare{n % 7} {'filler ' * (n % 5)}\n\ncommon second{n}",
                    tags=(f"t{n % 4}",),
                    doc_date=datetime(2000 + n, 1, 1, tzinfo=UTC),
                )
                for n in range(half, half + 20)
            ]
            world.put(*docs)
        world.put(removed=[doc.doc_id for doc in list(world.corpus.docs.values())[:5]])
        return world


_FILTERS: tuple[Filter, ...] = (
    OneOf("media", ("code",)),
    OneOf("tag", ("t1", "t2")),
    Glob("docs/**"),
    Not(Glob("*.md")),
    Range("doc_date", to_epoch(datetime(2010, 1, 1, tzinfo=UTC)), None),
    And((OneOf("tag", ("t3",)), Glob("src/*"))),
    Or((OneOf("tag", ("t0",)), OneOf("code_lang", ("python",)))),
    Words("body", "rare3"),
    Not(Words("body", "rare3 common", phrase=True)),
    Or(()),
    And(()),
)


def _chunks(world: World, where: Filter | None) -> list[dict[str, object]]:
    """Return the chunks that pass, found without the methods under test."""
    snapshot = world.snapshot()
    if where == And(()):
        return [dict(chunk) for chunk in snapshot.find_chunks("", 1000)]
    every = snapshot.find_chunks("", 1000)
    keep = []
    for chunk in every:
        alone = And((OneOf("chunk_id", (chunk["chunk_id"],)), where)) if where else None
        if snapshot.count(alone):
            keep.append(dict(chunk))
    return keep


def _passing(world: World, where: Filter) -> list[str]:
    """Return the paths of chunks that pass, and see that all methods agree on them."""
    snapshot = world.snapshot()
    found = snapshot.lexical(query("text road"), where, 100)
    nearest = snapshot.vector(EMBEDDER.embed_query("text road"), MODEL, where, 100)
    keys = {scored.chunk_key for scored in found}
    assert keys == {scored.chunk_key for scored in nearest}
    assert len(keys) == snapshot.count(where)
    return sorted(chunk["path"] for chunk in snapshot.chunks(sorted(keys)).values())


class IndexContract(
    PublishingContract, RecordsContract, LexicalContract, FilterContract, VectorContract
):
    """The promises of ``IndexWriter``, ``IndexReader`` and ``IndexSnapshot``."""


class StoreContract(CommitContract, EnclosureContract, OutboxContract):
    """The promises of ``Store``; ``make_store`` opens the one of a test."""
