"""What a reader may not see changes nothing they get: not hits, scores, counts or errors, over HTTP, over MCP, or from the cache.

Three people write, share, withdraw and erase in one service. For each there is a second service with only what that person may see.
Every question is asked of both, twice, and once without the cache. All answers must be the same.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from contextd.app.assemble import open_session
from tests.conftest import SAMPLE, new_home, written
from tests.faults.test_sweeps import keep
from tests.http.conftest import Asked, serving

READERS = ("ana", "bo", "cy")
FRUITS = ("fig", "kiwi", "plum")
Json = dict[str, Any]
PHRASES = ("where is the {}", "tell me where the {} is", "where's the {}", "Where is the {}?")
_CACHED = ("memories", "search", "context")  # questions that can be asked with and without the cache
_FEW = ("memories", "search", "list", "counts", "recall")  # those of the short run
_HEX = re.compile(r"\b[0-9a-f]{8,}\b")


@dataclass
class Item:
    """A memory or a document, with its id in each service."""

    author: str
    readers: frozenset[str]
    text: str
    path: str = ""  # of a document
    ids: dict[str, str] = field(default_factory=dict)


@dataclass
class Worlds:
    """The service with everything, and one for each person."""

    all: dict[str, Asked]
    answers: int = 0
    thorough: bool = False

    @classmethod
    def opened(cls, folder: Path, weights: Path | None) -> Worlds:
        found = {}
        for name in ("everybody", *READERS):
            place = folder / name
            place.mkdir()
            home = new_home(place / "home", weights)
            project = written(place / "project", SAMPLE)
            (home / "config.toml").write_text("[context.cache]\nsemantic = true\n")
            session = open_session(project, home=home, environment={})
            session.index()
            service, client = serving(home)
            client.__enter__()
            found[name] = Asked(service, client, project, {})
        return cls(found)

    def close(self) -> None:
        for one in self.all.values():
            one.client.__exit__(None, None, None)

    def call(self, world: str, person: str, method: str, path: str, body: Json | None = None, /, **query: Any) -> Any:
        asked = self.all[world]
        self.answers += 1
        return asked.call(method, path, body, token=asked.token(person, reader=person, may="write"), **query)


class Three(RuleBasedStateMachine):
    """Three people, what each wrote, and who may read it."""

    worlds: Worlds

    @initialize()
    def begin(self) -> None:
        self.items: list[Item] = []
        self.count = 0
        for world in self.worlds.all.values():
            session = world.service.ask(str(world.project), ())
            session.share(READERS)
        for world in self.worlds.all:
            for person in READERS:
                self._cleared(world, person)
        for person, other in zip(READERS, (*READERS[1:], READERS[0]), strict=True):
            self.remember(person, "fig", set())
            self.remember(person, "kiwi", {other})
            self.store(person, 0, {other}, "plum")

    def _cleared(self, world: str, person: str) -> None:
        for one in self._api(world, person, "GET", "/memories", all=True, limit=200)["items"]:
            if one["author"] == person:
                self._api(world, person, "DELETE", f"/memories/{one['id']}")
        project = str(self.worlds.all[world].project)
        for one in self._api(world, person, "GET", "/documents", project=project, limit=200)["items"]:
            self.worlds.call(world, person, "DELETE", "/api/v1/documents", path=one["path"], project=project)

    def _api(self, world: str, person: str, method: str, path: str, body: Json | None = None, /, **query: Any) -> Any:
        answer = self.worlds.call(world, person, method, f"/api/v1{path}", body, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @rule(person=st.sampled_from(READERS), fruit=st.sampled_from(FRUITS), others=st.sets(st.sampled_from(READERS)))
    def remember(self, person: str, fruit: str, others: set[str]) -> None:
        self.count += 1
        item = Item(
            person,
            frozenset({person, *others}),
            f"The {fruit} number {self.count} hangs in the {fruit} tree of row {self.count}",
        )
        body = {
            "text": item.text,
            "principals": sorted(others),
            "kind": "fact",
            "said": f"2026-05-01T10:{self.count % 60:02}:00Z",
        }
        for world in ("everybody", *sorted(item.readers)):
            item.ids[world] = self._api(world, person, "POST", "/memories", body)["memory"]["id"]
        self.items.append(item)

    @rule(
        person=st.sampled_from(READERS),
        number=st.integers(0, 2),
        others=st.sets(st.sampled_from(READERS)),
        fruit=st.sampled_from(FRUITS),
    )
    def store(self, person: str, number: int, others: set[str], fruit: str) -> None:
        """A document; the same path again has other readers, so some lose sight of it."""
        self.count += 1
        path = f"{person}/{number}.md"
        before = next((one for one in self.items if one.path == path), None)
        item = Item(
            person,
            frozenset({person, *others}),
            f"# Crate {self.count}\n\nThe {fruit} crate {self.count} is in the shed.\n",
            path,
        )
        for world in ("everybody", *READERS):
            place = {"path": path, "project": str(self.worlds.all[world].project)}
            if world == "everybody" or world in item.readers:
                self._api(world, person, "POST", "/documents", {**place, "text": item.text, "principals": sorted(others)})
            elif before is not None and world in before.readers:
                self._api(world, person, "DELETE", "/documents", **place)
        self.items = [one for one in self.items if one.path != path] + [item]

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        if not self.items:
            return
        item = self.items.pop(data.draw(st.integers(0, len(self.items) - 1)))
        for world in ("everybody", *sorted(item.readers)):
            if item.path:
                place = {"path": item.path, "project": str(self.worlds.all[world].project)}
                self._api(world, item.author, "DELETE", "/documents", **place)
            else:
                self._api(world, item.author, "DELETE", f"/memories/{item.ids[world]}")

    @rule(person=st.sampled_from(READERS))
    def share_project(self, person: str) -> None:
        """Withdraw the project from a person, or give it back."""
        for world in self.worlds.all.values():
            session = world.service.ask(str(world.project), ())
            session.unshare([person], force=True) if person in session.who() else session.share([person])
        if person not in self.worlds.all["everybody"].service.ask(str(self.worlds.all["everybody"].project), ()).who():
            self.ask("fig")
            for world in self.worlds.all.values():
                world.service.ask(str(world.project), ()).share([person])

    @rule(fruit=st.sampled_from(FRUITS))
    def ask(self, fruit: str) -> None:
        """Everybody asks the same, one right after the other: nothing was written since, so a cache has an answer."""
        asked = {person: self._questions(person, fruit) for person in READERS}
        for name in asked["ana"] if self.worlds.thorough else _FEW:
            for person in READERS:
                question = asked[person][name]
                caches = (True, True, False) if name in _CACHED else (True,)
                answers = [question("everybody", cache) for cache in caches] + [question(person, False)]
                other = next((one for one in answers if one != answers[0]), None)
                assert other is None, (name, person, answers[0], other)
        self._rephrase(fruit)
        for item in [one for one in self.items if not one.path][:1]:
            person = next((one for one in READERS if one not in item.readers), item.author)
            real = self.worlds.call("everybody", person, "GET", f"/api/v1/memories/{item.ids['everybody']}")
            none = self.worlds.call("everybody", person, "GET", f"/api/v1/memories/{'f' * 32}")
            if person not in item.readers:
                assert real.status_code == none.status_code == 404
                assert _HEX.sub("", real.json()["detail"]) == _HEX.sub("", none.json()["detail"])

    def _rephrase(self, fruit: str) -> None:
        """Everybody asks the same in other words, which the cache may take for one question, but not for one reader."""
        for person, phrase in zip([*READERS, *READERS], itertools.cycle(PHRASES), strict=False):
            body = {"query": phrase.format(fruit), "min_score": 0, "k": 50, "memories_only": True}
            found = self._api("everybody", person, "POST", "/search", body)["hits"]
            seen = {f"memory:{one.ids['everybody']}" for one in self.items if not one.path and person in one.readers}
            assert {hit["path"] for hit in found} <= seen, (person, phrase)

    def _questions(self, person: str, fruit: str) -> dict[str, Callable[[str, bool], Any]]:
        """Questions by name: each takes a service and whether the cache may answer, and returns what must be the same."""

        def api(path: str, body: Json) -> Callable[[str, bool], Any]:
            def ask(world: str, cache: bool) -> Any:
                place = {"project": str(self.worlds.all[world].project)} if body.get("project") else {}
                more = {} if path == "/facets" else {"cache": cache}
                return self._taken(
                    world, person, self.worlds.call(world, person, "POST", f"/api/v1{path}", {**body, **place, **more})
                )

            return ask

        def listed(path: str, in_project: bool) -> Callable[[str, bool], Any]:
            def ask(world: str, cache: bool) -> Any:
                place = {"project": str(self.worlds.all[world].project)} if in_project else {}
                return self._taken(world, person, self.worlds.call(world, person, "GET", f"/api/v1{path}", **place))

            return ask

        def tool(name: str, **arguments: Any) -> Callable[[str, bool], Any]:
            def ask(world: str, cache: bool) -> Any:
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
                answer = self.worlds.call(world, person, "POST", f"/mcp?project={self.worlds.all[world].project}", message)
                return self._taken(world, person, answer)

            return ask

        query, whole = f"which {fruit} is where", {"query": f"where is the {fruit} crate", "project": True, "min_score": 0}
        return {
            "memories": api("/search", {"query": query, "min_score": 0, "k": 50, "memories_only": True}),
            "search": api("/search", {**whole, "k": 30}),
            "context": api("/context", {**whole, "budget": 700}),
            "facets": api("/facets", {"query": query, "min_score": 0}),
            "list": listed("/memories", False),
            "documents": listed("/documents", True),
            "topics": listed("/topics", False),
            "counts": listed("/stats", True),
            "recall": tool("recall", query=query),
            "query_context": tool("query_context", query=f"where is the {fruit} crate"),
        }  # fmt: skip

    def _taken(self, world: str, person: str, answer: Any) -> tuple[int, str]:
        """Return what is compared of an answer, which must be one."""
        asked = self.worlds.all[world]
        good = (200,) if person in asked.service.ask(str(asked.project), ()).who() else (200, 404)
        assert answer.status_code in good, answer.text
        assert ("error" not in answer.json() and not (answer.json().get("result") or {}).get("isError")) or 404 in good, (
            answer.text
        )
        return answer.status_code, self._named(world, answer.json())

    def _named(self, world: str, answer: Json) -> str:
        """An answer as text, with the same names in both services for ids, folders and times."""
        text = json.dumps(answer)
        for number, item in enumerate(self.items):
            if world in item.ids:
                text = text.replace(item.ids[world], f"<{number}>").replace(item.ids[world][:8], f"<{number}>")
        text = text.replace(str(self.worlds.all[world].project.parent), "")
        return _CHANGING.sub("", json.dumps(json.loads(text), sort_keys=True))


# Ids are random, so texts that show one have another number of tokens.
_CHANGING = re.compile(
    r'"(?:trace_id|tokens|budget_used|milliseconds|cached|id|changed|modified|recorded|created|updated|bytes|\w*_bytes|\w*_mb|cache|valid_from|root)": (?:"[^"]*"|[\d.]+|null)'
)


@pytest.fixture
def worlds(tmp_path: Path, weights: Path | None) -> Iterator[Worlds]:
    opened = Worlds.opened(tmp_path, weights)
    yield opened
    opened.close()


def _run(worlds: Worlds, examples: int, steps: int, *, thorough: bool) -> None:
    Three.worlds = worlds
    worlds.thorough = thorough
    limits = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck), deadline=None)
    run_state_machine_as_test(Three, settings=limits)  # type: ignore[no-untyped-call]


def test_C1_C4_an_answer_depends_only_on_what_its_reader_may_see(worlds: Worlds) -> None:
    _run(worlds, 2, 10, thorough=False)
    answers = worlds.all["everybody"].service.home.answers
    assert answers.hits and answers.rephrased, "no answer came from a cache"


@pytest.mark.campaign
@pytest.mark.timeout(3000)
def test_C1_C4_the_same_in_many_orders(worlds: Worlds) -> None:
    _run(worlds, 6, 20, thorough=True)  # five minutes on two busy cores
    keep("rights, three people in one service against services of their own", requests=worlds.answers, differences=0)
