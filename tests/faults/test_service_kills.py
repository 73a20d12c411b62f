"""The service is killed at random moments while clients write through it: what was acknowledged is there. `make campaign` runs it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import ContextdError, NotFound
from contextd.surfaces.client.client import Client
from tests.conftest import SAMPLE, new_home, written
from tests.faults.test_sweeps import keep
from tests.http.test_process import Process

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]
ROUNDS = int(os.environ.get("CONTEXTD_KILLS", "200"))
WRITERS = 3
MOST_SECONDS = 15.0  # of any call; it ends long before, or the test fails
MOST_ITEMS = 8  # of one writer, of each sort


@dataclass
class Writer:
    """Writes through the service until it is told to stop, and knows what was acknowledged."""

    name: str
    client: Client
    chance: random.Random
    memories: dict[str, str] = field(default_factory=dict)  # id and text, acknowledged
    gone: set[str] = field(default_factory=set)  # ids whose removal was acknowledged
    documents: dict[str, str] = field(default_factory=dict)  # path and the word in its text
    doubtful: set[str] = field(default_factory=set)  # ids and paths of calls that failed
    acknowledged: int = 0
    failed: int = 0
    slowest: float = 0.0
    count: int = 0
    surprise: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            began = time.monotonic()
            try:
                self.chance.choice((self._remember, self._change, self._forget, self._store, self._store, self._erase))()
                self.acknowledged += 1
            except ContextdError:
                self.failed += 1
                stop.wait(0.02)
            except Exception as error:  # a client of a dead service gets an error of ours
                self.surprise.append(repr(error))
            self.slowest = max(self.slowest, time.monotonic() - began)

    def _word(self) -> str:
        self.count += 1
        return f"{self.name}q{self.count}z"

    def _remember(self) -> None:
        if len(self.memories) >= MOST_ITEMS:
            return self._forget()
        word = self._word()
        saved = self.client.remember(f"The key {word} hangs in the hall", kind="fact").memory
        self.memories[saved.id] = word
        return None

    def _change(self) -> None:
        if not self.memories:
            return self._remember()
        chosen, word = self.chance.choice(sorted(self.memories)), self._word()
        self.doubtful.add(chosen)
        self.client.memories.update(chosen, text=f"The key {word} hangs in the hall")
        self.memories[chosen] = word
        self.doubtful.discard(chosen)
        return None

    def _forget(self) -> None:
        if not self.memories:
            return self._remember()
        chosen = self.chance.choice(sorted(self.memories))
        self.doubtful.add(chosen)
        self.client.forget(chosen)
        del self.memories[chosen]
        self.gone.add(chosen)
        self.doubtful.discard(chosen)
        return None

    def _store(self) -> None:
        path, word = f"{self.name}/{self.chance.randrange(MOST_ITEMS)}.md", self._word()
        self.doubtful.add(path)
        self.client.documents().add(path, f"# Notes\n\nThe box {word} stands in the cellar.\n")
        self.documents[path] = word
        self.doubtful.discard(path)

    def _erase(self) -> None:
        if not self.documents:
            return self._store()
        path = self.chance.choice(sorted(self.documents))
        self.doubtful.add(path)
        self.client.documents().delete(path)
        del self.documents[path]
        self.gone.add(path)
        self.doubtful.discard(path)
        return None

    def lost(self, client: Client) -> list[str]:
        """Return acknowledged writes that are not there, then take what is there for the truth."""
        there = {one.id: one.text for one in client.memories.all() if f" {self.name}q" in one.text}
        listed = {one["path"] for one in client.connection.get("/documents", {"limit": 1000})["items"]}
        found = [
            f"memory {key}"
            for key, word in self.memories.items()
            if key not in self.doubtful and word not in there.get(key, "")
        ]
        found += [f"memory {key} is back" for key in self.gone - self.doubtful if key in there]
        found += [f"document {path}" for path in self.documents if path not in self.doubtful and path not in listed]
        for path, word in self.documents.items():
            if path not in self.doubtful and not _has(client, path, word):
                found.append(f"text of {path}")
        self.memories = {key: text.split()[2] for key, text in there.items()}
        self.documents = {path: word for path, word in self.documents.items() if path in listed and path not in self.doubtful}
        for path in sorted(path for path in listed if path.startswith(f"{self.name}/") and path not in self.documents):
            client.documents().delete(path)  # its text is unknown
        self.gone, self.doubtful = set(), set()
        return found


def _has(client: Client, path: str, word: str) -> bool:
    hits = client.search(f"box {word} cellar", k=30, min_score=0, cache=False).hits
    return any(hit.chunk.uri == path and f" {word} " in hit.chunk.text for hit in hits)


def _left(home: Path) -> list[int]:
    """Processes of a data directory."""
    mark, found = f"CONTEXTD_HOME={home}".encode(), []
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and int(one.name) != os.getpid():
            try:
                if mark in (one / "environ").read_bytes().split(b"\0"):
                    found.append(int(one.name))
            except OSError:
                continue
    return found


def test_nothing_acknowledged_is_lost_by_kills_of_the_service(tmp_path: Path, weights: Path | None) -> None:
    project, home = written(tmp_path / "project", SAMPLE), new_home(tmp_path / "home", weights)
    session = open_session(project, home=home, environment={})
    session.index()
    session.close()
    chance, starts = random.Random(16), list[float]()
    writers: list[Writer] = []
    early = 0
    for number in range(ROUNDS):
        if chance.random() < 0.1:  # before it listens
            early += 1
            _killed_early(home, chance.uniform(0, 1.2))
        began = time.monotonic()
        process = Process(home)
        starts.append(time.monotonic() - began)
        client = Client(home=home, timeout=MOST_SECONDS, retries=0)
        if not writers:
            writers = [Writer(f"w{index}", client, random.Random(index)) for index in range(WRITERS)]
        lost = [one for writer in writers for one in writer.lost(client)]
        assert not lost, (number, lost)
        for writer in writers:
            writer.client = Client(home=home, timeout=MOST_SECONDS, retries=0)
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
        for thread in threads:
            thread.start()
        if chance.random() < 0.8:  # models are loaded by the first write; most kills come after it
            _await_acknowledged(writers)
        time.sleep(chance.uniform(0, 0.7))
        process.stop(signal.SIGKILL)
        time.sleep(0.05)
        stop.set()
        for thread in threads:
            thread.join(MOST_SECONDS + 5)
            assert not thread.is_alive(), "a client hangs"
    end = time.monotonic() + 10
    while _left(home) and time.monotonic() < end:
        time.sleep(0.1)
    assert not _left(home), "processes are left"
    last = Process(home)
    client = Client(home=home, retries=0)
    assert not [one for writer in writers for one in writer.lost(client)]
    with pytest.raises(NotFound):
        client.memories.get("f" * 32)
    assert last.stop() == 0
    assert not [one for writer in writers for one in writer.surprise]
    keep(
        f"{ROUNDS} kills of the service under writes",
        acknowledged=sum(writer.acknowledged for writer in writers),
        refused=sum(writer.failed for writer in writers),
        lost=0,
        killed_before_listening=early,
        slowest_call_seconds=round(max(writer.slowest for writer in writers), 2),
        slowest_start_seconds=round(max(starts), 2),
    )


def _await_acknowledged(writers: list[Writer]) -> None:
    before, end = sum(one.acknowledged for one in writers), time.monotonic() + 10
    while sum(one.acknowledged for one in writers) == before and time.monotonic() < end:
        time.sleep(0.01)


def _killed_early(home: Path, seconds: float) -> None:
    command = [sys.executable, "-m", "contextd", "serve", "--port", "0", "--no-watch"]
    started = subprocess.Popen(
        command, env={**os.environ, "CONTEXTD_HOME": str(home)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(seconds)
    started.kill()
    started.wait(10)
