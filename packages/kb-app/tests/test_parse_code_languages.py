"""Units of code, language by language: which lines they are, and what they are called."""

from textwrap import dedent

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.preprocessed import first_branches
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.text import LineIndex


def parse(source: str, code_lang: str) -> ParsedDocument:
    file = SourceFile(source_id="s", path=f"src/a.{code_lang}", media="code", code_lang=code_lang)
    return parser_for("code", code_lang)(FileContent(dedent(source).lstrip("\n").encode()), file)


def outline(document: ParsedDocument) -> list[str]:
    """Say of each block what it is: ``first-last kind symbol``."""
    lines = LineIndex(document.text)
    return [
        "{}-{} {} {}".format(
            *lines.lines_of(block.start, block.end),
            block.symbol_kind or block.kind,
            block.symbol or "",
        ).rstrip()
        for block in document.blocks
    ]


PYTHON = '''
"""What this module is for."""

import os
from typing import overload

LIMIT = 3


# About the function.
@cache
def plain(a, b):
    """Say it."""
    def inner():
        return 1
    return inner


class Store(Base):
    """Keeps things."""

    size: int = 0

    def __init__(self) -> None:
        self.x = 1  # set

    # A comment of the property.
    @property
    def name(self):
        return "n"

    SEPARATOR = "-"

    class Entry:
        async def get(self):
            return None


if os.name == "nt":

    def only_here():
        pass

type Alias = int
'''

PYTHON_UNITS = [
    "1-4 gap",
    "6-6 constants",
    "9-15 function plain",
    "18-21 class Store",
    "23-24 function Store.__init__",
    "26-29 function Store.name",
    "31-31 gap Store",
    "33-33 class Store.Entry",
    "34-35 function Store.Entry.get",
    "38-38 gap",
    "40-41 function only_here",
    "43-43 type Alias",
]

TYPESCRIPT = """
import { a } from "./a";

/** What it is. */
export interface Shape {
  area(): number;
}

export type Id = string | number;

enum Color {
  Red,
}

@Injectable()
export class Circle implements Shape {
  private r = 1;

  constructor(readonly x: number) {}

  // The area.
  @memo()
  area(): number {
    return 3;
  }

  grow = (by: number) => {
    this.r += by;
  };
}

export const add = (a: number, b: number) => a + b;

const TABLE = {
  a: 1,
  b: 2,
};

namespace Inner {
  export function deep(): void {
  }
}

export default function main() {
  add(1, 2);
}
"""

TYPESCRIPT_UNITS = [
    "1-1 gap",
    "3-6 interface Shape",
    "8-8 type Id",
    "10-12 enum Color",
    "14-16 class Circle",
    "18-18 method Circle.constructor",
    "20-24 method Circle.area",
    "26-29 function Circle.grow",
    "31-31 function add",
    "33-36 const TABLE",
    "38-38 module Inner",
    "39-41 function Inner.deep",
    "43-45 function main",
]

TSX = """
import React from "react";

type Props = { name: string };

export function Hello({ name }: Props) {
  return <b>Hello {name}</b>;
}

export const List = () => (
  <ul>
    <li>one</li>
  </ul>
);
"""

TSX_UNITS = [
    "1-1 gap",
    "3-3 type Props",
    "5-7 function Hello",
    "9-13 function List",
]

JAVASCRIPT = """
"use strict";
const fs = require("fs");

// Reads.
async function read(path) {
  return fs.readFileSync(path);
}

class Queue extends Base {
  #items = [];

  push(item) {
    this.#items.push(item);
  }

  static of() {
    return new Queue();
  }
}

Queue.prototype.pop = function () {
  return null;
};

module.exports = {
  read,
  Queue,
  extra: 1,
};
"""

JAVASCRIPT_UNITS = [
    "1-2 gap",
    "4-7 function read",
    "9-10 class Queue",
    "12-14 method Queue.push",
    "16-19 method Queue.of",
    "21-23 function Queue.prototype.pop",
    "25-29 const module.exports",
]

GO = """
// Package a does things.
package a

import "fmt"

const (
	One = 1
	Two = 2
)

// Point is a place.
type Point struct {
	X, Y int
}

type Mover interface {
	Move()
}

// Move moves.
func (p *Point) Move() {
	p.X++
}

func (s *Stack[T]) Push(v T) {
	s.items = append(s.items, v)
}

func main() {
	fmt.Println("x")
}
"""

