"""Structure of code and index jobs, over the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextd.errors import NotFound
from contextd.surfaces.client.connection import Connection, path_of
from contextd.values.git_history import Edit, History
from contextd.values.structure import DefinitionSite, Dependent, Overview, Use


@dataclass(frozen=True, slots=True)
class RemoteStructure:
    """A project as one reader may see it. Has the methods of `Structure`."""

    connection: Connection
    project: str | None

    def symbols(self, name: str) -> list[DefinitionSite]:
        """Return the definitions of a name."""
        return [DefinitionSite(**one) for one in self._get("/symbols", name=name)["items"]]

    def callers(self, name: str) -> tuple[list[DefinitionSite], list[Use]]:
        """Return the definitions of a name, and its calls and subclasses."""
        answer = self._get("/callers", name=name)
        return [DefinitionSite(**one) for one in answer["definitions"]], [Use(**one) for one in answer["uses"]]

    def outline(self, path: str) -> list[DefinitionSite] | None:
        """Return the definitions or sections of a file, in order; None if the file is not indexed."""
        try:
            return [DefinitionSite(**one) for one in self._get("/outline", path=path)["items"]]
        except NotFound:
            return None

    def impact(self, what: str, *, depth: int = 2) -> list[Dependent] | None:
        """Return the dependents of a file or a name, nearest first; None if there is no such file or definition."""
        answer = self._get("/impact", what=what, depth=depth)
        return [Dependent(**one) for one in answer["items"]] if answer["known"] else None

    def overview(self, budget: int) -> Overview:
        """Return the project's most central files and their signatures, within a budget."""
        answer = self._get("/map", budget=budget)
        return Overview(answer["text"], answer["tokens"], tuple(answer["files"]))

    def history(self, path: str, *, limit: int = 10) -> History:
        """Return recent commits of a file or folder, its authors, and files that change with it."""
        answer = self._get("/history", path=path, limit=limit)
        edits = tuple(Edit(**one) for one in answer["edits"])
        return History(edits, tuple(answer["authors"].items()), tuple(answer["together"].items()))

    def why(self, path: str, line: int) -> tuple[Edit, str]:
        """Return the commit that last changed a line, and its message."""
        answer = self._get("/why", path=path, line=line)
        message = answer.pop("message")
        return Edit(**answer), message

    def _get(self, route: str, **values: Any) -> Any:
        return self.connection.get(route, {"project": self.project, **values})


@dataclass(frozen=True, slots=True)
class RemoteJobs:
    """The job queue of a project. Jobs are the JSON of the service."""

    connection: Connection
    project: str

    def start(self, kind: str, **options: Any) -> Any:
        """Start a job: index, refresh with `paths`, or rebuild with `confirm`."""
        return self.connection.post("/jobs", {"project": self.project, "kind": kind, **options})

    def get(self, job: str) -> Any:
        """Return a job with its log."""
        return self.connection.get(path_of("jobs", job), {"project": self.project})

    def recent(self, limit: int = 20) -> Any:
        """Return the newest jobs."""
        return self.connection.get("/jobs", {"project": self.project, "limit": limit})["items"]

    def cancel(self, job: str) -> Any:
        """Request that a job stops."""
        return self.connection.delete(path_of("jobs", job), {"project": self.project})
