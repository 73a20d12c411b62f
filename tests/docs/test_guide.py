"""The pages of the guide are short, and every command that they show runs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.importing.test_exports import CHATGPT, CLAUDE_CODE, CODEX, lines, zipped

Contextd = Callable[..., Run]

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "guide.md"
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
MOST_LINES = 150
# Commands that are not run, and why. Their options are checked nevertheless.
NOT_RUN = {
    "contextd watch": "it runs until it is stopped",
    "contextd mcp": "it runs until its client ends it",
    "contextd serve": "it runs until it is stopped; tests/http/test_process.py starts it",
    "contextd stop": "nothing runs",
    "contextd doctor": "its exit code depends on the machine",
    "contextd models pull": "it needs Ollama; tests/engines starts a server with its API",
    "contextd proposals accept": "nothing was proposed; tests/proxy/test_models.py accepts and rejects",
    "contextd proposals reject": "nothing was proposed",
    "contextd models fetch": "it needs the network, or a data directory on another disk",
}
# Commands that may find nothing in the sample project.
MAY_FIND_NOTHING = {
    "contextd recall": "few facts are told before",
    "contextd facets": "few facts are told before",
    "contextd proposals": "nothing was proposed before",
    "contextd log": "no request passed through the proxy before",
}
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE = re.compile(r"cat > (\S+) <<'END'\n(.*?)^END\n", re.MULTILINE | re.DOTALL)
_TRACE = 'Traceback (most recent call last):\n  File "src/app/store.py", line 6, in load_user\nKeyError: the user is missing\n'


@pytest.fixture
def person(tmp_path: Path, make_project: Callable[..., Path]) -> Path:
    """The home directory of somebody who has other projects, notes, and exports of chats."""
    folder = tmp_path / "person"
    for name in ("Downloads", ".claude/projects/app", ".codex/sessions/2025", "Notes/.obsidian"):
        (folder / name).mkdir(parents=True)
    zipped(folder / "Downloads/chatgpt-export.zip", [{**CHATGPT, "conversation_id": "68f0c1"}])
    lines(folder / ".claude/projects/app/s1.jsonl", CLAUDE_CODE)
    lines(folder / ".codex/sessions/2025/c9.jsonl", CODEX)
    (folder / "Notes/Harbor.md").write_text("# Harbor\n\nThe ferry leaves at nine.\n")
    for name in ("app", "api"):
        make_project(name=f"person/code/{name}")
    return folder


@pytest.fixture
def sample(project: Path) -> Path:
    """The sample project with the files that the pages name, in a git repository."""
    copied = project / "src/contextd/app/line_answers.py"
    copied.parent.mkdir(parents=True)
    shutil.copy(ROOT / "src/contextd/app/line_answers.py", copied)
    (project / "src/app/login.py").write_text(
        "from app.store import load_user\n\n\ndef login(name):\n    return load_user(name)\n"
    )
    (project / ".env").write_text("MODE=test\n")
    (project / "issue.txt").write_text(_TRACE)
    message = json.loads(re.findall(r"```json\n(.*?)```", (ROOT / "docs/guide/chats.md").read_text(), re.DOTALL)[0])
    lines(project / "talk.jsonl", [message])
    for words in ("init -q", "add src docs", "-c user.name=Ana -c user.email=ana@example.org commit -qm Users"):
        subprocess.run(["git", *words.split()], cwd=project, check=True)
    return project


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_short_and_linked(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MOST_LINES
    assert f"(guide/{page.name})" in INDEX.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, sample: Path, person: Path, contextd: Contextd) -> None:
    assert contextd("index", cwd=sample).code == 0
    ids = _example_ids(page.read_text(), sample, contextd)
    for line in _commands(page.read_text(), sample):
        words = [ids.get(word, word) for word in shlex.split(line, comments=True)]
        assert "contextd" in words, f"{page.name}: {line}: what kind of line is this?"
        arguments = [re.sub("^~/", f"{person}/", word) for word in words[_last(words, "contextd") + 1 :]]
        if any(_shows(words, name) for name in NOT_RUN):
            arguments.append("--help")  # an unknown option is an error nevertheless
        stdin = b""
        if "<" in arguments:
            *arguments, _, name = arguments
            stdin = (sample / name).read_bytes()
        run = contextd(*arguments, cwd=sample, stdin=stdin, HOME=str(person))
        good = (0, 1) if any(_shows(words, name) for name in MAY_FIND_NOTHING) else (0,)
        assert run.code in good and "error:" not in run.err, f"{page.name}: {line}: exit code {run.code}\n{run.err}"


def test_a_page_cannot_show_what_does_not_exist(project: Path, contextd: Contextd) -> None:
    """What the test above relies on."""
    assert contextd("search", "users", "--no-such-option", cwd=project).code == 2
    assert contextd("no-such-command", cwd=project).code == 2
    assert contextd("watch", "--no-such-option", "--help", cwd=project).code == 2


def _commands(text: str, folder: Path) -> Iterator[str]:
    """The lines of the blocks without a language, in order; files that are written inline are written."""
    for block in (block for language, block in _BLOCK.findall(text) if not language):
        for name, content in _HERE.findall(block):
            (folder / name).write_text(content)
        yield from (line for line in _HERE.sub("", block).splitlines() if line.strip())


def _example_ids(text: str, folder: Path, contextd: Contextd) -> dict[str, str]:
    """Real ids for those that a page uses as examples."""
    ids = {}
    if "3f2a" in text:
        ids["3f2a"] = json.loads(contextd("jobs", "--json", cwd=folder).out)["items"][0]["id"]
    for example, fact in {"6d1c": "Shoe size: EU 42", "9a0b": "My feet are wide"}.items():
        if example in text:
            ids[example] = json.loads(contextd("remember", fact, "--json", cwd=folder).out)["id"]
    return ids


def _last(words: list[str], word: str) -> int:
    """The last place of a word: `claude mcp add contextd -- contextd mcp` ends with the command."""
    return len(words) - 1 - words[::-1].index(word)


def _shows(words: list[str], command: str) -> bool:
    names = command.split()
    return words[_last(words, names[0]) :][: len(names)] == names
