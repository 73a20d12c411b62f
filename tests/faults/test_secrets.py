"""Planted secrets of every format reach neither store nor logs nor output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Run
from tests.privacy.test_scrub import CONFIG, PLANTED, value_of
from tests.stored import stored


def test_S1_S5_planted_secrets_reach_no_file_and_no_output(
    make_project: Callable[..., Path], home: Path, contextd: Callable[..., Run]
) -> None:
    code = (
        "def handler():\n    pass\n"
        + "\n".join(
            f"x{n} = {line!r}" if "'" not in line and '"' not in line else line for n, line in enumerate(PLANTED.values())
        )
        + "\n"
    )
    settings = "\n".join(CONFIG.values()) + "\nname: visible\n"
    root = make_project(
        {"src/app.py": code, "config/app.yaml": settings, f"docs/{PLANTED['github']}.md": "# Title\n\nText about herons.\n"}
    )
    assert contextd("index", "-p", str(root)).code == 0
    assert contextd("remember", "my key is " + PLANTED["stripe"], cwd=root).code == 0
    outputs = [contextd(*arguments, "-p", str(root)) for arguments in
               (("search", "handler"), ("search", "key", "--json"), ("context", "name visible", "-t", "json"), ("secrets",), ("stats",),
                ("explain", "x1 x2 x3"), ("search", "herons"))]  # fmt: skip
    assert outputs[0].code == 0
    found = contextd("secrets", "-p", str(root), "--json")
    assert found.out.count('"rule"') >= len(PLANTED) + len(CONFIG) - 4
    values = [value_of(line)[-12:] for line in (*PLANTED.values(), *CONFIG.values())]
    everything = "".join(run.out + run.err for run in (*outputs, found)).encode()
    assert b"def handler" in stored(home), "texts are compressed, and are looked into"
    everything += stored(home)
    assert not [value for value in values if value.encode() in everything]


def test_line_numbers_stay_right(make_project: Callable[..., Path], contextd: Callable[..., Run]) -> None:
    import json

    kind = "RSA PRIVATE" + " KEY"
    key = f"-----BEGIN {kind}-----\n" + "\n".join("A1b2C3d4" * 8 for _ in range(8)) + f"\n-----END {kind}-----\n"
    text = "KEY = '''\n" + key + "'''\n\n\ndef after_the_key():\n    return 1\n"
    root = make_project({"a.py": text})
    contextd("index", "-p", str(root))
    (hit,) = json.loads(contextd("search", "-p", str(root), "after_the_key", "--json").out)["hits"][:1]
    line = text.split("\n").index("def after_the_key():") + 1
    assert hit["start_line"] <= line <= hit["end_line"]
    assert json.loads(contextd("secrets", "-p", str(root), "--json").out)["items"] == [
        {"path": "a.py", "line": 2, "rule": "private-key"}
    ]
