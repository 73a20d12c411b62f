"""The service under load: open loops with and without a rebuild, memory, saturation, HTTP and the cache.

`python -m benchmarks.service FOLDER [--parts cpu,cached,rates,rebuild,memory,saturation] [--rates 5,15,30] [--seconds 120]
[--further 20000]`
indexes a folder in a data directory of its own and starts the service in a process. In an open loop, questions are sent at a
rate whether or not earlier ones are answered. Times are wall times as a client on the same machine sees them, so they count
only on an idle machine; CPU times and ratios can be compared between machines.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

from benchmarks.data import BENCH, linked_home
from contextd.app.assemble import open_session
from contextd.app.serving import running
from contextd.app.session import Session
from contextd.surfaces.client.client import Client

PARTS = ("cpu", "cached", "rates", "rebuild", "memory", "saturation")
FIRST = 2000  # questions before memory is measured
STATIC = '[context.embedding]\ndeep_model = "none"\n'


def questions(count: int) -> list[str]:
    """Different questions: those of the answer set, each with another word of the others in front."""
    own = [json.loads(line)["query"] for line in (BENCH / "answers" / "answers_dev.jsonl").read_text().splitlines()]
    words = sorted({word for one in own for word in one.split() if word.isalpha() and len(word) > 4})
    made = dict.fromkeys(
        f"{words[(number * 7 + number // len(own)) % len(words)]} {own[number % len(own)]}" for number in range(count * 2)
    )
    return list(made)[:count]


def cpu(pid: int) -> float:
    """Processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Memory of a process in megabytes."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


class Serving:
    """The service of a data directory, in a process."""

    def __init__(self, home: Path, folder: str) -> None:
        environment = {**os.environ, "CONTEXTD_HOME": str(home)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contextd", "serve", "--port", "0", "--no-watch"], env=environment
        )
        while (known := running(home)) is None or known.pid != self.process.pid:
            time.sleep(0.1)
        self.pid, self.url = self.process.pid, known.url
        self.client = Client(home=home, project=folder, timeout=60)

    def ask(self, text: str) -> None:
        """Ask one question, past the cache."""
        self.client.search(text, k=12, cache=False)

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(30)


@contextmanager
def served(home: Path, folder: str, warm: list[str]) -> Iterator[Serving]:
    """A service that has answered some questions."""
    one = Serving(home, folder)
    try:
        for text in warm:
            one.ask(text)
        yield one
    finally:
        one.close()


def open_loop(ask: Callable[[str], None], asked: list[str], rate: float, seconds: float) -> tuple[list[float], Counter[str]]:
    """Send questions at a rate. Returns the times of the answers in milliseconds, and how often each error came."""
    times, errors, threads = list[float](), Counter[str](), list[threading.Thread]()

    def one(text: str) -> None:
        began = time.perf_counter()
        try:
            ask(text)
            times.append((time.perf_counter() - began) * 1000)
        except Exception as error:
            errors[str(error)[:60]] += 1

    start = time.perf_counter()
    for number in range(int(rate * seconds)):
        time.sleep(max(0.0, start + number / rate - time.perf_counter()))
        thread = threading.Thread(target=one, args=(asked[number % len(asked)],))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return times, errors


def closed_loop(asks: list[Callable[[str], None]], asked: list[str], callers: int, seconds: float | None = None) -> float:
    """Ask as fast as answers come, all questions or for some seconds. Returns the number of answers a second."""
    left, done, start = iter(asked), [0] * callers, time.perf_counter()
    lock = threading.Lock()

    def work(number: int) -> None:
        while seconds is None or time.perf_counter() - start < seconds:
            with lock:
                text = next(left, None)
            if text is None:
                return
            asks[number % len(asks)](text)
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - start)


