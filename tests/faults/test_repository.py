"""Repositories that try to run programs or to lead out of their folder; FAULTS I-16."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.serving import running
from contextd.errors import InvalidInput
from contextd.ports.world import Skip
from contextd.sources.blame import GitPast
from contextd.sources.files import Boundaries, Files
from contextd.sources.git import git

IDENTITY = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
DRIVERS = "* diff=evil filter=evil merge=evil\n"
HOOKS = ("fsmonitor-watchman", "post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-rewrite")
ALIASED = ("log", "show", "blame", "ls-files", "rev-parse")
PROGRAMS = (
    "core.fsmonitor core.sshCommand core.askPass core.gitProxy core.editor core.pager core.alternateRefsCommand sequence.editor "
    "pager.log pager.show pager.blame pager.ls-files diff.external diff.evil.textconv diff.evil.command filter.evil.clean "
    "filter.evil.smudge filter.evil.process merge.evil.driver gpg.program gpg.ssh.program gpg.x509.program credential.helper "
    "interactive.diffFilter uploadpack.packObjectsHook remote.origin.uploadpack"
).split()
SETTINGS = {
    "log.showSignature": "true", "submodule.recurse": "true", "diff.submodule": "diff", "protocol.ext.allow": "always",
    "remote.origin.promisor": "true", "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1",
}  # fmt: skip
COMMANDS = [
    ["init"], ["index"], ["refresh", "a.py"], ["rebuild", "--dry-run"], ["rebuild", "--force"], ["search", "add numbers"],
    ["context", "how does add work"], ["context", "which commit changed add", "--budget", "800"], ["explain", "add numbers"],
    ["task", "--title", "Add faster"], ["symbols", "add"], ["callers", "add"], ["impact", "a.py"], ["map"],
    ["history", "a.py"], ["history", "."], ["why", "a.py:1"], ["why", "c.py:1"], ["list-indexable"], ["check-file", "a.py"],
    ["project-stats"], ["validate-config"], ["stats"], ["config"], ["secrets"], ["jobs"], ["errors"], ["retry"], ["who"],
    ["share", "ana"], ["unshare", "ana"], ["remember", "the project adds numbers"], ["recall", "numbers"], ["facets", "numbers"],
    ["memories"], ["chats"], ["up", "--no-service"], ["mcp"],
]  # fmt: skip
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_context","arguments":{"query":"add"}}}\n'
DRIVER = f"""
from contextd.surfaces.cli import main
for command in {COMMANDS!r}:
    try:
        main(command)
    except SystemExit as error:
        print("exit", error.code, *command, flush=True)
"""


class Trap:
    """Programs that leave a mark with their name."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.marks = folder, folder / "marks"
        self.marks.mkdir(parents=True)

    def __call__(self, name: str) -> str:
        script = self._folder / name
        script.write_text(f'#!/bin/sh\ntouch "{self.marks}/{name}"\n[ -f "$1" ] && cat "$1"\nexit 0\n')
        script.chmod(0o755)
        return str(script)

    def sprung(self) -> set[str]:
        """The programs that were started."""
        return {mark.name for mark in self.marks.iterdir()}


