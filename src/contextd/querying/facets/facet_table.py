"""The table of facets by subject: which of a person's facts matter for a question.

Each subject has seven facets, the usual five first. `aspects` are what a fact is about (`benchmarks/examples/aspects.json`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from contextd.values.query import Facet


class Side(NamedTuple):
    """One facet of a subject: its question, the aspects that belong to it, and the words by which a question mentions it."""

    name: str
    title: str
    question: str
    rationale: str
    weight: float
    aspects: str
    words: str


SIDES: dict[str, tuple[Side, ...]] = {
    "shopping": (
        Side(
            "budget",
            "Budget & Constraints",
            "What is my budget for {thing}, and what must it not be?",
            "a limit rules things out before taste does",
            1.0,
            "money avoid",
            "budget price cost under below max cheap expensive € $ £ afford",
        ),
        Side(
            "style",
            "Style Preferences",
            "What style and color do I prefer for {thing}?",
            "what one does not like is not worn or used",
            0.85,
            "looks taste",
            "style color look casual elegant design modern classic",
        ),
        Side(
            "size",
            "Size & Fit",
            "What size, fit and technical requirements must {thing} meet?",
            "what does not fit is sent back",
            0.7,
            "measure self",
            "size fit wide narrow large small inch cm compatible",
        ),
        Side(
            "brand",
            "Brand Preferences",
            "Which brands and shops do I prefer or avoid for {thing}?",
            "good and bad experience with makers",
            0.5,
            "brand past",
            "brand maker shop store from by",
        ),
        Side(
            "usage",
            "Usage Context",
            "What will I use {thing} for: sport, walking, every day?",
            "what it has to stand up to",
            0.4,
            "activity people goal place manner time",
            "for use daily work travel sport gift",
        ),
        Side(
            "experience",
            "What Is There Already",
            "What do I own already like {thing}, and how did it do?",
            "what is there need not be bought",
            0.35,
            "past self",
            "replace another new old",
        ),
        Side(
            "people",
            "For Whom",
            "Whom is {thing} for?",
            "others have other needs",
            0.3,
            "people",
            "gift wife husband kids friend mother father",
        ),
    ),
    "recommendation": (
        Side(
            "likes",
            "Tastes",
            "What do I like about {thing}?",
            "a suggestion is to be liked",
            1.0,
            "taste looks brand",
            "like love favorite similar genre good",
        ),
        Side(
            "limits",
            "To Be Avoided",
            "What must be avoided with {thing}: allergies, diets, dislikes, rules?",
            "one wrong thing spoils a suggestion",
            0.95,
            "avoid",
            "without no not allergy vegan vegetarian avoid",
        ),
        Side(
            "practical",
            "Means & Circumstances",
            "What may {thing} cost, how long may it take, what is at hand?",
            "it has to be possible",
            0.6,
            "money self measure manner",
            "cheap price budget free quick near time",
        ),
        Side(
            "history",
            "Tried Before",
            "Which {thing} did I try, see, read or do before?",
            "nobody wants the same again, or everybody does",
            0.5,
            "past",
            "new again already next another",
        ),
        Side(
            "setting",
            "Occasion",
            "Where, when, with whom and for what occasion is {thing}?",
            "the same person wants different things on different days",
            0.45,
            "people place time activity goal",
            "tonight weekend date with for birthday dinner evening",
        ),
        Side(
            "goal",
            "What It Is For",
            "What do I want to achieve with {thing}?",
            "a wish behind the wish",
            0.35,
            "goal activity",
            "learn improve become",
        ),
        Side(
            "people",
            "People",
            "Who is {thing} for or with?",
            "others have other tastes",
            0.3,
            "people",
            "wife husband kids friends family",
        ),
    ),
    "planning": (
        Side(
            "goal",
            "Goals",
            "What do I want to achieve with {thing}?",
            "a plan serves a goal",
            1.0,
            "goal past",
            "goal want achieve finish prepare",
        ),
        Side(
            "schedule",
            "Schedule",
            "When: which dates, deadlines, free and busy times matter for {thing}?",
            "a plan that collides is none",
            0.9,
            "time activity place",
            "week month day weekend schedule date deadline until by",
        ),
        Side(
            "limits",
            "Limits",
            "What limits {thing}: budget, health, rules?",
            "what cannot be must not be planned",
            0.8,
            "money avoid measure self",
            "budget cost under health without",
        ),
        Side(
            "people",
            "People",
            "Who takes part in {thing} or has to be considered?",
            "a plan is with others",
            0.6,
            "people",
            "family kids friends team wife husband we us guests",
        ),
        Side(
            "preferences",
            "Preferences",
            "How do I like {thing} to be done?",
            "a plan that is not liked is not kept",
            0.5,
            "manner taste looks brand",
            "prefer like relaxed quiet active",
        ),
        Side(
            "place",
            "Places",
            "Where does {thing} take place, and from where?",
            "ways take time",
            0.4,
            "place",
            "from to near trip travel",
        ),
        Side(
            "experience",
            "Experience",
            "What was done before like {thing}?",
            "what went well goes well again",
            0.35,
            "past",
            "again last",
        ),
    ),
    "information": (
        Side(
            "direct",
            "What Is Known",
            "What is known of {thing} itself?",
            "the answer may be known already",
            1.0,
            "self time measure money place brand",
            "what when where how much",
        ),
        Side(
            "traits",
            "Circumstances",
            "Which of my circumstances matter for {thing}?",
            "the same question has another answer for another person",
            0.7,
            "people avoid",
            "can safe suitable for me",
        ),
        Side(
            "preferences",
            "Preferences",
            "What do I prefer about {thing}?",
            "an answer can be given in more than one way",
            0.5,
            "taste looks manner",
            "prefer like best",
        ),
        Side(
            "habits",
            "Habits",
            "What do I do about {thing}?",
            "what one does says what one needs",
            0.45,
            "activity past",
            "often usually do routine",
        ),
        Side(
            "plans",
            "Plans",
            "What are my plans and decisions about {thing}?",
            "what is decided need not be asked",
            0.4,
            "goal",
            "plan decide next will",
        ),
        Side(
            "people",
            "People",
            "Who else is concerned by {thing}?",
            "answers concern others",
            0.35,
            "people",
            "wife husband kids family",
        ),
        Side(
            "limits",
            "Limits",
            "What limits {thing}: money, health, rules?",
            "not every answer is possible",
            0.3,
            "avoid money",
            "afford allowed",
        ),
    ),
}


def aspects_of(facets: Sequence[Facet], subject: str) -> dict[str, frozenset[str]]:
    """Return the aspects of each facet. An aspect that two facets claim belongs to the later, more special one."""
    sides = [side for side in SIDES.get(subject, ()) if side.name in {facet.name for facet in facets}]
    owner = {aspect: side.name for side in sides for aspect in side.aspects.split()}
    return {side.name: frozenset(aspect for aspect, name in owner.items() if name == side.name) for side in sides}
