"""What the proxy costs: time added to a request, and 200 streams at once.

`python -m benchmarks.proxy FOLDER [--seconds 20]` indexes a folder and 1,000 facts in a data directory of its own, and starts
the service and an upstream in processes of their own. Times are wall times of a client that keeps its connection
open, beside the same request sent to the upstream directly. The lag of the event loop is the time of `/healthz` meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import linked_home
from benchmarks.service import cpu, questions
from contextd.app.assemble import open_session
from contextd.app.serving import running
from contextd.values.memory import Memory

_CHOICE = b'"choices":[{"index":0,"delta":{"content":"word "}}]'
_EVENT = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",' + _CHOICE + b"}\n\n"
_DONE = b"data: [DONE]\n\n"
_BODY = b'{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}'
_THINGS = "boat garden piano bicycle kitchen camera winter coat desk lamp suitcase bread oven tent guitar violin".split()
_STREAMS, _RATE = 200, 50  # streams at once, events of each a second


async def upstream(port: int) -> None:
    """Answer every request; a stream has `_RATE` events a second, for as many seconds as its model is named."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                body = json.loads(await reader.readexactly(length))
                if not body.get("stream"):
                    writer.write(
                        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY
                    )
                    continue
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                for _ in range(_RATE * int(body["model"])):
                    writer.write(b"%x\r\n%s\r\n" % (len(_EVENT), _EVENT))
                    await asyncio.sleep(1 / _RATE)
                writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(_DONE), _DONE))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


def request(port: int, text: str, *, headers: str = "", **more: Any) -> bytes:
    """The bytes of a chat request."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n{headers}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def timed(port: int, requests: list[bytes]) -> tuple[list[float], list[str]]:
    """Milliseconds of each request, one after the other on one connection, and the status that the proxy told."""
    times, told = list[float](), list[str]()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for one in requests:
            began, data = time.perf_counter(), b""
            connection.sendall(one)
            while not data.endswith(_BODY):
                data += connection.recv(1 << 16)
            times.append((time.perf_counter() - began) * 1000)
            lines = dict(line.split(": ", 1) for line in data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:])
            told.append(lines.get("x-contextd-status", ""))
    return times, told


def shown(times: list[float]) -> str:
    return ", ".join(f"p{share} {np.percentile(times, share):6.2f} ms" for share in (50, 95, 99))


def memory(pid: int) -> float:
    """Resident memory of a process in MB."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


async def _stream(port: int, seconds: int, counts: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(port, "Hello there", model=str(seconds), stream=True, headers="x-contextd-bypass: 1\r\n"))
    seen, tail = 0, b""
    while not tail.endswith(b"0\r\n\r\n") and (part := await reader.read(1 << 16)):
        seen += part.count(b"data: {")
        tail = (tail + part)[-8:]
    counts.append(seen)
    writer.close()


def probe(port: int, seconds: float) -> None:
    """Print the milliseconds of `/healthz`, twenty times a second.

    In a process of its own: the client of the streams has a lag, too.
    """
    times = list[float]()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began, data = time.perf_counter(), b""
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            while b'{"status":"ok"}' not in data:
                part = connection.recv(4096)
                if not part:
                    raise ConnectionError("the service closed the connection")
                data += part
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.05)
    print(json.dumps(times))


async def _lags(port: int, seconds: int) -> list[float]:
    command = (sys.executable, "-m", "benchmarks.proxy", "--probe", str(port), str(seconds))
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    return list[float](json.loads((await process.communicate())[0]))


async def _asking(port: int, end: float, requests: list[bytes], times: list[float]) -> None:
    """Two enriched requests a second, each in a thread of its own."""
    number = 0
    while time.monotonic() < end:
        times += (await asyncio.to_thread(timed, port, [requests[number % len(requests)]]))[0]
        number += 1
        await asyncio.sleep(0.5)


