"""Jobs that fail: a dead process, an exception of any kind, a cancellation at the last moment, a lease that is held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput, Unavailable
from contextd.indexing import jobs as running
from contextd.indexing.jobs import run_all
from contextd.indexing.pipeline import Progress, Report
from contextd.stores.lease import lease
from contextd.values.job import Job, Jobs
from tests.waiting import until

ATTEMPTS = 3


def jobs_of(session: Session) -> Jobs:
    assert session.project is not None
    return session.project.store.jobs


def dead(session: Session, kind: str = "index", attempts: int = 1) -> Job:
    """A job whose process was killed so many times."""
    jobs = jobs_of(session)
    job = jobs.add(kind, "a process that is dead", (), {"epoch": 7})
    for _ in range(attempts):
        assert jobs.lease(job.id)
    return jobs.get(job.id)


def test_F24_a_rebuild_after_a_killed_rebuild_is_not_refused(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"pkg/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(300)})
    session = open_session(root, home=home, environment={})
    session.index()
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen([sys.executable, "-m", "contextd", "rebuild", "--force", "-p", str(root)], env=variables)
    until(lambda: any(job.kind == "rebuild" and job.state == "in_progress" for job in jobs_of(session).recent(5)))
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = jobs_of(session).recent(1)[0]
    assert killed.state == "in_progress"
    assert session.rebuild().written == 300
    after = jobs_of(session).get(killed.id)
    assert after.state == "failed" and "superseded" in after.reason


def test_F24_a_rebuild_that_is_alive_still_refuses_a_second_one(session: Session) -> None:
    assert session.project is not None
    job = dead(session, "rebuild")
    with lease(session.project.folder, "contextd rebuild"), pytest.raises(InvalidInput, match="in progress"):
        session.rebuild()
    assert jobs_of(session).get(job.id).state == "in_progress"


@pytest.mark.parametrize("error", [TypeError("a bug"), MemoryError(), RecursionError("too deep"), KeyError("x")])
def test_F24_a_job_that_raises_anything_is_failed_with_its_reason_and_the_queue_goes_on(
    session: Session, error: Exception
) -> None:
    jobs = jobs_of(session)
    first, second = jobs.add("index", "ana", (), {}), jobs.add("index", "ana", (), {})

    def work(job: Job, progress: Progress) -> Report:
        if job.id == first.id:
            raise error
        return Report()

    run_all(jobs, work)
    failed = jobs.get(first.id)
    assert failed.state == "failed" and type(error).__name__ in failed.reason and failed.ended
    assert jobs.get(second.id).state == "completed"
    assert any("test_jobs.py" in line for _, line in jobs.lines(first.id)), "the log says where"


DIES = """
import os, sys
from pathlib import Path
from contextd.app.assemble import open_session
from contextd.indexing.upkeep import Upkeep
Upkeep.work = lambda self, job, progress: os._exit(9)
open_session(sys.argv[1], home=Path(sys.argv[2]), environment={}).index()
"""


def test_F24_a_job_that_killed_its_process_three_times_is_not_begun_again(session: Session, project: Path, home: Path) -> None:
    jobs = jobs_of(session)
    job = jobs.add("index", "ana", (), {})
    for attempt in range(1, ATTEMPTS + 1):
        done = subprocess.run([sys.executable, "-c", DIES, str(project), str(home)], timeout=60)
        assert done.returncode == 9 and jobs.get(job.id).attempts == attempt
    assert session.index().unchanged == 4
    failed = jobs.get(job.id)
    assert failed.state == "failed" and failed.attempts == ATTEMPTS and f"{ATTEMPTS} attempts" in failed.reason
    assert all(one.over for one in jobs.recent(10)), "the queue went on"


def test_F24_a_job_that_is_cancelled_at_the_last_moment_does_not_end_as_completed(session: Session) -> None:
    jobs = jobs_of(session)
    job = jobs.add("index", "ana", (), {})

    def work(job: Job, progress: Progress) -> Report:
        progress(Report())
        jobs.cancel(job.id)
        return Report(parsed=3)

    run_all(jobs, work)
    assert jobs.get(job.id).state == "cancelled"
    assert any("cancelled" in line for _, line in jobs.lines(job.id))
    assert not any(line.startswith("completed") for _, line in jobs.lines(job.id))


def test_F24_a_job_that_was_cancelled_while_it_waited_is_not_begun(session: Session) -> None:
    jobs = jobs_of(session)
    job = jobs.add("index", "ana", (), {})
    waiting = jobs.next()
    assert waiting is not None
    jobs.cancel(job.id)
    running.run(waiting, jobs, lambda *_: pytest.fail("it was begun"))
    assert jobs.get(job.id).state == "cancelled"


def test_F24_a_job_that_has_ended_cannot_be_cancelled(session: Session) -> None:
    jobs = jobs_of(session)
    job = jobs.recent(1)[0]
    assert job.state == "completed" and jobs.cancel(job.id).state == "completed"


SCANNING_WATCH = """
import sys
from pathlib import Path
from contextd.app.assemble import open_session
from contextd.indexing.upkeep import Upkeep
whole, first = Upkeep.index, [True]
def slow(self, options, progress=lambda _: None):
    if first:
        first.clear()
        print("scanning", flush=True)
        sys.stdin.readline()
    return whole(self, options, progress)
