"""Make chunks of the right size from the parts of a document: join small neighbors, split large parts with overlap.

Parts are consecutive ranges of whole lines that cover the document. Sizes are estimated by characters first, which is
cheap, and then checked by exact token counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from contextd.values.document import Definition, Piece

_CHARACTERS = 4  # characters per token of code or English, estimated; an exact count follows
OVERLAP = 0.12  # share of a window that the next one repeats
_LONG_LINE = 2000  # characters; longer lines are split
_SAMPLE = 8  # characters per token of the limit; longer texts hardly ever fit
_LONGEST = 60_000  # characters counted at a time
_LABELS = 160  # maximum characters of a label


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum tokens of a chunk, by format. Classes below `whole_class` stay whole; neighbors below `small` are joined."""

    code: int = 600
    prose: int = 400
    lines: int = 512
    whole_class: int = 220
    small: int = 48
    by_language: tuple[tuple[str, int], ...] = ()  # overrides `code`

    def of(self, language: str) -> int:
        """Return the maximum tokens of a chunk of code in a language."""
        return next((most for name, most in self.by_language if name == language), self.code)


@dataclass(slots=True)
class Part:
    """A range of lines that belong together. `members` are the parts it is divided into, if any."""

    first: int
    last: int
    kind: str
    label: str = ""
    heading: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    members: list[Part] = field(default_factory=list)
    definition: Definition | None = None
    inside: list[Part] = field(default_factory=list)  # definitions in it without a chunk of their own
    kinds: tuple[str, ...] = ()  # kinds of the units in it, besides its own
    stub: bool = False  # the signature of an overload, without an implementation