async def load(port: int, pid: int, seconds: int, requests: list[bytes]) -> None:
    """Streams, enrichments and a probe at once."""
    counts, times = list[int](), list[float]()
    before, began, used = memory(pid), time.monotonic(), cpu(pid)
    end = began + seconds
    streams = [asyncio.create_task(_stream(port, seconds, counts)) for _ in range(_STREAMS)]
    most = [before]

    async def watch() -> None:
        while time.monotonic() < end:
            most.append(memory(pid))
            await asyncio.sleep(0.5)

    lags, *_ = await asyncio.gather(_lags(port, seconds), _asking(port, end, requests, times), watch(), *streams)
    whole = sum(count == _RATE * seconds for count in counts)
    passed = time.monotonic() - began
    print(f"{_STREAMS} streams of {_RATE} events a second for {seconds} s: {whole} complete, after {passed:.1f} s")
    print(f"  lag: {shown(lags)}; memory + {max(most) - before:.0f} MB; {(cpu(pid) - used) / seconds:.2f} cores")
    print(f"  enriched beside it: {shown(times)}")


def main() -> None:
    if "--upstream" in sys.argv:
        asyncio.run(upstream(int(sys.argv[-1])))
    if "--probe" in sys.argv:
        probe(int(sys.argv[-2]), float(sys.argv[-1]))
        return
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("skipped: name a folder")
        return
    folder = sys.argv[1]
    seconds = int(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 20
    home = linked_home("proxy").absolute()
    session = open_session(folder, home=home, flags={"embedding.deep_model": "none"})
    session.index()
    if len(session.memories.all()) < 1000:
        facts = [f"My {_THINGS[n % len(_THINGS)]} number {n} is kept at place {n * 7919 % 1000}" for n in range(1000)]
        drafts: list[Memory] = [session.memories.draft(one) for one in facts]
        session.memories.remember_all(drafts, deep=False)
    with socket.create_server(("127.0.0.1", 0)) as free:
        there = free.getsockname()[1]
    (home / "config.toml").write_text(
        f'[context.embedding]\ndeep_model = "none"\n[context.proxy]\nopen = true\n[context.proxy.upstreams.bench]\nurl = "http://127.0.0.1:{there}/v1"\n'
    )
    print(f"{folder}: {session.summary()['chunks']} chunks, {len(session.memories.all())} facts")
    environment = {**os.environ, "CONTEXTD_HOME": str(home)}
    serve = [sys.executable, "-m", "contextd", "serve", "--port", "0", "--no-watch"]
    processes = [
        subprocess.Popen([sys.executable, "-m", "benchmarks.proxy", "--upstream", str(there)]),
        subprocess.Popen(serve, env=environment),
    ]
    try:
        while (known := running(home)) is None:
            time.sleep(0.1)
        port, pid = int(known.url.rpartition(":")[2]), known.pid
        measure(port, there, folder, pid, seconds)
    finally:
        for process in processes:
            process.terminate()
            process.wait(20)


def measure(port: int, there: int, folder: str, pid: int, seconds: int) -> None:
    """Print all figures."""
    asked, project = questions(700), f"x-contextd-project: {Path(folder).resolve()}\r\n"
    timed(port, [request(port, text, headers=project) for text in asked[:30]])  # warm
    bypass, same = "x-contextd-bypass: 1\r\n", request(port, asked[40], headers=project)
    rows = {
        "direct": (there, [request(there, "Hello there")] * 1000),
        "passed on, not enriched": (port, [request(port, "Hello there", headers=bypass)] * 1000),
        "enriched, new questions": (port, [request(port, text, headers=project) for text in asked[30:230]]),
        "enriched, the same question": (port, [same] * 500),
    }
    for name, (where, requests) in rows.items():
        used = cpu(pid)
        times, told = timed(where, requests)
        states = ", ".join(f"{told.count(one)} {one}" for one in sorted(set(told)) if one)
        print(f"{name:28} {shown(times)}; {(cpu(pid) - used) * 1000 / len(times):.1f} ms CPU of the service; {states}")
    asyncio.run(load(port, pid, seconds, [request(port, text, headers=project) for text in asked[230:]]))


if __name__ == "__main__":
    main()
