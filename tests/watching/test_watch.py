"""A watched project: what is on disk is what is found, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import Unavailable
from contextd.indexing.watch import _GAP
from tests.waiting import until


class Watched:
    """A project watched by a thread, and a session of its own to ask."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.said: list[str] = []
        self.turns = 0  # of the watch

    def paths(self) -> set[str]:
        assert self.session.project is not None
        return set(self.session.project.store.documents(self.session.project.source.id))

    def until(self, condition: Callable[[], object], seconds: float = 15) -> None:
        until(condition, seconds, lambda: (self.said, sorted(self.paths())[:20]))


@contextmanager
def watching(
    project: Path, home: Path, change: Callable[[Session], Session] = lambda session: session, seconds: float = 15
) -> Iterator[Watched]:
    watcher = open_session(project, home=home, environment={"CONTEXTD_WATCHER__DEBOUNCE_MS": "100"})
    watcher = change(watcher)
    watched = Watched(open_session(project, home=home, environment={}))
    over = threading.Event()
    failed: list[BaseException] = []

    def stop() -> bool:
        watched.turns += 1
        return over.is_set()

    def run() -> None:
        try:
            watcher.watch(stop, watched.said.append)
        except BaseException as error:
            failed.append(error)
        finally:
            watcher.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        watched.until(lambda: watched.said and watched.turns, seconds)
        yield watched
    finally:
        over.set()
        thread.join(timeout=30)
        watched.session.close()
        assert not failed and not thread.is_alive(), failed


def on_disk(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)}


def test_a_save_a_new_file_a_new_folder_and_a_removal_are_seen(project: Path, home: Path) -> None:
    with watching(project, home) as watched:
        (project / "src/app/store.py").write_text("def heron_store():\n    return 1\n")
        watched.until(lambda: bool(watched.session.search("heron_store").hits))
        (project / "new/deep/down").mkdir(parents=True)
        (project / "new/deep/down/owl.py").write_text("def owl_down():\n    return 1\n")
        watched.until(lambda: "new/deep/down/owl.py" in watched.paths())
        (project / "new/deep/down/second.py").write_text("def kite_down():\n    return 1\n")
        watched.until(lambda: "new/deep/down/second.py" in watched.paths())
        (project / "docs/guide.md").unlink()
        watched.until(lambda: "docs/guide.md" not in watched.paths())
        (project / "src").rename(project / "lib")
        watched.until(lambda: watched.paths() == on_disk(project))
        assert not watched.session.search("heron_store").trace.warnings


def test_an_ignore_file_that_changes_is_obeyed(project: Path, home: Path) -> None:
    with watching(project, home) as watched:
        (project / ".contextignore").write_text("docs/\n")
        watched.until(lambda: "docs/guide.md" not in watched.paths())
        (project / ".contextignore").unlink()
        watched.until(lambda: "docs/guide.md" in watched.paths())


def test_an_answer_says_that_a_file_has_changed_since(session: Session, project: Path) -> None:
    (project / "src/app/store.py").write_text("def load_user(name):\n    return 2\n")
    (project / "src/app/routes.py").unlink()
    warnings = session.search("load_user register_route", min_score=0).trace.warnings
    assert any("store.py has changed" in one for one in warnings) and any("routes.py is gone" in one for one in warnings)
    session.index()
    assert not session.context("load_user", min_score=0).trace.warnings


def test_W1_a_rename_storm_converges_to_what_is_on_disk(make_project: Callable[..., Path], home: Path) -> None:
    switch_branches(make_project, home, files=200, times=4, seconds=30)


