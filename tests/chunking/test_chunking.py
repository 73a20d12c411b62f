"""Chunks cover the document in order, fit their limits, and know what they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextd.chunking.cut import Limits
from contextd.chunking.dispatch import chunk
from contextd.chunking.parse import parse
from contextd.models.tokens import Estimate, O200k
from contextd.values.document import Piece

COUNT = O200k().count
LANGUAGES = ["python", "javascript", "go", "markdown", "rst", "yaml", "json", "toml", "sql", ""]

SAMPLES = {
    "python": ('class Cart:\n    """A cart."""\n\n    def add(self, item):\n        return item\n\n\n@cached\ndef total(cart):\n    return 1\n', {"cart", "add", "total"}),
    "javascript": ("exports.parse = function parse(x) {\n  return x\n}\n\nclass Queue {\n  push(x) { this.x = x }\n}\nconst go = () => 1\n", {"parse", "queue", "push", "go"}),
    "typescript": ("export interface User { name: string }\nexport function load(id: number): User {\n  return x\n}\nexport class Box<T> {\n  get(): T { return this.v }\n}\n", {"user", "load", "box", "get"}),
    "tsx": ("export function Button(p: P) {\n  return <b>{p.x}</b>\n}\n", {"button"}),
    "kotlin": ("class Shop {\n    fun open() {\n        println(1)\n    }\n}\n\nfun main() {\n}\n", {"shop", "open", "main"}),
    "java": ("class Shop {\n  /** Opens. */\n  void open() {\n  }\n  Shop() {}\n}\n", {"shop", "open"}),
    "go": ("package a\n\n// Open opens.\nfunc (s *Shop) Open() error {\n\treturn nil\n}\n\ntype Shop struct {\n\tx int\n}\n", {"shop.open", "shop"}),
    "rust": ("struct Shop;\n\nimpl Shop {\n    /// Opens.\n    fn open(&self) {}\n}\n\nfn main() {}\n", {"shop", "open", "main"}),
    "c": ("static int open_shop(struct shop *s) {\n  return 0;\n}\n", {"open_shop"}),
    "cpp": ("namespace a {\nclass Shop {\n public:\n  void open() { x = 1; }\n};\n}\n", {"a", "shop", "open"}),
    "csharp": ("namespace A {\n  class Shop {\n    public void Open() {\n    }\n  }\n}\n", {"a", "shop", "open"}),
    "ruby": ("module A\n  class Shop\n    def open\n      1\n    end\n  end\nend\n", {"a", "shop", "open"}),
    "php": ("<?php\nclass Shop {\n  public function open() {\n  }\n}\nfunction go() {}\n", {"shop", "open", "go"}),
    "swift": ("class Shop {\n  func open() {\n  }\n}\n", {"shop", "open"}),
    "scala": ("object Shop {\n  def open(): Int = 1\n}\n", {"shop", "open"}),
    "shell": ("open_shop() {\n  echo 1\n}\n", {"open_shop"}),
    "lua": ("local M = {}\nfunction M.open()\n  return 1\nend\nM.close = function()\nend\n", {"m.open", "m.close"}),
    "elixir": ("defmodule Shop do\n  def open(x) do\n    x\n  end\nend\n", {"shop", "open"}),
    "zig": ("const Shop = struct {\n    pub fn open(self: Shop) void {}\n};\n", {"shop", "open"}),
    "haskell": ("module A where\n\nopen :: Int -> Int\nopen x = x\n\ndata Shop = Shop\n", {"open", "shop"}),
}  # fmt: skip


def assert_covered(text: str, pieces: list[Piece]) -> None:
    position = 0
    for piece in pieces:
        assert piece.start >= 0 and piece.end <= len(text) and piece.start < piece.end
        assert not text[position : piece.start].strip(), "text between chunks is lost"
        position = max(position, piece.end)
        assert piece.start_line == text.count("\n", 0, piece.start) + 1
    assert not text[position:].strip(), "the end is lost"
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_of_every_language_are_known_by_name(language: str) -> None:
    text, names = SAMPLES[language]
    pieces = chunk(text, language, Limits(), COUNT)
    assert_covered(text, pieces)
    assert names <= {name.lower() for piece in pieces for name in piece.names}


@pytest.mark.parametrize("language", SAMPLES)
def test_large_classes_open_into_their_members(language: str) -> None:
    text, _ = SAMPLES[language]
    pieces = chunk(text * 60, language, Limits(code=60, whole_class=10, small=2), COUNT)
    assert_covered(text * 60, pieces)
    assert all(piece.tokens <= 60 for piece in pieces)


code_like = st.lists(st.sampled_from(["def f(x):", "    return x", "", "# note", "class A:", "## Title", "key: value", "  - a",
    "{", "}", '"k": [1, 2],', "select 1;", "```", "text and more text", "x" * 300, "ünïcödé 日本語", "\t\tif (a) {"]), max_size=60)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(code_like, st.sampled_from(LANGUAGES), st.integers(20, 200))
def test_chunks_cover_the_document_in_order_and_fit(lines: list[str], language: str, limit: int) -> None:
    text = "\n".join(lines)
    pieces = chunk(text, language, Limits(limit, limit, limit, limit // 2, 8), COUNT)
    assert_covered(text, pieces)
    assert all(piece.tokens <= limit for piece in pieces)
    assert all(piece.tokens == COUNT(text[piece.start : piece.end]) for piece in pieces)
    assert pieces == chunk(text, language, Limits(limit, limit, limit, limit // 2, 8), COUNT), "the same input, the same chunks"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=2000), st.sampled_from(LANGUAGES))
def test_any_text_is_covered(text: str, language: str) -> None:
    assert_covered(text, chunk(text, language, Limits(60, 60, 60), COUNT))


def test_markdown_sections_carry_their_heading_path() -> None:
    text = "# Guide\n\nIntro.\n\n## Install\n\n```\n# not a heading\n```\n\n### Linux\n\nUse apt.\n"
    pieces = chunk(text, "markdown", Limits(small=0), COUNT)
    assert [(piece.label, piece.heading) for piece in pieces] == [
        ("Guide", ()), ("Install", ("Guide",)), ("Linux", ("Guide", "Install")),
    ]  # fmt: skip


def test_restructured_text_headings() -> None:
    text = "=====\nTitle\n=====\n\nIntro.\n\nPart\n----\n\nText.\n"
    assert [piece.label for piece in chunk(text, "rst", Limits(small=0), COUNT)] == ["Title", "Part"]


def test_sql_statements_are_labelled_by_what_they_do() -> None:
    text = "-- users\ncreate table if not exists users (id int);\n\ninsert into users values (';');\n"
    assert [piece.label for piece in chunk(text, "sql", Limits(small=0), COUNT)] == ["CREATE users", "INSERT users"]


def test_yaml_opens_by_key_path() -> None:
    text = "server:\n" + "".join(f"  option_{n}: value number {n}\n" for n in range(200))
    pieces = chunk(text, "yaml", Limits(code=100, small=0), COUNT)
    assert any(piece.label == "server.option_150" for piece in pieces)


def test_a_long_function_is_split_at_statements_with_its_signature_kept() -> None:
    text = "def long(a):\n" + "".join(f"    value_{n} = compute(a, {n})\n" for n in range(300))
    pieces = chunk(text, "python", Limits(code=200), COUNT)
    assert len(pieces) > 5
    assert all("def long(a):" in piece.heading for piece in pieces[1:])
    assert pieces[1].start < pieces[0].end, "parts overlap"


def test_line_chunks_overlap() -> None:
    text = "\n".join(f"line {n} of a plain file" for n in range(400))
    pieces = chunk(text, "", Limits(lines=128), COUNT)
    shared = [one.end - two.start for one, two in zip(pieces, pieces[1:], strict=False)]
    assert all(value > 0 for value in shared)


SHARED = """# Copyright of nobody in particular.
# All rights are given away, as far as there are any.
# Use it for whatever you like, and tell nobody.
# Use it for whatever you like, and tell nobody, twice.


