"""What every store must do, asked of each arrangement the SQLite store can be in; a second store joins the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from contextd.chunking.cut import Limits
from contextd.chunking.parse import parse
from contextd.errors import IndexMismatch
from contextd.models.tokens import Estimate
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.store import SqliteStore, open_index
from contextd.text.terms import DEFINED, NAME, STEM, key
from contextd.values.answer import Found, Suggestion
from contextd.values.document import DocumentRow, Stamp
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted
from tests.stores.asking import near, words

WORKSPACE = 77
OWNER = Reader("owner")
SPACE = "static/test/4/1"


class Shelf:
    """A store with a short way to put texts into it."""

    def __init__(self, store: SqliteStore, fold: bool) -> None:
        self.store, self._fold = store, fold

    def put(
        self, uri: str, text: str, principals: frozenset[str] = frozenset({"owner"}), vector: list[float] | None = None
    ) -> int:
        parsed = parse(text.encode(), "python" if uri.endswith(".py") else "text", Limits(small=0), Estimate().count)
        number, content = abs(hash(("document", uri))) >> 2, abs(hash(("content", text))) >> 2
        acl = self.store.grant(principals)
        row = DocumentRow(number, 5, uri, content, acl, "python", Stamp(1, 2, 3, 4), b"digest", 1_000_000)
        vectors = {SPACE: np.array([vector] * len(parsed.pieces), np.float32)} if vector else {}
        if not self.store.reuse(row):
            self.store.put([(row, parsed, vectors)])
        if self._fold:
            self.store.fold(force=True)
        return number

    def words(self, query: str, reader: Reader = OWNER, field: str = "chunk", **scope: object) -> list[Found]:
        salt = {"name": NAME, "stem": STEM, "defined": DEFINED}.get(field, "")
        with self.store.view(Scope((WORKSPACE,), reader, **scope)) as view:  # type: ignore[arg-type]
            return words(view, {key(term, salt): 1.0 for term in query.split()}, 10, field=field)

    def texts(self, query: str, reader: Reader = OWNER, **scope: object) -> list[str]:
        with self.store.view(Scope((WORKSPACE,), reader, **scope)) as view:  # type: ignore[arg-type]
            found = words(view, {key(term): 1.0 for term in query.split()}, 10, field="chunk")
            return [chunk.text for chunk in view.get([hit.chunk for hit in found])]


@pytest.fixture(params=["in the delta", "in the base", "in a durable database"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    if request.param == "in a durable database":
        store = SqliteStore(Database(tmp_path / "record.db", durable=True, schemas=("index", "record")), WORKSPACE)
    else:
        store = open_index(tmp_path, WORKSPACE)
    yield Shelf(store, request.param == "in the base")
    store.close()


def test_a_document_is_found_by_its_words_when_put_returns(shelf: Shelf) -> None:
    shelf.put("a.txt", "the quick brown fox")
    shelf.put("b.txt", "a lazy dog sleeps")
    assert shelf.texts("fox") == ["the quick brown fox"]
    assert shelf.texts("cat") == []


def test_rare_words_count_more_and_short_texts_too(shelf: Shelf) -> None:
    for number in range(6):
        shelf.put(f"common{number}.txt", f"apple pear text number {number}")
    shelf.put("rare.txt", "apple quince")
    assert shelf.texts("appl quinc")[0] == "apple quince"


def test_a_new_version_replaces_the_old_one_at_once(shelf: Shelf) -> None:
    shelf.put("a.txt", "old words here")
    shelf.put("a.txt", "new words here")
    assert shelf.texts("old") == []
    assert shelf.texts("new") == ["new words here"]


def test_a_removed_document_is_gone(shelf: Shelf) -> None:
    shelf.put("a.txt", "the quick fox")
    shelf.store.remove(5, ["a.txt"])
    assert shelf.texts("fox") == []
    shelf.store.finish()
    assert shelf.texts("fox") == []


def test_content_that_comes_back_is_found_again(shelf: Shelf) -> None:
    shelf.put("a.txt", "the quick fox")
    shelf.store.remove(5, ["a.txt"])
    shelf.store.finish()
    shelf.put("b.txt", "the quick fox")
    assert shelf.texts("fox") == ["the quick fox"]


def test_content_is_stored_once_and_answers_for_the_path_in_scope(shelf: Shelf) -> None:
    shelf.put("src/a.txt", "the same text")
    shelf.put("lib/b.txt", "the same text")
    assert shelf.store.rows("select count(*) from content where workspace_id = ?") == [(1,)]
    assert len(shelf.words("same")) == 1
    with shelf.store.view(Scope((WORKSPACE,), OWNER, paths=("src",))) as view:
        found = words(view, {key("same"): 1.0}, 10, field="chunk")
        assert [chunk.uri for chunk in view.get([hit.chunk for hit in found])] == ["src/a.txt"]


def test_names_and_file_names_are_fields_of_their_own(shelf: Shelf) -> None:
    shelf.put("src/session.py", "def open_session(user):\n    return user\n")
    shelf.put("src/other.py", "x = open_session(1)\n")
    assert len(shelf.words("open_session", field="name")) == 1
    assert len(shelf.words("session", field="stem")) == 1


def test_the_words_of_defined_names_are_a_field_and_others_names_change_nothing(shelf: Shelf) -> None:
    shelf.put("src/a.py", "def open_session(user):\n    return user\n")
    shelf.put("src/b.py", "def close_door():\n    return open_session(1)\n")
    before = shelf.words("session door", field="defined")
    assert [round(hit.score, 3) for hit in before] == [0.5, 0.5]
    assert len(shelf.words("user", field="defined")) == 0, "it is said, not defined"
    for number in range(5):
        shelf.put(f"secret/{number}.py", f"def session_{number}():\n    return {number}\n", principals=frozenset({"ana"}))
    assert shelf.words("session door", field="defined") == before


def test_whole_documents_are_scored_too(shelf: Shelf) -> None:
    shelf.put("a.py", "def one():\n    return alpha\n\n\ndef two():\n    return beta\n")
    shelf.put("b.py", "def three():\n    return alpha\n")
    best = shelf.words("alpha beta", field="document")
    assert best[0].coverage == pytest.approx(1.0) and best[1].coverage < 1


def test_nearest_vectors_by_exact_search(shelf: Shelf) -> None:
    shelf.put("x.txt", "first text", vector=[1, 0, 0, 0])
    shelf.put("y.txt", "second text", vector=[0.6, 0.8, 0, 0])
    shelf.put("z.txt", "third text")
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        found = near(view, np.array([0, 1, 0, 0], np.float32), 10, space=SPACE)
        assert [chunk.uri for chunk in view.get([hit.chunk for hit in found])] == ["y.txt", "x.txt"]
        assert found[0].score == pytest.approx(0.8, abs=0.01)
        assert view.spaces == {SPACE: 2}


def test_F19_vectors_of_another_space_are_never_compared(shelf: Shelf) -> None:
    """FAULTS F-19: neither a space of another name nor a vector of another length meets these."""
    shelf.put("x.txt", "first text", vector=[1, 0, 0, 0])
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert near(view, np.ones(4, np.float32), 10, space="static/other/4/1") == []
        assert near(view, np.ones(8, np.float32), 10, space=SPACE) == []


def test_F20_vectors_that_are_not_numbers_are_left_out(shelf: Shelf) -> None:
    """FAULTS F-20: NaN, infinity and zero vectors are refused at the boundary; the text stays searchable by words."""
    for number, vector in enumerate([[float("nan"), 0, 0, 1], [float("inf"), 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]):
        shelf.put(f"{number}.txt", f"text number {number} fox", vector=vector)
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        found = near(view, np.array([0, 0, 0, 1], np.float32), 10, space=SPACE)
        assert len(found) == 1 and np.isfinite(found[0].score)
    assert len(shelf.words("fox")) == 4


def test_the_change_feed_tells_every_change_in_order_deletions_too(shelf: Shelf) -> None:
    start = 0
    a = shelf.put("a.txt", "one")
    b = shelf.put("b.txt", "two")
    shelf.put("a.txt", "three")
    shelf.store.remove(5, ["b.txt"])
    seen = [(change.document, change.what) for change in shelf.store.changes(start)]
    assert seen == [(a, "put"), (b, "put"), (a, "put"), (b, "gone")]
    shelf.store.finish()
    with pytest.raises(IndexMismatch):
        list(shelf.store.changes(start))


def test_a_view_does_not_change_while_it_is_open(shelf: Shelf) -> None:
    import threading

    shelf.put("a.txt", "the old fox")
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        before = words(view, {key("fox"): 1.0}, 10, field="chunk")
        writer = threading.Thread(target=lambda: (shelf.put("a.txt", "the new fox"), shelf.store.close()))
        writer.start()
        writer.join()
        again = words(view, {key("fox"): 1.0}, 10, field="chunk")
        assert before == again
        assert [chunk.text for chunk in view.get([hit.chunk for hit in before])] == ["the old fox"]
    assert shelf.texts("fox") == ["the new fox"]


def test_rights_are_equality_and_nobody_is_a_superuser(shelf: Shelf) -> None:
    shelf.put("mine.txt", "fox one", frozenset({"owner"}))
    shelf.put("ana.txt", "fox two", frozenset({"ana"}))
    shelf.put("all.txt", "fox three", frozenset({"everyone"}))
    assert set(shelf.texts("fox")) == {"fox one", "fox three"}
    assert set(shelf.texts("fox", Reader("ana"))) == {"fox two", "fox three"}
    for name in ("%", "' or 1=1 --", "own_r", "OWNER", "", "*", '["owner"]'):
        assert shelf.texts("fox", Reader(name)) == ["fox three"], name


def test_rights_are_checked_again_when_texts_are_fetched(shelf: Shelf) -> None:
    number = shelf.put("ana.txt", "fox two", frozenset({"ana"}))
    from contextd.values.document import ChunkId

    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert view.get([ChunkId(number, 0)]) == []


def test_a_change_of_rights_counts_at_once(shelf: Shelf) -> None:
    shelf.put("a.txt", "fox one")
    shelf.store.share((5,), shelf.store.grant(frozenset({"ana"})))
    assert shelf.texts("fox") == []
    assert shelf.texts("fox", Reader("ana")) == ["fox one"]


def test_scope_narrows_before_ranking(shelf: Shelf) -> None:
    """FAULTS C-5: k visible hits are found even when many better ones are out of scope."""
    for number in range(30):
        shelf.put(f"big/{number}.txt", f"fox fox fox {number}")
    shelf.put("small/a.txt", "one fox among many other words in a longer text")
    assert shelf.texts("fox", paths=("small",)) == ["one fox among many other words in a longer text"]
    assert shelf.texts("fox", kinds=frozenset({"nothing"})) == []


def test_another_process_sees_the_same(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("a.txt", "the quick fox")
    path = shelf.store.database.path
    other = SqliteStore(Database(path, durable=False, schemas=("index",) if path.name == "index.db" else ("index", "record")), WORKSPACE, shelf.store.folder)  # fmt: skip
    try:
        assert Shelf(other, False).texts("fox") == ["the quick fox"]
        shelf.put("b.txt", "another fox")
        assert set(Shelf(other, False).texts("fox")) == {"the quick fox", "another fox"}
    finally:
        other.close()


def test_a_missing_or_damaged_base_is_made_again_from_the_database(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), True)
    shelf.put("src/session.py", "def open_session(user):\n    return user\n", vector=[1, 0, 0, 0])
    expected = shelf.words("session"), shelf.words("open_session", field="name")
    (base,) = tmp_path.glob("base-*.arrays")
    for damage in (lambda: base.unlink(), lambda: base.write_bytes(b"garbage"), lambda: base.write_bytes(b"")):
        damage()
        again = Shelf(open_index(tmp_path, WORKSPACE), False)
        assert (again.words("session"), again.words("open_session", field="name")) == expected
        with again.store.view(Scope((WORKSPACE,), OWNER)) as view:
            assert view.spaces == {}, "a vector that only the base had is made again, from its text"


def test_scores_do_not_depend_on_when_things_were_folded(tmp_path: Path) -> None:
    texts = {f"{n}.txt": f"fox number {n} " + "word " * (n % 7) for n in range(40)}
    results = []
    for folder, every in (("a", 1), ("b", 7), ("c", 1000)):
        store = open_index(tmp_path / folder, WORKSPACE)
        shelf = Shelf(store, False)
        for number, (uri, text) in enumerate(texts.items(), 1):
            shelf.put(uri, text)
            if number % every == 0:
                store.fold(force=True)
        results.append(shelf.words("fox number word"))
        store.close()
    assert results[0] == results[1] == results[2]


Make = Callable[..., Path]


def test_several_chunks_of_one_file_can_be_suggested_and_a_file_by_its_name(shelf: Shelf) -> None:
    shelf.put("a.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n")
    shelf.put("b.py", "def four():\n    return 4\n\n\ndef five():\n    return 5\n")
    asked = [Suggestion(0.9, uri="a.py", line=1), Suggestion(0.8, uri="a.py", line=9), Suggestion(0.7, uri="b.py")]
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        found = view.get([hit.chunk for hit in view.retrieve(Wanted(10, suggested={"outside": asked})).found["outside"]])
    assert [(chunk.uri, chunk.start_line) for chunk in found] == [("a.py", 1), ("a.py", 9), ("b.py", 1)]
