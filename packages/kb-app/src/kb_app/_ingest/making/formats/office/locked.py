"""Files of office programs that are locked with a password, opened by msoffcrypto.

It is a part of the extra ``office``. What is tried are the passwords that the configuration
names, and the one by which Excel opens what is locked against changes only: [MS-OFFCRYPTO]
2.4.2.3. None of them is told, logged or kept.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from kb_app._ingest.making.containers import LOCKED, Refused, locked_out
from kb_app._media import OFFICE, UNLOCKING
from kb_core.documents import SourceFile
from kb_core.ingest import SkipReason

__all__ = ["passwords_for", "unlocked"]

_AGAINST_CHANGES = "VelvetSweatshop"
_FATAL = (MemoryError, KeyboardInterrupt, SystemExit)


def passwords_for(file: SourceFile) -> tuple[str, ...]:
    """Return the passwords that a locked file may be tried with."""
    given = file.options.get("passwords")
    return tuple(given) if isinstance(given, (list, tuple)) else ()


def unlocked(data: bytes, passwords: Sequence[str]) -> bytes:
    """Return the file that *data* locks; raise ``Refused`` where no password opens it."""
    if not UNLOCKING.is_installed:
        hint = f"; files with a password need the extra {OFFICE.name}"
        raise Refused(SkipReason.ENCRYPTED, f"{LOCKED}{hint}" if passwords else locked_out(0))
    for password in (*passwords, _AGAINST_CHANGES):
        if (plain := _opened(data, password)) is not None:
            return plain
    raise Refused(SkipReason.ENCRYPTED, locked_out(len(passwords)))


def _opened(data: bytes, password: str) -> bytes | None:
    from msoffcrypto import OfficeFile
    from msoffcrypto.exceptions import DecryptionError, InvalidKeyError

    plain = io.BytesIO()
    try:
        locked = OfficeFile(io.BytesIO(data))
        locked.load_key(password=password)
        locked.decrypt(plain)
    except (DecryptionError, InvalidKeyError):
        return None
    except _FATAL:
        raise
    except Exception as error:  # noqa: BLE001 - of a damaged file, any may come
        detail = " ".join(f"{LOCKED}, and damaged: {error}".split())
        raise Refused(SkipReason.ENCRYPTED, detail) from None
    return plain.getvalue()
