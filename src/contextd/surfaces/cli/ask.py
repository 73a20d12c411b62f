"""Commands that answer within a budget: context, explain, task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from contextd.app.tasks import TYPES
from contextd.surfaces.cli.filters import narrow_from, narrowing, ordered
from contextd.surfaces.cli.show import (
    as_json,
    block,
    limited,
    note,
    out,
    project_options,
    query_from,
    served,
    served_options,
    table,
    text_from,
    warn,
)


def _answering(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that answers within a budget."""
    for option in (
        click.option("-b", "--budget", type=int, default=None, help="Maximum number of tokens (default: 1500)."),
        limited("candidate hits"),
        click.option(
            "-t",
            "--template",
            default="markdown",
            show_default=True,
            help="Output template: xml, markdown, chat, detailed, summary, json, or your own template.",
        ),
    ):
        command = option(command)
    return narrowing(ordered(command))


def _answer(
    query: tuple[str, ...], project: str, reader: str, also: tuple[str, ...], budget: int | None, limit: int | None,
    template: str, paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], min_score: float | None,
    timeout: float | None, rerank: bool, ranker: str, history: tuple[str, ...], exclude: tuple[str, ...],
    mmr_lambda: float | None, no_cache: bool, explained: bool = False,
) -> Any:  # fmt: skip
    """Return the context of a question, with its whole trace if it is to be explained."""
    text = query_from(query)
    session = served(project, reader, also)
    return (session.preview if explained else session.context)(
        text,
        budget=budget,
        **({"k": limit} if limit else {}),
        template=template,
        min_score=min_score,
        narrow=narrow_from(paths, languages, kinds, exclude),
        deadline=timeout,
        rerank=rerank,
        ranker=ranker,
        history=history,
        mmr_lambda=mmr_lambda,
        cache=not no_cache,
    )


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@_answering
def context(query: tuple[str, ...], json_output: bool, **options: Any) -> int:
    """Print the context for QUERY within a token budget, ready for a model.

    \b
    Examples:
      contextd context "how does login work"
      contextd context "why is the cache stale" --budget 800 --template xml
      git diff | contextd context - --json
    """
    answer = _answer(query, **options)
    if json_output:
        from contextd.surfaces.wire.answers import ContextAnswer

        as_json(ContextAnswer.of(answer))
    else:
        warn(answer.trace.warnings)
        if answer.text:
            block(answer.text)
        elif not answer.truncated:  # else a warning says that nothing fits the budget
            note("nothing relevant was found")
        note(f"{answer.tokens} of {answer.budget} tokens ({answer.tokenizer})")
    return 0 if answer.hits else 1


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@_answering
def explain(query: tuple[str, ...], json_output: bool, **options: Any) -> int:
    """Show every step of QUERY: its hits, its dropped hits and the reasons.

    \b
    Example:
      contextd explain "how does login work"
    """
    from contextd.surfaces.wire.answers import ContextAnswer, TraceAnswer
    from contextd.surfaces.wire.convert import plain

    answer = _answer(query, **options, explained=True)
    if json_output:
        as_json(plain(ContextAnswer.of(answer)) | {"trace": TraceAnswer.of(answer.trace), "terms": dict(answer.plan.terms)})
        return 0 if answer.hits else 1
    warn(answer.trace.warnings)
    plan = answer.plan
    out(f"understood as {plan.route}; searched as {plan.strategy}; terms: {', '.join(plan.terms) or '(none)'}")
    if plan.model:
        out(f"by {plan.model}: {plan.act or 'no act'}, confidence {plan.confidence:.2f}, {plan.k or 'any number of'} hits")
    table(
        ("step", "ms", "count"),
        [(s.name, f"{s.milliseconds:.1f}", "" if s.count is None else s.count) for s in answer.trace.steps],
    )
    table(("dropped by", "what", "why"), [(d.step, d.what, d.why) for d in answer.trace.drops])
    table(("score", "place", "label", "why"), [_hit_row(hit) for hit in answer.hits])
    out(f"{answer.tokens} of {answer.budget} tokens ({answer.tokenizer})")
    return 0 if answer.hits else 1


@click.command()
@click.option("--title", required=True, help="Title of the task.")
@click.option("--description", default="", help="Description of the task. Use - to read it from standard input.")
@click.option("--type", "kind", default="implementation", show_default=True, help=f"Type of the task: {', '.join(TYPES)}.")
@click.option(
    "--complexity",
    type=int,
    default=5,
    show_default=True,
    help="Complexity of the task (1 to 10). A higher value gives a larger token budget.",
)
@click.option("--id", "number", default="", help="Task ID to show in the prompt, such as an issue number.")
@served_options
@project_options
@narrowing
def task(
    title: str, description: str, kind: str, complexity: int, number: str, project: str, reader: str, json_output: bool,
    also: tuple[str, ...], paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], min_score: float | None,
    timeout: float | None, exclude: tuple[str, ...],
) -> int:  # fmt: skip
    """Print a prompt for a task, including the relevant context of the project.

    The type and the complexity set the token budget.

    \b
    Examples:
      contextd task --title "Sessions never expire" --type bugfix --complexity 7
      gh issue view 12 | contextd task --title "Add JWT login" --description - --path src/auth
    """
    from contextd.app.tasks import Task
    from contextd.surfaces.wire.answers import ContextAnswer

    text = text_from((description,)) if description == "-" else description
    wanted = Task(title, text, kind, complexity, number, narrow_from(paths, languages, kinds, exclude))
    found = served(project, reader, also).task(wanted, min_score=min_score, deadline=timeout)
    if json_output:
        inner = ContextAnswer.of(found.context) if found.context is not None else None
        as_json({"prompt": found.prompt, "budget": found.budget, "context": inner, "warnings": list(found.warnings)})
    else:
        warn(found.warnings)
        block(found.prompt)
    return 0


def _hit_row(hit: Any) -> tuple[str, str, str, str]:
    why = ", ".join(f"{name} {value:.2f}" for name, value in hit.why.items())
    return f"{hit.score:.2f}", f"{hit.chunk.uri}:{hit.chunk.start_line}", hit.chunk.label, why
