"""Kinds: what a file is made of, and whether a file like that is indexed.

``detect`` looks at the name alone, so a walk can ask about every file; it answers ``None``
for a name that says nothing, and then ``detect_from_bytes`` looks at the first
``HEAD_BYTES`` of the file. Any text has a medium: what is not known is ``text``.

Each check returns a ``Skip`` with a reason and a detail that a person understands, or
``None``. The caps on kilobytes and lines and the sniff for generated files apply to code
alone: a note may say "do not edit", and a PDF may be large. Markers of generators count
in comments near the top only, so a program about generated code is not taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_app._ingest.judging.decode import looks_binary
from kb_app._media import Extra, medium_of
from kb_core.ingest import SkipReason
from kb_core.media import Media
from kb_core.values import dataclass, lazy_pattern

__all__ = [
    "CHATS",
    "EXPORTS",
    "HEAD_BYTES",
    "LINED",
    "PAGES_OR_CODE",
    "TOLD_BY_BYTES",
    "WHATSAPP",
    "WRITTEN_LINES",
    "Caps",
    "Kind",
    "Skip",
    "begins_like",
    "check_bytes",
    "check_medium",
]
__all__ += [
    "check_lines",
    "check_size",
    "check_text",
    "detect",
    "detect_from_bytes",
    "is_message",
    "missing_extra",
    "not_text",
]

HEAD_BYTES = 8192
"""How much of a file detection looks at."""
LINED = frozenset({Media.MARKDOWN, Media.TEXT, Media.CSV, Media.CODE})
"""Media of which every line is a line of the file: pages and notebooks may hold pictures."""


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
    markdown: md mdx markdown mdown mkd mkdn rmd qmd mdc livemd
    text: txt text rst org adoc asciidoc asc log tex ltx latex bib textile wiki mediawiki pod tid
    text: texi texinfo txi
    notebook: ipynb
    html: html htm xhtml xht shtml mhtml mht
    csv: csv tsv
    pdf: pdf
    office: docx doc docm dotx dotm pptx ppt pptm ppsx ppsm potx potm xlsx xls xlsm xlsb xltx xltm
    office: pps odt ott fodt odp otp fodp ods ots fods odg otg fodg rtf pages numbers
    office: opml canvas gpx kml excalidraw drawio dio rss atom ofx qfx qif xmp
    mail: eml emlx msg mbox ics vcf enex tnef
    book: epub fb2 fbz mobi azw3
    image: png jpg jpeg webp gif tif tiff bmp heic heif avif ico psd jp2 svg svgz
    audio: wav mp3 m4a flac ogg oga opus aac wma aiff aif srt vtt
    video: mp4 webm mkv mov avi m4v mpg mpeg wmv
    archive: gz bz2 xz
""")

