"""Find places where the text announces a secret: assignments, elements, options, pairs of name and value, sentences.

A word such as `password` is searched first. The text before and after it shows whether a value follows, and where the value
ends. `values` decides whether it is a secret. Every pattern after a word is anchored and bounded, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from contextd.privacy.linear import linear
from contextd.privacy.literals import QUOTES, Place, literal
from contextd.privacy.sentences import in_comment, in_sentence
from contextd.privacy.values import Says, looks_random, says
from contextd.text.languages import CODE

_WORD = linear(
    rb"(?i)pass(?:word|wd|wort|phrase|code|ord|\b|_)|[a-z_]pass\b|\bpw\b|_pw\b|(?:root|bind|user|admin)pw\b|pwd|secret|token|credential|"
    rb"kennwort|contrase(?:n|\xc3\xb1|ni|ny)a|senha|wachtwoord|mot[ _\-]?de[ _\-]?passe|palavra[ _\-]?passe|\bclave|has(?:l|\xc5\x82)o|heslo|jelsz(?:o|\xc3\xb3)|"
    rb"salasana|l(?:o|\xc3\xb6|\xc3\x96)senord|adgangskode|kodeord|slaptazodis|parool|\bparola\b|lozinka|\bgeslo|(?:\b|_)(?:s|\xc5\x9f)ifre|kata[ _\-]?sandi|\bgeheim\b|"
    rb"\xd0[\x9f\xbf]\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb(?:\xd1\x8c|\xd0\xb0)|\xe5\xaf\x86(?:\xe7\xa0\x81|\xe7\xa2\xbc)|\xe5\x8f\xa3\xe4\xbb\xa4|"
    rb"\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8|\xec\x95\x94\xed\x98\xb8|"
    rb"\bmdp\b|masterauth|mnemonic|(?:seed|recovery)[ _\-]?phrase|key_?material|\bsalt\b|[_\-.]salt\b|\bpepper\b|\bjwt\b|\bbearer\b|psk\b|authtok|"
    rb"(?:api|access|secret|private|auth|encryption|encrypt|account|consumer|client|app|application|master|signing|storage|admin|"
    rb"deploy|webhook|crypto|cipher|aes|hmac|jwt|session|cookie|nonce|_in|service|subscription|preshared|shared|integration|server|license|"
    rb"user|root|bot|partner|write|read|publish|push|validation|decryption|machine|functions|wpa|wep|wifi|psk)[_\-. ]?key"
)
_LEFT = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$@"  # characters of a name before the word
_RIGHT = re.compile(rb"[\w\-]{0,48}(?:\.[\w\-]{1,24}){0,3}")
_LONGEST = 512
_LONGEST_BLOCK = 4000
# Languages in which a value needs no quotes.
_BARE = frozenset(["", "yaml", "toml", "ini", "properties", "hcl", "dockerfile", "make", "shell", "cmake", "gettext", "env"])
_SHELL = frozenset(["shell", "dockerfile", "make"])
_TEMPLATES = frozenset(["javascript", "typescript", "tsx", "go"])
_CLOSE = re.compile(rb"\]?(\\{0,7}[\"'`])?(?:\[\w{0,16}\]|[\])]{0,2})")
_OPERATOR = re.compile(
    rb"(?:[ \t]{0,4}:[ \t]{0,4}[&*\w\[\]<>, |.?']{1,40}?(?==|[ \t]{1,4}=)|[ \t]{1,4}(?:[Aa]s[ \t]{1,4})?(?:string|String|str|text|varchar|&str|n?(?:var)?char2?\(\w{1,5}\)|N?(?:VAR)?CHAR2?\(\w{1,5}\))(?=[ \t]{0,4}:?=))?"
    rb"[ \t]{0,24}(:=|<-|=>|\?=|\?:|\+=|!?={1,3}|\|\|=?|\?\?=?|:|,|\bor\b|\bOR\b)[ \t]{0,24}"
)
# Line breaks before a value, with comments at the line ends.
_GAP = rb"(?:[ \t]{0,40}(?:(?:#|//|--)[^\n]{0,160}|/\*[^*\n]{0,120}\*/[ \t]{0,8})?\\?\r?\n[+\-|]?){1,5}[ \t]{0,40}"
_LONGEST_GAP = 600
_NEXT_LINE = re.compile(rb"(?:[(\[]?" + _GAP + rb"|\([ \t]{0,8}|/\*[^*\n]{0,120}\*/[ \t]{0,8})(?=[bBrRuUfF]{0,2}[\"'`])")
_BELOW = re.compile(rb"[ \t]{0,8}(?:#[^\n]{0,160})?\r?\n[+\-]?([ \t]{2,40})(?=[^\s#:\-{\[|>\"'&*!][^\n:]{3,200}(?:\n|\Z))")
_YAML_TAG = re.compile(rb"!!(?:str|binary)[ \t]{1,4}|!unsafe[ \t]{1,4}")
_BYTES = re.compile(rb"[{(\[](?:[\s,]{0,12}(?:0x[0-9a-fA-F]{1,2}|\d{1,3}|'[^'\n]')[uU]?){8,256}[\s,]{0,12}[\])}]")
_WRAPPED = re.compile(
    rb"(?:\[\]byte|bytes|bytearray|[Ss]tring|str|SecretStr|Secret|SecureString|Buffer\.from|Some|Optional\.of)\((?=[bBrRuU]?[\"'`])"
)
_CALLED = re.compile(rb"(?:new )?[\w.:]{1,60}\([ \t]{0,4}(?=[bBrRuU]?[\"'`])")
_NESTED = re.compile(rb"\{\s{0,40}[\"'](?:value|defaultValue|default)[\"']\s{0,4}:\s{0,4}")
_TYPED_INTO = re.compile(rb"(?:fill|fillIn|fill_in|type|sendKeys|send_keys|setValue|enterText|typeText|input)\([^\n()]{0,40}\Z")
_OPTION_ENDS = re.compile(rb"[ \t]*(?:[-\\|>&;\r\n\"'`)]|\Z|https?:)")
_ITEM_BELOW = re.compile(rb"[ \t]*\r?\n[+\-]?[ \t]{0,40}-[ \t]+")
_FIRST = re.compile(rb"(\w{1,40})[>\]]?\([ \t\r\n]{0,16}[\"'`]\Z")
_PAIRED = re.compile(rb"[(\[{][ \t\r\n]{0,16}[\"'`]\Z|\{[ \t]{0,4}\Z")  # the first of two items in a list, a tuple or a row
_LATER = re.compile(rb"\w\([^()\n]{0,80},[ \t]{0,4}[\"'`]\Z")
_SET_SYMBOL = re.compile(rb"\bset[ \t]{1,4}:\Z")
_FETCHED = re.compile(rb"[\"']\)[ \t]{0,4}\{[ \t]{0,4}(?=[\"'])")
_TYPED = re.compile(rb"[\"'](?:\][\"'])?[ \t]{0,4}\)\.(?:send_?[kK]eys|fill|type|setValue|set|typeText)\([ \t]{0,4}(?=[\"'])")
_WITH_DEFAULT = re.compile(
    rb"(?i)(?:.*env|get|fetch|config|setting|lookup|define|put|set|setproperty|setenv|getproperty|option|arg|add|append|field|string|.*default|.*orelse|.*header|.*variable|.*requestproperty)\Z"
)
_TAG = re.compile(rb"<(?:[\w.\-]{1,36}:)?\Z")
_ELEMENT = re.compile(rb"[^<>\n]{0,160}>[ \t\r\n]{0,80}(?:<(?:[vV]alue|val|string)>\s{0,40})?([^<>]{1,512}?)[ \t\r\n]{0,80}</")
_CDATA = re.compile(rb"[^<>\n]{0,160}>[ \t\r\n]{0,40}<!\[CDATA\[([^\]]{1,512})\]\]>")
_NAMING = re.compile(
    rb"(?i)\b(?:key|name|id|property|variable|field|label)(?:\\{0,7}[\"'])?[ \t]{0,4}[:= ][ \t]{0,4}(?:\\{0,7}[\"'])?[$]?\Z"
)
_NAMED_VALUE = re.compile(
    rb"(?:\\{0,7}[\"'])?[^\n<>]{0,80}?(?:[\s,{\"'](?:(?:string|default_?)?value|default|content)(?:\\{0,7}[\"'])?[ \t]{0,4}[:=][ \t]{0,4})|"
    rb"(?:\\{0,7}[\"'])?,?[ \t]{0,8}\r?\n[+\-]?[ \t]{0,40}(?:-[ \t])?(?:\\{0,7}[\"'])?(?:string)?(?:value|default|content)(?:\\{0,7}[\"'])?[ \t]{0,4}[:=][ \t]{0,8}",
    re.IGNORECASE,
)
_VALUE_BEFORE = re.compile(
    rb"(?i)alue\\{0,7}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,7}[\"']([^\"'\\\n]{4,256})\\{0,7}[\"'][\s,]{1,40}[\w\\\"':= \t]{2,30}\Z"
)
_NAME_TAG = re.compile(rb"(?i)<(?:[\w:.\-]{0,40}(?:key|name)|\w{1,40} name=\"Argument\.name\")>[ \t]{0,4}\Z")
_NEXT_ELEMENT = re.compile(
    rb"[ \t]{0,4}</[\w:.\-]{1,60}>\s{0,80}<[\w:.\-]{1,60}(?: [^<>\n]{0,80})?>\s{0,40}([^<>]{1,512}?)\s{0,40}</"
)
_PART = re.compile(rb"\"(?:;[^\n]{0,80})?\r?\n\r?\n([^\r\n]{4,256})")
_HEADER = re.compile(rb":[ \t]{0,2}([^\"'`\n\\]{4,256})([\"'`])")
_DEFAULT_BELOW = re.compile(
    rb"[ \t]{0,8}\r?\n(?:[+\-]?[ \t]{2,40}\w{1,40}:[^\n]{0,80}\n){0,5}?[+\-]?[ \t]{2,40}(?:[Dd]efault|[Vv]alue):[ \t]{1,8}"
)
_DEFAULT = re.compile(rb"\"[ \t]{0,4}\{(?:(?!\n[+\-]?\})[\s\S]){0,600}?\bdefault[ \t]{0,16}=[ \t]{0,8}")
_LINE_START = re.compile(  # text that may precede a name at the start of a line
    rb"[+\-]?[ \t]*(?:(?:export|set|setx|env|ENV|ARG|SetEnv|fastcgi_param|proxy_set_header|add_header|RequestHeader set|user \w{1,32}|local|declare(?: -x)?|readonly|-e|--env|-|\*|\d+\.|>|#+|//+|;+|--|\$env:|\$|sudo|run:|#define|"
    rb"define)[ \t]+)*(?:[\w.$@\-\[\]]+[ \t]*[:.][ \t]*)?(?:[\"']|\$env:)?"
)
_LONGEST_START = 80
_TOKEN_VALUE = re.compile(rb"[^\s\"'`,;&|<>)}\]]{1,512}")
_WORD_VALUE = re.compile(rb"[^\s\"'`]{1,512}")
_PARAMETER = re.compile(rb"=([^&\s\"'<>#;,)]{4,256})")
_FORM = re.compile(rb"=([^&\s\"'<>#;,)]{4,256})&[\w.\-\[\]%]{1,60}=")
_AMONG_OTHERS = re.compile(rb"[\"' ,](?:host|user|dbname|port|username|uid|server|domain)=[^\s\"'=,]{1,40}[ \t,]\Z")
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
    """Yield the places that `accept` considers a secret, ordered by the position of the name."""
    reached = 0
    for match in _WORD.finditer(data):
        first, last = match.span()
        if first < reached:
            continue
        before = data[max(0, first - 64) : first]
        start = first - len(before) + len(before.rstrip(_LEFT))
        right = _RIGHT.match(data, last, last + 128)
        reached = end = right.end() if right else last
        while end > last and data[end - 1 : end] in b".-":
            end -= 1
        found = _place(data, start, end, language)
        if found and accept(found):
            reached = max(reached, found.end)
            yield found


def in_statements(data: bytes) -> Iterator[Place]:
    """Yield the passwords in SQL statements that set one."""
    for match in _SQL.finditer(data):
        yield Place("password", *match.span(1))


def _place(data: bytes, start: int, end: int, language: str) -> Place | None:
    name = data[start:end].decode("utf-8", "replace")
    if says(name) is Says.NOTHING or (data[start - 1 : start] == b":" and b"arn:" in data[max(0, start - 80) : start]):
        return None
    before = data[start - 1 : start] if start else b"\n"
    found = (
        (before in b"<:" and _in_element(data, start, end, language))
        or (before in b"\"' :=$>" and _beside_name(data, start, end, language))
        or (before in b"\"'`" and data[end : end + 1] == b":" and _as_header(data, start, end, language))
        or (data[start : start + 1] == b"-" and _as_option(data, start, end, language))
        or ((b"=" in data[end : end + 3] or before == b"{") and _as_parameter(data, start, end, language))
        or _assigned(data, start, end, language)
        or in_sentence(data, start, end, language)
    )
    return Place(name, found.start, found.end, found.strict, found.literal) if found else None


def _in_element(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`<Pass encoding="base64">…</Pass>`"""
    if not _TAG.search(data, max(0, start - 40), start):
        return None
    found = _CDATA.match(data, end, end + 800) or _ELEMENT.match(data, end, end + 800)
    return Place("", *found.span(1)) if found and not found.group(1).isspace() else None


