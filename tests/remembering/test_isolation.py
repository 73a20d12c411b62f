"""C-4, C-5: nothing one person gets depends on what only another may see; a differential test over random histories."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.values.conversation import Conversation, Message
from contextd.values.memory import Recall
from contextd.values.query import Narrow

PEOPLE = ("ann", "bob", "cy")
ALONE = {"CONTEXTD_EMBEDDING__DEEP_MODEL": "none"}
WORDS = "heron lake boat budget allergy shoes Tuesday coffee 42 rent garden piano".split()


def history(chance: random.Random) -> list[tuple[str, str, frozenset[str], bool]]:
    """Who tells what to whom, and whether it is pinned."""
    return [
        (
            chance.choice(PEOPLE),
            f"{chance.choice(('I like', 'we need', 'Budget for', 'no'))} {' '.join(chance.sample(WORDS, 3))} {number}",
            frozenset(chance.sample(PEOPLE, chance.randrange(0, 3))),
            chance.random() < 0.2,
        )
        for number in range(14)
    ]


def told(home: Path, events: list[tuple[str, str, frozenset[str], bool]], reader: str = "") -> dict[str, str]:
    """Tell everything, or what one reader may see of it, and link what follows each other by one author; ids by text."""
    sessions = {name: open_session(None, home=home, reader=name, environment=ALONE) for name in PEOPLE}
    ids: dict[str, str] = {}
    last: dict[str, str] = {}
    for place, (author, text, readers, pinned) in enumerate(events):
        before, last[author] = last.get(author), text
        if reader and reader != author and reader not in readers:
            continue
        said = 1_700_000_000_000_000 + place
        memory = sessions[author].remember(text, principals=readers, pinned=pinned, said=said, topics=[f"of {author}"]).memory
        ids[text] = memory.id
        if before in ids:
            sessions[author].memories.link(memory.id, ids[before], f"after {before}")
        talk = Conversation(
            f"talk/{place}", f"about {text[-8:]}", [Message(author, f"we spoke of {text}", said), Message("bob", "yes", said)]
        )
        sessions[author].chats().take([talk], principals=readers)
    for session in sessions.values():
        session.close()
    return ids


def seen(session: Session) -> list[object]:
    """Everything one person can get."""
    found: list[object] = []
    for question in (*WORDS, "what do I need", "Budget for boat", "nothing of this"):
        for recall in (Recall(), Recall(depth=2), Recall(topics=frozenset({"of ann"}))):
            hits = session.recall(question, k=5, min_score=0, narrow=Narrow(recall=recall)).hits
            found.append([hit.chunk.text for hit in hits])
            # A product of matrices of another size may differ in the last bits.
            found.append(pytest.approx([value for hit in hits for value in (hit.score, hit.rank_score)], abs=1e-4))
    for memory in session.memories.all():
        links = session.memories.links(memory.id)
        found.append((memory.text, memory.kind, memory.topics, sorted((link.kind, other.text) for link, other in links)))
        found.append([version.before.text for version in session.memories.history(memory.id)])
    for question in ("Help me find shoes", "what may my boat cost", "plan my Tuesday at the lake", "and that one?"):
        answer = session.facets(question, min_score=0.1, history=["I want to buy coffee"])
        found.append(
            (answer.text, answer.tokens, answer.plan.facets, [hit.facet for hit in answer.hits], answer.trace.warnings)
        )
        found.append(session.context(question, min_score=0, template="chat", budget=300).text)
    for question in ("spoke of heron", "who said yes about shoes", "coffee on 14 November 2023"):
        hits = session.search(question, k=8, min_score=0).hits
        found.append([(hit.chunk.uri, hit.chunk.text) if hit.chunk.uri.startswith("chat:") else hit.chunk.text for hit in hits])
        found.append(pytest.approx([hit.score for hit in hits], abs=1e-4))
    found += [[(one.uri, one.title) for one in session.chats().all()]]
    found += [session.memories.quality(), [topic.name for topic in session.memories.topics()]]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_C4_what_only_others_may_see_changes_nothing(home: Path, tmp_path: Path, seed: int) -> None:
    events = history(random.Random(seed))
    ids = told(home, events)
    for person in PEOPLE:
        alone = tmp_path / f"alone-{person}"
        alone.mkdir()
        (alone / "models").symlink_to(home / "models")
        told(alone, events, person)
        whole = open_session(None, home=home, reader=person, environment=ALONE)
        restricted = open_session(None, home=alone, reader=person, environment=ALONE)
        for here, there in zip(seen(whole), seen(restricted), strict=True):
            assert getattr(here, "expected", here) == there
        for author, text, readers, _ in events:
            if person != author and person not in readers:
                with pytest.raises(InvalidInput) as hidden:
                    whole.memories.get(ids[text])
                with pytest.raises(InvalidInput) as missing:
                    whole.memories.get("0123456789abcdef0123456789abcdef")
                assert str(hidden.value).replace(ids[text], "x") == str(missing.value).replace("0123456789abcdef" * 2, "x")