_CODE = _table("""
    rust: rs
    python: py pyi pyw pyx pxd
    typescript: ts mts cts
    tsx: tsx
    javascript: js mjs cjs
    jsx: jsx
    go: go
    java: java pde
    kotlin: kt kts
    c: c h
    cpp: cc cpp cxx c++ cppm ixx hh hpp hxx h++ ipp inl tpp tcc txx cu cuh ino
    csharp: cs csx
    ruby: rb rake gemspec ru podspec
    php: php phtml php5
    swift: swift
    scala: scala sc sbt
    shell: sh bash zsh ksh csh tcsh fish bats
    sql: sql ddl dml psql pgsql mysql pls plsql pkb pks
    css: css scss sass less pcss styl
    yaml: yaml yml
    dockerfile: dockerfile containerfile
    toml: toml
    json: json jsonc json5 jsonl ndjson geojson webmanifest
    xml: xml xsd xsl xslt plist wsdl csproj vbproj fsproj props targets resx xaml
    gradle: gradle
    makefile: mk mak just
    terraform: tf tfvars hcl
    cmake: cmake
    ini: ini cfg cnf conf properties editorconfig service timer socket mount desktop
    objc: m mm
    lua: lua luau
    perl: pl pm t raku rakumod
    r: r
    julia: jl
    haskell: hs lhs
    elixir: ex exs
    erlang: erl hrl escript
    clojure: clj cljs cljc edn
    lisp: lisp lsp el scm ss rkt fnl hy
    dart: dart
    ocaml: ml mli
    fsharp: fs fsi fsx
    zig: zig
    nim: nim nims nimble
    groovy: groovy
    powershell: ps1 psm1 psd1
    batch: bat cmd
    vim: vim
    vue: vue
    svelte: svelte
    proto: proto capnp fbs
    graphql: graphql gql
    nix: nix
    starlark: bzl star bazel
    fortran: f f77 f90 f95 f03 f08 for ftn fpp
    pascal: pas pp dpr lpr
    ada: adb ads
    assembly: s asm
    verilog: v sv svh
    vhdl: vhd vhdl
    solidity: sol
    cython: pxi
    diff: diff patch
    template: j2 jinja jinja2 tmpl gotmpl mustache hbs ejs erb eex heex twig liquid njk pug jade
    template: haml slim mako ftl jsp aspx cshtml razor
    gettext: po pot strings
    glsl: glsl vert frag comp geom tesc tese
    hlsl: hlsl
    wgsl: wgsl
    metal: metal
    astro: astro
    prisma: prisma
    thrift: thrift
    rego: rego
    bicep: bicep
    cue: cue
    gdscript: gd
    elm: elm
    purescript: purs
    crystal: cr
    coffeescript: coffee
    qml: qml
    tcl: tcl
    awk: awk
    vb: vb bas
    ninja: ninja
""")

_NAMES = _table("""
    dockerfile: dockerfile containerfile
    makefile: makefile gnumakefile justfile
    cmake: cmakelists.txt
    gomod: go.mod go.work
    gosum: go.sum
    gradle: gradlew
    ruby: gemfile rakefile vagrantfile podfile brewfile fastfile
    groovy: jenkinsfile
    starlark: build workspace build.bazel workspace.bazel tiltfile
    toml: cargo.lock poetry.lock uv.lock pdm.lock pipfile
    json: composer.lock pipfile.lock bun.lock deno.lock flake.lock .babelrc .eslintrc .prettierrc
    yaml: yarn.lock gemfile.lock pubspec.lock podfile.lock .clang-format .clang-tidy
    elixir: mix.lock
    shell: .bashrc .bash_profile .profile .zshrc .envrc pkgbuild
    dotenv: .env
    ini: .gitconfig .gitmodules .npmrc .pypirc .flake8 .pylintrc .coveragerc
    ignore: .gitignore .kebabignore .dockerignore .npmignore .gitattributes
    text: requirements.txt readme license licence copying notice authors changelog todo
""")

_SHEBANG = lazy_pattern(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S+\s+)*)?([\w.+-]+)")

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

