"""Find passwords stated in sentences: in prose, in comments, in log lines."""

from __future__ import annotations

import re

from contextd.privacy.literals import Place
from contextd.privacy.values import is_strong
from contextd.text.languages import CODE

_COMMENT = re.compile(rb"(?m)(?:^|[ \t])(?://|#|--|/\*|\*|;|<!--|%)[ \t]")
_SAID = re.compile(
    rb"(?:[\"'`*)\]]{1,3})?(?:[ \t]{1,2}(?:for|of|to|on|in|f\xc3\xbcr|vom|der|des|pour|de|du|del|para)(?:[ \t]+[\w'@.\-]{1,30}){1,4}?)?"
    rb"[ \t]{0,3}(?:(?=[\"'`*]{1,2}[^\s\"'`*])|\b(?:is|was|are|ist|lautet|war|est|es|era)\b(?:[ \t]+(?:now|currently|still|set to|jetzt))?|\bto\b|\xe3\x81\xaf|\xe6\x98\xaf|\xef\xbc\x9a|:|=|->|=>|\xe2\x86\x92|-)[*_]{0,3}[ \t]{0,4}[\"'`*(\[<]{0,3}([^\s\"'`<>]{4,128})",
    re.IGNORECASE,
)
_STATED = re.compile(rb"[\"'`*]{0,3}[.,;)!]{0,2}(?:[ \t]{0,4}(?:\r?\n|\Z|\(|-->|\*/|--? |\xe2\x80\x93)|,)")
_USUAL = re.compile(  # words that describe a password and are not one
    rb"(?i)(?:wrong|right|better|worse|longer|shorter|stronger|weaker|newer|older|easier|harder|correct|incorrect|valid|invalid|empty|missing|blank|weak|strong|short|secret|safe|secure|right|needed|unknown|known|unset|"
    rb"hidden|plain|plaintext|cleartext|always|never|required|optional|string|there|below|above|alright|falsch|richtig|korrekt|sicher|leer|geheim|"
    rb"erforderlich|\w+(?:ed|ing|able|ible|al|ive|ful|ent|ant|ous|ly|ary|less|ic|en|ig|lich|word|phrase|code|name|text|hash|null|char|true|false|here))\Z"
)
_BESIDE = re.compile(rb"(?:[/,;|+(]|\b(?:and|with|und|mit))[ \t]{1,2}\Z")
_OTHER_SCRIPT = re.compile(rb"[\xe2-\xef]")  # such a script continues the sentence; passwords are in Latin or Cyrillic letters
_ARTICLE = re.compile(
    rb"(?i)\b(?:the|a|with|use|using|my|our|your|this|new|mit|dem|das|le|la|avec|el|con|il|het|med)[ \t]{1,2}(?:\w{3,12}[ \t]{1,2})?\Z"
)
_DIRECT = re.compile(rb"[ \t]{1,2}[\"'`*]{0,2}([^\s\"'`*<>,;()]{7,64}[^\s\"'`*<>,;().:!?])")
_BELOW = re.compile(
    rb"[ \t]{0,2}(?:is[ \t]?)?:[ \t]{0,4}\r?\n(?:[ \t>]{0,8}\r?\n)?[ \t>*\-]{0,8}[\"'`]{0,3}([^\s\"'`<>]{8,64})[\"'`]{0,3}[ \t]{0,4}(?:\r?\n|\Z)"
)
_NOUN = re.compile(rb"[ \t]?(?:[:=]|is\b|was\b)")
_ABBREVIATED = re.compile(rb"[ \t]{1,2}[\"'`]?([^\s\"'`<>,;)]{6,64})")


def in_sentence(data: bytes, start: int, end: int, language: str) -> Place | None:
    """Return the value in a sentence such as "The password for the router is …", in prose, comments and logs."""
    if language in CODE and not in_comment(data, start):
        return None
    value = _SAID.match(data, end, end + 300)
    word = data[start:end].lower()
    if not value and (word in (b"pw", b"pwd") or (b"pass" in word and _BESIDE.search(data, max(0, start - 8), start))):
        value = _ABBREVIATED.match(data, end, end + 80)
    if not value or (word == b"pass" and not _NOUN.match(data, end)):  # `pass` may be a verb
        return _told(data, start, end)
    foreign = _OTHER_SCRIPT.search(data, *value.span(1))
    stop = foreign.start() if foreign else value.end(1)
    if stop - value.start(1) < 4:
        return None
    while stop > value.start(1) and data[stop - 1 : stop] in b".,;:)]}*!?" and stop - value.start(1) > 4:
        stop -= 1
    if data[stop : stop + 1] == b"!":
        stop += 1
    stated = value.re is _SAID and word != b"pass" and _stated(data, value.start(1), stop)
    return Place("", value.start(1), stop, strict=not stated, literal=False)


def _told(data: bytes, start: int, end: int) -> Place | None:
    """Return a strong value after "with the password", or on a line of its own below "password:"."""
    value = _BELOW.match(data, end, end + 120)
    if not value and _ARTICLE.search(data, max(0, start - 32), start):
        value = _DIRECT.match(data, end, end + 120)
    if not value or not is_strong(value.group(1).decode("utf-8", "replace")):
        return None
    return Place("", *value.span(1), strict=True, literal=False)


def in_comment(data: bytes, position: int) -> bool:
    """Whether a comment begins before a position, on its line."""
    line = data.rfind(b"\n", max(0, position - 200), position) + 1
    return bool(_COMMENT.search(data, max(line, position - 200), position))


def _stated(data: bytes, start: int, end: int) -> bool:
    """Whether a sentence ends with a word that does not describe a password, and so is the password."""
    word = data[start:end]
    plain = len(word) >= 6 and word.isalpha() and word.islower()
    return plain and not _USUAL.match(word) and bool(_STATED.match(data, end, end + 12))
