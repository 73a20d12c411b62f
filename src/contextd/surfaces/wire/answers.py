"""What callers get, as dataclasses: the JSON of the command line, of the MCP tools and of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contextd.surfaces.wire.convert import optional
from contextd.surfaces.wire.groups import GroupAnswer, groups
from contextd.text.invisible import visible, visible_line
from contextd.text.terms import matches

if TYPE_CHECKING:
    from contextd.indexing.pipeline import Report
    from contextd.values.answer import Context, Hit
    from contextd.values.memory import Memory
    from contextd.values.query import Facet, Plan
    from contextd.values.trace import Trace


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListAnswer(Generic[T]):
    """Items of a list: the one shape that lists have. `next` is the cursor of the next page, if there is one."""

    items: Sequence[T]
    total: int
    next: str | None = optional()

    @classmethod
    def of(cls, items: Sequence[T], total: int | None = None) -> ListAnswer[T]:
        """Some items; `total` if there are more of them."""
        return cls(items, len(items) if total is None else total)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where a chunk begins and ends in the stored text, in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class HitAnswer:
    """A hit."""

    id: str
    path: str
    start_line: int
    end_line: int
    score: float
    rank_score: float
    kind: str
    kinds: Sequence[str]
    label: str
    heading: Sequence[str]
    language: str
    tokens: int
    offsets: Offsets
    modified: str | None
    confidence: float
    value: str
    why: Mapping[str, float]
    facet: str | None = optional()
    told_by: str | None = optional()
    relation: Mapping[str, Any] | None = optional()
    text: str | None = optional()
    highlights: Sequence[Sequence[int]] | None = optional()

    @classmethod
    def of(cls, hit: Hit, terms: Mapping[str, float] | None = None, *, text: bool = True) -> HitAnswer:
        """A hit with its text; with the places of some terms in it, if they are given."""
        chunk, relation = hit.chunk, hit.relation
        return cls(
            id=f"{chunk.id.document:x}:{chunk.id.ordinal}",
            path=chunk.uri,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            score=round(hit.score, 4),
            rank_score=round(hit.rank_score, 4),
            kind=chunk.kind,
            kinds=chunk.kinds or (chunk.kind,),
            label=chunk.label,
            heading=chunk.heading,
            language=chunk.language,
            tokens=chunk.tokens,
            offsets=Offsets(chunk.start, chunk.end),
            modified=time_of(chunk.modified),
            confidence=round(chunk.confidence, 3),
            value=chunk.value,
            why=hit.why,
            facet=hit.facet or None,
            told_by=chunk.told_by or None,
            relation=relation and {"kind": relation.kind, "depth": relation.depth, "with": relation.uri},
            text=chunk.text if text else None,
            highlights=None if terms is None else matches(chunk.text, terms),
        )


@dataclass(frozen=True, slots=True)
class QueryHit:
    """A hit of `query_context` in its JSON format, with the names of that tool."""

    chunkId: str
    score: float
    filePath: str
    startLine: int
    endLine: int
    label: str
    kind: str
    language: str
    offsets: Offsets
    snippet: str

    @classmethod
    def of(cls, hit: Hit) -> QueryHit:
        """A hit with its text; characters that nobody sees are made visible."""
        one = HitAnswer.of(hit)
        path, label, text = visible_line(one.path), visible_line(one.label), visible(hit.chunk.text)
        return cls(
            chunkId=one.id,
            score=one.score,
            filePath=path,
            startLine=one.start_line,
            endLine=one.end_line,
            label=label,
            kind=one.kind,
            language=one.language,
            offsets=one.offsets,
            snippet=text,
        )


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search."""

    query: str
    route: str
    terms: Mapping[str, float]
    hits: Sequence[HitAnswer]
    groups: Sequence[GroupAnswer]
    warnings: Sequence[str]

    @classmethod
    def of(cls, hits: Sequence[Hit], plan: Plan, trace: Trace, query: str, *, highlights: bool = True) -> SearchAnswer:
        """The hits of a search, best first, and by document; with the places of the terms in them, if these are wanted."""
        terms = plan.terms if highlights else None
        answered, warnings = [HitAnswer.of(hit, terms) for hit in hits], list(trace.warnings)
        return cls(query, plan.route, dict(plan.terms), answered, groups(hits), warnings)


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """The answer to a question as a text within a budget."""

    text: str
    tokens: int
    budget: int
    tokenizer: str
    template: str
    truncated: bool
    budget_used: float
    ids: Sequence[str]
    scores: Mapping[str, float]
    route: str
    terms: Mapping[str, float]
    hits: Sequence[HitAnswer]
    warnings: Sequence[str]

    @classmethod
    def of(cls, answer: Context, *, texts: bool = False, highlights: bool = True) -> ContextAnswer:
        """A context; its hits with or without their texts, and the places of the terms in these."""
        terms = answer.plan.terms if highlights else None
        return cls(
            text=answer.text,
            tokens=answer.tokens,
            budget=answer.budget,
            tokenizer=answer.tokenizer,
            template=answer.template,
            truncated=answer.truncated,
            budget_used=round(answer.budget_used, 1),
            ids=answer.ids,
            scores={name: round(score, 4) for name, score in answer.scores.items()},
            route=answer.plan.route,
            terms=dict(answer.plan.terms),
            hits=[HitAnswer.of(hit, terms, text=texts) for hit in answer.hits],
            warnings=list(answer.trace.warnings),
        )


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """A memory; times as people read them."""

    id: str
    text: str
    kind: str
    about: str
    attribute: str
    value: str
    unit: str
    topics: Sequence[str]
    language: str
    confidence: float
    source: str
    trust: str
    conversation: str
    author: str
    principals: Sequence[str]
    said: str | None
    valid_from: str | None
    valid_to: str | None
    replaced_by: str | None
    verified: Sequence[str]
    pinned: bool
    never_recall: bool
    private: bool
    useful: int
    useless: int

    @classmethod
    def of(cls, memory: Memory) -> MemoryAnswer:
        """A memory with all its fields."""
        return cls(
            id=memory.id,
            text=memory.text,
            kind=memory.kind,
            about=memory.about,
            attribute=memory.attribute,
            value=memory.value,
            unit=memory.unit,
            topics=memory.topics,
            language=memory.language,
            confidence=round(memory.confidence, 3),
            source=memory.source,
            trust="full" if memory.trusted else "partial",
            conversation=memory.conversation,
            author=memory.author,
            principals=sorted(memory.principals),
            said=time_of(memory.said),
            valid_from=time_of(memory.valid_from),
            valid_to=time_of(memory.valid_to),
            replaced_by=memory.replaced_by,
            verified=sorted(memory.verified),
            pinned=memory.pinned,
            never_recall=memory.silent,
            private=memory.private,
            useful=memory.useful,
            useless=memory.useless,
        )


