"""Resources, and languages that are read line by line."""

from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.grammars import HEADERS
from kb_app._media import parser_for
from kb_core.documents import SourceFile


def units(source: str, code_lang: str) -> list[tuple[str | None, str | None]]:
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)
    document = parser_for("code", code_lang)(
        FileContent(dedent(source).lstrip("\n").encode()), file
    )
    return [(block.symbol_kind, block.symbol) for block in document.blocks]


def test_a_kubernetes_resource_is_one_unit_named_in_full() -> None:
    source = """
        # The web server.
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: web  # the name
          namespace: "prod"
          labels:
            name: other
        spec:
          template:
            metadata:
              name: inner
        ---
        apiVersion: v1
        kind: Namespace
        metadata: {name: prod}
        ---
        apiVersion: v1
        metadata:
          name: web
        kind: Service
    """

    assert units(source, "yaml") == [
        ("resource", "Deployment/prod/web"),
        ("resource", "Namespace"),
        ("resource", "Service/web"),
    ]


def test_two_resources_of_one_name_are_two_units() -> None:
    """Lesson 1: several resources in one file collided."""
    one = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"

    assert units(one + "---\n" + one, "yaml") == [("resource", "Pod/a")] * 2


@pytest.mark.parametrize(
    ("code_lang", "source", "symbols"),
    [
        ("yaml", "# c\nname: x\non:\n  push: 1\njobs:\n  a: b\n", ["name", "on", "jobs"]),
        ("toml", 'a = 1\n\n# c\n[tool.x]\nb = 1\n[[bin]]\nc = "[no]"\n', [None, "tool.x", "bin"]),
        ("ini", "[main]\na=1\n; c\n[other one]\n", ["main", "other.one"]),
        ("makefile", "CC := gcc\n\n# Builds.\nall: a b\n\tcc\n.PHONY: x\nx:\n", [
            None, "all", "x"]),
        ("dockerfile", "ARG X\nFROM a AS build\nRUN x\nFROM b\n", [None, "build", "stage"]),
        ("terraform", 'resource "aws_vpc" "main" {\n}\n\nlocals {\n}\n', [
            "resource.aws_vpc.main", "locals"]),
        ("sql", "-- T\nCREATE TABLE IF NOT EXISTS a.b (\n);\n\ncreate view v as select 1;\n", [
            "a.b", "v"]),
        ("lua", "local x = 1\n\nfunction M.f()\nend\nlocal function g()\nend\n", [
            None, "M.f", "g"]),
        ("proto", 'syntax = "proto3";\n\n// M.\nmessage M {\n}\nservice S {}\n', [None, "M", "S"]),
        ("graphql", "type Query {\n a: Int\n}\nenum E { A }\n", ["Query", "E"]),
        ("haskell", "module A where\n\nf :: Int\nf = 1\n", ["A", "f", "f"]),
        ("vue", "<template>\n <b/>\n</template>\n\n<script>\nx\n</script>\n", [
            "template", "script"]),
    ],
)  # fmt: skip
def test_a_header_line_starts_a_unit(
    code_lang: str, source: str, symbols: list[str | None]
) -> None:
    assert [symbol for _, symbol in units(source, code_lang)] == symbols


@pytest.mark.parametrize("code_lang", sorted(HEADERS))
def test_every_header_keeps_any_text_whole(code_lang: str) -> None:
    source = "a b c\n\n# x\n  def y:\n[z]\n---\nkind: '\n\0 한국어\n" * 3
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)

    document = parser_for("code", code_lang)(FileContent(source.encode()), file)

    held = "".join(document.text[block.start : block.end] for block in document.blocks)
    assert "".join(held.split()) == "".join(source.split())
