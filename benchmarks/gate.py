"""Nothing else: how many questions that a project cannot answer get a context, and what `Hit.score` means.

`python -m benchmarks.gate` asks the questions of the code benchmark and those answered by lines of their own repository and of
a few others, and questions about other people's lives (LoCoMo) of any. Parts of the repositories are projects, too: some of
their files, chosen at random, among them some that answer. It fits whether a question is about a project
(`querying/calibrate.py`) on four fifths of the repositories and judges on the rest: neither the repository nor, for its own
questions, the question was seen. The bias is chosen on the four fifths too, as the largest loss of lines allows. What is
special about small projects cannot be fitted on these questions, which use the words of the code: `--small` judges four small
projects with plain questions (`small.json`, by another hand); the first two were used to choose the weight.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.data import BENCH, REPOS, Repository, linked_home, repositories
from benchmarks.lines import asked, shown_in
from contextd.app.line_answers import BUDGETS, Required, share
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.querying import calibrate, pipeline
from contextd.querying.boost import boost
from contextd.querying.fuse import KEPT, fuse
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.values.trace import Trace

Float = NDArray[np.float64]
SMALL = Path(__file__).parent / "small.json"
FOLDS = 5
L2 = 3.0
THRESHOLD = 0.3
LOSS = 0.005  # of the lines that answer
_NAMES = ("best", "strength", "near")
_PARTS = (12, 40)  # files of a small project
_OTHERS = {"code": 3, "answers": 4}  # repositories that a question is asked of beside its own
_LIVES = 420
_WEIGHTS = {
    ("code", True): 300, ("code", False): 300, ("answers", True): 150, ("answers", False): 150, ("lives", False): 100,
    ("small", True): 300, ("small", False): 300,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A question asked of a repository."""

    kind: str
    home: str  # the repository it is about; empty for none
    target: str
    told: Mapping[str, float]
    score: float  # of the first hit
    right: bool  # whether the first file is one that answers
    lines: float = 0.0  # the share of its lines in contexts, with every question let through

    @property
    def own(self) -> bool:
        """Whether the question is about this repository."""
        return self.home == self.target


def ask(session: Session, text: str) -> tuple[Mapping[str, float], float, str]:
    """What tells whether a question is about a project; the score and the file of the first hit."""
    query = query_of(session, text, None, None)
    means = resources_of(session, query)
    with ExitStack() as stack:
        plan = understand(query)
        views = [view for view in pipeline.views_of(query, plan, means, stack, Trace(None)) if view.size]
        view = next(view for view in views if "stem" in view.fields)
        vectors = vectors_of(views, plan, means.embedders, Trace(None))
        retrieved = retrieve(view, plan, {space: vector for space, vector in vectors.items() if view.spaces.get(space)}, {})
        fused = fuse(retrieved, plan.route, most=KEPT)
        if not fused:
            return dict.fromkeys((*_NAMES, "small"), -10.0), 0.0, ""
        if retrieved.strength is None:  # a look-up, which always passes
            return dict.fromkeys((*_NAMES, "small"), 10.0), 1.0, ""
        about = view.about([one.chunk for one in fused])
        known = {one.chunk: where for one, where in zip(fused, about, strict=True)}
        placed, _, _ = pipeline._open_files(view, boost(fused, about, plan), known, retrieved, plan, Trace(None))
        told = calibrate.evidence(placed, calibrate.WordEvidence(retrieved.strength, view.size))
    hits = session.search(text, k=1, min_score=0.0).hits
    return told, hits[0].score if hits else 0.0, hits[0].chunk.uri if hits else ""


@contextmanager
def open_to_all() -> Iterator[None]:
    """Every question passes for one about the project, for a while."""
    before = calibrate.ABOUT_STATIC["bias"]
    calibrate.ABOUT_STATIC["bias"] = 1e9
    try:
        yield
    finally:
        calibrate.ABOUT_STATIC["bias"] = before


def lines_of(session: Session, text: str, needed: Required) -> float:
    """The mean share over all budgets of the lines that answer."""
    with open_to_all():
        texts = [session.context(text, budget=budget).text for budget in BUDGETS]
    return float(np.mean([share(needed, shown_in(one)) for one in texts]))


