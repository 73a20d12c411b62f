"""Ollama's own API in front of a real llama.cpp server: what Ollama adds is names, pulls and shapes; what is said is real."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2


@dataclass
class OllamaServer:
    """A server on a port of its own. `chat` and `embed` answer; without them the paths are unknown."""

    models: list[str] = field(default_factory=list)
    chat: Callable[[dict[str, Any]], Any] | None = None
    embed: Callable[[dict[str, Any]], Any] | None = None
    pulls: list[dict[str, Any]] = field(default_factory=list)  # lines of progress of a pull
    got: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(
                    {"models": [{"name": name, "model": name} for name in outer.models]} if self.path == "/api/tags" else None
                )

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.got.append((self.path, body))
                if self.path == "/api/pull":
                    self.send_response(200)
                    self.end_headers()
                    for line in outer.pulls:
                        self.wfile.write(json.dumps(line).encode() + b"\n")
                        if line.get("status") == "success":
                            outer.models.append(body["model"] if ":" in body["model"] else f"{body['model']}:latest")
                    return
                work = {"/api/chat": outer.chat, "/api/embed": outer.embed}.get(self.path)
                self._send(work(body) if work is not None else None)

            def _send(self, answer: Any) -> None:
                data = json.dumps(answer if answer is not None else {"error": "model 'x' not found"}).encode()
                data = answer if isinstance(answer, bytes) else data
                self.send_response(200 if answer is not None else 404)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that went away
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def through(llama_url: str) -> Callable[[dict[str, Any]], Any]:
    """A chat of Ollama answered by a llama.cpp server."""

    def chat(body: dict[str, Any]) -> Any:
        request = {"messages": body["messages"], "max_tokens": body["options"]["num_predict"], "temperature": 0}
        if "format" in body:
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "a", "schema": body["format"]}}
        answer = httpx2.post(f"{llama_url}/chat/completions", json=request, timeout=60, trust_env=False).json()
        return {"message": {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}, "done": True}

    return chat