EXPORTED = """
"use strict";
const
    path = require("path"),
    { a, b } = require("./c"),
    other = require("./other").inner;

module.exports = class Store {
    constructor(rows) {
        this.rows = rows;
    }
    last() {
        return this.rows;
    }
};

exports = function named(x) {
    return x;
};
"""

EXPORTED_UNITS = [
    "1-5 gap",
    "7-7 class Store",
    "8-10 method Store.constructor",
    "11-14 method Store.last",
    "16-18 function named",
]

MADE_OF_REQUIRED = """
const server = require("http").createServer((req, res) => {
    res.statusCode = 204;
    res.end();
});

const db = require("knex")({
    client: "pg",
    pool: { min: 2 },
});

const {
    one,
    two,
} = require("./numbers");
"""

MADE_OF_REQUIRED_UNITS = ["1-4 const server", "6-9 const db", "11-14 gap"]

C_POINTERS = """
typedef int (*GetNumber)(const char *name, void *data);
typedef void *(*Load)(struct RDB *rdb, int version);
"""

GO_GROUPS = """
package a

// Keys of a context.
const (
	// For the server.
	ServerKey Key = "server"

	TableKey Key = "table"
)

type (
	// Row is one.
	Row struct {
		A int
	}
	Name = string
)

var (
	_ fmt.Stringer = (*Row)(nil)
	ErrGone = errors.New("gone")
)

const (
	Begin uint8 = iota
	Abort
	Alpha, _, Beta = iota, iota, iota + 10
)

var left, right int
"""

GO_GROUPS_UNITS = [
    "1-1 gap",
    "3-6 const ServerKey",
    "8-9 const TableKey",
    "11-15 type Row",
    "16-17 type Name",
    "19-20 var",
    "21-22 var ErrGone",
    "24-25 const Begin",
    "26-26 const Abort",
    "27-28 const Alpha, Beta",
    "30-30 var left, right",
]

GO_UNITS = [
    "1-4 gap",
    "6-7 const One",
    "8-9 const Two",
    "11-14 type Point",
    "16-18 type Mover",
    "20-23 method Point.Move",
    "25-27 method Stack.Push",
    "29-31 function main",
]

RUST = """
//! Crate docs.

use std::fmt;

/// A point.
#[derive(Debug)]
pub struct Point {
    x: i32,
}

pub enum Kind { A, B }

impl Point {
    /// Make one.
    pub fn new() -> Self {
        Self { x: 0 }
    }

    #[inline]
    fn x(&self) -> i32 { self.x }
}

impl<T: Clone> fmt::Display for Wrapper<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Ok(())
    }
}

trait Walk {
    fn walk(&self);
}

macro_rules! hello {
    () => {};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() {
        assert!(true);
    }
}

const MAX: usize = 3;
"""

RUST_UNITS = [
    "1-3 gap",
    "5-9 struct Point",
    "11-11 enum Kind",
    "13-13 impl Point",
    "14-17 function Point.new",
    "19-21 function Point.x",
    "23-23 impl Wrapper",
    "24-27 function Wrapper.fmt",
    "29-29 trait Walk",
    "30-31 function Walk.walk",
    "33-35 macro hello",
    "37-39 module tests",
    "41-45 function tests.works",
    "47-47 const MAX",
]

JAVA = """
package a.b;

import java.util.List;

/** Keeps. */
@Entity
public class Store<T> {
    private int x = 0;

    public Store() {
        x = 1;
    }

    /** Gets. */
    @Override
    public T get(int i) {
        return null;
    }

    static class Inner {
        void go() {
        }
    }
}

interface Shape {
    double area();
}

enum Color {
    RED, GREEN;

    Color next() {
        return RED;
    }
}

record Pair(int a, int b) {}
"""

JAVA_UNITS = [
    "1-3 gap",
    "5-8 class Store",
    "10-12 constructor Store.Store",
    "14-18 method Store.get",
    "20-20 class Store.Inner",
    "21-24 method Store.Inner.go",
    "26-26 interface Shape",
    "27-28 method Shape.area",
    "30-31 enum Color",
    "33-36 method Color.next",
    "38-38 record Pair",
]

