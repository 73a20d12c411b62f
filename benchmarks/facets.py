"""Facets: to which facet of a question does a fact belong? Judged on people and questions by another hand.

`python -m benchmarks.facets` judges the shipped weights on tests/querying/items/facets.json; `--learn` makes them again from
the examples. Which facts matter at all is `benchmarks/relevance.py` and `benchmarks/persons.py`.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import linked_home
from benchmarks.guesses import fitted as softmax
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.ports.world import Embedder
from contextd.querying.facets.assign import assign
from contextd.querying.facets.divide import USUAL
from contextd.querying.facets.facet_table import SIDES, aspects_of
from contextd.querying.facets.traits import Traits, columns_of, traits_of
from contextd.text.classifiers import guess
from contextd.values.query import Facet

LEARNED = Path(__file__).parent.parent / "src/contextd/text/learned"
EXAMPLES = Path(__file__).parent / "examples"
ITEMS = Path(__file__).parent.parent / "tests/querying/items/facets.json"


class Asked(NamedTuple):
    """One question of one person: its subject, the traits of the facts that matter, and the facet of each."""

    subject: str
    traits: Traits
    side: list[str]


def asked(people: Sequence[dict[str, Any]], session: Session, tier: str) -> list[Asked]:
    """All questions of some people to which something matters, with the traits of a tier."""
    embedder = session.setup.deep() if tier == "deep" else session.setup.static
    assert embedder is not None
    found = []
    for person in people:
        rows = np.vstack([embedder.documents([fact]) for fact in person["facts"]])
        for question in (one for one in person["queries"] if one["facts"]):
            places = [int(place) for place in question["facts"]]
            texts = [person["facts"][place] for place in places]
            kinds = [_kind(text, embedder, rows[place]) for text, place in zip(texts, places, strict=True)]
            traits = traits_of(texts, kinds, embedder.space, rows[places])
            found.append(Asked(question["subject"], traits, list(question["facts"].values())))
    return found


def _kind(fact: str, embedder: Embedder, vector: NDArray[np.float32]) -> str:
    found = guess("kind", fact, {embedder.space: vector})
    return found.label if found is not None else ""


def learn(session: Session, tier: str) -> None:
    """For each subject a softmax regression over its usual facets, from the facts that matter."""
    some = asked(json.loads((EXAMPLES / "facets.json").read_text("utf-8")), session, tier)
    labels, columns = [], []
    for subject in SIDES:
        names = [side.name for side in SIDES[subject][:USUAL]]
        of_subject = [one for one in some if one.subject == subject]
        data = np.vstack([columns_of(one.traits) for one in of_subject])
        target = np.array([names.index(side) for one in of_subject for side in one.side])
        columns.append(softmax(data[:, :-1], target, len(names)))
        labels += [f"{subject}.{name}" for name in names]
    out = io.BytesIO()
    np.savez_compressed(out, labels=np.array(labels), words=np.array([], str), weights=np.hstack(columns).astype(np.float16))
    (LEARNED / f"side-{tier}.npz").write_bytes(out.getvalue())


def judge(session: Session, tier: str) -> None:
    """The shipped weights on the items."""
    belongs: dict[str, list[bool]] = {}
    for one in asked(json.loads(ITEMS.read_text("utf-8")), session, tier):
        facets = [Facet(side.name, side.title, side.question) for side in SIDES[one.subject][:USUAL]]
        direct = [False] * len(one.side)
        found = assign(one.traits, one.subject, aspects_of(facets, one.subject), direct, tier)
        belongs.setdefault(one.subject, []).extend(a == b for a, b in zip(found, one.side, strict=True))
    every = [right for several in belongs.values() for right in several]
    by_subject = {subject: round(float(np.mean(several)), 3) for subject, several in belongs.items()}
    print(f"{tier}, the right facet of {len(every)} facts that matter: {np.mean(every):.3f} {by_subject}")


def main() -> None:
    session = open_session(None, home=linked_home("facets").absolute())
    for tier in ("deep", "static"):
        if "--learn" in sys.argv:
            learn(session, tier)
        judge(session, tier)


if __name__ == "__main__":
    main()
