"""install, uninstall, doctor, purge, and the hook of Claude Code, each in a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.agents import AGENTS
from contextd.app.assemble import open_session
from contextd.app.prompts import MOST_CHARACTERS, is_trivial
from tests.conftest import Run
from tests.http.test_process import Process

Contextd = Callable[..., Run]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory of somebody who has Codex with a comment and Zed with another server."""
    folder = tmp_path / "person"
    (folder / ".codex").mkdir(parents=True)
    (folder / ".codex/config.toml").write_text('# my model\nmodel = "gpt-5"\n\n[mcp_servers.other]\ncommand = "x"\n')
    (folder / ".config/zed").mkdir(parents=True)
    (folder / ".config/zed/settings.json").write_text('{\n  // dark\n  "theme": "One Dark",\n}\n')
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_program_is_connected_once_and_disconnected(
    person: Path, project: Path, contextd: Contextd, name: str, scope: str
) -> None:
    def run(command: str) -> list[dict[str, object]]:
        done = contextd(command, name, "--scope", scope, "--json", cwd=project, HOME=str(person))
        assert done.code == 0, done.err
        return json.loads(done.out)["items"]  # type: ignore[no-any-return]

    there = {path for folder in (person, project) for path in folder.rglob("*")}
    (first,) = run("install")
    assert first["changed"] and not run("install")[0]["changed"], "the second time changes nothing"
    path = Path(str(first["file"]))
    text = path.read_text()
    read = (
        tomllib.loads(text)
        if path.suffix == ".toml"
        else json.loads("\n".join(one for one in text.split("\n") if "//" not in one).replace(",\n}", "\n}"))
    )
    entry = read[AGENTS[name].keys[0]]["contextd"]
    program = entry["command"][0] if isinstance(entry["command"], list) else entry["command"]
    assert Path(program).is_absolute() and Path(program).exists()
    assert ("--project" in str(entry)) == (scope == "project")
    if name == "codex" and scope == "user":
        assert "# my model" in text and "[mcp_servers.other]" in text
        assert (person / ".codex/config.toml.before-contextd").exists()
    if name == "zed" and scope == "user":
        assert "// dark" in text and "One Dark" in text
    assert run("uninstall")[0]["changed"] and not run("uninstall")[0]["changed"]
    assert path.exists() == (path in there), "a file that install created is removed"
    assert not path.exists() or "contextd" not in path.read_text()


def test_a_dry_run_writes_nothing_and_a_broken_file_is_left_alone(person: Path, contextd: Contextd) -> None:
    shown = contextd("install", "codex", "cursor", "--dry-run", HOME=str(person))
    assert shown.code == 0 and "+[mcp_servers.contextd]" in shown.out and not (person / ".cursor").exists()
    (person / ".cursor").mkdir()
    (person / ".cursor/mcp.json").write_text("{ broken")
    refused = contextd("install", "cursor", HOME=str(person))
    assert refused.code == 2 and "mcp.json" in refused.err and (person / ".cursor/mcp.json").read_text() == "{ broken"
    assert contextd("install", "emacs", HOME=str(person)).code == 2 and contextd("install", HOME=str(person)).code == 2
    printed = contextd("install", "claude", "--print", HOME=str(person))
    assert '"mcpServers"' in printed.out and not (person / ".claude.json").exists()


def test_a_hostile_project_cannot_make_install_write_elsewhere(person: Path, project: Path, contextd: Contextd) -> None:
    (person / ".bashrc").write_text("mine\n")
    (person / ".bashrc").chmod(0o600)
    (project / ".mcp.json").write_text('{"mcpServers": {}, "x": "$(id)"}\n')
    (project / ".mcp.json.before-contextd").symlink_to(person / ".bashrc")
    contextd("install", "claude", "--scope", "project", cwd=project, HOME=str(person))
    assert (person / ".bashrc").read_text() == "mine\n" and (person / ".bashrc").stat().st_mode & 0o777 == 0o600
    (project / ".cursor").symlink_to(person)
    assert contextd("install", "cursor", "--scope", "project", cwd=project, HOME=str(person)).code == 2
    (project / "opencode.json").symlink_to(person / ".bashrc")
    assert contextd("install", "opencode", "--scope", "project", cwd=project, HOME=str(person)).code == 2


