"""Two worktrees of one repository: how much more is stored for the second, and how many texts are embedded again.

`python -m benchmarks.worktrees` takes the clone that `benchmarks.speed` indexes with its history; the second worktree is some
commits older.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.data import HISTORIES, linked_home
from benchmarks.speed import WITH_HISTORY
from contextd.ports.world import Embedder

OLDER = (0, 10, 100)  # commits


class Counted:
    """An embedder that counts the texts it is given."""

    def __init__(self, inner: Embedder) -> None:
        self._inner, self.texts = inner, 0
        self.space, self.dimension = inner.space, inner.dimension

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, which are counted."""
        self.texts += len(texts)
        return self._inner.documents(texts)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        return self._inner.query(text)


def main() -> None:
    """Index a checkout, then an older worktree of the same repository."""
    for older in OLDER:
        _compare(older)


def _compare(older: int) -> None:
    shutil.rmtree(linked_home("worktrees") / "projects", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        roots = [Path(folder) / "first", Path(folder) / "second"]
        _git("clone", "-q", "--no-checkout", str(HISTORIES / WITH_HISTORY), str(repository))
        for root, commit in zip(roots, ("HEAD", f"HEAD~{older}"), strict=True):
            _git("-C", str(repository), "worktree", "add", "-q", "--no-checkout", "--detach", str(root), commit)
            _git("-C", str(root), "read-tree", "HEAD")
            # A mirror may lack its largest files; they are left out.
            subprocess.run(["git", "-C", str(root), "checkout-index", "--all"], check=False, capture_output=True)
        differing = len(_git("-C", str(repository), "diff", "--name-only", f"HEAD~{older}", "HEAD").splitlines())
        figures = [_indexed(root) for root in roots]
    (texts, stored), (again, together) = figures
    print(f"{WITH_HISTORY} and a worktree {older} commits older ({differing} files differ)")
    print(f"  stored content: {stored / 1e6:.2f} MB, with the second {together / 1e6:.2f} MB ({together / stored:.3f} times)")
    print(f"  texts embedded: {texts}, for the second {again} ({again / texts:.2%})")


def _indexed(root: Path) -> tuple[int, int]:
    """The texts that were embedded, and the bytes of all content the repository has then."""
    session = contextd.open(root, home=linked_home("worktrees").absolute())
    assert session.project is not None and session.setup.static is not None
    counted = Counted(session.setup.static)
    session = replace(session, setup=replace(session.setup, static=counted))
    session.index()
    rows = session.project.store.rows("select sum(length(text)) from content where workspace_id = ?")
    session.close()
    return counted.texts, rows[0][0]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
