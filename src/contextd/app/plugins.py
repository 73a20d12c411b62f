"""Load plug-in retrievers and embedders by entry points, with the user's settings. Failing ones are skipped.

An entry point of the group `contextd.retrievers` or `contextd.embedders` is a factory. Called with its own table of settings,
it returns a retriever or an embedder, or raises `Unavailable`. Only plug-ins that the user's configuration names are loaded; a
project cannot enable one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.ports.world import Embedder, Matrix, Retriever

GROUP = "contextd.retrievers"
EMBEDDERS = "contextd.embedders"


def load(settings: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, tuple[float, Retriever]], tuple[str, ...]]:
    """Return the enabled retrievers with their weights, and warnings."""
    wanted = {name: table for name, table in settings.items() if table.get("enabled", True)}
    if not wanted:
        return {}, ()
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    found: dict[str, tuple[float, Retriever]] = {}
    warnings = []
    for name, table in wanted.items():
        if name not in known:
            warnings.append(f"retriever {name!r} is not installed; installed retrievers: {', '.join(sorted(known)) or 'none'}")
            continue
        own = {key: value for key, value in table.items() if key not in ("enabled", "weight")}
        try:
            found[name] = (float(table.get("weight", 1.0)), known[name].load()(own))
        except Unavailable as error:
            warnings.append(f"retriever {name}: {error}")
        except Exception as error:  # a plug-in may raise anything
            warnings.append(f"retriever {name} cannot be loaded ({type(error).__name__}: {error})")
    return found, tuple(warnings)


def load_embedder(name: str, settings: Mapping[str, Any], tier: str) -> Embedder:
    """Return the embedder of that name in a tier, static or deep. Raises Unavailable if it is missing or broken."""
    known = {entry.name: entry for entry in entry_points(group=EMBEDDERS)}
    if name not in known:
        raise Unavailable(f"embedder {name!r} is not installed; installed embedders: {', '.join(sorted(known)) or 'none'}")
    found: Embedder = _attempted(name, lambda: Plugged(name, known[name].load()(dict(settings)), tier))
    return found


def _attempted(name: str, action: Callable[[], Any]) -> Any:
    """Call a plug-in. Raises Unavailable for any exception."""
    try:
        return action()
    except Unavailable:
        raise
    except Exception as error:  # a plug-in may raise anything
        raise Unavailable(f"embedder {name} failed ({type(error).__name__}: {error})") from error


class Plugged:
    """A plug-in embedder in a space of its own, with vectors normalized to length one."""

    def __init__(self, name: str, inner: Any, tier: str) -> None:
        self._name, self._inner = name, inner
        self.dimension = int(inner.dimension)
        self.space = f"{tier}/{name}/{self.dimension}/{inner.space}"

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text."""
        return _unit(_attempted(self._name, lambda: np.asarray(self._inner.documents(list(texts)), np.float32)))

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return _unit(_attempted(self._name, lambda: np.asarray(self._inner.query(text), np.float32)))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalize rows to length one. A row without a finite length becomes zero, as for a text without known words."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 0)
    return np.where(usable, vectors / np.where(usable, lengths, 1.0), 0.0).astype(np.float32)
