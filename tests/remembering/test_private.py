"""What is private stays so when it is shared, and after it was changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.conftest import Run


def _reader(session: Session, name: str, *, private: bool = False) -> Session:
    return replace(open_session(session.root(), home=session.home.path, reader=name), private=private)


def _ids(session: Session) -> set[str]:
    listed = {one.id for one in session.memories.all()}
    found = {hit.chunk.uri.removeprefix("memory:") for hit in session.recall("every morning", min_score=0.0).hits}
    assert listed == found
    return listed


def test_a_shared_memory_keeps_the_private_topic_of_its_author(session: Session, contextd: Callable[..., Run]) -> None:
    contextd("topics", "private", "Health")
    ana = _reader(session, "ana", private=True)
    ana.memories.add_topic("Medicine", "Health")
    pill = ana.remember("I take warfarin every morning", topics=["Medicine"], principals=["bo"]).memory.id
    bread = ana.remember("I like warm bread every morning", topics=["Food"], principals=["bo"]).memory.id
    assert _ids(_reader(session, "bo", private=True)) == {pill, bread}
    assert _ids(_reader(session, "bo")) == _ids(_reader(session, "ana")) == {bread}
    ana.memories.rename_topic("Health", "Body")
    assert _ids(_reader(session, "bo")) == {bread}, "a new name of the author does not open it"


def test_the_topics_of_one_person_hide_nothing_that_others_wrote(session: Session, contextd: Callable[..., Run]) -> None:
    contextd("topics", "private", "Health")
    bo = _reader(session, "bo")
    ride = bo.remember("I ride to work every morning", topics=["Sport"]).memory.id
    ana = _reader(session, "ana", private=True)
    ana.memories.add_topic("Sport", "Health")
    assert _ids(bo) == {ride} and "Sport" in {topic.name for topic in bo.memories.topics()}


def test_older_versions_show_only_what_the_reader_might_have_read(session: Session, contextd: Callable[..., Run]) -> None:
    contextd("topics", "private", "Health")
    ana = _reader(session, "ana", private=True)
    ana.memories.add_topic("Medicine", "Health")
    told = ana.remember("I take 5 mg of warfarin", private=True).memory.id
    ana.memories.update(told, text="I take 4 mg of warfarin", private=False, topics=["Medicine"])
    ana.memories.rename_topic("Medicine", "Pills")
    ana.memories.update(told, text="I take the blue medicine", topics=["Food"])
    ana.memories.update(told, text="I take a medicine", principals=["bo"])

    def texts(reader: Session) -> list[str]:
        return [one.before.text for one in reader.memories.history(told)]

    assert texts(ana) == ["I take the blue medicine", "I take 4 mg of warfarin", "I take 5 mg of warfarin"]
    assert texts(_reader(session, "ana")) == ["I take the blue medicine"]
    assert texts(_reader(session, "bo", private=True)) == texts(_reader(session, "bo")) == []
