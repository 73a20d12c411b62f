"""The worker that runs a GGUF model: reads chat requests from its standard input, and writes their answers.

llama.cpp's server always listens somewhere; here on a socket in a folder that only this user can enter. With `--probe` the
process loads the model and writes one token: a native library that dies on this machine dies here.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from contextd.sandbox import wire

_CONTEXT = 8192  # tokens
_NICE = 10  # the user's other work has priority


def main() -> None:
    """Answer requests until the standard input ends."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # a library that prints must not write into a frame
    os.nice(_NICE)
    path, is_probe = sys.argv[1], "--probe" in sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="contextd-llm-") as folder:
        server = _server(path, folder)
        if is_probe:
            server.handle_chat_completions({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1})
            return
        wire.send(answers, {"ready": True})
        while (frame := wire.receive(sys.stdin.buffer)) is not None:
            wire.send(answers, _answer(server, frame[0]))


def _server(path: str, folder: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = [str(Path(folder) / "unused.sock")]
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.warmup = _CONTEXT, 1, 1, False
    return xllamacpp.Server(params)


def _answer(server: Any, request: Any) -> dict[str, Any]:
    try:
        return {"answer": server.handle_chat_completions(request)}
    except Exception as error:  # the library raises errors of several kinds; the worker goes on
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


if __name__ == "__main__":
    main()
