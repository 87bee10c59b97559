"""Golden questions and runs in the formats of others: BEIR folders, TREC judgements and runs.

    FOLDER/queries.jsonl, corpus.jsonl, qrels/test.tsv      BEIR
    QUERY 0 DOC GRADE           judgements (qrels), a line each
    QUERY<tab>TEXT              the queries that they are of
    QUERY Q0 DOC RANK SCORE RUN a run

Names in lines are parted by white space, so what is exported is percent-encoded as in URIs.
A run that comes in is one over golden questions like any other, so that both can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kb_app._evals.cases import read_cases
from kb_app._evals.figures import trec_order
from kb_app._evals.judging import figures_of, summed
from kb_app._evals.stored import Asked, Kept, RunFolder
from kb_core import wire
from kb_core.citations import quote_path
from kb_core.errors import InvalidInput, IoError
from kb_core.evals import MIN_DEPTH, EvalCase
from kb_core.ids import fingerprint
from kb_core.media import SearchMode
from kb_core.search import MAX_K
from kb_core.text import read_json
from kb_core.version import __version__

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from kb_core.wire import types

__all__ = ["export_run", "import_run", "read_beir", "read_trec", "write_documents"]

_QRELS_FIELDS, _BEIR_FIELDS = 4, 3
_SUFFIX = ".md"
_OF_OTHERS: Mapping[str, Any] = {
    "state": "completed",
    "duration_ms": 0,
    "ask": False,
    "kebab_version": __version__,
    "index": {
        **dict.fromkeys(("store_id", "index_version"), ""),
        **dict.fromkeys(("corpus_revision", "vector_revision", "documents", "chunks"), 0),
    },
    "machine": {},
}
"""What eval_run.v1 has to say, and a TREC run does not tell."""


def read_beir(folder: Path, *, split: str = "test", are_written: bool = False) -> list[EvalCase]:
    """Return the judged queries of a BEIR folder, with documents by their ids.

    With *are_written*, by the names that ``write_documents`` gives them.
    """
    texts = {row["_id"]: row["text"] for row in _json_lines(folder / "queries.jsonl")}
    rows = _tabbed(folder / "qrels" / f"{split}.tsv", _BEIR_FIELDS)
    header = next(rows, None)
    if header is None or header[2].lstrip("-").isdecimal():
        raise _no_format(folder, f"qrels/{split}.tsv does not begin with its header")
    return _cases(texts, rows, _file_name if are_written else str)


def read_trec(queries: Path, qrels: Path) -> list[EvalCase]:
    """Return the queries of a file of ``id<tab>text`` with their TREC judgements."""
    texts = dict(_tabbed(queries, 2))
    rows = (line.split() for line in _lines(qrels) if line.strip())
    told = []
    for number, row in enumerate(rows, start=1):
        if len(row) != _QRELS_FIELDS:
            raise _no_format(qrels, f"line {number} is not 'query 0 document grade'")
        told.append((row[0], row[2], row[3]))
    return _cases(texts, told, str)


def _cases(texts: Mapping[str, str], rows: Iterable[Sequence[str]], name: Any) -> list[EvalCase]:  # noqa: ANN401
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for query, doc, grade in rows:
        if not grade.lstrip("-").isdecimal():
            raise InvalidInput(
                f"grade {grade!r} of {query!r} and {doc!r} is not a whole number",
                details={"field": "grade", "value": grade},
            )
        if int(grade) > 0:
            grades[query][name(doc)] = int(grade)
    known = (
        (query, texts[query].strip(), docs) for query, docs in grades.items() if query in texts
    )
    return [
        EvalCase(id=query, query=text, expected_docs=docs) for query, text, docs in known if text
    ]


def write_documents(folder: Path, into: Path) -> None:
    """Write each document of a BEIR folder as a Markdown file."""
    into.mkdir(parents=True, exist_ok=True)
    for row in _json_lines(folder / "corpus.jsonl"):
        title = " ".join(str(row.get("title") or "").split())
        heading = f"# {title}\n\n" if title else ""
        (into / _file_name(row["_id"])).write_text(f"{heading}{row['text']}\n", "utf-8")


def _file_name(doc: str) -> str:
    """Return the name of the file that a document of a collection is written to."""
    return quote_path(doc).replace("/", "%2F") + _SUFFIX


def export_run(run: RunFolder, into: Path) -> list[Path]:
    """Write a run as TREC files, a run for each variant, and the judgements; return them.

    Ids are what the figures rank: what was met of what is expected, else the document or the
    chunk. Scores are one over the rank, so that no reader has ties to break.
    """
    into.mkdir(parents=True, exist_ok=True)
    asked = run.asked()
    judged = {one["case"]: list(one.get("ranks", ())) for one in asked}
    of_documents = {case.id for case in run.cases() if not _has_passages(case)}
    grades = {case.id: _grades(case) for case in run.cases()}
    files = {"queries.tsv": [f"{one['case']}\t{_flat(one['query'])}" for one in _first(asked)]}
    files["qrels.txt"] = [
        f"{quote_path(case)} 0 {quote_path(target)} {grades[case].get(target, 1)}"
        for case, targets in judged.items()
        for target in targets
    ]
    for one in asked:
        rows = files.setdefault(f"{one['variant']}.run", [])
        for rank, unit in enumerate(_units(one, one["case"] in of_documents), start=1):
            head = f"{quote_path(one['case'])} Q0 {quote_path(unit)}"
            rows.append(f"{head} {rank} {1 / rank:.9f} {one['variant']}")
    for name, lines in files.items():
        (into / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return [into / name for name in files]


def import_run(
    file: Path, cases: Path, folder: RunFolder, *, name: str | None, now: datetime
) -> types.EvalRun:
    """Keep the run in *file* over the cases in *cases*, judged as ours are; return eval_run.v1.

    Documents are named as the cases name what they expect, percent-encoded or not, or as the
    collection does whose documents were written here. A case that the run lacks has found
    nothing. The file tells neither a mode nor an index: it counts as hybrid, of no store.
    """
    known = read_cases(cases)
    scores, tag = _scores(file)
    judged = [case for case in known if case.is_judged]
    if not any(_asked_as(case, scores) is not None for case in judged):
        raise InvalidInput(
            f"{file}: no query of it is a case of {cases.name}",
            hint="queries have the ids of cases: kebab eval export writes them",
            details={"field": "run", "value": str(file)},
        )
    depth = max(min(max(map(len, scores.values())), MAX_K), MIN_DEPTH)
    rows = [_judged(case, _asked_as(case, scores) or {}, tag, depth) for case in judged]
    folder.begin(known)
    for row in rows:
        folder.add(row)
    told = {
        "run_id": folder.path.name,
        "name": name,
        "path": str(folder.path),
        "started_at": now,
        "depth": depth,
        "cases": {
            "path": str(cases),
            "digest": fingerprint([wire.eval_case(case) for case in known]),
            "total": len(known),
            "judged": len(judged),
            "unanswerable": sum(case.wants_refusal for case in known),
            "broken": [],
        },
        "variants": [{"name": tag, "mode": SearchMode.HYBRID.value, **summed(rows, {})}],
        "settings": {"imported": file.name},
    }
    run = wire.eval_run({**_OF_OTHERS, **told})
    folder.finish(run)
    return run


def _scores(file: Path) -> tuple[dict[str, dict[str, float]], str]:
    """Return the scores of a run by query and document, and what the run is called."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    tag = ""
    for number, line in enumerate(_lines(file), start=1):
        row = line.split()
        if not row:
            continue
        try:
            query, _, doc, _, score, tag = row
            found[query][doc] = float(score)
        except ValueError:
            raise _no_format(
                file, f"line {number} is not 'query Q0 document rank score run'"
            ) from None
    if not found:
        raise _no_format(file, "it is empty")
    return dict(found), tag


