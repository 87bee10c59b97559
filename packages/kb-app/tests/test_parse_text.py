"""Plain texts: paragraphs, and headings of the formats that have certain ones."""

import time
from itertools import pairwise
from textwrap import dedent

import pytest
from hypothesis import example, given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.links import markup_links
from kb_app._ingest.making.man_pages import man_page
from kb_app._media import parser_for
from kb_core.documents import SourceFile


def outline(text: str, path: str) -> list[tuple[str, tuple[str, ...], str]]:
    file = SourceFile(source_id="s", path=path, media="text")
    document = parser_for("text")(FileContent(dedent(text).lstrip("\n").encode()), file)
    return [
        (block.kind, block.heading_path, document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_plain_text_has_paragraphs_and_no_headings() -> None:
    assert outline("TITLE\n=====\n\n* x\n\n\n  y\n", "a.txt") == [
        ("paragraph", (), "TITLE\n====="),
        ("paragraph", (), "* x"),
        ("paragraph", (), "  y"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "headings"),
    [
        ("zim.txt", ("Content-Type: text/x-zim-wiki\n\n====== Otters ======\n\nThey swim.\n\n"
                     "===== Dens =====\nDug.\n====== a = b ======\n"), [
            ("Otters",), ("Otters", "Dens"), ("a = b",)]),
        ("twiki.txt", "---+ Otters\n\n---+++!! Deep dens\n---\n---+++++++ none\n", [
            ("Otters",), ("Otters", "Deep dens")]),
        ("a.textile", "h1. Otters\n\nh2(#dens). Dens\n\nhis. none\nh7. none\n", [
            ("Otters",), ("Otters", "Dens")]),
        ("a.tid", "title: Holt\n\n! Otters\n!!Dens\n```\n! none\n```\n!!!!!!! none\n", [
            ("Otters",), ("Otters", "Dens")]),
        ("a.latex", "\\section{Otters}\n\\subsection{Dens}\n", [
            ("Otters",), ("Otters", "Dens")]),
        ("a.log", "== run ==\n", []),
        ("a.txt", "==== 3 passed in 0.01s =====\n======= x =======\n==  ==\n", []),
    ],
)  # fmt: skip
def test_pages_of_wikis_have_headings(
    path: str, text: str, headings: list[tuple[str, ...]]
) -> None:
    assert [where for kind, where, _ in outline(text, path) if kind == "heading"] == headings


@pytest.mark.parametrize(
    ("path", "text", "links"),
    [
        ("a.org", ("[[file:kiln log.org][log]] [[./b/c.org::*Head]]\n[[https://x.org]] [[*Head]]\n"
                   "[[id:1-2]] [[ -f x ]]\n"), [
            ("org", "kiln log.org", "log"), ("org", "./b/c.org", "./b/c.org")]),
        ("a.adoc", ("xref:b.adoc#part[Part], <<c.adoc#,C>>, link:d.html[D]\n<<part>> xref:part[x] "
                    "link:https://x.org/a[x]\n"), [
            ("asciidoc", "b.adoc#part", "Part"), ("asciidoc", "c.adoc#", "C"),
            ("asciidoc", "d.html", "D")]),
        ("a.rst", (":doc:`ref/one`, :doc:`two words </ref/two>`, `three <three.rst>`_\n"
                   "`x <https://x.org>`_ ``a <b>``_ :ref:`four`\n"), [
            ("rst", "ref/one", "ref/one"), ("rst", "/ref/two", "two words"),
            ("rst", "three.rst", "three")]),
        ("a.tid", "title: A\n\n[[Kiln log]] [[words|Kiln log]] [[https://x.org]]\n", [
            ("wiki", "Kiln log", "Kiln log"), ("wiki", "Kiln log", "words")]),
        ("a.txt", "[[Projects:Garden|beds]] [[+Dens]] [[https://x.org]]\n", [
            ("wiki", "Projects/Garden", "beds"), ("wiki", "Dens", "Dens")]),
        ("a.mediawiki", "[[Kiln log|log]] [[File:kiln.png]]\n", [("wiki", "Kiln log", "log")]),
        ("a.log", "[[x]]\n", []),
    ],
)  # fmt: skip
def test_links_of_each_markup_are_found_where_they_stand(
    path: str, text: str, links: list[tuple[str, str, str]]
) -> None:
    file = SourceFile(source_id="s", path=path, media="text")
    document = parser_for("text")(FileContent(text.encode()), file)

    assert [(link.kind, link.target, link.text) for link in document.links] == links
    assert all(document.text[link.start] in "[<:`xl" for link in document.links)


@pytest.mark.parametrize("path", ["a.org", "a.adoc", "a.rst", "a.tid", "a.txt"])
@pytest.mark.parametrize("piece", ["[[a", "[[a|", "<<a.", "xref:a.", ":doc:`a ", "`a <", "]["])
def test_links_are_looked_for_in_time_that_grows_with_the_text(path: str, piece: str) -> None:
    began = time.process_time()
    markup_links(piece * 40_000, path.rpartition(".")[2])

    assert time.process_time() - began < 2  # what is quadratic takes a minute


VIM_HELP = """\
*dens.txt*   Dens of otters

Text before all.

==============================================================================
1. Digging                                              *dens-dig*

Digging takes a *strong* paw. >

    none                                                *no*
<
------------------------------------------------------------------------------
Tools                                   *dens-tools* *dens-spade*

dig({place})                                            *dens.dig()*
    Digs.

                                                *'depth'* *'dp'* *'nodepth'*
'depth' 'dp'    number  (default 40)
"""


def test_help_of_vim_has_headings_where_it_has_tags() -> None:
    """Chapters and sections below rules, functions and options as items; nothing within code."""
    found = outline(VIM_HELP, "doc/dens.txt")

    assert [where for kind, where, _ in found if kind == "heading"] == [
        ("Dens of otters",),
        ("1. Digging",),
        ("1. Digging", "Tools"),
        ("1. Digging", "Tools", "dig({place})"),
        ("1. Digging", "Tools", "'depth', 'dp'"),
    ]
    assert [where for _, where, text in found if "default 40" in text] == [
        ("1. Digging", "Tools", "'depth', 'dp'")
    ]


@pytest.mark.parametrize("last", [" vim:tw=78:ts=8:ft=help:norl:\n", "vim: set filetype=help :\n"])
def test_help_of_vim_is_told_by_its_last_line(last: str) -> None:
    text = f"Dens\t\t*dens*\n\nText.\n\n{last}"

    assert [where for kind, where, _ in outline(text, "a.txt") if kind == "heading"] == [("Dens",)]
    assert not [kind for kind, *_ in outline(text, "a.log") if kind == "heading"]


def test_restructured_text_has_underlined_titles() -> None:
    text = """
        =====
        Title
        =====

        Intro
        text.

        Part
        ----
        One.

        ------
        no title above a short line, a table: ===
        ==

        Other
        -----
    """

    assert [row for row in outline(text, "a.rst") if row[0] == "heading"] == [
        ("heading", ("Title",), "=====\nTitle\n====="),
        ("heading", ("Title", "Part"), "Part\n----"),
        ("heading", ("Title", "Other"), "Other\n-----"),
    ]


RESTRUCTURED = """
    .. _top:

    ===============
    The ``Pool``\\s
    ===============

    Intro, as :ref:`below <leases>`::

        .. function:: shown(as_code)

            No heading.

    .. class:: Pool(size, *, wait=None)
               Pool()
       :canonical: pools.Pool

        Keeps leases.

        .. code-block:: rst

            .. method:: shown()

                No heading either.

        * .. attribute:: size

            How many.

        .. py:method:: take(timeout)

            Takes one.

    After the class.

    .. c:function:: int pool_take(Pool *pool)

       In C.

    .. option:: -w, --wait

       Waits.

    .. note:: This is no thing

       It is a note.

    .. setting:: POOL_SIZE

    .. index:: leases

    About :class:`~pools.Lease`
    ---------------------------

    .. data:: nothing_below
"""


@pytest.mark.parametrize("name", ["a.rst", "a.txt", "README"])
def test_what_directives_describe_is_a_section(name: str) -> None:
    found = [(path, text.splitlines()[0]) for kind, path, text in outline(RESTRUCTURED, name)
             if kind == "heading"]  # fmt: skip
    pool = ("The Pools", "Pool()")

    assert found == [
        (("The Pools",), ".. _top:"),
        (pool, ".. class:: Pool(size, *, wait=None)"),
        ((*pool, "size"), "    * .. attribute:: size"),
        ((*pool, "take()"), "    .. py:method:: take(timeout)"),
        (("The Pools", "pool_take()"), ".. c:function:: int pool_take(Pool *pool)"),
        (("The Pools", "-w, --wait"), ".. option:: -w, --wait"),
        (("The Pools", "About Lease"), ".. setting:: POOL_SIZE"),
    ]
    under = {
        text.strip(): path for kind, path, text in outline(RESTRUCTURED, name) if kind != "heading"
    }
    assert under["After the class."] == ("The Pools",)
    assert under["Takes one."] == (*pool, "take()")
    assert under[".. data:: nothing_below"] == ("The Pools", "About Lease")


def test_what_is_described_is_a_level_below_what_it_stands_under() -> None:
    """An outline is indented by levels."""
    file = SourceFile(source_id="s", path="a.rst", media="text")
    document = parser_for("text")(FileContent(dedent(RESTRUCTURED).encode()), file)
    levels = [block.level for block in document.blocks if block.kind == "heading"]

    assert levels == [1, 2, 3, 3, 2, 2, 2]


def test_a_text_without_directives_has_no_headings() -> None:
    text = "Dear all\n========\n\n... and so on::\n\n.. which is no directive\n"

    assert {kind for kind, _, _ in outline(text, "a.txt")} == {"paragraph"}


@given(
    st.lists(
        st.sampled_from(
            ["", "=====", "Title", "    deep", ".. class:: A(b)", "   .. method:: c()", "So::",
             "* .. data:: d", ".. _e:", ".. code:: f", "\t.. option:: -g", "-----", " .. note:: h"]
        ),
        max_size=25,
    )
)  # fmt: skip
@example([".. class:: A(b)", "   .. method:: c()", "", "    deep"])
def test_every_line_of_restructured_text_is_in_one_block(lines: list[str]) -> None:
    text = "\n".join([".. _always:", "", *lines])
    file = SourceFile(source_id="s", path="a.rst", media="text")
    document = parser_for("text")(FileContent(text.encode()), file)

    assert "".join("".join(text[b.start : b.end].split()) for b in document.blocks) == "".join(
        text.split()
    )
    ends = [0, *(block.end for block in document.blocks)]
    assert all(end <= block.start for end, block in zip(ends, document.blocks, strict=False))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.org", "* One\ntext\n** Two\nmore\n*bold* text\n"),
        ("a.adoc", "= One\ntext\n== Two\nmore\n*bold* text\n"),
        ("a.wiki", "= One =\ntext\n==  Two ==\nmore\n''bold'' = text\n"),
        ("a.pod", "=head1 C<One>X<index>\ntext\n=head2 Two\nmore\n=item L<a|b>\n"),
        ("a.texi", "@node One, Two\n@chapter @code{One}\ntext\n@section Two\nmore\n"),
        ("a.tex", "\\section{One}\ntext\n\\subsection*{Two}\\label{x}\nmore \\section{in text}\n"),
    ],
)
def test_marked_headings(path: str, text: str) -> None:
    assert [(kind, path) for kind, path, _ in outline(text, path)] == [
        ("heading", ("One",)),
        ("paragraph", ("One",)),
        ("heading", ("One", "Two")),
        ("paragraph", ("One", "Two")),
    ]


