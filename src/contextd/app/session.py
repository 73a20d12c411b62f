"""The library's entry point: everything one reader can ask of contextd."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextd.app import answering
from contextd.app.access import Access
from contextd.app.asking import Asked, reader_of
from contextd.app.home import Home
from contextd.app.project import NOT_INDEXED, Project
from contextd.app.questions import hidden_paths, is_hidden, query_of, sources_of, visible_counts
from contextd.app.setup import Setup
from contextd.errors import Conflict, NotFound, Unavailable
from contextd.ports.world import FileState, Skip
from contextd.querying import pipeline as querying
from contextd.querying.rank import RELEVANCE, Ranker
from contextd.querying.render import custom
from contextd.settings.defaults import Settings
from contextd.settings.limits import checked_names, checked_text
from contextd.values.answer import Context, SearchResult
from contextd.values.deadline import within
from contextd.values.job import Jobs
from contextd.values.memory import Remembered
from contextd.values.query import Facet, Narrow, Reader
from contextd.values.usage import asked_for

if TYPE_CHECKING:  # loaded on use: a query needs neither
    from contextd.app.chats import ChatService
    from contextd.app.documents import DocumentService
    from contextd.app.index_service import IndexService
    from contextd.app.memories import MemoryService
    from contextd.app.metrics import MetricsService
    from contextd.app.status import Status
    from contextd.app.structure import Structure
    from contextd.app.tasks import Task, TaskContext
    from contextd.indexing.pipeline import Report
    from contextd.values.structure import Occurrence

_HAND_OVER = 20.0  # seconds for another process to change the access list of an index that it holds


@dataclass(frozen=True, slots=True)
class Session:
    """One reader and one project, or personal memories alone. Cheap; holds nothing open. Made by `contextd.open`."""

    home: Home
    reader: Reader
    setup: Setup
    project: Project | None = None
    others: tuple[Project, ...] = ()  # other projects to search
    unindexed: Path | None = None  # a queried folder that is not registered
    warnings: tuple[str, ...] = ()
    private: bool = True  # whether private memories and folders may answer; not over MCP, hooks and most tokens
    limited: bool = False  # whether the reader's token is for some projects alone

    @property
    def settings(self) -> Settings:
        """The settings of the session."""
        return self.setup.settings

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as budgets count them."""
        return self.home.tokens.count(text)

    def as_reader(self, name: str) -> Session:
        """Return a session for another reader."""
        return replace(self, reader=reader_of(name))

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
        cache: bool = True,
    ) -> SearchResult:
        """Return the best hits for a question. `deadline` is in seconds from now.

        `history` holds earlier messages. `rerank` scores the best chat messages and memories again. `ranker` is an order: a
        name, weights such as "relevance=0.5,recency=0.5", or a function. `vector` replaces the words by a vector. `mmr_lambda`
        trades relevance (1) for diversity (0). `cache=False` computes an answer again that was given before.
        """
        asked = Asked(history, rerank, ranker, vector, mmr_lambda, cache)
        return answering.search(self, text, narrow, deadline, k, min_score, asked)

    def find(
        self, text: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """Return at most `limit` exact matches of a text in the files of all projects, and in pushed documents."""
        from contextd.app.exact_search import exactly, found_in

        self._project()
        return found_in(self, exactly(checked_text("query", text)), limit, query_of(self, "", narrow, deadline))

    def find_pattern(
        self, pattern: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """Return at most `limit` matches of an RE2 pattern."""
        from contextd.app.exact_search import by_pattern, found_in

        self._project()
        return found_in(self, by_pattern(checked_text("query", pattern)), limit, query_of(self, "", narrow, deadline))

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
        cache: bool = True,
    ) -> Context:
        """Return the answer as text of at most `budget` tokens, with its hits and trace. Other arguments as for `search`."""
        asked = Asked(history, rerank, ranker, vector, mmr_lambda, cache)
        return answering.context(self, text, narrow, deadline, k, min_score, asked, budget, template)

    def preview(self, text: str, **asked: Any) -> Context:
        """Return what `context` would answer: the same text, ids, scores and trace. Queries change nothing."""
        with asked_for("explain"):
            return self.context(text, **{**asked, "cache": False})

    def register_template(self, name: str, text: str, *, header: str = "", separator: str = "\n", footer: str = "") -> None:
        """Add a custom template: `text` for each hit, with placeholders such as `{{content}}`."""
        if name in self.setup.templates or name in self.home.templates:
            raise Conflict(f"the template {name!r} already exists; use another name")
        self.home.templates[name] = custom(name, text, header, separator, footer)

    def register_ranker(self, name: str, ranker: Ranker) -> None:
        """Add a custom ranker: a function of a hit and the time in microseconds that returns a number; the highest is first."""
        if name in (RELEVANCE, *self.home.rankers):
            raise Conflict(f"the ranker {name!r} already exists; use another name")
        self.home.rankers[name] = ranker

    def facets(
        self,
        text: str,
        *,
        budget: int = 500,
        count: int = 5,
        own: Sequence[Facet] = (),
        min_score: float = 0.0,
        k: int = 40,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Context:
        """Return the memories relevant for a question, by facets: `count` of them, or the caller's own."""
        return answering.facets(self, text, narrow, deadline, k, min_score, history, budget, count, own)

    def task(self, task: Task, *, min_score: float | None = None, deadline: float | None = None) -> TaskContext:
        """Return the context of a task within its budget, and the prompt that contains it."""
        from contextd.app.tasks import prepared

        with asked_for("task", task.id):
            return prepared(self, task, min_score=min_score, deadline=deadline)

    @property
    def structure(self) -> Structure:
        """Definitions, callers, dependents and history of the project's code."""
        from contextd.app.structure import Structure

        return Structure(self._readable(), self.reader, sources_of(self), self.home.tokens, hidden_paths(self))

    def status(self) -> Status | None:
        """Return the status of the project's index; None if it is not registered."""
        from contextd.app.status import status

        return None if self.unindexed is not None else status(self._readable(), self.reader, hidden_paths(self))

    @property
    def memories(self) -> MemoryService:
        """The service for memories: save, change, link, forget."""
        from contextd.app.memories import memory_service

        return memory_service(self)

    def remember(
        self,
        text: str,
        *,
        principals: Iterable[str] = (),
        in_project: bool = False,
        deadline: float | None = None,
        **known: Any,
    ) -> Remembered:
        """Save a fact, personal or of this project. It is on disk when this returns. The author can always read it.

        `deadline` is in seconds from now; raises `TimedOut`, and nothing is kept, if another writer holds the record so long.
        """
        if in_project:
            self._project()  # raises without access to the project
        with within(deadline):
            return self.memories.remember(text, principals=principals, in_project=in_project, **known)

    def recall(self, text: str, *, narrow: Narrow | None = None, **asked: Any) -> SearchResult:
        """Return the memories that answer a question, of the project and of the person. Other arguments as for `search`."""
        with asked_for("recall"):
            return self.search(text, narrow=replace(narrow or Narrow(), memories_only=True), **asked)

    def chats(self, *, in_project: bool = False) -> ChatService:
        """Return the service for conversations and notes, personal or of this project."""
        from contextd.app.chats import ChatService

        home, setup = self.home, self.setup
        kept = home.record.chats(self._project().workspace if in_project else home.personal)
        made = (setup.static, setup.record_deep, home.tokens, setup.rules)
        return ChatService(kept, self.reader, *made, home.usage.log.drop_texts, home.interactions.purge)

    def documents(self, *, in_project: bool = False) -> DocumentService:
        """Return the service for documents that programs push, personal or of this project."""
        from contextd.app.documents import documents_of

        return documents_of(self, self._project() if in_project else None)

    def forget(self, memory: str, *, deadline: float | None = None) -> str:
        """Erase a memory permanently: `gone`, or `pending` while another process still reads. `deadline` as for `remember`."""
        with within(deadline):
            return self.memories.forget(memory)

    @property
    def metrics(self) -> MetricsService:
        """The service for reports on usage."""
        from contextd.app.metrics import MetricsService

        log, enabled = self.home.usage.log, self.settings.metrics.enabled
        return MetricsService(log, self.reader.name, enabled, rules=self.setup.rules, private=self.private)

    def index(
        self,
        *,
        verify: bool = False,
        deep: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Update the index of the project from its folder. A damaged index is moved aside and rebuilt."""
        return self.index_service.index(verify=verify, deep=deep, progress=progress, on_deep=on_deep)

    def rebuild(
        self,
        paths: Iterable[str] = (),
        *,
        vacuum: bool = True,
        keep_errors: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
    ) -> Report:
        """Index some paths, or everything, again from the files. The old index answers meanwhile."""
        return self.index_service.rebuild(paths, vacuum=vacuum, keep_errors=keep_errors, progress=progress)

    def refresh(
        self, paths: Iterable[str], *, force: bool = False, progress: Callable[[Report], None] = lambda _: None
    ) -> Report:
        """Check some paths again. `force` indexes them even if nothing changed."""
        return self.index_service.refresh(paths, force=force, progress=progress)

    def retry(self, *, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """Read failed files again."""
        return self.index_service.retry(progress=progress)

    def watch(self, stop: Callable[[], bool], say: Callable[[str], None], who: str = "contextd watch") -> None:
        """Keep the index up to date until `stop` returns true; runs queued jobs, too. `who` is shown to other writers."""
        self.index_service.watch(stop, say, who)

    def estimate(self, paths: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
        """Return files and bytes by language that a rebuild would read."""
        return self.index_service.estimate(paths)

    def known(self) -> Project:
        """Return the project. Raises InvalidInput if the reader may not read it."""
        return self._readable()

    @property
    def jobs(self) -> Jobs:
        """The job queue of the project's index."""
        return self._readable().store.jobs

    def summary(self) -> dict[str, object]:
        """Return counts and sizes of the project's index."""
        project = self._readable()
        return {"project": project.name, "root": str(project.root), **visible_counts(self, project.store.notes.summary())}

    def failures(self) -> list[tuple[str, str, int]]:
        """Return files of the project that failed: path, error, retries."""
        return [row for row in self._readable().store.notes.failures() if not is_hidden(self, row[0])]

    def secrets(self) -> list[tuple[str, int, str]]:
        """Return secrets that were scrubbed from the project's files and commits: path, line, rule."""
        project = self._readable()
        sources = () if hidden_paths(self) else (project.source.id, project.commits.id)
        return [find for source in sources for find in project.store.notes.finds(source)]

    def root(self) -> Path:
        """Return the folder of the project."""
        return self._project().root

    def files(self) -> Iterable[FileState | Skip]:
        """Yield every file of the project, and skipped files with the reason."""
        return self._project().source.scan()

    def source_warnings(self) -> tuple[str, ...]:
        """Return the ignore rules that the last scan could not use."""
        return self._project().source.warnings()

    def share(self, principals: Iterable[str]) -> frozenset[str]:
        """Add principals to the project's access list and return it. Raises InvalidInput if the reader is not the owner."""
        names = checked_names(principals)
        return self._change_access(lambda readers: readers | names, force=True)

    def share_only(self, principals: Iterable[str], *, force: bool = False) -> frozenset[str]:
        """Replace the project's access list and return it. Without `force`, the caller must be on it."""
        names = checked_names(principals)
        return self._change_access(lambda _: names, force=force)

    def unshare(self, principals: Iterable[str], *, force: bool = False) -> frozenset[str]:
        """Remove principals from the project's access list and return it."""
        names = checked_names(principals)
        return self._change_access(lambda readers: readers - names, force=force)

    def _change_access(self, change: Callable[[frozenset[str]], frozenset[str]], *, force: bool) -> frozenset[str]:
        """Change the access list. A process that holds the index is asked to update it, and waited for."""
        end = time.monotonic() + _HAND_OVER

        def waited(report: Report) -> None:
            if report.waiting_for and time.monotonic() > end:
                raise Unavailable(f"{report.waiting_for} holds the index; new readers have access when it has run its jobs")

        hand_over = partial(self.index_service.perform, "share", (), {}, waited)
        return self.access.change(self._project(), change, hand_over, force=force)

    def who(self) -> frozenset[str]:
        """Return the project's access list."""
        return self.access.readers(self._project())

    def close(self) -> None:
        """Close the data directory. Sessions that continue open it again."""
        self.home.close()

    @property
    def access(self) -> Access:
        """The access rights of the reader."""
        return Access(self.home.record, self.reader)

    @property
    def index_service(self) -> IndexService:
        """Index runs, jobs and the watch of the project. Raises `NotFound` or `Forbidden`."""
        from contextd.app.index_service import IndexService
        from contextd.app.interactions import LoggedDocuments

        project, home = self._project(), self.home
        traces = LoggedDocuments(home.interactions, home.record, project, project.workspace)
        return IndexService(project, self.access, self.setup, traces, hidden_paths(self))

    def _project(self) -> Project:
        """Return the project, if the reader may use it. Raises `NotFound` or `Forbidden`."""
        if self.unindexed is not None:
            raise NotFound(NOT_INDEXED)
        if self.project is None:
            raise NotFound("no project found; run the command inside a project, or use --project")
        return self.access.usable(self.project)

    def _readable(self) -> Project:
        """Return the project, if the reader may read its index. Raises `NotFound` or `Forbidden`."""
        return self.access.readable(self._project())
