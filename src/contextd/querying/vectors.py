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
from contextd.ports.world import Embedder, is_fact_space, pair_space
from contextd.text.natural_language import other_script
from contextd.values.query import Plan
from contextd.values.trace import Trace

NO_MODEL = "no embedding model; searched by keywords only"
MOST_KEPT = 10_000  # vectors: 15 MB at 384 numbers each


class QueryVectors:
    """An LRU cache of query vectors. All threads of a process may share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._vectors: OrderedDict[tuple[str, bytes], NDArray[np.float32]] = OrderedDict()

    def of(self, embedder: Embedder, text: str) -> NDArray[np.float32]:
        """Return the vector of a text in the space of an embedder. The text itself is not stored.

        Vectors of a table are not kept: they take a fifth of a millisecond, and ten thousand of them ten megabytes.
        """
        if not self._most or getattr(embedder, "is_table", False):
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
    no_model: str = NO_MODEL,
) -> dict[str, NDArray[np.float32]]:
    """Return the query as a vector in every space some view has vectors in. Warns if only keywords can be used.

    `no_model` is the warning if there is no embedder.
    """
    held = {space for view in views for space, count in view.spaces.items() if count}
    found: dict[str, NDArray[np.float32]] = {}
    cache = known or QueryVectors(0)
    if other_script(plan.text):  # the deep models are English; their vectors of other scripts carry no information
        held = {space for space in held if space.startswith("static/")}
    models = embedders(held)
    fitting = [embedder for embedder in models if embedder.space in held]
    failed = False
    for embedder in fitting:
        if plan.text.strip():
            empty: NDArray[np.float32] = np.zeros(0, np.float32)
            tier = embedder.space.split("/")[0]
            vector = trace.attempt(f"embed ({tier})", lambda e=embedder: cache.of(e, plan.text), empty)  # type: ignore[misc]
            if vector.shape == (embedder.dimension,) and np.isfinite(vector).all() and vector.any():
                found[embedder.space] = vector
            failed |= not vector.size
    found |= {pair: vector for space, vector in found.items() if (pair := pair_space(space)) in held}
    if failed and not found:
        trace.warn("the query could not be embedded; searched by keywords only")
    if any(view.size for view in views):
        _warn_of_missing(views, {one.space for one in models}, no_model, trace)
    return found


def _warn_of_missing(views: Sequence[View], spaces: Collection[str], no_model: str, trace: Trace) -> None:
    """Warn if there is no model, if memories were stored without one, or if no chunk of another view has a vector."""
    if not spaces:
        trace.warn(no_model)
        return
    for view in views:
        embedded = max(view.spaces.get(space, 0) for space in spaces)
        if embedded == view.size or (embedded and "parts" not in view.fields):
            continue
        if missing := min(view.unembedded(space) for space in spaces):
            trace.warn(_missing(view, missing))


def _missing(view: View, count: int) -> str:
    """Return the warning for chunks without vectors, and the command that computes these."""
    one = count == 1
    if "parts" in view.fields:
        what, command = "memory has" if one else "memories have", "memories enrich"
    elif "turns" in view.fields:
        what, command = "chat message has" if one else "chat messages have", "chats deepen"
    else:
        what, command = "chunk of the index has" if one else "chunks of the index have", "index"
    return f"{count} {what} no vectors yet and can be found by keywords only; run `contextd {command}`"


def given(vector: NDArray[np.float32], views: Sequence[View]) -> dict[str, NDArray[np.float32]]:
    """Use the caller's vector in the spaces of its length. The caller must know which model made it.

    Raises Unavailable if the index has no vectors, and InvalidInput if the vector fits no space.
    """
    held = {space for view in views for space, count in view.spaces.items() if count and not is_fact_space(space)}
    sizes = {space: view.dimension(space) for view in views for space in held & set(view.spaces)}
    if not sizes:
        raise Unavailable("the index has no vectors; run `contextd models fetch`, then `contextd index`")
    if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
        raise InvalidInput("invalid query vector (must be one row of finite numbers, not all zero)")
    in_length = {space: vector / np.linalg.norm(vector) for space, size in sizes.items() if size == len(vector)}
    if not in_length:
        there = ", ".join(f"{size} ({space})" for space, size in sorted(sizes.items()))
        raise InvalidInput(f"no vector space has {len(vector)} dimensions; the spaces are {there}")
    return in_length
