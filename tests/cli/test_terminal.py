"""What a person sees on a terminal: colors or none, places to go to, and nothing cut where it is narrow."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from contextd.app.session import Session
from contextd.ports.world import FileState, Skip
from contextd.sources.commits import Commits
from tests.conftest import Run

LONG = "src/application/services/authentication/registration_of_new_users.py"


@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_no_escape_codes_where_colors_are_not_wanted(
    session: Session, project: Path, on_terminal: Callable[..., Run], quiet: dict[str, str]
) -> None:
    for command in (["search", "delete user"], ["explain", "delete user"], ["jobs"], ["symbols", "load_user"]):
        run = on_terminal(*command, cwd=project, **quiet)
        assert run.code == 0 and "\x1b" not in run.out, run.out


def test_matched_words_are_highlighted(session: Session, project: Path, on_terminal: Callable[..., Run]) -> None:
    run = on_terminal("search", "delete user", cwd=project)
    assert "\x1b[33mdelete_user\x1b[0m" in run.out and '"""\x1b[33mDelete\x1b[0m a \x1b[33muser\x1b[0m' in run.out
    assert "\\x1b" not in run.out and "\\u{1b}" not in run.out


def test_every_hit_has_a_path_and_a_line(session: Session, project: Path, on_terminal: Callable[..., Run]) -> None:
    found = session.search("user", min_score=0).hits
    run = on_terminal("search", "user", "--min-score", "0", cwd=project, NO_COLOR="1")
    assert len(found) > 1
    for hit in found:
        assert re.search(rf"(?m)^{re.escape(hit.chunk.uri)}:{hit.chunk.start_line}  ", run.out), hit.chunk.uri
    assert re.search(r"(?m)^ +4  def load_user\(name\):$", run.out), "lines have their numbers"


def test_a_match_far_out_in_a_long_line_is_shown(
    make_project: Callable[..., Path], on_terminal: Callable[..., Run], contextd: Callable[..., Run]
) -> None:
    root = make_project({"data.md": f"# Words\n\n{'filler words ' * 40} herons {'and more ' * 40}\n"})
    contextd("index", cwd=root)
    assert "herons" in on_terminal("search", "herons", cwd=root, NO_COLOR="1").out.split("\n", 1)[1]


@pytest.fixture
def deep_folder(make_project: Callable[..., Path], contextd: Callable[..., Run]) -> Path:
    text = "def register_a_new_user_of_the_application(name, address):\n    return USERS.append(name)\n\n\n"
    root = make_project({LONG: text + "def main():\n    register_a_new_user_of_the_application(1, 2)\n"})
    assert contextd("index", cwd=root).code == 0
    return root


def unfolded(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_nothing_is_cut_at_50_columns(deep_folder: Path, on_terminal: Callable[..., Run], contextd: Callable[..., Run]) -> None:
    name = "register_a_new_user_of_the_application"
    for command in (["search", name], ["explain", name], ["symbols", name], ["callers", name], ["list-indexable"]):
        run = on_terminal(*command, cwd=deep_folder, columns=50, NO_COLOR="1")
        assert run.code == 0 and "…" not in run.out, run.out
        assert LONG in unfolded(run.out), run.out
    job = contextd("jobs", cwd=deep_folder).out.split("\n")[1].split("\t")
    run = on_terminal("jobs", cwd=deep_folder, columns=50, NO_COLOR="1")
    assert "…" not in run.out and all(cell in run.out for cell in job), "ids and states are whole, on one line"
    contextd("remember", "My favorite editor for everything that is not code is Vim")
    run = on_terminal("memories", columns=50, NO_COLOR="1")
    assert "…" not in run.out and unfolded("My favorite editor for everything that is not code is Vim") in unfolded(run.out)


def test_a_warning_is_told_once(project: Path, home: Path, contextd: Callable[..., Run]) -> None:
    (project / "context.toml").write_text("[context.indexing]\nfollow_symlinks = true\n")
    for command in (["index"], ["search", "delete user"]):
        assert contextd(*command, cwd=project).err.count("follow_symlinks is ignored") == 1


def test_progress_names_what_is_being_done(project: Path, contextd: Callable[..., Run]) -> None:
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    run = contextd("index", cwd=project, CONTEXTD_BOOTSTRAP__PROGRESS_INTERVAL_SECONDS="0")
    phases = list(dict.fromkeys(line.split(":")[0] for line in run.err.splitlines()))
    assert phases == ["listing files", "indexing files", "folding the index", "listing commits", "indexing commits"]
    assert "indexing files: 4 of 4" in run.err and "indexing commits: 1 of 1" in run.err
    assert ", 1 commit indexed, in " in run.out


def test_the_time_told_is_the_time_taken(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are read after the files: their time counts."""
    assert session.project is not None
    scan = Commits.scan

    def slow(self: Commits, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        time.sleep(0.05)
        return scan(self, paths)

    monkeypatch.setattr(Commits, "scan", slow)
    assert session.index().seconds >= 0.05


def test_remember_says_when_no_kind_was_recognized(contextd: Callable[..., Run]) -> None:
    run = contextd("remember", "zxqv blorp")
    assert run.code == 0 and "kind: not recognized" in run.err and "unknown" not in run.err
