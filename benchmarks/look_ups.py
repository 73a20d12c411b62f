"""Does a question ask for one fact (`text/needs.py`)? Learned from the look-ups of the persons of `benchmarks/needs.py`.

`python -m benchmarks.look_ups` judges hands left out, beside the wording alone; `--learn` writes the weights.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.fact_net import save
from benchmarks.logistic import logistic
from benchmarks.needs import FOLDS, LEARNED, embedders, folds, persons
from contextd.ports.world import fact_embedder
from contextd.text.wording import asks_one_thing

_EVERY = 3  # request or question is learned from: there are more than enough
_PENALTY = 0.1


def main() -> None:
    """Measure; with `--learn`, write the weights."""
    embedder = fact_embedder(embedders().get("deep"))
    if embedder is None:
        print("skipped: the deep model is missing")
        return
    known = persons()
    asked = [
        (question["text"], question["kind"] == "lookup", fold)
        for person, fold in zip(known, folds(known), strict=True)
        for place, question in enumerate(person["questions"])
        if question["kind"] == "lookup" or place % _EVERY == 0
    ]
    texts, fold = [one[0] for one in asked], np.array([one[2] for one in asked])
    right, wording = np.array([one[1] for one in asked], float), np.array([asks_one_thing(text) for text in texts], float)
    data = np.hstack([embedder.documents(texts), wording[:, None], np.ones((len(texts), 1))]).astype(np.float64)
    found = np.zeros(len(texts), bool)
    for number in range(FOLDS):
        held = fold == number
        found[held] = data[held] @ logistic(data[~held], right[~held], _PENALTY) > 0
    for name, told in (("wording", wording > 0), ("vectors and wording", found)):
        print(
            f"look-ups, by {name}, hands left out: {told[right > 0].mean():.3f} of {int(right.sum())} found, "
            f"and {told[right == 0].mean():.3f} of {int((1 - right).sum())} other questions"
        )
    if "--learn" in sys.argv:
        weights = logistic(data, right, _PENALTY)[:, None].astype(np.float32)
        save(LEARNED / "look-up-facts.npz", labels=np.array(["look-up"]), words=np.array([], str), weights=weights)


if __name__ == "__main__":
    main()
