"""Language models behind the proxy: fallbacks, private questions, proposals. Every model here answers as a test says, or is real."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextd.app.interactions import shown
from contextd.app.proposals import ProposalService
from contextd.app.session import Session
from contextd.surfaces.cli import main
from contextd.text.private_matters import is_private
from tests.engines.ollama_server import OllamaServer
from tests.engines.scripted import intent
from tests.llama import Llama, started
from tests.proxy.conftest import Proxied
from tests.proxy.test_log import entry

QUESTION = "How is a user loaded by name?"


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    made = OllamaServer(["tiny:latest"])
    made.chat = said(intent())
    yield made
    made.close()


def said(answer: Any) -> Callable[[Any], Any]:
    return lambda body: {"message": {"content": answer if isinstance(answer, str) else json.dumps(answer)}}


def configure(proxied: Proxied, url: str, *, engine: str = "ollama", proxy: dict[str, Any] | None = None, **llm: Any) -> None:
    """The settings of the proxy, with a language model."""
    proxied.configure(**{"deadline_ms": 20_000, **(proxy or {})})
    lines = ["[context.llm]", f'engine = "{engine}"', f'url = "{url}"', 'model = "tiny"']
    lines += [f"{name} = {str(value).lower()}" for name, value in llm.items()]
    with (proxied.home / "config.toml").open("a") as file:
        file.write("\n".join(lines) + "\n")
    proxied.service.home.replies.clear()


def ask(proxied: Proxied, text: str = QUESTION, **headers: str) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return proxied.post(body=body, headers={"x-contextd-project": str(proxied.project), **headers})


def sent(proxied: Proxied) -> str:
    return str(proxied.upstream.got[-1].json["messages"][-1]["content"])


def test_a_model_that_understands_the_question_is_asked_once(proxied: Proxied, ollama: OllamaServer) -> None:
    configure(proxied, ollama.url, intent=True)
    answer = ask(proxied, "How does one load a user by its name, once?")
    assert answer.headers["x-contextd-status"] == "enriched" and "def load_user" in sent(proxied)
    assert [path for path, _ in ollama.got] == ["/api/chat"]


@pytest.mark.parametrize("how", ["refused", "slow", "babbling"])
def test_a_model_that_fails_degrades_and_the_rules_enrich(proxied: Proxied, ollama: OllamaServer, how: str) -> None:
    question = f"How is a user loaded by name, {how}?"
    ollama.chat = {"slow": lambda body: time.sleep(30), "babbling": said("Sure! Here you go:")}.get(how, said(intent()))
    configure(
        proxied,
        "http://127.0.0.1:9" if how == "refused" else ollama.url,
        intent=True,
        intent_seconds=0.5,
        proxy={"deadline_ms": 20_000},
    )
    began = time.monotonic()
    answer = ask(proxied, question)
    assert answer.headers["x-contextd-status"] == "degraded" and "def load_user" in sent(proxied)
    assert time.monotonic() - began < 20
    assert "intent" in entry(proxied, answer.headers["x-contextd-trace-id"]).missing
    if how == "refused":  # nothing of a failed step is kept for the next question
        configure(proxied, ollama.url, intent=True)
        assert ask(proxied, question).headers["x-contextd-status"] == "enriched"


def test_a_question_that_the_model_finds_private_is_not_enriched_for_another_machine(
    proxied: Proxied, ollama: OllamaServer
) -> None:
    question = "How is a user loaded by her secret name?"
    assert not is_private(question)
    ollama.chat = said(intent(is_private=True))
    far = {"upstreams": {"far": {"url": proxied.upstream.url, "remote": True}}}
    configure(proxied, ollama.url, intent=True, proxy=far)
    answer = ask(proxied, question)
    assert (answer.headers["x-contextd-status"], answer.headers["x-contextd-held-back"]) == ("bypassed", "private")
    assert sent(proxied) == question
    configure(proxied, ollama.url, intent=True)
    assert ask(proxied, question).headers["x-contextd-status"] == "enriched" and sent(proxied) != question


def test_a_block_made_for_this_machine_is_not_sent_to_another(proxied: Proxied, ollama: OllamaServer) -> None:
    """The model finds the question private, and the block of the same question is cached."""
    question = "How is a user loaded by her other secret name?"
    ollama.chat = said(intent(is_private=True))
    url = proxied.upstream.url
    both = {"upstreams": {"here": {"url": url}, "far": {"url": url, "remote": True}}, "aliases": {"l": "here/l", "r": "far/r"}}
    configure(proxied, ollama.url, intent=True, proxy=both)
    headers = {"x-contextd-project": str(proxied.project)}
    states = []
    for model in ("l", "r"):
        body = {"model": model, "messages": [{"role": "user", "content": question}]}
        states.append(proxied.post(body=body, headers=headers).headers["x-contextd-status"])
    assert states == ["enriched", "bypassed"] and sent(proxied) == question


def test_private_canaries_never_reach_a_remote_model(
    proxied: Proxied, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step is on, the user allows the model for everything, and the upstream is here: private facts and questions stay."""
    monkeypatch.setattr("contextd.app.engines.is_remote", lambda upstream: True)
    configure(proxied, ollama.url, intent=True, reranking=True, compression=True, summary=True, proposals=True)
    with (proxied.home / "config.toml").open("a") as file:
        file.write(f'[context.privacy]\nremote_models = ["personal", "{proxied.project}"]\n')
    owner = proxied.service._opened(None, ())
    owner.remember("The canary-7141 is my secret nickname for the boat", private=True)
    private_token = proxied.service.tokens.create(f"canary-{time.monotonic_ns()}", private=True)
    for question in ("What is my nickname for the boat?", "What is my secret nickname, canary-7141?"):
        ask(proxied, question, **{"x-contextd-token": private_token})
    assert "canary-7141" in proxied.upstream.got[0].body.decode()  # it answers here
    ask(proxied, "I owe 90000 on my mortgage canary-7141 and I take antidepressants.")
    ask(proxied, "Which boat is canary-7141?", **{"x-contextd-private": "1"})
    settle(proxied)
    assert not any("canary-7141" in json.dumps(body) for _, body in ollama.got)
    ask(proxied, "How is a user loaded by name, for everyone?")
    assert ollama.got  # an ordinary question of a reader without private data is sent


