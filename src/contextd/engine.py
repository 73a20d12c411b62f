"""The one door: everything a surface can ask of contextd, in terms of the three pipelines."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from contextd import caveats
from contextd.errors import IndexMismatch, InvalidInput, StorageError, Unavailable
from contextd.languages import ALIASES
from contextd.memory import Remembered
from contextd.ports import Embedder, FileState, Retriever, Skip, Store, Tokens
from contextd.ports import Parser as ParserPort
from contextd.project import Project, inside
from contextd.querying import pipeline as querying
from contextd.querying.render import Template
from contextd.record_ports import Record
from contextd.scrub_rules import Rule
from contextd.settings import Settings
from contextd.trace import Trace
from contextd.types import MEMORIES, OWNER, THE_OWNER, Context, Hit, Narrow, Plan, Query, Reader, Scope

if TYPE_CHECKING:  # loaded when used: a question needs neither
    from contextd.indexing.pipeline import Report
    from contextd.indexing.upkeep import Upkeep
    from contextd.memories import Memories
    from contextd.structure import Structure
    from contextd.tasks import Task, TaskContext


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found."""

    hits: Sequence[Hit]
    plan: Plan
    trace: Trace


@dataclass(slots=True)
class Engine:
    """contextd, wired. Made by `contextd.open`; surfaces are handed one and never build it."""

    settings: Settings
    project: Project | None
    record: Record
    personal: int
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    tokens: Tokens
    templates: dict[str, Template]
    rules: tuple[Rule, ...] = ()
    retrievers: Mapping[str, tuple[float, Retriever]] = field(default_factory=dict)
    others: tuple[Project, ...] = ()
    reader: Reader = THE_OWNER
    warnings: tuple[str, ...] = ()

    # Index

    def index(
        self,
        *,
        verify: bool = False,
        deep: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Bring the index of the project up to date with its folder; a damaged one is put aside and made anew."""
        project = self._project()
        try:
            return self.perform("index", (), {"verify": verify, "deep": deep}, progress, on_deep)
        except StorageError as error:
            if error.code != "corrupt":
                raise
            project.store.close()
            self.project = replace(project, store=project.renew())
            report = self.perform("index", (), {"deep": deep}, progress, on_deep)
            report.warnings.append(f"the index was damaged and has been made anew; the old one is kept ({error})")
            return report

    def rebuild(
        self,
        paths: Iterable[str] = (),
        *,
        vacuum: bool = True,
        keep_errors: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
    ) -> Report:
        """Make the index of some paths, or of everything, again from the files; the old one answers meanwhile."""
        options = {"epoch": secrets.randbits(40) + 1, "vacuum": vacuum, "clear_errors": not keep_errors}
        return self.perform("rebuild", self._there(paths), options, progress)

    def refresh(
        self, paths: Iterable[str], *, force: bool = False, progress: Callable[[Report], None] = lambda _: None
    ) -> Report:
        """Look at some paths again; `force` makes their index again though nothing changed."""
        options = {"epoch": secrets.randbits(40) + 1} if force else {"verify": True}
        return self.perform("refresh", self._there(paths), options, progress)

    def retry(self, *, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """Read the files again that failed."""
        from contextd.indexing.pipeline import Report

        failed = [uri for uri, _, _ in self._project().store.failures()]
        return self.perform("refresh", failed, {"verify": True}, progress) if failed else Report()

    def perform(
        self,
        kind: str,
        paths: Iterable[str],
        options: Mapping[str, Any],
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Ask for a job and see it through: run it here, or wait for the process that holds the lease to do so."""
        from contextd.indexing.jobs import run_all, see_through

        project = self._project()
        job = project.store.jobs.add(kind, f"{self.reader.name}, process {os.getpid()}", tuple(paths), options)

        def run_here() -> None:
            with project.lease(f"contextd {kind}"), project.parser(keep=False) as parser:
                upkeep = self._upkeep(parser, on_deep)
                run_all(project.store.jobs, upkeep.work, lambda one, report: progress(report) if one.id == job.id else None)

        return see_through(project.store.jobs, job.id, run_here, progress)

    def watch(self, stop: Callable[[], bool], say: Callable[[str], None]) -> None:
        """Keep the index up to date until told to stop; jobs that others ask for are run on the way."""
        from contextd.indexing.upkeep import Watching

        project = self._project()
        with project.lease("contextd watch"), project.parser(keep=True) as parser:
            Watching(self._upkeep(parser), project.arm, stop, say, project.machine).run()

    def estimate(self, paths: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
        """Files and bytes by language that a rebuild would read."""
        found: dict[str, tuple[int, int]] = {}
        for state in self._project().source.scan(inside(self._project().root, paths)):
            if isinstance(state, FileState):
                files, size = found.get(state.language, (0, 0))
                found[state.language] = files + 1, size + state.stamp.size
        return found

    def _upkeep(self, parser: ParserPort, on_deep: Callable[[int], None] = lambda _: None) -> Upkeep:
        from contextd.indexing.pipeline import Options
        from contextd.indexing.upkeep import Upkeep

        project, bootstrap = self._project(), self.settings.bootstrap
        options = Options(
            batch=bootstrap.batch_size,
            priority=bootstrap.priority_extensions,
            most_files=bootstrap.max_initial_files,
            fail_fast=bootstrap.fail_fast,
            warn_bytes=self.settings.indexing.warn_file_size_mb * (1 << 20),
            most_bytes=self.settings.storage.max_mb * 1_000_000,
        )
        acl = project.store.grant(self._readers(project))
        self._share(project, acl)  # what a crash between record and index may have left undone
        return Upkeep(
            (project.source, project.commits),
            project.store,
            project.recipe,
            options,
            acl,
            parser,
            self.static,
            self.deep,
            on_deep,
        )

    def known(self) -> Project:
        """The project, for a report about it."""
        return self._project()

    def files(self) -> Iterable[FileState | Skip]:
        """Every file of the project: those that belong to it, and the others with the reason."""
        return self._project().source.scan()

    # Query

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        deadline: float | None = None,
    ) -> Found:
        """The best hits for a question; `deadline` is in seconds from now."""
        query = self._query(text, narrow, deadline)
        settings = self.settings.query
        query = replace(
            query,
            k=settings.default_k if k is None else k,
            min_score=settings.min_score_threshold if min_score is None else min_score,
        )
        hits, plan, trace = querying.search(query, self._means(query))
        self._warn(hits, query, trace)
        return Found(hits, plan, trace)

    def context(
        self,
        text: str,
        *,
        budget: int | None = None,
        template: str = "markdown",
        k: int = 40,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        deadline: float | None = None,
    ) -> Context:
        """The answer to a question as text of at most `budget` tokens."""
        query = self._query(text, narrow, deadline)
        threshold = self.settings.query.min_score_threshold if min_score is None else min_score
        limit = self.settings.budget.default_max_tokens if budget is None else budget
        query = replace(query, budget=limit, template=template, k=k, min_score=threshold)
        answer = querying.context(query, self._means(query))
        self._warn(answer.hits, query, answer.trace)
        return answer

    def task(self, task: Task, *, min_score: float | None = None, deadline: float | None = None) -> TaskContext:
        """The context of a task within the budget it deserves, and the prompt with it."""
        from contextd.tasks import TaskContext, budget_for, checked, prompt_of, question_of

        task, settings = checked(task), self.settings
        limit = budget_for(task, settings.budget.default_max_tokens)
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
        if found.tokens * 100 > limit * settings.budget.warn_threshold_percent:
            warnings.append(f"the context takes {found.tokens} of {limit} tokens")
        if self.tokens.count(prompt) - found.tokens > settings.budget.reserve_for_prompt:
            warnings.append(f"the task itself takes more than the {settings.budget.reserve_for_prompt} tokens reserved for it")
        return TaskContext(found, prompt, limit, tuple(warnings))

    @property
    def structure(self) -> Structure:
        """Questions about structure and the past: who defines, who calls, what depends on what, who changed it."""
        from contextd.structure import Structure

        return Structure(self._project(), self.reader, self._sources(), self.tokens)

    # Remember

    @property
    def memories(self) -> Memories:
        """What can be done with memories: keep, change, relate, forget."""
        from contextd.memories import Memories

        project = self.project.workspace if self.project is not None else None
        return Memories(self.record, self.personal, project, self.reader, self.static, self.deep, self.tokens, self.rules)

    def remember(self, text: str, *, principals: Iterable[str] = (), in_project: bool = False, **known: Any) -> Remembered:
        """Keep a fact, personal or of this project; on disk when this returns. Who writes can always read."""
        if in_project:
            self._project()  # who may not read it cannot write into it
        return self.memories.remember(text, principals=principals, in_project=in_project, **known)

    def recall(self, text: str, *, narrow: Narrow | None = None, **asked: Any) -> Found:
        """The memories that answer a question, of the project and of the person; everything else as for `search`."""
        return self.search(text, narrow=replace(narrow or Narrow(), memories_only=True), **asked)

    def forget(self, memory: str) -> str:
        """Erase a memory for good: `gone`, or `pending` while another process still reads."""
        return self.memories.forget(memory)

    def share(self, principals: Iterable[str]) -> frozenset[str]:
        """Say who may read the project's documents; nobody else may. Rights are the owner's to give."""
        project, names = self._project(), frozenset(principals)
        if self.reader.name != OWNER:
            raise InvalidInput(f"only {OWNER} says who may read this project; you ask as {self.reader.name}")
        if not names or not all(name.strip() for name in names):
            raise InvalidInput("name at least one principal, such as owner or everyone; an empty name is nobody")
        with project.lease("contextd share"):
            acl = project.store.grant(names)
            if names < self._readers(project):  # who loses the right loses it first, whatever happens then
                self._share(project, acl)
            self.record.set_source_right(project.workspace, project.source.id, names)
            self._share(project, acl)
        return names

    def _share(self, project: Project, acl: int) -> None:
        for source in (project.source, project.commits):
            project.store.share(source.id, acl)

    def who(self) -> frozenset[str]:
        """Who may read the project's documents."""
        return self._readers(self._project())

    def close(self) -> None:
        """Close what is open."""
        for project in self._asked():
            project.store.close()
        self.record.close()

    # Inside

    def _project(self) -> Project:
        """The project, for a reader who may read it: others learn nothing of it and change nothing in it."""
        if self.project is None:
            raise InvalidInput("this needs a project; run it inside one, or name it with --project")
        if self.reader.name != OWNER and not self.reader.principals & self._readers(self.project):
            raise InvalidInput(f"{self.reader.name} may not read this project; `contextd share` says who may")
        return self.project

    def _readers(self, project: Project) -> frozenset[str]:
        return self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})

    def _there(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Paths of a caller below the root; one at which nothing is, nor was, is a mistake."""
        project = self._project()
        asked = inside(project.root, paths)
        for path in asked:
            if not project.source.present(path) and path not in project.store.documents(project.source.id):
                raise InvalidInput(f"there is no {path} in {project.root}")
        return asked

    def _relative(self, path: str) -> str:
        """A path or pattern of the caller as the project has it."""
        root = f"{self.project.root}/" if self.project is not None else ""
        return path.removeprefix(root).removeprefix("./").rstrip("/") or "."

    def _warn(self, hits: Sequence[Hit], query: Query, trace: Trace) -> None:
        """Say what an answer has to be taken with."""
        if self.project is not None and query.text.strip():
            caveats.warn(self.project, self.reader, self._sources(), hits, trace)

    def _workspaces(self, *, personal: bool) -> tuple[int, ...]:
        own = tuple(dict.fromkeys(project.workspace for project in self._asked()))
        return (*own, self.personal) if personal else own

    def _query(self, text: str, narrow: Narrow | None, deadline: float | None) -> Query:
        if not isinstance(text, str):
            raise InvalidInput(f"a question is a text, not {type(text).__name__}")
        if deadline is not None and not deadline > 0:
            raise InvalidInput(f"a time limit of {deadline:g} s leaves no time; ask for more")
        narrow = narrow or Narrow()
        if self.project is not None:
            text = text.replace(f"{self.project.root}/", "")  # a path is looked for as the project has it
        scope = Scope(
            self._workspaces(personal=narrow.personal),
            self.reader,
            frozenset({MEMORIES}) if narrow.memories_only else self._sources(),
            tuple(self._relative(path) for path in narrow.paths),
            frozenset(ALIASES.get(name.lower(), name.lower()) for name in narrow.languages),
            frozenset(narrow.kinds),
            narrow.since,
            narrow.until,
            narrow.recall,
        )
        end = None if deadline is None else time.monotonic() + deadline
        occasional = frozenset(project.commits.id for project in self._asked())
        now = time.time_ns() // 1000
        return Query(text, scope, diversity=self.settings.query.mmr_lambda, now=now, deadline=end, occasional=occasional)

    def _sources(self) -> frozenset[int]:
        """These checkouts, and memories: other worktrees have documents of their own."""
        asked = self._asked()
        found = {number for project in asked for number in (project.source.id, project.commits.id)}
        return frozenset(found | {MEMORIES}) if asked else frozenset()

    def _asked(self) -> tuple[Project, ...]:
        """The project, and those that are asked along."""
        return (*([self.project] if self.project is not None else []), *self.others)

    def _means(self, query: Query) -> querying.Means:
        stores: dict[int, Sequence[Store]] = {}
        for workspace in query.scope.workspaces:
            projects = [project.store for project in self._asked() if project.workspace == workspace]
            stores[workspace] = [*projects[:1], self.record.store(workspace)]  # worktrees of one repository share a store
        return querying.Means(
            stores,
            self._embedders,
            self.tokens,
            self.templates,
            self.retrievers,
            self.settings.query.fusion,
            {project.workspace: project.name for project in self.others},
        )

    def _embedders(self, spaces: Collection[str]) -> list[Embedder]:
        """The static one, and the deep one where there are deep vectors: loading it costs half a second."""
        deep = self.deep() if any(space.startswith("deep/") for space in spaces) else None
        return [embedder for embedder in (self.static, deep) if embedder is not None]
