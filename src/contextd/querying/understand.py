"""Parse a question by rules: its route, the terms and names to search for, and the filters written in it.

Routes: `symbol` (a bare or qualified name), `path`, `trace` (a stack trace), `issue` (a long text), `words`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from contextd.errors import InvalidInput
from contextd.text import inflections
from contextd.text.languages import ALIASES
from contextd.text.natural_language import is_grammar, language_of, small_words
from contextd.text.terms import defined_names, parts_of, split, terms_of
from contextd.text.times import windows, without_times
from contextd.text.word_families import family
from contextd.values.query import Plan, Query, Scope

_FILTER = re.compile(r"(?<!\S)(-path|path|lang|language|kind):(\"[^\"]{1,300}\"|\S{1,300})")
_SYMBOL = re.compile(r"^[A-Za-z_$@][\w$]*(?:(?:\.|::|#|->|/)[A-Za-z_$][\w$]*)*[?!]?(?:\(\))?$")
_PATH = re.compile(r"^[\w.@~+-]*(?:[/\\][\w.@+-]+)+/?$|^[\w-]+\.[A-Za-z]{1,5}$")
# All repetitions in these patterns are bounded, because a question may be a megabyte of arbitrary text.
_FRAME = re.compile(
    r'File "([^"\n]{1,300})", line (\d{1,7})|\bat .{1,200}?\(([^()\n]{1,300}?):(\d{1,7})(?::\d+)?\)'
    r"|([\w./\\-]{1,200}\.[A-Za-z]{1,5}):(\d{1,7})(?::\d+)?\b"
)
_ENDINGS = "py|js|ts|tsx|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|scala|sh|lua|ex|zig|hs|md|rst|toml|yaml|yml|json|sql"
# A path with a folder may have any extension; a bare file name needs a known one.
_FILE = re.compile(
    rf"(?<![\w/.-])((?:[\w.-]{{1,60}}/){{1,12}}[\w-]{{1,80}}\.[A-Za-z]\w{{0,7}}|[\w-]{{1,80}}\.(?:{_ENDINGS}))\b"
)
_CODE_NAME = re.compile(
    r"`([^`\n]{2,80})`|\b([A-Za-z_]\w{0,60}(?:(?:\.|::)[A-Za-z_]\w{0,60}){1,6})\b"
    r"|\b([a-z]{1,40}[A-Z]\w{0,80}|[A-Z][a-z0-9]{1,40}[A-Z]\w{0,80}|[^\W_]{1,60}_\w{1,80})\b|\b([A-Za-z_]\w{0,80})\(\)"
)
_ISSUE_WORDS = 40
_LONGEST = 20_000  # characters of a question that are parsed
_TITLE = 2.0  # weight of terms in the first line of a long text, which states its subject
_NAME = 1.5
_TESTS = re.compile(r"\b(tests?|testing|spec|fixtures?|examples?|benchmarks?|mocks?)\b", re.IGNORECASE)
_DOCS = re.compile(
    r"\b(doc(s|umentation|umented)?|readme|guides?|manual|tutorials?|change ?logs?|release notes)\b", re.IGNORECASE
)
_VALUE = re.compile(
    r"\b(how (many|much|long|large|big|often)|maximum|minimum|max|min|default|limit|at (most|least)|(which|what) value|size"
    r"|timeout|number of)\b",
    re.IGNORECASE,
)
_CHANGED = "(?:changed?|changes|added|removed|fixed|modified|touched|updated|edited|refactored|deprecated|done|happened)"
# "commit" may also mean a transaction, and "recently used" a cache, so these words alone are not enough.
_RECENT = re.compile(
    r"\b(?:(?:recent|latest|newest|last) (?:\w+ )?(?:changes?|commits?|edits?|work|fix(?:es)?|updates?|activity|modifications?"
    rf"|development|refactorings?)|{_CHANGED} (?:\w+ )?(?:recently|lately)|(?:recently|lately) {_CHANGED}"
    rf"|what(?:'s| is| has| was)? {_CHANGED}(?: \w+){{0,8}} (?:recently|lately))\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b((?:which|what|whose|first|previous|earlier|git|every|each) commits?|commits (?:\w+ing|by|of|to|about|since)"
    r"|commits (?:from|that|which)|(?:show|list|find) (?:me )?(?:all )?(?:the )?commits"
    r"|commit (?:history|log|messages?|hash|[0-9a-f]{7,40}|by|that \w+ed)"
    r"|committed by|who committed|(git|change) history|history of (this|the) (file|project|code|repo\w*)"
    r"|changelog|blame|introduced|reverted|what changed"
    r"|changed (since|last|in)|last (week|month)|when (was|did)"
    r"|why (was|is) (this|it|that)( \w+){0,3} (here|added|removed|changed|there))\b",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\bwho (?:wrote|changed|knows|added|removed|broke|maintains|works on|worked on|committed|touched|fixed|can (?:i|we) ask"
    r"|is the expert|owns (?:this|that|it|the \w+ (?:file|module|code|package|folder|component)))\b",
    re.IGNORECASE,
)

STOP = frozenset(
    "a an and are as at be been but by can could did do does doing for from had has have having how i if in into is it "
    "its me my no not of on or our should so some such than that the their them then there these they this those to us "
    "was we were what when where which who why will with would you your about after all also any because before between "
    "both each few get got here just like more most much need now only other out over own please same show tell too under "
    "until up use used uses using very want way whether while find explain work works happen happens handled handle".split()
)
_PAST_STEMS = frozenset(
    term
    for word in "commit commits committed history git recent recently lately latest newest last changed changes change touched "
    "introduced week month author wrote added who knows know maintains owns worked touched broke removed fixed ask expert "
    "responsible modified updated edited".split()
    for term in terms_of(word)
)
_SHORT = 200  # characters; a shorter text is assumed to be in one language
_NAMED_IN = 2000  # characters of a text that are searched for names
_MOST_ENTITIES = 8
_MOST_FILTERS = 20  # per question; a text with more was pasted, not typed
_RECENT_MESSAGES = 6  # messages of the history that are considered
_FOLLOW_UP_WORDS = 9
_ENTITY = re.compile(
    r"[\"\u201c\u201e]([^\"\u201c\u201d\u201e]{2,60})[\"\u201d]"
    r"|(?<![.!?:]\s)(?<!^)\b([A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3})(?<!'s)"
)
_FIRST = re.compile(r"\s*([A-Z][\w-]+(?: [A-Z][\w-]+){0,2})")
_ASKING = frozenset(
    "help suggest recommend give make plan buy find did does is are was were has have had should would will can could who "
    "whose remember add fix".split()
)
_TALKING = frozenset(
    "say said says talk talked talking speak spoke speaking discuss discussed discussing ask asked asking mention mentioned "
    "tell told chat chatted conversation conversations messages message write wrote written answer answered reply replied "
    "s t re ve ll".split()
)
_ADDS = re.compile(r"\s*(?:and|or|but|also|then|what about|how about|und|oder|aber|was ist mit|et|y)\b", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:it|that|this|those|these|them|they|he|she|him|her|one|ones|other|same|there|das|dies\w*|er|sie|ihn|davon)\b",
    re.IGNORECASE,
)
REPORT_WORDS = 15  # a shorter text is a question, not a report
STOP_STEMS = frozenset(term for word in STOP for term in terms_of(word))


def understand(query: Query) -> Plan:
    """Return the plan of a question. A follow-up question is combined with the history."""
    text, scope = _filters(query.text[:_LONGEST], query.scope)
    text = f"{earlier} {text}" if (earlier := _from_history(text, query.history)) else text
    route = _route(text)
    names = _names(text, route)
    terms, telling = _terms(text, route, names)
    past = _is_about_the_past(text, route) or "commit" in scope.kinds
    latest, people = past and bool(_RECENT.search(text)), past and bool(_PEOPLE.search(text))
    terms = _without(terms, _PAST_STEMS) if past else terms
    if not past and query.occasional:
        scope = replace(scope, sources=scope.sources - query.occasional)
    tests, times = bool(_TESTS.search(text)), windows(text, query.now) if query.now else ()
    named = entities(without_times(text) if times else text)  # "last Tuesday" names nobody
    bare = _is_bare(text, named) and bool(times or named)
    return Plan(
        route, text, scope, terms, names, _paths(text), _places(text), tests, past, bool(_DOCS.search(text)),
        bool(_VALUE.search(text)), named, times, bare, wants_latest=latest, wants_people=people,
        families=_families(text, terms) if route == "words" else {}, wordless=route == "words" and not telling,
        forms=_forms(text, terms) if route == "words" and len(text) < _SHORT else {},
    )  # fmt: skip


def _families(text: str, terms: dict[str, float]) -> dict[str, str]:
    """Map other words of the same word families to the query term each stands for."""
    found: dict[str, str] = {}
    for word in re.findall(r"[a-z]{3,}", text.lower()):
        for own in terms_of(word)[:1]:  # empty for a word that is too long
            others = family(word) if own in terms else ()
            found |= {other: own for other in others if other not in terms and other not in STOP_STEMS}
    return found


def _forms(text: str, terms: dict[str, float]) -> dict[str, str]:
    """Map other inflected forms of the words of a question, if it is in another language, to the query term of each."""
    if (language := language_of(text)) not in inflections.LANGUAGES:
        return {}
    words = ((word, own) for word in re.findall(r"[^\W\d_]+", text.lower()) for own in terms_of(word)[:1] if own in terms)
    return {form: own for word, own in words for form in inflections.inflected(word, language) if form not in terms}


def _is_bare(text: str, named: Sequence[str]) -> bool:
    """Return whether a question has only names, times and words of talking: "what did Ann say last week"."""
    if len(text) > _SHORT:
        return False
    rest = text
    for name in named:
        rest = rest.replace(name, " ")
    return not [
        word for word in re.findall(r"[^\W\d_]+", without_times(rest).lower()) if word not in STOP and word not in _TALKING
    ]


def entities(text: str) -> tuple[str, ...]:
    """Return the people, places and things a text names: quoted, or capitalized inside a sentence."""
    short = text[:_NAMED_IN]
    found = [quoted or name for quoted, name in _ENTITY.findall(short)]
    if (first := _FIRST.match(short)) and len(short.split()) > 1:  # the first word of a sentence is always capitalized
        words = first[1].split()
        found.insert(0, " ".join(words[1:] if words[0].lower() in STOP | _ASKING else words))
    found = [name for name in found if name]
    return tuple(dict.fromkeys(found))[:_MOST_ENTITIES]


def _from_history(text: str, history: Sequence[str]) -> str:
    """For a follow-up such as "and the other one?", return the last self-contained question and answer of the history."""
    if not history or not _is_follow_up(text):
        return ""
    standing = [said[:_NAMED_IN] for said in history[-_RECENT_MESSAGES:] if said.strip() and not _is_follow_up(said)]
    return " ".join(standing[-2:])


def _is_follow_up(text: str) -> bool:
    """Return whether a text is a follow-up: short, and either starting like an addition or using an unresolved pronoun."""
    words = re.findall(r"[^\W_]+", text.lower())
    telling = [word for word in words if word not in STOP and word not in small_words(text)]
    return len(words) <= _FOLLOW_UP_WORDS and (bool(_ADDS.match(text)) or (bool(_POINTS.search(text)) and len(telling) <= 3))


def _is_about_the_past(text: str, route: str) -> bool:
    """Return whether a question is about the past. Traces and reports only mention recent events, so they are not."""
    if route in ("trace", "issue") or len(text.split()) >= REPORT_WORDS:
        return False
    return any(pattern.search(text) for pattern in (_PAST, _RECENT, _PEOPLE))


def _without(terms: dict[str, float], less: frozenset[str]) -> dict[str, float]:
    """Drop terms that only tell the kind of question, unless no others are left."""
    return {term: weight for term, weight in terms.items() if term not in less} or terms


def _filters(text: str, scope: Scope) -> tuple[str, Scope]:
    """Remove filters such as `path:src lang:go kind:code_function` from the text and narrow the scope by them."""
    found: dict[str, list[str]] = {}
    for name, value in _FILTER.findall(text)[:_MOST_FILTERS]:
        if value.strip('"'):
            found.setdefault(name.removesuffix("uage"), []).append(value.strip('"').removeprefix("./"))
    if not found:
        return text, scope
    narrowed = replace(
        scope,
        paths=_narrower(scope.paths, found.get("path", [])),
        languages=_both(scope.languages, [ALIASES.get(value.lower(), value.lower()) for value in found.get("lang", [])]),
        kinds=_both(scope.kinds, [value.lower() for value in found.get("kind", [])]),
        excluded=(*scope.excluded, *_excluded(found.get("-path", []))),
    )
    return _FILTER.sub(" ", text).strip(), narrowed


def _excluded(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if path.strip("./") == "":
            raise InvalidInput(f"-path:{path} excludes the whole project; give a directory or a file in the project")
        yield path.rstrip("/")


def _both(have: frozenset[str], asked: Iterable[str]) -> frozenset[str]:
    """Intersect two filters, where empty means no filter. An empty intersection matches nothing."""
    wanted = frozenset(asked)
    if not wanted:
        return have
    return (have & wanted or frozenset({"\0nothing"})) if have else wanted


def _narrower(have: tuple[str, ...], asked: list[str]) -> tuple[str, ...]:
    if not asked:
        return have
    if not have:
        return tuple(asked)
    inside = tuple(path for path in asked if any(path == top or path.startswith(top.rstrip("/") + "/") for top in have))
    return inside or ("\0nothing",)


def _route(text: str) -> str:
    stripped = text.strip()
    if _SYMBOL.match(stripped) and not _PATH.match(stripped):
        return "symbol"
    if _PATH.match(stripped):
        return "path"
    if len(_FRAME.findall(stripped)) >= 2 or "Traceback (most recent" in stripped:
        return "trace"
    return "issue" if len(stripped.split()) >= _ISSUE_WORDS else "words"


def _names(text: str, route: str) -> tuple[str, ...]:
    """Return names that may be defined somewhere, in lower case: written as code, or made of adjacent words."""
    found: list[str] = []
    if route == "symbol":
        found.append(re.sub(r"::|#|->|/", ".", text.strip().rstrip("()?!")).lower())
    for groups in _CODE_NAME.findall(text):
        name = re.sub(r"::", ".", next(part for part in groups if part)).strip("()")
        if re.fullmatch(r"[\w.]+", name):
            found.append(name.lower())
    found = [known for name in found for known in defined_names(name)]
    if route == "words":
        found += _joined(text)
    return tuple(dict.fromkeys(found))[:64]


def _joined(text: str) -> list[str]:
    words = [word.lower() for word in re.findall(r"[A-Za-z_]\w+", text)]
    content = [word for word in words if word not in STOP]
    pairs = [one + two for one, two in pairwise(content)]
    snakes = [f"{one}_{two}" for one, two in pairwise(content)]
    triples = ["".join(content[place : place + 3]) for place in range(len(content) - 2)]
    return [*content, *pairs, *snakes, *triples]


def _terms(text: str, route: str, names: tuple[str, ...]) -> tuple[dict[str, float], bool]:
    """Return terms with weights, without stop words unless nothing else is left, and whether something else is left."""
    title = text.strip().split("\n", 1)[0][:200] if route == "issue" else ""
    weights: dict[str, float] = {}
    for term in split(text):
        weights.setdefault(term, 1.0)
    for term in split(title):
        weights[term] = _TITLE
    if route in ("issue", "trace"):
        for term in (term for name in names for part in parts_of(name) for term in terms_of(part)):
            weights[term] = max(weights.get(term, 1.0), _NAME)
    small = {term for word in small_words(text) for term in terms_of(word)} if len(text) < _SHORT else set()
    less = STOP_STEMS | small
    kept = {term: weight for term, weight in weights.items() if term not in less and not is_grammar(term)}
    return kept or weights, bool(kept)


def _paths(text: str) -> tuple[str, ...]:
    """Return the files the text names."""
    return tuple(dict.fromkeys([*(path for path, _ in _places(text)), *_FILE.findall(text)]))[:32]


def _places(text: str) -> tuple[tuple[str, int], ...]:
    """Return the files and lines the text names: frames of a stack trace, or `app.py:42`."""
    found = [[part for part in groups if part] for groups in _FRAME.findall(text)]
    return tuple(dict.fromkeys((path.replace("\\", "/"), int(line)) for path, line in found))[:32]
