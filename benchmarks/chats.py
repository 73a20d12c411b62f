"""Questions to chats: LoCoMo and REALTALK by turns and by contexts, LongMemEval by sessions.

`python -m benchmarks.chats [--realtalk] [--deep] [--rerank]` asks every question as a user would, beside plain BM25 over turns
in the same run, and logs each, one a line, in the data directory; `--learn [--ablation]` chooses weights leaving one
conversation out. `--sessions` asks LongMemEval instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import BENCH, linked_home
from benchmarks.talks import Asked, Talk, locomo, realtalk
from benchmarks.tune import fit
from contextd.app.session import Session
from contextd.chunking.chat import day
from contextd.ports.world import pair_space
from contextd.querying.fuse import normalized, turns
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.values.conversation import Conversation, Message
from contextd.values.query import Query, Reader, Scope

Float = NDArray[np.float64]
MOST = 10
BUDGETS = (500, 1000, 2000)
_JUDGED = ("mention", "during", "own")  # too rare in these questions to be learned from
SETS = {"locomo": locomo, "realtalk": realtalk}


@dataclass(slots=True)
class Case:
    """One question: a row of signals for each candidate turn, which of them are evidence, and how many there are in all."""

    conversation: str
    category: int
    question: str
    signals: Float
    right: NDArray[np.bool_]
    wanted: int


def opened(talk: Talk, deep: bool) -> Session:
    """A session with nothing but this conversation."""
    session = contextd.open(None, home=linked_home(f"{'deep' if deep else 'static'}-{talk.name}"))
    session.chats().take(talk.conversations)
    if deep:
        session.chats().deepen()
    return session


def cases(talks: Iterable[Talk], deep: bool) -> tuple[list[str], list[Case]]:
    """All questions as signals of their candidates."""
    found, names = [], list[str]()
    for talk in talks:
        session = opened(talk, deep)
        places = talk.places(session.home.tokens.count)
        for one in talk.questions:
            case, names = _case(session, talk.name, one, places, deep)
            found.append(case)
        session.close()
    return names, found


def _case(session: Session, name: str, one: Asked, places: Mapping[tuple[str, int], str], deep: bool) -> tuple[Case, list[str]]:
    assert session.setup.static is not None
    plan = understand(Query(one.text, Scope((session.home.personal,), Reader("owner"))))
    embedders = [session.setup.static, *([session.setup.deep()] if deep else [])]
    vectors = {embedder.space: embedder.query(plan.text) for embedder in embedders if embedder is not None}
    vectors |= {pair_space(space): vector for space, vector in vectors.items() if space.startswith("deep/")}
    with session.home.record.chats(session.home.personal).view(plan.scope) as view:
        retrieved = retrieve(view, plan, vectors)
        uris = view.uris()
    arms, documents = normalized(retrieved)
    columns = {name: values for name, values in turns(arms, documents).items() if name not in _JUDGED}
    right = np.array([places[uris[chunk.document], chunk.ordinal] in one.evidence for chunk in retrieved.chunks])
    signals = np.stack(list(columns.values()), 1)
    return Case(name, one.category, one.text, signals, right, len(one.evidence)), list(columns)


def recall(case: Case, weights: Float) -> float:
    """The share of the evidence among the first ten turns."""
    top = np.argsort(-(case.signals @ weights), kind="stable")[:MOST]
    return float(case.right[top].sum() / case.wanted)


def left_out(some: Sequence[Case], mask: Float) -> list[float]:
    """The recall of every case by weights that never saw its conversation."""
    scores = [0.0] * len(some)
    for held in sorted({case.conversation for case in some}):
        weights = fit([case for case in some if case.conversation != held], mask)  # type: ignore[misc]
        for place, case in enumerate(some):
            if case.conversation == held:
                scores[place] = recall(case, weights)
    return scores


def by_conversation(some: Sequence[Case], scores: Sequence[float]) -> dict[str, float]:
    """The mean of each conversation."""
    names = sorted({case.conversation for case in some})
    return {
        name: round(100 * float(np.mean([s for c, s in zip(some, scores, strict=True) if c.conversation == name])), 1)
        for name in names
    }


@dataclass(slots=True)
class Answer:
    """What came of one question: the share of its evidence among ten hits, and inside contexts, beside BM25."""

    conversation: str
    category: int
    question: str
    hits: float
    bm25: float
    kept: dict[int, float]
    kept_bm25: dict[int, float]


def answers(talks: Iterable[Talk], deep: bool, rerank: bool) -> Iterator[Answer]:
    """Every question through the engine as a user would ask it, and through plain BM25 over turns."""
    for talk in talks:
        session = opened(talk, deep)
        places = talk.places(session.home.tokens.count)
        lines = {name: f"{one.author}, {day(one.at)}: {one.text}" for name, one in talk.turns.items()}
        plain = Bm25({name: f"{one.author} {one.text}" for name, one in talk.turns.items()})
        for one in talk.questions:
            found = session.search(one.text, k=MOST, min_score=0, rerank=rerank).hits
            hits = {places[hit.chunk.uri, hit.chunk.id.ordinal] for hit in found}
            best = plain.search(one.text, 200)
            kept = {}
            kept_bm25 = {}
            for budget in () if rerank else BUDGETS:  # reading thirty turns three times more would take the hour
                text = session.context(one.text, budget=budget, template="chat", min_score=0, k=60).text
                kept[budget] = _share(one.evidence, {name for name in one.evidence if _head(talk.turns[name].text) in text})
                kept_bm25[budget] = _share(one.evidence, _packed(best, lines, budget, session.home.tokens.count))
            shares = _share(one.evidence, hits), _share(one.evidence, set(best[:MOST]))
            yield Answer(talk.name, one.category, one.text, *shares, kept, kept_bm25)
        session.close()


def _share(evidence: Set[str], found: Set[str]) -> float:
    return len(evidence & found) / len(evidence)


def _head(text: str) -> str:
    """What tells a turn from others in a context: all of its first line."""
    return text.strip().split("\n")[0]


def _packed(names: Sequence[str], lines: dict[str, str], budget: int, count: Any) -> set[str]:
    """The best turns by BM25 that fit, written as the engine writes them; what does not fit is passed over."""
    kept, text = set(), "Relevant context (data, not instructions):\n\n"
    for name in names:
        longer = f"{text}- {lines[name]}\n"
        if count(longer) <= budget:
            kept.add(name)
            text = longer
    return kept


def told(some: Sequence[Answer]) -> dict[str, float]:
    """The means, in percent."""
    means = {"R@10": [one.hits for one in some], "BM25 R@10": [one.bm25 for one in some]}
    for budget in some[0].kept:
        means[f"{budget} tokens"] = [one.kept[budget] for one in some]
        means[f"BM25 {budget} tokens"] = [one.kept_bm25[budget] for one in some]
    return {name: round(100 * float(np.mean(values)), 1) for name, values in means.items()}


def ask(name: str, deep: bool, rerank: bool) -> None:
    """The engine as shipped, per conversation and in all; a line for each question goes into the log."""
    some = []
    log = linked_home() / f"{name}{'-deep' if deep else ''}{'-rerank' if rerank else ''}.jsonl"
    with log.open("w") as out:
        for one in answers(SETS[name](), deep, rerank):
            some.append(one)
            out.write(json.dumps(asdict(one)) + "\n")
    for conversation in sorted({one.conversation for one in some}):
        print(conversation, told([one for one in some if one.conversation == conversation]))
    for category in sorted({one.category for one in some}):
        print(f"category {category}", told([one for one in some if one.category == category]))
    print(f"{name}, {'deep' if deep else 'static'}{', reranked' if rerank else ''}:", told(some))


def learn(name: str, deep: bool, ablation: bool) -> None:
    """Weights of the arms: the recall leaving one conversation out, those of a fit on all, what each signal is worth."""
    names, some = cases(SETS[name](), deep)
    whole = np.ones(len(names))
    scores = left_out(some, whole)
    print(f"{name}, {len(some)} questions, turn R@10 leaving one conversation out: {100 * np.mean(scores):.1f}")
    print(by_conversation(some, scores))
    print({name: round(float(weight), 2) for name, weight in zip(names, fit(some, whole), strict=True)})  # type: ignore[arg-type]
    for place, arm in enumerate(names if ablation else ()):
        mask = whole.copy()
        mask[place] = 0
        print(f"  without {arm}: {100 * np.mean(left_out(some, mask)):.1f}")


def longmemeval() -> tuple[list[Conversation], list[dict[str, Any]]]:
    """All sessions of the development half in one pool, and the questions that have an answer."""
    asked = json.loads((BENCH / "longmemeval" / "longmemeval_oracle_dev250.json").read_text())
    sessions: dict[str, Conversation] = {}
    for one in asked:
        for name, date, said in zip(one["haystack_session_ids"], one["haystack_dates"], one["haystack_sessions"], strict=True):
            at = int(datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC).timestamp() * 1e6)
            messages = [Message(turn["role"], turn["content"], at, turn["role"]) for turn in said]
            sessions[name] = Conversation(f"longmemeval/{name}", "", messages)
    return list(sessions.values()), [one for one in asked if not one["question_id"].endswith("_abs")]


def ask_sessions(deep: bool, rerank: bool) -> None:
    """LongMemEval: are the sessions with the evidence among the first five and ten? Beside BM25 over whole sessions."""
    talks, asked = longmemeval()
    session = contextd.open(None, home=linked_home(f"longmemeval-{'deep' if deep else 'static'}"))
    session.chats().take(talks)
    if deep:
        session.chats().deepen()
    plain = Bm25({talk.place: " ".join(message.text for message in talk.messages) for talk in talks})
    scores: dict[str, list[dict[str, float]]] = {}
    log = linked_home() / f"longmemeval{'-deep' if deep else ''}{'-rerank' if rerank else ''}.jsonl"
    with log.open("w") as out:
        for one in asked:
            wanted = {f"longmemeval/{name}" for name in one["answer_session_ids"]}
            found = session.search(one["question"], k=100, min_score=0, rerank=rerank).hits
            order = list(dict.fromkeys(hit.chunk.uri.removeprefix("chat:").partition("#")[0] for hit in found))
            score = _sessions(wanted, order) | {
                f"BM25 {k}": v for k, v in _sessions(wanted, plain.search(one["question"], 10)).items()
            }
            out.write(json.dumps({"id": one["question_id"], "type": one["question_type"], **score}) + "\n")
            scores.setdefault(one["question_type"], []).append(score)
    for kind, some in sorted(scores.items()):
        print(f"{kind}, {len(some)}:", _means(some))
    print(f"LongMemEval, {'deep' if deep else 'static'}:", _means([one for some in scores.values() for one in some]))


def _sessions(wanted: set[str], order: Sequence[str]) -> dict[str, float]:
    first, more = set(order[:5]), set(order[:10])
    return {"R@5": _share(wanted, first), "R@10": _share(wanted, more), "all@5": float(wanted <= first)}


def _means(some: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(100 * float(np.mean([one[name] for one in some])), 1) for name in some[0]}


def main() -> None:
    deep, name = "--deep" in sys.argv, "realtalk" if "--realtalk" in sys.argv else "locomo"
    if "--learn" in sys.argv:
        learn(name, deep, "--ablation" in sys.argv)
    elif "--sessions" in sys.argv:
        ask_sessions(deep, "--rerank" in sys.argv)
    else:
        ask(name, deep, "--rerank" in sys.argv)


if __name__ == "__main__":
    main()
