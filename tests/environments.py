"""Virtual environments with packages of other projects, made by slow tests."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


class Environment:
    """A virtual environment of its own. Skips the test if the packages cannot be installed."""

    def __init__(self, folder: Path, *packages: str, options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.python = folder / "bin" / "python"
        self.install(*packages, options=options)

    def install(self, *packages: str, options: tuple[str, ...] = ()) -> None:
        """Install packages from the registry."""
        quiet = ("--quiet", "--disable-pip-version-check")
        done = subprocess.run(
            [self.python, "-m", "pip", "install", *quiet, *options, *packages], capture_output=True, text=True, timeout=1200
        )
        if done.returncode:
            pytest.skip(f"pip cannot install {', '.join(packages)}: {done.stderr.strip().splitlines()[-1]}")

    def run(self, code: str, *arguments: str, timeout: float = 300, **environment: str) -> Any:
        """Run a program; return the JSON in its last line."""
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **environment}
        done = subprocess.run(
            [self.python, "-c", code, *arguments],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    def version(self, package: str) -> str:
        """Return the version of an installed package."""
        return str(self.run(f"import importlib.metadata as m, json; print(json.dumps(m.version({package!r})))"))
