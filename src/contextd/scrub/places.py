"""Where a text says that a secret follows: assignments, elements, options, pairs of a name and a value, sentences.

A word such as `password` is looked for first; what stands before and behind it tells whether a value follows, and where it
ends. Whether that value is a secret is not decided here. Every pattern behind a word is anchored and bounded, so the whole
is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from contextd.languages import CODE
from contextd.scrub.linear import linear
from contextd.scrub.values import Says, looks_random, says


class Place(NamedTuple):
    """A value and the name before it. `strict` and `literal` are what `values.is_secret` asks for."""

    name: str
    start: int
    end: int
    strict: bool = False
    literal: bool = True


_WORD = linear(
    rb"(?i)pass(?:word|wd|wort|phrase|code|\b|_)|[a-z_]pass\b|\bpw\b|_pw\b|pwd|secret|token|credential|kennwort|contrasena|senha|wachtwoord|"
    rb"mot[ _\-]?de[ _\-]?passe|contrase\xc3\xb1a|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xe5\xaf\x86\xe7\xa0\x81|\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|\bmdp\b|masterauth|\bsalt\b|[_\-.]salt\b|\bpepper\b|\bjwt\b|\bbearer\b|psk\b|authtok|"
    rb"(?:api|access|secret|private|auth|encryption|encrypt|account|consumer|client|app|application|master|signing|storage|admin|"
    rb"deploy|webhook|crypto|cipher|aes|hmac|jwt|session|cookie|nonce|_in|service|subscription|preshared|shared|integration|server|license|"
    rb"user|root|bot|partner|write|read|publish|push|validation|decryption|machine)[_\-. ]?key"
)
_FOREIGN = re.compile(rb"(?i)mot[ _\-]?de[ _\-]?passe|contrase\xc3\xb1a|[\xd0-\xef]")
_LEFT = re.compile(rb"[\w.\-$@]*")  # read backwards
_RIGHT = re.compile(rb"[\w\-]{0,48}(?:\.[\w\-]{1,24}){0,3}")
_LONGEST = 512
_LONGEST_BLOCK = 4000
# Languages in which a value needs no quotes.
_BARE = frozenset(["", "yaml", "toml", "ini", "properties", "hcl", "dockerfile", "make", "shell", "cmake", "gettext", "env"])
_SHELL = frozenset(["shell", "dockerfile", "make"])
_TEMPLATES = frozenset(["javascript", "typescript", "tsx", "go"])
_CLOSE = re.compile(rb"(\\{0,7}[\"'`])?[\])]{0,2}")
_OPERATOR = re.compile(
    rb"(?:[ \t]{0,4}:[ \t]{0,4}[&*\w\[\]<>, |.?']{1,40}?(?==|[ \t]{1,4}=)|[ \t]{1,4}(?:string|String|str|text|varchar|&str)(?=[ \t]{0,4}=))?"
    rb"[ \t]{0,24}(:=|=>|\?=|\+=|!?={1,3}|\|\|=?|\?\?=?|:|,|\bor\b|\bOR\b)[ \t]{0,24}"
)
_NEXT_LINE = re.compile(
    rb"[(\[]?[ \t]{0,8}\\?\r?\n[ \t+\-|]{0,40}(?=[bBrRuUfF]{0,2}[\"'`])|\([ \t]{0,8}(?=[bBrRuUfF]{0,2}[\"'`])"
)
_WRAPPED = re.compile(
    rb"(?:\[\]byte|bytes|bytearray|[Ss]tring|str|SecretStr|Secret|SecureString|Buffer\.from|Some|Optional\.of)\((?=[bBrRuU]?[\"'`])"
)
_CALLED = re.compile(rb"(?:new )?[\w.:]{1,60}\([ \t]{0,4}(?=[bBrRuU]?[\"'`])")
_NESTED = re.compile(rb"\{\s{0,40}[\"'](?:value|defaultValue|default)[\"']\s{0,4}:\s{0,4}")
_TYPED_INTO = re.compile(rb"(?:fill|fillIn|fill_in|type|sendKeys|send_keys|setValue|enterText|typeText|input)\([^\n()]{0,40}\Z")
_ITEM_BELOW = re.compile(rb"[ \t]*\r?\n[+\-]?[ \t]{0,40}-[ \t]+")
_FIRST = re.compile(rb"(\w{1,40})\([ \t\r\n]{0,16}[\"'`]\Z")
_WITH_DEFAULT = re.compile(
    rb"(?i)(?:.*env|get|fetch|config|setting|lookup|define|put|set|setproperty|setenv|getproperty|option|arg)\Z"
)
_OPEN = re.compile(rb"(?:[bBrRuUfFLN]{0,2}|@|\$|@\$|new\s)(\"\"\"|'''|\\{0,7}[\"'`])")
_TAG = re.compile(rb"<(?:[\w.\-]{1,36}:)?\Z")
_ELEMENT = re.compile(rb"[^<>\n]{0,160}>[ \t\r\n]{0,80}([^<>]{1,512}?)[ \t\r\n]{0,80}</")
_CDATA = re.compile(rb"[^<>\n]{0,160}>[ \t\r\n]{0,40}<!\[CDATA\[([^\]]{1,512})\]\]>")
_NAMING = re.compile(
    rb"(?i)\b(?:key|name|id|property|variable|field|label)(?:\\{0,7}[\"'])?[ \t]{0,4}[:= ][ \t]{0,4}(?:\\{0,7}[\"'])?[$]?\Z"
)
_NAMED_VALUE = re.compile(
    rb"(?:\\{0,7}[\"'])?[^\n<>]{0,80}?(?:[\s,{\"'](?:(?:string)?value|default|content)(?:\\{0,7}[\"'])?[ \t]{0,4}[:=][ \t]{0,4})|"
    rb"(?:\\{0,7}[\"'])?,?[ \t]{0,8}\r?\n[+\-]?[ \t]{0,40}(?:-[ \t])?(?:\\{0,7}[\"'])?(?:string)?(?:value|default|content)(?:\\{0,7}[\"'])?[ \t]{0,4}[:=][ \t]{0,8}",
    re.IGNORECASE,
)
_DEFAULT_BELOW = re.compile(
    rb"[ \t]{0,8}\r?\n(?:[+\-]?[ \t]{2,40}\w{1,40}:[^\n]{0,80}\n){0,5}?[+\-]?[ \t]{2,40}(?:[Dd]efault|[Vv]alue):[ \t]{1,8}"
)
_DEFAULT = re.compile(rb"\"[ \t]{0,4}\{(?:(?!\n[+\-]?\})[\s\S]){0,600}?\bdefault[ \t]{0,16}=[ \t]{0,8}")
_LINE_START = re.compile(  # all that may stand before a name that begins a line
    rb"[+\-]?[ \t]*(?:(?:export|set|setx|env|ENV|ARG|local|declare(?: -x)?|readonly|-e|--env|-|\*|\d+\.|>|#+|//+|;+|--|\$env:|\$|sudo|run:|#define|"
    rb"define)[ \t]+)*(?:[\w.$@\-\[\]]+[ \t]*[:.][ \t]*)?(?:[\"']|\$env:)?"
)
_LONGEST_START = 80
_COMMENT = re.compile(rb"(?:^|[ \t])(?://|#|--|/\*|\*|;|<!--|%)[ \t]")
_SAID = re.compile(
    rb"(?:[\"'`*)\]]{1,3})?(?:[ \t]{1,2}(?:for|of|to|on|in|f\xc3\xbcr|vom|der|des|pour|de|du|del|para)(?:[ \t]+[\w'@.\-]{1,30}){1,4}?)?"
    rb"[ \t]{0,3}(?:(?=[\"'`*]{1,2}[^\s\"'`*])|\b(?:is|was|are|ist|lautet|war|est|es|era)\b(?:[ \t]+(?:now|currently|still|set to|jetzt))?|\bto\b|\xe3\x81\xaf|\xe6\x98\xaf|\xef\xbc\x9a|:|=|->|=>|\xe2\x86\x92|-)[*_]{0,3}[ \t]{0,4}[\"'`*(\[<]{0,3}([^\s\"'`<>]{4,128})",
    re.IGNORECASE,
)
_NOUN = re.compile(rb"[ \t]?(?:[:=]|is\b|was\b)")
_ABBREVIATED = re.compile(rb"[ \t]{1,2}[\"'`]?([^\s\"'`<>,;)]{6,64})")
_TOKEN_VALUE = re.compile(rb"[^\s\"'`,;&|<>)}\]]{1,512}")
_WORD_VALUE = re.compile(rb"[^\s\"'`]{1,512}")
_PARAMETER = re.compile(rb"=([^&\s\"'<>#;,)]{4,256})")
_ALONE = re.compile(rb"=([^;\"'`\n\\&]{4,128})([\"'])")
_CONNECTED = re.compile(rb"[ \t]{0,2}=[ \t]{0,2}([^;\"'`\n\\]{4,128})")
_BLOCK_SCALAR = re.compile(rb"[|>][+\-0-9]{0,2}[ \t]*\r?\n[+\-]?([ \t]{1,40})")
_SHELL_DEFAULT = re.compile(rb":[-=]?([^}\s\"']{4,256})\}")
_SET = re.compile(rb"(?i)(?:[.>:]|\b)(?:set|with|use)_?(?=pass|pwd|secret)")
_SETTER = re.compile(rb"[({][ \t]{0,4}")
_SQL = linear(
    rb"(?i)\b(?:identified(?:\s+with\s+\S{1,40})?\s+(?:by|as)|password)\s+(?:encrypted\s+)?(?:n)?['\"]([^'\"\n]{4,128})['\"]"
)


def places(data: bytes, language: str, accept: Callable[[Place], bool]) -> Iterator[Place]:
    """The places of a text at which `accept` says a secret stands, in order of the names."""
    reached = 0
    for match in _WORD.finditer(data):
        first, last = match.span()
        if first < reached:
            continue
        before = _LEFT.match(data[max(0, first - 64) : first][::-1])
        start = first - (before.end() if before else 0)
        right = _RIGHT.match(data, last, last + 128)
        reached = end = right.end() if right else last
        while end > last and data[end - 1 : end] in b".-":
            end -= 1
        found = _place(data, start, end, language)
        if found and accept(found):
            reached = max(reached, found.end)
            yield found


def in_statements(data: bytes) -> Iterator[Place]:
    """Places in SQL statements that change a password."""
    for match in _SQL.finditer(data):
        yield Place("password", *match.span(1))


def _place(data: bytes, start: int, end: int, language: str) -> Place | None:
    name = "password" if _FOREIGN.match(data, start, end) else data[start:end].decode("ascii", "replace")
    if says(name) is Says.NOTHING:
        return None
    before = data[start - 1 : start] if start else b"\n"
    found = (
        (before in b"<:" and _in_element(data, start, end, language))
        or (before in b"\"' :=$" and _beside_name(data, start, end, language))
        or (data[start : start + 1] == b"-" and _as_option(data, start, end, language))
        or ((b"=" in data[end : end + 3] or before == b"{") and _as_parameter(data, start, end, language))
        or _assigned(data, start, end, language)
        or _in_sentence(data, start, end, language)
    )
    return found._replace(name=name) if found else None


def _in_element(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`<Pass encoding="base64">…</Pass>`"""
    if not _TAG.search(data, max(0, start - 40), start):
        return None
    found = _CDATA.match(data, end, end + 800) or _ELEMENT.match(data, end, end + 800)
    return Place("", *found.span(1)) if found and not found.group(1).isspace() else None


