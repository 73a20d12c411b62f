"""REMEMBER ► privacy ► models ► enrich ► overtaken ► merge ► stores.

This module alone defines the order of the steps. No step calls another.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.errors import InvalidInput, TooLarge, Unavailable
from contextd.ports.record import Entry, Memories
from contextd.ports.world import Embedder, Matrix, Tagger, Tokens
from contextd.privacy import MARK, scrub_named, scrub_text
from contextd.privacy.formats import Rule
from contextd.remembering.enrich import VERSION, Enricher
from contextd.remembering.merge import merge
from contextd.remembering.overtaken import Told, overtaken
from contextd.remembering.values import TaggedFact, tagged_by
from contextd.text.indexed_text import words_of
from contextd.text.natural_language import is_foreign
from contextd.values.document import Parsed, Piece
from contextd.values.memory import LIMITS, Decided, Memory, Remembered

_QUESTION = ("?", "\uff1f")
_BATCH = 500  # memories per transaction
_FIELDS = ("kind", "about", "attribute", "conversation", "source", "language", "replaced_by")  # scrubbed like the text
# For attributes with one value: words of the usual question, which the fact may not contain ("I moved to Hamburg").
_ASKED_BY = {
    "home": "where I live home address city", "job": "what I work as job profession", "employer": "where I work company",
    "age": "how old I am age", "height": "how tall I am height", "weight": "how much I weigh weight",
    "birthday": "when I was born birthday", "birthplace": "where I was born", "blood_type": "my blood type group",
    "wake_up_time": "when I get up wake", "bedtime": "when I go to bed sleep",
}  # fmt: skip

Vectors = Mapping[str, Matrix]


@dataclass(frozen=True, slots=True)
class RememberResources:
    """The store, models and settings for saving memories."""

    memories: Memories
    embedders: Sequence[Embedder]
    enricher: Enricher
    tokens: Tokens
    rules: Sequence[Rule] = ()
    shown: Callable[[Memory], bool] = lambda memory: True  # memories to compare with; of others nothing is learned or ended
    tagger: Tagger | None = None
    contradict: Callable[[Memory, Memory], None] = lambda new, old: None  # called when a saved memory contradicts another


def remember(memories: Sequence[Memory], resources: RememberResources) -> list[Remembered]:
    """Save memories. They are durable and searchable when this returns."""

    done: list[Remembered] = []
    for start in range(0, len(memories), _BATCH):
        batch = [clean(memory, resources.rules) for memory in memories[start : start + _BATCH]]
        seen, problems = _seen([memory.text for memory, _ in batch], resources)
        known = [_enriched(memory, one, problems, resources) for (memory, _), one in zip(batch, seen, strict=True)]
        known_to = cache(partial(told_to, resources))
        likely = {memory.id: _overtaken(memory, one, known_to) for memory, one in zip(known, seen, strict=True)}
        entries = [
            Entry(memory, parsed(memory.text, resources.tokens, memory), one.vectors, likely[memory.id])
            for memory, one in zip(known, seen, strict=True)
        ]

        def decide(memory: Memory, like: Sequence[Memory], likely: Mapping[str, Sequence[str]] = likely) -> Decided:
            return merge(memory, [one for one in like if resources.shown(one)], likely[memory.id])

        for (_, finds), decided in zip(batch, resources.memories.remember(entries, decide), strict=True):
            for old in decided.against:
                resources.contradict(decided.memory, old)
            asks = ["this is a question; it is saved as it is"] if decided.memory.text.endswith(_QUESTION) else []
            warnings = (*(f"a secret was removed (rule {rule})" for rule in finds), *asks, *problems)
            done.append(Remembered(decided.memory, decided.known, decided.ended, decided.against, warnings))
    return done


def _overtaken(
    memory: Memory, seen: _Seen, known_to: Callable[[int, str, frozenset[str]], Sequence[Told]]
) -> list[str]:  # fmt: skip
    """Return the ids of facts that a new one may overtake. English facts with all vectors are compared.

    What is told at the same time is not among them.
    """
    if seen.tagged is None or memory.text.endswith(_QUESTION):
        return []
    (whole,) = seen.tagged.vectors.values()
    olds = [one for one in known_to(memory.workspace, memory.author, memory.principals) if one.memory.id != memory.id]
    return overtaken(Told(memory, rows_of(seen.vectors), whole), olds)


def told_to(resources: RememberResources, workspace: int, author: str, principals: frozenset[str]) -> list[Told]:
    """Return the latest facts of a person that hold, of those told to the same readers."""
    olds = [one for one in resources.memories.current(workspace, author, principals) if resources.shown(one) and not one.silent]
    held = resources.memories.vectors(workspace, [one.id for one in olds])
    return [Told(one, rows_of(held.get(one.id, {}))) for one in olds]


def rows_of(vectors: Vectors) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of one text as rows, by space."""
    return {space: rows[0] for space, rows in vectors.items()}


def reword(memory: Memory, by: str, resources: RememberResources) -> Remembered:
    """Save a memory whose text was changed. Guessed fields are guessed again."""
    memory, finds = clean(memory, resources.rules)
    (seen,), problems = _seen([memory.text], resources)
    memory = _enriched(memory, seen, problems, resources)
    stored = resources.memories.change(memory, by, parsed(memory.text, resources.tokens, memory), seen.vectors)
    return Remembered(stored, warnings=(*(f"a secret was removed (rule {rule})" for rule in finds), *problems))


