"""Every field of a memory has a limit, whoever gives it; the error names the field and the limit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.values.memory import LIMITS, fault_of_memory
from tests.conftest import Run

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def person(tmp_path: Path) -> Session:
    (tmp_path / "bare").mkdir()
    return open_session(None, home=tmp_path / "bare", environment={})


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"kind": "k" * 100_000}, "kind has at most 64"),
    ({"kind": "two\nlines"}, "kind contains a line break"),
    ({"kind": 7}, "kind is a text"),
    ({"attribute": "a" * 201}, "attribute has at most 200"),
    ({"value": "v" * 2001}, "value has at most 2000"),
    ({"value": "a\x1b[2J"}, r"value contains a line break or control character: U\+001B"),
    ({"unit": "u" * 65}, "unit has at most 64"),
    ({"about": "a" * 201}, "about has at most 200"),
    ({"conversation": "c" * 201}, "conversation has at most 200"),
    ({"conversation": "c\x85d"}, r"conversation contains a line break or control character: U\+0085"),
    ({"source": "s" * 201}, "source has at most 200"),
    ({"topics": ["t" * 81]}, "1 to 80 characters"),
    ({"topics": ["a\x07b"]}, "topic contains a line break"),
    ({"topics": [f"topic {number}" for number in range(51)]}, "at most 50 topics"),
    ({"principals": ["bob\nowner"]}, "principal contains a line break"),
    ({"principals": ["bob\u2028"]}, "principal contains a line break"),
    ({"principals": [" "]}, "principal is empty"),
    ({"principals": ["b" * 201]}, "principal has at most 200"),
    ({"principals": [f"reader {number}" for number in range(101)]}, "at most 100 principals"),
    ({"said": math.nan}, "said is nan"),
    ({"said": math.inf}, "said is inf"),
    ({"said": 10**30}, "years 1 to 9999"),
    ({"said": 1_700_000_000}, "must be microseconds"),
    ({"said": "yesterday"}, "said is a number"),
    ({"valid_from": -math.inf}, "valid_from is -inf"),
    ({"valid_from": -(10**18)}, "years 1 to 9999"),
    ({"valid_to": math.nan}, "valid_to is nan"),
)


@pytest.mark.parametrize(("fields", "message"), BAD, ids=lambda value: str(value)[:30] if isinstance(value, dict) else "")
def test_a_field_beyond_its_limit_is_refused(person: Session, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        person.remember("the boat is green", **fields)
    assert not person.memories.all()
    known = person.remember("the boat is red").memory
    if "source" not in fields:
        with pytest.raises(InvalidInput, match=message):
            person.memories.update(known.id, **fields)
    assert person.memories.get(known.id) == known


def test_links_and_topics_have_limits(person: Session) -> None:
    one, other = (person.remember(text).memory.id for text in ("the boat", "the pier"))
    for kind in ("k" * 65, "lies\nat"):
        with pytest.raises(InvalidInput, match="link kind (has at most|contains a line break)"):
            person.memories.link(one, other, kind)
    for name, message in (("t" * 81, "invalid topic"), ("a\x00b", "topic contains a line break or control character")):
        with pytest.raises(InvalidInput, match=message):
            person.memories.add_topic(name)
        with pytest.raises(InvalidInput, match=message):
            person.memories.rename_topic("Work", name)


def test_what_is_within_the_limits_is_kept(person: Session) -> None:
    longest = {name: "x" * LIMITS[name] for name in ("kind", "attribute", "value", "unit", "conversation")}
    kept = person.remember("the boat is green", topics=["a" * 80], said=1_600_000_000_000_000, **longest).memory
    assert {name: getattr(kept, name) for name in longest} == longest
    again = portability.imported(person, json.dumps(portability.exported(person)))
    assert not again.problems and again.counts["known"] == 1


@pytest.mark.parametrize("text", [f"Budget for {'x' * 300}: max 150€", f"{'x' * 300}'s shoe size is 39", "Shoe size\n: 5\x1b"])
def test_a_guess_stays_within_the_limits(person: Session, text: str) -> None:
    assert not fault_of_memory(person.remember(text).memory)
    assert not portability.imported(person, json.dumps(portability.exported(person))).problems


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_first_and_the_last_time_can_be_shown_anywhere(contextd: Callable[..., Run], home: Path, zone: str) -> None:
    session = open_session(None, home=home, environment={})
    for said in (-62_135_510_400_000_000, 253_402_214_400_000_000):
        session.remember(f"herons since {said}", said=said)
    for command in (("memories", "--json"), ("search", "herons", "--json", "--min-score", "0"), ("context", "herons")):
        assert contextd(*command, TZ=zone).code == 0
    for one in session.memories.all():
        assert contextd("memories", "show", one.id, TZ=zone).code == 0
    session.close()


IMPORTED: tuple[dict[str, Any], ...] = (
    {"kind": "k" * 100_000}, {"value": "v" * 2001}, {"principals": ["owner", "bob\nana"]}, {"topics": ["a\nb"]},
    {"said": 10**40}, {"said": True}, {"confidence": math.nan}, {"useful": 10**30}, {"valid_to": 10**18}, {"source": "a\x1bb"},
    {"conversation": "c" * 300}, {"text": ""}, {"text": "x" * 100_001}, {"changed": -(10**30)}, {"replaced_by": "r" * 100},
)  # fmt: skip


@pytest.mark.parametrize("change", IMPORTED, ids=lambda change: str(change)[:30])
def test_an_import_leaves_out_what_is_beyond_the_limits_and_goes_on(
    person: Session, change: dict[str, Any], tmp_path: Path
) -> None:
    person.remember("the boat is green")
    person.remember("the boat has two oars")
    whole = portability.exported(person)
    whole["memories"][0] |= change
    (tmp_path / "other").mkdir()
    other = open_session(None, home=tmp_path / "other", environment={})
    done = portability.imported(other, json.dumps(whole))
    assert len(done.problems) == 1 and "left out" in done.problems[0] and done.counts["added"] == 1
    assert len(done.problems[0]) < 300


def test_texts_of_other_files_have_the_same_limits(person: Session) -> None:
    data = json.dumps([{"text": "I like tea", "kind": "k" * 100}, {"text": "I like rain"}])
    done = portability.imported(person, data)
    assert done.counts["added"] == 1 and "kind has at most 64" in done.problems[0]
    for said in ("NaN", "Infinity", "-Infinity", "1e400"):
        with pytest.raises(InvalidInput, match="invalid time"):
            portability.imported(person, f'[{{"text": "I like fog", "said": {said}}}]')


@pytest.mark.parametrize("said", [20_000_000, 86_400_000 * 365 * 30, 1_600_000_000, 1_600_000_000_000, 1_600_000_000_000_000])
def test_the_size_of_a_number_tells_its_unit(person: Session, said: int) -> None:
    portability.imported(person, json.dumps([{"text": "I like fog", "said": said}]))
    assert 1970 <= 1970 + person.memories.all()[0].said / 1e6 / 86_400 / 365 < 2022


def test_the_command_refuses_a_kind_of_100_kB_and_a_principal_with_a_newline(contextd: Callable[..., Run]) -> None:
    run = contextd("remember", "the boat is green", "--kind", "k" * 100_000)
    assert run.code == 2 and "kind has at most 64 characters" in run.err
    run = contextd("remember", "the boat is green", "--share-with", "bob\nowner")
    assert run.code == 2 and "principal contains a line break" in run.err
    assert contextd("remember", "the boat is green", "--as", "bob\nowner").code == 2
    assert not json.loads(contextd("memories", "--json").out)["items"]