def test_the_first_backup_stays_and_modes_are_kept(person: Path, contextd: Contextd) -> None:
    secret = person / ".claude.json"
    secret.write_text('{"token": "x"}')
    secret.chmod(0o600)
    for command in ("install", "uninstall", "install"):
        assert contextd(command, "claude", HOME=str(person)).code == 0
    backup = person / ".claude.json.before-contextd"
    assert backup.read_text() == '{"token": "x"}' and {one.stat().st_mode & 0o777 for one in (secret, backup)} == {0o600}


def test_purge_removes_nothing_that_is_not_ours(person: Path, tmp_path: Path, contextd: Contextd) -> None:
    folder = tmp_path / "Documents"
    folder.mkdir()
    (folder / "thesis.txt").write_text("thesis")
    assert contextd("purge", "--yes", HOME=str(person), CONTEXTD_HOME=str(folder)).code == 0
    assert (folder / "thesis.txt").read_text() == "thesis"
    contextd("remember", "I like tea", HOME=str(person), CONTEXTD_HOME=str(folder))
    assert contextd("purge", "--yes", HOME=str(person), CONTEXTD_HOME=str(folder)).code == 0
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_all_connects_what_is_there(person: Path, contextd: Contextd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    done = json.loads(contextd("install", "--all", "--json", HOME=str(person)).out)["items"]
    assert {one["program"] for one in done} == {"Codex", "Zed"}


def test_the_hook_is_added_beside_other_hooks_and_removed(person: Path, contextd: Contextd) -> None:
    settings = person / ".claude/settings.json"
    settings.parent.mkdir()
    other = {"hooks": [{"type": "command", "command": "echo hi"}]}
    settings.write_text(json.dumps({"model": "opus", "hooks": {"UserPromptSubmit": [other], "Stop": []}}))
    assert contextd("install", "claude", "--hook", HOME=str(person)).code == 0
    hooks = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
    assert (
        hooks[0] == other
        and "contextd.surfaces.client.hook" in hooks[1]["hooks"][0]["command"]
        and hooks[1]["hooks"][0]["timeout"] == 2
    )
    before = settings.read_text()
    contextd("install", "claude", "--hook", HOME=str(person))
    assert settings.read_text() == before
    contextd("uninstall", "claude", "--hook", HOME=str(person))
    assert json.loads(settings.read_text()) == {"model": "opus", "hooks": {"UserPromptSubmit": [other], "Stop": []}}


def test_a_hook_of_another_program_in_the_same_group_stays(person: Path, contextd: Contextd) -> None:
    settings = person / ".claude/settings.json"
    contextd("install", "claude", "--hook", HOME=str(person))
    (ours,) = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
    other = {"type": "command", "command": "audit --all", "timeout": 9}
    about = {"type": "command", "command": "echo tea", "note": "runs before contextd.surfaces.client.hook"}
    settings.write_text(
        json.dumps({"hooks": {"UserPromptSubmit": [{"matcher": "*", "hooks": [other, *ours["hooks"], about]}]}})
    )
    left = {"matcher": "*", "hooks": [other, about]}
    contextd("install", "claude", "--hook", HOME=str(person))
    assert json.loads(settings.read_text())["hooks"]["UserPromptSubmit"] == [left, ours], "it is there once"
    contextd("uninstall", "claude", "--hook", HOME=str(person))
    assert json.loads(settings.read_text())["hooks"]["UserPromptSubmit"] == [left]


@pytest.fixture
def process(home: Path, project: Path) -> Iterator[Process]:
    open_session(project, home=home, environment={}).index()
    one = Process(home)
    yield one
    if one.process.poll() is None:
        one.stop(signal.SIGKILL)


def hook(home: Path, event: object) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "contextd.surfaces.client.hook"], capture_output=True, timeout=20,
        input=event if isinstance(event, bytes) else json.dumps(event).encode(), env={**os.environ, "CONTEXTD_HOME": str(home)},
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_hook_gives_context_once_and_nothing_private(process: Process, home: Path, project: Path) -> None:
    open_session(project, home=home, environment={}).remember("The secret user handler is called zebra", private=True)
    event = {"prompt": "how does the user loading work here", "cwd": str(project), "hook_event_name": "UserPromptSubmit"}

    def first(conversation: str) -> tuple[dict[str, str], str]:
        """A conversation that begins, and what it is told. A busy machine may take longer than the hook waits: try again."""
        for number in range(20):
            asked = {**event, "session_id": f"{conversation}{number}"}
            code, text, err = hook(home, asked)
            assert code == 0 and not err
            if text:
                return asked, text
        raise AssertionError("the hook has never answered")

    asked, text = first("s")
    told = json.loads(text)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit" and "load_user" in told["additionalContext"]
    assert len(told["additionalContext"]) <= MOST_CHARACTERS and "zebra" not in text
    assert "def load_user" not in hook(home, asked)[1], "the conversation has it already"
    assert "def load_user" in first("another")[1]


