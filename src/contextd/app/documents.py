"""Documents that a program pushes: add, list, erase."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextd.app.interactions import LoggedDocuments
from contextd.app.questions import hidden_paths
from contextd.errors import Forbidden, InvalidInput, NotFound, Unavailable
from contextd.ports.interactions import DocumentTraces
from contextd.ports.record import Pushed, PushedDocument
from contextd.ports.world import Embedder, Matrix, Parser
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.settings.limits import checked_name, checked_text
from contextd.text.indexed_text import texts_of
from contextd.text.invisible import visible_line
from contextd.text.languages import ALIASES
from contextd.text.paths import below
from contextd.values.document import OWNER, Parsed, Raw
from contextd.values.query import Reader

if TYPE_CHECKING:
    from contextd.app.project import Project
    from contextd.app.session import Session


_LANGUAGE = re.compile(r"[a-z0-9][a-z0-9+#._-]{0,39}")  # it is shown outside of quoted text


def _checked_language(name: str) -> str:
    known = ALIASES.get(name.lower(), name.lower())
    if not _LANGUAGE.fullmatch(known):
        raise InvalidInput(f"invalid language: {visible_line(name[:40])!r} (a name such as python or c++)")
    return known


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing a document."""

    path: str
    document: int
    chunks: int
    embeddings: int
    secrets: int


@dataclass(frozen=True, slots=True)
class DocumentService:
    """The pushed documents of one reader, personal or of a project. `readers` may read a document by default."""

    store: Pushed
    reader: Reader
    readers: frozenset[str]
    static: Embedder | None
    parser: Callable[[], AbstractContextManager[Parser]]
    language_of: Callable[[str, bytes], str]
    rules: Sequence[Rule] = ()
    hidden: tuple[str, ...] = ()  # paths that do not exist for the caller
    on_erase: Callable[[], None] = lambda: None  # as of MemoryService
    traces: DocumentTraces | None = None

    def add(
        self, path: str, text: str, *, language: str | None = None, principals: Iterable[str] | None = None
    ) -> Stored:  # fmt: skip
        """Scrub, cut and store a text. It is on disk, and found, when this returns.

        `principals` may read it besides the author; None: everyone who may read the project.
        """
        path = self._visible(path)
        data = text.encode("utf-8", "replace")
        spoken = self.language_of(path, data) if language is None else _checked_language(language)
        parsed = self._parsed(Raw(path, data, spoken))
        names = self.readers if principals is None else frozenset(checked_name(one, "principal") for one in principals)
        document = PushedDocument(path, spoken, time.time_ns() // 1000)
        vectors = self._vectors(parsed)
        number = self.store.put(document, parsed, vectors, self.reader.name, names | {self.reader.name})
        if self.traces is not None:
            self.traces.change([number])
            self.traces.settle()
        return Stored(path, number, len(parsed.pieces), sum(len(one) for one in vectors.values()), len(parsed.finds))

    def delete(self, path: str) -> None:
        """Erase a document of this reader. Raises `NotFound`."""
        if self._is_hidden(self._named(path)) or not self.store.erase([self._named(path)], self.reader.name):
            raise NotFound(f"no such document of yours: {path}")
        self.on_erase()
        if self.traces is not None:
            self.traces.settle()

    def all(self) -> list[PushedDocument]:
        """Return the documents this reader may see, by path."""
        return [one for one in self.store.all(self.reader) if not self._is_hidden(one.path)]

    def _visible(self, path: str) -> str:
        """Return a checked path. Raises `Forbidden` below a private folder: the caller could not see what is stored there."""
        path = self._named(path)
        if self._is_hidden(path):
            raise Forbidden("this path is private (privacy.paths); use a token made with --private")
        return path

    def _is_hidden(self, path: str) -> bool:
        return bool(self.hidden) and below(self.hidden)(path)

    def _named(self, path: str) -> str:
        """Return the path as it is stored. If its author is not the owner, it names them: it is no file of the owner."""
        clean = self._clean(path)
        own = f"{self.reader.name}:"
        return clean if self.reader.name == OWNER or clean.startswith(own) else f"{own}{clean}"

    def _clean(self, path: str) -> str:
        """Return a path without secrets and without parts that mean nothing here. Raises `InvalidInput`."""
        name = checked_text("name", path).strip().removeprefix("./")
        if not name or visible_line(name) != name:
            raise InvalidInput(f"invalid path of a document: {visible_line(path)!r}")
        return scrub_text(name, self.rules)[0]

    def _parsed(self, raw: Raw) -> Parsed:
        with self.parser() as parser:
            outcome = next(iter(parser.parse([raw])))
        if outcome.parsed is None:
            raise InvalidInput(f"{raw.uri} cannot be read: {outcome.error}")
        return outcome.parsed

    def _vectors(self, parsed: Parsed) -> dict[str, Matrix]:
        texts = texts_of(parsed)
        if self.static is None or not texts:
            return {}
        try:
            return {self.static.space: self.static.documents(texts)}
        except Unavailable:
            return {}


def documents_of(session: Session, project: Project | None) -> DocumentService:
    """Return the documents of a project, which its readers may read, or personal ones."""
    home, setup = session.home, session.setup
    readers = session.access.readers(project) if project is not None else frozenset[str]()
    workspace = project.workspace if project is not None else home.personal
    traces = LoggedDocuments(home.interactions, home.record, project, workspace)
    store = home.record.pushed(workspace)
    made = (setup.static, setup.parser, setup.language_of, setup.rules)
    return DocumentService(store, session.reader, readers, *made, hidden_paths(session), home.usage.log.drop_texts, traces)
