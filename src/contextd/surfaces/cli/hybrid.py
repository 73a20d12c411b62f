"""Which process answers a command: the service if it runs, else this one. Loads little: every query comes through here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from contextd import __version__
from contextd.errors import Unavailable
from contextd.surfaces.cli.show import note
from contextd.surfaces.client.http_connection import connected

if TYPE_CHECKING:
    from contextd.app.serving import Running
    from contextd.surfaces.client.client import Client

_CONNECT = 0.5  # seconds to reach a service on this machine


def client(project: str | None, reader: str, also: Sequence[str] = ()) -> Client | None:
    """Return a client of the running service; None if this process is to answer. Raises `Unavailable`."""
    from contextd.app.serving import running
    from contextd.settings.data_directory import home

    asked = click.get_current_context().find_root().meta.get("contextd.mode")
    if asked == "embedded" or (asked is None and _has_own_settings()):
        return None
    known = running(home())
    if known is not None and known.version != __version__ and asked is None:
        note(f"the service runs version {known.version}, this is {__version__}; run `contextd stop`, then start it again")
        return None
    reached = known is not None and known.url.startswith("http:") and _reaches(known.url)  # a certificate names another host
    mode, seconds, retries = _manner(home(), known if reached else None)
    mode = asked or mode
    if mode == "embedded":
        return None
    if known is None or not reached:
        if mode == "standalone":
            raise Unavailable("the service is not running; start it with `contextd serve --background`, or use --embedded")
        return None
    from contextd.surfaces.client.client import Client

    others = [_place(one) or "" for one in also]
    who = None if reader == "owner" else reader
    return Client(project=_place(project), also=others, reader=who, home=home(), timeout=seconds, retries=retries)


def _manner(home: Path, known: Running | None) -> tuple[str, float, int]:
    """Return the mode, and the time-out in seconds and the retries of a client.

    The service has published them. The settings are loaded only if there is no service, or if their file has changed since.
    """
    file = home / "config.toml"
    if known is not None and (not file.exists() or file.stat().st_mtime < known.started):
        return known.mode, known.timeout_ms / 1000, known.retry_attempts
    from contextd.settings import config

    settings = config.load(file, None, os.environ).settings
    return settings.mode, settings.engine.timeout_ms / 1000, settings.engine.retry_attempts


def _has_own_settings() -> bool:
    """Return whether the environment sets a setting, which the service would not know."""
    return any(name.startswith("CONTEXTD_") and "__" in name for name in os.environ)


def _reaches(url: str) -> bool:
    parts = urlsplit(url)
    try:
        connected(parts.hostname or "", parts.port or 0, _CONNECT).close()
    except OSError:
        return False
    return True


def _place(project: str | None) -> str | None:
    """Return the folder of a project, in full; a name of the settings as it is."""
    from contextd.app.root import checked_root, find_root

    if project is None:
        return None
    path = Path(project).expanduser()
    if project != "." and not path.is_absolute() and not path.exists():
        return project
    return str(checked_root(find_root(path) if project == "." else path))
