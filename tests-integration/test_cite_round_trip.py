"""Citations over a real corpus: what they name, and what is said of them after edits.

Files of Python's standard library and generated Markdown are indexed. Every hit's citation
is fetched and compared with the lines on disk; then files are edited, moved and deleted,
and what is said of each citation is compared with what a plain look at the files tells.
``KEBAB_CITE_HITS`` sets how many hits are tried.
"""

from __future__ import annotations

import os
import random
import shutil
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kb_app import KnowledgeBase
from kb_app.config import Config, Embedding, Source
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.citations import CodeSpan, LineSpan, parse_citation
from kb_core.ids import content_hash
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchFilters, SearchQuery

pytestmark = pytest.mark.slow

HITS = int(os.environ.get("KEBAB_CITE_HITS", "150"))
LIBRARY_FILES, NOTES = 120, 40
WORDS = (
    *("ledger", "vector", "anchor", "window", "marmalade", "harbour", "index", "cursor"),
    *("lantern", "tantivy", "filter", "river", "chunk", "snapshot", "garden", "fusion"),
    *("orchard", "writer", "meadow", "parser", "token", "kettle", "branch", "merge"),
)


@dataclass
class Corpus:
    """An indexed folder, and what was read from it before anything was changed."""

    root: Path
    kb: KnowledgeBase
    config: Config

    def text(self, path: str) -> str:
        return (self.root / path).read_text("utf-8").replace("\r\n", "\n")

    def ingest(self) -> dict[str, int]:
        *_, last = self.kb.ingest(IngestOptions(embed=False))
        assert last.report is not None
        return dict(last.report.counts)


def library_files(chance: random.Random) -> list[Path]:
    """Return files of the standard library, of every size that is indexed."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = [*folder.glob("*.py"), *folder.glob("asyncio/*.py"), *folder.glob("email/*.py")]
    files += [*folder.glob("json/*.py"), *folder.glob("xml/**/*.py")]
    small = [f for f in files if 600 < f.stat().st_size < 60_000 and is_utf8(f)]
    return chance.sample(sorted(small), LIBRARY_FILES)


def is_utf8(file: Path) -> bool:
    try:
        file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def note(chance: random.Random, number: int) -> str:
    """Return Markdown with headings, lists, code, wide characters and very long lines."""

    def sentence(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words)).capitalize() + f" {chance.random():.9f}."

    parts = [f"# Note {number}: {sentence(3)}"]
    for section in range(chance.randint(2, 6)):
        parts.append(f"{'#' * chance.randint(2, 3)} {sentence(3)}")
        parts.append(" ".join(sentence(chance.randint(5, 14)) for _ in range(chance.randint(1, 5))))
        kind = (number + section) % 4
        if kind == 0:
            parts.append("\n".join(f"- {sentence(6)}" for _ in range(chance.randint(2, 9))))
        elif kind == 1:
            parts.append("```python\n" + "\n".join(f"x{i} = {i!r}" for i in range(9)) + "\n```")
        elif kind == 2:  # one line, longer than any chunk
            parts.append(" ".join(sentence(12) for _ in range(90)))
        else:
            parts.append("검색은 근거와 함께 답한다. " * 3 + f"引用は行を指す。{section} {number}")
    return "\n\n".join(parts) + "\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """Index about 160 files, without a model."""
    home = tmp_path_factory.mktemp("cited")
    root, chance = home / "root", random.Random(7)
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    for file in library_files(chance):
        target = root / "lib" / file.relative_to(stdlib)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    (root / "notes").mkdir()
    for number in range(NOTES):
        (root / f"notes/note {number}#.md").write_text(note(chance, number), "utf-8")
    config = Config.inside(home, Source(id="all", root=root))
    config = replace(config, embedding=Embedding(model="none"))
    with open_here(config) as kb:
        found = Corpus(root, kb, config)
        assert found.ingest()["new"] > (LIBRARY_FILES + NOTES) * 0.95
        yield found


@pytest.fixture(scope="module")
def hits(corpus: Corpus) -> list[Hit]:
    """Return hits of random words of the corpus itself, each chunk once."""
    chance, found = random.Random(11), dict[str, Hit]()
    words = sorted({w for f in sorted(corpus.root.rglob("*.*")) for w in words_of(f)})
    while len(found) < HITS:
        text = " ".join(chance.sample(words, 2))
        query = SearchQuery(text=text, mode=SearchMode.LEXICAL, k=20)
        for hit in corpus.kb.search(query).hits:
            found.setdefault(hit.chunk_id, hit)
    return list(found.values())[:HITS]


def words_of(file: Path) -> set[str]:
    return {word for word in file.read_text("utf-8").split() if word.isalpha() and len(word) > 3}


def lines_of(uri: str) -> tuple[int, int]:
    span = parse_citation(uri).span
    assert isinstance(span, LineSpan | CodeSpan)
    return span.start, span.end


def test_what_a_hit_cites_is_what_stands_on_disk(corpus: Corpus, hits: list[Hit]) -> None:
    for hit in hits:
        uri = hit.citation.uri
        lines = corpus.text(hit.doc_path).split("\n")
        first, last = lines_of(uri)
        cited = "\n".join(lines[first - 1 : last])
        chunk = corpus.kb.fetch_chunk(hit.chunk_id)["chunk"]

        span = corpus.kb.fetch_span(hit.doc_id, first, last)
        assert span["text"].removesuffix("\n") == cited
        assert (span["effective_end"], span["truncated"]) == (last, False)
        assert corpus.kb.cite(uri) == span
        assert chunk["text"] in cited
        assert chunk["text"].split("\n")[0] in lines[first - 1]
        assert chunk["text"].split("\n")[-1] in lines[last - 1]
        assert hit.citation.content_hash == content_hash(chunk["text"])


def test_every_citation_of_a_search_is_unchanged(corpus: Corpus, hits: list[Hit]) -> None:
    found = corpus.kb.verify_citations([wire.hit(hit) for hit in hits])

    assert found["ok"]
    assert found["summary"] == {
        "total": len(hits), "unchanged": len(hits), "moved": 0, "changed": 0, "gone": 0
    }  # fmt: skip
    assert {check["checked"] for check in found["checks"]} == {"file"}


# ------------------------------------------------------------------ after edits


@dataclass(frozen=True)
class Edit:
    """What was done to one file: where it is now, and by how many lines its text was moved."""

    kind: str
    path: str
    moved_by: int = 0


def edit(corpus: Corpus, paths: list[str], hits: list[Hit]) -> dict[str, Edit]:
    """Insert lines above, change a cited word, rename and delete: a quarter of *paths* each."""
    chance, done = random.Random(13), dict[str, Edit]()
    for number, path in enumerate(paths):
        file = corpus.root / path
        text = file.read_text("utf-8")
        kind = ("inserted", "changed", "renamed", "deleted")[number % 4]
        if kind == "inserted":
            count = chance.randint(1, 5)
            file.write_text("".join(f"inserted {path} {n}\n" for n in range(count)) + text, "utf-8")
            done[path] = Edit(kind, path, moved_by=count)
        elif kind == "changed":
            lines = text.split("\n")
            first, last = lines_of(
                chance.choice([h for h in hits if h.doc_path == path]).citation.uri
            )
            line = max(range(first - 1, last), key=lambda n: len(lines[n]))
            words = lines[line].split(" ")
            at = chance.choice([n for n, word in enumerate(words) if len(word) > 1])
            words[at] = f"{words[at][0]}zzqx{words[at][1:]}"
            lines[line] = " ".join(words)
            file.write_text("\n".join(lines), "utf-8")
            done[path] = Edit(kind, path)
        elif kind == "renamed":
            target = f"elsewhere/{number}{file.suffix}"
            (corpus.root / "elsewhere").mkdir(exist_ok=True)
            file.rename(corpus.root / target)
            done[path] = Edit(kind, target)
        else:
            file.unlink()
            done[path] = Edit(kind, path)
    return done


def oracle(text_now: str, hit: Hit, chunk: str, done: Edit | None, *, stands: bool) -> str:
    """Say what a plain look tells; *stands*: the cited text is elsewhere as well."""
    first, last = lines_of(hit.citation.uri)
    if done is None:
        return "unchanged"
    if done.kind == "inserted":
        return f"moved {done.path} {first + done.moved_by}"
    if done.kind == "renamed":
        return f"moved {done.path} {first}"
    if done.kind == "changed":
        # The word may be in a cited line, outside of a chunk that is a part of it.
        cited = "\n".join(text_now.split("\n")[first - 1 : last])
        return "unchanged" if chunk in cited else "changed"
    return "moved" if stands else "gone"


def expected(
    corpus: Corpus,
    hits: list[Hit],
    edits: dict[str, Edit],
    chunks: list[str],
    stands: Callable[[str], bool],
) -> list[str]:
    found = []
    for hit, chunk in zip(hits, chunks, strict=True):
        done = edits.get(hit.doc_path)
        text = corpus.text(done.path) if done and done.kind == "changed" else ""
        found.append(oracle(text, hit, chunk, done, stands=stands(chunk)))
    return found


def told(check: Mapping[str, Any], expects: str) -> str:
    """Return a check in the oracle's words, no more precise than it was."""
    if check["status"] != "moved" or expects == "moved":
        return str(check["status"])
    place = check["now"]
    return f"moved {place['path']} {place.get('start') or place['line_start']}"