def _beside_name(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`name: DB_PASSWORD` with `value: …` beside or below it; `<add key="…" value="…"/>`; `variable "…" { default = "…" }`."""
    if not _NAMING.search(data, max(0, start - 24), start):
        return None
    value = _DEFAULT.match(data, end, end + 700) or _NAMED_VALUE.match(data, end, end + 200)
    if value:
        return _value(data, value.end(), language) or _bare(data, value.end(), language)
    if data[end : end + 1] in b"\"'" and (found := _ELEMENT.match(data, end, end + 800)):
        return Place("", *found.span(1))
    return None


def _as_option(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`--password …` and `--password=…` of a command."""
    if data[end : end + 1] not in (b" ", b"="):
        return None
    if quoted := _value(data, end + 1, language):
        return quoted._replace(strict=True)
    value = _TOKEN_VALUE.match(data, end + 1, end + 1 + _LONGEST)
    return Place("", *value.span(), strict=True, literal=False) if value and value.group()[:1] not in b"-" else None


def _as_parameter(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`?token=…` in an address, `;Password=…;` in a connection string, `${PASSWORD:-…}`."""
    before = data[start - 1 : start]
    if data[max(0, start - 2) : start] == b"${" and (default := _SHELL_DEFAULT.match(data, end, end + 300)):
        return Place("", *default.span(1), literal=False)
    if before in (b"?", b"&") and (parameter := _PARAMETER.match(data, end, end + 260)):
        return Place("", *parameter.span(1), literal=False)
    if before in b"\"'" and (alone := _ALONE.match(data, end, end + 160)) and alone.group(2) == before:
        return Place("", *alone.span(1))
    line = data[data.rfind(b"\n", max(0, start - 400), start) + 1 : start]
    if b";" not in line[-200:] and b";" not in data[end : end + 160].split(b"\n")[0]:
        return None
    if line.rstrip()[-1:] not in (b";", b'"', b"'", b"=", b">", b"") or b"=" not in line[-200:]:
        return None
    value = _CONNECTED.match(data, end, end + 140)
    inside = language not in CODE or line.count(b'"') % 2 == 1 or line.count(b"'") % 2 == 1
    return Place("", *value.span(1), literal=False) if value and inside else None


def _assigned(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`password = "…"`, `"password": "…"`, `PASSWORD=…`; in code only a literal is a value."""
    close = _CLOSE.match(data, end, end + 12)
    behind = close.end() if close else end
    operator = _OPERATOR.match(data, behind, behind + 120)
    if not operator:
        return _directive(data, start, behind, language) or _set_by_call(data, start, end, language)
    if operator.group(1) != b"," and (below := _NEXT_LINE.match(data, operator.end(), operator.end() + 80)):
        return _checked(data, start, operator, _value(data, below.end(), language))
    if nested := _NESTED.match(data, operator.end(), operator.end() + 80):
        return _value(data, nested.end(), language)
    if quoted := _value(data, operator.end(), language) or _wrapped(data, operator.end(), language):
        return _checked(data, start, operator, quoted)
    return _bare_assigned(data, start, operator, language)


def _wrapped(data: bytes, at: int, language: str) -> Place | None:
    """`[]byte("…")`; what any other call is given proves little."""
    if wrapped := _WRAPPED.match(data, at, at + 40):
        return _value(data, wrapped.end(), language)
    called = _CALLED.match(data, at, at + 80)
    value = _value(data, called.end(), language) if called else None
    return value._replace(strict=True) if value else None


def _checked(data: bytes, start: int, operator: re.Match[bytes], value: Place | None) -> Place | None:
    """A comma stands between any two texts; it says something behind a setting's name, an option or a constant of a library."""
    if value is None or operator.group(1) != b",":
        return value
    first = _FIRST.search(data, max(0, start - 60), start)
    if first:
        return value._replace(strict=not _WITH_DEFAULT.match(first.group(1)))
    if (
        data[start : start + 1] == b"-"
        or data[start : operator.start()].isupper()
        or _TYPED_INTO.search(data, max(0, start - 60), start)
    ):
        return value._replace(strict=True)
    return value if looks_random(data[value.start : value.end].decode("utf-8", "replace")) else None


def _bare_assigned(data: bytes, start: int, operator: re.Match[bytes], language: str) -> Place | None:
    sign = operator.group(1)
    if sign not in (b"=", b":", b":=", b"?=", b"+="):
        return None
    begins = _begins(data, start)
    joined = sign == b"=" and data[operator.start() : operator.end()] == b"=" and data[start - 1 : start] in b"\n \t;&|(`"
    if begins and language in CODE and language not in _BARE and _in_block(data, start, language):
        found = _bare(data, operator.end(), "")
        return found._replace(strict=True) if found else None
    if language not in _BARE or not (begins or joined) or _in_comment(data, start):
        return None
    return _bare(data, operator.end(), language, single=joined and (language in _SHELL or not begins))


def _begins(data: bytes, start: int) -> bool:
    """Whether a name begins its line, but for marks and commands that may stand before one."""
    line = data.rfind(b"\n", max(0, start - _LONGEST_START), start)
    if line < 0 and start > _LONGEST_START:
        return False
    return bool(_LINE_START.fullmatch(data, line + 1, start))


def _in_comment(data: bytes, position: int) -> bool:
    line = data.rfind(b"\n", max(0, position - 200), position) + 1
    return bool(_COMMENT.search(data, max(line, position - 200), position))


def _in_block(data: bytes, position: int, language: str) -> bool:
    """Whether a position is in a literal of several lines, which may hold any kind of text."""
    if language == "python":
        return any(data.count(quote, max(0, position - _LONGEST_BLOCK * 4), position) % 2 for quote in (b'"""', b"'''"))
    return language in _TEMPLATES and data.count(b"`", max(0, position - _LONGEST_BLOCK * 4), position) % 2 == 1


def _bare(data: bytes, at: int, language: str, *, single: bool = False) -> Place | None:
    """A value without quotes, to the end of the line or of the word; or the default below a name."""
    if default := _DEFAULT_BELOW.match(data, at, at + 400):
        at = default.end()
        if quoted := _value(data, at, language):
            return quoted
    if below := _BLOCK_SCALAR.match(data, at, at + 60) or _ITEM_BELOW.match(data, at, at + 60):
        at = below.end()
        if quoted := _value(data, at, language):
            return quoted
    stop = data.find(b"\n", at, at + _LONGEST)
    line = data[at : stop if stop >= 0 else at + _LONGEST]
    if single or language in _SHELL:
        line = re.split(rb"[\s;&|]", line, maxsplit=1)[0]
    line = re.split(rb"[ \t]+[#;]|[ \t]+//", line, maxsplit=1)[0].rstrip(b" \t\r,")
    return Place("", at, at + len(line), literal=False) if line and line[:1] not in b"[{" else None


def _directive(data: bytes, start: int, behind: int, language: str) -> Place | None:
    """`requirepass …`, `ENV PASSWORD …`: a line of a name and a value."""
    if data[behind : behind + 1] not in b" \t" or not _begins(data, start) or data[start:behind].lower() == b"pass":
        return None
    at = behind + len(data[behind : behind + 40]) - len(data[behind : behind + 40].lstrip(b" \t"))
    if quoted := _value(data, at, language):
        return quoted
    if language not in _BARE | {"text"}:
        return None
    value = _WORD_VALUE.match(data, at, at + _LONGEST)
    if not value or data[value.end() : value.end() + 60].split(b"\n")[0].split(b"#")[0].strip():
        return None
    return Place("", *value.span(), strict=language != "dockerfile", literal=False)


def _set_by_call(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`setPassword("…")`, `.password("…")`: what a call is given."""
    call = _SETTER.match(data, end, end + 6)
    value = _value(data, call.end(), language) if call else None
    return value._replace(strict=not _SET.search(data, max(0, start - 1), end)) if value else None


def _value(data: bytes, at: int, language: str) -> Place | None:
    """A literal in quotes, which may be escaped ones; three of them may hold several lines."""
    opening = _OPEN.match(data, at, at + 12)
    if not opening:
        return None
    quote, begin = opening.group(1), opening.end()
    limit = begin + (_LONGEST_BLOCK if len(quote) == 3 and quote[:1] != b"\\" else _LONGEST)
    stop = data.find(quote, begin, limit)
    while stop > 0 and not quote.startswith(b"\\") and data[stop - 1 : stop] == b"\\":
        stop = data.find(quote, stop + 1, limit)
    if stop < 0 or (b"\n" in data[begin:stop] and len(quote) < 3):
        return None
    text = data[begin:stop]
    inset = len(text) - len(text.lstrip())
    return Place("", begin + inset, begin + inset + len(text.strip())) if text.strip() else None


def _in_sentence(data: bytes, start: int, end: int, language: str) -> Place | None:
    """ "The password for the router is …", in prose, in a comment, in a line of a log."""
    if language in CODE and not _in_comment(data, start):
        return None
    value = _SAID.match(data, end, end + 300)
    if not value and data[start:end].lower() in (b"pw", b"pwd"):
        value = _ABBREVIATED.match(data, end, end + 80)
    if not value or (data[start:end].lower() == b"pass" and not _NOUN.match(data, end)):  # to pass is a verb
        return None
    stop = value.end(1)
    while stop > value.start(1) and data[stop - 1 : stop] in b".,;:)]}*!?" and stop - value.start(1) > 4:
        stop -= 1
    if data[stop : stop + 1] == b"!":
        stop += 1
    return Place("", value.start(1), stop, strict=True, literal=False)
