"""The space for facts: questions are near the facts that they need, and memories have vectors in it."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import Unavailable
from contextd.models import fact_layers
from contextd.ports.world import fact_embedder, is_fact_space
from contextd.remembering.enrich import VERSION
from contextd.text.needs import compared


def test_memories_have_a_vector_for_facts_and_a_question_is_near_what_it_needs(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    deep = session.setup.record_deep()
    own = fact_embedder(deep)
    if deep is None or own is None:
        pytest.skip("the deep model is not installed")
    facts = ["My passport expires in March", "I am allergic to peanuts", "My shoe size is EU 42"]
    stored = [session.remember(fact).memory.id for fact in facts]
    held = session.home.record.memories.vectors(session.home.personal, stored)
    assert all(own.space in spaces and is_fact_space(own.space) for spaces in held.values())
    vectors = own.documents(facts)
    for question, best in (("plan a trip to Japan", 0), ("what should I cook tonight", 1), ("recommend running shoes", 2)):
        assert int(compared(own.query(question)).by_vectors(vectors).argmax()) == best
    before = deep.documents(facts[:1])
    assert (deep.documents(facts)[:1] == before).all(), "vectors for search do not depend on it"
    session.close()


def test_facts_with_vectors_of_older_weights_are_judged_without_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(None, home=home, environment={})
    if fact_embedder(session.setup.record_deep()) is None:
        pytest.skip("the deep model is not installed")
    with monkeypatch.context() as older:
        older.setattr("contextd.models.fact_layers.fact_space", lambda deep: "facts/older")
        for fact in ("My passport expires in March", "My shoe size is EU 42"):
            session.remember(fact)
        assert not session.facets("plan a trip to Japan").trace.warnings
    answer = session.facets("plan a trip to Japan")
    assert "contextd memories enrich" in " ".join(answer.trace.warnings)
    session.memories.enrich()
    assert not session.facets("plan a trip to Japan").trace.warnings
    session.close()


def test_other_weights_have_a_space_of_another_name() -> None:
    """Vectors of memories that are stored would not fit them. After a training, raise the version and note the hash."""
    noted = {5: "aa29790edff214dd9c1b2f6134a2980e28213b572a43b1a220095283709c745e"}
    data = files("contextd.models").joinpath("learned", "fact-layers.onnx").read_bytes()
    heads = files("contextd.text").joinpath("learned", "heads.npz").read_bytes()
    assert noted[fact_layers._VERSION] == sha256(data + heads).hexdigest()


def test_facts_and_limits_are_shown_if_the_layers_cannot_be_loaded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(None, home=home, environment={})
    if fact_embedder(session.setup.record_deep()) is None:
        pytest.skip("the deep model is not installed")
    session.remember("I am allergic to peanuts")
    session.remember("I have a small kitchen without an oven")

    def fail(name: str, folder: Path) -> None:
        raise Unavailable("no such layers")

    monkeypatch.setattr(fact_layers, "_session", fail)
    answer = session.facets("what should I cook tonight")
    assert "peanuts" in answer.text and any("no such layers" in one for one in answer.trace.warnings)
    assert session.recall("what am I allergic to").hits[0].chunk.text == "I am allergic to peanuts"
    saved = session.remember("My shoe size is EU 42")
    assert (saved.memory.attribute, saved.memory.value) == ("shoe_size", "42"), "by its words"
    assert any("no such layers" in one for one in saved.warnings)
    monkeypatch.undo()
    session.memories.enrich()
    assert session.memories.get(saved.memory.id).enriched == VERSION, "tagged once the layers are back"
    session.close()


def test_another_model_of_the_same_name_has_no_space_for_facts(tmp_path: Path) -> None:
    from contextd.models.deep import _with_states

    folder = tmp_path / "snowflake-arctic-embed-s"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"another model")
    assert _with_states(folder) == folder / "model.onnx"
