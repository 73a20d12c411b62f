"""REMEMBER ► privacy ► models ► enrich ► merge ► stores.

The one page that knows the order of the steps; no step calls another.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextd.errors import InvalidInput, TooLarge, Unavailable
from contextd.ports.record import Memories
from contextd.ports.world import Embedder, Matrix, Tokens
from contextd.privacy import MARK, scrub_named, scrub_text
from contextd.privacy.formats import Rule
from contextd.remembering.enrich import VERSION, Enricher
from contextd.remembering.merge import merge
from contextd.text.indexed_text import words_of
from contextd.values.document import Parsed, Piece
from contextd.values.memory import Memory, Remembered

_LONGEST = 100_000
_BATCH = 500  # memories in one transaction
_FIELDS = ("kind", "about", "attribute", "conversation", "source", "language", "replaced_by")  # scrubbed like a text
# Of what a person has one of: the words of the question, which the answer need not have ("I moved to Hamburg").
_ASKED_BY = {
    "home": "where I live home address city", "job": "what I work as job profession", "employer": "where I work company",
    "age": "how old I am age", "height": "how tall I am height", "weight": "how much I weigh weight",
    "birthday": "when I was born birthday", "birthplace": "where I was born", "blood_type": "my blood type group",
    "wake_up_time": "when I get up wake", "bedtime": "when I go to bed sleep", "shoe_size": "my shoe size",
}  # fmt: skip

Vectors = Mapping[str, Matrix]


@dataclass(frozen=True, slots=True)
class RememberResources:
    """What a memory is kept with."""

    memories: Memories
    embedders: Sequence[Embedder]
    enricher: Enricher
    tokens: Tokens
    rules: Sequence[Rule] = ()


def remember(told: Sequence[Memory], means: RememberResources) -> list[Remembered]:
    """Keep what was told: durable and findable when this returns."""
    done: list[Remembered] = []
    for start in range(0, len(told), _BATCH):
        batch = [clean(memory, means.rules) for memory in told[start : start + _BATCH]]
        vectors, problems = _embedded([memory.text for memory, _ in batch], means.embedders)
        known = [means.enricher.enrich(memory, vector) for (memory, _), vector in zip(batch, vectors, strict=True)]
        entries = [(memory, parsed(memory.text, means.tokens, memory), v) for memory, v in zip(known, vectors, strict=True)]
        for (_, finds), decided in zip(batch, means.memories.remember(entries, merge), strict=True):
            warnings = (*(f"a secret was removed (rule {rule})" for rule in finds), *problems)
            done.append(Remembered(decided.memory, decided.known, decided.ended, decided.against, warnings))
    return done


def reword(memory: Memory, by: str, means: RememberResources) -> Remembered:
    """Write a memory whose text was changed; what was guessed of the old text is guessed again."""
    memory, finds = clean(memory, means.rules)
    (vectors,), problems = _embedded([memory.text], means.embedders)
    memory = means.enricher.enrich(memory, vectors)
    kept = means.memories.change(memory, by, parsed(memory.text, means.tokens, memory), vectors)
    return Remembered(kept, warnings=(*(f"a secret was removed (rule {rule})" for rule in finds), *problems))


def refresh(memory: Memory, means: RememberResources) -> None:
    """Guess again what is guessed of a memory, with the vectors there are now; the text stays.

    What an older version enriched gets the words it is found by anew as well.
    """
    (vectors,), problems = _embedded([memory.text], means.embedders)

    def guessed(now: Memory) -> Memory:
        known = means.enricher.enrich(now, vectors)
        return replace(known, enriched=now.enriched) if problems else known  # what went wrong is tried again

    words = parsed(memory.text, means.tokens, guessed(memory)) if abs(memory.enriched) != VERSION else None
    means.memories.note(memory, guessed, vectors, words)


def clean(memory: Memory, rules: Sequence[Rule]) -> tuple[Memory, list[str]]:
    """A memory without secrets, and the rules that found some; its id when it is new."""
    readable = memory.text.encode("utf-8", "replace").decode()  # bytes of another encoding have no place in a file
    memory, finds = scrubbed(replace(memory, text=readable.strip().replace("\x00", "\ufffd")), rules)
    text = memory.text
    if not text:
        raise InvalidInput("the memory is empty; give a text")
    if len(text) > _LONGEST:
        raise TooLarge(f"the memory has {len(text)} characters (maximum {_LONGEST}); index it as a file instead")
    return replace(memory, id=memory.id or secrets.token_hex(16)), finds


def scrubbed(memory: Memory, rules: Sequence[Rule]) -> tuple[Memory, list[str]]:
    """A memory without secrets in its text and in every field beside it, and the rules that found some."""
    text, finds = scrub_text(memory.text, rules)

    def clean_field(value: str, name: str = "") -> str:
        if value and finds and value in memory.text and value not in text:  # a part of the text that was left out
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
    """A memory's text as a document of one piece, found by its own words and by those it is usually asked for with."""
    piece = Piece(0, len(text), 1, text.count("\n") + 1, "memory", "", (), tokens.count(text))
    asked = _ASKED_BY.get(memory.attribute, "") if memory is not None and not memory.about else ""
    return Parsed(text, (piece,), (words_of(replace(piece, heading=(asked,) if asked else ()), text),), ())


def _embedded(texts: Sequence[str], embedders: Sequence[Embedder]) -> tuple[list[dict[str, Matrix]], list[str]]:
    """For every text its vectors by space, and what went less well than it could."""
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
