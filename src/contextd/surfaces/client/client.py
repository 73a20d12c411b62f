"""The client: one service, one project or personal data alone, one reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextd.errors import InvalidInput, NotFound, Unavailable
from contextd.surfaces.client.connection import Connection
from contextd.surfaces.client.values import context, facets_of, filters, search_result
from contextd.values.answer import Context, SearchResult
from contextd.values.query import Facet, Narrow

if TYPE_CHECKING:  # loaded on use: a search needs none of them
    from contextd.app.tasks import Task, TaskContext
    from contextd.surfaces.client.memories import RemoteDocuments, RemoteMemories
    from contextd.surfaces.client.structure import RemoteJobs, RemoteStructure
    from contextd.values.memory import Remembered
    from contextd.values.structure import Occurrence


class Client:
    """What one reader can ask of a running service. Has the methods of `Session` that make sense from afar.

    Without a URL and a token: the service that runs on this machine, as its owner. Any thread may call its methods.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        project: str | Path | None = None,
        also: Iterable[str | Path] = (),
        reader: str | None = None,
        home: Path | None = None,
        timeout: float = 10.0,
        retries: int = 3,
    ) -> None:
        """`project` is a directory, a name in the settings of the service, or an id. `reader` needs a token of the right admin.

        Raises `Unavailable` if no URL is given and no service runs.
        """
        headers = {} if reader is None else {"X-Contextd-Reader": reader}
        place, secret = _address(url, token, home)
        own = (lambda: True) if url is not None else lambda: _still_at(place, home)
        self.connection = Connection(place, secret, timeout, retries, headers, own)
        self.project = None if project is None else str(project)
        self.also = tuple(str(one) for one in also)
        self.warnings: tuple[str, ...] = ()

    def for_project(self, project: str | Path | None, also: Iterable[str | Path] = ()) -> Client:
        """Return a client for another project."""
        made = copy(self)
        made.project, made.also = None if project is None else str(project), tuple(str(one) for one in also)
        return made

    def as_reader(self, name: str) -> Client:
        """Return a client that acts as another reader. The token must have the right admin."""
        made, old = copy(self), self.connection
        headers = {**old.headers, "X-Contextd-Reader": name}
        made.connection = Connection(old.url, old.token, old.timeout, old.retries, headers, old.is_ours)
        return made

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        rerank: bool = False,
        ranker: str = "relevance",
        mmr_lambda: float | None = None,
        deadline: float | None = None,
        cache: bool = True,
    ) -> SearchResult:
        """Return the best hits for a question, as `Session.search` does."""
        asked = {
            "query": text, "k": k, "min_score": min_score, "history": list(history), "rerank": rerank, "ranker": _name(ranker),
            "mmr_lambda": mmr_lambda, "timeout": deadline, "cache": cache,
        }  # fmt: skip
        return search_result(self.connection.post("/search", {**self._where(), **asked, **filters(narrow)}, safe=True))

    def recall(self, text: str, *, narrow: Narrow | None = None, **asked: Any) -> SearchResult:
        """Return the memories that answer a question."""
        return self.search(text, narrow=replace(narrow or Narrow(), memories_only=True), **asked)

    def context(self, text: str, **asked: Any) -> Context:
        """Return the answer as text of at most `budget` tokens. Arguments are those of `Session.context`."""
        return context(self.connection.post("/context", self._question(text, **asked), safe=True))

    def preview(self, text: str, **asked: Any) -> Context:
        """Return what `context` would answer, with the whole plan and trace."""
        explained = self.connection.post("/explain", self._question(text, **asked), safe=True)
        return context(explained["context"], explained)

    def find(
        self, text: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """Return at most `limit` exact matches of a text."""
        return self._find(text, False, limit, narrow, deadline)

    def find_pattern(
        self, pattern: str, *, limit: int = 100, narrow: Narrow | None = None, deadline: float | None = None
    ) -> list[Occurrence]:
        """Return at most `limit` matches of an RE2 pattern."""
        return self._find(pattern, True, limit, narrow, deadline)

    def facets(
        self,
        text: str,
        *,
        budget: int = 500,
        count: int = 5,
        own: Sequence[Facet] = (),
        min_score: float = 0.0,
        k: int = 40,
        history: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Context:
        """Return the memories relevant for a question, by facets."""
        asked = {
            "query": text, "budget": budget, "count": count, "own": facets_of(own), "min_score": min_score, "k": k,
            "history": list(history), "timeout": deadline, "project": self.project,
        }  # fmt: skip
        explained = self.connection.post("/facets", asked, safe=True)
        return context(explained["context"], explained)

    def task(self, task: Task, *, min_score: float | None = None, deadline: float | None = None) -> TaskContext:
        """Return the context of a task within its budget, and the prompt that contains it."""
        from contextd.app.tasks import TaskContext

        asked = {
            "title": task.title, "description": task.description, "type": task.type, "complexity": task.complexity,
            "task_id": task.id, "min_score": min_score, "timeout": deadline,
        }  # fmt: skip
        answer = self.connection.post("/task", {**self._where(), **asked, **filters(task.hints)}, safe=True)
        inner = None if answer["context"] is None else context(answer["context"])
        return TaskContext(inner, answer["prompt"], answer["budget"], tuple(answer["warnings"]))

    @property
    def structure(self) -> RemoteStructure:
        """Definitions, callers, dependents and history of the project's code."""
        from contextd.surfaces.client.structure import RemoteStructure

        return RemoteStructure(self.connection, self.project)

    @property
    def memories(self) -> RemoteMemories:
        """Memories and topics: save, change, link, forget."""
        from contextd.surfaces.client.memories import RemoteMemories

        return RemoteMemories(self.connection, self.project)

    def documents(self, *, in_project: bool = False) -> RemoteDocuments:
        """Documents that programs push, personal or of this project."""
        from contextd.surfaces.client.memories import RemoteDocuments

        return RemoteDocuments(self.connection, self._named() if in_project else None)

    @property
    def jobs(self) -> RemoteJobs:
        """The job queue of the project's index."""
        from contextd.surfaces.client.structure import RemoteJobs

        return RemoteJobs(self.connection, self._named())

    def remember(
        self,
        text: str,
        *,
        principals: Iterable[str] = (),
        in_project: bool = False,
        deadline: float | None = None,
        **known: Any,
    ) -> Remembered:
        """Save a fact, personal or of this project. It is on disk when this returns."""
        return self.memories.remember(text, principals=principals, in_project=in_project, **known)

    def forget(self, memory: str, *, deadline: float | None = None) -> str:
        """Erase a memory permanently: `gone`, or `pending` while another process still reads."""
        return self.memories.forget(memory)

    def summary(self) -> dict[str, object]:
        """Return counts and sizes of the project's index."""
        answer = self.connection.get("/stats", {"project": self._named()})
        return {"project": answer["project"], "root": answer["root"], **answer["counts"]}

    def failures(self) -> list[tuple[str, str, int]]:
        """Return files of the project that failed: path, error, retries."""
        items = self.connection.get("/failures", {"project": self._named()})["items"]
        return [(one["path"], one["error"], one["retries"]) for one in items]

    def root(self) -> Path:
        """Return the folder of the project."""
        return Path(self._named())

    def close(self) -> None:
        """Close idle connections."""
        self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _where(self) -> dict[str, Any]:
        return {"project": self.project, "also": list(self.also)}

    def _question(
        self,
        text: str,
        *,
        budget: int | None = None,
        template: str = "markdown",
        k: int | None = None,
        min_score: float | None = None,
        narrow: Narrow | None = None,
        history: Sequence[str] = (),
        rerank: bool = False,
        ranker: str = "relevance",
        mmr_lambda: float | None = None,
        deadline: float | None = None,
        cache: bool = True,
    ) -> dict[str, Any]:
        asked = {
            "query": text, "budget": budget, "template": template, "k": k, "min_score": min_score, "history": list(history),
            "rerank": rerank, "ranker": _name(ranker), "mmr_lambda": mmr_lambda, "timeout": deadline, "texts": True,
            "cache": cache,
        }  # fmt: skip
        return {**self._where(), **asked, **filters(narrow)}

    def _find(self, text: str, regex: bool, limit: int, narrow: Narrow | None, deadline: float | None) -> list[Occurrence]:
        from contextd.values.structure import Occurrence

        chosen = {name: one for name, one in filters(narrow).items() if name in _FINDING}
        asked = {"query": text, "regex": regex, "limit": min(limit, 10_000), "timeout": deadline}
        answer = self.connection.post("/find", {**self._where(), **asked, **chosen}, safe=True)
        names = ("line", "column", "match", "text", "kind", "label")
        return [Occurrence(one["path"], *(one[name] for name in names)) for one in answer["matches"]]

    def _named(self) -> str:
        if self.project is None:
            raise NotFound("no project found; run the command inside a project, or use --project")
        return self.project


_FINDING = ("paths", "exclude", "languages", "kinds", "since", "until", "personal")


def _name(ranker: object) -> str:
    if not isinstance(ranker, str):
        raise InvalidInput("a ranker that is a function cannot be sent to the service; use the library in process")
    return ranker


def _still_at(url: str, home: Path | None) -> bool:
    """Return whether the service of this machine is alive and at a URL: a program that took its port gets no token."""
    from contextd.app.serving import running
    from contextd.settings.data_directory import home as default_home

    known = running(home or default_home())
    return known is not None and known.url == url


def _address(url: str | None, token: str | None, home: Path | None) -> tuple[str, str]:
    """Return the URL and the token; of the service on this machine, if they are not given."""
    from contextd.app.serving import folder_of, running
    from contextd.settings.data_directory import home as default_home

    folder = home or default_home()
    if url is None:
        known = running(folder)
        if known is None:
            raise Unavailable("the service is not running; start it with `contextd serve --background`")
        url = known.url
    if token is None:
        try:
            token = (folder_of(folder) / "token").read_text("ascii").strip()
        except OSError:
            raise Unavailable(f"no token in {folder_of(folder)}; give one, or start the service once") from None
    return url, token
