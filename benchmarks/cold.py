"""What one command costs without a service, from the start of the process: CPU-seconds, median of ten calls.

`python -m benchmarks.cold` asks five memories with deep vectors. Commands run as installed ones do, with compiled modules.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.data import linked_home

CALLS = 10
FACTS = (
    "I live in Bern",
    "I am allergic to peanuts",
    "I like long walks by the lake",
    "My bike is a blue Trek",
    "I prefer trains",
)
COMMANDS = (
    ("recall", "--embedded", "where do I live"),
    ("facets", "--embedded", "what should I cook tonight"),
    ("--version",),
)


def spent(command: tuple[str, ...], environment: dict[str, str]) -> float:
    """CPU-seconds of one call, all its processes and threads together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [str(Path(sys.executable).with_name("contextd")), *command], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with TemporaryDirectory() as compiled:
        environment = {**os.environ, "CONTEXTD_HOME": str(linked_home("cold").absolute()), "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for fact in FACTS:
            spent(("remember", fact), environment)
        for command in COMMANDS:
            spent(command, environment)  # compiles what it imports
            times = sorted(spent(command, environment) for _ in range(CALLS))
            print(f"contextd {' '.join(command)}: {statistics.median(times):.2f} ({times[0]:.2f} to {times[-1]:.2f})")


if __name__ == "__main__":
    main()
