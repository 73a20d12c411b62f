"""Projects that are large, deep or read with little memory; FAULTS I-10, I-14."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.ports.world import Skip
from contextd.sources.files import Boundaries, Files
from tests.faults.test_sweeps import keep

DEPTH = 1000
SCAN = """
import sys
from pathlib import Path
from contextd.sources.files import Boundaries, Files
count = sum(1 for _ in Files(Path(sys.argv[1]), Boundaries()).scan())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # ru_maxrss counts the parent before the start
print(count, int(peak.split()[1]) // 1024)
"""


def deep(root: Path, depth: int) -> None:
    """A file below so many folders, made from inside: a path may be longer than a call takes."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with os.fdopen(os.open("deep.py", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write("def far_below():\n    return 1\n")
    os.close(here)


@pytest.mark.parametrize("with_git", [False, True])
def test_I10_a_thousand_folders_below_each_other(make_project: Callable[..., Path], home: Path, with_git: bool) -> None:
    root = make_project({"a.py": "a = 1\n"})
    if with_git:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    deep(root, DEPTH)
    try:
        session = open_session(root, home=home, environment={})
        assert session.index().written == 2 and session.search("far_below").hits[0].chunk.uri == "d/" * DEPTH + "deep.py"
        session.close()
    finally:
        subprocess.run(["rm", "-rf", str(root / "d")], check=True)


def test_I10_paths_that_are_too_long_for_the_system_are_left_out_with_a_reason(make_project: Callable[..., Path]) -> None:
    root = make_project({"a.py": "a = 1\n"})
    deep(root, 2100)
    try:
        skipped = [state for state in Files(root, Boundaries()).scan() if isinstance(state, Skip)]
        assert len(skipped) == 1 and "File name too long" in skipped[0].reason and skipped[0].unseen
    finally:
        subprocess.run(["rm", "-rf", str(root / "d")], check=True)


def many(root: Path, flat: int, spread: int) -> None:
    """One folder with many files, and many folders with a hundred each."""
    for number, folder in enumerate([root / "flat", *(root / f"f{n % 100}" / f"g{n}" for n in range(spread // 100))]):
        folder.mkdir(parents=True)
        place = os.open(folder, os.O_RDONLY)
        for one in range(flat if not number else 100):
            os.close(os.open(f"m{one}.py", os.O_CREAT | os.O_WRONLY, dir_fd=place))
        os.close(place)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "large"
    root.mkdir()
    many(root, flat=200_000, spread=800_000)
    yield root
    shutil.rmtree(root)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_I10_a_million_files_are_walked_in_little_memory_and_a_run_can_be_stopped(large: Path, home: Path) -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", SCAN, str(large)], capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    walked = time.monotonic() - began
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", "index", "-p", str(large)],
        env={**os.environ, "CONTEXTD_HOME": str(home)}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell starts background commands with it ignored
    )  # fmt: skip
    time.sleep(5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    stopped = time.monotonic() - began
    keep(
        "I-10 a million files",
        files=count,
        walk_seconds=round(walked, 1),
        walk_rss_mb=megabytes,
        stop_seconds=round(stopped, 2),
    )
    assert count == 1_000_000 and megabytes < 300
    assert process.returncode == 130 and "Traceback" not in told, told
    assert stopped < 1


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_I14_an_index_run_with_little_memory_ends_well_or_with_a_clear_error(
    make_project: Callable[..., Path], home: Path
) -> None:
    package = Path(open_session.__code__.co_filename).parent
    root = make_project({})
    shutil.copytree(package, root / "src", ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    figures = {}
    for megabytes in (512, 448, 384, 320, 256, 224, 192, 160, 128):
        variables = {**os.environ, "CONTEXTD_HOME": str(home), "OPENBLAS_NUM_THREADS": "1"}
        limit = megabytes << 20
        done = subprocess.run(
            [sys.executable, "-m", "contextd", "index", "-p", str(root)], env=variables, capture_output=True, text=True, timeout=600,
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),  # type: ignore[misc]
        )  # fmt: skip
        assert megabytes < 160 or "Traceback" not in done.stderr, (megabytes, done.stderr)
        assert megabytes < 512 or done.returncode == 0, done.stderr
        figures[str(megabytes)] = done.returncode
        shutil.rmtree(home / "projects", ignore_errors=True)
    keep("I-14 index run under RLIMIT_AS", exit_codes_by_megabytes=figures)
