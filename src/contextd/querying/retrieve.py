"""Ask every arm of a workspace for its best chunks, then see how each of them stands in all arms.

Arms: words of chunks, words of whole documents, names defined, file names, folders, parts of words (of memories), places that
are named (`app.py:42`), times that are (of chats), each thing that is named by itself, and vectors of each space that is there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from contextd.ports.world import Arms, View
from contextd.text.natural_language import is_grammar, small_words
from contextd.text.terms import DEFINED, FOLDER, NAME, PARTS, STEM, about, key, parts_of_words, split
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.answer import Found, Retrieved, Suggestion
from contextd.values.document import ChunkId
from contextd.values.query import Plan
from contextd.values.retrieval import Wanted, Words

CANDIDATES = 200  # of each arm
PERSON = "user"  # who asks, in a talk with a model
OF_AN_ENTITY = 40  # that mention it: so that each of several is there
MOST_PARTS = 200  # of words: those of about forty
BESIDE = 2.0  # what is asked for is part of this: who cooks had better know what may be eaten
CONCEPT, WIDE = 5.0, 5.0  # beside a part of a word, of which one has several: what is asked for, and what is part of it
SPREAD = 1500  # of all arms together: a bound on the time of the steps after


_FEW = 2  # words of a question that is a look-up
_ALL = 0.999  # of the words


def retrieve(
    view: View,
    plan: Plan,
    vectors: Mapping[str, NDArray[np.float32]],
    suggested: Mapping[str, Sequence[Suggestion]] | None = None,
    off: Collection[str] = (),
) -> Retrieved:
    """Candidates for a plan. `vectors` holds the question in each space, `suggested` what retrievers from outside propose,
    `off` the arms that are not asked."""
    wanted = Wanted(
        CANDIDATES,
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
    return Retrieved(chunks, arms.scores(chunks), strength, arms.scores)


def _words(plan: Plan, fields: Collection[str], off: Collection[str]) -> dict[str, Words]:
    """The words of every field that is there and not off, by arm."""
    body = {key(term): weight for term, weight in plan.terms.items()} if "chunk" not in off else {}
    found = {field: Words(field, body, CANDIDATES) for field in ("chunk", "document")} if body else {}
    if plan.names and "name" in fields:
        found["name"] = Words("name", {key(name, NAME): 1.0 for name in plan.names}, CANDIDATES)
    for field, salt in (("stem", STEM), ("folder", FOLDER), ("defined", DEFINED)):
        terms = {key(term, salt): weight for term, weight in plan.terms.items()}
        if terms and field in fields and field not in off:
            found[field] = Words(field, terms, CANDIDATES, _aliases(plan, salt))
    if "parts" in fields and "parts" not in off:
        found["parts"] = Words("parts", _parts(plan), CANDIDATES)
    if "turns" in fields:
        found["own"] = Words("own", {key(PERSON, NAME): 1.0}, 1)
    if len(plan.entities) > 1 and "mention" in fields:
        for entity in plan.entities:
            found[f"mention {entity}"] = Words("mention", {key(term): 1.0 for term in split(entity)}, OF_AN_ENTITY)
    return found


def _order(wanted: Wanted) -> list[str]:
    """The arms in the order in which their best are taken in turn."""
    mentions = [arm for arm in wanted.words if arm.startswith("mention ")]
    fields = [arm for arm in wanted.words if arm not in mentions]
    return [*fields, "during", *mentions, "place", *wanted.suggested, *wanted.vectors]


def _aliases(plan: Plan, salt: str) -> dict[int, int]:
    """The keys of other words of the same family in a field, and the key each stands for."""
    return {key(other, salt): key(term, salt) for other, term in plan.families.items()}


def _strength(arms: Arms, body: Mapping[int, float]) -> float | None:
    """How well the best chunk fits the words, comparable between questions; None where a chunk has all of one or two words.

    Who asks for a word or two that are here means them, however long the chunk is and whatever a model knows of them.
    """
    found = arms.found.get("chunk", ())
    if len(body) <= _FEW and any(one.coverage > _ALL for one in found):
        return None
    return max(one.score for one in found) / (arms.scale or 1.0) if found else 0.0


def _parts(plan: Plan) -> dict[int, float]:
    """Parts of the words that are asked for, a bounded number of them, and what they are about."""
    small = small_words(plan.text)
    telling = " ".join(word for word in plan.text.casefold().split() if word.strip("¿?!.,:;") not in small)
    every = sorted(parts_of_words(telling or plan.text))
    parts = ([part for part in every if not is_grammar(part)] or every)[:MOST_PARTS]
    concepts = concepts_of(plan.text)
    weights = dict.fromkeys(parts, 1.0) | {about(one, wide=True): BESIDE for one in widened(concepts)}
    weights |= {about(one): CONCEPT for one in concepts} | {about(one, wide=True): WIDE for one in concepts}
    return {key(part, PARTS): weight for part, weight in weights.items()}


def _together(found: Sequence[Sequence[Found]]) -> tuple[ChunkId, ...]:
    """All candidates once, the best of every arm first."""
    by_rank = zip_longest(*([hit.chunk for hit in hits] for hits in found))
    return tuple(dict.fromkeys(chunk for chunk in chain.from_iterable(by_rank) if chunk is not None))[:SPREAD]
