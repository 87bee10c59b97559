"""Resources, and languages that are read line by line."""

from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.grammars import HEADERS
from kb_app._media import parser_for
from kb_core.documents import SourceFile
from kb_core.text import LineIndex


def units(source: str, code_lang: str) -> list[tuple[str | None, str | None]]:
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)
    document = parser_for("code", code_lang)(
        FileContent(dedent(source).lstrip("\n").encode()), file
    )
    return [(block.symbol_kind, block.symbol) for block in document.blocks]


def places(source: str, code_lang: str) -> list[str]:
    """Say of each unit what it is called and which lines it has."""
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)
    document = parser_for("code", code_lang)(FileContent(dedent(source).strip("\n").encode()), file)
    lines = LineIndex(document.text)
    return [
        "{} {}-{}".format(block.symbol, *lines.lines_of(block.start, block.end))
        for block in document.blocks
    ]


def test_a_kubernetes_resource_is_one_unit_named_in_full() -> None:
    source = """
        # The web server.
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: web  # the name
          namespace: "prod"
          labels:
            name: other
        spec:
          template:
            metadata:
              name: inner
        ---
        apiVersion: v1
        kind: Namespace
        metadata: {name: prod}
        ---
        apiVersion: v1
        metadata:
          name: web
        kind: Service
    """

    assert units(source, "yaml") == [
        ("resource", "Deployment/prod/web"),
        ("resource", "Namespace"),
        ("resource", "Service/web"),
    ]


def test_two_resources_of_one_name_are_two_units() -> None:
    """Lesson 1: several resources in one file collided."""
    one = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"

    assert units(one + "---\n" + one, "yaml") == [("resource", "Pod/a")] * 2


