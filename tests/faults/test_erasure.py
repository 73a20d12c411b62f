"""Text that is no longer in the project, or was forgotten, is no longer in any file: raw bytes and compressed texts are searched."""

from __future__ import annotations

import random
import re
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.ports.store import Batch
from contextd.stores.sqlite.database import Database
from contextd.values.conversation import Note
from tests.conftest import Run
from tests.stores.shelf import HELD
from tests.waiting import until

_HEADER = re.compile(rb"\x78[\x01\x5e\x9c\xda]")


def texts_in(data: bytes) -> Iterable[bytes]:
    """The bytes themselves, and what every zlib stream at any offset holds, as far as it can be read."""
    yield data.lower()
    for match in _HEADER.finditer(data):
        try:
            yield zlib.decompressobj().decompress(data[match.start() :], 1 << 20).lower()
        except zlib.error:
            continue


def left_in(folder: Path, canaries: Collection[str]) -> dict[str, str]:
    """The canaries that are somewhere in the files of a folder, with the file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "models" not in path.parts:
            for text in texts_in(path.read_bytes()):
                found |= {canary: path.name for canary in canaries if canary.encode() in text}
    return found


def words(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(16)) for _ in range(count)]


def page(canary: str, size: int, chance: random.Random) -> str:
    """A file that holds a canary as a name, a heading, an import and in its text; `size` more lines cannot be compressed well."""
    noise = "\n".join(f"    x{n} = '{chance.randbytes(24).hex()}'" for n in range(size))
    return f'"""About {canary}."""\n\nimport {canary}\n\n\nclass {canary.title()}:\n    """{canary}"""\n\n{noise}\n\ndef {canary}():\n    return "{canary}"\n'


def canary_project(make_project: Callable[..., Path], canaries: list[str]) -> Path:
    """Canaries of all sizes among files that stay."""
    chance = random.Random(5)
    files = {f"src/c{n}.py": page(canary, chance.choice((0, 0, 5, 60)), chance) for n, canary in enumerate(canaries)}
    files |= {f"src/stay{n}.py": page(word, chance.choice((0, 5, 20)), chance) for n, word in enumerate(words(100, 8))}
    return make_project(files | {"docs/a.md": "# A\n\nText.\n"})


def folder_of(session: Session) -> Path:
    assert session.project is not None
    return session.project.folder


def take_out(root: Path, some: range, chance: random.Random) -> None:
    """Delete every second file and replace the text of the others."""
    for number in some:
        path = root / f"src/c{number}.py"
        path.unlink() if number % 2 else path.write_text(page("replaced", chance.choice((0, 30)), chance))


def test_F17_the_search_finds_what_is_there(make_project: Callable[..., Path], home: Path) -> None:
    """Or the tests below prove nothing."""
    canaries = words(100, 7)
    session = open_session(canary_project(make_project, canaries), home=home, environment={})
    session.index()
    assert len(left_in(folder_of(session), canaries)) == 100
    session.close()


def test_F17_text_of_deleted_and_edited_files_is_gone_after_the_next_run(make_project: Callable[..., Path], home: Path) -> None:
    canaries, chance = words(100, 7), random.Random(6)
    root = canary_project(make_project, canaries)
    session = open_session(root, home=home, environment={})
    session.index()
    for some in (range(37), range(37, 64), range(64, 100)):
        take_out(root, some, chance)
        session.index()
        assert left_in(folder_of(session), canaries[: some.stop]) == {}, "while the process runs"
    assert session.search("stay", min_score=0).hits
    session.close()
    assert left_in(home, canaries) == {}, "and after it"


def test_F17_names_and_errors_of_deleted_files_are_gone_from_failures_logs_and_reports(session: Session, project: Path) -> None:
    canary = words(1, 3)[0]
    assert session.project is not None
    store = session.project.store
    for name, where in ((f"src/{canary}.py", "a.py"), (f"src/{canary}: odd.py", "b.py")):
        (project / "src" / where).write_text("x = 1\n")
        store.notes.note_error(name, f"a line with {canary} cannot be read")
        job = store.jobs.add("index", "owner", (), {})
        store.jobs.lease(job.id)
        store.jobs.log(job.id, f"failed: {name}: {canary}")
        store.jobs.finish(job.id, "completed", "", {"failed": {name: canary}, "warnings": [f"{name}: {canary}"]})
    assert canary in left_in(folder_of(session), [canary])
    session.index()
    assert store.notes.failures() == []
    assert left_in(folder_of(session), [canary]) == {}


def test_F17_a_run_that_was_killed_before_it_wiped_is_made_up_for(
    make_project: Callable[..., Path], home: Path, contextd: Callable[..., Run]
) -> None:
    canaries = words(30, 9)
    root = canary_project(make_project, canaries)
    session = open_session(root, home=home, environment={})
    session.index()
    take_out(root, range(30), random.Random(6))
    assert session.project is not None
    known = session.project.store.documents(session.project.source.id)
    session.project.store.apply(Batch(removed=[known[f"src/c{n}.py"].id for n in range(30)]), HELD)
    session.project.store.settle(HELD, vacuum=False)  # and here its process dies
    session.close()
    assert left_in(home, canaries), "it is left in pages that are free"
    assert contextd("index", "-p", str(root)).code == 0
    assert left_in(home, canaries) == {}


def test_F17_text_of_a_deleted_file_is_gone_after_the_scan_of_a_watch(make_project: Callable[..., Path], home: Path) -> None:
    canaries = words(20, 10)
    root = canary_project(make_project, canaries)
    session = open_session(root, home=home, environment={})
    session.index()
    over = threading.Event()
    watching = threading.Thread(target=lambda: session.watch(over.is_set, lambda _: None))
    take_out(root, range(20), random.Random(6))
    watching.start()
    try:
        until(lambda: not left_in(folder_of(session), canaries))
    finally:
        over.set()
        watching.join()


def hexadecimal_in(folder: Path) -> set[str]:
    data = b"".join(path.read_bytes() for path in folder.iterdir())
    return {found.decode() for found in re.findall(rb"(?=([0-9a-f]{16}))", data)}


def many(database: Database, query: str, values: list[tuple[Any, ...]]) -> None:
    database.transact(lambda connection: connection.executemany(query, values))


def test_F17_no_copy_of_a_deleted_row_stays_in_a_page_from_which_it_moved(tmp_path: Path) -> None:
    """`secure_delete` wipes a row where it is, not where it was before its page was split."""
    database = Database(tmp_path / "record.db", durable=True, schemas=("index", "record"))
    chance = random.Random(4)
    living: dict[int, str] = {}
    dead: set[str] = set()
    for _ in range(6):
        added = {chance.getrandbits(60): chance.randbytes(8).hex() for _ in range(1500)}
        gone = chance.sample(sorted(living), len(living) // 3)
        rows = [(7, key, n, word + "x" * chance.randint(1, 150)) for key, word in added.items() for n in range(3)]
        many(database, "insert into chunk values (?, ?, ?, 'code', ?, '[]', '[]', 1, 2, 0, 1, 1)", rows)
        many(database, "delete from chunk where workspace_id = 7 and content_id = ?", [(key,) for key in gone])
        dead |= {living.pop(key) for key in gone}
        living |= added
    assert database.checkpoint()
    assert hexadecimal_in(tmp_path) & dead, "or this test proves nothing"
    assert database.wipe()
    assert not hexadecimal_in(tmp_path) & dead and hexadecimal_in(tmp_path) >= set(living.values())
    database.close()


@contextmanager
def reader_of(session: Session) -> Iterator[None]:
    """A thread of this process that reads meanwhile."""
    begun, over = threading.Event(), threading.Event()

    def read() -> None:
        database = session.home.record.database  # type: ignore[attr-defined]
        with database.reading() as connection:
            connection.execute("select count(*) from content").fetchall()
            begun.set()
            over.wait(60)
        database.close()

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait(60)
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_F22_forget_while_a_thread_reads_is_finished_by_the_process_itself(home: Path) -> None:
    canaries = words(2, 11)
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    memories = [session.remember(f"the word is {canary}").memory for canary in canaries]
    with reader_of(session):
        assert session.forget(memories[0].id) == "pending"
        assert session.forget(memories[1].id) == "pending"
        for number in range(3):
            session.remember(f"another fact, number {number}")
        assert set(left_in(home, canaries)) == set(canaries), "the reader still needs it"
    until(lambda: not left_in(home, canaries))
    emptying = [thread for thread in threading.enumerate() if "_keep_emptying" in thread.name]
    for thread in emptying:
        thread.join(timeout=30)
        assert not thread.is_alive(), "it ends when it is done"


def test_F22_forgetting_a_chat_while_a_thread_reads_is_finished_too(home: Path) -> None:
    canary = words(1, 12)[0]
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    session.chats().take([Note("Vault/Note.md", "Note", f"# Note\n\nThe word is {canary}.\n", 1_700_000_000_000_000)])
    with reader_of(session):
        assert session.chats().forget("note:Vault/Note.md")[1] == "pending"
    until(lambda: not left_in(home, [canary]))
