"""Which questions pass for the same: rephrasings do, look-alikes never do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextd.text.rephrasing import same_question

ITEMS = Path(__file__).parent.parent / "app" / "items"
SAME = [
    ("how does the session expire", "How does session expire?"), ("where is the timeout set", "where do we set the timeout"),
    ("Can you tell me how the parser works?", "how does the parser work"), ("what's my shoe size", "What is my shoe size?"),
    ("how do I run the tests", "how can I run tests"), ("show me where routes are registered", "where are routes registered"),
    ("which editor do I use", "what editor do I use?"), ("How is the cache cleared, please?", "how is the cache cleared"),
    ("how do we parse dates in the reader", "how are dates parsed in the reader"), ("When's the lease over?", "when is the lease over"),
    ("in the report, what is the conclusion", "what is the conclusion in the report"), ("what does load_user return", "what does load_user() return?"),
    ("what's the colour of the car", "the color of the car"), ("I'd like to know when the token expires", "when does the token expire"),
]  # fmt: skip
OTHER = [
    ("does A call B", "does B call A"), ("list users of a group", "list groups of a user"), ("convert grams to ounces", "convert ounces to grams"),
    ("how is TLS enabled", "how is TLS disabled"), ("when did we move", "when will we move"), ("who calls load_user", "who calls load_users"),
    ("max upload 10 MB", "max upload 100 MB"), ("what is my budget", "what is our budget"), ("why does it fail", "why doesn't it fail"),
    ("how does it work with a proxy", "how does it work without a proxy"), ("what did Ana say", "what did Anna say"), ("5 km", "5 mi"),
    ("where does Ana live", "where did Ana live"), ("what may I eat", "what must I eat"), ("should I use X", "could I use X"),
    ("who do I pay", "who pays me"), ("who calls save", "who is called save"), ("what inherits from Base", "what does Base inherit from"),
    ("which tests call run", "which tests are called by run"), ("the first commit", "the last commit"), ("", ""),
    ("what can't Mia eat", "what won't Mia eat"),
    ("word " * 70, "word " * 70),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_rephrasing_is_the_same_question(one: str, other: str) -> None:
    assert same_question(one, other) and same_question(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_look_alike_is_another_question(one: str, other: str) -> None:
    assert not same_question(one, other) and not same_question(other, one)


@pytest.mark.parametrize("name", ["near_pairs.json", "near_pairs_2.json"])
def test_C3_no_pair_of_look_alikes_passes_for_one_question(name: str) -> None:
    pairs = json.loads((ITEMS / name).read_text())["pairs"]
    assert len(pairs) >= 100 and [pair for pair in pairs if same_question(pair["a"], pair["b"])] == []
