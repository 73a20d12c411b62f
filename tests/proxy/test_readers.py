"""Three people share a service: what reaches an upstream for one of them is a function of what that one may see."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.profiles import profile_service
from contextd.app.session import Session
from tests.proxy.conftest import Proxied

PEOPLE = ("owner", "ana", "ben")
QUESTIONS = ("Where do I keep my bicycle?", "What is the plan for the boat?")
TEXTS = ("I keep my bicycle in the {} shed", "The plan for the boat is to paint it {}")
_STEPS = st.lists(
    st.tuples(st.sampled_from(["tell", "secret", "share", "forget", "profile", "ask"]), st.sampled_from(PEOPLE), st.integers(0, 1)),
    min_size=6, max_size=14,
)  # fmt: skip


class Model:
    """Who may see which canary, and where."""

    def __init__(self, proxied: Proxied) -> None:
        self.proxied, self.count = proxied, 0
        self.sessions: dict[str, Session] = {
            one: open_session(None, home=proxied.home, environment={}, reader=one) for one in PEOPLE
        }
        name = f"{time.time_ns()}"
        self.tokens = {one: proxied.service.tokens.create(f"{one}{name}", reader=one, private=True) for one in PEOPLE}
        self.seen: dict[str, frozenset[str]] = {}  # readers of each canary
        self.private: set[str] = set()
        self.ids: list[tuple[str, str, str]] = []  # author, memory, canary

    def step(self, what: str, who: str, number: int) -> None:
        self.count += 1
        canary = f"canary{self.count}x{time.time_ns()}"
        if what in ("tell", "secret", "share"):
            others = [PEOPLE[(PEOPLE.index(who) + 1) % 3]] if what == "share" else []
            made = self.sessions[who].remember(TEXTS[number].format(canary), private=what == "secret", principals=others)
            self.seen[canary] = frozenset([who, *others])
            self.private |= {canary} if what == "secret" else set()
            self.ids.append((who, made.memory.id, canary))
        elif what == "forget" and self.ids:
            author, memory, gone = self.ids.pop()
            self.sessions[author].forget(memory)
            self.seen[gone] = frozenset()
        elif what == "profile":
            profile_service(self.sessions[who]).set("identity.role", [canary])
            self.seen = {name: readers - {who} if name.startswith("role") else readers for name, readers in self.seen.items()}
            self.seen[canary] = frozenset([who])
        else:
            self.ask(who, number)

    def ask(self, who: str, number: int) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": QUESTIONS[number]}]}
        for upstream in ("near", "far"):
            answer = self.proxied.post(body={**body, "model": upstream}, headers={"x-contextd-token": self.tokens[who]})
            assert answer.status_code == 200
            sent = self.proxied.upstream.got[-1].body.decode()
            wrong = [
                one
                for one, readers in self.seen.items()
                if one in sent and (who not in readers or (upstream == "far" and one in self.private))
            ]
            assert not wrong, (upstream, who)


@pytest.fixture(scope="module")
def shared(running: Proxied) -> Iterator[Proxied]:
    yield running
    running.configure()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_C1_three_people_see_only_what_is_theirs(shared: Proxied, steps: list[tuple[str, str, int]], tmp_path: Path) -> None:
    shared.configure(
        open=False,
        upstreams={"near": {"url": shared.upstream.url}, "far": {"url": shared.upstream.url, "remote": True}}, aliases={"far": "far", "near": "near"},
    )  # fmt: skip
    model = Model(shared)
    for step in steps:
        model.step(*step)
    for who in PEOPLE:
        for number in (0, 1):
            model.ask(who, number)
    for author, memory, _ in model.ids:
        model.sessions[author].forget(memory)
    for who in PEOPLE:
        if "identity.role" in profile_service(model.sessions[who]).get().entries():
            profile_service(model.sessions[who]).unset("identity.role")


def test_the_model_above_can_fail(shared: Proxied) -> None:
    """A canary that is said to be somebody else's is noticed."""
    shared.configure(open=False, upstreams={"near": {"url": shared.upstream.url}, "far": {"url": shared.upstream.url, "remote": True}}, aliases={"far": "far"})  # fmt: skip
    model = Model(shared)
    model.step("tell", "ana", 0)
    model.seen = {canary: frozenset(["ben"]) for canary in model.seen}
    with pytest.raises(AssertionError):
        model.ask("ana", 0)
    author, memory, _ = model.ids[0]
    model.sessions[author].forget(memory)
