"""What may be said beside a question: where not to look, how diverse, what is linked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.querying.pipeline import _Pool, _spread
from contextd.values.answer import Candidate
from contextd.values.document import ChunkId
from contextd.values.query import THE_OWNER, Narrow, Query, Scope
from contextd.values.trace import Trace
from tests.conftest import Run


def files(session: Session, question: str, **asked: object) -> set[str]:
    return {hit.chunk.uri for hit in session.search(question, min_score=0, **asked).hits}  # type: ignore[arg-type]


@pytest.mark.parametrize("exclude", ["src/app/store.py", "src/app/st*.py", "*store.py"])
def test_what_is_excluded_does_not_answer(session: Session, project: Path, contextd: Callable[..., Run], exclude: str) -> None:
    assert "src/app/store.py" in files(session, "load a user")
    without = files(session, "load a user", narrow=Narrow(exclude=[exclude]))
    assert without and "src/app/store.py" not in without
    assert "src/app/store.py" not in files(session, f"load a user -path:{exclude}")
    told = json.loads(contextd("search", "load a user", "--exclude", exclude, "--json", "-p", str(project)).out)
    assert "src/app/store.py" not in {hit["path"] for hit in told["hits"]}


def test_a_folder_is_excluded_from_contexts_and_exact_finds(session: Session) -> None:
    narrow = Narrow(exclude=["src/"])
    assert not [one for one in session.context("load a user", narrow=narrow).hits if one.chunk.uri.startswith("src")]
    assert session.find("load_user") and not session.find("load_user", narrow=narrow)


def test_lambda_trades_relevance_for_diversity(make_project: Callable[..., Path], home: Path) -> None:
    text = "# Backups\n\nBackups of the database run every night at two o'clock on the first server.\n"
    other = "# Backups\n\nA backup of the pictures is made by hand, on tapes.\n"
    session = open_session(
        make_project({"a.md": text, "b.md": text.replace("first", "second"), "c.md": other}), home=home, environment={}
    )
    session.index()
    question = "when do backups of the database run"
    plain = [hit.chunk.uri for hit in session.search(question, mmr_lambda=1.0, min_score=0).hits]
    diverse = [hit.chunk.uri for hit in session.search(question, mmr_lambda=0.1, min_score=0).hits]
    assert set(plain[:2]) == {"a.md", "b.md"} and diverse[1] == "c.md"
    for wrong in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(InvalidInput, match="mmr_lambda"):
            session.search(question, mmr_lambda=wrong)  # type: ignore[arg-type]


def test_a_linked_memory_says_by_which_link_and_how_far(home: Path, contextd: Callable[..., Run]) -> None:
    session = open_session(None, home=home, environment={})
    first, second, third = (
        session.remember(text).memory.id
        for text in ("backups are made at night", "the tapes are in the cellar", "the cellar key is red")
    )
    session.memories.link(first, second, "explains")
    session.memories.link(second, third, "needs")
    told = json.loads(contextd("recall", "when are backups made", "--links", "2", "--json").out)
    relations = {hit["path"].removeprefix("memory:"): hit.get("relation") for hit in told["hits"]}
    assert relations[first] is None
    assert relations[second] == {"kind": "explains", "depth": 1, "with": f"memory:{first}"}
    assert relations[third] == {"kind": "needs", "depth": 2, "with": f"memory:{second}"}
    assert "(explains, " in contextd("recall", "when are backups made", "--links", "1").out


def test_the_json_of_an_answer_has_highlights_and_offsets(
    session: Session, project: Path, contextd: Callable[..., Run]
) -> None:
    for command in ("search", "context", "explain"):
        told = json.loads(contextd(command, "delete a user", "--json", "-p", str(project)).out)
        hit = next(hit for hit in told["hits"] if hit["path"] == "src/app/store.py")
        text = (project / "src/app/store.py").read_text()[hit["offsets"]["start"] : hit["offsets"]["end"]]
        assert "delete" in {text[first:end].lower() for first, end in hit["highlights"]}, command
    assert told["ids"] and told["budget_used"] > 0 and set(told["scores"]) == set(told["ids"])


@pytest.mark.parametrize(
    ("question", "kind", "text"),
    [
        ("delete a user", "code_function", "def delete_user"),
        ("handler for a request", "code_class", "class Router"),
        ("match a request", "code_function", "def match"),
        ("backups", "markdown_section", "Backups run nightly"),
    ],
)
def test_a_filter_by_kind_sees_units_that_share_a_chunk(session: Session, question: str, kind: str, text: str) -> None:
    narrow = Narrow(kinds=[kind])
    for hits in (session.search(question, narrow=narrow).hits, session.context(f"{question} kind:{kind}").hits):
        assert any(text in hit.chunk.text for hit in hits) and all(kind in hit.chunk.kinds for hit in hits)
    assert session.find(text, narrow=narrow), "and by its text"
    assert not session.search(question, narrow=Narrow(kinds=["sql_statement"])).hits


class Vectors:
    """As much of a view as choosing hits needs: the vectors of chunks by document."""

    fields = frozenset({"chunk"})
    rows = ((1.0, 0.0), (1.0, 0.0), (0.0, 1.0))

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> NDArray[np.float32]:
        return np.array([self.rows[chunk.document] for chunk in chunks], np.float32)


def test_the_order_of_hits_does_not_depend_on_the_threshold() -> None:
    """The second repeats the first, so it comes late, whether or not the first is relevant enough to be shown."""
    first, second, third = (Candidate(ChunkId(n, 0), {}, score) for n, score in enumerate((1.0, 0.95, 0.9)))
    every = [first, second, third]
    likely = {first.chunk: 0.1, second.chunk: 0.8, third.chunk: 0.8}
    query = Query("x", Scope((1,), THE_OWNER))

    def chosen(threshold: float) -> list[int]:
        kept = [one for one in every if likely[one.chunk] >= threshold]
        pool = _Pool(Vectors(), every, kept, likely, {}, {"static/x": np.zeros(2, np.float32)})  # type: ignore[arg-type]
        return [one.chunk.document for one in _spread(pool, query, Trace(None))]

    assert chosen(0.0) == [0, 2, 1] and chosen(0.3) == [2, 1]


def test_paths_of_the_caller_were_not_understood(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    assert session.search(f"{project}/src/app/store.py").hits[0].chunk.uri == "src/app/store.py"
    for path in ("./src/app/", str(project / "src"), "src/app/*.py"):
        found = contextd("search", "load_user", "--path", path, cwd=project)
        assert found.code == 0, path
    assert contextd("search", "load_user", "--path", "app", "-p", str(project), cwd=project / "src").code == 0
    run = contextd("search", "load_user", "--path", "nowhere", cwd=project)
    assert run.code == 1 and "no indexed files at nowhere" in run.err
    assert "only filters" in contextd("search", "lang:py", cwd=project).err
    assert contextd("search", "load_user lang:py", cwd=project).code == 0