_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of office programs of before 2007 begin, and messages of Outlook."""
_OF_OUTLOOK = "__properties_version1.0".encode("utf-16-le")
"""The name of what such a message has, and no other file of that kind."""
_PACKED_MESSAGE = b"\x78\x9f\x3e\x22"
"""How a message of Outlook begins that is packed into a mail, as ``winmail.dat``."""
_MAGIC = (
    (b"%PDF-", Media.PDF),
    (b"\x89PNG\r\n", Media.IMAGE),
    (b"\xff\xd8\xff", Media.IMAGE),
    (b"GIF8", Media.IMAGE),
    (b"OggS", Media.AUDIO),
    (b"fLaC", Media.AUDIO),
    (b"ID3", Media.AUDIO),
    (b"{\\rtf", Media.OFFICE),
    (_COMPOUND, Media.OFFICE),
)
_IN_ZIP = (
    (lazy_pattern(rb"PK\x03\x04.{26}mimetype.{0,64}?application/epub\+zip", re.DOTALL), Media.BOOK),
    (
        lazy_pattern(
            rb"PK\x03\x04.{26}mimetype.{0,64}?application/vnd\.oasis\.opendocument"
            rb"|(?=PK\x03\x04).*?PK\x03\x04.{26}(?:word|ppt|xl)/",
            re.DOTALL,
        ),
        Media.OFFICE,
    ),
)
"""Archives of electronic books and of office programs, by their first members."""
_ARCHIVES = (".zip", ".jar")
"""Names of what stays an archive, whatever is in it."""
_LIKE = {
    Media.PDF: "a PDF",
    Media.IMAGE: "a picture",
    Media.AUDIO: "a recording",
    Media.BOOK: "a book",
    Media.OFFICE: "an office file",
}
_SVG = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?xml[^>]{0,400}>\s{0,200})?"
    rb"(?:<!(?:--.{0,2000}?--|DOCTYPE[^>]{0,400})>\s{0,200}){0,4}<svg\b",
    re.DOTALL,
)
_HTML = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?xml[^>]{0,400}>\s{0,200})?"
    rb"(?:<!--.{0,2000}?-->\s{0,200}){0,4}<(?:!doctype html|html)\b",
    re.DOTALL | re.IGNORECASE,
)

_MAIL = lazy_pattern(
    rb"(?:From \S+ +[^\n]*\d\d:\d\d[^\n]*\n)?"
    rb"(?=(?:[^\n]+\n){0,200}?"
    rb"(?:received: *(?:from|by)\b|message-id:\s*<|mime-version: *1|return-path: *<))"
    rb"(?=(?:[^\n]+\n){0,200}?(?:from|subject|date):)"
    rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*+){3}",
    re.IGNORECASE,
)
"""Headers of a mail, perhaps behind the envelope that a mailbox gives it."""

CHATS = lazy_pattern(
    r"(?:^|/)(?:conversations(?:-\d+)?|result|messages?(?:_\d+)?|\d{4}-\d\d-\d\d)\.json$",
    re.IGNORECASE,
)
"""What exports of conversations are called; what is in a file of such a name tells."""
_EXPORTS = lazy_pattern(
    r"(?:(?:^|/)(?:journal|tiddlers)\.json|(?:^|/)source/notes\.json"  # Day One, TiddlyWiki,
    r"|\[\d{15,20}\](?: \[part \d+\])?\.json|(?:^|/)sms-\d{8,14}\.xml)$",  # Simplenote, Discord
    re.IGNORECASE,
)
"""How the names of other exports end, which may be larger than code."""
EXPORTS = "exports-1"
"""The version of what tells exports of whose names none tells."""
WHATSAPP = "whatsapp-1"
"""The version of what reads conversations that are texts, of whose names none tells."""
TOLD_BY_BYTES = (Media.TEXT, Media.CODE, Media.HTML, Media.MAIL, *_LIKE)
"""What a file may turn out to be whose name says nothing."""
PAGES_OR_CODE = (Media.HTML, Media.CODE)
"""What a file that is called HTML may be: a page, or a template of pages."""


_TONGUES = frozenset({"cs", "pl", "ru", "sv"})
"""Languages that people speak, whose short names are extensions of code, too."""
_READ = frozenset(
    {"authors", "changelog", "contributing", "copying", "faq", "hacking", "license", "news"}
    | {"readme", "todo", "tutorial"}
)


def detect(path: str) -> Kind | None:
    """Return what the name of *path* says of the file; ``None`` if it says nothing."""
    name = path[path.rfind("/") + 1 :].lower()
    if name in _NAMES:
        value = _NAMES[name]
        return Kind(Media.TEXT) if value == "text" else Kind(Media.CODE, value)
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or stem.endswith(".tar"):
        return None
    extension = "fb2" if name.endswith(".fb2.zip") else extension
    written = path[path.rfind("/") + 1 :]
    is_named = extension not in _CODE or written[0].isupper()
    if is_named and (stem.endswith("dockerfile") or stem in {"containerfile", "makefile", ".env"}):
        return Kind(Media.CODE, _NAMES.get(stem, "dockerfile"))  # Dockerfile.dev, no makefile.py
    is_tongue = extension in _TONGUES and stem in _READ and written.startswith(stem.upper())
    if is_tongue or (extension in {"json", "xml"} and _is_export(path)):
        return Kind(Media.TEXT if is_tongue else Media.MAIL)  # README.ru, in Russian
    if extension in _CODE:
        return Kind(Media.CODE, _CODE[extension])
    return Kind(Media(_MEDIA[extension])) if extension in _MEDIA else None


def _is_export(path: str) -> bool:
    return (CHATS.search(path) or _EXPORTS.search(path)) is not None


def detect_from_bytes(head: bytes, path: str = "") -> Kind | None:
    """Return what a file that begins with *head* is made of; ``None`` if it is binary."""
    if (media := _begun(head)) and not path.lower().endswith(_ARCHIVES):
        return Kind(media)
    if _SVG.match(head):
        return Kind(Media.IMAGE)
    if _HTML.match(head):
        return Kind(Media.HTML)
    if _MAIL.match(head) or head.startswith(_PACKED_MESSAGE):
        return Kind(Media.MAIL)
    if (shebang := _SHEBANG.match(head)) is not None:
        program = shebang[1].decode("ascii", "replace").lower().rstrip("0123456789.")
        if program in _INTERPRETERS:
            return Kind(Media.CODE, _INTERPRETERS[program])
    return None if looks_binary(head) else Kind(Media.TEXT)


def is_message(data: bytes) -> bool:
    """Say whether a file is a message of Outlook, by all of its bytes."""
    return data.startswith(_COMPOUND) and _OF_OUTLOOK in data


def _begun(head: bytes) -> Media | None:
    """Return the medium that only such a file begins like."""
    for magic, media in _MAGIC:
        if head.startswith(magic):
            return media
    return next((media for pattern, media in _IN_ZIP if pattern.match(head)), None)


def begins_like(data: bytes) -> str:
    """Return what a file begins like that has a name of another kind; empty if like nothing."""
    media = _begun(data[:HEAD_BYTES])
    if media is None and _HTML.match(data[:HEAD_BYTES]):
        return "HTML"
    return _LIKE[media] if media else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Limits, as ``[ingest]``, ``[code]`` and ``[limits]`` of the configuration give them."""

    max_file_mb: int = 200
    max_code_kb: int = 1024
    max_code_lines: int = 20_000
    skip_generated: bool = True
    line_mb: int = 25
    """Of the longest line of a file that is cited by its lines."""
    archives: bool = False
    """Archives are opened."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a file is left alone: a ``SkipReason``, and of a missing extra its name."""

    reason: str
    detail: str = ""


