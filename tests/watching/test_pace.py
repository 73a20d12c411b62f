"""Files that never rest, clocks that jump and times that cannot be; FAULTS W-6, W-7, W-8."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from contextd.app.assemble import open_session
from contextd.app.machine import LocalMachine
from contextd.indexing import watch
from contextd.indexing.upkeep import Watching
from contextd.indexing.watch import Hooks, Watch, awake
from contextd.ports.world import Matrix
from contextd.sandbox.pool import cpu_seconds
from contextd.sources.files import Boundaries, Files
from tests.stores.shelf import HELD
from tests.watching.test_watch import watching


class Story:
    """A watch over a real folder whose events and clock are told by the test."""

    def __init__(self, root: Path) -> None:
        self.now, self.runs, self.scans = 1000.0, [], []  # type: ignore[var-annotated]
        self.next: Callable[[], frozenset[str]] = frozenset
        self.turns = 0
        self.takes = 0.0  # seconds a run takes
        hooks = Hooks(
            lambda folders: self, self._some, lambda: self.scans.append(self.now), lambda: None, lambda: None, self._over, print
        )
        self.watch = Watch(Files(root, Boundaries()), hooks, clock=lambda: self.now)

    def run(self, turns: int) -> None:
        self.turns = turns
        self.watch.run()

    def wait(self, seconds: float) -> frozenset[str]:
        changed = self.next()
        self.now += 1.5 if changed else seconds
        return changed

    def close(self) -> None: ...

    def _some(self, paths: Collection[str]) -> None:
        self.runs += [(self.now, path) for path in sorted(paths)]
        self.now += self.takes

    def _over(self) -> bool:
        self.turns -= 1
        return self.turns < 0


def test_W7_a_file_that_is_written_all_the_time_is_indexed_less_and_less_often(make_project: Callable[..., Path]) -> None:
    story = Story(make_project({"app.log": "1", "a.py": "1"}))
    story.next = lambda: frozenset({"app.log"})
    story.run(400)  # ten minutes
    times = [when for when, path in story.runs if path == "app.log"]
    assert len(times) <= 25 and times[-1] > story.now - 70, "and never given up"
    assert len(story.scans) == 2, "everything is looked at every five minutes though there is never a quiet moment"


def test_W7_other_files_do_not_wait_for_it_and_it_recovers(make_project: Callable[..., Path]) -> None:
    story = Story(make_project({"app.log": "1", "a.py": "1"}))
    turn = iter(range(10_000))
    story.next = lambda: frozenset({"app.log", "a.py"} if next(turn) == 50 else {"app.log"})
    story.run(60)
    assert sum(path == "a.py" for _, path in story.runs) == 1
    assert next(when for when, path in story.runs if path == "a.py") == pytest.approx(1000 + 51 * 1.5)
    story.next = frozenset
    story.run(100)
    last = [when for when, path in story.runs if path == "app.log"][-1]
    assert story.watch._pace.waiting == set() and last < story.now - 20, "the last change is indexed, then there is rest"
    before = len(story.runs)
    story.next = lambda: frozenset({"app.log"})
    story.run(2)
    assert len(story.runs) == before + 2, "after a rest it is indexed at once again"


def test_W8_a_machine_that_slept_looks_at_everything(make_project: Callable[..., Path]) -> None:
    story = Story(make_project({"a.py": "1"}))
    story.watch.every = 10**9  # only the gap may be the reason

    def sleep_once() -> frozenset[str]:
        story.now += 8 * 3600 if len(story.scans) == 1 else 0
        return frozenset()

    story.next = sleep_once
    story.run(3)
    assert story.scans[1] - story.scans[0] < 8 * 3600 + 10, "once it is awake, not five minutes later"


def test_W8_the_clock_goes_on_while_the_machine_sleeps() -> None:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        pytest.skip("this system has one clock for both")
    assert abs(awake() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 5


YEARS = {"1900": -2_208_988_800, "1970": 0, "2038": 2_147_483_648, "2100": 4_102_444_800, "2400": 13_569_465_600, "1970-": -1}


@pytest.mark.parametrize("year", YEARS)
def test_W6_a_file_of_any_time_is_indexed_once(make_project: Callable[..., Path], home: Path, year: str) -> None:
    root = make_project({"a.py": "def heron():\n    return 1\n"})
    os.utime(root / "a.py", ns=(YEARS[year] * 10**9, YEARS[year] * 10**9))
    session = open_session(root, home=home, environment={})
    assert session.index().written == 1
    again = session.index()
    assert (again.written, again.unchanged, again.removed) == (0, 1, 0)
    assert session.search("heron").hits and not session.search("heron").trace.warnings
    (root / "a.py").write_text("def stork():\n    return 1\n")
    os.utime(root / "a.py", ns=(YEARS[year] * 10**9, YEARS[year] * 10**9))
    assert session.index().written == 1, "the time of its entry tells of a change that keeps its own"


def test_W6_watching_does_not_index_a_file_of_the_future_in_a_loop(
    make_project: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_WAIT", 0.01)  # many turns in a second
    root = make_project({"a.py": "def heron():\n    return 1\n", "b.py": "def stork():\n    return 1\n"})
    os.utime(root / "a.py", (4_102_444_800, 4_102_444_800))
    os.utime(root / "b.py", (0, 0))
    with watching(root, home) as watched:
        watched.until(lambda: watched.paths() == {"a.py", "b.py"})
        runs, turns = [line for line in watched.said if "indexed" in line], watched.turns
        watched.until(lambda: watched.turns > turns + 8)
        assert [line for line in watched.said if "indexed" in line] == runs


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_W7_a_log_that_grows_for_ever_takes_little_time(make_project: Callable[..., Path], home: Path) -> None:
    from tests.faults.test_sweeps import keep

    root = make_project()
    (root / "app.log").write_text("begin\n")
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", "watch", "-p", str(root)], env=variables, stderr=subprocess.DEVNULL
    )
    over = threading.Event()

    def write() -> None:
        with (root / "app.log").open("a") as file:
            while not over.wait(0.01):
                file.write("INFO request served in 12 ms by worker 7 \n" * 24)
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(15)
        began, used = time.monotonic(), family_seconds(process.pid)
        time.sleep(120)
        share = (family_seconds(process.pid) - used) / (time.monotonic() - began)
    finally:
        over.set()
        writer.join()
        process.terminate()
        process.wait(timeout=30)
    keep("W-7 a log that grows by 1 kB every 10 ms", percent_of_one_processor=round(100 * share, 1))
    assert share < 0.05


def family_seconds(process: int) -> float:
    """The processor time of a process and of those it started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (cpu_seconds(process) or 0) + sum(cpu_seconds(int(child)) or 0 for child in children)


