"""Where an index is that is not in the data directory, as the configuration says it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.config import Index
from kb_core.errors import ConfigInvalid

if TYPE_CHECKING:
    from kb_search.milvus import Place
    from kb_search.milvus.lease import Publisher

__all__ = ["place_of", "publisher_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_TOKEN = "KEBAB_INDEX_TOKEN"  # noqa: S105 - the name of a variable


def place_of(index: Index, environ: Mapping[str, str]) -> Place:
    """Return where the index is, with its token; no error says a word of that."""
    from kb_search.milvus import Place

    if not index.uri:
        raise ConfigInvalid(
            "index.uri is empty, and index.engine is 'milvus'",
            hint="give https://HOST:19530, or a directory such as /data/milvus.db",
            details={"field": "index.uri", "value": ""},
        )
    for field in ("collection", "database"):
        value: str = getattr(index, field)
        if not _NAME.fullmatch(value) and (value or field == "collection"):
            raise ConfigInvalid(
                f"index.{field} {value!r} is not letters, digits and _",
                hint="begin with a letter",
                details={"field": f"index.{field}", "value": value},
            )
    return Place(
        uri=index.uri,
        token=_token(index, environ),
        database=index.database,
        collection=index.collection,
    )


def publisher_of(data_dir: Path, wait_secs: float) -> Publisher:
    """Return who publishes from *data_dir*: a copy of it, here or elsewhere, is another one."""
    from kb_search.milvus.lease import Publisher

    machine = platform.node()
    with suppress(OSError):
        machine = Path("/etc/machine-id").read_text("ascii").strip() or machine
    told = f"{machine}\0{data_dir.resolve()}"
    owner = blake2b(told.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return Publisher(owner, f"{platform.node()}:{data_dir.name}", wait_secs)


def _token(index: Index, environ: Mapping[str, str]) -> str:
    token, origin = environ.get(_TOKEN, ""), _TOKEN
    if not token and index.token_file:
        origin = f"[index] token_file = {index.token_file!r}"
        try:
            token = Path(index.token_file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigInvalid(f"{origin} cannot be read: {why}") from error
        if not token.strip():
            raise ConfigInvalid(f"{origin} is empty", hint="put the token there, nothing else")
    token = token.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigInvalid(f"{origin} holds more than a token", hint="one line, without blanks")
    return token
