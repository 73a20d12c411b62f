"""Watching a project: hints of changes become small runs, and a scan of everything, now and then, is the truth.

Events are hints. They get lost when a burst overflows the system's queue or while this process is stopped, so a burst, a gap
in time, a changed ignore file or folder, and every few minutes all lead to a scan of everything. A file that is written all the
time, such as a log, is indexed less and less often, and less often still when indexing it takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from contextd.errors import ContextdError, LeaseLost, Unavailable
from contextd.ports.world import Events, Source

BURST = 200  # paths at once: a scan is cheaper and misses nothing
_WAIT = 1.0  # seconds for which nothing need happen
_AGAIN = 0.4  # seconds until a path that is gone is looked for again
_GAP = 5.0  # seconds that such a wait took: this process was stopped, or the machine slept
_AWAY = 2.0  # seconds between two looks for a place that is gone
_FREE = 5  # runs of one file in a row that do not have to wait: a person saves that often
_CALM = 10.0  # seconds without a change after which a file may do so again
_LONGEST = 60.0  # seconds that a file which is written all the time waits, unless indexing it takes long
_SHARE = 50.0  # times as long as its last run took: such a file takes about two percent of a processor
_MOST = 120.0  # seconds that any file waits
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


def awake() -> float:
    """Seconds on a clock that goes on while the machine sleeps, where the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The runs of one file in a row: how many, when the last one began, and the seconds it took."""

    count: int = 0
    began: float = 0.0
    took: float = 0.0

    @property
    def pause(self) -> float:
        """Seconds from the beginning of the last run to the next one."""
        if self.count < _FREE:
            return 0.0
        return min(_MOST, max(min(_LONGEST, 2.0 ** (self.count - _FREE + 1)), _SHARE * self.took))


@dataclass(slots=True)
class Pace:
    """How often each file may be indexed: every time at first, then after longer and longer waits."""

    clock: Callable[[], float]
    waiting: set[str] = field(default_factory=set)
    _runs: dict[str, _Runs] = field(default_factory=dict)

    def due(self, paths: Collection[str]) -> set[str]:
        """Those of some paths, and of those that wait, that may be indexed now; the others wait."""
        now = self.clock()
        self._runs = {path: runs for path, runs in self._runs.items() if now - runs.began < runs.pause + _CALM}
        asked = self.waiting.union(paths)
        ready = {path for path in asked if path not in self._runs or now - self._runs[path].began >= self._runs[path].pause}
        self.waiting = asked - ready
        self._runs |= {path: _Runs(self._runs.get(path, _Runs()).count + 1, now) for path in ready}
        return ready

    def ran(self, paths: Collection[str]) -> None:
        """Note how long the run took that has just ended; its paths share the time."""
        now = self.clock()
        known = {path: runs for path in paths if (runs := self._runs.get(path))}
        self._runs |= {path: replace(runs, took=(now - runs.began) / len(known)) for path, runs in known.items()}

    def restless(self) -> frozenset[str]:
        """The files that are written all the time. May be called by another thread."""
        now = self.clock()
        return frozenset(
            path for path, runs in self._runs.copy().items() if runs.count >= _FREE and now - runs.began < runs.pause + _CALM
        )


@dataclass(slots=True)
class Watch:
    """One project under watch."""

    source: Source
    hooks: Hooks
    every: float = 300.0
    clock: Callable[[], float] = awake
    _events: Events | None = None
    _folders: frozenset[str] = frozenset()
    _missing: set[str] = field(default_factory=set)
    _last_scan: float = 0.0
    _after_burst: bool = False
    _polling: bool = False
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock)

    def restless(self) -> frozenset[str]:
        """The files that are written all the time. May be called by another thread."""
        return self._pace.restless()

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
        began = self.clock()
        changed = self._wait()
        paused = self.clock() - began > _GAP
        overdue = self.clock() - self._last_scan > (min(self.every, _AWAY) if self._polling else self.every)
        if overdue:  # whatever else happens: there may be a file that is written all the time
            self._everything()
        elif changed or self._missing or self._pace.waiting:
            self._some(changed)
        elif self._after_burst or paused:
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
        gone = {path for path in changed | self._missing | self._pace.waiting if not self.source.present(path)}
        sure = gone & self._missing
        self._missing = gone - sure
        self._pace.waiting -= gone
        seen = (changed - gone) | sure
        if len(seen) > BURST or any(self._touches_more(path) for path in seen):
            self._after_burst = len(seen) > BURST
            self._everything()
        elif (ready := self._pace.due(seen - sure) | sure) and self._try(lambda: self.hooks.some(ready)):
            self._pace.ran(ready)

    def _touches_more(self, path: str) -> bool:
        """Whether more than this one path may have changed: a folder, or a file that says what belongs."""
        return path.rpartition("/")[2] in _BOUNDARIES or path in self._folders or self.source.is_folder(path)

    def _everything(self) -> None:
        """Listen first, then scan, so that nothing falls between; again while the scan finds new folders."""
        self._after_burst = False
        self._pace.waiting.clear()
        for _ in range(5):
            folders = self.source.folders()
            if folders == self._folders and (self._events is not None or self._polling):
                break
            self._arm(folders)
        self._try(self.hooks.everything)
        self._last_scan = self.clock()

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

    def _try(self, work: Callable[[], None]) -> bool:
        """Whether a run ended well. One that fails is told and tried again by the next scan."""
        try:
            work()
        except LeaseLost:
            raise
        except ContextdError as error:
            self.hooks.say(f"{error}; trying again")
            self._after_burst = True
            time.sleep(1.0)
            return False
        return True

    def _disarm(self) -> None:
        if self._events is not None:
            self._events.close()
        self._events = None
        self._folders = frozenset()
