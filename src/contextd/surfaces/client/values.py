"""The JSON of the service as the values that `Session` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextd.values.answer import Context, Hit, SearchResult
from contextd.values.document import Chunk, ChunkId
from contextd.values.query import Facet, Narrow, Plan, Reader, Scope
from contextd.values.trace import Drop, Step, Trace

if TYPE_CHECKING:  # loaded on use: a search needs none of them
    from contextd.values.memory import Memory, Remembered

Json = Mapping[str, Any]
_SAME = (  # fields of a memory with the same name and value in JSON
    "id", "text", "kind", "about", "attribute", "value", "unit", "language", "confidence", "source", "conversation", "author",
    "pinned", "private", "useful", "useless",
)  # fmt: skip


def microseconds(text: str | None) -> int | None:
    """Return a time of the service in microseconds."""
    return None if text is None else int(datetime.fromisoformat(text).timestamp() * 1_000_000)


def iso(moment: int | None) -> str | None:
    """Return a time in microseconds as the service wants it."""
    return None if moment is None else datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()


def filters(narrow: Narrow | None) -> dict[str, Any]:
    """Return the fields of a request for the filters of a query; only those that are set."""
    narrow = narrow or Narrow()
    recall = narrow.recall
    fields: dict[str, Any] = {
        "paths": list(narrow.paths),
        "exclude": list(narrow.exclude),
        "languages": list(narrow.languages),
        "kinds": list(narrow.kinds),
        "since": iso(narrow.since),
        "until": iso(narrow.until),
        "memories_only": narrow.memories_only,
    }
    if recall is not None:
        fields |= {"topics": sorted(recall.topics), "conversation": recall.conversation, "as_of": iso(recall.as_of)}
        fields |= {"min_confidence": recall.min_confidence, "depth": recall.depth}
    return {name: value for name, value in fields.items() if value} | ({} if narrow.personal else {"personal": False})


def search_result(answer: Json) -> SearchResult:
    """Return the result of a search."""
    return SearchResult([hit(one) for one in answer["hits"]], _plan(answer), Trace(warnings=list(answer["warnings"])))


def context(answer: Json, explained: Json | None = None) -> Context:
    """Return a context; with its whole plan and trace if it was explained."""
    plan = _plan(answer) if explained is None else _whole_plan(explained)
    trace = Trace(warnings=list(answer["warnings"])) if explained is None else _trace(explained["trace"])
    return Context(
        answer["text"],
        answer["tokens"],
        answer["budget"],
        answer["tokenizer"],
        answer["template"],
        tuple(hit(one) for one in answer["hits"]),
        plan,
        trace,
        answer["truncated"],
    )


def hit(answer: Json) -> Hit:
    """Return a hit."""
    document, _, ordinal = answer["id"].partition(":")
    offsets, relation = answer["offsets"], answer.get("relation")
    chunk = Chunk(
        ChunkId(int(document, 16), int(ordinal)),
        0,  # the workspace is known to the service alone
        answer["path"],
        answer["language"],
        answer["kind"],
        answer["label"],
        tuple(answer["heading"]),
        answer.get("text", ""),
        answer["start_line"],
        answer["end_line"],
        offsets["start"],
        offsets["end"],
        answer["tokens"],
        microseconds(answer["modified"]) or 0,
        confidence=answer["confidence"],
        value=answer["value"],
        told_by=answer.get("told_by", ""),
        kinds=tuple(answer["kinds"]),
    )
    found = Hit(chunk, answer["score"], answer["rank_score"], answer["why"], answer.get("facet", ""))
    if relation is None:
        return found
    from contextd.values.memory import Relation

    return replace(found, relation=Relation(relation["kind"], relation["depth"], relation["with"]))


def memory(answer: Json) -> Memory:
    """Return a memory."""
    from contextd.values.memory import Memory

    return Memory(
        workspace=0,
        principals=frozenset(answer["principals"]),
        topics=tuple(answer["topics"]),
        said=microseconds(answer["said"]) or 0,
        valid_from=microseconds(answer["valid_from"]) or 0,
        valid_to=microseconds(answer["valid_to"]),
        replaced_by=answer["replaced_by"] or "",
        verified=frozenset(answer["verified"]),
        silent=answer["never_recall"],
        **{name: answer[name] for name in _SAME},
    )


def remembered(answer: Json) -> Remembered:
    """Return the result of saving a memory."""
    from contextd.values.memory import Remembered

    replaced, contradicts = (tuple(memory(one) for one in answer[name]) for name in ("replaced", "contradicts"))
    return Remembered(memory(answer["memory"]), answer["known"], replaced, contradicts, tuple(answer["warnings"]))


def _plan(answer: Json) -> Plan:
    return Plan(answer["route"], answer.get("query", ""), Scope((), Reader("")), answer["terms"])


def _whole_plan(explained: Json) -> Plan:
    plan = explained["plan"]
    facets = tuple(_facet(one) for one in plan["facets"])
    return Plan(
        plan["route"],
        "",
        Scope((), Reader("")),
        explained["terms"],
        entities=tuple(plan["entities"]),
        windows=tuple((microseconds(first) or 0, microseconds(last) or 0) for first, last in plan["windows"]),
        private=plan["private"],
        domain=plan["domain"],
        topics=tuple(plan["topics"]),
        confidence=plan["confidence"],
        k=plan["k"],
        model=plan["model"],
        wanted_strategy=plan["strategy"],
        wanted_ratio=plan["ratio"],
        act=plan["act"],
        subject=plan["subject"],
        proposal=plan["proposal"],
        facets=facets,
    )


def _facet(one: Json) -> Facet:
    return Facet(one["name"], one["title"], one["question"], one["rationale"], tuple(one["topics"]), one["weight"])


def _trace(answer: Json) -> Trace:
    steps = [Step(one["name"], one["milliseconds"], one["count"]) for one in answer["steps"]]
    drops = [Drop(one["step"], one["what"], one["why"]) for one in answer["drops"]]
    return Trace(steps=steps, left_out=[lambda: drops], warnings=list(answer["warnings"]))


def facets_of(own: Sequence[Facet]) -> list[dict[str, Any]]:
    """Return a caller's own facets as the service wants them."""
    names = ("name", "title", "question", "rationale", "topics", "weight")
    return [{name: getattr(one, name) for name in names} for one in own]
