"""Load the models named in the settings, from the data directory or a folder of the user."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from blake3 import blake3

from contextd.errors import InvalidInput, Unavailable
from contextd.models import weights
from contextd.ports.world import Embedder, Reranker
from contextd.settings.limits import checked_path


class LocalModels:
    """The models of a data directory, each loaded once for all threads. A missing model is looked for again on each call."""

    def __init__(self, home: Path) -> None:
        self._home, self._lock = home, threading.Lock()
        self._static: dict[str, Embedder] = {}
        self._deep: dict[str, Embedder] = {}
        self._reranker: Reranker | None = None

    def static(self, name: str) -> tuple[Embedder | None, tuple[str, ...]]:
        """Return the static model of that name, or None and a warning if it is missing."""
        if name == "none":
            return None, ()
        from contextd.models.static import Static

        folder = _model_folder(self._home, name)
        try:
            with self._lock:
                if name not in self._static:
                    self._static[name] = Static(folder, _version(folder, name))
                return self._static[name], ()
        except (Unavailable, OSError, ValueError):
            return None, (f"static model {name} is not installed; searching by keywords only. Run `contextd models fetch`",)

    def deep(self, name: str) -> Callable[[], Embedder | None]:
        """Return a function that loads the deep model of that name on first use, and returns None if it is missing."""

        def load() -> Embedder | None:
            if name == "none":
                return None
            from contextd.models.deep import Deep

            with self._lock, suppress(Unavailable):
                if name not in self._deep:
                    folder = _model_folder(self._home, name)
                    self._deep[name] = Deep(folder, _version(folder, name))
                return self._deep[name]
            return None

        return load

    def reranker(self) -> Reranker | None:
        """Return the reranking model; None if it is missing."""
        from contextd.models.rerank import CrossEncoder

        with self._lock, suppress(Unavailable):
            if self._reranker is None:
                self._reranker = CrossEncoder(weights.folder_of(self._home, weights.MODELS["ms-marco-MiniLM-L12"]))
        return self._reranker


def _model_folder(home: Path, name: str) -> Path:
    """Return the folder of a model: a known name, or the user's own folder. Raises InvalidInput."""
    if name in weights.MODELS:
        return weights.folder_of(home, weights.MODELS[name])
    folder = checked_path(name)
    if not folder.is_dir():
        raise InvalidInput(f"no such model: {name!r} (must be a directory or one of {', '.join(sorted(weights.MODELS))})")
    return folder


def _version(folder: Path, name: str) -> str:
    """Return the version of a model: "1" for a pinned model, a hash of the weights for the user's own."""
    if name in weights.MODELS:
        return "1"
    digest = blake3()
    for path in sorted((*folder.glob("*.safetensors"), *folder.glob("*.onnx"))):
        digest.update_mmap(path)
    return digest.hexdigest(8)
