"""Which questions pass for the same: those that differ in words without meaning do, look-alikes never do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextd.text.rephrasing import same_question

ITEMS = Path(__file__).parent.parent / "app" / "items"
SAME = [
    ("how does the session expire", "How does session expire?"), ("what's my shoe size", "What is my shoe size?"),
    ("Can you tell me how the parser works?", "how the parser works"), ("show me where routes are registered", "where routes are registered"),
    ("How is the cache cleared, please?", "how is the cache cleared"), ("When's the lease over?", "when is the lease over"),
    ("where is  the timeout\nset", "where is timeout set"), ("I'd like to know when the token expires", "when the token expires"),
]  # fmt: skip
OTHER = [
    ("does A call B", "does B call A"), ("list users of a group", "list groups of a user"), ("convert grams to ounces", "convert ounces to grams"),
    ("how is TLS enabled", "how is TLS disabled"), ("when did we move", "when will we move"), ("who calls load_user", "who calls load_users"),
    ("max upload 10 MB", "max upload 100 MB"), ("what is my budget", "what is our budget"), ("why does it fail", "why doesn't it fail"),
    ("which tests failed", "which tests fail"), ("what did you say about it", "what did I say about it"), ("temperature -5", "temperature 5"),
    ("who calls Next", "who calls next"), ("photos of Ana", "photos for Ana"), ("how do I log in", "how do I log"), ("what does && do", "what does || do"),
    ("a * b", "a / b"), ("run the test again", "run the test"), ("where have I worked", "where do I work"), ("do we retry", "can we retry"),
    ("who calls save", "who is called save"), ("the first commit", "the last commit"), ("what can't Mia eat", "what won't Mia eat"), ("", ""),
    ("explain JOIN", "JOIN"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_words_without_meaning_make_no_other_question(one: str, other: str) -> None:
    assert same_question(one, other) and same_question(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_look_alike_is_another_question(one: str, other: str) -> None:
    assert not same_question(one, other) and not same_question(other, one)


@pytest.mark.parametrize("name", ["near_pairs.json", "near_pairs_2.json"])
def test_C3_no_pair_of_look_alikes_passes_for_one_question(name: str) -> None:
    pairs = json.loads((ITEMS / name).read_text())["pairs"]
    assert len(pairs) >= 100 and [pair for pair in pairs if same_question(pair["a"], pair["b"])] == []


@pytest.mark.parametrize(("name", "least"), [("rephrasings.json", 9), ("rephrasings_2.json", 0)])
def test_as_many_rephrasings_pass_as_the_benchmarks_say(name: str, least: int) -> None:
    pairs = json.loads((ITEMS / name).read_text())["pairs"]
    assert sum(same_question(pair["a"], pair["b"]) for pair in pairs) == least
