"""Which definition a call means: by its line, by the class around it, by what its file imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.assemble import open_engine
from contextd.chunking.references import references
from contextd.linking.calls import Call, Imported, Target, likeness
from contextd.types import CALL

NEAR = frozenset({"app/views.py"})
METHOD = Target("app/store.py", "Store.load", NEAR, frozenset({"Cached"}))
FUNCTION = Target("app/store.py", "load", NEAR, frozenset())
IMPORTS = Imported({"app/views.py": [("from app import store as kept", True), ("import json", False)]})


@pytest.mark.parametrize(
    ("text", "inside", "method", "function"),
    [
        ("x = load(1)", "show", 0, 2),  # a method needs an object
        ("x = store.load(1)", "show", 3, 3),  # called like the class, and like the module
        ("x = kept.load(1)", "show", 2, 2),  # an import of this project
        ("x = json.load(1)", "show", 0, 0),  # somebody else's module
        ("x = thing.load(1)", "show", 2, 0),  # a function is not called on an object
        ("x = make().load(1)", "show", 2, 0),
        ("return self.load(1)", "Cached.get", 3, 0),
        ("return self.load(1)", "Other.get", 0, 0),  # self is the class around it
        ("    .load(1)", "show", 2, 0),  # a chain that goes on
    ],
)
def test_what_a_line_says(text: str, inside: str, method: int, function: int) -> None:
    call = Call("app/views.py", 1, text, inside)
    assert (likeness(call, METHOD, IMPORTS), likeness(call, FUNCTION, IMPORTS)) == (method, function)


def test_a_bare_call_is_of_the_class_around_it_where_the_language_has_it_so() -> None:
    target = Target("a/Store.java", "Store.load", frozenset(), frozenset())
    assert likeness(Call("a/Store.java", 9, "load(1);", "Store.get"), target, Imported()) == 3
    assert likeness(Call("b/Other.java", 9, "load(1);", "Other.get"), target, Imported()) == 0


def test_what_stands_in_a_module_is_a_function() -> None:
    target = Target("src/store.rs", "tests.check", frozenset(), frozenset())
    assert likeness(Call("src/store.rs", 9, "check(1);", "tests.first"), target, Imported()) == 3
    assert likeness(Call("src/other.rs", 9, "#[tokio::check]", ""), target, Imported()) == 0
    assert likeness(Call("src/other.rs", 9, "#[crate::check]", ""), target, Imported()) == 0


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
    engine = open_engine(root, home=home, environment={})
    engine.index()
    assert [(use.uri, use.line) for use in engine.structure.callers("Box.open")[1]] == [("use.py", 2)]
    assert [(use.uri, use.line) for use in engine.structure.callers("two.Door.open")[1]] == [("two.py", 6), ("use.py", 3)]


def test_a_package_that_is_a_folder_and_an_import_that_names_no_file(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({
        "bind/json.go": "package bind\n\ntype Body struct{}\n\nfunc (b Body) Name() string { return \"\" }\n",
        "bind/form.go": "package bind\n\nfunc parse(b Body) string { return b.Name() }\n",
        "bind/other.go": "package bind\n\nfunc alone() {}\n",
        "index.js": "module.exports = require('./lib/all')\n",
        "lib/index.js": "exports.x = 1\n",
        "test/a.js": "const all = require('..')\nall.x()\n",
    })  # fmt: skip
    engine = open_engine(root, home=home, environment={})
    engine.index()
    assert [one.uri for one in engine.structure.impact("bind/json.go", depth=1)] == ["bind/form.go"]
    assert [one.uri for one in engine.structure.impact("index.js", depth=1)] == ["test/a.js"], "and not that of lib/index.js"
