"""Sentences that say that something is over or has changed, in six languages: "I switched from Neovim to Zed".

Only the thing that ended is extracted. Which stored facts are about it is decided by `remembering/merge.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from contextd.text.natural_language import small_words
from contextd.text.terms import split
from contextd.text.thesaurus import concepts_of

_LONGEST_CHANGE = 300  # letters of a text that says a change; the time that patterns take grows with their cube
_COMPARED = 1000  # letters of a fact that are compared with a thing
_LONGEST = 4  # content words of a thing; a longer one is a clause
_FAMILY = 5  # letters that two forms of a word share: Rauchen, rauche
_ENDING = 3  # maximum letters by which they differ in length
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_STOP = (
    r"(?=[.,;:!?()\uff0c\u3002\u3001]"
    r"| (?:and|und|et|y|so|because|since|in|last|this|after|for good|now|ago|instead|depuis|desde|seit|im|am|on|jetzt|but)\b|$)"
)
_MY = r"(?:my |our |the |old |mein\w* |unser\w* |den |die |das |dem |der |alte[ns]? )*"
_CLAUSE = r"[^\uff0c\u3002,.]{1,8}"  # of text without spaces
_ENDED = (
    "sold|gave up|given up|quit|stopped|ended|dropped|cancell?ed|got rid of|gave away|ditched|finished with|broke up with"
    "|split up with|unsubscribed from|resigned from|dropped out of|took me off|taken me off|came off"
)
_ACCUSTOMED = "".join(rf"(?<!\b{form} )" for form in ("am", "is", "are", "be", "get", "got", "'m", "'re", "'s", "was", "were"))
_OVER = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:switched|changed|moved|migrated|went|converted) (?:[\w']+ ){0,3}from (?P<thing>.+?) (?:to|over to) ",
        rf"\b(?:replaced|swapped|exchanged|traded(?: in)?) {_MY}(?P<thing>.+?) (?:with|by|for|against) ",
        r"\b(?:gewechselt|umgestiegen|wechselte\w*) vo[nm] (?P<thing>.+?) (?:zu|zur|zum|auf) ",
        r"\bvo[nm] (?P<thing>.+?) (?:zu|zur|zum|auf|nach) .+? (?:gewechselt|umgestiegen|umgezogen|gezogen)",
        rf"\b{_MY}(?P<thing>[\w' -]+?) (?:durch|gegen) .+? (?:ersetzt|getauscht|eingetauscht|ausgetauscht)",
        r"\b(?:passé|changé) d(?:e |')(?P<thing>.+?) à ",
        r"\b(?:cambié|pasé) de (?P<thing>.+?) a ",
        rf"\b(?:{_ENDED})"
        rf" (?:my |our |the |with |using |taking |drinking |eating |playing |doing |going to |all )*(?P<thing>.+?){_STOP}",
        rf"\b(?:i|we|i've|we've|have) left (?P<thing>(?-i:[A-Z])[\w&'-]*(?: (?-i:[A-Z])[\w&'-]*)*)"
        rf"(?! (?:(?:in|at|on) (?:the|my|our|an?)|at home|with|behind)\b){_STOP}",
        r"\b(?:no longer|not|don'?t|doesn'?t|isn'?t|aren'?t) (?P<thing>[\w' -]+?)(?: any ?(?:more|longer))(?!\w)",
        rf"\b(?:no longer|{_ACCUSTOMED}used to) (?P<thing>\w+ (?:in|at|on|for|with|as|to) [\w' -]+?){_STOP}",
        rf"\b(?:no longer|{_ACCUSTOMED}used to) (?P<thing>[\w' -]+?){_STOP}",
        r"\b(?:habe|hab|haben) (?:mein\w* |den |die |das |mit dem |mit der |mit )*(?P<thing>.+?)"
        r" (?:verkauft|aufgegeben|gekündigt|aufgehört|abgeschafft|abgesetzt|abbestellt|verschenkt|verloren|beendet)",
        r"\bmit (?:dem |der |den )?(?P<thing>[\w' -]+?) (?:habe|hab|haben) (?:ich|wir) (?:\w+ )?aufgehört",
        r"\bkein(?:e|en|er)? (?P<thing>[\w' -]+?) mehr\b",
        r"\bnicht mehr (?!als\b)(?:bei |in |im |an |auf |mit |zum |zur )?(?P<thing>[\w' -]+?)(?=[.,;!?]| seit\b|$)",
        r"\b(?:habe|nehme|trage|spiele|nutze|benutze|verwende|esse|trinke|brauche|fahre|mache|besuche)"
        rf" {_MY}(?P<thing>[\w' -]+?) nicht mehr(?! als\b)",
        r"^früher (?:habe|hab|bin|war|hatte) ich (?:bei |in |im |mit |viel |oft )?(?P<thing>[\w' -]+?)"
        r"(?: ge\w+(?:t|en)| \w+iert)?(?=[.,;!?]|$)",
        rf"\b(?:vendu|arrêté|abandonné|résilié) (?:de |d'|ma |mon |mes |la |le |les )*(?P<thing>.+?){_STOP}",
        r"\bne .+? plus (?!(?:de |d'|que )?\d)(?:de |d'|à |chez )?(?P<thing>[\w' -]+?)(?=[.,;!?]|$)",
        rf"\b(?:vendí|dejé|cancelé|abandoné) (?:de |mi |mis |la |el |los |las )*(?P<thing>.+?){_STOP}",
        rf"\bya no (?:\w+ )?(?:en |a |de |el |la )*(?P<thing>[\w' -]+?){_STOP}",
        r"^(?P<thing>[\w' -]+?) (?:verkauft|gekündigt|aufgegeben|abgeschafft)\b",
        r"把(?P<thing>[^\uff0c\u3002]{1,6}?)(?:卖|取消|停|扔)",
        r"戒(?P<thing>[^了\uff0c\u3002]{1,3})了",
        rf"(?:卖了|卖掉了?|戒了|停了|取消了|不再)(?P<thing>{_CLAUSE})",
        rf"(?P<thing>{_CLAUSE}?)(?:はやめた|をやめた|を辞めた|を売った|は解約した)",
    )
)
_GONE = tuple(  # the thing is the subject of the sentence
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^{_MY}(?P<thing>[\w' -]+?) (?:has |have |just |sadly )*"
        r"(?:died|passed away|(?:was|got|been) stolen|is gone|closed down)\b",
        rf"^{_MY}(?P<thing>[\w' -]+?) (?:ist|wurde|sind) (?:.+ )?(?:gestorben|verstorben|gestohlen|geklaut|kaputtgegangen)\b",
    )
)
_JOBLESS = re.compile(
    r"\b(?:i|we)(?:'ve| have| just| recently)* retired\b|\blost my job\b|\bbin (?:\w+ ){0,2}in Rente\b|\bsuis à la retraite\b",
    re.IGNORECASE,
)
_MOVES = "pushed|moved|changed|raised|went up|gone up|went down|dropped|rose|increased|lowered|postponed|brought forward"
_MOVED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?:my |our |the )?(?P<thing>[\w' -]+?) (?:has (?:been |now )?|was |is |got )?"
        rf"(?:{_MOVES})(?: back| forward| up| down)? to\b",
        rf"^(?:i |we |i've |we've )?(?:have )?(?:changed|switched) (?:my |our |the )?(?P<thing>[\w' -]+?){_STOP}",
        r"^(?:i |we )?(?:have |'ve )?(?:upgraded|updated|changed|switched|moved) (?:my |our |the )(?P<thing>[\w' -]+?) to\b",
        r"^(?:my |our |the )?(?:new )(?P<thing>[\w' -]+?)(?: is|:) ",
        r"^(?:mein\w* |unser\w* |der |die |das )?(?:neue[rsn]? )(?P<thing>[\w' -]+?)(?: ist|:) ",
        r"^(?:mein\w* |unser\w* |der |die |das )?(?P<thing>[\w' -]+?) (?:ist|wurde|wird) (?:\w+ )?"
        r"(?:auf|um) .+ (?:verschoben|erhöht|gestiegen|gesenkt)",
    )
)
_ROLE = tuple(  # "Stefan Krol is my boss now": whoever had the role before has it no longer
    re.compile(rf"(?=(?-i:[^\W\d_a-zß-öø-ÿ])){pattern}", re.IGNORECASE)  # begins with a capital letter
    for pattern in (
        r"^\w[\w.' -]+? is (?:(?:now )?(?:my|our) new (?P<thing>[\w' -]+?)|now (?:my|our) (?P<thing2>[\w' -]+?)"
        r"|(?:my|our) (?P<thing3>[\w' -]+?) now)[.!]?$",
        r"^\w[\w.' -]+? ist (?:(?:jetzt )?(?:mein|unser)\w* neue[rns]? (?P<thing>[\w' -]+?)"
        r"|(?:jetzt|nun|ab jetzt) (?:mein|unser)\w* (?P<thing2>[\w' -]+?))[.!]?$",
        r"^\w[\w.' -]+? est (?:(?:maintenant )?(?:mon|ma|notre) (?:nouveau|nouvelle|nouvel) (?P<thing>[\w' -]+?)"
        r"|maintenant (?:mon|ma|notre) (?P<thing2>[\w' -]+?))[.!]?$",
        r"^\w[\w.' -]+? es (?:(?:ahora )?(?:mi|nuestr[oa]) nuev[oa] (?P<thing>[\w' -]+?)"
        r"|ahora (?:mi|nuestr[oa]) (?P<thing2>[\w' -]+?))[.!]?$",
    )
)
# Roles that one person has at a time. A new friend or neighbor may join others.
_ONE_PERSON = frozenset(
    "boss manager landlord landlady doctor gp dentist therapist accountant lawyer coach trainer supervisor husband wife "
    "partner girlfriend boyfriend teamleiter teamleiterin chef chefin vermieter vermieterin hausarzt hausärztin arzt ärztin "
    "zahnarzt zahnärztin trainerin therapeut therapeutin mann frau patronne patron propriétaire médecin dentiste mari femme "
    "jefe jefa casero casera médico médica dentista marido mujer".split()
)
_NUMBER = re.compile(r"\S*\d\S*")
_NOW = re.compile(r"^(?P<thing>[^,;]{4,60}?),? (?:now|jetzt|maintenant|ahora)[.!]?$", re.IGNORECASE)
_NEW = (
    re.compile(
        r"^(?:i |we )?(?:have |'ve |just )*(?:got|bought|have) (?:a |an |my |our )?new (?P<thing>[\w' -]+?)(?=[.,:;!]|$)",
        re.IGNORECASE,
    ),
    re.compile(r"^(?:my |our )new (?P<thing>[\w' -]{3,25}?), \S", re.IGNORECASE),
    re.compile(r"^(?:mein|unser)\w* neue[rns]? (?P<thing>[\w' -]{3,25}?), \S", re.IGNORECASE),
)
_REPLACED = re.compile(  # the old thing is not named: "I switched to a Pixel 9"
    r"(?:^(?:switched|changed)|\b(?:i|we)(?:'ve| have| just| recently)* (?:switched|changed))"
    rf" (?:over )?to (?:a |an |the |using )?(?P<thing>.+?)(?:{_STOP}| (?:after|when|while|before|at)\b)"
    r"|\bbin (?:\w+ )?auf (?:ein\w* |den |die |das )?(?P<thing2>.+?) (?:umgestiegen|gewechselt)"
    rf"|\bje suis passée? (?:à |au |aux )(?:un |une |la |le )?(?P<thing3>.+?){_STOP}"
    rf"|\bme (?:cambié|pasé) (?:a |al )(?:un |una |la |el )?(?P<thing4>.+?){_STOP}",
    re.IGNORECASE,
)
# Concepts of things of which most people use one at a time.
_ONE_AT_A_TIME = frozenset(
    "phone car_drive motorcycle computer headphones_speakers money_bank insurance internet_wifi phone_plan_provider".split()
)
# Words that say that a value is a later one, not what it is a value of.
LATER = frozenset(
    "now currently nowadays today new meanwhile jetzt inzwischen mittlerweile nun neuerdings neu neue neuer neues neuen"
    " maintenant désormais nouveau nouvelle ahora nuevo nueva".split()
)


class Ending(NamedTuple):
    """What a sentence says is over.

    `moved` if it continues with another value, `gone` if nobody has it any more, `unsure` if the old one may be kept beside,
    `consumed` if it was eaten or drunk: what is owned for that stays, `role` if somebody else has it now. `alike` are the
    concepts of a thing that replaced another one, which is not named.
    """

    thing: frozenset[str]
    moved: bool = False
    gone: bool = False
    unsure: bool = False
    consumed: bool = False
    role: bool = False
    alike: frozenset[str] = frozenset()


_CONSUMED = re.compile(r"\b(?:drinking|eating|drink|eat|trinke|esse)\b", re.IGNORECASE)
_SEVERAL = re.compile(  # commas and full stops of Chinese and Japanese among them
    r"(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bst)(?<!\bmrs)(?<!\bprof)(?<=\w{2})[,;.] +\w"
    r"|\b(?:and|but|und|aber|sondern|et|mais|y|pero)\b|[\u3001\uff0c\uff1b]|\u3002 *\S|但|而且|けど|ので",
    re.IGNORECASE,
)
_NOTHING = Ending(frozenset())
_CHANGES = (
    (_OVER, _NOTHING),
    (_GONE, _NOTHING._replace(gone=True)),
    (_ROLE, _NOTHING._replace(moved=True, role=True)),
    (_MOVED, _NOTHING._replace(moved=True)),
    ((_NOW,), _NOTHING._replace(moved=True)),
    (_NEW, _NOTHING._replace(moved=True, unsure=True)),
)


def change_of(text: str) -> Ending | None:
    """Return the thing that a sentence says is over or has changed; None if it says nothing of that kind, or is long."""
    line = " ".join(text.split())
    if len(line) > _LONGEST_CHANGE:
        return None
    if _JOBLESS.search(line):
        return Ending(frozenset({"job"}))
    ended = any(pattern.search(line) for pattern in (*_OVER, *_GONE))
    if not ended and (match := _REPLACED.search(line)) and (alike := concepts_of(_thing(match)) & _ONE_AT_A_TIME):
        return Ending(telling(_thing(match), line), unsure=True, alike=alike)
    for patterns, change in _CHANGES:
        for pattern in patterns:
            if match := pattern.search(line):
                thing = telling(_NUMBER.sub(" ", _thing(match)) if pattern is _NOW else _thing(match), line)
                if 0 < len(thing) <= _LONGEST:
                    joins = change.role and not _ONE_PERSON & set(_thing(match).casefold().split())
                    return change._replace(thing=thing, unsure=change.unsure or joins, consumed=bool(_CONSUMED.search(line)))
    return None


def _thing(match: re.Match[str]) -> str:
    return next(found for name, found in match.groupdict().items() if name.startswith("thing") and found)


def says_more(text: str) -> bool:
    """Return whether a fact says several things, so that one of them may hold without the other: "no meat, but fish"."""
    return bool(_SEVERAL.search(text.strip()))


def telling(words: str, line: str) -> frozenset[str]:
    """Return the content words of a phrase as terms; text without spaces as it is."""
    if _SPACELESS.search(words):
        return frozenset({words.strip()})
    small = small_words(line) | small_words(words)
    kept = " ".join(word for word in words.casefold().split() if word.strip(".,:;!?'") not in small)
    return frozenset(split(kept))


def speaks_of(thing: frozenset[str], text: str) -> bool:
    """Return whether a text has all words of a thing, in any form."""
    if any(_SPACELESS.search(word) for word in thing):
        return all(word in text for word in thing)
    words = frozenset(split(text[:_COMPARED].casefold()))
    return all(word in words or any(_same_word(word, other) for other in words) for word in thing)


def _same_word(one: str, other: str) -> bool:
    """Return whether two terms are forms of one word. Stems are English; words of other languages keep their endings."""
    short, long = sorted((one, other), key=len)
    whole = len(short) >= _FAMILY - 1 and long.startswith(short)  # fume, fumer
    return (whole or (len(short) >= _FAMILY and short[:_FAMILY] == long[:_FAMILY])) and len(long) - len(short) <= _ENDING