@pytest.mark.parametrize(
    ("code_lang", "source", "symbols"),
    [
        ("yaml", "# c\nname: x\non:\n  push: 1\njobs:\n  a: b\n", ["name", "on", "jobs"]),
        ("toml", 'a = 1\n\n# c\n[tool.x]\nb = 1\n[[bin]]\nc = "[no]"\n', [None, "tool.x", "bin"]),
        ("ini", "[main]\na=1\n; c\n[other one]\n", ["main", "other.one"]),
        ("makefile", "CC := gcc\n\n# Builds.\nall: a b\n\tcc\n.PHONY: x\nx:\n", [
            None, "all", "x"]),
        ("dockerfile", "ARG X\nFROM a AS build\nRUN x\nFROM b\n", [None, "build", "stage"]),
        ("terraform", 'resource "aws_vpc" "main" {\n}\n\nlocals {\n}\n', [
            "resource.aws_vpc.main", "locals"]),
        ("sql", "-- T\nCREATE TABLE IF NOT EXISTS a.b (\n);\n\ncreate view v as select 1;\n", [
            "a.b", "v"]),
        ("lua", "local x = 1\n\nfunction M.f()\nend\nlocal function g()\nend\n", [
            None, "M.f", "g"]),
        ("proto", 'syntax = "proto3";\n\n// M.\nmessage M {\n}\nservice S {}\n', [None, "M", "S"]),
        ("graphql", "type Query {\n a: Int\n}\nenum E { A }\n", ["Query", "E"]),
        ("haskell", "module A where\n\nf :: Int\nf = 1\n\n-- G.\ng [] = 1\ng (_:_) = 2\n", [
            "A", "f", "g"]),
        ("erlang", ("-module(a).\n-record(row, {id}).\n\n%% F.\n-spec f(\n    integer()) -> ok.\n"
         "f(0) -> ok;\nf(N) ->\n    f(N - 1).\n\n'g h'() ->\n    case x of\n y -> z end.\n"), [
             "a", "row", "f", "g.h"]),
        ("elixir", "defmodule A do\n  def f(0), do: 1\n  def f(n), do: n\n  defp g, do: 2\nend\n", [
            "A", "A.f", "A.g"]),
        ("elixir", "defmodule A do\n  @type t :: atom\n  @opaque u :: t\nend\n", [
            "A", "A.t", "A.u"]),
        ("tcl", "proc ::a::empty? {x} {\n}\nproc / {a b} {\n}\n", ["a.empty?", "/"]),
        ("sql", "CREATE FOREIGN TABLE a (b int);\n", ["a"]),
        ("tcl", ("package require Tcl\n\nproc ::a::f {x} {\n  set y 1\n}\nnamespace eval a {\n"
         "    proc g {} {\n    }\n}\n"), [None, "a.f", None, "g"]),
        ("pascal", ("unit A;\ntype\n  TRow = class(TObject)\n    function Size: Integer;\n  end;\n"
         "  TKind = (One);\n\nfunction TRow.Size: Integer;\nbegin\nend;\n"), [
             "A", "TRow", None, "TRow.Size"]),
        ("nim", "type\n  Row*[T] = ref object\n    id: int\n\nproc size*(r: Row): int =\n  1\n", [
            None, "Row", "size"]),
        ("lua", "M.f = function(x)\nend\nlocal y = f(function() end)\n", ["M.f", None]),
        ("lua", ("do\n  -- Says f.\n  local function f()\n  end\n\n  function M.g()\n"
         "    local function no()\n    end\n  end\nend\nfunction h()\nend\n"), [
             None, "f", "M.g", "h"]),
        ("lisp", "(define (f x)\n  1)\n(define ((g a) b) 2)\n(defmethod (setf size) (n)\n  n)\n", [
            "f", "g", "size"]),
        ("ocaml", "let rec f x = g x\nand g x = 1\nexternal h : int -> int = \"h\"\n", [
            "f", "g", "h"]),
        ("vim", ("function! a#f() abort\nendfunction\nexport def G(): number\nenddef\n"
         "command! -nargs=1 H call a#f()\naugroup END\n"), ["a#f", "G", "H"]),
        ("fortran", ("module a\n  type(row) :: x\n  type, extends(base) :: row\n  end type row\n"
         "contains\n  pure function f(x) result(y)\n  end function f\nend module a\n"), [
             "a", "row", None, "f"]),
        ("matlab", "% F.\nfunction [a, b] = f(x)\nend\n\nfunction g\nend\n", ["f", "g"]),
        ("batch", "@echo off\nrem Builds.\n:build\n:: no label\ngoto end\n:end\n", [
            None, "build", "end"]),
        ("diff", "From a\n\ndiff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n", [
            None, "x.c"]),
        ("awk", "BEGIN { x = 1 }\nfunction f(a) {\n}\n", ["BEGIN", "f"]),
        ("vb", "Public Class Row\n  Private Shared Sub F()\n  End Sub\nEnd Class\n", ["Row", "F"]),
        ("gdscript", "extends Node\n\n# F.\nfunc f():\n\tpass\nstatic func g():\n\tpass\n", [
            None, "f", "g"]),
    ],
)  # fmt: skip
def test_a_header_line_starts_a_unit(
    code_lang: str, source: str, symbols: list[str | None]
) -> None:
    assert [symbol for _, symbol in units(source, code_lang)] == symbols


