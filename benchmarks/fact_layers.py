"""Train the layers of the deep model again for facts (`models/fact_layers.py`), and the heads of `text/needs.py` above them.

`python -m benchmarks.fact_layers [FOLD …]` trains on the persons of `benchmarks/needs.py`: for each fold of hands, and for
`all`, which writes the weights that come with the package. Log-odds of persons left out stay in the data directory of the
benchmarks, for `benchmarks/judge.py`. A fold takes half an hour of one processor (`benchmarks/fact_net.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import HOME
from benchmarks.fact_graph import DIMENSION
from benchmarks.fact_net import LEARNED_LAYERS, Matrix, Net, save, states_of
from benchmarks.needs import FOLDS, LEARNED, Person, embedders, folds, persons
from contextd.models.deep import Deep

ALL = "all"
_OUT = 128  # numbers by which a question and a fact are compared
_EPOCHS, _RATE = 2, 7e-5
_MAY = 0.7  # how much a fact is needed that may be shown, beside one that must be
_SCALE, _PRIOR = 6.0, -2.5  # of the log-odds at the start: a cosine, and the usual share of needed facts


def heads() -> dict[str, Matrix]:
    """The heads before training: both sides alike, which makes the log-odds a cosine."""
    first = np.linalg.qr(np.random.default_rng(0).normal(size=(DIMENSION, _OUT)))[0].T.astype(np.float32)
    found = {"scale": np.array(_SCALE, np.float32), "prior": np.array(_PRIOR, np.float32)}
    for side in ("question", "fact"):
        found |= {side: first.copy(), f"{side}_bias": np.zeros(_OUT, np.float32)}
        found |= {f"{side}_offset": np.zeros((1, DIMENSION), np.float32), f"{side}_offset_bias": np.zeros(1, np.float32)}
    return found


def odds(net: Net, questions: Sequence[str], facts: Sequence[str]) -> Any:
    """The log-odds that each question needs each fact."""
    (asked, by_question), (said, by_fact) = _side(net, "question", questions), _side(net, "fact", facts)
    return net.heads["scale"] * asked @ said.T + by_question + by_fact.T + net.heads["prior"]


def _side(net: Net, side: str, texts: Sequence[str]) -> tuple[Any, Any]:
    rows = net.embedded(texts)
    return net.torch.nn.functional.normalize(net.headed(side, rows), dim=1), net.headed(f"{side}_offset", rows)


def loss(net: Net, person: Person) -> Any:
    """The loss of all that a person asks."""
    questions, needed = asked_of(person)
    found = odds(net, questions, person["facts"])
    return net.torch.nn.functional.binary_cross_entropy_with_logits(found, net.torch.from_numpy(needed))


def train(net: Net, some: Sequence[Person]) -> None:
    """Train a net, one person in each step."""
    random = np.random.default_rng(0)
    order = [place for _ in range(_EPOCHS) for place in random.permutation(len(some))]
    net.trained_by([partial(loss, net, some[place]) for place in order], _RATE)


def asked_of(person: Person) -> tuple[list[str], Matrix]:
    """All texts that a person asks, with how much each needs each fact. Unrelated ones need none."""
    asked = person["questions"]
    needed = np.zeros((len(asked) + len(person["unrelated"]), len(person["facts"])), np.float32)
    for row, one in zip(needed, asked, strict=False):
        row[one["may"]] = _MAY
        row[one["must"]] = 1
    return [*(one["text"] for one in asked), *person["unrelated"]], needed


def judge(net: Net, some: Sequence[Person], path: Path) -> None:
    """Keep the log-odds of persons left out, and print how good they are."""
    losses, found, kept = [], [], dict[str, Matrix]()
    with net.torch.no_grad():
        for person in some:
            questions, needed = asked_of(person)
            rows = odds(net, questions, person["facts"]).numpy()
            several = [one["kind"] != "lookup" for one in person["questions"]]
            kept |= {f"{person['facts'][0]}\n{question}": row for question, row in zip(questions, rows, strict=True)}
            for row, right in ((row, right > 0) for row, right, there in zip(rows, needed, several, strict=False) if there):
                losses.append(np.logaddexp(0, np.where(right, -row, row)).mean())
                found += [right[np.argsort(-row, kind="stable")[: int(right.sum())]].mean()] if right.any() else []
    sizes = np.cumsum([0, *(len(one) for one in kept.values())])
    np.savez(path, names=np.array(list(kept)), sizes=sizes, odds=np.concatenate(list(kept.values())))
    print(f"{path.name}, {len(losses)} questions left out: log-loss {np.mean(losses):.4f}, R-precision {np.mean(found):.3f}")


def folds_left_out() -> list[int]:
    """The folds of persons that some weights were trained without."""
    return [fold for fold in range(FOLDS) if (HOME / f"facts-{fold}.npz").exists()]


def left_out(fold: int) -> dict[tuple[str, str], Matrix]:
    """The log-odds of the facts of persons left out, by the first fact of the person and the question."""
    with np.load(HOME / f"facts-{fold}.npz", allow_pickle=False) as stored:
        rows = np.split(stored["odds"], stored["sizes"][1:-1])
        names = (tuple(name.split("\n", 1)) for name in stored["names"].tolist())
        return {(first, question): row for (first, question), row in zip(names, rows, strict=True)}


def write(net: Net) -> None:
    """Write the weights."""
    (LEARNED_LAYERS / "fact-layers.onnx").write_bytes(net.graph())
    sides = {side: net.head(side, f"{side}_offset") for side in ("question", "fact")}
    scales = {name: net.heads[name].detach().numpy() for name in ("scale", "prior")}
    save(LEARNED / "heads.npz", **sides, **scales)


def main() -> None:
    """Train for the folds that are named on the command line, by default for all."""
    deep = embedders()["deep"]
    if not isinstance(deep, Deep):
        print("skipped: the deep model is missing")
        return
    some = persons()
    states = states_of(deep, [text for person in some for text in (*person["facts"], *asked_of(person)[0])])
    by_fold = folds(some)
    for fold in sys.argv[1:] or [*map(str, sorted(set(by_fold))), ALL]:
        net = Net(deep.folder, states, heads())
        train(net, [person for person, own in zip(some, by_fold, strict=True) if str(own) != fold])
        if fold == ALL:
            write(net)
        else:
            left = [person for person, own in zip(some, by_fold, strict=True) if str(own) == fold]
            judge(net, left, HOME / f"facts-{fold}.npz")


if __name__ == "__main__":
    main()
