"""Train the layers of the deep model to tag facts: their kind, and which of their words are a value (`models/fact_layers.py`).

`python -m benchmarks.fact_tagger [FOLD …]` trains on labelled facts by several hands: for each fold, which leaves out a quarter
of them, and for `all`, which writes the weights that come with the package. What is read of facts left out is judged, and
stays in the data directory of the benchmarks for `python -m benchmarks.values --folds`. A training takes five minutes of one
processor (`benchmarks/fact_net.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import HOME
from benchmarks.fact_graph import DIMENSION
from benchmarks.fact_net import LEARNED_LAYERS, Matrix, Net, save, states_of
from benchmarks.guesses import examples
from benchmarks.needs import LEARNED, embedders
from benchmarks.values import labelled
from contextd.models.deep import Deep
from contextd.models.wordpiece import places_of
from contextd.remembering.values import PARTS, words_of
from contextd.values.memory import KINDS

ALL = "all"
_FOLDS, _EPOCHS, _RATE, _TOGETHER = 4, 4, 7e-5, 24
_SMOOTH = 0.05  # of the labels of kinds: hands draw the line between some in other places
_LONGEST = 250  # tokens of a fact
_UNKNOWN = -1  # part of a word of a fact whose value is not in the text


class Fact(NamedTuple):
    """A labelled fact: its kind, the first tokens of its words, and their parts of the value, if that is in the text."""

    text: str
    kind: int
    places: list[int]
    parts: list[int]


def facts(deep: Deep) -> list[Fact]:
    """All labelled facts that are as short as a fact is."""
    found = []
    for one in (*examples("facts"), *examples("facts_more")):
        text = " ".join(one["text"].split())
        words, known = words_of(text), labelled(one)
        places = places_of(text, [word.start for word in words], deep.pieces)
        if places and max(places) < _LONGEST:
            found.append(Fact(text, KINDS.index(one["kind"]), places, known[1] if known else []))
    return found


def heads() -> dict[str, Matrix]:
    """The heads before training."""
    sizes = {"kind": len(KINDS), "part": len(PARTS)}
    return {name: np.zeros((size, DIMENSION), np.float32) for name, size in sizes.items()} | {
        f"{name}_bias": np.zeros(size, np.float32) for name, size in sizes.items()
    }


def read(net: Net, some: Sequence[Fact]) -> tuple[Any, Any]:
    """The log-odds of the kinds of facts, and those of the parts of all of their words."""
    vectors, states = net.read([one.text for one in some])
    words = net.torch.cat([rows[one.places] for rows, one in zip(states, some, strict=True)])
    return net.headed("kind", vectors), net.headed("part", words)


def loss(net: Net, some: Sequence[Fact]) -> Any:
    """The loss of both heads."""
    torch, entropy = net.torch, net.torch.nn.functional.cross_entropy
    kinds, parts = read(net, some)
    right = [part for one in some for part in one.parts or [_UNKNOWN] * len(one.places)]
    by_kind = entropy(kinds, torch.tensor([one.kind for one in some]), label_smoothing=_SMOOTH)
    return by_kind + entropy(parts, torch.tensor(right), ignore_index=_UNKNOWN)


def train(net: Net, some: Sequence[Fact]) -> None:
    """Train a net, some facts in each step."""
    random = np.random.default_rng(0)
    orders = [random.permutation(len(some)) for _ in range(_EPOCHS)]
    batches = [order[start : start + _TOGETHER] for order in orders for start in range(0, len(some), _TOGETHER)]
    net.trained_by([partial(loss, net, [some[place] for place in batch]) for batch in batches], _RATE)


def judge(net: Net, some: Sequence[Fact], path: Path) -> None:
    """Keep what is read of facts left out, for `benchmarks/values.py`, and print how good it is."""
    with net.torch.no_grad():
        found = [[one.numpy() for one in read(net, [fact])] for fact in some]
    right = [int(kinds[0].argmax()) == fact.kind for (kinds, _), fact in zip(found, some, strict=True)]
    words = [parts.argmax(axis=1) == fact.parts for (_, parts), fact in zip(found, some, strict=True) if fact.parts]
    ends = np.cumsum([0, *(len(fact.places) for fact in some)])
    np.savez(path, texts=np.array([fact.text for fact in some]), ends=ends, parts=np.vstack([parts for _, parts in found]))
    print(f"{path.name}, {len(some)} facts left out: kind {np.mean(right):.3f}, words {np.mean(np.concatenate(words)):.3f}")


def write(net: Net) -> None:
    """Write the weights."""
    (LEARNED_LAYERS / "fact-tagger.onnx").write_bytes(net.graph())
    save(LEARNED / "kind-tagger.npz", labels=np.array(KINDS), words=np.array([], str), weights=net.head("kind"))
    save(LEARNED / "parts.npz", weights=_of_states(net))


def _of_states(net: Net) -> NDArray[np.float16]:
    weights, bias = (net.heads[name].detach().numpy() for name in ("part", "part_bias"))
    return np.vstack([weights.T, bias]).astype(np.float16)


def main() -> None:
    """Train for the folds that are named on the command line, by default for the first and for all."""
    deep = embedders()["deep"]
    if not isinstance(deep, Deep):
        print("skipped: the deep model is missing")
        return
    some = facts(deep)
    states = states_of(deep, [one.text for one in some])
    for fold in sys.argv[1:] or ("0", ALL):
        net, left = Net(deep.folder, states, heads()), some[int(fold) :: _FOLDS] if fold != ALL else []
        train(net, [one for one in some if one not in left])
        if fold == ALL:
            write(net)
        else:
            judge(net, left, HOME / f"read-{fold}.npz")


if __name__ == "__main__":
    main()