def refresh(memory: Memory, resources: RememberResources) -> None:
    """Guess the fields of a memory again, with the current models. The text does not change.

    A memory enriched by an older version is also indexed again.
    """
    (seen,), problems = _seen([memory.text], resources)

    def guessed(now: Memory) -> Memory:
        known = resources.enricher.enrich(now, *seen)
        return replace(known, enriched=now.enriched) if problems else known  # failed guesses are tried again later

    words = parsed(memory.text, resources.tokens, guessed(memory)) if abs(memory.enriched) != VERSION else None
    resources.memories.note(memory, guessed, seen.vectors, words)


def outdated(memories: Sequence[Memory], resources: RememberResources) -> list[Memory]:
    """Return the memories of one workspace that an older version enriched, or that lack a vector of a current model."""
    spaces = {embedder.space for embedder in resources.embedders}
    found: list[Memory] = []
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        held = resources.memories.vectors(batch[0].workspace, [memory.id for memory in batch]) if spaces else {}
        there = {one: {space for space, rows in its.items() if _is_usable(space, rows)} for one, its in held.items()}
        found += [one for one in batch if one.enriched < VERSION or not spaces <= there.get(one.id, set())]
    return found


def _is_usable(space: str, rows: Matrix) -> bool:
    """Return whether vectors are numbers and not all zero: a damaged model may have made them. A table may not know a word."""
    return bool(np.isfinite(rows).all() and (rows.any() or space.startswith("static/")))


def clean(memory: Memory, rules: Sequence[Rule]) -> tuple[Memory, list[str]]:
    """Scrub a memory. Returns it with an id, and the rules that matched. Raises InvalidInput if it is empty or too long."""
    readable = memory.text.encode("utf-8", "replace").decode()  # lone surrogates cannot be stored
    memory, finds = scrubbed(replace(memory, text=readable.strip().replace("\x00", "\ufffd")), rules)
    text = memory.text
    if not text or (text.isascii() and not any(one.isalnum() for one in text)):
        raise InvalidInput("the memory is empty; give a text")
    if len(text) > LIMITS["text"]:
        raise TooLarge(f"the memory has {len(text)} characters (maximum {LIMITS['text']}); index it as a file instead")
    return replace(memory, id=memory.id or secrets.token_hex(16)), finds


def scrubbed(memory: Memory, rules: Sequence[Rule]) -> tuple[Memory, list[str]]:
    """Scrub the text and all other fields of a memory. Returns it and the rules that matched."""
    text, finds = scrub_text(memory.text, rules)

    def clean_field(value: str, name: str = "") -> str:
        if value and finds and value in memory.text and value not in text:  # part of the text that was redacted
            return MARK.decode()
        result, found = scrub_named(name, value, rules) if name else scrub_text(value, rules)
        finds.extend(found)
        return result

    fields: dict[str, Any] = {name: clean_field(getattr(memory, name)) for name in _FIELDS}
    value, unit = (clean_field(part, memory.attribute or memory.about) for part in (memory.value, memory.unit))
    readers = frozenset(clean_field(principal) for principal in memory.principals)
    topics = tuple(dict.fromkeys(clean_field(topic) for topic in memory.topics))
    return replace(memory, **fields, text=text, value=value, unit=unit, topics=topics, principals=readers), [
        find.rule for find in finds
    ]


def parsed(text: str, tokens: Tokens, memory: Memory | None = None) -> Parsed:
    """Return a memory's text as a document of one chunk, indexed by its own words and those of the usual question."""
    piece = Piece(0, len(text), 1, text.count("\n") + 1, "memory", "", (), tokens.count(text))
    asked = _asked_by(memory.attribute) if memory is not None and not memory.about else ""
    return Parsed(text, (piece,), (words_of(replace(piece, heading=(asked,) if asked else ()), text),), ())


def _asked_by(attribute: str) -> str:
    """Return the words of the usual question for an attribute; a size is asked for by its English name in any language."""
    size = f"my {attribute.replace('_', ' ')}" if attribute.endswith("_size") else ""
    return _ASKED_BY.get(attribute, size)


class _Seen(NamedTuple):
    """What models make of a text: its vectors by space, and the tags of its words."""

    vectors: Vectors
    tagged: TaggedFact | None


def _enriched(memory: Memory, seen: _Seen, problems: Sequence[str], resources: RememberResources) -> Memory:
    """Return a memory with its guesses. If a model failed, they are made again later."""
    known = resources.enricher.enrich(memory, *seen)
    return replace(known, enriched=-VERSION) if problems else known


def _seen(texts: Sequence[str], resources: RememberResources) -> tuple[list[_Seen], list[str]]:
    """Return what models make of every text, and the errors of those that failed. The tagger knows English."""
    vectors, problems = _embedded(texts, resources.embedders)
    tags: list[TaggedFact | None] = [None] * len(texts)
    if resources.tagger is not None:
        try:
            tags = [None if is_foreign(text) else tagged_by(resources.tagger, text) for text in texts]
        except Unavailable as error:
            problems.append(str(error))
    return [_Seen(known, tagged) for known, tagged in zip(vectors, tags, strict=True)], list(dict.fromkeys(problems))


def _embedded(texts: Sequence[str], embedders: Sequence[Embedder]) -> tuple[list[dict[str, Matrix]], list[str]]:
    """Return the vectors of every text by space, and the errors of models that failed."""
    vectors: list[dict[str, Matrix]] = [{} for _ in texts]
    problems = []
    for embedder in embedders:
        try:
            matrix = embedder.documents(texts)
        except Unavailable as error:
            problems.append(str(error))
            continue
        for row, found in enumerate(vectors):
            found[embedder.space] = matrix[row : row + 1]
    return vectors, problems
