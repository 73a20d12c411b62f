"""contextd: the right context for any AI, in the right number of tokens, from everything its user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Client", "Context", "Engine", "Hit", "Memory", "Narrow", "Reader", "Session", "__version__", "open"]

if TYPE_CHECKING:
    from contextd.app.assemble import open_session as open
    from contextd.app.session import Session
    from contextd.app.session import Session as Engine
    from contextd.surfaces.client.async_client import AsyncClient
    from contextd.surfaces.client.client import Client
    from contextd.values.answer import Context, Hit
    from contextd.values.memory import Memory
    from contextd.values.query import Narrow, Reader

# Loaded on first use: importing the package costs nothing, so that `contextd --help` starts at once.
_HOME = {
    "open": ("contextd.app.assemble", "open_session"),
    "Session": ("contextd.app.session", "Session"),
    "Engine": ("contextd.app.session", "Session"),  # its name until 0.1
    "Client": ("contextd.surfaces.client.client", "Client"),
    "AsyncClient": ("contextd.surfaces.client.async_client", "AsyncClient"),
    "Context": ("contextd.values.answer", "Context"),
    "Hit": ("contextd.values.answer", "Hit"),
    "Memory": ("contextd.values.memory", "Memory"),
    "Narrow": ("contextd.values.query", "Narrow"),
    "Reader": ("contextd.values.query", "Reader"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'contextd' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)