KOTLIN = """
package a.b

import x.Y

// A class.
@Serializable
data class Point(val x: Int) : Base() {
    val y = 1

    /** Moves. */
    fun move(by: Int): Int {
        return x + by
    }

    companion object {
        fun of(x: Int): Point {
            return Point(x)
        }
    }
}

object Registry {
    fun find() {
    }
}

interface Shape {
    fun area(): Double
}

fun List<Int>.total(): Int {
    return 1
}

val handler = { x: Int ->
    x + 1
}
"""

KOTLIN_UNITS = [
    "1-3 gap",
    "5-8 class Point",
    "10-13 function Point.move",
    "15-15 object Point.Companion",
    "16-20 function Point.Companion.of",
    "22-22 object Registry",
    "23-25 function Registry.find",
    "27-27 class Shape",
    "28-29 function Shape.area",
    "31-33 function total",
    "35-37 gap",
]

C = r"""
/* License. */

#include <stdio.h>

#define MAX 3
#define SQUARE(x) \
    ((x) * (x))

/* A point. */
struct point {
    int x;
};

typedef struct {
    int a;
} pair_t;

enum color { RED, GREEN };

static int count;

int add(int a, int b);

/* Adds. */
static int *add(int a, int b)
{
    return 0;
}

#ifdef DEBUG
void debug(void)
{
}
#endif
"""

C_UNITS = [
    "1-5 gap",
    "6-7 macro SQUARE",
    "9-12 struct point",
    "14-16 type pair_t",
    "18-18 enum color",
    "20-22 gap",
    "24-28 function add",
    "30-30 gap",
    "31-34 function debug",
]

CPP = """
#include <string>

namespace app {

// A store.
template <typename T>
class Store : public Base {
public:
    Store() {}

    int size() const {
        return 1;
    }

private:
    int x_;
};

int Store::count(int a) {
    return a;
}

Store::~Store() {
}

}  // namespace app

struct Point {
    int x;
};

int main() {
    return 0;
}
"""

CPP_UNITS = [
    "1-1 gap",
    "3-3 namespace app",
    "5-8 class app.Store",
    "9-9 function app.Store.Store",
    "11-13 function app.Store.size",
    "15-17 gap app.Store",
    "19-21 function app.Store.count",
    "23-26 function app.Store.~Store",
    "28-30 struct Point",
    "32-34 function main",
]

BASH = r"""
#!/usr/bin/env bash
set -euo pipefail

# Says it.
say() {
  printf '%s\n' "$*"
}

function build {
  say "build"
}

build "$@"
"""

BASH_UNITS = [
    "1-2 gap",
    "4-7 function say",
    "9-11 function build",
    "13-13 gap",
]

CSHARP = """
using System;

namespace App.Core
{
    /// <summary>Keeps.</summary>
    [Serializable]
    public class Store : IStore
    {
        private int x;

        public Store() { x = 1; }

        public int Size { get; set; }

        // Gets.
        public int Get(int i)
        {
            return i;
        }
    }

    public interface IStore
    {
        int Get(int i);
    }
}
"""

CSHARP_UNITS = [
    "1-1 gap",
    "3-4 namespace App.Core",
    "5-9 class App.Core.Store",
    "11-11 constructor App.Core.Store.Store",
    "13-13 property App.Core.Store.Size",
    "15-20 method App.Core.Store.Get",
    "22-23 interface App.Core.IStore",
    "24-26 method App.Core.IStore.Get",
]

RUBY = """
require "set"

module App
  # A store.
  class Store < Base
    attr_reader :x

    def initialize(x)
      @x = x
    end

    def self.of(x)
      new(x)
    end
  end
end

def top
  1
end
"""

RUBY_UNITS = [
    "1-1 gap",
    "3-3 module App",
    "4-6 class App.Store",
    "8-10 method App.Store.initialize",
    "12-16 method App.Store.of",
    "18-20 method top",
]

PHP = r"""
<?php
namespace App;

use Foo\Bar;

/** Keeps. */
class Store extends Base
{
    private $x = 1;

    /** Gets. */
    public function get($i)
    {
        return $i;
    }
}

interface Shape
{
    public function area();
}

function top()
{
    return 1;
}
"""

PHP_UNITS = [
    "1-4 gap",
    "6-9 class Store",
    "11-16 method Store.get",
    "18-19 interface Shape",
    "20-21 method Shape.area",
    "23-26 function top",
]

