"""Watch a project: file system events lead to small runs, and a periodic scan of everything finds what events missed.

Events get lost if a burst overflows the system's queue, or while this process is stopped. So everything is scanned after a
burst, a gap in time, a changed ignore file or folder, and every few minutes. A file that changes constantly, such as a log, is
indexed less and less often, and still less often if indexing it takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from contextd.errors import ContextdError, LeaseLost, Unavailable
from contextd.ports.world import Events, Source

BURST = 200  # changed paths at once; with more, a scan is cheaper and misses nothing
_WAIT = 1.0  # seconds to wait for events
_AGAIN = 0.4  # seconds to wait if a path is missing, until it is checked again
_GAP = 5.0  # seconds; after a longer wait, this process was stopped or the machine slept
_AWAY = 2.0  # seconds between two scans without events; a missing folder is checked four times as often
_FREE = 5  # consecutive runs of a file without a delay: a person saves that often
_CALM = 10.0  # seconds without a change after which the runs are counted anew
_LONGEST = 60.0  # maximum delay in seconds of a constantly changing file, unless indexing it takes long
_SHARE = 50.0  # delay as a multiple of the last run: such a file takes about two percent of a processor
_MOST = 120.0  # maximum delay in seconds of any file
_BOUNDARIES = (".gitignore", ".contextignore", ".dockerignore")


@dataclass(slots=True)
class Hooks:
    """Callbacks of a watch. `some` indexes paths, `jobs` is called every turn, `idle` if there is nothing else to do."""

    arm: Callable[[Collection[str]], Events]
    some: Callable[[Collection[str]], None]
    everything: Callable[[], None]
    jobs: Callable[[], None]
    idle: Callable[[], None]
    stop: Callable[[], bool]
    say: Callable[[str], None]


def awake() -> float:
    """Return the seconds of a clock that runs while the machine sleeps, if the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Consecutive runs of one file: their number, when the last one began, and the seconds it took."""

    count: int = 0
    began: float = 0.0
    took: float = 0.0

    @property
    def pause(self) -> float:
        """Minimum seconds from the beginning of the last run to the next one."""
        if self.count < _FREE:
            return 0.0
        return min(_MOST, max(min(_LONGEST, 2.0 ** (self.count - _FREE + 1)), _SHARE * self.took))


@dataclass(slots=True)
class Pace:
    """Limits how often each file is indexed: every time at first, then with growing delays."""

    clock: Callable[[], float]
    waiting: set[str] = field(default_factory=set)
    _runs: dict[str, _Runs] = field(default_factory=dict)

    def due(self, paths: Collection[str]) -> set[str]:
        """Return the given and waiting paths that may be indexed now. The others wait."""
        now = self.clock()
        self._runs = {path: runs for path, runs in self._runs.items() if now - runs.began < runs.pause + _CALM}
        asked = self.waiting.union(paths)
        ready = {path for path in asked if path not in self._runs or now - self._runs[path].began >= self._runs[path].pause}
        self.waiting = asked - ready
        self._runs |= {path: _Runs(self._runs.get(path, _Runs()).count + 1, now) for path in ready}
        return ready

    def ran(self, paths: Collection[str]) -> None:
        """Record the duration of the run that has just ended, divided among its paths."""
        now = self.clock()
        known = {path: runs for path in paths if (runs := self._runs.get(path))}
        self._runs |= {path: replace(runs, took=(now - runs.began) / len(known)) for path, runs in known.items()}

    def restless(self) -> frozenset[str]:
        """Return the files that change constantly. May be called by another thread."""
        now = self.clock()
        return frozenset(
            path for path, runs in self._runs.copy().items() if runs.count >= _FREE and now - runs.began < runs.pause + _CALM
        )


@dataclass(slots=True)
class Watch:
    """The watch of one project."""

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
        """Return the files that change constantly. May be called by another thread."""
        return self._pace.restless()

    def run(self) -> None:
        """Watch until `hooks.stop` returns true."""
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
        if overdue:  # checked first: a constantly changing file must not delay the scan
            self._everything()
        elif changed or self._missing or self._pace.waiting:
            self._some(changed)
        elif self._after_burst or paused:
            self._everything()
        else:
            self._try(self.hooks.idle)
        self._after_burst |= paused

    def _wait(self) -> frozenset[str]:
        """Return the changed paths. The wait is shorter if a path is missing."""
        seconds = _AGAIN if self._missing else _WAIT
        if self._events is None:
            time.sleep(seconds)
            return frozenset()
        return self._events.wait(seconds)

    def _some(self, changed: frozenset[str]) -> None:
        """Index changed paths. A missing path counts as gone the second time, since editors remove and replace files."""
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
        """Whether more than this path may have changed: it is a folder or an ignore file."""
        return path.rpartition("/")[2] in _BOUNDARIES or path in self._folders or self.source.is_folder(path)

    def _everything(self) -> None:
        """Listen to all folders, then scan, so that no change is missed. Listening is repeated while there are new folders."""
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
        """Wait while the folder of the project is gone. Its index stays, and watching continues when it is back."""
        self.hooks.say("the folder is gone; its index stays, and watching goes on when it is back")
        self._disarm()
        while not self.source.present("") and not self.hooks.stop():
            time.sleep(_AWAY / 4)
        if not self.hooks.stop():
            self.hooks.say("the folder is back")
            self._everything()

    def _try(self, work: Callable[[], None]) -> bool:
        """Run a function and return whether it succeeded. A failure is reported, and the next scan tries again."""
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