@pytest.mark.parametrize("code_lang", sorted(HEADERS))
def test_every_header_keeps_any_text_whole(code_lang: str) -> None:
    source = "a b c\n\n# x\n  def y:\n[z]\n---\nkind: '\n\0 한국어\n" * 3
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)

    document = parser_for("code", code_lang)(FileContent(source.encode()), file)

    held = "".join(document.text[block.start : block.end] for block in document.blocks)
    assert "".join(held.split()) == "".join(source.split())


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        ("elixir", '''
            defmodule A do
              @moduledoc """
                  def no(x) do
              """

              def f(x), do: x

              # About g.
              @doc """
              Says g.

                  def no(x)
              """
              @spec g(
                      atom
                    ) :: atom
              def g(x), do: x
            end
         ''', ["A 1-4", "A.f 6-6", "A.g 8-18"]),
        ("ocaml", "let f x = x\n(** Says g.\nlet no = 1\n    of x. *)\nlet g x = x\n", [
            "f 1-1", "g 2-5"]),
        ("haskell", "f :: Int\nf = 1\n{- | Says g.\n\nno = 1 -}\ng ::\n  Int\ng = 1\n", [
            "f 1-2", "g 3-8"]),
        ("sql", "/*\ncreate table no (x int);\n*/\ncreate table a (x int);\n", ["a 1-4"]),
        ("perl", "sub f { 1 }\n\n=head2 g\n\n  sub no { }\n\n=cut\n\nsub g { 1 }\n", [
            "f 1-1", "g 3-9"]),
        ("perl", "sub f { 1 }\n\n=head1 SYNOPSIS\n\n  sub no { }\n", ["f 1-5"]),
        ("julia", 'f(x) = x\n\n"""\n    g(x)\n\nSays g.\n"""\nfunction g(x)\nend\n', [
            "f 1-1", "g 3-9"]),
        ("lua", "--[[\nfunction no()\n]]\nfunction g()\nend\n", ["g 1-5"]),
        ("graphql", 'type A {\n  a: Int\n}\n\n"""\nSays B.\n"""\ntype B {\n  b: Int\n}\n', [
            "A 1-3", "B 5-10"]),
        ("vhdl", "entity a is\nend;\n  -- Says f.\n  function f return x is\n  end;\n", [
            "a 1-2", "f 3-5"]),
    ],
)  # fmt: skip
def test_a_comment_of_several_lines_belongs_to_what_it_tells_of(
    code_lang: str, source: str, found: list[str]
) -> None:
    """And what looks like a header in it, as an example does, is none."""
    assert places(source, code_lang) == found


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        ("elixir", 'describe "a" do\n  test "b c" do\n  end\nend\n', ["a 1-1", "b c 2-4"]),
        ("groovy", 'class A {\n  def "b c"() {\n  }\n}\n', ["A 1-1", "b c 2-4"]),
        ("julia", '@testset "b c" begin\nend\n', ["b c 1-2"]),
        ("lua", 'it("b\'s c", function()\nend)\n', ["b's c 1-2"]),
        ("ocaml", 'let%expect_test "b c" =\n  ()\n', ["b c 1-2"]),
        ("perl", "subtest 'b::c d' => sub {\n};\n", ["b::c d 1-2"]),
        ("r", 'test_that("b c", {\n})\n', ["b c 1-2"]),
        ("dart", "group('a', () {\n  test('b c', () {\n  });\n});\n", ["a 1-1", "b c 2-4"]),
    ],
)  # fmt: skip
def test_a_test_is_called_by_its_sentence(code_lang: str, source: str, found: list[str]) -> None:
    assert places(source, code_lang) == found
    assert units(source, code_lang)[-1][0] == "test"


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        ("cmake", ("# F.\nmacro(f X)\n  set(a ${X})\nendmacro(f)\n\n# All.\nset(b 1)\n"
                   "function(g)\nendfunction()\nset(c 2)\n"), [
                       "f 1-4", "None 6-7", "g 8-9", "None 10-10"]),
        ("perl", "sub f {\n  my %h = (\n    a => 1,\n  );\n}\n\nmy $x = f();\nprint $x;\n", [
            "f 1-5", "None 7-8"]),
        ("perl", "package A;\n\nmy $x = {\n  b => 1,\n};\n\nsub f {\n}\n1;\n", [
            "A 1-5", "A.f 7-8", "None 9-9"]),
        ("powershell", "function F\n{\n  if ($a)\n  {\n  }\n}\n\nF\n", ["F 1-6", "None 8-8"]),
        ("vb", "Class A\n  Sub F()\n  End Sub\nEnd Class\n", ["A 1-1", "F 2-4"]),
        ("makefile", "a: b\n\tc\nX = 1\nb:\n\td\n", ["a 1-3", "b 4-5"]),
    ],
)  # fmt: skip
def test_a_unit_ends_with_the_line_that_closes_it(
    code_lang: str, source: str, found: list[str]
) -> None:
    """What follows belongs to no function, and is not told to stand in one."""
    assert places(source, code_lang) == found


