"""Inference servers and local language models: wired from the settings, found on this machine, made ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from contextd.app.upstreams import PRESETS, base_url, is_remote
from contextd.errors import InvalidInput, Unavailable
from contextd.models import weights
from contextd.ports.engines import Chat, PullProgress
from contextd.settings.defaults import Embedding, LanguageModel, Upstream

if TYPE_CHECKING:
    from contextd.app.home import Home
    from contextd.models.ollama import Ollama
    from contextd.models.openai_server import OpenaiServer
    from contextd.ports.world import Embedder

READY, MISSING, AWAY = "ready", "model is missing", "not running"
_SERVERS = ("ollama", "openai")


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine on this machine or in the settings: what it is for, and whether it can be used."""

    engine: str
    url: str  # or the file of a local model
    use: str  # settings that name it; empty if it was found only
    model: str
    state: str
    models: tuple[str, ...] = ()
    remote: bool = False


def server(
    engine: str, url: str, model: str, key_env: str, environment: Mapping[str, str] = os.environ
) -> Ollama | OpenaiServer:
    """Return a model of a server, by its engine. Raises InvalidInput."""
    from contextd.models.engine_http import EngineHttp
    from contextd.models.ollama import URL, Ollama
    from contextd.models.openai_server import OpenaiServer

    if engine == "openai" and not url:
        raise InvalidInput("the engine openai needs the URL of a server, such as http://127.0.0.1:8080/v1")
    place = url.rstrip("/").removesuffix("/v1") or URL if engine == "ollama" else base_url(url)
    parts = urlsplit(place)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"the URL of a model server must begin with http:// or https://, not {url[:60]!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidInput("the URL of a model server has no user name, query or fragment; name its key with key_env")
    http = EngineHttp(place, is_remote(Upstream(place)), environment.get(key_env, "") if key_env else "")
    return Ollama(http, model) if engine == "ollama" else OpenaiServer(http, model)


def chat_of(settings: LanguageModel, home: Home) -> Chat | None:
    """Return the language model of the settings, one for all sessions of a data directory; None if there is none."""
    if settings.engine == "none":
        return None
    key = (settings.engine, settings.url, settings.model, settings.key_env)
    if (known := home.chats.get(key)) is None:
        known = home.chats.setdefault(key, _chat(settings, home.path))
    return known


def _chat(settings: LanguageModel, home: Path) -> Chat:
    if settings.engine in _SERVERS:
        return server(settings.engine, settings.url, settings.model, settings.key_env)
    from contextd.sandbox.gguf import GgufChat

    return GgufChat(local_file(settings.model, home))


def local_file(name: str, home: Path) -> Path:
    """Return the GGUF file of a local model: one that `contextd models` knows, or a path."""
    if name in weights.MODELS and weights.MODELS[name].tier == weights.CHAT:
        return weights.folder_of(home, weights.MODELS[name]) / weights.MODELS[name].files[0].name
    return Path(name).expanduser()


def embedder_of(settings: Embedding) -> tuple[Embedder, bool] | None:
    """Return the embedder for a deep model such as "ollama:NAME", and whether it is remote; None for other models."""
    engine, colon, model = settings.deep_model.partition(":")
    if not colon or engine not in _SERVERS:
        return None
    from contextd.models.engine_embedder import EngineEmbedder

    made = server(engine, settings.url, model, settings.key_env)
    return EngineEmbedder(made), made.remote


def engine_states(llm: LanguageModel, embedding: Embedding, home: Path) -> Iterator[EngineState]:
    """Yield the engines that the settings name, then others that answer at their usual address on this machine."""
    seen = set[str]()
    if llm.engine == "local":
        file = local_file(llm.model, home)
        yield EngineState("local", str(file), "llm", file.name, READY if file.is_file() else MISSING)
    elif llm.engine != "none":
        one = server(llm.engine, llm.url, llm.model, llm.key_env)
        seen.add(one.http.url)
        yield _state(one, llm.engine, "llm")
    engine, colon, model = embedding.deep_model.partition(":")
    if colon and engine in _SERVERS:
        one = server(engine, embedding.url, model, embedding.key_env)
        seen.add(one.http.url)
        yield _state(one, engine, "embedding")
    for name, preset in PRESETS.items():
        if not is_remote(preset):
            found = server("ollama" if name == "ollama" else "openai", preset.url, "", "")
            if found.http.url not in seen and found.is_running():
                yield _state(found, name, "")


def _state(one: Ollama | OpenaiServer, engine: str, use: str) -> EngineState:
    try:
        models = tuple(one.models())
        state = READY if not one.model or one.has(one.model) else MISSING
    except Unavailable:
        models, state = (), AWAY
    return EngineState(engine, one.http.url, use, one.model, state, models, one.remote)


def make_ready(llm: LanguageModel, embedding: Embedding, name: str, progress: Callable[[PullProgress], None]) -> list[str]:
    """Pull a model, or every model of the settings that its Ollama lacks. Returns what was pulled. Raises `Unavailable`."""
    from contextd.models.ollama import Ollama

    wanted = [(llm.engine, llm.url, name or llm.model, llm.key_env)]
    engine, colon, model = embedding.deep_model.partition(":")
    if colon and not name:
        wanted.append((engine, embedding.url, model, embedding.key_env))
    pulled = list[str]()
    servers = [server(*one) for one in wanted if one[0] in _SERVERS and one[2]]
    if name and not servers:
        servers = [server("ollama", "", name, "")]
    for one in servers:
        if one.has(one.model):
            continue
        if not isinstance(one, Ollama):
            raise Unavailable(f"the server at {one.http.url} has no model {one.model}, and cannot download models by itself")
        one.pull(one.model, progress)
        pulled.append(one.model)
    return pulled
