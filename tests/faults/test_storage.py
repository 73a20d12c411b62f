"""Faults of the disk and the database, by the ids of the fault catalogue."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from contextd.app.assemble import open_session
from contextd.app.questions import query_of
from contextd.app.session import Session
from contextd.errors import IndexMismatch, StorageError
from contextd.stores.sqlite.record import SqliteRecord
from contextd.values.clock import tick
from tests.conftest import Run
from tests.indexing.test_index import state_of
from tests.waiting import until

Contextd = Callable[..., Run]


def many(make_project: Callable[..., Path], count: int = 120) -> Path:
    return make_project({f"pkg{n % 7}/module_{n}.py": f'"""Module {n}."""\n\n\ndef function_{n}(x):\n    """Does {n}."""\n    return x * {n}\n' for n in range(count)})  # fmt: skip


def test_F1_kill_at_any_moment_then_run_again(make_project: Callable[..., Path], home: Path, tmp_path: Path) -> None:
    root = many(make_project)
    calm = open_session(root, home=home, environment={})
    calm.index()
    expected = state_of(calm)
    wild_home = tmp_path / "wild"
    shutil.copytree(home / "models", wild_home / "models")
    variables = {**os.environ, "CONTEXTD_HOME": str(wild_home)}
    chance = random.Random(3)
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "contextd", "index", "-p", str(root)], env=variables, stderr=subprocess.PIPE
        )
        time.sleep(0.4 + chance.random() * 1.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    wild = open_session(root, home=wild_home, environment={})
    wild.index()
    assert state_of(wild) == expected
    assert wild.project is not None
    assert wild.project.store.rows("select count(*) from content where workspace_id = ?")[0][0] == len({row[5] for row in expected if row[0]})  # fmt: skip
    for check in ("integrity_check", "foreign_key_check"):
        assert wild.project.store.database.query(f"pragma {check}") in ([("ok",)], [])


class FullDisk(apsw.VFS):
    """A file system on which the nth write finds no space."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.below = apsw.vfs_names()[0]
        super().__init__("full", self.below, makedefault=True)

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:
        return FullFile(self, name, flags)


