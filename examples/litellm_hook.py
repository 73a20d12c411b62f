"""Adds the context of a project and your own facts to requests that pass a LiteLLM proxy.

Install: put this file beside the proxy's `config.yaml`, and name it there:

    litellm_settings:
      callbacks: litellm_hook.hook

Then start the proxy with the settings of this file in its environment:

    CONTEXTD_TOKEN    access token, from `contextd token create litellm` (required)
    CONTEXTD_URL      address of the service (default http://127.0.0.1:8710)
    CONTEXTD_PROJECT  directory, name or id of a project; empty: personal facts alone
    CONTEXTD_BUDGET   maximum number of tokens of the context (default 1500)

A request with `"metadata": {"contextd": false}` is passed on unchanged. So is every request if the service does not
answer within a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import urllib.request
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

_SECONDS = 1.0  # for all of it
_FEWEST_WORDS = 3  # shorter messages ask nothing
_CHATS = ("completion", "acompletion", "chat")  # types of calls that have messages
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy sees the token


class ContextdHook(CustomLogger):
    """Called by the proxy before a request goes to a model."""

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Return the request with the context of its last message, or unchanged if there is none."""
        try:
            message = _last_of_user(data) if call_type in _CHATS else None
            if message is None or (data.get("metadata") or {}).get("contextd") is False:
                return data
            question = _text(message["content"])
            if len(re.findall(r"\w+", question)) >= _FEWEST_WORDS:
                context = await asyncio.wait_for(asyncio.to_thread(_context, question), _SECONDS)
                if context:
                    data["messages"] = [*data["messages"][:-1], _with(message, context)]
        except Exception:  # a request goes on without context
            return data
        return data


def _context(question: str) -> str:
    asked = {"query": question[:20_000], "template": "xml", "timeout": _SECONDS * 0.9}
    asked["budget"] = int(os.environ.get("CONTEXTD_BUDGET", "1500"))
    if os.environ.get("CONTEXTD_PROJECT"):
        asked["project"] = os.environ["CONTEXTD_PROJECT"]
    request = urllib.request.Request(  # noqa: S310 - the address is a setting
        f"{os.environ.get('CONTEXTD_URL', 'http://127.0.0.1:8710').rstrip('/')}/api/v1/context",
        json.dumps(asked).encode(),
        {"Authorization": f"Bearer {os.environ['CONTEXTD_TOKEN']}", "Content-Type": "application/json"},
    )
    with _OPENER.open(request, timeout=_SECONDS) as answer:
        return str(json.load(answer)["text"])


def _last_of_user(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message to add to: the last one, if the user wrote it. Earlier ones stay as they are, for prompt caches."""
    messages = data.get("messages") or [{}]
    return messages[-1] if messages[-1].get("role") == "user" else None


def _text(content: Any) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content.strip()
    return " ".join(part.get("text", "") for part in content if part.get("type") == "text").strip()


def _with(message: dict[str, Any], context: str) -> dict[str, Any]:
    """Return a message with the context before its text; a text stays a text, a list a list."""
    content = message["content"]
    whole = f"{context}\n\n{content}" if isinstance(content, str) else [{"type": "text", "text": context}, *content]
    return {**message, "content": whole}


hook = ContextdHook()
