"""The user's data directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from contextd.errors import InvalidInput
from contextd.settings.limits import checked_path


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the user's data directory. Raises InvalidInput if CONTEXTD_HOME is not a directory."""
    if named := environment.get("CONTEXTD_HOME"):
        path = checked_path(named).absolute()
        if path.exists() and not path.is_dir():
            raise InvalidInput(f"CONTEXTD_HOME is not a directory: {path}; set it to a directory, or unset it")
        return path
    from platformdirs import user_data_path

    return user_data_path("contextd", appauthor=False)
