"""Localizing real bugs: the message of a fix, file names masked, and the files it changed, at the commit before it.

`python -m benchmarks.bugs list` writes the list of fixes down (`bugs.json`, by the rules below, before anything is measured);
`python -m benchmarks.bugs [--develop] [--deep]` runs contextd with and without history, plain BM25 over whole files and, where
it is installed, semble, over the same checkouts. `CONTEXTD_BENCH_HISTORIES` names a folder with a clone, history included, of
every repository. A ranking is judged after taking out tests and what is no code, for all of them alike; it is right at k when
a file of the fix is among the first k.

Of contextd, the context of 4,000 tokens is judged too. A fix changes places: runs of lines of the version before it; for lines
that are only added, the lines around them. A place is shown when all of its lines are, and its function is named when the first
line of the innermost definition around it is. `--sample 4` takes the newest four of each repository, `--alone` leaves out the
peers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import contextd
from benchmarks.code import Ranker, plain, semble
from benchmarks.data import HISTORIES, linked_home
from contextd.app.session import Session
from contextd.querying.pack import CUT_MARK
from contextd.sources.filetypes import language_of
from contextd.text.languages import CODE
from contextd.text.paths import is_example, is_test
from contextd.values.answer import Hit

LIST = Path(__file__).parent / "bugs.json"
REPOSITORIES = (
    "aio-libs/aiohttp", "axios/axios", "BurntSushi/ripgrep", "caddyserver/caddy", "composer/composer", "hyperium/hyper",
    "jhy/jsoup", "jqlang/jq", "mockito/mockito", "psf/black",
)  # fmt: skip
REPORTED, DEVELOPED = 20, 10  # fixes of each repository: the newest are reported, the ones before them are for development
_WORDS = 15
_MOST_FILES = 3
_FIX = re.compile(r"\b(?:fix(?:e[sd]|ing)?|bug|crash(?:e[sd])?|regression|incorrect(?:ly)?|wrong(?:ly)?)\b", re.IGNORECASE)
_TRAILER = re.compile(
    r"(?im)(?<=\n)(?:[\w-]+-by|change-id|pr-url):.*$|(?<=\n)(?:refs?|closes?|fix(?:es|ed)?|resolves?)\s*:?\s+(?:#\d|https?:).*$"
)
_NOISE = re.compile(r"https?://\S+|\(?#\d+\)?|\bGH-\d+|```|^\s*[*-]\s", re.MULTILINE)
_FILE = re.compile(r"[\w./\\-]*\w\.(?:[ch]|cc|cpp|go|java|js|mjs|cjs|ts|kt|md|php|phpt|py|pyi|rs|test|toml|txt|y|l)\b")
_MASK = "(file)"
_HUNK = re.compile(r"(?m)^@@ -(\d+)(?:,(\d+))? ")
_TOKENS = 4000  # of the context that is judged


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file that a fix changes, in the version before it."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a context holds of a fix: of how many of its places all lines, and of how many the lines or the function's first."""

    places: int
    lines: int
    functions: int


@dataclass(frozen=True, slots=True)
class Fix:
    """A commit that mended something."""

    repository: str
    commit: str
    parent: str
    files: list[str]


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def question(repository: Path, commit: str) -> str:
    """What a fix says, without the names of files, numbers of issues and people."""
    message = _git(repository, "log", "-1", "--format=%B", commit)
    return " ".join(_FILE.sub(_MASK, _NOISE.sub(" ", _TRAILER.sub(" ", message))).split())


def counts(uri: str) -> bool:
    """Whether a file can be where a bug is: code, and no test or example."""
    return language_of(uri) in CODE and not is_test(uri) and not is_example(uri)


def _changed(repository: Path, commit: str) -> list[str] | None:
    """The code a commit changes; None if it makes, moves or removes any."""
    rows = [
        line.split("\t") for line in _git(repository, "show", "--format=", "--name-status", "-M", commit).splitlines() if line
    ]
    code = [(row[0], row[-1]) for row in rows if counts(row[-1])]
    return [uri for _, uri in code] if all(status == "M" for status, _ in code) else None


