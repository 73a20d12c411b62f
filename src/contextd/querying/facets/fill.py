"""Fill: what is bought has a size, a style and a use, so facts that say one of these may be a little less likely to matter.

Only for shopping: facets of other subjects may stay empty. Nearly relevant facts with an attribute that no shown fact has
(color, fit, brands) and those of empty facets are added, best first. Money for one thing says nothing of another, so the budget
is not filled.
"""

from __future__ import annotations

from collections.abc import Mapping

NEARLY = 0.18  # share of the probability that is enough; chosen so that the founding example has all of its facts
_SUBJECT, _BUDGET = "shopping", "budget"


def is_filled(subject: str) -> bool:
    """Return whether the facets of a subject are filled."""
    return subject == _SUBJECT


def fill(facet_of: Mapping[int, str], nearly: Mapping[int, str], labels: Mapping[int, str]) -> dict[int, str]:
    """Return the facets of shown and added facts. `nearly` has facts by relevance, `labels` the attribute of each."""
    found = dict(facet_of)
    for place, name in nearly.items():
        known = {labels[one] for one in found} | {""}
        if name != _BUDGET and (name not in found.values() or labels[place] not in known):
            found[place] = name
    return found
