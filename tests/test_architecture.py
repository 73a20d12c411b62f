"""The shape of the code, as ARCHITECTURE.md promises it."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "contextd"
MODULES = sorted(SOURCE.rglob("*.py"))
LINES = {
    "pipeline": (
        "understand consult retrieve fuse boost rerank gather order calibrate cut diversify relate rank pack render".split()
    ),
    "faceted": "understand interpret divide retrieve judge cut diversify allot compress render".split(),
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
    assert statistics.median(lengths) <= 12
    assert lengths[int(len(lengths) * 0.9)] <= 40


@pytest.mark.parametrize("name", LINES)
def test_the_picture_is_the_listing(name: str) -> None:
    """Every verb of a line is a file, and both the module that knows the order and the page name them in it."""
    line = (SOURCE / "querying" / f"{name}.py").read_text().split(".\n")[0]
    assert [word.strip() for word in line.split("►")[1:]] == LINES[name]
    assert all((SOURCE / "querying" / f"{step}.py").is_file() for step in LINES[name])
    assert " ► ".join(LINES[name]) in (ROOT / "ARCHITECTURE.md").read_text()


def test_library_code_does_not_print() -> None:
    for path in MODULES:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls), path


def test_the_architecture_page_names_only_what_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for name in re.findall(r"`((?:src|tests|docs|benchmarks|examples)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", text):
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name
    for folder in (path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert f"`{folder}/`" in text, f"ARCHITECTURE.md does not say what {folder}/ is"
