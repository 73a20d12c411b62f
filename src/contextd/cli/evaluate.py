"""The command that measures."""

from __future__ import annotations

from pathlib import Path

import click

from contextd.cli.show import as_json, asked, out, project_options, table


@click.command("eval")
@click.argument("file", type=click.Path(path_type=Path))
@project_options
@click.option("--per-query", is_flag=True, help="Also show every question.")
@click.option("--budgets", default="500,1000,2000", show_default=True, help="Token budgets, separated by commas.")
def eval_command(file: Path, project: str, reader: str, json_output: bool, per_query: bool, budgets: str) -> int:
    """Measure retrieval on FILE: one question a line, with the files that answer it.

    \b
    A line of the file:
      {"query": "where are routes registered", "relevant": ["src/app.py"], "secondary": [], "category": "semantic"}
    \b
    Example:
      contextd eval questions.jsonl --per-query
    """
    from contextd import evaluate
    from contextd.errors import InvalidInput

    questions = evaluate.read_questions(file)
    try:
        sizes = [int(size) for size in budgets.split(",") if size.strip()]
    except ValueError:
        raise InvalidInput(f"--budgets takes numbers separated by commas, not {budgets!r}") from None
    engine = asked(project, reader)
    engine.known()
    scores = []
    for one in questions:
        hits = engine.search(one.query, k=60, min_score=0.0).hits
        scores.append(evaluate.score(one, hits, lambda size, q=one.query: engine.context(q, budget=size).hits, sizes))  # type: ignore[misc]
    result = evaluate.means(scores)
    if json_output:
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
        as_json({"means": result} | ({"queries": rows} if per_query else {}))
        return 0
    if per_query:
        table(("score", "category", "query"), [(f"{s.ndcg:.3f}", s.category, s.query) for s in scores])
        out()
    names = list(next(iter(result.values())))
    table(
        ("category", *names),
        [
            (name, *(f"{row[one]:.3f}" if one != "questions" else f"{row[one]:.0f}" for one in names))
            for name, row in result.items()
        ],
    )
    return 0


def __getattr__(name: str) -> click.Command:
    if name == "eval":  # a word of Python's own, so the function has another name
        return eval_command
    raise AttributeError(name)


__all__ = ["eval_command"]
