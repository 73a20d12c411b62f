"""Ignore patterns, good and bad ones, compared with git itself; FAULTS I-11."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.ports.world import Skip
from contextd.sources.files import Boundaries, Files
from contextd.sources.ignore import Ignore
from contextd.sources.patterns import LONGEST, MOST, Patterns
from tests.faults.test_sweeps import keep

ODD = [
    b"[z-a]",
    b"!",
    b"a\\",
    b"\\",
    b"[[:foo:]]",
    b"[[:alpha:]",
    b"[",
    b"a[",
    b"\xff\xfe",
    b"**/**/**/a",
    b"/",
    b"//",
    b"!!",
    b"#",
]
PARTS = [b"a", b"b", b"/", b"*", b"**", b"?", b"[", b"]", b"!", b"^", b"-", b"\\", b" ", b"[a-c]", b"[!a]", b"[^b]", b"[z-a]", b"[]a]",
         b"[[:alpha:]]", b"[[:punct:]", b"[[:foo:]]", b"[:", b":]", b"**/", b"/**", b"\xff", b"\xc3\xa9", b"#", b"\r", b"\t", b"\0", b"A"]  # fmt: skip
LETTERS = [
    b"a",
    b"b",
    b"c",
    b"A",
    b"-",
    b"]",
    b"[",
    b"\\",
    b"!",
    b" ",
    b"*",
    b"?",
    b"^",
    b"#",
    b":",
    b"\xff",
    b"\xc3\xa9",
    b"\t",
    b"\x0b",
]
lines = st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map(b"".join)
names = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=3).map(b"".join)
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join)


class Tree:
    """A folder with ignore files, as contextd and as git see it; the repository lies elsewhere."""

    def __init__(self, place: Path) -> None:
        self.root, self._git = place / "tree", place / "repository"
        subprocess.run(["git", "init", "-q", "--bare", str(self._git)], check=True)
        subprocess.run(["git", "--git-dir", str(self._git), "config", "core.bare", "false"], check=True)

    def make(self, files: list[bytes], ignored: list[bytes], below: list[bytes]) -> list[tuple[bytes, bool]]:
        """Write the files and the ignore files, of the root and of its first folder; all paths, and whether each is a folder."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()
        for path in files:
            self._write(path, b"")
        folders = sorted(os.fsencode(path.name) for path in self.root.iterdir() if path.is_dir())
        self._write(b".gitignore", b"\n".join(ignored))
        if folders:
            self._write(folders[0] + b"/.gitignore", b"\n".join(below))
        below_root = sorted(self.root.rglob("*"))
        return [(os.fsencode(path.relative_to(self.root)), path.is_dir()) for path in below_root]

    def _write(self, path: bytes, data: bytes) -> None:
        target = self.root / os.fsdecode(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            pass  # a file stands where a folder is wanted

    def git(self, paths: list[bytes]) -> set[bytes]:
        """The paths that git ignores."""
        command = ["git", "--git-dir", str(self._git), "--work-tree", str(self.root), "-c", "core.excludesFile=/dev/null",
                   "check-ignore", "-z", "--stdin", "--no-index"]  # fmt: skip
        done = subprocess.run(
            command, cwd=self.root, input=b"".join(b"./%s\0" % path for path in paths), capture_output=True, timeout=60
        )
        assert done.returncode in (0, 1), done.stderr
        return {path.removeprefix(b"./") for path in done.stdout.split(b"\0")} - {b""}

    def ours(self, paths: list[tuple[bytes, bool]]) -> set[bytes]:
        """The paths that contextd ignores."""
        ignore = Ignore(self.root, (), gitignore=True, extra_files=())
        ignore.__dict__["listed"] = None  # git has nothing to say here, as a test below makes sure: it is not asked each time
        return {path for path, folder in paths if ignore.reason(os.fsdecode(path), folder=folder)}

    def same(self, files: list[bytes], ignored: list[bytes], below: list[bytes]) -> None:
        """Assert that both ignore the same paths."""
        found = self.make(files, ignored, below)
        assert self.ours(found) == self.git([path for path, _ in found])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("ignore"))


@pytest.mark.parametrize(
    "line",
    [
        *ODD,
        b"a/**",
        b"/a**",
        b"a**/b",
        b"!a",
        b"a/",
        b"*a",
        b"\\!a",
        b"\\#a",
        b"a\\ ",
        b"a/b/",
        b"***",
        b"**/b",
        b"a/*/b",
        b"[\\]]",
    ],
)
def test_I11_one_odd_pattern_means_what_it_means_to_git(tree: Tree, line: bytes) -> None:
    files = [
        b"a",
        b"b/a",
        b"b/a/b",
        b"c/a/x/b",
        b"!a",
        b"#a",
        b"a ",
        b"]",
        b"c/b",
        b"aa/b",
        b"d/a/b/c",
        b"\\",
        b"a\\",
        b"\xff\xfe",
    ]
    tree.same(files, [b"c*", line], [line])


