"""How well the main text of real pages is found: documentation that systems have on their disk.

Somebody looked at each of these pages, and says below in which element its text stands and
which elements in there are no part of it: contents, buttons, marks of anchors. The text of
that, taken by a few lines that know nothing of main texts, is compared with what kebab reads,
by runs of four words as in ``pages.py``. Pages that are not on this disk are left out.

    python tools/bench/real_pages.py                a row for each page
    python tools/bench/real_pages.py --show NAME    what a page lacks, and has too much
"""

from __future__ import annotations

import argparse
import difflib
import re
import time
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine, machine_line
from pages import read_page, score
from tables import render_table

__all__ = ["Page", "main", "wanted"]

_RUST = "~/.rustup/toolchains/*/share/doc/rust/html"
_DOC = "/usr/share/doc"
_CONTENTS = ("toc", "contents", "header")
_ANCHORS = (
    "anchor",
    "doc-anchor",
    "headerlink",
    "mark",
    "srclink",
    "src",
    "copy-button",
    "tooltip",
)
_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(NamedTuple):
    """A page: where it may be, its element by tag and id or class, what in there is no text."""

    pattern: str
    tag: str
    name: str = ""
    leaves: tuple[str, ...] = _ANCHORS


PAGES = (
    Page(f"{_RUST}/book/ch04-01-what-is-ownership.html", "main"),
    Page(f"{_RUST}/nomicon/vec/vec-layout.html", "main"),
    Page(f"{_RUST}/reference/items/traits.html", "main"),
    Page(f"{_RUST}/rust-by-example/custom_types/enum.html", "main"),
    Page(f"{_RUST}/cargo/reference/features.html", "main"),
    Page(f"{_RUST}/std/mem/fn.swap.html", "section", "main-content"),
    Page(f"{_RUST}/std/thread/index.html", "section", "main-content"),
    Page(f"{_DOC}/nodejs/api/dgram.html", "div", "apicontent"),
    Page(f"{_DOC}/nodejs/api/url.html", "div", "apicontent"),
    Page("/usr/lib/node_modules/npm/docs/output/commands/npm-install.html", "div", "_content"),
    Page("/usr/lib/node_modules/npm/docs/output/using-npm/scripts.html", "div", "_content"),
    Page(f"{_DOC}/valgrind/html/mc-manual.html", "div", "chapter", _CONTENTS),
    Page("~/.pyenv/versions/3.11.*/lib/python3.11/idlelib/help.html", "div", "body"),
    Page(f"{_DOC}/recoll/usermanual.html", "div", "book", _CONTENTS),
    Page(f"{_DOC}/ninja-build/manual.html", "div", "book", _CONTENTS),
    Page(f"{_DOC}/bzip2/manual.html", "div", "book", _CONTENTS),
    Page(f"{_DOC}/bc/bc.html", "body", "", _CONTENTS),
    Page(f"{_DOC}/time/time.html", "body", "", _CONTENTS),
    Page(f"{_DOC}/libexpat1-dev/expat.html/reference.html", "div", "content", _CONTENTS),
    Page(f"{_DOC}/gcc-12-base/NEWS.html", "body"),
    Page(f"{_DOC}/zlib1g-dev/examples/zlib_how.html", "body"),
    Page(f"{_DOC}/fontconfig/fontconfig-user.html", "body", "", _CONTENTS),
    Page(f"{_DOC}/libjs-underscore/index.html", "div", "container"),
    Page(f"{_DOC}/python3/python-policy.html", "div", "body"),
)


def wanted(source: str, page: Page) -> str:
    """Return the text of the element that *page* names, without what it leaves out."""
    reader = _Reader(page)
    reader.feed(source)
    reader.close()
    return "".join(reader.found)


class _Reader(HTMLParser):
    """Takes the text between a start tag and its end, told by counting tags of that name."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self.found: list[str] = []
        self._open: list[tuple[str, int]] = []
        """What is counted: the element itself, then the one in it that is left out."""
        self._is_done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.found.append(" ")
            return
        if self._open and tag == self._open[-1][0]:
            self._open[-1] = tag, self._open[-1][1] + 1
            if len(self._open) > 1:
                return
        names = " ".join(value or "" for key, value in attrs if key in {"id", "class"}).split()
        is_ours = tag == self._page.tag and (not self._page.name or self._page.name in names)
        is_left = tag in {"script", "style", "nav"} or not set(self._page.leaves).isdisjoint(names)
        if not self._open and is_ours and not self._is_done:
            self._open.append((tag, 1))
        elif len(self._open) == 1 and is_left:
            if tag == self._open[0][0]:
                self._open[0] = tag, self._open[0][1] - 1
            self._open.append((tag, 1))
        self.found.append(" " if tag not in {"a", "b", "i", "em", "code", "span", "tt"} else "")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or tag != self._open[-1][0]:
            return
        name, depth = self._open.pop()
        if depth > 1:
            self._open.append((name, depth - 1))
        elif not self._open:
            self._is_done = True

    def handle_data(self, data: str) -> None:
        if len(self._open) == 1:
            self.found.append(data)


def _there() -> Iterator[tuple[Page, Path]]:
    for page in PAGES:
        pattern = Path(page.pattern).expanduser()
        found = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
        if found:
            yield page, found[0]


def _shown(path: Path, page: Page) -> str:
    truth = re.findall(r"\w+", wanted(path.read_text("utf-8", "replace"), page))
    found = re.findall(r"\w+", read_page(path.read_bytes()))
    return "\n".join(difflib.unified_diff(truth, found, "wanted", "found", n=3, lineterm=""))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each page, or what is wrong about one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", metavar="NAME")
    options = parser.parse_args(arguments)
    if options.show:
        for page, path in _there():
            if options.show in str(path):
                print(_shown(path, page))
        return
    print(machine_line(describe_machine()))
    rows, sums = [], [0.0, 0.0, 0.0]
    for page, path in _there():
        began = time.process_time()
        found = read_page(path.read_bytes())
        seconds = time.process_time() - began
        right, whole = score(found, wanted(path.read_text("utf-8", "replace"), page))
        f1 = 2 * right * whole / max(1e-9, right + whole)
        sums = [total + each for total, each in zip(sums, (f1, right, whole), strict=True)]
        name = "/".join(path.parts[-3:])
        rows.append([name, f"{f1:.3f}", f"{right:.3f}", f"{whole:.3f}", f"{seconds:.2f}"])
    rows.append(["mean", *(f"{total / max(1, len(rows)):.3f}" for total in sums), ""])
    print(render_table(["page", "F1", "precision", "recall", "CPU s"], rows))


if __name__ == "__main__":
    main()
