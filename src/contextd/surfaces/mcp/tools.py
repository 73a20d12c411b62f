"""The tools of the MCP server: descriptions written for models, and what each does. Every answer is one text."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contextd.errors import InvalidInput
from contextd.settings.limits import checked_query
from contextd.surfaces.mcp import index_tools, profile_tools, query
from contextd.surfaces.wire import requests
from contextd.surfaces.wire.convert import parsed, schema
from contextd.text.invisible import visible_line
from contextd.values.access_token import ADMIN, READ, WRITE

if TYPE_CHECKING:  # not loaded for a client that only connects
    from contextd.app.session import Session

_CONFIRM = 300  # seconds for which the code to delete a fact is valid
_SECONDS = 20.0
_LONGEST = 40  # rows of a list


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: the session, notes on the index, and the ways to report progress and to notice a cancellation."""

    session: Session
    secret: bytes = b""  # signs codes to confirm a deletion
    notes: Sequence[str] = ()
    start: Callable[[], None] = lambda: None  # makes sure that a process runs the jobs of the project
    report: Callable[[int, int], None] = lambda done, total: None
    is_cancelled: Callable[[], bool] = lambda: False


Run = Callable[[ToolCall, Any], str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, description, arguments, and the right that a token needs."""

    name: str
    description: str
    request: type
    run: Run
    may: str
    hints: Mapping[str, bool]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def listed(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        shown = {"name": self.name, "description": self.description, "inputSchema": schema(self.request)}
        return {**shown, "annotations": dict(self.hints), **({"_meta": dict(self.meta)} if self.meta else {})}

    def call(self, call: ToolCall, arguments: Mapping[str, Any]) -> str:
        """Return the answer to a call. Raises ContextdError."""
        return self.run(call, parsed(self.request, arguments))


def _remember(call: ToolCall, asked: requests.RememberTool) -> str:
    known: dict[str, Any] = {} if asked.kind is None else {"kind": asked.kind}
    saved = call.session.remember(asked.text, in_project=asked.project, source="agent", **known)
    lines = [f"{'Known already' if saved.known else 'Saved'}: {_fact(saved.memory)}"]
    lines += [f"It replaces {_fact(old)}" for old in saved.replaced if not old.silent]
    lines += [f"It contradicts {_fact(other)}" for other in saved.contradicts if not other.silent]
    return "\n".join([*lines, *saved.warnings])


def _recall(call: ToolCall, asked: requests.RecallTool) -> str:
    found = call.session.recall(checked_query(asked.query), k=asked.k, deadline=_SECONDS)
    facts = call.session.memories.several([hit.chunk.uri for hit in found.hits])
    lines = [f"Note: {visible_line(one)}" for one in found.trace.warnings]
    told_by = {hit.chunk.uri: hit.chunk.told_by for hit in found.hits}
    shown = [_fact(one) + (f" (told by {who})" if (who := told_by.get(f"memory:{one.id}")) else "") for one in facts]
    return "\n".join([*lines, *shown] if facts else [*lines, "No fact about this is known."])


def _forget(call: ToolCall, asked: requests.ForgetTool) -> str:
    """Delete a fact in two steps, so that an instruction hidden in a text cannot do it with one call."""
    memory = call.session.memories.get(asked.memory)
    if asked.confirm is None:
        code = _code(call, memory.id, int(time.time()) + _CONFIRM)
        what = f"This would be deleted permanently: {_fact(memory)}"
        return f"{what}\nAsk the user. To delete it, call forget again with confirm {code}"
    expiry = asked.confirm.partition(".")[0]
    fresh = expiry.isdigit() and int(expiry) >= time.time()
    if not fresh or not hmac.compare_digest(_code(call, memory.id, int(expiry)), asked.confirm):
        raise InvalidInput("the code is wrong or has expired; call forget without confirm to get a new one")
    return f"{memory.id[:8]}: {call.session.forget(memory.id)}"


def _code(call: ToolCall, memory: str, expiry: int) -> str:
    signed = f"{call.session.reader.name}\n{memory}\n{expiry}".encode()
    return f"{expiry}.{hmac.new(call.secret, signed, 'sha256').hexdigest()[:16]}"


def _fact(memory: Any) -> str:
    return f"[{memory.id[:8]}] {visible_line(memory.text)}" + (f" ({memory.kind})" if memory.kind != "unknown" else "")


def _explain(call: ToolCall, asked: requests.ExplainTool) -> str:
    found = call.session.preview(checked_query(asked.query), deadline=_SECONDS)
    lines = [f"understood as {found.plan.route}; terms: {', '.join(found.plan.terms) or '(none)'}"]
    lines += [
        f"{step.name}: {step.milliseconds:.1f} ms, {step.count} left" for step in found.trace.steps if step.count is not None
    ]
    lines += [f"{hit.score:.2f} {visible_line(hit.chunk.uri)}:{hit.chunk.start_line} {_why(hit.why)}" for hit in found.hits]
    lines += [f"dropped by {one.step}: {visible_line(one.what)} ({one.why})" for one in found.trace.drops[:_LONGEST]]
    return "\n".join(lines)


def _why(why: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in why.items())


def _symbol(call: ToolCall, asked: requests.SymbolTool) -> str:
    found = call.session.structure.symbols(asked.name)
    rows = [f"{visible_line(one.uri)}:{one.line} {one.kind} {visible_line(one.signature)}" for one in found]
    return _list(rows, f"No definition of {visible_line(asked.name)} is indexed.")


def _callers(call: ToolCall, asked: requests.SymbolTool) -> str:
    defined, uses = call.session.structure.callers(asked.name)
    rows = [f"defined at {visible_line(one.uri)}:{one.line}" for one in defined]
    rows += [
        f"{visible_line(one.uri)}:{one.line} {one.how}{'' if one.sure else '?'} {visible_line(one.text.strip())}"
        for one in uses
    ]
    return _list(rows, f"No use of {visible_line(asked.name)} is indexed.")


def _how(use: Any) -> str:
    return f"{use.how}{'' if use.sure else '?'}"


def _impact(call: ToolCall, asked: requests.ImpactTool) -> str:
    found = call.session.structure.impact(asked.what, depth=asked.depth)
    rows = [
        f"{visible_line(one.uri)} (distance {one.distance}{', test' if one.test else ''}): {one.why}" for one in found or ()
    ]
    return _list(rows, "Nothing depends on it." if found is not None else f"No such file or name: {visible_line(asked.what)}")


def _list(rows: Sequence[str], nothing: str) -> str:
    more = [f"and {len(rows) - _LONGEST} more"] if len(rows) > _LONGEST else []
    return "\n".join([*rows[:_LONGEST], *more]) if rows else nothing


def _answered(run: Callable[[ToolCall, Any], dict[str, Any]]) -> Run:
    return lambda call, asked: json.dumps(run(call, asked), ensure_ascii=False, separators=(",", ":"), default=str)


_WRITES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_DESTROYS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
_QUERIES = {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True}
_ABOUT = {
    "remember": "Save a fact that the user stated, or a decision, for later.",
    "recall": "Find facts that were saved about the user or the project.",
    "forget": "Delete a saved fact permanently, in two calls: the second needs a code.",
    "find_symbol": "Find where a function, class or method is defined.",
    "find_callers": "Find the callers and subclasses of a symbol.",
    "find_impact": "Find the files and tests that depend on a file or a symbol.",
    "explain_context": "Show how query_context would choose its answer.",
    "get_profile": "Show who the user is and how they want to be answered.",
    "set_profile": "Set a key of the user's profile, when the user asks for it.",
    "refresh_context": "Read files of the project again.",
    "get_context_stats": "Show the state of the index.",
    "rebuild_context": "Index the whole project again, or some paths. Takes long; the old index answers meanwhile.",
    "get_rebuild_status": "Show the progress of a rebuild.",
}


def _query(call: ToolCall, asked: requests.QueryContext) -> str:
    return query.answer(call.session, asked, call.notes)


def _tool(name: str, request: type, run: Run, may: str = READ, hints: Mapping[str, bool] = _QUERIES) -> Tool:
    return Tool(name, _ABOUT[name], request, run, may, hints)


_TOOLS = (
    Tool("query_context", query.DESCRIPTION, requests.QueryContext, _query, READ, _QUERIES, query.META),
    _tool("remember", requests.RememberTool, _remember, WRITE, _WRITES),
    _tool("recall", requests.RecallTool, _recall),
    _tool("forget", requests.ForgetTool, _forget, WRITE, _DESTROYS),
    _tool("find_symbol", requests.SymbolTool, _symbol),
    _tool("find_callers", requests.SymbolTool, _callers),
    _tool("find_impact", requests.ImpactTool, _impact),
    _tool("explain_context", requests.ExplainTool, _explain),
    _tool("get_profile", requests.ProfileTool, profile_tools.get_profile),
    _tool("set_profile", requests.SetProfileTool, profile_tools.set_profile, WRITE, _WRITES),
    _tool("refresh_context", requests.RefreshTool, _answered(index_tools.refresh), WRITE, _WRITES),
    _tool("get_context_stats", requests.StatsTool, _answered(index_tools.stats)),
    _tool("rebuild_context", requests.RebuildTool, _answered(index_tools.rebuild), ADMIN, _DESTROYS),
    _tool("get_rebuild_status", requests.RebuildStatusTool, _answered(index_tools.status)),
)
TOOLS = {tool.name: tool for tool in _TOOLS}
DEFAULT = ("query_context", "remember", "recall", "forget", "find_symbol")


def chosen(names: Sequence[str]) -> dict[str, Tool]:
    """Return the tools of the setting `mcp.tools`: default, all, or names. Raises `InvalidInput`."""
    wanted = [one for name in names for one in (DEFAULT if name == "default" else TOOLS if name == "all" else (name,))]
    if unknown := [name for name in wanted if name not in TOOLS]:
        raise InvalidInput(f"mcp.tools: no tool {unknown[0]!r}; the tools are {', '.join(TOOLS)}, default and all")
    return {name: TOOLS[name] for name in TOOLS if name in wanted}
