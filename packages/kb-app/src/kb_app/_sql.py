"""Questions in SQL, as the facade takes them: bounded, and with a list of what can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_core.stored import QueryResult

__all__ = ["MOST_ROWS", "MOST_SECS", "asked"]

MOST_ROWS, MOST_SECS = 1_000_000, 3600.0

_VIEWS = """
SELECT table_name AS view, column_name AS "column", data_type AS type
FROM information_schema.columns
WHERE table_schema = 'kebab' ORDER BY table_name, ordinal_position
"""


def asked(
    query: Callable[[str, int, float], QueryResult], statement: str, limit: int, seconds: float
) -> QueryResult:
    """Return what *statement* finds by *query*; a blank one lists views and columns."""
    for field, value, most in (("limit", limit, MOST_ROWS), ("timeout", seconds, MOST_SECS)):
        if not 0 < value <= most:
            raise InvalidInput(
                f"{field} is {value:g}, and has to be above 0, and {most:g} at most",
                hint=f"--{field} {'100' if field == 'limit' else '60'}",
                details={"field": field, "value": value},
            )
    return query(statement if statement.strip() else _VIEWS, limit, seconds)
