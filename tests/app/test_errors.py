"""Which kind of error a caller gets: one table for every surface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd import errors
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import ContextdError


def kinds() -> list[type[ContextdError]]:
    return [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ContextdError)]


def test_every_kind_has_a_code_of_its_own_and_stands_in_the_tree() -> None:
    assert len({kind.code for kind in kinds()}) == len(kinds())
    for kind in kinds():
        assert kind.__name__ in (errors.__doc__ or ""), kind
        assert kind.exit_code in (2, 3, 4) and 400 <= kind.http_status < 600


@pytest.mark.parametrize(
    ("code", "status", "call"),
    [
        ("not_found", 404, lambda one: one.forget("0123456789abcdef")),
        ("not_found", 404, lambda one: one.jobs.get("0123")),
        ("not_found", 404, lambda one: one.refresh(["nowhere.py"])),
        ("not_found", 404, lambda one: one.memories.rename_topic("nothing", "else")),
        ("forbidden", 403, lambda one: one.as_reader("guest").share(["guest"])),
        ("forbidden", 403, lambda one: one.as_reader("guest").structure.callers("x")),
        ("conflict", 409, lambda one: [one.register_template("mine", "{{content}}") for _ in range(2)]),
        ("too_large", 413, lambda one: one.search("x" * 200_000)),
        ("too_large", 413, lambda one: one.remember("word " * 50_000)),
        ("invalid_input", 400, lambda one: one.context("x", budget=0)),
        ("invalid_input", 400, lambda one: one.context("x", template="none such")),
    ],
)
def test_an_error_says_whose_turn_it_is(session: Session, code: str, status: int, call: Callable[[Session], object]) -> None:
    with pytest.raises(ContextdError) as raised:
        call(session)
    assert (raised.value.code, raised.value.http_status) == (code, status), raised.value


def test_a_folder_that_is_not_there_is_not_found(home: Path) -> None:
    with pytest.raises(errors.NotFound):
        open_session("/no/such/folder", home=home, environment={})
