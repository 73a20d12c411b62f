"""The scrubber on code that people publish: every find in eight repositories, commits included, and its speed.

`python -m benchmarks.secrets` prints the finds that nobody has judged yet, the number of false ones per 5,000 lines, and the
megabytes a CPU second, beside a plain search for the same words. Verdicts are in `secrets.json`: `credential` for a value that
stands where a secret belongs, `false` for anything else.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import HISTORIES, REPOS
from contextd.chunking.commit_text import commit_text
from contextd.chunking.parse import decode
from contextd.ports.world import FileState
from contextd.privacy import scrub
from contextd.sources.commits import Commits
from contextd.sources.files import Boundaries, Files
from contextd.sources.filetypes import DOCUMENTS, language_by_content, language_of

NAMES = ("flask", "express", "gin", "gson", "monolog", "zod", "axum", "click")
VERDICTS = Path(__file__).parent / "secrets.json"
COMMITS = 1000
HOSTILE = (
    b"password=", b'password = "x1y2z3w4"\n', b"password ", b'password="', b"-----BEGIN PRIVATE KEY-----\n", b"<password ",
    b"insert into t (password) values (", b"user,password,token\n", b"kind: Secret\ndata:\n", b"name: password\n",
    b'variable "password" {\n', b"password for the a b c d ", b"https://", b"aws secret ", b"eyJ",
)  # fmt: skip


def main() -> None:
    known = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    total, false = 0, 0
    for name in NAMES:
        root = REPOS / name
        if not root.is_dir():
            print(f"skipped {name}: not checked out below CONTEXTD_BENCH_REPOS")
            continue
        lines, finds = 0, dict[str, str]()
        for place, before, after, found in texts(root, HISTORIES / name):
            lines += before.count(b"\n")
            rows = after.split(b"\n")
            finds |= {f"{place}:{find.line}": f"[{find.rule}] {rows[find.line - 1].decode().strip()[:120]}" for find in found}
        new = {place: row for place, row in finds.items() if place not in known.get(name, {})}
        wrong = [place for place in finds if known.get(name, {}).get(place, {}).get("verdict") == "false"]
        total, false = total + lines, false + len(wrong) + len(new)
        print(f"{name}: {lines} lines, {len(finds)} finds, {len(wrong)} false, {len(new)} not judged yet")
        for place, row in new.items():
            print(f"  {place} {row}")
    print(f"false finds per 5,000 lines: {5000 * false / max(total, 1):.2f} in {total} lines")
    speed()


def texts(root: Path, history: Path) -> Iterator[tuple[str, bytes, bytes, list]]:  # type: ignore[type-arg]
    """Every text of a repository before and after scrubbing: files, then commits."""
    files = Files(root.resolve(), Boundaries())
    for state in files.scan():
        read = files.read(state.uri) if isinstance(state, FileState) else None
        if isinstance(read, tuple) and language_of(state.uri) not in DOCUMENTS:
            data = decode(read[0])[0].encode()
            yield state.uri, data, *scrub(data, language_by_content(state.uri, read[0]), path=state.uri)
    commits = Commits((history if history.is_dir() else root).resolve(), COMMITS)
    for state in list(commits.scan()):
        read = commits.read(state.uri) if isinstance(state, FileState) else None
        if isinstance(read, tuple):
            text, finds = commit_text(read[0], ())
            yield state.uri[:19], text.encode(), text.encode(), finds


def speed() -> None:
    """Megabytes a CPU second: of the repositories, of random text, and of texts made to be slow."""
    usual = [data for name in NAMES if (REPOS / name).is_dir() for _, data, *_ in texts_only(REPOS / name)]
    words = re.compile(rb"(?i)password|secret|token")
    scrubbed, searched = rate(usual, lambda data: scrub(data, "")), rate(usual, lambda data: words.findall(data))
    print(f"usual text: {scrubbed:.1f} MB a CPU second ({scrubbed / searched:.2f} of a plain search for three words)")
    chance = random.Random(1)
    hostile = [unit * (300_000 // len(unit)) for unit in HOSTILE] + [chance.randbytes(200_000).hex().encode()]
    slow = {
        unit.decode()[:20]: rate([data], lambda data: scrub(data, "")) for unit, data in zip(HOSTILE, hostile, strict=False)
    }
    slowest = min(slow.items(), key=lambda one: one[1])
    print(f"hostile text: {rate(hostile, lambda data: scrub(data, '')):.1f} MB a CPU second over all, slowest {slowest}")


def texts_only(root: Path) -> Iterator[tuple[str, bytes]]:
    files = Files(root.resolve(), Boundaries())
    for state in files.scan():
        read = files.read(state.uri) if isinstance(state, FileState) else None
        if isinstance(read, tuple):
            yield state.uri, read[0]


def rate(texts: list[bytes], work) -> float:  # type: ignore[no-untyped-def]
    began = time.process_time()
    for data in texts:
        work(data)
    return sum(map(len, texts)) / 1e6 / max(time.process_time() - began, 1e-6)


if __name__ == "__main__":
    main()
