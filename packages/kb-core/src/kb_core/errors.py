"""Every error the knowledge base raises on purpose.

* KbError                     internal             a bug, if nothing more precise fits
  + ConfigInvalid             config_invalid       a bad value in the configuration
  + ConfigNotFound            config_not_found     the named configuration file is missing
  + InvalidInput              invalid_input        the request cannot be met, whatever is stored
  + NotIndexed                not_indexed          there is no knowledge base here yet
  + StaleCursor               stale_cursor         a cursor of another query, or of another list
  + ChunkNotFound             chunk_not_found      a good id that names no chunk here
  + DocNotFound               doc_not_found        a good id that names no document here
  + SpanNotSupported          span_not_supported   lines of something that has none
  + ModelUnreachable          model_unreachable    the configured model server does not answer
  + ModelNotPulled            model_not_pulled     the server does not have that model
  + ModelMissing              model_missing        the model's weights are not installed
  + Timeout                   timeout              a model took longer than allowed
  + StoreBusy                 store_busy           another writer is at work
  + StoreNewer                store_newer          written by a newer version of kebab
  + StoreCorrupt              store_corrupt        the store fails its checks
  + IndexCorrupt              index_corrupt        the index is damaged; the next run rebuilds it
  + ReadonlyMode              readonly_mode        a write was asked for in read-only mode
  + MissingExtra              missing_extra        an optional part is not installed
  + IoError                   io_error             the disk or the network said no

The second column is the class's stable ``code``, part of ``error.v1``. A search
without hits and a question that is declined are outcomes, not errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

__all__ = [
    "ChunkNotFound",
    "ConfigInvalid",
    "ConfigNotFound",
    "DocNotFound",
    "IndexCorrupt",
    "InvalidInput",
    "IoError",
    "KbError",
    "MissingExtra",
    "ModelMissing",
    "ModelNotPulled",
    "ModelUnreachable",
    "NotIndexed",
    "ReadonlyMode",
    "SpanNotSupported",
    "StaleCursor",
    "StoreBusy",
    "StoreCorrupt",
    "StoreNewer",
    "Timeout",
]


class KbError(Exception):
    """Base class: a stable ``code``, a message, perhaps a ``hint`` and ``details``.

    The message is lower case, names the value and says what was expected. The
    hint is something that can be done, best of all a command. Details are JSON
    values for programs.
    """

    code: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.hint = hint
        self.details = dict(details or {})


class ConfigInvalid(KbError):
    """A bad section, key or value in the configuration, or a bad bulk input."""

    code = "config_invalid"


class ConfigNotFound(KbError):
    """The configuration file that was named does not exist."""

    code = "config_not_found"


class InvalidInput(KbError):
    """The request cannot be met, whatever the knowledge base holds."""

    code = "invalid_input"


class NotIndexed(KbError):
    """There is no knowledge base here yet."""

    code = "not_indexed"


class StaleCursor(KbError):
    """The cursor belongs to another query, or to a list that has changed since."""

    code = "stale_cursor"


class ChunkNotFound(KbError):
    """A well-formed chunk id that names nothing here."""

    code = "chunk_not_found"


class DocNotFound(KbError):
    """A well-formed document id that names nothing here."""

    code = "doc_not_found"


class SpanNotSupported(KbError):
    """A line span of a document that is not addressed by lines."""

    code = "span_not_supported"


class ModelUnreachable(KbError):
    """The configured model server does not answer."""

    code = "model_unreachable"


class ModelNotPulled(KbError):
    """The model server answers, but does not have the model."""

    code = "model_not_pulled"


class ModelMissing(KbError):
    """The weights of a model are not installed, or are not the pinned ones."""

    code = "model_missing"


class Timeout(KbError):
    """A model or a server took longer than was allowed."""

    code = "timeout"


class StoreBusy(KbError):
    """A writer found another writer at work."""

    code = "store_busy"


class StoreNewer(KbError):
    """The store was written by a newer version of kebab."""

    code = "store_newer"


class StoreCorrupt(KbError):
    """The store fails its checks."""

    code = "store_corrupt"


class IndexCorrupt(KbError):
    """The index is damaged, and can be rebuilt from the store."""

    code = "index_corrupt"


class ReadonlyMode(KbError):
    """A write was asked for in read-only mode."""

    code = "readonly_mode"


class MissingExtra(KbError):
    """An optional part that the request needs is not installed."""

    code = "missing_extra"


class IoError(KbError):
    """The disk, the file system or the network refused."""

    code = "io_error"