def _beside_name(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`name: DB_PASSWORD` with `value: …` beside or below it; `<add key="…" value="…"/>`; `variable "…" { default = "…" }`."""
    if data[start - 1 : start] == b">":
        below = _NEXT_ELEMENT.match(data, end, end + 900) if _NAME_TAG.search(data, max(0, start - 60), start) else None
        return Place("", *below.span(1)) if below else None
    if not _NAMING.search(data, max(0, start - 24), start):
        return None
    has_default = data.find(b"default", end, end + 700) >= 0
    value = (has_default and _DEFAULT.match(data, end, end + 700)) or _NAMED_VALUE.match(data, end, end + 200)
    if value:
        return literal(data, value.end(), language) or _bare(data, value.end(), language)
    if data[end : end + 1] in b"\"'" and (found := _ELEMENT.match(data, end, end + 800)):
        return Place("", *found.span(1))
    if part := _PART.match(data, end, end + 400):
        return Place("", *part.span(1))
    return _before_name(data, start)


def _before_name(data: bytes, start: int) -> Place | None:
    """`value="…" name="password"`"""
    at = data.rfind(b"alue", max(0, start - 320), start)
    before = _VALUE_BEFORE.match(data, at, start) if at >= 0 else None
    return Place("", *before.span(1)) if before else None


def _as_header(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`"X-Api-Key: …"`: a header in quotes."""
    value = _HEADER.match(data, end, end + 300)
    if not value or value.group(2) != data[start - 1 : start]:
        return None
    return Place("", *value.span(1), strict=b"-" not in data[start:end], literal=False)


def _as_option(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`--password …` and `--password=…` of a command."""
    if below := _ITEM_BELOW.match(data, end + (data[end : end + 1] in (b'"', b"'")), end + 80):
        return literal(data, below.end(), language) or _bare(data, below.end(), language)
    if data[end : end + 1] not in (b" ", b"="):
        return None
    if quoted := literal(data, end + 1, language):
        return quoted._replace(strict=language not in _SHELL)
    value = _TOKEN_VALUE.match(data, end + 1, end + 1 + _LONGEST)
    if not value or value.group()[:1] in b"-=:":
        return None
    alone = data[start - 1 : start] in (b'"', b"'") and data[value.end() : value.end() + 1] == data[start - 1 : start]
    bare = language in _BARE and data[end : end + 1] == b"="
    command = (language in _SHELL or bare) and not in_comment(data, start) and bool(_OPTION_ENDS.match(data, value.end()))
    return Place("", *value.span(), strict=not (alone or command), literal=False)


def _as_parameter(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`?token=…` in a URL, `;Password=…;` in a connection string, `${PASSWORD:-…}`."""
    before = data[start - 1 : start]
    if data[max(0, start - 2) : start] == b"${" and (default := _SHELL_DEFAULT.match(data, end, end + 300)):
        return Place("", *default.span(1), literal=False)
    if before in (b"?", b"&") and (parameter := _PARAMETER.match(data, end, end + 260)):
        return Place("", *parameter.span(1), literal=False)
    if before in b"\"'" and (form := _FORM.match(data, end, end + 260)):
        return Place("", *form.span(1), literal=False)
    if before in b"\"'" and (alone := _ALONE.match(data, end, end + 160)) and alone.group(2) == before:
        return Place("", *alone.span(1))
    if before in b" \t," and data[end : end + 1] == b"=" and _AMONG_OTHERS.search(data, max(0, start - 80), start):
        value = _TOKEN_VALUE.match(data, end + 1, end + 1 + _LONGEST)
        return Place("", *value.span(), literal=False) if value else None
    if b";" not in data[max(0, start - 200) : end + 160]:
        return None
    line = data[_line_start(data, start, 400) : start]
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
        return (
            _directive(data, start, behind, language)
            or _set_by_call(data, start, end, language)
            or _behind_call(data, end, language)
        )
    at = operator.end()
    if data[at : at + 1] not in QUOTES:
        if operator.group(1) != b"," and (below := _NEXT_LINE.match(data, at, at + _LONGEST_GAP)):
            return literal(data, below.end(), language)
        if listed := _BYTES.match(data, at, at + 2000):
            return Place("", *listed.span())
        if nested := _NESTED.match(data, at, at + 80):
            return literal(data, nested.end(), language)
    if quoted := literal(data, at, language) or _wrapped(data, at, language):
        return _checked(data, start, operator, quoted, language)
    return _bare_assigned(data, start, operator, language)


def _wrapped(data: bytes, at: int, language: str) -> Place | None:
    """`[]byte("…")`. The argument of any other call is strict."""
    if wrapped := _WRAPPED.match(data, at, at + 40):
        return literal(data, wrapped.end(), language)
    called = _CALLED.match(data, at, at + 80)
    value = literal(data, called.end(), language) if called else None
    return value._replace(strict=True) if value else None


def _behind_call(data: bytes, end: int, language: str) -> Place | None:
    """`fetch("PASSWORD") { "…" }`, `find_element("password").send_keys("…")`"""
    call = _FETCHED.match(data, end, end + 16) or _TYPED.match(data, end, end + 60)
    return literal(data, call.end(), language) if call else None


def _checked(data: bytes, start: int, operator: re.Match[bytes], value: Place | None, language: str) -> Place | None:
    """Check a value after a comma, which proves little. Returns it as it is, as strict, or None, depending on its context."""
    if value is None or operator.group(1) != b",":
        return value
    first = _FIRST.search(data, max(0, start - 60), start)
    if first:
        return value._replace(strict=not _WITH_DEFAULT.match(first.group(1)))
    if _SET_SYMBOL.search(data, max(0, start - 12), start):
        return value
    if data[start : start + 1] == b"-":
        return value if data[value.start : value.start + 1] != b"-" else None
    if (
        language == "sql"
        or data[start : operator.start()].isupper()
        or _PAIRED.search(data, max(0, start - 24), start)
        or _LATER.search(data, max(0, start - 100), start)
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
    usual = language in _BARE or (language == "text" and joined)
    if not usual or not (begins or joined) or in_comment(data, start):
        return None
    return _bare(data, operator.end(), language, single=joined and (language in _SHELL or language == "text" or not begins))


def _begins(data: bytes, start: int) -> bool:
    """Whether a name starts its line, apart from markers and commands that may precede it."""
    line = data.rfind(b"\n", max(0, start - _LONGEST_START), start)
    if line < 0 and start > _LONGEST_START:
        return False
    return bool(_LINE_START.fullmatch(data, line + 1, start))


def _in_block(data: bytes, position: int, language: str) -> bool:
    """Whether a position is inside a multi-line literal, which may contain any kind of text."""
    if language == "python":
        return any(data.count(quote, max(0, position - _LONGEST_BLOCK * 4), position) % 2 for quote in (b'"""', b"'''"))
    return language in _TEMPLATES and data.count(b"`", max(0, position - _LONGEST_BLOCK * 4), position) % 2 == 1


def _bare(data: bytes, at: int, language: str, *, single: bool = False) -> Place | None:
    """Return a value without quotes, up to the end of the line or word; or the value on a line below."""
    if tag := _YAML_TAG.match(data, at, at + 16):
        at = tag.end()
    if language == "yaml" and (lower := _BELOW.match(data, at, at + 420)) and len(lower.group(1)) > _indent(data, at):
        at = lower.end()
    if default := _DEFAULT_BELOW.match(data, at, at + 400):
        at = default.end()
        if quoted := literal(data, at, language):
            return quoted
    if below := _BLOCK_SCALAR.match(data, at, at + 60) or _ITEM_BELOW.match(data, at, at + 60):
        at = below.end()
        if quoted := literal(data, at, language):
            return quoted
    stop = data.find(b"\n", at, at + _LONGEST)
    line = data[at : stop if stop >= 0 else at + _LONGEST]
    if single or language in _SHELL:
        line = re.split(rb"[\s;&|]", line, maxsplit=1)[0]
    line = re.split(rb"[ \t]+[#;]|[ \t]+//", line, maxsplit=1)[0].rstrip(b" \t\r,;")
    return Place("", at, at + len(line), literal=False) if line and line[:1] not in b"[{" else None


def _line_start(data: bytes, at: int, most: int) -> int:
    """Return the start of the line at a position, at most `most` bytes before it."""
    before = data.rfind(b"\n", max(0, at - most), at)
    return before + 1 if before >= 0 else max(0, at - most)


def _indent(data: bytes, at: int) -> int:
    """Return the indentation of the line at a position."""
    line = data[_line_start(data, at, _LONGEST) : at].lstrip(b"+")
    return len(line) - len(line.lstrip(b" \t"))


def _directive(data: bytes, start: int, behind: int, language: str) -> Place | None:
    """`requirepass …`, `ENV PASSWORD …`: a line with a name and a value."""
    if data[behind : behind + 1] not in b" \t" or not _begins(data, start) or data[start:behind].lower() == b"pass":
        return None
    at = behind + len(data[behind : behind + 40]) - len(data[behind : behind + 40].lstrip(b" \t"))
    if quoted := literal(data, at, language):
        return quoted
    if language not in _BARE | {"text"}:
        return None
    if data.startswith(b"--plaintext ", at):
        at += len(b"--plaintext ")
    value = _WORD_VALUE.match(data, at, at + _LONGEST)
    if not value or data[value.end() : value.end() + 60].split(b"\n")[0].split(b"#")[0].strip():
        return None
    stop = value.end() - (value.group()[-1:] == b";")
    return Place("", value.start(), stop, strict=language not in ("dockerfile", "ini"), literal=False)


def _set_by_call(data: bytes, start: int, end: int, language: str) -> Place | None:
    """`setPassword("…")`, `.password("…")`: the argument of a call."""
    call = _SETTER.match(data, end, end + 6)
    value = literal(data, call.end(), language) if call else None
    return value._replace(strict=not _SET.search(data, max(0, start - 1), end)) if value else None