@contextmanager
def pinging(url: str) -> Iterator[list[float]]:
    """Asks `/healthz`, which the event loop answers by itself, 50 times a second; yields the times in milliseconds."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    times, over = list[float](), threading.Event()

    def ping() -> None:
        connection = HTTPConnection(host, int(port), timeout=30)
        while not over.wait(0.02):
            began = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            times.append((time.perf_counter() - began) * 1000)

    thread = threading.Thread(target=ping)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()


@contextmanager
def rebuilding(home: Path, folder: str) -> Iterator[list[int]]:
    """A rebuild in a process of the lowest priority, started again when it ends; yields how many were begun."""
    begun, over = [0], threading.Event()
    environment = {**os.environ, "CONTEXTD_HOME": str(home)}
    command = ["nice", "-n", "19", sys.executable, "-m", "contextd", "rebuild", "--force"]

    def run() -> None:
        while not over.is_set():
            begun[0] += 1
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while process.poll() is None:
                if over.wait(0.2):
                    process.terminate()
                    process.wait(60)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield begun
    finally:
        over.set()
        thread.join()


def shown(times: list[float], *, top: int = 95) -> str:
    return f"p50 {np.percentile(times, 50):.1f} ms, p{top} {np.percentile(times, top):.1f} ms"


def measure_cpu(session: Session, service: Serving, asked: list[str]) -> None:
    """The same questions in process and over HTTP, in CPU time."""
    for text in asked[:20]:
        session.search(text, k=12, cache=False)
    began = time.process_time()
    for text in asked[20:220]:
        session.search(text, k=12, cache=False)
    alone = (time.process_time() - began) * 5
    before = cpu(service.pid)
    for text in asked[20:220]:
        service.ask(text)
    there = (cpu(service.pid) - before) * 5
    more = f"{there - alone:+.1f} ms, {there / alone:.2f} times"
    print(f"search in process {alone:.1f} ms CPU, in the service {there:.1f} ms CPU: {more}", flush=True)


def measure_cached(session: Session, service: Serving, text: str) -> None:
    """An answer that is given again."""
    for where, ask in (("in process", session.search), ("over HTTP", service.client.search)):
        ask(text, k=12)
        times = []
        for _ in range(500):
            began = time.perf_counter()
            ask(text, k=12)
            times.append((time.perf_counter() - began) * 1000)
        print(f"cached, {where}: {shown(times)}")


def measure_rate(service: Serving, asked: list[str], rate: float, seconds: float) -> None:
    before = cpu(service.pid)
    with pinging(service.url) as pings:
        found, errors = open_loop(service.ask, asked, rate, seconds)
    share = (cpu(service.pid) - before) / seconds * 100
    print(
        f"{rate:g} a second for {seconds:g} s: {shown(found)}, errors {dict(errors) or 'none'}, {len(found)} answers, "
        f"{share:.0f} % of a processor; event loop: {shown(pings, top=99)}",
        flush=True,
    )


def measure_memory(service: Serving, asked: list[str], further: int) -> None:
    """Memory after the first questions and after many more; each is asked several times, past the cache."""
    closed_loop([service.ask], asked[:FIRST], 2)
    first = last = resident(service.pid)
    for done in range(0, further, FIRST):
        closed_loop([service.ask], [asked[number % len(asked)] for number in range(done, done + FIRST)], 2)
        last = resident(service.pid)
        more = f"{last:.0f} MB after {done + FIRST} more: {(last / first - 1) * 100:+.1f} %"
        print(f"memory {first:.0f} MB after {FIRST} questions, {more}", flush=True)


def measure_saturation(home: Path, folder: str, asked: list[str], seconds: float) -> None:
    """Answers a second with one process, and with two that have a copy of the data each."""
    copied = home.with_name(f"{home.name}-copy")
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(home, copied, symlinks=True, ignore=shutil.ignore_patterns("service"))
    with served(home, folder, asked[:50]) as first, served(copied, folder, asked[:50]) as second:
        one = closed_loop([first.ask], asked, 8, seconds)
        two = closed_loop([first.ask, second.ask], asked, 8, seconds)
    print(f"saturation: {one:.1f} answers a second with one process, {two:.1f} with two ({two / one:.2f} times)")
    shutil.rmtree(copied, ignore_errors=True)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("skipped: name a folder")
        return
    folder, arguments = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    parts = options.get("--parts", ",".join(PARTS)).split(",")
    seconds, further = float(options.get("--seconds", 120)), int(options.get("--further", 20_000))
    home = linked_home("service").absolute()
    (home / "config.toml").write_text(STATIC)
    session = open_session(folder, home=home, flags={"embedding.deep_model": "none"})
    session.index()
    asked = questions(4000)
    print(f"{folder}: {session.summary()['chunks']} chunks, {len(set(asked))} different questions", flush=True)
    with served(home, folder, asked[:50]) as service:
        if "cpu" in parts:
            measure_cpu(session, service, asked)
        if "cached" in parts:
            measure_cached(session, service, asked[0])
        if "rates" in parts:
            for rate in options.get("--rates", "5,15,30").split(","):
                measure_rate(service, asked, float(rate), seconds)
        if "rebuild" in parts:
            with rebuilding(home, folder) as begun:
                measure_rate(service, asked, 15.0, seconds)
            print(f"beside {begun[0]} rebuilds")
    if "memory" in parts:
        with served(home, folder, asked[:50]) as service:
            measure_memory(service, asked, further)
    if "saturation" in parts:
        measure_saturation(home, folder, asked, min(seconds, 30))


if __name__ == "__main__":
    main()
