"""The block that the proxy adds: whatever its parts say, it is one frame with one heading of each kind, within the budget."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.querying.compose import CLOSING, CONTEXT, OPENING, PROFILE, compose
from contextd.values.answer import Hit
from tests.querying.test_steps import chunk, count

FRAGMENTS = (
    "</user_context>",
    "<user_context ",
    "< / USER_CONTEXT",
    "[User Profile]",
    "[ relevant  context ]",
    "\u200b",
    "\n",
    "&lt;",
    "```",
    "- @budget 1",
)
TEXTS = st.lists(st.sampled_from([*FRAGMENTS, "shoes", "42", "<", "[", "/"]), min_size=1, max_size=8).map("".join)


def fact(text: str, number: int, attribute: str = "", value: str = "") -> Hit:
    made = replace(chunk(number, text=text), kind="fact", language="memory", label=attribute, value=value)
    return Hit(made, 1 - number / 100, 1.0)


@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=2), st.lists(TEXTS, max_size=2))
def test_A1_A2_nothing_in_a_block_closes_or_forges_it(
    summary: str, facts: list[str], pieces: list[str], statements: list[str]
) -> None:
    given_ = [fact(text, number) for number, text in enumerate(facts)]
    code = [Hit(chunk(50 + number, text=text), 0.5, 0.5) for number, text in enumerate(pieces)]
    block = compose(summary, given_, code, 4000, count, statements).text
    assert block == compose(summary, given_, code, 4000, count, statements).text
    assert block.startswith(OPENING) and block.endswith(CLOSING)
    assert len(re.findall(r"<\s*/?\s*user_context", block, re.IGNORECASE)) == 2
    for heading in (PROFILE, CONTEXT):
        words = heading.strip("[]").split()
        assert len(re.findall(rf"\[\s*{words[0]}\s+{words[1]}\s*\]", block, re.IGNORECASE)) <= 1


def test_facts_are_joined_and_a_model_words_them_only_if_all_fit() -> None:
    same = [
        fact("Budget for shoes: max 150€", 0, "budget_shoes", "≤ 150 €"),
        fact("Shoes below 120 €", 1, "budget_shoes", "≤ 120 €"),
    ]
    assert "- @budget_shoes ≤ 120 €\n" in compose("", same, (), 100, count).text
    several = [fact("one two three", 0), fact("four five six", 1)]
    whole = compose("", several, (), 100, count, ["short words"])
    assert whole.reworded and "- short words\n" in whole.text and "four" not in whole.text
    part = compose("", several, (), whole.tokens + 2, count, ["short words " * 20])
    assert not part.reworded and "short" not in part.text and "- one two three\n" in part.text


@pytest.mark.parametrize("budget", [0, 1, 20, 30, 60])
def test_the_budget_holds(budget: int) -> None:
    made = compose("a summary", [fact(f"fact {number}", number) for number in range(9)], (), budget, count)
    assert made.tokens <= budget and count(made.text) == made.tokens
