"""The command that answers a question from memories, by facets."""

from __future__ import annotations

from typing import Any

import click

from contextd.surfaces.cli.show import (
    around,
    as_json,
    block,
    note,
    personal_options,
    query_from,
    served,
    served_options,
    table,
    warn,
)


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-b", "--budget", type=int, default=500, show_default=True, help="Maximum number of tokens.")
@click.option("--count", type=int, default=5, show_default=True, help="Number of facets (3 to 7).")
@click.option(
    "--facet", "own", multiple=True, metavar="NAME: QUESTION", help="Use this facet instead of the built-in facets. Repeatable."
)
@click.option(
    "--min-score",
    type=float,
    default=0.0,
    show_default=True,
    help="Minimum relevance of a memory (0 to 1). The number of memories already decides how relevant one must be.",
)
@click.option(
    "--after", "history", multiple=True, metavar="TEXT", help="Earlier message that the query follows up on. Repeatable."
)
@click.option("--explain", is_flag=True, help="Show the facets with their weights and the score of each memory.")
@served_options
@personal_options("Also search the memories of this project (default: the current project, if it is known).")
def facets(
    query: tuple[str, ...], budget: int, count: int, own: tuple[str, ...], min_score: float, history: tuple[str, ...],
    explain: bool, project: str | None, reader: str, json_output: bool,
) -> int:  # fmt: skip
    """Print your memories that are relevant for QUERY, grouped by the facets of QUERY, ready for a model.

    Without a relevant memory, nothing is printed. If QUERY states a new fact, the command proposes it as a memory and does
    not save it.

    \b
    Examples:
      contextd facets "Help me find casual sneakers under 150€"
      contextd facets "plan my weekend" --count 3 --explain
      contextd facets "and the other one?" --after "Which running shoes fit me?"
      contextd facets "new bike" --facet "Money: What may it cost?" --facet "Roads: Where do I ride?"
    """
    text = query_from(query)
    answer = served(around(project), reader).facets(
        text, budget=budget, count=count, own=[_facet(one) for one in own], min_score=min_score, history=history
    )
    if json_output:
        from contextd.surfaces.wire.answers import ContextAnswer, PlanAnswer, TraceAnswer
        from contextd.surfaces.wire.convert import plain

        extra = {"plan": PlanAnswer.of(answer.plan), "trace": TraceAnswer.of(answer.trace)}
        as_json(plain(ContextAnswer.of(answer)) | extra)
        return 0 if answer.hits else 1
    warn(answer.trace.warnings)
    if explain:
        _explain(answer, bool(own))
    if answer.text:
        block(answer.text)
    elif not answer.truncated:
        note("no relevant memory found")
    if answer.plan.proposal:
        note(f"the question states a new fact; to save it, run: contextd remember {_quoted(answer.plan.proposal)}")
    note(f"{answer.tokens} of {answer.budget} tokens ({answer.tokenizer})")
    return 0 if answer.hits else 1


def _facet(text: str) -> Any:
    from contextd.values.query import Facet

    name, colon, question = text.partition(":")
    if not colon or not name.strip() or not question.strip():
        raise click.UsageError(f"invalid facet: {text!r} (must be a name and a question, such as 'Money: What may it cost?')")
    return Facet(name.strip(), name.strip(), question.strip())


def _explain(answer: Any, own_facets: bool) -> None:
    plan = answer.plan
    subject = plan.subject or ("none" if own_facets else "none (no facets used)")
    by = f" (by {plan.model})" if plan.model else ""
    note(f"act: {plan.act or 'none'}, subject: {subject}, confidence: {plan.confidence:.2f}{by}")
    if plan.topics:
        note(f"domain: {plan.domain or 'none'}, topics: {', '.join(plan.topics)}")
    if plan.subject or own_facets:
        rows = [(one.weight, one.name, one.question, ", ".join(one.topics)) for one in plan.facets]
        table(("weight", "facet", "question", "topics"), rows)
    hits = [(f"{hit.score:.2f}", hit.facet, hit.chunk.kind, " ".join(hit.chunk.text.split())) for hit in answer.hits]
    table(("score", "facet", "kind", "memory"), hits)


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