@pytest.mark.parametrize(
    ("code_lang", "source", "symbols"),
    [
        ("lisp", "(cl-defun f (x)\n  x)\n(ert-deftest g ()\n  t)\n(setq-default h 1)\n", [
            "f", "g"]),
        ("r", ('A <- ggproto("A", B,\n  x = 1\n)\nsetMethod("show", "A", f)\n'
               "`%o%` <- function(a, b) 1\n"), ["A", "show", "%o%"]),
        ("objc", ("static int\nfont_of (struct face *f,\n         int x)\n{\n  return g (x);\n}\n"
                  "\nvoid g(int x);\nstatic id make(void) {\n}\n- (void)run\n{\n}\n"), [
                      "font_of", None, "make", "run"]),
    ],
)  # fmt: skip
def test_what_its_own_macros_define_has_a_name(
    code_lang: str, source: str, symbols: list[str | None]
) -> None:
    assert [symbol for _, symbol in units(source, code_lang)] == symbols


@pytest.mark.parametrize("source", ["sub :: {\n}\n", "package ::;\n"])
def test_a_name_of_nothing_but_colons_costs_no_file(source: str) -> None:
    assert units(source, "perl")


def test_comments_that_are_never_closed_are_looked_for_once() -> None:
    source = "(* a\n" * 20_000 + "let f = 1\n"

    assert [symbol for _, symbol in units(source, "ocaml")] == [None, "f"][-1:]


@pytest.mark.parametrize(
    ("code_lang", "source", "symbols"),
    [
        ("elixir", ("defmodule A do\n  defmodule B.C do\n    def f, do: 1\n  end\n  def g, do: 2\n"
                    "  test \"h i\" do\n  end\nend\ndefmodule D do\n  def j, do: 1\nend\n"), [
            "A", "A.B.C", "A.B.C.f", "A.g", "h i", "D", "D.j"]),
        ("perl", ("sub f { 1 }\npackage A::B;\nsub g { 1 }\npackage C {\n  sub h { 1 }\n}\n"), [
            "f", "A.B", "A.B.g", "C", "C.h"]),
    ],
)  # fmt: skip
def test_what_stands_in_a_module_begins_with_its_name(
    code_lang: str, source: str, symbols: list[str]
) -> None:
    """It is called so elsewhere: ``Enum.map``, ``File::Spec->catfile``."""
    assert [symbol for _, symbol in units(source, code_lang)] == symbols


OBJC = """
#import "Row.h"
@protocol Later;

typedef NS_ENUM(NSInteger, RowKind) {
  RowKindShort,
};

@interface Row : NSObject
- (void)grow;
@end

static UIImage *drawn(CGRect frame,
                      BOOL isSmall)
{
  return draw(frame);
}

@implementation Row

static int most(void) {
  return 1;
}

// Grows.
- (void)grow
{
  [self add:most()];
}

+ (Row *)rowOf:(int)size within:(Row *)other {
  return nil;
}
@end

void after(int x) {
}
"""


def test_methods_of_objective_c_are_called_after_their_class_and_functions_are_not() -> None:
    assert units(OBJC, "objc")[1:] == [
        ("typedef", "RowKind"),
        ("interface", "Row"),
        ("method", "Row.grow"),
        ("function", "drawn"),
        ("implementation", "Row"),
        ("function", "most"),
        ("method", "Row.grow"),
        ("method", "Row.rowOf"),
        (None, None),
        ("function", "after"),
    ]