def test_W7_a_file_that_takes_long_to_index_is_indexed_less_often(make_project: Callable[..., Path]) -> None:
    story = Story(make_project({"app.log": "1"}))
    story.watch.every = 10**9
    story.next = lambda: frozenset({"app.log"})
    story.takes = 2.0
    story.run(2000)
    times = [when for when, _ in story.runs]
    assert 2.0 * len(times[5:]) < 0.05 * (story.now - times[5]), "five percent of the time at most"
    story.takes = 60.0
    before = story.now
    story.run(2000)
    later = [when for when, _ in story.runs if when > before + 200]
    assert max(b - a for a, b in pairwise(later)) < 200, "and never given up, however long it takes"


class Counting:
    """An embedder of the deep tier that notes what it was asked to embed."""

    space, dimension = "deep/counting", 4

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def documents(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        self.meanwhile()
        return np.ones((len(texts), 4), np.float32)

    def queries(self, texts: Sequence[str]) -> Matrix:
        return np.ones((len(texts), 4), np.float32)


class Restless:
    """A watch that is told which files are written all the time."""

    def __init__(self, *paths: str) -> None:
        self.paths = frozenset(paths)

    def restless(self) -> frozenset[str]:
        return self.paths


@pytest.fixture
def embedding(make_project: Callable[..., Path], home: Path) -> Iterator[tuple[Watching, Counting]]:
    root = make_project(
        {"app.log": "".join(f"heron {n} flew by\n" for n in range(6000)), "calm.md": "# Owls\n\nOwls hunt at night.\n"}
    )
    session, deep = open_session(root, home=home, environment={}), Counting()
    session.index()
    project = session.known()
    with project.parser(keep=True) as parser:
        upkeep = session.index_service._upkeep(HELD, parser)
        upkeep.deep = lambda: deep
        machine = LocalMachine(supplies=root / "none", own=10**6)  # never busy
        yield Watching(upkeep, project.arm, lambda: False, print, machine), deep
    session.close()


def test_W7_a_file_that_is_written_all_the_time_gets_deep_vectors_once_it_rests(embedding: tuple[Watching, Counting]) -> None:
    watching, deep = embedding
    watching._watch = Restless("app.log")  # type: ignore[assignment]
    watching._embed_all(threading.Event())
    assert any("Owls" in text for text in deep.texts) and not any("heron" in text for text in deep.texts)
    watching._news.clear()
    watching._idle()
    assert not watching._news.is_set(), "nothing to do while it is written"
    watching._watch = Restless()  # type: ignore[assignment]
    watching._idle()
    assert watching._news.is_set()
    watching._embed_all(threading.Event())
    assert any("heron" in text for text in deep.texts)


def test_W7_embedding_stops_at_a_file_that_begins_to_be_written_all_the_time(embedding: tuple[Watching, Counting]) -> None:
    watching, deep = embedding
    watch = watching._watch = Restless()  # type: ignore[assignment]
    deep.meanwhile = lambda: setattr(
        watch, "paths", frozenset({"app.log"}) if any("heron" in t for t in deep.texts) else watch.paths
    )
    watching._embed_all(threading.Event())
    assert any("Owls" in text for text in deep.texts)
    assert watching.upkeep.store.missing_vectors(deep.space, 10), "the log has none"
    assert not watching.upkeep.store.missing_vectors(deep.space, 10, ["app.log"])
