"""What enrichment is worth: whether the block that an upstream gets holds what a question needs, and nothing else.

`python -m benchmarks.worth FOLDER [ITEMS]`: questions about a made-up person and a real project (pallets/click, checked out in
FOLDER), written before the code by people who had not seen it. Each names the facts and the lines that answer it. Beside it:
no enrichment, and plain BM25 over the same facts and files within the same budget.

facts: share of the needed facts in the block. lines: share of the needed lines. clean: share of the shown facts that are
needed. quiet: share of the questions about nothing that get no fact and no line.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.bm25 import Bm25
from benchmarks.data import linked_home
from contextd.app.assemble import open_session
from contextd.app.enriching import Enrichment
from contextd.app.session import Session
from contextd.settings.defaults import Proxy
from contextd.surfaces.proxy.messages import read
from contextd.text.json_spans import edited

ITEMS = Path(__file__).parent.parent / "tests" / "proxy" / "items" / "worth.json"
_BUDGETS = (500, 1000, 2000, 4000)
_POSITIONS = ("end_of_user", "end_of_system", "start_of_system")


@dataclass(frozen=True)
class Fact:
    """A fact of the person, and its statement as blocks have it: an attribute with its value."""

    text: str
    attribute: str
    value: str

    def is_in(self, text: str) -> bool:
        """Whether a text says it, in full or as a statement (which may have several values)."""
        if " ".join(self.text.split()) in " ".join(text.split()):
            return True
        stated = [line for line in text.splitlines() if line.startswith(f"- @{self.attribute} ")]
        return bool(self.attribute and self.value) and any(self.value in line for line in stated)


@dataclass
class Tally:
    """Sums over the questions."""

    facts: float = 0.0
    of_facts: int = 0
    lines: float = 0.0
    of_lines: int = 0
    shown: int = 0
    needed: int = 0
    quiet: int = 0
    of_quiet: int = 0
    tokens: int = 0

    def add(self, question: dict[str, Any], texts: Sequence[Fact], text: str, files: dict[str, list[str]], tokens: int) -> None:
        """Judge the text of one block."""
        self.tokens += tokens
        there = [number for number, fact in enumerate(texts) if fact.is_in(text)]
        if question["facts"]:
            self.of_facts += 1
            self.facts += len(set(there) & set(question["facts"])) / len(question["facts"])
        wanted = [line for part in question["files"] for line in files[part["path"]][part["lines"][0] - 1 : part["lines"][1]]]
        wanted = [line.strip() for line in wanted if len(line.strip()) > 3]
        if wanted:
            self.of_lines += 1
            self.lines += sum(line in text for line in wanted) / len(wanted)
        self.shown += len(there)
        self.needed += len(set(there) & set(question["facts"]))
        if question["about"] == "nothing":
            self.of_quiet += 1
            self.quiet += not there and "```" not in text

    def row(self, name: str, count: int) -> str:
        """One line of the table."""
        clean = f"{self.needed / self.shown:.2f}" if self.shown else "   -"
        parts = (
            f"{self.facts / self.of_facts:.2f}",
            f"{self.lines / self.of_lines:.2f}",
            clean,
            f"{self.quiet / self.of_quiet:.2f}",
        )
        return f"{name:32} {'   '.join(parts)}   {self.tokens / count:6.0f}"


def sent(session: Session, question: str, settings: Proxy) -> str:
    """The request that the upstream gets."""
    work = Enrichment(lambda: session, question, (), settings, settings.budget, time.monotonic() + 30)
    work.run()
    body = json.dumps(
        {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": question}]}
    )
    edit = read(body, is_responses=False).with_block(work.found.text, settings.position) if work.found.text else None
    after = json.loads(edited(body, [edit] if edit is not None else []))
    return "\n".join(one["content"] for one in after["messages"]).replace(question, "", 1)


def plain(session: Session, facts: Sequence[str], chunks: Sequence[tuple[str, str]]) -> Callable[[str, int], str]:
    """Plain BM25 over facts and chunks of files, best first, until the budget is used up."""
    texts = [*facts, *(f"```\n{path}\n{text}\n```" for path, text in chunks)]
    index = Bm25({str(number): text for number, text in enumerate(texts)})

    def answer(question: str, budget: int) -> str:
        found, used = list[str](), 0
        for number in map(int, index.search(question, 50)):
            cost = session.count_tokens(texts[number])
            if used + cost > budget:
                break
            found.append(texts[number])
            used += cost
        return "\n".join(found)

    return answer


def main() -> None:
    if len(sys.argv) < 2:
        print("skipped: name the folder of pallets/click")
        return
    folder, items = Path(sys.argv[1]), json.loads(Path(sys.argv[2] if len(sys.argv) > 2 else ITEMS).read_text())
    facts, questions = items["person"]["facts"], items["questions"]
    session = replace(open_session(folder, home=linked_home("worth")), private=False)
    session.index(deep=True)
    if not session.memories.all():
        for fact in facts:
            session.remember(fact)
    kept = {one.text: one for one in session.memories.all()}
    known = [Fact(text, kept[text].attribute or "", kept[text].value or "") for text in facts]
    paths = {part["path"] for one in questions for part in one["files"]}
    files = {path: (folder / path).read_text().splitlines() for path in paths}
    project = session.known()
    rows = project.store.documents(project.source.id).values()
    chunks = [(one.uri, text) for one in rows for text in _pieces((folder / one.uri).read_text("utf-8", "replace"))]
    print(f"{len(questions)} questions, {len(facts)} facts\n{'':32} facts  lines  clean  quiet   tokens")
    lexical = plain(session, facts, chunks)

    def judged(name: str, answer: Callable[[str], str]) -> None:
        tally = Tally()
        for one in questions:
            text = answer(one["text"])
            tally.add(one, known, text, files, session.count_tokens(text))
        print(tally.row(name, len(questions)), flush=True)

    judged("no enrichment", lambda question: "")
    for budget in _BUDGETS:
        judged(f"BM25, {budget} tokens", lambda question, budget=budget: lexical(question, budget))  # type: ignore[misc]
    for position in _POSITIONS:
        for budget in _BUDGETS if position == _POSITIONS[0] else (4000,):
            settings = Proxy(position=position, budget=budget)
            judged(f"{position}, {budget} tokens", lambda question, settings=settings: sent(session, question, settings))  # type: ignore[misc]


def _pieces(text: str, size: int = 40) -> list[str]:
    lines = text.splitlines()
    return ["\n".join(lines[at : at + size]) for at in range(0, len(lines), size)]


if __name__ == "__main__":
    main()
