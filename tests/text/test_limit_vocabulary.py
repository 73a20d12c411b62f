"""Limits and questions that touch them, by classes of words in six languages: `items/limit_vocabulary.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from contextd.text.hard_limits import limit_domains, question_domains

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