SWIFT = """
import Foundation

/// A point.
struct Point: Shape {
    var x: Int

    init(x: Int) {
        self.x = x
    }

    func area() -> Double {
        return 1.0
    }
}

extension Point {
    func grow() {
    }
}

protocol Shape {
    func area() -> Double
}

func top() {
}
"""

SWIFT_UNITS = [
    "1-1 gap",
    "3-5 class Point",
    "7-9 constructor Point.init",
    "11-14 function Point.area",
    "16-16 class Point",
    "17-19 function Point.grow",
    "21-21 protocol Shape",
    "22-23 function Shape.area",
    "25-26 function top",
]

SCALA = """
package app

import scala.util.Try

/** Keeps. */
class Store(x: Int) extends Base {
  val y = 1

  def get(i: Int): Int = {
    i
  }
}

object Store {
  def apply(): Store = new Store(1)
}

trait Shape {
  def area: Double
}
"""

SCALA_UNITS = [
    "1-3 gap",
    "5-7 class Store",
    "9-12 function Store.get",
    "14-14 object Store",
    "15-16 function Store.apply",
    "18-18 trait Shape",
    "19-20 function Shape.area",
]

CSS = """
@import "a.css";

/* Buttons. */
.button,
a.link:hover > b {
  color: red;
}

@media print {
  .x { display: none; }
}

@keyframes spin {
  from { top: 0; }
}
"""

CSS_UNITS = [
    "1-1 gap",
    "3-7 rule button, a.link:hover > b",
    "9-11 media @media print",
    "13-15 keyframes spin",
]


CPP_WITH_MACROS = """
int Cache::get(int key)
    LOCKS_EXCLUDED(mu_)
    NO_THROW(yes) {
  return key;
}

Cache::Cache() LOCKS_REQUIRED(mu_) : size_(0) {
}

class CORE_EXPORT Widget final : public Object {
 public:
  int width() const LOCKS_EXCLUDED(mu_) { return w_; }
};

class Slots : public QObject {
    Q_OBJECT
public:
    enum Kind {
        One = 1,
        Two,
    };
signals:
    void changed();
public slots:
    void change() { changed(); }
};

struct DLL ALIGNED_AS(16) Row {
  int get() { return 1; }
};

TEST_F(CacheTest, KeepsWhatIsNew) {
  EXPECT_EQ(1, 1);
}

void plain() {
  if (late) LOG_ERROR(why) {
  }
}
"""
CPP_WITH_MACROS_UNITS = [
    "1-5 function Cache.get",
    "7-8 function Cache.Cache",
    "10-11 class Widget",
    "12-13 function Widget.width",
    "15-17 class Slots",
    "18-21 enum Slots.Kind",
    "22-24 gap Slots",
    "25-26 function Slots.change",
    "28-28 struct Row",
    "29-30 function Row.get",
    "32-34 function CacheTest.KeepsWhatIsNew",
    "36-39 function plain",
]

C_WITH_LONE_MACROS = """
#include "khash.h"

KHASH_MAP_INIT_STR(names, row_t *)
KHASH_SET_INIT_STR(words)  // Words that are known.

#define KEY "key"

G_DEFINE_TYPE_WITH_CODE (Row, row, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_ICON, row_icon))

static int first(void)
{
  return OTHER_CALL(1)
      + 2;
}

  FT_LOCAL_DEF( FT_Error )
  Row_Init( Row_Type  row )
  {
  }

PHP_FUNCTION(second)
{
}

static const int sizes[] = {
ONE_OF(1),
TWO_OF(2)
};

void third(void) { }
"""
C_WITH_LONE_MACROS_UNITS = [
    "1-9 gap",
    "11-15 function first",
    "17-20 function Row_Init",
    "22-24 function second",
    "26-29 const sizes",
    "31-31 function third",
]

CPP_WITHIN = """
namespace app {

namespace {

class Pool {
  class Picker {
    int pick() { return 1; }
  };

  int size_;
};

}  // namespace

}  // namespace app
"""
CPP_WITHIN_UNITS = [
    "1-1 namespace app",
    "3-3 namespace app",
    "5-5 class app.Pool",
    "6-6 class app.Pool.Picker",
    "7-8 function app.Pool.Picker.pick",
    "10-15 gap app.Pool",
]

STARLARK = """
load("//rules:defs.bzl", "cc_library")

# What answers requests.
cc_library(
    name = "server",
    srcs = ["server.cc"],
)

def suite(name):
    native.test_suite(name = name)

cc_test(name = "server_test", size = "small")
"""
STARLARK_UNITS = [
    "1-1 gap",
    "3-7 target server",
    "9-10 function suite",
    "12-12 target server_test",
]

