"""Measure retrieval on questions with known answers: NDCG, recall, MRR, and recall within token budgets.

Questions with the lines that answer them are measured by `line_answers.py`. Gain is binary, over relevant and secondary files
alike. A file counts once, at its first hit. Recall within a budget means that any relevant file is in the context of that
size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextd.app.line_answers import LineQuestion, line_question
from contextd.errors import InvalidInput, NotFound
from contextd.values.answer import Hit

DEPTH = 10
BUDGETS = (500, 1000, 2000)

_FORMS = (
    'a line is {"query": "…", "relevant": ["path"]} or '
    '{"query": "…", "answer": [[{"path": "…", "start_line": 1, "end_line": 9}]]}'
)


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """A file, or lines of it."""

    path: str
    start_line: int = 0
    end_line: int = 0

    def met_by(self, hit: Hit) -> bool:
        """Return whether a hit is in this file and, if lines are given, overlaps them."""
        if hit.chunk.uri != self.path:
            return False
        return not self.end_line or (hit.chunk.start_line <= self.end_line and hit.chunk.end_line >= self.start_line)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where its answers are."""

    query: str
    relevant: tuple[ExpectedFile, ...]
    secondary: tuple[ExpectedFile, ...]
    category: str


@dataclass(slots=True)
class Score:
    """The scores of one question."""

    query: str
    category: str
    ndcg: float
    recall: float
    reciprocal: float
    within: dict[int, bool] = field(default_factory=dict)


def read_questions(path: Path) -> tuple[list[Question], list[LineQuestion]]:
    """Read questions from JSON lines: those answered by files, and those answered by lines. Raises InvalidInput."""
    files: list[Question] = []
    lines: list[LineQuestion] = []
    try:
        rows = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise NotFound(f"no such file: {path}") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: {error}") from None
    for number, row in enumerate(rows, 1):
        if row.strip():
            try:
                entry = json.loads(row)
                if "answer" in entry:
                    lines.append(line_question(entry))
                else:
                    files.append(question(entry))
            except json.JSONDecodeError as error:
                raise InvalidInput(f"{path}, line {number}: invalid JSON ({error.msg}); {_FORMS}") from None
            except ValueError as error:
                raise InvalidInput(f"{path}, line {number}: invalid question ({error}); {_FORMS}") from None
            except (KeyError, TypeError, AttributeError):
                raise InvalidInput(f"{path}, line {number}: invalid question; {_FORMS}") from None
    if not files and not lines:
        raise InvalidInput(f"{path} contains no questions; {_FORMS}")
    return files, lines


def question(entry: dict[str, Any]) -> Question:
    """Parse a question from JSON."""
    if not isinstance(entry["query"], str) or not entry["relevant"]:
        raise ValueError("a query and at least one relevant path are required")
    targets = [tuple(_target(one) for one in entry.get(name) or ()) for name in ("relevant", "secondary")]
    return Question(entry["query"], targets[0], targets[1], str(entry.get("category", "")))


def _target(entry: Any) -> ExpectedFile:
    if isinstance(entry, str):
        return ExpectedFile(entry)
    return ExpectedFile(str(entry["path"]), int(entry.get("start_line", 0)), int(entry.get("end_line", 0)))


def score(
    one: Question, hits: Sequence[Hit], contexts: Callable[[int], Iterable[Hit]], budgets: Sequence[int] = BUDGETS
) -> Score:
    """Score the answer to one question."""
    targets = (*one.relevant, *one.secondary)
    met: set[ExpectedFile] = set()
    gains: list[int] = []
    for group in _by_file(hits)[:DEPTH]:
        fresh = {target for target in targets if target not in met and any(target.met_by(hit) for hit in group)}
        gains.append(1 if fresh else 0)
        met |= fresh
    within = {size: any(t.met_by(hit) for hit in contexts(size) for t in one.relevant) for size in budgets}
    first = next((place for place, gain in enumerate(gains, 1) if gain), 0)
    return Score(
        one.query,
        one.category,
        _ndcg(gains, len(targets)),
        len(met) / len(targets),
        1 / first if first else 0.0,
        within,
    )


def _by_file(hits: Sequence[Hit]) -> list[list[Hit]]:
    files: dict[str, list[Hit]] = {}
    for hit in hits:
        files.setdefault(hit.chunk.uri, []).append(hit)
    return list(files.values())


def _ndcg(gains: Sequence[int], relevant: int) -> float:
    best = sum(1 / math.log2(place + 1) for place in range(1, min(relevant, DEPTH) + 1))
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1)) / best if best else 0.0


def means(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Return averages over all questions and by category."""
    groups: dict[str, list[Score]] = {"all": list(scores)}
    for one in scores:
        if one.category:
            groups.setdefault(one.category, []).append(one)
    return {name: _means(ones) for name, ones in groups.items()}


def _means(scores: Sequence[Score]) -> dict[str, float]:
    count = len(scores)
    averages = {
        "questions": float(count),
        f"ndcg@{DEPTH}": sum(one.ndcg for one in scores) / count,
        f"recall@{DEPTH}": sum(one.recall for one in scores) / count,
        "mrr": sum(one.reciprocal for one in scores) / count,
    }
    for size in scores[0].within:
        averages[f"within {size} tokens"] = sum(one.within[size] for one in scores) / count
    return averages
