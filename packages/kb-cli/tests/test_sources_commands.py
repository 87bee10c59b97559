"""``init``, ``add``, ``remove``: from nothing to a configuration."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from kb_app.config import load_config
from kb_cli.testing import run
from kb_core.testing import closed_schema


def test_a_fresh_machine_needs_add_only(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    result = run("add", "~/notes", home=tmp_path)

    assert result.exit_code == 0
    assert result.stdout == (
        f"made {tmp_path}/.config/kebab/config.toml\nsource 'notes' is {tmp_path}/notes\n"
        "nothing in it can be read\n"
    )
    assert result.stderr == "next: kebab ingest\n"
    (source,) = load_config(None, {"HOME": str(tmp_path)}).sources
    assert (source.id, source.root) == ("notes", tmp_path / "notes")


def test_add_says_what_a_folder_holds_before_anything_in_it_is_read(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "node_modules").mkdir(parents=True)
    for name in ("a.md", "b.md", "c.py"):
        (notes / name).write_text("x" * 1200)
    (notes / "large.txt").write_text("y" * 1_200_000)
    (notes / "unreadable.md").write_text("z")
    (notes / "unreadable.md").chmod(0)

    dry = run("add", "~/notes", "--dry-run", home=tmp_path)
    real = run("add", "~/notes", home=tmp_path)

    assert dry.stdout == (
        "to be read: 5 files, 1.2 MB\n"
        "  KIND      FILES  SIZE\n"
        "  markdown      3  2.4 kB\n"
        "  python        1  1.2 kB\n"
        "  text          1  1.2 MB\n"
        "largest\n"
        "  SIZE    PATH\n"
        "  1.2 MB  large.txt\n"
        "left alone\n"
        "  ENTRIES  WHY                               SUCH AS\n"
        "        1  ignored: built-in: node_modules/  node_modules/\n"
    )
    assert real.stdout.endswith(f"is {notes}\n{dry.stdout}")
    assert load_config(None, {"HOME": str(tmp_path)}).sources


def test_a_dry_run_of_add_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    run("add", "~/notes", "--dry-run", home=tmp_path)
    wrong = run("add", "~/other", "--dry-run", home=tmp_path)

    assert not (tmp_path / ".config").exists()
    assert (wrong.exit_code, wrong.stdout) == (2, "")


def test_a_dry_run_of_add_refuses_what_add_refuses(tmp_path: Path) -> None:
    (tmp_path / "notes/in").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    run("add", "~/notes/in", home=tmp_path)
    before = load_config(None, {"HOME": str(tmp_path)}).sources

    for words in (["~/notes"], ["~/notes/in"], ["~/other", "--id", "in"], ["~/other", "--id", "/"]):
        dry, real = (run("add", *words, *more, home=tmp_path) for more in (["--dry-run"], []))
        assert (dry.exit_code, dry.stdout, dry.stderr) == (2, "", real.stderr)
        assert real.exit_code == dry.exit_code
    assert load_config(None, {"HOME": str(tmp_path)}).sources == before


def test_a_dry_run_of_add_is_told_in_json(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    result = run("--json", "add", "~/notes", "--dry-run", home=tmp_path)

    listed = json.loads(result.stdout)
    Draft202012Validator(closed_schema("source_list")).validate(listed)
    assert (listed["added"], listed["preview"]["root"]) == ("notes", str(tmp_path / "notes"))
    assert not (tmp_path / ".config").exists()


def test_add_takes_an_id_a_type_and_a_trust_level(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    words = ("--id", "kebab", "--source-type", "code", "--trust", "secondary")

    result = run("add", str(tmp_path / "src"), *words, "--json", home=tmp_path)

    listed = json.loads(result.stdout)
    Draft202012Validator(closed_schema("source_list")).validate(listed)
    assert listed["added"] == "kebab"
    assert listed["sources"][0]["trust_level"] == "secondary"
    assert listed["sources"][0]["source_type"] == "code"


def test_remove_takes_the_source_out_and_says_what_stays(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    run("add", "~/notes", home=tmp_path)

    wrong, right = (run("remove", name, home=tmp_path) for name in ("note", "notes"))

    assert wrong.exit_code == 2
    assert wrong.stderr == "error: there is no source 'note'\n  hint: did you mean 'notes'?\n"
    assert right.stdout == f"source 'notes', {tmp_path}/notes, is removed\n"
    assert "reset --orphans-only" in right.stderr
    assert load_config(None, {"HOME": str(tmp_path)}).sources == ()


def test_removing_with_json_lists_what_is_left(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        run("add", f"~/{name}", home=tmp_path)

    listed = json.loads(run("remove", "a", "--json", home=tmp_path).stdout)

    Draft202012Validator(closed_schema("source_list")).validate(listed)
    assert (listed["removed"], [s["id"] for s in listed["sources"]]) == ("a", ["b"])


def test_init_writes_everything_at_the_usual_places(tmp_path: Path) -> None:
    result = run("init", home=tmp_path)

    made = [".config/kebab/config.toml", ".local/share/kebab", ".local/state/kebab/log"]
    assert result.stdout == "".join(f"made {tmp_path}/{name}\n" for name in made)
    assert all((tmp_path / name).exists() for name in made)


def test_init_keeps_everything_beside_a_file_that_was_named(tmp_path: Path) -> None:
    file = tmp_path / "kb" / "my.toml"

    report = json.loads(run("init", "--json", "--config", str(file), home=tmp_path).stdout)

    Draft202012Validator(closed_schema("init_report")).validate(report)
    assert report["config_path"] == str(file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb"]


def test_init_does_not_overwrite_unless_forced_and_then_keeps_a_copy(tmp_path: Path) -> None:
    run("init", home=tmp_path)
    file = tmp_path / ".config/kebab/config.toml"
    file.write_text("# mine\n")

    refused, forced = run("init", home=tmp_path), run("init", "--force", home=tmp_path)

    assert (refused.exit_code, forced.exit_code) == (2, 0)
    assert "already" in refused.stderr
    assert file.with_name("config.toml.bak-1").read_text() == "# mine\n"
    assert file.read_text() != "# mine\n"


def test_a_folder_that_is_not_there_is_invalid_input(tmp_path: Path) -> None:
    result = run("add", "~/nowhere", "--json", home=tmp_path)

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, "invalid_input")
    assert not (tmp_path / ".config").exists()
