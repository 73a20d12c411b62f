"""Who defines, who calls, what depends on what: on small projects of many languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.chunking.references import PATTERNS, references
from contextd.errors import InvalidInput
from contextd.linking.resolve import Places, resolve
from contextd.values.document import CALL, IMPORT, INHERIT
from tests.conftest import Run

SAMPLES = {
    "python": (
        "from app.store import load\nimport os\nclass A(Base):\n    def f(self):\n        return self.load(x) + run()\n",
        {"load", "run"},
        {"Base"},
        {"app.store", "app.store.load", "os"},
    ),
    "javascript": (
        "import {x} from './a'\nconst b = require('../b')\nclass A extends B { f() { this.go(); new C() } }\n",
        {"go", "C", "require"},
        {"B"},
        {"./a", "../b"},
    ),
    "typescript": (
        "import {x} from './a'\nexport * from './z'\nclass A extends B implements I { f(): void { go<string>() } }\n",
        {"go"},
        {"B", "I"},
        {"./a", "./z"},
    ),
    "tsx": ("import {x} from './a'\nconst v = () => <Panel onClick={() => run()} />\n", {"Panel", "run"}, set(), {"./a"}),
    "java": (
        "import a.b.C;\nclass A extends B implements I { void f() { go(); this.run(); new C(); } }\n",
        {"go", "run", "C"},
        {"B", "I"},
        {"a.b.C"},
    ),
    "go": (
        'package a\nimport "x/y/z"\ntype T struct { Base }\nfunc f() { go1(); z.Run(); _ = T{} }\n',
        {"go1", "Run", "T"},
        {"Base"},
        {"x/y/z"},
    ),
    "rust": (
        "use crate::a::{b, c::D};\nimpl Tr for S { fn f() { go(); self.run(); x::y(); log!(); } }\n",
        {"go", "run", "y", "log"},
        {"Tr"},
        {"crate::a::b", "crate::a::c::D"},
    ),
    "c": (
        '#include "a/b.h"\n#include <stdio.h>\nint f() { return go(p->run(1)); }\n',
        {"go", "run"},
        set(),
        {"a/b.h", "stdio.h"},
    ),
    "cpp": ('#include "a.h"\nclass A : public B { void f() { ns::go(); x.run(); } };\n', {"go", "run"}, {"B"}, {"a.h"}),
    "csharp": ("using A.B;\nclass X : Y { void F() { Go(); this.Run(); new Z(); } }\n", {"Go", "Run", "Z"}, {"Y"}, {"A.B"}),
    "ruby": ("require 'a/b'\nclass X < Y\n  def f\n    go(1)\n    Foo.new\n  end\nend\n", {"go", "new", "Foo"}, {"Y"}, {"a/b"}),
    "php": (
        "<?php\nuse A\\B\\C;\nclass X extends Y implements Z { function f() { go(); $this->run(); C::s(); new D(); } }\n",
        {"go", "run", "s", "D"},
        {"Y", "Z"},
        {"A\\B\\C"},
    ),
    "swift": ("import Foundation\nclass A: B { func f() { go(); self.run() } }\n", {"go", "run"}, {"B"}, {"Foundation"}),
    "kotlin": ("import a.b.C\nclass A : B() { fun f() { go(); this.run() } }\n", {"go", "run"}, {"B"}, {"a.b.C"}),
    "scala": ("import a.b.C\nclass A extends B { def f = { go(1); x.run(2); new D } }\n", {"go", "run", "D"}, {"B"}, {"a.b.C"}),
    "shell": ("source lib/a.sh\nf() { go x; }\n", {"go", "source"}, set(), {"lib/a.sh"}),
    "lua": ("local a = require('x.y')\nfunction f() go(); a.run(); b:stop() end\n", {"go", "run", "stop"}, set(), {"x.y"}),
    "elixir": ("defmodule A do\n  alias B.C\n  def f(x), do: C.run(go(x))\nend\n", {"run", "go"}, set(), {"B.C"}),
    "zig": ('const a = @import("b.zig");\nfn f() void { go(); a.run(); }\n', {"go", "run"}, set(), {"b.zig"}),
    "haskell": ("module A where\nimport Data.Map\nf x = go x\n", {"go"}, set(), {"Data.Map"}),
}


@pytest.mark.parametrize("language", sorted(PATTERNS))
def test_calls_bases_and_imports_of_every_language(language: str) -> None:
    text, calls, bases, imports = SAMPLES[language]
    found = references(text, language)
    assert calls <= {one.name for one in found if one.kind == CALL}
    assert bases <= {one.name for one in found if one.kind == INHERIT}
    assert imports <= {one.name for one in found if one.kind == IMPORT}
    assert all(1 <= line <= text.count("\n") for one in found for line in one.lines)


@pytest.mark.parametrize(
    ("uri", "language", "target", "expected"),
    [
        ("src/app/views.py", "python", "app.store", ["src/app/store.py"]),
        ("src/app/views.py", "python", ".store", ["src/app/store.py"]),
        ("src/app/views.py", "python", ".", ["src/app/__init__.py"]),
        ("src/app/views.py", "python", "json", []),
        ("src/app/views.py", "python", "os.path", []),
        ("web/a/x.ts", "typescript", "../b", ["web/b/index.ts"]),
        ("web/a/x.ts", "typescript", "./y.js", ["web/a/y.ts"]),
        ("web/a/x.ts", "typescript", "react", []),
        ("cmd/main.go", "go", "github.com/me/proj/internal/render", ["internal/render/html.go"]),
        ("cmd/main.go", "go", "fmt", []),
        ("src/a.c", "c", "uv/unix.h", ["include/uv/unix.h"]),
        ("src/a.c", "c", "stdlib.h", []),
        ("m/A.java", "java", "com.x.gson.Gson", ["m/com/x/gson/Gson.java"]),
        ("src/lib.rs", "rust", "crate::store::Thing", ["src/store.rs"]),
        ("lib/a.rb", "ruby", "app/base", ["lib/app/base.rb"]),
    ],
)
def test_an_import_means_the_file_it_names_and_no_other(uri: str, language: str, target: str, expected: list[str]) -> None:
    places = Places([
        "src/app/__init__.py", "src/app/store.py", "src/app/json/__init__.py", "web/b/index.ts", "web/a/y.ts", "internal/render/html.go",
        "internal/render/html_test.go", "include/uv/unix.h", "m/com/x/gson/Gson.java", "src/store.rs", "lib/app/base.rb", "lib/utils/path.py",
    ])  # fmt: skip
    assert resolve(uri, language, target, places) == expected


FILES = {
    "pkg/__init__.py": "",
    "pkg/store.py": "def load_user(name):\n    return name\n\n\nclass Base:\n    def close(self):\n        return 1\n",
    "pkg/other.py": "class Other:\n    def close(self):\n        return 2\n\n\ndef stop(other):\n    other.close()\n",
    "pkg/views.py": "from pkg.store import Base, load_user\n\n\nclass View(Base):\n    def get(self):\n        user = load_user(self.name)\n        self.close()\n        return user\n",
    "pkg/app.py": "from pkg import views\n\n\ndef run():\n    return views.View().get()\n",
    "tests/test_views.py": "from pkg.views import View\n\n\ndef test_get():\n    assert View().get()\n",
}


@pytest.fixture
def linked(make_project: Callable[..., Path], home: Path) -> Session:
    session = open_session(make_project(FILES), home=home, environment={})
    session.index()
    return session


def test_where_a_name_is_defined(linked: Session) -> None:
    (found,) = linked.structure.symbols("load_user")
    assert (found.uri, found.line, found.signature) == ("pkg/store.py", 1, "def load_user(name):")
    assert [one.uri for one in linked.structure.symbols("close")] == ["pkg/other.py", "pkg/store.py"], "ambiguity is shown"
    assert [one.uri for one in linked.structure.symbols("Base.close")] == ["pkg/store.py"]
    assert [one.uri for one in linked.structure.symbols("store.load_user")] == ["pkg/store.py"]
    assert linked.structure.symbols("Session.close") == [], "another one's is not the one asked for"
    assert linked.structure.symbols("no_such_name") == []
    with pytest.raises(InvalidInput):
        linked.structure.symbols("  ")


def test_who_calls_a_name(linked: Session) -> None:
    defined, used = linked.structure.callers("load_user")
    assert [(one.uri, one.line, one.inside, one.sure) for one in used] == [("pkg/views.py", 6, "View.get", True)]
    assert len(defined) == 1
    _, used = linked.structure.callers("Base")
    assert [(one.uri, one.how) for one in used] == [("pkg/views.py", "inherits")]
    _, used = linked.structure.callers("Base.close")
    assert [one.uri for one in used] == ["pkg/views.py"], "a call that cannot reach it is not its"


def test_what_depends_on_a_file_or_a_name(linked: Session) -> None:
    found = {one.uri: one for one in linked.structure.impact("pkg/store.py", depth=3)}
    assert found["pkg/views.py"].distance == 1 and found["pkg/app.py"].distance == 2
    assert found["tests/test_views.py"].test and found["tests/test_views.py"].distance == 2
    assert "pkg/other.py" not in found
    assert "pkg/views.py" in {one.uri for one in linked.structure.impact("load_user")}
    assert linked.structure.impact("nowhere.py") is None


def test_the_map_keeps_its_budget_and_shows_what_is_used(linked: Session) -> None:
    found = linked.structure.overview(60)
    assert 0 < found.tokens <= 60 and "pkg/store.py" in found.files and "load_user" in found.text
    assert not any(uri.startswith("tests/") for uri in linked.structure.overview(1000).files)


def test_links_follow_the_index(linked: Session) -> None:
    assert linked.project is not None
    (linked.project.root / "pkg/views.py").unlink()
    linked.index()
    assert linked.structure.callers("load_user")[1] == []
    rows = linked.project.store.rows("select count(*) from reference where workspace_id = ?")  # type: ignore[attr-defined]
    linked.rebuild()
    assert linked.project.store.rows("select count(*) from reference where workspace_id = ?") == rows  # type: ignore[attr-defined]


def test_a_reader_sees_no_links_of_others(linked: Session, home: Path) -> None:
    structure = linked.structure
    linked.share_only(["ana"], force=True)
    with structure.view() as view:  # the owner is no superuser
        assert not view.links.references(["load_user"]) and not view.links.importing(["store"]) and not view.uris()


def test_the_commands(linked: Session, contextd: Callable[..., Run]) -> None:
    assert linked.project is not None
    root = linked.project.root
    assert "pkg/store.py:1" in contextd("symbols", "load_user", cwd=root).out
    told = json.loads(contextd("callers", "load_user", "--json", "-p", str(root)).out)
    assert told["uses"][0]["uri"] == "pkg/views.py" and told["definitions"][0]["line"] == 1
    assert "1 of them tests" in contextd("impact", "pkg/views.py", "-p", str(root)).err
    assert contextd("map", "--budget", "50", "-p", str(root)).code == 0
    assert contextd("callers", "nothing_like_it", "-p", str(root)).code == 1
    assert contextd("map", "--budget", "0", "-p", str(root)).code == 2


SHAPES = {
    "core.ts": "export class Shape {\n  name = 1;\n}\nexport interface Drawable {\n  draw(): void;\n}\n",
    "shape.ts": """import * as core from "./core";

