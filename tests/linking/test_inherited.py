"""Methods that are called through a subclass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session

FILES = {
    "app/base.py": "class Base:\n    def save(self):\n        return 1\n\n\nclass Other:\n    def save(self):\n        return 2\n",
    "app/sub.py": (
        "from app.base import Base\n\n\nclass Sub(Base):\n    def go(self):\n        self.save()\n\n\nclass Deep(Sub):\n    pass\n\n\n"
        "class Own(Sub):\n    def save(self):\n        return 3\n\n\nclass Last(Own):\n    pass\n"
    ),
    "app/use.py": "from app.sub import Deep, Sub\n\n\ndef run():\n    thing = Sub()\n    thing.save()\n    Deep().save()\n",
    "app/other.py": "from app.base import Other\n\n\ndef run():\n    thing = Other()\n    thing.save()\n",
}


@pytest.fixture
def session(make_project: Callable[..., Path], home: Path) -> Session:
    made = open_session(make_project(FILES), home=home, environment={})
    made.index()
    return made


@pytest.mark.parametrize(
    ("name", "label"),
    [("Sub.save", "Base.save"), ("Deep.save", "Base.save"), ("Last.save", "Own.save"), ("app.sub.Sub.save", "Base.save")],
)
def test_a_name_is_found_in_the_nearest_base(session: Session, name: str, label: str) -> None:
    assert [one.label for one in session.structure.symbols(name)] == [label]


def test_a_name_that_is_not_inherited_is_not_found(session: Session) -> None:
    assert not session.structure.symbols("Nope.save") and not session.structure.symbols("Sub.load")


@pytest.mark.parametrize("name", ["Base.save", "Sub.save", "Deep.save"])
def test_calls_through_a_subclass_are_calls_of_the_base(session: Session, name: str) -> None:
    _, uses = session.structure.callers(name)
    assert {(one.uri, one.line) for one in uses} == {("app/sub.py", 6), ("app/use.py", 6), ("app/use.py", 7)}


def test_an_object_made_from_another_class_is_none_of_it(session: Session) -> None:
    _, uses = session.structure.callers("Other.save")
    assert {(one.uri, one.line) for one in uses} == {("app/other.py", 6)}