@pytest.mark.parametrize(
    ("path", "text", "title", "created"),
    [
        ("signal.7", "'\\\" t\n.\\\" by Ann\n.TH signal 7 2023-02-05 \"man\"\n.SH NAME\n",
         "signal(7)", "2023-02-05"),
        ("git\\-log.1", ".TH \"GIT\\-LOG\" \"1\" \"05/12/2024\"\n.SH\nNAME\n", "GIT-LOG(1)", None),
        ("mdoc.3", ".Dd May 5, 2024\n.Dt QUEUE 3\n.Sh NAME\n.Ss Lists\n", "QUEUE(3)", None),
        ("b.texinfo", "\\input texinfo\n@settitle The @sc{bzip2} book\n@chapter C\n",
         "The bzip2 book", None),
    ],
)  # fmt: skip
def test_a_manual_tells_its_name(path: str, text: str, title: str, created: str | None) -> None:
    file = SourceFile(source_id="s", path=path, media="text")
    document = parser_for("text")(FileContent(text.encode()), file)

    assert document.metadata.title == title
    assert str(document.metadata.created or "")[:10] == (created or "")
    heading = next(block for block in document.blocks if block.kind == "heading")
    assert heading.heading_path[-1] in {"NAME", "C"}


MAN = r"""
'\" t
.\" A remark.
.TH OTTER 1 2024-05-01
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.de Vs
.I not shown
..
.SH
NAME
otter \- dig a \fBdeep\fP den\&.
.SH "THE OPTIONS"
See
.BR holt (5),
or \
this.
.TP
.BI \-d " DEPTH\fR, " \-\-depth= DEPTH
How deep.
.IP \(bu 2
Not a \*(lqburrow\*(rq.
.TP
.B \-q
.TQ
.B \-\-quiet
.if n Say nothing.
.if t \{\
Not on paper.
.\}
.PP
After all \(:Otters.
.TS
tab(;) l l.
Where;T{
In Europe
T}
_
.TE
.PP
\-\-wet, \fB\-w\fR
.RS 4
Swim.
.RE
"""
MDOC = r"""
.Dd May 5, 2024
.Dt HOLT 5
.Sh NAME
.Nm holt
.Nd where otters live
.Sh FILES
.Nm
has
.Op Fl v Ar depth ,
as
.Xr otter 1 ) .
.Bl -tag -width Ds
.It Cm Depth Ns = Ns Ar metres
Of
.Fn dig "int deep" "int wide" .
.Bl -bullet
.It
Wet.
.El
.It Fl Fl dry
.Dq Dry ,
too.
.El
Done.
"""