RUST_WITHIN = """
use std::io;

cfg_net! {
    /// What listens.
    pub struct Listener {
        io: u8,
    }

    impl Listener {
        cfg_unix! {
            /// Takes one.
            pub fn accept(&self) -> u8 {
                vec! { 1 }[0]
            }
        }
    }
}

lazy! { a => b }

pub fn last() -> u8 {
    keep! { fn no() {} }
}
"""
RUST_WITHIN_UNITS = [
    "1-3 gap",
    "4-7 struct Listener",
    "9-10 impl Listener",
    "11-16 function Listener.accept",
    "17-19 gap",
    "21-23 function last",
]


@pytest.mark.parametrize(
    ("code_lang", "source", "expected"),
    [
        ("python", PYTHON, PYTHON_UNITS),
        ("typescript", TYPESCRIPT, TYPESCRIPT_UNITS),
        ("tsx", TSX, TSX_UNITS),
        ("javascript", JAVASCRIPT, JAVASCRIPT_UNITS),
        ("javascript", EXPORTED, EXPORTED_UNITS),
        (
            "typescript",
            "\nabstract class A {\n  abstract get(): number;\n}\n",
            ["1-1 class A", "2-3 method A.get"],
        ),
        ("javascript", MADE_OF_REQUIRED, MADE_OF_REQUIRED_UNITS),
        ("c", C_POINTERS, ["1-1 type GetNumber", "2-2 type Load"]),
        ("go", GO, GO_UNITS),
        ("go", GO_GROUPS, GO_GROUPS_UNITS),
        ("rust", RUST, RUST_UNITS),
        ("rust", RUST_WITHIN, RUST_WITHIN_UNITS),
        ("java", JAVA, JAVA_UNITS),
        ("kotlin", KOTLIN, KOTLIN_UNITS),
        ("c", C, C_UNITS),
        ("cpp", CPP, CPP_UNITS),
        ("cpp", CPP_WITH_MACROS, CPP_WITH_MACROS_UNITS),
        ("c", C_WITH_LONE_MACROS, C_WITH_LONE_MACROS_UNITS),
        ("cpp", CPP_WITHIN, CPP_WITHIN_UNITS),
        ("starlark", STARLARK, STARLARK_UNITS),
        ("bash", BASH, BASH_UNITS),
        ("csharp", CSHARP, CSHARP_UNITS),
        ("ruby", RUBY, RUBY_UNITS),
        ("php", PHP, PHP_UNITS),
        ("swift", SWIFT, SWIFT_UNITS),
        ("scala", SCALA, SCALA_UNITS),
        ("css", CSS, CSS_UNITS),
    ],
)
def test_units_are_whole_lines_with_symbols(
    code_lang: str, source: str, expected: list[str]
) -> None:
    assert outline(parse(source, code_lang)) == expected


