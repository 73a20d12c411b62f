"""The embedding models of a session: of the data directory, a folder, a plug-in, or a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextd.app.consent import may_leave
from contextd.app.engines import embedder_of
from contextd.errors import Unavailable
from contextd.ports.world import Embedder
from contextd.settings.defaults import Embedding, Settings

if TYPE_CHECKING:
    from contextd.app.home import Home

_NOT_THERE = "embedding.memories is for servers on this machine; memories and chats are not embedded by {}"
_PLUGIN = "plugin:"  # prefix of the name of an embedder plug-in


class DeepModel(NamedTuple):
    """A function that loads the deep model, another for memories and chats if theirs differs, and warnings."""

    load: Callable[[], Embedder | None]
    of_record: Callable[[], Embedder | None] | None = None
    warnings: tuple[str, ...] = ()


def static_model(home: Home, settings: Settings) -> tuple[Embedder | None, tuple[str, ...]]:
    """Return the static model, or None and a warning if it is missing."""
    name = settings.embedding.model
    if not name.startswith(_PLUGIN):
        return home.models.static(name)
    from contextd.app.plugins import load_embedder

    try:
        return load_embedder(name.removeprefix(_PLUGIN), settings.embedders.get(name.removeprefix(_PLUGIN), {}), "static"), ()
    except Unavailable as error:
        return None, (f"{error}; searching by keywords only",)


def deep_model(home: Home, settings: Settings, root: Path | None) -> DeepModel:
    """Return the deep model for a project. A remote one is for projects that the user named, without private folders.

    The model of a server embeds files alone, unless the settings say otherwise: which facts matter was fitted with our own.
    """
    name = settings.embedding.deep_model
    if name.startswith(_PLUGIN):
        return DeepModel(_plugged(name.removeprefix(_PLUGIN), settings))
    if (found := embedder_of(settings.embedding)) is None:
        return DeepModel(home.models.deep(name))
    embedder, remote = found
    own, why = home.models.deep(Embedding().deep_model), _refused(settings, root) if remote else ""
    if why:
        return DeepModel(lambda: None, own, (f"the model {name} is on another machine, and {why}",) if root else ())
    if settings.embedding.memories and not remote:
        return DeepModel(lambda: _answering(embedder))
    warnings = (_NOT_THERE.format(name),) if settings.embedding.memories else ()
    return DeepModel(lambda: _answering(embedder), own, warnings)


def _refused(settings: Settings, root: Path | None) -> str:
    """Return why texts of a project must not leave the machine; empty if they may."""
    if root is None or not may_leave(settings.privacy.remote_models, root.name, root):
        return "privacy.remote_models does not name this project; it is searched without it"
    return "this project has private folders (privacy.paths); it is searched without it" if settings.privacy.paths else ""


def _answering(embedder: Embedder) -> Embedder | None:
    """Return an embedder if its server answers; its space is known only then."""
    try:
        return embedder if embedder.dimension else None
    except Unavailable:
        return None


def _plugged(own: str, settings: Settings) -> Callable[[], Embedder | None]:
    @lru_cache(maxsize=1)
    def load() -> Embedder | None:
        from contextd.app.plugins import load_embedder

        try:
            return load_embedder(own, settings.embedders.get(own, {}), "deep")
        except Unavailable:
            return None

    return load
