"""Long chats of two people with questions and the turns that answer them: LoCoMo and REALTALK, in one shape."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from benchmarks.data import BENCH
from contextd.chunking.chat import cut_chat, sittings
from contextd.chunking.cut import Limits
from contextd.values.conversation import Conversation, Message

_TURN = re.compile(r"D\d+:\d+")
_CAPTION = "blip_caption"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its category (1 several places, 2 time, 3 common sense, 4 one place) and the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Talk:
    """All that two people wrote to each other: `turns` are the messages by the names the questions use."""

    name: str
    conversations: list[Conversation]
    turns: dict[str, Message]
    questions: list[Asked]

    def places(self, count: Callable[[str], int]) -> dict[tuple[str, int], str]:
        """Names of turns by the uri of the chat session and the chunk in it, as the importer cuts them."""
        names = {id(message): name for name, message in self.turns.items()}
        found = {}
        for conversation in self.conversations:
            for number, sitting in enumerate(sittings(conversation.messages), 1):
                starts = list(accumulate((len(message.text.strip("\n")) + 1 for message in sitting), initial=0))
                _, pieces = cut_chat(sitting, conversation.title, Limits().prose, count)
                for ordinal, piece in enumerate(pieces):
                    message = sitting[bisect_right(starts, piece.start) - 1]
                    found[f"chat:{conversation.place}#{number}", ordinal] = names[id(message)]
        return found


def locomo() -> Iterator[Talk]:
    """The conversations of the development half. All turns of a session have its time."""
    for sample in json.loads((BENCH / "locomo" / "locomo_dev5.json").read_text()):
        told, turns, conversations = sample["conversation"], dict[str, Message](), []
        for name in sorted((name for name in told if re.fullmatch(r"session_\d+", name)), key=lambda name: int(name[8:])):
            at = _microseconds(told[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
            messages = [Message(turn["speaker"], _told(turn, "text"), at) for turn in told[name]]
            turns |= {turn["dia_id"]: message for turn, message in zip(told[name], messages, strict=True)}
            conversations.append(Conversation(f"locomo/{sample['sample_id']}/{name[8:]}", "", messages))
        yield Talk(sample["sample_id"], conversations, turns, list(_questions(sample["qa"], turns)))


def realtalk() -> Iterator[Talk]:
    """Real chats of three weeks: one conversation each, every message with its own time, as a messenger exports it."""
    for path in sorted((BENCH / "realtalk").glob("chat_*.json")):
        sample = json.loads(path.read_text())
        written = [turn for name, session in sample.items() if name.startswith("session_") for turn in session]
        turns = {
            turn["dia_id"]: Message(
                turn["speaker"], _told(turn, "clean_text"), _microseconds(turn["date_time"], "%d.%m.%Y, %H:%M:%S")
            )
            for turn in written
        }
        yield Talk(
            path.stem,
            [Conversation(f"realtalk/{path.stem}", "", list(turns.values()))],
            turns,
            list(_questions(sample["qa"], turns)),
        )


def _questions(asked: list[dict[str, Any]], turns: Collection[str]) -> Iterator[Asked]:
    """The questions of categories 1 to 4 that have evidence among the turns; some of it is not in the data."""
    for one in asked:
        evidence = frozenset(turn for text in one.get("evidence", []) for turn in _TURN.findall(text)) & set(turns)
        if one["category"] in (1, 2, 3, 4) and evidence:
            yield Asked(one["question"], one["category"], evidence)


def _told(turn: dict[str, Any], key: str) -> str:
    """A photo is told by its caption."""
    return f"{turn[key]} [shares {turn[_CAPTION]}]" if turn.get(_CAPTION) else str(turn[key])


def _microseconds(text: str, form: str) -> int:
    return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() * 1e6)