def pairs() -> list[Pair]:
    """All questions, each of its own repository and of some others."""
    chance, found = random.Random(4), []
    flags = {"embedding.deep_model": "none"}
    some = list(repositories())
    code = {one.name: contextd.open(one.root, home=linked_home(), flags=flags) for one in some}
    by_lines = asked()
    whole = {
        name: contextd.open(REPOS / name, home=linked_home("answers"), flags=flags)
        for name in dict.fromkeys(one.repository for one in by_lines)
    }
    for session in (*code.values(), *whole.values()):
        session.index(deep=False)
    for repository in some:
        for question in repository.questions:
            files = {target.path for target in (*question.relevant, *question.secondary)}
            for target in _targets(repository.name, code, _OTHERS["code"], chance):
                told, score, first = ask(code[target], question.query)
                found.append(Pair("code", repository.name, target, told, score, target == repository.name and first in files))
    for one in by_lines:
        files = {line.path for need in one.alternatives for line in need}
        for target in _targets(one.repository, whole, _OTHERS["answers"], chance):
            told, score, first = ask(whole[target], one.query)
            own = target == one.repository
            lines = lines_of(whole[target], one.query, one.alternatives) if own else 0.0
            found.append(Pair("answers", one.repository, target, told, score, own and first in files, lines))
    found += _small(some, chance)
    for text in _lives(chance):
        target = chance.choice(list(code))
        told, score, _ = ask(code[target], text)
        found.append(Pair("lives", "", target, told, score, False))
    return found


def _small(some: Sequence[Repository], chance: random.Random) -> list[Pair]:
    """Questions asked of a part of their repository, and of parts of others."""
    found, flags = [], {"embedding.deep_model": "none"}
    with TemporaryDirectory() as folder:
        parts: dict[str, tuple[Session, set[str]]] = {}
        for one, count in ((one, count) for one in some for count in _PARTS):
            root = Path(folder) / f"{one.name}-{count}"
            kept = _part(one, root, count, chance)
            parts[root.name] = contextd.open(root, home=linked_home("small"), flags=flags), kept
            parts[root.name][0].index(deep=False)
        for one in some:
            for question in one.questions:
                files = {target.path for target in (*question.relevant, *question.secondary)}
                own = [name for name, (_, kept) in parts.items() if name.rpartition("-")[0] == one.name and files & kept]
                others = chance.sample([name for name in parts if name.rpartition("-")[0] != one.name], 2)
                for name in (*own, *others):
                    told, score, first = ask(parts[name][0], question.query)
                    home = name if name in own else one.name
                    found.append(Pair("small", home, name, told, score, name in own and first in files))
        for session, _ in parts.values():
            session.close()
    return found


