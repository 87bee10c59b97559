"""The same notes and questions for kebab and for other programs, in one report.

A vault of notes (``small_ingest``) is indexed by each program from nothing, and then asked the
same questions, each in a process of its own. Printed are, as medians, processor and wall time,
peak memory, what lies on the disk afterwards, and what ten hits cost a model to read; warm, what
a question takes in a process that has the index open, where a program can be asked that way; and
how many passages are embedded in a processor second, beside the bare graph. What cannot be
installed is named, with the reason.

    python tools/bench/beside.py --quick                  a hundred notes, in a minute
    python tools/bench/beside.py --qmd "bun qmd.js"       540 notes; qmd by what runs it
    python tools/bench/beside.py --write docs/speed.md    the report, where the page has it

recoll and ripgrep are measured where they are on PATH; SQLite's FTS5 and tantivy by the least
program that indexes whole files and prints ten hits with a snippet.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from machine import ROOT, describe_machine, machine_line, use_private_cache
from small_ingest import make_vault
from startup import KEBAB, SETTINGS, Usage, run_process
from tables import quantile
from words import Words

from kb_app._models import models_dir
from kb_app.config import Embedding
from kb_core.clock import utc_now
from kb_search.embed import load_embedder

__all__ = ["Peer", "installed_bytes", "main", "report", "written"]

HITS = 10
_CHARS_PER_TOKEN = 3.6
_EMBEDDED = 3
"""Rounds of embedding that count."""
_BEGIN, _END = "<!-- beside: begin -->", "<!-- beside: end -->"
_WORD = re.compile(r"[a-z]{5,}")

_FTS_INDEX = """
import pathlib, sqlite3, sys
vault, home = map(pathlib.Path, sys.argv[1:])
db = sqlite3.connect(home / "notes.db")
fields = "path UNINDEXED, text, tokenize='porter unicode61'"
db.execute(f"CREATE VIRTUAL TABLE notes USING fts5({fields})")
rows = ((str(p.relative_to(vault)), p.read_text("utf-8")) for p in sorted(vault.rglob("*.md")))
db.executemany("INSERT INTO notes VALUES (?, ?)", rows)
db.commit()
"""
_FTS_SEARCH = """
import pathlib, sqlite3, sys
db = sqlite3.connect(pathlib.Path(sys.argv[1]) / "notes.db")
asked = " OR ".join(f'"{word}"' for word in sys.argv[2].split())
told = "SELECT path, snippet(notes, 1, '', '', '…', 30) FROM notes WHERE notes MATCH ?"
for path, said in db.execute(f"{told} ORDER BY rank LIMIT 10", [asked]):
    print(path, said, sep="\\n")
"""
_TANTIVY_INDEX = """
import pathlib, sys, tantivy
vault, home = map(pathlib.Path, sys.argv[1:])
schema = tantivy.SchemaBuilder()
schema.add_text_field("path", stored=True, tokenizer_name="raw")
schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
(home / "index").mkdir()
index = tantivy.Index(schema.build(), path=str(home / "index"))
writer = index.writer()
for path in sorted(vault.rglob("*.md")):
    text = path.read_text("utf-8")
    writer.add_document(tantivy.Document(path=str(path.relative_to(vault)), text=text))
