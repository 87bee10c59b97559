"""Sources: which may stand beside each other, and how they get into the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kb_app.config import add_source, load_config, parse_config, remove_source
from kb_core.errors import ConfigInvalid, ConfigNotFound, InvalidInput


def home(tmp_path: Path, *folders: str) -> dict[str, str]:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    return {"HOME": str(tmp_path)}


def config_file(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"]) / ".config/kebab/config.toml"


def two(first: str, second: str, *, excluded: str = "") -> str:
    exclude = f"exclude = ['{excluded}']\n" if excluded else ""
    return (
        f"[[sources]]\nid = 'one'\nroot = '{first}'\n{exclude}"
        f"[[sources]]\nid = 'two'\nroot = '{second}'\n"
    )


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("/n", "/n/in", 6),
        ("/n/in", "/n", 3),
        ("/n", "/n", 6),
        ("/n", "/n/", 6),
        ("/n", "/x/../n", 6),
    ],
)
def test_folders_that_contain_each_other_are_refused(first: str, second: str, line: int) -> None:
    with pytest.raises(ConfigInvalid, match="its files would be indexed twice") as caught:
        parse_config(two(first, second), Path("/c.toml"), {})

    assert caught.value.details["line"] == line


@pytest.mark.parametrize("pattern", ["/in/", "in", "in/", "/in/**", "i*", "/in", "/in/*"])
def test_unless_the_outer_one_excludes_the_inner_one(pattern: str) -> None:
    assert (
        len(parse_config(two("/n", "/n/in/deep", excluded=pattern), Path("/c.toml"), {}).sources)
        == 2
    )


@pytest.mark.parametrize(
    "name", ["in", "x[1]", "a*b", "what?", r"back\slash", "it's", "a^]", "[!x]"]
)
def test_the_pattern_that_an_error_proposes_excludes_that_folder_and_no_other(name: str) -> None:
    file, inner = Path("/c.toml"), f"/n/{name}".replace("\\", "\\\\")
    text = f'[[sources]]\nid = "two"\nroot = "{inner}"\n[[sources]]\nid = "one"\nroot = "/n"\n'
    with pytest.raises(ConfigInvalid) as caught:
        parse_config(text, file, {})

    proposed = str(caught.value.hint).partition(" in source")[0]
    assert len(parse_config(f"{text}{proposed}\n", file, {}).sources) == 2
    other = text.replace(f'"{inner}"', '"/n/axb"')
    with pytest.raises(ConfigInvalid, match="is inside the folder of source 'one'"):
        parse_config(f"{other}{proposed}\n", file, {})


@pytest.mark.parametrize("pattern", ["*.md", "/other/", "!in", "deep.md", "/deep"])
def test_an_exclusion_of_something_else_does_not_help(pattern: str) -> None:
    with pytest.raises(ConfigInvalid, match="is inside the folder of source 'one'"):
        parse_config(two("/n", "/n/in/deep", excluded=pattern), Path("/c.toml"), {})


def test_a_link_to_the_same_folder_is_the_same_folder(tmp_path: Path) -> None:
    environ = home(tmp_path, "notes")
    (tmp_path / "link").symlink_to(tmp_path / "notes")

    with pytest.raises(ConfigInvalid, match="is the folder of source 'one'"):
        parse_config(two("~/notes", "~/link"), tmp_path / "c.toml", environ)


def test_neighbours_whose_names_begin_alike_are_fine() -> None:
    assert len(parse_config(two("/notes", "/notes-old"), Path("/c.toml"), {}).sources) == 2


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("notes", "notes"),
        ("My Notes (2026)", "My-Notes-2026"),
        ("한국어 노트", "한국어-노트"),
        (".obsidian", "obsidian"),
        ("%%%", "source"),
        ("a$b", "a-b"),
        ("_added", "_added-2"),
        ('it\'s "x"', "it-s-x"),
    ],
)
def test_a_folder_gets_a_name_that_is_valid_and_free(
    tmp_path: Path, folder: str, name: str
) -> None:
    environ = home(tmp_path, folder, f"other/{folder}")

    first = add_source(str(tmp_path / folder), environ=environ)
    second = add_source(str(tmp_path / "other" / folder), environ=environ)

    number = 3 if name == "_added-2" else 2
    assert first.source.id == name
    assert second.source.id == f"{name.removesuffix('-2')}-{number}"
    assert first.is_new_file
    assert not second.is_new_file
    loaded = load_config(None, environ).sources
    assert [source.root for source in loaded] == [tmp_path / folder, tmp_path / "other" / folder]


def test_what_people_wrote_stays(tmp_path: Path) -> None:
    environ = home(tmp_path, "a", "b")
    file = config_file(environ)
    file.parent.mkdir(parents=True)
    mine = (
        "# mine\n[search]   # odd layout\n  default_k=3 # three\n\n\n"
        "[[sources]] # first\nid='a'\nroot='~/a'\n"
    )
    file.write_text(mine)

    add_source("~/b", environ=environ)
    added = file.read_text()
    remove_source("b", environ=environ)

    assert added == mine + f'\n[[sources]]\nid = "b"\nroot = "{tmp_path}/b"\n'
    assert file.read_text().rstrip() == mine.rstrip()


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    environ = home(tmp_path, "a")
    file = tmp_path / "c.toml"
    file.write_bytes(b"[search]\r\ndefault_k = 3\r\n")

    add_source("~/a", path=file, environ=environ)

    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")
    assert load_config(file, environ).sources[0].id == "a"


@pytest.mark.parametrize("text", ["sources = []\n", "sources = [{ id = 'a', root = '~/a' }]\n"])
def test_sources_written_inline_are_edited_inline(tmp_path: Path, text: str) -> None:
    environ = home(tmp_path, "a", "b")
    file = tmp_path / "c.toml"
    file.write_text(text)

    add_source("~/b", path=file, environ=environ)
    remove_source("b", path=file, environ=environ)
    add_source("~/b", path=file, environ=environ, id="again")

    assert load_config(file, environ).sources[-1].id == "again"


def test_a_file_of_its_own_is_created_with_everything_beside_it(tmp_path: Path) -> None:
    environ = home(tmp_path, "notes")
    file = tmp_path / "kb" / "c.toml"

    config = add_source("~/notes", path=file, environ=environ).config

    assert config.storage.data_dir == tmp_path / "kb" / "kebab-data"
    assert not config_file(environ).exists()


def test_a_dotfile_that_is_a_link_stays_a_link(tmp_path: Path) -> None:
    environ = home(tmp_path, "notes", "dots")
    (tmp_path / "dots" / "c.toml").write_text("")
    (tmp_path / "c.toml").symlink_to(tmp_path / "dots" / "c.toml")

    add_source("~/notes", path=tmp_path / "c.toml", environ=environ)

    assert (tmp_path / "c.toml").is_symlink()
    assert "notes" in (tmp_path / "dots" / "c.toml").read_text()


@pytest.mark.parametrize(
    ("root", "given", "said"),
    [
        ("~/nowhere", {}, "no folder"),
        ("~/file", {}, "is not a folder"),
        ("~/notes", {}, "is source 'notes' already"),
        ("~/notes/in", {}, "is inside the folder of source 'notes'"),
        ("~", {}, "is inside the folder of source"),
        ("~/other", {"id": "notes"}, "source 'notes' is"),
        ("~/other", {"id": "a b"}, "is not a name of letters"),
        ("~/other", {"trust_level": "high"}, 'is not "primary"'),
        ("~/odd\udcff", {}, "not Unicode"),
    ],
)
def test_what_cannot_be_added_leaves_the_file_alone(
    tmp_path: Path, root: str, given: dict[str, Any], said: str
) -> None:
    environ = home(tmp_path, "notes/in", "other")
    (tmp_path / "file").touch()
    add_source("~/notes", environ=environ)
    before = config_file(environ).read_bytes()

    with pytest.raises(InvalidInput, match=r"folder|source|name|primary|Unicode") as caught:
        add_source(root, environ=environ, **given)

    assert said in str(caught.value)
    assert ".toml:" not in str(caught.value)
    assert config_file(environ).read_bytes() == before


def test_removing_what_is_not_there_names_what_is(tmp_path: Path) -> None:
    environ = home(tmp_path, "notes")
    add_source("~/notes", environ=environ)

    for name, hint in (("nots", "did you mean 'notes'?"), ("xyz", "the sources are notes")):
        with pytest.raises(InvalidInput) as caught:
            remove_source(name, environ=environ)
        assert caught.value.hint == hint
    with pytest.raises(ConfigNotFound):
        remove_source("notes", path=tmp_path / "no.toml", environ=environ)
    remove_source("notes", environ=environ)
    with pytest.raises(InvalidInput, match="no source 'notes'"):
        remove_source("notes", environ=environ)
