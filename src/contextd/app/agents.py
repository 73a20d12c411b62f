"""Programs that contextd can be connected to: where their configuration is, and the entry that connects them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextd.app import json_edit
from contextd.errors import InvalidInput, StorageError
from contextd.settings.permissions import make_folder, replace_file

NAME = "contextd"
BACKUP = ".before-contextd"
_HOOK_MODULE = "contextd.surfaces.client.hook"
_HOOK_SECONDS = 2  # after which Claude Code gives up on the hook


@dataclass(frozen=True, slots=True)
class Command:
    """The command that starts contextd, by absolute paths: hosts have a small PATH and another working directory."""

    program: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def with_arguments(self, *more: str) -> Command:
        """Return the command with further arguments."""
        return Command(self.program, (*self.arguments, *more), self.environment)


@dataclass(frozen=True, slots=True)
class Agent:
    """A program: its files for each scope, and the shape of its entry."""

    name: str
    title: str
    user: str  # file of the user, below the home directory
    project: str  # file of a project
    keys: tuple[str, ...]
    shape: Callable[[Command], dict[str, Any]]

    def path(self, scope: str, home: Path, project: Path) -> Path:
        """Return the file of a scope. Raises `InvalidInput` for a file of a project that is elsewhere."""
        return home / self.user if scope == "user" else in_project(project, self.project)

    @property
    def is_toml(self) -> bool:
        """Whether its file is TOML."""
        return self.user.endswith(".toml")


def _plain(command: Command) -> dict[str, Any]:
    made = {"command": command.program, "args": list(command.arguments)}
    return {**made, **({"env": command.environment} if command.environment else {})}


def _typed(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command)}


def _opencode(command: Command) -> dict[str, Any]:
    made = {"type": "local", "command": [command.program, *command.arguments], "enabled": True}
    return {**made, **({"environment": command.environment} if command.environment else {})}


_CONFIG = ".config"
# A file from which the entry was removed and which has nothing else: `{"mcpServers": {}}`, or `[mcp_servers]`.
_EMPTY = re.compile(r'\s*(?:\{\s*(?:"\w+":\s*\{\s*\}\s*)?\}|\[\w+\])?\s*')
_CODE = "Library/Application Support/Code/User" if sys.platform == "darwin" else f"{_CONFIG}/Code/User"
AGENTS = {
    one.name: one
    for one in (
        Agent("claude", "Claude Code", ".claude.json", ".mcp.json", ("mcpServers",), _typed),
        Agent("codex", "Codex", ".codex/config.toml", ".codex/config.toml", ("mcp_servers",), _plain),
        Agent("cursor", "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", ("mcpServers",), _plain),
        Agent("vscode", "VS Code", f"{_CODE}/mcp.json", ".vscode/mcp.json", ("servers",), _typed),
        Agent("gemini", "Gemini CLI", ".gemini/settings.json", ".gemini/settings.json", ("mcpServers",), _plain),
        Agent("opencode", "OpenCode", f"{_CONFIG}/opencode/opencode.json", "opencode.json", ("mcp",), _opencode),
        Agent("zed", "Zed", f"{_CONFIG}/zed/settings.json", ".zed/settings.json", ("context_servers",), _plain),
    )
}


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of a configuration file: its new text, or none if the file stays as it is."""

    path: Path
    before: str
    after: str

    @property
    def is_needed(self) -> bool:
        """Whether the file changes."""
        return self.before != self.after

    def write(self) -> None:
        """Write the file, and keep what it was before beside it. A file that install created is removed once it is empty.

        Raises `StorageError`. Both are written to new files of this user alone, which then take their names: a link that waits
        there is not followed.
        """
        target = self.path.resolve()
        try:
            make_folder(target.parent)
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
            backup = target.with_name(target.name + BACKUP)
            if not backup.is_file() and _EMPTY.fullmatch(self.after):
                target.unlink(missing_ok=True)
                return
            if self.before and not backup.is_file():  # what it was before contextd came
                replace_file(backup, self.before, mode)
            replace_file(target, self.after, mode)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}", code="io") from None


def in_project(project: Path, name: str) -> Path:
    """Return a file of a project. Raises `InvalidInput` if it or a folder above it is a link: the project may be hostile."""
    path = project / name
    if any(one.is_symlink() for one in (path, *path.parents) if one.is_relative_to(project) and one != project):
        raise InvalidInput(f"{path} is a symbolic link; contextd does not write through links of a project")
    return path


def own_command() -> Command:
    """Return the command that runs this contextd."""
    called = Path(sys.argv[0]).absolute()
    home = {"CONTEXTD_HOME": os.environ["CONTEXTD_HOME"]} if os.environ.get("CONTEXTD_HOME") else {}
    if called.stem == NAME and called.exists():
        return Command(str(called), (), home)
    return Command(sys.executable, ("-P", "-m", NAME), home)  # -P: import no module of the current folder


