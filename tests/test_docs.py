"""The docs say what is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.cli import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]


def test_the_reference_is_not_stale() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere_and_commands_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for command in re.findall(r"(?m)^\s*(?:\$ )?contextd ([a-z][a-z-]*)", text):
        assert command in COMMANDS, command
    for target in re.findall(r"`make ([a-z]+)`", text):
        assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text()), target


def test_the_librarys_example_works(project: Path, home: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, env={**os.environ, "CONTEXTD_HOME": str(home)}, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "of 800" in done.stdout


def test_the_librarys_example_keeps_a_fact_that_was_told_before(project: Path, home: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    before = open_session(None, home=home, environment={}).remember("Budget for shoes: max 150€").memory
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, env={**os.environ, "CONTEXTD_HOME": str(home)}, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [one.id for one in open_session(None, home=home, environment={}).memories.all()] == [before.id]


def test_the_readme_shows_the_facets_that_there_are(tmp_path: Path, home: Path, weights: Path | None) -> None:
    if weights is None:
        pytest.skip("no weights here")
    page = (ROOT / "README.md").read_text()
    shown = page[page.index("Relevant facts about the user") :]
    question = re.findall(r'contextd facets ("[^"]*")', page)[0].strip('"')
    environment = {**os.environ, "CONTEXTD_HOME": str(home), "CONTEXTD_MODE": "embedded"}
    for command in (["import", str(ROOT / "examples/about-me.md")], ["facets", question]):
        done = subprocess.run([sys.executable, "-m", "contextd", *command], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=60)  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == shown[: shown.index("\n```")].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_benchmarks_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    names = {*re.findall(r"python -m benchmarks\.(\w+)", text), *re.findall(r"\bbenchmarks/(\w+)\.py\b", text)}
    if page.name != "CHANGELOG.md":
        assert {name for name in names if not (ROOT / "benchmarks" / f"{name}.py").exists()} == set()


def test_every_command_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    assert all(f"### contextd {name}\n" in text for name in COMMANDS)


def test_no_page_names_a_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(?:work|farm|root)/", page.read_text()), page


def test_modules_that_the_makefile_imports_exist() -> None:
    modules = re.findall(r"from (contextd[\w.]*) import (\w+)", (ROOT / "Makefile").read_text())
    assert modules
    for module, name in modules:
        assert hasattr(import_module(module), name), f"{module}.{name}"