def _asked_as(
    case: EvalCase, scores: Mapping[str, Mapping[str, float]]
) -> Mapping[str, float] | None:
    return scores.get(case.id, scores.get(quote_path(case.id)))


def _judged(case: EvalCase, scores: Mapping[str, float], tag: str, depth: int) -> Asked:
    grades = _grades(case)
    names = {form: one for one in grades for form in _forms(one)} | {one: one for one in grades}
    ranking = list(dict.fromkeys(names.get(one, one) for one in trec_order(scores)))[:depth]
    hits: list[Kept] = [
        {
            "rank": rank,
            "uri": one,
            "chunk_id": "",
            "doc_id": one,
            "score": 1 / rank,
            "lexical_rank": None,
            "vector_rank": None,
            "rerank_score": None,
            "met": [one] if one in grades else [],
        }
        for rank, one in enumerate(ranking, start=1)
    ]
    return {
        "case": case.id,
        "variant": tag,
        "query": case.query,
        "figures": figures_of(ranking, grades, depth),
        "ranks": {one: ranking.index(one) + 1 if one in ranking else None for one in grades},
        "hits": hits,
    }


def _forms(name: str) -> Iterator[str]:
    """Yield what a run may call what a case expects as *name*, besides that itself.

    It may be encoded; of a file that ``write_documents`` wrote, the collection's name as well.
    """
    own = name.removesuffix(_SUFFIX)
    yield from (own, unquote(own), quote_path(name))


def _first(asked: Sequence[Asked]) -> Iterator[Asked]:
    """Yield each question once."""
    yield from {one["case"]: one for one in asked}.values()


def _units(asked: Asked, of_documents: bool) -> list[str]:  # noqa: FBT001 - reads as a question
    own = "doc_id" if of_documents else "chunk_id"
    units = (unit for hit in asked.get("hits", ()) for unit in hit["met"] or [str(hit[own])])  # type: ignore[literal-required]
    return list(dict.fromkeys(units))


def _has_passages(case: EvalCase) -> bool:
    return bool(case.expected_places or case.expected_chunks)


def _grades(case: EvalCase) -> dict[str, int]:
    places = {place.uri: place.grade for place in case.expected_places}
    return {**case.expected_docs, **case.expected_chunks, **places}


def _flat(text: str) -> str:
    return " ".join(text.split())


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            try:
                row = read_json(line)
                yield {"_id": row["_id"], "text": row["text"], "title": row.get("title")}
            except (ValueError, KeyError, TypeError, AttributeError):
                raise _no_format(path, f"line {number} has no _id and text") from None


def _tabbed(path: Path, fields: int) -> Iterator[list[str]]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            row = line.rstrip("\r\n").split("\t")
            if len(row) != fields:
                raise _no_format(path, f"line {number} has not {fields} fields, parted by tabs")
            yield row


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise IoError(f"{path}: {error}", details={"path": str(path)}) from error


def _no_format(path: Path, what: str) -> InvalidInput:
    return InvalidInput(f"{path}: {what}", details={"field": "path", "value": str(path)})
