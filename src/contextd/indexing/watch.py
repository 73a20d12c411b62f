"""Watching a project: hints of changes become small runs, and a scan of everything, now and then, is the truth.

Events are hints. They get lost when a burst overflows the system's queue or while this process is stopped, so a burst, a gap
in time, a changed ignore file or folder, and every few minutes all lead to a scan of everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from contextd.errors import ContextdError, Unavailable
from contextd.ports import Events, Source

BURST = 200  # paths at once: a scan is cheaper and misses nothing
_WAIT = 1.0  # seconds for which nothing need happen
_AGAIN = 0.4  # seconds until a path that is gone is looked for again
_GAP = 5.0  # seconds that such a wait took: this process was stopped, or the machine slept
_AWAY = 2.0  # seconds between two looks for a place that is gone
_BOUNDARIES = (".gitignore", ".contextignore", ".dockerignore")


@dataclass(slots=True)
class Hooks:
    """What watching needs done: `some` takes paths; `jobs` is called every turn, `idle` when nothing else is to be done."""

    arm: Callable[[Collection[str]], Events]
    some: Callable[[Collection[str]], None]
    everything: Callable[[], None]
    jobs: Callable[[], None]
    idle: Callable[[], None]
    stop: Callable[[], bool]
    say: Callable[[str], None]


@dataclass(slots=True)
class Watch:
    """One project under watch."""

    source: Source
    hooks: Hooks
    every: float = 300.0
    _events: Events | None = None
    _folders: frozenset[str] = frozenset()
    _missing: set[str] = field(default_factory=set)
    _last_scan: float = 0.0
    _after_burst: bool = False
    _polling: bool = False

    def run(self) -> None:
        """Until told to stop."""
        try:
            self._everything()
            while not self.hooks.stop():
                self._turn()
        finally:
            self._disarm()

    def _turn(self) -> None:
        if not self.source.present(""):
            self._away()
            return
        self._try(self.hooks.jobs)
        began = time.monotonic()
        changed = self._wait()
        paused = time.monotonic() - began > _GAP
        overdue = time.monotonic() - self._last_scan > (min(self.every, _AWAY) if self._polling else self.every)
        if changed or self._missing:
            self._some(changed)
        elif self._after_burst or overdue or paused:
            self._everything()
        else:
            self._try(self.hooks.idle)
        self._after_burst |= paused

    def _wait(self) -> frozenset[str]:
        """What changed; a path that may be gone is not waited for long."""
        seconds = _AGAIN if self._missing else _WAIT
        if self._events is None:
            time.sleep(seconds)
            return frozenset()
        return self._events.wait(seconds)

    def _some(self, changed: frozenset[str]) -> None:
        """A path that is gone is believed the second time: editors take a file away and put another in its place."""
        gone = {path for path in changed | self._missing if not self.source.present(path)}
        sure = gone & self._missing
        self._missing = gone - sure
        ready = (changed - gone) | sure
        if len(ready) > BURST or any(self._touches_more(path) for path in ready):
            self._after_burst = len(ready) > BURST
            self._everything()
        elif ready:
            self._try(lambda: self.hooks.some(ready))

    def _touches_more(self, path: str) -> bool:
        """Whether more than this one path may have changed: a folder, or a file that says what belongs."""
        return path.rpartition("/")[2] in _BOUNDARIES or path in self._folders or self.source.is_folder(path)

    def _everything(self) -> None:
        """Listen first, then scan, so that nothing falls between; again while the scan finds new folders."""
        self._after_burst = False
        for _ in range(5):
            folders = self.source.folders()
            if folders == self._folders and (self._events is not None or self._polling):
                break
            self._arm(folders)
        self._try(self.hooks.everything)
        self._last_scan = time.monotonic()

    def _arm(self, folders: frozenset[str]) -> None:
        self._disarm()
        self._folders = folders
        try:
            self._events = self.hooks.arm(folders)
            self._polling = False
        except Unavailable as error:
            if not self._polling:
                self.hooks.say(f"{error}; looking at all files every {_AWAY:g} s instead")
            self._polling = True

    def _away(self) -> None:
        """The place is gone: what is known of it stays, and watching goes on when it is back."""
        self.hooks.say("the folder is gone; its index stays, and watching goes on when it is back")
        self._disarm()
        while not self.source.present("") and not self.hooks.stop():
            time.sleep(_AWAY / 4)
        if not self.hooks.stop():
            self.hooks.say("the folder is back")
            self._everything()

    def _try(self, work: Callable[[], None]) -> None:
        """A run that fails is told and tried again by the next scan."""
        try:
            work()
        except ContextdError as error:
            self.hooks.say(f"{error}; trying again")
            self._after_burst = True
            time.sleep(1.0)

    def _disarm(self) -> None:
        if self._events is not None:
            self._events.close()
        self._events = None
        self._folders = frozenset()
