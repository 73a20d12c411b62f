"""Facts that must not be missed: allergies, diets, medicines, disabilities and other hard limits, in six languages.

Similarity does not find them: "Allergic to peanuts" is not near "what should I cook". So a fact that states a limit has domains
(food, health, travel, gifts, sport, housing), a question has domains, and the two are compared. Both are recognized by the
concepts of the thesaurus, by words of denial, and by classes of words (`limit_words.py`). Beside these rules, hazards are
learned (`hazards.py`); both together tell whether a question touches a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contextd.text.hazards import hazard_log_odds, is_of_money, warns
from contextd.text.limit_words import classes_of
from contextd.text.patterns import pattern
from contextd.text.thesaurus import concepts_of, widened

DOMAINS = ("food", "health", "travel", "gifts", "sport", "housing", "venue")
_LONGEST = 1000  # letters of a fact that are read
ANY = "any"  # stands for all domains
_WARNS = 0.35  # probability of some hazard from which a fact is indexed as a limit that the rules do not recognize
NOTHING = -9.0  # log-odds that "ok" touches a limit, however much that warns of
_SAYS = 0.5  # log-odds by which a question has to touch a limit rather than an empty one, if they have no common domain
# Weights of the log-odds that a question touches a limit (`python -m benchmarks.hazards`): of the log-odds by hazards, a common
# domain, a limit that the rules recognize, a question with a domain, a question about the world, and the constant.
_LIMIT_WEIGHTS = (1.56, 1.25, -0.57, -0.23, -2.4, 2.5)

_FOOD = frozenset(
    "food_eat drink water_soft_drinks coffee tea alcohol kitchen_appliances cooking restaurant hunger_snack".split()
)
# The domains that a question with a concept is about. A concept counts with its broader ones.
_ASKED: dict[str, frozenset[str]] = {
    "food": _FOOD,
    "health": frozenset({"health", "medicine", "doctor", "illness"}),
    "travel": frozenset("travel_trip vacation hotel flight visit_place train".split()),
    "gifts": frozenset({"gifts", "christmas_holidays"}),
    "sport": frozenset({"sport"}),
    "housing": frozenset("house_flat live_home moving_house roommate".split()),
    "venue": frozenset({"restaurant", "party_celebration"}),
}
# Questions with these concepts are about other things, unless a word names the domain: a shirt in mustard is no food.
_OTHER_MATTERS = frozenset(
    "computer phone email data_file_backup programming apps book_read writing_blog color tax presentation_report "
    "post_parcel server_database debt_loan mortgage_property saving_investing job_search warranty_return".split()
)
# Words of everyday life mean something else there: the tests run, cookies are stored, a menu opens.
_AT_A_COMPUTER = frozenset(
    "computer email data_file_backup programming apps tax presentation_report server_database testing_errors code_style "
    "internet_wifi".split()
)
# The domains of situations of life, which are recognized by vectors (`situations.py`).
_BY_SITUATION: dict[str, frozenset[str]] = {
    **dict.fromkeys(("groceries", "meal"), frozenset({"food"})),
    **dict.fromkeys(("restaurant", "hosting"), frozenset({"food", "venue"})),
    **dict.fromkeys(("exercise", "training"), frozenset({"sport"})),
    **dict.fromkeys(("health", "cosmetics"), frozenset({"health"})),
    **dict.fromkeys(("apartment", "buying_home", "renovation", "furniture", "pet"), frozenset({"housing"})),
    "gift": frozenset({"gifts"}),
    "trip": frozenset({"travel"}),
    "outing": frozenset({"travel", "venue"}),
    "event": frozenset({"food", "travel", "venue"}),
}
_CLAUSE = re.compile(  # where another statement begins
    r"[,;.]|\b(?:but|because|since|and|sondern|aber|weil|denn|und|mais|car|parce que|et|pero|sino|porque|y)\b", re.IGNORECASE
)
_ALL = frozenset(DOMAINS)
_BODY = frozenset({"health", "sport", "travel", "housing", "gifts"})
_EATING = frozenset({"food", "gifts", "travel", "health"})
_ACCESS = _BODY | {"venue"}
# The domains of a limit, by what it is about.
_BY_CONCEPT: dict[str, frozenset[str]] = {
    "diet_vegetarian": _EATING,
    "gluten_wheat": _EATING,
    "fasting": _EATING,
    "religion": _EATING,
    "diabetes": _ALL - {"housing"},
    "baby_pregnancy": _ALL,
    "disability": _ACCESS,
    "hearing": _ACCESS,
    "color_blind": frozenset({"gifts", "housing"}),
    "back_knee_joints": _BODY,
    "motion_sickness": frozenset({"travel"}),
    "illness": _BODY,
}
_ALLERGENS: dict[str, frozenset[str]] = {
    "pet_animals": frozenset({"housing", "travel", "gifts", "health"}),
    "birds_insects": frozenset({"travel", "sport", "health"}),
    "medicine": frozenset({"health"}),
    "material_fabric": frozenset({"gifts", "health", "sport"}),
    "jewelry_watch": frozenset({"gifts", "health"}),
    "skin_cosmetics": frozenset({"gifts", "health"}),
    "garden_plants": frozenset({"travel", "sport", "housing", "health"}),
    "cleaning_laundry": frozenset({"housing", "health", "travel"}),
}
_NOT_FOOD = frozenset({"housing", "travel", "gifts", "health", "sport"})
_OF_FOOD = frozenset({"food", "gifts", "travel", "health"})
_MEDICINE = frozenset({"health", "sport", "food", "travel"})
_TIME_OFF = frozenset({"travel", "venue", "food"})
_INJURED = frozenset({"back_knee_joints", "injury_pain"})
# The domains of a limit, by the classes of its words.
_BY_CLASS: dict[str, frozenset[str]] = {
    "body": _BODY,
    "access": _ACCESS,
    "stairs": frozenset({"housing", "sport", "travel", "venue"}),
    "digestion": _EATING | {"sport"},
    "vulnerable": _ALL,
    "sober": _OF_FOOD,
    "diet": _EATING,
    "faith": _EATING,
    "medicine": _MEDICINE,
    "motion": frozenset({"travel", "gifts"}),
    "no_driving": frozenset({"travel", "housing"}),
    "no_visa": frozenset({"travel"}),
    "fear": frozenset({"travel", "sport", "venue", "gifts"}),
    "sight": frozenset({"gifts", "housing"}),
}
_SURE = frozenset({"vulnerable", "access", "medicine", "sober", "fear"})  # whatever else a fact says
_BY_ALLERGEN: dict[str, frozenset[str]] = {
    "food_allergen": _OF_FOOD,
    "other_allergen": _NOT_FOOD,
    "drug_allergen": frozenset({"health"}),
}


def limit_domains(text: str) -> frozenset[str]:
    """Return the domains in which a fact is a hard limit; none if it states no limit, or that one is over."""
    start = text[:_LONGEST]
    return frozenset() if _is_over(start) else _domains_stated(start)


def _is_over(text: str) -> bool:
    """Return whether a fact denies a limit and states no other. "Allergic to nuts, not to milk" is one."""
    if not _ends_one(text) or pattern("but_for").search(text):
        return False
    others = [clause for clause in _CLAUSE.split(text) if clause and not _ends_one(clause)]
    return not any(_domains_stated(clause) for clause in others)


def denies_limit(text: str) -> bool:
    """Return whether a text says that somebody has no such limit, or has it no longer: "not allergic any more"."""
    return bool(pattern("no_limit").search(text))


def _ends_one(text: str) -> bool:
    return denies_limit(text) or bool(pattern("stopped_taking").search(text))


def _domains_stated(text: str) -> frozenset[str]:
    concepts, classes = concepts_of(text), _with_orders(classes_of(text), text)
    if "allergy" in concepts or ("reacts" in classes and classes & _BY_ALLERGEN.keys()):
        return _allergy_domains(text, concepts, classes) | _of_classes(classes)
    told_aside = pattern("appointment").search(text) or (pattern("favors").search(text) and not pattern("denies").search(text))
    if told_aside and not classes & _SURE:
        return frozenset()  # a date with a doctor, or a taste, limits nothing
    found = _together((_EATING,)) if pattern("diet").search(text) or pattern("consumes").search(text) else frozenset[str]()
    if pattern("condition").search(text):
        found |= _BODY | _of_concepts(concepts) | ({"gifts"} if pattern("breathing").search(text) else set())
    if pattern("medication").search(text) or (
        "medicine" in concepts and (pattern("takes").search(text) or pattern("denies").search(text))
    ):
        found |= _MEDICINE
    if pattern("cannot").search(text) and "taste" not in classes and not pattern("earlier").search(text):
        found |= domains_of(concepts) | _named(text) | _of_concepts(concepts) | _of_allergens(concepts)
        found |= {"travel", "sport", "health"} if pattern("other_allergens").search(text) else set()
    if _INJURED & widened(concepts) and pattern("denies").search(text):
        found |= _BODY
    return found | _of_classes(classes)


def is_limit(text: str) -> bool:
    """Return whether a fact states a limit, by rules or by the hazards it warns of."""
    return bool(limit_domains(text)) or (warns(text[:_LONGEST]) >= _WARNS and not _is_over(text[:_LONGEST]))


def is_budget(text: str) -> bool:
    """Return whether a limit is one of money alone."""
    return is_of_money(text) and not _domains_of(text)


def limit_log_odds(question: str, facts: Sequence[str], domains: frozenset[str], *, about_world: bool) -> NDArray[np.float64]:
    """Return the log-odds that a question with some domains touches limits; `NOTHING` if it says as much as an empty one."""
    about = frozenset[str]() if about_world else domains
    own, hazards = [_domains_of(fact) for fact in facts], hazard_log_odds(question, facts)
    rules = np.array([(bool(about & one), bool(one), bool(about), about_world, True) for one in own], float).reshape(-1, 5)
    says = np.array([bool(about & one) for one in own], bool) | (hazards - hazard_log_odds("", facts) >= _SAYS)
    return np.where(says, np.column_stack([hazards, rules]) @ _LIMIT_WEIGHTS, NOTHING)


@lru_cache(maxsize=1 << 11)  # the limits of a person are compared with every question
def _domains_of(fact: str) -> frozenset[str]:
    return limit_domains(fact)


def _with_orders(classes: frozenset[str], text: str) -> frozenset[str]:
    """Add that something is forbidden if a doctor denies it."""
    return classes | {"forbidden"} if "authority" in classes and pattern("denies").search(text) else classes


def question_domains(text: str, situation: str = "") -> frozenset[str]:
    """Return the domains a question is about, and its situation: none for work on words, or for knowledge of the world.

    Guests at a party eat.
    """
    concepts, personal = concepts_of(text), bool(pattern("own").search(text))
    if "word_work" in classes_of(text) or ("of_the_world" in classes_of(text) and not personal):
        return frozenset()
    catered = {"food"} if "party_celebration" in concepts and "gifts" not in concepts else set[str]()
    known = frozenset[str]() if concepts & _OTHER_MATTERS else domains_of(concepts) | catered
    classes = frozenset[str]() if concepts & _AT_A_COMPUTER else classes_of(text)
    wanted = personal or pattern("advice").search(text)
    by_situation = _BY_SITUATION.get(situation, frozenset[str]()) if wanted else frozenset[str]()
    found = known | _named(text) | by_situation | {domain for domain in DOMAINS if f"ask_{domain}" in classes}
    return found or (_TIME_OFF if "ask_free" in classes else found)


def domains_of(concepts: frozenset[str]) -> frozenset[str]:
    """Return the domains of some concepts, broader ones included."""
    wide = widened(concepts)
    return frozenset(domain for domain, known in _ASKED.items() if wide & known)


def limit_term(domain: str) -> str:
    """Return the indexed term of facts that are limits in a domain. The colons keep it apart from parts of words."""
    return f":::{domain}"


def _named(text: str) -> frozenset[str]:
    return frozenset(domain for domain in DOMAINS[:-1] if pattern(f"asks_{domain}").search(text))


def _of_concepts(concepts: frozenset[str]) -> frozenset[str]:
    return _together(_BY_CONCEPT[one] for one in widened(concepts) if one in _BY_CONCEPT)


def _of_classes(classes: frozenset[str]) -> frozenset[str]:
    """Return the domains of a limit by its words; none if they are of somebody's work or reading."""
    if "unrelated" in classes:
        return frozenset()
    found = _together(domains for name, domains in _BY_CLASS.items() if name in classes)
    if "fear" in classes:
        found |= {"housing"} if "other_allergen" in classes else {"health"}
        found |= {"housing"} if "close_space" in classes else set()
    if {"lease", "banned"} <= classes:
        found |= {"housing", "gifts", *({"food"} if "ask_food" in classes else ())}
    if classes & {"forbidden", "strain"} and "exertion" in classes and "taste" not in classes:
        found |= _BODY
    if "forbidden" in classes and "taste" not in classes:
        found |= _together(domains for name, domains in _BY_ALLERGEN.items() if name in classes)
    return found


def _allergy_domains(text: str, concepts: frozenset[str], classes: frozenset[str]) -> frozenset[str]:
    """Return the domains of an allergy: by the allergen; food if none is known."""
    known = _of_allergens(concepts) | _together(_BY_ALLERGEN[one] for one in classes & _BY_ALLERGEN.keys())
    if pattern("in_the_air").search(text):
        known |= _NOT_FOOD - {"gifts"}
    if pattern("other_allergens").search(text):
        known |= _NOT_FOOD
    eaten = any("food_eat" in widened(frozenset({one})) for one in concepts - {"allergy", "food_eat"})
    return known | _OF_FOOD if eaten or not known else known


def _of_allergens(concepts: frozenset[str]) -> frozenset[str]:
    return _together(_ALLERGENS[one] for one in widened(concepts) if one in _ALLERGENS)


def _together(some: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*some)
