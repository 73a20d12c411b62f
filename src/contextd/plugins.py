"""Retrievers of others: found by their entry points, made with the user's settings, left out with a warning when they fail.

An entry point of the group `contextd.retrievers` is a factory: called with its own table of settings it returns a retriever, or
raises `Unavailable`. Only what the user's configuration names is loaded; a project cannot switch a plug-in on.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from contextd.errors import Unavailable
from contextd.ports import Retriever

GROUP = "contextd.retrievers"


def load(settings: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, tuple[float, Retriever]], tuple[str, ...]]:
    """The retrievers that are switched on, with their weights, and what to warn about."""
    wanted = {name: table for name, table in settings.items() if table.get("enabled", True)}
    if not wanted:
        return {}, ()
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    found: dict[str, tuple[float, Retriever]] = {}
    warnings = []
    for name, table in wanted.items():
        if name not in known:
            warnings.append(f"no retriever {name!r} is installed; there are {', '.join(sorted(known)) or 'none'}")
            continue
        own = {key: value for key, value in table.items() if key not in ("enabled", "weight")}
        try:
            found[name] = (float(table.get("weight", 1.0)), known[name].load()(own))
        except Unavailable as error:
            warnings.append(f"retriever {name}: {error}")
        except Exception as error:  # a plug-in may raise anything
            warnings.append(f"retriever {name} cannot be loaded ({type(error).__name__}: {error})")
    return found, tuple(warnings)
