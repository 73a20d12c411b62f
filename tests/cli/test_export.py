"""The index as portable files."""

from __future__ import annotations

import json
import stat
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import numpy as np

from contextd.app.session import Session
from tests.conftest import Run


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_index_is_written_as_json_lines_with_a_manifest(
    session: Session, project: Path, tmp_path: Path, contextd: Callable[..., Run]
) -> None:
    target = tmp_path / "out"
    run = contextd("export", str(target), "--vectors", "-p", str(project))
    assert run.code == 0 and "chunks" in run.out, run.err
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["schemaVersion"] == "1.0" and manifest["model"]["dim"] > 0 and manifest["createdAt"]
    chunks, vectors = lines(target / "bm25.jsonl"), lines(target / "vectors.jsonl")
    assert len(chunks) == len({one["id"] for one in chunks}) == manifest["chunks"] and len(vectors) == manifest["vectors"] > 0
    for one in chunks:
        meta = one["meta"]
        assert isinstance(meta, dict) and meta["visibility"] == ["owner"]
        assert (project / str(meta["rid"])).read_text()[meta["startChar"] : meta["endChar"]] == one["text"]
    assert any("load" in str(one["normText"]).split() for one in chunks)
    row = np.frombuffer(b64decode(str(vectors[0]["vector"])), "<f4")
    assert len(row) == manifest["model"]["dim"] and abs(float(np.linalg.norm(row)) - 1) < 0.02
    assert stat.S_IMODE((target / "bm25.jsonl").stat().st_mode) == 0o600


def test_who_may_not_read_a_project_exports_nothing(
    session: Session, project: Path, tmp_path: Path, contextd: Callable[..., Run]
) -> None:
    run = contextd("export", str(tmp_path / "out"), "-p", str(project), "--as", "eve")
    assert run.code == 2 and not (tmp_path / "out").exists()


def test_an_unindexed_folder_says_so(project: Path, tmp_path: Path, contextd: Callable[..., Run]) -> None:
    run = contextd("export", str(tmp_path / "out"), "-p", str(project))
    assert run.code == 2 and "not indexed" in run.err
