"""Protocols of stores, sources, embedders and the machine: implemented by adapters, wired in `assemble`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import Suggestion
from contextd.values.document import Outcome, Raw, Stamp
from contextd.values.git_history import Edit, History
from contextd.values.query import Plan

Matrix = NDArray[np.float32]
_FACTS = "facts/"


class Tokens(Protocol):
    """Counts tokens as a named model would."""

    @property
    def name(self) -> str:
        """The tokenizer's name, shown with every count."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Vectors of different spaces are never compared."""

    @property
    def space(self) -> str:
        """The id of the space: model, version, dimension."""

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, one row each."""

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question."""


def pair_space(deep: str) -> str:
    """Return the space of message pairs: a message with the one before it, embedded by the model of a deep space.

    Question vectors are the same in both spaces.
    """
    return f"pair/{deep.partition('/')[2]}"


def fact_space(deep: str) -> str:
    """Return the space in which a question is near the facts that it needs, made from the model of a deep space."""
    return f"{_FACTS}{deep.partition('/')[2]}"


def is_fact_space(space: str) -> bool:
    """Return whether a space is for facts alone: no other vector is compared with those in it."""
    return space.startswith(_FACTS)


@runtime_checkable
class EmbedsFacts(Protocol):
    """An embedding model that may have a second space, for facts."""

    def for_facts(self) -> Embedder | None:
        """Return the embedder of that space; None if there is none."""


def fact_embedder(model: Embedder | None) -> Embedder | None:
    """Return the embedder for facts that comes with a model, if there is one."""
    return model.for_facts() if isinstance(model, EmbedsFacts) else None


class TaggedText(NamedTuple):
    """A text as a whole, and a row for each of its words."""

    vector: NDArray[np.float32]
    words: Matrix


class Tagger(Protocol):
    """A model that tells what a fact is, and what each of its words is to it."""

    space: str  # of the vectors of texts

    def tag(self, text: str, starts: Sequence[int]) -> TaggedText:
        """Return a text and the words that start at some characters, as vectors."""


@runtime_checkable
class HasTagger(Protocol):
    """An embedding model that may have a tagger of facts."""

    def tagger(self) -> Tagger | None:
        """Return the tagger; None if there is none."""


def tagger_space(deep: str) -> str:
    """Return the space of the vectors of a tagger, made from the model of a deep space. They are not stored."""
    return f"tagger/{deep.partition('/')[2]}"


def fact_tagger(model: Embedder | None) -> Tagger | None:
    """Return the tagger of facts that comes with a model, if there is one."""
    return model.tagger() if isinstance(model, HasTagger) else None


@dataclass(frozen=True, slots=True)
class Recipe:
    """All inputs besides the bytes that decide how a document is stored. If it changes, everything is read again."""

    text: str
    language_of: Callable[[str, bytes], str]
    variant_of: Callable[[str], str] = lambda path: ""  # by path: an extra input, if the path changes how bytes are stored


class Events(Protocol):
    """Events about changed files below a root. Events get lost; only a scan is reliable."""

    def wait(self, seconds: float) -> frozenset[str]:
        """Return changed paths, after a short time without events; none if there was no event for `seconds`."""

    def close(self) -> None:
        """Stop listening."""


class Past(Protocol):
    """The history of a project's files, such as git's."""

    def history(self, path: str, limit: int) -> History | None:
        """Return the history of a file or folder; None if there is none."""

    def origin(self, path: str, line: int) -> tuple[Edit, str] | None:
        """Return the commit that last changed a line, and its full message; None if there is none."""


class Machine(Protocol):
    """The user's machine. Its other work has priority."""

    def busy(self) -> str:
        """Return why background work should wait; empty if it need not."""

    def yield_to_others(self) -> None:
        """Lower the priority of this thread below all others."""


class Parser(Protocol):
    """Scrubs documents, cuts them into chunks and counts tokens. A crash or a hang affects one document."""

    def rest(self) -> None:
        """Release memory until the next call of `parse`."""

    def parse(self, raws: Iterable[Raw]) -> Iterator[Outcome]:
        """Yield the outcome of every document, in any order."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file of the project, by its path below the root."""

    uri: str
    stamp: Stamp
    language: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A skipped file, with the reason for people. `unseen`: a folder that could not be listed."""

    uri: str
    reason: str
    unseen: bool = False
    failed: bool = False  # it should have been read, but the system refused


class Source(Protocol):
    """A source of documents."""

    @property
    def id(self) -> int:
        """The id of the source; stable for the same place."""

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Yield all files, or those at and below `paths`, without reading them. A missing path is a `Skip`."""

    def position(self) -> str:
        """Return a text that changes with every change that causes no event; empty if all changes cause events."""

    def folders(self) -> frozenset[str]:
        """Return the folders to watch for changes."""

    def change(self, uri: str, stamp: Stamp) -> str:
        """Return how a document changed since it had this stamp, in words; empty if it did not."""

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder that may hold files of the project."""

    def present(self, path: str) -> bool:
        """Return whether a path exists; for an empty path, whether the root exists."""

    def judge(self, path: str) -> FileState | Skip:
        """Return whether one path below the root belongs to the project, or why it is skipped."""

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """Return the bytes and the stamp of one document, or why it cannot be read."""


class FileSource(Source, Protocol):
    """A folder with its own rules about which files to index."""

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about rules that the last scan could not use."""


class Retriever(Protocol):
    """Finds chunks by its own method. A plug-in is a factory of a retriever (entry points `contextd.retrievers`)."""

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        """Return at most k suggestions for a question. Called in a separate thread; a timeout or an error becomes a warning."""


class Reranker(Protocol):
    """Reads a question and texts together. It is slow, so it gets few texts and a deadline."""

    def scores(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        """Return a score for each text, in order; higher is better. Fewer if the deadline, on the monotonic clock, passes."""