@pytest.mark.parametrize(
    ("code_lang", "source", "units"),
    [
        (
            "typescript",
            """
            import { keep } from "./store";

            describe("Store", () => {
              const store = keep();

              it("keeps what it is given", async () => {
                expect(store).toBe(1);
              });

              it.each([1, 2])(`keeps %i`, (n) => {
                expect(n).toBe(n);
              });
            });
            """,
            [
                "1-1 gap",
                "3-4 test Store",
                "6-8 test Store.keeps what it is given",
                "10-13 test Store.keeps %i",
            ],
        ),
        (
            "javascript",
            """
            QUnit.test("keeps", function (assert) {
              assert.ok(1);
            });
            regex.test("no name", function () {
              return 1;
            });
            """,
            ["1-3 test keeps", "4-6 gap"],
        ),
        (
            "ruby",
            """
            RSpec.describe Store, "of rows" do
              let(:store) { 1 }

              it "keeps what it is given" do
                expect(1)
              end
            end

            class StoreTest < TestCase
              test "keeps rows" do
                assert 1
              end

              private def helper
                1
              end
            end
            """,
            [
                "1-2 test Store of rows",
                "4-7 test Store of rows.keeps what it is given",
                "9-9 class StoreTest",
                "10-12 test StoreTest.keeps rows",
                "14-17 method StoreTest.helper",
            ],
        ),
        (
            "ruby",
            """
            if ready?
              module Keeping
                included do
                  def kept; 1; end
                end
              end
            end

            Row = Struct.new(:id) do
              def to_s
                id
              end
            end

            namespace :db do
              task load: :environment do
                1
              end
            end

            create_table :rows, force: true do |t|
              t.string :name
            end
            """,
            [
                "1-1 gap",
                "2-3 module Keeping",
                "4-7 method Keeping.kept",
                "9-9 class Row",
                "10-13 method Row.to_s",
                "15-15 namespace db",
                "16-19 task db.load",
                "21-23 table rows",
            ],
        ),
        (
            "shell",
            """
            . ./test-lib.sh

            test_expect_success 'rows are kept' '
                keep rows
            '

            test_expect_success ROWS "rows are read" '
                read rows
            '
            """,
            ["1-1 gap", "3-5 test rows are kept", "7-9 test rows are read"],
        ),
        (
            "scala",
            """
            class StoreSuite extends FunSuite {
              test("keeps rows") {
                assert(true)
              }
            }
            """,
            ["1-1 class StoreSuite", "2-5 test StoreSuite.keeps rows"],
        ),
    ],
)
def test_what_is_called_by_a_sentence_is_a_unit(
    code_lang: str, source: str, units: list[str]
) -> None:
    """Tests, suites, tasks and tables are found and shown by what they say they are."""
    assert outline(parse(source, code_lang)) == units


def rows(count: int, indent: str = "  ") -> str:
    return f"{indent}  call(1);\n" * count


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("})(jQuery);", ["29-41 function Store.prototype.write"]),
        ("}.call(this, $));", ["29-40 function Store.prototype.write", "41-41 gap"]),
        ("}).call(this, $);", ["29-40 function Store.prototype.write", "41-41 gap"]),
    ],
)
def test_the_function_that_a_module_is_is_looked_through(end: str, last: list[str]) -> None:
    """What it keeps for itself stays where it is used."""
    source = (
        "(function ($) {\n  var kept = [\n    1,\n    2,\n    3,\n  ];\n"
        f"  function read() {{\n{rows(20)}  }}\n"
        f"  Store.prototype.write = function () {{\n{rows(10)}  }};\n{end}\n"
    )

    assert outline(parse(source, "javascript")) == [
        "1-6 gap",
        "7-28 function read",
        *last,
    ]


def test_members_of_a_long_object_are_units_of_it() -> None:
    source = (
        f"export default {{\n  name: 'rows',\n  data() {{\n{rows(15)}  }},\n"
        f"  methods: {{\n    'load': function () {{\n{rows(30)}    }},\n  }},\n}};\n"
        f"const store = {{\n  read: () => {{\n{rows(30)}  }},\n}};\n"
    )

    assert outline(parse(source, "javascript")) == [
        "1-2 gap",
        "3-19 method data",
        "20-20 gap",
        "21-54 function load",
        "55-55 const store",
        "56-88 function store.read",
    ]


def test_a_function_that_holds_no_other_stays_whole() -> None:
    source = f"app.get('/rows', (request, response) => {{\n{rows(40)}}});\n"

    assert outline(parse(source, "javascript")) == ["1-42 gap"]


def test_tables_and_macros_of_c_have_names() -> None:
    source = """
    typedef struct Row Row;

    static const struct setting settings[] = {
        {"rows", 1},
        {"columns", 2},
    };

    /* Says what it does. */
    DEFUN ("first", Ffirst, Sfirst, 1, 1, 0,
           doc: /* Return the first.  */)
      (Lisp_Object list)
    {
      return first (list);
    }

    SYSCALL_DEFINE2(keep, int, row, int, flags)
    {
        return 0;
    }

    static void never_returns()
    fail(void)
    {
        exit(1);
    }
    """

    assert outline(parse(source, "c")) == [
        "1-1 gap",
        "3-6 const settings",
        "8-14 function Ffirst",
        "16-19 function keep",
        "21-25 function fail",
    ]


def test_a_class_of_php_within_a_condition_is_read() -> None:
    source = """
    <?php
    if (!class_exists('Store')) :
    class Store {
        function keep() { return 1; }
    }
    endif;
    """

    assert outline(parse(source, "php")) == [
        "1-2 gap",
        "3-3 class Store",
        "4-6 method Store.keep",
    ]