@pytest.mark.parametrize(
    ("text", "shown", "entries"),
    [
        (MAN, ["OTTER 1 2024-05-01", "NAME", "otter - dig a deep den.", "THE OPTIONS", "See",
               "holt(5),", "or this.", "-d DEPTH, --depth=DEPTH", "How deep.",
               "- Not a “burrow”.", "-q", "--quiet", "Say nothing.", "After all Ötters.",
               "Where |", "In Europe", "--wet, -w", "Swim."],
         {"How deep.": "-d DEPTH, --depth=DEPTH", "Say nothing.": "-q, --quiet",
          "After all Ötters.": None, "Swim.": "--wet, -w"}),
        (MDOC, ["May 5, 2024", "HOLT 5", "NAME", "holt", "– where otters live", "FILES", "holt",
                "has", "[-v depth],", "as", "otter(1)).", "Depth=metres", "Of",
                "dig(int deep, int wide).", "- Wet.", "--dry", "“Dry”,", "too.", "Done."],
         {"Wet.": "Depth=metres", "too.": "--dry", "Done.": None}),
    ],
    ids=["man", "mdoc"],
)  # fmt: skip
def test_a_man_page_is_read_as_it_is_shown(
    text: str, shown: list[str], entries: dict[str, str | None]
) -> None:
    file = SourceFile(source_id="s", path="otter.1", media="text")
    document = parser_for("text")(FileContent(text.lstrip("\n").encode()), file)

    said = document.text.split("\n")
    assert len(said) == len(text.lstrip("\n").split("\n"))  # a line of it is a line of the file
    assert [line for line in said if line] == shown
    for line, entry in entries.items():
        block = next(b for b in document.blocks if line in document.text[b.start : b.end])
        assert (block.heading_path[-1] if len(block.heading_path) > 1 else None) == entry


