"""Enrichment as the upstream sees it: where the block goes, what is in it, and what stays as it was."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.enriching import _Facts
from contextd.app.profiles import profile_service
from contextd.app.session import Session
from contextd.querying.compose import CONTEXT, OPENING, PROFILE
from contextd.querying.facets.limits import LIMITS as HARD_LIMITS
from contextd.surfaces.proxy.messages import read
from contextd.text.json_spans import edited
from contextd.values.answer import Hit
from tests.proxy.conftest import Proxied
from tests.proxy.upstream import RESET, answered, chunked, events
from tests.querying.test_steps import chunk

SNEAKERS = "Which sneakers should I buy?"
FACTS = ("My shoe size is EU 42", "Budget for shoes: max 150€", "I am allergic to peanuts")
BLOCK = '<user_context note="n">\nx\n</user_context>'


@pytest.fixture(scope="module", autouse=True)
def person(running: Proxied) -> Session:
    """Facts and a profile of the owner."""
    session = open_session(None, home=running.home, environment={})
    for fact in FACTS:
        session.remember(fact)
    session.remember("My salary is 91,234 euros a year", private=True)
    profile_service(session).set("communication.tone", ["direct"])
    profile_service(session).set("interests", ["sailing", "type theory"])
    return session


def asked(text: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}], **more}


def block_of(text: str) -> str:
    (found,) = re.findall(re.escape(OPENING) + r".*?</user_context>", text, re.S)
    return str(found)


def test_the_block_is_at_the_end_of_the_last_message_and_all_other_bytes_stay(proxied: Proxied) -> None:
    body = (
        b'{"model": "m",\n "x": 1.50, "messages":[{"role":"system","content":"Be k\\u0069nd."},'
        b'{"role":"user", "content":"Which sneakers should I buy?"  } ] , "temperature":0.20}'
    )
    answer = proxied.http.post(f"{proxied.url}/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    (got,) = proxied.upstream.got
    start, end = body[: body.index(b'buy?"') + 4], body[body.index(b'buy?"') + 4 :]
    assert got.body.startswith(start) and got.body.endswith(end)
    added = json.loads(b'"' + got.body[len(start) : -len(end)] + b'"')
    assert added.startswith("\n\n" + OPENING) and added.endswith("</user_context>")
    assert "42 EU" in added and "150" in added and "tone: direct" in added and "91,234" not in added
    assert answer.headers["x-contextd-status"] == "enriched" and 0 < int(answer.headers["x-contextd-tokens"]) <= 4000


@pytest.mark.parametrize(("position", "message"), [("end_of_system", 0), ("start_of_system", 0), ("end_of_user", 1)])
def test_the_position_is_a_setting(proxied: Proxied, position: str, message: int) -> None:
    proxied.configure(position=position)
    proxied.post(body=asked(SNEAKERS))
    said = [one["content"] for one in proxied.upstream.got[0].json["messages"]]
    assert OPENING in said[message] and OPENING not in said[1 - message]
    assert said[message].startswith(OPENING) == (position == "start_of_system")
    assert said[0].replace(block_of(said[message]), "").strip() == "Be kind."


def test_a_request_without_a_system_message_gets_one_if_it_is_needed(proxied: Proxied) -> None:
    proxied.configure(position="start_of_system")
    proxied.post(body={"model": "m", "messages": [{"role": "user", "content": SNEAKERS}]})
    proxied.post("/v1/responses", {"model": "m", "input": SNEAKERS})
    proxied.post("/v1/responses", {"model": "m", "instructions": "Be kind.", "input": [{"role": "user", "content": SNEAKERS}]})
    chat, plain, told = (got.json for got in proxied.upstream.got)
    assert [one["role"] for one in chat["messages"]] == ["system", "user"] and chat["messages"][1]["content"] == SNEAKERS
    assert plain["input"] == SNEAKERS and plain["instructions"].startswith(OPENING)
    assert told["instructions"].startswith(OPENING) and told["instructions"].endswith("Be kind.")


def test_parts_stay_and_one_text_part_is_added(proxied: Proxied) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    proxied.post(body=asked([{"type": "text", "text": SNEAKERS}, image]))
    proxied.post(
        "/v1/responses", {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": SNEAKERS}]}]}
    )
    chat, responses = (got.json for got in proxied.upstream.got)
    parts = chat["messages"][1]["content"]
    assert parts[:2] == [{"type": "text", "text": SNEAKERS}, image] and parts[2]["type"] == "text" and len(parts) == 3
    assert [one["type"] for one in responses["input"][0]["content"]] == ["input_text", "input_text"]


def test_calls_of_tools_after_the_question_keep_the_block_where_it_was(proxied: Proxied) -> None:
    first = asked(SNEAKERS, tools=[{"type": "function", "function": {"name": "look"}}])
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    later = {**first, "messages": [*first["messages"], call, {"role": "tool", "tool_call_id": "1", "content": "none"}]}
    proxied.post(body=first)
    proxied.post(body=later)
    one, two = (got.json["messages"] for got in proxied.upstream.got)
    assert one == two[:2] and two[2:] == later["messages"][2:]


def test_earlier_turns_go_out_as_they_came_in(proxied: Proxied) -> None:
    turns = [
        {"role": "user", "content": SNEAKERS},
        {"role": "assistant", "content": "What size?"},
        {"role": "user", "content": "You know my shoe size, do you?"},
    ]
    proxied.post(body={"model": "m", "messages": turns})
    got = proxied.upstream.got[0].json["messages"]
    assert got[:2] == turns[:2] and got[2]["content"].startswith(turns[2]["content"]) and "42 EU" in got[2]["content"]


def test_context_of_the_project_comes_with_its_place(proxied: Proxied) -> None:
    answer = proxied.post(
        body=asked("How is a user loaded by name from the database?"), headers={"x-contextd-project": str(proxied.project)}
    )
    assert answer.headers["x-contextd-status"] == "enriched"
    block = block_of(proxied.upstream.got[0].json["messages"][1]["content"])
    assert "src/app/store.py:" in block and "def load_user(name):" in block and block.index(PROFILE) < block.index(CONTEXT)


def test_a_project_that_is_not_there_costs_no_facts(proxied: Proxied) -> None:
    answer = proxied.post(body=asked(SNEAKERS), headers={"x-contextd-project": "no-such-project"})
    assert answer.headers["x-contextd-status"] == "degraded"
    assert "@shoe_size 42 EU" in block_of(proxied.upstream.got[0].json["messages"][1]["content"])


def test_facts_are_statements_and_nothing_is_said_twice(proxied: Proxied) -> None:
    proxied.post(body=asked(SNEAKERS))
    lines = block_of(proxied.upstream.got[0].json["messages"][1]["content"]).split("\n")
    assert "- @shoe_size 42 EU" in lines and "- @budget_shoes ≤ 150 €" in lines and len(lines) == len(set(lines))


def test_facts_that_hardly_matter_are_left_out_where_the_project_answers() -> None:
    """To a question about code, every fact about software looks related. Hard limits stay."""

    def hit(text: str, score: float, workspace: int, facet: str = "") -> Hit:
        return Hit(replace(chunk(1, text=text), workspace=workspace), score, score, facet=facet)

    sure, hardly = hit("I edit with Helix", 0.8, 1), hit("My handle is tove", 0.6, 1)
    limit = hit("I am allergic to peanuts", 0.1, 1, HARD_LIMITS.name)
    facts, code, message = _Facts([sure, hardly, limit], ["@editor Helix"]), hit("def edit():", 0.5, 2), hit("Hi", 0.5, 1)
    assert facts.beside([code], personal=1) == _Facts([sure, limit])
    assert facts.beside([], personal=1) == facts.beside([message], personal=1) == facts
    assert _Facts([sure]).beside([code], personal=1).hits == [sure]


def test_an_unrelated_question_gets_the_profile_alone(proxied: Proxied) -> None:
    proxied.post(body=asked("What is the capital of Mongolia?"), headers={"x-contextd-project": str(proxied.project)})
    block = block_of(proxied.upstream.got[0].json["messages"][1]["content"])
    assert PROFILE in block and CONTEXT not in block
    proxied.configure(profile="with_context")
    assert proxied.post(body=asked("What is the capital of Mongolia?")).headers["x-contextd-status"] == "bypassed"
    proxied.post(body=asked(SNEAKERS))
    proxied.configure(profile="off")
    proxied.post(body=asked(SNEAKERS))
    nothing, both, facts = (got.json["messages"][1]["content"] for got in proxied.upstream.got[1:])
    assert nothing == "What is the capital of Mongolia?"
    assert PROFILE in both and CONTEXT in both and PROFILE not in facts and CONTEXT in facts


def test_the_budget_is_a_limit_and_the_lowest_scores_go_first(proxied: Proxied) -> None:
    for budget in (0, 1, 40, 75, 90, 120):
        answer = proxied.post(body=asked(SNEAKERS), headers={"x-contextd-budget": str(budget)})
        text = proxied.upstream.got[-1].json["messages"][1]["content"]
        assert int(answer.headers.get("x-contextd-tokens", "0")) <= budget
        assert (OPENING in text) == (answer.headers["x-contextd-status"] == "enriched")
    assert proxied.post(body=asked(SNEAKERS), headers={"x-contextd-budget": "many"}).status_code == 400


def test_a_request_may_ask_for_no_enrichment(proxied: Proxied) -> None:
    body = asked(SNEAKERS)
    for headers in ({"x-contextd-bypass": "1"}, {"x-contextd-budget": "0"}):
        assert proxied.post(body=body, headers=headers).headers["x-contextd-status"] == "bypassed"
    proxied.post("/v1/completions", {"model": "m", "prompt": SNEAKERS})
    proxied.post("/v1/embeddings", {"model": "m", "input": SNEAKERS})
    assert all(OPENING.encode() not in got.body for got in proxied.upstream.got)
    assert proxied.upstream.got[0].json == body


def test_P11_a_chain_of_two_proxies_adds_one_block(proxied: Proxied) -> None:
    proxied.post(body=asked(SNEAKERS))
    (first,) = proxied.upstream.got
    again = proxied.http.post(
        f"{proxied.url}/v1/chat/completions", content=first.body, headers={"content-type": "application/json"}
    )
    assert again.headers["x-contextd-status"] == "bypassed"
    assert proxied.upstream.got[1].body == first.body


def test_the_same_question_gets_the_same_bytes_and_a_change_is_seen_at_once(proxied: Proxied, person: Session) -> None:
    for _ in range(2):
        proxied.post(body=asked(SNEAKERS))
    profile_service(person).set("communication.tone", ["very direct"])
    proxied.post(body=asked(SNEAKERS))
    profile_service(person).set("communication.tone", ["direct"])
    proxied.post(body=asked(SNEAKERS))
    one, two, edited_, back = (got.body for got in proxied.upstream.got)
    assert one == two == back and b"very direct" in edited_


def test_only_an_administrator_may_ask_as_another_reader(proxied: Proxied) -> None:
    token = proxied.service.tokens.create(f"admin{time.time_ns()}", may="admin")
    other = proxied.post(body=asked(SNEAKERS), headers={"x-contextd-token": token, "x-contextd-reader": "ana"})
    assert other.headers["x-contextd-status"] == "bypassed"
    assert proxied.post(body=asked(SNEAKERS), headers={"x-contextd-reader": "ana"}).status_code == 403


def test_private_data_is_used_here_and_never_sent_away(proxied: Proxied) -> None:
    token = proxied.service.tokens.create(f"private{time.time_ns()}", private=True)
    question = asked("What is my salary, and how much may I spend on a car?")
    local = proxied.post(body=question, headers={"x-contextd-token": token})
    assert "91,234" in proxied.upstream.got[0].json["messages"][1]["content"] and "x-contextd-held-back" not in local.headers
    proxied.configure(upstreams={"far": {"url": proxied.upstream.url, "remote": True}})
    remote = proxied.post(body=question, headers={"x-contextd-token": token})
    open_question = proxied.post(body=asked(SNEAKERS), headers={"x-contextd-token": token})
    assert remote.headers["x-contextd-held-back"] == open_question.headers["x-contextd-held-back"] == "private"
    assert proxied.upstream.got[1].json == question
    assert all(b"91,234" not in got.body for got in proxied.upstream.got[1:])


@pytest.mark.parametrize(
    "answer",
    [
        [*chunked(events())],
        [*[*chunked(events(done=False))][:2], RESET],
        [answered(b"{}", "500 Internal Server Error")],
        [answered(b"{}", "429 Too Many Requests", retry_after="1")],
        [RESET],
    ],
    ids=["stream", "cut", "error", "limited", "reset"],
)
def test_private_canaries_stay_here_whatever_the_upstream_does(proxied: Proxied, person: Session, answer: list[bytes]) -> None:
    """Private memories, in both APIs, with a token that may use them here."""
    token = proxied.service.tokens.create(f"canaries-{time.monotonic_ns()}", private=True)
    kept = [person.remember(f"My {thing} is called canary-{thing}", private=True).memory for thing in ("barge", "mule")]
    proxied.upstream.answer = lambda got: answer
    proxied.configure(upstreams={"far": {"url": proxied.upstream.url, "remote": True}, "near": {"url": proxied.upstream.url}}, aliases={"near": "near"})  # fmt: skip
    question = "What are my barge and my mule called?"
    for model in ("far", "near"):
        for stream in (True, False):
            chat = {"model": model, "messages": [{"role": "user", "content": question}], "stream": stream}
            response = {"model": model, "input": question, "stream": stream}
            for path, body in (("/v1/chat/completions", chat), ("/v1/responses", response)):
                with suppress(httpx2.HTTPError):
                    proxied.post(path, body, headers={"x-contextd-token": token})
    for memory in kept:
        person.forget(memory.id)
    near = [got for got in proxied.upstream.got if got.json["model"] == "near"]
    far = [got for got in proxied.upstream.got if got.json["model"] == "far"]
    assert len(near) == len(far) == 4 and all(b"canary" in got.body for got in near)
    assert not any(b"canary" in got.body for got in far)


def test_a_private_question_goes_on_as_it_is_or_is_refused(proxied: Proxied) -> None:
    private = asked("I was diagnosed with depression last week, which shoes should I buy?")
    away = {"far": {"url": proxied.upstream.url, "remote": True}}
    proxied.configure(upstreams=away)
    for body, headers in ((private, {}), (asked(SNEAKERS), {"x-contextd-private": "1"})):
        answer = proxied.post(body=body, headers=headers)
        assert (answer.headers["x-contextd-status"], answer.headers["x-contextd-held-back"]) == ("bypassed", "private")
        assert proxied.upstream.got[-1].json == body
    proxied.configure(private="refuse", upstreams=away)
    refused = proxied.post(body=private)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "private")
    assert "depression" not in refused.text


def test_requests_of_a_program_for_itself_get_nothing(proxied: Proxied) -> None:
    title = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n<chat_history>\nUSER: Which sneakers should I buy?\n</chat_history>"
    body = {"model": "m", "messages": [{"role": "user", "content": title}], "max_tokens": 50}
    assert proxied.post(body=body).headers["x-contextd-status"] == "bypassed"
    assert proxied.upstream.got[0].json == body


_ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
_TEXTS = st.text(max_size=30)
_CONTENTS = st.one_of(_TEXTS, st.none(), st.lists(st.one_of(st.fixed_dictionaries({"type": st.just("text"), "text": _TEXTS}), st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.just({"url": "u"})})), max_size=3))  # fmt: skip
_MESSAGES = st.lists(st.fixed_dictionaries({"role": _ROLES, "content": _CONTENTS}, optional={"name": _TEXTS, "x": st.floats(allow_nan=False, allow_infinity=False)}), max_size=5)  # fmt: skip


@settings(max_examples=150)
@given(messages=_MESSAGES, position=st.sampled_from(["end_of_user", "end_of_system", "start_of_system"]), indent=st.sampled_from([None, 1]), ascii_=st.booleans())  # fmt: skip
def test_P11_every_message_but_one_stays_and_strings_stay_strings(
    messages: Any, position: str, indent: int | None, ascii_: bool
) -> None:
    text = json.dumps({"model": "m", "messages": messages, "seed": 7}, indent=indent, ensure_ascii=ascii_)
    request = read(text, is_responses=False)
    if request.asked is None:
        return
    edit = request.with_block(BLOCK, position)
    assert edit is not None
    result = edited(text, [edit])
    assert result[: edit.start] + result[edit.start + len(edit.text) :] == text
    after = json.loads(result)
    assert after["seed"] == 7
    now = after["messages"]
    new = [one for one in now if one not in messages] if len(now) == len(messages) else now[:1]
    assert len(new) <= 1 and len(now) - len(messages) in (0, 1)
    same = [(old, fresh) for old, fresh in zip(messages, now[len(now) - len(messages) :], strict=True) if old != fresh]
    assert len(same) <= 1 and all(type(old["content"]) is type(fresh["content"]) for old, fresh in same)
    assert read(result, is_responses=False).has_block


def test_a_stage_may_see_only_what_the_reader_may(proxied: Proxied) -> None:
    """A project that a token may not use is treated as if it did not exist; the request goes on."""
    token = proxied.service.tokens.create(f"ana{time.time_ns()}", reader="ana")
    body = asked("How is a user loaded by name?")
    answer = proxied.post(body=body, headers={"x-contextd-token": token, "x-contextd-project": str(proxied.project)})
    assert answer.status_code == 200 and answer.headers["x-contextd-status"] == "degraded"
    assert proxied.upstream.got[0].json == body


def test_an_answer_to_an_enriched_request_is_untouched(proxied: Proxied) -> None:
    proxied.upstream.answer = lambda got: [
        answered({"error": {"message": "no", "code": 7}}, "429 Too Many Requests", retry_after="3")
    ]
    answer = proxied.post(body=asked(SNEAKERS))
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["error"]["code"]) == (429, "3", 7)
