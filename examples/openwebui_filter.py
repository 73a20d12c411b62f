"""
title: contextd
description: Adds the context of your projects and your own facts to the last message of a chat.
version: 0.1.0
license: MIT

Install: Admin panel > Functions > + (new function), paste this file, save, switch it on. Then open its
valves and set `token` (made by `contextd token create openwebui`) and `project` (a directory, or empty
for personal facts alone). Switch the filter on for all models, or for single ones.

Everybody who uses the filter gets what the reader of the token may see. If several people use your Open WebUI,
leave `token` empty: each sets a token of their own in Settings > Functions.

Open WebUI in a container reaches the service of the host if that listens on another address:
`contextd serve --host 172.17.0.1 --behind-proxy --allow-host host.docker.internal`.

It needs no package. If the service does not answer within a second, the chat goes on without context.
"""

import asyncio
import json
import re
import urllib.request
from typing import Any

from pydantic import BaseModel, Field

_SECONDS = 1.0  # for all of it
_FEWEST_WORDS = 3  # shorter messages ask nothing
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy sees the token


class Filter:
    """The filter; Open WebUI makes one and calls `inlet` before every request to a model."""

    class Valves(BaseModel):
        """Settings."""

        priority: int = Field(0, description="Filters with lower numbers come first.")
        url: str = Field("http://127.0.0.1:8710", description="Address of the contextd service.")
        token: str = Field("", description="Access token for all users, from `contextd token create openwebui`.")
        project: str = Field("", description="Directory, name or id of a project. Empty: personal facts alone.")
        budget: int = Field(1500, description="Maximum number of tokens of the context.")

    class UserValves(BaseModel):
        """Settings of one user."""

        token: str = Field("", description="Your own access token for contextd.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self, body: dict[str, Any], __metadata__: dict[str, Any] | None = None, __user__: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the request with the context of its last message, or unchanged if there is none."""
        try:
            message = _last_of_user(body)
            token = getattr((__user__ or {}).get("valves"), "token", "") or self.valves.token
            if message is None or not token or (__metadata__ or {}).get("task"):  # titles and tags need no context
                return body
            question = _text(message["content"])
            if len(re.findall(r"\w+", question)) >= _FEWEST_WORDS and not question.startswith("### Task:"):
                context = await asyncio.wait_for(asyncio.to_thread(self._context, question, token), _SECONDS)
                if context:
                    _prepend(message, context)
        except Exception:  # a chat goes on without context
            return body
        return body

    def _context(self, question: str, token: str) -> str:
        valves = self.valves
        asked = {"query": question[:20_000], "budget": valves.budget, "template": "xml", "timeout": _SECONDS * 0.9}
        if valves.project:
            asked["project"] = valves.project
        request = urllib.request.Request(  # noqa: S310 - the address is a setting
            f"{valves.url.rstrip('/')}/api/v1/context",
            json.dumps(asked).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            return str(json.load(answer)["text"])


def _last_of_user(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message to add to: the last one, if the user wrote it. Earlier ones stay as they are, for prompt caches."""
    messages = body.get("messages") or [{}]
    return messages[-1] if messages[-1].get("role") == "user" else None


def _text(content: Any) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content.strip()
    return " ".join(part.get("text", "") for part in content if part.get("type") == "text").strip()


def _prepend(message: dict[str, Any], context: str) -> None:
    """Put the context before the text of a message; a text stays a text, a list a list."""
    content = message["content"]
    if isinstance(content, str):
        message["content"] = f"{context}\n\n{content}"
    else:
        message["content"] = [{"type": "text", "text": context}, *content]
