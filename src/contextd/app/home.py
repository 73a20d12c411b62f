"""A data directory opened in this process: the record, open indexes, loaded models, registered templates and rankers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from contextd.app.answer_cache import AnswerCache
from contextd.app.profiles import KeptProfiles
from contextd.app.usage import Usage
from contextd.ports.engines import Chat
from contextd.ports.interactions import Interactions
from contextd.ports.models import Models
from contextd.ports.record import Record
from contextd.ports.store import ProjectStore
from contextd.ports.world import Tokens
from contextd.querying.assisted.ask import KeptReplies
from contextd.querying.rank import RANKERS, Ranker
from contextd.querying.render import Template
from contextd.querying.vectors import QueryVectors

_MOST_STORES = 16  # open indexes; the least recently used are closed, and opened again on use


class OpenStores:
    """The indexes of projects, each opened once for all readers and threads."""

    def __init__(self, most: int = _MOST_STORES) -> None:
        self._most, self._lock = most, threading.Lock()
        self._open: OrderedDict[Path, ProjectStore] = OrderedDict()

    def get(self, folder: Path, make: Callable[[], tuple[ProjectStore, str]]) -> tuple[ProjectStore, str]:
        """Return the index in a folder, and a warning if it had to be repaired."""
        with self._lock:
            if (store := self._open.get(folder)) is not None and folder.exists():
                self._open.move_to_end(folder)
                return store, ""
            store, damage = make()
            self._open[folder] = store
            unused = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - self._most)]
        for one in unused:
            one.close()
        return store, damage

    def close(self) -> None:
        """Close all indexes."""
        with self._lock:
            known, self._open = list(self._open.values()), OrderedDict()
        for store in known:
            store.close()


@dataclass(slots=True, weakref_slot=True)
class Home:
    """One per process and data directory; safe for any number of threads, readers and projects."""

    path: Path
    record: Record
    personal: int  # the workspace of memories that belong to no project
    models: Models
    tokens: Tokens
    usage: Usage
    interactions: Interactions
    stores: OpenStores = field(default_factory=OpenStores)
    templates: dict[str, Template] = field(default_factory=dict)  # registered by callers
    rankers: dict[str, Ranker] = field(default_factory=lambda: dict(RANKERS))
    query_vectors: QueryVectors = field(default_factory=QueryVectors)
    answers: AnswerCache = field(default_factory=AnswerCache)
    profiles: KeptProfiles = field(default_factory=KeptProfiles)
    chats: dict[tuple[str, ...], Chat] = field(default_factory=dict)  # language models by their settings
    replies: KeptReplies = field(default_factory=KeptReplies)  # of language models

    def close(self) -> None:
        """Close the record and all indexes. Existing sessions open them again on use; the next `shared` makes a new Home."""
        with _LOCK:
            if _HOMES.get(self.path) is self:
                del _HOMES[self.path]
        self.stores.close()
        self.record.close()
        self.interactions.close()
        for chat in self.chats.values():
            chat.close()


# All state of the process is here.
_HOMES: WeakValueDictionary[Path, Home] = WeakValueDictionary()
_LOCK = threading.RLock()


def shared(path: Path, make: Callable[[Path], Home]) -> Home:
    """Return the Home of a data directory: the one open in this process, or a new one."""
    path = path.absolute()
    with _LOCK:
        home = _HOMES.get(path)
        if home is None or not (path / "record.db").exists():
            home = _HOMES[path] = make(path)
            finalize(home, _let_go, home.stores, home.record, home.interactions).atexit = False
        return home


def _let_go(stores: OpenStores, record: Record, interactions: Interactions) -> None:
    """Close the databases of a Home whose last session is gone, without waiting for garbage collection."""
    stores.close()
    record.close()
    interactions.close()