@pytest.mark.parametrize(
    ("code_lang", "source", "found"),
    [
        (
            "ruby",
            "module A\n  # Says f.\n  # More.\n  def f\n    1\n  end\nend\n",
            "2-7 method A.f",
        ),
        (
            "python",
            "class A:\n    # Says f.\n    def f(self):\n        return 1\n",
            "2-4 function A.f",
        ),
        (
            "javascript",
            "class A {\n  // Says f.\n  f() {\n    return 1;\n  }\n}\n",
            "2-6 method A.f",
        ),
        ("php", "<?php\nclass A {\n  /** Says f. */\n  function f() {\n  }\n}\n", "3-6 method A.f"),
        ("java", "class A {\n  /** Says f. */\n  void f() {\n  }\n}\n", "2-5 method A.f"),
        ("cpp", "namespace a {\n// Says f.\nint f() {\n  return 1;\n}\n}\n", "2-6 function a.f"),
        ("rust", "impl A {\n    /// Says f.\n    fn f() {\n    }\n}\n", "2-5 function A.f"),
        ("scala", "object A {\n  // Says f.\n  def f = {\n    1\n  }\n}\n", "2-6 function A.f"),
        ("kotlin", "object A {\n  // Says f.\n  fun f() {\n  }\n}\n", "2-5 function A.f"),
        ("swift", "class A {\n  // Says f.\n  func f() {\n  }\n}\n", "2-5 function A.f"),
        ("csharp", "class A {\n  // Says f.\n  void F() {\n  }\n}\n", "2-5 method A.F"),
    ],
)
def test_a_comment_on_the_first_member_belongs_to_it(
    code_lang: str, source: str, found: str
) -> None:
    assert outline(parse(source, code_lang))[-1] == found


@pytest.mark.parametrize(
    ("code_lang", "source", "units"),
    [
        (
            "vue",
            """
            <template>
              <p @click="keep">{{ row }}</p>
            </template>

            <script setup lang="ts">
            import { ref } from "vue";

            // Keeps a row.
            function keep(row: number) {
              return ref(row);
            }
            const read = (row: number) => {
              return row;
            };
            </script>

            <style>
            p { color: red; }
            </style>
            """,
            [
                "1-3 section template",
                "5-6 section script",
                "8-11 function keep",
                "12-15 function read",
                "17-19 section style",
            ],
        ),
        (
            "svelte",
            """
            <script>
              export let row;
              function keep() {
                return row;
              }
            </script>

            <p on:click={keep}>{row}</p>
            """,
            ["1-2 section script", "3-6 function keep", "8-8 section template"],
        ),
        (
            "astro",
            """
            ---
            function keep(row) {
              return row;
            }
            ---
            <p>{keep(1)}</p>
            """,
            ["1-1 section script", "2-5 function keep", "6-6 section template"],
        ),
        ("vue", "<template><p/></template>\n<script>\n", [
            "1-1 section template", "2-2 section script"]),
    ],
)  # fmt: skip
def test_a_component_is_its_parts_and_the_functions_of_its_script(
    code_lang: str, source: str, units: list[str]
) -> None:
    assert outline(parse(source, code_lang)) == units


def test_a_pattern_of_several_names_is_no_name() -> None:
    source = "const {\n  a,\n  b,\n  c,\n} = read();\n"

    assert outline(parse(source, "javascript")) == ["1-5 const"]


C_WITH_CONDITIONS = """
int head(int a)
{
#ifdef FAST
  if(a) {
#else
  if(slow(a)) {
#endif
    a++;
  }
  return a;
}

#ifdef WITH_SIZE
int size(int a) {
#else
int size(void) {
#endif
  return '{';
}

#if defined(ONE)
int one(void) { return 1; }
#else
int other(void) { return 2; }
#endif

int last(void)
{
  return 0;
}
"""


CPP_WITH_REFERENCES = """
Row&
Table::row(int at)
{
  return rows_[at];
}

struct Cell {
  Cell& operator=(const Cell& other) { return *this; }
  Cell&& taken() { return move(*this); }
  Cell *const& next() { return next_; }
};
"""


def test_a_function_of_cpp_that_returns_a_reference_has_its_name() -> None:
    assert outline(parse(CPP_WITH_REFERENCES, "cpp")) == [
        "1-5 function Table.row",
        "7-7 struct Cell",
        "8-8 function Cell.operator=",
        "9-9 function Cell.taken",
        "10-11 function Cell.next",
    ]


