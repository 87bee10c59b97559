"""Secrets, which are not indexed, and text that gives orders to a model, which is flagged.

What is said of a find is its kind and its line, never the secret itself. The patterns are
those of credentials that are recognisable as such: a private key with a body, tokens
with their issuer's prefix and length. A bare ``password = "…"`` is not looked for, and
placeholders (``AKIAIOSFODNN7EXAMPLE``, ``ghp_xxxxxxxx…``) are not taken for secrets.

Text that speaks to a language model rather than to a reader is kept, found and cited like
any other, and flagged, so that an agent can see that a document tries to give it orders.
Its patterns are few and plain on purpose: a flag is a hint, not a verdict.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb_app._ingest.judging.kinds import Skip
from kb_core.ingest import SkipReason

__all__ = ["check_secret_name", "find_secret", "flags_of"]

_NAMES = re.compile(
    r"(?:\.env(?:\.(?!example$|sample$|template$|dist$|defaults?$)[\w-]+)?|\.?[\w-]+\.env"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[._]netrc|\.pgpass|\.my\.cnf|\.git-credentials"
    r"|\.htpasswd|\.pypirc|\.dockercfg|\.s3cfg|\.vault-token|.*\.(?:kdbx|ppk|jks|p12|pfx))"
)
_PATHS = ("/.aws/credentials", "/.docker/config.json", "/.kube/config", "/.ssh/identity")
_PUBLIC_ENV = ("example.env", "sample.env", "template.env", "default.env", "defaults.env")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A kind of secret; the regex runs only over texts that hold the anchor."""

    kind: str
    anchor: str
    regex: re.Pattern[str]
    """Its first group, or else the whole match, is what must not look like a placeholder."""


def _pattern(kind: str, anchor: str, regex: str) -> _Pattern:
    return _Pattern(kind, anchor, re.compile(regex))


_PATTERNS = (
    _pattern(
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\r)?(?:\\n)?[\"'+\s\\n]*"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n]*\s+)*([A-Za-z0-9+/=]{40,})",
    ),
    _pattern("putty private key", "PuTTY-User-Key-File", r"PuTTY-User-Key-File-\d: [\w-]+\s"),
    _pattern("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1([0-9A-Z]{58})"),
    _pattern("aws access key", "AKIA", r"\bAKIA([A-Z2-7]{16})\b"),
    _pattern("aws session key", "ASIA", r"\bASIA([A-Z2-7]{16})\b"),
    _pattern(
        "aws secret key",
        "ws_secret_access_key",
        r"aws_secret_access_key[\"']?\s*[=:]\s*[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _pattern("google api key", "AIza", r"\bAIza([0-9A-Za-z_-]{35})(?![0-9A-Za-z_-])"),
    _pattern("google oauth secret", "GOCSPX-", r"\bGOCSPX-([0-9A-Za-z_-]{28})\b"),
    _pattern("github token", "gh", r"\bgh[pousr]_([A-Za-z0-9]{36,255})\b"),
    _pattern("github token", "github_pat_", r"\bgithub_pat_([A-Za-z0-9_]{60,})\b"),
    _pattern("gitlab token", "glpat-", r"\bglpat-([A-Za-z0-9_-]{20,})\b"),
    _pattern("slack token", "xox", r"\bxox[abeoprs]-(\d{6,}-[A-Za-z0-9-]{16,})\b"),
    _pattern("slack app token", "xapp-", r"\bxapp-\d-([A-Z0-9]+-\d+-[a-f0-9]{32,})\b"),
    _pattern(
        "slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/([A-Za-z0-9]{20,})",
    ),
    _pattern("stripe key", "k_live_", r"\b[sr]k_live_([A-Za-z0-9]{24,})\b"),
    _pattern("openai key", "T3BlbkFJ", r"\bsk-([\w-]{16,}T3BlbkFJ[\w-]{16,})"),
    _pattern("anthropic key", "sk-ant-", r"\bsk-ant-[a-z0-9]+-([\w-]{80,})"),
    _pattern("hugging face token", "hf_", r"\bhf_([A-Za-z]{34})\b"),
    _pattern("npm token", "npm_", r"\bnpm_([A-Za-z0-9]{36})\b"),
    _pattern("pypi token", "pypi-AgEI", r"\bpypi-AgEI([\w-]{60,})"),
    _pattern("sendgrid key", "SG.", r"\bSG\.([\w-]{22}\.[\w-]{43})\b"),
    _pattern("digitalocean token", "dop_v1_", r"\bdop_v1_([a-f0-9]{64})\b"),
    _pattern("azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    _pattern(
        "kubernetes client key",
        "client-key-data:",
        r"client-key-data:\s*([A-Za-z0-9+/=]{100,})",
    ),
)

_PLACEHOLDER = re.compile(r"example|xxxx|\*\*\*|0{6}|a{6}|1234567|abcdefg|your|dummy|fake|redacted")
_MIN_DISTINCT = 9

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


def check_secret_name(path: str) -> Skip | None:
    """Judge a file by its name, unread: ``.env``, ``id_rsa``, ``.netrc`` and their like."""
    lower = "/" + path.lower()
    name = lower[lower.rfind("/") + 1 :]
    if name in _PUBLIC_ENV or not (_NAMES.fullmatch(name) or lower.endswith(_PATHS)):
        return None
    return Skip(SkipReason.SECRET_SUSPECTED, f"files called {name} hold credentials")


def find_secret(text: str) -> Skip | None:
    """Judge a text by what it holds; the detail names the kind and the line."""
    for pattern in _PATTERNS:
        if pattern.anchor not in text:
            continue
        for match in pattern.regex.finditer(text):
            if not _is_placeholder(match[match.lastindex or 0]):
                line = text.count("\n", 0, match.start()) + 1
                return Skip(SkipReason.SECRET_SUSPECTED, f"{pattern.kind}, line {line}")
    return None


def _is_placeholder(token: str) -> bool:
    head = token[:200]
    return len(set(head)) < _MIN_DISTINCT or _PLACEHOLDER.search(head.lower()) is not None


def flags_of(text: str) -> tuple[str, ...]:
    """Return ``("instructions",)`` where *text* looks like orders to a model."""
    return ("instructions",) if _ORDERS.search(text) else ()
