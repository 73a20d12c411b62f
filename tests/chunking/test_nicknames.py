"""People are found by the name that others call them."""

from __future__ import annotations

import pytest

from contextd.chunking.nicknames import nicknames
from contextd.values.conversation import Message


def chat(*said: tuple[str, str], role: str = "") -> list[Message]:
    return [Message(author, text, 0, role) for author, text in said]


CALLED = [("em_84", "Hi Bob!"), ("Robert", "Hey Kate! All well?"), ("Robert", "Thanks, Kate"), ("Robert", "How are you, Kate?")]


def test_the_name_that_the_other_uses_is_a_nickname() -> None:
    assert nicknames(chat(*CALLED)) == {"Robert": (), "em_84": ("Kate",)}


@pytest.mark.parametrize("greeting", ["Hallo Kate", "Danke, Kate", "Salut Kate", "Merci Kate", "Hola Kate", "hey Kate"])
def test_people_are_addressed_in_other_languages(greeting: str) -> None:
    assert nicknames(chat(("em_84", "ja"), *[("Robert", greeting)] * 3))["em_84"] == ("Kate",)


def test_a_place_after_a_comma_and_a_name_both_use_are_no_nicknames() -> None:
    assert nicknames(chat(("a", "hm"), *[("b", "We live in Austin, Texas.")] * 5)) == {"a": (), "b": ()}
    assert nicknames(chat(*[("a", "Thanks, God!"), ("b", "Thanks, God!")] * 4)) == {"a": (), "b": ()}


def test_groups_and_chats_with_a_model_have_none() -> None:
    assert nicknames(chat(*CALLED, ("third", "hello"))) == {}
    assert nicknames(chat(*CALLED, role="user")) == {}
