"""The shape of the code, as ARCHITECTURE.md promises it."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "contextd"
PAGE = ROOT / "ARCHITECTURE.md"
MODULES = sorted(SOURCE.rglob("*.py"))
ENTRIES = sorted(
    path for path in SOURCE.iterdir() if not path.name.startswith("__") and (path.is_dir() or path.suffix == ".py")
)
MOST_ENTRIES = 16  # and two for surfaces to come
# The module that knows the order of a pipeline, and the rooms its steps are in; a step may be a room itself.
PIPELINES = {
    "indexing/pipeline.py": ("indexing", "chunking"),
    "querying/pipeline.py": ("querying",),
    "querying/facets/pipeline.py": ("querying/facets", "querying"),
    "remembering/pipeline.py": ("remembering",),
    "importing/pipeline.py": ("importing",),
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is_and_is_short(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "a module begins with a sentence about itself"
    assert text.count("\n") <= 400, "split it, or say why not"


def test_functions_are_short() -> None:
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    )
    assert statistics.median(lengths) <= 10
    assert lengths[int(len(lengths) * 0.9)] <= 25
    assert lengths[-1] <= 60


def test_the_root_has_few_entries_and_the_page_says_what_each_is() -> None:
    assert len(ENTRIES) <= MOST_ENTRIES + 2
    page = PAGE.read_text()
    for entry in ENTRIES:
        module = entry / "__init__.py" if entry.is_dir() else entry
        sentence = (ast.get_docstring(ast.parse(module.read_text())) or "").split("\n")[0]
        name = f"{entry.name}/" if entry.is_dir() else entry.name
        assert f"| `{name}` | {sentence} |" in page, f"ARCHITECTURE.md does not say of {name}: {sentence}"


@pytest.mark.parametrize("name", PIPELINES)
def test_the_picture_is_the_listing(name: str) -> None:
    """Every step of a line is a file or a folder, and both the module that knows the order and the page name the steps in it."""
    line = re.split(r"\.\s", ast.get_docstring(ast.parse((SOURCE / name).read_text())) or "")[0]
    steps = [" ".join(word.split()) for word in line.split("►")[1:]]
    assert steps and " ► ".join(steps) in PAGE.read_text()
    for step in steps:
        places = [SOURCE / step, *(SOURCE / room / f"{step}.py" for room in PIPELINES[name])]
        assert any(place.exists() for place in places), f"{step} is neither a room nor a file of {PIPELINES[name]}"


def test_library_code_does_not_print() -> None:
    for path in MODULES:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls), path


def test_the_architecture_page_names_only_what_exists() -> None:
    text = PAGE.read_text()
    for name in re.findall(r"`((?:src|tests|docs|benchmarks|examples)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", text):
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_a_class_name_stands_for_one_thing() -> None:
    """A protocol of `ports` and what implements it have different names, too."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert not {name: places for name, places in found.items() if len(places) > 1}
