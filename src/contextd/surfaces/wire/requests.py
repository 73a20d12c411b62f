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


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberTool:
    """A call of the tool `remember`."""

    text: str = about("The fact, in one sentence.", aliases="fact memory content note")
    project: bool = about("Whether it is about this project, not the user.", False, aliases="inproject")
    kind: str | None = about("constraint, preference, decision, fact, …", None, aliases="type")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTool:
    """A call of the tool `recall`."""

    query: str = about("The question.", aliases="q question text")
    k: int = about("Maximum number of facts.", 8, least=1, most=100, aliases="limit count n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetTool:
    """A call of the tool `forget`."""

    memory: str = about("Id of the fact, as `recall` shows it.", aliases="id")
    confirm: str | None = about(
        "The code that the first call returned. Without it nothing is deleted.", None, aliases="token code"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainTool:
    """A call of the tool `explain_context`."""

    query: str = about("The question.", aliases="q question text")


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolTool:
    """A call of the tools `find_symbol` and `find_callers`."""

    name: str = about("A function, class or method, qualified or not.", aliases="symbol query")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactTool:
    """A call of the tool `find_impact`."""

    what: str = about("A file or a symbol.", aliases="path name file symbol")
    depth: int = about("Maximum number of dependency steps.", 2, least=1, most=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTool:
    """A call of the tool `refresh_context`."""

    paths: tuple[str, ...] = about("Files or directories of the project.", aliases="path files")
    force: bool = about("Index them even if they are unchanged.", False)
    asynchronous: bool = about("Return at once, without waiting for the result.", True, name="async")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsTool:
    """A call of the tool `get_context_stats`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildOptions:
    """Options of `rebuild_context`."""

    clear_errors: bool = about("Clear the list of failed files.", True, name="clearErrors")
    vacuum: bool = about("Compact the database.", True)
    validate_only: bool = about("Only report what would be done.", False, name="validateOnly", aliases="dryrun")


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildTool:
    """A call of the tool `rebuild_context`."""

    confirm: bool = about("Must be true.")
    paths: tuple[str, ...] = about("Only these paths; empty for all.", (), aliases="path")
    asynchronous: bool = about("Return at once.", True, name="async")
    options: RebuildOptions = about("Options.", RebuildOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildStatusTool:
    """A call of the tool `get_rebuild_status`."""

    job: str = about("The jobId that `rebuild_context` returned.", name="jobId", aliases="id job")
    logs: bool = about("Include the log.", False, name="includeLogs", aliases="log")


@dataclass(frozen=True, slots=True)
class ProfileTool:
    """A call of the tool `get_profile`."""


@dataclass(frozen=True, slots=True)
class SetProfileTool:
    """A call of the tool `set_profile`."""

    key: str = about("Dotted key: identity.role, communication.tone, expertise.python, interests, opinions, preferences.")
    values: tuple[str, ...] = about("The value; several for lists. Empty: remove the key.", (), aliases="value")
