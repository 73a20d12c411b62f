"""What is installed, reachable, stale or missing, each with the command that helps. For `contextd doctor`."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from contextd.app.agents import AGENTS, installed
from contextd.app.assemble import open_to_ask
from contextd.app.serving import running
from contextd.errors import ContextdError
from contextd.models import weights
from contextd.settings import config

OK, HINT, PROBLEM = "ok", "hint", "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    state: str  # ok, hint or problem
    detail: str
    remedy: str = ""


def checks(here: Path, user: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    """Yield every check. A check that fails does not stop the others."""
    folder = config.home(environment)
    yield from _settings(folder, environment)
    yield from _models(folder)
    yield _service(folder)
    yield from _agents(user)
    yield from _project(here, folder, environment)


def _settings(folder: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    yield Check("data", OK, str(folder))
    try:
        loaded = config.load(folder / "config.toml", None, environment)
    except ContextdError as error:
        yield Check("settings", PROBLEM, str(error), "edit the file, then run `contextd validate-config`")
        return
    yield from (Check("settings", HINT, warning, "contextd config") for warning in loaded.warnings)


def _models(folder: Path) -> Iterator[Check]:
    for model in weights.MODELS.values():
        here = weights.present(folder, model)
        yield Check("model", OK if here else HINT, model.name, "" if here else "contextd models fetch")


def _service(folder: Path) -> Check:
    known = running(folder)
    if known is None:
        return Check("service", HINT, "not running; commands answer by themselves", "contextd serve --background")
    parts = urlsplit(known.url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), 1).close()
    except OSError as error:
        return Check("service", PROBLEM, f"process {known.pid} does not answer at {known.url}: {error}", "contextd stop")
    return Check("service", OK, f"{known.url}, process {known.pid}, version {known.version}")


def _agents(user: Path) -> Iterator[Check]:
    for agent in AGENTS.values():
        path = user / agent.user
        if not path.exists():
            continue
        try:
            entry = installed(agent, path)
        except ContextdError as error:
            yield Check(agent.title, PROBLEM, str(error), f"mend {path}")
            continue
        if entry is None:
            yield Check(agent.title, HINT, "not connected", f"contextd install {agent.name}")
            continue
        command = entry.get("command") if isinstance(entry, dict) else None
        program = str(command[0] if isinstance(command, list) and command else command)
        there = Path(program).exists()
        remedy = "" if there else f"contextd install {agent.name}"
        yield Check(agent.title, OK if there else PROBLEM, program if there else f"no such file: {program}", remedy)


def _project(here: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    try:
        session = open_to_ask(".", home=folder, environment=environment)
        found = session.status()
    except ContextdError as error:
        yield Check("project", HINT, str(error))
        return
    if found is None:
        yield Check("project", HINT, f"{here} is not indexed", "contextd up")
        return
    behind = found.changed + found.gone
    yield Check(
        "project", HINT if behind else OK, f"{found.files} files, {behind} changed since", "contextd index" if behind else ""
    )
    if found.failed:
        yield Check("files", PROBLEM, f"{found.failed} could not be indexed", "contextd errors")
