"""Private questions, and requests that programs make for themselves, are recognized; ordinary ones are not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from contextd.surfaces.proxy.background import is_background
from contextd.surfaces.proxy.messages import read
from contextd.text.private_matters import is_private

PRIVATE = (
    "Meine Tochter hat Fieber",
    "My daughter has a fever",
    "My son has had fever since yesterday",
    "Ma fille a de la fièvre",
    "Mi hija tiene fiebre",
    "I was diagnosed with bipolar disorder, how do I tell my boss?",
    "My blood test results came back, the hemoglobin is at 9.1",
    "I've been taking antidepressants for a month, can I drink wine?",
    "Can you check my tax return for mistakes?",
    "I owe 12,000 dollars on two credit cards",
    "My wife's therapist says we should separate",
    "Our employee was hospitalized, draft an e-mail to the team",
    "This is confidential: we will close the Lyon office",
    "Don't tell anyone, but I am going to quit",
    "Ich habe Schulden und kann die Miete nicht zahlen",
    "Mein Gehalt ist 4.200 Euro, ist das zu wenig?",
    "J'ai un cancer, comment l'annoncer à mes enfants ?",
    "Tengo depresión, ¿qué puedo hacer?",
    "My IBAN is DE89 3704 0044 0532 0130 00, is it valid?",
    "Is 536-90-4399 a valid SSN?",
    "My left knee hurts when I climb stairs, what could it be?",
    "Should I take the ibuprofen with my candesartan?",
    "My father has diverticulitis and won't see anybody",
    "We make 61,000 euros together, can we get a bigger flat?",
    "My grandmother passed away on Sunday, help me with the speech",
    "My daughter's grades dropped since the move",
    "I came out to my parents yesterday and it went badly",
    "We are three months behind on the rent",
    "Put this on a label: Jo Marsh, 14 Alder Street, jo.marsh@example.org",
    "Meine Frau hat eine Sehnenscheidenentzündung und ist krankgeschrieben",
    "Mir wurde gestern gekündigt, was steht mir zu?",
    "Ich habe 8000 Euro Schulden bei meinem Bruder",
    "Mein Sohn wird in der Schule gemobbt",
    "Ich nehme seit März Antidepressiva und schlafe schlecht",
    "Mon mari est décédé en janvier, que dois-je faire ?",
)
ORDINARY = (
    "Ich habe Reisefieber",
    "Wie bekämpfe ich mein Lampenfieber?",
    "Which sneakers should I buy?",
    "How do I center a div?",
    "What is the capital of Mongolia?",
    "Explain how insulin works",
    "Write a function that validates an IBAN",
    "How does the token budget work in this project?",
    "Plan a trip to Lisbon in May for two people",
    "My code throws a KeyError in load_user",
    "My build fails with exit code 3",
    "Recommend a restaurant for my wife's birthday",
    "How do I make a private method in Python?",
    "Our API returns 429, what is the rate limit?",
    "I have a list of dictionaries, sort it by key",
    "What does the Great Depression have to do with tariffs?",
    "Ich habe eine Liste von Zahlen, wie sortiere ich sie?",
    "I need a recipe for lentil soup",
    "How do we pay down our technical debt?",
    "My std vector is empty after the move",
    "My job was aborted on node 3, why?",
    "Our new album came out on Friday, write a post",
    "Which extra virgin olive oil should I buy?",
    "I diagnosed the leak, it is the valve of my radiator",
    "We separated the concerns of our modules, was that wise?",
    "Install it with pip for me",
    "My lithium ion battery swells, is it safe?",
    "Explain the symptoms of measles to a six-year-old",
    "Is it worth it for us to live on the bleeding edge?",
    "Wie kann ich die Heizung mit meinem Handy steuern?",
    "Mein Kollege sucht einen Parkplatz in der Nähe",
    "Ich habe gestern einen Vortrag gehalten, wie schreibe ich den Bericht?",
    "Welches Gericht koche ich heute Abend für uns?",
    "Wie lösche ich mein Benutzerkonto bei einem Forum?",
    "Je suis prêt, par quoi commençons-nous ?",
    "J'ai un avocat trop mûr, que faire ?",
    "Quelle police de caractères pour ma carte de visite ?",
    "Me paro cinco minutos, ¿qué estiramiento hago?",
    "Call 0 800 123 4567 for support hours",
)
LIST = {
    "role": "user",
    "content": "<chat_history>\nUSER: How do I bake bread?\nASSISTANT: Mix flour and water.\n</chat_history>",
}
BACKGROUND: tuple[dict[str, Any], ...] = (
    {"messages": [{"role": "user", "content": "### Task:\nSuggest 3-5 relevant follow-up questions.\n### Chat History:\n<chat_history>…</chat_history>"}]},
    {"messages": [{"role": "user", "content": "Generate a concise title (max 6 words) for the following conversation. Return only the title.\n\nUser: bread?\nAssistant: flour"}], "max_tokens": 20},
    {"messages": [{"role": "system", "content": "You are a title generator. Output only a conversation title of at most 50 characters, no quotes."}, {"role": "user", "content": "How do I bake bread?"}]},
    {"messages": [{"role": "system", "content": "Extract up to three tags for the chat. Respond with JSON only."}, LIST]},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Summarize our conversation as a title in 5 words or less, without punctuation"}], "max_tokens": 16},
    {"messages": [{"role": "user", "content": "<fim_prefix>def add(a, b):\n    <fim_suffix>\nprint(add(1, 2))<fim_middle>"}]},
    {"messages": [{"role": "user", "content": "Given the chat below, rephrase the follow-up as a standalone question for a search.\n\nHuman: Who wrote Dune?\nAssistant: Frank Herbert.\nFollow-up: when?"}]},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "system", "content": "Summarize the conversation so far. Your text replaces the messages."}]},
    {"messages": [{"role": "user", "content": "Summarize this conversation for later prompts, in full sentences.\n\nuser: bread?\nassistant: flour"}]},
    {"messages": [{"role": "user", "content": "Erstelle einen kurzen Titel für diese Unterhaltung, höchstens 5 Wörter, ohne Anführungszeichen.\n\nUser: Brot?\nAssistant: Mehl"}]},
    {"messages": [{"role": "system", "content": "Generate tags for the chat."}, {"role": "user", "content": "How do I bake bread?"}], "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": {"type": "object", "properties": {"tags": {"type": "array"}}}}}},
)  # fmt: skip
FOR_USERS: tuple[dict[str, Any], ...] = (
    {"messages": [{"role": "user", "content": "Suggest a title for my blog post about bread"}]},
    {"messages": [{"role": "user", "content": "How do I bake bread?"}], "max_tokens": 50},
    {"messages": [{"role": "system", "content": "You are a helpful assistant. Keep answers concise."}, {"role": "user", "content": "Write a summary of the book Dune"}]},
    {"messages": [{"role": "user", "content": "Create a branch name helper in src/app that returns JSON"}], "tools": [{"type": "function"}]},
    {"messages": [{"role": "user", "content": "What did we decide in the last conversation about tags?"}]},
    {"messages": [{"role": "user", "content": "Write a function that generates tags for chat messages"}]},
    {"messages": [{"role": "user", "content": "Rewrite this SQL query so that it uses a join"}]},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Can you sum up what we said so far about my trip?"}]},
    {"messages": [{"role": "user", "content": "What does the fim_prefix of a model mean?"}]},
    {"messages": [{"role": "user", "content": "Summarize the attached article for my team:\n1. main points\n2. open questions"}]},
    {"messages": [{"role": "user", "content": "Schreib mir eine Zusammenfassung des Gesprächs mit meinem Chef als Mail an Anna"}]},
)  # fmt: skip


@pytest.mark.parametrize("text", PRIVATE)
def test_a_private_question_is_recognized(text: str) -> None:
    assert is_private(text) and is_private(text.replace("'", "\u2019"))


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_question_is_not_private(text: str) -> None:
    assert not is_private(text)


@pytest.mark.parametrize("body", BACKGROUND, ids=lambda body: body["messages"][-1]["content"][:30])
def test_a_request_of_a_program_for_itself_is_recognized(body: dict[str, Any]) -> None:
    assert is_background(read(json.dumps(body), is_responses=False))


@pytest.mark.parametrize("body", FOR_USERS, ids=lambda body: body["messages"][-1]["content"][:30])
def test_a_request_for_a_user_is_not_mistaken(body: dict[str, Any]) -> None:
    assert not is_background(read(json.dumps(body), is_responses=False))


@pytest.mark.parametrize(
    "text",
    ["my " * 30_000, "a " * 40_000, "generate the " * 5000, "x" * 100_000, "my a a a a " * 9000, "generate " + "- " * 40_000],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    is_private(text)
    is_background(read(json.dumps({"messages": [{"role": "user", "content": text}]}), is_responses=False))
    assert time.process_time() - began < 5, "linear: half a second; a pattern that goes back and forth takes minutes"


def test_messages_by_other_authors_are_recognized_as_measured() -> None:
    """Figures on messages by others. Those with even numbers were read before the last change of the rules, the rest was not."""
    items, calls = (
        json.loads((Path(__file__).parent / "items" / name).read_text())
        for name in ("private_queries.json", "background_calls.json")
    )
    read_, unread = (_counts(items, calls, start) for start in (0, 1))
    assert read_["private"] >= 40 and read_["ordinary"] <= 1 and unread["private"] >= 28 and unread["ordinary"] <= 2
    assert read_["background"] >= 10 and unread["background"] >= 8 and read_["for users"] == unread["for users"] == 0


def _counts(items: dict[str, Any], calls: dict[str, Any], start: int) -> dict[str, int]:
    """Count what is recognized among every second item."""
    found = {name: sum(map(is_private, items[name][start::2])) for name in items}
    asked = {
        name: sum(is_background(read(json.dumps(_given(one)), is_responses=False)) for one in calls[name][start::2])
        for name in calls
    }
    return found | {"background": asked["background"], "for users": asked["ordinary"]}


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
