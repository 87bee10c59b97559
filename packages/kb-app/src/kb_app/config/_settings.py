"""Every section and key, with its default and the line that explains it.

The declarations are the whole truth: loading, ``kebab init``, ``config migrate`` and
the reference page are made from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from kb_app.config._passwords import Passwords
from kb_app.config._rules import About, Rule, rule_of, setting
from kb_core.media import TrustLevel
from kb_core.values import dataclass, field, metadata_of

__all__ = [
    "MCP_TOOLS",
    "SCHEMA_VERSION",
    "SECTIONS",
    "About",
    "Ask",
    "Audio",
    "Chunking",
    "Code",
    "CodebaseSearch",
    "Config",
    "Embedding",
    "Index",
    "Ingest",
    "Limits",
    "Log",
    "Mcp",
    "Ocr",
    "Origin",
    "Search",
    "Source",
    "Storage",
    "Ui",
    "Viewers",
    "Workspaces",
    "rules",
]

SCHEMA_VERSION = 1
TRUST_LEVELS = tuple(level.value for level in TrustLevel)
MCP_TOOLS = (
    *("search", "ask", "fetch", "grep", "bulk_search", "codebase_search", "similar", "list_docs"),
    *("links", "cite_verify", "explain_miss", "schema", "status", "doctor", "wait_for_fresh"),
    *("ingest_file", "ingest_stdin", "feedback", "all", "reading"),
)
"""Names of tools, and of several; a test of kb-mcp holds them to what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where the knowledge base is kept."""

    data_dir: Path = setting(
        "${XDG_DATA_HOME:-~/.local/share}/kebab", "Documents, indexes and vectors.", kind="path"
    )
    lock_wait_secs: float = setting(
        5.0, "How long a writer waits for another one to finish.", low=0, high=3600
    )
    safety_runs: int = setting(
        10, "Runs with changes after which a safety copy is made; 0: none.", low=0, high=1_000_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What finds: the index in the data directory, or one on Milvus (the extra `milvus`)."""

    engine: str = setting(
        "embedded", "embedded: in the data directory.", choices=("embedded", "milvus")
    )
    uri: str = setting(
        "", "Of Milvus: `https://HOST:19530`, or a directory here, as `/data/milvus.db`."
    )
    token_file: str = setting(
        "", "File that holds its token; KEBAB_INDEX_TOKEN goes before.", kind="file"
    )
    database: str = setting("", "Its database; empty: the default one.")
    collection: str = setting("kebab", "What its collections are called: letters, digits and `_`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A folder of documents."""

    id: str = setting("notes", "Its name: letters, digits, `.`, `_`, `-`.", kind="id")
    root: Path = setting("~/notes", "The folder; relative to this file.", kind="path")
    include: tuple[str, ...] = setting((), "Patterns of files to take; none means all.")
    exclude: tuple[str, ...] = setting((), "Patterns of files to leave out, as in .gitignore.")
    trust_level: str = setting("primary", "How far it is to be trusted.", choices=TRUST_LEVELS)
    source_type: str = setting("note", "A word to filter by, such as note, reference, code.")
    follow_links: bool = setting(default=False, doc="Follow links that leave the folder.")
    about: tuple[About, ...] = setting(
        (), "What it is about, in a sentence; see [[sources.about]] for folders.", kind="abouts"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """Indexing."""

    workers: int = setting(
        0, "Processes that parse; 0: one for each core.", kind="cores", low=0, high=256
    )
    executor: str = setting(
        "processes",
        "Who parses: processes here, or actors of a Ray cluster (the extra `ray`).",
        choices=("processes", "ray"),
    )
    ray_address: str = setting(
        "", "HOST:PORT of the cluster, or `auto`; empty: one of its own, here, for each run."
    )
    actors: int = setting(
        0, "Actors that parse; 0: one for each processor of the cluster.", low=0, high=10_000
    )
    batch_docs: int = setting(64, "Documents published at once.", low=1, high=10_000)
    batch_secs: float = setting(
        1.0, "Seconds after which a batch is published, full or not.", low=0.01, high=3600
    )
    max_file_mb: int = setting(200, "Larger files are skipped.", low=1, high=100_000)
    archives: bool = setting(
        default=False, doc="Open archives (zip, tar): each file in one is a document."
    )
    embed: bool = setting(default=True, doc="Compute embeddings after indexing.")
    allow_secrets: bool = setting(default=False, doc="Index files suspected of secrets, too.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """Sizes of chunks, in tokens of the embedding model.

    16 <= target <= max, overlap < target / 2.
    """

    target_tokens: int = setting(256, "What a chunk aims at.", low=16, high=100_000)
    overlap_tokens: int = setting(
        32, "What neighbours share where a block is cut.", low=0, high=100_000
    )
    max_tokens: int = setting(480, "What no chunk exceeds.", low=16, high=100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Source code."""

    max_file_kb: int = setting(1024, "Larger files of code are skipped.", low=1, high=1_000_000)
    max_file_lines: int = setting(20_000, "So are longer ones.", low=1, high=100_000_000)
    skip_generated: bool = setting(default=True, doc="Skip files that a program wrote.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The model that finds by meaning."""

    model: str = setting(
        "multilingual-e5-small", "A pack (see `kebab models`), a folder, or `none`.", kind="model"
    )
    provider: str = setting("local", "What runs it.", choices=("local", "ollama", "openai"))
    endpoint: str = setting("", "Address of the server, for the other providers.")
    threads: int = setting(
        0, "Threads of the local model; 0: one for each core.", kind="cores", low=0, high=256
    )
    quality: str = setting(
        "int8", "int8 is faster, fp32 a little better.", choices=("int8", "fp32")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Searching."""

    default_k: int = setting(10, "How many hits.", low=1, high=100)
    snippet_chars: int = setting(220, "Length of a snippet.", low=60, high=10_000)
    fusion: str = setting(
        "auto", "How words and meaning are put together.", choices=("auto", "rrf")
    )
    rrf_k: int = setting(60, "The constant of reciprocal rank fusion.", low=1, high=1000)
    rerank: bool = setting(
        default=False, doc="Read the first hits again, closely, and reorder them."
    )
    stale_threshold_days: int = setting(
        30, "Days after which an unverified document is stale; 0: never.", low=0, high=36_500
    )
    allowed_sources: tuple[str, ...] = setting(
        (), "Sources that are seen, by name, and by nothing else; then nothing is written."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodebaseSearch:
    """The batch search for language models."""

    max_results: int = setting(20, "How many results.", low=1, high=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """Folders that are searched without being sources (`--in`)."""

    max_files: int = setting(
        10_000, "A folder with more files to read is not indexed unasked.", low=1, high=10_000_000
    )
    max_mb: int = setting(
        200, "Nor one whose files are larger than this together.", low=1, high=1_000_000
    )
    keep_days: int = setting(
        30, "Caches of folders that are not used for so long are deleted.", low=1, high=36_500
    )
    search_kb: int = setting(
        2_000,
        "So much text of a new folder a search reads, of files that hold its words; 0 for all.",
        low=0,
        high=1_000_000_000,
    )
    embed_passages: int = setting(
        5_000,
        "So many passages a server of a folder embeds by itself, while nobody asks; 0 for none.",
        low=0,
        high=10_000_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Answers."""

    provider: str = setting(
        "extractive",
        "Who writes them.",
        choices=("extractive", "ollama", "openai", "gguf", "none"),
    )
    model: str = setting("", "Name of the language model, or its file.", kind="model")
    endpoint: str = setting("", "Address of the server; empty: the provider's own.")
    api_key_file: str = setting(
        "", "File that holds the key of the server; KEBAB_ASK_API_KEY goes before.", kind="file"
    )
    context_tokens: int = setting(
        8000, "What the model keeps in mind: evidence, question, answer.", low=256, high=10_000_000
    )
    timeout_secs: float = setting(300.0, "Patience with the model; 0: no end.", low=0, high=86_400)
    keep_alive_secs: int = setting(
        300, "How long Ollama keeps the model loaded; -1: for good.", low=-1, high=31_536_000
    )
    temperature: float = setting(0.0, "0: always the likeliest word.", low=0, high=2)
    seed: int = setting(0, "For repeatable answers.", low=0, high=2**63 - 1)
    verify: bool | Literal["auto"] = setting(
        "auto", "Check that the evidence entails the answer.", kind="switch"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ocr:
    """Text in images and scanned pages."""

    enabled: bool | Literal["auto"] = setting(
        "auto", "auto: when the extra is installed.", kind="switch"
    )
    languages: tuple[str, ...] = setting((), "Languages to expect; none: all that are known.")
    engine: str = setting("auto", "The engine.")
    model: str = setting("", "Its model; empty: the packaged one.")
    tessdata: tuple[Path, ...] = setting(
        (), "Folders of further trained data (`*.traineddata`).", kind="paths"
    )
    max_megapixels: int = setting(50, "Larger images are skipped.", low=1, high=10_000)
    place: bool = setting(default=False, doc="Keep where a picture was taken, as its file says.")
    page_timeout_secs: float = setting(180.0, "Patience with one page.", low=1, high=3600)
    caption_endpoint: str = setting(
        "",
        "Address of a server whose model says what pictures show, as http://localhost:11434/v1; "
        "empty: none.",
    )
    caption_model: str = setting("", "The name of that model there.")
    caption_api_key_file: str = setting(
        "", "File that holds the server's key; KEBAB_CAPTION_API_KEY goes before.", kind="file"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """Speech in recordings and films."""

    enabled: bool | Literal["auto"] = setting(
        "auto", "auto: when the extra is installed.", kind="switch"
    )
    languages: tuple[str, ...] = setting(
        (), "Languages to expect, such as en or ko; none: recognised."
    )
    engine: str = setting(
        "auto",
        "auto: the server, where `endpoint` names one; local: never a server.",
        choices=("auto", "local"),
    )
    model: str = setting(
        "", "base, tiny.en or a folder; empty: base. Of a server, the name it has there."
    )
    threads: int = setting(
        1, "Threads of the local model, in each worker that listens.", low=1, high=256
    )
    max_minutes: int = setting(600, "Longer recordings are not listened to.", low=1, high=100_000)
    endpoint: str = setting(
        "", "Address of a server that transcribes, as http://localhost:8000/v1; empty: none."
    )
    api_key_file: str = setting(
        "", "File that holds the key of the server; KEBAB_AUDIO_API_KEY goes before.", kind="file"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one file may take, so that a broken or hostile one costs itself alone."""

    cpu_secs: int = setting(300, "Processor time for one file.", low=1, high=86_400)
    wall_secs: int = setting(
        1800, "Patience with one file, however little it does.", low=1, high=86_400
    )
    memory_mb: int = setting(
        4000, "Memory of each process that parses; 0: no limit.", low=0, high=10_000_000
    )
    unpacked_mb: int = setting(
        1000, "What the archive that a file is may unpack to.", low=1, high=1_000_000
    )
    part_mb: int = setting(200, "So much of it may be one file in there.", low=1, high=100_000)
    ratio: int = setting(
        1000, "How well a file of over 50 MB in there may be packed.", low=1, high=1_000_000
    )
    members: int = setting(10_000, "How many files may be in there.", low=1, high=10_000_000)
    pages: int = setting(20_000, "Pages of one file.", low=1, high=10_000_000)
    cells: int = setting(5_000_000, "Cells of one file.", low=1, high=1_000_000_000)
    line_mb: int = setting(
        25, "The longest line of a text, of code or of a CSV file.", low=1, high=100_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp:
    """The server for language models."""

    readonly: bool = setting(default=False, doc="Offer no tool that writes.")
    ingest_roots: tuple[Path, ...] = setting(
        (), "Folders that a model may add files from; none: those of the sources.", kind="paths"
    )
    trust_level: str = setting(
        "generated",
        "How far a text is to be trusted that a model hands in; the text can only lower it.",
        choices=TRUST_LEVELS,
    )
    notes_dir: str = setting(
        "",
        "Folder of a source that takes what a model hands in, as files; none: kept in _added.",
        kind="file",
    )
    tools: tuple[str, ...] = setting(
        (),
        "Tools that are listed: names, all, or reading; none: all, and as text reading.",
        choices=MCP_TOOLS,
    )
    feedback: bool = setting(
        default=False, doc="Let a model say whether a hit answers a query; it changes no ranking."
    )
    workspace_roots: bool = setting(
        default=False, doc="Answer from the folders that a host announces, as with --workspace."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """The terminal interface."""

    theme: str = setting("dark", "Its colours.", choices=("dark", "light"))
    query_history: int = setting(
        100, "Queries that are kept from one session to the next; 0: none.", low=0, high=10_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewers:
    """The commands that `kebab cite --open` runs; empty: what is found.

    `{path}`, `{url}`, `{page}`, `{seconds}` and `{fragment}` stand for the place.
    """

    pdf: str = setting("", "Such as `zathura --page={page} {path}`.", kind="command")
    html: str = setting("", "Such as `firefox {url}{fragment}`.", kind="command")
    image: str = setting("", "Such as `feh {path}`.", kind="command")
    audio: str = setting("", "Such as `mpv --start={seconds} {path}`.", kind="command")
    video: str = setting("", "Such as `vlc --start-time={seconds} {path}`.", kind="command")
    office: str = setting("", "Such as `libreoffice {path}`.", kind="command")
    book: str = setting("", "Such as `foliate {path}`.", kind="command")
    other: str = setting(
        "", "All else that is no text; empty: what the desktop opens it with.", kind="command"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Logs."""

    level: str = setting(
        "warning", "What is logged.", choices=("debug", "info", "warning", "error")
    )
    dir: Path = setting(
        "${XDG_STATE_HOME:-~/.local/state}/kebab/log", "The folder of log files.", kind="path"
    )
    keep_days: int = setting(30, "Older log files are deleted.", low=1, high=36_500)


SECTIONS: Mapping[str, type] = {
    "storage": Storage,
    "index": Index,
    "ingest": Ingest,
    "chunking": Chunking,
    "code": Code,
    "embedding": Embedding,
    "search": Search,
    "codebase_search": CodebaseSearch,
    "workspaces": Workspaces,
    "ask": Ask,
    "ocr": Ocr,
    "audio": Audio,
    "limits": Limits,
    "mcp": Mcp,
    "ui": Ui,
    "viewers": Viewers,
    "log": Log,
}
"""Names of the sections, in the order of the file."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from, as ``config_report.v1`` says it."""

    kind: Literal["default", "file", "environment", "command_line"]
    detail: str | None = None
    """The variable or option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The effective configuration. ``file`` is where it is, or would be."""

    file: Path
    is_found: bool
    storage: Storage
    log: Log
    sources: tuple[Source, ...] = ()
    index: Index = field(default_factory=Index)
    ingest: Ingest = field(default_factory=Ingest)
    chunking: Chunking = field(default_factory=Chunking)
    code: Code = field(default_factory=Code)
    embedding: Embedding = field(default_factory=Embedding)
    search: Search = field(default_factory=Search)
    codebase_search: CodebaseSearch = field(default_factory=CodebaseSearch)
    workspaces: Workspaces = field(default_factory=Workspaces)
    ask: Ask = field(default_factory=Ask)
    ocr: Ocr = field(default_factory=Ocr)
    audio: Audio = field(default_factory=Audio)
    limits: Limits = field(default_factory=Limits)
    mcp: Mcp = field(default_factory=Mcp)
    ui: Ui = field(default_factory=Ui)
    viewers: Viewers = field(default_factory=Viewers)
    passwords: Passwords = field(default_factory=Passwords)
    """What locked files are tried with, beside those of the file."""
    passwords_file: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By ``section.key``; a key that is missing has its default."""
    warnings: tuple[str, ...] = ()
    estimates_tokens: bool = False
    """Sizes of chunks are estimated, where an index is made anew in no time; not a setting."""

    @classmethod
    def inside(cls, folder: Path, *sources: Source) -> Config:
        """Return the defaults, with everything kept inside *folder*."""
        return cls(
            file=folder / "config.toml",
            is_found=False,
            storage=Storage(data_dir=folder / "data"),
            log=Log(dir=folder / "log"),
            sources=sources,
        )

    def settings(self) -> Iterator[tuple[str, Any, Origin]]:
        """Yield every ``section.key`` with its value and origin, in the order of the file."""
        for section in SECTIONS:
            for key in rules(section):
                name = f"{section}.{key}"
                value = getattr(getattr(self, section), key)
                yield name, value, self.origins.get(name, Origin("default"))


def rules(section: str) -> dict[str, Rule]:
    """Return the keys of a section, or of a source for ``sources``, with their rules."""
    cls = Source if section == "sources" else SECTIONS[section]
    return {name: rule_of(said) for name, said in metadata_of(cls).items()}
