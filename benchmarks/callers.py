"""`callers` and `impact` against hand-checked answers: who calls 44 symbols, and what depends on 30 files, in five languages.

`python -m benchmarks.callers [--misses]`. The symbols were drawn at random among functions and methods with 2 to 22 call-like
lines, nearly half of them with names that several define; the answers were found by reading every line that has the name
(`callers.json`), before the command was run on them. What depends on types that only exist at run time is "maybe" there and
counts neither way.
"""

from __future__ import annotations

import json
import posixpath
import sys
from dataclasses import dataclass, field
from pathlib import Path

import contextd
from benchmarks.data import REPOS, linked_home

TRUTH = Path(__file__).parent / "callers.json"


@dataclass(slots=True)
class Tally:
    """What was found, right and wanted."""

    found: int = 0
    right: int = 0
    wanted: int = 0
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, answer: set[str], wanted: set[str], maybe: set[str]) -> None:
        """Count one question."""
        judged = answer - maybe
        self.found += len(judged)
        self.right += len(judged & wanted)
        self.wanted += len(wanted)
        self.missed += [f"{what}: {place}" for place in sorted(wanted - judged)]
        self.wrong += [f"{what}: {place}" for place in sorted(judged - wanted)]

    def __str__(self) -> str:
        precision, recall = self.right / max(1, self.found), self.right / max(1, self.wanted)
        return f"precision {precision:.3f}, recall {recall:.3f} ({self.wanted} wanted, {self.found} found)"


def main() -> None:
    totals = {"callers": Tally(), "impact": Tally()}
    for entry in json.loads(TRUTH.read_text()):
        root = REPOS / entry["repository"]
        if not root.is_dir():
            print(f"skipped {entry['repository']}: not checked out below CONTEXTD_BENCH_REPOS")
            continue
        session = contextd.open(root, home=linked_home(), flags={"embedding.deep_model": "none", "git.max_commits": 0})
        session.index()
        here = {"callers": Tally(), "impact": Tally()}
        for one in entry["symbols"]:
            module = posixpath.splitext(one["file"])[0]  # which of several of a name is meant
            _, uses = session.structure.callers(f"{module}.{one['name']}")
            found = {f"{use.uri}:{use.line}" for use in uses if use.how == "calls"}
            for tally in (here["callers"], totals["callers"]):
                tally.add(one["name"], found, set(one["calls"]), set(one["maybe"]))
        for one in entry["files"]:
            near = {dependent.uri for dependent in session.structure.impact(one["file"], depth=1)}
            for tally in (here["impact"], totals["impact"]):
                tally.add(one["file"], near, set(one["dependents"]), set(one["maybe"]))
        session.close()
        for name, tally in here.items():
            print(f"{entry['language']}, {name}: {tally}")
            if "--misses" in sys.argv:
                print("  missed:", *tally.missed, "  wrong:", *tally.wrong, sep="\n    ")
    for name, tally in totals.items():
        print(f"all, {name}: {tally}")


if __name__ == "__main__":
    main()
