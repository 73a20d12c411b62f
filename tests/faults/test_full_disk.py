"""A disk without space: reading and searching go on, also from a new process, and writing says that the disk is full."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import StorageError
from tests.conftest import Run
from tests.faults.test_storage import FullDisk, full_disk  # noqa: F401 - a fixture


@pytest.fixture
def small_disk(tmp_path: Path, home: Path) -> Iterator[Path]:
    """A home on a real file system of 8 MB."""
    target = tmp_path / "small"
    target.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(target)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here ({mounted.stderr.strip()})")
    try:
        (target / "home").mkdir()
        (target / "home/models").symlink_to(home / "models")
        yield target
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


def fill(disk: Path) -> None:
    """Leave not one byte."""
    with (disk / "filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def on(disk: Path, contextd: Callable[..., Run]) -> Callable[..., Run]:
    return lambda *arguments: contextd(*arguments, CONTEXTD_HOME=str(disk / "home"))


def test_F3_a_new_process_reads_and_searches_on_a_full_disk(
    small_disk: Path, project: Path, contextd: Callable[..., Run]
) -> None:
    run = on(small_disk, contextd)
    assert run("index", "-p", str(project)).code == 0
    assert run("remember", "the office is in Lisbon").code == 0
    fill(small_disk)
    found = run("search", "load_user", "-p", str(project))
    assert found.code == 0 and "src/app/store.py" in found.out, found.err
    assert "Lisbon" in run("recall", "where is the office").out
    assert "load_user" in run("context", "load_user", "-p", str(project)).out
    for command in (
        ("remember", "the parking is in Porto"),
        ("index", "-p", str(project)),
        ("rebuild", "--force", "-p", str(project)),
    ):
        refused = run(*command, "--json")
        assert refused.code == 3 and "disk full" in refused.err and '"storage_full"' in refused.out, refused.err
    (small_disk / "filler").unlink()
    assert run("index", "-p", str(project)).code == 0
    assert run("remember", "the parking is in Porto").code == 0


def test_F3_an_engine_opened_on_a_full_disk_writes_when_there_is_space_again(small_disk: Path, project: Path) -> None:
    home = small_disk / "home"
    first = open_session(project, home=home, environment={})
    first.index()
    first.remember("the office is in Lisbon")
    first.close()
    fill(small_disk)
    session = open_session(project, home=home, environment={})
    assert session.search("load_user").hits
    for write in (lambda: session.remember("the parking is in Porto"), session.index):
        with pytest.raises(StorageError, match="disk full") as error:
            write()
        assert error.value.code == "storage_full"
    (small_disk / "filler").unlink()
    (project / "docs/guide.md").write_text("# Guide\n\nAbout herons.\n")
    session.remember("the parking is in Porto")
    assert session.index().written == 1
    assert "herons" in session.search("herons", min_score=0).hits[0].chunk.text
    session.close()


def test_F3_a_new_home_on_a_full_disk_says_so(small_disk: Path, project: Path, contextd: Callable[..., Run]) -> None:
    fill(small_disk)
    refused = on(small_disk, contextd)("search", "load_user", "-p", str(project))
    assert refused.code == 3 and "disk full" in refused.err


@pytest.mark.usefixtures("full_disk")
def test_F3_no_write_is_needed_to_open_a_home_and_a_project(project: Path, home: Path, request: pytest.FixtureRequest) -> None:
    disk: FullDisk = request.getfixturevalue("full_disk")
    first = open_session(project, home=home, environment={})
    first.index()
    first.remember("the office is in Lisbon")
    disk.left = 0
    second = open_session(project, home=home, environment={})
    assert second.search("load_user").hits
    with pytest.raises(StorageError, match="disk full"):
        second.remember("the parking is in Porto")
    disk.left = None
    assert (
        second.search("parking", min_score=0).hits == []
        or "Porto" not in second.search("parking", min_score=0).hits[0].chunk.text
    )
    first.close()
    second.close()
