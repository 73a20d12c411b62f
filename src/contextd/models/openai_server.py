"""Any server with OpenAI's API: llama.cpp, LM Studio, vLLM, MLX, or a provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextd.errors import Unavailable
from contextd.models.engine_http import EngineHttp
from contextd.models.ollama import rows_of
from contextd.ports.engines import ChatTurn, Schema
from contextd.ports.world import Matrix

_MOST_TOKENS = 1024  # of an answer


@dataclass(frozen=True, slots=True)
class OpenaiServer:
    """A model of a server whose URL ends where its endpoints begin (`…/v1`)."""

    http: EngineHttp
    model: str = ""

    @property
    def name(self) -> str:
        """The engine and the model."""
        return f"openai/{self.model}"

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine."""
        return self.http.remote

    def chat(self, turns: Sequence[ChatTurn], schema: Schema | None, deadline: float) -> str:
        """Return the answer; JSON if there is a schema. Raises `Unavailable`."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [turn._asdict() for turn in turns],
            "max_tokens": _MOST_TOKENS,
            "temperature": 0,
        }
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        return message_of(self.http.post("/chat/completions", body, deadline))

    def close(self) -> None:
        """Close idle connections."""
        self.http.close()

    def embed(self, texts: Sequence[str], deadline: float) -> Matrix:
        """Return one row for each text. Raises `Unavailable`."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        answer = self.http.post("/embeddings", {"model": self.model, "input": list(texts)}, deadline)
        try:
            rows = [one["embedding"] for one in sorted(answer["data"], key=lambda one: one["index"])]
        except (KeyError, TypeError):
            rows = []
        return rows_of(rows, len(texts))

    def is_running(self) -> bool:
        """Return whether the server answers."""
        try:
            self.models()
        except Unavailable:
            return False
        return True

    def models(self) -> list[str]:
        """Return the names of its models. Raises `Unavailable`."""
        answer = self.http.get("/models")
        try:
            return [str(one["id"]) for one in answer["data"]]
        except (KeyError, TypeError):
            raise Unavailable("there is no server with OpenAI's API at this address") from None

    def has(self, name: str) -> bool:
        """Return whether it has a model. Raises `Unavailable`."""
        return name in self.models()


def message_of(answer: Any) -> str:
    """Return the text of a chat completion. Raises `Unavailable`."""
    try:
        return str(answer["choices"][0]["message"]["content"] or "")
    except (KeyError, TypeError, IndexError):
        raise Unavailable("the model server answered without a message") from None