def one():
    return 1


class Two:
    def three(self):
        return 3
"""


def test_a_chunk_knows_the_kinds_of_all_units_in_it() -> None:
    joined = chunk(SHARED, "python", Limits(), COUNT)
    assert {"code_function", "code_class"} <= {kind for piece in joined for kind in piece.kind.split()}
    alone = chunk(SHARED, "python", Limits(small=0), COUNT)
    assert [piece.kind for piece in alone] == ["comment", "code_function", "code_class code_function"]
    text = "# Guide\n\nRun this:\n\n```\nmake\n```\n\n# Other\n\nNothing.\n"
    assert [piece.kind for piece in chunk(text, "markdown", Limits(small=0), COUNT)] == [
        "markdown_section code_block",
        "markdown_section",
    ]


def test_definitions_around_a_place_that_cannot_be_parsed_are_found() -> None:
    text = (
        "int before(void) {\n  return 1;\n}\n\n"
        "#ifndef X\nint broken(\n#else\nint broken2(\n#endif\n    int a) {\n  while (1) {\n#ifdef Y\n  }\n#endif\n}\n\n"
        "char *after(int n) {\n  return names[n];\n}\n\nint last(void) {\n  return 2;\n}\n"
    )
    parsed = parse(text.encode(), "c", Limits(), Estimate().count)
    assert {"before", "after", "last"} <= {one.label for one in parsed.definitions}


def test_functions_behind_one_whose_braces_do_not_match_are_found() -> None:
    text = (
        "static int dump(int x) {\n  if (x) {\n    a();\n#ifdef Y\n  } else if (x > 1) {\n#else\n  } else {\n#endif\n    b();\n  }\n}\n\n"
        "void show(int x) {\n  dump(x);\n}\n\nchar *last(int n) {\n  return names[n];\n}\n"
    )
    parsed = parse(text.encode(), "c", Limits(), Estimate().count)
    lines = {one.label: (one.line, one.end_line) for one in parsed.definitions}
    assert lines["show"] == (13, 15) and lines["last"] == (17, 19) and lines["dump"][1] <= 12
