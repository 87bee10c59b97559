"""What servers are asked while files are read: over HTTP, with a key that goes to them alone.

A server that points elsewhere is not followed, since the key would go there too; the key
stands in no error, log or file of ours. A worker process waits for it, and ends with its run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kb_core.errors import ModelUnreachable
from kb_core.text import read_json
from kb_core.values import dataclass

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

__all__ = ["Server", "is_address"]

_TIMEOUT_SECS = 300
_MOST_ANSWER = 10_000_000
_ADDRESS = re.compile(r"https?://[^/\s@]+(?:/\S*)?")


def is_address(endpoint: str) -> bool:
    """Say whether *endpoint* is an address of HTTP, and not of a file, for one."""
    return bool(_ADDRESS.fullmatch(endpoint))


@dataclass(frozen=True, slots=True)
class Server:
    """A server at *endpoint*, such as ``http://localhost:8000/v1``."""

    endpoint: str
    what: str
    """What it is and gives, as an error says it: ``speech server``, ``transcript``."""
    gives: str
    key_name: str
    """The environment variable that holds its key, before ``key_file`` is looked at."""
    key_file: str
    setting: str
    """What names it in the configuration, such as ``[audio] endpoint``."""
    key_setting: str

    def post(self, path: str, body: bytes, media: str) -> Mapping[str, object]:
        """Return the JSON object that it answers; ``ModelUnreachable`` where it does not."""
        from http.client import HTTPException  # 25 ms: not where no server is asked
        from urllib.error import HTTPError
        from urllib.request import Request

        if not is_address(self.endpoint):
            raise self.failed("it is no address such as http://localhost:8000/v1")
        headers = {"Content-Type": media}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        address = f"{self.endpoint.rstrip('/')}/{path}"
        request = Request(address, body, headers)  # noqa: S310 - checked above
        try:
            with _opener().open(request, timeout=_TIMEOUT_SECS) as response:
                answer = read_json(response.read(_MOST_ANSWER))
        except HTTPError as error:
            with error:
                raise self.failed(f"it answers {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise self.failed(str(reason).strip() or type(error).__name__) from None
        if not isinstance(answer, dict):
            raise self.failed("its answer is no JSON object")
        return answer

    def failed(self, reason: str) -> ModelUnreachable:
        """Return the error that says why it gave nothing."""
        return ModelUnreachable(
            f"the {self.what} {self.endpoint!r} gives no {self.gives}: {reason}",
            hint=f"start it, or change {self.setting}; then kebab ingest --retry-failed",
            details={"endpoint": self.endpoint},
        )

    def _key(self) -> str:
        key = os.environ.get(self.key_name, "")
        if not key and self.key_file:
            try:
                key = Path(self.key_file).expanduser().read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                why = f"{self.key_setting} = {self.key_file!r} cannot be read"
                raise self.failed(f"{why}: {getattr(error, 'strerror', 'no text')}") from None
        key = key.strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise self.failed("what should be its key is more than a key")
        return key


@cache
def _opener() -> OpenerDirector:
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """A server that points elsewhere would have the key sent there."""

        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    return build_opener(NoRedirect)
