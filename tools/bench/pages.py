"""How well the main text of web pages is found, and how quickly.

Pages are made up, as common programs make them, each with the text that it was made around:
news, blogs, documentation, threads, wikis, shops, old pages of tables, and pages whose class
names say nothing; what stands around the text is as long, and as much like prose, as there.
The text found and the one wanted are compared by runs of four words: how many of those found
are wanted, how many of those wanted are found. No page of any benchmark of others is here.

    python tools/bench/pages.py                 the made-up pages, 20 of each kind
    python tools/bench/pages.py --show news 3   one page, and what is wrong about it
    python tools/bench/pages.py --hostile       seconds for nonsense, and for twice as much of it
    python tools/bench/pages.py FOLDER          pages a second over real ones, and what is left
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine, machine_line
from tables import render_table
from words import Words

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_core.documents import SourceFile

__all__ = ["KINDS", "made", "main", "read_page", "score"]

_RUN = 4


class Page(NamedTuple):
    """A page, and the text that a reader came for."""

    source: str
    wanted: str


class _Maker:
    """Makes one page; ``wanted`` grows with what is put into its text."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - not for secrets
        self.words = Words(seed)
        self.wanted: list[str] = []

    def prose(self, least: int = 25, most: int = 110) -> str:
        return self.words.passage(self.dice.randint(least, most))

    def line(self, least: int = 4, most: int = 10) -> str:
        return " ".join(self.words.passage(12).split()[: self.dice.randint(least, most)])

    def want(self, text: str) -> str:
        self.wanted.append(text)
        return escape(text, quote=False)

    def link(self, text: str) -> str:
        return f'<a href="/{self.dice.randrange(10**6)}">{escape(text)}</a>'

    def linked(self, text: str) -> str:
        """Return wanted words, a few of them links."""
        words = self.want(text).split(" ")
        for at in range(3, len(words) - 2, self.dice.randint(15, 60)):
            words[at] = f'<a href="/{at}">{words[at]}</a>'
        return " ".join(words)

    def menu(self, count: int = 12, name: str = 'class="menu"') -> str:
        items = "".join(f"<li>{self.link(self.line(1, 3))}</li>" for _ in range(count))
        return f"<ul {name}>{items}</ul>"

    def body(self, least: int = 5, most: int = 14, tag: str = "p") -> str:
        parts = []
        for _ in range(self.dice.randint(least, most)):
            match self.dice.randrange(12):
                case 0:
                    parts.append(f"<h2>{self.want(self.line())}</h2>")
                case 1:
                    items = "".join(f"<li>{self.want(self.line(6, 10))}" for _ in range(4))
                    parts.append(f"<ul>{items}</ul>")
                case 2:
                    parts.append(f"<blockquote><p>{self.want(self.prose())}</p></blockquote>")
            parts.append(f"<{tag}>{self.linked(self.prose())}</{tag}>")
        return "\n".join(parts)

    def teasers(self, count: int = 5, name: str = 'class="card"') -> str:
        return "".join(
            f"<div {name}><h3>{self.link(self.line(6, 10))}</h3><p>{escape(self.prose(8, 25))}</p>"
            "</div>\n"
            for _ in range(count)
        )

    def talk(self, count: int, name: str = 'class="comment"') -> str:
        return "".join(
            f"<div {name}><b>{self.line(1, 2)}</b> <span>3 hours ago</span>"
            f"<p>{escape(self.prose(10, 60))}</p>{self.link('Reply')}</div>\n"
            for _ in range(count)
        )

    def page(self, body: str, head: str = "") -> Page:
        title = escape(self.line())
        source = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"{head}<style>p {{ margin: 0 }}</style></head>\n<body>{body}</body></html>\n"
        )
        return Page(source, "\n".join(self.wanted))


def _news(make: _Maker) -> Page:
    names = make.dice.choice([("article", "article-body"), ("div", "story-content"),
                              ("section", "post__text")])  # fmt: skip
    top = f'<header class="site-header">{make.menu()}</header><nav>{make.menu(20)}</nav>'
    text = (
        f"<h1>{escape(make.line())}</h1><div class='byline'>By {make.line(2, 2)}</div>"
        f"<figure><img src='a.jpg'></figure>{make.body(3, 6)}"
        f"<div class='related-inline'><h4>Read more</h4>{make.menu(3, '')}</div>{make.body(3, 6)}"
        f"<div class='newsletter'><p>{escape(make.prose(15, 30))}</p></div>"
    )
    beside = f"<aside>{make.teasers(4)}</aside><div class='most-popular'>{make.teasers(5)}</div>"
    talk = f"<section id='comments'>{make.talk(make.dice.randint(0, 25))}</section>"
    foot = f"<footer><p>{escape(make.prose(30, 60))}</p>{make.menu(25)}</footer>"
    tag, name = names
    return make.page(f"{top}<main><{tag} class='{name}'>{text}</{tag}>{beside}{talk}</main>{foot}")


