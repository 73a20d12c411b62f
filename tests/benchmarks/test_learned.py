"""Everything learned is listed with its command, its data and its score, and is the file that was made so."""

from __future__ import annotations

import importlib

import pytest
from benchmarks.learn import PACKAGE, ROOT, digest, table


def test_every_learned_file_is_listed_and_is_the_one_that_was_made() -> None:
    listed = {file: known for entry in table().values() for file, known in entry["files"].items()}
    there = {str(path.relative_to(PACKAGE)) for room in ("text", "models") for path in (PACKAGE / room / "learned").iterdir()}
    assert set(listed) == there
    for file, known in listed.items():
        assert digest(file) == known, f"{file} is not the file that was noted; run `python -m benchmarks.learn`"


@pytest.mark.parametrize("name", sorted(table()))
def test_what_was_learned_says_from_what_and_how_well(name: str) -> None:
    entry = table()[name]
    assert entry["data"] and entry["score"] and entry["made"]
    assert entry["files"] or entry["constants"]
    if entry["command"]:
        module, *_ = entry["command"].split()
        assert (ROOT / f"{module.replace('.', '/')}.py").exists() and hasattr(importlib.import_module(module), "main")
    for constant in entry["constants"]:
        where, _, what = constant.partition(":")
        assert getattr(importlib.import_module(f"contextd.{where}"), what)
