"""Sweeps: a fault at every point of a real run, by the ids of the fault catalogue. Slow; `make campaign` runs them."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import ContextdError
from contextd.stores.sqlite.record import SqliteRecord
from tests.faults.test_storage import REMEMBER_MANY, damage
from tests.indexing.test_index import state_of

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "campaign.json"
CALLS = "pwrite64,fsync,fdatasync,ftruncate,rename,unlink"
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


def keep(name: str, **figures: object) -> None:
    """Write a result down beside the benchmarks."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[name] = {"date": time.strftime("%Y-%m-%d"), **figures}
    RESULTS.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def faulty(home: Path, fault: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command under strace, with a fault injected."""
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", f"inject={CALLS}:{fault}"]
    variables = {**os.environ, "CONTEXTD_HOME": str(home), "CONTEXTD_BOOTSTRAP__PARALLEL_WORKERS": "1"}
    return subprocess.run(
        [*command, sys.executable, "-m", "contextd", *arguments], env=variables, capture_output=True, text=True, timeout=120
    )


def count_calls(home: Path, *arguments: str) -> int:
    """How many such calls a calm run makes."""
    log = home.parent / "calls.txt"
    variables = {**os.environ, "CONTEXTD_HOME": str(home), "CONTEXTD_BOOTSTRAP__PARALLEL_WORKERS": "1"}
    command = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={CALLS}", sys.executable, "-m", "contextd", *arguments]
    subprocess.run(command, env=variables, capture_output=True, check=True, timeout=120)
    return len(re.findall(r"(?m)^\d+ +(?:" + CALLS.replace(",", "|") + r")\(", log.read_text()))


def fresh_home(home: Path, name: str) -> Path:
    folder = home.parent / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "models").symlink_to(home / "models")
    return folder


@needs_strace
@pytest.mark.parametrize("fault", ["signal=KILL", "error=ENOSPC"])
def test_F1_F3_a_fault_at_every_write_of_an_index_run(project: Path, home: Path, fault: str) -> None:
    """After each: it opens, it answers or says why, and the next run ends where an undisturbed one does."""
    calm = open_session(project, home=home, environment={})
    calm.index()
    expected = state_of(calm)
    points = count_calls(fresh_home(home, "count"), "index", "-p", str(project))
    step = max(1, points // 150)
    slowest = 0.0
    for number in range(1, points + 1, step):
        wild = fresh_home(home, "wild")
        when = f"{fault}:when={number}" + ("+" if "ENOSPC" in fault else "")
        done = faulty(wild, when, "index", "-p", str(project))
        assert "Traceback" not in done.stderr, (number, done.stderr)
        if "ENOSPC" in fault:
            assert done.returncode in (0, 3), (number, done.stderr)
        began = time.monotonic()
        session = open_session(project, home=wild, environment={"CONTEXTD_BOOTSTRAP__PARALLEL_WORKERS": "1"})
        assert session.project is not None
        slowest = max(slowest, time.monotonic() - began)
        assert session.project.store.database.query("pragma integrity_check") == [("ok",)], number  # type: ignore[attr-defined]
        session.index()
        assert state_of(session) == expected, number
        session.close()
    assert slowest < 2
    keep(f"index, {fault} at every write point", points=points, tried=len(range(1, points + 1, step)), failures=0)


@needs_strace
@pytest.mark.parametrize("fault", ["signal=KILL", "error=ENOSPC"])
def test_F1_F3_a_fault_at_every_write_of_remember_and_forget(home: Path, fault: str) -> None:
    points = count_calls(fresh_home(home, "count"), "remember", "the heron nests in May", "--json")
    wild, acknowledged, tried = fresh_home(home, "wild"), set(), 0
    for number in range(1, points + 1):
        done = faulty(wild, f"{fault}:when={number}", "remember", f"the heron number {number}", "--json")
        assert "Traceback" not in done.stderr, (number, done.stderr)
        tried += 1
        if done.returncode == 0:
            acknowledged.add(json.loads(done.stdout)["id"])
    record = SqliteRecord(wild / "record.db")
    workspace = record.workspace("personal", "", "personal")
    kept = list(record.memories.ids(workspace))
    assert acknowledged <= set(kept) and record.database.query("pragma integrity_check") == [("ok",)]
    record.close()
    for number, memory in enumerate(kept, 1):
        done = faulty(wild, f"{fault}:when={number}", "forget", memory, "--json")
        assert "Traceback" not in done.stderr, (number, done.stderr)
        tried += 1
        if done.returncode == 0:
            acknowledged.discard(memory)
            record = SqliteRecord(wild / "record.db")
            assert memory not in record.memories.ids(workspace)
            record.close()
    keep(f"remember and forget, {fault} at every write point", points=points, tried=tried, failures=0)


def test_F6_a_thousand_damaged_images(project: Path, home: Path, make_project: Callable[..., Path]) -> None:
    """Each is answered, or refused in our own words; and mended by the next `index --verify`."""
    session = open_session(project, home=home, environment={})
    session.index()
    session.remember("the office is in Lisbon")
    assert session.project is not None
    folder = session.project.folder
    session.close()
    whole = {path: path.read_bytes() for path in (*folder.iterdir(), home / "record.db") if path.is_file()}
    chance, outcomes = random.Random(6), {"answered": 0, "refused": 0, "mended": 0}
    for number in range(1000):
        for path in (*folder.iterdir(), *home.glob("record.db*")):
            path.unlink()
        for path, data in whole.items():
            path.write_bytes(data)
        victim = chance.choice([path for path in whole if path.suffix in (".db", ".arrays")])
        damage(victim, chance, chance.choice(["header", "zero", "cut", "flip", "flip", "flip"]))
        opened = None
        try:
            opened = open_session(project, home=home, environment={"CONTEXTD_BOOTSTRAP__PARALLEL_WORKERS": "1"})
            opened.search("load_user")
            opened.context("load user by name", budget=300)
            outcomes["answered"] += 1
        except ContextdError:
            outcomes["refused"] += 1
        if number % 20 == 0 and victim.name != "record.db":
            opened = open_session(project, home=home, environment={})
            opened.index(verify=True)
            assert opened.search("load_user").hits, (number, victim)
            outcomes["mended"] += 1
        if opened is not None:
            opened.close()
    keep("1,000 damaged images", **outcomes, tracebacks=0)


def test_F8_eight_threads_and_four_processes_for_a_minute(home: Path) -> None:
    """No `database is locked` reaches anyone, nothing acknowledged is lost."""
    command = [sys.executable, "-c", REMEMBER_MANY, str(home)]
    processes = [subprocess.Popen([*command, f"p{n}", "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for n in range(3)]
    session = open_session(None, home=home, environment={})
    acknowledged: list[str] = []
    errors: list[BaseException] = []
    end = time.monotonic() + 60

    def work(number: int) -> None:
        turn = 0
        try:
            while time.monotonic() < end:
                if number % 2:
                    session.search(f"fact {turn}", min_score=0)
                else:
                    acknowledged.append(session.remember(f"thread {number} fact {turn}").memory.id)
                turn += 1
        except BaseException as error:
            errors.append(error)
        finally:
            session.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err.decode()
        acknowledged += out.decode().split()
    assert not errors, errors
    record = SqliteRecord(home / "record.db")
    assert set(acknowledged) <= record.memories.ids(record.workspace("personal", "", "personal"))
    keep("8 threads and 4 processes for 60 s", acknowledged=len(acknowledged), lost=0)
