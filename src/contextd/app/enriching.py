"""Enrich a question of a chat: its facts, the context of the project and the profile, as one block within a budget.

Every part is optional. A part that fails or takes too long is left out, and the block without it is used.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from contextd.app.asking import Asked
from contextd.app.profiles import profile_service
from contextd.app.prompts import is_trivial
from contextd.app.questions import query_of
from contextd.errors import NotFound
from contextd.querying.assisted.ask import fallen_back
from contextd.querying.compose import OPENING, PROFILE, Block, compose
from contextd.querying.facets.limits import LIMITS as HARD_LIMITS
from contextd.querying.understand import understand
from contextd.settings.limits import LIMITS
from contextd.text.private_matters import is_private
from contextd.values.answer import Context, Hit
from contextd.values.interaction import digest_of
from contextd.values.query import Narrow
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.app.session import Session
    from contextd.settings.defaults import Proxy
    from contextd.values.query import Query

T = TypeVar("T")

_LOG = logging.getLogger("contextd.proxy")
_LONGEST = 8000  # characters of a question that are searched for
_SURE = 0.7  # probability that a fact matters
_FACTS = 1000  # maximum number of tokens of facts
NOTHING = Block("", 0, (), ())


class _Facts(NamedTuple):
    """The facts of a question, and the statements in which a language model said them."""

    hits: Sequence[Hit] = ()
    statements: Sequence[str] = ()

    def beside(self, pieces: Sequence[Hit], personal: int) -> _Facts:
        """Return the facts to show beside pieces. If a project answers, only hard limits and facts that are sure to matter:

        to a question about code, every fact about software looks related.
        """
        if all(hit.chunk.workspace == personal for hit in pieces):
            return self
        kept = [hit for hit in self.hits if hit.facet == HARD_LIMITS.name or hit.score >= _SURE]
        return self if len(kept) == len(self.hits) else _Facts(kept)


class _Incomplete(Exception):
    """A part is missing, so the block is not kept for the next question."""


class _HeldBack(Exception):
    """A language model finds the question private, and the upstream is on another machine."""


@dataclass(slots=True)
class Enrichment:
    """One enrichment. `run` is called in a thread; `found` is the best block so far and may be read by another at any time."""

    open_session: Callable[[], Session]
    question: str
    history: Sequence[str]
    settings: Proxy
    budget: int
    deadline: float  # on the monotonic clock
    found: Block = NOTHING
    missing: list[str] = field(default_factory=list)  # names of parts that failed
    finished: bool = False
    cache: str = ""  # "exact" or "semantic" if the block was made before
    project: str = ""  # directory of the project that was searched
    profile: str = ""  # digest of the profile's summary, if it is in the block
    remote: bool = False  # whether the upstream is on another machine
    held_back: bool = False  # the question turned out to be private, and nothing is added
    without_project: Callable[[], Session] | None = None  # opens a session if the project that was asked for is unknown

    def run(self) -> None:
        """Make the block, part by part. Never raises."""
        try:
            session = self._opened()
            self.project = str(session.project.root) if session.project is not None else ""
            self._from_cache(session)
            if PROFILE in self.found.text:
                self.profile = digest_of(profile_service(session).summary())
        except _Incomplete:
            pass
        except _HeldBack:
            self.found, self.held_back = NOTHING, True
        except Exception as error:  # whatever it is, the request goes on
            self._failed("enrichment", error)
        self.finished = True

    def _opened(self) -> Session:
        """Open the session; without the project that was asked for, if that is unknown and a person's facts may be read."""
        try:
            return self.open_session()
        except NotFound:
            if self.without_project is None:
                raise
            self._missed("project", "is unknown")
            return self.without_project()

    @property
    def status(self) -> str:
        """`enriched`, `degraded` if a part failed or is late, or `bypassed` if there is nothing to add."""
        if self.missing or not self.finished:
            return "degraded"
        return "enriched" if self.found.text else "bypassed"

    def _from_cache(self, session: Session) -> None:
        """Take the block of the same question if nothing has changed since; else make it."""
        query = replace(
            query_of(session, self.question[:_LONGEST], None, None),
            history=tuple(one[: LIMITS["history"].characters] for one in self.history),
            budget=self.budget,
            template=f"proxy:{self.settings.profile}:{'remote' if self.remote else 'here'}",
        )
        answer = session.home.answers.get(session, query, Asked(self.history), "context", lambda: self._made(session, query))
        facts = tuple(hit for hit in answer.hits if hit.chunk.is_memory)
        pieces = tuple(hit for hit in answer.hits if not hit.chunk.is_memory)
        self.cache = answer.trace.cache
        self.found = Block(answer.text, answer.tokens, facts, pieces, bool(answer.statements))

    def _made(self, session: Session, query: Query) -> Context:
        """Make the block. Raises `_Incomplete` if a part failed."""
        before = len(self.missing)
        summary = self._part("profile", lambda: self._summary(session), "")
        count = session.home.tokens.count
        if self.settings.profile == "always":
            self.found = compose(summary, (), (), self.budget, count)
        facts, pieces = _Facts(), tuple[Hit, ...]()
        if not is_trivial(self.question):
            facts = self._part("facts", lambda: self._facts(session), facts)
            self.found = self._composed(summary, facts, (), count)
            room = self.budget - self.found.tokens - count(OPENING)
            pieces = self._part("context", lambda: self._pieces(session, room), pieces) if room > 0 else ()
        facts = facts.beside(pieces, session.home.personal)
        self.found = block = self._composed(summary, facts, pieces, count)
        if len(self.missing) > before:
            raise _Incomplete
        hits, name = (*block.facts, *block.pieces), session.home.tokens.name
        statements = tuple(facts.statements) if block.reworded else ()
        return Context(
            block.text, block.tokens, self.budget, name, query.template, hits, understand(query), Trace(), statements=statements
        )

    def _composed(self, summary: str, facts: _Facts, pieces: Sequence[Hit], count: Callable[[str], int]) -> Block:
        alone = self.settings.profile == "with_context" and not facts.hits and not pieces
        return compose("" if alone else summary, facts.hits, pieces, self.budget, count, facts.statements)

    def _summary(self, session: Session) -> str:
        return "" if self.settings.profile == "off" else profile_service(session).summary()

    def _facts(self, session: Session) -> _Facts:
        budget = max(1, min(_FACTS, self.budget))
        text = self.question[:_LONGEST]
        answer = session.facets(text, budget=budget, history=self.history, deadline=self._left())
        return _Facts(self._seen(answer), answer.statements)

    def _pieces(self, session: Session, room: int) -> tuple[Hit, ...]:
        narrow = Narrow(memories=False)
        text = self.question[:_LONGEST]
        return self._seen(session.context(text, budget=room, narrow=narrow, history=self.history, deadline=self._left()))

    def _seen(self, answer: Context) -> tuple[Hit, ...]:
        """Return the hits of an answer. Notes the steps that were left to the rules. Raises `_HeldBack`."""
        if self.remote and answer.plan.private:
            raise _HeldBack
        self.missing += [step for step in fallen_back(answer.trace) if step not in self.missing]
        return answer.hits

    def _left(self) -> float:
        return max(0.001, self.deadline - time.monotonic())

    def _part(self, name: str, work: Callable[[], T], otherwise: T) -> T:
        """Return a part, or its substitute if it fails. No part begins after the deadline."""
        if time.monotonic() > self.deadline:
            self.missing.append(name)
            return otherwise
        try:
            return work()
        except _HeldBack:
            raise
        except Exception as error:
            self._failed(name, error)
            return otherwise

    def _failed(self, name: str, error: Exception) -> None:
        self._missed(name, f"failed: {type(error).__name__}")

    def _missed(self, name: str, why: str) -> None:
        self.missing.append(name)
        _LOG.warning("%s %s", name, why)


def is_held_back(question: str, settings: Proxy, *, marked: bool, remote: bool) -> bool:
    """Return whether a question is private, so that nothing is added to it. `marked`: the client says so.

    The rules count for upstreams on another machine: what is added for one on this machine leaves it as little as the question.
    """
    return marked or ((remote or settings.private == "everywhere") and is_private(question))
