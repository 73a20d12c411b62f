"""Defects that readers of the code found, each by what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.querying.rank import commits_first
from contextd.querying.understand import understand
from contextd.settings import config
from contextd.text.word_families import family
from contextd.values.answer import Hit
from contextd.values.document import COMMIT
from contextd.values.query import THE_OWNER, Query, Scope


def test_a_word_that_is_too_long_crashed_the_question(session: Session) -> None:
    assert session.search(f"how does {'abcdefg' * 10} load a user", min_score=0).hits


def test_a_word_that_occurs_once_was_not_found_because_a_model_does_not_know_it(
    make_project: Callable[..., Path], home: Path
) -> None:
    lines = "\n".join(f"def amount_{number}(invoice):\n    return invoice.total * {number}\n" for number in range(12))
    files = {f"src/module_{number}.py": f"def handler_{number}(request):\n    return request.body\n" for number in range(12)}
    root = make_project({**files, "src/billing.py": f"{lines}\n# quokka: the rate of the second account\n"})
    session = open_session(root, home=home, environment={})
    session.index()
    for question in ("quokka", "what is quokka"):
        assert [hit.chunk.uri for hit in session.search(question).hits] == ["src/billing.py"]


@pytest.mark.parametrize(
    "question", ["who owns the buffer after send", "who is responsible for closing the socket in the pool"]
)
def test_a_question_about_code_was_taken_for_one_about_people(question: str) -> None:
    plan = understand(Query(question, Scope((1,), THE_OWNER)))
    assert not plan.wants_people and not plan.wants_history
    assert understand(Query("who knows the session store", Scope((1,), THE_OWNER))).wants_people


def test_commits_without_any_of_the_words_came_before_code(session: Session) -> None:
    code = replace(session.search("load_user").hits[0], score=0.95, why={"document_coverage": 1.0})
    commit = Hit(replace(code.chunk, language=COMMIT, uri="commit:1"), 0.31, 1.0, {"document_coverage": 0.0})
    near = Hit(replace(code.chunk, language=COMMIT, uri="commit:2"), 0.31, 1.0, {"document_coverage": 0.6})
    assert commits_first([code, commit], newest=True) == [code, commit]
    assert commits_first([code, near], newest=True) == [code, near], "nor one that is far less relevant"


def test_families_lost_an_s_and_took_nouns_for_agents() -> None:
    assert "processor" in family("process") and "procesor" not in family("process")
    assert "auth" not in family("author") and "fact" not in family("factor")
    assert "edit" in family("editor")


def test_leaving_out_everything_is_refused(session: Session) -> None:
    for path in (".", "/", "./"):
        with pytest.raises(InvalidInput, match="excludes the whole project"):
            session.search(f"users -path:{path}")


def test_a_layer_of_settings_took_the_rest_of_a_providers_table_away(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[context.providers.symbol]\nweight = 0.9\n")
    loaded = config.load(file, None, {"CONTEXTD_PROVIDERS__SYMBOL__ENABLED": "true"})
    assert loaded.settings.providers["symbol"] == {"weight": 0.9, "enabled": True}


def test_a_process_of_an_older_version_can_note_a_failure(session: Session, home: Path) -> None:
    """It writes the columns it knows, by their number."""
    (path,) = home.glob("projects/*/index.db")
    connection = apsw.Connection(str(path))
    connection.execute("insert into failure values (1, 'a.pdf', 'broken', 0, 0)")
    connection.close()


def test_documents_that_could_not_be_read_are_read_when_the_extra_is_there(
    make_project: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project({"a.pdf": "%PDF-1.4 broken"})
    session = open_session(root, home=home, environment={})
    assert session.index().failed
    assert not session.index().failed, "it is left alone"
    project = session.known()
    session = replace(session, project=replace(project, recipe=replace(project.recipe, text=project.recipe.text + " ")))
    assert session.index().failed, "until the way of reading changes"
