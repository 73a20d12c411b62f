"""The one door: everything a surface can ask of contextd, in terms of the four pipelines."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from contextd.app import staleness
from contextd.app.asking import Asked, checked_facets, checked_recall
from contextd.app.index_service import Keeping
from contextd.app.project import NOT_INDEXED, Project
from contextd.errors import IndexMismatch, InvalidInput, StorageError, Unavailable
from contextd.ports.world import Embedder, Reranker, Retriever, Store, Tokens
from contextd.privacy.formats import Rule
from contextd.querying import pipeline as querying
from contextd.querying.rank import RANKERS, RELEVANCE, Ranker
from contextd.querying.render import Template, custom
from contextd.querying.shares import GIT_HISTORY, is_off, shares_of
from contextd.querying.vectors import QueryVectors
from contextd.settings.limits import MOST_HITS, MOST_TOKENS, checked_number, checked_paths, checked_text, checked_texts
from contextd.text.languages import ALIASES
from contextd.values.answer import Context, Hit
from contextd.values.document import CHATS, COMMIT, MEMORIES
from contextd.values.memory import Remembered
from contextd.values.query import Facet, Narrow, Plan, Query, Scope
from contextd.values.trace import Trace

if TYPE_CHECKING:  # loaded when used: a question needs neither
    from contextd.app.chats import ChatService
    from contextd.app.exact_search import Occurrence, Spans
    from contextd.app.memories import MemoryService
    from contextd.app.status import Status
    from contextd.app.structure import Structure
    from contextd.app.tasks import Task, TaskContext


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found."""

    hits: Sequence[Hit]
    plan: Plan
    trace: Trace


