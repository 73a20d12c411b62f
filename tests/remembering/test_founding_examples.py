"""The worked examples of the founding document on personal facts: what is understood of a fact when it is saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextd.app.assemble import open_session


def test_a_budget_is_enriched(home: Path) -> None:
    """Section 3.2. The value has the sign of a limit, which the document leaves out."""
    session = open_session(None, home=home, environment={})
    kept = session.remember("Budget for shoes: max 150€").memory
    assert (kept.kind, kept.attribute, kept.value, kept.unit) == ("constraint", "budget_shoes", "≤ 150", "€")
    assert "Fashion" in kept.topics and kept.enriched > 0 and not kept.verified
    for word in ("budget", "shoes", "150"):
        assert session.recall(word, min_score=0).hits, "every keyword finds it"


@pytest.mark.parametrize(
    ("text", "kind", "attribute", "value", "unit"),
    [
        ("Budget for shoes: max 150€", "constraint", "budget_shoes", "≤ 150", "€"),
        ("I prefer casual, comfortable shoes", "preference", None, None, None),
        ("Runs 3x/week outdoors", "activity", "runs_frequency", "3", "times/week"),
        ("My shoe size is EU 42", "characteristic", "shoe_size", "42", "EU"),
        ("I want to run a marathon", "goal", None, None, None),
    ],
)
def test_without_models_every_kind_is_known_by_its_wording(
    tmp_path: Path, text: str, kind: str, attribute: str | None, value: str | None, unit: str | None
) -> None:
    """Appendix D, scenario 1: rules classify, and attribute, value and unit do not need a model at all."""
    session = open_session(None, home=tmp_path, environment={})
    assert session.setup.static is None
    kept = session.remember(text).memory
    assert kept.kind == kind
    if attribute is not None:
        assert (kept.attribute, kept.value, kept.unit) == (attribute, value, unit)