def switch_branches(make_project: Callable[..., Path], home: Path, files: int, times: int, seconds: float) -> list[float]:
    """Two branches whose files all differ in name or content; after each switch index and disk agree."""
    root = make_project({f"pkg{n % 40}/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(files)})
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "one"], ["add", "-A"], ["commit", "-qm", "one"], ["checkout", "-qb", "two"]):
        subprocess.run([*git, *command], check=True)
    for n in range(files):
        path = root / f"pkg{n % 40}/m{n}.py"
        path.write_text(f"def g{n}():\n    return {n}\n")
        if n % 2:
            path.rename(path.with_name(f"renamed{n}.py"))
    for command in (["add", "-A"], ["commit", "-qm", "two"]):
        subprocess.run([*git, *command], check=True)
    took = []
    with watching(root, home, seconds=max(15, seconds)) as watched:
        watched.until(lambda: watched.paths() == on_disk(root), seconds)
        for turn in range(times):
            subprocess.run([*git, "checkout", "-q", "one" if turn % 2 == 0 else "two"], check=True)
            began = time.monotonic()
            name = "f" if turn % 2 == 0 else "g"
            watched.until(lambda name=name: agrees(watched, root, name, files), seconds)  # type: ignore[misc]
            took.append(time.monotonic() - began)
    return took


def agrees(watched: Watched, root: Path, name: str, files: int) -> bool:
    if watched.paths() != on_disk(root):
        return False
    known = watched.session.project.store.documents(watched.session.project.source.id)  # type: ignore[union-attr]
    if any(row.stamp.mtime_ns != (root / uri).stat().st_mtime_ns for uri, row in known.items()):
        return False
    return all(watched.session.search(f"{name}{n}").hits for n in (0, 1, files - 1))


def test_W2_a_stopped_process_catches_up(make_project: Callable[..., Path], home: Path) -> None:
    stop_and_storm(make_project, home, files=3000, seconds=60)


def stop_and_storm(make_project: Callable[..., Path], home: Path, files: int, seconds: float) -> float:
    """More files than any queue of events holds, written while the watcher is stopped."""
    root = make_project({"a.py": "def first():\n    return 1\n"})
    command = [sys.executable, "-m", "contextd", "watch", "-p", str(root)]
    process = subprocess.Popen(command, env={**os.environ, "CONTEXTD_HOME": str(home)}, stderr=subprocess.PIPE)
    session = open_session(root, home=home, environment={})
    watched = Watched(session)
    try:
        assert process.stderr is not None and any(b"1 indexed" in line for line in process.stderr)
        watched.until(lambda: watched.paths() == {"a.py"}, 30)
        process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        for n in range(files):
            folder = root / f"d{n % 50}"
            folder.mkdir(exist_ok=True)
            (folder / f"m{n}.py").write_text(f"x = {n}\n")
        (root / "a.py").unlink()
        time.sleep(max(0.0, stopped + _GAP + 1 - time.monotonic()))  # longer than any wait of the watch takes
        process.send_signal(signal.SIGCONT)
        began = time.monotonic()
        watched.until(lambda: watched.paths() == on_disk(root), seconds)
        return time.monotonic() - began
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(timeout=30)
        session.close()


def test_W3_when_the_system_has_no_watches_left_everything_is_looked_at(project: Path, home: Path) -> None:
    def exhausted(session: Session) -> Session:
        def arm(folders: object) -> None:
            raise Unavailable("no watches are left")

        assert session.project is not None
        return replace(session, project=replace(session.project, arm=arm))

    with watching(project, home, exhausted) as watched:
        (project / "late.py").write_text("def late_heron():\n    return 1\n")
        watched.until(lambda: "late.py" in watched.paths())
        assert sum("no watches are left" in line for line in watched.said) == 1, "one warning"


def test_W4_a_root_that_goes_and_comes_back_keeps_its_index(project: Path, home: Path, tmp_path: Path) -> None:
    with watching(project, home) as watched:
        before = watched.paths()
        project.rename(tmp_path / "away")
        watched.until(lambda: any("gone" in line for line in watched.said))
        assert watched.paths() == before, "an unmounted disk must not erase the index"
        (tmp_path / "away/late.py").write_text("def late_heron():\n    return 1\n")
        (tmp_path / "away").rename(project)
        watched.until(lambda: "late.py" in watched.paths())
        (project / "later.py").write_text("def later_heron():\n    return 1\n")
        watched.until(lambda: "later.py" in watched.paths())


