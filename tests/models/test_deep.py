"""The deep model: what loading it must not do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_native_library_writes_no_id_of_the_device(tmp_path: Path, weights: Path | None) -> None:
    """onnxruntime collects telemetry unless a variable is set before it is loaded."""
    if weights is None:
        pytest.skip("no weights here")
    (model,) = [one for one in weights.iterdir() if (one / "model.onnx").exists() and "arctic" in one.name]
    code = (
        f"from pathlib import Path\nfrom contextd.models.deep import Deep\nprint(Deep(Path({str(model)!r})).query('x').shape)"
    )
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert "384" in done.stdout, done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
