"""The one door: everything a surface can ask of contextd, in terms of the three pipelines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextd.config import Settings
from contextd.errors import InvalidInput, StorageError
from contextd.ports import Embedder, FileState, ProjectStore, Recipe, Record, Skip, Source, Store, Tokens
from contextd.ports import Parser as ParserPort
from contextd.querying import pipeline as querying
from contextd.querying.render import Template
from contextd.scrub_rules import Rule
from contextd.trace import Trace
from contextd.types import MEMORIES, OWNER, THE_OWNER, Context, Hit, Memory, Plan, Query, Reader, Scope

if TYPE_CHECKING:  # loaded when used: a question needs neither
    from contextd.indexing import pipeline as indexing


@dataclass(frozen=True, slots=True)
class Project:
    """A folder that is known: where it is, what of it is read, where its index lies, and how a parser is had."""

    name: str
    root: Path
    workspace: int
    folder: Path
    source: Source
    store: ProjectStore
    recipe: Recipe
    parser: Callable[[], AbstractContextManager[ParserPort]]
    lease: Callable[[str], AbstractContextManager[None]]
    renew: Callable[[], ProjectStore]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found."""

    hits: Sequence[Hit]
    plan: Plan
    trace: Trace


@dataclass(frozen=True, slots=True)
class Narrow:
    """How a caller narrows a query."""

    paths: Sequence[str] = ()
    languages: Iterable[str] = ()
    kinds: Iterable[str] = ()
    personal: bool = True


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
    reader: Reader = THE_OWNER
    warnings: tuple[str, ...] = ()

    # Index

    def index(
        self,
        *,
        verify: bool = False,
        deep: bool = False,
        progress: Callable[[indexing.Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> indexing.Report:
        """Bring the index of the project up to date with its folder; a damaged one is put aside and made anew."""
        project = self._project()
        try:
            if verify:
                project.store.check()
            return self._index(verify, deep, progress, on_deep)
        except StorageError as error:
            if error.code != "corrupt":
                raise
            project.store.close()
            self.project = replace(project, store=project.renew())
            report = self._index(False, deep, progress, on_deep)
            report.warnings.append(f"the index was damaged and has been made anew; the old one is kept ({error})")
            return report

    def _index(
        self,
        verify: bool,
        deep: bool,
        progress: Callable[[indexing.Report], None],
        on_deep: Callable[[int], None],
    ) -> indexing.Report:
        from contextd.indexing import pipeline as indexing
        from contextd.indexing.embed import embed_missing

        project, bootstrap = self._project(), self.settings.bootstrap
        options = indexing.Options(
            verify,
            bootstrap.batch_size,
            bootstrap.priority_extensions,
            bootstrap.max_initial_files,
            bootstrap.fail_fast,
            self.settings.indexing.warn_file_size_mb * (1 << 20),
        )
        with project.lease("contextd index"):
            principals = self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})
            acl = project.store.grant(principals)
            project.store.share(project.source.id, acl)  # what a crash between record and index may have left undone
            with project.parser() as parser:
                report = indexing.index(
                    project.source, project.store, parser, self.static, project.recipe, acl, options, progress
                )
            if deep:
                embedder = self.deep()
                if embedder is None:
                    report.warnings.append("no deep model: run `contextd models fetch`, with onnxruntime installed")
                else:
                    embed_missing(project.store, embedder, on_deep)
                    project.store.fold(force=True)
        return report

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
        return querying.context(query, self._means(query))

    # Remember

    def remember(self, text: str, *, principals: Iterable[str] = (), in_project: bool = False) -> tuple[Memory, list[str]]:
        """Keep a fact, personal or of this project; on disk when this returns. Who writes can always read."""
        from contextd.remembering import pipeline as remembering

        workspace = self._project().workspace if in_project else self.personal
        names = frozenset(principals) | {self.reader.name}
        embedders = [embedder for embedder in (self.static, self.deep()) if embedder is not None]
        now = time.time_ns() // 1000
        return remembering.remember(
            text, workspace, self.reader.name, names, now, self.record, embedders, self.tokens, self.rules
        )

    def forget(self, memory: str) -> str:
        """Erase a memory for good: `gone`, or `pending` while another process still reads."""
        for workspace in self._workspaces(personal=True):
            if not self.record.may_read(workspace, memory, self.reader):
                continue
            author = self.record.author(workspace, memory)
            if author != self.reader.name:
                raise InvalidInput(f"memory {memory!r} was written by {author}, who alone can have it forgotten")
            return self.record.forget(workspace, memory)
        raise InvalidInput(f"there is no memory {memory!r} that you may read; `contextd search` shows their ids")

    def share(self, principals: Iterable[str]) -> frozenset[str]:
        """Say who may read the project's documents; nobody else may. Rights are the owner's to give."""
        project, names = self._project(), frozenset(principals)
        if self.reader.name != OWNER:
            raise InvalidInput(f"only {OWNER} says who may read this project; you ask as {self.reader.name}")
        if not names or not all(name.strip() for name in names):
            raise InvalidInput("name at least one principal, such as owner or everyone; an empty name is nobody")
        with project.lease("contextd share"):
            self.record.set_source_right(project.workspace, project.source.id, names)
            project.store.share(project.source.id, project.store.grant(names))
        return names

    def who(self) -> frozenset[str]:
        """Who may read the project's documents."""
        project = self._project()
        return self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})

    def close(self) -> None:
        """Close what is open."""
        if self.project is not None:
            self.project.store.close()
        self.record.close()

    # Inside

    def _project(self) -> Project:
        if self.project is None:
            raise InvalidInput("this needs a project; run it inside one, or name it with --project")
        return self.project

    def _workspaces(self, *, personal: bool) -> tuple[int, ...]:
        own = (self.project.workspace,) if self.project is not None else ()
        return (*own, self.personal) if personal else own

    def _query(self, text: str, narrow: Narrow | None, deadline: float | None) -> Query:
        if not isinstance(text, str):
            raise InvalidInput(f"a question is a text, not {type(text).__name__}")
        narrow = narrow or Narrow()
        scope = Scope(
            self._workspaces(personal=narrow.personal),
            self.reader,
            self._sources(),
            tuple(narrow.paths),
            frozenset(narrow.languages),
            frozenset(narrow.kinds),
        )
        end = None if deadline is None else time.monotonic() + deadline
        return Query(text, scope, diversity=self.settings.query.mmr_lambda, now=time.time_ns() // 1000, deadline=end)

    def _sources(self) -> frozenset[int]:
        """This checkout of the project, and memories: other worktrees of it have documents of their own."""
        return frozenset({self.project.source.id, MEMORIES}) if self.project is not None else frozenset()

    def _means(self, query: Query) -> querying.Means:
        stores: dict[int, Sequence[Store]] = {}
        for workspace in query.scope.workspaces:
            own = [self.record.store(workspace)]
            if self.project is not None and workspace == self.project.workspace:
                own.insert(0, self.project.store)
            stores[workspace] = own
        return querying.Means(stores, self._embedders(stores), self.tokens, self.templates)

    def _embedders(self, stores: Mapping[int, Sequence[Store]]) -> list[Embedder]:
        """The static one, and the deep one where a scope holds deep vectors: loading it costs half a second."""
        found = [self.static] if self.static is not None else []
        if any(store.holds("deep/") for several in stores.values() for store in several):
            deep = self.deep()
            found += [deep] if deep is not None else []
        return found
