"""The Tasks extension: a rebuild is answered at once with a handle, which the client asks for the result. A task is a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextd.surfaces.mcp import index_tools
from contextd.surfaces.mcp.wire import PARAMS, BadMessage
from contextd.surfaces.wire.convert import parsed
from contextd.surfaces.wire.requests import RebuildTool

if TYPE_CHECKING:
    from contextd.surfaces.mcp.tools import ToolCall
    from contextd.values.job import Job

EXTENSION = "io.modelcontextprotocol/tasks"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_POLL = 1000  # milliseconds between two questions of a client


def wanted(params: Mapping[str, Any]) -> bool:
    """Return whether a call is a rebuild that is not a dry run, by a client that knows tasks."""
    capabilities = (params.get("_meta") or {}).get(_CAPABILITIES)
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    arguments = params.get("arguments")
    dry = (
        isinstance(arguments, dict) and isinstance(arguments.get("options"), dict) and arguments["options"].get("validateOnly")
    )
    known = isinstance(extensions, dict) and EXTENSION in extensions
    return known and params.get("name") == "rebuild_context" and isinstance(arguments, dict) and not dry


def started(call: ToolCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Start a rebuild and return its task."""
    made = index_tools.rebuild(call, parsed(RebuildTool, {**arguments, "async": True}))
    return {"resultType": "task", **_task(call.session.jobs.get(made["jobId"]))}


def answer(call: ToolCall, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a task, or cancel it. Raises BadMessage for an unknown one."""
    number = params.get("taskId")
    if not isinstance(number, str) or len(number) < 32:
        raise BadMessage(PARAMS, "taskId is missing or unknown")
    job = call.session.jobs.cancel(number) if method == "tasks/cancel" else call.session.jobs.get(number)
    return {} if method == "tasks/cancel" else _task(job)


def _task(job: Job) -> dict[str, Any]:
    state = job.state if job.over else "working"
    found: dict[str, Any] = {
        "taskId": job.id,
        "status": state,
        "statusMessage": f"{job.done} of {job.total} files" if job.total else job.message,
        "createdAt": _iso(job.created),
        "lastUpdatedAt": _iso(job.ended or job.heartbeat or job.created),
        "ttlMs": None,
        "pollIntervalMs": _POLL,
    }
    if state == "completed":
        text = json.dumps(
            {"status": "completed", "jobId": job.id, "message": job.message, "result": dict(job.report)}, default=str
        )
        found["result"] = {"content": [{"type": "text", "text": text}], "isError": False}
    if state == "failed":
        found["error"] = {"code": -32603, "message": job.reason or job.message or "the rebuild failed"}
    return found


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
