"""What is deleted or edited is gone from the interaction log, from every byte of its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import StorageError
from contextd.values.interaction import Interaction
from tests.proxy.conftest import Proxied
from tests.proxy.test_log import asked, entry

QUESTION = "How does gazelle_counter count gazelles?"
NAMED, TEXT, LABEL = "layoffs_of_march.py", "Counts gazelles GAZTEXT", "gazelle_counter"


@pytest.fixture
def here(proxied: Proxied) -> Iterator[Session]:
    proxied.configure(log_text=True)
    session = open_session(proxied.project, home=proxied.home, environment={})
    session.home.interactions.clear("owner")
    yield session
    _file(proxied).unlink(missing_ok=True)
    session.index()


def _file(proxied: Proxied) -> Path:
    return proxied.project / "src" / NAMED


def _written(proxied: Proxied, here: Session, text: str = TEXT) -> None:
    _file(proxied).write_text(f'def {LABEL}(n):\n    """{text}."""\n    return n + 1\n')
    here.index()


def _logged(proxied: Proxied) -> bytes:
    return b"".join(path.read_bytes() for path in proxied.home.glob("log.db*"))


def _left(proxied: Proxied, *texts: str) -> list[str]:
    return [text for text in texts if text.encode() in _logged(proxied)]


def test_a_deleted_file_is_gone_after_the_next_run(proxied: Proxied, here: Session) -> None:
    _written(proxied, here)
    one = asked(proxied, QUESTION)
    other = asked(proxied, "How is a user loaded by name from the database?")
    assert _left(proxied, NAMED, TEXT, LABEL) == [NAMED, TEXT, LABEL]
    _file(proxied).unlink()
    here.index()
    assert not _left(proxied, NAMED, TEXT, LABEL)
    assert entry(proxied, one.id).status == "enriched"
    after = entry(proxied, other.id)
    assert [piece.uri for piece in after.pieces] == [piece.uri for piece in other.pieces if NAMED not in piece.uri]


def test_an_edited_file_keeps_its_name_and_loses_its_text(proxied: Proxied, here: Session) -> None:
    _written(proxied, here)
    one = asked(proxied, QUESTION)
    _file(proxied).write_text('def antelope_counter(n):\n    """Counts antelopes."""\n    return n + 1\n')
    here.index()
    assert not _left(proxied, TEXT, LABEL)
    assert f"src/{NAMED}" in [piece.uri for piece in entry(proxied, one.id).pieces]


def test_a_run_that_changes_nothing_keeps_everything(proxied: Proxied, here: Session) -> None:
    _written(proxied, here)
    one = asked(proxied, QUESTION)
    _file(proxied).touch()
    here.index()
    here.rebuild()
    assert entry(proxied, one.id) == one


def test_a_run_that_could_not_change_the_log_is_made_up_for(
    proxied: Proxied, here: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    _written(proxied, here)
    asked(proxied, QUESTION)
    _file(proxied).unlink()

    def fail(*_: object) -> None:
        raise StorageError("disk full", code="storage_full")

    with monkeypatch.context() as patch:
        patch.setattr(here.home.interactions, "erase", fail)
        here.index()
    assert _left(proxied, NAMED)
    here.index()
    assert not _left(proxied, NAMED, TEXT, LABEL)


@pytest.mark.parametrize("in_project", [True, False])
def test_a_pushed_document_is_gone_when_it_is_deleted_or_replaced(proxied: Proxied, here: Session, in_project: bool) -> None:
    documents = here.documents(in_project=in_project)
    documents.add("pangolin.md", "# Handbook\n\nThe pangolin handbook says PANGDOC is the limit of pangolins per day.")
    question = "What does the pangolin handbook say about the limit of pangolins?"
    one = asked(proxied, question)
    assert "PANGDOC" in one.block
    documents.add("pangolin.md", "# Handbook\n\nThe pangolin handbook says PANGNEW is the limit of pangolins per day.")
    assert not _left(proxied, "PANGDOC") and "PANGNEW" in asked(proxied, question).block
    documents.delete("pangolin.md")
    assert not _left(proxied, "PANGDOC", "PANGNEW", "pangolin.md")


def test_documents_of_other_workspaces_stay(proxied: Proxied, here: Session) -> None:
    log = here.home.interactions
    _written(proxied, here)
    one = asked(proxied, QUESTION)
    gone = {piece.document for piece in one.pieces}
    log.erase(one.pieces[0].workspace + 1, gone)
    assert entry(proxied, one.id) == one
    fact = here.remember("My favorite gazelle is called Grevy", in_project=True).memory
    told = asked(proxied, "What is my favorite gazelle called?")
    _file(proxied).unlink()
    here.index()
    assert f"memory:{fact.id}" in [piece.uri for piece in entry(proxied, told.id).pieces]
    here.forget(fact.id)


def test_a_data_directory_without_a_log_gets_none(tmp_path: Path) -> None:
    from contextd.stores.sqlite.interactions import SqliteInteractions

    log = SqliteInteractions(tmp_path / "log.db")
    log.erase(1, [2])
    log.settle()
    assert not log.documents(1) and not (tmp_path / "log.db").exists()
    log.add(Interaction("0" * 16, 1, "owner", "bypassed", "e", "m", "u", False))
    assert not log.documents(1)


def test_a_project_that_is_removed_leaves_the_log(proxied: Proxied, here: Session, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "wombats.py").write_text('def wombat_counter(n):\n    """Counts wombats WOMTEXT."""\n    return n + 1\n')
    session = open_session(other, home=proxied.home, environment={})
    session.index()
    one = asked(proxied, "How does wombat_counter count wombats?", **{"x-contextd-project": str(other)})
    assert "WOMTEXT" in one.block and session.project is not None
    known = proxied.service.catalog.get(session.project.workspace)
    assert known is not None
    proxied.service.removed(known)
    assert not _left(proxied, "wombats.py", "wombat_counter", "WOMTEXT")