@pytest.mark.parametrize("event", [
    b"", b"nonsense", b"[]", {"prompt": ""}, {"prompt": "yes"}, {"prompt": "/clear"}, {"prompt": "how does the loading of users work", "cwd": "/"},
    {"prompt": "how does the loading of users work", "cwd": "relative"}, {"prompt": 7},
])  # fmt: skip
def test_the_hook_is_silent_whatever_happens(process: Process, home: Path, event: object) -> None:
    assert hook(home, event) == (0, "", "")


def test_the_hook_is_silent_without_the_service_and_with_a_dead_one(process: Process, home: Path, project: Path) -> None:
    event = {"prompt": "how does the user loading work here", "cwd": str(project)}
    os.kill(process.process.pid, signal.SIGSTOP)
    assert hook(home, event) == (0, "", ""), "it does not wait longer than a second for a service that hangs"
    os.kill(process.process.pid, signal.SIGCONT)
    process.stop(signal.SIGKILL)
    assert hook(home, event) == (0, "", "")


@pytest.mark.parametrize("prompt", ["yes", "OK.", "go on", "/compact", "!ls", "thanks!", "fix it", "do it"])
def test_a_trivial_prompt_asks_nothing(prompt: str) -> None:
    assert is_trivial(prompt)
    assert is_trivial(f"{prompt} and explain how routes are registered") == (prompt[0] in "/!")


def test_doctor_names_what_is_missing_and_the_remedy(person: Path, project: Path, contextd: Contextd) -> None:
    (person / ".claude.json").write_text(json.dumps({"mcpServers": {"contextd": {"command": "/no/such/contextd"}}}))
    done = contextd("doctor", "--json", cwd=project, HOME=str(person))
    found = {one["check"]: one for one in json.loads(done.out)["items"]}
    assert (
        done.code == 1
        and found["Claude Code"]["state"] == "problem"
        and found["Claude Code"]["remedy"] == "contextd install claude"
    )
    assert found["Codex"]["remedy"] == "contextd install codex" and found["service"]["remedy"] == "contextd serve --background"
    assert found["project"]["remedy"] == "contextd up"
    contextd("install", "claude", HOME=str(person))
    contextd("index", cwd=project)
    healthy = contextd("doctor", cwd=project, HOME=str(person))
    assert healthy.code == 0 and "problem" not in healthy.out


def _doctor(contextd: Contextd, project: Path, person: Path) -> tuple[int, dict[str, dict[str, str]]]:
    done = contextd("doctor", "--json", cwd=project, HOME=str(person))
    return done.code, {one["check"]: one for one in json.loads(done.out)["items"]}