@dataclass(slots=True)
class Engine(Keeping):
    """contextd, wired. Made by `contextd.open`; surfaces are handed one and never build it."""

    personal: int
    tokens: Tokens
    templates: dict[str, Template]
    rules: tuple[Rule, ...] = ()
    retrievers: Mapping[str, tuple[float, Retriever]] = field(default_factory=dict)
    others: tuple[Project, ...] = ()
    warnings: tuple[str, ...] = ()
    reranker: Callable[[], Reranker | None] = lambda: None
    rankers: dict[str, Ranker] = field(default_factory=lambda: dict(RANKERS))
    query_vectors: QueryVectors = field(default_factory=QueryVectors)

    # Query

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        rerank: bool = False,
        ranker: str | Ranker = RELEVANCE,
        vector: Sequence[float] | None = None,
        mmr_lambda: float | None = None,
        deadline: float | None = None,
    ) -> SearchResult:
        """The best hits for a question; `deadline` is in seconds from now.

        `history` is what was said before it; `rerank` reads the best of chats and memories once more; `ranker` is an order: a
        name, weights such as "relevance=0.5,recency=0.5", or a function; `vector` asks with a vector instead of words;
        `mmr_lambda` trades relevance (1) for diversity (0).
        """
        settings, asked = self.settings.query, Asked(history, rerank, ranker, vector, mmr_lambda)
        query = replace(
            self._query(text, narrow, deadline),
            k=settings.default_k if k is None else checked_number("k", k, MOST_HITS),
            min_score=settings.min_score_threshold if min_score is None else min_score,
            **asked.fields(settings),
        )
        hits, plan, trace = querying.search(query, self._means(query, asked))
        self._warn(hits, query, plan, trace)
        return SearchResult(hits, plan, trace)

    def find(
        self, text: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """Where a text stands as it is written, in the files of the project and those asked along; at most `limit` places."""
        from contextd.app.exact_search import exactly

        return self._occurrences(exactly(checked_text("query", text)), limit, narrow, deadline)

    def find_pattern(
        self, pattern: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """The same for a pattern of RE2."""
        from contextd.app.exact_search import by_pattern

        return self._occurrences(by_pattern(checked_text("query", pattern)), limit, narrow, deadline)

    def _occurrences(self, spans: Spans, limit: int, narrow: Narrow | None, deadline: float | None) -> list[Occurrence]:
        from contextd.app.exact_search import occurrences

        self._project()
        query = self._query("", narrow, deadline)
        found: list[Occurrence] = []
        for project in filter(self._may_read, self._asked()):
            sources = {project.source.id} | ({project.commits.id} if COMMIT in query.scope.kinds else set())
            scope = replace(query.scope, workspaces=(project.workspace,), sources=frozenset(sources), kinds=frozenset())
            name = "" if project is self.project else f"{project.name}:"
            with project.store.view(scope) as view:
                places = occurrences(view, spans, query.scope.kinds, query.deadline)
                found += [replace(one, uri=name + one.uri) for one in islice(places, limit - len(found))]
        return found

    def context(
        self,
        text: str,
        *,
        budget: int | None = None,
        template: str = "markdown",
        k: int = querying.MOST_HITS,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        rerank: bool = False,
        ranker: str | Ranker = RELEVANCE,
        vector: Sequence[float] | None = None,
        mmr_lambda: float | None = None,
        deadline: float | None = None,
    ) -> Context:
        """The answer to a question as text of at most `budget` tokens; everything else as for `search`.

        It says what it is made of (`ids`, `scores`, `hits`), how much of the budget it takes, and how it came about (`trace`).
        """
        asked = Asked(history, rerank, ranker, vector, mmr_lambda)
        query = replace(
            self._query(text, narrow, deadline),
            budget=self.settings.budget.default_max_tokens if budget is None else checked_number("budget", budget, MOST_TOKENS),
            template=checked_text("template", template),
            k=checked_number("k", k, MOST_HITS),
            min_score=self.settings.query.min_score_threshold if min_score is None else min_score,
            **asked.fields(self.settings.query),
        )
        query = replace(query, rest_score=query.min_score * (querying.REST if min_score is None else 1.0))
        answer = querying.context(query, self._means(query, asked))
        self._warn(answer.hits, query, answer.plan, answer.trace)
        return answer

    def preview(self, text: str, **asked: Any) -> Context:
        """What `context` would answer, to be looked at: the same text, ids, scores and trace. Asking changes nothing."""
        return self.context(text, **asked)

    def register_template(self, name: str, text: str, *, header: str = "", separator: str = "\n", footer: str = "") -> None:
        """Add a template of one's own: `text` for each hit, with placeholders such as `{{content}}`."""
        if name in self.templates:
            raise InvalidInput(f"there is a template {name!r} already; give yours another name")
        self.templates[name] = custom(name, text, header, separator, footer)

    def register_ranker(self, name: str, ranker: Ranker) -> None:
        """Add an order of one's own: a number for each hit (and the time now, in microseconds), the highest first."""
        if name in (RELEVANCE, *self.rankers):
            raise InvalidInput(f"there is a ranker {name!r} already; give yours another name")
        self.rankers[name] = ranker

    def facets(
        self,
        text: str,
        *,
        budget: int = 500,
        count: int = 5,
        own: Sequence[Facet] = (),
        min_score: float = 0.7,
        k: int = 40,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Context:
        """What the person has told that matters for a question, by its facets: so many, or the caller's own."""
        from contextd.querying.facets.pipeline import TEMPLATE, Facets, faceted
        from contextd.remembering.topics import Routing

        query = self._query(text, replace(narrow or Narrow(), memories_only=True), deadline)
        query = replace(
            query,
            budget=checked_number("budget", budget, MOST_TOKENS),
            template=TEMPLATE,
            k=checked_number("k", k, MOST_HITS),
            min_score=min_score,
            history=checked_texts("history", history),
        )
        own = checked_facets(own)
        routing = Routing(self.memories.topics(), self.static)

        def topics_of(topic: str) -> Sequence[str]:
            try:
                return routing.topics_of(topic)
            except Unavailable:  # which the trace will tell of the question itself
                return ()

        return faceted(query, self._means(query), Facets(count, own, topics_of))

    def task(self, task: Task, *, min_score: float | None = None, deadline: float | None = None) -> TaskContext:
        """The context of a task within the budget it deserves, and the prompt with it."""
        from contextd.app.tasks import TaskContext, budget_for, checked, prompt_of, question_of

        task, settings = checked(task), self.settings
        limit = budget_for(task, settings.budget.default_max_tokens, settings.budget.reserve_for_prompt)
        if not settings.enabled:
            return TaskContext(None, prompt_of(task, ""), limit, ("context is switched off (enabled = false)",))
        try:
            found = self.context(
                question_of(task), budget=limit, template="xml", min_score=min_score, narrow=task.hints, deadline=deadline
            )
        except (Unavailable, StorageError, IndexMismatch) as error:
            if not settings.fallback_enabled:
                raise
            return TaskContext(None, prompt_of(task, ""), limit, (f"no context: {error}",))
        prompt = prompt_of(task, found.text)
        warnings = [*found.trace.warnings]
        if self.tokens.count(prompt) - found.tokens > settings.budget.reserve_for_prompt:
            warnings.append(f"the task itself takes more than the {settings.budget.reserve_for_prompt} tokens reserved for it")
        return TaskContext(found, prompt, limit, tuple(warnings))

    @property
    def structure(self) -> Structure:
        """Questions about structure and the past: who defines, who calls, what depends on what, who changed it."""
        from contextd.app.structure import Structure

        return Structure(self._readable(), self.reader, self._sources(), self.tokens)

    def status(self) -> Status | None:
        """How the project's index is; None where it is not indexed."""
        from contextd.app.status import status

        return None if self.unindexed is not None else status(self._readable(), self.reader)

    # Remember

    @property
    def memories(self) -> MemoryService:
        """What can be done with memories: keep, change, relate, forget."""
        from contextd.app.memories import MemoryService

        project = self.project.workspace if self.project is not None else None
        return MemoryService(self.record, self.personal, project, self.reader, self.static, self.deep, self.tokens, self.rules)

    def remember(self, text: str, *, principals: Iterable[str] = (), in_project: bool = False, **known: Any) -> Remembered:
        """Keep a fact, personal or of this project; on disk when this returns. Who writes can always read."""
        if in_project:
            self._project()  # who may not read it cannot write into it
        return self.memories.remember(text, principals=principals, in_project=in_project, **known)

    def recall(self, text: str, *, narrow: Narrow | None = None, **asked: Any) -> SearchResult:
        """The memories that answer a question, of the project and of the person; everything else as for `search`."""
        return self.search(text, narrow=replace(narrow or Narrow(), memories_only=True), **asked)

    def chats(self, *, in_project: bool = False) -> ChatService:
        """What can be done with conversations and notes from elsewhere, personal ones or those of this project."""
        from contextd.app.chats import ChatService

        kept = self.record.chats(self._project().workspace if in_project else self.personal)
        return ChatService(kept, self.reader, self.static, self.deep, self.tokens, self.rules)

    def forget(self, memory: str) -> str:
        """Erase a memory for good: `gone`, or `pending` while another process still reads."""
        return self.memories.forget(memory)

    def close(self) -> None:
        """Close what is open."""
        for project in self._asked():
            project.store.close()
        self.record.close()

    # Inside

    def _relative(self, path: str) -> str:
        """A path or pattern of the caller as the project has it."""
        root = f"{self.project.root}/" if self.project is not None else ""
        return path.removeprefix(root).removeprefix("./").rstrip("/") or "."

    def _warn(self, hits: Sequence[Hit], query: Query, plan: Plan, trace: Trace) -> None:
        """Say what an answer has to be taken with."""
        if self.unindexed is not None:
            trace.warn(NOT_INDEXED)
        for project in self._asked():
            if not self._may_read(project):
                trace.warn(staleness.unreadable(self.reader, "this project" if project is self.project else project.name))
            elif project is self.project and query.text.strip():
                staleness.warn(project, self.reader, self._sources(), hits, trace)
                if plan.wants_people:
                    staleness.tell_who(project, hits, trace)

    def _workspaces(self, *, personal: bool) -> tuple[int, ...]:
        own = tuple(dict.fromkeys(project.workspace for project in self._asked()))
        return (*own, self.personal) if personal else own

    def _query(self, text: str, narrow: Narrow | None, deadline: float | None) -> Query:
        text = checked_text("query", text)
        if deadline is not None and not deadline > 0:
            raise InvalidInput(f"a time limit of {deadline:g} s leaves no time; ask for more")
        narrow = narrow or Narrow()
        if self.project is not None:
            text = text.replace(f"{self.project.root}/", "")  # a path is looked for as the project has it
        scope = Scope(
            self._workspaces(personal=narrow.personal),
            self.reader,
            frozenset({MEMORIES}) if narrow.memories_only else self._sources(),
            tuple(self._relative(path) for path in checked_paths(narrow.paths)),
            frozenset(ALIASES.get(name.lower(), name.lower()) for name in checked_texts("languages", narrow.languages)),
            frozenset(checked_texts("kinds", narrow.kinds)),
            narrow.since,
            narrow.until,
            checked_recall(narrow.recall),
            tuple(self._relative(path) for path in checked_paths(narrow.exclude)),
        )
        end = None if deadline is None else time.monotonic() + deadline
        occasional = frozenset(project.commits.id for project in self._asked())
        now = time.time_ns() // 1000
        return Query(text, scope, mmr_lambda=self.settings.query.mmr_lambda, now=now, deadline=end, occasional=occasional)

    def _sources(self) -> frozenset[int]:
        """Checkouts that the reader may read, memories and chats; other worktrees have documents of their own."""
        asked = self._asked()
        readable = [project for project in asked if self._may_read(project)]
        past = not is_off(shares_of(self.settings.providers), GIT_HISTORY)
        found = {project.source.id for project in readable} | {project.commits.id for project in readable if past}
        return frozenset(found | {MEMORIES, CHATS}) if asked else frozenset()

    def _asked(self) -> tuple[Project, ...]:
        """The project, and those that are asked along."""
        return (*([self.project] if self.project is not None else []), *self.others)

    def _means(self, query: Query, asked: Asked = Asked()) -> querying.QueryResources:  # noqa: B008 - a value that cannot change
        stores: dict[int, Sequence[Store]] = {}
        for workspace in query.scope.workspaces:
            projects = [project.store for project in self._asked() if project.workspace == workspace]
            own = (self.record.store(workspace), self.record.chats(workspace))
            stores[workspace] = [*projects[:1], *own]  # worktrees of one repository share a store
        return querying.QueryResources(
            stores,
            self._embedders,
            self.tokens,
            self.templates,
            self.retrievers,
            self.settings.query.fusion,
            {project.workspace: project.name for project in self.others},
            self.reranker,
            asked.rankers(self.rankers),
            shares_of(self.settings.providers),
            self.query_vectors if self.settings.embedding.cache_enabled else QueryVectors(0),
        )

    def _embedders(self, spaces: Collection[str]) -> list[Embedder]:
        """The static one, and the deep one where there are deep vectors: loading it costs half a second."""
        deep = self.deep() if any(space.startswith("deep/") for space in spaces) else None
        return [embedder for embedder in (self.static, deep) if embedder is not None]
