"""What links call documents, and what documents are called: either way finds the other."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given, strategies as st

from kb_core.linking import called, is_by_name, last_names, names_meant, paths_meant, target_of

_NAMES = st.sampled_from(["a", "Kiln Log", "v1.2 plan", "été", "e\u0301te\u0301", "README", "日記"])
_ENDS = st.sampled_from([".md", ".rst", ".html", ""])
_PATHS = st.builds(
    lambda folders, name, end: "/".join([*folders, f"{name}{end}"]),
    st.lists(_NAMES, max_size=2),
    _NAMES,
    _ENDS,
)


def markdown(target: str) -> dict[str, str]:
    return {"kind": "markdown", "target": target}


@given(at=_PATHS, to=_PATHS, way=st.sampled_from(["", "./", "/"]), bare=st.booleans())
def test_whatever_a_link_leads_to_by_its_path_is_found_by_its_names(
    at: str, to: str, way: str, *, bare: bool
) -> None:
    relative = posixpath.relpath(to, posixpath.dirname(at) or ".")
    target = f"/{to}" if way == "/" else f"{way}{relative}"
    link = markdown(posixpath.splitext(target)[0] if bare else target)

    names = names_meant(at, [link])

    for path in paths_meant(at, link):
        if path == to:
            assert set(called(to)) & set(names)
    if not bare:
        assert paths_meant(at, link)[0] == to


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("Kiln%20Log.md?x=1#part", "notes/Kiln Log.md"),
        ("<>", None),
        ("../guide/", "guide/README.md"),
        ("../guide", "guide/index.md"),
        ("..", "README.md"),
        ("plan", "notes/plan.md"),
        ("plan.html", "notes/plan.rst"),
        ("../../beyond.md", None),
        ("/top.md", "top.md"),
    ],
)
def test_a_path_is_followed_as_a_browser_would(target: str, path: str | None) -> None:
    meant = paths_meant("notes/a.md", markdown(target.strip("<>")))

    assert path in meant if path else not meant


def test_a_document_is_called_as_its_file_its_aliases_and_its_folder_if_it_is_the_page() -> None:
    assert called("guide/README.md", ["The  GUIDE"]) == [
        "readme.md",
        "readme",
        "the guide",
        "guide",
    ]
    assert called("Kiln-Log_of  2.md") == ["kiln log of 2.md", "kiln log of 2"]
    assert called("v1.2 plan.md") == ["v1.2 plan.md", "v1.2 plan"]
    assert called("README.md") == ["readme.md", "readme"]
    assert last_names("a/b/Note/") == ["note"]


def test_links_of_wikis_name_notes_and_so_do_paths_that_do_not_say_where_they_begin() -> None:
    wiki = {"kind": "wiki", "target": "Note A#Part^x"}

    assert (target_of(wiki), is_by_name(wiki)) == ("Note A", True)
    assert target_of({"kind": "wiki", "target": "50%20 off?"}) == "50%20 off?"
    assert [is_by_name(markdown(t)) for t in ("a.md", "./a.md", "/a.md")] == [True, False, False]
    web = [markdown(target) for target in ("https://e.org/a", "//e.org/a", "mailto:a@e.org")]
    none = [*web, markdown("#here"), *({"kind": "wiki", "target": t} for t in ("", "ab://c"))]
    assert names_meant("x.md", [wiki, *none]) == ["note a"]
    assert not any(paths_meant("x.md", link) for link in none)
