"""Exports come back without loss; the later write wins; what was forgotten stays so; nothing strange gets in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.app.portability import as_gems, exported, imported
from contextd.app.session import Session
from contextd.errors import InvalidInput
from tests.conftest import Run

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def person(home: Path) -> Session:
    session = open_session(None, home=home, environment={})
    first = session.remember("Budget for shoes: max 150€", topics=["Fashion"], said=1_600_000_000_000_000).memory
    session.memories.update(first.id, text="Budget for shoes: max 160€")
    second = session.remember("I run in the park", pinned=True, private=True).memory
    session.memories.link(first.id, second.id, "explains")
    session.memories.add_topic("Sailing", "Leisure")
    session.forget(session.remember("a thing to be forgotten").memory.id)
    return session


@pytest.fixture
def elsewhere(tmp_path: Path, home: Path) -> Session:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "models").symlink_to(home / "models")
    return open_session(None, home=other, environment={})


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("lines", [True, False])
def test_an_export_comes_back_without_loss(person: Session, elsewhere: Session, vectors: bool, lines: bool) -> None:
    whole = portability.exported(person, vectors=vectors)
    data = "\n".join(portability.as_lines(whole)) if lines else json.dumps(whole)
    assert portability.imported(elsewhere, data, dry_run=True).counts["memories"] == 2 and not elsewhere.memories.all()
    done = portability.imported(elsewhere, data)
    assert done.counts["added"] == 2 and not done.problems
    again = portability.exported(elsewhere, vectors=vectors)
    for name in ("memories", "topics", "tombstones"):
        assert again[name] == whole[name]
    assert [(one["start"], one["end"], one["kind"]) for one in again["links"]] == [
        (one["start"], one["end"], one["kind"]) for one in whole["links"]
    ]
    assert elsewhere.recall("what may shoes cost", min_score=0).hits[0].chunk.text == "Budget for shoes: max 160€"
    assert portability.imported(elsewhere, data).counts["known"] == 2, "twice is once"


def test_the_later_write_wins_and_the_next_one_is_later_still(person: Session, elsewhere: Session) -> None:
    portability.imported(elsewhere, json.dumps(portability.exported(person)))
    (run,) = [one for one in elsewhere.memories.all() if "park" in one.text]
    elsewhere.memories.update(run.id, text="I run at the lake")
    assert elsewhere.memories.get(run.id).clock > run.clock
    done = portability.imported(person, json.dumps(portability.exported(elsewhere)))
    assert done.counts["changed"] == 1 and person.memories.get(run.id).text == "I run at the lake"
    done = portability.imported(elsewhere, json.dumps(portability.exported(person)))
    assert done.counts["changed"] == 0


def test_F17_what_was_forgotten_on_one_side_is_forgotten_on_the_other(person: Session, elsewhere: Session) -> None:
    before = json.dumps(portability.exported(person))
    portability.imported(elsewhere, before)
    (run,) = [one for one in person.memories.all() if "park" in one.text]
    person.forget(run.id)
    assert portability.imported(person, before).counts["forgotten"] == 1, "a backup does not bring it back"
    assert portability.imported(elsewhere, json.dumps(portability.exported(person))).counts["buried"] == 1
    assert run.id not in {one.id for one in elsewhere.memories.all()}


def test_F13_only_known_fields_of_the_right_shape_are_read(person: Session, elsewhere: Session) -> None:
    whole = portability.exported(person)
    good, evil = whole["memories"]
    for change in (
        {"id": "../../record.db"},
        {"clock": "x' or 1"},
        {"pinned": "yes"},
        {"topics": [1]},
        {"principals": None},
        {"author": "somebody else"},
        {"in": "project"},
    ):
        data = json.dumps({**whole, "memories": [good, {**evil, **change}], "tombstones": [], "links": [{"in": 3}]})
        done = portability.imported(elsewhere, data)
        assert len(done.problems) == 1 and len(elsewhere.memories.all()) == 1
    for data in ('{"contextd": {"format": 99}}', '{"a": 1}', "[{]", '{"text": 1}\nnot json'):
        with pytest.raises(InvalidInput):
            portability.imported(elsewhere, data)


def test_other_files_are_told_anew(elsewhere: Session) -> None:
    gems = {"version": "2.0", "gems": [{"id": "pref_001", "value": "Budget for shoes: max 150€", "collections": ["Fashion"],
            "semanticType": "constraint", "timestamp": 1699564700}], "settings": {}}  # fmt: skip
    assert portability.imported(elsewhere, json.dumps(gems)).counts["added"] == 1
    (budget,) = elsewhere.memories.all()
    assert budget.topics == ("Fashion",) and budget.said == 1_699_564_700_000_000 and budget.source == "import"
    notes = "# Notes\n\n- I like tea #Taste\n- the vet is on Main Street\n"
    assert portability.imported(elsewhere, notes, source="import:notes.md").counts["added"] == 2
    assert portability.imported(elsewhere, notes).counts["known"] == 2
    assert (
        portability.imported(elsewhere, '{"text": "we meet at noon"}\n{"text": "we meet at ten", "kind": "fact"}').counts[
            "added"
        ]
        == 2
    )
    assert {one.text for one in elsewhere.memories.all()} >= {"I like tea", "we meet at ten"}


def test_many_at_once_get_their_deep_vectors_afterwards(elsewhere: Session) -> None:
    notes = "\n".join(f"- visitor {number} saw a heron by the lake" for number in range(60))
    assert portability.imported(elsewhere, notes).counts["added"] == 60
    assert all(one.enriched < 0 for one in elsewhere.memories.all())
    elsewhere.memories.enrich()
    ids = [one.id for one in elsewhere.memories.all() if one.enriched > 0]
    held = elsewhere.home.record.memories.vectors(elsewhere.home.personal, ids)
    assert len(ids) == 60 and all(any(space.startswith("deep/") for space in held[one]) for one in ids)


def test_markdown_is_for_people_and_can_be_read_back(person: Session, elsewhere: Session) -> None:
    text = portability.as_markdown(portability.exported(person))
    assert "- Budget for shoes: max 160€ #Fashion <!--" in text and "forgotten" not in text
    assert "park" not in text, "what is private stays here"
    assert portability.imported(elsewhere, text).counts["added"] == 1
    (budget,) = [one for one in person.memories.all() if "Budget" in one.text]
    person.forget(budget.id)
    assert portability.imported(person, text).counts["forgotten"] == 1 and len(person.memories.all()) == 1
    assert replace(elsewhere.memories.all()[0]).source == "import"


def test_lists_of_every_kind_are_read_and_prose_is_not(person: Session) -> None:
    portability.imported(person, "# Me\n\n1. I like tea\n2) I like rye bread\n+ I like rain\n")
    assert {"I like tea", "I like rye bread", "I like rain"} < {one.text for one in person.memories.all()}
    with pytest.raises(InvalidInput, match="is not a list"):
        portability.imported(person, "First line\n" + "word " * 200)
    with pytest.raises(InvalidInput, match="invalid time"):
        portability.imported(person, '[{"text": "I like fog", "said": "soon"}]')
    whole = json.dumps(portability.exported(person), indent=1)
    with pytest.raises(InvalidInput, match="is incomplete"):
        portability.imported(person, whole[: len(whole) // 2])


def test_an_export_can_be_read_by_its_owner_alone(person: Session, contextd: Callable[..., Run], tmp_path: Path) -> None:
    person.close()
    for arguments in (("memories", "export"), ("chats", "export")):
        target = tmp_path / f"{arguments[0]}.json"
        assert contextd(*arguments, str(target)).code == 0
        assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return 1\n",
        "import os\n\nprint(os.name)\n",
        "Dear all,\n\nthis is a letter. It says nothing.\n\nRegards\n",
        "name,age,city\nAnn,33,Rome\nBob,44,Bonn\n",
        "2024-05-01 10:00:00 started\n2024-05-01 10:00:01 stopped\n",
        "<html>\n<body>Hello</body>\n</html>\n",
        "# Tool\n\nA tool for all.\nIt does everything.\nInstall it so:\n\n- with pip\n\nThen run it.\nDone.\n",
    ],
)
def test_what_is_plainly_no_list_is_refused_with_a_remedy(person: Session, text: str) -> None:
    before = person.memories.all()
    with pytest.raises(InvalidInput, match="not a list"):
        portability.imported(person, text)
    assert person.memories.all() == before


def test_the_command_refuses_a_program_and_takes_a_list(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    (tmp_path / "a.txt").write_text("def f():\n    return 1\n")
    for command in (("import",), ("memories", "import")):
        run = contextd(*command, str(tmp_path / "a.txt"))
        assert run.code == 2 and "start each line with `- `" in run.err
    (tmp_path / "facts.txt").write_text("I live in Rome\nMy shoe size is 42\nI drink tea, never coffee; it keeps me awake\n")
    assert "3 memories added" in contextd("import", str(tmp_path / "facts.txt")).out


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 12, b"PK\x03\x04" + b"\x00\x01" * 40, b"\xff\xfe\xfa\xfb\n" * 30],
    ids=["all bytes", "zip", "no UTF-8"],
)
def test_a_binary_file_became_memories(person: Session, data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not text"):
        portability.imported(person, data)
    assert len(person.memories.all()) == 2, "as before"
    assert portability.imported(person, "- I like café crème\n".encode()).counts["added"] == 1


GEMS = {
    "gems": [
        {
            "id": "pref_001", "value": "Budget for shoes: max 150€", "collections": ["Fashion"],
            "subCollections": ["fashion_shopping"], "timestamp": 1731200000, "semanticType": "constraint",
            "attribute": "budget_shoes", "attributeValue": "150", "attributeUnit": "€",
        },
        {"id": "pref_002", "value": "I like tea", "collections": ["Food"]},
    ]
}  # fmt: skip


def test_a_backup_with_gems_keeps_ids_and_collections_and_can_be_written(tmp_path: Path) -> None:
    session = open_session(None, home=tmp_path / "home")
    assert imported(session, json.dumps(GEMS)).counts["added"] == 2
    parents = {topic.name: topic.parent for topic in session.memories.topics()}
    assert parents["fashion_shopping"] == "Fashion"
    written = as_gems(exported(session))
    budget, tea = sorted(written["gems"], key=lambda gem: gem["value"])
    assert (budget["collections"], budget["subCollections"]) == (["Fashion"], ["fashion_shopping"])
    assert (budget["semanticType"], budget["attributeUnit"], budget["timestamp"]) == ("constraint", "€", 1731200000)
    assert {"name": "fashion_shopping", "parent": "Fashion"} in written["categories"]
    other = open_session(None, home=tmp_path / "other")
    imported(other, json.dumps(written))
    assert {gem["id"] for gem in as_gems(exported(other))["gems"]} == {budget["id"], tea["id"]}


def test_a_gem_is_imported_once_and_stays_forgotten(tmp_path: Path) -> None:
    session = open_session(None, home=tmp_path / "home")
    imported(session, json.dumps(GEMS))
    assert imported(session, json.dumps(GEMS)).counts["known"] == 2
    tea = next(one for one in session.memories.all() if one.text == "I like tea")
    session.forget(tea.id)
    by_id = {"gems": {gem["id"]: gem for gem in GEMS["gems"]}}
    imported(session, json.dumps(by_id))
    assert [one.text for one in session.memories.all()] == ["Budget for shoes: max 150€"]


def test_an_import_brings_back_no_fact_that_was_replaced(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    session.remember("I live in Bremen")
    session.remember("I moved to Hamburg in March")
    imported(session, "# About me\n\n- I live in Bremen\n- I like rye bread\n")
    now = {one.text for one in session.memories.all() if one.valid_to is None}
    assert now == {"I moved to Hamburg in March", "I like rye bread"}
    session.remember("I live in Bremen")
    assert "I live in Bremen" in {one.text for one in session.memories.all() if one.valid_to is None}, "the person moved back"
    session.close()