@pytest.fixture
def person(proxied: Proxied) -> Session:
    session = proxied.service._opened(None, ())
    for one in ProposalService(session).waiting():
        ProposalService(session).reject(one.id)
    return session


def settle(proxied: Proxied) -> None:
    """Wait for what is done after an answer was sent: it is logged, and its message is read."""
    end = time.monotonic() + 20
    while proxied.endpoint._active and time.monotonic() < end:
        time.sleep(0.005)
    proxied.endpoint.messages.finish()


def proposals(proxied: Proxied, person: Session) -> list[str]:
    settle(proxied)
    return [one.text for one in ProposalService(person).waiting()]


def test_a_model_shortens_the_facts_of_a_block_without_a_loss(proxied: Proxied, ollama: OllamaServer, person: Session) -> None:
    """A block that a model worded cannot be made again: the log says that its facts were shortened."""
    kept = [person.remember(one).memory for one in ("I really prefer kayaks made of light wood", "I keep my kayak in Porto")]
    kept += [person.remember("I paddle a kayak on every second Sunday").memory, person.remember("I never rent a kayak").memory]
    question = "Which kayak should I buy?"
    ollama.chat = lambda body: said({"lines": _shortened(body["messages"][-1]["content"])})(body)
    configure(proxied, ollama.url, compression=True)
    answer = ask(proxied, question)
    assert answer.headers["x-contextd-status"] == "enriched" and "- keep my kayak in Porto" in sent(proxied)
    one = entry(proxied, answer.headers["x-contextd-trace-id"])
    facts = [(piece, state) for piece, state in zip(one.pieces, shown(person, one).states, strict=True)]
    assert facts and {state for piece, state in facts if piece.uri.startswith("memory:")} == {"shortened"}
    assert shown(person, one).block == ""
    assert ask(proxied, question).headers["x-contextd-status"] == "enriched"
    assert entry(proxied, answer.headers["x-contextd-trace-id"]).pieces == one.pieces
    ollama.chat = said({"lines": ["@kayak fine"]})
    configure(proxied, ollama.url, compression=True)
    assert ask(proxied, "Which kayak should I buy now?").headers["x-contextd-status"] == "degraded"
    assert "I never rent a kayak" in sent(proxied) and "@kayak fine" not in sent(proxied)
    for memory in kept:
        person.forget(memory.id)