def test_after_edits_each_citation_is_judged_as_the_files_tell(
    corpus: Corpus, hits: list[Hit]
) -> None:
    chunks = [corpus.kb.fetch_chunk(hit.chunk_id)["chunk"]["text"] for hit in hits]
    cited = Counter(hit.doc_path for hit in hits)
    paths = [path for path, _ in cited.most_common(100)]
    edits = edit(corpus, random.Random(17).sample(sorted(paths), len(paths)), hits)
    assert len(edits) >= min(100, HITS // 5)
    items = [wire.hit(hit)["citation"] for hit in hits]
    texts = [f.read_text("utf-8") for f in corpus.root.rglob("*.*") if f.is_file()]

    before = corpus.kb.verify_citations(items)
    corpus.ingest()
    after = corpus.kb.verify_citations(items)

    # Once it is not indexed any more, a text can be found elsewhere by its hash alone: where it
    # is a chunk, and not where it is in one.
    docs = corpus.kb.list_docs(SearchFilters(), limit=1000)["items"]
    kept = {chunk["text"] for doc in docs for chunk in corpus.kb.chunks_of(doc["doc_id"])}
    print(f"\n{len(edits)} files, {len(items)} citations: {before['summary']} {after['summary']}")
    for name, found, stands in (
        ("before", before, lambda chunk: any(chunk in text for text in texts)),
        ("after", after, kept.__contains__),
    ):
        wanted = expected(corpus, hits, edits, chunks, stands)
        wrong = [
            (check["uri"], want, told(check, want), edits.get(hit.doc_path))
            for check, want, hit in zip(found["checks"], wanted, hits, strict=True)
            if told(check, want) != want
        ]
        assert wrong == [], f"{name} ingest: {len(wrong)} of {len(wanted)}"
    for check in before["checks"]:
        if check["status"] == "changed":
            assert "zzqx" in check["diff"]
    assert {check["status"] for check in before["checks"]} == {
        "unchanged", "moved", "changed", "gone"
    }  # fmt: skip
