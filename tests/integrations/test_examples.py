"""The filter of Open WebUI and the hook of LiteLLM, called as their hosts call them, against a running service.

`test_frameworks.py` has the same inside the real hosts.
"""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import sys
import time
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.integrations.conftest import Served

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 120
QUESTION = "how does load_user find a user"
Json = dict[str, Any]


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Host:
    """Both files behind one call: a request goes in, and what the model would get comes out."""

    def __init__(self, name: str, url: str, token: str, project: Path, patch: pytest.MonkeyPatch) -> None:
        self.name = name
        if name == "openwebui_filter":
            self.filter = loaded(name).Filter()
            self.filter.valves = self.filter.Valves(url=url, token=token, project=str(project))
            return
        base = ModuleType("litellm.integrations.custom_logger")  # the package is too large for this suite
        base.CustomLogger = type("CustomLogger", (), {})  # type: ignore[attr-defined]
        for part in ("litellm", "litellm.integrations", base.__name__):
            patch.setitem(sys.modules, part, base)
        for key, value in {"URL": url, "TOKEN": token, "PROJECT": str(project)}.items():
            patch.setenv(f"CONTEXTD_{key}", value)
        self.hook = loaded(name).hook

    def __call__(self, *messages: Json, **more: Any) -> list[Json]:
        body = {"model": "m", "messages": [deepcopy(one) for one in messages], **more}
        if self.name == "openwebui_filter":
            return list(asyncio.run(self.filter.inlet(body, __metadata__=more.get("metadata"), __user__={}))["messages"])
        return list(asyncio.run(self.hook.async_pre_call_hook(None, None, body, "acompletion"))["messages"])


@pytest.fixture(params=["openwebui_filter", "litellm_hook"])
def host(request: pytest.FixtureRequest, served: Served, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(request.param, served.process.url, served.token, served.project, monkeypatch)


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


BEFORE = ({"role": "system", "content": "Be brief."}, user("hello there my friend"), {"role": "assistant", "content": "Hi."})


def test_the_context_stands_in_the_last_message_and_nothing_else_changes(host: Host) -> None:
    for _ in range(10):  # a second may not be enough on a busy machine
        *earlier, last = host(*BEFORE, user(QUESTION))
        if last["content"] != QUESTION:
            break
    assert earlier == list(BEFORE)
    assert last["content"].endswith(QUESTION) and "def load_user" in last["content"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for _ in range(10):
        parts = host(user([{"type": "text", "text": QUESTION}, picture]))[0]["content"]
        if len(parts) > 2:
            break
    assert "def load_user" in parts[0]["text"] and parts[1:] == [{"type": "text", "text": QUESTION}, picture]


@pytest.mark.parametrize(
    "messages",
    [
        (user("thanks a"),),
        (*BEFORE, {"role": "tool", "content": "how are users loaded"}),
        (BEFORE[2],),
        (),
        (user([]),),
        (user(None),),
    ],
)
def test_a_request_that_asks_nothing_passes_unchanged(host: Host, messages: tuple[Json, ...]) -> None:
    assert host(*messages) == list(messages)


def test_a_request_of_the_host_itself_passes_unchanged(host: Host) -> None:
    metadata = {"task": "title_generation"} if host.name == "openwebui_filter" else {"contextd": False}
    assert host(user(QUESTION), metadata=metadata) == [user(QUESTION)]


@pytest.mark.parametrize("name", ["openwebui_filter", "litellm_hook"])
def test_without_an_answer_within_a_second_the_request_passes_unchanged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        places = (silent.getsockname()[1], 9)
        for port in places:
            host = Host(name, f"http://127.0.0.1:{port}", "x", tmp_path, monkeypatch)
            began = time.monotonic()
            assert host(user(QUESTION)) == [user(QUESTION)]
            assert time.monotonic() - began < 2


def test_a_user_of_open_webui_has_a_token_of_their_own(served: Served) -> None:
    chosen = loaded("openwebui_filter").Filter()
    chosen.valves = chosen.Valves(url=served.process.url, project=str(served.project))

    def asked(token: str) -> str:
        own = {"valves": chosen.UserValves(token=token)}
        return str(asyncio.run(chosen.inlet({"messages": [user(QUESTION)]}, __user__=own))["messages"][0]["content"])

    assert asked("") == asked("wrong") == QUESTION
    assert any("def load_user" in asked(served.token) for _ in range(10))


@pytest.mark.parametrize("name", ["openwebui_filter", "litellm_hook"])
def test_an_example_is_one_short_file_that_says_how_to_install_it(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= MOST_LINES and "Install:" in text.split('"""')[1]


def test_a_hit_has_an_id_and_metadata_of_texts_and_numbers(session: Any) -> None:
    from contextd.surfaces.integrations.hits import identifier, metadata

    hit = session.search(QUESTION, k=1).hits[0]
    assert metadata(hit)["source"] == "src/app/store.py" and metadata(hit)["start_line"] >= 1
    assert all(isinstance(value, str | int | float) for value in metadata(hit).values())
    document, _, ordinal = identifier(hit).partition(":")
    assert (int(document, 16), int(ordinal)) == hit.chunk.id


@pytest.mark.parametrize("name", ["langchain", "llamaindex"])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(name: str) -> None:
    package = {"langchain": "langchain_core", "llamaindex": "llama_index"}[name]
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed here")
    with pytest.raises(ImportError, match=rf"pip install 'contextd\[{name}\]'"):
        importlib.import_module(f"contextd.surfaces.integrations.{name}")
