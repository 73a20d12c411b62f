"""Write trained layers as a graph of ONNX (`benchmarks/fact_layers.py`). Requires onnx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION, HEADS = 384, 12
_MIDDLE = 128

Matrix = NDArray[np.float32]


def graph_of(layers: Sequence[Mapping[str, Matrix]]) -> bytes:
    """Layers as a graph from the states of all tokens to that of the first one, and to those of all below the last layer."""
    graph, states, below = _Graph(), "states", ""
    for number, layer in enumerate(layers):
        below, states = states, graph.layer(layer, states, is_last=number == len(layers) - 1)
    return graph.saved(states, below)


class _Graph:
    """A graph of ONNX, written node by node. Matrices have 8-bit columns with a scale each; rows are made 8-bit numbers."""

    def __init__(self) -> None:
        self.onnx: Any = import_module("onnx")
        self.nodes: list[Any] = []
        self.known: list[Any] = []
        self.by_rows: dict[str, tuple[str, str, str]] = {}

    def saved(self, first: str, tokens: str) -> bytes:
        helper, number = self.onnx.helper, self.onnx.TensorProto.FLOAT
        given = helper.make_tensor_value_info("states", number, ["tokens", DIMENSION])
        found = [
            helper.make_tensor_value_info(first, number, [1, DIMENSION]),
            helper.make_tensor_value_info(tokens, number, ["tokens", DIMENSION]),
        ]
        graph = helper.make_graph(self.nodes, "fact-layers", [given], found, self.known)
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
        scores = self.node("Mul", self.node("MatMul", queries, keys), self.number((DIMENSION / HEADS) ** -0.5))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), values)
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=(1, 0, 2)), self.constant(np.array([-1, DIMENSION])))
        states = self.normalized(layer, "attended", self.node("Add", seen, self.linear(layer, "mixed", joined)))
        narrow = self.linear(layer, "narrow", self.gelu(self.linear(layer, "wide", states)))
        return self.normalized(layer, "output", self.node("Add", states, narrow))

    def by_head(self, rows: str, order: tuple[int, ...]) -> str:
        split = self.node("Reshape", rows, self.constant(np.array([-1, HEADS, DIMENSION // HEADS])))
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
