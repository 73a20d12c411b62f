"""Find the secrets of a text and replace each by `[REDACTED]`.

Works on UTF-8 bytes. The number of lines never changes. Finds are reported by line and rule, never by value. Known formats,
key blocks and user patterns are matched by RE2, in linear time.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Generic, TypeVar

import re2

from contextd.errors import InvalidInput
from contextd.privacy.calls import arguments
from contextd.privacy.cards import grouped, is_card
from contextd.privacy.commands import given
from contextd.privacy.formats import ALLOW, ALLOW_PATH, FORMATS, Rule
from contextd.privacy.linear import linear
from contextd.privacy.literals import Place
from contextd.privacy.places import in_statements, places
from contextd.privacy.tables import columns, generated, manifests
from contextd.privacy.values import Says, is_secret, is_strong, looks_random, says, unnatural
from contextd.values.document import Find

MARK = b"[REDACTED]"
INLINE = b"contextd:allow"  # marks a line of a file whose values are not secrets

_LONGEST_PATTERN = 1000
_GROUP = 1800  # characters of rules per combined pattern; a longer one has so many states that it is many times slower
_PART = 600  # the same for the smaller patterns that are tried if the first one matches
_OF_PATH = "path:"
_CONFIGURED = "configured"  # prefix of the names of user rules
# Private keys: a pattern of the header, and the text that ends the key.
_KEY_BLOCKS = (
    (rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", b"-----END "),
    (rb"PuTTY-User-Key-File-\d: [^\n]*", b"Private-MAC:"),
    (rb"-----BEGIN OpenVPN Static key V1-----", b"-----END "),
)
_LONGEST_KEY = 20_000
_BODY = re.compile(rb"[A-Za-z0-9+/=:,\s\\\"'+\-.#*|>]*")
_LENIENT = re.compile(
    r"(?i)(?:^|/)(?:tests?|__tests__|spec|specs|testing|testdata|test-data|fixtures?|examples?|samples?|demos?|docs?|documentation|"
    r"tutorials?|i18n|locales?|lang|langs|languages|translations?|l10n|values-[a-z]{2}[^/]*)/|(?:^|/)(?:test_[^/]*|conftest\.py|readme[^/]*|changelog[^/]*|history\.[^/]*|"
    r"changes\.[^/]*|[^/]*[._-](?:test|tests|spec|example|sample)\.[^/]*|[^/]*_test\.[^/]*|[^/]*tests?\.(?:java|kt|cs|php|swift|scala)|"
    r"messages[^/]*\.properties|strings\.xml|[^/]*\.pot?)$"
)
_WORD = re.compile(rb"[A-Za-z0-9]")
_SIGN = re.compile(rb"[!@#$%^&*?]")
_EXAMPLE = b"EXAMPLE"  # in the keys of Amazon's documentation
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
Span = tuple[int, int, str]
Member = TypeVar("Member")


class _Compiled:
    """A rule whose pattern is compiled on first use, which is rare."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @cached_property
    def pattern(self) -> Any:
        return linear(self.rule.pattern)


class _Group(Generic[Member]):
    """Rules, or groups of rules, with a combined pattern that tells whether any of them can match."""

    def __init__(self, rules: Sequence[Rule], members: Sequence[Member]) -> None:
        self._rules, self.members = rules, members

    @cached_property
    def any_of(self) -> Any:
        return linear("|".join(f"(?:{rule.pattern})" for rule in self._rules))


@lru_cache(maxsize=16)
def _compile(rules: tuple[Rule, ...]) -> list[_Group[_Group[_Compiled]]]:
    """Group rules on two levels."""
    return [
        _Group(group, [_Group(part, list(map(_Compiled, part))) for part in _cut(group, _PART)])
        for group in _cut(rules, _GROUP)
    ]


def _cut(rules: Sequence[Rule], size: int) -> list[list[Rule]]:
    """Group consecutive rules; the patterns of a group have at most `size` characters."""
    groups: list[list[Rule]] = []
    room = 0
    for rule in rules:
        room -= len(rule.pattern)
        if room < 0 or not groups:
            groups.append([])
            room = size - len(rule.pattern)
        groups[-1].append(rule)
    return groups


_blocks = tuple((linear(begin), end) for begin, end in _KEY_BLOCKS)


