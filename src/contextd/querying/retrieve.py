"""Retrieve the best chunks of every arm, then score all of them in all arms.

Arms: words of chunks, words of documents, defined names, file names, folders, word parts (memories), lines the question names
(`app.py:42`), time ranges (chats), each named entity, and the vectors of each space.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import Arms, View
from contextd.text.natural_language import is_grammar, small_words
from contextd.text.terms import DEFINED, FOLDER, NAME, PARTS, STEM, about, key, parts_of_words, split
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.answer import Found, Retrieved, Suggestion
from contextd.values.document import ChunkId
from contextd.values.query import Plan
from contextd.values.retrieval import Wanted, Words

CANDIDATES = 200  # per arm
PERSON = "user"  # role of the person in a chat with a model
OF_AN_ENTITY = 40  # chunks per entity, so that each of several entities is represented
MOST_PARTS = 200  # word parts: those of about forty words
BESIDE = 2.0  # weight of wider concepts: a question about cooking also needs facts about diet
CONCEPT, WIDE = 5.0, 5.0  # weights against 1 for a word part: the concept itself, and the concept or a part of it
SPREAD = 1500  # candidates of all arms together; bounds the time of later steps


_FEW = 2  # a question of at most this many words is a look-up
_ALL = 0.999  # share of the words


def retrieve(
    view: View,
    plan: Plan,
    vectors: Mapping[str, NDArray[np.float32]],
    suggested: Mapping[str, Sequence[Suggestion]] | None = None,
    off: Collection[str] = (),
    near: int = CANDIDATES,
) -> Retrieved:
    """Return the candidates for a plan, with their scores in every arm.

    `vectors` holds the question in each space, `suggested` the suggestions of plug-ins, `off` the arms that are disabled.
    `near` is the number of candidates by each vector.
    """
    wanted = Wanted(
        near,
        _words(plan, view.fields, off),
        vectors,
        plan.windows if "turns" in view.fields else (),
        plan.places,
        suggested or {},
    )
    arms = view.retrieve(wanted)
    chunks = _together([arms.found.get(arm, ()) for arm in _order(wanted)])
    body = wanted.words.get("chunk")
    strength = _strength(arms, body.terms) if body is not None else None
    proposed = {arm: {one.chunk.document for one in found} for arm, found in arms.found.items()}
    return Retrieved(chunks, arms.scores(chunks), strength, arms.scores, proposed, arms.spread)


def _words(plan: Plan, fields: Collection[str], off: Collection[str]) -> dict[str, Words]:
    """Return the words to search in every field that exists and is not off, by arm."""
    body = {key(term): weight for term, weight in plan.terms.items()} if "chunk" not in off else {}
    forms = {key(form): key(term) for form, term in plan.forms.items()}
    found = {field: Words(field, body, CANDIDATES, forms) for field in ("chunk", "document")} if body else {}
    if plan.names and "name" in fields and "name" not in off:
        found["name"] = Words("name", {key(name, NAME): 1.0 for name in plan.names}, CANDIDATES)
    for field, salt in (("stem", STEM), ("folder", FOLDER), ("defined", DEFINED)):
        terms = {key(term, salt): weight for term, weight in plan.terms.items()}
        if terms and field in fields and field not in off:
            found[field] = Words(field, terms, CANDIDATES, _aliases(plan, salt))
    if "parts" in fields and "parts" not in off:
        found["parts"] = Words("parts", _parts(plan), CANDIDATES)
    if "turns" in fields:
        found["own"] = Words("own", {key(PERSON, NAME): 1.0}, 1)
    if "mention" in fields and (len(plan.entities) > 1 or "turns" in fields):  # of chats, also to know if it occurs at all
        for entity in plan.entities:
            found[f"mention {entity}"] = Words("mention", {key(term): 1.0 for term in split(entity)}, OF_AN_ENTITY)
    return found


def _order(wanted: Wanted) -> list[str]:
    """Return the arms in the order in which their best candidates are interleaved."""
    mentions = [arm for arm in wanted.words if arm.startswith("mention ")]
    fields = [arm for arm in wanted.words if arm not in mentions]
    return [*fields, "during", *mentions, "place", *wanted.suggested, *wanted.vectors]


def _aliases(plan: Plan, salt: str) -> dict[int, int]:
    """Map the keys of other words of the same family, in one field, to the key each stands for."""
    return {key(other, salt): key(term, salt) for other, term in plan.families.items()}


def _strength(arms: Arms, body: Mapping[int, float]) -> float | None:
    """Return how well the best chunk matches the words, comparable between questions.

    None if the question has one or two words and a chunk has them all: then it is a look-up, and length and vectors do not
    matter.
    """
    found = arms.found.get("chunk", ())
    if len(body) <= _FEW and any(one.coverage > _ALL for one in found):
        return None
    return max(one.score for one in found) / (arms.scale or 1.0) if found else 0.0


def _parts(plan: Plan) -> dict[int, float]:
    """Return the weighted word parts of the question, up to a limit, and its concepts."""
    small = small_words(plan.text)
    telling = " ".join(word for word in plan.text.casefold().split() if word.strip("¿?!.,:;") not in small)
    every = sorted(parts_of_words(telling or plan.text))
    parts = ([part for part in every if not is_grammar(part)] or every)[:MOST_PARTS]
    concepts = concepts_of(plan.text)
    weights = dict.fromkeys(parts, 1.0) | {about(one, wide=True): BESIDE for one in widened(concepts)}
    weights |= {about(one): CONCEPT for one in concepts} | {about(one, wide=True): WIDE for one in concepts}
    return {key(part, PARTS): weight for part, weight in weights.items()}


def _together(found: Sequence[Sequence[Found]]) -> tuple[ChunkId, ...]:
    """Return all candidates once, interleaving the best of every arm."""
    by_rank = zip_longest(*([hit.chunk for hit in hits] for hits in found))
    return tuple(dict.fromkeys(chunk for chunk in chain.from_iterable(by_rank) if chunk is not None))[:SPREAD]