class Lines:
    """A text by lines, with the character offset of each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.starts[-1] = len(text)

    def __len__(self) -> int:
        return len(self.lines)

    def size(self, first: int, last: int) -> int:
        """Characters of a range of lines."""
        return self.starts[last] - self.starts[first]


def outline(parts: Sequence[Part]) -> list[Definition]:
    """Return the definitions in some parts, in order."""
    found: list[Definition] = []
    for part in parts:
        found += [part.definition] if part.definition is not None else []
        found += outline([*part.members, *part.inside])
    return found


def cut(text: str, parts: Sequence[Part], limit: int, limits: Limits, count: Callable[[str], int]) -> list[Piece]:
    """Return the chunks of a document, given its parts."""
    by_line = Lines(text)
    opened = [inner for part in parts for inner in _open(part)]
    joined = _join([part for part in opened if part.last > part.first], by_line, limits.small * _CHARACTERS)
    return [piece for part in joined for piece in _fit(part, by_line, limit, count)]


def pieces_of(text: str, parts: Sequence[Part], limit: int, count: Callable[[str], int]) -> list[Piece]:
    """Return the chunks of parts, without joining small ones."""
    by_line = Lines(text)
    return [piece for part in parts for piece in _fit(part, by_line, limit, count)]


def _open(part: Part) -> Iterator[Part]:
    """Replace a part that has members by its members and the lines between them."""
    if not part.members:
        yield part
        return
    position, names = part.first, part.names
    for member in part.members:
        if member.first > position:
            yield replace(part, first=position, last=member.first, members=[], names=names)
            names = ()
        yield from _open(member)
        position = max(position, member.last)
    if position < part.last:
        yield replace(part, first=position, last=part.last, members=[], names=names)


def _join(parts: list[Part], lines: Lines, small: int) -> list[Part]:
    """Join related neighbors if one has fewer than `small` characters, and both together fewer than four times as many."""
    joined: list[Part] = []
    for part in parts:
        if joined and _belong(joined[-1], part, lines, small):
            joined[-1] = _together(joined[-1], part)
        else:
            joined.append(part)
    return joined


def _belong(one: Part, two: Part, lines: Lines, small: int) -> bool:
    sizes = lines.size(one.first, one.last), lines.size(two.first, two.last)
    related = one.heading == two.heading or (*one.heading, one.label) == two.heading or two.heading == one.heading[:-1]
    return related and min(sizes) < small and sum(sizes) < 4 * small


def _together(one: Part, two: Part) -> Part:
    siblings = one.heading == two.heading  # siblings keep both labels, nested sections the outer one
    named = [part.label for part in (one, two) if part.label and (part.names or siblings)] or [one.label or two.label]
    labels = list(dict.fromkeys(named))
    kind = one.kind if one.last - one.first >= two.last - two.first else two.kind
    return Part(
        one.first,
        two.last,
        kind,
        ", ".join(labels)[:_LABELS],
        min(one.heading, two.heading, key=len),
        one.names + two.names,
        kinds=tuple(dict.fromkeys((*_units(one), *_units(two)))),
    )


def _units(part: Part) -> tuple[str, ...]:
    """Return the kinds of the units in a part. Lines between definitions are not a unit."""
    return part.kinds if part.kind == "code_block" and not part.names else _kinds(part)


def _kinds(part: Part) -> tuple[str, ...]:
    return (part.kind, *part.kinds)


def _fit(part: Part, lines: Lines, limit: int, count: Callable[[str], int]) -> Iterator[Piece]:
    """Yield one chunk, or several overlapping ones if the part has more tokens than the limit."""
    text = lines.text[lines.starts[part.first] : lines.starts[part.last]]
    tokens = _tokens(text, limit, count)
    if tokens <= limit:
        if text.strip():
            yield _piece(part, lines, lines.starts[part.first], lines.starts[part.last], tokens)
        return
    size = int(len(text) / tokens * limit * 0.9)
    signature = (lines.lines[part.first].strip()[:_LABELS],) if part.names else ()
    here, later = part, replace(part, heading=part.heading + signature, names=())
    for start, end in _windows(part, lines, max(size, 40)):
        yield from _exact(here, later, lines, start, end, limit, count)
        here = later


def _tokens(text: str, limit: int, count: Callable[[str], int]) -> int:
    """Count tokens: exactly if the text may fit, otherwise extrapolated from its beginning."""
    for most in (limit * _SAMPLE, _LONGEST):
        tokens = count(text[:most])
        if len(text) <= most:
            return tokens
        if tokens > limit:
            break
    return tokens * len(text) // most


def _exact(
    part: Part, later: Part, lines: Lines, start: int, end: int, limit: int, count: Callable[[str], int]
) -> Iterator[Piece]:
    """Yield the text from start to end, halved until it fits: dense text has more tokens than estimated."""
    tokens = count(lines.text[start:end])
    if tokens <= limit or end - start < 2:
        if lines.text[start:end].strip():
            yield _piece(part, lines, start, end, tokens)
        return
    middle = lines.text.rfind("\n", start + 1, (start + end) // 2) + 1
    middle = middle if middle > start + (end - start) // 4 else (start + end) // 2
    yield from _exact(part, later, lines, start, middle, limit, count)
    yield from _exact(later, later, lines, middle, end, limit, count)


def _windows(part: Part, lines: Lines, size: int) -> Iterator[tuple[int, int]]:
    """Yield character ranges of about `size` that end at good borders and overlap a little."""
    position = part.first
    while position < part.last:
        if lines.size(position, position + 1) > max(size, _LONG_LINE):
            yield from _long_line(lines, position, size)
            position += 1
            continue
        end = _border(part, lines, position, size)
        yield lines.starts[position], lines.starts[end]
        if end >= part.last:
            return
        back = _back(lines, position, end, int(size * OVERLAP))
        position = back if back > position else end


def _long_line(lines: Lines, line: int, size: int) -> Iterator[tuple[int, int]]:
    start, end = lines.starts[line], lines.starts[line + 1]
    step = max(1, int(size * (1 - OVERLAP)))
    while start < end:
        yield start, min(start + size, end)
        if start + size >= end:
            return
        start += step


def _border(part: Part, lines: Lines, position: int, size: int) -> int:
    """Return the line to end before: the best border in the last third of the lines that fit."""
    end = position + 1
    while end < part.last and lines.size(position, end + 1) <= size:
        end += 1
    if end >= part.last:
        return part.last
    earliest = max(position + 1, end - (end - position) // 3)
    return max(range(earliest, end + 1), key=lambda line: (_goodness(lines, line), line))


def _goodness(lines: Lines, line: int) -> int:
    """Rate a line as the start of a chunk: best after an empty line, with little indentation and no closing bracket."""
    here = lines.lines[line]
    indent = len(here) - len(here.lstrip())
    after_blank = line > 0 and not lines.lines[line - 1].strip()
    return (8 if after_blank else 0) - min(indent, 24) // 2 - (6 if not here.strip() or here.strip()[0] in ")]}" else 0)


def _back(lines: Lines, position: int, end: int, overlap: int) -> int:
    start = end
    while start - 1 > position and lines.size(start - 1, end) <= overlap:
        start -= 1
    return start


def _piece(part: Part, lines: Lines, start: int, end: int, tokens: int) -> Piece:
    first = _line_at(lines, start)
    last = _line_at(lines, max(start, end - 1))
    kind = " ".join(dict.fromkeys(_kinds(part)))
    return Piece(start, end, first + 1, last + 1, kind, part.label[:_LABELS], part.heading, tokens, part.names)


def _line_at(lines: Lines, offset: int) -> int:
    return max(0, min(bisect_right(lines.starts, offset) - 1, len(lines) - 1))
