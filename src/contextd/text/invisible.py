"""Replace invisible characters and terminal controls by visible escapes: `\\u{202e}`.

The table has the Unicode categories Cc, Cf, Co, Cs, Zl and Zp and the property Default_Ignorable_Code_Point; a test compares
it with Python's `unicodedata`. Characters that a script or an emoji needs are kept.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt (Unicode 16): code points in hexadecimal, ranges with a dash.
IGNORABLE = """AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8
1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"""
# The rest of the categories above, except tab and line feed. 13439-1343F were added after Unicode 14.
CONTROLS = """0-8 B-1F 7F-9F 600-605 6DD 70F 890-891 8E2 2028-2029 D800-F8FF FFF9-FFFB 110BD 110CD 13430-1343F F0000-FFFFD
100000-10FFFD"""
# Base characters of emoji, from emoji-variation-sequences.txt and the blocks of pictographs.
_BASES = """A9 AE 203C 2049 2122 2139 2194-21AA 231A-23FF 24C2 25AA-25FE 2600-27BF 2934-2935 2B05-2B55 3030 303D 3297 3299
1F000-1FAFF"""
# Arabic, Syriac, N'Ko, Mandaic, the scripts of India and Sri Lanka, Tibetan, Myanmar, Khmer, Mongolian.
_JOINING = "600-6FF 700-74F 750-77F 7C0-7FF 840-85F 860-8FF 900-DFF F00-FFF 1000-109F 1780-17FF 1800-18AF A8E0-A8FF FB50-FDFF"
_NON_JOINER, _JOINER, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0f", "\u20e3"
_VIRAMA = 9  # combining class of signs after which a joiner changes a letter, even at the end of a word


def _class(ranges: str) -> str:
    ends = (one.partition("-") for one in ranges.split())
    return "[" + "".join(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}" for first, _, last in ends) + "]"


@cache  # compiled on use: most texts are ASCII
def _pattern(ranges: str) -> re.Pattern[str]:
    return re.compile(_class(ranges))


_HIDDEN = f"{IGNORABLE} {CONTROLS}"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # the same for ASCII, several times faster


def visible(text: str) -> str:
    """Return a text in which every character is visible. Line feeds stay."""
    return (_CONTROL if text.isascii() else _pattern(_HIDDEN)).sub(_shown, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """As `visible`, but on one line, for names: line feeds are escaped, too."""
    return visible(text).replace("\n", "\\u{a}")


def hidden(text: str) -> int:
    """Return the number of characters that `visible` replaces."""
    return sum(not _needed(match) for match in _pattern(_HIDDEN).finditer(text.replace("\r\n", "\n")))


def escaped_json(text: str) -> str:
    """Escape all invisible characters of a JSON text, needed or not. Its value stays the same."""
    return _pattern(_HIDDEN).sub(lambda match: json_escape(match[0]), text)


def json_escape(one: str) -> str:
    """Return the JSON escape of a character; beyond the basic plane, two surrogates."""
    units = one.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _shown(match: re.Match[str]) -> str:
    return match[0] if _needed(match) else f"\\u{{{ord(match[0]):x}}}"


def _needed(match: re.Match[str]) -> bool:
    """Whether an emoji or a word needs this character: only one at a time, and only where it has an effect."""
    text, at, one = match.string, match.start(), match[0]
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if one in "\ufe0e\ufe0f":
        return bool(_pattern(_BASES).match(before)) or (before in tuple("0123456789#*") and after == _KEYCAP)
    if one == _JOINER and _pattern(_BASES).match(after):
        return bool(_pattern(_BASES).match(text, at - 2 if before == _EMOJI_STYLE else at - 1)) if at else False
    if one in (_JOINER, _NON_JOINER):
        return _letter(before) and (_letter(after) or unicodedata.combining(before) == _VIRAMA)
    return False


def _letter(one: str) -> bool:
    return bool(_pattern(_JOINING).match(one)) and not _pattern(_HIDDEN).match(one) and unicodedata.category(one)[0] in "LM"
