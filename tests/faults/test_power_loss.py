"""FAULTS F-2: the power goes. What was synced stays; of what was not, some sectors are there and some are not.

Every write, sync and truncation of the record is recorded by a file system of our own; states the disk could be in are then
built from the recording and opened. A control with syncs switched off must fail: a suite that cannot fail proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from contextd.app.assemble import open_session
from contextd.errors import ContextdError
from contextd.stores.sqlite import connect
from contextd.stores.sqlite.record import SqliteRecord

SECTOR = 512
ENVIRONMENT = {"CONTEXTD_EMBEDDING__MODEL": "none", "CONTEXTD_EMBEDDING__DEEP_MODEL": "none"}

Operation = tuple[str, str, int, bytes]  # file, what, offset, data


class Recorder(apsw.VFS):
    """Passes everything on, and writes down what could be lost."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.below = apsw.vfs_names()[0]
        super().__init__("recorder", self.below, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return RecordedFile(self, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        self.operations.append((Path(name).name, "delete", 0, b""))
        super().xDelete(name, sync)


class RecordedFile(apsw.VFSFile):
    def __init__(self, recorder: Recorder, name: Any, flags: list[int]) -> None:
        self.recorder = recorder
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self.name = Path(path).name
        super().__init__(recorder.below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.recorder.operations.append((self.name, "write", offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self.recorder.operations.append((self.name, "sync", 0, b""))
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self.recorder.operations.append((self.name, "truncate", size, b""))
        super().xTruncate(size)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    vfs = Recorder()
    yield vfs
    vfs.unregister()


def record_some(home: Path, recorder: Recorder, number: int) -> list[tuple[int, str]]:
    """Remember and forget a while; each acknowledged memory with the position at which it was acknowledged."""
    session = open_session(None, home=home, environment=ENVIRONMENT)
    acknowledged = []
    for place in range(number):
        memory = session.remember(f"fact {place} about herons " + "and more words " * (place % 40)).memory
        acknowledged.append((len(recorder.operations), memory.id))
        if place % 9 == 8:
            session.forget(acknowledged.pop(0)[1])
    session.close()
    return acknowledged


def state_after(operations: list[Operation], cut: int, chance: random.Random) -> dict[str, bytearray]:
    """The files as a disk could hold them when the power goes after `cut` operations."""
    last_sync = {name: place for place, (name, what, _, _) in enumerate(operations[:cut]) if what == "sync"}
    files: dict[str, bytearray] = {}
    for place, (name, what, offset, data) in enumerate(operations[:cut]):
        certain = place < last_sync.get(name, -1)
        content = files.setdefault(name, bytearray())
        if what == "write":
            for start in range(0, len(data), SECTOR):
                if certain or chance.random() < 0.5:
                    part = data[start : start + SECTOR]
                    content.extend(b"\0" * max(0, offset + start + len(part) - len(content)))
                    content[offset + start : offset + start + len(part)] = part
        elif what == "truncate" and (certain or chance.random() < 0.5):
            del content[offset:]
        elif what == "delete":  # SQLite syncs the folder where a deletion matters
            files.pop(name, None)
    return files


def lost(home: Path, operations: list[Operation], acknowledged: list[tuple[int, str]], states: int, seed: int) -> int:
    """In how many states something acknowledged is missing, or the database does not open sound."""
    chance = random.Random(seed)
    failures = 0
    for number in range(states):
        cut = chance.randrange(1, len(operations) + 1)
        folder = home / f"state{number}"
        folder.mkdir(parents=True)
        for name, content in state_after(operations, cut, chance).items():
            if name.startswith("record.db") and not name.endswith("-shm"):
                (folder / name).write_bytes(content)
        expected = {memory for at, memory in acknowledged if at <= cut}
        failures += not _sound(folder / "record.db", expected)
    return failures


def _sound(path: Path, expected: set[str]) -> bool:
    try:
        record = SqliteRecord(path)
        kept = record.memories.ids(record.workspace("personal", "", "personal"))
        whole = record.database.query("pragma integrity_check") == [("ok",)]
        record.close()
    except ContextdError:
        return not expected
    return whole and expected <= kept


def test_F2_no_acknowledged_memory_is_lost_when_the_power_goes(tmp_path: Path, recorder: Recorder) -> None:
    acknowledged = record_some(tmp_path / "home", recorder, 40)
    assert lost(tmp_path / "states", list(recorder.operations), acknowledged, 60, 1) == 0


def test_F2_without_syncs_the_same_suite_fails(tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = connect._set_up

    def careless(connection: apsw.Connection, **options: bool) -> apsw.Connection:
        done = honest(connection, **options)
        done.execute("pragma synchronous = off")
        return done

    monkeypatch.setattr(connect, "_set_up", careless)
    acknowledged = record_some(tmp_path / "home", recorder, 40)
    assert lost(tmp_path / "states", list(recorder.operations), acknowledged, 60, 1) > 0


@pytest.mark.campaign
def test_F2_five_hundred_states(tmp_path: Path, recorder: Recorder) -> None:
    acknowledged = record_some(tmp_path / "home", recorder, 120)
    assert lost(tmp_path / "states", list(recorder.operations), acknowledged, 600, 2) == 0