_HEAD_LINES = 40
_CODE_BEFORE = 5
"""A comment that says so has no more lines of code before it, such as those that name a package;
further down it may be a text that the program writes."""
_BLOCK = lazy_pattern(r"\s*(?:(/\*)|(<!--)|(\(\*)|(\{-))")
_ENDS = ("*/", "-->", "*)", "-}")
_COMMENT = r"^\s*(?://|#|/?\*|--|;|<!--|%|\(\*|'|\{-|@?rem\b)"
_MARKERS = lazy_pattern(
    _COMMENT + r"(?:.*(?:generated\b.*\bdo\s+not\s+(?:edit|modify)"
    r"|do\s+not\s+(?:edit|modify)\b.*\bgenerated"
    r"|\bauto-?generated\s+(?:file|code|by)|<auto-?generated"
    r"|this\s+file\s+(?:is|was)\s+(?:auto(?:matically)?[- ]?)?generated"
    r"|this\s+is\s+an?\s+(?:auto(?:matically)?[- ]?)?generated\s+file)"
    r"|[\s*!]*@generated\b|.*\bautomatically\s+@generated\b)",
    re.IGNORECASE | re.MULTILINE,
)
_IS_COMMENT = lazy_pattern(_COMMENT)
_GENERATED_NAMES = lazy_pattern(
    r"(?:\.min\.(?:js|css)|\.(?:js|css)\.map|[._-]bundle\.js|_pb2(?:_grpc)?\.pyi?|\.pb\.go"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|go\.sum"
    r"|(?:composer|pipfile|poetry|uv|pdm|cargo|gemfile|pubspec|podfile|bun|deno|flake|mix)\.lock))$",
    re.IGNORECASE,
)
_DATA_LANGS = frozenset({"json", "xml", "html", "yaml", "toml", "sql", "ini"})
"""What people keep on one long line without a program having squeezed it."""
_LONG_LINE = 1000
_MINIFIED_MIN = 2000
WRITTEN_LINES = 100
"""Lines of usual length that no program has squeezed: a file with so many was written by somebody,
and has a list or a picture on a long line."""


