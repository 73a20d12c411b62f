"""The deep model: what loading it must not do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import Unavailable
from contextd.models import deep, weights


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


@pytest.fixture
def model(tmp_path: Path, weights: Path | None) -> Path:
    """A folder of its own with the deep model."""
    if weights is None:
        pytest.skip("no weights here")
    (found,) = [one for one in weights.iterdir() if (one / "model.onnx").exists() and "arctic" in one.name]
    folder = tmp_path / found.name
    folder.mkdir()
    for name in ("model.onnx", "vocab.txt"):
        shutil.copy2(found / name, folder / name)
    return folder


def vector(folder: Path, before: str = "") -> str:
    """The vector of a text by a process of its own, in which the model is loaded anew."""
    code = f"from pathlib import Path\nfrom contextd.models import deep\n{before}\n"
    code += f"print(deep.Deep(Path({str(folder)!r})).query('where do I live').tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    return done.stdout


def copies(folder: Path) -> list[Path]:
    return sorted(folder.glob(".optimi*"))


def test_the_second_load_maps_the_optimized_copy_and_gives_the_same_vector(model: Path) -> None:
    first = vector(model)
    (copy,) = copies(model)
    assert {one.name for one in copy.iterdir()} == {"model.onnx", "model.weights"}
    before = copy.stat().st_mtime_ns
    assert vector(model) == first
    assert copies(model) == [copy] and copy.stat().st_mtime_ns == before


def test_a_damaged_copy_is_passed_over_and_written_again(model: Path) -> None:
    first = vector(model)
    (copy,) = copies(model)
    (copy / "model.onnx").write_bytes(b"no model")
    assert vector(model) == first
    assert (copy / "model.onnx").stat().st_size > 1000


def test_a_replaced_model_gets_a_copy_of_its_own(model: Path) -> None:
    vector(model)
    (copy,) = copies(model)
    os.utime(model / "model.onnx", ns=(1, 1))
    vector(model)
    (other,) = copies(model)
    assert other != copy


def test_a_model_in_a_folder_that_cannot_be_written_to_is_loaded(model: Path) -> None:
    refused = "def refuse(**_):\n    raise PermissionError('read-only')\ndeep.mkdtemp = refuse"
    assert vector(model, refused).startswith("[") and copies(model) == []


def test_copies_of_killed_processes_are_removed_and_those_under_way_are_not(model: Path) -> None:
    killed, under_way = (model / f".optimizing-{name}" for name in ("killed", "new"))
    for one in (killed, under_way):
        one.mkdir()
        (one / "model.onnx").write_bytes(b"x")
    os.utime(killed, (1, 1))
    (older := model / ".optimized-upper-layers-1").mkdir()
    vector(model)
    assert not killed.exists() and not older.exists() and under_way.exists()


def test_verified_models_lose_their_optimized_copies_and_nothing_else(tmp_path: Path) -> None:
    model = weights.MODELS["snowflake-arctic-embed-s"]
    folder = weights.folder_of(tmp_path, model)
    for name in (".optimized-model-1", ".optimizing-a"):
        (folder / name).mkdir(parents=True)
        (folder / name / "model.weights").write_bytes(b"tampered")
    (folder / "vocab.txt").write_text("a")
    weights.drop_copies(tmp_path, model)
    assert [one.name for one in folder.iterdir()] == ["vocab.txt"]


@pytest.mark.parametrize("content", [None, "", "a\nb\n"])
def test_a_damaged_vocabulary_was_a_traceback(home: Path, content: str | None) -> None:
    session = open_session(None, home=home, environment={})
    model = session.setup.record_deep()
    session.close()
    if not isinstance(model, deep.Deep):
        pytest.skip("the deep model is not installed")
    folder = home / "models" / model.folder.name
    (folder / "vocab.txt").unlink()
    if content is not None:
        (folder / "vocab.txt").write_text(content)
    with pytest.raises(Unavailable, match="models verify"):
        _ = deep.Deep(folder).pieces