def test_a_page_that_is_another_one_says_which() -> None:
    assert outline('.\\" A remark.\n.so man3/otter.3\n', "holt.3") == [
        ("paragraph", (), "See man3/otter.3")
    ]


@example([".SH", ".Sh FILES"])
@example([".TP", ".El", ".TH OTTER 1 2024-05-01"])
@example([".PP", ".Sh NAME", ".RS 4"])
@given(st.lists(st.sampled_from([*MAN.split("\n"), *MDOC.split("\n")]), max_size=40))
def test_whatever_a_man_page_has_no_line_is_lost(lines: list[str]) -> None:
    text = "\n".join([".TH OTTER 1", *lines])
    page = man_page(text)

    assert page.text.count("\n") == text.count("\n")
    regions = [region for region, _ in page.headings]
    assert all(one.end <= other.first for one, other in pairwise(regions))


TEX = r"""
\documentclass{book}
% \chapter{Not this}
\title{On \emph{ice} \& snow\thanks{To Ann.}}
\date{2024-05-01}
\begin{document}
\chapter[Short]{Long {\bf name}~of 50\% % remark
  and more\label{c}}
Text.
  \subsection{Deep \\ er}
More.
\section{Never closed
Text.
\paragraph{}
"""


def test_headings_of_latex_are_read_as_they_are_shown() -> None:
    found = outline(TEX, "a.tex")

    assert [path for kind, path, _ in found if kind == "heading"] == [
        ("Long name of 50% and more",),
        ("Long name of 50% and more", "Deep er"),
        ("Long name of 50% and more", "Never closed"),
    ]
    assert (
        found[1][2] == "\\chapter[Short]{Long {\\bf name}~of 50\\% % remark\n  and more\\label{c}}"
    )
    file = SourceFile(source_id="s", path="a.tex", media="text")
    metadata = parser_for("text")(FileContent(TEX.encode()), file).metadata
    assert metadata.title == "On ice & snow"
    assert str(metadata.created).startswith("2024-05-01")


