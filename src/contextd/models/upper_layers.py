"""The upper layers of the deep model, trained again to bring a question near the facts that it needs.

The lower layers are those of the model as it was published; they run once for both. The weights of the upper layers are int8
with a scale for each row, and come with the package (`python -m benchmarks.upper_layers` makes them).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from contextd.models.static import unit
from contextd.ports.world import fact_space

_HEADS = 12
_NEARLY_ZERO = 1e-12  # added to the variance, as in the published model

Float = NDArray[np.float32]


class UpperLayers:
    """The normalized vector of the first token above the trained layers. Questions and facts are embedded alike."""

    dimension = 384

    def __init__(self, deep: str, states: Callable[[str], Float]) -> None:
        self._states = states
        self.space = fact_space(deep)

    def documents(self, texts: Sequence[str]) -> Float:
        """One unit vector for each text."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return unit(np.stack([self._embed(text) for text in texts]))

    def query(self, text: str) -> Float:
        """Return the vector of a question."""
        return np.asarray(self.documents([text])[0])

    def _embed(self, text: str) -> Float:
        states = self._states(text)
        for layer in _layers():
            states = _applied(layer, states)
        return np.asarray(states[0])


def _applied(layer: Mapping[str, Float], states: Float) -> Float:
    """Return the states of all tokens above one layer: attention to each other, then each token by itself."""
    queries, keys, values = (_by_head(_linear(layer, name, states)) for name in ("query", "key", "value"))
    scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(np.float32(queries.shape[-1]))
    likely = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (likely / likely.sum(axis=-1, keepdims=True)) @ values
    seen = mixed.transpose(1, 0, 2).reshape(states.shape)
    states = _normalized(layer, "attended", states + _linear(layer, "mixed", seen))
    return _normalized(layer, "output", states + _linear(layer, "narrow", _gelu(_linear(layer, "wide", states))))


def _by_head(rows: Float) -> Float:
    return rows.reshape(len(rows), _HEADS, -1).transpose(1, 0, 2)


def _linear(layer: Mapping[str, Float], name: str, rows: Float) -> Float:
    return np.asarray(rows @ layer[f"{name}_weight"] + layer[f"{name}_bias"])


def _normalized(layer: Mapping[str, Float], name: str, rows: Float) -> Float:
    rows = rows - rows.mean(axis=1, keepdims=True)
    deviation = np.sqrt((rows * rows).mean(axis=1, keepdims=True) + _NEARLY_ZERO)
    return np.asarray(rows / deviation * layer[f"{name}_scale"] + layer[f"{name}_shift"])


def _gelu(rows: Float) -> Float:
    inside = np.float32(np.sqrt(2 / np.pi)) * (rows + np.float32(0.044715) * (rows * rows * rows))
    return np.asarray(np.float32(0.5) * rows * (1 + np.tanh(inside)))


@lru_cache(maxsize=1)
def _layers() -> list[dict[str, Float]]:
    """Load the weights that come with the package."""
    data = files("contextd.models").joinpath("learned", "upper-layers.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return [_layer(stored, f"{number}_") for number in range(int(stored["layers"]))]


def _layer(stored: Mapping[str, NDArray[np.float32]], prefix: str) -> dict[str, Float]:
    """Return the arrays of one layer. Matrices are stored as int8 rows, one for each output, with a scale."""
    found = {name.removeprefix(prefix): stored[name] for name in stored if name.startswith(prefix)}
    scales = {name.removesuffix("_by") for name in found if name.endswith("_by")}
    made = {name: np.ascontiguousarray((found[name].astype(np.float32) * found[f"{name}_by"]).T) for name in scales}
    return made | {
        name: one.astype(np.float32) for name, one in found.items() if name not in scales and not name.endswith("_by")
    }