def installed(agent: Agent, path: Path) -> Any:
    """Return the entry of contextd in the configuration of a program; None if there is none."""
    text = _text(path)
    if agent.is_toml:
        return _toml(text, path).get(agent.keys[0], {}).get(NAME)
    return json_edit.entry(text, (*agent.keys, NAME))


def connection(agent: Agent, path: Path, command: Command) -> FileChange:
    """Return the change that connects a program by a command. Raises `InvalidInput` for a file that cannot be read."""
    text = _text(path)
    entry = agent.shape(command)
    try:
        after = (
            _with_toml(text, path, agent.keys[0], entry)
            if agent.is_toml
            else json_edit.with_entry(text, (*agent.keys, NAME), entry)
        )
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return FileChange(path, text, text if installed(agent, path) == entry else after)


def connection_text(agent: Agent, command: Command) -> str:
    """Return the entry of a program as text, in the format of its file."""
    if agent.is_toml:
        return _with_toml("", Path(), agent.keys[0], agent.shape(command))
    return json_edit.with_entry("", (*agent.keys, NAME), agent.shape(command))


def disconnection(agent: Agent, path: Path) -> FileChange:
    """Return the change that removes contextd from the configuration of a program."""
    text = _text(path)
    if not text or installed(agent, path) is None:
        return FileChange(path, text, text)
    after = _with_toml(text, path, agent.keys[0], None) if agent.is_toml else json_edit.without_entry(text, (*agent.keys, NAME))
    return FileChange(path, text, after)


def hook_path(scope: str, home: Path, project: Path) -> Path:
    """Return the settings file of Claude Code that holds hooks."""
    return home / ".claude" / "settings.json" if scope == "user" else in_project(project, ".claude/settings.json")


def hook_text() -> str:
    """Return the hook of Claude Code as text, in the format of its file."""
    return json_edit.with_entry("", ("hooks", "UserPromptSubmit"), [_hook()])


def _hook() -> dict[str, Any]:
    home = os.environ.get("CONTEXTD_HOME")
    program = f'"{sys.executable}"' if os.name == "nt" else shlex.quote(sys.executable)
    command = f"{program} -P -m {_HOOK_MODULE}" + (f" --home {shlex.quote(home)}" if home else "")  # -P: as above
    return {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_SECONDS}]}


def installed_hook(path: Path) -> str | None:
    """Return the command of the hook in a settings file of Claude Code; None without one. Raises InvalidInput."""
    text = _text(path)
    groups = json_edit.entry(text, ("hooks", "UserPromptSubmit"))
    handlers = [one for group in _list(groups) for one in _list(_get(group, "hooks"))]
    return next((str(_get(one, "command")) for one in handlers if _is_own(one)), None)


def _is_own(handler: Any) -> bool:
    return _HOOK_MODULE in str(_get(handler, "command"))


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def hook_change(path: Path, *, add: bool) -> FileChange:
    """Return the change that adds or removes the hook of Claude Code. Hooks of others stay."""
    text = _text(path)
    known = json_edit.entry(text, ("hooks", "UserPromptSubmit")) or []
    if not isinstance(known, list):
        raise InvalidInput(f"{path}: hooks.UserPromptSubmit is not a list; mend the file first")
    others = [left for group in known if (left := _without_own(group)) is not None]
    wanted = [*others, _hook()] if add else others
    if wanted == known:
        return FileChange(path, text, text)
    if not wanted:
        return FileChange(path, text, json_edit.without_entry(text, ("hooks", "UserPromptSubmit")))
    return FileChange(path, text, json_edit.with_entry(text, ("hooks", "UserPromptSubmit"), wanted))


def _without_own(group: Any) -> Any:
    """Return a group of hooks without those of contextd; None if it has no others."""
    handlers = _list(_get(group, "hooks"))
    left = [one for one in handlers if not _is_own(one)]
    if len(left) == len(handlers):
        return group
    return {**group, "hooks": left} if left else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}") from None


def _toml(text: str, path: Path) -> Any:
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(text)
    except ParseError as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}") from None


def _with_toml(text: str, path: Path, table: str, entry: dict[str, Any] | None) -> str:
    """Return the text with an entry, or without it. Comments stay."""
    import tomlkit

    document = _toml(text, path)
    if entry is None:
        del document[table][NAME]
        if not document[table]:
            del document[table]
    else:
        if table not in document:
            document[table] = tomlkit.table(is_super_table=True)
        document[table][NAME] = entry
    return tomlkit.dumps(document)


def present(home: Path) -> list[Agent]:
    """Return the programs that seem to be installed: their command, their file, or a folder of their own exists."""
    return [one for one in AGENTS.values() if _is_present(one, home)]


def _is_present(agent: Agent, home: Path) -> bool:
    path = home / agent.user
    own_folder = path.parent not in (home, home / _CONFIG) and path.parent.is_dir()
    return path.exists() or own_folder or shutil.which(agent.name) is not None
