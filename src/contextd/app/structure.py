"""Queries on a project's structure and history: definitions, callers, dependents, and who changed a line and why."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from contextd.app.project import Project, inside
from contextd.errors import InvalidInput, NotFound
from contextd.linking.impact import impact
from contextd.linking.overview import headings, most_used, overview
from contextd.linking.symbols import definitions, outline, uses
from contextd.ports.store import View
from contextd.ports.world import Tokens
from contextd.settings.limits import MOST_TOKENS, checked_number, checked_text
from contextd.text.paths import names_file
from contextd.values.git_history import Edit, History
from contextd.values.query import Reader, Scope
from contextd.values.structure import DefinitionSite, Dependent, Overview, Use


@dataclass(frozen=True, slots=True)
class Structure:
    """A project as one reader may see it."""

    project: Project
    reader: Reader
    sources: frozenset[int]
    tokens: Tokens
    hidden: tuple[str, ...] = ()  # private folders and patterns that the reader may not see here

    def symbols(self, name: str) -> list[DefinitionSite]:
        """Return the definitions of a name."""
        with self.view() as view:
            return definitions(view, _named(name))

    def callers(self, name: str) -> tuple[list[DefinitionSite], list[Use]]:
        """Return the definitions of a name, and its calls and subclasses."""
        with self.view() as view:
            defined = definitions(view, _named(name))
            return defined, uses(view, name, defined)

    def outline(self, path: str) -> list[DefinitionSite] | None:
        """Return the definitions or sections of a file, in order; None if the file is not indexed."""
        uri = path.removeprefix(f"{self.project.root}/").removeprefix("./")
        with self.view() as view:
            document = next((number for number, one in view.uris().items() if one == uri), None)
            return None if document is None else outline(view, document)

    def text(self, path: str) -> str | None:
        """Return the indexed, scrubbed text of a file; None if it is not indexed."""
        with self.view() as view:
            document = next((number for number, one in view.uris().items() if one == path), None)
            return None if document is None else view.text(document)

    def worth_asking(self) -> tuple[list[str], list[str]]:
        """Return the most used names, and headings of documents: suggestions for first queries."""
        with self.view() as view:
            return most_used(view), headings(view)

    def impact(self, what: str, *, depth: int = 2) -> list[Dependent] | None:
        """Return the dependents of a file or a name, nearest first; None if there is no such file or definition."""
        path = _named(what).removeprefix(f"{self.project.root}/").removeprefix("./")
        with self.view() as view:
            if not any(names_file(path, uri) for uri in view.uris().values()) and not definitions(view, path):
                return None
            return impact(view, path, depth)

    def overview(self, budget: int) -> Overview:
        """Return the project's most central files and their signatures, within a budget."""
        if checked_number("budget", budget, MOST_TOKENS) <= 0:
            raise InvalidInput(f"invalid value for budget: {budget} (must be at least 1)")
        with self.view() as view:
            return overview(view, budget, self.tokens.count)

    def history(self, path: str, *, limit: int = 10) -> History:
        """Return recent commits of a file or folder, its authors, and files that change with it."""
        found = None if self.hidden else self.project.past.history(_one(self.project, path), limit)
        if found is None:
            raise NotFound(self._without_past(path))
        return found

    def why(self, path: str, line: int) -> tuple[Edit, str]:
        """Return the commit that last changed a line, and its message."""
        found = None if self.hidden else self.project.past.origin(_one(self.project, path), line)
        if found is None:
            raise NotFound(self._without_past(path))
        return found

    def _without_past(self, path: str) -> str:
        """Return why git has no history of a file, and what to do."""
        if self.hidden:
            return "this project has private folders, so its history is not shown here; ask on the machine itself"
        if not self.project.source.present(_one(self.project, path)):
            return f"no such file or directory in {self.project.root}: {path}"
        if not self.project.commits.position():
            return f"{self.project.root} is not a git repository with commits. Run `git init`, then commit {path}"
        return f"{path} has no commits. Commit it first. If this is a shallow clone, run `git fetch --unshallow`"

    def view(self) -> AbstractContextManager[View]:
        """Open a view of the project for this reader."""
        return self.project.store.view(Scope((self.project.workspace,), self.reader, self.sources, hidden=self.hidden))


def _one(project: Project, path: str) -> str:
    return next(iter(inside(project.root, [_named(path)])), ".")


def _named(name: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput("the name is empty; give a symbol such as Session.close, or a path")
    return checked_text("name", name).strip()
