"""Steps that ask a language model: what each changes, its deadline, and the rules it falls back on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.assisting import faults_of
from contextd.app.profiles import profile_service
from contextd.app.session import Session
from contextd.errors import Unavailable
from contextd.querying.assisted.ask import KeptReplies
from contextd.querying.assisted.intend import prompt, schema_of
from contextd.querying.assisted.propose import by_rules, proposals_in
from contextd.querying.assisted.shorten import fault_of
from contextd.settings.defaults import LanguageModel, Proxy, Settings
from contextd.text.json_schema import fault_in
from tests.conftest import SAMPLE, Run, new_home, written
from tests.engines.scripted import Scripted, assisted, hang, intent
from tests.llama import Llama

FACTS = (
    "My shoe size is EU 42", "I have a budget of 150 EUR for sneakers", "I prefer black sneakers", "I like running shoes by Salomon",
    "My favorite database is SQLite", "I am learning the violin",
)  # fmt: skip
SNEAKERS = "Help me find casual sneakers for my feet"
NOTES = {
    f"notes/{name}.md": f"# {name.title()}\n\nThe {name} of the harbor office {what}.\n"
    for name, what in {
        "heating": "burns wood pellets", "cooling": "runs in July", "lighting": "was changed to LED", "cleaning": "happens on Mondays",
        "painting": "is green", "wiring": "is from 1970", "plumbing": "leaks in the cellar", "roofing": "is made of slate",
        "flooring": "creaks in the hall", "fencing": "needs a new gate", "mailing": "is done by Ann", "parking": "is behind the house",
    }.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Session:
    folder = tmp_path_factory.mktemp("steps")
    project, home = written(folder / "project", {**SAMPLE, **NOTES}), new_home(folder / "home", weights)
    session = open_session(project, home=home, environment={}, flags={"cache.enabled": False})
    session.index()
    for fact in FACTS:
        session.remember(fact)
    return session


# What the question means


def test_the_prompt_has_the_schema_the_profile_and_the_history() -> None:
    turns = prompt("And the other one?", ["Which shoes?", "Black ones", "Fine"], "tone: direct", ["Fashion"])
    text = "\n".join(turn.content for turn in turns)
    assert all(name in text for name in schema_of(())["properties"])
    assert all(one in text for one in ("tone: direct", "Which shoes?", "Black ones", "Fine", "And the other one?", "Fashion"))
    assert turns[0] == prompt("another", [], "", [])[0]  # the same prefix for every question


def test_act_subject_entities_and_confidence_come_from_the_model(base: Session) -> None:
    chat = Scripted(lambda _: intent(intent_type="recall", entities=["Ann"], subject="planning", confidence=0.8))
    plan = assisted(base, chat, intent=True).facets("what did I decide about the schema").plan
    assert (plan.act, plan.subject, plan.confidence, plan.model) == ("recall", "planning", 0.8, "scripted/one")
    assert "Ann" in plan.entities and len(chat.asked) == 1


def test_an_unsure_model_changes_nothing(base: Session) -> None:
    chat = Scripted(lambda _: intent(intent_type="task", confidence=0.4, suggested_top_k=1))
    rules, answer = base.facets(SNEAKERS), assisted(base, chat, intent=True).facets(SNEAKERS)
    assert (answer.plan, answer.text) == (rules.plan, rules.text) and any("not sure" in one for one in answer.trace.warnings)


def test_topics_and_domain_raise_facts_of_that_topic(base: Session) -> None:
    base.remember("My violin teacher is strict", topics=("Music",))
    topics = [topic.name for topic in base.memories.topics()]
    assert "Music" in topics
    music = next(one for one in topics if one == "Music")
    chat = Scripted(lambda _: intent(subject="none", domain=music, topics=[music]))
    question = "Which violin teacher do I have?"
    rules, answer = base.facets(question), assisted(base, chat, intent=True).facets(question)
    score = {hit.chunk.text: hit.rank_score for hit in answer.hits}
    before = {hit.chunk.text: hit.rank_score for hit in rules.hits}
    assert answer.plan.domain == music and answer.plan.topics == (music,)
    assert score["My violin teacher is strict"] == pytest.approx(before["My violin teacher is strict"] + 0.1)


def test_a_topic_that_the_user_does_not_have_is_no_answer(base: Session) -> None:
    chat = Scripted(lambda _: intent(domain="Astrology"))
    answer = assisted(base, chat, intent=True).facets(SNEAKERS)
    assert len(chat.asked) == 2 and answer.plan.model == "" and any("intent: " in one for one in answer.trace.warnings)


def test_the_strategy_decides_which_arms_are_searched(base: Session) -> None:
    def arms(**found: Any) -> set[str]:
        hits = (
            assisted(base, Scripted(lambda _: intent(**found)), intent=True).search("wood pellets heating", min_score=0.0).hits
        )
        return {arm for hit in hits for arm, value in hit.why.items() if value > 0}

    assert {"chunk", "static"} <= arms()
    found = arms(search_strategy="vector_only")
    assert "static" in found and not found & {"chunk", "document", "stem", "folder", "defined", "name"}


def test_a_question_of_small_words_is_searched_by_vectors_alone(base: Session) -> None:
    plan = base.search("how does it do this").plan
    assert (plan.strategy, plan.ratio) == ("vector_only", 1.0)
    hits = base.search("how does it do this", min_score=0.0).hits
    assert hits and not any(hit.why.get("chunk") for hit in hits)
    assert base.search("load_user").plan.strategy == "keyword_heavy" and base.search("load a user").plan.strategy == "hybrid"


def test_without_vectors_words_are_searched_whatever_the_strategy(base: Session) -> None:
    chat = Scripted(lambda _: intent(search_strategy="vector_only"))
    one = assisted(base, chat, intent=True)
    bare = replace(one, setup=replace(one.setup, static=None, deep=lambda: None))
    assert bare.search("wood pellets").hits[0].chunk.uri == "notes/heating.md"


def test_the_ratio_moves_weight_between_words_and_vectors(base: Session) -> None:
    def scores(ratio: float) -> dict[str, float]:
        chat = Scripted(lambda _: intent(hybrid_ratio=ratio))
        session = assisted(base, chat, intent=True)
        return {hit.chunk.uri: hit.rank_score for hit in session.search("harbor office heating", min_score=0.0).hits}

    words, both, vectors = scores(0.0), scores(0.5), scores(1.0)
    usual = {hit.chunk.uri: hit.rank_score for hit in base.search("harbor office heating", min_score=0.0).hits}
    assert both == usual and words != both != vectors and words != vectors


def test_the_suggested_number_limits_the_hits(base: Session) -> None:
    question = "what about the harbor office"
    many = base.search(question, min_score=0.0).hits
    few = assisted(base, Scripted(lambda _: intent(suggested_top_k=2)), intent=True).search(question, min_score=0.0)
    assert len(many) > 2 and list(few.hits) == list(many[:2]) and few.plan.k == 2


def test_facets_of_the_model_divide_the_answer(base: Session) -> None:
    own = [
        {"name": name, "question": f"What about {name}?", "weight": weight}
        for name, weight in (("size", 1), ("money", 0.5), ("color", 0.2))
    ]
    answer = assisted(base, Scripted(lambda _: intent(subject="shopping", facets=own)), intent=True).facets(SNEAKERS)
    assert [facet.name for facet in answer.plan.facets] == ["size", "money", "color"] and answer.hits
    for bad in (own[:2], [own[0]] * 3, [{**one, "weight": 0} for one in own]):
        usual = assisted(base, Scripted(lambda _, bad=bad: intent(facets=bad)), intent=True).facets(SNEAKERS)  # type: ignore[misc]
        assert len(usual.plan.facets) == 5


@pytest.mark.parametrize("reply", [hang, lambda _: "{", lambda _: 1 / 0, lambda _: intent(intent_type="sing")])
def test_Q8_the_rules_decide_when_the_model_fails(base: Session, reply: Any) -> None:
    rules = base.context("wood pellets")
    began = time.monotonic()
    answer = assisted(base, Scripted(reply), intent=True, intent_seconds=0.3).context("wood pellets")
    assert (answer.text, answer.plan) == (rules.text, rules.plan) and time.monotonic() - began < 15
    assert any(one.startswith("intent: ") for one in answer.trace.warnings)


def test_a_step_takes_only_a_share_of_the_time_that_is_left(base: Session) -> None:
    answer = assisted(base, Scripted(hang), intent=True, intent_seconds=60.0).context("wood pellets", deadline=2.0)
    assert answer.hits and any("in time" in one for one in answer.trace.warnings)


def test_a_model_that_failed_is_left_alone_for_a_moment(base: Session) -> None:
    chat = Scripted(lambda _: 1 / 0)
    session = assisted(base, chat, intent=True)
    session.context("wood pellets")
    assert any("a moment ago" in one for one in session.context("wood pellets").trace.warnings) and len(chat.asked) == 1


def test_the_same_question_is_asked_once(base: Session) -> None:
    chat = Scripted(lambda _: intent())
    session = assisted(base, chat, intent=True)
    session.facets(SNEAKERS)
    session.context(SNEAKERS)
    assert len(chat.asked) == 1
    session.context("another question entirely")
    assert len(chat.asked) == 2


# Reranking


def scored(scores: dict[str, Any]) -> Callable[[str], Any]:
    def reply(text: str) -> Any:
        return next((value for word, value in scores.items() if word in text.partition("Text: ")[2].lower()), {"score": 0.5})

    return reply


def test_reranking_reorders_drops_and_keeps_the_score_of_a_bad_answer(base: Session) -> None:
    question = "what about the harbor office"
    before = base.search(question, min_score=0.0, k=4)
    names = [hit.chunk.uri.removeprefix("notes/").removesuffix(".md") for hit in before.hits]
    chat = Scripted(
        scored({names[0]: {"score": 0.1}, names[1]: "no idea", names[2]: {"score": 0.95}, names[3]: {"score": 0.4}})
    )
    after = assisted(base, chat, reranking=True).search(question, min_score=0.0, k=4)
    found = {hit.chunk.uri: hit.score for hit in after.hits}
    assert next(iter(found)) == before.hits[2].chunk.uri and found[before.hits[2].chunk.uri] == 0.95
    assert before.hits[0].chunk.uri not in found and found[before.hits[1].chunk.uri] == before.hits[1].score
    assert after.hits[0].why["model"] == 0.95 and any(drop.step == "rescore" for drop in after.trace.drops)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_reranking_asks_three_at_once_and_returns_early(base: Session) -> None:
    slow = {"count": 0}

    def reply(_: str) -> Any:
        slow["count"] += 1
        time.sleep(0.05 if slow["count"] <= 5 else 20)
        return {"score": 0.9}

    chat = Scripted(reply)
    began = time.monotonic()
    answer = assisted(base, chat, reranking=True).search("what about the harbor office", min_score=0.0)
    assert len(answer.hits) == 5 and time.monotonic() - began < 15 and chat.most == 3 and len(chat.asked) <= 8


@pytest.mark.parametrize("reply", [hang, lambda _: 1 / 0])
def test_reranking_that_fails_leaves_the_order(base: Session, reply: Any) -> None:
    question = "what about the harbor office"
    before, began = base.search(question, min_score=0.0), time.monotonic()
    after = assisted(base, Scripted(reply), reranking=True, reranking_seconds=0.4).search(question, min_score=0.0)
    assert list(after.hits) == list(before.hits) and time.monotonic() - began < 15
    assert any(one.startswith("rescore: ") for one in after.trace.warnings)


def test_reranking_nothing_asks_nothing(base: Session) -> None:
    chat = Scripted(lambda _: {"score": 1})
    assert not assisted(base, chat, reranking=True).search("zzzyqx", min_score=0.9).hits and not chat.asked


# Compression


def test_facts_are_shortened_only_without_a_loss(base: Session) -> None:
    old = ["My shoe size is EU 42", "I have a budget of 150 EUR for sneakers", "I do not like red shoes"]
    count = lambda text: len(text.split())  # noqa: E731
    assert fault_of(old, ["@shoe_size EU 42", "@budget 150 EUR sneakers", "@color not red"], count) == ""
    assert "lost" in fault_of(old, ["@shoe_size EU 42", "@color not red"], count)
    assert "lost" in fault_of(old, ["@shoe_size EU 42", "@budget 150 EUR sneakers", "@color red"], count)
    assert "added" in fault_of(old, ["@shoe_size EU 42", "@budget 150 EUR", "@color not red 99"], count)
    assert "shorter" in fault_of(old, [*old, "and more"], count) and "shorter" in fault_of(old, [], count)


def test_a_shortened_answer_stays_within_the_budget(base: Session) -> None:
    rules = base.facets(SNEAKERS, count=3, budget=400)

    def reply(text: str) -> Any:
        return {"lines": [line[2:].replace(" is ", " ").replace("I have a ", "@") for line in text.splitlines()]}

    answer = assisted(base, Scripted(reply), compression=True).facets(SNEAKERS, count=3, budget=400)
    assert answer.tokens <= 400 and {hit.chunk.uri for hit in answer.hits} == {hit.chunk.uri for hit in rules.hits}
    bad = assisted(base, Scripted(lambda _: {"lines": ["@all fine"]}), compression=True).facets(SNEAKERS, count=3, budget=400)
    assert bad.text == rules.text


# Summary of the profile


def test_the_summary_is_that_of_the_rules_until_the_model_has_one(base: Session) -> None:
    profile_service(base).set("identity.role", ["sailor"])
    good = "The user is a sailor."
    session = assisted(base, Scripted(lambda _: {"summary": good}), summary=True)
    assert profile_service(session).summary() == "User: sailor."
    end = time.monotonic() + 10
    while profile_service(session).summary() != good and time.monotonic() < end:
        time.sleep(0.01)
    assert profile_service(session).summary() == good
    for bad in (
        {"summary": "x " * 2000},
        {"summary": ""},
        {"summary": "The user is 42 years old, a sailor."},
        "no",
        {"summary": "Hi."},
    ):
        other = assisted(base, Scripted(lambda _, bad=bad: bad, name=f"bad/{bad!r:.40}"), summary=True)  # type: ignore[misc]
        profile_service(other).summary()
        time.sleep(0.1)
        assert profile_service(other).summary() == "User: sailor."
    profile_service(base).unset("identity.role")


# Proposals


def test_proposals_are_what_the_user_states_in_their_own_words() -> None:
    said = "By the way, I moved to Lisbon. Can you write a poem? I am allergic to peanuts."
    assert by_rules(said) == ["I moved to Lisbon.", "I am allergic to peanuts."]
    model = Scripted(lambda _: {"facts": ["I moved to Lisbon", "I own a yacht"]})
    assert proposals_in(said, model, time.monotonic() + 5) == (["I moved to Lisbon"], "")
    facts, fault = proposals_in(said, Scripted(lambda _: "no"), time.monotonic() + 5)
    assert facts == by_rules(said) and "no usable answer" in fault
    assert by_rules("What is the capital of Mongolia?") == [] and by_rules("Write me a function that sorts numbers.") == []


# Private, remote


@pytest.mark.parametrize("step", ["intent", "reranking", "compression"])
def test_nothing_private_goes_to_a_remote_model(base: Session, step: str) -> None:
    chat = Scripted(lambda _: intent(), remote=True)
    name = base.known().name

    def asked(session: Session, question: str = SNEAKERS) -> int:
        chat.asked.clear()
        one = assisted(session, chat, **{step: True})
        one.facets(question)
        answer = one.search(question, min_score=0.0)
        assert chat.asked or any("was not asked" in warning for warning in answer.trace.warnings) or step == "compression"
        return len(chat.asked)

    allowed = replace(base.settings, privacy=replace(base.settings.privacy, remote_models=("personal", name)))
    public = replace(base, private=False)
    consenting = replace(public, setup=replace(public.setup, settings=allowed))
    assert asked(public) == 0  # without consent
    assert asked(replace(base, setup=consenting.setup)) == 0  # private data may answer
    assert asked(consenting, "How much do I owe on my mortgage, and what about my depression?") == 0
    if step != "compression":
        assert asked(consenting) > 0


def test_a_model_on_this_machine_may_get_everything(base: Session) -> None:
    chat = Scripted(lambda _: intent())
    assisted(base, chat, intent=True).context("How much do I owe on my mortgage?")
    assert chat.asked


# Settings


def test_the_check_says_when_a_deadline_is_too_short(contextd: Callable[..., Run], home: Path, project: Path) -> None:
    def faults(**llm: Any) -> list[str]:
        return faults_of(Settings(llm=LanguageModel(**llm)))

    assert faults() == [] and "llm.engine is none" in faults(intent=True)[0]
    assert "Set it to 3800" in faults(engine="ollama", model="m", intent=True)[0]
    assert "Set it to 8800" in faults(engine="ollama", model="m", intent=True, reranking=True)[0]
    assert "Set it to 3800" in faults(engine="ollama", model="m", compression=True)[0]
    enough = Settings(llm=LanguageModel(engine="ollama", model="m", intent=True), proxy=Proxy(deadline_ms=4000))
    assert faults_of(enough) == [] and "llm.model" in faults(engine="ollama")[0]
    (home / "config.toml").write_text('[context.llm]\nengine = "ollama"\nmodel = "m"\nintent = true\n')
    for command in (("validate-config",), ("doctor",)):
        said = contextd(*command, cwd=project)
        assert "proxy.deadline_ms" in said.out + said.err


def test_a_project_cannot_choose_a_model_or_allow_one(contextd: Callable[..., Run], project: Path) -> None:
    (project / "context.toml").write_text(
        '[context.llm]\nengine = "openai"\nurl = "http://evil.example"\n[context.privacy]\nremote_models = ["x"]\n'
    )
    said = contextd("validate-config", cwd=project)
    assert said.err.count("is ignored") + said.out.count("is ignored") >= 3


def test_the_keys_of_the_founding_document_load(home: Path, project: Path) -> None:
    (home / "config.toml").write_text(
        '[context.enrichment]\nreranking_enabled = true\nreranking_threshold = 0.4\nreranking_timeout = "5s"\n'
        '[context.ollama]\nbase_url = "http://localhost:11434"\nfast_model = "phi3.5"\n'
    )
    llm = open_session(project, home=home, environment={}).settings.llm
    assert (llm.reranking, llm.reranking_threshold, llm.url, llm.model) == (True, 0.4, "http://localhost:11434", "phi3.5")


# A real model


def test_every_step_runs_on_a_real_model(base: Session, llama: Llama) -> None:
    """The answers are whatever they are; the shapes hold, or the rules decide and the trace says so."""
    from contextd.app.engines import server

    chat = server("openai", llama.url, "any", "")
    steps = {"intent": True, "intent_seconds": 8.0, "reranking": True, "reranking_seconds": 4.0, "compression": True}
    session = assisted(base, chat, **steps)
    context, facets = session.context("wood pellets", budget=300), session.facets(SNEAKERS, budget=300)
    assert context.tokens <= 300 and facets.tokens <= 300
    assert {step.name for step in context.trace.steps} >= {"intent", "rescore"} or context.trace.warnings
    late = assisted(base, chat, intent=True, intent_seconds=0.06).context("wood pellets of the office")
    assert late.hits and any("intent: " in one for one in late.trace.warnings)


# The check of answers


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["intent_type", "confidence", "is_private", "topics", "x"]), one, max_size=4), max_leaves=8))  # fmt: skip
def test_Q8_any_value_is_checked_without_an_error(value: Any) -> None:
    assert isinstance(fault_in(value, schema_of(["Music"])), str)


def test_an_answer_is_kept_only_if_it_is_good() -> None:
    kept = KeptReplies()
    with pytest.raises(Unavailable):
        kept.get(("a",), lambda: (_ for _ in ()).throw(Unavailable("no")))
    assert kept.get(("a",), lambda: 1) == 1 and kept.get(("a",), lambda: 2) == 1