def atomic(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text)
    temporary.replace(path)


def with_backup(path: Path, text: str) -> None:
    path.rename(path.with_name(path.name + "~"))
    time.sleep(0.15)
    path.write_text(text)
    path.with_name(path.name + "~").unlink()


def truncate(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.flush()
        time.sleep(0.02)
        file.write(text)


def shown(watched: Watched, word: str) -> bool:
    """Whether a new text of the file is found by now; until then there is the old one."""
    assert "src/app/store.py" in watched.paths(), "never a flash of deleted"
    return any(word in hit.chunk.text for hit in watched.session.search(word).hits)


@pytest.mark.parametrize("save", [atomic, with_backup, truncate])
def test_W5_an_editors_way_of_saving_is_an_update_and_never_a_removal(
    project: Path, home: Path, save: Callable[[Path, str], None]
) -> None:
    path = project / "src/app/store.py"
    with watching(project, home) as watched:
        for turn in range(3):
            save(path, f"def heron_{turn}():\n    return {turn}\n")
            watched.until(lambda: shown(watched, f"heron_{turn}"))  # noqa: B023
        assert watched.paths() == {"src/app/store.py", "src/app/routes.py", "docs/guide.md", "config/settings.yaml"}


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_W1_five_thousand_files_switched_twenty_times(make_project: Callable[..., Path], home: Path) -> None:
    from tests.faults.test_sweeps import keep

    took = switch_branches(make_project, home, files=5000, times=20, seconds=60)
    keep("20 branch switches of 5,000 files under watch", slowest_seconds=round(max(took), 1), disagreements=0)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_W2_forty_thousand_files_written_while_the_watcher_is_stopped(make_project: Callable[..., Path], home: Path) -> None:
    from tests.faults.test_sweeps import keep

    seconds = stop_and_storm(make_project, home, files=40_000, seconds=600)
    keep("40,000 files written while the watcher is stopped", seconds_to_catch_up=round(seconds, 1), missing=0)


def test_changed_settings_are_followed_and_bad_ones_are_not(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({"a.py": "def owls():\n    return 1\n", "notes/b.md": "# Herons\n\nHerons stand in water.\n"})
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    command = [sys.executable, "-m", "contextd", "watch", "-p", str(root)]
    process = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
    session = open_session(root, home=home, environment={})
    project = session.known()

    def known() -> set[str]:
        return set(project.store.documents(project.source.id))

    told: list[str] = []
    assert process.stderr is not None
    listening = threading.Thread(target=told.extend, args=(process.stderr,))
    listening.start()
    try:
        until(lambda: {"a.py", "notes/b.md"} <= known())
        (root / "context.toml").write_text("[context.indexing]\nexclude_patterns = 5\n")
        until(lambda: any("are invalid" in line for line in told))
        (root / "c.py").write_text("def larks():\n    return 2\n")
        until(lambda: "c.py" in known())
        assert "notes/b.md" in known(), "settings that cannot be used change nothing"
        (root / "context.toml").write_text('[context.watcher]\nignore_patterns = ["notes/"]\n')
        until(lambda: "notes/b.md" not in known())
    finally:
        process.terminate()
        process.wait(timeout=20)
        listening.join(timeout=20)
    assert any("were reloaded" in line for line in told)


def test_a_commit_is_known_while_watching(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({"a.py": "def owls():\n    return 1\n"})
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin with owls"]):
        subprocess.run([*git, *command], check=True)
    with watching(root, home) as watched:
        watched.until(lambda: bool(watched.session.search("kind:commit begin with owls").hits))
        turns = watched.turns
        watched.until(lambda: watched.turns > turns + 1)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Teach the herons to whistle"], check=True)
        watched.until(lambda: bool(watched.session.search("kind:commit herons whistle").hits))
