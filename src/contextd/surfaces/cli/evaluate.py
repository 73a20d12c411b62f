"""The command `eval`, which measures retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextd.surfaces.cli.show import as_json, asked, out, project_options, table
from contextd.values.usage import unrecorded

if TYPE_CHECKING:
    from contextd.app.evaluate import Question, Score
    from contextd.app.line_answers import LineQuestion, LineScore
    from contextd.app.session import Session


@click.command("eval")
@click.argument("file", type=click.Path(path_type=Path))
@project_options
@click.option("--per-query", is_flag=True, help="Also show the score of every question.")
@click.option(
    "--budgets",
    default="",
    help="Comma-separated token budgets (default: 500,1000,2000; for answers by lines also 1500 and 4000).",
)
def eval_command(file: Path, project: str, reader: str, json_output: bool, per_query: bool, budgets: str) -> int:
    """Measure retrieval quality on FILE. Each line of FILE is a question with the files or the lines that answer it.

    \b
    A question answered by files:
      {"query": "where are routes registered", "relevant": ["src/app.py"], "secondary": [], "category": "semantic"}
    \b
    A question answered by lines. Each alternative lists its required spans:
      {"query": "how is a route matched", "answer": [[{"path": "src/app.py", "start_line": 10, "end_line": 24}]]}
    \b
    Example:
      contextd eval questions.jsonl --per-query
    """
    from contextd.app import evaluate, line_answers

    by_files, by_lines = evaluate.read_questions(file)
    sizes = _sizes(budgets)
    session = asked(project, reader)
    session.known()
    files = _scored(session, by_files, sizes or evaluate.BUDGETS)
    lines = _with_lines(session, by_lines, sizes or line_answers.BUDGETS)
    if json_output:
        as_json(_files_json(files, per_query) | _lines_json(lines, per_query))
        return 0
    _show_files(files, per_query)
    if files and lines:
        out()
    _show_lines(lines, per_query)
    return 0


def _sizes(budgets: str) -> list[int]:
    from contextd.errors import InvalidInput

    try:
        sizes = [int(size) for size in budgets.split(",") if size.strip()]
    except ValueError:
        raise InvalidInput(f"invalid value for --budgets: {budgets!r} (must be comma-separated numbers)") from None
    return sorted(set(sizes))


def _scored(session: Session, questions: Sequence[Question], sizes: Sequence[int]) -> list[Score]:
    from contextd.app.evaluate import score

    scores = []
    with unrecorded():
        for one in questions:
            hits = session.search(one.query, k=60, min_score=0.0).hits
            scores.append(score(one, hits, lambda size, text=one.query: session.context(text, budget=size).hits, sizes))  # type: ignore[misc]
    return scores


def _with_lines(session: Session, questions: Sequence[LineQuestion], sizes: Sequence[int]) -> list[LineScore]:
    from contextd.app.line_answers import LineScore, required, share, shown

    text_of = lru_cache(maxsize=256)(session.structure.text)
    needed = [required(one, text_of) for one in questions]  # an invalid span is reported before anything is measured
    scores = []
    for one, need in zip(questions, needed, strict=True):
        with unrecorded():
            hits = {size: session.context(one.query, budget=size).hits for size in sizes}
        texts = {size: shown((hit.chunk.uri, hit.chunk.text) for hit in some) for size, some in hits.items()}
        scores.append(LineScore(one.query, one.category, {size: share(need, lines) for size, lines in texts.items()}))
    return scores


def _files_json(scores: Sequence[Score], per_query: bool) -> dict[str, Any]:
    from contextd.app.evaluate import means

    if not scores:
        return {}
    rows = [
        {
            "query": s.query,
            "category": s.category,
            "ndcg": s.ndcg,
            "recall": s.recall,
            "mrr": s.reciprocal,
            "within": s.within,
        }
        for s in scores
    ]
    return {"means": means(scores)} | ({"queries": rows} if per_query else {})


def _lines_json(scores: Sequence[LineScore], per_query: bool) -> dict[str, Any]:
    from contextd.app.line_answers import means

    if not scores:
        return {}
    rows = [{"query": s.query, "category": s.category, "lines": s.shares} for s in scores]
    return {"lines": means(scores)} | ({"line_queries": rows} if per_query else {})


def _show_files(scores: Sequence[Score], per_query: bool) -> None:
    from contextd.app.evaluate import means

    if not scores:
        return
    if per_query:
        table(("score", "category", "query"), [(f"{s.ndcg:.3f}", s.category, s.query) for s in scores])
        out()
    result = means(scores)
    names = list(next(iter(result.values())))
    table(
        ("category", *names),
        [
            (name, *(f"{row[one]:.3f}" if one != "questions" else f"{row[one]:.0f}" for one in names))
            for name, row in result.items()
        ],
    )


def _show_lines(scores: Sequence[LineScore], per_query: bool) -> None:
    from contextd.app.line_answers import means

    if not scores:
        return
    if per_query:
        sizes = list(scores[0].shares)
        rows = [(*(f"{s.shares[size]:.3f}" for size in sizes), s.category, s.query) for s in scores]
        table((*(f"lines in {size}" for size in sizes), "category", "query"), rows)
        out()
    table(
        ("category", "tokens", "questions", "all lines", "share of lines"),
        [
            (name, budget, f"{row['questions']:.0f}", f"{row['all_lines']:.3f}", f"{row['lines']:.3f}")
            for name, by_budget in means(scores).items()
            for budget, row in by_budget.items()
        ],
    )


def __getattr__(name: str) -> click.Command:
    if name == "eval":  # `eval` is a builtin, so the function has another name
        return eval_command
    raise AttributeError(name)


__all__ = ["eval_command"]
