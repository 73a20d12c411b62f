"""The layers of the deep model, trained again for facts: to bring a question near those that it needs, and to tag them.

Tokens are embedded by the model as it was published. Both kinds of layers come with the package as graphs of their own, with
weights in int8 and a scale for each column (`python -m benchmarks.fact_layers` and `benchmarks.fact_tagger` make them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.models.deep import session_of_bytes
from contextd.models.static import unit
from contextd.models.wordpiece import Pieces, places_of
from contextd.ports.world import TaggedText, fact_space, tagger_space

_VERSION = 5  # of the layers that embed: vectors of other weights are in another space
_LAYERS, _TAGGER = "fact-layers", "fact-tagger"

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
        return unit(np.stack([_run(_LAYERS, self._folder, self._states(text))[0][0] for text in texts]))

    def query(self, text: str) -> Float:
        """Return the vector of a question."""
        return np.asarray(self.documents([text])[0])


class FactTagger:
    """Tells what a fact is as a whole, and what each of its words is to it."""

    def __init__(self, deep: str, states: Callable[[str], Float], pieces: Pieces, folder: Path) -> None:
        self._states, self._pieces, self._folder = states, pieces, folder
        self.space = tagger_space(deep)

    def tag(self, text: str, starts: Sequence[int]) -> TaggedText:
        """Return the vector of a text and the states of its words below the last layer; zeros for a word beyond its end."""
        first, states = _run(_TAGGER, self._folder, self._states(text))
        places = [place if place < len(states) - 1 else -1 for place in places_of(text, starts, self._pieces)]
        rows = [states[place] if place > 0 else np.zeros(states.shape[1], np.float32) for place in places]
        return TaggedText(unit(first)[0], np.asarray(rows, np.float32))


_LOADED: dict[str, Any] = {}  # one of each for all data directories of the process: they come with the package


def _run(name: str, folder: Path, states: Float) -> tuple[Float, Float]:
    """Return the state of the first token above the layers, as a row, and those of all tokens below the last of them."""
    try:
        first, tokens = _session(name, folder).run(None, {"states": states})
    except ValueError as error:  # the optimized copy is of another model
        raise Unavailable(f"cannot run {name} ({error}); run `contextd models verify`") from None
    if not np.isfinite(first).all():
        raise Unavailable(f"{name} gives vectors that are no numbers; run `contextd models verify`")
    return np.asarray(first, np.float32), np.asarray(tokens, np.float32)


def _session(name: str, folder: Path) -> Any:
    """Load a graph once; its optimized copy is kept in the folder of the deep model."""
    if name not in _LOADED:
        try:
            with as_file(files("contextd.models").joinpath("learned", f"{name}.onnx")) as path:
                stat = path.stat()
                _LOADED[name] = session_of_bytes(folder, name, f"{stat.st_size}-{stat.st_mtime_ns}", path.read_bytes)
        except OSError as error:
            raise Unavailable(f"cannot load {name} ({error.strerror}); install contextd again") from None
    return _LOADED[name]