def user_rules(patterns: Iterable[str], allow: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Return the configured patterns as rules. Raises InvalidInput for an invalid pattern."""
    found = [
        Rule(f"{_CONFIGURED}-{number}", _runnable(pattern, "secret_patterns")) for number, pattern in enumerate(patterns, 1)
    ]
    for entry in allow:
        if entry.startswith(_OF_PATH):
            found.append(Rule(ALLOW, entry.removeprefix(_OF_PATH), ALLOW_PATH))
        else:
            found.append(Rule(ALLOW, _runnable(entry, "allow"), ALLOW))
    return tuple(found)


def _runnable(pattern: str, setting: str) -> str:
    if len(pattern) > _LONGEST_PATTERN:
        raise InvalidInput(f"security.{setting}: a pattern has {len(pattern)} characters (maximum {_LONGEST_PATTERN})")
    try:
        linear(pattern)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise InvalidInput(f"security.{setting}: invalid RE2 pattern {pattern!r}: {reason}") from None
    return pattern


def strictness(path: str, extra: Sequence[Rule] = ()) -> str:
    """Return how a path is scrubbed: `allowed` (not at all), `lenient`, or empty. Equal bytes may give different texts."""
    if path and any(fnmatchcase(path, rule.pattern) for rule in extra if rule.check == ALLOW_PATH):
        return "allowed"
    return "lenient" if _LENIENT.search(path) else ""


def scrub(data: bytes, language: str = "", extra: Sequence[Rule] = (), *, path: str = "") -> tuple[bytes, list[Find]]:
    """Return the data without its secrets, and the finds.

    `extra` are the user's rules. `path` is the path of a file: in tests, examples and documents short values stay readable, and
    in any file the values on a line with `contextd:allow` do.
    """
    how = strictness(path, extra)
    if how == "allowed":
        return data, []
    lenient = how == "lenient"
    spans = list(_key_blocks(data))
    spans += _rule_spans(data, FORMATS, lenient)
    spans += [] if lenient else ((start, end, "payment-card") for start, end in grouped(data) if _usual(data[start:end]))
    spans += _rule_spans(data, tuple(rule for rule in extra if rule.check in _CHECKS), lenient)

    starts = sorted(start for start, _, _ in spans)

    def accept(place: Place) -> bool:
        inside = bisect_left(starts, place.start) < bisect_left(starts, place.end)  # a known secret starts inside
        return (inside and says(place.name) is not Says.NOTHING) or _is_secret(data, place, lenient)

    further = chain(
        arguments(data), given(data), in_statements(data), columns(data, language), manifests(data), generated(data)
    )
    for place in chain(places(data, language, accept), filter(accept, further)):
        spans.append((place.start, place.end, "sentence" if place.strict else "assignment"))
    allowing = _allowing(tuple(rule.pattern for rule in extra if rule.check == ALLOW))
    marked = _marked_lines(data) if path and INLINE in data else []
    spans = [span for span in spans if not _allowed(data, span, allowing, marked)]
    return _redact(data, spans) if spans else (data, [])


def scrub_text(text: str, extra: Sequence[Rule] = ()) -> tuple[str, list[Find]]:
    """Scrub a text that is not a file: a memory, a file name, a message."""
    data, finds = scrub(text.encode("utf-8", "replace"), "text", extra)
    return (data.decode("utf-8", "replace"), finds) if finds else (text, finds)


def scrub_named(name: str, value: str, extra: Sequence[Rule] = ()) -> tuple[str, list[Find]]:
    """Scrub a value whose name is given separately, such as a field of a memory."""
    if is_secret(name, value) and MARK.decode() not in value:
        return MARK.decode(), [Find(1, "assignment")]
    return scrub_text(value, extra)


def _key_blocks(data: bytes) -> Iterator[Span]:
    if b"PRIVATE KEY" not in data and b"PuTTY-User-Key" not in data and b"Static key" not in data:
        return
    for begin, end in _blocks:
        reached = 0
        for match in begin.finditer(data):
            if match.start() < reached:
                continue
            limit = min(len(data), match.end() + _LONGEST_KEY)
            stop = data.find(end, match.end(), limit)
            if stop < 0:  # the end is missing: redact as far as it looks like a key
                body = _BODY.match(data, match.end(), limit)
                stop = body.end() if body else match.end()
            reached = stop
            if len(data[match.end() : stop].strip(b" \t\r\n\\n\"'.-")) >= 16:
                yield match.end(), stop, "private-key"


def _rule_spans(data: bytes, rules: tuple[Rule, ...], lenient: bool) -> Iterator[Span]:
    """Yield the values that rules match and their checks accept. The value is the last group, or the whole match."""
    parts = (part for group in _compile(rules) if group.any_of.search(data) for part in group.members)
    matching = (one for part in parts if part.any_of.search(data) for one in part.members)
    for rule, pattern in ((one.rule, one.pattern) for one in matching):
        accept = _CHECKS[rule.check]
        for match in pattern.finditer(data):
            own = rule.name.startswith(_CONFIGURED)
            value = _value_group(match) if own else match.lastindex or 0
            secret = match.group(value)
            if secret and MARK not in secret and (own or _usual(secret)) and accept(secret, lenient):
                yield (*match.span(value), rule.name)


def _value_group(match: Any) -> int:
    """Return the group of a user's pattern to redact: `value`, the last one with a word if no word follows it, or 0 for all."""
    named = {str(name, "ascii") if isinstance(name, bytes) else name: group for name, group in match.re.groupindex.items()}
    if "value" in named:
        return int(named["value"])
    text, start = match.group(0), match.start(0)
    for group in range(match.lastindex or 0, 0, -1):
        behind = text[max(0, match.end(group) - start) :]
        if match.group(group) and _WORD.search(match.group(group)):
            return 0 if _WORD.search(behind) else group
    return 0


def _is_secret(data: bytes, place: Place, lenient: bool) -> bool:
    value = data[place.start : place.end]
    if MARK in value:
        return False
    text = value.decode("utf-8", "replace")
    return is_secret(place.name, text, strict=place.strict, literal=place.literal, lenient=lenient)


def _marked_lines(data: bytes) -> list[tuple[int, int]]:
    """Return start and end of the lines that are marked with `contextd:allow`."""
    found: list[tuple[int, int]] = []
    at = data.find(INLINE)
    while at >= 0:
        begin = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
        ends = [stop for stop in (data.find(b"\n", at), data.find(b"\r", at)) if stop >= 0]
        found.append((begin, min(ends, default=len(data))))
        at = data.find(INLINE, found[-1][1])
    return found


def _allowed(data: bytes, span: Span, allowing: Sequence[Any], marked: Sequence[tuple[int, int]]) -> bool:
    """Whether a pattern of the user or the mark of its line declares that a span is not a secret."""
    start, end, _ = span
    line = bisect_right(marked, (start, len(data))) - 1
    if line >= 0 and marked[line][0] <= start <= marked[line][1]:
        return True
    return any(pattern.fullmatch(data[start:end]) for pattern in allowing)


@lru_cache(maxsize=4)
def _allowing(patterns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(linear(pattern) for pattern in patterns)


def _redact(data: bytes, spans: list[Span]) -> tuple[bytes, list[Find]]:
    out: list[bytes] = []
    finds: list[Find] = []
    position, line = 0, 1
    for start, end, rule in sorted(spans):
        if start < position:  # overlapping spans are one secret: remove the rest, too
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


def _usual(secret: bytes) -> bool:
    """Return whether a value is no example: not of one or two characters, and not said to be one."""
    return len(set(secret[-12:])) > 2 and _EXAMPLE not in secret


def _any(value: bytes, lenient: bool) -> bool:
    return True


def _mixed(value: bytes, lenient: bool) -> bool:
    """Whether a value has both letters and digits, as words and names rarely do."""
    return (
        any(byte in b"0123456789" for byte in value) and any(65 <= byte & 0xDF <= 90 for byte in value) and len(set(value)) > 4
    )


def _password(value: bytes, lenient: bool) -> bool:
    return is_secret("password", value.decode("utf-8", "replace"), literal=False, lenient=lenient)


def _literal(value: bytes, lenient: bool) -> bool:
    return is_secret("password", value.decode("utf-8", "replace"), lenient=lenient)


def _made_up(value: bytes, lenient: bool) -> bool:
    return is_secret("password", value.decode("utf-8", "replace"), strict=True, lenient=lenient)


def _paired(value: bytes, lenient: bool) -> bool:
    """Check a value after `login: name /`. Words joined by `-` or `_` count, too, unless all are lower case."""
    joined = re.fullmatch(rb"[A-Za-z0-9]{3,}(?:[-_][A-Za-z0-9]{3,})+", value)
    return _made_up(value, lenient) or bool(joined and not value.islower() and _literal(value, lenient))


def _strong(value: bytes, lenient: bool) -> bool:
    """Whether a value looks like a chosen password: digits with signs or letters of both cases, and not a name."""
    return is_strong(value.decode("utf-8", "replace")) and _made_up(value, lenient)


def _signed(value: bytes, lenient: bool) -> bool:
    """As `_strong`, and with a sign that names do not contain."""
    return bool(_SIGN.search(value)) and _strong(value, lenient)


def _long(value: bytes, lenient: bool) -> bool:
    """Whether the value of a header is base64 credentials, or letters and digits that are long or look random."""
    if _decoded(value):
        return _basic(value, lenient)
    return _mixed(value, lenient) and (len(value) >= 16 or looks_random(value.decode("ascii")))


def _basic(value: bytes, lenient: bool) -> bool:
    """Whether a value is user and password in base64, as in a header."""
    user, _, password = _decoded(value).partition(":")
    return user != password and _literal(password.encode(), lenient)


def _decoded(value: bytes) -> str:
    """Decode `user:password` from base64; empty if it is something else."""
    try:
        decoded = binascii.a2b_base64(value.translate(_URL_SAFE) + b"===").decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return decoded if ":" in decoded and decoded.isprintable() else ""


def _random(value: bytes, lenient: bool) -> bool:
    return looks_random(value.decode("utf-8", "replace"))


def _letters(value: bytes, lenient: bool) -> bool:
    return unnatural(value.decode("utf-8", "replace").replace(" ", ""))


def _card(secret: bytes, lenient: bool) -> bool:
    """Accept the number of a card; in tests, examples and documents they are numbers for tests."""
    return not lenient and is_card(secret)


_CHECKS: dict[str, Callable[[bytes, bool], bool]] = {
    "card": _card,
    "": _any,
    "mixed": _mixed,
    "password": _password,
    "literal": _literal,
    "made-up": _made_up,
    "paired": _paired,
    "strong": _strong,
    "signed": _signed,
    "long": _long,
    "basic": _basic,
    "random": _random,
    "letters": _letters,
}
