"""A project: its folder, sources and store, and how to get workers, events and the lease."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from contextd.errors import InvalidInput
from contextd.ports.catalog import KnownProject
from contextd.ports.store import Lease, ProjectStore
from contextd.ports.world import Events, FileSource, Machine, Parser, Past, Recipe, Source
from contextd.settings.limits import checked_path

NOT_INDEXED = "This project is not indexed yet. Run `contextd index`."


@dataclass(frozen=True, slots=True)
class Project:
    """A registered folder, its sources, its index, and factories for the parser, events and the lease.

    `mark` identifies the current index file. `renew` moves a damaged index, given its mark, aside and starts a new one.
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
    private_paths: tuple[str, ...] = ()  # folders and patterns that answer on this machine only


def inside(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's paths relative to the root; empty for all of it. Raises InvalidInput for a path outside."""
    found = []
    for path in paths:
        target = Path(os.path.normpath(root / checked_path(path)))
        if not target.is_relative_to(root):
            raise InvalidInput(f"{path} is outside the project {root}")
        found.append(target.relative_to(root).as_posix())
    return () if "." in found else tuple(found)


def project_named(name: str, known: Iterable[KnownProject]) -> str | None:
    """Return the folder of the project with a name; None if there is none. Raises InvalidInput if several have it."""
    found = [one for one in known if one.name == name and one.roots]
    if len(found) > 1:
        raise InvalidInput(
            f"several projects are called {name!r}: {', '.join(one.roots[0] for one in found)}; give the directory"
        )
    return next((root for one in found for root in one.roots if Path(root).is_dir()), found[0].roots[0]) if found else None
