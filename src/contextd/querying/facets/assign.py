"""Assign each fact to a facet of the question, by what the fact is about and by its kind.

The weights are learned from labelled examples (`python -m benchmarks.facets --learn`). Facets group what is shown; they do not
select it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.querying.facets.traits import Traits, columns_of
from contextd.text.classifiers import learned
from contextd.values.document import About
from contextd.values.query import Facet

# Used for the order only: kinds of fact that matter most for a subject, constraints before preferences.
BOOSTS: dict[str, dict[str, float]] = {
    "shopping": {"constraint": 0.15, "preference": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.01},
    "recommendation": {"preference": 0.12, "constraint": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.02},
    "planning": {"goal": 0.10, "activity": 0.08, "preference": 0.05, "constraint": 0.05, "characteristic": 0.02},
    "information": {"characteristic": 0.08, "preference": 0.05, "activity": 0.03, "constraint": 0.02, "goal": 0.02},
}
_RECENT = 0.02  # for the fact told last; half of it for one a season older
_PINNED, _FEEDBACK = 0.1, 0.02  # against boosts by kind of at most .15


def aspects() -> tuple[str, ...]:
    """Return the aspects of life a fact may be about."""
    return learned("aspect-static").labels


def assign(traits: Traits, subject: str, claims: Mapping[str, frozenset[str]], direct: Sequence[bool], tier: str) -> list[str]:
    """Return the facet of each fact. The usual five are learned; a further one takes facts whose aspects it claims.

    If there is a `direct` facet, facts that are the very thing asked for go there.
    """
    model = learned(f"side-{tier}")
    usual = [name for name in claims if f"{subject}.{name}" in model.labels]
    scores = columns_of(traits) @ model.weights[:, [model.labels.index(f"{subject}.{name}") for name in usual]]
    found = [usual[best] for best in scores.argmax(axis=1)]
    place = {aspect: number for number, aspect in enumerate(aspects())}
    for name in [name for name in claims if name not in usual]:
        claimed = traits.aspects[:, [place[aspect] for aspect in claims[name]]].sum(axis=1) > 0.5
        found = [name if there else other for other, there in zip(found, claimed, strict=True)]
    if "direct" in claims:
        found = ["direct" if there else name for name, there in zip(found, direct, strict=True)]
    return found


def raised(about: About, subject: str, recent: float) -> float:
    """Return what a fact gains by its kind, by how recently it was told, and by the person's pin and feedback."""
    by_kind = BOOSTS.get(subject, {}).get(about.kind, 0.0) + _RECENT * recent
    return by_kind + _PINNED * about.pinned + _FEEDBACK * max(-3, min(3, about.feedback))


def nearest(near: NDArray[np.float32], topics: Sequence[Sequence[str]], facets: Sequence[Facet]) -> list[str]:
    """Return the nearest facet of each fact. A facet with topics takes only facts with these topics."""
    near = near.copy()
    for column, facet in enumerate(facets):
        near[[bool(facet.topics) and not set(facet.topics) & set(own) for own in topics], column] = -1
    return [facets[best].name for best in near.argmax(axis=1)]