@dataclass(frozen=True, slots=True)
class FacetAnswer:
    """One side of a question."""

    name: str
    title: str
    question: str
    rationale: str
    topics: Sequence[str]
    weight: float

    @classmethod
    def of(cls, facet: Facet) -> FacetAnswer:
        """A facet."""
        return cls(facet.name, facet.title, facet.question, facet.rationale, facet.topics, facet.weight)


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a question was understood as."""

    route: str
    act: str
    subject: str
    entities: Sequence[str]
    windows: Sequence[Sequence[str | None]]
    private: bool
    strategy: str
    ratio: float
    k: int
    domain: str
    topics: Sequence[str]
    confidence: float
    model: str
    proposal: str
    facets: Sequence[FacetAnswer]

    @classmethod
    def of(cls, plan: Plan) -> PlanAnswer:
        """A plan."""
        windows = [(time_of(first), time_of(last)) for first, last in plan.windows]
        facets = [FacetAnswer.of(facet) for facet in plan.facets]
        private, ratio = plan.private, plan.ratio
        return cls(
            route=plan.route,
            act=plan.act,
            subject=plan.subject,
            entities=plan.entities,
            windows=windows,
            private=private,
            strategy=plan.strategy,
            ratio=ratio,
            k=plan.k,
            domain=plan.domain,
            topics=plan.topics,
            confidence=plan.confidence,
            model=plan.model,
            proposal=plan.proposal,
            facets=facets,
        )


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """A step of a query: its time, and how many candidates it left."""

    name: str
    milliseconds: float
    count: int | None


@dataclass(frozen=True, slots=True)
class DropAnswer:
    """What a step dropped, and why."""

    step: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """How an answer came about."""

    steps: Sequence[StepAnswer]
    drops: Sequence[DropAnswer]
    warnings: Sequence[str]

    @classmethod
    def of(cls, trace: Trace) -> TraceAnswer:
        """A trace."""
        steps = [StepAnswer(step.name, round(step.milliseconds, 2), step.count) for step in trace.steps]
        return cls(steps, [DropAnswer(drop.step, drop.what, drop.why) for drop in trace.drops], list(trace.warnings))


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """What an index run did."""

    files: int
    written: int
    commits: int
    unchanged: int
    removed: int
    chunks: int
    lines: int
    secrets_scrubbed: int
    seconds: float
    skipped: Mapping[str, int]
    failed: Mapping[str, str]
    warnings: Sequence[str]

    @classmethod
    def of(cls, report: Report) -> ReportAnswer:
        """A report."""
        return cls(
            files=report.files,
            written=report.written,
            commits=report.others,
            unchanged=report.unchanged,
            removed=report.removed,
            chunks=report.chunks,
            lines=report.lines,
            secrets_scrubbed=report.finds,
            seconds=round(report.seconds, 3),
            skipped=report.skipped,
            failed=report.failed,
            warnings=report.warnings,
        )


def time_of(microseconds: int | None) -> str | None:
    """A time in UTC as ISO 8601 has it, to the second."""
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")
