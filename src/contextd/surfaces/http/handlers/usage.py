"""Reports on usage."""

from __future__ import annotations

from dataclasses import asdict

from contextd.app.metrics import Metrics, MetricsService
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire import api_requests as requests
from contextd.surfaces.wire.api_answers import CountAnswer
from contextd.values.access_token import ADMIN


def metrics(caller: Caller, asked: requests.MetricsRequest) -> Metrics:
    """Report on the queries of the caller, or of all readers."""
    if asked.all_readers:
        caller.require(ADMIN)
        caller.require_all_projects()
    return _service(caller).report(asked.days, all_readers=asked.all_readers)


def usage(caller: Caller, asked: requests.UsageRequest) -> CountAnswer:
    """Record the tokens that an agent used."""
    only = caller.service.only_project(caller.token) if caller.token.workspaces else None
    _service(caller).add(**asdict(asked), project=only or "")
    return CountAnswer(1)


def _service(caller: Caller) -> MetricsService:
    """Return the reports for the reader of a token, on the projects that the token reaches."""
    token, settings = caller.token, caller.service.settings()

    def reaches(project: str) -> bool:
        return not token.workspaces or (bool(project) and token.reaches(int(project, 16)))

    log, enabled = caller.service.home.usage.log, settings.metrics.enabled
    return MetricsService(log, token.reader.name, enabled, reaches, caller.service.rules(), token.private)
