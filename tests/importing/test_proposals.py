"""Memories proposed from imported chats: off by default, from the user's words alone, and saved after a yes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.proposals import ProposalService, propose_from_chats
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.surfaces.cli import main
from contextd.values.conversation import Conversation, Message, Note

MARCH = 1_710_000_000_000_000  # 2024, in microseconds
TALK = Conversation(
    "chatgpt/1",
    "Moving",
    [
        Message("me", "By the way, I moved to Porto last week.", MARCH, "user"),
        Message("ChatGPT", "I am your assistant. I prefer tea. You are allergic to cats.", MARCH, "assistant"),
        Message("me", "I have been diagnosed with depression and I take pills.", MARCH, "user"),
        Message("me", "How do I sort a list?", MARCH, "user"),
    ],
)
AMONG_PEOPLE = Conversation(
    "jsonl/2", "", [Message("Ana", "I am learning the harp.", MARCH), Message("Ben", "I like tea.", MARCH)]
)
NOTE = Note("vault/a.md", "Page", "I am building a boat.", MARCH)


@pytest.fixture
def session(home: Path) -> Session:
    session = open_session(None, home=home, environment={})
    session.chats().take([TALK, AMONG_PEOPLE, NOTE])
    return session


def proposing(session: Session) -> Session:
    settings = session.settings
    return replace(session, setup=replace(session.setup, settings=replace(settings, llm=replace(settings.llm, proposals=True))))


def waiting(session: Session) -> list[str]:
    return [one.text for one in ProposalService(session).waiting()]


def test_nothing_is_proposed_until_it_is_switched_on(session: Session) -> None:
    with pytest.raises(InvalidInput, match=r"llm\.proposals"):
        propose_from_chats(session)
    assert waiting(session) == []


def test_only_what_the_user_said_to_an_assistant_is_proposed(session: Session) -> None:
    """Not the words of an assistant, of people whose role nobody knows, of notes, or about private matters."""
    assert propose_from_chats(proposing(session)) == 3
    assert waiting(session) == ["I moved to Porto last week."] and session.memories.all() == []
    propose_from_chats(proposing(session))  # the same is proposed once
    (one,) = ProposalService(session).waiting()
    saved = ProposalService(session).accept(one.id).memory
    assert (saved.text, saved.said) == ("I moved to Porto last week.", MARCH)
    propose_from_chats(proposing(session))
    assert waiting(session) == []


def test_another_reader_gets_no_proposal(session: Session, home: Path) -> None:
    other = open_session(None, home=home, environment={}, reader="ana")
    assert propose_from_chats(proposing(other)) == 0 and waiting(other) == []


def test_a_forgotten_chat_takes_its_proposals_along(session: Session, home: Path) -> None:
    propose_from_chats(proposing(session))
    session.chats().forget("chat:chatgpt/1")
    assert waiting(session) == []
    assert not [path for path in home.glob("log.db*") if b"Porto" in path.read_bytes()]


def test_the_command_finds_them(
    session: Session, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    talk = home.parent / "talk.jsonl"
    lines = [{"conversation": "c", "role": "user", "author": "me", "text": "I am saving for a greenhouse."}]
    talk.write_text("\n".join(map(json.dumps, lines)))

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    assert run("proposals", "find")[0] != 0
    run("config", "set", "llm.proposals", "true")
    assert "proposals find" in run("import", str(talk))[1]
    assert run("proposals", "find") == (0, "4 messages read; 2 proposals wait for you\n")
    assert "greenhouse" in run("proposals")[1]
