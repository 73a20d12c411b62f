"""File system events, for the folders that matter and no others."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from contextd.errors import Unavailable

_LONGEST = 1.5  # maximum seconds a stream of changes is collected before it is returned
_TICK = 100  # milliseconds between polls of the library


class NativeEvents:
    """Changes in some folders of a root. Each folder is watched by itself; ignored folders are not watched."""

    def __init__(self, root: Path, folders: Collection[str], debounce_ms: int) -> None:
        from watchfiles import watch

        self._root = os.path.realpath(root)
        self._quiet = debounce_ms / 1000
        self._changes = watch(
            *(root / folder for folder in sorted(folders)),
            watch_filter=None,
            debounce=_TICK,
            step=_TICK // 2,
            rust_timeout=_TICK,
            yield_on_timeout=True,
            raise_interrupt=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        self._early = self._next()  # the library starts to listen in its first step

    def wait(self, seconds: float) -> frozenset[str]:
        """Return the changed paths below the root after a quiet moment; empty if nothing changes for `seconds`."""
        began = time.monotonic()
        gathered, self._early = self._early, frozenset()
        first = last = began
        while True:
            now = time.monotonic()
            if gathered and (now - last >= self._quiet or now - first >= _LONGEST):
                return gathered
            if not gathered and now - began >= seconds:
                return gathered
            changed = self._next()
            if changed:
                last = time.monotonic() - _TICK / 2000
                first = first if gathered else last
                gathered |= changed

    def close(self) -> None:
        """Stop listening."""
        self._changes.close()

    def _next(self) -> frozenset[str]:
        try:
            changes = next(self._changes, set())
        except OSError as error:
            raise Unavailable(f"the system cannot watch these directories ({error})") from None
        inside = len(self._root) + 1
        return frozenset(path[inside:] for _, path in changes if path.startswith(self._root + os.sep))
