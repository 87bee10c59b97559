"""What ranking gives on two small collections of our own, question by question.

    python tools/yardstick.py          write the figures, when a change of ranking is wanted
    python tools/yardstick.py check    say what moved, and fail if anything did

``tests-integration/ranking_notes`` has 32 notes in English and 32 in Korean, each with a question
that it answers, in JSON lines, and ``figures.json``. By words a figure is nDCG@10, the same to
the last digit on every machine. By meaning it is the likeness of the answer, and how far that
leads what stands best beside it: sums of whole numbers that processors round differently, so
they count as moved from .002 on; a rank would turn on a hair. By both it is the mean nDCG@10 of
a collection, which counts from .02 on, since what meaning may move can change a rank or two.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from kb_app import Config, KnowledgeBase
from kb_app._evals.figures import ndcg
from kb_app.config import Source
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["Figures", "measure", "moved", "stored"]

HERE = Path(__file__).resolve().parents[1] / "tests-integration" / "ranking_notes"
COLLECTIONS, KINDS = ("english", "korean"), ("words", "meaning", "both")
TOLERANCE = {"likeness": 0.002, "lead": 0.002, "both": 0.02}
_DIGITS, _DEPTH = 6, 40

Figures: TypeAlias = Mapping[str, Mapping[str, float]]
"""By collection and question, or by a collection alone, the figures of each by their names."""


def measure(
    home: Path, *kinds: str, opened: Callable[[Config], KnowledgeBase]
) -> dict[str, dict[str, float]]:
    """Index both collections below *home* unless they are there, and ask everything.

    *kinds* of figures are ``words``, ``meaning`` and ``both``; a model is only asked for the
    latter two.
    """
    found: dict[str, dict[str, float]] = {}
    for name in COLLECTIONS:
        notes, place = _notes(name), home / name
        config = Config.inside(place, Source(id="notes", root=place / "notes"))
        with opened(config) as kb:
            if not (place / "notes").exists():
                _write(place / "notes", notes)
                list(kb.ingest(IngestOptions(embed=kinds != ("words",), summary_only=True)))
            for path, note in notes.items():
                query = note["query"]
                told = found.setdefault(f"{name}: {query}", {})
                if "words" in kinds:
                    told["words"] = _ndcg(kb, query, path, SearchMode.LEXICAL)
                if "meaning" in kinds:
                    told |= _meant(kb, query, path)
            if "both" in kinds:
                both = [_ndcg(kb, n["query"], p, SearchMode.HYBRID) for p, n in notes.items()]
                found[name] = {"both": round(sum(both) / len(both), _DIGITS)}
    return found


def _notes(name: str) -> dict[str, dict[str, str]]:
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    return {f"{number:02}.md": json.loads(line) for number, line in enumerate(lines)}


def _write(folder: Path, notes: Mapping[str, Mapping[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, note in notes.items():
        (folder / path).write_text(f"# {note['title']}\n\n{note['text']}\n", "utf-8")


def _ndcg(kb: KnowledgeBase, query: str, path: str, mode: SearchMode) -> float:
    hits = kb.search(SearchQuery(text=query, mode=mode, k=10)).hits
    return round(ndcg([hit.doc_path for hit in hits], {path: 1}), _DIGITS)


def _meant(kb: KnowledgeBase, query: str, path: str) -> dict[str, float]:
    hits = kb.search(SearchQuery(text=query, mode=SearchMode.VECTOR, k=_DEPTH)).hits
    scores = {hit.doc_path: hit.score for hit in hits}
    likeness = scores.pop(path)
    lead = likeness - max(scores.values())
    return {"likeness": round(likeness, _DIGITS), "lead": round(lead, _DIGITS)}


def stored() -> dict[str, dict[str, float]]:
    """Return the figures that are committed."""
    told: dict[str, dict[str, float]] = json.loads((HERE / "figures.json").read_text("utf-8"))
    return told


def moved(before: Figures, after: Figures) -> Iterator[str]:
    """Yield a line for everything of *after* that is not as it was, and for what is new."""
    for asked, figures in after.items():
        for name, now in figures.items():
            was = before.get(asked, {}).get(name)
            if was is None:
                yield f"{asked}: {name} is not stored"
            elif abs(now - was) > TOLERANCE.get(name, 0.0):
                yield f"{asked}: {name} {was:.3f} -> {now:.3f}"


def main(words: list[str] | None = None) -> int:
    """Write or check the figures; return an exit code."""
    with tempfile.TemporaryDirectory(prefix="kebab-yardstick-") as home:
        now = measure(Path(home), *KINDS, opened=KnowledgeBase.open)
    if "check" not in (sys.argv[1:] if words is None else words):
        rows = (json.dumps({name: told}, ensure_ascii=False)[1:-1] for name, told in now.items())
        (HERE / "figures.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
        return 0
    lines = list(moved(stored(), now))
    print("\n".join(lines) or "ranking gives what is stored", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