CPP_IN_A_NAMESPACE_BY_MACRO = """
#include "grid.h"

GRID_NAMESPACE_BEGIN

template <typename T>
static Row<T>
joined(const Row<T>& one, const Row<T>& other)
{
  return one + other;
}

class
GRID_API
Table : public Widget
{
  int size() const { return size_; }
};

GRID_NAMESPACE_END
"""


def test_macros_alone_at_the_margin_are_no_types_of_what_follows() -> None:
    """The class for which a macro stands on a line of its own is one, and no function."""
    assert outline(parse(CPP_IN_A_NAMESPACE_BY_MACRO, "cpp")) == [
        "1-3 gap",
        "5-10 function joined",
        "12-15 class Table",
        "16-17 function Table.size",
        "19-19 gap",
    ]


CSHARP_WITH_CONDITIONS = """
namespace App
{
    class Paths
    {
        public static string Full(string path)
        {
#if SMALL
            if(path == null) {
#else
            if(string.IsNullOrEmpty(path)) {
#endif
                return ".";
            }
            return path;
        }

        public static int Depth(string path)
        {
            return 1;
        }
    }
}
"""


def test_csharp_is_read_past_conditions_whose_branches_open_a_brace_each() -> None:
    assert outline(parse(CSHARP_WITH_CONDITIONS, "csharp")) == [
        "1-2 namespace App",
        "3-4 class App.Paths",
        "5-15 method App.Paths.Full",
        "17-22 method App.Paths.Depth",
    ]


def test_a_constructor_of_kotlin_may_have_annotations_on_lines_of_their_own() -> None:
    """The grammar ends the class with them."""
    source = "class Rows\n@Inject\n@Named('a')\ninternal constructor(val size: Int) : Base {\n"

    found = outline(parse(source + "  fun grow() {}\n}\n", "kotlin"))

    assert found == ["1-4 class Rows", "5-6 function Rows.grow"]


SCALA_WITHOUT_BRACES = """
package app {
  class Row(size: Int) {
    def least: Int =
      if (size > 1) 1
      else size

    def most: Int =
      if (size > 1) size else 1
    def next = new Row(size + 1)
  }
}
"""


def test_a_function_of_scala_without_braces_ends_with_its_last_line() -> None:
    """For the grammar it goes on to what comes next, which began on a line of its own."""
    assert outline(parse(SCALA_WITHOUT_BRACES, "scala")) == [
        "1-1 gap",
        "2-2 class Row",
        "3-5 function Row.least",
        "7-8 function Row.most",
        "9-11 function Row.next",
    ]


FLOW = """
/** @flow strict */

import type {Row} from './row';

export type Props = Readonly<{
  ...Row,
  size?: ?number,
}>;

type Kept = {|
  +rows: Array<Row>,
|};

class Rows<+T: Row> extends Base<Props> {
  _kept: ?Kept = null;

  size(from: ?number): number {
    return (this._kept: any).rows.length - (from ?? 0);
  }
}

export function joined(one: ?Rows<Row>, other: Rows<Row>): Rows<Row> {
  return one == null ? other : one;
}
"""


def test_javascript_with_types_of_flow_is_read() -> None:
    found = outline(parse(FLOW, "javascript"))

    names = ("type Props", "class Rows", "method Rows.size", "function joined")
    assert [name for name in names if any(unit.endswith(name) for unit in found)] == [*names]


def test_c_is_read_past_conditions_whose_branches_open_a_brace_each() -> None:
    """A grammar counts both braces, and holds all that follows for a part of the function."""
    assert outline(parse(C_WITH_CONDITIONS, "c")) == [
        "1-11 function head",
        "13-13 gap",
        "14-19 function size",
        "21-21 gap",
        "22-22 function one",
        "23-23 gap",
        "24-25 function other",
        "27-30 function last",
    ]


@given(st.lists(st.sampled_from(C_WITH_CONDITIONS.splitlines(keepends=True)), max_size=30))
def test_what_is_left_out_of_c_leaves_rows_and_columns(lines: list[str]) -> None:
    source = "".join(lines).encode()

    made = first_branches(source)

    assert len(made) == len(source)
    assert all(new in (old, ord(" ")) for old, new in zip(source, made, strict=True))
    assert made.count(b"\n") == source.count(b"\n")
