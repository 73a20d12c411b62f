"""Replace secrets by `[REDACTED]` before anything is cut, counted, embedded or stored.

Works on bytes of UTF-8. The number of lines never changes. What was found is reported by line and rule, never by
value. Each pattern runs in linear time, a user's too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from contextd.errors import InvalidInput
from contextd.languages import CODE
from contextd.scrub_rules import ASSIGNMENTS, COMMENTS, CONFIGURATION, SENTENCES, VENDORS, Rule
from contextd.types import Find

MARK = b"[REDACTED]"

_LONGEST_PATTERN = 1000
# A private key: where it begins, and the line that ends it.
_KEY_BLOCKS = (
    (rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", b"-----END "),
    (rb"PuTTY-User-Key-File-\d: [^\n]*", b"Private-MAC:"),
)
_LONGEST_KEY = 20_000
_PLACEHOLDERS = frozenset(
    b"password passwd secret token changeme change_me change-me example none null nil true false undefined string "
    b"todo fixme required optional redacted hidden default value username user admin test testing foo bar baz dummy "
    b"empty my-secret mysecret mypassword my_password yourpassword int str bool bytes object number text unset "
    b"pass key keys any void unknown".split()
)
_REFERENCE = re2.compile(
    rb"^(?:\$[\w{(]|\{\{|\{%|<|%[\w({]|\*+$|x+$|X+$|\.+$|-+$|_+$|#\{|@\{|\\[({]|env[.:]|process\.env|os\.|vault:|ref\+|"
    rb"secret[:/]|your|my[_-]|YOUR|ENC\[|\{\w*\}|&\w+$|\!)"
)
_WORDS_ONLY = re2.compile(rb"^[A-Za-z][a-z]*(?:[_.\-/ :]?[A-Za-z][a-z]*)*[:.!?]?$")
_CODE = re2.compile(rb"[()\[\]{}<>;]|\.\w+\.|::|->|^\.|^\w+\.\w+$|^/|^https?:")
_CALL = re2.compile(rb"\w\(|\w\[|\{\w|[<>;]|::|->|/\w+/|\s")
_COMMENT = re2.compile(rb"(?:^|[ \t])(?://|#|--|/\*|\*[ \t])")
_PASSWORD_KEY = re2.compile(rb"(?i)(?:pass(?:word|wd|phrase|code)|passwd|pwd|\bpass)$")
_NOT_A_KEY = re2.compile(
    rb"(?i)(?:_?(?:id|ids|name|names|type|types|url|uri|path|file|dir|field|fields|label|hint|help|header|headers|length|len|"
    rb"size|count|limit|expires?|expiry|expiration|expired|ttl|timeout|policy|regex|pattern|format|prefix|suffix|index|"
    rb"class|error|errors|message|messages|reset|change|changed|required|enabled|validator|validators|hasher|hashers|"
    rb"placeholder|column|attr|param|parameter|kind|set|map|list|s|algorithm|generator|view|form|page|template|done|"
    rb"env|method|function|endpoint|stream|counter|start|end|match|tokeni[sz]e[rd]?|tokens))$"
)


@dataclass(frozen=True, slots=True)
class _Compiled:
    rule: Rule
    pattern: Any


@lru_cache(maxsize=16)
def _compile(rules: tuple[Rule, ...]) -> tuple[Any, tuple[_Compiled, ...]]:
    """One pattern that tells whether any rule can match, and the rules one by one."""
    one_by_one = tuple(_Compiled(rule, re2.compile(rule.pattern.encode(), _options())) for rule in rules)
    return re2.compile("|".join(f"(?:{rule.pattern})" for rule in rules).encode(), _options()), one_by_one


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


_blocks = tuple((re2.compile(begin, _options()), end) for begin, end in _KEY_BLOCKS)


def user_rules(patterns: Iterable[str]) -> tuple[Rule, ...]:
    """Patterns from a configuration as rules; a bad one is refused by name."""
    rules = []
    for number, pattern in enumerate(patterns, 1):
        if len(pattern) > _LONGEST_PATTERN:
            raise InvalidInput(f"secret_patterns: pattern {number} is longer than {_LONGEST_PATTERN} characters")
        try:
            re2.compile(pattern.encode(), _options())
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
            raise InvalidInput(f"secret_patterns: {pattern!r} is not a pattern RE2 can run: {reason}") from None
        rules.append(Rule(f"configured-{number}", pattern, "whole"))
    return tuple(rules)


def scrub(data: bytes, language: str = "", extra: Sequence[Rule] = ()) -> tuple[bytes, list[Find]]:
    """The data without its secrets, and what was found in it."""
    spans = list(_key_blocks(data))
    # A guard for each group: one for all of them has so many states that it runs four times slower.
    for rules in (VENDORS, ASSIGNMENTS, COMMENTS, () if language in CODE else CONFIGURATION, tuple(extra)):
        any_of, one_by_one = _compile(rules)
        if rules and any_of.search(data):
            spans += _rule_spans(data, one_by_one)
    if not spans:
        return data, []
    return _redact(data, spans)


def scrub_text(text: str, extra: Sequence[Rule] = ()) -> tuple[str, list[Find]]:
    """The same for a text that is not a file: a memory, a file name, a message."""
    data, finds = scrub(text.encode("utf-8", "replace"), "", SENTENCES + tuple(extra))
    return (data.decode("utf-8", "replace"), finds) if finds else (text, finds)


Span = tuple[int, int, str]


def _key_blocks(data: bytes) -> Iterator[Span]:
    if b"PRIVATE KEY" not in data and b"PuTTY-User-Key" not in data:
        return
    for begin, end in _blocks:
        for match in begin.finditer(data):
            limit = min(len(data), match.end() + _LONGEST_KEY)
            stop = data.find(end, match.end(), limit)
            yield match.end(), stop if stop >= 0 else limit, "private-key"


def _rule_spans(data: bytes, compiled: tuple[_Compiled, ...]) -> Iterator[Span]:
    for rule, pattern in ((one.rule, one.pattern) for one in compiled):
        accept = _CHECKS[rule.check]
        for match in pattern.finditer(data):
            value = 0 if rule.check == "whole" else match.lastindex or 0
            if rule.in_comments and not _in_comment(data, match.start()):
                continue
            if MARK not in match.group(value) and accept(match.group(1) if value > 1 else b"", match.group(value)):
                yield (*match.span(value), rule.name)


def _in_comment(data: bytes, position: int) -> bool:
    line = data.rfind(b"\n", 0, position) + 1
    return bool(_COMMENT.search(data[max(line, position - 200) : position]))


def _redact(data: bytes, spans: list[Span]) -> tuple[bytes, list[Find]]:
    out: list[bytes] = []
    finds: list[Find] = []
    position, line = 0, 1
    for start, end, rule in sorted(spans):
        if start < position:  # what overlaps is one secret: the rest of it goes too
            lines = data[position:end].count(b"\n")
            out.append(b"\n" * lines)
            line += lines
            position = max(position, end)
            continue
        kept = data[position:start]
        line += kept.count(b"\n")
        secret = data[start:end]
        out += (kept, _masked(secret))
        finds.append(Find(line, rule))
        line += secret.count(b"\n")
        position = end
    out.append(data[position:])
    return b"".join(out), finds


def _masked(secret: bytes) -> bytes:
    if b"\n" not in secret:
        return MARK
    return b"\n".join(MARK if part.strip() else part for part in secret.split(b"\n"))


def _any(key: bytes, value: bytes) -> bool:
    return True


def _mixed(key: bytes, value: bytes) -> bool:
    """Letters and digits, or high entropy: not a word of a language or a name."""
    return _literal(value) and any(byte in b"0123456789" for byte in value) and _entropy(value) > 2.5


def _password(key: bytes, value: bytes) -> bool:
    return _literal(value) and value.lower() not in _PLACEHOLDERS


def _config(key: bytes, value: bytes) -> bool:
    return _password(key, value) and (not _CODE.search(value) or _random(value))


def _assigned(key: bytes, value: bytes) -> bool:
    """A literal assigned to a name that says secret, and that is not a label, a reference, a word or a path."""
    if _NOT_A_KEY.search(key) or not _config(key, value.strip()) or b" " in value.strip():
        return False
    lowered = value.lower()
    if any(word in lowered for word in (b"password", b"passwd", b"secret", b"token", b"example", b"api_key", b"apikey")):
        return _entropy(value) > 3.6 and any(byte in b"0123456789" for byte in value)
    if _PASSWORD_KEY.search(key):
        return len(value) >= 4
    return len(value) >= 8 and not _WORDS_ONLY.search(value)


def _random(value: bytes) -> bool:
    """So mixed that it is no code, whatever brackets are in it."""
    kinds = (value.isascii() and any(map(value.__contains__, b"0123456789")), value.lower() != value, value.upper() != value)
    return all(kinds) and len(value) >= 12 and _entropy(value) > 3.7 and not _CALL.search(value)


def _literal(value: bytes) -> bool:
    return len(value) > 1 and not _REFERENCE.search(value) and len(set(value)) > 2


def _entropy(value: bytes) -> float:
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


_CHECKS: dict[str, Callable[[bytes, bytes], bool]] = {
    "": _any,
    "whole": _any,
    "mixed": _mixed,
    "password": _password,
    "config": _config,
    "assigned": _assigned,
}
