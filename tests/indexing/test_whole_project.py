"""The life of a real project of more than a thousand files: Python's own library, first run to rebuild, with kills in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from tests.faults.test_sweeps import keep
from tests.indexing.test_index import state_of
from tests.indexing.test_jobs import contents

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A copy of the standard library, tests included: it will be changed."""
    root = tmp_path / "library"
    left_out = shutil.ignore_patterns("__pycache__", "site-packages", "*.so", "*.a", "config-*", "lib-dynload", "idle_test")
    shutil.copytree(sysconfig.get_paths()["stdlib"], root, ignore=left_out)
    assert sum(1 for path in root.rglob("*.py")) >= 1000
    return root


@pytest.fixture
def start(home: Path) -> Start:
    def run(*arguments: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "CONTEXTD_HOME": str(home)}
        return subprocess.Popen([sys.executable, "-m", "contextd", *arguments], env=variables, stdout=subprocess.DEVNULL)

    return run


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def wait(condition: Callable[[], bool], seconds: float = 300) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds
        time.sleep(0.1)
    return time.monotonic() - began


def size_of(session: Session) -> int:
    return int(str(session.known().store.notes.summary()["bytes"]))


def test_the_life_of_a_project(library: Path, home: Path, start: Start, tmp_path: Path) -> None:
    session = open_session(library, home=home, environment={})
    first_run_is_killed_and_goes_on(session, library, start)
    calm_home = tmp_path / "calm"
    calm_home.mkdir()
    (calm_home / "models").symlink_to(home / "models")
    calm = open_session(library, home=calm_home, environment={})
    calm.index()
    assert state_of(session) == state_of(calm), "a killed run ends where an undisturbed one does"
    assert session.search("extract all members of a zip archive").hits[0].chunk.uri.startswith("zipfile")
    saved = a_change_is_seen(session, library)
    rebuild_is_announced_killed_and_done(session, library, start, size_of(calm))
    rebuild_of_a_part(session)
    rebuild_is_refused_twice_and_cancelled(session, library, start)
    files = len(contents(session))
    keep("the life of a project of a thousand files and more", files=files, seconds_until_a_save_is_seen=round(saved, 2))


def first_run_is_killed_and_goes_on(session: Session, library: Path, start: Start) -> None:
    """It answers before it is done and says how much it knows; the next run does not do again what is done."""
    process = start("index", "-p", str(library))
    wait(lambda: len(contents(session)) >= 300)
    answer = session.search("parse an argument of the command line")
    assert answer.hits and any("files are indexed" in warning for warning in answer.trace.warnings)
    kill(process)
    done = len(contents(session))
    report = session.index()
    assert report.written + report.unchanged == len(contents(session)) and report.unchanged >= done


def a_change_is_seen(session: Session, library: Path) -> float:
    """Under watch, a save is searchable without anybody asking for it."""
    over = threading.Event()
    thread = threading.Thread(target=lambda: session.watch(over.is_set, lambda _: None))
    thread.start()
    try:
        time.sleep(3)
        with (library / "argparse.py").open("a") as file:
            file.write("\n\ndef count_the_brand_new_herons():\n    return 3\n")
        other = open_session(library, home=session.known().folder.parent.parent, environment={})
        return wait(lambda: any(hit.chunk.uri == "argparse.py" for hit in other.search("count_the_brand_new_herons").hits), 30)
    finally:
        over.set()
        thread.join()


def rebuild_is_announced_killed_and_done(session: Session, library: Path, start: Start, calm: int) -> None:
    """The dry run says what will be read; a killed rebuild goes on; nothing of before is left, and no space is lost."""
    before, stored, files = sorted(map(repr, state_of(session))), contents(session), len(contents(session))
    announced = sum(count for count, _ in session.estimate().values())
    assert files <= announced < 1.05 * files, "what is binary is only seen when it is read"
    assert contents(session) == stored, "and nothing is done"
    process = start("rebuild", "--force", "-p", str(library))
    wait(lambda: len(set(contents(session).values()) - set(stored.values())) >= 300)
    kill(process)
    assert session.search("extract all members of a zip archive").hits, "it answers in between"
    session.index()
    (job,) = [one for one in session.known().store.jobs.recent(20) if one.kind == "rebuild"]
    assert job.state == "completed" and job.total >= files - 1
    assert not set(contents(session).values()) & set(stored.values())
    assert sorted(map(repr, state_of(session))) == before
    assert size_of(session) < 1.15 * calm


def rebuild_of_a_part(session: Session) -> None:
    before = contents(session)
    report = session.rebuild(["json"])
    changed = {uri for uri, content in contents(session).items() if content != before[uri]}
    assert changed and all(uri.startswith("json/") for uri in changed) and report.written == len(changed)


def rebuild_is_refused_twice_and_cancelled(session: Session, library: Path, start: Start) -> None:
    process = start("rebuild", "--force", "-p", str(library))
    jobs = session.known().store.jobs
    wait(lambda: (job := jobs.next()) is not None and job.state == "in_progress" and job.done > 50)
    with pytest.raises(InvalidInput, match="in progress"):
        session.rebuild()
    job = jobs.next()
    assert job is not None
    jobs.cancel(job.id)
    wait(lambda: jobs.get(job.id).state == "cancelled", 60)
    process.wait()
    assert session.search("extract all members of a zip archive").hits
    assert json.dumps(session.index().failed) == "{}"
