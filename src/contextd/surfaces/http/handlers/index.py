"""Projects, their indexes and jobs, settings, and access tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contextd.app.index_service import estimated_seconds, rebuild_options, refresh_options
from contextd.app.questions import hidden_paths
from contextd.errors import InvalidInput, NotFound
from contextd.surfaces.http.caller import Caller, page
from contextd.surfaces.wire import api_answers
from contextd.surfaces.wire import api_requests as requests
from contextd.surfaces.wire import index_answers as answers
from contextd.surfaces.wire.answers import ListAnswer, time_of
from contextd.values.access_token import ADMIN

if TYPE_CHECKING:
    from contextd.ports.catalog import KnownProject

_PRIVATE = ("privacy.topics", "privacy.paths")  # settings that name what is private


def status(caller: Caller, asked: requests.InProject) -> answers.StatusAnswer:
    """Show the state of the index."""
    found = caller.session(asked).status()
    if found is None:
        raise NotFound("this project is not indexed yet; start a job of the kind index")
    return answers.StatusAnswer(
        name=found.name,
        root=found.root,
        indexed=time_of(found.indexed),
        files=found.files,
        commits=found.commits,
        chunks=found.chunks,
        deep=found.deep,
        changed=found.changed,
        gone=found.gone,
        failed=found.failed,
        job=found.job,
        writer=found.writer,
    )


def stats(caller: Caller, asked: requests.InProject) -> answers.StatsAnswer:
    """Show counts and sizes of the index."""
    found = caller.session(asked).summary()
    counts = {name: value for name, value in found.items() if name not in ("project", "root")}
    return answers.StatsAnswer(str(found["project"]), str(found["root"]), counts)


def failures(caller: Caller, asked: requests.InProject) -> ListAnswer[answers.FailureAnswer]:
    """List files that could not be indexed."""
    return ListAnswer.of([answers.FailureAnswer(*row) for row in caller.session(asked).failures()])


def secrets(caller: Caller, asked: requests.Paged) -> ListAnswer[answers.SecretAnswer]:
    """List secrets that were scrubbed."""
    found = [answers.SecretAnswer(*row) for row in caller.session(asked).secrets()]
    return page(found, lambda one: f"{one.path}:{one.line}:{one.rule}", asked.limit, asked.cursor)


def config(caller: Caller, asked: requests.InProject) -> answers.ConfigAnswer:
    """Show all settings, and where they come from. Names of what is private are for tokens that may see it."""
    from contextd.settings import config as files

    root = caller.session(asked).root() if asked.project is not None else None
    project_file = root / files.FILE_NAME if root is not None else None
    loaded = files.load(caller.service.home.path / "config.toml", project_file, {})
    shown = {
        key: answers.SettingAnswer(files.value_of(loaded.settings, key), loaded.origins.get(key, "default"))
        for key in files.known_keys()
        if caller.token.private or key not in _PRIVATE
    }
    return answers.ConfigAnswer(shown, loaded.warnings)


def projects(caller: Caller, asked: requests.Nothing) -> ListAnswer[answers.ProjectAnswer]:
    """List the projects that the reader may use."""
    whole = caller.token.allows(ADMIN) and caller.token.private
    found = [_project(one) for one in caller.service.known(caller.token)]
    return ListAnswer.of(found if whole else [replace(one, memories=0) for one in found])


def add_project(caller: Caller, asked: requests.ProjectRequest) -> answers.ProjectAnswer:
    """Add a project and index it."""
    caller.require_all_projects()
    session = caller.service.added(caller.token, asked.path)
    session.index_service.request()
    known = caller.service.catalog.get(session.known().workspace)
    if known is None:
        raise NotFound(f"no such project: {asked.path}")
    return _project(known)


def remove_project(caller: Caller, asked: requests.ProjectIdRequest) -> api_answers.CountAnswer:
    """Remove a project's index."""
    for one in caller.service.known(caller.token):
        if f"{one.workspace:016x}" == asked.id:
            caller.service.removed(one)
            return api_answers.CountAnswer(1)
    raise NotFound(f"no such project: {asked.id!r}")