@given(st.text("\\section{}[]*%x\n", max_size=200))
@example("\\section{" * 30)
def test_any_latex_is_in_one_block_each(text: str) -> None:
    file = SourceFile(source_id="s", path="a.tex", media="text")
    document = parser_for("text")(FileContent(text.encode()), file)

    shown = "".join("".join(text[b.start : b.end].split()) for b in document.blocks)
    assert shown == "".join(text.split())


ORG = """
#+TITLE: House
#+DATE: <2024-05-01 Wed>
#+FILETAGS: :home:repairs:
#+LANGUAGE: de

* TODO [#A] Fix the roof                         :urgent:roof:
  Water came in.
** DONE Call Ola
* Plain: as it stands :no tag:
"""


TIDDLER = """\
created: 20240501011409888
modified: 20240602130000000
tags: rivers [[small mammals]]
title: Otters: their dens
type: text/vnd.tiddlywiki

A paragraph. created: 1999

! Digging
"""


def test_a_tiddler_says_what_front_matter_says() -> None:
    file = SourceFile(source_id="s", path="Otters_ their dens.tid", media="text")
    metadata = parser_for("text")(FileContent(TIDDLER.encode()), file).metadata

    assert metadata.title == "Otters: their dens"
    assert metadata.created is not None
    assert metadata.created.date().isoformat() == "2024-05-01"
    assert metadata.updated is not None
    assert metadata.updated.date().isoformat() == "2024-06-02"
    assert set(metadata.tags) == {"rivers", "small mammals"}


def test_tags_of_a_tiddler_take_no_longer_for_being_open() -> None:
    file = SourceFile(source_id="s", path="a.tid", media="text")
    text = "tags: dens [[a [1] b]] " + "[[a " * 20_000 + "\n\nText.\n"
    began = time.process_time()

    metadata = parser_for("text")(FileContent(text.encode()), file).metadata

    assert time.process_time() - began < 2  # what is quadratic takes more than seven seconds
    assert set(metadata.tags) == {"dens", "a [1] b", "[[a"}


