"""What is installed, reachable, stale or missing, each with the command that helps. For `contextd doctor`."""

from __future__ import annotations

import shlex
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from contextd.app.agents import AGENTS, hook_path, installed, installed_hook
from contextd.app.assemble import open_to_ask
from contextd.app.assisting import faults_of
from contextd.app.root import find_root
from contextd.app.serving import running
from contextd.errors import ContextdError, NotFound
from contextd.models import weights
from contextd.settings import config

_SECONDS = 10  # for the start of another Python
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
    folder, root = config.home(environment), find_root(here)
    yield Check("data", OK, str(folder))
    settings = list(_settings(folder, root, environment))
    yield from settings
    yield from _models(folder)
    service = _service(folder)
    yield service
    yield from _agents(user)
    yield from _hooks(user, root, answering=service.state == OK)
    if all(one.state != PROBLEM for one in settings):  # otherwise nothing can be said of the project
        yield from _project(here, folder, environment)


def _settings(folder: Path, root: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    """Check the file of the user, then that of the project."""
    for own in (None, root / config.FILE_NAME):
        try:
            loaded = config.load(folder / "config.toml", own, environment)
        except ContextdError as error:
            file = own or folder / "config.toml"
            yield Check("settings", PROBLEM, str(error), f"edit {file}, then run `contextd validate-config`")
            return
    for warning in (*loaded.warnings, *faults_of(loaded.settings)):
        yield Check("settings", HINT, warning, "contextd config")


def _models(folder: Path) -> Iterator[Check]:
    for model in weights.USUAL:
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


def _hooks(user: Path, root: Path, *, answering: bool) -> Iterator[Check]:
    """Check the hook of Claude Code, of the user and of the project. It is silent on any failure, so nobody else tells."""
    for scope, option in (("user", ""), ("project", " --scope project")):
        try:
            path = hook_path(scope, user, root)
            command = installed_hook(path) if path.exists() else None
        except ContextdError as error:
            yield Check("Claude Code hook", PROBLEM, str(error), f"mend {path}")
            continue
        if command is None:
            continue
        mend = f"contextd install claude --hook{option}"
        if fault := _hook_fault(command):
            yield Check("Claude Code hook", PROBLEM, f"{fault} ({path})", mend)
        elif not answering:
            yield Check("Claude Code hook", HINT, "adds nothing while the service does not run", "contextd serve --background")
        else:
            yield Check("Claude Code hook", OK, str(path))


def _hook_fault(line: str) -> str:
    """Return why the command of a hook cannot run; empty if it can."""
    try:
        program, *arguments = shlex.split(line)
        if not Path(program).exists():
            return f"no such file: {program}"
        module = arguments[arguments.index("-m") + 1]
        if "-P" not in arguments[: arguments.index("-m")]:
            return "it would run code of the current folder (written by an older version)"
        command = [program, "-P", "-c", f"import {module}"]  # as the user set it up
        tried = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (ValueError, IndexError, OSError, subprocess.SubprocessError) as error:
        return f"the command cannot run: {error}"
    return "" if tried.returncode == 0 else f"{program} has no contextd"


def _project(here: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    try:
        session = open_to_ask(".", home=folder, environment=environment)
        found = session.status()
    except NotFound as error:
        yield Check("project", HINT, str(error))
        return
    except ContextdError as error:
        yield Check("project", PROBLEM, str(error))
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
