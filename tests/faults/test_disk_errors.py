"""A disk that reports errors, and a log that a reader holds: nothing is acknowledged that may be lost, and reading goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import StorageError


class FailingDisk(apsw.VFS):
    """A file system on which some calls fail with EIO while `failing` says so."""

    def __init__(self) -> None:
        self.failing = ""
        self.below = apsw.vfs_names()[0]
        super().__init__("failing", self.below, makedefault=True)

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:
        return FailingFile(self, name, flags)

    def fail(self, call: str, code: int) -> None:
        if self.failing == call:
            error = apsw.IOError("disk I/O error")
            error.extendedresult = code
            raise error


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: object, flags: list[int]) -> None:
        self.disk = disk
        super().__init__(disk.below, name, flags)

    def xSync(self, flags: int) -> None:
        self.disk.fail("sync", apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.fail("read", apsw.SQLITE_IOERR_READ)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.fail("write", apsw.SQLITE_IOERR_WRITE)
        super().xWrite(data, offset)


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    disk = FailingDisk()
    yield disk
    disk.unregister()


@pytest.mark.parametrize("call", ["sync", "write"])
def test_F4_after_an_error_of_the_disk_nothing_is_acknowledged_and_nothing_more_is_written(
    home: Path, disk: FailingDisk, call: str
) -> None:
    """A second sync after a failed one may succeed though the pages are lost: the process stops writing."""
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    session.remember("herons nest in May")
    disk.failing = call
    with pytest.raises(StorageError) as error:
        session.remember("owls nest in March")
    assert error.value.code == "io"
    disk.failing = ""
    with pytest.raises(StorageError, match="writing is disabled") as error:
        session.remember("cranes nest in April")
    assert error.value.code == "io"
    assert "herons" in session.search("nest", min_score=0).hits[0].chunk.text, "reading goes on"
    session.close()
    again = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    texts = [hit.chunk.text for hit in again.search("nest", k=20, min_score=0).hits]
    assert texts == ["herons nest in May"], "what was not acknowledged is not there"
    again.remember("storks nest in June")
    assert len(again.search("nest", k=20, min_score=0).hits) == 2
    again.close()


def test_F4_a_read_that_fails_costs_one_question(home: Path, disk: FailingDisk) -> None:
    environment = {"CONTEXTD_EMBEDDING__MODEL": "none"}
    session = open_session(None, home=home, environment=environment)
    for number in range(30):
        session.remember(f"heron number {number} nests in May")
    session.close()
    session = open_session(None, home=home, environment=environment)
    disk.failing = "read"
    with pytest.raises(StorageError) as error:
        session.search("heron", min_score=0)
    assert error.value.code == "io" and "disk reported an error" in str(error.value)
    disk.failing = ""
    assert session.search("heron", min_score=0).hits
    session.remember("owls nest in March")
    session.close()


def test_F9_a_log_that_a_reader_holds_is_warned_of_and_emptied_afterwards(session: Session, project: Path, home: Path) -> None:
    assert session.project is not None
    path = session.project.folder / "index.db"
    reader = apsw.Connection(str(path))
    reader.execute("begin")
    reader.execute("select count(*) from content").fetchall()
    for number in range(70):
        session.project.store.notes.set_setting("large", f"{number:04d}" * (1 << 18))
    assert (path.parent / "index.db-wal").stat().st_size > 64 << 20
    warnings = open_session(project, home=home, environment={}).warnings
    assert any("index.db has" in warning and "reading it for long" in warning for warning in warnings)
    reader.execute("rollback")
    reader.close()
    session.project.store.notes.set_setting("large", "")
    session.index()
    assert (path.parent / "index.db-wal").stat().st_size < 1 << 20
    assert not any("reading it for long" in one for one in open_session(project, home=home, environment={}).warnings)


def test_F9_many_writes_beside_short_readers_keep_the_log_small(home: Path) -> None:
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    store = session.home.record.store(session.home.personal)
    for number in range(300):
        store.notes.set_setting("large", f"{number:04d}" * (1 << 16))  # type: ignore[attr-defined]
        session.search("anything", min_score=0)
    assert (home / "record.db-wal").stat().st_size < 64 << 20
    session.close()
