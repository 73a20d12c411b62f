"""The flat routes: add, delete and query a context, statistics. Without a project, they use the only one the token reaches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contextd.app.engine_stats import engine_stats as engine_stats_of
from contextd.errors import InvalidInput, NotFound, TimedOut, TooLarge
from contextd.settings.limits import checked_query
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire import engine_api as api
from contextd.surfaces.wire.answers import QueryHit
from contextd.surfaces.wire.api_requests import InProject
from contextd.surfaces.wire.typed import decoded
from contextd.values.deadline import remaining
from contextd.values.query import Narrow

if TYPE_CHECKING:
    from contextd.app.session import Session

_SECONDS = 30.0
_MEDIA_TYPES = {
    "text/markdown": "markdown", "text/html": "html", "text/x-python": "python", "application/json": "json",
    "text/x-java-source": "java", "text/javascript": "javascript", "application/x-yaml": "yaml", "application/sql": "sql",
}  # fmt: skip


def add_context(caller: Caller, asked: api.AddContext) -> api.AddedContext:
    """Store a text, or read a file of the project again."""
    session = _session(caller, asked)
    if asked.content is None:
        return _read_again(caller, session, asked.file_path)
    most = session.settings.indexing.max_file_size_mb
    if len(asked.content.encode("utf-8", "replace")) > most * (1 << 20):
        raise TooLarge(f"the content is larger than {most:g} MB (indexing.max_file_size_mb)")
    language = asked.lang or _MEDIA_TYPES.get((asked.mime or "").split(";")[0])
    made = session.documents(in_project=True).add(_inside(session, asked.file_path), asked.content, language=language)
    return api.AddedContext(_uuid(made.document), made.chunks, made.embeddings)


def delete_context(caller: Caller, asked: api.DeleteContext) -> api.DeletedContext:
    """Erase a text that was added."""
    session = _session(caller, asked)
    try:
        session.documents(in_project=True).delete(_inside(session, asked.file_path))
    except NotFound:
        return api.DeletedContext(False)
    return api.DeletedContext(True)


def query_context(caller: Caller, asked: api.QueryContextRequest) -> api.QueriedContext:
    """Search a project."""
    session, filters = _session(caller, asked), asked.filters
    narrow = Narrow(
        [filters.path_glob] if filters.path_glob else (),
        [filters.lang] if filters.lang else (),
        [filters.kind.lower()] if filters.kind else (),
    )
    found = session.search(checked_query(asked.q), k=asked.k, narrow=narrow, mmr_lambda=asked.mmr_lambda, deadline=_SECONDS)
    model = session.setup.static.space if session.setup.static is not None else ""
    return api.QueriedContext(model, len(found.hits), [QueryHit.of(hit) for hit in found.hits])


def engine_stats(caller: Caller, asked: InProject) -> api.EngineStats:
    """Show the state of the engine for one project."""
    return decoded(api.EngineStats, engine_stats_of(_session(caller, asked)))


def _read_again(caller: Caller, session: Session, path: str) -> api.AddedContext:
    """Index a file of the project again, and wait for it."""
    service, uri = session.index_service, _inside(session, path)
    if (session.root() / uri).is_dir():
        raise InvalidInput(f"{path} is not a file of the project")
    job = service.queue("refresh", [path], {"verify": True})
    caller.service.start_following(session)
    left = remaining()
    service.await_job(job.id, _SECONDS if left is None else min(_SECONDS, left))
    done = session.jobs.get(job.id)
    if not done.over:
        raise TimedOut(f"{path} is not indexed yet; ask for the job {job.id} later")
    row = session.known().store.documents(session.known().source.id).get(uri)
    if row is None:
        raise InvalidInput(f"{path} is not indexed: {done.message or 'it is left out by the settings of the project'}")
    with session.structure.view() as view:
        chunks = len(view.chunks_of([row.id]).get(row.id, ()))
    return api.AddedContext(_uuid(row.id), chunks, chunks if session.setup.static is not None else 0)


def _session(caller: Caller, asked: InProject) -> Session:
    if asked.project is None:
        only = caller.service.only_project(caller.token)
        if only is None:
            raise InvalidInput("name the project in the field project, or use a token that is limited to one project")
        asked = replace(asked, project=only)
    session = caller.session(asked)
    session.known()
    return session


def _inside(session: Session, path: str) -> str:
    """Return a path relative to the project. Raises `InvalidInput` for one outside of it."""
    from contextd.app.project import inside

    found = inside(session.root(), [path])
    if not found:
        raise InvalidInput(f"{path} is not a file of the project")
    return found[0]


def _uuid(number: int) -> str:
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
