"""Sniffing: what a look at a file's size, bytes or text says against indexing it.

Each check returns a ``Skip`` with a reason and a detail that a person understands, or
``None``. The caps on kilobytes and lines and the sniff for generated files apply to code
alone: a note may say "do not edit", and a PDF may be large. Markers of generators count
in comments near the top only, so a program about generated code is not taken for one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb_app._media import medium_of
from kb_core.ingest import SkipReason
from kb_core.media import Media

__all__ = [
    "Caps",
    "Skip",
    "check_bytes",
    "check_medium",
    "check_size",
    "check_text",
    "looks_binary",
    "utf16_or_32",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Limits, as ``[ingest]`` and ``[code]`` of the configuration give them."""

    max_file_mb: int = 200
    max_code_kb: int = 1024
    max_code_lines: int = 20_000
    skip_generated: bool = True


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a file is left alone: a ``SkipReason``, and of a missing extra its name."""

    reason: str
    detail: str = ""


_WHITE_OR_USUAL = frozenset(b"\t\n\r\f\v\b\x1b")
_CONTROLS = bytes(b for b in range(32) if b not in _WHITE_OR_USUAL) + b"\x7f"
_MAX_CONTROLS = 0.02
_SAMPLE = 4096
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")

_EAST_ASIAN = range(0x2E80, 0xD7B0)
_MAX_BLOCKS = 8

_HEAD_LINES = 40
_COMMENT = r"^\s*(?://|#|/?\*|--|;|<!--|%|\(\*|'|\{-|@?rem\b)"
_MARKERS = re.compile(
    _COMMENT + r"(?:.*(?:generated\b.*\bdo\s+not\s+(?:edit|modify)"
    r"|do\s+not\s+(?:edit|modify)\b.*\bgenerated"
    r"|\bauto-?generated\s+(?:file|code|by)|<auto-?generated"
    r"|this\s+file\s+(?:is|was)\s+(?:auto(?:matically)?[- ]?)?generated)"
    r"|[\s*!]*@generated\b|.*\bautomatically\s+@generated\b)",
    re.IGNORECASE | re.MULTILINE,
)
_GENERATED_NAMES = re.compile(
    r"(?:\.min\.(?:js|css)|\.(?:js|css)\.map|[._-]bundle\.js|_pb2(?:_grpc)?\.pyi?|\.pb\.go"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|go\.sum"
    r"|composer\.lock|pipfile\.lock|poetry\.lock|uv\.lock|cargo\.lock|gemfile\.lock))$",
    re.IGNORECASE,
)
_DATA_LANGS = frozenset({"json", "xml", "html", "yaml", "toml", "sql", "ini"})
"""What people keep on one long line without a program having squeezed it."""
_LONG_LINE = 1000
_MINIFIED_MIN = 2000


def check_medium(media: str) -> Skip | None:
    """Judge a file by its medium: whether it can be read here, as things are installed."""
    row = medium_of(media)
    if not row.is_supported:
        return Skip(SkipReason.UNSUPPORTED, f"{media} is not indexed yet")
    if (extra := row.missing) is not None:
        reason = f"{SkipReason.MISSING_EXTRA}:{extra.name}"
        return Skip(reason, f"{media} needs the extra {extra.name!r}: {extra.install}")
    return None


def check_size(size: int, media: Media, caps: Caps) -> Skip | None:
    """Judge a file by its size in bytes, unread."""
    if size == 0:
        return Skip(SkipReason.EMPTY, "no bytes")
    if size > caps.max_file_mb * 1_000_000:
        megabytes = size / 1_000_000
        detail = f"{megabytes:.1f} MB; [ingest] max_file_mb is {caps.max_file_mb}"
        return Skip(SkipReason.TOO_LARGE, detail)
    if media is Media.CODE and size > caps.max_code_kb * 1024:
        detail = f"{size // 1024} kB; [code] max_file_kb is {caps.max_code_kb}"
        return Skip(SkipReason.TOO_LARGE, detail)
    return None


def check_bytes(data: bytes) -> Skip | None:
    """Judge the bytes of what should be text."""
    return Skip(SkipReason.BINARY, "not text") if looks_binary(data[:65536]) else None


def check_text(
    text: str, path: str, media: Media, code_lang: str | None, caps: Caps
) -> Skip | None:
    """Judge a decoded text: empty, or, of code, too many lines or generated."""
    if not text or text.isspace():
        return Skip(SkipReason.EMPTY, "nothing but white space")
    if media is not Media.CODE:
        return None
    lines = text.count("\n") + 1
    if lines > caps.max_code_lines:
        detail = f"{lines} lines; [code] max_file_lines is {caps.max_code_lines}"
        return Skip(SkipReason.TOO_LARGE, detail)
    if caps.skip_generated and (why := _generated(text, path, code_lang)):
        return Skip(SkipReason.GENERATED, why)
    return None


def looks_binary(data: bytes) -> bool:
    """Say whether *data*, the start of a file, is not text in any encoding.

    Text has hardly any control characters; NUL is one. UTF-16 and UTF-32 are full of
    them and are recognised, with or without a byte order mark.
    """
    if not data or data.startswith(_BOMS):
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if not controls:
        return False
    if b"\0" in data and utf16_or_32(data) is not None:
        return False
    return controls > len(data) * _MAX_CONTROLS or (b"\0" in data and not _is_utf8(data))


def utf16_or_32(data: bytes) -> str | None:
    """Return the encoding of *data* if it looks like UTF-16 or UTF-32 without a mark."""
    sample = data[: min(len(data), _SAMPLE) // 4 * 4]
    if b"\0" not in sample:
        return None  # the blanks of such text have a NUL in them
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        # A cut through a surrogate pair is no fault of the text's.
        for end in (len(sample), len(sample) - 2):
            try:
                text = sample[:end].decode(encoding)
            except UnicodeDecodeError:
                continue
            if _is_plausible(text):
                return encoding
            break
    return None


def _is_plausible(text: str) -> bool:
    """Say whether *text* is printable, and has the spaces and letters that text has."""
    usual = sum(c.isprintable() or c in "\n\r\t\f" for c in text)
    blanks = sum(c in " \n\r\t\u3000" for c in text)
    return usual >= 0.98 * len(text) and (blanks > 0 or text.isascii()) and _few_scripts(text)


def _few_scripts(text: str) -> bool:
    # Bytes taken for UTF-16 the wrong way round fall all over the planes; text keeps to a few
    # blocks of 256 characters, but for the ideographs and Hangul, which fill a range of them.
    return len({ord(c) >> 8 for c in text if ord(c) not in _EAST_ASIAN}) <= _MAX_BLOCKS


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3 and "end of data" in error.reason
    return True


def _generated(text: str, path: str, code_lang: str | None) -> str:
    if _GENERATED_NAMES.search(path):
        return "by its name"
    head = "\n".join(line[:200] for line in text[:20_000].split("\n", _HEAD_LINES)[:_HEAD_LINES])
    if (marker := _MARKERS.search(head)) is not None:
        return f"line {head.count(chr(10), 0, marker.end()) + 1} says so"
    if code_lang not in _DATA_LANGS and len(text) >= _MINIFIED_MIN:
        long = sum(len(line) for line in text.split("\n") if len(line) > _LONG_LINE)
        if long > len(text) / 2:
            return "minified: most of it is on very long lines"
    return ""
