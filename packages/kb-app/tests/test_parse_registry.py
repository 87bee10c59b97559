"""Which parser a file gets, and what is loaded for it."""

import subprocess
import sys

import pytest

from kb_app._ingest.registry import chunker_for, parser_for
from kb_core.media import Media

HEAVY = ("markdown_it", "tree_sitter", "py3langid", "numpy", "yaml", "charset_normalizer")


@pytest.mark.parametrize(
    ("media", "code_lang", "version"),
    [
        ("markdown", None, "markdown-1"),
        ("text", None, "text-1"),
        ("code", "python", "code-1"),
        ("code", "jsx", "code-1"),
        ("code", "shell", "code-1"),
        ("code", "yaml", "outline-1"),
        ("code", "json", "text-1"),
        ("code", None, "text-1"),
    ],
)
def test_every_file_has_a_parser(media: str, code_lang: str | None, version: str) -> None:
    assert parser_for(media, code_lang).version == version


@pytest.mark.parametrize("media", Media)
def test_every_medium_has_a_chunker(media: str) -> None:
    assert chunker_for(media).version


def test_importing_the_registry_loads_no_library() -> None:
    program = f"""
import sys, kb_app._ingest.registry
sys.exit(", ".join(name for name in {HEAVY!r} if name in sys.modules) or 0)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_code_loads_no_library_of_texts() -> None:
    program = """
import sys
from kb_app._ingest.registry import parser_for
from kb_core.documents import SourceFile
file = SourceFile(source_id="s", path="a.py", media="code", code_lang="python")
parser_for("code", "python")(b"x = 1", file)
sys.exit(", ".join(name for name in ("markdown_it", "py3langid") if name in sys.modules) or 0)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")
