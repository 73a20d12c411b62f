"""The lines that answer: which chunk of a file comes first, where a name is declared, what a budget shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.querying import gather
from contextd.querying.order import SHORTLIST
from contextd.querying.pack import CUT_MARK
from contextd.values.query import Narrow, Reader

_FILLER = "\n".join(f"    total_{n} = combine(total_{n - 1}, offset_{n})" for n in range(1, 40))
FILES = {
    "src/pager.py": f'''"""Paging of long output."""


class Pager:
    """Shows long text page by page."""

    def __init__(self, stream):
        self.stream = stream

    def show(self, text):
        """Write the text to the stream, page by page."""
        for page in split_pages(text):
            self.stream.write(page)


def split_pages(text):
    height = terminal_height()
    return [text[at : at + height] for at in range(0, len(text), height)]


def unrelated(total_0):
{_FILLER}
    return total_39


def choose_pager(environment):
    """Choose the pager program: the user's PAGER variable first, then less, then plain output."""
    configured = environment.get("PAGER")
    if configured:
        return configured
    return "less" if exists("less") else None
''',
    "src/impls.rs": "pub struct Router {\n    routes: Vec<Route>,\n}\n\nimpl Router {\n"
    + "\n".join(f"    pub fn router_step_{n}(&self) -> Router {{ Router::new() }}" for n in range(30))
    + "\n}\n",
    "src/Shape.java": "/**\n * A Shape. A Shape has a Shape inside.\n */\npublic class Shape {\n  private final int size;\n\n"
    + "  public Shape(int size) {\n    this.size = size;\n  }\n\n"
    + "\n".join(f"  public Shape scaled{n}(int by) {{\n    return new Shape(size * by + {n});\n  }}\n" for n in range(20))
    + "}\n",
    "tests/test_pager.py": 'def test_choose_pager_from_the_environment():\n    """The pager program is chosen from the PAGER variable."""\n'
    '    assert choose_pager({"PAGER": "more"}) == "more"\n',
    "docs/pager.md": "# Output\n\nLong output is shown by a pager. How the program works is described elsewhere.\n",
}


@pytest.fixture
def session(make_project: Callable[..., Path], home: Path) -> Session:
    found = open_session(make_project(FILES), home=home, environment={})
    found.index()
    return found


def test_an_answer_begins_with_the_chunk_that_answers_not_with_tests_or_documents(session: Session) -> None:
    answer = session.context("how is the pager program chosen", budget=500)
    first = answer.hits[0].chunk
    assert first.label == "choose_pager" and 'return "less" if exists("less") else None' in answer.text
    assert answer.tokens <= 500


def test_the_second_place_is_what_the_first_one_calls(session: Session) -> None:
    labels = [hit.chunk.label for hit in session.context("how does Pager show write text page by page", budget=600).hits]
    assert any("split_pages" in label for label in labels)


@pytest.mark.parametrize(("name", "line"), [("Pager", 4), ("Router", 1), ("Shape", 4)])
def test_the_declaration_of_a_name_comes_first(session: Session, name: str, line: int) -> None:
    """Not an impl block, a constructor, or whatever mentions it most often."""
    first = session.search(name).hits[0]
    assert first.chunk.start_line <= line <= first.chunk.end_line and first.focus == line
    answer = session.context(name, budget=120)
    assert answer.tokens <= 120 and any(hit.chunk.start_line <= line <= hit.chunk.end_line for hit in answer.hits)


def test_case_counts_for_a_name(make_project: Callable[..., Path], home: Path) -> None:
    files = {"a.py": "def command(name):\n    return name\n", "b.py": "class Command:\n    pass\n\n\nclass Other:\n    pass\n"}
    session = open_session(make_project(files), home=home, environment={})
    session.index()
    assert session.search("Command").hits[0].chunk.uri == "b.py"
    assert session.search("command").hits[0].chunk.uri == "a.py"


@pytest.mark.parametrize("name", ["Pager(", "Pa.*ger", "a" * 300, "operator[]", "Router::new", "$Pager", "__init__"])
def test_odd_names_are_asked_for_without_harm(session: Session, name: str) -> None:
    session.search(name)
    assert session.context(name, budget=200).tokens <= 200


def test_filters_hold_for_every_chunk_of_an_answer(session: Session) -> None:
    for narrow in (Narrow(kinds=["code_class"]), Narrow(paths=["docs"]), Narrow(languages=["python"])):
        answer = session.context("how is the pager program chosen", narrow=narrow, min_score=0.0)
        assert all(hit.chunk.kind == "code_class" for hit in answer.hits) or not narrow.kinds
        assert all(hit.chunk.uri.startswith("docs/") for hit in answer.hits) or not narrow.paths
        assert all(hit.chunk.language == "python" for hit in answer.hits) or not narrow.languages
        assert answer.hits


def test_what_a_reader_may_not_see_is_not_opened(session: Session, project: Path, home: Path) -> None:
    other = open_session(session.root(), home=home, environment={}, reader="ana")
    assert other.reader == Reader("ana")
    assert other.context("how is the pager program chosen").hits == ()
    assert other.search("Pager").hits == []


@pytest.mark.parametrize("template", ["markdown", "xml", "json"])
def test_a_larger_budget_shows_all_that_a_smaller_one_shows(session: Session, template: str) -> None:
    before: set[str] = set()
    question = "how does the pager show pages and which program is chosen"
    for budget in range(60, 1600, 35):
        answer = session.context(question, budget=budget, template=template, min_score=0.0)
        lines = {f"{hit.chunk.uri} {line}" for hit in answer.hits for line in hit.chunk.text.split("\n") if line != CUT_MARK}
        assert before <= lines and answer.tokens <= budget
        before = lines


def test_explain_has_a_row_for_everything_that_was_read_and_not_shown(session: Session) -> None:
    answer = session.context("how is the pager program chosen", budget=200, min_score=0.0)
    dropped = {drop.what for drop in answer.trace.drops if drop.step == "pack"}
    shown = {hit.chunk.id for hit in answer.hits}
    wide = session.context("how is the pager program chosen", budget=100_000, min_score=0.0)
    assert {f"{hit.chunk.uri}:{hit.chunk.start_line}" for hit in wide.hits if hit.chunk.id not in shown} <= dropped


def test_explain_has_a_row_for_every_chunk_that_is_not_read_and_every_file_that_is_not_opened(
    make_project: Callable[..., Path], home: Path
) -> None:
    step = (
        "def widget_{0}_{1}(value):\n"
        + "".join(f"    value = rotate_widget(value, {n})\n" for n in range(12))
        + "    return value\n\n\n"
    )
    files = {f"src/part{n}.py": "".join(step.format(n, m) for m in range(12)) for n in range(24)}
    session = open_session(make_project(files), home=home, environment={})
    session.index()
    answer = session.context("where do we rotate a widget value", budget=500, min_score=0.0)
    assert session.project is not None
    with session.structure.view() as view:
        every = {uri: len(view.chunks_of([document])[document]) for document, uri in view.uris().items()}
    closed = {drop.what for drop in answer.trace.drops if drop.step == "gather"}
    unread = sum(_counted(drop.what) for drop in answer.trace.drops if drop.step == "order" and ", chunks " in drop.what)
    assert len(closed) == 4 and closed <= set(every)
    assert unread + SHORTLIST == sum(count for uri, count in every.items() if uri not in closed)


def _counted(what: str) -> int:
    """How many chunks a row names: `src/app.py, chunks 3-7, 9 of 12` are six."""
    parts = [part.split("-") for part in what.partition(", chunks ")[2].partition(" of ")[0].split(", ")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in parts)


def test_chunks_that_touch_are_one_piece_of_the_answer(session: Session) -> None:
    text = session.context("Pager show split_pages", budget=4000, min_score=0.0).text
    assert text.count("def split_pages(text):") == 1 and text.count("### src/pager.py") < 5


def test_the_last_chunk_of_a_very_long_file_is_found(
    make_project: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "_WHOLE", 20)  # chunks from which only those around what was proposed are looked at
    body = "\n\n".join(
        f"def step_{n}(value):\n    return combine(value, {n}, offset_{n}, weight_{n}, bias_{n})" for n in range(1500)
    )
    long = f"{body}\n\n\ndef zebra_quux(value):\n    return stripes(value)\n"
    session = open_session(make_project({"long.py": long}), home=home, environment={})
    session.index()
    assert "def zebra_quux(value):" in session.context("zebra_quux", budget=500).text
    assert "zebra_quux" in session.search("zebra_quux").hits[0].chunk.label


_WORDS = ("retry", "webhook", "backoff", "delivery", "signature", "expired", "tenant", "throttle")


@pytest.mark.parametrize("together", [True, False])
def test_words_that_never_stand_together_do_not_make_a_question_one_about_the_project(
    make_project: Callable[..., Path], home: Path, together: bool
) -> None:
    apart = {
        f"src/part{n}.py": f"def first{n}():\n    {word} = load({n})\n    return {word}\n" for n, word in enumerate(_WORDS)
    }
    both = {
        "src/hooks.py": "def send(webhook, tenant):\n    if delivery.expired:\n        return retry(webhook, backoff, tenant)\n"
    }
    much = {"docs/much.md": "".join(f"# Part {n}\n\n{f'Chapter {n} tells of other things. ' * 30}\n\n" for n in range(420))}
    session = open_session(make_project(apart | much | (both if together else {})), home=home, environment={})
    session.index()
    hits = session.search("when does an expired webhook delivery get a retry with backoff for a tenant").hits
    assert bool(hits) == together