def check_medium(media: str, path: str = "") -> Skip | None:
    """Judge the file *path* by its medium: whether it can be read, as things are installed."""
    row = medium_of(media)
    if not row.is_supported:
        return Skip(SkipReason.UNSUPPORTED, f"{media} is not indexed yet")
    extra = row.missing_for(path)
    return None if extra is None else missing_extra(media, extra)


def missing_extra(media: str, extra: Extra) -> Skip:
    """Say that *extra* has to be installed to read *media*, and by which command."""
    reason = f"{SkipReason.MISSING_EXTRA}:{extra.name}"
    return Skip(reason, f"{media} needs the extra {extra.name!r}: {extra.install}")


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


_ARCHIVE = lazy_pattern(
    rb"PK(?:\x03\x04|\x05\x06)|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|.{257}ustar", re.DOTALL
)
_COMPRESSED = lazy_pattern(rb"\x1f\x8b\x08|BZh[1-9]|\xfd7zXZ\x00|\x28\xb5\x2f\xfd")


def not_text(data: bytes) -> Skip:
    """Say why a file of no known name, whose bytes are no text, is left alone."""
    if _ARCHIVE.match(data):
        return Skip(
            SkipReason.UNSUPPORTED,
            "archives are not opened: unpack it; ingest.archives opens zip and tar",
        )
    if _COMPRESSED.match(data):
        return Skip(SkipReason.UNSUPPORTED, "compressed files are not opened: unpack it")
    return Skip(SkipReason.BINARY, "not text")


def check_bytes(data: bytes) -> Skip | None:
    """Judge the bytes of what should be text."""
    if not looks_binary(data[:65536]):
        return None
    if like := begins_like(data):
        return Skip(SkipReason.BINARY, f"not text: it begins like {like}; rename it")
    return not_text(data)


def check_lines(data: bytes, media: Media, caps: Caps) -> Skip | None:
    """Judge the bytes of a text by its longest line, where it is cited by its lines."""
    if media not in LINED:
        return None
    most, at = caps.line_mb * 1_000_000, 0
    while len(data) - at > most:
        end = data.rfind(b"\n", at, at + most + 1)
        if end < 0:
            line = data.count(b"\n", 0, at) + 1
            detail = f"line {line:,} is longer than {caps.line_mb} MB"
            detail += f"; [limits] line_mb is {caps.line_mb}"
            return Skip(SkipReason.TOO_LARGE, detail)
        at = end + 1
    return None


NO_TEXT = "there is no text in it"
"""What is said of a file of no text, such as a container, in which nothing can be read."""


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


def _first_comments(text: str) -> Iterator[str]:
    """Yield the first lines, up to where code begins."""
    end, code = "", 0
    for line in text[:20_000].split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        if not end and (opens := _BLOCK.match(line)):
            end = _ENDS[(opens.lastindex or 1) - 1]
        code += not (end or not line.strip() or _IS_COMMENT.match(line))
        if code > _CODE_BEFORE:
            break
        if end and end in line:
            end = ""
        yield line


def _generated(text: str, path: str, code_lang: str | None) -> str:
    if _GENERATED_NAMES.search(path):
        return "by its name"
    head = "\n".join(line[:200] for line in _first_comments(text))
    if (marker := _MARKERS.search(head)) is not None:
        return f"line {head.count(chr(10), 0, marker.end()) + 1} says so"
    if code_lang not in _DATA_LANGS and len(text) >= _MINIFIED_MIN and _is_minified(text):
        return "minified: most of it is on very long lines"
    return ""


def _is_minified(text: str) -> bool:
    lines = text.split("\n")
    share = sum(len(line) for line in lines if len(line) > _LONG_LINE) / len(text)
    if share <= 1 / 2:
        return False
    written = sum(len(line) <= _LONG_LINE and bool(line.strip()) for line in lines)
    return written < WRITTEN_LINES or share > 9 / 10
