"""What every store must do, asked through its port alone: no SQL, no paths; the stores are in `conftest.py`."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from contextd.errors import IndexMismatch
from contextd.ports.store import Applied, Batch
from contextd.text.terms import key
from contextd.values.answer import Suggestion
from contextd.values.document import ChunkId, Stamp
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted
from tests.stores.asking import near, words
from tests.stores.shelf import HELD, OWNER, SOURCE, SPACE, WORKSPACE, Shelf, number_of


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
    shelf.remove("a.txt")
    assert shelf.texts("fox") == []
    shelf.settle()
    assert shelf.texts("fox") == []


def test_content_that_comes_back_is_found_again(shelf: Shelf) -> None:
    shelf.put("a.txt", "the quick fox")
    shelf.remove("a.txt")
    shelf.settle()
    shelf.put("b.txt", "the quick fox")
    assert shelf.texts("fox") == ["the quick fox"]


def test_content_is_stored_once_and_answers_for_the_path_in_scope(shelf: Shelf) -> None:
    shelf.put("src/a.txt", "the same text")
    shelf.put("lib/b.txt", "the same text")
    assert shelf.store.holds(number_of("content", "the same text"))
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
    shelf.remove("b.txt")
    seen = [(change.document, change.what) for change in shelf.store.changes(start)]
    assert seen == [(a, "put"), (b, "put"), (a, "put"), (b, "gone")]
    shelf.settle()
    with pytest.raises(IndexMismatch):
        list(shelf.store.changes(start))


def test_a_view_does_not_change_while_it_is_open(shelf: Shelf) -> None:
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
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert view.get([ChunkId(number, 0)]) == []


def test_a_change_of_rights_counts_at_once(shelf: Shelf) -> None:
    shelf.put("a.txt", "fox one")
    shelf.apply(Batch(shared={SOURCE: frozenset({"ana"})}))
    assert shelf.texts("fox") == []
    assert shelf.texts("fox", Reader("ana")) == ["fox one"]


def test_scope_narrows_before_ranking(shelf: Shelf) -> None:
    """FAULTS C-5: k visible hits are found even when many better ones are out of scope."""
    for number in range(30):
        shelf.put(f"big/{number}.txt", f"fox fox fox {number}")
    shelf.put("small/a.txt", "one fox among many other words in a longer text")
    assert shelf.texts("fox", paths=("small",)) == ["one fox among many other words in a longer text"]
    assert shelf.texts("fox", kinds=frozenset({"nothing"})) == []


def test_another_process_sees_the_same(shelf: Shelf, other_process: Shelf) -> None:
    shelf.put("a.txt", "the quick fox")
    assert other_process.texts("fox") == ["the quick fox"]
    shelf.put("b.txt", "another fox")
    assert set(other_process.texts("fox")) == {"the quick fox", "another fox"}


def test_a_batch_has_one_position_and_an_empty_one_has_none(shelf: Shelf) -> None:
    start = shelf.apply(Batch())
    numbers = shelf.put_all({"a.txt": "one fox", "b.txt": "two foxes", "c.txt": "three"})
    changes = list(shelf.store.changes(start))
    assert {change.document for change in changes} == set(numbers) and len({change.seq for change in changes}) == 1
    assert shelf.apply(Batch()) == changes[0].seq
    shelf.put("a.txt", "changed fox")
    shelf.remove("b.txt", "c.txt")
    assert [change.seq - changes[0].seq for change in shelf.store.changes(changes[0].seq)] == [1, 2, 2]


def test_a_document_written_twice_in_one_batch_is_the_last_one(shelf: Shelf) -> None:
    shelf.put("a.txt", "old fox")
    first, second = Recorder(), Recorder()
    Shelf(first, fold=False).put("a.txt", "first fox")
    Shelf(second, fold=False).put("a.txt", "second fox")
    assert first.batch and second.batch
    shelf.apply(Batch([*first.batch.written, *second.batch.written]))
    assert shelf.texts("fox") == ["second fox"]


class Recorder:
    """A store that only notes the batch it is handed."""

    batch: Batch | None = None

    def holds(self, content: int) -> bool:
        return False

    def apply(self, batch: Batch, lease: object) -> Applied:
        self.batch = batch
        return Applied(0, ())


def test_touched_documents_change_for_no_reader(shelf: Shelf) -> None:
    shelf.put("a.txt", "the quick fox")
    (row,) = shelf.store.documents(SOURCE).values()
    before = shelf.apply(Batch())
    moved = row.__class__(*(getattr(row, name) if name != "stamp" else Stamp(9, 9, 9, 9) for name in row.__slots__))
    assert shelf.apply(Batch(touched=[moved])) == before
    assert shelf.store.documents(SOURCE)["a.txt"].stamp == Stamp(9, 9, 9, 9)
    assert list(shelf.store.changes(before)) == [] and shelf.texts("fox") == ["the quick fox"]


def test_sharing_what_is_shared_so_already_is_no_change(shelf: Shelf) -> None:
    shelf.put("a.txt", "fox one")
    first = shelf.apply(Batch(shared={SOURCE: frozenset({"owner", "ana"})}))
    assert shelf.apply(Batch(shared={SOURCE: frozenset({"owner", "ana"})})) == first
    assert shelf.texts("fox", Reader("ana")) == ["fox one"]


def test_vectors_may_come_later_and_older_spaces_go(shelf: Shelf) -> None:
    shelf.put("a.txt", "fox one", vector=[1, 0, 0, 0])
    shelf.put("b.txt", "fox two")
    (waiting,) = shelf.store.missing_vectors(SPACE, 10)
    assert waiting == (number_of("content", "fox two"), ["fox two"])
    shelf.store.add_vectors(SPACE, {waiting[0]: np.array([[0, 1, 0, 0]], np.float32), 4711: np.zeros((1, 4), np.float32)})
    assert shelf.store.missing_vectors(SPACE, 10) == []
    newer = "static/test/4/2"
    contents = [content for content, _ in shelf.store.missing_vectors(newer, 10)]
    shelf.store.add_vectors(newer, {content: np.array([[0, 0, 1, 0]], np.float32) for content in contents})
    assert shelf.store.adopt(newer) == 2
    shelf.store.fold(HELD)
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert view.spaces == {newer: 2}
        assert len(near(view, np.array([0, 0, 1, 0], np.float32), 10, space=newer)) == 2


def test_several_chunks_of_one_file_can_be_suggested_and_a_file_by_its_name(shelf: Shelf) -> None:
    shelf.put("a.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n")
    shelf.put("b.py", "def four():\n    return 4\n\n\ndef five():\n    return 5\n")
    asked = [Suggestion(0.9, uri="a.py", line=1), Suggestion(0.8, uri="a.py", line=9), Suggestion(0.7, uri="b.py")]
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        found = view.get([hit.chunk for hit in view.retrieve(Wanted(10, suggested={"outside": asked})).found["outside"]])
    assert [(chunk.uri, chunk.start_line) for chunk in found] == [("a.py", 1), ("a.py", 9), ("b.py", 1)]


def test_a_content_that_went_between_the_look_and_the_write_is_refused(shelf: Shelf) -> None:
    """A document written with a content whose terms a fold has dropped would never be found."""
    shelf.put("a.txt", "the quick fox")
    (row,) = shelf.store.documents(SOURCE).values()
    copy = replace(row, id=number_of("document", "b.txt"), uri="b.txt")
    assert shelf.store.holds(row.content)
    shelf.put("a.txt", "a lazy dog")
    shelf.settle()
    applied = shelf.store.apply(Batch(reused=[copy]), HELD)
    assert applied.refused == [copy] and set(shelf.store.documents(SOURCE)) == {"a.txt"}
    shelf.put("a.txt", "the quick fox")
    assert shelf.store.apply(Batch(reused=[copy]), HELD).refused == [] and shelf.texts("fox") == ["the quick fox"]
    shelf.store.check()


def test_every_combination_of_changes_in_one_batch(shelf: Shelf) -> None:
    written = Recorder()
    Shelf(written, fold=False).put_all({"a.txt": "one fox", "b.txt": "two foxes"})
    assert written.batch
    (first, second) = (row.id for row, _, _ in written.batch.written)
    start = shelf.apply(Batch())
    both = Batch(written.batch.written, granted=written.batch.granted, removed=[second], shared={SOURCE: frozenset({"ana"})})
    end = shelf.apply(both)
    assert {(one.document, one.what) for one in shelf.store.changes(start)} == {(first, "put"), (second, "gone")}
    assert shelf.texts("one", Reader("ana")) == ["one fox"] and shelf.texts("one") == [] == shelf.texts("two", Reader("ana"))
    assert shelf.apply(Batch(removed=[second, 4711])) == end, "what is not there is not removed"
    assert shelf.apply(Batch(granted=[frozenset({"bob"})])) == end
