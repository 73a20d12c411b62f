"""Wiring: the only module that knows adapters. Opens a Session for a project and a reader."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextd import chunking
from contextd.app.asking import reader_of
from contextd.app.boundaries import boundaries
from contextd.app.embedders import deep_model, static_model
from contextd.app.engines import chat_of
from contextd.app.home import Home, shared
from contextd.app.machine import LocalMachine
from contextd.app.project import Project, project_named
from contextd.app.rescrubbing import rescrubbed
from contextd.app.root import checked_root, find_root
from contextd.app.session import Session
from contextd.app.setup import Setup
from contextd.app.usage import Usage
from contextd.chunking.cut import Limits
from contextd.chunking.extraction import missing
from contextd.errors import ContextdError, InvalidInput, NotFound
from contextd.models.chosen import LocalModels
from contextd.models.tokens import O200k
from contextd.ports.record import Record
from contextd.ports.world import Events, Recipe, Retriever
from contextd.privacy.formats import VERSION as SCRUB_VERSION
from contextd.privacy.formats import Rule
from contextd.querying.render import TEMPLATES, Template, custom
from contextd.querying.vectors import NO_MODEL
from contextd.settings import config
from contextd.settings.defaults import Chunking, Security, Settings
from contextd.settings.limits import checked_path, checked_texts
from contextd.settings.other_keys import BUILT_IN
from contextd.settings.permissions import mend, mend_folder
from contextd.sources.blame import GitPast
from contextd.sources.commits import Commits
from contextd.sources.files import Files
from contextd.sources.filetypes import language_by_content
from contextd.sources.git import git
from contextd.stores.lease import holder, lease
from contextd.stores.sqlite.catalog import Catalog
from contextd.stores.sqlite.interactions import LOG, SqliteInteractions
from contextd.stores.sqlite.pool import file_of
from contextd.stores.sqlite.record import SqliteRecord, salvaged
from contextd.stores.sqlite.repair import opened_or_renewed, replace_damaged
from contextd.stores.sqlite.store import SqliteStore
from contextd.stores.usage_files import UsageFiles
from contextd.values.conversation import Conversation, Forgotten, Note, Unread
from contextd.values.document import OWNER

if TYPE_CHECKING:
    from contextd.app.service import Service

_MOST_WORKERS = 8
_LONG_LOG = 64 << 20  # bytes


def open_session(
    project: str | Path | None = ".",
    *,
    home: Path | None = None,
    reader: str = OWNER,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
    also: Sequence[str | Path] = (),
) -> Session:
    """Open a session for a project (None: personal memories alone), and other projects to search. Nothing is indexed.

    A project is a folder, a name from the user's configuration, or the name of an indexed project.
    """
    return _opened(project, home, reader, flags, environment, also, _project)


def open_to_ask(
    project: str | Path | None = ".",
    *,
    home: Path | None = None,
    reader: str = OWNER,
    environment: Mapping[str, str] = os.environ,
    also: Sequence[str | Path] = (),
) -> Session:
    """Open a session for queries. A folder that is not indexed is not registered, and answers say so."""
    return _opened(project, home, reader, None, environment, also, _registered_project)


def open_home(path: Path) -> Home:
    """Open a data directory; one Home for all sessions of this process."""
    return shared(path, _home)


def _home(path: Path) -> Home:
    mend(path)
    record = SqliteRecord(path / "record.db")
    usage, log = Usage(UsageFiles(path / "usage")), SqliteInteractions(path / LOG)
    personal = record.workspace("personal", "", "personal")
    return Home(path, record, personal, LocalModels(path), O200k(), usage, log)


def _opened(
    project: str | Path | None,
    folder: Path | None,
    reader: str,
    flags: Mapping[str, Any] | None,
    environment: Mapping[str, str],
    also: Sequence[str | Path],
    find: Callable[[Path, Settings, Home], tuple[Project | None, str]],
) -> Session:
    """Open a session. `find` opens its projects."""
    who, folder = reader_of(reader), folder or config.home(environment)
    named = config.load(folder / "config.toml", None, environment, flags).settings.projects
    root = project_root(_folder_of(project, named, folder)) if project is not None else None
    loaded = config.load(folder / "config.toml", root / config.FILE_NAME if root else None, environment, flags)
    home = open_home(folder)
    opened, damage = find(root, loaded.settings, home) if root else (None, "")
    others = {
        one: find(*_settings_of(_folder_of(one, named, folder), folder, environment), home)[0]
        for one in checked_texts("also", [str(one) for one in also])
    }
    missing_others = [f"{one} is not indexed yet. Run `contextd index {one}`." for one, other in others.items() if not other]
    setup, missing_parts = _setup(loaded.settings, home, root)
    user = config.load(folder / "config.toml", None, {}, None).settings.security  # the same for every command
    return Session(
        home,
        who,
        setup,
        opened,
        tuple(other for other in others.values() if other is not None),
        root if opened is None else None,
        (
            *missing_others,
            *loaded.warnings,
            *missing_parts,
            *rescrubbed(home.record, _rules(user), setup.static),
            *([damage] if damage else []),
            *_long_logs(home.record, opened),
        ),
    )


def _setup(settings: Settings, home: Home, root: Path | None) -> tuple[Setup, tuple[str, ...]]:
    """Build the setup from the settings. Returns it with a warning for each missing part."""
    retrievers, broken = _retrievers(settings.providers)
    static, missing_model = static_model(home, settings)
    templates = dict(TEMPLATES) | _templates(settings.templates)
    deep = deep_model(home, settings, root)
    rules, no_model = _rules(settings.security), "; ".join(missing_model) or NO_MODEL

    def parser() -> Any:
        from contextd.sandbox.pool import Pool

        return Pool(_limits(settings.chunking), rules, workers=1, keep=False)

    models = (static, deep.load, home.models.reranker)
    chat = partial(chat_of, settings.llm, home)
    setup = Setup(settings, rules, templates, retrievers, *models, parser, language_by_content, no_model, chat, deep.of_record)
    return setup, (*missing_model, *broken, *deep.warnings)


def _long_logs(record: Record, project: Project | None) -> Iterator[str]:
    """Yield a warning for every database whose write-ahead log is too long, because a process has been reading for long."""
    held = (record, project.store if project is not None else None)
    for database in (one.database for one in held if isinstance(one, SqliteRecord | SqliteStore)):
        if (size := database.log_size()) > _LONG_LOG:
            what = f"the log of {database.path} has {size >> 20} MB, because a process has been reading it for long"
            yield f"{what}; find it with `lsof {database.path}` and stop it"


def catalog() -> Catalog:
    """Return the projects of the data directory."""
    home = config.home()
    return Catalog(home, SqliteRecord(home / "record.db"))


def open_service(environment: Mapping[str, str] = os.environ, *, follow: bool = True) -> Service:
    """Open the data directory for a service. `follow`: watch the files of projects in use."""
    from contextd.app.service import Service

    folder = config.home(environment)
    home = open_home(folder)

    def ask(project: str | None, also: Sequence[str]) -> Session:
        return open_to_ask(project, home=folder, environment=environment, also=also)

    def register(project: str | None, also: Sequence[str]) -> Session:
        return open_session(project, home=folder, environment=environment, also=also)

    if not isinstance(home.record, SqliteRecord):
        raise TypeError("the catalog of projects needs a record in SQLite")
    return Service(home, ask, register, lambda root: _workspace_of(root, home), Catalog(folder, home.record), follow)


def _workspace_of(root: str, home: Home) -> int | None:
    try:
        return home.record.registered("project", _place(checked_root(checked_path(root))))
    except InvalidInput:
        return None


def salvaged_record() -> tuple[dict[str, int], Path] | None:
    """Salvage a damaged record. Returns rows by table and the path of the damaged file; None if it is healthy."""
    path = config.home() / "record.db"
    if not path.exists():
        raise NotFound(f"no such file: {path}")
    return salvaged(path)


def export_kind(path: str) -> str:
    """Return the import format of a file or folder."""
    from contextd.sandbox import reading

    return reading.kind_of(str(checked_path(path).absolute()))


def read_export(path: str, kind: str) -> Iterator[Conversation | Note | Forgotten | Unread]:
    """Read a file or folder to import, one document at a time, in a separate process."""
    from contextd.sandbox import reading

    return reading.read_export(str(checked_path(path).absolute()), kind)


def project_root(project: str | Path) -> Path:
    """Return the folder of a project: the one named, or for `.` the project around the current folder."""
    if not str(project):
        raise InvalidInput("the project path is empty; give a directory")
    path = checked_path(str(project))
    return checked_root(find_root(path) if str(project) == "." else path)


def is_project(folder: str | Path = ".", *, home: Path | None = None) -> bool:
    """Return whether a folder belongs to a project that was registered before. Nothing is created."""
    with suppress(ContextdError):  # a system folder, or one that does not exist
        return open_home(home or config.home()).record.registered("project", _place(project_root(folder))) is not None
    return False


def settings_of(project: str | Path, environment: Mapping[str, str] = os.environ) -> config.Loaded:
    """Return the settings of a project."""
    home = config.home(environment)
    named = config.load(home / "config.toml", None, environment).settings.projects
    root = project_root(_folder_of(project, named, home))
    return config.load(home / "config.toml", root / config.FILE_NAME, environment)


def _folder_of(project: str | Path, named: Mapping[str, str], home: Path) -> str | Path:
    """Return the folder of a project: the one that is named, or the one of the indexed project with this name."""
    text = str(project)
    if text in named or not text or "/" in text or os.sep in text or Path(text).expanduser().exists():
        return named.get(text, project)
    if not (home / "record.db").exists():
        return project
    return project_named(text, Catalog(home, open_home(home).record).all()) or project  # type: ignore[arg-type]


def _settings_of(project: str | Path, home: Path, environment: Mapping[str, str]) -> tuple[Path, Settings]:
    root = project_root(project)
    return root, config.load(home / "config.toml", root / config.FILE_NAME, environment).settings


def _registered_project(root: Path, settings: Settings, home: Home) -> tuple[Project | None, str]:
    """Open a project that was registered before; None for another folder, for which nothing is created."""
    known = home.record.registered("project", _place(root)) is not None
    return _project(root, settings, home) if known else (None, "")


def _project(root: Path, settings: Settings, home: Home) -> tuple[Project, str]:
    """Open a project with its index. Returns it with a warning if the index was damaged."""
    workspace = home.record.workspace("project", _place(root), root.name)
    folder = home.path / "projects" / f"{workspace:016x}"
    mend_folder(folder)
    limits = _limits(settings.chunking)
    rules = _rules(settings.security)
    source = Files(root, boundaries(root, settings), rules)
    count = min(settings.bootstrap.parallel_workers or os.cpu_count() or 1, _MOST_WORKERS)

    def parser(*, keep: bool) -> Any:
        from contextd.sandbox.pool import Pool

        return Pool(limits, rules, workers=count, keep=keep)

    def arm(folders: Collection[str]) -> Events:
        from contextd.sources.events import NativeEvents

        return NativeEvents(root, folders, settings.watcher.debounce_ms)

    readable = [kind for kind in ("pdf", "docx", "html") if not missing(kind)]
    recipe = json.dumps([chunking.VERSION, SCRUB_VERSION, asdict(limits), rules, readable])
    store, damage = home.stores.get(folder, lambda: opened_or_renewed(folder, workspace))
    project = Project(
        root.name,
        root,
        workspace,
        folder,
        source,
        Commits(root, settings.git.max_commits, lambda path: not source.ignore.reason(path)),
        GitPast(root, rules),
        store,
        Recipe(recipe, language_by_content, lambda path: _strictness(path, rules)),
        parser,
        arm,
        LocalMachine(),
        lambda who: lease(folder, who),
        lambda: holder(folder),
        lambda: file_of(folder / "index.db"),
        lambda damaged: replace_damaged(store, folder, workspace, damaged),
        settings.privacy.paths,
    )
    return project, damage


def _limits(chunking: Chunking) -> Limits:
    """Return the limits of chunk sizes. A language without its own limit has that of code."""
    own = {
        "python": chunking.python_max_tokens,
        "kotlin": chunking.kotlin_max_tokens,
        **dict.fromkeys(("typescript", "tsx", "javascript"), chunking.typescript_max_tokens),
    }
    by_language = tuple((language, most) for language, most in own.items() if most)
    return Limits(chunking.code_max_tokens, chunking.markdown_max_tokens, chunking.lines_max_tokens, by_language=by_language)


def _templates(texts: Mapping[str, str]) -> dict[str, Template]:
    """Return the user's own templates. Built-in ones frame retrieved text as data and cannot be replaced."""
    if taken := sorted(set(texts) & set(TEMPLATES)):
        raise InvalidInput(f"templates: {taken[0]!r} is a built-in template; use another name")
    return {name: custom(name, text) for name, text in texts.items()}


def _retrievers(settings: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, tuple[float, Retriever]], tuple[str, ...]]:
    others = {name: table for name, table in settings.items() if name not in BUILT_IN}
    if not others:
        return {}, ()
    from contextd.app.plugins import load

    return load(others)


def _rules(security: Security) -> tuple[Rule, ...]:
    if not security.secret_patterns and not security.allow:
        return ()
    from contextd.privacy import user_rules

    return user_rules(security.secret_patterns, security.allow)


def _strictness(path: str, rules: tuple[Rule, ...]) -> str:
    from contextd.privacy import strictness

    return strictness(path, rules)


def _place(root: Path) -> str:
    """Return git's common directory, so that worktrees share it; else the real root."""
    out = (
        git(root, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
        if (root / ".git").exists()
        else None
    )
    lines = os.fsdecode(out or b"").split("\n")
    if len(lines) != 3:  # two paths and the end; a name with a line break gives more
        return str(root)
    common, top, _ = lines
    return common if Path(top).resolve() == root else str(root)
