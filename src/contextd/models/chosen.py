"""The models that the settings name, from the weights of a data directory or a folder of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from blake3 import blake3

from contextd.errors import InvalidInput, Unavailable
from contextd.models import weights
from contextd.ports.world import Embedder, Reranker
from contextd.settings.limits import checked_path


def static_of(home: Path, name: str) -> tuple[Embedder | None, tuple[str, ...]]:
    """The static model of that name, and a warning where it is missing."""
    if name == "none":
        return None, ()
    from contextd.models.static import Static

    folder = _model_folder(home, name)
    try:
        return Static(folder, _version(folder, name)), ()
    except (Unavailable, OSError, ValueError):
        return None, (f"no static model {name}: searching by words alone; run `contextd models fetch`",)


def deep_of(home: Path, name: str) -> Callable[[], Embedder | None]:
    """The deep model of that name, loaded when it is asked for; None where it is missing."""

    @lru_cache(maxsize=1)
    def load() -> Embedder | None:
        if name == "none":
            return None
        from contextd.models.deep import Deep

        try:
            folder = _model_folder(home, name)
            return Deep(folder, _version(folder, name))
        except Unavailable:
            return None

    return load


def reranker_of(home: Path) -> Callable[[], Reranker | None]:
    """The model that reads the best once more, loaded when it is asked for; None where it is missing."""

    @lru_cache(maxsize=1)
    def load() -> Reranker | None:
        from contextd.models.rerank import CrossEncoder

        try:
            return CrossEncoder(weights.folder_of(home, weights.MODELS["ms-marco-MiniLM-L12"]))
        except Unavailable:
            return None

    return load


def _model_folder(home: Path, name: str) -> Path:
    """A model's folder: of a known name, or the user's own."""
    if name in weights.MODELS:
        return weights.folder_of(home, weights.MODELS[name])
    folder = checked_path(name)
    if not folder.is_dir():
        raise InvalidInput(f"no model {name!r}: it is neither a folder nor one of {', '.join(sorted(weights.MODELS))}")
    return folder


def _version(folder: Path, name: str) -> str:
    """What tells two models of one name apart: a pinned one has none, of one's own the weights decide."""
    if name in weights.MODELS:
        return "1"
    digest = blake3()
    for path in sorted((*folder.glob("*.safetensors"), *folder.glob("*.onnx"))):
        digest.update_mmap(path)
    return digest.hexdigest(8)
