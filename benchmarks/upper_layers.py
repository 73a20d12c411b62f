"""Train the upper layers of the deep model for facts (`models/upper_layers.py`), and the heads of `text/needs.py` above them.

`python -m benchmarks.upper_layers [FOLD …]` trains on the persons of `benchmarks/needs.py`: for each fold of hands, and for
`all`, which writes the weights that come with the package. Log-odds of persons left out stay in the data directory of the
benchmarks, for `benchmarks/judge.py`. Requires torch and onnx (`pip install torch onnx`), which contextd itself does not use.
A fold takes about nine minutes of one processor.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import HOME
from benchmarks.needs import LEARNED, Person, embedders, folds, persons
from contextd.models.deep import Deep

ALL = "all"
LAYERS = (9, 10, 11)
_DIMENSION, _HEADS, _OUT = 384, 12, 128
_EPOCHS, _RATE, _HEAD_RATE, _DECAY, _DROPPED, _WARM_UP = 3, 1e-4, 1e-3, 0.05, 0.1, 0.15
_TOGETHER = 14  # texts of about the same length that are embedded at once
_SCALE, _PRIOR = 6.0, -2.5  # of the log-odds at the start: a cosine, and the usual share of needed facts
_PARTS = {
    "query": "attention/self/query", "key": "attention/self/key", "value": "attention/self/value",
    "mixed": "attention/output/dense", "wide": "intermediate/dense", "narrow": "output/dense",
}  # fmt: skip
_NORMS = {"attended": "attention.output.LayerNorm", "output": "output.LayerNorm"}
UPPER = LEARNED.parent.parent / "models/learned/upper-layers.npz"

Matrix = NDArray[np.float32]
Weights = dict[str, Any]


def published(folder: Path, layer: int) -> dict[str, Matrix]:
    """The weights of one layer of the model as it was published, as numbers."""
    onnx: Any = import_module("onnx")
    graph = onnx.load(str(folder / "model.onnx")).graph
    known = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    found = dict[str, Matrix]()
    for name, part in _PARTS.items():
        node = next(one for one in graph.node if one.name == f"/encoder/layer.{layer}/{part}/MatMul_quant")
        stored = node.input[1].removesuffix("_quantized")
        whole = known[node.input[1]].astype(np.float32) - known[f"{stored}_zero_point"].astype(np.float32)
        found[f"{name}_weight"] = (whole * known[f"{stored}_scale"]).T.copy()
        found[f"{name}_bias"] = known[f"encoder.layer.{layer}.{part.replace('/', '.')}.bias"]
    for name, part in _NORMS.items():
        for ours, theirs in (("scale", "weight"), ("shift", "bias")):
            found[f"{name}_{ours}"] = known[f"encoder.layer.{layer}.{part}.{theirs}"]
    return found


class Net:
    """The upper layers and both heads, to be trained."""

    def __init__(self, folder: Path, states: Mapping[str, Matrix]) -> None:
        self.torch: Any = import_module("torch")
        self.states, self.training = states, True
        torch = self.torch
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.layers: list[Weights] = [
            {name: torch.tensor(one, requires_grad=True) for name, one in published(folder, layer).items()} for layer in LAYERS
        ]
        first = torch.nn.init.orthogonal_(torch.empty(_OUT, _DIMENSION))
        self.heads: Weights = {"scale": torch.tensor(_SCALE), "prior": torch.tensor(_PRIOR)}
        for side in ("question", "fact"):
            self.heads |= {f"{side}_weight": first.clone(), f"{side}_bias": torch.zeros(_OUT)}
            self.heads |= {f"{side}_offset": torch.zeros(1, _DIMENSION), f"{side}_offset_bias": torch.zeros(1)}
        for one in self.heads.values():
            one.requires_grad_(True)

    def embedded(self, texts: Sequence[str]) -> Any:
        """The vectors of texts, in unit length times the root of their dimension."""
        order = sorted(range(len(texts)), key=lambda place: len(self.states[texts[place]]))
        parts = np.array_split(np.array(order), max(1, len(texts) // _TOGETHER))
        found = self.torch.cat([self._embedded([texts[place] for place in part]) for part in parts])
        return found[self.torch.from_numpy(np.argsort(np.concatenate(parts)))]

    def _embedded(self, texts: Sequence[str]) -> Any:
        torch, longest = self.torch, max(len(self.states[text]) for text in texts)
        rows, there = torch.zeros(len(texts), longest, _DIMENSION), torch.zeros(len(texts), longest, dtype=torch.bool)
        for place, text in enumerate(texts):
            states = torch.from_numpy(self.states[text].astype(np.float32))
            rows[place, : len(states)], there[place, : len(states)] = states, True
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.training):
            for layer in self.layers:
                rows = self._applied(layer, rows, there)
        return torch.nn.functional.normalize(rows[:, 0].float(), dim=1) * _DIMENSION**0.5

    def _applied(self, layer: Weights, rows: Any, there: Any) -> Any:
        functional = self.torch.nn.functional

        def linear(name: str, given: Any) -> Any:
            return functional.linear(given, layer[f"{name}_weight"], layer[f"{name}_bias"])

        def added(name: str, before: Any, given: Any) -> Any:
            whole = before + functional.dropout(given, _DROPPED, self.training)
            return functional.layer_norm(whole, (_DIMENSION,), layer[f"{name}_scale"], layer[f"{name}_shift"], 1e-12)

        def by_head(given: Any) -> Any:
            return given.view(*given.shape[:2], _HEADS, -1).transpose(1, 2)

        seen = functional.scaled_dot_product_attention(
            *(by_head(linear(name, rows)) for name in ("query", "key", "value")), attn_mask=there[:, None, None, :]
        )
        rows = added("attended", rows, linear("mixed", seen.transpose(1, 2).reshape(rows.shape)))
        return added("output", rows, linear("narrow", functional.gelu(linear("wide", rows), approximate="tanh")))

    def odds(self, questions: Sequence[str], facts: Sequence[str]) -> Any:
        """The log-odds that each question needs each fact."""
        (asked, by_question), (said, by_fact) = self._side("question", questions), self._side("fact", facts)
        return self.heads["scale"] * asked @ said.T + by_question + by_fact.T + self.heads["prior"]

    def _side(self, side: str, texts: Sequence[str]) -> tuple[Any, Any]:
        functional, rows = self.torch.nn.functional, self.embedded(texts)
        made = functional.linear(rows, self.heads[f"{side}_weight"], self.heads[f"{side}_bias"])
        offset = functional.linear(rows, self.heads[f"{side}_offset"], self.heads[f"{side}_offset_bias"])
        return functional.normalize(made, dim=1), offset


def trained(net: Net, some: Sequence[Person]) -> None:
    """Train a net: AdamW, one cycle of step sizes, one person in each step."""
    torch, random = net.torch, np.random.default_rng(0)
    layers = [one for layer in net.layers for one in layer.values()]
    groups = [{"params": list(net.heads.values()), "most": _HEAD_RATE}, {"params": layers, "most": _RATE}]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, weight_decay=_DECAY)
    order = [place for _ in range(_EPOCHS) for place in random.permutation(len(some))]
    for step, place in enumerate(order, 1):
        done = step / len(order)
        share = done / _WARM_UP if done < _WARM_UP else 0.5 * (1 + np.cos(np.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
        for group in optimizer.param_groups:
            group["lr"] = group["most"] * share
        questions, needed = several(some[place])
        odds = net.odds(questions, some[place]["facts"])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, torch.from_numpy(needed))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([one for group in groups for one in group["params"]], 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"{step} of {len(order)} steps", flush=True)
    net.training = False


def several(person: Person) -> tuple[list[str], Matrix]:
    """Requests and questions of a person, with the facts that each needs."""
    asked = [one for one in person["questions"] if one["kind"] != "lookup"]
    needed = np.zeros((len(asked), len(person["facts"])), np.float32)
    for row, one in zip(needed, asked, strict=True):
        row[[*one["must"], *one["may"]]] = 1
    return [one["text"] for one in asked], needed


def judge(net: Net, some: Sequence[Person], path: Path) -> None:
    """Keep the log-odds of persons left out, and print how good they are."""
    losses, found, kept = [], [], dict[str, Matrix]()
    with net.torch.no_grad():
        for person in some:
            questions, needed = several(person)
            odds = net.odds(questions, person["facts"]).numpy()
            for question, row, right in zip(questions, odds, needed, strict=True):
                kept[f"{person['facts'][0]}\n{question}"] = row
                losses.append(np.logaddexp(0, np.where(right > 0, -row, row)).mean())
                found += [right[np.argsort(-row, kind="stable")[: int(right.sum())]].mean()] if right.any() else []
    sizes = np.cumsum([0, *(len(one) for one in kept.values())])
    np.savez(path, names=np.array(list(kept)), sizes=sizes, odds=np.concatenate(list(kept.values())))
    print(f"{path.name}, {len(losses)} questions left out: log-loss {np.mean(losses):.4f}, R-precision {np.mean(found):.3f}")


def left_out(fold: int) -> dict[tuple[str, str], Matrix]:
    """The log-odds of the facts of persons left out, by the first fact of the person and the question."""
    with np.load(HOME / f"facts-{fold}.npz", allow_pickle=False) as stored:
        rows = np.split(stored["odds"], stored["sizes"][1:-1])
        names = (tuple(name.split("\n", 1)) for name in stored["names"].tolist())
        return {(first, question): row for (first, question), row in zip(names, rows, strict=True)}


def write(net: Net) -> None:
    """Write the weights: layers in int8 with a scale for each row, heads as numbers of 16 bits."""
    made: dict[str, Any] = {"layers": np.array(len(net.layers))}
    for number, layer in enumerate(net.layers):
        for name, one in ((name, one.detach().numpy()) for name, one in layer.items()):
            if one.ndim == 1:
                made[f"{number}_{name}"] = one.astype(np.float16)
                continue
            by = np.abs(one).max(axis=1, keepdims=True) / 127
            made |= {f"{number}_{name}": np.round(one / by).astype(np.int8), f"{number}_{name}_by": by.astype(np.float32)}
    _saved(UPPER, made)
    heads, root = {name: one.detach().numpy() for name, one in net.heads.items()}, _DIMENSION**0.5
    sides = {
        side: np.vstack(
            [
                np.hstack([heads[f"{side}_weight"].T, heads[f"{side}_offset"].T]) * root,
                np.hstack([heads[f"{side}_bias"], heads[f"{side}_offset_bias"]]),
            ]
        ).astype(np.float16)
        for side in ("question", "fact")
    }
    _saved(LEARNED / "heads.npz", {**sides, "scale": heads["scale"], "prior": heads["prior"]})


def _saved(path: Path, values: Mapping[str, Any]) -> None:
    out = io.BytesIO()
    np.savez_compressed(out, **values)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(out.getvalue())


def main() -> None:
    """Train the folds that are named, or all of them and the weights of the package."""
    deep = embedders()["deep"]
    if not isinstance(deep, Deep):
        print("skipped: the deep model is missing")
        return
    some = persons()
    texts = {text for person in some for text in (*person["facts"], *(one["text"] for one in person["questions"]))}
    states = {text: deep.states(text).astype(np.float16) for text in sorted(texts)}
    by_fold = folds(some)
    for fold in sys.argv[1:] or [*map(str, sorted(set(by_fold))), ALL]:
        net = Net(deep.folder, states)
        trained(net, [person for person, own in zip(some, by_fold, strict=True) if str(own) != fold])
        if fold == ALL:
            write(net)
        else:
            left = [person for person, own in zip(some, by_fold, strict=True) if str(own) == fold]
            judge(net, left, HOME / f"facts-{fold}.npz")


if __name__ == "__main__":
    main()
