"""Detection: what a file is made of, by its name first, else by its first bytes.

``detect`` looks at the name alone, so a walk can ask about every file; it answers ``None``
for a name that says nothing, and then ``detect_from_bytes`` looks at the first
``HEAD_BYTES`` of the file. Any text has a medium: what is not known is ``text``. Whether a
medium can be read is not asked here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb_app._ingest.sniff import looks_binary
from kb_core.media import Media

__all__ = ["HEAD_BYTES", "TOLD_BY_BYTES", "Kind", "detect", "detect_from_bytes"]

HEAD_BYTES = 8192
"""How much of a file detection looks at."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is made of; ``code_lang`` is given for code only."""

    media: Media
    code_lang: str | None = None


def _table(text: str) -> dict[str, str]:
    """Read lines of ``value: key key …`` into a table from key to value."""
    rows = (line.split(":") for line in text.strip().splitlines())
    return {key: value.strip() for value, keys in rows for key in keys.split()}


_MEDIA = _table("""
    markdown: md mdx markdown mdown mkd mkdn
    text: txt text rst org adoc asciidoc asc log tex ltx bib textile wiki mediawiki pod srt vtt
    notebook: ipynb
    csv: csv tsv
    pdf: pdf
    office: docx doc docm pptx ppt pptm xlsx xls xlsm odt odp ods rtf pages numbers key
    mail: eml msg mbox
    book: epub mobi azw3
    image: png jpg jpeg webp gif tif tiff bmp heic heif avif ico psd jp2
    audio: wav mp3 m4a flac ogg oga opus aac wma aiff aif
    video: mp4 webm mkv mov avi m4v mpg mpeg wmv
""")

_CODE = _table("""
    rust: rs
    python: py pyi pyw pyx pxd
    typescript: ts mts cts
    tsx: tsx
    javascript: js mjs cjs
    jsx: jsx
    go: go
    java: java
    kotlin: kt kts
    c: c h
    cpp: cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh ino
    csharp: cs csx
    ruby: rb rake gemspec ru
    php: php phtml php5
    swift: swift
    scala: scala sc sbt
    shell: sh bash zsh ksh fish bats
    sql: sql ddl psql
    html: html htm xhtml
    css: css scss sass less
    yaml: yaml yml
    dockerfile: dockerfile containerfile
    toml: toml
    json: json jsonc json5 jsonl ndjson geojson webmanifest
    xml: xml xsd xsl xslt svg plist wsdl rss atom csproj vbproj fsproj props targets resx xaml
    gradle: gradle
    makefile: mk mak
    terraform: tf tfvars hcl
    cmake: cmake
    ini: ini cfg conf properties editorconfig service timer desktop
    objc: m mm
    lua: lua
    perl: pl pm
    r: r
    julia: jl
    haskell: hs lhs
    elixir: ex exs
    erlang: erl hrl
    clojure: clj cljs cljc edn
    lisp: lisp lsp el scm rkt
    dart: dart
    ocaml: ml mli
    fsharp: fs fsi fsx
    zig: zig
    nim: nim
    groovy: groovy
    powershell: ps1 psm1 psd1
    batch: bat cmd
    vim: vim
    vue: vue
    svelte: svelte
    proto: proto
    graphql: graphql gql
    nix: nix
    starlark: bzl star
    fortran: f f90 f95 f03 for
    pascal: pas pp
    ada: adb ads
    assembly: s asm
    verilog: v sv svh
    vhdl: vhd vhdl
    solidity: sol
    cython: pxi
    diff: diff patch
    template: j2 jinja jinja2 tmpl mustache hbs ejs erb
""")

_NAMES = _table("""
    dockerfile: dockerfile containerfile
    makefile: makefile gnumakefile
    cmake: cmakelists.txt
    gomod: go.mod go.work
    gosum: go.sum
    gradle: gradlew
    ruby: gemfile rakefile vagrantfile podfile brewfile fastfile
    groovy: jenkinsfile
    starlark: build workspace build.bazel workspace.bazel tiltfile
    toml: cargo.lock poetry.lock uv.lock pdm.lock pipfile
    json: composer.lock pipfile.lock .babelrc .eslintrc .prettierrc
    yaml: .clang-format .clang-tidy
    shell: .bashrc .bash_profile .profile .zshrc .envrc pkgbuild
    dotenv: .env
    ini: .gitconfig .gitmodules .npmrc .pypirc .flake8 .pylintrc .coveragerc
    ignore: .gitignore .kebabignore .dockerignore .npmignore .gitattributes
    text: requirements.txt readme license licence copying notice authors changelog todo
""")

_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S+\s+)*)?([\w.+-]+)")

_INTERPRETERS = _table("""
    python: python pypy uv
    shell: sh bash zsh ksh dash ash fish
    javascript: node nodejs bun
    typescript: deno ts-node tsx
    ruby: ruby
    perl: perl
    php: php
    lua: lua luajit
    r: rscript
    julia: julia
    elixir: elixir
    groovy: groovy
    make: make
    powershell: pwsh
    awk: awk gawk
""")

_MAGIC = (
    (b"%PDF-", Media.PDF),
    (b"\x89PNG\r\n", Media.IMAGE),
    (b"\xff\xd8\xff", Media.IMAGE),
    (b"GIF8", Media.IMAGE),
    (b"OggS", Media.AUDIO),
    (b"fLaC", Media.AUDIO),
    (b"ID3", Media.AUDIO),
)

TOLD_BY_BYTES = (Media.TEXT, Media.CODE, *dict.fromkeys(media for _, media in _MAGIC))
"""What a file may turn out to be whose name says nothing."""


def detect(path: str) -> Kind | None:
    """Return what the name of *path* says of the file; ``None`` if it says nothing."""
    name = path[path.rfind("/") + 1 :].lower()
    if name in _NAMES:
        value = _NAMES[name]
        return Kind(Media.TEXT) if value == "text" else Kind(Media.CODE, value)
    stem, dot, extension = name.rpartition(".")
    if stem.endswith("dockerfile") or stem == "containerfile":
        return Kind(Media.CODE, "dockerfile")  # Dockerfile.dev
    if stem in {"makefile", ".env"}:
        return Kind(Media.CODE, "makefile" if stem == "makefile" else "dotenv")
    if not dot or not stem:
        return None
    if extension in _CODE:
        return Kind(Media.CODE, _CODE[extension])
    return Kind(Media(_MEDIA[extension])) if extension in _MEDIA else None


def detect_from_bytes(head: bytes) -> Kind | None:
    """Return what a file that begins with *head* is made of; ``None`` if it is binary."""
    for magic, media in _MAGIC:
        if head.startswith(magic):
            return Kind(media)
    if (shebang := _SHEBANG.match(head)) is not None:
        program = shebang[1].decode("ascii", "replace").lower().rstrip("0123456789.")
        if program in _INTERPRETERS:
            return Kind(Media.CODE, _INTERPRETERS[program])
    return None if looks_binary(head) else Kind(Media.TEXT)
