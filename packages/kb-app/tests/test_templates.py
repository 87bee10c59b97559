"""Files of HTML that are code: templates, and pages that say nothing before a script runs."""

from __future__ import annotations

import pytest

from kb_app._ingest.judging import templates
from kb_app._ingest.judging.templates import is_template


@pytest.mark.parametrize(
    "source",
    [
        "{% extends 'base.html' %}{% block body %}<p>Hello, {{ name }}!</p>{% endblock %}",
        "<ul><li v-for='x in xs' :key='x.id'>{{ x.name }}</li></ul>",
        "<html><body><h1><?php echo $title ?></h1></body></html>",
        "<div *ngIf='shown'>Please wait</div>",
        "<p><%= render 'form' %></p>",
        "<!doctype html><title>App</title><div id=app></div><script src=/main.js></script>",
    ],
)
def test_a_template_or_an_empty_shell_is_code(source: str) -> None:
    assert is_template(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "<h1>Templates</h1><p>Write a loop like this:</p><pre>{% for x in xs %}</pre>",
        "<p>Values are written as <code>{{ value }}</code>.</p>",
        "<p>short</p>",
        "<script>var a = '{{ x }}'</script><p>A page with some words of its own.</p>",
        "<!-- {% comment %} --><p>A page with some words of its own.</p>",
        f"<p>{'A saved page says much, and one mark was left. ' * 20}</p><b>{{{{ name }}}}</b>",
        "<p>안녕하세요</p>",
    ],
)
def test_a_page_is_no_template_though_it_shows_one(source: str) -> None:
    assert not is_template(source.encode())


def test_words_of_a_page_without_marks_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all pages are such, and taking their tags away costs as much as all else of this."""
    monkeypatch.setattr(templates, "_TAG", None)

    assert not is_template(b"<p>A page</p>")
