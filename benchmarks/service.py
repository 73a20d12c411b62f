"""The service under load: open loop at fixed rates, what HTTP adds to a search, and answers from the cache.

`python -m benchmarks.service FOLDER [--seconds 30] [--rates 5,10,15,30]` indexes a folder in a data directory of its own,
starts the service in a process, and sends different questions at each rate, whether or not earlier ones are answered. Times
are wall times as a client sees them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.data import BENCH, linked_home
from contextd.app.assemble import open_session
from contextd.app.serving import running
from contextd.surfaces.client.client import Client


def questions(count: int) -> list[str]:
    """Different questions: those of the answer set, each with another word of the others in front."""
    own = [json.loads(line)["query"] for line in (BENCH / "answers" / "answers_dev.jsonl").read_text().splitlines()]
    words = sorted({word for one in own for word in one.split() if word.isalpha() and len(word) > 4})
    return [f"{words[(number * 7) % len(words)]} {own[number % len(own)]}" for number in range(count)]


def cpu(pid: int) -> float:
    """Processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(client: Client, asked: list[str], rate: float, seconds: float) -> tuple[list[float], int]:
    """Send questions at a rate. Returns the times of the answers in milliseconds, and the number of errors."""
    times, errors, threads = list[float](), [0], list[threading.Thread]()

    def one(text: str) -> None:
        began = time.perf_counter()
        try:
            client.search(text, k=12, cache=False)
            times.append((time.perf_counter() - began) * 1000)
        except Exception:
            errors[0] += 1

    start = time.perf_counter()
    for number in range(int(rate * seconds)):
        time.sleep(max(0.0, start + number / rate - time.perf_counter()))
        thread = threading.Thread(target=one, args=(asked[number % len(asked)],))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return times, errors[0]


def shown(times: list[float]) -> str:
    return f"p50 {np.percentile(times, 50):.1f} ms, p95 {np.percentile(times, 95):.1f} ms"


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("skipped: name a folder")
        return
    folder, arguments = sys.argv[1], sys.argv[2:]
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    seconds, rates = (
        float(options.get("--seconds", 30)),
        [float(one) for one in options.get("--rates", "5,10,15,30").split(",")],
    )
    home = linked_home("service").absolute()
    session = open_session(folder, home=home, flags={"embedding.deep_model": "none"})
    session.index()
    (home / "config.toml").write_text('[context.embedding]\ndeep_model = "none"\n')
    print(f"{folder}: {session.summary()['chunks']} chunks")
    asked = questions(4000)
    for text in asked[:20]:
        session.search(text, cache=False)
    began = time.process_time()
    for text in asked[20:120]:
        session.search(text, cache=False)
    alone = (time.process_time() - began) * 10
    environment = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen([sys.executable, "-m", "contextd", "serve", "--port", "0", "--no-watch"], env=environment)
    while running(home) is None:
        time.sleep(0.1)
    try:
        client = Client(home=home, project=folder, timeout=60)
        for text in asked[:20]:
            client.search(text, cache=False)
        before = cpu(process.pid)
        for text in asked[20:120]:
            client.search(text, cache=False)
        served = (cpu(process.pid) - before) * 10
        print(f"search in process {alone:.1f} ms CPU, in the service {served:.1f} ms CPU")
        client.search(asked[0])
        times = []
        for _ in range(300):
            began = time.perf_counter()
            client.search(asked[0])
            times.append((time.perf_counter() - began) * 1000)
        print(f"cached, over HTTP: {shown(times)}")
        for rate in rates:
            found, errors = load(client, asked, rate, seconds)
            print(f"{rate:g} a second for {seconds:g} s: {shown(found)}, {errors} errors, {len(found)} answers", flush=True)
    finally:
        process.terminate()
        process.wait(20)


if __name__ == "__main__":
    main()
