"""Speed of memories: telling one beside a bare durable insert, importing ten thousand, recalling among them.

`python -m benchmarks.memories`. The peer is an insert of the same text into a table of one column with the same settings of
SQLite, in the same run.
"""

from __future__ import annotations

import random
import shutil
import statistics
import time
from pathlib import Path

import apsw
import numpy as np

from benchmarks.data import linked_home
from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.app.session import Session

COUNT = 10_000
_CHANCE = random.Random(3)
_WHO = "I|my sister|the team|Tom|our dog|grandma|the neighbor|my boss".split("|")
_DOES = "likes|bought|uses|avoids|repairs|plans|collects|forgot|prefers|sold".split("|")
_WHAT = "tea|running shoes|a tent|the database|old clocks|sailing|garlic|a piano|train trips|blue paint|Python|kites".split("|")
_WHEN = "on Mondays|since May|every week|last summer|at the lake|in Lisbon|for {} euros|with {} friends|at {} pm".split("|")


_QUESTIONS = (
    "Help me find running shoes under 150€",
    "plan my trip with friends next week",
    "recommend a tent for my sister",
    "what do I repair on Mondays",
    "suggest a gift for my boss",
    "plan a weekend at the lake with our dog",
    "which piano should I buy",
    "where did I buy old clocks",
)


def facts(count: int) -> list[str]:
    """Texts that differ from each other."""
    found: dict[str, None] = {}
    while len(found) < count:
        when = _CHANCE.choice(_WHEN).format(_CHANCE.randrange(2, 900))
        number = _CHANCE.randrange(10_000)
        found[f"{_CHANCE.choice(_WHO)} {_CHANCE.choice(_DOES)} {_CHANCE.choice(_WHAT)} {when}, note {number}"] = None
    return list(found)


def telling(session: Session, folder: Path) -> None:
    """One by one, beside a bare insert and the embedding."""
    bare = apsw.Connection(str(folder / "bare.db"))
    bare.execute("pragma journal_mode = wal; pragma synchronous = full; create table told (text text)").fetchall()
    inserts, embeds, tells = [], [], []
    for text in facts(60):
        began = time.perf_counter()
        bare.execute("begin immediate")
        bare.execute("insert into told values (?)", (text,))
        bare.execute("commit")
        inserts.append(time.perf_counter() - began)
        began = time.perf_counter()
        for embedder in (session.setup.static, session.setup.deep()):
            if embedder is not None:
                embedder.documents([text])
        embeds.append(time.perf_counter() - began)
        began = time.perf_counter()
        session.remember(text)
        tells.append(time.perf_counter() - began)
    insert, embed, tell = (statistics.median(times) * 1000 for times in (inserts, embeds, tells))
    print(f"remember {tell:.1f} ms, the embedding {embed:.1f} ms, a bare insert {insert:.2f} ms")
    print(f"  without the embedding {(tell - embed) / insert:.1f} times the insert")


def many(session: Session) -> None:
    """Ten thousand at once, found by words and static vectors when it returns; then kinds and deep vectors."""
    began = time.perf_counter()
    done = portability.imported(session, "\n".join(f"- {text}" for text in facts(COUNT)))
    seconds = time.perf_counter() - began
    print(f"imported {done.counts['added']} of {COUNT}: {COUNT / seconds:.0f} a second")
    times = []
    for text in facts(100):
        question = " ".join(text.split()[:6])
        began = time.perf_counter()
        session.recall(question)
        times.append((time.perf_counter() - began) * 1000)
    print(f"recall among them: p50 {np.percentile(times, 50):.1f} ms, p95 {np.percentile(times, 95):.1f} ms")


def facets(session: Session) -> None:
    """A question through facets among all of them, as soon as they have deep vectors."""
    session.memories.enrich()
    times = []
    for number in range(80):
        began = time.perf_counter()
        session.facets(_QUESTIONS[number % len(_QUESTIONS)])
        times.append((time.perf_counter() - began) * 1000)
    print(f"facets among them: p50 {np.percentile(times, 50):.1f} ms, p95 {np.percentile(times, 95):.1f} ms")


def main() -> None:
    home = linked_home("memories").absolute()
    for leftover in home.glob("*.db*"):
        leftover.unlink()
    shutil.rmtree(home / "projects", ignore_errors=True)
    session = open_session(None, home=home)
    telling(session, home)
    many(session)
    facets(session)


if __name__ == "__main__":
    main()
