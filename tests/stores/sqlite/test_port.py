"""How much a question asks of the store: few calls, few statements, and none depends on another before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from contextd.app.session import Session
from contextd.stores.search.view import SnapshotView


@contextmanager
def counted(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Counter[str], list[str]]]:
    """The calls of a view from outside, and the statements that read something."""
    calls, said, inside = Counter[str](), list[str](), [0]

    def counting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            calls[name] += not inside[0]
            inside[0] += 1
            try:
                return method(*arguments, **named)
            finally:
                inside[0] -= 1

        return called

    for name, method in vars(SnapshotView).items():
        if callable(method) and not name.startswith("_"):
            monkeypatch.setattr(SnapshotView, name, counting(name, method))

    def note(_: Any, statement: str, __: Any) -> bool:
        if statement.split()[0] == "select":
            said.append(statement)
        return True

    assert session.project is not None
    stores: Any = (session.project.store, session.home.record)
    with ExitStack() as stack:
        connections = [stack.enter_context(one.database.connection()) for one in stores]
        for connection in connections:
            connection.exec_trace = note
        yield calls, said
        for connection in connections:
            connection.exec_trace = None


@pytest.mark.parametrize(("question", "statements"), [("how is a user loaded from the database", 10), ("load_user", 13)])
def test_a_search_makes_few_calls_and_few_statements(
    session: Session, monkeypatch: pytest.MonkeyPatch, question: str, statements: int
) -> None:
    session.search(question)  # the snapshot is there
    with counted(session, monkeypatch) as (calls, said):
        assert session.search(question, cache=False).hits
    assert calls["retrieve"] == 1 and sum(calls.values()) <= 8, calls
    assert len(said) <= statements, said
