"""Change one setting in a settings file; comments and everything else in it stay."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextd.errors import InvalidInput, StorageError
from contextd.settings import config
from contextd.settings.permissions import make_folder, replace_file


def set_value(path: Path, key: str, text: str, *, trusted: bool) -> Any:
    """Set a dotted key to the parsed value of a text, and return the value. Raises InvalidInput if it would not load.

    `trusted` is true for the user's own file. A project's file cannot set everything.
    """
    value = config.value_from(key, text, str(path), trusted=trusted)
    _loaded(path, trusted)
    _put(path, key.split("."), value, trusted)
    return value


def set_table(path: Path, keys: Sequence[str], values: Mapping[str, Any]) -> None:
    """Set a table of the user's own file, given by the names of the tables around it and its own. Raises InvalidInput."""
    _loaded(path, True)
    _put(path, keys, dict(values), True)


def unset(path: Path, keys: Sequence[str], *, trusted: bool, table_too: bool = False) -> bool:
    """Remove a setting, given by the names of the tables around it and its own. Returns whether it was there.

    With `table_too` it may be a table with settings of its own.
    """
    _loaded(path, trusted)

    def remove(document: Any) -> bool:
        table: Any = document
        for name in ("context", *keys[:-1]):
            table = table.get(name) if isinstance(table, dict) else None
        if not isinstance(table, dict) or keys[-1] not in table or (isinstance(table[keys[-1]], dict) and not table_too):
            return False
        del table[keys[-1]]
        return True

    return path.exists() and _changed(path, remove, trusted)


def _put(path: Path, keys: Sequence[str], value: Any, trusted: bool) -> None:
    import tomlkit

    def put(document: Any) -> bool:
        table: Any = document
        for name in ("context", *keys[:-1]):
            table = table.setdefault(name, tomlkit.table(is_super_table=name == "context"))
        table[keys[-1]] = value
        return True

    _changed(path, put, trusted)


def _changed(path: Path, change: Callable[[Any], bool], trusted: bool) -> bool:
    """Change the document of a file, which is written if `change` returns true. Returns the same."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
        if done := change(document):
            _write(path, tomlkit.dumps(document), trusted)
        return done
    except TOMLKitError as error:
        raise InvalidInput(f"cannot change {path}: {error}") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; check the permissions of the directory") from None


def _write(path: Path, text: str, trusted: bool) -> None:
    """Replace the file, after checking that the new one loads."""
    make_folder(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
    replace_file(path, text, mode, lambda fresh: _loaded(fresh, trusted))


def _loaded(path: Path, trusted: bool) -> None:
    config.load(path if trusted else None, None if trusted else path, {})