def fixes(name: str) -> Iterator[Fix]:
    """The fixes of a repository, the newest first."""
    repository = HISTORIES / name.rpartition("/")[2]
    for line in _git(repository, "log", "--no-merges", "--format=%H %P%x00%s").splitlines():
        numbers, _, subject = line.partition("\x00")
        commit, *parents = numbers.split()
        if len(parents) != 1 or not _FIX.search(subject) or len(question(repository, commit).split()) < _WORDS:
            continue
        files = _changed(repository, commit)
        if files and len(files) <= _MOST_FILES:
            yield Fix(name, commit, parents[0], files)


def write_list() -> None:
    """The newest fixes of every repository that fit."""
    found: dict[str, list[dict[str, object]]] = {"report": [], "develop": []}
    for name in REPOSITORIES:
        for place, fix in enumerate(fixes(name)):
            if place >= REPORTED + DEVELOPED:
                break
            found["report" if place < REPORTED else "develop"].append(asdict(fix))
    LIST.write_text(json.dumps(found, indent=1) + "\n")
    print({part: len(rows) for part, rows in found.items()})


def places(repository: Path, row: dict[str, Any]) -> list[Place]:
    """The places that a fix changes, in the files that count."""
    found = []
    for path in row["files"]:
        diff = _git(repository, "diff", "-U0", row["parent"], row["commit"], "--", path)
        for start, count in _HUNK.findall(diff):
            first, size = int(start), int(count or 1)
            found.append(Place(path, first, first + size - 1) if size else Place(path, max(1, first), first + 1))
    return found


def held(session: Session, text: str, changed: Sequence[Place]) -> Held:
    """What the context of a question holds of some places. The version before the fix is indexed."""
    shown = lines_shown(session.context(text, budget=_TOKENS).hits)
    lengths = {path: (session.structure.text(path) or "").count("\n") + 1 for path in {place.path for place in changed}}
    lines = functions = 0
    for place in changed:
        last = min(place.end_line, lengths[place.path])
        whole = all((place.path, line) in shown for line in range(min(place.start_line, last), last + 1))
        lines += whole
        functions += whole or (place.path, _signature(session, place)) in shown
    return Held(len(changed), lines, functions)


def lines_shown(hits: Iterable[Hit]) -> set[tuple[str, int]]:
    """The lines that some hits show, by path. What a cut left out is not there: the text of a hit is matched with its file."""
    found = set()
    for hit in hits:
        lines, at = hit.chunk.text.removesuffix("\n").split("\n"), hit.chunk.start_line
        gap = lines.index(CUT_MARK) if CUT_MARK in lines[:-1] else -1
        if gap >= 0:  # the first line, then a window that ends at the last line of the hit
            window = [line for line in lines[gap + 1 :] if line != CUT_MARK]
            found.add((hit.chunk.uri, at))
            found |= {(hit.chunk.uri, hit.chunk.end_line - back) for back in range(len(window))}
        else:
            found |= {(hit.chunk.uri, at + place) for place, line in enumerate(lines) if line != CUT_MARK}
    return found


def _signature(session: Session, place: Place) -> int:
    """The first line of the innermost definition around a place; 0 if there is none."""
    with session.structure.view() as view:
        documents = [document for document, uri in view.uris().items() if uri == place.path]
        defined = [one for _, one in view.links.outline(documents)]
    return max((one.line for one in defined if one.line <= place.start_line and one.end_line >= place.end_line), default=0)


