"""Loading: layers, checks, and what is said when something is wrong."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import kb_app
from kb_app.config import (
    SECTIONS,
    Chunking,
    Config,
    Origin,
    check_chunking,
    load_config,
    parse_config,
)
from kb_core.errors import ConfigInvalid, ConfigNotFound, IoError

FILE = Path("/etc/kb/config.toml")
ENV = {"HOME": "/home/me"}


def parse(text: str, **environ: str) -> Config:
    return parse_config(text, FILE, ENV | environ)


def complaint(text: str, **environ: str) -> ConfigInvalid:
    with pytest.raises(ConfigInvalid) as caught:
        parse(text, **environ)
    return caught.value


def test_an_empty_file_means_the_defaults() -> None:
    config = parse_config("", Path("/home/me/.config/kebab/config.toml"), ENV)

    assert config.storage.data_dir == Path("/home/me/.local/share/kebab")
    assert config.log.dir == Path("/home/me/.local/state/kebab/log")
    assert (config.storage.lock_wait_secs, config.ingest.batch_docs) == (5.0, 64)
    chunking = config.chunking
    assert (chunking.target_tokens, chunking.overlap_tokens, chunking.max_tokens) == (256, 32, 480)
    assert (config.search.default_k, config.search.stale_threshold_days) == (10, 30)
    assert (config.embedding.model, config.embedding.quality) == ("multilingual-e5-small", "int8")
    assert config.sources == ()
    assert {origin.kind for _, _, origin in config.settings()} == {"default"}


def test_later_layers_win_and_each_value_knows_where_it_came_from() -> None:
    text = "[search]\ndefault_k = 3\nrrf_k = 30\nsnippet_chars = 100\n"
    environ = {"KEBAB_SEARCH_RRF_K": "40", "KEBAB_SEARCH_SNIPPET_CHARS": "200"}

    config = parse_config(text, FILE, ENV | environ, overrides={"search.snippet_chars": 300})

    assert config.search.default_k == 3
    assert config.search.rrf_k == 40
    assert config.search.snippet_chars == 300
    assert config.origins == {
        "search.default_k": Origin("file"),
        "search.rrf_k": Origin("environment", "KEBAB_SEARCH_RRF_K"),
        "search.snippet_chars": Origin("command_line"),
    }


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("x = 1", ":1: unknown section 'x'", "sections are schema_version, sources, passwords,"),
        (
            "data_dir = '/a'",
            ":1: unknown section 'data_dir'",
            "data_dir is a key of [storage]: write it below that line",
        ),
        ("\n\n[serach]\n", ":3: unknown section 'serach'", "did you mean 'search'?"),
        (
            "[search]\n# c\ndefualt_k = 1",
            ":3: unknown key 'defualt_k' in [search]",
            "did you mean 'default_k'?",
        ),
        ("[search]\nk = ", ":2: this is not TOML", None),
        ("[search]\nk = " + "[" * 5000, ":2: this is not TOML: it is nested too deeply", None),
        ("[search]\nrrf_k = 1\nrrf_k = 2\n", ":3: this is not TOML", None),
        ("search = 3", ":1: search = 3 is not a table", None),
        ("schema_version = 2", ":1: schema_version = 2 is of a newer kebab", None),
        ("schema_version = true", ":1: schema_version = True is not 1", None),
        (
            '[search]\nlist = """\n[log]\n"""\n',
            ":2: unknown key 'list' in [search]",
            None,
        ),
        (
            '[ocr]\nlanguages = [\n "en",\n "ko",\n]\nmodle = ""\n',
            ":6: unknown key 'modle' in [ocr]",
            "did you mean 'model'?",
        ),
        ("search.defualt_k = 1", ":1: unknown key 'defualt_k' in [search]", None),
        ("sources = 3", ":1: sources = 3 is not a list of tables", None),
        ("[[sources]]\nid = 'a'\n", ":1: [[sources]] 1 has no root", None),
        ("[[sources]]\nroot = '/a'\n", ":1: [[sources]] 1 has no id", None),
        ("[[sources]]\nname='a'", ":2: unknown key 'name' in [sources]", "keys are id, root,"),
        ("[[sources]]\nid='a'\nroots='/'", ":3: unknown key 'roots' in [sources]", "'root'"),
        (
            "[[sources]]\nid='a'\nroot='/a'\n[[sources]]\nid='a'\nroot='/b'",
            ":5: [[sources]] 2 id = 'a' is the name of source 1 already",
            None,
        ),
        ("[[sources]]\nid='a/b'\nroot='/a'", "id = 'a/b' is not a name of letters", None),
        ("[[sources]]\nid='_added'\nroot='/a'", "id = '_added' is a reserved name", None),
        (
            "[[sources]]\nid='a'\nroot='/a'\ntrust_level='high'",
            ':4: [[sources]] 1 trust_level = \'high\' is not "primary", "secondary" or',
            None,
        ),
        ("[storage]\ndata_dir='$NOPE/x'", "the variable NOPE in '$NOPE/x' is not set", None),
        ("[storage]\ndata_dir='~no-such-user/x'", "there is no user 'no-such-user', as in", None),
    ],
)
def test_a_mistake_names_file_line_and_key_and_the_nearest_valid_word(
    text: str, said: str, hint: str | None
) -> None:
    error = complaint(text)

    assert str(error).startswith(f"{FILE}:")
    assert said in str(error)
    assert error.details["file"] == str(FILE)
    assert isinstance(error.details["line"], int)
    if hint:
        assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[search]\ndefault_k = 'x'", "a whole number from 1 to 100"),
        ("[search]\ndefault_k = 0", "a whole number from 1 to 100"),
        ("[search]\ndefault_k = 1.0", "a whole number from 1 to 100"),
        ("[search]\ndefault_k = true", "a whole number from 1 to 100"),
        ("[search]\nrerank = 1", "true or false"),
        ("[search]\nfusion = 'best'", '"auto" or "rrf"'),
        ("[ingest]\nbatch_secs = nan", "a number from 0.01 to 3600"),
        ("[ingest]\nworkers = -1", "a whole number from 0 to 256"),
        ("[ocr]\nlanguages = 'en'", "a list of texts"),
        ("[ocr]\nlanguages = [1]", "a list of texts"),
        ("[mcp]\ningest_roots = '/a'", "a list of paths"),
        ("[mcp]\ningest_roots = ['/a', '']", "a list of paths"),
        ("[mcp]\ningest_roots = [1]", "a list of paths"),
        ("[mcp]\ntrust_level = 'high'", '"primary", "secondary" or "generated"'),
        ("[mcp]\ntools = ['search', 'serch']", 'a list of "search", "ask", '),
        *(
            (f"[viewers]\npdf = {command!r}", "a command, in which {path}, {url}, {page}, ")
            for command in ("{nope}", "play '", " ")
        ),
        ("[ocr]\nenabled = 'yes'", '"auto", true or false'),
        ("[log]\nlevel = 'loud'", '"debug", "info", "warning" or "error"'),
        ("[log]\ndir = ''", "a path"),
        ("[embedding]\nmodel = 3", "a text"),
    ],
)
def test_a_wrong_value_names_the_value_and_what_was_expected(line: str, expected: str) -> None:
    error = complaint(line)

    assert str(error).startswith(f"{FILE}:2: [")
    assert f" is not {expected}" in str(error)
    assert error.details["line"] == 2


def test_values_of_every_kind_are_taken() -> None:
    config = parse(
        "[ingest]\nworkers = 3\nbatch_secs = 2\n[ocr]\nenabled = true\nlanguages = ['en', 'ko']\n"
        "[audio]\nenabled = 'auto'\n[embedding]\nmodel = '../models/e5'\nthreads = 0\n"
    )

    assert (config.ingest.workers, config.ingest.batch_secs) == (3, 2.0)
    assert (config.ocr.enabled, config.audio.enabled) == (True, "auto")
    assert config.ocr.languages == ("en", "ko")
    assert config.embedding.model == "/etc/models/e5"
    assert config.embedding.threads >= 1


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        ({"target_tokens": 300, "max_tokens": 200}, "target_tokens"),
        ({"max_tokens": 600}, "max_tokens"),
        ({"overlap_tokens": 128}, "overlap_tokens"),
        ({"target_tokens": 16, "overlap_tokens": 8}, "overlap_tokens"),
    ],
)
def test_lesson_12_sizes_of_chunks_that_cannot_work_are_refused(
    sizes: dict[str, int], key: str
) -> None:
    """A budget of 0 was clamped to 1 and flooded the index with 3-byte chunks."""
    lines = [f"{name} = {size}" for name, size in sizes.items()]

    error = complaint("\n".join(["[chunking]", *lines]))

    assert error.details["key"] == f"chunking.{key}"
    if key in sizes:
        assert f":{lines.index(f'{key} = {sizes[key]}') + 2}: " in str(error)


@pytest.mark.parametrize("target", [0, 1, 15, -3])
def test_lesson_12_a_target_of_next_to_nothing_is_refused(target: int) -> None:
    assert "from 16 " in str(complaint(f"[chunking]\ntarget_tokens = {target}"))


def test_the_window_is_the_models_own() -> None:
    small = Chunking(max_tokens=256)

    check_chunking(small, window=256)
    with pytest.raises(ConfigInvalid, match="more than the model's window, which is 128"):
        check_chunking(small, window=128)
    large = parse_config("[chunking]\nmax_tokens = 8000", FILE, ENV, window=8192)
    assert large.chunking.max_tokens == 8000


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), (" 7 ", 7), ("", 10), ("  ", 10)],
)
def test_a_variable_that_is_empty_is_not_set(text: str, value: int) -> None:
    assert parse("", KEBAB_SEARCH_DEFAULT_K=text).search.default_k == value


def test_variables_hold_every_kind_of_value() -> None:
    config = parse(
        "",
        KEBAB_SEARCH_RERANK="Yes",
        KEBAB_OCR_ENABLED="off",
        KEBAB_OCR_LANGUAGES="en, ko,",
        KEBAB_INGEST_BATCH_SECS="0.5",
        KEBAB_STORAGE_DATA_DIR="~/kb",
        KEBAB_LOG_DIR="logs",
    )

    assert (config.search.rerank, config.ocr.enabled) == (True, False)
    assert config.ocr.languages == ("en", "ko")
    assert config.ingest.batch_secs == 0.5
    assert config.storage.data_dir == Path("/home/me/kb")
    assert config.log.dir == Path.cwd() / "logs"


def test_the_longest_section_has_the_variable() -> None:
    config = parse("", KEBAB_CODEBASE_SEARCH_MAX_RESULTS="7", KEBAB_CODE_MAX_FILE_KB="9")

    assert (config.codebase_search.max_results, config.code.max_file_kb) == (7, 9)
    assert config.warnings == ()


def test_a_wrong_variable_names_itself_and_an_unknown_one_is_a_warning() -> None:
    error = complaint("", KEBAB_SEARCH_DEFAULT_K="ten")
    config = parse("", KEBAB_SERCH_DEFAULT_K="3", KEBAB_PROGRESS="plain", KEBAB_READONLY="1")

    assert str(error) == "KEBAB_SEARCH_DEFAULT_K='ten' is not a whole number from 1 to 100"
    assert config.warnings == (
        (
            "the variable KEBAB_SERCH_DEFAULT_K means nothing to kebab; "
            "did you mean KEBAB_SEARCH_DEFAULT_K?"
        ),
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("KEBAB_READ_ONLY", "KEBAB_READONLY"),
        ("KEBAB_PROGRES", "KEBAB_PROGRESS"),
        ("KEBAB_DATA_DIR", "KEBAB_STORAGE_DATA_DIR"),
        ("KEBAB_FOO", None),
        ("KEBAB_SOURCES", None),
        ("KEBAB_CONFIG", None),
    ],
)
def test_the_variable_that_was_meant_is_named_and_no_other(name: str, meant: str | None) -> None:
    (warning,) = parse("", **{name: "1"}).warnings

    hint = f"; did you mean {meant}?" if meant else ""
    assert warning == f"the variable {name} means nothing to kebab{hint}"


def test_every_variable_that_is_read_means_something() -> None:
    """One that holds a key was called unknown in every command."""
    folder = Path(kb_app.__file__).parent
    sources = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    names = {name for text in sources for name in re.findall(r'"(KEBAB_[A-Z_]*[A-Z])"', text)}

    assert {"KEBAB_READONLY", "KEBAB_CAPTION_API_KEY", "KEBAB_INDEX_TOKEN"} <= names
    assert parse("", **dict.fromkeys(names, "1")).warnings == ()


@pytest.mark.parametrize("name", ["search.nope", "nope.k", "search"])
def test_an_override_that_is_no_setting_is_refused(name: str) -> None:
    with pytest.raises(ConfigInvalid, match="is not a setting"):
        parse_config("", FILE, ENV, overrides={name: 1})


def test_lesson_37_a_named_file_that_is_missing_is_an_error_and_the_usual_one_is_not(
    tmp_path: Path,
) -> None:
    """A missing explicit configuration silently meant defaults."""
    with pytest.raises(ConfigNotFound) as caught:
        load_config(tmp_path / "no.toml", {"HOME": str(tmp_path)})

    assert caught.value.hint == f"kebab --config '{tmp_path}/no.toml' init"
    config = load_config(None, {"HOME": str(tmp_path)})
    assert (config.is_found, config.file) == (False, tmp_path / ".config/kebab/config.toml")


def test_lesson_37_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "kb" / "c.toml"
    file.parent.mkdir()
    file.write_text("[storage]\ndata_dir='d'\n[[sources]]\nid='n'\nroot='../notes'\n")

    config = load_config(file, {})

    assert config.storage.data_dir == tmp_path / "kb" / "d"
    assert config.sources[0].root == tmp_path / "notes"


def test_every_path_of_a_list_is_one(tmp_path: Path) -> None:
    roots = "['inbox', '~/in', '$WHERE/x', '/srv/../in']"

    config = parse(f"[mcp]\ningest_roots = {roots}", WHERE="/w")
    named = parse("", KEBAB_MCP_INGEST_ROOTS=f"~/in, {tmp_path}")

    paths = ("/etc/kb/inbox", "/home/me/in", "/w/x", "/in")
    assert config.mcp.ingest_roots == tuple(map(Path, paths))
    assert named.mcp.ingest_roots == (Path("/home/me/in"), tmp_path)
    assert parse("").mcp.ingest_roots == ()


def test_a_path_of_a_list_that_is_none_is_refused() -> None:
    unset = complaint("[mcp]\nreadonly = true\ningest_roots = ['/a', '$NOPE/b']")

    assert str(unset).startswith(f"{FILE}:3: [mcp] ingest_roots = ")
    assert "the variable NOPE in '$NOPE/b' is not set" in str(unset)


def test_files_that_cannot_be_read_are_errors_of_ours(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")

    with pytest.raises(ConfigInvalid, match="is not UTF-8"):
        load_config(tmp_path / "latin.toml", {})
    with pytest.raises(IoError, match="cannot read"):
        load_config(tmp_path, {})


def test_a_byte_order_mark_is_let_pass(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes("\ufeff[search]\r\ndefault_k = 3\r\n".encode())

    assert load_config(tmp_path / "c.toml", {}).search.default_k == 3


def refusal(text: str) -> ConfigInvalid | None:
    try:
        parse(text)
    except ConfigInvalid as error:
        return error
    return None


@given(st.text(max_size=200))
def test_no_text_raises_anything_but_config_invalid(text: str) -> None:
    error = refusal(text)

    assert error is None or str(FILE) in str(error)


SETTINGS = [(section, f.name) for section, cls in SECTIONS.items() for f in dataclasses.fields(cls)]


@given(st.sampled_from(SETTINGS), st.sampled_from(["-1", "''", "true", "[1]", "1e9", "{}", "nan"]))
def test_no_value_raises_anything_but_config_invalid(setting: tuple[str, str], value: str) -> None:
    section, key = setting

    error = refusal(f"[{section}]\n{key} = {value}\n")

    if error is not None:
        assert str(error).startswith(f"{FILE}:2: ")
        assert error.details["key"] == f"{section}.{key}"


def test_every_section_of_the_specification_is_there() -> None:
    assert list(SECTIONS) == [
        *("storage", "index", "ingest", "chunking", "code", "embedding", "search"),
        *("codebase_search", "workspaces", "ask", "ocr", "audio", "limits", "mcp", "ui"),
        *("viewers", "log"),
    ]


def test_a_configuration_for_tests_keeps_everything_inside_a_folder(tmp_path: Path) -> None:
    config = Config.inside(tmp_path)

    assert config.storage.data_dir.is_relative_to(tmp_path)
    assert config.log.dir.is_relative_to(tmp_path)
    assert config.chunking == Chunking()


def test_lesson_51_loading_a_configuration_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from kb_app.config import load_config; load_config(None, {'HOME': '/x'});"
        "print([n for n in ('tomlkit', 'pydantic', 'difflib', 'json', 'logging', 'kb_core.search',"
        "'kb_app.knowledge_base') if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_the_package_gives_its_names_lazily() -> None:
    import kb_app

    assert kb_app.__all__ == sorted(kb_app.__all__)
    assert kb_app.load_config is load_config
    assert "KnowledgeBase" in dir(kb_app)
    with pytest.raises(AttributeError):
        kb_app.nothing  # noqa: B018 - reading it is the test


def test_what_is_written_for_people_is_toml_again() -> None:
    from kb_app.config import toml

    for value in ['a"b\\c\n\x7f\u2028한', True, 3, 2.5, ["x", "y z"], ""]:
        assert tomllib.loads(f"v = {toml(value)}")["v"] == value