def _nameless(make: _Maker) -> Page:
    """A page whose class names are made by a program, and whose elements are all ``div``."""

    def css() -> str:
        return f'class="css-{make.dice.randrange(36**5):x}"'

    row, card, said = css(), css(), css()
    menu = "".join(f"<div {row}>{make.link(make.line(1, 3))}</div>" for _ in range(15))
    text = "".join(f"<p {said}>{make.linked(make.prose())}</p>" for _ in range(9))
    more = make.teasers(make.dice.randint(3, 8), card)
    bar = f"<div {css()}><p>{escape(make.prose(30, 50))}</p>{menu}</div>"
    notice = f"<div {css()}><p>{escape(make.prose(20, 40))}</p><button>OK</button></div>"
    return make.page(
        f"<div {css()}>{notice}<div {css()}>{menu}</div><div {css()}><div {css()}>"
        f"<h1>{escape(make.line())}</h1><div {css()}>{text}</div></div>{bar}</div>"
        f"<div {css()}>{more}</div><div {css()}>{menu}</div></div>"
    )


def _blog(make: _Maker) -> Page:
    side = (
        f'<div id="sidebar" class="widget-area"><div class="widget"><h3>About</h3><p>'
        f"{escape(make.prose(30, 60))}</p></div>{make.menu(15, '')}</div>"
    )
    post = (
        f'<article class="post hentry"><header class="entry-header"><h1 class="entry-title">'
        f"{escape(make.line())}</h1><div class='entry-meta'>Posted on May 3 by {make.line(1, 1)}"
        f'</div></header><div class="entry-content">{make.body()}<div class="sharedaddy">'
        f"<h3>Share this:</h3>{make.menu(4, '')}</div></div><footer class='entry-footer'>Tags: "
        f"{make.link('a')}, {make.link('b')}</footer></article>"
    )
    talk = (
        f'<div id="comments" class="comments-area"><ol>{make.talk(make.dice.randint(0, 20))}</ol>'
    )
    return make.page(
        f'<div id="page"><div id="masthead">{make.menu(6)}</div><div id="content">{post}{talk}'
        f"<form><textarea>x</textarea></form></div></div>{side}</div><div id='footer'>Powered</div>"
    )


def _docs(make: _Maker) -> Page:
    sections = []
    for number in range(make.dice.randint(3, 7)):
        code = "\n".join(make.line(3, 6) for _ in range(5))
        sections.append(
            f'<section id="s{number}"><h2>{make.want(make.line())}'
            f'<a class="headerlink" href="#s{number}">¶</a></h2><p>{make.linked(make.prose())}</p>'
            f'<div class="highlight"><pre><span></span>{make.want(code)}\n</pre></div>'
            f"<dl><dt><code>{make.want(make.line(2, 3))}</code></dt><dd><p>"
            f"{make.want(make.prose(10, 40))}</p></dd></dl></section>"
        )
    return make.page(
        f'<div class="sphinxsidebar" role="navigation">{make.menu(40)}</div><div class="document">'
        f'<div class="body" role="main">{"".join(sections)}</div></div>'
        f'<div class="footer">&copy; Copyright 2024. Created using Sphinx.</div>'
    )


def _thread(make: _Maker) -> Page:
    name = make.dice.choice(["post", "comment", "message", "css-9aa1"])
    posts = "".join(
        f'<div class="{name}" id="p{number}"><div class="author">{make.line(1, 2)}</div>'
        f'<div class="{name}-text"><p>{make.want(make.prose(15, 80))}</p></div></div>'
        for number in range(make.dice.randint(4, 20))
    )
    return make.page(
        f"{make.menu(8)}<h1>{escape(make.line())}</h1><div>{posts}</div>{make.menu(9)}"
    )


def _wiki(make: _Maker) -> Page:
    rows = "".join(
        f"<tr><th>{make.want(make.line(1, 3))}</th><td>{make.want(make.line(2, 6))}</td></tr>\n"
        for _ in range(6)
    )
    box = f'<table class="infobox"><tbody>{rows}</tbody></table>'
    toc = f'<div id="toc" class="toc"><h2>Contents</h2>{make.menu(9, "")}</div>'
    edit = '<span class="mw-editsection">[<a href="/e">edit</a>]</span>'
    sections = "".join(
        f"<h2>{make.want(make.line(2, 5))}{edit}</h2>\n{make.body(1, 4)}" for _ in range(5)
    )
    return make.page(
        f'<div id="content" class="mw-body"><h1>{escape(make.line(1, 3))}</h1><div id="siteSub">'
        f'From Wiki</div><div class="mw-parser-output">{box}<p>{make.linked(make.prose())}</p>{toc}'
        f'{sections}<div class="navbox">{make.menu(60)}</div></div></div>'
        f'<div id="mw-navigation">{make.menu(30)}</div>'
    )


