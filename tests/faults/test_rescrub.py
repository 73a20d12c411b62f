"""S-4, S-8: a record of an older version is scrubbed again; every field of a memory is scrubbed on every way in."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.conftest import Run
from tests.privacy.test_planted import ITEMS
from tests.stored import stored

SECRETS = [base64.b64decode(value) for value in json.loads((ITEMS / "record-of-0.1.json").read_text()).values()]


@pytest.fixture
def old_home(home: Path) -> Path:
    """A data directory written by version 0.1, which stored what its rules did not know."""
    (home / "record.db").write_bytes(gzip.decompress((ITEMS / "record-of-0.1.db.gz").read_bytes()))
    return home


def test_S4_the_first_run_after_an_upgrade_erases_what_older_rules_missed(old_home: Path, contextd: Callable[..., Run]) -> None:
    before = stored(old_home)
    assert all(secret in before for secret in SECRETS) and len(SECRETS) == 19
    run = contextd("memories", "--json", cwd=old_home)
    assert run.code == 0 and "secrets that an older version had stored were removed" in run.err
    after = stored(old_home)
    assert not [secret for secret in SECRETS if secret in after]
    assert not list(old_home.glob("*.before-migration*"))
    assert "removed" not in contextd("memories", "--json", cwd=old_home).err, "once"


def test_S4_ids_marks_links_and_answers_survive(old_home: Path) -> None:
    session = open_session(None, home=old_home, environment={})
    memories = {one.text: one for one in session.memories.all()}
    (pass_,) = [one for text, one in memories.items() if "staging database" in text]
    assert set(pass_.verified) >= {"kind", "value"} and "[REDACTED]" in pass_.text
    (link,) = session.memories.links(pass_.id)
    assert link[1].pinned and "[REDACTED]" in link[0].kind
    assert len(memories) == 11
    assert (
        session.recall("what is the build server called", min_score=0).hits[0].chunk.text == "The build server is called falcon"
    )
    assert any("psql" in version.before.text for one in memories.values() for version in session.memories.history(one.id))
    found = session.search("how do I deploy", min_score=0).hits
    assert any(hit.chunk.kind == "chat_message" and hit.chunk.text.strip() == "how do I deploy" for hit in found)
    uris = {one.uri for one in session.chats().all()}
    assert "chat:team/plain#1" in uris and any(
        re.fullmatch(r"chat:team/deploy password=\[REDACTED\]-\w{8}#1", uri) for uri in uris
    )
    session.close()


def test_S4_an_index_is_scrubbed_again_by_its_next_run(make_project: Callable[..., Path], home: Path) -> None:
    """As if the rules had been older when the text was stored: the content and its recipe are those of such a run."""
    from contextd.stores.sqlite.database import packed

    root = make_project({"src/a.py": 'def connect():\n    return dial(password="Herbst-Laub-77")\n'})
    session = open_session(root, home=home, environment={})
    session.index()
    assert session.project is not None
    database, source = session.project.store.database, session.project.source.id  # type: ignore[attr-defined]
    text = (root / "src/a.py").read_text()
    database.transact(lambda connection: connection.execute("update content set text = ?", (packed(text),)))
    for table in ("document", "content", "chunk", "words", "vector", "find", "reference", "import", "definition"):
        database.transact(lambda c, table=table: c.execute(f"update {table} set content_id = content_id + 1"))  # type: ignore[misc]
    database.transact(lambda c: c.execute("update setting set value = 'older' where name = ?", (f"recipe {source}",)))
    assert b"Herbst-Laub-77" in stored(home)
    session.index()
    session.close()
    assert b"Herbst-Laub-77" not in stored(home)


FIELDS = ("text", "kind", "about", "attribute", "value", "unit", "conversation", "topics")


@pytest.mark.parametrize("field", FIELDS)
def test_S8_every_field_of_a_memory_is_scrubbed_on_every_way_in(home: Path, tmp_path: Path, field: str) -> None:
    secret = "Nordwind-4711-See"
    planted = f"password={secret}"
    session = open_session(None, home=home, environment={})
    given = {field: [planted] if field == "topics" else planted}
    told = session.remember(given.pop("text", "the boat is in the harbor"), **given).memory
    other = session.remember("the boat is painted blue").memory
    session.memories.update(other.id, **{field: [planted] if field == "topics" else planted})
    session.memories.update(other.id, text="the boat is painted green")
    session.memories.link(told.id, other.id, planted)
    session.memories.add_topic(planted)
    session.memories.rename_topic(
        "Travel" if "Travel" in {t.name for t in session.memories.topics()} else session.memories.topics()[0].name,
        f"x {planted}",
    )
    whole = portability.exported(session)
    session.close()
    assert secret.encode() not in stored(home)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "models").symlink_to(home / "models")
    target = open_session(None, home=elsewhere, environment={})
    forged = json.loads(json.dumps(whole).replace("[REDACTED]", secret))
    assert secret in json.dumps(forged)
    portability.imported(target, json.dumps(forged))
    assert len(target.memories.all()) == 2
    target.close()
    assert secret.encode() not in stored(elsewhere)


def test_S8_a_value_is_judged_by_the_attribute_it_is_of(home: Path) -> None:
    session: Session = open_session(None, home=home, environment={})
    memory = session.remember("the router in the attic", attribute="wifi_password", value="Herbst2024").memory
    assert memory.value == "[REDACTED]" and memory.attribute == "wifi_password"
    assert session.remember("size", attribute="shoe_size", value="42").memory.value == "42"


def test_S4_a_pushed_document_is_scrubbed_again(home: Path) -> None:
    """As if the rules had been older when it was pushed: the user's own pattern is added afterwards."""
    session = open_session(None, home=home, environment={})
    session.documents().add("notes/ref zx-81-quark.md", "The badge of Ana has the number zx-81-quark on it.")
    session.close()
    assert b"zx-81-quark" in stored(home)
    (home / "config.toml").write_text('[context.security]\nsecret_patterns = ["zx-[0-9]+-[a-z]+"]\n')
    again = open_session(None, home=home, environment={})
    assert any("secrets" in warning for warning in again.warnings)
    (left,) = again.documents().all()
    assert "REDACTED" in left.path
    assert again.search("badge of Ana", min_score=0).hits[0].chunk.text.startswith("The badge of Ana")
    again.close()
    assert b"zx-81-quark" not in stored(home)
