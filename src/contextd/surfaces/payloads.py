"""Values as JSON: the only module that knows the shapes that surfaces print."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextd.text.terms import matches
from contextd.values.answer import Context, Hit
from contextd.values.memory import Memory
from contextd.values.query import Plan
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.indexing.pipeline import Report


def hit(one: Hit, *, text: bool = True) -> dict[str, Any]:
    """Return a hit."""
    chunk = one.chunk
    payload: dict[str, Any] = {
        "id": f"{chunk.id.document:x}:{chunk.id.ordinal}",
        "path": chunk.uri,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "score": round(one.score, 4),
        "rank_score": round(one.rank_score, 4),
        "kind": chunk.kind,
        "kinds": list(chunk.kinds or (chunk.kind,)),
        "label": chunk.label,
        "heading": list(chunk.heading),
        "language": chunk.language,
        "tokens": chunk.tokens,
        "offsets": {"start": chunk.start, "end": chunk.end},
        "why": dict(one.why),
    } | ({"facet": one.facet} if one.facet else {})
    if one.relation is not None:
        payload["relation"] = {"kind": one.relation.kind, "depth": one.relation.depth, "with": one.relation.uri}
    return payload | {"text": chunk.text} if text else payload


def memory(one: Memory) -> dict[str, Any]:
    """Return a memory, with times in ISO format."""
    return {
        "id": one.id,
        "text": one.text,
        "kind": one.kind,
        "about": one.about,
        "attribute": one.attribute,
        "value": one.value,
        "unit": one.unit,
        "topics": list(one.topics),
        "language": one.language,
        "confidence": round(one.confidence, 3),
        "source": one.source,
        "trust": "full" if one.trusted else "partial",
        "conversation": one.conversation,
        "author": one.author,
        "principals": sorted(one.principals),
        "said": _time(one.said),
        "valid_from": _time(one.valid_from),
        "valid_to": _time(one.valid_to),
        "replaced_by": one.replaced_by,
        "verified": sorted(one.verified),
        "pinned": one.pinned,
        "never_recall": one.silent,
        "private": one.private,
        "useful": one.useful,
        "useless": one.useless,
    }


def _time(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")


def found(hits: Sequence[Hit], plan: Plan, trace: Trace, query: str) -> dict[str, Any]:
    """Return the result of a search."""
    return {
        "query": query,
        "route": plan.route,
        "hits": [hit(one) | {"highlights": matches(one.chunk.text, plan.terms)} for one in hits],
        "groups": groups(hits),
        "warnings": list(trace.warnings),
    }


def groups(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return hits by document, with adjacent chunks joined."""
    files: dict[str, list[Hit]] = {}
    for one in hits:
        files.setdefault(one.chunk.uri, []).append(one)
    return [
        {"path": uri, "score": round(max(one.score for one in ones), 4), "ranges": ranges(ones)} for uri, ones in files.items()
    ]


def ranges(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return the line ranges of one document's hits, with adjacent ones joined."""
    joined: list[dict[str, Any]] = []
    for one in sorted(hits, key=lambda each: each.chunk.start):
        chunk = one.chunk
        if joined and chunk.start_line <= joined[-1]["end_line"] + 1:
            joined[-1]["end_line"] = max(joined[-1]["end_line"], chunk.end_line)
            joined[-1]["labels"] += [chunk.label] if chunk.label else []
        else:
            labels = [chunk.label] if chunk.label else []
            joined.append({"start_line": chunk.start_line, "end_line": chunk.end_line, "labels": labels})
    return joined


def context(answer: Context) -> dict[str, Any]:
    """Return a context."""
    return {
        "text": answer.text,
        "tokens": answer.tokens,
        "budget": answer.budget,
        "tokenizer": answer.tokenizer,
        "template": answer.template,
        "truncated": answer.truncated,
        "budget_used": round(answer.budget_used, 1),
        "ids": list(answer.ids),
        "scores": {name: round(score, 4) for name, score in answer.scores.items()},
        "route": answer.plan.route,
        "hits": [hit(one, text=False) | {"highlights": matches(one.chunk.text, answer.plan.terms)} for one in answer.hits],
        "warnings": list(answer.trace.warnings),
    }


def plan(one: Plan) -> dict[str, Any]:
    """Return the plan of a query."""
    facets = [
        {
            "name": f.name,
            "title": f.title,
            "question": f.question,
            "rationale": f.rationale,
            "topics": list(f.topics),
            "weight": f.weight,
        }
        for f in one.facets
    ]
    return {
        "route": one.route,
        "act": one.act,
        "subject": one.subject,
        "entities": list(one.entities),
        "windows": [[_time(first), _time(last)] for first, last in one.windows],
        "private": one.private,
        "strategy": one.strategy,
        "ratio": one.ratio,
        "proposal": one.proposal,
        "facets": facets,
    }


def trace(one: Trace) -> dict[str, Any]:
    """Return the trace of an answer."""
    return {
        "steps": [{"name": s.name, "milliseconds": round(s.milliseconds, 2), "count": s.count} for s in one.steps],
        "drops": [{"step": d.step, "what": d.what, "why": d.why} for d in one.drops],
        "warnings": list(one.warnings),
    }


def report(one: Report) -> dict[str, Any]:
    """Return the report of an index run."""
    return {
        "files": one.files,
        "written": one.written,
        "commits": one.others,
        "unchanged": one.unchanged,
        "removed": one.removed,
        "chunks": one.chunks,
        "lines": one.lines,
        "secrets_scrubbed": one.finds,
        "seconds": round(one.seconds, 3),
        "skipped": one.skipped,
        "failed": one.failed,
        "warnings": one.warnings,
    }
