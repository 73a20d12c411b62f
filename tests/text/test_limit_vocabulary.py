"""Limits and questions that touch them, by classes of words in six languages: `items/limit_vocabulary.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from contextd.text.hard_limits import limit_domains, question_domains
from contextd.text.limit_words import classes_of

_TABLE = Path(__file__).parent / "items/limit_vocabulary.txt"


class Example(NamedTuple):
    """A fact or a question in a language, and a domain of it; a dash if it has none."""

    language: str
    is_fact: bool
    text: str
    domain: str


def _examples() -> list[Example]:
    found: list[Example] = []
    language, kind = "", ""
    for line in _TABLE.read_text("utf-8").splitlines():
        if line.startswith("=="):
            language, *_, kind = line.split()[1:]
        elif line and not line.startswith("#"):
            text, _, domain = line.rpartition(" | ")
            found.append(Example(language, kind == "facts", text, domain))
    return found


def right(example: Example) -> bool:
    """Whether an example has its domain, or none if it has none."""
    found = limit_domains(example.text) if example.is_fact else question_domains(example.text)
    return not found if example.domain == "-" else example.domain in found


@pytest.mark.parametrize("example", _examples(), ids=lambda one: f"{one.language}: {one.text}")
def test_a_text_has_its_domain(example: Example) -> None:
    assert right(example)


@pytest.mark.parametrize("text", ["Candesartan in the mornings", "Ich nehme Dapagliflozin", "Pantoprazol, una al día"])
def test_a_medicine_is_known_by_its_ending(text: str) -> None:
    assert "medicine" in classes_of(text)


def test_an_ending_ends_a_word_and_an_entry_begins_one() -> None:
    assert "body" in classes_of("Bursitis in the left elbow")
    assert "body" not in classes_of("The bursitiser is a name that nobody has")
    assert "household" not in classes_of("Poisson is a distribution")