writer.commit()
writer.wait_merging_threads()
"""
_TANTIVY_SEARCH = """
import pathlib, sys, tantivy
index = tantivy.Index.open(str(pathlib.Path(sys.argv[1]) / "index"))
searcher = index.searcher()
query = index.parse_query(sys.argv[2], ["text"])
snippets = tantivy.SnippetGenerator.create(searcher, query, index.schema, "text")
for _, address in searcher.search(query, 10).hits:
    doc = searcher.doc(address)
    print(doc["path"][0], snippets.snippet_from_doc(doc).fragment(), sep="\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program that is measured: how it is set up, indexes a vault, and is asked."""

    name: str
    version: str
    installed: int | None
    """Bytes, without what it fetches later."""
    index: Callable[[Path, Path], Sequence[str]] | None
    search: Callable[[Path, Path, str], Sequence[str]]
    prepare: Callable[[Path, Path], Mapping[str, str]] = field(default=lambda _vault, _home: {})
    """Sets it up for a vault in a folder of its own; returns what is added to the environment."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one peer took."""

    indexed: Usage | None
    kept: int
    asked: Sequence[Usage]
    tokens: float


def questions(vault: Path, number: int) -> list[str]:
    """Return questions of two to four words of a note, the same for the same vault."""
    chance, notes = random.Random(5), sorted(vault.rglob("*.md"))  # noqa: S311 - repeatable
    asked = []
    for note in chance.sample(notes, number):
        words = sorted(set(_WORD.findall(note.read_text("utf-8"))))
        asked.append(" ".join(chance.sample(words, chance.randint(2, 4))))
    return asked


def installed_bytes(name: str) -> int | None:
    """Return the bytes of an installed distribution and of all that it requires."""
    known: dict[str, int] = {}
    left = [name]
    while left:
        one = left.pop()
        if one in known:
            continue
        try:
            found = distribution(one)
        except PackageNotFoundError:
            continue
        paths = [Path(str(file.locate())) for file in found.files or ()]
        known[one] = sum(path.stat().st_size for path in paths if path.is_file())
        needed = (need for need in found.requires or () if "extra ==" not in need)
        left += [re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in needed]
    return sum(known.values()) or None


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# ----------------------------------------------------------------------- the peers


def _kebab(mode: str) -> Peer:
    embeds = mode != "lexical"

    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        settings = SETTINGS.format(root=json.dumps(str(vault)))
        (home / "config.toml").write_text(settings, "utf-8")
        return {}

    def command(home: Path, *words: str) -> list[str]:
        return [str(KEBAB), "--config", str(home / "config.toml"), *words]

    return Peer(
        name="kebab, by words and meaning" if embeds else "kebab, by words",
        version="",
        installed=installed_bytes("kb-cli"),
        prepare=prepare,
        index=lambda _, home: command(home, "ingest", *([] if embeds else ["--no-embed"])),
        search=lambda _, home, text: command(home, "search", "--mode", mode, "--", text),
    )


def _script(name: str, index: str, search: str, installed: int | None) -> Peer:
    python = [sys.executable, "-c"]
    return Peer(
        name=name,
        version="",
        installed=installed,
        index=lambda vault, home: [*python, index, str(vault), str(home)],
        search=lambda _, home, text: [*python, search, str(home), text],
    )


def _recoll() -> Peer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        (home / "recoll.conf").write_text(f"topdirs = {vault}\n", "utf-8")
        return {"HOME": str(home)}

    def search(_: Path, home: Path, text: str) -> Sequence[str]:
        asked = " OR ".join(text.split())
        return ["recollq", "-c", str(home), "-n", str(HITS), "-A", asked]

    return Peer(
        name="recoll",
        version=_told(["recollq", "-v"]),
        installed=_packaged("recollcmd", "libxapian30"),
        prepare=prepare,
        index=lambda _, home: ["recollindex", "-c", str(home)],
        search=search,
    )


def _qmd(runner: Sequence[str]) -> Peer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        (home / "config").mkdir()
        told = f"collections:\n  notes:\n    path: {json.dumps(str(vault))}\n"
        told += '    pattern: "**/*.md"\n'
        (home / "config" / "index.yml").write_text(told, "utf-8")
        caches = {"XDG_CACHE_HOME": str(home / "cache"), "QMD_CONFIG_DIR": str(home / "config")}
        return {**caches, "QMD_FORCE_CPU": "1"}

    modules = [at for at in Path(runner[-1]).absolute().parents if at.name == "node_modules"]
    return Peer(
        name="qmd, by words",
        version=_told([*runner, "--version"]),
        installed=_folder_bytes(modules[-1]) if modules else None,
        prepare=prepare,
        index=lambda _vault, _home: [*runner, "update"],
        search=lambda _vault, _home, text: [*runner, "search", "-n", str(HITS), text],
    )


def _ripgrep(rg: str) -> Peer:
    def search(vault: Path, _: Path, text: str) -> Sequence[str]:
        rarest = max(text.split(), key=len)
        return [rg, "-n", "-i", "-w", rarest, str(vault)]

    size = Path(rg).stat().st_size
    return Peer(
        name="ripgrep, one word",
        version=_told([rg, "-V"]),
        installed=size,
        index=None,
        search=search,
    )


def _told(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return found[0] if found else ""


def _packaged(*packages: str) -> int | None:
    """Return what Debian says that packages take, if it knows them."""
    if shutil.which("dpkg-query") is None:
        return None
    asked = ["dpkg-query", "-W", "-f=${Installed-Size}\n", *packages]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return sum(map(int, done.stdout.split())) * 1024 or None


def peers_here(qmd: str | None) -> tuple[list[Peer], list[str]]:
    """Return what can be measured, and of everything else the reason why it is not."""
    found = [
        _kebab("lexical"),
        _kebab("hybrid"),
        _script("SQLite FTS5, whole files", _FTS_INDEX, _FTS_SEARCH, 0),
        _script(
            "tantivy, whole files", _TANTIVY_INDEX, _TANTIVY_SEARCH, installed_bytes("tantivy")
        ),
    ]
    missing = []
    if shutil.which("recollindex"):
        found.append(_recoll())
    else:
        missing.append("recoll: not on PATH")
    if rg := shutil.which("rg"):
        found.append(_ripgrep(rg))
    else:
        missing.append("ripgrep: not on PATH")
    if qmd:
        found.append(_qmd(shlex.split(qmd)))
        missing.append("qmd by meaning: fetches about 2 GB of weights when first asked")
    else:
        missing.append("qmd: name the command that runs it")
    missing.append("sentence-transformers, chromadb: fetch their weights when first used")
    return found, missing


# --------------------------------------------------------------------- measuring


def measure(peer: Peer, vault: Path, home: Path, asked: Sequence[str]) -> Measured:
    """Index *vault* from nothing, and ask each question in a process of its own."""
    home.mkdir()
    environ = {**os.environ, **peer.prepare(vault, home)}
    indexed = run_process(peer.index(vault, home), environ) if peer.index else None
    kept = _folder_bytes(home)
    run_process(peer.search(vault, home, asked[0]), environ, codes=(0, 1))  # page cache
    usages, chars = [], []
    for text in asked:
        command = peer.search(vault, home, text)
        usages.append(run_process(command, environ, codes=(0, 1)))
        told = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        chars.append(len(told.stdout))
    return Measured(indexed, kept, usages, quantile(chars, 0.5) / _CHARS_PER_TOKEN)


def embedding(passages: int) -> tuple[float, float]:
    """Return passages of about 200 tokens embedded in a processor second: ours, the bare graph."""
    embedder: Any = load_embedder(Embedding().model, cache_dir=models_dir())
    words = Words(3)
    texts = [words.passage(150) for _ in range(passages)]
    prepared, session = embedder._prepared, embedder._passage_session()  # noqa: SLF001 - the parts
    ids = prepared.tokenizer.encode([f"passage: {text}" for text in texts])
    runs: tuple[Callable[[], object], ...] = (
        lambda: embedder.embed_passages(texts),
        lambda: [embedder._run(session, one) for one in ids],  # noqa: SLF001 - nothing around it
    )
    taken: tuple[list[float], ...] = ([], [])
    for _ in range(1 + _EMBEDDED):  # in turns; the first of each makes its threads
        for run, seconds in zip(runs, taken, strict=True):
            begun = time.process_time()
            run()
            seconds.append(time.process_time() - begun)
    ours, bare = (passages / quantile(seconds[1:], 0.5) for seconds in taken)
    return ours, bare


# ---------------------------------------------------------------------- reporting


def report(
    taken: Mapping[str, tuple[Peer, Measured]], text_bytes: int, notes: int, missing: Sequence[str]
) -> str:
    """Return the table in Markdown, and what is not in it."""
    head = (
        "| | installed, MB | index: CPU s | wall s | peak MB | on disk / text "
        "| search: CPU ms | wall ms | peak MB | tokens of ten hits |"
    )
    rows = [
        head,
        "|---" * 10 + "|",
        *(_row(peer, found, text_bytes) for peer, found in taken.values()),
    ]
    reasons = "\n".join(f"- {reason}." for reason in missing)
    return (
        f"{notes} notes, {text_bytes / 1e6:.1f} MB of text.\n\n"
        + "\n".join(rows)
        + f"\n\nNot measured:\n\n{reasons}"
    )


def _row(peer: Peer, found: Measured, text_bytes: int) -> str:
    name = " ".join(filter(None, (peer.name, peer.version)))
    size = "" if peer.installed is None else f"{peer.installed / 1e6:,.0f}"
    if (indexed := found.indexed) is None:
        made = ["", "", "", ""]
    else:
        made = [
            f"{indexed.cpu:.2f}",
            f"{indexed.wall:.2f}",
            f"{indexed.peak_bytes / 1e6:,.0f}",
            f"{found.kept / text_bytes:.1f}",
        ]
    cpu, wall = (
        quantile([getattr(usage, name) for usage in found.asked], 0.5) * 1000
        for name in ("cpu", "wall")
    )
    peak = max(usage.peak_bytes for usage in found.asked) / 1e6
    cells = [name, size, *made, f"{cpu:.0f}", f"{wall:.0f}", f"{peak:,.0f}", f"{found.tokens:,.0f}"]
    return f"| {' | '.join(cells)} |"


def written(page: str, text: str) -> str:
    """Return *page* with *text* between the marks that it has for this; ``ValueError`` without."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"the page has no {_BEGIN} … {_END}")
    return f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}"


def _everyone(
    found: Sequence[Peer], room: Path, notes: int, number: int
) -> Iterator[tuple[str, tuple[Peer, Measured]]]:
    vault = room / "vault"
    make_vault(vault, notes)
    asked = questions(vault, number)
    for at, peer in enumerate(found):
        yield peer.name, (peer, measure(peer, vault, room / f"home{at}", asked))


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=540)
    parser.add_argument("--questions", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="a hundred notes and five questions")
    parser.add_argument("--qmd", help="the command that runs qmd")
    parser.add_argument("--write", type=Path, help="put the report into this page")
    options = parser.parse_args(words)
    notes, number = (100, 5) if options.quick else (options.notes, options.questions)
    use_private_cache()
    found, missing = peers_here(options.qmd)
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as room:
        taken = dict(_everyone(found, Path(room), notes, number))
        text_bytes = _folder_bytes(Path(room) / "vault")
    ours, bare = embedding(20 if options.quick else 60)
    rate = f"Embedding: {ours:.1f} passages of 200 tokens a CPU second, the bare graph {bare:.1f}."
    told = "\n\n".join(
        [
            f"Measured {utc_now().date().isoformat()}.",
            report(taken, text_bytes, notes, missing),
            rate,
        ]
    )
    print(f"{machine_line(describe_machine())}\n\n{told}")
    if options.write:
        page = ROOT / options.write
        page.write_text(written(page.read_text("utf-8"), told), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
