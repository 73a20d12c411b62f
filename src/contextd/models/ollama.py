"""Ollama by its own API: chat with a JSON schema, embed, list, pull."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextd.errors import Unavailable
from contextd.models.engine_http import EngineHttp
from contextd.ports.engines import ChatTurn, PullProgress, Schema
from contextd.ports.world import Matrix

URL = "http://127.0.0.1:11434"
_MOST_TOKENS = 1024  # of an answer
_KEEP = "10m"  # for which the model stays loaded
_PULL_IDLE = 120.0  # seconds without progress


@dataclass(frozen=True, slots=True)
class Ollama:
    """A model of an Ollama server, or the server if the model is empty."""

    http: EngineHttp
    model: str = ""

    @property
    def name(self) -> str:
        """The engine and the model."""
        return f"ollama/{self.model}"

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine."""
        return self.http.remote

    def chat(self, turns: Sequence[ChatTurn], schema: Schema | None, deadline: float) -> str:
        """Return the answer; JSON if there is a schema. Raises `Unavailable`."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [turn._asdict() for turn in turns],
            "stream": False,
            "keep_alive": _KEEP,
            "options": {"temperature": 0, "num_predict": _MOST_TOKENS},
        }
        if schema is not None:
            body["format"] = schema
        answer = self.http.post("/api/chat", body, deadline)
        try:
            return str(answer["message"]["content"])
        except (KeyError, TypeError):
            raise Unavailable("Ollama answered without a message") from None

    def close(self) -> None:
        """Close idle connections."""
        self.http.close()

    def embed(self, texts: Sequence[str], deadline: float) -> Matrix:
        """Return one row for each text. Raises `Unavailable`."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        answer = self.http.post("/api/embed", {"model": self.model, "input": list(texts), "keep_alive": _KEEP}, deadline)
        return rows_of(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))

    def is_running(self) -> bool:
        """Return whether the server answers."""
        try:
            self.models()
        except Unavailable:
            return False
        return True

    def models(self) -> list[str]:
        """Return the names of its models. Raises `Unavailable`."""
        answer = self.http.get("/api/tags")
        try:
            return [str(one["name"]) for one in answer["models"]]
        except (KeyError, TypeError):
            raise Unavailable("there is no Ollama at this address") from None

    def has(self, name: str) -> bool:
        """Return whether it has a model. Without a tag, the tag is `latest`. Raises `Unavailable`."""
        return (name if ":" in name else f"{name}:latest") in self.models()

    def pull(self, name: str, progress: Callable[[PullProgress], None]) -> None:
        """Download a model. Raises `Unavailable`."""
        done = False
        for line in self.http.lines("/api/pull", {"model": name, "stream": True}, _PULL_IDLE):
            if not isinstance(line, dict) or "error" in line:
                raise Unavailable(f"Ollama cannot pull {name}: {str(line)[:200]}")
            done = line.get("status") == "success"
            progress(PullProgress(str(line.get("status", "")), int(line.get("completed", 0)), int(line.get("total", 0))))
        if not done:
            raise Unavailable(f"the download of {name} ended early; pull it again, and it goes on where it stopped")


def rows_of(found: Any, count: int) -> Matrix:
    """Return vectors as a matrix. Raises `Unavailable` if they are not `count` rows of one length."""
    try:
        rows = np.asarray(found, np.float32)
    except (ValueError, TypeError):
        rows = np.zeros(0, np.float32)
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1] or not np.isfinite(rows).all():
        raise Unavailable("the model server answered without one vector for each text")
    return rows
