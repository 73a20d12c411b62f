"""Which definition a call means: by its line, by the class around it, by what its file imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.chunking.references import references
from contextd.linking.calls import Imported, Target, call_of, class_made, likeness, module_of
from contextd.values.document import CALL

NEAR = frozenset({"app/views.py"})
METHOD = Target("app/store.py", "Store.load", NEAR, frozenset({"Cached"}))
FUNCTION = Target("app/store.py", "load", NEAR, frozenset())
IMPORTS = Imported([("app/views.py", "from app import store as kept", True), ("app/views.py", "import json", False)])


@pytest.mark.parametrize(
    ("text", "inside", "method", "function"),
    [
        ("x = load(1)", "show", -1, 2),  # a method needs an object
        ("x = store.load(1)", "show", 3, 3),  # called like the class, and like the module
        ("x = kept.load(1)", "show", 2, 2),  # an import of this project
        ("x = json.load(1)", "show", -1, -1),  # somebody else's module
        ("x = thing.load(1)", "show", 2, -1),  # a function is not called on an object
        ("x = make().load(1)", "show", 2, -1),
        ("return self.load(1)", "Cached.get", 3, -1),
        ("return self.load(1)", "Other.get", 0, -1),  # self is the class around it, or one below it
        ("join(json.load(1), thing.load(2))", "show", 2, -1),  # the likeliest of them
        ("    .load(1)", "show", 2, -1),  # a chain that goes on
    ],
)
def test_what_a_line_says(text: str, inside: str, method: int, function: int) -> None:
    call = call_of("load", "app/views.py", text, inside)
    assert (likeness(call, METHOD, IMPORTS), likeness(call, FUNCTION, IMPORTS)) == (method, function)


def test_a_bare_call_is_of_the_class_around_it_where_the_language_has_it_so() -> None:
    target = Target("a/Store.java", "Store.load", frozenset(), frozenset())
    assert likeness(call_of("load", "a/Store.java", "load(1);", "Store.get"), target, Imported([])) == 3
    assert likeness(call_of("load", "b/Other.java", "load(1);", "Other.get"), target, Imported([])) == -1


def test_what_stands_in_a_module_is_a_function() -> None:
    target = Target("src/store.rs", "tests.check", frozenset(), frozenset())
    assert likeness(call_of("check", "src/store.rs", "check(1);", "tests.first"), target, Imported([])) == 3
    assert likeness(call_of("check", "src/other.rs", "#[tokio::check]", ""), target, Imported([])) == -1
    assert likeness(call_of("check", "src/other.rs", "#[crate::check]", ""), target, Imported([])) == -1


def test_attributes_and_calls_inside_macros_are_calls() -> None:
    code = "#[handler]\n#[derive(Debug)]\nfn a() { assert_eq!(load(1), x.size(2)); }\n"
    assert {one.name for one in references(code, "rust") if one.kind == CALL} >= {"handler", "load", "size", "assert_eq"}
    assert "derive" not in {one.name for one in references(code, "rust")}


def test_same_names_are_told_apart(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({
        "one.py": "class Box:\n    def open(self):\n        return self.open_lid()\n\n    def open_lid(self):\n        return 1\n",
        "two.py": "class Door:\n    def open(self):\n        return 2\n\n    def knock(self):\n        return self.open()\n",
        "use.py": "def go(box, door):\n    box.open()\n    door.open()\n    return open('file')\n",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    session.index()
    assert [(use.uri, use.line) for use in session.structure.callers("Box.open")[1]] == [("use.py", 2)]
    assert [(use.uri, use.line) for use in session.structure.callers("two.Door.open")[1]] == [("two.py", 6), ("use.py", 3)]


def test_a_package_that_is_a_folder_and_an_import_that_names_no_file(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({
        "bind/json.go": "package bind\n\ntype Body struct{}\n\nfunc (b Body) Name() string { return \"\" }\n",
        "bind/form.go": "package bind\n\nfunc parse(b Body) string { return b.Name() }\n",
        "bind/other.go": "package bind\n\nfunc alone() {}\n",
        "index.js": "module.exports = require('./lib/all')\n",
        "lib/index.js": "exports.x = 1\n",
        "test/a.js": "const all = require('..')\nall.x()\n",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    session.index()
    assert [one.uri for one in session.structure.impact("bind/json.go", depth=1)] == ["bind/form.go"]
    assert [one.uri for one in session.structure.impact("index.js", depth=1)] == ["test/a.js"], "and not that of lib/index.js"


def test_names_that_differ_in_case_are_two(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({
        "lib.py": "class Option:\n    pass\n\n\ndef option(x):\n    return Option()\n",
        "use.py": "from lib import Option, option\n\n\ndef a():\n    return Option()\n\n\ndef b():\n    return option(1)\n",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    session.index()
    assert [(use.uri, use.line) for use in session.structure.callers("Option")[1]] == [("lib.py", 6), ("use.py", 5)]
    assert [(use.uri, use.line) for use in session.structure.callers("option")[1]] == [("use.py", 9)]
    assert session.structure.symbols("OPTION"), "asked for in any case"


@pytest.mark.parametrize(
    "name", ["pkg.load_all", "pkg/store.py:load_all", "src/pkg/store.load_all", "store::load_all", "load_all()"]
)
def test_a_name_may_be_qualified_as_people_do(make_project: Callable[..., Path], home: Path, name: str) -> None:
    root = make_project({"src/pkg/store.py": "def load_all():\n    return 1\n", "other.py": "def load_all():\n    return 2\n"})
    session = open_session(root, home=home, environment={})
    session.index()
    found = [one.uri for one in session.structure.symbols(name)]
    assert found == (["other.py", "src/pkg/store.py"] if name == "load_all()" else ["src/pkg/store.py"])


def test_what_only_one_defines_is_found_wherever_it_is_called(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({
        "a.py": "class Loud:\n    def run(self):\n        return self.dump_it()\n\n\nclass Cat(Loud):\n    def dump_it(self):\n        return 1\n",
        "b.py": "import json\nfrom a import (\n    Cat as kept,\n)\n\n\ndef go(f, parent):\n    join(json.dump_it(f), parent.dump_it())\n    return kept.dump_it(kept())\n",
        "c.py": "def far(x):\n    return " + "1 + " * 80 + "x.dump_it()\n",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    session.index()
    found = [(use.uri, use.line) for use in session.structure.callers("dump_it")[1]]
    assert sorted(found) == [("a.py", 3), ("b.py", 8), ("b.py", 9), ("c.py", 2)]


def test_a_package_is_imported_by_its_name_and_a_base_may_have_parameters(
    make_project: Callable[..., Path], home: Path
) -> None:
    root = make_project({
        "src/kit/__init__.py": "from .base import Base as Base\n",
        "src/kit/base.py": "class Base:\n    pass\n",
        "src/kit/text.py": "from .base import Base\n\n\nclass Text(Base[str]):\n    pass\n",
        "tests/test_kit.py": "import kit\n",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    session.index()
    assert "tests/test_kit.py" in {one.uri for one in session.structure.impact("src/kit/__init__.py")}
    assert [(use.uri, use.how) for use in session.structure.callers("Base")[1]] == [("src/kit/text.py", "inherits")]


def test_a_method_of_a_type_from_elsewhere_is_not_ours(make_project: Callable[..., Path], home: Path) -> None:
    files = {
        "cache/iter.go": "package cache\n\ntype Iterator struct{ at int }\n\nfunc (it *Iterator) Next() bool { return it.at < 9 }\n\n"
        "func Walk(it *Iterator) {\n\tfor it.Next() {\n\t}\n}\n",
        "cache/iter_test.go": 'package cache\n\nimport "testing"\n\nfunc BenchmarkWalk(b *testing.B) {\n'
        "\tb.RunParallel(func(pb *testing.PB) {\n\t\tfor pb.Next() {\n\t\t}\n\t})\n}\n",
    }
    session = open_session(make_project(files), home=home, environment={})
    session.index()
    assert [use.uri for use in session.structure.callers("Next")[1]] == ["cache/iter.go"]


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("func f(a int, pb *testing.PB) {", "testing"),
        ("var pb testing.PB", "testing"),
        ("fn f(pb: &testing::PB) {", "testing"),
        ("def f(pb: testing.PB) -> None:", "testing"),
        ("void f(testing::PB &pb) {", "testing"),
        ("func f(pb *PB) {", ""),
        ("f(pb.testing.PB)", ""),
    ],
)
def test_the_module_that_a_receiver_is_declared_to_come_from(text: str, module: str) -> None:
    assert module_of("pb", text) == module


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("s = Store()", "Store"), ("s = a.b.Store(1)", "Store"), ("s := &Store{a: 1}", "Store"), ("let s = Store::new();", "Store"),
        ("let mut s: Store = Store::new();", "Store"), ("$s = new \\A\\Store();", "Store"), ("Store s = new Store<String>();", "Store"),
        ("s = A()\ns = B()", "B"), ("x.s = Store()", ""), ("s = load()", ""), ("ss = Store()", ""), ("s == Store()", ""),
    ],
)  # fmt: skip
def test_the_class_that_a_receiver_was_made_from(text: str, name: str) -> None:
    assert class_made("$s" if "$" in text else "s", text) == name
