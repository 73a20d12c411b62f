"""Questions to chats: LoCoMo by turns and by contexts, LongMemEval by sessions.

`python -m benchmarks.chats [--deep] [--rerank]` asks every question as a user would, beside plain BM25 over turns in the same
run, and logs each, one a line, in the data directory; `--learn [--ablation]` chooses weights leaving one conversation out.
`--sessions` asks LongMemEval instead.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import BENCH, linked_home
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
_DIALOG = re.compile(r"D\d+:\d+")


@dataclass(slots=True)
class Case:
    """One question: a row of signals for each candidate turn, which of them are evidence, and how many there are in all."""

    conversation: str
    category: int
    question: str
    signals: Float
    right: NDArray[np.bool_]
    wanted: int


def locomo() -> list[dict[str, Any]]:
    """The conversations of the development half."""
    found: list[dict[str, Any]] = json.loads((BENCH / "locomo" / "locomo_dev5.json").read_text())
    return found


def conversations(sample: dict[str, Any]) -> Iterator[Conversation]:
    """The sessions of a sample, each a conversation of its own; a photo is told by its caption."""
    talk = sample["conversation"]
    for name in sorted((name for name in talk if re.fullmatch(r"session_\d+", name)), key=lambda name: int(name[8:])):
        said = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        at = int(said.timestamp() * 1e6)
        messages = [Message(turn["speaker"], _told(turn), at) for turn in talk[name]]
        yield Conversation(f"locomo/{sample['sample_id']}/{name[8:]}", "", messages)


def _told(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]" if caption else str(turn["text"])


def questions(sample: dict[str, Any]) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """The questions of categories 1 to 4 with the turns that answer them."""
    for one in sample["qa"]:
        evidence = {turn for text in one.get("evidence", []) for turn in _DIALOG.findall(text)}
        if one["category"] in (1, 2, 3, 4) and evidence:
            yield one, evidence


def opened(sample: dict[str, Any], deep: bool) -> Session:
    """A session with nothing but this conversation."""
    session = contextd.open(None, home=linked_home(f"locomo-{'deep' if deep else 'static'}-{sample['sample_id']}"))
    session.chats().take(conversations(sample))
    if deep:
        session.chats().deepen()
    return session


def turn_of(uri: str, ordinal: int) -> str:
    """`chat:locomo/conv-26/3#1` and its seventh message are D3:7."""
    return f"D{uri.split('/')[-1].split('#')[0]}:{ordinal + 1}"


def cases(deep: bool) -> tuple[list[str], list[Case]]:
    """All questions as signals of their candidates."""
    found, names = [], list[str]()
    for sample in locomo():
        session = opened(sample, deep)
        for one, evidence in questions(sample):
            case, names = _case(session, one, evidence, deep)
            case.conversation = sample["sample_id"]
            found.append(case)
        session.close()
    return names, found


def _case(session: Session, one: dict[str, Any], evidence: set[str], deep: bool) -> tuple[Case, list[str]]:
    assert session.setup.static is not None
    plan = understand(Query(one["question"], Scope((session.home.personal,), Reader("owner"))))
    embedders = [session.setup.static, *([session.setup.deep()] if deep else [])]
    vectors = {embedder.space: embedder.query(plan.text) for embedder in embedders if embedder is not None}
    vectors |= {pair_space(space): vector for space, vector in vectors.items() if space.startswith("deep/")}
    with session.home.record.chats(session.home.personal).view(plan.scope) as view:
        retrieved = retrieve(view, plan, vectors)
        uris = view.uris()
    arms, documents = normalized(retrieved)
    columns = {name: values for name, values in turns(arms, documents).items() if name not in _JUDGED}
    right = np.array([turn_of(uris[chunk.document], chunk.ordinal) in evidence for chunk in retrieved.chunks])
    signals = np.stack(list(columns.values()), 1)
    return Case("", one["category"], one["question"], signals, right, len(evidence)), list(columns)


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


def answers(deep: bool, rerank: bool) -> Iterator[Answer]:
    """Every question through the engine as a user would ask it, and through plain BM25 over turns."""
    for sample in locomo():
        session = opened(sample, deep)
        said = {
            turn["dia_id"]: (turn["speaker"], _told(turn), talk.messages[place].at)
            for number, talk in _numbered(sample)
            for place, turn in enumerate(sample["conversation"][f"session_{number}"])
        }
        lines = {name: f"{who}, {day(at)}: {text}" for name, (who, text, at) in said.items()}
        plain = Bm25({name: f"{who} {text}" for name, (who, text, _) in said.items()})
        for one, evidence in questions(sample):
            found = session.search(one["question"], k=MOST, min_score=0, rerank=rerank).hits
            hits = {turn_of(hit.chunk.uri, hit.chunk.id.ordinal) for hit in found}
            best = plain.search(one["question"], 200)
            kept = {}
            kept_bm25 = {}
            for budget in () if rerank else BUDGETS:  # reading thirty turns three times more would take the hour
                text = session.context(one["question"], budget=budget, template="chat", min_score=0, k=60).text
                kept[budget] = _share(evidence, {name for name in evidence if name in said and _head(said[name][1]) in text})
                kept_bm25[budget] = _share(evidence, _packed(best, lines, budget, session.home.tokens.count))
            shares = _share(evidence, hits), _share(evidence, set(best[:MOST]))
            yield Answer(sample["sample_id"], one["category"], one["question"], *shares, kept, kept_bm25)
        session.close()


def _numbered(sample: dict[str, Any]) -> Iterator[tuple[str, Conversation]]:
    for talk in conversations(sample):
        yield talk.place.rpartition("/")[2], talk


def _share(evidence: set[str], found: set[str]) -> float:
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


def ask(deep: bool, rerank: bool) -> None:
    """The engine as shipped, per conversation and in all; a line for each question goes into the log."""
    some = []
    log = linked_home() / f"locomo{'-deep' if deep else ''}{'-rerank' if rerank else ''}.jsonl"
    with log.open("w") as out:
        for one in answers(deep, rerank):
            some.append(one)
            out.write(json.dumps(asdict(one)) + "\n")
    for name in sorted({one.conversation for one in some}):
        print(name, told([one for one in some if one.conversation == name]))
    print(f"all, {'deep' if deep else 'static'}{', reranked' if rerank else ''}:", told(some))


def learn(deep: bool, ablation: bool) -> None:
    """Weights of the arms: the recall leaving one conversation out, those of a fit on all, what each signal is worth."""
    names, some = cases(deep)
    whole = np.ones(len(names))
    scores = left_out(some, whole)
    print(f"LoCoMo, {len(some)} questions, turn R@10 leaving one conversation out: {100 * np.mean(scores):.1f}")
    print(by_conversation(some, scores))
    print({name: round(float(weight), 2) for name, weight in zip(names, fit(some, whole), strict=True)})  # type: ignore[arg-type]
    for place, name in enumerate(names if ablation else ()):
        mask = whole.copy()
        mask[place] = 0
        print(f"  without {name}: {100 * np.mean(left_out(some, mask)):.1f}")


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
    deep = "--deep" in sys.argv
    if "--learn" in sys.argv:
        learn(deep, "--ablation" in sys.argv)
    elif "--sessions" in sys.argv:
        ask_sessions(deep, "--rerank" in sys.argv)
    else:
        ask(deep, "--rerank" in sys.argv)


if __name__ == "__main__":
    main()
