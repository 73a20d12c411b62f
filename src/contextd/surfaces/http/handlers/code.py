"""The structure and history of code."""

from __future__ import annotations

from contextd.errors import NotFound
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire import api_requests as requests
from contextd.surfaces.wire.answers import ListAnswer
from contextd.surfaces.wire.api_answers import CallersAnswer, HistoryAnswer, ImpactAnswer, WhyAnswer
from contextd.values.structure import DefinitionSite, Overview


def symbols(caller: Caller, asked: requests.NameRequest) -> ListAnswer[DefinitionSite]:
    """Find the definitions of a name."""
    return ListAnswer.of(caller.session(asked).structure.symbols(asked.name))


def callers(caller: Caller, asked: requests.NameRequest) -> CallersAnswer:
    """Find the callers and subclasses of a name."""
    return CallersAnswer(*caller.session(asked).structure.callers(asked.name))


def impact(caller: Caller, asked: requests.ImpactRequest) -> ImpactAnswer:
    """Find the files that depend on a file or a name."""
    found = caller.session(asked).structure.impact(asked.what, depth=asked.depth)
    return ImpactAnswer(found or [], len(found or []), found is not None)


def map(caller: Caller, asked: requests.MapRequest) -> Overview:  # the name of the route
    """Show the central files and their signatures."""
    return caller.session(asked).structure.overview(asked.budget)


def outline(caller: Caller, asked: requests.PathRequest) -> ListAnswer[DefinitionSite]:
    """Show the definitions in a file."""
    found = caller.session(asked).structure.outline(asked.path)
    if found is None:
        raise NotFound(f"no such file in the index: {asked.path}")
    return ListAnswer.of(found)


def history(caller: Caller, asked: requests.HistoryRequest) -> HistoryAnswer:
    """Show the history of a path."""
    found = caller.session(asked).structure.history(asked.path, limit=asked.limit)
    return HistoryAnswer(found.edits, dict(found.authors), dict(found.together))


def why(caller: Caller, asked: requests.WhyRequest) -> WhyAnswer:
    """Show the commit that last changed a line."""
    edit, message = caller.session(asked).structure.why(asked.path, asked.line)
    return WhyAnswer(*edit, message)