def start_job(caller: Caller, asked: requests.JobRequest) -> answers.StartedJob:
    """Index, refresh or rebuild."""
    if asked.kind == "rebuild":
        caller.require(ADMIN)
        if not asked.confirm and not asked.dry_run:
            raise InvalidInput("a rebuild reads every file again; set confirm to true, or dry_run for an estimate")
    if asked.kind == "refresh" and not asked.paths:
        raise InvalidInput("argument 'paths' is missing; name the paths to refresh, or use the kind index")
    session = caller.session(asked)
    found = session.estimate(asked.paths)
    languages = {name or "other": answers.LanguageEstimate(*counts) for name, counts in found.items()}
    files, size = (sum(part) for part in zip(*found.values(), strict=True)) if found else (0, 0)
    job = None
    if not asked.dry_run:
        job = answers.JobAnswer.of(session.index_service.queue(asked.kind, asked.paths, _options(asked)))
        caller.service.start_following(session)
    return answers.StartedJob(job, files, estimated_seconds(size), languages)


def jobs(caller: Caller, asked: requests.Paged) -> ListAnswer[answers.JobAnswer]:
    """List jobs, newest first."""
    session = caller.session(asked)
    found, paths = page(session.jobs.recent(-1), lambda one: one.id, asked.limit, asked.cursor), not hidden_paths(session)
    return ListAnswer([answers.JobAnswer.of(one, paths=paths) for one in found.items], found.total, found.next)


def job(caller: Caller, asked: requests.JobIdRequest) -> answers.JobShown:
    """Show a job and its log."""
    session = caller.session(asked)
    found, paths = session.jobs.get(asked.job), not hidden_paths(session)
    log = [answers.LogLine(time_of(at), line) for at, line in session.jobs.lines(found.id)] if paths else []
    return answers.JobShown(answers.JobAnswer.of(found, paths=paths), log)


def cancel_job(caller: Caller, asked: requests.JobIdRequest) -> answers.JobAnswer:
    """Cancel a job."""
    session = caller.session(asked)
    return answers.JobAnswer.of(session.jobs.cancel(asked.job), paths=not hidden_paths(session))


def tokens(caller: Caller, asked: requests.Nothing) -> ListAnswer[answers.TokenAnswer]:
    """List access tokens."""
    caller.require_all_projects()
    return ListAnswer.of([answers.TokenAnswer.of(one) for one in caller.service.tokens.all()])


def create_token(caller: Caller, asked: requests.TokenRequest) -> answers.CreatedToken:
    """Create an access token."""
    caller.require_all_projects()
    found = [caller.service.session(caller.token, one).known().workspace for one in asked.projects]
    made = caller.service.tokens.create(
        asked.name,
        reader=asked.reader,
        groups=asked.groups,
        may=asked.may,
        workspaces=found,
        private=asked.private and caller.token.private,
        expires=asked.expires,
    )
    return answers.CreatedToken(asked.name, made)


def revoke_token(caller: Caller, asked: requests.TokenNameRequest) -> api_answers.CountAnswer:
    """Revoke an access token."""
    caller.require_all_projects()
    caller.service.tokens.revoke(asked.name)
    return api_answers.CountAnswer(1)


def _project(one: KnownProject) -> answers.ProjectAnswer:
    return answers.ProjectAnswer(f"{one.workspace:016x}", one.name, one.roots, one.size, time_of(one.indexed), one.memories)


def _options(asked: requests.JobRequest) -> Mapping[str, Any]:
    if asked.kind == "rebuild":
        return rebuild_options(vacuum=asked.vacuum, keep_errors=asked.keep_errors)
    return refresh_options(force=asked.force) if asked.kind == "refresh" else {}
