"""The setup of a session: settings, and the rules, templates, retrievers and models made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from contextd.ports.engines import Chat
from contextd.ports.world import Embedder, Parser, Reranker, Retriever
from contextd.privacy.formats import Rule
from contextd.querying.render import Template
from contextd.querying.vectors import NO_MODEL
from contextd.settings.defaults import Settings


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings, and what was built from them. A model that is loaded on first use is a function."""

    settings: Settings
    rules: tuple[Rule, ...]
    templates: Mapping[str, Template]
    retrievers: Mapping[str, tuple[float, Retriever]]
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    reranker: Callable[[], Reranker | None]
    parser: Callable[[], AbstractContextManager[Parser]]  # for texts that programs push
    language_of: Callable[[str, bytes], str]  # of a text, by its path and its first bytes
    no_model: str = NO_MODEL  # the warning of a query without an embedding model
    chat: Callable[[], Chat | None] = lambda: None  # the language model for optional steps
    own_deep: Callable[[], Embedder | None] | None = None  # for memories and chats, if that of files is the model of a server

    @property
    def record_deep(self) -> Callable[[], Embedder | None]:
        """The deep model for memories and chats."""
        return self.own_deep or self.deep
