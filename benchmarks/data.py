"""Where the evaluation data is. It is not part of this repository; what is missing is skipped, with the reason."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextd.app.evaluate import Question, question

BENCH = Path(os.environ.get("CONTEXTD_BENCH", "../shared/bench"))
REPOS = Path(os.environ.get("CONTEXTD_BENCH_REPOS", "../repos"))
HISTORIES = Path(os.environ.get("CONTEXTD_BENCH_HISTORIES", "../histories"))  # clones with their history
SEMBLE_MODEL = os.environ.get(
    "CONTEXTD_BENCH_SEMBLE_MODEL", ""
)  # a folder in the layout of model2vec; empty: the usual weights
HOME = Path(os.environ.get("CONTEXTD_BENCH_HOME", ".contextd-run/bench"))


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository of the code benchmark, checked out, with its questions."""

    name: str
    language: str
    root: Path
    questions: list[Question]


def repositories() -> Iterator[Repository]:
    """The repositories that are here; the others are named on the way."""
    for entry in json.loads((BENCH / "code" / "repos.json").read_text()):
        root = REPOS / entry["name"] / (entry["root"] or "")
        if not root.is_dir():
            print(f"skipped {entry['name']}: not checked out below CONTEXTD_BENCH_REPOS")
            continue
        raw = json.loads((BENCH / "code" / "annotations" / f"{entry['name']}.json").read_text())
        prefix = f"{entry['root']}/" if entry["root"] else ""
        yield Repository(entry["name"], entry["language"], root, [question(_below(one, prefix)) for one in raw])


def _below(entry: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Paths as seen from the indexed folder."""

    def strip(target: Any) -> Any:
        if isinstance(target, str):
            return target.removeprefix(prefix)
        return {**target, "path": target["path"].removeprefix(prefix)}

    return {
        **entry,
        "relevant": [strip(t) for t in entry["relevant"]],
        "secondary": [strip(t) for t in entry.get("secondary") or []],
    }


def linked_home(name: str = "") -> Path:
    """A data directory of its own, with the weights of the usual one."""
    from contextd.settings import config

    home = HOME / name
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "models").exists():
        (home / "models").symlink_to((config.home() / "models").absolute())
    if not (home / "config.toml").exists():
        (home / "config.toml").write_text("[context.cache]\nenabled = false\n")  # a question asked twice is computed twice
    return home