def test_the_tree_is_no_repository(tree: Tree) -> None:
    tree.make([b"a"], [], [])
    assert Ignore(tree.root, (), gitignore=True, extra_files=()).listed is None


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(paths, min_size=1, max_size=8), st.lists(lines, max_size=5), st.lists(lines, max_size=3))
@example([b"a/b"], [b"*", b"!*/"], [b"!b"])
@example([b"a/a"], [], [b"a \0"])
def test_I11_ignores_what_git_ignores(tree: Tree, files: list[bytes], ignored: list[bytes], below: list[bytes]) -> None:
    tree.same(files, ignored, below)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_I11_ignores_what_git_ignores_many_times(tree: Tree) -> None:
    count = 0

    @settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(paths, min_size=1, max_size=8), st.lists(lines, max_size=6), st.lists(lines, max_size=4))
    def compare(files: list[bytes], ignored: list[bytes], below: list[bytes]) -> None:
        nonlocal count
        tree.same(files, ignored, below)
        count += 1

    compare()
    keep("I-11 ignore patterns compared with git", examples=count, differences=0)


@pytest.mark.parametrize(("name", "with_git"), [(".gitignore", False), (".contextignore", True)])
def test_I11_no_ignore_file_ends_a_run(make_project: Callable[..., Path], home: Path, name: str, with_git: bool) -> None:
    root = make_project({"a.py": "a = 1\n", "b.log": "1", name: b"\n".join([*ODD, b"*.log"])})
    if with_git:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    report = open_session(root, home=home, environment={}).index()
    assert report.written == 2 and not any("pattern" in warning for warning in report.warnings)


def test_I11_configured_patterns_that_match_nothing_are_named(make_project: Callable[..., Path], home: Path) -> None:
    odd = ["[a", "!", "a\\", "[[:foo:]]", "", "x" * (LONGEST + 1)]
    root = make_project({"a.py": "a = 1\n", "b.log": "1"})
    session = open_session(root, home=home, environment={}, flags={"watcher.ignore_patterns": [*odd, "*.log", "[z-a]"]})
    report = session.index()
    assert report.written == 1 and len(report.warnings) == len(odd)
    assert all(repr(pattern[:80]) in "\n".join(report.warnings) for pattern in odd)


def test_I11_limits_of_ignore_files_are_told(make_project: Callable[..., Path]) -> None:
    many = [b"n%d.py" % number for number in range(MOST + 10)]
    root = make_project({".gitignore": b"\n".join(many), "sub/.contextignore": b"x" * (LONGEST + 1) + b"\nb.py\n", "sub/a.py": "", "sub/b.py": "",
                         "n2500.py": "", f"n{MOST}.py": ""})  # fmt: skip
    files = Files(root, Boundaries())
    assert {state.uri for state in files.scan() if not isinstance(state, Skip)} == {
        ".gitignore",
        "sub/.contextignore",
        "sub/a.py",
        f"n{MOST}.py",
    }
    told = "\n".join(files.warnings())
    assert ".gitignore is too long" in told and "sub/.contextignore: 1 patterns longer" in told


def test_I11_a_linked_ignore_file_is_not_followed(make_project: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("*.py\n")
    root = make_project({"a.py": "1"})
    (root / ".contextignore").symlink_to(tmp_path / "outside")
    assert "a.py" in {state.uri for state in Files(root, Boundaries()).scan() if not isinstance(state, Skip)}


def test_I11_matching_takes_time_in_proportion_to_the_patterns() -> None:
    """Patterns on which backtracking takes exponential time; twice as many of them take about twice as long."""

    def seconds(count: int) -> float:
        patterns = Patterns([b"/" + b"*a" * 40 + b"/" + b"**/" * 40 + b"x%d" % number for number in range(count)])
        began = time.process_time()
        for number in range(40):
            assert patterns.verdict(b"a" * 200 + b"/a" * 100 + b"/y%d" % number, folder=False) is None
        return time.process_time() - began

    seconds(10)
    small, large = (min(seconds(count) for _ in range(3)) for count in (200, 800))
    assert large < 4 * small * 4 + 0.2


def test_a_nested_repository_was_indexed_with_what_it_ignores(project: Path, home: Path) -> None:
    nested = project / "vendored"
    nested.mkdir()
    (nested / "kept.py").write_text("kept = 1\n")
    (nested / "left.py").write_text("left = 1\n")
    (nested / ".gitignore").write_text("left.py\n")
    for root in (project, nested):
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    session = open_session(project, home=home, environment={})
    session.index()
    assert session.project is not None
    known = set(session.project.store.documents(session.project.source.id))
    assert "vendored/kept.py" in known and "vendored/left.py" not in known