def _shop(make: _Maker) -> Page:
    rows = "".join(
        f"<tr><td>{make.want(make.line(1, 2))}<td>{make.want(make.line(1, 3))}" for _ in range(8)
    )
    cards = "".join(
        f'<li class="product"><a href="/p{number}"><h4>{escape(make.line(3, 6))}</h4></a>'
        "<span>$9.99</span><button>Add</button></li>"
        for number in range(8)
    )
    return make.page(
        f'<div class="topbar">{make.menu(8)}</div><div class="product-page"><h1>{make.line()}</h1>'
        f'<div class="description">{make.body(2, 4)}<table>{rows}</table></div></div>'
        f'<div class="recommendations"><h2>You may also like</h2><ul>{cards}</ul></div>'
        f'<div class="reviews-teaser">{make.link("See all reviews")}</div>{make.menu(20)}'
    )


def _form(make: _Maker) -> Page:
    """A page that is one form, as ASP.NET makes them."""
    return make.page(
        f'<form id="aspnetForm" method="post"><input type="hidden" value="{"x" * 3000}">'
        f'<div id="ctl00_Menu">{make.menu(15)}</div><table width="100%"><tr><td width="160">'
        f'{make.menu(12)}</td><td><div id="ctl00_Main">{make.body()}</div></td></tr></table>'
        f'<div id="ctl00_Foot">{make.menu(6)}<span>&copy; 2009 {make.line(2)}</span></div></form>'
    )


def _short(make: _Maker) -> Page:
    text = f"<h1>{make.want(make.line(2, 4))}</h1><p>{make.want(make.prose(10, 35))}"
    return make.page(f"{text}<p>{make.want(make.prose(8, 12))}")


def _breaks(make: _Maker) -> Page:
    """A page without paragraphs: lines end in ``br``, and tags are left open."""
    text = "<br><br>\n".join(make.linked(make.prose()) for _ in range(8))
    return make.page(
        f"<font size=2><center>{' | '.join(make.link(make.line(1, 2)) for _ in range(7))}</center>"
        f"<b>{escape(make.line())}</b><hr><div align=left>{text}</div><hr>"
        f"<center>{make.link('Home')} <i>{make.line(3, 5)}</center>"
    )


def _old_table(make: _Maker) -> Page:
    text = "".join(f"<p>{make.linked(make.prose())}" for _ in range(7))
    menu = "<br>".join(make.link(make.line(1, 2)) for _ in range(15))
    return make.page(
        f'<table width=800 cellpadding=0><tr><td colspan=3 bgcolor="#000">{make.line(2, 4)}</td>'
        f"<tr><td valign=top>{menu}<td valign=top><table><tr><td>{text}</table>"
        f"<td valign=top>{make.teasers(3, '')}</table>"
    )


def _list(make: _Maker) -> Page:
    """A page of entries, each a headline and a sentence: all of them are what it says."""
    entries = "".join(
        f'<div class="entry"><h2><a href="/{number}">{make.want(make.line(5, 9))}</a></h2>'
        f"<p>{make.want(make.prose(20, 45))}</p></div>\n"
        for number in range(12)
    )
    return make.page(f"<nav>{make.menu()}</nav><div id='list'>{entries}</div><footer>x</footer>")


def _saved(make: _Maker) -> Page:
    """A page saved as one file, with its pictures in it."""
    picture = f'<img src="data:image/png;base64,{"iVBORw0KGgo" * 20_000}">'
    style = f"<style>{'.a{color:red}' * 2000}</style>"
    return make.page(
        f"<header>{make.menu(9)}</header><article>{make.body(3, 5)}{picture}{make.body(2, 4)}"
        f"</article><aside>{make.teasers(3)}</aside><script>{'var a=1;' * 5000}</script>",
        style,
    )


