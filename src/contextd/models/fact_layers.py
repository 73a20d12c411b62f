"""The layers of the deep model, trained again to bring a question near the facts that it needs.

Tokens are embedded by the model as it was published; that runs once for both. The layers come with the package as a graph of
their own, with weights in int8 and a scale for each column (`python -m benchmarks.fact_layers` makes them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.models.deep import session_of_bytes
from contextd.models.static import unit
from contextd.ports.world import fact_space

_VERSION = 3  # of the weights: vectors of other weights are in another space

Float = NDArray[np.float32]


class FactLayers:
    """The normalized vector of the first token above the trained layers. Questions and facts are embedded alike."""

    dimension = 384

    def __init__(self, deep: str, states: Callable[[str], Float], folder: Path) -> None:
        self._states, self._folder = states, folder
        self.space = f"{fact_space(deep)}.{_VERSION}"

    def documents(self, texts: Sequence[str]) -> Float:
        """One unit vector for each text."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return unit(np.stack([self._embed(text) for text in texts]))

    def query(self, text: str) -> Float:
        """Return the vector of a question."""
        return np.asarray(self.documents([text])[0])

    def _embed(self, text: str) -> Float:
        (vector,) = _session(self._folder).run(None, {"states": self._states(text)})
        return np.asarray(vector[0], np.float32)


_LOADED: dict[int, Any] = {}  # by version; one for all data directories of the process: the layers come with the package


def _session(folder: Path) -> Any:
    """Load the layers once; their optimized copy is kept in the folder of the deep model."""
    if _VERSION not in _LOADED:
        with as_file(files("contextd.models").joinpath("learned", "fact-layers.onnx")) as path:
            stat = path.stat()
            version = f"{stat.st_size}-{stat.st_mtime_ns}"
            _LOADED[_VERSION] = session_of_bytes(folder, "fact-layers", version, path.read_bytes)
    return _LOADED[_VERSION]
