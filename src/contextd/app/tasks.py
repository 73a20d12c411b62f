"""A task for an agent: its query, its budget, and the prompt with the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextd.errors import IndexMismatch, InvalidInput, StorageError, Unavailable
from contextd.values.answer import Context
from contextd.values.query import Narrow

if TYPE_CHECKING:
    from contextd.app.session import Session

_HARD, _EASY = 8, 3  # complexities from which a task gets more, and up to which it gets less
_LEAST = 0.25  # minimum share of the budget, however much is reserved
_BY_TYPE = {"architecture": 1.3, "bugfix": 0.8}
TYPES = (
    "implementation",
    "bugfix",
    "architecture",
    "refactoring",
    "testing",
    "documentation",
    "review",
    "research",
    "planning",
)

_GUIDELINES = """\
Guidelines:
- Prefer information from <project_context> over general knowledge
- Reference specific files/functions mentioned in context
- If context is insufficient, use query_context tool for more information
- Maintain consistency with existing patterns shown in context

Please implement this task using the provided context."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task for an agent."""

    title: str
    description: str = ""
    type: str = "implementation"
    complexity: int = 5
    id: str = ""
    hints: Narrow = Narrow()  # noqa: RUF009 - an immutable value


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The context of a task, if there is any, the prompt around it, and warnings."""

    context: Context | None
    prompt: str
    budget: int
    warnings: tuple[str, ...]


def prepared(session: Session, task: Task, *, min_score: float | None, deadline: float | None) -> TaskContext:
    """Return the context of a task within its budget, and the prompt that contains it."""
    task, settings = checked(task), session.settings
    limit = budget_for(task, settings.budget.default_max_tokens, settings.budget.reserve_for_prompt)
    if not settings.enabled:
        return TaskContext(None, prompt_of(task, ""), limit, ("context is disabled (enabled = false)",))
    try:
        found = session.context(
            question_of(task), budget=limit, template="xml", min_score=min_score, narrow=task.hints, deadline=deadline
        )
    except (Unavailable, StorageError, IndexMismatch) as error:
        if not settings.fallback_enabled:
            raise
        return TaskContext(None, prompt_of(task, ""), limit, (f"no context: {error}",))
    prompt = prompt_of(task, found.text)
    warnings = [*found.trace.warnings]
    if session.count_tokens(prompt) - found.tokens > settings.budget.reserve_for_prompt:
        warnings.append(f"the task text is longer than the {settings.budget.reserve_for_prompt} tokens reserved for it")
    return TaskContext(found, prompt, limit, tuple(warnings))


def checked(task: Task) -> Task:
    """Check a task and return it. Raises InvalidInput."""
    if not task.title.strip():
        raise InvalidInput("the title of the task is empty")
    if not 1 <= task.complexity <= 10:
        raise InvalidInput(f"invalid value for complexity: {task.complexity} (must be between 1 and 10)")
    if task.type.lower() not in TYPES:
        raise InvalidInput(f"no such task type: {task.type!r}; the types are {', '.join(TYPES)}")
    return task


def budget_for(task: Task, base: int, reserved: int = 0) -> int:
    """Return the token budget of a task: more for hard tasks and architecture, less for easy ones and bugs.

    Tokens reserved for the prompt are subtracted, as long as a quarter of the budget is left.
    """
    share = 1.5 if task.complexity >= _HARD else 0.7 if task.complexity <= _EASY else 1.0
    whole = base * share * _BY_TYPE.get(task.type.lower(), 1.0)
    return max(1, round(max(whole - reserved, whole * _LEAST)))


def question_of(task: Task) -> str:
    """Return the query of a task. The title comes first, since it says most."""
    return f"{task.title.strip()}\n{task.description.strip()}".strip()


def prompt_of(task: Task, block: str) -> str:
    """Return the whole prompt; without context, the task alone."""
    number = f" #{task.id}" if task.id else ""
    lines = [f"You are executing task{number}: {task.title.strip()}"]
    if task.description.strip():
        lines.append(f"Description: {task.description.strip()}")
    lines += [f"Type: {task.type.upper()}", f"Complexity: {task.complexity}", ""]
    lines += [block, "", _GUIDELINES] if block else ["Please implement this task."]
    return "\n".join(lines)
