"""Tasks: a question, a budget, a prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.app.tasks import Task, budget_for
from contextd.errors import InvalidInput, StorageError
from contextd.values.query import Narrow
from tests.conftest import Run


@pytest.mark.parametrize(
    ("kind", "complexity", "budget"),
    [("implementation", 5, 1500), ("implementation", 8, 2250), ("implementation", 3, 1050), ("ARCHITECTURE", 5, 1950),
     ("bugfix", 5, 1200), ("bugfix", 9, 1800), ("architecture", 1, 1365), ("anything", 7, 1500)],
)  # fmt: skip
def test_the_budget_follows_complexity_and_type(kind: str, complexity: int, budget: int) -> None:
    assert budget_for(Task("x", type=kind, complexity=complexity), 1500) == budget
    assert budget_for(Task("x", type=kind, complexity=complexity), 1500, 500) == budget - 500


def test_what_is_reserved_for_the_prompt_leaves_a_small_budget_something() -> None:
    assert budget_for(Task("x"), 400, 500) == 100


def test_a_task_gets_its_context_inside_the_prompt(session: Session) -> None:
    found = session.task(Task("Load a user by name", "The store returns the wrong user", "bugfix", 7, "123"))
    assert found.prompt.startswith("You are executing task #123: Load a user by name\nDescription: The store returns")
    assert "Type: BUGFIX\nComplexity: 7\n" in found.prompt and found.budget == 700
    assert found.context is not None and found.context.tokens <= 700
    assert "<project_context>" in found.prompt and "src/app/store.py" in found.prompt
    assert found.prompt.endswith("using the provided context.")
    narrowed = session.task(Task("Load a user by name", hints=Narrow(paths=["docs"])))
    assert narrowed.context is not None and all(hit.chunk.uri.startswith("docs/") for hit in narrowed.context.hits)


def test_nothing_relevant_or_switched_off_is_a_prompt_without_context(session: Session, project: Path, home: Path) -> None:
    assert session.task(Task("Bake an apple pie with cinnamon")).prompt.endswith("Please implement this task.")
    off = open_session(project, home=home, environment={}, flags={"enabled": False})
    found = off.task(Task("Load a user by name"))
    assert found.context is None and "<project_context>" not in found.prompt and "disabled" in found.warnings[0]


def test_a_context_that_fails_is_empty_or_an_error_as_the_settings_say(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise StorageError("the disk is gone", code="io")

    monkeypatch.setattr(Session, "context", broken)
    for fallback in (True, False):
        session = open_session(project, home=home, environment={}, flags={"fallback_enabled": fallback})
        if fallback:
            assert "the disk is gone" in session.task(Task("Load a user")).warnings[0]
        else:
            with pytest.raises(StorageError):
                session.task(Task("Load a user"))


def test_a_task_that_cannot_be_one_is_refused(session: Session) -> None:
    for task in (Task("  "), Task("x", complexity=0), Task("x", complexity=11)):
        with pytest.raises(InvalidInput):
            session.task(task)


def test_the_command(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    run = contextd(
        "task", "--title", "Load a user by name", "--type", "bugfix", "--complexity", "7", "--json", "-p", str(project)
    )
    told = json.loads(run.out)
    assert told["budget"] == 700 and told["context"]["hits"] and "<project_context>" in told["prompt"]
    run = contextd("task", "--title", "Load", "--description", "-", "-p", str(project), stdin=b"a user by name")
    assert "Description: a user by name" in run.out
    assert contextd("task", "--title", "x", "--complexity", "42", "-p", str(project)).code == 2