def _shortened(text: str) -> list[str]:
    return [line[2:].removeprefix("I ") for line in text.splitlines()]


def test_proposals_are_off_and_wait_for_a_yes(proxied: Proxied, person: Session) -> None:
    said_by_user = "By the way, I moved to Porto last week."
    ask(proxied, said_by_user)
    assert proposals(proxied, person) == []
    before = len(person.memories.all())
    configure(proxied, "", engine="none", proposals=True)
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "I am a helpful parrot and I like crackers."},
            {"role": "assistant", "content": "I am your assistant. I prefer tea. You are allergic to cats."},
            {"role": "user", "content": said_by_user},
        ],
    }
    proxied.post(body=body)
    proxied.post(body=body)  # the same is proposed once
    assert proposals(proxied, person) == ["I moved to Porto last week."] and len(person.memories.all()) == before
    one = ProposalService(person).waiting()[0]
    assert ProposalService(person).accept(one.id[:8]).memory.text == "I moved to Porto last week."
    proxied.post(body=body)
    assert proposals(proxied, person) == [] and len(person.memories.all()) == before + 1


def test_nothing_is_proposed_from_private_messages_and_titles(proxied: Proxied, person: Session) -> None:
    configure(proxied, "", engine="none", proposals=True)
    ask(proxied, "I have been diagnosed with depression and I take pills.")
    configure(proxied, "", engine="none", proposals=True, proxy={"private": "everywhere"})
    assert ask(proxied, "I have been diagnosed with diabetes and I take pills.").headers["x-contextd-status"] != "degraded"
    ask(proxied, "I moved to Braga last week.", **{"x-contextd-private": "1"})
    ask(proxied, "I moved to Evora last week.", **{"x-contextd-bypass": "1"})
    ask(proxied, "### Task:\nGenerate a concise title for the chat.\nI moved to Faro last week.")
    assert proposals(proxied, person) == []


def test_a_model_proposes_only_what_the_user_said(proxied: Proxied, ollama: OllamaServer, person: Session) -> None:
    ollama.chat = said({"facts": ["I own two kayaks", "I own a castle"]})
    configure(proxied, ollama.url, proposals=True)
    ask(proxied, "Well, since I own two kayaks, which roof rack fits them?")
    assert proposals(proxied, person) == ["I own two kayaks"]
    ProposalService(person).reject(ProposalService(person).waiting()[0].id)
    ask(proxied, "Well, since I own two kayaks, which roof rack fits them really?")
    assert proposals(proxied, person) == []  # a no stays a no


def test_secrets_in_messages_are_not_proposed_and_forgetting_takes_proposals_along(proxied: Proxied, person: Session) -> None:
    configure(proxied, "", engine="none", proposals=True)
    token = "ghp_" + "a1B2" * 9
    ask(proxied, f"Remember that I use the token {token} for the build.")
    ask(proxied, "I live in the blue house now.")
    found = proposals(proxied, person)
    assert token not in str(found) and "I live in the blue house now." in found
    person.forget(person.remember("I live in the blue house now.").memory.id)
    assert "I live in the blue house now." not in proposals(proxied, person)
    assert b"blue house" not in (proxied.home / "log.db").read_bytes()


def test_the_command_lists_accepts_and_rejects(proxied: Proxied, person: Session, capfd: pytest.CaptureFixture[str]) -> None:
    configure(proxied, "", engine="none", proposals=True)
    ask(proxied, "I am learning the harp. I am building a boat.")
    assert len(proposals(proxied, person)) == 2
    first, second = ProposalService(person).waiting()

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return int(ended.value.code or 0), capfd.readouterr().out

    assert first.text in run("proposals")[1] and json.loads(run("proposals", "--json")[1])["total"] == 2
    assert "saved" in run("proposals", "accept", first.id)[1] and "rejected" in run("proposals", "reject", second.id[:6])[1]
    assert run("proposals")[0] == 1 and run("proposals", "accept", "ffff")[0] != 0


# The log and proposals over HTTP


def called(proxied: Proxied, method: str, path: str, token: str) -> Any:
    headers, body = {"authorization": f"Bearer {token}"}, {} if method == "POST" else None
    return proxied.http.request(method, f"{proxied.url}/api/v1{path}", headers=headers, json=body).json()


