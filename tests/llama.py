"""A real llama.cpp server with a real small model, started once for all tests of a process. What the model says is never checked."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx2

_SERVE = """
import os, sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.warmup = 8192, 2, 1, False
if "--embedding" in sys.argv:
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(params)
while os.getppid() != 1:
    time.sleep(0.2)
"""


@dataclass
class Llama:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


def started(model: Path, *options: str) -> Llama:
    """Start a server and wait until it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(model), str(port), *options],
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not _answers(port):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    return Llama(port, process)


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False).status_code == 200
    except httpx2.HTTPError:
        return False
