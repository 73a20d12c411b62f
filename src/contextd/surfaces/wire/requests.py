"""What callers ask, as dataclasses: fields, descriptions, limits. The schema of a tool is made from them."""

from __future__ import annotations

from dataclasses import dataclass

from contextd.surfaces.wire.convert import about


@dataclass(frozen=True, slots=True)
class QueryScope:
    """Where `query_context` looks."""

    paths: tuple[str, ...] = about(
        "Only files at or below these paths, relative to the project.",
        (),
        aliases="path file files filepath directory folder include",
    )
    languages: tuple[str, ...] = about("Only these languages, such as python or go.", (), aliases="lang language filetype")
    kinds: tuple[str, ...] = about(
        "Only these kinds of chunk, such as code_function or markdown_section.", (), aliases="kind type types"
    )
    exclude_patterns: tuple[str, ...] = about(
        "Not files at or below these paths, or that fit these patterns, such as tests or *.min.js.",
        (),
        name="excludePatterns",
        aliases="exclude excludes excluded ignore excludepaths",
    )


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """Limits of the answer of `query_context`."""

    min_score: float | None = about(
        "Minimum relevance.", None, name="minScore", least=0, most=1, aliases="threshold score minrelevance"
    )
    max_tokens: int | None = about(
        "Maximum number of tokens of the answer.",
        None,
        name="maxTokens",
        least=1,
        aliases="budget tokens tokenbudget tokenlimit",
    )
    mmr_lambda: float | None = about(
        "1: by relevance alone; 0: diverse.",
        None,
        name="mmrLambda",
        least=0,
        most=1,
        aliases="lambda diversity diversityweight mmr",
    )


@dataclass(frozen=True, slots=True)
class QueryContext:
    """A call of the tool `query_context`."""

    query: str = about("What you want to know, or the name you look for.", aliases="q question text prompt search")
    k: int | None = about(
        "Maximum number of results.",
        None,
        least=1,
        most=100,
        aliases="limit count topk n maxresults numresults results",
    )
    scope: QueryScope = about("Where to look.", QueryScope)
    filters: QueryFilters = about("Limits of the answer.", QueryFilters)
    format: str = about(
        "text (default), or json: the same pieces with id, score and offsets.",
        "text",
        choices=("text", "json"),
        aliases="template output outputformat",
    )
