"""Look up: what belongs to the answer to a look-up, besides the facts that are likely to be it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contextd.text.people import Mentions

_NEWER = 2  # newer facts with the attribute of an answer that are shown beside it

Attribute = tuple[str, str]  # its name, empty if there is none, and whom the fact is about


def completed(found: Sequence[int], attributes: Sequence[Attribute], told: Sequence[int], people: Mentions) -> list[int]:
    """Return the places of an answer's facts: those about the people that are meant, with newer values of their attributes.

    `told` has when each fact was told.
    """
    own = [place for place in found if not people.others[place]] or found
    meant = [place for place in own if people.named[place] or people.meant[place]] or own
    since = {attributes[place]: told[place] for place in meant if attributes[place][0]}
    newer = [
        place for place, one in enumerate(attributes) if place not in meant and told[place] > since.get(one, math.inf)
    ]  # fmt: skip
    return [*newer[:_NEWER], *meant]
