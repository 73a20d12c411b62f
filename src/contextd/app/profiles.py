"""The profile of one reader: get, set and unset by dotted key; its summary; facts that contradict it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextd import privacy
from contextd.app.assisting import held_back
from contextd.errors import InvalidInput, NotFound, Unavailable
from contextd.ports.engines import Chat
from contextd.ports.record import Record
from contextd.ports.world import Tokens
from contextd.privacy.formats import Rule
from contextd.querying.assisted.portray import portrayed
from contextd.querying.compose import summarize
from contextd.values.interaction import digest_of
from contextd.values.profile import LISTS, SECTIONS, TEXTS, Profile, profile_of
from contextd.values.query import Reader

if TYPE_CHECKING:
    from contextd.app.memories import MemoryService
    from contextd.app.session import Session
    from contextd.values.memory import Memory

_LOG = logging.getLogger("contextd.profile")
_PORTRAIT_SECONDS = 60.0
_MOST_PORTRAITS = 100
_SECONDS = 60.0  # for which a profile is kept in memory
_KEY = re.compile(r"[\w][\w -]{0,59}")
_LONGEST, _MOST = 2000, 200  # characters of a value, entries of a list


@dataclass(frozen=True, slots=True)
class _KeptProfile:
    version: Hashable
    until: float
    profile: Profile
    summary: str


@dataclass(slots=True)
class KeptProfiles:
    """Profiles and their summaries, kept while the record has not changed, for at most a minute. Any thread may call it."""

    _kept: dict[str, _KeptProfile] = field(default_factory=dict)
    _portraits: dict[tuple[str, str], str] = field(default_factory=dict)  # by model and digest; empty while it is made
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, record: Record, author: str, tokens: Tokens) -> tuple[Profile, str]:
        """Return the profile of an author, and its summary."""
        version, now = record.version(), time.monotonic()
        with self._lock:
            known = self._kept.get(author)
        if known is None or known.version != version or known.until < now:
            profile = profile_of(record.profiles.get(author))
            known = _KeptProfile(version, now + _SECONDS, profile, summarize(profile, tokens.count))
            with self._lock:
                self._kept[author] = known
        return known.profile, known.summary

    def portrait(self, summary: str, chat: Chat, tokens: Tokens) -> str:
        """Return a summary in the words of a model, once it has found them; until then, and if it fails, as it is.

        The model is asked once for each summary, in the background: the same profile has the same summary until it is edited.
        """
        key = (chat.name, digest_of(summary))
        with self._lock:
            known = self._portraits.get(key)
            if known is None:
                while len(self._portraits) >= _MOST_PORTRAITS:
                    del self._portraits[next(iter(self._portraits))]
                self._portraits[key] = ""
        if known is None:
            threading.Thread(target=self._portray, args=(key, summary, chat, tokens), daemon=True).start()
        return known or summary

    def _portray(self, key: tuple[str, str], summary: str, chat: Chat, tokens: Tokens) -> None:
        try:
            made = portrayed(summary, chat, tokens.count, time.monotonic() + _PORTRAIT_SECONDS)
        except Unavailable as error:
            _LOG.warning("the summary of the profile is made by rules: %s", error)
            return
        with self._lock:
            self._portraits[key] = made


@dataclass(frozen=True, slots=True)
class ProfileService:
    """The profile of one reader."""

    record: Record
    kept: KeptProfiles
    reader: Reader
    tokens: Tokens
    memories: MemoryService
    rules: Sequence[Rule] = ()
    chat: Callable[[], Chat | None] = lambda: None  # a language model to word the summary

    def get(self) -> Profile:
        """Return the profile. It is empty if nothing was set."""
        return self.kept.get(self.record, self.reader.name, self.tokens)[0]

    def summary(self) -> str:
        """Return the profile as a text of less than 500 tokens; empty for an empty profile."""
        made = self.kept.get(self.record, self.reader.name, self.tokens)[1]
        chat = self.chat() if made else None
        return made if chat is None else self.kept.portrait(made, chat, self.tokens)

    def set(self, key: str, values: Sequence[str]) -> list[Memory]:
        """Set a key such as communication.tone to one text, or interests to a list. Returns the facts that contradict it."""
        section = _checked_key(key)
        clean = tuple(privacy.scrub_text(one.strip(), self.rules)[0] for one in values if one.strip())
        if not clean or (section not in LISTS and len(clean) != 1):
            raise InvalidInput(f"{key} needs {'at least one value' if section in LISTS else 'one value'}")
        if len(clean) > _MOST or any(len(one) > _LONGEST for one in clean):
            raise InvalidInput(f"{key}: at most {_MOST} values of {_LONGEST:,} characters")
        self.record.profiles.set(self.reader.name, key, clean if section in LISTS else clean[0])
        return [] if section in LISTS else self.contradicting(key, clean[0])

    def unset(self, key: str) -> None:
        """Remove a key. Raises `NotFound`."""
        _checked_key(key)
        if not self.record.profiles.unset(self.reader.name, key):
            raise NotFound(f"the profile has no {key}; run `contextd profile` to see it")

    def contradicting(self, key: str, value: str) -> list[Memory]:
        """Return the facts that hold now and give another value for the same attribute."""
        name = key.rpartition(".")[2].replace(" ", "_").lower()
        return [
            one
            for one in self.memories.personal_facts()
            if one.attribute == name and one.author == self.reader.name and one.value and _same(one.value) != _same(value)
        ]


def profile_service(session: Session) -> ProfileService:
    """Return the profile of a session's reader."""
    home, setup = session.home, session.setup

    def chat() -> Chat | None:
        found = setup.chat() if session.settings.llm.summary else None
        return None if found is None or held_back(session, found, ()) else found

    return ProfileService(home.record, home.profiles, session.reader, home.tokens, session.memories, setup.rules, chat)


def _same(text: str) -> str:
    return " ".join(text.split()).casefold()


def _checked_key(key: str) -> str:
    """Return the section of a key. Raises InvalidInput."""
    section, _, name = key.partition(".")
    if section not in SECTIONS:
        raise InvalidInput(f"no such section: {section!r}; the sections are {', '.join(SECTIONS)}")
    if section in LISTS and name:
        raise InvalidInput(f"{section} is a list; set all of it: `contextd profile set {section} VALUE VALUE`")
    if section in TEXTS and not _KEY.fullmatch(name):
        raise InvalidInput(f"give a name in {section}, such as {section}.{_EXAMPLES[section]}")
    return section


_EXAMPLES = {"identity": "role", "communication": "tone", "expertise": "python"}
