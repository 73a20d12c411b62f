"""Train the layers of the deep model again, for what facts need (`benchmarks/fact_layers.py`, `benchmarks/fact_tagger.py`).

Requires torch and onnx (`pip install torch onnx`), which contextd itself does not use. Products are of 16-bit numbers where
the processor has instructions for them; elsewhere a training takes four times as long.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.fact_graph import DIMENSION, HEADS, graph_of
from contextd.models.deep import Deep

LAYERS = range(12)
LEARNED_LAYERS = Path(__file__).parent.parent / "src/contextd/models/learned"
_HEAD_RATE, _DECAY, _DROPPED, _WARM_UP = 1e-3, 0.05, 0.1, 0.15
_TOGETHER = 2500  # tokens that are embedded at once, of texts of about the same length
_PIECES = {
    "query": "attention/self/query", "key": "attention/self/key", "value": "attention/self/value",
    "mixed": "attention/output/dense", "wide": "intermediate/dense", "narrow": "output/dense",
}  # fmt: skip
_NORMS = {"attended": "attention.output.LayerNorm", "output": "output.LayerNorm"}

Matrix = NDArray[np.float32]
Weights = dict[str, Any]


class Read(NamedTuple):
    """Texts as a net reads them: a vector for each, and the states of its tokens below the last layer."""

    vectors: Any
    states: Any


def states_of(deep: Deep, texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
    """The states of the tokens of texts below the layers that are trained."""
    return {text: deep.states(text).astype(np.float16) for text in sorted(set(texts))}


def published(folder: Path, layer: int) -> dict[str, Matrix]:
    """The weights of one layer of the model as it was published, as numbers."""
    onnx: Any = import_module("onnx")
    graph = onnx.load(str(folder / "model.onnx")).graph
    known = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    found = dict[str, Matrix]()
    for name, part in _PIECES.items():
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
    """The layers and heads above them, to be trained."""

    def __init__(self, folder: Path, states: Mapping[str, NDArray[np.float16]], heads: Mapping[str, Matrix]) -> None:
        self.torch: Any = import_module("torch")
        self.states, self.training = states, True
        torch = self.torch
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.layers: list[Weights] = [
            {name: torch.tensor(one, requires_grad=True) for name, one in published(folder, layer).items()} for layer in LAYERS
        ]
        self.heads: Weights = {name: torch.tensor(one) for name, one in heads.items()}
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
        return self.read(texts).vectors

    def read(self, texts: Sequence[str]) -> Read:
        """Embed some texts together."""
        torch, longest = self.torch, max(len(self.states[text]) for text in texts)
        rows, there = torch.zeros(len(texts), longest, DIMENSION), torch.zeros(len(texts), longest, dtype=torch.bool)
        for place, text in enumerate(texts):
            states = torch.from_numpy(self.states[text].astype(np.float32))
            rows[place, : len(states)], there[place, : len(states)] = states, True
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu.get_capabilities()["avx512_bf16"]):
            for layer in self.layers:
                below, rows = rows, self._applied(layer, rows, there)
        return Read(torch.nn.functional.normalize(rows[:, 0].float(), dim=1) * DIMENSION**0.5, below.float())

    def _applied(self, layer: Weights, rows: Any, there: Any) -> Any:
        functional = self.torch.nn.functional

        def linear(name: str, given: Any) -> Any:
            return functional.linear(given, layer[f"{name}_weight"], layer[f"{name}_bias"])

        def added(name: str, before: Any, given: Any) -> Any:
            whole = before + self._dropped(given)
            return functional.layer_norm(whole, (DIMENSION,), layer[f"{name}_scale"], layer[f"{name}_shift"], 1e-12)

        def by_head(given: Any) -> Any:
            return given.view(*given.shape[:2], HEADS, -1).transpose(1, 2)

        queries, keys, values = (by_head(linear(name, rows)) for name in ("query", "key", "value"))
        scores = queries @ keys.transpose(-1, -2) * (DIMENSION / HEADS) ** -0.5
        seen = self.torch.softmax(scores.masked_fill(~there[:, None, None, :], -1e4), -1) @ values
        rows = added("attended", rows, linear("mixed", seen.transpose(1, 2).reshape(rows.shape)))
        return added("output", rows, linear("narrow", functional.gelu(linear("wide", rows), approximate="tanh")))

    def _dropped(self, given: Any) -> Any:
        """Leave out numbers at random, the same ones of all tokens of a text."""
        if not self.training:
            return given
        kept = self.torch.rand(len(given), 1, DIMENSION) >= _DROPPED
        return given * (kept / (1 - _DROPPED)).to(given.dtype)

    def headed(self, name: str, rows: Any) -> Any:
        """Rows through the head of a name."""
        return self.torch.nn.functional.linear(rows, self.heads[name], self.heads[f"{name}_bias"])

    def trained_by(self, losses: Sequence[Callable[[], Any]], rate: float) -> None:
        """Train by one loss after the other: AdamW, one cycle of step sizes. `rate` is the largest one of the layers."""
        layers = [one for layer in self.layers for one in layer.values()]
        groups = [{"params": list(self.heads.values()), "most": _HEAD_RATE}, {"params": layers, "most": rate}]
        optimizer = self.torch.optim.AdamW(groups, lr=rate, weight_decay=_DECAY)
        for step, loss in enumerate(losses, 1):
            done = step / len(losses)
            share = done / _WARM_UP if done < _WARM_UP else 0.5 * (1 + np.cos(np.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
            for group in optimizer.param_groups:
                group["lr"] = group["most"] * share
            optimizer.zero_grad()
            loss().backward()
            self.torch.nn.utils.clip_grad_norm_([one for group in groups for one in group["params"]], 1.0)
            optimizer.step()
            if step % 100 == 0:
                print(f"{step} of {len(losses)} steps", flush=True)
        self.training = False

    def graph(self) -> bytes:
        """The layers as a graph with 8-bit weights."""
        return graph_of([{name: one.detach().numpy() for name, one in layer.items()} for layer in self.layers])

    def head(self, *names: str) -> NDArray[np.float16]:
        """Heads as rows of 16-bit numbers that a vector of unit length is multiplied by, with the constants last."""
        rows = [np.vstack([self._known(name).T * DIMENSION**0.5, self._known(f"{name}_bias")]) for name in names]
        return np.hstack(rows).astype(np.float16)

    def _known(self, name: str) -> Matrix:
        return np.asarray(self.heads[name].detach().numpy())


def save(path: Path, **arrays: NDArray[np.generic]) -> None:
    """Write arrays as a compressed file."""
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    path.write_bytes(out.getvalue())