def _wrapped(make: _Maker) -> Page:
    """Every paragraph stands in elements of its own, with other things between them."""
    parts = []
    for number in range(make.dice.randint(6, 14)):
        parts.append(
            f'<div class="row r{number}"><div class="col"><div class="elementor-widget elementor-'
            f'widget-text-editor"><p>{make.linked(make.prose(15, 90))}</p></div></div></div>'
        )
        if number in {2, 5}:
            parts.append(f'<div class="row"><div class="col"><div class="ad-slot">{make.line()}'
                         "</div></div></div>")  # fmt: skip
    beside = (
        f'<div class="col-4"><div><p>{escape(make.prose(40, 70))}</p></div>{make.menu(9, "")}</div>'
    )
    return make.page(
        f"<div class='top'>{make.menu()}</div><div class='grid'><div class='col-8'>{''.join(parts)}"
        f"</div>{beside}</div><div class='bottom'><p>{escape(make.prose(30, 50))}</p></div>"
    )


def _parted(make: _Maker) -> Page:
    """The opening stands apart from the text, which an advertisement parts in two."""
    return make.page(
        f"<div id=top>{make.menu()}</div><div id=wrap><h1>{make.line()}</h1>"
        f'<div class="lead"><p>{make.want(make.prose(25, 40))}</p></div>'
        f'<div class="meta">By {make.line(2, 2)}, 12 May 2024</div>'
        f'<div class="part">{make.body(2, 4)}</div><div class="mpu">Advertisement</div>'
        f'<div class="part">{make.body(2, 5)}</div><p>Also read: {make.link(make.line())}</p>'
        f'<div class="share-bar">{make.menu(5, "")}</div></div>'
        f"<div class='right'>{make.teasers(6)}</div>"
    )


def _unnamed_talk(make: _Maker) -> Page:
    """What people say below is longer than the article, and nothing is called by a name."""
    names = [f"c{make.dice.randrange(36**4):x}" for _ in range(4)]
    text = "".join(f"<p>{make.linked(make.prose())}</p>" for _ in range(make.dice.randint(4, 9)))
    talk = make.talk(make.dice.randint(8, 30), f'class="{names[2]}"')
    return make.page(
        f"<div class={names[0]}>{make.menu()}</div><div class={names[1]}><div>"
        f"<h1>{make.line()}</h1>{text}</div><div class={names[3]}>"
        f"<h3>What others say</h3>{talk}</div></div>"
        f"<div><p>{escape(make.prose(30, 60))}</p><p>{escape(make.prose(30, 60))}</p></div>"
    )


def _short_news(make: _Maker) -> Page:
    """Two paragraphs, amid more of everything else."""
    return make.page(
        f"<div class='cookie-consent'><p>{escape(make.prose(60, 90))}</p></div>"
        f"<header>{make.menu()}</header><div class='main'><div class='story'>"
        f"<h1>{make.line()}</h1><time>May 4</time>"
        f"<p>{make.linked(make.prose(25, 40))}</p><p>{make.linked(make.prose(25, 40))}</p></div>"
        f"<div class='more'>{make.teasers(8, '')}</div></div><div class='below'><h4>About us</h4>"
        f"<p>{escape(make.prose(50, 80))}</p><p>&copy; {make.line()}. All rights reserved.</p>"
        "</div>"
    )


def _interview(make: _Maker) -> Page:
    """Questions and short answers, some of a few words."""
    turns = "".join(
        f"<p><strong>{make.want(make.line(5, 10))}?</strong></p><p>{make.want(answer)}</p>"
        for answer in (make.dice.choice([make.line(2, 4), make.prose(10, 80)]) for _ in range(9))
    )
    return make.page(
        f"<nav>{make.menu()}</nav><div class='page'><div class='col'><p>{make.linked(make.prose())}"
        f"</p>{turns}</div><div class='side'>{make.teasers(5, '')}</div></div>"
    )


def _live(make: _Maker) -> Page:
    """A live blog: entries of a time, a headline and some words, one after another."""
    entries = "".join(
        f'<article class="live-post"><time>1{number % 10}.30</time>'
        f"<h2>{make.want(make.line())}</h2><div><p>{make.linked(make.prose(15, 70))}</p></div>"
        "</article>"
        for number in range(make.dice.randint(5, 20))
    )
    return make.page(
        f"<header>{make.menu()}</header><div class='live'><p>{make.want(make.prose(20, 40))}</p>"
        f"<div class='entries'>{entries}</div></div><footer>{make.menu(20)}</footer>"
    )


def _custom(make: _Maker) -> Page:
    """Elements that no standard knows, and text in spans."""
    text = "".join(f"<x-text><span>{make.linked(make.prose())}</span></x-text>" for _ in range(8))
    return make.page(
        f"<x-app><x-menu>{make.menu()}</x-menu><x-article><h1>{make.line()}</h1>{text}</x-article>"
        f"<x-list>{make.teasers(4)}</x-list></x-app>"
    )


