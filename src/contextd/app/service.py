"""Sessions for a service: many readers and projects of one data directory. Projects in use are followed by child processes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from contextd.app.follower import Follower
from contextd.app.home import Home
from contextd.app.machine import give_back_memory
from contextd.app.project import Project, project_named
from contextd.app.prompts import Given
from contextd.app.questions import projects_of
from contextd.app.session import Session
from contextd.app.tokens import TokenService
from contextd.errors import ContextdError, Forbidden, NotFound
from contextd.ports.catalog import KnownProject, ProjectCatalog
from contextd.privacy.formats import Rule
from contextd.settings import config
from contextd.settings.defaults import Settings
from contextd.settings.limits import checked_path
from contextd.values.access_token import ADMIN, AccessToken
from contextd.values.usage import unrecorded

_ID = re.compile(r"[0-7][0-9a-f]{15}")
_NAME = "the contextd service (`contextd stop` ends it)"
_MOST_SESSIONS = 64  # kept; the least recently used is opened again on use

Open = Callable[[str | None, Sequence[str]], Session]


@dataclass(slots=True)
class _Kept:
    """A session that was opened before, the settings files it was opened with, and when it was used last."""

    session: Session
    stamp: tuple[tuple[int, ...], ...]
    used: float


@dataclass(slots=True)
class Service:
    """One per process and data directory. Any thread may call its methods.

    `ask` opens a session for queries and registers nothing; `register` opens one for a project that may be new.
    """

    home: Home
    ask: Open
    register: Open
    workspace_of: Callable[[str], int | None]  # of a folder that is a project, judged without opening it
    catalog: ProjectCatalog
    follow: bool = True  # whether files of projects in use are watched
    tokens: TokenService = field(init=False)
    given: Given = field(default_factory=Given)  # what conversations with agents have already
    _kept: dict[tuple[str | None, ...], _Kept] = field(default_factory=dict)
    _followers: dict[Path, tuple[Follower, float]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.tokens = TokenService(self.home.record.tokens)

    def session(self, token: AccessToken, project: str | None = None, also: Sequence[str] = ()) -> Session:
        """Return a session for the reader of a token. Raises `NotFound` for a project that is unknown or not theirs."""
        if project is None and len(token.workspaces) == 1:
            project = f"{next(iter(token.workspaces)):016x}"
        roots = [self._root(token, one) for one in (project, *also) if one is not None]
        main, others = (roots[0] if project is not None else None), roots[1 if project is not None else 0 :]
        everywhere = token.may == ADMIN and not token.workspaces
        if not everywhere and not all(self._reaches(token, root) for root in roots):
            raise NotFound(_unknown(", ".join(one for one in (project, *also) if one is not None)))
        base = self._opened(main, others)
        session = replace(base, reader=token.reader, private=token.private, limited=bool(token.workspaces))
        named = [one for one in (project, *also) if one is not None]
        found = projects_of(session)
        readable = token.may == ADMIN or (len(found) == len(named) and all(_reads(session, one) for one in found))
        if not readable or not all(token.reaches(one.workspace) for one in found):
            raise NotFound(_unknown(", ".join(named)))
        for one in found:
            self._followed(one, session)
        return session

    def added(self, token: AccessToken, path: str) -> Session:
        """Register a project below one of the configured roots, and begin to index it. Raises `Forbidden`."""
        target = checked_path(path)
        session = self._opened(None, ())
        roots = [checked_path(one).resolve() for one in session.settings.engine.roots]
        if not target.is_absolute() or not any(target.resolve().is_relative_to(root) for root in roots):
            raise Forbidden(
                f"{path} is not below a configured root; add the project with `contextd up`, or set engine.roots in config.toml"
            )
        made = replace(self.register(str(target.resolve()), ()), reader=token.reader, private=token.private)
        if made.project is not None:
            self._followed(made.project, made, begin=True)
        return made

    def settings(self) -> Settings:
        """Return the user's settings, without those of a project."""
        return self._opened(None, ()).settings

    def rules(self) -> Sequence[Rule]:
        """Return the user's own rules for secrets."""
        return self._opened(None, ()).setup.rules

    def only_project(self, token: AccessToken) -> str | None:
        """Return the id of the project that a token is limited to, or of the only one it may use; None if there are more."""
        known = list(token.workspaces) or [one.workspace for one in self.known(token)]
        return f"{known[0]:016x}" if len(known) == 1 else None

    def start_following(self, session: Session) -> None:
        """Make sure that a process runs the jobs of a project."""
        if session.project is not None:
            self._followed(session.project, session, begin=True)

    def notes(self, session: Session) -> tuple[str, ...]:
        """Return notes for answers: why changes of files are not followed at the moment."""
        with self._lock:
            known = self._followers.get(session.project.root) if session.project is not None else None
        return tuple(known[0].notes()) if known is not None else ()

    def known(self, token: AccessToken) -> list[KnownProject]:
        """Return the projects that a token may be used for and its reader may read."""
        found = [one for one in self.catalog.all() if token.reaches(one.workspace)]
        return found if token.may == ADMIN else [one for one in found if self._readable(token, one)]

    def removed(self, project: KnownProject) -> None:
        """Stop following a project and delete its index."""
        for root in project.roots:
            self._stop(Path(root))
        with self._lock:
            self._kept.clear()
        self.catalog.remove(project)

    def warm(self) -> None:
        """Ask a first query, so that the next one finds the models loaded. A part that fails is reported by later queries."""
        self.home.tokens.count("…")  # the whole vocabulary is loaded for the first text that is not ASCII
        with suppress(ContextdError), unrecorded():
            self._opened(None, ()).search("what is this about", cache=False)

    def rest(self) -> None:
        """Stop following projects that were not used for `engine.idle_minutes`, and free memory. Called from time to time."""
        limit = self._opened(None, ()).settings.engine.idle_minutes * 60
        with self._lock:
            idle = [root for root, (_, used) in self._followers.items() if time.monotonic() - used > limit]
            self._kept = {key: one for key, one in self._kept.items() if time.monotonic() - one.used <= limit}
        for root in idle:
            self._stop(root)
        give_back_memory()

    def close(self) -> None:
        """End all child processes and close the data directory."""
        for root in list(self._followers):
            self._stop(root)
        self.home.close()

    def _root(self, token: AccessToken, project: str) -> str:
        """Return the folder of a project given by its path, its name, or its id."""
        named = self._opened(None, ()).settings.projects
        if project in named:
            return named[project]
        if (path := checked_path(project)).is_absolute():
            return str(path)
        known = self.catalog.get(int(project, 16)) if _ID.fullmatch(project) else None
        root = known.roots[0] if known is not None else project_named(project, self.known(token))
        if root is None:
            raise NotFound(_unknown(project))
        return root

    def _reaches(self, token: AccessToken, root: str) -> bool:
        """Return whether a folder is a project that a token may be used for. Of others not even the settings file is read."""
        with self._lock:
            kept = self._kept.get((root,))
        project = kept.session.project if kept is not None else None
        workspace = project.workspace if project is not None else self.workspace_of(root)
        return workspace is not None and token.reaches(workspace)

    def _opened(self, project: str | None, also: Sequence[str]) -> Session:
        """Return a session of the owner: the one opened before, or a new one if settings or folders have changed."""
        key, now = (project, *also), time.monotonic()
        roots = [Path(one) for one in key if one is not None]
        stamp = tuple(config.stamp(root) for root in roots or [self.home.path])
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known.stamp == stamp and _still_there(known.session):
                known.used = now
                return known.session
        session = self.ask(project, also)
        if session.unindexed is None:
            with self._lock:
                self._kept[key] = _Kept(session, stamp, now)
                while len(self._kept) > _MOST_SESSIONS:
                    del self._kept[min(self._kept, key=lambda one: self._kept[one].used)]
        return session

    def _followed(self, project: Project, session: Session, *, begin: bool = False) -> None:
        """Start a process that follows the files of a project, unless one runs. `begin`: even if it was never indexed."""
        settings, root = session.settings, project.root
        if not self.follow or not (settings.watcher.enabled or begin):
            return
        with self._lock:
            if root in self._followers:
                self._followers[root] = self._followers[root][0], time.monotonic()
                return
            if not begin and not settings.bootstrap.enabled and not project.store.documents(project.source.id):
                return
            owner = replace(session, project=project, reader=self._opened(None, ()).reader)
            self._followers[root] = Follower(owner, _NAME), time.monotonic()

    def _stop(self, root: Path) -> None:
        with self._lock:
            known = self._followers.pop(root, None)
        if known is not None:
            known[0].close()

    def _readable(self, token: AccessToken, project: KnownProject) -> bool:
        with suppress(ContextdError):
            session = replace(self._opened(project.roots[0], ()), reader=token.reader)
            return session.project is not None and _reads(session, session.project)
        return False


def _reads(session: Session, project: Project) -> bool:
    return session.access.may_read(project)


def _still_there(session: Session) -> bool:
    return all(one.folder.exists() for one in projects_of(session))


def _unknown(project: str) -> str:
    return f"no such project: {project!r}; run `contextd projects` for a list (`GET /api/v1/projects` over HTTP)"
