"""Only the owner of the data directory may read what contextd keeps in it (SECURITY.md)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.settings.permissions import make_folder, mend
from tests.conftest import Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


def modes(home: Path) -> dict[str, int]:
    """The mode of everything in a home but the weights."""
    found = (home, *(path for path in home.rglob("*") if "models" not in path.relative_to(home).parts[:1]))
    return {str(path.relative_to(home)): stat.S_IMODE(path.lstat().st_mode) for path in found if not path.is_symlink()}


def expected(home: Path) -> dict[str, int]:
    return {name: 0o700 if (home / name).is_dir() else 0o600 for name in modes(home)}


@pytest.fixture
def open_mask() -> Iterator[None]:
    """Everybody may write the new files of this process."""
    usual = os.umask(0)
    yield
    os.umask(usual)


@pytest.mark.usefixtures("open_mask")
def test_M3_what_is_created_is_for_its_owner_alone_whatever_the_mask(
    project: Path, tmp_path: Path, contextd: Callable[..., Run]
) -> None:
    home = tmp_path / "new" / "home"
    for command in (
        ["index", str(project)],
        ["remember", "the office is in Lisbon"],
        ["rebuild", "--force", "-p", str(project)],
    ):
        assert contextd(*command, CONTEXTD_HOME=str(home)).code == 0
    kept = {Path(name).name.split("-")[0] for name in modes(home)}
    assert {"record.db", "index.db", "base", "writer.lock", "writer.holder"} <= kept
    assert modes(home) == expected(home)


def test_M3_the_log_and_the_shared_memory_of_an_open_database_are_private(project: Path, tmp_path: Path) -> None:
    session = open_session(project, home=tmp_path / "home", environment={})
    session.remember("the office is in Lisbon")
    assert "record.db-wal" in modes(tmp_path / "home") and modes(tmp_path / "home") == expected(tmp_path / "home")
    session.close()


def opened_up(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_M3_a_home_of_an_older_version_is_mended_when_it_is_opened(
    project: Path, home: Path, make_project: Callable[..., Path]
) -> None:
    other = make_project({"a.py": "a = 1\n"}, "other")
    for root in (project, other):
        open_session(root, home=home, environment={}).index()
    (home / "record.db.corrupt-1").write_bytes(b"old")
    (home / "notes.txt").write_text("not ours")
    opened_up(home)
    open_session(project, home=home, environment={})
    assert modes(home) == {**expected(home), "notes.txt": 0o644}


def test_M3_files_in_a_closed_home_are_mended_too(project: Path, home: Path) -> None:
    open_session(project, home=home, environment={}).index()
    opened_up(home)
    home.chmod(0o700)
    open_session(project, home=home, environment={})
    assert modes(home) == expected(home)


def test_M3_a_home_behind_a_link_is_mended_and_links_inside_lead_nowhere(project: Path, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("somebody else's")
    outside.chmod(0o644)
    (home / "projects").mkdir()
    (home / "projects" / "link").symlink_to(outside)
    (tmp_path / "way").symlink_to(home)
    home.chmod(0o775)
    open_session(project, home=tmp_path / "way", environment={})
    assert modes(home) == expected(home)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_F5_mending_takes_rights_and_never_gives_one(home: Path) -> None:
    record = home / "record.db"
    record.write_bytes(b"")
    record.chmod(0o444)
    home.chmod(0o555)
    mend(home)
    assert stat.S_IMODE(record.stat().st_mode) == 0o400 and stat.S_IMODE(home.stat().st_mode) == 0o500
    home.chmod(0o700)


def test_M3_a_folder_for_everybody_stays_so(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    mend(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


def test_folders_above_that_exist_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    make_folder(tmp_path / "data" / "contextd")
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o755