def test_org_says_what_front_matter_says() -> None:
    file = SourceFile(source_id="s", path="a.org", media="text")
    metadata = parser_for("text")(FileContent(ORG.encode()), file).metadata

    assert metadata.title == "House"
    assert metadata.created is not None
    assert metadata.created.date().isoformat() == "2024-05-01"
    assert set(metadata.tags) == {"home", "repairs", "urgent", "roof"}
    assert metadata.lang == "de"
    assert [path for kind, path, _ in outline(ORG, "a.org") if kind == "heading"] == [
        ("Fix the roof",),
        ("Fix the roof", "Call Ola"),
        ("Plain: as it stands :no tag:",),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rst", "House\n=====\n\n:date: 2024-05-01 10:20\n:Tags: home, repairs\n:slug: x\n"),
        ("a.adoc", "= House\n:revdate: 2024-05-01\n:keywords: home, repairs\n:toc:\n"),
    ],
)
def test_fields_at_the_head_say_what_front_matter_says(path: str, text: str) -> None:
    file = SourceFile(source_id="s", path=path, media="text")
    metadata = parser_for("text")(FileContent(text.encode()), file).metadata

    assert metadata.title == "House"
    assert metadata.created is not None
    assert metadata.created.date().isoformat() == "2024-05-01"
    assert metadata.tags == ("home", "repairs")
    assert metadata.user == {}


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("rfc_793.txt", "\n\n  The first line\nsecond\n", "rfc 793"),
        ("a.rst", ".. _ref:\n\nThe title\n=========\n", "The title"),
        ("a.rst", "Words first.\n\nA part\n======\n", "a"),
        ("a.adoc", ":toc:\n// comment\n\n= The title\n", "The title"),
        ("a.org", "words\n* One\n", "a"),
        ("a.org", "#+TITLE: The title\n* One\n", "The title"),
        ("a.adoc", "= The title\n", "The title"),
        ("notes/a.txt", "", "a"),
    ],
)
def test_titles(path: str, text: str, title: str) -> None:
    file = SourceFile(source_id="s", path=path, media="text")

    assert parser_for("text")(FileContent(text.encode()), file).metadata.title == title


DOCBOOK = """
    <!-- doc/config.sgml <sect1><title>none</title> -->
    <chapter id="config">
      <title>Server &amp; Client</title>
      <sect1><title>Settings</title>
        <para>What may be set.</para>
        <table><title>No heading</title></table>
        <variablelist>
         <varlistentry id="rows">
          <term><varname>most_rows</varname> (<type>integer</type>)
          <indexterm><primary>rows</primary></indexterm>
          </term>
          <listitem>
           <para>The default is 40.</para>
           <variablelist><varlistentry><term>inner</term></varlistentry></variablelist>
          </listitem>
         </varlistentry>
        </variablelist>
        <para>Behind the list.</para>
      </sect1>
      <refentry>
        <refmeta><refentrytitle>keep</refentrytitle></refmeta>
        <refsynopsisdiv><synopsis>keep ROWS</synopsis></refsynopsisdiv>
      </refentry>
    </chapter>
"""


def test_docbook_has_sections_and_entries_by_their_terms() -> None:
    found = outline(DOCBOOK, "doc/config.sgml")

    assert list(dict.fromkeys(path for _, path, _ in found)) == [
        (),
        ("Server & Client",),
        ("Server & Client", "Settings"),
        ("Server & Client", "Settings", "most_rows (integer)"),
        ("Server & Client", "keep"),
        ("Server & Client", "keep", "Synopsis"),
    ]
    entry = "\n".join(text for _, path, text in found if path[-1:] == ("most_rows (integer)",))
    assert "default is 40" in entry
    assert "inner" in entry
    (behind,) = [path for _, path, text in found if "Behind the list" in text]
    assert behind == ("Server & Client", "Settings")


def test_docbook_is_called_by_its_first_title() -> None:
    file = SourceFile(source_id="s", path="a.sgml", media="text")

    document = parser_for("text")(FileContent(dedent(DOCBOOK).encode()), file)

    assert document.metadata.title == "Server & Client"


@given(
    st.lists(
        st.sampled_from(
            ["<sect1>", "</sect1>", "<title>", "</title>", "<term>", "</term>", "<varlistentry>",
             "</varlistentry>", "<refsynopsisdiv>", "x", "\n", "<!--", "-->", "<"]
        ),
        max_size=40,
    ).map("".join)
)  # fmt: skip
@example("<sect1><title>a</title><sect2><title>b</title>\n</sect1>\nx\n")
def test_any_docbook_is_in_one_block_each(text: str) -> None:
    file = SourceFile(source_id="s", path="a.sgml", media="text")

    document = parser_for("text")(FileContent(text.encode()), file)

    held = "".join(document.text[block.start : block.end] for block in document.blocks)
    assert "".join(held.split()) == "".join(text.split())
