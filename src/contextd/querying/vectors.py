"""The query as a vector in every space some view has vectors in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from contextd.errors import InvalidInput, Unavailable
from contextd.ports.store import View
from contextd.ports.world import Embedder, pair_space
from contextd.text.natural_language import other_script
from contextd.values.query import Plan
from contextd.values.trace import Trace

MOST_KEPT = 10_000  # vectors: 15 MB at 384 numbers each


class QueryVectors:
    """An LRU cache of query vectors. All threads of a process may share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._vectors: OrderedDict[tuple[str, bytes], NDArray[np.float32]] = OrderedDict()

    def of(self, embedder: Embedder, text: str) -> NDArray[np.float32]:
        """Return the vector of a text in the space of an embedder. The text itself is not stored."""
        if not self._most:
            return embedder.query(text)
        key = embedder.space, blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if (known := self._vectors.get(key)) is not None:
                self._vectors.move_to_end(key)
                return known
        vector = embedder.query(text)
        vector.flags.writeable = False
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)
        return vector


def vectors_of(
    views: Sequence[View],
    plan: Plan,
    embedders: Callable[[Collection[str]], Sequence[Embedder]],
    trace: Trace,
    known: QueryVectors | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Return the query as a vector in every space some view has vectors in. Warns if only keywords can be used."""
    held = {space for view in views for space, count in view.spaces.items() if count}
    found: dict[str, NDArray[np.float32]] = {}
    cache = known or QueryVectors(0)
    if other_script(plan.text):  # the deep models are English; their vectors of other scripts carry no information
        held = {space for space in held if space.startswith("static/")}
    fitting = [embedder for embedder in embedders(held) if embedder.space in held]
    without = not fitting
    for embedder in fitting:
        if plan.text.strip():
            empty: NDArray[np.float32] = np.zeros(0, np.float32)
            tier = embedder.space.split("/")[0]
            vector = trace.attempt(f"embed ({tier})", lambda e=embedder: cache.of(e, plan.text), empty)  # type: ignore[misc]
            if vector.shape == (embedder.dimension,) and np.isfinite(vector).all() and vector.any():
                found[embedder.space] = vector
            without |= not vector.size
    found |= {pair: vector for space, vector in found.items() if (pair := pair_space(space)) in held}
    if without and not found and any(view.size for view in views):
        trace.warn(
            "no embedding model or no vectors available; searched by keywords only. Run `contextd models` to see the models"
        )
    return found


def given(vector: NDArray[np.float32], views: Sequence[View]) -> dict[str, NDArray[np.float32]]:
    """Use the caller's vector in the spaces of its length. The caller must know which model made it.

    Raises Unavailable if the index has no vectors, and InvalidInput if the vector fits no space.
    """
    sizes = {space: view.dimension(space) for view in views for space, count in view.spaces.items() if count}
    if not sizes:
        raise Unavailable("the index has no vectors; run `contextd models fetch`, then `contextd index`")
    if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
        raise InvalidInput("invalid query vector (must be one row of finite numbers, not all zero)")
    in_length = {space: vector / np.linalg.norm(vector) for space, size in sizes.items() if size == len(vector)}
    if not in_length:
        there = ", ".join(f"{size} ({space})" for space, size in sorted(sizes.items()))
        raise InvalidInput(f"no vector space has {len(vector)} dimensions; the spaces are {there}")
    return in_length