ZIG = """
const std = @import("std");
const Base = std.Base;

/// Rows.
pub fn List(
    comptime T: type,
) type {
    return struct {
        items: []T,

        /// Adds.
        pub fn add(self: *Self, item: T) !void {
            const at = 1;
            self.put(at, item);
        }
    };
}

pub const Row = struct {
    pub const most = 3;
    pub fn at(self: Row) usize {
        return 1;
    }
};

test "rows are added" {
}
"""
SOLIDITY = """
// Coins.
contract Coin is Owned {
    uint256 total;

    error Late(uint256 at);

    /// Sends.
    function send(address to) public {
        emit Sent(to);
    }

    constructor() {}
}
"""
OCAML = """
module Row : sig
  val size : int -> int
end = struct
  type _ t = Int : int t

  let size x =
    let y = x in
    y

  (* Adds. *)
  let ( >>| ) a b = b a
end

let f x =
  let g y = y in
  g x
"""
DART = """
class Row extends Base {
  const Row({
    super.key,
  });

  final Map<String, int> parts = make(1);

  // Builds.
  @override
  Widget build(Context context) {
    return Text(say('''
Row row() {
'''));
  }

  int get size => parts.length;
}

enum Kind { one, two }

void main() {
  group('Row', () {
    test('is built', () {
      run(1);
    });
  });
}
"""
GROOVY = """
class Row {
    int size = of(1)

    static Map<String, Row> of(int size) {
        if (size) {
            return of(0)
        }
    }

    def grow(by) {
    }
}
"""
FSHARP = """
module Rows =
    let size x =
        let y = x
        y

type Row(size: int) =
    member this.Size = size
    override _.ToString() = "r"
"""
PROTO = """
message Row {
  int32 size = 1;

  enum Kind {
    SHORT = 0;
  }
  Kind kind = 2;
}

service Rows {
  // Gets.
  rpc Get(Row) returns (Row);
  rpc Put(Row) returns (Row) {
    option (a) = "b";
  }
}
"""
CRYSTAL = """
module A
  class Row
    def size
      1
    end
  end
end
"""


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        ("zig", ZIG, ["None 1-2", "List 4-9", "List.add 11-17", "Row 19-19", "Row.most 20-20",
                      "Row.at 21-24", "rows are added 26-27"]),
        ("solidity", SOLIDITY, ["Coin 1-3", "Coin.Late 5-5", "Coin.send 7-10",
                                "Coin.constructor 12-13"]),
        ("ocaml", OCAML, ["Row 1-1", "Row.size 2-3", "Row.t 4-4", "Row.size 6-8",
                          "Row.>>| 10-12", "f 14-16"]),
        ("dart", DART, ["Row 1-1", "Row.Row 2-4", "Row 6-6", "Row.build 8-14", "Row.size 16-17",
                        "Kind 19-19", "main 21-21", "Row 22-22", "is built 23-27"]),
        ("groovy", GROOVY, ["Row 1-2", "Row.of 4-8", "Row.grow 10-12"]),
        ("fsharp", FSHARP, ["Rows 1-1", "Rows.size 2-4", "Row 6-6", "Row.Size 7-7",
                            "Row.ToString 8-8"]),
        ("proto", PROTO, ["Row 1-2", "Row.Kind 4-6", "Row 7-8", "Rows 10-10",
                          "Rows.Get 11-12", "Rows.Put 13-16"]),
        ("gdscript", "class Row:\n\tfunc size():\n\t\treturn 1\n\nfunc most():\n\tpass\n", [
            "Row 1-1", "Row.size 2-3", "most 5-6"]),
        ("crystal", CRYSTAL, ["A 1-1", "A.Row 2-2", "A.Row.size 3-7"]),
    ],
)  # fmt: skip
def test_what_stands_right_in_a_type_is_a_unit_of_it(
    code_lang: str, source: str, found: list[str]
) -> None:
    """Locals of functions are none, and what a text of several lines says closes nothing."""
    assert places(source, code_lang) == found


@pytest.mark.parametrize("quoted", ["\"'''\"", '\'"""\'', "'\\'''"])
def test_a_quote_that_is_quoted_opens_no_text(quoted: str) -> None:
    source = f"bool opens(String a) {{\n  return a == {quoted};\n}}\n\nvoid other() {{\n}}\n"
    again = source.replace("opens", "more").replace("other", "last")

    assert places(source + again, "dart") == ["opens 1-3", "other 5-6", "more 7-9", "last 11-12"]


def test_a_module_is_all_that_stands_in_it() -> None:
    """By levels an outline, and what is fetched by its name, reach as far."""
    source = "defmodule A do\n  def f, do: 1\n\n  def g, do: 2\nend\n\ndefmodule B do\nend\n"
    file = SourceFile(source_id="s", path="a", media="code", code_lang="elixir")

    document = parser_for("code", "elixir")(FileContent(source.encode()), file)

    assert [(block.symbol, block.level) for block in document.blocks] == [
        ("A", 1),
        ("A.f", 2),
        ("A.g", 2),
        ("B", 1),
    ]