export const Widget = make({ name: "widget" });

export function area(x: number): number;
export function area(x: number, y: number): number;
export function area(x: number, y?: number): number {
  return y === undefined ? x * x : x * y;
}

export class Square extends core.Shape implements core.Drawable, Comparable<Square> {
  draw(): void;
  draw(
    color: string,
    width: number,
  ): void {
    paint(color);
  }
}
""",
    "rows.py": """from typing import overload


@overload
def fetch(key: int) -> int: ...
@overload
def fetch(key: str) -> str: ...
def fetch(
    key,
    default=None,
):
    return TABLE.get(key, default)
""",
    "stubs.pyi": "from typing import overload\n\n@overload\ndef only(key: int) -> int: ...\n@overload\ndef only(key: str) -> str: ...\n",
}


@pytest.fixture
def shapes(make_project: Callable[..., Path], home: Path) -> Session:
    session = open_session(make_project(SHAPES), home=home, environment={})
    session.index()
    return session


def signatures(session: Session, name: str) -> list[str]:
    return [one.signature for one in session.structure.symbols(name)]


def test_types_of_a_namespace_are_inherited_from(shapes: Session) -> None:
    for name in ("Shape", "Drawable"):
        assert [(use.uri, use.how) for use in shapes.structure.callers(name)[1]] == [("shape.ts", "inherits")], name


def test_an_exported_constant_is_a_definition(shapes: Session) -> None:
    assert signatures(shapes, "Widget") == ['export const Widget = make({ name: "widget" });']
    assert shapes.search("Widget").hits[0].chunk.uri == "shape.ts"


def test_of_overloads_the_implementation_is_the_definition(shapes: Session) -> None:
    assert signatures(shapes, "area") == ["export function area(x: number, y?: number): number {"]
    assert signatures(shapes, "fetch") == ["def fetch(key, default=None):"]
    assert signatures(shapes, "Square.draw") == ["draw(color: string, width: number): void {"]
    assert len(signatures(shapes, "only")) == 2, "without an implementation the signatures are all there is"
    first = shapes.search("fetch").hits[0].chunk
    assert "key: int" in first.text and "TABLE.get" in first.text


@pytest.mark.parametrize(
    "use, paths",
    [
        ("a::{b::{c, d}, e}", ["a::b::c", "a::b::d", "a::e"]),
        ("a::{self, b::*}", ["a", "a::b"]),
        ("crate::x::{y, z as w,}", ["crate::x::y", "crate::x::z"]),
        ("std::io", ["std::io"]),
    ],
)
def test_a_nested_use_of_rust_keeps_its_prefixes(use: str, paths: list[str]) -> None:
    found = [one.name for one in references(f"use {use};\n", "rust") if one.kind == IMPORT]
    assert sorted(found) == sorted(paths)