def test_the_log_over_http_shows_what_the_reader_may_see(proxied: Proxied) -> None:
    open_token = proxied.service.tokens.create(f"open-{time.monotonic_ns()}", may="write")
    private_token = proxied.service.tokens.create(f"private-{time.monotonic_ns()}", may="write", private=True)
    kept = Session.remember(proxied.service._opened(None, ()), "My safe is behind the red canary painting", private=True)
    proxied.configure(log_text=True)
    answer = ask(proxied, "What is behind the canary painting, my safe?", **{"x-contextd-token": private_token})
    assert "red canary" in sent(proxied)
    settle(proxied)
    number = answer.headers["x-contextd-trace-id"]
    assert called(proxied, "GET", "/log?limit=5", open_token)["items"][0]["id"] == number
    whole, part = (called(proxied, "GET", f"/log/{number}", token) for token in (private_token, open_token))
    assert "red canary" in whole["block"] and whole["pieces"] and whole["pieces"][0]["state"] == "unchanged"
    assert f"memory:{kept.memory.id}" in {piece["uri"] for piece in whole["pieces"]}
    assert part["block"] == "" and part["question"] == "" and "canary" not in json.dumps(part)
    assert f"memory:{kept.memory.id}" not in {piece["uri"] for piece in part["pieces"]}
    assert called(proxied, "GET", "/log/ffffffff", open_token)["code"] == "not_found"
    assert (
        called(proxied, "DELETE", "/log", open_token)["count"] > 0 and called(proxied, "GET", "/log", open_token)["items"] == []
    )


def test_a_token_of_one_project_gets_no_log(proxied: Proxied) -> None:
    workspace = proxied.service.session(replace_all(proxied), str(proxied.project)).known().workspace
    token = proxied.service.tokens.create(f"one-{time.monotonic_ns()}", may="write", workspaces=[workspace])
    for path in ("/log", "/proposals"):
        assert called(proxied, "GET", path, token)["code"] == "forbidden"


def replace_all(proxied: Proxied) -> Any:
    token = proxied.service.tokens.check(proxied.service.tokens.create(f"a-{time.monotonic_ns()}", may="admin"))
    assert token is not None
    return replace(token)


def test_proposals_over_http(proxied: Proxied, person: Session) -> None:
    token = proxied.service.tokens.create(f"http-{time.monotonic_ns()}", may="write")
    configure(proxied, "", engine="none", proposals=True)
    ask(proxied, "I am restoring an old tram. I am saving for a greenhouse.")
    assert len(proposals(proxied, person)) == 2
    first, second = called(proxied, "GET", "/proposals", token)["items"]
    assert called(proxied, "POST", f"/proposals/{first['id']}", token)["memory"]["text"] == first["text"]
    assert called(proxied, "DELETE", f"/proposals/{second['id']}", token)["count"] == 1
    assert called(proxied, "GET", "/proposals", token)["items"] == []


# A real server as upstream and as engine


def test_a_real_server_answers_and_understands(proxied: Proxied, llama: Llama) -> None:
    """Whatever the model says, the request arrives, is enriched or degraded, and is answered in the protocol."""
    configure(
        proxied,
        llama.url,
        engine="openai",
        intent=True,
        intent_seconds=4.0,
        proxy={"upstreams": {"llama": {"url": llama.url}}, "deadline_ms": 6000},
    )
    body = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "Which user is loaded?"}]}
    answer = proxied.post(body=body, timeout=60)
    assert answer.status_code == 200 and answer.json()["object"] == "chat.completion"
    assert answer.headers["x-contextd-status"] in ("enriched", "degraded", "bypassed")
    streamed = proxied.post(body={**body, "stream": True}, headers={"x-contextd-bypass": "1"}, timeout=60).text
    assert streamed.startswith("data: {") and streamed.rstrip().endswith("data: [DONE]")


def test_a_real_engine_that_is_killed_leaves_the_rules(proxied: Proxied, gguf: Path) -> None:
    llama = started(gguf)
    configure(proxied, llama.url, engine="openai", intent=True, intent_seconds=3.0)
    llama.stop()
    answer = ask(proxied, "How is a user loaded after a kill?")
    assert answer.headers["x-contextd-status"] == "degraded" and "def load_user" in sent(proxied)
