"""A project as the engine is handed it: its folder, its source and store, and how workers, events and the lease are had."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from contextd.ports import Events, Machine, Parser, ProjectStore, Recipe, Source


@dataclass(frozen=True, slots=True)
class Project:
    """A folder that is known: where it is, what of it is read, where its index lies, and how a parser is had."""

    name: str
    root: Path
    workspace: int
    folder: Path
    source: Source
    store: ProjectStore
    recipe: Recipe
    parser: Callable[..., AbstractContextManager[Parser]]
    arm: Callable[[Collection[str]], Events]
    machine: Machine
    lease: Callable[[str], AbstractContextManager[None]]
    renew: Callable[[], ProjectStore]
