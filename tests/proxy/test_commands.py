"""The commands that configure the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.serving import announced
from contextd.app.upstreams import PRESETS, base_url, is_remote
from contextd.settings.defaults import Upstream as Named
from tests.conftest import Run
from tests.proxy.upstream import Upstream, answered


def test_an_upstream_is_added_listed_and_tested(home: Path, contextd: Callable[..., Run]) -> None:
    (home / "config.toml").write_text("# mine\n[context.budget]\ndefault_max_tokens = 900\n")
    server = Upstream(answer=lambda got: [answered({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})])
    assert contextd("proxy", "list").code == 1 and contextd("proxy", "test").code == 2
    assert contextd("proxy", "add", f"http://127.0.0.1:{server.port}", "--name", "here", "--key-env", "HERE_KEY").code == 0
    assert contextd("proxy", "add", "openai").code == 0
    text = (home / "config.toml").read_text()
    assert "# mine" in text and "default_max_tokens = 900" in text and "[context.proxy.upstreams.here]" in text
    listed = json.loads(contextd("proxy", "list", "--json").out)["items"]
    assert [(one["name"], one["place"], one["default"]) for one in listed] == [
        ("here", "this machine", "yes"),
        ("openai", "another machine", ""),
    ]
    told = json.loads(contextd("proxy", "test", "here", "--json", HERE_KEY="sk-here").out)["items"]
    assert (told[0]["status"], told[0]["models"]) == ("ok", 2)
    assert (server.got[0].path, server.got[0].headers["authorization"]) == ("/v1/models", "Bearer sk-here")
    server.answer = lambda got: [answered(b"<html>", "200 OK")]
    assert contextd("proxy", "test", "here").code == 3
    server.answer = lambda got: [answered(b"{}", "401 Unauthorized")]
    assert "HTTP 401" in contextd("proxy", "test", "here").out
    server.close()


@pytest.mark.parametrize("what", ["ftp://x", "nothing", "http://user:secret@host/v1", "http://host/v1?key=1", ""])
def test_a_wrong_upstream_is_refused(what: str, contextd: Callable[..., Run]) -> None:
    run = contextd("proxy", "add", what)
    assert run.code == 2 and "secret" not in run.out


def test_what_counts_as_another_machine() -> None:
    places = {"http://127.0.0.1:1/v1": False, "http://localhost:1": False, "http://[::1]:1/v1": False, "http://192.168.1.5/v1": True, "https://api.openai.com/v1": True, "http://localhost.evil.com": True}  # fmt: skip
    assert {url: is_remote(Named(url)) for url in places} == places
    assert is_remote(Named("http://127.0.0.1:1", remote=True)) and not is_remote(Named("https://llm.lan/v1", remote=False))
    assert base_url("http://h:1/") == "http://h:1/v1" and base_url("https://h/api/v1/") == "https://h/api/v1"
    assert all(base_url(one.url) == one.url for one in PRESETS.values())


def test_a_project_cannot_configure_the_proxy(project: Path, contextd: Callable[..., Run]) -> None:
    (project / "context.toml").write_text(
        '[context.proxy]\nopen = true\n[context.proxy.upstreams.evil]\nurl = "http://evil.example"\n'
    )
    told = contextd("config", cwd=project)
    assert told.code == 0 and "a project cannot configure the proxy" in told.err + told.out
    assert contextd("proxy", "list", cwd=project).code == 1


def test_adding_says_where_clients_find_the_proxy(home: Path, contextd: Callable[..., Run]) -> None:
    contextd("config", "set", "engine.port", "8755")
    first = contextd("proxy", "add", "ollama")
    assert first.out.startswith("added ollama") and "contextd serve" in first.err
    assert "http://127.0.0.1:8755/t/TOKEN/v1" in first.err and "contextd token create" in first.err
    with announced(home, "http://127.0.0.1:9123", "1"):
        again = contextd("proxy", "add", "ollama", "--key-env", "MY_KEY")
        told = json.loads(contextd("proxy", "add", "ollama", "--json").out)
    assert again.out.startswith("changed ollama") and "contextd serve" not in again.err
    assert "http://127.0.0.1:9123/t/TOKEN/v1" in again.err
    assert (told["changed"], told["base_url"]) == (True, "http://127.0.0.1:9123/t/TOKEN/v1")
    contextd("config", "set", "proxy.open", "true")
    assert contextd("proxy", "add", "ollama").err.strip().endswith("http://127.0.0.1:8755/v1")


def test_an_upstream_is_removed_when_nothing_uses_it(home: Path, contextd: Callable[..., Run]) -> None:
    (home / "config.toml").write_text("# mine\n")
    for name in ("ollama", "vllm"):
        contextd("proxy", "add", name)
    assert contextd("config", "set", "proxy.aliases.fast", "ollama/qwen3:8b").code == 0
    assert contextd("config", "set", "proxy.upstream", "ollama").code == 0
    refused = contextd("proxy", "remove", "ollama")
    assert refused.code == 2 and "contextd config unset proxy.aliases.fast" in refused.err
    assert contextd("config", "unset", "proxy.aliases.fast").code == 0
    assert contextd("proxy", "remove", "ollama").out == "removed ollama\n"
    listed = json.loads(contextd("proxy", "list", "--json").out)["items"]
    assert [(one["name"], one["default"]) for one in listed] == [("vllm", "yes")]
    text = (home / "config.toml").read_text()
    assert "# mine" in text and "ollama" not in text
    gone = contextd("proxy", "remove", "ollama")
    assert gone.code == 2 and "contextd proxy list" in gone.err
    assert contextd("proxy", "remove", "vllm").code == 0 and contextd("proxy", "list").code == 1


def test_a_setting_that_names_an_unknown_upstream_is_refused(home: Path, contextd: Callable[..., Run]) -> None:
    contextd("proxy", "add", "ollama")
    before = (home / "config.toml").read_text()
    for key, value in (("proxy.upstream", "nope"), ("proxy.aliases.fast", "nope/qwen3"), ("proxy.aliases.fast", "nope")):
        run = contextd("config", "set", key, value)
        assert run.code == 2 and "no such upstream: 'nope'" in run.err, key
    assert (home / "config.toml").read_text() == before