Upkeep.index = slow
open_session(sys.argv[1], home=Path(sys.argv[2]), environment={}).watch(lambda: False, lambda _: None)
"""


@pytest.fixture
def scanning_watch(session: Session, project: Path, home: Path) -> Iterator[subprocess.Popen[str]]:
    """A watch in the middle of a scan that goes on when it gets a line."""
    command = [sys.executable, "-c", SCANNING_WATCH, str(project), str(home)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "scanning\n"
    yield process
    process.kill()
    process.wait()


def test_an_index_behind_a_scanning_watch_waits_and_says_for_whom(
    scanning_watch: subprocess.Popen[str], project: Path, home: Path
) -> None:
    command = [sys.executable, "-m", "contextd", "index", "-p", str(project)]
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    waiting = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stderr is not None
    assert f"waiting for contextd watch, process {scanning_watch.pid}" in waiting.stderr.readline()
    assert waiting.poll() is None and scanning_watch.stdin is not None
    scanning_watch.stdin.write("go on\n")
    scanning_watch.stdin.flush()
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and "4 unchanged" in out, err


def test_an_index_does_not_wait_for_ever_for_a_stuck_process(
    scanning_watch: subprocess.Popen[str], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "PATIENCE", 2.0)
    scanning_watch.send_signal(signal.SIGSTOP)
    with pytest.raises(Unavailable, match=f"process {scanning_watch.pid}"):
        session.index()
    assert jobs_of(session).recent(1)[0].state == "cancelled"


def test_a_user_who_stops_waiting_takes_the_job_back(
    scanning_watch: subprocess.Popen[str], session: Session, project: Path, home: Path
) -> None:
    command = [sys.executable, "-m", "contextd", "index", "-p", str(project)]
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    waiting = subprocess.Popen(
        command, env=variables, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell starts background commands with it ignored
    )  # fmt: skip
    assert waiting.stderr is not None and "waiting for" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=30) == 130
    assert jobs_of(session).recent(1)[0].state == "cancelled"


def test_a_job_under_way_has_a_lease_and_one_that_is_over_has_none(session: Session) -> None:
    jobs = jobs_of(session)
    job = jobs.add("index", "ana", (), {})
    ends: list[int | None] = [job.lease_end]

    def work(job: Job, progress: Progress) -> Report:
        ends.append(jobs.get(job.id).lease_end)
        progress(Report())
        ends.append(jobs.get(job.id).lease_end)
        return Report()

    run_all(jobs, work)
    assert ends[0] is None and ends[1] is not None and ends[2] is not None and ends[2] > ends[1]
    assert jobs.get(job.id).lease_end is None
