"""Watching Django's source distribution: how soon a save is searchable, what an idle watcher costs, whether its memory grows.

`python -m benchmarks.watch` edits a copy of the distribution that `benchmarks.speed` unpacks.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import contextd
from benchmarks.data import linked_home
from benchmarks.speed import django

EDITS = int(os.environ.get("CONTEXTD_BENCH_EDITS", "200"))
IDLE = 60.0


def main() -> None:
    """Edit a file again and again, and ask for it."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "django", linked_home()
        shutil.copytree(django(), root)
        session = contextd.open(root, home=home)
        session.index()
        command = [sys.executable, "-m", "contextd", "watch", "-p", str(root)]
        # Deep vectors come when nothing else is to be done, and would be measured as work of an idle watcher.
        variables = {**os.environ, "CONTEXTD_HOME": str(home), "CONTEXTD_EMBEDDING__DEEP_MODEL": "none"}
        process = subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL)
        try:
            time.sleep(10)
            _measure(session, root / "django/utils/heron.py", process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)
            session.close()


def _measure(session: contextd.Session, path: Path, process: int) -> None:
    took, memory = [], []
    for number in range(EDITS):
        path.write_text(f"def heron_{number}():\n    return {number}\n")
        began = time.monotonic()
        while not any(f"heron_{number}(" in hit.chunk.text for hit in session.search(f"heron_{number}").hits):
            time.sleep(0.01)
        took.append(time.monotonic() - began)
        memory.append(_memory(process))
    debounce = session.settings.watcher.debounce_ms / 1000
    after = sorted(seconds - debounce for seconds in took)
    late = after[int(0.95 * len(after))]
    print(f"save to searchable after the debounce: median {statistics.median(after):.2f} s, p95 {late:.2f} s")
    half = len(memory) // 2
    print(f"memory of the watcher: {memory[half] / 1024:.0f} MB half-way, {memory[-1] / 1024:.0f} MB after {EDITS} edits")
    before = _cpu(process)
    time.sleep(IDLE)
    print(f"idle: {100 * (_cpu(process) - before) / IDLE:.2f} % of a core")


def _memory(process: int) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1])


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
