"""Events of a job reach their reader only as long as the reader may see the job."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import Guard, Message
from tests.http.conftest import Asked

_YEAR = 366 * 24 * 3_600_000_000  # microseconds


def _revoke(asked: Asked) -> None:
    asked.service.tokens.revoke("ana")


def _expire(asked: Asked) -> None:
    now = asked.service.tokens.clock()
    asked.service.tokens = replace(asked.service.tokens, clock=lambda: now + _YEAR)


def _unshare(asked: Asked) -> None:
    asked.service.ask(str(asked.project), ()).unshare(["ana"], force=True)


async def _streamed(asked: Asked, path: str, token: str, after_first: Callable[[Asked], None]) -> str:
    """The body of a stream; `after_first` is called after its first event."""
    route, query = path.split("?")
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "method": "GET", "path": route, "raw_path": route.encode(), "headers": headers}  # fmt: skip
    parts: list[bytes] = []

    async def receive() -> Message:
        return await asyncio.Future()  # the client sends nothing, and stays

    async def send(message: Message) -> None:
        if message.get("body"):
            parts.append(message["body"])
            if len(parts) == 1:
                await asyncio.to_thread(after_first, asked)

    guard = Guard(Api(asked.service).app(), asked.service.tokens)  # type: ignore[arg-type]
    async with asyncio.timeout(30):
        await guard({**scope, "query_string": query.encode()}, receive, send)
    return b"".join(parts).decode()


@pytest.mark.parametrize(("end", "code"), [(_revoke, "unauthorized"), (_expire, "unauthorized"), (_unshare, "not_found")])
def test_an_open_stream_ends_with_the_right_to_read_it(fresh: Asked, end: Callable[[Asked], None], code: str) -> None:
    project = str(fresh.project)
    fresh.service.ask(project, ()).share(["ana"])
    ana = fresh.token("ana", reader="ana", expires="90d")
    job = fresh.api("POST", "/jobs", {"kind": "refresh", "paths": ["src"], "project": project})["job"]["id"]
    text = asyncio.run(_streamed(fresh, f"/api/v1/jobs/{job}/events?{urlencode({'project': project})}", ana, end))
    first, last = text.strip().split("\n\n")
    name, data = last.split("\n")
    assert first.startswith("event: progress")
    assert name == "event: error" and json.loads(data.removeprefix("data: "))["code"] == code
