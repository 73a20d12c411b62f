"""The tool `query_context`: its description, written for models, and its answer, one text within the budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from contextd.errors import InvalidInput
from contextd.settings.limits import checked_query
from contextd.surfaces.wire.convert import plain
from contextd.surfaces.wire.requests import QueryContext
from contextd.text.invisible import visible_line
from contextd.values.usage import asked_for

if TYPE_CHECKING:  # not loaded for a client that only connects
    from contextd.app.session import Session
    from contextd.values.answer import Context

_SECONDS = 20.0  # agents do not wait longer
_NOTHING = "Nothing relevant was found."
_ATTEMPTS = 3  # to pack hits beside the notes, which depend on the hits
_SHARE = 4  # notes get at most a quarter of the budget if there are hits


DESCRIPTION = (
    "Find the code, documents and notes of this project that answer a question, best first, within a token budget. "
    "Ask in plain words, with a symbol name, a path, an error message or a stack trace. Use it first, before reading "
    "files one by one."
)
# Claude Code writes longer results to a file and shows only the beginning. Without this the limit is 50,000 characters.
META = {"anthropic/maxResultSizeChars": 500_000}


def answer(session: Session, asked: QueryContext, notes: Sequence[str] = ()) -> str:
    """Return the answer to a call as one text of at most `filters.maxTokens` tokens, notes included. Raises ContextdError."""
    budget = asked.filters.max_tokens or session.settings.budget.default_max_tokens
    build = _json if asked.format == "json" else _text
    room = budget
    for _ in range(_ATTEMPTS):
        with asked_for("query_context"):
            found = _found(session, asked, room)
        lines = [visible_line(one) for one in (*notes, *found.trace.warnings)]
        text = build(found, asked.query, lines, budget, session.count_tokens)
        if (tokens := session.count_tokens(text)) <= budget:
            return text
        room = max(1, budget - (tokens - found.tokens))  # the budget without the notes
    return build(found, asked.query, [], budget, session.count_tokens)


def _found(session: Session, asked: QueryContext, budget: int) -> Context:
    from contextd.querying.pipeline import MOST_HITS
    from contextd.values.query import Narrow

    scope, filters = asked.scope, asked.filters
    languages, kinds = ([one.lower() for one in several] for several in (scope.languages, scope.kinds))
    return session.context(
        checked_query(asked.query),
        budget=budget,
        template="json" if asked.format == "json" else "markdown",
        k=MOST_HITS if asked.k is None else asked.k,
        min_score=filters.min_score,
        mmr_lambda=filters.mmr_lambda,
        narrow=Narrow(scope.paths, languages, kinds, exclude=scope.exclude_patterns),
        deadline=_SECONDS,
    )


def _text(found: Context, query: str, notes: Sequence[str], budget: int, count: Callable[[str], int]) -> str:
    """Return the packed text below the notes."""
    lines = [f"Note: {one}" for one in notes]
    if not found.text:
        return "\n".join(_fitting(lines if found.truncated else [_NOTHING, *lines], budget, count))
    return "\n".join([*_fitting(lines, budget // _SHARE, count), found.text])


def _json(found: Context, query: str, notes: Sequence[str], budget: int, count: Callable[[str], int]) -> str:
    """Return the same hits as JSON, as many as fit. Raises InvalidInput if the budget is too small for any answer."""
    from contextd.surfaces.wire.answers import QueryHit

    hits, lines = [plain(QueryHit.of(hit)) for hit in found.hits], _fitting(notes, budget // _SHARE, count)
    while True:
        answer = {"query": query, "total": len(hits), "hits": hits, "warnings": lines}
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        if count(text) <= budget:
            return text
        if not hits:
            raise InvalidInput(
                f"a budget of {budget} tokens is too small for a JSON answer; raise the budget, or use format text"
            )
        hits.pop()


def _fitting(lines: Sequence[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """Return the first lines that fit. If even the first does not fit, it is cut to its first words."""
    fitting = list(lines)
    while len(fitting) > 1 and count("\n".join(fitting)) > budget:
        fitting.pop()
    while fitting and count(fitting[0]) > budget:
        fitting = [shorter] if (shorter := fitting[0].rpartition(" ")[0]) else []
    return fitting
