"""A project as a session is handed it: its folder, its source and store, and how workers, events and the lease are had."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from contextd.errors import InvalidInput
from contextd.ports.world import Events, FileSource, Lease, Machine, Parser, Past, ProjectStore, Recipe, Source
from contextd.settings.limits import checked_path

NOT_INDEXED = "This project is not indexed yet. Run `contextd index`."


@dataclass(frozen=True, slots=True)
class Project:
    """A folder that is known: where it is, what of it is read, where its index lies, and how a parser is had.

    `mark` tells one index file from the next in its place; `renew` puts a damaged one, by its mark, aside and begins anew.
    """

    name: str
    root: Path
    workspace: int
    folder: Path
    source: FileSource
    commits: Source
    past: Past
    store: ProjectStore
    recipe: Recipe
    parser: Callable[..., AbstractContextManager[Parser]]
    arm: Callable[[Collection[str]], Events]
    machine: Machine
    lease: Callable[[str], AbstractContextManager[Lease]]
    writer: Callable[[], str]
    mark: Callable[[], int]
    renew: Callable[[int], None]


def inside(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Paths of a caller as paths below the root; none for all of it."""
    found = []
    for path in paths:
        target = Path(os.path.normpath(root / checked_path(path)))
        if not target.is_relative_to(root):
            raise InvalidInput(f"{path} is outside the project {root}")
        found.append(target.relative_to(root).as_posix())
    return () if "." in found else tuple(found)
