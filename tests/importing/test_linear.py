"""I-15: the time of an import grows with its messages, not with their square."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session, read_export
from contextd.sources.exports import read
from contextd.values.conversation import Conversation
from tests.faults.test_sweeps import keep
from tests.importing.test_exports import lines, node

START = 1_683_554_160


def chatgpt(path: Path, count: int, *, current: bool = True, branches: int = 0) -> Path:
    """One conversation; of the branches that were left, each begins at another message and has two."""
    nodes: dict[str, Any] = {}
    for number in range(count):
        above = f"m{number - 1}" if number else None
        nodes[f"m{number}"] = node(f"m{number}", above, "user", f"message {number} about sailing", START + number)
    for number in range(branches):
        nodes[f"b{number}"] = node(f"b{number}", f"m{count - 1 - number}", "user", f"branch {number}", START + number)
        nodes[f"c{number}"] = node(f"c{number}", f"b{number}", "assistant", f"answer {number}", START + number)
    entry = {"conversation_id": "x", "title": "T", "mapping": nodes, "current_node": f"m{count - 1}" if current else None}
    path.write_text(json.dumps([entry]))
    return path


def days(path: Path, count: int) -> Path:
    """A message a day: each is a sitting."""
    return lines(path, [{"speaker": "Ann", "text": f"message {n}", "at": START + n * 86_400} for n in range(count)])


def cpu(work: Callable[[], object]) -> float:
    """The processor time of this process and of those it waited for."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


READS: dict[str, Callable[[Path, int], Path]] = {
    "no current message": lambda path, count: chatgpt(path / "conversations.json", count, current=False),
    "branches": lambda path, count: chatgpt(path / "conversations.json", count // 3, branches=count // 3),
}


@pytest.mark.parametrize("shape", READS)
def test_I15_reading_a_tree_is_linear(tmp_path: Path, shape: str) -> None:
    """Eight times as many messages; quadratic code took 50 to 80 times as long. 20 leaves room for a busy machine."""
    found: list[object] = []

    def spent(count: int) -> float:
        path = READS[shape](tmp_path, count)
        found.clear()
        seconds = cpu(lambda: found.extend(read(path, "chatgpt")))
        assert sum(len(one.messages) for one in found if isinstance(one, Conversation)) == count
        return seconds

    assert any(spent(16_800) <= 20 * max(spent(2_100), 0.01) for _ in range(2))


@pytest.mark.parametrize("shape", ["one sitting", "a sitting a day"])
def test_I15_importing_is_linear(tmp_path: Path, home: Path, shape: str) -> None:
    """Twice as many messages; quadratic code takes four times as long. One of some tries counts: machines are busy."""

    def spent(count: int) -> float:
        person = open_session(None, home=home, environment={})
        path = (
            days(tmp_path / f"{count}.jsonl", count)
            if shape == "a sitting a day"
            else chatgpt(tmp_path / f"{count}.json", count)
        )
        kind = "jsonl" if path.suffix == ".jsonl" else "chatgpt"
        seconds = cpu(lambda: person.chats().take(read_export(str(path), kind)))
        person.close()
        for old in home.glob("record.db*"):
            old.unlink()
        return seconds

    spent(300)  # loads models
    assert any(spent(3_000) <= 2.5 * spent(1_500) for _ in range(4))


def slowness() -> float:
    """How many times slower this machine is now than one that adds ten million numbers in half a second; at least 1."""
    return max(1.0, cpu(lambda: sum(number for number in range(10_000_000))) / 0.5)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_I15_a_conversation_of_100_000_messages(tmp_path: Path, home: Path) -> None:
    figures = {}
    for name, path in {
        "one sitting": chatgpt(tmp_path / "one.json", 100_000),
        "no current message": chatgpt(tmp_path / "none.json", 100_000, current=False),
        "a third in branches": chatgpt(tmp_path / "branches.json", 33_334, branches=33_333),
        "a sitting a day": days(tmp_path / "days.jsonl", 100_000),
    }.items():
        for old in home.glob("record.db*"):
            old.unlink()
        person = open_session(None, home=home, environment={})
        kind, began = "jsonl" if path.suffix == ".jsonl" else "chatgpt", time.monotonic()
        slow = slowness()
        figures[name] = round(cpu(lambda: person.chats().take(read_export(str(path), kind))), 1)  # noqa: B023 - called at once
        slow = max(slow, slowness())
        figures[f"{name} by slowness"] = round(figures[name] / slow, 1)
        assert figures[name] <= 60 * slow, (name, figures[name], slow, time.monotonic() - began)
    keep(
        "I-15 CPU seconds to import 100,000 messages of one conversation",
        **{name.replace(" ", "_"): n for name, n in figures.items()},
    )