_FILL = "".join(f"    x{at}\n" for at in range(50))


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        ("erlang", (f"-spec on(_) -> ok.\non({{get, Key}}) ->\n{_FILL}"
                    f"% Puts.\non(#'put.new'{{key = Key}}) when is_atom(Key) ->\n{_FILL}"
                    "on({'put.new', _}) -> b;\non(\"z\") -> c;\non(Any) -> Any.\n"), [
            "on 1-52", "on(put.new) 53-105", "on(z) 106-106", "on(_) 107-107"]),
        ("elixir", (f"  @spec on(atom) :: :no\n  def on(:get) do\n{_FILL}  end\n\n"
                    f"  @impl true\n  def on({{:put, k}}, _from) when k != :a do\n{_FILL}  end\n"
                    '  def on("z"), do: :b\n  def on(%A.Row{}), do: :c\n  def on(x), do: x\n'), [
            "on 1-53", "on(put) 55-107", "on(z) 108-108", "on(A.Row) 109-109", "on(_) 110-110"]),
        ("haskell", (f"on :: Row a => a -> B\non o (Get k) = C\n{_FILL}"
                     f"on _ Put{{}}\n  | D = E\n{_FILL}on \"z\" _ = F\n"), [
            "on 1-52", "on(Put) 53-104", "on(z) 105-105"]),
        ("haskell", f"on (Get k) = C\n{_FILL}on (Put k)\n  | k = D\n", ["on 1-53"]),
        ("erlang", "".join(f"on(x{at}) -> {at};\n" for at in range(120)), ["on 1-120"]),
        ("rego", f"on if x\n{_FILL}on if y\n{_FILL}", ["on 1-102"]),
    ],
)  # fmt: skip
def test_clauses_of_a_long_function_are_called_by_what_they_are_for(
    code_lang: str, source: str, found: list[str]
) -> None:
    """The first one stands with the name of all."""
    assert places(source, code_lang) == found


def test_the_name_of_a_class_may_come_after_what_has_to_hold() -> None:
    source = (
        "module A\n  ( b )\nwhere\n\n"
        "class (Functor m, Show (m a))\n      => B m where\n  b :: m\n\n"
        "class Eq a => C a where\n\ninstance (Eq a, Eq b) => D (a, b) where\n"
    )

    assert places(source, "haskell") == ["A 1-3", "B 5-7", "C 9-9", "D 11-11"]


def test_a_long_key_is_cut_at_those_within_it() -> None:
    steps = "".join(f"      - run: step {n}\n" for n in range(20))
    source = (
        f"on: push\njobs:\n  # Builds.\n  build:\n    steps:\n{steps}\n"
        f"  'deploy all':\n    steps:\n{steps}env:\n  A: 1\n"
    )

    assert places(source, "yaml") == [
        *("on 1-1", "jobs 2-2", "jobs.build 3-25", "jobs.deploy.all 27-48", "env 49-50")
    ]


def test_what_has_a_name_within_a_long_item_is_a_unit_too() -> None:
    """Of a task whose first key came next, the name was lost, and of a block all names."""
    fill = "".join(f"        k{n}: v\n" for n in range(15))
    text = "".join(f"      echo {n}: x\n" for n in range(40))
    source = (
        "- name: Before\n  a: b\n- name: Recover\n  when: x\n  block:\n"
        f"    - name: Stop /a.b\n      m:\n{fill}"
        f"    # Starts.\n    - name: Start\n      m:\n{fill}"
        f"- name: Run\n  shell: |\n{text}"
    )

    assert places(source, "yaml") == [
        *("Before 1-2", "Recover 3-3", "Recover.when 4-4", "Recover.block 5-5"),
        *("Recover.block.Stop /a.b 6-22", "Recover.block.Start 23-40"),
        *("Run 41-41", "Run.shell 42-82"),
    ]


def test_an_item_without_a_name_is_no_part_of_the_one_before_it() -> None:
    """It was read as keys of the named step, which ended with ``npm publish``."""
    script = "".join(f"          echo {n}\n" for n in range(32))
    source = (
        "jobs:\n  build:\n    steps:\n      - uses: a/b\n"
        f"      - name: Install\n        run: |\n{script}"
        "      # Keeps.\n      - uses: c/d\n        with:\n          path: x\n"
        "      - run: npm publish\n      - name: Done\n        run: x\n"
    )

    assert places(source, "yaml") == [
        *("jobs 1-1", "jobs.build 2-2", "jobs.build.steps 3-4", "jobs.build.steps.Install 5-5"),
        *("jobs.build.steps.Install.run 6-38", "jobs.build.steps 39-42"),
        *("jobs.build.steps 43-43", "jobs.build.steps.Done 44-45"),
    ]