def run(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What git prints."""
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=root, input=stdin, check=True, capture_output=True).stdout


def committed(root: Path, message: str) -> None:
    run(root, "add", "-A")
    run(root, "commit", "-qm", message)


def signed(root: Path) -> None:
    """A commit that carries a signature, so that a check of it starts gpg."""
    head, tree = (run(root, "rev-parse", name).decode().strip() for name in ("HEAD", "HEAD^{tree}"))
    person = "Ana <ana@example.org> 1700000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    text = f"tree {tree}\nparent {head}\nauthor {person}\ncommitter {person}\n{signature}\n\nA signed change\n"
    number = run(root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode()).decode().strip()
    run(root, "update-ref", "HEAD", number)


def hostile(root: Path, trap: Trap) -> None:
    """Give a repository every setting that names a program, in its own file and in one that it includes."""
    more = root / ".git" / "more"
    for key in PROGRAMS:
        subprocess.run(["git", "config", "-f", str(more), key, trap(key)], check=True)
    for command in ALIASED:
        subprocess.run(["git", "config", "-f", str(more), f"alias.{command}", f"!{trap('alias')}"], check=True)
    hooks = root / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for hook in HOOKS:
        (hooks / hook).write_text(f"#!/bin/sh\n{trap('hook')} </dev/null\n")
        (hooks / hook).chmod(0o755)
    for key, value in {**SETTINGS, "include.path": "more", "remote.origin.url": f"ext::{trap('transport')}"}.items():
        subprocess.run(["git", "config", key, value], cwd=root, check=True)
    (root / ".git" / "info" / "attributes").write_text(DRIVERS)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture
def repository(make_project: Callable[..., Path], trap: Trap) -> Path:
    """A hostile repository with history, a submodule, uncommitted changes and an object that is missing."""
    library = make_project({"lib.py": "def lib(): ...\n", ".gitattributes": DRIVERS}, name="library")
    run(library, "init", "-q")
    committed(library, "Library")
    root = make_project({"a.py": "def add(a, b):\n    return a + b\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
    (root / ".gitattributes").write_text(DRIVERS)
    run(root, "init", "-q")
    run(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendored")
    committed(root, "Add numbers")
    (root / "vendored" / "lib.py").write_text("def lib(): return 2\n")
    committed(root / "vendored", "Change the library")
    (root / "a.py").write_text("def add(a, b):\n    return b + a\n")
    committed(root, "Change add and the library")
    (root / "b.py").write_text("b = 2\n")
    committed(root, "Change b")
    signed(root)
    for name in ("c.py", "a.py"):
        (root / name).write_text((root / name).read_text() + "uncommitted = 1\n")
    hostile(root, trap)
    subprocess.run(["git", "config", "diff.evil.textconv", trap("submodule")], cwd=root / "vendored", check=True)
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:b.py"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return root


def hijacking(root: Path, trap: Trap) -> None:
    """Files of a project that have the names of programs and modules contextd starts and imports."""
    for name in ("git", "python", "python3"):
        (root / name).write_text(f"#!/bin/sh\n{trap('shadow')} </dev/null\n")
        (root / name).chmod(0o755)
    mark = f"import pathlib\npathlib.Path({str(trap.marks / 'module')!r}).touch()\n"
    for name in ("tiktoken.py", "re2.py", "sitecustomize.py", "usercustomize.py", "contextd/__init__.py", "json.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(mark)


def test_I16_the_trap_springs_when_git_is_used_plainly(repository: Path, trap: Trap) -> None:
    other = "-c filter.evil.process= show"  # a filter that does not answer ends git
    for command in ("blame a.py", "show HEAD~1", f"{other} HEAD~2", "show HEAD", "status", f"{other} --ext-diff HEAD~2"):
        subprocess.run(["git", *command.split()], cwd=repository, capture_output=True, timeout=30)
    drivers = {"diff.evil.textconv", "diff.evil.command", "filter.evil.process"}
    expected = {*drivers, "core.fsmonitor", "gpg.program", "transport", "submodule"}
    assert expected <= trap.sprung()


def test_I16_no_command_runs_what_a_repository_configures(repository: Path, home: Path, trap: Trap, tmp_path: Path) -> None:
    hijacking(repository, trap)
    driver, log = tmp_path / "driver.py", tmp_path / "executed"
    driver.write_text(DRIVER)
    tracer = (
        ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-s", "4096", "-o", str(log)] if shutil.which("strace") else []
    )
    path = f".{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "CONTEXTD_HOME": str(home), "PATH": path, "CONTEXTD_BOOTSTRAP__PARALLEL_WORKERS": "1"}
    command = [*tracer, sys.executable, "-P", str(driver)]
    done = subprocess.run(command, cwd=repository, env=variables, input=CALL, capture_output=True, text=True, timeout=110)
    assert '"isError": false' in done.stdout
    assert "Traceback" not in done.stderr and len(re.findall("(?m)^exit ", done.stdout)) == len(COMMANDS), done.stderr
    assert not re.findall("(?m)^exit [2-9] .*", done.stdout), (done.stdout, done.stderr)
    assert trap.sprung() == set()
    if tracer:
        assert strangers(log.read_text()) == []


def test_I16_nothing_that_contextd_starts_or_installs_imports_modules_of_the_folder(
    make_project: Callable[..., Path], home: Path, trap: Trap, tmp_path: Path
) -> None:
    """`python -m` looks in the current folder first: `contextd up` ran the project's json.py, and so did the hook."""
    root = make_project({"a.md": "# Harbor\n\nShips come in the morning.\n"})
    hijacking(root, trap)
    person = tmp_path / "person"
    person.mkdir()
    variables = {**os.environ, "CONTEXTD_HOME": str(home), "HOME": str(person), "CONTEXTD_ENGINE__PORT": "0"}

    def run(*command: str, event: str = "") -> None:
        subprocess.run(command, cwd=root, env=variables, input=event, capture_output=True, text=True, timeout=110)

    ours = (sys.executable, "-P", "-m", "contextd")
    try:
        run(*ours, "up")
        assert running(home) is not None, "the service was started by `up`"
    finally:
        run(*ours, "stop")
    run(*ours, "install", "claude", "--hook")
    line = json.loads((person / ".claude" / "settings.json").read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    run("sh", "-c", line, event=json.dumps({"prompt": "when do ships come in", "cwd": str(root)}))
    entry = json.loads((person / ".claude.json").read_text())["mcpServers"]["contextd"]
    run(entry["command"], *entry["args"], event="")
    assert trap.sprung() == set()


def strangers(log: str) -> list[str]:
    """The programs of a trace that are neither git, started by its full path, nor this Python."""
    started = re.findall(r'execve(?:at)?\((?:AT_FDCWD, )?"([^"]+)".*\) = 0', log)
    assert any(name.endswith("/git") for name in started), "the trace has seen git"
    ours = {sys.executable, shutil.which("git")}
    return sorted({name for name in started if name not in ours})


def test_I16_a_bare_repository_inside_a_project_is_not_asked(make_project: Callable[..., Path], trap: Trap) -> None:
    root = make_project({"a.py": "a = 1\n"})
    subprocess.run(["git", "init", "-q", "--bare", str(root)], check=True)
    subprocess.run(["git", "config", "-f", str(root / "config"), "core.fsmonitor", trap("fsmonitor")], check=True)
    subprocess.run(["git", "config", "-f", str(root / "config"), "core.worktree", str(root)], check=True)
    subprocess.run(["git", "config", "-f", str(root / "config"), "core.bare", "false"], check=True)
    assert git(root, "rev-parse", "--git-dir") is None
    assert "a.py" in {state.uri for state in Files(root, Boundaries()).scan()} and not trap.sprung()


def test_I16_a_work_tree_elsewhere_shows_nothing_of_it(make_project: Callable[..., Path]) -> None:
    outside = make_project({"outside.py": "secret = 1\n"}, name="outside")
    root = make_project({"a.py": "a = 1\n"})
    run(root, "init", "-q")
    for place in (outside, root.parent):
        subprocess.run(["git", "config", "core.worktree", str(place)], cwd=root, check=True)
        assert {state.uri for state in Files(root, Boundaries()).scan() if not isinstance(state, Skip)} == {"a.py"}


@pytest.mark.parametrize("evil", ["../secret.py", "x/../../s.py", "./././a.py", "/outside.py", "x//secret.py"])
def test_I16_a_forged_git_index_does_not_lead_out_of_the_project(make_project: Callable[..., Path], evil: str) -> None:
    """Git checks names when it writes its index, not when it reads it."""
    name = evil.encode()
    plain = b"x" * len(name)
    root = make_project({plain.decode(): "x = 1\n", "a.py": "a = 1\n"})
    for outside in ("secret.py", "s.py"):
        (root.parent / outside).write_text("outside = 1\n")
    run(root, "init", "-q")
    run(root, "add", "-A")
    index = root / ".git" / "index"
    forged = index.read_bytes()[:-20].replace(plain, name)
    index.write_bytes(forged + hashlib.sha1(forged, usedforsecurity=False).digest())
    files = Files(root, Boundaries())
    assert {state.uri for state in files.scan() if not isinstance(state, Skip)} <= {"a.py", plain.decode()}
    assert isinstance(files.read(evil), Skip)
    assert isinstance(files.judge(evil), Skip)


def test_I16_why_reads_the_last_commit_and_says_when_a_line_is_not_in_it(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({"a.py": "one = 1\ntwo = 2\nthree = 3\n"})
    run(root, "init", "-q")
    committed(root, "Count to three")
    past = GitPast(root)
    (root / "a.py").write_text("# new\none = 1\ntwo = 22\nthree = 3\n")
    for line, subject in ((2, "Count to three"), (4, "Count to three")):
        found = past.origin("a.py", line)
        assert found is not None and found[0].subject == subject
    structure = open_session(root, home=home, environment={}).structure
    for line in (1, 3):
        with pytest.raises(InvalidInput, match="has uncommitted changes"):
            structure.why("a.py", line)
    with pytest.raises(InvalidInput, match="no line 9"):
        structure.why("a.py", 9)


def test_history_takes_a_path_literally(make_project: Callable[..., Path]) -> None:
    root = make_project({"pages/[id].tsx": "1\n", "pages/i.tsx": "2\n"})
    run(root, "init", "-q")
    committed(root, "Both")
    (root / "pages" / "i.tsx").write_text("3\n")
    committed(root, "Only the other")
    found = GitPast(root).history("pages/[id].tsx", 10)
    assert found is not None and [edit.subject for edit in found.edits] == ["Both"]
