"""Resources (files and facts by their uri) and prompts of the MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from contextd.errors import InvalidInput, NotFound
from contextd.text.invisible import visible

if TYPE_CHECKING:
    from contextd.app.session import Session

_FILE, _MEMORY = "context://file/", "context://memory/"
_BUDGET = 2000  # tokens of the prompt `ask`
_PROMPTS = {
    "ask": ("Ask a question about the project, with its context.", {"question": True}),
    "task": ("Begin a task, with the context it needs.", {"title": True, "description": False, "type": False}),
}
LISTS: Mapping[str, Mapping[str, Any]] = {
    "resources/list": {"resources": []},
    "resources/templates/list": {
        "resourceTemplates": [
            {
                "uriTemplate": f"{_FILE}{{+path}}",
                "name": "file",
                "description": "An indexed file, without secrets.",
                "mimeType": "text/plain",
            },
            {"uriTemplate": f"{_MEMORY}{{id}}", "name": "memory", "description": "A saved fact.", "mimeType": "text/plain"},
        ]
    },
    "prompts/list": {
        "prompts": [
            {
                "name": name,
                "description": about,
                "arguments": [{"name": one, "required": required} for one, required in arguments.items()],
            }
            for name, (about, arguments) in _PROMPTS.items()
        ]
    },
}


def read(session: Session, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the text of a resource, all characters visible. Raises `NotFound`, also for a path out of the project."""
    uri = str(params.get("uri", ""))
    if uri.startswith(_FILE):
        path = unquote(uri.removeprefix(_FILE))
        text = session.structure.text(path)
        if text is None:
            raise NotFound(f"no such file in the index: {path}")
    elif uri.startswith(_MEMORY):
        text = session.memories.get(unquote(uri.removeprefix(_MEMORY))).text
    else:
        raise NotFound(f"no such resource: {uri!r}; the uris begin with {_FILE} or {_MEMORY}")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": visible(text)}]}


def prompt(session: Session, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the messages of a prompt. Raises `InvalidInput`."""
    name, given = str(params.get("name")), params.get("arguments") or {}
    if name not in _PROMPTS:
        raise InvalidInput(f"no prompt {name!r}; the prompts are {', '.join(_PROMPTS)}")
    about, arguments = _PROMPTS[name]
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        raise InvalidInput("the arguments of a prompt are texts")
    if missing := [one for one, required in arguments.items() if required and not given.get(one)]:
        raise InvalidInput(f"argument {missing[0]!r} is missing")
    text = _asked(session, given["question"]) if name == "ask" else _task(session, given)
    return {"description": about, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def _asked(session: Session, question: str) -> str:
    found = session.context(question, budget=_BUDGET, template="xml", deadline=20.0)
    return f"{found.text}\n\n{question}" if found.text else question


def _task(session: Session, given: Mapping[str, str]) -> str:
    from contextd.app.tasks import Task

    task = Task(given["title"], given.get("description", ""), given.get("type") or "implementation")
    return session.task(task, deadline=20.0).prompt
