"""Train the layers of the deep model again for facts (`models/fact_layers.py`), and the heads of `text/needs.py` above them.

`python -m benchmarks.fact_layers [FOLD …]` trains on the persons of `benchmarks/needs.py`: for each fold of hands, and for
`all`, which writes the weights that come with the package. Log-odds of persons left out stay in the data directory of the
benchmarks, for `benchmarks/judge.py`. Requires torch and onnx (`pip install torch onnx`), which contextd itself does not use.
Products are of
16-bit numbers, which some processors multiply eight times as fast; there a fold takes 25 minutes of one processor.
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
from benchmarks.needs import FOLDS, LEARNED, Person, embedders, folds, persons
from contextd.models.deep import Deep

ALL = "all"
LAYERS = range(12)
_DIMENSION, _HEADS, _OUT = 384, 12, 128
_EPOCHS, _RATE, _HEAD_RATE, _DECAY, _DROPPED, _WARM_UP = 2, 7e-5, 1e-3, 0.05, 0.1, 0.15
_TOGETHER = 2500  # tokens that are embedded at once, of texts of about the same length
_MAY = 0.7  # how much a fact is needed that may be shown, beside one that must be
_SCALE, _PRIOR = 6.0, -2.5  # of the log-odds at the start: a cosine, and the usual share of needed facts
_MIDDLE = 128
_PARTS = {
    "query": "attention/self/query", "key": "attention/self/key", "value": "attention/self/value",
    "mixed": "attention/output/dense", "wide": "intermediate/dense", "narrow": "output/dense",
}  # fmt: skip
_NORMS = {"attended": "attention.output.LayerNorm", "output": "output.LayerNorm"}
LAYERS_FILE = LEARNED.parent.parent / "models/learned/fact-layers.onnx"

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
    """The layers and both heads, to be trained."""

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
        order, parts = sorted(range(len(texts)), key=lambda place: len(self.states[texts[place]])), list[list[int]]()
        for place in order:
            if not parts or (len(parts[-1]) + 1) * len(self.states[texts[place]]) > _TOGETHER:
                parts.append([])
            parts[-1].append(place)
        found = self.torch.cat([self._embedded([texts[place] for place in part]) for part in parts])
        return found[self.torch.from_numpy(np.argsort(order))]

    def _embedded(self, texts: Sequence[str]) -> Any:
        torch, longest = self.torch, max(len(self.states[text]) for text in texts)
        rows, there = torch.zeros(len(texts), longest, _DIMENSION), torch.zeros(len(texts), longest, dtype=torch.bool)
        for place, text in enumerate(texts):
            states = torch.from_numpy(self.states[text].astype(np.float32))
            rows[place, : len(states)], there[place, : len(states)] = states, True
        with torch.autocast("cpu", torch.bfloat16):
            for layer in self.layers:
                rows = self._applied(layer, rows, there)
        return torch.nn.functional.normalize(rows[:, 0].float(), dim=1) * _DIMENSION**0.5

    def _applied(self, layer: Weights, rows: Any, there: Any) -> Any:
        functional = self.torch.nn.functional

        def linear(name: str, given: Any) -> Any:
            return functional.linear(given, layer[f"{name}_weight"], layer[f"{name}_bias"])

        def added(name: str, before: Any, given: Any) -> Any:
            whole = before + self._dropped(given)
            return functional.layer_norm(whole, (_DIMENSION,), layer[f"{name}_scale"], layer[f"{name}_shift"], 1e-12)

        def by_head(given: Any) -> Any:
            return given.view(*given.shape[:2], _HEADS, -1).transpose(1, 2)

        queries, keys, values = (by_head(linear(name, rows)) for name in ("query", "key", "value"))
        scores = queries @ keys.transpose(-1, -2) * (_DIMENSION / _HEADS) ** -0.5
        seen = self.torch.softmax(scores.masked_fill(~there[:, None, None, :], -1e4), -1) @ values
        rows = added("attended", rows, linear("mixed", seen.transpose(1, 2).reshape(rows.shape)))
        return added("output", rows, linear("narrow", functional.gelu(linear("wide", rows), approximate="tanh")))

    def _dropped(self, given: Any) -> Any:
        """Leave out numbers at random, the same ones of all tokens of a text."""
        if not self.training:
            return given
        kept = self.torch.rand(len(given), 1, _DIMENSION) >= _DROPPED
        return given * (kept / (1 - _DROPPED)).to(given.dtype)

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
        questions, needed = asked_of(some[place])
        odds = net.odds(questions, some[place]["facts"])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, torch.from_numpy(needed))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([one for group in groups for one in group["params"]], 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"{step} of {len(order)} steps", flush=True)
    net.training = False


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
            odds = net.odds(questions, person["facts"]).numpy()
            several = [one["kind"] != "lookup" for one in person["questions"]]
            kept |= {f"{person['facts'][0]}\n{question}": row for question, row in zip(questions, odds, strict=True)}
            for row, right in ((row, right > 0) for row, right, there in zip(odds, needed, several, strict=False) if there):
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
    """Write the weights: the layers as a graph with 8-bit weights, heads as numbers of 16 bits."""
    LAYERS_FILE.parent.mkdir(exist_ok=True)
    LAYERS_FILE.write_bytes(graph_of([{name: one.detach().numpy() for name, one in layer.items()} for layer in net.layers]))
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
    out = io.BytesIO()
    np.savez_compressed(out, **sides, scale=heads["scale"], prior=heads["prior"])
    (LEARNED / "heads.npz").write_bytes(out.getvalue())


def graph_of(layers: Sequence[Mapping[str, Matrix]]) -> bytes:
    """Layers as a graph from the states of all tokens to that of the first one."""
    graph, states = _Graph(), "states"
    for number, layer in enumerate(layers):
        states = graph.layer(layer, states, is_last=number == len(layers) - 1)
    return graph.saved(states)


class _Graph:
    """A graph of ONNX, written node by node. Weights of matrices are 8-bit columns with a scale each; rows are made 8-bit numbers."""

    def __init__(self) -> None:
        self.onnx: Any = import_module("onnx")
        self.nodes: list[Any] = []
        self.known: list[Any] = []
        self.by_rows: dict[str, tuple[str, str, str]] = {}

    def saved(self, result: str) -> bytes:
        helper, number = self.onnx.helper, self.onnx.TensorProto.FLOAT
        given = helper.make_tensor_value_info("states", number, ["tokens", _DIMENSION])
        found = helper.make_tensor_value_info(result, number, [1, _DIMENSION])
        graph = helper.make_graph(self.nodes, "fact-layers", [given], [found], self.known)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def layer(self, layer: Mapping[str, Matrix], states: str, *, is_last: bool) -> str:
        """Attention of tokens to each other, then each token by itself. In the last layer only the first token is needed."""
        seen = self.node("Gather", states, self.constant(np.array([0]))) if is_last else states
        queries, keys, values = (
            self.by_head(self.linear(layer, name, one), order)
            for name, one, order in (("query", seen, (1, 0, 2)), ("key", states, (1, 2, 0)), ("value", states, (1, 0, 2)))
        )
        scores = self.node("Mul", self.node("MatMul", queries, keys), self.number((_DIMENSION / _HEADS) ** -0.5))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), values)
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=(1, 0, 2)), self.constant(np.array([-1, _DIMENSION])))
        states = self.normalized(layer, "attended", self.node("Add", seen, self.linear(layer, "mixed", joined)))
        narrow = self.linear(layer, "narrow", self.gelu(self.linear(layer, "wide", states)))
        return self.normalized(layer, "output", self.node("Add", states, narrow))

    def by_head(self, rows: str, order: tuple[int, ...]) -> str:
        split = self.node("Reshape", rows, self.constant(np.array([-1, _HEADS, _DIMENSION // _HEADS])))
        return self.node("Transpose", split, perm=order)

    def linear(self, layer: Mapping[str, Matrix], name: str, rows: str) -> str:
        weights = layer[f"{name}_weight"].T
        by = np.abs(weights).max(axis=0, keepdims=True) / 127
        whole = self.constant((np.round(weights / by) + _MIDDLE).astype(np.uint8))
        given, scale, zero = self.quantized(rows)
        product = self.node("MatMulInteger", given, whole, zero, self.middle())
        restored = self.node(
            "Mul", self.node("Cast", product, to=self.onnx.TensorProto.FLOAT), self.node("Mul", scale, self.constant(by))
        )
        return self.node("Add", restored, self.constant(layer[f"{name}_bias"]))

    def quantized(self, rows: str) -> tuple[str, str, str]:
        """Rows as 8-bit numbers with their scale and zero, computed once for all weights that they are multiplied by."""
        if rows not in self.by_rows:
            names = (f"quantized_{rows}", f"scale_{rows}", f"zero_{rows}")
            self.nodes.append(self.onnx.helper.make_node("DynamicQuantizeLinear", [rows], list(names)))
            self.by_rows[rows] = names
        return self.by_rows[rows]

    def middle(self) -> str:
        """The zero of the weights: numbers without a sign lose nothing on processors that add in 16 bits."""
        return self.constant(np.array(_MIDDLE, np.uint8))

    def normalized(self, layer: Mapping[str, Matrix], name: str, rows: str) -> str:
        parts = (self.constant(layer[f"{name}_{part}"]) for part in ("scale", "shift"))
        return self.node("LayerNormalization", rows, *parts, axis=-1, epsilon=1e-12)

    def gelu(self, rows: str) -> str:
        cube = self.node("Mul", self.node("Mul", rows, rows), rows)
        inside = self.node("Add", rows, self.node("Mul", cube, self.number(0.044715)))
        bent = self.node("Tanh", self.node("Mul", inside, self.number((2 / np.pi) ** 0.5)))
        return self.node("Mul", self.node("Mul", rows, self.number(0.5)), self.node("Add", bent, self.number(1.0)))

    def node(self, kind: str, *given: str, **how: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(given), [name], **how))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.known)}"
        self.known.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def main() -> None:
    """Train the folds that are named, or all of them and the weights of the package."""
    deep = embedders()["deep"]
    if not isinstance(deep, Deep):
        print("skipped: the deep model is missing")
        return
    some = persons()
    texts = {text for person in some for text in (*person["facts"], *asked_of(person)[0])}
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
