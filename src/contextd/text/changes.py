"""Sentences that say that something is over or has changed, in six languages: "I switched from Neovim to Zed".

Only the thing that ended is extracted. Which stored facts are about it is decided by `remembering/merge.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from contextd.text.natural_language import small_words
from contextd.text.terms import split

_LONGEST = 4  # content words of a thing; a longer one is a clause
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_STOP = (
    r"(?=[.,;:!?()\uff0c\u3002\u3001]"
    r"| (?:and|und|et|y|so|because|since|in|last|this|after|for good|now|ago|instead|depuis|desde|seit|im|am)\b|$)"
)
_CLAUSE = r"[^\uff0c\u3002,.]{1,8}"  # of text without spaces
_ENDED = "sold|gave up|given up|quit|stopped|dropped|cancell?ed|got rid of|gave away|ditched|finished with|broke up with"
_OVER = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:switched|changed|moved|migrated|went) (?:\w+ )?from (?P<thing>.+?) (?:to|over to) ",
        r"\b(?:gewechselt|umgestiegen|wechselte\w*) von (?P<thing>.+?) (?:zu|auf) ",
        r"\bvon (?P<thing>.+?) (?:zu|auf) .+? (?:gewechselt|umgestiegen)",
        r"\b(?:passé|changé) d(?:e |')(?P<thing>.+?) à ",
        r"\b(?:cambié|pasé) de (?P<thing>.+?) a ",
        rf"\b(?:{_ENDED})"
        rf" (?:my |our |the |with |using |drinking |eating |playing |doing |going to |all )*(?P<thing>.+?){_STOP}",
        r"\b(?:no longer|don'?t|doesn'?t) (?P<thing>[\w' -]+?)(?: any ?more)(?!\w)",
        rf"\bno longer (?P<thing>[\w' -]+?){_STOP}",
        r"\b(?:habe|hab|haben) (?:mein\w* |den |die |das |mit dem )*(?P<thing>.+?)"
        r" (?:verkauft|aufgegeben|gekündigt|aufgehört|abgeschafft)",
        rf"\b(?:vendu|arrêté|abandonné|résilié) (?:de |d'|ma |mon |mes |la |le |les )*(?P<thing>.+?){_STOP}",
        rf"\b(?:vendí|dejé|cancelé|abandoné) (?:de |mi |mis |la |el |los |las )*(?P<thing>.+?){_STOP}",
        rf"(?:卖了|卖掉了?|戒了|停了|取消了|不再)(?P<thing>{_CLAUSE})",
        rf"(?P<thing>{_CLAUSE}?)(?:はやめた|をやめた|を辞めた|を売った|は解約した)",
    )
)
_MOVES = "pushed|moved|changed|raised|went up|gone up|went down|dropped|rose|increased|lowered|postponed|brought forward"
_MOVED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?:my |our |the )?(?P<thing>[\w' -]+?) (?:has (?:been |now )?|was |is |got )?"
        rf"(?:{_MOVES})(?: back| forward| up| down)? to\b",
        rf"^(?:i |we |i've |we've )?(?:have )?(?:changed|switched) (?:my |our |the )?(?P<thing>[\w' -]+?){_STOP}",
        r"^(?:my |our |the )?(?:new )(?P<thing>[\w' -]+?)(?: is|:) ",
        r"^(?:mein\w* |unser\w* |der |die |das )?(?P<thing>[\w' -]+?) (?:ist|wurde|wird) (?:\w+ )?"
        r"(?:auf|um) .+ (?:verschoben|erhöht|gestiegen|gesenkt)",
    )
)


class Ending(NamedTuple):
    """What a sentence says is over. `moved` if it continues with another value."""

    thing: frozenset[str]
    moved: bool = False


def change_of(text: str) -> Ending | None:
    """Return the thing that a sentence says is over or has changed; None if it says nothing of that kind."""
    line = " ".join(text.split())
    for patterns, moved in ((_OVER, False), (_MOVED, True)):
        for pattern in patterns:
            if match := pattern.search(line):
                thing = telling(match["thing"], line)
                if 0 < len(thing) <= _LONGEST:
                    return Ending(thing, moved)
    return None


def telling(words: str, line: str) -> frozenset[str]:
    """Return the content words of a phrase as terms; text without spaces as it is."""
    if _SPACELESS.search(words):
        return frozenset({words.strip()})
    small = small_words(line) | small_words(words)
    kept = " ".join(word for word in words.casefold().split() if word.strip(".,:;!?'") not in small)
    return frozenset(split(kept))


def speaks_of(thing: frozenset[str], text: str) -> bool:
    """Return whether a text has all words of a thing."""
    if any(_SPACELESS.search(word) for word in thing):
        return all(word in text for word in thing)
    return thing <= frozenset(split(text.casefold()))
