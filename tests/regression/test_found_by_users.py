"""What a new user stumbled over, each by what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import contextd as package
from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.conftest import Run


def test_an_export_to_nowhere_ended_with_a_traceback(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    for folder, said in (
        ("/proc/nope", "cannot write to /proc/nope"),
        ("", "the path is empty; give the directory to write to"),
    ):
        done = contextd("export", folder, cwd=project)
        assert done.code == 2 and said in done.err and "Traceback" not in done.err
    assert not (project / "bm25.jsonl").exists()


def test_vectors_of_an_earlier_export_stayed(
    session: Session, project: Path, contextd: Callable[..., Run], tmp_path: Path
) -> None:
    target = tmp_path / "out"
    assert contextd("export", str(target), "--vectors", cwd=project).code == 0 and (target / "vectors.jsonl").exists()
    assert contextd("export", str(target), cwd=project).code == 0 and not (target / "vectors.jsonl").exists()


@pytest.mark.parametrize("line", ['{"query": "x", "answer": ["a.py"]}', '{"query": "x"}', "no json", "[]"])
def test_errors_of_eval_showed_python(
    project: Path, tmp_path: Path, contextd: Callable[..., Run], session: Session, line: str
) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(line + "\n")
    done = contextd("eval", str(questions), cwd=project)
    assert done.code == 2 and '"relevant": ["path"]' in done.err
    assert "indices must be" not in done.err and "'relevant')" not in done.err


def test_narrow_could_not_be_imported_from_the_package() -> None:
    assert package.Narrow(exclude=["docs"]).exclude == ["docs"]


def test_a_file_named_with_an_unknown_ending_was_ignored(make_project: Callable[..., Path], home: Path) -> None:
    other = "\n".join(f"int limit_{number}(int n) {{ return n < {number}; }} /* limit of builtin */" for number in range(20))
    root = make_project(
        {
            "src/builtin.jq": "def take($n; f): label $out | f;\n",
            "src/builtin.c": other,
            "man.md": "# limit\n\nlimit(n; expr)\n",
        }
    )
    session = open_session(root, home=home, environment={})
    session.index()
    assert session.context("limit in src/builtin.jq", budget=600).hits[0].chunk.uri == "src/builtin.jq"


def test_functions_behind_a_place_that_cannot_be_parsed_had_no_definition(
    make_project: Callable[..., Path], home: Path
) -> None:
    broken = "#ifndef X\nint broken(\n#else\nint broken2(\n#endif\n    int a) {\n  while (1) {\n#ifdef Y\n  }\n#endif\n}\n"
    root = make_project(
        {"util.c": f"int before(void) {{\n  return 1;\n}}\n\n{broken}\nchar *real_path(int n) {{\n  return 0;\n}}\n"}
    )
    session = open_session(root, home=home, environment={})
    session.index()
    assert [one.line for one in session.structure.symbols("real_path")]