def test_an_item_at_the_margin_without_a_name_has_none_of_the_one_before_it() -> None:
    fill = "".join(f"      k{n}: v\n" for n in range(15))
    source = (
        "- name: One\n  a: b\n# Two.\n- hosts: all\n  tasks:\n"
        f"    - name: Stop\n{fill}    - name: Start\n{fill}- name: Three\n  c:\n  - d\n"
    )

    assert places(source, "yaml") == [
        *("One 1-2", "None 3-4", "tasks 5-5", "tasks.Stop 6-21", "tasks.Start 22-37"),
        "Three 38-40",
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("a:\n  run: |\n    echo a\n\n    # clean up:\n    #x\n\n  # b: c\n", ["1-6", "8-8"]),
        ("a:\n  - run: >-\n      echo a |\n\n      # clean up\nb: c\n", ["1-5", "6-6"]),
        ("a: |\n    # one\n\n    # two\n", ["1-4"]),
        ("a: |\n\n# one\n\n# two\n", ["1-1", "3-3", "5-5"]),
    ],
)
def test_comments_of_a_script_are_part_of_it(source: str, found: list[str]) -> None:
    assert [place.split()[-1] for place in places(source, "yaml")] == found


def test_settings_that_are_commented_out_are_none_of_the_key_above_them() -> None:
    source = "a:\n  b: c\n  # More.\n\n# Nets.\n#net: 1\n\n#way: 2\n\nd: e\n"

    assert places(source, "yaml") == ["a 1-3", "None 5-6", "None 8-8", "d 10-10"]


def test_named_items_of_a_list_are_units() -> None:
    """As the tasks of a playbook."""
    source = "---\n# Serves.\n- name: Install the server\n  apt: x\n\n- name: 'Start it'\n  a: b\n"

    assert places(source, "yaml") == ["None 1-1", "Install the server 2-4", "Start it 6-7"]
    assert units(source, "yaml")[-1][0] == "item"


BUILD = """
    <?xml version="1.0" encoding="ISO-8859-1"?>
    <project xmlns="http://maven.apache.org/POM/4.0.0">
      <artifactId>otter</artifactId>
      <!-- Of all
           modules. -->
      <properties>
        <den.size>4</den.size>
      </properties>
      <profiles>
        <profile>
          <id>river</id>
          <build>
            STEPS
          </build>
        </profile>
        <profile><id>sea</id>
          <skip>true</skip>
        </profile>
      </profiles>
      <dependency>
        <artifactId>weir</artifactId>
      </dependency>
      <dependency>
        <scope>test</scope>
      </dependency>
    </project>
"""
STEPS = "".join(f"\n<step n='{n}'/>" for n in range(30))


def test_an_element_of_several_lines_is_a_unit_if_its_name_or_its_tag_tells_it_apart() -> None:
    found = places(dedent(BUILD).replace("STEPS", STEPS), "xml")

    assert found == [
        "None 1-3",
        "properties 4-8",
        "profiles 9-9",
        "profiles.profile.river 10-11",
        "profiles.profile.river.build 12-45",
        "profiles.profile.sea 46-49",
        "dependency.weir 50-52",
        "None 53-56",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<a id='x'>\n<b>\n</b>\n</a>", ["a.x 1-4"]),  # a short one is one
        (f"<a><b>{STEPS}</b></a>", ["None 1-31"]),  # what begins in one line is not told apart
        (f"<a>\n<b>{STEPS}\n</b>\n<c>\n", ["None 1-1", "b 2-33", "None 34-34"]),  # it breaks off
        (f"<a>\n<b name='{'x' * 99}'>{STEPS}\n</b>\n</a>", ["None 1-1", "b 2-34"]),
        (
            "<!DOCTYPE a [<!ENTITY x 'xxxx'>]>\n<a>\n<b id='c'>\n&x;</b>\n</a>",
            ["None 1-5"],
        ),
    ],
)
def test_xml_is_read_as_far_as_it_is_right_and_safe(source: str, expected: list[str]) -> None:
    assert places(source, "xml") == expected
