"""Extract attribute, value and unit of a fact by patterns: "Budget for shoes: max 150€" is budget_shoes, ≤ 150, €.

The first matching pattern wins; specific patterns come first. A fact that matches none has no attribute. It is still found by
its words and its vectors.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from contextd.remembering.owners import NAMED, NOT_NAMES, PEOPLE, whose
from contextd.remembering.sizes import SIZE, size_name
from contextd.text.people import RELATIONS
from contextd.text.thesaurus import concepts_of, languages_of


def _any(*words: str) -> str:
    return "|".join(words)


_MONEY = r"€|\$|£|¥|eur(?:os?)?|usd|gbp|chf|dollars?|pounds?|bucks|yen|kr|zł"
_UNITS = _any(
    _MONEY,
    r"%|percent|prozent|kg|kilos?|g|mg|lbs?|km/h|km|kilomet(?:er|re)s?|miles?|mi|m²|sqm|m2|cm|mm|m|inch(?:es)?|ft|°c|°f|degrees",
    r"hours?|hrs?|h|minutes?|mins?|seconds?|secs?|ms|days?|weeks?|months?|years?|stunden?|tage?n?|wochen?|monate?|jahre?",
    r"words?|pages?|steps?|people|persons?|guests?|units?|points?",
    r"gb|tb|mb|kb|gigs?|kcal|calories|liters?|litres?|l|ml|watts?|w|kwh|v",
)
_DOSE = r"(?P<value>\d+(?:[.,]\d+)?) ?(?P<unit>mg|µg|μg|mcg|ie|iu)\b"
_MEDICINE = r"(?!every|each|twice|once|three|daily|weekly|before|after|with|when|morning|evening|night|monday|tuesday|wednesday|thursday|friday)\w{5,}"
_WORDS = (
    "half an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred"
    "|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq|dix|dos|tres|cuatro|cinco|diez"
)
_CHANGED = frozenset("went gone goes rose raised up down".split())
_MASSES = frozenset("kg kilo kilos g lb lbs pounds stone".split())
_NUMBER = rf"(?:\d+(?:[.,'\u2019 ]\d{{3}})*(?:[.,:]\d+)?(?:\s?k\b|\s?million)?|\b(?:{_WORDS})\b)"
_SPAN = "day|week|month|year|night|hour|tag|woche|monat|jahr|jour|semaine|mois|an|día|semana|mes|año"
_PERIOD = rf"(?:(?:a|per|each|every|/|pro|par|por|im)\s*)(?P<period>{_SPAN})"
_MOST = _any(
    r"max(?:imum|imal)?\.?|at most|(?<!went )(?<!gone )(?<!goes )(?<!rose )(?<!raised )up to|(?:no|not) more than|nothing (?:bigger|above|longer) than|nothing over|under|below|less than",
    r"limited to|capped at|stops at|within|höchstens|maximal|bis zu|unter|pas plus de|moins de|como mucho|máximo|menos de",
    r"(?:can'?t|cannot|must not|mustn'?t|shouldn'?t|may not) (?:exceed|take longer than|cost more than|be (?:longer|more|over) than)",
    r"(?:can'?t|cannot|must not|mustn'?t|shouldn'?t|should not|may not) (?:run |go |last |take |be )?(?:past|over|beyond|above)",
    r"(?:stays?|keep\w*|remains?) (?:below|under|within)|nicht (?:mehr|länger) als|(?:no|nunca) más de|ne (?:pas )?dépasser|不超过|最多|至多|以下",
    r"[<≤]",
)
_LEAST = _any(
    r"min(?:imum|imal)?\.?|at least|(?:no|not) less than|more than|over|above|mindestens|wenigstens|au moins|plus de|al menos",
    r"como mínimo|[>≥]",
)
QUANTITY = re.compile(
    rf"(?P<limit>{_MOST}|{_LEAST})?\s*(?:of |about |around |roughly |ca\.? |~)?(?P<before>{_MONEY})?\s?"
    rf"(?:(?P<between>between|zwischen|entre) )?(?P<low>{_NUMBER})(?:\s?(?:-|\u2013|to|bis|à|(?(between)(?:and|und|et|y)|to))\s?(?P<high>{_NUMBER}))?\s?"
    rf"(?:[- ]?(?P<unit>{_UNITS})(?![\w²]))?(?:\s*{_PERIOD})?",
    re.IGNORECASE,
)
MOST = re.compile(rf"(?<!\w)(?:{_MOST})(?!\w)", re.IGNORECASE)
LEAST = re.compile(rf"(?<!\w)(?:{_LEAST})(?!\w)", re.IGNORECASE)
DENIED = re.compile(r"\b(?:no|not|never|nothing|anything|forbids?|doesn'?t|don'?t|can'?t|cannot|kein\w*)\b", re.IGNORECASE)
AT_MOST_AFTER = re.compile(
    r"\s*(?:,\s*)?(?:max(?:imum)?\b|tops\b|at the latest\b|spätestens\b|(?:is |are )?the (?:limit|maximum|ceiling)\b|not a cent more|(?:\w+ ){0,2}(?:at (?:the )?most|or (?:less|fewer|smaller|below|lower)))",
    re.IGNORECASE,
)
_NOT_PAST = re.compile(
    r"(?:shouldn'?t|can'?t|cannot|must not|may not|no puede) (?:exceed|go over|pass|pasar de|be longer th[ae]n)\s*$",
    re.IGNORECASE,
)
# Words by which a value may be a limit at all.
LIMITED = re.compile(
    rf"(?<!\w)(?:{_MOST}|{_LEAST})(?!\w)|{AT_MOST_AFTER.pattern}|\b(?:limit\w*|cap(?:ped)?|ceiling|budget\w*|spend|afford|exceed\w*|only|"
    r"longer|over|past|most|least|grenze|obergrenze|plafond|límite|tope|nothing|no|not|never|kein\w*)\b|[<>≤≥]|n't\b|不|最|以[内下上]",
    re.IGNORECASE,
)
_TIMES = re.compile(
    rf"(?:(?P<times>{_NUMBER}) ?(?:x|times|mal|fois|veces)|(?P<word>once|twice|thrice|einmal|zweimal|dreimal))\s*{_PERIOD}|"
    r"\b(?P<every>every|each|jeden|jede|chaque|cada)\s(?P<what>day|morning|evening|night|week|month|year|tag|woche|jour|semaine|día|semana)\b|"
    r"\b(?P<adverb>daily|weekly|monthly|yearly|nightly|täglich|wöchentlich)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"(?P<count>{_NUMBER}) (?P<noun>[a-z]{{3,}}s) {_PERIOD}\b", re.IGNORECASE)
_COUNTS = {"once": "1", "twice": "2", "thrice": "3", "einmal": "1", "zweimal": "2", "dreimal": "3"}
_SPANS = {
    "morning": "day", "evening": "day", "night": "day", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month",
    "yearly": "year", "tag": "day", "jour": "day", "día": "day", "woche": "week", "semaine": "week", "semana": "week",
    "täglich": "day", "wöchentlich": "week", "monat": "month", "mois": "month", "mes": "month", "jahr": "year", "an": "year", "año": "year",
}  # fmt: skip
_DATE = (
    r"(?:\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*(?: \d{4})?|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.? \d{1,2}(?!\d)(?:st|nd|rd|th)?(?:,? \d{4})?|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|"
    r"(?:next |end of |early |late |mid-?)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|spring|summer|autumn|fall|winter|christmas|easter)(?: \d{4})?|the \d{1,2}(?:st|nd|rd|th)|20\d\d)"
)
_CLOCK = r"\d{1,2}(?::\d\d)?\s?(?:am|pm|h|uhr)|\d{1,2}[:.]\d\d"
DATE, CLOCK = (re.compile(pattern, re.IGNORECASE) for pattern in (_DATE, _CLOCK))
_LIST = r"(?P<value>[^.;!?(),]+?(?:,? (?:and|or|und|et|y) [^.;!?(),]+?|, \w+(?=,|$| and| or| und| et| y))*)(?=[.;!?(),]| so | since | because |$)"
_PLACE = r"(?P<value>(?-i:[A-Z])[\w'\u2019-]+(?: (?-i:[A-Z])[\w'\u2019-]+)*)"
_LATER = r"(?:now|currently|nowadays|jetzt|inzwischen|mittlerweile|maintenant|ahora)"
_OWNER = r"(?:(?:my|our|the|mein|meine|mon|ma|mi)\s+)?"
# Attribute, and a pattern whose group `value` is the value; `who` and `what` are added to the name.
_PHRASES = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("allergy", rf"\ballerg(?:ic|isch) (?:to|gegen|auf) {_LIST}"),
        ("allergy", r"\b(?P<value>\w+(?: \w+)?) allergy\b"),
        ("allergy", rf"\b(?:allergique|alérgic[oa]) (?:aux?|à la|à l'|à|a la|al?|a los) ?{_LIST}"),
        ("intolerance", r"\b(?P<value>lactose|gluten|fructose|histamine)[- ]intoleran\w+"),
        ("intolerance", r"\bintoleran\w+ (?:to|of) (?P<value>[\w ,]+)"),
        ("diet", r"\b(?P<value>vegan|vegetarian|vegetarisch|pescatarian|pescetarian|halal|kosher|keto|paleo|gluten[- ]free|low[- ]carb|végétarienne?|vegetarian[oa]|vegan[oa])\b"),
        ("birthday", rf"\bbirthday\b(?: is| :|:)?(?: on)? (?:the )?(?P<value>{_DATE})"),
        ("birthday", rf"\bborn (?:(?:on|in) )?(?:the )?(?P<value>{_DATE})"),
        ("deadline", rf"\b(?:deadline|due|expires?|frist)\b[^.;]*?\b(?P<value>{_DATE})"),
        ("wake_up_time", rf"\b(?:wake|get|getting|waking) up (?:at|around|by) (?P<value>{_CLOCK}|\d{{1,2}})"),
        ("bedtime", rf"\b(?:go to bed|bedtime|asleep)\b.{{0,14}}?(?P<value>{_CLOCK})"),
        ("blood_type", r"\bblood (?:type|group):? (?:is )?(?P<value>(?:a|b|ab|o|0)\b ?(?:\+|-|\u2212|positive|negative|pos|neg)?)"),
        ("job", r"\b(?:work|works|working|arbeite|travaille|trabajo)(?: now| jetzt| inzwischen)? (?:as|als|comme|como) (?:an? |the |de )?(?P<value>[\w -]+?)(?= at | in | for | bei | since |[.,;]|$)"),
        ("employer", r"\b(?:work|works|working|(?:started|start|got|have) (?:a )?(?:new )?job|new job: started|joined|started|arbeite|angefangen|travaille|trabajo)(?: now| jetzt| maintenant)?"
                     r" (?:at |for |bei |chez |en |(?<=joined ))(?P<value>(?-i:[A-Z])[\w&']*(?: (?-i:[A-Z&])[\w&']*)*)"),
        ("relationship", r"\b(?:i'?m|i am|we are|we're|(?:i|we) (?:just )?got|ich bin|wir sind|je suis|estoy|soy) (?:now |newly |jetzt |seit \w+ )?(?!engaged (?:in|with)\b)"
                         r"(?P<value>single|married|engaged|divorced|widowed|ledig|verheiratet|verlobt|geschieden|verwitwet|célibataire|mariée?|divorcée?|solter[oa]|casad[oa]|divorciad[oa])\b(?!-)"),
        ("relationship", r"\b(?:ich habe|wir haben)(?: uns)? (?:.+ )?(?P<value>geheiratet|verlobt|scheiden lassen)\b"),
        ("home", r"\b(?:live|lives|living|based|wohne|wohnen|lebe|leben|habite|vivo|moved|relocated)(?: ich| wir)?(?: now| jetzt)? (?:in|to|à|en) "
                 r"(?:an? (?:[\w-]+ ){1,3}in )?" + _PLACE),
        ("birthplace", r"\b(?:born(?: and raised)?|grew up|raised) in " + _PLACE),
        ("language", r"\bspeaks? (?:fluent |some |a little |basic )?(?P<value>(?-i:[A-Z])\w+(?:(?:, | and )(?-i:[A-Z])\w+)*)"),
        ("dose_{what}", rf"\b(?:take|takes|taking|on) (?P<what>{_MEDICINE}) {_DOSE}"),
        ("dose_{what}", rf"(?:^|\b(?:take|takes|taking|on) ){_DOSE}(?: of)? (?P<what>{_MEDICINE})"),
        ("medication", r"\b(?:take|takes|taking|on) (?P<value>\w+) (?:for my|daily|every|each)"),
        ("version_{what}", r"\b(?:use|using|run|running|on|upgraded to|moved to|updated to) (?P<what>(?-i:[A-Z])[\w+#.-]*) v?(?P<value>\d+(?:\.\d+)*)(?= now\b| for\b| in\b|[.,;]?$)"),
        ("weight", r"\b(?:i'?m|i am) (?:now )?(?:down|up) to (?P<value>\d+(?:[.,]\d+)?) ?(?P<unit>kg|kilos?|lbs?|pounds|stone)"),
        ("home", r"\b(?:nach " + _PLACE + r" (?:um)?gezogen|(?:déménagé|emménagé) à (?P<in_fr>(?-i:[A-Z])[\w'-]+)|me mudé a (?P<in_es>(?-i:[A-Z])[\w'-]+))"),
        ("home", r"(?:住在|搬到了?|搬去)(?P<value>[\u4e00-\u9fff]{2,4}?)(?=了|[\uff0c\u3002,.]|$)|(?P<in_fr>[\u4e00-\u9fff]{2,4})に(?:住んで|引っ越し)"),
        ("port", r"\b(?:listens? on|runs? on|on|at) port (?P<value>\d{2,5})"),
        ("email", r"(?P<value>[\w.+-]+@[\w-]+\.[\w.]+)"),
        ("phone", r"\b(?:phone|mobile|call|tel)\b\D{0,20}(?P<value>\+?\d[\d /-]{6,}\d)"),
        ("favorite_{what}", r"\bfavou?rite (?P<what>\w+(?: \w+)?)(?: of all)?(?: is| are|:| =) (?P<value>[^.;]+)"),
        ("favorite_{what}", r"(?P<value>[\w' -]+?) (?:is|are) (?:my|our) favou?rite (?P<what>\w+)"),
        ("age", r"(?:\b(?:i'?m|i am|she'?s|he'?s|turns?|turned|aged?|bin|j'ai|tengo)|^(?P<person>(?:(?:my|our) )?\w+) is) (?P<value>1?\d{1,2})(?![.,]\d)(?= years?(?: old)?\b| jahre\b| ans\b| años\b| and\b| und\b|[.,;]|$)"),
        ("age", r"\b(?P<value>\d{1,3})[- ](?:years?|yrs?)[- ]old"),
        ("age", r"\b(?:turned|turns|turning) (?P<value>1?\d{1,2})(?! ?(?:%|€|\$|km|kg|pages))\b|\b(?:a|ai|avons) (?P<in_fr>1?\d{1,2}) ans\b|\b(?:tiene|tengo|cumple|cumplió) (?P<in_es>1?\d{1,2})(?: años)?\b"),
        ("age", r"\bist (?P<value>1?\d{1,2}) Jahre(?: alt)?(?=[.,;]|$)|(?P<in_fr>\d{1,3}|[一二三四五六七八九十]{1,3})(?:岁|歳|才)"),
        ("age", r"^(?P<person>(?:(?:meine?|unsere?) )?\w+) ist (?P<value>1?\d{1,2})(?=[.,;]|$)"),
        ("name_{what}", rf"{_OWNER}(?P<what>[\w' ]{{2,24}}?) is (?:called|named) (?P<value>[^\W\d]\w+(?: (?-i:[A-Z])\w+)?)"),
    )
)  # fmt: skip
_DECIDED = re.compile(
    r"\b(?:decided (?:on|to use|to go with|for)|chose|picked|went (?:with|for)|going with|settled on|opted for|agreed on|switched to|use|using|uses)"
    r" (?:the |a )?(?P<value>[^.;,]+?)(?: (?:for|as) (?:the |our |my )?(?P<what>[\w ]+?))?(?= instead| over | rather|[.,;]|$)",
    re.IGNORECASE,
)
_KEYED = re.compile(r"^(?P<what>[^\W\d][\w '\u2019/&-]{1,40}?)\s*(?::|=|→)\s+(?P<value>[^:].*)$")
_IS = re.compile(
    rf"^(?:{_OWNER})(?P<what>[\w'\u2019 -]{{2,40}}?) (?:is|are|was|ist|est|es|remains?|beträgt)"
    rf"(?: {_LATER}| always| still| set to| on| at)* (?P<value>(?:[^.;]|(?<=\b(?-i:Dr|Mr|Ms|St))\.|(?<=\bProf)\.|(?<=\bMrs)\.){{1,60}}?)(?: {_LATER})?[.!]?$",
    re.IGNORECASE,
)
_FILLER = frozenset(
    "a an the my our your of for to in on at is are was be new current usual own total monthly weekly neu neue neuer neues neuen".split()
)
_ABOUT_MONEY = re.compile(
    r"\b(?:for|on|für|pour|para)\s+(?:the |a |an |my |our |new |den |die |das |eine?n? |mein\w* |neue[ns]? |les |la |le |une? |mon |ma |mes "
    r"|nouve\w+ |el |los |las |una |mis? |nuev\w+ )*(?P<what>[^\W\d]\w+(?: (?!(?:" + _MOST + r")(?!\w))[^\W\d]\w+)?)",
    re.IGNORECASE,
)


# A statement that is negated, past, wished for or in the future states no current value.
_NOT_NOW = re.compile(
    r"\b(?:not|never|no longer|any ?more|used to|stopped|quit|former(?:ly)?|(?:was|were)(?! born)|want(?:s|ed)?|would|will|almost|nearly|beinahe|presque|casi|(?-i:may)|might|maybe|hope|plan(?:s|ning)?|"
    r"least favou?rite|nicht|nie|kein\w*|früher|möchte|werde|ne|n'|pas|plus|jamais|aimerais|nunca|ya no|quiero)\b|n't\b|\b(?:can|do|does|is|are|was|wo)nt\b",
    re.IGNORECASE,
)
_ON_DAY = re.compile(rf"\b(?P<by>by|on|since|am|from) (?:the )?(?P<value>{_DATE}|\d{{1,2}}(?:st|nd|rd|th))\b", re.IGNORECASE)


_LONGEST = 500  # characters that are read; a longer text states more than one value


class Stated(NamedTuple):
    """What a fact states: about whom, the attribute, and its value."""

    about: str = ""
    attribute: str = ""
    value: str = ""
    unit: str = ""
    loose: bool = False  # the ends of the value are uncertain


def stated(text: str) -> Stated:
    """Return the attribute of a fact with its value; empty if no pattern matches, and for a question."""
    line = " ".join(text[:_LONGEST].split())
    if line.endswith(("?", "\uff1f")):
        return Stated()
    about, rest = whose(line)
    for pattern in (_sized, _frequency, _phrased, _budget, _keyed, _decided, _dated, _measured):
        if found := pattern(rest):
            if _NOT_NOW.search(rest) and found[1][:1] not in ("≤", "≥"):  # a limit may be negated: "not over 10 kg"
                break
            about = "" if pattern is _keyed and _is_thing(about, line, found) else about
            return Stated(about, *found, loose=pattern in (_keyed, _dated))
    return Stated()


def _is_thing(about: str, line: str, found: tuple[str, str, str]) -> bool:
    """Return whether a capital letter was that of a sentence about a thing with a time or number: "Standup is at ten"."""
    timed = bool(QUANTITY.match(found[1]) or DATE.match(found[1]))
    return timed and found[0].split("_")[0] == about and bool(NAMED.match(line)) and not concepts_of(about) & RELATIONS


Found = tuple[str, str, str] | None


def _sized(text: str) -> Found:
    match = SIZE.search(text)
    if match is None:
        return None
    return (
        size_name(match["what"].casefold()) or name_of(match["what"]),
        match["value"],
        (match["unit"] or match["after"] or "").upper(),
    )


def _frequency(text: str) -> Found:
    match = _TIMES.search(text)
    if match is None or _budget(text) is not None or re.search(_DOSE, text, re.IGNORECASE):  # how much is said, not how often
        return None
    count = match["times"] or _COUNTS.get((match["word"] or "").casefold(), "1")
    span = (match["what"] or match["adverb"] or match["period"]).casefold()
    doing = _activity(text[: match.start()]) or _activity(text[match.end() :])
    return f"{doing}_frequency" if doing else "frequency", count, f"times/{_SPANS.get(span, span)}"


def _activity(text: str) -> str:
    """Return the first word that may be an activity."""
    words = [word for word in re.findall(r"[^\W\d]+", text.casefold()) if word not in _FILLER and word not in _NOT_ACTIVITIES]
    return words[0] if words else ""


_NOT_ACTIVITIES = frozenset(
    "i we he she they go goes going do does usually always mostly often about around with and ich wir gehe je me you".split()
)


def _phrased(text: str) -> Found:
    if _NOT_NOW.search(text):
        return None
    for name, pattern in _PHRASES:
        if (match := pattern.search(text)) and _of_person(match):
            groups = match.groupdict()
            attribute = name.format(what=name_of(groups.get("what") or ""))
            value = groups["value"] or groups.get("in_fr") or groups.get("in_es") or ""
            return attribute, _listed(value), groups.get("unit") or ""
    return None


def _of_person(match: re.Match[str]) -> bool:
    """Return whether the one whose age a pattern finds is a person or an animal: a relative, or a name."""
    who = match.groupdict().get("person")
    if not who:
        return True
    word = who.split()[-1]
    if concepts_of(word) & RELATIONS or PEOPLE.fullmatch(word):
        return True
    german = who.casefold().startswith(("mein", "unser"))  # all nouns have a capital letter
    return word[0].isupper() and word not in NOT_NAMES and not german and not languages_of(word.casefold())


def _budget(text: str) -> Found:
    """Parse a limit in money: the budget for something."""
    match = next((found for found in QUANTITY.finditer(text) if _is_money(found)), None)
    if match is None or not (
        re.search(r"\bbudget|presupuesto|spend|afford\w*|ausgeben\b", text, re.IGNORECASE) or match["limit"]
    ):
        return None
    what = _ABOUT_MONEY.search(text)
    named = name_of(what["what"]) if what else name_of(re.sub(r"\bbudget\b", " ", text[: match.start()], flags=re.IGNORECASE))
    value, unit = _amount(match, text)
    return f"budget_{named}".rstrip("_"), value, unit


def _keyed(text: str) -> Found:
    """Parse `Key: value`, or "my key is value"."""
    if _NOT_NOW.search(text):
        return None
    for pattern in (_KEYED, _IS):
        if (
            (match := pattern.match(text))
            and (name := name_of(match["what"]))
            and name not in ("it", "this", "that", "there", "he", "she")
        ):
            quantity = QUANTITY.match(match["value"])
            if quantity and (_is_measure(quantity) or quantity.end() >= len(match["value"].rstrip(" .!")) - 12):
                return name, *_amount(quantity, match["value"])
            if pattern is _KEYED or len(match["value"].split()) <= 6:
                return name, _listed(match["value"]), ""
    return None


def _is_measure(match: re.Match[str]) -> bool:
    """Return whether a quantity is complete by itself: it has a unit, a currency or a limit."""
    return bool(match["unit"] or match["before"] or match["limit"])


def _decided(text: str) -> Found:
    match = _DECIDED.search(text)
    if match is None or not match["what"]:
        return None
    return name_of(match["what"]), match["value"].strip(), ""


def _dated(text: str) -> Found:
    """Parse a fact with a date, or with a date by which it is due."""
    match = _ON_DAY.search(text)
    if match is None:
        return None
    words = [
        word
        for word in re.findall(r"[^\W\d]+", text[: match.start()].casefold())
        if word not in _FILLER and word not in _NOT_ACTIVITIES
    ]
    name = "_".join(words[:2])
    return (f"deadline_{name}" if match["by"].casefold() == "by" else f"date_{name}", match["value"], "") if name else None


def _measured(text: str) -> Found:
    """Parse a number with a unit, named by the noun before or after it."""
    if match := _COUNTED.search(text):
        doing = _activity(text[: match.start()])
        period = match["period"].casefold()
        return f"{doing}_{match['noun']}".strip("_"), _counted(match, text), f"{match['noun']}/{_SPANS.get(period, period)}"
    for match in QUANTITY.finditer(text):
        bare = not (match["unit"] or match["before"] or match["period"] or match["limit"])
        if bare or match["low"].casefold() == "one":  # a number alone may be the name of something: "note 3"
            continue
        value, unit = _amount(match, text)
        before = re.findall(
            r"[^\W\d]+", re.sub(rf"\b(?:{_MOST}|{_LEAST})\b", " ", text[: match.start()], flags=re.IGNORECASE).casefold()
        )
        after = re.findall(r"[^\W\d]+", text[match.end() :].casefold())
        words = set(before + after)
        if unit.casefold() in _MASSES and {"weigh", "weighs", "weight", "wiege", "pèse", "peso"} & words:
            return "weight", value, unit
        if unit.casefold() not in _MASSES and {"tall", "height", "groß", "grand", "mide", "mido"} & words:
            return "height", value, unit
        named = [word for word in before if word not in _FILLER and word not in _NOT_ACTIVITIES and word not in _CHANGED]
        name = "_".join(named[-2:]) or "_".join(after[:1])
        return (name, value, unit) if name else None
    return None


def _counted(match: re.Match[str], text: str) -> str:
    """Return the number of a count with its limit: "at most two coffees a day"."""
    quantity = next((one for one in QUANTITY.finditer(text) if one.span("low") == match.span("count")), None)
    return _amount(quantity, text)[0] if quantity else match["count"]


def _is_money(match: re.Match[str]) -> bool:
    return bool(re.fullmatch(_MONEY, match["before"] or match["unit"] or "", re.IGNORECASE))


def _amount(match: re.Match[str], text: str) -> tuple[str, str]:
    """Return value and unit of a quantity, with its limit: "no pets over 10 kilos" is at most ten."""
    value = match["low"] if not match["high"] else f"{match['low']}-{match['high']}"
    if limit := match["limit"]:
        most = bool(MOST.fullmatch(limit)) != bool(DENIED.search(text[: match.start()]))
        value = f"{'≤' if most else '≥'} {value}"
    elif AT_MOST_AFTER.match(text[match.end() :]) or _NOT_PAST.search(text[: match.start()]):
        value = f"≤ {value}"
    period = match["period"]
    unit = match["unit"] or match["before"] or ""
    return value.strip(), f"{unit}/{_SPANS.get(period.casefold(), period.casefold())}" if period else unit


def name_of(words: str) -> str:
    """Return a snake_case name of at most three content words."""
    parts = [word for word in re.findall(r"[^\W_]+", words.casefold()) if word not in _FILLER]
    return "_".join(parts[:3])


def _listed(value: str) -> str:
    """Return a list as comma-separated parts; a single value unchanged."""
    value = value.strip(" .,!;:")
    parts = re.split(r"\s*,\s*(?:and |or |und |et |y )?|\s+(?:and|und|et|y)\s+", value)
    return ", ".join(part.strip() for part in parts if part.strip()) if len(parts) > 1 and len(value) < 80 else value
