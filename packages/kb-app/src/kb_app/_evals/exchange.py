"""Golden questions and runs in the formats of others: BEIR folders, TREC judgements and runs.

    FOLDER/queries.jsonl, corpus.jsonl, qrels/test.tsv      BEIR
    QUERY 0 DOC GRADE           judgements (qrels), a line each
    QUERY<tab>TEXT              the queries that they are of
    QUERY Q0 DOC RANK SCORE RUN a run

Names in lines are parted by white space, so what is exported is percent-encoded as in URIs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._evals.stored import Asked, RunFolder
from kb_core.citations import quote_path
from kb_core.errors import InvalidInput, IoError
from kb_core.evals import EvalCase

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["export_run", "read_beir", "read_trec", "write_documents"]

_QRELS_FIELDS, _BEIR_FIELDS = 4, 3
_SUFFIX = ".md"


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
                row = json.loads(line)
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
