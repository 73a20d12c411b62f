"""Limits on every field a caller can fill: the library, the command line and the server share them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.app.tasks import Task
from contextd.app.tokens import TokenService
from contextd.errors import InvalidInput
from contextd.settings.limits import LIMITS
from contextd.text.paths import below
from contextd.values.memory import Recall
from contextd.values.query import Facet, Narrow
from tests.conftest import Run


def entries(field: str) -> list[str]:
    return ["x"] * (LIMITS[field].entries + 1)


def letters(field: str) -> str:
    return "x" * (LIMITS[field].characters + 1)


FACET = Facet("a", "a", "what?")
TOO_MUCH: list[tuple[str, Callable[[Session], Any]]] = [
    ("query", lambda e: e.search(letters("query"))),
    ("query", lambda e: e.context(letters("query"))),
    ("query", lambda e: e.facets(letters("query"))),
    ("query", lambda e: e.recall(letters("query"))),
    ("query", lambda e: e.task(Task("x", letters("query")))),
    ("history", lambda e: e.search("x", history=entries("history"))),
    ("history", lambda e: e.facets("x", history=[letters("history")])),
    ("paths", lambda e: e.search("x", narrow=Narrow(entries("paths")))),
    ("paths", lambda e: e.search("x", narrow=Narrow([letters("paths")]))),
    ("paths", lambda e: e.search("x", narrow=Narrow("src"))),
    ("paths with wildcards", lambda e: e.search("x", narrow=Narrow(["*"] * 21))),
    ("languages", lambda e: e.context("x", narrow=Narrow(languages=(one for one in entries("languages"))))),
    ("kinds", lambda e: e.context("x", narrow=Narrow(kinds=[letters("kinds")]))),
    ("topics", lambda e: e.recall("x", narrow=Narrow(recall=Recall(topics=frozenset(map(str, range(101))))))),
    ("conversation", lambda e: e.recall("x", narrow=Narrow(recall=Recall(conversation=letters("conversation"))))),
    ("template", lambda e: e.context("x", template=letters("template"))),
    ("ranker", lambda e: e.search("x", ranker=letters("ranker"))),
    ("facets", lambda e: e.facets("x", own=[FACET] * 21)),
    ("facets", lambda e: e.facets("x", own=[Facet("a", letters("facets"), "what?")])),
    ("topics", lambda e: e.facets("x", own=[Facet("a", "a", "what?", topics=tuple(entries("topics")))])),
    ("vector", lambda e: e.search("x", vector=[0.0] * 10_001)),
    ("usage", lambda e: e.metrics.add(letters("usage"))),
    ("k", lambda e: e.search("x", k=10**10)),
    ("k", lambda e: e.context("x", k=1.5)),  # type: ignore[arg-type]
    ("budget", lambda e: e.context("x", budget=10**10)),
    ("budget", lambda e: e.facets("x", budget=10**10)),
    ("budget", lambda e: e.structure.overview(10**10)),
    ("name", lambda e: e.structure.symbols(letters("name"))),
    ("name", lambda e: e.structure.history(letters("name"))),
    ("principal", lambda e: e.share([letters("principal")])),
    ("principal", lambda e: e.share(entries("principal"))),
    ("reader", lambda e: open_session(None, home=home_of(e), environment={}, reader=letters("reader"))),
    ("token", lambda e: TokenService(e.home.record.tokens).create(letters("token"))),
    ("group", lambda e: TokenService(e.home.record.tokens).create("x", groups=entries("group"))),
    ("also", lambda e: open_session(None, home=home_of(e), environment={}, also=entries("also"))),
]


def home_of(session: Session) -> Path:
    assert session.project is not None
    return session.project.folder.parent.parent


def test_Q2_every_limit_is_kept_and_named(session: Session) -> None:
    for field, ask in TOO_MUCH:
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            ask(session)
    assert set(LIMITS) == {field for field, _ in TOO_MUCH} - {"k", "budget"}, "no limit without a test"


def test_Q2_at_the_limit_there_is_an_answer(session: Session) -> None:
    paths = ["src", *(f"no/such/{number}" for number in range(LIMITS["paths"].entries - 21)), *(["*.py"] * 20)]
    assert session.search("load_user", narrow=Narrow(paths, languages=["python"] * 100), history=["x"] * 100).hits
    pasted = " ".join(f"path:folder{number}" for number in range(3000)) + " load_user"
    assert session.search(pasted).hits == []


def test_Q1_half_a_character_is_no_error(session: Session, project: Path, home: Path) -> None:
    assert session.search("load_user \ud800", narrow=Narrow(["src\udcff", "src"])).hits
    command = [sys.executable.encode(), b"-m", b"contextd", b"search", b"load_user \xff", b"--path", b"src"]
    done = subprocess.run(command, cwd=project, env={**os.environ, "CONTEXTD_HOME": str(home)}, capture_output=True, timeout=60)
    assert done.returncode == 0 and b"store.py" in done.stdout, done.stderr


def test_the_command_line_names_the_field(project: Path, contextd: Callable[..., Run]) -> None:
    run = contextd("search", "-", cwd=project, stdin=b"x" * 100_001)
    assert run.code == 2 and "error: query: too many characters: 100,001 (maximum 100,000)" in run.err


def oracle(uri: str, paths: list[str]) -> bool:
    for path in paths:
        if uri == path or uri.startswith(path.rstrip("/") + "/") or path in ("", "."):
            return True
        if any(sign in path for sign in "*?[") and fnmatchcase(uri, path):
            return True
    return False


pieces = st.text("ab/.*?[]!-", max_size=8)


@given(st.text("ab/.", min_size=1, max_size=10), st.lists(pieces, max_size=5))
def test_many_paths_are_compared_as_one_by_one(uri: str, paths: list[str]) -> None:
    assert below(paths)(uri) == oracle(uri, paths)
