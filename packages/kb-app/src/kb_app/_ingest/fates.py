"""What a batch says of each file, taken apart: so that one which is refused costs itself alone."""

from __future__ import annotations

from collections.abc import Sequence

from kb_app._media import medium_of
from kb_core.records import Changes, DocumentRecord, FileRecord, FileState, Move
from kb_core.values import dataclass, field, replace

__all__ = ["Fate", "apart", "rows_beside", "taking_back"]


@dataclass(slots=True)
class Fate:
    """What has to be committed together for one file: its documents and its row."""

    row: FileRecord
    documents: list[DocumentRecord] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)

    @property
    def changes(self) -> Changes:
        """All of it, as a batch."""
        return Changes(documents=tuple(self.documents), moves=tuple(self.moves), files=(self.row,))

    @property
    def doc_ids(self) -> list[str]:
        """The documents of the file."""
        moved = [move.document for move in self.moves]
        return [document.doc_id for document in [*self.documents, *moved]]

    @property
    def first(self) -> DocumentRecord:
        """The document that the file itself is."""
        return (self.documents or [self.moves[0].document])[0]


def apart(changes: Changes) -> list[Fate]:
    """Return what each file of a batch that has documents needs."""
    rows = {(row.source_id, row.path): row for row in changes.files if row.doc_id}
    fates: dict[tuple[str, str], Fate] = {}

    def fate(document: DocumentRecord) -> Fate:
        file = (document.source_id, document.container or document.path)
        return fates.setdefault(file, Fate(rows[file]))

    for document in changes.documents:
        fate(document).documents.append(document)
    for move in changes.moves:
        fate(move.document).moves.append(move)
    for each in fates.values() if changes.kept else ():
        # What is kept of it may go with it, so the next run makes all of it.
        if medium_of(each.first.media).holds_files:
            each.row = replace(each.row, fingerprint=None)
    return list(fates.values())


def rows_beside(changes: Changes, fates: Sequence[Fate]) -> tuple[FileRecord, ...]:
    """Return the rows of *changes* that are of none of *fates*."""
    theirs = {(fate.row.source_id, fate.row.path) for fate in fates}
    return tuple(row for row in changes.files if (row.source_id, row.path) not in theirs)


def taking_back(fates: Sequence[Fate]) -> Changes:
    """Return what undoes *fates*, rows included.

    A run that ends here leaves rows without a document and without a fingerprint, so the next
    one reads the files again: a row that said ``indexed`` would hide for ever that they are not.
    """
    rows = [
        replace(
            fate.row,
            state=FileState.FAILED,
            doc_id=None,
            fingerprint=None,
            error_code="internal",
            detail="it was taken back with its batch; the next run reads it again",
        )
        for fate in fates
    ]
    gone = [doc_id for fate in fates for doc_id in fate.doc_ids]
    return Changes(deleted_docs=tuple(gone), files=tuple(rows))