def _part(one: Repository, root: Path, count: int, chance: random.Random) -> set[str]:
    """Copy some files of a repository: of those that answer, and of the others. Returns their paths."""
    answers = sorted({target.path for question in one.questions for target in question.relevant})
    files = sorted(path.relative_to(one.root).as_posix() for path in one.root.rglob("*") if path.is_file())
    chosen = set(chance.sample([path for path in answers if path in set(files)], min(len(answers), count // 2)))
    chosen |= set(chance.sample(files, min(len(files), count - len(chosen))))
    for path in chosen:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one.root / path, root / path)
    return chosen


def _targets(home: str, sessions: Mapping[str, Session], others: int, chance: random.Random) -> list[str]:
    return [home, *chance.sample([name for name in sessions if name != home], others)]


def _lives(chance: random.Random) -> list[str]:
    talks = json.loads((BENCH / "locomo" / "locomo_dev5.json").read_text())
    questions = [one["question"] for talk in talks for one in talk["qa"] if one.get("category") != 5]
    return chance.sample(questions, min(_LIVES, len(questions)))


def small_projects() -> None:
    """Count the plain questions to small projects that get an answer and a right file, and those about other software."""
    for one in json.loads(SMALL.read_text("utf-8"))["projects"]:
        with TemporaryDirectory() as folder:
            for path, text in one["files"].items():
                (target := Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, "utf-8")
            session = contextd.open(folder, home=linked_home("small"), flags={"embedding.deep_model": "none"})
            session.index(deep=False)
            found = [
                ({hit.chunk.uri for hit in session.search(asked["text"]).hits}, asked["files"]) for asked in one["questions"]
            ]
            others = sum(bool(session.search(text).hits) for text in one["other"])
        answered, right = sum(bool(uris) for uris, _ in found), sum(bool(uris & set(files)) for uris, files in found)
        own = f"{answered} of {len(found)} answered, {right} with a right file"
        print(f"{one['name']}: {own}; of others {others} of {len(one['other'])}")


def fit(some: Sequence[Pair]) -> tuple[Float, float]:
    """Weights and bias of a logistic regression, by Newton's method; each kind of question has its share."""
    some = [one for one in some if one.told["best"] < 10]  # without look-ups
    rows = _rows(some)
    target = np.array([one.own for one in some], float)
    sizes = {key: sum((one.kind, one.own) == key for one in some) for key in _WEIGHTS}
    weight = np.array([_WEIGHTS[one.kind, one.own] / sizes[one.kind, one.own] for one in some])
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    columns = np.c_[np.ones(len(rows)), (rows - mean) / spread]
    values, penalty = np.zeros(columns.shape[1]), np.diag([1e-6] + [L2] * rows.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-np.clip(columns @ values, -30, 30)))
        gradient = columns.T @ (weight * (target - likely)) - penalty @ values
        curve = (columns * (weight * likely * (1 - likely))[:, None]).T @ columns + penalty
        values = values + np.linalg.solve(curve, gradient)
    return values[1:] / spread, float(values[0] - (values[1:] / spread) @ mean)


def _rows(some: Sequence[Pair]) -> Float:
    return np.array([[max(one.told[name], 0.0) if name == "near" else one.told[name] for name in _NAMES] for one in some])


def passing(some: Sequence[Pair], scores: Float, loss: float) -> float:
    """The largest score that a question may be required to have, for that loss of the lines that answer."""
    own = sorted(
        (score, one.lines) for one, score in zip(some, scores.tolist(), strict=True) if one.kind == "answers" and one.own
    )
    lost = 0.0
    for score, lines in own:
        lost += lines / len(own)
        if lost > loss:
            return score
    return own[-1][0]


def passes(told: Mapping[str, float]) -> bool:
    """Whether a question gets a context as the product is."""
    return min(told["best"], calibrate.about(told)) >= np.log(THRESHOLD / (1 - THRESHOLD))


def out_of_fold(some: Sequence[Pair], loss: float, margin: float) -> NDArray[np.bool_]:
    """Which questions pass by weights and a bias that never saw the repository they are asked of."""
    names = sorted({_repository(one.target) for one in some})
    kept = np.zeros(len(some), bool)
    for fold in range(FOLDS):
        held = set(names[fold::FOLDS])
        seen = [one for one in some if _repository(one.target) not in held and _repository(one.home) not in held]
        weights, bias = fit(seen)
        least = passing(seen, _rows(seen) @ weights + bias, loss) - margin
        for place, one in enumerate(some):
            if _repository(one.target) in held:
                kept[place] = float(_rows([one])[0] @ weights + bias) >= least
    return kept


def _repository(name: str) -> str:
    """The repository that a project is, or is a part of."""
    return re.sub(r"-\d+$", "", name)


def report(some: Sequence[Pair], kept: NDArray[np.bool_], label: str) -> None:
    """The shares of questions that get a context, and the lines that are lost."""
    shares = []
    for kind, own in _WEIGHTS:
        group = [passes for one, passes in zip(some, kept.tolist(), strict=True) if (one.kind, one.own) == (kind, own)]
        shares.append(f"{kind} {'own' if own else 'other'} {np.mean(group):.3f}")
    own = [(one.lines, passes) for one, passes in zip(some, kept.tolist(), strict=True) if one.kind == "answers" and one.own]
    lost = sum(lines for lines, passes in own if not passes) / len(own)
    print(f"{label}: {', '.join(shares)}; lines lost {100 * lost:.2f} points")


def tenths(some: Sequence[Pair], label: str) -> None:
    """The share of right first files by tenth of the score."""
    cells = []
    for tenth in range(10):
        group = [one.right for one in some if tenth <= min(10 * one.score, 9.99) < tenth + 1]
        cells.append(f".{tenth} {np.mean(group):.2f} ({len(group)})" if group else f".{tenth} -")
    print(f"right first files by tenth of score, {label}: {', '.join(cells)}")


def main() -> None:
    if "--small" in sys.argv:
        small_projects()
        return
    some = pairs()
    report(some, np.array([passes(one.told) for one in some]), "as shipped")
    for loss, margin in ((0.0, 0.45), (0.0, 0.0), (LOSS, 0.0), (2 * LOSS, 0.0), (4 * LOSS, 0.0)):
        kept = out_of_fold(some, loss, margin)
        report(some, kept, f"out of fold, {100 * loss:g} points of lines lost where it is fitted, {margin:g} below that")
    weights, bias = fit(some)
    least = passing(some, _rows(some) @ weights + bias, LOSS)
    print(
        "all:",
        dict(zip(_NAMES, weights.round(2).tolist(), strict=True)),
        "bias",
        round(bias - least - np.log(1 / THRESHOLD - 1), 2),
    )
    tenths(some, "all questions")
    tenths([one for one in some if one.own], "questions of the repository")


if __name__ == "__main__":
    main()
