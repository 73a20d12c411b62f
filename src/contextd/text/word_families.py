"""Word families: other forms in which a word of a question may occur in code.

Covers English word formation that a stemmer does not (`parser` and `parse`, `resolution` and `resolve`, `indices` and `index`)
and common abbreviations of programming (`config` for configuration). There is no project's vocabulary, and no synonyms: those
depend on the subject of a text.
"""

from __future__ import annotations

from functools import lru_cache

from contextd.text.terms import terms_of

# Endings that change the stem: of a noun, and of the verbs it may derive from.
_CHANGES = (
    ("olution", ("olve",)), ("version", ("vert",)), ("ansion", ("and",)), ("ension", ("end",)), ("ision", ("ide",)),
    ("usion", ("ude",)), ("mission", ("mit",)), ("ription", ("ribe",)), ("umption", ("ume",)), ("eption", ("eive", "ept")),
    ("ication", ("ify", "icate")), ("ysis", ("yze", "yse")), ("ance", ("ant",)), ("ence", ("ent",)),
)  # fmt: skip
_IRREGULAR = (
    "index indices indexes", "vertex vertices", "matrix matrices", "child children", "person people", "schema schemas schemata",
    "criterion criteria", "datum data", "leaf leaves", "half halves", "suffix suffixes suffices", "axis axes", "basis bases",
    "run ran", "write written wrote", "read reader", "send sent", "build built", "bind bound", "find found", "hold held",
    "break broken broke", "throw thrown threw", "choose chosen chose choice", "lose lost loss", "keep kept", "catch caught",
    "speak spoken", "hide hidden", "begin began begun", "know known knew", "see seen saw", "think thought", "split splitter",
)  # fmt: skip
_ABBREVIATIONS = (
    "config configuration configure", "init initialize initialization", "auth authentication authenticate",
    "auth authorization authorize", "param parameter", "arg argument", "env environment", "dir directory",
    "doc document documentation", "spec specification", "impl implementation implement", "info information", "repo repository",
    "db database", "msg message", "req request", "resp response", "err error", "ctx context", "func function", "fn function",
    "str string", "num number", "int integer", "bool boolean", "char character", "len length", "max maximum", "min minimum",
    "tmp temporary", "src source", "dest destination", "pkg package", "lib library", "app application", "util utility",
    "cmd command", "opt option", "prop property", "attr attribute", "elem element", "idx index", "async asynchronous",
    "sync synchronize synchronization synchronous", "eval evaluate evaluation", "exec execute execution", "conn connection",
    "proc process", "mem memory", "ref reference", "ptr pointer", "val value", "var variable", "dep dependency",
    "stmt statement", "expr expression", "decl declaration", "buf buffer", "addr address", "fmt format", "pos position",
    "prev previous", "iter iterator iterate", "alloc allocate allocation allocator", "concat concatenate", "sep separator",
)  # fmt: skip
_NO_AGENTS = frozenset(  # not agent nouns, though they end like one
    "author number factor vector sector doctor corner member letter matter order border folder header footer paper power "
    "tower water winter summer center master cluster chapter charter character quarter register semester layer later other "
    "rather under over never ever however whether former proper super upper lower inner outer after minor major prior error "
    "mirror color anchor motor tutor tensor cursor ancestor descriptor".split()
)
_SHORTEST = 4
_VOWELS = "aeiouy"


@lru_cache(maxsize=1 << 12)
def family(word: str) -> frozenset[str]:
    """Return the terms of related words of a lower-case word, without its own terms."""
    if not word.isascii() or not word.isalpha():
        return frozenset()
    others = {*_TABLE.get(word, ()), *_TABLE.get(_singular(word), ())}
    if len(word) >= _SHORTEST:
        others |= _agents(word) | _verbs(word)
    return frozenset(term for other in others for term in terms_of(other)) - frozenset(terms_of(word))


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _base(word: str) -> str:
    """Return a verb without its inflection: rout of route, routes, routed, routing; log of logging."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if ending == "s" and word.endswith("ss"):
            break
        if word.endswith(ending) and len(word) - len(ending) >= 3 and any(sign in _VOWELS for sign in word[: -len(ending)]):
            return _undoubled(word[: -len(ending)])
    return word


def _undoubled(base: str) -> str:
    doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz" + _VOWELS
    return base[:-1] if doubled else base


def _agents(word: str) -> set[str]:
    """Return possible agent nouns: router of routing, logger of log."""
    base = _base(word)
    if base.endswith(("er", "or", "ion", "ment", "ity", "nes")):
        return set()
    short = len(base) >= 3 and base[-1] not in _VOWELS + "wx" and base[-2] in _VOWELS and base[-3] not in _VOWELS
    return {f"{base}er", f"{base}or"} | ({f"{base}{base[-1]}er"} if short else set())


def _verbs(word: str) -> set[str]:
    """Return possible verbs of an agent or action noun: parse of parser, resolve of resolution."""
    one = _singular(word)
    found = {one[: -len(ending)] + verb for ending, verbs in _CHANGES if one.endswith(ending) for verb in verbs}
    if one.endswith(("er", "or")) and len(one) > 5 and one not in _NO_AGENTS:
        found |= {_undoubled(one[:-2]), f"{one[:-2]}e"}
    return found


def _table() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in (*_IRREGULAR, *_ABBREVIATIONS):
        words = row.split()
        for word in words:
            found.setdefault(word, set()).update(other for other in words if other != word)
    return found


_TABLE = _table()
