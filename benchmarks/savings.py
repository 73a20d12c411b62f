"""Tokens saved: what a task costs with a context, beside searching by identifiers and reading files.

`python -m benchmarks.savings`: 18 tasks on three projects (`tasks.json`, written with the lines that each needs before the
first run). `CONTEXTD_BENCH_TASKS` names the folder with the checked-out projects.

- files: the files that contain the identifiers of the task, most matches first, are read whole until all needed lines are seen.
- functions: in the same order, only the definitions around the matches are read.
- contextd: one context of the default budget. If a needed line is missing, the files are read as well.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

import contextd
from benchmarks.data import linked_home
from benchmarks.lines import shown_in
from contextd.app.line_answers import LineQuestion, Required, Span, required, share, shown
from contextd.app.session import Session

LIST = Path(__file__).parent / "tasks.json"
TASKS = Path(os.environ.get("CONTEXTD_BENCH_TASKS", "../repos"))
_BUDGETS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 16000)


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one task by each way, and whether the context of the default budget has all needed lines."""

    task: str
    files: int
    functions: int
    context: int
    is_complete: bool
    sufficient: int  # the smallest budget with all needed lines; 0 if none of _BUDGETS has them

    @property
    def with_misses(self) -> int:
        """The cost of the context, and of reading files after it if a line is missing."""
        return self.context if self.is_complete else self.context + self.files


def main() -> None:
    told = json.loads(LIST.read_text("utf-8"))
    costs = []
    for project in told["projects"]:
        root = TASKS / project["name"]
        if not root.is_dir():
            print(f"skipped {project['name']}: not checked out below CONTEXTD_BENCH_TASKS")
            continue
        session = contextd.open(root, home=linked_home("savings"), flags={"embedding.deep_model": "none"})
        session.index(deep=False)
        costs += [cost(session, task) for task in told["tasks"] if task["project"] == project["name"]]
    if costs:
        report(costs)


def cost(session: Session, task: dict[str, object]) -> Cost:
    """Measure one task."""
    text, names = str(task["text"]), [str(one) for one in task["identifiers"]]  # type: ignore[attr-defined]
    spans = tuple(Span(one["path"], *one["lines"]) for one in task["gold"])  # type: ignore[attr-defined]
    needed = required(LineQuestion(text, (spans,), ""), session.structure.text)
    found = session.context(text)
    complete = share(needed, shown_in(found.text)) == 1
    sufficient = next((one for one in _BUDGETS if share(needed, shown_in(session.context(text, budget=one).text)) == 1), 0)
    files = _until_seen(session, needed, matching_files(session, names))
    functions = _until_seen(session, needed, enclosing(session, names))
    return Cost(str(task["id"]), files, functions, found.tokens, complete, sufficient)


def _until_seen(session: Session, needed: Required, texts: Iterator[tuple[str, str]]) -> int:
    """Return the tokens of the texts, in order, until all needed lines were among them."""
    read: list[tuple[str, str]] = []
    for one in texts:
        read.append(one)
        if share(needed, shown(read)) == 1:
            break
    else:  # the search never shows all of it: the files that have the lines are opened in the end
        read += [(path, session.structure.text(path) or "") for path in dict.fromkeys(line.path for line in needed[0])]
    return sum(session.count_tokens(text) for _, text in read)


def matching_files(session: Session, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files that contain the identifiers, most matches first."""
    counts = {path: len(_pattern(tuple(names)).findall(text)) for path, text in _texts(session)}
    texts = dict(_texts(session))
    for path in sorted((path for path, count in counts.items() if count), key=lambda path: (-counts[path], path)):
        yield path, texts[path]


def enclosing(session: Session, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """In the same files, the innermost definitions around the matches; a line outside of any is read alone."""
    for path, text in matching_files(session, names):
        lines, seen = text.split("\n"), set[tuple[int, int]]()
        sites = _definitions(session, path)
        for number, line in enumerate(lines, 1):
            if _pattern(tuple(names)).search(line):
                around = [site for site in sites if site[0] <= number <= site[1]]
                seen.add(min(around, key=lambda site: site[1] - site[0]) if around else (number, number))
        yield from ((path, "\n".join(lines[start - 1 : end])) for start, end in sorted(seen))


def _definitions(session: Session, path: str) -> list[tuple[int, int]]:
    """First and last lines of the definitions in a file."""
    with session.structure.view() as view:
        documents = [document for document, uri in view.uris().items() if uri == path]
        return [(definition.line, definition.end_line) for _, definition in view.links.outline(documents)]


def _texts(session: Session) -> list[tuple[str, str]]:
    with session.structure.view() as view:
        return [(path, view.text(document)) for document, path in sorted(view.uris().items(), key=lambda item: item[1])]


@lru_cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))


def report(costs: Sequence[Cost]) -> None:
    """Every task, and the medians."""
    names = ("files", "functions", "context", "all lines", "with misses", "sufficient", "saved")
    print(f"{'task':12} " + " ".join(f"{name:>11}" for name in names))
    for one in costs:
        whole = "yes" if one.is_complete else "no"
        saved = f"{1 - one.with_misses / one.files:.0%}"
        cells = (one.files, one.functions, one.context, whole, one.with_misses, one.sufficient or "-", saved)
        print(f"{one.task:12} " + " ".join(f"{cell:>11}" for cell in cells))
    complete = sum(one.is_complete for one in costs)
    enough = [one.sufficient for one in costs if one.sufficient]
    print(f"all needed lines in the default budget: {complete} of {len(costs)}")
    print(f"tokens: files {median(c.files for c in costs):,.0f}, functions {median(c.functions for c in costs):,.0f}")
    print(f"reduction where all lines are there: {median(1 - c.context / c.files for c in costs if c.is_complete):.1%}")
    for name, tokens in (("files", [c.files for c in costs]), ("functions", [c.functions for c in costs])):
        whole = median(1 - c.context / t for c, t in zip(costs, tokens, strict=True))
        honest = median(1 - c.with_misses / t for c, t in zip(costs, tokens, strict=True))
        print(f"median reduction compared with {name}: {whole:.1%}; with misses at the cost of files {honest:.1%}")
    reached = [1 - c.sufficient / c.files for c in costs if c.sufficient]
    some = f"{len(enough)} of {len(costs)}"
    print(f"smallest sufficient budget: median {median(enough):,.0f} for {some}, {median(reached):.1%} less")


if __name__ == "__main__":
    main()
