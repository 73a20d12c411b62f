"""What one write costs the next question: a warm question, and the first one after one document changed.

`python -m benchmarks.writes` makes 40,000 small documents and 5,000 memories, asks warm, then writes one and asks again, 200
times. CPU milliseconds of this process, median and 95th percentile; the ratio is what counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import contextd
from benchmarks.data import linked_home
from benchmarks.memories import facts
from contextd.app import portability
from contextd.chunking.cut import Limits
from contextd.chunking.parse import parse
from contextd.models.tokens import Estimate
from contextd.ports.store import Batch, Lease, Written
from contextd.stores.lease import lease
from contextd.stores.sqlite.store import SqliteStore, open_index
from contextd.text.terms import key
from contextd.values.document import DocumentRow, Stamp, access_list_id
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted, Words

DOCUMENTS, MEMORIES, ROUNDS = 40_000, 5_000, 200
WORKSPACE = 77
_CHANCE = random.Random(3)
_WORDS = [f"word{number}" for number in range(5_000)]
_ASKED = {key(f"word{number}"): 1.0 for number in range(6)}


def text() -> str:
    """Some lines of random words."""
    return "\n".join(" ".join(_CHANCE.choices(_WORDS, k=8)) for _ in range(6))


def put(store: SqliteStore, lease: Lease, numbers: list[int]) -> None:
    """Write documents by number; a number that is there is replaced."""
    written: list[Written] = []
    readers = frozenset({"owner"})
    for number in numbers:
        parsed = parse(text().encode(), "text", Limits(), Estimate().count)
        uri, content = f"folder{number % 500}/file{number}.txt", _CHANCE.getrandbits(62)
        row = DocumentRow(
            number, 5, uri, content, access_list_id(readers), "text", Stamp(1, 2, 3, 4), b"digest", 1_000_000 + number
        )
        written.append((row, parsed, {}))
    store.apply(Batch(written, granted=[readers]), lease)


def ask(store: SqliteStore) -> None:
    """What a question asks of the store: words of chunks, documents and paths, and texts."""
    with store.view(Scope((WORKSPACE,), Reader("owner"))) as view:
        fields = ("chunk", "document", "folder")
        asked = view.retrieve(Wanted(200, {field: Words(field, _ASKED, 200) for field in fields}))
        found = [*asked.found["chunk"], *asked.found["document"]]
        asked.scores([one.chunk for one in found])
        view.get([one.chunk for one in found[:12]])


def compare(what: str, question: Callable[[], object], write: Callable[[int], object]) -> None:
    """Print warm and after a write, side by side."""
    question()
    warm, after = [], []
    for number in range(ROUNDS):
        warm.append(_cpu(question))
        write(number)
        after.append(_cpu(question))
    figures = [float(np.percentile(times, share)) for times in (warm, after) for share in (50, 95)]
    print(
        f"{what}: warm {figures[0]:.1f} / {figures[1]:.1f} ms, after one write {figures[2]:.1f} / {figures[3]:.1f} ms "
        f"(p50 / p95), {figures[2] / figures[0]:.2f} times, mean {np.mean(after) / np.mean(warm):.2f} times"
    )


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def main() -> None:
    with TemporaryDirectory() as folder, lease(Path(folder), "benchmark") as held:
        store = open_index(Path(folder), WORKSPACE)
        for start in range(0, DOCUMENTS, 1000):
            put(store, held, list(range(start, start + 1000)))
        store.fold(held)
        compare(f"{DOCUMENTS} documents", lambda: ask(store), lambda _: put(store, held, [_CHANCE.randrange(DOCUMENTS)]))
        store.close()
    session = contextd.open(None, home=linked_home("writes"), flags={"embedding.deep_model": "none"})
    portability.imported(session, "\n".join(f"- {text}" for text in facts(MEMORIES)))
    more = iter(facts(10 * ROUNDS))
    compare(f"{MEMORIES} memories", lambda: session.recall("what does Ana eat"), lambda _: session.remember(next(more)))
    session.close()


if __name__ == "__main__":
    main()
