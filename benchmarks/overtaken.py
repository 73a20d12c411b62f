"""How likely a new fact overtakes an older one (`remembering/overtaken.py`), learned from persons by other hands.

`python -m benchmarks.overtaken [--learn]` measures on persons left out (examples/changes, those in English): of the facts that
a new one ends, the share that is found, and of the new facts the share that would end or contradict a wrong one. `--learn`
writes a fit on all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.logistic import logistic
from benchmarks.needs import LEARNED
from benchmarks.persons import told
from contextd.app.memories import memory_service
from contextd.remembering import pipeline
from contextd.remembering.overtaken import Told, evidence

EXAMPLES = Path(__file__).parent / "examples/changes"
_FEW = (1, 3)
_FOLDS, _PENALTY = 6, 20.0  # chosen leaving persons out

Float = NDArray[np.float64]


class Case(NamedTuple):
    """A new fact of a person: the evidence for each of the nearest older facts, whether it ends them, wholly or in part."""

    person: int
    rows: Float
    ends: Float
    partly: Float
    missing: int  # facts that it ends and that are not among the nearest


def cases() -> list[Case]:
    """All new facts of the persons in English."""
    found, number = [], 0
    for path in sorted(EXAMPLES.glob("english-*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            person = json.loads(line)
            with told(person["facts"]) as session:
                service = memory_service(session)
                resources = service._resources([session.home.personal])
                anybody = service.draft("-")
                older = pipeline.told_to(resources, anybody.workspace, anybody.author, anybody.principals)
                places = [person["facts"].index(one.memory.text) for one in older]
                for one in person["then"]:
                    (seen,), _ = pipeline._seen([one["text"]], resources)
                    if seen.tagged is None:
                        continue
                    memory = resources.enricher.enrich(service.draft(one["text"]), *seen)
                    (whole,) = seen.tagged.vectors.values()
                    new = Told(memory, pipeline.rows_of(seen.vectors), whole)
                    nearest, rows = evidence(new, older)
                    near = [places[place] for place in nearest]
                    ends, partly = (np.array([place in one[name] for place in near], float) for name in ("ends", "partly"))
                    found.append(Case(number, rows, ends, partly, len(set(one["ends"]) - set(near))))
                    for few in _FEW:  # as if little was told before
                        _, rows = evidence(new, [older[place] for place in nearest[:few]])
                        found.append(Case(number, rows, ends[:few], partly[:few], 0))
            number += 1
    return found


def fitted(some: list[Case]) -> Float:
    """Return weights, with the constant last."""
    data, right = np.vstack([one.rows for one in some]), np.concatenate([one.ends for one in some])
    mean, spread = data.mean(axis=0), data.std(axis=0) + 1e-6
    plain = np.arange(data.shape[1]) >= data.shape[1] - 384  # a vector stays as it is
    mean[plain], spread[plain] = 0, 1
    weights = logistic(np.hstack([(data - mean) / spread, np.ones((len(data), 1))]), right, _PENALTY)
    own = weights[:-1] / spread
    return np.append(own, weights[-1] - own @ mean)


def main() -> None:
    """Measure; with `--learn`, write the weights."""
    every = cases()
    known = every[:: 1 + len(_FEW)]  # among all facts of the person
    likely = dict[int, list[Float]]()
    for fold in range(_FOLDS):
        weights = fitted([one for one in every if one.person % _FOLDS != fold])
        for place, one in enumerate(known):
            if one.person % _FOLDS == fold:
                likely[place] = [1 / (1 + np.exp(-(one.rows @ weights[:-1] + weights[-1])))]
    to_end = sum(one.ends.sum() + one.missing for one in known)
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9):
        from_it = [likely[place][0] >= least for place in range(len(known))]
        found = sum((one.ends * shown).sum() for one, shown in zip(known, from_it, strict=True))
        in_part = sum((one.partly * shown).sum() for one, shown in zip(known, from_it, strict=True))
        wrong = np.mean([((1 - one.ends - one.partly) * shown).any() for one, shown in zip(known, from_it, strict=True)])
        count = sum(one.partly.sum() for one in known)
        print(
            f"from {least}: {found / to_end:.3f} of {to_end:.0f} ended facts, {in_part:.0f} of {count:.0f} ended in part; "
            f"a wrong one for {100 * wrong:.1f} % of {len(known)} new facts"
        )
    if "--learn" in sys.argv:
        weights = fitted(every)
        labels, words = np.array(["overtaken"]), np.array([], str)
        np.savez_compressed(LEARNED / "overtaken.npz", labels=labels, words=words, weights=weights[:, None].astype(np.float32))


if __name__ == "__main__":
    main()
