"""Check the tables of settings whose keys are chosen by the user: templates, plug-ins, projects, upstreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contextd.errors import InvalidInput
from contextd.settings.defaults import Upstream
from contextd.settings.other_keys import BUILT_IN

_UPSTREAM = {"url": (str, "a text"), "key_env": (str, "a text"), "remote": (bool, "true or false")}


def templates(value: Any, origin: str) -> dict[str, str]:
    """Check the user's own templates: a text by name."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InvalidInput(f"{origin}: templates must be a table of texts")
    return dict(value)


def _providers(value: Any, origin: str) -> dict[str, dict[str, Any]]:
    """Check the tables of plug-ins by name; each has its own settings besides `enabled` and `weight`."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise InvalidInput(f"{origin}: providers must be tables, such as [context.providers.name]")
    for name, table in value.items():
        weight = table.get("weight", 1.0)
        if not isinstance(table.get("enabled", True), bool):
            raise InvalidInput(f"{origin}: providers.{name}.enabled must be true or false")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 100:
            raise InvalidInput(f"{origin}: providers.{name}.weight must be a number from 0 to 100")
        if name in BUILT_IN and (unknown := sorted(set(table) - {"enabled", "weight"})):
            raise InvalidInput(
                f"{origin}: unknown setting 'providers.{name}.{unknown[0]}'; the settings are enabled and weight"
            )
    return dict(value)


def _embedders(value: Any, origin: str) -> dict[str, dict[str, Any]]:
    """Check the tables of embedders by name; their settings are known to the plug-in only."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise InvalidInput(f"{origin}: embedders must be tables, such as [context.embedders.name]")
    return dict(value)


def _projects(value: Any, origin: str) -> dict[str, str]:
    """Check folders by name: `app = "~/code/app"`."""
    if not isinstance(value, dict) or not all(isinstance(path, str) and path for path in value.values()):
        raise InvalidInput(f'{origin}: projects must map names to directories, such as app = "~/code/app"')
    return dict(value)


def _upstreams(value: Any, origin: str) -> dict[str, Upstream]:
    """Check the upstreams of the proxy by name: `[context.proxy.upstreams.ollama]` with url, key_env and remote."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise InvalidInput(f"{origin}: proxy.upstreams must be tables, such as [context.proxy.upstreams.ollama]")
    for name, table in value.items():
        if unknown := sorted(set(table) - set(_UPSTREAM)):
            known = "the settings are url, key_env and remote"
            raise InvalidInput(f"{origin}: unknown setting 'proxy.upstreams.{name}.{unknown[0]}'; {known}")
        for key, given in table.items():
            kind, shown = _UPSTREAM[key]
            if not isinstance(given, kind):
                raise InvalidInput(f"{origin}: proxy.upstreams.{name}.{key} must be {shown}")
        if not table.get("url", "").startswith(("http://", "https://")):
            raise InvalidInput(f"{origin}: proxy.upstreams.{name}.url must begin with http:// or https://")
    return {name: Upstream(**table) for name, table in value.items()}


def _aliases(value: Any, origin: str) -> dict[str, str]:
    """Check the names of models for clients: `fast = "ollama/llama3.2"`."""
    if not isinstance(value, dict) or not all(isinstance(target, str) and target for target in value.values()):
        raise InvalidInput(f'{origin}: proxy.aliases must map names to models, such as fast = "ollama/llama3.2"')
    return dict(value)


TABLES: Mapping[str, Callable[[Any, str], dict[str, Any]]] = {
    "providers": _providers,
    "embedders": _embedders,
    "projects": _projects,
    "proxy.upstreams": _upstreams,
    "proxy.aliases": _aliases,
}
