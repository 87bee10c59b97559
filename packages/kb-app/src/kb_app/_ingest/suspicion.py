"""Text that speaks to a language model rather than to a reader.

Such text is kept, found and cited like any other, and flagged, so that an agent can see
that a document tries to give it orders. The patterns are few and plain on purpose: a flag
is a hint, not a verdict.
"""

from __future__ import annotations

import re

__all__ = ["flags_of"]

_ORDERS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|my\s+)*
      (?:previous|prior|above|earlier|preceding|existing)\s+
      (?:instructions?|prompts?|rules|messages?|context|directions?)
  | \byou\s+are\s+now\s+(?:a|an|in|the)\b.{0,40}\b(?:assistant|model|mode|ai|agent)\b
  | \b(?:reveal|print|repeat|show)\s+(?:me\s+)?(?:your|the)\s+(?:system|hidden|initial)\s+prompt\b
  | <\|?(?:im_start|system|endoftext)\|?>
  | \[/?INST\]
    """,
    re.IGNORECASE | re.VERBOSE,
)


def flags_of(text: str) -> tuple[str, ...]:
    """Return ``("instructions",)`` where *text* looks like orders to a model."""
    return ("instructions",) if _ORDERS.search(text) else ()