def rankers(root: Path, *, deep: bool, alone: bool) -> Iterator[tuple[str, Ranker, Session | None]]:
    """Everything that is compared, over the checkout as it is now; the engine of contextd as it ships."""
    for name, commits in (("contextd", 1000), ("contextd without history", 0))[: 1 if alone else 2]:
        flags: dict[str, object] = {"git.max_commits": commits}
        if not deep:
            flags["embedding.deep_model"] = "none"
        session = contextd.open(root, home=linked_home("history" if commits else "no-history"), flags=flags)
        session.index(deep=deep)
        ranker: Ranker = lambda text, session=session: [  # noqa: E731
            hit.chunk.uri for hit in session.search(text, k=100, min_score=0.0).hits
        ]
        yield name, ranker, session if commits else None
        if not commits:
            yield "BM25", plain(session, 100), None
        session.close()
    other = None if alone else semble(root)
    if other is not None:
        yield "semble", other, None


def _check_out(root: Path, commit: str) -> None:
    """A commit, without the ignore files of its tests: semble ends with an error at a broken one."""
    _git(root, "checkout", "-q", "--force", "--detach", commit)
    for uri in _git(root, "ls-files", "*.gitignore").splitlines():
        if is_test(uri):
            (root / uri).unlink(missing_ok=True)


def _rank(ranked: list[str], wanted: list[str]) -> int:
    """The place of the first file of the fix, from 1; 0 if it is not there."""
    judged = [uri for uri in dict.fromkeys(ranked) if counts(uri)]
    return next((place for place, uri in enumerate(judged, 1) if uri in wanted), 0)


def _bootstrap(ours: list[bool], theirs: list[bool]) -> str:
    """The difference with its 95 % interval, by resampling the fixes."""
    difference = np.array(ours, float) - np.array(theirs, float)
    chance = np.random.default_rng(7)
    means = difference[chance.integers(0, len(difference), (10_000, len(difference)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def main() -> None:
    if "list" in sys.argv:
        write_list()
        return
    if not HISTORIES.is_dir():
        print("skipped: CONTEXTD_BENCH_HISTORIES names no folder of clones")
        return
    rows = _sampled(json.loads(LIST.read_text())["develop" if "--develop" in sys.argv else "report"])
    ranks: dict[str, list[int]] = {}
    contexts: list[Held] = []
    for row in reversed(rows):  # the oldest first: an index follows a checkout
        root = HISTORIES / row["repository"].rpartition("/")[2]
        if not root.is_dir():
            print(f"skipped {row['commit'][:10]}: no {root.name} below CONTEXTD_BENCH_HISTORIES")
            continue
        text = question(root, row["commit"])
        _check_out(root, row["parent"])
        for name, ranker, session in rankers(root, deep="--deep" in sys.argv, alone="--alone" in sys.argv):
            ranks.setdefault(name, []).append(_rank(ranker(text), row["files"]))
            if session is not None:
                contexts.append(held(session, text, places(root, row)))
        print(row["repository"], row["commit"][:10], {name: some[-1] for name, some in ranks.items()}, contexts[-1], flush=True)
    _report(ranks, contexts)


def _sampled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest of each repository, as many as `--sample` says."""
    if "--sample" not in sys.argv:
        return rows
    most, seen = int(sys.argv[sys.argv.index("--sample") + 1]), Counter[str]()
    found = []
    for row in rows:
        seen[row["repository"]] += 1
        if seen[row["repository"]] <= most:
            found.append(row)
    return found


def _report(ranks: dict[str, list[int]], contexts: Sequence[Held]) -> None:
    for k in (1, 5):
        right = {name: [0 < rank <= k for rank in some] for name, some in ranks.items()}
        print(f"Acc@{k}", {name: round(float(np.mean(some)), 3) for name, some in right.items()})
        for name, some in right.items():
            if name != "contextd":
                print(f"  contextd beside {name}: {_bootstrap(right['contextd'], some)}")
    for what, counts in (
        ("lines", [one.lines for one in contexts]),
        ("lines or function", [one.functions for one in contexts]),
    ):
        some = np.mean([count > 0 for count in counts])
        whole = np.mean([count == one.places for count, one in zip(counts, contexts, strict=True)])
        print(f"in {_TOKENS} tokens, {what}: of one place {some:.3f}, of all places {whole:.3f}")


if __name__ == "__main__":
    main()
