"""The client for programs that use asyncio: every call runs in a thread, so the event loop goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from contextd.surfaces.client.client import Client

if TYPE_CHECKING:
    from contextd.app.tasks import Task, TaskContext
    from contextd.values.answer import Context, SearchResult
    from contextd.values.memory import Remembered
    from contextd.values.structure import Occurrence


class AsyncClient:
    """The methods of `Client` as coroutines. `client` has the rest, such as `structure` and `memories`."""

    def __init__(self, url: str | None = None, token: str | None = None, **options: Any) -> None:
        """Arguments are those of `Client`."""
        self.client = Client(url, token, **options)

    async def search(self, text: str, **asked: Any) -> SearchResult:
        """Return the best hits for a question."""
        return await asyncio.to_thread(self.client.search, text, **asked)

    async def recall(self, text: str, **asked: Any) -> SearchResult:
        """Return the memories that answer a question."""
        return await asyncio.to_thread(self.client.recall, text, **asked)

    async def context(self, text: str, **asked: Any) -> Context:
        """Return the answer as text within a budget."""
        return await asyncio.to_thread(self.client.context, text, **asked)

    async def preview(self, text: str, **asked: Any) -> Context:
        """Return what `context` would answer, with the whole plan and trace."""
        return await asyncio.to_thread(self.client.preview, text, **asked)

    async def find(self, text: str, **asked: Any) -> list[Occurrence]:
        """Return exact matches of a text."""
        return await asyncio.to_thread(self.client.find, text, **asked)

    async def facets(self, text: str, **asked: Any) -> Context:
        """Return the memories relevant for a question, by facets."""
        return await asyncio.to_thread(self.client.facets, text, **asked)

    async def task(self, task: Task, **asked: Any) -> TaskContext:
        """Return the context of a task, and the prompt that contains it."""
        return await asyncio.to_thread(self.client.task, task, **asked)

    async def remember(self, text: str, **known: Any) -> Remembered:
        """Save a fact."""
        return await asyncio.to_thread(self.client.remember, text, **known)

    async def forget(self, memory: str) -> str:
        """Erase a memory permanently."""
        return await asyncio.to_thread(self.client.forget, memory)

    async def close(self) -> None:
        """Close idle connections."""
        await asyncio.to_thread(self.client.close)
