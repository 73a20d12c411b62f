"""Protocols of inference servers: complete a chat, embed texts, manage the models of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from contextd.ports.world import Matrix

Schema = Mapping[str, Any]  # a JSON schema


class ChatTurn(NamedTuple):
    """One message to a language model."""

    role: str  # system, user or assistant
    content: str


class PullProgress(NamedTuple):
    """How far the download of a model is. `total` is 0 while it is not known."""

    status: str
    completed: int = 0
    total: int = 0


class Chat(Protocol):
    """A language model. Any thread may call it."""

    @property
    def name(self) -> str:
        """The engine and the model, for traces."""

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine."""

    def chat(self, turns: Sequence[ChatTurn], schema: Schema | None, deadline: float) -> str:
        """Return the answer; JSON if there is a schema. The deadline is on the monotonic clock. Raises `Unavailable`."""

    def close(self) -> None:
        """End what runs for it. A later call starts it again."""


class Embed(Protocol):
    """An embedding model of a server. Any thread may call it."""

    @property
    def name(self) -> str:
        """The engine and the model: part of the id of its space."""

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine."""

    def embed(self, texts: Sequence[str], deadline: float) -> Matrix:
        """Return one row for each text. The deadline is on the monotonic clock. Raises `Unavailable`."""


class ModelServer(Protocol):
    """The models of a server."""

    def is_running(self) -> bool:
        """Return whether the server answers."""

    def models(self) -> list[str]:
        """Return the names of its models. Raises `Unavailable`."""

    def has(self, name: str) -> bool:
        """Return whether it has a model. Raises `Unavailable`."""


class PullingServer(ModelServer, Protocol):
    """A server that downloads models on request."""

    def pull(self, name: str, progress: Callable[[PullProgress], None]) -> None:
        """Download a model. Raises `Unavailable`."""