@pytest.mark.parametrize(
    ("text", "said"), [("[context\n", "line 1"), ("[context.query]\nmmr_lamda = 1\n", "mmr_lambda"), ("[context.privacy]\npaths = 3\n", "list")]
)  # fmt: skip
def test_doctor_says_what_is_wrong_with_the_settings_of_a_project(
    person: Path, project: Path, contextd: Contextd, text: str, said: str
) -> None:
    contextd("index", cwd=project)
    (project / "context.toml").write_text(text)
    code, found = _doctor(contextd, project, person)
    assert code == 1 and found["settings"]["state"] == "problem" and said in found["settings"]["detail"]
    assert str(project / "context.toml") in found["settings"]["detail"] and "validate-config" in found["settings"]["remedy"]


def test_doctor_tries_the_hook(person: Path, project: Path, contextd: Contextd, tmp_path: Path) -> None:
    assert "Claude Code hook" not in _doctor(contextd, project, person)[1]
    contextd("install", "claude", "--hook", HOME=str(person))
    code, found = _doctor(contextd, project, person)
    assert code == 0 and found["Claude Code hook"]["remedy"] == "contextd serve --background"
    path = person / ".claude/settings.json"
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    whole = path.read_text()
    for program in ("/no/such/python", str(python)):
        path.write_text(whole.replace(json.dumps(sys.executable)[1:-1], program))
        code, found = _doctor(contextd, project, person)
        assert code == 1 and program in found["Claude Code hook"]["detail"]
        assert found["Claude Code hook"]["remedy"] == "contextd install claude --hook"
    path.write_text("{ nonsense")
    code, found = _doctor(contextd, project, person)
    assert code == 1 and str(path) in found["Claude Code hook"]["remedy"]


def test_X5_purge_leaves_no_file(person: Path, project: Path, home: Path, contextd: Contextd) -> None:
    before = {path: path.read_bytes() for path in person.rglob("*") if path.is_file()}
    contextd("index", cwd=project)
    for command in (("install", "codex", "zed", "claude", "--hook"), ("service", "install"), ("remember", "I like tea")):
        assert contextd(*command, HOME=str(person), XDG_CONFIG_HOME=str(person / ".config")).code == 0
    own = {"HOME": str(person), "XDG_CONFIG_HOME": str(person / ".config")}
    assert contextd("purge", **own).code == 2, "it asks, and there is nobody to answer"
    assert str(home) in contextd("purge", "--dry-run", **own).out and home.exists()
    assert contextd("purge", "--yes", **own).code == 0
    assert not home.exists()
    left = {path: path.read_bytes() for path in person.rglob("*") if path.is_file()}
    assert {path: text for path, text in left.items() if b"contextd" in text} == {}
    for path, text in before.items():
        assert path in left and (left[path] == text or path.suffix in (".json", ".toml"))
    assert not [path for path in left if "contextd" in path.name]


def test_one_file_that_cannot_be_read_does_not_stop_the_others(person: Path, contextd: Contextd) -> None:
    (person / ".cursor").mkdir()
    (person / ".cursor" / "mcp.json").write_text("{ not json")
    (person / ".gemini").mkdir()
    run = contextd("install", "cursor", "gemini", HOME=str(person))
    assert run.code == 2 and "Cursor" in run.err and "Gemini CLI: connected" in run.out
    assert "contextd" in (person / ".gemini" / "settings.json").read_text()
    assert (person / ".cursor" / "mcp.json").read_text() == "{ not json"
    assert contextd("install", "cursor", HOME=str(person)).code == 2


def test_what_is_printed_has_the_format_of_the_file(person: Path, contextd: Contextd) -> None:
    run = contextd("install", "codex", "--print", HOME=str(person))
    assert tomllib.loads(run.out.split("\n", 1)[1])["mcp_servers"]["contextd"]["args"][-1] == "mcp"
    both = contextd("install", "claude", "--hook", "--print", HOME=str(person)).out
    assert "UserPromptSubmit" in both and both.count("contextd") >= 3
    assert "none of these programs" in contextd("install", "--all", HOME=str(person / "nobody")).err