class FullFile(apsw.VFSFile):
    def __init__(self, disk: FullDisk, name: object, flags: list[int]) -> None:
        self.disk = disk
        super().__init__(disk.below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self.disk.left is not None:
            self.disk.left -= 1
            if self.disk.left < 0:
                raise apsw.FullError("no space left on device")
        super().xWrite(data, offset)


@pytest.fixture
def full_disk() -> Iterator[FullDisk]:
    disk = FullDisk()
    yield disk
    disk.unregister()


def test_F3_a_full_disk_at_any_write_half_writes_nothing(project: Path, home: Path, full_disk: FullDisk) -> None:
    """Reads go on, the error says so, and the same session works when there is space again."""
    session = open_session(project, home=home, environment={})
    session.index()
    for number in range(0, 60, 5):
        (project / "docs/guide.md").write_text(f"# Guide\n\nEdition {number} about herons.\n")
        full_disk.left = number
        try:
            session.index()
        except StorageError as error:
            assert error.code == "storage_full" and "full" in str(error)
        full_disk.left = None
        assert session.search("load_user").hits
        whole = [hit.chunk.text for hit in session.search("herons", min_score=0).hits if "herons" in hit.chunk.text]
        assert all(text.startswith("# Guide") for text in whole)
        session.index()
        assert f"Edition {number}" in session.search("herons edition", min_score=0).hits[0].chunk.text


def test_F3_a_memory_that_found_no_space_was_not_acknowledged(home: Path, full_disk: FullDisk) -> None:
    session = open_session(None, home=home, environment={})
    session.remember("the first fact about owls")
    kept = 1
    for number in range(25):
        full_disk.left = number
        try:
            session.remember(f"fact number {number} about owls")
            kept += 1
        except StorageError as error:
            assert error.code == "storage_full"
        full_disk.left = None
        assert len(session.search("owls", k=100, min_score=0).hits) == min(kept, 100)


def without_power(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command so that permissions bind it, even for root."""
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    command = [*(bound if os.getuid() == 0 else []), sys.executable, "-m", "contextd", *arguments]
    return subprocess.run(command, env={**os.environ, "CONTEXTD_HOME": str(home)}, capture_output=True, text=True, timeout=60)


binding = pytest.mark.skipif(
    os.getuid() == 0 and not shutil.which("setpriv"), reason="root without setpriv cannot be bound by permissions"
)


@binding
def test_a_file_that_may_not_be_read_is_listed_until_it_is_read(project: Path, home: Path) -> None:
    place = ("-p", str(project))
    closed = project / "src/app/store.py"
    closed.chmod(0)
    try:
        indexed = without_power("index", *place, home=home)
        listed = json.loads(without_power("errors", *place, "--json", home=home).stdout)["items"]
        (project / "context.toml").write_text("[context.bootstrap]\nfail_fast = true\n")
        stopped = without_power("index", "--verify", *place, home=home)
        (project / "context.toml").unlink()
    finally:
        closed.chmod(0o644)
    assert indexed.returncode == 0 and "Permission denied" in indexed.stdout
    assert [(one["path"], one["error"]) for one in listed] == [("src/app/store.py", "cannot be read: Permission denied")]
    assert stopped.returncode != 0 and "src/app/store.py" in stopped.stderr and "Traceback" not in stopped.stderr
    assert without_power("index", *place, home=home).returncode == 0
    assert json.loads(without_power("errors", *place, "--json", home=home).stdout)["items"] == []


@binding
def test_F5_a_read_only_home_still_answers(session: Session, project: Path, home: Path) -> None:
    session.remember("the office is in Lisbon")
    session.close()
    for path in (*home.rglob("*"), home):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        found = without_power("search", "-p", str(project), "load_user", home=home)
        assert found.returncode == 0, found.stderr
        assert "src/app/store.py" in found.stdout
        written = without_power("remember", "something new", home=home)
        assert written.returncode == 3 and "read-only" in written.stderr and str(home) in written.stderr
        indexed = without_power("index", "-p", str(project), home=home)
        assert indexed.returncode == 3 and "Traceback" not in indexed.stderr
    finally:
        for path in (home, *home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def damage(path: Path, chance: random.Random, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "header":
        data[:100] = chance.randbytes(100)
    elif how == "zero":
        data = bytearray()
    elif how == "cut":
        data = data[: chance.randrange(1, len(data))]
    else:
        for _ in range(chance.randrange(1, 40)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["header", "zero", "cut", "flip"])
def test_F6_a_damaged_index_is_put_aside_and_made_again(
    session: Session, project: Path, home: Path, contextd: Contextd, how: str
) -> None:
    assert session.project is not None
    folder = session.project.folder
    session.close()
    chance = random.Random(how)
    for _ in range(2):
        for leftover in folder.glob("index.db-*"):
            leftover.unlink()
        damage(folder / "index.db", chance, how)
        asked = contextd("search", "-p", str(project), "load_user")
        assert asked.code in (0, 1, 3), asked.err
        made = contextd("index", "-p", str(project), "--verify")
        assert made.code == 0, made.err
        assert contextd("search", "-p", str(project), "load_user").code == 0
    if how in ("header", "cut"):
        assert list(folder.glob("*.corrupt-*")), "never deleted"


def test_F6_a_damaged_record_is_never_moved(home: Path, contextd: Contextd) -> None:
    assert contextd("remember", "the office is in Lisbon", cwd=home).code == 0
    record = home / "record.db"
    data = bytearray(record.read_bytes())
    data[:100] = b"\x00garbage" * 12 + b"1234"
    record.write_bytes(bytes(data))
    for leftover in home.glob("record.db-*"):
        leftover.unlink()
    broken = contextd("remember", "another fact", cwd=home)
    assert broken.code == 3 and "record.db" in broken.err
    assert record.read_bytes() == bytes(data)


REMEMBER_MANY = """
import sys
from pathlib import Path
from contextd.app.assemble import open_session
session = open_session(None, home=Path(sys.argv[1]), environment={"CONTEXTD_EMBEDDING__MODEL": "none", "CONTEXTD_EMBEDDING__DEEP_MODEL": "none"})
for number in range(int(sys.argv[3])):
    memory = session.remember(f"fact {sys.argv[2]} {number} about herons").memory
    print(memory.id, flush=True)
"""


def test_F8_four_processes_remember_at_once_under_kill_and_no_acknowledged_memory_is_lost(home: Path, tmp_path: Path) -> None:
    logs = [tmp_path / f"log{n}" for n in range(4)]
    processes = []
    for number, log in enumerate(logs):
        command = [sys.executable, "-c", REMEMBER_MANY, str(home), f"p{number}", "150"]
        processes.append(subprocess.Popen(command, stdout=log.open("wb"), stderr=subprocess.PIPE))
    for victim, log in zip(processes[:2], logs[:2], strict=True):
        until(lambda: log.read_bytes().count(b"\n") >= 20)  # noqa: B023
        assert victim.poll() is None, "it ended before it was killed"
        victim.kill()
    for number, process in enumerate(processes):
        _, err = process.communicate(timeout=100)
        assert number < 2 or process.returncode == 0, err.decode()
        assert b"locked" not in err
    acknowledged = {line for log in logs for line in log.read_text().split("\n")[:-1]}
    record = SqliteRecord(home / "record.db")
    kept = record.memories.ids(record.workspace("personal", "", "personal"))
    assert acknowledged <= kept and len(acknowledged) >= 340
    assert record.database.query("pragma integrity_check") == [("ok",)]


def test_F11_an_index_of_a_newer_version_is_left_alone(session: Session, project: Path, contextd: Contextd) -> None:
    assert session.project is not None
    path = session.project.store.database.path  # type: ignore[attr-defined]
    session.close()
    connection = apsw.Connection(str(path))
    connection.execute("pragma user_version = 99")
    connection.close()
    before = path.read_bytes()
    run = contextd("search", "-p", str(project), "x")
    assert run.code == 4 and "newer contextd" in run.err
    assert path.read_bytes() == before


def test_F11_a_migration_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextd.stores.sqlite import connect

    steps = connect.migrations(("index",))
    broken = {max(steps) + 7: "create table half (x integer) strict; insert into nowhere values (1)"}
    path = tmp_path / "index.db"
    connection = connect.connect(path, durable=True)
    connect.migrate(connection, path, ("index",), durable=True)
    monkeypatch.setattr(connect, "migrations", lambda _: steps | broken)
    with pytest.raises(StorageError):
        connect.migrate(connection, path, ("index",), durable=True)
    assert list(connection.execute("select name from sqlite_master where name = 'half'")) == []
    assert list(connection.execute("pragma user_version")) == [(max(steps),)]
    monkeypatch.setattr(connect, "migrations", lambda _: {min(steps) - 1: ""})
    with pytest.raises(IndexMismatch):
        connect.migrate(connection, path, ("index",), durable=True)


def test_F11_a_record_of_the_first_version_is_brought_up_to_date(home: Path) -> None:
    """By number, not by position: an index has other steps than a record."""
    from contextd.stores.sqlite import connect

    steps = connect.migrations(("index", "record"))
    assert set(connect.migrations(("index",))).isdisjoint(connect.migrations(("record",))), "a number is used once"
    connection = apsw.Connection(str(home / "record.db"))
    for number in (1, 2):
        connection.execute(steps[number])
    connection.execute("insert into registry values (7, 'personal', 'personal', '', 1); pragma user_version = 2")
    connection.execute("insert into memory values (7, 'm1', 1, 'fact', 5, 'c')")
    connection.close()
    record = SqliteRecord(home / "record.db")
    rows = record.database.query("select memory_id, author, kind, said, enriched from memory")
    assert rows == [("m1", "owner", "unknown", 5, 0)] and record.memories.ids(7) == {"m1"}


def test_F6_flipped_bytes_in_the_word_structures_are_noticed_and_mended(session: Session, project: Path) -> None:
    from contextd.stores.search import arrays

    assert session.project is not None
    (base,) = session.project.folder.glob("base-*.arrays")
    whole = session.search("load_user").hits[0].chunk.uri
    data = bytearray(base.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    session.close()
    base.write_bytes(data)
    again = open_session(project, home=session.project.folder.parent.parent, environment={})
    with pytest.raises(StorageError, match="bytes have changed"):
        arrays.read(base)
    assert again.search("load_user").hits[0].chunk.uri == whole
    again.index(verify=True)
    (base,) = session.project.folder.glob("base-*.arrays")
    assert arrays.read(base)


def test_F6_vectors_that_only_the_base_had_are_made_again(session: Session, project: Path) -> None:
    """A vector is stored once: in the database until it is folded, in the base from then on."""
    assert session.project is not None and session.setup.static is not None
    store, scope = session.project.store, query_of(session, "x", None, None).scope
    with store.view(scope) as view:
        whole = dict(view.spaces)
    assert store.rows("select count(*) from vector where workspace_id = ? and length(data) > 0") == [(0,)]  # type: ignore[attr-defined]
    (base,) = session.project.folder.glob("base-*.arrays")
    session.close()
    base.unlink()
    again = open_session(project, home=session.project.folder.parent.parent, environment={})
    assert again.search("load_user").hits, "words answer meanwhile"
    again.index(verify=True)
    assert again.project is not None
    with again.project.store.view(scope) as view:
        assert dict(view.spaces) == whole


def test_F14_a_clock_that_jumps_back_gives_no_earlier_time() -> None:
    first = tick("", 1_000_000, "aa")
    second = tick(first, 500_000, "aa")
    third = tick(second, 500_000, "aa")
    later = tick(third, 2_000_000, "aa")
    assert first < second < third < later
    last = f"{1_000_000:012x}-ffff-aa"
    assert tick(last, 0, "aa") > last


def test_F14_times_in_the_past_and_the_future_are_indexed_once(session: Session, project: Path) -> None:
    (project / "docs/guide.md").write_text("# Guide\n\nBackups of users.\n")
    os.utime(project / "docs/guide.md", (0, 0))
    os.utime(project / "src/app/store.py", (4e9, 4e9))
    session.index()
    assert session.index().files == 0
    assert "1970-01-01" in session.context("backups of users", template="detailed", min_score=0).text


def test_F17_forgotten_means_gone_byte_for_byte(home: Path, project: Path) -> None:
    """A byte search for random canaries in the data directory finds nothing after forget."""
    chance = random.Random(11)
    canaries = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(24)) for _ in range(5)]
    session = open_session(project, home=home, environment={})
    session.index()
    for canary in canaries:
        memories = [session.remember(f"the word {canary} number {n}", in_project=n % 2 == 0).memory for n in range(3)]
        assert sum(canary in hit.chunk.text for hit in session.search(canary, min_score=0).hits) == 3
        session.context(f"what about {canary}", min_score=0)
        for memory in memories:
            assert session.forget(memory.id) == "gone"
        assert not any(canary in hit.chunk.text for hit in session.search(canary, min_score=0).hits)
    session.close()
    for path in home.rglob("*"):
        if path.is_file() and "models" not in path.parts:
            data = path.read_bytes()
            assert not any(canary.encode() in data for canary in canaries), path
    record = SqliteRecord(home / "record.db")
    assert len(record.memories.tombstones(session.home.personal, "owner")) == 5


def test_F17_while_another_process_reads_forget_says_pending(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    memory = session.remember("a fact about herons").memory
    other = apsw.Connection(str(home / "record.db"))
    other.execute("begin")
    other.execute("select count(*) from content").fetchall()
    session.remember("another fact")
    assert session.forget(memory.id) == "pending"
    other.execute("rollback")
    assert not [hit for hit in session.search("herons", min_score=0).hits if "herons" in hit.chunk.text]


def test_F6_what_can_be_read_of_a_damaged_record_is_saved(home: Path, contextd: Contextd) -> None:
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": "none"})
    for number in range(300):
        session.remember(f"fact number {number} about herons")
    database = session.home.record.database  # type: ignore[attr-defined]
    database.checkpoint()
    leaves = [page for (page,) in database.query("select pageno from dbstat where name = 'content' and pagetype = 'leaf'")]
    healthy = contextd("salvage")
    assert healthy.code == 0 and "healthy" in healthy.out and not list(home.glob("record.db.*")), "it is left as it is"
    record = home / "record.db"
    start = (leaves[len(leaves) // 2] - 1) * 4096
    # By another process: closing the file in this one would take away the locks of its connections.
    script = f"file = open({str(record)!r}, 'r+b'); file.seek({start}); file.write(b'\\xff' * 4096)"
    subprocess.run([sys.executable, "-c", script], check=True)
    run = contextd("salvage")
    assert run.code == 3 and "another process" in run.err, "not under the hands of a process that writes"
    session.close()
    run = contextd("salvage")
    assert run.code == 0 and "saved" in run.out and list(home.glob("record.db.corrupt-*")), "the damaged file is kept"
    saved = open_session(None, home=home, environment={})
    left = saved.home.record.memories.ids(saved.home.personal)  # type: ignore[attr-defined]
    assert 300 > len(left) >= 300 - 300 // len(leaves) * 2, "one leaf is lost and no more"
    found = {hit.chunk.uri.removeprefix("memory:") for hit in saved.search("herons", k=200, min_score=0).hits}
    assert len(found) == 200 and found <= left
    some = next(iter(left))
    assert saved.forget(some) == "copies", "what is forgotten may still be in the damaged file, and it says so"


def test_F6_a_record_of_an_older_schema_is_saved_too(home: Path) -> None:
    from contextd.stores.sqlite import connect
    from contextd.stores.sqlite.record import salvaged

    session = open_session(None, home=home, environment={})
    memory = session.remember("owls hunt at night").memory
    session.close()
    connection = apsw.Connection(str(home / "record.db"))
    connection.execute("drop index memory_taught; alter table memory drop column author; pragma user_version = 2")
    connection.close()
    assert max(connect.migrations(("record",))) >= 3
    done = salvaged(home / "record.db")
    assert done is not None and done[0]["memory"] == 1
    assert open_session(None, home=home, environment={}).forget(memory.id) == "copies"


@pytest.mark.parametrize(("name", "damaged"), [(b"folded_seq ", b"foldad_seq "), (b"  ended  ", b"--ended  ")])
def test_F6_a_column_whose_name_is_damaged_is_mended_by_the_next_run(
    session: Session, project: Path, home: Path, name: bytes, damaged: bytes
) -> None:
    assert session.project is not None
    path = session.project.folder / "index.db"
    session.project.store.database.checkpoint()  # type: ignore[attr-defined]
    session.close()
    data = path.read_bytes()
    assert name in data
    path.write_bytes(data.replace(name, damaged))
    for leftover in path.parent.glob("index.db-*"):
        leftover.unlink()
    again = open_session(project, home=home, environment={})
    again.index(verify=True)
    assert again.search("load_user").hits
    again.close()


def test_F6_damage_that_the_check_of_sqlite_passes_is_mended_by_the_run_that_meets_it(
    session: Session, project: Path, home: Path
) -> None:
    assert session.project is not None
    path = session.project.folder / "index.db"
    session.close()
    connection = apsw.Connection(str(path))
    named = "select type, name, tbl_name, rootpage, sql from sqlite_master where name = 'document_by_content'"
    row = connection.execute(named).fetchall()[0]
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("pragma writable_schema = on; delete from sqlite_master where name = 'document_by_content'")
    connection.close()
    connection = apsw.Connection(str(path))  # an index it does not know of is not kept up
    connection.execute("update document set content_id = content_id + 1, size = 0, digest = x''")
    connection.execute("pragma writable_schema = on")
    connection.execute("insert into sqlite_master values (?, ?, ?, ?, ?)", row)
    connection.close()
    assert apsw.Connection(str(path)).execute("pragma quick_check").fetchall() == [("ok",)]
    again = open_session(project, home=home, environment={})
    again.index(verify=True)
    assert again.search("load_user").hits
    again.close()


def test_F6_documents_ahead_of_their_workspace_are_made_again(session: Session, project: Path, home: Path) -> None:
    """One flipped bit in the row of the workspace: every document is known, and none is seen."""
    assert session.project is not None
    path = session.project.folder / "index.db"
    session.close()
    connection = apsw.Connection(str(path))
    connection.execute("update workspace set workspace_id = workspace_id + 64")
    connection.close()
    again = open_session(project, home=home, environment={})
    again.index(verify=True)
    assert again.search("load_user").hits
    again.close()
