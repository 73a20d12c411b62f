"""`search --exact`, `search --regex` and `search PATH`: letter by letter, with the reader's rights."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.values.query import Narrow, Reader
from tests.conftest import Run

Contextd = Callable[..., Run]
FILES = {
    "src/a.py": 'def fetch(url):\n    """Käse — url."""\n    return get(url, timeout=30)\n\n\ndef later():\n    return fetch("x")\n',
    "src/b.go": "package b\n\n// fetch(url) is elsewhere\nfunc Fetch() {}\n",
    "docs/guide.md": "# Guide\n\n## Usage\n\nCall `fetch(url)`.\n\n## Limits\n\nNone.\n",
    "pyproject.toml": "[project]\nname = 'a'\n",
}


@pytest.fixture
def root(make_project: Callable[..., Path], contextd: Contextd) -> Path:
    made = make_project(FILES)
    assert contextd("index", cwd=made).code == 0
    return made


def test_an_exact_text_is_found_with_path_line_and_column(root: Path, contextd: Contextd, on_terminal: Contextd) -> None:
    run = contextd("search", "--exact", "fetch(url)", cwd=root)
    assert run.code == 0 and run.out.splitlines() == [
        "docs/guide.md:5:7:Call `fetch(url)`.",
        "src/a.py:1:5:def fetch(url):",
        "src/b.go:3:4:// fetch(url) is elsewhere",
    ]
    assert "src/a.py\x1b[0m:1:5:def \x1b[33mfetch(url)\x1b[0m:" in on_terminal("search", "--exact", "fetch(url)", cwd=root).out
    assert contextd("search", "--exact", "FETCH(URL)", cwd=root).code == 1, "case counts"


def test_a_pattern_is_found_and_filters_apply(root: Path, contextd: Contextd) -> None:
    told = json.loads(contextd("search", "--regex", r"\w+\(url\b", "--lang", "python", "--json", cwd=root).out)
    assert [(one["path"], one["line"], one["column"], one["match"]) for one in told["matches"]] == [
        ("src/a.py", 1, 5, "fetch(url"), ("src/a.py", 3, 12, "get(url"),
    ]  # fmt: skip
    told = json.loads(contextd("search", "--regex", "(?i)^.*fetch", "--path", "docs", "--json", cwd=root).out)
    assert [one["path"] for one in told["matches"]] == ["docs/guide.md"]
    told = json.loads(contextd("search", "--regex", "url", "--kind", "markdown_section", "--json", cwd=root).out)
    assert [one["path"] for one in told["matches"]] == ["docs/guide.md"]
    told = json.loads(contextd("search", "--exact", "url", "-n", "2", "--json", cwd=root).out)
    assert len(told["matches"]) == 2 and told["truncated"] is True
    (one,) = json.loads(contextd("search", "--exact", "— url", "--json", cwd=root).out)["matches"]
    assert (one["line"], one["column"]) == (2, 13), "columns count characters"


@pytest.mark.parametrize("wrong", [["--regex", "(a"], ["--regex", r"(a)\1"], ["--exact", "--regex", "x"], ["--exact", ""]])
def test_what_cannot_be_looked_for_is_refused(root: Path, contextd: Contextd, wrong: list[str]) -> None:
    assert contextd("search", *wrong, cwd=root).code == 2


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("foo (", "invalid regular expression 'foo (': missing )"),
        ("(?=x)", "; RE2 has no look-around and no back-references"),
        (r"(a)\1", "; RE2 has no look-around and no back-references"),
        ("a**", "invalid regular expression 'a**': bad repetition operator: **"),
    ],
)
def test_an_invalid_pattern_is_told_with_its_fault(root: Path, contextd: Contextd, pattern: str, says: str) -> None:
    run = contextd("search", "--regex", pattern, cwd=root)
    assert run.code == 2 and run.err.strip().endswith(says), run.err


def test_a_list_that_is_cut_says_so(root: Path, contextd: Contextd) -> None:
    assert "this is the first. Raise --limit." in contextd("search", "--exact", "url", "-n", "1", cwd=root).err
    assert "these are the first 2. Raise --limit." in contextd("search", "--exact", "url", "-n", "2", cwd=root).err


def test_a_pattern_takes_linear_time(session: Session, project: Path) -> None:
    (project / "long.txt").write_text("a" * 100_000 + "\n")
    session.index()
    assert session.find_pattern("(a+)+$", limit=1)
    assert session.find_pattern("(a+)+b", limit=1, narrow=Narrow(paths=["long.txt"])) == []


def test_a_reader_finds_only_what_they_may_read(session: Session) -> None:
    assert session.find("load_user")
    session = replace(session, reader=Reader("ana"))
    with pytest.raises(InvalidInput, match="ana has no access to this project"):
        session.find("load_user")


def test_the_path_of_a_file_gives_its_outline(root: Path, contextd: Contextd) -> None:
    run = contextd("search", "src/a.py", cwd=root)
    assert [line.split("\t")[0] for line in run.out.splitlines()[1:]] == ["src/a.py:1", "src/a.py:6"]
    assert "def later():" in run.out and run.code == 0
    assert "src/a.py:6" in contextd("search", "a.py", cwd=root / "src").out, "a path is meant where one is"
    told = json.loads(contextd("search", "docs/guide.md", "--json", cwd=root).out)
    assert told["outline"] and told["outline"][0]["uri"] == "docs/guide.md" and told["hits"]
    assert "src/a.py:1  " not in contextd("search", "src/none.py", cwd=root).out


def test_a_word_that_cannot_be_a_path_is_a_question(root: Path, contextd: Contextd) -> None:
    for word in (b"x" * 300, b"a\x00b", b"x" * 5000):
        assert contextd("search", "-", cwd=root, stdin=word).code in (0, 1), word


def test_up_proposes_questions_about_the_project_at_hand(root: Path, contextd: Contextd) -> None:
    run = contextd("up", "--no-service", cwd=root)
    proposed = [line.strip().removeprefix("contextd ") for line in run.out.splitlines() if line.startswith("  contextd ")]
    assert any("fetch" in one for one in proposed) and len(proposed) == 4
    for one in proposed[:3]:
        assert contextd(*shlex.split(one), cwd=root).code == 0, one