KINDS: dict[str, Callable[[_Maker], Page]] = {
    "news": _news, "nameless": _nameless, "blog": _blog, "docs": _docs, "thread": _thread,
    "wiki": _wiki, "shop": _shop, "form": _form, "short": _short, "breaks": _breaks,
    "old table": _old_table, "list": _list, "saved": _saved, "wrapped": _wrapped,
    "parted": _parted, "unnamed talk": _unnamed_talk, "short news": _short_news,
    "interview": _interview, "live": _live, "custom": _custom,
}  # fmt: skip


def made(kind: str, seed: int) -> Page:
    """Return a page of that kind; the same seed gives the same page."""
    return KINDS[kind](_Maker(seed))


def score(found: str, wanted: str) -> tuple[float, float]:
    """Return how many of the runs found are wanted, and how many of those wanted are found."""
    runs, gold = _runs(found), _runs(wanted)
    both = sum((runs & gold).values())
    return both / max(1, runs.total()), both / max(1, gold.total())


def _runs(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    size = min(_RUN, len(words))
    return Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def read_page(data: bytes) -> str:
    """Return the text that is read of a page."""
    file = SourceFile(source_id="bench", path="page.html", media="html")
    return parser_for("html")(FileContent(data), file).text


def _table(count: int) -> str:
    rows, all_scores = [], []
    for kind in KINDS:
        pages = [made(kind, seed) for seed in range(count)]
        started = time.process_time()
        texts = [read_page(page.source.encode()) for page in pages]
        spent = time.process_time() - started
        scores = [score(text, page.wanted) for text, page in zip(texts, pages, strict=True)]
        all_scores += scores
        rows.append([kind, *_means(scores), f"{count / spent:.0f}"])
    rows.append(["all", *_means(all_scores), ""])
    return render_table(["pages", "precision", "recall", "F1", "pages/CPU-s"], rows)


def _means(scores: Sequence[tuple[float, float]]) -> Iterator[str]:
    precision = sum(one for one, _ in scores) / len(scores)
    recall = sum(two for _, two in scores) / len(scores)
    both = sum(2 * p * r / (p + r) if p + r else 0.0 for p, r in scores) / len(scores)
    return (f"{value:.3f}" for value in (precision, recall, both))


def _folder(folder: Path) -> str:
    files = sorted(folder.rglob("*.html"))[:2_000]
    data = [file.read_bytes() for file in files]
    started = time.process_time()
    kept = sum(len(read_page(each)) for each in data)
    spent = time.process_time() - started
    size = sum(map(len, data)) / 1e6
    return (
        f"{len(files):,} pages, {size:.1f} MB: {len(files) / spent:.0f} pages/CPU-s, "
        f"{size / spent:.1f} MB/CPU-s, {kept / 1e6:.2f} M characters kept"
    )


NONSENSE = (
    "<div>",
    "<p>some words",
    "<li>x",
    "<b><i>",
    "<a href=x>y",
    "<table><tr><td>",
    "<!-- > ",
    '<a b="',
    "<script>",
    "<title>x",
    "&#",
    "<h2><a href='#x'>x",
    "<u><div>x</u>",
    "<p a=b c='d'>",
    "<ul><li><a href=/x>a headline of the usual length</a>",
    "<div><h3><a href=/x>a headline of the usual length</a></h3>x</div>",
)


def _hostile() -> str:
    rows = []
    for piece in NONSENSE:
        spent = []
        for count in (20_000, 40_000):
            started = time.process_time()
            read_page((piece * count).encode())
            spent.append(time.process_time() - started)
        rows.append([piece[:40], *(f"{each:.2f}" for each in spent), f"{spent[1] / spent[0]:.1f}"])
    return render_table(["20,000 times", "CPU-s", "twice as much", "times"], rows)


def _shown(kind: str, seed: int) -> str:
    page = made(kind, seed)
    found = read_page(page.source.encode())
    wanted = set(page.wanted.split("\n"))
    extra = [line for line in found.split("\n") if line and line.removeprefix("- ") not in wanted]
    missing = [line for line in wanted if line and line not in found]
    parts = [f"{score(found, page.wanted)}", *(f"+ {line}" for line in extra)]
    return "\n".join([*parts, *(f"- {line}" for line in missing)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--show", nargs=2, metavar=("KIND", "SEED"))
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args(arguments)
    print(machine_line(describe_machine()))
    if options.show:
        print(_shown(options.show[0], int(options.show[1])))
    elif options.hostile:
        print(_hostile())
    elif options.folder:
        print(_folder(options.folder))
    else:
        print(_table(options.count))


if __name__ == "__main__":
    main()
